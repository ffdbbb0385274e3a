//! The size of the terminal changes while an answer arrives.

use ona_front::Event;
use ona_render::theme::Depth;
use ona_tui::screen::Reflow;

use crate::scenes::{answered, text};
use crate::stage::{Stage, facts};

const FIRST: &str = "The first paragraph is complete, and it is long enough that a narrow terminal has to wrap it into several rows.\n\n";
const SECOND: &str = "The second paragraph is still open, and it is also long enough that a narrow terminal has to wrap it";
const THIRD: &str = " until it ends.\n\n| a table | with rather wide columns, so that it fills a wide terminal |\n|---|---|\n| 1 | one |\n\nThe very end.";

fn answering(reflow: Reflow, columns: usize) -> Stage {
    let mut stage = Stage::with(facts(Depth::True, reflow), columns, 24);
    stage.begins_to_work();
    stage.hears(text(FIRST));
    stage.hears(text(SECOND));
    stage
}

/// The words of the screen, however they are wrapped.
fn words(stage: &Stage) -> String {
    stage.text().split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn what_is_finished_of_an_answer_stays_in_sight() {
    for reflow in [Reflow::Cuts, Reflow::Wraps] {
        for (from, to) in [(160, 40), (40, 160), (80, 100)] {
            let mut stage = answering(reflow, from);
            stage.resize(to, 24);
            let shown = words(&stage);
            assert!(shown.contains(FIRST.trim()), "{reflow:?} {from}→{to}:\n{}", stage.text());
            assert!(shown.contains(SECOND), "{reflow:?} {from}→{to}:\n{}", stage.text());
        }
    }
}

#[test]
fn what_is_finished_of_an_answer_is_drawn_anew() {
    let mut stage = answering(Reflow::Cuts, 80);
    stage.press("ctrl+l");
    assert!(words(&stage).contains(FIRST.trim()), "{}", stage.text());
}

#[test]
fn the_rest_of_an_answer_has_the_new_width() {
    for (from, to) in [(160, 40), (40, 160)] {
        let mut stage = answering(Reflow::Cuts, from);
        stage.resize(to, 24);
        // The stage sees to it that no row is wider than the terminal.
        stage.hears(text(THIRD));
        stage.hears(answered(&format!("{FIRST}{SECOND}{THIRD}")));
        stage.hears(Event::Ready);
        assert!(words(&stage).contains("The very end."), "{from}→{to}:\n{}", stage.text());
        if to == 160 {
            assert!(stage.text().contains(" until it ends.\n"), "{}", stage.text());
        }
    }
}

#[test]
fn an_answer_is_the_same_however_it_was_cut_into_pieces() {
    let whole = format!("{FIRST}{SECOND}{THIRD}");
    let shown = |pieces: Vec<&str>| {
        let mut stage = Stage::new(80, 50);
        stage.begins_to_work();
        pieces.into_iter().for_each(|piece| stage.hears(text(piece)));
        stage.hears(answered(&whole));
        stage.text()
    };
    let expected = shown(vec![&whole]);
    for length in [1, 3, 7, 50] {
        let mut pieces = Vec::new();
        let mut rest = whole.as_str();
        while !rest.is_empty() {
            let (piece, behind) = rest.split_at(rest.floor_char_boundary(length));
            pieces.push(piece);
            rest = behind;
        }
        assert_eq!(shown(pieces), expected, "pieces of {length}");
    }
}
