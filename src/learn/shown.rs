//! The needs that a look showed, so that `--write` writes exactly those.
//!
//! `<user>/.ai/state/learned/<digest of an item's place>`, as JSON; one file an item. It counts for
//! the plan that was watched and no other: the same files, parameters, interpreter and
//! configuration. A second run could not tell: it finds what the first one left behind.

use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::learn::Learned;
use super::needs::Needed;
use crate::base::Digest;
use crate::base::bytes::{Bounded, read_plain, write_atomic};
use crate::base::limits::ITEM_BYTES;
use crate::parse::Needs;
use crate::resolve::Found;
use crate::rye::Rye;

/// The file of one item.
pub(super) struct Shown {
    path: PathBuf,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Record {
    plan: String,
    needs: Needs,
    remarks: Vec<String>,
}

impl Shown {
    /// `None` where there is no user space to remember in.
    pub(super) fn of(rye: &Rye, found: &Found) -> Option<Self> {
        let folder = rye.spaces().user().ok()?.path("state/learned");
        let place = Digest::of(found.path.as_os_str().as_encoded_bytes());
        Some(Self { path: folder.join(place.to_string()) })
    }

    /// The needs that were shown for this plan.
    pub(super) fn read(&self, plan: &Digest) -> Option<Needed> {
        let Bounded::All(bytes) = read_plain(&self.path, ITEM_BYTES).ok()? else { return None };
        let record: Record = serde_json::from_slice(&bytes).ok()?;
        let Record { plan: of, needs, remarks } = record;
        (of == plan.to_string()).then_some(Needed { needs, remarks })
    }

    /// Takes away what an earlier look showed, so that nothing but the next one can be found here.
    /// Where it cannot be taken away, nothing can be put in its place.
    pub(super) fn forget(&self) {
        let _ = fs::remove_file(&self.path);
    }

    /// Where it is remembered.
    pub(super) fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(&self.path)
    }

    /// # Errors
    /// An error of the file system.
    pub(super) fn keep(&self, plan: &Digest, learned: &Learned) -> io::Result<()> {
        let (needs, remarks) = (learned.needs.clone(), learned.remarks.clone());
        let record = Record { plan: plan.to_string(), needs, remarks };
        fs::DirBuilder::new().recursive(true).mode(0o700).create(self.folder())?;
        write_atomic(&self.path, serde_json::to_string(&record)?.as_bytes(), 0o600)
    }
}
