//! The promises of every host: one function a promise, held against each implementation.
//!
//! Another host joins by one line `contract!` below. What differs between hosts, such as who ends a
//! process that left its group, stands under its own name at the end.

use std::ffi::OsString;
use std::io::{Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};

use super::os::ask_below;
use super::{ChildEvent, ChildResult, Host, Os, OutputStream, Spawn, end_apart, start_apart};
use crate::base::{Digest, whole_tests};

const MIB: usize = 1 << 20;

fn sh(script: &str) -> Spawn {
    Spawn {
        args: vec!["-c".into(), script.into()],
        env: [("PATH".to_owned(), OsString::from("/usr/bin:/bin"))].into(),
        ..Spawn::new("/bin/sh".as_ref(), "/".as_ref(), MIB, Duration::from_mins(1))
    }
}

fn short(script: &str) -> Spawn {
    Spawn { timeout: Duration::from_millis(200), ..sh(script) }
}

#[track_caller]
fn run(host: &dyn Host, spawn: &Spawn) -> ChildResult {
    host.run(spawn, &mut |_| ()).unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

#[track_caller]
fn number(bytes: &[u8]) -> u32 {
    text(bytes).trim().parse().unwrap()
}

/// Returns true if the process is still there after a second, and is not a zombie.
fn runs(pid: u32) -> bool {
    for _ in 0..100 {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        if stat.is_empty() || stat.contains(") Z ") {
            return false;
        }
        std::thread::park_timeout(Duration::from_millis(10));
    }
    true
}

/// A field of this thread's own state.
fn own(field: &str) -> String {
    let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(&format!("{field}:")));
    line.unwrap().trim().to_owned()
}

fn output_and_status_are_the_childs_own(host: &dyn Host) {
    let ended = run(host, &sh("echo out; echo err >&2; exit 7"));
    assert_eq!((text(&ended.stdout), text(&ended.stderr)), ("out\n", "err\n"));
    assert_eq!((ended.exit_code, ended.signal), (Some(7), None));
    assert!(!ended.timed_out && !ended.stdout_truncated && !ended.stderr_truncated);
    let ended = run(host, &sh("kill -SEGV $$"));
    assert_eq!((ended.exit_code, ended.signal, ended.interrupted), (None, Some(11), None));
}

fn the_environment_is_exactly_what_was_given(host: &dyn Host) {
    let env = ["A=1", "EMPTY=", "LINES=a\nb"].map(|pair| pair.split_once('=').unwrap());
    let env = env.map(|(name, value)| (name.to_owned(), value.into()));
    let spawn = Spawn { program: "/usr/bin/env".into(), args: Vec::new(), ..sh("") };
    assert_eq!(
        text(&run(host, &Spawn { env: env.into(), ..spawn.clone() }).stdout),
        "A=1\nEMPTY=\nLINES=a\nb\n"
    );
    assert_eq!(text(&run(host, &Spawn { env: [].into(), ..spawn }).stdout), "");
}

fn arguments_arrive_as_they_are(host: &dyn Host) {
    let args = ["-n", "", "a b", "$(id)", "'\"\\", "*", "\n", "\u{fc}"].map(OsString::from);
    let args = [OsString::from("%s|")].into_iter().chain(args);
    let spawn = Spawn { program: "/usr/bin/printf".into(), args: args.collect(), ..sh("") };
    let ended = run(host, &spawn);
    assert_eq!(text(&ended.stdout), "-n||a b|$(id)|'\"\\|*|\n|\u{fc}|");
}

fn the_folder_is_the_given_one_and_the_umask_ours(host: &dyn Host) {
    let folder = tempfile::tempdir().unwrap();
    let cwd = folder.path().canonicalize().unwrap();
    let ended = run(host, &Spawn { cwd: cwd.clone(), ..sh("pwd -P; umask") });
    let (pwd, umask) = text(&ended.stdout).trim().split_once('\n').unwrap();
    assert_eq!(pwd, cwd.to_str().unwrap());
    let octal = |text: &str| u32::from_str_radix(text, 8).unwrap();
    assert_eq!(octal(umask), octal(&own("Umask")));
}

fn the_child_gets_three_descriptors_and_no_other(host: &dyn Host) {
    // The fourth is the folder that `ls` itself looks into.
    let list = sh("exec ls /proc/self/fd");
    assert_eq!(text(&run(host, &list).stdout), "0\n1\n2\n3\n");
    // A file that is left open for children by mistake.
    let file = std::fs::File::open("/dev/null").unwrap();
    let open = rustix::io::dup(&file).unwrap();
    let flags = rustix::io::fcntl_getfd(&open).unwrap();
    assert!(!flags.contains(rustix::io::FdFlags::CLOEXEC), "the fixture itself would be inherited");
    assert_eq!(text(&run(host, &list).stdout), "0\n1\n2\n3\n");
    drop(open);
}

fn no_signal_is_blocked_and_none_passed_over(host: &dyn Host) {
    let spawn =
        Spawn { program: "/bin/cat".into(), args: vec!["/proc/self/status".into()], ..sh("") };
    let ended = run(host, &spawn);
    let mask = |field: &str| {
        let line = text(&ended.stdout).lines().find_map(|line| line.strip_prefix(field)).unwrap();
        u64::from_str_radix(line.trim(), 16).unwrap()
    };
    assert_eq!((mask("SigBlk:"), mask("SigCgt:")), (0, 0));
    // Rust itself passes over the broken pipe, which no child should.
    let pipe = 1_u64 << (13 - 1);
    let ours = u64::from_str_radix(&own("SigIgn"), 16).unwrap();
    assert_ne!(ours & pipe, 0, "the fixture itself has something to hand down");
    // Two belong to the C library, which takes them back when it starts a thread.
    let internal = 1_u64 << (32 - 1) | 1_u64 << (33 - 1);
    assert_eq!(mask("SigIgn:") & !internal, 0);
    assert_eq!(run(host, &sh("yes | head -1; exit 0")).stderr, b"");
}

fn the_start_is_told_with_the_childs_number(host: &dyn Host) {
    let mut told = Vec::new();
    let ended = host
        .run(&sh("echo $$"), &mut |heard| {
            if let ChildEvent::Started(pid) = heard {
                told.push(pid);
            }
        })
        .unwrap();
    assert_eq!(told, [number(&ended.stdout)]);
}

fn what_cannot_start_is_an_error(host: &dyn Host) {
    let rows = [
        Spawn { program: "/no/such".into(), ..sh("") },
        Spawn { program: "/etc".into(), ..sh("") },
        Spawn { cwd: "/no/such".into(), ..sh("exit 0") },
        Spawn { args: vec!["a\0b".into()], ..sh("") },
        Spawn { args: vec!["x".repeat(256 << 10).into()], ..sh("") },
    ];
    for row in rows {
        let mut told = false;
        assert!(host.run(&row, &mut |_| told = true).is_err(), "{:?}", row.program);
        assert!(!told);
    }
    assert_eq!(run(host, &sh("exit 0")).exit_code, Some(0));
}

/// 4 MiB here; the whole is 64.
fn more_than_a_pipe_holds_flows_in_and_out_at_once(host: &dyn Host) {
    let size = if whole_tests() { 64 * MIB } else { 4 * MIB };
    let stdin: Vec<u8> = (0..=250).cycle().take(size).collect();
    let spawn = Spawn { stdin, output_cap: size + MIB, ..sh("tee /dev/stderr") };
    let ended = run(host, &spawn);
    assert_eq!(ended.exit_code, Some(0));
    assert!(ended.stdout == spawn.stdin, "{} bytes came out", ended.stdout.len());
    assert!(ended.stderr == spawn.stdin, "{} bytes came out", ended.stderr.len());
}

fn a_child_that_does_not_read_is_no_error(host: &dyn Host) {
    let stdin = vec![b'x'; 4 * MIB];
    for script in
        ["exit 3", "sleep 0.2; exit 3", "exec <&-; sleep 0.2; exit 3", "head -c 10; exit 3"]
    {
        let ended = run(host, &Spawn { stdin: stdin.clone(), ..sh(script) });
        assert_eq!((ended.exit_code, &ended.stderr[..]), (Some(3), &b""[..]), "{script}");
    }
}

fn a_child_that_closes_its_outputs_still_has_a_status(host: &dyn Host) {
    let ended = run(host, &sh("echo out; exec >&- 2>&-; sleep 0.2; exit 5"));
    assert_eq!((text(&ended.stdout), ended.exit_code), ("out\n", Some(5)));
}

fn a_child_without_input_reads_its_end(host: &dyn Host) {
    assert_eq!(text(&run(host, &sh("cat; echo end")).stdout), "end\n");
}

fn output_over_the_cap_is_dropped_and_the_child_not_blocked(host: &dyn Host) {
    let ended = run(host, &sh("head -c 4000000 /dev/zero; echo done >&2"));
    assert_eq!((ended.stdout.len(), ended.stdout_truncated), (MIB, true));
    assert_eq!((text(&ended.stderr), ended.stderr_truncated), ("done\n", false));
    let ended = run(host, &sh("head -c 4000000 /dev/zero >&2; echo done"));
    assert_eq!((ended.stderr.len(), ended.stderr_truncated), (MIB, true));
    assert_eq!((text(&ended.stdout), ended.stdout_truncated), ("done\n", false));
    // To the byte: the whole cap is not cut.
    let ended = run(host, &sh("head -c 1048576 /dev/zero"));
    assert_eq!((ended.stdout.len(), ended.stdout_truncated), (MIB, false));
}

fn a_flood_does_not_outrun_the_deadline(host: &dyn Host) {
    for script in ["yes", "yes >&2", "yes & yes >&2", "trap '' TERM; yes"] {
        let ended = run(host, &short(script));
        assert!(ended.timed_out, "{script}");
        assert!(ended.duration < Duration::from_secs(20), "{script}: {:?}", ended.duration);
    }
    let ended = run(host, &sh("yes & exit 0"));
    assert_eq!((ended.timed_out, ended.exit_code), (false, Some(0)));
}

fn past_the_deadline_the_child_may_clean_up(host: &dyn Host) {
    let ended =
        run(host, &short("trap 'echo bye; exit 4' TERM; echo hi; while :; do sleep 0.05; done"));
    assert!(ended.timed_out && ended.interrupted.is_none());
    assert_eq!((text(&ended.stdout), ended.exit_code), ("hi\nbye\n", Some(4)));
}

fn past_the_deadline_the_whole_group_is_gone(host: &dyn Host) {
    let start = Instant::now();
    let ended = run(host, &short("sleep 60 & echo $!; sleep 60"));
    assert!(ended.timed_out && start.elapsed() < Duration::from_secs(20), "{ended:?}");
    assert!(!runs(number(&ended.stdout)), "the grandchild still runs");
}

fn a_child_that_ignores_the_request_is_killed_after_two_seconds(host: &dyn Host) {
    let ended = run(host, &short("trap '' TERM; sleep 60 & echo $!; while :; do sleep 0.05; done"));
    assert_eq!((ended.timed_out, ended.exit_code, ended.signal), (true, None, Some(9)));
    assert!(ended.duration >= Duration::from_secs(2), "{:?}", ended.duration);
    assert!(ended.duration < Duration::from_secs(20), "{:?}", ended.duration);
    assert!(!runs(number(&ended.stdout)), "the grandchild still runs");
}

fn a_grandchild_that_holds_the_pipe_does_not_hold_the_answer(host: &dyn Host) {
    let ended = run(host, &sh("sleep 60 & echo $!"));
    assert_eq!((ended.exit_code, ended.timed_out), (Some(0), false));
    assert!(ended.duration < Duration::from_secs(20), "{ended:?}");
    assert!(!runs(number(&ended.stdout)), "the grandchild still runs");
}

fn an_answer_waits_for_nothing_once_the_pipes_are_closed(host: &dyn Host) {
    // Not a measurement: with a wait of 100 ms after each child these would take 20 s.
    let start = Instant::now();
    for _ in 0..200 {
        assert_eq!(run(host, &sh("exec >&- 2>&-; exit 0")).exit_code, Some(0));
    }
    assert!(start.elapsed() < Duration::from_secs(19), "{:?}", start.elapsed());
}

fn what_is_said_is_heard_while_it_runs_up_to_what_is_kept(host: &dyn Host) {
    let said = |spawn: &Spawn| {
        let (mut child, mut words) = (0_u32, String::new());
        let ended = host.run(spawn, &mut |heard| match heard {
            ChildEvent::Started(pid) => child = pid,
            ChildEvent::Wrote { stream: OutputStream::Stdout, .. } => {}
            ChildEvent::Wrote { bytes, kept, .. } => {
                // It goes on when it was heard.
                if words.is_empty() {
                    let pid = Pid::from_raw(child.cast_signed()).unwrap();
                    rustix::process::kill_process(pid, Signal::USR1).unwrap();
                }
                words.push_str(text(&bytes[..kept]));
            }
        });
        assert_eq!(words, text(&ended.unwrap().stderr));
        words
    };
    let waits = "trap 'echo two >&2; exit 0' USR1; echo one >&2; while :; do sleep 0.02; done";
    assert_eq!(said(&sh(waits)), "one\ntwo\n");
    let spawn = Spawn { output_cap: 5, ..sh("trap '' USR1; echo one two >&2; echo three >&2") };
    assert_eq!(said(&spawn), "one t");
}

fn what_is_written_to_two_streams_is_heard_in_its_order(host: &dyn Host) {
    let script = "echo a >&2; echo b; sleep 0.1; echo c; echo d >&2; sleep 0.1; echo e >&2; echo f";
    // One who looks late sees the end of each stream alone, so once in order is enough.
    let heard = || {
        let mut heard = String::new();
        let ended = host.run(&sh(script), &mut |told| match told {
            ChildEvent::Started(_) => std::thread::sleep(Duration::from_millis(20)),
            ChildEvent::Wrote { bytes, .. } => heard.push_str(text(bytes)),
        });
        let ended = ended.unwrap();
        assert_eq!((text(&ended.stdout), text(&ended.stderr)), ("b\nc\nf\n", "a\nd\ne\n"));
        heard
    };
    let all: Vec<_> = (0..10).map(|_| heard()).collect();
    assert!(all.iter().any(|heard| heard == "a\nb\nc\nd\ne\nf\n"), "{all:?}");
}

fn a_caller_that_gives_up_leaves_nothing_running(host: &dyn Host) {
    let mut child = 0;
    let told = catch_unwind(AssertUnwindSafe(|| {
        let mut started = |heard: ChildEvent<'_>| {
            if let ChildEvent::Started(pid) = heard {
                child = pid;
            }
            std::panic::resume_unwind(Box::new("given up"));
        };
        drop(host.run(&sh("sleep 60 & sleep 60"), &mut started));
    }));
    assert!(told.is_err() && child > 0);
    let zombie = std::fs::read_to_string(format!("/proc/{child}/stat"));
    assert!(zombie.is_err(), "the child is waited for: {zombie:?}");
    let group = Command::new("ps").args(["-eo", "pgid,stat"]).output().unwrap().stdout;
    let left = text(&group).lines().filter(|line| {
        let mut words = line.split_whitespace();
        words.next() == Some(&child.to_string()) && !words.next().unwrap().starts_with('Z')
    });
    assert_eq!(left.count(), 0, "the group still runs");
}

fn peak_memory_is_the_childs(host: &dyn Host) {
    let ended = run(host, &sh("exec dd if=/dev/zero of=/dev/null bs=200M count=1"));
    assert_eq!(ended.exit_code, Some(0), "{}", text(&ended.stderr));
    // What is smaller than ourselves shows as ourselves.
    let floor: i64 = own("VmHWM").trim_end_matches(" kB").trim().parse().unwrap();
    let want = 200 << 10;
    assert!(ended.max_rss_kib >= want, "{} KiB", ended.max_rss_kib);
    assert!(ended.max_rss_kib <= (want + (64 << 10)).max(floor), "{} KiB", ended.max_rss_kib);
    let small = run(host, &sh("exit 0")).max_rss_kib;
    assert!(small > 0 && small <= floor.max(16 << 10), "{small} KiB, and we {floor} KiB");
}

fn time_is_the_childs(host: &dyn Host) {
    let ended = run(host, &sh("sleep 0.3"));
    assert!(ended.duration >= Duration::from_millis(300), "{:?}", ended.duration);
    assert!(ended.duration < Duration::from_secs(20), "{:?}", ended.duration);
}

/// As a copy is for a moment while another thread starts a child, which has a copy of each
/// descriptor.
fn a_program_that_is_open_for_writing_is_tried_again(host: &dyn Host) {
    use std::os::unix::fs::OpenOptionsExt;
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("program");
    let mut options = std::fs::OpenOptions::new();
    let mut file = options.write(true).create_new(true).mode(0o700).open(&program).unwrap();
    file.write_all(b"#!/bin/sh\necho ran\n").unwrap();
    let spawn = Spawn { program, args: Vec::new(), ..sh("") };
    std::thread::scope(|scope| {
        let running = scope.spawn(|| host.run(&spawn, &mut |_| ()));
        std::thread::sleep(Duration::from_millis(50));
        drop(file);
        assert_eq!(text(&running.join().unwrap().unwrap().stdout), "ran\n");
    });
}

fn files_and_folders_are_told_apart(host: &dyn Host) {
    assert!(host.is_folder("/etc".as_ref()) && !host.is_folder("/etc/passwd".as_ref()));
    assert_eq!(host.real_file("/etc".as_ref()), None);
    assert_eq!(host.real_file("/proc/self/../../etc/passwd".as_ref()), Some("/etc/passwd".into()));
}

fn outputs_are_digested_past_the_cap_where_that_is_asked_for(host: &dyn Host) {
    let script = "printf abc; printf de >&2; printf fgh";
    assert_eq!(run(host, &sh(script)).stdout_digest, None);
    let ended = run(host, &Spawn { output_cap: 4, digests_output: true, ..sh(script) });
    assert_eq!((text(&ended.stdout), ended.stdout_truncated), ("abcf", true));
    let digest = |text: &[u8]| (Digest::of(text), u64::try_from(text.len()).unwrap());
    let got = [ended.stdout_digest, ended.stderr_digest];
    let got = got.map(|digest| digest.map(|it| (it.digest(), it.bytes())));
    assert_eq!(got, [Some(digest(b"abcfgh")), Some(digest(b"de"))]);
}

fn of_standard_error_the_end_is_kept_where_that_is_asked_for(host: &dyn Host) {
    let script = "printf abcdef; printf ghi >&2; sleep 0.05; printf jkl >&2";
    let of =
        |cap| Spawn { output_cap: 2, stderr_end: Some(cap), digests_output: true, ..sh(script) };
    for (cap, want, truncated) in [(4, "ijkl", true), (6, "ghijkl", false), (0, "", true)] {
        let ended = run(host, &of(cap));
        assert_eq!((text(&ended.stderr), ended.stderr_truncated), (want, truncated));
        assert_eq!((text(&ended.stdout), ended.stdout_truncated), ("ab", true));
        let digest = ended.stderr_digest.map(|it| (it.digest(), it.bytes()));
        assert_eq!(digest, Some((Digest::of(b"ghijkl"), 6)));
    }
    let flood =
        Spawn { stderr_end: Some(MIB), ..sh("head -c 4000000 /dev/zero >&2; printf x >&2") };
    let ended = run(host, &flood);
    assert_eq!((ended.stderr.len(), ended.stderr.last()), (MIB, Some(&b'x')));
}

macro_rules! promises {
    ($($promise:ident),* $(,)?) => {
        /// Each promise with its name.
        const PROMISES: &[(&str, fn(&dyn Host))] = &[$((stringify!($promise), $promise)),*];

        macro_rules! contract {
            ($name:ident, $host:expr) => {
                mod $name {
                    $(#[test]
                    fn $promise() {
                        super::$promise(&$host);
                    })*
                }
            };
        }
    };
}

promises!(
    output_and_status_are_the_childs_own,
    the_environment_is_exactly_what_was_given,
    arguments_arrive_as_they_are,
    the_folder_is_the_given_one_and_the_umask_ours,
    the_child_gets_three_descriptors_and_no_other,
    no_signal_is_blocked_and_none_passed_over,
    the_start_is_told_with_the_childs_number,
    what_is_said_is_heard_while_it_runs_up_to_what_is_kept,
    what_is_written_to_two_streams_is_heard_in_its_order,
    what_cannot_start_is_an_error,
    more_than_a_pipe_holds_flows_in_and_out_at_once,
    a_child_that_does_not_read_is_no_error,
    a_child_that_closes_its_outputs_still_has_a_status,
    a_child_without_input_reads_its_end,
    output_over_the_cap_is_dropped_and_the_child_not_blocked,
    outputs_are_digested_past_the_cap_where_that_is_asked_for,
    of_standard_error_the_end_is_kept_where_that_is_asked_for,
    a_flood_does_not_outrun_the_deadline,
    past_the_deadline_the_child_may_clean_up,
    past_the_deadline_the_whole_group_is_gone,
    a_child_that_ignores_the_request_is_killed_after_two_seconds,
    a_grandchild_that_holds_the_pipe_does_not_hold_the_answer,
    an_answer_waits_for_nothing_once_the_pipes_are_closed,
    a_caller_that_gives_up_leaves_nothing_running,
    peak_memory_is_the_childs,
    time_is_the_childs,
    a_program_that_is_open_for_writing_is_tried_again,
    files_and_folders_are_told_apart,
);

contract!(os_in_somebodys_process, crate::host::Os::new(false));

/// The host of the command line adopts what its children leave behind, so it needs a process of its
/// own: this one again, with this test alone.
#[test]
fn os_in_a_process_of_its_own() {
    const ALONE: &str = "RYE_HOST_CONTRACT_ALONE";
    if std::env::var_os(ALONE).is_some() {
        let mut told = std::io::stderr();
        let host = Os::new(true);
        for (name, promise) in PROMISES {
            writeln!(told, "{name}").unwrap();
            promise(&host);
        }
        nothing_that_left_its_group_is_left(&host);
        what_left_its_group_lives_as_long_as_a_run_that_may_have_left_it(&host);
        what_is_to_go_on_by_itself_is_no_orphan(&host);
        return;
    }
    let name = "host::contract::os_in_a_process_of_its_own";
    let alone = Command::new(std::env::current_exe().unwrap())
        .args([name, "--exact", "--nocapture", "--test-threads=1"])
        .env(ALONE, "1")
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&alone.stderr);
    assert!(alone.status.success(), "{told}");
    assert!(String::from_utf8_lossy(&alone.stdout).contains("1 passed"), "it ran nothing: {told}");
    let last = PROMISES[PROMISES.len() - 1].0;
    assert!(told.contains(last), "{told}");
}

/// Left the group by `setsid`, or by a second fork whose parent is gone.
const LEAVERS: &[&str] = &[
    "setsid sleep 60 >/dev/null 2>&1 & echo $!",
    "(setsid sleep 60 >/dev/null 2>&1 & echo $!)",
    "setsid sh -c 'trap \"\" TERM; (sleep 60 & echo $!) ; exit 0'",
];

fn nothing_that_left_its_group_is_left(host: &dyn Host) {
    for script in LEAVERS {
        for then in ["", "; sleep 60"] {
            let ended = run(
                host,
                &Spawn { timeout: Duration::from_secs(1), ..sh(&format!("{script}{then}")) },
            );
            assert!(ended.duration < Duration::from_secs(20), "{script}: {:?}", ended.duration);
            assert!(!runs(number(&ended.stdout)), "{script}{then}: it still runs");
        }
    }
}

/// Inside the process of another program rye kills no process that was there before, and so not one
/// that left its group either; the answer does not wait for it.
#[test]
fn what_left_its_group_survives_in_somebodys_process_and_holds_nothing() {
    let ended = run(&Os::new(false), &sh("setsid sleep 60 & echo $!; sleep 0.2"));
    assert_eq!((ended.exit_code, ended.timed_out), (Some(0), false));
    assert!(ended.duration < Duration::from_secs(20), "{:?}", ended.duration);
    let survivor = text(&ended.stdout).trim();
    let killed = Command::new("kill").args(["-KILL", survivor]).status().unwrap();
    assert!(killed.success(), "it was still there to be killed");
}

fn what_is_to_go_on_by_itself_is_no_orphan(host: &dyn Host) {
    let folder = tempfile::tempdir().unwrap();
    let waits = "touch begun; until [ -e go ]; do sleep 0.02; done";
    let waits = Spawn { cwd: folder.path().into(), ..sh(waits) };
    let mut apart = std::thread::scope(|scope| {
        let running = scope.spawn(|| run(host, &waits));
        while !folder.path().join("begun").exists() {
            std::thread::sleep(Duration::from_millis(10));
        }
        let apart = start_apart(Command::new("sleep").arg("60")).unwrap();
        std::fs::write(folder.path().join("go"), "").unwrap();
        assert_eq!(running.join().unwrap().exit_code, Some(0));
        apart
    });
    assert_eq!(apart.try_wait().unwrap(), None, "it was taken for an orphan");
    apart.kill().unwrap();
    end_apart(&mut apart);
}

fn what_left_its_group_lives_as_long_as_a_run_that_may_have_left_it(host: &dyn Host) {
    let folder = tempfile::tempdir().unwrap();
    let needs = "(setsid sh -c 'echo $$ > pid; until [ -e go ]; do sleep 0.02; done; : > done; \
                 exec sleep 60' > /dev/null 2>&1 &) ; until [ -e done ]; do sleep 0.02; done";
    let needs = Spawn { cwd: folder.path().into(), ..sh(needs) };
    let pid = || std::fs::read_to_string(folder.path().join("pid")).unwrap_or_default();
    let left = std::thread::scope(|scope| {
        let needs = scope.spawn(|| run(host, &needs));
        while pid().is_empty() {
            std::thread::sleep(Duration::from_millis(10));
        }
        let ended = run(host, &sh(LEAVERS[1]));
        std::fs::write(folder.path().join("go"), "").unwrap();
        assert_eq!(needs.join().unwrap().exit_code, Some(0), "what it started was there");
        number(&ended.stdout)
    });
    assert!(!runs(left) && !runs(number(pid().as_bytes())), "they still run");
}

/// As below the program `bwrap`: the first process of the namespaces passes no signal on and is no
/// tool yet, which is known by the program that both execute.
#[test]
fn a_stop_before_there_is_a_tool_ends_what_would_start_it() {
    for (below, killed) in [("sh -c 'read -r go; echo; read -r go'", true), ("cat", false)] {
        let script = format!("trap '' TERM; {below}; :");
        let mut holder = Command::new("/bin/sh");
        let holder = holder.args(["-c", &script]).process_group(0);
        let mut holder = holder.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        holder.stdin.as_mut().unwrap().write_all(b"\n").unwrap();
        holder.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
        ask_below(Pid::from_child(&holder), Signal::TERM);
        drop(holder.stdin.take());
        let signal = killed.then_some(Signal::KILL.as_raw());
        assert_eq!(holder.wait().unwrap().signal(), signal, "{below}");
    }
}
