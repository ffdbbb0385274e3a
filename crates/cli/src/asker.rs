//! The front-end of a single call: prints events on standard error, and asks questions on the terminal.

use std::fs::OpenOptions;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use ona_front::{AskRequest, ClientHandle, Event, HumanAnswer, Op, Wants};
use ona_tools::misfit;
use ona_types::{Behavior, PermissionUpdate, UpdateDestination};
use serde_json::{Map, Value};
use tokio::sync::mpsc::UnboundedReceiver;

use crate::call_view::{self, rows};
use crate::output::{complain, plain};

/// Shows events until the core has no more.
pub async fn show(mut events: UnboundedReceiver<Event>, remote: ClientHandle) {
    while let Some(event) = events.recv().await {
        match event {
            Event::Ask { ask, request } => put(ask, request, &remote),
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

/// A list, one item below the other; each in at most two rows.
fn items(all: &[String]) -> String {
    let shown: Vec<String> = all.iter().map(|item| rows(&item.replace('\n', " "), 2)).collect();
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
    }
}

fn permission(request: &AskRequest) -> std::io::Result<HumanAnswer> {
    let rules: Vec<String> = request.suggestions.iter().map(ToString::to_string).collect();
    let always = match rules.len() {
        0 => String::new(),
        _ => format!("[a]lways ({} → {ALWAYS_IN}), ", rows(&rules.join(", "), 4)),
    };
    let question = format!(
        "\n{}\n{}\n[y]es, [n]o, {always}or type what to tell the agent: ",
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
                let always = PermissionUpdate::AddRules {
                    rules: request.suggestions.clone(),
                    behavior: Behavior::Allow,
                    destination: UpdateDestination::LocalSettings,
                };
                return Ok(HumanAnswer::Allow { always: vec![always], input: None });
            }
            feedback => return Ok(HumanAnswer::no(feedback)),
        }
    }
}

/// Puts questions to the user one by one, and the answers into the input.
fn answers(input: &Value) -> std::io::Result<HumanAnswer> {
    let mut given = Map::new();
    for question in input["questions"].as_array().into_iter().flatten() {
        let text = question["question"].as_str().unwrap_or_default();
        let options: Vec<&Value> = question["options"].as_array().into_iter().flatten().collect();
        let several = question["multiSelect"] == true || question["multiSelect"] == "true";
        let mut asked = format!("\n{}\n", rows(text, 20));
        for (number, option) in (1..).zip(&options) {
            let label = option["label"].as_str().unwrap_or_default();
            let about = option["description"].as_str().unwrap_or_default();
            asked.push_str(&format!("  {number}. {}\n", rows(&format!("{label}  {about}"), 4)));
        }
        asked.push_str(match several {
            true => "Comma-separated numbers, or your own answer: ",
            false => "A number, or your own answer: ",
        });
        let answer = loop {
            let line = line(&asked)?;
            if line.is_empty() {
                return Ok(HumanAnswer::unasked("the terminal was closed"));
            }
            if let Some(answer) = chosen(line.trim(), &options, several) {
                break answer;
            }
            asked = match several {
                true => format!("Numbers from 1 to {}, or your own answer: ", options.len()),
                false => format!("One number from 1 to {}, or your own answer: ", options.len()),
            };
        };
        given.insert(text.to_owned(), answer.into());
    }
    let mut input = input.clone();
    input["answers"] = Value::Object(given);
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
    let fields = input["schema"]["properties"].as_object().cloned().unwrap_or_default();
    for (name, field) in &fields {
        let needed = input["schema"]["required"]
            .as_array()
            .is_some_and(|all| all.contains(&Value::from(name.as_str())));
        let title = field["title"].as_str().unwrap_or(name);
        let about = field["description"].as_str().unwrap_or_default();
        let wanted = wanted(field);
        let usual = match &field["default"] {
            Value::Null => String::new(),
            Value::String(text) => format!(", default {text}"),
            other => format!(", default {other}"),
        };
        let mut asked = format!("{}\n: ", rows(&format!("{title} ({wanted}{usual})  {about}"), 20));
        loop {
            let said = line(&asked)?;
            if said.is_empty() {
                return Ok(HumanAnswer::unasked("the terminal was closed"));
            }
            let value = match said.trim() {
                "" => Some(field["default"].clone()).filter(|usual| !usual.is_null()),
                said => field_value(said, field),
            };
            let why = value.as_ref().and_then(|value| misfit(field, value));
            match (value, why) {
                (None, _) if said.trim().is_empty() && !needed => break,
                (None, _) => asked = format!("Expected {wanted}\n: "),
                (Some(_), Some(why)) => asked = format!("Invalid: {why}\n: "),
                (Some(value), None) => {
                    given.insert(name.clone(), value);
                    break;
                }
            }
        }
    }
    Ok(HumanAnswer::Allow { always: Vec::new(), input: Some(Value::Object(given)) })
}

/// The values a field may have, each with what it is called; none where it may have any.
fn choices(field: &Value) -> Vec<(&str, &str)> {
    let list = |key: &str| field[key].as_array().into_iter().flatten();
    let names: Vec<&str> = list("enumNames").filter_map(Value::as_str).collect();
    let plain = list("enum").filter_map(Value::as_str).enumerate();
    let plain = plain.map(|(at, value)| (value, names.get(at).copied().unwrap_or(value)));
    let titled = list("oneOf").chain(list("anyOf")).filter_map(|one| {
        let value = one["const"].as_str()?;
        Some((value, one["title"].as_str().unwrap_or(value)))
    });
    plain.chain(titled).collect()
}

/// What is to be typed for a field, in words.
fn wanted(field: &Value) -> String {
    let several = field["type"] == "array";
    let choices = choices(if several { &field["items"] } else { field });
    let names: Vec<&str> = choices.iter().map(|(_, name)| *name).collect();
    match field["type"].as_str() {
        _ if several && !names.is_empty() => {
            format!("any of {}, comma-separated", names.join(", "))
        }
        _ if !names.is_empty() => format!("one of {}", names.join(", ")),
        Some("boolean") => "yes or no".to_owned(),
        Some("integer") => "a whole number".to_owned(),
        Some("number") => "a number".to_owned(),
        Some("array") => "comma-separated words".to_owned(),
        _ => "text".to_owned(),
    }
}

/// Parses a line as a value of the field's type; `None` if it is not one.
fn field_value(said: &str, field: &Value) -> Option<Value> {
    if said.is_empty() {
        return None;
    }
    match field["type"].as_str() {
        Some("array") => {
            let words = said.split(',').map(str::trim);
            words.map(|word| field_value(word, &field["items"])).collect()
        }
        Some("boolean") => match said {
            "y" | "yes" | "true" => Some(true.into()),
            "n" | "no" | "false" => Some(false.into()),
            _ => None,
        },
        Some("integer") => said.parse::<i64>().ok().map(Value::from),
        Some("number") => said.parse::<f64>().ok().map(Value::from),
        _ => match choices(field) {
            none if none.is_empty() => Some(Value::from(said)),
            some => {
                let meant = some.iter().find(|(value, name)| *value == said || *name == said);
                meant.map(|(value, _)| Value::from(*value))
            }
        },
    }
}

/// What a line answers: the labels of the numbers in it, else the line itself. Nothing if it has to be asked again.
fn chosen(line: &str, options: &[&Value], several: bool) -> Option<String> {
    let label = |word: &str| -> Option<&str> {
        let number: usize = word.trim().parse().ok()?;
        options.get(number.checked_sub(1)?)?["label"].as_str()
    };
    let numbers = line.split(',').all(|word| word.trim().parse::<usize>().is_ok());
    if line.is_empty() || (numbers && !several && line.contains(',')) {
        return None;
    }
    if numbers {
        let labels: Option<Vec<&str>> = line.split(',').map(label).collect();
        return labels.map(|labels| labels.join(", "));
    }
    Some(line.to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_field_takes_values_of_its_kind() {
        let value = |said: &str, field: Value| field_value(said, &field);
        assert_eq!(value("7", json!({"type": "integer"})), Some(json!(7)));
        assert_eq!(value("7.5", json!({"type": "integer"})), None);
        assert_eq!(value("y", json!({"type": "boolean"})), Some(json!(true)));
        assert_eq!(value("Ada", json!({"type": "string"})), Some(json!("Ada")));
        assert_eq!(value("x", json!({"type": "string", "enum": ["a", "b"]})), None);
        assert_eq!(value("", json!({"type": "string"})), None);
        let titled =
            json!({"type": "string", "oneOf": [{"const": "r", "title": "Red"}, {"const": "b"}]});
        assert_eq!(value("Red", titled.clone()), Some(json!("r")));
        assert_eq!(value("r", titled.clone()), Some(json!("r")));
        assert_eq!(value("green", titled.clone()), None);
        assert_eq!(wanted(&titled), "one of Red, b");
        let several = json!({"type": "array", "items": {"type": "string", "enum": ["a", "b"]}});
        assert_eq!(value("a, b", several.clone()), Some(json!(["a", "b"])));
        assert_eq!(value("a, c", several.clone()), None);
        assert_eq!(wanted(&several), "any of a, b, comma-separated");
    }

    #[test]
    fn numbers_choose_and_everything_else_is_an_answer() {
        let (red, blue) = (json!({"label": "Red"}), json!({"label": "Blue"}));
        let options = [&red, &blue];
        let one = |line: &str| chosen(line, &options, false);
        assert_eq!(one("2").as_deref(), Some("Blue"));
        assert_eq!(one("none of them").as_deref(), Some("none of them"));
        for again in ["", "3", "0", "1,2"] {
            assert_eq!(one(again), None, "{again}");
        }
        assert_eq!(chosen("1, 2", &options, true).as_deref(), Some("Red, Blue"));
        assert_eq!(chosen("1,3", &options, true), None);
    }
}
