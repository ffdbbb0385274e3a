//! The operator's key (DESIGN §5, no. 12): whoever has it is the human who answers for an approval. It is made on first use
//! and kept in the vault, which no governed process reads.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ona_types::ContentHash;
use ring::rand::SystemRandom;
use ring::signature::{Ed25519KeyPair, KeyPair as _};
use secrecy::{ExposeSecret as _, SecretString};
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use crate::error::VaultError;
use crate::vault::Vault;

/// Its name in the vault.
const NAME: &str = "operator";
/// The length of a key's id, in hexadecimal digits.
const ID: usize = 16;

/// What everybody may know of a key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PublicKey {
    /// The beginning of its hash.
    pub id: String,
    /// The key itself: 32 bytes in base64.
    pub public_key: String,
}

/// The operator's key now, and those before it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OperatorKeys {
    /// The one in use.
    #[serde(flatten)]
    pub current: PublicKey,
    /// Those that were replaced, the last one first: what they have signed stays signed.
    pub previous: Vec<PublicKey>,
}

/// Why there is no key.
#[derive(Debug, thiserror::Error)]
pub enum OperatorError {
    /// The vault cannot be used.
    #[error(transparent)]
    Vault(#[from] VaultError),
    /// The system gave no random bytes.
    #[error("a key could not be made: the system's random number generator failed")]
    NoRandom,
    /// What is stored is not a key.
    #[error("the stored operator key is damaged: `ona operator rotate` makes a new one")]
    Damaged,
}

/// As the vault keeps it.
#[derive(Serialize, Deserialize)]
struct Stored {
    /// The private key: PKCS #8 in base64.
    key: String,
    #[serde(default)]
    previous: Vec<PublicKey>,
}

impl Stored {
    fn new(previous: Vec<PublicKey>) -> Result<Self, OperatorError> {
        let made = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new());
        let made = made.map_err(|_| OperatorError::NoRandom)?;
        Ok(Self { key: STANDARD.encode(made.as_ref()), previous })
    }

    fn pair(&self) -> Result<Ed25519KeyPair, OperatorError> {
        let bytes = STANDARD.decode(&self.key).map(Zeroizing::new);
        let bytes = bytes.map_err(|_| OperatorError::Damaged)?;
        Ed25519KeyPair::from_pkcs8(&bytes).map_err(|_| OperatorError::Damaged)
    }

    fn public(&self) -> Result<PublicKey, OperatorError> {
        let pair = self.pair()?;
        let bytes = pair.public_key().as_ref();
        let id = ContentHash::of(bytes).as_str()[..ID].to_owned();
        Ok(PublicKey { id, public_key: STANDARD.encode(bytes) })
    }

    fn keys(&self) -> Result<OperatorKeys, OperatorError> {
        Ok(OperatorKeys { current: self.public()?, previous: self.previous.clone() })
    }
}

/// The operator's keys; the first one is made if there is none.
pub fn show(vault: &Vault) -> Result<OperatorKeys, OperatorError> {
    let _alone = vault.renewing(NAME)?;
    match read(vault)? {
        Some(stored) => stored?.keys(),
        None => keep(vault, &Stored::new(Vec::new())?),
    }
}

/// Replaces the key by a new one.
pub fn rotate(vault: &Vault) -> Result<OperatorKeys, OperatorError> {
    let _alone = vault.renewing(NAME)?;
    let previous = match read(vault)? {
        // Of one that is damaged nothing is known.
        Some(Ok(stored)) => {
            let mut previous = stored.previous.clone();
            previous.splice(0..0, stored.public().ok());
            previous
        }
        Some(Err(_)) | None => Vec::new(),
    };
    keep(vault, &Stored::new(previous)?)
}

/// What is stored; the inner error is that it is no key.
/// The private key as it is stored, if there is one: it must not be shown.
pub fn secret(vault: &Vault) -> Option<String> {
    let stored = read(vault).ok().flatten()?;
    stored.ok().map(|stored| stored.key)
}

fn read(vault: &Vault) -> Result<Option<Result<Stored, OperatorError>>, OperatorError> {
    let secret = vault.get(NAME)?;
    let parsed = |secret: SecretString| {
        serde_json::from_str(secret.expose_secret()).map_err(|_| OperatorError::Damaged)
    };
    Ok(secret.map(parsed))
}

fn keep(vault: &Vault, stored: &Stored) -> Result<OperatorKeys, OperatorError> {
    let text = serde_json::to_string(stored).map_err(|_| OperatorError::Damaged)?;
    vault.put(NAME, &SecretString::from(text))?;
    stored.keys()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vault() -> (tempfile::TempDir, Vault) {
        let dir = tempfile::tempdir().unwrap();
        let vault = Vault::open(&dir.path().join("vault")).unwrap();
        (dir, vault)
    }

    #[test]
    fn a_key_is_made_once_and_replaced_when_that_is_asked_for() {
        let (_dir, vault) = vault();
        let first = show(&vault).unwrap();
        assert_eq!(first.current.id.len(), ID);
        assert_eq!(STANDARD.decode(&first.current.public_key).unwrap().len(), 32);
        assert_eq!(show(&vault).unwrap(), first);
        let second = rotate(&vault).unwrap();
        assert_ne!(second.current, first.current);
        assert_eq!(second.previous, std::slice::from_ref(&first.current));
        let third = rotate(&vault).unwrap();
        assert_eq!(third.previous, [second.current, first.current]);
        assert_eq!(show(&vault).unwrap(), third);
    }

    #[test]
    fn many_who_need_the_first_key_get_the_same() {
        let (_dir, vault) = vault();
        let all: Vec<OperatorKeys> = std::thread::scope(|scope| {
            let made: Vec<_> = (0..4).map(|_| scope.spawn(|| show(&vault).unwrap())).collect();
            made.into_iter().map(|one| one.join().unwrap()).collect()
        });
        assert!(all.iter().all(|keys| *keys == all[0]), "{all:?}");
    }

    #[test]
    fn what_is_shown_is_never_the_private_key() {
        let (_dir, vault) = vault();
        let shown = serde_json::to_string(&show(&vault).unwrap()).unwrap();
        let stored = vault.get(NAME).unwrap().unwrap();
        let stored: Stored = serde_json::from_str(stored.expose_secret()).unwrap();
        assert!(!shown.contains(&stored.key));
        vault.put(NAME, &SecretString::from("{\"key\": \"?\"}")).unwrap();
        assert!(matches!(show(&vault).unwrap_err(), OperatorError::Damaged));
        assert_eq!(rotate(&vault).unwrap().previous, []);
    }
}
