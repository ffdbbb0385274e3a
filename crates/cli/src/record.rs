//! Opening the record, so that no secret of this process gets into it.

use std::path::Path;
use std::sync::Arc;

use ona_policy::secrets::Redactor;
use ona_store::{Store, StoreError};

use crate::env;

/// The record, which masks the secrets of the environment.
pub fn open(database: &Path) -> Result<Store, StoreError> {
    open_masking(database, Redactor::knowing(env::secrets()))
}

/// The record, which masks what this redactor knows.
#[allow(clippy::disallowed_methods, reason = "this is the function that is to be called instead")]
pub fn open_masking(database: &Path, redactor: Redactor) -> Result<Store, StoreError> {
    Ok(Store::open(database)?.masking(Arc::new(redactor)))
}
