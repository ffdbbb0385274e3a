//! A git checkout, as far as it matters what git would do in it: which files it tracks, and whether its own
//! configuration makes git run something.

use std::collections::HashSet;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

/// A checkout and where its repository is.
#[derive(Debug)]
pub struct Checkout {
    top: PathBuf,
    git_dir: PathBuf,
    /// What a linked worktree shares with the others.
    common: PathBuf,
}

/// A file that git tracks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tracked {
    /// Where it is.
    pub path: PathBuf,
    /// Another repository, which git would go into.
    pub is_repository: bool,
    /// The object with its content, in hexadecimal.
    pub object: String,
    /// How long the file was when git last looked at it.
    pub length: u32,
    /// When anything about it, and when its content, had last been changed then; in seconds and nanoseconds.
    pub changed: (u32, u32),
    /// As above: the content.
    pub modified: (u32, u32),
}

/// An index that is larger is not read.
const LARGEST_INDEX: u64 = 100 << 20;

impl Checkout {
    /// The checkout that a directory belongs to.
    pub fn around(dir: &Path) -> Option<Self> {
        let top = dir.ancestors().find(|dir| dir.join(".git").exists())?;
        Self::at(top)
    }

    /// The one with this top, if it can be made out.
    pub fn at(top: &Path) -> Option<Self> {
        let mut git_dir = top.join(".git");
        if git_dir.is_file() {
            let text = fs::read_to_string(&git_dir).ok()?;
            // git takes line ends away and nothing else.
            git_dir = top.join(text.trim_end_matches(['\r', '\n']).strip_prefix("gitdir: ")?);
        }
        let common = match fs::read_to_string(git_dir.join("commondir")) {
            Ok(text) => git_dir.join(text.trim_end_matches(['\r', '\n'])),
            Err(_) => git_dir.clone(),
        };
        Some(Self { top: top.to_owned(), git_dir, common })
    }

    /// Whether nothing in the repository makes git run something, or look elsewhere, when it only reads.
    pub(crate) fn is_plain(&self) -> bool {
        let plain = |file: PathBuf| match fs::read_to_string(file) {
            Ok(text) => is_plain_config(&text),
            Err(error) => error.kind() == std::io::ErrorKind::NotFound,
        };
        let hooks = ["post-index-change", "fsmonitor-watchman"];
        let hooked = hooks.iter().any(|hook| self.common.join("hooks").join(hook).exists());
        let enters = self.tracked().is_none_or(|files| {
            files.iter().any(|file| file.is_repository) || self.leads_out(&files)
        });
        let elsewhere = self.common.join("objects/info/alternates").exists();
        !hooked
            && !elsewhere
            && !has_links(&self.git_dir)
            && !has_links(&self.common)
            && !enters
            && plain(self.common.join("config"))
            && plain(self.git_dir.join("config.worktree"))
    }

    /// Whether an index made by hand names files that are not below the top.
    fn leads_out(&self, files: &[Tracked]) -> bool {
        let odd = |part: Component<'_>| !matches!(part, Component::Normal(_));
        let mut seen = HashSet::new();
        files.iter().any(|file| {
            let Ok(below) = file.path.strip_prefix(&self.top) else { return true };
            below.components().any(odd)
                || below.ancestors().skip(1).any(|dir| {
                    seen.insert(dir.to_owned())
                        && self.top.join(dir).symlink_metadata().is_ok_and(|meta| meta.is_symlink())
                        && !dir.as_os_str().is_empty()
                })
        })
    }

    /// The files git tracks; nothing if its index cannot be read.
    pub fn tracked(&self) -> Option<Vec<Tracked>> {
        let index = self.git_dir.join("index");
        match fs::metadata(&index) {
            Err(_) => return Some(Vec::new()),
            Ok(meta) if meta.len() > LARGEST_INDEX => return None,
            Ok(_) => {}
        }
        let config = fs::read_to_string(self.common.join("config")).unwrap_or_default();
        let hash = if config.to_ascii_lowercase().contains("sha256") { 32 } else { 20 };
        read_index(&fs::read(index).ok()?, hash, &self.top)
    }
}

impl Checkout {
    /// When the index was last written. What a file had been seen to be at that very moment may have changed since
    /// without showing.
    pub fn indexed(&self) -> Option<std::time::SystemTime> {
        fs::metadata(self.git_dir.join("index")).ok()?.modified().ok()
    }

    /// The commit that is checked out, if there is one and its name stands in a plain file.
    pub fn revision(&self) -> Option<String> {
        let head = fs::read_to_string(self.git_dir.join("HEAD")).ok()?;
        let Some(name) = head.trim().strip_prefix("ref: ") else { return revision(&head) };
        if name.split('/').any(|part| part == "..") {
            return None;
        }
        for dir in [&self.git_dir, &self.common] {
            if let Ok(text) = fs::read_to_string(dir.join(name)) {
                return revision(&text);
            }
        }
        let packed = fs::read_to_string(self.common.join("packed-refs")).ok()?;
        let named = |line: &&str| line.split_once(' ').is_some_and(|(_, of)| of == name);
        packed.lines().find(named).and_then(|line| revision(line.split(' ').next()?))
    }
}

/// The text, if it names a commit.
fn revision(text: &str) -> Option<String> {
    let text = text.trim();
    let is_hex = text.bytes().all(|byte| byte.is_ascii_hexdigit());
    (is_hex && matches!(text.len(), 40 | 64)).then(|| text.to_owned())
}

/// As much of a repository is looked through.
const MOST_ENTRIES: usize = 20_000;

/// Whether a repository has links in it: git would show what they lead to. Objects are named by what is in them,
/// and left out.
fn has_links(git_dir: &Path) -> bool {
    let mut pending = vec![git_dir.to_owned()];
    let mut seen = 0;
    while let Some(dir) = pending.pop() {
        for entry in fs::read_dir(&dir).into_iter().flatten().flatten() {
            seen += 1;
            let kind = entry.file_type();
            if seen > MOST_ENTRIES || kind.as_ref().is_ok_and(std::fs::FileType::is_symlink) {
                return true;
            }
            let is_objects = entry.file_name() == "objects" && dir == git_dir;
            if is_objects {
                pending.push(entry.path().join("info"));
            } else if kind.is_ok_and(|kind| kind.is_dir()) {
                pending.push(entry.path());
            }
        }
    }
    false
}

/// What a repository's configuration may say, in lower case: section and key; `*` is any.
#[rustfmt::skip]
const HARMLESS: &[(&str, &[&str])] = &[
    ("advice", &["*"]),
    ("alias", &["*"]),
    ("branch", &["remote", "merge", "rebase", "description", "pushremote", "vscode-merge-base"]),
    ("color", &["*"]),
    ("core", &[
        "repositoryformatversion", "filemode", "bare", "logallrefupdates", "ignorecase", "precomposeunicode",
        "symlinks", "autocrlf", "eol", "safecrlf", "quotepath", "abbrev", "compression", "sharedrepository",
        "preloadindex", "longpaths", "protecthfs", "protectntfs", "commitgraph", "multipackindex",
    ]),
    ("commit", &["gpgsign"]),
    ("diff", &["renames", "algorithm", "colormoved", "noprefix", "mnemonicprefix", "context"]),
    ("extensions", &["worktreeconfig", "objectformat", "refstorage"]),
    ("fetch", &["*"]),
    ("gc", &["*"]),
    ("init", &["defaultbranch"]),
    ("lfs", &["repositoryformatversion", "access"]),
    ("log", &["date", "abbrevcommit", "decorate", "follow"]),
    ("maintenance", &["*"]),
    ("merge", &["conflictstyle"]),
    ("pull", &["*"]),
    ("push", &["*"]),
    ("rebase", &["*"]),
    ("remote", &["url", "pushurl", "fetch", "tagopt", "prune", "gh-resolved"]),
    ("rerere", &["*"]),
    ("status", &["showuntrackedfiles", "short", "branch"]),
    ("submodule", &["url", "active"]),
    ("tag", &["*"]),
    ("user", &["name", "email", "signingkey", "useconfigonly"]),
];

/// Whether a configuration says only what is known to be harmless, in the plain form in which git itself writes it.
fn is_plain_config(text: &str) -> bool {
    let mut section = String::new();
    text.to_ascii_lowercase().lines().map(str::trim).all(|line| {
        if line.is_empty() || line.starts_with(['#', ';']) {
            return true;
        }
        if let Some(head) = line.strip_prefix('[') {
            let Some(head) = head.strip_suffix(']') else { return false };
            section = head.split([' ', '\t', '.']).next().unwrap_or_default().to_owned();
            return !head.contains(']');
        }
        let (key, value) = line.split_once('=').unwrap_or((line, "true"));
        let (key, value) = (key.trim(), value.trim());
        let known = HARMLESS.iter().find(|(name, _)| *name == section);
        let known = known.is_some_and(|(_, keys)| keys.contains(&"*") || keys.contains(&key));
        // `ext::…` names a program, and a bare repository has no files of its own.
        let odd =
            value.contains("::") || value.ends_with('\\') || key == "bare" && value != "false";
        known && !odd
    })
}

/// The entries of an index of version 2, 3 or 4.
fn read_index(bytes: &[u8], hash: usize, top: &Path) -> Option<Vec<Tracked>> {
    let number = |at: usize| {
        let four: [u8; 4] = bytes.get(at..at + 4)?.try_into().ok()?;
        Some(u32::from_be_bytes(four))
    };
    if bytes.get(..4)? != b"DIRC" {
        return None;
    }
    let (version, count) = (number(4)?, number(8)?);
    let (mut at, mut name) = (12, Vec::new());
    let mut files = Vec::new();
    for _ in 0..count {
        let mode = number(at + 24)?;
        let flags = at + 40 + hash;
        let extended = version >= 3 && bytes.get(flags)? & 0x40 != 0;
        let mut start = flags + if extended { 4 } else { 2 };
        if version >= 4 {
            let (strip, length) = variable(bytes.get(start..)?)?;
            start += length;
            name.truncate(name.len().checked_sub(strip)?);
        } else {
            name.clear();
        }
        let length = bytes.get(start..)?.iter().position(|byte| *byte == 0)?;
        name.extend_from_slice(&bytes[start..start + length]);
        let path = top.join(std::ffi::OsStr::from_bytes(&name));
        let object = bytes.get(at + 40..flags)?.iter().map(|byte| format!("{byte:02x}")).collect();
        let moment = |at: usize| Some((number(at)?, number(at + 4)?));
        files.push(Tracked {
            path,
            is_repository: mode == 0o160_000,
            object,
            length: number(at + 36)?,
            changed: moment(at)?,
            modified: moment(at + 8)?,
        });
        let end = start + length;
        at = if version >= 4 { end + 1 } else { at + (end - at + 8) / 8 * 8 };
    }
    // A part of it may lie in another file.
    if bytes.get(at..at + 4) == Some(b"link") {
        return None;
    }
    Some(files)
}

/// A number as git packs it, and how many bytes it takes.
fn variable(bytes: &[u8]) -> Option<(usize, usize)> {
    let mut value = usize::from(bytes.first()? & 0x7f);
    let mut at = 0;
    while bytes.get(at)? & 0x80 != 0 {
        at += 1;
        value = value.checked_add(1)?.checked_mul(128)? + usize::from(bytes.get(at)? & 0x7f);
    }
    Some((value, at + 1))
}

#[cfg(test)]
pub(crate) mod tests {
    use std::process::Command;

    use super::*;

    #[allow(clippy::disallowed_methods, reason = "only git writes an index as git does")]
    pub(crate) fn git(dir: &Path, args: &[&str]) {
        let done = Command::new("git")
            .args(["-c", "user.name=t", "-c", "user.email=t@t", "-c", "protocol.file.allow=always"])
            .args(args)
            .current_dir(dir)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .output()
            .unwrap();
        assert!(done.status.success(), "{args:?}: {}", String::from_utf8_lossy(&done.stderr));
    }

    fn names(checkout: &Checkout) -> Vec<String> {
        let files = checkout.tracked().unwrap();
        let name =
            |file: &Tracked| file.path.strip_prefix(&checkout.top).unwrap().display().to_string();
        files.iter().map(name).collect()
    }

    #[test]
    fn tracked_files_are_read_from_every_kind_of_index() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path();
        git(top, &["init", "-q"]);
        assert!(names(&Checkout::around(top).unwrap()).is_empty());
        fs::create_dir_all(top.join("a/deep")).unwrap();
        let files = [".env", "a/deep/other.rs", "a/deep/some.rs", "a/x", "exactly8", "z é"];
        for name in files {
            fs::write(top.join(name), name).unwrap();
        }
        git(top, &["add", "-A"]);
        for version in ["2", "4"] {
            git(top, &["update-index", "--index-version", version]);
            assert_eq!(names(&Checkout::around(&top.join("a/deep")).unwrap()), files, "{version}");
        }
        fs::write(top.join("later"), "").unwrap();
        git(top, &["update-index", "--index-version", "2"]);
        git(top, &["add", "-N", "later"]);
        assert_eq!(names(&Checkout::around(top).unwrap()).len(), 7, "an entry with more flags");
        assert!(Checkout::around(top).unwrap().is_plain());
        fs::write(top.join(".git/index"), "DIRC nonsense that is too short").unwrap();
        assert_eq!(Checkout::around(top).unwrap().tracked(), None);
        assert!(!Checkout::around(top).unwrap().is_plain());
    }

    #[test]
    #[allow(clippy::disallowed_methods, reason = "git itself is asked")]
    fn the_commit_and_the_objects_are_those_that_git_names() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().join("top");
        fs::create_dir(&top).unwrap();
        git(&top, &["init", "-q"]);
        let checkout = Checkout::around(&top).unwrap();
        assert_eq!(checkout.revision(), None, "no commit yet");
        fs::write(top.join("a"), "text\n").unwrap();
        git(&top, &["add", "-A"]);
        git(&top, &["commit", "-q", "-m", "x"]);
        let says = |args: &[&str]| {
            let output = Command::new("git").current_dir(&top).args(args).output().unwrap();
            String::from_utf8(output.stdout).unwrap().trim().to_owned()
        };
        let head = says(&["rev-parse", "HEAD"]);
        assert_eq!(checkout.revision().as_ref(), Some(&head));
        let tracked = checkout.tracked().unwrap();
        assert_eq!(tracked[0].object, says(&["rev-parse", "HEAD:a"]));
        assert_eq!(tracked[0].length, 5);
        git(&top, &["pack-refs", "--all"]);
        assert_eq!(checkout.revision().as_ref(), Some(&head));
        git(&top, &["worktree", "add", "-q", "../tree"]);
        let tree = Checkout::around(&dir.path().join("tree")).unwrap();
        assert_eq!(tree.revision().as_ref(), Some(&head));
        git(&top, &["checkout", "-q", "--detach"]);
        assert_eq!(checkout.revision(), Some(head));
        fs::write(top.join(".git/HEAD"), "ref: ../../etc/passwd").unwrap();
        assert_eq!(checkout.revision(), None);
    }

    #[test]
    fn what_could_make_git_run_something_is_not_plain() {
        for (text, plain) in [
            ("[core]\n\tbare = false\n[remote \"origin\"]\n\turl = https://x.example/y\n", true),
            (
                "[branch \"a.b\"]\n\tremote = origin\n# comment\n; another\n[user]\n\tname = x\n",
                true,
            ),
            ("[core]\n\tfsmonitor = ./evil\n", false),
            ("[core]\n\tworktree = /etc\n", false),
            ("[core] fsmonitor = ./evil\n", false),
            ("[core]\n\tbare = true\n", false),
            ("[CORE]\n\tFsMonitor\n", false),
            ("[include]\n\tpath = x\n", false),
            ("[gpg]\n\tprogram = ./evil\n", false),
            ("[log]\n\tshowSignature = true\n", false),
            ("[blame]\n\tignoreRevsFile = /etc/passwd\n", false),
            ("[remote \"o\"]\n\turl = ext::sh -c evil\n", false),
            ("[remote \"o\"]\n\tpromisor = true\n", false),
            ("[man \"x\"]\n\tcmd = evil\n", false),
            ("[diff \"x\"]\n\ttextconv = evil\n", false),
            ("[user]\n\tname = x\\\n", false),
        ] {
            assert_eq!(is_plain_config(text), plain, "{text}");
        }
        let dir = tempfile::tempdir().unwrap();
        let (top, other) = (dir.path().join("top"), dir.path().join("other"));
        for repository in [&top, &other] {
            fs::create_dir(repository).unwrap();
            git(repository, &["init", "-q"]);
            git(repository, &["commit", "-q", "--allow-empty", "-m", "x"]);
        }
        let hook = top.join(".git/hooks/post-index-change");
        assert!(Checkout::around(&top).unwrap().is_plain());
        fs::write(&hook, "").unwrap();
        assert!(!Checkout::around(&top).unwrap().is_plain());
        fs::remove_file(&hook).unwrap();
        // Another repository inside: git would obey that one's configuration too.
        git(&top, &["submodule", "add", "-q", "../other", "inner"]);
        assert!(!Checkout::around(&top).unwrap().is_plain());
        // A file in the place of `.git` that leads elsewhere.
        let linked = dir.path().join("linked");
        fs::create_dir(&linked).unwrap();
        fs::write(linked.join(".git"), format!("gitdir: {}/.git\n", other.display())).unwrap();
        assert!(Checkout::around(&linked).unwrap().is_plain());
        fs::write(other.join(".git/config"), "[core]\n\tfsmonitor = ./evil\n").unwrap();
        assert!(!Checkout::around(&linked).unwrap().is_plain());
        // Links in a repository, and an index that leads out of it.
        let third = dir.path().join("third");
        fs::create_dir(&third).unwrap();
        git(&third, &["init", "-q"]);
        std::os::unix::fs::symlink("/etc/passwd", third.join(".git/BISECT_START")).unwrap();
        assert!(!Checkout::around(&third).unwrap().is_plain());
        fs::remove_file(third.join(".git/BISECT_START")).unwrap();
        assert!(Checkout::around(&third).unwrap().is_plain());
        fs::write(third.join(".git/objects/info/alternates"), "/elsewhere").unwrap();
        assert!(!Checkout::around(&third).unwrap().is_plain());
        fs::remove_file(third.join(".git/objects/info/alternates")).unwrap();
        fs::create_dir(third.join("real")).unwrap();
        fs::write(third.join("real/x"), "").unwrap();
        git(&third, &["add", "-A"]);
        fs::remove_dir_all(third.join("real")).unwrap();
        std::os::unix::fs::symlink("/etc", third.join("real")).unwrap();
        assert!(!Checkout::around(&third).unwrap().is_plain());
        // git takes only line ends away.
        fs::write(linked.join(".git"), "gitdir: .g \n").unwrap();
        fs::create_dir(linked.join(".g")).unwrap();
        assert_eq!(Checkout::around(&linked).unwrap().git_dir, linked.join(".g "));
        // A worktree obeys what its repository says.
        git(&top, &["worktree", "add", "-q", "../tree"]);
        let tree = Checkout::around(&dir.path().join("tree")).unwrap();
        fs::write(top.join(".git/config"), "[core]\n\tsshCommand = ./evil\n").unwrap();
        assert!(!tree.is_plain());
    }
}
