//! Merges a lock that two branches changed, row by row.

use std::collections::{BTreeMap, BTreeSet};

use super::file::Lock;
use super::pin::Pin;
use crate::id::{Fingerprint, Query};

/// A lock in which every row is one side's.
#[derive(Debug)]
pub(crate) struct MergedLock {
    pub(crate) text: String,
    /// Rows that both sides changed. The later signature is kept, because nothing older than a row
    /// runs.
    pub(crate) later: Vec<LaterRow>,
    /// Rows that one side alone took out.
    pub(crate) gone: Vec<Query>,
}

/// A row that both sides changed, as it is kept.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct LaterRow {
    pub(crate) name: Query,
    /// Whose signature is kept, if another key signed the other side's.
    pub(crate) signer: Option<Fingerprint>,
}

impl MergedLock {
    /// Merges two versions of a lock that come of a third, which is empty where there was none.
    /// `None` where one of them is not a lock, or where a person has to choose: both sides changed
    /// a row to another space or to other bytes of the same second, or one of them took it out.
    pub(crate) fn new(ours: &[u8], base: &[u8], theirs: &[u8]) -> Option<Self> {
        let base = if base.is_empty() { Lock::default() } else { read(base)? };
        let (ours, theirs) = (read(ours)?, read(theirs)?);
        let names: BTreeSet<&Query> = [&ours, &base, &theirs]
            .into_iter()
            .flat_map(Lock::rows)
            .map(|(name, _)| name)
            .collect();
        let (mut rows, mut later, mut gone) = (BTreeMap::new(), Vec::new(), Vec::new());
        for name in names {
            let (our, was, their) = (ours.get(name), base.get(name), theirs.get(name));
            let row = match () {
                () if our == their || their == was => our,
                () if our == was => their,
                () => {
                    let (our, their) = (our?, their?);
                    let kept = later_of(our, their)?;
                    let signer = (our.signer != their.signer).then_some(kept.signer);
                    later.push(LaterRow { name: name.clone(), signer });
                    Some(kept)
                }
            };
            if row.is_none() && our != their {
                gone.push(name.clone());
            }
            rows.extend(row.map(|row| (name.clone(), row.clone())));
        }
        Some(Self { text: Lock::from_rows(rows).to_toml(), later, gone })
    }
}

/// The row whose signature is later, if both are of the same space. Two people who signed the same
/// item have two keys; a row that one side alone gave another signer is that side's as well.
fn later_of<'a>(one: &'a Pin, other: &'a Pin) -> Option<&'a Pin> {
    let is_told = one.space == other.space && one.signed_at != other.signed_at;
    is_told.then(|| if one.signed_at > other.signed_at { one } else { other })
}

fn read(text: &[u8]) -> Option<Lock> {
    // An emptied file is not a lock without rows.
    std::str::from_utf8(text).ok().filter(|text| !text.is_empty()).and_then(Lock::from_text)
}

#[cfg(test)]
mod tests {
    use super::MergedLock;

    /// A lock with these rows: a name, the last digit of its digest, the hour of its signature.
    fn lock(rows: &[(&str, u8, u8)]) -> String {
        let mut text = "version = 1\n".to_owned();
        for (name, digit, hour) in rows {
            text.push_str(&format!(
                "[\"tool:{name}\"]\nsha256 = \"{digit:064}\"\nsigner = \"{0:032}\"\n\
                 signed_at = \"2026-01-01T{hour:02}:00:00Z\"\nspace = \"project\"\n",
                0
            ));
        }
        text
    }

    fn merged(ours: &str, base: &str, theirs: &str) -> Option<(String, usize)> {
        let merged = MergedLock::new(ours.as_bytes(), base.as_bytes(), theirs.as_bytes())?;
        // The spelling is that of a lock, so reading it again changes nothing.
        let again = MergedLock::new(merged.text.as_bytes(), b"", merged.text.as_bytes())?;
        assert_eq!(again.text, merged.text);
        Some((merged.text, merged.later.len()))
    }

    #[test]
    fn each_row_is_the_side_that_changed_it_or_the_later_signature() {
        let base = lock(&[("a", 1, 1), ("b", 1, 1), ("c", 1, 1)]);
        let ours = lock(&[("a", 2, 2), ("b", 2, 2), ("d", 1, 1)]);
        let theirs = lock(&[("a", 1, 1), ("b", 3, 3), ("c", 1, 1), ("e", 1, 1)]);
        let want = lock(&[("a", 2, 2), ("b", 3, 3), ("d", 1, 1), ("e", 1, 1)]);
        let (want, _) = merged(&want, "", &want).unwrap();
        assert_eq!(merged(&ours, &base, &theirs), Some((want.clone(), 1)));
        assert_eq!(merged(&theirs, &base, &ours), Some((want, 1)));
    }

    #[test]
    fn of_two_people_who_signed_an_item_the_later_signature_is_kept_and_its_signer_told() {
        let base = lock(&[("a", 1, 1)]);
        let theirs = lock(&[("a", 3, 3)]).replace(&"0".repeat(32), &"1".repeat(32));
        let ours = lock(&[("a", 2, 2)]);
        for (one, other) in [(&ours, &theirs), (&theirs, &ours)] {
            let merged =
                MergedLock::new(one.as_bytes(), base.as_bytes(), other.as_bytes()).unwrap();
            let want = MergedLock::new(theirs.as_bytes(), b"", theirs.as_bytes()).unwrap().text;
            assert_eq!(merged.text, want);
            assert_eq!(merged.later[0].signer, Some("1".repeat(32).parse().unwrap()));
        }
    }

    #[test]
    fn a_lock_that_somebody_emptied_is_not_merged_and_rows_that_one_side_took_out_are_told() {
        let (base, more) = (lock(&[("a", 1, 1), ("b", 1, 1)]), lock(&[("a", 1, 1), ("z", 1, 1)]));
        assert_eq!((merged("", &base, &more), merged(&more, &base, "")), (None, None));
        let merge = |ours: &str, theirs: &str| {
            MergedLock::new(ours.as_bytes(), base.as_bytes(), theirs.as_bytes()).unwrap().gone
        };
        let b = ["tool:b".parse().unwrap()];
        assert_eq!((&*merge(&base, &more), &*merge(&more, &base)), (&b[..], &b[..]));
        assert!(merge(&more, &more).is_empty(), "nobody disagrees");
    }

    #[test]
    fn what_a_person_has_to_choose_is_not_merged() {
        let base = lock(&[("a", 1, 1)]);
        for (ours, theirs) in [
            (lock(&[("a", 2, 2)]), lock(&[("a", 3, 2)])),
            (lock(&[("a", 2, 2)]), lock(&[])),
            (lock(&[("a", 2, 2)]), lock(&[("a", 3, 3)]).replace("\"project\"", "\"user\"")),
            (lock(&[("a", 2, 2)]), "<<<<<<< ours\n".to_owned()),
        ] {
            assert_eq!(merged(&ours, &base, &theirs), None, "{ours} {theirs}");
        }
    }
}
