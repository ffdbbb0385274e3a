//! Files that are written because they are in a directory, an archive or a patch.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ona_types::world::Wanted;

use super::{Effects, Scene};
use crate::commands;
use crate::files::{self, Copied, Format, Operand, Unpacked};
use crate::path::Target;
use crate::shell::Direction;

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
            self.writes.extend(written);
        }
    }

    /// The names, if the archive is there now and nothing in the line could change it before it is used.
    fn names_in(&mut self, scene: &Scene<'_>, unpacked: &Unpacked) -> Option<Vec<String>> {
        let tame = |command: &crate::shell::Command| {
            let name = commands::name(&command.words);
            name.is_some_and(|name| name == "mkdir" || files::only_reads(name))
        };
        if !scene.line.script.commands[..scene.at].iter().all(tame) {
            return None;
        }
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
        let written = |path: &Path| self.redirected.iter().any(|target| target.real == *path);
        let mut all = Vec::new();
        for archive in &archives {
            let read = |path: &Path| scene.world.content(path, MAX_ARCHIVE);
            // `unzip a` takes `a.zip`.
            let longer = PathBuf::from(format!("{}.zip", archive.real.display()));
            let bytes = read(&archive.real).or_else(|| read(&longer))?;
            all.extend(files::members(unpacked.format, &bytes)?);
            if written(&archive.real) {
                return None;
            }
        }
        (!archives.is_empty()).then_some(all)
    }
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
