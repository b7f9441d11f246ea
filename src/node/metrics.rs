//! How busy a node is, in the text form of Prometheus. Names of items and callers never stand
//! there.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::extract::State;
use axum::http::HeaderMap;
use axum::http::header::{AUTHORIZATION, HeaderValue};
use axum::response::Response;

use super::asked::with_kind;
use super::server::Node;
use crate::base::Digest;
use crate::base::bytes::write_atomic;
use crate::base::random;
use crate::base::sync::unpoisoned;
use crate::diagnostic::{Code, Failure};
use crate::remote::RemoteError;

/// Counts since the node was started.
pub(super) struct Metrics {
    requests: AtomicU64,
    started: AtomicU64,
    ended: AtomicU64,
    refusals: Mutex<BTreeMap<&'static str, u64>>,
    /// The digest of the header that the operator's collector sends.
    token: Digest,
}

impl Metrics {
    /// Makes the token by which the operator's collector is known, in the file `metrics.token`.
    ///
    /// # Errors
    /// An error of the file system or of the system's randomness.
    pub(super) fn new(state: &Path) -> io::Result<Self> {
        let mut bytes = [0; 32];
        random::fill(&mut bytes)?;
        let token = hex::encode(bytes);
        write_atomic(&state.join("metrics.token"), token.as_bytes(), 0o600)?;
        Ok(Self {
            requests: AtomicU64::default(),
            started: AtomicU64::default(),
            ended: AtomicU64::default(),
            refusals: Mutex::default(),
            token: Digest::of(format!("Bearer {token}").as_bytes()),
        })
    }

    pub(super) fn asked(&self) {
        self.requests.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn started(&self) {
        self.started.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn ended(&self) {
        self.ended.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn refused(&self, code: Code) {
        *unpoisoned(self.refusals.lock()).entry(code.name()).or_default() += 1;
    }

    fn text(&self) -> String {
        let count = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let (started, ended) = (count(&self.started), count(&self.ended));
        let mut out = String::new();
        let mut put = |name: &str, kind: &str, rows: &[(String, u64)]| {
            let _ = writeln!(out, "# TYPE rye_node_{name} {kind}");
            for (labels, value) in rows {
                let _ = writeln!(out, "rye_node_{name}{labels} {value}");
            }
        };
        let one = |value| [(String::new(), value)];
        put("requests_total", "counter", &one(count(&self.requests)));
        put("runs_started_total", "counter", &one(started));
        put("runs_ended_total", "counter", &one(ended));
        put("runs", "gauge", &one(started.saturating_sub(ended)));
        let refusals = unpoisoned(self.refusals.lock());
        let rows: Vec<_> =
            refusals.iter().map(|(code, count)| (format!("{{code=\"{code}\"}}"), *count)).collect();
        put("refusals_total", "counter", &rows);
        out
    }
}

/// `GET /metrics`
pub(super) async fn metrics(
    State(node): State<Arc<Node>>,
    headers: HeaderMap,
) -> Result<Response, Failure> {
    let shown = headers.get(AUTHORIZATION).map(HeaderValue::as_bytes);
    // Digests are compared, so the time of the comparison says nothing about the token.
    if shown.map(Digest::of) != Some(node.metrics.token) {
        let why = "it needs the bearer token in `.ai/state/node/metrics.token`".into();
        return Err(RemoteError::BadSignature { why }.into());
    }
    Ok(with_kind("text/plain; version=0.0.4", node.metrics.text()))
}
