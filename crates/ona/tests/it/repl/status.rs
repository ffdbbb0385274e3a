//! The status line, the title, and what becomes of both in narrow and wide terminals.

use super::*;
use crate::project;

/// The row below the prompt.
fn status_row(pty: &Pty) -> String {
    pty.screen().lines().last().unwrap_or_default().to_owned()
}

#[test]
fn from_160_columns_on_the_status_line_shows_everything() {
    let (project, server) = (project(), model([]));
    let pty = start_in(&project, &[], with(&server).size(30, 160));
    let parts = [
        "phase idle",
        "intent ",
        "claude-sonnet-4-20250514",
        "context 0%",
        "$0.00",
        "sandbox none",
    ];
    for part in parts {
        assert!(status_row(&pty).contains(part), "{part}: {}", status_row(&pty));
    }
    // Neither the mode nor a hint takes their place.
    for words in ["accept edits on", "plan mode on"] {
        pty.key(Key::BackTab);
        pty.wait_for(words);
        for part in parts {
            assert!(status_row(&pty).contains(part), "{words}: {part}: {}", status_row(&pty));
        }
    }
}

#[test]
fn from_160_columns_on_a_hint_takes_nothing_away() {
    let (project, server) = (project(), model([]));
    let pty = start_in(&project, &["--permission-mode", "plan"], with(&server).size(30, 160));
    pty.key(Key::Esc);
    pty.wait_for("Esc again goes back");
    for part in [
        "plan mode on",
        "phase idle",
        "intent ",
        "claude-sonnet-4",
        "context 0%",
        "$0.00",
        "sandbox none",
    ] {
        assert!(status_row(&pty).contains(part), "{part}: {}", status_row(&pty));
    }
}

#[test]
fn in_40_columns_nothing_is_wider_than_the_terminal() {
    let project = project();
    let table =
        "| a wide column | another wide column | a third |\n|---|---|---|\n| one | two | three |\n";
    let server = model([
        Reply::say(format!(
            "A long line of words that needs more than one row of this screen.\n\n{table}"
        )),
        bash("toolu_b", "mkdir a-directory-with-quite-a-long-name && echo done"),
        Reply::say("Done."),
    ]);
    let pty = start_in(&project, &[], with(&server).size(24, 40));
    assert!(status_row(&pty).contains("phase idle"), "{}", status_row(&pty));
    answers(&pty, "tell me", "one row of");
    pty.wait_whole("three");
    pty.wait_gone("tokens ·");
    pty.line("go");
    pty.wait_for("Allow Bash?");
    let shown = pty.wait_for("1. Yes");
    assert!(shown.contains("No  (n, Esc)"), "{shown}");
    pty.send("y");
    pty.wait_for("Done.");
    pty.wait_gone("tokens ·");
    pty.line("/model");
    pty.wait_for("Esc closes");
    close(&pty);
    let whole = pty.whole();
    for row in whole.lines() {
        assert!(row.chars().count() <= 40, "{row}");
    }
}

#[test]
fn a_terminal_of_400_columns_is_used() {
    let (project, server) = (project(), model([Reply::say("Wide.")]));
    let pty = start_in(&project, &[], with(&server).size(50, 400));
    answers(&pty, "go", "Wide.");
    ready(&pty);
    assert!(pty.screen().contains(&"─".repeat(400)));
}

#[test]
fn a_change_of_the_size_is_followed() {
    let project = project();
    let words: String = (0..60).map(|n| format!("word{n:02} ")).collect();
    let server = model([Reply::say(words)]);
    let pty = start_in(&project, &[], with(&server).size(30, 100));
    answers(&pty, "speak", "word59");
    ready(&pty);
    typed(&pty, "a draft that stays");
    for (rows, columns) in [(20, 50), (40, 140), (30, 40), (30, 100)] {
        pty.resize(rows, columns);
        let width = usize::from(columns);
        pty.wait_until(|screen| {
            screen.lines().any(|row| row == "─".repeat(width))
                && screen.contains("> a draft that stays")
        });
        let shown = pty.settled();
        assert_eq!(shown.matches("> a draft that stays").count(), 1, "{columns}: {shown}");
        assert_eq!(shown.matches("word59").count(), 1, "{columns}: {shown}");
    }
}

#[test]
fn the_title_tells_the_directory_and_the_state() {
    let project = project();
    let pty = start_alone(&project);
    pty.wait_until(|_| pty.title() == "ona · project");
}

#[test]
fn answers_are_rendered() {
    const ASKED: usize = 50;
    let project = project();
    let text = "# Title\n\nSome **bold** and `code`.\n\n- one\n- two\n\n```rust\nfn main() {}\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n";
    let server = model((0..ASKED).map(|_| Reply::say(text)));
    let pty = start(&project, &server, &[]);
    pty.line("show me");
    pty.wait_whole("│ 1 ");
    ready(&pty);
    let shown = pty.whole();
    assert!(!shown.contains("**") && !shown.contains("```") && !shown.contains("|---|"), "{shown}");
    let bold = pty.find("bold").unwrap();
    assert!(pty.cell_at(bold.0, bold.1).bold());
    // What comes before the grammars are loaded stays plain.
    let is_highlighted = || {
        let screen = pty.screen();
        let found = screen.lines().enumerate().filter_map(|(row, line)| {
            let at = line.find("fn main")?;
            Some((u16::try_from(row).ok()?, u16::try_from(line[..at].chars().count()).ok()?))
        });
        let differs = |(row, column)| pty.fg_at(row, column) != pty.fg_at(row, column + 7);
        found.last().is_some_and(differs)
    };
    for asked in 2..=ASKED {
        if is_highlighted() {
            break;
        }
        pty.line("show me");
        until("the question", || server.requests().len() == asked);
        ready(&pty);
    }
    assert!(is_highlighted(), "code is highlighted: {}", pty.screen());
    assert!(shown.contains("│ a │ b │") || shown.contains("│ a"), "{shown}");
}
