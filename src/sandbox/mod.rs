//! Sandbox: enforces what a child may touch (sandbox.md).
//!
//! Sees `host` and `proxy`.
//!
//! In:  a policy that a plan made of signed items.
//! Out: a child that the strongest working level confines, or a refusal. What a level cannot
//!      enforce stands in `missing`.
//!
//! - `confined.rs` the host that confines its children, and the choice of the level ·
//!   `probe.rs` which levels work here, and why not · `bwrap.rs` the level with namespaces,
//!   `inside.rs` its last step where the program `bwrap` makes them, `listeners.rs` sockets of the
//!   tool's network, `way_out.rs` the proxy that accepts from them, and `way_in.rs` the ports of
//!   the machine that lead there · `landlock.rs` the
//!   level with rules on files · `seccomp.rs` the filters of system calls · `cgroup.rs` limits of a
//!   run as a whole · `computing.rs` a process of rye that only computes · `split.rs` the parts of
//!   a grant without protected places · `ssh_settings.rs` root's settings of ssh for an ordinary
//!   user · `mount_points.rs` placeholders for places that do not exist
//!
//! The types of a policy lie in `host`, because plans use them. No step widens a policy.

mod bwrap;
mod cgroup;
#[cfg(feature = "code")]
mod computing;
mod confined;
mod inside;
mod landlock;
mod listeners;
mod mount_points;
mod probe;
mod seccomp;
mod split;
mod ssh_settings;
mod way_in;
#[cfg_attr(not(feature = "http"), path = "no_way_out.rs")]
mod way_out;

#[cfg(feature = "code")]
pub(crate) use computing::{only_compute, what_is_missing};
pub(crate) use confined::Confined;
pub(crate) use inside::enter;
pub(crate) use probe::{keep_below, tried};
