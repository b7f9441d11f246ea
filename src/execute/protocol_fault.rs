//! The faults between rye and a program that speaks the exec protocol.

use std::time::Duration;

use super::error::{
    PROTOCOL_BAD_RESPONSE, PROTOCOL_BAD_SCORE, PROTOCOL_EMPTY_RESPONSE, PROTOCOL_OUTPUT_TOO_LARGE,
    PROTOCOL_PENDING_AGAIN, PROTOCOL_REQUEST_TOO_LARGE, PROTOCOL_SERVER_EXITED,
    PROTOCOL_SERVER_UNSTABLE, PROTOCOL_TIMEOUT,
};
use crate::base::time::time_text;
use crate::diagnostic::Code;
use crate::plan::TimeLimit;

/// Why a call has no answer; a clause to stand behind the item's name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ProtocolFault {
    #[error("gave something that is not a valid answer: {why}; it begins `{shown}`")]
    BadResponse {
        why: String,
        /// The first bytes of it, escaped.
        shown: String,
    },
    #[error("gave no score from 0 to 1: {why}")]
    BadScore { why: String },
    #[error("ended without an answer")]
    EmptyResponse,
    #[error("answered more than {cap} bytes and was stopped")]
    OutputTooLarge { cap: usize },
    #[error("was not asked: the request of {size} bytes does not fit into a line of {cap} bytes")]
    RequestTooLarge { size: usize, cap: usize },
    #[error("did not answer within {} and was stopped", time_text(.limit.time()))]
    Timeout { limit: TimeLimit },
    /// Its process serves other calls as well.
    #[error("did not answer within {}; it goes on with its other calls", time_text(.limit.time()))]
    TimeoutOfOne { limit: TimeLimit },
    #[error("was not asked within {}: earlier calls or its start took that long", time_text(.limit.time()))]
    NeverAsked { limit: TimeLimit },
    #[error("asked for a person again, although one has approved it")]
    PendingAgain,
    #[error("ended before it answered: {how}")]
    ServerExited { how: String },
    #[error("ended {deaths} times within a minute, and is not started again for {} s", .wait.as_secs().max(1))]
    ServerUnstable { deaths: usize, wait: Duration },
}

impl ProtocolFault {
    pub(super) fn code(&self) -> Code {
        match self {
            Self::BadResponse { .. } => PROTOCOL_BAD_RESPONSE,
            Self::BadScore { .. } => PROTOCOL_BAD_SCORE,
            Self::EmptyResponse => PROTOCOL_EMPTY_RESPONSE,
            Self::OutputTooLarge { .. } => PROTOCOL_OUTPUT_TOO_LARGE,
            Self::RequestTooLarge { .. } => PROTOCOL_REQUEST_TOO_LARGE,
            Self::Timeout { .. } | Self::TimeoutOfOne { .. } | Self::NeverAsked { .. } => {
                PROTOCOL_TIMEOUT
            }
            Self::PendingAgain => PROTOCOL_PENDING_AGAIN,
            Self::ServerExited { .. } => PROTOCOL_SERVER_EXITED,
            Self::ServerUnstable { .. } => PROTOCOL_SERVER_UNSTABLE,
        }
    }

    /// The limit that the call went past.
    pub(super) fn limit(&self) -> Option<&TimeLimit> {
        match self {
            Self::Timeout { limit } | Self::TimeoutOfOne { limit } | Self::NeverAsked { limit } => {
                Some(limit)
            }
            _ => None,
        }
    }

    pub(super) fn help(&self) -> String {
        let help = match self {
            Self::BadResponse { .. } => {
                "it must print one JSON object and nothing else; notes belong on standard error"
            }
            Self::BadScore { .. } => {
                "it must answer `{\"score\": …}`, a number from 0 to 1; what it cannot score is an error"
            }
            Self::EmptyResponse => {
                "it must print one JSON object, such as `{\"result\": …}`, before it ends"
            }
            Self::OutputTooLarge { .. } => {
                "let it answer less, or raise `exec.max_output_bytes` up to 16 MiB and sign"
            }
            Self::RequestTooLarge { .. } => {
                "give it the path of a file instead, or let it run once a call, which reads any size"
            }
            Self::Timeout { limit } | Self::TimeoutOfOne { limit } => {
                return limit.help("exec.timeout");
            }
            Self::NeverAsked { .. } => {
                "if it can serve several calls at once, raise `exec.max_in_flight` and sign"
            }
            Self::PendingAgain => {
                "once it is given `approval`, it must do what it asked for, or fail"
            }
            Self::ServerExited { .. } => {
                "the next call starts it anew; what it said last is in `data.stderr_tail`"
            }
            Self::ServerUnstable { .. } => {
                "run it by hand and see why it ends; `--trace` shows each start and end"
            }
        };
        help.to_owned()
    }
}
