//! The report of a run.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::checked_thread::CheckedThread;
use super::detached::DetachedReport;
use super::error::ReceiptError;
use super::remote::RemoteReport;
use super::thread::ThreadReport;
use crate::base::json::object;
use crate::base::limits::OUTPUT_BYTES;
use crate::base::{Digest, HostRule, Mask};
use crate::diagnostic::{Code, Diagnostic, ExitStatus};
use crate::execute::{EXECUTE_TOOL_FAILED, Outcome, new_repositories_text};
use crate::host::Refusal;
use crate::id::{Fingerprint, Ref, Space};
use crate::plan::Plan;
use crate::trace::{Recorded, Warning};
use crate::verify::{Integrity, Source};

/// One sentence that goes with every directive that is handed to an agent.
const INSTRUCTIONS: &str =
    "Follow the directions in `your_directions` now, step by step, to their end.";

/// The fields that rye itself sets in the report of a tool, by which callers go on.
const OF_RYE: [&str; 5] = ["status", "code", "type", "item_id", "chain"];

/// One link of a chain, for `--chain-details`.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub(crate) struct Detail {
    #[serde(rename = "item_id")]
    pub(crate) item: Ref,
    pub(crate) space: Space,
    pub(crate) path: String,
    pub(crate) version: Option<String>,
    /// SHA-256 of the file without its signature line.
    pub(crate) digest: Digest,
    pub(crate) signer: Option<Fingerprint>,
    pub(crate) owner: Option<String>,
    pub(crate) integrity: Integrity,
}

impl Detail {
    pub(crate) fn new(source: &Source, version: Option<String>) -> Self {
        Self {
            item: source.item().clone(),
            space: source.space(),
            path: source.place().path,
            version,
            digest: source.digest(),
            signer: source.signer().map(|s| s.key),
            owner: source.signer().and_then(|s| s.owner.clone()),
            integrity: source.integrity(),
        }
    }
}

/// The links of a chain by their ids; each is a tool.
pub(crate) fn plain_ids(chain: &[String]) -> Vec<&str> {
    chain.iter().map(|link| link.split_once(':').map_or(link.as_str(), |(_, id)| id)).collect()
}

/// A refusal that dev mode turned into a warning, with the item it is about.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub(crate) struct Warned {
    pub(crate) item_id: Ref,
    pub(crate) code: Code,
    pub(crate) message: String,
}

impl Warned {
    pub(crate) fn new(item_id: Ref, warning: Warning) -> Self {
        Self { item_id, code: warning.code, message: warning.message }
    }

    /// The warnings of each of these items.
    pub(crate) fn of_sources<'a>(sources: impl Iterator<Item = &'a Source>) -> Vec<Self> {
        let warned = sources.flat_map(|source| {
            let item = source.item();
            source.warnings().iter().map(|warning| Self::new(item.clone(), warning.clone()))
        });
        warned.collect()
    }
}

/// The note of a hook that allowed a call and added metadata, or replaced what it was shown.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub(crate) struct HookNote {
    pub(crate) item_id: Ref,
    pub(crate) phase: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) metadata: Option<Value>,
    /// SHA-256 of what it was shown, as text, and of what it put in its place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) was_sha256: Option<Digest>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) is_sha256: Option<Digest>,
}

/// How a tool's run, or dry run, came out.
#[derive(Debug)]
pub(crate) struct ToolReport {
    pub(crate) item: Ref,
    pub(crate) details: Vec<Detail>,
    pub(crate) plan: Plan,
    /// `None` for a dry run.
    pub(crate) outcome: Option<Outcome>,
    pub(crate) hooks: Vec<HookNote>,
    /// The id of what waits for a person, where the tool asked for one.
    pub(crate) pending_id: Option<String>,
    pub(crate) run_id: String,
    /// Where receipts of the run were written.
    pub(crate) receipts: Vec<PathBuf>,
    /// A receipt that was asked for and could not be written once the run was done.
    pub(crate) lost: Option<ReceiptError>,
    pub(crate) warnings: Vec<Warned>,
}

/// A directive that is handed to an agent, or was only checked.
#[derive(Debug)]
pub(crate) struct DirectiveReport {
    pub(crate) item: Ref,
    pub(crate) body: String,
    pub(crate) data: Map<String, Value>,
    pub(crate) inputs: Map<String, Value>,
    pub(crate) signer: Option<Fingerprint>,
    pub(crate) dry_run: bool,
    /// Of one that was tried as a thread: what would start.
    pub(crate) thread: Option<Box<CheckedThread>>,
    pub(crate) warnings: Vec<Warned>,
}

/// The report of a run.
#[derive(Debug)]
pub(crate) enum Report {
    Tool(Box<ToolReport>),
    Directive(Box<DirectiveReport>),
    Knowledge {
        item: Ref,
        content: String,
        warnings: Vec<Warned>,
    },
    Thread(Box<ThreadReport>),
    /// It goes on in a process of its own.
    Detached(Box<DetachedReport>),
    /// A node carried it out, or goes on with it.
    Remote(Box<RemoteReport>),
}

/// Parts of the JSON form that are added to the result if they are asked for.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ReportParts<'a> {
    pub(crate) chain_details: bool,
    pub(crate) trace: Option<&'a [Recorded]>,
}

impl Report {
    /// Returns true if the tool itself failed.
    pub(crate) fn tool_failed(&self) -> bool {
        match self {
            Self::Tool(tool) => tool.outcome.as_ref().is_some_and(|o| o.failure.is_some()),
            Self::Remote(remote) => remote.has_failed(),
            _ => false,
        }
    }

    /// The exit status that the outcome stands for: a tool that failed, or one that waits for a
    /// person, is no success.
    pub(crate) fn exit_status(&self) -> u8 {
        match self {
            _ if self.tool_failed() => ExitStatus::ToolFailed as u8,
            _ if self.waits() => ExitStatus::Waits as u8,
            _ => 0,
        }
    }

    /// Returns true if the tool or the thread waits for a person.
    pub(crate) fn waits(&self) -> bool {
        match self {
            Self::Tool(tool) => tool.outcome.as_ref().is_some_and(|o| o.pending.is_some()),
            Self::Thread(thread) => thread.awaited.is_some(),
            Self::Remote(remote) => remote.pending_id().is_some(),
            _ => false,
        }
    }

    /// The message about an answer that is not whole.
    pub(crate) fn cut_text(&self) -> Option<String> {
        let Self::Tool(tool) = self else { return None };
        let outcome = tool.outcome.as_ref().filter(|outcome| outcome.truncated)?;
        let (item, most) = (&tool.item, OUTPUT_BYTES >> 20);
        Some(match outcome.http {
            Some(_) => format!("the answer to `{item}` was cut at `max_response_bytes`"),
            None => {
                format!("what `{item}` wrote was cut: of each stream the first {most} MiB are kept")
            }
        })
    }

    /// That the tool made a repository.
    pub(crate) fn new_repositories_text(&self) -> Option<String> {
        let Self::Tool(tool) = self else { return None };
        let made = new_repositories_text(&tool.outcome.as_ref()?.new_repositories)?;
        Some(format!("`{}`: {made}", tool.item))
    }

    /// The receipt that is missing.
    pub(crate) fn lost_receipt(&self) -> Option<Diagnostic> {
        match self {
            Self::Tool(tool) => tool.lost.as_ref().map(Diagnostic::from),
            _ => None,
        }
    }

    /// The id of what waits for a person.
    pub(crate) fn pending_id(&self) -> Option<&str> {
        match self {
            Self::Tool(tool) => tool.pending_id.as_deref(),
            Self::Thread(thread) => thread.awaited.as_ref().map(|awaited| &*awaited.pending_id),
            _ => None,
        }
    }

    /// The thread that it is about.
    pub(crate) fn thread_id(&self) -> Option<&str> {
        match self {
            Self::Thread(thread) => Some(&thread.thread_id),
            _ => None,
        }
    }

    pub(crate) fn is_tool(&self) -> bool {
        matches!(self, Self::Tool(_))
    }

    /// The data that a program continues with. The single text of an MCP answer is parsed if it is
    /// JSON.
    #[cfg(feature = "code")]
    pub(crate) fn value_of(&self, data: Value) -> Value {
        let is_mcp = matches!(self, Self::Tool(tool) if matches!(tool.plan.act(), crate::plan::Act::Mcp(..)));
        let is_alone = is_mcp && data.as_object().is_some_and(|data| data.len() == 1);
        let content = data.get("content").and_then(Value::as_array);
        let text = content.filter(|all| is_alone && all.len() == 1);
        let text = text.and_then(|all| all[0].get("text")?.as_str());
        let read = text.and_then(|text| crate::parse::json(text).ok());
        read.filter(|value| value.is_object() || value.is_array()).unwrap_or(data)
    }

    pub(crate) fn warnings(&self) -> &[Warned] {
        match self {
            Self::Tool(tool) => &tool.warnings,
            Self::Directive(directive) => &directive.warnings,
            Self::Knowledge { warnings, .. } => warnings,
            Self::Thread(thread) => &thread.warnings,
            Self::Detached(detached) => &detached.warnings,
            Self::Remote(remote) => &remote.warnings,
        }
    }

    /// The JSON form (core 6.7, 7.12, 7.13).
    pub(crate) fn to_json(
        &self,
        elapsed: Duration,
        details: bool,
        trace: Option<&[Recorded]>,
    ) -> Value {
        let wanted = ReportParts { chain_details: details, trace };
        let mut out = match self {
            Self::Tool(tool) => tool.to_json(elapsed, wanted),
            Self::Directive(directive) => directive.to_json(elapsed),
            Self::Thread(thread) => thread.to_json(elapsed),
            Self::Detached(detached) => detached.to_json(),
            Self::Remote(remote) => remote.to_json(),
            Self::Knowledge { item, content, .. } => object(json!({
                "status": "success", "type": "knowledge", "item_id": item,
                "data": {"content": content}, "metadata": metadata(elapsed),
            })),
        };
        if let Self::Thread(thread) = self {
            let item = thread.item.to_string();
            add_warnings(&mut out, &item, &thread.warnings, &thread.told);
        } else if !self.warnings().is_empty() {
            out.insert("warnings".into(), json!(self.warnings()));
        }
        if let Some(trace) = wanted.trace {
            out.insert("trace".into(), json!(trace));
        }
        Value::Object(out)
    }

    /// As [`Self::to_json`], but to be kept or given to a model: without the values that a tool
    /// named of the host, since the later reader does not know them and cannot mask them.
    pub(crate) fn to_masked_json(&self, elapsed: Duration) -> Value {
        let shown = self.to_json(elapsed, false, None);
        let Self::Tool(tool) = self else { return shown };
        masked_report(shown, &Mask::new(tool.plan.private_values()))
    }
}

/// Adds two lists of warnings to an answer about an item: what dev mode let through, each with a
/// code, and the messages for the caller that started a thread.
pub(crate) fn add_warnings(
    out: &mut Map<String, Value>,
    item: &str,
    warnings: &[Warned],
    told: &[String],
) {
    let told = told.iter().map(|message| json!({"item_id": item, "message": message}));
    let all: Vec<Value> = warnings.iter().map(|warned| json!(warned)).chain(told).collect();
    if !all.is_empty() {
        out.insert("warnings".into(), all.into());
    }
}

/// A report without the values in what is not of rye itself.
pub(crate) fn masked_report(shown: Value, mask: &Mask) -> Value {
    let members = object(shown).into_iter().map(|(key, value)| {
        let is_of_rye = OF_RYE.contains(&key.as_str());
        (key, if is_of_rye { value } else { mask.value(value) })
    });
    Value::Object(members.collect())
}

impl ToolReport {
    /// Returns the next step after a tool failed in its sandbox; `None` if it ran in none.
    pub(crate) fn sandbox_help(&self) -> Option<String> {
        self.host_to_add().or_else(|| self.plan.sandbox_help())
    }

    /// Returns the next step after a tool failed, which begins with where it says why.
    pub(crate) fn help(&self, first: String) -> String {
        self.host_to_add().unwrap_or_else(|| match self.plan.sandbox_help() {
            Some(of_sandbox) => format!("{first}; {of_sandbox}"),
            None => first,
        })
    }

    /// The request that rye's proxy refused, and the line to add where one helps.
    fn host_to_add(&self) -> Option<String> {
        let refused = &self.outcome.as_ref()?.traffic.as_ref()?.refused;
        let is = |why| refused.iter().find(move |call| call.why == why);
        let call = is(Refusal::NotListed).or(is(Refusal::NotPublic)).or(refused.first())?;
        let what = &call.what;
        let held = self.plan.confinement();
        if let Some(list) = held.and_then(|held| held.policy.egress.hosts_from.as_ref())
            && call.why == Refusal::NotListed
            && !what.contains(": ")
        {
            // A page that it read may have chosen the host.
            return Some(format!(
                "it asked for a host that your `{list}` does not list; add one there only if you \
                 meant the tool to reach it"
            ));
        }
        let host = |what: &str| {
            let host = what.strip_suffix(":443").or(what.strip_suffix(":80")).unwrap_or(what);
            HostRule::parse(host).err().and_then(|bad| bad.instead).unwrap_or(host.to_owned())
        };
        let list = "`sandbox.net.hosts` in the item";
        Some(match (call.why, call.what.split_once(": ")) {
            (Refusal::NotListed, Some((service, call))) => format!(
                "it asked for `{call}`, which it does not list: add that to \
                 `sandbox.services.{service}.allow` in the item, and sign it again"
            ),
            (Refusal::NotListed, None) => format!(
                "it asked for `{}`, which it does not list: add that to {list}, and sign it again",
                host(what)
            ),
            (Refusal::NotPublic, _) => format!(
                "it asked for `{what}`, whose addresses are not public ones: where it should reach \
                 one, as of a mirror of your company, add the address beside the name, such as \
                 `\"10.20.30.40\"`, to {list}, and sign it again"
            ),
            (why, _) => format!(
                "it asked for `{what}`, which rye's proxy refused: {}; see `rye fetch \
                 knowledge:rye/sandbox`",
                why.meaning()
            ),
        })
    }

    fn to_json(&self, elapsed: Duration, wanted: ReportParts<'_>) -> Map<String, Value> {
        let mut metadata = metadata(elapsed);
        let pairs: Vec<_> = self.plan.chain().windows(2).map(|pair| pair.join(" -> ")).collect();
        let mut out = match &self.outcome {
            None => object(json!({
                "status": "validation_passed",
                "message": "Tool chain validation passed (dry run)",
                "type": "tool", "item_id": self.item, "chain": plain_ids(self.plan.chain()),
                "validated_pairs": pairs, "plan": self.plan.to_json(),
                "limit": self.plan.limit().to_json(),
            })),
            Some(outcome) => {
                metadata.extend(outcome.metadata());
                if outcome.http.is_none() && outcome.snippet.is_none() {
                    metadata.insert("sandbox".into(), self.plan.sandbox());
                }
                let mut out = match (&outcome.failure, &outcome.pending) {
                    (None, None) => object(json!({"status": "success"})),
                    (None, Some(pending)) => object(json!({
                        "status": "pending",
                        "pending": {
                            "id": self.pending_id, "reason": pending.reason,
                            "message": pending.message,
                        },
                    })),
                    (Some(failure), _) => object(json!({
                        "status": "error", "code": EXECUTE_TOOL_FAILED,
                        "error": failure.message,
                        "help": self.help(format!(
                            "see what the tool says of it in `data`, last in `{}`", failure.of
                        )),
                    })),
                };
                let data = match &outcome.failure {
                    Some(failure) => failure.data(&outcome.data).into(),
                    None => outcome.data.clone(),
                };
                out.extend(object(json!({
                    "type": "tool", "item_id": self.item, "data": data,
                    "chain": plain_ids(self.plan.chain()),
                })));
                out
            }
        };
        let passed_over = self.plan.survey().passed_over();
        if self.outcome.is_none() && !passed_over.is_empty() {
            out.insert("passed_over".into(), json!(passed_over));
        }
        if !self.hooks.is_empty() {
            out.insert("hooks".into(), json!(self.hooks));
        }
        if !self.receipts.is_empty() {
            metadata.insert("run_id".into(), json!(self.run_id));
            let receipts = self.receipts.iter().map(|path| path.display().to_string());
            metadata.insert("receipts".into(), receipts.collect());
        }
        if let Some(lost) = &self.lost {
            // The tool's own answer stays; that the record of it is missing is what failed.
            out.insert("status".into(), "error".into());
            out.extend(Diagnostic::from(lost).to_json());
        }
        out.insert("metadata".into(), metadata.into());
        if wanted.chain_details {
            out.insert("chain_details".into(), json!(self.details));
            out.insert("external".into(), self.plan.survey().external_json());
        }
        out
    }
}

impl DirectiveReport {
    fn to_json(&self, elapsed: Duration) -> Map<String, Value> {
        let mut metadata = metadata(elapsed);
        metadata.insert("signer".into(), json!(self.signer));
        if self.dry_run {
            let mut told = object(json!({
                "status": "validation_passed",
                "message": "Directive validation passed (dry run)",
                "type": "directive", "item_id": self.item, "data": self.data,
                "inputs": self.inputs, "metadata": metadata,
            }));
            if let Some(thread) = &self.thread {
                told.insert("thread".into(), thread.to_json());
            }
            return told;
        }
        object(json!({
            "status": "success", "type": "directive", "item_id": self.item,
            "your_directions": self.body, "instructions": INSTRUCTIONS,
            "data": self.data, "metadata": metadata,
        }))
    }
}

/// `duration_ms`, in whole milliseconds.
pub(crate) fn metadata(elapsed: Duration) -> Map<String, Value> {
    let whole = u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX);
    [("duration_ms".to_owned(), whole.into())].into_iter().collect()
}
