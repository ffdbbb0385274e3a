//! Files whose path resembles a text, for `@`.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use nucleo_matcher::pattern::{CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};
use ona_repo::walk::{Filters, Lists, walker};

/// Files of a project that are listed at most.
const MAX_FILES: usize = 200_000;
/// The list is read again after this time.
const FRESH: Duration = Duration::from_secs(5);
/// Paths that are offered.
const OFFERED: usize = 15;

/// The files of a project.
#[derive(Clone, Debug, Default)]
pub(crate) struct FileIndex(Arc<Mutex<Option<Listed>>>);

#[derive(Debug)]
struct Listed {
    root: PathBuf,
    at: Instant,
    files: Arc<Vec<String>>,
}

impl FileIndex {
    /// The paths that resemble a text the most, below `root`. A directory ends with a slash.
    pub(crate) fn find(
        &self,
        root: &Path,
        home: Option<&Path>,
        query: &str,
        ignored: bool,
    ) -> Vec<String> {
        match elsewhere(query) {
            Some((dir, name)) => entries(&absolute(root, home, dir), dir, name),
            None => best(&self.files(root, ignored), query),
        }
    }

    fn files(&self, root: &Path, ignored: bool) -> Arc<Vec<String>> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(listed) = &*kept
            && listed.root == root
            && listed.at.elapsed() < FRESH
        {
            return Arc::clone(&listed.files);
        }
        let files = Arc::new(listed(root, ignored));
        *kept =
            Some(Listed { root: root.to_owned(), at: Instant::now(), files: Arc::clone(&files) });
        files
    }
}

/// A path that leaves the project: its directory, and the beginning of a name in it.
fn elsewhere(query: &str) -> Option<(&str, &str)> {
    let leaves = ["/", "~/", "../", "./"].iter().any(|start| query.starts_with(start));
    let cut = query.rfind('/').filter(|_| leaves)? + 1;
    Some(query.split_at(cut))
}

/// The entries of a directory whose names begin so, as they are typed.
fn entries(whole: &Path, dir: &str, name: &str) -> Vec<String> {
    let Ok(listed) = std::fs::read_dir(whole) else { return Vec::new() };
    let mut found: Vec<String> = listed
        .flatten()
        .filter_map(|entry| {
            let own = entry.file_name().into_string().ok().filter(|own| is_typable(own))?;
            let hidden = own.starts_with('.') && !name.starts_with('.');
            let end = if entry.path().is_dir() { "/" } else { "" };
            (own.starts_with(name) && !hidden).then(|| format!("{dir}{own}{end}"))
        })
        .collect();
    found.sort();
    found.truncate(OFFERED);
    found
}

/// Whether a name can stand in a prompt as it is.
fn is_typable(name: &str) -> bool {
    !name.contains(char::is_control)
}

/// A path as it is typed, from a directory; `~` is the user's home.
pub(crate) fn absolute(root: &Path, home: Option<&Path>, typed: &str) -> PathBuf {
    match (typed.strip_prefix('~'), home) {
        (Some(""), Some(home)) => home.to_owned(),
        (Some(rest), Some(home)) if rest.starts_with('/') => {
            home.join(rest.trim_start_matches('/'))
        }
        _ => root.join(typed),
    }
}

/// The files and directories below a directory, without those that ignore files leave out.
fn listed(root: &Path, with_ignored: bool) -> Vec<String> {
    let lists = (!with_ignored).then_some(Lists { plain: true, in_repository: false });
    let filters = Filters { hidden: false, lists, ..Filters::default() };
    let walk = walker(root, filters, |entry| entry.file_name() != ".git");
    let mut files = Vec::new();
    for entry in walk.build().flatten() {
        let Ok(path) = entry.path().strip_prefix(root) else { continue };
        let path = path.to_str().filter(|path| !path.is_empty() && is_typable(path));
        let Some(path) = path else { continue };
        let is_dir = entry.file_type().is_some_and(|kind| kind.is_dir());
        files.push(if is_dir { format!("{path}/") } else { path.to_owned() });
        if files.len() >= MAX_FILES {
            break;
        }
    }
    files.sort();
    files
}

fn best(files: &[String], query: &str) -> Vec<String> {
    if query.is_empty() {
        // What stands at the top.
        let top = files.iter().filter(|path| !path.trim_end_matches('/').contains('/'));
        return top.take(OFFERED).cloned().collect();
    }
    let mut matcher = Matcher::new(Config::DEFAULT.match_paths());
    let pattern = Pattern::parse(query, CaseMatching::Smart, Normalization::Smart);
    let mut buffer = Vec::new();
    let mut scored: Vec<(u32, &String)> = files
        .iter()
        .filter_map(|path| {
            let text = Utf32Str::new(path, &mut buffer);
            Some((pattern.score(text, &mut matcher)?, path))
        })
        .collect();
    scored.sort_by(|(a, one), (b, other)| {
        b.cmp(a).then(one.len().cmp(&other.len())).then(one.cmp(other))
    });
    scored.into_iter().take(OFFERED).map(|(_, path)| path.clone()).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_path_that_leaves_the_project_is_completed_too() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("project");
        for file in [
            "project/a.rs",
            "other/alpha.rs",
            "other/.hidden",
            "other/beta/x",
            "project/a\n.rs",
            "other/a\x1b",
        ] {
            let path = dir.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        let index = FileIndex::default();
        assert_eq!(
            index.find(&root, None, "../other/", false),
            ["../other/alpha.rs", "../other/beta/"]
        );
        let whole = format!("{}/other/al", dir.path().display());
        assert_eq!(index.find(&root, None, &whole, false), [format!("{whole}pha.rs")]);
        assert_eq!(index.find(&root, None, "../none/", false), [""; 0]);
        assert_eq!(index.find(&root, None, "a", false), ["a.rs"], "no name that cannot be typed");
    }

    #[test]
    fn a_tilde_is_the_home_directory() {
        let path = |typed| absolute(Path::new("/p"), Some(Path::new("/home/bob")), typed);
        assert_eq!(path("~"), Path::new("/home/bob"));
        assert_eq!(path("~/notes.md"), Path::new("/home/bob/notes.md"));
        assert_eq!(path("~backup"), Path::new("/p/~backup"));
        assert_eq!(path("a/~"), Path::new("/p/a/~"));
    }

    #[test]
    fn ignored_files_are_left_out_and_the_best_comes_first() {
        let dir = tempfile::tempdir().unwrap();
        for file in ["src/main.rs", "src/matcher.rs", "target/main.rs", "README.md", ".git/main"] {
            let path = dir.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        fs::write(dir.path().join(".gitignore"), "target\n").unwrap();
        let index = FileIndex::default();
        let found = index.find(dir.path(), None, "main", false);
        assert_eq!(found.first().map(String::as_str), Some("src/main.rs"));
        assert!(!found.iter().any(|path| path.starts_with("target") || path.starts_with(".git/")));
        assert_eq!(index.find(dir.path(), None, "", false), [".gitignore", "README.md", "src/"]);
        let all = FileIndex::default().find(dir.path(), None, "main", true);
        assert!(all.iter().any(|path| path.starts_with("target/")), "{all:?}");
    }
}
