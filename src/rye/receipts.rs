//! Receipts: who signs them and where they go, settled before a run; and whose count.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::facade::Rye;
use super::request::Request;
use crate::base::Digest;
use crate::base::staged::AtomicFile;
use crate::base::sync::unpoisoned;
use crate::diagnostic::Diagnose;
use crate::diagnostic::Failure;
use crate::execute::{EXECUTE_TOOL_FAILED, ExecuteError, Outcome, OutputWitness};
use crate::id::{Fingerprint, Kind, Space};
use crate::plan::{Plan, PlanFile};
use crate::registry::Registry;
use crate::report::{Ran, Receipt, ReceiptError, RemoteRecord, Warned};
use crate::verify::{AnyEnvelope, Envelope, KeyError, KeyPair, OwnKeys, PublicKey, TrustStore};

/// A file and the mode that it gets.
pub(crate) type ReceiptPlace = (PathBuf, u32);

/// Everything that can fail before a run has not failed: there is a key, and a file for the
/// receipt.
pub(crate) struct ReceiptWriter {
    pair: KeyPair,
    plan_digest: Digest,
    files: Vec<(AtomicFile, u32)>,
    pub(crate) witness: OutputWitness,
    started_at: jiff::Timestamp,
}

/// The paths of the written receipts of a run, and the error if one was lost.
#[derive(Debug, Default)]
pub(crate) struct WrittenReceipts {
    pub(crate) paths: Vec<PathBuf>,
    pub(crate) lost: Option<ReceiptError>,
}

/// A receipt that is signed, and is written once the report of its run stands in the registry.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DueReceipts {
    item: String,
    /// How the run ended.
    ended: String,
    text: String,
    places: Vec<ReceiptPlace>,
}

/// Where the receipts of a run are kept until its report is written.
#[derive(Debug, Clone, Default)]
pub(crate) struct HeldReceipts(Arc<Mutex<Option<DueReceipts>>>);

impl HeldReceipts {
    fn hold(&self, due: DueReceipts) {
        *unpoisoned(self.0.lock()) = Some(due);
    }

    /// As the registry keeps them.
    pub(crate) fn to_text(&self) -> Option<String> {
        let due = unpoisoned(self.0.lock());
        due.as_ref().and_then(|due| serde_json::to_string(due).ok())
    }
}

impl DueReceipts {
    /// Writes the receipts of a run that are due, whichever process asks, and takes note that they
    /// are written. `None` is that they stand on the disk.
    ///
    /// # Errors
    /// `registry.*`
    pub(crate) fn settle(
        registry: &mut Registry,
        id: &str,
    ) -> Result<Option<ReceiptError>, Failure> {
        let Some(text) = registry.detached().due_receipts(id)? else { return Ok(None) };
        // What another rye wrote down in another form is left to it.
        let Ok(due) = serde_json::from_str::<Self>(&text) else { return Ok(None) };
        let Self { item, ended, text, places } = due;
        for (path, mode) in places {
            let written = AtomicFile::at(&path, mode);
            if let Err(source) = written.and_then(|file| file.finish(text.as_bytes())) {
                return Ok(Some(ReceiptError::Lost { item, ended, path, source }));
            }
        }
        registry.detached().receipts_are_written(id)?;
        Ok(None)
    }
}

/// A receipt whose signature holds, and whose word it is.
#[derive(Debug)]
pub(crate) struct CheckedReceipt {
    pub(crate) key: Fingerprint,
    pub(crate) owner: String,
    pub(crate) receipt: Receipt,
}

/// The run that a receipt is checked against.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ExpectedRun<'a> {
    pub(crate) plan: Option<&'a PlanFile>,
    pub(crate) run_id: Option<&'a str>,
    /// The keys of nodes that the person named.
    pub(crate) nodes: &'a [PublicKey],
}

/// Receipts: where they go, who signs them, and whose count.
#[derive(Clone, Copy)]
pub(crate) struct Receipts<'a> {
    pub(crate) rye: &'a Rye,
}

impl Rye {
    /// Receipts: where they go, who signs them, and whose count.
    pub(crate) fn receipts(&self) -> Receipts<'_> {
        Receipts { rye: self }
    }
}

impl Receipts<'_> {
    /// Where receipts of this run go: what was asked for, and what your policy asks for.
    ///
    /// # Errors
    /// `verify.trust_unreadable`
    pub(crate) fn places(
        self,
        request: &Request,
        trust: &TrustStore<'_>,
        run_id: &str,
    ) -> Result<Vec<ReceiptPlace>, Failure> {
        if request.dry_run {
            return Ok(Vec::new());
        }
        let mut places: Vec<ReceiptPlace> =
            request.receipt.iter().map(|path| (path.clone(), 0o644)).collect();
        if trust.wants_receipts()?
            && let Some(user) = self.rye.spaces.get(Space::User)
        {
            places.push((user.base().join(format!(".ai/state/receipts/{run_id}.json")), 0o600));
        }
        Ok(places)
    }

    /// Settles who signs and takes the files; `None` where no receipt is wanted.
    ///
    /// # Errors
    /// `key.*`, `receipt.revoked`, `receipt.io`, `plan.bad_config`: nothing has been run.
    pub(crate) fn writer(
        self,
        places: Vec<ReceiptPlace>,
        plan: &Plan,
        trust: &TrustStore<'_>,
    ) -> Result<Option<ReceiptWriter>, Failure> {
        if places.is_empty() {
            return Ok(None);
        }
        let user = self.rye.spaces.get(Space::User).ok_or(KeyError::Missing)?;
        let pair = OwnKeys::new(user).pair()?;
        if trust.own_is_revoked() {
            return Err(
                ReceiptError::Revoked { key: pair.public().fingerprint(), own: true }.into()
            );
        }
        let files = self.open(places)?;
        let started_at = jiff::Timestamp::now();
        let plan_digest = plan.digest()?;
        Ok(Some(ReceiptWriter {
            pair,
            plan_digest,
            files,
            witness: OutputWitness::default(),
            started_at,
        }))
    }

    /// Takes the places of receipts: each can be written.
    ///
    /// # Errors
    /// `receipt.io`, `space.*`
    pub(crate) fn open(self, places: Vec<ReceiptPlace>) -> Result<Vec<(AtomicFile, u32)>, Failure> {
        let state = self.rye.spaces.user()?.base().join(".ai/state/receipts");
        let files = places.into_iter().map(|(path, mode)| {
            let made = match path.starts_with(&state) {
                true => DirBuilder::new().recursive(true).mode(0o700).create(&state),
                false => Ok(()),
            };
            made.and_then(|()| AtomicFile::at(&path, mode))
                .map(|file| (file, mode))
                .map_err(|source| ReceiptError::NoPlace { path, source })
        });
        Ok(files.collect::<Result<_, _>>()?)
    }

    /// Checks a receipt: its form, whose it is, that they signed it, and what it is of.
    ///
    /// # Errors
    /// `receipt.*`
    pub(crate) fn check(
        self,
        text: &[u8],
        expected: ExpectedRun<'_>,
    ) -> Result<CheckedReceipt, Failure> {
        let envelope = AnyEnvelope::read(text).map_err(|why| ReceiptError::Malformed { why })?;
        let (key, owner, payload) = self.signer(&envelope, &[])?;
        let receipt = Receipt::read(payload)?;
        let wanted = if receipt.record().remote.is_some() { 2 } else { 1 };
        if envelope.count() != wanted {
            let why = format!("it has {} signatures, not {wanted}", envelope.count());
            return Err(ReceiptError::Malformed { why }.into());
        }
        if let Some(remote) = &receipt.record().remote {
            for one in [&remote.node, &remote.caller] {
                let key = one.parse().map_err(|_| ReceiptError::Malformed {
                    why: "it does not name the keys of the node and the caller".into(),
                })?;
                let is_revoked = self.rye.trust().is_revoked(key)?;
                let mut nodes = expected.nodes.iter().filter(|_| one == &remote.node);
                let node = nodes.find(|node| node.fingerprint() == key);
                let node = node.filter(|_| !is_revoked);
                if node.is_none_or(|node| envelope.payload(node).is_none()) {
                    self.signer(&envelope, &[key])?;
                }
            }
        }
        let of = receipt.record().plan.sha256;
        if let Some(wanted) = expected.plan.map(PlanFile::digest).filter(|wanted| *wanted != of) {
            return Err(ReceiptError::OtherPlan { of, wanted }.into());
        }
        let of = &receipt.record().run_id;
        if let Some(wanted) = expected.run_id.filter(|wanted| wanted != of) {
            let (of, wanted) = (of.clone(), wanted.to_owned());
            return Err(ReceiptError::OtherRun { of, wanted }.into());
        }
        Ok(CheckedReceipt { key, owner, receipt })
    }
}

impl Receipts<'_> {
    /// The receipt of a run of this node, signed for its caller: `remote` names the run by the
    /// caller's id, and the files that it made.
    ///
    /// # Errors
    /// `receipt.*`, `key.*`
    pub(crate) fn for_caller(self, path: &Path, remote: RemoteRecord) -> Result<Value, Failure> {
        let malformed = |why: String| ReceiptError::Malformed { why };
        let io = |source| ReceiptError::NoPlace { path: path.to_owned(), source };
        let pair = OwnKeys::new(self.rye.spaces.user()?).pair()?;
        let own = Envelope::read(&std::fs::read(path).map_err(io)?).map_err(malformed)?;
        let payload = own.payload(&pair.public());
        let payload = payload.ok_or_else(|| malformed("this node did not sign it".into()))?;
        let payload = Receipt::read(payload)?.for_caller(remote).to_payload()?;
        let text = Envelope::seal(&pair, payload).to_text();
        AtomicFile::at(path, 0o600).and_then(|file| file.finish(text.as_bytes())).map_err(io)?;
        Ok(crate::parse::kept_json(text.as_bytes()).unwrap_or_default())
    }

    /// Signs the receipt of a node too, if it is of this run with these files, and writes it to
    /// these places.
    ///
    /// # Errors
    /// `receipt.*`, `key.*`
    pub(crate) fn countersign(
        self,
        receipt: &Value,
        places: &[ReceiptPlace],
        node: &PublicKey,
        remote: &RemoteRecord,
    ) -> Result<Vec<PathBuf>, Failure> {
        let malformed = |why: &str| ReceiptError::Malformed { why: why.into() };
        let pair = OwnKeys::new(self.rye.spaces.user()?).pair()?;
        let envelope = AnyEnvelope::read(receipt.to_string().as_bytes());
        let envelope = envelope.map_err(|why| ReceiptError::Malformed { why })?;
        let payload =
            envelope.payload(node).ok_or_else(|| malformed("the node did not sign it"))?;
        if Receipt::read(payload)?.record().remote.as_ref() != Some(remote) {
            return Err(malformed("it is of another run or other files").into());
        }
        let text = envelope.countersigned(&pair);
        let mut written = Vec::new();
        for (file, _) in self.open(places.to_vec())? {
            let path = file.path().to_owned();
            let io = |source| ReceiptError::NoPlace { path: path.clone(), source };
            file.finish(text.as_bytes()).map_err(io)?;
            written.push(path);
        }
        Ok(written)
    }

    /// Who signed an envelope, and what: the first key whose word counts, of `wanted` or of those
    /// that may have.
    ///
    /// # Errors
    /// `receipt.*`, of the first key that was tried.
    fn signer<'e>(
        self,
        envelope: &'e AnyEnvelope,
        wanted: &[Fingerprint],
    ) -> Result<(Fingerprint, String, &'e [u8]), Failure> {
        let trust = self.rye.trust();
        let own = trust.own().ok().flatten().map(PublicKey::fingerprint);
        // One that names no key is tried with each that is known.
        let listed = self.rye.items().list(Space::User, Kind::Config).unwrap_or_default();
        let listed = listed.iter().filter(|entry| entry.item.id.folder() == "keys/trusted");
        let listed = listed.filter_map(|entry| entry.item.id.name().parse().ok());
        let known: Vec<Fingerprint> = own.into_iter().chain(listed).collect();
        let mut failed = None;
        let keys = if wanted.is_empty() { envelope.keys(&known) } else { wanted.to_vec() };
        for key in keys {
            let error = match trust.receipt_key(key, self.rye.spaces.project_identity()) {
                Ok(believed) => match envelope.payload(&believed.key) {
                    Some(payload) => return Ok((key, believed.owner, payload)),
                    None => ReceiptError::Forged { key, owner: believed.owner },
                },
                Err(why) => ReceiptError::doubted(key, why, own == Some(key)),
            };
            failed = failed.or(Some(error));
        }
        let unknown =
            || ReceiptError::Malformed { why: "it names no key, and none is known".into() };
        Err(failed.unwrap_or_else(unknown).into())
    }
}

impl ReceiptWriter {
    /// Signs what happened, and writes it; if it is held, the holder writes it later.
    pub(crate) fn write(
        self,
        plan: &Plan,
        run_id: &str,
        result: &Result<Outcome, ExecuteError>,
        warnings: &[Warned],
        held: Option<&HeldReceipts>,
    ) -> WrittenReceipts {
        let ended = match result {
            Ok(Outcome { failure: None, pending: Some(_), .. }) => "pending",
            Ok(Outcome { failure: None, .. }) => "success",
            Ok(_) => EXECUTE_TOOL_FAILED.name(),
            Err(error) => error.code().name(),
        };
        let (plan_digest, witness, started_at) = (self.plan_digest, &self.witness, self.started_at);
        // A clock that was set back must not make a receipt that contradicts itself.
        let ended_at = jiff::Timestamp::now().max(started_at);
        let ran = Ran { run_id, plan_digest, started_at, ended_at, ended, witness, warnings };
        let mut written = WrittenReceipts::default();
        let payload = match Receipt::new(plan, &ran).to_payload() {
            Ok(payload) => payload,
            Err(error) => return WrittenReceipts { lost: Some(error), ..written },
        };
        let text = Envelope::seal(&self.pair, payload).to_text();
        if let Some(held) = held {
            let places = self.files.iter().map(|(file, mode)| (file.path().to_owned(), *mode));
            let places: Vec<ReceiptPlace> = places.collect();
            written.paths = places.iter().map(|(path, _)| path.clone()).collect();
            let (item, ended) = (plan.item().to_string(), ended.to_owned());
            held.hold(DueReceipts { item, ended, text, places });
            return written;
        }
        for (file, _) in self.files {
            let path = file.path().to_owned();
            match file.finish(text.as_bytes()) {
                Ok(()) => written.paths.push(path),
                Err(source) => {
                    let (item, ended) = (plan.item().to_string(), ended.to_owned());
                    written.lost = Some(ReceiptError::Lost { item, ended, path, source });
                }
            }
        }
        written
    }
}
