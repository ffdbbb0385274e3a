//! Builds the trace entry for the files that a tool changed.

use crate::class::{Versions, classify};
use crate::entry::{FileChange, MutationClass, TraceEntry};
use crate::ranges::{modified_ranges, prefixed_hash};
use crate::syntax::attribute;

/// Fills in what the changed files say: `file`, `modified_ranges` with their symbols, and the class with the
/// check of the claimed class. The caller adds who, why and whether it was allowed.
pub fn describe(entry: &mut TraceEntry, files: &[Versions<'_>], claimed: Option<MutationClass>) {
    for file in files.iter().filter(|file| file.old != file.new) {
        let mut ranges = modified_ranges(file.path, file.old, file.new);
        attribute(file.path, file.new, &mut ranges);
        entry.modified_ranges.append(&mut ranges);
        entry.file.get_or_insert_with(|| FileChange {
            relative_path: file.path.to_owned(),
            pre_hash: file.old.map(prefixed_hash),
            post_hash: file.new.map(prefixed_hash),
            previous_path: None,
        });
    }
    let classified = classify(claimed, files);
    entry.mutation_class = Some(classified.class);
    entry.mutation_class_source = Some(classified.source);
    entry.mutation_class_mismatch = classified.mismatch;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::{AstStatus, ClassSource};

    #[test]
    fn everything_the_files_say() {
        let mut entry = TraceEntry::new();
        let one =
            Versions { path: "a.rs", old: Some(b"fn f() {}\n"), new: Some(b"fn f() { 1; }\n") };
        let two = Versions { path: "b.bin", old: None, new: Some(b"\0") };
        describe(&mut entry, &[one, two], Some(MutationClass::Documentation));
        assert_eq!(entry.files(), ["a.rs", "b.bin"]);
        assert_eq!(entry.file.as_ref().unwrap().post_hash, Some(prefixed_hash(b"fn f() { 1; }\n")));
        assert_eq!(entry.modified_ranges[0].ast_nodes[0].symbol, "f");
        assert_eq!(entry.modified_ranges[1].ast_status, Some(AstStatus::Fallback));
        assert_eq!(entry.mutation_class_source, Some(ClassSource::Claimed));
        assert_eq!(entry.mutation_class_mismatch.unwrap().found, MutationClass::BugFix);
    }

    #[test]
    fn nothing_changed() {
        let mut entry = TraceEntry::new();
        describe(&mut entry, &[Versions { path: "a", old: Some(b"x"), new: Some(b"x") }], None);
        assert_eq!((entry.file, entry.modified_ranges.len()), (None, 0));
    }
}
