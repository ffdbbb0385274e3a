//! The question before something is lost: a list of Yes and No, so that every front-end can ask it. Yes is the same
//! command line with [`YES`].

use ona_front::{Choice, Menu, MenuItem, MenuKey};

use crate::act::Act;

/// The word by which a command line says that the question was answered.
pub(super) const YES: &str = "--yes";

/// Asks whether to run a line. No is selected first.
pub(super) fn confirm(question: impl Into<String>, about: impl Into<String>, line: String) -> Act {
    let runs = Choice::Command { line };
    let key =
        |key: char, label: &str, choice: Choice| MenuKey { key, label: label.to_owned(), choice };
    let keys = vec![key('y', "yes", runs.clone()), key('n', "no", Choice::Close)];
    let yes = MenuItem { label: "Yes".to_owned(), choice: runs, ..MenuItem::default() };
    let no = MenuItem { label: "No".to_owned(), ..MenuItem::default() };
    Act::menu(Menu {
        title: question.into(),
        text: about.into(),
        items: vec![yes, no],
        selected: 1,
        keys,
    })
}

/// The arguments without the word, and whether it was there.
pub(super) fn confirmed(arguments: &str) -> (bool, &str) {
    match arguments.strip_prefix(YES) {
        Some(rest) if rest.starts_with(char::is_whitespace) => (true, rest.trim_start()),
        _ => (false, arguments),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_word_counts_only_at_the_beginning() {
        assert_eq!(confirmed("--yes allow X"), (true, "allow X"));
        assert_eq!(confirmed("allow X --yes"), (false, "allow X --yes"));
        assert_eq!(confirmed("--yesterday"), (false, "--yesterday"));
    }
}
