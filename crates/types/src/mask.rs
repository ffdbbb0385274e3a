//! Masking of secrets, for crates that store text and do not know what a secret is.

use std::borrow::Cow;
use std::fmt::Debug;

/// Knows the secrets of this process.
pub trait Mask: Debug + Send + Sync {
    /// The text as it may be stored: without secrets. JSON stays JSON.
    fn for_storage<'t>(&self, text: &'t str) -> Cow<'t, str>;
}
