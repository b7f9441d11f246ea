//! The conversation with one server, whatever carries it.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

use super::wire::{VERSIONS, bad, called, changes, notification, request, result, tool};
use crate::base::durations::MCP_CANCEL_MS;
use crate::base::limits::{MCP_ANSWER_BYTES, MCP_LIST_PAGES, MCP_LIST_TOOLS};
use crate::exec_protocol::Answer;
use crate::execute::{ExecuteError, Mask, McpFault};
use crate::host::{Host, Signals, Traffic, Vars};
use crate::id::Ref;
use crate::plan::McpTool;

/// How often a list is read that changes while it is read.
const LISTS: usize = 3;

/// What one conversation may use, and until when.
pub(super) struct Talk<'a> {
    pub(super) host: &'a dyn Host,
    pub(super) vars: &'a Vars,
    /// For the log.
    pub(super) item: &'a Ref,
    pub(super) mask: &'a Mask,
    pub(super) until: Instant,
    pub(super) signals: &'a Signals,
}

/// Why there is no answer.
#[derive(Debug)]
pub(super) enum Lost {
    Fault(McpFault),
    /// The server knows the session no more; what was sent was not looked at.
    Forgotten,
    TimedOut,
    Interrupted(i32),
    NotStarted(ExecuteError),
}

impl From<McpFault> for Lost {
    fn from(fault: McpFault) -> Self {
        Self::Fault(fault)
    }
}

/// What carries messages to a server and back.
pub(super) trait Carrier: Send {
    /// Sends the request `id`, and gives the answer to it.
    fn ask(
        &mut self,
        message: &Value,
        id: u64,
        talk: &Talk<'_>,
    ) -> Result<Map<String, Value>, Lost>;

    /// Sends a message that has no answer.
    fn tell(&mut self, message: &Value, talk: &Talk<'_>) -> Result<(), Lost>;

    /// Whether the list of tools may be another one than was read, since this was last asked.
    fn list_changed(&mut self, talk: &Talk<'_>) -> Result<bool, Lost>;

    /// Whether the server said so while it answered, since this or the other was last asked.
    fn changed_meanwhile(&mut self) -> bool;

    /// The version that both understand.
    fn agreed(&mut self, version: &str);

    /// The end of what the server said on standard error, without secrets.
    fn tail(&mut self, talk: &Talk<'_>) -> String;

    /// What went through rye's proxy since this was last asked, where the server is held to hosts.
    fn take_traffic(&self) -> Option<Traffic>;

    /// The process to be ended, where there is one.
    fn end(self: Box<Self>) -> Option<(crate::host::PersistentChild, crate::execute::RunFolders)>;
}

/// One conversation.
pub(super) struct Session {
    pub(super) carrier: Box<dyn Carrier>,
    last: u64,
    /// The server's tools by name, as last listed.
    tools: Option<BTreeMap<String, McpTool>>,
    /// What the server calls itself.
    pub(super) server: String,
}

impl Session {
    pub(super) fn new(carrier: Box<dyn Carrier>) -> Self {
        Self { carrier, last: 0, tools: None, server: String::new() }
    }

    fn ask(
        &mut self,
        method: &str,
        params: &Value,
        talk: &Talk<'_>,
    ) -> Result<Map<String, Value>, Lost> {
        self.last += 1;
        let id = self.last;
        let answer = self.carrier.ask(&request(id, method, params), id, talk);
        if let Err(Lost::TimedOut | Lost::Interrupted(_)) = answer
            && method == "tools/call"
        {
            // It may stop what it does. Whether it hears is not waited for long.
            let until = Instant::now() + Duration::from_millis(MCP_CANCEL_MS);
            let params = json!({"requestId": id, "reason": "nobody waits for it any more"});
            let message = notification("notifications/cancelled", &params);
            let _ = self.carrier.tell(&message, &Talk { until, ..*talk });
        }
        answer
    }

    /// The first words.
    pub(super) fn greet(&mut self, talk: &Talk<'_>) -> Result<(), Lost> {
        let client = json!({"name": "rye", "version": env!("CARGO_PKG_VERSION")});
        let params =
            json!({"protocolVersion": VERSIONS[0], "capabilities": {}, "clientInfo": client});
        let answer = self.ask("initialize", &params, talk)?;
        let said = result(answer, "initialize")?;
        let version = said.get("protocolVersion").and_then(Value::as_str).unwrap_or_default();
        if !VERSIONS.contains(&version) {
            let why =
                format!("it speaks the version `{version}` of the protocol, which rye does not");
            return Err(McpFault::ServerFailed { why }.into());
        }
        if said.get("capabilities").and_then(|all| all.get("tools")).is_none() {
            return Err(McpFault::ServerFailed { why: "it offers no tools".into() }.into());
        }
        let info = said.get("serverInfo");
        let word = |key: &str| info.and_then(|info| info.get(key)?.as_str()).unwrap_or("?");
        self.server = format!("{} {}", word("name"), word("version"));
        self.carrier.agreed(version);
        self.carrier.tell(&notification("notifications/initialized", &json!({})), talk)
    }

    /// The server's tools, read anew where they may have changed.
    pub(super) fn tools(&mut self, talk: &Talk<'_>) -> Result<&BTreeMap<String, McpTool>, Lost> {
        let changed = self.carrier.list_changed(talk)?;
        if let Some(tools) = self.tools.take().filter(|_| !changed) {
            return Ok(self.tools.insert(tools));
        }
        for _ in 0..LISTS {
            let tools = self.list(talk)?;
            if !self.carrier.changed_meanwhile() {
                return Ok(self.tools.insert(tools));
            }
        }
        Err(bad("its list of tools changes while it is read").into())
    }

    fn list(&mut self, talk: &Talk<'_>) -> Result<BTreeMap<String, McpTool>, Lost> {
        let mut tools = BTreeMap::new();
        let mut params = json!({});
        let mut bytes = 0;
        for _ in 0..MCP_LIST_PAGES {
            let answer = self.ask("tools/list", &params, talk)?;
            let page = result(answer, "tools/list")?;
            let listed = page.get("tools").and_then(Value::as_array);
            for listed in listed.ok_or_else(|| bad("its list of tools is none"))? {
                let tool = tool(listed)?;
                bytes += listed.to_string().len();
                let name = tool.name.clone();
                if tools.insert(name.clone(), tool).is_some() {
                    return Err(bad(format!("it lists two tools `{name}`")).into());
                }
            }
            if tools.len() > MCP_LIST_TOOLS {
                return Err(bad(format!("it lists more than {MCP_LIST_TOOLS} tools")).into());
            }
            if bytes > MCP_ANSWER_BYTES {
                let why = format!("all pages of its list have more than {MCP_ANSWER_BYTES} bytes");
                return Err(bad(why).into());
            }
            match page.get("nextCursor").filter(|cursor| !cursor.is_null()) {
                None => return Ok(tools),
                Some(cursor) => params = json!({"cursor": cursor}),
            }
        }
        Err(bad("its list of tools has no end").into())
    }

    /// Whether a tool is still the one that was signed.
    pub(super) fn check(&mut self, signed: &McpTool, talk: &Talk<'_>) -> Result<(), Lost> {
        let changes = changes(signed, self.tools(talk)?.get(&signed.name));
        if !changes.is_empty() {
            return Err(McpFault::ToolChanged { tool: signed.name.clone(), changes }.into());
        }
        Ok(())
    }

    /// Calls a tool that was checked.
    pub(super) fn call(
        &mut self,
        signed: &McpTool,
        arguments: &Value,
        talk: &Talk<'_>,
    ) -> Result<Answer, Lost> {
        let params = json!({"name": signed.name, "arguments": arguments});
        let answer = self.ask("tools/call", &params, talk)?;
        Ok(called(answer, signed.pins.get("output_schema"))?)
    }
}
