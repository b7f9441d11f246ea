//! A provider that is spoken with over HTTP: where it is, and what it is sent beside a
//! conversation.

use std::time::Duration;

use serde_json::{Map, Value};

use super::fields::{Fields, unknown_word, wrong};
use super::provider::{bad, whole};
use crate::base::Address;
use crate::base::durations::BACKOFF_MAX_MS;
use crate::base::limits::PROVIDER_TRIES;
use crate::base::time::{TIME_FORMS, time_from_value};
use crate::host::{HOP_BY_HOP, fits_header};
use crate::parse::error::ParseFault;

/// First wait before a provider of models is asked again, in milliseconds, unless it says
/// otherwise; twice as long each time.
const PROVIDER_BACKOFF_MS: u64 = 1_000;

/// Where a provider is, and how it is asked.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct HttpProvider {
    pub(crate) shape: ChatShape,
    /// The URL before `/chat/completions`, or before `/v1/messages`.
    pub(crate) base: Address,
    /// The variable of rye's environment that holds the key; `None` where none is wanted.
    pub(crate) credential_env: Option<String>,
    /// Sent with each request; names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    /// Members of the request that rye does not set itself, such as `temperature`.
    pub(crate) options: Map<String, Value>,
    pub(crate) retry: ProviderRetry,
    /// The answer is asked for piece by piece.
    pub(crate) streams: bool,
    /// A model is held to the schemas of its tools by the server, where they fit that.
    pub(crate) is_strict: bool,
}

/// Whose requests and answers it speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChatShape {
    /// Chat completions; the member that says how long an answer may be has this name.
    OpenAi { most_tokens: &'static str },
    /// Messages.
    Anthropic,
}

/// How often it is asked again that could not answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ProviderRetry {
    /// Times that it is asked for one turn, the first one too.
    pub(crate) tries: u32,
    /// The wait before the second; it doubles with each.
    pub(crate) first_wait: Duration,
}

/// The keys of such a provider, beside those of every provider.
pub(super) const KEYS: [&str; 8] = [
    "base_url",
    "credential_env",
    "headers",
    "options",
    "retry",
    "stream",
    "answer_tokens_as",
    "strict",
];

/// Members of a request that rye sets itself; one more choice would cost as much again.
const OWN_OPTIONS: [&str; 10] = [
    "max_completion_tokens",
    "max_tokens",
    "messages",
    "model",
    "n",
    "stream",
    "stream_options",
    "system",
    "tool_choice",
    "tools",
];

/// Headers that rye sets itself, or in which a key would stand.
const OWN_HEADERS: [&str; 12] = [
    "accept",
    "accept-encoding",
    "anthropic-version",
    "api-key",
    "authorization",
    "content-encoding",
    "content-length",
    "content-type",
    "cookie",
    "host",
    "user-agent",
    "x-api-key",
];

/// Names of the member that says how long an answer may be; servers of one's own know the second.
const MOST_TOKENS: [&str; 2] = ["max_completion_tokens", "max_tokens"];

/// # Errors
/// `parse.metadata`
pub(super) fn http_provider(
    block: &Fields<'_>,
    is_openai: bool,
) -> Result<HttpProvider, ParseFault> {
    let shape = match (block.string("answer_tokens_as")?.as_deref(), is_openai) {
        (None, false) => ChatShape::Anthropic,
        (Some(_), false) => {
            return Err(bad(&block.pointer("answer_tokens_as"), "is for `openai_chat` alone"));
        }
        (None, true) => ChatShape::OpenAi { most_tokens: MOST_TOKENS[0] },
        (Some(name), true) => match MOST_TOKENS.into_iter().find(|known| *known == name) {
            Some(most_tokens) => ChatShape::OpenAi { most_tokens },
            None => {
                let pointer = block.pointer("answer_tokens_as");
                return Err(unknown_word(&pointer, name, &MOST_TOKENS));
            }
        },
    };
    let strict = block.truth("strict")?;
    if strict.is_some() && !is_openai {
        return Err(bad(&block.pointer("strict"), "is for `openai_chat` alone"));
    }
    let credential_env = block.string("credential_env")?;
    if credential_env.as_deref().is_some_and(|name| !names_key(name)) {
        return Err(bad(&block.pointer("credential_env"), NAMES_NO_KEY));
    }
    Ok(HttpProvider {
        shape,
        base: base(block)?,
        credential_env,
        headers: headers(block)?,
        options: options(block)?,
        retry: retry(block)?,
        streams: block.truth("stream")?.unwrap_or(true),
        is_strict: strict.unwrap_or(false),
    })
}

/// The fault of the name of a variable, to stand behind its field.
pub(crate) const NAMES_NO_KEY: &str = "is not the name of a variable that holds a key";

/// Returns true if a variable of this name may hold a key: none of rye's own does.
pub(crate) fn names_key(name: &str) -> bool {
    let is_own = name.starts_with("RYE_") || name == "USER_SPACE";
    let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    let begins = name.bytes().next().is_some_and(|b| !b.is_ascii_digit());
    begins && name.bytes().all(plain) && !is_own
}

/// Where the key and the conversation go: encrypted, or not off this machine.
fn base(block: &Fields<'_>) -> Result<Address, ParseFault> {
    let pointer = block.pointer("base_url");
    let Some(text) = block.string("base_url")? else { return Err(bad(&pointer, "is missing")) };
    let base = Address::parse(&text).map_err(|why| bad(&pointer, why))?;
    if text.contains('?') {
        return Err(bad(&pointer, "has a query (`?…`), and a path comes behind it"));
    }
    if !base.is_https() && !base.is_loopback() {
        return Err(bad(&pointer, "is not encrypted; `http` leads to this machine alone"));
    }
    Ok(base)
}

/// Literal values alone: no variable comes into one.
fn headers(block: &Fields<'_>) -> Result<Vec<(String, String)>, ParseFault> {
    let Some(all) = block.fields("headers")? else { return Ok(Vec::new()) };
    let read = |name: &String| {
        let pointer = all.pointer(name);
        let value = all.string(name)?.unwrap_or_default();
        let lower = name.to_ascii_lowercase();
        let is_token = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
        if name.is_empty() || !name.bytes().all(is_token) {
            return Err(bad(&pointer, "is not the name of a header"));
        }
        if OWN_HEADERS.contains(&lower.as_str()) || HOP_BY_HOP.contains(&lower.as_str()) {
            return Err(bad(&pointer, "is a header that rye sets itself"));
        }
        if fits_header(&value).is_err() || !value.is_ascii() {
            return Err(bad(&pointer, "is not the value of a header"));
        }
        if value.contains("${") || value.contains("{{") {
            return Err(bad(&pointer, "names a variable, and the value is sent as it is"));
        }
        Ok((lower, value))
    };
    let mut read = all.map().keys().map(read).collect::<Result<Vec<_>, _>>()?;
    read.sort();
    match read.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        Some(pair) => Err(bad(&all.pointer(&pair[0].0), "stands there twice")),
        None => Ok(read),
    }
}

fn options(block: &Fields<'_>) -> Result<Map<String, Value>, ParseFault> {
    let Some(all) = block.fields("options")? else { return Ok(Map::new()) };
    match all.map().keys().find(|key| OWN_OPTIONS.contains(&key.as_str())) {
        Some(own) => Err(bad(&all.pointer(own), "is set by rye itself")),
        None => Ok(all.map().clone()),
    }
}

fn retry(block: &Fields<'_>) -> Result<ProviderRetry, ParseFault> {
    let first_wait = Duration::from_millis(PROVIDER_BACKOFF_MS);
    let Some(said) = block.fields("retry")? else {
        return Ok(ProviderRetry { tries: PROVIDER_TRIES, first_wait });
    };
    said.only(&["tries", "first_wait"])?;
    let tries = match whole(&said, "tries")? {
        None => PROVIDER_TRIES,
        Some(tries) => {
            let tries = u32::try_from(tries).ok().filter(|it| (1..=PROVIDER_TRIES).contains(it));
            let why = format!("is not a number from 1 to {PROVIDER_TRIES}");
            tries.ok_or_else(|| bad(&said.pointer("tries"), &why))?
        }
    };
    let first_wait = match said.get("first_wait") {
        None => first_wait,
        Some(value) => {
            let most = Duration::from_millis(BACKOFF_MAX_MS);
            let wanted = format!("a time up to 30 s: {TIME_FORMS}");
            let wrong = || wrong(&said.pointer("first_wait"), &wanted, value);
            time_from_value(value, most).ok_or_else(wrong)?
        }
    };
    Ok(ProviderRetry { tries, first_wait })
}
