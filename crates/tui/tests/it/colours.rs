//! No more colours than the terminal has.

use ona_front::{Ending, Event};
use ona_render::theme::Depth;
use ona_tui::screen::Reflow;
use ona_types::PermissionMode;
use serde_json::json;

use crate::scenes::{answered, ask, diff, ended, id, permission, started, text, turn_ended};
use crate::sequences::{is_style, styles};
use crate::stage::{Stage, facts};

/// The styles that are written in a session with a little of everything.
fn written_styles(depth: Depth, theme: &str, colour: &str) -> Vec<String> {
    let mut stage = Stage::with(facts(depth, Reflow::Cuts), 80, 24);
    stage.prefers(|preferences| {
        preferences.theme = Some(theme.to_owned());
        preferences.colour = Some(colour.to_owned());
        preferences.verbose = true;
        preferences.syntax_highlighting_disabled = false;
    });
    for (mode, _) in PermissionMode::ALL {
        stage.status(|status| status.mode = mode);
    }
    stage.begins_to_work();
    stage.hears(Event::Thinking { text: "thinking".to_owned() });
    stage.hears(text("# Heading\n\n`code` **bold** *it* ~~gone~~ [link](https://example.org)\n\n> quote\n\n```rust\nfn main() { let x = \"a\\n\"; } // comment\n```\n\n| a |\n|---|\n| b |\n"));
    stage.hears(answered(""));
    stage.hears(started("edit", "Edit", json!({"file_path": "a.rs"})));
    stage.hears(Event::ToolEnded {
        id: id("edit"),
        tool: "Edit".to_owned(),
        content: String::new(),
        is_error: false,
        refused: None,
        diff: Some(diff()),
        exit_code: None,
    });
    stage.hears(started("bash", "Bash", json!({"command": "false"})));
    stage.hears(ended("bash", "Bash", "failed", true));
    stage.hears(Event::Warning { text: "warning".to_owned() });
    stage.hears(ask(permission("Bash", json!({"command": "ls"}))));
    stage.press("n");
    stage.hears_all([turn_ended(Ending::MaxTurns { most: 1 }), Event::Ready]);
    stage.types("/co");
    stage.press("ctrl+u");
    stage.pastes(&"line\n".repeat(20));
    styles(stage.written())
}

const THEMES: [&str; 7] =
    ["auto", "dark", "light", "dark-daltonized", "light-daltonized", "dark-ansi", "light-ansi"];

/// The codes of colours among the codes of a style.
fn colours(codes: &str) -> Vec<&str> {
    codes.split(';').filter(|code| code.parse::<u16>().is_ok_and(|code| code >= 30)).collect()
}

#[test]
fn without_colours_no_colour_is_written() {
    for theme in THEMES {
        for codes in written_styles(Depth::None, theme, "orange") {
            assert!(colours(&codes).is_empty(), "{theme}: {codes}");
        }
    }
}

#[test]
fn with_16_colours_only_those_are_written() {
    for theme in THEMES {
        let all = written_styles(Depth::Ansi16, theme, "pink");
        assert!(all.iter().any(|codes| !colours(codes).is_empty()), "{theme} has colours");
        for codes in all {
            assert!(!codes.contains("38;") && !codes.contains("48;"), "{theme}: {codes}");
        }
    }
}

#[test]
fn with_256_colours_no_others_are_written() {
    for theme in THEMES {
        for codes in written_styles(Depth::Ansi256, theme, "cyan") {
            assert!(!codes.contains("38;2") && !codes.contains("48;2"), "{theme}: {codes}");
            assert!(codes == "0" || is_style(&codes), "{theme}: {codes}");
        }
    }
}

#[test]
fn with_all_colours_some_are_written() {
    let all = written_styles(Depth::True, "dark", "red");
    assert!(all.iter().any(|codes| codes.contains("38;2;")));
}

/// The styles of a status line of one's own.
fn of_a_status_line(depth: Depth) -> Vec<String> {
    let mut stage = Stage::with(facts(depth, Reflow::Cuts), 80, 24);
    let before = stage.written().len();
    stage.status_line(
        "\u{1b}[31mred\u{1b}[0m \u{1b}[1;38;5;208morange\u{1b}[0m \u{1b}[48;2;10;20;30mexact",
    );
    styles(&stage.written()[before..])
}

#[test]
fn a_status_line_of_ones_own_without_colours() {
    for codes in of_a_status_line(Depth::None) {
        assert!(colours(&codes).is_empty(), "{codes}");
    }
}

#[test]
fn a_status_line_of_ones_own_has_no_more_colours_than_the_terminal() {
    for codes in of_a_status_line(Depth::Ansi256) {
        assert!(!codes.contains("38;2") && !codes.contains("48;2"), "{codes}");
    }
    for codes in of_a_status_line(Depth::Ansi16) {
        assert!(!codes.contains("38;") && !codes.contains("48;"), "{codes}");
    }
}
