//! What the operator has agreed to of a repository's own files, and where that is kept.

use crate::ContentHash;

/// One version of one file that is trusted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrustedContent {
    /// The repository's root directory.
    pub root: String,
    /// The file, from the root of a checkout.
    pub place: String,
    /// All that was agreed to.
    pub hash: ContentHash,
    /// What of it runs.
    pub runs_hash: ContentHash,
    /// When.
    pub trusted_at: String,
}

/// A file to trust as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrustedFile<'a> {
    /// The file, from the root of a checkout.
    pub place: &'a str,
    /// All that counts in it.
    pub hash: &'a ContentHash,
    /// What of it runs.
    pub runs_hash: &'a ContentHash,
}

/// Where trust is kept. The store stands behind it; what decides about trust does not see the store.
pub trait TrustRecord {
    /// Why it cannot be read or written.
    type Error;

    /// What is trusted in a repository.
    fn trusted(&self, root: &str) -> Result<Vec<TrustedContent>, Self::Error>;

    /// Trusts files of a repository as they are.
    fn trust(&self, root: &str, files: &[TrustedFile<'_>]) -> Result<(), Self::Error>;
}
