//! `rye execute`: run an item, or show what running it would do.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Map, Value};

use super::context::Context;
use super::error::CliError;
use super::exit::Exit;
use super::input::Inputs;
use super::live::{Live, Shows, Streamed};
use super::named::{query, reference};
use super::out::{Out, is_terminal, output, output_err};
use crate::base::text::escape_line;
use crate::base::time::{TIME_FORMS, time_from_text};
use crate::diagnostic::Failure;
use crate::host::{Ladder, SandboxLevel};
use crate::plan::{PlanFile, SandboxChoice};
use crate::report::{RemoteReport, Report, trace_text};
use crate::runs::Threads;
use crate::rye::{Failed, Request, Rye};
use crate::trace::{Quiet, Recorded, Sink};

/// Run a tool or directive, or show what it would do
#[derive(clap::Args)]
#[command(visible_alias = super::RUN)]
pub(super) struct Args {
    /// The item to run, such as `acme/deploy`, `tool:acme/deploy` or `.ai/tools/acme/deploy.py`
    #[arg(value_name = "REF|PATH", required_unless_present = "plan", add = super::complete::runnable())]
    item: Option<String>,
    #[command(flatten)]
    inputs: Inputs,
    /// Check everything and show the plan; start nothing
    #[arg(long)]
    dry_run: bool,
    /// Show each decision with its time
    #[arg(long)]
    trace: bool,
    /// Add a row for each link of the chain to the JSON form
    #[arg(long)]
    chain_details: bool,
    /// Where to run: `local`, or `remote:NAME` for a node, see `rye remote`
    #[arg(long, default_value = "local", value_name = "WHERE")]
    target: String,
    /// Who runs it: `inline`, or `fork` for a model thread
    #[arg(long, default_value = "inline", value_name = "HOW")]
    thread: String,
    /// The tier or the name of the model that answers in a thread
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// A limit of a thread (`turns`, `tokens`, `spend`, `spawns`, `depth` or `duration`), such as
    /// `turns=5`; again for more
    #[arg(long, value_name = "NAME=VALUE", value_parser = limit)]
    limit: Vec<(String, String)>,
    /// Run it in a process of its own, and give its id at once; see `rye thread`
    #[arg(long = "async")]
    detached: bool,
    /// Refuse whatever is not what `.ai/rye.lock` lists, to the byte
    #[arg(long)]
    locked: bool,
    /// Stop it after this time, such as `10`, `500ms` or `2m`, if that is sooner than its own limit
    #[arg(long, value_name = "TIME", value_parser = time)]
    timeout: Option<Duration>,
    /// How the tool is held: `auto`, `bwrap`, `landlock`, or `off` where your policy lets it out
    #[arg(long, default_value = "auto", value_name = "LEVEL", value_parser = wanted)]
    sandbox: SandboxChoice,
    /// Run only what this file of `rye plan` says; refuse if anything is different now
    #[arg(long, value_name = "FILE")]
    plan: Option<PathBuf>,
    /// If the tool asks for a person, wait until one decided and give the answer of the approved
    /// run
    #[arg(long, conflicts_with_all = ["dry_run", "detached"])]
    wait: bool,
    /// Show what the tool writes when it has ended, and not as it comes
    #[arg(long)]
    no_stream: bool,
    /// Show what the tool writes only if it fails, and of anything else the outcome alone
    #[arg(short, long)]
    quiet: bool,
    /// Write a signed receipt of the run, however it ends
    #[arg(long, value_name = "FILE", conflicts_with = "dry_run")]
    receipt: Option<PathBuf>,
}

pub(super) fn wanted(text: &str) -> Result<SandboxChoice, String> {
    Ok(match text {
        "auto" => SandboxChoice::Auto,
        "off" => SandboxChoice::Off,
        "bwrap" => SandboxChoice::On(Ladder::Only(SandboxLevel::Bwrap)),
        "landlock" => SandboxChoice::On(Ladder::Only(SandboxLevel::Landlock)),
        _ => return Err("it is `auto`, `bwrap`, `landlock` or `off`".into()),
    })
}

/// Reads a time: a number of seconds, or a number with its unit.
pub(super) fn time(text: &str) -> Result<Duration, String> {
    time_from_text(text).ok_or_else(|| format!("not a time that can pass: {TIME_FORMS}"))
}

/// Reads one limit of a thread; what it means is judged where the thread is started.
pub(super) fn limit(text: &str) -> Result<(String, String), String> {
    let pair = text.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned()));
    pair.ok_or_else(|| "a limit is a name and a value, such as `turns=5`".into())
}

/// Refuses options of threads where no thread runs.
///
/// # Errors
/// `cli.usage`
fn of_a_thread(args: &Args, context: &Context) -> Result<(), CliError> {
    if args.thread == "inline" && (args.model.is_some() || !args.limit.is_empty()) {
        let message = "`--model` and `--limit` are of a thread".into();
        let help = match is_tool(args, context) {
            true => "a tool has neither: leave them out, and bound its time with `--timeout`",
            false => "add `--thread fork`, which runs a directive as one",
        };
        return Err(CliError::Usage { message, help: Some(help.into()) });
    }
    Ok(())
}

/// Refuses options of this machine where another one runs the item.
///
/// # Errors
/// `cli.usage`
fn of_this_machine(args: &Args) -> Result<(), CliError> {
    let option = match (&args.plan, args.sandbox) {
        _ if args.target == "local" => return Ok(()),
        (Some(_), _) => "--plan",
        // A person decides there.
        _ if args.wait => "--wait",
        (None, SandboxChoice::Auto) => return Ok(()),
        (None, _) => "--sandbox",
    };
    let message = format!("`{option}` is of this machine, and a node runs the item");
    Err(CliError::Usage { message, help: Some(format!("leave out `{option}`, or `--target`")) })
}

/// Returns true if a tool is to run, as far as that can be told.
fn is_tool(args: &Args, context: &Context) -> bool {
    let Some(word) = args.item.as_ref().filter(|_| args.plan.is_none()) else {
        // There are plans of tools alone.
        return true;
    };
    let Ok(rye) = context.rye() else { return false };
    let named = query(word, &rye).map(|query| rye.items().full_ref(&query));
    named.is_ok_and(|item| item.starts_with("tool:"))
}

/// Limits of a thread by their names.
///
/// # Errors
/// `cli.usage` for one that is given twice.
pub(super) fn limits_of(given: &[(String, String)]) -> Result<Map<String, Value>, CliError> {
    let mut limits = Map::new();
    for (name, value) in given {
        if limits.insert(name.clone(), value.as_str().into()).is_some() {
            let message = format!("the limit `{}` is given twice", escape_line(name));
            return Err(CliError::Usage { message, help: Some("give each limit once".into()) });
        }
    }
    Ok(limits)
}

pub(super) fn run(args: &Args, context: &Context, out: &mut Out) -> Result<Exit, Failure> {
    of_a_thread(args, context)?;
    of_this_machine(args)?;
    let limits = limits_of(&args.limit)?;
    let rye = context.rye()?;
    let mut request = request(args, &rye)?;
    request.of_thread.model.clone_from(&args.model);
    request.of_thread.limits = limits;
    request.target = args.target.parse()?;
    request.thread = args.thread.parse()?;
    request.detached = args.detached;
    request.locked = args.locked;
    request.sandbox = args.sandbox;
    // The JSON form of a tool's dry run always holds its decisions (core 7.13).
    let traced = args.trace || (args.dry_run && out.is_json());
    let recorder = traced.then(|| context.recorder());
    let sink: &dyn Sink = recorder.as_ref().map_or(&Quiet, |recorder| recorder);
    let shows = match (args.no_stream, args.quiet || args.dry_run || out.is_json()) {
        (_, true) => Shows::Nothing,
        (true, _) => Shows::AtTheEnd,
        (false, _) => Shows::AsItComes,
    };
    let run = |sink: &dyn Sink| rye.runs().run(&request, context.start, sink);
    let (result, streamed) = run_live(sink, shows, out, run);
    let events = recorder.map(|recorder| recorder.events());
    if let Some(events) = events.as_ref().filter(|_| !out.is_json()) {
        let tree = trace_text(events, out.paint_err());
        out.note(tree.trim_end());
    }
    let report = match result {
        Ok(report) => report,
        Err(mut failed) => {
            failed.trace = events;
            return Err(failed.into());
        }
    };
    if let Some(id) = report.pending_id().filter(|_| args.wait) {
        return wait(&rye, id, report.thread_id(), out);
    }
    let events = events.filter(|_| args.trace || report.is_tool());
    let is_quiet = args.quiet && !args.dry_run && report.exit_status() == 0;
    // The outcome of a thread, a page and the id of a detached run are not what a tool writes.
    let hides_stdout = is_quiet && report.is_tool();
    let (stdout, stderr) = (!hides_stdout && !streamed.stdout, !is_quiet && !streamed.stderr);
    let beside = streamed.beside;
    let shown = Shown {
        details: args.chain_details,
        dry_run: args.dry_run,
        stdout,
        stderr,
        beside,
        events,
    };
    Ok(show(&report, Some(shown), context, out))
}

/// Runs something and shows meanwhile how it goes.
pub(super) fn run_live(
    sink: &dyn Sink,
    shows: Shows,
    out: &mut Out,
    run: impl FnOnce(&dyn Sink) -> Result<Report, Failed>,
) -> (Result<Report, Failed>, Streamed) {
    out.flush();
    let live = Live::new(sink, shows);
    let result = run(&live);
    let mut streamed = live.end();
    out.go_on(&mut streamed);
    if streamed.in_line && result.as_ref().map_or(true, |report| report.exit_status() != 0) {
        // What follows begins on a line of its own.
        out.note("");
    }
    for line in std::mem::take(&mut streamed.denied) {
        out.note(&line);
    }
    (result, streamed)
}

/// How a report is shown.
pub(super) struct Shown {
    details: bool,
    dry_run: bool,
    /// The output of the tool is still to be shown.
    stdout: bool,
    stderr: bool,
    /// The output of the tool beside its result.
    beside: String,
    events: Option<Vec<Recorded>>,
}

impl Default for Shown {
    fn default() -> Self {
        let beside = String::new();
        Self { details: false, dry_run: false, stdout: true, stderr: true, beside, events: None }
    }
}

/// Shows the outcome of a run.
pub(super) fn show(
    report: &Report,
    shown: Option<Shown>,
    context: &Context,
    out: &mut Out,
) -> Exit {
    let shown = shown.unwrap_or_default();
    out.warned(report.warnings());
    if let Report::Remote(remote) = report {
        return show_remote(remote, &shown, out);
    }
    if out.is_json() {
        let elapsed = context.start.elapsed();
        out.object(&report.to_json(elapsed, shown.details, shown.events.as_deref()));
    } else {
        let text = report.to_text(out.paint(), is_terminal());
        // What asks a person is rye's own text, in which the tool's words are escaped already.
        if shown.dry_run || report.pending_id().is_some() {
            out.labelled(&text.stdout);
        } else if shown.stdout {
            output(&text.stdout, out);
        }
        out.flush();
        if shown.stderr {
            // A result that is JSON says nothing of it.
            let said = if text.stderr.is_empty() { &shown.beside } else { &text.stderr };
            output_err(said, out);
        }
        if let Some(error) = report.error_text(out.paint_err()) {
            out.note(error.trim_end());
        }
    }
    if let Some(cut) = report.cut_text().filter(|_| shown.stdout) {
        out.warn(&cut);
    }
    if let Some(made) = report.new_repositories_text() {
        out.warn(&made);
    }
    // Hooks that are only told may still run; the answer does not wait for them.
    out.flush();
    if let Some(lost) = report.lost_receipt() {
        if !out.is_json() {
            out.note(lost.to_text(out.paint_err()).trim_end());
        }
        return Exit::Status(lost.code.exit_status());
    }
    Exit::Status(report.exit_status())
}

/// Shows what a node ran.
fn show_remote(report: &RemoteReport, shown: &Shown, out: &mut Out) -> Exit {
    let told = Value::from(report.to_json());
    if !out.is_json() && !report.left_out.is_empty() {
        let (count, item) = (report.left_out.len(), &report.item);
        out.note(&format!("{count} of its inputs stayed here: see `rye remote plan {item}`"));
    }
    if !out.is_json() && told["async"] == true {
        let text = report.to_text();
        out.exact(&text.stdout);
        out.note(text.stderr.trim_end());
        return Exit::DONE;
    }
    super::thread::show_end(&told, !shown.stdout, out)
}

/// Waits for a person's decision, and shows the outcome of the approved run, or of the thread that
/// went on.
fn wait(rye: &Rye, id: &str, thread: Option<&str>, out: &mut Out) -> Result<Exit, Failure> {
    if !out.is_json() {
        out.note(&format!("waits for a person: `rye pending show {}`", escape_line(id)));
    }
    if let Some(thread) = thread {
        return Ok(match Threads::new(rye).wait_for_end(thread)? {
            Ok(ended) => super::thread::show_end(&ended.report, false, out),
            Err(signal) => Exit::Signal(signal),
        });
    }
    let report = match rye.approvals().wait_for(id)? {
        Ok(report) => report,
        Err(signal) => return Ok(Exit::Signal(signal)),
    };
    // A snippet may ask again.
    if let Some(next) = report["pending"]["id"].as_str().filter(|_| report["status"] == "pending") {
        return wait(rye, next, None, out);
    }
    let code = report["code"].as_str().map(str::to_owned);
    if out.is_json() {
        out.object(&report);
    } else if let Some(code) = &code {
        let text = |key: &str| escape_line(report[key].as_str().unwrap_or_default());
        out.note(&format!("error[{code}]: {}\n  help: {}", text("error"), text("help")));
    } else {
        out.foreign(&crate::report::data_text(&report["data"]).stdout);
    }
    Ok(Exit::Status(code.map_or(0, |code| super::codes::exit_status(&code))))
}

/// The request: from the arguments, and from the plan where the arguments say nothing.
fn request(args: &Args, rye: &Rye) -> Result<Request, Failure> {
    let plan = args.plan.as_deref().map(super::plan::read).transpose()?;
    // A plan names the item, so what stands there may be an input already; no ref holds a `=`.
    let is_input = |word: &&String| plan.is_some() && word.contains('=');
    let given = args.inputs.read_behind(args.item.as_ref().filter(is_input))?;
    let named = args.item.as_ref().filter(|word| !is_input(word));
    let planned = plan.as_ref().map(|plan| plan.item().to_string());
    let named = named.map(|word| reference(word, rye)).transpose()?;
    let item = named.or(planned).unwrap_or_default();
    let mut request = Request::new(item).dry_run(args.dry_run);
    request.for_record = plan.is_some() || args.receipt.is_some();
    request.timeout = args.timeout.or(plan.as_ref().map(PlanFile::timeout));
    let stored = plan.as_ref().and_then(PlanFile::params);
    request.params = match stored {
        Some(stored) if given.params.is_empty() && given.texts.is_empty() => stored.clone(),
        _ => given.params,
    };
    request.texts = given.texts;
    request.receipt.clone_from(&args.receipt);
    #[cfg(feature = "code")]
    {
        // Who types it is there; a program that rye runs is not.
        request.origin.is_typed = !crate::host::is_below_a_run();
    }
    request.plan = plan;
    Ok(request)
}
