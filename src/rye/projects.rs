//! The review of a project that one is asked to trust (core 4.3), without trusting any of it.

use std::collections::HashMap;

use super::call_policy::{CallPolicy, LockMode};
use super::facade::{Rye, now};
use super::history::last_signer;
use super::listed_files::{ListedBy, ListedFiles, Lists};
use super::load::Loader;
use super::risk::RiskFinder;
use crate::base::Timestamp;
use crate::diagnostic::Failure;
use crate::diagnostic::Place;
use crate::id::{Fingerprint, Kind, Query, Ref, Space};
use crate::parse::{DeclaredReach, Item, Risk, RiskLink, RiskTier, signed_before};
use crate::resolve::{Found, ResolveError};
use crate::signature::has_no_line;
use crate::space::{Entry, Odd, ProjectIdentity};
use crate::trace::Quiet;
use crate::verify::{
    AcceptedProject, ApprovedItem, KeyPair, NodeCaller, OutOfScope, Proposal, PublicKey, SigLine,
    SignedText, Source, TextFault, TrustStore, UnacceptedProject, approve, check, digest_to_sign,
    proposals,
};

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
    pub(crate) place: Place,
    pub(crate) signer: Option<(Fingerprint, Timestamp)>,
    pub(crate) signer_is: SignerIs,
    /// Why a key that you know may not sign this item here.
    pub(crate) out_of_scope: Option<OutOfScope>,
    pub(crate) owner: Option<String>,
    /// The file is not what its line says was signed.
    pub(crate) altered: bool,
    /// The file is another version than the one that you accepted, signed or ran last.
    pub(crate) changed: bool,
    /// The key that the line names did not make its signature; unknown keys cannot be asked.
    pub(crate) forged: bool,
    /// The fault of a signature line that cannot be read.
    pub(crate) line_fault: Option<TextFault>,
    /// Spaces whose copy it would shadow.
    pub(crate) shadows: Vec<Space>,
    /// The things that it may touch, as its header says; `None` for one that does not parse.
    pub(crate) reach: Option<DeclaredReach>,
    /// How much harm it could do with that; `None` for what others run through as well.
    pub(crate) risk: Option<Risk>,
    /// The tier of the version that you accepted, signed or ran last, where it was a lower one.
    pub(crate) tier_before: Option<RiskTier>,
    /// The signer of the version that you accepted, signed or ran last, where it was another.
    pub(crate) signer_before: Option<Fingerprint>,
    /// The part of its reach that the version you accepted, signed or ran last did not ask for; all
    /// of it for a new item.
    pub(crate) more: Vec<String>,
    /// Who signed what the item was made of, as the item says it.
    pub(crate) signed_before: Option<String>,
    /// A tool without a signature line, which the header of this tool lists.
    listed_by: Option<ListedBy>,
    /// It is let in here, and no version of it was there when you accepted the project, nor was
    /// signed or ran since.
    pub(crate) is_new: bool,
}

impl ReviewedItem {
    /// Notes what is wrong with the signature; a fault of the text is given back.
    fn note(&mut self, fault: &NotKnown) -> Option<String> {
        match fault {
            NotKnown::Revoked => self.signer_is = SignerIs::Revoked,
            NotKnown::Text(TextFault::Moved { .. } | TextFault::Altered) => self.altered = true,
            NotKnown::Text(TextFault::Forged) => self.forged = true,
            NotKnown::Text(fault @ TextFault::Malformed { .. }) => {
                self.line_fault = Some(fault.clone());
            }
            NotKnown::Text(
                fault @ (TextFault::NotUtf8 { .. }
                | TextFault::Text { .. }
                | TextFault::LoneReturn { .. }),
            ) => return Some(fault.to_string()),
            NotKnown::Unknown | NotKnown::Text(_) => {}
        }
        None
    }

    /// Returns true if the key signed it, and may sign it once its trust document names it.
    pub(crate) fn is_left_out(&self, key: Fingerprint) -> bool {
        let by_key = self.signer.is_some_and(|(signer, _)| signer == key);
        by_key && self.out_of_scope.is_some_and(OutOfScope::ends_when_named)
    }

    /// Says if a known key signed these bytes, and may sign them.
    fn is_vouched_for(&self) -> bool {
        let is_known = self.signer_is == SignerIs::Known;
        is_known && !self.altered && !self.forged && self.out_of_scope.is_none()
    }

    /// The tool whose header lists it, which has no signature line.
    pub(crate) fn listed_by(&self) -> Option<&Ref> {
        self.listed_by.as_ref().map(|by| &by.tool)
    }

    /// Who signed what the item was made of, by the word of its signer. The claim of an unknown
    /// signer, or in a changed text, does not count.
    fn came_signed_by(&self, bytes: &[u8]) -> Option<String> {
        let is_known = matches!(self.signer_is, SignerIs::Known | SignerIs::Proposed);
        if !is_known || self.altered || self.forged {
            return None;
        }
        signed_before(std::str::from_utf8(bytes).ok()?)
    }
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

/// The project of this working directory: what it brings, and whether you accepted it.
#[derive(Clone, Copy)]
pub(crate) struct ProjectTrust<'a> {
    pub(super) rye: &'a Rye,
}

impl Rye {
    /// The project of this working directory: what it brings, and whether you accepted it.
    pub(crate) fn project(&self) -> ProjectTrust<'_> {
        ProjectTrust { rye: self }
    }
}

impl<'a> ProjectTrust<'a> {
    /// # Errors
    /// `resolve.proposal` for a query that a proposed key of the project answers.
    pub(crate) fn is_no_proposal(self, query: &Query) -> Result<(), Failure> {
        let item = query.kind.map(|kind| Ref::new(kind, query.id.clone()));
        let in_project = query.space.is_none_or(|space| space == Space::Project);
        let Some(item) = item.filter(|item| item.is_about_keys() && in_project) else {
            return Ok(());
        };
        let policy = CallPolicy::new(self.rye, LockMode::Off);
        let found =
            policy.loader(&Quiet).resolver(|resolver| resolver.in_space(&item, Space::Project));
        match found {
            Err(proposal @ ResolveError::Proposal { .. }) => Err(proposal.into()),
            _ => Ok(()),
        }
    }

    /// Returns true if you accepted the project; one whose record cannot be used, such as one of a
    /// key that is gone, is not.
    pub(crate) fn is_accepted(self) -> bool {
        let identity = self.rye.spaces.project_identity();
        identity.is_some_and(|identity| self.rye.trust().accepts(identity).unwrap_or(false))
    }

    /// Returns true if its items may be admitted: you accepted it, or it is what a caller of this
    /// node sent.
    pub(crate) fn is_admitted(self) -> bool {
        self.is_accepted() || self.is_guest()
    }

    /// Returns true if it is what a caller of this node sent.
    pub(crate) fn is_guest(self) -> bool {
        let trust = self.rye.trust();
        let sent = |here| NodeCaller::that_sent(&trust, here).is_ok_and(|caller| caller.is_some());
        self.rye.spaces.project_identity().is_some_and(sent)
    }

    /// The project here, which you accepted.
    ///
    /// # Errors
    /// `space.no_project`, `verify.project_not_accepted`, `verify.trust_unreadable`.
    pub(crate) fn must_be_accepted(self) -> Result<&'a ProjectIdentity, Failure> {
        self.rye.spaces.project()?;
        let folder = self.rye.spaces.project_path().display().to_string();
        match self.rye.spaces.project_identity() {
            Some(here) if self.rye.trust().accepts(here)? => Ok(here),
            _ => Err(UnacceptedProject { folder }.into()),
        }
    }

    /// Accepts the project if it is not, and remembers what is there: the first signature in it
    /// says that you work there. True if it was not accepted before.
    pub(crate) fn accept(self, pair: &KeyPair) -> Result<bool, Failure> {
        let (Some(identity), Ok(user)) =
            (self.rye.spaces.project_identity(), self.rye.spaces.user())
        else {
            return Ok(false);
        };
        if self.is_accepted() {
            return Ok(false);
        }
        AcceptedProject::accept(user, pair, identity, now())?;
        self.approve(pair)?;
        Ok(true)
    }

    /// Remembers what is admitted here, and signs a record of that: you accept what is there now.
    ///
    /// # Errors
    /// `space.*`, `verify.trust_unreadable`, `trust.io`.
    pub(crate) fn approve(self, pair: &KeyPair) -> Result<(), Failure> {
        let (user, items) = (self.rye.spaces.user()?, self.remember()?);
        let Some(identity) = self.rye.spaces.project_identity() else { return Ok(()) };
        Ok(approve(&self.rye.trust(), user, pair, identity, items, now())?)
    }

    /// The review of what the project holds beside `own`, if you have not accepted it; `None` if
    /// you have, or if it holds nothing else.
    ///
    /// # Errors
    /// Those of [`ProjectTrust::review`].
    pub(crate) fn review_unaccepted(self, own: &[Ref]) -> Result<Option<Review>, Failure> {
        if self.rye.spaces.project_identity().is_none() || self.is_accepted() {
            return Ok(None);
        }
        let review = self.review()?;
        let is_own = |item: &ReviewedItem| own.contains(&item.item);
        let holds_more = !review.odd.is_empty() || !review.items.iter().all(is_own);
        Ok(holds_more.then_some(review))
    }

    /// Remembers what is admitted here, as what you accepted: of a later version, and of an item
    /// that comes later, `review` tells what it asks for beyond that.
    ///
    /// # Errors
    /// `space.*`, `verify.trust_unreadable`.
    fn remember(self) -> Result<Vec<ApprovedItem>, Failure> {
        let policy = CallPolicy::new(self.rye, LockMode::Off);
        let loader = policy.loader(&Quiet);
        let entries = self.rye.items().survey(&[])?.entries.into_iter();
        let here = entries.filter(|entry| entry.space == Space::Project);
        let admitted = here.filter_map(|entry| {
            let found = loader.file_of(&entry, false).ok()??;
            loader.admit_alone(found).ok().map(|(source, _)| source)
        });
        let admitted: Vec<_> = admitted.collect();
        loader.remember(admitted.iter(), false);
        let row = |source: &Source| {
            let (item, sha256) = (source.item().clone(), source.digest());
            source.signer().map(|signer| ApprovedItem { item, sha256, key: signer.key })
        };
        Ok(admitted.iter().filter_map(row).collect())
    }

    /// Items here that a key signed, and may sign once its trust document names them.
    ///
    /// # Errors
    /// Those of [`ProjectTrust::review`].
    pub(crate) fn left_out(self, key: Fingerprint) -> Result<Vec<Ref>, Failure> {
        let review = self.review()?;
        Ok(review.items.into_iter().filter(|item| item.is_left_out(key)).map(|i| i.item).collect())
    }

    /// Returns true if items lie here of signers whom you do not trust.
    ///
    /// # Errors
    /// Those of [`ProjectTrust::review`].
    pub(crate) fn has_unknown_signers(self) -> Result<bool, Failure> {
        let is_unknown =
            |item: &ReviewedItem| matches!(item.signer_is, SignerIs::Proposed | SignerIs::Unknown);
        Ok(self.review()?.items.iter().any(is_unknown))
    }

    /// Looks at the project of this working directory.
    ///
    /// # Errors
    /// `verify.trust_unreadable`, `space.*`.
    pub(crate) fn review(self) -> Result<Review, Failure> {
        let policy = CallPolicy::new(self.rye, LockMode::Off);
        let trust = &policy.trust;
        let proposed = self.rye.spaces.get(Space::Project).map(proposals).unwrap_or_default();
        let loader = policy.loader(&Quiet);
        let risks = (RiskFinder::new(loader), RiskFinder::before(loader));
        let accepted = self.is_accepted();
        let mut items = Vec::new();
        let mut odd = Vec::new();
        let (mut lists, mut bare) = (Lists::default(), HashMap::new());
        let all = self.rye.items().survey(&[])?;
        for entry in all.entries.into_iter().filter(|entry| entry.space == Space::Project) {
            if self.rye.items().is_system_copy(&entry) {
                continue;
            }
            let found = match loader.resolver(|r| r.in_space(&entry.item, Space::Project)) {
                Ok(Some(found)) => found,
                Ok(None) => continue,
                Err(error) => {
                    let place = project_place(&entry);
                    odd.push(Odd::file(place, error.to_string()));
                    continue;
                }
            };
            let shadows = [Space::User, Space::System].into_iter().filter(|space| {
                loader.resolver(|r| matches!(r.in_space(&entry.item, *space), Ok(Some(_))))
            });
            let shadows = shadows.collect();
            if has_no_line(&found.bytes, &found.file_type.comment) {
                bare.insert(entry.item.clone(), entry.clone());
            }
            let last = loader.versions(&found).next();
            let changed = last.as_ref().is_some_and(|last| last.digest() != digest_to_sign(&found));
            let Declared { reach, more, risk, tier_before } = declared(&found, last, &risks);
            let signed = SignedText {
                bytes: &found.bytes,
                item: &entry.item,
                ext: &found.ext,
                comment: &found.file_type.comment,
            };
            let verdict = check(&signed, trust.now(), |line| whose(line, trust, &proposed));
            let signer = verdict.line().map(|line| (line.key, line.at));
            let mut item = ReviewedItem {
                item: entry.item.clone(),
                place: found.place.clone(),
                signer,
                signer_is: if signer.is_some() { SignerIs::Unknown } else { SignerIs::None },
                out_of_scope: None,
                owner: None,
                altered: false,
                changed,
                forged: false,
                line_fault: None,
                shadows,
                reach,
                more,
                risk,
                tier_before,
                signer_before: None,
                signed_before: None,
                listed_by: None,
                is_new: false,
            };
            let told = verdict.faults().iter().filter_map(|fault| item.note(fault));
            odd.extend(told.map(|why| Odd::file(project_place(&entry), why)));
            if let Some(known) = verdict.signer() {
                item.signer_is = *known;
            }
            item.signer_before = signer.and_then(|(key, _)| {
                let person = person_of(key, trust);
                last_signer(loader, &found).filter(|before| person_of(*before, trust) != person)
            });
            item.signed_before = item.came_signed_by(&found.bytes);
            // A line that its key did not make has no signer.
            if item.forged {
                item.signer_is = SignerIs::None;
            }
            if let Some((key, _)) = signer.filter(|_| item.signer_is == SignerIs::Known) {
                self.judge_known(key, &found, accepted, loader, &mut item)?;
            }
            if let Some(listed) = ListedFiles::from_found(self.rye, &found) {
                lists.insert(entry, listed, item.is_vouched_for());
            }
            items.push(item);
        }
        name_listers(&mut items, &lists, &bare);
        let project = self.rye.spaces.project_path().display().to_string();
        odd.extend(all.odd.into_iter().filter(|o| o.place.space.as_deref() == Some("project")));
        Ok(Review { project, accepted, odd, proposals: proposed, items })
    }

    /// Says of an item whose signer is known whose key that is, whether it may sign the item, and
    /// whether the item came since the project was accepted.
    fn judge_known(
        self,
        key: Fingerprint,
        found: &Found,
        accepted: bool,
        loader: Loader<'_>,
        item: &mut ReviewedItem,
    ) -> Result<(), Failure> {
        item.owner = loader.trust.owner(key);
        let here = self.rye.spaces.project_identity();
        let scope = loader.trust.out_of_scope(key, &item.item, Space::Project, false, here);
        item.out_of_scope = scope.map_err(Failure::from)?;
        let is_let_in = accepted && !item.altered && item.out_of_scope.is_none();
        let known = loader.baselines();
        let is_known = known.is_some_and(|known| known.knows(&found.base, &found.item));
        item.is_new = is_let_in && !is_known;
        if item.is_new {
            item.more = item.reach.as_ref().map(DeclaredReach::all).unwrap_or_default();
        }
        Ok(())
    }
}

/// Leaves out the files that verified tools list, and names the tool of each other listed one;
/// `bare` are those without a signature line.
fn name_listers(items: &mut Vec<ReviewedItem>, lists: &Lists, bare: &HashMap<Ref, Entry>) {
    for item in items.iter_mut() {
        let by = bare.get(&item.item).filter(|entry| entry.item.kind == Kind::Tool);
        item.listed_by = by.and_then(|entry| lists.tool_of(entry)).cloned();
    }
    items.retain(|item| !item.listed_by.as_ref().is_some_and(ListedBy::covers));
}

/// The key of the person who signs with a key: your own for your dev keys.
fn person_of(key: Fingerprint, trust: &TrustStore<'_>) -> Fingerprint {
    let is_dev = trust.dev_record(key).is_ok_and(|record| record.is_some());
    let own = trust.own().ok().flatten().map(PublicKey::fingerprint);
    own.filter(|_| is_dev).unwrap_or(key)
}

/// The reach of a file, and the part of it that is new since the version that is remembered.
#[derive(Default)]
struct Declared {
    reach: Option<DeclaredReach>,
    more: Vec<String>,
    risk: Option<Risk>,
    tier_before: Option<RiskTier>,
}

/// `risks` finds them as they are, and as they were when they were remembered.
fn declared(
    found: &Found,
    last: Option<Source>,
    (is, was): &(RiskFinder<'_>, RiskFinder<'_>),
) -> Declared {
    let text = std::str::from_utf8(&found.bytes).ok();
    let (kind, style) = (found.item.kind, &found.file_type.header);
    let Some(now) = text.and_then(|text| RiskLink::of_unverified(kind, text, style)) else {
        return Declared::default();
    };
    let before = last.and_then(|source| Item::parse(&source).ok());
    let before = before.map(|item| RiskLink::new(&item));
    let reach = now.reach.clone();
    let more = before.as_ref().map(|before| reach.beyond(&before.reach)).unwrap_or_default();
    let risk = is.risk(&found.item, found.space, now);
    let before = before.and_then(|before| was.risk(&found.item, found.space, before));
    let tier_before = before.map(|before| before.tier);
    let tier_before = tier_before.filter(|before| risk.is_some_and(|risk| risk.tier > *before));
    Declared { reach: Some(reach), more, risk, tier_before }
}

/// Why a review cannot say whose an item is.
enum NotKnown {
    Text(TextFault),
    Revoked,
    /// A key that is neither believed nor proposed cannot be asked whether it signed.
    Unknown,
}

impl From<TextFault> for NotKnown {
    fn from(fault: TextFault) -> Self {
        Self::Text(fault)
    }
}

/// The key that a line names, where you or the project say anything of it.
fn whose(
    line: &SigLine,
    trust: &TrustStore<'_>,
    proposed: &[Proposal],
) -> Result<(PublicKey, SignerIs), NotKnown> {
    if trust.is_revoked(line.key).unwrap_or(false) {
        return Err(NotKnown::Revoked);
    }
    if let Some(key) = trust.believed_key(line.key) {
        return Ok((key, SignerIs::Known));
    }
    let documents = proposed.iter().filter_map(|proposal| proposal.document.as_ref().ok());
    let document = documents.into_iter().find(|document| document.fingerprint == line.key);
    let document = document.ok_or(NotKnown::Unknown)?;
    Ok((document.public_key.clone(), SignerIs::Proposed))
}

fn project_place(entry: &Entry) -> Place {
    let (space, path) = (Some(entry.space.to_string()), format!(".ai/{}", entry.relative()));
    Place { space, path, ..Place::default() }
}
