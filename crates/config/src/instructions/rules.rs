//! Rules: the `.md` files below a directory `rules`, some of them for certain paths only.

use std::fs;
use std::path::{Path, PathBuf};

use globset::{GlobSet, GlobSetBuilder};
use ona_files::ReadError;
use ona_types::hook::{LoadReason, MemoryType};

use super::bounds::{GlobError, glob, real};
use super::reader::{Find, Reader};
use super::{Problem, file, front};

/// A rule for certain paths.
#[derive(Debug)]
pub(super) struct Rule {
    pub(super) path: PathBuf,
    pub(super) find: Find,
    /// What its globs are relative to: the path as named, and the real path.
    bases: [PathBuf; 2],
    globs: GlobSet,
}

impl Rule {
    /// Whether it applies to a file.
    pub(super) fn fits(&self, file: &Path) -> bool {
        let below = self.bases.iter().find_map(|base| file.strip_prefix(base).ok());
        below.is_some_and(|below| self.globs.is_match(below))
    }
}

impl Reader {
    /// The user's rules. They apply to every project, so their globs are relative to the current one.
    pub(super) fn users_rules(&mut self) -> Vec<PathBuf> {
        let (dir, base) = (self.roots.claude_dir.clone(), self.roots.project_root.clone());
        let find = Find::new(MemoryType::User, LoadReason::PathGlobMatch, &dir);
        self.rules(&dir.join("rules"), &base, &find)
    }

    /// The rules of a directory.
    pub(super) fn projects_rules(&mut self, dir: &Path) -> Vec<PathBuf> {
        let find = Find::new(MemoryType::Project, LoadReason::PathGlobMatch, dir);
        self.rules(&dir.join(".claude/rules"), dir, &find)
    }

    /// Sorts the rules of a directory: returns those for all paths and keeps the others. A directory is searched
    /// once.
    fn rules(&mut self, dir: &Path, base: &Path, find: &Find) -> Vec<PathBuf> {
        let mut files = Vec::new();
        let mut for_all = Vec::new();
        if let Err(problem) = self.list(dir, find, &mut files) {
            self.warn(dir, &problem);
        }
        for path in files {
            match self.sort(&path, base, find) {
                Ok(Some(rule)) => self.rules.push(rule),
                Ok(None) => for_all.push(path),
                Err(problem) => self.warn(&path, &problem),
            }
        }
        for_all
    }

    /// The `.md` files below a directory, sorted by name. Links are followed, but no directory is searched twice.
    fn list(&mut self, dir: &Path, find: &Find, files: &mut Vec<PathBuf>) -> Result<(), Problem> {
        let Some(real) = self.admit(dir, find) else { return Ok(()) };
        if !real.is_dir() || !self.rule_dirs.insert(real.clone()) {
            return Ok(());
        }
        let mut names = Vec::new();
        for entry in fs::read_dir(&real).map_err(ReadError::Io)? {
            self.bounds.step()?;
            names.push(entry.map_err(ReadError::Io)?.file_name());
        }
        names.sort();
        for name in names {
            let path = dir.join(name);
            if path.is_dir() {
                self.list(&path, find, files)?;
            } else if path.extension().is_some_and(|extension| extension == "md")
                && self.admit(&path, find).is_some()
            {
                files.push(path);
            }
        }
        Ok(())
    }

    /// The rule in a file, if it is for certain paths.
    fn sort(&mut self, path: &Path, base: &Path, find: &Find) -> Result<Option<Rule>, Problem> {
        let text = file::read(&real(path))?.text;
        let front = front::split(&text);
        if let Some(problem) = front.problem {
            self.warn(path, &Problem::FrontMatter(problem));
        }
        if front.globs.is_empty() {
            return Ok(None);
        }
        let mut globs = GlobSetBuilder::new();
        for text in &front.globs {
            self.bounds.step()?;
            match glob(&anchored(text)) {
                Ok(glob) => drop(globs.add(glob)),
                Err(why) => self.warn(path, &Problem::Glob { glob: text.clone(), why }),
            }
        }
        let globs = globs.build().map_err(|error| Problem::Glob {
            glob: error.glob().unwrap_or_default().to_owned(),
            why: error.into(),
        })?;
        let find = Find { globs: Some(front.globs), ..find.rule() };
        let bases = [base.to_owned(), real(base)];
        Ok(Some(Rule { path: path.to_owned(), find, bases, globs }))
    }
}

/// Why globs cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum BadGlob {
    #[error("the glob `{glob}`: {why}")]
    Glob { glob: String, why: GlobError },
    #[error(transparent)]
    Together(#[from] globset::Error),
}

/// Globs for paths below a base. Skills use them too.
pub fn path_globs(texts: &[String]) -> Result<GlobSet, BadGlob> {
    let mut globs = GlobSetBuilder::new();
    for text in texts {
        let glob = glob(&anchored(text));
        globs.add(glob.map_err(|why| BadGlob::Glob { glob: text.clone(), why })?);
    }
    Ok(globs.build()?)
}

/// A glob as it is compared with a path below the base. `*.md` is for files directly in it, as documented; `/x` and
/// `./x` mean `x`, and `x/` means everything in it.
fn anchored(glob: &str) -> String {
    let glob = glob.strip_prefix("./").unwrap_or(glob);
    let glob = glob.strip_prefix('/').unwrap_or(glob);
    if glob.ends_with('/') { format!("{glob}**") } else { glob.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_are_relative_and_stay_within_names() {
        let cases: &[(&str, &[&str], &[&str])] = &[
            ("*.md", &["a.md", ".a.md"], &["d/a.md", "a.mdx"]),
            ("**/*.ts", &["a.ts", "d/e/a.ts"], &["a.tsx"]),
            ("src/**/*", &["src/a", "src/d/a"], &["src", "lib/src/a"]),
            ("src/**", &["src/a", "src/d/.a"], &["srcs/a"]),
            ("src/*.tsx", &["src/a.tsx"], &["src/d/a.tsx"]),
            ("src/**/*.{ts,tsx}", &["src/a.ts", "src/d/a.tsx"], &["src/a.js"]),
            ("{src,lib}/*", &["src/a", "lib/a"], &["bin/a"]),
            ("./src/", &["src/a", "src/d/a"], &["a"]),
            ("/a.md", &["a.md"], &["d/a.md"]),
            ("Makefile", &["Makefile"], &["d/Makefile"]),
        ];
        for (text, fits, others) in cases {
            let glob = glob(&anchored(text)).unwrap().compile_matcher();
            assert!(fits.iter().all(|path| glob.is_match(path)), "{text}");
            assert!(!others.iter().any(|path| glob.is_match(path)), "{text}");
        }
        for bad in ["{a", "[", "!a", &"a".repeat(5000)] {
            assert!(glob(&anchored(bad)).is_err(), "{bad}");
        }
    }
}
