//! How deep saved snippets call each other, and how many run below one.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::base::limits::{CODE_NESTED, CODE_NESTED_AT_ONCE};
use crate::code::{CodeError, NestedLimit};

/// The saved snippets that a call is within, and those that run below the outermost.
#[derive(Debug, Clone, Default)]
pub(crate) struct Nesting {
    depth: usize,
    running: Arc<AtomicUsize>,
}

/// A saved snippet that runs, until this is dropped.
pub(crate) struct NestedRun(Arc<AtomicUsize>);

impl Drop for NestedRun {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Nesting {
    /// One saved snippet more: what its calls are within.
    ///
    /// # Errors
    /// `code.nested_too_deep`
    pub(crate) fn enter(&self) -> Result<(Self, NestedRun), CodeError> {
        let depth = self.depth + 1;
        if depth > CODE_NESTED {
            return Err(CodeError::Nested(NestedLimit::Depth));
        }
        let place = NestedRun(Arc::clone(&self.running));
        if self.running.fetch_add(1, Ordering::Relaxed) >= CODE_NESTED_AT_ONCE {
            return Err(CodeError::Nested(NestedLimit::AtOnce));
        }
        Ok((Self { depth, running: Arc::clone(&self.running) }, place))
    }
}

#[cfg(test)]
mod tests {
    use super::Nesting;
    use crate::base::limits::{CODE_NESTED, CODE_NESTED_AT_ONCE};

    #[test]
    fn so_many_snippets_run_within_each_other_and_so_many_at_once_below_one() {
        let mut running = Vec::new();
        let mut at = Nesting::default();
        for _ in 0..CODE_NESTED {
            let (within, run) = at.enter().unwrap();
            running.push(run);
            at = within;
        }
        let why = at.enter().map(drop).unwrap_err().to_string();
        assert!(why.contains("within each other"), "{why}");
        let outer = Nesting { depth: 1, ..at.clone() };
        while running.len() < CODE_NESTED_AT_ONCE {
            running.push(outer.enter().unwrap().1);
        }
        let why = outer.enter().map(drop).unwrap_err().to_string();
        assert!(why.contains("below one"), "{why}");
        running.pop();
        assert!(outer.enter().is_ok(), "one ended, so one more may run");
    }
}
