//! A request as the person who decides it sees it.

#[cfg(feature = "mcp")]
use std::time::Instant;

use serde_json::Value;

use crate::diagnostic::Failure;
use crate::execute::Mask;
use crate::plan::PlanFile;
use crate::registry::PendingRequest;
#[cfg(feature = "mcp")]
use crate::report::Report;
#[cfg(feature = "code")]
use crate::runs::snippets::SnippetRows;
#[cfg(feature = "mcp")]
use crate::rye::{Approvals, Origin, Request, ThreadParent, approved_run};

#[cfg(feature = "mcp")]
impl Approvals<'_> {
    /// Shows a kept request to the person who decides it, without the values of secrets. It is
    /// planned anew for that; if something changed since, it is refused.
    ///
    /// # Errors
    /// `pending.drifted`, `plan.malformed`; those of planning.
    pub(crate) fn shown(self, request: &PendingRequest) -> Result<RequestRows, Failure> {
        let (asked, _) = approved_run(request, self.decision())?;
        let thread = ThreadParent::that_waits(request);
        let origin = Origin { thread, ..asked.origin.clone() };
        let asked = Request { origin, ..asked.dry_run(true) };
        let report = self.rye.runs().run(&asked, Instant::now(), &crate::trace::Quiet);
        let report = report.map_err(|failed| failed.failure)?;
        let values = match &report {
            Report::Tool(tool) => tool.plan.private_values().map(str::to_owned).collect(),
            _ => Vec::new(),
        };
        RequestRows::new(request, &PlanFile::read(&request.payload)?, &values)
    }
}

/// A request as a person is shown it: rows of a label and a value of any form.
pub(crate) struct RequestRows {
    /// Facts that rye knows.
    pub(crate) known: Vec<(&'static str, String)>,
    /// The tool's own words, which are not checked.
    pub(crate) said: [(&'static str, String); 2],
    /// The parameters, which stand in `known` as text.
    pub(crate) params: Value,
}

impl RequestRows {
    /// The heading of the tool's own words.
    pub(crate) const SAID: &str = "The tool says, in words that nobody checked:";

    /// None of these values is shown.
    ///
    /// # Errors
    /// `pending.drifted`: of a saved snippet that waits it is not what was kept.
    pub(crate) fn new(
        request: &PendingRequest,
        plan: &PlanFile,
        values: &[String],
    ) -> Result<Self, Failure> {
        let mask = Mask::new(values.iter().chain(&request.private).map(String::as_str));
        let params = mask.value(plan.params().cloned().unwrap_or_default().into());
        let row = &request.row;
        let known = vec![
            ("request", row.id.clone()),
            ("tool", row.item.clone()),
            ("project", row.project.display().to_string()),
            ("asked", row.asked_at.clone()),
            ("plan", format!("sha256 {}", plan.digest())),
            ("parameters", params.to_string()),
        ];
        let call =
            waiting_call(request)?.into_iter().map(|(label, text)| (label, mask.words(&text)));
        let known = known.into_iter().chain(call).collect();
        let said = [("reason", mask.words(&row.reason)), ("message", mask.words(&row.message))];
        Ok(Self { known, said, params })
    }
}

/// The call that waits in a saved snippet, row by row.
///
/// # Errors
/// `pending.drifted`
#[cfg(feature = "code")]
fn waiting_call(request: &PendingRequest) -> Result<Vec<(&'static str, String)>, Failure> {
    Ok(SnippetRows::of(request)?.map(|snippet| snippet.call()).unwrap_or_default())
}

#[cfg(not(feature = "code"))]
#[expect(clippy::unnecessary_wraps, reason = "as with snippets")]
fn waiting_call(_: &PendingRequest) -> Result<Vec<(&'static str, String)>, Failure> {
    Ok(Vec::new())
}
