//! Masks live values in a stream of bytes that goes to a file.

use super::{LIVE, Redactor, shaped};

/// A stream without live values. What may be the beginning of one waits for the next piece.
#[derive(Debug)]
pub struct MaskedBytes {
    redactor: Redactor,
    held: Vec<u8>,
}

impl MaskedBytes {
    /// Masks what the redactor knows.
    pub fn new(redactor: Redactor) -> Self {
        Self { redactor, held: Vec::new() }
    }

    /// What can be written after this piece came.
    pub fn pass(&mut self, piece: &[u8]) -> Vec<u8> {
        self.held.extend_from_slice(piece);
        let rest = self.held.split_off(self.redactor.certain(&self.held));
        self.redactor.mask_live_bytes(&std::mem::replace(&mut self.held, rest))
    }

    /// What is left when the stream ends.
    pub fn end(&mut self) -> Vec<u8> {
        self.redactor.mask_live_bytes(&std::mem::take(&mut self.held))
    }
}

impl Redactor {
    /// Overwrites secrets in binary data with `*`, so that offsets stay the same. Returns how many bytes.
    pub fn blank_bytes(&self, bytes: &mut [u8]) -> usize {
        // What is no ASCII is part of no shape, and is as long in this text.
        let plain = |byte: &u8| if byte.is_ascii() { char::from(*byte) } else { '\0' };
        let text: String = bytes.iter().map(plain).collect();
        let mut found: Vec<std::ops::Range<usize>> = shaped(&text);
        found.extend(self.known.ranges(bytes));
        found.extend(self.late().iter().flat_map(|late| late.known.ranges(bytes)));
        for range in &found {
            bytes[range.clone()].fill(b'*');
        }
        found.iter().map(ExactSizeIterator::len).sum()
    }

    fn mask_live_bytes(&self, bytes: &[u8]) -> Vec<u8> {
        let (mut masked, mut copied) = (Vec::with_capacity(bytes.len()), 0);
        for range in self.known.ranges(bytes) {
            masked.extend_from_slice(&bytes[copied..range.start]);
            masked.extend_from_slice(LIVE.as_bytes());
            copied = range.end;
        }
        masked.extend_from_slice(&bytes[copied..]);
        match self.late() {
            Some(late) => late.mask_live_bytes(&masked),
            None => masked,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::LearnedSecrets;
    use super::*;

    #[test]
    fn bytes_that_are_no_text_keep_their_places() {
        let redactor = Redactor::knowing(["t0p-secret-value".to_owned()]);
        let token = format!("ghp_{}", "aB3dE6".repeat(6));
        let mut bytes = [b"\xff\0t0p-secret-value\xfe ", token.as_bytes(), b"\0x"].concat();
        let length = bytes.len();
        assert_eq!(redactor.blank_bytes(&mut bytes), 16 + token.len());
        let stars = |count| "*".repeat(count).into_bytes();
        assert_eq!(bytes, [b"\xff\0", &*stars(16), b"\xfe ", &*stars(40), b"\0x"].concat());
        assert_eq!(bytes.len(), length);
    }

    proptest! {
        #[test]
        fn a_value_in_pieces_is_masked_and_nothing_else_is_lost(
            words in prop::collection::vec(prop_oneof![
                Just(&b"t0p-secret-valuet"[..]), Just(&b"t0p-secret"[..]), Just(&b"\xff\xfe"[..]),
                Just(&b" x\n"[..]), Just(&b"t0p-"[..]), Just(&b"valueteth"[..]), Just(&b"%74%3"[..]),
                Just(&b"0p-secret-%76aluet"[..]), Just(&b"dDBwLXNlY3Jl\ndC12YWx1ZXQ=\n"[..]),
                Just(&b"1\tdDBwLXNlY3Jl\n2\tdC12YWx1ZXQ=\n"[..]),
            ], 0..12),
            size in 1usize..20,
            late in any::<bool>(),
        ) {
            let whole = words.concat();
            // It ends as it begins, and as another one begins.
            let (first, second) = ("t0p-secret-valuet".to_owned(), "valueteth-two".to_owned());
            let redactor = match late {
                false => Redactor::knowing([first, second]),
                true => {
                    let learned = LearnedSecrets::default();
                    learned.learn([second]);
                    Redactor::knowing([first]).and_later(learned)
                }
            };
            let mut stream = MaskedBytes::new(redactor.clone());
            let mut written = Vec::new();
            for piece in whole.chunks(size) {
                written.extend(stream.pass(piece));
            }
            written.extend(stream.end());
            prop_assert_eq!(written, redactor.mask_live_bytes(&whole));
        }
    }
}
