//! What every host promises, held against the real one.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::Os;
use crate::host::{Ended, Host, Spawn};

fn sh(script: &str) -> Spawn {
    Spawn {
        program: PathBuf::from("/bin/sh"),
        args: vec!["-c".into(), script.into()],
        env: [("PATH".to_owned(), OsString::from("/usr/bin:/bin"))].into(),
        cwd: PathBuf::from("/"),
        stdin: Vec::new(),
        timeout: Duration::from_secs(20),
        output_cap: 1 << 20,
    }
}

fn run(spawn: &Spawn) -> Ended {
    Os::new(false).run(spawn, &mut |_| ()).unwrap()
}

#[test]
fn status_output_and_environment_are_the_childs_own() {
    let ended = run(&sh("echo out; echo err >&2; env | grep -c . ; exit 7"));
    assert_eq!(ended.exit_code, Some(7));
    // PATH and what the shell itself adds (PWD, sometimes SHLVL and _).
    let lines = String::from_utf8(ended.stdout).unwrap();
    assert!(lines.starts_with("out\n"), "{lines}");
    assert!(lines.lines().nth(1).unwrap().parse::<u32>().unwrap() <= 4, "{lines}");
    assert_eq!(ended.stderr, b"err\n");
    assert!(ended.max_rss_kib > 0);
}

#[test]
fn large_input_and_output_at_once_do_not_deadlock() {
    let spawn = Spawn { stdin: vec![b'x'; 8 << 20], output_cap: 16 << 20, ..sh("cat") };
    let ended = run(&spawn);
    assert_eq!(ended.stdout.len(), 8 << 20);
    assert_eq!(ended.exit_code, Some(0));
}

#[test]
fn a_child_that_never_reads_is_no_error() {
    let ended = run(&Spawn { stdin: vec![b'x'; 8 << 20], ..sh("exit 3") });
    assert_eq!(ended.exit_code, Some(3));
}

#[test]
fn output_over_the_cap_is_dropped_and_the_child_not_blocked() {
    let ended = run(&sh("head -c 4000000 /dev/zero; echo done >&2"));
    assert_eq!((ended.stdout.len(), ended.stdout_truncated), (1 << 20, true));
    assert_eq!((&ended.stderr[..], ended.stderr_truncated), (&b"done\n"[..], false));
}

#[test]
fn a_flood_of_output_does_not_outrun_the_deadline() {
    let ended = run(&Spawn { timeout: Duration::from_millis(100), ..sh("trap '' TERM; yes") });
    assert!(ended.timed_out && ended.stdout_truncated);
    assert!(ended.duration < Duration::from_secs(10), "{:?}", ended.duration);
    let ended = run(&sh("yes & exit 0"));
    assert_eq!((ended.timed_out, ended.exit_code), (false, Some(0)));
}

#[test]
fn the_deadline_ends_the_whole_group() {
    let start = Instant::now();
    let ended =
        run(&Spawn { timeout: Duration::from_millis(100), ..sh("sleep 60 & echo $!; sleep 60") });
    assert!(ended.timed_out && start.elapsed() < Duration::from_secs(10), "{ended:?}");
    let grandchild: u32 = String::from_utf8(ended.stdout).unwrap().trim().parse().unwrap();
    assert!(!runs(grandchild), "the grandchild still runs");
}

#[test]
fn a_child_that_ignores_the_term_signal_is_killed() {
    let ended = run(&Spawn {
        timeout: Duration::from_millis(100),
        ..sh("trap '' TERM; while :; do sleep 0.05; done")
    });
    assert_eq!((ended.timed_out, ended.signal), (true, Some(9)));
    assert!(ended.duration < Duration::from_secs(10));
}

#[test]
fn an_answer_waits_for_nothing_once_the_pipes_are_closed() {
    // Not a measurement: with a wait of 100 ms after each child these would take 10 s.
    let start = Instant::now();
    for _ in 0..100 {
        assert_eq!(run(&sh("exec >&- 2>&-; exit 0")).exit_code, Some(0));
    }
    assert!(start.elapsed() < Duration::from_secs(9), "{:?}", start.elapsed());
}

#[test]
fn a_grandchild_that_holds_the_pipe_does_not_hold_the_answer() {
    let ended = run(&sh("sleep 60 & echo $!"));
    assert!(ended.duration < Duration::from_secs(10), "{ended:?}");
    assert_eq!(ended.exit_code, Some(0));
    let grandchild: u32 = String::from_utf8(ended.stdout).unwrap().trim().parse().unwrap();
    assert!(!runs(grandchild), "the grandchild still runs");
}

/// Whether a process of that number exists and is no zombie; it may take a moment to be reaped.
fn runs(pid: u32) -> bool {
    for _ in 0..100 {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        if stat.is_empty() || stat.contains(") Z ") {
            return false;
        }
        std::thread::yield_now();
        std::thread::park_timeout(Duration::from_millis(10));
    }
    true
}

#[test]
fn programs_are_found_on_absolute_folders_only() {
    let os = Os::new(false);
    assert_eq!(os.find_program("sh".as_ref(), "/nowhere:/bin".as_ref()), Some("/bin/sh".into()));
    assert_eq!(os.find_program("sh".as_ref(), "bin:.".as_ref()), None);
    assert_eq!(os.find_program("/bin/sh".as_ref(), "/nowhere".as_ref()), Some("/bin/sh".into()));
    assert_eq!(os.find_program("/no/such".as_ref(), "/bin".as_ref()), None);
}
