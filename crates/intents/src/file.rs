//! `.orchestration/active_intents.yaml`: the authority for what an intent may touch.
//!
//! Reading is tolerant ([`Intents::read`]), [`Loader`] reads the file and keeps what it read, [`update`] changes it
//! and leaves alone whatever is not meant: comments, order, unknown keys, quotes and line endings.

mod add;
mod edit;
mod load;
mod model;
mod read;
mod splice;
mod write;

pub use crate::yaml::{Place, YamlError};
pub use add::{NewIntent, add};
pub use edit::{Change, EditError, ListField, TextField, change};
pub(crate) use load::read_text;
pub use load::{LONGEST_FILE, LoadError, Loader};
pub use model::{Found, Intent, Intents, Item, Status, Warning, WarningKind};
pub(crate) use splice::list as yaml_list;
pub use write::{WriteError, update};

/// Whether the workspace has intents at all: without the directory every call goes on as if there were no gate
/// (S2 §3.2).
pub fn is_governed(root: &std::path::Path) -> bool {
    root.join(DIRECTORY).is_dir()
}

/// Where intents, trace, policy and the rest of it live, below the workspace.
pub const DIRECTORY: &str = ".orchestration";
/// The file, below the workspace.
pub const INTENTS_FILE: &str = ".orchestration/active_intents.yaml";
