//! Whom you trust.

use serde_json::{Value, json};

use super::Named;
use super::allow::Allowed;
use crate::base::Timestamp;
use crate::base::look_alike::{imitates_latin, is_alike, reading};
use crate::base::text::escape_line;
use crate::cli::exit::Exit;
use crate::cli::out::Out;
use crate::diagnostic::{Failure, Style};
use crate::id::{Fingerprint, Kind, Space};
use crate::rye::Rye;
use crate::verify::{DEV_OWNER, DevRecord, PUBLISHER, TrustDocument, TrustError, TrustStore};

/// The meaning of a revocation.
const REVOKED: &str = "nothing that it signed is admitted, whenever it was signed";

/// One fingerprint and what the documents say of it.
struct Row {
    fingerprint: Fingerprint,
    owner: String,
    state: String,
    scope: String,
    dev: Option<DevRecord>,
}

impl Row {
    fn new(fingerprint: Fingerprint, owner: &str, state: &str, scope: impl Into<String>) -> Self {
        let (owner, state) = (owner.to_owned(), state.to_owned());
        // What a document lets a key sign does not count any more, whatever it says.
        let scope = if state == "revoked" { REVOKED.to_owned() } else { scope.into() };
        Self { fingerprint, owner, state, scope, dev: None }
    }

    fn to_json(&self) -> Value {
        let mut row = json!({
            "fingerprint": self.fingerprint, "owner": self.owner, "state": self.state,
            "scope": self.scope,
        });
        if let Some(dev) = &self.dev {
            row["project"] = dev.project.display().to_string().into();
            row["not_after"] = json!(dev.not_after);
        }
        row
    }
}

/// Reads every document about keys, also the broken ones.
fn rows(rye: &Rye) -> Result<Vec<Row>, Failure> {
    let trust = rye.trust();
    let mut rows = Vec::new();
    match trust.own() {
        Ok(Some(own)) => {
            let scope = "your user space and accepted projects, but for `rye/**`";
            let state = standing(own.fingerprint(), None, "own key", &trust);
            rows.push(Row::new(own.fingerprint(), "you", state, scope));
        }
        Ok(None) => {}
        Err(error) => return Err(error.into()),
    }
    let state = standing(PUBLISHER, None, "publisher", &trust);
    rows.push(Row::new(PUBLISHER, "rye", state, "the system space"));
    for key in documents(rye, "trusted")? {
        rows.push(row(key, rye));
    }
    for key in documents(rye, "dev")? {
        rows.push(dev_row(key, &trust));
    }
    Ok(rows)
}

/// `rye trust list`: expired dev keys are left out.
pub(super) fn run(rye: &Rye, out: &mut Out) -> Result<Exit, Failure> {
    let mut rows = rows(rye)?;
    rows.retain(|row| row.dev.is_none() || row.state != "expired");
    let revoked = documents(rye, "revoked")?;
    let allowed = super::allowed(rye)?;
    if out.is_json() {
        let keys: Vec<Value> = rows.iter().map(Row::to_json).collect();
        let allowed: Vec<Value> = allowed.iter().map(Allowed::to_json).collect();
        out.success(json!({"keys": keys, "revoked": revoked, "allowed": allowed}));
        return Ok(Exit::DONE);
    }
    let paint = out.paint();
    let trusted: Vec<Fingerprint> = rows.iter().map(|row| row.fingerprint).collect();
    for row in rows {
        let owner = escape_line(&row.owner);
        let scope = paint.style(Style::Dim, &escape_line(&row.scope));
        out.line(&format!("{}  {:<10} `{owner}`  {scope}", row.fingerprint, row.state));
    }
    // A key that was trusted has its row above, which says that it is revoked.
    for key in revoked.into_iter().filter(|key| !trusted.contains(key)) {
        out.line(&format!("{key}  {}  {REVOKED}", paint.style(Style::Error, "revoked")));
    }
    for Allowed { what, path, stale, .. } in allowed {
        let state = match stale {
            None => paint.style(Style::Good, "allowed"),
            Some(why) => paint.style(Style::Warning, &format!("not used: {}", escape_line(&why))),
        };
        out.line(&format!("{what:<11}  `{}`  {state}", escape_line(&path)));
    }
    Ok(Exit::DONE)
}

/// Your statement about a key, as a word and its scope; `None` if there is none.
pub(super) fn state(key: Fingerprint, rye: &Rye) -> Option<String> {
    let trust = &rye.trust();
    if trust.is_revoked(key).unwrap_or(true) {
        return Some("revoked".into());
    }
    match trust.own() {
        Ok(Some(own)) if own.fingerprint() == key => return Some("your own key".into()),
        _ => {}
    }
    trust.document(key).ok().flatten()?;
    let row = row(key, rye);
    Some(format!("{}, for {}", row.state, escape_line(&row.scope)))
}

fn row(fingerprint: Fingerprint, rye: &Rye) -> Row {
    let trust = &rye.trust();
    let document = match trust.document(fingerprint) {
        Ok(Some(document)) => document,
        Ok(None) => return Row::new(fingerprint, "", "unusable", "its key is weak"),
        Err(error) => return Row::new(fingerprint, "", "unusable", error.to_string()),
    };
    let scope = document.covers_everywhere();
    let is_over = |not_after: Option<Timestamp>| not_after.is_some_and(|at| trust.now() > at);
    let here = document.as_in(rye.spaces().project_identity()).scope.not_after;
    let state = match document
        .times()
        .map(is_over)
        .fold((true, false), |(all, any), over| (all && over, any || over))
    {
        (true, _) => "expired",
        (false, true) if is_over(here) => "expired here",
        (false, _) => "trusted",
    };
    let state = standing(fingerprint, None, state, trust);
    Row::new(fingerprint, &document.owner, state, scope)
}

/// Keys that you trust under a name that reads as this one, and what is said of each; your own is
/// called `you`.
pub(super) fn namesakes(key: Fingerprint, owner: &str, rye: &Rye) -> Vec<(Fingerprint, String)> {
    let rows = rows(rye).unwrap_or_default().into_iter();
    let others = rows.filter(|row| row.dev.is_none() && row.fingerprint != key);
    let same = others.filter(|row| is_alike(&row.owner, owner));
    same.map(|row| (row.fingerprint, row.state)).collect()
}

/// The reasons to think that a key is another person's, a sentence each.
pub(super) fn doubts(document: &TrustDocument, rye: &Rye) -> Vec<String> {
    let TrustDocument { fingerprint, owner, .. } = document;
    let imitates = imitates_latin(owner).then(|| {
        let (owner, read) = (escape_line(owner), reading(owner));
        format!("the name `{owner}` imitates Latin letters: it reads as `{read}`")
    });
    let same = namesakes(*fingerprint, owner, rye).into_iter().map(|(key, state)| {
        format!("it is not the key {key} of that name ({state}): ask whose this one is")
    });
    imitates.into_iter().chain(same).collect()
}

fn dev_row(fingerprint: Fingerprint, trust: &TrustStore<'_>) -> Row {
    let dev = match trust.dev_record(fingerprint) {
        Ok(Some(dev)) => dev,
        Ok(None) => return Row::new(fingerprint, "", "unusable", "it cannot be read"),
        Err(error) => return Row::new(fingerprint, "", "unusable", error.to_string()),
    };
    let state = standing(fingerprint, Some(dev.not_after), "dev key", trust);
    let (project, until) = (dev.project.display(), dev.not_after);
    let scope = format!("{project}, but for `rye/**`, hooks and config, until {until}");
    Row { dev: Some(dev), ..Row::new(fingerprint, DEV_OWNER, state, scope) }
}

/// `good`, unless its time is over or it was revoked.
fn standing(
    key: Fingerprint,
    not_after: Option<Timestamp>,
    good: &'static str,
    trust: &TrustStore<'_>,
) -> &'static str {
    let expired = not_after.is_some_and(|at| trust.now() > at);
    match (trust.is_revoked(key).unwrap_or(false), expired) {
        (true, _) => "revoked",
        (false, true) => "expired",
        (false, false) => good,
    }
}

/// The dev keys that sign for you somewhere at this moment.
pub(in crate::cli) fn dev_keys(rye: &Rye) -> Result<Vec<(Fingerprint, DevRecord)>, Failure> {
    let trust = rye.trust();
    let rows = documents(rye, "dev")?.into_iter().map(|key| dev_row(key, &trust));
    let valid = rows.filter(|row| row.state == "dev key");
    Ok(valid.filter_map(|row| Some((row.fingerprint, row.dev?))).collect())
}

/// `rye trust show`: shows any key that a document is about.
pub(super) fn show(key: &str, rye: &Rye, out: &mut Out) -> Result<Exit, Failure> {
    let rows = rows(rye)?;
    let known = rows.iter().map(|row| row.fingerprint).collect();
    let fingerprint = one(key, "trust document for", known)?;
    let document = rye.trust().document(fingerprint).map_err(Failure::from)?;
    // There may also be a document about your own key, which says more.
    let Some(row) = rows.iter().rfind(|row| row.fingerprint == fingerprint) else {
        return Ok(Exit::DONE);
    };
    let text = match (&row.dev, &document) {
        (Some(dev), _) => dev.text.clone(),
        (None, Some(document)) => document.to_toml(),
        (None, None) => String::new(),
    };
    if out.is_json() {
        let mut row = row.to_json();
        row["document"] = text.into();
        out.success(row);
        return Ok(Exit::DONE);
    }
    out.line(&format!("{}  {}  {}", row.fingerprint, row.state, escape_line(&row.scope)));
    if !text.is_empty() {
        out.line("");
        out.exact(&crate::base::text::escape(&text));
    }
    Ok(Exit::DONE)
}

/// The fingerprints that documents of the user space are named after.
pub(super) fn documents(rye: &Rye, folder: &str) -> Result<Vec<Fingerprint>, Failure> {
    let entries = rye.items().list(Space::User, Kind::Config)?;
    let folder = format!("keys/{folder}");
    let named = entries.iter().filter(|e| e.item.id.folder() == folder && e.ext == "toml");
    Ok(named.filter_map(|entry| entry.item.id.name().parse().ok()).collect())
}

/// The one trusted fingerprint that is named.
pub(super) fn find(text: &str, rye: &Rye) -> Result<Fingerprint, Failure> {
    one(text, "trust document for", documents(rye, "trusted")?)
}

/// The one revoked fingerprint that is named.
pub(super) fn find_revoked(text: &str, rye: &Rye) -> Result<Fingerprint, Failure> {
    one(text, "revocation of", documents(rye, "revoked")?)
}

/// The same, also for dev keys.
pub(super) fn find_signer(text: &str, rye: &Rye) -> Result<Fingerprint, Failure> {
    one(text, "trust document for", [documents(rye, "trusted")?, documents(rye, "dev")?].concat())
}

fn one(text: &str, what: &str, mut among: Vec<Fingerprint>) -> Result<Fingerprint, Failure> {
    let named = Named::parse(text, 4)?;
    among.retain(|key| named.fits(&key.to_string()));
    among.sort_unstable();
    among.dedup();
    match among[..] {
        [one] => Ok(one),
        [] => {
            let what = format!("you have no {what} `{text}`");
            Err(TrustError::NotFound { what }.into())
        }
        _ => {
            let what = format!("you have more than one {what} keys like `{text}`; give more of it");
            Err(TrustError::NotFound { what }.into())
        }
    }
}
