//! Files are read by `ona-files`: regular files only, up to a limit. Walks are made by `ona_repo::walk`, because the crate
//! behind them opens ignore files itself. And the record is opened so that it masks secrets.

use std::fs;
use std::path::{Path, PathBuf};

/// Reads that may stand elsewhere: the system's own files, what the user names on the command line, the terminal, an open
/// descriptor.
const ALLOWED: [&str; 10] = [
    "crates/sandbox/src/confine/bwrap.rs",
    "crates/sandbox/src/confine/known.rs",
    "crates/sandbox/src/confine/watch.rs",
    "crates/sandbox/src/kill.rs",
    "crates/sandbox/src/leftover.rs",
    "crates/sandbox/src/own_session.rs",
    "crates/sandbox/src/owner.rs",
    "crates/ona/src/print/given.rs",
    "crates/cli/src/record.rs",
    "crates/sandbox/src/handover.rs",
];

/// Crates outside the program, and the one crate that may.
const EXEMPT: [&str; 4] =
    ["crates/files/", "crates/xtask/", "crates/testkit/", "crates/provider/src/scripted"];

/// What opens files, and what to use instead.
const WORDS: [(&[&str], &str); 3] = [
    (&["fs::read(", "fs::read_to_string(", "File::open("], "use ona_files::content"),
    (&["Store::open("], "use ona_cli::record::open"),
    (&WALKS, "use ona_repo::walk::walker"),
];

/// What makes a walk, or makes one read ignore files.
const WALKS: [&str; 12] = [
    "WalkBuilder::new(",
    "WalkBuilder::from_iter(",
    "WalkBuilder::empty(",
    "ignore::Walk",
    "Gitignore::new(",
    "Gitignore::global(",
    "GitignoreBuilder::",
    ".standard_filters(",
    ".git_ignore(",
    ".git_exclude(",
    ".git_global(",
    ".add_custom_ignore_filename(",
];

/// The one place that makes walks.
const WALKER: &str = "crates/repo/src/walk.rs";

fn sources(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        match path.is_dir() {
            true => found.extend(sources(&path)),
            false if path.extension().is_some_and(|end| end == "rs") => found.push(path),
            false => {}
        }
    }
    found
}

#[test]
fn only_ona_files_reads_files() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    let mut seen = 0;
    for entry in fs::read_dir(root.join("crates")).unwrap() {
        for path in sources(&entry.unwrap().path().join("src")) {
            let name = path.strip_prefix(&root).unwrap().to_string_lossy().into_owned();
            let is_test = ["tests.rs", "testing.rs", "growth.rs", "same_masks.rs", "same_gate.rs"]
                .iter()
                .any(|end| name.ends_with(end))
                || name.contains("/tests/");
            if is_test
                || ALLOWED.contains(&&*name)
                || EXEMPT.iter().any(|start| name.starts_with(start))
            {
                continue;
            }
            let text = fs::read_to_string(&path).unwrap();
            let code = text.split("#[cfg(test)]").next().unwrap();
            seen += 1;
            for (number, line) in (1..).zip(code.lines()) {
                let is_comment = line.trim_start().starts_with("//");
                for (words, instead) in WORDS {
                    let is_theirs = is_comment || words == WALKS && name == WALKER;
                    let word = words.iter().find(|word| !is_theirs && line.contains(*word));
                    assert!(word.is_none(), "{name}:{number}: {}: {instead}", line.trim());
                }
            }
        }
    }
    assert!(seen > 200, "the sources were read: {seen}");
}
