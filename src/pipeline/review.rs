//! What a project asks one to believe (core 4.3), looked at without believing any of it.

use super::failure::Failure;
use super::rules::Hold;
use super::rye::Rye;
use crate::base::{Digest, Timestamp};
use crate::diag::Place;
use crate::id::{Fingerprint, Ref, Space};
use crate::space::{Entry, Odd};
use crate::trace::Quiet;
use crate::verify::{Proposal, Scan, proposals, scan};

/// Who stands behind an item of the project.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SignerIs {
    /// Your own key, one that you trust, or the publisher's.
    Known,
    /// A key that the project proposes.
    Proposed,
    Unknown,
    /// A key that you revoked.
    Revoked,
    /// There is no proper signature line.
    None,
}

/// One item of the project.
#[derive(Debug)]
pub(crate) struct ReviewedItem {
    pub(crate) item: Ref,
    pub(crate) signer: Option<(Fingerprint, Timestamp)>,
    pub(crate) signer_is: SignerIs,
    pub(crate) owner: Option<String>,
    /// The file is not what its line says was signed.
    pub(crate) altered: bool,
    /// The key that the line names did not make its signature; unknown keys cannot be asked.
    pub(crate) forged: bool,
    /// Spaces whose copy it would shadow.
    pub(crate) shadows: Vec<Space>,
}

/// Everything that a project brings.
#[derive(Debug)]
pub(crate) struct Review {
    pub(crate) project: String,
    pub(crate) accepted: bool,
    pub(crate) proposals: Vec<Proposal>,
    pub(crate) items: Vec<ReviewedItem>,
    pub(crate) odd: Vec<Odd>,
}

impl Rye {
    /// Looks at the project of this working directory.
    ///
    /// # Errors
    /// `verify.trust_unreadable`, `space.*`.
    pub(crate) fn review(&self) -> Result<Review, Failure> {
        let rules = self.rules(Hold::Off);
        let trust = &rules.trust;
        let proposed = self.spaces().get(Space::Project).map(proposals).unwrap_or_default();
        let line = self.line(&rules, &Quiet);
        let mut items = Vec::new();
        let mut odd = Vec::new();
        let all = self.survey(&[])?;
        for entry in all.entries.into_iter().filter(|entry| entry.space == Space::Project) {
            let id = &entry.item.id;
            let proposal = entry.item.is_about_keys() && id.as_str().starts_with("keys/trusted/");
            if proposal || self.is_system_copy(&entry) {
                continue;
            }
            let found = match line.resolver(|r| r.in_space(&entry.item, Space::Project)) {
                Ok(Some(found)) => found,
                Ok(None) => continue,
                Err(error) => {
                    let place = project_place(&entry);
                    odd.push(Odd { place, why: error.to_string() });
                    continue;
                }
            };
            let shadows = [Space::User, Space::System].into_iter().filter(|space| {
                line.resolver(|r| matches!(r.in_space(&entry.item, *space), Ok(Some(_))))
            });
            let shadows = shadows.collect();
            let scanned = scan(&found.bytes, &found.file_type.comment);
            let Ok(Scan::Line { line: sig, range }) = scanned else {
                items.push(ReviewedItem {
                    item: entry.item,
                    signer: None,
                    signer_is: SignerIs::None,
                    owner: None,
                    altered: false,
                    forged: false,
                    shadows,
                });
                continue;
            };
            let digest =
                Digest::of_parts(&[&found.bytes[..range.start], &found.bytes[range.end..]]);
            let proposal = proposed
                .iter()
                .filter_map(|p| p.document.as_ref().ok())
                .find(|document| document.fingerprint == sig.key);
            let (signer_is, made) = match trust.made_by_believed(&sig) {
                Some(made) => (SignerIs::Known, made),
                None if trust.is_revoked(sig.key).unwrap_or(false) => (SignerIs::Revoked, true),
                None => match proposal {
                    Some(document) => {
                        let message = sig.statement.as_bytes();
                        (SignerIs::Proposed, document.public_key.verifies(message, &sig.sig))
                    }
                    None => (SignerIs::Unknown, true),
                },
            };
            // A line that its key did not make has no signer.
            let signer_is = if made { signer_is } else { SignerIs::None };
            let owner = trust.owner(sig.key).filter(|_| signer_is == SignerIs::Known);
            items.push(ReviewedItem {
                altered: digest != sig.sha256 || sig.item != entry.item || sig.ext != found.ext,
                item: entry.item,
                signer: Some((sig.key, sig.at)),
                signer_is,
                owner,
                forged: !made,
                shadows,
            });
        }
        let accepted = match self.spaces().project_identity() {
            Some(identity) => trust.accepts(identity).unwrap_or(false),
            None => false,
        };
        let project = self.spaces().project_path().display().to_string();
        odd.extend(all.odd.into_iter().filter(|o| o.place.space.as_deref() == Some("project")));
        Ok(Review { project, accepted, odd, proposals: proposed, items })
    }
}

fn project_place(entry: &Entry) -> Place {
    let (space, path) = (Some(entry.space.to_string()), format!(".ai/{}", entry.relative()));
    Place { space, path, ..Place::default() }
}
