//! `rye why`: shows everything that decides about a reference.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::context::Context;
use super::exit::Exit;
use super::named::query;
use super::out::Out;
use crate::base::text::escape_line;
use crate::diagnostic::{Diagnostic, Failure, Paint, Style};
use crate::lock::Pin;
use crate::plan::{Survey, TimeLimit};
use crate::report::{chain_tree, external_tree, passed_over_text};
use crate::rye::{ItemCopy, WhyReport};
use crate::verify::DEV_OWNER;

/// Explain which file answers a reference, who admits it, and what it runs through
#[derive(clap::Args)]
pub(super) struct Args {
    /// The item, such as `tool:acme/deploy`
    #[arg(value_name = "REF|PATH", add = super::complete::refs())]
    item: String,
}

pub(super) fn run(args: &Args, context: &Context, out: &mut Out) -> Result<Exit, Failure> {
    let rye = context.rye()?;
    let why = rye.items().why(&query(&args.item, &rye)?)?;
    let in_chain = why.chain.as_ref().and_then(|chain| chain.as_ref().err());
    let in_survey = why.survey.as_ref().and_then(|survey| survey.as_ref().err());
    let stops = why.refused.as_ref().or(in_chain).or(in_survey);
    if out.is_json() {
        let value = to_json(&why, stops);
        out.object(&value);
    } else {
        let text = text(&why, out.paint());
        out.labelled(&text);
    }
    // Explaining succeeded, but a script needs the status of the item.
    Ok(Exit::Status(stops.map_or(0, |diagnostic| diagnostic.code.exit_status())))
}

fn text(why: &WhyReport, paint: Paint) -> String {
    let mut out = format!("{}\n", paint.style(Style::Strong, &why.item.to_string()));
    let accepted = match &why.accepted {
        None => "no project space here".to_owned(),
        Some(Ok(true)) => "accepted".into(),
        Some(Ok(false)) => "NOT accepted: no key admits its items (`rye trust review`)".into(),
        Some(Err(diagnostic)) => escape_line(&diagnostic.message),
    };
    let _ = writeln!(out, "  project {}: {accepted}", escape_line(&why.project));
    if let Some((pin, holds)) = &why.locked {
        let _ = writeln!(out, "  lock {}", locked(pin, *holds, paint));
    }
    for copy in &why.copies {
        out.push('\n');
        one_copy(&mut out, copy, paint);
    }
    match &why.chain {
        Some(Ok(details)) => {
            let _ = write!(out, "\n{}\n", paint.style(Style::Strong, "runs through"));
            for line in chain_tree(details, paint).lines() {
                let _ = writeln!(out, "  {line}");
            }
        }
        Some(Err(diagnostic)) => {
            let _ = write!(
                out,
                "\n{}\n{}",
                paint.style(Style::Strong, "runs through"),
                indented(diagnostic, paint)
            );
        }
        None => {}
    }
    if let Some(survey) = &why.survey {
        let _ = write!(out, "\n{}\n", paint.style(Style::Strong, "uses"));
        match survey {
            Ok(survey) => out.push_str(&uses(survey, paint)),
            Err(diagnostic) => out.push_str(&indented(diagnostic, paint)),
        }
    }
    if let Some(limit) = &why.limit {
        let limit = escape_line(&limit.to_text());
        let _ = write!(out, "\n{}\n  {limit}\n", paint.style(Style::Strong, "time limit"));
    }
    // The refusal is shown with its copy, unless no copy is to blame.
    if let Some(refused) = &why.refused
        && !why.copies.iter().any(|copy| copy.verdict.as_ref().err() == Some(refused))
    {
        let _ = write!(out, "\n{}", indented(refused, paint));
    }
    out
}

/// The row of the lock, and whether the item agrees with it.
fn locked(pin: &Pin, holds: Option<bool>, paint: Paint) -> String {
    let verdict = match holds {
        Some(true) => paint.style(Style::Good, "holds"),
        Some(false) => paint.style(Style::Error, "does NOT hold"),
        None => "not asked: it is refused before".into(),
    };
    format!("{}: {verdict}", super::lock::pin_text(pin))
}

fn uses(survey: &Survey, paint: Paint) -> String {
    let mut out = String::new();
    if let Some(program) = survey.program() {
        let (path, real) = (program.path.display(), program.look.real().display());
        let mut line = escape_line(&path.to_string());
        if program.path != program.look.real() {
            line.push_str(&paint.style(Style::Dim, &escape_line(&format!(" -> {real}"))));
        }
        if program.permitted {
            line.push_str(&paint.style(Style::Warning, "  in the project; you allowed it"));
        }
        let _ = writeln!(out, "  {line}");
    }
    out.push_str(&external_tree(survey, 1, paint));
    out.push_str(&passed_over_text(survey, paint));
    out
}

fn one_copy(out: &mut String, copy: &ItemCopy, paint: Paint) {
    let space = copy.place.as_ref().and_then(|place| place.space.clone());
    let space = space.or_else(|| copy.space.map(|space| space.to_string())).unwrap_or_default();
    let path = copy.place.as_ref().map(|place| escape_line(&place.path)).unwrap_or_default();
    let state = match (&copy.verdict, copy.wins) {
        (Ok(_), true) => paint.style(Style::Good, "answers"),
        (Ok(_), false) => paint.style(Style::Dim, "shadowed or passed over"),
        (Err(_), true) => paint.style(Style::Error, "answers, and is refused"),
        (Err(_), false) => paint.style(Style::Error, "refused"),
    };
    let _ = writeln!(out, "  {space:<8} {path}  {state}");
    if let Some(full) = &copy.path {
        let _ = writeln!(out, "           {}", paint.style(Style::Dim, &escape_line(full)));
    }
    match &copy.verdict {
        Ok(detail) => {
            let owner = detail.owner.as_deref().map(escape_line).unwrap_or_default();
            match detail.signer {
                Some(key) => {
                    let _ = writeln!(out, "           signed by `{owner}` {key}");
                }
                None => {
                    let _ = writeln!(out, "           let through by dev mode");
                }
            }
            let by = match (&copy.document, owner.as_str()) {
                (Some((path, document)), _) => {
                    format!("user {path}, which covers {}", document.covers())
                }
                (None, DEV_OWNER) => "your dev key of this project, by your own key's word".into(),
                (None, "you") => "your own key".into(),
                (None, "rye") => "the publisher's key in this binary, for the system space".into(),
                _ => "nothing".into(),
            };
            let _ = writeln!(out, "           admitted by {by}");
        }
        Err(diagnostic) => out.push_str(&indented(diagnostic, paint)),
    }
}

fn indented(diagnostic: &Diagnostic, paint: Paint) -> String {
    let text = diagnostic.to_text(paint);
    text.lines().map(|line| format!("           {line}\n")).collect()
}

fn to_json(why: &WhyReport, stops: Option<&Diagnostic>) -> Value {
    let copies: Vec<Value> = why
        .copies
        .iter()
        .map(|copy| {
            let document = copy.document.as_ref().map(|(path, document)| {
                json!({"path": path, "owner": document.owner, "fingerprint": document.fingerprint})
            });
            json!({
                "space": copy.space, "place": copy.place, "path": copy.path, "answers": copy.wins,
                "admitted": copy.verdict.is_ok(), "detail": copy.verdict.as_ref().ok(),
                "refused": copy.verdict.as_ref().err().map(Diagnostic::to_json),
                "trust_document": document,
            })
        })
        .collect();
    let survey = why.survey.as_ref().and_then(|survey| survey.as_ref().ok());
    json!({
        "status": if stops.is_none() { "success" } else { "error" },
        "item_id": why.item, "project": why.project, "accepted": why.accepted.as_ref().and_then(|a| a.as_ref().ok()),
        "copies": copies,
        "lock": why.locked.as_ref().map(|(pin, holds)| json!({"row": pin, "holds": holds})),
        "chain": why.chain.as_ref().and_then(|c| c.as_ref().ok()),
        "interpreter": survey.map(Survey::program_json),
        "external": survey.map(Survey::external_json),
        "passed_over": survey.map(Survey::passed_over),
        "limit": why.limit.as_ref().map(TimeLimit::to_json),
        "code": stops.map(|d| d.code), "error": stops.map(|d| d.message.clone()),
        "help": stops.and_then(|d| d.help.clone()),
        "place": stops.and_then(|d| d.place.clone()), "data": stops.map(|d| d.data.clone()),
    })
}
