//! `.orchestration/intent_map.md`: which files each intent has touched.
//!
//! A view of the ledger, between two markers. What people write outside the markers stays. After one mutation
//! [`IntentMap::add`] updates it without reading the ledger again; [`IntentMap::of_ledger`] rebuilds it.

mod import;
mod page;

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use ona_files::{
    Lock, LockError, ReadError, ReplaceError, ReplaceOptions, read_resolved_text, replace,
};

pub use import::{Imported, import};
pub use page::{BEGIN, END};

use ona_trace::entry::MutationClass;
use ona_trace::ledger::LOCK_TIMEOUT;
use ona_trace::paths::{UnsafePath, inside, own_file};
use ona_trace::{Ledger, TraceEntry};

/// Where the map is, from the workspace.
pub const MAP_PATH: &str = ".orchestration/intent_map.md";

/// The lock for updates: two processes must not remove each other's rows.
const LOCK_PATH: &str = ".orchestration/intent_map.lock";

/// The limit for a map that ona rewrites, in bytes.
const MAX_FILE: u64 = 16 << 20;

/// How many symbols a row names: the ones touched last.
const MAX_SYMBOLS: usize = 12;

/// What an intent last did to a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MapRow {
    /// Symbols it touched, the last one last.
    pub symbols: Vec<String>,
    /// The class of the last change.
    pub class: Option<MutationClass>,
    /// SHA-256 of the file after it; none if the file is gone or the record does not say.
    pub hash: Option<String>,
    /// When.
    pub changed: String,
}

/// Files by intent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IntentMap {
    intents: BTreeMap<String, BTreeMap<String, MapRow>>,
}

/// Why the map was not written.
#[derive(Debug, thiserror::Error)]
pub enum MapError {
    /// It lies outside the workspace, or is a link.
    #[error(transparent)]
    Path(#[from] UnsafePath),
    /// Another process is updating it. The map is a view: it can be rebuilt at any time.
    #[error("the intent map was not updated: {0}")]
    Lock(#[from] LockError),
    /// The existing file cannot be read.
    #[error("{MAP_PATH}: {0}")]
    Read(#[from] ReadError),
    /// It was not replaced.
    #[error("{MAP_PATH}: {0}")]
    Write(#[from] ReplaceError),
    /// The ledger cannot be read.
    #[error("the trace cannot be read: {0}")]
    Io(#[from] io::Error),
}

impl IntentMap {
    /// The map of all that the ledger says.
    pub fn of_ledger(ledger: &Ledger) -> io::Result<Self> {
        let mut map = Self::default();
        for line in ledger.read()? {
            if let Ok((_, entry)) = line?.entry {
                map.add(&entry);
            }
        }
        Ok(map)
    }

    /// The map of a workspace as ona last wrote it; none if there is none.
    pub fn read(workspace: &Path) -> Result<Option<Self>, MapError> {
        let text = read_resolved_text(&inside(workspace, MAP_PATH)?, MAX_FILE)?;
        Ok(text.as_deref().and_then(page::parse))
    }

    /// Takes an entry in. Failures changed nothing, and an entry without an intent belongs to none.
    pub fn add(&mut self, entry: &TraceEntry) {
        let Some(intent) = entry.intent_id.as_ref().filter(|_| entry.success) else { return };
        for path in entry.files() {
            let rows = self.intents.entry(intent.clone()).or_default();
            let row = rows.entry(path.to_owned()).or_default();
            row.class = entry.mutation_class;
            row.changed = ona_trace::time::whole_seconds(&entry.timestamp);
            let named = entry.file.as_ref().filter(|file| file.relative_path == path);
            row.hash = named.and_then(|file| file.post_hash.clone());
            for range in entry.modified_ranges.iter().filter(|range| range.file == path) {
                row.hash.clone_from(&range.after_hash);
                for node in &range.ast_nodes {
                    row.symbols.retain(|symbol| *symbol != node.symbol);
                    row.symbols.push(node.symbol.clone());
                }
            }
            let surplus = row.symbols.len().saturating_sub(MAX_SYMBOLS);
            row.symbols.drain(..surplus);
        }
    }

    /// The files of an intent.
    pub fn files(&self, intent: &str) -> impl Iterator<Item = (&str, &MapRow)> {
        self.intents.get(intent).into_iter().flatten().map(|(path, row)| (path.as_str(), row))
    }

    /// The intents that have files.
    pub fn intents(&self) -> impl Iterator<Item = &str> {
        self.intents.keys().map(String::as_str)
    }

    /// Writes the map of a workspace anew. `name` gives the name of an intent.
    pub fn write(
        &self,
        workspace: &Path,
        name: impl Fn(&str) -> Option<String>,
    ) -> Result<(), MapError> {
        let path = own_file(workspace, MAP_PATH)?;
        let old = read_resolved_text(&path, MAX_FILE)?;
        let new = page::render(self, old.as_deref(), name);
        if old.as_deref() != Some(new.as_str()) {
            replace(&path, new.as_bytes(), &ReplaceOptions::default())?;
        }
        Ok(())
    }
}

/// Brings the map of a workspace up to date with one new entry, as the ledger already holds it
/// ([`ona_trace::ledger::Appended::entry`]). The ledger is read only if there is no map to add to.
pub fn record(
    workspace: &Path,
    ledger: &Ledger,
    entry: &TraceEntry,
    name: impl Fn(&str) -> Option<String>,
) -> Result<(), MapError> {
    let (path, lock) = (own_file(workspace, MAP_PATH)?, own_file(workspace, LOCK_PATH)?);
    if let Some(dir) = lock.parent() {
        std::fs::create_dir_all(dir)?;
    }
    let _held = Lock::acquire(&lock, LOCK_TIMEOUT)?;
    let old = read_resolved_text(&path, MAX_FILE)?;
    let map = match old.as_deref().and_then(page::parse) {
        Some(mut map) => {
            map.add(entry);
            map
        }
        None => IntentMap::of_ledger(ledger)?,
    };
    map.write(workspace, name)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use ona_trace::ranges::modified_ranges;
    use ona_trace::syntax::attribute;

    fn entry(intent: &str, path: &str, source: &str) -> TraceEntry {
        let mut modified_ranges = modified_ranges(path, None, Some(source.as_bytes()));
        attribute(path, Some(source.as_bytes()), &mut modified_ranges);
        TraceEntry {
            intent_id: Some(intent.to_owned()),
            mutation_class: Some(MutationClass::BugFix),
            timestamp: "2026-05-02T09:14:03.120Z".to_owned(),
            modified_ranges,
            ..TraceEntry::new()
        }
    }

    fn name(id: &str) -> Option<String> {
        (id == "INT-1").then(|| "Rate limit".to_owned())
    }

    #[test]
    fn made_from_the_ledger_and_added_to() {
        let dir = tempfile::tempdir().unwrap();
        let ledger = Ledger::of(dir.path()).unwrap();
        for entry in [entry("INT-1", "a.rs", "fn f() {}"), entry("INT-2", "b|c.rs", "fn g() {}")] {
            ledger.append(entry.clone()).unwrap();
            record(dir.path(), &ledger, &entry, name).unwrap();
        }
        let failed = TraceEntry { success: false, ..entry("INT-3", "x.rs", "fn f() {}") };
        ledger.append(failed.clone()).unwrap();
        record(dir.path(), &ledger, &failed, name).unwrap();
        let text = fs::read_to_string(dir.path().join(MAP_PATH)).unwrap();
        assert!(
            text.starts_with("# Intent Map\n\n<!-- ona:begin generated -->\n## INT-1 Rate limit\n")
        );
        let hash = ona_trace::ranges::prefixed_hash(b"fn f() {}");
        assert!(
            text.contains(&format!("| a.rs | f | BUG_FIX | {hash} | 2026-05-02T09:14:03Z |\n")),
            "{text}"
        );
        assert!(!text.contains("INT-3"));
        let anew = IntentMap::of_ledger(&ledger).unwrap();
        assert_eq!(page::parse(&text), Some(anew.clone()));
        assert_eq!(anew.intents().collect::<Vec<_>>(), ["INT-1", "INT-2"]);
        assert_eq!(anew.files("INT-2").next().unwrap().0, "b|c.rs");
    }

    #[test]
    fn hand_notes_stay() {
        let dir = tempfile::tempdir().unwrap();
        let ledger = Ledger::of(dir.path()).unwrap();
        let path = dir.path().join(MAP_PATH);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "# Ours\r\n\r\n- INT-1: a.ts, b.ts\r\n").unwrap();
        let one = entry("INT-1", "a.rs", "fn f() {}");
        ledger.append(one.clone()).unwrap();
        record(dir.path(), &ledger, &one, name).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.starts_with("# Ours\r\n\r\n- INT-1: a.ts, b.ts\r\n"), "{text}");
        assert!(text.contains("\r\n| a.rs |"));
        fs::write(&path, text.clone() + "Below.\r\n").unwrap();
        record(dir.path(), &ledger, &one, name).unwrap();
        let again = fs::read_to_string(&path).unwrap();
        assert_eq!(again, text + "Below.\r\n");
    }

    #[test]
    fn a_map_that_leads_out_is_refused() {
        let (dir, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        std::os::unix::fs::symlink(outside.path(), dir.path().join(".orchestration")).unwrap();
        assert!(IntentMap::default().write(dir.path(), name).is_err());
    }

    #[test]
    fn a_map_that_is_a_link_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let ledger = Ledger::of(dir.path()).unwrap();
        let one = entry("INT-1", "a.rs", "fn f() {}");
        ledger.append(one.clone()).unwrap();
        fs::write(dir.path().join("a.rs"), "fn f() {}").unwrap();
        std::os::unix::fs::symlink("../a.rs", dir.path().join(MAP_PATH)).unwrap();
        let recorded = record(dir.path(), &ledger, &one, name);
        assert!(matches!(recorded, Err(MapError::Path(UnsafePath::Link { .. }))));
        assert!(IntentMap::default().write(dir.path(), name).is_err());
        assert_eq!(fs::read_to_string(dir.path().join("a.rs")).unwrap(), "fn f() {}");
    }
}
