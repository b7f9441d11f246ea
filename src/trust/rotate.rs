//! Rotation: another own key replaces the old one (core 4.1).

use zeroize::Zeroizing;

use super::document::TrustDocument;
use super::error::{KeyError, TrustError};
use super::own_file::{read_own, write_signed};
use super::own_keys::OwnKeys;
use super::store::TrustStore;
use super::unfinished_rotation::{Rotation, finish};
use crate::base::Timestamp;
use crate::base::bytes::write_atomic;
use crate::id::{Fingerprint, ItemId, Kind};
use crate::signature::{KeyPair, PublicKey};
use crate::space::{FileTypes, Root, SpaceError};

/// The result of a rotation.
#[derive(Debug)]
pub(crate) struct Rotated {
    pub(crate) old: Fingerprint,
    pub(crate) current: Fingerprint,
    /// Documents of the user space that the old key had signed and the current one signs now.
    pub(crate) documents: usize,
    /// The old key was revoked, so what it said of other keys was not signed again.
    pub(crate) was_revoked: bool,
}

/// Makes a pair, keeps the old private key as `private_key.<fp>.pem`, signs your documents again,
/// writes a statement signed by both keys, and trusts the old public key for what it could sign
/// before, so that what it signed keeps running until it is signed again. If it is interrupted, it
/// is either done or not begun (`unfinished_rotation.rs`).
///
/// # Errors
/// `key.missing` and the other `key.*`, `verify.trust_unreadable`, `trust.io`.
pub(crate) fn rotate(user: &Root, now: Timestamp) -> Result<Rotated, TrustError> {
    let keys = OwnKeys::new(user);
    keys.finish_rotation()?;
    let old = keys.pair()?;
    let path = keys.folder();
    let io = |source| KeyError::Io { path: path.clone(), source };
    let current = KeyPair::generate().map_err(io)?;
    let (old_fp, fp) = (old.public().fingerprint(), current.public().fingerprint());
    // Everything is read before anything is written: a broken document stops the rotation early.
    let is_revoked = TrustStore::new(Some(user), now).own_is_revoked();
    let mut documents = own_documents(user, &voices(&keys, &old), now)?;
    if is_revoked {
        // What a revoked key said is not signed again by the current key.
        documents.retain(|document| document.id.as_str().starts_with("keys/revoked/"));
    }
    let staged = Rotation::begin(user, old_fp, fp)?;
    let sign = || stage(&staged, &documents, &old, &current, now, is_revoked);
    let kept = path.join(format!("private_key.{old_fp}.pem"));
    let keep = || write_atomic(&kept, old.to_pem().as_bytes(), 0o600).map_err(io);
    let done = sign().and_then(|()| Ok(keep()?)).and_then(|()| Ok(keys.replace(&current)?));
    // A step that failed may still have been done, so the key on disk decides which documents
    // count.
    let replaced = keys.find_pair()?.is_some_and(|pair| pair.public().fingerprint() == fp);
    if !replaced {
        staged.discard();
        let _ = std::fs::remove_file(&kept);
        done?;
        return Err(KeyError::Missing.into());
    }
    drop(staged);
    finish(user, &current.public())?;
    done?;
    Ok(Rotated { old: old_fp, current: fp, documents: documents.len(), was_revoked: is_revoked })
}

/// Signs again, with the current key, the documents of the old one, and the records of the rotation
/// itself.
fn stage(
    staged: &Rotation,
    documents: &[Document],
    old: &KeyPair,
    current: &KeyPair,
    now: Timestamp,
    is_revoked: bool,
) -> Result<(), TrustError> {
    let (old_fp, fp) = (old.public().fingerprint(), current.public().fingerprint());
    let base = staged.base();
    for Document { id, ext, body } in documents {
        write_signed(base, id, ext, body, current, now)?;
    }
    let statement = format!("rye:rotated:v1 from={old_fp} to={fp} at={now}");
    let mut table = toml::Table::new();
    table.insert("statement".into(), statement.clone().into());
    table.insert("old_signature".into(), hex::encode(old.sign(statement.as_bytes())).into());
    table.insert("signature".into(), hex::encode(current.sign(statement.as_bytes())).into());
    let body = toml::to_string(&table).expect("a table of TOML values is TOML");
    write_signed(base, &id(&format!("keys/rotated/{old_fp}"))?, "toml", &body, current, now)?;
    let owner = format!("you until {}", now.day());
    let document = TrustDocument { was_own: true, ..TrustDocument::new(old.public(), owner) };
    let trusted = id(&format!("keys/trusted/{old_fp}"))?;
    if !is_revoked && !documents.iter().any(|known| known.id == trusted) {
        write_signed(base, &trusted, "toml", &document.to_toml(), current, now)?;
    }
    Ok(())
}

/// A file that your own key must have signed, without its signature line.
struct Document {
    id: ItemId,
    ext: String,
    body: String,
}

/// The keys that may have signed documents here: your own, and those kept from rotations, because
/// an unfinished rotation leaves documents of the older key behind.
fn voices(keys: &OwnKeys<'_>, own: &KeyPair) -> Vec<PublicKey> {
    let kept =
        std::fs::read_dir(keys.folder()).into_iter().flatten().flatten().filter_map(|file| {
            let name = file.file_name().into_string().ok()?;
            name.strip_prefix("private_key.")?.strip_suffix(".pem")?;
            let text = std::fs::read_to_string(file.path()).ok().map(Zeroizing::new)?;
            KeyPair::from_pem(&text).map(|pair| pair.public())
        });
    std::iter::once(own.public()).chain(kept).collect()
}

/// The files about trust, policy and file types that one of the keys signed.
fn own_documents(
    user: &Root,
    voices: &[PublicKey],
    now: Timestamp,
) -> Result<Vec<Document>, TrustError> {
    let io = |e: SpaceError| KeyError::Space(e);
    let listing = user.list(Kind::Config, &FileTypes::default()).map_err(io)?;
    let mut documents = Vec::new();
    for entry in listing.entries {
        let about_keys = entry.item.is_about_keys() && entry.ext == "toml";
        if !about_keys && !entry.item.is_own_config() {
            continue;
        }
        let mut read = Err(KeyError::Missing.into());
        for voice in voices {
            read = read_own(user, &entry.item.id, &entry.ext, Some(voice), now);
            if read.is_ok() {
                break;
            }
        }
        let text = read?;
        if let Some((_, body)) = text.as_deref().and_then(|text| text.split_once('\n')) {
            let body = body.to_owned();
            documents.push(Document { id: entry.item.id, ext: entry.ext, body });
        }
    }
    Ok(documents)
}

fn id(text: &str) -> Result<ItemId, TrustError> {
    text.parse().map_err(|_| TrustError::NotFound { what: format!("`{text}` is not a valid id") })
}
