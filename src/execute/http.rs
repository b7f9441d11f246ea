//! The primitive `rye/core/primitives/http_client`: one HTTP request (core 7.11), with the tries
//! and the redirects that the plan allows, all within the plan's time.

use std::time::{Duration, Instant};

use super::answer::outcome;
use super::child::RunContext;
use super::error::{ExecuteError, HttpFault};
use super::outcome::Outcome;
use crate::base::again::{self, backoff};
use crate::base::{Address, Mask};
use crate::host::{HttpAnswer, HttpCall, NetFault, NetSettings};
use crate::plan::{HttpRequest, Plan};
use crate::trace::Event;

/// Sends the request, and again as far as the plan allows.
///
/// # Errors
/// `execute.*`
pub(crate) fn http_request(
    plan: &Plan,
    request: &HttpRequest,
    running: &RunContext<'_>,
) -> Result<Outcome, ExecuteError> {
    let start = Instant::now();
    let until = start + plan.timeout();
    let secrets = request.secrets.iter().map(|(_, value)| value.as_str());
    let mask = Mask::new(secrets.chain(plan.private_values()));
    let mut talk = Talk { plan, request, mask, running, until, sent: 0, tries: 0 };
    let answer = talk.whole()?;
    if let Some(witness) = running.witness {
        witness.heard(&answer);
    }
    Ok(outcome(&answer, &talk.mask, talk.sent, start.elapsed()))
}

/// One request with everything that follows from it.
struct Talk<'a> {
    plan: &'a Plan,
    request: &'a HttpRequest,
    mask: Mask,
    running: &'a RunContext<'a>,
    until: Instant,
    /// Requests sent so far.
    sent: u32,
    /// Tries so far of the request that is sent now.
    tries: u32,
}

impl Talk<'_> {
    fn whole(&mut self) -> Result<HttpAnswer, ExecuteError> {
        let request = self.request;
        let mut call = HttpCall {
            method: request.method,
            url: request.address.as_str().to_owned(),
            headers: request.headers.clone(),
            body: request.body.clone(),
            until: self.until,
            connect_timeout: request.connect_timeout,
            body_cap: request.body_cap,
            way: NetSettings::from_vars(self.running.vars, &request.address),
        };
        let mut at = request.address.clone();
        let mut hops = 0;
        loop {
            let answer = self.tried(&call, &at)?;
            let Some(location) = location(&answer) else { return Ok(answer) };
            if hops == request.redirects {
                return Err(self.failed(&at, HttpFault::TooManyRedirects));
            }
            hops += 1;
            at = self.next(&at, &location)?;
            redirected(&mut call, answer.status, &at);
            call.way = NetSettings::from_vars(self.running.vars, &at);
        }
    }

    /// Sends the request until there is an answer to keep, or no try is left.
    fn tried(&mut self, call: &HttpCall, at: &Address) -> Result<HttpAnswer, ExecuteError> {
        loop {
            self.tries += 1;
            self.sent += 1;
            tracing::debug!(method = call.method, origin = at.origin(), "sending");
            let result = self.running.host.call(call);
            self.running.sink.record(Event::Request {
                attempt: self.sent,
                origin: at.origin(),
                status: result.as_ref().ok().map(|answer| answer.status),
                failed: result.as_ref().err().map(word),
            });
            let wait = match &result {
                Ok(answer) if is_busy(answer.status) => self.wait(retry_after(answer)),
                Err(NetFault::Unreachable(_) | NetFault::Broken(_)) => self.wait(None),
                _ => None,
            };
            match (wait, result) {
                (None, Ok(answer)) => return Ok(answer),
                (None, Err(fault)) => return Err(self.fault(at, fault)),
                (Some(time), _) => self.sleep(time)?,
            }
        }
    }

    /// How long to wait before the next try; `None` if there is none, or it would come too late.
    fn wait(&self, asked: Option<Duration>) -> Option<Duration> {
        if self.tries >= self.request.tries {
            return None;
        }
        let time = asked.unwrap_or_else(|| backoff(self.request.backoff, self.tries));
        let left = self.until.saturating_duration_since(Instant::now());
        (time < left).then_some(time)
    }

    fn sleep(&self, time: Duration) -> Result<(), ExecuteError> {
        let wait_ms = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        self.running.sink.record(Event::Wait { wait_ms });
        match self.running.host.sleep(time) {
            Ok(Some(signal)) => Err(self.interrupted(signal)),
            // A wait that failed is one that was short.
            _ => Ok(()),
        }
    }

    /// Where a redirect leads to, if it may be followed: on the same server, to its encrypted side,
    /// or, with nothing in the request that is meant for this server alone, to another.
    fn next(&mut self, at: &Address, location: &str) -> Result<Address, ExecuteError> {
        let Some(to) = at.follow(location) else {
            return Err(self.failed(at, HttpFault::BadRedirect));
        };
        let (from, origin) = (at.origin(), self.mask.text(&to.origin()));
        let is_same = to.origin() == from || to.origin() == from.replacen("http:", "https:", 1);
        let is_weaker = at.is_https() && !to.is_https();
        let followed = is_same || (self.request.is_plain && !is_weaker);
        self.running.sink.record(Event::Redirect { origin: origin.clone(), followed });
        match (followed, is_weaker) {
            (true, _) => {}
            (false, true) => return Err(self.failed(at, HttpFault::WeakerRedirect { to: origin })),
            (false, false) => {
                return Err(self.failed(at, HttpFault::ForeignRedirect { to: origin }));
            }
        }
        self.tries = 0;
        Ok(to)
    }

    fn fault(&self, at: &Address, fault: NetFault) -> ExecuteError {
        match fault {
            NetFault::Interrupted(signal) => self.interrupted(signal),
            NetFault::TimedOut => ExecuteError::Timeout {
                item: self.plan.item().clone(),
                limit: self.plan.limit().clone(),
                stderr_tail: String::new(),
                after: Box::default(),
            },
            other => self.failed(at, HttpFault::Net(other)),
        }
    }

    fn failed(&self, at: &Address, fault: HttpFault) -> ExecuteError {
        let item = self.plan.item().clone();
        let fault = match fault {
            HttpFault::Net(NetFault::Broken(why)) => {
                HttpFault::Net(NetFault::Broken(self.mask.text(&why)))
            }
            other => other,
        };
        ExecuteError::Http { item, origin: at.origin(), fault }
    }

    fn interrupted(&self, signal: i32) -> ExecuteError {
        self.running.sink.record(Event::Exit {
            exit_code: None,
            signal: Some(signal),
            timed_out: false,
        });
        ExecuteError::Interrupted { item: self.plan.item().clone(), signal }
    }
}

/// Changes the request for a redirect (RFC 9110, 15.4).
fn redirected(call: &mut HttpCall, status: u16, to: &Address) {
    to.as_str().clone_into(&mut call.url);
    let becomes_get = match status {
        303 => call.method != "HEAD",
        301 | 302 => call.method == "POST",
        _ => false,
    };
    if becomes_get {
        call.method = "GET";
        call.body = None;
        call.headers.retain(|(name, _)| !name.starts_with("content-"));
    }
}

/// Where an answer says that the thing is now.
fn location(answer: &HttpAnswer) -> Option<String> {
    if !matches!(answer.status, 301 | 302 | 303 | 307 | 308) {
        return None;
    }
    header(answer, "location")
}

fn header(answer: &HttpAnswer, name: &str) -> Option<String> {
    let found = answer.headers.iter().find(|(known, _)| known == name);
    found.map(|(_, value)| String::from_utf8_lossy(value).trim().to_owned())
}

/// Returns true if it makes sense to ask again a little later.
fn is_busy(status: u16) -> bool {
    matches!(status, 429 | 500 | 502 | 503 | 504)
}

fn retry_after(answer: &HttpAnswer) -> Option<Duration> {
    again::retry_after(&header(answer, "retry-after")?)
}

/// The word for a fault in a trace.
fn word(fault: &NetFault) -> &'static str {
    match fault {
        NetFault::NoNetwork => "no_network",
        NetFault::Certificates(_) => "certificates",
        NetFault::Proxy(_) => "proxy",
        NetFault::Unreachable(_) => "unreachable",
        NetFault::Tls(_) => "tls",
        NetFault::Broken(_) => "broken",
        NetFault::TimedOut => "timed_out",
        NetFault::Interrupted(_) => "interrupted",
    }
}
