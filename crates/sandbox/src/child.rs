//! Running one child process: start it, feed and read its streams, wait for it, and kill it if necessary.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::process::Stdio;
use std::time::Duration;

use crate::handover::handed_over;
use nix::sys::signal::Signal;
use ona_types::{CREDENTIAL_HANDOVER, CREDENTIAL_VARIABLES};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, Command};
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

use crate::confine::{Confined, Held, Refused};
use crate::kill::{Known, Marker, TERM_GRACE, kill_tree, signal_group};
use crate::own_session::own_session;

/// How long a stream is still read after the child has ended: a process it left behind may keep the pipe
/// open forever.
const PIPE_GRACE: Duration = Duration::from_millis(100);

/// A program to run.
#[derive(Clone, Debug)]
pub struct ChildSpec<'a> {
    /// The program.
    pub program: &'a Path,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// Where it starts.
    pub cwd: &'a Path,
    /// Variables on top of the inherited environment.
    pub env: Vec<(OsString, OsString)>,
    /// What it inherits of ona's environment.
    pub inherits: Inherits,
    /// What it may touch; everything if `None`.
    pub confined: Option<&'a Confined>,
    /// A marker in its environment, by which everything it starts can be found.
    pub marker: Option<Marker>,
    /// What it reads; nothing means an empty stream.
    pub stdin: Vec<u8>,
    /// How long it may run.
    pub timeout: Duration,
    /// How many bytes of each stream are kept.
    pub cap: usize,
}

/// What was kept of a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Captured {
    /// The first bytes, up to the cap.
    pub bytes: Vec<u8>,
    /// Whether more came.
    pub truncated: bool,
}

/// What a child inherits of ona's environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inherits {
    /// All of it, with the credentials that ona keeps out of it.
    Everything,
    /// All of it but ona's own credentials.
    AllButCredentials,
    /// These variables.
    Only(&'static [&'static str]),
}

/// How a child ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// By itself, with this code.
    Exited(i32),
    /// By this signal, which ona did not send.
    Signalled(i32),
    /// Killed: its time was up.
    TimedOut,
    /// Killed: the user interrupted.
    Interrupted,
}

/// The result of a child process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChildOutcome {
    /// How it ended.
    pub ending: Ending,
    /// Its standard output.
    pub stdout: Captured,
    /// Its standard error.
    pub stderr: Captured,
    /// What its confinement refused it.
    pub refused: Vec<Refused>,
}

/// A child that could not be started.
#[derive(Debug, thiserror::Error)]
#[error("cannot start {} in {}: {source}", program.display(), cwd.display())]
pub struct SpawnError {
    program: PathBuf,
    cwd: PathBuf,
    source: io::Error,
}

/// Is told of every piece of output of either stream, as it comes.
pub type OnOutput<'a> = &'a (dyn Fn(&[u8]) + Send + Sync);

/// Runs a program to its end, or ends it.
pub async fn run(
    spec: ChildSpec<'_>,
    cancel: &CancellationToken,
) -> Result<ChildOutcome, SpawnError> {
    run_observed(spec, cancel, &|_| ()).await
}

/// The same, with somebody who looks at the output while it runs.
pub async fn run_observed(
    spec: ChildSpec<'_>,
    cancel: &CancellationToken,
    on_output: OnOutput<'_>,
) -> Result<ChildOutcome, SpawnError> {
    let spawn_error =
        |source| SpawnError { program: spec.program.to_owned(), cwd: spec.cwd.to_owned(), source };
    let (command, held) = match spec.confined {
        Some(confined) => confined
            .command(spec.program, &spec.args, spec.cwd)
            .map_err(|error| spawn_error(io::Error::other(error)))?,
        None => {
            let mut command = std::process::Command::new(spec.program);
            command.args(&spec.args).current_dir(spec.cwd);
            (command, Held::default())
        }
    };
    let mut command = Command::from(command);
    match spec.inherits {
        Inherits::Everything => {
            command
                .env_remove(CREDENTIAL_HANDOVER)
                .envs(handed_over())
                .envs(spec.env.iter().cloned());
        }
        Inherits::AllButCredentials => without_credentials(command.as_std_mut(), &spec.env),
        Inherits::Only(names) => {
            let kept = names.iter().filter_map(|name| Some((*name, std::env::var_os(name)?)));
            command.env_clear().envs(kept).envs(spec.env.iter().cloned());
        }
    }
    own_session(command.as_std_mut());
    let mut child = command
        .envs(spec.confined.map(Confined::variables).into_iter().flatten())
        .envs(spec.marker.as_ref().map(Marker::variable))
        .stdin(if spec.stdin.is_empty() { Stdio::null() } else { Stdio::piped() })
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .map_err(spawn_error)?;
    // It owns ends of pipes whose other side waits for their end.
    drop(command);

    let leader = child.id();
    let _known = leader.map(Known::child);
    let mut group = Group(leader);
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let feed = async {
        if let Some(mut stdin) = stdin {
            // A child may close its input early; that is not an error.
            let _ = stdin.write_all(&spec.stdin).await;
        }
    };
    let (mut out, mut err) = (Captured::default(), Captured::default());
    let ending = {
        let mut streams = pin!(async {
            tokio::join!(
                capture(stdout, spec.cap, &mut out, on_output),
                capture(stderr, spec.cap, &mut err, on_output),
                feed
            );
        });
        let deadline = Instant::now() + spec.timeout;
        let mut drained = false;
        let ending = loop {
            tokio::select! {
                biased;
                () = &mut streams, if !drained => drained = true,
                status = child.wait() => break ending_of(&status),
                () = cancel.cancelled() => break Ending::Interrupted,
                () = sleep_until(deadline) => break Ending::TimedOut,
            }
        };
        group.0 = None;
        if matches!(ending, Ending::Interrupted | Ending::TimedOut) {
            end_tree(&mut child, leader, spec.marker.as_ref()).await;
        }
        if !drained {
            let _ = timeout(PIPE_GRACE, &mut streams).await;
        }
        ending
    };
    if matches!(ending, Ending::Exited(_)) && !held.has_started() {
        return Err(spawn_error(io::Error::other(NoStart(said(&err)))));
    }
    Ok(ChildOutcome { ending, stdout: out, stderr: err, refused: held.refused() })
}

/// The helper has ended without a start of the command.
#[derive(Debug, thiserror::Error)]
#[error("the sandbox did not start: {0}")]
struct NoStart(String);

/// The first line that a helper has printed.
fn said(stream: &Captured) -> String {
    let text = String::from_utf8_lossy(&stream.bytes);
    let line = text.lines().map(str::trim).find(|line| !line.is_empty());
    line.unwrap_or("it says nothing").to_owned()
}

/// The group of a child that nobody waits for any more if this is dropped: it is killed.
struct Group(Option<u32>);

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(leader) = self.0 {
            signal_group(leader, Signal::SIGKILL);
        }
    }
}

/// Sends SIGTERM to the group, then kills it and everything with the marker.
async fn end_tree(child: &mut Child, leader: Option<u32>, marker: Option<&Marker>) {
    if let Some(leader) = leader {
        signal_group(leader, Signal::SIGTERM);
        let _ = timeout(TERM_GRACE, child.wait()).await;
    }
    kill_tree(leader, marker);
    let _ = child.wait().await;
}

fn ending_of(status: &io::Result<std::process::ExitStatus>) -> Ending {
    use std::os::unix::process::ExitStatusExt;
    match status {
        Ok(status) => match (status.code(), status.signal()) {
            (Some(code), _) => Ending::Exited(code),
            (None, signal) => Ending::Signalled(signal.unwrap_or_default()),
        },
        // Only possible if other code has already waited for the child.
        Err(_) => Ending::Signalled(0),
    }
}

/// Keeps the first `cap` bytes and drains the rest, so that the child never blocks on a full pipe.
async fn capture(
    stream: Option<impl AsyncRead + Unpin>,
    cap: usize,
    kept: &mut Captured,
    on_output: OnOutput<'_>,
) {
    let Some(mut stream) = stream else { return };
    let mut buffer = vec![0; 64 * 1024];
    loop {
        match stream.read(&mut buffer).await {
            Ok(0) => return,
            Ok(count) => {
                on_output(&buffer[..count]);
                let room = cap - kept.bytes.len();
                kept.bytes.extend_from_slice(&buffer[..count.min(room)]);
                kept.truncated |= count > room;
            }
            // A read error ends the stream.
            Err(_) => return,
        }
    }
}

/// Gives a program these variables, and keeps ona's own credentials from it.
pub(crate) fn without_credentials(
    command: &mut std::process::Command,
    env: &[(OsString, OsString)],
) {
    command.envs(env.iter().cloned());
    for name in CREDENTIAL_VARIABLES {
        command.env_remove(name);
    }
}

/// Starts a detached program that outlives this one, and writes its input.
pub fn start_detached(
    program: &Path,
    args: &[OsString],
    cwd: &Path,
    env: &[(OsString, OsString)],
    stdin: &[u8],
) -> Result<(), SpawnError> {
    let spawn_error =
        |source| SpawnError { program: program.to_owned(), cwd: cwd.to_owned(), source };
    let mut command = std::process::Command::new(program);
    without_credentials(&mut command, env);
    let mut child = command
        .args(args)
        .current_dir(cwd)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(spawn_error)?;
    let known = Known::supervisor(child.id());
    if let Some(mut pipe) = child.stdin.take() {
        io::Write::write_all(&mut pipe, stdin).map_err(spawn_error)?;
    }
    // It must be waited for if it ends before this process does.
    std::thread::spawn(move || {
        let _ = child.wait();
        drop(known);
    });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bash(command: &str) -> ChildSpec<'static> {
        ChildSpec {
            program: Path::new("/bin/bash"),
            args: vec!["-c".into(), command.into()],
            cwd: Path::new("/"),
            env: Vec::new(),
            inherits: Inherits::AllButCredentials,
            confined: None,
            marker: None,
            stdin: Vec::new(),
            timeout: Duration::from_secs(60),
            cap: 1000,
        }
    }

    async fn outcome(spec: ChildSpec<'_>) -> ChildOutcome {
        run(spec, &CancellationToken::new()).await.unwrap()
    }

    #[tokio::test]
    async fn keeps_both_streams_and_the_code() {
        let outcome = outcome(bash("echo out; echo err >&2; exit 3")).await;
        assert_eq!(outcome.ending, Ending::Exited(3));
        assert_eq!(outcome.stdout.bytes, b"out\n");
        assert_eq!(outcome.stderr.bytes, b"err\n");
    }

    #[tokio::test]
    async fn feeds_its_input_and_survives_a_child_that_ignores_it() {
        let fed = ChildSpec { stdin: b"hello".to_vec(), ..bash("cat") };
        assert_eq!(outcome(fed).await.stdout.bytes, b"hello");
        let ignored = ChildSpec { stdin: vec![b'x'; 1 << 20], ..bash("exit 0") };
        assert_eq!(outcome(ignored).await.ending, Ending::Exited(0));
    }

    #[tokio::test]
    async fn caps_what_it_keeps_and_drains_the_rest() {
        let outcome = outcome(bash("head -c 10000000 /dev/zero; echo done >&2")).await;
        assert_eq!((outcome.stdout.bytes.len(), outcome.stdout.truncated), (1000, true));
        assert_eq!(outcome.stderr.bytes, b"done\n", "the child got to its end");
    }

    #[tokio::test]
    async fn a_signal_is_told_apart_from_a_code() {
        assert_eq!(outcome(bash("kill -9 $$")).await.ending, Ending::Signalled(9));
    }

    #[tokio::test]
    async fn a_process_left_behind_does_not_hold_us() {
        let started = Instant::now();
        let outcome = outcome(bash("sleep 50 & echo $!")).await;
        assert_eq!(outcome.ending, Ending::Exited(0));
        assert!(started.elapsed() < Duration::from_secs(40));
        let pid: i32 = String::from_utf8(outcome.stdout.bytes).unwrap().trim().parse().unwrap();
        nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), Signal::SIGKILL).unwrap();
    }

    #[tokio::test]
    async fn a_timeout_kills_the_whole_tree_even_what_forked_away() {
        let dir = tempfile::tempdir().unwrap();
        let pids = dir.path().join("pids");
        // One child in the group that ignores SIGTERM, one in a session of its own.
        let command = format!(
            "(trap '' TERM; echo $BASHPID >>{0}; sleep 50) & setsid bash -c 'echo $$ >>{0}; sleep 50' & \
             while [ \"$(cat {0} | wc -l)\" -lt 2 ]; do :; done; echo ready; sleep 50",
            pids.display()
        );
        let marker = Marker { name: "ONA_TEST_MARK", value: format!("t{}", std::process::id()) };
        let spec = ChildSpec {
            marker: Some(marker.clone()),
            timeout: Duration::from_millis(3000),
            ..bash(&command)
        };
        let outcome = outcome(spec).await;
        assert_eq!(outcome.ending, Ending::TimedOut);
        assert_eq!(outcome.stdout.bytes, b"ready\n", "what was printed before is kept");
        for pid in std::fs::read_to_string(&pids).unwrap().lines() {
            let state = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            assert!(state.is_empty() || state.contains(") Z "), "{pid} still lives: {state}");
        }
    }

    #[tokio::test]
    async fn an_interrupt_ends_it() {
        let cancel = CancellationToken::new();
        cancel.cancel();
        let outcome = run(bash("sleep 50"), &cancel).await.unwrap();
        assert_eq!(outcome.ending, Ending::Interrupted);
    }

    #[tokio::test]
    async fn what_nobody_waits_for_any_more_is_killed_with_its_group() {
        let dir = tempfile::tempdir().unwrap();
        let pipe = dir.path().join("pipe");
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
        // The child of the child holds the pipe open, and would for long.
        let command = format!("sleep 500 >{} & wait", pipe.display());
        let held = tokio::task::spawn_blocking(move || std::fs::File::open(pipe).unwrap());
        let cancel = CancellationToken::new();
        let mut file = tokio::select! {
            ended = run(bash(&command), &cancel) => panic!("{ended:?}"),
            file = held => file.unwrap(),
        };
        let end = std::io::Read::read(&mut file, &mut [0]).unwrap();
        assert_eq!(end, 0, "nobody writes any more");
    }

    #[tokio::test]
    async fn what_cannot_be_started_is_named() {
        let spec = ChildSpec { cwd: Path::new("/no/such/dir"), ..bash("true") };
        let error = run(spec, &CancellationToken::new()).await.unwrap_err().to_string();
        assert!(error.contains("/no/such/dir"), "{error}");
    }
}
