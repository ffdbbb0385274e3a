//! Children without the user's terminal.
//!
//! A process that shares the session of ona can open `/dev/tty`: it could draw over a dialog, or put a key into the
//! terminal's input and answer the question about its own call. A child that leads a session of its own has no
//! controlling terminal.

use std::fs::File;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::OnceLock;

/// Starts the command in a process group of its own, and in a session of its own if ona has a terminal. Without one the
/// group is enough, and the start is faster.
pub fn own_session(command: &mut Command) {
    static HAS_TERMINAL: OnceLock<bool> = OnceLock::new();
    if *HAS_TERMINAL.get_or_init(|| File::open("/dev/tty").is_ok()) {
        leads_session(command);
    } else {
        command.process_group(0);
    }
}

#[allow(
    unsafe_code,
    reason = "no safe function of the standard library starts a session for a child"
)]
fn leads_session(command: &mut Command) {
    let start = || nix::unistd::setsid().map(drop).map_err(std::io::Error::from);
    // SAFETY: between fork and exec only setsid is called, which allocates nothing and takes no lock.
    unsafe { command.pre_exec(start) };
}
