//! The reach of a caller, judged at one place for every call.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::base::Digest;
use crate::base::json::object;
use crate::diagnostic::{Code, Diagnose, Failure};
use crate::id::{Grants, Ref};
use crate::parse::Tool;
use crate::resolve::ResolveError;
use crate::rye::{CODE_APPROVAL_NEEDED, GRANT_DENIED};
use crate::verify::Source;

/// An item that the caller may not reach.
#[derive(Debug, thiserror::Error)]
#[error("`{item}` is not among what this caller may reach")]
pub(crate) struct GrantDenied {
    item: Ref,
    /// The sets of patterns, of which each must let it in.
    granted: Vec<Vec<String>>,
}

/// Holds an item against the grants of a call; `None` reaches everything.
///
/// # Errors
/// `grant.denied`
pub(crate) fn judge(grants: Option<&Grants>, item: &Ref) -> Result<(), GrantDenied> {
    match grants.filter(|grants| !grants.allow(item)) {
        None => Ok(()),
        Some(grants) => Err(GrantDenied { item: item.clone(), granted: grants.to_texts() }),
    }
}

/// The error for a caller about an item that is not there, or that is not one alone: of other items
/// it learns the names that it may reach, and no other.
pub(crate) fn in_reach(failure: Failure, may: impl Fn(&Ref) -> bool) -> Failure {
    match failure.downcast_ref::<ResolveError>().and_then(|error| error.in_reach(&may)) {
        Some(error) => error.into(),
        None => failure,
    }
}

/// A tool that no person approved, and that does not say that it only reads.
#[derive(Debug, thiserror::Error)]
#[error(
    "`{item}` does not say `effects: read`, and a person has to approve what a snippet changes"
)]
pub(crate) struct ApprovalNeeded {
    pub(crate) item: Ref,
    /// Of the bytes that would run.
    pub(crate) digest: Digest,
}

/// Holds what a verified tool says of its effects against the tools that may do more than read. A
/// tool that says nothing counts as one that writes.
///
/// # Errors
/// `code.approval_needed`
pub(crate) fn judge_effects(
    may_write: Option<&BTreeMap<String, Digest>>,
    source: &Source,
    tool: &Tool,
) -> Result<(), ApprovalNeeded> {
    let (item, digest) = (source.item(), source.digest());
    let is_let = may_write.is_none_or(|let_in| let_in.get(&item.to_string()) == Some(&digest));
    match is_let || tool.effects.as_deref() == Some("read") {
        true => Ok(()),
        false => Err(ApprovalNeeded { item: item.clone(), digest }),
    }
}

impl Diagnose for ApprovalNeeded {
    fn code(&self) -> Code {
        CODE_APPROVAL_NEEDED
    }

    fn help(&self) -> Option<String> {
        Some(format!(
            "a person decides it with `rye pending`; or call `{}` by itself, outside of the snippet",
            self.item
        ))
    }

    fn item(&self) -> Option<String> {
        Some(self.item.to_string())
    }
}

impl Diagnose for GrantDenied {
    fn code(&self) -> Code {
        GRANT_DENIED
    }

    fn help(&self) -> Option<String> {
        Some(format!(
            "it may be reached once whoever calls allows it: `rye code run --allow {}`, `calls` in \
             the header of a saved snippet, or `<permissions>` of the directive of a thread",
            self.item
        ))
    }

    fn item(&self) -> Option<String> {
        Some(self.item.to_string())
    }

    fn data(&self) -> Map<String, Value> {
        object(json!({"granted": self.granted}))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use crate::id::Grants;
    use crate::rye::{Origin, Request, RyeBuilder};
    use crate::trace::Quiet;

    const ITEM: &str = "knowledge:rye/overview";

    fn run(request: &Request) -> Result<(), &'static str> {
        let rye = RyeBuilder::new().system_only();
        let ran = rye.runs().run(request, Instant::now(), &Quiet);
        ran.map(drop).map_err(|failed| failed.failure.code())
    }

    fn asked(patterns: Option<&[&str]>) -> Request {
        let request = Request::new(ITEM);
        let patterns =
            patterns.map(|patterns| patterns.iter().map(|text| text.parse().unwrap()).collect());
        let origin = Origin { grants: patterns.map(Grants::new), ..Origin::default() };
        Request { origin, ..request }
    }

    #[test]
    fn an_item_that_no_grant_matches_is_refused_and_without_grants_all_is_in_reach() {
        assert_eq!(run(&asked(None)), Ok(()));
        assert_eq!(run(&asked(Some(&["tool:acme/*", "knowledge:rye/**"]))), Ok(()));
        for none in [&["tool:acme/**"][..], &["tool:rye/**"], &["knowledge:rye/*/*"], &[]] {
            assert_eq!(run(&asked(Some(none))), Err("grant.denied"), "{none:?}");
        }
    }

    #[test]
    fn the_grant_is_judged_by_the_item_that_was_found_and_not_by_how_it_was_written() {
        let plain = Request { item: format!("{ITEM}@system"), ..asked(Some(&["tool:x/*"])) };
        assert_eq!(run(&plain), Err("grant.denied"));
        let there = Request { item: format!("{ITEM}@system"), ..asked(Some(&[ITEM])) };
        assert_eq!(run(&there), Ok(()));
        let missing = Request { item: "tool:no/such".into(), ..asked(Some(&["tool:x/*"])) };
        assert_eq!(run(&missing), Err("resolve.not_found"));
    }
}
