//! The secrets that this process knows: those of its environment, and what it reads or learns while it runs.

use std::borrow::Cow;
use std::sync::OnceLock;

use ona_policy::secrets::{LearnedSecrets, Redactor};

use crate::{env, tokens};

/// Knows the environment from the start, and everything else from when it is read.
static OWN: OnceLock<Redactor> = OnceLock::new();

/// What this process learns. All redactors of it share that.
pub fn learned() -> LearnedSecrets {
    static LEARNED: OnceLock<LearnedSecrets> = OnceLock::new();
    LEARNED.get_or_init(LearnedSecrets::default).clone()
}

fn own() -> &'static Redactor {
    OWN.get_or_init(|| Redactor::knowing(env::own_secrets()).and_later(learned()))
}

/// Masks every secret, the stored login too: others may have told it to whoever wrote a text.
pub fn redactor() -> &'static Redactor {
    learned().learn(tokens::stored_secrets());
    own()
}

/// A message of this process without secrets: it cannot tell what it has not read.
pub fn masked_message(text: &str) -> Cow<'_, str> {
    own().mask(text)
}

/// What a panic says, without secrets. `None` where that cannot be told from here: it may have happened on the way to them.
pub(crate) fn masked_panic(text: &str) -> Option<Cow<'_, str>> {
    OWN.get().map(|redactor| redactor.mask(text))
}
