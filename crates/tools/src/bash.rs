//! Bash: one command line in one new shell.
//!
//! The shell's directory carries over to the next call; its variables do not. Both streams are kept
//! apart and joined as S0 §7.1 writes it.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ona_effects::{Effects, Start, Surroundings, git_only_reads, shell};
use ona_mcp::Hints;
use ona_policy::RuleSubject;
use ona_policy::secrets::Redactor;
use ona_repo::Disk;
use ona_sandbox::confine::refusal_note;
use ona_sandbox::{Captured, ChildOutcome, Ending, Marker};
use ona_types::{SandboxLevel, TRUNCATED_SUFFIX, TaskId, ToolKind, ToolOutput, ToolUseId};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::background;
use crate::context::{Place, ToolContext};
use crate::facts::{Facts, TaskChange};
use crate::foreground::{self, Foreground};
use crate::input::{InputError, lenient_bool, lenient_count};
use crate::look::Look;
use crate::services::{ServiceError, SessionServices};
use crate::tool::{BuiltIn, Refusal};

/// S0 §7.1: how much of each stream the model sees.
pub(crate) const STREAM_CAP: usize = 1_048_576;

/// The kernel takes no argument longer than 128 KiB; a longer command goes through a file.
const MAX_ARGUMENT: usize = 100_000;

pub(crate) struct Bash;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[allow(non_snake_case, reason = "the key is written so")]
pub(crate) struct BashInput {
    /// The command line to run.
    pub(crate) command: String,
    /// How long it may run, in milliseconds.
    #[serde(default, deserialize_with = "lenient_count")]
    timeout: Option<u64>,
    /// What it is for, in a few words.
    #[allow(dead_code, reason = "for whoever reads the transcript")]
    description: Option<String>,
    /// Return at once and keep it running in the background; its output goes to a file.
    #[serde(default, deserialize_with = "lenient_bool")]
    run_in_background: Option<bool>,
    /// Run outside the sandbox, where one is active and the settings allow it.
    #[serde(default, deserialize_with = "lenient_bool")]
    dangerouslyDisableSandbox: Option<bool>,
}

impl BuiltIn for Bash {
    const NAME: &'static str = "Bash";
    const DESCRIPTION: &'static str = "Runs a command line in bash. The working directory carries over \
        to the next call, variables do not. The result is standard output, then standard error behind a \
        line `--- stderr ---`; an exit code other than 0 makes it an error. Default timeout 120000 ms, at \
        most 600000. Set run_in_background for servers and long builds.";
    const FACTS: Facts = Facts {
        kind: ToolKind::Command,
        rules: RuleSubject::Command,
        denied_in_planning: true,
        ..Facts::plain(Hints::ANYTHING)
    };
    type Input = BashInput;

    fn effects(input: &BashInput, place: &Place) -> Result<Effects, InputError> {
        if input.command.trim().is_empty() {
            return Err(InputError::new(Self::NAME, "`command` is empty"));
        }
        if input.command.contains('\0') {
            return Err(InputError::new(Self::NAME, "`command` contains a NUL byte"));
        }
        if input.timeout == Some(0) {
            return Err(InputError::new(
                Self::NAME,
                "`timeout` is 0: leave it out for the default",
            ));
        }
        let start = Start { cwd: &place.cwd, home: place.home.as_deref() };
        Effects::of_shell(&Disk, &input.command, start)
            .map_err(|error| InputError::path(Self::NAME, "command", &error))
    }

    fn command(input: &BashInput) -> Option<String> {
        Some(input.command.clone())
    }

    fn leaves_sandbox(input: &BashInput) -> bool {
        input.dangerouslyDisableSandbox == Some(true)
    }

    fn runs_in_background(input: &BashInput) -> bool {
        input.run_in_background == Some(true)
    }

    fn task_changes(
        input: BashInput,
        call: &ToolUseId,
        _: &dyn SessionServices,
    ) -> Result<Vec<TaskChange>, ServiceError> {
        if !Self::runs_in_background(&input) {
            return Ok(Vec::new());
        }
        Ok(vec![TaskChange::started(&TaskId::of_call(call), input.command)])
    }

    async fn run(input: BashInput, cx: &ToolContext<'_>) -> Result<ToolOutput, Refusal> {
        if input.run_in_background == Some(true) {
            return background::start(&input.command, cx);
        }
        let (cwd, mut notes) = start_dir(cx);
        let limit = input.timeout.map_or(cx.settings.bash_timeout, Duration::from_millis);
        let limit = limit.min(cx.settings.bash_max_timeout);
        let shell = Shell::prepare(&input.command, cx).map_err(|error| {
            Refusal::Internal(format!("the shell's own files cannot be written: {error}"))
        })?;
        let shell = Arc::new(shell);
        let look = Look::before(&input.command, &cwd);
        let run = foreground::run(Arc::clone(&shell), &input.command, cwd, limit, cx);
        let outcome = match run.await? {
            Foreground::Ended(outcome) => outcome,
            Foreground::Moved(output) => return Ok(*output),
        };
        let (left_in, note) = shell.left_in(&input.command, cx);
        notes.extend(note);
        notes.extend(refusal_note(&outcome.refused));
        let mut output = report(&outcome, limit, &notes, cx.redactor);
        output.cwd = left_in;
        if !outcome.refused.is_empty() {
            output = output.with_detail(SANDBOX_REFUSED, json!(outcome.refused));
        }
        if !output.is_error()
            && let Some(view) = look.and_then(|look| look.after(&outcome.stdout))
        {
            output.views.push(view);
        }
        Ok(output)
    }
}

/// The key of what the sandbox refused a command, in the detail of its result.
pub const SANDBOX_REFUSED: &str = "sandbox_refused";

/// The environment variable by which all processes of a call are found.
pub fn marker(id: &ToolUseId) -> Marker {
    Marker::of_call(id)
}

/// The directory to start in, and a note if the session's last directory cannot be used.
pub(crate) fn start_dir(cx: &ToolContext<'_>) -> (PathBuf, Vec<String>) {
    let project = &cx.place.project_dir;
    if cx.settings.bash_keep_project_dir {
        return (project.clone(), Vec::new());
    }
    if cx.place.cwd.is_dir() {
        return (cx.place.cwd.clone(), Vec::new());
    }
    let gone = cx.place.cwd.display();
    (project.clone(), vec![format!("{gone} no longer exists: started in {}", project.display())])
}

/// A shell to start, with the helper files it reads and writes.
pub(crate) struct Shell {
    pub(crate) program: PathBuf,
    pub(crate) args: Vec<OsString>,
    pub(crate) env: Vec<(OsString, OsString)>,
    scratch: tempfile::TempDir,
}

impl Shell {
    /// The command itself is passed unchanged. Our own setup is in a file that bash
    /// reads first (`BASH_ENV`), so that error messages and line numbers stay the command's own.
    fn prepare(command: &str, cx: &ToolContext<'_>) -> io::Result<Self> {
        let private = std::os::unix::fs::PermissionsExt::from_mode(0o700);
        // Where a confined command can see it.
        let within = match cx.confined {
            Some(confined) if confined.level != SandboxLevel::None => {
                confined.confinement.temporary.clone()
            }
            _ => std::env::temp_dir(),
        };
        let scratch = tempfile::Builder::new()
            .prefix("ona-shell-")
            .permissions(private)
            .tempdir_in(within)?;
        let prelude = scratch.path().join("prelude");
        // In a group with its own stderr, so that neither `set -x` nor a vanished directory shows; and
        // it may not fail, which under `set -e` would become the command's own failure.
        let exit = format!(
            "{{ builtin pwd -P > {} || :; }} 2> /dev/null",
            quote(scratch.path().join("cwd"))
        );
        let source = |file: &Path| format!("[ -f {0} ] && . {0}\n", quote(file));
        let settings = cx.settings;
        let own = match &settings.inherited_bash_env {
            Some(file) => format!("export BASH_ENV={}\n{}", quote(file), source(file)),
            None => "unset BASH_ENV\n".to_owned(),
        };
        let env_file = settings.bash_env_file.as_deref().map(source).unwrap_or_default();
        let git = safe_git(command, cx.place);
        // The judgement knows nothing of a CDPATH: `cd` leads where it says.
        let setup = format!("{own}{env_file}unset CDPATH\n{git}trap -- {} EXIT\n", quote(&exit));
        fs::write(&prelude, setup)?;
        let args = if command.len() > MAX_ARGUMENT {
            let script = scratch.path().join("command");
            fs::write(&script, command)?;
            vec!["-c".into(), ". \"$1\"".into(), "bash".into(), script.into()]
        } else {
            vec!["-c".into(), command.into()]
        };
        let mut env = cx.host.child_env.clone();
        env.push(("BASH_ENV".into(), prelude.into()));
        Ok(Self { program: bash(), args, env, scratch })
    }

    /// The directory the shell ended in, if it changed and the next command may start there, and a note for the model.
    fn left_in(&self, command: &str, cx: &ToolContext<'_>) -> (Option<PathBuf>, Option<String>) {
        if cx.settings.bash_keep_project_dir {
            return (None, None);
        }
        let Ok(told) = ona_files::content_text(self.scratch.path().join("cwd")) else {
            // The command's own trap, or `exec`, replaced ours.
            let cwd = cx.place.cwd.display();
            let note =
                moves(command).then(|| format!("Shell cwd could not be followed: it stays {cwd}"));
            return (None, note);
        };
        // The file is empty if the directory has vanished.
        let dir = told.strip_suffix('\n').map(PathBuf::from);
        match dir.filter(|dir| dir.is_dir() && *dir != cx.place.cwd) {
            Some(dir) if !cx.place.contains(&dir) => {
                let project = cx.place.project_dir.clone();
                let note = format!("Shell cwd was reset to {}", project.display());
                (Some(project), Some(note))
            }
            dir => (dir, None),
        }
    }
}

/// Whether a command line changes directory.
fn moves(command: &str) -> bool {
    let changes = |name: Option<&str>| matches!(name, Some("cd" | "pushd" | "popd"));
    shell::parse(command).commands.iter().any(|command| changes(command.name()))
}

/// What stands before git in a command line where it only reads: a repository that changed since it was judged still
/// runs nothing. Empty for other command lines, so that a commit has its hooks.
pub(crate) fn safe_git(command: &str, place: &Place) -> String {
    if !command.contains("git") {
        return String::new();
    }
    let start = Start { cwd: &place.cwd, home: place.home.as_deref() };
    let Ok(effects) = Effects::of_shell(&Disk, command, start) else { return String::new() };
    let mut working_dirs = vec![place.project_dir.clone()];
    working_dirs.extend(place.additional_dirs.iter().cloned());
    let around = Surroundings {
        cwd: place.cwd.clone(),
        project_dir: place.project_dir.clone(),
        home: "/".into(),
        working_dirs,
        outputs: None,
        protected: Vec::new(),
        stores: Vec::new(),
        world: &Disk,
    };
    match git_only_reads(&effects, &around) {
        true => ona_repo::git::shell_function(),
        false => String::new(),
    }
}

/// S0 §5.11's order of places.
pub(crate) fn bash() -> PathBuf {
    let known = ["/bin/bash", "/usr/bin/bash"].map(Path::new);
    known.into_iter().find(|path| path.exists()).unwrap_or(Path::new("bash")).to_owned()
}

/// In single quotes, for the shell.
fn quote(text: impl AsRef<std::ffi::OsStr>) -> String {
    format!("'{}'", text.as_ref().to_string_lossy().replace('\'', r"'\''"))
}

/// What the model sees (S0 §7.1).
fn report(
    outcome: &ChildOutcome,
    limit: Duration,
    notes: &[String],
    redactor: &Redactor,
) -> ToolOutput {
    let text = joined(outcome, notes, redactor);
    let or_else = |what: String| if text.is_empty() { what } else { text.clone() };
    match outcome.ending {
        Ending::Exited(0) => ToolOutput::success(text).with_detail("exit_code", 0),
        Ending::Exited(code) => ToolOutput::rejected(or_else(format!("[exit code {code}]")))
            .with_detail("exit_code", code),
        Ending::Signalled(signal) => {
            ToolOutput::rejected(or_else(format!("[killed by signal {signal}]")))
                .with_detail("signal", signal)
        }
        Ending::TimedOut => ToolOutput::internal(format!(
            "the command ran longer than {} ms and was killed with everything it had started\n{text}",
            limit.as_millis()
        ))
        .with_detail("timed_out", true),
        Ending::Interrupted => {
            ToolOutput::internal(format!("interrupted; the command was killed\n{text}"))
                .with_detail("interrupted", true)
        }
    }
}

fn joined(outcome: &ChildOutcome, notes: &[String], redactor: &Redactor) -> String {
    let mut stderr = decoded(&outcome.stderr, redactor);
    for note in notes {
        if !stderr.is_empty() && !stderr.ends_with('\n') {
            stderr.push('\n');
        }
        stderr.push_str(note);
        stderr.push('\n');
    }
    let mut text = decoded(&outcome.stdout, redactor);
    if !stderr.is_empty() {
        text.push_str("\n--- stderr ---\n");
        text.push_str(&stderr);
    }
    text
}

/// UTF-8 with replacement; a character or a secret that the cap cut in two is left out.
fn decoded(stream: &Captured, redactor: &Redactor) -> String {
    let mut bytes = stream.bytes.as_slice();
    if stream.truncated
        && let Some(chunk) = bytes.utf8_chunks().last()
        && !chunk.invalid().is_empty()
        && chunk.invalid().len() < 4
    {
        bytes = &bytes[..bytes.len() - chunk.invalid().len()];
    }
    let text = String::from_utf8_lossy(bytes);
    match stream.truncated {
        true => redactor.cut_after(&text) + TRUNCATED_SUFFIX,
        false => text.into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn captured(bytes: &[u8], truncated: bool) -> Captured {
        Captured { bytes: bytes.to_vec(), truncated }
    }

    #[test]
    fn streams_are_joined_to_the_letter() {
        let plain = Redactor::default();
        let outcome = |out: &str, err: &str| ChildOutcome {
            ending: Ending::Exited(0),
            stdout: captured(out.as_bytes(), false),
            stderr: captured(err.as_bytes(), false),
            refused: Vec::new(),
        };
        assert_eq!(joined(&outcome("out\n", ""), &[], &plain), "out\n");
        assert_eq!(joined(&outcome("out\n", "err\n"), &[], &plain), "out\n\n--- stderr ---\nerr\n");
        assert_eq!(joined(&outcome("", "err"), &[], &plain), "\n--- stderr ---\nerr");
        assert_eq!(
            joined(&outcome("", "err"), &["note".into()], &plain),
            "\n--- stderr ---\nerr\nnote\n"
        );
    }

    #[test]
    fn truncation_cuts_no_character_and_no_secret_in_two() {
        let plain = Redactor::default();
        let redactor = Redactor::knowing(["the-live-secret".to_owned()]);
        assert_eq!(decoded(&captured(b"a the-live", true), &redactor), "a [SDLC_TRUNCATED]");
        assert_eq!(decoded(&captured(b"a the-live", false), &redactor), "a the-live");
        assert_eq!(decoded(&captured("aü".as_bytes(), false), &plain), "aü");
        assert_eq!(decoded(&captured(&"aü".as_bytes()[..2], true), &plain), "a[SDLC_TRUNCATED]");
        assert_eq!(decoded(&captured(b"a\xff", false), &plain), "a\u{fffd}");
    }

    #[test]
    fn quoting() {
        assert_eq!(quote("a b"), "'a b'");
        assert_eq!(quote("a'b"), r"'a'\''b'");
    }
}
