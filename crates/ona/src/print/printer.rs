//! Prints events: as text, as one JSON object, or as lines of JSON.

use ona_cli::agent_args::{AgentArgs, OutputFormat};
use ona_cli::output::{complain, for_reader, plain, print_line};
use ona_cli::{CliError, asker};
use ona_front::{ClientHandle, Ending, Event, TurnEnd};
use ona_policy::secrets::Redactor;
use serde_json::Value;
use tokio::sync::mpsc::UnboundedReceiver;

use super::json::Shown;

/// Prints what happens.
pub(super) struct Printer {
    format: OutputFormat,
    shown: Shown,
    tools: Vec<String>,
    hooks: bool,
    verbose: bool,
    /// Whether there will be a session to go on with.
    kept: bool,
    /// Where answers go of whoever is at the terminal, if somebody is.
    asks: Option<ClientHandle>,
    redactor: Redactor,
}

/// What scripts find their way by: the operator's own directory, and ids.
const AS_IT_IS: [&str; 3] = ["session_id", "uuid", "cwd"];

impl Printer {
    pub(super) fn new(
        args: &AgentArgs,
        shown: Shown,
        tools: Vec<String>,
        asks: Option<ClientHandle>,
        redactor: Redactor,
    ) -> Self {
        Self {
            asks,
            redactor,
            format: args.output_format,
            shown,
            tools,
            hooks: args.include_hook_events,
            verbose: args.verbose,
            kept: !args.no_session_persistence,
        }
    }

    pub(super) fn begin(&self, servers: &[Value], there: &Value) -> Result<(), CliError> {
        if self.format == OutputFormat::StreamJson {
            self.line(&self.shown.init(&self.tools, servers, there))?;
        }
        Ok(())
    }

    /// Prints every event until there are no more; whether the last turn, if there was one, came to its end.
    pub(super) async fn show(
        self,
        mut events: UnboundedReceiver<Event>,
    ) -> Result<Option<bool>, CliError> {
        let mut done = None;
        while let Some(event) = events.recv().await {
            if let Event::TurnEnded { end } = &event {
                done = Some(end.ending == Ending::Done);
            }
            if let (Event::Ask { ask, request }, Some(remote)) = (&event, &self.asks) {
                asker::put(*ask, (**request).clone(), remote);
            }
            self.event(&event)?;
        }
        Ok(done)
    }

    fn event(&self, event: &Event) -> Result<(), CliError> {
        match (self.format, event) {
            (OutputFormat::StreamJson, event) => {
                for value in self.shown.lines(event, self.hooks) {
                    self.line(&value)?;
                }
            }
            (OutputFormat::Json, Event::TurnEnded { end }) => self.line(&self.shown.result(end))?,
            (OutputFormat::Text, Event::TurnEnded { end }) => self.text(end)?,
            (OutputFormat::Text, Event::Said { message, attachments, .. }) => {
                print_line(&for_reader(message)).map_err(unprintable)?;
                for file in attachments {
                    print_line(&format!("[{}]", plain(file))).map_err(unprintable)?;
                }
            }
            (OutputFormat::Text, Event::OfAgent { what, .. })
                if matches!(**what, Event::Said { .. }) =>
            {
                return self.event(what);
            }
            _ => {}
        }
        self.aside(event);
        Ok(())
    }

    /// What is said on standard error.
    fn aside(&self, event: &Event) {
        let text = match event {
            Event::OfAgent { what, .. } => return self.aside(what),
            Event::Warning { text } => format!("warning: {text}"),
            Event::HookMessage { text } => format!("hook: {text}"),
            // One object on standard output has no room for it.
            Event::Said { message, attachments, .. } if self.format == OutputFormat::Json => {
                let files = attachments.iter().map(|file| format!("\n[{file}]"));
                plain(&format!("{message}{}", files.collect::<String>()))
            }
            Event::Retry { attempt, max_retries, delay_ms, error, .. } => {
                format!(
                    "retry {attempt} of {max_retries} in {:.1} s: {}",
                    *delay_ms as f64 / 1e3,
                    plain(error)
                )
            }
            Event::Compacting { trigger } => format!("compacting the context ({trigger})"),
            Event::ToolStarted { tool, input, .. } if self.verbose => {
                let input = self.redactor.first_chars(&input.to_string(), 200);
                format!("{tool} {}", plain(&input))
            }
            Event::ToolProgress { done, total, message, .. } if self.verbose => {
                let of = total.map(|total| format!(" of {total}")).unwrap_or_default();
                format!("{done}{of} {}", plain(message.as_deref().unwrap_or_default()))
            }
            Event::ToolEnded { tool, is_error: true, content, .. } if self.verbose => {
                format!("{tool} failed: {}", plain(content).lines().next().unwrap_or_default())
            }
            _ => return,
        };
        complain(&format!("{}\n", self.redactor.mask_live(&text)));
    }

    fn text(&self, end: &TurnEnd) -> Result<(), CliError> {
        let text = final_text(end);
        if !text.is_empty() {
            print_line(&for_reader(&text)).map_err(unprintable)?;
        }
        if let Some(why) = end.ending.problem() {
            complain(&format!("error: {}\n", plain(&self.redactor.mask_live(&why))));
            if matches!(end.ending, Ending::RecordLost { .. }) {
                complain(
                    "hint: free some space if the disk is full; `ona doctor` checks the record\n",
                );
            }
            if self.kept {
                complain(&format!(
                    "hint: `ona -p --resume {} …` continues the session\n",
                    self.shown.session_id
                ));
            }
        }
        Ok(())
    }

    fn line(&self, value: &Value) -> Result<(), CliError> {
        let mut masked = value.clone();
        self.redactor.mask_live_value(&mut masked);
        for key in AS_IT_IS {
            if let Some(kept) = value.get(key) {
                masked[key] = kept.clone();
            }
        }
        print_line(&masked.to_string()).map_err(unprintable)
    }
}

#[allow(clippy::needless_pass_by_value, reason = "it is handed to map_err")]
fn unprintable(error: std::io::Error) -> CliError {
    CliError::failed(format!("the result is recorded, but cannot be printed: {error}"))
}

/// What a turn came to, as text: an answer in the shape that was asked for is the whole of it.
pub(super) fn final_text(end: &TurnEnd) -> String {
    match (&end.ending, &end.answer) {
        (Ending::Done, Some(answer)) => answer.to_string(),
        _ => end.text.clone(),
    }
}
