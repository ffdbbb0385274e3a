//! `ona` in a terminal: the real binary under a pseudo-terminal, against a model that says what it is told to.

mod account;
mod asides;
mod colours;
mod configuration;
mod context;
mod conversations;
mod extensions;
mod files;
mod governance;
mod hostile;
mod input;
mod keys;
mod menu;
mod models;
mod permission;
mod permissions_command;
mod plain;
mod prompts;
mod questions;
mod rewind;
mod shell;
mod starting;
mod status;
mod trusting;
mod written_settings;

use std::fs;
use std::time::{Duration, Instant};

use crate::until;
use ona_provider::scripted::{Reply, Server};
use ona_testkit::Project;
use ona_testkit::pty::{Key, Pty, PtyOptions};
use serde_json::{Value, json};

/// The key of the tests. It never appears on a screen.
const KEY: &str = "sk-test-key-of-the-terminal";

/// A terminal whose model is this server.
fn with(server: &Server) -> PtyOptions {
    PtyOptions::default().env("ANTHROPIC_API_KEY", KEY).env("ANTHROPIC_BASE_URL", server.base_url())
}

/// A model that says these things, one after the other.
fn model(replies: impl IntoIterator<Item = Reply>) -> Server {
    Server::start(replies.into_iter().collect::<Vec<_>>()).unwrap()
}

/// Starts ona; its prompt is there.
#[track_caller]
fn start_in(project: &Project, args: &[&str], options: PtyOptions) -> Pty {
    let pty = project.pty(args, options);
    ready(&pty);
    pty
}

/// The same with this model.
#[track_caller]
fn start(project: &Project, server: &Server, args: &[&str]) -> Pty {
    start_in(project, args, with(server))
}

/// The same for somebody who needs no model.
#[track_caller]
fn start_alone(project: &Project) -> Pty {
    start_in(project, &[], PtyOptions::default().env("ANTHROPIC_API_KEY", KEY))
}

/// Types a line, and waits for an answer in these words.
#[track_caller]
fn answers(pty: &Pty, line: &str, words: &str) -> String {
    pty.line(line);
    pty.wait_whole(words)
}

/// Types without Enter.
#[track_caller]
fn typed(pty: &Pty, text: &str) {
    pty.send(text);
    pty.wait_for(text.trim_end());
}

/// Whether a session is open, its prompt empty, and nothing runs.
fn is_ready(screen: &str) -> bool {
    let is_open = screen.contains("phase ") && !screen.contains("opening the session");
    is_open && !screen.contains("esc to interrupt") && screen.lines().any(|row| row == ">")
}

/// Waits until it is.
#[track_caller]
fn ready(pty: &Pty) {
    pty.wait_until(is_ready);
}

/// Types a line that asks first: No is selected, and Yes is chosen.
#[track_caller]
fn confirms(pty: &Pty, line: &str, question: &str) {
    pty.line(line);
    says_yes(pty, question);
}

/// Answers the question before something is lost with Yes.
#[track_caller]
fn says_yes(pty: &Pty, question: &str) {
    let shown = pty.wait_for(question);
    pty.wait_for("❯ 2. No");
    assert!(shown.contains("1. Yes"), "{shown}");
    pty.send("1");
}

/// Closes a list.
#[track_caller]
fn close(pty: &Pty) {
    pty.key(Key::Esc);
    ready(pty);
}

/// The user's own settings.
fn user_settings(project: &Project, settings: &Value) {
    fs::create_dir_all(project.home().join(".config/ona")).unwrap();
    fs::write(project.home().join(".config/ona/settings.json"), settings.to_string()).unwrap();
}

/// The settings that "always" and `/config` write.
fn local_settings(project: &Project) -> Value {
    let text = fs::read_to_string(project.path(".claude/settings.local.json")).unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_default()
}

/// A hook that runs a command.
fn hook(matcher: &str, command: &str) -> Value {
    json!([{"matcher": matcher, "hooks": [{"type": "command", "command": command}]}])
}

/// A call of Bash. Where it runs for a while, its id must be one of its own: ona finds the processes of a call by its id,
/// whichever test has started them.
fn bash(id: &str, command: &str) -> Reply {
    Reply::new().call(id, "Bash", json!({"command": command}))
}

/// What the model was told with its last question.
fn last_told(server: &Server) -> String {
    server.requests().last().expect("a question").body["messages"].to_string()
}

/// The result of a call.
fn result(project: &Project, id: &str) -> String {
    crate::skills::result(project, id)
}
