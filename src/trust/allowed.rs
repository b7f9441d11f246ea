//! The things that the person allowed by name: inside a project (core 7.6, 7.9; threads 6) programs
//! that run tools, version files, folders of packages, and providers of models; and servers of
//! sandboxes (threads 5). The records are signed, and each about a file holds its state at the time
//! when it was written.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::error::TrustError;
use super::own_file::{OwnFile, toml_comment, write_own};
use super::project::{check_nameable, record_id};
use super::store::TrustStore;
use crate::base::{Address, Timestamp};
use crate::id::ItemId;
use crate::signature::{KeyPair, without_line};
use crate::space::{ProjectIdentity, Root};

/// The folder of the records about programs and version files, below `config/keys`.
pub(crate) const INTERPRETERS: &str = "interpreters";
/// The folder of the records about folders of packages.
pub(crate) const DEPS: &str = "deps";

/// The folder of the records about providers of models.
pub(crate) const PROVIDERS: &str = "providers";

/// A provider of models, as it was when it was let in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ProviderIdentity {
    /// Its ref.
    pub(crate) item: String,
    /// Where its file lies.
    pub(crate) path: PathBuf,
    /// Of its text, without the signature.
    pub(crate) sha256: String,
    /// Where it is asked; a script is nowhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) base_url: Option<String>,
    /// The variable with the key that it is sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) credential_env: Option<String>,
}

impl ProviderIdentity {
    /// Returns the permit of the provider, as it is now.
    pub(crate) fn permit(&self, trust: &TrustStore<'_>) -> Permit {
        let Some(id) = record_id(PROVIDERS, &self.path) else { return Permit::Unknown };
        match trust.record::<Self>(&id) {
            Ok(None) => Permit::Unknown,
            Ok(Some(record)) => match record.changed(self) {
                None => Permit::Given,
                Some(why) => Permit::Stale(why.to_owned()),
            },
            Err(error) => Permit::Stale(format!("its record cannot be used: {error}")),
        }
    }

    /// The change since `self` was written; `None` if nothing has changed.
    fn changed(&self, now: &Self) -> Option<&'static str> {
        if (&self.path, &self.item) != (&now.path, &now.item) {
            return Some("the record is about another file");
        }
        if self.credential_env != now.credential_env {
            return Some("it wants another key now");
        }
        if self.base_url != now.base_url {
            return Some("it is at another address now");
        }
        (self.sha256 != now.sha256).then_some("the file was changed since")
    }
}

/// The folder of the records about servers of sandboxes.
pub(crate) const BACKENDS: &str = "backends";

/// The end of the address of every such server, which need not be written.
const VERSION_PATH: &str = "/v1";

/// A server on which sandboxes of threads may be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct BackendIdentity {
    /// Its address, without the version of its interface.
    pub(crate) url: String,
}

impl BackendIdentity {
    /// # Errors
    /// The fault of the address, to stand behind its name.
    pub(crate) fn parse(text: &str) -> Result<Self, &'static str> {
        let address = Address::parse(text)?;
        if text.contains('?') {
            return Err("has a query (`?…`), and a path comes behind it");
        }
        if !address.is_https() && !address.is_loopback() {
            return Err("is not encrypted; `http` leads to this machine alone");
        }
        let url = address.as_str().trim_end_matches('/');
        let url = url.strip_suffix(VERSION_PATH).unwrap_or(url).trim_end_matches('/');
        Ok(Self { url: url.to_owned() })
    }

    /// The address of its interface.
    pub(crate) fn versioned(&self) -> String {
        format!("{}{VERSION_PATH}", self.url)
    }

    /// Returns the permit of the server.
    pub(crate) fn permit(&self, trust: &TrustStore<'_>) -> Permit {
        let Some(id) = record_id(BACKENDS, Path::new(&self.url)) else { return Permit::Unknown };
        match trust.record::<Self>(&id) {
            Ok(Some(record)) if record == *self => Permit::Given,
            Ok(Some(_)) => Permit::Stale("its record is about another server".into()),
            Ok(None) => Permit::Unknown,
            Err(error) => Permit::Stale(format!("its record cannot be used: {error}")),
        }
    }
}

/// A program or a version file, identified by its path, target, size, time and content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FileIdentity {
    /// The path; its folder is resolved, and the file itself may be a link.
    pub(crate) path: PathBuf,
    /// The file that the path leads to.
    pub(crate) real: PathBuf,
    /// The size in bytes.
    pub(crate) size: u64,
    /// When the file last changed, in nanoseconds since 1970.
    pub(crate) ctime_ns: i64,
    /// SHA-256 of the small text that decides what the file does: a program's `pyvenv.cfg`, or the
    /// version file itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) text_sha256: Option<String>,
}

impl FileIdentity {
    /// The change since `self` was written; `None` if nothing has changed.
    fn changed(&self, now: &Self) -> Option<&'static str> {
        if self.path != now.path {
            return Some("the record is about another path");
        }
        if self.real != now.real {
            return Some("it leads to another file than it did then");
        }
        if (self.size, self.ctime_ns) != (now.size, now.ctime_ns) {
            return Some("the file was changed since");
        }
        (self.text_sha256 != now.text_sha256).then_some("its `pyvenv.cfg` was changed since")
    }
}

/// The answer of the person's records about something in a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Permit {
    Unknown,
    Given,
    /// There is a record that does not count, for this reason.
    Stale(String),
}

impl TrustStore<'_> {
    /// Returns the permit of this program or version file.
    pub(crate) fn permits_file(&self, file: &FileIdentity) -> Permit {
        let Some(id) = record_id(INTERPRETERS, &file.path) else { return Permit::Unknown };
        match self.record::<FileIdentity>(&id) {
            Ok(None) => Permit::Unknown,
            Ok(Some(record)) => match record.changed(file) {
                None => Permit::Given,
                Some(why) => Permit::Stale(why.to_owned()),
            },
            Err(error) => Permit::Stale(format!("its record cannot be used: {error}")),
        }
    }

    /// Every program and version file that a record names, also if the record does not count.
    pub(crate) fn allowed_files(&self) -> Vec<FileIdentity> {
        let Some(user) = self.user() else { return Vec::new() };
        let names = std::fs::read_dir(user.path(&format!("config/keys/{INTERPRETERS}")));
        let names = names.into_iter().flatten().flatten().map(|entry| entry.file_name());
        let ids = names.filter_map(|name| {
            let name = name.to_str()?.strip_suffix(".toml")?;
            format!("keys/{INTERPRETERS}/{name}").parse::<ItemId>().ok()
        });
        ids.filter_map(|id| self.record(&id).ok().flatten()).collect()
    }

    /// Returns the permit of this folder of packages.
    pub(crate) fn permits_deps(&self, folder: &ProjectIdentity) -> Permit {
        let Some(id) = record_id(DEPS, &folder.path) else { return Permit::Unknown };
        match self.record::<ProjectIdentity>(&id) {
            Ok(None) => Permit::Unknown,
            Ok(Some(record)) if record.is(folder) => Permit::Given,
            Ok(Some(_)) => Permit::Stale("another folder lies there now".into()),
            Err(error) => Permit::Stale(format!("its record cannot be used: {error}")),
        }
    }

    /// Your record with that id, if there is one.
    ///
    /// # Errors
    /// `verify.trust_unreadable`
    pub(crate) fn record<T: DeserializeOwned>(
        &self,
        id: &ItemId,
    ) -> Result<Option<T>, Arc<TrustError>> {
        let text = own_text(self, id)?;
        let parse = |text: String| {
            toml::from_str(&text).map_err(|e| TrustError::Unreadable {
                path: format!(".ai/config/{id}.toml"),
                why: e.message().to_owned(),
                help: None,
            })
        };
        text.map(parse).transpose().map_err(Arc::new)
    }
}

/// Writes the record that allows a program or a version file.
///
/// # Errors
/// `trust.io`, `trust.not_found` for a path that is not UTF-8.
pub(crate) fn allow_file(
    user: &Root,
    pair: &KeyPair,
    file: &FileIdentity,
    now: Timestamp,
) -> Result<(), TrustError> {
    write(user, pair, INTERPRETERS, &file.path, file, now)
}

/// Writes the record that allows a folder of packages.
///
/// # Errors
/// `trust.io`, `trust.not_found` for a path that is not UTF-8.
pub(crate) fn allow_deps(
    user: &Root,
    pair: &KeyPair,
    folder: &ProjectIdentity,
    now: Timestamp,
) -> Result<(), TrustError> {
    write(user, pair, DEPS, &folder.path, folder, now)
}

/// Writes the record that allows a provider of models.
///
/// # Errors
/// `trust.io`, `trust.not_found` for a path that is not UTF-8.
pub(crate) fn allow_provider(
    user: &Root,
    pair: &KeyPair,
    provider: &ProviderIdentity,
    now: Timestamp,
) -> Result<(), TrustError> {
    write(user, pair, PROVIDERS, &provider.path, provider, now)
}

/// Writes the record that allows a server of sandboxes.
///
/// # Errors
/// `trust.io`
pub(crate) fn allow_backend(
    user: &Root,
    pair: &KeyPair,
    server: &BackendIdentity,
    now: Timestamp,
) -> Result<(), TrustError> {
    write(user, pair, BACKENDS, Path::new(&server.url), server, now)
}

fn write(
    user: &Root,
    pair: &KeyPair,
    kind: &str,
    path: &Path,
    record: &impl Serialize,
    now: Timestamp,
) -> Result<(), TrustError> {
    check_nameable(path)?;
    let named = record_id(kind, path);
    let id = named.ok_or(TrustError::NotFound { what: "no record can be named".into() })?;
    let body = toml::to_string(record).map_err(|e| TrustError::NotFound { what: e.to_string() })?;
    write_own(user, &id, &body, pair, now).map(|_| ())
}

/// The text of `config/<id>.toml` of the user space, which your own key must have signed,
/// without its signature line.
///
/// # Errors
/// `verify.trust_unreadable`
pub(crate) fn own_text(
    trust: &TrustStore<'_>,
    id: &ItemId,
) -> Result<Option<String>, Arc<TrustError>> {
    let Some(user) = trust.user() else { return Ok(None) };
    // Usually there is no such record, and then no key is read.
    let Some(file) = OwnFile::find(user, id, "toml").map_err(Arc::new)? else {
        return Ok(None);
    };
    let text = file.verified_text(trust.active_own_key()?, trust.now()).map_err(Arc::new)?;
    let bare = |text: String| without_line(text.as_bytes(), &toml_comment());
    Ok(text.map(|text| String::from_utf8(bare(text)).expect("a line of a text was taken out")))
}

#[cfg(test)]
mod tests {
    use super::{BackendIdentity, FileIdentity, ProviderIdentity};

    #[test]
    fn a_server_has_one_name_and_nothing_is_sent_to_another_machine_in_the_open() {
        let url = |text: &str| BackendIdentity::parse(text).map(|server| server.url);
        for (text, want) in [
            ("http://localhost:8080", "http://localhost:8080"),
            ("http://127.0.0.1:8080/v1/", "http://127.0.0.1:8080"),
            ("HTTPS://Box.example:443/a/v1", "https://box.example/a"),
        ] {
            assert_eq!(url(text).as_deref(), Ok(want), "{text}");
        }
        for bad in ["http://10.0.0.7:8080", "https://u:p@h/", "https://h/?k=v", "box", ""] {
            assert!(url(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_record_fits_one_state_of_one_provider() {
        let record = ProviderIdentity {
            item: "tool:acme/model".into(),
            path: "/p/.ai/tools/acme/model.yaml".into(),
            sha256: "ab".into(),
            base_url: Some("https://api.example/v1".into()),
            credential_env: Some("ACME_KEY".into()),
        };
        let text = toml::to_string(&record).unwrap();
        assert_eq!(toml::from_str::<ProviderIdentity>(&text).unwrap(), record);
        assert_eq!(record.changed(&record.clone()), None);
        for other in [
            ProviderIdentity { item: "tool:acme/other".into(), ..record.clone() },
            ProviderIdentity { path: "/q/.ai/tools/acme/model.yaml".into(), ..record.clone() },
            ProviderIdentity { sha256: "cd".into(), ..record.clone() },
            ProviderIdentity { base_url: None, ..record.clone() },
            ProviderIdentity { credential_env: Some("HOME".into()), ..record.clone() },
        ] {
            assert!(record.changed(&other).is_some(), "{other:?}");
        }
    }

    #[test]
    fn a_record_fits_one_state_of_one_file() {
        let record = FileIdentity {
            path: "/p/.venv/bin/python3".into(),
            real: "/usr/bin/python3.11".into(),
            size: 7,
            ctime_ns: 1_700_000_000_123_456_789,
            text_sha256: Some("ab".into()),
        };
        let text = toml::to_string(&record).unwrap();
        assert_eq!(toml::from_str::<FileIdentity>(&text).unwrap(), record);
        assert_eq!(record.changed(&record.clone()), None);
        for other in [
            FileIdentity { path: "/p/x".into(), ..record.clone() },
            FileIdentity { real: "/p/evil".into(), ..record.clone() },
            FileIdentity { size: 8, ..record.clone() },
            FileIdentity { ctime_ns: 1, ..record.clone() },
            FileIdentity { text_sha256: None, ..record.clone() },
        ] {
            assert!(record.changed(&other).is_some(), "{other:?}");
        }
    }
}
