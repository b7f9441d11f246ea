//! Whom you trust.

use serde_json::{Value, json};

use super::Named;
use super::allow::Allowed;
use crate::base::text::escape_line;
use crate::cli::error::CliError;
use crate::cli::exit::Exit;
use crate::cli::out::Out;
use crate::diag::Style;
use crate::id::{Fingerprint, Kind, Space};
use crate::pipeline::{Failure, Rye};
use crate::verify::{PUBLISHER, TrustError, TrustStore};

/// One fingerprint and what is said of it.
struct Row {
    fingerprint: Fingerprint,
    owner: String,
    state: String,
    scope: String,
}

/// `rye trust list`: every document is read, broken ones included.
pub(super) fn run(rye: &Rye, out: &mut Out) -> Result<Exit, CliError> {
    let trust = rye.trust();
    let mut rows = Vec::new();
    match trust.own() {
        Ok(Some(own)) => rows.push(Row {
            fingerprint: own.fingerprint(),
            owner: "you".into(),
            state: "own key".into(),
            scope: "your user space and accepted projects, but for `rye/**`".into(),
        }),
        Ok(None) => {}
        Err(error) => return Err(Failure::from(error).into()),
    }
    let publisher = PUBLISHER;
    rows.push(Row {
        fingerprint: publisher,
        owner: "rye".into(),
        state: "publisher".into(),
        scope: "the system space".into(),
    });
    for key in documents(rye, "trusted")? {
        rows.push(row(key, &trust));
    }
    let revoked = documents(rye, "revoked")?;
    let allowed = super::allowed(rye)?;
    if out.is_json() {
        let keys: Vec<Value> = rows
            .iter()
            .map(|r| json!({"fingerprint": r.fingerprint, "owner": r.owner, "state": r.state, "scope": r.scope}))
            .collect();
        let allowed: Vec<Value> = allowed
            .iter()
            .map(|a| json!({"what": a.what, "path": a.path, "used": a.stale.is_none(), "why": a.stale}))
            .collect();
        out.success(json!({"keys": keys, "revoked": revoked, "allowed": allowed}));
        return Ok(Exit::DONE);
    }
    let paint = out.paint();
    for row in rows {
        let owner = escape_line(&row.owner);
        let scope = paint.style(Style::Dim, &escape_line(&row.scope));
        out.line(&format!("{}  {:<10} `{owner}`  {scope}", row.fingerprint, row.state));
    }
    for key in revoked {
        out.line(&format!("{key}  {}", paint.style(Style::Error, "revoked")));
    }
    for Allowed { what, path, stale } in allowed {
        let state = match stale {
            None => paint.style(Style::Good, "allowed"),
            Some(why) => paint.style(Style::Warning, &format!("not used: {}", escape_line(&why))),
        };
        out.line(&format!("{what:<11}  `{}`  {state}", escape_line(&path)));
    }
    Ok(Exit::DONE)
}

/// What you have said of a key, in a word and its scope; `None` if nothing.
pub(super) fn state(key: Fingerprint, trust: &TrustStore<'_>) -> Option<String> {
    if trust.is_revoked(key).unwrap_or(true) {
        return Some("revoked".into());
    }
    match trust.own() {
        Ok(Some(own)) if own.fingerprint() == key => return Some("your own key".into()),
        _ => {}
    }
    trust.document(key).ok().flatten()?;
    let row = row(key, trust);
    Some(format!("{}, for {}", row.state, escape_line(&row.scope)))
}

fn row(fingerprint: Fingerprint, trust: &TrustStore<'_>) -> Row {
    let document = match trust.document(fingerprint) {
        Ok(Some(document)) => document,
        Ok(None) => {
            let (owner, scope) = (String::new(), "its key is weak".to_owned());
            return Row { fingerprint, owner, state: "unusable".into(), scope };
        }
        Err(error) => {
            let owner = String::new();
            return Row { fingerprint, owner, state: "unusable".into(), scope: error.to_string() };
        }
    };
    let mut scope = match &document.items {
        None => "everything but `rye/**` and config".to_owned(),
        Some(items) => {
            items.iter().map(crate::grant::Pattern::as_str).collect::<Vec<_>>().join(", ")
        }
    };
    if let Some(projects) = &document.projects {
        let projects: Vec<_> = projects.iter().map(|p| p.display().to_string()).collect();
        scope.push_str(&format!(", in {}", projects.join(", ")));
    }
    if let Some(at) = document.not_after {
        scope.push_str(&format!(", until {at}"));
    }
    let expired = document.not_after.is_some_and(|at| trust.now() > at);
    let revoked = trust.is_revoked(fingerprint).unwrap_or(false);
    let state = match (revoked, expired) {
        (true, _) => "revoked",
        (false, true) => "expired",
        (false, false) => "trusted",
    };
    Row { fingerprint, owner: document.owner, state: state.into(), scope }
}

/// `rye trust show`.
pub(super) fn show(key: &str, rye: &Rye, out: &mut Out) -> Result<Exit, CliError> {
    let fingerprint = find(key, rye)?;
    let trust = rye.trust();
    let row = row(fingerprint, &trust);
    let document = trust.document(fingerprint).map_err(Failure::from)?;
    let text = document.map(|d| d.to_toml()).unwrap_or_default();
    if out.is_json() {
        out.success(json!({
            "fingerprint": fingerprint, "owner": row.owner, "state": row.state, "scope": row.scope,
            "document": text,
        }));
    } else {
        out.line(&format!("{}  {}  {}", row.fingerprint, row.state, escape_line(&row.scope)));
        out.line("");
        out.text(&crate::base::text::escape(&text));
    }
    Ok(Exit::DONE)
}

/// The fingerprints that documents of the user space are named after.
fn documents(rye: &Rye, folder: &str) -> Result<Vec<Fingerprint>, CliError> {
    let entries = rye.list(Space::User, Kind::Config)?;
    let folder = format!("keys/{folder}");
    let named = entries.iter().filter(|e| e.item.id.folder() == folder && e.ext == "toml");
    Ok(named.filter_map(|entry| entry.item.id.name().parse().ok()).collect())
}

/// The one trusted fingerprint that is named.
pub(super) fn find(text: &str, rye: &Rye) -> Result<Fingerprint, CliError> {
    let named = Named::parse(text, 4)?;
    let mut fitting = documents(rye, "trusted")?;
    fitting.retain(|key| named.fits(&key.to_string()));
    match fitting[..] {
        [one] => Ok(one),
        [] => {
            let what = format!("you have no trust document for `{text}`");
            Err(TrustError::NotFound { what }.into())
        }
        _ => {
            let what = format!("several trusted keys are like `{text}`; give more of it");
            Err(TrustError::NotFound { what }.into())
        }
    }
}
