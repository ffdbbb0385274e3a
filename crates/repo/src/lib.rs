//! Git, and the work tree: where a checkout is, what git tracks and remembers, and what changed since.
//!
//! - [`Checkout::of`] is the one walk up to `.git`. It knows the top, the repository's directories and the index, and
//!   reads them without running anything.
//! - [`Repository`] says which checkouts belong together.
//! - [`git`] runs the real `git` so that nothing the repository configures is executed.
//! - [`snapshot`] records a work tree before a call and finds what the call changed.
//! - [`Digest`] is the content of a work tree in one hash.
//! - [`walk`] makes every walk over a tree, and reads the lists of ignored files.
//! - [`Disk`] gives decisions (`ona-policy`) access to the disk and git.
//!
//! Not here: who may do what, and the intents that changes belong to.
//!
//! ```
//! # let dir = tempfile::tempdir()?;
//! # std::fs::create_dir_all(dir.path().join("repo/.git"))?;
//! # std::fs::create_dir_all(dir.path().join("repo/src"))?;
//! use ona_repo::Checkout;
//! let checkout = Checkout::of(&dir.path().join("repo/src")).unwrap();
//! assert_eq!(checkout.top(), dir.path().join("repo"));
//! # Ok::<(), std::io::Error>(())
//! ```

mod checkout;
mod config;
mod digest;
mod discovery;
mod disk;
pub mod git;
mod index;
mod plain;
mod repository;
pub mod snapshot;
#[cfg(test)]
mod testing;
pub mod walk;

pub use checkout::{Checkout, GitDirs};
pub use digest::{DamagedDigest, Digest};
pub use disk::Disk;
pub use index::Tracked;
pub use repository::Repository;
pub use walk::is_ignored;
