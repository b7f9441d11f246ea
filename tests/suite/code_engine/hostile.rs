//! Snippets that try to harm: each ends, and nothing of it is left.

use std::fs;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rye::code::{EngineError, EngineLimit, PrintStream, Stop};

use super::snippets::{Ends, HOSTILE};
use super::{Around, Limits, USUAL, run_in};
use crate::world::whole;

/// Says that a test has its process for itself.
const ALONE: &str = "RYE_TEST_ALONE";

/// Whether this test must do its work. If others run in its process, it is run once more in one of
/// its own, where all that is left can be counted.
fn is_alone(name: &str) -> bool {
    if std::env::var_os(ALONE).is_some() {
        return true;
    }
    let name = format!("code_engine::hostile::{name}");
    let ran = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &name, "--nocapture", "--test-threads", "1"])
        .env(ALONE, "1")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ran.stdout) + String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success() && said.contains("1 passed"), "{said}");
    false
}

fn workers() -> Vec<String> {
    let own = fs::read_dir("/proc/self/task").unwrap().flatten();
    let lists =
        own.map(|task| fs::read_to_string(task.path().join("children")).unwrap_or_default());
    lists.flat_map(|list| list.split_whitespace().map(str::to_owned).collect::<Vec<_>>()).collect()
}

fn descriptors() -> usize {
    fs::read_dir("/proc/self/fd").unwrap().count()
}

/// Each may run for 120 ms here; the whole is 500.
#[test]
fn hostile_snippets_end_and_leave_nothing() {
    if !is_alone("hostile_snippets_end_and_leave_nothing") {
        return;
    }
    assert!(HOSTILE.len() >= 60, "{}", HOSTILE.len());
    let limits = Limits {
        memory_mib: 32,
        engine: Duration::from_millis(if whole() { 500 } else { 120 }),
        time: Duration::from_secs(20),
    };
    let (peak, is_over) = (AtomicU64::new(0), AtomicBool::new(false));
    let before = descriptors();
    let mut wrong = Vec::new();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                for pid in workers() {
                    let status = fs::read_to_string(format!("/proc/{pid}/status"));
                    let status = status.unwrap_or_default();
                    // Before it is the worker, it is a copy of this process.
                    let is_worker = fs::read_to_string(format!("/proc/{pid}/cmdline"))
                        .is_ok_and(|line| line.contains("--code-worker"));
                    let kib = |name: &str| {
                        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
                        line.trim().strip_suffix(" kB")?.parse::<u64>().ok()
                    };
                    // The pages of the program's file are those of every other process of it.
                    let own = kib("VmHWM:").zip(kib("RssFile:"));
                    if let (true, Some((most, shared))) = (is_worker, own) {
                        peak.fetch_max(most.saturating_sub(shared), Ordering::Relaxed);
                    }
                }
                std::thread::sleep(Duration::from_millis(2));
            }
        });
        for (code, want) in HOSTILE {
            let begin = Instant::now();
            let ended = run_in("javascript", code, &Around::default(), &limits, &Stop::new());
            eprintln!(
                "{:>5} ms {}",
                begin.elapsed().as_millis(),
                code.chars().take(70).collect::<String>()
            );
            let is_right = match (want, &ended) {
                (Ends::ByTime, ended) => *ended == Err(EngineError::Limit(EngineLimit::Engine)),
                (Ends::ByLimit, ended) => matches!(ended, Err(EngineError::Limit(_))),
                (Ends::Unharmed, Err(EngineError::Worker { .. })) => false,
                (Ends::Unharmed, Err(_)) => true,
                (Ends::Unharmed, Ok(it)) => !it.value.to_string().contains("escaped"),
            };
            if !is_right || !workers().is_empty() {
                let ended = format!("{ended:?}").chars().take(300).collect::<String>();
                wrong.push(format!("{code}\n    {ended}\n    left: {:?}", workers()));
            }
        }
        is_over.store(true, Ordering::Relaxed);
    });
    assert_eq!(wrong, [""; 0], "{}", wrong.join("\n"));
    assert_eq!(descriptors(), before);
    let peak = peak.into_inner();
    eprintln!("a worker took {peak} KiB at most");
    assert!(peak > 0 && peak < (limits.memory_mib + 32) << 10, "{peak} KiB");
}

#[test]
fn a_worker_that_is_killed_is_told_and_loses_nothing_that_came_before() {
    if !is_alone("a_worker_that_is_killed_is_told_and_loses_nothing_that_came_before") {
        return;
    }
    let around = Around::default();
    let (ended, open, environ, status) = std::thread::scope(|scope| {
        let running = scope.spawn(|| {
            let code = "println('before'); runTool('never', 1); await runTool('never', 2)";
            run_in("javascript", code, &around, &USUAL, &Stop::new())
        });
        while around.calls.lock().unwrap().len() < 2 {
            std::thread::sleep(Duration::from_millis(1));
        }
        let pid = workers().pop().unwrap();
        let open = fs::read_dir(format!("/proc/{pid}/fd")).unwrap().count();
        let [environ, status] = ["environ", "status"]
            .map(|name| fs::read_to_string(format!("/proc/{pid}/{name}")).unwrap());
        std::process::Command::new("kill").args(["-9", &pid]).status().unwrap();
        (running.join().unwrap(), open, environ, status)
    });
    // It holds three pipes and nothing else, has no environment and no right, and can gain none.
    assert_eq!((open, environ.as_str()), (3, ""));
    let none = "CapEff:\t0000000000000000";
    for line in ["Seccomp:\t2", "NoNewPrivs:\t1", "Threads:\t1", none] {
        assert!(status.contains(line), "{status}");
    }
    match ended {
        Err(EngineError::Worker { why }) => assert!(why.contains("signal 9"), "{why}"),
        other => panic!("{other:?}"),
    }
    assert_eq!(*around.printed.lock().unwrap(), [(PrintStream::Stdout, "before\n".to_owned())]);
    assert_eq!(workers(), [""; 0]);
}

/// The worker's own attempts, after it took its rights away as for a snippet.
#[test]
fn a_held_worker_can_open_start_reach_and_trace_nothing() {
    let mut worker = std::process::Command::new(env!("CARGO_BIN_EXE_rye"));
    worker.args(["--code-worker", "67108864", "5", "--try-to-escape"]).env_clear();
    let said = worker.output().unwrap();
    let said = String::from_utf8(said.stdout).unwrap();
    let tries: Vec<(&str, &str)> = said.lines().filter_map(|line| line.split_once(' ')).collect();
    let names: Vec<_> = tries.iter().map(|(name, _)| *name).collect();
    let want = [
        "open",
        "create",
        "list",
        "socket",
        "unix-socket",
        "execve",
        "fork",
        "thread",
        "ptrace",
        "kill",
        "limit",
    ];
    assert_eq!(names, want, "{said}");
    for (name, ended) in tries {
        // EPERM, or EAGAIN as the library tells it of a thread.
        assert!(ended == "1" || (name == "thread" && ended == "11"), "{name} {ended}");
    }
}
