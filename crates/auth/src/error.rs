//! Errors of a vault, and what to do about them. No error loses a stored secret.

use std::io;
use std::path::PathBuf;

use ona_files::{LockError, ReplaceError};

use crate::keyring::KeyringError;
use crate::sealed::SealError;

/// Why a vault could not be opened, read or written. Its content is unchanged.
#[derive(Debug, thiserror::Error)]
pub enum VaultError {
    /// Another user owns it and could have changed it.
    #[error(
        "{} belongs to user {uid}, but you are {own}: its owner could change it. Move it away, or run as its owner",
        path.display()
    )]
    NotOurs {
        /// The file or directory.
        path: PathBuf,
        /// The owner.
        uid: u32,
        /// The current user.
        own: u32,
    },
    /// Others could have read it.
    #[error(
        "{} is accessible to other users (mode {mode:03o}): replace the secrets in it, then `chmod {wanted:03o} {}`",
        path.display(),
        path.display()
    )]
    Open {
        /// The file or directory.
        path: PathBuf,
        /// What its mode is.
        mode: u32,
        /// What it should be.
        wanted: u32,
    },
    /// A link, a pipe, or something else that is not a file.
    #[error("{} is not a regular file: move it away", .0.display())]
    NotAFile(PathBuf),
    /// The path is not a directory.
    #[error("{} is not a directory: move it away", .0.display())]
    NotADirectory(PathBuf),
    /// There are secrets, but their key is missing.
    #[error(
        "{} is missing, and {} cannot be read without it: restore it from a backup, or move the vault away to start over",
        key.display(),
        vault.display()
    )]
    NoKey {
        /// Where the key should be.
        key: PathBuf,
        /// What it is the key to.
        vault: PathBuf,
    },
    /// The key file does not contain a key.
    #[error("{} does not contain a 32-byte key: restore it from a backup", .0.display())]
    BadKey(PathBuf),
    /// The keyring holds it, and cannot be used.
    #[error(
        "`{name}` is in the system's keyring, which cannot be used: {error}. Unlock it and try again"
    )]
    Keyring {
        /// The secret.
        name: String,
        /// Why not.
        error: KeyringError,
    },
    /// Its key comes from a passphrase, which is not given.
    #[error("{} is locked with a passphrase: set ONA_VAULT_PASSPHRASE to it", .0.display())]
    Locked(PathBuf),
    /// The passphrase is another one.
    #[error(
        "{} cannot be decrypted: the passphrase in ONA_VAULT_PASSPHRASE is wrong, or the file was changed or truncated. It is \
         left unchanged",
        .0.display()
    )]
    WrongPassphrase(PathBuf),
    /// It was changed, cut off, or sealed with another key.
    #[error(
        "{} cannot be decrypted: it was changed or truncated, or the key does not match. It is left unchanged; restore it or its \
         key from a backup, or move it away to start over",
        .0.display()
    )]
    Damaged(PathBuf),
    /// Written by a newer version of ona.
    #[error("{} was written by a newer version of ona: use that version", .0.display())]
    Newer(PathBuf),
    /// Not a valid name for a secret.
    #[error("`{}` is not a valid secret name: it must have 1 to 200 bytes and no control characters", .0.escape_debug())]
    BadName(String),
    /// Larger than the limit of a vault.
    #[error("the vault would be larger than its limit of {} KiB", .0 / 1024)]
    TooLarge(usize),
    /// Another process keeps it locked, or it cannot be locked.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// The system gave no random bytes, or the cipher refuses the secrets.
    #[error(transparent)]
    Seal(#[from] SealError),
    /// A file was not replaced.
    #[error("{}: {error}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why not.
        error: ReplaceError,
    },
    /// The file system refuses.
    #[error("{}: {error}", path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
}
