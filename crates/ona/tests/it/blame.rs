//! `ona blame`: from a line to the call, the intent and who allowed it.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use crate::intents::{answer, done, fails, governed, ona};
use crate::trace::{agent_writes, commit};
use crate::trust::git;

#[test]
fn every_line_has_an_origin_and_says_how_sure_it_is() {
    let project = governed();
    project.file("src/a.rs", "old one\nold two\n");
    commit(&project, "base");
    let first = run_head(&project);
    agent_writes(
        &project,
        "INT-001",
        "src/a.rs",
        Some("old one\nfn agent() {}\nfn more() {}\nold two\n"),
    );
    let shown = done(&project, &["blame", "src/a.rs"]);
    let time = answer(&project, &["trace", "show", "1", "--json"])["timestamp"].as_str().unwrap()
        [..19]
        .to_owned();
    insta::assert_snapshot!(shown.replace(&time, "WHEN").replace(&first[..12], "FIRST"), @r"
    unknown
        why          it was there before the first trace entry
        git          commit FIRST
      1  unknown  | old one
    INT-001 Limit the login
        certainty    exact
        requirements REQ-3
        criteria     The sixth attempt answers 429
        entry        #1, Edit by agent
        session      sess_1
        model        anthropic/m
      2  INT-001  BUG_FIX  WHEN  agent  | fn agent() {}
      3  INT-001  BUG_FIX  WHEN  agent  | fn more() {}
    unknown
        why          it was there before the first trace entry
        git          commit FIRST
      4  unknown  | old two
    ");
    // Somebody goes on without the trace: the line is recognised, theirs is not.
    project.file("src/a.rs", "old one\nby hand\nfn agent() {}\nfn more() {}\nold two\n");
    let blamed = answer(&project, &["blame", "src/a.rs:2-3", "--json"]);
    let blocks = blamed["blocks"].as_array().unwrap();
    assert_eq!(
        (&blocks[0]["certainty"], &blocks[0]["why"]),
        (&json!("unknown"), &json!("no trace entry wrote it"))
    );
    assert_eq!(blocks[0]["commit"], Value::Null);
    assert_eq!(
        (&blocks[1]["certainty"], &blocks[1]["lines"]),
        (&json!("content"), &json!(["fn agent() {}"]))
    );
    assert_eq!(
        blocks[1]["intent"],
        json!({"id": "INT-001", "name": "Limit the login", "status": "PLANNED",
            "related_requirements": ["REQ-3"], "acceptance_criteria": ["The sixth attempt answers 429"]})
    );
    assert!(done(&project, &["blame", "src/a.rs:3"]).contains("recognised by content"));
}

fn run_head(project: &ona_testkit::Project) -> String {
    ona_testkit::run(project.command("git").args(["rev-parse", "HEAD"])).stdout.trim().to_owned()
}

#[test]
fn a_file_keeps_its_past_under_another_name() {
    let project = governed();
    agent_writes(
        &project,
        "INT-001",
        "src/a.rs",
        Some("fn one() {}\nfn two() {}\nfn three() {}\n"),
    );
    commit(&project, "made");
    git(&project, &["mv", "src/a.rs", "src/b.rs"]);
    commit(&project, "moved");
    let blamed = answer(&project, &["blame", "src/b.rs", "--json"]);
    assert_eq!(blamed["earlier_names"], json!(["src/a.rs"]));
    assert_eq!(blamed["blocks"].as_array().unwrap().len(), 1);
    assert_eq!(
        (&blamed["blocks"][0]["certainty"], &blamed["blocks"][0]["seq"]),
        (&json!("exact"), &json!(1))
    );
}

/// All the way: a call through the gate, its trace, and back from the line; the record says who allowed it.
#[test]
fn from_the_line_back_to_the_call_that_wrote_it() {
    let project = governed();
    commit(&project, "set up");
    done(&project, &["intent", "select", "INT-001"]);
    let write = json!({"file_path": "src/w.rs", "content": "fn w() {}\n"});
    let call = project.eval("Write", write);
    assert!(!call.is_error, "{}", call.content);
    assert_eq!(ona(&project, &["trace", "reconcile"]).code, Some(0));
    done(&project, &["trace", "verify"]);
    let session = project.sql("SELECT session_id FROM sessions").remove(0);
    let blamed = answer(&project, &["blame", "src/w.rs:1", "--json"]);
    let block = &blamed["blocks"][0];
    assert_eq!(
        (
            &block["certainty"],
            &block["tool_use_id"],
            &block["session_id"],
            &block["mutation_class"]
        ),
        (&json!("exact"), &json!(call.tool_use_id), &json!(session), &json!("FILE_CREATION"))
    );
    assert_eq!(
        (&block["intent"]["id"], &block["approver"]),
        (&json!("INT-001"), &json!("operator"))
    );
    let shown = done(&project, &["blame", "src/w.rs"]);
    assert!(shown.contains(&format!(", call {}\n", call.tool_use_id)), "{shown}");
    assert!(shown.contains("approver     operator\n"), "{shown}");
    let listed = answer(&project, &["trace", "list", "--session", &session, "--json"]);
    assert_eq!(listed[0]["tool_use_id"], json!(call.tool_use_id));
    // Without a record the trace has to do.
    fs::remove_file(project.database().with_extension("db-wal")).ok();
    fs::write(project.database(), "no database at all, but long enough to be one").unwrap();
    let ran = ona(&project, &["blame", "src/w.rs"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(ran.stderr.starts_with("warning: continuing without the record: "), "{}", ran.stderr);
}

#[test]
fn what_has_no_lines_is_said_so() {
    let project = governed();
    project.file("src/a.rs", "one\ntwo\n");
    project.file("src/odd:7", "one\n");
    project.file("src/binary", b"a\0b");
    project.file("src/empty", "");
    symlink(project.home(), project.path("src/out")).unwrap();
    fs::write(project.home().join("secret"), "x\n").unwrap();
    for (target, said) in [
        ("src/none.rs", "error: file not found: src/none.rs\n"),
        ("src/none.rs:3", "error: file not found: src/none.rs\n"),
        ("src/a.rs/b", "error: file not found: src/a.rs/b\n"),
        ("src", "error: src is a directory\nhint: give a file in it\n"),
        (
            "src/binary",
            "error: src/binary is a binary file\nhint: `ona trace list --file` lists its changes\n",
        ),
        ("src/a.rs:3", "error: src/a.rs has 2 lines: line 3 is out of range\n"),
        ("src/a.rs:1-9", "error: src/a.rs has 2 lines: line 9 is out of range\n"),
        (
            "src/a.rs:0",
            "error: invalid line range `0`\nhint: use FILE:LINE or FILE:FIRST-LAST; lines are counted from 1\n",
        ),
        ("src/a.rs:2-1", "error: invalid line range `2-1`\n"),
        ("src/a.rs:1-2-3", "error: invalid line range `1-2-3`\n"),
        ("src/empty:1", "error: src/empty has 0 lines: line 1 is out of range\n"),
        ("../x", "is outside the workspace\nhint: the trace covers only files in "),
        ("src/out/secret", "is outside the workspace\n"),
        ("/etc/passwd", "error: /etc/passwd is outside the workspace\n"),
    ] {
        let ran = fails(&project, 2, &["blame", target]);
        assert!(ran.contains(said), "{target}: {ran}");
    }
    assert_eq!(done(&project, &["blame", "src/empty"]), "");
    // A name that looks like a place is a name where there is such a file.
    assert!(done(&project, &["blame", "src/odd:7"]).contains("  1  unknown  | one\n"));
    assert!(
        done(&project, &["blame", "src/odd:7:1"]).contains("no trace entry mentions this file")
    );
    // Neither bad intents nor a broken trace keep the rest from being told.
    agent_writes(&project, "INT-001", "src/b.rs", Some("fn b() {}\n"));
    project.file(".orchestration/active_intents.yaml", "a: [");
    let ran = ona(&project, &["blame", "src/b.rs"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(
        ran.stderr.starts_with(
            "warning: intents have no names here: .orchestration/active_intents.yaml:"
        ),
        "{}",
        ran.stderr
    );
    assert!(ran.stdout.starts_with("INT-001\n    certainty    exact\n"), "{}", ran.stdout);
}
