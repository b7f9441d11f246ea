//! A tool that the model of a thread may call: what the model is told of it, and what carries a
//! call out (threads 4).

use std::time::{Duration, Instant};

use serde_json::{Map, Value};

use super::backend::SandboxBackend;
use super::waits::Awaited;
use crate::diagnostic::Failure;

/// A tool that the model of a thread may call. Tools of rye, items, and tools of a program that
/// embeds rye are all carried out by it.
///
/// A program gives its own tools to [`RyeBuilder::thread_tool`](crate::RyeBuilder::thread_tool).
/// Such a tool needs a permission as every other: `<execute><tool>weather</tool></execute>` in
/// the directive lets a tool with the name `weather` be called, and no thread below one without
/// that permission reaches it. It runs in the program itself, without a sandbox: it is that
/// program's own code. Arguments were held against [`ThreadTool::parameters`] before a call, and a
/// panic is told to the model as any failure.
///
/// ```
/// use rye::{RyeBuilder, ThreadSession, ThreadTool, ToolCallFault};
/// use serde_json::{Map, Value, json};
///
/// struct Weather;
///
/// impl ThreadTool for Weather {
///     fn name(&self) -> &str {
///         "weather"
///     }
///
///     fn description(&self) -> &str {
///         "Says the weather of a town."
///     }
///
///     fn parameters(&self) -> Value {
///         let town = json!({"town": {"type": "string"}});
///         json!({"type": "object", "properties": town, "required": ["town"]})
///     }
///
///     fn call(
///         &self,
///         _session: &ThreadSession<'_>,
///         args: Map<String, Value>,
///     ) -> Result<Value, ToolCallFault> {
///         match args["town"].as_str() {
///             Some("Atlantis") => Err(ToolCallFault::new("it sank")),
///             town => Ok(json!({"town": town, "sky": "clear"})),
///         }
///     }
/// }
///
/// # fn main() -> Result<(), rye::Failure> {
/// let rye = RyeBuilder::new().thread_tool(std::sync::Arc::new(Weather)).project("/").build()?;
/// // A directive with `<execute><tool>weather</tool></execute>` may call it now:
/// // rye.run_json(&rye::Request::new("directive:acme/go").fork());
/// # Ok(())
/// # }
/// ```
pub trait ThreadTool: Send + Sync {
    /// The name for the model: at most 64 of `a-z`, `0-9` and `_`. Others are never permitted.
    fn name(&self) -> &str;

    /// The purpose, in a sentence or two that the model reads.
    fn description(&self) -> &str;

    /// The arguments: a JSON Schema of an object, sent to the model as it is.
    fn parameters(&self) -> Value;

    /// Returns true if it changes nothing. Calls of such tools that a model makes one behind the
    /// other in a turn are carried out at once, four at the most.
    fn only_reads(&self) -> bool {
        false
    }

    /// Carries out one call and waits for what it gives.
    ///
    /// # Errors
    /// The message to the model about a call that gave nothing; the thread goes on.
    fn call(
        &self,
        session: &ThreadSession<'_>,
        args: Map<String, Value>,
    ) -> Result<Value, ToolCallFault>;
}

/// The thread that a tool is called in.
pub struct ThreadSession<'a> {
    pub(crate) thread_id: &'a str,
    pub(crate) call_id: &'a str,
    /// When the time of the thread is over.
    pub(crate) until: Instant,
    pub(crate) backend: &'a dyn SandboxBackend,
    /// The call was made before, and a person decided since what it asked.
    pub(crate) awaited: Option<&'a Awaited>,
}

impl ThreadSession<'_> {
    /// The thread.
    pub fn thread_id(&self) -> &str {
        self.thread_id
    }

    /// The call, as the model named it.
    pub fn call_id(&self) -> &str {
        self.call_id
    }

    /// How much time the thread has left; the call should be over by then.
    pub fn time_left(&self) -> Duration {
        self.until.saturating_duration_since(Instant::now())
    }

    /// The sandbox of the thread, with its workspace. It is opened by the first payload.
    pub fn backend(&self) -> &dyn SandboxBackend {
        self.backend
    }
}

/// The kind of failure of a call; the word is the `error_kind` of its result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ToolCallFaultKind {
    /// The arguments are not an object, or do not fit the schema.
    InvalidArguments,
    /// No tool has that name.
    UnknownTool,
    /// The tool failed.
    Exception,
    /// The thread may not call it, or the tool may not do what it is asked for.
    PermissionDenied,
    /// A hook refused it.
    BlockedByHook,
    /// A person decides it.
    Pending,
}

impl ToolCallFaultKind {
    /// The word in a result.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::InvalidArguments => "invalid_tool_arguments",
            Self::UnknownTool => "unknown_tool",
            Self::Exception => "tool_execution_exception",
            Self::PermissionDenied => "permission_denied",
            Self::BlockedByHook => "blocked_by_hook",
            Self::Pending => "pending",
        }
    }
}

/// Why a call gave nothing, as the model is told it.
#[derive(Debug)]
pub struct ToolCallFault {
    pub(crate) kind: ToolCallFaultKind,
    pub(crate) message: String,
    pub(crate) detail: Value,
    /// The thread ends: this process was asked to.
    pub(crate) stopped: Option<Failure>,
    /// The signal by which the sandbox was asked to end.
    pub(super) signal: Option<i32>,
    /// The thread waits for a person, and goes on with this call.
    pub(crate) waits: Option<Box<Awaited>>,
}

impl ToolCallFault {
    /// The tool failed.
    pub fn new(message: impl Into<String>) -> Self {
        Self::of(ToolCallFaultKind::Exception, message, Value::Null)
    }

    /// The arguments make no sense, although they fit the schema.
    pub fn invalid_arguments(message: impl Into<String>) -> Self {
        Self::of(ToolCallFaultKind::InvalidArguments, message, Value::Null)
    }

    /// Adds further details.
    #[must_use]
    pub fn detail(self, detail: impl Into<Value>) -> Self {
        Self { detail: detail.into(), ..self }
    }

    pub(crate) fn of(kind: ToolCallFaultKind, message: impl Into<String>, detail: Value) -> Self {
        Self { kind, message: message.into(), detail, stopped: None, signal: None, waits: None }
    }

    /// The thread waits with this call until a person decided, and is told nothing of it before.
    pub(crate) fn waits_for(self, awaited: Option<Awaited>) -> Self {
        Self { waits: awaited.map(Box::new), ..self }
    }

    /// The signal that cut the call short: the thread ends.
    pub(crate) fn signal(&self) -> Option<i32> {
        self.signal
    }

    pub(crate) fn stopped(failure: Failure) -> Self {
        let message = failure.diagnostic().message;
        Self { stopped: Some(failure), ..Self::new(message) }
    }
}
