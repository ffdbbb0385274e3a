//! What git ignores.

use std::path::Path;

use ignore::WalkBuilder;

/// Whether git ignores a file of the checkout, which exists.
pub fn is_ignored(checkout: &Path, file: &Path) -> bool {
    let (wanted, reached) = (file.to_owned(), file.to_owned());
    let mut walk = WalkBuilder::new(checkout);
    // Only git's own lists count, and only the way to the file is gone.
    walk.hidden(false).ignore(false).filter_entry(move |entry| wanted.starts_with(entry.path()));
    !walk.build().flatten().any(|entry| entry.path() == reached)
}
