//! Pure crates do not access files, processes or the system.

use std::path::Path;

use anyhow::{Result, ensure};

use crate::{capture, none_of, read};

/// The crates whose answers depend only on their input.
const PURE: [&str; 5] = ["types", "shell", "programs", "effects", "policy"];

/// What such a crate must not use.
const IMPURE: [&str; 16] = [
    "std::fs",
    "fs::",
    "std::process",
    "process::Command",
    "std::net",
    "tokio::",
    "nix::",
    "ignore::",
    "tempfile::",
    ".exists()",
    ".is_dir()",
    ".is_file()",
    ".metadata()",
    ".symlink_metadata()",
    ".canonicalize()",
    ".read_dir()",
];

/// What looks like it and only holds data.
const PURE_IMPORTS: [&str; 1] = ["use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};"];

/// The source without its tests, which are at the end.
fn product(source: &str) -> &str {
    source.split("#[cfg(test)]\nmod ").next().unwrap_or_default()
}

/// The lines of a source, by number, that break purity.
fn impure(source: &str) -> Vec<usize> {
    let code = product(source).lines().zip(1..).filter(|(line, _)| {
        let line = line.trim_start();
        let is_data = PURE_IMPORTS.contains(&line.trim_end());
        !line.starts_with("//") && !is_data && IMPURE.iter().any(|word| line.contains(word))
    });
    code.map(|(_, number)| number).collect()
}

#[test]
fn pure_crates_look_at_nothing() -> Result<()> {
    let mut found = Vec::new();
    for name in PURE {
        let src = format!("crates/{name}/src");
        let listed = capture("git", &["ls-files", "--cached", "--others", "--", &src])?;
        let is_test = |path: &&str| {
            path.ends_with("/tests.rs") || Path::new(path).iter().any(|part| part == "tests")
        };
        let sources: Vec<&str> = listed.lines().filter(|path| path.ends_with(".rs")).collect();
        ensure!(!sources.is_empty(), "git lists no files of {name}");
        for path in sources.into_iter().filter(|path| !is_test(path)) {
            // A deleted file that is not committed is still listed.
            let Ok(source) = read(path) else { continue };
            found.extend(impure(&source).iter().map(|line| format!("{path}:{line}")));
        }
    }
    none_of("a pure crate asks a `World` instead", &found)
}

#[test]
fn what_looks_is_found_and_what_asks_is_not() {
    assert_eq!(impure("use std::fs;\nlet a = path.exists();\n"), [1, 2]);
    assert_eq!(impure("// std::fs\nworld.exists(path);\n"), [0_usize; 0]);
    assert_eq!(
        impure("let a = 1;\n#[cfg(test)]\nmod tests {\n    use std::fs;\n}\n"),
        [0_usize; 0]
    );
}
