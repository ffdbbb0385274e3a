//! What a command line assigns to its variables: the plain texts that each may stand for, with the home and the values of
//! others in it.

use std::collections::HashMap;
use std::path::Path;

use ona_programs::commands;

use super::values::{MAX_READINGS, plain, variables, with_home, with_value};
use crate::shell::{Script, Word};

/// How often values that are made of others are looked at again.
const MAX_ROUNDS: usize = 6;
/// The longest text that is followed, in bytes: no path is longer.
const MAX_TEXT: usize = 4096;
/// Commands whose words may be assignments: for the line, or for what they run.
const ASSIGNING: &[&str] = &["declare", "env", "export", "local", "readonly", "sudo", "typeset"];

/// The variables that a line sets, each with the texts that are known.
#[derive(Clone, Debug, Default)]
pub(super) struct Assignments {
    known: HashMap<String, Vec<String>>,
    /// The user's home, where it is known.
    home: Option<String>,
}

impl Assignments {
    pub(super) fn of(script: &Script, home: Option<&Path>) -> Self {
        let given = given(script);
        let home = home.and_then(Path::to_str).map(str::to_owned);
        let mut all = Self { home, ..Self::default() };
        for _ in 0..MAX_ROUNDS {
            let mut grown = false;
            for (name, value) in &given {
                let texts = all.meant(value);
                let known = all.known.entry((*name).to_owned()).or_default();
                for text in texts {
                    if known.len() < MAX_READINGS && !known.contains(&text) {
                        known.push(text);
                        grown = true;
                    }
                }
            }
            if !grown {
                break;
            }
        }
        all
    }

    /// Whether the line sets a variable.
    pub(super) fn sets(&self, name: &str) -> bool {
        self.known.contains_key(name)
    }

    /// What it may set it to.
    pub(super) fn texts(&self, name: &str) -> &[String] {
        self.known.get(name).map_or(&[], Vec::as_slice)
    }

    /// A word with the user's home for a `~` in front, unless the line may set another.
    pub(super) fn at_home(&self, source: &str) -> Option<String> {
        let rest = source.strip_prefix('~').filter(|rest| rest.is_empty() || rest.starts_with('/'));
        let home = self.home.as_ref().filter(|_| !self.sets("HOME"))?;
        Some(format!("{home}{}", rest?))
    }

    fn meant(&self, value: &str) -> Vec<String> {
        if let Some(text) = plain(value) {
            return vec![text];
        }
        let word = with_home(Word { source: value.to_owned(), literal: None });
        let mut names: Vec<&str> = Vec::new();
        for name in variables(&word.source) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        let mut all = vec![word.clone()];
        for name in names {
            let home = self.home.as_deref().filter(|_| name == "HOME");
            let values = || self.texts(name).iter().map(String::as_str).chain(home);
            let set = |word: &Word| -> Vec<Word> {
                values().map(|value| with_value(word, name, value)).collect()
            };
            let fits = |word: &Word| word.source.len() <= MAX_TEXT;
            all = all.iter().flat_map(set).filter(fits).take(MAX_READINGS).collect();
        }
        all.into_iter().filter_map(|word| word.literal).collect()
    }
}

/// Every assignment as it is written, wherever it stands.
fn given(script: &Script) -> Vec<(&str, &str)> {
    let own = script.commands.iter().flat_map(|command| &command.assignments);
    let own = own.map(|one| (one.name.as_str(), one.value.as_str()));
    let assigning = script.commands.iter().filter(|command| {
        commands::name(&command.words).is_some_and(|name| ASSIGNING.contains(&name))
    });
    let words = assigning.flat_map(|command| &command.words);
    let others = words.filter_map(|word| word.source.split_once('='));
    own.chain(others.map(|(name, value)| (name.trim_matches(['"', '\'']), value))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shell;

    #[test]
    fn values_are_followed_through_each_other() {
        let home = Path::new("/home/u");
        for (source, name, texts) in [
            ("a=x", "a", &["x"][..]),
            ("a=~/x; b=$a/y; c=\"$b/z\"", "c", &["/home/u/x/y/z"]),
            ("a=$HOME; export b=${a}/y", "b", &["/home/u/y"]),
            ("env a=x sh y", "a", &["x"]),
            ("a=$(date)", "a", &[]),
            ("a=x; a=y", "a", &["x", "y"]),
        ] {
            let all = Assignments::of(&shell::parse(source), Some(home));
            assert!(all.sets(name), "{source}");
            assert_eq!(all.texts(name), texts, "{source}");
        }
    }

    #[test]
    fn many_values_take_no_time() {
        let names: Vec<String> =
            (0..400).map(|at| format!("a=\"$a/$b/$a/{at}\"; b=\"$a/$b\"")).collect();
        let all = Assignments::of(&shell::parse(&format!("a=x; b=y; {}", names.join("; "))), None);
        assert_eq!(all.texts("a").len(), MAX_READINGS);
        assert!(all.texts("a").iter().all(|text| text.len() <= MAX_TEXT));
    }
}
