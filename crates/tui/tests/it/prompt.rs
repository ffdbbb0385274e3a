//! The prompt: the first screen, and what is typed and pasted.

use ona_front::Op;
use ona_render::theme::Depth;
use ona_tui::screen::Reflow;

use crate::stage::{Stage, at_three_sizes, facts};

#[test]
fn the_first_screen() {
    insta::assert_snapshot!(at_three_sizes(|_| {}));
}

#[test]
fn before_the_session_is_open() {
    let mut stage = Stage::bare(facts(Depth::True, Reflow::Cuts), 80, 24);
    stage.types("an early bird");
    stage.press("enter");
    assert!(stage.text().contains("⏵ an early bird"), "{}", stage.text());
    assert!(stage.text().contains("opening the session…"), "{}", stage.text());
}

#[test]
fn a_prompt_of_several_lines() {
    insta::assert_snapshot!(at_three_sizes(|stage| {
        stage.types("first line");
        stage.press("ctrl+j");
        stage.types("second line, which is long enough that a narrow terminal has to wrap it");
        stage.press("ctrl+j");
        stage.press("ctrl+j");
        stage.types("last line");
        stage.press("up");
        stage.press("up");
    }));
}

#[test]
fn a_prompt_that_is_longer_than_the_screen() {
    insta::assert_snapshot!(at_three_sizes(|stage| {
        for number in 1..=60 {
            stage.types(&format!("line {number}"));
            stage.press("ctrl+j");
        }
        stage.types("the end");
    }));
}

#[test]
fn a_paste_is_a_chip() {
    insta::assert_snapshot!(at_three_sizes(|stage| {
        stage.types("look at ");
        stage.pastes(&"a line of a log\n".repeat(40));
        stage.types(" and say what is wrong with it");
    }));
}

#[test]
fn an_image_is_a_chip() {
    insta::assert_snapshot!(at_three_sizes(|stage| {
        stage.types("why is ");
        stage.press("ctrl+v");
        stage.types(" not like ");
        stage.press("ctrl+v");
        stage.types("?");
    }));
}

#[test]
fn wide_characters_take_two_columns() {
    insta::assert_snapshot!(at_three_sizes(|stage| {
        stage.types("日本語の文章を端末の幅で正しく折り返せるかどうかを確かめる。");
        stage.press("ctrl+j");
        stage.types("emoji 🦀🎉 e\u{301}t cetera");
        stage.press("left");
    }));
}

#[test]
fn a_command_line_of_ones_own_and_a_memory_are_told_apart() {
    let mut stage = Stage::new(80, 24);
    stage.types("!ls");
    assert!(stage.text().contains("! runs a command line of your own"), "{}", stage.text());
    stage.press("ctrl+u");
    stage.types("#tabs");
    assert!(stage.text().contains("# saves a memory"), "{}", stage.text());
}

#[test]
fn the_prompt_that_was_sent_stands_above() {
    let mut stage = Stage::new(80, 24);
    stage.types("find the bug");
    stage.press("enter");
    assert!(stage.take_sent().contains(&Op::Submit {
        prompt: "find the bug".to_owned(),
        attachments: Vec::new(),
        mentions: true
    }));
    assert!(stage.text().contains("\n> find the bug\n"), "{}", stage.text());
    assert!(stage.text().contains("\n>\n"), "the prompt is empty: {}", stage.text());
}

#[test]
fn the_first_prompt_of_the_command_line_is_sent_at_once() {
    let mut facts = facts(Depth::True, Reflow::Cuts);
    facts.first_prompt = Some("do this first".to_owned());
    let mut stage = Stage::with(facts, 80, 24);
    assert!(stage.text().contains("\n> do this first\n"), "{}", stage.text());
    let is_sent = |op: &Op| matches!(op, Op::Submit { prompt, .. } if prompt == "do this first");
    assert!(stage.take_sent().iter().any(is_sent));
}
