//! Snippets beside Node and beside a bare pipe (p9 of the performance goals); calls are answered at
//! once:
//!
//! - `cargo bench --bench code` prints milliseconds of a snippet of 100 calls, its worker's start
//!   included, and of `node -e` with the same loop in `vm`; and microseconds of one call of many, one
//!   after the other, and of the same two lines between two processes, which parse them. Each is
//!   `name median minimum`.
//! - `cargo bench --bench code -- --hostile` prints how long each hostile snippet of the tests went
//!   on behind its limit, in milliseconds, and the most memory that a worker took, in MiB, with the
//!   pages of the program's file.
//!
//! All sides in turn. `NODE` names the Node that is measured.

#![expect(clippy::print_stdout, reason = "the numbers are for whoever reads them")]
#![expect(unreachable_pub, reason = "a part of it is also of the tests")]

use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rye::code::{
    CallAnswer, Engine, EngineError, JavaScript, PrintStream, Snippet, SnippetCall, Stop,
    Surroundings,
};
use serde_json::{Value, json};

#[path = "../suite/code_engine/snippets.rs"]
mod snippets;

const ROUNDS: usize = 30;
const CALLS: u64 = 5_000;

/// The argument of this program as the other side of a bare pipe.
const ECHO: &str = "--echo";

fn main() {
    let args: Vec<String> = std::env::args().collect();
    if args.iter().any(|arg| arg == ECHO) {
        return echo();
    }
    if args.iter().any(|arg| arg == "--hostile") {
        return hostile();
    }
    let mut times = [const { Vec::new() }; 4];
    for _ in 0..ROUNDS {
        times[0].push(snippet(100));
        times[1].push(node(100));
        times[2].push(snippet(CALLS) / u32::try_from(CALLS).expect("it fits"));
        times[3].push(pipe(CALLS));
    }
    let mut told = Vec::new();
    let names = ["snippet_of_100_ms", "node_vm_ms", "call_us", "bare_echo_us"];
    for (at, (name, mut times)) in names.into_iter().zip(times).enumerate() {
        times.sort_unstable();
        let unit = if at < 2 { 1e3 } else { 1e6 };
        let (median, least) = (times[times.len() / 2], times[0]);
        println!("{name} {:.2} {:.2}", median.as_secs_f64() * unit, least.as_secs_f64() * unit);
        told.push([median.as_secs_f64(), least.as_secs_f64()]);
    }
    let ratio = |name: &str, a: [f64; 2], b: [f64; 2]| {
        println!("{name} {:.3} {:.3}", a[0] / b[0], a[1] / b[1]);
    };
    ratio("snippet_of_100 / node_vm", told[0], told[1]);
    ratio("rate of calls / rate of the bare echo", told[3], told[2]);
}

/// Answers each call at once.
struct AtOnce;

impl Surroundings for AtOnce {
    fn call(&self, call: SnippetCall, answer: CallAnswer) {
        answer.give(Ok(call.args.into_iter().nth(1).unwrap_or_default()), 0);
    }

    fn print(&self, _stream: PrintStream, _text: &str) {}
}

/// So many calls, one after the other.
fn calls(count: u64) -> String {
    format!(
        "let sum = 0; for (let n = 0; n < {count}; n++) sum += (await runTool('a/b', {{n}})).n; \
         sum"
    )
}

fn snippet(count: u64) -> Duration {
    let begin = Instant::now();
    let ended = run(&calls(count), Duration::from_mins(1), 64 << 20);
    let took = begin.elapsed();
    assert_eq!(ended.expect("it ends well"), json!(count * (count - 1) / 2));
    took
}

fn run(code: &str, engine_time: Duration, memory_bytes: u64) -> Result<Value, EngineError> {
    let snippet = Snippet {
        language: "javascript",
        code,
        params: &Value::Null,
        memory_bytes,
        engine_time,
        deadline: Instant::now() + Duration::from_mins(2),
        now_ms: 0,
        seed: [1, 2, 3, 4],
    };
    let engine = JavaScript::with_program(env!("CARGO_BIN_EXE_rye"));
    engine.run(&snippet, &AtOnce, &Stop::new()).map(|produced| produced.value)
}

/// The same loop in a context of `vm`.
fn node(count: u64) -> Duration {
    let program = std::env::var("NODE").unwrap_or_else(|_| "node".into());
    let script = format!(
        "const runTool = async (_, args) => JSON.parse(JSON.stringify(args));\
         require('vm').runInNewContext({:?}, {{runTool}})\
         .then((sum) => {{ if (sum !== {}) process.exit(1); }})",
        format!("(async () => {{ {}; return sum }})()", calls(count)),
        count * (count - 1) / 2
    );
    let begin = Instant::now();
    let status = Command::new(program).args(["-e", &script]).stdin(Stdio::null()).status();
    let took = begin.elapsed();
    assert!(status.expect("Node starts").success());
    took
}

/// A call and its answer as two processes would send them, and each would parse: how long one takes.
fn pipe(count: u64) -> Duration {
    let own = std::env::current_exe().expect("this program");
    let mut command = Command::new(own);
    let command = command.arg(ECHO).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    let mut input = child.stdin.take().expect("a pipe");
    let mut output = BufReader::new(child.stdout.take().expect("a pipe"));
    let mut line = String::new();
    let mut ask = |n: u64| {
        let call = json!({"call": {"call": n, "function": "runTool", "args": ["a/b", {"n": n}]}});
        input.write_all(format!("{call}\n").as_bytes()).expect("it reads");
        line.clear();
        output.read_line(&mut line).expect("it answers");
        let given: Value = serde_json::from_str(&line).expect("JSON");
        assert_eq!(given["given"]["call"], n);
    };
    ask(0);
    let begin = Instant::now();
    (1..=count).for_each(&mut ask);
    let took = begin.elapsed() / u32::try_from(count).expect("it fits");
    drop(input);
    child.wait().expect("it ends");
    took
}

/// The other side of [`pipe`].
fn echo() {
    let mut out = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        let call: Value = serde_json::from_str(&line.expect("a line")).expect("JSON");
        let given =
            json!({"given": {"call": call["call"]["call"], "value": call["call"]["args"][1]}});
        out.write_all(format!("{given}\n").as_bytes()).expect("it reads");
        out.flush().expect("it reads");
    }
}

fn hostile() {
    let (limit, memory) = (Duration::from_millis(300), 32);
    let (peak, is_over) = (AtomicU64::new(0), AtomicBool::new(false));
    let mut most = (Duration::ZERO, "");
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                for status in workers() {
                    peak.fetch_max(status, Ordering::Relaxed);
                }
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        for (code, _) in snippets::HOSTILE {
            let begin = Instant::now();
            let _ = run(code, limit, memory << 20);
            let behind = begin.elapsed().saturating_sub(limit);
            if behind > most.0 {
                most = (behind, code);
            }
        }
        is_over.store(true, Ordering::Relaxed);
    });
    let (count, ms) = (snippets::HOSTILE.len(), most.0.as_millis());
    println!("{count} snippets, at most {ms} ms behind their limit of {limit:?}: {}", most.1);
    println!("worker_mib {} of {memory} and 32", peak.into_inner() >> 10);
}

/// The most memory of each worker that is there, in KiB, with the pages of files.
fn workers() -> Vec<u64> {
    let tasks = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let lists = tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    let pids: Vec<String> = lists
        .flat_map(|list| list.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
        .collect();
    let most = |pid: &String| {
        // Before it is the worker, it is a copy of this process.
        let line = fs::read_to_string(format!("/proc/{pid}/cmdline")).ok()?;
        let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        let line = line
            .contains("--code-worker")
            .then_some(())
            .and_then(|()| status.lines().find_map(|line| line.strip_prefix("VmHWM:")))?;
        line.trim().strip_suffix(" kB")?.parse().ok()
    };
    pids.iter().filter_map(most).collect()
}
