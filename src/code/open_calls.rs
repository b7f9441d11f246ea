//! The memory of rye that the open calls of a snippet take.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;

use super::engine::CallAnswer;
use crate::base::limits::CODE_OPEN_BYTES;

/// The arguments of all open calls, in bytes.
#[derive(Debug, Clone, Default)]
pub(super) struct OpenBytes(Arc<AtomicUsize>);

/// Those of one call, until it is answered or forgotten.
#[derive(Debug)]
pub(super) struct HeldBytes {
    all: OpenBytes,
    own: usize,
}

impl OpenBytes {
    /// Takes room for these arguments; `None` where the open calls have too much already.
    pub(super) fn take(&self, args: &[Value]) -> Option<HeldBytes> {
        let own: usize = args.iter().map(weight).sum();
        let held = HeldBytes { all: self.clone(), own };
        let before = self.0.fetch_add(own, Ordering::Relaxed);
        // Dropped, it gives back what it took.
        (before.saturating_add(own) <= CODE_OPEN_BYTES).then_some(held)
    }
}

impl Drop for HeldBytes {
    fn drop(&mut self) {
        self.all.0.fetch_sub(self.own, Ordering::Relaxed);
    }
}

/// About what a value takes, which came over the border and so is not deep.
fn weight(value: &Value) -> usize {
    64 + match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(weight).sum(),
        Value::Object(map) => map.iter().map(|(key, value)| key.len() + weight(value)).sum(),
        _ => 0,
    }
}

/// A call that is not answered: its number from 0, what tells the snippet, and what it holds; none
/// where there is no room for it.
pub(super) struct Open {
    pub(super) index: usize,
    pub(super) answer: CallAnswer,
    pub(super) held: Option<HeldBytes>,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::OpenBytes;
    use crate::base::limits::{CODE_OPEN_BYTES, JSON_NODES, SNIPPET_LINE_BYTES};

    #[test]
    fn open_calls_take_so_much_and_give_it_back_when_they_end() {
        let all = OpenBytes::default();
        let large = [json!("x".repeat(SNIPPET_LINE_BYTES))];
        let most = CODE_OPEN_BYTES / (SNIPPET_LINE_BYTES + 64);
        let mut open: Vec<_> = (0..most).map(|_| all.take(&large).unwrap()).collect();
        assert!(all.take(&large).is_none() && all.take(&large).is_none());
        assert!(all.take(&[json!(1)]).is_some(), "one that was refused holds nothing");
        open.pop();
        assert!(all.take(&large).is_some());
        drop(open);
        let values = [json!(vec![1; JSON_NODES]), json!("x".repeat(SNIPPET_LINE_BYTES))];
        assert!(all.take(&values).is_some(), "the largest call has room by itself");
    }
}
