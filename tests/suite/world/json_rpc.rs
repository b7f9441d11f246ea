//! The client of a program that speaks JSON-RPC over pipes: it starts the program, numbers the
//! requests, and keeps each message that came while another was awaited.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::wait::PATIENCE;

/// How the messages are told apart.
#[derive(Clone, Copy)]
pub enum Framing {
    /// One message a line.
    Lines,
    /// A header with the length before each message.
    ContentLength,
}

pub struct JsonRpc {
    pub child: Child,
    framing: Framing,
    input: Option<ChildStdin>,
    output: Receiver<Value>,
    /// The messages that came while another was awaited.
    pub kept: VecDeque<Value>,
    last_id: i64,
}

impl JsonRpc {
    /// Starts the program, without a word to it.
    pub fn start(mut command: Command, framing: Framing) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        let mut from = BufReader::new(child.stdout.take().expect("a pipe"));
        let (sender, output) = channel();
        std::thread::spawn(move || {
            while let Some(bytes) = framing.next(&mut from) {
                let message = serde_json::from_slice(&bytes).unwrap_or_else(|e| {
                    panic!("no message ({e}): {}", String::from_utf8_lossy(&bytes))
                });
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        let input = child.stdin.take();
        Self { child, framing, input, output, kept: VecDeque::new(), last_id: 0 }
    }

    pub fn send(&mut self, message: &Value) {
        let text = message.to_string();
        self.send_bytes(&match self.framing {
            Framing::Lines => format!("{text}\n").into_bytes(),
            Framing::ContentLength => {
                format!("Content-Length: {}\r\n\r\n{text}", text.len()).into_bytes()
            }
        });
    }

    pub fn send_bytes(&mut self, bytes: &[u8]) {
        let input = self.input.as_mut().expect("the pipe is open");
        // A server that ended reads no more.
        drop(input.write_all(bytes).and_then(|()| input.flush()));
    }

    /// Sends a notification.
    pub fn tell(&mut self, method: &str, params: &Value) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    /// Answers a request of the server.
    pub fn reply(&mut self, request: &Value, result: &Value) {
        self.send(&json!({"jsonrpc": "2.0", "id": request["id"], "result": result}));
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

    /// Sends a request and gives its answer.
    #[track_caller]
    pub fn ask(&mut self, method: &str, params: &Value) -> Value {
        let id = self.begin(method, params);
        self.answer(id)
    }

    /// The next request or notification of the server with this method.
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

    /// The next message, whatever it is; `None` once there are no more.
    pub fn any(&mut self) -> Option<Value> {
        self.kept.pop_front().or_else(|| self.output.recv_timeout(PATIENCE).ok())
    }

    /// Tells whether such a message comes within the time.
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
        self.input = None;
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

impl Drop for JsonRpc {
    fn drop(&mut self) {
        // One that a failed test left.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

impl Framing {
    /// The bytes of the next message; `None` at the end.
    fn next(self, from: &mut impl BufRead) -> Option<Vec<u8>> {
        let mut length = None;
        loop {
            let mut line = String::new();
            if from.read_line(&mut line).ok()? == 0 {
                return None;
            }
            let line = line.trim_end();
            match self {
                Self::Lines => return Some(line.into()),
                Self::ContentLength if line.is_empty() => break,
                Self::ContentLength => {
                    let number = line.strip_prefix("Content-Length: ").and_then(|n| n.parse().ok());
                    length = number.or(length);
                }
            }
        }
        let mut bytes = vec![0; length.expect("a length")];
        from.read_exact(&mut bytes).ok()?;
        Some(bytes)
    }
}
