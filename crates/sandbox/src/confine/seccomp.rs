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

/// Calls that change what a process of the user may use up: the argument that names another one, 0 for the caller itself, and
/// one that must be given for the call to change anything.
const CHANGES_OTHERS: [(i64, u8, Option<u8>); 3] = [
    (libc::SYS_prlimit64, 0, Some(2)),
    (libc::SYS_setpriority, 1, None),
    (libc::SYS_ioprio_set, 1, None),
];

/// Namespaces. A new user namespace comes with every capability in it.
const NAMESPACES: [i32; 7] = [
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWNS,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWCGROUP,
];

/// What a pair of Unix sockets can be that also sends to others (`sendto`). The kernel takes raw ones for datagrams.
const SENDS_ANYWHERE: [i32; 2] = [libc::SOCK_DGRAM, libc::SOCK_RAW];
/// The bits of a socket's type that are the type.
const TYPE: u64 = 0xf;

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
    /// Whether no socket to programs on this machine can be made. A pair of connected sockets (`socketpair`) reaches
    /// nothing and is always there.
    pub unix: bool,
}

/// Filters that are applied together.
pub(super) type Filters = [BpfProgram; 2];

/// The filters for calls that fail. Each is made once.
pub(super) fn filter(filtered: Filtered) -> Result<Filters, FilterError> {
    static MADE: Mutex<Vec<(Filtered, Filters)>> = Mutex::new(Vec::new());
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, programs)) = made.iter().find(|(known, _)| *known == filtered) {
        return Ok(programs.clone());
    }
    let programs = [make(filtered)?, without_clone3()?];
    made.push((filtered, programs.clone()));
    Ok(programs)
}

/// The flags of `clone3` are in memory, where no filter sees them. Who is told that it does not exist takes `clone`.
fn without_clone3() -> Result<BpfProgram, FilterError> {
    let rules = [(libc::SYS_clone3, Vec::new())].into_iter().collect();
    compiled(with_other_numbers(rules), SeccompAction::Errno(libc::ENOSYS.unsigned_abs()))
}

fn make(filtered: Filtered) -> Result<BpfProgram, FilterError> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> =
        DENIED.into_iter().map(|call| (call, Vec::new())).collect();
    if filtered.others {
        rules.extend(DENIED_AMONG_OTHERS.into_iter().map(|call| (call, Vec::new())));
        for (call, whom, what) in CHANGES_OTHERS {
            let given = std::iter::once(whom).chain(what);
            let conditions = given.map(|argument| {
                // A number of 32 bits, or an address.
                let length = if argument == whom {
                    SeccompCmpArgLen::Dword
                } else {
                    SeccompCmpArgLen::Qword
                };
                SeccompCondition::new(argument, length, SeccompCmpOp::Ne, 0)
            });
            rules.insert(call, vec![SeccompRule::new(conditions.collect::<Result<_, _>>()?)?]);
        }
    }
    let namespaces = NAMESPACES.into_iter().map(|flag| has_bits(0, u64::from(flag.unsigned_abs())));
    rules.insert(libc::SYS_clone, namespaces.collect::<Result<_, _>>()?);
    if filtered.unix {
        let types = SENDS_ANYWHERE.into_iter().map(|kind| {
            let kind = u64::from(kind.unsigned_abs());
            let op = SeccompCmpOp::MaskedEq(TYPE);
            SeccompRule::new(vec![SeccompCondition::new(1, SeccompCmpArgLen::Dword, op, kind)?])
        });
        rules.insert(libc::SYS_socketpair, types.collect::<Result<_, _>>()?);
    }
    let mut families = NEVER.to_vec();
    families.extend(filtered.network.then_some(NETWORK).into_iter().flatten());
    families.extend(filtered.unix.then_some(libc::AF_UNIX));
    let sockets = families.into_iter().map(is_family).collect::<Result<_, _>>()?;
    rules.insert(libc::SYS_socket, sockets);
    compiled(with_other_numbers(rules), SeccompAction::Errno(libc::EPERM.unsigned_abs()))
}

/// The same for the numbers of the other ABI.
fn with_other_numbers(
    mut rules: BTreeMap<i64, Vec<SeccompRule>>,
) -> BTreeMap<i64, Vec<SeccompRule>> {
    if let Some(bit) = OTHER_NUMBERS {
        let others: Vec<(i64, Vec<SeccompRule>)> =
            rules.iter().map(|(call, rules)| (call | bit, rules.clone())).collect();
        rules.extend(others);
    }
    rules
}

/// An argument with all of these bits.
fn has_bits(argument: u8, bits: u64) -> Result<SeccompRule, BackendError> {
    let op = SeccompCmpOp::MaskedEq(bits);
    SeccompRule::new(vec![SeccompCondition::new(argument, SeccompCmpArgLen::Qword, op, bits)?])
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

/// Applies filters to this process, for good.
pub(super) fn apply(filters: &Filters) -> io::Result<()> {
    filters.iter().try_for_each(|filter| {
        seccompiler::apply_filter(filter)
            .map_err(|_| io::Error::from(io::ErrorKind::PermissionDenied))
    })
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
