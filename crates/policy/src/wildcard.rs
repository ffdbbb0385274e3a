//! `*` in rules: any characters, none included.

/// Whether `text` has the shape of `pattern`, in which `*` stands for anything. Linear in practice and
/// never worse than quadratic: no pattern can make it run away.
pub fn matches(pattern: &str, text: &str) -> bool {
    let (pattern, text) = (pattern.as_bytes(), text.as_bytes());
    let (mut p, mut t) = (0, 0);
    // Where to go on if it turns out that the last star has to take in one more.
    let mut retry: Option<(usize, usize)> = None;
    while t < text.len() {
        match pattern.get(p) {
            Some(b'*') => {
                retry = Some((p + 1, t));
                p += 1;
            }
            Some(byte) if *byte == text[t] => {
                p += 1;
                t += 1;
            }
            _ => match retry {
                Some((after, taken)) => {
                    retry = Some((after, taken + 1));
                    p = after;
                    t = taken + 1;
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|byte| *byte == b'*')
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

    proptest! {
        #[test]
        fn a_text_with_pieces_starred_out_matches(parts in prop::collection::vec("[ab ]{0,5}", 1..5), fill in "[ab ]{0,5}") {
            prop_assert!(matches(&parts.join("*"), &parts.join(&fill)));
        }
    }
}
