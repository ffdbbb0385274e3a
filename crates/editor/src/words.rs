//! Where words start and end.

use super::content::Content;

/// What kind of grapheme stands at a position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    /// White space, newlines too, and the end of the text.
    Blank,
    /// Letters, digits and `_`.
    Word,
    /// Punctuation and symbols.
    Other,
    /// A chip. Each is a word of its own.
    Chip,
}

/// The class of the grapheme at a position.
pub(super) fn class(content: &Content, at: usize) -> Class {
    let grapheme = content.grapheme(at);
    match grapheme.chars().next() {
        _ if Content::is_chip(grapheme) => Class::Chip,
        None => Class::Blank,
        Some(letter) if letter.is_whitespace() => Class::Blank,
        Some(letter) if letter.is_alphanumeric() || letter == '_' => Class::Word,
        Some(_) => Class::Other,
    }
}

/// Walks right while the grapheme at the position is of such a class.
fn right_while(content: &Content, mut at: usize, wanted: impl Fn(Class) -> bool) -> usize {
    while at < content.len() && wanted(class(content, at)) {
        at = content.next(at);
    }
    at
}

/// Walks left while the grapheme before the position is of such a class.
fn left_while(content: &Content, mut at: usize, wanted: impl Fn(Class) -> bool) -> usize {
    while at > 0 && wanted(class(content, content.previous(at))) {
        at = content.previous(at);
    }
    at
}

/// The end of the word here or of the next one.
pub(super) fn word_right(content: &Content, at: usize) -> usize {
    let start = right_while(content, at, |class| matches!(class, Class::Blank | Class::Other));
    match class(content, start) {
        Class::Chip => content.next(start),
        _ => right_while(content, start, |class| class == Class::Word),
    }
}

/// The start of the word before.
pub(super) fn word_left(content: &Content, at: usize) -> usize {
    left_word(
        content,
        at,
        |class| matches!(class, Class::Blank | Class::Other),
        |c| c == Class::Word,
    )
}

/// The start of what stands before between white space.
pub(super) fn big_word_left(content: &Content, at: usize) -> usize {
    let text = |class| matches!(class, Class::Word | Class::Other);
    left_word(content, at, |class| class == Class::Blank, text)
}

fn left_word(
    content: &Content,
    at: usize,
    gap: impl Fn(Class) -> bool,
    word: impl Fn(Class) -> bool,
) -> usize {
    let end = left_while(content, at, gap);
    if end > 0 && class(content, content.previous(end)) == Class::Chip {
        return content.previous(end);
    }
    left_while(content, end, word)
}

#[cfg(test)]
mod tests {
    use super::super::chip::Chip;
    use super::*;

    #[test]
    fn words_end_at_punctuation_and_big_words_at_spaces() {
        let content = Content::from("let größe_1 = a.b;");
        let at = |part: &str| content.raw().find(part).unwrap();
        assert_eq!(word_right(&content, 0), 3);
        assert_eq!(word_right(&content, 3), at(" ="));
        assert_eq!(word_left(&content, content.len()), at("b;"));
        assert_eq!(big_word_left(&content, content.len()), at("a.b"));
        assert_eq!(
            (word_left(&content, 0), word_right(&content, content.len())),
            (0, content.len())
        );
    }

    #[test]
    fn a_chip_is_a_word_of_its_own() {
        let mut content = Content::from("ab");
        content.append(&Chip::Image(1).into());
        content.append(&Chip::Image(2).into());
        content.append(&"cd".into());
        assert_eq!(word_right(&content, 0), 2);
        assert_eq!(word_right(&content, 2), 3);
        assert_eq!(word_left(&content, content.len()), 4);
        assert_eq!(word_left(&content, 4), 3);
        assert_eq!(big_word_left(&content, 3), 2);
    }
}
