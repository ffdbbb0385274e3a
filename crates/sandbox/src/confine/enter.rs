//! The last step before a confined command, inside its namespaces: this program, started again.
//!
//! It makes the sockets that only exist there, hands them out through the private pipe, applies the filters, and starts the
//! command. It stays as the first process of the namespace, under the same filters: one without them could be made to do
//! what the command must not.

use std::ffi::OsString;
use std::io;
use std::net::TcpListener;
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd, RawFd};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitCode};

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::libc;
use nix::sys::wait::{WaitStatus, wait};
use nix::unistd::Pid;
use serde::{Deserialize, Serialize};

use super::limits::Limits;
use super::pipe::{self, Word};
use super::seccomp::{self, Filtered};
use super::watch::{self, Also};

/// The hidden command.
pub(super) const ENTER: &str = "enter-sandbox";
/// What `bash` says of a command that cannot be started.
const CANNOT_START: u8 = 126;

/// What is to be done before the command starts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Entry {
    /// The pipe's descriptor.
    pub pipe: RawFd,
    /// The port for the proxy.
    pub http: Option<u16>,
    /// The port for the user's SOCKS proxy.
    pub socks: Option<u16>,
    /// Whether it has a network of its own.
    pub own_network: bool,
    /// The filter.
    pub filtered: Filtered,
    /// What the command may use up.
    pub limits: Limits,
}

impl Entry {
    /// The arguments of this program, which the command follows.
    pub(super) fn words(&self) -> [OsString; 2] {
        // Numbers and flags always have a text.
        let text = serde_json::to_string(self).unwrap_or_default();
        [ENTER.into(), text.into()]
    }
}

/// Lets a command inherit a descriptor, and no other child of this process.
pub(super) fn inherit(command: &mut Command, fd: OwnedFd) {
    let keep = move || {
        let flags = FdFlag::empty();
        fcntl(fd.as_fd(), FcntlArg::F_SETFD(flags)).map(drop).map_err(io::Error::from)
    };
    #[allow(
        unsafe_code,
        reason = "the flags of a descriptor that a child inherits: between fork and exec"
    )]
    // SAFETY: between fork and exec only fcntl is called, which allocates nothing and takes no lock.
    unsafe {
        command.pre_exec(keep);
    }
}

/// Starts the command and waits for its end, if this process was started for that. Otherwise it returns at once.
pub fn enter_if_asked() -> Option<ExitCode> {
    let mut args = std::env::args_os().skip(1);
    if args.next()? != ENTER {
        return None;
    }
    let error = match enter(args) {
        Ok(code) => return Some(ExitCode::from(code)),
        Err(error) => error,
    };
    // Standard error is the command's.
    let text = format!("the command could not be started in the sandbox: {error}\n");
    let _ = nix::unistd::write(io::stderr(), text.as_bytes());
    Some(ExitCode::from(CANNOT_START))
}

fn enter(mut args: impl Iterator<Item = OsString>) -> io::Result<u8> {
    let wrong = || io::Error::from(io::ErrorKind::InvalidInput);
    let entry = args.next().and_then(|text| text.into_string().ok()).ok_or_else(wrong)?;
    let entry: Entry = serde_json::from_str(&entry)?;
    let program = args.next().ok_or_else(wrong)?;
    for (port, word) in [(entry.http, Word::Http), (entry.socks, Word::Socks)] {
        if let Some(port) = port {
            let listener = TcpListener::bind(("127.0.0.1", port))?;
            pipe::send(entry.pipe, word, Some(listener.as_raw_fd()))?;
        }
    }
    nix::sys::prctl::set_no_new_privs()?;
    seccomp::apply(&seccomp::filter(entry.filtered).map_err(io::Error::other)?)?;
    // Without it nothing is told, but everything is refused all the same.
    let also = if entry.own_network { Also::Connections } else { Also::Nothing };
    if let Ok(program) = watch::filter(also)
        && let Ok(fd) = watch::install(&program)
    {
        pipe::send(entry.pipe, Word::Watch, Some(fd.as_raw_fd()))?;
    }
    entry.limits.apply()?;
    pipe::send(entry.pipe, Word::Ready, None)?;
    close_others()?;
    let child = Command::new(program).args(args).spawn()?;
    let child = Pid::from_raw(i32::try_from(child.id()).map_err(io::Error::other)?);
    // Orphans come to the first process of a namespace. With its end they end too.
    loop {
        match wait() {
            Ok(WaitStatus::Exited(pid, code)) if pid == child => {
                return Ok(u8::try_from(code).unwrap_or(u8::MAX));
            }
            Ok(WaitStatus::Signaled(pid, signal, _)) if pid == child => {
                return Ok(128 + u8::try_from(signal as i32).unwrap_or(0));
            }
            Ok(_) | Err(Errno::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Lets go of everything but the three standard descriptors.
#[allow(unsafe_code, reason = "no library in the tree has this call")]
fn close_others() -> io::Result<()> {
    // SAFETY: nothing of this process uses a descriptor from here on but the standard ones.
    let done = unsafe { libc::syscall(libc::SYS_close_range, 3, u32::MAX, 0) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Lets no descriptor through but the three standard ones: one that is open needs no permission any more.
#[allow(unsafe_code, reason = "no library in the tree has this call")]
pub(super) fn close_others_on_exec() -> io::Result<()> {
    // SAFETY: it only sets flags of descriptors.
    let done =
        unsafe { libc::syscall(libc::SYS_close_range, 3, u32::MAX, libc::CLOSE_RANGE_CLOEXEC) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
