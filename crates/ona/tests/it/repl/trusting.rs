//! The question whether a folder is trusted.

use ona_testkit::pty::Exit;
use ona_testkit::run;

use super::*;
use crate::project;

const ASKS: &str = "Do you trust this folder?";

/// A project whose settings run a command when a session starts.
fn with_hook(project: &Project, command: &str) {
    let settings = json!({"hooks": {"SessionStart": hook("", command)}});
    project.file(".claude/settings.json", settings.to_string());
}

#[test]
fn it_shows_the_commands_that_would_run() {
    let (project, server) = (project(), model([]));
    with_hook(&project, "touch first");
    let pty = project.pty([""; 0], with(&server));
    let shown = pty.wait_for(ASKS);
    assert!(shown.contains("touch first"), "{shown}");
}

#[test]
fn it_comes_before_the_prompt_and_again_when_something_changes() {
    let (project, server) = (project(), model([]));
    with_hook(&project, "touch first");
    let pty = project.pty([""; 0], with(&server));
    let shown = pty.wait_for(ASKS);
    assert!(shown.contains(project.dir().to_str().unwrap()), "{shown}");
    assert!(shown.contains("hooks in .claude/settings.json"), "{shown}");
    assert!(shown.contains("❯ 2. No, leave"), "no is the default: {shown}");
    assert!(!project.path("first").exists());
    pty.send("y");
    ready(&pty);
    until("the hook", || project.path("first").exists());
    pty.line("/exit");
    assert_eq!(pty.wait_exit(), Exit::Code(0));

    // It is not asked about twice.
    let pty = start(&project, &server, &[]);
    assert!(!pty.whole().contains(ASKS), "{}", pty.whole());
    pty.line("/trust");
    pty.wait_whole(project.dir().to_str().unwrap());
    pty.line("/exit");
    pty.wait_exit();

    with_hook(&project, "touch second");
    let pty = project.pty([""; 0], with(&server));
    pty.wait_for(ASKS);
    pty.send("y");
    until("the other hook", || project.path("second").exists());
}

#[test]
fn declining_leaves_and_nothing_has_run() {
    for key in [Key::Esc, Key::Enter] {
        let (project, server) = (project(), model([]));
        with_hook(&project, "touch ran");
        let pty = project.pty([""; 0], with(&server));
        pty.wait_for(ASKS);
        pty.key(key);
        let Exit::Code(code) = pty.wait_exit() else { panic!("a signal") };
        assert_ne!(code, 0);
        assert!(!project.path("ran").exists());
        assert!(!pty.inspect(|screen| screen.bracketed_paste()));
        // Nobody has agreed to anything.
        let pty = project.pty([""; 0], with(&server));
        pty.wait_for(ASKS);
    }
}

#[test]
fn blank_lines_and_escapes_do_not_hide_a_command() {
    let (project, server) = (project(), model([]));
    with_hook(
        &project,
        "echo harmless\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\u{1b}[2J touch evil",
    );
    let pty = project.pty([""; 0], with(&server));
    let shown = pty.wait_for(ASKS);
    assert!(shown.contains("echo harmless") && shown.contains("touch evil"), "{shown}");
    assert!(!String::from_utf8_lossy(&pty.raw()).contains("\u{1b}[2J touch"));
}

#[test]
fn it_shows_lines_arguments_and_rules_as_they_are() {
    let (project, server) = (project(), model([]));
    let settings = json!({
        "hooks": {"Stop": hook("", "date\nrm -rf x")},
        "permissions": {"allow": ["Bash(npm test)"]},
    });
    project.file(".claude/settings.json", settings.to_string());
    let servers = json!({"mcpServers": {"docs": {
        "command": "npx", "args": ["-y", "docs; date"], "env": {"LD_PRELOAD": "./x.so"},
    }}});
    project.file(".mcp.json", servers.to_string());
    let pty = project.pty([""; 0], with(&server));
    let shown = pty.wait_for(ASKS);
    for wanted in [
        "hooks.Stop: date ⏎\n        rm -rf x\n",
        "npx -y 'docs; date'",
        "LD_PRELOAD=./x.so",
        "permissions.allow: Bash(npm test)",
    ] {
        assert!(shown.contains(wanted), "{wanted}:\n{shown}");
    }
}

#[test]
fn trust_shows_how_far_the_files_of_the_folder_are_trusted() {
    let (project, server) = (project(), model([]));
    let pty = start(&project, &server, &[]);
    answers(&pty, "/trust", "nothing in it needs trust");
    pty.line("/exit");
    pty.wait_exit();

    with_hook(&project, "touch ran");
    let pty = start(&project, &server, &["--trust"]);
    let shown = answers(&pty, "/trust", "hooks in .claude/settings.json");
    assert!(shown.contains(".claude/settings.json: trusted for this run, by --trust"), "{shown}");
    assert!(shown.contains("touch ran") && !shown.contains("untrust"), "{shown}");
    pty.line("/exit");
    pty.wait_exit();

    assert_eq!(run(&mut project.ona(["trust"])).code, Some(0));
    let pty = start(&project, &server, &[]);
    let shown = answers(&pty, "/trust", "`ona untrust` takes the trust back");
    assert!(shown.contains(".claude/settings.json: trusted, 20"), "{shown}");
    ready(&pty);
    with_hook(&project, "touch other");
    let shown = answers(&pty, "/trust", "not trusted: changed since 20");
    assert!(shown.contains("`ona trust` trusts all of it as it is now"), "{shown}");
}
