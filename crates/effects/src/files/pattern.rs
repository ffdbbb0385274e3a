//! Patterns that the shell expands.

use std::path::{Path, PathBuf};

use ona_types::World;

use crate::wildcard;

/// Whether a word has no fixed text only because of `*` and `?`. Bracket expressions are too
/// complex to follow.
pub(crate) fn is_glob(source: &str) -> bool {
    !source.contains(['[', ']', '$', '`', '~', '(', ')', '{', '}', '<', '>', '\'', '"', '\\'])
}

/// The limit for the files that are checked for a pattern.
const MAX_MATCHES: usize = 1000;

/// The files a pattern matches in a directory, as bash would expand it; `None` if there are too many.
/// Files whose names begin with a dot are left out unless the pattern begins with one; a line that has bash do
/// otherwise is opaque.
pub(crate) fn expand(world: &dyn World, dir: &Path, pattern: &str) -> Option<Vec<PathBuf>> {
    let (mut found, pattern) = match pattern.strip_prefix('/') {
        Some(rest) => (vec![PathBuf::from("/")], rest),
        None => (vec![dir.to_owned()], pattern),
    };
    let mut looked = 0;
    for part in pattern.split('/').filter(|part| !part.is_empty()) {
        let mut next = Vec::new();
        for dir in found {
            if !part.contains(['*', '?']) {
                next.push(dir.join(part));
                continue;
            }
            let names = world.names(&dir, MAX_MATCHES - looked)?;
            looked += names.len();
            for name in names {
                let fits = |name: &str| {
                    (part.starts_with('.') || !name.starts_with('.')) && fits(part, name)
                };
                if name.to_str().is_none_or(fits) {
                    next.push(dir.join(&name));
                }
            }
        }
        found = next;
    }
    Some(found)
}

/// Our wildcards know only `*`: a `?` counts as that, and rather a file too many.
fn fits(part: &str, name: &str) -> bool {
    wildcard::matches(&part.replace('?', "*"), name)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use ona_testkit::Disk;

    use super::*;

    #[test]
    fn patterns_are_expanded() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("sub")).unwrap();
        for name in [".env", "a.rs", "b.rs", "sub/c.rs"] {
            fs::write(dir.path().join(name), "").unwrap();
        }
        let names = |pattern: &str| -> Vec<String> {
            let mut found: Vec<String> = expand(&Disk, dir.path(), pattern)
                .unwrap()
                .iter()
                .map(|path| path.strip_prefix(dir.path()).unwrap().display().to_string())
                .collect();
            found.sort();
            found
        };
        assert_eq!(names(".en?"), [".env"]);
        assert!(!is_glob("[ab].rs") && !is_glob("/et[[:alpha:]]/passwd"));
        assert_eq!(names("*/c.rs"), ["a.rs/c.rs", "b.rs/c.rs", "sub/c.rs"]);
        assert_eq!(names("s*/*.rs"), ["sub/c.rs"]);
    }
}
