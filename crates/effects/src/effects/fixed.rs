//! What words stand for that the rest of the line, and the user's home, fix.

use std::path::Path;

use super::values::{Values, variables, with_value};
use crate::shell::{Command, Word};

/// What is certain of a line's variables.
#[derive(Clone, Copy)]
pub(super) struct Fixed<'a> {
    values: Values<'a>,
    /// The user's home, unless the line may set another.
    home: Option<&'a str>,
}

impl<'a> Fixed<'a> {
    pub(super) fn new(source: &str, values: Values<'a>, home: Option<&'a Path>) -> Self {
        let home = home.and_then(Path::to_str).filter(|_| !names_home(source));
        Self { values, home }
    }

    /// The user's home, where it is certain.
    pub(super) fn home(&self) -> Option<&'a str> {
        self.home
    }

    /// A word as it stands before the command of this number.
    pub(super) fn word(&self, word: &Word, before: usize) -> Word {
        let command = Command { words: vec![word.clone()], ..Command::default() };
        self.command(&command, before).words.pop().unwrap_or_else(|| word.clone())
    }

    /// A command, the one of this number, with its words fixed as far as possible.
    pub(super) fn command(&self, command: &Command, at: usize) -> Command {
        let mut command = command.clone();
        for word in command.words.iter_mut().filter(|word| word.literal.is_none()) {
            let below = word.source.strip_prefix('~');
            let below = below.filter(|rest| rest.is_empty() || rest.starts_with('/'));
            if let Some((rest, home)) = below.zip(self.home)
                && !rest.contains(|c: char| !c.is_alphanumeric() && !"_./-".contains(c))
            {
                word.literal = Some(format!("{home}{rest}"));
            }
        }
        for word in command.words.iter_mut().filter(|word| word.literal.is_none()) {
            let source = word.source.clone();
            for name in variables(&source) {
                let home = self.home.filter(|_| name == "HOME").map(str::to_owned);
                if let Some(value) = home.or_else(|| self.values.certain(name, at)) {
                    *word = with_value(word, name, &value);
                }
            }
        }
        command
    }
}

/// Whether a text may set the variable: it stands there other than for its value.
fn names_home(source: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    source.match_indices("HOME").any(|(at, found)| {
        let before = source[..at].chars().next_back();
        let behind = source[at + found.len()..].chars().next();
        !before.is_some_and(is_part)
            && !behind.is_some_and(is_part)
            && !matches!(before, Some('$' | '{'))
    })
}
