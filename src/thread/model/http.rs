//! A provider that is asked over HTTP: one request a turn, and what its answer is.
//!
//! Invariants
//! - The key goes into one header of a request to the signed address, and nowhere else: no redirect
//!   is followed, and what comes back is read without it.
//! - Each request is sent once; the loop decides whether a turn is asked for again.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use zeroize::Zeroizing;

use super::answer::{Answer, AnswerFault, Progress, TOOL_USE_FAILED, short, words};
use super::error::{AskedAt, ProviderError};
use super::{Asked, LanguageModel, Lost, ModelName, TryAgain, Turn, TurnFault, anthropic, openai};
use crate::base::again::{backoff, retry_after};
use crate::base::durations::CONNECT_TIMEOUT_MS;
use crate::base::event_stream::EventStream;
use crate::base::mask::StreamMask;
use crate::base::{Mask, spellings};
use crate::diagnostic::Failure;
use crate::host::{AnswerPart, Host, HttpCall, NetFault, NetSettings, Vars, fits_header};
use crate::id::Ref;
use crate::parse::{ChatShape, HttpProvider};
use crate::thread::ThreadId;

/// Longest wait that a provider may ask for, in milliseconds; one that asks for more is not asked
/// again.
const PROVIDER_WAIT_MAX_MS: u64 = 60_000;

/// Most bytes read of an answer that says what went wrong.
const PROVIDER_FAULT_BYTES: usize = 64 << 10;

/// Largest event of its stream in bytes: one piece of an answer.
const PROVIDER_EVENT_BYTES: usize = 8 << 20;

/// Largest turn of a model in bytes, as written down: far less than the longest line of a record.
const PROVIDER_TURN_BYTES: usize = 16 << 20;

/// Largest answer of a provider in bytes: many times what a model writes in one turn.
const PROVIDER_ANSWER_BYTES: usize = 64 << 20;

/// The key of a server, where it wants one. Has no `Debug`.
#[derive(Clone, Default)]
pub(crate) struct Credential(Option<Zeroizing<String>>);

impl Credential {
    /// Read by its name, from rye's own environment alone.
    ///
    /// # Errors
    /// `provider.missing_credential`
    pub(crate) fn read(
        wanted_by: &Ref,
        name: Option<&str>,
        vars: &Vars,
    ) -> Result<Self, ProviderError> {
        let Some(name) = name else { return Ok(Self(None)) };
        let missing = |why: &str| ProviderError::MissingCredential {
            provider: wanted_by.clone(),
            name: name.to_owned(),
            why: why.to_owned(),
        };
        let value = vars.get(name).ok_or_else(|| missing("is not set"))?;
        let text = value.to_str().ok_or_else(|| missing("is not text"))?;
        match fits_header(text) {
            Ok(()) if text.is_ascii() => Ok(Self(Some(Zeroizing::new(text.to_owned())))),
            Ok(()) => Err(missing("cannot stand in a header: it has other letters than ASCII")),
            Err(why) => Err(missing(&why)),
        }
    }

    pub(crate) fn text(&self) -> Option<&str> {
        self.0.as_ref().map(|key| key.as_str())
    }

    /// The mask of the key, also as JSON spells it.
    pub(crate) fn mask(&self) -> Mask {
        let keys = self.0.iter().flat_map(|key| spellings(key)).collect();
        let keys: Zeroizing<Vec<String>> = Zeroizing::new(keys);
        Mask::new(keys.iter().map(String::as_str))
    }
}

/// The longest wait that is reported, if a server asks for a longer one.
const A_YEAR: Duration = Duration::from_hours(24 * 365);

/// See the module.
pub(crate) struct HttpModel<'a> {
    host: &'a dyn Host,
    provider: Ref,
    http: HttpProvider,
    model: ModelName,
    key: Credential,
    mask: Mask,
    way: NetSettings,
    /// By which it knows what it said itself.
    from: String,
    /// The thread that asks, where one can go on with it.
    asked_by: Option<ThreadId>,
}

impl<'a> HttpModel<'a> {
    pub(crate) fn new(
        host: &'a dyn Host,
        vars: &Vars,
        provider: Ref,
        http: HttpProvider,
        model: ModelName,
        key: Credential,
        asked_by: Option<ThreadId>,
    ) -> Self {
        let (way, mask) = (NetSettings::from_vars(vars, &http.base), key.mask());
        let mut made =
            Self { host, provider, http, model, key, mask, way, from: String::new(), asked_by };
        // The address tells the shape as well.
        made.from = format!("{} at {}", made.provider, made.url());
        made
    }

    /// The path behind the `base_url` in the address that is asked.
    fn path(&self) -> &'static str {
        match self.http.shape {
            ChatShape::OpenAi { .. } => openai::PATH,
            ChatShape::Anthropic => anthropic::PATH,
        }
    }

    fn url(&self) -> String {
        format!("{}{}", self.http.base.as_str().trim_end_matches('/'), self.path())
    }

    fn asked_at(&self) -> AskedAt {
        let url = short(&self.mask.text(&self.url()));
        AskedAt { url, path: self.path(), model: self.model.clone() }
    }

    fn call(&self, asked: &Asked<'_>) -> HttpCall {
        let model = &self.model.name;
        let body = match self.http.shape {
            ChatShape::OpenAi { most_tokens } => {
                openai::request(asked, &self.http, most_tokens, model, &self.from)
            }
            ChatShape::Anthropic => anthropic::request(asked, &self.http, model, &self.from),
        };
        let mut headers = self.http.headers.clone();
        let mut add = |name: &str, value: &str| headers.push((name.to_owned(), value.to_owned()));
        add("content-type", "application/json");
        add("accept", if self.http.streams { "text/event-stream" } else { "application/json" });
        match (self.http.shape, &self.key.0) {
            (ChatShape::OpenAi { .. }, Some(key)) => {
                add("authorization", &format!("Bearer {}", key.as_str()));
            }
            (ChatShape::Anthropic, Some(key)) => add("x-api-key", key),
            (_, None) => {}
        }
        if self.http.shape == ChatShape::Anthropic {
            add("anthropic-version", anthropic::VERSION);
        }
        HttpCall {
            method: "POST",
            url: self.url(),
            headers,
            body: Some(Arc::from(body.to_string().into_bytes())),
            until: asked.until,
            connect_timeout: Duration::from_millis(CONNECT_TIMEOUT_MS),
            // A longer body is no fault of the network, so the reader ends it.
            body_cap: usize::MAX,
            way: self.way.clone(),
        }
    }

    /// The turn of an answer that came, or why it is none.
    fn read(&self, reading: Reading, asked: &Asked<'_>) -> Result<Turn, TurnFault> {
        let Reading {
            mut answer, status, body, is_cut, events, is_done, fault, retry_after, ..
        } = reading;
        if !(200..300).contains(&status) {
            let (kind, said) = words(&body, is_cut, &self.mask);
            // Its model said something.
            let may_cost = kind == TOOL_USE_FAILED;
            let why = match may_cost {
                true => self.badly_called(status, said, asked),
                // It would say so again, however long one waits.
                false if USED_UP.contains(&kind.as_str()) => {
                    Lost::Failed(self.bad_request(status, said).into())
                }
                false => self.of_status(status, said, retry_after, asked),
            };
            return Err(TurnFault { why, may_cost });
        }
        let fault = match (fault, &events) {
            (Some(fault), _) => Some(fault),
            (None, None) if is_page(&body) => {
                Some(AnswerFault::Bad("it is a page of HTML, and not JSON".into()))
            }
            (None, None) => answer.whole(&body).err(),
            (None, Some(events)) if is_done || (answer.has_end() && events.is_between()) => None,
            (None, Some(_)) => {
                let (provider, origin) = (self.provider.clone(), self.http.base.origin());
                let why = self.again(ProviderError::BrokenOff { provider, origin }, None, asked);
                return Err(TurnFault { why, may_cost: true });
            }
        };
        let why = match fault {
            None => {
                let turn = answer.turn(&self.mask, &self.from, asked.messages.len());
                if turn.to_json().to_string().len() <= PROVIDER_TURN_BYTES {
                    return Ok(turn);
                }
                let most = PROVIDER_TURN_BYTES >> 20;
                let why = format!("what its model says has more than {most} MiB");
                Lost::Failed(self.bad_answer(&why))
            }
            Some(AnswerFault::Bad(why)) => Lost::Failed(self.bad_answer(&why)),
            Some(AnswerFault::Told { kind, message }) => {
                let said = short(&self.mask.words(&message));
                match is_busy(&kind) {
                    _ if kind == TOOL_USE_FAILED => self.badly_called(status, said, asked),
                    true => self.again(
                        self.overloaded(short(&self.mask.words(&kind)), said),
                        None,
                        asked,
                    ),
                    false => Lost::Failed(self.bad_request(status, said).into()),
                }
            }
        };
        Err(TurnFault { why, may_cost: true })
    }

    fn of_status(
        &self,
        status: u16,
        said: String,
        wait: Option<Duration>,
        asked: &Asked<'_>,
    ) -> Lost {
        match status {
            401 | 403 => {
                let (provider, key) = (self.provider.clone(), self.http.credential_env.clone());
                Lost::Failed(ProviderError::Refused { provider, status, said, key }.into())
            }
            408 | 425 | 429 | 500..=599 => {
                let error = self.overloaded(format!("status {status}"), said);
                self.again(error, wait, asked)
            }
            400..=499 => Lost::Failed(self.bad_request(status, said).into()),
            300..=399 => {
                let why = "it leads to another address, which is not followed";
                Lost::Failed(self.bad_answer(why))
            }
            _ => Lost::Failed(self.bad_answer(&format!("its status is {status}"))),
        }
    }

    /// Asked again as often as the provider says, and while there is time. A wait that it asks for
    /// and that is too long is not begun, and is told.
    fn again(&self, mut error: ProviderError, told: Option<Duration>, asked: &Asked<'_>) -> Lost {
        let most_tries = self.http.retry.tries;
        let wait = told.unwrap_or_else(|| backoff(self.http.retry.first_wait, asked.tries));
        let is_short = told.is_none_or(|wait| wait <= Duration::from_millis(PROVIDER_WAIT_MAX_MS));
        let has_time = asked.until.saturating_duration_since(Instant::now()) > wait;
        if asked.tries < most_tries && is_short && has_time {
            let (provider, why) = (self.provider.clone(), error.brief());
            return Lost::Again(error.into(), TryAgain { provider, why, most_tries, wait });
        }
        if let ProviderError::Overloaded { retry_after, .. } = &mut error {
            *retry_after = told.filter(|wait| !wait.is_zero()).map(|wait| wait.min(A_YEAR));
        }
        Lost::Failed(error.into())
    }

    fn of_net(&self, fault: NetFault, has_answer: bool, asked: &Asked<'_>) -> TurnFault {
        let is_sent =
            matches!(fault, NetFault::Broken(_) | NetFault::TimedOut | NetFault::Interrupted(_));
        let why = match fault {
            NetFault::TimedOut => Lost::TimedOut,
            NetFault::Interrupted(signal) => {
                let provider = self.provider.clone();
                Lost::Failed(ProviderError::Interrupted { provider, signal }.into())
            }
            NetFault::Unreachable(_) | NetFault::Broken(_) => {
                self.again(self.unreachable(self.mask.text(&fault.clause())), None, asked)
            }
            other => Lost::Failed(self.unreachable(self.mask.text(&other.clause())).into()),
        };
        TurnFault { why, may_cost: is_sent || has_answer }
    }

    fn unreachable(&self, clause: String) -> ProviderError {
        let (provider, origin) = (self.provider.clone(), self.http.base.origin());
        ProviderError::Unreachable { provider, origin, clause }
    }

    fn overloaded(&self, status: String, said: String) -> ProviderError {
        let (provider, asked_by) = (self.provider.clone(), self.asked_by.clone());
        ProviderError::Overloaded { provider, status, said, retry_after: None, asked_by }
    }

    fn bad_request(&self, status: u16, said: String) -> ProviderError {
        let (provider, asked) = (self.provider.clone(), Box::new(self.asked_at()));
        ProviderError::BadRequest { provider, status, said, is_bad_call: false, asked }
    }

    /// The model wrote a call that its server cannot read; it may write another one.
    fn badly_called(&self, status: u16, said: String, asked: &Asked<'_>) -> Lost {
        let mut error = self.bad_request(status, said);
        if let ProviderError::BadRequest { is_bad_call, .. } = &mut error {
            *is_bad_call = true;
        }
        self.again(error, None, asked)
    }

    fn bad_answer(&self, why: &str) -> Failure {
        let why = short(&self.mask.words(why));
        let (provider, asked) = (self.provider.clone(), Box::new(self.asked_at()));
        ProviderError::BadAnswer { provider, why, asked }.into()
    }
}

impl LanguageModel for HttpModel<'_> {
    fn turn(&mut self, asked: &Asked<'_>, told: &mut dyn FnMut(&str)) -> Result<Turn, TurnFault> {
        let call = self.call(asked);
        let mut reading = Reading::new(self.http.shape);
        let mut masked = StreamMask::new(&self.mask);
        let came = self.host.stream(&call, &mut |part| {
            reading.take(part, &mut |text| {
                let shown = masked.next(text.as_bytes());
                if !shown.is_empty() {
                    told(&String::from_utf8_lossy(&shown));
                }
            })
        });
        tracing::debug!(
            origin = self.http.base.origin(),
            status = reading.status,
            "a model answered"
        );
        let turn = match came {
            Err(fault) => Err(self.of_net(fault, reading.is_answer(), asked)),
            Ok(()) => self.read(reading, asked),
        };
        let rest = masked.end(turn.is_err());
        if !rest.is_empty() {
            told(&String::from_utf8_lossy(&rest));
        }
        turn
    }

    fn wait(&mut self, time: Duration) -> Result<(), Failure> {
        match self.host.sleep(time) {
            Ok(Some(signal)) => {
                let provider = self.provider.clone();
                Err(ProviderError::Interrupted { provider, signal }.into())
            }
            // A wait that failed is one that was short.
            _ => Ok(()),
        }
    }
}

/// A page for people, which no server of models answers with.
fn is_page(body: &[u8]) -> bool {
    body.trim_ascii_start().first() == Some(&b'<')
}

/// Bytes within which an answer shows that it is a stream of events.
const STREAM_SIGN: usize = 16;

fn begins_stream(body: &[u8]) -> bool {
    let body = body.strip_prefix("\u{feff}".as_bytes()).unwrap_or(body).trim_ascii_start();
    [&b"data:"[..], b"event:", b"id:", b"retry:", b":"].iter().any(|it| body.starts_with(it))
}

/// Kinds of errors, with status 429, that tell of an account with nothing left.
const USED_UP: [&str; 2] = ["insufficient_quota", "exceeded_current_quota_error"];

/// Returns true if the fault that a server reports inside an answer means that it is busy.
fn is_busy(kind: &str) -> bool {
    let words = ["overloaded", "rate_limit", "api_error", "server_error", "timeout_error"];
    let status = kind.parse::<u16>().ok();
    status.is_some_and(|status| matches!(status, 408 | 425 | 429 | 500..=599))
        || words.iter().any(|word| kind.contains(word))
}

/// An answer while it comes.
struct Reading {
    answer: Answer,
    status: u16,
    retry_after: Option<Duration>,
    /// Of a stream; `None` where the answer is one piece.
    events: Option<EventStream>,
    /// The bytes of an answer that is not a stream.
    body: Vec<u8>,
    is_cut: bool,
    is_done: bool,
    fault: Option<AnswerFault>,
    /// So many bytes of a body came.
    length: usize,
}

impl Reading {
    fn new(shape: ChatShape) -> Self {
        Self {
            answer: Answer::new(shape),
            status: 0,
            retry_after: None,
            events: None,
            body: Vec::new(),
            is_cut: false,
            is_done: false,
            fault: None,
            length: 0,
        }
    }

    /// It is what was asked for, as far as its status says.
    fn is_answer(&self) -> bool {
        (200..300).contains(&self.status)
    }

    fn take(&mut self, part: AnswerPart<'_>, told: &mut dyn FnMut(&str)) -> ControlFlow<()> {
        let bytes = match part {
            AnswerPart::Head { status, headers } => {
                self.begin(status, headers);
                return ControlFlow::Continue(());
            }
            AnswerPart::Body(bytes) => bytes,
        };
        self.length += bytes.len();
        if self.length > PROVIDER_ANSWER_BYTES {
            let why = format!("it has more than {} MiB", PROVIDER_ANSWER_BYTES >> 20);
            self.fault = Some(AnswerFault::Bad(why));
            return ControlFlow::Break(());
        }
        if self.is_answer() && self.body.len() <= STREAM_SIGN && self.events.is_none() {
            // Some servers label a stream as something else.
            self.body.extend_from_slice(bytes);
            if !begins_stream(&self.body) {
                return ControlFlow::Continue(());
            }
            self.events = Some(EventStream::new(PROVIDER_EVENT_BYTES));
            let begun = std::mem::take(&mut self.body);
            return self.take_events(&begun, told);
        }
        if self.events.is_some() {
            return self.take_events(bytes, told);
        }
        self.body.extend_from_slice(bytes);
        if !self.is_answer() && self.body.len() > PROVIDER_FAULT_BYTES {
            self.body.truncate(PROVIDER_FAULT_BYTES);
            self.is_cut = true;
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }

    fn take_events(&mut self, bytes: &[u8], told: &mut dyn FnMut(&str)) -> ControlFlow<()> {
        let Some(events) = &mut self.events else { return ControlFlow::Continue(()) };
        let Ok(events) = events.next(bytes) else {
            let why = format!("an event has more than {PROVIDER_EVENT_BYTES} bytes");
            self.fault = Some(AnswerFault::Bad(why));
            return ControlFlow::Break(());
        };
        for event in events {
            match self.answer.event(&event, told) {
                Ok(Progress::More) => {}
                Ok(Progress::Done) => {
                    self.is_done = true;
                    return ControlFlow::Break(());
                }
                Err(fault) => {
                    self.fault = Some(fault);
                    return ControlFlow::Break(());
                }
            }
        }
        ControlFlow::Continue(())
    }

    fn begin(&mut self, status: u16, headers: &[(String, Vec<u8>)]) {
        let header = |name: &str| {
            let found = headers.iter().find(|(known, _)| known == name)?;
            std::str::from_utf8(&found.1).ok()
        };
        self.status = status;
        self.retry_after = header("retry-after").and_then(retry_after);
        let kind = header("content-type").unwrap_or_default().to_ascii_lowercase();
        if self.is_answer() && kind.trim_start().starts_with("text/event-stream") {
            self.events = Some(EventStream::new(PROVIDER_EVENT_BYTES));
        }
    }
}
