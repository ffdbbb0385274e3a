//! Background tasks: commands that keep running after their call has returned.
//!
//! The command runs under a supervisor, which is this program started again: it keeps the output within its limit, sees
//! how the command ends, and ends it when the process that started it has ended, unless it is to stay.

use std::cell::RefCell;
use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::PathBuf;

use ona_policy::secrets::{MaskedBytes, Redactor};
use ona_sandbox::confine::{Confined, Refused};
use ona_sandbox::{Marker, Owner, Supervised, SupervisedEnd};
use ona_types::{
    SessionId, TRUNCATED_SUFFIX, TaskId, TaskKind, TaskStarted, ToolOutput, ToolUseId,
};
use serde::{Deserialize, Serialize};

use crate::bash::{bash, safe_git, start_dir};
use crate::context::ToolContext;
use crate::tool::Refusal;

/// The hidden command by which the program becomes a supervisor.
pub const TASK_HOST: &str = "task-host";

/// What a supervisor is told, on its standard input.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskSpec {
    /// The task.
    pub id: TaskId,
    /// The session it belongs to.
    pub session: SessionId,
    /// The call that started it.
    pub call: ToolUseId,
    /// What to run.
    pub command: String,
    /// Where to run it.
    pub cwd: PathBuf,
    /// Sourced first.
    pub env_file: Option<PathBuf>,
    /// What stands before git in it, if anything.
    #[serde(default)]
    pub safe_git: String,
    /// What it may touch; everything if `None`.
    #[serde(default)]
    pub confined: Option<Confined>,
    /// Where its output goes.
    pub output_path: PathBuf,
    /// When it has printed more than this it is killed.
    pub output_limit: u64,
    /// What its output must not show.
    pub secrets: Secrets,
    /// The process with which it ends, if it does not stay.
    pub ends_with: Option<Owner>,
}

impl TaskSpec {
    /// Masks what its output must not show.
    pub fn redactor(&self) -> Redactor {
        Redactor::knowing(self.secrets.0.iter().cloned())
    }
}

/// Live secrets, on their way to a supervisor.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Secrets(Vec<String>);

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} secrets", self.0.len())
    }
}

impl TaskSpec {
    /// The task as the record knows it.
    pub fn started(&self) -> TaskStarted {
        TaskStarted {
            id: self.id.clone(),
            kind: TaskKind::Shell,
            command: self.command.clone(),
            output_path: self.output_path.clone(),
        }
    }
}

/// Starts a command in the background, under the permit of its call (`cx.permit`).
pub(crate) fn start(command: &str, cx: &ToolContext<'_>) -> Result<ToolOutput, Refusal> {
    if let Some(why) = cx.settings.no_background {
        return Err(Refusal::rejected(format!(
            "background tasks are not available: {why}. Run the command in the foreground"
        )));
    }
    let failed = |what: &str, error: &dyn std::fmt::Display| {
        Refusal::Internal(format!("the background task could not be started: {what}: {error}"))
    };
    let (cwd, _) = start_dir(cx);
    let id = TaskId::of_call(cx.tool_use_id);
    let (output_path, _) = cx
        .host
        .new_output(cx.session, &format!("{id}.log"))
        .map_err(|error| failed("the file for its output", &error))?;
    let spec = TaskSpec {
        id,
        session: cx.session.clone(),
        call: cx.tool_use_id.clone(),
        command: command.to_owned(),
        safe_git: safe_git(command, cx.place),
        cwd,
        env_file: cx.settings.bash_env_file.clone(),
        confined: cx.confined.map(|confined| Confined::clone(confined)),
        output_path,
        output_limit: cx.settings.background_output_limit,
        secrets: Secrets(cx.redactor.live_values()),
        ends_with: (!cx.settings.background_stays).then(Owner::current),
    };
    let message = serde_json::to_vec(&spec).map_err(|error| failed("its description", &error))?;
    let args = [OsString::from(TASK_HOST)];
    ona_sandbox::start_detached(&cx.host.program, &args, &spec.cwd, &cx.host.child_env, &message)
        .map_err(|error| failed("its supervisor", &error))?;
    let mut output = ToolOutput::success(format!(
        "Started background task {} ({command})\nIts output goes to {}",
        spec.id,
        spec.output_path.display()
    ))
    .with_detail("task_id", spec.id.as_str());
    output.task = Some(spec.started());
    Ok(output)
}

/// The environment variable by which all processes of a task are found.
pub fn task_marker(id: &TaskId) -> Marker {
    Marker { name: "ONA_TASK_ID", value: id.to_string() }
}

/// Runs a task to its end, in the supervisor. It is ended at once if it is no longer `wanted` after its start.
pub fn run_task(
    spec: &TaskSpec,
    wanted: &dyn Fn() -> bool,
) -> io::Result<(SupervisedEnd, Vec<Refused>)> {
    let mut env: Vec<(OsString, OsString)> = vec![("CDPATH".into(), OsString::new())];
    if let Some(file) = spec.env_file.as_ref().filter(|file| file.is_file()) {
        env.push(("BASH_ENV".into(), file.into()));
    }
    let masked = RefCell::new(MaskedBytes::new(spec.redactor()));
    let filter = |piece: Option<&[u8]>| match piece {
        Some(piece) => masked.borrow_mut().pass(piece),
        None => masked.borrow_mut().end(),
    };
    let args = match spec.safe_git.as_str() {
        "" => vec!["-c".into(), spec.command.clone().into()],
        function => {
            let script = format!("{function}eval \"shift; $1\"");
            vec!["-c".into(), script.into(), "bash".into(), spec.command.clone().into()]
        }
    };
    ona_sandbox::supervise(&Supervised {
        filter: &filter,
        program: &bash(),
        args,
        cwd: &spec.cwd,
        env,
        confined: spec.confined.as_ref(),
        marker: &task_marker(&spec.id),
        log: &spec.output_path,
        limit: spec.output_limit,
        ends_with: spec.ends_with.as_ref(),
        truncated: TRUNCATED_SUFFIX,
        wanted,
    })
}
