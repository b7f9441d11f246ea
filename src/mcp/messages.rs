//! Messages out of a stream, one a line, each of a bounded size; and a bound on the values of a
//! message. The values are counted before the library reads the message, because the library tries
//! several shapes, and each try costs a hundred times the bytes of a small value.

use rmcp::model::{ClientJsonRpcMessage, ErrorData, RequestId, ServerJsonRpcMessage};
use serde::Deserialize;
use serde_json::Value;
use serde_json::error::Category;
use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};

use crate::base::json_reader::may_hold_more;
use crate::base::limits::{MCP_MESSAGE_BYTES, MESSAGE_NODES};

/// See the module.
pub(super) struct Messages<R> {
    from: BufReader<R>,
    /// The line that is not complete yet.
    line: Vec<u8>,
    /// That line is longer than a message may be, so the rest of it is skipped.
    is_over: bool,
}

/// A message that is refused, and the error for its sender.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Refused {
    /// The id of the request, if it is known.
    pub(super) id: Option<RequestId>,
    pub(super) why: &'static str,
}

const TOO_LONG: &str = "the message is larger than any that is read";
const TOO_MANY: &str = "the message holds more values than any that is read";

/// A second `initialize` would change the terms of calls that still run.
pub(super) const HAS_BEGUN: &str = "the session has begun already";

impl<R: AsyncRead + Unpin> Messages<R> {
    pub(super) fn new(from: R) -> Self {
        Self { from: BufReader::new(from), line: Vec::new(), is_over: false }
    }

    /// The next message; `None` at the end of the stream, where a line without a line feed does not
    /// count. Lines that are not JSON, and unknown notifications, are skipped, as by other servers.
    ///
    /// Dropping the future loses nothing.
    pub(super) async fn next(&mut self) -> Option<Result<ClientJsonRpcMessage, Refused>> {
        loop {
            let line = match self.next_line().await? {
                Ok(line) => line,
                Err(refused) => return Some(Err(refused)),
            };
            let line = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&line);
            if line.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            if let Err(refused) = is_read(line) {
                match refused {
                    Some(refused) => return Some(Err(refused)),
                    None => continue,
                }
            }
            let error = match serde_json::from_slice(line) {
                Ok(message) => return Some(Ok(message)),
                Err(error) => error,
            };
            let is_json = !matches!(error.classify(), Category::Syntax | Category::Eof);
            let is_told = Head::read(line).is_some_and(|head| head.is_notification());
            if is_json && !is_told {
                return Some(Err(Refused { id: None, why: "Invalid request" }));
            }
        }
    }

    /// The next line, without its end.
    async fn next_line(&mut self) -> Option<Result<Vec<u8>, Refused>> {
        loop {
            // No bytes are taken from the reader before the last `await`.
            let read = self.from.fill_buf().await.ok().filter(|read| !read.is_empty())?;
            let end = read.iter().position(|byte| *byte == b'\n');
            let part = &read[..end.unwrap_or(read.len())];
            if self.line.len() + part.len() > MCP_MESSAGE_BYTES {
                self.is_over = true;
                self.line = Vec::new();
            }
            if !self.is_over {
                self.line.extend_from_slice(part);
            }
            let taken = part.len() + usize::from(end.is_some());
            self.from.consume(taken);
            if end.is_none() {
                continue;
            }
            let line = std::mem::take(&mut self.line);
            return Some(match std::mem::take(&mut self.is_over) {
                true => Err(Refused { id: None, why: TOO_LONG }),
                false => Ok(line),
            });
        }
    }
}

/// The envelope of a message, without its values.
#[derive(Deserialize)]
struct Head {
    id: Option<RequestId>,
    method: Option<String>,
}

impl Head {
    fn read(text: &[u8]) -> Option<Self> {
        serde_json::from_slice(text).ok()
    }

    fn is_notification(&self) -> bool {
        self.method.is_some() && self.id.is_none()
    }
}

/// Says why the library could not read the parameters of a known method; `None` for an unknown
/// method.
pub(super) fn bad_parameters(method: &str, params: Option<&Value>) -> Option<String> {
    let needed = match method {
        "tools/call" | "prompts/get" => "name",
        "resources/read" | "resources/subscribe" | "resources/unsubscribe" => "uri",
        "logging/setLevel" => "level",
        _ => return None,
    };
    let Some(Value::Object(params)) = params else {
        return Some("`params` is not an object".into());
    };
    Some(match (params.get(needed), params.get("arguments")) {
        (None, _) => format!("`{needed}` is missing"),
        (Some(Value::String(_)), Some(Value::Object(_)) | None) => {
            "the parameters are not those of the method".into()
        }
        (Some(Value::String(_)), Some(_)) => "`arguments` is not an object".into(),
        (Some(_), _) => format!("`{needed}` is not a text"),
    })
}

/// Returns true if a message asks for a session.
pub(super) fn begins_session(text: &[u8]) -> bool {
    Head::read(text).is_some_and(|head| head.method.as_deref() == Some("initialize"))
}

/// Checks that a message does not hold too many values.
///
/// # Errors
/// The error for the sender; none for a notification, which is never answered.
fn is_read(text: &[u8]) -> Result<(), Option<Refused>> {
    if !may_hold_more(text, MESSAGE_NODES) {
        return Ok(());
    }
    let head = Head::read(text);
    match head.as_ref().is_some_and(Head::is_notification) {
        true => Err(None),
        false => Err(Some(Refused { id: head.and_then(|head| head.id), why: TOO_MANY })),
    }
}

/// As [`is_read`], for a message over HTTP, where a session cannot begin twice.
///
/// # Errors
/// The body of the answer.
pub(super) fn is_read_over_http(text: &[u8], has_begun: bool) -> Result<(), String> {
    let refused = match is_read(text) {
        Err(refused) => refused.unwrap_or(Refused { id: None, why: TOO_MANY }),
        Ok(()) => match Head::read(text).filter(|_| has_begun) {
            Some(Head { id, method: Some(method) }) if method == "initialize" => {
                Refused { id, why: HAS_BEGUN }
            }
            _ => return Ok(()),
        },
    };
    let error = ErrorData::invalid_request(refused.why, None);
    let answer = ServerJsonRpcMessage::error(error, refused.id);
    Err(serde_json::to_string(&answer).expect("a message of the protocol is JSON"))
}
