//! The keys of an HTTP request, each with its limits. An unknown key is an error: a misspelt limit
//! would be none.

use serde_json::{Map, Value};

use crate::base::durations::{BACKOFF_MAX_MS, CONNECT_TIMEOUT_MS, TIMEOUT_MAX_MS};
use crate::base::limits::{ANSWER_BYTES, TRIES};
use crate::base::text::{escape_line, near};
use crate::base::time::{TimeKey, as_ms};
use crate::parse::REQUEST_KEYS;
use crate::plan::config::timeout_ms;

/// First wait between two tries in milliseconds, unless the tool says otherwise.
const BACKOFF_MS: u64 = 500;

/// Redirects followed unless the tool says otherwise.
const REDIRECTS_DEFAULT: u64 = 5;

/// Most redirects that are followed: a longer way is a loop or a mistake.
const REDIRECTS: u64 = 10;

/// Tries of an HTTP request unless the tool says otherwise.
const TRIES_DEFAULT: u64 = 3;

/// A pointer into the config, and what is the matter there.
pub(in crate::plan) type Bad = (&'static str, String);

const CONNECT_TIMEOUT: TimeKey =
    TimeKey::of_ms("/config/connect_timeout", "/config/connect_timeout_ms", TIMEOUT_MAX_MS);
const BACKOFF: TimeKey =
    TimeKey::of_ms("/config/retry/backoff", "/config/retry/backoff_ms", BACKOFF_MAX_MS);

const METHODS: &[&str] = &["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

/// The request's configuration by the signed links; templates not filled in.
pub(super) struct Config {
    pub(super) method: &'static str,
    pub(super) url: Option<String>,
    pub(super) headers: Vec<(String, String)>,
    pub(super) auth: Option<Auth>,
    pub(super) body: Option<Value>,
    /// A secret may go over a connection that others can read.
    pub(super) cleartext: bool,
    pub(super) timeout_ms: Option<u64>,
    pub(super) connect_timeout_ms: u64,
    pub(super) retry: Retry,
    pub(super) max_redirects: u32,
    pub(super) max_response_bytes: usize,
}

/// Which header carries which declared secret.
pub(super) enum Auth {
    Bearer { secret: String },
    Header { name: String, secret: String },
}

pub(super) struct Retry {
    pub(super) attempts: u32,
    pub(super) backoff_ms: u64,
    /// The author says that the request may be sent twice.
    pub(super) idempotent: bool,
}

impl Config {
    pub(super) fn read(merged: &Map<String, Value>) -> Result<Self, Bad> {
        known(merged, REQUEST_KEYS, "/config")?;
        let method = text(merged, "method", "/config/method")?.unwrap_or("GET");
        let method = METHODS
            .iter()
            .find(|known| **known == method)
            .ok_or_else(|| ("/config/method", format!("is none of {}", METHODS.join(", "))))?;
        let body = merged.get("body").filter(|body| !body.is_null()).cloned();
        if body.is_some() && matches!(*method, "GET" | "HEAD" | "OPTIONS") {
            return Err(("/config/body", format!("cannot go with {method}, which sends none")));
        }
        let number = |key, pointer, default, most| number(merged, key, pointer, default, most);
        let bytes = "/config/max_response_bytes";
        let redirects = match merged.get("max_redirects") {
            Some(zero) if zero.as_u64() == Some(0) => 0,
            _ => number("max_redirects", "/config/max_redirects", REDIRECTS_DEFAULT, REDIRECTS)?,
        };
        let url = text(merged, "url", "/config/url")?.map(str::to_owned);
        if url.is_none() {
            return Err(("/config/url", "is missing".into()));
        }
        Ok(Self {
            method,
            url,
            headers: headers(merged)?,
            auth: auth(merged)?,
            body,
            cleartext: truth(merged, "cleartext", "/config/cleartext")?,
            timeout_ms: timeout_ms(merged)?,
            connect_timeout_ms: CONNECT_TIMEOUT
                .read(|key| merged.get(key))?
                .map_or(CONNECT_TIMEOUT_MS, as_ms),
            retry: retry(merged)?,
            max_redirects: u32::try_from(redirects).unwrap_or(0),
            max_response_bytes: usize::try_from(number(
                "max_response_bytes",
                bytes,
                ANSWER_BYTES,
                ANSWER_BYTES,
            )?)
            .map_err(|_| (bytes, "is too large here".to_owned()))?,
        })
    }
}

fn retry(merged: &Map<String, Value>) -> Result<Retry, Bad> {
    let empty = Map::new();
    let retry = mapping(merged, "retry", "/config/retry")?.unwrap_or(&empty);
    known(retry, &["attempts", "backoff", "backoff_ms", "idempotent"], "/config/retry")?;
    let attempts = number(retry, "attempts", "/config/retry/attempts", TRIES_DEFAULT, TRIES)?;
    Ok(Retry {
        attempts: u32::try_from(attempts).unwrap_or(1),
        backoff_ms: BACKOFF.read(|key| retry.get(key))?.map_or(BACKOFF_MS, as_ms),
        idempotent: truth(retry, "idempotent", "/config/retry/idempotent")?,
    })
}

fn auth(merged: &Map<String, Value>) -> Result<Option<Auth>, Bad> {
    let Some(auth) = mapping(merged, "auth", "/config/auth")? else { return Ok(None) };
    let wanted = |key: &str, pointer| match text(auth, key, pointer)? {
        Some(text) => Ok(text.to_owned()),
        None => Err((pointer, "is missing".to_owned())),
    };
    let kind = wanted("type", "/config/auth/type")?;
    let secret = wanted("secret", "/config/auth/secret")?;
    Ok(Some(match kind.as_str() {
        "bearer" => {
            known(auth, &["type", "secret"], "/config/auth")?;
            Auth::Bearer { secret }
        }
        "header" => {
            known(auth, &["type", "name", "secret"], "/config/auth")?;
            Auth::Header { name: wanted("name", "/config/auth/name")?, secret }
        }
        _ => return Err(("/config/auth/type", "is neither `bearer` nor `header`".into())),
    }))
}

fn headers(merged: &Map<String, Value>) -> Result<Vec<(String, String)>, Bad> {
    let pointer = "/config/headers";
    let Some(headers) = mapping(merged, "headers", pointer)? else { return Ok(Vec::new()) };
    let read = |(name, value): (&String, &Value)| match value {
        Value::String(text) => Ok((name.clone(), text.clone())),
        Value::Number(number) => Ok((name.clone(), number.to_string())),
        _ => Err((pointer, format!("gives `{}` no text", escape_line(name)))),
    };
    headers.iter().map(read).collect()
}

/// Refuses a key that is not in the list, and names the one that was meant; `x-…` is free.
fn known(map: &Map<String, Value>, keys: &[&str], pointer: &'static str) -> Result<(), Bad> {
    let is_known = |key: &str| keys.contains(&key) || key.starts_with("x-");
    let Some(unknown) = map.keys().find(|key| !is_known(key)) else { return Ok(()) };
    let meant = near(unknown, keys.iter().copied(), 1).pop();
    let meant = meant.map(|meant| format!("; did you mean `{meant}`?")).unwrap_or_default();
    let why =
        format!("holds `{}`, which an HTTP request does not have{meant}", escape_line(unknown));
    Err((pointer, why))
}

fn mapping<'m>(
    map: &'m Map<String, Value>,
    key: &str,
    pointer: &'static str,
) -> Result<Option<&'m Map<String, Value>>, Bad> {
    match map.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Object(inner)) => Ok(Some(inner)),
        Some(_) => Err((pointer, "is not a mapping".into())),
    }
}

fn text<'m>(
    map: &'m Map<String, Value>,
    key: &str,
    pointer: &'static str,
) -> Result<Option<&'m str>, Bad> {
    match map.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err((pointer, "is not text".into())),
    }
}

fn truth(map: &Map<String, Value>, key: &str, pointer: &'static str) -> Result<bool, Bad> {
    match map.get(key) {
        None | Some(Value::Null) => Ok(false),
        Some(Value::Bool(truth)) => Ok(*truth),
        Some(_) => Err((pointer, "is neither true nor false".into())),
    }
}

fn number(
    map: &Map<String, Value>,
    key: &str,
    pointer: &'static str,
    default: u64,
    most: u64,
) -> Result<u64, Bad> {
    match map.get(key) {
        None | Some(Value::Null) => Ok(default),
        Some(value) => match value.as_u64() {
            Some(number) if (1..=most).contains(&number) => Ok(number),
            _ => Err((pointer, format!("is not a whole number from 1 to {most}"))),
        },
    }
}
