//! Whether git is safe to run in a checkout: whether nothing in the repository makes it run
//! programs or read elsewhere.

use std::collections::HashSet;
use std::fs;
use std::path::{Component, Path, PathBuf};

use crate::checkout::Checkout;
use crate::index::Tracked;

impl Checkout {
    /// Whether nothing in the repository makes git run something, or look elsewhere, when it only reads.
    pub fn is_plain(&self) -> bool {
        let Some(dirs) = self.git() else { return false };
        let plain = |file: PathBuf| match ona_files::content_text(file) {
            Ok(text) => is_plain_config(&text),
            Err(error) => error.kind() == std::io::ErrorKind::NotFound,
        };
        let hooks = ["post-index-change", "fsmonitor-watchman"];
        let hooked = hooks.iter().any(|hook| dirs.common.join("hooks").join(hook).exists());
        let enters = self.tracked().is_none_or(|files| {
            files.iter().any(|file| file.is_repository) || self.leads_out(&files)
        });
        let elsewhere = dirs.common.join("objects/info/alternates").exists();
        !hooked
            && !elsewhere
            && !has_links(&dirs.own)
            && !has_links(&dirs.common)
            && !enters
            && plain(dirs.common.join("config"))
            && plain(dirs.own.join("config.worktree"))
    }

    /// Whether an index made by hand names files that are not below the top.
    fn leads_out(&self, files: &[Tracked]) -> bool {
        let odd = |part: Component<'_>| !matches!(part, Component::Normal(_));
        let mut seen = HashSet::new();
        files.iter().any(|file| {
            let Ok(below) = file.path.strip_prefix(self.top()) else { return true };
            below.components().any(odd)
                || below.ancestors().skip(1).any(|dir| {
                    seen.insert(dir.to_owned())
                        && self
                            .top()
                            .join(dir)
                            .symlink_metadata()
                            .is_ok_and(|meta| meta.is_symlink())
                        && !dir.as_os_str().is_empty()
                })
        })
    }
}

/// The limit for the entries of a repository that are checked.
const MAX_ENTRIES: usize = 20_000;

/// Whether a repository has links in it: git would show what they lead to. Objects are named by what is in them,
/// and left out.
fn has_links(git_dir: &Path) -> bool {
    let mut pending = vec![git_dir.to_owned()];
    let mut seen = 0;
    while let Some(dir) = pending.pop() {
        for entry in fs::read_dir(&dir).into_iter().flatten().flatten() {
            seen += 1;
            let kind = entry.file_type();
            if seen > MAX_ENTRIES || kind.as_ref().is_ok_and(fs::FileType::is_symlink) {
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

/// Whether a configuration contains only keys known to be harmless, in the plain form that git itself writes.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::git;

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
        assert!(Checkout::of(&top).unwrap().is_plain());
        fs::write(&hook, "").unwrap();
        assert!(!Checkout::of(&top).unwrap().is_plain());
        fs::remove_file(&hook).unwrap();
        // Another repository inside: git would obey that one's configuration too.
        git(&top, &["submodule", "add", "-q", "../other", "inner"]);
        assert!(!Checkout::of(&top).unwrap().is_plain());
        // `.git` is a file that points elsewhere.
        let linked = dir.path().join("linked");
        fs::create_dir(&linked).unwrap();
        fs::write(linked.join(".git"), format!("gitdir: {}/.git\n", other.display())).unwrap();
        assert!(Checkout::of(&linked).unwrap().is_plain());
        fs::write(other.join(".git/config"), "[core]\n\tfsmonitor = ./evil\n").unwrap();
        assert!(!Checkout::of(&linked).unwrap().is_plain());
        // Links in a repository, and an index that leads out of it.
        let third = dir.path().join("third");
        fs::create_dir(&third).unwrap();
        git(&third, &["init", "-q"]);
        std::os::unix::fs::symlink("/etc/passwd", third.join(".git/BISECT_START")).unwrap();
        assert!(!Checkout::of(&third).unwrap().is_plain());
        fs::remove_file(third.join(".git/BISECT_START")).unwrap();
        assert!(Checkout::of(&third).unwrap().is_plain());
        fs::write(third.join(".git/objects/info/alternates"), "/elsewhere").unwrap();
        assert!(!Checkout::of(&third).unwrap().is_plain());
        fs::remove_file(third.join(".git/objects/info/alternates")).unwrap();
        fs::create_dir(third.join("real")).unwrap();
        fs::write(third.join("real/x"), "").unwrap();
        git(&third, &["add", "-A"]);
        fs::remove_dir_all(third.join("real")).unwrap();
        std::os::unix::fs::symlink("/etc", third.join("real")).unwrap();
        assert!(!Checkout::of(&third).unwrap().is_plain());
        // git takes only line ends away.
        fs::write(linked.join(".git"), "gitdir: .g \n").unwrap();
        fs::create_dir(linked.join(".g")).unwrap();
        assert_eq!(Checkout::of(&linked).unwrap().git().unwrap().own, linked.join(".g "));
        // A worktree obeys what its repository says.
        git(&top, &["worktree", "add", "-q", "../tree"]);
        let tree = Checkout::of(&dir.path().join("tree")).unwrap();
        fs::write(top.join(".git/config"), "[core]\n\tsshCommand = ./evil\n").unwrap();
        assert!(!tree.is_plain());
    }
}
