//! The binary: arguments in, exit status out.

use std::panic::catch_unwind;
use std::process::ExitCode;

fn main() -> ExitCode {
    // A panic is a bug in rye; its message goes to standard error and the status says so.
    catch_unwind(|| rye::run(std::env::args_os())).unwrap_or(ExitCode::from(70))
}
