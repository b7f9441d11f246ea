//! Where the sandboxes of threads are (threads 5), as `config:agent/sandbox` says it:
//!
//! ```yaml
//! backend: opensandbox            # or `local`, on this machine, which is the default
//! opensandbox:
//!   url: https://box.example:8080 # allowed by `rye trust allow-backend`
//!   image: python:3.12
//!   api_key_env: BOX_KEY          # the variable with the key, where the server wants one
//!   timeout: 3600                 # seconds after which the server ends a sandbox by itself
//! ```
//!
//! A project chooses no server: it may say `backend: local`, and nothing else.

use std::time::Duration;

use serde_json::{Map, Value};

use super::{config_fault, configured, may_loosen, only};
use crate::base::text::{near, unfit};
use crate::diagnostic::Failure;
use crate::id::Space;
use crate::parse::{NAMES_NO_KEY, names_key};
use crate::plan::ConfigCopy;
use crate::rye::load::Loader;
use crate::thread::{Credential, ThreadError};
use crate::verify::{BackendIdentity, Permit};

/// The item, and its keys.
pub(super) const SANDBOX: &str = "config:agent/sandbox";
const BACKEND: &str = "backend";
const LOCAL: &str = "local";
const OPENSANDBOX: &str = "opensandbox";
const KEYS: [&str; 4] = ["url", "image", "api_key_env", "timeout"];

/// Longest name of an image, in bytes.
const IMAGE_BYTES: usize = 512;
/// How long a server keeps a sandbox, in seconds, if nothing is said: longer than a thread takes.
const TIMEOUT_S: u64 = 3_600;
/// Least and most of it; no server takes less.
const TIMEOUTS_S: std::ops::RangeInclusive<u64> = 60..=86_400;

/// A server of OpenSandbox, on which the sandboxes of threads are.
pub(crate) struct SandboxServer {
    pub(crate) server: BackendIdentity,
    pub(crate) image: String,
    /// The variable with its key.
    pub(crate) key_name: Option<String>,
    /// Read once it is allowed.
    pub(crate) key: Credential,
    /// It ends a sandbox by itself after that.
    pub(crate) timeout: Duration,
}

/// The server that the nearest copy names, allowed and with its key; `None` where sandboxes are on
/// this machine.
///
/// # Errors
/// `thread.bad_config`, `thread.backend_not_allowed`, `provider.missing_credential`; whatever a
/// copy is refused with.
pub(crate) fn sandbox_server(loader: &Loader<'_>) -> Result<Option<SandboxServer>, Failure> {
    let mut chosen = None;
    for copy in configured(loader, SANDBOX)? {
        let said = said(&copy, may_loosen(&copy, loader))?;
        chosen = said.map(|said| (copy.source.item().clone(), said));
    }
    let Some((item, mut chosen)) = chosen else { return Ok(None) };
    let stale = match chosen.server.permit(loader.trust) {
        Permit::Given => {
            let name = chosen.key_name.as_deref();
            chosen.key = Credential::read(&item, name, &loader.rye.at.vars)?;
            return Ok(Some(chosen));
        }
        Permit::Unknown => None,
        Permit::Stale(why) => Some(why),
    };
    Err(ThreadError::BackendNotAllowed { url: chosen.server.url, stale }.into())
}

/// Checks a configuration as a start would, for the person who signs it.
///
/// # Errors
/// `thread.bad_config`
pub(super) fn check_sandbox(copy: &ConfigCopy) -> Result<(), Failure> {
    said(copy, copy.space != Space::Project).map(drop)
}

/// The server that a copy chooses, if its author may; `None` is this machine.
///
/// # Errors
/// `thread.bad_config`
fn said(copy: &ConfigCopy, may_choose: bool) -> Result<Option<SandboxServer>, Failure> {
    let bad = |field: &str, why: &str| config_fault(copy, field, why.to_owned());
    only(copy, &[BACKEND, OPENSANDBOX])?;
    let is_local = match copy.value.get(BACKEND).and_then(Value::as_str) {
        Some(LOCAL) => true,
        Some(OPENSANDBOX) => false,
        _ => return Err(bad(BACKEND, "is neither `local` nor `opensandbox`")),
    };
    let block = match copy.value.get(OPENSANDBOX) {
        Some(Value::Object(block)) => Some(server(block, &bad)?),
        Some(_) => return Err(bad(OPENSANDBOX, "is not a mapping")),
        None => None,
    };
    match block {
        _ if is_local => Ok(None),
        _ if !may_choose => {
            Err(bad(BACKEND, "is not for it to choose: only your own user space names a server"))
        }
        None => Err(bad(OPENSANDBOX, "is missing, with `url` and `image`")),
        said => Ok(said),
    }
}

/// # Errors
/// `thread.bad_config`
fn server(
    block: &Map<String, Value>,
    bad: &dyn Fn(&str, &str) -> Failure,
) -> Result<SandboxServer, Failure> {
    let bad = |key: &str, why: &str| bad(&format!("{OPENSANDBOX}/{key}"), why);
    if let Some(odd) = block.keys().find(|key| !KEYS.contains(&key.as_str())) {
        let near = near(odd, KEYS.into_iter(), 1).pop();
        let near = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
        return Err(bad(odd, &format!("has no meaning there{near}")));
    }
    let text = |key: &str| match block.get(key) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.as_str())),
        Some(_) => Err(bad(key, "is not a text")),
    };
    let url = text("url")?.ok_or_else(|| bad("url", "is missing"))?;
    let server = BackendIdentity::parse(url).map_err(|why| bad("url", why))?;
    let fits = |image: &&str| {
        let is_plain = !image.contains(char::is_whitespace) && unfit(image).is_none();
        (1..=IMAGE_BYTES).contains(&image.len()) && is_plain
    };
    let image = text("image")?.filter(fits);
    let image = image.ok_or_else(|| bad("image", "is not the name of an image"))?.to_owned();
    let key_name = text("api_key_env")?.map(str::to_owned);
    if key_name.as_deref().is_some_and(|name| !names_key(name)) {
        return Err(bad("api_key_env", NAMES_NO_KEY));
    }
    let seconds = match block.get("timeout") {
        None => Some(TIMEOUT_S),
        Some(said) => said.as_u64().filter(|seconds| TIMEOUTS_S.contains(seconds)),
    };
    let seconds = seconds.ok_or_else(|| bad("timeout", "is not a number from 60 to 86400"))?;
    let (key, timeout) = (Credential::default(), Duration::from_secs(seconds));
    Ok(SandboxServer { server, image, key_name, key, timeout })
}
