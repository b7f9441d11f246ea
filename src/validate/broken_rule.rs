//! The faults of a chain.

use crate::chain::VALIDATE_SPACE_ORDER;
use crate::diagnostic::{Code, Diagnose, codes};
use crate::id::Ref;

codes! {
    VALIDATE_IO = "validate.io", Refused;
    VALIDATE_VERSION = "validate.version", Refused;
    VALIDATE_TARGET = "validate.target", Refused;
}

/// One rule that a pair of links, or a link, broke.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BrokenRule {
    pub(crate) code: Code,
    /// `<child id> -> <parent id>`.
    pub(crate) pair: String,
    pub(crate) message: String,
}

/// A chain with findings, at least one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Invalid {
    pub(crate) item: String,
    pub(crate) links: Vec<Ref>,
    pub(crate) findings: Vec<BrokenRule>,
}

impl std::fmt::Display for Invalid {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let title = match self.code() {
            VALIDATE_SPACE_ORDER => "incompatible spaces",
            VALIDATE_IO => "inputs and outputs do not fit",
            VALIDATE_VERSION => "versions do not fit",
            _ => "it may not run like this",
        };
        write!(f, "Chain validation failed: {title}")?;
        for finding in &self.findings {
            write!(f, "\n{}: {}", finding.pair, finding.message)?;
        }
        Ok(())
    }
}

impl std::error::Error for Invalid {}

impl Diagnose for Invalid {
    fn code(&self) -> Code {
        self.findings.first().map_or(VALIDATE_TARGET, |finding| finding.code)
    }

    fn help(&self) -> Option<String> {
        Some(format!("see the chain with `rye why {}`", self.item))
    }

    fn chain(&self) -> Vec<String> {
        self.links.iter().map(Ref::to_string).collect()
    }

    fn item(&self) -> Option<String> {
        Some(self.item.clone())
    }

    fn data(&self) -> serde_json::Map<String, serde_json::Value> {
        let findings: Vec<_> = self
            .findings
            .iter()
            .map(|f| serde_json::json!({"code": f.code.name(), "pair": f.pair, "message": f.message}))
            .collect();
        [("findings".to_owned(), findings.into())].into_iter().collect()
    }
}
