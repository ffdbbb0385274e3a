//! System calls that a confined command must not make, and capabilities that it must not have.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Mutex, PoisonError};

use nix::libc;
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition,
    SeccompFilter, SeccompRule, TargetArch,
};

/// Why there is no filter.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct FilterError(String);

impl From<BackendError> for FilterError {
    fn from(error: BackendError) -> Self {
        Self(error.to_string())
    }
}

/// Calls that reach the kernel itself, or around the other rules. `io_uring` makes calls that no filter sees.
const DENIED: [i64; 24] = [
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_mount_setattr,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_chroot,
    libc::SYS_open_by_handle_at,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_kexec_load,
    libc::SYS_reboot,
];

/// Calls that reach into other processes. In a process namespace of its own there are none but the command's.
const DENIED_AMONG_OTHERS: [i64; 5] = [
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_kcmp,
    libc::SYS_pidfd_getfd,
];

/// Families of sockets that lead past the network: to the wire, to the hypervisor.
const NEVER: [i32; 2] = [libc::AF_PACKET, libc::AF_VSOCK];
/// Families of the network.
pub(super) const NETWORK: [i32; 2] = [libc::AF_INET, libc::AF_INET6];

/// The bit of system calls in the ABI x32, which have numbers of their own.
#[cfg(target_arch = "x86_64")]
const OTHER_NUMBERS: Option<i64> = Some(0x4000_0000);
#[cfg(not(target_arch = "x86_64"))]
const OTHER_NUMBERS: Option<i64> = None;

/// What a filter has to see to. Elsewhere namespaces do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(super) struct Filtered {
    /// Whether there are processes of others.
    pub others: bool,
    /// Whether no socket of the network can be made.
    pub network: bool,
    /// Whether no socket to programs on this machine can be made. A pair of sockets (`socketpair`) reaches nothing and
    /// is always there.
    pub unix: bool,
}

/// The filter for calls that fail. Each is made once.
pub(super) fn filter(filtered: Filtered) -> Result<BpfProgram, FilterError> {
    static MADE: Mutex<Vec<(Filtered, BpfProgram)>> = Mutex::new(Vec::new());
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, program)) = made.iter().find(|(known, _)| *known == filtered) {
        return Ok(program.clone());
    }
    let program = make(filtered)?;
    made.push((filtered, program.clone()));
    Ok(program)
}

fn make(filtered: Filtered) -> Result<BpfProgram, FilterError> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> =
        DENIED.into_iter().map(|call| (call, Vec::new())).collect();
    if filtered.others {
        rules.extend(DENIED_AMONG_OTHERS.into_iter().map(|call| (call, Vec::new())));
    }
    let mut families = NEVER.to_vec();
    families.extend(filtered.network.then_some(NETWORK).into_iter().flatten());
    families.extend(filtered.unix.then_some(libc::AF_UNIX));
    let sockets = families.into_iter().map(is_family).collect::<Result<_, _>>()?;
    rules.insert(libc::SYS_socket, sockets);
    if let Some(bit) = OTHER_NUMBERS {
        let others: Vec<(i64, Vec<SeccompRule>)> =
            rules.iter().map(|(call, rules)| (call | bit, rules.clone())).collect();
        rules.extend(others);
    }
    compiled(rules, SeccompAction::Errno(libc::EPERM.unsigned_abs()))
}

/// A filter with one action for the calls of its rules.
pub(super) fn compiled(
    rules: BTreeMap<i64, Vec<SeccompRule>>,
    action: SeccompAction,
) -> Result<BpfProgram, FilterError> {
    let arch = TargetArch::try_from(std::env::consts::ARCH)?;
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, action, arch)?;
    Ok(filter.try_into()?)
}

pub(super) fn is_family(family: i32) -> Result<SeccompRule, BackendError> {
    let family = u64::from(family.unsigned_abs());
    let is = SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, family)?;
    SeccompRule::new(vec![is])
}

/// Applies a filter to this process, for good.
pub(super) fn apply(filter: &BpfProgram) -> io::Result<()> {
    seccompiler::apply_filter(filter).map_err(|_| io::Error::from(io::ErrorKind::PermissionDenied))
}

/// Gives up every capability, for good. Without any there is nothing to give up.
#[allow(unsafe_code, reason = "no library in the tree drops capabilities between fork and exec")]
pub(super) fn drop_capabilities() -> io::Result<()> {
    #[repr(C)]
    struct Header {
        version: u32,
        pid: i32,
    }
    const VERSION_3: u32 = 0x2008_0522;
    // SAFETY: these are system calls with numbers, and with pointers to values that live until they return.
    unsafe {
        // Until there is no such capability; not allowed means that there is none to be had.
        for capability in 0..64_u64 {
            if libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0) != 0 {
                break;
            }
        }
        libc::prctl(libc::PR_CAP_AMBIENT, libc::PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
        let header = Header { version: VERSION_3, pid: 0 };
        let nothing = [0_u32; 6];
        match libc::syscall(libc::SYS_capset, &raw const header, nothing.as_ptr()) {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}
