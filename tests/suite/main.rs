//! The one integration binary: rye from outside, through its door.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    unreachable_pub,
    reason = "tests say what failed"
)]

mod attacks;
mod chains;
mod cli;
mod config;
mod directives;
<<<<<<< HEAD
mod files;
=======
mod faults;
>>>>>>> b6591a2 (writes: a rotation is done or not begun; temporary names nobody can foresee, swept when they are left; every call that changes the disk met by a fault)
mod golden;
mod keys;
mod matrix;
mod promises;
mod provoked;
mod readme;
mod signing;
mod spaces;
mod stdlib;
mod terminal;
mod tidy;
mod tools;
mod world;
