//! `--debug`: what goes on inside, without what must not be shown.

use std::os::unix::fs::PermissionsExt as _;

use ona_provider::scripted::{Reply, Server};
use ona_testkit::{Project, Ran, run};
use serde_json::json;

use crate::print::anthropic;
use crate::project;

/// A turn with a hook, a call that is refused, a retry, and secrets wherever there could be some.
fn turn(project: &Project, args: &[&str]) -> Ran {
    let hook = json!({"hooks": {"PreToolUse": [{"hooks": [
        {"type": "command", "command": "echo hunter2-hunter2-hunter2 > /dev/null"},
    ]}]}});
    let server = Server::start([
        Reply::error(529, "overloaded_error", "busy, dear sk-test-key-of-this-test")
            .header("retry-after-ms", "1"),
        Reply::new().call("t1", "Bash", json!({"command": "touch made # hunter2-hunter2-hunter2"})),
        Reply::say("done"),
    ])
    .unwrap();
    let settings = hook.to_string();
    let mut command = anthropic(project, &server, &["-p", "go", "--settings", &settings]);
    command
        .args(args)
        .env("MY_PASSWORD", "hunter2-hunter2-hunter2")
        .env("ANTHROPIC_CUSTOM_HEADERS", "x-team: hunter3-hunter3-hunter3");
    run(&mut command)
}

/// The categories of the lines, each once.
fn categories(text: &str) -> Vec<&str> {
    let mut found: Vec<&str> = text
        .lines()
        .filter_map(|line| line.split_once("Z [")?.1.split_once(']').map(|(category, _)| category))
        .collect();
    found.sort_unstable();
    found.dedup();
    found
}

#[test]
fn lines_tell_of_everything_and_show_no_secret() {
    let project = project();
    let ran = turn(&project, &["--debug"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "done\n"), "{}", ran.stderr);
    assert_eq!(categories(&ran.stderr), ["api", "gate", "hooks", "settings", "store"]);
    for expected in [
        "[settings] read source=",
        "[settings] in force mode=default hooks=1",
        "[store] opened path=",
        "[store] committed ms=",
        "[api] asks method=POST url=http://127.0.0.1:",
        "/v1/messages bytes=",
        "[api] is answered status=529 ",
        "[api] fails remedy=",
        "[api] waits to ask again attempt=1 of=10 delay_ms=1",
        "[api] is answered status=200 ",
        "[hooks] ran event=PreToolUse ordinal=0 ms=",
        "[gate] judged call=t1 tool=Bash stage=rules verdict=ask reason=\"",
        "[gate] judged call=t1 tool=Bash stage=human verdict=deny reason=\"needs confirmation",
    ] {
        assert!(ran.stderr.contains(expected), "{expected}: {}", ran.stderr);
    }
    for secret in ["hunter2", "hunter3", "sk-test-key"] {
        assert!(!ran.stderr.contains(secret), "{secret}: {}", ran.stderr);
    }
    let quiet = turn(&project, &[]);
    assert_eq!(categories(&quiet.stderr), [""; 0]);
}

#[test]
fn a_filter_chooses() {
    let project = project();
    for (filter, expected) in [
        ("api,hooks", &["api", "hooks"][..]),
        ("!store,!file", &["api", "gate", "hooks", "settings"]),
        ("gate", &["gate"]),
    ] {
        let ran = turn(&project, &["--debug", filter, "--output-format", "json"]);
        assert_eq!(categories(&ran.stderr), expected, "{filter}");
        assert_eq!(ran.stdout.lines().count(), 1, "{}", ran.stdout);
    }
    let ran = turn(&project, &["--debug", "everything"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("unknown category `everything`"), "{}", ran.stderr);
    assert!(ran.stderr.contains("hint: the categories are api, gate"), "{}", ran.stderr);
    // It is for every command.
    let ran = run(&mut project.ona(["--debug=store", "--init-db"]));
    assert_eq!(categories(&ran.stderr), ["store"]);
}

#[test]
fn lines_can_go_to_a_file() {
    let project = project();
    let ran = turn(&project, &["--debug-file", "log.txt"]);
    assert_eq!((ran.code, categories(&ran.stderr)), (Some(0), vec![]), "{}", ran.stderr);
    let first = project.content("log.txt");
    assert_eq!(categories(&first).len(), 5, "{first}");
    let mode = std::fs::metadata(project.path("log.txt")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    turn(&project, &["--debug", "api", "--debug-file", "log.txt"]);
    let both = project.content("log.txt");
    assert!(both.starts_with(&first) && categories(&both[first.len()..]) == ["api"], "{both}");
    assert!(!both.contains("hunter"), "{both}");
    for (file, why) in [("none/log.txt", "No such file"), (".", "Is a directory")] {
        let ran = turn(&project, &["--debug-file", file]);
        assert_eq!(ran.code, Some(2));
        assert!(
            ran.stderr.starts_with(&format!("error: --debug-file {file}: {why}")),
            "{}",
            ran.stderr
        );
    }
}
