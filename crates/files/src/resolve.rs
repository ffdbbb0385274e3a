//! Resolving a path to the file it really names.
//!
//! `..` and symlinks are followed the way the kernel follows them, so `link/../x` means the parent of
//! what `link` points to. The path need not exist: whatever lies beyond the deepest existing parent is
//! taken as written. A write through the resolved path therefore cannot land elsewhere.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};
use std::{fs, io};

use ona_types::PathError;

/// The number of links the kernel follows before it gives up.
const MAX_LINKS: usize = 40;

/// The absolute path that `path`, taken from the directory `cwd`, really names.
pub fn resolve(cwd: &Path, path: impl AsRef<Path>) -> Result<PathBuf, PathError> {
    let path = path.as_ref();
    if path.as_os_str().is_empty() {
        return Err(PathError::Empty);
    }
    if path.as_os_str().as_encoded_bytes().contains(&0) {
        return Err(PathError::Nul);
    }
    let mut pending = components(&cwd.join(path));
    let mut real = PathBuf::from("/");
    let mut links = 0;
    while let Some(step) = pending.pop_front() {
        if step == ".." {
            real.pop();
            continue;
        }
        real.push(&step);
        let Some(target) = link_target(&real) else { continue };
        links += 1;
        if links > MAX_LINKS {
            return Err(PathError::Loop(real));
        }
        real.pop();
        if target.is_absolute() {
            real = PathBuf::from("/");
        }
        let mut steps = components(&target);
        steps.append(&mut pending);
        pending = steps;
    }
    Ok(real)
}

/// Where the link at `path` points; `None` if it is not a link, is missing or cannot be read.
fn link_target(path: &Path) -> Option<PathBuf> {
    let is_link = |meta: fs::Metadata| -> io::Result<PathBuf> {
        if meta.is_symlink() {
            fs::read_link(path)
        } else {
            Err(io::ErrorKind::InvalidInput.into())
        }
    };
    fs::symlink_metadata(path).and_then(is_link).ok()
}

fn components(path: &Path) -> VecDeque<OsString> {
    path.components()
        .filter_map(|component| match component {
            Component::Normal(name) => Some(name.to_owned()),
            Component::ParentDir => Some(OsString::from("..")),
            Component::CurDir | Component::RootDir | Component::Prefix(_) => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn dots_and_missing_tails() {
        let cwd = Path::new("/no/such/dir");
        assert_eq!(resolve(cwd, "a/./b/../c").unwrap(), Path::new("/no/such/dir/a/c"));
        assert_eq!(resolve(cwd, "../../../../../x").unwrap(), Path::new("/x"));
        assert_eq!(resolve(cwd, "/abs//x/").unwrap(), Path::new("/abs/x"));
        assert_eq!(resolve(cwd, ""), Err(PathError::Empty));
        assert_eq!(resolve(cwd, "a\0b"), Err(PathError::Nul));
    }

    #[test]
    fn links_are_followed_as_the_kernel_does() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("far/deep")).unwrap();
        symlink("far/deep", root.join("near")).unwrap();
        symlink(root.join("near/new.txt"), root.join("dangling")).unwrap();
        // `near/..` is `far`, not `root`.
        assert_eq!(resolve(&root, "near/../x").unwrap(), root.join("far/x"));
        assert_eq!(resolve(&root, "dangling").unwrap(), root.join("far/deep/new.txt"));
    }

    #[test]
    fn a_circle_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        symlink("b", dir.path().join("a")).unwrap();
        symlink("a", dir.path().join("b")).unwrap();
        assert!(matches!(resolve(dir.path(), "a/x"), Err(PathError::Loop(_))));
    }

    proptest! {
        #[test]
        fn the_result_is_absolute_and_has_no_dots(path in "[a-c./]{1,20}") {
            let real = resolve(Path::new("/no/such"), &path).unwrap();
            prop_assert!(real.is_absolute());
            prop_assert!(real.components().all(|c| !matches!(c, Component::ParentDir | Component::CurDir)));
            prop_assert_eq!(resolve(Path::new("/"), &real).unwrap(), real, "resolving twice changes nothing");
        }
    }
}
