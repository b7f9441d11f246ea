//! A plan as data (core 9.1): the one source of `rye plan`, of a dry run's `plan` and of the
//! digest.
//!
//! Inside is what decides what runs. Not inside: the run's name, times, values of the environment,
//! secrets, the private folder's path; so the same question has the same answer, byte by byte.

use std::path::Path;

use serde_json::{Value, json};

use crate::base::{Digest, Timestamp, canon};
use crate::chain::Link;
use crate::id::{Fingerprint, Ref, Space};
use crate::plan::act::Act;
use crate::plan::context::PlanContext;
use crate::plan::error::PlanError;
use crate::plan::machine::Survey;
use crate::plan::plan::Plan;
use crate::plan::process::Process;
use crate::plan::tree::Pinned;
use crate::verify::Source;

/// The format that a plan file names.
pub(in crate::plan) const FORMAT: &str = "rye/plan/v1";

/// One link or dependency as a plan, and the receipt of its run, name it.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub(crate) struct PlannedItem {
    pub(crate) item: Ref,
    /// SHA-256 of the file without its signature line.
    pub(crate) sha256: Digest,
    /// `None` where dev mode let an unsigned file through.
    pub(crate) signer: Option<Fingerprint>,
    pub(crate) signed_at: Option<Timestamp>,
    pub(crate) version: Option<String>,
    pub(crate) space: Space,
}

impl PlannedItem {
    pub(in crate::plan) fn link(link: &Link) -> Self {
        Self::new(&link.source, link.tool.version.clone())
    }

    fn new(source: &Source, version: Option<String>) -> Self {
        let signer = source.signer();
        Self {
            item: source.item().clone(),
            sha256: source.digest(),
            signer: signer.map(|s| s.key),
            signed_at: signer.map(|s| s.at),
            version,
            space: source.space(),
        }
    }
}

/// The digests of the content of programs, where known; a file may be executable and not readable.
pub(in crate::plan) struct Content {
    interpreter: Option<Digest>,
    /// The program that is started, if that is another one.
    command: Option<Digest>,
}

impl Content {
    /// Reads the programs, where a plan is written down or a receipt is asked for.
    pub(in crate::plan) fn read(
        act: &Act,
        survey: &Survey,
        machine: &PlanContext<'_>,
    ) -> Option<Self> {
        if !machine.for_record {
            return None;
        }
        let digest = |path: &Path| machine.host.digest_file(path).ok();
        let interpreter = survey.program();
        let started = act.process().and_then(Process::found);
        let other = started.filter(|path| interpreter.is_none_or(|known| known.path != **path));
        Some(Self {
            interpreter: interpreter.and_then(|known| digest(known.look.real())),
            command: other.and_then(digest),
        })
    }
}

/// A program for the record: by its digest; one that may be run and not read by what the file
/// system says of it, which is all that is known.
fn by_content(mut program: Value, digest: Option<Digest>) -> Value {
    if let Value::Object(map) = &mut program {
        if digest.is_some() {
            map.retain(|key, _| !["device", "inode", "size", "ctime_ns"].contains(&key.as_str()));
        }
        map.insert("sha256".into(), json!(digest));
    }
    program
}

impl Plan {
    /// The plan as data.
    pub(crate) fn to_json(&self) -> Value {
        self.document(self.content.as_ref())
    }

    /// As [`Self::to_json`], for a plan that is not written down.
    pub(in crate::plan) fn to_json_without_content(&self) -> Value {
        self.document(None)
    }

    /// A key is written once, here or in the act's own part.
    fn document(&self, content: Option<&Content>) -> Value {
        let mut out = self.act.document(&self.context);
        let rows = [
            ("format", json!(FORMAT)),
            ("item", json!(self.item())),
            ("digests", json!(self.links())),
            ("dependencies", json!(self.planned_dependencies())),
            ("files", self.files(content.is_some())),
            ("interpreter", self.program(content)),
            ("command_sha256", json!(content.and_then(|it| it.command))),
            ("external", self.survey.external_json()),
            ("timeout_ms", json!(u64::try_from(self.timeout().as_millis()).unwrap_or(u64::MAX))),
            ("sandbox", self.sandbox()),
            ("params_sha256", json!(self.params_digest())),
            ("config_sha256", json!(self.config)),
        ];
        out.extend(rows.map(|(key, value)| (key.to_owned(), value)));
        Value::Object(out)
    }

    /// The program: for the record by its content, else by what the file system says of the file.
    pub(crate) fn interpreter(&self) -> Value {
        self.program(self.content.as_ref())
    }

    fn program(&self, content: Option<&Content>) -> Value {
        let program = self.survey.program_json();
        match content {
            Some(content) => by_content(program, content.interpreter),
            None => program,
        }
    }

    /// The items that were verified beside the links; a plan for the record names each once, in a
    /// stable order.
    pub(crate) fn planned_dependencies(&self) -> Vec<PlannedItem> {
        let all = self.dependencies().iter();
        let mut all: Vec<_> = all.map(|source| PlannedItem::new(source, None)).collect();
        all.sort_by(|a, b| (&a.item, a.space).cmp(&(&b.item, b.space)));
        all.dedup();
        all
    }

    /// The files of the private folder with their digests; by their names alone where nothing is
    /// written down, since the digests of the links cover them.
    fn files(&self, with_digests: bool) -> Value {
        let digest = |file: &Pinned| with_digests.then(|| Digest::of(&file.bytes));
        self.pinned().iter().map(|file| (file.path.clone(), json!(digest(file)))).collect()
    }

    /// The digest of the one text of the parameters that the caller gave.
    pub(crate) fn params_digest(&self) -> Digest {
        Digest::of(self.params.text().as_bytes())
    }

    /// The sandbox that the run is held to.
    pub(crate) fn sandbox(&self) -> Value {
        self.confinement().map_or_else(|| json!({"level": "off"}), |held| held.to_json())
    }

    /// # Errors
    /// `plan.bad_config`: the plan holds a number that its digest could not tell from another.
    pub(in crate::plan) fn document_digest(&self) -> Result<Digest, PlanError> {
        self.digest_of(&self.to_json())
    }

    /// The digest of all but the sandbox, where a run that is watched lists what happens to lie on
    /// the machine, which changes all the time.
    ///
    /// # Errors
    /// As [`Plan::document_digest`].
    pub(crate) fn digest_without_sandbox(&self) -> Result<Digest, PlanError> {
        let mut document = self.to_json();
        if let Value::Object(rows) = &mut document {
            rows.remove("sandbox");
        }
        self.digest_of(&document)
    }

    /// # Errors
    /// As [`Plan::document_digest`].
    pub(in crate::plan) fn digest_of(&self, document: &Value) -> Result<Digest, PlanError> {
        let text = canon::write(document).map_err(|inexact| PlanError::BadConfig {
            item: self.item().clone(),
            pointer: "/config",
            why: format!("cannot stand in a plan: {inexact}"),
        })?;
        Ok(Digest::of(&text))
    }
}

#[cfg(test)]
mod tests {
    use super::{Digest, by_content, json};

    #[test]
    fn a_program_that_may_not_be_read_is_known_by_its_file() {
        let program =
            json!({"path": "/bin/x", "device": 1, "inode": 2, "size": 3, "ctime_ns": "4"});
        let digest = Digest::of(b"x");
        let want = json!({"path": "/bin/x", "sha256": digest});
        assert_eq!(by_content(program.clone(), Some(digest)), want);
        let mut unread = program.clone();
        unread["sha256"] = json!(null);
        assert_eq!(by_content(program, None), unread);
        assert_eq!(by_content(json!(null), None), json!(null));
    }
}
