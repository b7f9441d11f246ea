//! Sandbox: what a child may touch, held to it by the machine (sandbox.md).
//!
//! Layer 12. Sees `host`. In: a policy that a plan made of signed items. Out: a child that is held to it
//! by the strongest level that works here, or a refusal; never a weaker one unsaid.
//!
//! - `confined.rs` the host that confines, and the choice of the level · `probe.rs` which levels work
//!   here, and why not · `bwrap.rs` namespaces, by `bwrap` · `landlock.rs` rules on files ·
//!   `seccomp.rs` what no child asks the kernel, at either level · `parts.rs` the parts of a grant that
//!   hold nothing kept · `mount_points.rs` places that are made to be kept, and gone afterwards
//!
//! The types of a policy lie in `host`, since plans name them. Nothing here widens: each step takes a
//! policy and gives one that lets through the same or less.

mod bwrap;
mod confined;
mod landlock;
mod mount_points;
mod parts;
mod probe;
mod seccomp;

pub(crate) use confined::Confined;
pub(crate) use probe::tried;
