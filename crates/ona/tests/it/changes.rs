//! What changes on disk while a session goes on, and hooks that hear of it.

use std::io::Write;
use std::process::{Command, Stdio};

use ona_provider::scripted::{Recorded, Reply, Server};
use ona_testkit::Project;
use serde_json::{Value, json};

use crate::print::anthropic;
use crate::project;

/// A session of two prompts; what was asked and what was said on standard error.
pub fn two_turns(project: &Project, args: &[&str], replies: Vec<Reply>) -> (Vec<Recorded>, String) {
    let server = Server::start(replies).unwrap();
    let stream = ["-p", "--input-format", "stream-json", "--output-format", "stream-json"];
    let args: Vec<&str> = stream.iter().chain(args).copied().collect();
    let said = says_two_prompts(&mut anthropic(project, &server, &args));
    (server.requests(), said)
}

/// Gives a session two prompts; what was said on standard error.
pub fn says_two_prompts(command: &mut Command) -> String {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let message = |text: &str| json!({"type": "user", "message": {"content": text}}).to_string();
    let input = format!("{}\n{}\n", message("one"), message("two"));
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{said}");
    said
}

pub fn bash(id: &str, command: &str) -> Reply {
    Reply::new().call(id, "Bash", json!({"command": command}))
}

fn hook(command: &str) -> Value {
    json!([{"hooks": [{"type": "command", "command": command}]}])
}

/// In the first turn settings are written that forbid what the second turn wants.
fn rewritten(project: &Project, hooks: &Value) -> (Vec<Recorded>, String) {
    std::fs::create_dir_all(project.home().join(".claude")).unwrap();
    let settings = project.home().join(".claude/settings.json");
    let write = format!(
        "echo '{{\"permissions\": {{\"deny\": [\"Bash(touch *)\"]}}}}' > {}; touch during",
        settings.display()
    );
    let given = json!({"hooks": hooks}).to_string();
    let args = ["--permission-mode", "bypassPermissions", "--settings", &given];
    // Settings are a protected path; bypassing, nobody asks.
    let replies = vec![
        bash("a", &write),
        Reply::say("written"),
        bash("b", "touch after"),
        Reply::say("done"),
    ];
    two_turns(project, &args, replies)
}

#[test]
fn settings_that_change_apply_between_turns() {
    let project = project();
    let (requests, said) = rewritten(&project, &json!({"ConfigChange": hook("cat >> heard")}));
    assert!(project.path("during").exists(), "never in the middle of a turn");
    assert!(!project.path("after").exists(), "{said}");
    assert!(
        requests[3].last_said().contains("denied by the rule Bash(touch *)"),
        "{:?}",
        requests[3].body
    );
    assert!(said.contains("settings.json has changed; the new settings apply now"), "{said}");
    let heard: Value = serde_json::from_str(&project.content("heard")).unwrap();
    assert_eq!(
        (&heard["hook_event_name"], &heard["source"]),
        (&json!("ConfigChange"), &json!("user_settings"))
    );
    assert_eq!(project.sql("SELECT json_extract(detail, '$.refused') FROM events WHERE event_type = 'settings.changed'"), ["0"]);
}

#[test]
fn a_hook_can_keep_a_change_from_applying() {
    let project = project();
    let (_, said) = rewritten(&project, &json!({"ConfigChange": hook("echo not now >&2; exit 2")}));
    assert!(project.path("after").exists(), "{said}");
    assert!(said.contains("settings.json has changed; the change was refused"), "{said}");
    assert!(said.contains("not now"), "{said}");
}

#[test]
fn project_hooks_that_come_in_while_a_session_goes_on_are_not_run_untrusted() {
    let project = project();
    let write = "mkdir -p .claude; echo '{\"hooks\": {\"PreToolUse\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"touch pwned\"}]}]}}' > .claude/settings.json";
    let replies =
        vec![bash("a", write), Reply::say("written"), bash("b", "touch after"), Reply::say("done")];
    let (_, said) = two_turns(&project, &["--permission-mode", "bypassPermissions"], replies);
    assert!(project.path("after").exists() && !project.path("pwned").exists(), "{said}");
    assert!(said.contains("is not trusted; held back until `ona trust`: hooks in"), "{said}");
}

#[test]
fn hooks_hear_of_files_they_name_or_asked_for() {
    let project = project();
    project.file("watched.txt", "a");
    let dynamic = project.path("far.txt");
    let start = json!({"hookSpecificOutput": {"hookEventName": "SessionStart",
        "initialUserMessage": "from a hook", "watchPaths": [dynamic]}});
    let hooks = json!({"hooks": {
        "SessionStart": hook(&format!("cat > /dev/null; echo '{start}'")),
        "FileChanged": [
            {"matcher": "watched.txt|new.txt", "hooks": [{"type": "command", "command": "cat >> named"}]},
            {"hooks": [{"type": "command", "command": "cat >> all"}]},
        ],
    }});
    let change =
        "echo longer > watched.txt; echo x > new.txt; echo x > far.txt; echo x > other.txt";
    let replies =
        vec![bash("a", change), Reply::say("ok"), bash("b", "rm new.txt"), Reply::say("ok")];
    let given = hooks.to_string();
    let args = ["--permission-mode", "bypassPermissions", "--settings", &given];
    let (requests, _) = two_turns(&project, &args, replies);
    assert!(requests[0].last_said().contains("from a hook"), "{:?}", requests[0].body);
    let heard = |file: &str| -> Vec<(String, String)> {
        let lines = project.content(file);
        let lines = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let name = |path: &Value| path.as_str().unwrap().rsplit('/').next().unwrap().to_owned();
        lines
            .map(|heard| (name(&heard["file_path"]), heard["event"].as_str().unwrap().to_owned()))
            .collect()
    };
    let pair = |file: &str, event: &str| (file.to_owned(), event.to_owned());
    assert_eq!(
        heard("named"),
        [pair("new.txt", "add"), pair("watched.txt", "change"), pair("new.txt", "unlink")]
    );
    assert_eq!(heard("all").len(), 4, "and the one that was asked for");
}
