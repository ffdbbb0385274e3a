//! The form of the vault's file: a line that says what it is, the salt of a passphrase if there is one, a nonce, and the
//! secrets, sealed with XChaCha20-Poly1305. A nonce of 24 random bytes does not repeat, however often the file is written.

use std::collections::BTreeMap;

use argon2::Argon2;
use chacha20poly1305::aead::{Aead as _, Payload};
use chacha20poly1305::{KeyInit as _, XChaCha20Poly1305, XNonce};
use secrecy::{ExposeSecret as _, SecretString};
use zeroize::Zeroizing;

/// What every vault begins with, whatever its version.
const NAME: &[u8] = b"ona-vault ";
/// The first line of one with a key file, and of one with a passphrase; it is authenticated too, and so is the salt.
const WITH_KEY_FILE: &[u8] = b"ona-vault 1\n";
const WITH_PASSPHRASE: &[u8] = b"ona-vault 2\n";
const NONCE: usize = 24;
const SALT: usize = 16;

/// A key.
pub(crate) type Key = Zeroizing<[u8; 32]>;

/// What the key of a passphrase is made with besides it.
pub(crate) type Salt = [u8; SALT];

/// Where the key comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyFrom {
    /// From its own file.
    File,
    /// From a passphrase.
    Passphrase(Salt),
}

impl KeyFrom {
    /// From a passphrase, with a new salt.
    pub(crate) fn passphrase() -> Result<Self, SealError> {
        Ok(Self::Passphrase(*random::<SALT>()?))
    }

    /// How a file begins.
    fn header(self) -> Vec<u8> {
        match self {
            Self::File => WITH_KEY_FILE.to_vec(),
            Self::Passphrase(salt) => [WITH_PASSPHRASE, &salt].concat(),
        }
    }

    /// What a file's bytes say, and what stands behind it.
    pub(crate) fn of(bytes: &[u8]) -> Result<(Self, &[u8]), Unsealable> {
        if let Some(rest) = bytes.strip_prefix(WITH_KEY_FILE) {
            return Ok((Self::File, rest));
        }
        if let Some(rest) = bytes.strip_prefix(WITH_PASSPHRASE) {
            let (salt, rest) = rest.split_first_chunk::<SALT>().ok_or(Unsealable::Damaged)?;
            return Ok((Self::Passphrase(*salt), rest));
        }
        Err(match bytes.strip_prefix(NAME) {
            Some([b'0'..=b'9', ..]) => Unsealable::Newer,
            _ => Unsealable::Damaged,
        })
    }
}

/// The key of a passphrase: Argon2id, with the parameters that its authors recommend.
pub(crate) fn derived(passphrase: &str, salt: &Salt) -> Result<Key, SealError> {
    let mut key = Zeroizing::new([0; 32]);
    Argon2::default()
        .hash_password_into(passphrase.as_bytes(), salt, key.as_mut())
        .map_err(|_| SealError::Passphrase)?;
    Ok(key)
}

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
    /// No key can be made of the passphrase.
    #[error(
        "no key can be made of the passphrase in ONA_VAULT_PASSPHRASE: is it longer than 4 GiB?"
    )]
    Passphrase,
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
pub(crate) fn seal(secrets: &Secrets, from: KeyFrom, key: &Key) -> Result<Vec<u8>, SealError> {
    let nonce = random::<NONCE>()?;
    let plain = written(secrets);
    let header = from.header();
    let payload = Payload { msg: &plain, aad: &header };
    let sealed =
        cipher(key).encrypt(&XNonce::from(*nonce), payload).map_err(|_| SealError::Cipher)?;
    Ok([&header, nonce.as_slice(), &sealed].concat())
}

/// The secrets in a file's bytes.
pub(crate) fn unseal(bytes: &[u8], key: &Key) -> Result<Secrets, Unsealable> {
    let (from, rest) = KeyFrom::of(bytes)?;
    let (nonce, sealed) = rest.split_first_chunk::<NONCE>().ok_or(Unsealable::Damaged)?;
    let header = from.header();
    let payload = Payload { msg: sealed, aad: &header };
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
        for (secrets, from) in
            [(Secrets::new(), KeyFrom::File), (secrets(), KeyFrom::passphrase().unwrap())]
        {
            let sealed = seal(&secrets, from, &key).unwrap();
            assert_eq!(KeyFrom::of(&sealed).unwrap().0, from);
            assert_eq!(shown(&unseal(&sealed, &key).unwrap()), shown(&secrets));
            assert_eq!(unseal(&sealed, &other).unwrap_err(), Unsealable::Damaged);
            assert_ne!(seal(&secrets, from, &key).unwrap(), sealed, "never the same nonce");
        }
        let KeyFrom::Passphrase(salt) = KeyFrom::passphrase().unwrap() else { panic!() };
        assert_eq!(derived("word", &salt).unwrap(), derived("word", &salt).unwrap());
        assert_ne!(derived("word", &salt).unwrap(), derived("Word", &salt).unwrap());
    }

    #[test]
    fn every_changed_byte_and_every_cut_is_noticed() {
        let key = random().unwrap();
        for from in [KeyFrom::File, KeyFrom::passphrase().unwrap()] {
            let sealed = seal(&secrets(), from, &key).unwrap();
            for at in 0..sealed.len() {
                let mut changed = sealed.clone();
                changed[at] ^= 1;
                assert!(unseal(&changed, &key).is_err(), "byte {at}");
                assert!(unseal(&sealed[..at], &key).is_err(), "cut at {at}");
            }
        }
        assert_eq!(unseal(b"ona-vault 3\nwhatever", &key).unwrap_err(), Unsealable::Newer);
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
