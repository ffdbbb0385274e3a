//! Text of others never acts on the terminal.

use super::*;
use crate::project;

/// Sequences that would change the title, the clipboard, the screen, the colours and the modes.
const EVIL: &str = "\x1b]0;EVIL-TITLE\x07\x1b]52;c;RVZJTA==\x07\x1b[2J\x1b[31mRED\x1b[?1049h\u{9b}31m\x1bc\x07 after";

#[track_caller]
fn is_untouched(pty: &Pty) {
    let raw = String::from_utf8_lossy(&pty.raw()).into_owned();
    for part in [
        "\x1b]0;",
        "EVIL-TITLE\x07",
        "\x1b]52;c;RVZ",
        "\x1b[2J",
        "\x1b[31mRED",
        "\x1b[?1049h",
        "\u{9b}31m",
        "\x1bc",
    ] {
        assert!(!raw.contains(part), "{part:?} reached the terminal");
    }
    assert!(!pty.title().contains("EVIL"), "{}", pty.title());
}

#[test]
fn an_answer_and_the_output_of_a_tool_do_not_act() {
    let project = project();
    project.file("evil.txt", format!("{EVIL}\n"));
    let server = model([
        Reply::say(format!("Look: {EVIL} `{EVIL}`\n\n```sh\n{EVIL}\n```\n")).call(
            "toolu_c",
            "Bash",
            json!({"command": "cat evil.txt"}),
        ),
        Reply::new().call("toolu_r", "Read", json!({"file_path": "evil.txt"})),
        Reply::new().call("toolu_e", "Bash", json!({"command": "cat evil.txt; exit 3"})),
        Reply::say("Done."),
    ]);
    let pty = start(&project, &server, &["--allowedTools", "Bash"]);
    answers(&pty, "go", "Done.");
    ready(&pty);
    pty.line("!cat evil.txt");
    pty.wait_until(|_| pty.whole().matches(" after").count() > 2);
    ready(&pty);
    is_untouched(&pty);
}

#[test]
fn a_command_in_a_dialog_does_not_act_and_hides_nothing() {
    let project = project();
    let command = format!("echo harmless # {EVIL}{}rm -rf everything", "\n".repeat(60));
    let server = model([bash("toolu_b", &command), Reply::say("Done.")]);
    let pty = start(&project, &server, &[]);
    pty.line("go");
    let shown = pty.wait_for("Allow Bash?");
    assert!(shown.contains("echo harmless") && shown.contains("rm -rf everything"), "{shown}");
    is_untouched(&pty);
}

#[test]
fn names_of_files_and_questions_do_not_act() {
    let project = project();
    // A name with control characters is not offered; one that only looks odd is.
    for name in ["x\x1b]0;EVIL-TITLE\x07y.txt", "x\u{202e}\u{200b}.txt"] {
        fs::write(project.path(name), "x").unwrap();
    }
    let questions = json!({"questions": [{"question": format!("Which {EVIL}?"), "header": "\x1b[31mRED",
        "options": [{"label": format!("A{EVIL}"), "description": EVIL}, {"label": "B", "description": ""}]}]});
    let server =
        model([Reply::new().call("toolu_q", "AskUserQuestion", questions), Reply::say("Done.")]);
    let pty = start(&project, &server, &[]);
    pty.send("@x");
    let shown = pty.wait_for("❯ x");
    assert!(!shown.contains("EVIL"), "{shown}");
    pty.key(Key::Ctrl('u'));
    ready(&pty);
    pty.line("go");
    pty.wait_for("Which ");
    pty.send("2");
    pty.wait_for("Done.");
    is_untouched(&pty);
}

#[test]
fn what_is_resumed_and_listed_does_not_act() {
    let project = project();
    let server = model([Reply::say(format!("So: {EVIL}"))]);
    let pty = start(&project, &server, &[]);
    pty.paste(&format!("say {}", EVIL.replace('\x1b', "")));
    pty.key(Key::Enter);
    pty.wait_whole("So: ");
    ready(&pty);
    pty.line("/exit");
    pty.wait_exit();
    let pty = project.pty(["--continue"], with(&server));
    pty.wait_for("So: ");
    ready(&pty);
    pty.key(Key::Ctrl('o'));
    pty.wait_for("q leaves");
    pty.send("q");
    ready(&pty);
    let raw = String::from_utf8_lossy(&pty.raw()).into_owned();
    assert!(!raw.contains("\x1b]0;") && !raw.contains("\x1b]52") && !raw.contains("\x1b[31mRED"));
    assert!(!pty.title().contains("EVIL"));
}

#[test]
fn a_server_that_lies_about_its_tools_does_not_act() {
    let (project, server) = (project(), model([]));
    let config =
        json!({"mcpServers": {"evil\u{1b}[31m": {"command": "/no/such\u{1b}]0;EVIL-TITLE\u{7}"}}});
    let pty = start(&project, &server, &["--mcp-config", &config.to_string()]);
    pty.line("/mcp");
    pty.wait_whole("broken");
    is_untouched(&pty);
}

/// Whatever ona starts could otherwise draw over a dialog, or put the key into it that answers it.
#[test]
fn nothing_that_ona_starts_has_the_terminal() {
    let project = project();
    let tries = |name: &str| {
        let file = project.path(name);
        format!(
            "if (true > /dev/tty); then echo open; else echo shut; fi > {} 2> /dev/null",
            file.display()
        )
    };
    let settings = json!({
        "statusLine": {"type": "command", "command": tries("line")},
        "hooks": {"PreToolUse": hook("Bash", &tries("hook"))},
    });
    user_settings(&project, &settings);
    let background = json!({"command": tries("task"), "run_in_background": true});
    let server = model([
        bash("toolu_tty", &tries("call")),
        Reply::new().call("toolu_tty_2", "Bash", background),
        Reply::say("Done."),
    ]);
    let config = json!({"mcpServers": {"s": {"command": "sh", "args": ["-c", tries("server")]}}});
    let args = ["--allowedTools", "Bash", "--mcp-config", &config.to_string()];
    let pty = start(&project, &server, &args);
    answers(&pty, "go", "Done.");
    ready(&pty);
    answers(&pty, &format!("!{}; echo it is $((20 + 22))", tries("own")), "it is 42");
    for name in ["line", "hook", "call", "task", "server", "own"] {
        let said = || fs::read_to_string(project.path(name)).unwrap_or_default();
        until(name, || !said().is_empty());
        assert_eq!(said(), "shut\n", "{name}");
    }
}
