//! Running one hook under the spawn contract of S0 §5.11.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ona_sandbox::{Captured, ChildSpec, Ending, Marker};
use tokio_util::sync::CancellationToken;

use crate::config::Shell;
use crate::plane::HookHost;

/// S0 §5.11: how much of each stream is kept.
pub(crate) const STREAM_CAP: usize = 4_194_304;
/// What a stream ends in when more came.
const TRUNCATED: &str = "\n[SDLC_OUTPUT_TRUNCATED]\n";

/// What came of a hook.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ran {
    /// Nothing if it never ran, was killed or is no command.
    pub(crate) exit_code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) timed_out: bool,
}

impl Ran {
    pub(crate) fn failed(why: impl Into<String>) -> Self {
        Self { stderr: why.into(), ..Self::default() }
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
}

/// Runs a command hook.
pub(crate) async fn run_command(
    run: CommandRun<'_>,
    host: &HookHost,
    cancel: &CancellationToken,
) -> Ran {
    let CommandRun { command, shell, input, cwd, limit, marker } = run;
    // Not spawned: it would run somewhere it was not meant for.
    if !cwd.is_dir() {
        return Ran::failed(format!("the directory {} does not exist", cwd.display()));
    }
    let mut last = String::from("no shell was found");
    for (program, args) in candidates(shell, command) {
        let spec = ChildSpec {
            program: &program,
            args,
            cwd,
            env: environment(host),
            marker: Some(marker.clone()),
            stdin: format!("{input}\n").into_bytes(),
            timeout: limit,
            cap: STREAM_CAP,
        };
        match ona_sandbox::run(spec, cancel).await {
            Ok(outcome) => {
                let (exit_code, note) = match outcome.ending {
                    Ending::Exited(code) => (Some(code), None),
                    Ending::Signalled(signal) => (None, Some(format!("killed by signal {signal}"))),
                    Ending::TimedOut => {
                        (None, Some(format!("timed out after {} ms", limit.as_millis())))
                    }
                    Ending::Interrupted => (None, Some("interrupted by the user".to_owned())),
                };
                let mut stderr = decoded(&outcome.stderr);
                if let Some(note) = note {
                    stderr.push_str(&format!("[{note}]"));
                }
                return Ran {
                    exit_code,
                    stdout: decoded(&outcome.stdout),
                    stderr,
                    timed_out: outcome.ending == Ending::TimedOut,
                };
            }
            Err(error) => last = error.to_string(),
        }
    }
    Ran::failed(last)
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

fn environment(host: &HookHost) -> Vec<(OsString, OsString)> {
    let mut env = host.child_env.clone();
    env.push(("SDLC_HOOK".into(), "1".into()));
    env.push(("CLAUDE_PROJECT_DIR".into(), host.project_dir.clone().into()));
    if !host.has_locale {
        env.push(("LANG".into(), "C.UTF-8".into()));
    }
    env
}

fn decoded(stream: &Captured) -> String {
    let mut text = String::from_utf8_lossy(&stream.bytes).into_owned();
    if stream.truncated {
        text.push_str(TRUNCATED);
    }
    text
}
