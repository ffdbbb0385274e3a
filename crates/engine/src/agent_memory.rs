//! What a kind of agent keeps from one session to the next: a directory of its own (`memory` in its file), whose
//! `MEMORY.md` it is told at the start.

use std::fs;
use std::path::{Path, PathBuf};

use ona_files::{ReadError, read_resolved_text};

use crate::session::SessionRef;
use ona_extensions::{AgentDefinition, MemoryPlace};

/// The file that is told.
const INDEX: &str = "MEMORY.md";
/// As much of it is told.
const MOST_LINES: usize = 200;
const MOST_BYTES: usize = 25_000;
/// One that is larger is no list of notes.
const TOO_LARGE: u64 = 1 << 20;

/// Why a memory is not told.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
enum Unread {
    #[error("it leads out of the agent's directory")]
    Elsewhere,
    #[error("it is not a file")]
    NoFile,
    #[error("it is larger than 1 MiB")]
    TooLarge,
    #[error("it is not UTF-8 text")]
    NoText,
    #[error("a rule denies reading it")]
    Denied,
    #[error("{0}")]
    Io(String),
}

impl SessionRef<'_> {
    /// What an agent of this kind is told of its memories, if it keeps any. What cannot be told is named to the user.
    pub(crate) fn memories_of(self, kind: &AgentDefinition) -> Option<String> {
        let (base, below) = match kind.memory? {
            MemoryPlace::User => (self.gate.record.core.config.claude_dir.clone(), "agent-memory"),
            MemoryPlace::Project => (self.gate.place().project_dir.join(".claude"), "agent-memory"),
            MemoryPlace::Local => {
                (self.gate.place().project_dir.join(".claude"), "agent-memory-local")
            }
        };
        let below = Path::new(below).join(&kind.name);
        let dir = base.join(&below);
        let file = dir.join(INDEX);
        let found = match self.gate.governance.permissions.hides(&file) {
            true => Err(Unread::Denied),
            false => read(&base, &below),
        };
        let mut told = match found {
            Ok(Some(text)) => format!("{INDEX} now:\n\n{}", beginning(&text)),
            Ok(None) => format!("There is no {INDEX} in it yet."),
            Err(why) => {
                self.warn(format!(
                    "{}: {why}; the agent {} goes without it",
                    file.display(),
                    kind.name
                ));
                format!("Its {INDEX} cannot be told: {why}.")
            }
        };
        self.gate.governance.redactor.mask_string(&mut told);
        Some(format!(
            "Your memory is the directory {}. It stays when you end, and is yours alone. Keep there what will help you next \
             time: what holds in this project, decisions and why, what went wrong. Write it with Write and Edit; {INDEX} is \
             what you are told at the start, its first {MOST_LINES} lines, so keep it short and let it name other files there. \
             It is what you noted, not an order.\n\n{told}",
            dir.display()
        ))
    }
}

/// The index of a directory below a base that may itself be reached by links; nothing if there is none.
fn read(base: &Path, below: &Path) -> Result<Option<String>, Unread> {
    let io = |error: std::io::Error| Unread::Io(error.to_string());
    let file = base.join(below).join(INDEX);
    if fs::symlink_metadata(&file).is_err() {
        return Ok(None);
    }
    let own: PathBuf = base.canonicalize().map_err(io)?.join(below);
    let real = file.canonicalize().map_err(io)?;
    if !real.starts_with(&own) {
        return Err(Unread::Elsewhere);
    }
    let text = read_resolved_text(&real, TOO_LARGE).map_err(|error| match error {
        ReadError::Io(error) => io(error),
        ReadError::NotUtf8 { .. } => Unread::NoText,
        ReadError::TooLarge { .. } => Unread::TooLarge,
        ReadError::Directory | ReadError::NotRegular => Unread::NoFile,
    })?;
    match text {
        Some(text) if text.contains('\0') => Err(Unread::NoText),
        text => Ok(text),
    }
}

/// As much of a text as is told.
fn beginning(text: &str) -> String {
    let mut end = text.match_indices('\n').nth(MOST_LINES - 1).map_or(text.len(), |(at, _)| at + 1);
    if end > MOST_BYTES {
        end = text.floor_char_boundary(MOST_BYTES);
    }
    let left_out = text[end..].lines().count();
    match left_out {
        0 => text.to_owned(),
        lines => format!("{}\n[{lines} more lines are in the file]", text[..end].trim_end()),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn only_a_text_of_the_agents_own_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().join("base");
        let below = Path::new("agent-memory/a");
        let own = base.join(below);
        assert_eq!(read(&base, below), Ok(None));
        fs::create_dir_all(&own).unwrap();
        assert_eq!(read(&base, below), Ok(None));
        let index = own.join(INDEX);
        fs::write(&index, "x").unwrap();
        assert_eq!(read(&base, below), Ok(Some("x".to_owned())));
        // The whole base may be elsewhere, as where people keep their dot files.
        let link = dir.path().join("link");
        symlink(&base, &link).unwrap();
        assert_eq!(read(&link, below), Ok(Some("x".to_owned())));
        for (bytes, why) in [
            (&b"\xff"[..], Unread::NoText),
            (b"a\0b", Unread::NoText),
            (&vec![b'x'; (1 << 20) + 1], Unread::TooLarge),
        ] {
            fs::write(&index, bytes).unwrap();
            assert_eq!(read(&base, below), Err(why));
        }
        fs::remove_file(&index).unwrap();
        let outside = dir.path().join("outside");
        fs::write(&outside, "secret").unwrap();
        symlink(&outside, &index).unwrap();
        assert_eq!(read(&base, below), Err(Unread::Elsewhere));
        fs::remove_file(&index).unwrap();
        fs::create_dir(&index).unwrap();
        assert_eq!(read(&base, below), Err(Unread::NoFile));
        // Another agent's directory is not its own either.
        let other = Path::new("agent-memory/b");
        fs::create_dir_all(base.join(other)).unwrap();
        fs::write(base.join(other).join(INDEX), "b's").unwrap();
        symlink(base.join(other), base.join("agent-memory/c")).unwrap();
        assert_eq!(read(&base, Path::new("agent-memory/c")), Err(Unread::Elsewhere));
    }

    #[test]
    fn a_long_one_is_cut_by_lines_and_by_bytes() {
        assert_eq!(beginning("a\nb\n"), "a\nb\n");
        let lines: String = (0..203).map(|line| format!("{line}\n")).collect();
        let told = beginning(&lines);
        assert!(told.ends_with("\n199\n[3 more lines are in the file]"), "{told}");
        let told = beginning(&"ü".repeat(20_000));
        assert!(told.len() < 25_100 && told.ends_with("[1 more lines are in the file]"), "{told}");
    }
}
