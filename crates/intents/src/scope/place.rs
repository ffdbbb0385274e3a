//! Where a path lies in the workspace, after links and `..` are followed.

use std::fmt;
use std::path::{Component, Path, PathBuf};

use ona_effects::path::Target;
use ona_repo::Disk;
use ona_types::PathError;

/// Why a path is not in the workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outside {
    /// It lies elsewhere, here.
    Elsewhere(PathBuf),
    /// It is the workspace itself.
    Root,
    /// Its name is not valid UTF-8, so no pattern can match it.
    NotText(PathBuf),
    /// It is empty.
    Nowhere(PathError),
}

impl fmt::Display for Outside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Elsewhere(path) => write!(f, "{} is outside the workspace", path.display()),
            Self::Root => f.write_str("the path is the workspace itself"),
            Self::NotText(path) => write!(f, "{} is not valid UTF-8", path.display()),
            Self::Nowhere(error) => write!(f, "{error}"),
        }
    }
}

impl std::error::Error for Outside {}

/// The path of a resolved file relative to the resolved root, with `/`.
pub fn relative(root: &Path, real: &Path) -> Result<String, Outside> {
    let elsewhere = || Outside::Elsewhere(real.to_owned());
    let below = real.strip_prefix(root).map_err(|_| elsewhere())?;
    let mut names = Vec::new();
    for part in below.components() {
        // A resolved path has no dots left; one that has is not resolved, and could lead anywhere.
        let Component::Normal(name) = part else { return Err(elsewhere()) };
        names.push(name.to_str().ok_or_else(|| Outside::NotText(real.to_owned()))?);
    }
    if names.is_empty() { Err(Outside::Root) } else { Ok(names.join("/")) }
}

/// The place that `path`, taken from `cwd`, has below `root`; both the path and the root are resolved.
pub fn locate(root: &Path, cwd: &Path, path: impl AsRef<Path>) -> Result<String, Outside> {
    let root = ona_files::resolve(Path::new("/"), root).map_err(Outside::Nowhere)?;
    let target = Target::of(&Disk, cwd, path).map_err(Outside::Nowhere)?;
    relative(&root, &target.real)
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::fs;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::symlink;

    use proptest::prelude::*;

    use super::*;
    use crate::scope::{Held, Scope};

    #[test]
    fn links_and_dots_are_followed_before_anything_is_matched() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap().join("work");
        fs::create_dir_all(root.join("src")).unwrap();
        fs::create_dir_all(root.join("other")).unwrap();
        symlink("../other", root.join("src/link")).unwrap();
        symlink(dir.path(), root.join("src/out")).unwrap();
        symlink("src", root.join("alias")).unwrap();
        let at = |path: &str| locate(&root, &root, path);
        assert_eq!(at("src/../src/a").as_deref(), Ok("src/a"));
        assert_eq!(at("src/link/a").as_deref(), Ok("other/a"));
        assert_eq!(at("alias/a").as_deref(), Ok("src/a"));
        assert!(matches!(at("src/out/a"), Err(Outside::Elsewhere(_))));
        assert!(matches!(at("../x"), Err(Outside::Elsewhere(_))));
        assert!(matches!(at("/etc/passwd"), Err(Outside::Elsewhere(_))));
        assert_eq!(at("src/.."), Err(Outside::Root));
        assert_eq!(at("a\\b").as_deref(), Ok("a\\b"), "a backslash is a character like any other");
        let bad = root.join(OsStr::from_bytes(b"src/\xff"));
        assert!(matches!(locate(&root, &root, bad), Err(Outside::NotText(_))));
        assert!(matches!(relative(&root, &root.join("src/../../x")), Err(Outside::Elsewhere(_))));
        // A sibling whose name begins like the workspace's is not in it.
        assert!(matches!(at("../workshop/a"), Err(Outside::Elsewhere(_))));
    }

    proptest! {
        #[test]
        fn nothing_outside_is_ever_held(path in "(\\.\\./|[ab]/|\\./|/){0,6}[ab.]{1,2}") {
            let root = Path::new("/no/such/work");
            let everything = Scope::read(&["**"]).unwrap();
            let real = ona_files::resolve(root, &path).unwrap();
            match locate(root, root, &path) {
                Ok(place) => {
                    prop_assert_eq!(root.join(&place), real);
                    prop_assert!(matches!(everything.holds(&place), Held::By(_)));
                }
                Err(_) => prop_assert!(!real.starts_with(root) || real == root),
            }
        }
    }
}
