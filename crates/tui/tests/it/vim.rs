//! Vim mode: the status row says which mode it is.

use crate::stage::{Stage, at_three_sizes};

fn in_vim_mode(stage: &mut Stage) {
    stage.prefers(|preferences| preferences.editor_mode = Some("vim".to_owned()));
}

#[test]
fn insert_mode() {
    insta::assert_snapshot!(at_three_sizes(|stage| {
        in_vim_mode(stage);
        stage.types("one two");
    }));
}

#[test]
fn normal_mode_with_the_beginning_of_a_command() {
    insta::assert_snapshot!(at_three_sizes(|stage| {
        in_vim_mode(stage);
        stage.types("one two");
        stage.press("esc");
        stage.types("2d");
    }));
}

#[test]
fn the_modes_have_their_names() {
    let mut stage = Stage::new(80, 24);
    in_vim_mode(&mut stage);
    for (keys, name) in [
        (&["o", "n", "e"][..], "-- INSERT --"),
        (&["esc"], "-- NORMAL --"),
        (&["v"], "-- VISUAL --"),
        (&["esc", "V"], "-- VISUAL LINE --"),
    ] {
        keys.iter().for_each(|key| stage.press(key));
        assert!(stage.text().contains(name), "{name}: {}", stage.text());
    }
}
