//! Whether bytes are text, and in which encoding.

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};

/// What the first bytes of a file say it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// Text in this encoding, after a byte order mark of this length.
    Text(&'static Encoding, usize),
    /// Not text.
    Binary,
}

/// Looks at the beginning of a file; `whole` if it is all of it.
pub fn sniff(start: &[u8], whole: bool) -> Kind {
    if let Some((encoding, mark)) = Encoding::for_bom(start) {
        return Kind::Text(encoding, mark);
    }
    if start.contains(&0) {
        return Kind::Binary;
    }
    match std::str::from_utf8(start) {
        Ok(_) => Kind::Text(UTF_8, 0),
        // A character may be cut at the end of what we look at.
        Err(error) if !whole && error.error_len().is_none() => Kind::Text(UTF_8, 0),
        Err(_) if start.iter().all(|byte| is_texty(*byte)) => Kind::Text(WINDOWS_1252, 0),
        Err(_) => Kind::Binary,
    }
}

/// Control characters hardly occur in text of any single-byte encoding.
fn is_texty(byte: u8) -> bool {
    matches!(byte, b'\t' | b'\n' | b'\r' | 0x0c | 0x1b | 0x20..=0x7e | 0x80..)
}

/// Whether lines can be found in the raw bytes, which UTF-16 does not allow.
pub fn is_bytewise(encoding: &'static Encoding) -> bool {
    encoding != UTF_16LE && encoding != UTF_16BE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds() {
        assert_eq!(sniff(b"plain", true), Kind::Text(UTF_8, 0));
        assert_eq!(sniff("grün".as_bytes(), true), Kind::Text(UTF_8, 0));
        assert_eq!(
            sniff(&"grün".as_bytes()[..3], false),
            Kind::Text(UTF_8, 0),
            "cut in a character"
        );
        assert_eq!(sniff(b"\xef\xbb\xbfx", true), Kind::Text(UTF_8, 3));
        assert_eq!(sniff(b"\xff\xfex\0", true), Kind::Text(UTF_16LE, 2));
        assert_eq!(sniff(b"gr\xfcn", true), Kind::Text(WINDOWS_1252, 0));
        assert_eq!(sniff(b"\x7fELF\x02\x01\0", true), Kind::Binary);
        assert_eq!(sniff(b"\x01\x02\xff\xfe\xfd", true), Kind::Binary);
    }
}
