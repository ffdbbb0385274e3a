//! Finds and reads the files of extensions, within limits.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use ona_config::settings::{self, BadFile};
use ona_files::{ReadError, resolve};
use ona_types::Diagnostic;

/// The maximum number of files and directories.
const MAX_FILES: usize = 10_000;
/// The maximum size of all files together.
const MAX_TOTAL_BYTES: usize = 32 << 20;
/// The maximum depth of directories.
const MAX_DEPTH: usize = 16;

/// Where a path may lead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Bound {
    /// Anywhere: for users and organisations.
    Anywhere,
    /// Only into this directory: for repositories.
    Within(PathBuf),
    /// Only into this directory, and without links: for plugins.
    NoLinks(PathBuf),
}

/// Reads files, and counts them.
#[derive(Debug, Default)]
pub(crate) struct Files {
    looked_at: usize,
    bytes: usize,
    too_many: bool,
    pub(crate) warnings: Vec<Diagnostic>,
}

/// The name of a skill's file.
pub(crate) const SKILL_FILE: &str = "SKILL.md";

impl Files {
    /// The `.md` files below a directory, sorted by path; none if the directory does not exist.
    pub(crate) fn markdown(&mut self, dir: &Path, bound: &Bound) -> Vec<PathBuf> {
        let mut found = Vec::new();
        self.walk(dir, bound, 0, &mut HashSet::new(), &mut |path| {
            if path.extension().is_some_and(|extension| extension == "md") {
                found.push(path.to_owned());
            }
        });
        found
    }

    /// The `.md` files at a path, which may be a file itself.
    pub(crate) fn markdown_at(&mut self, place: &Path, bound: &Bound) -> Vec<PathBuf> {
        match place.is_file() {
            true => vec![place.to_owned()],
            false => self.markdown(place, bound),
        }
    }

    /// The files of skills at a path: the directory of all skills, or of one.
    pub(crate) fn skills(&mut self, place: &Path, bound: &Bound) -> Vec<PathBuf> {
        match place.join(SKILL_FILE).symlink_metadata().is_ok() {
            true => vec![place.join(SKILL_FILE)],
            false => self.in_each(place, SKILL_FILE, bound),
        }
    }

    /// The file of this name in each subdirectory.
    pub(crate) fn in_each(&mut self, dir: &Path, name: &str, bound: &Bound) -> Vec<PathBuf> {
        let mut found = Vec::new();
        for path in self.names(dir, bound) {
            let file = path.join(name);
            if path.is_dir() && file.symlink_metadata().is_ok() {
                found.push(file);
            }
        }
        found
    }

    fn walk(
        &mut self,
        dir: &Path,
        bound: &Bound,
        depth: usize,
        seen: &mut HashSet<PathBuf>,
        found: &mut dyn FnMut(&Path),
    ) {
        // No directory is searched twice, even through links.
        let Ok(real) = resolve(Path::new("/"), dir) else { return };
        if depth > MAX_DEPTH || !seen.insert(real) {
            return;
        }
        for path in self.names(dir, bound) {
            if path.is_dir() {
                self.walk(&path, bound, depth + 1, seen, found);
            } else {
                found(&path);
            }
        }
    }

    /// The contents of a directory, sorted.
    fn names(&mut self, dir: &Path, bound: &Bound) -> Vec<PathBuf> {
        if dir.symlink_metadata().is_err() {
            return Vec::new();
        }
        let real = match admitted(dir, bound) {
            Ok(real) => real,
            Err(bad) => {
                self.skip(dir, &bad);
                return Vec::new();
            }
        };
        if !real.is_dir() {
            return Vec::new();
        }
        let entries = match fs::read_dir(&real) {
            Ok(entries) => entries,
            Err(error) => {
                self.skip(dir, &BadFile::Read(ReadError::Io(error)));
                return Vec::new();
            }
        };
        let mut names = Vec::new();
        for entry in entries.flatten() {
            if !self.step(dir) {
                break;
            }
            names.push(dir.join(entry.file_name()));
        }
        names.sort();
        names
    }

    fn step(&mut self, dir: &Path) -> bool {
        self.looked_at += 1;
        if self.looked_at <= MAX_FILES {
            return true;
        }
        if !std::mem::replace(&mut self.too_many, true) {
            let why = format!("more than {MAX_FILES} files: the rest is skipped");
            self.warnings
                .push(Diagnostic::new(dir, why).hint("remove files that are not extensions"));
        }
        false
    }

    /// The text of a file; `None` and a warning if it cannot be read.
    pub(crate) fn read(&mut self, path: &Path, bound: &Bound) -> Option<String> {
        let read = admitted(path, bound).and_then(|real| {
            let text = settings::read(&real)?.ok_or(BadFile::Missing)?;
            Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
        });
        match read {
            Ok(text) if self.bytes.saturating_add(text.len()) <= MAX_TOTAL_BYTES => {
                self.bytes += text.len();
                Some(text)
            }
            Ok(_) => {
                let why =
                    format!("all files together exceed the limit of {} MiB", MAX_TOTAL_BYTES >> 20);
                self.warnings.push(Diagnostic::new(path, why).hint("make them smaller, or fewer"));
                None
            }
            Err(bad) => {
                self.skip(path, &bad);
                None
            }
        }
    }

    fn skip(&mut self, path: &Path, bad: &BadFile) {
        let remedy = match bad {
            BadFile::Read(ReadError::TooLarge { .. }) => {
                "move long text into other files and refer to them"
            }
            BadFile::Read(ReadError::NotUtf8 { .. }) => "save it as UTF-8",
            BadFile::Outside(_) | BadFile::Link(_) => "put the file itself there",
            BadFile::Missing => "create its target, or remove it",
            _ => "make it a readable file, or remove it",
        };
        self.warnings.push(Diagnostic::new(path, bad.to_string()).hint(remedy));
    }
}

/// The real path, if it is within the bound.
pub(crate) fn admitted(path: &Path, bound: &Bound) -> Result<PathBuf, BadFile> {
    match bound {
        Bound::Anywhere => Ok(resolve(Path::new("/"), path)?),
        Bound::Within(dir) => settings::within(dir, path),
        Bound::NoLinks(dir) => {
            let below = path.strip_prefix(dir).unwrap_or(path);
            let mut at = dir.clone();
            for part in below.components() {
                at.push(part);
                if at.symlink_metadata().is_ok_and(|meta| meta.is_symlink()) {
                    return Err(BadFile::Link(at));
                }
            }
            settings::within(dir, path)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_lead_as_far_as_their_owner_may() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("own/agents/deep")).unwrap();
        fs::write(root.join("own/agents/deep/a.md"), "a").unwrap();
        fs::write(root.join("outside.md"), "o").unwrap();
        symlink(root.join("outside.md"), root.join("own/agents/o.md")).unwrap();
        symlink(root.join("own/agents"), root.join("own/agents/loop")).unwrap();
        let agents = root.join("own/agents");
        let read = |bound: &Bound| -> (Vec<String>, usize) {
            let mut files = Files::default();
            let found = files.markdown(&agents, bound);
            let texts = found.iter().filter_map(|path| files.read(path, bound)).collect();
            (texts, files.warnings.len())
        };
        let own = root.join("own");
        assert_eq!(read(&Bound::Anywhere), (vec!["a".into(), "o".into()], 0));
        assert_eq!(read(&Bound::Within(own.clone())), (vec!["a".into()], 1));
        assert_eq!(read(&Bound::NoLinks(own)), (vec!["a".into()], 1));
    }

    #[test]
    fn a_bad_file_is_named_and_no_other_suffers() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("a.md"), b"\xff\xfe").unwrap();
        fs::write(dir.path().join("b.md"), "x".repeat((1 << 20) + 1)).unwrap();
        fs::write(dir.path().join("c.md"), "\u{feff}good").unwrap();
        fs::write(dir.path().join("d.txt"), "no").unwrap();
        let mut files = Files::default();
        let found = files.markdown(dir.path(), &Bound::Anywhere);
        let texts: Vec<String> =
            found.iter().filter_map(|path| files.read(path, &Bound::Anywhere)).collect();
        assert_eq!(texts, ["good"]);
        let said: Vec<String> = files.warnings.iter().map(ToString::to_string).collect();
        assert!(said[0].contains("a.md: it is not UTF-8; save it as UTF-8"), "{said:?}");
        assert!(said[1].contains("b.md: it is larger than 1 MiB; move long text"), "{said:?}");
    }
}
