//! `rye code`: run a snippet that calls tools, read what it calls, declare tools for it.

use std::io::{self, Write};
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::context::Context;
use super::error::CliError;
use super::execute::time;
use super::exit::Exit;
use super::input::{read_bytes, read_object, read_text};
use super::out::{Out, is_terminal};
use super::pending::WAITS;
use crate::base::json;
use crate::base::limits::CODE_BYTES;
use crate::base::text::{brief_line, escape};
use crate::base::time::as_ms;
use crate::code::{
    CheckedSnippet, CodeConfig, CodeError, CodeRequest, CodeResult, Executor, PrintStream,
    SnippetReach, check, declarations,
};
use crate::diagnostic::{Code, Diagnose, Failure, Place};
use crate::id::Grants;
use crate::report::{Warned, trace_text};
use crate::runs::RyeTools;
use crate::rye::{CallApproval, CodePolicy};
use crate::trace::{Quiet, Recorded, Recorder, Sink};

/// Run a snippet of JavaScript that finds and calls tools, or look at one
#[derive(clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(clap::Subcommand)]
enum Verb {
    /// Run a snippet
    ///
    /// It calls tools with `await runTool(id, args)` or `tools.acme.deploy({…})`, and assigns its
    /// result to `__out`. Each call goes the way of `rye run`. See `rye fetch knowledge:rye/code`.
    Run(Run),
    /// Say what a snippet calls, or where its syntax is wrong; run nothing
    Check(Check),
    /// Print a declaration of tools for TypeScript
    Stubs(Stubs),
}

#[derive(clap::Args)]
struct Run {
    /// The snippet; `-` reads it from standard input
    #[arg(value_name = "FILE|-")]
    file: String,
    /// The snippet's `params`: one JSON object, `@FILE`, or `-` for standard input
    #[arg(long, value_name = "JSON|@FILE")]
    params: Option<String>,
    /// `javascript` or `typescript`; by default what the file's name says
    #[arg(long, value_name = "NAME")]
    language: Option<String>,
    /// Most calls of tools, if that is less than is configured
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    max_tool_calls: Option<String>,
    /// End it after this time, calls included, such as `10`, `500ms` or `2m`
    #[arg(long, value_name = "TIME", value_parser = time)]
    timeout: Option<Duration>,
    /// Most milliseconds in which the snippet itself computes
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    engine_ms: Option<String>,
    /// Only these tools, such as 'tool:acme/**'; again for more
    #[arg(long, value_name = "PATTERN")]
    allow: Vec<String>,
    /// Refuse whatever is not what `.ai/rye.lock` lists, to the byte
    #[arg(long)]
    locked: bool,
    /// Show each decision of each call with its time
    #[arg(long)]
    trace: bool,
    /// Write a signed receipt of each call into this folder
    #[arg(long, value_name = "DIR")]
    receipt: Option<PathBuf>,
}

#[derive(clap::Args)]
struct Check {
    /// The snippet; `-` reads it from standard input
    #[arg(value_name = "FILE|-")]
    file: String,
    /// `javascript` or `typescript`; by default what the file's name says
    #[arg(long, value_name = "NAME")]
    language: Option<String>,
}

#[derive(clap::Args)]
struct Stubs {
    /// Only these tools, such as 'tool:acme/**'
    #[arg(long = "for", value_name = "PATTERN")]
    of: Option<String>,
}

pub(super) fn run(args: &Args, context: &Context, out: &mut Out) -> Result<Exit, Failure> {
    match &args.verb {
        Verb::Run(args) => run_snippet(args, context, out),
        Verb::Check(args) => check_snippet(args, out),
        Verb::Stubs(args) => stubs(args, context, out),
    }
}

fn run_snippet(args: &Run, context: &Context, out: &mut Out) -> Result<Exit, Failure> {
    let rye = context.rye()?;
    let policy = CodePolicy::of(&rye)?;
    let recorder = args.trace.then(|| context.recorder());
    let sink: &dyn Sink = recorder.as_ref().map_or(&Quiet, |recorder| recorder);
    // Who types a snippet is there; a program that rye runs is not.
    let usual = if rye.above().has_run() { CallApproval::First } else { CallApproval::Never };
    let receipts = args.receipt.as_deref().map(folder).transpose()?;
    let tools = RyeTools::new(&rye, sink)
        .approval(policy.approval(usual))
        .locked(args.locked)
        .receipts(receipts);
    let request = args.request()?;
    out.flush();
    let (is_json, is_terminal) = (out.is_json(), is_terminal());
    let print = |stream: PrintStream, text: &str| {
        if !is_json {
            show(stream, text, is_terminal);
        }
    };
    let result = Executor::with_languages(policy.config).run(&request, &tools, &print);
    let events = recorder.as_ref().map(Recorder::events);
    let warned = tools.warned();
    match (show_result(&result, events, &warned, out), result.error()) {
        (Err(_), Some(error)) if args.file != "-" => {
            let text = snippet(&args.file).unwrap_or_default();
            Err(InFile::new(error.clone(), &args.file, &text).into())
        }
        (shown, _) => shown,
    }
}

/// An error of a snippet that a file holds.
#[derive(Debug, thiserror::Error)]
#[error("{error}")]
struct InFile {
    error: CodeError,
    file: String,
    /// The line of it.
    line: Option<String>,
}

impl InFile {
    fn new(error: CodeError, file: &str, text: &str) -> Self {
        let (line, _) = error.spot();
        let line = text.lines().zip(1..).find(|(_, at)| *at == line);
        Self { error, file: file.to_owned(), line: line.map(|(text, _)| brief_line(text)) }
    }
}

impl Diagnose for InFile {
    fn code(&self) -> Code {
        self.error.code()
    }

    fn help(&self) -> Option<String> {
        self.error.help()
    }

    fn place(&self) -> Option<Place> {
        let (path, note) = (self.file.clone(), self.line.clone());
        self.error.place().map(|place| Place { path, note, ..place })
    }

    fn data(&self) -> Map<String, Value> {
        self.error.data()
    }

    fn signal(&self) -> Option<i32> {
        self.error.signal()
    }
}

/// Shows what became of a snippet that printed as it ran.
pub(super) fn show_result(
    result: &CodeResult,
    events: Option<Vec<Recorded>>,
    warned: &[Warned],
    out: &mut Out,
) -> Result<Exit, Failure> {
    let is_json = out.is_json();
    if let Some(events) = events.as_ref().filter(|_| !is_json) {
        let tree = trace_text(events, out.paint_err());
        out.note(tree.trim_end());
    }
    out.warned(warned);
    if is_json {
        let mut told = result.to_json();
        if let Some(events) = events {
            told["trace"] = json!(events);
        }
        out.object(&told);
        return Ok(exit(result));
    }
    for warning in result.warnings() {
        out.warn(warning);
    }
    if let Some(text) = result.waiting_text(out.paint()) {
        out.labelled(&text);
        return Ok(Exit::Status(WAITS));
    }
    match result.failure() {
        Some(failure) => Err(failure),
        None => {
            give(result.value(), out);
            Ok(Exit::DONE)
        }
    }
}

impl Run {
    fn request(&self) -> Result<CodeRequest, Failure> {
        let mut fields = Map::new();
        let mut put = |key: &str, value: Value| drop(fields.insert(key.to_owned(), value));
        put("code", snippet(&self.file)?.into());
        put("language", language(self.language.as_deref(), &self.file).into());
        if let Some(params) = &self.params {
            put("params", read_object(params)?.into());
        }
        if let Some(timeout) = self.timeout {
            put("timeout_ms", as_ms(timeout).into());
        }
        for (key, text) in
            [("max_tool_calls", &self.max_tool_calls), ("engine_ms", &self.engine_ms)]
        {
            if let Some(text) = text {
                put(key, number(text));
            }
        }
        if !self.allow.is_empty() {
            put("allowed_tools", json!(self.allow));
        }
        Ok(CodeRequest::from_json(fields.into()))
    }
}

/// A number as it was typed; what is none is a text, which is told as a fault of the request.
fn number(text: &str) -> Value {
    text.parse::<serde_json::Number>().map_or_else(|_| text.into(), Value::Number)
}

fn language(named: Option<&str>, file: &str) -> Option<String> {
    let by_name = || {
        let ext = std::path::Path::new(file).extension()?;
        ["ts", "mts"].iter().any(|ts| ext.eq_ignore_ascii_case(ts)).then_some("typescript")
    };
    named.or_else(by_name).map(str::to_owned)
}

/// The text of a snippet.
///
/// # Errors
/// `cli.input_file`
fn snippet(file: &str) -> Result<String, Failure> {
    if file == "-" {
        return read_text("-", &mut io::stdin().lock());
    }
    let failed =
        |why: String| CliError::InputFile { path: file.to_owned(), source: io::Error::other(why) };
    let most = u64::try_from(CODE_BYTES).unwrap_or(u64::MAX);
    let bytes = read_bytes(file.as_ref(), most)?;
    let bytes = bytes.ok_or_else(|| failed(format!("it is larger than {CODE_BYTES} bytes")))?;
    Ok(String::from_utf8(bytes).map_err(|_| failed("it is not UTF-8".into()))?)
}

/// The folder that receipts go to.
///
/// # Errors
/// `cli.usage`
fn folder(named: &std::path::Path) -> Result<PathBuf, Failure> {
    let real = named.canonicalize().ok().filter(|real| real.is_dir());
    real.ok_or_else(|| {
        let message = format!("`{}` is not a folder", escape(&named.to_string_lossy()));
        let help =
            Some("make the folder that `--receipt` names; each call leaves one there".into());
        CliError::Usage { message, help }.into()
    })
}

/// Shows what a snippet prints, as it comes.
pub(super) fn show(stream: PrintStream, text: &str, is_terminal: bool) {
    // The reader of standard output may have seen enough; the result says the rest.
    let _ = match stream {
        PrintStream::Stdout if !is_terminal => {
            let mut to = io::stdout().lock();
            to.write_all(text.as_bytes()).and_then(|()| to.flush())
        }
        PrintStream::Stdout => io::stdout().lock().write_all(escape(text).as_bytes()),
        PrintStream::Stderr => io::stderr().lock().write_all(escape(text).as_bytes()),
    };
}

/// Shows the value of a snippet: a text as it is, everything else as JSON, and null not at all.
fn give(value: &Value, out: &mut Out) {
    match value {
        Value::Null => {}
        Value::String(text) => {
            out.foreign(text);
            out.exact("\n");
        }
        other => {
            let mut text = Vec::new();
            let _ = json::write(&mut text, other);
            out.exact(&String::from_utf8_lossy(&text));
            out.exact("\n");
        }
    }
}

fn exit(result: &CodeResult) -> Exit {
    let Some(failure) = result.failure() else {
        return if result.pending_id().is_some() { Exit::Status(WAITS) } else { Exit::DONE };
    };
    let status = Exit::Status(failure.reason().exit_status());
    failure.interrupted().map_or(status, Exit::Signal)
}

fn check_snippet(args: &Check, out: &mut Out) -> Result<Exit, Failure> {
    let text = snippet(&args.file)?;
    let language = language(args.language.as_deref(), &args.file);
    let language = language.unwrap_or_else(|| CodeConfig::default().language().to_owned());
    let known = Executor::with_languages(CodeConfig::default()).languages();
    if !known.contains(&language.as_str()) {
        let why = format!("it is not a language that is known: they are `{}`", known.join("`, `"));
        return Err(CodeError::configuration("language", why).into());
    }
    let CheckedSnippet { calls, calls_others } = check(&language, &text)
        .map_err(|error| CodeError::of_engine(error, |_| 0))
        .map_err(|error| match args.file.as_str() {
            "-" => Failure::from(error),
            file => InFile::new(error, file, &text).into(),
        })?;
    if out.is_json() {
        let rows: Vec<Value> = calls
            .iter()
            .map(|call| json!({"tool_id": call.id, "line": call.line, "column": call.column}))
            .collect();
        out.success(json!({"language": language, "calls": rows, "calls_others": calls_others}));
        return Ok(Exit::DONE);
    }
    for call in &calls {
        let place = format!("{}:{}", call.line, call.column);
        out.line(&format!("{place:<8} {}", escape(&call.id)));
    }
    if calls_others {
        out.line("It also calls tools by ids that it makes while it runs.");
    }
    if calls.is_empty() && !calls_others {
        out.line("It calls no tool.");
    }
    Ok(Exit::DONE)
}

fn stubs(args: &Stubs, context: &Context, out: &mut Out) -> Result<Exit, Failure> {
    let rye = context.rye()?;
    let config = CodePolicy::of(&rye)?.config;
    let asked = args.of.as_deref().map(super::value_parsers::pattern).transpose()?;
    let reach = config.reach();
    let reach = match asked.map(|pattern| vec![pattern]) {
        None => reach,
        Some(asked) => SnippetReach(Some(match reach.0 {
            Some(grants) => grants.narrowed(asked),
            None => Grants::new(asked),
        })),
    };
    let reach = match (reach.0, rye.above().may_read()?) {
        (Some(reach), Some(may_read)) => SnippetReach(Some(reach.and(may_read))),
        (reach, may_read) => SnippetReach(reach.or(may_read)),
    };
    let text = declarations(&RyeTools::new(&rye, &Quiet).declared(&reach)?);
    match out.is_json() {
        true => out.success(json!({"declaration": text})),
        false => out.exact(&text),
    }
    Ok(Exit::DONE)
}
