//! The answer of an eval.

use serde_json::{Map, Value};

use super::score::Score;
use crate::base::limits::SHOWN_BYTES;
use crate::execute::{Mask, ProtocolFault};

/// A score, and what the eval says to it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Judged {
    pub(crate) score: Score,
    /// For people.
    pub(crate) detail: Option<String>,
    /// For programs; null where the eval gave none.
    pub(crate) data: Value,
}

impl Judged {
    /// Reads the data of a run; what is told of a fault holds no secret.
    ///
    /// # Errors
    /// `protocol.bad_score`; `protocol.bad_response` for a `detail` that is no text.
    pub(crate) fn read(data: &Value, mask: &Mask) -> Result<Self, ProtocolFault> {
        let none = Map::new();
        let map = data.as_object().unwrap_or(&none);
        let score = Score::from_value(map.get("score"));
        let score = score.map_err(|why| ProtocolFault::BadScore { why: mask.words(&why) })?;
        let detail = match map.get("detail") {
            None | Some(Value::Null) => None,
            Some(Value::String(text)) => Some(text.clone()),
            Some(_) => {
                let shown = mask.text(&data.to_string());
                let shown = shown.as_bytes()[..shown.len().min(SHOWN_BYTES)].escape_ascii();
                let why = "`detail` is not text".to_owned();
                return Err(ProtocolFault::BadResponse { why, shown: shown.to_string() });
            }
        };
        let data = map.get("data").cloned().unwrap_or_default();
        Ok(Self { score, detail, data })
    }
}
