//! Supervises a background command: its output goes to a file, up to a limit.

use nix::sys::resource::{Resource, setrlimit};
use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{self, PipeReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use crate::child::without_credentials;
use crate::confine::{Confined, Held, Refused, refusal_note};
use crate::kill::{Known, Marker, kill_tree};
use crate::owner::{Liveness, Owner};

/// A command to supervise.
#[derive(Clone)]
pub struct Supervised<'a> {
    /// The program.
    pub program: &'a Path,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// Where it starts.
    pub cwd: &'a Path,
    /// Variables on top of the inherited environment.
    pub env: Vec<(OsString, OsString)>,
    /// What it may touch; everything if `None`.
    pub confined: Option<&'a Confined>,
    /// The marker by which everything it starts can be found.
    pub marker: &'a Marker,
    /// The file both its streams are appended to, in the order they come.
    pub log: &'a Path,
    /// What is written to the log for a piece of output; without a piece, what was held back.
    pub filter: &'a dyn Fn(Option<&[u8]>) -> Vec<u8>,
    /// When it has printed more than this it is killed.
    pub limit: u64,
    /// The last line of the log in that case.
    pub truncated: &'a str,
    /// The process with which it ends, if any.
    pub ends_with: Option<&'a Owner>,
    /// Called once after the start: whether the task is still wanted.
    pub wanted: &'a dyn Fn() -> bool,
}

/// How such a command ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SupervisedEnd {
    /// With this code.
    Exited(i32),
    /// By a signal.
    Signalled,
    /// Killed for printing too much.
    OutputLimit,
    /// Killed because the process that it ends with has ended.
    OwnerEnded,
    /// It never started; the log says why.
    FailedToStart,
}

/// Makes this process independent of the terminal and the session it was started from.
pub fn leave_session() {
    // Fails only if we lead a group already, and then the terminal's hang-up does not reach us either.
    let _ = nix::unistd::setsid();
}

/// Limits this process's memory; an allocation beyond the limit ends it.
pub fn bound_memory(bytes: u64) {
    // Fails only if the limit is already lower.
    let _ = setrlimit(Resource::RLIMIT_AS, bytes, bytes);
}

/// This process leaves no core dump, which would hold its credentials. What it starts leaves none either: a command could
/// raise a soft limit again, also that of its parent.
pub fn no_core_dumps() {
    // Lowering a limit cannot fail.
    let _ = setrlimit(Resource::RLIMIT_CORE, 0, 0);
}

/// How often a supervisor looks whether the process that its command ends with is there.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// Runs the command to its end. What its confinement refused it is also said in the log.
pub fn supervise(task: &Supervised<'_>) -> io::Result<(SupervisedEnd, Vec<Refused>)> {
    let mut refused = Vec::new();
    let end = run_to_end(task, &mut refused)?;
    if let Some(note) = refusal_note(&refused) {
        let mut log = OpenOptions::new().append(true).open(task.log)?;
        writeln!(log, "\n{note}")?;
    }
    Ok((end, refused))
}

fn run_to_end(task: &Supervised<'_>, refused: &mut Vec<Refused>) -> io::Result<SupervisedEnd> {
    let (reader, writer) = io::pipe()?;
    let mut log = OpenOptions::new().append(true).open(task.log)?;
    let started = match task.confined {
        Some(confined) => confined.command(task.program, &task.args, task.cwd),
        None => {
            let mut command = Command::new(task.program);
            command.args(&task.args).current_dir(task.cwd);
            Ok((command, Held::default()))
        }
    };
    let (mut command, held) = match started {
        Ok(started) => started,
        Err(error) => {
            writeln!(log, "the command could not be confined: {error}")?;
            return Ok(SupervisedEnd::FailedToStart);
        }
    };
    without_credentials(&mut command, &task.env);
    command
        .envs(task.confined.map(Confined::variables).into_iter().flatten())
        .envs([task.marker.variable()])
        .stdin(Stdio::null())
        .stdout(writer.try_clone()?)
        .stderr(writer)
        .process_group(0);
    let child = match command.spawn() {
        Ok(child) => child,
        Err(error) => {
            writeln!(log, "the command could not be started: {error}")?;
            return Ok(SupervisedEnd::FailedToStart);
        }
    };
    let _known = Known::child(child.id());
    // It owns the writing end of the pipe; without dropping it the reader would never see the end.
    drop(command);
    // A stop request before the start is visible by now; a later one finds the process.
    if !(task.wanted)() {
        kill_tree(Some(child.id()), Some(task.marker));
    }
    let Some(owner) = task.ends_with else {
        let end = follow(task, child, reader, log);
        *refused = held.refused();
        return end;
    };
    let (leader, marker, (done, is_done)) = (child.id(), task.marker, mpsc::channel::<()>());
    thread::scope(|scope| {
        // An owner cannot tell of its own end: it may be killed.
        let watch = scope.spawn(move || {
            while owner.liveness() != Liveness::Gone {
                if is_done.recv_timeout(LOOK_EVERY) != Err(RecvTimeoutError::Timeout) {
                    return false;
                }
            }
            kill_tree(Some(leader), Some(marker));
            true
        });
        let end = follow(task, child, reader, log);
        drop(done);
        let owner_ended = watch.join().unwrap_or(false);
        *refused = held.refused();
        Ok(match end? {
            SupervisedEnd::Signalled if owner_ended => SupervisedEnd::OwnerEnded,
            end => end,
        })
    })
}

/// Writes the command's output to its log until it ends.
fn follow(
    task: &Supervised<'_>,
    mut child: Child,
    mut reader: PipeReader,
    mut log: File,
) -> io::Result<SupervisedEnd> {
    let mut written = 0;
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let count = match reader.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        written += count as u64;
        let kept = if written > task.limit {
            kill_tree(Some(child.id()), Some(task.marker));
            writeln!(log, "\n{}", task.truncated)
        } else {
            log.write_all(&(task.filter)(Some(&buffer[..count])))
        };
        // A log that cannot be written (a full disk) must not leave the command running unseen.
        if written > task.limit || kept.is_err() {
            kill_tree(Some(child.id()), Some(task.marker));
            child.wait()?;
            return kept.map(|()| SupervisedEnd::OutputLimit);
        }
    }
    log.write_all(&(task.filter)(None))?;
    Ok(child.wait()?.code().map_or(SupervisedEnd::Signalled, SupervisedEnd::Exited))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn task(command: &str, limit: u64, cwd: &Path) -> (SupervisedEnd, String) {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("log");
        fs::write(&log, "").unwrap();
        let marker = Marker { name: "ONA_TEST_MARK", value: log.display().to_string() };
        let end = supervise(&Supervised {
            program: Path::new("/bin/bash"),
            args: vec!["-c".into(), command.into()],
            cwd,
            env: Vec::new(),
            confined: None,
            marker: &marker,
            log: &log,
            limit,
            filter: &|piece| piece.unwrap_or_default().to_vec(),
            truncated: "[cut]",
            ends_with: None,
            wanted: &|| command != "sleep 600",
        });
        (end.unwrap().0, fs::read_to_string(&log).unwrap())
    }

    #[test]
    fn what_nobody_wants_any_more_is_ended_when_it_has_begun() {
        let (end, _) = task("sleep 600", 1000, Path::new("/"));
        assert_eq!(end, SupervisedEnd::Signalled);
    }

    #[test]
    fn it_ends_with_its_owner_and_not_before() {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("log");
        fs::write(&log, "").unwrap();
        let marker = Marker { name: "ONA_TEST_MARK", value: log.display().to_string() };
        let run = |command: &str, owner: &Owner| {
            supervise(&Supervised {
                program: Path::new("/bin/bash"),
                args: vec!["-c".into(), command.into()],
                cwd: dir.path(),
                env: Vec::new(),
                confined: None,
                marker: &marker,
                log: &log,
                limit: 1000,
                truncated: "",
                filter: &|piece| piece.unwrap_or_default().to_vec(),
                ends_with: Some(owner),
                wanted: &|| true,
            })
            .unwrap()
            .0
        };
        let mut gone = Command::new("true").spawn().unwrap();
        let owner = Owner { pid: gone.id(), ..Owner::current() };
        gone.wait().unwrap();
        // Neither a signal that is ignored nor a process of another session keeps it.
        let stubborn = "trap '' TERM INT HUP; setsid sleep 600 & sleep 600";
        assert_eq!(run(stubborn, &owner), SupervisedEnd::OwnerEnded);
        assert_eq!(run("exit 3", &Owner::current()), SupervisedEnd::Exited(3));
    }

    #[test]
    fn keeps_output_in_order_and_the_code() {
        let (end, log) = task("echo a; echo b >&2; echo c; exit 7", 1000, Path::new("/"));
        assert_eq!((end, log.as_str()), (SupervisedEnd::Exited(7), "a\nb\nc\n"));
    }

    #[test]
    fn a_flood_is_stopped_at_the_limit() {
        let (end, log) = task("yes", 200_000, Path::new("/"));
        assert_eq!(end, SupervisedEnd::OutputLimit);
        assert!(log.len() < 300_000 && log.ends_with("[cut]\n"), "{}", log.len());
    }

    #[test]
    fn what_never_started_is_said_in_the_log() {
        let (end, log) = task("true", 1000, Path::new("/no/such/dir"));
        assert_eq!(end, SupervisedEnd::FailedToStart);
        assert!(log.contains("could not be started"), "{log}");
    }
}
