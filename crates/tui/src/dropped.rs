//! Pictures that are dropped on the terminal: it pastes their paths.

/// How the names of pictures end that can be attached.
const PICTURES: [&str; 5] = [".png", ".jpg", ".jpeg", ".gif", ".webp"];

/// The mentions of pictures, if a pasted text is nothing but the paths of some that exist.
pub fn mentions(pasted: &str, is_file: impl Fn(&str) -> bool) -> Option<String> {
    let words = words(pasted.trim())?;
    let is_picture = |word: &String| {
        let name = word.to_lowercase();
        word.starts_with('/')
            && !word.contains('"')
            && PICTURES.iter().any(|end| name.ends_with(end))
            && is_file(word)
    };
    if words.is_empty() || !words.iter().all(is_picture) {
        return None;
    }
    let mention = |word: &String| match word.contains(char::is_whitespace) {
        true => format!("@\"{word}\" "),
        false => format!("@{word} "),
    };
    Some(words.iter().map(mention).collect())
}

/// The words of a line as terminals write dropped paths: with backslashes, or in quotes.
fn words(line: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match (letter, quote) {
            ('\n', _) => return None,
            (letter, Some(open)) if letter == open => quote = None,
            ('\'' | '"', None) => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            ('\\', None) => word.get_or_insert_default().push(letters.next()?),
            (letter, None) if letter.is_whitespace() => words.extend(word.take()),
            (letter, _) => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    quote.is_none().then_some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_pictures_become_mentions() {
        let there = |path: &str| !path.contains("gone");
        let of = |pasted: &str| mentions(pasted, there);
        assert_eq!(of("/tmp/a.png\n").as_deref(), Some("@/tmp/a.png "));
        assert_eq!(of(r"/tmp/a\ b.JPG").as_deref(), Some("@\"/tmp/a b.JPG\" "));
        assert_eq!(of("'/tmp/a b.gif' /x.webp").as_deref(), Some("@\"/tmp/a b.gif\" @/x.webp "));
        for text in [
            "/tmp/gone.png",
            "a.png",
            "/tmp/a.rs",
            "see /tmp/a.png",
            "",
            "'/a.png",
            "/a.png\n/b.png",
        ] {
            assert_eq!(of(text), None, "{text}");
        }
    }
}
