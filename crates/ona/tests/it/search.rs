//! Glob and Grep as the operator sees them; the options have their tests beside the code.

use serde_json::json;

use crate::project;

#[test]
fn glob_lists_files_newest_first() {
    let project = project();
    let old = project.file("src/old.rs", "");
    let new = project.file("src/deep/new.rs", "");
    project.file("src/readme.md", "");
    let year = std::time::Duration::from_secs(365 * 24 * 3600);
    let then = std::time::SystemTime::now() - year;
    std::fs::File::open(&old).unwrap().set_modified(then).unwrap();
    assert_eq!(project.ok("Glob", json!({"pattern": "src/**/*.rs"})), format!("{new}\n{old}"));
    assert_eq!(project.ok("Glob", json!({"pattern": "**/*.py"})), "No files found");
    assert!(project.refused("Glob", json!({"pattern": "*", "path": "nope"})).contains("nope"));
    project.refused("Glob", json!({"pattern": "a{b"}));
}

#[test]
fn grep_finds_lines_files_and_counts() {
    let project = project();
    let a = project.file("a.rs", "fn one() {}\nfn two() {}\n");
    let b = project.file("b.rs", "fn one() {}\n");
    project.file("c.txt", "nothing\n");
    let grep = |extra: serde_json::Value| {
        let mut input = json!({"pattern": "fn (one|two)"});
        input.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        project.ok("Grep", input)
    };
    assert_eq!(grep(json!({})), format!("Found 2 files\n{a}\n{b}"));
    assert_eq!(grep(json!({"output_mode": "count"})), format!("{a}:2\n{b}:1"));
    assert_eq!(
        grep(json!({"output_mode": "content"})),
        format!("{a}:1:fn one() {{}}\n{a}:2:fn two() {{}}\n{b}:1:fn one() {{}}")
    );
    assert_eq!(project.ok("Grep", json!({"pattern": "absent"})), "No files found");
    assert!(project.refused("Grep", json!({"pattern": "(("})).contains("(("));
    assert!(
        project.refused("Grep", json!({"pattern": "x", "type": "klingon"})).contains("klingon")
    );
}
