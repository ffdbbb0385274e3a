//! The system's keyring: the Secret Service, the keychain of macOS, or the Credential Manager of Windows.
//!
//! A keyring may have to ask its user first, or hang. One that does not answer within [`PATIENCE`] counts as none from
//! then on, so that nobody waits twice.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, mpsc};
use std::time::Duration;

use keyring_core::{CredentialStore, Entry, Error};
use secrecy::{ExposeSecret as _, SecretString};
use zeroize::Zeroizing;

/// How long a keyring may take.
const PATIENCE: Duration = Duration::from_secs(3);
/// What the secrets of this program are called in it.
const SERVICE: &str = "ona";

/// Why a keyring did not do what it was asked to.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyringError {
    /// It takes too long.
    #[error("it does not answer")]
    Silent,
    /// There is none, or it refuses.
    #[error("{0}")]
    Failed(String),
}

type Opened = Result<Arc<CredentialStore>, KeyringError>;

/// A keyring, opened when it is first asked. Every kind of keyring is a [`CredentialStore`] behind it.
#[derive(Clone)]
pub struct Keyring(Arc<State>);

struct State {
    open: fn() -> keyring_core::Result<Arc<CredentialStore>>,
    store: OnceLock<Opened>,
    silent: AtomicBool,
    patience: Duration,
}

impl Keyring {
    /// The one of the system, if it has one. All of a process share it.
    pub fn system() -> Self {
        static SYSTEM: OnceLock<Keyring> = OnceLock::new();
        SYSTEM.get_or_init(|| Self::opened_by(system)).clone()
    }

    /// None.
    pub(crate) fn none() -> Self {
        Self::opened_by(|| Err(Error::NoDefaultStore))
    }

    fn opened_by(open: fn() -> keyring_core::Result<Arc<CredentialStore>>) -> Self {
        Self(Arc::new(State {
            open,
            store: OnceLock::new(),
            silent: AtomicBool::new(false),
            patience: PATIENCE,
        }))
    }

    /// The secret of this name.
    pub(crate) fn get(&self, name: &str) -> Result<Option<SecretString>, KeyringError> {
        let bytes = self.ask(name, |entry| entry.get_secret().map(Zeroizing::new))?;
        let Some(bytes) = bytes else { return Ok(None) };
        let text = std::str::from_utf8(&bytes)
            .map_err(|_| KeyringError::Failed("what it holds is not text".to_owned()))?;
        Ok(Some(SecretString::from(text)))
    }

    /// Stores a secret, and replaces one of the same name.
    pub(crate) fn put(&self, name: &str, secret: &SecretString) -> Result<(), KeyringError> {
        let secret = secret.clone();
        let done = self.ask(name, move |entry| entry.set_secret(secret.expose_secret().as_bytes()));
        done.map(|_| ())
    }

    /// Removes a secret, if it is there.
    pub(crate) fn remove(&self, name: &str) -> Result<(), KeyringError> {
        self.ask(name, Entry::delete_credential).map(|_| ())
    }

    /// Asks for an entry on a thread of its own, which is left behind if it takes too long. `None` is no such entry.
    fn ask<T: Send + 'static>(
        &self,
        name: &str,
        what: impl FnOnce(&Entry) -> keyring_core::Result<T> + Send + 'static,
    ) -> Result<Option<T>, KeyringError> {
        if self.0.silent.load(Ordering::Relaxed) {
            return Err(KeyringError::Silent);
        }
        let (state, name) = (Arc::clone(&self.0), name.to_owned());
        let (tell, told) = mpsc::channel();
        let asked = std::thread::Builder::new().name("keyring".to_owned()).spawn(move || {
            let answer = state.store().and_then(|store| {
                let entry = store.build(SERVICE, &name, None).map_err(|error| failed(&error))?;
                match what(&entry) {
                    Ok(answer) => Ok(Some(answer)),
                    Err(Error::NoEntry) => Ok(None),
                    Err(error) => Err(failed(&error)),
                }
            });
            // Whoever asked may have given up.
            let _ = tell.send(answer);
        });
        asked.map_err(|error| KeyringError::Failed(error.to_string()))?;
        told.recv_timeout(self.0.patience).unwrap_or_else(|_| {
            self.0.silent.store(true, Ordering::Relaxed);
            Err(KeyringError::Silent)
        })
    }
}

impl State {
    fn store(&self) -> Opened {
        let opened = || (self.open)().map_err(|error| failed(&error));
        self.store.get_or_init(opened).clone()
    }
}

fn failed(error: &Error) -> KeyringError {
    KeyringError::Failed(match error {
        Error::NoDefaultStore => "this system has none".to_owned(),
        error => error.to_string(),
    })
}

#[cfg(target_os = "linux")]
fn system() -> keyring_core::Result<Arc<CredentialStore>> {
    Ok(dbus_secret_service_keyring_store::Store::new()?)
}

#[cfg(target_os = "macos")]
fn system() -> keyring_core::Result<Arc<CredentialStore>> {
    Ok(apple_native_keyring_store::keychain::Store::new()?)
}

#[cfg(windows)]
fn system() -> keyring_core::Result<Arc<CredentialStore>> {
    Ok(windows_native_keyring_store::Store::new()?)
}

#[cfg(not(any(target_os = "linux", target_os = "macos", windows)))]
fn system() -> keyring_core::Result<Arc<CredentialStore>> {
    Err(Error::NoDefaultStore)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A keyring that holds what it is given, for one test.
    pub(crate) fn in_memory() -> Keyring {
        Keyring::opened_by(|| Ok(keyring_core::mock::Store::new()?))
    }

    /// One that never answers.
    pub(crate) fn silent() -> Keyring {
        Keyring(Arc::new(State {
            open: || {
                loop {
                    std::thread::park();
                }
            },
            store: OnceLock::new(),
            silent: AtomicBool::new(false),
            patience: Duration::from_millis(1),
        }))
    }

    fn shown(keyring: &Keyring, name: &str) -> Option<String> {
        keyring.get(name).unwrap().map(|secret| secret.expose_secret().to_owned())
    }

    #[test]
    fn secrets_are_kept_replaced_and_removed() {
        let keyring = in_memory();
        assert_eq!(shown(&keyring, "a"), None);
        keyring.remove("a").unwrap();
        keyring.put("a", &SecretString::from("one")).unwrap();
        keyring.put("a", &SecretString::from("two")).unwrap();
        assert_eq!(shown(&keyring, "a").as_deref(), Some("two"));
        keyring.remove("a").unwrap();
        assert_eq!(shown(&keyring, "a"), None);
    }

    #[test]
    fn one_that_is_silent_is_asked_once() {
        let keyring = silent();
        assert_eq!(keyring.get("a").unwrap_err(), KeyringError::Silent);
        assert!(keyring.0.silent.load(Ordering::Relaxed));
        assert_eq!(keyring.put("a", &SecretString::from("one")).unwrap_err(), KeyringError::Silent);
    }

    #[test]
    fn none_says_so() {
        assert!(matches!(Keyring::none().get("a").unwrap_err(), KeyringError::Failed(_)));
    }
}
