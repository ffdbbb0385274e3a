//! The secrets that this process knows: those of its environment and of the vault, and what it learns while it runs.

use std::borrow::Cow;
use std::sync::OnceLock;

use ona_policy::secrets::{LearnedSecrets, Redactor};

use crate::env;

/// What this process learns. All redactors of it share that.
pub fn learned() -> LearnedSecrets {
    static LEARNED: OnceLock<LearnedSecrets> = OnceLock::new();
    LEARNED.get_or_init(LearnedSecrets::default).clone()
}

/// Masks every secret that is known, and those that will be.
pub fn redactor() -> &'static Redactor {
    static REDACTOR: OnceLock<Redactor> = OnceLock::new();
    REDACTOR.get_or_init(|| Redactor::knowing(env::secrets()).and_later(learned()))
}

/// A text without them.
pub fn masked(text: &str) -> Cow<'_, str> {
    redactor().mask(text)
}
