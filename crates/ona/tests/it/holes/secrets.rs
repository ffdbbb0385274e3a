//! What was tried against the record, the outputs beside it, the terminal, and with things that only look like files.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use ona_provider::scripted::{Reply, Server};
use ona_testkit::pty::{Exit, PtyOptions};
use ona_testkit::{Project, Ran, run};
use serde_json::{Value, json};

use crate::gate::{governed, pre};
use crate::print::anthropic;
use crate::project;
use crate::secrets::record;

/// A secret of the environment, and one of the settings.
const LIVE: &str = "correct-horse-battery-staple";
const CONFIGURED: &str = "tr0ubador-and-three-of-them";

fn outputs(project: &Project) -> PathBuf {
    let mut outputs = project.database().into_os_string();
    outputs.push("-outputs");
    outputs.into()
}

/// Every file below a directory, with its name, as text.
fn everything_in(dir: &Path) -> String {
    let mut all = String::new();
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        all.push_str(&entry.file_name().to_string_lossy());
        match entry.path().is_dir() {
            true => all.push_str(&everything_in(&entry.path())),
            false => all.push_str(&String::from_utf8_lossy(&fs::read(entry.path()).unwrap())),
        }
    }
    all
}

/// A command that is killed after a minute; that does not count as an answer.
pub(super) fn bounded(project: &Project, args: &[&str]) -> Command {
    let mut command = project.command("timeout");
    command.args(["-k", "5", "60", env!("CARGO_BIN_EXE_ona")]).args(args);
    command
}

pub(super) fn answered(ran: &Ran, what: &str) {
    assert!(!matches!(ran.code, None | Some(124 | 137)), "{what} hangs: {}", ran.stderr);
}

/// Columns in which this test puts a secret, by its own words in a model's, a user's or a file's mouth.
const TRIED: [&str; 9] = [
    "agent_runs.name",
    "background_tasks.command",
    "events.detail",
    "hook_invocations.command",
    "hook_invocations.input_json",
    "plans.content",
    "session_info.name",
    "state.value",
    "transcript_entries.payload_json",
];

/// Columns that hold what ona itself writes, or texts that pass the same function on their way.
#[rustfmt::skip]
const OTHERS: [&str; 184] = [
    "behavioral_runs.level",
    "behavioral_runs.plan_hash",
    "behavioral_runs.reason",
    "behavioral_runs.script_hash",
    "behavioral_runs.second",
    "behavioral_runs.started_at",
    "behavioral_runs.status",
    "behavioral_runs.stderr",
    "behavioral_runs.stdout",
    "behavioral_runs.tree_hash",
    "behavioral_tests.created_at",
    "behavioral_tests.criterion",
    "behavioral_tests.name",
    "behavioral_tests.origin",
    "behavioral_tests.plan_hash",
    "behavioral_tests.retired_at",
    "behavioral_tests.script",
    "behavioral_tests.script_hash",
    "behavioral_tests.surface",
    "plan_approvals.approved_by",
    "plan_approvals.commit_id",
    "plan_approvals.contracts",
    "plan_approvals.created_at",
    "plan_approvals.criteria",
    "plan_approvals.plan_hash",
    "plan_approvals.seal",
    "plan_approvals.tree_hash",
    "test_generations.author",
    "test_generations.created_at",
    "test_generations.detail",
    "test_generations.input",
    "test_generations.input_hash",
    "test_generations.outcome",
    "test_reports.approved_at",
    "test_reports.approved_by",
    "test_reports.body",
    "test_reports.conversation_id",
    "test_reports.report_hash",
    "test_reports.tree_hash",
    "typed_prompts.project_dir",
    "typed_prompts.text",
    "typed_prompts.typed_at",
    "call_ids.session_id",
    "call_ids.tool_use_id",
    "agent_runs.agent_type",
    "agent_runs.ended_at",
    "agent_runs.ending",
    "agent_runs.parent_session",
    "agent_runs.session_id",
    "agent_runs.started_at",
    "agent_runs.tool_use_id",
    "agent_runs.worktree",
    "background_tasks.end_reason",
    "background_tasks.ended_at",
    "background_tasks.kind",
    "background_tasks.output_path",
    "background_tasks.owner",
    "background_tasks.session_id",
    "background_tasks.started_at",
    "background_tasks.task_id",
    "background_tasks.told_at",
    "background_tasks.tool_use_id",
    "conversations.created_at",
    "conversations.id",
    "conversations.last_active",
    "conversations.phase",
    "conversations.project_dir",
    "events.conversation_id",
    "events.event_type",
    "events.session_id",
    "events.timestamp",
    "file_views.content_hash",
    "file_views.path",
    "file_views.seen",
    "file_views.seen_at",
    "file_views.session_id",
    "foreign_calls.began_at",
    "foreign_calls.found",
    "foreign_calls.session_id",
    "foreign_calls.tool_name",
    "foreign_calls.tool_use_id",
    "gate_answers.detail",
    "gate_answers.reason",
    "gate_answers.session_id",
    "gate_answers.stage",
    "gate_answers.tool_use_id",
    "gate_answers.verdict",
    "hook_invocations.completed_at",
    "hook_invocations.conversation_id",
    "hook_invocations.hook_event",
    "hook_invocations.matcher",
    "hook_invocations.session_id",
    "hook_invocations.skipped_reason",
    "hook_invocations.started_at",
    "hook_invocations.stderr_text",
    "hook_invocations.stdout_text",
    "hook_invocations.tool_name",
    "hook_invocations.tool_use_id",
    "joinable_conversations.conversation_id",
    "joinable_conversations.last_active",
    "joinable_conversations.project_dir",
    "main_sessions.conversation_id",
    "main_sessions.session_id",
    "main_sessions.started_at",
    "memories.anticipated_queries",
    "memories.concept_tags",
    "memories.content",
    "memories.id",
    "memories.keywords",
    "memories.project_scope",
    "memories.title",
    "memories.type",
    "memory_origins.memory_id",
    "memory_origins.source",
    "memory_origins.source_hash",
    "memory_origins.written_by",
    "memory_origins.written_in",
    "model_calls.answered_at",
    "model_calls.model",
    "model_calls.provider",
    "model_calls.purpose",
    "model_calls.response_id",
    "model_calls.session_id",
    "model_calls.stop_reason",
    "plans.approved_at",
    "plans.completed_at",
    "plans.conversation_id",
    "plans.created_at",
    "plans.file_path",
    "plans.hash",
    "plans.status",
    "resumable_sessions.project_dir",
    "resumable_sessions.session_id",
    "running_calls.owner",
    "running_calls.session_id",
    "running_calls.started_at",
    "running_calls.tool_name",
    "running_calls.tool_use_id",
    "schema_meta.key",
    "schema_meta.value",
    "selected_intents.intent_id",
    "selected_intents.selected_at",
    "selected_intents.selected_by",
    "selected_intents.session_id",
    "selected_intents.workspace",
    "session_info.forked_from",
    "session_info.origin",
    "session_info.session_id",
    "session_leases.owner",
    "session_leases.session_id",
    "session_leases.taken_at",
    "sessions.conversation_id",
    "sessions.session_id",
    "sessions.started_at",
    "settings_snapshot.json",
    "settings_snapshot.scope",
    "settings_snapshot.updated_at",
    "state.conversation_id",
    "state.key",
    "state.updated_at",
    "summaries.content",
    "summaries.conversation_id",
    "summaries.created_at",
    "task_ratings.conversation_id",
    "task_ratings.objective",
    "task_ratings.timestamp",
    "tool_permission_log.created_at",
    "tool_permission_log.decision",
    "tool_permission_log.reason_json",
    "tool_permission_log.session_id",
    "tool_permission_log.tool_name",
    "tool_permission_log.tool_use_id",
    "transcript_entries.created_at",
    "transcript_entries.entry_type",
    "transcript_entries.session_id",
    "transcript_entries.tool_use_id",
    "trusted_content.hash",
    "trusted_content.place",
    "trusted_content.root",
    "trusted_content.runs_hash",
    "trusted_content.trusted_at",
    "trusted_roots.hash",
    "trusted_roots.root",
    "trusted_roots.trusted_at",
];

#[test]
fn no_live_secret_is_stored_wherever_it_stands() {
    let hook = format!("true {CONFIGURED}");
    let project = governed(&json!({
        "env": {"DEPLOY_TOKEN": CONFIGURED},
        "permissions": {"allow": ["Bash(*)", "Agent", "Skill"]},
        "hooks": {"PostToolUse": [pre("", &hook)]},
    }));
    let skill = format!("---\nname: told\ndescription: tells\n---\nSay {LIVE} and {CONFIGURED}.");
    project.file(".claude/skills/told/SKILL.md", skill);
    assert_eq!(run(&mut project.ona(["trust"])).code, Some(0));
    let both = format!("{LIVE} {CONFIGURED}");
    // A line whose cut goes through the secret.
    let long = format!("{}{LIVE} tail", "x".repeat(1985));
    project.file("long.txt", format!("{long}\n"));
    let todos = json!({"todos": [{"content": both, "activeForm": both, "status": "pending"}]});
    let agent = json!({"description": both, "prompt": both, "name": LIVE,
        "subagent_type": "general-purpose"});
    let server = Server::start([
        Reply::say(both.clone())
            .call("a", "TodoWrite", todos)
            .call("b", "Skill", json!({"skill": "told"}))
            .call("c", "Read", json!({"file_path": project.path("long.txt")}))
            .call("d", "Grep", json!({"pattern": "tail", "output_mode": "content"}))
            .call("e", "Bash", json!({"command": format!("echo {both}"), "run_in_background": true}))
            .call("f", "Bash", json!({"command": "head -c 1048560 /dev/zero | tr '\\0' y; printenv OPENAI_API_KEY"}))
            .call("g", "Agent", agent),
        Reply::say(both.clone()),
        Reply::say(both.clone())
            .call("h", "EnterPlanMode", json!({}))
            .call("i", "ExitPlanMode", json!({"plan": both})),
        Reply::say("done"),
    ])
    .unwrap();
    let mut command = anthropic(&project, &server, &["-p", &both, "--name", "named", "--trust"]);
    let ran = run(command.env("OPENAI_API_KEY", LIVE));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let failing = Server::start([Reply::error(
        400,
        "invalid_request_error",
        &format!("no: {}{both}", "z".repeat(3)),
    )])
    .unwrap();
    let mut command = anthropic(&project, &failing, &["-p", "again", "--trust"]);
    assert_ne!(run(command.env("OPENAI_API_KEY", LIVE)).code, Some(0));
    let rename = ["sessions", "rename", "named", LIVE];
    assert_eq!(run(project.ona(rename).env("OPENAI_API_KEY", LIVE)).code, Some(0));

    // The record, and what lies beside it; no part of a secret at a cut either.
    let mut kept = record(&project);
    kept.push_str(&everything_in(&outputs(&project)));
    for secret in [LIVE, CONFIGURED] {
        for part in [secret, &secret[..12], &secret[secret.len() - 12..]] {
            let at = kept.find(part);
            let around =
                at.map(|at| kept[at.saturating_sub(80)..(at + 60).min(kept.len())].to_owned());
            assert!(at.is_none(), "{part}: {around:?}");
        }
    }

    // Every column of text is one that was tried, or one that was thought about.
    let columns: BTreeSet<String> = project
        .sql(
            "SELECT m.name || '.' || p.name FROM sqlite_schema m JOIN pragma_table_info(m.name) p
             WHERE m.type = 'table' AND m.name NOT LIKE '%_fts%' AND m.name NOT LIKE 'sqlite_%'
                 AND p.type = 'TEXT'",
        )
        .into_iter()
        .collect();
    let known: BTreeSet<String> =
        TRIED.iter().chain(&OTHERS).map(|name| (*name).to_owned()).collect();
    assert_eq!(columns, known, "a new column: try a secret in it, or say why none gets there");
    for column in TRIED {
        let (table, name) = column.split_once('.').unwrap();
        let query = format!("SELECT count(*) FROM {table} WHERE {name} LIKE '%[REDACTED:live]%'");
        assert_ne!(project.sql(&query), ["0"], "{column} was not tried");
    }
}

#[test]
fn no_live_secret_is_stored_with_plans_tests_and_reports() {
    let project = governed(&json!({"env": {"DEPLOY_TOKEN": CONFIGURED}}));
    let ok = |args: &[&str]| {
        let ran = run(project.ona(args).env("OPENAI_API_KEY", LIVE));
        assert_eq!(ran.code, Some(0), "{args:?}: {}{}", ran.stdout, ran.stderr);
    };
    let yes = |args: &[&str]| {
        let pty = project.pty(args, PtyOptions::default().env("OPENAI_API_KEY", LIVE));
        pty.wait_for("[y/N]");
        pty.line("y");
        assert_eq!(pty.wait_exit(), Exit::Code(0), "{}", pty.whole());
    };
    ok(&["trust"]);
    project.file("docs/use.md", format!("The key is {LIVE}, or {CONFIGURED}."));
    project.file(
        "tell",
        "#!/bin/sh\necho \"token: $DEPLOY_TOKEN\"\necho \"err: $DEPLOY_TOKEN\" >&2\n",
    );
    ok(&["--transition", "planning"]);
    let plan = format!(
        "# See docs/use.md and {LIVE}\n## Success criteria\n- `sh tell` prints the token, not {LIVE} or {CONFIGURED}"
    );
    let call = json!({"tool": "ExitPlanMode", "input": {"plan": plan}}).to_string();
    ok(&["--eval", &call]);
    yes(&["plan", "approve"]);
    ok(&["--transition", "test"]);
    let script = "# CRITERION: SC-1\n# SURFACE: process_output\n# SETUP\n# EXERCISE\nOUT=$(sh \"$PROJECT/tell\")\n\
        echo \"$OUT\"\n# ASSERT\ngrep -q token <<< \"$OUT\" || exit 1\n";
    let answer = json!({"tests": [
        {"criterion": "SC-1", "surface": "process_output", "name": LIVE, "script": script}]});
    let server = Server::start([Reply::say(answer.to_string())]).unwrap();
    let mut generate = anthropic(&project, &server, &["test", "generate"]);
    let ran = run(generate.env("OPENAI_API_KEY", LIVE));
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    let sent = server.requests()[0].body.to_string();
    assert!(!sent.contains(LIVE) && !sent.contains(CONFIGURED), "{sent}");
    let file = project.home().join("by-hand.sh");
    fs::write(&file, script.replace("grep -q token", &format!("grep -q {LIVE}"))).unwrap();
    let added =
        run(project.ona(["test", "add", file.to_str().unwrap()]).env("OPENAI_API_KEY", LIVE));
    assert!(added.stderr.contains("looks like a secret"), "{}", added.stderr);
    ok(&["test", "run"]);
    ok(&["phase", "verify"]);
    yes(&["report", "approve"]);

    let kept = record(&project);
    for secret in [LIVE, CONFIGURED] {
        assert!(!kept.contains(secret), "{secret}");
    }
    for column in [
        "plans.content",
        "plan_approvals.criteria",
        "plan_approvals.contracts",
        "test_generations.input",
        "behavioral_tests.name",
        "behavioral_runs.stdout",
        "behavioral_runs.stderr",
        "test_reports.body",
    ] {
        let (table, name) = column.split_once('.').unwrap();
        let query = format!("SELECT count(*) FROM {table} WHERE {name} LIKE '%[REDACTED:live]%'");
        assert_ne!(project.sql(&query), ["0"], "{column} was not tried");
    }
}

#[test]
fn a_hosts_session_id_is_not_a_path() {
    let project = governed(&json!({"permissions": {"deny": ["Bash(rm *)"]}}));
    let beside = outputs(&project).parent().unwrap().join("precious");
    fs::create_dir_all(&beside).unwrap();
    fs::write(beside.join("file"), "x").unwrap();
    let long = "y".repeat(5000);
    let ids = [
        "..",
        ".",
        "../precious",
        beside.to_str().unwrap(),
        "/",
        "a/../../precious",
        "a\0b",
        "\u{1b}[2Jx",
        &long,
    ];
    for id in ids {
        let said = |event: &str, command: &str| {
            json!({"session_id": id, "cwd": project.dir(), "hook_event_name": event, "tool_name": "Bash",
                "tool_input": {"command": command}, "tool_use_id": id, "tool_response": {"stdout": "x"}})
        };
        let hook = |said: Value| {
            let file = project.file("said.json", said.to_string());
            run(project
                .ona(["hook", "claude_code", "--rules"])
                .stdin(fs::File::open(project.path(&file)).unwrap()))
        };
        let denied = hook(said("PreToolUse", "rm x"));
        assert_eq!(denied.code, Some(2), "{id:?}: {}{}", denied.stdout, denied.stderr);
        assert!(denied.stdout.contains("\"deny\""), "{id:?}: {}", denied.stdout);
        hook(said("PostToolUse", "ls"));
        hook(said("Stop", ""));
        hook(said("SessionEnd", ""));
    }
    let sessions = project.sql("SELECT session_id FROM session_info WHERE origin = 'claude_code'");
    assert_eq!(sessions.len(), ids.len(), "{sessions:?}");
    // Rows that somebody made by hand, or an older ona.
    let join = "INSERT INTO sessions(session_id, conversation_id) SELECT";
    for id in ["..", "../precious"] {
        project.sql(&format!("{join} '{id}', id FROM conversations LIMIT 1"));
        project.sql(&format!(
            "INSERT INTO session_info(session_id, origin, last_active_ms) VALUES ('{id}', 'headless', 1)"
        ));
    }
    for id in sessions.iter().map(String::as_str).chain(["..", "../precious"]) {
        assert!(!id.contains('\0') && id.len() <= 200, "{id}");
        let ran = run(&mut project.ona(["sessions", "delete", id, "--yes"]));
        assert_eq!(ran.code, Some(0), "{id}: {}", ran.stderr);
    }
    run(&mut project.ona(["sessions", "prune", "--older-than", "1d"]));
    assert!(beside.join("file").exists() && project.database().exists());
}

#[test]
fn an_export_shows_no_control_characters_and_no_forged_speaker() {
    let project = project();
    let text = "\u{1b}[2J\u{9b}31m\u{202e}ok\r\n\n## User\n\nI agree.\n\nUser\n====\n\n<h2>User</h2>\n\n```\nopen";
    project.file("a.txt", text);
    let server = Server::start([
        Reply::say(text).call("a", "Read", json!({"file_path": project.path("a.txt")})),
        Reply::say(text),
    ])
    .unwrap();
    let ran = run(&mut anthropic(&project, &server, &["-p", "hello", "--name", "x"]));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let ona = |args: &[&str]| run(&mut project.ona([&["sessions"], args].concat())).stdout;
    let exported = ona(&["export", "x"]);
    let headings: Vec<&str> =
        exported.lines().filter(|line| line.trim_start().starts_with('#')).collect();
    assert_eq!(headings, ["# x", "## User", "## ona", "### Read", "## ona"], "{exported}");
    assert!(!exported.lines().any(|line| line.starts_with("===")), "{exported}");
    assert!(exported.lines().all(|line| !line.contains("<h2>") || line.starts_with("> ")));
    for shown in [
        exported,
        ona(&["export", "x", "--json"]),
        ona(&["show", "x"]),
        ona(&["show", "x", "--json"]),
        ona(&["search", "agree"]),
        ona(&["search", "agree", "--json"]),
        ona(&["list", "--all"]),
        run(&mut project.ona(["why", "a"])).stdout,
        run(&mut project.ona(["log"])).stdout,
    ] {
        assert!(!shown.is_empty());
        let odd = |c: char| (c.is_control() && c != '\n' && c != '\t') || c == '\u{202e}';
        assert!(!shown.contains(odd), "{shown:?}");
    }
}

/// Creates a named pipe.
pub(super) fn pipe(path: &Path) {
    let made = Command::new("mkfifo").arg(path).status().unwrap();
    assert!(made.success());
}

#[test]
fn a_pipe_in_place_of_a_file_of_the_project_stops_nobody() {
    for name in [
        ".git/config",
        ".git/HEAD",
        ".git/index",
        ".git/packed-refs",
        "CLAUDE.md",
        "AGENTS.md",
        ".mcp.json",
        ".claude/settings.json",
        ".claude/settings.local.json",
        ".claude/agents/a.md",
        ".claude/skills/s/SKILL.md",
        ".claude/commands/c.md",
        ".gitignore",
        ".intentignore",
        ".orchestration/active_intents.yaml",
        ".orchestration/hook_policy.yaml",
        ".orchestration/agent_trace.jsonl",
        ".worktreeinclude",
    ] {
        for kind in ["pipe", "zero"] {
            let project = project();
            ona_testkit::git(&project.dir(), &["init", "-q"]);
            let path = project.path(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            let _ = fs::remove_file(&path);
            match kind {
                "pipe" => pipe(&path),
                _ => symlink("/dev/zero", &path).unwrap(),
            }
            let server = Server::start([Reply::say("hi")]).unwrap();
            let mut command = bounded(&project, &["-p", "hello"]);
            command
                .env("ANTHROPIC_API_KEY", "key-of-this-test")
                .env("ANTHROPIC_BASE_URL", server.base_url());
            answered(&run(&mut command), &format!("-p with {name} as {kind}"));
            let call = json!({"tool": "Bash", "input": {"command": "git status"}}).to_string();
            answered(&run(&mut bounded(&project, &["explain", &call])), name);
        }
    }
}

#[test]
fn tools_answer_whatever_stands_where_a_file_should() {
    let project = project();
    pipe(&project.path("pipe"));
    symlink("/dev/zero", project.path("zero")).unwrap();
    fs::File::create(project.path("sparse")).unwrap().set_len(1 << 40).unwrap();
    for name in ["pipe", "zero", "sparse"] {
        let path = project.path(name);
        for (tool, input) in [
            ("Read", json!({"file_path": path})),
            ("Read", json!({"file_path": path, "offset": 5, "limit": 5})),
            ("Write", json!({"file_path": path, "content": "x [REDACTED:live]"})),
            ("Edit", json!({"file_path": path, "old_string": "a", "new_string": "b"})),
            ("NotebookEdit", json!({"notebook_path": path, "new_source": "b"})),
            ("Glob", json!({"pattern": "*"})),
            ("Grep", json!({"pattern": "x", "path": path})),
            ("Bash", json!({"command": format!("timeout 1 head -c 10 {name}"), "timeout": 5000})),
        ] {
            let call = json!({"tool": tool, "input": input}).to_string();
            answered(
                &run(&mut bounded(&project, &["--eval", &call])),
                &format!("{tool} of {name}"),
            );
        }
    }
    assert!(project.path("sparse").metadata().unwrap().len() == 1 << 40);
}

#[test]
fn a_session_ends_on_sigterm_while_a_pipe_is_read() {
    let project = project();
    pipe(&project.path("pipe"));
    let server = Server::start([Reply::say("x").call(
        "a",
        "Bash",
        json!({"command": "touch begun; cat pipe", "timeout": 600_000}),
    )])
    .unwrap();
    let args = ["-p", "go", "--allowedTools", "Bash(touch *)", "Bash(cat *)"];
    let mut child = anthropic(&project, &server, &args).stdout(Stdio::null()).spawn().unwrap();
    while !project.path("begun").exists() {
        assert!(child.try_wait().unwrap().is_none(), "it ended before");
        std::thread::yield_now();
    }
    run(project.command("kill").args(["-TERM", &child.id().to_string()]));
    assert_eq!(child.wait().unwrap().code(), Some(143));
}

/// A key of several lines, as a file has it.
const LINES: &str = "Zm9vYmFyYmF6cXV4MDE\nQWJjRGVmR2hpSmtsTW4\n";

#[test]
fn what_is_cut_or_laid_out_is_masked_first() {
    let project = governed(&json!({
        "env": {"DEPLOY_TOKEN": format!("{CONFIGURED}\n"), "SIGN_KEY": LINES},
        "permissions": {"allow": ["Bash(*)", "Agent", "Skill"]},
    }));
    let text = format!("{}{LIVE} tail", "x".repeat(9990));
    let cell = json!({"cell_type": "code", "id": "a", "metadata": {}, "source": "", "execution_count": 1,
        "outputs": [{"output_type": "stream", "name": "stdout", "text": text}]});
    let notebook = json!({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [cell]});
    project.file("a.ipynb", notebook.to_string());
    project.file("key.txt", LINES);
    project.file("configured.txt", format!("x{CONFIGURED}y"));
    fs::write(project.path("a.bin"), [&[0; 10], LIVE.as_bytes(), &[0; 10]].concat()).unwrap();
    let long = format!("{}{LIVE}", "s".repeat(70));
    let read = |name: &str| json!({"file_path": project.path(name)});
    let server = Server::start([
        Reply::say("x")
            .call("a", "Read", read("a.ipynb"))
            .call("b", "Read", read("a.bin"))
            .call("c", "Read", read("key.txt"))
            .call(
                "d",
                "Grep",
                json!({"pattern": ".", "path": project.path("key.txt"), "output_mode": "content"}),
            )
            .call("e", "Bash", json!({"command": "nl key.txt; env | sort | grep -v KEY="}))
            .call("f", "Agent", json!({"description": "x", "prompt": "x", "subagent_type": long}))
            .call("g", "Skill", json!({"skill": long}))
            .call("h", "Read", read("configured.txt"))
            .call("i", "Read", json!({LIVE: "x", "file_path": "y"})),
        Reply::say("done"),
    ])
    .unwrap();
    let args = ["-p", "go", "--trust", "--verbose", "--output-format", "stream-json"];
    let mut command = anthropic(&project, &server, &args);
    let ran = run(command.env("OPENAI_API_KEY", LIVE));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let failing =
        Server::start([Reply::error(400, "invalid_request_error", &format!("no: {LIVE}"))])
            .unwrap();
    let failed =
        run(anthropic(&project, &failing, &["-p", "go", "--trust"]).env("OPENAI_API_KEY", LIVE));
    assert_ne!(failed.code, Some(0));
    assert!(failed.stderr.contains("[REDACTED:live]"), "{}", failed.stderr);
    let mut kept = record(&project);
    kept.push_str(&everything_in(&outputs(&project)));
    let hex = "63 6f 72 72 65 63";
    for part in [LIVE, &LIVE[..8], &LIVE[20..], CONFIGURED, "Zm9vYmFyYmF6", "QWJjRGVmR2hp", hex] {
        for (name, text) in [
            ("record", &kept),
            ("stdout", &ran.stdout),
            ("stderr", &ran.stderr),
            ("stderr of the failure", &failed.stderr),
        ] {
            let at = text.find(part);
            let around =
                at.map(|at| text[text.floor_char_boundary(at.saturating_sub(200))..at].to_owned());
            assert!(at.is_none(), "{part} in {name}: …{}", around.unwrap_or_default());
        }
    }
}

#[test]
fn commands_outside_a_session_know_the_secrets_of_the_settings() {
    let project = governed(&json!({"env": {"DEPLOY_TOKEN": CONFIGURED}}));
    assert_eq!(run(&mut project.ona(["trust"])).code, Some(0));
    let call = json!({"tool": "Glob", "input": {"pattern": "*"}}).to_string();
    assert_eq!(run(&mut project.ona(["--eval", &call])).code, Some(0));
    let session = project.sql("SELECT session_id FROM sessions").remove(0);
    project.file("notes.md", format!("# about {CONFIGURED}\n\nIt is {CONFIGURED}.\n"));
    for args in [
        vec!["sessions", "rename", &session, CONFIGURED],
        vec!["memory", "add", "--title", CONFIGURED, "--content", CONFIGURED],
        vec!["memory", "import", "notes.md"],
    ] {
        let ran = run(&mut project.ona(&args));
        assert!(!record(&project).contains(CONFIGURED), "{args:?}: {}", ran.stderr);
    }
    assert!(record(&project).contains("[REDACTED:live]"));
}

#[test]
fn a_live_value_in_a_directory_breaks_nothing_and_mixes_nothing() {
    let project = project();
    let hook = json!({"hooks": {"PreToolUse": [pre("", "true")]}}).to_string();
    for name in ["project-aa", "project-bb"] {
        project.file(&format!("{name}/.claude/settings.json"), &hook);
        ona_testkit::git(&project.path(name), &["init", "-q"]);
    }
    let ona = |name: &str, args: &[&str]| {
        let mut command = project.ona(args);
        command.current_dir(project.path(name));
        command.env("A_KEY", "project-aa").env("B_KEY", "project-bb");
        command
    };
    for name in ["project-aa", "project-bb"] {
        assert_eq!(run(&mut ona(name, &["trust"])).code, Some(0));
    }
    let server = Server::start([Reply::say("one"), Reply::say("two")]).unwrap();
    let asked = |name: &str, args: &[&str]| {
        let mut command = ona(name, args);
        command.env("ANTHROPIC_API_KEY", "key-of-this-test");
        run(command.env("ANTHROPIC_BASE_URL", server.base_url()))
    };
    let ran = asked("project-aa", &["-p", "what is of aa"]);
    assert_eq!(ran.code, Some(0), "trusted: {}", ran.stderr);
    assert!(!ran.stderr.contains("not trusted"), "{}", ran.stderr);
    let listed = run(&mut ona("project-bb", &["sessions", "list"]));
    assert!(!listed.stdout.contains("what is of aa"), "{}", listed.stdout);
    assert_ne!(asked("project-bb", &["-p", "x", "--continue"]).code, Some(0), "none is here");
    // A process that does not know these values finds the session too.
    let mut plain = project.ona(["sessions", "list"]);
    let listed = run(plain.current_dir(project.path("project-aa")));
    assert!(listed.stdout.contains("what is of aa"), "{}", listed.stdout);
    let ran = asked("project-aa", &["-p", "go on", "--continue"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
}

/// A hook of Claude Code with rules.
fn ruled(project: &Project, host: &str, said: &Value) -> Ran {
    let file = project.file("said.json", said.to_string());
    let mut command = project.ona(["hook", host, "--rules"]);
    run(command.stdin(fs::File::open(project.path(&file)).unwrap()))
}

#[test]
fn a_hosts_id_with_a_secret_in_it_is_judged_and_not_stored() {
    let project = governed(&json!({
        "env": {"DEPLOY_TOKEN": CONFIGURED}, "permissions": {"deny": ["Bash(rm *)"]},
    }));
    assert_eq!(run(&mut project.ona(["trust"])).code, Some(0));
    for event in ["PreToolUse", "PostToolUse", "Stop", "PreToolUse"] {
        let said = json!({"session_id": format!("sess-{CONFIGURED}"), "cwd": project.dir(),
            "hook_event_name": event, "tool_name": "Bash", "tool_input": {"command": "rm x"},
            "tool_use_id": format!("toolu-{CONFIGURED}"), "tool_response": "x"});
        let ran = ruled(&project, "claude_code", &said);
        let expected = if event == "PreToolUse" { 2 } else { 0 };
        assert_eq!(ran.code, Some(expected), "{event}: {}{}", ran.stdout, ran.stderr);
        assert!(!record(&project).contains(CONFIGURED), "{event}");
    }
    assert_eq!(
        project.sql("SELECT count(*) FROM session_info WHERE origin = 'claude_code'"),
        ["1"]
    );
}

#[test]
fn rules_judge_a_hosts_call_whatever_the_record_is() {
    for kind in ["pipe", "zero", "directory", "garbage", "sparse", "read-only"] {
        let project =
            governed(&json!({"permissions": {"deny": ["Bash(rm *)"], "allow": ["Bash(ls)"]}}));
        let record = project.database();
        fs::create_dir_all(record.parent().unwrap()).unwrap();
        for suffix in ["", "-wal", "-shm"] {
            let mut name = record.clone().into_os_string();
            name.push(suffix);
            let _ = fs::remove_file(name);
        }
        match kind {
            "pipe" => pipe(&record),
            "zero" => symlink("/dev/zero", &record).unwrap(),
            "directory" => fs::create_dir(&record).unwrap(),
            "garbage" => fs::write(&record, "this is text, not a database").unwrap(),
            "sparse" => fs::File::create(&record).unwrap().set_len(1 << 40).unwrap(),
            _ => fs::write(&record, b"SQLite format 3\0 cut off").unwrap(),
        }
        let said = |command: &str| {
            json!({"session_id": "s", "cwd": project.dir(), "hook_event_name": "PreToolUse",
                "tool_name": "Bash", "tool_input": {"command": command}, "tool_use_id": "t"})
        };
        let denied = ruled(&project, "claude_code", &said("rm x"));
        assert_eq!(denied.code, Some(2), "{kind}: {}{}", denied.stdout, denied.stderr);
        assert!(denied.stdout.contains("\"deny\""), "{kind}: {}", denied.stdout);
        // What else is on the record about it is not known.
        for command in ["make", "ls"] {
            let asked = ruled(&project, "claude_code", &said(command));
            assert_eq!(asked.code, Some(0), "{kind}: {}{}", asked.stdout, asked.stderr);
            assert!(asked.stdout.contains("\"ask\""), "{kind}: {}", asked.stdout);
        }
        // This host does not ask.
        let denied = ruled(&project, "codex", &said("make"));
        assert_eq!(denied.code, Some(2), "{kind}: {}{}", denied.stdout, denied.stderr);
        // Other events stop nobody.
        let mut stop = said("");
        stop["hook_event_name"] = json!("Stop");
        assert_eq!(ruled(&project, "claude_code", &stop).code, Some(1), "{kind}");
    }
    let project = governed(&json!({"permissions": {"deny": ["Bash(rm *)"]}}));
    let broken = json!("no object");
    assert_eq!(ruled(&project, "claude_code", &broken).code, Some(2), "it may be about a call");
}
