//! Instructions that apply later: rules for the path of a file that is read, and the instructions of its directories.

use std::path::{Path, PathBuf};

use ona_effects::path::Target;
use ona_repo::Disk;
use ona_types::Diagnostic;
use ona_types::hook::LoadReason;

use super::bounds::real;
use super::reader::Reader;
use super::{Loaded, Roots, additional, directories};

/// The instructions of a session that apply from the moment a certain file is read.
///
/// Each applies once. The paths of the instructions that a session has are its whole state: [`Conditional::resume`]
/// restores it from them.
#[derive(Debug)]
pub struct Conditional {
    reader: Reader,
}

impl Conditional {
    pub(super) fn new(reader: Reader) -> Self {
        Self { reader }
    }

    /// For a resumed session that already has these instructions.
    pub fn resume<P: AsRef<Path>>(
        roots: &Roots,
        already: impl IntoIterator<Item = P>,
    ) -> (Self, Vec<Diagnostic>) {
        let mut reader = Reader::new(roots);
        reader.seen.extend(already.into_iter().map(|path| real(path.as_ref())));
        // Those for all paths were read when the session started.
        reader.users_rules();
        for (dir, _) in directories(roots) {
            reader.projects_rules(&dir);
        }
        let warnings = std::mem::take(&mut reader.warnings);
        (Self { reader }, warnings)
    }

    /// The rules for certain paths.
    pub fn rules(&self) -> impl Iterator<Item = &Path> {
        self.reader.rules.iter().map(|rule| rule.path.as_path())
    }

    /// What applies because this file was read: first the instructions of the directories above it, then the rules
    /// for its path.
    pub fn on_read(&mut self, file: &Path) -> Loaded {
        let mut out = Vec::new();
        // A path that does not resolve was not read.
        let Ok(Target { named, real }) = Target::of(&Disk, &self.reader.roots.cwd, file) else {
            return Loaded::default();
        };
        let names = if named == real { vec![real] } else { vec![named, real] };
        let dirs: Vec<_> = names.iter().flat_map(|name| self.on_the_way(name)).collect();
        for (dir, own) in dirs {
            let reason = LoadReason::NestedTraversal;
            out.extend(self.reader.directory(&dir, own, reason, Some(file)));
        }
        let rules = std::mem::take(&mut self.reader.rules);
        for rule in rules.iter().filter(|rule| names.iter().any(|name| rule.fits(name))) {
            let mut find = rule.find.clone();
            find.trigger = Some(file.to_owned());
            out.extend(self.reader.read(&rule.path, &find));
        }
        self.reader.rules = rules;
        Loaded { instructions: out, warnings: std::mem::take(&mut self.reader.warnings) }
    }

    /// The directories between the session's directory, or a further working directory, and a file; each with
    /// whether it belongs to the session itself.
    fn on_the_way(&self, file: &Path) -> Vec<(PathBuf, bool)> {
        let roots = &self.reader.roots;
        let own = std::iter::once((roots.cwd.as_path(), true));
        let mut dirs = Vec::new();
        for (top, own) in own.chain(additional(roots).map(|dir| (dir, false))) {
            let below = file.strip_prefix(top).or_else(|_| file.strip_prefix(real(top)));
            let Some(below) = below.ok().and_then(Path::parent) else { continue };
            let mut dir = top.to_owned();
            for name in below {
                dir.push(name);
                dirs.push((dir.clone(), own));
            }
            // A directory inside another belongs to the outer one.
            break;
        }
        dirs
    }
}
