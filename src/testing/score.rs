//! The evals of a case: each scores what the item answered.

use std::time::Instant;

use super::judge::{Came, Mismatch, plain};
use super::run::CaseResult;
use super::spec::Case;
use crate::eval::EvalRequest;
use crate::rye::{Request, Rye};
use crate::trace::Quiet;

/// Adds what each eval found to the verdict. Without an answer there is nothing to score, which is
/// told where nothing else is.
pub(super) fn score(
    rye: &Rye,
    case: &Case,
    came: &Came,
    tried: &Request,
    verdict: &mut CaseResult,
) {
    if case.evals.is_empty() {
        return;
    }
    if !came.ran || came.failed.is_some() || came.pending.is_some() {
        if verdict.findings.is_empty() {
            let ended = if came.pending.is_some() { "it asked for a person" } else { "it failed" };
            let why = format!("have no answer to score: {ended}");
            verdict.findings.push(plain("evals", why));
        }
        return;
    }
    for scoring in &case.evals {
        let what = format!("eval {}", scoring.eval);
        let (content, params) = (came.text.clone(), scoring.params.clone());
        let asked = EvalRequest { content, params, ..EvalRequest::default() };
        let mut request = Request::new(scoring.eval.to_string());
        request.eval = Some(asked);
        // Where the item ran, and held as it was.
        request.workplace.clone_from(&tried.workplace);
        request.sandbox = tried.sandbox;
        match rye.runs().eval(&request, Instant::now(), &Quiet) {
            Ok(scored) => {
                verdict.warnings.extend(scored.warnings);
                let score = &scored.judged.score;
                let Some(miss) = scoring.thresholds.miss(score) else { continue };
                let mut why = format!("scored {score}, which {miss}");
                if let Some(detail) = &scored.judged.detail {
                    why.push_str(&format!("\n{}", detail.trim_end()));
                }
                verdict.findings.push(plain(&what, why));
            }
            Err(failed) => {
                verdict.warnings.extend(failed.warnings);
                verdict.interrupted = failed.failure.interrupted();
                if verdict.interrupted.is_some() {
                    return;
                }
                let diagnostic = failed.failure.diagnostic();
                let code = diagnostic.code.name();
                let why = format!("came to no score: {code}: {}", diagnostic.message);
                verdict.findings.push(Mismatch { error: Some(code), ..plain(&what, why) });
            }
        }
    }
}
