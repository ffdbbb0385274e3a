//! A server that is a program: started in a process group of its own, and ended with all of it.
#![allow(
    clippy::disallowed_methods,
    reason = "a server's pipes live as long as its connection, which is this crate's to keep"
)]

use std::collections::{BTreeSet, VecDeque};
use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use ona_sandbox::confine::{Confined, Held};
use tokio::io::AsyncReadExt as _;
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::task::JoinHandle;

/// How long a program may take to end after its input was closed.
const GRACE: Duration = Duration::from_secs(1);
/// How much of a program's last standard error output is kept.
const LAST_WORDS: usize = 4 << 10;
/// How long to wait for its last output after it has ended.
const WORDS_WITHIN: Duration = Duration::from_millis(200);

/// The running process groups. Dropping the pool kills them, whatever the tasks are doing.
#[derive(Clone, Debug, Default)]
pub(crate) struct Groups(Arc<Mutex<BTreeSet<i32>>>);

impl Groups {
    fn add(&self, group: i32) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(group);
    }

    /// Kills a group once: its number may be reused later.
    fn kill(&self, group: i32) {
        if self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&group) {
            let _ = killpg(Pid::from_raw(group), Signal::SIGKILL);
        }
    }

    /// Kills every group.
    pub(crate) fn kill_all(&self) {
        let groups = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        for group in groups {
            let _ = killpg(Pid::from_raw(group), Signal::SIGKILL);
        }
    }
}

/// A program that runs. When this is dropped, its whole group is killed.
pub(crate) struct Program {
    child: Child,
    group: i32,
    groups: Groups,
    words: Arc<Mutex<VecDeque<u8>>>,
    listening: JoinHandle<()>,
    _held: Held,
}

/// What a program is started with.
pub(crate) struct Start<'a> {
    pub(crate) command: &'a str,
    pub(crate) args: &'a [String],
    pub(crate) env: &'a [(String, String)],
    pub(crate) cwd: &'a Path,
    pub(crate) confined: Option<&'a Confined>,
}

impl Program {
    /// Starts a program, and gives its input and output.
    pub(crate) fn start(
        start: &Start<'_>,
        groups: &Groups,
    ) -> io::Result<(Self, ChildStdout, ChildStdin)> {
        let args: Vec<OsString> = start.args.iter().map(OsString::from).collect();
        let (command, held) = match start.confined {
            Some(confined) => confined
                .command(Path::new(start.command), &args, start.cwd)
                .map_err(io::Error::other)?,
            None => {
                let mut command = std::process::Command::new(start.command);
                command.args(&args).current_dir(start.cwd);
                (command, Held::default())
            }
        };
        let mut command = Command::from(command);
        // No server gets ona's own unless its settings name them.
        for name in ona_types::CREDENTIAL_VARIABLES {
            command.env_remove(name);
        }
        ona_sandbox::own_session(command.as_std_mut());
        let mut child = command
            .envs(start.env.iter().map(|(name, value)| (name, value)))
            .envs(start.confined.map(Confined::variables).into_iter().flatten())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let id = child.id().and_then(|id| i32::try_from(id).ok());
        let pipes = (child.stdout.take(), child.stdin.take(), child.stderr.take());
        let (Some(group), (Some(output), Some(input), Some(errors))) = (id, pipes) else {
            return Err(io::Error::other("it was started without pipes"));
        };
        groups.add(group);
        let words = Arc::new(Mutex::new(VecDeque::new()));
        let listening = tokio::spawn(listen(errors, Arc::clone(&words)));
        let program = Self { child, group, groups: groups.clone(), words, listening, _held: held };
        Ok((program, output, input))
    }

    /// What it last said on its standard error.
    pub(crate) fn last_words(&self) -> String {
        let words = self.words.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes: Vec<u8> = words.iter().copied().collect();
        let text = String::from_utf8_lossy(&bytes);
        match bytes.len() == LAST_WORDS {
            true => ona_types::whole_last_words(&text).trim().to_owned(),
            false => text.trim().to_owned(),
        }
    }

    /// How it ended, once its output has ended; `None` if it is still running.
    pub(crate) async fn ending(&mut self) -> Option<ExitStatus> {
        let ended = tokio::time::timeout(WORDS_WITHIN, self.child.wait()).await.ok()?.ok();
        let _ = tokio::time::timeout(WORDS_WITHIN, &mut self.listening).await;
        ended
    }

    /// Ends it, after its input was closed: on its own if it does so soon, by force if not; and in any case whatever it
    /// has started in its group.
    pub(crate) async fn end(mut self) {
        let _ = tokio::time::timeout(GRACE, self.child.wait()).await;
        self.groups.kill(self.group);
        let _ = tokio::time::timeout(GRACE, self.child.wait()).await;
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.listening.abort();
        self.groups.kill(self.group);
    }
}

/// Takes in whatever a program says on its standard error, and keeps the end of it.
async fn listen(mut errors: ChildStderr, words: Arc<Mutex<VecDeque<u8>>>) {
    let mut buffer = [0; 4 << 10];
    while let Ok(length @ 1..) = errors.read(&mut buffer).await {
        let mut words = words.lock().unwrap_or_else(PoisonError::into_inner);
        words.extend(&buffer[..length]);
        let surplus = words.len().saturating_sub(LAST_WORDS);
        words.drain(..surplus);
    }
}
