//! Where tokens of MCP servers are kept: in the vault.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use ona_auth::oauth::{self, Login};
use ona_auth::{Keyring, Vault, VaultError, operator};
use ona_mcp::TokenStore;
use ona_policy::secrets::names_secret;
use ona_types::BoxError;
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::Value;

use crate::error::CliError;
use crate::{env, secrets};

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
    let Some(place) = place().ok().filter(|place| place.dir.exists()) else { return Ok(None) };
    let login = oauth::stored(&place.open()?)?;
    secrets::learned().learn(login.iter().flat_map(Login::secrets));
    Ok(login)
}

/// Secrets in the vault that must not be shown: those of the login, and the operator's key. Read once.
pub fn stored_secrets() -> Vec<String> {
    static STORED: OnceLock<Vec<String>> = OnceLock::new();
    let read = || {
        let place = place().ok().filter(|place| place.dir.exists())?;
        let vault = place.open().ok()?;
        let login = oauth::stored(&vault).ok().flatten();
        let login = login.map(|login| login.secrets()).unwrap_or_default();
        Some(login.into_iter().chain(operator::secret(&vault)).collect())
    };
    STORED.get_or_init(|| read().unwrap_or_default()).clone()
}

impl InVault {
    fn open(&self) -> Result<Vault, VaultError> {
        let vault = Vault::open(&self.dir)?.with_keyring(Keyring::system());
        Ok(vault.with_passphrase(self.passphrase.clone()))
    }
}

/// The secrets in what is kept of a server's sign-in: JSON, whose keys say what they are.
fn tokens_in(kept: &str) -> Vec<String> {
    fn below(value: &Value, found: &mut Vec<String>) {
        for (key, value) in value.as_object().into_iter().flatten() {
            match value.as_str().filter(|_| names_secret(key) && key != "token_type") {
                Some(secret) => found.push(secret.to_owned()),
                None => below(value, found),
            }
        }
    }
    let mut found = Vec::new();
    below(&serde_json::from_str(kept).unwrap_or_default(), &mut found);
    found
}

impl TokenStore for InVault {
    fn load(&self, key: &str) -> Result<Option<String>, BoxError> {
        if !self.dir.exists() {
            return Ok(None);
        }
        let found = self.open()?.get(key)?;
        let found = found.map(|secret| secret.expose_secret().to_owned());
        secrets::learned().learn(found.as_deref().map(tokens_in).unwrap_or_default());
        Ok(found)
    }

    fn save(&self, key: &str, secret: &str) -> Result<(), BoxError> {
        secrets::learned().learn(tokens_in(secret));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_of_a_sign_in_names_its_secrets() {
        let kept = r#"{"client_id": "c", "client_secret": "s3", "token_response":
            {"access_token": "a1", "token_type": "bearer", "refresh_token": "r2", "expires_in": 5}}"#;
        assert_eq!(tokens_in(kept), ["s3", "a1", "r2"]);
        assert!(tokens_in("nonsense").is_empty());
    }
}
