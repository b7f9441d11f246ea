//! What this project brings, on one screen.

use serde_json::{Value, json};

use crate::base::text::escape_line;
use crate::cli::exit::Exit;
use crate::cli::out::Out;
use crate::diagnostic::{Failure, Paint, Style};
use crate::id::Space;
use crate::rye::{Review, Rye, SignerIs};

/// `rye trust review`.
pub(super) fn run(rye: &Rye, out: &mut Out) -> Result<Exit, Failure> {
    let review = rye.project().review()?;
    if out.is_json() {
        out.success(to_json(&review));
        return Ok(Exit::DONE);
    }
    show(&review, rye, out);
    for hint in hints(&review) {
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
                let known = match super::list::state(document.fingerprint, &rye.trust()) {
                    Some(state) => format!("  (with you: {state})"),
                    None => String::new(),
                };
                out.line(&format!(
                    "  {}  says it is `{}`{known}",
                    document.fingerprint,
                    escape_line(&document.owner)
                ));
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
    for line in items(review, paint) {
        out.line(&line);
    }
    for odd in &review.odd {
        out.line(&format!("  {}  is odd: {}", escape_line(&odd.place.path), escape_line(&odd.why)));
    }
    out.line("");
}

fn items(review: &Review, paint: Paint) -> Vec<String> {
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
            SignerIs::None => paint.style(Style::Error, "none: not signed"),
        };
        let mut line = format!("  {:<width$}  {signer}", item.item.to_string());
        if let Some(why) = item.out_of_scope {
            line.push_str(&paint.style(Style::Error, &format!("  may not sign this: {why}")));
        }
        if item.altered {
            line.push_str(&paint.style(Style::Error, "  changed after it was signed"));
        }
        if !item.shadows.is_empty() {
            let spaces: Vec<_> = item.shadows.iter().map(|space: &Space| space.as_str()).collect();
            line.push_str(
                &paint.style(Style::Warning, &format!("  shadows {}", spaces.join(", "))),
            );
        }
        line
    });
    rows.collect()
}

fn hints(review: &Review) -> Vec<String> {
    let mut hints =
        vec!["read an item with `rye diff`, your editor, or `less`; nothing was run".to_owned()];
    if let Some(document) = review.proposals.iter().find_map(|p| p.document.as_ref().ok()) {
        hints.push(format!(
            "believe a key in this project: `rye trust accept {}`",
            document.fingerprint
        ));
    }
    if !review.accepted {
        hints
            .push("accept the project with the keys you trust already: `rye trust project`".into());
    }
    hints
}

fn to_json(review: &Review) -> Value {
    let proposals: Vec<Value> = review
        .proposals
        .iter()
        .map(|proposal| match &proposal.document {
            Ok(d) => json!({"path": proposal.path, "fingerprint": d.fingerprint, "owner": d.owner}),
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
                "out_of_scope": item.out_of_scope, "owner": item.owner, "altered": item.altered, "forged": item.forged,
                "shadows": item.shadows,
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
