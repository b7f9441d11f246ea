//! The receipt of a run (core 9.2): what ran, when, and how it ended, as an in-toto statement.
//!
//! In:  a plan and what was seen of its run; or the payload of an envelope whose signature holds.
//! Out: a [`Receipt`], and its one text.
//!
//! Invariants
//! - A receipt names digests, never contents: no parameter, no output, no value of the environment.
//! - Its text is canonical, and [`Receipt::read`] takes no other text for it.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::error::ReceiptError;
use super::report::Warned;
use crate::base::Digest;
use crate::base::signed_statement::{Sha256, Statement};
use crate::execute::{OutputDigest, OutputWitness};
use crate::id::Ref;
use crate::plan::{Plan, PlannedItem};

/// A statement about one run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Receipt(Statement<RanTool, RunRecord>);

const PREDICATE: &str = "urn:rye:receipt:v1";

/// The tool that ran.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RanTool {
    name: String,
    digest: Sha256,
}

/// Describes a run. Field names are on the wire.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RunRecord {
    pub(crate) run_id: String,
    /// The rye that ran it.
    pub(crate) rye: String,
    /// The plan that was run, as `rye plan` writes it.
    pub(crate) plan: Sha256,
    pub(crate) params: Sha256,
    /// Every link that ran, the tool first.
    pub(crate) chain: Vec<LinkRecord>,
    /// The items verified beside them: modules with a signature of their own, and config.
    pub(crate) dependencies: Vec<LinkRecord>,
    /// The program's paths and digest, as in the plan.
    pub(crate) interpreter: Value,
    /// In UTC, to the millisecond.
    pub(crate) started_at: String,
    pub(crate) ended_at: String,
    /// `success`, or the code of the failure.
    pub(crate) ended: String,
    pub(crate) exit_code: Option<i32>,
    pub(crate) signal: Option<i32>,
    pub(crate) stdout: Option<OutputRecord>,
    pub(crate) stderr: Option<OutputRecord>,
    /// The answer to an HTTP request.
    pub(crate) response: Option<ResponseRecord>,
    /// The faults that dev mode let through.
    pub(crate) warnings: Vec<WarningRecord>,
    /// The sandbox that was in force.
    pub(crate) sandbox: Value,
    /// The traffic through rye's proxy, where the tool was held to hosts or services.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) traffic: Option<Value>,
    /// The calls of the tool, where it is a snippet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) calls: Vec<CallRecord>,
    /// The two who signed, where a node ran it for a caller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) remote: Option<RemoteRecord>,
}

/// A run of a node for a caller, by its id and the fingerprints of their keys.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RemoteRecord {
    /// The id by which the caller asked for it.
    pub(crate) run: String,
    pub(crate) node: String,
    pub(crate) caller: String,
    /// The manifest of the files that came back.
    pub(crate) outputs: Option<Digest>,
}

/// One call of a snippet.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CallRecord {
    /// The tool, as the snippet wrote it.
    pub(crate) tool: String,
    pub(crate) args: Sha256,
    /// The code of its failure.
    pub(crate) error: Option<String>,
}

/// One link; the fields are those of a plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LinkRecord {
    pub(crate) item: String,
    pub(crate) sha256: Digest,
    pub(crate) signer: Option<String>,
    pub(crate) signed_at: Option<String>,
    pub(crate) version: Option<String>,
    pub(crate) space: String,
}

/// The output of one stream.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct OutputRecord {
    /// Of everything that was read, also past the cap.
    pub(crate) sha256: Digest,
    pub(crate) bytes: u64,
    pub(crate) truncated: bool,
}

/// The last answer of a server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ResponseRecord {
    pub(crate) status: u16,
    pub(crate) body: OutputRecord,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WarningRecord {
    pub(crate) item: String,
    pub(crate) code: String,
}

/// The facts of a run that a receipt holds beside the plan.
pub(crate) struct Ran<'a> {
    pub(crate) run_id: &'a str,
    pub(crate) plan_digest: Digest,
    pub(crate) started_at: jiff::Timestamp,
    pub(crate) ended_at: jiff::Timestamp,
    /// `success`, or the code of the failure.
    pub(crate) ended: &'static str,
    pub(crate) witness: &'a OutputWitness,
    pub(crate) warnings: &'a [Warned],
}

impl Receipt {
    pub(crate) fn new(plan: &Plan, ran: &Ran<'_>) -> Self {
        let tool = plan.links().first().map_or(Digest::of(&[]), |link| link.sha256);
        let seen = ran.witness.seen().unwrap_or_default();
        let warnings = ran.warnings.iter().map(|warned| WarningRecord {
            item: warned.item_id.to_string(),
            code: warned.code.to_string(),
        });
        let record = RunRecord {
            run_id: ran.run_id.to_owned(),
            rye: env!("RYE_VERSION").to_owned(),
            plan: Sha256 { sha256: ran.plan_digest },
            params: Sha256 { sha256: plan.params_digest() },
            chain: plan.links().iter().map(LinkRecord::from_planned).collect(),
            dependencies: plan
                .planned_dependencies()
                .iter()
                .map(LinkRecord::from_planned)
                .collect(),
            interpreter: plan.interpreter(),
            started_at: millis(ran.started_at),
            ended_at: millis(ran.ended_at),
            ended: ran.ended.to_owned(),
            exit_code: seen.exit_code,
            signal: seen.signal,
            stdout: seen.stdout.as_ref().map(OutputRecord::from_digest),
            stderr: seen.stderr.as_ref().map(OutputRecord::from_digest),
            response: seen.answer.map(|(status, body)| ResponseRecord {
                status,
                body: OutputRecord::from_digest(&body),
            }),
            warnings: warnings.collect(),
            sandbox: plan.sandbox(),
            traffic: seen.traffic.map(|traffic| json!(traffic)),
            calls: seen
                .calls
                .into_iter()
                .map(|call| CallRecord {
                    tool: call.tool,
                    args: Sha256 { sha256: call.args },
                    error: call.error,
                })
                .collect(),
            remote: None,
        };
        let subject = RanTool { name: plan.item().to_string(), digest: Sha256 { sha256: tool } };
        Self(Statement::new(PREDICATE, vec![subject], record))
    }

    /// The payload of the envelope.
    ///
    /// # Errors
    /// The sandbox or the program holds a number that is not exact, which no plan lets through.
    pub(crate) fn to_payload(&self) -> Result<Vec<u8>, ReceiptError> {
        self.0.to_payload().map_err(malformed)
    }

    /// Reads a payload.
    ///
    /// # Errors
    /// `receipt.malformed`: it is not the one text of a receipt, or it contradicts itself.
    pub(crate) fn read(payload: &[u8]) -> Result<Self, ReceiptError> {
        let receipt = Self(Statement::read(PREDICATE, payload).map_err(malformed)?);
        receipt.consistent().map_err(malformed)?;
        Ok(receipt)
    }

    fn consistent(&self) -> Result<(), &'static str> {
        let Statement { subject, predicate: ran, .. } = &self.0;
        let [subject] = &subject[..] else { return Err("it is about other than one tool") };
        let tool = ran.chain.first().ok_or("its chain is empty")?;
        if (&subject.name, subject.digest.sha256) != (&tool.item, tool.sha256) {
            return Err("its subject is not the first link of its chain");
        }
        let mut named = ran.chain.iter().chain(&ran.dependencies);
        if named.any(|link| link.item.parse::<Ref>().is_err()) {
            return Err("a link or dependency is not a valid ref");
        }
        match (time(&ran.started_at), time(&ran.ended_at)) {
            (Some(from), Some(to)) if from <= to => Ok(()),
            _ => Err("its times are not valid times"),
        }
    }

    /// The receipt of a run that a node carried out for a caller.
    pub(crate) fn for_caller(mut self, remote: RemoteRecord) -> Self {
        self.0.predicate.remote = Some(remote);
        self
    }

    pub(crate) fn record(&self) -> &RunRecord {
        &self.0.predicate
    }

    /// The ref of the tool.
    pub(crate) fn item(&self) -> &str {
        &self.0.subject[0].name
    }

    /// The tool's digest.
    pub(crate) fn tool(&self) -> Digest {
        self.0.subject[0].digest.sha256
    }
}

impl LinkRecord {
    fn from_planned(planned: &PlannedItem) -> Self {
        Self {
            item: planned.item.to_string(),
            sha256: planned.sha256,
            signer: planned.signer.map(|key| key.to_string()),
            signed_at: planned.signed_at.map(|at| at.to_string()),
            version: planned.version.clone(),
            space: planned.space.to_string(),
        }
    }
}

impl OutputRecord {
    fn from_digest(output: &OutputDigest) -> Self {
        Self { sha256: output.sha256, bytes: output.bytes, truncated: output.truncated }
    }
}

fn malformed(why: impl Into<String>) -> ReceiptError {
    ReceiptError::Malformed { why: why.into() }
}

fn millis(at: jiff::Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string()
}

/// A time in its one spelling.
fn time(text: &str) -> Option<jiff::Timestamp> {
    text.parse().ok().filter(|at| millis(*at) == text)
}

#[cfg(test)]
#[path = "receipt_tests.rs"]
mod tests;
