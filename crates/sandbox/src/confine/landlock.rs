//! Landlock and seccomp: rules of the kernel for a process and everything it starts, without namespaces.
//!
//! Landlock only knows what is allowed. So what is hidden is left out of what may be read: of a directory above it every
//! other entry is allowed by itself. What is protected in a writable directory cannot be told apart from it: that takes
//! namespaces.

use std::fs;
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use landlock::{
    ABI, Access as _, AccessFs, BitFlags, CompatLevel, Compatible as _, PathBeneath, PathFd,
    Ruleset, RulesetAttr as _, RulesetCreated, RulesetCreatedAttr as _, RulesetError, Scope,
};
use nix::libc;

use super::pipe::{self, Word};
use super::seccomp::{self, Filtered};
use super::{Confinement, Network, Sockets, enter, watch};

/// What has to be there: without it files could be truncated, or linked out of their directory.
const REQUIRED: ABI = ABI::V3;
/// What is used if it is there: signals and abstract sockets stay among the command's own processes.
const WANTED: ABI = ABI::V6;

/// Devices that a command may use. The others show memory and disks.
const DEVICES: [&str; 6] =
    ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"];

/// The version of the rules that this kernel knows; 0 without any.
pub fn abi() -> i32 {
    #[allow(unsafe_code, reason = "the library does not tell the version")]
    // SAFETY: with this flag the call only returns a number.
    let version = unsafe {
        libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<u8>(), 0_usize, VERSION)
    };
    i32::try_from(version).unwrap_or(0).max(0)
}

/// Asks for the version.
const VERSION: u32 = 1;

/// Why the rules cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum LandlockError {
    /// The kernel does not take them.
    #[error(
        "the kernel's rules have the version {}, and 3 is needed (Linux 6.2; 0: the kernel has none, or forbids them)",
        abi()
    )]
    Rules(#[from] RulesetError),
    /// The filter cannot be compiled.
    #[error("no filter for system calls: {0}")]
    Filter(#[from] seccomp::FilterError),
}

/// Restricts a command before it starts. Through the pipe goes the descriptor of the filter that tells what is refused.
pub fn confine(
    command: &mut Command,
    confinement: &Confinement,
    pipe: Option<OwnedFd>,
) -> Result<(), LandlockError> {
    let mut rules = Some(rules(confinement)?);
    let is_open = confinement.network == Network::Everything;
    let unix = confinement.sockets == Sockets::None;
    let filtered = |network| Filtered { others: true, network, unix };
    // Whoever is asked about sockets refuses them; without anybody the filter does.
    let (closed, told) = (seccomp::filter(filtered(!is_open))?, seccomp::filter(filtered(false))?);
    let also = if is_open { watch::Also::Nothing } else { watch::Also::Sockets };
    let watch = watch::filter(also)?;
    let restrict = move || {
        seccomp::drop_capabilities()?;
        if let Some(rules) = rules.take() {
            rules.restrict_self().map_err(|_| io::Error::from(io::ErrorKind::PermissionDenied))?;
        }
        let asks = pipe.as_ref().and_then(|pipe| Some((pipe, watch::install(&watch).ok()?)));
        seccomp::apply(if asks.is_some() { &told } else { &closed })?;
        if let Some((pipe, fd)) = asks {
            pipe::send(pipe.as_raw_fd(), Word::Watch, Some(fd.as_raw_fd()))?;
        }
        enter::close_others_on_exec()
    };
    #[allow(unsafe_code, reason = "a process can only restrict itself: between fork and exec")]
    // SAFETY: the rules and the filter are made before the fork; what is called here are system calls.
    unsafe {
        command.pre_exec(restrict);
    }
    Ok(())
}

fn rules(confinement: &Confinement) -> Result<RulesetCreated, RulesetError> {
    let (read, all) = (AccessFs::from_read(WANTED), AccessFs::from_all(WANTED));
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(REQUIRED))?
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(all)?
        .scope(Scope::AbstractUnixSocket | Scope::Signal)?
        .create()?;
    // No device can be made, not even by root.
    let write = all & !(AccessFs::MakeChar | AccessFs::MakeBlock);
    let readable = confinement.readable.iter().map(PathBuf::as_path);
    for root in std::iter::once(Path::new("/")).chain(readable) {
        for path in allowed(root, confinement) {
            rules = add(rules, &path, read)?;
        }
    }
    for root in confinement.writable.iter().chain([&confinement.temporary]) {
        for path in allowed(root, confinement) {
            rules = add(rules, &path, write)?;
        }
    }
    for device in DEVICES {
        rules = add(rules, Path::new(device), write)?;
    }
    Ok(rules)
}

/// Allows this for a path, and for everything below it. What is not there any more needs no rule.
fn add(
    rules: RulesetCreated,
    path: &Path,
    access: BitFlags<AccessFs>,
) -> Result<RulesetCreated, RulesetError> {
    let Ok(file) = PathFd::new(path) else { return Ok(rules) };
    let access = if path.is_dir() { access } else { access & AccessFs::from_file(WANTED) };
    rules.add_rule(PathBeneath::new(file, access))
}

/// The directory, or, if something in it is hidden, every entry of it that is not.
fn allowed(dir: &Path, confinement: &Confinement) -> Vec<PathBuf> {
    let hidden = || confinement.hidden.iter().map(PathBuf::as_path).chain([Path::new("/dev")]);
    if hidden().any(|hidden| hidden == dir) {
        return Vec::new();
    }
    if !hidden().any(|hidden| hidden.starts_with(dir)) {
        return vec![dir.to_owned()];
    }
    let Ok(entries) = fs::read_dir(dir) else { return Vec::new() };
    let mut all: Vec<PathBuf> = entries
        .flatten()
        // A link is allowed where it leads to.
        .filter(|entry| entry.file_type().is_ok_and(|kind| !kind.is_symlink()))
        .flat_map(|entry| allowed(&entry.path(), confinement))
        .collect();
    all.sort();
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_hidden_is_left_out_of_what_may_be_read() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        for name in ["a/b", "a/secret", "a/c/key", "d"] {
            fs::create_dir_all(root.join(name)).unwrap();
        }
        let confinement = Confinement {
            hidden: vec![root.join("a/secret"), root.join("a/c/key")],
            ..Confinement::default()
        };
        assert_eq!(allowed(&root, &confinement), [root.join("a/b"), root.join("d")]);
        assert_eq!(allowed(&root.join("a/secret"), &confinement), Vec::<PathBuf>::new());
    }

    /// What a command prints under the rules.
    fn under(confinement: &Confinement, line: &str) -> String {
        let mut command = Command::new("/bin/bash");
        command.args(["-c", line]).current_dir(&confinement.writable[0]);
        confine(&mut command, confinement, None).unwrap();
        let done = command.output().unwrap();
        format!(
            "{}{}",
            String::from_utf8_lossy(&done.stdout),
            String::from_utf8_lossy(&done.stderr)
        )
    }

    #[test]
    fn a_command_writes_reads_and_reaches_only_what_it_may() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        for name in ["work", "tmp", "secret"] {
            fs::create_dir(root.join(name)).unwrap();
        }
        fs::write(root.join("secret/key"), "hidden").unwrap();
        let confinement = Confinement {
            writable: vec![root.join("work")],
            hidden: vec![root.join("secret")],
            temporary: root.join("tmp"),
            ..Confinement::default()
        };
        if let Err(error) = rules(&confinement) {
            eprintln!("skipped: {error}");
            return;
        }
        for (line, expected) in [
            ("echo a >f && cat f", "a"),
            ("echo a >../f", "Permission denied"),
            ("cat ../secret/key", "Permission denied"),
            ("ls ../secret", "Permission denied"),
            ("ln ../secret/key here", "cross-device"),
            ("cat /proc/self/root/etc/hostname >/dev/null && echo fine", "fine"),
            ("echo x >/proc/self/root/etc/made", "Permission denied"),
            ("cat /proc/$PPID/environ", "Permission denied"),
            ("echo 1 >/proc/sys/kernel/panic", "Permission denied"),
            ("exec 3<>/dev/tcp/127.0.0.1/1", "Operation not permitted"),
            ("mknod dev b 1 1", "denied"),
            ("head -c1 /dev/kmsg", "denied"),
            ("unshare -Ur true", "Operation not permitted"),
            ("grep -c 'CapEff:.*0000000000000000' /proc/self/status", "1"),
            ("kill -0 $PPID", "Operation not permitted"),
        ] {
            let shown = under(&confinement, line);
            assert!(shown.contains(expected), "{line}: {shown}");
        }
        assert!(!Path::new("/etc/made").exists());
    }
}
