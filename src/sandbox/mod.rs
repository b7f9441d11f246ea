//! Sandbox: what a child may touch, held to it by the machine (sandbox.md).
//!
//! Layer 12. Sees `host`. In: a policy that a plan made of signed items. Out: a child that is held
//! to it by the strongest level that works here, or a refusal; never a weaker one unsaid.
//!
//! - `confined.rs` the host that confines, and the choice of the level · `probe.rs` which levels
//!   work here, and why not · `bwrap.rs` namespaces, by `bwrap`, and `inside.rs` the step into them ·
//!   `landlock.rs` rules on files · `cgroup.rs` what is counted for a run as a whole ·
//!   `seccomp.rs` what no child asks the kernel · `split.rs` the parts of a grant that hold nothing
//!   kept · `mount_points.rs` places that are made to be kept, and gone afterwards
//!
//! The types of a policy lie in `host`, since plans name them. Nothing here widens: each step takes
//! a policy and gives one that lets through the same or less.

mod bwrap;
mod cgroup;
mod confined;
mod inside;
mod landlock;
mod mount_points;
mod probe;
mod seccomp;
mod split;

pub(crate) use confined::Confined;
pub(crate) use inside::enter;
pub(crate) use probe::tried;
