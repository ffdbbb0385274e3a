//! Credentials: where they come from, which of them wins, and where they are kept.
//!
//! [`sources`] is the table of sources in their order. A [`Vault`] keeps the named secrets that must outlive a process: in
//! the system's [`Keyring`], or in one encrypted file where there is none. They never go into the record.
//!
//! What the file protects from: its key is in a separate file, so a copy or a backup of the vault alone is useless, a
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
mod keyring;
pub mod oauth;
pub mod operator;
mod sealed;
pub mod sources;
mod vault;

pub use error::VaultError;
pub use keyring::{Keyring, KeyringError};
pub use sealed::SealError;
pub use vault::{Kept, Renewal, Vault};

/// The limit for a credential: servers accept no longer headers.
pub const MAX_CREDENTIAL: usize = 16 * 1024;

/// Whether a text can be sent as a credential: one line of printable characters, not too long.
pub fn is_usable(credential: &str) -> bool {
    let printable = |c: char| c.is_ascii_graphic() || c == ' ';
    !credential.is_empty()
        && credential.len() <= MAX_CREDENTIAL
        && credential.chars().all(printable)
}
