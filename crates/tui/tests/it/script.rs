//! A session in which everything happens: every event, every dialog, list and screen.

use ona_front::{
    AskRequest, Choice, DiffSource, Ending, Event, Menu, MenuItem, MenuKey, Reply, Shown,
    ShownEntry, TaskInfo, Wants,
};
use ona_types::gate::StageName;
use ona_types::{Todo, TodoStatus};
use serde_json::json;

use crate::scenes::{
    answered, ask, commands, diff, ended, id, output, permission, refused, rule, started, status,
    text, turn_ended,
};

/// What is done after an event.
#[derive(Clone, Copy)]
pub enum Then {
    Nothing,
    Press(&'static str),
    Type(&'static str),
}
use Then::{Nothing, Press, Type};

fn entries() -> Vec<Shown> {
    let entries = [
        ShownEntry::User { text: "user".to_owned() },
        ShownEntry::Assistant { text: "# assistant\n\n```rust\ncode\n```".to_owned() },
        ShownEntry::Call {
            tool: "Bash".to_owned(),
            input: json!({"command": "command"}),
            result: Some(("result".to_owned(), true)),
            refused: None,
        },
        ShownEntry::Call {
            tool: "unknown".to_owned(),
            input: json!({"key": "value"}),
            result: None,
            refused: None,
        },
        ShownEntry::Note { text: "note".to_owned() },
    ];
    (1..).zip(entries).map(|(sequence, what)| Shown { sequence, what }).collect()
}

/// A list.
pub fn menu(count: usize) -> Menu {
    let item = |number: usize| MenuItem {
        label: format!("label {number}"),
        detail: "detail".to_owned(),
        current: number == 1,
        choice: Choice::Type {
            label: "asks for".to_owned(),
            line: "/line ".to_owned(),
            initial: "initial".to_owned(),
        },
        value: "value".to_owned(),
        ..MenuItem::default()
    };
    Menu {
        title: "title".to_owned(),
        text: "text".to_owned(),
        items: (0..count).map(item).collect(),
        selected: 0,
        keys: vec![MenuKey {
            key: 'x',
            label: "label".to_owned(),
            choice: Choice::Command { line: "/stop {}".to_owned() },
        }],
    }
}

/// The beginning, and what is said and done in a turn.
pub fn turn() -> Vec<(Event, Then)> {
    let mut status = status();
    status.name = Some("name".to_owned());
    status.bead = Some("bead".to_owned());
    status.effort = Some("high".to_owned());
    let agent = |event: Event| Event::OfAgent { call: id("agent"), what: Box::new(event) };
    let mut events = vec![
        Event::Status { status: Box::new(status) },
        Event::StatusLine { text: Some("custom".to_owned()) },
        Event::Commands { commands: commands() },
        Event::History { prompts: vec!["earlier".to_owned()] },
        Event::Opened { source: "resume".to_owned(), entries: entries(), more: true },
        Event::Ready,
        Event::TurnStarted { turn: 1 },
        Event::Thinking { text: "thinking".to_owned() },
        Event::Retry {
            attempt: 1,
            max_retries: 2,
            delay_ms: 10,
            status: None,
            error: "error".to_owned(),
        },
        text(
            "# Heading\n\nsome `code` and [link](https://example.org)\n\n| a | b |\n|---|---|\n| c | d |\n\n```sh\ncode\n",
        ),
        answered("answer"),
        answered("not streamed"),
        started("bash", "Bash", json!({"command": "command", "description": "about"})),
        output("bash", "output"),
        Event::ToolProgress {
            id: id("bash"),
            done: 1.0,
            total: None,
            message: Some("m".to_owned()),
        },
        ended("bash", "Bash", "content", true),
        started("mcp", "mcp__server__tool", json!({"key": "value"})),
        refused("mcp", "mcp__server__tool", StageName::Human, "reason"),
        started("edit", "Edit", json!({"file_path": "path"})),
        Event::ToolEnded {
            id: id("edit"),
            tool: "Edit".to_owned(),
            content: "content".to_owned(),
            is_error: false,
            refused: None,
            diff: Some(diff()),
            exit_code: None,
        },
        started("agent", "Agent", json!({"description": "about"})),
        agent(started("inner", "Read", json!({"file_path": "path"}))),
        agent(refused("inner", "Read", StageName::Hooks, "reason")),
        agent(Event::Warning { text: "warning".to_owned() }),
        agent(Event::Said {
            message: "message".to_owned(),
            attachments: vec!["file".to_owned()],
            status: "normal".to_owned(),
        }),
        Event::Todos {
            todos: [TodoStatus::Completed, TodoStatus::InProgress, TodoStatus::Pending]
                .map(|status| Todo {
                    id: "id".to_owned(),
                    content: "content".to_owned(),
                    status,
                    active_form: "active form".to_owned(),
                })
                .to_vec(),
        },
        Event::Tasks {
            tasks: vec![TaskInfo {
                id: "id".to_owned(),
                kind: "shell".to_owned(),
                what: "what".to_owned(),
            }],
        },
        Event::HookMessage { text: "message".to_owned() },
        Event::HookRan {
            hook_event: "event".to_owned(),
            hook_name: "name".to_owned(),
            command: "command".to_owned(),
            exit_code: None,
            stdout: "stdout".to_owned(),
            stderr: "stderr".to_owned(),
        },
        Event::Busy { what: "what".to_owned() },
        Event::Compacting { trigger: "auto".to_owned() },
        Event::Compacted { trigger: "auto".to_owned(), pre_tokens: 1 },
        Event::CompactingEnded,
        Event::Warning { text: "warning".to_owned() },
        text("an answer that breaks off"),
        Event::Void,
        text("an answer that never ends"),
        Event::Stream { raw: json!({"type": "ping"}) },
        Event::AskEnded { ask: 99 },
    ];
    events.extend(
        [
            Ending::Blocked { reason: "reason".to_owned() },
            Ending::Stopped { reason: "reason".to_owned() },
            Ending::Failed { error: "error".to_owned(), message: "message".to_owned() },
            Ending::MaxBudget { most_usd: "1".to_owned() },
            Ending::NoAnswerThatFits { tries: 1, last: "last".to_owned() },
            Ending::RecordLost { message: "message".to_owned() },
        ]
        .map(turn_ended),
    );
    events.push(Event::Ready);
    events.into_iter().map(|event| (event, Nothing)).collect()
}

/// Every dialog, list and screen, each answered or left again.
pub fn views() -> Vec<(Event, Then)> {
    let reply = |reply: Reply| Event::Reply { command: "command".to_owned(), reply };
    let question = json!({"questions": [{"question": "text", "header": "header", "options": [{"label": "a", "description": "b"}]}]});
    let form = json!({"schema": {"properties": {"a": {"type": "string", "title": "title", "description": "about", "default": "usual"}}}, "given": {"a": "given"}});
    let sources =
        vec![DiffSource { name: "name".to_owned(), files: vec![diff()], note: "note".to_owned() }];
    let plan = AskRequest {
        checks: vec!["check".to_owned()],
        ..permission("ExitPlanMode", json!({"plan": "# plan"}))
    };
    let command = AskRequest {
        suggestions: vec![rule("Bash", "content")],
        always_in: "file".to_owned(),
        agent: Some("agent".to_owned()),
        ..permission("Bash", json!({"command": "command", "description": "about"}))
    };
    let of_server = permission("mcp__server__tool", json!({"key": "value", "deep": {"a": ["b"]}}));
    let change = AskRequest { diff: Some(diff()), ..permission("Edit", json!({})) };
    let wants = |wants: Wants, input| AskRequest {
        checks: vec!["check".to_owned()],
        ..AskRequest::new(wants, "tool", input, "reason")
    };
    vec![
        (ask(command), Press("n")),
        (ask(change), Press("n")),
        (ask(of_server), Press("n")),
        (ask(plan), Press("n")),
        (ask(wants(Wants::Answers, question)), Press("esc")),
        (ask(wants(Wants::Form, form)), Press("esc")),
        (ask(wants(Wants::Form, json!({"url": "https://example.org"}))), Press("n")),
        (ask(wants(Wants::Code, json!({"url": "https://example.org"}))), Press("esc")),
        (
            ask(wants(Wants::Trust, json!({"root": "root", "runs": ["runs"], "also": ["also"]}))),
            Press("n"),
        ),
        (ask(wants(Wants::Unread, json!({"unread": ["unread"]}))), Press("n")),
        (reply(Reply::Text { text: "text".to_owned() }), Nothing),
        (reply(Reply::Plain { text: String::new() }), Nothing),
        (reply(Reply::Error { text: "text".to_owned() }), Nothing),
        (reply(Reply::Menu { menu: menu(3) }), Press("1")),
        (Event::Ready, Press("esc")),
        (reply(Reply::Menu { menu: menu(30) }), Press("esc")),
        (reply(Reply::Diffs { sources }), Press("enter")),
        (Event::Ready, Press("esc")),
        (Event::Input { text: "input".to_owned() }, Press("ctrl+u")),
        (Event::Ready, Type("/")),
        (Event::Ready, Press("ctrl+u")),
        (Event::Ready, Press("ctrl+r")),
        (Event::Ready, Type("ear")),
        (Event::Ready, Press("ctrl+c")),
        (Event::Ready, Type("@f")),
        (Event::Files { query: "f".to_owned(), files: vec!["file".to_owned()] }, Nothing),
        (Event::Ready, Press("ctrl+u")),
        (Event::Ready, Press("ctrl+o")),
        (Event::Transcript { entries: entries(), more: true }, Press("ctrl+e")),
        (Event::Ready, Press("q")),
        (Event::Copy { text: "copy".to_owned() }, Nothing),
        (Event::Edit { file: "file".to_owned(), then: "then".to_owned() }, Nothing),
        (Event::Opened { source: "clear".to_owned(), entries: entries(), more: false }, Nothing),
    ]
}
