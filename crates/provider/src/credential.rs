//! Credentials for a provider, and where they come from.

use std::fmt;
use std::pin::Pin;

use secrecy::{ExposeSecret, SecretString};

/// A credential for the request's headers. It is never shown: not in `Debug`, not in an error.
#[derive(Clone, Debug)]
pub enum Credential {
    /// An API key: `x-api-key` for Anthropic, a bearer for the others.
    ApiKey(SecretString),
    /// A bearer token.
    Bearer(SecretString),
    /// Whatever it is, it is sent as a key and as a bearer token.
    KeyAndBearer(SecretString),
    /// Nothing.
    None,
}

impl Credential {
    /// The secret itself, to be put into a header or masked out of a text.
    pub(crate) fn secret(&self) -> Option<&str> {
        match self {
            Self::ApiKey(secret) | Self::Bearer(secret) | Self::KeyAndBearer(secret) => {
                Some(secret.expose_secret())
            }
            Self::None => None,
        }
    }
}

/// No credential is available.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no credential from {source_name}: {reason}")]
pub struct CredentialError {
    /// Where it should have come from.
    pub source_name: String,
    /// Why it is missing, and what to do; never a secret.
    pub reason: String,
}

/// Work that ends in a value.
pub type Fetching<'a, T> = Pin<Box<dyn Future<Output = Result<T, CredentialError>> + Send + 'a>>;

/// A source of credentials. It is asked before every request, so that an expiring one can be renewed.
pub trait Credentials: Send + Sync {
    /// The credential to use now.
    fn credential(&self) -> Fetching<'_, Credential>;

    /// Called when the server has refused the credential, once per request; `true` if asking for it again
    /// will give another one.
    fn refused(&self) -> Fetching<'_, bool> {
        Box::pin(async { Ok(false) })
    }

    /// The place, in words for the user.
    fn source(&self) -> &str;
}

/// A fixed credential.
#[derive(Clone)]
pub struct Fixed {
    source: String,
    credential: Credential,
}

impl Fixed {
    /// This credential, with the name of its source.
    pub fn new(source: impl Into<String>, credential: Credential) -> Self {
        Self { source: source.into(), credential }
    }
}

impl fmt::Debug for Fixed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fixed").field("source", &self.source).finish_non_exhaustive()
    }
}

impl Credentials for Fixed {
    fn credential(&self) -> Fetching<'_, Credential> {
        Box::pin(async { Ok(self.credential.clone()) })
    }

    fn source(&self) -> &str {
        &self.source
    }
}

/// The replacement for a masked secret.
const MASK: &str = "[secret]";
/// Masking a shorter text would hit innocent words.
const MIN_LEN: usize = 6;

/// Masks secrets in texts from servers, which may echo what they were sent.
#[derive(Clone, Default)]
pub(crate) struct Masks(Vec<SecretString>);

impl Masks {
    pub(crate) fn add(&mut self, secret: &str) {
        if secret.len() >= MIN_LEN {
            self.0.push(secret.into());
        }
    }

    pub(crate) fn apply(&self, text: String) -> String {
        self.0.iter().fold(text, |text, secret| text.replace(secret.expose_secret(), MASK))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_do_not_show() {
        let fixed = Fixed::new("ANTHROPIC_API_KEY", Credential::ApiKey("sk-very-secret".into()));
        let shown = format!("{fixed:?} {:?}", fixed.credential);
        assert!(!shown.contains("very"), "{shown}");
        let mut masks = Masks::default();
        masks.add("sk-very-secret");
        masks.add("a");
        assert_eq!(masks.apply("a key sk-very-secret!".to_owned()), "a key [secret]!");
    }
}
