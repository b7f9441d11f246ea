//! Signing in two steps: first what would be signed is shown, then exactly that is signed.

use std::collections::{HashMap, VecDeque};
use std::path::PathBuf;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::calls::{Answer, Call, Refusal, read};
use super::error::McpError;
use super::server::held;
use crate::base::Digest;
use crate::base::limits::MCP_WAITING;
use crate::id::{Kind, Pattern, Query, Ref, Space};
use crate::runs::for_a_person;
use crate::rye::{Offer, OfferOutcome, Rye};
use crate::space::Entry;

/// Changes that were shown and not signed yet, by the digest that confirms them. The oldest are
/// dropped.
#[derive(Default)]
pub(super) struct Shown {
    offers: HashMap<String, (PathBuf, Vec<Offer>)>,
    order: VecDeque<String>,
}

impl Shown {
    fn keep(&mut self, digest: &str, project: PathBuf, offers: Vec<Offer>) {
        if self.offers.insert(digest.to_owned(), (project, offers)).is_none() {
            self.order.push_back(digest.to_owned());
        }
        while self.order.len() > MCP_WAITING {
            if let Some(oldest) = self.order.pop_front() {
                self.offers.remove(&oldest);
            }
        }
    }

    /// Takes the change that was shown in that project under the digest; it can be taken once.
    fn take(&mut self, digest: &str, project: &std::path::Path) -> Option<Vec<Offer>> {
        if self.offers.get(digest).is_none_or(|(of, _)| of != project) {
            return None;
        }
        self.order.retain(|kept| kept != digest);
        self.offers.remove(digest).map(|(_, offers)| offers)
    }
}

/// The arguments of `rye_sign`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Sign {
    item_id: String,
    project_path: PathBuf,
    space: Option<String>,
    confirm_digest: Option<String>,
}

impl Call<'_> {
    pub(super) fn sign(&self, arguments: Map<String, Value>) -> Result<Answer, Refusal> {
        let asked: Sign = read("rye_sign", arguments)?;
        if !self.server.setup.may_sign {
            return Err(McpError::SignRefused {
                why: "this server was not started to sign",
                help: "a person signs, with `rye diff` and `rye sign`, or starts the server with `--allow-sign`",
            }
            .into());
        }
        let rye = self.rye("rye_sign", &asked.project_path)?;
        let project = rye.spaces().project_path().to_owned();
        let (entries, passed_over) = entries(rye, &asked)?;
        let mut offers = Vec::new();
        for entry in &entries {
            offers.push(rye.signing().offer(entry)?);
        }
        let digest = digest(&offers);
        let Some(confirmed) = asked.confirm_digest else {
            let rows: Vec<_> = offers.iter().map(row).collect();
            held(&self.server.shown).keep(&digest, project, offers);
            return Ok(Answer::shown(json!({
                "status": "confirmation_required", "confirm_digest": digest, "items": rows,
                "passed_over": passed_over,
                "help": "show the diff to the person; if they want it signed, call again with this `confirm_digest`",
            })));
        };
        let is_same = confirmed == digest;
        let shown = held(&self.server.shown).take(&confirmed, &project).filter(|_| is_same);
        let Some(shown) = shown else {
            return Err(McpError::SignRefused {
                why: "what `confirm_digest` names was not shown, or is another file by now",
                help: "call `rye_sign` without `confirm_digest`, and look at the diff that it gives",
            }
            .into());
        };
        let mut rows = Vec::new();
        for offer in &shown {
            let status = match rye.signing().take(offer)? {
                OfferOutcome::Signed => "signed",
                OfferOutcome::Changed => "changed",
            };
            rows.push(json!({"item_id": offer.item, "sha256": offer.digest, "status": status}));
        }
        let all = rows.iter().all(|row| row["status"] == "signed");
        let status = if all { "signed" } else { "changed" };
        Ok(Answer::shown(json!({"status": status, "items": rows})))
    }
}

/// The items of the project that are to be signed; items that decide about the operator are never
/// among them. For a glob, also the items that it skips: those signed by another key, and those
/// that `rye dev` holds back.
fn entries(rye: &Rye, asked: &Sign) -> Result<(Vec<Entry>, Vec<Ref>), Refusal> {
    let wrong = |why: String| McpError::Arguments { tool: "rye_sign".into(), why };
    let refused = |why: &'static str| McpError::SignRefused { why, help: A_PERSON };
    let space = asked.space.as_deref().map(str::parse::<Space>).transpose()?;
    if space.is_some_and(|space| space != Space::Project) {
        return Err(refused("an agent signs items of the project alone").into());
    }
    if !asked.item_id.contains('*') {
        let query = asked.item_id.parse::<Query>()?;
        if query.space.is_some_and(|space| space != Space::Project) || query.bundle.is_some() {
            return Err(refused("an agent signs items of the project alone").into());
        }
        let found = rye.signing().find(&query, Some(Space::Project))?;
        if let Some(why) = for_a_person(&found.item) {
            return Err(refused(why).into());
        }
        let (item, space, bundle, ext) = (found.item, found.space, found.bundle, found.ext);
        return Ok((vec![Entry { item, space, bundle, ext }], Vec::new()));
    }
    let pattern: Pattern =
        asked.item_id.parse().map_err(|why| wrong(format!("`{}`: {why}", asked.item_id)))?;
    let mut all = Vec::new();
    for kind in Kind::ALL {
        let entries = rye.items().list(Space::Project, kind)?.into_iter();
        all.extend(entries.filter(|e| pattern.matches(&e.item)));
    }
    if all.is_empty() {
        return Err(wrong(format!("nothing in the project matches `{}`", asked.item_id)).into());
    }
    // One such item refuses the whole list, because an item that is silently left out would not be
    // noticed.
    if let Some(why) = all.iter().find_map(|entry| for_a_person(&entry.item)) {
        return Err(refused(why).into());
    }
    let pair = rye.signing().own_pair()?;
    let (mut taken, mut left) = (Vec::new(), Vec::new());
    for entry in all {
        let query = Query { space: Some(entry.space), ..Query::from(entry.item.clone()) };
        let found = rye.signing().find(&query, Some(entry.space))?;
        match rye.signing().passed_over(&found, &pair) {
            Some(_) => left.push(entry.item),
            None => taken.push(entry),
        }
    }
    Ok((taken, left))
}

/// The advice with each refusal of an item.
const A_PERSON: &str = "a person signs it: `rye diff` shows what changed, `rye sign` signs";

/// One digest over all that is shown.
fn digest(offers: &[Offer]) -> String {
    let rows = offers.iter().map(|offer| {
        let path = offer.path.display();
        format!("{} {} {} {}\n", offer.item, offer.digest, Digest::of(offer.diff.as_bytes()), path)
    });
    Digest::of(rows.collect::<String>().as_bytes()).to_string()
}

fn row(offer: &Offer) -> Value {
    json!({
        "item_id": offer.item, "sha256": offer.digest, "diff": offer.diff,
        "has_baseline": offer.has_baseline,
    })
}
