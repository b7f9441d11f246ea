//! What was seen of an act, also of one that failed: for the receipt of a run.

use std::sync::Mutex;

use crate::base::sync::unpoisoned;
use crate::base::{Digest, Digesting};
use crate::host::{Answer, Ended};

/// Everything that came out of one stream, as far as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Output {
    /// SHA-256 of every byte, also of those past the cap.
    pub(crate) sha256: Digest,
    pub(crate) bytes: u64,
    /// Not all of it is in the report.
    pub(crate) truncated: bool,
}

impl Output {
    /// What is there whole.
    pub(super) fn of_bytes(bytes: &[u8], truncated: bool) -> Self {
        let mut digesting = Digesting::default();
        digesting.take(bytes);
        Self::of(&digesting, truncated)
    }

    fn of(digesting: &Digesting, truncated: bool) -> Self {
        Self { sha256: digesting.digest(), bytes: digesting.bytes(), truncated }
    }
}

/// How an act ended and what it said.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) exit_code: Option<i32>,
    pub(crate) signal: Option<i32>,
    pub(crate) stdout: Option<Output>,
    pub(crate) stderr: Option<Output>,
    /// The status and the body of an HTTP answer.
    pub(crate) answer: Option<(u16, Output)>,
}

/// Takes what a primitive saw. A primitive that started nothing says nothing.
#[derive(Debug, Default)]
pub(crate) struct Witness(Mutex<Option<Seen>>);

impl Witness {
    /// The end of a child.
    pub(super) fn saw(&self, ended: &Ended) {
        let stdout = ended.stdout_digest.as_ref();
        let stderr = ended.stderr_digest.as_ref();
        let seen = Seen {
            exit_code: ended.exit_code,
            signal: ended.signal,
            stdout: stdout.map(|digest| Output::of(digest, ended.stdout_truncated)),
            stderr: stderr.map(|digest| Output::of(digest, ended.stderr_truncated)),
            answer: None,
        };
        self.keep(seen);
    }

    /// The answer to a request.
    pub(super) fn heard(&self, answer: &Answer) {
        let body = Output::of_bytes(&answer.body, answer.truncated);
        self.keep(Seen { answer: Some((answer.status, body)), ..Seen::default() });
    }

    fn keep(&self, seen: Seen) {
        *unpoisoned(self.0.lock()) = Some(seen);
    }

    /// What was seen; `None` where nothing was started.
    pub(crate) fn seen(&self) -> Option<Seen> {
        unpoisoned(self.0.lock()).clone()
    }
}
