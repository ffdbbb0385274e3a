//! Where tokens of MCP servers are kept: in the vault.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use ona_auth::{Vault, VaultError, oauth};
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

/// The operator's vault, as servers' tokens are kept in it.
pub fn vault() -> Result<Arc<dyn TokenStore>, CliError> {
    Ok(Arc::new(InVault { dir: env::vault_dir()?, passphrase: env::vault_passphrase()? }))
}

/// Secrets in the vault that must not be shown: those of the login. Read once.
pub fn stored_secrets() -> Vec<String> {
    static STORED: OnceLock<Vec<String>> = OnceLock::new();
    let read = || {
        let dir = env::vault_dir().ok().filter(|dir| dir.exists())?;
        let vault = Vault::open(&dir).ok()?.with_passphrase(env::vault_passphrase().ok()?);
        Some(oauth::stored(&vault).ok()??.secrets())
    };
    STORED.get_or_init(|| read().unwrap_or_default()).clone()
}

/// Whether there is a vault: nobody who only looks makes one.
pub(crate) fn vault_exists() -> bool {
    env::vault_dir().is_ok_and(|dir| dir.join("vault").exists())
}

/// The operator's vault.
pub fn open_vault() -> Result<Vault, CliError> {
    env::vault_dir()?;
    env::vault_passphrase()?;
    open().map_err(|error| CliError::failed(error.to_string()))
}

/// The same, where the environment is known to be usable.
pub(crate) fn open() -> Result<Vault, VaultError> {
    let vault = Vault::open(&env::vault_dir().unwrap_or_default())?;
    Ok(vault.with_passphrase(env::vault_passphrase().unwrap_or_default()))
}

impl InVault {
    fn open(&self) -> Result<Vault, VaultError> {
        Ok(Vault::open(&self.dir)?.with_passphrase(self.passphrase.clone()))
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
        Ok(self.open()?.put(key, &SecretString::from(secret))?)
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
