//! The entry point: runs snippets within their limits, and says what they did.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

use super::border::{Border, Guard};
use super::config::CodeConfig;
use super::engine::{Engine, EngineError, JavaScript, PrintStream, Produced, Snippet, Stop};
use super::engine_time::EngineTime;
use super::error::{CodeError, CodeLimit};
use super::journal::{AskedCall, PausedSnippet, requests};
use super::records::{CallRecords, too_long};
use super::request::{CheckedRequest, CodeRequest, requested_of};
use super::tools::Tools;
use crate::base::durations::CALLS_END_MS;
use crate::base::json::object;
use crate::base::limits::CODE_JOURNAL_BYTES;
use crate::base::text::escape_line;
use crate::base::time::as_ms;
use crate::diagnostic::{Diagnostic, Failure, Paint, Style};
use crate::host::{Pool, PoolSize, attended};

/// How long calls may go on behind the limit of time of their snippet until they are ended, in
/// milliseconds: the engine keeps that limit itself.
#[cfg(feature = "code")]
const CODE_GRACE_MS: u64 = 100;

/// Bytes of arguments and results in the records of one snippet; a longer one is told by its size
/// and digest. The snippet itself gets each whole.
#[cfg(feature = "code")]
const CODE_RECORDS_BYTES: usize = 4 << 20;

/// Searches and descriptions of one snippet that wait at once; they are not counted otherwise.
#[cfg(feature = "code")]
const CODE_LOOKUPS: usize = 1_000;

/// Calls of one snippet that run at once: as many as of an MCP server.
#[cfg(feature = "code")]
const CODE_THREADS: usize = 16;

/// Takes what a snippet prints, as it is printed.
pub type OnPrint<'a> = &'a (dyn Fn(PrintStream, &str) + Sync);

/// Runs snippets: applies the configured limits, counts and records calls, and gives one result
/// however a snippet ends.
///
/// One executor runs several snippets at once.
///
/// A snippet of JavaScript, with the tools of a rye:
///
/// ```
/// # fn main() -> Result<(), rye::Failure> {
/// use rye::code::{CodeRequest, Executor};
///
/// let rye = rye::RyeBuilder::new().project("/").build()?;
/// let request = CodeRequest::new("1 + params.n").language("none");
/// let result = rye.run_code(&Executor::new(Default::default()), &request);
/// // No engine is registered here that knows the language.
/// assert_eq!(result.to_json()["error"]["code"], "code.configuration");
/// # Ok(())
/// # }
/// ```
pub struct Executor {
    config: CodeConfig,
    engines: Vec<Arc<dyn Engine>>,
    /// Bytes of arguments and results in the records of a snippet.
    records_bytes: usize,
}

impl Executor {
    /// One without an engine.
    pub fn new(config: CodeConfig) -> Self {
        Self { config, engines: Vec::new(), records_bytes: CODE_RECORDS_BYTES }
    }

    /// One with the languages that rye itself knows.
    pub fn with_languages(config: CodeConfig) -> Self {
        Self::new(config).engine(Arc::new(JavaScript::new()))
    }

    /// Adds an engine. Of two that know a language the later one runs it.
    #[must_use]
    pub fn engine(mut self, engine: Arc<dyn Engine>) -> Self {
        self.engines.insert(0, engine);
        self
    }

    /// Sets the number of bytes that arguments and results may take in the records of calls; the
    /// record of a longer one has its size and digest instead. The values that the snippet itself
    /// gets are never cut.
    #[must_use]
    pub fn records_bytes(self, bytes: usize) -> Self {
        Self { records_bytes: bytes, ..self }
    }

    /// The languages of all engines.
    pub fn languages(&self) -> Vec<&'static str> {
        let mut all: Vec<&'static str> = Vec::new();
        for language in self.engines.iter().flat_map(|engine| engine.languages()) {
            if !all.contains(language) {
                all.push(language);
            }
        }
        all
    }

    /// Runs one snippet. When this returns, nothing of it runs any more.
    ///
    /// A signal that asks this thread or process to end ends the snippet, and the result says so.
    pub fn run(&self, request: &CodeRequest, tools: &dyn Tools, print: OnPrint<'_>) -> CodeResult {
        self.snippet(request, None, tools, print)
    }

    /// Runs a snippet that waited for a person again, from its start: each call that was answered
    /// before is answered the same again, in the same order, and nothing new runs until it is where
    /// it was. There each call that waited is made or throws, as [`Tools::goes_on`] says, and the
    /// snippet goes on. Counters go on, and so does its time; the time that a person took does not
    /// count.
    ///
    /// A snippet that calls something else than before is `code.replay_diverged`.
    pub fn resume(
        &self,
        paused: &PausedSnippet,
        tools: &dyn Tools,
        print: OnPrint<'_>,
    ) -> CodeResult {
        let request = CodeRequest::from_json(paused.request.clone());
        match &paused.steps {
            Some(steps) => self.chain(steps, &request, Some(paused), tools),
            None => self.snippet(&request, Some(paused), tools, print),
        }
    }

    fn snippet(
        &self,
        request: &CodeRequest,
        again: Option<&PausedSnippet>,
        tools: &dyn Tools,
        print: OnPrint<'_>,
    ) -> CodeResult {
        let start = Instant::now();
        let settled = match CheckedRequest::judge(request, &self.config, &self.languages()) {
            Ok(settled) => settled,
            Err(error) => {
                let requested = requested_of(request);
                return CodeResult::refused(error, &requested, &self.config, start);
            }
        };
        let knows =
            |engine: &&Arc<dyn Engine>| engine.languages().contains(&settled.language.as_str());
        let Some(engine) = self.engines.iter().find(knows) else {
            let error = CodeError::Worker { why: "it is not registered".into() };
            return CodeResult::refused(error, &settled.requested, &self.config, start);
        };
        let guard = Guard::new(&settled, tools, print, CallRecords::new(start, self.records_bytes));
        let guard = match again {
            Some(paused) => guard.go_on(paused),
            None => guard,
        };
        let work = |snippet: &Snippet<'_>, border: &Border<'_, '_>, stop: &Stop| {
            engine.run(snippet, border, stop)
        };
        let produced = guarded(&guard, &settled, start, &work);
        guard.into_result(produced, &settled, tools)
    }

    /// Runs one chain of tools, as a snippet that does nothing else.
    ///
    /// `request` has no code, and neither `language` nor `params`.
    pub(crate) fn run_chain(
        &self,
        steps: &Value,
        request: CodeRequest,
        tools: &dyn Tools,
    ) -> CodeResult {
        // The code is only what stands there in its place.
        self.chain(steps, &request.with_code("chain").language("chain"), None, tools)
    }

    fn chain(
        &self,
        steps: &Value,
        request: &CodeRequest,
        again: Option<&PausedSnippet>,
        tools: &dyn Tools,
    ) -> CodeResult {
        let start = Instant::now();
        let settled = match CheckedRequest::judge(request, &self.config, &["chain"]) {
            Ok(settled) => CheckedRequest { steps: Some(steps.clone()), ..settled },
            Err(error) => return CodeResult::refused(error, &json!({}), &self.config, start),
        };
        let guard =
            Guard::new(&settled, tools, &|_, _| (), CallRecords::new(start, self.records_bytes));
        let guard = match again {
            Some(paused) => guard.go_on(paused),
            None => guard,
        };
        let work = |snippet: &Snippet<'_>, border: &Border<'_, '_>, stop: &Stop| {
            border.chain_alone(steps, snippet.deadline, stop)
        };
        let produced = guarded(&guard, &settled, start, &work);
        guard.into_result(produced, &settled, tools)
    }
}

/// The code that runs at the border: an engine, or something simpler.
type Work<'w> =
    dyn Fn(&Snippet<'_>, &Border<'_, '_>, &Stop) -> Result<Produced, EngineError> + Sync + 'w;

/// Runs `work` with threads for its calls, and ends all of them.
fn guarded(
    guard: &Guard<'_>,
    settled: &CheckedRequest,
    start: Instant,
    work: &Work<'_>,
) -> Result<Produced, CodeError> {
    let config = &settled.config;
    let mut deadline = start + Duration::from_millis(config.timeout_ms);
    let (now_ms, seed, is_behind) = guard.begins();
    let mut engine_time = Duration::from_millis(config.engine_ms);
    if is_behind {
        // What it computed before it computes again; its own time goes on behind that.
        deadline += engine_time * 2;
        engine_time = EngineTime::most_again(engine_time);
    }
    let snippet = Snippet {
        language: &settled.language,
        code: &settled.code,
        params: &settled.params,
        memory_bytes: config.max_memory_mb << 20,
        engine_time,
        deadline,
        now_ms,
        seed,
    };
    let calls = usize::try_from(config.max_tool_calls).unwrap_or(usize::MAX);
    let size = PoolSize { threads: CODE_THREADS, waiting: calls.saturating_add(CODE_LOOKUPS) };
    let failed = |why: String| CodeError::Worker { why };
    std::thread::scope(|scope| {
        let pool = Pool::scoped(size, scope).map_err(|error| failed(error.to_string()))?;
        let border = Border::new(guard, &pool);
        let run = || {
            let ended = work(&snippet, &border, guard.stop());
            let until = guard.state().deadline.unwrap_or(deadline);
            // What was let in before the limit was reached runs to its end.
            if guard.is_over_calls() {
                pool.rest(until + Duration::from_millis(CODE_GRACE_MS));
            }
            if matches!(
                ended,
                Ok(_) | Err(EngineError::Failed(_) | EngineError::NotSerialisable { .. })
            ) && guard.state().over.is_none()
            {
                pool.cancel_but(&guard.approved.remain());
                if !guard.approved.wait(until) {
                    let limit = CodeLimit::Timeout;
                    guard.end(CodeError::Limit { limit, most: most(config, limit) });
                }
            }
            // All that still runs is ended with its process group, and waited for here, where a
            // second signal is heard.
            pool.end(Duration::from_millis(CALLS_END_MS));
            ended
        };
        let heard = |signal| {
            guard.interrupt(signal);
            pool.interrupt();
        };
        let ended = attended(run, heard);
        let ended = ended.map_err(|error| failed(error.to_string()))?;
        ended.map_err(|error| CodeError::of_engine(error, |limit| most(config, limit)))
    })
}

pub(super) fn most(config: &CodeConfig, limit: CodeLimit) -> u64 {
    match limit {
        CodeLimit::Timeout => config.timeout_ms,
        CodeLimit::Engine => config.engine_ms,
        CodeLimit::ToolCalls => config.max_tool_calls,
        CodeLimit::ChainSteps => config.max_chain_steps,
        CodeLimit::Memory => config.max_memory_mb,
        CodeLimit::Output => config.max_output_bytes,
        CodeLimit::Journal => CODE_JOURNAL_BYTES as u64,
    }
}

/// The result of a snippet, however it ended.
#[derive(Debug)]
pub struct CodeResult {
    value: Value,
    stdout: String,
    stderr: String,
    tool_calls: Vec<Value>,
    left_out: u64,
    duration: Duration,
    limits: Value,
    warnings: Vec<String>,
    error: Option<CodeError>,
    /// The ids of the requests to a person, and the call of each; empty where it does not wait.
    waiting: Vec<(String, AskedCall)>,
}

/// The output, the calls and the times of a snippet.
#[derive(Debug, Default)]
pub(super) struct Left {
    pub(super) stdout: String,
    pub(super) stderr: String,
    pub(super) tool_calls: Vec<Value>,
    pub(super) unrecorded: u64,
    pub(super) used: u64,
    pub(super) engine: Duration,
    pub(super) duration: Duration,
}

impl CodeResult {
    pub(super) fn new(
        produced: Result<Produced, CodeError>,
        left: Left,
        settled: &CheckedRequest,
        tools: &dyn Tools,
    ) -> Self {
        let Left { stdout, stderr, tool_calls, unrecorded, used, engine, duration } = left;
        let mut waiting = Vec::new();
        let (produced, error) = match produced {
            Ok(produced) => (produced, None),
            Err(error) => {
                let error = match error {
                    CodeError::Waits(paused) => match tools.pause(&paused) {
                        Ok(ids) => {
                            waiting = ids.into_iter().zip(paused.asked().to_vec()).collect();
                            None
                        }
                        Err(why) => {
                            tools.withdraw(&requests(paused.asked()));
                            Some(CodeError::NotKept(Box::new(why.diagnostic())))
                        }
                    },
                    error => Some(error),
                };
                (Produced { value: Value::Null, warnings: Vec::new() }, error)
            }
        };
        let text = produced.value.to_string();
        let most = usize::try_from(settled.config.max_output_bytes).unwrap_or(usize::MAX);
        let value = match text.len() > most {
            true => too_long(text.as_bytes(), tools.keep(text.as_bytes()).as_deref()),
            false => produced.value,
        };
        let mut limits = limits(&settled.config, &settled.requested);
        limits["used"] = json!({"tool_calls": used, "engine_ms": as_ms(engine)});
        Self {
            value,
            stdout,
            stderr,
            tool_calls,
            left_out: unrecorded,
            duration,
            limits,
            warnings: produced.warnings,
            error,
            waiting,
        }
    }

    /// Of a snippet that waited and is not run again.
    pub(crate) fn not_run(why: &Failure) -> Self {
        let error = CodeError::NotKept(Box::new(why.diagnostic()));
        Self::refused(error, &json!({}), &CodeConfig::default(), Instant::now())
    }

    fn refused(error: CodeError, requested: &Value, config: &CodeConfig, start: Instant) -> Self {
        Self {
            value: Value::Null,
            stdout: String::new(),
            stderr: String::new(),
            tool_calls: Vec::new(),
            left_out: 0,
            duration: start.elapsed(),
            limits: limits(config, requested),
            warnings: Vec::new(),
            error: Some(error),
            waiting: Vec::new(),
        }
    }

    /// The value of the snippet; null if it failed.
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// The id of the first request to a person that the snippet waits for; `None` where it does not
    /// wait. Once all of them are decided it is run again from its start, and then on.
    pub fn pending_id(&self) -> Option<&str> {
        self.waiting.first().map(|(id, _)| id.as_str())
    }

    /// The ids of the requests to a person, and the call of each; empty where none waits.
    pub(crate) fn waiting(&self) -> &[(String, AskedCall)] {
        &self.waiting
    }

    /// The first question to a person, in these words, with the ids of the others.
    pub(crate) fn with_others(&self, message: &str) -> String {
        match self.waiting.get(1..).unwrap_or_default() {
            [] => message.to_owned(),
            others => {
                let ids: Vec<_> = others.iter().map(|(id, _)| id.as_str()).collect();
                format!("{message} (asked at once: {})", ids.join(", "))
            }
        }
    }

    /// The question to a person, and how to answer it; `None` if the snippet does not wait.
    pub(crate) fn waiting_text(&self, paint: Paint) -> Option<String> {
        let (id, _) = self.waiting.first()?;
        let mut out = String::new();
        for (id, asked) in &self.waiting {
            let waits = paint.style(Style::Warning, "waits for a person");
            out.push_str(&format!("{waits}  {}  {id}\n", asked.asks.item));
            let mut row = |label: &str, text: &str| {
                let label = paint.style(Style::Dim, &format!("{label:>9}"));
                out.push_str(&format!("{label}  {}\n", escape_line(text)));
            };
            row("message", &asked.asks.message);
            row("arguments", &Value::from(asked.args.clone()).to_string());
            asked.others.iter().for_each(|(_, args)| row("also", &args.to_string()));
        }
        out.push_str(&format!(
            "\nnext: `rye pending show {id}`, then `rye pending approve {id}` or `rye pending reject \
             {id}`\n"
        ));
        if self.waiting.len() > 1 {
            out.push_str("      each is decided by itself; the snippet goes on once all are\n");
        }
        Some(out)
    }

    /// Why it failed.
    pub fn failure(&self) -> Option<Failure> {
        self.error.clone().map(Failure::from)
    }

    /// How long it ran, calls included.
    pub(crate) fn duration(&self) -> Duration {
        self.duration
    }

    /// The error of the snippet, if it failed.
    pub(crate) fn error(&self) -> Option<&CodeError> {
        self.error.as_ref()
    }

    /// The signal that ended it.
    pub(crate) fn signal(&self) -> Option<i32> {
        self.failure().and_then(|failure| failure.interrupted())
    }

    /// Notes about the value, or about how the snippet was held.
    pub(crate) fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// One object: `status`, `value`, `stdout`, `stderr`, `tool_calls`, `duration_ms`, `limits`,
    /// `warnings`, and `error` where it failed, with `code` and `help` beside it.
    pub fn to_json(&self) -> Value {
        let status = match (&self.error, &self.waiting[..]) {
            (Some(_), _) => "error",
            (None, [_, ..]) => "pending",
            (None, []) => "success",
        };
        let mut out = object(json!({
            "status": status,
            "type": "code",
            "value": self.value,
            "stdout": self.stdout,
            "stderr": self.stderr,
            "tool_calls": self.tool_calls,
            "duration_ms": as_ms(self.duration),
            "limits": self.limits,
        }));
        if let [(id, asked), others @ ..] = &self.waiting[..] {
            out.insert("pending".into(), asked.told(id));
            let others: Vec<_> = others.iter().map(|(id, asked)| asked.told(id)).collect();
            if !others.is_empty() {
                out.insert("also_pending".into(), others.into());
            }
        }
        if self.left_out > 0 {
            out.insert("tool_calls_left_out".into(), self.left_out.into());
        }
        if !self.warnings.is_empty() {
            out.insert("warnings".into(), json!(self.warnings));
        }
        if let Some(error) = &self.error {
            let told = Diagnostic::from(error);
            out.insert("code".into(), told.code.name().into());
            out.insert("help".into(), told.help.into());
            out.insert("error".into(), error_json(error));
        }
        out.into()
    }
}

fn error_json(error: &CodeError) -> Value {
    let told = Diagnostic::from(error);
    let (line, column) = error.spot();
    let mut out: Map<String, Value> = object(json!({
        "code": told.code, "message": told.message, "line": line, "column": column,
        "stack": error.stack(),
    }));
    if !told.data.is_empty() {
        out.insert("data".into(), told.data.into());
    }
    out.into()
}

fn limits(config: &CodeConfig, requested: &Value) -> Value {
    json!({
        "requested": requested,
        "enforced": {
            "timeout_ms": config.timeout_ms,
            "engine_ms": config.engine_ms,
            "max_tool_calls": config.max_tool_calls,
            "max_chain_steps": config.max_chain_steps,
            "max_memory_mb": config.max_memory_mb,
            "max_output_bytes": config.max_output_bytes,
        },
    })
}
