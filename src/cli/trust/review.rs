//! The review of this project, on one screen.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::base::look_alike::imitates_latin;
use crate::base::text::escape_line;
use crate::cli::exit::Exit;
use crate::cli::out::Out;
use crate::diagnostic::{Failure, Paint, Style};
use crate::id::{Fingerprint, Ref, Space};
use crate::parse::DeclaredReach;
use crate::rye::{Review, ReviewedItem, Rye, SignerIs};
use crate::verify::{LINE_ENDS, PublicKey, TextFault};

/// `rye trust review`.
pub(super) fn run(rye: &Rye, out: &mut Out) -> Result<Exit, Failure> {
    let review = rye.project().review()?;
    if out.is_json() {
        out.success(to_json(&review, rye));
        return Ok(Exit::DONE);
    }
    show(&review, rye, out);
    for hint in hints(&review, rye) {
        out.line(&out.paint().style(Style::Dim, &hint));
    }
    Ok(Exit::DONE)
}

/// The whole screen, without the next steps.
pub(super) fn show(review: &Review, rye: &Rye, out: &mut Out) {
    let paint = out.paint();
    let state = match review.accepted {
        true => paint.style(Style::Good, "accepted"),
        false => paint.style(Style::Warning, "not accepted: nothing in it runs"),
    };
    out.line(&format!("project {}  {state}", escape_line(&review.project)));
    out.line("");
    out.line(&paint.style(Style::Strong, "keys it proposes"));
    if review.proposals.is_empty() {
        out.line("  none");
    }
    for proposal in &review.proposals {
        match &proposal.document {
            Ok(document) => {
                let known = match super::list::state(document.fingerprint, rye) {
                    Some(state) => format!("  (with you: {state})"),
                    None => String::new(),
                };
                out.line(&format!(
                    "  {}  says it is `{}`{known}",
                    document.fingerprint,
                    escape_line(&document.owner)
                ));
                for doubt in super::list::doubts(document, rye) {
                    out.line(&format!("    {}", paint.style(Style::Warning, &doubt)));
                }
            }
            Err(why) => {
                out.line(&format!(
                    "  {}  unusable: {}",
                    escape_line(&proposal.path),
                    escape_line(why)
                ));
            }
        }
    }
    out.line("");
    out.line(&paint.style(Style::Strong, "items it brings"));
    if review.items.is_empty() {
        out.line("  none");
    }
    for line in items(review, rye, paint) {
        out.line(&line);
    }
    let more = review.items.iter().filter(|item| !item.more.is_empty()).count();
    if more > 0 {
        let ask = if more == 1 { "asks" } else { "ask" };
        let text =
            format!("{more} of them {ask} for more than what you accepted, signed or ran last");
        out.line(&format!("  {}", paint.style(Style::Warning, &text)));
    }
    let raised = review.items.iter().filter(|item| item.tier_before.is_some()).count();
    if raised > 0 {
        let text = match raised {
            1 => "the risk of 1 of them is higher than before".to_owned(),
            many => format!("the risk of {many} of them is higher than before"),
        };
        out.line(&format!("  {}", paint.style(Style::Warning, &text)));
    }
    for odd in &review.odd {
        out.line(&format!("  {}  is odd: {}", escape_line(&odd.place.path), escape_line(&odd.why)));
    }
    out.line("");
}

fn items(review: &Review, rye: &Rye, paint: Paint) -> Vec<String> {
    let trust = rye.trust();
    let width = review.items.iter().map(|i| i.item.to_string().len()).max().unwrap_or(0).min(48);
    let rows = review.items.iter().map(|item| {
        let key = item.signer.map(|(key, _)| key.short()).unwrap_or_default();
        let signer = match item.signer_is {
            SignerIs::Known => {
                let owner = item.owner.as_deref().map(escape_line).unwrap_or_default();
                paint.style(Style::Good, &format!("known: `{owner}` {key}"))
            }
            SignerIs::Proposed => paint.style(Style::Warning, &format!("proposed: {key}")),
            SignerIs::Unknown => paint.style(Style::Error, &format!("unknown: {key}")),
            SignerIs::Revoked => paint.style(Style::Error, &format!("revoked: {key}")),
            SignerIs::None if item.forged => {
                paint.style(Style::Error, &format!("none: the signature is not {key}'s"))
            }
            SignerIs::None => match &item.line_fault {
                Some(fault) => paint.style(Style::Error, &format!("none: {fault}")),
                None => paint.style(Style::Error, "none: not signed"),
            },
        };
        let mut line = format!("  {:<width$}  {signer}", item.item.to_string());
        if let Some(risk) = item.risk {
            line.push_str(&format!("  {}", risk.tier));
        }
        if let Some(why) = item.out_of_scope {
            line.push_str(&paint.style(Style::Error, &format!("  may not sign this: {why}")));
        }
        if let Some(tool) = item.listed_by() {
            line.push_str(&paint.style(Style::Warning, &format!("  a file of {tool}")));
        }
        if item.reach.is_none() {
            line.push_str(&paint.style(Style::Error, "  cannot be read as an item"));
        }
        if item.altered {
            line.push_str(&paint.style(Style::Error, "  changed after it was signed"));
        } else if item.changed {
            let text = "  changed since you last verified it";
            line.push_str(&paint.style(Style::Warning, text));
        }
        if !item.shadows.is_empty() {
            let spaces: Vec<_> = item.shadows.iter().map(|space: &Space| space.as_str()).collect();
            line.push_str(
                &paint.style(Style::Warning, &format!("  shadows {}", spaces.join(", "))),
            );
        }
        if let Some(before) = item.signer_before {
            let was = match trust.owner(before) {
                Some(owner) if owner == "you" => owner,
                Some(owner) => format!("`{}` {}", escape_line(&owner), before.short()),
                None => before.short(),
            };
            let was = format!("  signer changed: it was {was}");
            line.push_str(&paint.style(Style::Warning, &was));
        }
        if let Some(by) = &item.signed_before {
            let text = format!("its signer says that it came signed by {by}");
            line.push_str(&format!("\n    {}", paint.style(Style::Dim, &text)));
        }
        line.push_str(&reach(item, paint));
        line
    });
    rows.collect()
}

/// The reach of the item, and below it the part that is new, each on a line of its own.
fn reach(item: &ReviewedItem, paint: Paint) -> String {
    let mut lines = String::new();
    let words = item.reach.as_ref().map(DeclaredReach::words).unwrap_or_default();
    if item.is_new && !item.more.is_empty() {
        let text = format!("new since you accepted: {}", phrases(&words));
        return format!("\n    {}", paint.style(Style::Warning, &text));
    }
    if !words.is_empty() {
        lines.push_str(&format!("\n    {}", paint.style(Style::Dim, &phrases(&words))));
    }
    if let (Some(before), Some(risk)) = (item.tier_before, item.risk) {
        let text = format!("risk raised from {before} to {risk}");
        lines.push_str(&format!("\n    {}", paint.style(Style::Warning, &text)));
    }
    if !item.more.is_empty() {
        let more = format!("asks for more than before: {}", phrases(&item.more));
        lines.push_str(&format!("\n    {}", paint.style(Style::Warning, &more)));
    }
    lines
}

/// Phrases of a header in one line.
pub(in crate::cli) fn phrases(words: &[String]) -> String {
    words.iter().map(|word| escape_line(word)).collect::<Vec<_>>().join(" · ")
}

/// The next steps: yours, and those of the signers.
fn hints(review: &Review, rye: &Rye) -> Vec<String> {
    let mut hints = vec![match review.items.iter().filter(|item| item.changed).count() {
        0 => "read an item with `rye diff`, your editor, or `less`; nothing was run".to_owned(),
        1 => "`rye diff` shows what changed in 1 item since you last verified it".to_owned(),
        n => format!("`rye diff` shows what changed in {n} items since you last verified them"),
    }];
    let has_returns = |item: &ReviewedItem| match item.line_fault {
        Some(TextFault::Malformed { why }) => why.contains("carriage return"),
        _ => false,
    };
    if let Some(item) = review.items.iter().find(|item| has_returns(item)) {
        hints.push(format!("{}: {LINE_ENDS}", item.item));
    }
    let trust = rye.trust();
    if trust.own().ok().flatten().is_none() {
        hints.push("make a key of your own first, to accept with: `rye keys generate`".into());
    }
    let proposed = review.proposals.iter().filter_map(|p| p.document.as_ref().ok());
    for document in proposed.filter(|d| super::list::state(d.fingerprint, rye).is_none()) {
        hints.push(format!(
            "believe a key in this project: `rye trust accept {}`",
            document.fingerprint
        ));
    }
    let signers = |is: &dyn Fn(&ReviewedItem) -> bool| -> BTreeSet<Fingerprint> {
        let items = review.items.iter().filter(|item| is(item));
        items.filter_map(|item| item.signer.map(|(key, _)| key)).collect()
    };
    for key in signers(&|item| item.signer_is == SignerIs::Unknown) {
        let short = key.short();
        hints.push(format!(
            "{short} is proposed by nobody here. Ask whoever signed: they run `rye trust propose` \
             in this project and commit the file; or they send you what `rye keys export` prints, \
             and you run `rye trust add FILE.pem --in .`"
        ));
    }
    for key in signers(&|item| item.out_of_scope.is_some()) {
        let items = review.items.iter().filter(|item| item.is_left_out(key));
        let items: Vec<Ref> = items.map(|item| item.item.clone()).collect();
        if !items.is_empty() {
            let command = super::add::accept_more(key, &items);
            hints.push(format!("let {} sign that too: `{command}`", key.short()));
        }
    }
    let own = trust.own().ok().flatten().map(PublicKey::fingerprint);
    let signs =
        |key| review.items.iter().any(|i| i.signer.is_some_and(|(signer, _)| signer == key));
    if own.is_some_and(signs) && super::is_unproposed(rye) {
        hints.push("others cannot know your key yet: propose it with `rye trust propose`".into());
    }
    if !review.accepted {
        hints
            .push("accept the project with the keys you trust already: `rye trust project`".into());
    }
    hints
}

fn to_json(review: &Review, rye: &Rye) -> Value {
    let proposals: Vec<Value> = review
        .proposals
        .iter()
        .map(|proposal| match &proposal.document {
            Ok(d) => json!({
                "path": proposal.path, "fingerprint": d.fingerprint, "owner": d.owner,
                "imitates_latin": imitates_latin(&d.owner),
                "same_name": super::list::namesakes(d.fingerprint, &d.owner, rye)
                    .into_iter().map(|(key, _)| key).collect::<Vec<_>>(),
            }),
            Err(why) => json!({"path": proposal.path, "error": why}),
        })
        .collect();
    let items: Vec<Value> = review
        .items
        .iter()
        .map(|item| {
            let signer_is = match item.signer_is {
                SignerIs::Known => "known",
                SignerIs::Proposed => "proposed",
                SignerIs::Unknown => "unknown",
                SignerIs::Revoked => "revoked",
                SignerIs::None => "none",
            };
            json!({
                "item_id": item.item, "signer": item.signer.map(|(key, _)| key),
                "signed_at": item.signer.map(|(_, at)| at), "signer_is": signer_is,
                "signer_before": item.signer_before, "signed_before": item.signed_before,
                "listed_by": item.listed_by(),
                "out_of_scope": item.out_of_scope.map(|why| why.to_string()), "owner": item.owner, "altered": item.altered,
                "changed": item.changed, "forged": item.forged,
                "shadows": item.shadows, "reach": item.reach, "asks_for_more": item.more,
                "risk": item.risk, "tier_before": item.tier_before,
                "is_new": item.is_new,
            })
        })
        .collect();
    let odd: Vec<_> =
        review.odd.iter().map(|o| json!({"path": o.place.path, "why": o.why})).collect();
    json!({
        "project": review.project, "accepted": review.accepted, "proposals": proposals,
        "items": items, "not_items": odd,
    })
}
