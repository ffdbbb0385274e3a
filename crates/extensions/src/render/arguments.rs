//! Splits arguments like a shell: at spaces, with quotes.

/// The arguments in a text. An unclosed quote is a plain character.
pub fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        match c {
            c if c.is_whitespace() => words.extend(word.take()),
            quote @ ('\'' | '"') => {
                let ahead = rest.as_str();
                match quoted(ahead, quote) {
                    Some((inner, length)) => {
                        word.get_or_insert_default().push_str(&inner);
                        rest = ahead[length..].chars();
                    }
                    None => word.get_or_insert_default().push(quote),
                }
            }
            '\\' => match rest.clone().next() {
                Some(next @ ('\'' | '"' | '\\' | ' ')) => {
                    rest.next();
                    word.get_or_insert_default().push(next);
                }
                _ => word.get_or_insert_default().push('\\'),
            },
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

/// The text before the closing quote, and its length with the quote.
fn quoted(text: &str, quote: char) -> Option<(String, usize)> {
    let mut inner = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            c if c == quote => return Some((inner, at + 1)),
            '\\' if quote == '"' => match chars.clone().next() {
                Some((_, next @ ('"' | '\\'))) => {
                    chars.next();
                    inner.push(next);
                }
                _ => inner.push('\\'),
            },
            c => inner.push(c),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_hold_words_together() {
        let table: &[(&str, &[&str])] = &[
            ("", &[]),
            ("  a  b\tc ", &["a", "b", "c"]),
            ("'a b' c", &["a b", "c"]),
            (r#""a \"b\" \n" x"y z""#, &[r#"a "b" \n"#, "xy z"]),
            ("it's fine", &["it's", "fine"]),
            (r"a\ b \x", &["a b", r"\x"]),
            ("''", &[""]),
            ("\"é 日\"'本'", &["é 日本"]),
        ];
        for (text, expected) in table {
            assert_eq!(words(text), *expected, "{text}");
        }
    }
}
