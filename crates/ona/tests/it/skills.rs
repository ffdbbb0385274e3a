//! Skills and custom commands, taken up by the model or typed by the user.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::Stdio;

use ona_provider::scripted::{Reply, Server};
use ona_testkit::{Project, Ran, run};
use serde_json::{Value, json};

use crate::print::anthropic;
use crate::project;

fn skill(project: &Project, name: &str, text: &str) {
    project.file(&format!(".claude/skills/{name}/SKILL.md"), text);
}

pub fn go(project: &Project, server: &Server, prompt: &str, args: &[&str]) -> Ran {
    run(anthropic(project, server, &["-p", prompt]).args(args))
}

pub fn result(project: &Project, id: &str) -> String {
    let asked = format!(
        "SELECT json_extract(payload_json, '$.content') FROM transcript_entries
         WHERE tool_use_id = '{id}' AND entry_type = 'tool_result'"
    );
    project.sql(&asked).remove(0)
}

pub fn last_asked(server: &Server) -> String {
    server.requests().last().unwrap().body["messages"].to_string()
}

#[test]
fn the_model_takes_a_skill_up_and_its_commands_pass_the_gate() {
    let project = project();
    skill(
        &project,
        "greet",
        "---\ndescription: greets people\n---\nGreet $ARGUMENTS: !`echo nicely` !`touch made`\n",
    );
    skill(&project, "broken", "---\nname: [\n---\nx\n");
    skill(
        &project,
        "own",
        "---\ndescription: for the user\ndisable-model-invocation: true\n---\nx\n",
    );
    let server = Server::start([
        Reply::new().call("toolu_s", "Skill", json!({"skill": "greet", "args": "Ada"})),
        Reply::new().call("toolu_o", "Skill", json!({"skill": "own"})),
        Reply::say("Hello, Ada."),
    ])
    .unwrap();
    let ran = go(&project, &server, "greet Ada", &[]);
    assert_eq!(ran.stdout, "Hello, Ada.\n", "{}", ran.stderr);
    assert!(ran.stderr.contains("broken/SKILL.md"), "{}", ran.stderr);
    let first = server.requests()[0].body["messages"].to_string();
    assert!(first.contains("greet: greets people"), "{first}");
    assert!(!first.contains("for the user"), "{first}");
    let told = last_asked(&server);
    assert!(told.contains("Greet Ada: nicely"), "{told}");
    assert!(told.contains("[failed: ") && !project.path("made").exists(), "{told}");
    assert!(
        result(&project, "toolu_o").contains("only the user"),
        "{}",
        result(&project, "toolu_o")
    );
    // Each of its commands is a call like any other, in a session of its own.
    let calls = project.sql(
        "SELECT count(*), count(DISTINCT session_id) FROM transcript_entries
         WHERE entry_type = 'tool_use' AND payload_json LIKE '%\"Bash\"%'",
    );
    assert_eq!(calls, ["2|1"]);
}

#[test]
fn what_a_skill_allows_is_allowed_while_it_is_active() {
    let project = project();
    skill(
        &project,
        "make",
        "---\ndescription: makes\nallowed-tools: Bash(touch *)\n---\nMake it. !`touch inline`\n",
    );
    let touch = |id: &str, file: &str| {
        Reply::new().call(id, "Bash", json!({"command": format!("touch {file}")}))
    };
    let server = Server::start([
        touch("toolu_1", "before"),
        Reply::new().call("toolu_s", "Skill", json!({"skill": "make"})),
        touch("toolu_2", "during"),
        Reply::say("Made."),
        touch("toolu_3", "after"),
        Reply::say("Refused."),
    ])
    .unwrap();
    // It allows something, so somebody has to agree to it.
    let ran = go(&project, &server, "make it", &["--trust", "--allowedTools", "Skill(make)"]);
    assert_eq!(ran.stdout, "Made.\n", "{}", ran.stderr);
    go(&project, &server, "again", &["--trust", "--continue"]);
    let there = ["before", "inline", "during", "after"].map(|file| project.path(file).exists());
    assert_eq!(there, [false, true, true, false]);
}

#[test]
fn the_user_calls_commands_and_what_is_none_is_said() {
    let project = project();
    project.file(".claude/commands/review.md", "Review $0 with @rules.md now.\n");
    project.file("rules.md", "Be kind.\n");
    let server = Server::start([Reply::say("Reviewed."), Reply::say("Forked.")]).unwrap();
    let ran = go(&project, &server, "/review main.rs", &[]);
    assert_eq!(ran.stdout, "Reviewed.\n", "{}", ran.stderr);
    let told = last_asked(&server);
    assert!(told.contains("Review main.rs with") && told.contains("Be kind."), "{told}");
    let unknown = go(&project, &server, "/reviw main.rs", &[]);
    assert_eq!(unknown.code, Some(1));
    assert!(unknown.stderr.contains("did you mean `review`"), "{}", unknown.stderr);
    assert_eq!(server.requests().len(), 1, "the model was not asked");
}

#[test]
fn a_skill_can_run_in_an_agent_of_its_own() {
    let project = project();
    skill(
        &project,
        "look",
        "---\ndescription: looks\ncontext: fork\nagent: Explore\n---\nFORKED: look at $ARGUMENTS\n",
    );
    let server = Server::start([
        Reply::new().call("toolu_s", "Skill", json!({"skill": "look", "args": "it"})),
        Reply::say("I looked."),
        Reply::say("It was looked at."),
    ])
    .unwrap();
    let ran = go(&project, &server, "look", &[]);
    assert_eq!(ran.stdout, "It was looked at.\n", "{}", ran.stderr);
    assert!(result(&project, "toolu_s").contains("I looked."));
    assert_eq!(project.sql("SELECT agent_type FROM agent_runs"), ["Explore"]);
    // Rules about agents are about those that skills start as well.
    let server = Server::start([
        Reply::new().call("toolu_d", "Skill", json!({"skill": "look", "args": "it"})),
        Reply::say("It was not."),
    ])
    .unwrap();
    go(&project, &server, "look", &["--disallowedTools", "Agent(Explore)"]);
    let refused = result(&project, "toolu_d");
    assert!(refused.contains("Agent(Explore)"), "{refused}");
    let ran = go(&project, &server, "/look here", &["--disallowedTools", "Agent"]);
    assert!(ran.stderr.contains("it runs in an agent: denied by the rule Agent"), "{}", ran.stderr);
}

#[test]
fn agents_of_the_project_are_offered_with_their_tools_and_hooks() {
    let project = project();
    project.file(
        ".claude/agents/reader.md",
        "---\nname: reader\ndescription: reads\ntools: Read, Nonsense\nmaxTurns: 5\n---\nREADER: you read.\n",
    );
    let server = Server::start([
        Reply::new().call(
            "toolu_a",
            "Agent",
            json!({"description": "read", "prompt": "HELP", "subagent_type": "reader"}),
        ),
        Reply::say("read"),
        Reply::say("done"),
    ])
    .unwrap();
    let given = json!({"giver": {"description": "given on the command line", "prompt": "GIVER"}})
        .to_string();
    let ran = go(&project, &server, "go", &["--agents", &given]);
    assert_eq!(ran.stdout, "done\n", "{}", ran.stderr);
    assert!(ran.stderr.contains("Nonsense"), "{}", ran.stderr);
    let requests = server.requests();
    let offered = requests[0].body["tools"].to_string();
    assert!(offered.contains("reader: reads") && offered.contains("giver: given"), "{offered}");
    let helper = &requests[1].body;
    assert!(helper["system"].to_string().contains("READER: you read."), "{helper}");
    let tools: Vec<&str> = helper["tools"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|tool| tool["name"].as_str())
        .collect();
    assert_eq!(tools, ["Read"]);
}

#[test]
fn without_slash_commands_there_are_no_skills() {
    let project = project();
    skill(&project, "greet", "---\ndescription: greets people\n---\nGreet.\n");
    let server = Server::start([Reply::say("Said.")]).unwrap();
    let args = ["--disable-slash-commands", "--output-format", "stream-json"];
    let ran = go(&project, &server, "/greet Ada", &args);
    let init: Value = serde_json::from_str(ran.stdout.lines().next().unwrap()).unwrap();
    assert_eq!((&init["skills"], &init["slash_commands"]), (&json!([]), &json!([])));
    let asked = server.requests()[0].body.to_string();
    assert!(asked.contains("/greet Ada"), "it is sent as it is: {asked}");
    assert!(!asked.contains("greets people") && !asked.contains("\"name\":\"Skill\""), "{asked}");

    // What is not read needs nobody's trust, and nobody misses it.
    let hooks =
        "hooks:\n  Stop:\n    - hooks:\n        - type: command\n          command: \"true\"\n";
    skill(&project, "greet", &format!("---\ndescription: greets people\n{hooks}---\nGreet.\n"));
    let lead = "---\nname: lead\ndescription: leads\nskills: greet\n---\nLead.";
    project.file(".claude/agents/lead.md", lead);
    let server = Server::start([Reply::say("Said.")]).unwrap();
    let ran = go(&project, &server, "hello", &["--agent", "lead"]);
    assert!(ran.stderr.contains("is not trusted. It contains hooks"), "{}", ran.stderr);
    let ran = go(&project, &server, "hello", &["--agent", "lead", "--disable-slash-commands"]);
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("Said.\n", ""));
}

#[test]
fn a_skill_that_changes_between_turns_is_read_anew() {
    let project = crate::trust::repository();
    skill(&project, "greet", "---\ndescription: greets people\n---\nSay good morning.\n");
    let hook =
        json!([{"hooks": [{"type": "command", "command": "cat >> seen.log; echo >> seen.log"}]}]);
    let settings = json!({"hooks": {"ConfigChange": hook}}).to_string();
    let server =
        Server::start([Reply::say("One."), Reply::say("Two."), Reply::say("Three.")]).unwrap();
    let args = ["-p", "--input-format", "stream-json", "--output-format", "stream-json"];
    let mut command = anthropic(&project, &server, &args);
    command.args(["--settings", &settings]);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut say = |text: &str| {
        let line = json!({"type": "user", "message": {"role": "user", "content": text}});
        writeln!(input, "{line}").unwrap();
        output
            .find(|line| line.as_ref().unwrap().contains("\"type\":\"result\""))
            .unwrap()
            .unwrap();
    };
    say("/greet");
    // What it permits waits for trust, whoever changed it; its text does not.
    let changed =
        "---\ndescription: greets everybody\nallowed-tools: Bash\n---\nSay good evening.\n";
    skill(&project, "greet", changed);
    skill(&project, "part", "---\ndescription: parts\n---\nSay good-bye.\n");
    say("/greet");
    say("/part");
    drop(input);
    let ran = child.wait_with_output().unwrap();
    let said = String::from_utf8(ran.stderr).unwrap();
    let asked: Vec<String> =
        server.requests().iter().map(|r| r.body["messages"].to_string()).collect();
    assert!(
        asked[0].contains("good morning") && !asked[0].contains("good evening"),
        "{}",
        asked[0]
    );
    assert!(
        asked[1].contains("good evening") && asked[1].contains("greets everybody"),
        "{}",
        asked[1]
    );
    assert!(asked[2].contains("good-bye"), "{}", asked[2]);
    assert!(said.contains("has changed; held back until `ona trust`: allowed-tools"), "{said}");
    let heard = project.content("seen.log");
    assert!(heard.contains(r#""source":"skills""#) && heard.contains("greet/SKILL.md"), "{heard}");
}
