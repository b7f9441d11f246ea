//! A small editor: it starts `rye lsp`, speaks to it over pipes, and keeps what it is told.

use std::collections::VecDeque;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};

use crate::world::World;

/// Far more than anything here takes; whoever waits as long has found a fault.
const PATIENCE: Duration = Duration::from_mins(5);

pub struct Editor {
    child: Child,
    input: Option<ChildStdin>,
    output: Receiver<Value>,
    /// What came while something else was awaited.
    kept: VecDeque<Value>,
    last_id: i64,
    version: i64,
}

/// How a session ended: the status, and what stood on standard error.
#[derive(Debug)]
pub struct End {
    pub status: Option<i32>,
    pub stderr: String,
}

impl Editor {
    /// Starts the server in the project, without a word to it.
    pub fn start(world: &World) -> Self {
        Self::of(world.command(&["lsp"]))
    }

    pub fn of(mut command: Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("rye starts");
        let mut from = BufReader::new(child.stdout.take().expect("a pipe"));
        let (sender, output) = channel();
        std::thread::spawn(move || {
            while let Some(message) = message(&mut from) {
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        let input = child.stdin.take();
        Self { child, input, output, kept: VecDeque::new(), last_id: 0, version: 1 }
    }

    /// Starts it and says hello.
    pub fn new(world: &World, capabilities: &Value) -> Self {
        let mut editor = Self::start(world);
        editor.hello(capabilities);
        editor
    }

    pub fn hello(&mut self, capabilities: &Value) -> Value {
        let params = json!({"processId": null, "rootUri": null, "capabilities": capabilities});
        let greeting = self.ask("initialize", &params);
        self.tell("initialized", &json!({}));
        greeting["result"].clone()
    }

    pub fn send(&mut self, message: &Value) {
        let text = message.to_string();
        self.send_bytes(format!("Content-Length: {}\r\n\r\n{text}", text.len()).as_bytes());
    }

    pub fn send_bytes(&mut self, bytes: &[u8]) {
        let input = self.input.as_mut().expect("the pipe is open");
        // A server that ended reads no more.
        drop(input.write_all(bytes).and_then(|()| input.flush()));
    }

    pub fn tell(&mut self, method: &str, params: &Value) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    /// A request and its answer.
    #[track_caller]
    pub fn ask(&mut self, method: &str, params: &Value) -> Value {
        self.last_id += 1;
        let id = self.last_id;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        self.wait(|message| message["id"] == id && message.get("method").is_none())
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

    /// Opens a file with the text that it has.
    #[track_caller]
    pub fn open(&mut self, path: &Path) -> Vec<Value> {
        let text = fs::read_to_string(path).expect("a text");
        self.open_as(path, &text)
    }

    /// Opens a file with another text, and gives what is said of it.
    #[track_caller]
    pub fn open_as(&mut self, path: &Path, text: &str) -> Vec<Value> {
        let item =
            json!({"uri": uri(path), "languageId": "x", "version": self.version, "text": text});
        self.tell("textDocument/didOpen", &json!({"textDocument": item}));
        self.said(path)
    }

    /// Puts another text in the place of the whole, and gives what is said of it.
    #[track_caller]
    pub fn change(&mut self, path: &Path, text: &str) -> Vec<Value> {
        self.version += 1;
        let of = json!({"uri": uri(path), "version": self.version});
        let changes = json!([{"text": text}]);
        self.tell(
            "textDocument/didChange",
            &json!({"textDocument": of, "contentChanges": changes}),
        );
        self.said(path)
    }

    /// Writes what is open to the file, and gives what is said of it then.
    #[track_caller]
    pub fn save(&mut self, path: &Path, text: &str) -> Vec<Value> {
        fs::write(path, text).expect("a written file");
        self.tell("textDocument/didSave", &json!({"textDocument": {"uri": uri(path)}}));
        self.said(path)
    }

    /// The next diagnostics of a file.
    #[track_caller]
    pub fn said(&mut self, path: &Path) -> Vec<Value> {
        let uri = uri(path);
        let message = self.wait(|message| {
            message["method"] == "textDocument/publishDiagnostics"
                && message["params"]["uri"] == *uri
        });
        message["params"]["diagnostics"].as_array().expect("a list").clone()
    }

    /// The answer to a request about a place, lines and columns from 0.
    #[track_caller]
    pub fn at(&mut self, method: &str, path: &Path, line: u32, character: u32) -> Value {
        let position = json!({"line": line, "character": character});
        let params = json!({"textDocument": {"uri": uri(path)}, "position": position});
        self.ask(method, &params)["result"].clone()
    }

    #[track_caller]
    pub fn actions(&mut self, path: &Path, line: u32, character: u32) -> Vec<Value> {
        let place = json!({"line": line, "character": character});
        let params = json!({
            "textDocument": {"uri": uri(path)}, "range": {"start": place, "end": place},
            "context": {"diagnostics": []},
        });
        self.ask("textDocument/codeAction", &params)["result"].as_array().expect("a list").clone()
    }

    /// Runs a command about a file.
    #[track_caller]
    pub fn command(&mut self, command: &str, path: &Path) -> Value {
        let params = json!({"command": command, "arguments": [uri(path)]});
        self.ask("workspace/executeCommand", &params)
    }

    /// Answers a request of the server.
    pub fn answer(&mut self, request: &Value, result: &Value) {
        self.send(&json!({"jsonrpc": "2.0", "id": request["id"], "result": result}));
    }

    /// Ends the session as agreed.
    #[track_caller]
    pub fn bye(mut self) -> End {
        let answer = self.ask("shutdown", &Value::Null);
        assert_eq!(answer.get("result"), Some(&Value::Null), "{answer}");
        self.send(&json!({"jsonrpc": "2.0", "method": "exit"}));
        self.end()
    }

    /// Closes the pipe and waits for the end.
    pub fn end(mut self) -> End {
        self.input = None;
        let mut stderr = String::new();
        let mut pipe = self.child.stderr.take().expect("a pipe");
        pipe.read_to_string(&mut stderr).expect("text");
        End { status: self.child.wait().expect("it ends").code(), stderr }
    }
}

pub fn uri(path: &Path) -> String {
    format!("file://{}", path.display()).replace(' ', "%20")
}

/// `code` or `-`, and the severity, of each diagnostic.
pub fn codes(diagnostics: &[Value]) -> Vec<(String, i64)> {
    let row = |d: &Value| {
        let code = d["code"].as_str().unwrap_or("-").to_owned();
        (code, d["severity"].as_i64().expect("a severity"))
    };
    diagnostics.iter().map(row).collect()
}

/// The text of a range that counts UTF-16, of one line.
#[track_caller]
pub fn marked(text: &str, diagnostic: &Value) -> String {
    let (start, end) = (&diagnostic["range"]["start"], &diagnostic["range"]["end"]);
    assert_eq!(start["line"], end["line"], "{diagnostic}");
    let number = |value: &Value| usize::try_from(value.as_u64().expect("a number")).expect("small");
    let line: Vec<u16> =
        text.lines().nth(number(&start["line"])).unwrap_or_default().encode_utf16().collect();
    let range = number(&start["character"])..number(&end["character"]);
    String::from_utf16(&line[range]).expect("no half of a letter")
}

fn message(from: &mut impl BufRead) -> Option<Value> {
    let mut length = None;
    loop {
        let mut line = String::new();
        if from.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let line = line.trim_end();
        if line.is_empty() {
            break;
        }
        length = line.strip_prefix("Content-Length: ").and_then(|n| n.parse().ok()).or(length);
    }
    let mut bytes = vec![0; length.expect("a length")];
    from.read_exact(&mut bytes).ok()?;
    Some(serde_json::from_slice(&bytes).expect("JSON"))
}
