//! Why a provider gives no turn.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::ModelName;
use crate::base::json::object;
use crate::base::text::escape_line;
use crate::diagnostic::{Code, Diagnose, codes};
use crate::id::Ref;
use crate::thread::ThreadId;

codes! {
    PROVIDER_BAD_ANSWER = "provider.bad_answer", PeerFailed;
    PROVIDER_BAD_REQUEST = "provider.bad_request", PeerFailed;
    PROVIDER_INTERRUPTED = "provider.interrupted", PeerFailed;
    PROVIDER_MISSING_CREDENTIAL = "provider.missing_credential", PeerFailed;
    PROVIDER_OVERLOADED = "provider.overloaded", PeerFailed;
    PROVIDER_REFUSED = "provider.refused", PeerFailed;
    PROVIDER_UNREACHABLE = "provider.unreachable", PeerFailed;
}

/// Words of the provider in one of these are masked and short.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum ProviderError {
    #[error("{origin}, where `{provider}` is, {clause}")]
    Unreachable { provider: Ref, origin: String, clause: String },
    #[error("{origin}, where `{provider}` is, broke its answer off")]
    BrokenOff { provider: Ref, origin: String },
    #[error(
        "`{provider}` lets nobody in {}: status {status}{}",
        if .key.is_some() { "with this key" } else { "without a key" },
        words(.said)
    )]
    Refused { provider: Ref, status: u16, said: String, key: Option<String> },
    #[error("`{provider}` does not take what it was asked: status {status}{}", words(.said))]
    BadRequest {
        provider: Ref,
        status: u16,
        said: String,
        /// The model wrote a call that its server cannot read.
        is_bad_call: bool,
        asked: Box<AskedAt>,
    },
    #[error(
        "`{provider}` has too much to do, or is in trouble: {status}{}{}",
        words(.said),
        come_again(*.retry_after)
    )]
    Overloaded {
        provider: Ref,
        status: String,
        said: String,
        /// How long it asks to be left alone, where that was not waited for.
        retry_after: Option<Duration>,
        /// The thread that asked, where one can go on with it.
        asked_by: Option<ThreadId>,
    },
    #[error("what `{provider}` answered cannot be used: {}", escape_line(.why))]
    BadAnswer { provider: Ref, why: String, asked: Box<AskedAt> },
    #[error("the key of `{provider}` cannot be used: the variable `{name}` {why}")]
    MissingCredential { provider: Ref, name: String, why: String },
    #[error(
        "the answer of `{provider}` was not waited for any longer, as its thread was cancelled"
    )]
    Interrupted { provider: Ref, signal: i32 },
}

/// Where a provider was asked and for which model; what may be wrong there stands in an item.
#[derive(Debug, Clone)]
pub(crate) struct AskedAt {
    /// Without secrets.
    pub(crate) url: String,
    /// The path that rye put behind the `base_url`.
    pub(crate) path: &'static str,
    pub(crate) model: ModelName,
}

impl AskedAt {
    /// The words of a server say that it has no such model.
    fn is_about_model(&self, said: &str) -> bool {
        let said = said.to_lowercase();
        let missing = [
            "not found",
            "not exist",
            "unknown",
            "no such",
            "invalid",
            "not a valid",
            "not available",
        ];
        let is_name = said.contains(&self.model.name.to_lowercase()) && self.model.name.len() > 2;
        let is_text = !said.starts_with('<');
        is_text && (is_name || said.contains("model")) && missing.iter().any(|it| said.contains(it))
    }

    /// How the address came about.
    fn address(&self, provider: &Ref) -> String {
        let Self { url, path, .. } = self;
        let hint = if url.contains("/v1/v1/") {
            "; rye adds `/v1` itself, so leave it out there"
        } else if url.contains("/v1/") {
            ""
        } else {
            "; for most servers it has to end in `/v1`"
        };
        let url = escape_line(url);
        format!(
            "rye asked `{url}`, which is the `base_url` of `{provider}` with `{path}` behind it{hint}"
        )
    }
}

/// The help for what many servers say of a request that they do not take.
fn known_help(said: &str, provider: &Ref) -> Option<String> {
    let said = said.to_lowercase();
    let has = |words: &str| said.contains(words);
    let long = ["context length", "context size", "context window", "prompt is too long"];
    if long.into_iter().any(has) {
        return Some(format!(
            "the conversation is longer than the model reads: take a model that reads more, tell \
             the thread less, or lower `answer_tokens` of `{provider}`"
        ));
    }
    if has("max_tokens") && has("max_completion_tokens") {
        return Some(format!("set `answer_tokens_as` of `{provider}` to the name that it knows"));
    }
    has("not support tools").then(|| "take a model that calls tools: a thread needs them".into())
}

fn words(said: &str) -> String {
    if said.is_empty() { String::new() } else { format!(", `{}`", escape_line(said)) }
}

fn come_again(after: Option<Duration>) -> String {
    let said = |after: Duration| format!("; it asks to be left alone for {} s", after.as_secs());
    after.map(said).unwrap_or_default()
}

impl ProviderError {
    /// The error without the words of the provider, which may be long, for the report of each try.
    pub(super) fn brief(&self) -> String {
        match self {
            Self::Overloaded { provider, status, .. } => Self::Overloaded {
                provider: provider.clone(),
                status: status.clone(),
                said: String::new(),
                retry_after: None,
                asked_by: None,
            }
            .to_string(),
            other => other.to_string(),
        }
    }

    fn provider(&self) -> &Ref {
        match self {
            Self::Unreachable { provider, .. }
            | Self::BrokenOff { provider, .. }
            | Self::Refused { provider, .. }
            | Self::BadRequest { provider, .. }
            | Self::Overloaded { provider, .. }
            | Self::BadAnswer { provider, .. }
            | Self::MissingCredential { provider, .. }
            | Self::Interrupted { provider, .. } => provider,
        }
    }
}

impl Diagnose for ProviderError {
    fn code(&self) -> Code {
        match self {
            Self::Unreachable { .. } | Self::BrokenOff { .. } => PROVIDER_UNREACHABLE,
            Self::Refused { .. } => PROVIDER_REFUSED,
            Self::BadRequest { .. } => PROVIDER_BAD_REQUEST,
            Self::Overloaded { .. } => PROVIDER_OVERLOADED,
            Self::BadAnswer { .. } => PROVIDER_BAD_ANSWER,
            Self::MissingCredential { .. } => PROVIDER_MISSING_CREDENTIAL,
            Self::Interrupted { .. } => PROVIDER_INTERRUPTED,
        }
    }

    fn help(&self) -> Option<String> {
        Some(match self {
            Self::Unreachable { provider, .. } => {
                format!(
                    "see whether the server runs, and whether `base_url` of `{provider}` is right"
                )
            }
            Self::BrokenOff { provider, .. } => format!(
                "start it again; where each answer ends so, the server or something before it ends \
                 streams early, and `stream: false` in `{provider}` asks for whole answers"
            ),
            Self::Refused { provider, key: Some(key), .. } => format!(
                "set `{key}`, which `credential_env` of `{provider}` names, to a key that is valid \
                 there and may use the model"
            ),
            Self::Refused { provider, key: None, .. } => format!(
                "add `credential_env: NAME` to `{provider}`, and put the key into that variable"
            ),
            Self::BadRequest { is_bad_call: true, .. } => {
                "its model writes calls that its server cannot read: start it again, or take \
                 another model"
                    .into()
            }
            Self::BadRequest { provider, status, said, asked, .. } => {
                let ModelName { name, from } = &asked.model;
                match status {
                    400..=499 if let Some(help) = known_help(said, provider) => help,
                    400 | 404 if asked.is_about_model(said) => format!(
                        "see whether the server has the model `{}`, which comes from {}",
                        escape_line(name),
                        escape_line(from)
                    ),
                    404 | 405 => asked.address(provider),
                    402 | 429 => "its account has nothing left to pay with: see the page of the \
                                  provider where one pays"
                        .into(),
                    _ => format!("see `models`, `options` and `answer_tokens` of `{provider}`"),
                }
            }
            Self::Overloaded { asked_by, retry_after, .. } => {
                let later = retry_after.map_or("a little later".to_owned(), |after| {
                    format!("once {} s are over", after.as_secs())
                });
                match asked_by {
                    Some(id) => {
                        format!("go on {later} with `rye thread resume {id}`, or start it again")
                    }
                    None => format!("start it again {later}"),
                }
            }
            Self::BadAnswer { provider, asked, .. } => format!(
                "see whether the server speaks the shape that `kind` names: {}",
                asked.address(provider)
            ),
            Self::MissingCredential { name, .. } => {
                format!("export {name}=…, in the environment in which rye runs")
            }
            Self::Interrupted { .. } => "nothing of it is left running".into(),
        })
    }

    fn item(&self) -> Option<String> {
        Some(self.provider().to_string())
    }

    fn data(&self) -> Map<String, Value> {
        match self {
            Self::Refused { status, .. } => object(json!({"status_code": status})),
            Self::BadRequest { status, asked, .. } => object(json!({
                "status_code": status, "url": asked.url, "model": asked.model.name,
            })),
            Self::BadAnswer { asked, .. } => object(json!({"url": asked.url})),
            Self::MissingCredential { name, .. } => object(json!({"variable": name})),
            Self::Overloaded { retry_after: Some(after), .. } => {
                object(json!({"retry_after_seconds": after.as_secs()}))
            }
            _ => Map::new(),
        }
    }

    fn signal(&self) -> Option<i32> {
        match self {
            Self::Interrupted { signal, .. } => Some(*signal),
            _ => None,
        }
    }
}
