//! Ordinary programs under the terminal.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc;
use std::time::Duration;
use std::{fs, thread};

use super::*;

fn bash(script: &str) -> (Project, Pty) {
    bash_in(script, PtyOptions::default())
}

fn bash_in(script: &str, options: PtyOptions) -> (Project, Pty) {
    let project = Project::new("unused");
    let pty = project.pty_command("bash", ["-c", script], options);
    (project, pty)
}

/// What a wait that must fail says.
fn failure(wait: impl FnOnce()) -> String {
    *catch_unwind(AssertUnwindSafe(wait)).unwrap_err().downcast::<String>().unwrap()
}

#[test]
fn what_is_typed_arrives() {
    let project = Project::new("/bin/cat");
    let pty = project.pty(["-u"], PtyOptions::default());
    pty.line("hello");
    pty.wait_until(|screen| screen == "hello\nhello");
    // The same text again: what stands there already must not pass for it.
    pty.line("hello");
    pty.wait_until(|screen| screen == "hello\nhello\nhello\nhello");
    assert_eq!(pty.cursor(), (4, 0));
    pty.line("");
    pty.wait_until(|_| pty.cursor() == (6, 0));
    assert!(pty.is_running());
    pty.key(Key::Ctrl('d'));
    assert_eq!(pty.wait_exit(), Exit::Code(0));
    assert!(!pty.is_running());
}

#[test]
fn a_program_reads_a_line() {
    let (_project, pty) = bash("read x; echo got $x");
    pty.line("there");
    pty.wait_for("got there");
    assert_eq!(pty.wait_exit(), Exit::Code(0));
    assert!(pty.raw().ends_with(b"got there\r\n"));
}

#[test]
fn a_long_line_is_typed_over_several_rows() {
    let (_project, pty) = bash_in("read x; echo ${#x}", PtyOptions::default().size(10, 20));
    pty.line(&"some words ".repeat(9));
    pty.wait_for("\n98");
}

#[test]
fn much_input_and_output_do_not_block_each_other() {
    let (_project, pty) =
        bash("stty raw -echo; echo ready; head -c 1000000 | tee /dev/tty | wc -c");
    pty.wait_for("ready");
    pty.send(&"x".repeat(1_000_000));
    pty.wait_for("1000000");
    assert!(pty.raw().len() > 1_000_000);
}

#[test]
fn the_size_is_real_and_changes_are_told() {
    let script = "trap 'stty size' WINCH; stty size; sleep 1000 & while :; do wait; done";
    let (_project, pty) = bash(script);
    pty.wait_for("40 120");
    pty.resize(12, 34);
    pty.wait_for("12 34");
    let size = pty.inspect(Screen::size);
    assert_eq!((size.0.get(), size.1.get()), (12, 34));
}

#[test]
fn the_environment_is_clean() {
    let project = Project::new("/usr/bin/env");
    let options = || PtyOptions::default().env("MORE", "yes");
    let variables = |options| {
        let pty = project.pty([""; 0], options);
        pty.wait_exit();
        let raw = String::from_utf8(pty.raw()).unwrap();
        let mut names: Vec<String> = raw.lines().map(str::to_owned).collect();
        names.retain(|line| !line.starts_with("PATH="));
        names.sort();
        names
    };
    let database = format!("AGENT_SDLC_DB={}", project.database().display());
    let home = format!("HOME={}", project.home().display());
    let delay = "ONA_DIALOG_DELAY_MS=0";
    assert_eq!(variables(options()), [&database, &home, "MORE=yes", delay, "TERM=xterm-256color"]);
    assert_eq!(
        variables(options().term("dumb").env("SHELL", "/bin/none")),
        [&database, &home, "MORE=yes", delay, "SHELL=/bin/none", "TERM=dumb"]
    );
    let pty = project.pty_command("pwd", [""; 0], PtyOptions::default().size(5, 500));
    pty.wait_for(project.dir().to_str().unwrap());
}

#[test]
fn codes_and_signals_are_told_apart() {
    let (_project, pty) = bash("exit 7");
    assert_eq!(pty.wait_exit(), Exit::Code(7));
    pty.kill(Signal::SIGKILL);

    let (_project, pty) = bash("echo ready; exec sleep 1000");
    pty.wait_for("ready");
    pty.kill(Signal::SIGTERM);
    assert_eq!(pty.wait_exit(), Exit::Signal(Signal::SIGTERM));

    let (_project, pty) = bash("echo ready; exec sleep 1000");
    pty.wait_for("ready");
    pty.key(Key::Ctrl('c'));
    assert_eq!(pty.wait_exit(), Exit::Signal(Signal::SIGINT));

    let (_project, pty) = bash("exec no-such-program");
    assert_eq!(pty.wait_exit(), Exit::Code(127));
}

#[test]
fn the_last_output_is_read_before_the_end() {
    let (_project, pty) = bash("seq 1 5000; exit 3");
    assert_eq!(pty.wait_exit(), Exit::Code(3));
    assert!(pty.screen().ends_with("4999\n5000"));
}

#[test]
fn rows_that_scrolled_off_are_kept() {
    let (_project, pty) = bash_in("seq 1 200; read x", PtyOptions::default().size(10, 20));
    let wanted = |from: u32| (from..=200).map(|row| row.to_string()).collect::<Vec<_>>().join("\n");
    pty.wait_until(|screen| screen == wanted(192));
    assert_eq!(pty.whole(), wanted(1));
    assert_eq!(pty.screen(), wanted(192));
    pty.wait_whole("\n17\n");
}

/// Whether the pipe's last writer ends in time.
fn closes(pipe: fs::File) -> bool {
    let (told, ended) = mpsc::channel();
    thread::spawn(move || told.send(std::io::copy(&mut { pipe }, &mut std::io::sink()).is_ok()));
    ended.recv_timeout(Duration::from_secs(30)).unwrap()
}

#[test]
fn dropping_kills_the_group() {
    // A second process of the group, one that ignores the hang-up, and a job in the foreground with its own group.
    for script in [
        "sleep 1000 >pipe & echo ready; wait",
        "trap '' HUP TERM INT; sleep 1000 >pipe & echo ready; wait",
        "set -m; trap '' HUP; (echo ready; exec sleep 1000 >pipe)",
    ] {
        let project = Project::new("unused");
        assert!(crate::run(project.command("mkfifo").arg("pipe")).code == Some(0));
        let pty = project.pty_command("bash", ["-c", script], PtyOptions::default());
        // Opening waits for the writer.
        let pipe = fs::File::open(project.path("pipe")).unwrap();
        pty.wait_for("ready");
        let pid = Pid::from_raw(pty.pid());
        drop(pty);
        assert!(signal::kill(pid, None).is_err(), "{script}");
        assert!(closes(pipe), "{script}");
    }
}

#[test]
fn a_process_left_behind_does_not_hold_up_the_end() {
    let (_project, pty) = bash("setsid bash -c 'echo $$; exec sleep 60' & read x; exit 4");
    let stray = pty.wait_until(|screen| screen.parse::<i32>().is_ok());
    pty.key(Key::Enter);
    assert_eq!(pty.wait_exit(), Exit::Code(4));
    signal::kill(Pid::from_raw(stray.parse().unwrap()), Signal::SIGKILL).unwrap();
}

#[test]
fn questions_are_answered() {
    let ask = r#"stty -icanon -echo; ask() { printf "$1"; IFS= read -rsd "$2" x; printf '%q\r\n' "$x"; };"#;
    let script = format!(
        r"{ask} printf abc; ask '\033[6n' R; ask '\033[?u\033[c' c; ask '\033[?2026$p' y; ask '\033[5n' n; printf end"
    );
    let (_project, pty) = bash(&script);
    let screen = pty.wait_for("end");
    // The question for kitty's keyboard protocol comes before DA1, and only DA1 is answered.
    let answers = [r"abc$'\E[1;4'", r"$'\E[?62;22'", r"$'\E[?2026;2$'", r"$'\E[0'", "end"];
    assert_eq!(screen.lines().collect::<Vec<_>>(), answers);

    let script = format!(r"{ask} ask '\033]11;?\033\\' '\'; ask '\033]10;?\007' '\'; printf end");
    for (background, back, front) in
        [(Background::Dark, "0000", "ffff"), (Background::Light, "ffff", "0000")]
    {
        let (_project, pty) = bash_in(&script, PtyOptions::default().background(background));
        let screen = pty.wait_for("end");
        assert!(screen.contains(&format!(r"]11;rgb:{back}/{back}/{back}\E")), "{screen}");
        assert!(screen.contains(&format!(r"]10;rgb:{front}/{front}/{front}\E")), "{screen}");
    }
    let (_project, pty) = bash(&format!(r"{ask} ask '\033]11;?\033\\\033[c' c; printf end"));
    assert_eq!(pty.wait_for("end"), "$'\\E[?62;22'\nend");
}

#[test]
fn keys_are_those_of_xterm() {
    let (_project, pty) = bash("stty raw -echo; printf ready; exec cat -vT");
    pty.wait_for("ready");
    let keys = [
        (Key::Enter, "^M"),
        (Key::Esc, "^["),
        (Key::Tab, "^I"),
        (Key::BackTab, "^[[Z"),
        (Key::Up, "^[[A"),
        (Key::Down, "^[[B"),
        (Key::Right, "^[[C"),
        (Key::Left, "^[[D"),
        (Key::Home, "^[[H"),
        (Key::End, "^[[F"),
        (Key::PageUp, "^[[5~"),
        (Key::PageDown, "^[[6~"),
        (Key::Delete, "^[[3~"),
        (Key::Backspace, "^?"),
        (Key::Ctrl('a'), "^A"),
        (Key::Ctrl('Z'), "^Z"),
        (Key::Ctrl('_'), "^_"),
        (Key::Ctrl(' '), "^@"),
        (Key::Alt('x'), "^[x"),
        (Key::Alt('\r'), "^[^M"),
    ];
    let mut wanted = "ready".to_owned();
    for (key, shown) in keys {
        pty.key(key);
        wanted.push_str(shown);
        pty.wait_until(|screen| screen.replace('\n', "") == wanted);
    }
    assert!(failure(|| pty.key(Key::Ctrl('ä'))).contains("'ä'"));

    let (_project, pty) = bash(r"stty raw -echo; printf '\033[?1hready'; exec cat -v");
    pty.wait_for("ready");
    pty.key(Key::Up);
    pty.key(Key::End);
    pty.wait_for("ready^[OA^[OF");
}

#[test]
fn a_paste_is_in_brackets() {
    let (_project, pty) = bash(r"stty raw -echo; printf '\033[?2004h'; exec cat -v");
    pty.paste("one\ntwo\r\nthree");
    pty.wait_for("^[[200~one^Mtwo^Mthree^[[201~");

    let options = PtyOptions::default().deadline(Duration::from_millis(50));
    let (_project, pty) = bash_in("exec sleep 1000", options);
    assert!(failure(|| pty.paste("x")).starts_with("bracketed paste: not within 50ms"));
}

#[test]
fn styles_and_title_are_seen() {
    let (_project, pty) = bash(
        r"printf 'ab\r\n世 \033[10Gx\033[1;31;48;2;1;2;3mred\033[m\033]2;a title\007'; read x",
    );
    pty.wait_for("red");
    let (row, col) = pty.find("red").unwrap();
    assert_eq!((row, col), (1, 10));
    assert_eq!(pty.find("世"), Some((1, 0)));
    assert_eq!(pty.find("blue"), None);
    assert_eq!(pty.fg_at(row, col), Color::Idx(1));
    assert_eq!(pty.bg_at(row, col + 2), Color::Rgb(1, 2, 3));
    assert!(pty.cell_at(row, col).bold());
    assert_eq!(pty.fg_at(row, col - 1), Color::Default);
    pty.wait_until(|_| pty.title() == "a title");
}

#[test]
fn a_frame_is_seen_as_a_whole() {
    let (_project, pty) = bash(
        r"stty -echo; printf 'old'; read x; printf '\033[?2026h\rnew'; read x; printf ' frame\033[?2026l'; read x",
    );
    pty.wait_for("old");
    pty.send("\r");
    // The first half is there, but not shown: one only sees it in what came raw.
    let half = |state: &mut State| !state.raw.ends_with(b"new");
    let state = pty.shared.state.lock().unwrap();
    drop(pty.shared.changed.wait_timeout_while(state, pty.deadline, half).unwrap());
    pty.send("\r");
    let mut seen = Vec::new();
    pty.wait_until(|screen| {
        seen.push(screen.to_owned());
        screen == "new frame"
    });
    assert!(!seen.contains(&"new".to_owned()), "{seen:?}");
}

#[test]
fn text_goes_and_the_screen_settles() {
    let (_project, pty) = bash(r"stty -echo; printf busy; read x; printf '\r\033[Kdone'; read x");
    pty.wait_for("busy");
    assert_eq!(pty.settled(), "busy");
    pty.send("\r");
    assert_eq!(pty.wait_gone("busy"), "done");

    let options = PtyOptions::default().deadline(Duration::from_millis(300));
    let (_project, pty) = bash_in("exec yes", options);
    assert!(failure(|| drop(pty.settled())).starts_with("the output never stops"));
}

#[test]
fn a_failed_wait_shows_what_there_is() {
    let (_project, pty) = bash(r"printf 'some \033[1mtext'; exit 5");
    let said = failure(|| drop(pty.wait_for("other")));
    assert!(said.starts_with("\"other\" on the screen: the program has ended\n"), "{said}");
    assert!(said.contains("(cursor (0, 9), exit Some(Code(5)))\nsome text\n"), "{said}");
    assert!(said.contains(r"some \x1b[1mtext"), "{said}");

    let options = PtyOptions::default().deadline(Duration::from_millis(200));
    let (_project, pty) = bash_in("exec sleep 1000", options);
    let said = failure(|| {
        pty.wait_exit();
    });
    assert!(said.starts_with("the end of the program: not within 200ms"), "{said}");
    assert!(pty.is_running());
}
