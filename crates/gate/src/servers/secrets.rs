//! The secrets of servers: the redactor learns their tokens as soon as the process does.

use std::sync::Arc;

use ona_mcp::{ServerSpec, TokenStore, Way, token_key};
use ona_policy::secrets::LearnedSecrets;
use ona_types::BoxError;
use serde_json::Value;

/// A token store: what is stored or loaded is masked from then on.
pub(super) struct MaskedTokens {
    pub(super) store: Arc<dyn TokenStore>,
    pub(super) learned: LearnedSecrets,
}

impl TokenStore for MaskedTokens {
    fn load(&self, key: &str) -> Result<Option<String>, BoxError> {
        let found = self.store.load(key)?;
        // Another process may have renewed it.
        self.learned.learn(found.iter().flat_map(|kept| secrets_in(kept)));
        Ok(found)
    }

    fn save(&self, key: &str, secret: &str) -> Result<(), BoxError> {
        self.learned.learn(secrets_in(secret));
        self.store.save(key, secret)
    }

    fn forget(&self, key: &str) -> Result<(), BoxError> {
        self.store.forget(key)
    }

    fn lock(&self, key: &str) -> Result<Option<Box<dyn Send>>, BoxError> {
        self.store.lock(key)
    }
}

/// The tokens and secrets in a stored sign-in.
fn secrets_in(kept: &str) -> Vec<String> {
    let mut found = Vec::new();
    if let Ok(kept) = serde_json::from_str(kept) {
        texts(&kept, &mut found);
    }
    found
}

/// The stored tokens of these servers.
pub(super) fn stored_tokens(specs: &[ServerSpec], tokens: Option<&dyn TokenStore>) -> Vec<String> {
    let remotes = specs.iter().filter_map(|spec| match &spec.way {
        Way::Http(remote) | Way::Sse(remote) => Some(token_key(&spec.name, &remote.url)),
        Way::Stdio { .. } => None,
    });
    let Some(tokens) = tokens else { return Vec::new() };
    let kept = remotes.filter_map(|key| tokens.load(&key).ok().flatten());
    kept.flat_map(|kept| secrets_in(&kept)).collect()
}

/// The strings in a value whose names say that they are tokens or secrets.
fn texts(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                match value {
                    Value::String(text) if name.contains("token") || name.contains("secret") => {
                        found.push(text.clone());
                    }
                    other => texts(other, found),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| texts(item, found)),
        _ => {}
    }
}
