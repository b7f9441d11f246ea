//! A trace as a tree.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::time::Duration;

use serde_json::Value;

use super::dry_run::sandbox_text;
use crate::base::money;
use crate::base::text::escape_line;
use crate::base::time::time_text;
use crate::diagnostic::{Paint, Style};
use crate::host::{HostTraffic, RefusedCall, Traffic};
use crate::id::Ref;
use crate::trace::{
    DeniedCall, Event, LoweredLimit, MissingTool, ProviderFailure, Recorded, SkippedPath,
};

/// Most sentences that these are told in, and most names in one of them.
const WARNING_SENTENCES: usize = 20;

/// One line an event, with its time; links are indented by their depth.
pub(crate) fn trace_text(events: &[Recorded], paint: Paint) -> String {
    let mut out = String::new();
    let mut depth = 0;
    for Recorded { at_us, event } in events {
        if let Event::ChainLink { depth: at, .. } = event {
            depth = *at;
        }
        let (name, rest) = describe(event);
        let millis = format!("{}.{:03}", at_us / 1000, at_us % 1000);
        let time = paint.style(Style::Dim, &format!("{millis:>9} ms"));
        let indent = "  ".repeat(depth.min(10));
        let name = paint.style(Style::Strong, name);
        let _ = writeln!(out, "{time}  {indent}{name} {}", escape_line(&rest));
    }
    out
}

fn passed(over: &[SkippedPath]) -> String {
    over.iter().map(|passed| format!("; passed over {}: {}", passed.path, passed.why)).collect()
}

fn describe(event: &Event) -> (&'static str, String) {
    match event {
        Event::Resolve { item_id, path, space, shadowed, .. } => {
            let shadows = match shadowed.is_empty() {
                true => String::new(),
                false => format!(", shadows {}", shadowed.join(", ")),
            };
            ("resolve", format!("{item_id} -> {space} {path}{shadows}"))
        }
        Event::VerifyIntegrity { item_id, verified, key_fp, owner, .. } => {
            let verdict = if *verified { "verified" } else { "NOT verified" };
            let key = key_fp.map(|k| k.short()).unwrap_or_default();
            let owner = owner.as_ref().map(|o| format!(" by `{o}`")).unwrap_or_default();
            ("verify", format!("{item_id} {verdict}{owner} {key}"))
        }
        Event::Parse { item_id } => ("parse", item_id.to_string()),
        Event::ChainLink { item_id, executor, .. } => match executor {
            Some(executor) => ("link", format!("{item_id} -> {executor}")),
            None => ("link", format!("{item_id}, the end")),
        },
        Event::Validate { pair, findings } => match findings.is_empty() {
            true => ("validate", format!("{pair} ok")),
            false => ("validate", format!("{pair}: {}", findings.join("; "))),
        },
        Event::Anchor { declared_by, root, counts } => {
            let counts = if *counts { "counts" } else { "does not count here" };
            ("anchor", format!("{root}, declared by {declared_by}, {counts}"))
        }
        Event::VerifyDeps { files } => {
            ("modules", format!("{files} file(s) beside the tool verified"))
        }
        Event::ResolveConfig { item_id, spaces } => {
            let spaces: Vec<_> = spaces.iter().map(ToString::to_string).collect();
            ("config", format!("{item_id} from {}", spaces.join(", ")))
        }
        Event::Inputs { names } => ("inputs", names.join(" ")),
        Event::ResolveEnv { contributed_by, keys } => {
            ("env", format!("{contributed_by}: {}", keys.join(" ")))
        }
        Event::Interpreter { var, path, real, permitted, passed_over } => {
            let var = var.as_ref().map(|var| format!("{var}=")).unwrap_or_default();
            let real = if real == path { String::new() } else { format!(" -> {real}") };
            let allowed = if *permitted { ", which you allowed" } else { "" };
            ("interpreter", format!("{var}{path}{real}{allowed}{}", passed(passed_over)))
        }
        Event::External { folders, passed_over: over } => {
            ("external", folders.join(" ") + &passed(over))
        }
        Event::Sandbox { in_force } => ("sandbox", sandbox_text(in_force)),
        Event::TimeLimit { limit } => ("limit", limit_text(limit)),
        Event::Plan { digest } => ("plan", digest.to_string()),
        Event::Pin { files } => ("pin", format!("{files} verified file(s) in a private folder")),
        Event::Spawn { pid } => ("spawn", format!("process {pid}")),
        Event::Request { attempt, origin, status, failed } => {
            let what = match (status, failed) {
                (Some(status), _) => status.to_string(),
                (None, failed) => failed.unwrap_or("no answer").to_owned(),
            };
            ("request", format!("{attempt}: {} → {what}", escape_line(origin)))
        }
        Event::Hook { item_id, space, phase, verdict, reason, took_ms } => {
            let why = match reason.as_str() {
                "" => String::new(),
                reason => format!(": {}", escape_line(reason)),
            };
            ("hook", format!("{item_id} ({space}) {phase} {verdict}{why}  {}", ms_text(*took_ms)))
        }
        Event::ServerStarted { item_id, pid } => ("server", format!("{item_id} started as {pid}")),
        Event::ServerEnded { item_id, why, restart_ms } => {
            let (why, wait) = (escape_line(why), ms_text(*restart_ms));
            ("server", format!("{item_id}: {why}; not started again for {wait}"))
        }
        Event::Wait { wait_ms } => ("wait", format!("{} before the next try", ms_text(*wait_ms))),
        Event::CallDenied(call) => ("denied", denied_text(call)),
        Event::ToolsRefused { item_ids } => ("refused", tools_refused_text(item_ids)),
        Event::ToolsMissing { missing } => ("missing", tools_missing_text(missing)),
        Event::ProviderPassedOver { why, .. } => ("provider", escape_line(why)),
        Event::LimitLowered(lowered) => ("lowered", limit_lowered_text(lowered)),
        Event::ThreadRuns { thread_id } => ("thread", thread_runs_text(thread_id)),
        Event::ProviderFailed(failure) => ("provider", provider_failed_text(failure)),
        Event::Redirect { origin, followed } => {
            let how = if *followed { "followed" } else { "not followed" };
            ("redirect", format!("{}, {how}", escape_line(origin)))
        }
        Event::Traffic { traffic } => ("traffic", traffic_text(traffic)),
        Event::NewRepositories { at, may_be_more } => {
            let more = if *may_be_more { " and perhaps more" } else { "" };
            ("new git", escape_line(&at.join(" ")) + more)
        }
        Event::Call { call_id, tool_id, failed, took_ms } => {
            let (tool, came) = (escape_line(tool_id), failed.as_deref().unwrap_or("done"));
            ("call", format!("{call_id} {tool} {came}  {}", ms_text(*took_ms)))
        }
        Event::Exit { exit_code, signal, timed_out } => {
            ("exit", exit_text(*exit_code, *signal, *timed_out))
        }
        Event::Refused { item_id, code } => {
            ("refused", format!("{} {code}", item_id.as_deref().unwrap_or_default()))
        }
    }
}

/// The calls of threads that were not permitted, a line for each directive.
pub(crate) fn denied_calls_text(denied: &[DeniedCall]) -> Vec<String> {
    let directives: BTreeSet<_> = denied.iter().map(|call| &call.directive).collect();
    let line = |directive: &String| {
        let calls: Vec<_> = denied.iter().filter(|call| call.directive == *directive).collect();
        let items: BTreeSet<_> = calls.iter().map(|call| format!("`{}`", call.item_id)).collect();
        let needed: BTreeSet<_> = calls.iter().map(|call| needed_permission(call)).collect();
        // By their names, the classes that are acknowledged are in the order of how grave they are.
        let gravest = calls.iter().filter_map(|call| call.acknowledge).max();
        let joined = |texts: BTreeSet<String>| first_named(texts.into_iter(), WARNING_SENTENCES);
        let beside = gravest.map(|class| format!(", and beside them {}", acknowledgement(class)));
        let beside = beside.unwrap_or_default();
        let were = if calls.len() == 1 { "call was" } else { "calls were" };
        format!(
            "{} {were} denied: {}; `<permissions>` of `directive:{}` would need {}{beside}",
            calls.len(),
            joined(items),
            escape_line(directive),
            joined(needed)
        )
    };
    directives.into_iter().map(line).collect()
}

/// The permission that `<permissions>` lacks for a call.
fn needed_permission(call: &DeniedCall) -> String {
    let (action, kind, id) = (call.action(), call.item_id.kind, call.dotted_id());
    format!("`<{action}><{kind}>{id}</{kind}></{action}>`")
}

/// The acknowledgement that a directive lacks for a call.
fn acknowledgement(class: &str) -> String {
    format!("`<acknowledge risk=\"{class}\">why</acknowledge>`")
}

/// The messages for the caller that started a thread, about it and those below it, beside its
/// outcome: each one once.
pub(crate) fn thread_warnings(events: &[Event]) -> Vec<String> {
    let (mut told, mut denied) = (Vec::new(), Vec::new());
    for event in events {
        let line = match event {
            Event::ToolsRefused { item_ids } => tools_refused_text(item_ids),
            Event::ToolsMissing { missing } => tools_missing_text(missing),
            Event::ProviderPassedOver { why, .. } => escape_line(why),
            Event::LimitLowered(lowered) => limit_lowered_text(lowered),
            Event::CallDenied(call) => {
                denied.push(call.clone());
                continue;
            }
            _ => continue,
        };
        if !told.contains(&line) {
            told.push(line);
        }
    }
    told.extend(denied_calls_text(&denied));
    let more = told.len().saturating_sub(WARNING_SENTENCES);
    if more > 0 {
        told.truncate(WARNING_SENTENCES);
        told.push(format!("{more} more warnings are left out"));
    }
    told
}

/// The name of a thread, for the caller that may want to stop it or look at it.
pub(crate) fn thread_runs_text(id: &str) -> String {
    format!("runs as thread {id}")
}

/// A provider that is asked again, in one line; foreign words in it are escaped.
pub(crate) fn provider_failed_text(failure: &ProviderFailure) -> String {
    let ProviderFailure { error, tries, most_tries, wait_ms, .. } = failure;
    let (wait, next) = (ms_text(*wait_ms), tries + 1);
    format!("{error}; trying again in {wait}, try {next} of {most_tries}")
}

fn denied_text(DeniedCall { tool, item_id, .. }: &DeniedCall) -> String {
    format!("{item_id}, called by {}", escape_line(tool))
}

/// Tools that a model is not told of, as they would be refused, in one line.
pub(crate) fn tools_refused_text(items: &[Ref]) -> String {
    let named = first_named(items.iter().map(|item| format!("`{item}`")), TOOLS_NAMED);
    let why = items.first().map(|item| format!("; see `rye why {item}`")).unwrap_or_default();
    format!("not offered to the model, as they would be refused: {named}{why}")
}

/// Tools that a model is not told of, as there are none, in one line.
pub(crate) fn tools_missing_text(missing: &[MissingTool]) -> String {
    let named = missing.iter().map(|MissingTool { item_id, near }| {
        let near = near.as_ref().map(|near| format!(" (did you mean `{near}`?)"));
        format!("`{item_id}`{}", near.unwrap_or_default())
    });
    let named = first_named(named, TOOLS_NAMED);
    format!("not offered to the model, as no space has them: {named}")
}

/// A limit that is less than the start of a thread asks for, in one line.
pub(crate) fn limit_lowered_text(lowered: &LoweredLimit) -> String {
    let LoweredLimit { limit, asked, value, by } = lowered;
    let shown = |amount: u64| match *limit {
        "spend" => money::shown(amount),
        _ => amount.to_string(),
    };
    let (asked, value) = (shown(*asked), shown(*value));
    format!("the limit `{limit}` is {value} and not {asked}: no more is allowed by {by}")
}

/// So many tools that a model is not told of are named.
const TOOLS_NAMED: usize = 3;

/// The first of several names, and how many more there are.
fn first_named(names: impl ExactSizeIterator<Item = String>, most: usize) -> String {
    let more = match names.len().saturating_sub(most) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    names.take(most).collect::<Vec<_>>().join(", ") + &more
}

/// The traffic through rye's proxy, in one line.
pub(super) fn traffic_text(traffic: &Traffic) -> String {
    let host = |host: &HostTraffic| {
        let HostTraffic { host, calls, sent_bytes, received_bytes } = host;
        format!("{host} {calls}× {sent_bytes} B out, {received_bytes} B in")
    };
    let refused = |call: &RefusedCall| {
        format!("refused {} {}×: {}", escape_line(&call.what), call.count, call.why.as_str())
    };
    let rows: Vec<_> =
        traffic.hosts.iter().map(host).chain(traffic.refused.iter().map(refused)).collect();
    if rows.is_empty() { "nothing".to_owned() } else { rows.join("; ") }
}

fn ms_text(ms: u64) -> String {
    time_text(Duration::from_millis(ms))
}

/// A limit as [`crate::plan::TimeLimit`] tells it as data.
fn limit_text(limit: &Value) -> String {
    let of = |limit: &Value| {
        let text = |key: &str| limit[key].as_str().unwrap_or_default().to_owned();
        let time = ms_text(limit["timeout_ms"].as_u64().unwrap_or_default());
        match text("key") {
            key if key.is_empty() => format!("{time} by {}", text("set_by")),
            key => format!("{time} by `{key}` in {} ({})", text("path"), text("space")),
        }
    };
    let longer = limit.get("passed_over");
    let longer = longer.map(|longer| format!("; passed over as longer: {}", of(longer)));
    format!("{}{}", of(limit), longer.unwrap_or_default())
}

fn exit_text(exit_code: Option<i32>, signal: Option<i32>, timed_out: bool) -> String {
    let how = match (exit_code, signal) {
        (Some(code), None) => format!("status {code}"),
        (Some(code), Some(signal)) => format!("status {code}, that of signal {signal}"),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => "no status".to_owned(),
    };
    if timed_out { format!("{how}, past its time limit") } else { how }
}
