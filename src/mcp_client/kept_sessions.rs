//! All sessions of this process: one for each server, kept until the process ends.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::http::{HttpCarrier, Remote};
use super::session::{Carrier, Lost, Session, Talk};
use super::stdio::StdioCarrier;
use crate::base::Digest;
use crate::base::durations::MCP_TURN_MS;
use crate::base::limits::EXEC_KEPT;
use crate::base::sync::unpoisoned;
use crate::exec_protocol::{Answer, ServerKey, outcome};
use crate::execute::{Aftermath, ExecuteError, Mask, McpFault, Outcome, RunContext, start};
use crate::host::{PersistentChild, RUN_VAR, Signals, Traffic};
use crate::parse::json;
use crate::plan::{McpServer, McpTool, Plan};
use crate::trace::{Event, OutputPiece};

/// Variables that are of one item; a server serves many.
const OF_ONE_ITEM: [&str; 2] = ["RYE_ITEM", "RYE_ITEM_PATH"];
/// Variables that differ between two runs that share a server. `RYE_RUN_ID` names the run
/// that started the server: a rye that the server starts is below a run.
const OF_ONE_RUN: [&str; 3] = [RUN_VAR, OF_ONE_ITEM[0], OF_ONE_ITEM[1]];

/// Dropping it ends every server it started.
#[derive(Default)]
pub(crate) struct Sessions(Mutex<HashMap<Digest, Arc<Slot>>>);

/// A server's session, if there is one now; the caller holds the lock.
type Slot = Mutex<Option<Session>>;

impl Sessions {
    /// # Errors
    /// `mcp.*`, `execute.*`
    pub(crate) fn call(
        &self,
        plan: &Plan,
        server: &McpServer,
        signed: &McpTool,
        running: &RunContext<'_>,
    ) -> Result<Outcome, ExecuteError> {
        let begin = Instant::now();
        let item = || plan.item().clone();
        let mask = Mask::new(plan.private_values());
        let program = || match server {
            McpServer::Program(process) => plan.spawn(process, None, None).program,
            McpServer::Url(_) => PathBuf::new(),
        };
        // Signals are listened for before a thread starts, so that they come here.
        let signals = Signals::listen().map_err(|source| ExecuteError::Spawn {
            item: item(),
            program: program(),
            source,
        })?;
        let talk = Talk {
            host: running.host,
            vars: running.vars,
            item: plan.item(),
            mask: &mask,
            until: begin + plan.timeout(),
            signals: &signals,
        };
        let arguments = arguments(plan);
        let slot = self.slot(key(plan, server));
        let mut left = Left::default();
        let answer = held(&slot, &talk).and_then(|mut slot| {
            let answer = called(&mut slot, signed, &arguments, &talk, &mut left, &|| {
                carrier(plan, server, running)
            });
            let session = slot.as_mut();
            left.passed_over
                .extend(session.map(|it| it.carrier.passed_over(&talk)).unwrap_or_default());
            let still_there = slot.as_ref().and_then(|session| session.carrier.take_traffic());
            left.traffic = still_there.or(left.traffic.take());
            running.carried(left.traffic.as_ref());
            answer
        });
        if !left.passed_over.is_empty() && running.sink.begin_output(true) {
            let lines = left.passed_over.iter().map(|line| {
                format!("warning: passed over on standard output, as it is not a message: {line}\n")
            });
            let bytes = lines.collect::<String>().into_bytes();
            running.sink.wrote(OutputPiece { of_stderr: true, bytes: &bytes });
        }
        match answer {
            Ok(answer) => {
                let outcome = outcome(answer, &mask, String::new(), begin.elapsed());
                Ok(Outcome { traffic: left.traffic, ..outcome })
            }
            Err(Lost::Fault(fault) | Lost::Refused(fault)) => Err(ExecuteError::Mcp {
                item: item(),
                fault: masked(fault, &mask),
                stderr_tail: left.tail,
            }),
            Err(Lost::Forgotten) => {
                let fault = McpFault::ServerFailed { why: "it forgets its sessions".into() };
                Err(ExecuteError::Mcp { item: item(), fault, stderr_tail: left.tail })
            }
            Err(Lost::TimedOut) => Err(ExecuteError::Timeout {
                item: item(),
                limit: plan.limit().clone(),
                stderr_tail: left.tail,
                after: Box::new(Aftermath { traffic: left.traffic, ..Aftermath::default() }),
            }),
            Err(Lost::Interrupted(signal)) => {
                Err(ExecuteError::Interrupted { item: item(), signal })
            }
            Err(Lost::NotStarted(error)) => Err(error),
        }
    }

    /// The place of a server's session. When there are too many, an unused one is removed.
    fn slot(&self, key: Digest) -> Arc<Slot> {
        let mut all = unpoisoned(self.0.lock());
        let mut gone = None;
        if all.len() >= EXEC_KEPT && !all.contains_key(&key) {
            let unused = all.iter().find(|(_, slot)| Arc::strong_count(slot) == 1);
            let unused = unused.map(|(key, _)| *key);
            gone = unused.and_then(|key| all.remove(&key));
        }
        let slot = Arc::clone(all.entry(key).or_default());
        drop(all);
        if let Some(slot) = gone.and_then(Arc::into_inner) {
            end(unpoisoned(slot.into_inner()).into_iter().collect());
        }
        slot
    }
}

impl Drop for Sessions {
    fn drop(&mut self) {
        let all = std::mem::take(unpoisoned(self.0.get_mut()));
        let slots = all.into_values().filter_map(Arc::into_inner);
        let sessions = slots.filter_map(|it| unpoisoned(it.into_inner()));
        end(sessions.collect());
    }
}

/// Ends all at once; their private folders go when they are gone.
pub(super) fn end(sessions: Vec<Session>) {
    let ended = sessions.into_iter().filter_map(|session| session.carrier.end());
    let (children, folders): (Vec<_>, Vec<_>) = ended.unzip();
    if !children.is_empty() {
        let signals = Signals::listen().ok();
        PersistentChild::end_all(children, signals.as_ref());
    }
    drop(folders);
}

/// One call at a time: waits for the others as long as the call may take.
fn held<'s>(slot: &'s Slot, talk: &Talk<'_>) -> Result<MutexGuard<'s, Option<Session>>, Lost> {
    loop {
        match slot.try_lock() {
            Ok(held) => return Ok(held),
            Err(TryLockError::Poisoned(held)) => return Ok(held.into_inner()),
            Err(TryLockError::WouldBlock) if Instant::now() >= talk.until => {
                return Err(Lost::TimedOut);
            }
            Err(TryLockError::WouldBlock) => {
                if let Ok(Some(signal)) = talk.host.sleep(Duration::from_millis(MCP_TURN_MS)) {
                    return Err(Lost::Interrupted(signal));
                }
            }
        }
    }
}

/// The remains of a session that was given up.
#[derive(Default)]
struct Left {
    /// The last of what the server said on standard error.
    tail: String,
    /// The traffic through rye's proxy.
    traffic: Option<Traffic>,
    /// Lines that were no messages.
    passed_over: Vec<String>,
}

/// The call, on the session that is there or on another one: a server may have ended since.
fn called(
    slot: &mut Option<Session>,
    signed: &McpTool,
    arguments: &Value,
    talk: &Talk<'_>,
    left: &mut Left,
    connect: &dyn Fn() -> Result<Box<dyn Carrier>, Lost>,
) -> Result<Answer, Lost> {
    for is_last in [false, true] {
        let was_there = slot.is_some();
        let session = match slot {
            Some(session) => session,
            None => {
                let session = slot.insert(Session::new(connect()?));
                match session.greet(talk) {
                    Ok(()) => session,
                    Err(lost) => return Err(given_up(slot, lost, talk, left)),
                }
            }
        };
        let checked = session.check(signed, talk);
        let is_checked = checked.is_ok();
        match checked.and_then(|()| session.call(signed, arguments, talk)) {
            Ok(answer) => return Ok(answer),
            // The session is as good as before.
            Err(Lost::Fault(
                fault @ (McpFault::ToolChanged { .. } | McpFault::OutputSchema { .. }),
            )) => return Err(fault.into()),
            Err(Lost::Forgotten) if !is_last => *slot = None,
            // Nothing was called yet, and a server may have ended since it was last used.
            Err(Lost::Fault(_) | Lost::Refused(_)) if was_there && !is_checked && !is_last => {
                end(slot.take().into_iter().collect());
            }
            Err(Lost::Fault(fault)) if is_checked => {
                let fault = McpFault::AfterCall(Box::new(fault));
                return Err(given_up(slot, fault.into(), talk, left));
            }
            Err(lost) => return Err(given_up(slot, lost, talk, left)),
        }
    }
    Err(Lost::Forgotten)
}

/// Gives up the session: later words of the server mean nothing.
fn given_up(slot: &mut Option<Session>, lost: Lost, talk: &Talk<'_>, left: &mut Left) -> Lost {
    if let Some(mut session) = slot.take() {
        left.tail = session.carrier.tail(talk);
        left.traffic = session.carrier.take_traffic();
        left.passed_over = session.carrier.passed_over(talk);
        // What it may have begun is not waited for.
        drop(session.carrier.end());
    }
    lost
}

fn carrier(
    plan: &Plan,
    server: &McpServer,
    running: &RunContext<'_>,
) -> Result<Box<dyn Carrier>, Lost> {
    let process = match server {
        McpServer::Program(process) => process,
        McpServer::Url(http) => {
            let (address, headers) = (http.request.address.clone(), http.request.headers.clone());
            return Ok(Box::new(HttpCarrier::new(Remote { address, headers })));
        }
    };
    let (child, folders) = start(plan, process, running, &OF_ONE_ITEM).map_err(Lost::NotStarted)?;
    running.sink.record(Event::ServerStarted { item_id: plan.item().clone(), pid: child.pid() });
    Ok(Box::new(StdioCarrier::new(child, folders)))
}

/// The parameters as the tool gets them.
fn arguments(plan: &Plan) -> Value {
    json(&plan.arguments()).unwrap_or_else(|_| Value::Object(serde_json::Map::new()))
}

/// The key of a server: two calls share a session if it is equal.
fn key(plan: &Plan, server: &McpServer) -> Digest {
    let mut binding = ServerKey::default();
    match server {
        McpServer::Url(http) => {
            binding.add("http");
            binding.add(http.request.address.as_str());
            for (name, value) in &http.request.headers {
                binding.add(name);
                binding.add(value);
            }
        }
        McpServer::Program(process) => {
            binding.add("stdio");
            binding.add_start(plan, process, &OF_ONE_RUN);
        }
    }
    // The first is the item itself, which no server looks at.
    for pinned in plan.pinned().iter().skip(1) {
        binding.add(&pinned.path);
        binding.add(Digest::of(&pinned.bytes).to_string());
    }
    binding.digest()
}

/// The fault without secrets.
pub(super) fn masked(fault: McpFault, mask: &Mask) -> McpFault {
    match fault {
        McpFault::ServerFailed { why } => McpFault::ServerFailed { why: mask.words(&why) },
        McpFault::BadAnswer { why } => McpFault::BadAnswer { why: mask.words(&why) },
        McpFault::OutputSchema { why } => McpFault::OutputSchema { why: mask.words(&why) },
        McpFault::ToolChanged { tool, mut changes } => {
            for change in &mut changes {
                change.field = mask.words(&change.field);
                change.new = change.new.take().map(|value| mask.value(value));
            }
            McpFault::ToolChanged { tool, changes }
        }
        McpFault::Unauthorized { origin, has_token, oauth } => {
            let oauth = oauth.map(|place| mask.text(&place));
            McpFault::Unauthorized { origin, has_token, oauth }
        }
        McpFault::TimedOut { after } => McpFault::TimedOut { after },
        McpFault::AfterCall(fault) => McpFault::AfterCall(Box::new(masked(*fault, mask))),
    }
}
