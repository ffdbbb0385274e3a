//! Inserts a value into a command so that it stays a value.
//!
//! The quotes of the command are tracked. Outside of quotes a value is put into single quotes; inside quotes, special
//! characters are escaped. In other constructs (substitutions, here-documents, arithmetic, comments) only a value of
//! plain characters is inserted; any other is refused.

use ona_hooks::Shell;

/// The context at a place in a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Plain,
    Single,
    Double,
    /// Not tracked any further.
    Unclear,
}

/// Tracks the quotes of a command.
#[derive(Debug)]
pub(super) struct Quoting {
    place: Place,
    escaped: bool,
    /// The previous character, unless it was escaped.
    last: char,
}

impl Quoting {
    pub(super) fn new(shell: Shell) -> Self {
        // PowerShell has other rules for quotes.
        let place = if shell == Shell::PowerShell { Place::Unclear } else { Place::Plain };
        Self { place, escaped: false, last: ' ' }
    }

    /// Reads a part that the author wrote.
    pub(super) fn passes(&mut self, text: &str) {
        for c in text.chars() {
            self.step(c);
        }
    }

    fn step(&mut self, c: char) {
        let last = std::mem::replace(&mut self.last, c);
        if std::mem::take(&mut self.escaped) {
            // An escaped character has no meaning, even for the next one.
            self.last = 'x';
            return;
        }
        self.place = match (self.place, c) {
            (Place::Unclear, _) => Place::Unclear,
            (Place::Single, '\'') => Place::Plain,
            (Place::Single, _) => Place::Single,
            (place, '\\') => {
                self.escaped = true;
                place
            }
            (_, '`') => Place::Unclear,
            (_, '(' | '{' | '[' | '\'' | '"') if last == '$' => Place::Unclear,
            (Place::Double, '"') => Place::Plain,
            (Place::Double, _) => Place::Double,
            (Place::Plain, '\'') => Place::Single,
            (Place::Plain, '"') => Place::Double,
            (Place::Plain, '<') if last == '<' => Place::Unclear,
            (Place::Plain, '(') if last == '(' => Place::Unclear,
            (Place::Plain, '[') if last == '[' => Place::Unclear,
            (Place::Plain, '#') if last.is_whitespace() || ";|&()".contains(last) => Place::Unclear,
            (Place::Plain, _) => Place::Plain,
        };
    }

    /// A single value, quoted for this place, if possible.
    pub(super) fn one(&mut self, value: &str) -> Option<String> {
        if value.contains('\0') {
            return None;
        }
        // `$` or a backslash before a value would give it a meaning.
        let clear = !self.escaped && self.last != '$';
        if clear && is_plain(value) && !(value.is_empty() && self.place == Place::Plain) {
            self.last = value.chars().next_back().unwrap_or(self.last);
            return Some(value.to_owned());
        }
        if !clear {
            return None;
        }
        let put = match self.place {
            Place::Plain => format!("'{}'", value.replace('\'', r"'\''")),
            Place::Single => value.replace('\'', r"'\''"),
            Place::Double => {
                let mut put = String::with_capacity(value.len());
                for c in value.chars() {
                    if matches!(c, '\\' | '"' | '$' | '`') {
                        put.push('\\');
                    }
                    put.push(c);
                }
                put
            }
            Place::Unclear => return None,
        };
        self.last = 'x';
        Some(put)
    }

    /// All arguments: outside of quotes each as a separate word; inside quotes, or in the middle of a word, as one text:
    /// after `X=` a second word would be a command.
    pub(super) fn all(&mut self, text: &str, words: &[String]) -> Option<String> {
        if self.place != Place::Plain || !self.last.is_whitespace() {
            return self.one(text);
        }
        let mut put = Vec::new();
        for word in words {
            put.push(self.one(word)?);
            self.last = 'x';
        }
        Some(put.join(" "))
    }
}

/// Whether a value has no special meaning anywhere.
fn is_plain(value: &str) -> bool {
    value.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_./:=@%+,-".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A command with a value where `%` stands.
    fn put(command: &str, value: &str) -> Option<String> {
        let mut quoting = Quoting::new(Shell::Bash);
        let mut out = String::new();
        let mut parts = command.split('%');
        let first = parts.next().unwrap();
        quoting.passes(first);
        out.push_str(first);
        for part in parts {
            out.push_str(&quoting.one(value)?);
            quoting.passes(part);
            out.push_str(part);
        }
        Some(out)
    }

    #[test]
    fn all_arguments_are_words_only_where_a_word_begins() {
        let put = |before: &str| {
            let mut quoting = Quoting::new(Shell::Bash);
            quoting.passes(before);
            quoting.all("x touch pwn", &["x", "touch", "pwn"].map(str::to_owned)).unwrap()
        };
        assert_eq!(put("echo "), "x touch pwn");
        assert_eq!(put("X="), "'x touch pwn'");
        assert_eq!(put("git log --grep="), "'x touch pwn'");
    }

    #[test]
    fn a_value_stays_one_in_any_quotes() {
        let value = "a'b\"; $(x) `y` \\";
        let table = [
            ("echo %", r#"echo 'a'\''b"; $(x) `y` \'"#),
            ("echo '%'", r#"echo 'a'\''b"; $(x) `y` \'"#),
            ("echo \"%\"", r#"echo "a'b\"; \$(x) \`y\` \\""#),
            ("echo \"x\" '\"' %", r#"echo "x" '"' 'a'\''b"; $(x) `y` \'"#),
            (r#"echo \" %"#, r#"echo \" 'a'\''b"; $(x) `y` \'"#),
        ];
        for (command, expected) in table {
            assert_eq!(put(command, value).as_deref(), Some(expected), "{command}");
        }
    }

    #[test]
    fn where_it_is_unclear_only_plain_values_go() {
        for command in [
            "echo $(date %)",
            "echo `date %`",
            "echo \"$(date %)\"",
            "cat <<E\n%\nE",
            "cat <<<%",
            "(( x = % ))",
            "[[ x -eq % ]]",
            "echo ${x:-%}",
            "echo $'%'",
            "echo # %",
            "echo $%",
            "echo \\%",
        ] {
            assert_eq!(put(command, "a b"), None, "{command}");
        }
        assert_eq!(put("echo $(date %)", "src/a-b_1.rs").unwrap(), "echo $(date src/a-b_1.rs)");
        // Nothing may become the name of a variable.
        assert_eq!(put("echo $%", "HOME"), None);
        assert_eq!(put("echo %", "a\0b"), None);
        assert_eq!(Quoting::new(Shell::PowerShell).one("a b"), None);
    }
}
