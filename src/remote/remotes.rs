//! The nodes that a person named: `config:remotes/remotes`.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Map, Value};

use super::error::RemoteError;
use crate::base::Address;
use crate::base::text::near;
use crate::base::time::time_from_text;
use crate::id::{Fingerprint, Space};
use crate::signature::PublicKey;

/// How long a node may be out of reach before a caller gives up, by default.
const PATIENCE: Duration = Duration::from_mins(1);

/// A node under the name that a person gave it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NamedRemote {
    pub(crate) name: String,
    pub(crate) url: Address,
    /// The fingerprint of its key, as it was when the person named it.
    pub(crate) node: Fingerprint,
    /// Its whole key, for receipts that it signed.
    pub(crate) key: Option<PublicKey>,
    /// How long it may be out of reach.
    pub(crate) timeout: Duration,
}

impl NamedRemote {
    /// # Errors
    /// `remote.not_https`, `remote.bad_config`
    pub(crate) fn new(
        name: &str,
        url: &str,
        node: Fingerprint,
        timeout: Option<Duration>,
    ) -> Result<Self, RemoteError> {
        let url = Address::parse(url)
            .map_err(|why| RemoteError::BadConfig { why: format!("`url` of `{name}` {why}") })?;
        Self::check_address(name, &url)?;
        let timeout = timeout.unwrap_or(PATIENCE);
        Ok(Self { name: name.to_owned(), url, node, key: None, timeout })
    }

    /// Refuses an address at which a node may not be asked.
    ///
    /// # Errors
    /// `remote.not_https`, `remote.bad_config`
    pub(crate) fn check_address(name: &str, address: &Address) -> Result<(), RemoteError> {
        if address.path() != "/" {
            let why = format!("`url` of `{name}` has a path, and a node has none");
            return Err(RemoteError::BadConfig { why });
        }
        match address.is_https() || address.is_loopback() {
            true => Ok(()),
            false => Err(RemoteError::NotHttps { url: address.origin() }),
        }
    }

    /// Refuses another key than the one that is pinned.
    ///
    /// # Errors
    /// `remote.key_changed`
    pub(crate) fn check(&self, key: &PublicKey) -> Result<(), RemoteError> {
        match key.fingerprint() == self.node {
            true => Ok(()),
            false => Err(RemoteError::KeyChanged {
                name: self.name.clone(),
                url: self.url.origin(),
                pinned: self.node,
                is: key.fingerprint(),
            }),
        }
    }

    fn from_json(name: &str, value: &Map<String, Value>) -> Result<Self, RemoteError> {
        let wrong = |why: String| RemoteError::BadConfig { why: format!("`{name}` {why}") };
        let known = ["url", "node", "key", "timeout"];
        if let Some(other) = value.keys().find(|key| !known.contains(&key.as_str())) {
            return Err(wrong(format!("has no `{other}`")));
        }
        let text = |key: &str| value.get(key).and_then(Value::as_str);
        let url = text("url").ok_or_else(|| wrong("has no `url`".into()))?;
        let node = text("node").and_then(|node| node.parse().ok());
        let node = node.ok_or_else(|| wrong("has no `node`, which is a fingerprint".into()))?;
        let timeout = match value.get("timeout") {
            None => None,
            Some(time) => {
                let time = time.as_str().and_then(time_from_text);
                Some(time.ok_or_else(|| wrong("has a `timeout` that is not a time".into()))?)
            }
        };
        let key = match text("key").map(PublicKey::from_text) {
            None => None,
            Some(Some(Ok(key))) if key.fingerprint() == node => Some(key),
            Some(_) => return Err(wrong("has a `key` that is not the one of its `node`".into())),
        };
        Ok(Self { key, ..Self::new(name, url, node, timeout)? })
    }
}

/// The remotes of a person, and the other names that configs give them.
#[derive(Debug, Default)]
pub(crate) struct RemoteTable {
    remotes: BTreeMap<String, Map<String, Value>>,
    names: BTreeMap<String, String>,
}

impl RemoteTable {
    /// Adds the config of a space, the farthest space first. A project gives a remote of its
    /// person another name, and nothing else; a name that the person gave stays.
    ///
    /// # Errors
    /// `remote.bad_config`
    pub(crate) fn add(&mut self, space: Space, config: &Value) -> Result<(), RemoteError> {
        let wrong = |why: String| RemoteError::BadConfig { why };
        let Some(remotes) = config.get("remotes").and_then(Value::as_object) else {
            return Err(wrong("it has no table `remotes`".into()));
        };
        for (name, value) in remotes {
            match value {
                Value::String(other) => {
                    let is_given = self.remotes.contains_key(name) || self.names.contains_key(name);
                    if space != Space::Project || !is_given {
                        self.names.insert(name.clone(), other.clone());
                    }
                }
                Value::Object(value) if space != Space::Project => {
                    self.names.remove(name);
                    self.remotes.insert(name.clone(), value.clone());
                }
                _ => {
                    let why = "is not the name of a remote; a project gives no more than that";
                    return Err(wrong(format!("`{name}` {why}")));
                }
            }
        }
        Ok(())
    }

    /// # Errors
    /// `remote.unknown`, `remote.bad_config`, `remote.not_https`
    pub(crate) fn find(&self, name: &str) -> Result<NamedRemote, RemoteError> {
        let meant = self.names.get(name).map_or(name, String::as_str);
        match self.remotes.get(meant) {
            Some(value) => NamedRemote::from_json(meant, value),
            None => {
                let known: Vec<String> =
                    self.remotes.keys().chain(self.names.keys()).cloned().collect();
                let near = near(name, known.iter().map(String::as_str), 1).pop();
                Err(RemoteError::Unknown { name: name.to_owned(), near, known })
            }
        }
    }

    /// Every remote, by name.
    ///
    /// # Errors
    /// `remote.bad_config`, `remote.not_https`
    pub(crate) fn all(&self) -> Result<Vec<NamedRemote>, RemoteError> {
        self.remotes.iter().map(|(name, value)| NamedRemote::from_json(name, value)).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::RemoteTable;
    use crate::diagnostic::Diagnose;
    use crate::id::Space;

    const NODE: &str = "00112233445566778899aabbccddeeff";

    #[test]
    fn a_project_gives_another_name_and_neither_address_nor_key() {
        let mut table = RemoteTable::default();
        let own = json!({"remotes": {
            "gpu": {"url": "https://gpu.example:8700", "node": NODE},
            "builder": {"url": "https://builder.example", "node": NODE},
        }});
        table.add(Space::User, &own).unwrap();
        let names = json!({"remotes": {"default": "gpu", "gpu": "builder", "far": "builder"}});
        table.add(Space::User, &json!({"remotes": {"far": "gpu"}})).unwrap();
        table.add(Space::Project, &names).unwrap();
        for name in ["default", "gpu", "far"] {
            assert_eq!(table.find(name).unwrap().name, "gpu", "{name}");
        }
        assert_eq!(table.find("gpu").unwrap().url.origin(), "https://gpu.example:8700");
        let theirs = json!({"remotes": {"gpu": {"url": "https://evil.example", "node": NODE}}});
        let refused = table.add(Space::Project, &theirs).unwrap_err();
        assert_eq!(refused.code().name(), "remote.bad_config");
        let unknown = table.find("bulder").unwrap_err();
        assert_eq!(unknown.code().name(), "remote.unknown");
        assert_eq!(unknown.help().as_deref(), Some("did you mean `remote:builder`?"));
    }

    #[test]
    fn a_remote_is_refused_for_what_would_mislead() {
        for (remote, code) in [
            (json!({"url": "http://gpu.example:8700", "node": NODE}), "remote.not_https"),
            (json!({"url": "http://127.0.0.1:8700", "node": NODE}), ""),
            (json!({"url": "http://localhost:8700", "node": NODE, "timeout": "2m"}), ""),
            (json!({"url": "https://gpu.example/x", "node": NODE}), "remote.bad_config"),
            (json!({"url": "https://gpu.example"}), "remote.bad_config"),
            (json!({"url": "https://gpu.example", "node": "short"}), "remote.bad_config"),
            (
                json!({"url": "https://gpu.example", "node": NODE, "token": "x"}),
                "remote.bad_config",
            ),
            (json!({"url": "https://gpu.example", "node": NODE, "key": "x"}), "remote.bad_config"),
        ] {
            let mut table = RemoteTable::default();
            table.add(Space::User, &json!({"remotes": {"gpu": remote.clone()}})).unwrap();
            let found = table.find("gpu");
            let got = found.as_ref().map_or_else(|error| error.code().name(), |_| "");
            assert_eq!(got, code, "{remote}");
        }
    }
}
