//! The seam to a store of objects, and all that is the same for every one.

use std::collections::{BTreeMap, HashSet};
use std::io::Read;
use std::str::FromStr;
use std::time::Duration;

use super::error::StoreError;
use super::kinds::{NamedObject, named_by};
use crate::base::Digest;

/// Most bytes of an object. One is read whole, so that none of it is given before its digest is
/// known.
pub(crate) const OBJECT_BYTES: u64 = 64 << 20;

/// The time for which an object that no ref reaches is kept, unless a person says otherwise: as
/// long as a slow push may take.
pub(crate) const GRACE: Duration = Duration::from_hours(1);

/// Longest name of a ref in bytes.
const REF_NAME_BYTES: usize = 128;

/// Objects by the SHA-256 of their bytes, and the refs that hold them.
///
/// Promises of every store, which `battery` below checks: `get` gives the bytes of that
/// digest or an error, whatever lies there. After `set_ref`, every object that the ref reaches
/// stays until the ref is set anew or removed, whatever other processes put and collect.
pub(crate) trait ObjectStore: Send + Sync {
    /// Puts the object of this digest from its bytes, and gives their number. One that is there
    /// counts as new.
    ///
    /// # Errors
    /// `store.malformed` for other bytes, or too many; `store.io`. Nothing was put then.
    fn put(&self, digest: Digest, bytes: &mut dyn Read) -> Result<u64, StoreError>;

    /// # Errors
    /// `store.not_found`, `store.altered`, `store.io`
    fn get(&self, digest: Digest) -> Result<Vec<u8>, StoreError>;

    /// The objects of these that are not there. The others count as new, so that they stay for the
    /// grace period.
    ///
    /// # Errors
    /// `store.io`
    fn missing(&self, digests: &[Digest]) -> Result<Vec<Digest>, StoreError>;

    /// Holds these objects, and all that they name, under a name; what it held before is let go.
    ///
    /// # Errors
    /// `store.not_found` if any is missing, `store.altered`, `store.io`. The ref is as it was then.
    fn set_ref(&self, name: &RefName, objects: &[Digest]) -> Result<(), StoreError>;

    /// Lets go what the ref holds; there may be no such ref.
    ///
    /// # Errors
    /// `store.io`
    fn remove_ref(&self, name: &RefName) -> Result<(), StoreError>;

    /// # Errors
    /// `store.malformed`, `store.io`
    fn refs(&self) -> Result<BTreeMap<RefName, Vec<Digest>>, StoreError>;

    /// Every object with its size, unread.
    ///
    /// # Errors
    /// `store.io`
    fn list(&self) -> Result<Vec<(Digest, u64)>, StoreError>;

    /// Removes the objects that no ref reaches and that were not put for the grace period; with
    /// `is_dry_run` it only counts them.
    ///
    /// # Errors
    /// `store.malformed` for a ref that cannot be read, `store.io`
    fn collect(&self, grace: Duration, is_dry_run: bool) -> Result<Garbage, StoreError>;
}

/// The outcome of a collection.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Garbage {
    pub(crate) removed: u64,
    pub(crate) removed_bytes: u64,
    pub(crate) kept: u64,
    /// Objects that a ref reaches, and that are missing or altered.
    pub(crate) lost: Vec<Digest>,
}

/// The name of a ref: letters and digits of ASCII, `-`, `_` and `.`, of which the last is not
/// first.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct RefName(Box<str>);

impl RefName {
    /// The ref of that kind for a run: `PREFIX-` and the digest of its id.
    pub(crate) fn of_run(prefix: &str, run_id: &str) -> Self {
        let name = format!("{prefix}-{}", Digest::of(run_id.as_bytes()));
        name.parse().expect("a prefix and hex digits are a plain name")
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for RefName {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        match !text.is_empty() && text.len() <= REF_NAME_BYTES && text.bytes().all(is_plain) {
            true if !text.starts_with('.') => Ok(Self(text.into())),
            _ => Err("is not a name of letters, digits, `-`, `_` and `.`"),
        }
    }
}

/// Every object that these reach, themselves among them. Only objects that may name others are
/// read. `failed` is told of each that cannot be, and says if that ends the walk.
///
/// # Errors
/// Those of `failed`.
pub(crate) fn reached(
    store: &dyn ObjectStore,
    from: impl IntoIterator<Item = Digest>,
    failed: &mut dyn FnMut(Digest, StoreError) -> Result<(), StoreError>,
) -> Result<HashSet<Digest>, StoreError> {
    let mut read: HashSet<Digest> = HashSet::new();
    let mut all = HashSet::new();
    let mut ahead: Vec<Digest> = from.into_iter().collect();
    while let Some(digest) = ahead.pop() {
        all.insert(digest);
        if !read.insert(digest) {
            continue;
        }
        match store.get(digest) {
            Ok(bytes) => {
                for named in named_by(&bytes) {
                    match named {
                        NamedObject::Blob(blob) => drop(all.insert(blob)),
                        NamedObject::Any(object) => ahead.push(object),
                    }
                }
            }
            Err(error) => failed(digest, error)?,
        }
    }
    Ok(all)
}

/// Reads every object; gives the number and the bytes of those that are what their names say.
///
/// # Errors
/// `store.altered` with all that are not; `store.io`
pub(crate) fn verify(store: &dyn ObjectStore) -> Result<(u64, u64), StoreError> {
    let (mut count, mut total, mut digests) = (0, 0, Vec::new());
    for (digest, _) in store.list()? {
        match store.get(digest) {
            Ok(bytes) => (count, total) = (count + 1, total + bytes.len() as u64),
            Err(StoreError::Altered { .. }) => digests.push(digest),
            // Another process collected it.
            Err(StoreError::NotFound { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    if digests.is_empty() { Ok((count, total)) } else { Err(StoreError::Altered { digests }) }
}
