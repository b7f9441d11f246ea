//! The form of a vector: a program whose head says what it is called with and what comes of it.
//!
//! The comment lines behind the first line of a program are `key: value`:
//!
//! - `about` what it shows · `row` the row of `attacks.md`, or the section of the specification
//! - `mode: server` for a server; a program below `server/` is one anyhow
//! - `exec`, repeated: one more line of the `exec` block · `more`, repeated: one of the item
//! - `by: cli` where only a process that serves rye alone can keep the promise
//! - `within`: milliseconds that a call may take, the shutdown of its process included; 10 s if not
//!   said
//! - `fill: NAME N`: each call has a parameter of N times `z`
//! - `call`: the parameters of one call, `{}` if it is not said. Behind it what comes of it:
//!   `expect: result JSON`, `expect: error TEXT`, `expect: pending`, `expect: code CODE`, or
//!   `length: N` for a result that is a text of so many bytes; `says`: a part of the message;
//!   `tail`: a part of `stderr_tail`; `not`: what is in no part of the answer
//!
//! The command line makes each call of a one-shot program, and the first one of a server, which
//! ends with it. The library makes all calls, and keeps the servers between them.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Map, Value};

use crate::world::World;

pub struct Vector {
    pub name: String,
    pub row: String,
    pub is_server: bool,
    pub only_cli: bool,
    pub within: Duration,
    pub calls: Vec<Call>,
    file: PathBuf,
    exec: Vec<String>,
    more: Vec<String>,
}

#[derive(Default)]
pub struct Call {
    pub params: Map<String, Value>,
    expect: String,
    says: Vec<String>,
    tail: Vec<String>,
    not: Vec<String>,
}

/// Every vector of these rows.
pub fn of_rows(rows: &[&str]) -> Vec<Vector> {
    let mut all: Vec<Vector> = files().iter().map(|file| Vector::read(file)).collect();
    all.retain(|vector| rows.contains(&vector.row.as_str()));
    assert!(!all.is_empty(), "no vector of {rows:?}");
    all
}

/// Every program of the folder, sorted.
pub fn files() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/exec");
    let folders = ["oneshot", "server", "howto"].map(|name| root.join(name));
    let entries = folders.iter().flat_map(|folder| fs::read_dir(folder).unwrap());
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

impl Vector {
    #[track_caller]
    pub fn read(file: &Path) -> Self {
        let (text, at) = (fs::read_to_string(file).unwrap(), file.display());
        let name = |path: Option<&std::ffi::OsStr>| path.unwrap().to_str().unwrap().to_owned();
        let folder = name(file.parent().unwrap().file_name());
        let mut vector = Self {
            name: format!("{folder}-{}", name(file.file_name()).replace('.', "-")),
            row: String::new(),
            is_server: folder == "server",
            only_cli: false,
            within: Duration::from_secs(10),
            calls: Vec::new(),
            file: file.to_owned(),
            exec: Vec::new(),
            more: Vec::new(),
        };
        let mut fill = None;
        let comments = text.lines().skip(1);
        let comments = comments.map_while(|l| l.strip_prefix("# ").or(l.strip_prefix("// ")));
        for line in comments {
            let (key, value) = line.split_once(':').unwrap_or_else(|| panic!("{at}: {line}"));
            let value = value.trim().to_owned();
            if matches!(key, "call" | "expect" | "length") {
                let is_open = vector.calls.last().is_some_and(|call| call.expect.is_empty());
                if key == "call" || !is_open {
                    vector.calls.push(Call::default());
                }
            }
            let mut call = vector.calls.last_mut();
            let mut call = || call.take().unwrap_or_else(|| panic!("{at}: {line}"));
            match key {
                "about" => {}
                "row" => vector.row = value,
                "mode" => vector.is_server = value == "server",
                "exec" => vector.exec.push(value),
                "more" => vector.more.push(value),
                "by" => vector.only_cli = value == "cli",
                "within" => vector.within = Duration::from_millis(value.parse().unwrap()),
                "fill" => fill = Some(value),
                "call" => call().params = serde_json::from_str(&value).unwrap(),
                "expect" => call().expect = value,
                "length" => call().expect = format!("length {value}"),
                "says" => call().says.push(value),
                "tail" => call().tail.push(value),
                "not" => call().not.push(value),
                other => panic!("{at}: `{other}` is not a key"),
            }
        }
        if let Some((name, size)) = fill.as_deref().and_then(|fill| fill.split_once(' ')) {
            let text = "z".repeat(size.parse().unwrap());
            for call in &mut vector.calls {
                call.params.insert(name.to_owned(), text.clone().into());
            }
        }
        assert!(!vector.calls.is_empty() && !vector.row.is_empty(), "{at} says too little");
        vector
    }

    pub fn item(&self) -> String {
        format!("tool:v/{}", self.name)
    }

    /// Writes the item and its program; it is not signed yet.
    pub fn write(&self, world: &World) {
        let file = self.file.file_name().unwrap().to_str().unwrap();
        let (mode, runtime) =
            if self.is_server { ("server", "server") } else { ("oneshot", "exec") };
        let lines = |lines: &[String], indent: &str| {
            lines.iter().map(|line| format!("{indent}{line}\n")).collect::<String>()
        };
        let (name, more, exec) = (&self.name, lines(&self.more, ""), lines(&self.exec, "  "));
        world.write(
            &format!(".ai/tools/v/{name}.yaml"),
            format!(
                "version: \"1.0.0\"\ntool_type: exec\nexecutor_id: rye/core/runtimes/exec/{mode}\n\
                 category: v\ndescription: x\n{more}exec:\n  command: ./{name}.files/{file}\n  \
                 runtime: {runtime}\n  files: [{name}.files/{file}]\n{exec}"
            ),
        );
        let path = format!(".ai/tools/v/{name}.files/{file}");
        let program = world.write(&path, fs::read(&self.file).unwrap());
        fs::set_permissions(program, fs::Permissions::from_mode(0o755)).unwrap();
    }
}

impl Call {
    /// What is wrong with an answer; nothing if it is what the vector says.
    pub fn judge(&self, got: &Value) -> Option<String> {
        let (word, rest) = self.expect.split_once(' ').unwrap_or((&self.expect, ""));
        let code = got["code"].as_str().unwrap_or_default();
        let message = got["error"].as_str().unwrap_or_default();
        let is_so = match word {
            "result" => {
                let want: Value = serde_json::from_str(rest).unwrap();
                // Numbers are kept as they were written, so they are compared to the digit.
                got["status"] == "success" && got["data"] == want
            }
            "length" => {
                let length = got["data"].as_str().map(str::len);
                got["status"] == "success" && length == rest.parse().ok()
            }
            "error" => code == "execute.tool_failed" && message.contains(rest),
            "pending" => got["status"] == "pending" && got["pending"].is_object(),
            "code" => code == rest,
            other => panic!("`{other}` is not an expectation"),
        };
        let tail = got["data"]["stderr_tail"].as_str();
        let tail = tail.unwrap_or_default();
        let all = got.to_string();
        let says = self.says.iter().all(|part| message.contains(part));
        let tells = self.tail.iter().all(|part| tail.contains(part)) && tail.len() <= 4096;
        let not = super::CANARIES.iter().any(|canary| all.contains(canary))
            || self.not.iter().any(|part| all.contains(part));
        (!is_so || !says || !tells || not).then(|| {
            let all: String = all.chars().take(2000).collect();
            format!(
                "wanted `{}`, says {:?}, tail {:?}; got {all}",
                self.expect, self.says, self.tail
            )
        })
    }
}
