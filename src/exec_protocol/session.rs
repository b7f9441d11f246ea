//! The calls of a server as a state machine, without I/O (exec-protocol 3.2, 3.3).
//!
//! Ids rise over all processes of a server, so that no process can answer a call that was not its
//! own.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::wire::{Answer, message, pending, shown};
use crate::base::limits::EXEC_LINE_BYTES;
use crate::execute::{Mask, ProtocolFault};

/// How a call ended.
pub(super) type Reply = Result<Answer, ProtocolFault>;

/// Calls that were begun and not taken yet, by their ids.
#[derive(Debug, Default)]
pub(super) struct Session {
    last: u64,
    calls: BTreeMap<u64, Option<Reply>>,
}

/// The effect of a line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Heard {
    /// A call has its reply.
    Answered,
    /// It belongs to no call, for this reason.
    Skipped(&'static str),
    /// The process broke the protocol; its further lines mean nothing.
    Broken(ProtocolFault),
}

impl Session {
    /// Begins a call: its id, and the line to be sent.
    pub(super) fn begin(&mut self, request: &str) -> (u64, String) {
        self.last += 1;
        let id = self.last;
        self.calls.insert(id, None);
        (id, line(id, request))
    }

    /// Calls without a reply.
    pub(super) fn waiting(&self) -> usize {
        self.calls.values().filter(|reply| reply.is_none()).count()
    }

    /// The reply of a call, once.
    pub(super) fn take(&mut self, id: u64) -> Option<Reply> {
        self.calls.get(&id)?.as_ref()?;
        self.calls.remove(&id).flatten()
    }

    /// Gives up a call: no caller waits for it any more, and an answer that comes later is skipped.
    pub(super) fn give_up(&mut self, id: u64) {
        self.calls.remove(&id);
    }

    /// Every call without a reply ends with this fault.
    pub(super) fn fail(&mut self, fault: &ProtocolFault) {
        for reply in self.calls.values_mut().filter(|reply| reply.is_none()) {
            *reply = Some(Err(fault.clone()));
        }
    }

    /// Takes one line of the program.
    pub(super) fn hear(&mut self, line: &[u8], mask: &Mask) -> Heard {
        let bad = |why: &str| {
            Heard::Broken(ProtocolFault::BadResponse { why: why.into(), shown: shown(line, mask) })
        };
        if line.iter().all(u8::is_ascii_whitespace) {
            return Heard::Skipped("a blank line");
        }
        let Ok(text) = std::str::from_utf8(line) else { return bad("it is not UTF-8") };
        let mut map = match message(text) {
            Ok(Value::Object(map)) => map,
            Ok(_) => return bad("it is not a JSON object"),
            Err(why) => return bad(&why),
        };
        if map.contains_key("method") {
            return Heard::Skipped("a notification or request of the program");
        }
        let Some(id) = map.get("id").and_then(Value::as_u64) else {
            return bad("its `id` is not the id of a call");
        };
        // Whatever the rest is: a line that belongs to no call breaks nothing.
        let Some(slot @ None) = self.calls.get_mut(&id) else {
            return Heard::Skipped("an answer to no call that waits");
        };
        match reply(&mut map) {
            Ok(reply) => {
                *slot = Some(Ok(reply));
                Heard::Answered
            }
            Err(why) => bad(why),
        }
    }
}

/// A request as the line that is sent.
fn line(id: u64, request: &str) -> String {
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"execute\",\"params\":{request}}}\n")
}

/// Checks that a request fits into a line, whatever its id.
///
/// # Errors
/// `protocol.request_too_large`
pub(super) fn fits(request: &str) -> Result<(), ProtocolFault> {
    let (size, cap) = (line(u64::MAX, "").len() + request.len(), EXEC_LINE_BYTES);
    if size > cap { Err(ProtocolFault::RequestTooLarge { size, cap }) } else { Ok(()) }
}

fn reply(map: &mut Map<String, Value>) -> Result<Answer, &'static str> {
    let error = map.remove("error").filter(|error| !error.is_null());
    match (map.remove("result"), error) {
        (None, None) => Err("it has neither `result` nor `error`"),
        (Some(_), Some(_)) => Err("it has both `result` and `error`"),
        (None, Some(error)) => {
            let text = error.as_str().or_else(|| error.get("message")?.as_str());
            let text = text.ok_or("`error` has no `message`")?.to_owned();
            Ok(Answer::Error(
                text,
                Value::Object([("error".to_owned(), error)].into_iter().collect()),
            ))
        }
        (Some(Value::Object(result)), None) => match pending(&result)? {
            Some(pending) => Ok(Answer::Pending(pending)),
            None => Ok(Answer::Result(Value::Object(result))),
        },
        (Some(result), None) => Ok(Answer::Result(result)),
    }
}

#[cfg(test)]
mod tests {
    use super::{Heard, Session};
    use crate::exec_protocol::wire::Answer;
    use crate::execute::Mask;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    fn hear(session: &mut Session, line: &str) -> Heard {
        session.hear(line.as_bytes(), &Mask::new(std::iter::empty()))
    }

    #[test]
    fn a_request_is_one_line_with_an_id_from_1_rising() {
        let mut session = Session::default();
        let (first, line) = session.begin("{\"args\":{\"a\":1.10}}");
        assert_eq!(
            (first, line.as_str()),
            (
                1,
                "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"execute\",\
                 \"params\":{\"args\":{\"a\":1.10}}}\n"
            )
        );
        assert_eq!(session.begin("{}").0, 2);
        assert_eq!(session.waiting(), 2);
    }

    #[test]
    fn f03_each_line_reaches_its_caller_or_nobody_or_ends_the_process() {
        let answered = |line: &str| {
            let mut session = Session::default();
            session.begin("{}");
            session.begin("{}");
            session.give_up(2);
            let heard = hear(&mut session, line);
            (heard, session.take(1).map(Result::unwrap))
        };
        for line in [
            "",
            "   ",
            "{\"jsonrpc\":\"2.0\",\"method\":\"log\",\"params\":{}}",
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ask\"}",
            "{\"id\":2,\"result\":\"late\"}",
            "{\"id\":3,\"result\":\"of nobody\"}",
            "{\"id\":0,\"result\":\"of nobody\"}",
            "{\"id\":2}",
            "{\"id\":3,\"result\":1,\"error\":{\"code\":1,\"message\":\"x\"}}",
            "{\"id\":3,\"error\":7}",
            "{\"id\":2,\"result\":{\"pending\":true}}",
        ] {
            let (heard, got) = answered(line);
            assert!(matches!(heard, Heard::Skipped(_)), "{line}: {heard:?}");
            assert_eq!(got, None, "{line}");
        }
        for line in [
            "hello",
            "[{\"id\":1,\"result\":1}]",
            "{\"id\":1,\"result\":1}{}",
            "{\"id\":\"1\",\"result\":1}",
            "{\"id\":1.0,\"result\":1}",
            "{\"id\":-1,\"result\":1}",
            "{\"id\":null,\"error\":{\"code\":-32700,\"message\":\"x\"}}",
            "{\"result\":1}",
            "{\"id\":1}",
            "{\"id\":1,\"error\":null}",
            "{\"id\":1,\"result\":1,\"error\":{\"code\":1,\"message\":\"x\"}}",
            "{\"id\":1,\"result\":null,\"error\":{\"code\":1,\"message\":\"x\"}}",
            "{\"id\":1,\"error\":{\"code\":1}}",
            "{\"id\":1,\"result\":{\"pending\":true}}",
            "{\"id\":1,\"result\":",
            "{\"id\":1,\"id\":1,\"result\":1}",
        ] {
            let (heard, got) = answered(line);
            assert!(matches!(heard, Heard::Broken(_)), "{line}: {heard:?}");
            assert_eq!(got, None, "{line}");
        }
        for (line, want) in [
            ("{\"id\":1,\"result\":null}", Answer::Result(json!(null))),
            ("{\"id\":1,\"result\":{\"a\":1},\"error\":null}", Answer::Result(json!({"a": 1}))),
            (
                "{\"id\":1,\"error\":{\"code\":-1,\"message\":\"no\"}}",
                Answer::Error("no".into(), json!({"error": {"code": -1, "message": "no"}})),
            ),
        ] {
            assert_eq!(answered(line), (Heard::Answered, Some(want)), "{line}");
        }
    }

    #[test]
    fn a_second_answer_to_a_call_is_skipped() {
        let mut session = Session::default();
        session.begin("{}");
        assert_eq!(hear(&mut session, "{\"id\":1,\"result\":1}"), Heard::Answered);
        let again = hear(&mut session, "{\"id\":1,\"result\":2}");
        assert!(matches!(again, Heard::Skipped(_)));
        assert_eq!(session.take(1), Some(Ok(Answer::Result(json!(1)))));
        assert_eq!(session.take(1), None);
    }

    proptest! {
        /// f04: whatever the order of calls, answers, time-outs and deaths, a call gets the answer
        /// to its own id or none.
        #[test]
        fn f04_a_late_answer_never_reaches_another_call(
            steps in prop::collection::vec((0_u8..5, 0_u64..12), 1..60),
        ) {
            let mut session = Session::default();
            let mut open: Vec<u64> = Vec::new();
            for (step, which) in steps {
                match step {
                    0 => open.push(session.begin("{}").0),
                    1 | 2 => drop(hear(&mut session, &format!("{{\"id\":{which},\"result\":{which}}}"))),
                    3 => {
                        if let Some(id) = open.get(usize::try_from(which).unwrap()).copied() {
                            session.give_up(id);
                            open.retain(|known| *known != id);
                        }
                    }
                    _ => {
                        let how = "status 1".to_owned();
                        session.fail(&crate::execute::ProtocolFault::ServerExited { how });
                    }
                }
                for id in open.clone() {
                    let Some(reply) = session.take(id) else { continue };
                    open.retain(|known| *known != id);
                    if let Ok(answer) = reply {
                        prop_assert_eq!(answer, Answer::Result(Value::from(id)));
                    }
                }
            }
        }
    }
}
