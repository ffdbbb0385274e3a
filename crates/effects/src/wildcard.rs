//! `*` in rules: any characters, none included.

/// Whether `text` has the shape of `pattern`, in which `*` stands for anything. Each piece between two
/// stars is searched once, after the one before it, so the time is bounded.
pub fn matches(pattern: &str, text: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return pattern == text };
    let Some(mut text) = text.strip_prefix(first) else { return false };
    let (pieces, last) = rest.rsplit_once('*').unwrap_or(("", rest));
    for piece in pieces.split('*') {
        // The first place is as good as any: what it leaves has all that a later one would.
        let Some((_, behind)) = text.split_once(piece) else { return false };
        text = behind;
    }
    text.ends_with(last)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn stars() {
        for (pattern, text, expected) in [
            ("", "", true),
            ("*", "", true),
            ("*", "anything at all", true),
            ("a*", "abc", true),
            ("*c", "abc", true),
            ("a*c", "ac", true),
            ("a*c", "abcb", false),
            ("a*b*c", "a1b2b3c", true),
            ("abc", "abcd", false),
            ("git * main", "git main", false),
        ] {
            assert_eq!(matches(pattern, text), expected, "{pattern} {text}");
        }
    }

    /// Fuzzing the rules asked for an end in time: a long piece that nearly fits everywhere took the
    /// product of both lengths, and a command behind `sudo` is tried from each of its words on.
    #[test]
    fn a_piece_that_nearly_fits_everywhere_takes_no_time() {
        let piece = "ab".repeat(50_000);
        assert!(!matches(&format!("*{piece}c*"), &piece.repeat(20)));
        assert!(matches(&format!("*{piece}*"), &piece.repeat(20)));
    }

    proptest! {
        #[test]
        fn a_text_with_pieces_starred_out_matches(parts in prop::collection::vec("[ab ]{0,5}", 1..5), fill in "[ab ]{0,5}") {
            prop_assert!(matches(&parts.join("*"), &parts.join(&fill)));
        }
    }
}
