//! Ways around the gate that were tried: swapped paths, agents of skills, resources of servers, replaced inputs and
//! outputs, unknown tools of hosts, and invalid messages. None of them leads past it.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use ona_provider::scripted::{Reply, Server};
use ona_testkit::{Project, Ran, run};
use serde_json::{Value, json};

use crate::every_tool::small_server;
use crate::foreign::{denial, hook, payload, select};
use crate::gate::{at_terminal, governed, pre};
use crate::intent_gate;
use crate::print::anthropic;
use crate::project;
use crate::serve::{self, Http};
use crate::skills::{go, result};

pub(super) fn printing(answer: &Value) -> String {
    format!("cat > /dev/null; echo '{answer}'")
}

/// The user's own settings, which need no trust.
pub(super) fn user_settings(project: &Project, settings: &Value) {
    let file = project.home().join(".claude/settings.json");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, settings.to_string()).unwrap();
}

fn explained(project: &Project, tool: &str, input: &Value) -> Value {
    let call = json!({"tool": tool, "input": input}).to_string();
    let ran = run(&mut project.ona(["explain", "--json", &call]));
    serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{}{}", ran.stdout, ran.stderr))
}

/// What stands outside the project, and must stay as it is and unread.
fn outside() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("a.txt"), "outside-word\n").unwrap();
    let notebook = json!({"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5});
    fs::write(dir.path().join("n.ipynb"), notebook.to_string()).unwrap();
    fs::write(dir.path().join("run.sh"), "echo outside-word\n").unwrap();
    dir
}

fn listing(dir: &Path) -> Vec<(String, String)> {
    let mut all: Vec<(String, String)> = fs::read_dir(dir)
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            let content = fs::read_to_string(&path).unwrap();
            (path.file_name().unwrap().to_string_lossy().into_owned(), content)
        })
        .collect();
    all.sort();
    all
}

/// Calls in a directory `sub` of the project, and whether they need to have read their file.
fn calls_in_sub() -> Vec<(&'static str, Value)> {
    vec![
        ("Read", json!({"file_path": "sub/a.txt"})),
        ("Write", json!({"file_path": "sub/new.txt", "content": "x"})),
        ("Write", json!({"file_path": "sub/deep/er/new.txt", "content": "x"})),
        ("Edit", json!({"file_path": "sub/a.txt", "old_string": "word", "new_string": "x"})),
        (
            "NotebookEdit",
            json!({"notebook_path": "sub/n.ipynb", "edit_mode": "insert", "cell_type": "code", "new_source": "1"}),
        ),
        ("Grep", json!({"pattern": "word", "path": "sub", "output_mode": "content"})),
        ("Glob", json!({"pattern": "*", "path": "sub"})),
        ("Bash", json!({"command": "cat sub/a.txt"})),
        ("Bash", json!({"command": "echo x > sub/new.txt"})),
        ("Bash", json!({"command": "cd sub && touch new.txt"})),
        ("Bash", json!({"command": "sub/run.sh"})),
        ("Bash", json!({"command": "PATH=sub run.sh"})),
        ("Bash", json!({"command": "make -C sub"})),
        ("Bash", json!({"command": "ls sub"})),
        ("Bash", json!({"command": "git --git-dir sub/.git log"})),
        ("Bash", json!({"command": "git --work-tree=sub status"})),
    ]
}

/// A project in which a hook of this event puts a link in the place of `sub`.
fn swapping(event: &str, outside: &Path) -> Project {
    let swap = format!("cat > /dev/null; rm -rf sub && ln -s {} sub", outside.display());
    let project = governed(&json!({"hooks": {event: [pre("", &swap)]}}));
    restore(&project, outside);
    project
}

/// The project's own `sub`, with the same files: their content does not give a swap away.
fn restore(project: &Project, outside: &Path) {
    let sub = project.path("sub");
    if sub.is_symlink() {
        fs::remove_file(&sub).unwrap();
    }
    for (name, content) in listing(outside) {
        project.file(&format!("sub/{name}"), content);
    }
}

#[test]
fn what_is_put_in_the_place_of_a_path_while_hooks_run_is_neither_written_nor_read() {
    let outside = outside();
    let before = listing(outside.path());
    for (tool, input) in calls_in_sub() {
        let project = swapping("PreToolUse", outside.path());
        if matches!(tool, "Edit" | "NotebookEdit") {
            // It has been seen before, by the name that it has now.
            project.refused("Read", json!({"file_path": input["file_path"].as_str().or(input["notebook_path"].as_str())}));
            restore(&project, outside.path());
        }
        let said = project.refused(tool, input.clone());
        assert!(said.contains("not what was judged"), "{tool} {input}: {said}");
        assert!(!said.contains("outside-word"), "{tool}: {said}");
        assert_eq!(listing(outside.path()), before, "{tool} {input}");
        let last = project.sql("SELECT stage, verdict FROM gate_answers ORDER BY id DESC LIMIT 1");
        assert_eq!(last, ["rules|deny"], "{tool}");
        let id =
            project.sql("SELECT tool_use_id FROM gate_answers ORDER BY id DESC LIMIT 1").remove(0);
        let why = run(&mut project.ona(["why", &id]));
        assert!(why.stdout.contains("not what was judged"), "{}", why.stdout);
    }
}

#[test]
fn a_yes_is_for_the_place_that_was_judged() {
    let outside = outside();
    let before = listing(outside.path());
    let elsewhere = outside.path().join("a.txt");
    // While the human is asked, the file itself becomes a link.
    let swap = format!("cat > /dev/null; ln -sfn {} made.txt", elsewhere.display());
    let project = governed(&json!({"hooks": {"Notification": [pre("", &swap)]}}));
    for (tool, input) in [
        ("Write", json!({"file_path": "made.txt", "content": "x"})),
        ("Bash", json!({"command": "echo x > made.txt"})),
    ] {
        let _ = fs::remove_file(project.path("made.txt"));
        let shown = at_terminal(&project, &json!({"tool": tool, "input": input}), "y\n");
        assert!(shown.contains("not what was judged"), "{tool}: {shown}");
        assert_eq!(listing(outside.path()), before, "{tool}");
    }
    // What stays in its place is written.
    let quiet = project_with_link(outside.path());
    quiet.ok("Write", json!({"file_path": "own/b.txt", "content": "x"}));
    assert_eq!(quiet.content("real/b.txt"), "x", "a link that was judged is followed");
}

fn project_with_link(_outside: &Path) -> Project {
    let project = project();
    fs::create_dir(project.path("real")).unwrap();
    symlink("real", project.path("own")).unwrap();
    project
}

/// A project with a skill that runs in an agent of its own.
fn with_forked_skill() -> Project {
    let project = project();
    project.file(
        ".claude/skills/look/SKILL.md",
        "---\ndescription: looks\ncontext: fork\nagent: Explore\n---\nFORKED: look at $ARGUMENTS\n",
    );
    project
}

fn agents(project: &Project) -> Vec<String> {
    project.sql("SELECT agent_type FROM agent_runs")
}

/// The model applies the skill, or the user types its name.
fn forked(project: &Project, typed: bool, settings: &Value) -> (Ran, Server) {
    user_settings(project, settings);
    let apply = Reply::new().call("toolu_s", "Skill", json!({"skill": "look", "args": "it"}));
    let rest = [Reply::say("I looked."), Reply::say("Done.")];
    let replies: Vec<Reply> =
        if typed { rest.into() } else { [apply].into_iter().chain(rest).collect() };
    let server = Server::start(replies).unwrap();
    let prompt = if typed { "/look it" } else { "look" };
    (go(project, &server, prompt, &["--output-format", "json"]), server)
}

#[test]
fn a_skill_starts_no_agent_past_rules_and_hooks_about_agents() {
    let no = |command: &str| json!({"hooks": {"PreToolUse": [pre("Agent", command)]}});
    let ask = json!({"hookSpecificOutput": {
        "hookEventName": "PreToolUse", "permissionDecision": "ask", "permissionDecisionReason": "sure?"}});
    let other = json!({"hookSpecificOutput": {"hookEventName": "PreToolUse", "updatedInput":
        {"description": "d", "prompt": "p", "subagent_type": "general-purpose"}}});
    let moved = json!({"permissions": {"deny": ["Agent(general-purpose)"]},
        "hooks": {"PreToolUse": [pre("Agent", &printing(&other))]}});
    for settings in [
        json!({"permissions": {"ask": ["Agent"]}}),
        json!({"permissions": {"ask": ["Agent(Explore)"]}}),
        json!({"permissions": {"deny": ["Agent(Explore)"]}}),
        no("echo guarded >&2; exit 2"),
        no(&printing(&ask)),
        moved,
    ] {
        for typed in [false, true] {
            let project = with_forked_skill();
            let (ran, _server) = forked(&project, typed, &settings);
            assert_eq!(
                agents(&project),
                [""; 0],
                "{settings} {typed}: {}{}",
                ran.stdout,
                ran.stderr
            );
        }
    }
}

#[test]
fn the_agent_of_a_skill_gets_no_tool_that_its_session_does_not_have() {
    for typed in [false, true] {
        let project = with_forked_skill();
        project.file(
            ".claude/skills/hidden/SKILL.md",
            "---\ndescription: hidden\ndisable-model-invocation: true\n---\nHIDDEN\n",
        );
        let skill = |id: &str, name: &str| Reply::new().call(id, "Skill", json!({"skill": name}));
        let apply = skill("toolu_a", "look");
        let rest = [skill("toolu_b", "hidden"), Reply::say("I looked."), Reply::say("Done.")];
        let replies: Vec<Reply> =
            if typed { rest.into() } else { [apply].into_iter().chain(rest).collect() };
        let server = Server::start(replies).unwrap();
        let prompt = if typed { "/look" } else { "look" };
        let ran = go(&project, &server, prompt, &["--tools", "Read,Skill"]);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        let requests = server.requests();
        let agents = requests.iter().filter(|request| request.body.to_string().contains("FORKED"));
        let offered: Vec<Vec<&str>> = agents
            .map(|request| {
                let tools = request.body["tools"].as_array().unwrap();
                tools.iter().filter_map(|tool| tool["name"].as_str()).collect()
            })
            .collect();
        assert!(!offered.is_empty(), "{typed}");
        assert!(
            offered.iter().flatten().all(|tool| ["Read", "Skill"].contains(tool)),
            "{offered:?}"
        );
        let told = requests.iter().any(|request| request.body.to_string().contains("HIDDEN\\n"));
        assert!(!told, "{typed}");
    }
}

#[test]
fn the_agent_of_a_skill_is_a_call_on_the_record() {
    let project = with_forked_skill();
    let note = |event: &str| json!([pre("Agent", &format!("cat >> {event}.jsonl"))]);
    let hooks = json!({"hooks": {"PreToolUse": note("pre"), "PostToolUse": note("post")}});
    let (ran, _server) = forked(&project, false, &hooks);
    assert!(ran.stdout.contains("Done."), "{}{}", ran.stdout, ran.stderr);
    assert_eq!(agents(&project), ["Explore"]);
    assert!(result(&project, "toolu_s").contains("I looked."));
    let heard: Value = serde_json::from_str(&project.content("pre.jsonl")).unwrap();
    assert_eq!(
        (&heard["tool_name"], &heard["tool_input"]["subagent_type"]),
        (&json!("Agent"), &json!("Explore"))
    );
    let prompt = heard["tool_input"]["prompt"].as_str().unwrap();
    assert!(
        prompt.contains("FORKED: look at it"),
        "the guard sees what the agent is told: {prompt}"
    );
    assert!(project.content("post.jsonl").contains("I looked."));
    let stages = project.sql(
        "SELECT count(*) FROM gate_answers WHERE stage = 'rules' AND verdict = 'allow' AND tool_use_id IN
         (SELECT tool_use_id FROM transcript_entries WHERE json_extract(payload_json, '$.name') = 'Agent'
          OR json_extract(payload_json, '$.tool_name') = 'Agent')",
    );
    assert_eq!(stages, ["1"]);
    // `explain` tells of that hook in advance.
    let told = explained(&project, "Skill", &json!({"skill": "look"}));
    assert_eq!(told["verdict"], "allow", "{told}");
    assert!(told["hooks"].to_string().contains("pre.jsonl"), "{told}");
}

/// Sets the server Small up for the project.
fn own_server(project: &Project) {
    project.file(".mcp.json", small_server());
    assert_eq!(run(&mut project.ona(["trust"])).code, Some(0));
}

/// A turn with the server Small, in which the model makes these calls.
fn with_server(project: &Project, calls: &[(&str, &str, Value)], args: &[&str]) -> Ran {
    let replies = calls.iter().map(|(id, tool, input)| Reply::new().call(id, tool, input.clone()));
    let server = Server::start(replies.chain([Reply::say("Done.")]).collect::<Vec<_>>()).unwrap();
    let config = small_server();
    let ran = run(anthropic(project, &server, &["-p", "go", "--mcp-config", &config]).args(args));
    assert!(ran.stdout.contains("Done."), "{}{}", ran.stdout, ran.stderr);
    ran
}

#[test]
fn a_rule_about_a_server_is_about_its_resources() {
    let read = json!({"server": "Small", "uri": "small://motd"});
    let calls = [
        ("toolu_r", "ReadMcpResource", read.clone()),
        ("toolu_l", "ListMcpResources", json!({"server": "Small"})),
        ("toolu_a", "ListMcpResources", json!({})),
    ];
    let project = project();
    with_server(&project, &calls, &[]);
    for id in ["toolu_r", "toolu_l", "toolu_a"] {
        assert!(
            result(&project, id).contains("motd")
                || result(&project, id).contains("message of the day"),
            "{id}"
        );
    }
    for rule in ["mcp__small", "mcp__small__*"] {
        let project = crate::project();
        with_server(&project, &calls, &["--disallowedTools", rule]);
        for id in ["toolu_r", "toolu_l"] {
            assert!(
                result(&project, id).contains("denied by the rule"),
                "{rule}: {}",
                result(&project, id)
            );
        }
        assert_eq!(result(&project, "toolu_a"), "No resources found", "{rule}");
    }
    // A question about the list of all servers is about each of them.
    let project = crate::project();
    user_settings(&project, &json!({"permissions": {"ask": ["mcp__small"]}}));
    with_server(&project, &calls, &[]);
    for id in ["toolu_r", "toolu_l", "toolu_a"] {
        assert!(
            result(&project, id).contains("no user is available"),
            "{id}: {}",
            result(&project, id)
        );
    }
    // Of a question and a no, the no counts.
    let project = crate::project();
    user_settings(
        &project,
        &json!({"permissions": {"ask": ["mcp__small"], "deny": ["ReadMcpResource"]}}),
    );
    own_server(&project);
    let told = explained(&project, "ReadMcpResource", &read);
    assert_eq!(told["verdict"], "deny", "{told}");
}

#[test]
fn an_input_that_is_moved_to_a_denied_server_is_denied() {
    let input = json!({"server": "Small", "uri": "small://motd"});
    let moved = json!({"hookSpecificOutput": {
        "hookEventName": "PreToolUse", "permissionDecision": "allow", "updatedInput": input}});
    let project = project();
    user_settings(
        &project,
        &json!({"permissions": {"deny": ["mcp__small"]},
            "hooks": {"PreToolUse": [pre("ReadMcpResource|ListMcpResources", &printing(&moved))]}}),
    );
    with_server(
        &project,
        &[("toolu_r", "ReadMcpResource", json!({"server": "Other", "uri": "x://y"}))],
        &[],
    );
    assert!(
        result(&project, "toolu_r").contains("denied by the rule"),
        "{}",
        result(&project, "toolu_r")
    );
}

#[test]
fn a_hook_about_agents_stops_the_turn_of_a_skill_that_starts_one() {
    let stops = json!({"hooks": {"PreToolUse":
        [pre("Agent", &printing(&json!({"continue": false, "stopReason": "halt"})))]}});
    for typed in [false, true] {
        let project = with_forked_skill();
        let (ran, server) = forked(&project, typed, &stops);
        assert_eq!(ran.code, Some(1), "{typed}: {}{}", ran.stdout, ran.stderr);
        assert_eq!(server.requests().len(), usize::from(!typed), "{}", ran.stdout);
        assert!(format!("{}{}", ran.stdout, ran.stderr).contains("halt"), "{}", ran.stdout);
    }
}

#[test]
fn a_hook_answers_in_the_place_of_a_servers_tool() {
    let secret = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
    for (given, shown) in [
        (json!("another answer"), "another answer"),
        (json!([{"type": "text", "text": "in a block"}]), "in a block"),
        (json!({"content": [{"type": "text", "text": "as a result"}]}), "as a result"),
        (json!(format!("token {secret}")), "token "),
    ] {
        let answer = json!({"hookSpecificOutput": {
            "hookEventName": "PostToolUse", "updatedMCPToolOutput": given}});
        let project = project();
        user_settings(
            &project,
            &json!({"hooks": {"PostToolUse": [pre("mcp__.*", &printing(&answer))]}}),
        );
        let greet = ("toolu_g", "mcp__small__greet", json!({"name": "Ada"}));
        with_server(&project, &[greet], &["--allowedTools", "mcp__small"]);
        let said = result(&project, "toolu_g");
        assert!(said.starts_with(shown), "{given}: {said}");
        assert!(!said.contains("Hello, Ada") && !said.contains(secret), "{said}");
    }
    // It replaces nothing else.
    let answer = json!({"hookSpecificOutput": {
        "hookEventName": "PostToolUse", "updatedMCPToolOutput": "another answer"}});
    let project = governed(&json!({"hooks": {"PostToolUse": [pre("Bash", &printing(&answer))]}}));
    let ran = run(&mut project.eval_command("Bash", &json!({"command": "echo own"})));
    assert!(ran.stdout.contains("own\\n") && !ran.stdout.contains("another"), "{}", ran.stdout);
    assert!(ran.stderr.contains("updatedMCPToolOutput"), "{}", ran.stderr);
}

/// Calls of tools whose fate depends on more than rules about their names.
fn calls_to_explain() -> Vec<(&'static str, Value)> {
    let question = json!({"questions": [{"question": "Which?", "header": "H", "multiSelect": false,
        "options": [{"label": "a", "description": "a"}, {"label": "b", "description": "b"}]}]});
    vec![
        ("ListMcpResources", json!({})),
        ("ListMcpResources", json!({"server": "Nobody"})),
        ("ReadMcpResource", json!({"server": "Small", "uri": "small://unlisted"})),
        ("ReadMcpResource", json!({"server": "Nobody", "uri": "x://y"})),
        ("mcp__small__greet", json!({"name": "Ada"})),
        ("AskUserQuestion", question),
        ("Skill", json!({"skill": "plain"})),
        ("Skill", json!({"skill": "allowing"})),
        ("Skill", json!({"skill": "look"})),
        ("Skill", json!({"skill": "none"})),
        ("Skill", json!({"skill": "own"})),
        ("Agent", json!({"description": "d", "prompt": "HELP", "subagent_type": "nobody"})),
        ("Agent", json!({"description": "d", "prompt": "HELP"})),
        ("ExitPlanMode", json!({"plan": "p"})),
        ("EnterPlanMode", json!({})),
        ("WebFetch", json!({"url": "http://127.0.0.1:9/", "prompt": "x"})),
        ("WebFetch", json!({"url": "http://[::1]:9/", "prompt": "x"})),
        ("ToolSearch", json!({"query": "greet"})),
        ("Bash", json!({"command": "touch made"})),
        ("Write", json!({"file_path": "new.txt", "content": "x"})),
        ("Read", json!({"file_path": "a.txt"})),
    ]
}

fn to_explain(mode: &str, rules: &Value) -> Project {
    let project = with_forked_skill();
    for (name, front) in [
        ("plain", ""),
        ("allowing", "allowed-tools: Bash(touch *)\n"),
        ("own", "disable-model-invocation: true\n"),
    ] {
        let text = format!("---\ndescription: {name}\n{front}---\nDo it.\n");
        fs::create_dir_all(project.home().join(".claude/skills").join(name)).unwrap();
        fs::write(project.home().join(".claude/skills").join(name).join("SKILL.md"), text).unwrap();
    }
    project.file("a.txt", "a\n");
    let mut permissions = rules.clone();
    permissions["defaultMode"] = mode.into();
    user_settings(&project, &json!({"permissions": permissions}));
    own_server(&project);
    project
}

#[test]
fn for_every_tool_explain_says_what_a_turn_then_does() {
    let none = json!({});
    let some = json!({"ask": ["Agent", "mcp__small"], "allow": ["WebFetch", "Skill"], "deny": ["Skill(plain)"]});
    let unlisted = json!({"server": "Small", "uri": "small://unlisted"});
    let unlisted = ("ReadMcpResource", &unlisted);
    for (mode, rules) in [
        ("default", &none),
        ("acceptEdits", &none),
        ("plan", &none),
        ("dontAsk", &none),
        ("bypassPermissions", &none),
        ("default", &some),
        ("dontAsk", &some),
    ] {
        for (tool, input) in calls_to_explain() {
            let case = format!("{mode} {rules} {tool} {input}");
            let project = to_explain(mode, rules);
            let told = explained(&project, tool, &input);
            let call = ("toolu_x", tool, input.clone());
            // An agent that starts answers first.
            let replies =
                [Reply::new().call(call.0, call.1, call.2), Reply::say("one"), Reply::say("two")];
            let server = Server::start(replies).unwrap();
            let args = ["-p", "go", "--output-format", "json"];
            let ran = run(&mut anthropic(&project, &server, &args));
            let failed = project.sql(
                "SELECT json_extract(payload_json, '$.is_error') FROM transcript_entries
                 WHERE tool_use_id = 'toolu_x' AND entry_type = 'tool_result'",
            );
            assert_eq!(failed.len(), 1, "{case}: {}{}", ran.stdout, ran.stderr);
            let failed = matches!(failed[0].as_str(), "1" | "true");
            // Nobody is there to ask, so a question is a no by the stage `human`.
            let asked = project.sql(
                "SELECT count(*) FROM gate_answers WHERE stage = 'human' AND verdict = 'deny'",
            );
            let happened = match (failed, asked[0].as_str()) {
                // Only the server could tell whether it lists the resource.
                (true, "0") if mode == "dontAsk" && unlisted == (tool, &input) => "ask",
                (false, _) => "allow",
                (true, "0") => "deny",
                (true, _) => "ask",
            };
            assert_eq!(told["verdict"], happened, "{case}: {told} {}", result(&project, "toolu_x"));
        }
    }
}

#[test]
fn what_explain_advises_is_true() {
    for (tool, input) in calls_to_explain() {
        let project = to_explain("default", &json!({"ask": ["Agent", "mcp__small"]}));
        let told = explained(&project, tool, &input);
        let steps: Vec<&str> =
            told["to_change_it"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        let mut rules = json!({"allow": [], "deny": [], "ask": ["Agent", "mcp__small"]});
        let mut is_setting = true;
        for step in &steps {
            let step = step.trim_start_matches("and ");
            if let Some((kind, rule)) =
                step.strip_prefix("add the ").and_then(|rest| rest.split_once(" rule "))
            {
                rules[kind].as_array_mut().unwrap().push(rule.into());
            } else if let Some((kind, rule)) =
                step.strip_prefix("remove the ").and_then(|rest| rest.split_once(" rule "))
            {
                let rule = rule.split(" (").next().unwrap();
                rules[kind].as_array_mut().unwrap().retain(|known| known != rule);
            } else {
                is_setting = false;
            }
        }
        if is_setting {
            user_settings(&project, &json!({"permissions": rules}));
            let then = explained(&project, tool, &input);
            assert_ne!(then["verdict"], told["verdict"], "{tool} {input}: {told}");
        }
    }
}

#[test]
fn a_tool_of_a_host_that_nobody_knows_may_be_a_write() {
    let closed = "failure_mode: closed\n";
    let project = intent_gate::governed(closed);
    let call = |tool: &str, id: &str| {
        hook(&project, &payload(&project, "PreToolUse", tool, id, json!({"x": 1})))
    };
    assert_eq!(denial(&call("StrangeTool", "toolu_1"))["type"], "intent_required");
    for harmless in ["TodoWrite", "Task", "ExitPlanMode", "update_plan", "BashOutput"] {
        let ran = call(harmless, &format!("toolu_{harmless}"));
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), ""), "{harmless}: {}", ran.stderr);
    }
    select(&project);
    // Within an intent the human is asked, and is told why.
    let ran = call("StrangeTool", "toolu_2");
    let said: Value = serde_json::from_str(&ran.stdout)
        .unwrap_or_else(|_| panic!("{}{}", ran.stdout, ran.stderr));
    let said = &said["hookSpecificOutput"];
    assert_eq!(said["permissionDecision"], "ask", "{said}");
    assert!(said["permissionDecisionReason"].as_str().unwrap().contains("StrangeTool"), "{said}");
    // The operator knows better.
    let project = intent_gate::governed("failure_mode: closed\ntools: {readonly: [StrangeTool]}\n");
    let ran = hook(&project, &payload(&project, "PreToolUse", "StrangeTool", "toolu_3", json!({})));
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), ""), "{}", ran.stderr);
}

#[test]
fn what_a_host_ran_without_asking_is_traced_as_that() {
    let project = intent_gate::governed("");
    select(&project);
    let file = project.file("src/a.txt", "three\n");
    let input = json!({"file_path": file, "old_string": "two", "new_string": "three"});
    let ran = hook(&project, &payload(&project, "PostToolUse", "Edit", "toolu_9", input));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let entry = intent_gate::trace(&project).pop().unwrap();
    assert_eq!(entry["scope_validation"], "FAIL", "{entry}");
    assert!(entry["intent_id"].is_null(), "{entry}");
    assert!(entry["warnings"].to_string().contains("not_asked_before"), "{entry}");
    let events =
        project.sql("SELECT count(*) FROM events WHERE event_type = 'ran_without_judgement'");
    assert_eq!(events, ["1"]);
}

/// Invalid messages and unknown methods, with the code that answers each.
const ODD_MESSAGES: [(&str, i64); 12] = [
    ("{\"jsonrpc\":\"2.0\",\"id\":2,", -32700),
    ("not json", -32700),
    ("[]", -32600),
    ("5", -32600),
    ("{}", -32600),
    (r#"{"jsonrpc":"2.0","id":3}"#, -32600),
    (r#"{"id":4,"method":"ping"}"#, -32600),
    (r#"{"jsonrpc":"2.0","id":5,"method":"nope/x"}"#, -32601),
    (
        r#"{"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"Read","arguments":"str"}}"#,
        -32602,
    ),
    (
        r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"rm","arguments":{}}}"#,
        -32602,
    ),
    (r#"{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"arguments":{}}}"#, -32602),
    (r#"{"jsonrpc":"2.0","id":9,"method":"tools/call"}"#, -32602),
];

#[test]
fn what_is_no_call_is_answered_with_its_code() {
    let project = project();
    let id = |message: &str| {
        let said: Value = serde_json::from_str(message).unwrap_or_default();
        said.get("id").cloned().unwrap_or_default()
    };
    let mut server = serve::Server::greeted(&mut project.ona(["mcp", "serve"]));
    for (message, code) in ODD_MESSAGES {
        server.send(message);
        let answer = server.receive();
        assert_eq!(
            (&answer["error"]["code"], &answer["id"]),
            (&json!(code), &id(message)),
            "{message}: {answer}"
        );
    }
    // It goes on.
    assert!(server.request("ping", &json!({}))["result"].is_object());
    assert_eq!(server.close().0, Some(0));
    let http = Http::started(&mut project.ona(["mcp", "serve", "--http", "0"]));
    let session = http.session();
    for (message, code) in ODD_MESSAGES {
        let (status, body) = http.post("/mcp", &[("Mcp-Session-Id", &session)], message);
        // It may come in pieces, each after its length.
        let answer = body.lines().find(|line| line.starts_with('{'));
        let answer = answer.unwrap_or_else(|| panic!("{message}: {status} {body}"));
        let answer: Value = serde_json::from_str(answer).unwrap();
        assert_eq!(
            (&answer["error"]["code"], &answer["id"]),
            (&json!(code), &id(message)),
            "{message}: {answer}"
        );
    }
    // Another page's message is refused as such.
    let (status, _) = http.post("/mcp", &[("Origin", "http://evil.example")], "not json");
    assert_eq!(status, 403);
    assert_eq!(
        project.sql("SELECT count(*) FROM transcript_entries WHERE entry_type = 'tool_use'"),
        ["0"]
    );
}
