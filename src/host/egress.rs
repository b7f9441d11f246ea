//! The servers that a child may reach outside by rye's proxy, and those that it did reach, as data.
//!
//! A plan makes an [`Egress`] of what its links declare; the proxy holds a run to it and gives
//! [`Traffic`] back. No secret is in either: a service names the variable that holds its own.

use std::fmt;
use std::iter;

use globset::{GlobBuilder, GlobMatcher};
use serde::{Deserialize, Serialize, Serializer};
use unicode_normalization::UnicodeNormalization;

use crate::base::limits::{PROXY_SECRET_BYTES, TRAFFIC_ROWS};
use crate::base::text::escape_line;
use crate::base::{Address, HostRule};

/// Longest text of one of those refusals in bytes: a name, or what a person reads of a path.
const TRAFFIC_TEXT_BYTES: usize = 300;

/// Longest pattern of a call that a service lists, and longest form of its header, in bytes.
const CALL_PATTERN_BYTES: usize = 256;

/// Longest name of a service, of its header and of its variables, in bytes.
const SERVICE_NAME_BYTES: usize = 64;

/// Most calls that a service lists: a person reads them before trusting the item.
const SERVICE_CALLS: usize = 64;

/// The hosts and services that a child may reach, and the ports at which it is reached.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Egress {
    pub(crate) hosts: Vec<HostRule>,
    /// The config item by which the person lists the hosts; `None` where the tool does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) hosts_from: Option<String>,
    pub(crate) services: Vec<Service>,
    /// Ports of this machine that lead to the same ports of the child's own network.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) listen: Vec<u16>,
}

/// A server that is called with a secret which the child never sees: the child calls an endpoint of
/// rye on its own loopback.
///
/// Invariant: made by [`Service::parse`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Service {
    name: String,
    #[serde(serialize_with = "as_text")]
    upstream: Address,
    secret: String,
    header: String,
    format: String,
    allow: Vec<AllowedCall>,
    env: String,
}

/// A [`Service`] as a person writes it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ServiceText<'t> {
    pub(crate) name: &'t str,
    pub(crate) upstream: &'t str,
    pub(crate) secret: &'t str,
    pub(crate) header: &'t str,
    pub(crate) format: &'t str,
    pub(crate) allow: &'t [String],
    pub(crate) env: &'t str,
}

/// Which field of a [`ServiceText`] is wrong, and what is the matter, to stand behind its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BadService {
    /// The key under `services/<name>`; `name` is the key of the service itself. One of the calls
    /// is `allow/<index>`.
    pub(crate) field: String,
    pub(crate) problem: String,
}

/// Headers that are meant for the next machine alone (RFC 9110, 7.6.1), and those of proxies.
pub(crate) const HOP_BY_HOP: [&str; 10] = [
    "connection",
    "http2-settings",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Headers that carry the message itself: like the ones above, no secret stands in one.
const OF_MESSAGE: [&str; 6] =
    ["accept-encoding", "content-encoding", "content-length", "content-type", "expect", "host"];

/// Checks that a secret can stand in a header of a service (RFC 9110, 5.5).
///
/// # Errors
/// Why not, as what a value does.
pub(crate) fn fits_header(secret: &str) -> Result<(), String> {
    if secret.is_empty() {
        return Err("is empty".into());
    }
    if secret.len() > PROXY_SECRET_BYTES {
        return Err(format!("is longer than {PROXY_SECRET_BYTES} bytes"));
    }
    if secret.chars().any(char::is_control) || secret.trim() != secret {
        let why = "cannot stand in a header: it has a line end or another control character, or a \
                   space at an end";
        return Err(why.into());
    }
    Ok(())
}

impl Service {
    /// # Errors
    /// Which field is wrong, and why.
    pub(crate) fn parse(text: ServiceText<'_>) -> Result<Self, BadService> {
        let bad = |field: &str, problem: &str| BadService {
            field: field.into(),
            problem: problem.into(),
        };
        service_name(text.name).map_err(|problem| bad("name", problem))?;
        let upstream = upstream(text.upstream).map_err(|problem| bad("upstream", &problem))?;
        variable_name(text.secret).map_err(|problem| bad("secret", problem))?;
        variable_name(text.env).map_err(|problem| bad("env", problem))?;
        if text.env == text.secret {
            return Err(bad("env", "is the variable of the secret, which the tool never sees"));
        }
        let header = text.header.to_ascii_lowercase();
        let is_token = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
        if header.is_empty() || header.len() > SERVICE_NAME_BYTES || !header.bytes().all(is_token) {
            return Err(bad("header", "is not the name of a header"));
        }
        if HOP_BY_HOP.iter().chain(&OF_MESSAGE).any(|own| *own == header) {
            return Err(bad("header", "is a header that no secret stands in"));
        }
        if text.format.matches("{}").count() != 1 || text.format.matches(['{', '}']).count() != 2 {
            return Err(bad("format", "must have `{}` once, where the secret stands"));
        }
        let is_plain = text.format.bytes().all(|b| matches!(b, b' '..=b'~'));
        if !is_plain || text.format.trim() != text.format || text.format.len() > CALL_PATTERN_BYTES
        {
            return Err(bad("format", "is not the value of a header"));
        }
        if text.allow.is_empty() {
            return Err(bad("allow", "must list what may be called, such as `GET /repos/**`"));
        }
        if text.allow.len() > SERVICE_CALLS {
            return Err(bad("allow", &format!("has more than {SERVICE_CALLS} entries")));
        }
        let calls = text.allow.iter().enumerate().map(|(at, call)| {
            AllowedCall::parse(call).map_err(|problem| bad(&format!("allow/{at}"), problem))
        });
        Ok(Self {
            name: text.name.into(),
            upstream,
            secret: text.secret.into(),
            header: text.header.into(),
            format: text.format.into(),
            allow: calls.collect::<Result<_, _>>()?,
            env: text.env.into(),
        })
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Where calls go: `https`, or `http` to an address of this very machine. Its path stands
    /// before that of each call.
    #[cfg_attr(not(feature = "http"), expect(dead_code, reason = "only the proxy needs it"))]
    pub(crate) fn upstream(&self) -> &Address {
        &self.upstream
    }

    /// The variable of rye's own environment that holds the secret.
    pub(crate) fn secret(&self) -> &str {
        &self.secret
    }

    #[cfg_attr(not(feature = "http"), expect(dead_code, reason = "only the proxy needs it"))]
    pub(crate) fn header(&self) -> &str {
        &self.header
    }

    /// The value of the header with this secret in it.
    #[cfg_attr(not(feature = "http"), expect(dead_code, reason = "only the proxy needs it"))]
    pub(crate) fn header_value(&self, secret: &str) -> String {
        self.format.replacen("{}", secret, 1)
    }

    /// The variable of the child that holds the endpoint's address.
    pub(crate) fn env(&self) -> &str {
        &self.env
    }

    /// Returns true if a call is listed. The path is decoded and has no segment that leads up.
    #[cfg_attr(not(feature = "http"), expect(dead_code, reason = "only the proxy needs it"))]
    pub(crate) fn allows(&self, method: &str, path: &str) -> bool {
        self.allow.iter().any(|call| call.covers(method, path))
    }
}

impl fmt::Display for Service {
    /// All of it but the header's form where that is the usual one.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, upstream, secret, header, format, allow, env } = self;
        let calls: Vec<_> = allow.iter().map(ToString::to_string).collect();
        f.write_str(&service_line([name, upstream.as_str(), secret, header, format, env], &calls))
    }
}

/// The description of a service for a person: its name, upstream, secret, header, the form of that,
/// and the variable, and the calls that it lists.
pub(crate) fn service_line(parts: [&str; 6], calls: &[impl AsRef<str>]) -> String {
    let [name, upstream, secret, header, format, env] = parts;
    let calls: Vec<_> = calls.iter().map(AsRef::as_ref).collect();
    let upstream = upstream.trim_end_matches('/');
    let is_usual = header.eq_ignore_ascii_case("authorization") && format == "Bearer {}";
    let form = if is_usual { String::new() } else { format!(", as `{header}: {format}`") };
    format!("{name}: {secret} to {upstream}, {}{form}, at {env}", calls.join(", "))
}

fn as_text<S: Serializer>(address: &Address, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(address.as_str())
}

fn service_name(name: &str) -> Result<(), &'static str> {
    let is_plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'_';
    match !name.is_empty() && name.len() <= SERVICE_NAME_BYTES && name.bytes().all(is_plain) {
        true => Ok(()),
        false => Err("is not the name of a service: write lower-case letters, digits, `-`, `_`"),
    }
}

fn variable_name(name: &str) -> Result<(), &'static str> {
    let is_plain = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    let begins = name.bytes().next().is_some_and(|b| !b.is_ascii_digit());
    match begins && name.len() <= SERVICE_NAME_BYTES && name.bytes().all(is_plain) {
        true => Ok(()),
        false => Err("is not the name of a variable"),
    }
}

fn upstream(text: &str) -> Result<Address, String> {
    let address = Address::parse(text)?;
    let (host, port) = (address.host(), address.port());
    // A URL's host is judged as a listed one is: an address in an unusual form is refused.
    let is_name = match HostRule::parse(&format!("{host}:{port}")) {
        Ok(rule) => rule.address().is_none(),
        Err(error) => return Err(error.problem.into()),
    };
    if !address.is_https() && (is_name || !address.is_loopback()) {
        return Err("must be `https`; `http` is for an address of this machine, such as \
                    `http://127.0.0.1:8080`"
            .into());
    }
    if address.as_str().contains('?') {
        return Err("has a query, and each call brings its own".into());
    }
    if plain_path(address.path()).is_none() {
        return Err("has a path that may be read in two ways".into());
    }
    Ok(address)
}

/// Characters that a server may take for the end of a path or of a segment, or decode once more.
const SEPARATORS: [char; 6] = ['/', '\\', '%', ';', '?', '#'];

/// A path percent-decoded, if it means one place to everybody who reads it.
///
/// `None` where a server may read it as another: with a segment that is empty or leads nowhere or
/// up (`.`, `..`), a separator that is encoded, a backslash or a `;`, a control character, what is
/// not UTF-8, a letter that some servers take for a separator or a dot, or a `%` that encodes
/// nothing. The last segment may be empty.
pub(crate) fn plain_path(path: &str) -> Option<String> {
    let mut decoded = Vec::with_capacity(path.len());
    let mut bytes = path.bytes();
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            decoded.push(byte);
            continue;
        }
        let digit = |b: Option<u8>| b.and_then(|b| char::from(b).to_digit(16));
        let value = u8::try_from(digit(bytes.next())? * 16 + digit(bytes.next())?).ok()?;
        if SEPARATORS.contains(&char::from(value)) {
            return None;
        }
        decoded.push(value);
    }
    let decoded = String::from_utf8(decoded).ok()?;
    let is_odd = |c: char| {
        let read_as = |c: char| c == '.' || SEPARATORS.contains(&c);
        match c.is_ascii() {
            true => c.is_control() || (c != '/' && SEPARATORS.contains(&c)),
            false => c.is_control() || iter::once(c).nfkc().any(read_as),
        }
    };
    let rest = decoded.strip_prefix('/')?;
    let mut before_last = rest.split('/');
    let last = before_last.next_back()?;
    let leads = |segment: &str| matches!(segment.trim(), "" | "." | "..");
    let is_plain =
        !decoded.contains(is_odd) && !before_last.any(leads) && (last.is_empty() || !leads(last));
    is_plain.then_some(decoded)
}

/// A method and the paths at which it may be called, such as `GET /repos/**`.
///
/// `*` for the method is each but `CONNECT` and `TRACE`. In the path `*` stands for a part of one
/// segment, and `**` as a whole segment for any number of them.
#[derive(Debug, Clone)]
pub(crate) struct AllowedCall {
    text: String,
    /// `None`: any.
    method: Option<String>,
    path: GlobMatcher,
}

impl AllowedCall {
    /// # Errors
    /// The fault, to stand behind the name of the place.
    pub(crate) fn parse(text: &str) -> Result<Self, &'static str> {
        if text.len() > CALL_PATTERN_BYTES {
            return Err("is too long");
        }
        let Some((method, path)) = text.split_once(' ') else {
            return Err("is not a method and a path, such as `GET /repos/**`");
        };
        let method = match method {
            "*" => None,
            "CONNECT" | "TRACE" => return Err("has a method that is never passed on"),
            _ if !method.is_empty() && method.bytes().all(|b| b.is_ascii_uppercase()) => {
                Some(method.to_owned())
            }
            _ => return Err("has no method in upper case before the path, such as `GET`"),
        };
        if !path.starts_with('/') {
            return Err("has a path that does not begin with `/`");
        }
        if path.contains(['?', '#']) {
            return Err("has a query, which is not part of what is listed");
        }
        if path.contains(['{', '}', '[', ']', '%']) {
            return Err("has a sign in its path that stands for nothing there; write `*` for a \
                        part that varies, and letters as they are");
        }
        if path.split('/').any(|part| part.contains("**") && part != "**") {
            return Err("has `**` beside other letters; it stands for whole segments");
        }
        if plain_path(path).is_none() {
            return Err("has a path that may be read in two ways");
        }
        let glob = GlobBuilder::new(path).literal_separator(true).backslash_escape(false).build();
        let path = glob.map_err(|_| "has a path that is not a pattern")?.compile_matcher();
        Ok(Self { text: text.into(), method, path })
    }

    fn covers(&self, method: &str, path: &str) -> bool {
        let is_method = match &self.method {
            Some(own) => own == method,
            // A server may take a method in small letters for the same.
            None => !["CONNECT", "TRACE"].iter().any(|never| method.eq_ignore_ascii_case(never)),
        };
        is_method && self.path.is_match(path)
    }
}

impl fmt::Display for AllowedCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl PartialEq for AllowedCall {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for AllowedCall {}

impl Serialize for AllowedCall {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&self.text)
    }
}

/// The traffic of a child to the outside, and its refused calls. Rows are in the order of the first
/// call.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Traffic {
    pub(crate) hosts: Vec<HostTraffic>,
    pub(crate) refused: Vec<RefusedCall>,
    /// Calls of hosts beyond the first rows, and refusals beyond those.
    pub(crate) more_calls: u64,
    pub(crate) more_refused: u64,
}

/// The traffic to and from one host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct HostTraffic {
    /// `name:port` as it was asked for, or the name of a service.
    pub(crate) host: String,
    /// Connections to a host, requests to a service.
    pub(crate) calls: u64,
    /// Bytes from the child, and to it: of a tunnel all of them, of a request its body.
    pub(crate) sent_bytes: u64,
    pub(crate) received_bytes: u64,
}

/// A refused call, and how often it was refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RefusedCall {
    /// `name:port`, or the name of a service with the method and path.
    pub(crate) what: String,
    pub(crate) why: Refusal,
    pub(crate) count: u64,
}

/// The header of rye's own answer to a request that was not led on.
#[cfg(feature = "http")]
pub(crate) const REFUSED_HEADER: &str = "rye-refused";

/// Why a call was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Refusal {
    /// The token of the run is missing or wrong.
    Token,
    /// The host and port, or the method and path, are not listed.
    NotListed,
    /// The name has private or reserved addresses alone.
    NotPublic,
    /// The name has no address.
    Unresolved,
    /// No connection came about.
    Unreachable,
    /// The tunnel does not begin with TLS.
    NotTls,
    /// The greeting, or the request, names another host.
    OtherName,
    /// The request is malformed, or may be read in two ways.
    Malformed,
    /// The answer cannot be looked through for the secret.
    Opaque,
}

impl Refusal {
    /// As it is serialised.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Token => "token",
            Self::NotListed => "not_listed",
            Self::NotPublic => "not_public",
            Self::Unresolved => "unresolved",
            Self::Unreachable => "unreachable",
            Self::NotTls => "not_tls",
            Self::OtherName => "other_name",
            Self::Malformed => "malformed",
            Self::Opaque => "opaque",
        }
    }
}

impl Refusal {
    /// The reason in words, for a message about the call.
    pub(crate) fn meaning(self) -> &'static str {
        match self {
            Self::Token => "it came without the name and password that the proxy's address holds",
            Self::NotListed => "it is not listed",
            Self::NotPublic => "its addresses are not public",
            Self::Unresolved => "the name has no address",
            Self::Unreachable => "no connection to it came about",
            Self::NotTls => "what was said in the tunnel is not TLS",
            Self::OtherName => "the greeting, or the request, named another host",
            Self::Malformed => "the request is malformed, or may be read in two ways",
            Self::Opaque => "the answer cannot be looked through for the secret",
        }
    }
}

impl Traffic {
    /// Counts calls of a host, and bytes.
    #[cfg_attr(not(feature = "http"), expect(dead_code, reason = "only the proxy needs it"))]
    pub(crate) fn add(&mut self, host: &str, calls: u64, sent_bytes: u64, received_bytes: u64) {
        if let Some(row) = self.hosts.iter_mut().find(|row| row.host == host) {
            row.calls = row.calls.saturating_add(calls);
            row.sent_bytes = row.sent_bytes.saturating_add(sent_bytes);
            row.received_bytes = row.received_bytes.saturating_add(received_bytes);
        } else if self.hosts.len() < TRAFFIC_ROWS {
            self.hosts.push(HostTraffic { host: host.into(), calls, sent_bytes, received_bytes });
        } else {
            self.more_calls = self.more_calls.saturating_add(calls);
        }
    }

    /// Counts a refusal. What the child wrote is cut, and its control characters are escaped.
    #[cfg_attr(not(feature = "http"), expect(dead_code, reason = "only the proxy needs it"))]
    pub(crate) fn refuse(&mut self, what: &str, why: Refusal) {
        let end = what.floor_char_boundary(TRAFFIC_TEXT_BYTES);
        let cut = if end < what.len() { "…" } else { "" };
        let what = escape_line(&what[..end]) + cut;
        let same = |row: &&mut RefusedCall| row.what == what && row.why == why;
        if let Some(row) = self.refused.iter_mut().find(same) {
            row.count = row.count.saturating_add(1);
        } else if self.refused.len() < TRAFFIC_ROWS {
            self.refused.push(RefusedCall { what, why, count: 1 });
        } else {
            self.more_refused = self.more_refused.saturating_add(1);
        }
    }
}
