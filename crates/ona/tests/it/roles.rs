//! `ona -p --agent NAME`: the main agent as one that a file describes.

use std::fs;
use std::io::Write as _;
use std::process::Stdio;

use ona_provider::scripted::{Reply, Server};
use ona_testkit::{Project, Ran, run};
use serde_json::{Value, json};

use crate::print::{anthropic, lines};
use crate::project;

fn agent(project: &Project, keys: &str) {
    let text = format!("---\nname: lead\ndescription: leads\n{keys}---\nYou lead.");
    project.file(".claude/agents/lead.md", text);
}

fn go(project: &Project, server: &Server, args: &[&str]) -> Ran {
    run(anthropic(project, server, &["-p"]).args(args))
}

fn tools(request: &Value) -> Vec<&str> {
    request["tools"].as_array().unwrap().iter().map(|t| t["name"].as_str().unwrap()).collect()
}

#[test]
fn the_main_agent_is_what_its_file_says() {
    let project = project();
    let log = "cat >> seen.log; echo >> seen.log";
    agent(
        &project,
        &format!(
            "tools: Read, Write, Agent(Explore)\ndisallowedTools: Write\nmodel: opus\nmaxTurns: 2\n\
             permissionMode: plan\nskills: house\ninitialPrompt: Begin here.\nhooks:\n  Stop:\n    - hooks:\n        \
             - type: command\n          command: \"{log}\"\n  SessionStart:\n    - hooks:\n        - type: command\n          \
             command: \"{log}\"\n"
        ),
    );
    project.file(".claude/skills/house/SKILL.md", "---\ndescription: x\n---\nThe house style.");
    let call = |id: &str, input: Value| Reply::new().call(id, "Agent", input);
    let server = Server::start([
        Reply::new().call("toolu_w", "Write", json!({"file_path": "a", "content": "x"})).call(
            "toolu_a",
            "Agent",
            json!({"description": "x", "prompt": "HELP", "subagent_type": "general-purpose"}),
        ),
        call("toolu_b", json!({"description": "x", "prompt": "HELP", "subagent_type": "Plan"})),
        Reply::say("never asked"),
    ])
    .unwrap();
    let args = ["go on", "--agent", "lead", "--output-format", "stream-json", "--trust"];
    let ran = go(&project, &server, &args);
    let all = lines(&ran);
    assert_eq!((&all[0]["agent"], &all[0]["permissionMode"]), (&json!("lead"), &json!("plan")));
    assert_eq!(all.last().unwrap()["subtype"], "error_max_turns", "{}", ran.stderr);
    let first = &server.requests()[0].body;
    assert_eq!(first["model"], "claude-opus-4-20250514");
    let system = first["system"].to_string();
    assert!(system.contains("You lead.") && !system.contains("You are ona"), "{system}");
    assert!(system.contains("The house style."), "{system}");
    assert_eq!(tools(first), ["Read", "Agent"]);
    let described = first["tools"][1]["description"].as_str().unwrap();
    assert!(described.contains("- Explore:") && !described.contains("- Plan:"), "{described}");
    let said = first["messages"].to_string();
    assert!(said.find("Begin here.").unwrap() < said.find("go on").unwrap(), "{said}");
    let told = server.requests()[1].body["messages"].to_string();
    assert!(told.contains("unknown tool `Write` in this session"), "{told}");
    assert!(
        told.contains("the agent lead cannot start general-purpose; it can start Explore"),
        "{told}"
    );
    let started: Value =
        serde_json::from_str(project.content("seen.log").lines().next().unwrap()).unwrap();
    assert_eq!(started["hook_event_name"], "SessionStart");
    assert_eq!(started["agent_type"], "lead");
    assert_eq!(
        project.sql("SELECT json_extract(detail, '$.agent') FROM events WHERE event_type = 'session.started'"),
        ["lead"]
    );

    // What the command line says counts above the file; Stop stays Stop.
    let server = Server::start([Reply::say("Done.")]).unwrap();
    let more = ["--model", "sonnet", "--system-prompt", "Be brief.", "--tools", "Read,Glob"];
    let ran = go(&project, &server, &[&["--agent", "lead", "--trust"], &more[..]].concat());
    assert_eq!(ran.stdout, "Done.\n", "{}", ran.stderr);
    let asked = &server.requests()[0].body;
    assert_eq!((&asked["model"], tools(asked)), (&json!("claude-sonnet-4-20250514"), vec!["Read"]));
    assert!(asked["system"].to_string().contains("Be brief."));
    let said = asked["messages"].to_string();
    assert_eq!(said.matches("Begin here.").count(), 1, "it is enough alone: {said}");
    assert!(project.content("seen.log").contains(r#""hook_event_name":"Stop""#));
}

#[test]
fn settings_name_one_too_and_a_name_that_there_is_not_is_refused() {
    let project = project();
    agent(&project, "initialPrompt: Begin here.\npermissionMode: acceptEdits\n");
    let server = Server::start([Reply::say("One."), Reply::say("Two.")]).unwrap();
    let ran = go(&project, &server, &["x", "--agent", "leed"]);
    assert_eq!(ran.code, Some(2));
    let said = "--agent: unknown agent `leed`: did you mean `lead`?; available agents: lead, general-purpose";
    assert!(ran.stderr.contains(said), "{}", ran.stderr);
    fs::create_dir_all(project.home().join(".claude")).unwrap();
    let setting = |name: &str| {
        let json = json!({"agent": name}).to_string();
        fs::write(project.home().join(".claude/settings.json"), json).unwrap();
    };
    setting("nobody");
    let ran = go(&project, &server, &["x"]);
    assert!(ran.stderr.contains("the setting `agent`: unknown agent `nobody`"), "{}", ran.stderr);
    // Calls of the operator and of another agent are not that agent's.
    let read = json!({"tool": "Read", "input": {"file_path": project.path("note.txt")}});
    project.file("note.txt", "a note\n");
    let ran = run(&mut project.ona(["--eval", &read.to_string()]));
    assert!(ran.stdout.contains("a note"), "{}{}", ran.stdout, ran.stderr);
    setting("lead");
    // In a stream, it is said before the first line.
    let args = ["--input-format", "stream-json", "--output-format", "stream-json", "--trust"];
    let mut command = anthropic(&project, &server, &["-p"]);
    let mut child =
        command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let line = |text: &str| json!({"type": "user", "message": {"role": "user", "content": text}});
    let mut input = child.stdin.take().unwrap();
    writeln!(input, "{}\n{}", line("first"), line("second")).unwrap();
    drop(input);
    let out = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
    // A file cannot make the mode laxer than it would be.
    let init: Value = serde_json::from_str(out.lines().next().unwrap()).unwrap();
    assert_eq!(init["permissionMode"], "default");
    let last = server.requests().last().unwrap().body["messages"].clone();
    assert_eq!(last[0]["content"][0]["text"], "Begin here.");
    assert_eq!(last.to_string().matches("Begin here.").count(), 1, "{last}");
}

#[test]
fn a_session_that_goes_on_keeps_its_role() {
    let project = project();
    agent(&project, "tools: Read, Agent\ninitialPrompt: Begin here.\n");
    let other = "---\nname: other\ndescription: x\ntools: Glob\npermissionMode: plan\n---\nOther.";
    project.file(".claude/agents/other.md", other);
    let say = || Server::start([Reply::say("Done.")]).unwrap();
    let has = |args: &[&str]| {
        let server = say();
        let ran = go(&project, &server, args);
        assert_eq!(ran.stdout, "Done.\n", "{}", ran.stderr);
        let asked = &server.requests()[0].body;
        assert_eq!(asked["messages"].to_string().matches("Begin here.").count(), 1, "{asked}");
        tools(asked).join(" ")
    };
    assert_eq!(has(&["one", "--agent", "lead"]), "Read Agent");
    assert_eq!(has(&["two", "--continue"]), "Read Agent");
    let id = project.sql("SELECT session_id FROM sessions").remove(0);
    assert_eq!(has(&["three", "--resume", &id]), "Read Agent");
    assert_eq!(has(&["four", "--resume", &id, "--fork-session"]), "Read Agent");
    assert_eq!(has(&["five", "--continue", "--agent", "other"]), "Glob");
    assert_eq!(has(&["six", "--continue"]), "Glob", "the one it had last");
    // Without its file the session would be free.
    fs::remove_file(project.path(".claude/agents/lead.md")).unwrap();
    let ran = go(&project, &say(), &["seven", "--resume", &id]);
    assert_eq!(ran.code, Some(2));
    let said = "the agent of the resumed session: unknown agent `lead`; available agents: other";
    assert!(ran.stderr.contains(said), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("hint: `--agent NAME` continues as another agent"),
        "{}",
        ran.stderr
    );
    assert!(has(&["eight", "--resume", &id, "--agent", "general-purpose"]).contains("Bash"));
}

#[test]
fn the_session_of_an_agent_that_a_call_started_goes_on_as_what_it_was() {
    let project = project();
    agent(&project, "tools: Read, Bash\n");
    let input =
        json!({"description": "x", "prompt": "HELP", "subagent_type": "lead", "mode": "plan"});
    let server = Server::start([
        Reply::new().call("toolu_a", "Agent", input),
        Reply::say("Helped."),
        Reply::say("Done."),
    ])
    .unwrap();
    go(&project, &server, &["go"]);
    let id = project.sql("SELECT session_id FROM agent_runs").remove(0);
    for _ in 0..2 {
        let server = Server::start([Reply::say("More.")]).unwrap();
        let ran = go(&project, &server, &["on", "--resume", &id, "--output-format", "stream-json"]);
        let all = lines(&ran);
        assert_eq!((&all[0]["agent"], &all[0]["permissionMode"]), (&json!("lead"), &json!("plan")));
        assert_eq!(tools(&server.requests()[0].body), ["Read", "Bash"]);
    }
}
