//! The conversation with one server, whatever carries it.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

use super::wire::{
    STATELESS, VERSIONS, argument_headers, bad, called, changes, client, notification, request,
    result, stateless, tool,
};
use crate::base::limits::MCP_ANSWER_BYTES;
use crate::exec_protocol::Answer;
use crate::execute::{ExecuteError, Mask, McpFault};
use crate::host::{Host, Signals, Traffic, Vars};
use crate::id::Ref;
use crate::plan::McpTool;

/// How long a server may take to hear that a call is cancelled, in milliseconds, before it is
/// ended.
const MCP_CANCEL_MS: u64 = 200;

/// Most tools of a server: more than any person reads.
const MCP_LIST_TOOLS: usize = 1_000;

/// Most pages of a server's list of tools that are read; a list that goes on has no end.
const MCP_LIST_PAGES: usize = 64;

/// How often a list is read that changes while it is read.
const LISTS: usize = 3;

/// The context of one conversation, and its deadline.
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
    /// The server refused the message, and did not carry it out.
    Refused(McpFault),
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

/// Carries messages to a server and back.
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

    /// Returns true if the list of tools may have changed since this was last asked.
    fn list_changed(&mut self, talk: &Talk<'_>) -> Result<bool, Lost>;

    /// Returns true if the server said while it answered that the list changed, since this or
    /// [`Self::list_changed`] was last asked.
    fn changed_meanwhile(&mut self) -> bool;

    /// The version that both understand.
    fn agreed(&mut self, version: &str);

    /// Takes headers for the next request, where requests have any.
    fn add_headers(&mut self, _: Vec<(String, String)>) {}

    /// The first lines that were no messages and were passed over, without secrets, since this was
    /// last asked.
    fn passed_over(&mut self, _: &Talk<'_>) -> Vec<String> {
        Vec::new()
    }

    /// The end of what the server said on standard error, without secrets.
    fn tail(&mut self, talk: &Talk<'_>) -> String;

    /// The traffic through rye's proxy since this was last asked, where the server is held to
    /// hosts.
    fn take_traffic(&self) -> Option<Traffic>;

    /// The process to be ended, where there is one.
    fn end(self: Box<Self>) -> Option<(crate::host::PersistentChild, crate::execute::RunFolders)>;
}

/// The tools that a server lists.
#[derive(Default)]
pub(super) struct Listed {
    /// By name.
    pub(super) tools: BTreeMap<String, McpTool>,
    /// Those that cannot be called, by name, and why not.
    pub(super) left_out: BTreeMap<String, String>,
}

impl Listed {
    fn add(&mut self, listed: &Value) {
        let tool = match tool(listed) {
            Ok(tool) => tool,
            Err((name, why)) => return drop(self.left_out.insert(name, why)),
        };
        if self.tools.get(&tool.name).is_some_and(|known| *known != tool) {
            self.left_out.insert(tool.name, "two tools have this name".into());
        } else {
            self.tools.insert(tool.name.clone(), tool);
        }
    }
}

/// One conversation.
pub(super) struct Session {
    pub(super) carrier: Box<dyn Carrier>,
    last: u64,
    /// The server's tools, as last listed.
    tools: Option<Listed>,
    /// Each request stands for itself, and nothing tells that the list changed.
    is_stateless: bool,
    /// The name that the server gives itself.
    pub(super) server: String,
}

impl Session {
    pub(super) fn new(carrier: Box<dyn Carrier>) -> Self {
        Self { carrier, last: 0, tools: None, is_stateless: false, server: String::new() }
    }

    fn ask(
        &mut self,
        method: &str,
        params: &Value,
        talk: &Talk<'_>,
    ) -> Result<Map<String, Value>, Lost> {
        self.last += 1;
        let id = self.last;
        let asked = match self.is_stateless {
            true => request(id, method, &stateless(params.clone())),
            false => request(id, method, params),
        };
        let answer = self.carrier.ask(&asked, id, talk);
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

    /// The first words: a session, or, where the server begins none, what it can do.
    pub(super) fn greet(&mut self, talk: &Talk<'_>) -> Result<(), Lost> {
        let params =
            json!({"protocolVersion": VERSIONS[0], "capabilities": {}, "clientInfo": client()});
        let answer = self.ask("initialize", &params, talk);
        let lost = match answer.and_then(|answer| Ok(result(answer, "initialize")?)) {
            // It speaks the protocol that has no such request.
            Ok(said) if said.get("protocolVersion").is_some_and(|it| it == STATELESS) => None,
            Ok(said) => return self.begin(&said, talk),
            Err(lost @ (Lost::Refused(_) | Lost::Fault(McpFault::ServerFailed { .. }))) => {
                Some(lost)
            }
            Err(lost) => return Err(lost),
        };
        self.is_stateless = true;
        self.carrier.agreed(STATELESS);
        let said = self.ask("server/discover", &json!({}), talk);
        let said = said.and_then(|answer| Ok(result(answer, "server/discover")?));
        // A server that knows neither is told of by its answer to the first.
        self.discovered(&said.map_err(|own| lost.unwrap_or(own))?)
    }

    fn discovered(&mut self, said: &Map<String, Value>) -> Result<(), Lost> {
        let versions = said.get("supportedVersions").and_then(Value::as_array);
        if !versions.is_some_and(|all| all.iter().any(|version| version == STATELESS)) {
            let why = format!("it does not speak the version `{STATELESS}` of the protocol either");
            return Err(McpFault::ServerFailed { why }.into());
        }
        let own = said.get("_meta").and_then(|meta| meta.get("io.modelcontextprotocol/serverInfo"));
        self.introduced(said, own.or(said.get("serverInfo")))
    }

    fn introduced(&mut self, said: &Map<String, Value>, info: Option<&Value>) -> Result<(), Lost> {
        // A server that names nothing at all is asked all the same.
        let named = said.get("capabilities").and_then(Value::as_object);
        if named.is_some_and(|all| !all.is_empty() && !all.contains_key("tools")) {
            return Err(McpFault::ServerFailed { why: "it offers no tools".into() }.into());
        }
        let word = |key: &str| info.and_then(|info| info.get(key)?.as_str()).unwrap_or("?");
        self.server = format!("{} {}", word("name"), word("version"));
        Ok(())
    }

    fn begin(&mut self, said: &Map<String, Value>, talk: &Talk<'_>) -> Result<(), Lost> {
        let version = said.get("protocolVersion").and_then(Value::as_str).unwrap_or_default();
        if !VERSIONS.contains(&version) {
            let why =
                format!("it speaks the version `{version}` of the protocol, which rye does not");
            return Err(McpFault::ServerFailed { why }.into());
        }
        self.introduced(said, said.get("serverInfo"))?;
        self.carrier.agreed(version);
        self.carrier.tell(&notification("notifications/initialized", &json!({})), talk)
    }

    /// The server's tools, read anew where they may have changed.
    pub(super) fn tools(&mut self, talk: &Talk<'_>) -> Result<&Listed, Lost> {
        let changed = self.carrier.list_changed(talk)? || self.is_stateless;
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

    fn list(&mut self, talk: &Talk<'_>) -> Result<Listed, Lost> {
        let mut all = Listed::default();
        let mut params = json!({});
        let mut bytes = 0;
        for _ in 0..MCP_LIST_PAGES {
            let answer = self.ask("tools/list", &params, talk)?;
            let page = result(answer, "tools/list")?;
            let listed = match page.get("tools") {
                Some(Value::Array(listed)) => &listed[..],
                // An empty list in some languages.
                Some(Value::Null) => &[],
                _ => return Err(bad("its list of tools is none").into()),
            };
            for listed in listed {
                bytes += listed.to_string().len();
                all.add(listed);
            }
            if all.tools.len() + all.left_out.len() > MCP_LIST_TOOLS {
                return Err(bad(format!("it lists more than {MCP_LIST_TOOLS} tools")).into());
            }
            if bytes > MCP_ANSWER_BYTES {
                let why = format!("all pages of its list have more than {MCP_ANSWER_BYTES} bytes");
                return Err(bad(why).into());
            }
            let next = page.get("nextCursor").filter(|cursor| !cursor.is_null() && *cursor != "");
            let Some(next) = next else {
                let Listed { tools, left_out } = &mut all;
                tools.retain(|name, _| !left_out.contains_key(name));
                return Ok(all);
            };
            if params.get("cursor") == Some(next) {
                return Err(bad("a page of its list of tools names itself as the next one").into());
            }
            params = json!({"cursor": next});
        }
        Err(bad("its list of tools has no end").into())
    }

    /// Checks that a tool is still the one that was signed.
    pub(super) fn check(&mut self, signed: &McpTool, talk: &Talk<'_>) -> Result<(), Lost> {
        let listed = self.tools(talk)?;
        if let Some(why) = listed.left_out.get(&signed.name) {
            return Err(bad(format!("its tool `{}` cannot be called: {why}", signed.name)).into());
        }
        let changes = changes(signed, listed.tools.get(&signed.name));
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
        if self.is_stateless {
            let headers = argument_headers(signed.pins.get("input_schema"), arguments);
            self.carrier.add_headers(headers);
        }
        let answer = self.ask("tools/call", &params, talk)?;
        Ok(called(answer, signed.pins.get("output_schema"))?)
    }
}
