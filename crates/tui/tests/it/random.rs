//! Whatever is pressed, pasted and told, in whatever order and at whatever size: nothing panics, and every frame fits.

use std::ops::RangeInclusive;
use std::time::Duration;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ona_front::Event;
use ona_render::theme::Depth;
use ona_tui::screen::Reflow;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use crate::scenes::{answered, text};
use crate::script::{turn, views};
use crate::sequences::foreign;
use crate::stage::{Stage, facts};

/// Columns and heights.
type Sizes = (RangeInclusive<usize>, RangeInclusive<usize>);

/// The sizes that terminals have.
const USUAL: Sizes = (40..=400, 10..=100);

/// Something that happens.
#[derive(Clone, Debug)]
enum Step {
    Press(KeyEvent),
    Paste(String),
    /// An event of the script, by its number.
    Hear(usize),
    /// A piece of an answer.
    Answer(String),
    Resize(usize, usize),
    Wait(u64),
}

/// When the terminal gets another size.
#[derive(Clone, Copy)]
enum Resizing {
    AnyTime,
    BetweenAnswers,
}

/// Any key, with these letters among the ordinary ones.
fn key(letters: &'static [char]) -> impl Strategy<Value = KeyEvent> {
    use KeyCode::{BackTab, Backspace, Delete, Down, End, Enter, Esc, F, Home, Left, PageDown};
    use KeyCode::{PageUp, Right, Tab, Up};
    const NAMED: [KeyCode; 15] = [
        Enter,
        Esc,
        Tab,
        BackTab,
        Backspace,
        Delete,
        Up,
        Down,
        Left,
        Right,
        Home,
        End,
        PageUp,
        PageDown,
        F(1),
    ];
    let code = prop_oneof![
        6 => proptest::char::range(' ', '~').prop_map(KeyCode::Char),
        1 => proptest::sample::select(letters).prop_map(KeyCode::Char),
        6 => proptest::sample::select(&NAMED[..]),
    ];
    let modifiers = prop_oneof![
        6 => Just(KeyModifiers::NONE),
        2 => Just(KeyModifiers::CONTROL),
        1 => Just(KeyModifiers::ALT),
        1 => Just(KeyModifiers::SHIFT),
    ];
    (code, modifiers).prop_map(|(code, modifiers)| KeyEvent::new(code, modifiers))
}

/// Words that every terminal shows alike.
fn tame_words() -> BoxedStrategy<String> {
    prop_oneof![
        "[a-z \n]{0,200}",
        "(line\n){0,40}",
        "[日本a \n*_`|#>-]{0,80}",
        Just("```rust\nfn main() {}\n".to_owned()),
        Just("| a | b |\n|---|---|\n| c | d |\n\n".to_owned()),
    ]
    .boxed()
}

/// Words of all kinds.
fn wild_words() -> BoxedStrategy<String> {
    prop_oneof![2 => any::<String>(), 3 => tame_words()].boxed()
}

fn step(sizes: Sizes, is_tame: bool) -> impl Strategy<Value = Step> {
    let events = turn().len() + views().len();
    let words = || if is_tame { tame_words() } else { wild_words() };
    let letters: &[char] = if is_tame { &['日', 'é'] } else { &['🦀', '\u{301}', '\u{200d}'] };
    let (columns, heights) = sizes;
    prop_oneof![
        8 => key(letters).prop_map(Step::Press),
        1 => words().prop_map(Step::Paste),
        4 => (0..events).prop_map(Step::Hear),
        2 => words().prop_map(Step::Answer),
        1 => (columns, heights).prop_map(|(columns, height)| Step::Resize(columns, height)),
        1 => (0..5_000_u64).prop_map(Step::Wait),
    ]
}

fn play(stage: &mut Stage, events: &[Event], resizing: Resizing, steps: Vec<Step>) {
    for step in steps {
        if let (Step::Resize(..), Resizing::BetweenAnswers) = (&step, resizing) {
            stage.hears(answered(""));
        }
        match step {
            Step::Press(key) => stage.press_key(key),
            Step::Paste(text) => stage.pastes(&text),
            Step::Hear(number) => stage.hears(events[number].clone()),
            Step::Answer(words) => stage.hears(text(&words)),
            Step::Resize(columns, height) => stage.resize(columns, height),
            Step::Wait(milliseconds) => stage.waits(Duration::from_millis(milliseconds)),
        }
    }
    assert_eq!(foreign(stage.written()), Vec::<String>::new());
}

/// Runs some thousand steps, the same ones each time.
fn run(sizes: Sizes, resizing: Resizing, begin: impl Fn() -> Stage) {
    let config =
        Config { cases: 16, max_shrink_iters: 300, failure_persistence: None, ..Config::default() };
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let events: Vec<Event> = turn().into_iter().chain(views()).map(|(event, _)| event).collect();
    let steps = proptest::collection::vec(step(sizes, begin().exact), 200..300);
    let played = TestRunner::new_with_rng(config, rng).run(&steps, |steps| {
        play(&mut begin(), &events, resizing, steps);
        Ok(())
    });
    if let Err(error) = played {
        panic!("{error}");
    }
}

/// A terminal that need not show every character as wide as expected.
fn inexact(depth: Depth, columns: usize, height: usize) -> Stage {
    let mut stage = Stage::with(facts(depth, Reflow::Cuts), columns, height);
    stage.exact = false;
    stage
}

#[test]
fn random_steps_never_panic_and_every_frame_fits() {
    run(USUAL, Resizing::BetweenAnswers, || inexact(Depth::True, 80, 24));
}

#[test]
fn random_resizes_while_answers_arrive_never_panic_and_every_frame_fits() {
    run(USUAL, Resizing::AnyTime, || inexact(Depth::True, 80, 24));
}

#[test]
fn random_steps_are_shown_as_they_were_drawn() {
    run(USUAL, Resizing::BetweenAnswers, || Stage::new(80, 24));
}

#[test]
fn random_steps_in_vim_mode_never_panic_and_every_frame_fits() {
    run(USUAL, Resizing::BetweenAnswers, || {
        let mut stage = inexact(Depth::Ansi16, 80, 24);
        stage.prefers(|preferences| {
            preferences.editor_mode = Some("vim".to_owned());
            preferences.verbose = true;
        });
        stage
    });
}

#[test]
fn random_steps_on_a_tiny_terminal_never_panic() {
    run((1..=40, 1..=10), Resizing::AnyTime, || {
        let mut stage = inexact(Depth::None, 20, 8);
        stage.checks = false;
        stage
    });
}
