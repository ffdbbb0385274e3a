//! The front-end of a single call: prints events on standard error, and asks questions on the terminal.

use std::fs::OpenOptions;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use ona_front::{
    AskRequest, ClientHandle, Event, Field, HumanAnswer, Op, Wants, answered, chosen, fields,
    listed, questions,
};
use serde_json::{Map, Value};
use tokio::sync::mpsc::UnboundedReceiver;

use crate::call_view::{self, rows};
use crate::output::{complain, plain};

/// Shows events until the core has no more.
pub async fn show(mut events: UnboundedReceiver<Event>, remote: ClientHandle) {
    while let Some(event) = events.recv().await {
        match event {
            Event::Ask { ask, request } => put(ask, *request, &remote),
            Event::Said { message, attachments, .. } => {
                complain(&format!("{}\n", plain(&message)));
                for file in attachments {
                    complain(&format!("[{}]\n", plain(&file)));
                }
            }
            Event::HookMessage { text } => complain(&format!("hook: {text}\n")),
            Event::Warning { text } => complain(&format!("warning: {text}\n")),
            // All other events belong to turns.
            _ => {}
        }
    }
}

/// Asks on the terminal whether to trust a folder.
pub fn agreed(root: &Path, what: &[String], also: &[String]) -> bool {
    let mut question = format!(
        "\n{} contains:\n  {}\nThey would run with your rights.",
        root.display(),
        items(what),
    );
    if !also.is_empty() {
        question.push_str(&format!("\nThese would also take effect:\n  {}", items(also)));
    }
    question.push_str("\nDo you trust this folder? [y/N] ");
    matches!(line(&question).as_deref().map(str::trim), Ok("y" | "yes"))
}

/// Asks on the terminal whether to go on without guards that cannot be read.
pub fn goes_on(unread: &[String]) -> bool {
    let question = format!(
        "\nThis cannot be read, although it may forbid something:\n  {}\nGo on without it? [y/N] ",
        items(unread)
    );
    matches!(line(&question).as_deref().map(str::trim), Ok("y" | "yes"))
}

/// A list, one item below the other, whole: what is agreed to has to be seen.
fn items(all: &[String]) -> String {
    let shown: Vec<String> =
        all.iter().flat_map(|item| listed(item)).map(|row| plain(&row)).collect();
    shown.join("\n  ")
}

/// Asks the user at the terminal, one question at a time. It runs on a thread of its own, so that an interrupt does not
/// wait for the terminal.
pub fn put(ask: u64, request: AskRequest, remote: &ClientHandle) {
    static TURN: Mutex<()> = Mutex::new(());
    let remote = remote.clone();
    tokio::task::spawn_blocking(move || {
        let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let answer = at_terminal(&request).unwrap_or_else(|error| {
            HumanAnswer::unasked(format!("cannot ask on the terminal: {error}"))
        });
        remote.send(Op::Answer { ask, answer });
    });
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
    match request.wants {
        Wants::Permission => permission(request),
        Wants::Answers => answers(&request.input),
        Wants::Form => elicited(request),
        // Asked at the start of an interactive session and when signing in there; here that is done without a channel.
        Wants::Trust | Wants::Unread | Wants::Code => {
            Ok(HumanAnswer::unasked("only an interactive session asks this"))
        }
    }
}

fn permission(request: &AskRequest) -> std::io::Result<HumanAnswer> {
    let rules: Vec<String> = request.suggestions.iter().map(ToString::to_string).collect();
    let always = match rules.len() {
        0 => String::new(),
        _ => format!("[a]lways ({} → {ALWAYS_IN}), ", rows(&rules.join(", "), 4)),
    };
    let links: String = request.links.iter().map(|link| format!("\n{}", rows(link, 4))).collect();
    let question = format!(
        "\n{}{links}\n{}\n[y]es, [n]o, {always}or type what to tell the agent: ",
        call_view::call(&request.tool, &request.input),
        rows(&request.reason, 6),
    );
    loop {
        let line = line(&question)?;
        if line.is_empty() {
            return Ok(HumanAnswer::unasked("the terminal was closed"));
        }
        match line.trim() {
            "" => {}
            "y" | "yes" => return Ok(HumanAnswer::yes()),
            "n" | "no" => return Ok(HumanAnswer::no("")),
            "a" | "always" if rules.is_empty() => {}
            "a" | "always" => {
                return Ok(request.always());
            }
            feedback => return Ok(HumanAnswer::no(feedback)),
        }
    }
}

/// Puts questions to the user one by one, and the answers into the input.
fn answers(input: &Value) -> std::io::Result<HumanAnswer> {
    let mut given = Vec::new();
    for question in questions(input) {
        let mut asked = format!("\n{}\n", rows(&question.text, 20));
        for (number, (label, about)) in (1..).zip(&question.options) {
            asked.push_str(&format!("  {number}. {}\n", rows(&format!("{label}  {about}"), 4)));
        }
        asked.push_str(match question.several {
            true => "Comma-separated numbers, or your own answer: ",
            false => "A number, or your own answer: ",
        });
        let most = question.options.len();
        let answer = loop {
            let line = line(&asked)?;
            if line.is_empty() {
                return Ok(HumanAnswer::unasked("the terminal was closed"));
            }
            if let Some(answer) = chosen(line.trim(), &question) {
                break answer;
            }
            asked = match question.several {
                true => format!("Numbers from 1 to {most}, or your own answer: "),
                false => format!("One number from 1 to {most}, or your own answer: "),
            };
        };
        given.push((question.text, answer));
    }
    let input = answered(input, &given);
    Ok(HumanAnswer::Allow { always: Vec::new(), input: Some(input) })
}

/// Asks what an MCP server wants to know, field by field. An empty line leaves a field out that need not be there.
fn elicited(request: &AskRequest) -> std::io::Result<HumanAnswer> {
    let input = &request.input;
    let no = || Ok(HumanAnswer::no(""));
    if let Some(url) = input["url"].as_str() {
        let asked = {
            let (reason, url) = (rows(&request.reason, 20), rows(url, 20));
            format!("\n{reason}\nPlease visit {url}\n[y]es, done, or [n]o: ")
        };
        return match line(&asked)?.trim() {
            "y" | "yes" => Ok(HumanAnswer::yes()),
            _ => no(),
        };
    }
    let asked = format!("\n{}\nAnswer? [y]es or [n]o: ", rows(&request.reason, 40));
    if !matches!(line(&asked)?.trim(), "y" | "yes") {
        return no();
    }
    let mut given = Map::new();
    for field in fields(&input["schema"]) {
        let usual = match field.default_text() {
            none if none.is_empty() => String::new(),
            text => format!(", default {text}"),
        };
        let Field { title, wanted, about, .. } = &field;
        let mut asked = format!("{}\n: ", rows(&format!("{title} ({wanted}{usual})  {about}"), 20));
        loop {
            let said = line(&asked)?;
            if said.is_empty() {
                return Ok(HumanAnswer::unasked("the terminal was closed"));
            }
            let value = field.value(&said);
            match value {
                None if field.takes(&said) => break,
                None => asked = format!("Expected {wanted}\n: "),
                Some(value) => {
                    given.insert(field.name.clone(), value);
                    break;
                }
            }
        }
    }
    Ok(HumanAnswer::Allow { always: Vec::new(), input: Some(Value::Object(given)) })
}
