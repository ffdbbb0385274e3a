//! What the kernel refuses a confined command, told while it runs.
//!
//! A second filter hands some calls to ona before the kernel does them: those that write by path, and, where there is no
//! network namespace, sockets. ona looks where the path leads in the command's own file system, notes what will be
//! refused, and lets the call go on. The note decides nothing: by the time the kernel does the call, its own rules hold.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::io::{self, IoSliceMut};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd, RawFd};
use std::path::{Component, Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

use nix::errno::Errno;
use nix::fcntl::{OFlag, OpenHow, ResolveFlag, openat2};
use nix::libc;
use nix::sys::stat::{SFlag, fstat};
use nix::sys::statvfs::{FsFlags, fstatvfs};
use nix::sys::uio::{RemoteIoVec, process_vm_readv};
use nix::unistd::Pid;
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition,
    SeccompRule,
};

use super::seccomp::{self, FilterError};
use super::{Confinement, Refused};

/// Where the path of a call stands among its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    /// Relative to the working directory.
    Cwd(usize),
    /// Relative to the directory in the argument before it.
    Dir(usize),
}

/// The calls that write by path, and the paths they write. `open` and `openat` only if they may write.
const CALLS: &[(i64, &[At])] = &[
    (libc::SYS_openat, &[At::Dir(1)]),
    (libc::SYS_mkdirat, &[At::Dir(1)]),
    (libc::SYS_mknodat, &[At::Dir(1)]),
    (libc::SYS_unlinkat, &[At::Dir(1)]),
    (libc::SYS_renameat, &[At::Dir(1), At::Dir(3)]),
    (libc::SYS_renameat2, &[At::Dir(1), At::Dir(3)]),
    (libc::SYS_linkat, &[At::Dir(3)]),
    (libc::SYS_symlinkat, &[At::Dir(2)]),
    (libc::SYS_fchmodat, &[At::Dir(1)]),
    (libc::SYS_fchownat, &[At::Dir(1)]),
    (libc::SYS_truncate, &[At::Cwd(0)]),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_open, &[At::Cwd(0)]),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_creat, &[At::Cwd(0)]),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_mkdir, &[At::Cwd(0)]),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_mknod, &[At::Cwd(0)]),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_rmdir, &[At::Cwd(0)]),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_unlink, &[At::Cwd(0)]),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_rename, &[At::Cwd(0), At::Cwd(1)]),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_link, &[At::Cwd(1)]),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_symlink, &[At::Cwd(1)]),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_chmod, &[At::Cwd(0)]),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_chown, &[At::Cwd(0)]),
];

/// The calls that make a name: of one that is taken the kernel says only that.
const MAKES: &[i64] = &[
    libc::SYS_mkdirat,
    libc::SYS_mknodat,
    libc::SYS_linkat,
    libc::SYS_symlinkat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_mkdir,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_mknod,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_link,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_symlink,
];
/// The calls that move something to a name that may be taken.
const MOVES: &[i64] = &[
    libc::SYS_renameat,
    libc::SYS_renameat2,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_rename,
];
/// The calls that make a name or change what has it.
const OPENS: &[i64] = &[
    libc::SYS_openat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_open,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_creat,
];

/// The calls that change what a link leads to, if the name is one. The others change the link itself.
const FOLLOWS: &[i64] = &[
    libc::SYS_openat,
    libc::SYS_fchmodat,
    libc::SYS_fchownat,
    libc::SYS_truncate,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_open,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_creat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chmod,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chown,
];

/// How a name has to be for the kernel to come to the question of permission. The other calls change what has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wanted {
    /// Not taken.
    Free,
    /// Taken.
    There,
    /// Either.
    Any,
}

/// The action of a filter that asks a tracer, and that of one that asks whoever holds its descriptor. The compiler of
/// filters knows only the first.
const ASKS_TRACER: u32 = 0x7ff0_0000;
const ASKS_HOLDER: u32 = 0x7fc0_0000;
/// `SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV`, since Linux 5.19.
const WAITS: libc::c_ulong = 1 << 5;
/// The instruction that returns an action.
const RETURN: u16 = 0x06;

/// What is handed over besides writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Also {
    /// Nothing.
    Nothing,
    /// Sockets of the network: the holder refuses them.
    Sockets,
    /// Connections. In a network of its own there is nobody to reach; the holder tells who was meant.
    Connections,
}

/// The filter that hands calls to the holder of its descriptor.
pub(super) fn filter(also: Also) -> Result<BpfProgram, FilterError> {
    static MADE: [OnceLock<BpfProgram>; 3] = [OnceLock::new(), OnceLock::new(), OnceLock::new()];
    let made = &MADE[also as usize];
    if let Some(program) = made.get() {
        return Ok(program.clone());
    }
    let program = make(also)?;
    Ok(made.get_or_init(|| program).clone())
}

fn make(also: Also) -> Result<BpfProgram, FilterError> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> =
        CALLS.iter().map(|(call, _)| (*call, Vec::new())).collect();
    rules.insert(libc::SYS_openat, may_write(2)?);
    #[cfg(target_arch = "x86_64")]
    rules.insert(libc::SYS_open, may_write(1)?);
    match also {
        Also::Nothing => {}
        Also::Sockets => {
            let families = seccomp::NETWORK.into_iter().map(seccomp::is_family);
            rules.insert(libc::SYS_socket, families.collect::<Result<_, _>>()?);
        }
        Also::Connections => {
            rules.insert(libc::SYS_connect, Vec::new());
        }
    }
    let mut program = seccomp::compiled(rules, SeccompAction::Trace(0))?;
    for step in program.iter_mut().filter(|step| step.code == RETURN && step.k == ASKS_TRACER) {
        step.k = ASKS_HOLDER;
    }
    Ok(program)
}

/// The flags of an `open` that may change something.
fn may_write(argument: u8) -> Result<Vec<SeccompRule>, BackendError> {
    let flags = |mask: i32, value: i32| {
        let (mask, value) = (u64::from(mask.unsigned_abs()), u64::from(value.unsigned_abs()));
        let op = SeccompCmpOp::MaskedEq(mask);
        let is = SeccompCondition::new(argument, SeccompCmpArgLen::Dword, op, value)?;
        SeccompRule::new(vec![is])
    };
    [
        flags(libc::O_ACCMODE, libc::O_WRONLY),
        flags(libc::O_ACCMODE, libc::O_RDWR),
        flags(libc::O_CREAT, libc::O_CREAT),
        flags(libc::O_TRUNC, libc::O_TRUNC),
    ]
    .into_iter()
    .collect()
}

/// Applies the filter to this process, for good, and returns its descriptor. It needs "no new privileges".
#[allow(unsafe_code, reason = "no library in the tree installs a filter with a descriptor")]
pub(super) fn install(program: &BpfProgram) -> io::Result<OwnedFd> {
    let len = u16::try_from(program.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
    let filter = program.as_ptr().cast::<libc::sock_filter>().cast_mut();
    let program = libc::sock_fprog { len, filter };
    let install = |flags: libc::c_ulong| {
        // SAFETY: the program lives until the call returns, and the kernel copies it; a descriptor that it returns is new.
        unsafe {
            let (mode, program) = (libc::SECCOMP_SET_MODE_FILTER, &raw const program);
            let fd = libc::syscall(libc::SYS_seccomp, mode, flags, program);
            match RawFd::try_from(fd) {
                Ok(fd) if fd >= 0 => Ok(OwnedFd::from_raw_fd(fd)),
                _ => Err(io::Error::last_os_error()),
            }
        }
    };
    let listens = libc::SECCOMP_FILTER_FLAG_NEW_LISTENER;
    // A call that waits for an answer is not interrupted by signals: on a file system it never is. Older kernels cannot.
    install(listens | WAITS).or_else(|_| install(listens))
}

mod calls {
    #![allow(unsafe_code, missing_docs, reason = "the kernel's own calls")]
    use nix::libc::{seccomp_notif, seccomp_notif_resp};

    nix::ioctl_readwrite!(receive, b'!', 0, seccomp_notif);
    nix::ioctl_readwrite!(send, b'!', 1, seccomp_notif_resp);
    nix::ioctl_write_int_bad!(set_flags, nix::request_code_write!(b'!', 4, size_of::<u64>()));
}

/// How it is told what the kernel will refuse.
pub(super) struct Rules {
    /// What is allowed.
    pub allowed: Confinement,
    /// Whether the command has a file system of its own, whose mounts tell.
    pub mounts: bool,
    /// Directories that were reached without a link. If that changes meanwhile, something may not be told.
    pub without_links: Mutex<HashSet<PathBuf>>,
}

impl Rules {
    pub(super) fn new(allowed: Confinement, mounts: bool) -> Self {
        Self { allowed, mounts, without_links: Mutex::default() }
    }

    /// Whether a path is the place itself: no link stands for a part of it.
    fn is_the_place(&self, pid: u32, path: &Path, follows: bool) -> bool {
        let is_link = || follows && fs::read_link(below_root(pid, path)).is_ok();
        let Some(dir) = path.parent() else { return true };
        let mut known = self.without_links.lock().unwrap_or_else(PoisonError::into_inner);
        if known.contains(dir) {
            return !is_link();
        }
        let reached = fs::File::open(format!("/proc/{pid}/root")).ok().and_then(|root| {
            let how = OpenHow::new()
                .flags(OFlag::O_PATH | OFlag::O_CLOEXEC)
                .resolve(ResolveFlag::RESOLVE_IN_ROOT | ResolveFlag::RESOLVE_NO_SYMLINKS);
            openat2(root.as_fd(), dir.strip_prefix("/").ok()?, how).ok()
        });
        if reached.is_none() {
            return false;
        }
        if known.len() < MAX_KNOWN {
            known.insert(dir.to_owned());
        }
        !is_link()
    }
}

/// A path in the command's own file system.
fn below_root(pid: u32, path: &Path) -> PathBuf {
    Path::new(&format!("/proc/{pid}/root")).join(path.strip_prefix("/").unwrap_or(path))
}

/// How many directories are remembered.
const MAX_KNOWN: usize = 10_000;

/// Lets the kernel switch directly between the command and whoever answers it. Older ones cannot.
#[allow(unsafe_code, reason = "the kernel's own call")]
pub(super) fn answer_faster(fd: BorrowedFd<'_>) {
    const SYNC_WAKE_UP: libc::c_int = 1;
    // SAFETY: the call takes a number.
    let _ = unsafe { calls::set_flags(fd.as_raw_fd(), SYNC_WAKE_UP) };
}

/// Takes one call that waits, tells what will be refused of it, and answers it.
#[allow(unsafe_code, reason = "the kernel's own calls, with its own structures")]
pub(super) fn answer_one(
    fd: BorrowedFd<'_>,
    rules: &Rules,
    tell: &dyn Fn(Refused),
) -> io::Result<()> {
    // SAFETY: these are plain numbers, and the kernel wants them to be zero.
    let mut asked: libc::seccomp_notif = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel fills a structure that lives until the call returns.
    unsafe { calls::receive(fd.as_raw_fd(), &raw mut asked) }?;
    let call = i64::from(asked.data.nr);
    let is_socket = call == libc::SYS_socket;
    match call {
        libc::SYS_socket => tell(Refused::Network),
        libc::SYS_connect => meant(asked.pid, &asked.data.args).into_iter().for_each(tell),
        _ => refusals(asked.pid, call, &asked.data.args, rules).into_iter().for_each(tell),
    }
    let mut answer = libc::seccomp_notif_resp {
        id: asked.id,
        val: 0,
        error: if is_socket { -libc::EPERM } else { 0 },
        flags: if is_socket { 0 } else { libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE as u32 },
    };
    // SAFETY: the kernel reads a structure that lives until the call returns.
    match unsafe { calls::send(fd.as_raw_fd(), &raw mut answer) } {
        // The process was killed meanwhile.
        Ok(_) | Err(Errno::ENOENT) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Whom a connection means that cannot be made. Nobody outside is reached but through the proxy.
fn meant(pid: u32, args: &[u64; 6]) -> Option<Refused> {
    let length = usize::try_from(args[2]).ok()?.min(size_of::<libc::sockaddr_in6>());
    let bytes = read_bytes(pid, args[1], length)?;
    let part = |at: usize, length: usize| bytes.get(at..at + length);
    let family = i32::from(u16::from_ne_bytes(part(0, 2)?.try_into().ok()?));
    let port = u16::from_be_bytes(part(2, 2)?.try_into().ok()?);
    let address: IpAddr = match family {
        libc::AF_INET => <[u8; 4]>::try_from(part(4, 4)?).ok()?.into(),
        libc::AF_INET6 => <[u8; 16]>::try_from(part(8, 16)?).ok()?.into(),
        _ => return None,
    };
    // That is its own.
    if address.to_canonical().is_loopback() || address.is_unspecified() {
        return None;
    }
    Some(match port {
        NAMES => Refused::Names,
        port => Refused::Direct(SocketAddr::from((address, port)).to_string()),
    })
}

/// The port of name servers.
const NAMES: u16 = 53;

/// Bytes in the memory of another process.
fn read_bytes(pid: u32, address: u64, length: usize) -> Option<Vec<u8>> {
    let pid = Pid::from_raw(i32::try_from(pid).ok()?);
    let mut bytes = vec![0; length];
    let remote = RemoteIoVec { base: usize::try_from(address).ok()?, len: length };
    let count = process_vm_readv(pid, &mut [IoSliceMut::new(&mut bytes)], &[remote]).ok()?;
    bytes.truncate(count);
    Some(bytes)
}

/// What will be refused of a call. What cannot be told is left to the kernel alone.
fn refusals(pid: u32, call: i64, args: &[u64; 6], rules: &Rules) -> Vec<Refused> {
    let Some((_, paths)) = CALLS.iter().find(|(known, _)| *known == call) else {
        return Vec::new();
    };
    let refused = paths.iter().enumerate().filter_map(|(number, at)| {
        let path = path_of(pid, *at, args)?;
        let wanted = match (MAKES.contains(&call), MOVES.contains(&call)) {
            (true, _) => Wanted::Free,
            (_, true) if number == 1 => Wanted::Any,
            _ if OPENS.contains(&call) => Wanted::Any,
            _ => Wanted::There,
        };
        is_refused(pid, &path, wanted, FOLLOWS.contains(&call), rules)
            .then(|| rules.allowed.refused_write(&path))
    });
    refused.collect()
}

/// The path that a call names, from the root of the command's file system.
fn path_of(pid: u32, at: At, args: &[u64; 6]) -> Option<PathBuf> {
    let (argument, dir) = match at {
        At::Cwd(argument) => (argument, libc::AT_FDCWD),
        // A descriptor is a number of 32 bits.
        At::Dir(argument) => (argument, args[argument - 1] as i32),
    };
    let named = read_path(pid, args[argument])?;
    if named.as_os_str().is_empty() {
        return None;
    }
    if named.is_absolute() {
        return Some(plain(&named));
    }
    let base = match dir {
        libc::AT_FDCWD => fs::read_link(format!("/proc/{pid}/cwd")),
        fd => fs::read_link(format!("/proc/{pid}/fd/{fd}")),
    };
    Some(plain(&base.ok()?.join(named)))
}

/// Without `.` and `..`, as far as that goes without looking.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    plain
}

/// A path in the memory of another process.
fn read_path(pid: u32, address: u64) -> Option<PathBuf> {
    const PAGE: usize = 4096;
    let pid = Pid::from_raw(i32::try_from(pid).ok()?);
    let mut base = usize::try_from(address).ok()?;
    let mut bytes: Vec<u8> = Vec::new();
    while bytes.len() < libc::PATH_MAX.unsigned_abs() as usize {
        // Not beyond a page: the next one may not be there.
        let mut piece = vec![0; PAGE - base % PAGE];
        let remote = RemoteIoVec { base, len: piece.len() };
        let count = process_vm_readv(pid, &mut [IoSliceMut::new(&mut piece)], &[remote]).ok()?;
        let piece = &piece[..count];
        if let Some(end) = piece.iter().position(|byte| *byte == 0) {
            bytes.extend_from_slice(&piece[..end]);
            let path = <std::ffi::OsString as std::os::unix::ffi::OsStringExt>::from_vec(bytes);
            return Some(path.into());
        }
        bytes.extend_from_slice(piece);
        base += count;
    }
    None
}

/// Whether the kernel will refuse a write there.
fn is_refused(pid: u32, path: &Path, wanted: Wanted, follows: bool, rules: &Rules) -> bool {
    // Most calls are fine, and are not looked at further.
    if rules.allowed.may_write(path) && rules.is_the_place(pid, path, follows) {
        return false;
    }
    let Some((found, is_there)) = nearest(pid, path, follows) else { return false };
    if (wanted == Wanted::Free && is_there) || (wanted == Wanted::There && !is_there) {
        return false;
    }
    // Writing to a device or a pipe is not writing to the file system that it is in.
    let is_file = fstat(&found).is_ok_and(|stat| {
        let kind = SFlag::from_bits_truncate(stat.st_mode) & SFlag::S_IFMT;
        [SFlag::S_IFREG, SFlag::S_IFDIR, SFlag::S_IFLNK].contains(&kind)
    });
    if !is_file {
        return false;
    }
    if rules.mounts {
        return fstatvfs(&found).is_ok_and(|mount| mount.flags().contains(FsFlags::ST_RDONLY));
    }
    let real = fs::read_link(format!("/proc/self/fd/{}", found.as_raw_fd()));
    real.is_ok_and(|real| !rules.allowed.may_write(&real))
}

/// The path as the command sees it, or the nearest directory above it that is there; and whether it is the path itself.
fn nearest(pid: u32, path: &Path, follows: bool) -> Option<(OwnedFd, bool)> {
    let root = fs::File::open(format!("/proc/{pid}/root")).ok()?;
    path.ancestors().find_map(|known| {
        let itself = !follows && known == path;
        let link = if itself { OFlag::O_NOFOLLOW } else { OFlag::empty() };
        let how = OpenHow::new()
            .flags(OFlag::O_PATH | OFlag::O_CLOEXEC | link)
            .resolve(ResolveFlag::RESOLVE_IN_ROOT);
        let below = known.strip_prefix("/").unwrap_or(known);
        let below = if below.as_os_str().is_empty() { Path::new(".") } else { below };
        Some((openat2(root.as_fd(), below, how).ok()?, known == path))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_filter_asks_whoever_holds_it() {
        let asks = |also: Also| {
            let program = filter(also).unwrap();
            assert!(!program.iter().any(|step| step.k == ASKS_TRACER));
            program.iter().filter(|step| step.k == ASKS_HOLDER).count()
        };
        assert!(asks(Also::Nothing) > 0 && asks(Also::Sockets) > asks(Also::Nothing));
        assert!(asks(Also::Connections) > asks(Also::Nothing));
    }

    #[test]
    fn a_path_is_read_from_another_process_also_across_pages() {
        let own = std::process::id();
        let text = format!("/{}\0", "x/".repeat(3000 / 2));
        let address = text.as_ptr() as u64;
        let read = read_path(own, address).unwrap();
        assert_eq!(read, PathBuf::from(text.trim_end_matches('\0')));
        assert_eq!(read_path(own, 1), None);
    }

    #[test]
    fn a_connection_tells_whom_it_means() {
        let of = |family: i32, port: u16, address: &[u8]| {
            let mut bytes = u16::try_from(family).unwrap().to_ne_bytes().to_vec();
            bytes.extend(port.to_be_bytes());
            bytes.extend(address);
            bytes.resize(28, 0);
            let args = [0, bytes.as_ptr() as u64, bytes.len() as u64, 0, 0, 0];
            meant(std::process::id(), &args)
        };
        let six = |last: u8| {
            let mut address = vec![0; 4];
            address.extend([0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last]);
            address
        };
        assert_eq!(
            of(libc::AF_INET, 443, &[192, 0, 2, 1]),
            Some(Refused::Direct("192.0.2.1:443".into()))
        );
        assert_eq!(
            of(libc::AF_INET6, 80, &six(7)),
            Some(Refused::Direct("[2001:db8::7]:80".into()))
        );
        assert_eq!(of(libc::AF_INET, 53, &[192, 0, 2, 1]), Some(Refused::Names));
        assert_eq!(of(libc::AF_INET, 443, &[127, 0, 0, 1]), None, "its own");
        assert_eq!(of(libc::AF_UNIX, 0, b"/x"), None);
    }

    #[test]
    fn what_is_not_there_is_judged_by_the_directory_above() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let allowed = Confinement { writable: vec![root.join("work")], ..Confinement::default() };
        let rules = Rules::new(allowed, false);
        fs::create_dir(root.join("work")).unwrap();
        let own = std::process::id();
        let refused = |name: &str, wanted| is_refused(own, &root.join(name), wanted, true, &rules);
        assert!(!refused("work/a/b", Wanted::Any));
        assert!(refused("a/b", Wanted::Free));
        assert!(!refused("a/b", Wanted::There), "nothing is there");
        assert!(!refused("", Wanted::Free), "it is taken");
        assert!(!is_refused(own, Path::new("/dev/null"), Wanted::Any, true, &rules), "a device");
        // A link in a writable directory leads elsewhere, but may be removed.
        fs::write(root.join("file"), "").unwrap();
        std::os::unix::fs::symlink(root.join("file"), root.join("work/file")).unwrap();
        std::os::unix::fs::symlink(&root, root.join("work/dir")).unwrap();
        for link in ["work/file", "work/dir/file", "work/dir/new"] {
            assert!(refused(link, Wanted::Any), "{link}");
        }
        let removed = |name: &str| is_refused(own, &root.join(name), Wanted::There, false, &rules);
        assert!(!removed("work/file") && !removed("work/dir") && removed("work/dir/file"));
        assert_eq!(plain(Path::new("/a/./b/../c")), Path::new("/a/c"));
    }
}
