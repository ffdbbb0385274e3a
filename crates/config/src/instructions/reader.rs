//! Reads files and their imports, each once, within limits.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use ona_effects::path::Target;
use ona_files::resolve;
use ona_repo::Disk;
use ona_types::Diagnostic;
use ona_types::hook::{LoadReason, MemoryType};

use super::bounds::{Bounds, real};
use super::rules::Rule;
use super::text::{candidates, scan};
use super::{Instruction, Problem, Roots, file, front};

/// How deep imports may be nested.
const MAX_IMPORT_DEPTH: usize = 5;

/// How a file was found.
#[derive(Clone, Debug)]
pub(super) struct Find {
    pub(super) memory_type: MemoryType,
    pub(super) load_reason: LoadReason,
    /// The directory it belongs to, as a real path.
    pub(super) dir: PathBuf,
    /// Whether it is a rule, which may start with front matter.
    pub(super) rule: bool,
    pub(super) globs: Option<Vec<String>>,
    pub(super) trigger: Option<PathBuf>,
}

impl Find {
    pub(super) fn new(memory_type: MemoryType, load_reason: LoadReason, dir: &Path) -> Self {
        Self { memory_type, load_reason, dir: real(dir), rule: false, globs: None, trigger: None }
    }

    /// The same for a rule.
    pub(super) fn rule(&self) -> Self {
        Self { rule: true, ..self.clone() }
    }
}

/// What was read so far, and what may still be read.
#[derive(Debug)]
pub(super) struct Reader {
    pub(super) roots: Roots,
    pub(super) bounds: Bounds,
    /// The files that were read or need not be read again, as real paths.
    pub(super) seen: HashSet<PathBuf>,
    /// The directories of rules that were searched, as real paths.
    pub(super) rule_dirs: HashSet<PathBuf>,
    /// The rules for certain paths.
    pub(super) rules: Vec<Rule>,
    pub(super) warnings: Vec<Diagnostic>,
    /// The warnings so far.
    said: HashSet<String>,
}

impl Reader {
    pub(super) fn new(roots: &Roots) -> Self {
        let (bounds, problems) = Bounds::new(roots);
        let mut reader = Self {
            roots: roots.clone(),
            bounds,
            seen: HashSet::new(),
            rule_dirs: HashSet::new(),
            rules: Vec::new(),
            warnings: Vec::new(),
            said: HashSet::new(),
        };
        for problem in problems {
            reader.warn(Path::new("claudeMdExcludes"), &problem);
        }
        reader
    }

    /// The instructions of one directory. `own` is whether the user's local file counts.
    pub(super) fn directory(
        &mut self,
        dir: &Path,
        own: bool,
        reason: LoadReason,
        trigger: Option<&Path>,
    ) -> Vec<Instruction> {
        let mut out = Vec::new();
        let mut find = Find::new(MemoryType::Project, reason, dir);
        find.trigger = trigger.map(Path::to_owned);
        let shared = [dir.join("CLAUDE.md"), dir.join(".claude/CLAUDE.md")];
        if shared.iter().any(|path| exists(path)) {
            for path in &shared {
                out.extend(self.read(path, &find));
            }
        } else {
            // `AGENT.md` has the lessons of a project without either.
            let [agents, agent] = ["AGENTS.md", "AGENT.md"].map(|name| dir.join(name));
            out.extend(self.read(if exists(&agents) { &agents } else { &agent }, &find));
        }
        for rule in self.projects_rules(dir) {
            out.extend(self.read(&rule, &find.rule()));
        }
        if own {
            find.memory_type = MemoryType::Local;
            out.extend(self.read(&dir.join("CLAUDE.local.md"), &find));
        }
        out
    }

    /// Reads a file that need not exist, and what it imports, right after it.
    pub(super) fn read(&mut self, path: &Path, find: &Find) -> Vec<Instruction> {
        self.read_from(path, find, None, 0)
    }

    fn read_from(
        &mut self,
        path: &Path,
        find: &Find,
        parent: Option<&Path>,
        hops: usize,
    ) -> Vec<Instruction> {
        let mut out = Vec::new();
        let Some(real) = self.admit(path, find) else { return out };
        if self.seen.contains(&real) {
            return out;
        }
        if let Some(parent) = parent
            && hops > MAX_IMPORT_DEPTH
        {
            self.warn(path, &Problem::TooDeep(parent.to_owned()));
            return out;
        }
        let file = file::read(&real);
        self.seen.insert(real);
        let file = match file.and_then(|file| self.bounds.take(file.text.len()).map(|()| file)) {
            Ok(file) => file,
            Err(problem) => {
                self.warn(path, &problem);
                return out;
            }
        };
        if file.lossy {
            self.warn(path, &Problem::NotUtf8);
        }
        let text =
            if find.rule && parent.is_none() { front::split(&file.text).body } else { &file.text };
        let scanned = scan(text);
        if !scanned.content.is_empty() {
            out.push(Instruction {
                path: path.to_owned(),
                memory_type: find.memory_type,
                load_reason: if parent.is_some() { LoadReason::Include } else { find.load_reason },
                // They are about the rule itself, not about its imports.
                globs: find.globs.clone().filter(|_| parent.is_none()),
                trigger: find.trigger.clone(),
                parent: parent.map(Path::to_owned),
                content: scanned.content,
            });
        }
        for import in &scanned.imports {
            match self.imported(import, path) {
                Ok(Some(target)) => out.extend(self.read_from(&target, find, Some(path), hops + 1)),
                Ok(None) => {}
                Err(problem) => {
                    self.warn(path, &problem);
                    return out;
                }
            }
        }
        out
    }

    /// The file that an import means; `None` without such a file, since most words with `@` are not imports.
    fn imported(&mut self, import: &str, importer: &Path) -> Result<Option<PathBuf>, Problem> {
        for candidate in candidates(import) {
            self.bounds.step()?;
            let path = match candidate.strip_prefix("~/") {
                Some(rest) => self.roots.home.join(rest),
                None => importer.parent().unwrap_or(importer).join(candidate),
            };
            let Ok(Target { named, real }) = Target::of(&Disk, Path::new("/"), &path) else {
                continue;
            };
            let Ok(meta) = fs::metadata(&real) else { continue };
            // Resolving `a/../b` by its text alone can name another file.
            let same = resolve(Path::new("/"), &named).is_ok_and(|named| named == real);
            return Ok((!meta.is_dir()).then_some(if same { named } else { real }));
        }
        Ok(None)
    }

    /// The real path of a file, if it exists and may be read.
    pub(super) fn admit(&mut self, path: &Path, find: &Find) -> Option<PathBuf> {
        if !exists(path) {
            return None;
        }
        let real = match resolve(Path::new("/"), path) {
            Ok(real) => real,
            Err(error) => {
                self.warn(path, &error.into());
                return None;
            }
        };
        if self.bounds.excludes(find.memory_type, path, &real) {
            return None;
        }
        if self.bounds.stored(&real) {
            self.warn(path, &Problem::Stored(real));
            return None;
        }
        if self.bounds.external(find.memory_type, &find.dir, &real) {
            self.warn(path, &Problem::External(real));
            return None;
        }
        Some(real)
    }

    /// Adds a warning, once.
    pub(super) fn warn(&mut self, path: &Path, problem: &Problem) {
        let warning = Diagnostic::new(path, problem.to_string());
        if self.said.insert(warning.to_string()) {
            self.warnings.push(warning);
        }
    }
}

/// Whether the path exists, even as a broken link.
fn exists(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}
