//! The rules (core 7.4).

use semver::{Version, VersionReq};

use super::broken_rule::{BrokenRule, Invalid, VALIDATE_IO, VALIDATE_TARGET, VALIDATE_VERSION};
use crate::chain::{Chain, Link, VALIDATE_SPACE_ORDER};
use crate::diagnostic::Code;
use crate::parse::Constraints;
use crate::trace::{Event, Sink};

/// How the run was asked for, as far as links may forbid it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RunTarget {
    pub(crate) target: String,
    pub(crate) thread: String,
}

/// A chain that passed every rule.
///
/// Invariant: made by [`ValidChain::judge`] alone.
#[derive(Debug)]
pub(crate) struct ValidChain {
    chain: Chain,
}

impl ValidChain {
    /// Judges every adjacent pair and every link.
    ///
    /// # Errors
    /// [`Invalid`] with all findings: `validate.space_order`, `validate.io`, `validate.version`,
    /// `validate.target`.
    pub(crate) fn judge(chain: Chain, asked: &RunTarget, sink: &dyn Sink) -> Result<Self, Invalid> {
        let mut findings = Vec::new();
        for window in chain.links().windows(2) {
            let [child, parent] = window else { continue };
            let pair = format!("{} -> {}", child.item().id, parent.item().id);
            let found = judge_pair(child, parent);
            sink.record(Event::Validate {
                pair: pair.clone(),
                findings: found.iter().map(|(_, message)| message.clone()).collect(),
            });
            findings.extend(found.into_iter().map(|(code, message)| BrokenRule {
                code,
                pair: pair.clone(),
                message,
            }));
        }
        for link in chain.links() {
            let pair = link.item().to_string();
            findings.extend(judge_link(link, asked).map(|message| BrokenRule {
                code: VALIDATE_TARGET,
                pair: pair.clone(),
                message,
            }));
        }
        if findings.is_empty() {
            return Ok(Self { chain });
        }
        let item = chain.tool().item().to_string();
        let links = chain.links().iter().map(|link| link.item().clone()).collect();
        Err(Invalid { item, links, findings })
    }

    pub(crate) fn chain(&self) -> &Chain {
        &self.chain
    }
}

type Found = (Code, String);

fn judge_pair(child: &Link, parent: &Link) -> Vec<Found> {
    let mut found = Vec::new();
    let (below, above) = (child.source.space(), parent.source.space());
    if above > below {
        let message = format!("an item of the {below} space depends on one of the {above} space");
        found.push((VALIDATE_SPACE_ORDER, message));
    }
    if let (Some(outputs), Some(inputs)) = (&child.tool.outputs, &parent.tool.inputs) {
        let gives = |name: &str| outputs.iter().any(|port| port.name == name);
        let lacks = inputs.iter().filter(|port| port.required && !gives(&port.name));
        found.extend(lacks.map(|port| {
            (
                VALIDATE_IO,
                format!(
                    "`{}` needs `{}`, which the child does not give",
                    parent.item().id,
                    port.name
                ),
            )
        }));
    }
    if let Some(constraints) = &parent.tool.child_constraints {
        let messages = judge_version(constraints, child.tool.version.as_deref());
        found.extend(messages.into_iter().map(|message| (VALIDATE_VERSION, message)));
    }
    found
}

fn judge_version(constraints: &Constraints, version: Option<&str>) -> Vec<String> {
    let Some(version) = version else {
        return vec!["the parent constrains the version, and the child has none".into()];
    };
    let Ok(child) = Version::parse(version) else {
        return vec![format!("`{version}` is not a semantic version")];
    };
    let mut messages = Vec::new();
    let mut bound = |text: &Option<String>, fits: fn(&Version, &Version) -> bool, word: &str| {
        let Some(text) = text else { return };
        match Version::parse(text) {
            Err(_) => messages.push(format!("`{text}` is not a semantic version")),
            Ok(limit) if !fits(&child, &limit) => {
                messages.push(format!("version {child} is not {word} {limit}"));
            }
            Ok(_) => {}
        }
    };
    bound(&constraints.min_version, |v, limit| v >= limit, "at least");
    bound(&constraints.max_version, |v, limit| v <= limit, "at most");
    if let Some(text) = &constraints.version {
        match VersionReq::parse(text) {
            Err(_) => messages.push(format!("`{text}` is not a version range")),
            Ok(range) if !range.matches(&child) => {
                messages.push(format!("version {child} is not in `{range}`"));
            }
            Ok(_) => {}
        }
    }
    messages
}

fn judge_link(link: &Link, asked: &RunTarget) -> impl Iterator<Item = String> {
    let forbids = |allowed: &Option<Vec<String>>, word: &str, what: &str| {
        let allowed = allowed.as_ref().filter(|list| !list.iter().any(|a| a == word))?;
        Some(format!("it allows {what} {}, not `{word}`", allowed.join(", ")))
    };
    let target = forbids(&link.tool.allowed_targets, &asked.target, "targets");
    let thread = forbids(&link.tool.allowed_threads, &asked.thread, "threads");
    target.into_iter().chain(thread)
}
