//! Why a node gave no answer, or refused a request.

use serde_json::{Map, Value};

use crate::base::Digest;
use crate::base::text::escape_line;
use crate::diagnostic::{Code, Diagnose, Failure, codes};
use crate::host::NetFault;
use crate::id::{Fingerprint, Ref};

codes! {
    REMOTE_BAD_ANSWER = "remote.bad_answer", PeerFailed;
    REMOTE_BAD_CONFIG = "remote.bad_config", Malformed;
    REMOTE_BAD_REQUEST = "remote.bad_request", Refused;
    REMOTE_BAD_SIGNATURE = "remote.bad_signature", Refused;
    REMOTE_BODY_DIFFERS = "remote.body_differs", Refused;
    REMOTE_BUSY = "remote.busy", PeerFailed;
    REMOTE_CLOCK = "remote.clock", Refused;
    REMOTE_KEY_CHANGED = "remote.key_changed", Refused;
    REMOTE_LISTEN = "remote.listen", PeerFailed;
    REMOTE_MISSING_OBJECTS = "remote.missing_objects", PeerFailed;
    REMOTE_MISSING_SECRET = "remote.missing_secret", Refused;
    REMOTE_NOT_FOUND = "remote.not_found", NotFound;
    REMOTE_NOT_HTTPS = "remote.not_https", Refused;
    REMOTE_OUT_OF_SCOPE = "remote.out_of_scope", Refused;
    REMOTE_REPLAYED = "remote.replayed", Refused;
    REMOTE_TOO_LARGE = "remote.too_large", Refused;
    REMOTE_UNKNOWN = "remote.unknown", NotFound;
    REMOTE_UNKNOWN_KEY = "remote.unknown_key", Refused;
    REMOTE_UNREACHABLE = "remote.unreachable", PeerFailed;
    REMOTE_WRONG_NODE = "remote.wrong_node", Refused;
}

/// A request that came to nothing, on either side.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum RemoteError {
    #[error("no remote is named `{}`", escape_line(.name))]
    Unknown { name: String, near: Option<String>, known: Vec<String> },
    #[error("`config:remotes/remotes` cannot be used: {why}")]
    BadConfig { why: String },
    #[error("`{}` is on another machine, and not reached by `https`", escape_line(.url))]
    NotHttps { url: String },
    #[error("the node `{}` {}", escape_line(.url), .fault.clause())]
    Unreachable { url: String, fault: NetFault },
    #[error("the node at `{}` has the key `{is}`, not `{pinned}`", escape_line(.url))]
    KeyChanged { name: String, url: String, pinned: Fingerprint, is: Fingerprint },
    #[error("the answer of the node `{}` is not valid: {}", escape_line(.url), escape_line(.why))]
    BadAnswer { url: String, why: String },
    /// The node may go on with the run.
    #[error("{}", .of.diagnostic().message)]
    Left { id: String, of: Failure },
    /// In the words of the node.
    #[error("{message}")]
    Told { code: Code, message: String, help: String, data: Map<String, Value> },
    #[error("{what} is larger than {most}")]
    TooLarge { what: String, most: String },
    #[error("cannot listen on `{}`: {}", escape_line(.at), escape_line(.why))]
    Listen { at: String, why: String, help: &'static str },

    // What a node says of a request.
    #[error("the request is not signed as it must be: {}", escape_line(.why))]
    BadSignature { why: String },
    #[error("the request is for the node `{}`, and this is `{here}`", escape_line(.named))]
    WrongNode { named: String, here: Fingerprint },
    #[error(
        "the request is not valid now: it was made at {created} for the time until {expires}, and it is {now} here, in seconds since 1970"
    )]
    Clock { created: i64, expires: i64, now: i64 },
    #[error("the key `{}` may not ask this node", escape_line(.key))]
    UnknownKey { key: String },
    #[error("the body of the request is not the one that was signed")]
    BodyDiffers,
    #[error("the request was sent before")]
    Replayed,
    #[error("`{}` may not ask for {what}", escape_line(.owner))]
    OutOfScope { owner: String, key: Fingerprint, what: String },
    #[error("the node {why}")]
    Busy { why: &'static str },
    #[error("the node has met a bug in rye")]
    Bug,
    #[error("the request cannot be understood: {}", escape_line(.why))]
    BadRequest { why: String },
    #[error("`{}` cannot be asked so", escape_line(.path))]
    NoSuchMethod { path: String },
    #[error("{} is not here", escape_line(.what))]
    NotFound { what: String },
    #[error("{} of the objects that the request names {} not here", .missing.len(), if .missing.len() == 1 { "is" } else { "are" })]
    MissingObjects { missing: Vec<Digest> },
    #[error("`{item}` asks for secrets that the node does not have: {}", .names.join(", "))]
    MissingSecret { item: Ref, names: Vec<String> },
}

impl RemoteError {
    pub(crate) fn bad_request(why: impl Into<String>) -> Self {
        Self::BadRequest { why: why.into() }
    }
}

impl Diagnose for RemoteError {
    fn code(&self) -> Code {
        match self {
            Self::Unknown { .. } => REMOTE_UNKNOWN,
            Self::BadConfig { .. } => REMOTE_BAD_CONFIG,
            Self::NotHttps { .. } => REMOTE_NOT_HTTPS,
            Self::Unreachable { .. } => REMOTE_UNREACHABLE,
            Self::KeyChanged { .. } => REMOTE_KEY_CHANGED,
            Self::BadAnswer { .. } | Self::Bug => REMOTE_BAD_ANSWER,
            Self::Left { of, .. } => of.reason(),
            Self::Told { code, .. } => *code,
            Self::TooLarge { .. } => REMOTE_TOO_LARGE,
            Self::Listen { .. } => REMOTE_LISTEN,
            Self::BadSignature { .. } => REMOTE_BAD_SIGNATURE,
            Self::WrongNode { .. } => REMOTE_WRONG_NODE,
            Self::Clock { .. } => REMOTE_CLOCK,
            Self::UnknownKey { .. } => REMOTE_UNKNOWN_KEY,
            Self::BodyDiffers => REMOTE_BODY_DIFFERS,
            Self::Replayed => REMOTE_REPLAYED,
            Self::OutOfScope { .. } => REMOTE_OUT_OF_SCOPE,
            Self::Busy { .. } => REMOTE_BUSY,
            Self::BadRequest { .. } | Self::NoSuchMethod { .. } => REMOTE_BAD_REQUEST,
            Self::NotFound { .. } => REMOTE_NOT_FOUND,
            Self::MissingObjects { .. } => REMOTE_MISSING_OBJECTS,
            Self::MissingSecret { .. } => REMOTE_MISSING_SECRET,
        }
    }

    fn help(&self) -> Option<String> {
        Some(match self {
            Self::Unknown { near: Some(near), .. } => format!("did you mean `remote:{near}`?"),
            Self::Unknown { name, known, .. } if known.is_empty() => {
                format!("name one with `rye remote add {} URL`", escape_line(name))
            }
            Self::Unknown { known, .. } => format!("there are: {}", known.join(", ")),
            Self::BadConfig { .. } => "see `rye show config:remotes/remotes`".into(),
            Self::NotHttps { .. } => {
                "start the node with `rye serve --tls-cert FILE --tls-key FILE`, or forward a port \
                 of this machine with `ssh -L`"
                    .into()
            }
            Self::Unreachable { fault: NetFault::Tls(_), .. } => {
                "name the file of its certificate's authority in SSL_CERT_FILE".into()
            }
            Self::Unreachable { .. } => {
                "see that `rye serve` runs there, and that its port is open".into()
            }
            Self::KeyChanged { name, url, .. } => format!(
                "ask its operator for `rye node identity`; if that is its new key, run `rye remote \
                 add {} {}`",
                escape_line(name),
                escape_line(url)
            ),
            Self::BadAnswer { .. } => {
                "see that it is a node of this version: `rye remote ping`".into()
            }
            Self::Left { id, .. } => {
                format!("see what became of it with `rye thread wait {}`", escape_line(id))
            }
            Self::Told { help, .. } => help.clone(),
            Self::TooLarge { .. } => "send less at once, such as shorter parameters".into(),
            Self::Listen { help, .. } => (*help).into(),
            Self::BadSignature { .. } => "see `rye fetch knowledge:rye/remote`".into(),
            Self::WrongNode { .. } => {
                "see which node the name stands for: `rye remote list`".into()
            }
            Self::Clock { .. } => "set the clocks of both machines".into(),
            Self::UnknownKey { key } => format!(
                "let its operator run `rye node authorize` with the key `{}`",
                escape_line(key)
            ),
            Self::BodyDiffers | Self::Replayed => "send it again, signed anew".into(),
            Self::OutOfScope { key, .. } => format!(
                "let the node's operator name it in `rye node authorize`, `--scopes`, for `{key}`"
            ),
            Self::Busy { .. } => "ask again in a moment".into(),
            Self::Bug => "tell its operator what was asked".into(),
            Self::BadRequest { .. } | Self::NoSuchMethod { .. } => {
                "see the node's own description, `/openapi.json`".into()
            }
            Self::NotFound { .. } => "see your runs with `rye thread list`".into(),
            Self::MissingObjects { .. } => "push them, and ask again".into(),
            Self::MissingSecret { names, .. } => format!(
                "let the node's operator set {} where `rye serve` is started",
                names.join(" and ")
            ),
        })
    }

    fn signal(&self) -> Option<i32> {
        match self {
            Self::Unreachable { fault: NetFault::Interrupted(signal), .. } => Some(*signal),
            Self::Left { of, .. } => of.interrupted(),
            _ => None,
        }
    }

    fn item(&self) -> Option<String> {
        match self {
            Self::MissingSecret { item, .. } => Some(item.to_string()),
            _ => None,
        }
    }

    fn data(&self) -> Map<String, Value> {
        let one = |key: &str, value: Value| [(key.to_owned(), value)].into_iter().collect();
        match self {
            Self::Told { data, .. } => data.clone(),
            Self::Left { id, of } => {
                let mut data = of.diagnostic().data;
                data.insert("thread_id".into(), id.clone().into());
                data
            }
            Self::MissingObjects { missing } => one(
                "missing",
                missing.iter().map(|digest| Value::from(digest.to_string())).collect(),
            ),
            Self::MissingSecret { names, .. } => one("names", names.clone().into()),
            _ => Map::new(),
        }
    }
}
