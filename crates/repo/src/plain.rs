//! Whether git is safe to run in a checkout: whether nothing in the repository makes it run
//! programs or read elsewhere.

use std::collections::HashSet;
use std::fs;
use std::path::{Component, Path, PathBuf};

use ona_files::{read_text_at_most, resolve};

use crate::checkout::Checkout;
use crate::config::{Config, Oddity};
use crate::discovery::{Found, find};
use crate::index::Tracked;
use crate::repository::Repository;

/// The limit for a configuration.
const MAX_CONFIG: u64 = 1 << 20;

/// How deep submodules within submodules are looked at.
const MAX_DEPTH: usize = 5;

/// Hooks that run when git only reads.
const HOOKS: &[&str] = &["post-index-change", "fsmonitor-watchman"];
/// And those that run when it then fetches what is missing.
const LAZY_HOOKS: &[&str] = &["pre-auto-gc", "reference-transaction"];

/// Why git, started in `dir`, may run something or look elsewhere although it only reads; nothing if it finds the checkout
/// that `project` is in, or a submodule of it, or nothing, and reading there runs nothing.
pub(crate) fn git_oddity(dir: &Path, project: &Path) -> Option<String> {
    let real = |path: &Path| resolve(Path::new("/"), path);
    let inside = real(dir).is_ok_and(|dir| real(project).is_ok_and(|root| dir.starts_with(root)));
    if !inside {
        return Some(format!("{} is not in the project", dir.display()));
    }
    match (find(dir), find(project)) {
        (Found::Nothing, Found::Nothing) => None,
        (Found::Top(top), Found::Top(own)) => {
            let checkout = Checkout::at(&own);
            let own = top == own || checkout.has_submodule(&top) || is_plain_worktree(&top, &own);
            match own {
                true => checkout.oddity(),
                false => Some(format!("{} has a repository of its own", top.display())),
            }
        }
        (Found::Bare(dir), _) | (_, Found::Bare(dir)) => {
            Some(format!("{} looks like a repository", dir.display()))
        }
        _ => Some(format!("{} has a repository of its own", dir.display())),
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
        self.oddity().is_none()
    }

    /// What in the repository makes git run something, or look elsewhere, when it only reads.
    fn oddity(&self) -> Option<String> {
        self.oddity_at(0)
    }

    fn oddity_at(&self, depth: usize) -> Option<String> {
        let here = self.top().display();
        let Some(dirs) = self.git() else {
            return Some(format!("the repository of {here} cannot be found"));
        };
        // If it is not a repository, git continues with the directory above.
        let is_repository = dirs.own.join("HEAD").symlink_metadata().is_ok()
            && dirs.common.join("objects").is_dir()
            && dirs.common.join("refs").is_dir();
        if !is_repository {
            return Some(format!("{here} has a `.git` that is not a repository"));
        }
        let config = match self.config() {
            Ok(config) => config,
            Err(Oddity(odd)) => return Some(odd),
        };
        let hooks_dirs = match self.hooks_dirs(&dirs.common, &config) {
            Ok(dirs) => dirs,
            Err(Oddity(odd)) => return Some(odd),
        };
        let is_there = |dir: &PathBuf, hook: &str| dir.join(hook).symlink_metadata().is_ok();
        let lazy = if config.fetches_lazily { LAZY_HOOKS } else { &[] };
        let mut hooks = HOOKS.iter().chain(lazy);
        if let Some(hook) = hooks.find(|hook| hooks_dirs.iter().any(|dir| is_there(dir, hook))) {
            return Some(format!("there is a hook {hook}, which reading runs"));
        }
        if config.fetches_lazily && config.has_helper {
            return Some("a partial clone with a credential.helper of its own runs it".to_owned());
        }
        if dirs.common.join("objects/info/alternates").exists() {
            return Some("objects/info/alternates leads to another repository".to_owned());
        }
        if has_links(&dirs.own) || has_links(&dirs.common) {
            return Some(format!("there are links in {}", dirs.common.display()));
        }
        // git would wait for whoever writes into a pipe.
        for path in [
            self.top().join(".gitignore"),
            self.top().join(".gitattributes"),
            dirs.common.join("info/exclude"),
            dirs.common.join("info/attributes"),
        ] {
            let kind = path.symlink_metadata().map(|meta| meta.file_type());
            if kind.is_ok_and(|kind| !kind.is_file() && !kind.is_dir() && !kind.is_symlink()) {
                return Some(format!("{} is not a regular file", path.display()));
            }
        }
        let Some(files) = self.tracked() else {
            return Some(format!("the index of {here} cannot be read"));
        };
        if self.leads_out(&files) {
            return Some(format!("the index of {here} leads out of it"));
        }
        // git obeys the configuration of the repositories within too.
        let within = files
            .iter()
            .filter(|file| file.is_repository && file.path.join(".git").symlink_metadata().is_ok());
        for module in within {
            if config.recurses {
                return Some("submodule.recurse is set, and there are submodules".to_owned());
            }
            if depth >= MAX_DEPTH {
                return Some(format!("the submodules of {here} are nested too deep"));
            }
            if let Some(odd) = Self::at(&module.path).oddity_at(depth + 1) {
                return Some(format!("in the submodule {}: {odd}", module.path.display()));
            }
        }
        None
    }

    /// Whether its configuration has nothing but harmless keys.
    pub(crate) fn has_plain_config(&self) -> bool {
        self.config().is_ok()
    }

    /// Its configuration; otherwise what in it is not harmless.
    fn config(&self) -> Result<Config, Oddity> {
        let Some(dirs) = self.git() else {
            return Err(Oddity("there is no repository".to_owned()));
        };
        let mut config = Config::default();
        for (dir, name) in [(&dirs.common, "config"), (&dirs.own, "config.worktree")] {
            let path = dir.join(name);
            match read_text_at_most(&path, MAX_CONFIG) {
                Ok(Some(text)) => config
                    .read(&text, &|value| self.is_its_worktree(dir, value))
                    .map_err(|Oddity(odd)| Oddity(format!("{odd} in {}", path.display())))?,
                Ok(None) => {}
                Err(_) => return Err(Oddity(format!("{} cannot be read", path.display()))),
            }
        }
        Ok(config)
    }

    /// Where its hooks are. They may be among its own files.
    fn hooks_dirs(&self, common: &Path, config: &Config) -> Result<Vec<PathBuf>, Oddity> {
        let mut dirs = vec![common.join("hooks")];
        for path in &config.hooks_paths {
            let real = |base: &Path, path: &str| resolve(base, path).ok();
            let top = resolve(Path::new("/"), self.top()).ok();
            let found = top.and_then(|top| real(&top, path).filter(|dir| dir.starts_with(&top)));
            match found {
                Some(dir) => dirs.push(dir),
                None => return Err(Oddity(format!("core.hooksPath leads to {path}"))),
            }
        }
        Ok(dirs)
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
            let name = entry.file_name();
            // Hooks may be links; git does not show them, and those that reading runs are looked for by their names.
            if name == "hooks" && dir == git_dir {
                continue;
            }
            if seen > MAX_ENTRIES || kind.as_ref().is_ok_and(fs::FileType::is_symlink) {
                return true;
            }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{git, pipe};

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

    fn git_is_plain(dir: &Path, project: &Path) -> bool {
        git_oddity(dir, project).is_none()
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
            // If `.git` is not a repository, git continues with the directory above.
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

    #[test]
    fn what_ordinary_repositories_say_keeps_git_free() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        git(&top, &["init", "-q"]);
        git(&top, &["commit", "-q", "--allow-empty", "-m", "x"]);
        let odd = || git_oddity(&top, &top);
        for (key, value) in [
            ("core.hooksPath", ".husky/_"),
            ("core.editor", "code --wait"),
            ("core.untrackedCache", "true"),
            ("core.fsmonitor", "false"),
            ("diff.tool", "vimdiff"),
            ("merge.tool", "vimdiff"),
            ("gpg.format", "ssh"),
            ("submodule.recurse", "true"),
            ("branch.x.gh-merge-base", "main"),
            ("credential.helper", "store"),
        ] {
            git(&top, &["config", key, value]);
            assert_eq!(odd(), None, "{key}");
        }
        // A hook of husky's that reading does not run, and one that it does.
        fs::create_dir_all(top.join(".husky/_")).unwrap();
        fs::write(top.join(".husky/_/pre-commit"), "").unwrap();
        std::os::unix::fs::symlink("../../x", top.join(".git/hooks/pre-commit")).unwrap();
        assert_eq!(odd(), None);
        let hook = top.join(".husky/_/post-index-change");
        fs::write(&hook, "").unwrap();
        assert!(odd().unwrap().contains("post-index-change"));
        fs::remove_file(hook).unwrap();
        // A pipe would make git wait.
        let ignored = top.join(".gitignore");
        pipe(&ignored);
        assert!(odd().unwrap().ends_with(".gitignore is not a regular file"));
        fs::remove_file(ignored).unwrap();
        // Fetching what is missing asks a helper for a password.
        git(&top, &["config", "remote.origin.promisor", "true"]);
        assert!(odd().unwrap().contains("credential.helper"));
        git(&top, &["config", "--unset", "credential.helper"]);
        git(&top, &["config", "remote.origin.partialclonefilter", "blob:none"]);
        assert_eq!(odd(), None);
        let hook = top.join(".git/hooks/pre-auto-gc");
        fs::write(&hook, "").unwrap();
        assert!(odd().unwrap().contains("pre-auto-gc"));
        fs::remove_file(hook).unwrap();
        for path in ["../elsewhere", "/x", "~/hooks", "a b"] {
            git(&top, &["config", "core.hooksPath", path]);
            assert!(odd().unwrap().contains("hooksPath"), "{path}");
        }
        git(&top, &["config", "--unset", "core.hooksPath"]);
        git(&top, &["config", "filter.x.clean", "./evil"]);
        let said = odd().unwrap();
        assert!(
            said.starts_with("filter.x.clean is set in ") && said.contains(".git/config"),
            "{said}"
        );
    }
}
