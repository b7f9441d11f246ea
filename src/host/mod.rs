//! Host: the one seam to the machine, and its real implementation.
//!
//! Sees `base`. Decides no policy: a plan says what to run, the host runs just that.
//!
//! - `account.rs` the caller, by the user database · `below_a_run.rs` whether that is a run ·
//!   `host.rs` the trait and what it promises,
//!   `contract.rs` the same held against each host · `os.rs` the real one · `persistent.rs` a
//!   child that others talk with · `apart.rs` what goes on by itself ·
//!   `pipes.rs` the one loop over a child's streams ·
//!   `file_lookup.rs` and `named_below.rs` its eyes · `unix.rs`, `signals.rs` and `kernel.rs` the
//!   few calls that need `unsafe` ·
//!   `namespaces.rs` those that make a child's own root and network ·
//!   `observe.rs` what a child does, `ptrace.rs` its calls · `net.rs` HTTP as data,
//!   `exchange.rs` with the real network, `answer_stream.rs` where an answer comes piece by piece ·
//!   `environment.rs` the variables, read once ·
//!   `pool.rs` threads on which calls run at once, each of which can be cancelled ·
//!   `stop_watch.rs` a thread that another process can stop, `kill_tree.rs` a process
//!   with all that it started ·
//!   `private_dir.rs` the private folder of a run, `remove_tree.rs` its end ·
//!   `confinement.rs` what a child may touch, as data · `egress.rs` what it may reach outside, and
//!   what it did

mod account;
#[cfg(feature = "http")]
mod answer_stream;
mod apart;
mod below_a_run;
mod confinement;
#[cfg(test)]
mod contract;
mod egress;
#[cfg(test)]
mod egress_tests;
mod environment;
#[cfg(feature = "http")]
mod exchange;
#[cfg(feature = "http")]
mod exchange_fault;
mod file_lookup;
#[cfg(any(feature = "mcp", feature = "node"))]
mod heard;
#[expect(clippy::module_inception, reason = "the trait's own file, named as the design names it")]
mod host;
mod kernel;
mod kill_tree;
mod named_below;
mod namespaces;
mod net;
mod observe;
mod os;
mod persistent;
mod pipes;
mod pool;
mod private_dir;
mod ptrace;
mod remove_tree;
mod signals;
mod stop_watch;
mod unix;

pub(crate) use account::{home_of, is_own_private_group, own_home, own_uid, user_name};
pub(crate) use apart::{DETACHED_RUN, ProgramFile};
pub(crate) use below_a_run::{ProcessesAbove, RUN_VAR, THREAD_VAR, is_below_a_run};
pub(crate) use confinement::{
    CODES, CannotConfine, Caps, ChildSandbox, Commits, Confinement, DeclaredNet, EgressOfRun,
    InnerRepositories, KeptPath, Lacking, Ladder, Net, Policy, SANDBOX_FAILED, SandboxLevel,
};
pub(crate) use egress::HOP_BY_HOP;
pub(crate) use egress::{
    Egress, HostTraffic, Refusal, RefusedCall, Service, ServiceText, Traffic, fits_header,
    service_line,
};
#[cfg(feature = "http")]
pub(crate) use egress::{REFUSED_HEADER, plain_path};
pub(crate) use environment::Vars;
#[cfg(feature = "http")]
pub(crate) use exchange::OuterProxy;
pub(crate) use file_lookup::{PathLookup, read as read_small};
#[cfg(any(feature = "mcp", feature = "node"))]
pub(crate) use heard::heard;
pub(crate) use host::{
    ChildEvent, ChildResult, Host, NewRepositories, OutputStream, PlaceKind, ResolvedPath, Spawn,
};
#[cfg(feature = "code")]
pub(crate) use kernel::LimitedMemory;
pub(crate) use kernel::{
    attempt, filter_calls, handed_down, landlock_allow, landlock_enter, landlock_version,
    lead_own_session,
};
pub(crate) use kill_tree::kill_tree;
pub(crate) use named_below::NamedBelow;
pub(crate) use namespaces::{HandsOut, Mount, Mounted, Namespaces, NamespacesNotMade, OwnNetwork};
pub(crate) use net::{AnswerPart, HttpAnswer, HttpCall, NetFault, NetSettings};
pub(crate) use observe::{Access, Accesses};
pub(crate) use os::Os;
pub(crate) use persistent::{KeptByChild, PersistentChild, end_apart, start_apart};
pub(crate) use pipes::IoRound;
pub(crate) use private_dir::{PrivateDir, PrivateDirError};
pub(crate) use ptrace::can_watch;
#[cfg(all(feature = "code", debug_build))]
pub(crate) use ptrace::trace_me;
pub(crate) use signals::{
    Signals, hear_again, hear_interrupts_alone, hold_signals, raise, send_on,
};
pub(crate) use stop_watch::StopWatch;
pub(crate) use unix::{Instruction, Restrict};

#[cfg(feature = "mcp")]
pub(crate) use pool::Ticket;
pub(crate) use pool::{Job, Pool, PoolError, PoolSize, attended};
