//! The work tree before and after a call that may change any of it: a command, or a tool with unknown effects.
//!
//! The old content of a file is needed afterwards, but a tree is too large to be copied before every command. So for a
//! file that git tracks and that is unmodified, git's own object is enough; for all others the content is kept,
//! up to a limit.

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use ona_files::{Mode, ReplaceError, ReplaceOptions, replace, resolve};
use serde::{Deserialize, Serialize};

use crate::checkout::Checkout;
use crate::git;
use crate::index::Tracked;
use crate::walk::{Filters, Lists, walker};

/// The limits for the kept content, in total and per file.
const MAX_KEPT_TOTAL: u64 = 32 << 20;
const MAX_KEPT_FILE: u64 = 4 << 20;

/// A file that is larger than this now is not read.
const MAX_READ_FILE: u64 = 64 << 20;

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

/// What ona itself keeps in a work tree.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnFiles {
    /// The directory that it writes to for every session, below the root. It does not belong to the tree.
    pub dir: PathBuf,
    /// The files that say what may be changed, below the root. They are part of it, wherever they are.
    pub governing: Vec<PathBuf>,
}

impl OwnFiles {
    /// Whether ona writes the file itself.
    fn writes(&self, path: &Path) -> bool {
        path.starts_with(&self.dir) && !self.governing.iter().any(|name| path == name)
    }
}

/// Why a file cannot be restored.
#[derive(Debug, thiserror::Error)]
pub enum RestoreError {
    /// Its earlier content is unknown.
    #[error("its earlier content was too large to keep")]
    NotKept,
    /// A symlink on the path could lead elsewhere.
    #[error("the path to {} now contains a symlink", .0.display())]
    Link(PathBuf),
    /// It was not written.
    #[error(transparent)]
    Write(#[from] ReplaceError),
    /// The file system refuses.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// The work tree as it was. Files that git ignores do not belong to it: build output is not a change.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Tree {
    root: PathBuf,
    #[serde(default)]
    own: OwnFiles,
    files: BTreeMap<PathBuf, Known>,
}

/// A file, before or after.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Side {
    /// There was none.
    Absent,
    /// With this content.
    Content(Vec<u8>),
    /// A link to there.
    Link(PathBuf),
    /// There was one, and its content is not known.
    Unknown,
}

impl Side {
    /// The content, where there is one; of a link, where it leads.
    pub fn bytes(&self) -> Option<&[u8]> {
        match self {
            Self::Content(bytes) => Some(bytes),
            Self::Link(to) => Some(to.as_os_str().as_encoded_bytes()),
            Self::Absent | Self::Unknown => None,
        }
    }
}

/// A file that is not what it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Where, below the root.
    pub path: PathBuf,
    /// What it was.
    pub old: Side,
    /// What it is.
    pub new: Side,
    /// Its permissions before and now, where they are known.
    pub modes: (Option<u32>, Option<u32>),
    /// What the file system knew it by, and knows it by now: a file that was moved keeps that.
    nodes: (Option<Node>, Option<Node>),
    /// Git's object with what it was, if that is to be asked for, and how long that was.
    object: Option<String>,
    length: Option<u64>,
}

type Node = (u64, u64);

impl Tree {
    /// The tree as it is now. Waits for the disk.
    pub fn take(root: &Path, own: OwnFiles) -> Self {
        let tracked = clean(root);
        let mut room = MAX_KEPT_TOTAL;
        let mut files = BTreeMap::new();
        for (path, meta) in walk(root, &own) {
            let before = if meta.is_symlink() {
                fs::read_link(root.join(&path)).map_or(Before::NotKept, Before::Link)
            } else if let Some(object) = tracked.get(&path).filter(|file| is_as_seen(file, &meta)) {
                Before::Object(object.object.clone())
            } else if meta.len() > MAX_KEPT_FILE.min(room) {
                Before::NotKept
            } else {
                room -= meta.len();
                ona_files::content(root.join(&path)).map_or(Before::NotKept, Before::Content)
            };
            files.insert(path, Known { stamp: Stamp::of(&meta), before });
        }
        Self { root: root.to_owned(), own, files }
    }

    /// What is different now, in the order of the names.
    pub async fn changes(self) -> Vec<Change> {
        let root = self.root.clone();
        let compared = tokio::task::spawn_blocking(move || self.compare()).await;
        let mut changes = compared.unwrap_or_default();
        let objects: Vec<String> = changes.iter().filter_map(|one| one.object.clone()).collect();
        let objects: Vec<&str> = objects.iter().map(String::as_str).collect();
        let contents = if objects.is_empty() {
            Vec::new()
        } else {
            git::blobs(&root, &objects).await.unwrap_or_default()
        };
        let asked = changes.iter_mut().filter(|change| change.object.is_some());
        for (change, content) in asked.zip(contents) {
            // Filters may have put something else into the work tree than git keeps.
            if let Some(bytes) = content.filter(|bytes| Some(bytes.len() as u64) == change.length) {
                change.old = Side::Content(bytes);
            }
        }
        changes.retain(|change| {
            change.old != change.new || change.old == Side::Unknown || change.mode_changed()
        });
        changes
    }

    fn compare(mut self) -> Vec<Change> {
        let mut changes = Vec::new();
        for (path, meta) in walk(&self.root, &self.own) {
            let was = self.files.remove(&path);
            if was.as_ref().is_none_or(|was| was.stamp != Stamp::of(&meta)) {
                let new = now(&self.root.join(&path), &meta);
                changes.push(Change::of(path, was, new, Some(&meta)));
            }
        }
        for (path, was) in self.files {
            // An ignore list that came up hides files that are still there. One that is there only through a link
            // in the place of its directory is not.
            let meta = fs::symlink_metadata(self.root.join(&path)).ok();
            match meta.filter(|_| is_in_place(&self.root, &path)) {
                Some(meta) if Stamp::of(&meta) == was.stamp => {}
                Some(meta) => {
                    let new = now(&self.root.join(&path), &meta);
                    changes.push(Change::of(path, Some(was), new, Some(&meta)));
                }
                None => changes.push(Change::of(path, Some(was), Side::Absent, None)),
            }
        }
        changes.sort_by(|one, other| one.path.cmp(&other.path));
        changes
    }
}

/// Whether no directory on the way to a file is a link.
fn is_in_place(root: &Path, path: &Path) -> bool {
    let dir = path.parent().unwrap_or(Path::new(""));
    resolve(root, root.join(dir)).is_ok_and(|real| real == root.join(dir))
}

fn now(path: &Path, meta: &Metadata) -> Side {
    if meta.is_symlink() {
        return fs::read_link(path).map_or(Side::Absent, Side::Link);
    }
    if !meta.is_file() || meta.len() > MAX_READ_FILE {
        return Side::Unknown;
    }
    match ona_files::content(path) {
        Ok(bytes) => Side::Content(bytes),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Side::Absent,
        Err(_) => Side::Unknown,
    }
}

impl Change {
    /// The change from one to the other, if there is one.
    pub fn between(path: PathBuf, old: Side, new: Side) -> Option<Self> {
        let changed = old != new || old == Side::Unknown;
        changed.then_some(Self {
            path,
            old,
            new,
            modes: (None, None),
            nodes: (None, None),
            object: None,
            length: None,
        })
    }

    fn of(path: PathBuf, was: Option<Known>, new: Side, meta: Option<&Metadata>) -> Self {
        let stamp = was.as_ref().map(|was| was.stamp);
        let now = meta.map(Stamp::of);
        let mut object = None;
        let old = match was.map(|was| was.before) {
            None => Side::Absent,
            Some(Before::Content(bytes)) => Side::Content(bytes),
            Some(Before::Link(to)) => Side::Link(to),
            Some(Before::NotKept) => Side::Unknown,
            Some(Before::Object(id)) => {
                object = Some(id);
                Side::Unknown
            }
        };
        Self {
            path,
            old,
            new,
            modes: (stamp.map(|then| then.mode), now.map(|now| now.mode)),
            nodes: (stamp.map(|then| then.node), now.map(|now| now.node)),
            object,
            length: stamp.map(|then| then.length),
        }
    }

    /// Whether its permissions changed, such as the executable bit.
    pub fn mode_changed(&self) -> bool {
        matches!(self.modes, (Some(then), Some(now)) if then & 0o7777 != now & 0o7777)
            && self.old != Side::Absent
            && !matches!(self.new, Side::Link(_))
    }

    /// Whether this is where a file went that is gone from another place.
    pub fn came_from(&self, other: &Self) -> bool {
        self.old == Side::Absent
            && other.new == Side::Absent
            && self.nodes.1.is_some()
            && self.nodes.1 == other.nodes.0
    }

    /// Moves the file back to where it came from.
    pub fn move_back(&self, to: &Self, root: &Path) -> Result<(), RestoreError> {
        let (from, to) = (root.join(&self.path), root.join(&to.path));
        for path in [&from, &to] {
            in_place(root, path)?;
        }
        to.parent().map_or(Ok(()), fs::create_dir_all)?;
        Ok(fs::rename(&from, &to)?)
    }

    /// Restores the file. What is at its path now is moved to `aside`, because it may be somebody's work. On an error
    /// nothing has changed.
    pub fn put_back(&self, root: &Path, aside: &Path) -> Result<(), RestoreError> {
        if self.old == Side::Unknown {
            return Err(RestoreError::NotKept);
        }
        let path = root.join(&self.path);
        in_place(root, &path)?;
        if fs::symlink_metadata(&path).is_ok() {
            set_aside(&path, &aside.join(&self.path))?;
        }
        match &self.old {
            Side::Absent | Side::Unknown => {}
            Side::Link(to) => {
                fs::create_dir_all(path.parent().unwrap_or(root))?;
                symlink(to, &path)?;
            }
            Side::Content(bytes) => {
                // Private until its own mode is set.
                let mode = if self.modes.0.is_some() { Mode::Private } else { Mode::Keep };
                replace(&path, bytes, &ReplaceOptions { mode, ..ReplaceOptions::default() })?;
                if let Some(mode) = self.modes.0 {
                    fs::set_permissions(&path, fs::Permissions::from_mode(mode & 0o7777))?;
                }
            }
        }
        Ok(())
    }
}

/// Refuses a path that now goes through a link.
fn in_place(root: &Path, path: &Path) -> Result<(), RestoreError> {
    let below = path.strip_prefix(root).unwrap_or(path);
    match is_in_place(root, below) {
        true => Ok(()),
        false => Err(RestoreError::Link(below.to_owned())),
    }
}

/// Moves whatever is at the path to a place outside the tree where the user can find it.
fn set_aside(path: &Path, to: &Path) -> io::Result<()> {
    if let Some(dir) = to.parent() {
        fs::create_dir_all(dir)?;
    }
    match fs::rename(path, to) {
        Err(error) if error.kind() == io::ErrorKind::CrossesDevices && path.is_file() => {
            fs::copy(path, to)?;
            fs::remove_file(path)
        }
        Err(error) if error.kind() == io::ErrorKind::CrossesDevices && path.is_symlink() => {
            symlink(fs::read_link(path)?, to)?;
            fs::remove_file(path)
        }
        other => other,
    }
}

/// The files that git tracks, below the root; none where it cannot be told.
fn clean(root: &Path) -> HashMap<PathBuf, Tracked> {
    let Some(checkout) = Checkout::of(root) else { return HashMap::new() };
    let (Some(tracked), Some(indexed)) = (checkout.tracked(), checkout.indexed()) else {
        return HashMap::new();
    };
    let indexed = indexed.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let below = |file: Tracked| {
        let path = file.path.strip_prefix(root).ok()?.to_owned();
        // What was changed in the second the index was written in may have changed again in it.
        let settled = u64::from(file.modified.0.max(file.changed.0)) < indexed;
        (settled && !file.is_repository).then_some((path, file))
    };
    tracked.into_iter().filter_map(below).collect()
}

fn is_as_seen(file: &Tracked, meta: &Metadata) -> bool {
    // Times of content can be set; those of change cannot.
    let same = |(seconds, nano): (u32, u32), now: (i64, i64)| {
        i64::from(seconds) == now.0 && (nano == 0 || i64::from(nano) == now.1)
    };
    u64::from(file.length) == meta.len()
        && same(file.modified, (meta.mtime(), meta.mtime_nsec()))
        && same(file.changed, (meta.ctime(), meta.ctime_nsec()))
}

/// Every file and link of the tree that git does not ignore or tracks nevertheless, those that govern it, and of git's
/// own directory what makes git ignore files or run something.
pub(crate) fn walk(root: &Path, own: &OwnFiles) -> Vec<(PathBuf, Metadata)> {
    let mut found = BTreeMap::new();
    let mut add = |path: PathBuf| {
        if !found.contains_key(&path)
            && let Ok(meta) = fs::symlink_metadata(root.join(&path))
            && (meta.is_file() || meta.is_symlink())
            && is_in_place(root, &path)
        {
            found.insert(path, meta);
        }
    };
    own.governing.iter().cloned().for_each(&mut add);
    add(PathBuf::from(".git/info/exclude"));
    let hooks = fs::read_dir(root.join(".git/hooks")).into_iter().flatten().flatten();
    hooks.for_each(|hook| add(Path::new(".git/hooks").join(hook.file_name())));
    let tracked = Checkout::of(root).and_then(|checkout| checkout.tracked());
    for file in tracked.into_iter().flatten().filter(|file| !file.is_repository) {
        if let Ok(path) = file.path.strip_prefix(root)
            && !own.writes(path)
        {
            add(path.to_owned());
        }
    }
    let own_dir = root.join(&own.dir);
    let filters = Filters { lists: Some(Lists::default()), ..Filters::default() };
    let walk = walker(root, filters, move |entry| {
        let is_vcs = entry.file_name().to_str().is_some_and(|name| VCS_DIRS.contains(&name));
        entry.path() != own_dir && !is_vcs
    });
    for entry in walk.build().flatten() {
        let meta = entry.metadata().ok().filter(|meta| meta.is_file() || meta.is_symlink());
        if let (Some(meta), Ok(path)) = (meta, entry.path().strip_prefix(root)) {
            found.entry(path.to_owned()).or_insert(meta);
        }
    }
    found.into_iter().collect()
}

/// For `serde(with = …)`: content in a text.
pub mod base64_bytes {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use serde::{Deserialize as _, Deserializer, Serializer, de};

    /// Writes it as Base64.
    pub fn serialize<S: Serializer>(bytes: &[u8], to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&STANDARD.encode(bytes))
    }

    /// Reads it from Base64.
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u8>, D::Error> {
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

    const DIRECTORY: &str = ".orchestration";
    const INTENTS_FILE: &str = ".orchestration/active_intents.yaml";

    /// A tree in which ona keeps files of its own.
    fn take(root: &Path) -> Tree {
        let governing = [INTENTS_FILE, ".intentignore"];
        let governing = governing.map(PathBuf::from).to_vec();
        Tree::take(root, OwnFiles { dir: DIRECTORY.into(), governing })
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
                let index = fs::File::options().write(true).open(root.join(".git/index")).unwrap();
                let later = std::time::SystemTime::now() + std::time::Duration::from_secs(10);
                index.set_modified(later).unwrap();
            }
            fs::create_dir(root.join(DIRECTORY)).unwrap();
            fs::write(root.join(INTENTS_FILE), "old").unwrap();
            let tree = take(&root);
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
                    ("link".to_owned(), Side::Absent, Side::Link("/etc".into())),
                    ("src/new".to_owned(), Side::Absent, text("n")),
                ]
            );
        }
    }

    /// Puts everything back that can be; of the rest, why not.
    fn put_all_back(root: &Path, aside: &Path, changes: &[Change]) -> Vec<String> {
        let told = |change: &Change| {
            let why =
                change.put_back(root, aside).err().map(|why| why.to_string()).unwrap_or_default();
            format!("{} {why}", change.path.display())
        };
        changes.iter().map(told).collect()
    }

    #[tokio::test]
    async fn what_changed_can_be_put_back_and_nothing_is_lost() {
        let (dir, root) = world();
        let aside = dir.path().canonicalize().unwrap().join("out/aside");
        symlink("a.txt", root.join("link")).unwrap();
        fs::set_permissions(root.join("a.txt"), fs::Permissions::from_mode(0o750)).unwrap();
        let big = fs::File::create(root.join("big")).unwrap();
        big.set_len(MAX_KEPT_FILE + 1).unwrap();
        let tree = take(&root);
        let again = tree.clone();
        fs::write(root.join("a.txt"), "A\n").unwrap();
        fs::set_permissions(root.join("a.txt"), fs::Permissions::from_mode(0o600)).unwrap();
        fs::set_permissions(root.join("b.txt"), fs::Permissions::from_mode(0o755)).unwrap();
        fs::remove_file(root.join("link")).unwrap();
        fs::write(root.join("new"), "mine").unwrap();
        fs::remove_dir_all(root.join("src")).unwrap();
        fs::write(root.join("src"), "a file now").unwrap();
        fs::write(root.join("big"), "small now").unwrap();
        let reasons = put_all_back(&root, &aside, &tree.changes().await);
        assert_eq!(
            reasons,
            [
                "a.txt ",
                "b.txt ",
                "big its earlier content was too large to keep",
                "link ",
                "new ",
                "src ",
                "src/c.txt "
            ]
        );
        assert_eq!(fs::read_to_string(root.join("src/c.txt")).unwrap(), "c\n");
        assert_eq!(fs::metadata(root.join("a.txt")).unwrap().mode() & 0o777, 0o750);
        assert_eq!(fs::metadata(root.join("b.txt")).unwrap().mode() & 0o111, 0);
        let left: Vec<_> = changed(again).await.into_iter().map(|(name, ..)| name).collect();
        assert_eq!(left, ["big"]);
        for (name, text) in [("a.txt", "A\n"), ("new", "mine"), ("src", "a file now")] {
            assert_eq!(fs::read_to_string(aside.join(name)).unwrap(), text, "kept");
        }
    }

    #[tokio::test]
    async fn a_directory_that_was_moved_and_linked_back_is_not_taken_for_itself() {
        let (dir, root) = world();
        let aside = dir.path().canonicalize().unwrap().join("out/aside");
        let tree = take(&root);
        fs::rename(root.join("src"), root.join("src2")).unwrap();
        symlink("src2", root.join("src")).unwrap();
        let changes = tree.changes().await;
        let names: Vec<_> =
            changes.iter().map(|change| change.path.display().to_string()).collect();
        assert_eq!(names, ["src", "src/c.txt", "src2/c.txt"]);
        assert!(changes[2].came_from(&changes[1]));
        assert!(matches!(changes[1].put_back(&root, &aside), Err(RestoreError::Link(_))));
        assert_eq!(put_all_back(&root, &aside, &changes), ["src ", "src/c.txt ", "src2/c.txt "]);
        assert_eq!(fs::read_to_string(root.join("src/c.txt")).unwrap(), "c\n");
    }

    #[tokio::test]
    async fn what_git_tracks_is_looked_at_though_it_is_ignored() {
        let (_dir, root) = world();
        git(&root, &["init", "-q"]);
        git(&root, &["add", "-f", "-A"]);
        git(&root, &["commit", "-q", "-m", "x"]);
        let tree = take(&root);
        fs::write(root.join("out/x"), "changed").unwrap();
        fs::write(root.join(".git/hooks/pre-commit"), "evil").unwrap();
        let names: Vec<_> = changed(tree).await.into_iter().map(|(name, ..)| name).collect();
        assert_eq!(names, [".git/hooks/pre-commit", "out/x"]);
    }

    #[tokio::test]
    async fn times_that_were_set_do_not_hide_what_a_file_was() {
        let (_dir, root) = world();
        git(&root, &["init", "-q"]);
        git(&root, &["add", "-A"]);
        git(&root, &["commit", "-q", "-m", "x"]);
        let long_ago = UNIX_EPOCH + std::time::Duration::from_secs(1000);
        let set = |text: Option<&str>| {
            let file = fs::File::options().write(true).open(root.join("a.txt")).unwrap();
            if let Some(text) = text {
                fs::write(root.join("a.txt"), text).unwrap();
            }
            file.set_modified(long_ago).unwrap();
        };
        set(None);
        git(&root, &["update-index", "--refresh"]);
        set(Some("b\n"));
        let tree = take(&root);
        fs::write(root.join("a.txt"), "c\n").unwrap();
        assert_eq!(changed(tree).await, [("a.txt".to_owned(), text("b\n"), text("c\n"))]);
    }
}
