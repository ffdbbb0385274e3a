//! `$'…'`: text with escapes that bash decodes.

/// The text that `$'…'` stands for; `None` if it is not valid text or not certain.
pub fn decoded(inner: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(inner.len());
    let mut rest = inner;
    while let Some(next) = rest.chars().next() {
        rest = &rest[next.len_utf8()..];
        if next != '\\' {
            bytes.extend(next.encode_utf8(&mut [0; 4]).bytes());
            continue;
        }
        let escaped = rest.chars().next()?;
        let behind = &rest[escaped.len_utf8()..];
        let (byte, taken) = match escaped {
            'a' => (7, 1),
            'b' => (8, 1),
            'e' | 'E' => (27, 1),
            'f' => (12, 1),
            'n' => (b'\n', 1),
            'r' => (b'\r', 1),
            't' => (b'\t', 1),
            'v' => (11, 1),
            '\\' | '\'' | '"' | '?' => (u8::try_from(escaped).ok()?, 1),
            '0'..='7' => {
                let (value, taken) = number(rest, 8, 3)?;
                (u8::try_from(value & 0xff).ok()?, taken)
            }
            'x' => {
                let (value, taken) = number(behind, 16, 2)?;
                (u8::try_from(value).ok()?, taken + 1)
            }
            'u' | 'U' => {
                let (value, taken) = number(behind, 16, if escaped == 'u' { 4 } else { 8 })?;
                let character = char::from_u32(value).filter(|c| *c != '\0')?;
                bytes.extend(character.encode_utf8(&mut [0; 4]).bytes());
                rest = &behind[taken..];
                continue;
            }
            // `\cX` and what bash leaves as it stands.
            _ => return None,
        };
        // A NUL ends the text.
        if byte == 0 {
            return None;
        }
        bytes.push(byte);
        rest = &rest[taken..];
    }
    String::from_utf8(bytes).ok()
}

/// The number at the beginning, and how many digits it has.
fn number(text: &str, radix: u32, most: usize) -> Option<(u32, usize)> {
    let digits = text.bytes().take(most).take_while(|byte| char::from(*byte).is_digit(radix));
    let count = digits.count();
    Some((u32::from_str_radix(text.get(..count)?, radix).ok()?, count))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_decoded_as_bash_does() {
        for (inner, expected) in [
            ("plain", Some("plain")),
            (r".en\x76", Some(".env")),
            (r".en\166", Some(".env")),
            (r"\u002e\U00000065nv", Some(".env")),
            (r"a\tb\'c\\", Some("a\tb'c\\")),
            (r"\xc3\xa4", Some("ä")),
            (r"\x7fg", Some("\u{7f}g")),
            (r"a\0b", None),
            (r"\xff", None),
            (r"\cA", None),
            (r"\q", None),
            (r"\x", None),
        ] {
            assert_eq!(decoded(inner).as_deref(), expected, "{inner}");
        }
    }
}
