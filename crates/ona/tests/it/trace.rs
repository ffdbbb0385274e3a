//! `ona trace`: listing, checking and exporting the trace, and finding what it does not explain.

use std::fs;
use std::path::Path;

use ona_testkit::{Project, run};
use ona_trace::class::Versions;
use ona_trace::mutation::describe;
use ona_trace::{Ledger, TraceEntry};
use serde_json::{Value, json};

use crate::intents::{answer, done, fails, governed, ona};
use crate::project;
use crate::trust::git;

const LEDGER: &str = ".orchestration/agent_trace.jsonl";

/// Changes a file as an agent would, with the entry that tells of it.
pub fn agent_writes(project: &Project, intent: &str, path: &str, new: Option<&str>) -> TraceEntry {
    traced(&project.dir(), intent, path, new)
}

fn traced(root: &Path, intent: &str, path: &str, new: Option<&str>) -> TraceEntry {
    let file = root.join(path);
    let old = fs::read(&file).ok();
    let mut entry = TraceEntry {
        intent_id: Some(intent.to_owned()),
        session_id: Some("sess_1".to_owned()),
        tool_name: "Edit".to_owned(),
        actor: Some("agent".to_owned()),
        model: Some("anthropic/m".to_owned()),
        related_requirements: vec!["REQ-3".to_owned()],
        ..TraceEntry::new()
    };
    let versions = Versions { path, old: old.as_deref(), new: new.map(str::as_bytes) };
    describe(&mut entry, &[versions], None);
    match new {
        Some(new) => {
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(&file, new).unwrap();
        }
        None => fs::remove_file(&file).unwrap(),
    }
    Ledger::of(root).unwrap().append(entry).unwrap().entry
}

/// Commits all there is.
pub fn commit(project: &Project, message: &str) {
    git(project, &["add", "-A"]);
    git(project, &["commit", "-q", "-m", message]);
}

/// What nobody accounts for, as `path:first-last`.
fn ungoverned(project: &Project, args: &[&str]) -> Vec<String> {
    let value = answer(project, &[&["trace", "reconcile", "--json"], args].concat());
    let place = |one: &Value| {
        assert_eq!(one["type"], "ungoverned_change");
        let range = &one["new_range"];
        format!("{}:{}-{}", one["path"].as_str().unwrap(), range["start_line"], range["end_line"])
    };
    value["ungoverned"].as_array().unwrap().iter().map(place).collect()
}

#[test]
fn entries_are_listed_filtered_and_shown() {
    let project = governed();
    assert_eq!(done(&project, &["trace", "list"]), "no matching entries in the trace\n");
    agent_writes(&project, "INT-001", "src/a.rs", Some("fn a() {}\n"));
    let second = agent_writes(&project, "INT-001", "src/a.rs", Some("fn a() {}\nfn b() {}\n"));
    agent_writes(&project, "INT-002", "docs/a.md", Some("# A\n"));
    let files = |args: &[&str]| -> Vec<String> {
        let listed = answer(&project, &[&["trace", "list", "--json"], args].concat());
        let file = |one: &Value| one["file"]["relative_path"].as_str().unwrap().to_owned();
        listed.as_array().unwrap().iter().map(file).collect()
    };
    assert_eq!(files(&[]), ["src/a.rs", "src/a.rs", "docs/a.md"]);
    assert_eq!(files(&["--limit", "1"]), ["docs/a.md"]);
    assert_eq!(files(&["--intent", "INT-001"]).len(), 2);
    assert_eq!(files(&["--file", "docs/../docs/a.md"]), ["docs/a.md"]);
    assert_eq!(files(&["--session", "sess"]).len(), 3);
    assert_eq!(files(&["--session", "other"]).len(), 0);
    assert!(
        fails(&project, 2, &["trace", "list", "--file", "../x"])
            .contains("is outside the workspace")
    );
    let listed = done(&project, &["trace", "list"]);
    assert!(listed.starts_with("#1     20"), "{listed}");
    assert!(listed.contains("INT-001   FILE_CREATION     Edit by agent  src/a.rs\n"), "{listed}");

    for word in ["2", "#2", &second.id, &second.id[..8]] {
        let shown = done(&project, &["trace", "show", word]);
        assert!(shown.contains("changed      src/a.rs: lines 2–2, in b\n"), "{word}: {shown}");
        assert!(
            shown.contains("requirements REQ-3\n") && shown.contains("model        anthropic/m\n")
        );
    }
    assert_eq!(answer(&project, &["trace", "show", "2", "--json"])["id"], json!(second.id));
    assert_eq!(
        fails(&project, 2, &["trace", "show", "9999999999"]),
        "error: unknown trace entry `9999999999`\nhint: `ona trace list` lists the latest entries\n"
    );
    let shown = done(&project, &["intent", "show", "INT-002"]);
    assert!(shown.contains("trace         #3") && shown.contains("docs/a.md"), "{shown}");
}

#[test]
fn verify_names_the_first_bad_line_whatever_the_line_ends_are() {
    let project = governed();
    assert_eq!(done(&project, &["trace", "verify"]), "0 entries, all unchanged\n");
    for n in 0..4 {
        agent_writes(&project, "INT-001", "src/a.rs", Some(&format!("{n}\n")));
    }
    let whole = project.content(LEDGER);
    let verified = done(&project, &["trace", "verify"]);
    assert!(
        verified.starts_with("4 entries, all unchanged\n  the last entry is sha256:"),
        "{verified}"
    );
    // Other line ends, and none behind the last line, change nothing.
    project.file(LEDGER, whole.replace('\n', "\r\n"));
    done(&project, &["trace", "verify"]);
    project.file(LEDGER, whole.trim_end());
    let torn = done(&project, &["trace", "verify"]);
    assert!(torn.contains("the last line is incomplete"), "{torn}");
    let lines: Vec<&str> = whole.lines().collect();
    let changed = lines[1].replacen("INT-001", "INT-009", 1);
    for (bad, line, why) in [
        (
            [lines[0], &changed, lines[2], lines[3]].join("\n"),
            2,
            "its entry_hash does not match its content",
        ),
        (
            [lines[0], lines[2], lines[3]].join("\n"),
            2,
            "the previous line that it names is missing",
        ),
        ([lines[0], lines[1], "{\"broken\":", lines[2], lines[3]].join("\n"), 3, "invalid JSON"),
        ([lines[0], lines[1], "{}", lines[2]].join("\n"), 3, "it is JSON, but not a trace record"),
    ] {
        project.file(LEDGER, bad + "\n");
        let ran = ona(&project, &["trace", "verify"]);
        assert_eq!(ran.code, Some(1), "{}", ran.stdout);
        assert!(ran.stdout.starts_with(&format!("{LEDGER}:{line}: {why}")), "{}", ran.stdout);
        assert_eq!(answer(&project, &["trace", "verify", "--json"])["first_bad"]["line"], line);
    }
    // Whoever reads on is told.
    let listed = ona(&project, &["trace", "list"]);
    assert_eq!(listed.code, Some(0));
    assert_eq!(listed.stdout.lines().count(), 3);
    assert_eq!(
        listed.stderr,
        format!("warning: cannot read 1 line of {LEDGER}; `ona trace verify` names the first\n")
    );
}

#[test]
fn every_change_that_no_trace_explains_is_listed() {
    let project = governed();
    assert_eq!(ungoverned(&project, &[]), [""; 0], "what init and add wrote is ona's own");
    assert!(done(&project, &["trace", "reconcile"]).starts_with("no changes since "));
    project.file("src/a.rs", "one\ntwo\nthree\n");
    project.file("src/gone.rs", "x\n");
    project.file("noise.log", "x\n");
    project.file(".gitignore", "*.log\n");
    commit(&project, "base");
    agent_writes(&project, "INT-001", "src/a.rs", Some("one\nagent\ntwo\nthree\n"));
    agent_writes(&project, "INT-001", "src/b.rs", Some("made\n"));
    assert_eq!(ungoverned(&project, &[]), [""; 0]);
    assert!(done(&project, &["trace", "reconcile"]).starts_with("2 files changed since "));

    project.file("src/a.rs", "one\nagent\ntwo\nHUMAN\nthree\n");
    project.file("src/new.rs", "by hand\n");
    project.file("other.log", "ignored\n");
    git(&project, &["add", "src/new.rs"]);
    fs::remove_file(project.path("src/gone.rs")).unwrap();
    let ran = ona(&project, &["trace", "reconcile"]);
    assert_eq!(ran.code, Some(1));
    let head = project_head(&project);
    insta::assert_snapshot!(ran.stdout.replace(&head[..12], "HEAD"), @r"
    ungoverned_change  src/a.rs:4  (changed)
    ungoverned_change  src/gone.rs  (deleted)
    ungoverned_change  src/new.rs:1  (created)
    3 changes in 3 files since HEAD that the trace does not explain
    hint: if they are yours, `ona trace reconcile --adopt INT-…` records them
    ");
    // Committed is not explained.
    commit(&project, "by hand");
    assert_eq!(ungoverned(&project, &[]), [""; 0]);
    assert_eq!(ungoverned(&project, &["--since", "HEAD~1"]).len(), 3);
    assert_eq!(ona(&project, &["trace", "reconcile", "--since", "HEAD~1"]).code, Some(1));
    assert_eq!(
        fails(&project, 2, &["trace", "reconcile", "--since", "nowhere"]),
        "error: commit `nowhere` not found in this repository\nhint: `git log` lists the commits\n"
    );
    // What decides over changes is no exception, but for what `init` wrote.
    project.file(".orchestration/.intentignore", "INT-002\n");
    assert_eq!(ungoverned(&project, &[]), [".orchestration/.intentignore:1-1"]);
}

fn project_head(project: &Project) -> String {
    run(project.command("git").args(["rev-parse", "HEAD"])).stdout.trim().to_owned()
}

#[test]
fn a_human_answers_for_what_is_theirs_and_for_nothing_else() {
    let project = governed();
    git(&project, &["config", "user.name", "Ada"]);
    git(&project, &["config", "user.email", "ada@example.org"]);
    project.file("src/a.rs", "one\ntwo\nthree\n");
    commit(&project, "base");
    agent_writes(&project, "INT-001", "src/a.rs", Some("one\nagent\ntwo\nthree\n"));
    project.file("src/a.rs", "one\nagent\ntwo\nTHREE\nfour\n");
    project.file("docs/x.md", "hand\n");
    project.file("src/gen/y.rs", "hand\n");
    let before = project.content(LEDGER);
    let said = fails(&project, 1, &["trace", "reconcile", "--adopt", "INT-001"]);
    assert_eq!(
        said,
        "error: nothing was adopted: out of scope of INT-001:\n  docs/x.md\n  src/gen/y.rs (excluded by `!src/gen/**`)\n\
         hint: adopt them for the intent that owns them, or widen the scope with `ona intent edit`\n"
    );
    assert_eq!(project.content(LEDGER), before);
    assert!(
        fails(&project, 2, &["trace", "reconcile", "--adopt", "INT-9"])
            .contains("unknown intent INT-9")
    );
    fs::remove_dir_all(project.path("src/gen")).unwrap();
    fs::remove_file(project.path("docs/x.md")).unwrap();

    assert_eq!(
        done(&project, &["trace", "reconcile", "--adopt", "INT-001"]),
        "adopted src/a.rs for INT-001 (entry #2)\n"
    );
    assert_eq!(ungoverned(&project, &[]), [""; 0]);
    assert_eq!(
        done(&project, &["trace", "reconcile", "--adopt", "INT-001"]),
        "nothing to adopt: every change is traced\n"
    );
    let entry = answer(&project, &["trace", "show", "2", "--json"]);
    assert_eq!(
        (&entry["actor"], &entry["tool_name"], &entry["approver"], &entry["intent_id"]),
        (&json!("human"), &json!("adopt"), &json!("Ada <ada@example.org>"), &json!("INT-001"))
    );
    assert_eq!(entry["related_requirements"], json!(["REQ-3"]));
    done(&project, &["trace", "verify"]);
    assert!(project.content(".orchestration/intent_map.md").contains("src/a.rs"));
    // The agent's line is still the agent's, and exactly so.
    let blamed = answer(&project, &["blame", "src/a.rs", "--json"]);
    let who = |block: &Value| {
        format!(
            "{}-{} {}",
            block["start_line"],
            block["end_line"],
            block["actor"].as_str().unwrap_or("?")
        )
    };
    let blocks: Vec<String> = blamed["blocks"].as_array().unwrap().iter().map(who).collect();
    assert_eq!(blocks, ["1-1 ?", "2-2 agent", "3-3 ?", "4-5 human"]);
    assert!(
        blamed["blocks"].as_array().unwrap().iter().all(|block| block["certainty"] != "content"),
        "{blamed}"
    );

    // Also where lines repeat, nothing is left to explain.
    project.file("src/r.rs", "2\n3\n");
    commit(&project, "more");
    agent_writes(&project, "INT-001", "src/r.rs", Some("0\n"));
    project.file("src/r.rs", "3\n3\n0\n");
    done(&project, &["trace", "reconcile", "--adopt", "INT-001"]);
    assert_eq!(ungoverned(&project, &[]), [""; 0]);

    done(&project, &["intent", "status", "INT-001", "COMPLETED"]);
    project.file("src/z.rs", "late\n");
    assert!(
        fails(&project, 2, &["trace", "reconcile", "--adopt", "INT-001"]).contains("COMPLETED")
    );
}

#[test]
fn repositories_of_every_kind() {
    // None at all.
    let bare = project();
    done(&bare, &["intent", "init"]);
    let said = fails(&bare, 2, &["trace", "reconcile"]);
    assert!(
        said.contains("is not in a git checkout\nhint: changes are found by comparing"),
        "{said}"
    );
    // Nothing committed yet.
    git(&bare, &["init", "-q"]);
    bare.file("a", "1\n");
    assert_eq!(ungoverned(&bare, &[]), ["a:1-1"]);
    assert!(
        ona(&bare, &["trace", "reconcile"])
            .stdout
            .contains("since the beginning that the trace does not explain")
    );

    let project = governed();
    project.file("src/a.rs", "1\n");
    commit(&project, "one");
    project.file("src/a.rs", "2\n");
    commit(&project, "two");
    let root = project.dir();
    let at = |dir: &str| root.parent().unwrap().join(dir);
    // A worktree has a trace of its own.
    git(&project, &["worktree", "add", "-q", "../tree"]);
    traced(&at("tree"), "INT-001", "src/a.rs", Some("3\n"));
    fs::write(at("tree/src/b.rs"), "hand\n").unwrap();
    let ran = run(project.ona(["trace", "reconcile"]).current_dir(at("tree/src")));
    assert_eq!((ran.code, ran.stdout.lines().count()), (Some(1), 3), "{}", ran.stdout);
    assert!(ran.stdout.starts_with("ungoverned_change  src/b.rs:1  (created)\n"), "{}", ran.stdout);
    assert_eq!(ungoverned(&project, &[]), [""; 0]);
    // A shallow clone knows HEAD, and no more.
    let from = format!("file://{}", root.display());
    git(&project, &["clone", "-q", "--depth", "1", &from, "../shallow"]);
    let shallow = |args: &[&str]| run(project.ona(args).current_dir(at("shallow")));
    assert_eq!(shallow(&["trace", "reconcile"]).code, Some(0));
    let said = shallow(&["trace", "reconcile", "--since", "HEAD~1"]);
    assert_eq!(said.code, Some(2));
    assert!(
        said.stderr.contains("which is a shallow clone\nhint: `git fetch --unshallow`"),
        "{}",
        said.stderr
    );
    // A submodule is gone into.
    git(
        &project,
        &["-c", "protocol.file.allow=always", "submodule", "-q", "add", &from, "src/sub"],
    );
    commit(&project, "sub");
    assert_eq!(ungoverned(&project, &[]), [""; 0]);
    project.file("src/sub/src/a.rs", "hand\n");
    assert_eq!(ungoverned(&project, &[]), ["src/sub/src/a.rs:1-1"]);
    done(&project, &["trace", "reconcile", "--adopt", "INT-001"]);
    assert_eq!(ungoverned(&project, &[]), [""; 0]);
    // As a git hook would call it.
    let ran = run(project
        .ona(["trace", "reconcile"])
        .env("GIT_DIR", at("shallow/.git"))
        .env("GIT_INDEX_FILE", "nowhere"));
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{}", ran.stdout);
}

#[test]
fn the_trace_goes_out_in_three_formats() {
    let project = governed();
    project.file("src/a.rs", "one\n");
    commit(&project, "base");
    agent_writes(&project, "INT-001", "src/a.rs", Some("one\nfn two() {}\n"));
    commit(&project, "by the agent");
    let records = |args: &[&str]| -> Vec<Value> {
        let text = done(&project, &[&["trace", "export", "--format"], args].concat());
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let record = &records(&["agent-trace"])[0];
    assert_eq!(
        (&record["version"], &record["files"][0]["path"]),
        (&json!("0.1.0"), &json!("src/a.rs"))
    );
    assert_eq!(record["metadata"]["dev.ona"]["intent_id"], "INT-001");
    assert_eq!(records(&["json"])[0]["schema"], "ona.trace/1");
    let note = done(&project, &["trace", "export", "--format", "git-ai-note"]);
    let (attested, metadata) = note.split_once("---\n").unwrap();
    assert!(
        attested.starts_with("src/a.rs\n  s_") && attested.trim_end().ends_with(" 2"),
        "{attested}"
    );
    let metadata: Value = serde_json::from_str(metadata).unwrap();
    assert_eq!(metadata["base_commit_sha"], json!(project_head(&project)));
    // git takes it as it is.
    let script = format!(
        "{} trace export --format git-ai-note | git -c user.name=x -c user.email=x@x notes --ref ai add -F - HEAD",
        env!("CARGO_BIN_EXE_ona")
    );
    assert_eq!(run(project.command("sh").args(["-c", &script])).code, Some(0));

    let to = done(&project, &["trace", "export", "--format", "json", "-o", "out.jsonl"]);
    assert!(to.starts_with("written to ") && project.content("out.jsonl").lines().count() == 1);
    assert_eq!(records(&["json", "--since", "HEAD~1"]).len(), 1);
    assert!(
        fails(&project, 2, &["trace", "export", "--format", "json", "--since", "x"])
            .contains("commit `x` not found")
    );
    assert!(fails(&project, 2, &["trace", "export", "--format", "xml"]).contains("agent-trace"));
    fs::remove_file(project.path("out.jsonl")).unwrap();
    project.file("src/h.rs", "hand\n");
    commit(&project, "by hand");
    let said = fails(&project, 1, &["trace", "export", "--format", "git-ai-note"]);
    assert!(said.contains("hint: `ona blame FILE` shows why"), "{said}");
}

#[test]
fn permissions_are_changes_too() {
    let project = governed();
    let file = project.file("src/run.sh", "echo\n");
    let git = |args: &[&str]| {
        let identity = ["-c", "user.name=x", "-c", "user.email=x@example.com"];
        let ran = run(project.command("git").args(identity).args(args));
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    };
    git(&["add", "-A"]);
    git(&["commit", "-q", "-m", "x"]);
    fs::set_permissions(file, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let ran = run(&mut project.ona(["trace", "reconcile"]));
    assert!(ran.stdout.contains("ungoverned_change  src/run.sh"), "{}", ran.stdout);
    assert_eq!(ran.code, Some(1));
    done(&project, &["trace", "reconcile", "--adopt", "INT-001"]);
    assert_eq!(run(&mut project.ona(["trace", "reconcile"])).code, Some(0));
}
