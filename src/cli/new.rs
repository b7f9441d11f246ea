//! `rye new`: a first version of an item.

use clap::ValueEnum;
use clap::builder::PossibleValue;
use serde_json::{Value, json};

use super::context::Context;
use super::exit::Exit;
use super::out::Out;
use crate::base::text::escape_line;
use crate::diagnostic::{Failure, Style};
use crate::id::{ItemId, Kind, Query, Ref, Space};
use crate::resolve::Found;
use crate::rye::ToSign;
use crate::scaffold::{Lang, Made, create};

/// Write the first version of an item, ready to be signed and run
///
/// Never overwrites: an item of that id is left as it is, in whatever language it is written.
#[derive(clap::Args)]
pub(super) struct Args {
    /// What to write
    #[arg(value_name = "KIND")]
    kind: What,
    /// Its id, such as `acme/deploy`: the path below the kind's folder, without an extension
    #[arg(value_name = "ID")]
    id: String,
    /// The language; by default Python for a tool, Markdown for the others
    #[arg(short, long, value_name = "LANG")]
    lang: Option<Lang>,
    /// The space; by default the project, or without one the user space
    #[arg(long, value_name = "SPACE", value_parser = super::value_parsers::space())]
    space: Option<Space>,
    /// Sign it as well
    #[arg(long)]
    sign: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum What {
    /// A program that rye runs
    Tool,
    /// A workflow for an agent
    Directive,
    /// Text to be read
    Knowledge,
}

impl ValueEnum for Lang {
    fn value_variants<'a>() -> &'a [Self] {
        &Self::ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.as_str()).aliases(self.aliases()))
    }
}

pub(super) fn run(args: &Args, context: &Context, out: &mut Out) -> Result<Exit, Failure> {
    let rye = context.rye()?;
    let kind = match args.kind {
        What::Tool => Kind::Tool,
        What::Directive => Kind::Directive,
        What::Knowledge => Kind::Knowledge,
    };
    let id = args.id.strip_prefix(&format!("{kind}:")).unwrap_or(&args.id);
    let item = Ref::new(kind, id.parse::<ItemId>()?);
    let space = args.space.unwrap_or_else(|| super::sign::own_space(&rye));
    if args.sign {
        // Without a key nothing is written.
        rye.signing().own_pair()?;
        if space == Space::Project {
            super::acceptance::accept_first(&rye, &[], std::slice::from_ref(&item), out)?;
        }
    }
    let made = create(&rye, &item, args.lang, space)?;
    let mut signed = Vec::new();
    if args.sign {
        // The folders may be new, so the spaces are found again.
        let rye = context.rye()?;
        let found = rye.signing().find(&made.item.clone().into(), Some(made.space))?;
        let found = Found { bytes: made.text.clone().into_bytes().into(), ..found };
        let files = vec![ToSign::from(found)];
        signed = super::sign::sign(&rye, files, context, out)?;
    }
    let has_key = !rye.signing().own_pair().is_err_and(|failure| failure.code() == "key.missing");
    let next = next(&made, args.sign, has_key);
    if out.is_json() {
        let signed: Vec<Value> = signed.iter().map(|row| super::sign::row(row, false)).collect();
        out.success(json!({
            "item_id": made.item, "space": made.space, "path": made.place.path,
            "language": made.lang.as_str(), "remarks": made.remarks, "signed": signed, "next": next,
        }));
    } else {
        let verb = out.paint().style(Style::Good, "created");
        let path = escape_line(&made.place.path);
        out.line(&format!("{verb}  {}  {}  {path}", made.item, made.space));
        for remark in &made.remarks {
            out.note(&format!("note: {}", escape_line(remark)));
        }
        if let Some(needs) = made.lang.needs() {
            out.note(&format!("note: to run it takes {needs}"));
        }
        if !signed.is_empty() {
            super::sign::shown(&signed, false, out);
        }
        out.line("");
        out.line("next, once it does what you want:");
        for command in &next {
            out.line(&format!("  {command}"));
        }
    }
    Ok(Exit::Status(super::sign::worst(&signed)))
}

/// The next steps of the author; the file comes first.
fn next(made: &Made, signed: bool, has_key: bool) -> Vec<String> {
    let mut item = made.item.to_string();
    let query = Query { space: Some(made.space), ..made.item.clone().into() };
    if made.remarks.iter().any(|remark| remark.contains("is shadowed by")) {
        item = query.to_string();
    }
    let mut next = Vec::new();
    if !has_key {
        next.push("rye keys generate".to_owned());
    }
    if !signed {
        let space = if made.space == Space::User { " --space user" } else { "" };
        next.push(format!("rye sign {}{space}", made.item));
    }
    next.push(match made.item.kind {
        Kind::Tool => format!("rye execute {item} -i name=Ada"),
        Kind::Directive => format!("rye execute {item} -i who=Ada"),
        Kind::Knowledge | Kind::Config => format!("rye fetch {item}"),
    });
    next
}
