//! What chips stand for is not lost, whatever becomes of the prompt.

use ona_front::{Ending, Event, Op};

use crate::scenes::turn_ended;
use crate::stage::Stage;

/// What was submitted since the last call: the prompt, and how many pictures.
fn submitted(stage: &mut Stage) -> (String, usize) {
    let sent = stage.take_sent();
    let prompt = sent.into_iter().find_map(|op| match op {
        Op::Submit { prompt, attachments, .. } => Some((prompt, attachments.len())),
        _ => None,
    });
    prompt.unwrap_or_else(|| panic!("nothing was submitted: {}", stage.text()))
}

/// Types a prompt with a long paste and a picture.
fn types_with_chips(stage: &mut Stage) {
    stage.types("look at ");
    stage.pastes("the log\n1\n2\n3\n4\nits end");
    stage.types(" and ");
    stage.press("ctrl+v");
}

fn is_whole(stage: &mut Stage) {
    stage.take_sent();
    stage.press("enter");
    let (prompt, pictures) = submitted(stage);
    assert!(prompt.contains("the log\n1\n2\n3\n4\nits end"), "{prompt}");
    assert_eq!(pictures, 1, "{prompt}");
}

#[test]
fn a_prompt_is_sent_with_what_was_pasted() {
    let mut stage = Stage::new(80, 24);
    types_with_chips(&mut stage);
    is_whole(&mut stage);
}

#[test]
fn a_prompt_that_was_put_aside_comes_back_whole() {
    let mut stage = Stage::new(80, 24);
    types_with_chips(&mut stage);
    stage.press("ctrl+s");
    stage.press("ctrl+s");
    is_whole(&mut stage);
}

#[test]
fn a_prompt_that_was_looked_at_in_an_editor_comes_back_whole() {
    let mut stage = Stage::new(80, 24);
    types_with_chips(&mut stage);
    stage.press("ctrl+g");
    is_whole(&mut stage);
}

#[test]
fn a_prompt_that_waited_is_sent_whole() {
    let mut stage = Stage::at_work(80, 24);
    types_with_chips(&mut stage);
    stage.press("enter");
    stage.take_sent();
    stage.hears_all([turn_ended(Ending::Done), Event::Ready]);
    let (prompt, pictures) = submitted(&mut stage);
    assert!(prompt.contains("the log\n1\n2\n3\n4\nits end"), "{prompt}");
    assert_eq!(pictures, 1);
}

#[test]
fn a_prompt_that_waited_comes_back_whole_when_the_turn_is_interrupted() {
    let mut stage = Stage::at_work(80, 24);
    types_with_chips(&mut stage);
    stage.press("enter");
    stage.press("esc");
    stage.hears_all([turn_ended(Ending::Interrupted), Event::Ready]);
    is_whole(&mut stage);
}

#[test]
fn a_paste_of_an_earlier_prompt_comes_back_with_it() {
    let mut stage = Stage::new(80, 24);
    stage.pastes("the log\n1\n2\n3\n4\nits end");
    stage.types(" what is it?");
    stage.press("enter");
    stage.hears(Event::Ready);
    stage.press("ctrl+r");
    stage.types("what is it");
    stage.press("tab");
    stage.take_sent();
    stage.press("enter");
    let (prompt, _) = submitted(&mut stage);
    assert!(prompt.contains("its end"), "{prompt}");
}
