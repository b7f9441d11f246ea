//! Checks that the files beside a transcript are those that it names (threads 7).

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Read};
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

use super::record::{BLOBS, TRANSCRIPT};
use super::record_check::RecordFinding;
use super::thread_file::{THREAD_FILE, check_thread_file};
use super::thread_id::ThreadId;
use crate::base::bytes::open_plain;
use crate::base::limits::THREAD_RECORD_BYTES;
use crate::base::{Digest, Digesting};
use crate::id::Fingerprint;
use crate::verify::PublicKey;

/// Files in the folder of a record that nothing names, which are told by name.
const THREAD_FILES_TOLD: usize = 100;

/// The files beside a transcript.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct CheckedFiles {
    /// How many blobs the record names, each of which is there as it was kept.
    pub(crate) blobs: u64,
    /// How many files nothing that was signed names.
    pub(crate) unproven: u64,
    /// The first of these, by their paths in the folder.
    pub(crate) unproven_names: Vec<String>,
}

/// Reads the files in the folder of a record, of which `proven` is what its checkpoints sign. Each
/// is read piece by piece. Gives its `thread.json` too, where it has one.
///
/// # Errors
/// The first blob that is named, and is missing or other than its name says; or what does not hold
/// of `thread.json`.
pub(crate) fn check_files(
    folder: &Path,
    proven: &[u8],
    id: &ThreadId,
    key_of: &dyn Fn(Fingerprint) -> Result<PublicKey, RecordFinding>,
) -> Result<(CheckedFiles, Option<Value>), RecordFinding> {
    let thread_file = check_thread_file(folder, proven, id, key_of)?;
    let named = named(proven);
    for (blob, line) in &named {
        let fault = |why: String| RecordFinding::Blob { line: *line, blob: blob.clone(), why };
        let is_digest = blob.parse::<Digest>().ok();
        let digest = is_digest.ok_or_else(|| fault("is not the digest of a file".into()))?;
        match digest_of(&folder.join(BLOBS).join(blob)) {
            Ok(found) if found == digest => {}
            Ok(_) => return Err(fault("was changed".into())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(fault("is missing".into()));
            }
            Err(error) => return Err(fault(format!("cannot be read: {error}"))),
        }
    }
    let mut others = others(folder, &named).unwrap_or_default();
    others.retain(|name| thread_file.is_none() || name != THREAD_FILE);
    let unproven = others.len() as u64;
    others.sort_unstable();
    others.truncate(THREAD_FILES_TOLD);
    let blobs = named.len() as u64;
    Ok((CheckedFiles { blobs, unproven, unproven_names: others }, thread_file))
}

/// The blobs that lines name, each with the number of the first line, from 1.
fn named(proven: &[u8]) -> BTreeMap<String, usize> {
    #[derive(Deserialize)]
    struct Named {
        blob: Option<String>,
    }
    let mut named = BTreeMap::new();
    for (at, line) in proven.split(|byte| *byte == b'\n').enumerate() {
        if let Ok(Named { blob: Some(blob) }) = serde_json::from_slice(line) {
            named.entry(blob).or_insert(at + 1);
        }
    }
    named
}

fn digest_of(path: &Path) -> io::Result<Digest> {
    // Nothing larger was ever kept.
    let mut file = open_plain(path)?.take(THREAD_RECORD_BYTES + 1);
    let (mut digest, mut piece) = (Digesting::default(), vec![0; 64 << 10]);
    loop {
        match file.read(&mut piece)? {
            0 => return Ok(digest.digest()),
            count => digest.take(&piece[..count]),
        }
    }
}

/// The files in the folder that are neither the transcript nor a blob that it names.
fn others(folder: &Path, named: &BTreeMap<String, usize>) -> io::Result<Vec<String>> {
    let mut others = names_in(folder)?;
    others.remove(TRANSCRIPT);
    let blobs = folder.join(BLOBS);
    let is_folder = fs::symlink_metadata(&blobs).is_ok_and(|meta| meta.is_dir());
    if is_folder && others.remove(BLOBS) {
        let blobs = names_in(&blobs)?.into_iter().filter(|name| !named.contains_key(name));
        others.extend(blobs.map(|name| format!("{BLOBS}/{name}")).collect::<Vec<_>>());
    }
    Ok(others.into_iter().collect())
}

fn names_in(folder: &Path) -> io::Result<BTreeSet<String>> {
    fs::read_dir(folder)?
        .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::check_files;
    use crate::base::Digest;
    use crate::thread::record_check::RecordFinding;
    use crate::thread::thread_id::ThreadId;
    use serde_json::json;
    use std::fs;

    #[test]
    fn a_blob_that_the_record_names_is_there_as_it_was_kept_and_any_other_file_is_not_proven() {
        let folder = tempfile::tempdir().unwrap();
        let blobs = folder.path().join("blobs");
        fs::create_dir(&blobs).unwrap();
        let whole = "long ".repeat(100_000);
        let digest = Digest::of(whole.as_bytes()).to_string();
        let path = blobs.join(&digest);
        let write = |text: &str| fs::write(&path, text).unwrap();
        let line = json!({"event": "tool_call_result", "blob": digest});
        let lines = format!("{}\n{line}\n{line}\n{{\"blob\":", json!({"event": "x"}));
        let id = ThreadId::new(&"acme/look".parse().unwrap()).unwrap();
        let nobody = |key| Err(RecordFinding::ForeignKey { key });
        let check = |lines: &str| {
            check_files(folder.path(), lines.as_bytes(), &id, &nobody).map(|(files, _)| files)
        };
        let fault = || match check(&lines) {
            Err(RecordFinding::Blob { line, blob, why }) => (line, blob == digest, why),
            other => panic!("{other:?}"),
        };
        assert_eq!(fault(), (2, true, "is missing".into()));
        write(&whole);
        fs::write(folder.path().join("transcript.jsonl"), &lines).unwrap();
        let good = check(&lines).unwrap();
        assert_eq!((good.blobs, good.unproven), (1, 0));
        write(&whole.replacen("long", "lonG", 1));
        assert_eq!(fault(), (2, true, "was changed".into()));
        write("");
        assert_eq!(fault(), (2, true, "was changed".into()));
        fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink("/dev/zero", &path).unwrap();
        assert!(fault().2.starts_with("cannot be read"));
        fs::remove_file(&path).unwrap();
        write(&whole);
        fs::write(blobs.join("other"), "x").unwrap();
        fs::write(folder.path().join("note"), "x").unwrap();
        let good = check(&lines).unwrap();
        assert_eq!(
            (good.unproven, good.unproven_names),
            (2, vec!["blobs/other".into(), "note".into()])
        );
        let bad = format!("{}\n", json!({"event": "x", "blob": "../../x"}));
        let bad = check(&bad).unwrap_err();
        assert!(bad.to_string().contains("line 1") && bad.to_string().contains("not the digest"));
    }
}
