//! The secrets of servers: their tokens are known to the redactor from the moment the process knows them.

use std::sync::Arc;

use ona_mcp::{ServerSpec, TokenStore, Way, token_key};
use ona_policy::secrets::LearnedSecrets;
use serde_json::Value;

/// A place for tokens: what is put there is secret from then on.
pub(super) struct HeardTokens {
    pub(super) store: Arc<dyn TokenStore>,
    pub(super) learned: LearnedSecrets,
}

impl TokenStore for HeardTokens {
    fn load(&self, key: &str) -> Result<Option<String>, String> {
        let found = self.store.load(key)?;
        // Another process may have renewed it.
        self.learned.learn(found.iter().flat_map(|kept| secrets_in(kept)));
        Ok(found)
    }

    fn save(&self, key: &str, secret: &str) -> Result<(), String> {
        self.learned.learn(secrets_in(secret));
        self.store.save(key, secret)
    }

    fn forget(&self, key: &str) -> Result<(), String> {
        self.store.forget(key)
    }

    fn lock(&self, key: &str) -> Result<Option<Box<dyn Send>>, String> {
        self.store.lock(key)
    }
}

/// The tokens and secrets in what is kept of a sign-in.
fn secrets_in(kept: &str) -> Vec<String> {
    let mut found = Vec::new();
    if let Ok(kept) = serde_json::from_str(kept) {
        texts(&kept, &mut found);
    }
    found
}

/// The tokens that are kept for these servers: they are not kept elsewhere.
pub(super) fn kept_tokens(specs: &[ServerSpec], tokens: Option<&dyn TokenStore>) -> Vec<String> {
    let remotes = specs.iter().filter_map(|spec| match &spec.way {
        Way::Http(remote) | Way::Sse(remote) => Some(token_key(&spec.name, &remote.url)),
        Way::Stdio { .. } => None,
    });
    let Some(tokens) = tokens else { return Vec::new() };
    let kept = remotes.filter_map(|key| tokens.load(&key).ok().flatten());
    kept.flat_map(|kept| secrets_in(&kept)).collect()
}

/// The texts in a value that are named like tokens and secrets.
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
