//! Masking of secrets, for crates that store text and do not know what a secret is.

use std::borrow::Cow;
use std::fmt::Debug;

use serde_json::Value;

/// Knows the secrets of this process.
pub trait Mask: Debug + Send + Sync {
    /// The text as it may be stored: without secrets. JSON stays JSON.
    fn for_storage<'t>(&self, text: &'t str) -> Cow<'t, str>;
}

/// Where an event's detail names what it belongs to. It is found by these, so they are not masked.
const KEYS: [&str; 3] = ["/tool_use_id", "/workspace", "/what/workspace"];

/// Puts the keys of an event's detail back after it was masked.
pub fn restore_keys(masked: &mut Value, detail: &Value) {
    for key in KEYS {
        if let (Some(kept), Some(place)) = (detail.pointer(key), masked.pointer_mut(key)) {
            place.clone_from(kept);
        }
    }
}
