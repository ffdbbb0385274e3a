//! Ending what is left running below this process, when the process itself ends.
//!
//! A process that runs tool calls is a subreaper ([`adopt_orphans`](crate::adopt_orphans)): as long as it lives, all
//! processes they start are its descendants. When it ends they get another parent, and cannot be traced to it any more.

use std::collections::HashSet;
use std::thread::sleep;
use std::time::{Duration, Instant};
use std::{fs, process};

use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{Id, WaitPidFlag, waitid};
use nix::unistd::Pid;

use crate::kill::{Process, TERM_GRACE, supervisors};

/// How often the search is repeated, because a process may fork during it.
const ROUNDS: usize = 100;

/// Ends every descendant of this process, except supervisors of background tasks and their descendants.
/// Returns the names of the ended processes.
pub fn end_leftovers() -> Vec<String> {
    // Usually there is none, and then `/proc` need not be read.
    let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
    if waitid(Id::All, flags) == Err(Errno::ECHILD) {
        return Vec::new();
    }
    let found = below(own());
    if found.is_empty() {
        return Vec::new();
    }
    let mut names: Vec<String> = found.iter().map(|pid| name(*pid)).collect();
    signal(&found, Signal::SIGTERM);
    // A stopped process receives the signal only after SIGCONT.
    signal(&found, Signal::SIGCONT);
    let patience = Instant::now() + TERM_GRACE;
    while !below(own()).is_empty() && Instant::now() < patience {
        sleep(Duration::from_millis(5));
    }
    for _ in 0..ROUNDS {
        let found = below(own());
        if found.is_empty() {
            break;
        }
        signal(&found, Signal::SIGKILL);
    }
    names.sort();
    names.dedup();
    names
}

fn own() -> i32 {
    i32::try_from(process::id()).unwrap_or_default()
}

fn signal(pids: &[i32], signal: Signal) {
    for pid in pids {
        // It may be gone already: that is what we want.
        let _ = kill(Pid::from_raw(*pid), signal);
    }
}

/// Living descendants of a process. Only the parent relation counts, because a process cannot fake it.
pub(crate) fn below(pid: i32) -> Vec<i32> {
    let spared = supervisors();
    let processes = Process::all();
    let mut above = HashSet::from([pid]);
    let mut found = Vec::new();
    loop {
        let more: Vec<i32> = processes
            .iter()
            .filter(|process| above.contains(&process.parent) && !above.contains(&process.pid))
            .filter(|process| u32::try_from(process.pid).is_ok_and(|pid| !spared.contains(&pid)))
            .map(|process| process.pid)
            .collect();
        if more.is_empty() {
            return found;
        }
        above.extend(&more);
        found.extend(more);
    }
}

fn name(pid: i32) -> String {
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    name.trim_end().to_owned()
}
