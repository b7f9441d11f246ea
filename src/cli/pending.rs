//! `rye pending`: shows and decides requests of tools to a person.

use serde_json::{Map, Value, json};

use super::confirm::confirm;
use super::context::Context;
use super::diff::painted;
use super::exit::Exit;
use super::out::Out;
use crate::base::Digest;
#[cfg(feature = "code")]
use crate::base::text::counted;
use crate::base::text::{brief_line, escape_line};
use crate::diagnostic::{Failure, Style};
use crate::plan::PlanFile;
use crate::registry::{
    PendingRequest, PendingRow, PendingState, Registry, RegistryError, RequestKind,
};
use crate::runs::{CarriedOut, CarryOut, RequestRows, SignRequest, WaitsOn, threads_from_outside};
use crate::rye::Rye;
use crate::trace::Quiet;

/// The status of what waits for a person.
pub(super) const WAITS: u8 = 8;

/// See and decide what tools ask a person before they go on
#[derive(clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(clap::Subcommand)]
enum Verb {
    /// List what waits for a person, in all projects
    List {
        /// Those too that were decided
        #[arg(long)]
        all: bool,
    },
    /// Show one request: what would run, with which parameters, and what came of it
    Show {
        #[arg(value_name = "ID")]
        id: String,
    },
    /// Run exactly what was asked for, once
    Approve {
        #[arg(value_name = "ID")]
        id: String,
    },
    /// Say no; the caller is told why
    Reject {
        #[arg(value_name = "ID")]
        id: String,
        /// Why
        #[arg(long, value_name = "TEXT", default_value = "a person said no")]
        reason: String,
    },
}

pub(super) fn run(args: &Args, context: &Context, out: &mut Out) -> Result<Exit, Failure> {
    match &args.verb {
        Verb::List { all } => list(*all, context, out),
        Verb::Show { id } => show(&find(id, context)?, context, out),
        Verb::Approve { id } => approve(find(id, context)?, context, out),
        Verb::Reject { id, reason } => reject(find(id, context)?, reason, context, out),
    }
}

fn find(id: &str, context: &Context) -> Result<PendingRequest, Failure> {
    let none = || RegistryError::NotFound { id: id.to_owned(), near: Vec::new() };
    let registry = registry(context)?.ok_or_else(|| Failure::from(none()))?;
    Ok(registry.request(id)?)
}

/// The registry, for a caller that no thread started: a request shows what others asked for.
fn registry(context: &Context) -> Result<Option<Registry>, Failure> {
    let rye = context.rye()?;
    threads_from_outside(&rye)?;
    rye.approvals().registry()
}

fn list(all: bool, context: &Context, out: &mut Out) -> Result<Exit, Failure> {
    let registry = registry(context)?;
    let requests = match &registry {
        Some(registry) => registry.requests().map_err(Failure::from)?,
        None => Vec::new(),
    };
    let waits = |request: &&PendingRow| all || request.is_open();
    let requests: Vec<_> = requests.iter().filter(waits).collect();
    if out.is_json() {
        let rows: Vec<Value> = requests.iter().map(|request| row(request).into()).collect();
        out.success(json!({"pending": rows}));
        return Ok(Exit::DONE);
    }
    for request in &requests {
        list_row(request, out);
    }
    if requests.is_empty() {
        out.line("nothing waits for a person");
    }
    Ok(Exit::DONE)
}

fn list_row(request: &PendingRow, out: &mut Out) {
    let state = match request.said.unwrap_or(request.state) {
        PendingState::Waiting => String::new(),
        other => format!("  {other}"),
    };
    let id = out.paint().style(Style::Strong, &request.id);
    let asked = out.paint().style(Style::Dim, &request.asked_at);
    let message =
        escape_line(if request.message.is_empty() { &request.reason } else { &request.message });
    out.line(&format!("{id}  {}  {asked}{state}\n    {message}", request.item));
}

/// A request as JSON, without its plan.
fn row(request: &PendingRow) -> Map<String, Value> {
    let row = json!({
        "id": request.id, "item_id": request.item, "project": request.project,
        "asked_at": request.asked_at, "reason": request.reason, "message": request.message,
        "state": request.said.unwrap_or(request.state).name(), "decided_by": request.decided_by,
        "decided_at": request.decided_at, "thread_id": request.thread,
    });
    match row {
        Value::Object(row) => row,
        _ => Map::new(),
    }
}

fn show(request: &PendingRequest, context: &Context, out: &mut Out) -> Result<Exit, Failure> {
    if let Some(wanted) = SignRequest::of(request) {
        return show_signature(request, &wanted, context, out);
    }
    if request.kind == RequestKind::Snippet {
        return show_snippet(request, out);
    }
    let plan = PlanFile::read(&request.payload).map_err(Failure::from)?;
    let RequestRows { known: mut rows, said, params } = RequestRows::new(request, &plan, &[])?;
    let result = request.result.as_deref();
    let result = result.map(|text| crate::parse::json(text).unwrap_or_else(|_| text.into()));
    if out.is_json() {
        let mut fields = row(&request.row);
        fields.insert("params".into(), params);
        fields.insert("plan_sha256".into(), json!(plan.digest()));
        #[cfg(feature = "code")]
        if let Some(snippet) = crate::runs::SnippetRows::of(request)? {
            fields.insert("call".into(), snippet.call_json());
        }
        fields.insert("result".into(), json!(result));
        out.success(fields.into());
        return Ok(Exit::DONE);
    }
    rows.insert(1, ("state", state(request)));
    rows.extend(ended(request, result));
    show_rows(&rows, out);
    out.line(RequestRows::SAID);
    show_rows(&said, out);
    next(request, out);
    Ok(Exit::DONE)
}

fn next(request: &PendingRequest, out: &mut Out) {
    if request.row.is_open() {
        let id = &request.row.id;
        out.line(&format!("\nnext: `rye pending approve {id}` or `rye pending reject {id}`"));
        if let Some(thread) = &request.row.thread {
            let thread = escape_line(thread);
            out.line(&format!("      `rye thread show {thread}` shows the thread that waits"));
        }
    }
}

fn state(request: &PendingRequest) -> String {
    match (request.row.state, request.row.said) {
        (PendingState::Lost, _) => "approved, but how it ended is not known".to_owned(),
        (PendingState::Waiting, Some(said)) => {
            format!("{said}, and waits until what was asked with it is decided")
        }
        (state, said) => said.unwrap_or(state).name().to_owned(),
    }
}

/// Which thread waits with it, who decided, and what came of it.
fn ended(request: &PendingRequest, result: Option<Value>) -> Vec<(&'static str, String)> {
    let thread = request.row.thread.clone().map(|thread| ("thread", thread));
    let mut rows: Vec<_> = thread.into_iter().collect();
    if let (Some(by), Some(at)) = (&request.row.decided_by, &request.row.decided_at) {
        rows.push(("decided", format!("{at} by {by}")));
    }
    rows.extend(result.map(|result| match result {
        Value::String(why) => ("why", why),
        other => ("result", other.to_string()),
    }));
    rows
}

/// Shows a snippet that waits: what it asks about, and what ran already. Of one that ended only
/// what came of it is left.
#[cfg_attr(not(feature = "code"), expect(clippy::unnecessary_wraps, reason = "as with snippets"))]
fn show_snippet(request: &PendingRequest, out: &mut Out) -> Result<Exit, Failure> {
    #[cfg(feature = "code")]
    let snippet = crate::runs::SnippetRows::of(request)?;
    let result = request.result.as_deref();
    let result = result.map(|text| crate::parse::json(text).unwrap_or_else(|_| text.into()));
    if out.is_json() {
        let mut fields = row(&request.row);
        #[cfg(feature = "code")]
        fields.extend(snippet.map(|snippet| snippet.to_json()).unwrap_or_default());
        fields.insert("result".into(), json!(result));
        out.success(fields.into());
        return Ok(Exit::DONE);
    }
    let row = &request.row;
    let mut rows = vec![
        ("request", row.id.clone()),
        ("state", state(request)),
        ("tool", row.item.clone()),
        ("project", row.project.display().to_string()),
        ("asked", row.asked_at.clone()),
    ];
    #[cfg(feature = "code")]
    if let Some(snippet) = &snippet {
        rows.push(("parameters", snippet.args.to_string()));
        rows.extend(snippet.other_args.iter().map(|args| ("also", args.to_string())));
        rows.push(("ran", format!("{} before it", counted(snippet.calls.len() as u64, "call"))));
        rows.push(("snippet", format!("sha256 {}", snippet.sha256)));
    }
    rows.extend(ended(request, result));
    show_rows(&rows, out);
    let said = [("reason", row.reason.clone()), ("message", row.message.clone())];
    show_rows(&said, out);
    #[cfg(feature = "code")]
    if let Some(code) = snippet.and_then(|snippet| snippet.code) {
        out.line("The snippet that calls it, in words that nobody checked:");
        code.lines().for_each(|line| out.line(&format!("> {}", escape_line(line))));
    }
    next(request, out);
    Ok(Exit::DONE)
}

fn show_rows(rows: &[(&str, String)], out: &mut Out) {
    for (label, value) in rows {
        let label = out.paint().style(Style::Dim, &format!("{label:>10}"));
        out.line(&format!("{label}  {}", escape_line(value)));
    }
}

/// Why a request without a plan is not approved: it is a snippet that ended, or this build knows no
/// snippets.
fn not_here(request: &PendingRequest) -> RegistryError {
    let (id, state) = (request.row.id.clone(), request.row.state);
    match state {
        PendingState::Waiting => {
            let why = "a snippet waits, and this rye was built without snippets".into();
            RegistryError::Drifted { id, why }
        }
        _ => RegistryError::Decided { id, state },
    }
}

/// Signs what a model asked for, as `rye sign` does: what changed is shown first.
fn approve_signature(
    request: &PendingRequest,
    wanted: &SignRequest,
    context: &Context,
    out: &mut Out,
) -> Result<Exit, Failure> {
    let rye = context.rye_in(request.row.project.clone())?;
    let offer = rye.approvals().signature_offer(request, wanted)?;
    let id = &request.row.id;
    if !out.is_json() {
        out.exact(&painted(&offer.diff, out.paint()));
    }
    let what = format!("approve {id}, which signs `{}` with your key", offer.item);
    confirm(&what, &format!("sha256 {}", offer.digest), context, out)?;
    rye.approvals().sign_requested(request, &offer, &rye.approvals().decision())?;
    if out.is_json() {
        out.success(json!({
            "id": id, "state": "done", "item_id": offer.item, "sha256": offer.digest,
        }));
    } else {
        out.line(&format!("signed  {}  sha256 {}", offer.item, offer.digest));
    }
    Ok(Exit::DONE)
}

/// Shows a request for a signature, as far as it still is what was asked for.
fn show_signature(
    request: &PendingRequest,
    wanted: &SignRequest,
    context: &Context,
    out: &mut Out,
) -> Result<Exit, Failure> {
    let rye = context.rye_in(request.row.project.clone())?;
    let offer = match request.row.state {
        PendingState::Waiting => Some(rye.approvals().signature_offer(request, wanted)),
        _ => None,
    };
    let result = request.result.as_deref();
    let result = result.map(|text| crate::parse::json(text).unwrap_or_else(|_| text.into()));
    let drifted = match &offer {
        Some(Err(failure)) => Some(failure.diagnostic().message),
        _ => None,
    };
    let offer = offer.and_then(Result::ok);
    if out.is_json() {
        let mut fields = row(&request.row);
        fields.insert("sign".into(), json!(wanted));
        fields.insert("diff".into(), json!(offer.map(|offer| offer.diff)));
        fields.insert("drifted".into(), json!(drifted));
        fields.insert("result".into(), json!(result));
        out.success(fields.into());
        return Ok(Exit::DONE);
    }
    let mut rows = vec![
        ("request", request.row.id.clone()),
        ("state", state(request)),
        ("sign", request.row.item.clone()),
        ("project", request.row.project.display().to_string()),
        ("asked", request.row.asked_at.clone()),
        ("message", request.row.message.clone()),
    ];
    rows.extend(drifted.map(|why| ("changed", why)));
    rows.extend(ended(request, result));
    show_rows(&rows, out);
    if let Some(offer) = offer {
        out.exact(&painted(&offer.diff, out.paint()));
    }
    next(request, out);
    Ok(Exit::DONE)
}

fn approve(request: PendingRequest, context: &Context, out: &mut Out) -> Result<Exit, Failure> {
    if let Some(wanted) = SignRequest::of(&request) {
        return approve_signature(&request, &wanted, context, out);
    }
    let what = format!("approve {}, `{}`", request.row.id, request.row.item);
    let about = match snippet_alone(&request)? {
        Some(sha256) => format!("snippet sha256 {sha256}"),
        None if request.kind == RequestKind::Snippet => return Err(not_here(&request).into()),
        None => {
            let plan = PlanFile::read(&request.payload).map_err(Failure::from)?;
            let says = brief_line(&request.row.message);
            format!("plan sha256 {}; the tool says: {says}", plan.digest())
        }
    };
    confirm(&what, &about, context, out)?;
    let rye = context.rye_in(request.row.project.clone())?;
    decide(&rye, request, None, context, out)
}

/// Takes the decision of a person, and carries it out in the folder where it was requested.
fn decide(
    rye: &Rye,
    request: PendingRequest,
    rejected: Option<&str>,
    context: &Context,
    out: &mut Out,
) -> Result<Exit, Failure> {
    let approvals = rye.approvals();
    let row = request.row.clone();
    let decided = approvals.decide(request, approvals.decision(), rejected)?;
    out.flush();
    #[cfg(feature = "code")]
    let (is_json, is_terminal) = (out.is_json(), super::out::is_terminal());
    #[cfg(feature = "code")]
    let print = |stream, text: &str| {
        if !is_json {
            super::code::show(stream, text, is_terminal);
        }
    };
    let how = CarryOut {
        start: context.start,
        sink: &Quiet,
        #[cfg(feature = "code")]
        print: &print,
    };
    Ok(match approvals.carry_out(decided, rejected.unwrap_or_default(), &how)? {
        CarriedOut::Ran(report) => super::execute::show(&report, None, context, out),
        #[cfg(feature = "code")]
        CarriedOut::WentOn(result) => super::code::show_result(&result, None, &[], out)?,
        CarriedOut::Rejected(waits) => told_rejected(&row, waits.as_ref(), out),
        CarriedOut::Noted(open) => {
            let state =
                if rejected.is_some() { PendingState::Rejected } else { PendingState::Approved };
            noted(state, &open, out)
        }
    })
}

/// A request was decided, with which others were asked that are open.
fn noted(state: PendingState, open: &[PendingRequest], out: &mut Out) -> Exit {
    if out.is_json() {
        let mut rows: Vec<Value> = open.iter().map(|open| row(&open.row).into()).collect();
        let first = rows.remove(0);
        let mut fields = Map::new();
        fields.insert("status".into(), "pending".into());
        fields.insert("state".into(), state.name().into());
        fields.insert("pending".into(), first);
        if !rows.is_empty() {
            fields.insert("also_pending".into(), rows.into());
        }
        out.object(&fields.into());
    } else {
        out.line(&format!("{state}; it goes on once this is decided, which was asked with it:"));
        for open in open {
            list_row(&open.row, out);
        }
    }
    Exit::Status(WAITS)
}

/// The digest of the snippet of a request; `None` where it is saved as a tool, which has a plan.
#[cfg_attr(not(feature = "code"), expect(clippy::unnecessary_wraps, reason = "as with snippets"))]
fn snippet_alone(request: &PendingRequest) -> Result<Option<Digest>, Failure> {
    #[cfg(feature = "code")]
    if request.kind == RequestKind::Snippet {
        return Ok(crate::runs::SnippetRows::of(request)?.map(|snippet| snippet.sha256));
    }
    let _ = request;
    Ok(None)
}

fn reject(
    request: PendingRequest,
    reason: &str,
    context: &Context,
    out: &mut Out,
) -> Result<Exit, Failure> {
    let what = format!("reject {}, `{}`", request.row.id, request.row.item);
    confirm(&what, "", context, out)?;
    // If its folder is gone, the rejection ends the waiting, and nothing goes on.
    let rye = context.rye_in(request.row.project.clone()).or_else(|_| context.rye())?;
    decide(&rye, request, Some(reason), context, out)
}

/// A request was rejected, whose thread may wait on.
fn told_rejected(request: &PendingRow, waits: Option<&WaitsOn>, out: &mut Out) -> Exit {
    if out.is_json() {
        let mut fields = waits.map(WaitsOn::to_json).unwrap_or_default();
        fields.insert("id".into(), request.id.as_str().into());
        fields.insert("state".into(), "rejected".into());
        out.success(fields.into());
    } else {
        if let Some(waits) = waits {
            let (why, help) = (escape_line(&waits.why.to_string()), waits.help());
            out.note(&format!("its thread does not go on: {why}\n  help: {help}"));
        }
        out.line(&format!("rejected  {}  {}", request.id, request.item));
    }
    Exit::DONE
}
