//! Write and Edit: what must be known before a file is changed, and what stays.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use serde_json::json;

use crate::project;

#[test]
fn new_files_are_created_with_their_parents() {
    let project = project();
    let said = project.ok("Write", json!({"file_path": "a/b/c.txt", "content": "one\ntwo\n"}));
    assert_eq!(said, format!("Created {} (2 lines)", project.path("a/b/c.txt").display()));
    assert_eq!(project.content("a/b/c.txt"), "one\ntwo\n");
    // What it wrote itself, the session knows.
    project.ok("Edit", json!({"file_path": "a/b/c.txt", "old_string": "two", "new_string": "2"}));
    project.ok("Write", json!({"file_path": "a/b/c.txt", "content": "all new"}));
    assert_eq!(project.content("a/b/c.txt"), "all new");
}

#[test]
fn an_existing_file_must_be_read_first() {
    let project = project();
    project.file("a.txt", "old");
    for (tool, input) in [
        ("Write", json!({"file_path": "a.txt", "content": "new"})),
        ("Edit", json!({"file_path": "a.txt", "old_string": "old", "new_string": "new"})),
    ] {
        let refusal = project.refused(tool, input);
        assert!(refusal.contains("has not been read in this session"), "{refusal}");
    }
    assert_eq!(project.content("a.txt"), "old");
    project.ok("Read", json!({"file_path": "a.txt"}));
    project.ok("Write", json!({"file_path": "a.txt", "content": "new"}));
    assert_eq!(project.content("a.txt"), "new");
}

#[test]
fn a_file_that_moved_since_is_refused_and_the_same_content_is_not() {
    let project = project();
    project.file("a.txt", "old");
    project.ok("Read", json!({"file_path": "a.txt"}));
    project.file("a.txt", "theirs");
    for (tool, input) in [
        ("Write", json!({"file_path": "a.txt", "content": "new"})),
        ("Edit", json!({"file_path": "a.txt", "old_string": "theirs", "new_string": "new"})),
    ] {
        assert!(project.refused(tool, input).starts_with("Stale File: "), "{tool}");
    }
    assert_eq!(project.content("a.txt"), "theirs");
    // Written anew with the same bytes: only the time has changed.
    project.file("a.txt", "old");
    project.ok("Write", json!({"file_path": "a.txt", "content": "new"}));
    // Gone in the meantime.
    project.ok("Read", json!({"file_path": "a.txt"}));
    fs::remove_file(project.path("a.txt")).unwrap();
    assert!(
        project
            .refused("Edit", json!({"file_path": "a.txt", "old_string": "new", "new_string": "x"}))
            .contains("does not exist")
    );
}

#[test]
fn overwriting_wants_the_whole_file_seen() {
    let project = project();
    project.file("a.txt", "1\n2\n3\n");
    project.ok("Read", json!({"file_path": "a.txt", "limit": 1}));
    let refusal = project.refused("Write", json!({"file_path": "a.txt", "content": "x"}));
    assert!(refusal.contains("read only in part (lines 1-1 of 3)"), "{refusal}");
    project.ok("Edit", json!({"file_path": "a.txt", "old_string": "1", "new_string": "one"}));
    project.refused("Write", json!({"file_path": "a.txt", "content": "x"}));
    // Windows add up.
    project.ok("Read", json!({"file_path": "a.txt", "limit": 2}));
    project.ok("Read", json!({"file_path": "a.txt", "offset": 3}));
    project.ok("Write", json!({"file_path": "a.txt", "content": "x"}));
}

#[test]
fn a_cat_that_was_cut_is_no_reading() {
    let project = project();
    project.file("big.txt", "0123456789\n".repeat(200_000));
    let shown = project.ok("Bash", json!({"command": "cat big.txt"}));
    assert!(shown.ends_with("[SDLC_TRUNCATED]"));
    project.refused("Write", json!({"file_path": "big.txt", "content": "x"}));
    project.file("q", "a\nb\n");
    project.ok("Bash", json!({"command": "head -c0 q"}));
    project.refused("Edit", json!({"file_path": "q", "old_string": "a", "new_string": "b"}));
}

#[test]
fn edits_are_exact_and_unique() {
    let project = project();
    project.file("a.txt", "x = 1\nx = 1\ny\n");
    project.ok("Read", json!({"file_path": "a.txt"}));
    let edit =
        |old: &str, new: &str| json!({"file_path": "a.txt", "old_string": old, "new_string": new});
    assert!(project.refused("Edit", edit("x = 1", "x = 2")).contains("occurs 2 times"));
    assert!(project.refused("Edit", edit("X = 1", "x = 2")).contains("was not found"));
    assert!(project.refused("Edit", edit("y", "y")).contains("the same"));
    assert!(project.refused("Edit", edit("", "y")).contains("old_string is empty"));
    assert_eq!(project.content("a.txt"), "x = 1\nx = 1\ny\n");
    let mut all = edit("x = 1", "x = 2");
    all["replace_all"] = json!("true");
    let said = project.ok("Edit", all);
    assert!(said.contains("2 replacements from line 1 on (now 3 lines)"), "{said}");
    assert_eq!(project.content("a.txt"), "x = 2\nx = 2\ny\n");
    let created = json!({"file_path": "new.txt", "old_string": "", "new_string": "hello"});
    project.ok("Edit", created);
    assert_eq!(project.content("new.txt"), "hello");
}

#[test]
fn line_ends_mode_and_links_are_kept() {
    let project = project();
    project.file("crlf.txt", "a\r\nb\r\n");
    project.ok("Read", json!({"file_path": "crlf.txt"}));
    project
        .ok("Edit", json!({"file_path": "crlf.txt", "old_string": "a\nb", "new_string": "x\ny"}));
    assert_eq!(project.content("crlf.txt"), "x\r\ny\r\n");
    project.ok("Write", json!({"file_path": "crlf.txt", "content": "1\n2\n"}));
    assert_eq!(project.content("crlf.txt"), "1\r\n2\r\n");

    project.file("bom.txt", "\u{feff}a\n");
    project.ok("Read", json!({"file_path": "bom.txt"}));
    project.ok("Write", json!({"file_path": "bom.txt", "content": "b\n"}));
    assert_eq!(project.content("bom.txt"), "\u{feff}b\n");

    project.file("run.sh", "echo\n");
    fs::set_permissions(project.path("run.sh"), fs::Permissions::from_mode(0o750)).unwrap();
    symlink("run.sh", project.path("link.sh")).unwrap();
    project.ok("Read", json!({"file_path": "link.sh"}));
    project.ok("Edit", json!({"file_path": "link.sh", "old_string": "echo", "new_string": "true"}));
    assert_eq!(project.content("run.sh"), "true\n");
    assert_eq!(fs::metadata(project.path("run.sh")).unwrap().mode() & 0o7777, 0o750);
    assert!(fs::symlink_metadata(project.path("link.sh")).unwrap().is_symlink());
}

#[test]
fn a_plain_cat_counts_as_reading() {
    let project = project();
    project.file("a.txt", "one\n");
    project.ok("Bash", json!({"command": "cat a.txt"}));
    project.ok("Edit", json!({"file_path": "a.txt", "old_string": "one", "new_string": "two"}));
    project.file("b.txt", "one\n");
    project.ok("Bash", json!({"command": "cat b.txt | head -1"}));
    project
        .refused("Edit", json!({"file_path": "b.txt", "old_string": "one", "new_string": "two"}));
}

#[test]
fn what_cannot_be_written_says_why_and_stays() {
    let project = project();
    project.file("file", "x");
    let under = project.refused("Write", json!({"file_path": "file/sub", "content": ""}));
    assert!(under.contains("a part of the path is a file"), "{under}");
    assert!(
        project.refused("Write", json!({"file_path": ".", "content": ""})).contains("directory")
    );
    assert!(
        project
            .refused("Write", json!({"file_path": "/dev/null", "content": ""}))
            .contains("not a regular")
    );
    project.file("latin.txt", b"\xff\xe9");
    project.ok("Read", json!({"file_path": "latin.txt"}));
    let latin = project
        .refused("Edit", json!({"file_path": "latin.txt", "old_string": "a", "new_string": "b"}));
    assert!(latin.contains("not UTF-8"), "{latin}");
}
