//! `Bash(…)`: the shape of a command.

use super::{RuleError, refuse};
use ona_effects::shell::{Command, Word};
use ona_effects::wildcard;
use ona_programs::commands;

/// Names of Bash's own input, which a rule cannot ask about.
const PARAMETERS: &[&str] =
    &["command:", "timeout:", "description:", "run_in_background:", "dangerouslyDisableSandbox:"];

/// The shape of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CommandPattern {
    /// With one space between words; `*` stands for anything.
    shape: String,
    /// It ended in ` *` or `:*`: the shape may be followed by a space and anything.
    open: bool,
}

impl CommandPattern {
    pub(crate) fn parse(content: &str) -> Result<Self, RuleError> {
        if let Some(parameter) = PARAMETERS.iter().find(|name| content.starts_with(**name)) {
            return refuse(format!("`{parameter}` is no command; write the command alone"));
        }
        let content = one_space(content);
        let (shape, open) = match content.strip_suffix(":*").or_else(|| content.strip_suffix(" *"))
        {
            Some(shape) => (shape.to_owned(), true),
            None => (content, false),
        };
        if shape.is_empty() {
            return refuse("it names no command");
        }
        Ok(Self { shape, open })
    }

    /// Whether the rule names the whole command, leaving nothing open: a `*` in it stands for itself there.
    fn is_exactly(&self, text: &str) -> bool {
        !self.open && self.shape == text
    }

    /// Whether anything may follow what it names.
    fn leaves_open(&self) -> bool {
        self.open || self.shape.ends_with('*')
    }

    /// Whether it names these words, as the first, without leaving any of them open.
    fn names(&self, words: &[Word]) -> bool {
        let fixed = self.shape.split('*').next().unwrap_or_default();
        let behind = fixed.strip_prefix(text(words).as_str());
        words.is_empty() || behind.is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
    }

    fn fits(&self, text: &str) -> bool {
        wildcard::matches(&self.shape, text)
            || (self.open && wildcard::matches(&format!("{} *", self.shape), text))
    }

    /// Whether the rule is about some of what this program can be told to do.
    pub(crate) fn is_about(&self, program: &str) -> bool {
        self.shape.split(' ').next() == Some(program) && (self.open || self.shape.contains(' '))
    }

    /// For an allow rule: does it cover the command as it stands?
    pub(crate) fn covers(&self, command: &Command) -> bool {
        if self.is_exactly(&with_assignments(command)) {
            return true;
        }
        if command.words.is_empty() || !commands::has_safe_assignments(command) {
            return false;
        }
        let mut words = command.words.as_slice();
        let mut fed = false;
        loop {
            let mut texts = commands::without_git_options(words, false);
            texts.push(text(words));
            let needs_exact = command.hides_options
                || command.hides_target
                || commands::needs_exact_rule(words)
                || !self.names(commands::to_be_named(words));
            // With arguments from elsewhere it is another command than an exact rule says.
            let fed_well = !fed || self.leaves_open() && commands::may_be_fed(words);
            let fits = texts.iter().any(|text| self.fits(text)) && !needs_exact && fed_well;
            if fits || !fed && texts.iter().any(|text| self.is_exactly(text)) {
                return true;
            }
            fed |= commands::is_feeder(words);
            match commands::unwrapped(words) {
                Some(inner) => words = inner,
                None => return false,
            }
        }
    }

    /// Whether a command begins as the rule says: it has one of these texts.
    pub(crate) fn begins(&self, texts: &[String]) -> bool {
        texts.iter().any(|text| self.fits(text))
    }

    /// Why an allow rule does not cover a command, although that begins as the rule says.
    pub(crate) fn why_not(&self, command: &Command) -> String {
        let words = command.words.as_slice();
        let named = commands::to_be_named(words);
        let is_git = commands::name(words) == Some("git");
        let fixed = || words.iter().all(|word| word.literal.is_some());
        match named.last() {
            _ if !commands::has_safe_assignments(command) => {
                "a variable that is set before it may change what it does".to_owned()
            }
            Some(last) if !self.names(named) => {
                format!("it runs `{}`, which the rule does not name", last.source)
            }
            _ if commands::needs_exact_rule(words) => {
                "its arguments run another program, or may; only a rule with the whole command \
                 allows that"
                    .to_owned()
            }
            _ if command.hides_options && is_git && fixed() => {
                "git works in a repository among the files, or sends something to one".to_owned()
            }
            _ if command.hides_options => {
                "it may get an option that the command line does not show".to_owned()
            }
            _ => "it writes a file whose name the command line does not show".to_owned(),
        }
    }

    /// For a deny or ask rule: could the command be, or run, what the rule is about?
    pub(crate) fn hits(&self, command: &Command) -> bool {
        if self.fits(&with_assignments(command)) {
            return true;
        }
        let mut all = vec![command.words.as_slice()];
        let mut words = command.words.as_slice();
        while let Some(inner) = commands::unwrapped(words) {
            all.push(inner);
            words = inner;
        }
        all.extend(commands::suffixes(&command.words));
        all.into_iter().any(|words| {
            let mut texts = commands::without_git_options(words, true);
            texts.extend([text(words), literals(words)]);
            texts.iter().any(|text| self.fits(text))
        })
    }
}

/// A command as rules name it: with and without options of git before its subcommand.
pub(crate) fn texts(command: &Command) -> Vec<String> {
    let mut texts = commands::without_git_options(&command.words, false);
    texts.push(text(&command.words));
    texts
}

fn one_space(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn text(words: &[Word]) -> String {
    words.iter().map(|word| word.source.as_str()).collect::<Vec<_>>().join(" ")
}

/// The words as the program gets them, its name without a directory: quoting hides nothing.
fn literals(words: &[Word]) -> String {
    let literal = |word: &Word| word.literal.clone().unwrap_or_else(|| word.source.clone());
    let mut words = words.iter().map(literal);
    let first = words.next().map(|name| commands::base_name(&name).to_owned());
    first.into_iter().chain(words).collect::<Vec<_>>().join(" ")
}

/// The command as written, with the assignments before it.
pub(crate) fn with_assignments(command: &Command) -> String {
    let assignments = command
        .assignments
        .iter()
        .map(|assignment| format!("{}={}", assignment.name, assignment.value));
    assignments
        .chain(command.words.iter().map(|word| word.source.clone()))
        .collect::<Vec<_>>()
        .join(" ")
}
