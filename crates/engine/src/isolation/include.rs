//! `.worktreeinclude`: ignored files that a worktree needs, such as `.env`.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Component, Path, PathBuf};

use ona_repo::git::worktrees;

/// The file with the patterns, in `.gitignore` syntax.
const INCLUDE: &str = ".worktreeinclude";
/// Limits for the copied files. Larger directories are faster to build again.
const MAX_FILES: usize = 10_000;
const MAX_BYTES: u64 = 256 << 20;

/// Copies the ignored files that match from the checkout to its new worktree. Returns what was not copied.
pub(super) async fn bring_files(checkout: &Path, worktree: &Path) -> Vec<String> {
    let file = checkout.join(INCLUDE);
    // A symlink could point to other patterns.
    if !file.symlink_metadata().is_ok_and(|meta| meta.is_file()) {
        return Vec::new();
    }
    let named = match worktrees::ignored_of(checkout, INCLUDE).await {
        Ok(named) => named,
        Err(error) => return vec![format!("{INCLUDE}: nothing was copied: {error}")],
    };
    let (checkout, worktree) = (checkout.to_owned(), worktree.to_owned());
    let copied = tokio::task::spawn_blocking(move || copy_all(&checkout, &worktree, named));
    copied.await.unwrap_or_else(|error| vec![format!("{INCLUDE}: copying failed: {error}")])
}

fn copy_all(checkout: &Path, worktree: &Path, named: Vec<Vec<u8>>) -> Vec<String> {
    let (mut files, mut bytes) = (0, 0);
    let mut left_out = Vec::new();
    for name in named {
        let name = PathBuf::from(OsString::from_vec(name));
        let source = checkout.join(&name);
        let length = source.symlink_metadata().map_or(0, |meta| meta.len());
        if files >= MAX_FILES || bytes + length > MAX_BYTES {
            left_out.push(format!(
                "{INCLUDE}: {} and the files after it were not copied; limit: {MAX_FILES} files and {} MiB",
                name.display(),
                MAX_BYTES >> 20
            ));
            break;
        }
        match copy(&source, worktree, &name) {
            Ok(()) => (files, bytes) = (files + 1, bytes + length),
            Err(error) => {
                left_out.push(format!("{INCLUDE}: {} was not copied: {error}", name.display()));
            }
        }
    }
    left_out
}

/// Copies one file, never through a symlink.
fn copy(source: &Path, worktree: &Path, name: &Path) -> io::Result<()> {
    let wrong = |why: &str| Err(io::Error::other(why.to_owned()));
    if !source.symlink_metadata()?.is_file() {
        return wrong("not a regular file");
    }
    let mut dir = worktree.to_owned();
    for part in name.parent().into_iter().flat_map(Path::components) {
        let Component::Normal(part) = part else { return wrong("its path leaves the worktree") };
        dir.push(part);
        match dir.symlink_metadata() {
            Ok(meta) if meta.is_dir() => {}
            Ok(_) => return wrong("its directory exists and is not a directory"),
            Err(_) => fs::create_dir(&dir)?,
        }
    }
    let there = worktree.join(name);
    if there.symlink_metadata().is_ok() {
        return wrong("the file exists already");
    }
    fs::copy(source, &there).map(drop)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn nothing_is_copied_through_a_link_or_over_a_file() {
        let dir = tempfile::tempdir().unwrap();
        let [from, to, outside] = ["from", "to", "outside"].map(|name| dir.path().join(name));
        for made in [&from, &to, &outside, &from.join("d"), &from.join("l")] {
            fs::create_dir(made).unwrap();
        }
        for file in ["d/f", "l/f", "there", "../outside/secret"] {
            fs::write(from.join(file), "x").unwrap();
        }
        symlink(outside.join("secret"), from.join("link")).unwrap();
        symlink(&outside, to.join("l")).unwrap();
        fs::write(to.join("there"), "own").unwrap();
        let named = ["d/f", "l/f", "link", "there", "../outside/secret", "gone"];
        let named = named.iter().map(|name| name.as_bytes().to_vec()).collect();
        let left_out = copy_all(&from, &to, named);
        assert_eq!(fs::read_to_string(to.join("d/f")).unwrap(), "x");
        assert_eq!(fs::read_to_string(to.join("there")).unwrap(), "own");
        assert!(!to.join("link").exists() && !outside.join("f").exists());
        assert_eq!(left_out.len(), 5, "{left_out:?}");
    }
}
