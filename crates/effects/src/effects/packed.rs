//! Files that are written because they are in a directory, an archive or a patch.

mod names;

use std::ffi::OsStr;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ona_programs::commands;
use ona_programs::files::{self, Access, Copied, Derived, Format, Operand, Unpacked};
use ona_programs::git_options::GitCall;
use ona_types::world::Wanted;

use super::{Effects, Scene};
use crate::path::Target;
use crate::read_only::READ_ONLY;
use crate::shell::{Direction, Step, Word};

/// The limit for the files of a directory that are looked at.
const MAX_FILES: usize = 5_000;
/// The limit for an archive or a patch that is read, in bytes.
const MAX_ARCHIVE: u64 = 64 << 20;

impl Effects {
    /// Notes what is written where something is copied, moved or linked to.
    pub(super) fn copy(&mut self, scene: &Scene<'_>, copied: &Copied) {
        let to = self.targets(scene, &copied.to);
        let mut further: Vec<PathBuf> = Vec::new();
        for from in self.targets(scene, &copied.from) {
            let base = from.named.file_name().map(PathBuf::from).unwrap_or_default();
            further.push(base.clone());
            if !copied.whole || !scene.world.is_dir(&from.real) {
                continue;
            }
            let Some(inside) = files_below(scene, &from.real) else {
                self.scatters.get_or_insert(format!(
                    "{} holds too many files to look at",
                    from.named.display()
                ));
                continue;
            };
            // It may become the directory itself, or one in it.
            further.extend(inside.iter().flat_map(|file| [file.clone(), base.join(file)]));
        }
        for to in to {
            let written =
                further.iter().filter_map(|file| Target::of(scene.world, &to.named, file).ok());
            let written: Vec<Target> = written.collect();
            self.writes.extend(written);
        }
    }

    /// Notes what an archive or a patch makes a command write.
    pub(super) fn unpack(&mut self, scene: &Scene<'_>, unpacked: &Unpacked) {
        let Some(names) = self.names_in(scene, unpacked) else {
            let by = &unpacked.by;
            self.scatters.get_or_insert(format!("which files `{by}` writes is not in the command"));
            return;
        };
        let here = Operand::Fixed(".".to_owned());
        for dir in self.targets(scene, unpacked.into.as_ref().unwrap_or(&here)) {
            let written = names.iter().flat_map(|name| spellings(name, unpacked.strips));
            let written = written.filter_map(|name| Target::of(scene.world, &dir.named, name).ok());
            let written: Vec<Target> = written.collect();
            // In a loop it would be another archive the next time.
            let archives = unpacked.archive.as_ref().map(|archive| self.targets(scene, archive));
            let mut archives = archives.into_iter().flatten();
            if archives.any(|own| written.iter().any(|one| one.real == own.real)) {
                self.scatters.get_or_insert(format!("`{}` replaces its archive", unpacked.by));
            }
            self.writes.extend(written);
        }
    }

    /// Whether something else in the line could change a file before it is used.
    pub(super) fn may_change(&mut self, scene: &Scene<'_>, file: &Target) -> bool {
        let script = scene.line.script;
        // What stands behind it runs later, unless there are loops or several processes.
        let in_turn = !script
            .steps
            .iter()
            .any(|step| matches!(step, Step::Again | Step::Later | Step::Enter));
        let fixed = script.redirects.iter().all(|redirect| redirect.target.literal.is_some());
        if script.opaque.is_some() || !fixed {
            return true;
        }
        let is_it = |target: &Target| target.real == file.real || target.named == file.named;
        let before = &self.writes[..scene.written];
        if self.redirected.iter().chain(before).any(is_it) {
            return true;
        }
        let known = self.scatters.is_none() && self.feeds_writer.is_none();
        let others = script.commands.iter().enumerate().filter(|(at, _)| *at != scene.at);
        let others = others.filter(|(at, _)| !in_turn || *at < scene.at);
        for (at, command) in others {
            // What was written before it is listed, with names that programs make up.
            let Some(written) = written_by(&command.words, in_turn && known) else { return true };
            // Where it runs matters little: from any of the directories it could be the file.
            let dirs = scene.dirs.iter().chain(&self.dirs).cloned().collect::<Vec<PathBuf>>();
            for operand in written {
                let targets = self.targets(&Scene { dirs: &dirs, at, ..*scene }, &operand);
                let holds = |target: &Target| {
                    file.real.starts_with(&target.real) || file.named.starts_with(&target.named)
                };
                if targets.iter().any(holds) {
                    return true;
                }
            }
        }
        false
    }

    /// Notes what is written beside another file.
    pub(super) fn derive(&mut self, scene: &Scene<'_>, derived: &Derived) {
        for target in self.targets(scene, &derived.from) {
            let Some(name) = target.named.file_name().and_then(OsStr::to_str) else { continue };
            for name in derived.how.names(name) {
                let beside =
                    [&target.named, &target.real].into_iter().filter_map(|file| file.parent());
                let dirs: Vec<&Path> = match name.contains('/') {
                    true => scene.dirs.iter().map(PathBuf::as_path).collect(),
                    false => beside.collect(),
                };
                let written =
                    dirs.into_iter().filter_map(|dir| Target::of(scene.world, dir, &name).ok());
                let written: Vec<Target> = written.collect();
                self.writes.extend(written);
            }
        }
    }

    /// The names, if the archive is there now and nothing in the line could change it before it is used.
    fn names_in(&mut self, scene: &Scene<'_>, unpacked: &Unpacked) -> Option<Vec<String>> {
        let archives = match &unpacked.archive {
            // `patch` goes to its directory first.
            Some(archive) if unpacked.format == Format::Patch && unpacked.into.is_some() => {
                let there = unpacked.into.as_ref().map(|into| self.targets(scene, into));
                let there: Vec<PathBuf> =
                    there.into_iter().flatten().map(|target| target.named).collect();
                self.targets(&Scene { dirs: &there, ..*scene }, archive)
            }
            Some(archive) => self.targets(scene, archive),
            None => {
                // What it is fed, if nothing else could be.
                let [redirect] = &scene.line.script.redirects[..] else { return None };
                let alone = scene.line.script.commands.len() == 1 && !scene.line.script.here;
                let file = redirect.target.literal.clone();
                let file = file.filter(|_| alone && redirect.direction == Direction::Read)?;
                self.targets(scene, &Operand::Fixed(file))
            }
        };
        let mut all = Vec::new();
        for archive in &archives {
            let read = |path: &Path| scene.world.content(path, MAX_ARCHIVE);
            // `unzip a` takes `a.zip`.
            let longer = PathBuf::from(format!("{}.zip", archive.real.display()));
            let bytes = read(&archive.real).or_else(|| read(&longer))?;
            all.extend(names::members(unpacked.format, &bytes)?);
            let longer = Target::of(scene.world, Path::new("/"), longer).ok()?;
            if self.may_change(scene, archive) || self.may_change(scene, &longer) {
                return None;
            }
        }
        (!archives.is_empty()).then_some(all)
    }
}

/// What a command writes, or a directory that holds it; nothing if it may be anything. Names that it takes from an archive or makes
/// up are left out where they are listed already.
fn written_by(words: &[Word], listed: bool) -> Option<Vec<Operand>> {
    let Some(name) = commands::name(words) else { return words.is_empty().then(Vec::new) };
    // It makes new directories and changes none.
    if name == "mkdir" || commands::is_finder(name) && !commands::acts(words) {
        return Some(Vec::new());
    }
    let touched = files::touched(words);
    let unpacks = !touched.unpacked.is_empty() || !touched.in_git.patches.is_empty();
    let is_known = match name {
        "git" => git_is_known(words),
        name => files::is_known(name) && !commands::runs_others(words),
    };
    let is_open = touched.scatters.is_some()
        || touched.in_git.writes_unknown.is_some()
        || touched.fed.is_some()
        || !ona_programs::runs(words).is_empty();
    let makes_names = unpacks || !touched.derived.is_empty();
    if !is_known || is_open || makes_names && !listed {
        return None;
    }
    // A word that is not fixed could be an option, or a file that it writes.
    let only_reads = files::only_reads(name)
        && ona_programs::known(name).is_some_and(|program| !program.has_risky_options());
    let is_fixed = touched.unsure.is_none() && words.iter().all(|word| word.literal.is_some());
    if !only_reads && !is_fixed {
        return None;
    }
    let writes = |access: Access| access == Access::Writes;
    let files = touched.files.into_iter().filter(|(access, _)| writes(*access));
    let trees = touched.trees.into_iter().filter(|tree| writes(tree.access));
    let here = || Operand::Fixed(".".to_owned());
    let trees = trees.map(|tree| tree.root.unwrap_or_else(here));
    let files = files.map(|(_, operand)| operand).chain(trees);
    let copies = touched.copies.into_iter().map(|copied| copied.to);
    let derived = touched.derived.into_iter().map(|derived| derived.from);
    Some(files.chain(copies).chain(derived).collect())
}

/// Whether git only reads, or applies a patch.
fn git_is_known(words: &[Word]) -> bool {
    let is = |known: &str| {
        let mut words = words.iter();
        known
            .split(' ')
            .all(|part| words.next().is_some_and(|word| word.literal.as_deref() == Some(part)))
    };
    GitCall::of(&words[1..]).is(&["apply"]) || READ_ONLY.iter().any(|entry| is(entry.command))
}

/// The files below a directory, relative to it; nothing if there are too many.
fn files_below(scene: &Scene<'_>, dir: &Path) -> Option<Vec<PathBuf>> {
    let wanted = Wanted { hidden: true, ignored: true, names: Arc::new(|_, _| true) };
    let mut found = Vec::new();
    scene.world.walk(dir, &wanted, &mut |path, is_dir| {
        if found.len() > MAX_FILES {
            return ControlFlow::Break(());
        }
        if !is_dir && let Ok(below) = path.strip_prefix(dir) {
            found.push(below.to_owned());
        }
        ControlFlow::Continue(())
    });
    (found.len() <= MAX_FILES).then_some(found)
}

/// A name as it is written, and without what a program takes away in front.
fn spellings(name: &str, strips: bool) -> impl Iterator<Item = &str> {
    let relative = name.trim_start_matches('/');
    let shorter = relative.match_indices('/').map(|(at, _)| &relative[at + 1..]);
    let shorter = shorter.filter(move |_| strips);
    [name, relative].into_iter().chain(shorter).filter(|name| !name.is_empty())
}
