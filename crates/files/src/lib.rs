//! Safe access to files that other programs, other ona processes or people may change too.
//!
//! - [`replace`] replaces a file's content atomically: a crash leaves either the old content or the new.
//! - [`Lock`] lets one process at a time change something, and waits only for a limited time.
//! - [`read_at_most`] reads a regular file up to a limit: a pipe cannot block it, a huge file cannot fill the memory.
//! - [`resolve`] finds the real file of a path, through `..` and symlinks.
//! - [`jsonl`] appends to a file of JSON lines whose last line may be torn, and reads it from both ends.
//! - [`jsonc`] changes one value of a hand-written JSON file, and no other byte of it.
//! - [`text`] tells from the first bytes whether a file is text, and in which encoding.
//!
//! Not here: which paths may be accessed (see `ona-policy` and the gate), and temporary directories.
//! The errors do not name the file: the caller adds its name as the user gave it.
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
mod resolved;
pub mod text;

pub use lock::{Lock, LockError};
pub use read::{
    Links, MAX_WHOLE, ReadError, content, content_text, hash, link_count, open, open_found,
    read_at_most, read_open, read_resolved_text, read_text_at_most,
};
pub use replace::{Expect, Mode, ReplaceError, ReplaceOptions, Staged, replace, sync_directory};
pub use resolve::resolve;
