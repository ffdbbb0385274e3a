//! The slash menu, help, and unknown commands.

use ona_commands::{CLOSED, COMMANDS};
use ona_testkit::pty::Exit;

use super::*;
use crate::every_tool::small_server;
use crate::project;

/// The rows of the menu, each with its pointer or without.
fn offered(pty: &Pty) -> Vec<String> {
    let screen = pty.screen();
    let rows = screen.lines().skip_while(|row| !row.starts_with("> /")).skip(2);
    rows.filter(|row| row.starts_with("❯ /") || row.starts_with("  /"))
        .map(|row| row.split_whitespace().find(|word| word.starts_with('/')).unwrap().to_owned())
        .collect()
}

#[test]
fn a_slash_alone_is_no_prompt() {
    let (project, server) = (project(), model([]));
    let pty = start(&project, &server, &[]);
    pty.send("/");
    pty.wait_for("❯ /help");
    pty.key(Key::Esc);
    pty.wait_until(|screen| !screen.contains("❯ /help"));
    pty.key(Key::Enter);
    pty.wait_whole("/help lists the commands\n");
    ready(&pty);
    assert!(server.requests().is_empty());
}

#[test]
fn the_menu_filters_by_name_word_and_alias() {
    let project = project();
    let pty = start_alone(&project);
    pty.send("/");
    pty.wait_for("❯ /help");
    assert!(offered(&pty).len() > 5, "{}", pty.screen());
    for (typed, first) in [
        // The beginning of a name, of a word in it, and of another name.
        ("perm", "/permissions"),
        ("notes", "/release-notes"),
        ("settings", "/config"),
        ("checkp", "/rewind"),
        // What stands between the words does not count.
        ("adddir", "/add-dir"),
    ] {
        pty.send(typed);
        pty.wait_for(&format!("> /{typed}"));
        pty.wait_for(&format!("❯ {first}"));
        assert_eq!(offered(&pty), [first], "{typed}");
        for _ in 0..typed.len() {
            pty.key(Key::Backspace);
        }
        pty.wait_for("❯ /help");
    }
    pty.send("con");
    pty.wait_for("> /con");
    pty.wait_for("❯ /config");
    assert_eq!(offered(&pty), ["/config", "/context", "/resume"]);
}

#[test]
fn a_typo_matches_nothing_and_enter_says_so() {
    let project = project();
    let pty = start_alone(&project);
    pty.send("/xyzzy");
    let shown = pty.wait_for("no command matches");
    assert!(!shown.contains('❯'), "{shown}");
    pty.key(Key::Enter);
    pty.wait_whole("Unknown command: /xyzzy");
    ready(&pty);
    let shown = answers(&pty, "/statuss all", "Unknown command: /statuss");
    assert!(shown.contains("did you mean /status?"), "{shown}");
}

#[test]
fn tab_completes_and_enter_runs_what_is_selected() {
    let project = project();
    let pty = start_alone(&project);
    pty.send("/relea");
    pty.wait_for("❯ /release-notes");
    pty.key(Key::Tab);
    pty.wait_for("> /release-notes");
    pty.wait_gone("❯");
    pty.key(Key::Ctrl('u'));
    ready(&pty);
    // The arrows choose; what needs an argument waits for it.
    pty.send("/b");
    pty.wait_for("❯ /blame");
    pty.key(Key::Down);
    pty.wait_for("❯ /bead");
    pty.key(Key::Enter);
    pty.wait_whole("this version of ona has no beads");
    ready(&pty);
    pty.send("/add");
    pty.wait_for("❯ /add-dir");
    pty.key(Key::Enter);
    pty.wait_gone("❯");
    pty.wait_for("> /add-dir");
    assert!(!pty.whole().contains("which directory"), "it did not run: {}", pty.whole());
    // Esc closes the menu and leaves the text.
    pty.key(Key::Ctrl('u'));
    ready(&pty);
    pty.send("/mod");
    pty.wait_for("❯ /model");
    pty.key(Key::Esc);
    pty.wait_gone("❯ /model");
    pty.wait_for("> /mod");
}

#[test]
fn what_the_project_and_its_servers_offer_is_in_the_menu() {
    let project = project();
    project.file(
        ".claude/commands/greet.md",
        "---\ndescription: Greets somebody\n---\nGreet $ARGUMENTS warmly.\n",
    );
    project.file(
        ".claude/skills/sums/SKILL.md",
        "---\ndescription: Adds numbers up\n---\nAdd up: $ARGUMENTS\n",
    );
    let server = model([Reply::say("Hello, Ada."), Reply::say("Three."), Reply::say("Reviewed.")]);
    let pty = start(&project, &server, &["--mcp-config", &small_server()]);
    pty.send("/gre");
    pty.wait_for("❯ /greet");
    pty.wait_for("Greets somebody");
    pty.key(Key::Ctrl('u'));
    ready(&pty);
    answers(&pty, "/greet Ada", "Hello, Ada.");
    assert!(last_told(&server).contains("Greet Ada warmly."), "{}", last_told(&server));
    ready(&pty);
    pty.send("/su");
    pty.wait_for("Adds numbers up");
    pty.key(Key::Ctrl('u'));
    ready(&pty);
    answers(&pty, "/sums 1 2", "Three.");
    assert!(last_told(&server).contains("Add up: 1 2"), "{}", last_told(&server));
    ready(&pty);
    pty.send("/review");
    pty.wait_for("/mcp__small__review");
    pty.key(Key::Ctrl('u'));
    ready(&pty);
    answers(&pty, "/mcp__small__review main.rs", "Reviewed.");
    assert!(last_told(&server).contains("Review main.rs now"), "{}", last_told(&server));
}

#[test]
fn help_lists_every_command_and_tells_about_one() {
    let project = project();
    let pty = start_alone(&project);
    let shown = answers(&pty, "/help", "Not in ona; each says why");
    for command in COMMANDS {
        assert!(shown.contains(&format!("/{} ", command.name)), "/{}", command.name);
    }
    for closed in CLOSED {
        assert!(shown.contains(&format!("/{}", closed.name)), "/{}", closed.name);
    }
    ready(&pty);
    answers(&pty, "/help clear", "Also /reset, /new");
    ready(&pty);
    answers(&pty, "/help nonsense", "Unknown command: /nonsense");
    ready(&pty);
    pty.send("?");
    let shown = pty.wait_for("any key closes this");
    assert!(shown.contains("ctrl+r") && shown.contains("shift+tab"), "{shown}");
}

#[test]
fn closed_commands_say_whether_they_are_omitted_or_replaced() {
    let project = project();
    let pty = start_alone(&project);
    for closed in CLOSED {
        for name in std::iter::once(&closed.name).chain(closed.aliases) {
            let word = closed.row.split(':').next().unwrap();
            assert!(["omitted", "replaced"].contains(&word));
            answers(&pty, &format!("/{name}"), &format!("/{}: {word}", closed.name));
            ready(&pty);
        }
    }
}

#[test]
fn capabilities_of_later_issues_say_that_there_is_nothing_yet() {
    let project = project();
    let pty = start_alone(&project);
    for name in ["bead", "hil", "audit"] {
        pty.line(&format!("/{name}"));
        pty.wait_until(|_| {
            let shown = pty.whole();
            let after = shown.rsplit(&format!("> /{name}")).next().unwrap_or_default();
            after.contains("There is nothing yet")
        });
        ready(&pty);
    }
}

#[test]
fn every_command_says_something_and_leaves_the_prompt_usable() {
    // These leave, sign in, open an editor, or ask the model; they have tests of their own.
    let others = [
        "exit",
        "login",
        "logout",
        "keybindings",
        "init",
        "review",
        "security-review",
        "simplify",
        "debug",
        "clear",
        "compact",
        "vim",
    ];
    let project = project();
    let pty = start_alone(&project);
    for command in COMMANDS.iter().filter(|command| !others.contains(&command.name)) {
        for name in std::iter::once(&command.name).chain(command.aliases) {
            let before = pty.whole().len();
            pty.line(&format!("/{name}"));
            // An answer above the prompt, or a list in its place.
            let is_list =
                |screen: &str| screen.contains("Esc closes") || screen.contains("Esc leaves");
            pty.wait_until(|screen| {
                is_list(screen) || is_ready(screen) && pty.whole().len() > before + name.len() + 8
            });
            assert!(!pty.whole().contains("Unknown command"), "/{name}");
            if is_list(&pty.screen()) {
                close(&pty);
            }
        }
    }
    pty.line("/exit");
    assert_eq!(pty.wait_exit(), Exit::Code(0));
}

#[test]
fn without_slash_commands_a_slash_is_text_and_ctrl_d_leaves() {
    let project = project();
    project.file(".claude/commands/greet.md", "Greet.\n");
    let server = model([Reply::say("One."), Reply::say("Two."), Reply::say("Three.")]);
    let pty = start(&project, &server, &["--disable-slash-commands"]);
    pty.wait_for("slash commands are off");
    pty.send("/hel");
    assert!(!pty.settled().contains("❯ /help"), "no menu: {}", pty.screen());
    pty.key(Key::Ctrl('u'));
    answers(&pty, "/greet Ada", "One.");
    assert!(last_told(&server).contains("/greet Ada"));
    ready(&pty);
    answers(&pty, "/exit", "Two.");
    ready(&pty);
    // Keys still do what they do.
    pty.key(Key::Alt('p'));
    pty.wait_for("Another model, by its wire name");
    close(&pty);
    pty.key(Key::Ctrl('d'));
    pty.wait_for("Ctrl-D again leaves");
    pty.key(Key::Ctrl('d'));
    assert_eq!(pty.wait_exit(), Exit::Code(0));
    let pty = project.pty(["--disable-slash-commands", "--plain"], with(&server));
    pty.wait_for("slash commands are off");
    pty.wait_until(|screen| screen.ends_with('>'));
    pty.line("/help");
    pty.wait_for("Three.");
    assert!(last_told(&server).contains("/help"));
    drop(pty);
    // The picker of --resume is no slash command.
    let pty = project.pty(["--disable-slash-commands", "--resume"], with(&server));
    pty.wait_for("Resume a session");
}

/// The variables, each with its command and another name of it.
const SWITCHES: [(&str, &str, &str); 7] = [
    ("DISABLE_LOGIN_COMMAND", "login", "login"),
    ("DISABLE_LOGOUT_COMMAND", "logout", "logout"),
    ("DISABLE_DOCTOR_COMMAND", "doctor", "doctor"),
    ("DISABLE_UPGRADE_COMMAND", "upgrade", "upgrade"),
    ("DISABLE_FEEDBACK_COMMAND", "feedback", "bug"),
    ("DISABLE_EXTRA_USAGE_COMMAND", "extra-usage", "extra-usage"),
    ("DISABLE_INSTALL_GITHUB_APP_COMMAND", "install-github-app", "install-github-app"),
];

#[test]
fn a_variable_switches_a_command_off() {
    let project = project();
    let mut options = PtyOptions::default().size(100, 120).env("ANTHROPIC_API_KEY", KEY);
    for (variable, ..) in SWITCHES {
        options = options.env(variable, "1");
    }
    let pty = start_in(&project, &[], options);
    for (variable, command, other) in SWITCHES {
        let said = format!("/{command} is switched off by {variable}");
        answers(&pty, &format!("/{other}"), &said);
        ready(&pty);
    }
    answers(&pty, "/help doctor", "/doctor is switched off by DISABLE_DOCTOR_COMMAND");
    ready(&pty);
    let shown = answers(&pty, "/help", "Not in ona; each says why");
    let help = shown.rsplit("> /help\n").next().unwrap_or_default();
    for (_, command, _) in SWITCHES {
        assert!(!help.contains(&format!("/{command}")), "/{command}: {help}");
    }
    pty.send("/doct");
    assert!(!pty.settled().contains("❯ /doctor"), "{}", pty.screen());
    drop(pty);
    // 0 leaves it on.
    let options = PtyOptions::default().env("ANTHROPIC_API_KEY", KEY);
    let pty = start_in(&project, &[], options.env("DISABLE_DOCTOR_COMMAND", "0"));
    answers(&pty, "/doctor", "ok    database");
}

#[test]
fn a_whole_name_is_that_command_also_a_closed_one() {
    let project = project();
    project.file(".claude/commands/my-app.md", "Do something.\n");
    let pty = start_alone(&project);
    answers(&pty, "/app", "/desktop: omitted: ona has no desktop app");
    ready(&pty);
    typed(&pty, "/my-ap");
    pty.wait_for("❯ /my-app");
}
