//! How a lock is spelled: TOML, a head, and one table a ref, sorted.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};

use serde::de::{Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::file::Lock;
use super::pin::Pin;
use crate::id::{Query, Ref};

/// The form that is read and written.
const VERSION: u64 = 1;

const HEAD: &str = "\
# What this project has agreed to run: each item with its signer, time and bytes.
# Written by `rye lock`, reviewed with the code; see `rye fetch knowledge:rye/lock`.
";

impl Lock {
    /// The one spelling of these rows.
    pub(crate) fn to_toml(&self) -> String {
        let mut out = format!("{HEAD}version = {VERSION}\n");
        // By text, as people sort; a ref needs no escapes in a quoted key.
        let mut rows: Vec<(String, &Pin)> =
            self.rows().map(|(name, pin)| (name.to_string(), pin)).collect();
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

/// The version that a file of another form claims.
pub(super) fn other_version(text: &str) -> Option<u64> {
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
        let mut rows = BTreeMap::new();
        let mut version = None;
        while let Some(key) = map.next_key::<String>()? {
            if key == "version" {
                version = Some(map.next_value::<u64>()?);
                continue;
            }
            let row: Query = key.parse().map_err(A::Error::custom)?;
            let pin = map.next_value::<Row>()?.pin()?;
            if !is_name(&row, &pin) {
                return Err(A::Error::custom(format!("`{key}` is not a valid row name")));
            }
            rows.insert(row, pin);
        }
        match version {
            Some(VERSION) => Ok(Lock::from_rows(rows)),
            Some(_) => Err(A::Error::custom("it is of another version")),
            None => Err(A::Error::custom("it has no `version`")),
        }
    }
}

/// Returns true if a row of this content can have this name.
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
            sha256: self
                .sha256
                .parse()
                .map_err(|()| E::custom("`sha256` is not a valid SHA-256 digest"))?,
            signer: self
                .signer
                .parse()
                .map_err(|_| E::custom("`signer` is not a valid fingerprint"))?,
            signed_at: self.signed_at.parse().map_err(|()| {
                E::custom("`signed_at` is not a valid time such as 2027-01-01T00:00:00Z")
            })?,
            version: self.version,
            space: self
                .space
                .parse()
                .map_err(|_| E::custom("`space` is not the name of a space"))?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Lock;
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
