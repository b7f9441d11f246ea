//! Saved snippets: tools whose file is a snippet. They are run as every snippet is, and reach what
//! their header lists and their caller reaches.

use std::sync::Mutex;

use serde_json::{Map, Value};

use super::private_values::PrivateValues;
use super::tools::RyeTools;
use crate::base::Digest;
use crate::base::json::object;
use crate::base::limits::CODE_SAVED_RECORDS_BYTES;
use crate::base::mask::{Mask, StreamMask};
use crate::base::sync::unpoisoned;
use crate::base::text::brief_line;
use crate::code::{
    AskedCall, CodeError, CodeLimit, CodeRequest, Executor, PrintStream, SavedSnippetError,
};
use crate::diagnostic::Failure;
use crate::execute::{CallSeen, ExecuteError, Outcome, OutputWitness, Pending, SnippetDid};
use crate::plan::{Plan, SnippetPlan};
use crate::rye::{CallApproval, Caller, CodePolicy, Rye, WaitedSnippet};
use crate::trace::{OutputPiece, Sink, WithoutOutput};

/// The run of a saved snippet.
#[derive(Clone, Copy)]
pub(crate) struct SavedRun<'a> {
    pub(super) plan: &'a Plan,
    /// The plan was made for the record.
    pub(super) for_record: bool,
    /// The detached run that it is.
    pub(super) run: Option<&'a str>,
}

impl SavedRun<'_> {
    /// The question to a person about a call, as a sentence without private values. They are masked
    /// before it is cut, since a cut could leave a part of one.
    pub(super) fn asks(&self, asked: &AskedCall, mask: &Mask) -> String {
        let (own, AskedCall { args, asks, .. }) = (self.plan.item(), asked);
        let args = brief_line(&mask.value(args.clone().into()).to_string());
        match asks.request {
            None => format!("`{own}` calls `{}` with {args}", asks.item),
            Some(_) => format!(
                "`{own}` calls `{}` with {args}, which asks: {}",
                asks.item,
                brief_line(&mask.words(&asks.message))
            ),
        }
    }
}

/// Shows the output of a saved snippet as it comes, beside the value, which is the answer. It may
/// still fail, so it is masked like the report of a failure.
struct PrintedOutput<'a> {
    sink: &'a dyn Sink,
    /// `None` if there is no listener.
    stream: Option<Mutex<PrintedStream>>,
}

struct PrintedStream {
    mask: StreamMask<Box<Mask>>,
    /// So many private values are masked.
    values: usize,
}

impl PrintedStream {
    fn new(private: &PrivateValues) -> Self {
        let values = private.count();
        Self { mask: StreamMask::new(Box::new(private.mask())), values }
    }
}

impl<'a> PrintedOutput<'a> {
    fn new(plan: &Plan, sink: &'a dyn Sink) -> Self {
        let private = PrivateValues::of(plan.private_values());
        let is_heard = sink.begin_output(private.count() > 0);
        Self { sink, stream: is_heard.then(|| Mutex::new(PrintedStream::new(&private))) }
    }

    /// Shows a piece of its output, masked by these values.
    fn take(&self, text: &str, private: &PrivateValues) {
        self.show(|stream| {
            let mut bytes = Vec::new();
            if stream.values != private.count() {
                // The end of the text may be part of a value, whose rest comes now.
                bytes = stream.mask.end(true);
                *stream = PrintedStream::new(private);
            }
            bytes.extend(stream.mask.next(text.as_bytes()));
            bytes
        });
    }

    /// The rest of it; where the snippet was ended, that may be part of what is masked.
    fn end(&self, was_cut: bool) {
        self.show(|stream| stream.mask.end(was_cut));
    }

    fn show(&self, text: impl FnOnce(&mut PrintedStream) -> Vec<u8>) {
        let Some(stream) = &self.stream else { return };
        let mut stream = unpoisoned(stream.lock());
        let bytes = text(&mut stream);
        self.sink.wrote(OutputPiece { of_stderr: true, bytes: &bytes });
    }
}

/// The fields of a snippet's result that go with the result of the tool.
const DID: [&str; 6] =
    ["stdout", "stderr", "tool_calls", "tool_calls_left_out", "limits", "warnings"];

/// Runs a saved snippet.
///
/// # Errors
/// `code.*` with the place in the file; `execute.timeout`; whatever the configuration of
/// snippets is refused with.
pub(crate) fn saved_snippet(
    rye: &Rye,
    (plan, snippet): (&Plan, &SnippetPlan),
    caller: Caller<'_>,
    witness: Option<&OutputWitness>,
    sink: &dyn Sink,
) -> Result<Outcome, ExecuteError> {
    let failed = |error: Failure, told: Map<String, Value>| {
        let (item, place) = (plan.item().clone(), snippet.place.clone());
        ExecuteError::Snippet(SavedSnippetError { item, place, error, help: None, told }.into())
    };
    let asked = caller.request;
    let (within, _running) =
        asked.origin.within.enter().map_err(|error| failed(error.into(), Map::new()))?;
    let policy = CodePolicy::of(rye).map_err(|error| failed(error, Map::new()))?;
    // Its author says what it needs, and only the person how much there is.
    let config = policy.config.clone().lowered(&snippet.limits);
    let config = config.map_err(|error| failed(error, Map::new()))?;
    let usual = if asked.origin.is_typed { CallApproval::Never } else { CallApproval::First };
    let least =
        if asked.origin.may_write.is_some() { CallApproval::First } else { CallApproval::Never };
    let printed = PrintedOutput::new(plan, sink);
    // The output of its tools is theirs; the value alone is the answer.
    let sink: &dyn Sink = &WithoutOutput(sink);
    let waited = asked.origin.approval.as_ref().and_then(|approval| approval.snippet.as_deref());
    let tools = match waited {
        Some(WaitedSnippet { id, kept, paused, is_approved }) => {
            RyeTools::again(rye, sink, id, (kept, paused), *is_approved)
                .in_thread(asked.origin.thread.clone())
        }
        None => RyeTools::new(rye, sink)
            .approval(policy.approval(usual).max(least))
            .locked(asked.locked)
            .below(caller, snippet.grants()),
    };
    let run = asked.origin.run.as_deref();
    let saved = SavedRun { plan, for_record: caller.for_record, run };
    let tools = tools.of_saved(saved, within, caller.can_wait);
    let (own, configured) = (plan.timeout(), config.timeout());
    let request = CodeRequest::new(snippet.code.as_str())
        .language(snippet.language)
        .params(snippet.params.as_map().clone())
        .timeout(own.min(configured));
    let executor = Executor::with_languages(config).records_bytes(CODE_SAVED_RECORDS_BYTES);
    let print = |_: PrintStream, text: &str| printed.take(text, &tools.private);
    let result = match waited {
        Some(WaitedSnippet { paused, .. }) => executor.resume(paused, &tools, &print),
        None => executor.run(&request, &tools, &print),
    };
    let mask = tools.private.mask();
    printed.end(result.failure().is_some());
    let mut told = object(result.to_json());
    if let Some(witness) = witness {
        let text = |key: &str| told.get(key).and_then(Value::as_str).unwrap_or_default();
        witness.computed(text("stdout"), text("stderr"), calls(&told));
    }
    let stack = told.get_mut("error").map(|error| error["stack"].take());
    told.retain(|key, _| DID.contains(&key.as_str()));
    let Some(error) = result.error().cloned() else {
        let pending = result.waiting().first().map(|(id, asked)| Pending {
            reason: mask.words(&asked.asks.reason),
            message: result.with_others(&saved.asks(asked, &mask)),
            kept_as: Some(id.to_owned()),
        });
        // Its value is its own; a reader that keeps or shows it masks that.
        let did = SnippetDid { told, private: tools.private.all() };
        let outcome = Outcome::of_snippet(result.value().clone(), did, result.duration());
        return Ok(Outcome { pending, ..outcome });
    };
    let failure = Failure::from(error.masked(&mask));
    told.extend(stack.map(|stack| ("stack".to_owned(), stack)));
    let told = object(mask.value(told.into()));
    let limit = match result.error() {
        Some(CodeError::Limit { limit, most }) => Some((*limit, *most)),
        _ => None,
    };
    let is_out_of_time = limit.is_some_and(|(limit, _)| limit == CodeLimit::Timeout);
    if is_out_of_time && own <= configured {
        // The run has this limit by itself, which the error names.
        let (item, limit) = (plan.item().clone(), plan.limit().clone());
        let (stderr_tail, after) = (String::new(), Box::default());
        let late = ExecuteError::Timeout { item, limit, stderr_tail, after };
        return Err(failed(late.into(), told));
    }
    // Where the header is stricter than the person, it is the one to change.
    let own = limit.filter(|(limit, most)| {
        let own = limit.field().and_then(|field| snippet.limits[field].as_u64());
        own.is_some_and(|own| own == *most)
    });
    let help = own.map(|(limit, _)| {
        let field = limit.field().unwrap_or_default();
        format!("do less, or raise `config.{field}` in the item and sign it")
    });
    let (item, place) = (plan.item().clone(), snippet.place.clone());
    let error = SavedSnippetError { item, place, error: failure, help, told };
    Err(ExecuteError::Snippet(error.into()))
}

/// The calls of a result, for a receipt.
fn calls(told: &Map<String, Value>) -> Vec<CallSeen> {
    let rows = told.get("tool_calls").and_then(Value::as_array).into_iter().flatten();
    let text = |value: &Value| value.as_str().map(str::to_owned);
    rows.map(|row| CallSeen {
        tool: text(&row["tool_id"]).unwrap_or_default(),
        args: Digest::of(row["args"].to_string().as_bytes()),
        error: text(&row["error"]["code"]),
    })
    .collect()
}
