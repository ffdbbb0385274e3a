//! The terminal gets another size.

use ona_front::{Ending, Event, Reply};
use ona_render::theme::Depth;
use ona_tui::screen::Reflow;
use serde_json::json;

use crate::scenes::{answered, ask, ended, permission, started, text, turn_ended};
use crate::stage::{Stage, facts};

const BOTH: [Reflow; 2] = [Reflow::Cuts, Reflow::Wraps];
/// To and fro, wider and narrower, higher and lower.
const SIZES: [(usize, usize); 9] =
    [(40, 24), (160, 24), (40, 15), (160, 50), (80, 24), (79, 24), (80, 10), (400, 60), (40, 50)];

/// A session with a few things in it. The last words are "the very end".
fn talk(reflow: Reflow, columns: usize, height: usize) -> Stage {
    let mut stage = Stage::with(facts(Depth::True, reflow), columns, height);
    stage.begins_to_work();
    stage.hears(started("bash", "Bash", json!({"command": "seq 9"})));
    stage.hears(ended("bash", "Bash", "1\n2\n3\n4\n5\n6\n7\n8\n9", false));
    let answer = "# Result\n\nIt counts, as it always did, from one to nine, and then it stops, which is what one would expect of it.\n\n- one\n- two\n\nThat is the very end.";
    stage.hears(text(answer));
    stage.hears(answered(answer));
    stage.hears_all([turn_ended(Ending::Done), Event::Ready]);
    stage
}

/// On the screen there is one prompt and one status, and nothing of an earlier one.
fn has_one_prompt(stage: &Stage) {
    let screen = stage.text();
    let rules = screen.lines().filter(|row| !row.is_empty() && row.chars().all(|c| c == '─'));
    assert_eq!(rules.count(), 2, "the rules of the prompt:\n{screen}");
    let prompts = screen.lines().filter(|row| row.starts_with("> typed"));
    assert_eq!(prompts.count(), 1, "the prompt:\n{screen}");
    assert_eq!(screen.matches("phase implement").count(), 1, "the status:\n{screen}");
}

#[test]
fn what_is_finished_stays_in_sight_and_the_prompt_is_there_once() {
    for reflow in BOTH {
        let mut stage = talk(reflow, 160, 24);
        stage.types("typed");
        for (columns, height) in SIZES {
            stage.resize(columns, height);
            let screen = stage.text();
            assert!(screen.contains("the very end."), "{reflow:?} {columns}×{height}:\n{screen}");
            has_one_prompt(&stage);
        }
    }
}

#[test]
fn the_cursor_is_in_the_prompt_after_every_resize() {
    for reflow in BOTH {
        let mut stage = talk(reflow, 160, 24);
        stage.types("typed");
        for (columns, height) in SIZES {
            stage.resize(columns, height);
            let (row, column) = stage.terminal.cursor().unwrap();
            let screen = stage.terminal.screen();
            assert_eq!(screen[usize::from(row)], "> typed", "{reflow:?} {columns}×{height}");
            assert_eq!(column, 7, "{reflow:?} {columns}×{height}");
        }
    }
}

#[test]
fn a_screen_that_is_mostly_empty_stays_so() {
    for reflow in BOTH {
        let mut stage = Stage::with(facts(Depth::True, reflow), 160, 50);
        stage.types("typed");
        for (columns, height) in SIZES {
            stage.resize(columns, height);
            let screen = stage.text();
            assert!(screen.contains("ona 1.2.3"), "{reflow:?} {columns}×{height}:\n{screen}");
            has_one_prompt(&stage);
        }
    }
}

#[test]
fn what_is_above_the_first_screen_is_not_erased() {
    for reflow in BOTH {
        let mut stage = Stage::bare(facts(Depth::True, reflow), 80, 24);
        stage.terminal.process(b"$ echo hello\r\nhello\r\n$ ona\r\n");
        stage.hears_all(crate::scenes::opening());
        stage.types("typed");
        for (columns, height) in [(120, 24), (80, 24), (60, 24), (60, 30)] {
            stage.resize(columns, height);
            let all = stage.all_text();
            assert!(all.contains("$ echo hello\nhello\n$ ona"), "{reflow:?} {columns}:\n{all}");
            has_one_prompt(&stage);
        }
    }
}

#[test]
fn rows_that_finish_right_before_a_resize_are_not_lost_and_leave_no_second_prompt() {
    for reflow in BOTH {
        for (columns, height) in SIZES {
            let mut stage = talk(reflow, 160, 24);
            stage.types("typed");
            // It comes between two frames, and so does the change of the size.
            stage.hears_unseen(Event::Warning { text: "a late warning".to_owned() });
            stage.resize(columns, height);
            let screen = stage.text();
            assert!(
                screen.contains("⚠ a late warning"),
                "{reflow:?} {columns}×{height}:\n{screen}"
            );
            has_one_prompt(&stage);
        }
    }
}

#[test]
fn a_dialog_is_there_once() {
    for reflow in BOTH {
        let mut stage = talk(reflow, 160, 24);
        let command = json!({"command": "cargo test --workspace --all-targets --all-features && cargo clippy"});
        stage.hears(ask(permission("Bash", command)));
        for (columns, height) in SIZES {
            stage.resize(columns, height);
            let screen = stage.text();
            assert_eq!(screen.matches("Allow Bash?").count(), 1, "{reflow:?} {columns}:\n{screen}");
            assert_eq!(screen.matches("2. No").count(), 1, "{reflow:?} {columns}:\n{screen}");
        }
    }
}

#[test]
fn a_full_screen_that_was_resized_leaves_one_prompt() {
    for (columns, height) in SIZES {
        let mut stage = talk(Reflow::Cuts, 160, 24);
        stage.types("typed");
        let reply = Reply::Diffs { sources: Vec::new() };
        stage.hears(Event::Reply { command: "diff".to_owned(), reply });
        assert!(stage.terminal.is_alternate());
        stage.resize(columns, height);
        assert!(stage.terminal.is_alternate());
        stage.press("esc");
        assert!(!stage.terminal.is_alternate());
        let screen = stage.text();
        assert!(screen.contains("the very end."), "{columns}×{height}:\n{screen}");
        has_one_prompt(&stage);
    }
}

#[test]
fn everything_can_be_drawn_anew() {
    let mut stage = talk(Reflow::Cuts, 80, 24);
    stage.types("typed");
    stage.terminal.process(b"\x1b[5;1Hrubbish of another program\x1b[3;30H and more");
    stage.press("ctrl+l");
    let screen = stage.text();
    assert!(!screen.contains("rubbish") && screen.contains("the very end."), "{screen}");
    has_one_prompt(&stage);
}

#[test]
fn no_prompt_is_left_among_what_was_scrolled_off() {
    for reflow in BOTH {
        let mut stage = talk(reflow, 160, 24);
        stage.types("typed");
        for (columns, height) in SIZES {
            stage.resize(columns, height);
            for row in stage.terminal.scrollback() {
                let of_prompt = row.starts_with("> typed") || row.starts_with("──");
                assert!(!of_prompt, "{reflow:?} {columns}×{height}: {row}");
            }
        }
    }
}

/// The rows of a screen that are not blank.
fn rows(stage: &Stage) -> Vec<String> {
    stage.terminal.screen().into_iter().filter(|row| !row.is_empty()).collect()
}

#[test]
fn to_and_fro_is_as_before() {
    for reflow in BOTH {
        let mut stage = talk(reflow, 160, 50);
        let before = rows(&stage);
        stage.resize(100, 50);
        stage.resize(160, 50);
        assert_eq!(rows(&stage), before, "{reflow:?}");
    }
}

#[test]
fn what_was_thought_before_a_streamed_answer_is_there_before_and_after_or_never() {
    let mut stage = Stage::with(facts(Depth::True, Reflow::Cuts), 160, 50);
    stage.begins_to_work();
    stage.hears(Event::Thinking { text: "I look at the parser first.".to_owned() });
    stage.hears(text("It is the parser."));
    stage.hears(answered("It is the parser."));
    stage.hears_all([turn_ended(Ending::Done), Event::Ready]);
    let before = rows(&stage);
    stage.resize(100, 50);
    stage.resize(160, 50);
    assert_eq!(rows(&stage), before);
}
