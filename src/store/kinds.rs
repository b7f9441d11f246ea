//! Kinds of objects: blobs, which are any bytes, and documents in canonical JSON that say their
//! kind and name others.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::error::StoreError;
use super::manifest::TreeManifest;
use super::objects::{OBJECT_BYTES, ObjectStore};
use crate::base::json_reader::typed;
use crate::base::{Digest, Timestamp, canon};

/// The version of the documents.
const SCHEMA: u64 = 1;

/// An object that another one names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NamedObject {
    /// Whatever its bytes are, it names no other.
    Blob(Digest),
    /// Its bytes say its kind.
    Any(Digest),
}

/// A kind of document. It is written with `kind` and `schema` beside its own fields.
pub(crate) trait StoredKind: Serialize + DeserializeOwned {
    const KIND: &'static str;
    /// Most bytes of its text.
    const MOST: u64 = OBJECT_BYTES;

    fn named(&self) -> Vec<NamedObject>;

    /// Its one text.
    ///
    /// # Errors
    /// One clause, if it is too large.
    fn to_text(&self) -> Result<Vec<u8>, String> {
        let mut document = serde_json::to_value(self).map_err(|error| error.to_string())?;
        document["kind"] = Self::KIND.into();
        document["schema"] = SCHEMA.into();
        let text = canon::write(&document).map_err(|error| error.to_string())?;
        match text.len() as u64 <= Self::MOST {
            true => Ok(text),
            false => Err(format!("is larger than {} MiB", Self::MOST >> 20)),
        }
    }

    /// Reads a document of this kind from its one text.
    ///
    /// # Errors
    /// One clause that says why it is none.
    fn read(text: &[u8]) -> Result<Self, String> {
        if text.len() as u64 > Self::MOST {
            return Err(format!("is larger than {} MiB", Self::MOST >> 20));
        }
        let read = || {
            let (kind, fields) = kind_and_fields(text)?;
            if kind != Self::KIND {
                return Err(format!("it is a `{kind}`"));
            }
            let read: Self = typed(fields).map_err(|error| error.to_string())?;
            // A field that is missing and one that is null are told apart here.
            match read.to_text()? == text {
                true => Ok(read),
                false => Err("it is written in another way".to_owned()),
            }
        };
        read().map_err(|why| format!("is not a {}: {why}", Self::KIND))
    }
}

fn kind_and_fields(text: &[u8]) -> Result<(String, Value), String> {
    let Value::Object(mut fields) = canon::read(text).map_err(|error| error.to_string())? else {
        return Err("it is another JSON value".into());
    };
    if fields.remove("schema") != Some(SCHEMA.into()) {
        return Err(format!("its `schema` is not {SCHEMA}"));
    }
    match fields.remove("kind") {
        Some(Value::String(kind)) => Ok((kind, Value::Object(fields))),
        _ => Err("it has no `kind`".into()),
    }
}

/// The objects that an object of any kind names; a blob names none.
pub(super) fn named_by(bytes: &[u8]) -> Vec<NamedObject> {
    fn named<T: StoredKind>(fields: Value) -> Vec<NamedObject> {
        typed::<T>(fields).map(|read| read.named()).unwrap_or_default()
    }
    match kind_and_fields(bytes) {
        Ok((kind, fields)) if kind == TreeManifest::KIND => named::<TreeManifest>(fields),
        Ok((kind, fields)) if kind == Snapshot::KIND => named::<Snapshot>(fields),
        _ => Vec::new(),
    }
}

/// Puts a document.
///
/// # Errors
/// `store.malformed` if it is too large; `store.io`
pub(crate) fn save<T: StoredKind>(
    store: &dyn ObjectStore,
    object: &T,
) -> Result<Digest, StoreError> {
    let text = object.to_text().map_err(|why| StoreError::malformed(&T::KIND, why))?;
    let digest = Digest::of(&text);
    store.put(digest, &mut text.as_slice())?;
    Ok(digest)
}

/// The document of this digest.
///
/// # Errors
/// `store.malformed` if it is of another kind, and those of [`ObjectStore::get`].
pub(crate) fn load<T: StoredKind>(
    store: &dyn ObjectStore,
    digest: Digest,
) -> Result<T, StoreError> {
    T::read(&store.get(digest)?).map_err(|why| StoreError::malformed(&digest, why))
}

/// A tree of files at a time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Snapshot {
    /// A [`TreeManifest`].
    pub(crate) manifest: Digest,
    /// The item or the run that it was made for.
    pub(crate) source: String,
    pub(crate) time: Timestamp,
}

impl StoredKind for Snapshot {
    const KIND: &'static str = "snapshot";

    fn named(&self) -> Vec<NamedObject> {
        vec![NamedObject::Any(self.manifest)]
    }
}
