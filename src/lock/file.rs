//! The file `.ai/rye.lock`: TOML, a head, and one table a ref, sorted.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};

use serde::de::{Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::error::{Drift, LockError};
use super::pin::{Pin, Seen};
use crate::base::bytes::write_atomic;
use crate::base::limits::ITEM_BYTES;
use crate::base::text::{position, unfit};
use crate::diag::Place;
use crate::id::{Kind, Query, Ref, Space};
use crate::space::{Root, SpaceError};
use crate::verify::Source;

/// The file's name, below a project's `.ai`.
pub(super) const LOCK_FILE: &str = "rye.lock";

/// The form that is read and written.
const VERSION: u64 = 1;

const HEAD: &str = "\
# What this project has agreed to run: each item with its signer, time and bytes.
# Written by `rye lock`, reviewed with the code; see `rye fetch knowledge:rye/lock`.
";

/// The rows of a lock, each by the name that [`Lock::name`] gives.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Lock {
    rows: BTreeMap<Query, Pin>,
}

impl Lock {
    /// Reads the lock of a project; `None` if it has none, or the project is not `accepted`, which is
    /// asked only if something is there.
    ///
    /// # Errors
    /// `lock.malformed`, `lock.version`; `space.*` for a file that cannot be opened as one.
    pub(crate) fn read(
        project: &Root,
        accepted: impl FnOnce() -> Result<bool, LockError>,
    ) -> Result<Option<Self>, LockError> {
        let read = project.read(LOCK_FILE);
        if matches!(read, Ok(None)) || !accepted()? {
            return Ok(None);
        }
        let Some(bytes) = read? else { return Ok(None) };
        let place = project.shown(LOCK_FILE);
        let malformed = |at: Option<usize>, why: String| {
            let place = place.clone();
            let place = match at {
                Some(at) => place.at(position(&bytes, at)),
                None => place,
            };
            LockError::Malformed { place, why }
        };
        let text = std::str::from_utf8(&bytes)
            .map_err(|e| malformed(Some(e.valid_up_to()), "it is not UTF-8".into()))?;
        if let Some(unfit) = unfit(text) {
            let why = format!("it holds the character U+{:04X}", u32::from(unfit.char));
            return Err(malformed(Some(unfit.at), why));
        }
        if let Some(lock) = plain(text) {
            return Ok(Some(lock));
        }
        match toml::from_str::<Self>(text) {
            Ok(lock) => Ok(Some(lock)),
            Err(error) => {
                if let Some(found) = other_version(text) {
                    return Err(LockError::Version { place, found });
                }
                Err(malformed(error.span().map(|span| span.start), error.message().to_owned()))
            }
        }
    }

    /// Writes the lock: the old file or the whole of the other one, whatever happens.
    ///
    /// # Errors
    /// `space.too_large` for one that could not be read again; `lock.io`.
    pub(crate) fn write(&self, project: &Root) -> Result<(), LockError> {
        let text = self.to_toml();
        if u64::try_from(text.len()).is_ok_and(|len| len > ITEM_BYTES) {
            return Err(SpaceError::TooLarge { place: project.shown(LOCK_FILE) }.into());
        }
        let path = project.path(LOCK_FILE);
        write_atomic(&path, text.as_bytes(), 0o644).map_err(|source| LockError::Io { path, source })
    }

    /// The name of an item's row: its ref; for config, whose copies of several spaces are merged, its
    /// ref and space. `None` for config of the user space: it is each person's own, and no project
    /// can agree on it.
    pub(crate) fn name(item: &Ref, space: Space) -> Option<Query> {
        let query = Query::from(item.clone());
        match (item.kind, space) {
            (Kind::Config, Space::User) => None,
            (Kind::Config, _) => Some(Query { space: Some(space), ..query }),
            _ => Some(query),
        }
    }

    /// The row of an item that answers from `space`.
    pub(crate) fn find(&self, item: &Ref, space: Space) -> Option<&Pin> {
        self.get(&Self::name(item, space)?)
    }

    pub(crate) fn get(&self, row: &Query) -> Option<&Pin> {
        self.rows.get(row)
    }

    pub(crate) fn rows(&self) -> impl Iterator<Item = (&Query, &Pin)> {
        self.rows.iter()
    }

    pub(crate) fn insert(&mut self, row: Query, pin: Pin) {
        self.rows.insert(row, pin);
    }

    pub(crate) fn remove(&mut self, row: &Query) -> Option<Pin> {
        self.rows.remove(row)
    }

    /// Judges an admitted source by the row that lists it. `exact` asks that it is listed and that
    /// nothing differs.
    ///
    /// # Errors
    /// `verify.signer_changed`, `verify.space_changed`, `verify.rolled_back`; with `exact` also
    /// `lock.differs` and `lock.not_listed`.
    pub(crate) fn judge(&self, source: &Source, exact: bool) -> Result<(), LockError> {
        let item = source.item();
        let Some(row) = Self::name(item, source.space()) else { return Ok(()) };
        let Some(locked) = self.get(&row) else {
            if exact {
                let place = Some(source.place());
                return Err(LockError::NotListed { item: item.clone(), place });
            }
            return Ok(());
        };
        let found = Seen::of(source);
        let Some(rule) = locked.broken(&found, exact) else { return Ok(()) };
        let note = source.signer().map(|signer| {
            let owner = signer.owner.as_ref().map(|owner| format!("`{owner}` "));
            format!("signed {} by {}{}", signer.at, owner.unwrap_or_default(), signer.key.short())
        });
        Err(LockError::Drift(Box::new(Drift {
            item: item.clone(),
            place: Place { note, ..source.place() },
            rule,
            locked: locked.clone(),
            found,
            embedded: source.is_embedded(),
        })))
    }

    /// The one spelling of these rows.
    pub(crate) fn to_toml(&self) -> String {
        let mut out = format!("{HEAD}version = {VERSION}\n");
        // By text, as people sort; a ref needs no escapes in a quoted key.
        let mut rows: Vec<(String, &Pin)> =
            self.rows.iter().map(|(item, pin)| (item.to_string(), pin)).collect();
        rows.sort_by(|a, b| a.0.cmp(&b.0));
        for (item, pin) in rows {
            let Pin { sha256, signer, signed_at, version, space } = pin;
            let _ = write!(
                out,
                "\n[\"{item}\"]\nsha256 = \"{sha256}\"\nsigner = \"{signer}\"\nsigned_at = \"{signed_at}\"\n"
            );
            if let Some(version) = version {
                let _ = writeln!(out, "version = {}", toml::Value::from(version.as_str()));
            }
            let _ = writeln!(out, "space = \"{space}\"");
        }
        out
    }
}

/// Reads the one spelling that [`Lock::to_toml`] writes, in a tenth of the time that a reader of all
/// TOML takes: each run reads the whole lock. `None` for any other text, right or wrong. What is
/// read is TOML of the same meaning: no value holds an escape, and no row stands twice.
fn plain(text: &str) -> Option<Lock> {
    let rest = text.strip_prefix(HEAD)?.strip_prefix("version = 1\n")?;
    let mut lines = rest.split_terminator('\n').peekable();
    let mut rows = BTreeMap::new();
    let mut last = "";
    while let Some(empty) = lines.next() {
        let item = lines.next()?.strip_prefix("[\"")?.strip_suffix("\"]")?;
        if !empty.is_empty() || item <= last {
            return None;
        }
        last = item;
        let mut value = |name: &str| {
            let value = lines.peek()?.strip_prefix(name)?.strip_prefix(" = \"")?;
            let value = value.strip_suffix('"').filter(|v| !v.contains(['"', '\\']))?;
            lines.next();
            Some(value)
        };
        let pin = Pin {
            sha256: value("sha256")?.parse().ok()?,
            signer: value("signer")?.parse().ok()?,
            signed_at: value("signed_at")?.parse().ok()?,
            version: value("version").map(str::to_owned),
            space: value("space")?.parse().ok()?,
        };
        let row: Query = item.parse().ok()?;
        if !is_name(&row, &pin) {
            return None;
        }
        rows.insert(row, pin);
    }
    text.ends_with('\n').then_some(Lock { rows })
}

/// The version that a file of another form claims.
fn other_version(text: &str) -> Option<u64> {
    let version = text.parse::<toml::Table>().ok()?.get("version")?.as_integer()?;
    u64::try_from(version).ok().filter(|version| *version != VERSION)
}

impl<'de> Deserialize<'de> for Lock {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_map(Rows)
    }
}

/// Reads the head and then each row, strictly.
struct Rows;

impl<'de> Visitor<'de> for Rows {
    type Value = Lock;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a lock")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Lock, A::Error> {
        let mut lock = Lock::default();
        let mut version = None;
        while let Some(key) = map.next_key::<String>()? {
            if key == "version" {
                version = Some(map.next_value::<u64>()?);
                continue;
            }
            let row: Query = key.parse().map_err(A::Error::custom)?;
            let pin = map.next_value::<Row>()?.pin()?;
            if !is_name(&row, &pin) {
                return Err(A::Error::custom(format!("`{key}` is no name of a row")));
            }
            lock.rows.insert(row, pin);
        }
        match version {
            Some(VERSION) => Ok(lock),
            Some(_) => Err(A::Error::custom("it is of another version")),
            None => Err(A::Error::custom("it has no `version`")),
        }
    }
}

/// Whether a row of this content can have this name.
fn is_name(row: &Query, pin: &Pin) -> bool {
    let item = row.kind.map(|kind| Ref::new(kind, row.id.clone()));
    item.and_then(|item| Lock::name(&item, pin.space)).as_ref() == Some(row)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    sha256: String,
    signer: String,
    signed_at: String,
    version: Option<String>,
    space: String,
}

impl Row {
    fn pin<E: serde::de::Error>(self) -> Result<Pin, E> {
        Ok(Pin {
            sha256: self.sha256.parse().map_err(|()| E::custom("`sha256` is no SHA-256"))?,
            signer: self.signer.parse().map_err(|_| E::custom("`signer` is no fingerprint"))?,
            signed_at: self
                .signed_at
                .parse()
                .map_err(|()| E::custom("`signed_at` is no time such as 2027-01-01T00:00:00Z"))?,
            version: self.version,
            space: self.space.parse().map_err(|_| E::custom("`space` is no space"))?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Lock, plain};
    use crate::base::{Digest, Timestamp};
    use crate::id::Space;
    use crate::lock::Pin;

    fn lock() -> Lock {
        let mut lock = Lock::default();
        for (item, version) in [
            ("tool:b/x", Some("1.0.0 \"quoted\" \\ \n")),
            ("directive:a", None),
            ("tool:a/y", None),
        ] {
            let pin = Pin {
                sha256: Digest::of(item.as_bytes()),
                signer: "78f7dae3a0d000131c0889808c8c822d".parse().unwrap(),
                signed_at: Timestamp::from_second(1_800_000_000),
                version: version.map(str::to_owned),
                space: Space::Project,
            };
            lock.insert(item.parse().unwrap(), pin);
        }
        lock
    }

    #[test]
    fn what_is_written_is_read_and_sorted_by_ref() {
        let text = lock().to_toml();
        assert_eq!(toml::from_str::<Lock>(&text).unwrap(), lock());
        let refs: Vec<_> = text.lines().filter(|line| line.starts_with('[')).collect();
        assert_eq!(refs, ["[\"directive:a\"]", "[\"tool:a/y\"]", "[\"tool:b/x\"]"]);
        assert_eq!(toml::from_str::<Lock>(&text).unwrap().to_toml(), text);
        assert_eq!(plain(&text), None, "a value with an escape is for the other reader");
    }

    #[test]
    fn both_readers_agree_on_every_small_change() {
        let mut lock = lock();
        let (item, pin) = lock.rows().next().map(|(i, p)| (i.clone(), p.clone())).unwrap();
        lock.insert("tool:b/x".parse().unwrap(), Pin { version: Some("1.0.0".into()), ..pin });
        let good = lock.to_toml();
        assert_eq!(plain(&good), Some(lock.clone()));
        assert_eq!(toml::from_str(&good), Ok(lock));
        assert!(good.contains(&item.to_string()));
        let mut read = 0;
        for at in 0..good.len() {
            for put in ["", "\n", "\"", "\\", "'", "0", "z", " ", "#", "[", "é"] {
                for len in [0, 1] {
                    let text = format!("{}{put}{}", &good[..at], &good[at + len..]);
                    if let Some(lock) = plain(&text) {
                        read += 1;
                        assert_eq!(toml::from_str::<Lock>(&text), Ok(lock), "{text}");
                    }
                }
            }
        }
        assert!(read > 100, "{read}");
    }

    #[test]
    fn anything_but_the_form_is_refused() {
        let good = lock().to_toml();
        let rows = [
            good.replace("version = 1\n", ""),
            good.replace("version = 1\n", "version = 2\n"),
            good.replace("version = 1\n", "version = \"1\"\n"),
            good.replace("version = 1\n", "version = 1\nmore = 1\n"),
            good.replace("tool:a/y", "tool:../y"),
            good.replace("tool:a/y", "toll:a/y"),
            good.replace("tool:a/y", "tool:b/x"),
            good.replace("tool:a/y", "a/y"),
            good.replace("tool:a/y", "tool:a/y@project"),
            good.replace("tool:a/y", "config:a/y"),
            good.replace("tool:a/y", "config:a/y@system"),
            good.replacen("space = \"project\"\n", "", 1),
            good.replacen("space = \"project\"", "space = \"mars\"", 1),
            good.replacen("space = \"project\"", "space = \"project\"\nskip = true", 1),
            good.replacen("signer = \"7", "signer = \"", 1),
            good.replacen("signer = \"78f7", "signer = \"78F7", 1),
            good.replacen("sha256 = \"", "sha256 = \"0", 1),
            good.replacen("signed_at = \"2027", "signed_at = \"27", 1),
            format!("<<<<<<< ours\n{good}"),
            format!("{good}[\"tool:a/y\"]\n"),
        ];
        // Of config, the copies of each space have their row, but your own.
        let user = good.replacen("space = \"project\"", "space = \"user\"", 2);
        let user = user.replace("tool:a/y", "config:a/y@user");
        let config = good.replace("tool:a/y", "config:a/y@project");
        assert!(toml::from_str::<Lock>(&config).is_ok());
        for text in rows.into_iter().chain([user]) {
            assert_ne!(text, good);
            assert!(toml::from_str::<Lock>(&text).is_err(), "{text}");
        }
    }
}
