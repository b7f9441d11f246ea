//! Signing files: first all of them in memory, then, once a person agreed to just that, on disk
//! (core 3.8, 4.6).
//!
//! In:  files as they were read.
//! Out: a row for each. [`Signing::stage_all`] writes nothing, and what it says is what
//! [`Signing::write_all`] writes: the digest that a person confirms is the one that is signed, of
//! the very bytes.

use std::borrow::Cow;

use super::call_policy::{CallPolicy, LockMode};
use super::listed_files::checked;
use super::load::Loader;
use super::signing::{Signing, Unwritten};
use crate::base::Digest;
use crate::base::parallel::parallel;
use crate::diagnostic::Failure;
use crate::diagnostic::{Code, Diagnose, Place};
use crate::id::{Fingerprint, Ref, Space};
use crate::parse::Finding;
use crate::resolve::Found;
use crate::signature::has_no_line;
use crate::space::baseline::HeldBack;
use crate::trace::Quiet;
use crate::verify::{
    DevMode, KeyPair, PartFinding, Scan, SignError, SignWith, Source, TrustStore, VERIFY_ALTERED,
    VERIFY_DEPENDENCY, VERIFY_DEV_SIGNATURE, VERIFY_UNTRUSTED, admit, digest_to_sign, scan,
};

/// A file that is to be signed.
pub(crate) struct ToSign {
    /// The item, with the bytes that are signed.
    pub(crate) found: Found,
    /// The bytes on disk, which are replaced as long as they are these.
    pub(crate) on_disk: Cow<'static, [u8]>,
}

impl From<Found> for ToSign {
    fn from(found: Found) -> Self {
        Self { on_disk: found.bytes.clone(), found }
    }
}

/// Which of the files are signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SignScope {
    /// Files without a valid signature of yours: your own and unsigned ones. With `others` also
    /// those that another person signed, unless that signature is good.
    Open { others: bool },
    /// All of them: each was named.
    Named,
    /// All of them, and of each these very bytes and nothing that was filled in.
    Exactly,
}

/// Another person whose signature a file carries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OtherSigner {
    pub(crate) key: Fingerprint,
    /// `None` if it is not known.
    pub(crate) owner: Option<String>,
}

/// Why a file is left as it is, although it carries no valid signature of yours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NotSigned {
    /// Another person signed it, and it is let in as it is.
    Good(OtherSigner),
    /// It, or a file that it lists, was changed since another person signed it.
    Altered(OtherSigner),
    /// Another person signed it, and it is refused for another reason, such as a key that you do
    /// not trust.
    Others(OtherSigner),
    /// Its signature line is damaged, or of an older form: it cannot be said whose it is.
    Unclear,
    /// `rye dev` showed it, and no person agreed.
    HeldBack,
}

/// The result for one item.
#[derive(Debug)]
pub(crate) enum Signed {
    /// It was signed, or under `--check` would be; the digest is what the signature covers.
    Changed {
        digest: Digest,
        was: Option<Code>,
        /// Whose signature this one takes the place of.
        replaces: Option<OtherSigner>,
        warnings: Vec<Finding>,
        /// Listed files that are not as the header said before.
        files: Vec<PartFinding>,
    },
    /// It carries your valid signature already.
    UpToDate,
    NotSigned(NotSigned),
    Failed(Failure),
}

/// One row of a batch.
#[derive(Debug)]
pub(crate) struct SignReport {
    pub(crate) item: Ref,
    pub(crate) place: Place,
    pub(crate) signed: Signed,
}

/// One row of a batch that is not written yet.
pub(crate) struct StagedRow {
    pub(crate) item: Ref,
    pub(crate) place: Place,
    step: Step,
}

enum Step {
    /// Nothing is to be written.
    Done(Signed),
    Write(Box<Ready>),
}

/// A file that is signed in memory, and what is said of it once it is written.
struct Ready {
    unwritten: Unwritten,
    on_disk: Cow<'static, [u8]>,
    was: Option<Code>,
    replaces: Option<OtherSigner>,
    /// It differs from what its signature line says, or from the version that was verified last.
    is_change: bool,
}

impl StagedRow {
    /// The digest that the signature would cover; `None` if nothing is to be written.
    pub(crate) fn digest(&self) -> Option<Digest> {
        match &self.step {
            Step::Write(ready) => Some(ready.unwritten.source().digest()),
            Step::Done(_) => None,
        }
    }

    /// Returns true if the file is another one than was signed or verified last: one that still
    /// carries a signature line, or, such as after a merge, one without.
    pub(crate) fn is_change(&self) -> bool {
        matches!(&self.step, Step::Write(ready) if ready.is_change)
    }

    /// The row as it would be, where only that is asked; what carries your valid signature is left.
    pub(crate) fn unwritten(self) -> SignReport {
        let Self { item, place, step } = self;
        let signed = match step {
            Step::Done(signed) => signed,
            Step::Write(ready) if ready.was.is_none() => Signed::UpToDate,
            Step::Write(ready) => ready.signed(),
        };
        SignReport { item, place, signed }
    }
}

impl Ready {
    fn signed(self) -> Signed {
        let Self { unwritten, was, replaces, .. } = self;
        let digest = unwritten.source().digest();
        let Unwritten { findings: warnings, files, .. } = unwritten;
        Signed::Changed { digest, was, replaces, warnings, files }
    }
}

/// Whose a file is by its signature line, good or not.
enum Whose {
    Nobodys,
    Yours,
    Others(OtherSigner),
    Unclear,
}

/// Returns true if the code says that something was changed since it was signed.
fn is_altered(code: Code) -> bool {
    [VERIFY_ALTERED, VERIFY_DEPENDENCY].contains(&code)
}

impl Signing<'_> {
    /// Signs files in memory, on all cores; nothing is written. `progress` is called after each.
    pub(crate) fn stage_all(
        self,
        files: Vec<ToSign>,
        pair: &KeyPair,
        scope: SignScope,
        progress: &(dyn Fn() + Sync),
    ) -> Vec<StagedRow> {
        let policy = CallPolicy::new(self.rye, LockMode::Listed);
        let loader = policy.loader(&Quiet);
        parallel(files, |file| {
            let (item, place) = (file.found.item.clone(), file.found.place.clone());
            let step = self.stage_one(file, pair, scope, loader);
            progress();
            StagedRow { item, place, step: step.unwrap_or_else(|f| Step::Done(Signed::Failed(f))) }
        })
    }

    fn stage_one(
        self,
        file: ToSign,
        pair: &KeyPair,
        scope: SignScope,
        loader: Loader<'_>,
    ) -> Result<Step, Failure> {
        let ToSign { found, on_disk } = file;
        let was = self.judge(&found, Some(pair.public().fingerprint()), loader.trust);
        let whose = whose(&found, pair, loader.trust);
        if let SignScope::Open { others } = scope {
            if was.is_none() {
                return Ok(Step::Done(Signed::UpToDate));
            }
            let left = self.left(&found, &whose, loader.trust);
            let is_taken =
                others && !matches!(left, Some(NotSigned::Good(_) | NotSigned::HeldBack));
            let left = match left {
                Some(_) if is_taken => self.is_held_back(&found).then_some(NotSigned::HeldBack),
                left => left,
            };
            if let Some(why) = left {
                return Ok(Step::Done(Signed::NotSigned(why)));
            }
        }
        let last = || loader.versions(&found).next();
        let is_change = was.is_some_and(is_altered)
            || was.is_some() && last().is_some_and(|last| last.digest() != digest_to_sign(&found));
        let replaces = match whose {
            Whose::Others(other) => Some(other),
            _ => None,
        };
        let given = digest_to_sign(&found);
        let is_unsigned = has_no_line(&found.bytes, &found.file_type.comment);
        let lister = match scope == SignScope::Named && is_unsigned {
            true => loader.policy.tool_that_lists(&found.entry()),
            false => None,
        };
        let mut unwritten = self.in_memory(found, SignWith::Own(pair), loader)?;
        if let Some(tool) = lister {
            let told = format!(
                "it is a file of `{tool}` and an item of its own from now on; its signature line \
                 changes it, so run `rye sign {tool}` too"
            );
            unwritten.findings.push(Finding::warning(told));
        }
        if scope == SignScope::Exactly && unwritten.source().digest() != given {
            return Err(changed_meanwhile(unwritten.source().place()));
        }
        Ok(Step::Write(Box::new(Ready { unwritten, on_disk, was, replaces, is_change })))
    }

    /// The source that the signature of a staged file would cover: the file as it was staged, and
    /// the files that it lists, by the digests in its staged header. `None` where nothing is to be
    /// written.
    ///
    /// # Errors
    /// `sign.io` where one of them is another file by now.
    pub(crate) fn staged_source(self, row: &StagedRow) -> Result<Option<Source>, Failure> {
        let Step::Write(ready) = &row.step else { return Ok(None) };
        let source = checked(ready.unwritten.source().clone(), &self.rye.spaces);
        source.map(Some).map_err(|_| changed_meanwhile(row.place.clone()))
    }

    /// Writes what was staged, on all cores; each is reported. A file that is another by now, or
    /// one that lists such a file, is left as it is and refused.
    pub(crate) fn write_all(
        self,
        rows: Vec<StagedRow>,
        progress: &(dyn Fn() + Sync),
    ) -> Vec<SignReport> {
        let policy = CallPolicy::new(self.rye, LockMode::Listed);
        let loader = policy.loader(&Quiet);
        parallel(rows, |row| {
            let StagedRow { item, place, step } = row;
            let signed = match step {
                Step::Done(signed) => signed,
                Step::Write(ready) => match self.write(&ready.unwritten, &ready.on_disk, loader) {
                    Ok(true) => ready.signed(),
                    Ok(false) => Signed::Failed(changed_meanwhile(place.clone())),
                    Err(failure) => Signed::Failed(failure),
                },
            };
            progress();
            SignReport { item, place, signed }
        })
    }

    /// Writes one staged file over these bytes; false if it, or one that it lists, is another by
    /// now.
    ///
    /// # Errors
    /// `sign.io`
    pub(super) fn write(
        self,
        unwritten: &Unwritten,
        on_disk: &[u8],
        loader: Loader<'_>,
    ) -> Result<bool, Failure> {
        // With the files that its header lists, as they were when it was staged.
        let Ok(source) = checked(unwritten.source().clone(), &self.rye.spaces) else {
            return Ok(false);
        };
        if !unwritten.staged.write_over(on_disk)? {
            return Ok(false);
        }
        if let Some(held) = self.held_back(source.space()) {
            held.remove(source.item(), source.ext());
        }
        loader.remember(std::iter::once(&source), false);
        Ok(true)
    }

    /// The files that `rye dev` holds back in a space; it watches projects alone.
    pub(crate) fn held_back(self, space: Space) -> Option<HeldBack> {
        let user = self.rye.spaces.get(Space::User).filter(|_| space == Space::Project)?;
        Some(HeldBack::new(user.base(), self.rye.spaces.project_path()))
    }

    fn is_held_back(self, found: &Found) -> bool {
        self.held_back(found.space).is_some_and(|held| held.holds(&found.item, &found.ext))
    }

    /// Why a glob leaves this file as it is; `None` if it may be signed with the rest.
    #[cfg(feature = "mcp")]
    pub(crate) fn passed_over(self, found: &Found, pair: &KeyPair) -> Option<NotSigned> {
        let trust = self.rye.trust();
        self.judge(found, Some(pair.public().fingerprint()), &trust)?;
        self.left(found, &whose(found, pair, &trust), &trust)
    }

    /// Why a batch leaves a file as it is that carries no valid signature of yours.
    fn left(self, found: &Found, whose: &Whose, trust: &TrustStore<'_>) -> Option<NotSigned> {
        match whose {
            Whose::Others(other) => {
                let identity = self.rye.spaces.project_identity();
                let admitted = admit(found.clone(), trust, identity, DevMode(false), &Quiet);
                let judged = admitted.and_then(|source| checked(source, &self.rye.spaces));
                Some(match judged.map_err(|refused| refused.reason.code()) {
                    Ok(_) => NotSigned::Good(other.clone()),
                    Err(code) if is_altered(code) => NotSigned::Altered(other.clone()),
                    Err(_) => NotSigned::Others(other.clone()),
                })
            }
            Whose::Unclear => Some(NotSigned::Unclear),
            Whose::Yours | Whose::Nobodys => {
                self.is_held_back(found).then_some(NotSigned::HeldBack)
            }
        }
    }

    /// `None` if the file carries the valid signature of your `own` key; else the code of what is
    /// the matter.
    pub(super) fn judge(
        self,
        found: &Found,
        own: Option<Fingerprint>,
        trust: &TrustStore<'_>,
    ) -> Option<Code> {
        let identity = self.rye.spaces.project_identity();
        match admit(found.clone(), trust, identity, DevMode(false), &Quiet) {
            Ok(source) => match source.signer() {
                Some(signer) if Some(signer.key) == own => {
                    checked(source, &self.rye.spaces).err().map(|refused| refused.code())
                }
                Some(signer) if signer.dev_for.is_some() => Some(VERIFY_DEV_SIGNATURE),
                _ => Some(VERIFY_UNTRUSTED),
            },
            Err(refused) => Some(refused.reason.code()),
        }
    }
}

fn whose(found: &Found, pair: &KeyPair, trust: &TrustStore<'_>) -> Whose {
    match scan(&found.bytes, &found.file_type.comment) {
        Ok(Scan::None) => Whose::Nobodys,
        Ok(Scan::Line { line, .. }) => {
            match line.key == pair.public().fingerprint() || trust.is_yours(line.key) {
                true => Whose::Yours,
                false => Whose::Others(OtherSigner { key: line.key, owner: trust.owner(line.key) }),
            }
        }
        Err(_) => Whose::Unclear,
    }
}

/// The file is not what it was when it was read, or one that it lists is not.
fn changed_meanwhile(place: Place) -> Failure {
    let source = std::io::Error::other("it, or a file that it lists, was changed in the meantime");
    SignError::Io { place, source }.into()
}
