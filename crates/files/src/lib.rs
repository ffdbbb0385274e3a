//! The one way to touch a file that other programs, other processes of ona or a person may touch too.
//!
//! - [`replace`] gives a file new content in one step: after a crash there is the old content or the new.
//! - [`Lock`] lets one process at a time change something, and never waits for ever.
//! - [`read_at_most`] reads a regular file up to a limit: no pipe keeps it waiting, no huge file fills the memory.
//! - [`resolve`] says which file a path really names, through `..` and symlinks.
//! - [`jsonl`] appends to a file of JSON lines whose last line may be torn, and reads it from both ends.
//! - [`jsonc`] changes one value of a JSON file that people keep, and no other byte of it.
//!
//! Not here: which paths may be touched (that is for `ona-policy` and the gate), and directories of temporary files.
//! The errors say what is wrong; the caller knows the file's name as the user gave it, and says where.
//!
//! ```
//! # let dir = tempfile::tempdir()?;
//! use ona_files::{ReplaceOptions, read_text_at_most, replace};
//! let path = dir.path().join("notes.txt");
//! replace(&path, b"one\n", &ReplaceOptions::default())?;
//! assert_eq!(read_text_at_most(&path, 1024)?.as_deref(), Some("one\n"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod jsonc;
pub mod jsonl;
mod lock;
mod read;
mod replace;
mod resolve;

pub use lock::{Lock, LockError};
pub use read::{
    Links, ReadError, hash, open, read_at_most, read_open, read_resolved_text, read_text_at_most,
};
pub use replace::{Expect, Mode, ReplaceError, ReplaceOptions, Staged, replace, sync_directory};
pub use resolve::resolve;
