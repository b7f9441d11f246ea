//! A client of `rye mcp` over pipes.

use std::ops::{Deref, DerefMut};
use std::process::{Command, ExitStatus};
use std::time::Duration;

use serde_json::{Value, json};

use crate::world::World;
use crate::world::json_rpc::{Framing, JsonRpc};
use crate::world::wait::until;

pub struct Client {
    rpc: JsonRpc,
    project: String,
}

impl Deref for Client {
    type Target = JsonRpc;

    fn deref(&self) -> &JsonRpc {
        &self.rpc
    }
}

impl DerefMut for Client {
    fn deref_mut(&mut self) -> &mut JsonRpc {
        &mut self.rpc
    }
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

    pub fn of(command: Command, world: &World) -> Self {
        let rpc = JsonRpc::start(command, Framing::Lines);
        Self { rpc, project: world.project().display().to_string() }
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

    /// Cancels a request.
    pub fn cancel(&mut self, id: impl Into<Value>) {
        self.tell("notifications/cancelled", &json!({"requestId": id.into()}));
    }

    /// How it ended, and what it said on standard error.
    #[track_caller]
    pub fn end(self, time: Duration) -> (ExitStatus, String) {
        self.rpc.end(time)
    }

    /// Waits until a tool of that name is listed; a change may be told in two steps.
    #[track_caller]
    pub fn wait_for_name(&mut self, name: &str) {
        until(name, || {
            let said = self.ask("tools/list", &json!({}));
            let tools = said["result"]["tools"].as_array().expect("a list");
            tools.iter().any(|tool| tool["name"] == name)
        });
    }
}
