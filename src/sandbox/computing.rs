//! A process that only computes: it keeps the descriptors that it has, and can reach nothing else.
//!
//! For the worker of a snippet, which takes itself down to this before it reads the snippet. That
//! takes less than a millisecond, which `bwrap` does not. Calling it only takes rights away.

use std::io;

use rustix::process::{Resource, Rlimit, setrlimit};
use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities};

use super::{landlock, seccomp};
use crate::host::{filter_calls, landlock_enter, landlock_version};

/// Holds this process, which must have one thread, to computing: no file, no socket, no program, no
/// other process. `memory` bytes of address space beside what it has now, and `cpu_seconds` of
/// processor time, are left to it.
///
/// Where the kernel has no landlock, the filter of system calls alone holds it; see
/// [`what_is_missing`].
///
/// # Errors
/// An error of the kernel; the process must end then.
pub(crate) fn only_compute(memory: u64, cpu_seconds: u64) -> io::Result<()> {
    let space = address_space()?.saturating_add(memory);
    let rules = landlock::nothing().map_err(io::Error::other)?;
    let filter = seccomp::computing().map_err(io::Error::other)?;
    let limits =
        [(Resource::As, space), (Resource::Core, 0), (Resource::Nofile, 0), (Resource::Nproc, 0)];
    if let Some(rules) = rules {
        landlock_enter(&rules)?;
    } else {
        rustix::thread::set_no_new_privs(true)?;
    }
    let none = CapabilitySet::empty();
    set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })?;
    for (resource, most) in limits {
        setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) })?;
    }
    // The first ends it with a signal that says why.
    let (soft, hard) = (Some(cpu_seconds), Some(cpu_seconds + 1));
    setrlimit(Resource::Cpu, Rlimit { current: soft, maximum: hard })?;
    filter_calls(&filter)
}

/// The name of the layer that does not hold such a process on this machine; `None` if every layer
/// does.
pub(crate) fn what_is_missing() -> Option<&'static str> {
    landlock_version().is_err().then_some("landlock")
}

/// The size of this process in bytes, as the kernel counts it for the limit.
fn address_space() -> io::Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let size = status.lines().find_map(|line| line.strip_prefix("VmSize:"));
    let kib = size.and_then(|size| size.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    kib.map(|kib| kib << 10).ok_or_else(|| io::Error::other("/proc/self/status tells no size"))
}
