//! Finding and reading the files of extensions, however many there are and wherever they lead.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use ona_config::settings::{self, BadFile};
use ona_files::ReadError;
use ona_files::resolve;
use ona_types::Diagnostic;

/// Files and directories looked at; a person has a hundredth of it.
const MOST: usize = 10_000;
/// All files together.
const MOST_BYTES: usize = 32 << 20;
/// Directories within directories.
const DEEPEST: usize = 16;

/// How far a path may lead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Bound {
    /// Users and organisations may point where they like.
    Anywhere,
    /// A repository's author may not: only what is in this directory counts.
    Within(PathBuf),
    /// A plugin's neither, and it has no links at all.
    NoLinks(PathBuf),
}

/// Reads files, and counts what it has looked at.
#[derive(Debug, Default)]
pub(crate) struct Files {
    looked_at: usize,
    bytes: usize,
    too_many: bool,
    pub(crate) warnings: Vec<Diagnostic>,
}

/// What a skill's text is called.
pub(crate) const SKILL_FILE: &str = "SKILL.md";

impl Files {
    /// The `.md` files below a directory, in the order of their paths; none if there is no such directory.
    pub(crate) fn markdown(&mut self, dir: &Path, bound: &Bound) -> Vec<PathBuf> {
        let mut found = Vec::new();
        self.walk(dir, bound, 0, &mut HashSet::new(), &mut |path| {
            if path.extension().is_some_and(|extension| extension == "md") {
                found.push(path.to_owned());
            }
        });
        found
    }

    /// The `.md` files at a place, which may be one itself.
    pub(crate) fn markdown_at(&mut self, place: &Path, bound: &Bound) -> Vec<PathBuf> {
        match place.is_file() {
            true => vec![place.to_owned()],
            false => self.markdown(place, bound),
        }
    }

    /// The files of skills at a place: the directory of all skills, or that of one.
    pub(crate) fn skills(&mut self, place: &Path, bound: &Bound) -> Vec<PathBuf> {
        match place.join(SKILL_FILE).symlink_metadata().is_ok() {
            true => vec![place.join(SKILL_FILE)],
            false => self.in_each(place, SKILL_FILE, bound),
        }
    }

    /// The file of this name in each directory right below one.
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
        // A link that leads back leads to what was looked through.
        let Ok(real) = resolve(Path::new("/"), dir) else { return };
        if depth > DEEPEST || !seen.insert(real) {
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

    /// What is in a directory, sorted.
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
        if self.looked_at <= MOST {
            return true;
        }
        if !std::mem::replace(&mut self.too_many, true) {
            let why = format!("there are more than {MOST} files: the rest is not looked at");
            self.warnings.push(Diagnostic::new(dir, why).hint("take out what is no extension"));
        }
        false
    }

    /// The text of a file; a warning, and nothing, if it cannot be had.
    pub(crate) fn read(&mut self, path: &Path, bound: &Bound) -> Option<String> {
        let read = admitted(path, bound).and_then(|real| {
            let text = settings::read(&real)?.ok_or(BadFile::Missing)?;
            Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
        });
        match read {
            Ok(text) if self.bytes.saturating_add(text.len()) <= MOST_BYTES => {
                self.bytes += text.len();
                Some(text)
            }
            Ok(_) => {
                let why = format!("all files together are larger than {} MiB", MOST_BYTES >> 20);
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
                "put what is long into files beside it, and name those"
            }
            BadFile::Read(ReadError::NotUtf8 { .. }) => "save it as UTF-8",
            BadFile::Outside(_) | BadFile::Link(_) => "put the file itself there",
            BadFile::Missing => "make what it leads to, or remove it",
            _ => "make it a readable file, or remove it",
        };
        self.warnings.push(Diagnostic::new(path, bad.to_string()).hint(remedy));
    }
}

/// Where a path really leads, if it may lead there.
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
        assert!(said[1].contains("b.md: it is larger than 1 MiB; put what"), "{said:?}");
    }
}
