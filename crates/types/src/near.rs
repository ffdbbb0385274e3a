//! Suggestions for an unknown name ("did you mean …?").

/// The name most similar to `word`, if the difference is small enough to be a typo.
pub fn nearest<'n>(word: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let near = names.into_iter().map(|name| (distance(name, word), name)).min();
    near.filter(|(far, _)| *far <= 1 + word.len() / 6).map(|(_, name)| name)
}

/// How many characters of an unknown name are shown.
const MAX_SHOWN: usize = 80;

/// An unknown name as a message can show it: short, and without control characters. One that is too long is not shown
/// in part: a secret in it that is cut in two could not be recognised, and masked, later.
pub fn shown(word: &str) -> String {
    match word.chars().count() {
        ..=MAX_SHOWN => word.replace(char::is_control, "\u{fffd}"),
        length => format!("… ({length} characters)"),
    }
}

/// How many letters have to be inserted, removed or changed.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.to_ascii_lowercase().chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (at, letter) in one.to_ascii_lowercase().chars().enumerate() {
        let mut before = row[0];
        row[0] = at + 1;
        for (column, compared) in other.iter().enumerate() {
            let changed = before + usize::from(letter != *compared);
            before = row[column + 1];
            row[column + 1] = changed.min(before + 1).min(row[column] + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_pen_is_told_from_another_word() {
        let names = ["Bash", "Read", "NotebookEdit"];
        for (word, meant) in [
            ("Bsh", Some("Bash")),
            ("bash", Some("Bash")),
            ("NoteBokEdits", Some("NotebookEdit")),
            ("Write", None),
            ("", None),
        ] {
            assert_eq!(nearest(word, names), meant, "{word}");
        }
    }

    #[test]
    fn a_word_that_is_no_name_is_shown_short_and_plain() {
        assert_eq!(shown("Bob the\u{1b}[31m one"), "Bob the\u{fffd}[31m one");
        assert_eq!(shown(&"x".repeat(80)), "x".repeat(80));
        assert_eq!(shown(&"ü".repeat(10_000)), "… (10000 characters)");
    }
}
