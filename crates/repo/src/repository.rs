//! The repository a directory is in.

use std::path::{Path, PathBuf};

use ona_files::{read_text_at_most, resolve};

use crate::checkout::{Checkout, MAX_LINK_FILE};

/// A repository, as seen from one directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repository {
    /// The root of the checkout the directory is in; without a repository, the directory itself.
    pub checkout: PathBuf,
    /// What all checkouts of the repository have in common: the main checkout's root, or a bare
    /// repository's directory.
    pub root: PathBuf,
}

impl Repository {
    /// The repository that `dir` is in.
    pub fn of(dir: &Path) -> Self {
        let Some(checkout) = Checkout::of(dir) else { return Self::alone(dir) };
        let top = checkout.top().to_owned();
        let root = main_checkout(&checkout).unwrap_or_else(|| top.clone());
        Self { checkout: top, root }
    }

    fn alone(dir: &Path) -> Self {
        Self { checkout: dir.to_owned(), root: dir.to_owned() }
    }
}

/// The main checkout that the `.git` file of a linked worktree points at. Anybody can write such a file, so it counts only if
/// the repository knows of the worktree too.
fn main_checkout(checkout: &Checkout) -> Option<PathBuf> {
    let own = &checkout.git()?.own;
    if *own == checkout.top().join(".git") {
        return None;
    }
    let administered = resolve(Path::new("/"), own).ok()?;
    let known = read_text_at_most(&administered.join("gitdir"), MAX_LINK_FILE).ok()??;
    if resolve(&administered, known.trim()).ok()? != resolve(checkout.top(), ".git").ok()? {
        return None;
    }
    let worktrees = administered.parent().filter(|dir| dir.ends_with("worktrees"))?;
    let repository = worktrees.parent()?;
    let main = if repository.ends_with(".git") { repository.parent()? } else { repository };
    Some(main.to_owned())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// A main checkout and a worktree beside it, each pointing at the other by these texts.
    fn linked(to_main: &str, back: &str) -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("main/.git/worktrees/w")).unwrap();
        fs::create_dir_all(root.join("main/sub")).unwrap();
        fs::create_dir_all(root.join("w/sub")).unwrap();
        let filled = |text: &str| text.replace("ROOT", root.to_str().unwrap()) + "\n";
        fs::write(root.join("w/.git"), filled(to_main)).unwrap();
        if !back.is_empty() {
            fs::write(root.join("main/.git/worktrees/w/gitdir"), filled(back)).unwrap();
        }
        (dir, root)
    }

    #[test]
    fn a_worktree_belongs_to_the_main_checkout_that_knows_it() {
        let absolute = "gitdir: ROOT/main/.git/worktrees/w";
        let relative = "gitdir: ../main/.git/worktrees/w";
        for (to_main, back, belongs) in [
            (absolute, "ROOT/w/.git", true),
            (relative, "../../../../w/.git", true),
            // Forged: the repository knows of no such worktree, or of another one.
            (absolute, "", false),
            (absolute, "ROOT/other/.git", false),
            ("gitdir: ROOT/main/.git", "ROOT/w/.git", false),
            ("nonsense", "ROOT/w/.git", false),
        ] {
            let (_dir, root) = linked(to_main, back);
            let main = root.join(if belongs { "main" } else { "w" });
            let expected = Repository { checkout: root.join("w"), root: main };
            assert_eq!(Repository::of(&root.join("w/sub")), expected, "{to_main} {back}");
        }
    }

    #[test]
    fn a_directory_without_one_is_on_its_own() {
        let (_dir, root) = linked("", "");
        let main = Repository::alone(&root.join("main"));
        assert_eq!(Repository::of(&root.join("main/sub")), main);
        assert_eq!(Repository::of(Path::new("/")), Repository::alone(Path::new("/")));
    }

    #[test]
    fn worktrees_of_a_bare_repository_have_its_directory_in_common() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let administered = root.join("bare.git/worktrees/w");
        fs::create_dir_all(&administered).unwrap();
        fs::create_dir(root.join("w")).unwrap();
        fs::write(root.join("w/.git"), format!("gitdir: {}", administered.display())).unwrap();
        fs::write(administered.join("gitdir"), root.join("w/.git").to_str().unwrap()).unwrap();
        assert_eq!(Repository::of(&root.join("w")).root, root.join("bare.git"));
    }
}
