//! A command in the foreground: the user sees its output while it runs, and may let it go on in the background.

use std::fs::File;
use std::io::Write as _;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ona_policy::secrets::MaskedBytes;
use ona_sandbox::{ChildOutcome, ChildSpec, Ending, SpawnError};
use ona_types::{TRUNCATED_SUFFIX, TaskEnd, TaskId, TaskKind, TaskStarted, ToolOutput};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::bash::{STREAM_CAP, Shell, marker};
use crate::context::ToolContext;
use crate::services::OnOutput;
use crate::tool::Refusal;

/// How a command in the foreground ended.
pub(crate) enum Foreground {
    /// Here is its outcome.
    Ended(ChildOutcome),
    /// It goes on in the background.
    Moved(Box<ToolOutput>),
}

type Job = Pin<Box<dyn Future<Output = Result<ChildOutcome, SpawnError>> + Send>>;

/// Where the output of a command goes besides the result.
struct Sink {
    /// Told of every piece, without secrets.
    shown: Option<(MaskedBytes, OnOutput)>,
    /// What came so far, up to a limit, for the file of a command that goes on in the background.
    so_far: Vec<u8>,
    log: Option<Log>,
}

struct Log {
    file: File,
    masked: MaskedBytes,
    room: u64,
}

impl Sink {
    fn take(&mut self, piece: &[u8]) {
        if let Some((masked, tell)) = &mut self.shown {
            let text = masked.pass(piece);
            if !text.is_empty() {
                tell(&String::from_utf8_lossy(&text));
            }
        }
        match &mut self.log {
            Some(log) => log.write(piece),
            None => {
                let room = STREAM_CAP.saturating_sub(self.so_far.len());
                self.so_far.extend_from_slice(&piece[..piece.len().min(room)]);
            }
        }
    }
}

impl Log {
    /// A write error is ignored: nothing else depends on the file.
    fn write(&mut self, piece: &[u8]) {
        let text = self.masked.pass(piece);
        self.put(&text);
    }

    fn put(&mut self, text: &[u8]) {
        if self.room == 0 {
            return;
        }
        let fits = usize::try_from(self.room).unwrap_or(usize::MAX).min(text.len());
        let _ = self.file.write_all(&text[..fits]);
        self.room -= fits as u64;
        if self.room == 0 {
            let _ = self.file.write_all(TRUNCATED_SUFFIX.as_bytes());
        }
    }

    fn end(mut self) {
        let text = self.masked.end();
        self.put(&text);
    }
}

/// Runs a command until it ends, its time is up, or the user lets it go on in the background.
pub(crate) async fn run(
    shell: Arc<Shell>,
    command: &str,
    cwd: PathBuf,
    limit: Duration,
    cx: &ToolContext<'_>,
) -> Result<Foreground, Refusal> {
    let sink = Arc::new(Mutex::new(Sink {
        shown: cx
            .services
            .on_output(cx.tool_use_id)
            .map(|tell| (MaskedBytes::new(cx.redactor.clone()), tell)),
        so_far: Vec::new(),
        log: None,
    }));
    // Its own token: a command in the background outlives the turn.
    let stop = CancellationToken::new();
    let mut job = job(shell, cwd, cx, Arc::clone(&sink), stop.clone());
    let started = |error: SpawnError| Refusal::Internal(error.to_string());
    let ending = tokio::select! {
        biased;
        done = &mut job => return Ok(Foreground::Ended(done.map_err(started)?)),
        () = cx.cancel.cancelled() => Ending::Interrupted,
        () = sleep(limit) => Ending::TimedOut,
        () = cx.services.asked_into_background() => {
            return detach(command, job, sink, &stop, cx).map(|output| Foreground::Moved(Box::new(output)));
        }
    };
    stop.cancel();
    let outcome = job.await.map_err(started)?;
    Ok(Foreground::Ended(ChildOutcome { ending, ..outcome }))
}

fn job(
    shell: Arc<Shell>,
    cwd: PathBuf,
    cx: &ToolContext<'_>,
    sink: Arc<Mutex<Sink>>,
    stop: CancellationToken,
) -> Job {
    let (marker, confined) = (marker(cx.tool_use_id), cx.confined.cloned());
    Box::pin(async move {
        let on_output = move |piece: &[u8]| {
            sink.lock().unwrap_or_else(PoisonError::into_inner).take(piece);
        };
        let spec = ChildSpec {
            program: &shell.program,
            args: shell.args.clone(),
            cwd: &cwd,
            env: shell.env.clone(),
            inherits: ona_sandbox::Inherits::AllButCredentials,
            confined: confined.as_deref(),
            marker: Some(marker),
            stdin: Vec::new(),
            // The limit is the caller's: it does not hold in the background.
            timeout: Duration::from_secs(100 * 365 * 86_400),
            cap: STREAM_CAP,
        };
        ona_sandbox::run_observed(spec, &stop, &on_output).await
    })
}

/// Lets a running command go on in the background, as a task.
fn detach(
    command: &str,
    job: Job,
    sink: Arc<Mutex<Sink>>,
    stop: &CancellationToken,
    cx: &ToolContext<'_>,
) -> Result<ToolOutput, Refusal> {
    let id = TaskId::of_call(cx.tool_use_id);
    let failed = |what: &str, error: &dyn std::fmt::Display| {
        stop.cancel();
        Refusal::Internal(format!(
            "the command could not be moved into the background: {what}: {error}"
        ))
    };
    let (output_path, file) = cx
        .host
        .new_output(cx.session, &format!("{id}.log"))
        .map_err(|error| failed("the file for its output", &error))?;
    let task = TaskStarted {
        id: id.clone(),
        kind: TaskKind::Shell,
        command: command.to_owned(),
        output_path: output_path.clone(),
    };
    let ended = cx
        .services
        .keep_running(cx.tool_use_id, &task, stop.clone())
        .map_err(|error| failed("its record", &error))?;
    {
        let mut sink = sink.lock().unwrap_or_else(PoisonError::into_inner);
        let masked = MaskedBytes::new(cx.redactor.clone());
        let mut log = Log { file, masked, room: cx.settings.background_output_limit };
        let so_far = std::mem::take(&mut sink.so_far);
        log.write(&so_far);
        sink.log = Some(log);
        sink.shown = None;
    }
    tokio::spawn(async move {
        let outcome = job.await;
        if let Some(log) = sink.lock().unwrap_or_else(PoisonError::into_inner).log.take() {
            log.end();
        }
        let (exit_code, reason) = match outcome.map(|outcome| outcome.ending) {
            Ok(Ending::Exited(code)) => (Some(code), "exited"),
            Ok(Ending::Signalled(_) | Ending::Interrupted) => (None, "stopped"),
            Ok(Ending::TimedOut) | Err(_) => (None, "failed"),
        };
        ended(TaskEnd { exit_code, reason: reason.to_owned() });
    });
    let content = format!(
        "The user moved this command into the background; it still runs as task {id}.\nIts output goes to {}",
        output_path.display()
    );
    let mut output = ToolOutput::success(content).with_detail("task_id", id.as_str());
    output.task = Some(task);
    Ok(output)
}
