//! Found → Source: the checks of core 3.6, in that order, each once.

use std::ops::Range;

use super::error::{Claim, Reason, Refused, TrustError};
use super::key::EXAMPLE;
use super::sig_line::{Scan, SigFault, SigLine, scan};
use super::source::{Signer, Source};
use super::trust_store::{Belief, TrustStore};
use crate::base::Digest;
use crate::base::limits::CLOCK_SKEW_SECONDS;
use crate::base::text::{lone_return, position, unfit};
use crate::diag::Diagnose;
use crate::id::{Fingerprint, Kind, Space};
use crate::resolve::Found;
use crate::space::ProjectIdentity;
use crate::trace::{Event, Sink, Warning};

/// Whether `RYE_DEV_MODE` is exactly `1` (core 5.1).
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
    let mut judge =
        Judge { found: &found, trust, project, dev: false, claim: None, warnings: vec![] };
    judge.dev = dev.0 && judge.dev_mode_applies();
    let judged = judge.judge();
    let Judge { claim, warnings, .. } = judge;
    let judged = judged.map_err(|reason| refused(&found, claim, reason))?;
    let Believed { owner, dev_for } = judged.believed;
    let signer = judged.line.map(|line| Signer { key: line.key, owner, at: line.at, dev_for });
    sink.record(Event::VerifyIntegrity {
        item_id: found.item.clone(),
        verified: warnings.is_empty(),
        key_fp: signer.as_ref().map(|s| s.key),
        owner: signer.as_ref().and_then(|s| s.owner.clone()),
        space: found.space,
        warnings: warnings.clone(),
    });
    Ok(Source::new(found, judged.text, judged.range, judged.digest, signer, warnings))
}

fn refused(found: &Found, claim: Option<Claim>, reason: Reason) -> Box<Refused> {
    let number = if found.bytes.starts_with(b"#!") { 2 } else { 1 };
    let place = found.place.clone().line(number);
    let item = found.item.clone();
    Box::new(Refused { item, place, claim, reason, baseline: false })
}

/// The checks of one file.
struct Judge<'a> {
    found: &'a Found,
    trust: &'a TrustStore<'a>,
    project: Option<&'a ProjectIdentity>,
    dev: bool,
    claim: Option<Claim>,
    warnings: Vec<Warning>,
}

/// What came out.
struct Judged {
    text: String,
    range: Range<usize>,
    digest: Digest,
    line: Option<Box<SigLine>>,
    believed: Believed,
}

/// Whose word a signature is.
#[derive(Default)]
struct Believed {
    owner: Option<String>,
    /// The own key that a dev key signs for.
    dev_for: Option<Fingerprint>,
}

impl Judge<'_> {
    /// Dev mode is for work in hand: items of accepted projects and of the user space, never config.
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

    /// Refuses, or under dev mode warns.
    fn downgrade(&mut self, reason: Reason) -> Result<(), Reason> {
        if !self.dev {
            return Err(reason);
        }
        let refused = refused(self.found, self.claim.clone(), reason);
        self.warnings.push(Warning { code: refused.reason.code(), message: refused.to_string() });
        Ok(())
    }

    fn judge(&mut self) -> Result<Judged, Reason> {
        let bytes = &self.found.bytes;
        let text = checked_text(bytes)?;
        let (line, range) = match scan(bytes, &self.found.file_type.comment) {
            Ok(Scan::Line { line, range }) => (line, range),
            Ok(Scan::None) => return self.unsigned(text, Reason::Unsigned),
            Err(SigFault::Legacy { .. }) => return self.unsigned(text, Reason::Legacy),
            Err(SigFault::Malformed { why, .. }) => return Err(Reason::Malformed { why }),
            Err(SigFault::Stray { line }) => return Err(Reason::Stray { line }),
        };
        let owner = self.trust.owner(line.key);
        self.claim = Some(Claim { key: line.key, owner, at: line.at });
        if line.item != self.found.item || line.ext != self.found.ext {
            let says = format!("{}.{}", line.item, line.ext);
            let is = format!("{}.{}", self.found.item, self.found.ext);
            self.downgrade(Reason::Moved { says, is })?;
        }
        let digest = Digest::of_parts(&[&bytes[..range.start], &bytes[range.end..]]);
        if digest != line.sha256 {
            self.downgrade(Reason::Altered)?;
        }
        // Behind the digest: newlines that an editor damaged are best reported as a change.
        self.no_lone_return()?;
        let believed = self.signer(&line)?;
        Ok(Judged { text: text.to_owned(), range, digest, line: Some(line), believed })
    }

    /// An unsigned or older file ends the list: there is no key to judge.
    fn unsigned(&mut self, text: &str, reason: Reason) -> Result<Judged, Reason> {
        self.downgrade(reason)?;
        self.no_lone_return()?;
        let digest = Digest::of(text.as_bytes());
        let believed = Believed::default();
        Ok(Judged { text: text.to_owned(), range: 0..0, digest, line: None, believed })
    }

    fn no_lone_return(&self) -> Result<(), Reason> {
        match lone_return(&self.found.bytes) {
            Some(at) => Err(Reason::LoneReturn { at: position(&self.found.bytes, at) }),
            None => Ok(()),
        }
    }

    /// Project, key, scope, time, revocation, signature.
    fn signer(&mut self, line: &SigLine) -> Result<Believed, Reason> {
        if self.found.space == Space::Project && !self.accepted()? {
            return Err(Reason::ProjectNotAccepted);
        }
        let belief = self.trust.belief(line.key).map_err(|e| unreadable(&e))?;
        if line.key == EXAMPLE && !self.trust.lets_in_example() {
            return Err(Reason::ExampleKey);
        }
        let (key, believed, not_after) = match belief {
            Belief::Key(candidate) => {
                let believed = Believed { owner: Some(candidate.owner), dev_for: None };
                (candidate.key, believed, candidate.not_after)
            }
            // Whatever else is the matter with it.
            Belief::Dev(_) if self.trust.refuses_dev_keys() => return Err(Reason::DevSignature),
            Belief::Dev(delegate) => {
                let owner = self.trust.owner(line.key);
                let believed = Believed { owner, dev_for: Some(delegate.by) };
                (delegate.key, believed, Some(delegate.not_after))
            }
            Belief::Weak => return Err(Reason::WeakKey),
            Belief::Unknown => {
                self.downgrade(Reason::Untrusted)?;
                self.not_revoked(line)?;
                self.not_from_the_future(line)?;
                return Ok(Believed::default());
            }
        };
        let (item, space, embedded) = (&self.found.item, self.found.space, self.found.embedded);
        let scope = self.trust.out_of_scope(line.key, item, space, embedded, self.project);
        if let Some(why) = scope.map_err(|e| unreadable(&e))? {
            return Err(Reason::OutOfScope { why: why.into() });
        }
        if let Some(at) = not_after
            && self.trust.now() > at
        {
            return Err(match believed.dev_for {
                Some(_) => Reason::DevExpired { at },
                None => Reason::Expired { at },
            });
        }
        self.not_revoked(line)?;
        if !key.verifies(line.statement.as_bytes(), &line.sig) {
            return Err(Reason::Forged);
        }
        self.not_from_the_future(line)?;
        Ok(believed)
    }

    fn not_revoked(&self, line: &SigLine) -> Result<(), Reason> {
        match self.trust.is_revoked(line.key) {
            Ok(false) => Ok(()),
            Ok(true) => Err(Reason::Revoked),
            Err(error) => Err(unreadable(&error)),
        }
    }

    fn not_from_the_future(&self, line: &SigLine) -> Result<(), Reason> {
        let latest = self.trust.now().as_second() + CLOCK_SKEW_SECONDS;
        if line.at.as_second() > latest {
            return Err(Reason::NotYet { at: line.at });
        }
        Ok(())
    }
}

/// The bytes as text, without anything that a reviewer could not see (core 1.5). A lone carriage
/// return is judged later.
pub(super) fn checked_text(bytes: &[u8]) -> Result<&str, Reason> {
    let text = std::str::from_utf8(bytes)
        .map_err(|e| Reason::NotUtf8 { at: position(bytes, e.valid_up_to()) })?;
    match unfit(text) {
        Some(unfit) => Err(Reason::Text { unfit, at: position(bytes, unfit.at) }),
        None => Ok(text),
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
