//! The files of the repository: known to cargo, short, with a comment at the
//! top, and independent of the machine.

use std::path::Path;

use anyhow::{Result, ensure};

use crate::{capture, none_of, read, root};

/// The limit for a file.
const MAX_LINES: usize = 800;

/// Paths of the machines this was written on, assembled here so that they do not match themselves.
const PLACES: [&str; 3] =
    [concat!("/", "work", "/"), concat!("/", "farm", "/"), concat!("/", "home", "/")];

/// The users that an example may name.
const MADE_UP_USERS: [&str; 6] = ["alice", "bob", "me", "u", "user", "you"];

/// Every file of the work tree that git does not ignore, as paths from the root.
pub fn repository() -> Result<Vec<String>> {
    let listed = capture("git", &["ls-files", "-z", "--cached", "--others", "--exclude-standard"])?;
    let paths = listed.split_terminator('\0').map(str::to_owned);
    // A deleted file that is not committed is still listed.
    let files: Vec<String> = paths.filter(|path| root().join(path).is_file()).collect();
    ensure!(files.iter().any(|path| path == "Cargo.toml"), "git lists no files");
    Ok(files)
}

/// The files of `repository` that match `crates/<crate>/<inside>`, with the name of the crate.
fn in_crates<'a>(files: &'a [String], inside: &str) -> Vec<(&'a str, &'a str)> {
    let matching = files.iter().filter_map(|path| {
        let (name, rest) = path.strip_prefix("crates/")?.split_once('/')?;
        let (directory, _) = rest.rsplit_once('/')?;
        (directory == inside && rest.ends_with(".rs")).then_some((name, path.as_str()))
    });
    matching.collect()
}

/// Whether `main` declares the module `name`.
fn declares(main: &str, name: &str) -> bool {
    let declaration = format!("mod {name};");
    main.lines().any(|line| {
        let line = line.trim();
        line == declaration
            || line
                .strip_suffix(&declaration)
                .is_some_and(|rest| rest.starts_with("pub") || rest.starts_with("#["))
    })
}

/// The number of lines of the `//!` comment at the top of a file.
fn opening_lines(source: &str) -> usize {
    source.lines().take_while(|line| line.starts_with("//!")).count()
}

/// The lines of `text`, by number, with an absolute path to a workplace or a home.
///
/// A path starts where the character before cannot be part of one, so paths in URLs and
/// paths inside a project do not count.
fn places(text: &str) -> Vec<usize> {
    let has_place = |line: &str| {
        PLACES.iter().any(|place| {
            line.match_indices(place).any(|(at, _)| {
                let before = line[..at].chars().next_back();
                let starts = !before.is_some_and(|c| c.is_alphanumeric() || "/._-~}*".contains(c));
                let next = line[at + place.len()..].split(|c: char| !c.is_alphanumeric()).next();
                let made_up = place.contains("home")
                    && next.is_none_or(|name| name.is_empty() || MADE_UP_USERS.contains(&name));
                starts && !made_up
            })
        })
    };
    let lines = text.lines().zip(1..);
    lines.filter(|(line, _)| has_place(line)).map(|(_, number)| number).collect()
}

#[test]
fn test_files_are_wired_in() -> Result<()> {
    let files = repository()?;
    let mut loose = Vec::new();
    for (name, path) in in_crates(&files, "tests/it") {
        let module = Path::new(path).file_stem().unwrap_or_default().to_string_lossy();
        let main = format!("crates/{name}/tests/it/main.rs");
        if path != main && !declares(&read(&main)?, &module) {
            loose.push(format!("{main} does not say `mod {module};`"));
        }
    }
    none_of("tests that never run", &loose)
}

#[test]
fn crates_open_with_what_they_are_for() -> Result<()> {
    let files = repository()?;
    let mut silent = Vec::new();
    for (_, path) in in_crates(&files, "src") {
        let is_root = path.ends_with("/src/lib.rs") || path.ends_with("/src/main.rs");
        if is_root && opening_lines(&read(path)?) < 2 {
            silent.push(path.to_owned());
        }
    }
    none_of("no `//!` comment of at least two lines at the top of", &silent)
}

#[test]
fn rust_files_are_short() -> Result<()> {
    let mut long = Vec::new();
    for path in repository()?.iter().filter(|path| path.ends_with(".rs")) {
        let lines = read(path)?.lines().count();
        if lines > MAX_LINES {
            long.push(format!("{path}: {lines} lines"));
        }
    }
    none_of("files longer than 800 lines", &long)
}

#[test]
fn no_file_names_a_place_of_one_machine() -> Result<()> {
    let mut found = Vec::new();
    for path in repository()? {
        let bytes = std::fs::read(root().join(&path))?;
        let numbers = places(&String::from_utf8_lossy(&bytes));
        found.extend(numbers.iter().map(|number| format!("{path}:{number}")));
    }
    let hint = format!("absolute paths (a made-up home is of {})", MADE_UP_USERS.join(", "));
    none_of(&hint, &found)
}

#[cfg(test)]
mod samples {
    use super::*;

    #[test]
    fn modules_are_declared_as_cargo_needs_it() {
        let main = "//! Tests.\nmod read;\n#[cfg(unix)] mod bash;\npub mod grep;\n// mod glob;\n";
        for name in ["read", "bash", "grep"] {
            assert!(declares(main, name), "{name}");
        }
        for name in ["glob", "ad", "write"] {
            assert!(!declares(main, name), "{name}");
        }
    }

    #[test]
    fn the_opening_comment_is_counted_from_the_first_line() {
        assert_eq!(opening_lines("//! One.\n//! Two.\n\n//! Three.\n"), 2);
        assert_eq!(opening_lines("use std::fs;\n//! Late.\n"), 0);
    }

    #[test]
    fn paths_of_the_machine_are_found_and_urls_are_not() {
        let [work, farm, home] = PLACES;
        for line in [
            format!("see {work}shared/x"),
            format!("\"{farm}a\""),
            format!("({work}main)"),
            format!("{home}someone/x"),
        ] {
            assert_eq!(places(&line), [1], "{line}");
        }
        for line in [
            format!("https://example.org{work}x"),
            format!("$ROOT{work}x"),
            format!("src{farm}x"),
            format!("{home}alice/x"),
            format!("{home}<name>"),
            "a workplace".to_owned(),
        ] {
            assert_eq!(places(&line), [0_usize; 0], "{line}");
        }
    }

    #[test]
    fn files_of_crates_are_told_by_their_directory() {
        let files = ["crates/a/tests/it/x.rs", "crates/a/src/lib.rs", "crates/a/src/b/lib.rs"];
        let files = files.map(str::to_owned);
        assert_eq!(in_crates(&files, "tests/it"), [("a", "crates/a/tests/it/x.rs")]);
        assert_eq!(in_crates(&files, "src"), [("a", "crates/a/src/lib.rs")]);
    }
}
