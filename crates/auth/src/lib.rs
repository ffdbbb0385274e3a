//! Credentials: where they come from, which of them wins, and where they are kept.
//!
//! [`sources`] is the table of sources in their order. A [`Vault`] keeps named secrets in one encrypted file, for credentials that must outlive a process where the system
//! has no keyring. They never go into the record.
//!
//! What it protects from: the key is in a separate file, so a copy or a backup of the vault alone is useless, a
//! changed byte is noticed, and other users can read neither. It does not protect from programs that run as the same
//! user: they can read both files.
//!
//! The crate reads neither the environment nor settings: whoever does so says what is there.
//!
//! ```
//! # let dir = std::env::temp_dir().join(format!("ona-auth-doc-{}", std::process::id()));
//! use ona_auth::Vault;
//! use secrecy::{ExposeSecret, SecretString};
//! let vault = Vault::open(&dir).unwrap();
//! vault.put("mcp/tracker", &SecretString::from("token")).unwrap();
//! assert_eq!(vault.get("mcp/tracker").unwrap().unwrap().expose_secret(), "token");
//! # std::fs::remove_dir_all(&dir).unwrap();
//! ```

mod disk;
mod error;
pub mod oauth;
pub mod operator;
mod sealed;
pub mod sources;
mod vault;

pub use error::VaultError;
pub use sealed::SealError;
pub use vault::Vault;
