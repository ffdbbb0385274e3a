//! What keys do in the prompt.

use std::time::Duration;

use ona_front::{Event, Op};

use crate::stage::Stage;

#[test]
fn ctrl_d_twice_leaves() {
    let mut stage = Stage::new(80, 24);
    stage.press("ctrl+d");
    assert!(!stage.has_left && stage.text().contains("Ctrl-D again leaves"), "{}", stage.text());
    stage.press("ctrl+d");
    assert!(stage.has_left && stage.take_sent().contains(&Op::Quit));
}

#[test]
fn the_prompt_that_waits_last_comes_back_with_up() {
    let mut stage = Stage::at_work(80, 24);
    for prompt in ["one", "two"] {
        stage.types(prompt);
        stage.press("enter");
    }
    stage.press("up");
    assert!(stage.text().contains("⏵ one") && !stage.text().contains("⏵ two"), "{}", stage.text());
    assert!(stage.text().contains("\n> two\n"), "{}", stage.text());
}

#[test]
fn earlier_prompts_come_back_with_up_and_down() {
    let mut stage = Stage::new(80, 24);
    stage.types("a draft");
    stage.press("up");
    assert!(stage.text().contains("\n> run the tests again\n"), "{}", stage.text());
    stage.press("up");
    stage.press("up");
    assert!(stage.text().contains("\n> explain the parser\n  and its states"), "{}", stage.text());
    for _ in 0..4 {
        stage.press("down");
    }
    assert!(stage.text().contains("\n> a draft\n"), "{}", stage.text());
}

#[test]
fn keys_that_tell_the_core_something() {
    for (keys, op) in [
        (&["shift+tab"][..], Op::CycleMode),
        (&["alt+m"], Op::CycleMode),
        (&["alt+t"], Op::ToggleThinking),
        (&["alt+p"], Op::Command { line: "/model".to_owned() }),
        (&["ctrl+o"], Op::Transcript { before: None }),
        (&["esc", "esc"], Op::Command { line: "/rewind".to_owned() }),
        (&["ctrl+x", "ctrl+k", "ctrl+x", "ctrl+k"], Op::StopAgents),
        (&["ctrl+d", "ctrl+d"], Op::Quit),
        (&["ctrl+c", "ctrl+c"], Op::Quit),
    ] {
        let mut stage = Stage::new(80, 24);
        keys.iter().for_each(|key| stage.press(key));
        let sent = stage.take_sent();
        assert!(sent.contains(&op), "{keys:?} sends {sent:?}");
    }
}

#[test]
fn keys_while_the_agent_works() {
    for (key, op) in [("esc", Op::Interrupt), ("ctrl+c", Op::Interrupt), ("ctrl+b", Op::Background)]
    {
        let mut stage = Stage::at_work(80, 24);
        stage.take_sent();
        stage.press(key);
        assert_eq!(stage.take_sent(), [op], "{key}");
        assert!(!stage.has_left);
    }
}

#[test]
fn two_presses_that_are_far_apart_are_no_pair() {
    let mut stage = Stage::new(80, 24);
    stage.press("ctrl+d");
    stage.waits(Duration::from_secs(5));
    assert!(!stage.text().contains("Ctrl-D again"), "the note is gone: {}", stage.text());
    stage.press("ctrl+d");
    assert!(!stage.has_left);
}

#[test]
fn escape_twice_clears_the_prompt_and_keeps_it_in_the_history() {
    let mut stage = Stage::new(80, 24);
    stage.types("a thought");
    stage.press("esc");
    assert!(stage.text().contains("> a thought"), "{}", stage.text());
    stage.press("esc");
    assert!(!stage.text().contains("> a thought"), "{}", stage.text());
    stage.press("ctrl+r");
    stage.types("thou");
    assert!(stage.text().contains("search: thou  a thought"), "{}", stage.text());
}

#[test]
fn a_prompt_can_be_put_aside() {
    let mut stage = Stage::new(80, 24);
    stage.types("for later");
    stage.press("ctrl+s");
    assert!(!stage.text().contains("> for later"), "{}", stage.text());
    stage.press("ctrl+s");
    assert!(stage.text().contains("> for later"), "{}", stage.text());
}

#[test]
fn what_was_deleted_can_be_undone() {
    let mut stage = Stage::new(80, 24);
    stage.types("one two");
    stage.press("ctrl+w");
    assert!(stage.text().contains("\n> one\n"), "{}", stage.text());
    stage.press("ctrl+_");
    assert!(stage.text().contains("\n> one two\n"), "{}", stage.text());
}

#[test]
fn a_backslash_before_enter_is_a_new_line() {
    let mut stage = Stage::new(80, 24);
    stage.types("one\\");
    stage.press("enter");
    stage.types("two");
    assert!(stage.text().contains("\n> one\n  two\n"), "{}", stage.text());
}

#[test]
fn a_command_that_runs_at_once_does_not_wait() {
    let mut stage = Stage::at_work(80, 24);
    stage.take_sent();
    stage.types("/status");
    stage.press("enter");
    assert!(stage.take_sent().contains(&Op::Command { line: "/status".to_owned() }));
    stage.types("/cost");
    stage.press("enter");
    assert!(!stage.take_sent().contains(&Op::Command { line: "/cost".to_owned() }), "it waits");
    assert!(stage.text().contains("⏵ /cost"), "{}", stage.text());
    stage.hears(Event::Ready);
    assert!(stage.take_sent().contains(&Op::Command { line: "/cost".to_owned() }));
}

#[test]
fn earlier_prompts_come_back_in_normal_mode() {
    let mut stage = Stage::new(80, 24);
    stage.prefers(|preferences| preferences.editor_mode = Some("vim".to_owned()));
    stage.press("esc");
    stage.press("k");
    assert!(stage.text().contains("\n> run the tests again\n"), "{}", stage.text());
    stage.press("j");
    assert!(stage.text().contains("\n>\n"), "{}", stage.text());
}

#[test]
fn keys_of_ones_own() {
    let mut stage = Stage::new(80, 24);
    let file = r#"{"bindings": [{"context": "Chat", "bindings": {"ctrl+p": "chat:cycleMode", "nonsense+x": "chat:submit"}}]}"#;
    stage.prefers(|preferences| preferences.keybindings = Some(file.to_owned()));
    assert!(stage.text().contains("⚠ keybindings.json: "), "{}", stage.text());
    stage.press("ctrl+p");
    assert!(stage.take_sent().contains(&Op::CycleMode));
}
