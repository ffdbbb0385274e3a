//! What is offered while one types: commands, files, earlier prompts, the keys.

use ona_front::{Event, Op};

use crate::stage::{Stage, at_three_sizes};

fn files(query: &str, files: &[&str]) -> Event {
    Event::Files {
        query: query.to_owned(),
        files: files.iter().map(|file| (*file).to_owned()).collect(),
    }
}

#[test]
fn the_commands_after_a_slash() {
    insta::assert_snapshot!(at_three_sizes(|stage| stage.types("/")));
}

#[test]
fn the_commands_are_filtered_as_one_types() {
    insta::assert_snapshot!(at_three_sizes(|stage| {
        stage.types("/co");
        stage.press("down");
    }));
}

#[test]
fn no_command_matches() {
    insta::assert_snapshot!(at_three_sizes(|stage| stage.types("/xyzzy")));
}

#[test]
fn the_list_of_commands_moves_with_the_choice() {
    insta::assert_snapshot!(at_three_sizes(|stage| {
        stage.types("/");
        stage.press("up");
        stage.press("up");
    }));
}

#[test]
fn the_files_after_an_at_sign() {
    insta::assert_snapshot!(at_three_sizes(|stage| {
        stage.types("explain @par");
        stage.hears(files(
            "par",
            &[
                "src/engine/parser.rs",
                "src/engine/parser/states/of/a/very/deep/directory/structure/recovery.rs",
                "docs/a paragraph with blanks.md",
                "src/部品/parts.rs",
                "vendor/",
            ],
        ));
        stage.press("down");
    }));
}

#[test]
fn a_file_that_is_taken_is_in_the_prompt() {
    let mut stage = Stage::new(80, 24);
    stage.types("explain @par");
    assert!(stage.take_sent().contains(&Op::FindFiles { query: "par".to_owned() }));
    stage.hears(files("par", &["src/parser.rs", "a b.md"]));
    stage.press("tab");
    assert!(stage.text().contains("> explain @src/parser.rs"), "{}", stage.text());
    stage.types("@par");
    stage.hears(files("par", &["a b.md"]));
    stage.press("tab");
    assert!(stage.text().contains("> explain @src/parser.rs @\"a b.md\""), "{}", stage.text());
}

#[test]
fn the_search_in_the_history() {
    insta::assert_snapshot!(at_three_sizes(|stage| {
        stage.press("ctrl+r");
        stage.types("explain");
    }));
}

#[test]
fn the_search_in_the_history_finds_nothing() {
    insta::assert_snapshot!(at_three_sizes(|stage| {
        stage.press("ctrl+r");
        stage.types("xyzzy");
    }));
}

#[test]
fn what_the_search_finds_comes_into_the_prompt() {
    let mut stage = Stage::new(80, 24);
    stage.press("ctrl+r");
    stage.types("test");
    assert!(stage.text().contains("search: test  run the tests again"), "{}", stage.text());
    stage.press("ctrl+r");
    assert!(stage.text().contains("search: test  fix the failing test"), "{}", stage.text());
    stage.press("tab");
    assert!(stage.text().contains("> fix the failing test"), "{}", stage.text());
    assert!(!stage.text().contains("search:"), "{}", stage.text());
}

#[test]
fn the_keys() {
    insta::assert_snapshot!(at_three_sizes(|stage| stage.press("?")));
}

#[test]
fn a_long_prompt_and_the_offered_files_share_the_screen() {
    insta::assert_snapshot!(at_three_sizes(|stage| {
        for number in 1..=9 {
            stage.types(&format!("line {number}"));
            stage.press("ctrl+j");
        }
        stage.types("and @a");
        let many: Vec<String> = (1..=12).map(|number| format!("src/a{number}.rs")).collect();
        stage.hears(Event::Files { query: "a".to_owned(), files: many });
    }));
}

#[test]
fn the_chosen_file_is_in_sight_whatever_the_prompt() {
    for (columns, height) in [(40, 15), (80, 24), (160, 50)] {
        let mut stage = Stage::new(columns, height);
        for number in 1..=9 {
            stage.types(&format!("line {number}"));
            stage.press("ctrl+j");
        }
        stage.types("@a");
        let many: Vec<String> = (1..=12).map(|number| format!("src/a{number}.rs")).collect();
        stage.hears(Event::Files { query: "a".to_owned(), files: many });
        for number in 1..=12 {
            let chosen = format!("❯ src/a{number}.rs");
            assert!(stage.text().contains(&chosen), "{chosen} at {columns}×{height}");
            stage.press("down");
        }
    }
}
