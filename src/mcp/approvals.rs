//! Asking the person at the client what a tool asks (exec-protocol 4), where the server was started
//! so that it may and the client can. What is not decided there waits for `rye pending`.

use std::collections::{HashMap, VecDeque};

use rmcp::RoleServer;
use rmcp::model::{
    CallToolRequestParams, CancelledNotificationParam, ClientResult, ElicitRequest,
    ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationSchema, InputRequest,
    InputRequiredResult, InputResponses, ServerRequest,
};
use rmcp::service::{PeerRequestOptions, RequestContext};
use serde_json::json;

use super::calls::{Answer, Call, Listening, Refusal};
use super::session::gone;
use crate::base::Digest;
use crate::base::limits::MCP_WAITING;
use crate::base::text::{brief_line, escape_line};
use crate::diagnostic::Failure;
use crate::registry::{Decision, PendingRequest, PendingRow, RegistryError, RequestKind};
use crate::report::metadata;
use crate::runs::{CarriedOut, CarryOut, RequestRows, WaitsOn};
use crate::rye::Rye;

/// Longest question to the person at an MCP client, in bytes: more is not read in a dialog, and who
/// approves a part of it does not know what runs.
#[cfg(feature = "mcp")]
const MCP_QUESTION_BYTES: usize = 8 << 10;

/// The name of the one question of a call, from 2026-07-28 on.
const QUESTION: &str = "approval";

/// Requests of tools that clients were asked about in the answer to a call, from 2026-07-28 on, and
/// which call that was. The oldest are dropped.
#[derive(Default)]
pub(super) struct Asked {
    calls: HashMap<String, Digest>,
    order: VecDeque<String>,
}

impl Asked {
    pub(super) fn keep(&mut self, id: &str, call: Digest) {
        if self.calls.insert(id.to_owned(), call).is_none() {
            self.order.push_back(id.to_owned());
        }
        while self.order.len() > MCP_WAITING {
            if let Some(oldest) = self.order.pop_front() {
                self.calls.remove(&oldest);
            }
        }
    }

    /// Returns true if the client was asked about this request in the answer to this very call.
    pub(super) fn knows(&self, id: &str, call: Digest) -> bool {
        self.calls.get(id) == Some(&call)
    }
}

/// The digest of the tool and the arguments of a call: the answer to a question must be about the
/// same ones.
pub(super) fn call_digest(request: &CallToolRequestParams) -> Digest {
    let arguments = json!(request.arguments).to_string();
    Digest::of_parts(&[request.name.as_bytes(), b"\0", arguments.as_bytes()])
}

/// The id of what waits for a person, where an answer says that something does.
pub(super) fn waiting_id(answer: &Answer) -> Option<String> {
    let is_pending = answer.structured.get("status").is_some_and(|status| status == "pending");
    let id = answer.structured.get("pending")?.get("id")?.as_str()?;
    is_pending.then(|| id.to_owned())
}

/// Returns true if the client shows forms to its person.
pub(super) fn can_ask(context: &RequestContext<RoleServer>) -> bool {
    let can = context.client_capabilities().and_then(|can| can.elicitation);
    can.is_some_and(|can| can.form.is_some() || can.url.is_none())
}

/// A question that wants nothing but yes or no.
fn form(message: String) -> ElicitRequest {
    ElicitRequest::new(ElicitRequestParams::FormElicitationParams {
        meta: None,
        message,
        requested_schema: ElicitationSchema::new(std::collections::BTreeMap::new()),
    })
}

/// The answer to a call that goes on once the person answered.
pub(super) fn question_as_result(question: String, id: &str) -> InputRequiredResult {
    let question = InputRequest::Elicitation(form(question));
    let questions = [(QUESTION.to_owned(), question)].into_iter().collect();
    InputRequiredResult::new(Some(questions), Some(id.to_owned()))
}

/// Returns the person's answer, where the client brings one.
///
/// # Errors
/// The answer cannot be read.
pub(super) fn said(
    responses: Option<InputResponses>,
) -> Result<Option<ElicitationAction>, serde_json::Error> {
    let said = responses.and_then(|mut responses| responses.remove(QUESTION));
    said.map(|said| Ok(serde_json::from_value::<ElicitResult>(said)?.action)).transpose()
}

/// Asks the person at a client that has a session. Without an answer nothing is decided; `None` is
/// also a client that is gone.
pub(super) async fn ask(
    question: String,
    context: &RequestContext<RoleServer>,
) -> Option<ElicitationAction> {
    let request = ServerRequest::ElicitRequest(form(question));
    let options = PeerRequestOptions::no_options();
    let asked = context.peer.send_cancellable_request(request, options).await.ok()?;
    let id = asked.id.clone();
    tokio::select! {
        biased;
        () = gone(context) => {
            let told = CancelledNotificationParam::new(Some(id), None);
            let _ = context.peer.notify_cancelled(told).await;
            None
        }
        said = asked.await_response() => match said {
            Ok(ClientResult::ElicitResult(said)) => Some(said.action),
            _ => None,
        },
    }
}

impl Call<'_> {
    /// The question that a person is asked about a kept request; `None` where it is too long to be
    /// read in a dialog, or is not what was asked for any more.
    pub(super) fn question(&self, id: &str) -> Option<String> {
        let (rye, request) = kept(self, id).ok()?;
        if request.kind == RequestKind::Snippet {
            return snippet_question(&request);
        }
        let rows = rye.approvals().shown(&request).ok()?;
        let mut question = format!(
            "`{}` asks a person before it goes on. To accept runs exactly this, once; to decline \
             refuses it; otherwise it waits for `rye pending`.\n",
            request.row.item
        );
        for (label, value) in rows.known {
            question.push_str(&format!("\n{label}: {}", escape_line(&value)));
        }
        // Last, each on a line of its own, so that it cannot stand for what rye says.
        question.push_str(&format!("\n\n{}", RequestRows::SAID));
        for (label, value) in rows.said {
            question.push_str(&format!("\n> {label}: {}", brief_line(&value)));
        }
        (question.len() <= MCP_QUESTION_BYTES).then_some(question)
    }

    /// Does what the person at the client said about a kept request, as `rye pending` does it.
    pub(super) fn decided(&self, id: &str, action: &ElicitationAction) -> Answer {
        let decided = kept(self, id).and_then(|(rye, request)| {
            let own = rye.approvals().decision();
            let decision = Decision { by: format!("{} over MCP", own.by), ..own };
            let why = match action {
                ElicitationAction::Accept => None,
                ElicitationAction::Decline => Some("a person said no at the client"),
                _ => return Ok(waits(self, &request.row)),
            };
            let row = request.row.clone();
            let decided = rye.approvals().decide(request, decision, why)?;
            let why = why.unwrap_or_default();
            let how = CarryOut {
                start: self.start,
                sink: &Listening { log: self.log, recorder: None },
                #[cfg(feature = "code")]
                print: &|_, _| (),
            };
            Ok(match rye.approvals().carry_out(decided, why, &how) {
                Ok(CarriedOut::Ran(report)) => self.told(None, |_| Ok(*report)),
                #[cfg(feature = "code")]
                Ok(CarriedOut::WentOn(result)) => Answer::ended(result.to_json(), result.signal()),
                Ok(CarriedOut::Noted(open)) => waits(self, &open[0].row),
                Ok(CarriedOut::Rejected(waits)) => rejected(self, row.id, why, waits.as_ref()),
                Err(failed) => self.told(None, |_| Err(failed)),
            })
        });
        decided.unwrap_or_else(|refusal| refusal.into_answer(self.start.elapsed()))
    }
}

/// A request that waits on.
fn waits(call: &Call<'_>, row: &PendingRow) -> Answer {
    Answer::shown(json!({
        "status": "pending", "type": "tool", "item_id": row.item,
        "pending": {"id": row.id, "reason": row.reason, "message": row.message},
        "metadata": metadata(call.start.elapsed()),
    }))
}

/// The person said no, and nothing runs; the thread may wait on.
fn rejected(call: &Call<'_>, id: String, why: &str, waits: Option<&WaitsOn>) -> Answer {
    let rejected = Refusal::from(RegistryError::Rejected { id, why: why.into() });
    let mut answer = rejected.into_answer(call.start.elapsed());
    answer.structured.extend(waits.map(WaitsOn::to_json).unwrap_or_default());
    answer
}

/// The question about a snippet that waits; `None` where it is too long to be read in a dialog.
#[cfg(feature = "code")]
fn snippet_question(request: &PendingRequest) -> Option<String> {
    let rows = crate::runs::SnippetRows::of(request).ok()??;
    let mut question = format!(
        "A snippet calls `{}` and waits for a person. To accept runs the call and goes on with the \
         snippet; to decline lets the call fail in it; otherwise it waits for `rye pending`.\n",
        request.row.item
    );
    let mut row = |label: &str, value: &str| {
        question.push_str(&format!("\n{label}: {}", escape_line(value)));
    };
    row("request", &request.row.id);
    row("project", &request.row.project.display().to_string());
    row("parameters", &rows.args.to_string());
    rows.other_args.iter().for_each(|args| row("also", &args.to_string()));
    row("snippet", &format!("sha256 {}", rows.sha256));
    // Last, each on a line of its own, so that it cannot stand for what rye says.
    question.push_str("\n\nThe words of the tool or the snippet, which nobody checked:");
    question.push_str(&format!("\n> message: {}", brief_line(&request.row.message)));
    for line in rows.code.iter().flat_map(|code| code.lines()) {
        question.push_str(&format!("\n> {}", escape_line(line)));
    }
    (question.len() <= MCP_QUESTION_BYTES).then_some(question)
}

#[cfg(not(feature = "code"))]
fn snippet_question(_: &PendingRequest) -> Option<String> {
    None
}

/// A kept request, with the facade of the project that it was asked in.
fn kept<'a>(call: &'a Call<'_>, id: &str) -> Result<(&'a Rye, PendingRequest), Refusal> {
    let setup = &call.server.setup;
    let first = (setup.project)(&setup.roots[0])?;
    let missing = || RegistryError::NotFound { id: id.to_owned(), near: Vec::new() };
    let registry = first.approvals().registry()?.ok_or_else(|| Failure::from(missing()))?;
    let request = registry.request(id)?;
    let rye = call.rye("rye_execute", &request.row.project)?;
    Ok((rye, request))
}
