//! The bodies of requests to a node, as JSON (remote 3).

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::error::RemoteError;
use crate::base::Digest;
use crate::base::json::object;
use crate::base::json_reader::typed;
use crate::id::{ItemId, Ref};
use crate::parse::kept_json;
use crate::thread::{ThreadId, is_uuid};

/// The body of `POST /execute`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExecuteRequest {
    /// The id of the run, which the caller makes: by it the run is found again.
    pub(crate) run: String,
    pub(crate) item_id: String,
    #[serde(default, skip_deserializing)]
    pub(crate) parameters: Map<String, Value>,
    #[serde(default = "inline")]
    pub(crate) thread: String,
    #[serde(default, rename = "async")]
    pub(crate) detached: bool,
    /// The snapshot that the run's folder is made of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) snapshot: Option<Digest>,
    /// The secrets that the item asks for, so that one that is missing is told before the push.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) secrets: Vec<String>,
    /// Patterns of the files that come back.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) outputs: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) model: Option<String>,
    #[serde(default, skip_deserializing)]
    pub(crate) limit_overrides: Map<String, Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) timeout_ms: Option<u64>,
    /// A receipt of the run goes with its answer.
    #[serde(default)]
    pub(crate) receipt: bool,
}

fn inline() -> String {
    "inline".into()
}

impl ExecuteRequest {
    /// # Errors
    /// `remote.bad_request`
    pub(crate) fn read(body: &[u8]) -> Result<Self, RemoteError> {
        let mut body = read_object(body)?;
        // The library mistakes an object with a certain private key for another value.
        let parts = ["parameters", "limit_overrides"].map(|key| match body.shift_remove(key) {
            None => Ok(Map::new()),
            Some(Value::Object(map)) => Ok(map),
            Some(_) => Err(RemoteError::bad_request(format!("`{key}` is not an object"))),
        });
        let [parameters, limit_overrides] = parts;
        let (parameters, limit_overrides) = (parameters?, limit_overrides?);
        let read: Self = typed(body.into()).map_err(|error| bad(&error))?;
        Ok(Self { parameters, limit_overrides, ..read })
    }

    /// Returns true if the id of the run is one that such a run may have.
    pub(crate) fn has_fit_id(&self, item: &Ref) -> bool {
        match self.thread == "fork" {
            true => is_thread_of(&self.run, &item.id),
            false => is_uuid(&self.run),
        }
    }
}

fn is_thread_of(run: &str, directive: &ItemId) -> bool {
    run.parse::<ThreadId>().is_ok_and(|id| id.directive() == directive.as_str())
}

/// The body of `POST /objects/has`, and of its answer.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Digests {
    pub(crate) digests: Vec<Digest>,
}

impl Digests {
    /// # Errors
    /// `remote.bad_request`
    pub(crate) fn read(body: &[u8]) -> Result<Self, RemoteError> {
        typed(read_object(body)?.into()).map_err(|error| bad(&error))
    }
}

fn read_object(body: &[u8]) -> Result<Map<String, Value>, RemoteError> {
    match kept_json(body) {
        Some(Value::Object(map)) => Ok(map),
        _ => Err(RemoteError::bad_request("its body is not one JSON object")),
    }
}

fn bad(error: &serde_json::Error) -> RemoteError {
    RemoteError::bad_request(error.to_string())
}

/// The answer to `POST /execute` and to `GET /threads/{id}`: the run, and its report once it ended
/// or waits for a person.
#[derive(Debug, Clone)]
pub(crate) struct RunAnswer {
    pub(crate) run: Map<String, Value>,
    pub(crate) report: Option<Value>,
}

impl RunAnswer {
    /// # Errors
    /// A clause: it is not such an answer.
    pub(crate) fn read(body: Value) -> Result<Self, &'static str> {
        let mut body = object(body);
        let report = body.shift_remove("report").filter(|report| !report.is_null());
        match body.shift_remove("run") {
            Some(Value::Object(run)) if run.get("thread_status").is_some_and(Value::is_string) => {
                Ok(Self { run, report })
            }
            _ => Err("it does not say how the run is"),
        }
    }

    /// The state of the run, as the node's registry names it.
    pub(crate) fn state(&self) -> &str {
        self.run["thread_status"].as_str().unwrap_or_default()
    }
}
