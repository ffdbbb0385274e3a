//! Where tokens of MCP servers are kept: in the vault.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use ona_auth::oauth::{self, Login};
use ona_auth::{Keyring, Vault, VaultError};
use ona_mcp::TokenStore;
use ona_types::BoxError;
use secrecy::{ExposeSecret as _, SecretString};

use crate::env;
use crate::error::CliError;

/// Opened on first use: without a sign-in there is no vault.
struct InVault {
    dir: PathBuf,
    passphrase: Option<SecretString>,
}

/// Where the operator's vault is.
fn place() -> Result<InVault, CliError> {
    Ok(InVault { dir: env::vault_dir()?, passphrase: env::vault_passphrase()? })
}

/// The operator's vault, as servers' tokens are kept in it.
pub fn vault() -> Result<Arc<dyn TokenStore>, CliError> {
    Ok(Arc::new(place()?))
}

/// The operator's vault.
pub fn open_vault() -> Result<Vault, CliError> {
    place()?.open().map_err(|error| CliError::failed(error.to_string()))
}

/// The login that is stored. Nobody who only looks makes a vault.
pub(crate) fn stored_login() -> Result<Option<Login>, VaultError> {
    match place().ok().filter(|place| place.dir.exists()) {
        Some(place) => oauth::stored(&place.open()?),
        None => Ok(None),
    }
}

/// Secrets in the vault that must not be shown: those of the login. Read once.
pub fn stored_secrets() -> Vec<String> {
    static STORED: OnceLock<Vec<String>> = OnceLock::new();
    let read = || stored_login().ok().flatten().map(|login| login.secrets());
    STORED.get_or_init(|| read().unwrap_or_default()).clone()
}

impl InVault {
    fn open(&self) -> Result<Vault, VaultError> {
        let vault = Vault::open(&self.dir)?.with_keyring(Keyring::system());
        Ok(vault.with_passphrase(self.passphrase.clone()))
    }
}

impl TokenStore for InVault {
    fn load(&self, key: &str) -> Result<Option<String>, BoxError> {
        if !self.dir.exists() {
            return Ok(None);
        }
        let found = self.open()?.get(key)?;
        Ok(found.map(|secret| secret.expose_secret().to_owned()))
    }

    fn save(&self, key: &str, secret: &str) -> Result<(), BoxError> {
        self.open()?.put(key, &SecretString::from(secret))?;
        Ok(())
    }

    fn forget(&self, key: &str) -> Result<(), BoxError> {
        if !self.dir.exists() {
            return Ok(());
        }
        self.open()?.remove(key)?;
        Ok(())
    }

    fn lock(&self, key: &str) -> Result<Option<Box<dyn Send>>, BoxError> {
        Ok(Some(Box::new(self.open()?.renewing(key)?)))
    }
}
