//! An editor that drives `rye lsp` over pipes.

use std::fs;
use std::ops::{Deref, DerefMut};
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::world::World;
use crate::world::json_rpc::{Framing, JsonRpc};
use crate::world::wait::PATIENCE;

pub struct Editor {
    rpc: JsonRpc,
    version: i64,
}

impl Deref for Editor {
    type Target = JsonRpc;

    fn deref(&self) -> &JsonRpc {
        &self.rpc
    }
}

impl DerefMut for Editor {
    fn deref_mut(&mut self) -> &mut JsonRpc {
        &mut self.rpc
    }
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

    pub fn of(command: Command) -> Self {
        Self { rpc: JsonRpc::start(command, Framing::ContentLength), version: 1 }
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

    /// Ends the session as agreed.
    #[track_caller]
    pub fn bye(mut self) -> End {
        let answer = self.ask("shutdown", &Value::Null);
        assert_eq!(answer.get("result"), Some(&Value::Null), "{answer}");
        self.send(&json!({"jsonrpc": "2.0", "method": "exit"}));
        self.end()
    }

    /// Closes the pipe and waits for the end.
    #[track_caller]
    pub fn end(self) -> End {
        let (status, stderr) = self.rpc.end(PATIENCE);
        End { status: status.code(), stderr }
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
