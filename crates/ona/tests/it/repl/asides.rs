//! Commands that do not wait for the agent.

use std::time::Duration;

use ona_provider::scripted::Script;

use super::*;
use crate::project;

/// A model at work, which answers questions aside.
fn busy(id: &'static str) -> (Project, Server, Pty) {
    let project = project();
    let mut began = false;
    let server = Server::start(Script::choose(move |request| {
        let told = request.body["messages"].to_string();
        if told.contains("what is the weather") {
            return Reply::say("Sunny, I believe.");
        }
        if told.contains("how long is a piece") {
            return Reply::say("As long as it is.").slow(Duration::from_secs(600));
        }
        match std::mem::replace(&mut began, true) {
            false => bash(id, "touch begun; until [ -e go ]; do sleep 0.02; done"),
            true => Reply::say("The work is done."),
        }
    }))
    .unwrap();
    let pty = start(&project, &server, &["--allowedTools", "Bash"]);
    pty.line("work");
    until("the command", || project.path("begun").exists());
    (project, server, pty)
}

#[test]
fn a_question_aside_is_answered_at_once_and_is_no_part_of_the_conversation() {
    let (project, server, pty) = busy("toolu_aside_question");
    answers(&pty, "/btw what is the weather like?", "Sunny, I believe.");
    pty.wait_for("esc to interrupt");
    let aside = server.requests().pop().unwrap();
    assert!(aside.body["messages"].to_string().contains("work"), "it knows the conversation");
    let may_call = aside.body["tools"].as_array().is_some_and(|tools| !tools.is_empty())
        && aside.body["tool_choice"]["type"] != "none";
    assert!(!may_call, "it has no tools");
    project.file("go", "");
    pty.wait_for("The work is done.");
    assert!(!last_told(&server).contains("weather"), "{}", last_told(&server));
    let kept = "SELECT count(*) FROM transcript_entries WHERE payload_json LIKE '%weather%'";
    assert_eq!(project.sql(kept), ["0"]);
    ready(&pty);
    answers(&pty, "/btw", "what is the question?");
}

#[test]
fn status_cost_and_why_answer_while_the_agent_works() {
    let (project, _server, pty) = busy("toolu_aside_status");
    answers(&pty, "/status", "claude_code_subscription");
    answers(&pty, "/cost", "Total cost");
    answers(&pty, "/why", "result   none yet");
    pty.wait_for("esc to interrupt");
    // What changes the conversation waits.
    pty.line("/clear");
    pty.wait_for("esc to interrupt");
    assert!(!pty.whole().contains("/resume lists the old one"), "{}", pty.whole());
    project.file("go", "");
    let shown = pty.wait_whole("/resume lists the old one");
    assert!(shown.contains("The work is done."), "{shown}");
}

#[test]
fn a_list_can_be_opened_and_chosen_from_while_the_agent_works() {
    let (project, server, pty) = busy("toolu_aside_list");
    pty.line("/model");
    pty.wait_for("1. claude_opus_4");
    pty.send("1");
    pty.wait_whole("the model is claude-opus-4");
    project.file("go", "");
    pty.wait_for("The work is done.");
    let models: Vec<Value> =
        server.requests().iter().map(|asked| asked.body["model"].clone()).collect();
    assert!(models[0].as_str().unwrap().contains("sonnet"), "{models:?}");
    assert!(
        models[1].as_str().unwrap().contains("opus"),
        "the next request is to the other: {models:?}"
    );
}

#[test]
fn what_is_asked_during_a_turn_knows_what_was_changed_in_it() {
    let (project, _server, pty) = busy("toolu_aside_changed");
    answers(&pty, "/model o3", "the model is o3");
    answers(&pty, "/effort high", "the reasoning effort is high");
    answers(&pty, "/status", "o3 (openai_compatible), effort high");
    pty.key(Key::BackTab);
    pty.wait_for("accept edits on");
    answers(&pty, "/status", "mode      acceptEdits");
    project.file("go", "");
}

#[test]
fn an_aside_and_the_status_line_take_the_model_that_was_chosen_during_the_turn() {
    let (project, server, pty) = busy("toolu_aside_model");
    answers(&pty, "/model opus", "the model is claude-opus");
    pty.wait_for("· claude-opus");
    answers(&pty, "/btw what is the weather like?", "Sunny, I believe.");
    let aside = server.requests().pop().unwrap();
    assert!(aside.body["model"].as_str().unwrap().contains("opus"), "{}", aside.body["model"]);
    // Thinking is of that model too: on, then off.
    pty.key(Key::Alt('t'));
    pty.wait_whole("thinking is on");
    pty.key(Key::Alt('t'));
    pty.wait_whole("thinking is off");
    project.file("go", "");
    pty.wait_for("The work is done.");
}

#[test]
fn the_status_line_shows_a_mode_that_an_approved_plan_has_set_before_the_turn_ends() {
    let plan = "# The plan\n## Success criteria\n- It prints x\n";
    let (project, server) = (
        project(),
        model([
            Reply::new().call("toolu_aside_plan", "ExitPlanMode", json!({"plan": plan})),
            bash("toolu_aside_wait", "until [ -e go ]; do sleep 0.02; done"),
            Reply::say("The work is done."),
        ]),
    );
    let pty = start(&project, &server, &["--allowedTools", "Bash"]);
    pty.line("/plan do it");
    pty.wait_for("Yes, and accept edits from then on");
    pty.send("e");
    pty.wait_until(|screen| {
        screen.contains("accept edits on") && screen.contains("esc to interrupt")
    });
    project.file("go", "");
    pty.wait_for("The work is done.");
}

#[test]
fn an_unknown_command_is_answered_while_the_agent_works() {
    let (project, server, pty) = busy("toolu_aside_unknown");
    answers(&pty, "/modell", "Unknown command: /modell");
    pty.wait_whole("did you mean /model?");
    pty.wait_for("esc to interrupt");
    project.file("go", "");
    pty.wait_for("The work is done.");
    assert_eq!(server.requests().len(), 2);
}

#[test]
fn an_interrupted_aside_says_which_question_it_was() {
    let (_project, server, pty) = busy("toolu_aside_interrupted");
    pty.line("/btw how long is a piece of string?");
    until("the question", || server.requests().len() == 2);
    pty.key(Key::Esc);
    pty.wait_whole("/btw how long is a piece of string?: interrupted");
}
