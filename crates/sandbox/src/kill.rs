//! Ending a process with everything it started.

use std::ffi::OsString;
use std::time::Duration;
use std::{fs, process};

use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;

/// A variable put into a child's environment and inherited by all it starts: what double-forked out
/// of the process group is found by it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Marker {
    /// The variable's name.
    pub name: &'static str,
    /// Its value, unique to the child.
    pub value: String,
}

impl Marker {
    pub(crate) fn variable(&self) -> (OsString, OsString) {
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

/// Kills the process group of `leader` and every process that carries the marker.
pub fn kill_tree(leader: Option<u32>, marker: Option<&Marker>) {
    if let Some(leader) = leader {
        signal_group(leader, Signal::SIGKILL);
    }
    let Some(marker) = marker else { return };
    // A process may fork while we look: look again until none is found.
    for _ in 0..20 {
        let found = marked(marker);
        if found.is_empty() {
            return;
        }
        for pid in found {
            let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
        }
    }
}

/// Living processes whose environment holds the marker. Only `/proc` tells; elsewhere the group has to
/// do.
fn marked(marker: &Marker) -> Vec<i32> {
    let needle = format!("{}={}", marker.name, marker.value);
    let me = i32::try_from(process::id()).ok();
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok())
        .filter(|pid| Some(*pid) != me)
        .filter(|pid| {
            let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            environment.split(|byte| *byte == 0).any(|variable| variable == needle.as_bytes())
        })
        .collect()
}
