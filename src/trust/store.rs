//! Whom the person believes (core 4.2–4.5).

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock};

use serde::Deserialize;

use super::dev_key::{self, Delegate};
use super::document::{DocumentFault, TrustDocument};
use super::error::{KeyError, TrustError};
use super::named_keys::NamedKeys;
use super::own_file::OwnFile;
use super::own_keys::OwnKeys;
use super::policy::OwnPolicy;
use super::project::{AcceptedProject, AllowedRoot};
use super::revocation::Revocation;
use super::scope::{OutOfScope, elsewhere, names_others, scope_of};
use crate::base::Timestamp;
use crate::base::limits::OWN_CONFIG_BYTES;
use crate::base::sync::unpoisoned;
use crate::base::text::brief_line;
use crate::diagnostic::Diagnose;
use crate::id::{Fingerprint, ItemId, Ref, Space};
use crate::signature::{EXAMPLE, PUBLISHER, PublicKey, publisher};
use crate::space::{FileTypes, ProjectIdentity, Root};

/// The documents about one key, read once per run.
#[derive(Debug, Default)]
struct Known {
    document: Option<TrustDocument>,
    /// A document names the key, but the key is weak and proves nothing.
    weak: bool,
    /// It signs for you in one project.
    delegate: Option<Delegate>,
}

/// A value that was read about a key, or why reading failed.
type Memo<T> = Result<T, Arc<TrustError>>;

/// The status of a fingerprint by the person's documents.
pub(crate) enum KeyStatus {
    /// Nothing.
    Unknown,
    /// They name a weak key.
    Weak,
    Key(Box<TrustedKey>),
    /// A dev key of yours.
    Dev(Box<Delegate>),
}

/// A key that may admit something, and the name that is shown for it.
pub(crate) struct TrustedKey {
    pub(crate) key: PublicKey,
    pub(crate) owner: String,
    pub(crate) not_after: Option<Timestamp>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RegisteredType {
    comment: String,
    #[expect(dead_code, reason = "the block is the one header form of a registered type")]
    header: BlockHeader,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum BlockHeader {
    Block,
}

/// The keys that a person trusts, from their user space, and the publisher's key.
///
/// Invariant: everything here was said by the user's own key, is the publisher constant, or was
/// named by the caller; there is no constructor that takes a project root. Only documents about
/// keys that a run meets are read.
pub(crate) struct TrustStore<'a> {
    user: Option<&'a Root>,
    /// Keys that stand in for all that a user space says.
    pub(super) given: Option<&'a NamedKeys>,
    now: Timestamp,
    refuses_dev_keys: bool,
    own: OnceLock<Result<Option<PublicKey>, Arc<KeyError>>>,
    own_revoked: OnceLock<bool>,
    known: Mutex<HashMap<Fingerprint, Memo<Arc<Known>>>>,
    revoked: Mutex<HashMap<Fingerprint, Memo<bool>>>,
    accepted: Mutex<Option<(ProjectIdentity, bool)>>,
    policy: OnceLock<Result<OwnPolicy, Arc<TrustError>>>,
}

impl<'a> TrustStore<'a> {
    pub(crate) fn new(user: Option<&'a Root>, now: Timestamp) -> Self {
        Self {
            user,
            given: None,
            now,
            refuses_dev_keys: false,
            own: OnceLock::new(),
            own_revoked: OnceLock::new(),
            known: Mutex::new(HashMap::new()),
            revoked: Mutex::new(HashMap::new()),
            accepted: Mutex::new(None),
            policy: OnceLock::new(),
        }
    }

    /// The store without dev keys: for CI, and for checks whose result is kept.
    pub(crate) fn refusing_dev_keys(self, refuses: bool) -> Self {
        Self { refuses_dev_keys: refuses, ..self }
    }

    pub(crate) fn refuses_dev_keys(&self) -> bool {
        self.refuses_dev_keys
    }

    /// A store without a user space; `own` is its own key.
    #[cfg(any(test, feature = "fuzz"))]
    pub(crate) fn of_key(own: PublicKey, now: Timestamp) -> Self {
        let store = Self::new(None, now);
        store.own.get_or_init(|| Ok(Some(own)));
        store
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.now
    }

    pub(super) fn user(&self) -> Option<&'a Root> {
        self.user
    }

    /// The user's own public key.
    ///
    /// # Errors
    /// A key file that is there but cannot be used.
    pub(crate) fn own(&self) -> Result<Option<&PublicKey>, Arc<KeyError>> {
        let own = self.own.get_or_init(|| match self.user {
            Some(user) => OwnKeys::new(user).find_public().map_err(Arc::new),
            None => Ok(None),
        });
        own.as_ref().map(Option::as_ref).map_err(Arc::clone)
    }

    /// Returns true if the person accepted this project.
    ///
    /// # Errors
    /// `verify.trust_unreadable`
    pub(crate) fn accepts(&self, project: &ProjectIdentity) -> Result<bool, Arc<TrustError>> {
        let mut memo = unpoisoned(self.accepted.lock());
        if let Some((known, accepted)) = memo.as_ref()
            && known == project
        {
            return Ok(*accepted);
        }
        let accepted = match self.user {
            _ if self.given.is_some() => self.given.is_some_and(|given| given.accepts(project)),
            Some(user) => AcceptedProject::accepts(user, self.active_own_key()?, project, self.now)
                .map_err(Arc::new)?,
            None => false,
        };
        *memo = Some((project.clone(), accepted));
        Ok(accepted)
    }

    /// Returns true if the person allowed a folder that others own or can write.
    pub(crate) fn allows_root(&self, folder: &ProjectIdentity) -> bool {
        let own = self.active_own_key().ok().flatten();
        self.user.is_some_and(|user| AllowedRoot::allows(user, own, folder, self.now))
    }

    /// Returns true if the person's policy lets a copy of this reserved id stand in a nearer space.
    ///
    /// # Errors
    /// `verify.trust_unreadable`
    pub(crate) fn may_shadow(&self, id: &ItemId) -> Result<bool, Arc<TrustError>> {
        Ok(self.policy()?.may_shadow(id))
    }

    /// Returns true if the person's policy asks for a receipt of every run of a tool.
    ///
    /// # Errors
    /// `verify.trust_unreadable`
    pub(crate) fn wants_receipts(&self) -> Result<bool, Arc<TrustError>> {
        Ok(self.policy()?.wants_receipts())
    }

    /// The hooks without which no tool is called, by the person's policy.
    ///
    /// # Errors
    /// `verify.trust_unreadable`
    pub(crate) fn required_hooks(&self) -> Result<&[ItemId], Arc<TrustError>> {
        Ok(self.policy()?.required_hooks())
    }

    /// Returns true if the person's policy lets this tool run without a sandbox.
    ///
    /// # Errors
    /// `verify.trust_unreadable`
    pub(crate) fn lets_out(&self, item: &Ref) -> Result<bool, Arc<TrustError>> {
        Ok(self.policy()?.lets_out(item))
    }

    /// The person's policy, for what is not asked by a method of its own.
    ///
    /// # Errors
    /// `verify.trust_unreadable` for a policy that cannot be used.
    pub(crate) fn policy(&self) -> Result<&OwnPolicy, Arc<TrustError>> {
        let policy = self.policy.get_or_init(|| {
            let text = self.own_config("rye/policy").map_err(Arc::new)?;
            let Some((path, text)) = text else { return Ok(OwnPolicy::default()) };
            OwnPolicy::parse(&text)
                .map_err(|why| Arc::new(TrustError::Unreadable { path, why, help: None }))
        });
        policy.as_ref().map_err(Arc::clone)
    }

    /// The built-in file types and those that the user registered.
    ///
    /// # Errors
    /// `verify.trust_unreadable`
    pub(crate) fn file_types(&self) -> Result<FileTypes, TrustError> {
        let Some((path, text)) = self.own_config("rye/file-types")? else {
            return Ok(FileTypes::default());
        };
        register(&text).map(|(types, _)| types).map_err(|why| TrustError::Unreadable {
            path,
            why,
            help: None,
        })
    }

    /// A config file of the user space that your own key must have signed; with its path.
    fn own_config(&self, id: &str) -> Result<Option<(String, String)>, TrustError> {
        let Some(user) = self.user else { return Ok(None) };
        let Ok(id) = id.parse::<ItemId>() else { return Ok(None) };
        for ext in ["yaml", "yml"] {
            // Usually there is no such file, and then no key is read.
            let Some(file) = OwnFile::find(user, &id, ext)? else { continue };
            let path = format!(".ai/config/{id}.{ext}");
            let own = self.own().map_err(|e| unusable_key(&path, &e))?;
            let own = own.filter(|_| !self.own_is_revoked());
            if let Some(text) = file.verified_text(own, self.now)? {
                return Ok(Some((path, text)));
            }
        }
        Ok(None)
    }

    fn own_or_err(&self) -> Result<Option<&PublicKey>, Arc<TrustError>> {
        self.own().map_err(|e| Arc::new(unusable_key("config/keys/signing", &e)))
    }

    /// Your own key, unless you revoked it. After that nothing that it signed counts, except
    /// revocations.
    pub(super) fn active_own_key(&self) -> Result<Option<&PublicKey>, Arc<TrustError>> {
        let Some(own) = self.own_or_err()? else { return Ok(None) };
        if !self.own_is_revoked() {
            return Ok(Some(own));
        }
        Err(Arc::new(TrustError::Unreadable {
            path: format!(".ai/config/keys/revoked/{}.toml", own.fingerprint()),
            why: "you revoked your own key, so nothing that it said counts".into(),
            help: Some("make another with `rye keys rotate`".into()),
        }))
    }

    /// Returns true if there is a revocation of your own key. One that cannot be read counts as
    /// well.
    pub(crate) fn own_is_revoked(&self) -> bool {
        let (Some(user), Ok(Some(own))) = (self.user, self.own()) else { return false };
        *self.own_revoked.get_or_init(|| {
            let relative = format!("config/keys/revoked/{}.toml", own.fingerprint());
            !matches!(user.read(&relative), Ok(None))
        })
    }

    /// Documents about `key`; memoised.
    fn known(&self, key: Fingerprint) -> Result<Arc<Known>, Arc<TrustError>> {
        let mut memo = unpoisoned(self.known.lock());
        memo.entry(key).or_insert_with(|| self.read_known(key).map(Arc::new)).clone()
    }

    fn read_known(&self, key: Fingerprint) -> Result<Known, Arc<TrustError>> {
        if let Some(given) = self.given {
            return Ok(Known { document: given.document(key).cloned(), ..Known::default() });
        }
        let Some((id, text)) = self.read_about(key, "trusted")? else {
            let delegate = self.read_delegate(key)?;
            return Ok(Known { delegate, ..Known::default() });
        };
        match TrustDocument::parse(&text) {
            Ok(document) if document.fingerprint == key => {
                Ok(Known { document: Some(document), ..Known::default() })
            }
            Ok(_) => Err(unreadable(&id, "its name is not its fingerprint".into())),
            Err(DocumentFault::Weak) => Ok(Known { weak: true, ..Known::default() }),
            Err(DocumentFault::Wrong(why)) => Err(unreadable(&id, why)),
        }
    }

    /// The document about `key` in a folder below `config/keys`, if you wrote one.
    pub(super) fn read_about(
        &self,
        key: Fingerprint,
        folder: &str,
    ) -> Result<Option<(ItemId, String)>, Arc<TrustError>> {
        let Some(user) = self.user else { return Ok(None) };
        let Ok(id) = format!("keys/{folder}/{key}").parse::<ItemId>() else { return Ok(None) };
        // Usually there is no such file, and then no key is read.
        let Some(file) = OwnFile::find(user, &id, "toml").map_err(Arc::new)? else {
            return Ok(None);
        };
        let own = if folder == "revoked" { self.own_or_err()? } else { self.active_own_key()? };
        let text = file.verified_text(own, self.now).map_err(Arc::new)?;
        Ok(text.map(|text| (id, text)))
    }

    fn read_revoked(&self, key: Fingerprint) -> Result<bool, Arc<TrustError>> {
        let Some((id, text)) = self.read_about(key, "revoked")? else { return Ok(false) };
        let revocation: Revocation =
            toml::from_str(&text).map_err(|e| unreadable(&id, e.message().to_owned()))?;
        if revocation.fingerprint != key.to_string() {
            return Err(unreadable(&id, "its name is not its fingerprint".into()));
        }
        Ok(true)
    }

    /// Returns true if the person revoked the key.
    pub(crate) fn is_revoked(&self, key: Fingerprint) -> Result<bool, Arc<TrustError>> {
        let mut memo = unpoisoned(self.revoked.lock());
        memo.entry(key).or_insert_with(|| self.read_revoked(key)).clone()
    }

    /// The name of a key's owner if it is known, for messages only.
    pub(crate) fn owner(&self, key: Fingerprint) -> Option<String> {
        if key == PUBLISHER {
            return Some("rye".into());
        }
        if self.own().ok().flatten().is_some_and(|own| own.fingerprint() == key) {
            return Some("you".into());
        }
        let known = self.known(key).ok()?;
        if known.delegate.is_some() {
            return Some(dev_key::DEV_OWNER.into());
        }
        known.document.as_ref().map(|document| document.owner.clone())
    }

    /// Returns true if a key is yours and not revoked: your own key, one that you rotated and still
    /// trust, or a dev key.
    pub(crate) fn is_yours(&self, key: Fingerprint) -> bool {
        let was_own = || {
            let known = self.known(key);
            known.is_ok_and(|known| known.document.as_ref().is_some_and(|said| said.was_own))
                && self.read_about(key, "rotated").is_ok_and(|found| found.is_some())
        };
        let is_own = || self.own().ok().flatten().is_some_and(|own| own.fingerprint() == key);
        let signs_for_you = || self.read_delegate(key).is_ok_and(|found| found.is_some());
        let is_revoked = self.is_revoked(key).unwrap_or(true);
        !is_revoked && (is_own() || was_own() || signs_for_you())
    }

    /// The trust document about a key, if there is one.
    ///
    /// # Errors
    /// `verify.trust_unreadable`
    pub(crate) fn document(
        &self,
        key: Fingerprint,
    ) -> Result<Option<TrustDocument>, Arc<TrustError>> {
        Ok(self.known(key)?.document.clone())
    }

    /// The key with that fingerprint, if the person trusts it at all, and until when in `project`.
    ///
    /// # Errors
    /// `verify.trust_unreadable`
    pub(crate) fn key_status(
        &self,
        key: Fingerprint,
        project: Option<&ProjectIdentity>,
    ) -> Result<KeyStatus, Arc<TrustError>> {
        let certain = |key: PublicKey, owner: &str| {
            KeyStatus::Key(Box::new(TrustedKey { key, owner: owner.to_owned(), not_after: None }))
        };
        if key == PUBLISHER {
            return Ok(publisher().map_or(KeyStatus::Weak, |key| certain(key, "rye")));
        }
        if let Some(own) = self.own_or_err()?
            && own.fingerprint() == key
        {
            return Ok(certain(own.clone(), "you"));
        }
        let known = self.known(key)?;
        Ok(match &known.document {
            None if known.weak => KeyStatus::Weak,
            None => match &known.delegate {
                Some(delegate) => KeyStatus::Dev(Box::new(delegate.clone())),
                None => KeyStatus::Unknown,
            },
            Some(document) => KeyStatus::Key(Box::new(TrustedKey {
                key: document.public_key.clone(),
                owner: document.owner.clone(),
                not_after: document.as_in(project).scope.not_after,
            })),
        })
    }

    /// The key with that fingerprint, if the person trusts it and did not revoke it. Scope and time
    /// are not checked.
    pub(crate) fn believed_key(&self, key: Fingerprint) -> Option<PublicKey> {
        if self.is_revoked(key).unwrap_or(true) {
            return None;
        }
        match self.key_status(key, None) {
            Ok(KeyStatus::Key(trusted)) => Some(trusted.key),
            Ok(KeyStatus::Dev(delegate)) => Some(delegate.key),
            _ => None,
        }
    }

    /// Returns true if the example key was trusted with `rye trust add --example`.
    pub(crate) fn lets_in_example(&self) -> bool {
        self.known(EXAMPLE).is_ok_and(|known| known.document.as_ref().is_some_and(|d| d.example))
    }

    /// Why `key` may not sign `item` in that place; `None` if it may (core 4.2, 4.4).
    ///
    /// # Errors
    /// `verify.trust_unreadable`
    pub(crate) fn out_of_scope(
        &self,
        key: Fingerprint,
        item: &Ref,
        space: Space,
        embedded: bool,
        project: Option<&ProjectIdentity>,
    ) -> Result<Option<OutOfScope>, Arc<TrustError>> {
        if key == PUBLISHER {
            return Ok((space != Space::System).then_some(OutOfScope::PublisherElsewhere));
        }
        if embedded {
            return Ok(Some(OutOfScope::Embedded));
        }
        let is_own = self.own_or_err()?.is_some_and(|own| own.fingerprint() == key);
        if is_own && space != Space::System {
            let allowed = self.own_may_sign(item, space)?;
            return Ok((!allowed).then_some(OutOfScope::OwnReserved));
        }
        let known = self.known(key)?;
        if let Some(delegate) = &known.delegate {
            return Ok(delegate.out_of_scope(item, space, project).map(OutOfScope::DevKey));
        }
        let of_project = project.filter(|_| space == Space::Project);
        let Some(document) = &known.document else {
            return Ok(Some(OutOfScope::SystemUnnamed));
        };
        for document in document.answers_in(of_project) {
            let as_own = document.was_own && document.scope.items.is_none();
            let why = match as_own && space != Space::System {
                true if !self.own_may_sign(item, space)? => Some(OutOfScope::OwnReserved),
                true => elsewhere(&document, space, project),
                false => scope_of(&document, item, space, project),
            };
            if why.is_some() {
                return Ok(why);
            }
        }
        Ok(None)
    }

    /// Returns true if the person trusts the key in other projects than this one only.
    ///
    /// # Errors
    /// `verify.trust_unreadable`
    pub(super) fn is_elsewhere(
        &self,
        key: Fingerprint,
        here: Option<&ProjectIdentity>,
    ) -> Result<bool, Arc<TrustError>> {
        if self.own_or_err()?.is_some_and(|own| own.fingerprint() == key) {
            return Ok(false);
        }
        Ok(self.known(key)?.document.as_ref().is_some_and(|document| names_others(document, here)))
    }

    fn own_may_sign(&self, item: &Ref, space: Space) -> Result<bool, Arc<TrustError>> {
        if !item.id.is_reserved() {
            return Ok(true);
        }
        if space != Space::User {
            return Ok(false);
        }
        Ok(item.is_own_config() || self.may_shadow(&item.id)?)
    }
}

fn unreadable(id: &ItemId, why: String) -> Arc<TrustError> {
    Arc::new(TrustError::Unreadable { path: format!(".ai/config/{id}.toml"), why, help: None })
}

fn unusable_key(path: &str, error: &KeyError) -> TrustError {
    // The advice for the key applies here as well.
    TrustError::Unreadable { path: path.to_owned(), why: error.to_string(), help: error.help() }
}

/// Checks the text of `rye/policy` or `rye/file-types`; signing asks this first.
///
/// # Errors
/// One sentence.
pub(crate) fn check_own_config(id: &str, ext: &str, text: &str) -> Result<(), String> {
    if ext == "toml" {
        return Err("it is read as YAML only; name it `.yaml`".into());
    }
    match id {
        "rye/policy" => OwnPolicy::parse(text).map(|_| ()),
        _ => match register(text)? {
            (_, Some(known)) => Err(format!("`{known}` has a meaning already")),
            (_, None) => Ok(()),
        },
    }
}

pub(super) fn yaml<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, String> {
    if text.len() > OWN_CONFIG_BYTES {
        return Err(format!("it is larger than {} KiB", OWN_CONFIG_BYTES >> 10));
    }
    serde_yaml::from_str(text).map_err(|e| brief_line(&e.to_string()))
}

/// The built-in types and those of the text; and the first built-in extension that the text tries
/// to redefine.
fn register(text: &str) -> Result<(FileTypes, Option<String>), String> {
    let mut types = FileTypes::default();
    let mut known = None;
    let registered: std::collections::BTreeMap<String, RegisteredType> = yaml(text)?;
    for (extension, registered) in registered {
        let plain = |b: u8| b.is_ascii_alphanumeric();
        if extension.is_empty() || extension.len() > 16 || !extension.bytes().all(plain) {
            return Err(format!("`{}` is not a valid file extension", brief_line(&extension)));
        }
        let comment = registered.comment.trim();
        let printable = comment.bytes().all(|b| b.is_ascii_graphic());
        if comment.is_empty() || comment.len() > 8 || !printable {
            return Err(format!("`{extension}` has no usable comment opener"));
        }
        if !types.register(extension.clone(), comment) {
            known = Some(extension);
        }
    }
    Ok((types, known))
}

#[cfg(test)]
mod tests {
    use super::check_own_config;

    #[test]
    fn an_own_config_is_read_in_time_and_refused_in_one_line() {
        let check = |id: &str, text: &str| check_own_config(id, "yaml", text);
        assert_eq!(check("rye/policy", "allow_shadow: [rye/bash]"), Ok(()));
        assert_eq!(check("rye/file-types", "sql: {comment: '--', header: block}"), Ok(()));
        for (id, text, why) in [
            ("rye/policy", "[".repeat(4 << 20), "it is larger than 64 KiB"),
            ("rye/file-types", "- ".repeat(2 << 20), "it is larger than 64 KiB"),
            (
                "rye/file-types",
                "\"a\\n\\e[2J\": {comment: '--', header: block}".into(),
                "`a\\n\\u{1b}[2J` is",
            ),
            ("rye/policy", "\"a\\tb\": 1".into(), "`a\\tb`"),
        ] {
            let error = check(id, &text).expect_err("a fault");
            assert!(error.contains(why) && !error.contains(char::is_control), "{error}");
        }
    }
}
