//! The act of a chain that ends at `rye/core/primitives/http_client`: one HTTP request (core 7.11).
//!
//! In:  the `config` of the chain's links, and what templates are filled in with.
//! Out: an [`HttpPlan`]: the request to its last byte, and the plan of it without any secret.
//!
//! Invariants
//! - A caller's parameters reach the body and nothing else, also not by way of a variable.
//! - A secret reaches headers and body and nothing else; the plan shows its template.
//! - What is no valid request is refused here, before the network is touched.
//!
//! `config.rs` reads the keys, `headers.rs` and `body.rs` fill in the templates.

mod body;
mod config;
mod headers;

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::config::strings;
use super::error::PlanError;
use super::params::{BODY_NAMES, Params};
use super::template::{names, variables};
use super::template_context::TemplateContext;
use crate::base::Address;
use crate::base::text::escape_line;
use crate::chain::Chain;
use crate::id::Ref;
use body::Body;
pub(super) use config::Bad;
use config::Config;
use headers::Headers;

/// The item id of the runtime that comes with the primitive.
pub(super) const HTTP_REQUEST: &str = "rye/core/runtimes/http/request";

/// A request, ready to be sent. Has no `Debug`: it holds secrets.
pub(crate) struct HttpRequest {
    pub(crate) method: &'static str,
    pub(crate) address: Address,
    /// Names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Option<Arc<[u8]>>,
    /// Nothing in it is meant for one server alone, so another may be asked in its place.
    pub(crate) is_plain: bool,
    pub(crate) connect_timeout: Duration,
    pub(crate) body_cap: usize,
    pub(crate) redirects: u32,
    /// How often it is sent at most; 1 where sending it twice could do something twice.
    pub(crate) tries: u32,
    pub(crate) backoff: Duration,
    /// The names and values of declared secrets, for what must not be shown.
    pub(crate) secrets: Vec<(String, String)>,
}

/// One request and what is shown of it.
pub(crate) struct HttpPlan {
    pub(crate) request: HttpRequest,
    /// The time limit by the links; `None` if no link gives one.
    pub(super) timeout_ms: Option<u64>,
    shown: Map<String, Value>,
}

impl HttpPlan {
    /// # Errors
    /// `plan.bad_config`, `plan.secret_in_argv`.
    pub(super) fn new(
        chain: &Chain,
        config: &Map<String, Value>,
        params: &Params,
        context: &TemplateContext,
    ) -> Result<Self, PlanError> {
        let item = chain.tool().item();
        let bad = |(pointer, why): Bad| PlanError::BadConfig { item: item.clone(), pointer, why };
        let config = Config::read(config).map_err(bad)?;
        let template = config.url.as_deref().unwrap_or_default();
        let address = address(item, template, params, context)?;
        let secrets = secrets(chain, context);
        let headers = Headers::new(&config, &secrets, context).map_err(bad)?;
        let schema = chain.tool().tool.schema.as_ref();
        let body = Body::new(&config, &headers, schema, params, context).map_err(bad)?;
        let parts = headers.templates().chain(config.body.iter().flat_map(strings));
        let has_secret = config.auth.is_some()
            || parts.flat_map(variables).any(|name| context.env.is_sealed(name));
        let is_open = !address.is_https() && !address.is_loopback() && !config.cleartext;
        if has_secret && is_open {
            let why = "would carry a secret unencrypted: use `https`, or say `cleartext: true`";
            return Err(bad(("/config/url", why.into())));
        }
        let is_plain = !has_secret && body.bytes.is_none() && headers.are_plain();
        let is_plain = is_plain && matches!(config.method, "GET" | "HEAD");
        let shown = shown(&config, &address, &headers, &body);
        let repeats = config.retry.idempotent || !matches!(config.method, "POST" | "PATCH");
        let request = HttpRequest {
            method: config.method,
            address,
            headers: headers.filled(body.content_type),
            body: body.bytes,
            is_plain,
            connect_timeout: Duration::from_millis(config.connect_timeout_ms),
            body_cap: config.max_response_bytes,
            redirects: config.max_redirects,
            tries: if repeats { config.retry.attempts } else { 1 },
            backoff: Duration::from_millis(config.retry.backoff_ms),
            secrets,
        };
        Ok(Self { request, timeout_ms: config.timeout_ms, shown })
    }

    /// The plan as data: templates where secrets may stand, no values of parameters.
    pub(super) fn to_json(&self) -> Map<String, Value> {
        self.shown.clone()
    }
}

/// Checks one link's keys for an HTTP request; for signing.
///
/// # Errors
/// A pointer and a sentence.
pub(super) fn check(config: &Map<String, Value>) -> Result<(), Bad> {
    let mut whole = config.clone();
    // Another link may say where to.
    whole.entry("url").or_insert_with(|| "https://host.invalid/".into());
    let read = Config::read(&whole)?;
    if let Some(name) = read.url.as_deref().and_then(parameter_in) {
        return Err(("/config/url", in_the_body_alone(name)));
    }
    match read.url.filter(|url| !url.contains(['$', '{'])) {
        Some(url) => Address::parse(&url).map(|_| ()).map_err(|why| ("/config/url", why.into())),
        None => Ok(()),
    }
}

/// The URL, filled in from the environment alone.
fn address(
    item: &Ref,
    template: &str,
    params: &Params,
    context: &TemplateContext,
) -> Result<Address, PlanError> {
    context.env.keep_out(item, template)?;
    let bad =
        |why: String| PlanError::BadConfig { item: item.clone(), pointer: "/config/url", why };
    if let Some(name) = parameter_in(template) {
        return Err(bad(in_the_body_alone(name)));
    }
    let named = params.as_map().keys().any(|name| template.contains(&format!("{{{name}}}")));
    if named || context.env.takes_parameters(template) {
        return Err(bad("takes a value of the caller's parameters; they go into `body`".into()));
    }
    Address::parse(&context.fill_without_private().scope().text(template))
        .map_err(|why| bad(why.into()))
}

/// The parameter, given or not, that a URL names; names of this machine do not count.
fn parameter_in(template: &str) -> Option<&str> {
    names(template).into_iter().find(|name| !BODY_NAMES.contains(name))
}

fn in_the_body_alone(name: &str) -> String {
    let name = escape_line(name);
    format!(
        "names `{{{name}}}`: a parameter goes into `body` alone, so that no caller says who is asked for what"
    )
}

/// The declared secrets with their values. One that is missing was refused before.
fn secrets(chain: &Chain, context: &TemplateContext) -> Vec<(String, String)> {
    let env = context.fill_without_private().env;
    let names = chain.links().iter().flat_map(|link| &link.tool.secrets);
    names.filter_map(|name| Some((name.clone(), env.get(name)?.shown()))).collect()
}

fn shown(config: &Config, address: &Address, headers: &Headers, body: &Body) -> Map<String, Value> {
    let retry = json!({
        "attempts": config.retry.attempts,
        "backoff_ms": config.retry.backoff_ms,
        "idempotent": config.retry.idempotent,
    });
    let shown = [
        ("method", config.method.into()),
        ("url", address.as_str().into()),
        ("headers", headers.shown(body.content_type)),
        ("body", body.shown.clone()),
        ("connect_timeout_ms", config.connect_timeout_ms.into()),
        ("retry", retry),
        ("max_redirects", config.max_redirects.into()),
        ("max_response_bytes", config.max_response_bytes.into()),
    ];
    shown.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}
