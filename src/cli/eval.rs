//! `rye eval`: have a text scored by a signed program.

use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::context::Context;
use super::error::CliError;
use super::execute::wanted;
use super::exit::Exit;
use super::input::{object, read_text};
use super::named::reference;
use super::out::Out;
use crate::base::bytes::open_named;
use crate::base::text::escape;
use crate::diagnostic::{Diagnostic, Failure, Style};
use crate::eval::{EvalContext, EvalError, EvalRequest, Score, Thresholds};
use crate::plan::SandboxChoice;
use crate::report::{metadata, plain_ids, trace_text};
use crate::rye::{Failed, Request, Scored};
use crate::trace::{Quiet, Recorded, Sink};

/// Have a text scored by an eval, and say whether it passes
#[derive(clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(clap::Subcommand)]
enum Verb {
    /// Run one eval on one text
    ///
    /// By default an assertion: the text passes if its score is within the thresholds, or 1 where
    /// none is given. An eval that fails is an error, and never a low score.
    Run(Run),
}

#[derive(clap::Args)]
struct Run {
    /// The eval, such as `tool:acme/mood`
    #[arg(value_name = "REF|PATH", add = super::complete::runnable())]
    item: String,
    /// The text: itself, `@FILE`, `-` for standard input, `@@…` for a text that begins with `@`
    #[arg(long, value_name = "TEXT|@FILE", allow_hyphen_values = true)]
    content: String,
    /// Parameters as one JSON object; they stand over the eval's own by name
    #[arg(long, value_name = "JSON")]
    params: Option<String>,
    /// A file with one JSON object: `messages`, `turn_index`, `tool_calls`, `variables`, `metadata`
    #[arg(long, value_name = "FILE")]
    context: Option<PathBuf>,
    /// The least score that passes
    #[arg(long, value_name = "N", value_parser = Score::typed)]
    min_score: Option<Score>,
    /// The greatest score that passes
    #[arg(long, value_name = "N", value_parser = Score::typed)]
    max_score: Option<Score>,
    /// Guard with it: `enforce` replaces a text that does not pass, `monitor` only says so
    #[arg(long, value_name = "HOW", conflicts_with = "metric")]
    guardrail: Option<Guardrail>,
    /// Only measure: the score alone
    #[arg(long, conflicts_with_all = ["min_score", "max_score"])]
    metric: bool,
    /// How the eval is held: `auto`, `bwrap`, `landlock`, or `off` where your policy lets it out
    #[arg(long, default_value = "auto", value_name = "LEVEL", value_parser = wanted)]
    sandbox: SandboxChoice,
    /// Show each decision with its time
    #[arg(long)]
    trace: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Guardrail {
    Enforce,
    Monitor,
}

impl Guardrail {
    fn name(self) -> &'static str {
        match self {
            Self::Enforce => "enforce",
            Self::Monitor => "monitor",
        }
    }
}

/// A score, and the decisions on the way to it if they were asked for.
struct Came {
    scored: Scored,
    trace: Option<Vec<Recorded>>,
}

pub(super) fn run(args: &Args, context: &Context, out: &mut Out) -> Result<Exit, Failure> {
    let Verb::Run(run) = &args.verb;
    let usage = |message: String| CliError::Usage { message, help: None };
    let thresholds =
        Thresholds::new(run.min_score.clone(), run.max_score.clone()).map_err(usage)?;
    let params = run.params.as_deref().map(object).transpose()?.unwrap_or_default();
    let asked = EvalRequest { content: content(&run.content)?, params, context: run.context()? };
    let recorder = run.trace.then(|| context.recorder());
    let sink: &dyn Sink = recorder.as_ref().map_or(&Quiet, |recorder| recorder);
    let rye = context.rye()?;
    let mut request = Request::new(reference(&run.item, &rye)?);
    request.eval = Some(asked);
    request.sandbox = run.sandbox;
    let result = rye.runs().eval(&request, context.start, sink);
    let trace = recorder.map(|recorder| recorder.events());
    if let Some(events) = trace.as_ref().filter(|_| !out.is_json()) {
        let tree = trace_text(events, out.paint_err());
        out.note(tree.trim_end());
    }
    let came = match result {
        Ok(scored) => Came { scored, trace },
        Err(failed) => return Err(Failed { trace, ..failed }.into()),
    };
    out.warned(&came.scored.warnings);
    if run.metric {
        return Ok(measured(&came, out));
    }
    Ok(judged(&came, &thresholds, run.guardrail, out))
}

impl Run {
    fn context(&self) -> Result<EvalContext, Failure> {
        let Some(path) = &self.context else { return Ok(EvalContext::default()) };
        let path = path.display().to_string();
        let given = object(&file(&path)?)?;
        EvalContext::new(given).map_err(|why| {
            CliError::Usage { message: format!("the context {why}"), help: None }.into()
        })
    }
}

fn content(text: &str) -> Result<String, Failure> {
    match text.strip_prefix('@') {
        Some(literal) if literal.starts_with('@') => Ok(literal.to_owned()),
        Some(path) => file(path),
        None if text == "-" => read_text("-", &mut io::stdin().lock()),
        None => Ok(text.to_owned()),
    }
}

fn file(path: &str) -> Result<String, Failure> {
    let open = open_named(Path::new(path));
    let mut file = open.map_err(|source| CliError::InputFile { path: path.into(), source })?;
    read_text(path, &mut file)
}

/// The score alone.
fn measured(came: &Came, out: &mut Out) -> Exit {
    if out.is_json() {
        let mut fields = fields(&came.scored, "metric");
        fields.insert("status".into(), "success".into());
        show(fields, came, out);
    } else {
        out.line(&came.scored.judged.score.to_json().to_string());
    }
    Exit::DONE
}

fn judged(
    came: &Came,
    thresholds: &Thresholds,
    guardrail: Option<Guardrail>,
    out: &mut Out,
) -> Exit {
    let Scored { item, judged, .. } = &came.scored;
    let failure = thresholds.miss(&judged.score).map(|miss| EvalError::Failed {
        item: item.clone(),
        score: judged.score.to_string(),
        miss,
    });
    let passed = failure.is_none();
    // A guardrail that only watches changes nothing.
    let failure = failure.filter(|_| guardrail != Some(Guardrail::Monitor));
    let replacement = failure.as_ref().filter(|_| guardrail.is_some());
    let replacement =
        replacement.map(|_| format!("This text was withheld: it did not pass `{item}`."));
    let exit = failure.as_ref().map_or(0, |failure| Diagnostic::from(failure).code.exit_status());
    if out.is_json() {
        let mut all = Map::new();
        all.insert("status".into(), if failure.is_none() { "success" } else { "error" }.into());
        all.extend(failure.as_ref().map(|f| Diagnostic::from(f).to_json()).unwrap_or_default());
        all.extend(fields(
            &came.scored,
            if guardrail.is_some() { "guardrail" } else { "assertion" },
        ));
        all.insert("passed".into(), passed.into());
        all.extend(thresholds.to_json());
        if let Some(guardrail) = guardrail {
            all.insert("guardrail".into(), guardrail.name().into());
        }
        if let Some(replacement) = replacement {
            all.insert("replacement".into(), replacement.into());
        }
        show(all, came, out);
        return Exit::Status(exit);
    }
    let mark = match passed {
        true => out.paint().style(Style::Good, "passed"),
        false => out.paint().style(Style::Error, "FAILED"),
    };
    out.line(&format!("{mark}  {item}  {}  ({thresholds})", judged.score));
    for line in judged.detail.iter().flat_map(|detail| detail.lines()) {
        out.line(&format!("        {}", escape(line)));
    }
    if let Some(replacement) = replacement {
        out.line(&replacement);
    }
    if let Some(failure) = failure {
        out.note(Diagnostic::from(&failure).to_text(out.paint_err()).trim_end());
    }
    Exit::Status(exit)
}

/// The fields of a score in every form.
fn fields(scored: &Scored, used_as: &str) -> Map<String, Value> {
    let judged = &scored.judged;
    let mut fields = Map::new();
    fields.insert("type".into(), "eval".into());
    fields.insert("item_id".into(), json!(scored.item));
    fields.insert("use".into(), used_as.into());
    fields.insert("score".into(), judged.score.to_json());
    fields.insert("detail".into(), json!(judged.detail));
    fields.insert("data".into(), judged.data.clone());
    fields.insert("chain".into(), json!(plain_ids(&scored.chain)));
    fields
}

fn show(mut fields: Map<String, Value>, came: &Came, out: &mut Out) {
    let scored = &came.scored;
    if !scored.warnings.is_empty() {
        fields.insert("warnings".into(), json!(scored.warnings));
    }
    fields.insert("metadata".into(), metadata(scored.elapsed).into());
    if let Some(trace) = &came.trace {
        fields.insert("trace".into(), json!(trace));
    }
    out.object(&Value::Object(fields));
}
