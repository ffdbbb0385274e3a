//! Which repository git would find from a directory: the one walk that also sees what only looks like one.
//!
//! git goes upwards and stops at the first directory that has a `.git`, or that *is* a repository: it has a `HEAD`, and
//! `objects` and `refs`, or a `commondir` that says where those are. Anybody can commit such files.

use std::path::{Path, PathBuf};

use ona_files::resolve;

/// What git comes to first on its way upwards.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// The top of a checkout: a directory with something named `.git`.
    Top(PathBuf),
    /// A directory that git would take for a repository without a work tree.
    Bare(PathBuf),
    /// Neither.
    Nothing,
}

/// Finds it from a directory.
pub(crate) fn find(dir: &Path) -> Found {
    // git begins where it really is.
    let Ok(real) = resolve(Path::new("/"), dir) else { return Found::Bare(dir.to_owned()) };
    for dir in real.ancestors() {
        if is_there(dir, ".git") {
            return Found::Top(dir.to_owned());
        }
        // A `HEAD` that is a link counts even if it leads nowhere.
        if is_there(dir, "HEAD")
            && ["commondir", "objects", "refs"].iter().any(|name| is_there(dir, name))
        {
            return Found::Bare(dir.to_owned());
        }
    }
    Found::Nothing
}

fn is_there(dir: &Path, name: &str) -> bool {
    dir.join(name).symlink_metadata().is_ok()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn what_looks_like_a_repository_is_seen_before_the_top() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        fs::create_dir_all(top.join(".git")).unwrap();
        fs::create_dir_all(top.join("a/b/c")).unwrap();
        let from = top.join("a/b/c");
        assert_eq!(find(&from), Found::Top(top.clone()));
        for (head_is_link, beside) in
            [(false, "commondir"), (true, "commondir"), (false, "objects"), (true, "refs")]
        {
            let head = top.join("a/HEAD");
            match head_is_link {
                true => symlink("refs/heads/none", &head).unwrap(),
                false => fs::write(&head, "ref: refs/heads/main").unwrap(),
            }
            assert_eq!(find(&from), Found::Top(top.clone()), "a file named HEAD is a file");
            fs::write(top.join("a").join(beside), "x").unwrap();
            assert_eq!(find(&from), Found::Bare(top.join("a")), "{beside}");
            fs::remove_file(top.join("a").join(beside)).unwrap();
            fs::remove_file(head).unwrap();
        }
        // A link to a directory: git is where it leads.
        symlink("a/b", top.join("link")).unwrap();
        fs::write(top.join("a/HEAD"), "x").unwrap();
        fs::write(top.join("a/commondir"), "x").unwrap();
        assert_eq!(find(&top.join("link")), Found::Bare(top.join("a")));
    }
}
