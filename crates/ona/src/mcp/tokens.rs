//! Where tokens of MCP servers are kept: in the vault.

use std::path::PathBuf;
use std::sync::Arc;

use ona_auth::Vault;
use ona_mcp::TokenStore;
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
    fn open(&self) -> Result<Vault, String> {
        Vault::open(&self.0).map_err(|error| error.to_string())
    }
}

impl TokenStore for InVault {
    fn load(&self, key: &str) -> Result<Option<String>, String> {
        if !self.0.exists() {
            return Ok(None);
        }
        let found = self.open()?.get(key).map_err(|error| error.to_string())?;
        Ok(found.map(|secret| secret.expose_secret().to_owned()))
    }

    fn save(&self, key: &str, secret: &str) -> Result<(), String> {
        self.open()?.put(key, &SecretString::from(secret)).map_err(|error| error.to_string())
    }

    fn forget(&self, key: &str) -> Result<(), String> {
        if !self.0.exists() {
            return Ok(());
        }
        self.open()?.remove(key).map(drop).map_err(|error| error.to_string())
    }
}
