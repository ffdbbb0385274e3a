//! Words of a command line.

/// Words of the shell's own language.
#[rustfmt::skip]
const RESERVED: &[&str] = &[
    "case", "coproc", "do", "done", "elif", "else", "esac", "fi", "for", "function", "if", "in", "select", "then", "time",
    "until", "while",
];

/// A word as every shell reads it.
pub fn shell_quoted(word: &str) -> String {
    let is_plain = !word.is_empty() && word.chars().all(is_plain_in_shell);
    if is_plain && !RESERVED.contains(&word) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Whether a character means itself anywhere in a word.
pub fn is_plain_in_shell(c: char) -> bool {
    c.is_ascii_alphanumeric() || "_-./+,:@%".contains(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stay_one_word() {
        assert_eq!(shell_quoted("/a/b-c.txt"), "/a/b-c.txt");
        assert_eq!(shell_quoted(""), "''");
        assert_eq!(shell_quoted("time"), "'time'");
        assert_eq!(shell_quoted("it's $HOME"), r"'it'\''s $HOME'");
    }
}
