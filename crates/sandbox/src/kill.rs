//! Ending a process with everything it started.

use std::collections::HashSet;
use std::ffi::OsString;
use std::path::Path;
use std::sync::{LazyLock, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;
use std::{fs, process};

use nix::sys::signal::{Signal, kill, killpg};
use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::unistd::Pid;
use ona_types::ToolUseId;

/// A variable in a child's environment that all its descendants inherit: a process that double-forked out
/// of the process group can be found by it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Marker {
    /// The variable's name.
    pub name: &'static str,
    /// Its value, unique to the child.
    pub value: String,
}

impl Marker {
    /// The marker of all processes of a tool call, including those of its hooks: if ona is
    /// killed, the process that settles the call later finds them by it.
    pub fn of_call(id: &ToolUseId) -> Self {
        Self { name: "ONA_TOOL_USE_ID", value: id.to_string() }
    }

    /// The variable as it is put into an environment.
    pub fn variable(&self) -> (OsString, OsString) {
        (self.name.into(), self.value.clone().into())
    }
}

/// How long a child may take to end after SIGTERM.
pub(crate) const TERM_GRACE: Duration = Duration::from_millis(500);

pub(crate) fn signal_group(leader: u32, signal: Signal) {
    if let Ok(group) = i32::try_from(leader) {
        // The group may be gone already: that is what we want.
        let _ = killpg(Pid::from_raw(group), signal);
    }
}

/// Children that this process has started itself. Any other child was adopted.
static CHILDREN: LazyLock<Mutex<HashSet<u32>>> = LazyLock::new(Mutex::default);

fn children() -> MutexGuard<'static, HashSet<u32>> {
    CHILDREN.lock().unwrap_or_else(PoisonError::into_inner)
}

fn is_known(pid: i32) -> bool {
    u32::try_from(pid).is_ok_and(|pid| children().contains(&pid))
}

/// Registers a child as started by this process, until it is dropped.
pub(crate) struct Known(u32);

impl Known {
    pub(crate) fn child(pid: u32) -> Self {
        children().insert(pid);
        Self(pid)
    }

    pub(crate) fn supervisor(pid: u32) -> Self {
        supervisors().insert(pid);
        Self::child(pid)
    }
}

impl Drop for Known {
    fn drop(&mut self) {
        children().remove(&self.0);
        supervisors().remove(&self.0);
    }
}

/// Children that are meant to outlive this process: they manage their own descendants.
static SUPERVISORS: LazyLock<Mutex<HashSet<u32>>> = LazyLock::new(Mutex::default);

pub(crate) fn supervisors() -> MutexGuard<'static, HashSet<u32>> {
    SUPERVISORS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The variable by which every child knows the record of this process.
static RECORD: OnceLock<String> = OnceLock::new();

/// Every child of this process has this variable. Ids of calls come from models, and two records may have the same one:
/// a process that says it belongs to another record is left alone.
pub fn children_have(name: &str, value: &Path) {
    let _ = RECORD.set(format!("{name}={}", value.display()));
}

/// Makes this process the parent of orphaned descendants, so that a command that forks
/// away and clears its environment can still be found. Call it once, at the start.
pub fn adopt_orphans() {
    #[cfg(target_os = "linux")]
    {
        // Without it, escapees are found only by their marker.
        let _ = nix::sys::prctl::set_child_subreaper(true);
    }
}

/// Kills the process group of `leader`, every process that carries the marker, all their descendants, and
/// orphans without a marker: processes that cleared their environment and forked away.
pub fn kill_tree(leader: Option<u32>, marker: Option<&Marker>) {
    if let Some(leader) = leader {
        signal_group(leader, Signal::SIGKILL);
    }
    if let Some(marker) = marker {
        let own = format!("{}={}", marker.name, marker.value);
        kill_found(leader, &|process: &Process| process.has(&own) && process.is_ours());
    }
}

/// Kills every process with a marker whose value starts with `beginning`, and all their descendants.
pub fn kill_marked(name: &str, beginning: &str) {
    let own = format!("{name}={beginning}");
    kill_found(None, &|process: &Process| process.names(&own));
}

fn kill_found(leader: Option<u32>, is_marked: &dyn Fn(&Process) -> bool) {
    // A process may fork while we look: look again until none is found.
    for _ in 0..20 {
        let found = escaped(leader, is_marked);
        if found.is_empty() {
            return;
        }
        for pid in found {
            let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
            if !is_known(pid) {
                // If we adopted it, no other code waits for it. Children that we started are waited
                // for by the code that started them.
                let _ = waitpid(Pid::from_raw(pid), Some(WaitPidFlag::WNOHANG));
            }
        }
    }
}

/// Whether a living process has its working directory in `dir` or below it.
pub fn is_worked_in(dir: &Path) -> bool {
    let Ok(entries) = fs::read_dir("/proc") else { return false };
    entries.flatten().any(|entry| {
        let is_process =
            entry.file_name().as_encoded_bytes().first().is_some_and(u8::is_ascii_digit);
        is_process && fs::read_link(entry.path().join("cwd")).is_ok_and(|cwd| cwd.starts_with(dir))
    })
}

/// A living process, as `/proc` shows it.
pub(crate) struct Process {
    pub(crate) pid: i32,
    pub(crate) parent: i32,
    environment: Vec<u8>,
}

impl Process {
    pub(crate) fn all() -> Vec<Self> {
        let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
        let pids =
            entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok());
        pids.filter_map(|pid| {
            let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
            let mut fields = stat.get(stat.rfind(')')? + 1..)?.split_whitespace();
            let alive = fields.next().is_some_and(|state| state != "Z" && state != "X");
            let parent = fields.next()?.parse().ok()?;
            let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            alive.then_some(Self { pid, parent, environment })
        })
        .collect()
    }

    fn has(&self, variable: &str) -> bool {
        self.environment.split(|byte| *byte == 0).any(|text| text == variable.as_bytes())
    }

    /// Whether it belongs to this process or to another one with the same record.
    fn is_ours(&self) -> bool {
        let is_child = u32::try_from(self.parent).is_ok_and(|parent| parent == process::id());
        is_child
            || RECORD.get().is_none_or(|own| {
                let name = own.split('=').next().unwrap_or_default();
                self.has(own) || !self.names(&format!("{name}="))
            })
    }

    fn names(&self, prefix: &str) -> bool {
        self.environment.split(|byte| *byte == 0).any(|text| text.starts_with(prefix.as_bytes()))
    }
}

/// Living processes that belong to the marker.
fn escaped(leader: Option<u32>, is_marked: &dyn Fn(&Process) -> bool) -> Vec<i32> {
    let me = i32::try_from(process::id()).unwrap_or_default();
    let leader = leader.and_then(|leader| i32::try_from(leader).ok());
    let known = children();
    let is_adopted = |process: &Process| {
        process.parent == me
            && !known.contains(&u32::try_from(process.pid).unwrap_or_default())
            && !process.names("ONA_")
    };
    let processes = Process::all();
    let mut found: HashSet<i32> = processes
        .iter()
        .filter(|process| process.pid != me)
        .filter(|process| {
            Some(process.pid) == leader
                || is_marked(process)
                || (leader.is_some() && is_adopted(process))
        })
        .map(|process| process.pid)
        .collect();
    // And whatever those have started.
    loop {
        let more: Vec<i32> = processes
            .iter()
            .filter(|process| found.contains(&process.parent) && !found.contains(&process.pid))
            .map(|process| process.pid)
            .collect();
        if more.is_empty() {
            return found.into_iter().collect();
        }
        found.extend(more);
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    /// A process of nobody here, with these variables; its number.
    fn stray(record: &str) -> i32 {
        let done = Command::new("sh")
            .args(["-c", "sleep 600 > /dev/null 2>&1 & echo $!"])
            .envs([("ONA_TOOL_USE_ID", "toolu_in_two_records"), ("AGENT_SDLC_DB", record)])
            .output()
            .unwrap();
        String::from_utf8(done.stdout).unwrap().trim().parse().unwrap()
    }

    #[test]
    fn a_process_of_another_record_is_left_alone() {
        children_have("AGENT_SDLC_DB", Path::new("/one/agent.db"));
        let (ours, theirs) = (stray("/one/agent.db"), stray("/two/agent.db"));
        let id = ToolUseId::from_existing("toolu_in_two_records");
        kill_tree(None, Some(&Marker::of_call(&id)));
        let lives = |pid: i32| Process::all().iter().any(|process| process.pid == pid);
        while lives(ours) {
            std::thread::yield_now();
        }
        assert!(lives(theirs));
        kill(Pid::from_raw(theirs), Signal::SIGKILL).unwrap();
    }
}
