//! Intents as the gate of ona's own agent: what they stop, what they let through, and what the trace tells of it.

use std::fs;
use std::os::unix::fs::symlink;

use ona_provider::Usage;
use ona_provider::scripted::{Reply, Server};
use ona_testkit::{Project, run};
use serde_json::{Value, json};

use crate::print::anthropic;
use crate::project;

const INTENTS: &str = "active_intents:
  - id: INT-1
    name: Say hello
    status: PLANNED
    owned_scope: ['src/**', 'docs/*.md']
    constraints: [Keep it short]
    acceptance_criteria: [It greets]
    related_requirements: [REQ-7]
  - id: INT-2
    status: COMPLETED
    owned_scope: ['**']
";

/// A project with intents, and this policy.
pub fn governed(policy: &str) -> Project {
    let project = project();
    project.file(".orchestration/active_intents.yaml", INTENTS);
    if !policy.is_empty() {
        project.file(".orchestration/hook_policy.yaml", policy);
    }
    project
}

fn select(project: &Project) {
    project.ok("SelectActiveIntent", json!({"intent_id": "INT-1"}));
}

/// A refusal as the model gets it.
fn refusal(project: &Project, tool: &str, input: Value) -> Value {
    let said = project.refused(tool, input);
    serde_json::from_str(&said).unwrap_or_else(|_| panic!("no JSON: {said}"))
}

pub fn trace(project: &Project) -> Vec<Value> {
    let text = fs::read_to_string(project.path(".orchestration/agent_trace.jsonl"));
    let text = text.unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn write(path: &str, content: &str) -> Value {
    json!({"file_path": path, "content": content})
}

#[test]
fn a_change_needs_an_intent_that_owns_the_file() {
    let project = governed("");
    let required = refusal(&project, "Write", write("src/a.rs", "fn a() {}\n"));
    assert_eq!(required["type"], "intent_required");
    assert_eq!(required["available_intents"], json!(["INT-1"]));
    assert!(!project.path("src/a.rs").exists());
    project.ok("Glob", json!({"pattern": "*"}));
    project.ok("Bash", json!({"command": "ls"}));

    let context = project.ok("select_active_intent", json!({"intent_id": "INT-1"}));
    for word in ["<intent_context>", "src/**", "Keep it short", "It greets", "REQ-7"] {
        assert!(context.contains(word), "{word}: {context}");
    }
    assert!(project.content(".orchestration/active_intents.yaml").contains("status: IN_PROGRESS"));
    project.ok("Write", write("src/a.rs", "fn a() {}\n"));
    let violation = refusal(&project, "Write", write("lib/a.rs", "fn a() {}\n"));
    assert_eq!(violation["type"], "scope_violation");
    assert_eq!(
        (&violation["file"], &violation["intent_id"]),
        (&json!("lib/a.rs"), &json!("INT-1"))
    );
    assert!(violation["hint"].as_str().unwrap().contains("request-scope"));

    let entries = trace(&project);
    let told: Vec<_> = entries
        .iter()
        .map(|entry| {
            (entry["success"].as_bool().unwrap(), entry["scope_validation"].as_str().unwrap())
        })
        .collect();
    assert_eq!(told, [(false, "EXEMPT"), (true, "PASS"), (false, "FAIL")]);
    let written = &entries[1];
    assert_eq!(written["intent_id"], "INT-1");
    assert_eq!(written["related_requirements"], json!(["REQ-7"]));
    assert_eq!(written["mutation_class"], "FILE_CREATION");
    assert_eq!(written["mutation_class_source"], "inferred");
    assert_eq!(written["file"]["relative_path"], "src/a.rs");
    assert_eq!(written["file"]["pre_hash"], Value::Null);
    assert_eq!(written["modified_ranges"][0]["ast_nodes"][0]["symbol"], "a");
    let calls = project
        .sql("SELECT tool_use_id FROM gate_answers WHERE stage = 'intent' AND verdict = 'deny'");
    assert_eq!(calls.len(), 2, "both refusals are on record");
    assert!(calls.contains(&entries[2]["tool_use_id"].as_str().unwrap().to_owned()));
    assert_eq!(project.sql("SELECT intent_id, selected_by FROM selected_intents"), ["INT-1|agent"]);
    let map = project.content(".orchestration/intent_map.md");
    assert!(map.contains("## INT-1 Say hello") && map.contains("| src/a.rs | a |"), "{map}");
}

#[test]
fn without_intents_nothing_is_different() {
    let project = project();
    project.ok("Write", write("a.txt", "x"));
    let unknown = project.refused("SelectActiveIntent", json!({"intent_id": "INT-1"}));
    assert!(unknown.contains("unknown tool `SelectActiveIntent`"), "{unknown}");
    let server = Server::start([Reply::say("hi")]).unwrap();
    run(&mut anthropic(&project, &server, &["-p", "x"]));
    let asked = server.requests()[0].body.to_string();
    assert!(!asked.contains("SelectActiveIntent") && !asked.contains("mutation_class"));
    assert!(!project.path(".orchestration").exists());
}

#[test]
fn the_model_is_offered_the_handshake_and_told_of_it() {
    let project =
        governed("write_metadata: required\nmutation_classes: [AST_REFACTOR, INTENT_EVOLUTION]\n");
    let server = Server::start([
        Reply::new().call("a", "SelectActiveIntent", json!({"intent_id": "INT-1"})),
        Reply::new().call("b", "Write", write("src/a.txt", "x")),
        Reply::new().call(
            "c",
            "Write",
            json!({"file_path": "src/a.txt", "content": "x", "intent_id": "INT-1",
                   "mutation_class": "INTENT_EVOLUTION"}),
        ),
        Reply::say("done"),
    ])
    .unwrap();
    let args = ["-p", "x", "--permission-mode", "acceptEdits"];
    let ran = run(&mut anthropic(&project, &server, &args));
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "done\n"), "{}", ran.stderr);
    let body = &server.requests()[0].body;
    assert!(body["system"].to_string().contains("SelectActiveIntent"));
    let tool = |name: &str| {
        let tools = body["tools"].as_array().unwrap();
        tools.iter().find(|tool| tool["name"] == name).unwrap()["input_schema"].clone()
    };
    assert_eq!(tool("SelectActiveIntent")["required"], json!(["intent_id"]));
    let required = tool("Write")["required"].as_array().unwrap().clone();
    assert!(required.contains(&json!("intent_id")) && required.contains(&json!("mutation_class")));
    let said = server.requests()[2].last_said();
    assert!(said.contains("missing_intent_metadata"), "{said}");
    let entries = trace(&project);
    assert_eq!(entries[1]["mutation_class_source"], "claimed");
    assert!(entries[1]["model"].as_str().unwrap().starts_with("claude_code_subscription/"));
    assert_eq!(project.content("src/a.txt"), "x");
}

#[test]
fn every_step_of_the_chain_says_no_in_its_own_words() {
    let project = governed("");
    for (id, kind) in
        [("INT-2", "intent_inactive"), ("INT-9", "invalid_intent"), (" ", "invalid_intent")]
    {
        assert_eq!(refusal(&project, "SelectActiveIntent", json!({"intent_id": id}))["type"], kind);
    }
    select(&project);
    let with = |key: &str, value: &str| {
        let mut input = write("src/a", "x");
        input[key] = json!(value);
        input
    };
    for (input, kind) in [
        (with("intent_id", "INT-2"), "intent_mismatch"),
        (with("mutation_class", "NONSENSE"), "missing_mutation_class"),
        (write("../out.txt", "x"), "scope_violation"),
        (write("/etc/ona-test", "x"), "scope_violation"),
        (write(".orchestration/hook_policy.yaml", "failure_mode: open"), "scope_violation"),
    ] {
        assert_eq!(refusal(&project, "Write", input.clone())["type"], kind, "{input}");
    }
    fs::create_dir(project.path("src")).unwrap();
    symlink(project.home(), project.path("src/link")).unwrap();
    assert_eq!(refusal(&project, "Write", write("src/link/x", "x"))["type"], "scope_violation");
    project.file(".intentignore", "src/secret*\n");
    assert_eq!(refusal(&project, "Write", write("src/secret.txt", "x"))["type"], "path_blocked");
    project.file(".orchestration/.intentignore", "INT-1 # frozen\n");
    assert_eq!(refusal(&project, "Write", write("src/a", "x"))["type"], "intent_blocked");
    fs::remove_file(project.path(".orchestration/.intentignore")).unwrap();
    project.file(".orchestration/active_intents.yaml", INTENTS.replace("PLANNED", "BLOCKED"));
    let inactive = refusal(&project, "Write", write("src/a", "x"));
    assert_eq!(
        (&inactive["type"], &inactive["intent_status"]),
        (&json!("intent_inactive"), &json!("BLOCKED"))
    );
    assert!(!project.path("src/a").exists() && !project.path("src/link/x").exists());
}

#[test]
fn a_file_that_moved_since_it_was_read_is_stale() {
    let project = governed("");
    let file = project.file("src/a.txt", "one\n");
    select(&project);
    project.ok("Read", json!({"file_path": file}));
    project.file("src/a.txt", "two\n");
    let input = json!({"file_path": file, "old_string": "one", "new_string": "three"});
    let stale = refusal(&project, "Edit", input);
    assert_eq!((&stale["type"], &stale["file"]), (&json!("stale_file"), &json!("src/a.txt")));
    assert!(stale["message"].as_str().unwrap().starts_with("Stale File"));
    assert_eq!(project.content("src/a.txt"), "two\n");
}

#[test]
fn a_claim_about_a_change_is_checked() {
    let change = json!({"file_path": "src/a.rs", "old_string": "1", "new_string": "2",
                        "mutation_class": "DOCUMENTATION"});
    for policy in ["", "mutation_class_check: refuse\n"] {
        let project = governed(policy);
        project.file("src/a.rs", "pub fn a() -> u32 { 1 }\n");
        select(&project);
        project.ok("Read", json!({"file_path": "src/a.rs"}));
        if policy.is_empty() {
            project.ok("Edit", change.clone());
            let mismatch = trace(&project).pop().unwrap()["mutation_class_mismatch"].clone();
            assert_eq!(mismatch["claimed"], "DOCUMENTATION");
            assert_eq!(mismatch["found"], "BUG_FIX");
        } else {
            let refused = refusal(&project, "Edit", change.clone());
            assert_eq!(refused["type"], "mutation_class_mismatch");
            assert_eq!(project.content("src/a.rs"), "pub fn a() -> u32 { 1 }\n");
        }
    }
}

#[test]
fn a_command_is_judged_before_and_looked_at_after() {
    let project = governed("");
    select(&project);
    let refused = refusal(&project, "Bash", json!({"command": "echo x > lib.txt"}));
    assert_eq!(
        (&refused["type"], &refused["file"]),
        (&json!("scope_violation"), &json!("lib.txt"))
    );
    let script = "printf 'in\\n' > src/in.txt; printf 'out\\n' > out.txt; rm gone.txt";
    project.file("gone.txt", "was here\n");
    project.file("run.sh", script);
    fs::create_dir_all(project.path("src")).unwrap();
    let said = project.ok("Bash", json!({"command": "bash ./run.sh"}));
    assert!(said.contains("[scope]") && said.contains("gone.txt, out.txt"), "{said}");
    let entry = trace(&project).pop().unwrap();
    assert_eq!(entry["scope_validation"], "FAIL");
    assert_eq!(entry["warnings"], json!(["out_of_scope: gone.txt", "out_of_scope: out.txt"]));
    let files: Vec<_> =
        entry["modified_ranges"].as_array().unwrap().iter().map(|r| r["file"].clone()).collect();
    assert_eq!(files, ["gone.txt", "out.txt", "src/in.txt"]);
    let recorded = project.sql(
        "SELECT detail FROM events WHERE event_type = 'tool.finished' ORDER BY id DESC LIMIT 1",
    );
    assert!(recorded[0].contains(r#""left":["gone.txt","out.txt"]"#), "{recorded:?}");
}

#[test]
fn what_a_command_changed_outside_is_put_back_where_the_policy_says() {
    let project = governed("on_out_of_scope_write: revert\n");
    select(&project);
    project.file("kept.txt", "as it was\n");
    project.file("run.sh", "echo x > src/in.txt; echo x > out.txt; echo x > kept.txt");
    fs::create_dir_all(project.path("src")).unwrap();
    let said = project.ok("Bash", json!({"command": "bash ./run.sh"}));
    assert!(said.contains("Restored: kept.txt, out.txt"), "{said}");
    assert_eq!(project.content("kept.txt"), "as it was\n");
    assert!(!project.path("out.txt").exists());
    assert_eq!(project.content("src/in.txt"), "x\n");
    let entry = trace(&project).pop().unwrap();
    assert_eq!(entry["warnings"], json!(["put_back: kept.txt", "put_back: out.txt"]));
    assert_eq!(entry["modified_ranges"].as_array().unwrap().len(), 1);
}

#[test]
fn destructive_commands_are_approved_by_a_human_or_beforehand() {
    let project = governed("");
    let turn = |args: &[&str]| {
        let server = Server::start([
            Reply::new().call("a", "SelectActiveIntent", json!({"intent_id": "INT-1"})),
            Reply::new().call("b", "Bash", json!({"command": "touch src/x"})),
            Reply::say("done"),
        ])
        .unwrap();
        let ran = run(&mut anthropic(&project, &server, &[&["-p", "x"], args].concat()));
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        server.requests()[2].last_said()
    };
    fs::create_dir_all(project.path("src")).unwrap();
    let said = turn(&[]);
    assert!(said.contains("no user is available") && said.contains("permission_denied"), "{said}");
    assert!(!project.path("src/x").exists());
    turn(&["--allowedTools", "Bash(touch *)"]);
    assert!(project.path("src/x").exists());
    let reasons = project
        .sql("SELECT reason FROM gate_answers WHERE stage = 'intent' ORDER BY id DESC LIMIT 1");
    assert!(reasons[0].contains("approved in advance"), "{reasons:?}");
    // A list of its own makes commands safe, and all others ask.
    project.file(
        ".orchestration/hook_policy.yaml",
        "command:\n  readonly_allowlist: ['^touch src/x$']\n",
    );
    turn(&["--allowedTools", "Bash(touch *)"]);
    let reasons = project
        .sql("SELECT reason FROM gate_answers WHERE stage = 'intent' ORDER BY id DESC LIMIT 1");
    assert!(reasons[0].contains("approved in advance"), "what writes is never safe: {reasons:?}");
}

#[test]
fn a_gate_that_cannot_judge_does_what_the_policy_says() {
    for (policy, file) in
        [("", "active_intents: [\n"), ("failure_mode: closed\n", "active_intents: [\n")]
    {
        let project = governed(policy);
        select(&project);
        project.file(".orchestration/active_intents.yaml", file);
        let mut command = project.eval_command("Write", &write("anywhere.txt", "x"));
        let ran = run(&mut command);
        let events =
            project.sql("SELECT event_type FROM events WHERE event_type = 'governance_degraded'");
        if policy.is_empty() {
            assert!(project.path("anywhere.txt").exists());
            assert_eq!(events.len(), 1);
            assert!(
                ran.stderr.contains("warning: ") && ran.stderr.contains("line "),
                "{}",
                ran.stderr
            );
        } else {
            assert!(!project.path("anywhere.txt").exists());
            assert!(ran.stdout.contains("intent_parse_failed"), "{}", ran.stdout);
        }
    }
}

#[test]
fn a_trace_that_cannot_be_written_is_a_gap_and_stops_nothing() {
    let project = governed("");
    select(&project);
    fs::create_dir(project.path(".orchestration/agent_trace.jsonl")).unwrap();
    let ran = run(&mut project.eval_command("Write", &write("src/a.txt", "x")));
    assert_eq!(project.content("src/a.txt"), "x");
    assert!(ran.stderr.contains("the trace has a gap"), "{}", ran.stderr);
    assert_eq!(project.sql("SELECT count(*) FROM events WHERE event_type = 'trace.gap'"), ["1"]);
}

#[test]
fn a_check_that_failed_is_a_lesson_once() {
    let project = governed("");
    project.file("CLAUDE.md", "# Ours\n");
    project.file("scripts/test.sh", "echo 'error: two is not three'; exit 3");
    select(&project);
    for _ in 0..2 {
        project.refused("Bash", json!({"command": "bash ./scripts/test.sh"}));
    }
    let text = project.content("CLAUDE.md");
    assert_eq!(text.matches("exit 3. error: two is not three").count(), 1, "{text}");
    assert!(text.contains("## Lessons Learned") && text.contains("[INT-1]"), "{text}");
    let lessons = trace(&project).into_iter().filter(|entry| entry["tool_name"] == "lesson");
    assert_eq!(lessons.count(), 1, "the note itself is explained");
}

#[test]
fn what_a_formatter_makes_of_a_write_belongs_to_it() {
    let project = governed("");
    project.file("format.sh", "printf 'formatted\\n' > src/a.txt; echo seen >> log.txt");
    project.file(
        ".claude/settings.json",
        r#"{"hooks": {"PostToolUse": [{"matcher": "Write|Bash", "hooks": [{"type": "command", "command": "sh format.sh"}]}]}}"#,
    );
    assert_eq!(run(&mut project.ona(["trust"])).code, Some(0));
    select(&project);
    project.ok("Write", write("src/a.txt", "raw"));
    let entry = trace(&project).pop().unwrap();
    let formatted = ona_types::ContentHash::of(b"formatted\n");
    assert_eq!(entry["file"]["post_hash"], format!("sha256:{formatted}"));
    assert_eq!(entry["warnings"], json!([]), "nobody else was at it");
    assert_eq!(entry["modified_ranges"][0]["new_range"], json!({"start_line": 1, "end_line": 1}));
    // What a hook does beside a command is not the command's.
    let said = project.ok("Bash", json!({"command": "touch src/b.txt"}));
    assert!(!said.contains("log.txt"), "{said}");
}

#[test]
fn two_sessions_work_side_by_side_and_notice_each_other() {
    let project = governed("");
    let file = project.file("src/shared.txt", "one\n");
    let session = |id: &str, script: Vec<Reply>| {
        let server = Server::start(script).unwrap();
        let args = ["-p", "x", "--permission-mode", "acceptEdits", "--session-id", id];
        let ran = run(&mut anthropic(&project, &server, &args));
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        server.requests().last().unwrap().last_said()
    };
    let select = || Reply::new().call("s", "SelectActiveIntent", json!({"intent_id": "INT-1"}));
    let read = || Reply::new().call("r", "Read", json!({"file_path": file}));
    let edit = |to: &str| {
        Reply::new().call(
            "e",
            "Edit",
            json!({"file_path": file, "old_string": "one", "new_string": to}),
        )
    };
    let (one, two) =
        ("11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222");
    session(one, vec![select(), read(), Reply::say("ready")]);
    session(two, vec![select(), read(), edit("two"), Reply::say("done")]);
    let server = Server::start([edit("three"), Reply::say("done")]).unwrap();
    let args = ["-p", "x", "--permission-mode", "acceptEdits", "--resume", one];
    run(&mut anthropic(&project, &server, &args));
    let said = server.requests()[1].last_said();
    assert!(said.contains("stale_file"), "{said}");
    assert_eq!(project.content("src/shared.txt"), "two\n");
    let sessions: Vec<_> =
        trace(&project).into_iter().map(|entry| entry["session_id"].clone()).collect();
    assert_eq!(sessions, [two, one]);
}

#[test]
fn the_intent_survives_a_compaction_and_a_fork() {
    let project = governed("");
    let full = Usage { input_tokens: 900, output_tokens: 50, ..Usage::default() };
    let server = Server::start([
        Reply::new().call("a", "SelectActiveIntent", json!({"intent_id": "INT-1"})).usage(full),
        Reply::say("SUMMARY"),
        Reply::say("done"),
    ])
    .unwrap();
    let mut command = anthropic(&project, &server, &["-p", "x", "--name", "own"]);
    let ran = run(command
        .env("CLAUDE_CODE_AUTO_COMPACT_WINDOW", "1000")
        .env("CLAUDE_AUTOCOMPACT_PCT_OVERRIDE", "90"));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let after = server.requests()[2].body["messages"].to_string();
    assert!(after.contains("The selected intent") && after.contains("Keep it short"), "{after}");
    let server = Server::start([
        Reply::new().call("b", "Write", write("src/forked.txt", "x")),
        Reply::say("done"),
    ])
    .unwrap();
    let args = ["-p", "x", "--resume", "own", "--fork-session", "--permission-mode", "acceptEdits"];
    let ran = run(&mut anthropic(&project, &server, &args));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(project.path("src/forked.txt").exists());
}

#[test]
fn a_session_in_a_subdirectory_is_governed_too() {
    let project = governed("");
    fs::create_dir(project.path(".git")).unwrap();
    fs::create_dir_all(project.path("lib/deep")).unwrap();
    let call = json!({"tool": "Write", "input": write("x.txt", "x")}).to_string();
    let ran = run(project.ona(["--eval", &call]).current_dir(project.path("lib/deep")));
    assert!(ran.stdout.contains("intent_required"), "{}", ran.stdout);
}

/// git in the project, as somebody.
fn git(project: &Project, dir: &str, args: &[&str]) {
    let identity =
        ["-c", "user.name=x", "-c", "user.email=x@example.com", "-c", "protocol.file.allow=always"];
    let mut command = project.command("git");
    let ran = run(command.current_dir(project.path(dir)).args(identity).args(args));
    assert_eq!(ran.code, Some(0), "{args:?}: {}", ran.stderr);
}

#[test]
fn what_a_command_changed_is_found_in_every_kind_of_checkout() {
    let project = governed("");
    project.file("src/a.txt", "one\n");
    git(&project, ".", &["init", "-q"]);
    git(&project, ".", &["add", "-A"]);
    git(&project, ".", &["commit", "-q", "-m", "x"]);
    git(&project, ".", &["commit", "-q", "--allow-empty", "-m", "y"]);
    let whole = format!("file://{}", project.dir().display());
    git(&project, ".", &["worktree", "add", "-q", "../worktree"]);
    git(&project, ".", &["clone", "-q", "--depth", "1", &whole, "../shallow"]);
    git(&project, "..", &["init", "-q", "outer"]);
    git(&project, "../outer", &["submodule", "--quiet", "add", &whole, "src/inner"]);
    let outer = INTENTS.replace("PLANNED", "IN_PROGRESS");
    project.file("../outer/.orchestration/active_intents.yaml", &outer);
    for (place, file) in [
        ("../worktree", "src/a.txt"),
        ("../shallow", "src/a.txt"),
        ("../outer", "src/inner/src/a.txt"),
    ] {
        let call = |tool: &str, input: Value| {
            let call = json!({"tool": tool, "input": input}).to_string();
            let ran = run(project.ona(["--eval", &call]).current_dir(project.path(place)));
            assert!(
                ran.stdout.contains("\"is_error\":false"),
                "{place}: {}{}",
                ran.stdout,
                ran.stderr
            );
        };
        call("SelectActiveIntent", json!({"intent_id": "INT-1"}));
        project.file(&format!("{place}/src/run.sh"), format!("echo two >> {file}"));
        call("Bash", json!({"command": "sh src/run.sh"}));
        let text = project.content(&format!("{place}/.orchestration/agent_trace.jsonl"));
        let entry: Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
        let range = &entry["modified_ranges"][0];
        assert_eq!(range["file"], *file, "{place}: {entry}");
        assert_eq!(range["new_range"], json!({"start_line": 2, "end_line": 2}), "{place}");
        assert_eq!(entry["scope_validation"], "PASS", "{place}");
        assert_eq!(
            entry["revision_id"].as_str().unwrap().len(),
            if place == "../outer" { 7 } else { 40 }
        );
    }
}

/// A command that runs this as a script, which no parse can look into.
fn script(project: &Project, text: &str) -> Value {
    project.file("src/run.sh", text);
    json!({"command": "sh src/run.sh"})
}

#[test]
fn putting_back_loses_nothing() {
    let project = governed("on_out_of_scope_write: revert\n");
    select(&project);
    project.file("lib/user.txt", "somebody's work\n");
    project.file("src/mine.txt", "mine\n");
    let moved = script(
        &project,
        "mv src/mine.txt lib/mine.txt; mv lib lib2; ln -s lib2 lib; echo x > other.txt",
    );
    let said = project.ok("Bash", moved);
    assert_eq!(project.content("lib/user.txt"), "somebody's work\n", "{said}");
    assert!(!project.path("lib").is_symlink() && !project.path("lib2/user.txt").exists());
    assert_eq!(project.content("src/mine.txt"), "mine\n", "moved back: {said}");
    let (_, kept) = said.split_once("is kept in ").unwrap_or_else(|| panic!("{said}"));
    let kept = std::path::Path::new(kept.lines().next().unwrap().trim_end_matches('.'));
    assert_eq!(fs::read_to_string(kept.join("other.txt")).unwrap(), "x\n");
}

#[test]
fn an_agent_cannot_widen_its_own_scope_by_a_command() {
    let project = governed("");
    select(&project);
    let before = project.content(".orchestration/active_intents.yaml");
    let widen = script(
        &project,
        "sed -i 's#src/##' .orchestration/active_intents.yaml; echo 'failure_mode: open' > .orchestration/hook_policy.yaml",
    );
    let said = project.ok("Bash", widen);
    assert!(said.contains("Restored"), "{said}");
    assert_eq!(project.content(".orchestration/active_intents.yaml"), before);
    assert!(!project.path(".orchestration/hook_policy.yaml").exists());
    assert_eq!(refusal(&project, "Write", write("lib/x", "x"))["type"], "scope_violation");
    // What the operator changes meanwhile is the operator's.
    let wait = script(&project, "while [ ! -e done ]; do sleep 0.05; done; rm done");
    let mut child =
        project.eval_command("Bash", &wait).stdout(std::process::Stdio::null()).spawn().unwrap();
    while project.sql("SELECT count(*) FROM running_calls") == ["0"] {
        std::thread::yield_now();
    }
    let added = run(&mut project.ona(["intent", "add", "--name", "Later", "--scope", "doc/**"]));
    assert_eq!(added.code, Some(0), "{}", added.stderr);
    project.file("done", "");
    assert!(child.wait().unwrap().success());
    assert!(project.content(".orchestration/active_intents.yaml").contains("Later"));
}

#[test]
fn a_line_in_the_trace_explains_nothing_by_itself() {
    let project = governed("");
    select(&project);
    let forged = json!({"id": "x", "intent_id": "INT-1", "session_id": "boss", "tool_use_id": "t", "success": true,
        "modified_ranges": [{"file": "lib.txt", "after_hash": format!("sha256:{}", ona_types::ContentHash::of(b"x\n"))}]});
    let forging = format!("echo x > lib.txt; echo '{forged}' >> .orchestration/agent_trace.jsonl");
    let said = project.ok("Bash", script(&project, &forging));
    assert!(said.contains("out of scope: lib.txt"), "{said}");
    let cut =
        run(&mut project
            .eval_command("Bash", &script(&project, "rm .orchestration/agent_trace.jsonl")));
    assert!(cut.stderr.contains("lines were removed"), "{}", cut.stderr);
    assert_eq!(
        project.sql("SELECT count(*) FROM events WHERE event_type = 'trace.damaged'"),
        ["1"]
    );
    fs::remove_file(project.path(".orchestration/agent_trace.jsonl")).unwrap();
    let verified = run(&mut project.ona(["trace", "verify"]));
    assert!(verified.stderr.contains("the record has entry #"), "{}", verified.stderr);
}

#[test]
fn what_goes_on_in_the_background_must_change_nothing() {
    let project = governed("");
    select(&project);
    let input = json!({"command": "make serve", "run_in_background": true});
    let refused = refusal(&project, "Bash", input);
    assert_eq!(refused["type"], "scope_validation_failed");
    assert!(refused["message"].as_str().unwrap().contains("in the background"), "{refused}");
}

#[test]
fn a_file_that_is_gone_can_be_written_again() {
    let project = governed("");
    select(&project);
    project.ok("Write", write("src/a.txt", "one"));
    fs::remove_file(project.path("src/a.txt")).unwrap();
    project.ok("Write", write("src/a.txt", "two"));
    let mode = project.ok("Bash", script(&project, "chmod 755 src/a.txt"));
    assert!(!mode.contains("[scope]"), "{mode}");
    let entry = trace(&project).pop().unwrap();
    assert!(
        entry["warnings"][0].as_str().unwrap().starts_with("mode_changed: src/a.txt "),
        "{entry}"
    );
}
