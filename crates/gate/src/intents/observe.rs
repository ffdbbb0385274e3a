//! What a call changes: its files before it runs, compared with those after it.

use std::collections::HashSet;
use std::fs;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use ona_effects::path::Target;
use ona_intents::gate::CallClass;
use ona_trace::Ledger;
use ona_trace::TraceEntry;
use ona_trace::entry::{CONCURRENT_MODIFICATION, parse_line};
use ona_trace::ranges::prefixed_hash;
use ona_types::{ContentHash, FileView};
use serde::{Deserialize, Serialize};

use super::Governed;
use ona_repo::snapshot::{Change, Side, Tree};

/// The limit for reading what others appended to the trace meanwhile, in bytes.
const MAX_TRACE: u64 = 16 << 20;

/// The state before a call runs, to find out afterwards what it changed.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Before {
    /// The files that it names, as they were when it was judged.
    files: Vec<Named>,
    /// All files, if it may change any of them.
    tree: Option<Tree>,
    /// Where the trace ended.
    trace: u64,
    warnings: Vec<String>,
}

/// A file that a call names.
#[derive(Debug, Serialize, Deserialize)]
struct Named {
    path: PathBuf,
    content: Content,
}

/// The state of a file.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Content {
    Absent,
    #[serde(with = "ona_repo::snapshot::base64_bytes")]
    Bytes(Vec<u8>),
    Unknown,
}

impl Content {
    fn of(path: &Path) -> Self {
        match ona_files::content(path) {
            Ok(bytes) => Self::Bytes(bytes),
            Err(_) if fs::symlink_metadata(path).is_ok() => Self::Unknown,
            Err(_) => Self::Absent,
        }
    }

    fn side(self) -> Side {
        match self {
            Self::Absent => Side::Absent,
            Self::Bytes(bytes) => Side::Content(bytes),
            Self::Unknown => Side::Unknown,
        }
    }
}

/// What a call changed.
#[derive(Debug, Default)]
pub struct Changes {
    /// The files.
    pub files: Vec<Change>,
    /// Warnings.
    pub warnings: Vec<String>,
    /// The trace is shorter than it was.
    pub trace_cut: bool,
}

impl Before {
    /// Records what a call could change, right before it runs.
    pub async fn take(governed: &Governed, writes: &[Target]) -> Self {
        let root = governed.workspace.root().to_owned();
        let trace = ledger_end(&root);
        if let CallClass::Classified(_) = governed.class {
            let tree = tokio::task::spawn_blocking(move || {
                Tree::take(&root, ona_intents::file::own_files())
            })
            .await
            .ok();
            return Self { tree, trace, ..Self::default() };
        }
        let mut before = Self { trace, ..Self::default() };
        for target in writes {
            // Files outside the workspace are not judged by its intents.
            let Ok(path) = target.real.strip_prefix(&root) else { continue };
            let content = Content::of(&target.real);
            let hash = match &content {
                Content::Bytes(bytes) => Some(prefixed_hash(bytes)),
                _ => None,
            };
            let judged = governed.seen.iter().find(|(real, _)| *real == target.real);
            if judged.is_some_and(|(_, judged)| *judged != hash) {
                before.warnings.push(CONCURRENT_MODIFICATION.to_owned());
            }
            before.files.push(Named { path: path.to_owned(), content });
        }
        before
    }

    /// Whether it covers all files.
    pub fn is_tree(&self) -> bool {
        self.tree.is_some()
    }

    /// Compares what a tool says it wrote with the files, right after it ran.
    pub fn compare_with(&mut self, written: &[FileView]) {
        let moved = |view: &FileView| {
            ona_files::content(&view.path).is_ok_and(|bytes| ContentHash::of(&bytes) != view.hash)
        };
        if written.iter().any(moved) {
            self.warnings.push(CONCURRENT_MODIFICATION.to_owned());
        }
    }

    /// For a call that was not reported before it ran: nothing is known of its files.
    pub fn unseen(root: &Path, writes: &[Target]) -> Self {
        let paths = writes.iter().filter_map(|target| target.real.strip_prefix(root).ok());
        let files = paths.map(|path| Named { path: path.to_owned(), content: Content::Unknown });
        Self { files: files.collect(), trace: ledger_end(root), ..Self::default() }
    }

    /// The changes since. Files that other sessions have changed meanwhile do not count.
    pub async fn changes(
        self,
        root: &Path,
        vouched: &(dyn Fn(&TraceEntry) -> bool + Sync),
    ) -> Changes {
        let trace_cut = ledger_end(root) < self.trace;
        let mut changes = Changes { files: Vec::new(), warnings: self.warnings, trace_cut };
        for Named { path, content } in self.files {
            let new = Content::of(&root.join(&path)).side();
            changes.files.extend(Change::between(path, content.side(), new));
        }
        if let Some(tree) = self.tree {
            let theirs = written_since(root, self.trace, vouched);
            let mut files = tree.changes().await;
            files.retain(|change| match &change.new {
                Side::Content(bytes) => {
                    let path = change.path.to_string_lossy().into_owned();
                    !theirs.contains(&(path, prefixed_hash(bytes)))
                }
                _ => true,
            });
            changes.files = files;
        }
        changes
    }
}

fn ledger_end(root: &Path) -> u64 {
    let length = Ledger::of(root).ok().and_then(|ledger| fs::metadata(ledger.path()).ok());
    length.map_or(0, |meta| meta.len())
}

/// The files that newer entries of the trace name, as those calls left them; only entries that `vouched` confirms.
fn written_since(
    root: &Path,
    since: u64,
    vouched: &(dyn Fn(&TraceEntry) -> bool + Sync),
) -> HashSet<(String, String)> {
    let read = || -> io::Result<Vec<u8>> {
        let ledger = Ledger::of(root).map_err(std::io::Error::other)?;
        let open = ona_files::open(ledger.path(), ona_files::Links::Follow);
        let mut file = open.map_err(io::Error::other)?.ok_or(io::ErrorKind::NotFound)?;
        file.seek(SeekFrom::Start(since))?;
        let mut bytes = Vec::new();
        file.take(MAX_TRACE).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let bytes = read().unwrap_or_default();
    let entries = bytes.split(|byte| *byte == b'\n').filter_map(|line| parse_line(line).ok());
    let entries = entries.map(|(_, entry)| entry).filter(vouched);
    let left = entries.flat_map(|entry| {
        entry.modified_ranges.into_iter().filter_map(|range| Some((range.file, range.after_hash?)))
    });
    left.collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use ona_effects::Effects;
    use ona_intents::Workspace;
    use ona_repo::Disk;
    use serde_json::json;

    use super::*;
    use crate::intents::{Subject, check_call};

    /// A workspace whose one intent owns everything, and a write of `a` in it.
    fn judged() -> (tempfile::TempDir, Governed, Effects) {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join(".orchestration")).unwrap();
        let intents = "- {id: INT-1, status: IN_PROGRESS, owned_scope: ['**']}\n";
        fs::write(dir.path().join(ona_intents::file::INTENTS_FILE), intents).unwrap();
        fs::write(dir.path().join("a"), "one\n").unwrap();
        let workspace = Arc::new(Workspace::at(dir.path()).unwrap());
        let effects = Effects::replace(Target::of(&Disk, workspace.root(), "a").unwrap());
        let subject = Subject {
            tool: ona_tools::find("Write").unwrap(),
            input: &json!({}),
            effects: &effects,
            selected: Some("INT-1"),
            stale: &[],
        };
        let (governed, _) = check_call(&workspace, &subject);
        (dir, governed, effects)
    }

    #[tokio::test]
    async fn a_file_that_changes_between_gate_and_write_is_noticed() {
        for (meanwhile, noticed) in [(None, false), (Some("somebody else's\n"), true)] {
            let (dir, governed, effects) = judged();
            if let Some(text) = meanwhile {
                fs::write(dir.path().join("a"), text).unwrap();
            }
            let before = Before::take(&governed, &effects.writes).await;
            fs::write(dir.path().join("a"), "two\n").unwrap();
            let changes = before.changes(governed.workspace.root(), &|_| false).await;
            let told = changes.warnings.iter().any(|warning| warning == CONCURRENT_MODIFICATION);
            assert_eq!(told, noticed);
            let was = meanwhile.unwrap_or("one\n").as_bytes().to_vec();
            assert_eq!(changes.files[0].old, Side::Content(was), "what was really replaced");
        }
    }

    #[tokio::test]
    async fn what_another_session_traced_meanwhile_is_not_ours() {
        let (dir, mut governed, effects) = judged();
        governed.class = CallClass::Classified(ona_intents::hook_policy::Classified {
            class: ona_intents::hook_policy::Class::Destructive,
            reason: String::new(),
        });
        let before = Before::take(&governed, &effects.writes).await;
        fs::write(dir.path().join("theirs"), "x\n").unwrap();
        fs::write(dir.path().join("ours"), "x\n").unwrap();
        let mut entry = ona_trace::TraceEntry::new();
        entry.modified_ranges = ona_trace::ranges::modified_ranges("theirs", None, Some(b"x\n"));
        Ledger::of(dir.path()).unwrap().append(entry).unwrap();
        let again = serde_json::to_string(&before).unwrap();
        let again: Before = serde_json::from_str(&again).unwrap();
        let changes = again.changes(governed.workspace.root(), &|_| false).await;
        assert_eq!(changes.files.len(), 2, "nobody vouches for the line");
        let changes = before.changes(governed.workspace.root(), &|_| true).await;
        let names: Vec<_> = changes.files.iter().map(|change| change.path.clone()).collect();
        assert_eq!(names, [Path::new("ours")]);
    }
}
