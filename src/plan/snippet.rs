//! The act of a chain that ends at `rye/core/primitives/code`: a snippet that calls tools, saved as
//! the tool's own file.

use serde_json::{Map, Value, json};

use super::config::timeout_ms;
use super::error::PlanError;
use super::params::Params;
use crate::chain::Chain;
use crate::code::{CodeConfig, SavedSnippetError, check_syntax};
use crate::diagnostic::{Failure, Place};
use crate::id::{Grants, Pattern, Ref};
use crate::verify::Source;

/// A saved snippet.
pub(crate) struct SnippetPlan {
    pub(crate) language: &'static str,
    /// The whole file, so that places in it are the file's.
    pub(crate) code: String,
    pub(crate) place: Place,
    /// Its limits where they are lower than what is configured, as a configuration of code mode.
    pub(crate) limits: Value,
    /// The parameters that the snippet finds as `params`, with its config if it asks for some.
    pub(crate) params: Params,
    calls: Vec<Pattern>,
}

impl SnippetPlan {
    /// The snippet of a chain, and the time that its links give it, in milliseconds.
    ///
    /// # Errors
    /// `plan.bad_config` for a file of another language; `code.*` for a snippet whose syntax is
    /// wrong or whose limits are.
    pub(super) fn new(
        chain: &Chain,
        mut limits: Map<String, Value>,
        params: &Params,
    ) -> Result<(Self, Option<u64>), Failure> {
        let link = chain.tool();
        let item = link.item();
        let bad = |(pointer, why)| PlanError::BadConfig { item: item.clone(), pointer, why };
        let signed_ms = timeout_ms(&limits).map_err(bad)?;
        limits.retain(|key, _| key != "timeout" && key != "timeout_ms");
        let limits = Value::Object(limits);
        // The time is the run's own, and its limits are those of every snippet.
        CodeConfig::from_json(&limits)?;
        let language = check_snippet(&link.source)?;
        let snippet = Self {
            language,
            code: link.source.text().to_owned(),
            place: link.source.place(),
            limits,
            params: params.clone(),
            calls: link.tool.calls.clone(),
        };
        Ok((snippet, signed_ms))
    }

    /// The tools that it may call; none without a list.
    pub(crate) fn grants(&self) -> Grants {
        Grants::new(self.calls.clone())
    }

    /// This act's part of the plan as data.
    pub(super) fn document(&self) -> Map<String, Value> {
        let calls: Vec<&str> = self.calls.iter().map(Pattern::as_str).collect();
        let snippet = json!({"language": self.language, "calls": calls, "limits": self.limits});
        [("snippet".to_owned(), snippet)].into_iter().collect()
    }
}

/// Reads a saved snippet without running it, and gives its language.
///
/// # Errors
/// `plan.bad_config` for a file of another language; `code.failed` with its place in the file.
pub(crate) fn check_snippet(source: &Source) -> Result<&'static str, Failure> {
    let item = || -> Ref { source.item().clone() };
    let language = match source.path().extension().and_then(|ext| ext.to_str()) {
        Some("js" | "mjs" | "cjs") => "javascript",
        Some("ts") => "typescript",
        _ => {
            let why = "runs a file `.js` or `.ts`, and this is another one".to_owned();
            return Err(PlanError::BadConfig { item: item(), pointer: "/executor_id", why }.into());
        }
    };
    match check_syntax(language, source.text()) {
        Ok(()) => Ok(language),
        Err(error) => {
            let (error, told) = (error.into(), Map::new());
            Err(SavedSnippetError { item: item(), place: source.place(), error, help: None, told }
                .into())
        }
    }
}
