//! `rye dev`: watch the project, sign what you change, run what you work on.

use std::path::Path;
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::confirm::confirm;
use super::context::Context;
use super::diff::painted;
use super::error::CliError;
use super::execute::wanted;
use super::exit::Exit;
use super::input::Inputs;
use super::named::query;
use super::out::{Out, is_terminal, output, output_err};
use crate::base::Timestamp;
use crate::base::text::escape_line;
use crate::base::time::time_text;
use crate::dev::{Audience, DevEnd, DevEvent, DevRequest, Session};
use crate::diagnostic::{Failure, Style};
use crate::id::Ref;
use crate::plan::SandboxChoice;
use crate::report::{Report, error_json};
use crate::rye::{Failed, FileChange, Request, Rye};

/// Watch the project: sign and run what you change
///
/// Each save is shown as a diff. What you signed yourself is signed again by the dev key of this
/// project and machine, which lives for 12 hours. What you might not have written, such as a new
/// file, a changed `secrets` or a checkout, waits until you press `y`. Without a terminal nothing
/// is signed, unless you say `--unattended`. With `--json` each event is one JSON object on its own
/// line.
#[derive(clap::Args)]
pub(super) struct Args {
    /// The item to run after each save, such as `tool:acme/deploy`; nothing without it
    #[arg(value_name = "REF|PATH", add = super::complete::runnable())]
    item: Option<String>,
    #[command(flatten)]
    inputs: Inputs,
    /// Check everything and show the plan instead of running it
    #[arg(long, requires = "item")]
    dry_run: bool,
    /// How the tool is held: `auto`, `bwrap`, `landlock`, or `off` where your policy lets it out
    #[arg(long, default_value = "auto", value_name = "LEVEL", value_parser = wanted)]
    sandbox: SandboxChoice,
    /// Sign what you change also without a terminal; what waits for a key press, waits
    #[arg(long)]
    unattended: bool,
}

pub(super) fn run(args: &Args, context: &Context, out: &mut Out) -> Result<Exit, Failure> {
    let make = || context.build();
    let rye = make()?;
    rye.spaces().project()?;
    let asked = DevRequest { request: request(args, &rye)?, unattended: args.unattended };
    let path = rye.spaces().project_path().display().to_string();
    confirm(&format!("watch `{path}` and sign what changes there"), "", context, out)?;
    drop(rye);
    let mut screen = Screen { out, dry_run: args.dry_run };
    let session = Session::begin(&make, asked, &mut screen)?;
    Ok(match session.run()? {
        DevEnd::Quit => Exit::DONE,
        DevEnd::Signal(signal) => Exit::Signal(signal),
    })
}

fn request(args: &Args, rye: &Rye) -> Result<Option<Request>, Failure> {
    let given = args.inputs.read()?;
    let Some(item) = &args.item else {
        if given.params.is_empty() && given.texts.is_empty() {
            return Ok(None);
        }
        return Err(CliError::Usage {
            message: "inputs are for an item, and none is named".into(),
            help: None,
        }
        .into());
    };
    let mut request = Request::new(query(item, rye)?.to_string()).dry_run(args.dry_run);
    request.sandbox = args.sandbox;
    request.params = given.params;
    request.texts = given.texts;
    Ok(Some(request))
}

/// Draws events: for people, or one JSON object a line.
struct Screen<'a> {
    out: &'a mut Out,
    dry_run: bool,
}

impl Audience for Screen<'_> {
    fn tell(&mut self, event: &DevEvent<'_>) {
        match self.out.is_json() {
            true => self.object(event),
            false => self.draw(event),
        }
        self.out.flush();
    }
}

/// The columns that the clock and the word take.
const INDENT: &str = "          ";

impl Screen<'_> {
    fn draw(&mut self, event: &DevEvent<'_>) {
        let text = |item: &Ref| item.to_string();
        match event {
            DevEvent::Started { .. } => self.started(event),
            DevEvent::Renewed { key, until, items } => {
                let until = clock(*until);
                let again = match items {
                    0 => String::new(),
                    1 => "; 1 item signed again".into(),
                    items => format!("; {items} items signed again"),
                };
                let text = format!("dev key {} until {until}{again}", key.short());
                self.headline(Style::Dim, "renewed", &text);
            }
            DevEvent::Changed { item, place, changes } => {
                self.out.line("");
                let path = self.dim(&escape_line(&place.path));
                self.headline(Style::Strong, "differs", &format!("{item}  {path}"));
                self.changes(&place.path, changes);
            }
            DevEvent::Signed { item, asked } => {
                let by = if *asked { "with the dev key, as you said" } else { "with the dev key" };
                let by = self.dim(by);
                self.headline(Style::Good, "signed", &format!("{item}  {by}"));
            }
            DevEvent::Admitted { item, by } => {
                self.out.line("");
                let by = self.dim(&format!("signed by {}", escape_line(by)));
                self.headline(Style::Good, "changed", &format!("{item}  {by}"));
            }
            DevEvent::Waits { item, why, asks } => self.waits(item, why, *asks),
            DevEvent::Question { item, left } => {
                let more = if *left == 0 { String::new() } else { format!("  ({left} more)") };
                let question = format!("sign {item}?");
                let question = self.out.paint().style(Style::Strong, &question);
                let keys = self.dim("y sign · n skip · d diff · r run · q quit");
                self.out.line(&format!("{INDENT}{question}  {keys}{more}"));
            }
            DevEvent::Skipped { item } => self.headline(Style::Dim, "skipped", &text(item)),
            DevEvent::Refused { item, diagnostic } => {
                self.headline(Style::Error, "refused", &text(item));
                let text = diagnostic.to_text(self.out.paint());
                self.out.text(&text);
            }
            DevEvent::Gone { item } => self.headline(Style::Dim, "gone", &text(item)),
            DevEvent::Trouble { diagnostic } => {
                self.headline(Style::Error, "trouble", "the project cannot be read at the moment");
                let text = diagnostic.to_text(self.out.paint());
                self.out.text(&text);
            }
            DevEvent::Runs { .. } => {}
            DevEvent::Ran { item, result, elapsed } => self.ran(item, result, *elapsed),
            DevEvent::NotRun { item } => {
                let why = self.dim("is not run: it waits to be signed");
                self.headline(Style::Warning, "held", &format!("{}  {why}", escape_line(item)));
            }
            DevEvent::NothingToRun => {
                self.headline(Style::Dim, "nothing", "to run: start with `rye dev REF`");
            }
        }
    }

    fn dim(&self, text: &str) -> String {
        self.out.paint().style(Style::Dim, text)
    }

    fn headline(&mut self, style: Style, word: &str, rest: &str) {
        let at = self.dim(&jiff::Zoned::now().strftime("%H:%M:%S").to_string());
        let word = self.out.paint().style(style, &format!("{word:<8}"));
        self.out.line(&format!("{at}  {word}  {rest}"));
    }

    fn started(&mut self, event: &DevEvent<'_>) {
        let DevEvent::Started { project, items, unsigned, runs, key, until, asks, signs } = event
        else {
            return;
        };
        let project = escape_line(&project.display().to_string());
        let name = self.out.paint().style(Style::Strong, "rye dev");
        self.out.line(&format!("{name}  {project}"));
        let (key, until) = (key.short(), clock(*until));
        let noun = if *items == 1 { "item" } else { "items" };
        let signer = match signs {
            true => format!("; the dev key {key} signs until {until}"),
            false => String::new(),
        };
        self.row("watches", &format!("{items} {noun}{signer}"));
        if let Some(item) = runs {
            let verb = if self.dry_run { "checks" } else { "runs" };
            self.row(verb, &format!("{} after each save", escape_line(item)));
        }
        if *unsigned > 0 {
            let (noun, is) = if *unsigned == 1 { ("item", "is") } else { ("items", "are") };
            let text = format!("{unsigned} {noun} {is} not signed; `rye verify` tells which");
            let text = self.out.paint().style(Style::Warning, &text);
            self.row("but", &text);
        }
        match (asks, signs) {
            (true, _) => self.row("keys", "y sign · n skip · d diff again · r run now · q quit"),
            (false, true) => {
                self.row("keys", "none, since nobody is at a terminal: what waits, waits");
            }
            (false, false) => {
                let text =
                    "nothing, since nobody is at a terminal and `--unattended` was not given";
                self.row("signs", text);
            }
        }
        self.out.line("");
    }

    fn row(&mut self, label: &str, text: &str) {
        let label = self.dim(&format!("{label:>8}"));
        self.out.line(&format!("{label}  {text}"));
    }

    fn changes(&mut self, own: &str, changes: &[FileChange]) {
        if changes.is_empty() {
            self.out.line(&format!("{INDENT}nothing but its signature line differs"));
        }
        for change in changes {
            if change.path != own {
                let path = self.out.paint().style(Style::Strong, &escape_line(&change.path));
                self.out.line(&format!("{INDENT}{path}"));
            }
            if change.unified.is_empty() {
                self.out.line(&format!("{INDENT}it is not text"));
            }
            // The line above names the file.
            let hunks = change.unified.split_inclusive('\n').skip(2).collect::<String>();
            let text = painted(&hunks, self.out.paint());
            self.out.exact(&text);
        }
    }

    fn waits(&mut self, item: &Ref, why: &[crate::dev::HoldReason], asks: bool) {
        let why: Vec<String> = why.iter().map(ToString::to_string).collect();
        let why = why.join("; ");
        self.headline(Style::Warning, "waits", &format!("{item}  {why}"));
        if !asks {
            let what = format!("if the change above is yours, run `rye sign {item}`");
            self.out.line(&format!("{INDENT}{what}"));
        }
    }

    fn ran(&mut self, item: &str, result: &Result<Report, Failed>, elapsed: Duration) {
        let item = escape_line(item);
        let took = self.dim(&time_text(elapsed));
        let done = if self.dry_run { "checked" } else { "ran" };
        match result {
            Ok(report) => {
                let (style, word) = match report.tool_failed() {
                    true => (Style::Error, "failed"),
                    false if report.waits() => (Style::Warning, "asked"),
                    false => (Style::Good, done),
                };
                self.headline(style, word, &format!("{item}  {took}"));
                self.out.warned(report.warnings());
                let text = report.to_text(self.out.paint(), is_terminal());
                match self.dry_run {
                    true => self.out.labelled(&text.stdout),
                    false => output(&text.stdout, self.out),
                }
                if !text.stdout.is_empty() && !text.stdout.ends_with('\n') {
                    self.out.line("");
                }
                output_err(&text.stderr, self.out);
                if let Some(error) = report.error_text(self.out.paint_err()) {
                    self.out.note(error.trim_end());
                }
            }
            Err(failed) => {
                self.headline(Style::Error, "stopped", &format!("{item}  {took}"));
                self.out.warned(&failed.warnings);
                let text = failed.failure.diagnostic().to_text(self.out.paint());
                self.out.text(&text);
            }
        }
    }

    fn object(&mut self, event: &DevEvent<'_>) {
        let (word, fields) = to_json(event);
        let mut out = Map::new();
        out.insert("event".into(), word.into());
        let at = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string();
        out.insert("at".into(), at.into());
        if let Value::Object(fields) = fields {
            out.extend(fields);
        }
        self.out.object(&Value::Object(out));
    }
}

fn to_json(event: &DevEvent<'_>) -> (&'static str, Value) {
    match event {
        DevEvent::Started { project, items, unsigned, runs, key, until, asks, signs } => (
            "started",
            json!({
                "project": shown(project), "items": items, "unsigned": unsigned, "runs": runs,
                "dev_key": key, "not_after": until, "asks": asks, "signs": signs,
            }),
        ),
        DevEvent::Renewed { key, until, items } => {
            ("renewed", json!({"dev_key": key, "not_after": until, "signed_again": items}))
        }
        DevEvent::Changed { item, place, changes } => {
            let files: Vec<_> =
                changes.iter().map(|c| json!({"path": c.path, "diff": c.unified})).collect();
            ("changed", json!({"item_id": item, "path": place.path, "files": files}))
        }
        DevEvent::Signed { item, asked } => ("signed", json!({"item_id": item, "asked": asked})),
        DevEvent::Admitted { item, by } => ("admitted", json!({"item_id": item, "by": by})),
        DevEvent::Waits { item, why, .. } => {
            let words: Vec<_> = why.iter().map(crate::dev::HoldReason::word).collect();
            let reasons: Vec<_> = why.iter().map(ToString::to_string).collect();
            ("waits", json!({"item_id": item, "why": words, "reasons": reasons}))
        }
        DevEvent::Question { item, left } => ("question", json!({"item_id": item, "left": left})),
        DevEvent::Skipped { item } => ("skipped", json!({"item_id": item})),
        DevEvent::Refused { item, diagnostic } => {
            let mut fields = diagnostic.to_json();
            fields.insert("item_id".into(), item.to_string().into());
            ("refused", Value::Object(fields))
        }
        DevEvent::Gone { item } => ("gone", json!({"item_id": item})),
        DevEvent::Trouble { diagnostic } => ("trouble", Value::Object(diagnostic.to_json())),
        DevEvent::Runs { item } => ("runs", json!({"item_id": item})),
        DevEvent::Ran { item, result, elapsed } => {
            let report = match result {
                Ok(report) => report.to_json(*elapsed, false, None),
                Err(failed) => {
                    let diagnostic = failed.failure.diagnostic();
                    error_json(&diagnostic, Some(&failed.item), &failed.chain, *elapsed, None)
                }
            };
            ("ran", json!({"item_id": item, "report": report}))
        }
        DevEvent::NotRun { item } => ("not_run", json!({"item_id": item})),
        DevEvent::NothingToRun => ("nothing_to_run", json!({})),
    }
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

/// A moment as the clock on the wall shows it.
fn clock(at: Timestamp) -> String {
    let at = jiff::Timestamp::from_second(at.as_second()).unwrap_or_default();
    at.to_zoned(jiff::tz::TimeZone::system()).strftime("%H:%M").to_string()
}
