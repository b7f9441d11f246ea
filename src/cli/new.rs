//! `rye new`: a first version of an item.

use clap::ValueEnum;
use clap::builder::PossibleValue;
use serde_json::{Value, json};

use super::context::Context;
use super::error::CliError;
use super::exit::Exit;
use super::out::Out;
use crate::base::text::escape_line;
use crate::diagnostic::{Failure, Style};
use crate::id::{ItemId, Kind, Query, Ref, Space};
use crate::resolve::Found;
use crate::rye::{Rye, ToSign};
use crate::scaffold::{CiService, Install, Lang, Made, Workflow, create, workflow};

/// Write the first version of an item, ready to be signed and run
///
/// Never overwrites: an item of that id is left as it is, in whatever language it is written.
#[derive(clap::Args)]
pub(super) struct Args {
    /// The kind of thing to write
    #[arg(value_name = "KIND")]
    kind: What,
    /// Its id, such as `acme/deploy`: the path below the kind's folder, without an extension; for
    /// `ci` the service: `github`, `gitlab` or `shell`
    #[arg(value_name = "ID")]
    id: Option<String>,
    /// The language; by default Python for a tool, Markdown for the others
    #[arg(short, long, value_name = "LANG")]
    lang: Option<Lang>,
    /// The space; by default the project
    #[arg(long, value_name = "SPACE", value_parser = super::value_parsers::space())]
    space: Option<Space>,
    /// Sign it as well
    #[arg(long)]
    sign: bool,
    /// For `ci`: the command that puts rye on the path of the runner
    #[arg(long, value_name = "COMMAND", allow_hyphen_values = true)]
    install: Option<Install>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum What {
    /// A program that rye runs
    Tool,
    /// A workflow for an agent
    Directive,
    /// Text to be read
    Knowledge,
    /// A server of models for threads, in your user space
    Provider,
    /// A workflow that verifies this project in CI
    Ci,
}

impl ValueEnum for Lang {
    fn value_variants<'a>() -> &'a [Self] {
        Self::ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.as_str()).aliases(self.aliases()))
    }
}

pub(super) fn run(args: &Args, context: &Context, out: &mut Out) -> Result<Exit, Failure> {
    let rye = context.rye()?;
    let kind = match args.kind {
        What::Tool | What::Provider => Kind::Tool,
        What::Directive => Kind::Directive,
        What::Knowledge => Kind::Knowledge,
        What::Ci => return ci(args.id.as_deref(), args.install.as_ref(), &rye, out),
    };
    if args.install.is_some() {
        let message = format!("`--install` is for `rye new ci`, and not for a {kind}");
        return Err(CliError::Usage { message, help: None }.into());
    }
    let Some(id) = &args.id else {
        let message = format!("a {kind} needs an id");
        let help = Some(format!("give one, such as `rye new {kind} acme/deploy`"));
        return Err(CliError::Usage { message, help }.into());
    };
    // One of a project is asked only once you let it in.
    let is_provider = matches!(args.kind, What::Provider);
    let (lang, space) = match is_provider {
        true => (args.lang.or(Some(Lang::Provider)), args.space.or(Some(Space::User))),
        false => (args.lang, args.space),
    };
    let (id, lang) = id_and_lang(id, kind, lang)?;
    let item = Ref::new(kind, id);
    let space = super::sign::written_space(space, &rye)?;
    if args.sign {
        // Without a key nothing is written.
        rye.signing().own_pair()?;
        if space == Space::Project {
            super::acceptance::accept_first(&rye, &[], std::slice::from_ref(&item), out)?;
        }
    }
    let mut made = create(&rye, &item, lang, space)?;
    let name = made.item.id.as_str();
    if matches!(kind, Kind::Tool | Kind::Directive) && super::Verb::find(name).is_some() {
        made.remarks.push(format!("`{name}` is a verb of rye, so it runs with `rye run {name}`"));
    }
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
    let worst = super::sign::worst(&signed);
    if out.is_json() {
        let signed: Vec<Value> = signed.iter().map(|row| super::sign::row(row, false)).collect();
        let fields = json!({
            "item_id": made.item, "space": made.space, "path": made.place.path,
            "language": made.lang.as_str(), "remarks": made.remarks, "signed": signed, "next": next,
        });
        out.batch(worst.as_ref(), fields);
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
    Ok(Exit::Status(super::sign::status(worst.as_ref())))
}

/// `rye new ci`.
fn ci(
    service: Option<&str>,
    install: Option<&Install>,
    rye: &Rye,
    out: &mut Out,
) -> Result<Exit, Failure> {
    rye.spaces().project()?;
    let known = CiService::ALL.map(CiService::as_str);
    let named = service.map(|name| {
        let found = CiService::ALL.into_iter().find(|service| service.as_str() == name);
        found.ok_or_else(|| CliError::Usage {
            message: format!("`{}` is not a known service", escape_line(name)),
            help: Some(format!("it is one of `{}`", known.join("`, `"))),
        })
    });
    let Workflow { service, because, path, text, keys, unproposed } =
        workflow(rye, named.transpose()?, install)?;
    let mut next: Vec<String> = unproposed
        .iter()
        .map(|key| match rye.trust().own() {
            Ok(Some(own)) if own.fingerprint() == *key => "rye trust propose".to_owned(),
            _ => format!("have the owner of {key} run `rye trust propose` here"),
        })
        .collect();
    if service == CiService::GitLab && path != ".gitlab-ci.yml" {
        next.push(format!("name it in `.gitlab-ci.yml`: `include: {{local: {path}}}`"));
    }
    next.push(match install {
        Some(_) => format!("commit `{path}`"),
        None => format!(
            "say in `{path}` how rye is installed, and commit it; as it is, it fails on a runner \
             without rye (or remove it, and write it anew with `--install 'COMMAND'`)"
        ),
    });
    if out.is_json() {
        out.success(json!({
            "path": path, "service": service.as_str(), "because": because, "text": text, "keys": keys,
            "unproposed": unproposed, "next": next,
        }));
        return Ok(Exit::DONE);
    }
    let verb = out.paint().style(Style::Good, "created");
    out.line(&format!("{verb}  {path}"));
    if let Some(why) = because {
        let others = known.into_iter().filter(|name| *name != service.as_str());
        let others: Vec<_> = others.map(|name| format!("`rye new ci {name}`")).collect();
        out.line(&format!(
            "  for {}, because {why}; else {}",
            service.as_str(),
            others.join(" or ")
        ));
    }
    for key in &keys {
        let owner = rye.trust().owner(*key).unwrap_or_default();
        out.line(&format!("  trusts {key}  `{}`", escape_line(&owner)));
    }
    out.line("");
    out.line("next:");
    for step in next {
        out.line(&format!("  {step}"));
    }
    Ok(Exit::DONE)
}

/// The id of a new item, and its language: what a shell completes, such as `.ai/tools/x.py`, says
/// both.
///
/// # Errors
/// `id.*`; `cli.usage` if the name and `--lang` say two languages.
fn id_and_lang(
    typed: &str,
    kind: Kind,
    lang: Option<Lang>,
) -> Result<(ItemId, Option<Lang>), Failure> {
    let folder = format!(".ai/{}/", kind.folder());
    let bare = typed.strip_prefix("./").unwrap_or(typed);
    let bare = bare.strip_prefix(&folder).or_else(|| typed.strip_prefix(&format!("{kind}:")));
    let bare = bare.unwrap_or(typed);
    let (id, ext) = bare.rsplit_once('.').unwrap_or((bare, ""));
    let is_named = |lang: &Lang| lang.as_str() == ext || lang.aliases().contains(&ext);
    let ending = Lang::ALL.iter().copied().find(is_named);
    match (ending, lang) {
        (None, lang) => Ok((bare.parse()?, lang)),
        (Some(ending), lang) if lang.is_none_or(|lang| lang.may_end_like(ending)) => {
            Ok((id.parse()?, lang.or(Some(ending))))
        }
        (Some(ending), _) => {
            let message = format!(
                "`{}` ends like a file in {}, and `--lang` says another language",
                escape_line(typed),
                ending.as_str()
            );
            Err(CliError::Usage { message, help: Some("say one of the two".into()) }.into())
        }
    }
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
        Kind::Tool if made.lang == Lang::Provider => format!(
            "name it: `<model provider=\"{id}\"/>` in a directive, or `provider: {id}` in \
             `.ai/config/agent/models.yaml` of your user space, signed",
            id = made.item.id
        ),
        Kind::Tool => format!("rye run {item} name=Ada"),
        Kind::Directive => format!("rye run {item} who=Ada"),
        Kind::Knowledge | Kind::Config => format!("rye fetch {item}"),
    });
    next
}
