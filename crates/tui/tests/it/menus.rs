//! Lists to choose from.

use ona_front::{Choice, Event, Menu, MenuItem, MenuKey, Op, Reply};

use crate::stage::{Stage, at_three_sizes};

fn opened(menu: Menu) -> Event {
    Event::Reply { command: "model".to_owned(), reply: Reply::Menu { menu } }
}

fn short() -> Menu {
    let item = |label: &str, detail: &str, current: bool| MenuItem {
        label: label.to_owned(),
        detail: detail.to_owned(),
        current,
        choice: Choice::Command { line: format!("/model {label}") },
        value: label.to_owned(),
        ..MenuItem::default()
    };
    Menu {
        title: "Choose a model".to_owned(),
        text: "Applies from the **next** prompt on.".to_owned(),
        items: vec![
            item("sonnet-9", "The default, for most work", true),
            item(
                "opus-9",
                "For hard problems, at five times the price of the default model",
                false,
            ),
            item("haiku-9", "", false),
            item("a-model-with-quite-a-long-name-of-its-own", "From another provider", false),
        ],
        selected: 1,
        keys: vec![MenuKey {
            key: 'e',
            label: "effort".to_owned(),
            choice: Choice::Command { line: "/effort {}".to_owned() },
        }],
    }
}

fn long() -> Menu {
    let item = |number: usize| MenuItem {
        label: format!("session {number}"),
        detail: format!(
            "{number} days ago · a prompt about {}",
            if number.is_multiple_of(2) { "tests" } else { "the parser" }
        ),
        choice: Choice::Command { line: format!("/resume {number}") },
        value: number.to_string(),
        ..MenuItem::default()
    };
    Menu {
        title: "Resume a session".to_owned(),
        items: (1..=60).map(item).collect(),
        ..Menu::default()
    }
}

#[test]
fn a_short_list_has_numbers() {
    insta::assert_snapshot!(at_three_sizes(|stage| stage.hears(opened(short()))));
}

#[test]
fn a_long_list() {
    insta::assert_snapshot!(at_three_sizes(|stage| {
        stage.hears(opened(long()));
        (0..30).for_each(|_| stage.press("down"));
    }));
}

#[test]
fn a_long_list_is_filtered_by_typing() {
    insta::assert_snapshot!(at_three_sizes(|stage| {
        stage.hears(opened(long()));
        stage.types("2 days");
        stage.press("down");
    }));
}

#[test]
fn a_long_list_without_a_match() {
    insta::assert_snapshot!(at_three_sizes(|stage| {
        stage.hears(opened(long()));
        stage.types("xyzzy");
    }));
}

#[test]
fn a_list_below_a_long_text() {
    let text: String = (1..=60).map(|number| format!("Paragraph {number}.\n\n")).collect();
    insta::assert_snapshot!(at_three_sizes(|stage| {
        stage.hears(opened(Menu { text: text.clone(), ..short() }));
    }));
}

fn asks_for_a_text() -> Menu {
    let choice = Choice::Type {
        label: "Name of the session".to_owned(),
        line: "/rename ".to_owned(),
        initial: "parser".to_owned(),
    };
    Menu {
        title: "Session".to_owned(),
        items: vec![MenuItem { label: "Rename".to_owned(), choice, ..MenuItem::default() }],
        ..Menu::default()
    }
}

#[test]
fn a_text_that_a_list_asks_for() {
    insta::assert_snapshot!(at_three_sizes(|stage| {
        stage.hears(opened(asks_for_a_text()));
        stage.press("1");
        stage.types(" and a name that is longer than what a narrow terminal can show");
    }));
}

#[test]
fn the_text_ends_the_command() {
    let mut stage = Stage::new(80, 24);
    stage.hears(opened(asks_for_a_text()));
    stage.press("enter");
    stage.types(" 2");
    stage.take_sent();
    stage.press("enter");
    assert_eq!(stage.take_sent(), [Op::Command { line: "/rename parser 2".to_owned() }]);
    assert!(!stage.text().contains("Name of the session"), "{}", stage.text());
}

#[test]
fn a_digit_or_a_further_key_chooses_at_once() {
    for (key, line) in
        [("1", "/model sonnet-9"), ("enter", "/model opus-9"), ("e", "/effort opus-9")]
    {
        let mut stage = Stage::new(80, 24);
        stage.hears(opened(short()));
        stage.take_sent();
        stage.press(key);
        assert_eq!(stage.take_sent(), [Op::Command { line: line.to_owned() }], "{key}");
    }
}

#[test]
fn the_chosen_entry_is_always_in_sight() {
    for (columns, height) in [(40, 15), (80, 24), (160, 50)] {
        let mut stage = Stage::new(columns, height);
        stage.hears(opened(long()));
        for number in 1..=60 {
            let chosen = format!("❯ session {number}");
            assert!(stage.text().lines().any(|row| row.contains(&chosen)), "{chosen}");
            stage.press("down");
        }
    }
}
