//! Why a thread does not start, or does not come to its end.

use std::io;
use std::path::PathBuf;

use serde_json::{Map, Value, json};

use super::limits::{allow_more, limit_example, stopped_at};
use super::record_check::RecordFinding;
use super::thread_id::{ThreadId, is_uuid};
use crate::base::json::object;
use crate::base::text::{counted, escape_line, shell_word};
use crate::diagnostic::{Code, Diagnose, codes};
use crate::id::{Fingerprint, Ref, Space};
use crate::registry::{Breach, RunState};

codes! {
    THREAD_BACKEND_NOT_ALLOWED = "thread.backend_not_allowed", Refused;
    THREAD_BAD_CONFIG = "thread.bad_config", Refused;
    THREAD_BAD_LIMIT = "thread.bad_limit", Refused;
    THREAD_NOT_RESUMABLE = "thread.not_resumable", Refused;
    THREAD_OUTSIDE = "thread.outside", Refused;
    THREAD_DRIFTED = "thread.drifted", Refused;
    THREAD_CANCELLED = "thread.cancelled", CannotRun;
    THREAD_CANNOT_WAIT = "thread.cannot_wait", Refused;
    THREAD_KILLED = "thread.killed", CannotRun;
    THREAD_LIMIT_EXCEEDED = "thread.limit_exceeded", Refused;
    THREAD_MISSING_OUTPUTS = "thread.missing_outputs", ToolFailed;
    THREAD_NO_PROVIDER = "thread.no_provider", Refused;
    THREAD_NO_RECORD = "thread.no_record", NotFound;
    THREAD_NOT_A_PROVIDER = "thread.not_a_provider", Refused;
    THREAD_NOT_ALONE = "thread.not_alone", Refused;
    THREAD_NOT_FOUND = "thread.not_found", NotFound;
    THREAD_NOT_RUNNING = "thread.not_running", Refused;
    THREAD_PROJECT_PROVIDER = "thread.project_provider", Refused;
    THREAD_KEY_NOT_YOURS = "thread.key_not_yours", Refused;
    THREAD_KEY_REVOKED = "thread.key_revoked", Refused;
    THREAD_RECORD_INVALID = "thread.record_invalid", Refused;
    THREAD_RECORD_IO = "thread.record_io", CannotRun;
    THREAD_RISK_NOT_ACKNOWLEDGED = "thread.risk_not_acknowledged", Refused;
    THREAD_STILL_RUNS = "thread.still_runs", CannotRun;
    THREAD_TOOL_NAME_CONFLICT = "thread.tool_name_conflict", Refused;
    THREAD_UNKNOWN_MODEL = "thread.unknown_model", Refused;
    THREAD_UNKNOWN_PRICE = "thread.unknown_price", Refused;
    THREAD_WAITS = "thread.waits", Waits;
    PROVIDER_SCRIPT_ENDED = "provider.script_ended", PeerFailed;
}

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum ThreadError {
    #[error("`{}` of `{item}` ({space}) {}", escape_line(.field), escape_line(.why))]
    BadConfig { item: Ref, space: Space, field: String, why: String },
    #[error("`{directive}` does not acknowledge that `{}` is {class}", escape_line(.capability))]
    RiskNotAcknowledged { directive: Ref, capability: String, class: &'static str },
    #[error(
        "the limit `{}`{} is not valid: {}",
        escape_line(.name),
        .within.as_ref().map(|item| format!(" of `{item}`")).unwrap_or_default(),
        escape_line(.why)
    )]
    BadLimit {
        name: String,
        why: String,
        /// The item that says it, if the limit was not given with the start.
        within: Option<Ref>,
    },
    #[error("a thread is not started from inside of a run")]
    Outside,
    #[error(
        "this rye was started within the thread `{}`, and cannot read what that may reach: the \
         thread is over, or the registry is out of reach here",
        escape_line(.id)
    )]
    NotWithin { id: String },
    #[error("a rye that was started within a thread shows and ends no threads")]
    Within,
    #[error("somebody cancelled `{}`", escape_line(.id))]
    Cancelled { id: String, is_below: bool },
    #[error("`{}` was killed: its process is gone, and did not say how it ended", escape_line(.id))]
    Killed { id: String, is_below: bool },
    #[error("`{}` was {how} while it waited for a place, and did not begin", escape_line(.id))]
    NotBegun {
        id: String,
        /// It was killed or cancelled.
        how: RunState,
    },
    #[error("`{id}` does not go on as it began: {} is different now", escape_line(.what))]
    Drifted { id: ThreadId, what: String },
    #[error(
        "`{id}` does not start: {} is different now from what was verified when it was asked for",
        escape_line(.what)
    )]
    StartDrifted { id: ThreadId, what: String },
    #[error("`{id}` cannot go on here: {}", escape_line(.why))]
    NotResumable { id: ThreadId, why: String },
    #[error("`{id}` is continued: `{}` goes on for it", escape_line(.by))]
    Continued { id: ThreadId, by: String },
    #[error("`{}` is not running: {}", escape_line(.id), as_it_stands(*.state))]
    NotRunning { id: String, state: RunState },
    #[error("`{}` waits, and nobody decides any more what it waits for", escape_line(.id))]
    Unattended { id: String },
    #[error("`{}` could not be killed: {source}", escape_line(.id))]
    NotKilled { id: String, source: io::Error },
    #[error(
        "`{}` runs in the process of `{}`, which would be ended too",
        escape_line(.id),
        escape_line(.top)
    )]
    NotAlone { id: String, top: String },
    #[error("`{}` {}", escape_line(.id), without_record(.id, .item, *.state))]
    NoRecord { id: String, item: String, state: RunState },
    #[error("`{id}` waits until a person decided `{}`", escape_line(.pending))]
    Waits { id: ThreadId, pending: String },
    #[error("`{}` asks a person, and `{id}` cannot wait for one", escape_line(.item))]
    CannotWait { id: ThreadId, item: String },
    #[error("`{}` still {}", escape_line(.id), still_does(*.state))]
    StillRuns { id: String, state: RunState },
    #[error("`{id}` {}", stopped_at(.breach))]
    LimitExceeded { id: ThreadId, breach: Breach, is_below: bool },
    #[error(
        "`{id}` ended without its outputs: `{}`{}", .names.join("`, `"), broken_off(.broken_off_by.as_deref())
    )]
    MissingOutputs {
        id: ThreadId,
        names: Vec<String>,
        /// Why its provider cut or withheld the last answer.
        broken_off_by: Option<String>,
    },
    #[error("`{item}` names no provider, and none is configured")]
    NoProvider {
        item: Ref,
        /// Whose word about one does not count, in words.
        passed_over: Option<String>,
    },
    #[error("the provider `{}` is in no space", escape_line(.name))]
    ProviderNotFound { name: String, near: Option<String> },
    #[error("`{item}` is not a provider of models")]
    NotAProvider { item: Ref },
    #[error("no thread has the id `{}`", escape_line(.id))]
    NotFound { id: String, near: Vec<String> },
    #[error(
        "`{item}` lies in the project, and a provider reads all that a thread is told{}",
        .stale.as_ref().map(|why| format!("; you let it in, and {why}")).unwrap_or_default()
    )]
    ProjectProvider { item: Ref, stale: Option<String> },
    #[error(
        "`{}` is sent the commands and files of a thread, and you did not allow it{}",
        escape_line(.url),
        .stale.as_ref().map(|why| format!(": {why}")).unwrap_or_default()
    )]
    BackendNotAllowed { url: String, stale: Option<String> },
    #[error("you revoked your own key {key}, so a record that it signs would prove nothing")]
    OwnKeyRevoked { key: Fingerprint },
    #[error("the record of `{id}` cannot be relied on: {finding}")]
    RecordInvalid { id: ThreadId, finding: RecordFinding },
    #[error("the record `{}` cannot be written or read: {source}", .path.display())]
    Record { path: PathBuf, source: io::Error },
    #[error("the record of `{id}` is not at `{}`", .path.display())]
    RecordGone { id: ThreadId, path: PathBuf },
    #[error("two tools of the thread have the name `{name}`: {first} and {second}")]
    ToolNameConflict { name: String, first: String, second: String },
    #[error("`{provider}` has no model {}", named(.model))]
    UnknownModel { provider: Ref, model: String, known: Vec<String> },
    #[error("`{provider}` does not say what `{}` costs", escape_line(.model))]
    UnknownPrice { provider: Ref, model: String },
    #[error("the script of `{provider}` ended after its {}", counted(*.turns as u64, "turn"))]
    ScriptEnded { provider: Ref, turns: usize, has_message: bool },
}

/// How what does not run ended, or what it waits for.
fn as_it_stands(state: RunState) -> String {
    match state {
        RunState::Failed => "it failed".into(),
        RunState::Killed | RunState::Cancelled => format!("it was {state}"),
        RunState::Waiting => "it waits for a person".into(),
        RunState::Continued => "another thread goes on for it".into(),
        state => format!("it is {state}"),
    }
}

/// The activity of a thread or a run that is not over.
fn still_does(state: RunState) -> &'static str {
    match state {
        RunState::Created => "waits for a place",
        RunState::Waiting => "waits for a person",
        _ => "runs",
    }
}

/// The command that shows what a thread did, in front of the next step.
pub(crate) fn see_how_far(id: &str) -> String {
    format!("see how far it came with `rye thread show {id}`")
}

/// The help for a thread or run that a person ended.
fn go_on_anew(id: &str, is_below: bool) -> String {
    let next = match is_below {
        _ if is_uuid(id) => "run it again if need be".to_owned(),
        true => "it ran below another thread, so it does not go on alone".to_owned(),
        false => format!("go on with `rye thread resume {id}`"),
    };
    format!("{}; {next}", see_how_far(id))
}

/// The help for a script that has no further turn.
fn end_script(provider: &Ref, has_message: bool) -> String {
    if has_message {
        return format!(
            "a script answers no message beyond its turns; add turns to `{provider}`, and sign \
             that again"
        );
    }
    "its last turn has to hand over the outputs, or to call no tool".into()
}

/// Why a run has no record.
fn without_record(id: &str, item: &str, state: RunState) -> String {
    let item = escape_line(item);
    match state {
        _ if is_uuid(id) => format!("is a run of `{item}` and not a thread, so it has no record"),
        RunState::Created => format!("has no record yet: it waits for a place to run `{item}`"),
        RunState::Running => format!("has no record yet: it is about to begin `{item}`"),
        state => format!("has no record: {}, and did not begin `{item}`", as_it_stands(state)),
    }
}

/// Why the last answer of a model was cut or withheld, in its provider's word.
fn broken_off(reason: Option<&str>) -> String {
    reason.map_or_else(String::new, |reason| {
        format!("; its provider ended the last answer with `{}`", escape_line(reason))
    })
}

/// How a model comes to hand over its outputs.
fn hand_over(id: &ThreadId, is_broken_off: bool) -> String {
    let mend = match is_broken_off {
        true => {
            "allow longer answers by `answer_tokens` of its provider, or ask for less, where the \
             answer was cut"
        }
        false => {
            "say in the directive when it hands over, or add `required=\"false\"` to an output \
             that may be missing"
        }
    };
    format!("{}; {mend}", see_how_far(id.as_str()))
}

/// The help for a provider that is not there.
fn name_another(name: &str, near: Option<&str>) -> String {
    let near = near.map(|near| format!("did you mean `{near}`? ")).unwrap_or_default();
    format!(
        "{near}name one that is there in `<model provider=\"…\"/>` or in `config:agent/models`, or \
         make one with `rye new provider {}`",
        shell_word(name)
    )
}

/// The help for two tools of one name, of which the first may be rye's own.
fn permit_one(first: &str, second: &str) -> String {
    match first.strip_prefix("tool:") {
        Some(id) => format!(
            "permit one of them only, in `<permissions>` of the directive: \
             `<execute><tool>{id}</tool></execute>` in place of a pattern"
        ),
        None => format!("leave `{second}` out of `<permissions>` of the directive, or move it"),
    }
}

/// The help for a server of sandboxes that is not allowed.
fn allow_backend(url: &str) -> String {
    format!(
        "allow it with `rye trust allow-backend {}`, or say `backend: local` in \
         `config:agent/sandbox`, and sign that again",
        shell_word(url)
    )
}

/// How a provider is made and named, behind whose word about one does not count.
fn make_provider(passed_over: Option<&str>) -> String {
    let why = passed_over.map(|why| format!("{why}; ")).unwrap_or_default();
    format!(
        "{why}make one with `rye new provider my/local`, sign it, and name it: `<model \
         provider=\"my/local\"/>` in the directive, or `provider: my/local` in \
         `config:agent/models` of your user space"
    )
}

/// A model, whose name may be empty.
fn named(model: &str) -> String {
    match model.trim() {
        "" => "with an empty name".into(),
        _ => format!("`{}`", escape_line(model)),
    }
}

/// The help for a model that a provider does not have.
fn known_or_new(provider: &Ref, model: &str, known: &[String]) -> String {
    if model.trim().is_empty() {
        return format!(
            "name one that is known, `{}`, or leave `--model` out, so that the directive chooses",
            known.join("`, `")
        );
    }
    format!(
        "name one that is known, `{}`, with `--model` or in `<model tier=\"…\"/>`; or add \
         `{}: MODEL` to `models` of `{provider}`, and sign that again",
        known.join("`, `"),
        escape_line(model)
    )
}

/// The help for a record that does not hold.
fn next_step(id: &ThreadId, finding: &RecordFinding) -> String {
    match finding {
        RecordFinding::Unsigned => {
            format!("`rye thread resume {id}` starts it over with what it began with")
        }
        RecordFinding::RevokedKey { key, .. } => format!(
            "rely on it only if you know that it was signed before the key was lost; if you \
             revoked it by a slip, `rye trust unrevoke {key}`"
        ),
        RecordFinding::ForeignKey { .. } => {
            "verify it where it was made, by the person who ran it".into()
        }
        RecordFinding::Broken(_) | RecordFinding::Blob { .. } => {
            "do not rely on it; a backup of its folder may be whole".into()
        }
    }
}

impl ThreadError {
    /// Sets the item that a limit is written in.
    pub(crate) fn within(self, item: &Ref) -> Self {
        match self {
            Self::BadLimit { name, why, .. } => {
                Self::BadLimit { name, why, within: Some(item.clone()) }
            }
            other => other,
        }
    }
}

impl Diagnose for ThreadError {
    fn code(&self) -> Code {
        match self {
            Self::BadConfig { .. } => THREAD_BAD_CONFIG,
            Self::RiskNotAcknowledged { .. } => THREAD_RISK_NOT_ACKNOWLEDGED,
            Self::BadLimit { .. } => THREAD_BAD_LIMIT,
            Self::Outside | Self::NotWithin { .. } | Self::Within => THREAD_OUTSIDE,
            Self::Drifted { .. } | Self::StartDrifted { .. } => THREAD_DRIFTED,
            Self::NotResumable { .. } | Self::Continued { .. } => THREAD_NOT_RESUMABLE,
            Self::Cancelled { .. } => THREAD_CANCELLED,
            Self::NotBegun { how: RunState::Killed, .. } => THREAD_KILLED,
            Self::NotBegun { .. } => THREAD_CANCELLED,
            Self::CannotWait { .. } => THREAD_CANNOT_WAIT,
            Self::Killed { .. } => THREAD_KILLED,
            Self::NotRunning { .. } | Self::NotKilled { .. } | Self::Unattended { .. } => {
                THREAD_NOT_RUNNING
            }
            Self::NotAlone { .. } => THREAD_NOT_ALONE,
            Self::NoRecord { .. } => THREAD_NO_RECORD,
            Self::StillRuns { .. } => THREAD_STILL_RUNS,
            Self::Waits { .. } => THREAD_WAITS,
            Self::LimitExceeded { .. } => THREAD_LIMIT_EXCEEDED,
            Self::MissingOutputs { .. } => THREAD_MISSING_OUTPUTS,
            Self::NoProvider { .. } | Self::ProviderNotFound { .. } => THREAD_NO_PROVIDER,
            Self::NotAProvider { .. } => THREAD_NOT_A_PROVIDER,
            Self::NotFound { .. } => THREAD_NOT_FOUND,
            Self::ProjectProvider { .. } => THREAD_PROJECT_PROVIDER,
            Self::BackendNotAllowed { .. } => THREAD_BACKEND_NOT_ALLOWED,
            Self::OwnKeyRevoked { .. } => THREAD_KEY_REVOKED,
            Self::RecordInvalid { finding, .. } => match finding {
                RecordFinding::RevokedKey { .. } => THREAD_KEY_REVOKED,
                RecordFinding::ForeignKey { .. } => THREAD_KEY_NOT_YOURS,
                RecordFinding::Broken(_) | RecordFinding::Unsigned | RecordFinding::Blob { .. } => {
                    THREAD_RECORD_INVALID
                }
            },
            Self::Record { .. } | Self::RecordGone { .. } => THREAD_RECORD_IO,
            Self::ToolNameConflict { .. } => THREAD_TOOL_NAME_CONFLICT,
            Self::UnknownModel { .. } => THREAD_UNKNOWN_MODEL,
            Self::UnknownPrice { .. } => THREAD_UNKNOWN_PRICE,
            Self::ScriptEnded { .. } => PROVIDER_SCRIPT_ENDED,
        }
    }

    fn help(&self) -> Option<String> {
        Some(match self {
            Self::BadConfig { item, .. } => format!("mend it, and sign `{item}` again"),
            Self::RiskNotAcknowledged { directive, class, .. } => format!(
                "permit less, or add `<acknowledge risk=\"{class}\">why</acknowledge>` to the \
                 `<metadata>` of `{directive}`, and sign it again"
            ),
            Self::BadLimit { within: Some(item), .. } => {
                format!("mend it, and sign `{item}` again")
            }
            Self::BadLimit { within: None, name, .. } => {
                format!("give it as `--limit {}`, or in `<limits>`", limit_example(name))
            }
            Self::Cancelled { id, is_below } | Self::Killed { id, is_below } => {
                go_on_anew(id, *is_below)
            }
            Self::NotBegun { .. } => "start it again with `rye execute`, if it is to run".into(),
            Self::StartDrifted { .. } => {
                "look at what changed, and start it anew with `rye execute`".into()
            }
            Self::Drifted { .. } => {
                "start a new thread with `rye execute`, or bring back what it began with".into()
            }
            Self::NotResumable { id, .. } => see_how_far(id.as_str()),
            Self::Continued { by, .. } => format!("go on with `rye thread resume {by}`"),
            Self::NotRunning { .. } => "`rye thread list` shows what runs".into(),
            Self::Unattended { id } => {
                format!("`rye thread resume {id}` goes on, `rye thread cancel {id}` ends it")
            }
            Self::NotKilled { .. } => "its process belongs to somebody else; see `ps`".into(),
            Self::NotAlone { id, top } => format!(
                "end it alone with `rye thread cancel {id}`, or all of them with `rye thread kill \
                 {top}`"
            ),
            Self::NoRecord { id, state, .. } => match state {
                RunState::Created | RunState::Running if !is_uuid(id) => {
                    format!("`rye thread wait {id}` waits until it ended")
                }
                _ => format!("`rye thread show {id}` says what came of it"),
            },
            Self::StillRuns { id, .. } => {
                format!("wait longer, or end it with `rye thread cancel {id}`")
            }
            Self::Waits { pending, .. } => {
                format!("`rye pending approve {pending}` or `rye pending reject {pending}`")
            }
            Self::CannotWait { item, .. } => format!(
                "run `{}` by itself, or start its thread in a terminal of your own",
                escape_line(item)
            ),
            Self::Outside | Self::Within => "start it in a terminal of your own".into(),
            Self::NotWithin { .. } => {
                "call what it runs as a tool of the thread, or start it in a terminal of your own"
                    .into()
            }
            Self::LimitExceeded { id, breach, is_below } => allow_more(id, breach, *is_below),
            Self::MissingOutputs { id, broken_off_by, .. } => {
                hand_over(id, broken_off_by.is_some())
            }
            Self::NoProvider { passed_over, .. } => make_provider(passed_over.as_deref()),
            Self::ProviderNotFound { name, near } => name_another(name, near.as_deref()),
            Self::NotAProvider { .. } => {
                "name a tool with `tool_type: provider`; `rye list --kind tool` shows tools".into()
            }
            Self::NotFound { near, .. } => match near.as_slice() {
                [] => "`rye thread list` shows what there is; an id may be shortened to its last \
                       characters, at least four"
                    .into(),
                near => format!("did you mean `{}`?", near.join("` or `")),
            },
            Self::ProjectProvider { item, .. } => {
                format!("read it, and let it in with `rye trust allow-provider {item}`")
            }
            Self::BackendNotAllowed { url, .. } => allow_backend(url),
            Self::OwnKeyRevoked { .. } => "make another key with `rye keys rotate`".into(),
            Self::RecordInvalid { id, finding } => next_step(id, finding),
            Self::Record { source, .. } if source.kind() == io::ErrorKind::IsADirectory => {
                "move it away; rye makes a file there, which keeps records out of git".into()
            }
            Self::Record { source, .. } if source.kind() == io::ErrorKind::InvalidInput => {
                "put a folder in the place of the link: a record would go to wherever it leads"
                    .into()
            }
            Self::Record { .. } => "see whether the disk is full and the folder is yours".into(),
            Self::RecordGone { .. } => {
                "if its project was moved, ask in the project where it lies now; else bring the \
                 folder back from a backup"
                    .into()
            }
            Self::ToolNameConflict { first, second, .. } => permit_one(first, second),
            Self::UnknownModel { provider, model, known } => known_or_new(provider, model, known),
            Self::UnknownPrice { model, .. } => format!(
                "add `prices: {{{}: {{input: …, output: …}}}}` to the provider, or to \
                 `config:agent/models` of the user space, and sign that again",
                escape_line(model)
            ),
            Self::ScriptEnded { provider, has_message, .. } => end_script(provider, *has_message),
        })
    }

    fn item(&self) -> Option<String> {
        match self {
            Self::NoProvider { item, .. }
            | Self::NotAProvider { item }
            | Self::ProjectProvider { item, .. }
            | Self::BadConfig { item, .. }
            | Self::BadLimit { within: Some(item), .. }
            | Self::RiskNotAcknowledged { directive: item, .. } => Some(item.to_string()),
            _ => None,
        }
    }

    fn data(&self) -> Map<String, Value> {
        match self {
            Self::LimitExceeded { id, breach, .. } => object(json!({
                "thread_id": id.as_str(), "limit": breach.limit, "current": breach.current,
                "max": breach.max,
            })),
            Self::Cancelled { id, .. }
            | Self::Killed { id, .. }
            | Self::NotBegun { id, .. }
            | Self::NotRunning { id, .. }
            | Self::Unattended { id }
            | Self::NoRecord { id, .. }
            | Self::NotKilled { id, .. }
            | Self::StillRuns { id, .. } => object(json!({"thread_id": id})),
            Self::Drifted { id, .. }
            | Self::StartDrifted { id, .. }
            | Self::NotResumable { id, .. }
            | Self::RecordGone { id, .. } => object(json!({"thread_id": id.as_str()})),
            Self::NotAlone { id, top } => object(json!({"thread_id": id, "top": top})),
            Self::Continued { id, by } => {
                object(json!({"thread_id": id.as_str(), "continued_by": by}))
            }
            Self::MissingOutputs { id, names, broken_off_by } => {
                let mut said = json!({"thread_id": id.as_str(), "missing": names});
                if let Some(reason) = broken_off_by {
                    said["finish_reason"] = reason.as_str().into();
                }
                object(said)
            }
            Self::BackendNotAllowed { url, .. } => object(json!({"url": url})),
            Self::BadConfig { field, .. } => object(json!({"field": field})),
            Self::RiskNotAcknowledged { directive, capability, class } => object(json!({
                "directive": directive, "capability": capability, "risk": class,
            })),
            Self::Waits { id, pending } => {
                object(json!({"thread_id": id.as_str(), "pending_id": pending}))
            }
            Self::CannotWait { id, item } => {
                object(json!({"thread_id": id.as_str(), "item_id": item}))
            }
            Self::OwnKeyRevoked { key } => object(json!({"key": key})),
            Self::RecordInvalid { id, finding } => {
                let said = finding.to_string();
                let mut data = object(json!({"thread_id": id.as_str(), "finding": said}));
                match finding {
                    RecordFinding::Broken(_) | RecordFinding::Unsigned => {}
                    RecordFinding::RevokedKey { key, at } => {
                        data.extend(object(json!({"key": key, "revoked_at": at})));
                    }
                    RecordFinding::ForeignKey { key } => {
                        data.extend(object(json!({"key": key})));
                    }
                    RecordFinding::Blob { line, blob, .. } => {
                        data.extend(object(json!({"line": line, "blob": blob})));
                    }
                }
                data
            }
            _ => Map::new(),
        }
    }
}
