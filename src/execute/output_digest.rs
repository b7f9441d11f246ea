//! The observed output of an act, also of one that failed: for the receipt of a run.

use std::sync::Mutex;

use crate::base::sync::unpoisoned;
use crate::base::{Digest, Digesting};
use crate::host::{ChildResult, HttpAnswer, Traffic};

/// Everything that came out of one stream, as far as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OutputDigest {
    /// SHA-256 of every byte, also of those past the cap.
    pub(crate) sha256: Digest,
    pub(crate) bytes: u64,
    /// Not all of it is in the report.
    pub(crate) truncated: bool,
}

impl OutputDigest {
    /// The digest of output that is there whole.
    pub(super) fn from_bytes(bytes: &[u8], truncated: bool) -> Self {
        let mut digesting = Digesting::default();
        digesting.take(bytes);
        Self::new(&digesting, truncated)
    }

    fn new(digesting: &Digesting, truncated: bool) -> Self {
        Self { sha256: digesting.digest(), bytes: digesting.bytes(), truncated }
    }
}

/// How an act ended and what it said.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct OutputSeen {
    pub(crate) exit_code: Option<i32>,
    pub(crate) signal: Option<i32>,
    pub(crate) stdout: Option<OutputDigest>,
    pub(crate) stderr: Option<OutputDigest>,
    /// The status and the body of an HTTP answer.
    pub(crate) answer: Option<(u16, OutputDigest)>,
    /// The traffic through rye's proxy.
    pub(crate) traffic: Option<Traffic>,
    /// The calls of a snippet.
    pub(crate) calls: Vec<CallSeen>,
}

/// One call of a snippet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CallSeen {
    /// As the snippet wrote it.
    pub(crate) tool: String,
    /// SHA-256 of the arguments as they are in the record of the call.
    pub(crate) args: Digest,
    /// The code of its failure.
    pub(crate) error: Option<String>,
}

/// Takes what a primitive saw. A primitive that started nothing says nothing.
#[derive(Debug, Default)]
pub(crate) struct OutputWitness(Mutex<Option<OutputSeen>>);

impl OutputWitness {
    /// The end of a child.
    pub(super) fn saw(&self, ended: &ChildResult) {
        let stdout = ended.stdout_digest.as_ref();
        let stderr = ended.stderr_digest.as_ref();
        let seen = OutputSeen {
            exit_code: ended.exit_code,
            signal: ended.signal,
            stdout: stdout.map(|digest| OutputDigest::new(digest, ended.stdout_truncated)),
            stderr: stderr.map(|digest| OutputDigest::new(digest, ended.stderr_truncated)),
            ..OutputSeen::default()
        };
        self.keep(seen);
    }

    /// The answer to a request.
    pub(super) fn heard(&self, answer: &HttpAnswer) {
        let body = OutputDigest::from_bytes(&answer.body, answer.truncated);
        self.keep(OutputSeen { answer: Some((answer.status, body)), ..OutputSeen::default() });
    }

    /// Keeps the output and the calls of a snippet.
    #[cfg(feature = "code")]
    pub(crate) fn computed(&self, stdout: &str, stderr: &str, calls: Vec<CallSeen>) {
        let whole = |text: &str| Some(OutputDigest::from_bytes(text.as_bytes(), false));
        let (stdout, stderr) = (whole(stdout), whole(stderr));
        self.keep(OutputSeen { stdout, stderr, calls, ..OutputSeen::default() });
    }

    fn keep(&self, seen: OutputSeen) {
        let mut kept = unpoisoned(self.0.lock());
        let traffic = kept.take().and_then(|before| before.traffic);
        *kept = Some(OutputSeen { traffic, ..seen });
    }

    /// Keeps the traffic through rye's proxy.
    pub(super) fn carried(&self, traffic: &Traffic) {
        unpoisoned(self.0.lock()).get_or_insert_default().traffic = Some(traffic.clone());
    }

    /// The observed output; `None` if nothing was started.
    pub(crate) fn seen(&self) -> Option<OutputSeen> {
        unpoisoned(self.0.lock()).clone()
    }
}
