//! What fills the screen: the transcript and the diffs.

use ona_front::{DiffSource, Event, FileFate, Op, Refused, Reply, Shown, ShownEntry};
use ona_types::gate::StageName;
use serde_json::json;

use crate::scenes::{ask, diff, permission, text};
use crate::stage::{Stage, at_three_sizes};

fn transcript() -> Vec<Shown> {
    let result: Vec<String> = (1..=30).map(|number| format!("line {number}")).collect();
    let entries = [
        ShownEntry::User { text: "find the bug".to_owned() },
        ShownEntry::Assistant { text: "I look at the **parser** first.".to_owned() },
        ShownEntry::Call {
            tool: "Bash".to_owned(),
            input: json!({"command": "cat src/parser.rs"}),
            result: Some((result.join("\n"), false)),
            refused: None,
        },
        ShownEntry::Note { text: "the conversation was compacted".to_owned() },
        ShownEntry::Call {
            tool: "Read".to_owned(),
            input: json!({"file_path": "src/lexer.rs"}),
            result: Some(("src/lexer.rs (2 lines)\n1\ta\n2\tb".to_owned(), false)),
            refused: None,
        },
        ShownEntry::Call {
            tool: "Bash".to_owned(),
            input: json!({"command": "rm -rf target"}),
            result: Some(("[INTERNAL] denied".to_owned(), true)),
            refused: Some(Refused {
                stage: StageName::Rules,
                reason: "denied by the rule Bash(rm *)".to_owned(),
            }),
        },
        ShownEntry::Assistant { text: "It is in `next`.".to_owned() },
    ];
    (1..).zip(entries).map(|(sequence, what)| Shown { sequence, what }).collect()
}

fn opens_the_transcript(stage: &mut Stage) {
    stage.press("ctrl+o");
    stage.hears(Event::Transcript { entries: transcript(), more: false });
}

fn opens_the_diffs(stage: &mut Stage) {
    let mut new = diff();
    (new.fate, new.removed) = (FileFate::Created, 0);
    new.path = "src/a/path/that/is/longer/than/a/narrow/terminal/can/show/in/one/row.rs".to_owned();
    let mut gone = diff();
    (gone.fate, gone.path) = (FileFate::Deleted, "old.rs".to_owned());
    let source = |name: &str, note: &str, files| DiffSource {
        name: name.to_owned(),
        files,
        note: note.to_owned(),
    };
    let sources = vec![
        source("uncommitted changes", "", vec![diff(), new, gone]),
        source("find the bug", "1 file is too large to be shown", vec![diff()]),
    ];
    stage.hears(Event::Reply { command: "diff".to_owned(), reply: Reply::Diffs { sources } });
}

#[test]
fn the_transcript() {
    insta::assert_snapshot!(at_three_sizes(opens_the_transcript));
}

#[test]
fn the_transcript_with_everything() {
    insta::assert_snapshot!(at_three_sizes(|stage| {
        opens_the_transcript(stage);
        stage.press("ctrl+e");
        stage.press("up");
    }));
}

#[test]
fn the_transcript_asks_for_what_came_before() {
    let mut stage = Stage::new(80, 24);
    stage.press("ctrl+o");
    assert!(stage.take_sent().contains(&Op::Transcript { before: None }));
    let mut late = transcript();
    late.iter_mut().for_each(|entry| entry.sequence += 100);
    stage.hears(Event::Transcript { entries: late, more: true });
    assert_eq!(stage.take_sent(), [Op::Transcript { before: Some(101) }]);
    stage.hears(Event::Transcript { entries: transcript(), more: false });
    assert_eq!(stage.take_sent(), []);
    stage.press("g");
    assert!(stage.text().contains("> find the bug"), "{}", stage.text());
    stage.press("q");
    assert!(!stage.terminal.is_alternate());
}

#[test]
fn what_happens_meanwhile_is_there_afterwards() {
    let mut stage = Stage::at_work(80, 24);
    stage.press("ctrl+o");
    assert!(stage.terminal.is_alternate());
    stage.hears(text("Meanwhile.\n\nAnd more"));
    stage.hears(Event::Warning { text: "a warning".to_owned() });
    assert!(stage.terminal.is_alternate());
    stage.press("q");
    let shown = stage.text();
    assert!(shown.contains("● Meanwhile.") && shown.contains("⚠ a warning"), "{shown}");
    assert_eq!(shown.matches("? for shortcuts").count(), 1, "{shown}");
}

#[test]
fn the_list_of_changed_files() {
    insta::assert_snapshot!(at_three_sizes(|stage| {
        opens_the_diffs(stage);
        stage.press("down");
    }));
}

#[test]
fn the_changes_of_a_prompt() {
    insta::assert_snapshot!(at_three_sizes(|stage| {
        opens_the_diffs(stage);
        stage.press("right");
    }));
}

#[test]
fn a_changed_file() {
    insta::assert_snapshot!(at_three_sizes(|stage| {
        opens_the_diffs(stage);
        stage.press("enter");
    }));
}

#[test]
fn an_empty_list_of_changes_says_how_to_leave() {
    let mut stage = Stage::new(80, 24);
    let reply = Reply::Diffs { sources: Vec::new() };
    stage.hears(Event::Reply { command: "diff".to_owned(), reply });
    assert!(stage.text().contains("Esc leaves"), "{}", stage.text());
}

#[test]
fn the_transcript_names_the_key_that_shows_all() {
    let mut stage = Stage::new(80, 24);
    opens_the_transcript(&mut stage);
    let shown = stage.text();
    assert!(shown.contains("… +25 rows (ctrl+e shows all)"), "{shown}");
}

#[test]
fn a_question_comes_before_the_transcript() {
    let mut stage = Stage::new(80, 24);
    opens_the_transcript(&mut stage);
    stage.hears(ask(permission("Bash", json!({"command": "ls"}))));
    assert!(!stage.terminal.is_alternate());
    assert!(stage.text().contains("Allow Bash?"), "{}", stage.text());
    stage.press("n");
    assert!(stage.terminal.is_alternate());
    assert!(stage.text().contains("transcript ·"), "{}", stage.text());
    stage.press("q");
    assert_eq!(stage.text().matches("? for shortcuts").count(), 1, "{}", stage.text());
    assert!(!stage.text().contains("Allow Bash?"), "{}", stage.text());
}
