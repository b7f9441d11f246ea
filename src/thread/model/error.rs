//! Why a provider gives no turn.

use serde_json::{Map, Value, json};

use crate::base::json::object;
use crate::base::text::escape_line;
use crate::diagnostic::{Code, Diagnose, codes};
use crate::id::Ref;

codes! {
    PROVIDER_BAD_ANSWER = "provider.bad_answer", PeerFailed;
    PROVIDER_BAD_REQUEST = "provider.bad_request", PeerFailed;
    PROVIDER_INTERRUPTED = "provider.interrupted", CannotRun;
    PROVIDER_MISSING_CREDENTIAL = "provider.missing_credential", CannotRun;
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
    #[error("`{provider}` lets nobody in with this key: status {status}{}", words(.said))]
    Refused { provider: Ref, status: u16, said: String, key: Option<String> },
    #[error("`{provider}` does not take what it was asked: status {status}{}", words(.said))]
    BadRequest { provider: Ref, status: u16, said: String },
    #[error("`{provider}` has too much to do, or is in trouble: {status}{}", words(.said))]
    Overloaded { provider: Ref, status: String, said: String },
    #[error("what `{provider}` answered cannot be used: {}", escape_line(.why))]
    BadAnswer { provider: Ref, why: String },
    #[error("the key of `{provider}` cannot be used: the variable `{name}` {why}")]
    MissingCredential { provider: Ref, name: String, why: String },
    #[error("`{provider}` was not waited for: signal {signal}")]
    Interrupted { provider: Ref, signal: i32 },
}

fn words(said: &str) -> String {
    if said.is_empty() { String::new() } else { format!(", `{}`", escape_line(said)) }
}

impl ProviderError {
    fn provider(&self) -> &Ref {
        match self {
            Self::Unreachable { provider, .. }
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
            Self::Unreachable { .. } => PROVIDER_UNREACHABLE,
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
            Self::Unreachable { .. } => {
                "see whether the server runs, and whether `base_url` of the provider is right"
                    .into()
            }
            Self::Refused { key: Some(key), .. } => {
                format!("set `{key}` to a key that this provider knows, and that may use the model")
            }
            Self::Refused { key: None, .. } => {
                "add `credential_env: NAME` to the provider, and put the key into that variable"
                    .into()
            }
            Self::BadRequest { .. } => {
                "see `models`, `options` and `answer_tokens` of the provider".into()
            }
            Self::Overloaded { .. } => {
                "go on a little later with `rye thread resume`, or start it again".into()
            }
            Self::BadAnswer { .. } => {
                "see whether `kind` of the provider is the shape that the server speaks".into()
            }
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
            Self::Refused { status, .. } | Self::BadRequest { status, .. } => {
                object(json!({"status_code": status}))
            }
            Self::MissingCredential { name, .. } => object(json!({"variable": name})),
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
