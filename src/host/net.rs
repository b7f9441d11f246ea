//! Requests and answers of HTTP as data, and waiting that signals can end.
//!
//! Plain data, also in a build without HTTP; `exchange.rs` is the one place that talks.

use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::environment::Vars;
use super::signals::Signals;
use crate::base::Address;
use crate::base::text::escape_line;

/// One request. Inert until a [`super::Host`] takes it.
#[derive(Clone)]
#[cfg_attr(not(feature = "http"), expect(dead_code, reason = "nobody there to read it"))]
pub(crate) struct HttpCall {
    pub(crate) method: &'static str,
    /// An absolute `http` or `https` URL.
    pub(crate) url: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Option<Arc<[u8]>>,
    /// The whole exchange ends by then.
    pub(crate) until: Instant,
    pub(crate) connect_timeout: Duration,
    /// Bytes kept of the answer's body; the rest is not read.
    pub(crate) body_cap: usize,
    pub(crate) way: NetSettings,
}

/// The answer of a server.
pub(crate) struct HttpAnswer {
    pub(crate) status: u16,
    /// Names in lower case, in the order of the answer.
    pub(crate) headers: Vec<(String, Vec<u8>)>,
    pub(crate) body: Vec<u8>,
    pub(crate) truncated: bool,
}

/// A part of an answer, as it comes.
#[derive(Debug, Clone, Copy)]
#[cfg_attr(not(feature = "http"), expect(dead_code, reason = "nobody there to make one"))]
pub(crate) enum AnswerPart<'a> {
    /// Names in lower case, in the order of the answer. It comes first, and once.
    Head {
        status: u16,
        headers: &'a [(String, Vec<u8>)],
    },
    Body(&'a [u8]),
}

/// The operator's settings for the way out: a proxy, and whose certificates are believed.
#[derive(Clone, Default)]
#[cfg_attr(not(feature = "http"), expect(dead_code, reason = "nobody there to read it"))]
pub(crate) struct NetSettings {
    pub(super) proxy: Option<String>,
    pub(super) no_proxy: Option<String>,
    /// `SSL_CERT_FILE` and `SSL_CERT_DIR`; without either, the machine's own store.
    pub(super) certificates: (Option<PathBuf>, Option<PathBuf>),
}

impl NetSettings {
    /// From rye's own environment, which no project writes. To this machine itself no proxy leads:
    /// on another one the address would mean another server, and a secret would go there in the
    /// open.
    pub(crate) fn from_vars(vars: &Vars, to: &Address) -> Self {
        let all = Self::of_scheme(vars, to.is_https());
        if to.is_loopback() { Self { proxy: None, ..all } } else { all }
    }

    /// The settings for every server of a scheme. No proxy may lead to this machine itself.
    pub(crate) fn of_scheme(vars: &Vars, is_https: bool) -> Self {
        let first = |names: &[&str]| names.iter().find_map(|name| vars.text(name)).map(Into::into);
        let proxy = match is_https {
            true => first(&["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"]),
            false => first(&["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"]),
        };
        let certificates = (vars.path("SSL_CERT_FILE"), vars.path("SSL_CERT_DIR"));
        Self { proxy, no_proxy: first(&["no_proxy", "NO_PROXY"]), certificates }
    }
}

/// Why an exchange gave no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(not(feature = "http"), expect(dead_code, reason = "without a network only one can be"))]
pub(crate) enum NetFault {
    /// This build cannot use a network.
    #[cfg_attr(feature = "http", expect(dead_code, reason = "for a build without HTTP"))]
    NoNetwork,
    /// There is nothing to check a server's certificate against.
    Certificates(String),
    Proxy(String),
    /// No connection came about.
    Unreachable(String),
    /// The server could not prove who it is.
    Tls(String),
    /// The connection broke, or the answer is not HTTP.
    Broken(String),
    TimedOut,
    /// This process was asked to end, by this signal.
    Interrupted(i32),
}

impl NetFault {
    /// A clause about the fault; to stand behind the server's name.
    pub(crate) fn clause(&self) -> String {
        match self {
            Self::NoNetwork => "cannot be asked: this rye has no network".into(),
            Self::Certificates(why) => format!("cannot be checked: {why}"),
            Self::Proxy(why) => format!("cannot be reached: {}", escape_line(why)),
            Self::Unreachable(why) => format!("cannot be reached: {}", escape_line(why)),
            Self::Tls(why) => format!("is not believed: {}", escape_line(why)),
            Self::Broken(why) => format!("gave no whole answer: {}", escape_line(why)),
            Self::TimedOut => "did not answer in time".into(),
            Self::Interrupted(signal) => format!("was not waited for: signal {signal}"),
        }
    }
}

/// Waits; a signal ends it early and is returned.
pub(super) fn sleep(time: Duration) -> io::Result<Option<i32>> {
    let signals = Signals::listen()?;
    listen(&signals, None, Instant::now() + time)
}

/// Until a signal comes, `ended` is closed or the time is over.
pub(super) fn listen(
    signals: &Signals,
    ended: Option<&UnixStream>,
    until: Instant,
) -> io::Result<Option<i32>> {
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let mut fds = vec![PollFd::new(signals.fd(), PollFlags::IN)];
        fds.extend(ended.map(|ended| PollFd::from_borrowed_fd(ended.as_fd(), PollFlags::IN)));
        let left = Timespec::try_from(left).map_err(io::Error::other)?;
        match poll(&mut fds, Some(&left)) {
            Err(rustix::io::Errno::INTR) => continue,
            other => other?,
        };
        if fds[0].revents().is_empty() {
            return Ok(None);
        }
        if let Some(signal) = signals.take() {
            return Ok(Some(signal));
        }
    }
}
