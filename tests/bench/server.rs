//! One call of a server beside the bare pipe to the same program and beside one process a call (p7
//! of the performance goals):
//!
//! - `cargo bench --features bench --bench server` prints microseconds, `name p50 p99 minimum`, and
//!   the ratios; all sides in turn, a block of each a round
//!
//! The program is this one, started with `--serve`: what it does with a line is next to nothing.

#![expect(clippy::print_stdout, reason = "the numbers are for whoever reads them")]

use std::ffi::OsString;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rye::{Request, RyeBuilder};

const ROUNDS: usize = 10;
/// Calls of each side in a round; of a process a call, a hundredth.
const CALLS: usize = 2_000;

fn main() {
    let args: Vec<String> = std::env::args().collect();
    match args.get(1).map(String::as_str) {
        Some("--serve") => serve(usize::MAX),
        Some("--once") => serve(1),
        _ => measure(),
    }
}

/// Answers each line with its id.
fn serve(lines: usize) {
    let mut out = std::io::stdout();
    let mut input = BufReader::new(std::io::stdin());
    let mut line = String::new();
    for _ in 0..lines {
        line.clear();
        if input.read_line(&mut line).is_ok_and(|read| read == 0) {
            return;
        }
        let id = line.split("\"id\":").nth(1).and_then(|rest| rest.split(',').next());
        let answer = format!("{{\"jsonrpc\":\"2.0\",\"id\":{},\"result\":1}}\n", id.unwrap_or("0"));
        drop(out.write_all(answer.as_bytes()));
    }
}

fn measure() {
    let program = std::env::current_exe().expect("the path of this program");
    let folder = world(&program);
    let (project, vars) = (folder.path().join("project"), vars(folder.path()));
    let rye = RyeBuilder::new().vars(vars).cwd(&project).project(&project).build();
    let rye = rye.expect("an accepted project");
    let through = |item: &str, count: usize| -> Vec<Duration> {
        let request = Request::new(item).param("text", "a short text");
        let call = || {
            let start = Instant::now();
            let got = rye.run_json(&request);
            assert_eq!(got["status"], "success", "{got}");
            start.elapsed()
        };
        call();
        (0..count).map(|_| call()).collect()
    };
    let dry = |count: usize| -> Vec<Duration> {
        let request = Request::new("tool:bench/server").param("text", "a short text").dry_run(true);
        let call = |_| {
            let start = Instant::now();
            assert_eq!(rye.run_json(&request)["status"], "validation_passed");
            start.elapsed()
        };
        (0..count).map(call).collect()
    };
    let serve = || vec![OsString::from("--serve")];
    let sides: [(&str, &dyn Fn() -> Vec<Duration>); 5] = [
        ("pipe", &|| pipe(&program, CALLS)),
        ("server", &|| rye::bench::round_trips(&program, serve(), CALLS)),
        ("checked_server", &|| through("tool:bench/server", CALLS / 10)),
        ("dry_run", &|| dry(CALLS / 10)),
        ("one_shot", &|| through("tool:bench/once", CALLS / 100)),
    ];
    let mut times = [const { Vec::new() }; 5];
    for _ in 0..ROUNDS {
        for ((_, act), times) in sides.iter().zip(&mut times) {
            times.extend(act());
        }
    }
    let mut medians = Vec::new();
    for ((name, _), mut times) in sides.into_iter().zip(times) {
        times.sort_unstable();
        let micros = |at: usize| times[at].as_secs_f64() * 1e6;
        let (p50, p99) = (micros(times.len() / 2), micros(times.len() * 99 / 100));
        println!("{name} {p50:.1} {p99:.1} {:.1}", micros(0));
        medians.push(p50);
    }
    println!("server / pipe {:.2}", medians[1] / medians[0]);
    println!("one_shot / server {:.0}", medians[4] / medians[1]);
    println!("(checked_server - dry_run) / pipe {:.2}", (medians[2] - medians[3]) / medians[0]);
}

/// The same lines by a bare pipe.
fn pipe(program: &Path, count: usize) -> Vec<Duration> {
    let mut command = Command::new(program);
    let command = command.arg("--serve").env_clear().stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().expect("the program starts");
    let mut input = child.stdin.take().expect("a pipe");
    let mut output = BufReader::new(child.stdout.take().expect("a pipe"));
    let mut line = String::new();
    let mut call = |id: usize| {
        let start = Instant::now();
        let asked = format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"execute\",\"params\":{{\"args\":\
             {{\"text\":\"a short text\"}}}}}}\n"
        );
        input.write_all(asked.as_bytes()).expect("it reads");
        line.clear();
        output.read_line(&mut line).expect("it answers");
        start.elapsed()
    };
    call(0);
    let times = (1..=count).map(&mut call).collect();
    drop(input);
    child.wait().expect("it ends");
    times
}

fn vars(base: &Path) -> Vec<(OsString, OsString)> {
    vec![("HOME".into(), base.join("home").into()), ("PATH".into(), "/usr/bin:/bin".into())]
}

/// An accepted project with the program as a server and as a one-shot tool.
fn world(program: &Path) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    // Nobody else may write above a project; others may look.
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).expect("chmod");
    for name in ["home", "project"] {
        fs::create_dir(folder.path().join(name)).expect("mkdir");
    }
    rye(folder.path(), &["init"]);
    let tools: PathBuf = folder.path().join("project/.ai/tools/bench");
    fs::create_dir_all(&tools).expect("mkdir");
    let program = program.display();
    for (name, runtime, mode, argument) in
        [("server", "server", "server", "--serve"), ("once", "exec", "oneshot", "--once")]
    {
        let text = format!(
            "version: \"1.0.0\"\ntool_type: exec\nexecutor_id: rye/core/runtimes/exec/{mode}\n\
             category: bench\ndescription: Answers with one.\nexec:\n  command: '{program}'\n  \
             runtime: {runtime}\n  args: [{argument}]\n"
        );
        fs::write(tools.join(format!("{name}.yaml")), text).expect("the tool");
    }
    rye(folder.path(), &["sign", "tool:bench/*"]);
    folder
}

/// Runs the binary in the project; it must succeed.
fn rye(base: &Path, args: &[&str]) {
    let output = Command::new(env!("CARGO_BIN_EXE_rye"))
        .args(args)
        .current_dir(base.join("project"))
        .env_clear()
        .envs(vars(base))
        .stdin(Stdio::null())
        .output()
        .expect("rye starts");
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
}
