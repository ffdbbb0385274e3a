//! What happens on the stage: events as the core tells them.

use ona_front::{
    AskRequest, CommandInfo, DiffLine, Ending, Event, FileDiff, FileFate, Hunk, Refused, Sign,
    Status, TurnEnd, Wants,
};
use ona_types::gate::StageName;
use ona_types::{RuleValue, ToolUseId};
use serde_json::{Value, json};

/// The state of a session that has just begun.
pub fn status() -> Status {
    Status {
        session_id: "0191-session".to_owned(),
        cwd: "/home/bob/engine".to_owned(),
        phase: "implement".to_owned(),
        intent: Some("INT-007".to_owned()),
        sandbox: "strict".to_owned(),
        provider: "anthropic".to_owned(),
        model: "sonnet-9".to_owned(),
        context_tokens: 24_000,
        context_window: Some(200_000),
        cost_usd: 0.1234,
        ..Status::default()
    }
}

/// What the core tells at the start.
pub fn opening() -> Vec<Event> {
    vec![
        Event::Status { status: Box::new(status()) },
        Event::Commands { commands: commands() },
        Event::History { prompts: prompts() },
        Event::Opened { source: "startup".to_owned(), entries: Vec::new(), more: false },
        Event::Ready,
    ]
}

/// Some commands of the menu.
pub fn commands() -> Vec<CommandInfo> {
    let command = |name: &str, aliases: &[&str], description: &str, source: &str| CommandInfo {
        name: name.to_owned(),
        aliases: aliases.iter().map(|alias| (*alias).to_owned()).collect(),
        arguments: String::new(),
        description: description.to_owned(),
        source: source.to_owned(),
        immediate: name == "status",
        closed: false,
    };
    vec![
        command(
            "clear",
            &["reset", "new"],
            "Start a new conversation with an empty context",
            "ona",
        ),
        command("compact", &[], "Summarise the conversation to free context", "ona"),
        command("config", &["settings"], "Show or change settings", "ona"),
        command("cost", &[], "Show what the session has cost so far", "ona"),
        command("diff", &[], "Show uncommitted changes and those of each prompt", "ona"),
        command("doctor", &[], "Check the installation", "ona"),
        command("help", &[], "List the commands", "ona"),
        command("model", &[], "Choose the model and its provider", "ona"),
        command("permissions", &["allowed-tools"], "Show and change permission rules", "ona"),
        command("release-notes", &[], "Write notes for a release", "skill"),
        command("mcp__docs__ask", &[], "Ask the documentation a question", "docs"),
        command("status", &[], "Show the state of the session", "ona"),
    ]
}

/// What was typed before.
fn prompts() -> Vec<String> {
    ["fix the failing test", "explain the parser\nand its states", "run the tests again"]
        .map(str::to_owned)
        .to_vec()
}

/// The id of a call.
pub fn id(name: &str) -> ToolUseId {
    ToolUseId::from_existing(name)
}

/// A piece of an answer.
pub fn text(text: &str) -> Event {
    Event::Text { text: text.to_owned() }
}

/// The end of an answer.
pub fn answered(text: &str) -> Event {
    Event::Answered {
        message: json!({"content": [{"type": "text", "text": text}], "usage": {"output_tokens": 321}}),
    }
}

/// The end of a turn.
pub fn turn_ended(ending: Ending) -> Event {
    let end = TurnEnd {
        ending,
        text: String::new(),
        answer: None,
        stop_reason: None,
        asked: 1,
        duration_ms: 1_000,
        api_ms: 900,
        used: Vec::new(),
        cost_usd: 0.01,
        denials: Vec::new(),
    };
    Event::TurnEnded { end: Box::new(end) }
}

/// A call begins.
pub fn started(name: &str, tool: &str, input: Value) -> Event {
    Event::ToolStarted { id: id(name), tool: tool.to_owned(), input }
}

/// A call has printed something.
pub fn output(name: &str, text: &str) -> Event {
    Event::ToolOutput { id: id(name), text: text.to_owned() }
}

/// A call has ended.
pub fn ended(name: &str, tool: &str, content: &str, is_error: bool) -> Event {
    Event::ToolEnded {
        id: id(name),
        tool: tool.to_owned(),
        content: content.to_owned(),
        is_error,
        refused: None,
        diff: None,
        exit_code: None,
    }
}

/// A call was refused.
pub fn refused(name: &str, tool: &str, stage: StageName, reason: &str) -> Event {
    Event::ToolEnded {
        id: id(name),
        tool: tool.to_owned(),
        content: format!("denied: {reason}"),
        is_error: true,
        refused: Some(Refused { stage, reason: reason.to_owned() }),
        diff: None,
        exit_code: None,
    }
}

/// A small change of a file.
pub fn diff() -> FileDiff {
    let line = |sign: Sign, text: &str| DiffLine { sign, text: text.to_owned() };
    FileDiff {
        path: "src/engine/parser.rs".to_owned(),
        fate: FileFate::Changed,
        added: 2,
        removed: 1,
        hunks: vec![
            Hunk {
                old_start: 41,
                new_start: 41,
                lines: vec![
                    line(Sign::Same, "fn next(&mut self) -> Option<Token> {"),
                    line(Sign::Removed, "    let token = self.tokens.get(self.at + 1)?;"),
                    line(Sign::Added, "    let token = self.tokens.get(self.at)?;"),
                    line(Sign::Added, "    self.at += 1;"),
                    line(Sign::Same, "    Some(token.clone())"),
                ],
            },
            Hunk {
                old_start: 97,
                new_start: 98,
                lines: vec![line(Sign::Same, "}"), line(Sign::Same, "")],
            },
        ],
        left_out: 0,
    }
}

/// A question about a call.
pub fn permission(tool: &str, input: Value) -> AskRequest {
    AskRequest {
        stage: Some(StageName::Rules),
        place: "/home/bob/engine".to_owned(),
        ..AskRequest::new(Wants::Permission, tool, input, "no rule covers this command")
    }
}

/// A rule that would answer a question from now on.
pub fn rule(tool: &str, content: &str) -> RuleValue {
    RuleValue { tool_name: tool.to_owned(), rule_content: Some(content.to_owned()) }
}

/// A question.
pub fn ask(request: AskRequest) -> Event {
    Event::Ask { ask: 1, request: Box::new(request) }
}
