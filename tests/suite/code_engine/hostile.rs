//! Snippets that try to harm: each ends, and nothing of it is left.

use std::fs;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rye::code::{EngineError, EngineLimit, PrintStream, Stop};

use super::{Around, Limits, USUAL, run_in};

/// How a hostile snippet ends.
#[derive(Clone, Copy)]
enum Ends {
    /// By the limit of the engine's time.
    ByTime,
    /// By that or by the limit of memory, whichever the machine reaches first.
    ByLimit,
    /// In any way, but its worker does what it must, and `escaped` is never its value.
    Unharmed,
}

/// Snippets that try to harm.
const HOSTILE: &[(&str, Ends)] = &[
    ("for (;;) {}", Ends::ByTime),
    ("while (true) { try { throw 1 } catch {} }", Ends::ByTime),
    ("do { continue } while (1)", Ends::ByTime),
    ("label: for (;;) { for (;;) continue label }", Ends::ByTime),
    ("const f = () => Promise.resolve().then(f); f(); await new Promise(() => {})", Ends::Unharmed),
    ("queueMicrotask(function f() { queueMicrotask(f) }); await 1", Ends::ByTime),
    ("(async function f() { await null; f() })(); await new Promise(() => {})", Ends::ByTime),
    ("for await (const x of (async function* () { for (;;) yield 1 })());", Ends::ByTime),
    (
        "function* g() { try { for (;;) yield } finally { for (;;); } } for (const x of g()) break",
        Ends::ByTime,
    ),
    ("for (const x of (function* () { for (;;) yield 1 })());", Ends::ByTime),
    ("/^(a+)+$/.test('a'.repeat(40) + 'b')", Ends::ByTime),
    ("/(?:(?:a|a)*)*b/.exec('a'.repeat(60))", Ends::ByTime),
    ("/(x+x+)+y/.test('x'.repeat(60))", Ends::ByTime),
    ("Array.from({length: 2 ** 40}, () => 1)", Ends::Unharmed),
    ("[...{[Symbol.iterator]: () => ({next: () => ({})})}]", Ends::ByLimit),
    ("const a = []; for (;;) a.push(a.slice())", Ends::ByLimit),
    ("const a = []; for (;;) try { for (;;) a.push([a.length]) } catch {}", Ends::ByLimit),
    ("let s = 'ab'; for (;;) s += s + 'c'; ", Ends::Unharmed),
    ("'x'.repeat(2 ** 29)", Ends::ByLimit),
    ("'x'.padEnd(2 ** 28)", Ends::ByLimit),
    ("new Array(2 ** 25).fill(0)", Ends::ByLimit),
    ("new ArrayBuffer(2 ** 31 - 1)", Ends::ByLimit),
    ("new Uint8Array(2 ** 30)", Ends::ByLimit),
    ("10n ** (10n ** 9n)", Ends::Unharmed),
    ("let b = 3n; for (;;) b *= b", Ends::Unharmed),
    ("const m = new Map(); for (let i = 0; ; i++) m.set(i, i)", Ends::ByLimit),
    ("const o = {}; for (let i = 0; ; i++) o['k' + i] = i", Ends::ByLimit),
    ("for (let i = 0; ; i++) Symbol.for('s' + i)", Ends::ByLimit),
    ("const a = []; for (;;) a.push(() => a)", Ends::ByLimit),
    ("const a = []; for (;;) a.push(Promise.reject(1))", Ends::ByLimit),
    ("const a = []; for (;;) a.push(new Promise(() => {}))", Ends::ByLimit),
    ("const a = []; for (;;) a.push(new Error('x'.repeat(1000)))", Ends::ByLimit),
    ("for (;;) runTool('echo', 'x'.repeat(1000))", Ends::Unharmed),
    ("for (;;) runTool('never', 1)", Ends::ByLimit),
    ("for (;;) runTool('a').catch(() => {})", Ends::Unharmed),
    ("JSON.parse('['.repeat(1e6))", Ends::Unharmed),
    ("JSON.stringify(Array(5e6).fill('xxxxxxxxxxxx'))", Ends::ByLimit),
    ("[..'x'.repeat(1e7)]", Ends::Unharmed),
    ("'x'.repeat(1e7).split('')", Ends::ByLimit),
    ("'a'.repeat(1e7).replace(/a/g, 'bbbbbbbbbbbbbbbbbbbb')", Ends::ByLimit),
    (
        "const a = Array.from({length: 3e5}, (_, i) => i); for (;;) a.sort(() => Math.random() - 0.5)",
        Ends::ByTime,
    ),
    ("[3, 2, 1].sort(() => { for (;;); })", Ends::ByTime),
    ("(function f() { f() })()", Ends::Unharmed),
    ("const f = () => [1].map(f); f()", Ends::Unharmed),
    ("let o = {}; for (let i = 0; i < 1e5; i++) o = {o}; JSON.stringify(o)", Ends::Unharmed),
    ("const p = new Proxy({}, {get: (t, k, r) => r[k]}); p.x", Ends::Unharmed),
    ("let p = {}; for (let i = 0; i < 1e5; i++) p = new Proxy(p, {}); p.x", Ends::Unharmed),
    ("eval('('.repeat(1e5))", Ends::Unharmed),
    ("new Function('return ' + '['.repeat(1e5))()", Ends::Unharmed),
    ("new RegExp('('.repeat(1e5))", Ends::Unharmed),
    ("new RegExp('(?:a{1000}){1000}').test('a')", Ends::Unharmed),
    ("Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)", Ends::Unharmed),
    ("new WebAssembly.Module(new Uint8Array())", Ends::Unharmed),
    ("await import('fs'); 'escaped'", Ends::Unharmed),
    ("await import('/etc/passwd'); 'escaped'", Ends::Unharmed),
    ("await import('data:text/javascript,export default 1'); 'escaped'", Ends::Unharmed),
    ("eval(\"import('std')\").then(() => 'escaped')", Ends::Unharmed),
    ("require('fs'); 'escaped'", Ends::Unharmed),
    ("process.exit(0)", Ends::Unharmed),
    ("std.exit(0)", Ends::Unharmed),
    ("os.exec(['true']); 'escaped'", Ends::Unharmed),
    ("new Worker('x')", Ends::Unharmed),
    ("runTool.constructor.constructor('return process')(); 'escaped'", Ends::Unharmed),
    ("[].constructor.constructor('return this')().process.exit(); 'escaped'", Ends::Unharmed),
    (
        "(async () => {}).constructor('return await import(\"os\")')().then(() => 'escaped')",
        Ends::Unharmed,
    ),
    (
        "Object.getPrototypeOf(function* () {}).constructor('yield 1')().next().value === 1 && typeof std === 'undefined' ? 1 : 'escaped'",
        Ends::Unharmed,
    ),
    ("Object.prototype.toJSON = () => { for (;;); }; ({})", Ends::ByTime),
    ("({get a() { for (;;); }})", Ends::ByTime),
    ("({toJSON() { for (;;); }})", Ends::ByTime),
    ("runTool('echo', {get a() { for (;;); }})", Ends::ByTime),
    ("runTool('echo', new Proxy({}, {ownKeys() { for (;;); }}))", Ends::ByTime),
    (
        "runTool('echo', new Proxy([], {get: (_, k) => k === 'length' ? 2 ** 53 : 1}))",
        Ends::Unharmed,
    ),
    ("runTool(new Proxy(() => {}, {apply() { throw 'escaped' }}), {})", Ends::Unharmed),
    ("runTool({toString() { for (;;); }})", Ends::Unharmed),
    ("Promise.prototype.then = () => { for (;;); }; await runTool('echo', 1)", Ends::Unharmed),
    (
        "Array.prototype.push = Object.prototype.hasOwnProperty = () => { throw 'escaped' }; await runTool('echo', 1)",
        Ends::Unharmed,
    ),
    (
        "globalThis.Promise = null; globalThis.Object = null; globalThis.Error = null; await runTool('a').catch((e) => e.code === 'some.code' ? 1 : 'escaped')",
        Ends::Unharmed,
    ),
    (
        "Object.defineProperty(Object.prototype, 'message', {set() { for (;;); }}); await runTool('a')",
        Ends::Unharmed,
    ),
    ("Error.prepareStackTrace = () => { for (;;); }; null.x", Ends::ByTime),
    ("Error.prepareStackTrace = () => 'at x (snippet:99999999999:1)'; null.x", Ends::Unharmed),
    (
        "const e = new Error('m'); e.stack = '    at f (snippet:4294967295:4294967295)\\n'.repeat(1e5); throw e",
        Ends::Unharmed,
    ),
    ("const e = new Error('x'.repeat(1e7)); e.name = 'y'.repeat(1e7); throw e", Ends::Unharmed),
    ("throw {get name() { for (;;); }, get message() { return 'x' }}", Ends::ByTime),
    ("throw new Proxy({}, {get() { throw new Proxy({}, {}) }})", Ends::Unharmed),
    ("Object.defineProperty(globalThis, '__out', {get() { for (;;); }})", Ends::ByTime),
    ("Object.defineProperty(globalThis, '__out', {get() { throw 1 }})", Ends::Unharmed),
    (
        "println('{\"done\":{\"value\":\"escaped\",\"warnings\":[]}}\\n{\"done\":{\"value\":\"escaped\",\"warnings\":[]}}')",
        Ends::Unharmed,
    ),
    ("console.error('\"ready\"\\n\"stuck\"\\n')", Ends::Unharmed),
    ("runTool('\\n{\"done\":{\"value\":\"escaped\",\"warnings\":[]}}\\n')", Ends::Unharmed),
    ("for (;;) println('x'.repeat(1e5))", Ends::ByTime),
    ("for (;;) println('')", Ends::ByTime),
    ("println('x'.repeat(3e7)); 1", Ends::Unharmed),
    ("println(new Proxy({}, {get() { for (;;); }}))", Ends::ByTime),
    ("with (new Proxy({}, {has: () => true, get: () => { for (;;); }})) x", Ends::ByTime),
    ("new FinalizationRegistry(() => { for (;;); }).register({}, 1); 1", Ends::Unharmed),
    ("new Date(8.64e15).toLocaleString('x'.repeat(1e6))", Ends::Unharmed),
    ("'\\u0000'.normalize('NFKC').localeCompare('x'.repeat(1e6))", Ends::Unharmed),
    (
        "globalThis.globalThis = null; delete globalThis.runTool; delete globalThis.println; 1",
        Ends::Unharmed,
    ),
];

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

#[test]
fn hostile_snippets_end_and_leave_nothing() {
    if !is_alone("hostile_snippets_end_and_leave_nothing") {
        return;
    }
    assert!(HOSTILE.len() >= 60, "{}", HOSTILE.len());
    let limits = Limits {
        memory_mib: 32,
        engine: Duration::from_millis(500),
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
    let ended = std::thread::scope(|scope| {
        let running = scope.spawn(|| {
            let code = "println('before'); runTool('never', 1); await runTool('never', 2)";
            run_in("javascript", code, &around, &USUAL, &Stop::new())
        });
        while around.calls.lock().unwrap().len() < 2 {
            std::thread::sleep(Duration::from_millis(1));
        }
        let pid = workers().pop().unwrap();
        // It holds three pipes and nothing else, has no environment, and can gain no right.
        assert_eq!(fs::read_dir(format!("/proc/{pid}/fd")).unwrap().count(), 3);
        assert_eq!(fs::read(format!("/proc/{pid}/environ")).unwrap(), b"");
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        for line in ["Seccomp:\t2", "NoNewPrivs:\t1", "Threads:\t1"] {
            assert!(status.contains(line), "{status}");
        }
        std::process::Command::new("kill").args(["-9", &pid]).status().unwrap();
        running.join().unwrap()
    });
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
