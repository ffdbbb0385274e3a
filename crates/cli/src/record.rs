//! Opening the record, so that no secret of this process gets into it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ona_gate::governance::learn_secrets;
use ona_policy::secrets::Redactor;
use ona_store::{Store, StoreError};

use crate::error::CliError;
use crate::{bootstrap, env, secrets};

/// The record, for a command about this directory or the current one. It masks the secrets of the environment and of the
/// settings that apply there.
pub fn open(directory: Option<&Path>) -> Result<Store, CliError> {
    let config = env::config_of_environment()?;
    let store = open_masking(&env::database()?, config.redactor())?;
    // A directory that is gone is the command's to complain about; the user's own settings apply everywhere.
    let directory = bootstrap::directory(directory).unwrap_or_else(|_| PathBuf::from("/"));
    learn_secrets(&config, &store, &directory)?;
    Ok(store)
}

/// A record in another place, which masks the secrets of the environment.
pub fn open_at(database: &Path) -> Result<Store, StoreError> {
    open_masking(database, secrets::redactor().clone())
}

/// The record, which masks what this redactor knows.
#[allow(clippy::disallowed_methods, reason = "this is the function that is to be called instead")]
pub fn open_masking(database: &Path, redactor: Redactor) -> Result<Store, StoreError> {
    Ok(Store::open(database)?.masking(Arc::new(redactor)))
}
