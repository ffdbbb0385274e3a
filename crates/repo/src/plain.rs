//! Whether git is safe to run in a checkout: whether nothing in the repository makes it run
//! programs or read elsewhere.

use std::collections::HashSet;
use std::fs;
use std::path::{Component, Path};

use ona_files::{read_text_at_most, resolve};

use crate::checkout::Checkout;
use crate::discovery::{Found, find};
use crate::index::Tracked;
use crate::repository::Repository;

/// The limit for a configuration.
const MAX_CONFIG: u64 = 1 << 20;

/// How deep submodules within submodules are looked at.
const MAX_DEPTH: usize = 5;

/// Whether git, started in `dir`, finds the checkout that `project` is in, or a submodule of it, or nothing, and reading
/// there runs nothing.
pub(crate) fn git_is_plain(dir: &Path, project: &Path) -> bool {
    let real = |path: &Path| resolve(Path::new("/"), path);
    let inside = real(dir).is_ok_and(|dir| real(project).is_ok_and(|root| dir.starts_with(root)));
    inside
        && match (find(dir), find(project)) {
            (Found::Nothing, Found::Nothing) => true,
            (Found::Top(top), Found::Top(own)) => {
                let checkout = Checkout::at(&own);
                (top == own || checkout.has_submodule(&top) || is_plain_worktree(&top, &own))
                    && checkout.is_plain()
            }
            _ => false,
        }
}

/// Whether a checkout is a linked worktree that the repository of another knows of, and reading there runs nothing.
fn is_plain_worktree(top: &Path, other: &Path) -> bool {
    let worktree = Checkout::at(top);
    worktree.is_linked()
        && Repository::of(top).root == Repository::of(other).root
        && worktree.is_plain()
}

impl Checkout {
    /// Whether nothing in the repository makes git run something, or look elsewhere, when it only reads.
    pub fn is_plain(&self) -> bool {
        self.is_plain_at(0)
    }

    fn is_plain_at(&self, depth: usize) -> bool {
        let Some(dirs) = self.git() else { return false };
        // Where it is no repository, git goes on to the next one above.
        let is_repository = dirs.own.join("HEAD").symlink_metadata().is_ok()
            && dirs.common.join("objects").is_dir()
            && dirs.common.join("refs").is_dir();
        let hooks = ["post-index-change", "fsmonitor-watchman"];
        let hooked = hooks.iter().any(|hook| dirs.common.join("hooks").join(hook).exists());
        let elsewhere = dirs.common.join("objects/info/alternates").exists();
        if !is_repository
            || hooked
            || elsewhere
            || !self.has_plain_config()
            || has_links(&dirs.own)
            || has_links(&dirs.common)
        {
            return false;
        }
        // git obeys the configuration of the repositories within too.
        let plain_within = |file: &Tracked| {
            file.path.join(".git").symlink_metadata().is_err()
                || depth < MAX_DEPTH && Self::at(&file.path).is_plain_at(depth + 1)
        };
        self.tracked().is_some_and(|files| {
            !self.leads_out(&files)
                && files.iter().filter(|file| file.is_repository).all(plain_within)
        })
    }

    /// Whether its configuration has nothing but harmless keys.
    pub(crate) fn has_plain_config(&self) -> bool {
        let Some(dirs) = self.git() else { return false };
        let plain = |dir: &Path, name: &str| match read_text_at_most(&dir.join(name), MAX_CONFIG) {
            Ok(Some(text)) => is_plain_config(&text, &|value| self.is_its_worktree(dir, value)),
            Ok(None) => true,
            Err(_) => false,
        };
        plain(&dirs.common, "config") && plain(&dirs.own, "config.worktree")
    }

    /// Whether a submodule's configuration leads back to the checkout itself.
    fn is_its_worktree(&self, git_dir: &Path, value: &str) -> bool {
        let named = resolve(Path::new("/"), git_dir).and_then(|dir| resolve(&dir, value));
        named.is_ok_and(|named| resolve(Path::new("/"), self.top()).is_ok_and(|top| top == named))
    }

    /// Whether another checkout is the work tree of one of its submodules, or of one of theirs.
    fn has_submodule(&self, top: &Path) -> bool {
        let mut outer = self.clone();
        for _ in 0..MAX_DEPTH {
            let modules = outer.tracked().unwrap_or_default();
            let around = |file: &&Tracked| file.is_repository && top.starts_with(&file.path);
            match modules.iter().find(around) {
                Some(module) if module.path == top => return true,
                Some(module) => outer = Self::at(&module.path),
                None => return false,
            }
        }
        false
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
            let name = entry.file_name();
            if name == "objects" && dir == git_dir {
                pending.push(entry.path().join("info"));
            } else if name == "modules" && dir == git_dir {
                // Repositories of submodules: each is looked at with its work tree.
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

/// Whether a configuration contains only keys known to be harmless, in the plain form that git itself writes. `leads_back`
/// says of a work tree it names whether that is the checkout's own.
fn is_plain_config(text: &str, leads_back: &dyn Fn(&str) -> bool) -> bool {
    let mut section = String::new();
    text.lines().map(str::trim).all(|line| {
        if line.is_empty() || line.starts_with(['#', ';']) {
            return true;
        }
        if let Some(head) = line.strip_prefix('[') {
            let Some(head) = head.strip_suffix(']') else { return false };
            let name = head.split([' ', '\t', '.']).next().unwrap_or_default();
            section = name.to_ascii_lowercase();
            return !head.contains(']');
        }
        let (key, value) = line.split_once('=').unwrap_or((line, "true"));
        let (key, value) = (key.trim().to_ascii_lowercase(), value.trim());
        if section == "core" && key == "worktree" {
            return leads_back(value);
        }
        let known = HARMLESS.iter().find(|(name, _)| *name == section);
        let known = known.is_some_and(|(_, keys)| keys.contains(&"*") || keys.contains(&&*key));
        // `ext::…` names a program, and a bare repository has no files of its own.
        let bare = key == "bare" && !value.eq_ignore_ascii_case("false");
        let odd = value.contains("::") || value.ends_with('\\') || bare;
        known && !odd
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::git;

    #[test]
    fn worktrees_of_the_project_are_as_free_as_the_project() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap().join("app");
        fs::create_dir(&top).unwrap();
        git(&top, &["init", "-q"]);
        git(&top, &["commit", "-q", "--allow-empty", "-m", "x"]);
        git(&top, &["worktree", "add", "-q", ".claude/worktrees/x"]);
        let tree = top.join(".claude/worktrees/x");
        assert!(git_is_plain(&tree, &top));
        // Another directory that claims to be the same.
        fs::create_dir(top.join("y")).unwrap();
        fs::copy(tree.join(".git"), top.join("y/.git")).unwrap();
        assert!(!git_is_plain(&top.join("y"), &top));
        fs::write(top.join(".git/worktrees/x/config.worktree"), "[core]\n\tfsmonitor = ./evil\n")
            .unwrap();
        assert!(!git_is_plain(&tree, &top));
    }

    /// The forms a committed repository can have: git would take each for one.
    #[test]
    fn what_only_looks_like_a_repository_ends_the_freedom() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        git(&top, &["init", "-q"]);
        let app = top.join("packages/app");
        fs::create_dir_all(app.join("src")).unwrap();
        let free = |from: &Path| git_is_plain(from, &app);
        assert!(free(&app) && free(&app.join("src")));
        assert!(!free(&top), "above the project");
        for place in ["packages", "packages/app", "packages/app/src"] {
            for files in [["HEAD", "commondir"], ["HEAD", "objects"]] {
                let paths = files.map(|name| top.join(place).join(name));
                paths.iter().for_each(|path| fs::write(path, "refs").unwrap());
                assert!(!free(&app.join("src")), "{place} {files:?}");
                assert_eq!(free(&app), place == "packages/app/src", "{place} {files:?}");
                paths.iter().for_each(|path| fs::remove_file(path).unwrap());
            }
            // A `.git` that is no repository: git goes on above it.
            for content in ["", "gitdir: ../nowhere", "nonsense"] {
                let file = top.join(place).join(".git");
                fs::write(&file, content).unwrap();
                assert!(!free(&app.join("src")), "{place} {content}");
                fs::remove_file(file).unwrap();
            }
            let empty = top.join(place).join(".git");
            fs::create_dir(&empty).unwrap();
            assert!(!free(&app.join("src")), "{place}: an empty .git");
            fs::remove_dir(empty).unwrap();
        }
        assert!(free(&app.join("src")));
        let alone = tempfile::tempdir().unwrap();
        assert!(git_is_plain(alone.path(), alone.path()), "without a repository git says so");
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
            assert_eq!(is_plain_config(text, &|_| false), plain, "{text}");
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
        let inner = top.join("inner");
        assert!(git_is_plain(&top, &top) && git_is_plain(&inner, &inner));
        assert!(git_is_plain(&inner, &top), "a submodule that the project's index knows");
        let config = top.join(".git/modules/inner/config");
        let before = fs::read_to_string(&config).unwrap();
        fs::write(&config, format!("{before}[filter \"x\"]\n\tclean = ./evil\n")).unwrap();
        for dir in [&top, &inner] {
            assert!(!git_is_plain(dir, &top) && !git_is_plain(dir, dir), "{}", dir.display());
        }
        fs::write(&config, before.replace("../../../inner", "../../../..")).unwrap();
        assert!(!git_is_plain(&inner, &inner), "its files are elsewhere");
        fs::write(&config, before).unwrap();
        git(&top, &["init", "-q", "nested"]);
        assert!(!git_is_plain(&top.join("nested"), &top), "a repository nobody knows");
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
