//! The work tree before and after a call that may change any of it: a command, or a tool nobody knows.
//!
//! What a file was before has to be had afterwards, and a tree is too large to be copied before every command. So of a
//! file that git tracks and that is as git last saw it, git's own object is enough; of all others the content is kept,
//! as far as there is room.

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use ignore::WalkBuilder;
use ona_intents::file::{DIRECTORY, INTENTS_FILE};
use ona_intents::hook_policy::POLICY_FILE;
use ona_intents::ignore::IGNORE_FILES;
use ona_policy::path::resolve;
use ona_policy::repository::{Checkout, Tracked};
use serde::{Deserialize, Serialize};

use crate::git;

/// So much content is kept at most, and of one file.
const MOST_KEPT: u64 = 32 << 20;
const LARGEST_KEPT: u64 = 4 << 20;

/// A file that is larger now is not looked into.
const LARGEST_READ: u64 = 64 << 20;

/// Directories of version control systems.
const VCS_DIRS: [&str; 4] = [".git", ".hg", ".svn", ".jj"];

/// What tells one state of a file from another without reading it. The last pair is the time of the last change of
/// anything about it, which no command can set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Stamp {
    node: (u64, u64),
    length: u64,
    mode: u32,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    fn of(meta: &Metadata) -> Self {
        Self {
            node: (meta.dev(), meta.ino()),
            length: meta.len(),
            mode: meta.mode(),
            modified: (meta.mtime(), meta.mtime_nsec()),
            changed: (meta.ctime(), meta.ctime_nsec()),
        }
    }
}

/// What a file was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Before {
    /// This.
    Content(#[serde(with = "base64_bytes")] Vec<u8>),
    /// What git keeps in this object.
    Object(String),
    /// A link to there.
    Link(PathBuf),
    /// Too large to be kept, or not to be read.
    NotKept,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Known {
    stamp: Stamp,
    before: Before,
}

/// The work tree as it was. Files that git ignores are no part of it: what a build leaves there is nobody's change.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Tree {
    root: PathBuf,
    files: BTreeMap<PathBuf, Known>,
}

/// A file, before or after.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// There was none.
    Absent,
    /// With this content; for a link, where it leads.
    Content(Vec<u8>),
    /// There was one, and its content is not known.
    Unknown,
}

impl Side {
    /// The content, where there is one.
    pub(crate) fn bytes(&self) -> Option<&[u8]> {
        match self {
            Self::Content(bytes) => Some(bytes),
            Self::Absent | Self::Unknown => None,
        }
    }
}

/// A file that is not what it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Change {
    /// Where, below the root.
    pub(crate) path: PathBuf,
    pub(crate) old: Side,
    pub(crate) new: Side,
    was: Option<Known>,
}

impl PartialEq for Known {
    fn eq(&self, other: &Self) -> bool {
        self.stamp == other.stamp
    }
}

impl Eq for Known {}

impl Tree {
    /// The tree as it is now. Waits for the disk.
    pub(crate) fn take(root: &Path) -> Self {
        let tracked = clean(root);
        let mut room = MOST_KEPT;
        let mut files = BTreeMap::new();
        for (path, meta) in walk(root) {
            let before = if meta.is_symlink() {
                fs::read_link(root.join(&path)).map_or(Before::NotKept, Before::Link)
            } else if let Some(object) = tracked.get(&path).filter(|file| is_as_seen(file, &meta)) {
                Before::Object(object.object.clone())
            } else if meta.len() > LARGEST_KEPT.min(room) {
                Before::NotKept
            } else {
                room -= meta.len();
                fs::read(root.join(&path)).map_or(Before::NotKept, Before::Content)
            };
            files.insert(path, Known { stamp: Stamp::of(&meta), before });
        }
        Self { root: root.to_owned(), files }
    }

    /// What is different now, in the order of the names.
    pub(crate) async fn changes(self) -> Vec<Change> {
        let root = self.root.clone();
        let compared = tokio::task::spawn_blocking(move || self.compare()).await;
        let mut changes = compared.unwrap_or_default();
        let objects: Vec<String> =
            changes.iter().filter_map(object_of).map(str::to_owned).collect();
        let objects: Vec<&str> = objects.iter().map(String::as_str).collect();
        let contents = if objects.is_empty() {
            Vec::new()
        } else {
            git::blobs(&root, &objects).await.unwrap_or_default()
        };
        let kept = changes.iter_mut().filter(|change| object_of(change).is_some());
        for (change, content) in kept.zip(contents) {
            // Filters may have put something else into the work tree than git keeps.
            let length = change.was.as_ref().map(|was| was.stamp.length);
            if let Some(bytes) = content.filter(|bytes| length == u64::try_from(bytes.len()).ok()) {
                change.old = Side::Content(bytes);
            }
        }
        changes.retain(|change| change.old != change.new || change.old == Side::Unknown);
        changes
    }

    fn compare(mut self) -> Vec<Change> {
        let mut changes = Vec::new();
        for (path, meta) in walk(&self.root) {
            let was = self.files.remove(&path);
            if was.as_ref().is_some_and(|was| was.stamp == Stamp::of(&meta)) {
                continue;
            }
            let new = now(&self.root.join(&path), &meta);
            changes.push(Change { path, old: old(was.as_ref()), new, was });
        }
        for (path, was) in self.files {
            // An ignore list that came up hides files that are still there.
            let new = match fs::symlink_metadata(self.root.join(&path)) {
                Err(_) => Side::Absent,
                Ok(meta) if Stamp::of(&meta) == was.stamp => continue,
                Ok(meta) => now(&self.root.join(&path), &meta),
            };
            changes.push(Change { path, old: old(Some(&was)), new, was: Some(was) });
        }
        changes.sort_by(|one, other| one.path.cmp(&other.path));
        changes
    }
}

fn object_of(change: &Change) -> Option<&str> {
    match &change.was {
        Some(Known { before: Before::Object(object), .. }) => Some(object),
        _ => None,
    }
}

fn old(was: Option<&Known>) -> Side {
    match was.map(|was| &was.before) {
        None => Side::Absent,
        Some(Before::Content(bytes)) => Side::Content(bytes.clone()),
        Some(Before::Link(to)) => Side::Content(to.as_os_str().as_encoded_bytes().to_vec()),
        Some(Before::Object(_) | Before::NotKept) => Side::Unknown,
    }
}

fn now(path: &Path, meta: &Metadata) -> Side {
    if meta.is_symlink() {
        return fs::read_link(path)
            .map_or(Side::Absent, |to| Side::Content(to.as_os_str().as_encoded_bytes().to_vec()));
    }
    if !meta.is_file() || meta.len() > LARGEST_READ {
        return Side::Unknown;
    }
    match fs::read(path) {
        Ok(bytes) => Side::Content(bytes),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Side::Absent,
        Err(_) => Side::Unknown,
    }
}

impl Change {
    /// The change from one to the other, if there is one.
    pub(crate) fn between(path: PathBuf, old: Side, new: Side) -> Option<Self> {
        (old != new || old == Side::Unknown).then_some(Self { path, old, new, was: None })
    }

    /// Makes the file what it was. Says why that cannot be done.
    pub(crate) fn put_back(&self, root: &Path) -> Result<(), String> {
        let path = root.join(&self.path);
        let words = |error: io::Error| error.to_string();
        // A directory that became a link must not lead the writing elsewhere.
        let parent = path.parent().unwrap_or(root);
        let real = resolve(root, parent).map_err(|error| error.to_string())?;
        if !real.starts_with(root) {
            return Err(format!("{} leads out of the workspace now", parent.display()));
        }
        match (&self.was, &self.old) {
            (None, _) => fs::remove_file(&path).map_err(words),
            (Some(Known { before: Before::Link(to), .. }), _) => {
                fs::create_dir_all(parent).map_err(words)?;
                let _ = fs::remove_file(&path);
                symlink(to, &path).map_err(words)
            }
            (Some(was), Side::Content(bytes)) => {
                fs::create_dir_all(parent).map_err(words)?;
                let aside = parent.join(format!(".ona-{}", ona_types::fresh_uuid()));
                let written = fs::write(&aside, bytes)
                    .and_then(|()| {
                        let mode = fs::Permissions::from_mode(was.stamp.mode & 0o7777);
                        fs::set_permissions(&aside, mode)
                    })
                    .and_then(|()| fs::rename(&aside, &path));
                written.map_err(|error| {
                    let _ = fs::remove_file(&aside);
                    error.to_string()
                })
            }
            (Some(_), _) => Err("what it was before was too large to be kept".to_owned()),
        }
    }
}

/// The files that git tracks, below the root; none where it cannot be told.
fn clean(root: &Path) -> HashMap<PathBuf, Tracked> {
    let Some(checkout) = Checkout::around(root) else { return HashMap::new() };
    let (Some(tracked), Some(indexed)) = (checkout.tracked(), checkout.indexed()) else {
        return HashMap::new();
    };
    let indexed = indexed.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let below = |file: Tracked| {
        let path = file.path.strip_prefix(root).ok()?.to_owned();
        // What was changed in the second the index was written in may have changed again in it.
        let settled = u64::from(file.seen.1) < indexed;
        (settled && !file.is_repository).then_some((path, file))
    };
    tracked.into_iter().filter_map(below).collect()
}

fn is_as_seen(file: &Tracked, meta: &Metadata) -> bool {
    let (length, seconds, nanoseconds) = file.seen;
    let nano = i64::from(nanoseconds);
    u64::from(length) == meta.len()
        && i64::from(seconds) == meta.mtime()
        && (nano == 0 || nano == meta.mtime_nsec())
}

/// Every file and link of the tree that git does not ignore, and those that govern it.
fn walk(root: &Path) -> impl Iterator<Item = (PathBuf, Metadata)> + '_ {
    let governing = [INTENTS_FILE, POLICY_FILE].into_iter().chain(IGNORE_FILES);
    let governing: Vec<PathBuf> = governing.map(PathBuf::from).collect();
    let found: Vec<(PathBuf, Metadata)> = governing
        .iter()
        .filter_map(|path| Some((path.clone(), fs::symlink_metadata(root.join(path)).ok()?)))
        .collect();
    let mut walk = WalkBuilder::new(root);
    walk.hidden(false).ignore(false).git_global(false).require_git(false).follow_links(false);
    walk.filter_entry(|entry| {
        // The trace, the map and the locks are written by ona itself, for every session.
        let is_ours = entry.depth() == 1 && entry.file_name() == DIRECTORY;
        !is_ours && !entry.file_name().to_str().is_some_and(|name| VCS_DIRS.contains(&name))
    });
    let below = walk.build().flatten().filter_map(move |entry| {
        let meta = entry.metadata().ok().filter(|meta| meta.is_file() || meta.is_symlink())?;
        let path = entry.path().strip_prefix(root).ok()?.to_owned();
        (!governing.contains(&path)).then_some((path, meta))
    });
    found.into_iter().chain(below)
}

/// Content in a text.
pub(crate) mod base64_bytes {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use serde::{Deserialize as _, Deserializer, Serializer, de};

    pub(crate) fn serialize<S: Serializer>(bytes: &[u8], to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&STANDARD.encode(bytes))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u8>, D::Error> {
        STANDARD.decode(String::deserialize(from)?).map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[allow(clippy::disallowed_methods, reason = "a real repository")]
    fn git(dir: &Path, args: &[&str]) {
        let identity = ["-c", "user.name=x", "-c", "user.email=x@example.com"];
        let done = std::process::Command::new("git")
            .current_dir(dir)
            .args(identity)
            .args(args)
            .output()
            .unwrap();
        assert!(done.status.success(), "{args:?}");
    }

    fn world() -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        for (name, text) in [
            ("a.txt", "a\n"),
            ("b.txt", "b\n"),
            ("src/c.txt", "c\n"),
            (".gitignore", "out/\n"),
            ("out/x", "x"),
        ] {
            fs::create_dir_all(root.join(name).parent().unwrap()).unwrap();
            fs::write(root.join(name), text).unwrap();
        }
        (dir, root)
    }

    async fn changed(tree: Tree) -> Vec<(String, Side, Side)> {
        let name = |change: Change| (change.path.display().to_string(), change.old, change.new);
        tree.changes().await.into_iter().map(name).collect()
    }

    fn text(text: &str) -> Side {
        Side::Content(text.as_bytes().to_vec())
    }

    #[tokio::test]
    async fn everything_that_changed_is_found_with_what_it_was() {
        for with_git in [false, true] {
            let (_dir, root) = world();
            if with_git {
                git(&root, &["init", "-q"]);
                git(&root, &["add", "-A"]);
                git(&root, &["commit", "-q", "-m", "x"]);
                // Older than the index, so that git's own object is taken.
                for name in ["a.txt", "b.txt"] {
                    let file = fs::File::options().write(true).open(root.join(name)).unwrap();
                    file.set_modified(UNIX_EPOCH + std::time::Duration::from_secs(1000)).unwrap();
                }
                git(&root, &["update-index", "--refresh"]);
            }
            fs::create_dir(root.join(DIRECTORY)).unwrap();
            fs::write(root.join(INTENTS_FILE), "old").unwrap();
            let tree = Tree::take(&root);
            let kept = &tree.files[Path::new("a.txt")].before;
            assert_eq!(matches!(kept, Before::Object(_)), with_git, "{kept:?}");
            // As the hook of another agent keeps it.
            let tree: Tree = serde_json::from_str(&serde_json::to_string(&tree).unwrap()).unwrap();
            fs::write(root.join("a.txt"), "A\n").unwrap();
            fs::remove_file(root.join("b.txt")).unwrap();
            fs::write(root.join("src/new"), "n").unwrap();
            fs::write(root.join("src/c.txt"), "c\n").unwrap();
            fs::write(root.join("out/y"), "y").unwrap();
            fs::write(root.join(INTENTS_FILE), "mine").unwrap();
            fs::write(root.join(".orchestration/agent_trace.jsonl"), "{}").unwrap();
            symlink("/etc", root.join("link")).unwrap();
            assert_eq!(
                changed(tree).await,
                [
                    (INTENTS_FILE.to_owned(), text("old"), text("mine")),
                    ("a.txt".to_owned(), text("a\n"), text("A\n")),
                    ("b.txt".to_owned(), text("b\n"), Side::Absent),
                    ("link".to_owned(), Side::Absent, text("/etc")),
                    ("src/new".to_owned(), Side::Absent, text("n")),
                ]
            );
        }
    }

    #[tokio::test]
    async fn what_changed_can_be_put_back() {
        let (dir, root) = world();
        symlink("a.txt", root.join("link")).unwrap();
        fs::set_permissions(root.join("a.txt"), fs::Permissions::from_mode(0o750)).unwrap();
        let big = fs::File::create(root.join("big")).unwrap();
        big.set_len(LARGEST_KEPT + 1).unwrap();
        let tree = Tree::take(&root);
        let again = tree.clone();
        fs::write(root.join("a.txt"), "A\n").unwrap();
        fs::set_permissions(root.join("a.txt"), fs::Permissions::from_mode(0o600)).unwrap();
        fs::remove_file(root.join("link")).unwrap();
        fs::write(root.join("new"), "").unwrap();
        fs::remove_dir_all(root.join("src")).unwrap();
        fs::write(root.join("big"), "small now").unwrap();
        let told = |changes: Vec<Change>| -> Vec<String> {
            let put = |change: &Change| change.put_back(&root).err().unwrap_or_default();
            changes
                .iter()
                .map(|change| format!("{} {}", change.path.display(), put(change)))
                .collect()
        };
        let reasons = told(tree.changes().await);
        assert_eq!(
            reasons,
            [
                "a.txt ",
                "big what it was before was too large to be kept",
                "link ",
                "new ",
                "src/c.txt "
            ]
        );
        assert_eq!(fs::read_to_string(root.join("src/c.txt")).unwrap(), "c\n");
        assert_eq!(fs::metadata(root.join("a.txt")).unwrap().mode() & 0o777, 0o750);
        let left: Vec<_> = changed(again).await.into_iter().map(|(name, ..)| name).collect();
        assert_eq!(left, ["big"]);
        // A directory that leads out by now is not written through.
        let tree = Tree::take(&root);
        fs::remove_dir_all(root.join("src")).unwrap();
        symlink(dir.path().parent().unwrap(), root.join("src")).unwrap();
        let changes = tree.changes().await;
        let below = changes.iter().find(|change| change.path == Path::new("src/c.txt")).unwrap();
        assert!(below.put_back(&root).unwrap_err().contains("leads out"));
        assert_eq!(told(changes), ["src ", "src/c.txt "], "the link goes first");
    }
}
