//! The operator's editor, in the operator's terminal.

use std::io::{self, Write as _};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, kill, raise, sigaction};
use nix::sys::termios::{SetArg, Termios, tcgetattr, tcsetattr};
use nix::unistd::Pid;

use crate::leftover::below;

/// The process of the editor that is open, or 0.
static OPEN: AtomicU32 = AtomicU32::new(0);

/// Leaves the alternate screen, shows the cursor, and takes off colours: what an editor does that ends by itself.
const RESET: &str = "\x1b[?1049l\x1b[?25h\x1b[0m";
/// A shell tells with a larger code that a signal has ended its command.
const BY_SIGNAL: i32 = 128;

/// Runs an editor, which may be a command line, on a file, and waits for it; says whether it ended well. The terminal is
/// as it was before, also after an editor that was killed.
///
/// It shares ona's terminal, process group and environment: the operator started it, not a tool call.
pub fn edit(editor: &str, file: &Path) -> io::Result<bool> {
    let modes = tcgetattr(io::stdin()).ok();
    let line = format!("{editor} \"$@\"");
    let mut child = Command::new("sh").arg("-c").arg(line).arg(editor).arg(file).spawn()?;
    OPEN.store(child.id(), Ordering::SeqCst);
    let status = child.wait();
    OPEN.store(0, Ordering::SeqCst);
    let status = status?;
    if status.code().is_none_or(|code| code > BY_SIGNAL) {
        restore(modes.as_ref());
    }
    Ok(status.success())
}

fn restore(modes: Option<&Termios>) {
    if let Some(modes) = modes {
        let _ = tcsetattr(io::stdin(), SetArg::TCSADRAIN, modes);
        let mut out = io::stdout();
        let _ = out.write_all(RESET.as_bytes()).and_then(|()| out.flush());
    }
}

/// Ends the editor that is open, and what it has started.
pub fn end_editor() {
    let Some(pid) = i32::try_from(OPEN.load(Ordering::SeqCst)).ok().filter(|pid| *pid > 0) else {
        return;
    };
    for process in below(pid).into_iter().chain([pid]) {
        let _ = kill(Pid::from_raw(process), Signal::SIGTERM);
    }
}

/// Stops this process until the operator continues it.
///
/// The signal goes to this thread: one to the process or its group may be taken by another thread, and this one would
/// go on for a while. Whoever listens for it does so again afterwards.
pub fn suspend() {
    let stops = SigAction::new(SigHandler::SigDfl, SaFlags::empty(), SigSet::empty());
    #[allow(unsafe_code, reason = "how a signal acts can only be changed so")]
    // SAFETY: the default action is no code of ours, and the one before is put back as it was.
    let before = unsafe { sigaction(Signal::SIGTSTP, &stops) };
    let _ = raise(Signal::SIGTSTP);
    if let Ok(before) = before {
        #[allow(unsafe_code, reason = "how a signal acts can only be changed so")]
        // SAFETY: it is the action that was there.
        let _ = unsafe { sigaction(Signal::SIGTSTP, &before) };
    }
}

/// The numbers of the signals that ask a process to stop, and that let it go on.
pub const STOP_AND_CONTINUE: (i32, i32) = (Signal::SIGTSTP as i32, Signal::SIGCONT as i32);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_editor_is_a_command_line_that_gets_the_file() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("it's a file");
        std::fs::write(&file, "one").unwrap();
        assert!(edit("sed -i s/one/two/", &file).unwrap());
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "two");
        assert!(!edit("false", &file).unwrap());
    }
}
