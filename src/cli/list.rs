//! `rye list`: the items, by space and by bundle.

use serde_json::{Value, json};

use super::context::Context;
use super::exit::Exit;
use super::named::{Named, is_path};
use super::out::Out;
use crate::base::text::{escape_line, near};
use crate::diagnostic::{Code, Failure, Style};
use crate::graph::{Graph, InventoryTitle};
use crate::id::{Kind, Query, Ref, Space};
use crate::parse::Risk;
use crate::rye::{Described, Rye};
use crate::space::{Entry, Odd};
use crate::verify::VERIFY_UNTRUSTED;

/// How much of a description a row shows where there is no terminal, in characters.
const ABOUT: usize = 90;

/// List items by space, without verifying them
#[derive(clap::Args, Clone)]
pub(super) struct Args {
    /// Only items whose id or ref begins with this; or a glob such as 'acme/**', a folder, or a
    /// kind such as `tool`
    #[arg(value_name = "PREFIX|GLOB|PATH")]
    prefix: Option<String>,
    /// Only this kind; by default tools and directives
    #[arg(long, value_name = "KIND", value_parser = super::value_parsers::kind())]
    kind: Option<Kind>,
    /// Only this space
    #[arg(long, value_name = "SPACE", value_parser = super::value_parsers::space())]
    space: Option<Space>,
    /// Runtimes, primitives, knowledge and config too
    #[arg(short, long)]
    all: bool,
    /// Verify each item, show its description and its risk, `L0` to `L3`
    #[arg(short, long)]
    long: bool,
    /// As an inventory for other tools: a CycloneDX document of each item of the project, whatever
    /// its kind, and of all that they run through and use
    #[arg(long, conflicts_with_all = ["all", "long"])]
    cyclonedx: bool,
}

/// One listed item.
struct Row {
    entry: Entry,
    /// The tool that is not verified and lists it.
    listed_by: Option<Ref>,
    shadowed: bool,
    described: Option<Result<Described, Failure>>,
    risk: Option<Risk>,
    /// Why it cannot run with its config.
    config: Option<Failure>,
}

impl Row {
    /// The row is refused for this reason.
    fn is_refused(&self, reason: impl Fn(Code) -> bool) -> bool {
        matches!(&self.described, Some(Err(failure)) if reason(failure.reason()))
    }
}

pub(super) fn run(args: &Args, context: &Context, out: &mut Out) -> Result<Exit, Failure> {
    let rye = context.rye()?;
    if args.cyclonedx {
        return inventory(args, &rye, out);
    }
    let mut rows = rows(args, &rye)?;
    // A kind as a word, where no id begins so.
    if let (true, None, Some(word)) = (rows.is_empty(), args.kind, args.prefix.as_deref())
        && let Some(kind) =
            Kind::ALL.into_iter().find(|it| [it.as_str(), it.folder()].contains(&word))
    {
        rows = self::rows(&Args { prefix: None, kind: Some(kind), ..args.clone() }, &rye)?;
    }
    let odd = rye.items().survey(&[])?.odd;
    if out.is_json() {
        let items: Vec<Value> = rows.iter().map(to_json).collect();
        let mut fields = json!({"items": items});
        if !odd.is_empty() {
            let paths = odd.iter().map(|o| json!({"path": o.place.path, "why": o.why}));
            fields["not_items"] = paths.collect();
        }
        out.success(fields);
        return Ok(Exit::DONE);
    }
    warn_of_odd(&odd, out);
    if let Some(prefix) = args.prefix.as_deref().filter(|_| rows.is_empty()) {
        out.line(&nothing(prefix, args, &rye)?);
        return Ok(Exit::DONE);
    }
    text(&rows, true, out);
    Ok(Exit::DONE)
}

/// How many files that cannot be items are told one by one.
const TOLD: usize = 5;

/// Says what lies among the items and is none. An item in a folder that cannot be listed still
/// answers to its name.
pub(super) fn warn_of_odd(odd: &[Odd], out: &mut Out) {
    let (folders, files): (Vec<&Odd>, Vec<&Odd>) = odd.iter().partition(|odd| odd.is_folder());
    for odd in folders.into_iter().chain(files.iter().copied().take(TOLD)) {
        out.warn(&odd.diagnostic().message);
    }
    if files.len() > TOLD {
        out.warn(&format!("and {} more files: `rye verify` names them", files.len() - TOLD));
    }
}

/// The items that are listed.
enum Asked {
    /// Ids that begin with this, of one kind if it is said.
    Prefix(Option<Kind>, String),
    Named(Named),
}

impl Asked {
    fn read(word: &str, rye: &Rye) -> Result<Self, Failure> {
        if is_path(word) || word.contains('*') {
            return Ok(Self::Named(Named::read(word, rye)?));
        }
        Ok(match word.split_once(':') {
            Some((kind, id)) => Self::Prefix(Some(kind.parse()?), id.to_owned()),
            None => Self::Prefix(None, word.to_owned()),
        })
    }

    /// The kind that is said.
    fn kind(&self) -> Option<Kind> {
        match self {
            Self::Prefix(kind, _) => *kind,
            Self::Named(Named::Item(query)) => query.kind,
            Self::Named(Named::Many(pattern, _)) => pattern.kind(),
        }
    }

    fn means(&self, entry: &Entry) -> bool {
        match self {
            Self::Prefix(_, begins) => entry.item.id.as_str().starts_with(begins),
            Self::Named(named) => named.means(entry),
        }
    }
}

/// The message for a prefix that no item begins with.
fn nothing(prefix: &str, args: &Args, rye: &Rye) -> Result<String, Failure> {
    if is_path(prefix) {
        return Ok(format!("nothing is here: `{}` holds no item", escape_line(prefix)));
    }
    if prefix.contains('*') {
        return Ok(format!("no item matches `{}`", escape_line(prefix)));
    }
    let (kind, prefix) = match prefix.split_once(':') {
        Some((kind, prefix)) => (Some(kind.parse()?), prefix),
        None => (args.kind, prefix),
    };
    let all = Args { prefix: None, long: false, kind, ..args.clone() };
    let ids: Vec<String> =
        rows(&all, rye)?.into_iter().map(|row| row.entry.item.to_string()).collect();
    let ids = ids.iter().filter_map(|item| item.split_once(':')).map(|(_, id)| id);
    // Names are cut to the length of the prefix before they are compared.
    let length = prefix.chars().count();
    let starts: Vec<String> = ids.map(|id| id.chars().take(length).collect()).collect();
    let near = near(prefix, starts.iter().map(String::as_str), 1);
    let prefix = escape_line(prefix);
    Ok(match near.is_empty() {
        true => format!("no id begins with `{prefix}`"),
        false => format!("no id begins with `{prefix}`; did you mean `{}`?", near.join("` or `")),
    })
}

/// `rye` without arguments: what can be run here, and what to do next.
pub(super) fn here(context: &Context, out: &mut Out) -> Result<Exit, Failure> {
    let rye = context.rye()?;
    let args =
        Args { prefix: None, kind: None, space: None, all: false, long: true, cyclonedx: false };
    let rows = rows(&args, &rye)?;
    if out.is_json() {
        let items: Vec<Value> = rows.iter().map(to_json).collect();
        out.success(json!({"items": items}));
        return Ok(Exit::DONE);
    }
    text(&rows, false, out);
    warn_of_odd(&rye.items().survey(&[])?.odd, out);
    if rye.spaces().project().is_err() {
        out.line("\nthere is no project here: `rye init` makes this folder one");
    } else if !rye.project().is_accepted() {
        out.line("\nthis project is not accepted: `rye trust review` shows what it brings");
    } else if rows.iter().any(|row| row.is_refused(|reason| reason == VERIFY_UNTRUSTED)) {
        out.line(&format!("\n{}", super::trust::UNKNOWN_SIGNERS));
    }
    let dim = |text: &str| out.paint().style(Style::Dim, text);
    let hints = [
        dim("run one with `rye run <ref> name=value`, look first with `--dry-run`"),
        dim("inputs of one: `rye show <ref>`   all verbs: `rye --help`"),
    ];
    out.line("");
    for hint in hints {
        out.line(&hint);
    }
    Ok(Exit::DONE)
}

fn query(Entry { item, space, bundle, .. }: Entry) -> Query {
    Query { space: Some(space), bundle, ..item.into() }
}

/// The project's items, or those of the space that is asked for, with all that is in reach of them.
fn inventory(args: &Args, rye: &Rye, out: &mut Out) -> Result<Exit, Failure> {
    let space = args.space.unwrap_or(Space::Project);
    let name = match space {
        Space::Project => {
            rye.spaces().project()?;
            let name = rye.spaces().project_path().file_name();
            name.map(|name| name.to_string_lossy().into_owned())
        }
        Space::User | Space::System => None,
    };
    let rows = rows(&Args { space: Some(space), all: true, ..args.clone() }, rye)?;
    let queries = rows.into_iter().map(|row| query(row.entry)).collect();
    let reached = rye.items().reach(queries).into_iter().collect::<Result<Vec<_>, _>>()?;
    let title = InventoryTitle {
        name: name.as_deref().unwrap_or(space.as_str()),
        made_at: crate::rye::now().to_string(),
    };
    let inventory = Graph::from_reached(&reached)
        .to_inventory(&title, &|path| rye.host().digest_file(path).ok());
    let inventory = serde_json::to_value(inventory).expect("an inventory is JSON");
    match out.is_json() {
        true => out.success(json!({"cyclonedx": inventory})),
        false => out.exact(&format!("{inventory:#}\n")),
    }
    Ok(Exit::DONE)
}

fn rows(args: &Args, rye: &Rye) -> Result<Vec<Row>, Failure> {
    let asked = args.prefix.as_deref().map(|word| Asked::read(word, rye)).transpose()?;
    let kinds: Vec<Kind> = match (args.kind, asked.as_ref().and_then(Asked::kind)) {
        (Some(kind), _) | (None, Some(kind)) => vec![kind],
        _ if args.all => Kind::ALL.to_vec(),
        _ => vec![Kind::Tool, Kind::Directive],
    };
    let mut rows: Vec<Row> = Vec::new();
    let mut seen = std::collections::HashSet::new();
    let mut queries = Vec::new();
    for space in Space::NEAREST_FIRST {
        let mut entries = Vec::new();
        for kind in &kinds {
            entries.extend(rye.items().list_with_tools(space, *kind)?);
        }
        // Items of bundles are listed after those of the space itself.
        entries.sort_by(|(a, _), (b, _)| a.bundle.cmp(&b.bundle));
        for (entry, listed_by) in entries {
            if entry.item.id.is_runtime_part() && !args.all && asked.is_none() {
                continue;
            }
            if asked.as_ref().is_some_and(|asked| !asked.means(&entry)) {
                continue;
            }
            // `rye trust list` has what is about keys.
            if entry.item.is_about_keys() {
                continue;
            }
            // Rye's own repository holds exact copies of the system's items.
            if rye.items().is_system_copy(&entry) {
                continue;
            }
            let shadowed = !seen.insert(entry.item.clone());
            if args.space.is_some_and(|wanted| wanted != space) {
                continue;
            }
            queries.push(query(entry.clone()));
            rows.push(Row {
                entry,
                listed_by,
                shadowed,
                described: None,
                risk: None,
                config: None,
            });
        }
    }
    if args.long {
        let described = rye.items().describe_all(queries);
        for (row, result) in rows.iter_mut().zip(described) {
            row.described = Some(result);
        }
        let good = |row: &Row| matches!(row.described, Some(Ok(_)));
        let of: Vec<_> =
            rows.iter().filter_map(|row| row.described.as_ref()?.as_ref().ok()).collect();
        let (refused, risks) =
            (rye.items().refused_configs(of.clone()), crate::rye::risks(rye, of));
        let of = rows.iter_mut().filter(|row| good(row));
        for (row, (why, risk)) in of.zip(refused.into_iter().zip(risks)) {
            (row.config, row.risk) = (why, risk);
        }
    }
    Ok(rows)
}

fn text(rows: &[Row], has_tiers: bool, out: &mut Out) {
    let paint = out.paint();
    let width = rows.iter().map(|row| row.entry.item.to_string().len()).max().unwrap_or(0).min(48);
    let mut last = None;
    for row in rows {
        let Entry { item, space, bundle, .. } = &row.entry;
        let home = (space, bundle);
        if last != Some(home) {
            if last.is_some() {
                out.line("");
            }
            let bundle = bundle.as_ref().map(|name| format!(":{name}")).unwrap_or_default();
            out.line(&paint.style(Style::Strong, &format!("{}{bundle}", space.as_str())));
            last = Some(home);
        }
        let mut line = match &row.described {
            None => format!("  {item}"),
            Some(_) => format!("  {:<width$}", item.to_string()),
        };
        match &row.described {
            None => {}
            Some(Ok(described)) => {
                if has_tiers {
                    let tier = row.risk.map_or("--", |risk| risk.tier.as_str());
                    line.push_str(&format!("  {tier}"));
                }
                let about = described.item.description().unwrap_or_default();
                let whole = escape_line(about);
                let beside = line.chars().count() + 2;
                // The last column is for the sign that the text goes on.
                let room = out.columns().map(|columns| columns.saturating_sub(beside + 1));
                let mut about: String = whole.chars().take(room.unwrap_or(ABOUT)).collect();
                if about.len() < whole.len() {
                    about.push('…');
                }
                line.push_str("  ");
                line.push_str(&paint.style(Style::Dim, &about));
            }
            Some(Err(failure)) => {
                line.push_str("  ");
                line.push_str(&paint.style(Style::Error, &format!("refused: {}", failure.code())));
            }
        }
        if let Some(failure) = &row.config {
            let code = failure.code();
            let item = failure.diagnostic().item.filter(|config| *config != item.to_string());
            let whose = item.unwrap_or_else(|| "its config".into());
            let text = format!("  cannot run: {whose}: {code}");
            line.push_str(&paint.style(Style::Error, &text));
        }
        if let Some(tool) = &row.listed_by {
            line.push_str(&paint.style(Style::Dim, &format!("  (a file of {tool})")));
        }
        if row.shadowed {
            line.push_str(&paint.style(Style::Warning, "  (shadowed)"));
        }
        out.line(line.trim_end());
    }
    if rows.is_empty() {
        out.line("nothing here yet: `rye init` sets a project up");
    }
}

fn to_json(row: &Row) -> Value {
    let Entry { item, space, bundle, .. } = &row.entry;
    let mut out = json!({"item_id": item, "space": space, "shadowed": row.shadowed});
    let Value::Object(map) = &mut out else { return out };
    if let Some(tool) = &row.listed_by {
        map.insert("listed_by".into(), json!(tool));
    }
    if let Some(failure) = &row.config {
        let told = json!({"code": failure.code(), "error": failure.to_string()});
        map.insert("cannot_run".into(), told);
    }
    if let Some(bundle) = bundle {
        map.insert("bundle".into(), json!(bundle));
    }
    match &row.described {
        None => {}
        Some(Ok(described)) => {
            map.insert("description".into(), json!(described.item.description()));
            map.insert("version".into(), json!(described.detail.version));
            map.insert("signer".into(), json!(described.detail.signer));
            if let Some(risk) = &row.risk {
                map.insert("risk".into(), json!(risk));
            }
        }
        Some(Err(failure)) => {
            let told = json!({"code": failure.code(), "error": failure.to_string()});
            map.insert("refused".into(), told);
        }
    }
    out
}
