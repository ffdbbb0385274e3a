//! The real disk and git behind the `World` trait, for decisions that do no I/O themselves.

use std::ffi::OsString;
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use ona_types::world::{PathError, TrackedIn, Wanted, World};

use crate::checkout::Checkout;
use crate::plain;
use crate::walk::{Filters, Lists, walker};

/// The disk of this machine, and the repositories on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Disk;

impl World for Disk {
    fn resolve(&self, cwd: &Path, path: &Path) -> Result<PathBuf, PathError> {
        ona_files::resolve(cwd, path)
    }

    fn exists(&self, path: &Path) -> bool {
        path.exists()
    }

    fn is_dir(&self, path: &Path) -> bool {
        path.is_dir()
    }

    fn names(&self, dir: &Path, most: usize) -> Option<Vec<OsString>> {
        let entries = fs::read_dir(dir).into_iter().flatten().flatten();
        let names: Vec<OsString> = entries.take(most + 1).map(|entry| entry.file_name()).collect();
        (names.len() <= most).then_some(names)
    }

    fn content(&self, path: &Path, most: u64) -> Option<Vec<u8>> {
        ona_files::read_at_most(path, most).ok().flatten()
    }

    fn walk(
        &self,
        dir: &Path,
        wanted: &Wanted,
        visit: &mut dyn FnMut(PathBuf, bool) -> ControlFlow<()>,
    ) {
        // Those who leave hidden files out look at such lists too.
        let lists = Lists { plain: !wanted.hidden, in_repository: true };
        let filters = Filters {
            hidden: !wanted.hidden,
            lists: (!wanted.ignored).then_some(lists),
            ..Filters::default()
        };
        let is_wanted = wanted.names.clone();
        let walk = walker(dir, filters, move |entry| {
            let is_dir = entry.file_type().is_some_and(|kind| kind.is_dir());
            is_wanted(entry.file_name(), is_dir)
        });
        for entry in walk.build().flatten().skip(1) {
            let is_dir = entry.file_type().is_some_and(|kind| kind.is_dir());
            if visit(entry.into_path(), is_dir).is_break() {
                return;
            }
        }
    }

    fn checkout(&self, dir: &Path) -> Option<PathBuf> {
        Checkout::top_of(dir).map(Path::to_owned)
    }

    fn tracked(&self, dir: &Path) -> TrackedIn {
        let Some(checkout) = Checkout::of(dir) else { return TrackedIn::Nothing };
        match checkout.tracked() {
            Some(files) => TrackedIn::Files(files.into_iter().map(|file| file.path).collect()),
            None => TrackedIn::Unreadable,
        }
    }

    fn git_oddity(&self, dir: &Path, project: &Path) -> Option<String> {
        plain::git_oddity(dir, project)
    }
}
