//! `rye test`: try the test specs that lie beside items.

use std::path::{Path, PathBuf};
use std::time::Instant;

use serde_json::{Value, json};

use super::context::Context;
use super::execute::wanted;
use super::exit::Exit;
use super::named::{Named, item_of_spec};
use super::out::Out;
use crate::base::bytes::write_atomic;
use crate::base::text::{escape, escape_line};
use crate::base::time::time_text;
use crate::diagnostic::{Diagnostic, Failure, Style};
use crate::id::Space;
use crate::plan::SandboxChoice;
use crate::report::metadata;
use crate::testing::{
    Case, CaseResult, SpecFilter, Suite, TestError, Trying, find, junit, run as try_all,
};

/// Try the test specs beside items, `<item>.test.yaml`
///
/// A spec says inputs and what is expected of the run. Each case runs in a folder of its own; what
/// runs is verified as ever. `rye fetch knowledge:rye/testing` tells what a spec can say.
#[derive(clap::Args)]
pub(super) struct Args {
    /// Items whose specs are tried, globs such as 'tool:acme/**', or paths of files and folders; by
    /// default all of the space
    #[arg(value_name = "REF|GLOB|PATH", add = super::complete::refs())]
    items: Vec<String>,
    /// Every spec of the space; the default without refs
    #[arg(long, conflicts_with = "items")]
    all: bool,
    /// How many cases run at once; by default one a core
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    jobs: Option<u16>,
    /// Where the specs lie; by default the project
    #[arg(long, value_name = "SPACE")]
    space: Option<Space>,
    /// Only say which cases there are
    #[arg(long)]
    list: bool,
    /// How the tools are held: `auto`, `bwrap`, `landlock`, or `off` where your policy lets it out
    #[arg(long, default_value = "auto", value_name = "LEVEL", value_parser = wanted)]
    sandbox: SandboxChoice,
    /// Also write the report as XML in the form of `JUnit`
    #[arg(long, value_name = "FILE", conflicts_with = "list")]
    junit: Option<PathBuf>,
}

pub(super) fn run(args: &Args, context: &Context, out: &mut Out) -> Result<Exit, Failure> {
    let rye = context.rye()?;
    let (mut asked, mut space) = (Vec::new(), args.space);
    for word in args.items.iter().filter(|_| !args.all) {
        let named = match item_of_spec(word, &rye) {
            Some(item) => Named::Item(item),
            None => Named::read(word, &rye)?,
        };
        space = named.one_space(word, space)?;
        asked.push(match named {
            Named::Item(query) => SpecFilter::Item(query),
            Named::Many(pattern, _) => SpecFilter::Pattern(pattern, word.clone()),
        });
    }
    let suites = find(&rye, super::sign::written_space(space, &rye)?, &asked)?;
    let mut table = Table::new(&suites);
    if args.list {
        return Ok(list(&suites, &table, out));
    }
    let jobs = args
        .jobs
        .map_or_else(|| std::thread::available_parallelism().map_or(1, usize::from), usize::from);
    let start = Instant::now();
    for suite in &suites {
        if let (Err(diagnostic), false) = (&suite.cases, out.is_json()) {
            out.note(diagnostic.to_text(out.paint_err()).trim_end());
        }
    }
    let signal = try_all(
        &rye,
        &suites,
        Trying { jobs, sandbox: args.sandbox },
        &mut |suite, case, verdict| {
            if !out.is_json() {
                table.show(suite, case, &verdict, out);
            }
            out.warned(&verdict.warnings);
            table.keep(suite, verdict);
        },
    );
    if let Some(file) = &args.junit {
        write(file, &junit(&table.rows))?;
    }
    if suites.is_empty() && !out.is_json() {
        out.line("no test specs here: write `<item>.test.yaml` beside an item (see `rye fetch knowledge:rye/testing`)");
    }
    let end = summary(&table, start, out);
    Ok(signal.map_or(end, Exit::Signal))
}

fn write(file: &Path, text: &str) -> Result<(), Failure> {
    let whole = std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
    write_atomic(&whole, text.as_bytes(), 0o644).map_err(|source| {
        let path = file.to_owned();
        TestError::Io { path, source }.into()
    })
}

/// The results so far, and the width of a row.
struct Table<'a> {
    rows: Vec<(&'a Suite, Vec<CaseResult>)>,
    width: usize,
}

impl<'a> Table<'a> {
    fn new(suites: &'a [Suite]) -> Self {
        let width = suites.iter().map(|suite| suite.item.to_string().len()).max();
        let rows = suites.iter().map(|suite| (suite, Vec::new())).collect();
        Self { rows, width: width.unwrap_or(0) }
    }

    fn keep(&mut self, suite: &Suite, verdict: CaseResult) {
        let row = self.rows.iter_mut().find(|(known, _)| std::ptr::eq(*known, suite));
        if let Some((_, verdicts)) = row {
            verdicts.push(verdict);
        }
    }

    fn show(&self, suite: &Suite, case: &Case, verdict: &CaseResult, out: &mut Out) {
        let paint = out.paint();
        let mark = match verdict.findings.is_empty() {
            true => paint.style(Style::Good, "ok    "),
            false => paint.style(Style::Error, "FAILED"),
        };
        let (item, width) = (suite.item.to_string(), self.width);
        let time = paint.style(Style::Dim, &time_text(verdict.elapsed));
        out.line(&format!("{mark}  {item:width$}  {}  {time}", escape_line(&case.name)));
        for finding in &verdict.findings {
            for line in finding.text().lines() {
                let text = escape(line);
                let text = match line.chars().next() {
                    Some('-') => paint.style(Style::Good, &text),
                    Some('+') => paint.style(Style::Error, &text),
                    _ => text.into_owned(),
                };
                out.line(&format!("        {text}"));
            }
        }
        out.flush();
    }
}

fn list(suites: &[Suite], table: &Table<'_>, out: &mut Out) -> Exit {
    let mut worst = None;
    let mut rows = Vec::new();
    for suite in suites {
        match &suite.cases {
            Ok(cases) => {
                for case in cases {
                    rows.push(json!({
                        "item_id": suite.item, "spec": suite.place.path, "name": case.name,
                    }));
                    if !out.is_json() {
                        let (item, width) = (suite.item.to_string(), table.width);
                        out.line(&format!("{item:width$}  {}", escape_line(&case.name)));
                    }
                }
            }
            Err(diagnostic) => {
                worst = Diagnostic::worst(worst.into_iter().chain([diagnostic.clone()]));
                rows.push(broken(suite, diagnostic));
                if !out.is_json() {
                    out.note(diagnostic.to_text(out.paint_err()).trim_end());
                }
            }
        }
    }
    if out.is_json() {
        out.batch(worst.as_ref(), json!({"cases": rows}));
    }
    Exit::Status(super::sign::status(worst.as_ref()))
}

fn broken(suite: &Suite, diagnostic: &Diagnostic) -> Value {
    let mut fields = diagnostic.to_json();
    fields.insert("status".into(), "refused".into());
    fields.insert("item_id".into(), json!(suite.item));
    fields.insert("spec".into(), json!(suite.place.path));
    Value::Object(fields)
}

/// Shows the last lines, or all of the JSON. Gives the worst exit status; a spec that cannot be
/// used counts like a failed case.
fn summary(table: &Table<'_>, start: Instant, out: &mut Out) -> Exit {
    let all = table.rows.iter().flat_map(|(suite, all)| all.iter().map(move |one| (suite, one)));
    let bad = all.clone().filter(|(_, one)| !one.findings.is_empty());
    let mut items: Vec<String> = bad.clone().map(|(suite, _)| suite.item.to_string()).collect();
    items.dedup();
    let (cases, failed) = (all.count(), bad.count());
    let unusable = table.rows.iter().filter_map(|(suite, _)| suite.cases.as_ref().err());
    let failure = (failed > 0).then_some(TestError::Failed { failed, cases, items });
    let failure = failure.as_ref().map(Diagnostic::from);
    let worst = Diagnostic::worst(failure.iter().chain(unusable.clone()).cloned());
    let exit = super::sign::status(worst.as_ref());
    let elapsed = start.elapsed();
    if out.is_json() {
        let fields = json!({
            "cases": rows(table), "passed": cases - failed, "failed": failed,
            "unusable_specs": unusable.count(), "metadata": metadata(elapsed),
        });
        out.batch(worst.as_ref(), fields);
        return Exit::Status(exit);
    }
    let style = if exit == 0 { Style::Good } else { Style::Error };
    let passed = out.paint().style(style, &format!("{} passed", cases - failed));
    let unusable = match unusable.count() {
        0 => String::new(),
        1 => ", 1 spec cannot be used".to_owned(),
        count => format!(", {count} specs cannot be used"),
    };
    out.line(&format!("{passed}, {failed} failed{unusable}, in {}", time_text(elapsed)));
    if let Some(failure) = failure {
        out.note(failure.to_text(out.paint_err()).trim_end());
    }
    Exit::Status(exit)
}

fn rows(table: &Table<'_>) -> Value {
    let mut rows = Vec::new();
    for (suite, verdicts) in &table.rows {
        match &suite.cases {
            Err(diagnostic) => rows.push(broken(suite, diagnostic)),
            Ok(cases) => rows.extend(cases.iter().zip(verdicts).map(|(case, verdict)| {
                let mut row = json!({
                    "item_id": suite.item, "spec": suite.place.path, "name": case.name,
                    "status": if verdict.findings.is_empty() { "passed" } else { "failed" },
                    "findings": verdict.findings,
                    "metadata": metadata(verdict.elapsed),
                });
                if !verdict.warnings.is_empty() {
                    row["warnings"] = json!(verdict.warnings);
                }
                row
            })),
        }
    }
    rows.into()
}
