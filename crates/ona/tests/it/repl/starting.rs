//! Starting and leaving: what is needed for a prompt, exit codes, and the terminal as it was before.

use ona_testkit::pty::{Exit, Signal};
use ona_testkit::run;

use super::*;
use crate::project;

/// A shell that starts ona, then says how it ended and how the terminal is.
fn in_a_shell(project: &Project, server: &Server) -> Pty {
    let script = r#"sh -c 'echo $$ > pid; exec "$0"' "$0"; code=$?
        stty -a | grep -q ' icanon' && stty -a | grep -q ' echo ' && echo "cooked, code $code""#;
    let pty = project.pty_command("bash", ["-c", script, env!("CARGO_BIN_EXE_ona")], with(server));
    ready(&pty);
    pty
}

#[track_caller]
fn is_given_back(pty: &Pty) {
    let modes = pty.inspect(|screen| {
        (screen.bracketed_paste(), screen.hide_cursor(), screen.alternate_screen())
    });
    assert_eq!(modes, (false, false, false));
    let raw = String::from_utf8_lossy(&pty.raw()).into_owned();
    for (on, off) in [("\x1b[?2004h", "\x1b[?2004l"), ("\x1b[?1004h", "\x1b[?1004l")] {
        assert!(raw.rfind(off) > raw.rfind(on), "{on:?} stays on");
    }
    assert_eq!(raw.matches("\x1b[>1u").count(), raw.matches("\x1b[<u").count());
}

#[test]
fn without_a_credential_there_is_a_prompt_that_says_how_to_sign_in() {
    let project = project();
    let pty = start_in(&project, &[], PtyOptions::default());
    assert!(!pty.whole().contains("trust"), "{}", pty.whole());
    answers(&pty, "hello", "/login");
    ready(&pty);
    answers(&pty, "/help exit", "Leave");
}

#[test]
fn without_a_terminal_the_message_names_p_and_the_code_is_2() {
    let project = project();
    let ran = run(&mut project.ona([""; 0]));
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    assert!(ran.stderr.contains("ona -p"), "{}", ran.stderr);
    assert_eq!(ran.stdout, "");
}

#[test]
fn every_way_to_leave_ends_with_0_and_a_terminal_as_before() {
    type Leaves = Box<dyn Fn(&Pty)>;
    let twice = |key: Key, words: &'static str| {
        move |pty: &Pty| {
            pty.key(key);
            pty.wait_for(words);
            pty.key(key);
        }
    };
    let ways: [(&str, Leaves); 4] = [
        ("/exit", Box::new(|pty: &Pty| pty.line("/exit"))),
        ("/quit", Box::new(|pty: &Pty| pty.line("/quit"))),
        ("Ctrl-D", Box::new(twice(Key::Ctrl('d'), "Ctrl-D again leaves"))),
        ("Ctrl-C", Box::new(twice(Key::Ctrl('c'), "Ctrl-C again leaves"))),
    ];
    let (project, server) = (project(), model([]));
    for (way, leave) in ways {
        let pty = in_a_shell(&project, &server);
        leave(&pty);
        pty.wait_exit();
        assert!(pty.whole().contains("cooked, code 0"), "{way}: {}", pty.whole());
        is_given_back(&pty);
    }
    assert_eq!(project.sql("SELECT count(*) FROM running_calls"), ["0"]);
}

#[test]
fn the_shell_goes_on_below_what_was_there() {
    let (project, server) = (project(), model([]));
    let pty = in_a_shell(&project, &server);
    answers(&pty, "/help exit", "Leave");
    ready(&pty);
    pty.line("/exit");
    pty.wait_exit();
    let shown = pty.whole();
    assert!(shown.ends_with("cooked, code 0"), "{shown}");
    for part in ["/help lists the commands", "Leave", "> /exit"] {
        assert!(shown.contains(part), "{part} is lost: {shown}");
    }
}

#[test]
fn a_signal_ends_it_with_its_code_and_a_terminal_as_before() {
    for (signal, code, at_work) in [
        (Signal::SIGTERM, 143, false),
        (Signal::SIGHUP, 129, false),
        (Signal::SIGQUIT, 131, false),
        (Signal::SIGTERM, 143, true),
    ] {
        let project = project();
        user_settings(
            &project,
            &json!({
                "permissions": {"allow": ["Bash"]},
                "hooks": {"SessionEnd": hook("", "cat > ended")},
            }),
        );
        let server = model([bash("toolu_starting_signal", "touch begun; sleep 600")]);
        let pty = in_a_shell(&project, &server);
        if at_work {
            pty.line("go");
            until("the command", || project.path("begun").exists());
        }
        let (pid, asked) = (project.content("pid"), Instant::now());
        let killed = run(project.command("kill").arg(format!("-{}", code - 128)).arg(pid.trim()));
        assert_eq!(killed.code, Some(0), "{}", killed.stderr);
        pty.wait_exit();
        let shown = pty.whole();
        assert!(shown.contains(&format!("cooked, code {code}")), "{signal} {at_work}: {shown}");
        assert!(
            asked.elapsed() < Duration::from_secs(10),
            "it hangs before it ends: {signal} {at_work}"
        );
        is_given_back(&pty);
        assert!(project.path("ended").exists(), "SessionEnd hooks run");
        assert!(project.content("ended").contains("\"reason\":\"other\""));
        assert_eq!(run(&mut project.ona(["doctor"])).code, Some(0));
    }
}

#[test]
fn a_terminal_that_is_gone_leaves_a_clean_record() {
    let project = project();
    let server = model([bash("toolu_starting_gone", "touch begun; sleep 600")]);
    let pty = start(&project, &server, &["--allowedTools", "Bash"]);
    pty.line("go");
    until("the command", || project.path("begun").exists());
    // A window that is closed hangs up on everybody in it.
    let asked = Instant::now();
    pty.kill(Signal::SIGHUP);
    assert_eq!(pty.wait_exit(), Exit::Code(129));
    assert!(asked.elapsed() < Duration::from_secs(10), "it hangs before it ends");
    assert_eq!(run(&mut project.ona(["doctor"])).code, Some(0));
    let results = "SELECT count(*) FROM transcript_entries WHERE entry_type = 'tool_result'";
    assert_eq!(project.sql(results), ["1"], "the call has a result");
}

#[test]
fn the_loss_of_the_terminal_counts_as_a_hang_up() {
    let (project, server) = (project(), model([]));
    let ona = env!("CARGO_BIN_EXE_ona");
    let script = format!("trap '' HUP; {ona}; code=$?; times > times; echo $code > code");
    let pty = project.pty_command("script", ["-qec", &script, "/dev/null"], with(&server));
    ready(&pty);
    pty.kill(Signal::SIGKILL);
    until("the exit code", || project.path("code").exists() && !project.content("code").is_empty());
    assert_eq!(project.content("code"), "129\n");
    // The second line is about the processes that the shell has started: "0m0.08s 0m0.03s".
    let times = project.content("times");
    let of_ona = times.lines().nth(1).unwrap_or_default();
    let spent: f64 = of_ona
        .split_whitespace()
        .map(|time| time.trim_start_matches("0m").trim_end_matches('s').parse::<f64>().unwrap())
        .sum();
    assert!(spent < 1.5, "it does not read from a terminal that is gone: {times}");
}

#[test]
fn a_prompt_on_the_command_line_is_sent_at_once() {
    let (project, server) = (project(), model([Reply::say("At your service.")]));
    let pty = project.pty(["say something"], with(&server));
    let shown = pty.wait_for("At your service.");
    assert!(shown.contains("> say something"), "{shown}");
    assert!(last_told(&server).contains("say something"));
}

#[test]
fn it_can_be_stopped_and_goes_on() {
    let project = project();
    let script = r#"set -m; "$0"; echo "stopped with $?"; read -r line; fg >/dev/null; echo "ended with $?""#;
    let options = PtyOptions::default().env("ANTHROPIC_API_KEY", KEY);
    let pty = project.pty_command("bash", ["-c", script, env!("CARGO_BIN_EXE_ona")], options);
    ready(&pty);
    typed(&pty, "half a prompt");
    pty.key(Key::Ctrl('z'));
    pty.wait_for("stopped with 148");
    assert!(!pty.inspect(|screen| screen.bracketed_paste()), "the shell has its terminal");
    pty.key(Key::Enter);
    pty.wait_for("> half a prompt");
    pty.key(Key::Ctrl('u'));
    ready(&pty);
    pty.line("/exit");
    pty.wait_whole("ended with 0");
}

/// A program that behaves like an editor which never ends: it changes the terminal, and says that it is there.
fn stubborn_editor(project: &Project) -> String {
    let editor = "#!/bin/sh\nstty raw -echo\nprintf '\\033[?1049hediting'\necho $$ > editor-pid\nexec sleep 600\n";
    let path = project.file("editor.sh", editor);
    format!("sh {path}")
}

/// A shell that starts ona with such an editor, which is open.
fn with_open_editor(project: &Project) -> Pty {
    let script = r#"sh -c 'echo $$ > pid; exec "$0"' "$0"; code=$?
        stty -a | grep -q ' icanon' && stty -a | grep -q ' echo ' && echo "cooked, code $code""#;
    let editor = stubborn_editor(project);
    let options = PtyOptions::default().env("ANTHROPIC_API_KEY", KEY).env("EDITOR", &editor);
    let pty = project.pty_command("bash", ["-c", script, env!("CARGO_BIN_EXE_ona")], options);
    ready(&pty);
    pty.key(Key::Ctrl('g'));
    pty.wait_for("editing");
    let written = || fs::read_to_string(project.path("editor-pid")).unwrap_or_default();
    until("the editor", || written().ends_with('\n'));
    pty
}

fn kill(project: &Project, file: &str, signal: &str) {
    let pid = project.content(file);
    let ran = run(project.command("bash").args(["-c", "kill -s $0 $1", signal, pid.trim()]));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
}

#[test]
fn an_editor_that_is_killed_leaves_a_terminal_that_works() {
    let project = project();
    let pty = with_open_editor(&project);
    kill(&project, "editor-pid", "KILL");
    pty.wait_until(|screen| screen.contains("the editor") && screen.contains("failed"));
    assert!(!pty.inspect(|screen| screen.alternate_screen()));
    pty.line("/exit");
    pty.wait_whole("cooked, code 0");
    is_given_back(&pty);
}

#[test]
fn a_signal_ends_the_editor_too() {
    let project = project();
    let pty = with_open_editor(&project);
    kill(&project, "pid", "TERM");
    pty.wait_whole("cooked, code 143");
    is_given_back(&pty);
}

#[test]
fn a_signal_at_the_trust_dialog_has_its_code() {
    for (signal, code) in [(Signal::SIGTERM, 143), (Signal::SIGHUP, 129)] {
        let (project, server) = (project(), model([]));
        let settings = json!({"hooks": {"SessionStart": hook("", "touch ran")}});
        project.file(".claude/settings.json", settings.to_string());
        let pty = project.pty([""; 0], with(&server));
        pty.wait_for("Do you trust this folder?");
        pty.kill(signal);
        assert_eq!(pty.wait_exit(), Exit::Code(code));
        assert!(!project.path("ran").exists());
    }
}

#[test]
fn it_can_be_stopped_from_outside_and_goes_on() {
    for signal in ["TSTP", "STOP"] {
        let project = project();
        let script = r#"set -m; sh -c 'echo $$ > pid; exec "$0"' "$0"; code=$?; stty sane
            echo "stopped with $code"; read -r line; fg >/dev/null; echo "ended with $?""#;
        let options = PtyOptions::default().env("ANTHROPIC_API_KEY", KEY);
        let pty = project.pty_command("bash", ["-c", script, env!("CARGO_BIN_EXE_ona")], options);
        ready(&pty);
        typed(&pty, "half a prompt");
        kill(&project, "pid", signal);
        pty.wait_for("stopped with 14");
        pty.key(Key::Enter);
        let enters = || String::from_utf8_lossy(&pty.raw()).matches("\x1b[?2004h").count();
        until("ona", || enters() == 2);
        pty.wait_for("> half a prompt");
        // Keys arrive one by one again.
        typed(&pty, " and more");
        pty.key(Key::Ctrl('u'));
        ready(&pty);
        pty.line("/exit");
        pty.wait_whole("ended with 0");
    }
}
