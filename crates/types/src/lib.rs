//! Types that every other crate shares.
//!
//! Ids, the closed enums of the source documents, transcript payloads, tool outcomes and canonical
//! JSON live here. The crate is pure: it does no I/O, reads no clock and no environment, and has
//! no error enum shared between modules.
//!
//! ```
//! use ona_types::canonical;
//! let hash = canonical::hash(&serde_json::json!({"b": 1.0, "a": null})).unwrap();
//! assert_eq!(hash.to_string().len(), 64);
//! ```

pub mod canonical;
mod credential_variables;
mod diagnostic;
mod effort;
pub mod gate;
mod hash;
pub mod hook;
mod id;
mod mask;
mod misfit;
mod near;
mod outcome;
mod permission;
mod phase;
mod public;
mod quote;
mod sandbox;
mod seen;
mod time;
mod tool_kind;
mod transcript;
pub mod trust;
mod usage;
mod words;
pub mod world;

pub use credential_variables::{CREDENTIAL_DESCRIPTOR, CREDENTIAL_HANDOVER, CREDENTIAL_VARIABLES};
pub use diagnostic::Diagnostic;
pub use effort::{Effort, UnknownEffort};
pub use hash::{ContentHash, Hasher};
pub use id::{ConversationId, SessionId, TaskId, ToolUseId, fresh_uuid, hashed, is_plain_name};
pub use mask::{Mask, restore_keys};
pub use misfit::plain_misfit;
pub use near::{nearest, shown};
pub use outcome::{
    Attachment, Change, FileView, INTERNAL_PREFIX, IntentSelected, OutcomeClass, PlanBaseline,
    TRUNCATED_SUFFIX, TaskEnd, TaskKind, TaskStarted, Todo, TodoStatus, ToolOutput,
};
pub use permission::{
    Behavior, PermissionMode, PermissionUpdate, RuleValue, UnknownMode, UpdateDestination,
};
pub use phase::{Phase, UnknownPhase};
pub use public::not_public;
pub use quote::{is_plain_in_shell, shell_quoted};
pub use sandbox::{PLACEHOLDER_MODE, SandboxLevel, UnknownLevel};
pub use seen::Seen;
pub use time::{date, rfc3339};
pub use tool_kind::{ToolKind, WriteAction};
pub use transcript::{
    Collapse, ContentBlock, Entry, EntryType, FileState, FileVersion, SystemNote,
};
pub use usage::Usage;
pub use words::{whole_last_words, whole_words};
pub use world::{PathError, World};

/// An error of the other side of a trait: its implementor knows the cases, its caller only passes the message on.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;
