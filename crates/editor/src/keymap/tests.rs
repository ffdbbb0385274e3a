use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use proptest::prelude::*;

use super::*;

const PROMPT: &[Context] = &[Context::Chat, Context::Global];

fn ctrl(letter: char) -> KeyEvent {
    KeyEvent::new(KeyCode::Char(letter), KeyModifiers::CONTROL)
}

fn plain(code: KeyCode) -> KeyEvent {
    KeyEvent::new(code, KeyModifiers::NONE)
}

/// What the last of these keys does.
fn presses(keymap: &Keymap, contexts: &[Context], events: &[KeyEvent]) -> Press {
    let mut pressed = Pressed::default();
    let mut last = Press::None;
    for event in events {
        last = keymap.press(&mut pressed, contexts, *event);
    }
    last
}

fn problems(text: &str) -> Vec<String> {
    Keymap::with_file(text).1.iter().map(ToString::to_string).collect()
}

#[test]
fn every_default_key_is_read_and_bound_once() {
    assert_eq!(Keymap::default().bindings.len(), DEFAULTS.len());
    for (index, (context, keys, _)) in DEFAULTS.iter().enumerate() {
        let chord: Chord = keys.parse().unwrap();
        assert_eq!(chord.to_string(), *keys, "as it is shown");
        for (other, key, _) in &DEFAULTS[index + 1..] {
            assert!(context != other || key != keys, "{context:?} {key}");
        }
    }
}

#[test]
fn names_are_namespaces_and_verbs_and_are_found_again() {
    for (index, action) in Action::ALL.iter().enumerate() {
        let name = action.as_str();
        assert_eq!(Action::from_name(name), Some(*action));
        assert_eq!(name.split(':').count(), 2, "{name}");
        assert_eq!(Action::ALL[index] as usize, index);
    }
    for context in Context::ALL {
        assert_eq!(Context::from_name(context.as_str()), Some(*context));
    }
    assert_eq!(Context::from_name("chat"), None);
}

#[test]
fn the_innermost_context_decides() {
    let keymap = Keymap::default();
    let up = [plain(KeyCode::Up)];
    let menu = [Context::Autocomplete, Context::Chat, Context::Global];
    assert_eq!(presses(&keymap, PROMPT, &up), Press::Action(Action::HistoryPrevious));
    assert_eq!(presses(&keymap, &menu, &up), Press::Action(Action::AutocompletePrevious));
    assert_eq!(presses(&keymap, &menu, &[ctrl('o')]), Press::Action(Action::AppToggleTranscript));
    let task = [Context::Task, Context::Chat, Context::Global];
    assert_eq!(presses(&keymap, &task, &[ctrl('b')]), Press::Action(Action::TaskBackground));
    assert_eq!(presses(&keymap, PROMPT, &[plain(KeyCode::Char('x'))]), Press::None);
}

#[test]
fn chords_need_all_their_keys() {
    let keymap = Keymap::default();
    assert_eq!(presses(&keymap, PROMPT, &[ctrl('x')]), Press::Pending);
    let killed = Press::Action(Action::ChatKillAgents);
    assert_eq!(presses(&keymap, PROMPT, &[ctrl('x'), ctrl('k')]), killed);
    let mut release = ctrl('x');
    release.kind = KeyEventKind::Release;
    assert_eq!(presses(&keymap, PROMPT, &[ctrl('x'), release, ctrl('k')]), killed);
}

#[test]
fn an_unfinished_chord_is_dropped_and_the_key_counts() {
    let keymap = Keymap::default();
    let typed = plain(KeyCode::Char('k'));
    assert_eq!(presses(&keymap, PROMPT, &[ctrl('x'), typed]), Press::None);
    let then = [ctrl('x'), typed, ctrl('k')];
    assert_eq!(presses(&keymap, PROMPT, &then), Press::Action(Action::EditKillToLineEnd));
    let out = [ctrl('x'), ctrl('c')];
    assert_eq!(presses(&keymap, PROMPT, &out), Press::Action(Action::AppInterrupt));
    assert_eq!(presses(&keymap, PROMPT, &[ctrl('x'), ctrl('x')]), Press::Pending);
}

#[test]
fn a_file_changes_keys_and_takes_them_away() {
    let (keymap, problems) = Keymap::with_file(
        r#"{"$schema": "…", "$docs": "…", "bindings": [{"context": "Chat", "bindings": {
            "ctrl+e": "chat:externalEditor", "ctrl+u": null, "ctrl+s": "app:redraw",
            "ctrl+x ctrl+k": null, "ctrl+x ctrl+e": null, "ctrl+x": "chat:newline"}}]}"#,
    );
    assert_eq!(problems, []);
    let pressed = |letter| presses(&keymap, PROMPT, &[ctrl(letter)]);
    assert_eq!(pressed('e'), Press::Action(Action::ChatExternalEditor));
    assert_eq!(pressed('u'), Press::None);
    assert_eq!(pressed('s'), Press::Action(Action::AppRedraw));
    assert_eq!(pressed('x'), Press::Action(Action::ChatNewline), "no chord begins with it");
    assert_eq!(pressed('k'), Press::Action(Action::EditKillToLineEnd));
}

#[test]
fn a_chord_goes_before_a_key_that_begins_it() {
    let (keymap, _) = Keymap::with_file(
        r#"{"bindings": [{"context": "Chat", "bindings": {"ctrl+x": "chat:newline"}}]}"#,
    );
    assert_eq!(presses(&keymap, PROMPT, &[ctrl('x')]), Press::Pending);
}

#[test]
fn what_does_not_act_is_named_and_the_rest_acts() {
    let text = r#"{"bindings": [
        {"context": "Chatt", "bindings": {"ctrl+e": null}},
        {"context": "Chat", "bindings": {
            "ctrl+e": "chat:externalEdito", "ctl+s": null, "ctrl+c": null, "ctrl+x ctrl+d": "app:exit",
            "ctrl+m": "chat:newline", "ctrl+s": 1, "esc": "chat:undo", "escape": "chat:submit",
            "ctrl+g": null}},
        {"bindings": {}},
        {"context": "Chat"},
        7
    ]}"#;
    assert_eq!(
        problems(text),
        [
            "bindings[0].context: unknown context `Chatt`: did you mean `Chat`?",
            "bindings[1].bindings[\"ctrl+e\"]: unknown action `chat:externalEdito`: did you mean \
             `chat:externalEditor`?",
            "bindings[1].bindings[\"ctl+s\"]: unknown key `ctl`: did you mean `ctrl`?",
            "bindings[1].bindings[\"ctrl+c\"]: `ctrl+c` cannot be changed: it always interrupts",
            "bindings[1].bindings[\"ctrl+x ctrl+d\"]: `ctrl+d` cannot be changed: it always exits",
            "bindings[1].bindings[\"ctrl+m\"]: `ctrl+m` cannot be changed: terminals cannot tell it \
             from Enter",
            "bindings[1].bindings[\"ctrl+s\"]: an action's name or null is expected: this part is \
             ignored",
            "bindings[1].bindings[\"escape\"]: `escape` is in the file more than once for this \
             context: the last one counts",
            "bindings[2].context: a context's name is expected: this part is ignored",
            "bindings[3].bindings: an object of keys and actions is expected: this part is ignored",
            "bindings[4].context: a context's name is expected: this part is ignored",
        ]
    );
    let (keymap, _) = Keymap::with_file(text);
    assert_eq!(presses(&keymap, PROMPT, &[ctrl('g')]), Press::None);
    let escape = presses(&keymap, PROMPT, &[plain(KeyCode::Esc)]);
    assert_eq!(escape, Press::Action(Action::ChatSubmit));
    assert_eq!(presses(&keymap, PROMPT, &[ctrl('c')]), Press::Action(Action::AppInterrupt));
}

#[test]
fn a_file_that_cannot_be_read_leaves_the_defaults() {
    for (text, problem) in [
        ("{", "line 1, column 1: EOF while parsing an object: the default keys are used"),
        ("[]", "the file: an object is expected: this part is ignored"),
        ("{}", "bindings: a list is expected: this part is ignored"),
        (r#"{"bindings": {}}"#, "bindings: a list is expected: this part is ignored"),
    ] {
        assert_eq!(problems(text), [problem]);
        assert_eq!(Keymap::with_file(text).0, Keymap::default());
    }
}

#[test]
fn the_sample_is_the_defaults() {
    let (keymap, problems) = Keymap::with_file(&Keymap::sample());
    assert_eq!(problems, []);
    assert_eq!(keymap, Keymap::default());
    assert!(Keymap::sample().starts_with("{\n  \"bindings\": [\n    {\n      \"context\""));
}

#[test]
fn the_help_has_every_key() {
    let keymap = Keymap::default();
    let rows = keymap.describe(Context::Chat);
    assert_eq!(rows[0], ("enter".to_owned(), Action::ChatSubmit));
    assert!(rows.contains(&("ctrl+g, ctrl+x ctrl+e".to_owned(), Action::ChatExternalEditor)));
    let key = keymap.key_for(Context::Global, Action::AppToggleTranscript);
    assert_eq!(key.as_deref(), Some("ctrl+o"));
}

#[test]
fn every_editing_action_is_a_command_of_the_editor() {
    for action in Action::ALL.iter().filter(|action| action.as_str().starts_with("edit:")) {
        assert!(action.edit().is_some(), "{action:?}");
    }
    assert_eq!(Action::ChatSubmit.edit(), None);
}

proptest! {
    #[test]
    fn any_file_can_be_read(text in r#"([\[\]{}:,"a+ ]|"bindings"|"context"|"Chat"|"ctrl\+e"|null|1){0,30}"#) {
        let (keymap, _) = Keymap::with_file(&text);
        prop_assert!(keymap.bindings.iter().any(|binding| binding.action == Action::AppInterrupt));
    }

    #[test]
    fn any_keys_can_be_pressed(keys in prop::collection::vec((any::<char>(), 0u8..64), 0..20)) {
        let keymap = Keymap::default();
        let mut pressed = Pressed::default();
        for (letter, bits) in keys {
            let event = KeyEvent::new(KeyCode::Char(letter), KeyModifiers::from_bits_truncate(bits));
            let press = keymap.press(&mut pressed, PROMPT, event);
            prop_assert_eq!(press == Press::Pending, !pressed.is_empty());
        }
    }
}
