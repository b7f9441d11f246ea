//! A small client: it starts `rye mcp`, speaks to it in lines of JSON, and keeps what it is told.

use std::collections::VecDeque;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::world::World;

/// Far more than anything here takes; whoever waits as long has found a fault.
pub const PATIENCE: Duration = Duration::from_mins(2);

pub struct Client {
    pub child: Child,
    input: Option<ChildStdin>,
    output: Receiver<Value>,
    /// What came while something else was awaited.
    pub kept: VecDeque<Value>,
    last_id: i64,
    project: String,
}

impl Client {
    /// Starts the server in the project with these arguments, and says hello.
    #[track_caller]
    pub fn new(world: &World, args: &[&str]) -> Self {
        let mut client = Self::start(world, args);
        client.hello();
        client
    }

    /// Starts it without a word.
    #[track_caller]
    pub fn start(world: &World, args: &[&str]) -> Self {
        Self::of(world.command(&[&["mcp"], args].concat()), world)
    }

    pub fn of(mut command: Command, world: &World) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("rye starts");
        let from = BufReader::new(child.stdout.take().expect("a pipe"));
        let (sender, output) = channel();
        std::thread::spawn(move || {
            for line in from.lines().map_while(Result::ok) {
                let message = serde_json::from_str(&line);
                let message = message.unwrap_or_else(|e| panic!("no message ({e}): {line}"));
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        let input = child.stdin.take();
        let project = world.project().display().to_string();
        Self { child, input, output, kept: VecDeque::new(), last_id: 0, project }
    }

    #[track_caller]
    pub fn hello(&mut self) -> Value {
        self.hello_as(&json!({}))
    }

    /// The same from a client that can do this much.
    #[track_caller]
    pub fn hello_as(&mut self, capabilities: &Value) -> Value {
        let params = json!({
            "protocolVersion": "2025-11-25", "capabilities": capabilities,
            "clientInfo": {"name": "test", "version": "1"},
        });
        let said = self.ask("initialize", &params);
        self.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        said["result"].clone()
    }

    pub fn send(&mut self, message: &Value) {
        self.send_bytes(format!("{message}\n").as_bytes());
    }

    pub fn send_bytes(&mut self, bytes: &[u8]) {
        let input = self.input.as_mut().expect("the pipe is open");
        // A server that ended reads no more.
        drop(input.write_all(bytes).and_then(|()| input.flush()));
    }

    /// Sends a request and gives its id.
    pub fn begin(&mut self, method: &str, params: &Value) -> i64 {
        self.last_id += 1;
        let id = self.last_id;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    /// The answer to a request.
    #[track_caller]
    pub fn answer(&mut self, id: i64) -> Value {
        self.wait(|message| message["id"] == id && message.get("method").is_none())
    }

    #[track_caller]
    pub fn ask(&mut self, method: &str, params: &Value) -> Value {
        let id = self.begin(method, params);
        self.answer(id)
    }

    /// A call of a tool with exactly these arguments.
    #[track_caller]
    pub fn tool(&mut self, name: &str, arguments: &Value) -> Value {
        let said = self.ask("tools/call", &json!({"name": name, "arguments": arguments}));
        assert!(said.get("result").is_some(), "{said}");
        said["result"].clone()
    }

    /// A call of one of rye's own tools in the world's project: what it said, and whether that is
    /// an error. The text is the same as the structure.
    #[track_caller]
    pub fn call(&mut self, name: &str, mut arguments: Value) -> (Value, bool) {
        arguments["project_path"] = self.project.clone().into();
        let result = self.tool(name, &arguments);
        let structured = result["structuredContent"].clone();
        let text = result["content"][0]["text"].as_str().expect("a text");
        assert_eq!(serde_json::from_str::<Value>(text).expect("JSON"), structured);
        (structured, result["isError"] == true)
    }

    /// The same for one that is refused: the code.
    #[track_caller]
    pub fn refused(&mut self, name: &str, arguments: Value) -> String {
        let (said, is_error) = self.call(name, arguments);
        assert!(is_error && said["status"] == "error", "{said}");
        for key in ["error", "help"] {
            assert!(said[key].as_str().is_some_and(|text| !text.is_empty()), "no {key}: {said}");
        }
        said["code"].as_str().expect("a code").to_owned()
    }

    /// The next notification with this method.
    #[track_caller]
    pub fn next(&mut self, method: &str) -> Value {
        self.wait(|message| message["method"] == method)
    }

    #[track_caller]
    pub fn wait(&mut self, wanted: impl Fn(&Value) -> bool) -> Value {
        if let Some(at) = self.kept.iter().position(&wanted) {
            return self.kept.remove(at).expect("it was found");
        }
        loop {
            let message = self.output.recv_timeout(PATIENCE);
            let message = message.unwrap_or_else(|e| panic!("{e}; kept: {:?}", self.kept));
            if wanted(&message) {
                return message;
            }
            self.kept.push_back(message);
        }
    }

    /// Whether something comes within the time.
    pub fn hears(&mut self, time: Duration, wanted: impl Fn(&Value) -> bool) -> bool {
        let until = Instant::now() + time;
        loop {
            if self.kept.iter().any(&wanted) {
                return true;
            }
            let left = until.saturating_duration_since(Instant::now());
            match self.output.recv_timeout(left) {
                Ok(message) => self.kept.push_back(message),
                Err(_) => return false,
            }
        }
    }

    /// Closes the server's input.
    pub fn close(&mut self) {
        drop(self.input.take());
    }

    /// How it ended, within the time, and what it said on standard error.
    #[track_caller]
    pub fn end(mut self, time: Duration) -> (ExitStatus, String) {
        self.close();
        let start = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("a child") {
                break status;
            }
            assert!(start.elapsed() < time, "it still runs after {time:?}");
            std::thread::sleep(Duration::from_millis(5));
        };
        let mut said = String::new();
        let mut pipe = self.child.stderr.take().expect("a pipe");
        drop(pipe.read_to_string(&mut said));
        (status, said)
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // One that a failed test left.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Waits until it is so.
#[track_caller]
pub fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < Duration::from_secs(30), "not so after 30 s: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The number that a tool wrote into a file of the project.
#[track_caller]
pub fn number(file: &Path) -> String {
    until("a number is written", || {
        fs::read_to_string(file).is_ok_and(|text| text.ends_with('\n'))
    });
    fs::read_to_string(file).expect("a file").trim().to_owned()
}

/// Whether there is a process of that number that is no corpse.
pub fn lives(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with('Z'))
}

impl Client {
    /// Until a tool of that name is listed; a change may be told in two steps.
    #[track_caller]
    pub fn wait_for_name(&mut self, name: &str) {
        let start = Instant::now();
        loop {
            let said = self.ask("tools/list", &json!({}));
            let tools = said["result"]["tools"].as_array().expect("a list");
            if tools.iter().any(|tool| tool["name"] == name) {
                return;
            }
            assert!(start.elapsed() < Duration::from_secs(30), "{said}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}
