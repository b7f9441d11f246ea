//! The filters of system calls, for both levels.

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch,
};

use crate::host::{Instruction, Net, SandboxLevel};

/// Calls that bypass the rules on files and network, or that reach beyond the child: `io_uring`
/// makes calls that no filter sees, keyrings belong to the user, and the others administer the
/// machine.
const NEVER: [i64; 14] = [
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_kexec_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_reboot,
];

/// System V objects and message queues, which belong to a user and not to a file. At the level
/// `bwrap` a tool has its own namespace for them.
const SHARED_OBJECTS: [i64; 14] = [
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_shmdt,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_semctl,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
];

/// A watch reports names and changes of files that may not be read, and landlock has no rule for
/// it. At the level `bwrap` a tool sees only what is granted.
const WATCHES: &[i64] = &[
    #[cfg(target_arch = "x86_64")]
    libc::SYS_inotify_init,
    libc::SYS_inotify_init1,
    libc::SYS_fanotify_init,
];

/// Calls that change another process of the same user, and for which landlock has no rule, each
/// with the index of the argument that names the process; 0 is the caller itself. At the level
/// `bwrap` a tool sees only the processes of its own run.
const OF_A_PROCESS: [(i64, u8); 7] = [
    (libc::SYS_prlimit64, 0),
    (libc::SYS_sched_setaffinity, 0),
    (libc::SYS_sched_setscheduler, 0),
    (libc::SYS_sched_setparam, 0),
    (libc::SYS_sched_setattr, 0),
    (libc::SYS_setpriority, 1),
    (libc::SYS_ioprio_set, 1),
];

/// Of these calls, the value of the first argument that means a process, not a group or a user.
const WHICH_PROCESS: [(i64, u64); 2] = [
    (libc::SYS_setpriority, 0 /* PRIO_PROCESS */),
    (libc::SYS_ioprio_set, 1 /* IOPRIO_WHO_PROCESS */),
];

/// Requests of `ioctl` that put characters into the input of a terminal.
const TYPING: [u64; 2] = [0x5412 /* TIOCSTI */, 0x541C /* TIOCLINUX */];

/// Requests of `fcntl` by which a program that may only read a file holds up those that open it, or
/// hears of them: leases and watches of folders.
const HOLDING: [u64; 2] = [1024 /* F_SETLEASE */, 1026 /* F_NOTIFY */];

/// Requests of `ioctl` that set the flags of a file, for which landlock has no rule.
const FLAGS: [u64; 3] = [
    0x4008_6602, // FS_IOC_SETFLAGS
    0x4004_6602, // FS_IOC32_SETFLAGS
    0x401C_5820, // FS_IOC_FSSETXATTR
];

/// Calls that set the attributes of a file, access lists among them, and for which landlock has no
/// rule. They fail as on a file system without attributes, which programs know.
const ATTRIBUTES: [i64; 8] = [
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    463, // setxattrat, on every architecture
    466, // removexattrat
];

/// Calls that set the mode of a file, each with the index of that argument. `mkdir` is not among
/// them: the kernel ignores these bits there.
const MODES: &[(i64, u8)] = &[
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_chmod, 1),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_creat, 1),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_mknod, 1),
    (libc::SYS_fchmod, 1),
    (libc::SYS_fchmodat, 2),
    (libc::SYS_fchmodat2, 2),
    (libc::SYS_mknodat, 2),
];

/// Calls that set a mode if they create a file, with the indexes of the flags and of the mode.
const OPENS: &[(i64, u8, u8)] = &[
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_open, 1, 2),
    (libc::SYS_openat, 2, 3),
];

/// The set-user-id and the set-group-id bit of a mode.
const SET_ID: [u64; 2] = [0o4000, 0o2000];

/// The flags by which [`OPENS`] create a file.
const MAKES: [u64; 2] =
    [0o100 /* O_CREAT */, 0o20_000_000 /* O_TMPFILE without O_DIRECTORY */];

/// The bit in a call's number that selects the x32 table of x86-64, which has the same calls.
const X32: i64 = 0x4000_0000;

/// The families of sockets of a tool whose network is rye's proxy.
const OF_THE_PROXY: [i32; 3] = [libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];

/// Matches if the argument has another value.
fn is_not(argument: u8, value: u64) -> Result<SeccompRule, String> {
    let (length, differs) = (SeccompCmpArgLen::Dword, SeccompCmpOp::Ne);
    let condition = SeccompCondition::new(argument, length, differs, value);
    condition.and_then(|it| SeccompRule::new(vec![it])).map_err(|e| e.to_string())
}

/// Match every pair of sockets that is not a pipe. Those of datagrams can also send to an address,
/// and the kernel makes such ones of other types too: of unix sockets `SOCK_RAW` is one.
fn pairs_but_pipes() -> Result<Vec<SeccompRule>, String> {
    let pipes = [1 /* SOCK_STREAM */, 5 /* SOCK_SEQPACKET */];
    // The other bits of the argument are flags.
    let others = (0..=0xf).filter(|kind| !pipes.contains(kind));
    let is = |kind: u64| {
        let (length, masked) = (SeccompCmpArgLen::Dword, SeccompCmpOp::MaskedEq(0xf));
        let condition = SeccompCondition::new(1, length, masked, kind);
        condition.and_then(|it| SeccompRule::new(vec![it])).map_err(|e| e.to_string())
    };
    others.map(is).collect()
}

/// Matches all address families but these.
fn but(families: &[i32]) -> Result<SeccompRule, String> {
    let not = |family: &i32| {
        let (length, family) = (SeccompCmpArgLen::Dword, u64::from(family.unsigned_abs()));
        SeccompCondition::new(0, length, SeccompCmpOp::Ne, family)
    };
    let others = families.iter().map(not).collect::<Result<Vec<_>, _>>();
    others.and_then(SeccompRule::new).map_err(|e| e.to_string())
}

/// Matches if all of these arguments have the bits set.
fn has_bits(wanted: &[(u8, u64)]) -> Result<SeccompRule, String> {
    let has = |(argument, bits): &(u8, u64)| {
        let (length, has) = (SeccompCmpArgLen::Dword, SeccompCmpOp::MaskedEq(*bits));
        SeccompCondition::new(*argument, length, has, *bits)
    };
    let all = wanted.iter().map(has).collect::<Result<Vec<_>, _>>();
    all.and_then(SeccompRule::new).map_err(|e| e.to_string())
}

/// The filter that the child starts with; `is_last` says that it executes the tool itself, and not
/// the program `bwrap`, which needs more than the tool has.
///
/// # Errors
/// Why there is no filter for this machine.
pub(super) fn filter(
    level: SandboxLevel,
    net: Net,
    is_last: bool,
) -> Result<Vec<Instruction>, String> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = BTreeMap::new();
    for call in NEVER {
        rules.insert(call, Vec::new());
    }
    let is = |argument: u8, value: u64| {
        let condition =
            SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, value);
        condition.and_then(|condition| SeccompRule::new(vec![condition]))
    };
    let asks = |requests: &[u64]| {
        let asked = requests.iter().map(|request| is(1, *request)).collect::<Result<Vec<_>, _>>();
        asked.map_err(|e| e.to_string())
    };
    rules.insert(libc::SYS_ioctl, asks(&TYPING)?);
    rules.insert(libc::SYS_fcntl, asks(&HOLDING)?);
    // A set-id program would later run as its owner, outside of any sandbox.
    for bit in SET_ID {
        for (call, mode) in MODES {
            rules.entry(*call).or_default().push(has_bits(&[(*mode, bit)])?);
        }
        for ((call, flags, mode), makes) in OPENS.iter().flat_map(|o| MAKES.map(|m| (o, m))) {
            rules.entry(*call).or_default().push(has_bits(&[(*flags, makes), (*mode, bit)])?);
        }
    }
    if level == SandboxLevel::Landlock {
        rules.extend(SHARED_OBJECTS.iter().chain(WATCHES).map(|call| (*call, Vec::new())));
        rules.entry(libc::SYS_ioctl).or_default().extend(asks(&FLAGS)?);
        for (call, argument) in OF_A_PROCESS {
            rules.entry(call).or_default().push(is_not(argument, 0)?);
        }
        for (call, process) in WHICH_PROCESS {
            rules.entry(call).or_default().push(is_not(0, process)?);
        }
    }
    match (level, net) {
        _ if is_last && net == Net::None => {
            rules.insert(libc::SYS_socket, Vec::new());
            rules.insert(libc::SYS_socketpair, pairs_but_pipes()?);
        }
        _ if is_last && net == Net::Hosts => {
            rules.insert(libc::SYS_socket, vec![but(&OF_THE_PROXY)?]);
            rules.insert(libc::SYS_socketpair, pairs_but_pipes()?);
        }
        // Not all families are confined by a network namespace. `bwrap` needs these two to set up
        // the loopback of its own one.
        (SandboxLevel::Bwrap, Net::None) => {
            rules.insert(libc::SYS_socket, vec![but(&[libc::AF_UNIX, libc::AF_NETLINK])?]);
        }
        (SandboxLevel::Bwrap, Net::Loopback | Net::Hosts) => {
            let own = [libc::AF_UNIX, libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];
            rules.insert(libc::SYS_socket, vec![but(&own)?]);
        }
        _ => {}
    }
    // `openat2` passes its mode in memory, which no filter can read. It fails as on a kernel before
    // 5.6, and programs that use it fall back to `openat`; systemd's `RestrictSUIDSGID` does so.
    let mut missing = vec![(437 /* on every architecture */, libc::ENOSYS)];
    if level == SandboxLevel::Landlock {
        missing.extend(ATTRIBUTES.map(|call| (call, libc::ENOTSUP)));
    }
    let mut filter = without(&missing);
    filter.extend(compiled(rules)?);
    Ok(filter)
}

/// Begins a filter in which these calls fail, each with its error.
fn without(calls: &[(i64, i32)]) -> Vec<Instruction> {
    const LOAD: u16 = 0x20; // BPF_LD | BPF_W | BPF_ABS
    const IS: u16 = 0x15; // BPF_JMP | BPF_JEQ | BPF_K
    const ANSWER: u16 = 0x06; // BPF_RET | BPF_K
    const SECOND: u32 = 0x4000_0000; // see `X32`
    let step = |code: u16, jt: u8, jf: u8, k: u32| Instruction { code, jt, jf, k };
    // The number of the call stands first in `struct seccomp_data`.
    let mut steps = vec![step(LOAD, 0, 0, 0)];
    for (call, error) in calls {
        let refused = libc::SECCOMP_RET_ERRNO | error.unsigned_abs();
        let call = u32::try_from(*call).unwrap_or(u32::MAX);
        steps.extend([
            step(IS, 1, 0, call),
            step(IS, 0, 1, SECOND | call),
            step(ANSWER, 0, 0, refused),
        ]);
    }
    steps
}

/// The filter for a tool without a network, installed when `bwrap` is done: a unix socket would
/// reach services that listen in a folder that may only be read.
///
/// # Errors
/// Why there is no filter for this machine.
pub(super) fn without_sockets() -> Result<Vec<Instruction>, String> {
    compiled(BTreeMap::from([
        (libc::SYS_socket, Vec::new()),
        (libc::SYS_socketpair, pairs_but_pipes()?),
    ]))
}

/// The filter for a tool whose network is rye's proxy, installed when `bwrap` is done: a unix
/// socket that lies in one of its folders would lead past the proxy.
///
/// # Errors
/// Why there is no filter for this machine.
pub(super) fn without_unix_sockets() -> Result<Vec<Instruction>, String> {
    compiled(BTreeMap::from([
        (libc::SYS_socket, vec![but(&OF_THE_PROXY)?]),
        (libc::SYS_socketpair, pairs_but_pipes()?),
    ]))
}

/// The system calls left to a process that computes and talks over the descriptors that it has: it
/// reads, writes, takes memory, looks at the clock and ends.
#[cfg(feature = "code")]
const COMPUTING: [i64; 15] = [
    libc::SYS_read,
    libc::SYS_write,
    libc::SYS_futex,
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_madvise,
    libc::SYS_brk,
    libc::SYS_clock_gettime,
    libc::SYS_gettimeofday,
    libc::SYS_getrandom,
    libc::SYS_restart_syscall,
    libc::SYS_rt_sigreturn,
    libc::SYS_sigaltstack,
    libc::SYS_exit,
    libc::SYS_exit_group,
];

/// The filter of a process that only computes: a list of what is allowed. Memory may be had, but
/// none that is a file's and none that can be executed.
///
/// All else fails with `EPERM` and does not kill: a C library asks for this and that in passing,
/// such as the time zone's file, and goes on without it. What is asked for is not done either way.
///
/// # Errors
/// Why there is no filter for this machine.
#[cfg(feature = "code")]
pub(super) fn computing() -> Result<Vec<Instruction>, String> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> =
        COMPUTING.iter().map(|call| (*call, Vec::new())).collect();
    let has = |argument: u8, mask: i32, wanted: i32| {
        let (mask, wanted) = (u64::from(mask.unsigned_abs()), u64::from(wanted.unsigned_abs()));
        let masked = SeccompCmpOp::MaskedEq(mask);
        SeccompCondition::new(argument, SeccompCmpArgLen::Dword, masked, wanted)
    };
    let rule = |conditions: Result<Vec<SeccompCondition>, _>| {
        conditions.and_then(SeccompRule::new).map_err(|e| e.to_string())
    };
    let not_executed = || has(2, libc::PROT_EXEC, 0);
    let of_no_file = || has(3, libc::MAP_ANONYMOUS, libc::MAP_ANONYMOUS);
    let mapped = rule([not_executed(), of_no_file()].into_iter().collect())?;
    rules.insert(libc::SYS_mmap, vec![mapped]);
    rules.insert(libc::SYS_mprotect, vec![rule([not_executed()].into_iter().collect())?]);
    built(rules, SeccompAction::Errno(libc::EPERM.unsigned_abs()), SeccompAction::Allow)
}

fn compiled(mut rules: BTreeMap<i64, Vec<SeccompRule>>) -> Result<Vec<Instruction>, String> {
    if cfg!(target_arch = "x86_64") {
        let second: Vec<_> =
            rules.iter().map(|(call, rules)| (call | X32, rules.clone())).collect();
        rules.extend(second);
    }
    built(rules, SeccompAction::Allow, SeccompAction::Errno(libc::EPERM.unsigned_abs()))
}

/// A filter that answers calls which match a rule by `listed`, and all others by `otherwise`.
fn built(
    rules: BTreeMap<i64, Vec<SeccompRule>>,
    otherwise: SeccompAction,
    listed: SeccompAction,
) -> Result<Vec<Instruction>, String> {
    let arch = TargetArch::try_from(std::env::consts::ARCH).map_err(|e| e.to_string())?;
    let filter = SeccompFilter::new(rules, otherwise, listed, arch);
    let program: BpfProgram = filter.and_then(TryInto::try_into).map_err(|e| e.to_string())?;
    let own = |step: &seccompiler::sock_filter| Instruction {
        code: step.code,
        jt: step.jt,
        jf: step.jf,
        k: step.k,
    };
    Ok(program.iter().map(own).collect())
}
