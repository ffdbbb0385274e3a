//! Whether a change contradicts the class it is claimed to have.

use super::{Versions, files, infer};
use crate::entry::{ClassMismatch, MutationClass};
use crate::syntax::{Signature, Syntax, code_tokens, public_signatures, same_code};

/// The limit for a signature or token in a message.
const SHOWN: usize = 80;

/// As much of what two of them share as is shown before the place where they differ.
const LEAD: usize = 20;

/// What contradicts `claimed` in a mutation, if anything does. `INTENT_EVOLUTION`, `BUG_FIX` and `CONFIGURATION`
/// say nothing that a change could refute.
pub fn check(claimed: MutationClass, files: &[Versions<'_>]) -> Option<ClassMismatch> {
    let changed: Vec<&Versions<'_>> = files.iter().filter(|file| file.old != file.new).collect();
    let mismatch = |found, why| Some(ClassMismatch { claimed, found, why });
    match claimed {
        MutationClass::Documentation => changed.iter().find_map(|file| {
            let why = beyond_comments(file)?;
            // Inferred from this file alone: the others may be what they are claimed to be.
            mismatch(infer(&[**file]), format!("{}: {why}", file.path))
        }),
        MutationClass::AstRefactor => {
            let why = changed_signatures(&changed)?;
            mismatch(MutationClass::IntentEvolution, why)
        }
        MutationClass::FileCreation => {
            let existed = changed.iter().all(|file| file.old.is_some());
            let first = changed.first().filter(|_| existed)?;
            mismatch(infer(files), format!("{} existed before", first.path))
        }
        MutationClass::FileDeletion => {
            let exists = changed.iter().all(|file| file.new.is_some());
            let first = changed.first().filter(|_| exists)?;
            mismatch(infer(files), format!("{} still exists", first.path))
        }
        MutationClass::IntentEvolution | MutationClass::BugFix | MutationClass::Configuration => {
            None
        }
    }
}

/// What changed in a file that is neither a comment nor prose. Of a language that is not known nothing is said.
fn beyond_comments(file: &Versions<'_>) -> Option<String> {
    if files::is_prose(file.path) {
        return None;
    }
    let (old, new) = (file.old.unwrap_or_default(), file.new.unwrap_or_default());
    // Whatever the language: it looks like a comment, and says what runs the file.
    if shebang(old) != shebang(new) {
        let shown = |line: Option<&[u8]>| {
            line.map_or_else(|| "nothing".to_owned(), |line| String::from_utf8_lossy(line).into())
        };
        return Some(format!(
            "the line that says what runs it changed: {}",
            contrast(&shown(shebang(old)), &shown(shebang(new)))
        ));
    }
    let Some((old_tree, new_tree)) =
        Syntax::parse(file.path, old).zip(Syntax::parse(file.path, new))
    else {
        let settings = files::is_configuration(file.path)
            && files::settings(file.path, old) != files::settings(file.path, new);
        return settings.then(|| "settings changed".to_owned());
    };
    if same_code(&old_tree, &new_tree) {
        return None;
    }
    let (old_tokens, new_tokens) = (code_tokens(&old_tree), code_tokens(&new_tree));
    let at = old_tokens
        .iter()
        .zip(&new_tokens)
        .take_while(|(old, new)| old.text == new.text && old.depth == new.depth);
    let at = at.count();
    let (was, is) = (old_tokens.get(at), new_tokens.get(at));
    let place = is.map_or(new.len(), |token| token.start());
    let line = new.iter().take(place).filter(|byte| **byte == b'\n').count() + 1;
    let text = |text: &[u8]| String::from_utf8_lossy(text).into_owned();
    let change = match (was, is) {
        // Blanks that lead a line can move code into a block or out of it.
        (Some(was), Some(is)) if was.text == is.text => {
            format!("`{}` belongs to another block than before", short(&text(is.text)))
        }
        (Some(was), Some(is)) => contrast(&text(was.text), &text(is.text)),
        (Some(was), None) => format!("`{}` is gone", short(&text(was.text))),
        (None, Some(is)) => format!("`{}` is new", short(&text(is.text))),
        (None, None) => "its structure changed".to_owned(),
    };
    Some(format!("code changed at line {line}: {change}"))
}

/// The line that names the program which runs a file. `#![…]` is an attribute of Rust's.
fn shebang(content: &[u8]) -> Option<&[u8]> {
    let line = content.split(|byte| *byte == b'\n').next()?;
    let program = line.strip_prefix(b"#!")?.trim_ascii_start();
    program.starts_with(b"/").then(|| line.trim_ascii_end())
}

/// Which public signatures a mutation changed, over all its files: a definition that moved from one to another
/// is still the same. A mutation that only makes files, or only removes them, is one half of a move.
fn changed_signatures(files: &[&Versions<'_>]) -> Option<String> {
    if files.iter().all(|file| file.old.is_none()) || files.iter().all(|file| file.new.is_none()) {
        return None;
    }
    let (mut gone, mut came) = (Vec::new(), Vec::new());
    for file in files {
        let signatures = |content: Option<&[u8]>| match content {
            Some(content) => Syntax::parse(file.path, content).map(|tree| public_signatures(&tree)),
            None => Some(Vec::new()),
        };
        // Only where both sides are known: else a file too large to parse would look emptied.
        if let Some((old, new)) = signatures(file.old).zip(signatures(file.new)) {
            gone.extend(old);
            came.extend(new);
        }
    }
    cancel(&mut gone, &mut came);
    if let Some((old, new)) = gone
        .iter()
        .find_map(|old| came.iter().find(|new| new.name == old.name).map(|new| (old, new)))
    {
        let change = contrast(&old.text, &new.text);
        return Some(format!("the public signature of `{}` changed: {change}", old.name));
    }
    let gone = gone.first().map(|old| format!("the public `{}` is gone", old.name));
    gone.or_else(|| came.first().map(|new| format!("the public `{}` is new", new.name)))
}

/// Takes out what is in both.
fn cancel(gone: &mut Vec<Signature>, came: &mut Vec<Signature>) {
    gone.sort();
    came.sort();
    let mut left = Vec::new();
    let mut others = std::mem::take(came).into_iter().peekable();
    for old in std::mem::take(gone) {
        while let Some(new) = others.next_if(|new| *new < old) {
            came.push(new);
        }
        if others.next_if_eq(&old).is_none() {
            left.push(old);
        }
    }
    came.extend(others);
    *gone = left;
}

/// The old and the new text, both cut so that their difference is visible.
fn contrast(old: &str, new: &str) -> String {
    let alike = old.chars().zip(new.chars()).take_while(|(old, new)| old == new).count();
    // From the beginning as long as the difference is well within what is shown.
    let skipped = if alike + LEAD <= SHOWN { 0 } else { alike - LEAD };
    let shown = |text: &str| {
        let rest: String = text.chars().skip(skipped).collect();
        format!("`{}{}`", if skipped > 0 { "…" } else { "" }, short(&rest))
    };
    format!("{} became {}", shown(old), shown(new))
}

fn short(text: &str) -> String {
    let mut characters = text.chars();
    let shown: String = characters.by_ref().take(SHOWN).collect();
    if characters.next().is_some() { format!("{shown}…") } else { shown }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(claimed: MutationClass, path: &str, old: &str, new: &str) -> Option<ClassMismatch> {
        check(claimed, &[Versions { path, old: Some(old.as_bytes()), new: Some(new.as_bytes()) }])
    }

    #[test]
    fn documentation_that_changes_code() {
        let found = checked(
            MutationClass::Documentation,
            "a.rs",
            "fn f() {\n  1\n}",
            "/// x\nfn f() {\n  2\n}",
        );
        let found = found.unwrap();
        assert_eq!(found.found, MutationClass::BugFix);
        assert_eq!(found.why, "a.rs: code changed at line 3: `1` became `2`");
        for (path, old, new) in [
            ("a.rs", "fn f() {}", "// x\nfn f() {}"),
            ("a.md", "a", "b"),
            ("a.zig", "a", "b"),
            ("a.toml", "# a\nx = 1\n", "# b\n\nx = 1\n"),
        ] {
            assert_eq!(checked(MutationClass::Documentation, path, old, new), None, "{path}");
        }
        let found = checked(MutationClass::Documentation, "a.toml", "x = 1", "x = 2").unwrap();
        assert_eq!(found.found, MutationClass::Configuration);
    }

    #[test]
    fn refactoring_that_changes_signatures() {
        let refactor = MutationClass::AstRefactor;
        let found = checked(refactor, "a.rs", "pub fn f(a: u8) {}", "pub fn f(a: u16) {}").unwrap();
        assert_eq!(found.found, MutationClass::IntentEvolution);
        assert!(found.why.contains("`f` changed"), "{}", found.why);
        let gone = checked(refactor, "a.py", "def f(): pass\n", "x = 1\n").unwrap();
        assert_eq!(gone.why, "the public `f` is gone");
        assert!(
            checked(refactor, "a.rs", "pub fn f() {}", "pub fn f() {}\npub fn g() {}").is_some()
        );
        assert_eq!(checked(refactor, "a.rs", "fn f(a: u8) {}", "fn f(a: u16) {}"), None);
        assert_eq!(checked(refactor, "a.rs", "pub fn f() { 1; }", "pub fn f() { 2; }"), None);
    }

    #[test]
    fn what_differs_is_seen_however_far_back_it_stands() {
        let long = |last: &str| {
            let many: String = (0..20).map(|n| format!("argument_{n}: u64, ")).collect();
            format!("pub fn f({many}z: {last}) {{}}")
        };
        let why =
            |claimed, path, old: &str, new: &str| checked(claimed, path, old, new).unwrap().why;
        let found = why(MutationClass::AstRefactor, "a.rs", &long("u8"), &long("u16"));
        assert!(found.ends_with("z : u8 )` became `…ent_19 : u64 , z : u16 )`"), "{found}");
        let found =
            why(MutationClass::AstRefactor, "a.rs", "pub fn f() {}", "pub fn f() -> u8 { 1 }");
        assert!(found.ends_with("`pub fn f ( )` became `pub fn f ( ) -> u8`"), "{found}");
        let text = "x".repeat(200);
        let (old, new) = (format!("a = '{text}1'\n"), format!("a = '{text}2'\n"));
        let found = why(MutationClass::Documentation, "a.py", &old, &new);
        assert!(found.contains("x1'` became `…x") && found.ends_with("x2'`"), "{found}");
        let found =
            why(MutationClass::Documentation, "a.py", "if a:\n    b\nc\n", "if a:\n    b\n    c\n");
        assert_eq!(found, "a.py: code changed at line 3: `c` belongs to another block than before");
    }

    #[test]
    fn what_runs_a_file_is_no_comment() {
        let (sh, bash) = ("#!/bin/sh\necho 1\n", "#!/bin/bash\necho 1\n");
        for path in ["a.sh", "a.py", "a.rb", "run", "a.zig"] {
            let found = checked(MutationClass::Documentation, path, sh, bash).unwrap();
            assert_ne!(found.found, MutationClass::Documentation, "{path}");
            assert!(found.why.contains("`#!/bin/sh` became `#!/bin/bash`"), "{}", found.why);
        }
        assert!(checked(MutationClass::Documentation, "a.sh", "echo 1\n", sh).is_some());
        let commented = "#!/bin/sh\n# why\necho 1\n";
        assert_eq!(checked(MutationClass::Documentation, "a.sh", sh, commented), None);
    }

    #[test]
    fn a_definition_may_move_to_another_file() {
        let text: &[u8] = b"pub fn f(a: u8) {}";
        let from = Versions { path: "a.rs", old: Some(text), new: Some(b"mod b;") };
        let to = Versions { path: "b.rs", old: None, new: Some(text) };
        assert_eq!(check(MutationClass::AstRefactor, &[from, to]), None);
        assert!(check(MutationClass::AstRefactor, &[from]).is_some());
        assert_eq!(check(MutationClass::AstRefactor, &[to]), None);
    }

    #[test]
    fn creation_and_deletion() {
        assert!(checked(MutationClass::FileCreation, "a", "x", "y").is_some());
        assert!(checked(MutationClass::FileDeletion, "a", "x", "y").is_some());
        assert_eq!(checked(MutationClass::BugFix, "a.rs", "fn f() {}", "pub fn f() {}"), None);
    }
}
