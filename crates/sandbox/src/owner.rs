//! Naming a process so that, after a crash, another one can tell that it is gone.

use std::{fs, process};

use serde::{Deserialize, Serialize};

/// A process, told apart from later ones with the same number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    /// The process id.
    pub pid: u32,
    /// When it started, in clock ticks since boot; tells a reused id apart.
    pub started: Option<u64>,
    /// The boot it belongs to.
    pub boot: Option<String>,
    /// The pid namespace that its number belongs to.
    pub namespace: Option<String>,
}

/// Whether an owner still lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Liveness {
    /// It runs.
    Alive,
    /// It is gone.
    Gone,
    /// Unknown: it belongs to another container or system.
    Unknown,
}

impl Owner {
    /// This process.
    pub fn current() -> Self {
        let pid = process::id();
        Self { pid, started: start_time(pid), boot: boot(), namespace: namespace() }
    }

    /// Whether it still lives, seen from this process.
    pub fn liveness(&self) -> Liveness {
        if self.boot != boot() {
            return if self.boot.is_some() && boot().is_some() {
                Liveness::Gone
            } else {
                Liveness::Unknown
            };
        }
        if self.namespace != namespace() {
            return Liveness::Unknown;
        }
        match (start_time(self.pid), self.started) {
            (Some(now), Some(then)) if now == then => Liveness::Alive,
            (Some(_), Some(_)) => Liveness::Gone,
            (None, Some(_)) => Liveness::Gone,
            _ => by_signal(self.pid),
        }
    }
}

/// Without `/proc`, only whether the number is in use can be checked.
fn by_signal(pid: u32) -> Liveness {
    let Ok(pid) = i32::try_from(pid) else { return Liveness::Gone };
    match nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), None) {
        Err(nix::errno::Errno::ESRCH) => Liveness::Gone,
        _ => Liveness::Alive,
    }
}

/// Field 22 of `/proc/<pid>/stat`; the name in field 2 may hold anything, so count from its end.
fn start_time(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let fields: Vec<&str> = stat.get(stat.rfind(')')? + 1..)?.split_whitespace().collect();
    // A zombie has ended, whatever its parent does about it.
    if fields.first() == Some(&"Z") {
        return None;
    }
    fields.get(19)?.parse().ok()
}

fn boot() -> Option<String> {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").ok().map(|id| id.trim().to_owned())
}

fn namespace() -> Option<String> {
    fs::read_link("/proc/self/ns/pid").ok().map(|link| link.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_the_living_from_the_dead() {
        let me = Owner::current();
        assert_eq!(me.liveness(), Liveness::Alive);

        let mut child = process::Command::new("true").spawn().unwrap();
        let pid = child.id();
        child.wait().unwrap();
        assert_eq!(Owner { pid, ..me }.liveness(), Liveness::Gone);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn tells_reused_numbers_boots_and_containers_apart() {
        let me = Owner::current();
        let reused = Owner { started: me.started.map(|t| t + 1), ..me.clone() };
        assert_eq!(reused.liveness(), Liveness::Gone);
        let rebooted = Owner { boot: Some("another".into()), ..me.clone() };
        assert_eq!(rebooted.liveness(), Liveness::Gone);
        let elsewhere = Owner { namespace: Some("pid:[1]".into()), ..me };
        assert_eq!(elsewhere.liveness(), Liveness::Unknown);
    }
}
