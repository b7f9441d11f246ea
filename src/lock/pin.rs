//! One row of a lock, and the rules that it makes (core 10).

use std::cmp::Ordering;

use crate::base::{Digest, Timestamp};
use crate::id::{Fingerprint, Space};
use crate::verify::Source;

/// The version that a project agreed to run under one ref.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub(crate) struct Pin {
    /// SHA-256 of the file without its signature line.
    pub(crate) sha256: Digest,
    pub(crate) signer: Fingerprint,
    pub(crate) signed_at: Timestamp,
    /// For readers; it stands in the file that `sha256` covers.
    pub(crate) version: Option<String>,
    pub(crate) space: Space,
}

/// The version that was found under a ref.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub(crate) struct FoundItem {
    pub(crate) sha256: Digest,
    /// `None` if dev mode let an unsigned file through.
    pub(crate) signer: Option<Fingerprint>,
    pub(crate) signed_at: Option<Timestamp>,
    pub(crate) space: Space,
}

impl FoundItem {
    pub(crate) fn from_source(source: &Source) -> Self {
        Self {
            sha256: source.digest(),
            // What a dev key signed is your own word, for as long as it lasts.
            signer: source.signer().map(|signer| signer.dev_for.unwrap_or(signer.key)),
            signed_at: source.signer().map(|signer| signer.at),
            space: source.space(),
        }
    }
}

impl From<&Pin> for FoundItem {
    fn from(pin: &Pin) -> Self {
        Self {
            sha256: pin.sha256,
            signer: Some(pin.signer),
            signed_at: Some(pin.signed_at),
            space: pin.space,
        }
    }
}

/// The rule that a source breaks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Broken {
    /// Another key signed.
    Signer,
    /// Another space answers.
    Space,
    /// Signed earlier than what is locked.
    Older,
    /// Signed in the same second as what is locked, and other bytes.
    SameTime,
    /// Anything else that differs; the names of the fields. Asked for with `--locked` alone.
    Differs(Vec<&'static str>),
}

impl Pin {
    /// The row of an item that is admitted without warnings; `None` for one that dev mode let
    /// through.
    pub(crate) fn from_source(source: &Source, version: Option<String>) -> Option<Self> {
        let signer = source.signer().filter(|_| source.warnings().is_empty())?;
        Some(Self {
            sha256: source.digest(),
            signer: signer.key,
            signed_at: signer.at,
            version,
            space: source.space(),
        })
    }

    /// The first rule that is broken; `exact` asks that nothing differs. What dev mode let through
    /// is judged like anything else: dev mode does not reach what a lock lists.
    pub(crate) fn broken(&self, seen: &FoundItem, exact: bool) -> Option<Broken> {
        if seen.signer != Some(self.signer) {
            return Some(Broken::Signer);
        }
        if seen.space != self.space {
            return Some(Broken::Space);
        }
        match seen.signed_at.cmp(&Some(self.signed_at)) {
            Ordering::Less => return Some(Broken::Older),
            Ordering::Equal if seen.sha256 != self.sha256 => return Some(Broken::SameTime),
            _ => {}
        }
        let fields = self.differing(seen);
        (exact && !fields.is_empty()).then_some(Broken::Differs(fields))
    }

    fn differing(&self, seen: &FoundItem) -> Vec<&'static str> {
        let rows = [
            ("sha256", seen.sha256 != self.sha256),
            ("signer", seen.signer != Some(self.signer)),
            ("signed_at", seen.signed_at != Some(self.signed_at)),
            ("space", seen.space != self.space),
        ];
        rows.into_iter().filter(|(_, differs)| *differs).map(|(name, _)| name).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{Broken, FoundItem, Pin};
    use crate::base::{Digest, Timestamp};
    use crate::id::Space;

    fn pin(bytes: &[u8], key: u8, at: i64, space: Space) -> Pin {
        let key = hex::encode([key; 16]).parse().unwrap();
        let (sha256, signed_at) = (Digest::of(bytes), Timestamp::from_second(at));
        Pin { sha256, signer: key, signed_at, version: None, space }
    }

    #[test]
    fn rules_table() {
        let locked = pin(b"a", 1, 100, Space::Project);
        let rows = [
            (pin(b"a", 1, 100, Space::Project), None, None),
            (pin(b"b", 1, 101, Space::Project), None, Some(vec!["sha256", "signed_at"])),
            (pin(b"a", 1, 101, Space::Project), None, Some(vec!["signed_at"])),
            (pin(b"b", 2, 101, Space::Project), Some(Broken::Signer), None),
            (pin(b"a", 2, 100, Space::Project), Some(Broken::Signer), None),
            (pin(b"a", 1, 100, Space::User), Some(Broken::Space), None),
            (pin(b"b", 1, 99, Space::Project), Some(Broken::Older), None),
            (pin(b"a", 1, 99, Space::Project), Some(Broken::Older), None),
            (pin(b"b", 1, 100, Space::Project), Some(Broken::SameTime), None),
        ];
        for (now, want, exact) in rows {
            let seen = FoundItem::from(&now);
            assert_eq!(locked.broken(&seen, false), want, "{now:?}");
            let want = want.or(exact.map(Broken::Differs));
            assert_eq!(locked.broken(&seen, true), want, "{now:?}");
        }
    }

    #[test]
    fn what_has_no_signer_is_not_what_is_locked() {
        let locked = pin(b"a", 1, 100, Space::Project);
        let unsigned = FoundItem { signer: None, signed_at: None, ..FoundItem::from(&locked) };
        assert_eq!(locked.broken(&unsigned, false), Some(Broken::Signer));
    }
}
