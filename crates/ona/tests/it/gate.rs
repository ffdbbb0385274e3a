//! The one door: hooks, rules, trust and the human, through the real binary.

use std::fs;
use std::process::Stdio;

use ona_testkit::pty::PtyOptions;
use ona_testkit::{Project, run};
use serde_json::{Value, json};

use crate::project;
use crate::site::{Site, open_loopback};

/// A project whose settings the operator trusts.
pub fn governed(settings: &Value) -> Project {
    let project = project();
    project.file(".claude/settings.json", settings.to_string());
    assert_eq!(run(&mut project.ona(["trust"])).code, Some(0));
    project
}

pub fn pre(matcher: &str, command: &str) -> Value {
    json!({"matcher": matcher, "hooks": [{"type": "command", "command": command}]})
}

#[test]
fn every_tool_passes_the_hooks() {
    let note = |event: &str| json!([pre("", &format!("cat >> {event}.jsonl"))]);
    let project = governed(&json!({"hooks": {
        "PreToolUse": note("pre"), "PostToolUse": note("post"), "PostToolUseFailure": note("failure"),
    }}));
    project.file("n.ipynb", r#"{"cells":[],"metadata":{},"nbformat":4,"nbformat_minor":5}"#);
    project.file("a.txt", "x\n");
    let site = Site::page("application/json", r#"{"results": []}"#);
    let search = json!({"backend": "searxng", "url": site.url("")});
    open_loopback(&project, &json!({"webSearch": search}));
    let calls = [
        ("Read", json!({"file_path": "a.txt"})),
        ("Write", json!({"file_path": "new.txt", "content": "x"})),
        ("Edit", json!({"file_path": "a.txt", "old_string": "x", "new_string": "y"})),
        (
            "NotebookEdit",
            json!({"notebook_path": "n.ipynb", "edit_mode": "insert", "cell_type": "code", "new_source": "1"}),
        ),
        ("Bash", json!({"command": "true"})),
        ("Glob", json!({"pattern": "*"})),
        ("Grep", json!({"pattern": "x"})),
        ("WebFetch", json!({"url": site.url("/"), "prompt": "What is it?"})),
        ("WebSearch", json!({"query": "what it is"})),
        (
            "AskUserQuestion",
            json!({"questions": [{"question": "Which?", "header": "One", "options": [
                {"label": "A", "description": ""}, {"label": "B", "description": ""},
            ]}], "answers": {"Which?": "A"}}),
        ),
        ("TodoWrite", json!({"todos": []})),
        ("TaskOutput", json!({"task_id": "none"})),
        ("Agent", json!({"description": "x", "prompt": "x"})),
        ("Skill", json!({"skill": "none"})),
        ("EnterPlanMode", json!({})),
        ("ExitPlanMode", json!({"plan": crate::plan()})),
        ("ListMcpResources", json!({})),
        ("ReadMcpResource", json!({"server": "none", "uri": "x"})),
        ("ToolSearch", json!({"query": "x"})),
        ("Brief", json!({"message": "x"})),
        ("TaskStop", json!({"task_id": "none"})),
    ];
    project.ok("Read", json!({"file_path": "n.ipynb"}));
    let seen = |event: &str, tool: &str| {
        let text = fs::read_to_string(project.path(&format!("{event}.jsonl"))).unwrap_or_default();
        text.lines().filter(|line| line.contains(&format!("\"tool_name\":\"{tool}\""))).count()
    };
    let names: Vec<&str> = ona_tool_names();
    assert_eq!(calls.each_ref().map(|(tool, _)| *tool).to_vec(), names, "a tool is missing here");
    for (tool, input) in calls {
        let after = || seen("post", tool) + seen("failure", tool);
        let before = (seen("pre", tool), after());
        if tool == "ExitPlanMode" {
            // Only a human at a terminal approves a plan.
            let call = json!({"tool": tool, "input": input}).to_string();
            project.pty(["--eval", &call], PtyOptions::default()).wait_exit();
        } else {
            // Some have nothing to work with here, which hooks hear of as well.
            project.eval(tool, input);
        }
        assert_eq!((seen("pre", tool), after()), (before.0 + 1, before.1 + 1), "{tool}");
        project.refused(tool, json!({"unknown": 1}));
        assert_eq!(seen("pre", tool), before.0 + 1, "an invalid input is refused before: {tool}");
    }
    project.refused("Bash", json!({"command": "exit 3"}));
    assert_eq!(seen("failure", "Bash"), 1);
}

/// The tools the binary knows, as it says itself.
fn ona_tool_names() -> Vec<&'static str> {
    let said = project().refused("Nope", json!({}));
    let names = said.rsplit_once("the tools are ").unwrap().1.to_owned();
    names.leak().split(", ").collect()
}

#[test]
fn a_rewritten_input_is_judged_like_any_other() {
    let rewrite = |command: &str| {
        let answer = json!({"hookSpecificOutput": {
            "hookEventName": "PreToolUse", "permissionDecision": "allow", "updatedInput": {"command": command},
        }});
        format!("echo '{answer}'")
    };
    let settings = |command: &str| {
        json!({
            "hooks": {"PreToolUse": [pre("Bash", &rewrite(command))]},
            "permissions": {"deny": ["Bash(rm *)"]},
        })
    };
    let project = governed(&settings("echo rewritten"));
    assert_eq!(project.ok("Bash", json!({"command": "echo original"})), "rewritten\n");
    let project = governed(&settings("rm -f a.txt"));
    project.file("a.txt", "");
    let said = project.refused("Bash", json!({"command": "echo original"}));
    assert!(said.contains("denied by the rule Bash(rm *)"), "{said}");
    assert!(project.path("a.txt").exists());
    let project = governed(&settings(""));
    let said = project.refused("Bash", json!({"command": "echo original"}));
    assert!(said.contains("the input was replaced by an invalid one"), "{said}");
}

/// A hook that runs `python` with the hook's input in `call` and the command line in `line`.
fn scripted(python: &str) -> Value {
    let command = format!(
        "python3 -c 'import json, sys\ncall = json.load(sys.stdin)\nline = call[\"tool_input\"][\"command\"]\n\
         def put(new): print(json.dumps({{\"hookSpecificOutput\": {{\"hookEventName\": \"PreToolUse\", \
         \"updatedInput\": {{\"command\": new}}}}}}))\n{python}'"
    );
    pre("Bash", &command)
}

#[test]
fn hooks_judge_again_what_a_later_hook_has_made_of_an_input() {
    let guard = scripted("if \"secret\" in line: sys.exit(2)");
    let project = governed(&json!({"hooks": {"PreToolUse": [
        guard, scripted("put(line.replace(\"plain\", \"secret\"))"),
    ]}}));
    assert_eq!(project.ok("Bash", json!({"command": "echo fine"})), "fine\n");
    let said = project.refused("Bash", json!({"command": "echo plain > made"}));
    assert!(said.contains("denied by a PreToolUse hook"), "{said}");
    assert!(!project.path("made").exists());
}

#[test]
fn a_hook_that_adds_to_an_input_adds_once() {
    let add = |word: &str| scripted(&format!("put(line + \" {word}\")"));
    let project = governed(&json!({"hooks": {"PreToolUse": [add("one"), add("two")]}}));
    assert_eq!(project.ok("Bash", json!({"command": "echo zero"})), "zero one two\n");
    let runs = project.sql("SELECT count(*) FROM hook_invocations WHERE hook_event = 'PreToolUse'");
    assert_eq!(runs, ["4"], "each judges what runs");
}

#[test]
fn a_hook_may_write_the_record_itself() {
    let project = governed(&json!({"hooks": {"PreToolUse": [pre(
        "Bash",
        "sqlite3 \"$AGENT_SDLC_DB\" \"INSERT INTO state(conversation_id, key, value) VALUES ('c', 'hook', 'was here')\"",
    )]}}));
    project.ok("Bash", json!({"command": "true"}));
    assert_eq!(project.sql("SELECT value FROM state WHERE key = 'hook'"), ["was here"]);
}

#[test]
fn explain_says_what_then_happens() {
    let project = governed(&json!({"permissions": {
        "deny": ["Bash(rm *)", "Read(.env)"], "ask": ["Bash(git push *)"], "allow": ["Bash(make *)"],
    }}));
    project.file(".env", "KEY=1");
    project.file("a.txt", "x");
    for (tool, input) in [
        ("Bash", json!({"command": "rm x"})),
        ("Bash", json!({"command": "make -n || true"})),
        ("Bash", json!({"command": "echo hi"})),
        ("Bash", json!({"command": "sudo rm x"})),
        ("Bash", json!({"command": "cat .env"})),
        ("Read", json!({"file_path": ".env"})),
        ("Read", json!({"file_path": "a.txt"})),
        ("Write", json!({"file_path": ".env", "content": ""})),
        ("Grep", json!({"pattern": "x"})),
        ("Read", json!({"wrong": 1})),
    ] {
        let call = json!({"tool": tool, "input": input}).to_string();
        let explained = run(&mut project.ona(["explain", &call, "--json"]));
        let explained: Value = serde_json::from_str(&explained.stdout).unwrap();
        project.eval(tool, input.clone());
        let denied = project.sql(
            "SELECT count(*) FROM gate_answers WHERE verdict = 'deny'
             AND tool_use_id = (SELECT tool_use_id FROM gate_answers ORDER BY id DESC LIMIT 1)",
        );
        assert_eq!(denied == ["1"], explained["verdict"] == "deny", "{call}: {explained}");
    }
}

#[test]
fn to_explain_is_to_write_nothing() {
    let project = project();
    let explain = || {
        let ran = run(&mut project.ona(["explain", "--bash", "mkdir x"]));
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        ran.stdout
    };
    let told = explain();
    let beside = || {
        let names = fs::read_dir(project.database().parent().unwrap()).unwrap();
        names
            .map(|name| name.unwrap().file_name().into_string().unwrap())
            .filter(|name| name.contains(".db"))
            .collect::<Vec<_>>()
    };
    assert_eq!(beside(), [""; 0], "no record is made");

    // An empty record, an old one, and one that has other conversations only.
    fs::write(project.database(), "").unwrap();
    assert_eq!(explain(), told);
    assert_eq!(fs::read(project.database()).unwrap(), b"");
    run(&mut project.ona(["--init-db"]));
    let tables = ["conversations", "sessions", "settings_snapshot", "events"];
    let rows =
        || tables.map(|table| project.sql(&format!("SELECT count(*) FROM {table}")).join(""));
    assert_eq!(explain(), told);
    assert_eq!(rows(), ["0", "0", "0", "0"]);

    // A call that a dead process left is not settled by a question either.
    project.ok("Bash", json!({"command": "true"}));
    project.sql(
        "INSERT INTO running_calls(tool_use_id, session_id, tool_name, entry_id, owner)
         SELECT 'toolu_dead', session_id, 'Bash', 1, '{}' FROM sessions",
    );
    let before = rows();
    assert_eq!(explain(), told);
    assert_eq!(rows(), before);
    assert_eq!(project.sql("SELECT count(*) FROM running_calls"), ["1"]);
    let unknown = run(&mut project.ona(["explain", "--bash", "ls", "--conversation", "nope"]));
    assert_eq!(unknown.code, Some(2), "{}", unknown.stdout);
}

#[test]
fn what_explain_advises_turns_the_verdict() {
    let project = project();
    let explain = |settings: &Value| -> Value {
        let settings = settings.to_string();
        let args = ["--settings", &settings, "explain", "--json", "--bash", "mkdir x"];
        serde_json::from_str(&run(&mut project.ona(args)).stdout).unwrap()
    };
    let rules =
        |allow: &Value, deny: &Value| json!({"permissions": {"allow": allow, "deny": deny}});
    let found = explain(&rules(&json!(["Bash(mkdir *)", "Bash"]), &json!([])));
    assert_eq!(
        found["to_change_it"],
        json!([
            "remove the allow rule Bash (the command line)",
            "and remove the allow rule Bash(mkdir *) (the command line)"
        ])
    );
    let found = explain(&rules(&json!(["Bash(mkdir *)"]), &json!([])));
    assert_eq!(
        found["to_change_it"],
        json!(["remove the allow rule Bash(mkdir *) (the command line)"])
    );
    assert_eq!(explain(&rules(&json!([]), &json!([])))["verdict"], "ask", "and so it does");
    let found = explain(&rules(&json!([]), &json!(["Bash(mkdir x)", "Bash(mkdir *)"])));
    assert_eq!(
        found["to_change_it"],
        json!([
            "remove the deny rule Bash(mkdir x) (the command line)",
            "and remove the deny rule Bash(mkdir *) (the command line)"
        ])
    );
    // Where the phase and a rule both say no, both have to change.
    project.ok("Bash", json!({"command": "true"}));
    run(&mut project.ona(["--transition", "planning"]));
    let found = explain(&rules(&json!([]), &json!(["Bash(mkdir *)"])));
    assert_eq!(found["verdict"], "deny");
    assert_eq!(
        found["to_change_it"],
        json!([
            "approve a plan, or leave planning",
            "and remove the deny rule Bash(mkdir *) (the command line)"
        ])
    );
}

#[test]
fn where_only_the_organisations_rules_act_no_other_is_offered_or_written() {
    let managed = |project: &Project| {
        let dir = project.home().join("managed");
        fs::create_dir_all(&dir).unwrap();
        fs::write(
            dir.join("managed-settings.json"),
            r#"{"allowManagedPermissionRulesOnly": true}"#,
        )
        .unwrap();
        dir
    };
    let project = project();
    let dir = managed(&project);
    let ran = run(project.ona(["explain", "--bash", "mkdir x"]).env("ONA_MANAGED_DIRS", &dir));
    let only = "change   only managed settings can change it (allowManagedPermissionRulesOnly): add the allow rule Bash(mkdir *)";
    assert!(ran.stdout.contains(only), "{}", ran.stdout);

    let call = json!({"tool": "Bash", "input": {"command": "mkdir made"}});
    let script = format!("ONA_MANAGED_DIRS={} {}", dir.display(), env!("CARGO_BIN_EXE_ona"));
    let shown = at_terminal_with(&script, &project, &call, "y\n");
    assert!(shown.contains("[y]es") && !shown.contains("[a]lways"), "{shown}");

    // Nor does a hook's "always" write what would not act; its yes stands.
    let rule = json!([{"toolName": "Bash", "ruleContent": "mkdir *"}]);
    let answers = crate::answers::answering(&json!([
        {"type": "addRules", "rules": rule, "behavior": "allow", "destination": "localSettings"},
    ]));
    let dir = managed(&answers);
    let script = format!("ONA_MANAGED_DIRS={} {}", dir.display(), env!("CARGO_BIN_EXE_ona"));
    let shown = at_terminal_with(&script, &answers, &call, "");
    assert!(answers.path("made").exists(), "{shown}");
    let why = "\"always\" could not be saved: only the rules of managed settings apply";
    assert!(shown.contains(why), "{shown}");
    assert!(!answers.path(".claude/settings.local.json").exists());
}

#[test]
fn why_and_log_tell_the_story() {
    let project = governed(&json!({"permissions": {"deny": ["Bash(rm *)"]}}));
    let report = project.eval("Bash", json!({"command": "rm x"}));
    let told = run(&mut project.ona(["why", &report.tool_use_id])).stdout;
    for part in [
        "Bash {\"command\":\"rm x\"}",
        "input    pass",
        "hooks    pass  no hook matched",
        "phase    pass  the phase is idle",
        "rules    deny  denied by the rule Bash(rm *) (project (",
        ".claude/settings.json",
        "result   error denied by the rule",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
    assert_eq!(run(&mut project.ona(["why"])).stdout, told, "the latest");
    assert_eq!(
        run(&mut project.ona(["why", &report.tool_use_id[..20]])).stdout,
        told,
        "a beginning"
    );
    let json: Value =
        serde_json::from_str(&run(&mut project.ona(["why", "--json"])).stdout).unwrap();
    assert_eq!(json["answers"][4]["detail"]["rules"][0]["rule"], "Bash(rm *)");
    assert_eq!(run(&mut project.ona(["why", "toolu_nope"])).code, Some(2));

    let log = run(&mut project.ona(["log"])).stdout;
    assert!(
        log.contains("tool.started") && log.contains("tool_rejected, denied by rules"),
        "{log}"
    );
    let lines = run(&mut project.ona(["log", "--json", "--last", "1"])).stdout;
    let line: Value = serde_json::from_str(&lines).unwrap();
    assert_eq!(line["event_type"], "tool.finished");

    let session = line["session_id"].as_str().unwrap();
    for word in [session, &session[..session.len() - 3]] {
        let log = run(&mut project.ona(["log", "--session", word])).stdout;
        assert!(log.contains("tool.started"), "{word}: {log}");
    }
    let ran = run(&mut project.ona(["log", "--session", "nope"]));
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""));
    assert!(ran.stderr.contains("unknown session `nope`\nhint: `ona sessions list"), "{ran:?}");

    let mut follow =
        project.ona(["log", "--follow", "--last", "1"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut shown = std::io::BufReader::new(follow.stdout.take().unwrap());
    let mut line = String::new();
    std::io::BufRead::read_line(&mut shown, &mut line).unwrap();
    project.ok("Bash", json!({"command": "true"}));
    line.clear();
    std::io::BufRead::read_line(&mut shown, &mut line).unwrap();
    assert!(line.contains("tool.started"), "{line}");
    follow.kill().unwrap();
    follow.wait().unwrap();
}

/// Runs ona on a terminal of its own, with `typed` as what the human types.
pub fn at_terminal(project: &Project, call: &Value, typed: &str) -> String {
    at_terminal_with(env!("CARGO_BIN_EXE_ona"), project, call, typed)
}

/// The same, with what stands before the arguments.
fn at_terminal_with(ona: &str, project: &Project, call: &Value, typed: &str) -> String {
    let script = format!("{ona} --eval '{call}' --ask; echo code=$?");
    let mut child = project
        .command("script")
        .args(["-qec", &script, "/dev/null"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), typed.as_bytes()).unwrap();
    String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap()
}

#[test]
fn the_human_decides_and_it_is_recorded() {
    let project = project();
    let call = json!({"tool": "Bash", "input": {"command": "mkdir made"}});
    let shown = at_terminal(&project, &call, "please do not\n");
    assert!(
        shown.contains("lways (Bash(mkdir *) → .claude/settings.local.json), or type"),
        "{shown}"
    );
    assert!(shown.contains("denied by the human: please do not"), "{shown}");
    assert!(!project.path("made").exists());
    let shown = at_terminal(&project, &call, "y\n");
    assert!(shown.contains("\"is_error\":false"), "{shown}");
    assert!(project.path("made").exists());
    let call = json!({"tool": "Bash", "input": {"command": "mkdir again"}});
    at_terminal(&project, &call, "a\n");
    assert!(project.content(".claude/settings.local.json").contains("Bash(mkdir *)"));
    let decisions = project.sql("SELECT decision FROM tool_permission_log ORDER BY id");
    assert_eq!(decisions, ["deny", "allow", "allow"]);
    let reasons = project.sql("SELECT reason_json FROM tool_permission_log ORDER BY id");
    assert!(
        reasons[0].contains("please do not") && reasons[2].contains("settings.local.json"),
        "{reasons:?}"
    );
}

#[test]
fn bad_settings_are_named_and_the_rest_stays_in_force() {
    let project = project();
    project.file(
        ".claude/settings.json",
        r#"{
          // comments are fine
          "permissions": {"deny": ["Bash(rm *)", "Bash(", 5], "defaultMode": "auto"},
          "hooks": {"NoSuchEvent": []},
        }"#,
    );
    project.file(".ona/settings.json", "{ nonsense");
    let ran = run(&mut project.eval_command("Bash", &json!({"command": "rm x"})));
    assert_eq!(ran.code, Some(0));
    assert!(ran.stdout.contains("denied by the rule Bash(rm *)"), "{}", ran.stdout);
    for part in [
        "permissions.deny[1]",
        "permissions.deny[2]",
        "permissions.defaultMode",
        "NoSuchEvent",
        ".ona/settings.json",
    ] {
        assert!(ran.stderr.contains(part), "{part}: {}", ran.stderr);
    }
    // A directory, something huge, a link out of the project.
    fs::remove_file(project.path(".ona/settings.json")).unwrap();
    fs::create_dir(project.path(".ona/settings.json")).unwrap();
    fs::write(project.path(".claude/settings.local.json"), vec![b' '; 50 << 20]).unwrap();
    let ran = run(&mut project.eval_command("Bash", &json!({"command": "rm x"})));
    assert!(ran.stdout.contains("denied by the rule Bash(rm *)"), "{}", ran.stdout);
    assert!(ran.stderr.contains("directory") && ran.stderr.contains("larger"), "{}", ran.stderr);
}

#[test]
fn without_trust_a_projects_allow_rules_do_not_act_and_its_deny_rules_do() {
    let project = project();
    project.file(
        ".claude/settings.json",
        r#"{"permissions": {"allow": ["Bash"], "deny": ["Bash(rm *)"], "defaultMode": "bypassPermissions"}}"#,
    );
    let explain = |command: &str| {
        let ran = run(&mut project.ona(["explain", "--bash", command, "--json"]));
        let value: Value = serde_json::from_str(&ran.stdout).unwrap();
        (value["verdict"].as_str().unwrap().to_owned(), ran.stderr)
    };
    assert_eq!(explain("rm x").0, "deny");
    let (verdict, said) = explain("make");
    assert_eq!(verdict, "ask");
    assert!(said.contains("is not trusted"), "{said}");
    run(&mut project.ona(["trust"]));
    assert_eq!(explain("make").0, "allow");
    assert_eq!(explain("rm x").0, "deny");
}

#[test]
fn config_reads_and_writes_settings() {
    let project = project();
    let ona = |args: &[&str]| run(&mut project.ona(args));
    project.file(
        ".claude/settings.local.json",
        "{\n  // keep me\n  \"model\": \"x\", \"unknown\": {\"b\": 1, \"a\": 2}\n}\n",
    );
    let set = ona(&["config", "set", "permissions.defaultMode", "acceptEdits"]);
    assert_eq!(set.code, Some(0), "{}", set.stderr);
    let text = project.content(".claude/settings.local.json");
    assert!(
        text.contains("// keep me") && text.contains("\"unknown\": {\"b\": 1, \"a\": 2}"),
        "{text}"
    );
    assert!(set.stderr.contains("held back until `ona trust`: "), "{}", set.stderr);
    assert_eq!(ona(&["config", "get", "permissions.defaultMode"]).code, Some(1));
    ona(&["trust"]);
    assert_eq!(ona(&["config", "get", "permissions.defaultMode"]).stdout, "acceptEdits\n");
    assert_eq!(ona(&["config", "get", "permissions.defaultMode", "--scope", "user"]).code, Some(1));
    ona(&["config", "set", "permissions.deny", "[\"Read(.env)\"]", "--scope", "user"]);
    let list: Value = serde_json::from_str(&ona(&["config", "list"]).stdout).unwrap();
    assert_eq!(list["permissions"]["deny"], json!(["Read(.env)"]));
    let paths = ona(&["config", "path"]).stdout;
    assert!(paths.contains("settings.local.json\n") && paths.contains("(missing)"), "{paths}");
    let schema: Value = serde_json::from_str(&ona(&["config", "schema"]).stdout).unwrap();
    assert!(schema["properties"]["permissions"].is_object() || schema["$defs"].is_object());
    assert_eq!(ona(&["config", "get", "x", "--scope", "nowhere"]).code, Some(2));
    // The operator's own snapshot is used as it is, until it is imported over.
    project.ok("Bash", json!({"command": "true"}));
    project.sql("UPDATE settings_snapshot SET json = '{\"permissions\":{\"deny\":[\"Bash\"]}}' WHERE scope = 'effective'");
    let said = project.refused("Bash", json!({"command": "true"}));
    assert!(said.contains("Bash (database)"), "{said}");
    assert_eq!(ona(&["config", "import"]).code, Some(0));
    project.ok("Bash", json!({"command": "true"}));
}

#[test]
fn searches_leave_out_what_may_not_be_read() {
    let project = governed(&json!({"permissions": {"deny": ["Read(.env)", "Read(secrets/**)"]}}));
    project.file(".env", "KEY=needle\n");
    project.file("secrets/deep/x.txt", "needle\n");
    project.file("open.txt", "needle\n");
    let found = project.ok("Grep", json!({"pattern": "needle", "output_mode": "content"}));
    assert_eq!(found, format!("{}:1:needle", project.path("open.txt").display()));
    let listed = project.ok("Glob", json!({"pattern": "**/*"}));
    assert!(listed.contains("open.txt"), "{listed}");
    assert!(!listed.contains(".env") && !listed.contains("secrets"), "{listed}");
    project.refused("Grep", json!({"pattern": "needle", "path": "secrets"}));
    project.refused("Bash", json!({"command": "cat secrets/deep/x.txt"}));
}

#[test]
fn switches_for_hooks() {
    let project = governed(&json!({"hooks": {"PreToolUse": [pre("", "sleep 60")]}}));
    let mut timed = project.eval_command("Bash", &json!({"command": "true"}));
    let report = ona_testkit::report(timed.env("SDLC_HOOK_TIMEOUT_MS", "200"));
    assert!(
        report.is_error && report.content.contains("timed out after 200 ms"),
        "{}",
        report.content
    );
    let mut off = project.eval_command("Bash", &json!({"command": "true"}));
    assert!(!ona_testkit::report(off.env("SDLC_DISABLE_ALL_HOOKS", "1")).is_error);
    let skipped =
        project.sql("SELECT skipped_reason FROM hook_invocations ORDER BY id DESC LIMIT 1");
    assert_eq!(skipped, ["hooks_disabled"]);
}

#[test]
fn secrets_in_settings_do_not_reach_the_record() {
    let project = project();
    let home = project.home().join(".claude");
    fs::create_dir_all(&home).unwrap();
    fs::write(
        home.join("settings.json"),
        r#"{"env": {"ANTHROPIC_API_KEY": "sk-very-secret", "LANGUAGE": "de"}}"#,
    )
    .unwrap();
    project.ok("Bash", json!({"command": "true"}));
    assert_eq!(run(&mut project.ona(["config", "import"])).code, Some(0));
    let snapshots = project.sql("SELECT json FROM settings_snapshot").join("\n");
    assert!(!snapshots.contains("sk-very-secret") && snapshots.contains("LANGUAGE"), "{snapshots}");
}
