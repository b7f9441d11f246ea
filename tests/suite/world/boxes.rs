//! A server of sandboxes as OpenSandbox describes one (lifecycle API and execd API), whose
//! sandboxes are temporary folders of this machine.
//!
//! It holds each request against what the descriptions ask for, and bends the letter of its answers
//! as real ones do: events without `data:`, lines without their ends, a state that comes late, a
//! daemon that answers late, and a command that goes on after its caller has left.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use super::server::{Reply, Seen, Server, answer};
use crate::readme::{blocks, section};

/// The key of the server, and what it wants with each request to a sandbox; no text may show them.
pub const KEY: &str = "box-key-canary-41d7c09e";
const TOKEN: &str = "box-token-canary-9b2f60a3";

/// Replaces the good answer to each request whose `METHOD /path` holds a text.
pub type Bent = Option<(&'static str, Arc<dyn Fn() -> Reply + Send + Sync>)>;

#[derive(Default)]
struct Known {
    shell: &'static str,
    sandboxes: BTreeMap<String, Sandbox>,
    bent: Bent,
    ended: Vec<String>,
}

struct Sandbox {
    folder: tempfile::TempDir,
    /// How often it was asked for; it runs from the second time on.
    looks: usize,
    pings: usize,
    is_dead: bool,
    commands: BTreeMap<String, i32>,
}

/// A running server. Its sandboxes are gone with it.
pub struct Boxes {
    server: Mutex<Server>,
    known: Arc<Mutex<Known>>,
}

impl Boxes {
    pub fn new() -> Self {
        Self::of_shell("sh")
    }

    /// One whose daemons run commands by this shell.
    pub fn of_shell(shell: &'static str) -> Self {
        let known = Arc::new(Mutex::new(Known { shell, ..Known::default() }));
        let theirs = Arc::clone(&known);
        let server = Server::new(move |seen, _| served(&theirs, seen));
        Self { server: Mutex::new(server), known }
    }

    pub fn url(&self) -> String {
        self.server.lock().unwrap().url("")
    }

    /// Its `config:agent/sandbox`.
    pub fn config(&self) -> String {
        config(&self.url())
    }

    /// The requests so far.
    pub fn seen(&self) -> Vec<Seen> {
        self.server.lock().unwrap().seen()
    }

    /// Waits until a command that holds this text was sent, and a moment.
    pub fn wait_for_command(&self, text: &str) {
        let is_it = |seen: &Seen| String::from_utf8_lossy(&seen.body).contains(text);
        super::wait::until("the command runs", || self.seen().iter().any(is_it));
        std::thread::sleep(std::time::Duration::from_millis(200));
    }

    pub fn bend(&self, bent: Bent) {
        self.known.lock().unwrap().bent = bent;
    }

    /// Ends what runs in all sandboxes, as if they had failed.
    pub fn die(&self) {
        for sandbox in self.known.lock().unwrap().sandboxes.values_mut() {
            sandbox.is_dead = true;
            sandbox.end();
        }
    }

    /// How many sandboxes there were and are, and the ids of those that were ended, in order.
    pub fn made_and_ended(&self) -> (usize, usize, Vec<String>) {
        let made = self.seen().iter().filter(|seen| is_create(seen)).count();
        let known = self.known.lock().unwrap();
        (made, known.sandboxes.len(), known.ended.clone())
    }
}

/// The `config:agent/sandbox` of the page, for a server with that key.
pub fn config(url: &str) -> String {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join(".ai/knowledge/rye/threads.md");
    let told = section(&fs::read_to_string(page).unwrap(), "A sandbox on a server");
    let (_, config) = blocks(&told).into_iter().find(|(info, _)| info == "yaml").unwrap();
    assert!(config.contains("https://box.example:8080"), "{config}");
    config.replace("https://box.example:8080", url) + "\n"
}

fn is_create(seen: &Seen) -> bool {
    (seen.method.as_str(), seen.target.as_str()) == ("POST", "/v1/sandboxes")
}

impl Sandbox {
    fn end(&mut self) {
        for group in std::mem::take(&mut self.commands).into_values() {
            end_group(group);
        }
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        self.end();
    }
}

fn end_group(group: i32) {
    let kill = Command::new("/bin/kill").args(["-KILL", "--", &format!("-{group}")]).output();
    drop(kill);
}

fn told(status: u16, body: &Value) -> Reply {
    answer(status, "Content-Type: application/json\r\n", body.to_string())
}

fn refused(status: u16, code: &str, message: &str) -> Reply {
    told(status, &json!({"code": code, "message": message}))
}

fn served(known: &Arc<Mutex<Known>>, seen: &Seen) -> Reply {
    let line = format!("{} {}", seen.method, seen.target);
    if let Some((at, reply)) = &known.lock().unwrap().bent
        && line.contains(at)
    {
        return reply();
    }
    if seen.header("open-sandbox-api-key") != Some(KEY) {
        return refused(401, "INVALID_API_KEY", "Authentication credentials are invalid.");
    }
    let (path, query) = seen.target.split_once('?').unwrap_or((&seen.target, ""));
    let parts: Vec<&str> = path.split('/').skip(1).collect();
    match (seen.method.as_str(), &parts[..]) {
        ("POST", ["v1", "sandboxes"]) => made(known, &seen.json()),
        (_, ["v1", "sandboxes", id, "proxy", "44772", rest @ ..]) => {
            assert_eq!(seen.header("x-execd-access-token"), Some(TOKEN));
            daemon(known, id, seen, (&rest.join("/"), query))
        }
        (method, ["v1", "sandboxes", id, rest @ ..]) => {
            let mut all = known.lock().unwrap();
            let Some(sandbox) = all.sandboxes.get_mut(*id) else {
                return refused(404, "NOT_FOUND", "no such sandbox");
            };
            match (method, rest) {
                ("GET", []) => {
                    sandbox.looks += 1;
                    told(200, &state(id, sandbox))
                }
                ("GET", ["endpoints", "44772"]) => {
                    assert_eq!(query, "use_server_proxy=true");
                    let host = seen.header("host").unwrap();
                    let endpoint = format!("{host}/v1/sandboxes/{id}/proxy/44772");
                    let headers = json!({"X-EXECD-ACCESS-TOKEN": TOKEN});
                    told(200, &json!({"endpoint": endpoint, "headers": headers}))
                }
                ("DELETE", []) => {
                    all.sandboxes.remove(*id);
                    all.ended.push((*id).to_owned());
                    answer(204, "", "")
                }
                _ => refused(405, "METHOD_NOT_ALLOWED", &line),
            }
        }
        _ => refused(404, "NOT_FOUND", &line),
    }
}

fn state(id: &str, sandbox: &Sandbox) -> Value {
    let state = match (sandbox.is_dead, sandbox.looks) {
        (true, _) => "Failed",
        (false, 0) => "Pending",
        _ => "Running",
    };
    json!({
        "id": id, "status": {"state": state, "reason": "runtime_error", "message": "as asked"},
        "createdAt": "2026-06-15T09:00:00Z", "entrypoint": ["tail"],
    })
}

fn made(known: &Arc<Mutex<Known>>, body: &Value) -> Reply {
    let known_keys =
        ["image", "entrypoint", "timeout", "resourceLimits", "networkPolicy", "metadata"];
    assert!(body.as_object().unwrap().keys().all(|key| known_keys.contains(&key.as_str())));
    assert!(body["image"]["uri"].is_string() && body["entrypoint"][0].is_string(), "{body}");
    assert!(body["timeout"].as_u64().unwrap() >= 60, "{body}");
    assert!(body["resourceLimits"].as_object().unwrap().values().all(Value::is_string), "{body}");
    assert_eq!(body["networkPolicy"], json!({"defaultAction": "deny"}), "as a model is told");
    let mut known = known.lock().unwrap();
    let id = format!("box-{}", known.sandboxes.len() + known.ended.len());
    let folder = tempfile::tempdir().unwrap();
    let (commands, is_dead) = (BTreeMap::new(), false);
    let sandbox = Sandbox { folder, looks: 0, pings: 0, is_dead, commands };
    let told_of = state(&id, &sandbox);
    known.sandboxes.insert(id, sandbox);
    told(202, &told_of)
}

fn daemon(known: &Arc<Mutex<Known>>, id: &str, seen: &Seen, (path, query): (&str, &str)) -> Reply {
    let folder = {
        let mut all = known.lock().unwrap();
        let Some(sandbox) = all.sandboxes.get_mut(id).filter(|sandbox| !sandbox.is_dead) else {
            return refused(502, "BACKEND_CONNECTION_FAILED", "no connection to the sandbox");
        };
        if path == "ping" {
            sandbox.pings += 1;
            return match sandbox.pings {
                1 => refused(502, "BACKEND_CONNECTION_FAILED", "not yet"),
                _ => answer(200, "", ""),
            };
        }
        sandbox.folder.path().to_owned()
    };
    let value = query.split_once('=').map(|(_, value)| value).unwrap_or_default();
    match (seen.method.as_str(), path) {
        ("POST", "command") => {
            let body = seen.json();
            assert!(body["timeout"].as_u64().unwrap() > 0, "{body}");
            let (known, id) = (Arc::clone(known), id.to_owned());
            Reply::Written(Box::new(move |out| command(&known, &id, &folder, &body, out)))
        }
        ("DELETE", "command") => {
            let all = known.lock().unwrap();
            match all.sandboxes[id].commands.get(value) {
                Some(group) => end_group(*group),
                None => return refused(500, "RUNTIME_ERROR", "no such session"),
            }
            answer(200, "", "")
        }
        ("POST", "files/upload") => upload(seen),
        ("GET", "files/download") => download(Path::new(value), seen.header("range")),
        _ => refused(404, "NOT_FOUND", path),
    }
}

/// Runs the command and tells of it, event by event.
fn command(known: &Mutex<Known>, sandbox: &str, folder: &Path, asked: &Value, out: &mut dyn Write) {
    let file = tempfile::NamedTempFile::new().unwrap();
    let mut shell = Command::new(known.lock().unwrap().shell);
    shell.args(["-c", asked["command"].as_str().unwrap()]).process_group(0);
    shell.env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin").env("TMPDIR", folder);
    shell.stdin(Stdio::null()).stdout(file.reopen().unwrap()).stderr(Stdio::null());
    let mut child = shell.current_dir("/").spawn().unwrap();
    let group = i32::try_from(child.id()).unwrap();
    let id = format!("cmd-{group}");
    if let Some(sandbox) = known.lock().unwrap().sandboxes.get_mut(sandbox) {
        sandbox.commands.insert(id.clone(), group);
    }
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n";
    let _ = out.write_all(head.as_bytes());
    let mut tell = |event: Value| {
        let _ = write!(out, "{event}\n\n");
        let _ = out.flush();
    };
    tell(json!({"type": "init", "text": id}));
    tell(json!({"type": "ping", "text": "pong"}));
    let most = std::time::Duration::from_millis(asked["timeout"].as_u64().unwrap());
    let begin = std::time::Instant::now();
    let ended = loop {
        match child.try_wait().unwrap() {
            Some(ended) => break ended,
            None if begin.elapsed() > most => end_group(group),
            None => {}
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    };
    if let Some(sandbox) = known.lock().unwrap().sandboxes.get_mut(sandbox) {
        sandbox.commands.remove(&id);
    }
    for line in fs::read_to_string(file.path()).unwrap().lines() {
        tell(json!({"type": "stdout", "text": line}));
    }
    match ended.code() {
        Some(0) => tell(json!({"type": "execution_complete", "execution_time": 1})),
        code => tell(json!({"type": "error", "error": {
            "ename": "CommandExecError", "evalue": code.unwrap_or(-1).to_string(),
            "traceback": null,
        }})),
    }
}

/// Each part is known by the name of a file alone.
fn upload(seen: &Seen) -> Reply {
    let kind = seen.header("content-type").unwrap();
    let boundary = kind.strip_prefix("multipart/form-data; boundary=").unwrap();
    let mut parts = BTreeMap::new();
    let mark = format!("--{boundary}");
    let find = |bytes: &[u8], text: &str| {
        bytes.windows(text.len()).position(|part| part == text.as_bytes())
    };
    let mut rest = &seen.body[..];
    while let Some(at) = find(rest, &mark) {
        rest = &rest[at + mark.len()..];
        let Some(head) = find(rest, "\r\n\r\n") else { break };
        let end = find(rest, &format!("\r\n{mark}")).unwrap();
        let text = String::from_utf8_lossy(&rest[..head]).into_owned();
        let name = ["metadata", "file"].into_iter().find(|name| {
            text.contains(&format!("name=\"{name}\"")) && text.contains("filename=\"")
        });
        parts.insert(name.unwrap(), rest[head + 4..end].to_vec());
    }
    let about: Value = serde_json::from_slice(&parts["metadata"]).unwrap();
    let path = PathBuf::from(about["path"].as_str().unwrap());
    fs::write(path, &parts["file"]).unwrap();
    answer(200, "", "")
}

fn download(path: &Path, range: Option<&str>) -> Reply {
    let Ok(bytes) = fs::read(path) else {
        return refused(404, "FILE_NOT_FOUND", "file not found");
    };
    let range = range.and_then(|range| range.strip_prefix("bytes=0-"));
    let end = range.map_or(bytes.len(), |last| last.parse::<usize>().unwrap() + 1);
    answer(206, "Content-Type: application/octet-stream\r\n", &bytes[..end.min(bytes.len())])
}
