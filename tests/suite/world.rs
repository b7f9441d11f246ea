//! A world for one test: a project, a user space and the real binary, all below one temporary
//! folder.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ed25519_dalek::{Signer, SigningKey};
use serde_json::Value;
use sha2::{Digest, Sha256};

mod attempts;
#[cfg(feature = "http")]
pub mod boxes;
mod in_process;
pub mod items;
#[cfg(any(feature = "mcp", feature = "lsp"))]
pub mod json_rpc;
mod needs;
mod outcome;
#[cfg(feature = "http")]
pub mod server;
mod signed;
mod terminal;
mod users;
pub mod wait;

pub use attempts::Attempt;
pub use needs::{BASH, NODE, PYTHON, end_as_not_run, needed_by, not_run, note_answer, run_test};
pub use outcome::End;

/// The program under test: the one that was built with the tests, or the one that `RYE_UNDER_TEST`
/// names, such as the static build.
pub fn program() -> &'static str {
    static PROGRAM: OnceLock<String> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        std::env::var("RYE_UNDER_TEST").unwrap_or_else(|_| env!("CARGO_BIN_EXE_rye").to_owned())
    })
}

/// The tests run at their whole size, as `RYE_TEST=all` asks; by default each is as large as its
/// promise needs.
pub fn whole() -> bool {
    std::env::var_os("RYE_TEST").is_some_and(|asked| asked == "all")
}

/// What a call of rye gave.
#[derive(Debug)]
pub struct Said {
    pub status: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Said {
    /// The one JSON object on standard output.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|e| panic!("no JSON ({e}): {}\n{}", self.stdout, self.stderr))
    }

    /// The stable code in a JSON failure, or in the text of one.
    pub fn code(&self) -> String {
        if let Ok(value) = serde_json::from_str::<Value>(&self.stdout) {
            return value["code"].as_str().unwrap_or_default().to_owned();
        }
        coded(&self.stderr)
    }

    /// The code of the failure that a terminal showed.
    pub fn code_shown(&self) -> String {
        coded(&self.stdout)
    }
}

/// The links of a chain as JSON answers name them.
pub fn links(ids: &[impl AsRef<str>]) -> Value {
    ids.iter().map(AsRef::as_ref).collect()
}

fn coded(text: &str) -> String {
    let text = text.split("error[").nth(1).unwrap_or_default();
    text.split(']').next().unwrap_or_default().to_owned()
}

/// See the module.
pub struct World {
    folder: tempfile::TempDir,
    env: BTreeMap<String, String>,
    /// What rye finds in the place of the machine's user database.
    users: Option<PathBuf>,
    /// Every tool runs without a sandbox.
    is_let_out: bool,
    /// Each call is a process.
    is_at_the_door: bool,
    /// A snippet was written, for which rye starts itself.
    has_snippets: AtomicBool,
}

impl World {
    /// A project folder and a user space without a key; in memory where the machine has room for
    /// that, since a disk takes its time for each `fsync`.
    pub fn empty() -> Self {
        Self::of(tempfile::tempdir_in(place_of_worlds()).expect("a temporary folder"))
    }

    fn of(folder: tempfile::TempDir) -> Self {
        // Nobody else may write above the project or the private folder of a run.
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).expect("chmod");
        for name in ["project", "home"] {
            fs::create_dir(folder.path().join(name)).expect("mkdir");
        }
        let home = folder.path().join("home").display().to_string();
        let mut env = BTreeMap::new();
        // The real interpreter: a version manager's shim costs more than all of rye.
        let path = format!("{}:/usr/local/bin:/usr/bin:/bin", python_folder().display());
        env.insert("PATH".into(), path);
        env.insert("HOME".into(), home);
        env.insert("LANG".into(), "C.UTF-8".into());
        env.insert("RYE_TEST_WAITS".into(), "short".into());
        Self {
            folder,
            env,
            users: None,
            is_let_out: false,
            is_at_the_door: false,
            has_snippets: AtomicBool::default(),
        }
    }

    /// The same after `rye init`: a key, an accepted project.
    pub fn new() -> Self {
        Self::empty().set_up()
    }

    /// The same on the disk: a sandbox gives each tool a `/dev` of its own, and memory lies there.
    pub fn new_on_disk() -> Self {
        Self::of(tempfile::tempdir().expect("a temporary folder")).set_up()
    }

    /// The same below `/var/tmp`: a sandboxed tool has a `/tmp` of its own, in which all that is
    /// not granted would be there to write.
    pub fn new_beside_tmp() -> Self {
        Self::of(tempfile::tempdir_in("/var/tmp").expect("a temporary folder")).set_up()
    }

    fn set_up(mut self) -> Self {
        let said = self.answer(&["init"]);
        assert_eq!(said.status, 0, "{said:?}");
        self.let_out();
        self.is_let_out = true;
        self
    }

    /// Lets every tool run without a sandbox, so that a test of something else goes the same way on
    /// every machine.
    pub fn let_out(&self) {
        let text = "sandbox_off: [\"tool:**\"]\n";
        let rest = text.as_bytes();
        let line = line(&self.own_key(), "config:rye/policy", "yaml", AT, rest);
        self.write_home(".ai/config/rye/policy.yaml", format!("# {line}\n{text}"));
    }

    /// The same world where tools are held as they are for everybody.
    pub fn held(mut self) -> Self {
        self.is_let_out = false;
        fs::remove_file(self.home().join(".ai/config/rye/policy.yaml")).expect("a policy");
        self
    }

    pub fn project(&self) -> PathBuf {
        self.folder.path().join("project")
    }

    pub fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    /// The folder that holds both, for what lies outside them.
    pub fn outside(&self) -> &Path {
        self.folder.path()
    }

    /// Makes each call a process, for what a process does once.
    pub fn at_the_door(mut self) -> Self {
        self.is_at_the_door = true;
        self
    }

    /// Sets a variable of rye's environment.
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.env.insert(name.into(), value.into());
        self
    }

    /// Runs rye in the project.
    pub fn rye(&self, args: &[&str]) -> Said {
        self.rye_in(&self.project(), args, b"")
    }

    /// Runs rye with `--json`.
    pub fn json(&self, args: &[&str]) -> (i32, Value) {
        let said = self.answer(args);
        (said.status, said.json())
    }

    /// Runs rye with `--json` in a process of its own, for what is left when that ends.
    pub fn json_of_process(&self, args: &[&str]) -> (i32, Value) {
        let said = self.process(&self.project(), &[args, &["--json"]].concat(), b"", &[]);
        (said.status, said.json())
    }

    /// Runs rye in `folder` with `stdin`.
    pub fn rye_in(&self, folder: &Path, args: &[&str], stdin: &[u8]) -> Said {
        self.rye_env(folder, args, stdin, &[])
    }

    /// The same with more variables.
    pub fn rye_env(
        &self,
        folder: &Path,
        args: &[&str],
        stdin: &[u8],
        env: &[(&str, &str)],
    ) -> Said {
        let said = self
            .in_process(folder, args, stdin, env)
            .unwrap_or_else(|| self.process(folder, args, stdin, env));
        note_answer(&[&said.stdout, &said.stderr]);
        said
    }

    fn process(&self, folder: &Path, args: &[&str], stdin: &[u8], env: &[(&str, &str)]) -> Said {
        for arg in args {
            needed_by(arg.as_bytes());
        }
        let mut child = self
            .rye_itself()
            .args(args)
            .current_dir(folder)
            .env_clear()
            .envs(&self.env)
            .envs(env.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("rye starts");
        let mut pipe = child.stdin.take().expect("a pipe");
        let stdin = stdin.to_vec();
        let writer = std::thread::spawn(move || drop(pipe.write_all(&stdin)));
        let Output { status, stdout, stderr } = child.wait_with_output().expect("rye ends");
        drop(writer.join());
        Said {
            status: status.code().unwrap_or(-1),
            stdout: String::from_utf8_lossy(&stdout).into_owned(),
            stderr: String::from_utf8_lossy(&stderr).into_owned(),
        }
    }

    /// A call of rye in the project, to be started by whoever wants to watch it.
    pub fn command(&self, args: &[&str]) -> Command {
        for arg in args {
            needed_by(arg.as_bytes());
        }
        let mut command = self.rye_itself();
        command.args(args).current_dir(self.project()).env_clear().envs(&self.env);
        command
    }

    /// Writes a file of the project and gives its path.
    pub fn write(&self, path: &str, text: impl AsRef<[u8]>) -> PathBuf {
        self.note_snippet(text.as_ref());
        write(&self.project().join(path), text.as_ref())
    }

    /// Writes a file below the user space's folder.
    pub fn write_home(&self, path: &str, text: impl AsRef<[u8]>) -> PathBuf {
        self.note_snippet(text.as_ref());
        write(&self.home().join(path), text.as_ref())
    }

    fn note_snippet(&self, text: &[u8]) {
        let names = |sign: &str| memchr::memmem::find(text, sign.as_bytes()).is_some();
        if ["runtimes/code", "rye_code", "rye.code"].into_iter().any(names) {
            self.has_snippets.store(true, Ordering::Relaxed);
        }
    }

    pub fn read(&self, path: &str) -> Vec<u8> {
        fs::read(self.project().join(path)).expect("a file")
    }

    /// Runs an item and gives the status and the code of its failure.
    pub fn run(&self, item: &str) -> (i32, String) {
        let said = self.answer(&["execute", item]);
        (said.status, said.code())
    }

    /// The untouched fixture works.
    #[track_caller]
    pub fn works(&self, item: &str) {
        let said = self.answer(&["execute", item]);
        assert_eq!(said.status, 0, "the fixture itself is good: {said:?}");
    }

    /// The item is refused with the code and the status, and the marker was not written.
    #[track_caller]
    pub fn refused(&self, item: &str, code: &str, status: i32) {
        let marker = self.project().join("marker");
        drop(fs::remove_file(&marker));
        let said = self.answer(&["execute", item]);
        assert_eq!((said.code().as_str(), said.status), (code, status), "{said:?}");
        assert!(!marker.exists(), "it ran although it was refused");
    }

    /// The user's own private key.
    pub fn own_key(&self) -> SigningKey {
        use ed25519_dalek::pkcs8::DecodePrivateKey;
        let path = self.home().join(".ai/config/keys/signing/private_key.pem");
        SigningKey::from_pkcs8_pem(&fs::read_to_string(path).expect("a key")).expect("PKCS#8")
    }
}

/// `.ai/tools/acme/x.py` → `tool:acme/x`.
pub fn item_of(path: &str) -> String {
    let inner = path.strip_prefix(".ai/").expect("a path below .ai");
    let (folder, rest) = inner.split_once('/').expect("a kind's folder");
    let kind = match folder {
        "tools" => "tool",
        "directives" => "directive",
        other => other,
    };
    format!("{kind}:{}", rest.rsplit_once('.').expect("an extension").0)
}

fn write(path: &Path, bytes: &[u8]) -> PathBuf {
    needed_by(bytes);
    fs::create_dir_all(path.parent().expect("a parent")).expect("mkdir");
    fs::write(path, bytes).expect("a written file");
    path.to_owned()
}

/// Where worlds are made: the memory file system with room for many of them, or the usual folder.
fn place_of_worlds() -> &'static Path {
    const ROOM: u64 = 2 << 30;
    static PLACE: OnceLock<PathBuf> = OnceLock::new();
    PLACE.get_or_init(|| {
        let memory = Path::new("/dev/shm");
        let room = rustix::fs::statvfs(memory).map_or(0, |stat| {
            let runs = !stat.f_flag.contains(rustix::fs::StatVfsMountFlags::NOEXEC);
            if runs { stat.f_bavail * stat.f_frsize } else { 0 }
        });
        if room >= ROOM { memory.into() } else { std::env::temp_dir() }
    })
}

/// The real `python3`; the test ends as not run where there is none.
pub fn python() -> PathBuf {
    PYTHON.needed();
    python_folder().join("python3")
}

/// The folder of the real `python3`, found once.
pub fn python_folder() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        // The system's own, if it works, reads no packages of a version manager at each start.
        ["/usr/bin/python3", "python3"].into_iter().find_map(real_folder).unwrap_or_default()
    })
}

/// The folder of this interpreter's program; a machine may have none.
fn real_folder(python: &str) -> Option<PathBuf> {
    let script = "import sys, os; print(os.path.dirname(os.path.realpath(sys.executable)))";
    let output = Command::new(python).args(["-c", script]).output().ok()?;
    let path = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| path.trim().into())
}

pub fn sha256(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}

pub fn fingerprint(key: &SigningKey) -> String {
    sha256(key.verifying_key().as_bytes())[..32].to_owned()
}

/// When what these tests sign was signed.
pub const AT: &str = "2026-01-01T00:00:00Z";

/// A signature line as the format says it, for `rest`, made here and not by rye.
pub fn line(key: &SigningKey, item: &str, ext: &str, at: &str, rest: &[u8]) -> String {
    let statement = format!(
        "rye:signed:v2 item={item} ext={ext} at={at} sha256={} key={}",
        sha256(rest),
        fingerprint(key)
    );
    let sig = URL_SAFE_NO_PAD.encode(key.sign(statement.as_bytes()).to_bytes());
    format!("{statement} sig={sig}")
}

/// A tool that leaves a marker when it runs.
pub const MARKER_PY: &str = r#"import json
import sys

__version__ = "1.0.0"
__tool_type__ = "tool"
__executor_id__ = "rye/core/runtimes/python/script"
__category__ = "acme"
__tool_description__ = "Leaves a marker"

open("marker", "w").close()
print(json.dumps({"ran": True}))
"#;

/// The same in shell, which starts faster.
pub const MARKER_SH: &str = r#"#!/bin/bash
# /// rye
# version = "1.0.0"
# tool_type = "tool"
# executor_id = "rye/core/runtimes/shell/script"
# category = "acme"
# description = "Leaves a marker"
# ///
: > marker
echo '{"ran": true}'
"#;

/// A directive with one input.
pub const GREET_MD: &str = r#"# Greet

Words before.

```xml
<directive name="greet" version="1.0.0">
  <metadata>
    <description>Greet somebody</description>
    <category>acme</category>
    <author>acme</author>
  </metadata>
  <inputs>
    <input name="who" type="string" required="false" default="world">whom</input>
  </inputs>
</directive>
```

Say hello to {input:who}.
"#;

impl World {
    /// Runs a script in the project, with rye on the path; standard output and error as one text.
    pub fn shell(&self, script: &str) -> String {
        BASH.needed();
        needed_by(script.as_bytes());
        let folder = Path::new(program()).parent().expect("a folder");
        let path = format!("{}:{}", folder.display(), self.env["PATH"]);
        let output = Command::new("bash")
            .args(["-c", &format!("exec 2>&1\n{script}")])
            .current_dir(self.project())
            .env_clear()
            .envs(&self.env)
            .env("PATH", path)
            .output()
            .expect("bash");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }
}

impl World {
    /// Runs rye as a program that rye started would: below a run, and without a terminal.
    pub fn rye_below_a_run(&self, args: &[&str]) -> Said {
        // A session of its own has no terminal, wherever the tests are run from.
        let output = Command::new("setsid")
            .args(["--wait", program()])
            .args(args)
            .current_dir(self.project())
            .env_clear()
            .envs(&self.env)
            .env("RYE_RUN_ID", "run-of-a-test")
            .stdin(Stdio::null())
            .output()
            .expect("setsid starts");
        Said {
            status: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

impl World {
    /// Starts rye in the project and does not wait for it.
    pub fn start(&self, args: &[&str]) -> std::process::Child {
        self.command(args)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("rye starts")
    }

    /// Runs rye in the project by way of another program, such as `timeout 10`.
    pub fn rye_under(&self, program: &[&str], args: &[&str]) -> Said {
        let output = Command::new(program[0])
            .args(&program[1..])
            .arg(self::program())
            .args(args)
            .current_dir(self.project())
            .env_clear()
            .envs(&self.env)
            .stdin(Stdio::null())
            .output()
            .expect("the program starts");
        Said {
            status: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// rye started by another program, which is given `before`, rye's path and `args`.
    pub fn command_through(&self, program: &str, before: &[&str], args: &[&str]) -> Command {
        needed_by(program.as_bytes());
        let mut command = Command::new(program);
        command.args(before).arg(self::program()).args(args);
        command.current_dir(self.project()).env_clear().envs(&self.env);
        command
    }

    /// Runs rye by way of another program.
    pub fn run_through(&self, program: &str, before: &[&str], args: &[&str]) -> Said {
        let mut command = self.command_through(program, before, args);
        let output = command.stdin(Stdio::null()).output().expect("the program starts");
        Said {
            status: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

/// The time so many seconds from now, as a signature line says it.
pub fn seconds_from_now(seconds: i64) -> String {
    let at = jiff::Timestamp::now().as_second() + seconds;
    let at = jiff::Timestamp::from_second(at).expect("a time");
    at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// What this process holds: descriptors, threads, children that are no more.
pub fn held() -> (usize, usize, usize) {
    let count = |folder: &str| fs::read_dir(folder).unwrap().count();
    let zombies = fs::read_dir("/proc").unwrap().filter_map(Result::ok).filter(|entry| {
        let stat = fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        let mut rest = stat.rsplit_once(") ").map_or("", |(_, rest)| rest).split(' ');
        rest.next() == Some("Z") && rest.next() == Some(&std::process::id().to_string())
    });
    (count("/proc/self/fd"), count("/proc/self/task"), zombies.count())
}
