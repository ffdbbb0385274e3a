//! What ona says by itself: the spinner, lists, prompts that wait, interruptions, warnings and errors.

use std::time::Duration;

use ona_front::{Ending, Event, Op, Reply};
use ona_types::{Todo, TodoStatus};

use crate::scenes::{answered, text, turn_ended};
use crate::stage::{Stage, at_three_sizes, at_work_at_three_sizes};

fn todo(content: &str, active_form: &str, status: TodoStatus) -> Todo {
    Todo {
        id: content.to_owned(),
        content: content.to_owned(),
        status,
        active_form: active_form.to_owned(),
    }
}

#[test]
fn the_spinner_with_time_and_tokens() {
    insta::assert_snapshot!(at_work_at_three_sizes(|stage| {
        stage.hears(answered("First."));
        stage.hears(Event::Thinking { text: "x".repeat(4_000) });
        stage.hears(text("Now the second part of the answer begins"));
        stage.waits(Duration::from_secs(83));
    }));
}

#[test]
fn a_retry() {
    insta::assert_snapshot!(at_work_at_three_sizes(|stage| {
        stage.hears(Event::Retry {
            attempt: 2,
            max_retries: 10,
            delay_ms: 3_400,
            status: Some(529),
            error: "the provider is overloaded, it says".to_owned(),
        });
        stage.waits(Duration::from_secs(2));
    }));
}

#[test]
fn a_compaction() {
    insta::assert_snapshot!(at_work_at_three_sizes(|stage| {
        stage.hears(Event::Compacted { trigger: "auto".to_owned(), pre_tokens: 154_321 });
        stage.hears(Event::Compacting { trigger: "auto".to_owned() });
        stage.waits(Duration::from_secs(2));
    }));
}

#[test]
fn something_else_than_a_turn() {
    let mut stage = Stage::new(80, 24);
    stage.hears(Event::Busy { what: "Signing in".to_owned() });
    stage.waits(Duration::from_secs(5));
    assert!(stage.text().contains("Signing in… (5s · 0 tokens"), "{}", stage.text());
    stage.hears(Event::Ready);
    assert!(!stage.text().contains("Signing in"), "{}", stage.text());
}

#[test]
fn the_todo_list() {
    insta::assert_snapshot!(at_work_at_three_sizes(|stage| {
        stage.hears(Event::Todos {
            todos: vec![
                todo("Read the parser", "Reading the parser", TodoStatus::Completed),
                todo(
                    "Fix how the parser moves on from one token to the next",
                    "Fixing how the parser moves on from one token to the next",
                    TodoStatus::InProgress,
                ),
                todo("Add a test", "Adding a test", TodoStatus::Pending),
            ],
        });
    }));
}

#[test]
fn a_todo_list_that_is_longer_than_its_place() {
    insta::assert_snapshot!(at_work_at_three_sizes(|stage| {
        let item = |number: usize| {
            let status = match number {
                1..=5 => TodoStatus::Completed,
                6 => TodoStatus::InProgress,
                _ => TodoStatus::Pending,
            };
            todo(&format!("Step {number}"), &format!("Doing step {number}"), status)
        };
        stage.hears(Event::Todos { todos: (1..=20).map(item).collect() });
    }));
}

#[test]
fn the_todo_list_can_be_hidden() {
    let mut stage = Stage::at_work(80, 24);
    stage.hears(Event::Todos { todos: vec![todo("Step", "Doing it", TodoStatus::InProgress)] });
    assert!(stage.text().contains("◐ Doing it"), "{}", stage.text());
    stage.press("ctrl+t");
    assert!(!stage.text().contains("◐ Doing it"), "{}", stage.text());
}

#[test]
fn prompts_that_wait() {
    insta::assert_snapshot!(at_work_at_three_sizes(|stage| {
        for prompt in ["then run the tests", "and commit", "third", "fourth", "fifth"] {
            stage.types(prompt);
            stage.press("enter");
        }
        stage.types("a line");
        stage.press("ctrl+j");
        stage.types("and another");
    }));
}

#[test]
fn an_interrupted_turn() {
    insta::assert_snapshot!(at_work_at_three_sizes(|stage| {
        stage.hears(text("I begin with the parser, which"));
        stage.press("esc");
        assert!(stage.take_sent().contains(&Op::Interrupt));
        stage.hears_all([turn_ended(Ending::Interrupted), Event::Ready]);
    }));
}

#[test]
fn prompts_that_waited_come_back_when_a_turn_is_interrupted() {
    let mut stage = Stage::at_work(80, 24);
    for prompt in ["first", "second"] {
        stage.types(prompt);
        stage.press("enter");
    }
    stage.press("esc");
    stage.hears_all([turn_ended(Ending::Interrupted), Event::Ready]);
    assert!(stage.text().contains("> first\n  second"), "{}", stage.text());
    assert!(!stage.text().contains('⏵'), "{}", stage.text());
}

#[test]
fn warnings_and_errors() {
    insta::assert_snapshot!(at_work_at_three_sizes(|stage| {
        stage.hears(Event::Warning {
            text: "settings.json: unknown key `permisions`, did you mean `permissions`?\nIt is ignored.".to_owned(),
        });
        stage.hears(Event::HookMessage { text: "the linter was busy".to_owned() });
        let failed = Ending::Failed {
            error: "overloaded_error".to_owned(),
            message: "the model cannot be reached: Overloaded".to_owned(),
        };
        stage.hears_all([turn_ended(failed), Event::Ready]);
    }));
}

#[test]
fn answers_to_commands() {
    insta::assert_snapshot!(at_three_sizes(|stage| {
        let reply = |reply: Reply| Event::Reply { command: "cost".to_owned(), reply };
        stage.hears(reply(Reply::Text { text: "**Cost**: $0.12 for 3 requests".to_owned() }));
        stage.hears(reply(Reply::Plain { text: "a\tb\nc\td".to_owned() }));
        stage.hears(reply(Reply::Plain { text: String::new() }));
        stage.hears(reply(Reply::Error {
            text: "Unknown command: /xyzzy\nType / for the list".to_owned(),
        }));
    }));
}

#[test]
fn a_message_outside_the_answer() {
    insta::assert_snapshot!(at_work_at_three_sizes(|stage| {
        stage.hears(Event::Said {
            message: "The **build** is done.".to_owned(),
            attachments: vec!["target/report.html".to_owned()],
            status: "proactive".to_owned(),
        });
    }));
}

#[test]
fn time_and_tokens_are_in_sight_whatever_else_is() {
    for (columns, height) in [(40, 15), (80, 24), (160, 50)] {
        let mut stage = Stage::at_work(columns, height);
        let item = |number| todo(&format!("Step {number}"), "Doing it", TodoStatus::Pending);
        stage.hears(Event::Todos { todos: (1..=20).map(item).collect() });
        for prompt in ["one", "two", "three", "four", "five"] {
            stage.types(prompt);
            stage.press("enter");
        }
        let shown = stage.text();
        assert!(shown.contains("(0s · 0 tokens"), "at {columns}×{height}:\n{shown}");
    }
}
