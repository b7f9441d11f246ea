//! rye.
mod base;
mod chain;
mod cli;
mod diag;
mod execute;
mod grant;
mod host;
mod id;
mod interpolate;
mod parse;
mod pipeline;
mod plan;
mod report;
mod resolve;
mod space;
mod store;
mod trace;
mod validate;
mod verify;

pub use pipeline::{Failure, Request, Rye, RyeBuilder};

/// Reads the command line of this process, runs the verb and shows the result.
pub fn run(argv: impl IntoIterator<Item = std::ffi::OsString>) -> std::process::ExitCode {
    cli::run(argv)
}
