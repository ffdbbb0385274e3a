//! Agents that are called by their name again, and where they stand.

use ona_provider::scripted::{Recorded, Reply, Server};
use ona_testkit::run;
use serde_json::{Value, json};

use crate::agents::{agent, git, go};
use crate::project;

fn again(id: &str, more: &Value) -> Reply {
    let mut input = json!({"description": "x", "prompt": format!("HELP {id}"), "name": "bob"});
    for (key, value) in more.as_object().unwrap() {
        input[key] = value.clone();
    }
    agent(id, input)
}

/// The last thing that was said to the model.
fn last(request: &Recorded) -> String {
    request.body["messages"].as_array().unwrap().last().unwrap().to_string()
}

#[test]
fn a_name_alone_means_the_agent_of_that_name_and_another_kind_is_another_agent() {
    let project = project();
    project.file(
        ".claude/agents/lead.md",
        "---\nname: lead\ndescription: leads\ntools: Read\n---\nYou lead.",
    );
    let server = Server::start([
        again("toolu_a", &json!({"subagent_type": "lead"})),
        Reply::say("one"),
        again("toolu_b", &json!({})),
        Reply::say("two"),
        again("toolu_c", &json!({"subagent_type": "Explore"})),
        Reply::say("three"),
        Reply::say("done"),
    ])
    .unwrap();
    // Rules too take it for what it is.
    let ran = go(&project, &server, &["--disallowedTools", "Agent(general-purpose)"]);
    assert_eq!(ran.stdout, "done\n", "{}", ran.stderr);
    let runs = project.sql("SELECT name, agent_type, ending FROM agent_runs ORDER BY rowid");
    assert_eq!(runs, ["bob|lead|completed", "bob|Explore|completed"]);
    let asked = server.requests();
    let tools = asked[3].body["tools"].as_array().unwrap();
    assert_eq!((tools.len(), &tools[0]["name"]), (1, &json!("Read")));
    let told = asked[3].body["messages"].to_string();
    assert!(told.contains("HELP toolu_a") && told.contains("HELP toolu_b"), "{told}");
    let another = "The earlier agent bob is of the type lead. This is a new agent";
    assert!(!last(&asked[4]).contains(another), "{}", last(&asked[4]));
    assert!(last(&asked[6]).contains(another), "{}", last(&asked[6]));
}

#[test]
fn an_agent_stands_where_its_caller_stands_and_has_a_worktree_again_if_it_had_one() {
    let project = project();
    project.file("conf/a.txt", "a\n");
    git(&project, &["init", "-q", "-b", "main"]);
    git(&project, &["add", "."]);
    let who = ["-c", "user.name=t", "-c", "user.email=t@example.org"];
    git(&project, &[&who[..], &["commit", "-qm", "one"]].concat());
    let bash = |id: &str, command: &str| Reply::new().call(id, "Bash", json!({"command": command}));
    let server = Server::start([
        bash("toolu_cd", "cd conf"),
        again("toolu_a", &json!({"isolation": "worktree"})),
        bash("toolu_p", "pwd"),
        Reply::say("one"),
        again("toolu_b", &json!({})),
        bash("toolu_q", "pwd"),
        Reply::say("two"),
        agent("toolu_c", json!({"description": "x", "prompt": "HELP"})),
        bash("toolu_r", "pwd"),
        Reply::say("three"),
        Reply::say("done"),
    ])
    .unwrap();
    let ran = go(&project, &server, &["--permission-mode", "bypassPermissions"]);
    assert_eq!(ran.stdout, "done\n", "{}", ran.stderr);
    let asked = server.requests();
    let worktrees = project.path(".claude/worktrees/agent-").display().to_string();
    for at in [3, 6] {
        let pwd = last(&asked[at]);
        assert!(pwd.contains(&worktrees) && pwd.contains("/conf"), "{pwd}");
    }
    let told = last(&asked[7]);
    assert!(told.contains("no longer exists; it continued in a new one"), "{told}");
    let here = project.path("conf").display().to_string();
    assert!(last(&asked[9]).contains(&here), "{}", last(&asked[9]));
    assert_eq!(project.sql("SELECT count(*) FROM agent_runs"), ["2"]);
}

#[test]
fn what_is_no_name_is_shown_short_and_plain() {
    let project = project();
    let name = format!("\u{1b}[31m{}", "x".repeat(10_000));
    let input = json!({"description": "x", "prompt": "y", "name": name});
    let said = project.refused("Agent", input);
    // Not even in part: what is cut is not recognised as a secret.
    let shown = "`name`: `… (10005 characters)` is not valid";
    assert!(said.contains(shown) && said.len() < 400, "{said}");
    let ran = run(project.ona(["-p", "go", "--agent", &name]).env("ANTHROPIC_API_KEY", "x"));
    assert!(ran.stderr.contains("unknown agent `… (10005 characters)`"), "{}", ran.stderr);
    let ran = run(project.ona(["-p", "go", "--agent", &name[..20]]).env("ANTHROPIC_API_KEY", "x"));
    assert!(ran.stderr.contains("unknown agent `\u{fffd}[31mxxx"), "{}", ran.stderr);
}
