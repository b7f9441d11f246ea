//! What no child asks the kernel: the filter of system calls of either level.

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch,
};

use crate::host::{Instruction, Level, Net};

/// The ways into the kernel past the rules of files and network, and what reaches beyond the child:
/// rings make calls that no filter sees; keyrings are the user's; the rest belongs to whoever keeps the
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

/// Calls of a terminal that type for its user.
const TYPING: [u64; 2] = [0x5412 /* TIOCSTI */, 0x541C /* TIOCLINUX */];

/// The bit of a call's number that asks for x86-64's second table, which has the same calls.
const X32: i64 = 0x4000_0000;

/// All families of sockets but these.
fn but(families: &[i32]) -> Result<SeccompRule, String> {
    let not = |family: &i32| {
        let (length, family) = (SeccompCmpArgLen::Dword, u64::from(family.unsigned_abs()));
        SeccompCondition::new(0, length, SeccompCmpOp::Ne, family)
    };
    let others = families.iter().map(not).collect::<Result<Vec<_>, _>>();
    others.and_then(SeccompRule::new).map_err(|e| e.to_string())
}

/// # Errors
/// Why there is no filter for this machine.
pub(super) fn filter(level: Level, net: Net) -> Result<Vec<Instruction>, String> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = BTreeMap::new();
    for call in NEVER {
        rules.insert(call, Vec::new());
    }
    let is = |argument: u8, value: u64| {
        let condition =
            SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, value);
        condition.and_then(|condition| SeccompRule::new(vec![condition]))
    };
    let typing = TYPING.iter().map(|call| is(1, *call)).collect::<Result<Vec<_>, _>>();
    rules.insert(libc::SYS_ioctl, typing.map_err(|e| e.to_string())?);
    match (level, net) {
        // A pair of sockets is a pipe; all others have an address.
        (Level::Landlock, Net::None) => {
            rules.insert(libc::SYS_socket, Vec::new());
        }
        // Its own namespace has a loopback even so, which `bwrap` asks the kernel for, and not all families
        // know of namespaces.
        (Level::Bwrap, Net::None) => {
            rules.insert(libc::SYS_socket, vec![but(&[libc::AF_UNIX, libc::AF_NETLINK])?]);
        }
        (Level::Bwrap, Net::Loopback) => {
            let own = [libc::AF_UNIX, libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];
            rules.insert(libc::SYS_socket, vec![but(&own)?]);
        }
        _ => {}
    }
    if cfg!(target_arch = "x86_64") {
        let second: Vec<_> =
            rules.iter().map(|(call, rules)| (call | X32, rules.clone())).collect();
        rules.extend(second);
    }
    let arch = TargetArch::try_from(std::env::consts::ARCH).map_err(|e| e.to_string())?;
    let errno = SeccompAction::Errno(libc::EPERM.unsigned_abs());
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, errno, arch);
    let program: BpfProgram = filter.and_then(TryInto::try_into).map_err(|e| e.to_string())?;
    let own = |step: &seccompiler::sock_filter| Instruction {
        code: step.code,
        jt: step.jt,
        jf: step.jf,
        k: step.k,
    };
    Ok(program.iter().map(own).collect())
}
