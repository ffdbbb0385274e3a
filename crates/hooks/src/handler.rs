//! Running one hook under the spawn contract of S0 §5.11.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ona_policy::secrets::Redactor;
use ona_sandbox::{Captured, ChildOutcome, ChildSpec, Ending, Inherits, Marker};
use ona_types::ToolUseId;
use tokio_util::sync::CancellationToken;

use crate::config::Shell;
use crate::plane::HookHost;

/// S0 §5.11: how much of each stream is kept.
pub(crate) const STREAM_CAP: usize = 4_194_304;
/// What a stream ends in when more came.
const TRUNCATED: &str = "\n[SDLC_OUTPUT_TRUNCATED]\n";

/// The result of a hook.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ran {
    /// `None` if it never ran, was killed or is not a command.
    pub(crate) exit_code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) timed_out: bool,
    /// The user did not wait for it.
    pub(crate) interrupted: bool,
    /// The stream was longer than the limit.
    pub(crate) stdout_cut: bool,
    pub(crate) stderr_cut: bool,
    /// What to do about it if it failed.
    pub(crate) hint: &'static str,
}

impl Ran {
    pub(crate) fn failed(why: impl Into<String>) -> Self {
        Self { stderr: why.into(), ..Self::default() }
    }

    pub(crate) fn interrupted() -> Self {
        Self { interrupted: true, ..Self::failed("[interrupted by the user]") }
    }

    pub(crate) fn hint(self, hint: &'static str) -> Self {
        Self { hint, ..self }
    }

    /// Adds a note of ona's after the hook's own output.
    pub(crate) fn note(&mut self, note: &str) {
        self.stderr.push_str(&format!("[{note}]"));
    }
}

/// A command hook about to run.
pub(crate) struct CommandRun<'a> {
    pub(crate) command: &'a str,
    pub(crate) shell: Shell,
    pub(crate) input: &'a str,
    pub(crate) cwd: &'a Path,
    pub(crate) limit: Duration,
    pub(crate) marker: Marker,
    /// The tool call it is about.
    pub(crate) call: Option<&'a ToolUseId>,
    /// Variables of its own.
    pub(crate) env: &'a [(OsString, OsString)],
}

/// Runs a command hook.
pub(crate) async fn run_command(
    run: CommandRun<'_>,
    host: &HookHost,
    cancel: &CancellationToken,
) -> Ran {
    let CommandRun { command, shell, input, cwd, limit, marker, call, env } = run;
    // A call may have removed the session's directory: its guards run all the same, as Bash does.
    let cwd = if cwd.is_dir() { cwd } else { host.project_dir.as_path() };
    if !cwd.is_dir() {
        return Ran::failed(format!("the directory {} does not exist", cwd.display()))
            .hint("create it, or start from another directory");
    }
    let mut last = String::from("no shell was found");
    for (program, args) in candidates(shell, command) {
        let spec = ChildSpec {
            program: &program,
            args,
            cwd,
            env: environment(host, call, env),
            // S0 §5.11: the whole environment, unless the operator confines them.
            inherits: match host.confined {
                None => Inherits::Everything,
                Some(_) => Inherits::AllButCredentials,
            },
            confined: host.confined.as_deref(),
            marker: Some(marker.clone()),
            stdin: format!("{input}\n").into_bytes(),
            timeout: limit,
            cap: STREAM_CAP,
        };
        match ona_sandbox::run(spec, cancel).await {
            Ok(outcome) => return ran(&outcome, limit, &host.redactor),
            Err(error) => last = error.to_string(),
        }
    }
    Ran::failed(last).hint("install its `shell`, or choose another")
}

/// The hint for a hook that exited with a code that has no meaning.
pub(crate) const DECIDES_NOTHING: &str = "it decides nothing: to block, a hook exits 2";

fn ran(outcome: &ChildOutcome, limit: Duration, redactor: &Redactor) -> Ran {
    let mut ran = Ran {
        stdout: decoded(&outcome.stdout, redactor),
        stderr: decoded(&outcome.stderr, redactor),
        stdout_cut: outcome.stdout.truncated,
        stderr_cut: outcome.stderr.truncated,
        ..Ran::default()
    };
    match outcome.ending {
        Ending::Exited(code) => {
            ran.exit_code = Some(code);
            // What the shell says when it cannot run the command.
            ran.hint = match code {
                127 => "its command was not found: check its path and PATH",
                126 => "its command is not executable: `chmod +x` it",
                _ => DECIDES_NOTHING,
            };
        }
        Ending::Signalled(signal) => ran.note(&format!("killed by signal {signal}")),
        Ending::TimedOut => {
            ran.timed_out = true;
            ran.note(&format!("timed out after {} ms", limit.as_millis()));
            ran.hint = "give it a longer `timeout`";
        }
        Ending::Interrupted => {
            ran.interrupted = true;
            ran.note("interrupted by the user");
        }
    }
    ran
}

/// The programs to try, in the order S0 gives.
fn candidates(shell: Shell, command: &str) -> Vec<(PathBuf, Vec<OsString>)> {
    let with = |flags: &[&str]| -> Vec<OsString> {
        flags.iter().map(OsString::from).chain([command.into()]).collect()
    };
    let (programs, args): (&[&str], _) = match shell {
        Shell::Bash => (&["/bin/bash", "/usr/bin/bash", "bash"], with(&["-lc"])),
        Shell::Sh => (&["/bin/sh", "/usr/bin/sh", "sh"], with(&["-c"])),
        Shell::PowerShell => {
            (&["pwsh", "powershell"], with(&["-NoProfile", "-NonInteractive", "-Command"]))
        }
    };
    programs.iter().map(|program| (PathBuf::from(program), args.clone())).collect()
}

fn environment(
    host: &HookHost,
    call: Option<&ToolUseId>,
    own: &[(OsString, OsString)],
) -> Vec<(OsString, OsString)> {
    let mut env = host.child_env.clone();
    env.extend_from_slice(own);
    env.extend(call.map(|id| Marker::of_call(id).variable()));
    env.push(("SDLC_HOOK".into(), "1".into()));
    env.push(("CLAUDE_PROJECT_DIR".into(), host.project_dir.clone().into()));
    if !host.has_locale {
        env.push(("LANG".into(), "C.UTF-8".into()));
    }
    env
}

fn decoded(stream: &Captured, redactor: &Redactor) -> String {
    let text = String::from_utf8_lossy(&stream.bytes);
    match stream.truncated {
        true => redactor.cut_after(&text) + TRUNCATED,
        false => text.into_owned(),
    }
}
