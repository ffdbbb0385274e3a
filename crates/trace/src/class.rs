//! Classifies a change: reads its class from the change, or checks a claimed class.
//!
//! Some classes can be read off: a file is new or gone, only comments or prose changed, the file is a
//! configuration. The others are about meaning, and what is said here about them is a guess, recorded as
//! `inferred`:
//!
//! - `AST_REFACTOR` if no public signature changed, and all that did are names within the file or the order of its
//!   definitions;
//! - `BUG_FIX` if no signature was added and only a few lines changed;
//! - `INTENT_EVOLUTION` otherwise, also for files of languages that are not known.
//!
//! The check of a claim ([`check`]) is stricter: it speaks only where the change contradicts the claim. It cannot
//! tell that behaviour stayed the same, only that a public signature did not.

mod check;
mod files;

pub use check::check;

use crate::entry::{ClassMismatch, ClassSource, MutationClass};
use crate::ranges::hunks;
use crate::syntax::{Syntax, only_moved, only_renamed, public_signatures, same_code};

/// A file before and after. `None`: the file does not exist.
#[derive(Clone, Copy, Debug)]
pub struct Versions<'a> {
    /// From the workspace, with `/`.
    pub path: &'a str,
    /// Before.
    pub old: Option<&'a [u8]>,
    /// After.
    pub new: Option<&'a [u8]>,
}

/// The class of a change as the record keeps it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Classified {
    /// The class: as claimed, or as inferred.
    pub class: MutationClass,
    /// Which of the two.
    pub source: ClassSource,
    /// Set when the claim does not match the change.
    pub mismatch: Option<ClassMismatch>,
}

/// The limit of new or old lines for a change to count as a bug fix.
const SMALL_CHANGE: usize = 20;

/// The class of one mutation, which may have changed several files.
pub fn classify(claimed: Option<MutationClass>, files: &[Versions<'_>]) -> Classified {
    match claimed {
        Some(class) => {
            Classified { class, source: ClassSource::Claimed, mismatch: check(class, files) }
        }
        None => Classified { class: infer(files), source: ClassSource::Inferred, mismatch: None },
    }
}

/// The class of a mutation: what its files have in common, or else the furthest-reaching of them.
pub fn infer(files: &[Versions<'_>]) -> MutationClass {
    use MutationClass::{
        AstRefactor, BugFix, Configuration, Documentation, FileCreation, FileDeletion,
        IntentEvolution,
    };
    const REACH: [MutationClass; 7] = [
        IntentEvolution,
        FileCreation,
        FileDeletion,
        BugFix,
        AstRefactor,
        Configuration,
        Documentation,
    ];
    let classes: Vec<MutationClass> =
        files.iter().filter(|file| file.old != file.new).map(infer_file).collect();
    REACH.into_iter().find(|class| classes.contains(class)).unwrap_or(IntentEvolution)
}

fn infer_file(file: &Versions<'_>) -> MutationClass {
    let (old, new) = match (file.old, file.new) {
        (None, _) => return MutationClass::FileCreation,
        (_, None) => return MutationClass::FileDeletion,
        (Some(old), Some(new)) => (old, new),
    };
    if files::is_prose(file.path) {
        return MutationClass::Documentation;
    }
    let trees = Syntax::parse(file.path, old).zip(Syntax::parse(file.path, new));
    let Some((old_tree, new_tree)) = trees else {
        return if files::is_configuration(file.path) {
            MutationClass::Configuration
        } else {
            MutationClass::IntentEvolution
        };
    };
    if same_code(&old_tree, &new_tree) {
        return MutationClass::Documentation;
    }
    if public_signatures(&old_tree) != public_signatures(&new_tree) {
        return MutationClass::IntentEvolution;
    }
    if only_renamed(&old_tree, &new_tree) || only_moved(&old_tree, &new_tree) {
        return MutationClass::AstRefactor;
    }
    let lines: usize = hunks(old, new).iter().map(|hunk| hunk.old.len().max(hunk.new.len())).sum();
    if lines <= SMALL_CHANGE { MutationClass::BugFix } else { MutationClass::IntentEvolution }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(path: &str, old: &str, new: &str) -> MutationClass {
        infer(&[Versions { path, old: Some(old.as_bytes()), new: Some(new.as_bytes()) }])
    }

    #[test]
    fn what_can_be_read_off() {
        use MutationClass::*;
        let one = |old: Option<&'static str>, new: Option<&'static str>| {
            infer(&[Versions {
                path: "a.rs",
                old: old.map(str::as_bytes),
                new: new.map(str::as_bytes),
            }])
        };
        assert_eq!(one(None, Some("x")), FileCreation);
        assert_eq!(one(Some("x"), None), FileDeletion);
        assert_eq!(class("README.md", "a", "b"), Documentation);
        assert_eq!(class("docs/x", "a", "b"), Documentation);
        assert_eq!(class("Cargo.toml", "a=1", "a=2"), Configuration);
        assert_eq!(class(".github/workflows/ci.yml", "a: 1", "a: 2"), Configuration);
        assert_eq!(class("a.rs", "fn f() {}", "// why\nfn f() {}"), Documentation);
        assert_eq!(class("a.py", "x = 1\n", "x = 1  # one\n"), Documentation);
        assert_eq!(class("a.unknown", "a", "b"), IntentEvolution);
    }

    #[test]
    fn what_is_guessed() {
        use MutationClass::*;
        let old = "pub fn f(a: u8) -> u8 { let x = a; x + 1 }\nfn g() {}\n";
        for (new, expected) in [
            ("pub fn f(a: u8) -> u8 { let y = a; y + 1 }\nfn g() {}\n", AstRefactor),
            ("fn g() {}\npub fn f(a: u8) -> u8 { let x = a; x + 1 }\n", AstRefactor),
            ("pub fn f(a: u8) -> u8 { let x = a; x + 2 }\nfn g() {}\n", BugFix),
            ("pub fn f(a: u8) -> u8 { let x = a; x - 1 }\nfn g() {}\n", BugFix),
            ("pub fn f(a: u16) -> u8 { let x = a; x + 1 }\nfn g() {}\n", IntentEvolution),
            ("pub fn f(a: u8) -> u8 { let x = a; x + 1 }\npub fn g() {}\n", IntentEvolution),
        ] {
            assert_eq!(class("a.rs", old, new), expected, "{new}");
        }
    }

    #[test]
    fn of_several_files_the_furthest_reaching() {
        use MutationClass::*;
        let doc = Versions { path: "a.md", old: Some(b"a"), new: Some(b"b") };
        let config = Versions { path: "a.toml", old: Some(b"a=1"), new: Some(b"a=2") };
        let new = Versions { path: "a.rs", old: None, new: Some(b"fn f() {}") };
        let same = Versions { path: "b.rs", old: Some(b"fn f() {}"), new: Some(b"fn f() {}") };
        assert_eq!(infer(&[doc, same]), Documentation);
        assert_eq!(infer(&[doc, config]), Configuration);
        assert_eq!(infer(&[doc, new, config]), FileCreation);
        let classified = classify(Some(Documentation), &[config]);
        assert_eq!((classified.class, classified.source), (Documentation, ClassSource::Claimed));
        assert_eq!(classified.mismatch.unwrap().found, Configuration);
    }
}
