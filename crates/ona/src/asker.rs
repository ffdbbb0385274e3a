//! Asking the human at the terminal.

use std::fs::OpenOptions;
use std::future::Future;
use std::io::{BufRead, BufReader, Write};
use std::pin::Pin;

use ona_engine::{AskRequest, Asker, HumanAnswer};
use ona_types::{Behavior, PermissionUpdate, UpdateDestination};

/// The controlling terminal, whatever standard input and output are.
pub struct Terminal;

impl Asker for Terminal {
    fn ask<'a>(
        &'a self,
        request: &'a AskRequest,
    ) -> Pin<Box<dyn Future<Output = HumanAnswer> + Send + 'a>> {
        let request = request.clone();
        Box::pin(async move {
            let asked = tokio::task::spawn_blocking(move || ask(&request)).await;
            let why = match asked {
                Ok(Ok(answer)) => return answer,
                Ok(Err(error)) => format!("the terminal cannot be asked: {error}"),
                Err(error) => format!("asking broke off: {error}"),
            };
            HumanAnswer::Deny { feedback: why }
        })
    }
}

fn ask(request: &AskRequest) -> std::io::Result<HumanAnswer> {
    let mut terminal = OpenOptions::new().read(true).write(true).open("/dev/tty")?;
    let rules: Vec<String> = request.suggestions.iter().map(ToString::to_string).collect();
    let mut answers = BufReader::new(terminal.try_clone()?);
    loop {
        write!(
            terminal,
            "\n{} {}\n{}\n[y]es, [n]o, [a]lways ({}), or type what to tell the agent: ",
            request.tool,
            shown(&request.input),
            request.reason,
            rules.join(", "),
        )?;
        let mut line = String::new();
        if answers.read_line(&mut line)? == 0 {
            return Ok(HumanAnswer::Deny { feedback: "the terminal was closed".to_owned() });
        }
        match line.trim() {
            "" => {}
            "y" | "yes" => return Ok(HumanAnswer::Allow { always: Vec::new() }),
            "n" | "no" => return Ok(HumanAnswer::Deny { feedback: String::new() }),
            "a" | "always" => {
                let always = PermissionUpdate::AddRules {
                    rules: request.suggestions.clone(),
                    behavior: Behavior::Allow,
                    destination: UpdateDestination::LocalSettings,
                };
                return Ok(HumanAnswer::Allow { always: vec![always] });
            }
            feedback => return Ok(HumanAnswer::Deny { feedback: feedback.to_owned() }),
        }
    }
}

/// The input without anything that could move the cursor or recolour the question.
fn shown(input: &serde_json::Value) -> String {
    let text = match input.get("command").and_then(serde_json::Value::as_str) {
        Some(command) => command.to_owned(),
        None => input.to_string(),
    };
    let plain = |c: char| if c.is_control() && c != '\n' { '\u{fffd}' } else { c };
    text.chars().map(plain).take(2000).collect()
}
