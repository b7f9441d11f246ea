//! `rye hooks`: the hooks before and after every call of a tool.

use serde_json::{Map, Value, json};

use super::context::Context;
use super::error::CliError;
use super::exit::Exit;
use super::input::read_object;
use super::named::query;
use super::out::Out;
use crate::base::text::{escape, escape_line, near};
use crate::diagnostic::{Diagnostic, Failure, Style};
use crate::exec_protocol::HookVerdict;
use crate::execute::EXECUTE_TOOL_FAILED;
use crate::id::{Kind, Ref};
use crate::rye::{CannotAsk, FoundHook, HOOK_DENIED, HookFailure};

/// See and try the hooks that judge calls of tools
#[derive(clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(clap::Subcommand)]
enum Verb {
    /// List the hooks of all spaces in the order in which they are asked, broken and missing ones
    /// too
    List,
    /// Ask one hook as a call would, and show its verdict
    Test {
        /// The hook, such as `tool:hooks/acme/guard`
        #[arg(value_name = "REF|PATH", add = super::complete::refs())]
        hook: String,
        /// The input beside its kind and phase: a JSON object, `@FILE`, or `-` for standard input
        #[arg(long, value_name = "JSON", default_value = "{}")]
        payload: String,
        /// When it is asked; by default its first phase
        #[arg(long, value_name = "PHASE")]
        phase: Option<String>,
    },
}

/// The keys of a payload; each value is an object.
const PARTS: [&str; 3] = ["request", "response", "event"];

pub(super) fn run(args: &Args, context: &Context, out: &mut Out) -> Result<Exit, Failure> {
    match &args.verb {
        Verb::List => list(context, out),
        Verb::Test { hook, payload, phase } => test(hook, payload, phase.as_deref(), context, out),
    }
}

fn list(context: &Context, out: &mut Out) -> Result<Exit, Failure> {
    let hooks = context.rye()?.hooks().all()?;
    if out.is_json() {
        let rows: Vec<Value> = hooks.iter().map(row).collect();
        out.success(json!({"hooks": rows}));
        return Ok(Exit::DONE);
    }
    let paint = out.paint();
    for standing in &hooks {
        let required = if standing.is_required { "  required" } else { "" };
        out.line(&format!(
            "{}  {}{required}",
            paint.style(Style::Strong, &standing.item.to_string()),
            paint.style(Style::Dim, &standing.space.to_string())
        ));
        match &standing.hook {
            Ok(armed) => {
                let hook = &armed.hook;
                let does = match (hook.filters, hook.replaces) {
                    (false, _) => "is told",
                    (true, false) => "judges",
                    (true, true) => "judges and may replace",
                };
                let phases = hook.phases.iter().map(|phase| phase.name()).collect::<Vec<_>>();
                let about = match hook.patterns() {
                    [] => "every call".to_owned(),
                    some => some.join(", "),
                };
                out.line(&format!(
                    "    {does}: {} of {about}  {}",
                    phases.join(", "),
                    paint.style(Style::Dim, &format!("order {}", hook.order))
                ));
            }
            Err(CannotAsk { why, help }) => {
                let broken = paint.style(Style::Error, "cannot be asked");
                out.line(&format!("    {broken}: {}", escape_line(why)));
                if let Some(help) = help {
                    out.line(&format!("    help: {}", escape_line(help)));
                }
            }
        }
    }
    if hooks.is_empty() {
        out.line("no hooks; one is a tool below `.ai/tools/hooks/` with `tool_type: hook`");
    }
    Ok(Exit::DONE)
}

fn row(standing: &FoundHook) -> Value {
    let mut row = json!({
        "item_id": standing.item, "space": standing.space, "required": standing.is_required,
    });
    match &standing.hook {
        Ok(armed) => {
            let hook = &armed.hook;
            let phases: Vec<_> = hook.phases.iter().map(|phase| phase.name()).collect();
            row["hook"] = hook.kind.name().into();
            row["phases"] = json!(phases);
            row["mode"] = if hook.filters { "filter" } else { "observe" }.into();
            row["replaces"] = hook.replaces.into();
            row["match"] = json!(hook.patterns());
            row["order"] = json!(hook.order);
        }
        Err(CannotAsk { why, help }) => {
            row["error"] = why.as_str().into();
            row["help"] = json!(help);
        }
    }
    row
}

fn test(
    hook: &str,
    payload: &str,
    phase: Option<&str>,
    context: &Context,
    out: &mut Out,
) -> Result<Exit, Failure> {
    let rye = context.rye()?;
    let query = query(hook, &rye)?;
    let item = Ref::new(query.kind.unwrap_or(Kind::Tool), query.id);
    let payload: Map<String, Value> = read_object(payload)?;
    for (name, part) in &payload {
        let near = near(name, PARTS.into_iter(), 1).pop();
        let near = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
        let message = match (PARTS.contains(&name.as_str()), part.is_object()) {
            (true, true) => continue,
            (true, false) => format!("`{name}` is not a JSON object"),
            (false, _) => format!("a hook is shown no `{}`{near}", escape_line(name)),
        };
        let help = "such as `--payload '{\"request\": {\"name\": \"acme/x\", \"args\": {}}}'`";
        return Err(CliError::Usage { message, help: Some(help.into()) }.into());
    }
    let verdict = rye.hooks().try_one(&item, phase, &payload)?;
    let worst = failed(&item, &verdict);
    let (allows, fields, text) = match verdict {
        Ok(HookVerdict::Allow { metadata, replace }) => {
            let shown =
                replace.as_ref().map(|it| format!(", and replaces {}", Value::from(it.clone())));
            let text = format!("allows{}", shown.unwrap_or_default());
            (true, json!({"allow": true, "metadata": metadata, "replace": replace}), text)
        }
        Ok(HookVerdict::Deny { reason, enforced, metadata }) => {
            let text = format!("denies: {}", escape_line(&reason));
            let fields = json!({
                "allow": false, "reason": reason, "enforced": enforced, "metadata": metadata,
            });
            (false, fields, text)
        }
        // One that is only told decides nothing.
        Err(HookFailure { why, tail, filters: false }) => {
            let text = format!("allows, since it is only told; it failed: {}", escape_line(&why));
            if !out.is_json() && !tail.is_empty() {
                out.note(escape(&tail).trim_end());
            }
            let fields = json!({
                "allow": true, "reason": why, "no_answer": true, "data": {"stderr_tail": tail},
            });
            (true, fields, text)
        }
        Err(HookFailure { why, tail, .. }) => {
            let text = format!("denies, because it gave no answer: {}", escape_line(&why));
            if !out.is_json() && !tail.is_empty() {
                out.note(escape(&tail).trim_end());
            }
            let fields = json!({
                "allow": false, "reason": why, "no_answer": true, "data": {"stderr_tail": tail},
            });
            (false, fields, text)
        }
    };
    if out.is_json() {
        let mut fields = fields;
        fields["item_id"] = json!(item);
        out.batch(worst.as_ref(), fields);
    } else {
        let style = if allows { Style::Good } else { Style::Error };
        let (word, rest) = text.split_at(if allows { "allows".len() } else { "denies".len() });
        out.line(&format!("{item} {}{rest}", out.paint().style(style, word)));
    }
    Ok(Exit::Status(super::sign::status(worst.as_ref())))
}

/// The fault that would fail a call: the hook denies, or gives no answer.
fn failed(item: &Ref, verdict: &Result<HookVerdict, HookFailure>) -> Option<Diagnostic> {
    let (code, message, help) = match verdict {
        Ok(HookVerdict::Allow { .. }) => return None,
        Ok(HookVerdict::Deny { reason, .. }) => (
            HOOK_DENIED,
            format!("the hook denies: {reason}"),
            "so ends a call that it is shown so",
        ),
        Err(HookFailure { why, .. }) => {
            (EXECUTE_TOOL_FAILED, why.clone(), "mend the hook, and test it again")
        }
    };
    Some(Diagnostic {
        code,
        message,
        help: Some(help.to_owned()),
        place: None,
        item: Some(item.to_string()),
        data: Map::new(),
    })
}
