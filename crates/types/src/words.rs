//! Cutting a text where no word is cut in two.

/// How far back a cut moves to the end of a word.
const LONGEST_WORD: usize = 512;

/// The beginning of a text, of at most so many characters, without the part of a word at the cut: part of a secret
/// could not be recognised, and masked, later.
pub fn whole_words(text: &str, most: usize) -> &str {
    let Some((end, next)) = text.char_indices().nth(most) else { return text };
    let cut = &text[..end];
    if next.is_whitespace() {
        return cut;
    }
    match cut.rfind(char::is_whitespace) {
        Some(at) if end - at <= LONGEST_WORD => &cut[..at],
        // Without the longest secret that could end behind the cut.
        _ => &cut[..cut.floor_char_boundary(end.saturating_sub(LONGEST_WORD))],
    }
}

/// The end of a text whose beginning was cut off, without the part of a word there.
pub fn whole_last_words(text: &str) -> &str {
    let by_line = text.find('\n').filter(|at| *at <= LONGEST_WORD);
    let at = by_line.or_else(|| text.find(char::is_whitespace).filter(|at| *at <= LONGEST_WORD));
    at.map_or(text, |at| &text[at + 1..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_at_the_cut_is_left_out() {
        assert_eq!(whole_words("the secret", 100), "the secret");
        assert_eq!(whole_words("the secret", 6), "the");
        assert_eq!(whole_words("the secret", 3), "the");
        assert_eq!(whole_words("the secret of", 10), "the secret");
        assert_eq!(whole_words(&"é".repeat(2000), 10), "");
        assert_eq!(whole_words(&"é".repeat(2000), 1000), "é".repeat(1000 - 256));
        assert_eq!(whole_last_words("cret\nnext line"), "next line");
        assert_eq!(whole_last_words("cret next"), "next");
        assert_eq!(whole_last_words("alone"), "alone");
    }
}
