//! What a command may use up.

use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use serde::{Deserialize, Serialize};

/// What a command, or each process of it, may use up; `None` is no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Seconds of computing of each process.
    pub cpu_seconds: Option<u64>,
    /// Memory of each process.
    pub memory_mb: Option<u64>,
    /// Processes of the user. Root has no such limit.
    pub processes: Option<u64>,
    /// The size of a file that is written.
    pub file_size_mb: Option<u64>,
}

impl Limits {
    fn list(self) -> impl Iterator<Item = (Resource, u64)> {
        let megabytes = |number: u64| number.saturating_mul(1 << 20);
        [
            (Resource::RLIMIT_CPU, self.cpu_seconds),
            (Resource::RLIMIT_AS, self.memory_mb.map(megabytes)),
            (Resource::RLIMIT_NPROC, self.processes),
            (Resource::RLIMIT_FSIZE, self.file_size_mb.map(megabytes)),
        ]
        .into_iter()
        .filter_map(|(resource, most)| Some((resource, most?)))
    }

    /// Sets them for this process.
    pub(super) fn apply(self) -> io::Result<()> {
        for (resource, most) in self.list() {
            // A limit that is lower already cannot be raised, and need not be.
            let (_, now) = getrlimit(resource)?;
            setrlimit(resource, most.min(now), most.min(now))?;
        }
        Ok(())
    }

    /// Sets them for a command.
    pub(super) fn set(self, command: &mut Command) {
        if self == Self::default() {
            return;
        }
        let set = move || self.apply();
        #[allow(unsafe_code, reason = "limits belong to a process: between fork and exec")]
        // SAFETY: between fork and exec only getrlimit and setrlimit are called, which allocate nothing and take no lock.
        unsafe {
            command.pre_exec(set);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_those_of_the_command() {
        let limits = Limits {
            cpu_seconds: Some(7),
            memory_mb: Some(900),
            file_size_mb: Some(3),
            ..Limits::default()
        };
        let mut command = Command::new("/bin/bash");
        command.args(["-c", "ulimit -t; ulimit -v; ulimit -f"]);
        limits.set(&mut command);
        let done = command.output().unwrap();
        assert_eq!(String::from_utf8_lossy(&done.stdout), "7\n921600\n3072\n");
    }
}
