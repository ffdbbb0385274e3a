//! TaskOutput and TaskStop: read and end background tasks.

use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;
use std::time::Duration;

use ona_effects::Effects;
use ona_files::Links;
use ona_mcp::Hints;
use ona_types::{TaskEnd, TaskKind, ToolOutput};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::time::{Instant, sleep_until};

use crate::context::{Place, ToolContext};
use crate::facts::Facts;
use crate::input::{InputError, lenient_bool, lenient_count};
use crate::services::{TaskView, Whose};
use crate::tool::{BuiltIn, Refusal};

/// How much of the end of an output is shown, in bytes; the rest is in its file.
const TOLD: u64 = 100_000;
/// The default wait, in milliseconds.
const WAIT_MS: u64 = 30_000;
/// The upper limit.
const MAX_WAIT_MS: u64 = 600_000;
/// How often the record is polled for the end of a task: its supervisor is another process.
const LOOK_EVERY: Duration = Duration::from_millis(25);

pub(crate) struct TaskOutput;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct OutputInput {
    /// The task, as it was named when it was started.
    task_id: String,
    /// Wait until it has ended. The default is true.
    #[serde(default, deserialize_with = "lenient_bool")]
    block: Option<bool>,
    /// How long to wait, in milliseconds. The default is 30000, the most 600000.
    #[serde(default, deserialize_with = "lenient_count")]
    timeout: Option<u64>,
}

impl BuiltIn for TaskOutput {
    const NAME: &'static str = "TaskOutput";
    const DESCRIPTION: &'static str = "Shows the status of a background task (a command or an agent) and what it has \
        printed so far. It waits for the end unless block is false. You are told when a task ends; do not poll.";
    const FACTS: Facts = Facts::plain(Hints::READS);
    type Input = OutputInput;

    fn effects(input: &OutputInput, _: &Place) -> Result<Effects, InputError> {
        named(Self::NAME, &input.task_id).map(|()| Effects::default())
    }

    async fn run(input: OutputInput, cx: &ToolContext<'_>) -> Result<ToolOutput, Refusal> {
        let wait = match input.block {
            Some(false) => 0,
            _ => input.timeout.unwrap_or(WAIT_MS).min(MAX_WAIT_MS),
        };
        let until = Instant::now() + Duration::from_millis(wait);
        let task = loop {
            let task = find(&input.task_id, cx)?;
            if task.whose == Whose::Itself {
                return Err(Refusal::rejected(format!(
                    "the task {} is you: you cannot wait for your own end",
                    task.id
                )));
            }
            if task.end.is_some() || Instant::now() >= until {
                break task;
            }
            tokio::select! {
                () = sleep_until(until.min(Instant::now() + LOOK_EVERY)) => {}
                () = cx.cancel.cancelled() => return Err(Refusal::Internal("interrupted".into())),
            }
        };
        let status = match (&task.end, input.block) {
            (Some(_), _) => "success",
            (None, Some(false)) => "not_ready",
            (None, _) => "timeout",
        };
        let (printed, left_out) = end_of(&task.output_path, TOLD)
            .map_err(|error| Refusal::Internal(format!("its output cannot be read: {error}")))?;
        let mut content = format!(
            "{} {} ({})\n{}\nOutput file: {}",
            kind(task.kind),
            task.id,
            state(task.end.as_ref()),
            task.command,
            task.output_path.display(),
        );
        if left_out > 0 {
            content.push_str(&format!("\n[the first {left_out} bytes are only in the file]"));
        }
        content.push_str("\n--- output ---\n");
        content.push_str(&printed);
        Ok(ToolOutput::success(content).with_detail("retrieval_status", status))
    }
}

pub(crate) struct TaskStop;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct StopInput {
    /// The task.
    task_id: Option<String>,
    /// The same, by its former key.
    #[schemars(skip)]
    shell_id: Option<String>,
}

impl StopInput {
    fn id(&self) -> Option<&str> {
        self.task_id.as_deref().or(self.shell_id.as_deref())
    }
}

impl BuiltIn for TaskStop {
    const NAME: &'static str = "TaskStop";
    const DESCRIPTION: &'static str =
        "Ends a background task (a command or an agent) and everything it has started.";
    const FACTS: Facts = Facts::plain(Hints::CHANGES.once());
    type Input = StopInput;

    fn effects(input: &StopInput, _: &Place) -> Result<Effects, InputError> {
        let id = input.id().ok_or_else(|| InputError::new(Self::NAME, "`task_id` is missing"))?;
        named(Self::NAME, id).map(|()| Effects::default())
    }

    async fn run(input: StopInput, cx: &ToolContext<'_>) -> Result<ToolOutput, Refusal> {
        let task = find(input.id().unwrap_or_default(), cx)?;
        if let Some(end) = &task.end {
            return Err(Refusal::rejected(format!(
                "the task {} is no longer running: {}",
                task.id,
                state(Some(end))
            )));
        }
        if task.whose != Whose::Own {
            return Err(Refusal::rejected(format!(
                "the task {} is not yours: an agent can only end tasks it has started. Say in your final answer what should \
                 become of it",
                task.id
            )));
        }
        cx.services.stop_task(&task).await?;
        Ok(ToolOutput::success(format!(
            "Stopped {} {}: {}",
            kind(task.kind),
            task.id,
            task.command
        ))
        .with_detail("task_id", task.id))
    }
}

fn named(tool: &str, id: &str) -> Result<(), InputError> {
    match id.trim().is_empty() {
        true => Err(InputError::new(tool, "`task_id` is empty")),
        false => Ok(()),
    }
}

fn find(id: &str, cx: &ToolContext<'_>) -> Result<TaskView, Refusal> {
    if let Some(task) = cx.services.task(id)? {
        return Ok(task);
    }
    let running = cx.services.running_tasks()?;
    let running: Vec<String> =
        running.iter().map(|task| format!("{} ({})", task.id, task.command)).collect();
    Err(Refusal::rejected(match running.is_empty() {
        true => format!("unknown task `{id}`; no task is running"),
        false => format!("unknown task `{id}`; running: {}", running.join(", ")),
    }))
}

fn kind(kind: TaskKind) -> &'static str {
    match kind {
        TaskKind::Shell => "command",
        TaskKind::Agent => "agent",
    }
}

/// The status of a task, in words.
pub(crate) fn state(end: Option<&TaskEnd>) -> String {
    match end {
        None => "running".to_owned(),
        Some(TaskEnd { exit_code: Some(code), .. }) => format!("exited with code {code}"),
        Some(TaskEnd { reason, .. }) => reason.replace('_', " "),
    }
}

/// The last `most` bytes of a file, and how many bytes come before them.
pub fn end_of(path: &Path, most: u64) -> std::io::Result<(String, u64)> {
    // The command may have replaced the file by a link or a pipe.
    let mut file = ona_files::open(path, Links::Refuse)
        .map_err(std::io::Error::other)?
        .ok_or(std::io::ErrorKind::NotFound)?;
    let length = file.metadata()?.len();
    let from = length.saturating_sub(most);
    file.seek(SeekFrom::Start(from))?;
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes)?;
    Ok((String::from_utf8_lossy(&bytes).into_owned(), from))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_long_output_the_end_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("log");
        std::fs::write(&file, "a".repeat(5) + &"b".repeat(100_000)).unwrap();
        let (told, left_out) = end_of(&file, TOLD).unwrap();
        assert_eq!((told.len(), left_out), (100_000, 5));
        assert!(told.starts_with('b'));
        let (link, pipe) = (dir.path().join("link"), dir.path().join("pipe"));
        std::os::unix::fs::symlink(&file, &link).unwrap();
        assert!(end_of(&link, TOLD).is_err(), "what is elsewhere is not its output");
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
        assert!(end_of(&pipe, TOLD).is_err(), "nobody waits for a writer");
    }
}
