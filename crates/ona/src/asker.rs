//! The front-end of a single call: what the core says goes to standard error, what it asks to the terminal.

use std::fs::OpenOptions;
use std::io::{BufRead as _, BufReader, Write as _};

use ona_engine::Remote;
use ona_types::{
    AskRequest, Behavior, Event, HumanAnswer, Op, PermissionUpdate, UpdateDestination,
};
use tokio::sync::mpsc::UnboundedReceiver;

use crate::output::{complain, plain};

/// Shows events until the core has no more.
pub async fn show(mut events: UnboundedReceiver<Event>, remote: Remote) {
    while let Some(event) = events.recv().await {
        match event {
            // Asked beside this, so that an interrupt is not kept waiting by a terminal.
            Event::Ask { ask, request } => {
                let remote = remote.clone();
                tokio::task::spawn_blocking(move || {
                    let answer = at_terminal(&request).unwrap_or_else(|error| {
                        HumanAnswer::no(format!("the terminal cannot be asked: {error}"))
                    });
                    remote.send(Op::Answer { ask, answer });
                });
            }
            Event::HookMessage { text } => complain(&format!("hook: {text}\n")),
            Event::Warning { text } => complain(&format!("warning: {text}\n")),
            // The rest is of turns, and here is none.
            _ => {}
        }
    }
}

/// Puts a question to the controlling terminal, whatever standard input and output are; the line that is
/// typed. Nothing but a closed terminal gives an empty one.
pub fn line(question: &str) -> std::io::Result<String> {
    let mut terminal = OpenOptions::new().read(true).write(true).open("/dev/tty")?;
    terminal.write_all(plain(question).as_bytes())?;
    let mut line = String::new();
    BufReader::new(terminal).read_line(&mut line)?;
    Ok(line)
}

/// Where the rules of an "always" go, in the project's directory.
const ALWAYS_IN: &str = ".claude/settings.local.json";

fn at_terminal(request: &AskRequest) -> std::io::Result<HumanAnswer> {
    let rules: Vec<String> = request.suggestions.iter().map(ToString::to_string).collect();
    let always = match rules.len() {
        0 => String::new(),
        _ => format!("[a]lways ({} → {ALWAYS_IN}), ", rules.join(", ")),
    };
    let question = format!(
        "\n{} {}\n{}\n[y]es, [n]o, {always}or type what to tell the agent: ",
        request.tool,
        shown(&request.input),
        request.reason,
    );
    loop {
        let line = line(&question)?;
        if line.is_empty() {
            return Ok(HumanAnswer::no("the terminal was closed"));
        }
        match line.trim() {
            "" => {}
            "y" | "yes" => return Ok(HumanAnswer::Allow { always: Vec::new() }),
            "n" | "no" => return Ok(HumanAnswer::no("")),
            "a" | "always" if rules.is_empty() => {}
            "a" | "always" => {
                let always = PermissionUpdate::AddRules {
                    rules: request.suggestions.clone(),
                    behavior: Behavior::Allow,
                    destination: UpdateDestination::LocalSettings,
                };
                return Ok(HumanAnswer::Allow { always: vec![always] });
            }
            feedback => return Ok(HumanAnswer::no(feedback)),
        }
    }
}

/// As much of an input is shown. A command is shown whole: what is hidden could be what matters.
const SHOWN: usize = 4000;

fn shown(input: &serde_json::Value) -> String {
    if let Some(command) = input.get("command").and_then(serde_json::Value::as_str) {
        return plain(command);
    }
    let text = plain(&input.to_string());
    let length = text.chars().count();
    if length <= SHOWN {
        return text;
    }
    let cut: String = text.chars().take(SHOWN).collect();
    format!("{cut}\n[{} more characters are not shown]", length - SHOWN)
}
