//! Skills and commands that change during a session.

use std::path::{Path, PathBuf};

use super::{Extensions, load};

impl Extensions {
    /// The files of skills and commands that have changed since they were read.
    pub fn changes(&mut self) -> Vec<(PathBuf, ona_types::hook::FileEvent)> {
        self.watch.changes()
    }

    /// Watches the files of skills and commands, even unusable ones, and the directories in which new ones may
    /// appear.
    pub(super) fn watch(&mut self, places: impl IntoIterator<Item = PathBuf>) {
        let parent = |file: &Path| file.parent().map(Path::to_owned);
        let files = self.skills.iter().map(|skill| skill.path.clone());
        let files: Vec<PathBuf> =
            files.chain(self.warnings.iter().map(|warning| warning.file.clone())).collect();
        let dirs: Vec<PathBuf> = files.iter().filter_map(|file| parent(file)).collect();
        self.watch.keep_to(files.into_iter().chain(dirs).chain(places));
    }

    /// Takes over the state from before: which files were seen, and which directories were searched.
    #[must_use]
    pub fn after(mut self, before: &Self) -> Self {
        self.awake.clone_from(&before.awake);
        for dir in before.nearby.dirs_besides(&self.nearby) {
            load::nearby(&mut self, &dir.join("any"));
        }
        self
    }
}
