//! The keys that may ask this node for runs, and the folders that hold what such a key sent (remote
//! 3).

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::document::RawKey;
use super::error::TrustError;
use super::own_file::{OwnFile, remove_own, write_own};
use super::project::record_id;
use super::store::TrustStore;
use crate::base::Timestamp;
use crate::base::text::brief_line;
use crate::id::{Fingerprint, ItemId, Kind, Pattern, Ref};
use crate::signature::{KeyPair, MARK, PublicKey};
use crate::space::{ProjectIdentity, Root};

/// The folder of the records about callers, below `config/keys`.
pub(crate) const CALLERS: &str = "callers";
/// The folder of the records about folders of callers.
const GUESTS: &str = "guests";

/// A kind of request that a caller may make.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CallerScope {
    /// Runs of the items that match, and their ends.
    Execute(Pattern),
    /// Objects of the store.
    Objects,
}

impl FromStr for CallerScope {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            None if text == "objects" => Ok(Self::Objects),
            Some(("execute", pattern)) => pattern.parse().map(Self::Execute),
            _ => Err(format!(
                "`{}` is neither `objects` nor `execute:` with a pattern, such as \
                 `execute:tool:acme/**`",
                brief_line(text)
            )),
        }
    }
}

impl fmt::Display for CallerScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Execute(pattern) => write!(f, "execute:{}", pattern.as_str()),
            Self::Objects => f.write_str("objects"),
        }
    }
}

/// A key whose requests this node answers.
#[derive(Debug, Clone)]
pub(crate) struct NodeCaller {
    pub(crate) key: PublicKey,
    pub(crate) owner: String,
    pub(crate) scopes: Vec<CallerScope>,
    /// Whose items it may send. Each also needs a trust document, as everywhere.
    pub(crate) signers: Vec<Fingerprint>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawCaller {
    fingerprint: String,
    owner: String,
    scopes: Vec<String>,
    signers: Vec<String>,
    public_key: RawKey,
}

/// A folder that holds what a caller sent.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Guest {
    caller: String,
    folder: ProjectIdentity,
}

impl NodeCaller {
    fn parse(text: &str) -> Result<Self, String> {
        let raw: RawCaller = toml::from_str(text).map_err(|error| brief_line(error.message()))?;
        let key = raw.public_key.with(&raw.fingerprint).map_err(|fault| fault.to_string())?;
        let scopes = raw.scopes.iter().map(|scope| scope.parse()).collect::<Result<_, _>>()?;
        let signer = |text: &String| {
            text.parse().map_err(|_| format!("`{}` is not a valid fingerprint", brief_line(text)))
        };
        let signers = raw.signers.iter().map(signer).collect::<Result<_, String>>()?;
        Ok(Self { key, owner: raw.owner, scopes, signers })
    }

    /// Lets the caller ask this node.
    ///
    /// # Errors
    /// `trust.malformed`, `trust.io`
    pub(crate) fn write(
        &self,
        user: &Root,
        pair: &KeyPair,
        now: Timestamp,
    ) -> Result<(), TrustError> {
        let fingerprint = self.key.fingerprint().to_string();
        let malformed = |why: &str| TrustError::Malformed {
            what: format!("keys/{CALLERS}/{fingerprint}"),
            why: why.into(),
        };
        let is_line = !self.owner.contains(|c: char| c.is_control() || c == '`');
        if !is_line || self.owner.len() > 200 || self.owner.contains(MARK) {
            return Err(malformed("its name is not a short line of plain text"));
        }
        let raw = RawCaller {
            owner: self.owner.clone(),
            scopes: self.scopes.iter().map(ToString::to_string).collect(),
            signers: self.signers.iter().map(ToString::to_string).collect(),
            public_key: RawKey { pem: self.key.to_pem() },
            fingerprint: fingerprint.clone(),
        };
        let body = toml::to_string_pretty(&raw).map_err(|error| malformed(&error.to_string()))?;
        write_own(user, &caller_id(self.key.fingerprint())?, &body, pair, now).map(drop)
    }

    /// Takes a caller's right back; false if it has none.
    ///
    /// # Errors
    /// `trust.io`, `key.*`
    pub(crate) fn remove(user: &Root, key: Fingerprint) -> Result<bool, TrustError> {
        remove_own(user, &caller_id(key)?)
    }

    /// Returns true if it may ask for a run of this item.
    pub(crate) fn may_execute(&self, item: &Ref) -> bool {
        let is_in = |scope: &CallerScope| matches!(scope, CallerScope::Execute(pattern) if pattern.matches(item));
        self.scopes.iter().any(is_in)
    }

    pub(crate) fn may_use_objects(&self) -> bool {
        self.scopes.contains(&CallerScope::Objects)
    }

    /// Returns true if an item that it sent may be admitted, if its key may sign it. What decides
    /// about other items is never taken from a caller.
    pub(crate) fn may_send(&self, key: Fingerprint, item: &Ref) -> bool {
        let decides = item.is_hook() || item.kind == Kind::Config || item.id.is_reserved();
        !decides && self.signers.contains(&key)
    }

    /// Says that a folder holds what this caller sent.
    ///
    /// # Errors
    /// `trust.io`
    pub(crate) fn receive(
        &self,
        folder: ProjectIdentity,
        user: &Root,
        pair: &KeyPair,
        now: Timestamp,
    ) -> Result<(), TrustError> {
        let id = guest_id(&folder)?;
        let guest = Guest { caller: self.key.fingerprint().to_string(), folder };
        let body = toml::to_string(&guest)
            .map_err(|error| TrustError::NotFound { what: error.to_string() })?;
        write_own(user, &id, &body, pair, now).map(drop)
    }
}

/// Forgets that a folder holds what a caller sent.
///
/// # Errors
/// `trust.io`, `key.*`
pub(crate) fn forget_guest(user: &Root, folder: &ProjectIdentity) -> Result<(), TrustError> {
    remove_own(user, &guest_id(folder)?).map(drop)
}

fn guest_id(folder: &ProjectIdentity) -> Result<ItemId, TrustError> {
    let what = || format!("`{}` cannot be named by a record", folder.path.display());
    record_id(GUESTS, &folder.path).ok_or_else(|| TrustError::NotFound { what: what() })
}

fn caller_id(key: Fingerprint) -> Result<ItemId, TrustError> {
    let id = format!("keys/{CALLERS}/{key}");
    id.parse().map_err(|_| TrustError::NotFound { what: id })
}

impl NodeCaller {
    /// The caller with that key, unless the key was revoked.
    ///
    /// # Errors
    /// `verify.trust_unreadable`
    pub(crate) fn find(
        trust: &TrustStore<'_>,
        key: Fingerprint,
    ) -> Result<Option<Self>, Arc<TrustError>> {
        let Some((id, text)) = trust.read_about(key, CALLERS)? else { return Ok(None) };
        let unreadable = |why| TrustError::Unreadable {
            path: format!(".ai/config/{id}.toml"),
            why,
            help: Some(format!(
                "say it anew with `rye node authorize`, or `rye node revoke {key}`"
            )),
        };
        let caller = Self::parse(&text).map_err(|why| Arc::new(unreadable(why)))?;
        if caller.key.fingerprint() != key {
            return Err(Arc::new(unreadable("its name is not its fingerprint".into())));
        }
        Ok(Some(caller).filter(|_| !trust.is_revoked(key).unwrap_or(true)))
    }

    /// The keys that records name as callers, whether they count or not.
    pub(crate) fn all(trust: &TrustStore<'_>) -> Vec<Fingerprint> {
        let Some(user) = trust.user() else { return Vec::new() };
        let names = std::fs::read_dir(user.path(&format!("config/keys/{CALLERS}")));
        let names = names.into_iter().flatten().flatten().map(|entry| entry.file_name());
        let mut keys: Vec<Fingerprint> =
            names.filter_map(|name| name.to_str()?.strip_suffix(".toml")?.parse().ok()).collect();
        keys.sort_unstable();
        keys
    }

    /// The caller that sent what the folder holds; `None` for any other folder.
    ///
    /// # Errors
    /// `verify.trust_unreadable`
    pub(crate) fn that_sent(
        trust: &TrustStore<'_>,
        folder: &ProjectIdentity,
    ) -> Result<Option<Self>, Arc<TrustError>> {
        let (Some(user), Some(id)) = (trust.user(), record_id(GUESTS, &folder.path)) else {
            return Ok(None);
        };
        let Some(file) = OwnFile::find(user, &id, "toml")? else { return Ok(None) };
        let text = file.verified_text(trust.active_own_key()?, trust.now())?;
        let unreadable = |why: &str| {
            let path = format!(".ai/config/{id}.toml");
            Arc::new(TrustError::Unreadable { path, why: brief_line(why), help: None })
        };
        let Some(text) = text else { return Ok(None) };
        let guest: Guest = toml::from_str(&text).map_err(|error| unreadable(error.message()))?;
        let key = guest.caller.parse().map_err(|_| unreadable("`caller` is not a fingerprint"))?;
        if guest.folder.is(folder) { Self::find(trust, key) } else { Ok(None) }
    }
}

#[cfg(test)]
mod tests {
    use super::{CallerScope, NodeCaller};
    use crate::signature::KeyPair;

    #[test]
    fn a_caller_reaches_what_its_scopes_and_signers_name_and_never_what_decides() {
        let (caller, signer) = (KeyPair::generate().unwrap(), KeyPair::generate().unwrap());
        let scopes = ["execute:tool:acme/**", "objects"];
        let caller = NodeCaller {
            key: caller.public(),
            owner: "laptop".into(),
            scopes: scopes.iter().map(|scope| scope.parse().unwrap()).collect(),
            signers: vec![signer.public().fingerprint()],
        };
        for (item, runs) in [
            ("tool:acme/x", true),
            ("tool:acme/deep/x", true),
            ("directive:acme/x", false),
            ("tool:other/x", false),
        ] {
            assert_eq!(caller.may_execute(&item.parse().unwrap()), runs, "{item}");
        }
        for (item, sends) in [
            ("tool:acme/x", true),
            ("directive:acme/x", true),
            ("knowledge:other/x", true),
            ("tool:hooks/x", false),
            ("config:acme/x", false),
            ("tool:rye/bash", false),
        ] {
            let item = item.parse().unwrap();
            assert_eq!(caller.may_send(signer.public().fingerprint(), &item), sends, "{item}");
            assert!(!caller.may_send(caller.key.fingerprint(), &item), "another key: {item}");
        }
        for bad in ["", "execute", "execute:", "execute:acme/**", "objects:x", "threads"] {
            assert!(bad.parse::<CallerScope>().is_err(), "{bad}");
        }
        for scope in scopes {
            assert_eq!(scope.parse::<CallerScope>().unwrap().to_string(), scope);
        }
    }
}
