//! The library facade, in process: what one run costs beside the bare child.
//!
//! - `cargo bench` runs all of it in a few seconds
//! - `cargo bench --bench line -- --rates` prints the signature library's own rates and nothing
//!   else, one `name number` a line; `table.sh` reads them
//! - `cargo bench --bench line -- --overheads` prints microseconds of a bare child and of runs,
//!   each `name median minimum`
//! - `cargo bench --bench line -- --many HOME PROJECT ITEM THREADS SECONDS` prints how many runs of
//!   an item so many threads end in a second; `node.py` reads it

use std::ffi::OsString;
use std::fs;
use std::hint::black_box;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use criterion::Criterion;
use ed25519_dalek::{Signature, Signer, SigningKey, VerifyingKey};
use rye::{Request, Rye, RyeBuilder};
use sha2::{Digest, Sha256};

/// The child of the no-op tool.
const NOOP: &str = "/bin/true";

/// A tool of three links: itself, its runtime and the primitive.
const TOOL: &str = r#"version: "1.0.0"
tool_type: tool
executor_id: rye/core/runtimes/native/program
category: bench
description: "Starts a child that does nothing."
config:
  command: /bin/true
"#;

/// The same child, given the path of the tool's pinned copy.
const PINNED: &str = r#"version: "1.0.0"
tool_type: tool
executor_id: rye/core/runtimes/native/program
category: bench
description: "Starts a child that does nothing."
config:
  command: /bin/true
  args: ["{tool_path}"]
"#;

/// How many bytes a signature covers: the text of a statement, about as long as the line in a file.
const STATEMENT: usize = 200;

/// How many bytes an item of the larger measurements has.
const ITEM: usize = 4096;

fn main() {
    if std::env::args().any(|arg| arg == "--rates") {
        rates();
        return;
    }
    if std::env::args().any(|arg| arg == "--overheads") {
        overheads();
        return;
    }
    if let Some(at) = std::env::args().position(|arg| arg == "--many") {
        let args: Vec<String> = std::env::args().skip(at + 1).take(5).collect();
        return many(&args);
    }
    let mut criterion = Criterion::default()
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(1))
        .sample_size(30)
        .without_plots()
        .configure_from_args();
    facade(&mut criterion);
    signatures(&mut criterion);
    criterion.final_summary();
}

/// Prints how many runs end in a second.
#[expect(clippy::print_stdout, reason = "the number is for a program that reads it")]
fn many(args: &[String]) {
    let [home, project, item, threads, seconds] = args else { panic!("five arguments") };
    let path = std::env::var_os("PATH").unwrap_or_default();
    let vars = vec![("HOME".into(), home.into()), ("PATH".into(), path)];
    let rye = RyeBuilder::new().vars(vars).cwd(project).project(project).build();
    let (rye, request) = (rye.expect("a project"), Request::new(item));
    let seconds: u64 = seconds.parse().expect("a number");
    let (start, time) = (Instant::now(), Duration::from_secs(seconds));
    let run_for_a_while = || {
        let mut count = 0;
        while start.elapsed() < time {
            let got = rye.run_json(&request);
            assert_eq!(got["status"], "success", "{got}");
            count += 1;
        }
        count
    };
    let count: u64 = std::thread::scope(|scope| {
        let threads = 0..threads.parse().expect("a number");
        let threads: Vec<_> = threads.map(|_| scope.spawn(run_for_a_while)).collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).sum()
    });
    let count = f64::from(u32::try_from(count).expect("it fits"));
    println!("{:.1}", count / start.elapsed().as_secs_f64());
}

/// An accepted project with the signed no-op tool.
struct World {
    folder: tempfile::TempDir,
}

impl World {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        // Nobody else may write above a project; others may look.
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).expect("chmod");
        fs::create_dir(folder.path().join("home")).expect("mkdir");
        fs::create_dir(folder.path().join("project")).expect("mkdir");
        let world = Self { folder };
        world.door(&["init"]);
        let tools = world.project().join(".ai/tools/bench");
        fs::create_dir_all(&tools).expect("mkdir");
        fs::write(tools.join("noop.yaml"), TOOL).expect("the tool");
        fs::write(tools.join("pinned.yaml"), PINNED).expect("the tool");
        // What stands beside it has no sandbox either.
        let policy = world.folder.path().join("home/.ai/config/rye");
        fs::create_dir_all(&policy).expect("mkdir");
        let text = "sandbox_off: [\"tool:bench/**\"]\n";
        fs::write(policy.join("policy.yaml"), text).expect("the policy");
        world.door(&["sign", "config:rye/policy", "--space", "user"]);
        world.door(&["sign", "tool:bench/*"]);
        world
    }

    /// Runs the binary; what it sets up is the same for a person.
    fn door(&self, args: &[&str]) {
        let output = Command::new(env!("CARGO_BIN_EXE_rye"))
            .args(args)
            .current_dir(self.project())
            .env_clear()
            .envs(self.vars())
            .stdin(Stdio::null())
            .output()
            .expect("rye starts");
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    }

    fn project(&self) -> PathBuf {
        self.folder.path().join("project")
    }

    fn vars(&self) -> Vec<(OsString, OsString)> {
        let home = self.folder.path().join("home").into_os_string();
        vec![("HOME".into(), home), ("PATH".into(), "/usr/bin:/bin".into())]
    }

    fn rye(&self) -> Rye {
        let builder = RyeBuilder::new().vars(self.vars()).cwd(self.project());
        builder.project(self.project()).build().expect("an accepted project")
    }
}

fn facade(criterion: &mut Criterion) {
    let world = World::new();
    let rye = world.rye();
    let run = Request::new("tool:bench/noop");
    let dry = run.clone().dry_run(true);
    assert_eq!(rye.run_json(&dry)["status"], "validation_passed");
    assert_eq!(rye.run_json(&run)["status"], "success");

    let mut group = criterion.benchmark_group("facade");
    group.bench_function("build", |b| b.iter(|| black_box(world.rye())));
    group.bench_function("dry run, 3 links", |b| b.iter(|| black_box(rye.run_json(&dry))));
    group.bench_function("dry run, embedded tool with a schema", |b| {
        let request = Request::new("tool:rye/bash").dry_run(true).param("command", "true");
        b.iter(|| black_box(rye.run_json(&request)));
    });
    group.finish();

    // What the first of these takes over the second is what rye adds to a child.
    let mut group = criterion.benchmark_group("child");
    group.bench_function("run, 3 links", |b| b.iter(|| black_box(rye.run_json(&run))));
    group.bench_function("std::process::Command", |b| {
        b.iter(|| black_box(bare(&world)));
    });
    group.finish();
}

/// The child without rye.
fn bare(world: &World) -> std::process::Output {
    let mut command = Command::new(NOOP);
    let command = command.current_dir(world.project()).env_clear().envs(world.vars());
    command.stdin(Stdio::null()).output().expect("a child")
}

/// Prints what a run takes beside the bare child, all sides in turn.
#[expect(clippy::print_stdout, reason = "the numbers are for a program that reads them")]
fn overheads() {
    let world = World::new();
    let rye = world.rye();
    let run = |item: &str| {
        let request = Request::new(item);
        let got = rye.run_json(&request);
        assert_eq!(got["status"], "success", "{got}");
        request
    };
    let (plain, pinned) = (run("tool:bench/noop"), run("tool:bench/pinned"));
    // A login session has a folder in memory for private files; without one they lie in the home.
    // It is closed to others; one that is not is passed over.
    let private = fs::Permissions::from_mode(0o700);
    let memory = tempfile::Builder::new().permissions(private).tempdir_in("/dev/shm");
    let memory = memory.expect("a folder in memory");
    let mut vars = world.vars();
    vars.push(("XDG_RUNTIME_DIR".into(), memory.path().into()));
    let login = RyeBuilder::new().vars(vars).cwd(world.project()).project(world.project());
    let login = login.build().expect("an accepted project");
    let sides: [(&str, &dyn Fn()); 4] = [
        ("bare", &|| drop(black_box(bare(&world)))),
        ("run", &|| drop(black_box(rye.run_json(&plain)))),
        ("run_pinned", &|| drop(black_box(rye.run_json(&pinned)))),
        ("run_pinned_login", &|| drop(black_box(login.run_json(&pinned)))),
    ];
    let mut times = [const { Vec::new() }; 4];
    for _ in 0..600 {
        for ((_, act), times) in sides.iter().zip(&mut times) {
            let start = Instant::now();
            act();
            times.push(start.elapsed().as_nanos());
        }
    }
    for ((name, _), mut times) in sides.into_iter().zip(times) {
        times.sort_unstable();
        println!("{name} {} {}", times[times.len() / 2] / 1000, times[0] / 1000);
    }
}

fn signatures(criterion: &mut Criterion) {
    let (message, signing, verifying, signature) = signed();
    let item = vec![b'x'; ITEM];
    let mut group = criterion.benchmark_group("library");
    group.bench_function("verify_strict", |b| {
        b.iter(|| verifying.verify_strict(black_box(&message), &signature).is_ok());
    });
    group.bench_function("sign", |b| b.iter(|| signing.sign(black_box(&message))));
    group.bench_function("sha256 of 4 KiB", |b| b.iter(|| Sha256::digest(black_box(&item))));
    group.finish();
}

/// A statement, the key pair and the signature.
fn signed() -> (Vec<u8>, SigningKey, VerifyingKey, Signature) {
    let message = vec![b's'; STATEMENT];
    let signing = SigningKey::from_bytes(&[7; 32]);
    let signature = signing.sign(&message);
    let verifying = signing.verifying_key();
    (message, signing, verifying, signature)
}

/// Prints how often each act is done in a second, on one core alone and on all at once.
#[expect(clippy::print_stdout, reason = "the numbers are for a program that reads them")]
fn rates() {
    let (message, signing, verifying, signature) = signed();
    let item = vec![b'x'; ITEM];
    let verify = || verifying.verify_strict(black_box(&message), &signature).is_ok();
    let sign = || signing.sign(black_box(&message)).to_bytes()[0] < 255;
    let hash = || Sha256::digest(black_box(&item))[0] < 255;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    println!("cores {cores}");
    println!("verify {:.0}", rate(1, &verify));
    println!("verify_all_cores {:.0}", rate(cores, &verify));
    println!("sign {:.0}", rate(1, &sign));
    println!("sign_all_cores {:.0}", rate(cores, &sign));
    println!("sha256_4k {:.0}", rate(1, &hash));
}

/// The best of a few short turns: what else the machine does can only lower a rate.
#[expect(clippy::cast_precision_loss, reason = "a rate for people")]
fn rate(threads: usize, act: &(dyn Fn() -> bool + Sync)) -> f64 {
    let turn = || {
        let (start, mut done) = (Instant::now(), 0_u64);
        while start.elapsed() < Duration::from_millis(100) {
            for _ in 0..50 {
                black_box(act());
            }
            done += 50;
        }
        done as f64 / start.elapsed().as_secs_f64()
    };
    let all = || {
        std::thread::scope(|scope| {
            let running: Vec<_> = (0..threads).map(|_| scope.spawn(turn)).collect();
            running.into_iter().map(|thread| thread.join().unwrap_or(0.0)).sum::<f64>()
        })
    };
    (0..7).map(|_| all()).fold(0.0, f64::max)
}
