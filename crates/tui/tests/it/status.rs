//! The rows below the prompt.

use ona_types::PermissionMode;

use crate::stage::{Stage, at_three_sizes};

#[test]
fn the_mode_accept_edits() {
    insta::assert_snapshot!(at_three_sizes(|stage| {
        stage.status(|status| status.mode = PermissionMode::AcceptEdits);
    }));
}

#[test]
fn the_mode_plan() {
    insta::assert_snapshot!(at_three_sizes(|stage| {
        stage.status(|status| status.mode = PermissionMode::Plan);
    }));
}

#[test]
fn the_mode_bypass_permissions() {
    insta::assert_snapshot!(at_three_sizes(|stage| {
        stage.status(|status| status.mode = PermissionMode::BypassPermissions);
    }));
}

#[test]
fn the_mode_dont_ask() {
    insta::assert_snapshot!(at_three_sizes(|stage| {
        stage.status(|status| status.mode = PermissionMode::DontAsk);
    }));
}

#[test]
fn everything_that_a_status_can_say() {
    insta::assert_snapshot!(at_three_sizes(|stage| {
        stage.status(|status| {
            status.name = Some("parser".to_owned());
            status.mode = PermissionMode::AcceptEdits;
            status.bead = Some("ona-12".to_owned());
            status.effort = Some("high".to_owned());
            status.thinking = true;
            status.context_tokens = 190_000;
            status.background = 2;
        });
    }));
}

#[test]
fn a_status_line_of_ones_own() {
    insta::assert_snapshot!(at_three_sizes(|stage| {
        stage.status_line("\u{1b}[31mmain\u{1b}[0m \u{1b}[1;38;5;208m+3\u{1b}[m engine · \u{1b}]8;;https://example.org\u{7}link\u{1b}]8;;\u{7}\n\u{1b}[2Jsecond row");
    }));
}

#[test]
fn a_status_line_of_ones_own_keeps_its_colours() {
    let mut stage = Stage::new(80, 24);
    stage.status_line("\u{1b}[31mred\u{1b}[0m \u{1b}[38;2;1;2;3mexact\u{1b}[0m usual");
    assert_eq!(stage.terminal.colour_of("red"), vt100::Color::Idx(1));
    assert_eq!(stage.terminal.colour_of("exact"), vt100::Color::Rgb(1, 2, 3));
    assert_eq!(stage.terminal.colour_of("usual"), vt100::Color::Default);
}

#[test]
fn from_160_columns_on_everything_is_there() {
    for (mode, words) in
        [(PermissionMode::AcceptEdits, "accept edits on"), (PermissionMode::Plan, "plan mode on")]
    {
        let mut stage = Stage::new(160, 50);
        stage.status(|status| {
            status.mode = mode;
            status.sandbox = "none".to_owned();
            // Hints give way to all of it.
            status.background = 2;
        });
        let shown = stage.text();
        for wanted in
            [words, "phase implement", "INT-007", "sonnet-9", "12%", "$0.1234", "sandbox none"]
        {
            assert!(shown.contains(wanted), "{wanted}: {shown}");
        }
    }
}

#[test]
fn a_context_that_is_nearly_full_is_seen_in_80_columns() {
    let mut stage = Stage::new(80, 24);
    stage.status(|status| {
        status.mode = PermissionMode::AcceptEdits;
        status.background = 2;
        status.context_tokens = 190_000;
    });
    assert!(stage.text().contains("context 95%"), "{}", stage.text());
}

#[test]
fn the_bead_is_seen_in_160_columns_in_every_mode() {
    for (mode, _) in PermissionMode::ALL {
        let mut stage = Stage::new(160, 50);
        stage.status(|status| {
            status.mode = mode;
            status.bead = Some("ona-12".to_owned());
            status.background = 2;
        });
        assert!(stage.text().contains("bead ona-12"), "{mode:?}: {}", stage.text());
    }
}

#[test]
fn a_note_is_seen_whatever_the_width_and_the_mode() {
    for (columns, height) in [(40, 15), (80, 24), (160, 50)] {
        for (mode, _) in PermissionMode::ALL {
            let mut stage = Stage::new(columns, height);
            stage.status(|status| status.mode = mode);
            stage.press("esc");
            assert!(stage.text().contains("Esc again"), "{columns} {mode:?}:\n{}", stage.text());
            stage.press("ctrl+c");
            assert!(stage.text().contains("Ctrl-C again"), "{columns} {mode:?}:\n{}", stage.text());
        }
    }
}
