//! Where tokens of MCP servers are kept: in the vault.

use std::path::PathBuf;
use std::sync::Arc;

use ona_auth::{Vault, VaultError};
use ona_mcp::TokenStore;
use ona_types::BoxError;
use secrecy::{ExposeSecret as _, SecretString};

use crate::env;
use crate::error::CliError;

/// Opened on first use: without a sign-in there is no vault.
struct InVault(PathBuf);

/// The operator's vault, as servers' tokens are kept in it.
pub fn vault() -> Result<Arc<dyn TokenStore>, CliError> {
    Ok(Arc::new(InVault(env::vault_dir()?)))
}

impl InVault {
    fn open(&self) -> Result<Vault, VaultError> {
        Vault::open(&self.0)
    }
}

impl TokenStore for InVault {
    fn load(&self, key: &str) -> Result<Option<String>, BoxError> {
        if !self.0.exists() {
            return Ok(None);
        }
        let found = self.open()?.get(key)?;
        Ok(found.map(|secret| secret.expose_secret().to_owned()))
    }

    fn save(&self, key: &str, secret: &str) -> Result<(), BoxError> {
        Ok(self.open()?.put(key, &SecretString::from(secret))?)
    }

    fn forget(&self, key: &str) -> Result<(), BoxError> {
        if !self.0.exists() {
            return Ok(());
        }
        self.open()?.remove(key)?;
        Ok(())
    }
}
