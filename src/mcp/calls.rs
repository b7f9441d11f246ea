//! The tools of the server: each asks the facade and gives its answer.

use std::cell::OnceCell;
use std::collections::{BTreeSet, VecDeque};
use std::path::{Component, Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use tokio::sync::Notify;

use super::error::McpError;
use super::help::for_a_client;
use super::server::{Server, held};
use crate::base::json_reader::typed;
use crate::base::limits::MCP_ROWS;
use crate::diagnostic::{Diagnose, Diagnostic, Failure};
use crate::id::{Kind, Pattern, Query, Ref, Space};
use crate::plan::{Target, Thread};
use crate::report::{Report, error_json, provider_failed_text};
use crate::rye::{
    DetailLevel, Failed, ItemVerdict, LockMode, Request, Rye, SearchRequest, read_item,
};
use crate::trace::{Event, Recorder, Sink};

/// Most items that one call of an MCP client names to be verified: each is a chain that is read and
/// judged, and a client with more of them asks for a pattern.
#[cfg(feature = "mcp")]
const MCP_ITEMS: usize = 2_000;

/// The result of a call.
#[derive(Debug)]
pub(super) struct Answer {
    /// The structured content; an object.
    pub(super) structured: Map<String, Value>,
    pub(super) is_error: bool,
    /// The signal that ended the call.
    pub(super) signal: Option<i32>,
}

impl Answer {
    fn new(value: Value) -> Self {
        let mut structured = match value {
            Value::Object(map) => map,
            other => [("data".to_owned(), other)].into_iter().collect(),
        };
        if let Some(help) = structured.get_mut("help") {
            for_a_client(help);
        }
        let is_error = structured.get("status").is_some_and(|status| status == "error");
        Self { structured, is_error, signal: None }
    }
}

impl Answer {
    /// The answer of a call that a signal may have ended.
    pub(super) fn ended(value: Value, signal: Option<i32>) -> Self {
        Self { signal, ..Self::new(value) }
    }

    /// An answer that does not count as a failure.
    pub(super) fn shown(value: Value) -> Self {
        Self { is_error: false, ..Self::new(value) }
    }
}

/// Why a call came to nothing.
#[derive(Debug)]
pub(super) struct Refusal(Box<Diagnostic>);

impl<E: Diagnose> From<E> for Refusal {
    fn from(error: E) -> Self {
        Self(Box::new(Diagnostic::from(&error)))
    }
}

impl From<Failure> for Refusal {
    fn from(failure: Failure) -> Self {
        Self(Box::new(failure.diagnostic()))
    }
}

impl Refusal {
    /// The structured error of core 7.12.
    pub(super) fn into_answer(self, elapsed: Duration) -> Answer {
        Answer::new(error_json(&self.0, None, &[], elapsed, None))
    }

    pub(super) fn diagnostic(&self) -> &Diagnostic {
        &self.0
    }
}

/// The text that programs write to standard error during a call.
#[derive(Default)]
pub(super) struct CallLog {
    /// The messages of programs, masked, each with the item that wrote it.
    said: Mutex<VecDeque<(Ref, String)>>,
    is_said: Notify,
    /// The text that says what the call waits for, until it is taken.
    waits_for: Mutex<Option<String>>,
}

impl CallLog {
    /// Returns when there are new lines.
    pub(super) async fn hears(&self) {
        self.is_said.notified().await;
    }

    /// Takes the first lines, at most `most`, and lowers `most` by as many; the rest stays.
    pub(super) fn first(&self, most: &mut usize) -> Vec<(Ref, String)> {
        let mut said = held(&self.said);
        let mut first = Vec::new();
        while *most > 0
            && let Some((item, mut text)) = said.pop_front()
        {
            let end = text.match_indices('\n').nth(*most - 1).map_or(text.len(), |(at, _)| at + 1);
            let rest = text.split_off(end);
            *most -= text.lines().count();
            if !rest.is_empty() {
                said.push_front((item.clone(), rest));
            }
            first.push((item, text));
        }
        first
    }

    /// Takes the text that says what the call waits for, if it began to since the last time.
    pub(super) fn take_wait(&self) -> Option<String> {
        held(&self.waits_for).take()
    }

    pub(super) fn take(&self) -> Vec<(Ref, String)> {
        std::mem::take(&mut *held(&self.said)).into()
    }
}

/// Passes on what programs write, and keeps the events if a trace was asked for.
pub(super) struct Listening<'a> {
    pub(super) log: &'a CallLog,
    pub(super) recorder: Option<&'a Recorder>,
}

impl Sink for Listening<'_> {
    fn record(&self, event: Event) {
        if let Event::ProviderFailed(failure) = &event {
            *held(&self.log.waits_for) = Some(provider_failed_text(failure));
        }
        if let Some(recorder) = self.recorder {
            recorder.record(event);
        }
    }

    fn has_reader(&self) -> bool {
        self.recorder.is_some()
    }

    fn said(&self, item: &Ref, text: &dyn Fn() -> String) {
        held(&self.log.said).push_back((item.clone(), text()));
        self.log.is_said.notify_one();
    }
}

/// One call. The facade lives as long as the call, so hooks that are told of the call are waited
/// for when the answer is ready.
pub(super) struct Call<'a> {
    pub(super) server: &'a Server,
    pub(super) log: &'a CallLog,
    pub(super) start: Instant,
    /// Set when the client no longer waits for the answer; loops over many items check it.
    is_cancelled: &'a AtomicBool,
    rye: OnceCell<Rye>,
}

/// The arguments of `rye_execute`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Execute {
    item_id: String,
    project_path: PathBuf,
    #[serde(default)]
    parameters: Map<String, Value>,
    #[serde(default)]
    dry_run: bool,
    #[serde(default = "local")]
    target: String,
    #[serde(default = "inline")]
    thread: String,
    #[serde(default, rename = "async")]
    detached: bool,
    /// Of threads; an inline run has no model and spends nothing.
    model: Option<String>,
    limit_overrides: Option<Map<String, Value>>,
    #[serde(default)]
    trace: bool,
}

fn local() -> String {
    "local".into()
}

fn inline() -> String {
    "inline".into()
}

/// The arguments of `rye_fetch` and `rye_search`: the second names no item.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Find {
    item_id: Option<String>,
    query: Option<String>,
    project_path: PathBuf,
    kind: Option<String>,
    space: Option<String>,
    limit: Option<usize>,
    cursor: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Describe {
    item_id: String,
    project_path: PathBuf,
    level: Option<String>,
    examples: Option<usize>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Verify {
    #[serde(default)]
    items: Vec<String>,
    project_path: PathBuf,
}

/// Reads the arguments as the type that a tool takes.
///
/// # Errors
/// `mcp.arguments`
pub(super) fn read<T: DeserializeOwned>(
    tool: &str,
    arguments: Map<String, Value>,
) -> Result<T, McpError> {
    typed(Value::Object(arguments))
        .map_err(|error| McpError::Arguments { tool: tool.into(), why: error.to_string() })
}

impl<'a> Call<'a> {
    pub(super) fn new(server: &'a Server, log: &'a CallLog, is_cancelled: &'a AtomicBool) -> Self {
        Self { server, log, start: Instant::now(), is_cancelled, rye: OnceCell::new() }
    }

    /// The answer of the tool with that name; a refusal is an answer too. `None` if there is no
    /// such tool.
    pub(super) fn tool(&self, name: &str, arguments: Map<String, Value>) -> Option<Answer> {
        let answer = match name {
            "rye_execute" => self.execute(arguments),
            "rye_fetch" => self.fetch(arguments),
            "rye_search" => self.find(arguments),
            "rye_describe" => self.describe(arguments),
            "rye_verify" => self.verify(arguments),
            "rye_thread" => super::threads::run(self, arguments),
            #[cfg(feature = "code")]
            "rye_code" => super::code::run(self, arguments),
            #[cfg(feature = "code")]
            "rye_run_chain" => super::code::run_chain(self, arguments),
            "rye_sign" => self.sign(arguments),
            name => {
                let item = self.server.exposed().item(name)?;
                self.exposed(&item, arguments)
            }
        };
        Some(answer.unwrap_or_else(|refusal| refusal.into_answer(self.start.elapsed())))
    }

    /// The facade of a project that a client named.
    ///
    /// # Errors
    /// `mcp.outside_roots`, `mcp.arguments`; those of finding it.
    pub(super) fn rye(&self, tool: &str, project: &Path) -> Result<&Rye, Refusal> {
        let roots = &self.server.setup.roots;
        let named = roots[0].join(project);
        let outside = || McpError::OutsideRoots { path: project.into(), roots: roots.clone() };
        let real = match named.canonicalize() {
            Ok(real) if real.is_dir() => real,
            // The error does not tell whether a folder outside the roots exists.
            _ => {
                let is_plain = !named.components().any(|part| part == Component::ParentDir);
                if !is_plain || !roots.iter().any(|root| named.starts_with(root)) {
                    return Err(outside().into());
                }
                let why = "`project_path` is not a folder".into();
                return Err(McpError::Arguments { tool: tool.into(), why }.into());
            }
        };
        if !roots.iter().any(|root| real.starts_with(root)) {
            return Err(outside().into());
        }
        self.facade(&real)
    }

    /// The facade of the project whose items are shown.
    pub(super) fn own(&self) -> Result<&Rye, Refusal> {
        self.facade(&self.server.setup.roots[0])
    }

    fn facade(&self, project: &Path) -> Result<&Rye, Refusal> {
        if let Some(rye) = self.rye.get() {
            return Ok(rye);
        }
        let rye = (self.server.setup.project)(project)?;
        Ok(self.rye.get_or_init(|| rye))
    }

    fn execute(&self, arguments: Map<String, Value>) -> Result<Answer, Refusal> {
        let asked: Execute = read("rye_execute", arguments)?;
        if asked.thread == "inline" && (asked.model.is_some() || asked.limit_overrides.is_some()) {
            let why = "`model` and `limit_overrides` are only for `thread: fork`, which runs a \
                       directive as a thread"
                .into();
            return Err(McpError::Arguments { tool: "rye_execute".into(), why }.into());
        }
        let rye = self.rye("rye_execute", &asked.project_path)?;
        let mut request = Request::new(asked.item_id).dry_run(asked.dry_run);
        request.params = asked.parameters;
        request.target = asked.target.parse::<Target>().map_err(Failure::from)?;
        request.thread = asked.thread.parse::<Thread>().map_err(Failure::from)?;
        request.detached = asked.detached;
        request.of_thread.model = asked.model;
        request.of_thread.limits = asked.limit_overrides.unwrap_or_default();
        Ok(self.run(rye, &request, asked.trace))
    }

    /// Calls an item that is exposed as a tool of its own.
    fn exposed(&self, item: &Ref, arguments: Map<String, Value>) -> Result<Answer, Refusal> {
        let mut request = Request::new(item.to_string());
        request.params = arguments;
        Ok(self.run(self.own()?, &request, false))
    }

    /// Runs one request; every outcome is an answer.
    pub(super) fn run(&self, rye: &Rye, request: &Request, trace: bool) -> Answer {
        let recorder = trace.then(|| Recorder::new(self.start));
        self.told(recorder.as_ref(), |sink| rye.runs().run(request, self.start, sink))
    }

    /// The answer of a run, which is listened to.
    pub(super) fn told(
        &self,
        recorder: Option<&Recorder>,
        run: impl FnOnce(&dyn Sink) -> Result<Report, Failed>,
    ) -> Answer {
        let result = run(&Listening { log: self.log, recorder });
        let elapsed = self.start.elapsed();
        let events = recorder.map(Recorder::events);
        match result {
            Ok(report) => Answer::new(report.to_json(elapsed, false, events.as_deref())),
            Err(failed) => {
                let (item, chain) = (Some(failed.item.as_str()), &failed.chain);
                let diagnostic = failed.failure.diagnostic();
                let error = error_json(&diagnostic, item, chain, failed.elapsed, events.as_deref());
                let answer = Answer::new(failed.with_warnings(error));
                Answer { signal: failed.failure.interrupted(), ..answer }
            }
        }
    }

    fn fetch(&self, arguments: Map<String, Value>) -> Result<Answer, Refusal> {
        let asked: Find = read("rye_fetch", arguments)?;
        let narrows = asked.kind.is_some() || asked.space.is_some();
        let narrows = narrows || asked.limit.is_some() || asked.cursor.is_some();
        let item = match (&asked.item_id, &asked.query) {
            (Some(item), None) if !narrows => item,
            (None, Some(query)) => return self.search("rye_fetch", query, &asked),
            _ => {
                let why = "give `item_id` alone, or `query` and what narrows it".into();
                return Err(McpError::Arguments { tool: "rye_fetch".into(), why }.into());
            }
        };
        let rye = self.rye("rye_fetch", &asked.project_path)?;
        let described = read_item(rye, &item.parse::<Query>()?)?;
        let mut out = json!({
            "status": "success", "item_id": described.detail.item,
            "content": described.content, "detail": described.detail,
        });
        if !described.warnings.is_empty() {
            out["warnings"] = json!(described.warnings);
        }
        Ok(Answer::new(out))
    }

    fn find(&self, arguments: Map<String, Value>) -> Result<Answer, Refusal> {
        let asked: Find = read("rye_search", arguments)?;
        if let (None, Some(query)) = (&asked.item_id, &asked.query) {
            return self.search("rye_search", query, &asked);
        }
        let why = "give `query`, and no `item_id`".into();
        Err(McpError::Arguments { tool: "rye_search".into(), why }.into())
    }

    fn search(&self, tool: &str, query: &str, asked: &Find) -> Result<Answer, Refusal> {
        let rye = self.rye(tool, &asked.project_path)?;
        let kind = asked.kind.as_deref().map(str::parse::<Kind>).transpose()?;
        let space = asked.space.as_deref().map(str::parse::<Space>).transpose()?;
        let mut request = SearchRequest::new(query).kind(kind).space(space);
        if let Some(limit) = asked.limit {
            request = request.limit(limit);
        }
        if let Some(cursor) = &asked.cursor {
            request = request.cursor(cursor);
        }
        let mut out = rye.search().find(&request.grants(rye.above().may_read()?))?.to_json();
        out.insert("status".into(), "success".into());
        Ok(Answer::new(out.into()))
    }

    fn describe(&self, arguments: Map<String, Value>) -> Result<Answer, Refusal> {
        let asked: Describe = read("rye_describe", arguments)?;
        let rye = self.rye("rye_describe", &asked.project_path)?;
        let level = asked.level.as_deref().unwrap_or("schema").parse::<DetailLevel>();
        let level = level.map_err(|()| McpError::Arguments {
            tool: "rye_describe".into(),
            why: "`level` is `summary`, `schema` or `full`".into(),
        })?;
        let query = asked.item_id.parse::<Query>()?;
        let (mut out, warnings) = rye.items().describe_at(&query, level, asked.examples)?;
        if !warnings.is_empty() {
            out.insert("warnings".into(), json!(warnings));
        }
        out.insert("status".into(), "success".into());
        Ok(Answer::new(out.into()))
    }

    fn verify(&self, arguments: Map<String, Value>) -> Result<Answer, Refusal> {
        let asked: Verify = read("rye_verify", arguments)?;
        let wrong = |why| McpError::Arguments { tool: "rye_verify".into(), why };
        if asked.items.len() > MCP_ITEMS {
            return Err(wrong(format!("`items` names more than {MCP_ITEMS}")).into());
        }
        let rye = self.rye("rye_verify", &asked.project_path)?;
        let (mut rows, is_cancelled) = (Rows::default(), self.is_cancelled);
        let items: BTreeSet<&str> = asked.items.iter().map(String::as_str).collect();
        let (globs, named): (Vec<_>, Vec<_>) = items.iter().partition(|item| item.contains('*'));
        for item in named {
            if is_cancelled.load(Ordering::Relaxed) {
                break;
            }
            let (is_good, row) = verify_one(rye, item);
            rows.add(is_good, || row);
        }
        if asked.items.is_empty() || !globs.is_empty() {
            let mut patterns = Vec::new();
            for glob in globs {
                let pattern = glob.parse::<Pattern>();
                patterns.push(pattern.map_err(|why| wrong(format!("`{glob}`: {why}")))?);
            }
            let listing = rye.items().survey(&patterns)?;
            let goes_on = || !is_cancelled.load(Ordering::Relaxed);
            for row in rye.checks().all(listing.entries, false, LockMode::Listed, &goes_on) {
                let is_good = matches!(row.verdict, ItemVerdict::Good(_, ref warnings) if warnings.is_empty());
                rows.add(is_good, || row.to_json());
            }
        }
        let Rows { all, verified, kept } = rows;
        let left_out = all - kept.len();
        let items: Vec<_> = kept.into_iter().map(|(_, row)| row).collect();
        // A refusal is a result of verifying, and not a failure of the tool.
        Ok(Answer::new(json!({
            "status": if verified == all { "verified" } else { "refused" },
            "verified": verified, "refused": all - verified, "items": items, "left_out": left_out,
        })))
    }
}

/// Rows of a verification: all rows if they are few, else only those that failed, up to a limit.
#[derive(Default)]
struct Rows {
    all: usize,
    verified: usize,
    /// Of each item: true if it is good, and its row.
    kept: Vec<(bool, Value)>,
}

impl Rows {
    fn add(&mut self, is_good: bool, row: impl FnOnce() -> Value) {
        self.all += 1;
        self.verified += usize::from(is_good);
        if self.all == MCP_ROWS + 1 {
            self.kept.retain(|(is_good, _)| !is_good);
        }
        if self.all <= MCP_ROWS || (!is_good && self.kept.len() < MCP_ROWS) {
            self.kept.push((is_good, row()));
        }
    }
}

/// Verifies an item with its chain.
fn verify_one(rye: &Rye, item: &str) -> (bool, Value) {
    let checked = item.parse::<Query>().map_err(Failure::from);
    let checked = checked.map(|query| rye.checks().chain(&query, LockMode::Listed));
    match checked {
        Ok((Ok(details), warnings)) => {
            let is_good = warnings.is_empty();
            let status = if is_good { "verified" } else { "unverified" };
            let mut row = json!({"status": status, "item_id": item, "chain_details": details});
            if !is_good {
                row["warnings"] = json!(warnings);
            }
            (is_good, row)
        }
        Ok((Err(failure), _)) | Err(failure) => {
            let mut fields = failure.diagnostic().to_json();
            fields.insert("status".into(), "refused".into());
            fields.insert("item_id".into(), item.into());
            (false, Value::Object(fields))
        }
    }
}
