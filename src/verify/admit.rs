//! Found → Source: the rule of `signature/check.rs` for items, and what dev mode forgives.

use std::sync::Arc;

use super::error::{Claim, Reason, Refused};
use super::source::{Signer, Source};
use crate::diagnostic::Diagnose;
use crate::id::{Fingerprint, Kind, Space};
use crate::resolve::Found;
use crate::signature::{
    EXAMPLE, PublicKey, Scan, SigLine, SignedText, TextFault, TextVerdict, check, example, scan,
};
use crate::space::{FileTypes, ProjectIdentity, awaits_publisher, shipped};
use crate::trace::{Event, Sink, Warning};
use crate::trust::{KeyStatus, NodeCaller, OutOfScope, TrustError, TrustStore};

/// True if `RYE_DEV_MODE` is exactly `1` (core 5.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DevMode(pub(crate) bool);

/// Judges a file.
///
/// # Errors
/// [`Refused`], with the code of the first rule that failed.
pub(crate) fn admit(
    found: Found,
    trust: &TrustStore<'_>,
    project: Option<&ProjectIdentity>,
    dev: DevMode,
    sink: &dyn Sink,
) -> Result<Source, Box<Refused>> {
    let verifier = Verifier { found: &found, trust, project };
    let verdict = verifier.verdict();
    let claim = verdict.line().map(|line| {
        let owner = trust.owner(line.key);
        Claim { key: line.key, owner, at: line.at }
    });
    let refuse = |reason| refused(&found, claim.clone(), reason);
    let forgives = dev.0 && !verdict.faults().is_empty() && verifier.dev_mode_applies();
    let judged = verdict.forgiving(|reason| forgives && reason.is_about_work_in_hand());
    let (checked, forgiven) = judged.map_err(refuse)?;
    let warnings: Vec<Warning> = forgiven
        .into_iter()
        .map(|reason| Warning { code: reason.code(), message: refuse(reason).to_string() })
        .collect();
    let (text, digest) = (Arc::<str>::from(checked.text), checked.digest);
    let WhoSigned { owner, dev_for } = checked.signer.unwrap_or_default();
    let (signer, range) = match checked.line {
        Some((line, range)) => (Some(Signer { key: line.key, owner, at: line.at, dev_for }), range),
        None => (None, 0..0),
    };
    sink.record(Event::VerifyIntegrity {
        item_id: found.item.clone(),
        verified: warnings.is_empty(),
        key_fp: signer.as_ref().map(|s| s.key),
        owner: signer.as_ref().and_then(|s| s.owner.clone()),
        space: found.space,
        warnings: warnings.clone(),
    });
    Ok(Source::new(found, text, range, digest, signer, warnings))
}

fn refused(found: &Found, claim: Option<Claim>, reason: Reason) -> Box<Refused> {
    let number = if found.bytes.starts_with(b"#!") { 2 } else { 1 };
    let place = found.place.clone().line(number);
    let item = found.item.clone();
    Box::new(Refused { claim, ..Refused::new(item, place, reason) })
}

/// Who made a signature, as the trust store knows them.
#[derive(Default)]
struct WhoSigned {
    owner: Option<String>,
    /// The own key that a dev key signs for.
    dev_for: Option<Fingerprint>,
}

/// Judges one file by the trust store.
struct Verifier<'a> {
    found: &'a Found,
    trust: &'a TrustStore<'a>,
    project: Option<&'a ProjectIdentity>,
}

impl<'a> Verifier<'a> {
    fn verdict(&self) -> TextVerdict<'a, WhoSigned, Reason> {
        let signed = SignedText {
            bytes: &self.found.bytes,
            item: &self.found.item,
            ext: &self.found.ext,
            comment: &self.found.file_type.comment,
        };
        check(&signed, self.trust.now(), |line| self.may_sign(line))
    }

    /// Dev mode is for work in hand: items of accepted projects and of the user space, never
    /// config.
    fn dev_mode_applies(&self) -> bool {
        let kind = self.found.item.kind != Kind::Config;
        kind && match self.found.space {
            Space::System => false,
            Space::User => true,
            Space::Project => self.accepted().unwrap_or(false),
        }
    }

    fn accepted(&self) -> Result<bool, Reason> {
        let Some(project) = self.project else { return Ok(false) };
        self.trust.accepts(project).map_err(|e| unreadable(&e))
    }

    /// The caller of this node that sent what the project's folder holds.
    fn guest(&self) -> Result<Option<NodeCaller>, Reason> {
        let Some(project) = self.project else { return Ok(None) };
        NodeCaller::that_sent(self.trust, project).map_err(|e| unreadable(&e))
    }

    /// Says whether the line's key may sign here. The project, revocations, the key, its scope and
    /// its time are checked in this order.
    fn may_sign(&self, line: &SigLine) -> Result<(PublicKey, WhoSigned), Reason> {
        let is_foreign = self.found.space == Space::Project && !self.accepted()?;
        let guest = if is_foreign { self.guest()? } else { None };
        if is_foreign && guest.is_none() {
            return Err(Reason::ProjectNotAccepted);
        }
        // A revocation counts whatever else is known of the key, also if it was never trusted.
        self.not_revoked(line)?;
        if line.key == EXAMPLE
            && self.found.embedded
            && awaits_publisher(&self.found.item)
            && let Some(key) = example()
        {
            let owner = Some("a contributor, until the publisher signs it".to_owned());
            return Ok((key, WhoSigned { owner, dev_for: None }));
        }
        let of_project = self.project.filter(|_| self.found.space == Space::Project);
        let belief = self.trust.key_status(line.key, of_project).map_err(|e| unreadable(&e))?;
        if line.key == EXAMPLE && !self.trust.lets_in_example() {
            return Err(Reason::ExampleKey);
        }
        let (key, signer, not_after) = match belief {
            KeyStatus::Key(trusted) => {
                let signer = WhoSigned { owner: Some(trusted.owner), dev_for: None };
                (trusted.key, signer, trusted.not_after)
            }
            // If dev keys do not count here, that is the reason, whatever else is wrong with the
            // key.
            KeyStatus::Dev(_) if self.trust.refuses_dev_keys() || guest.is_some() => {
                return Err(Reason::DevSignature);
            }
            KeyStatus::Dev(delegate) => {
                let owner = self.trust.owner(line.key);
                let signer = WhoSigned { owner, dev_for: Some(delegate.by) };
                (delegate.key, signer, Some(delegate.not_after))
            }
            KeyStatus::Weak => return Err(Reason::WeakKey),
            KeyStatus::Unknown => return Err(Reason::Untrusted),
        };
        let (item, space, embedded) = (&self.found.item, self.found.space, self.found.embedded);
        if guest.is_some_and(|caller| !caller.may_send(line.key, item)) {
            return Err(Reason::OutOfScope { why: OutOfScope::NotOfCaller });
        }
        let scope = self.trust.out_of_scope(line.key, item, space, embedded, self.project);
        if let Some(why) = scope.map_err(|e| unreadable(&e))? {
            return Err(Reason::OutOfScope { why });
        }
        if let Some(at) = not_after
            && self.trust.now() > at
        {
            return Err(match signer.dev_for {
                Some(_) => Reason::DevExpired { at },
                None => Reason::Expired { at },
            });
        }
        self.not_older_than_shipped(line)?;
        Ok((key, signer))
    }

    fn not_revoked(&self, line: &SigLine) -> Result<(), Reason> {
        match self.trust.is_revoked(line.key) {
            Ok(false) => Ok(()),
            Ok(true) => Err(Reason::Revoked),
            Err(error) => Err(unreadable(&error)),
        }
    }

    /// An old version of a shipped item keeps its good signature always, although its faults were
    /// mended since. So a folder that stands in for the shipped items must not bring an older
    /// version than the binary holds (core 2.3).
    fn not_older_than_shipped(&self, line: &SigLine) -> Result<(), Reason> {
        let Found { item, space, embedded, .. } = self.found;
        if *space != Space::System || *embedded {
            return Ok(());
        }
        let Some((ext, bytes)) = shipped(item) else { return Ok(()) };
        let Some(file_type) = FileTypes::default().find(item.kind, ext) else { return Ok(()) };
        match scan(bytes, &file_type.comment) {
            Ok(Scan::Line { line: shipped, .. }) if line.at < shipped.at => {
                Err(Reason::OlderThanShipped { at: line.at, shipped: shipped.at })
            }
            _ => Ok(()),
        }
    }
}

impl From<TextFault> for Reason {
    fn from(fault: TextFault) -> Self {
        match fault {
            TextFault::NotUtf8 { at } => Self::NotUtf8 { at },
            TextFault::Text { unfit, at } => Self::Text { unfit, at },
            TextFault::Unsigned => Self::Unsigned,
            TextFault::Legacy => Self::Legacy,
            TextFault::Malformed { why } => Self::Malformed { why },
            TextFault::Stray { line } => Self::Stray { line },
            TextFault::Moved { says, is } => Self::Moved { says, is },
            TextFault::Altered => Self::Altered,
            TextFault::LoneReturn { at } => Self::LoneReturn { at },
            TextFault::Forged => Self::Forged,
            TextFault::NotYet { at } => Self::NotYet { at },
        }
    }
}

fn unreadable(error: &TrustError) -> Reason {
    let help = error.help().unwrap_or_default();
    match error {
        TrustError::Unreadable { path, why, .. } => {
            Reason::TrustUnreadable { path: path.clone(), why: why.clone(), help }
        }
        other => {
            let (path, why) = ("config/keys".to_owned(), other.to_string());
            Reason::TrustUnreadable { path, why, help }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::{DevMode, admit};
    use crate::base::Timestamp;
    use crate::diagnostic::{Diagnose, Place};
    use crate::id::{Ref, Space};
    use crate::resolve::Found;
    use crate::signature::{KeyPair, sign_bytes};
    use crate::space::FileTypes;
    use crate::trace::Quiet;
    use crate::trust::TrustStore;

    #[test]
    fn an_item_in_the_binary_that_the_example_key_signed_is_refused_unless_it_is_listed() {
        let pem = include_str!("../../keys-example/example.key");
        let example = KeyPair::from_pem(pem).unwrap();
        let other = KeyPair::generate().unwrap();
        let now = Timestamp::from_second(1_800_000_000);
        let item: Ref = "knowledge:rye/nobody-lists-this".parse().unwrap();
        let file_type = FileTypes::default().find(item.kind, "md").unwrap();
        let code = |pair: &KeyPair| {
            let text = b"# A page\n";
            let bytes = sign_bytes(text, &item, "md", &file_type.comment, pair, now).unwrap();
            let place = Place {
                space: Some("system".into()),
                path: "page.md".into(),
                line: None,
                column: None,
                note: None,
            };
            let found = Found {
                item: item.clone(),
                ext: "md".into(),
                file_type: file_type.clone(),
                space: Space::System,
                bundle: None,
                embedded: true,
                path: "/nowhere".into(),
                base: "/".into(),
                place,
                bytes: Cow::Owned(bytes),
                shadowed: Vec::new(),
            };
            let trust = TrustStore::new(None, now);
            let admitted = admit(found, &trust, None, DevMode(true), &Quiet);
            admitted.map_or_else(|refused| refused.code().name().to_owned(), |_| "admitted".into())
        };
        assert_eq!(code(&example), "verify.example_key");
        assert_eq!(code(&other), "verify.untrusted");
    }
}
