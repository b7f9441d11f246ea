//! The attempts of a held worker to get out, with the result of each. Only in a build for tests.

use std::io::{self, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::Command;

/// The last argument of a worker that tries.
pub(super) const ENTRY: &str = "--try-to-escape";

/// Tries, and prints a line for each try: its name and what came of it.
pub(super) fn show() -> io::Result<()> {
    let ended = |result: io::Result<()>| match result {
        Ok(()) => "done".to_owned(),
        Err(error) => error.raw_os_error().map_or(error.to_string(), |number| number.to_string()),
    };
    let socket = |family| {
        let kind = rustix::net::SocketType::STREAM;
        rustix::net::socket(family, kind, None).map(drop).map_err(io::Error::from)
    };
    let tries = [
        ("open", std::fs::File::open("/proc/self/status").map(drop)),
        ("create", std::fs::File::create("/tmp/rye-worker-was-here").map(drop)),
        ("list", std::fs::read_dir("/").map(drop)),
        ("socket", socket(rustix::net::AddressFamily::INET)),
        ("unix-socket", socket(rustix::net::AddressFamily::UNIX)),
        ("execve", Err(Command::new("/bin/true").exec())),
        ("fork", Command::new("/bin/true").spawn().map(drop)),
        ("thread", std::thread::Builder::new().spawn(|| ()).map(drop)),
        ("ptrace", crate::host::trace_me()),
        (
            "kill",
            rustix::process::kill_process(rustix::process::Pid::INIT, rustix::process::Signal::URG)
                .map_err(io::Error::from),
        ),
        (
            "limit",
            rustix::process::setrlimit(
                rustix::process::Resource::Cpu,
                rustix::process::Rlimit { current: Some(1_000), maximum: Some(1_000) },
            )
            .map_err(io::Error::from),
        ),
    ];
    let mut out = io::stdout();
    for (name, result) in tries {
        writeln!(out, "{name} {}", ended(result))?;
    }
    out.flush()
}
