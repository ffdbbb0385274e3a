//! The form of the vault's file: a line that says what it is, a nonce, and the secrets, sealed with
//! XChaCha20-Poly1305. A nonce of 24 random bytes does not repeat, however often the file is written.

use std::collections::BTreeMap;

use chacha20poly1305::aead::{Aead as _, Payload};
use chacha20poly1305::{KeyInit as _, XChaCha20Poly1305, XNonce};
use secrecy::{ExposeSecret as _, SecretString};
use zeroize::Zeroizing;

/// What every vault begins with, whatever its version.
const NAME: &[u8] = b"ona-vault ";
/// The first line; it is authenticated too.
const HEADER: &[u8] = b"ona-vault 1\n";
const NONCE: usize = 24;

/// A key.
pub(crate) type Key = Zeroizing<[u8; 32]>;

/// The secrets by their names.
pub(crate) type Secrets = BTreeMap<String, SecretString>;

/// Why a file cannot be unsealed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unsealable {
    /// It was changed, cut off, or sealed with another key.
    Damaged,
    /// It says that it is of a later version.
    Newer,
}

/// Why secrets cannot be sealed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SealError {
    /// The system gave no random bytes.
    #[error("the system's random number generator failed: {0}")]
    NoRandom(#[from] getrandom::Error),
    /// The cipher refuses them, as it does far beyond the limit of a vault.
    #[error("the secrets cannot be encrypted")]
    Cipher,
}

/// Random bytes from the system.
pub(crate) fn random<const N: usize>() -> Result<Zeroizing<[u8; N]>, SealError> {
    let mut bytes = Zeroizing::new([0; N]);
    getrandom::fill(bytes.as_mut())?;
    Ok(bytes)
}

/// The secrets as a file holds them.
pub(crate) fn seal(secrets: &Secrets, key: &Key) -> Result<Vec<u8>, SealError> {
    let nonce = random::<NONCE>()?;
    let plain = written(secrets);
    let payload = Payload { msg: &plain, aad: HEADER };
    let sealed =
        cipher(key).encrypt(&XNonce::from(*nonce), payload).map_err(|_| SealError::Cipher)?;
    Ok([HEADER, nonce.as_slice(), &sealed].concat())
}

/// The secrets in a file's bytes.
pub(crate) fn unseal(bytes: &[u8], key: &Key) -> Result<Secrets, Unsealable> {
    let Some(rest) = bytes.strip_prefix(HEADER) else {
        return Err(match bytes.strip_prefix(NAME) {
            Some([b'0'..=b'9', ..]) => Unsealable::Newer,
            _ => Unsealable::Damaged,
        });
    };
    let (nonce, sealed) = rest.split_first_chunk::<NONCE>().ok_or(Unsealable::Damaged)?;
    let payload = Payload { msg: sealed, aad: HEADER };
    let plain = cipher(key)
        .decrypt(&XNonce::from(*nonce), payload)
        .map(Zeroizing::new)
        .map_err(|_| Unsealable::Damaged)?;
    read(&plain).ok_or(Unsealable::Damaged)
}

fn cipher(key: &Key) -> XChaCha20Poly1305 {
    XChaCha20Poly1305::new((&**key).into())
}

/// Each name and each secret, prefixed with its length. The buffer is allocated once: growing it would leave copies.
fn written(secrets: &Secrets) -> Zeroizing<Vec<u8>> {
    let mut plain = Zeroizing::new(Vec::with_capacity(size(secrets)));
    for (name, secret) in secrets {
        for text in [name.as_str(), secret.expose_secret()] {
            plain.extend_from_slice(&(text.len() as u64).to_le_bytes());
            plain.extend_from_slice(text.as_bytes());
        }
    }
    plain
}

/// How many bytes the secrets take.
pub(crate) fn size(secrets: &Secrets) -> usize {
    secrets.iter().map(|(name, secret)| 16 + name.len() + secret.expose_secret().len()).sum()
}

fn read(mut plain: &[u8]) -> Option<Secrets> {
    let mut secrets = Secrets::new();
    while !plain.is_empty() {
        let name = take(&mut plain)?.to_owned();
        secrets.insert(name, SecretString::from(take(&mut plain)?));
    }
    Some(secrets)
}

fn take<'p>(plain: &mut &'p [u8]) -> Option<&'p str> {
    let (length, rest) = plain.split_first_chunk::<8>()?;
    let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
    let (text, rest) = rest.split_at_checked(length)?;
    *plain = rest;
    std::str::from_utf8(text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secrets() -> Secrets {
        [("a", "one"), ("b/ü", ""), ("c", "three\0\n")]
            .into_iter()
            .map(|(name, secret)| (name.to_owned(), SecretString::from(secret)))
            .collect()
    }

    fn shown(secrets: &Secrets) -> Vec<(String, String)> {
        let shown = |(name, secret): (&String, &SecretString)| {
            (name.clone(), secret.expose_secret().to_owned())
        };
        secrets.iter().map(shown).collect()
    }

    #[test]
    fn what_is_sealed_is_unsealed_with_its_key_alone() {
        let (key, other) = (random().unwrap(), random().unwrap());
        for secrets in [Secrets::new(), secrets()] {
            let sealed = seal(&secrets, &key).unwrap();
            assert_eq!(shown(&unseal(&sealed, &key).unwrap()), shown(&secrets));
            assert_eq!(unseal(&sealed, &other).unwrap_err(), Unsealable::Damaged);
            assert_ne!(seal(&secrets, &key).unwrap(), sealed, "never the same nonce");
        }
    }

    #[test]
    fn every_changed_byte_and_every_cut_is_noticed() {
        let key = random().unwrap();
        let sealed = seal(&secrets(), &key).unwrap();
        for at in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[at] ^= 1;
            assert!(unseal(&changed, &key).is_err(), "byte {at}");
            assert!(unseal(&sealed[..at], &key).is_err(), "cut at {at}");
        }
        assert_eq!(unseal(b"ona-vault 2\nwhatever", &key).unwrap_err(), Unsealable::Newer);
        assert_eq!(unseal(b"", &key).unwrap_err(), Unsealable::Damaged);
    }

    #[test]
    fn lengths_that_lie_are_no_secrets() {
        for plain in [
            &b"\x01"[..],
            &[255; 8],
            &[9, 0, 0, 0, 0, 0, 0, 0, b'x'],
            &[1, 0, 0, 0, 0, 0, 0, 0, 0xff],
        ] {
            assert!(read(plain).is_none(), "{plain:?}");
        }
    }
}
