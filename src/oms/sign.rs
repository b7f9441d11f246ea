//! A signature file of one's own, which others verify.

use std::collections::BTreeMap;

use super::envelope::OmsSignature;
use super::error::OmsError;
use super::hash::FileHash;
use super::key::OmsSigningKey;
use super::statement::{
    NEVER_SIGNED, PREDICATE, Predicate, Resource, Serialization, SignedFiles, Subject, root_digest,
};
use crate::base::signed_statement::Statement;

/// Signs the files of a folder called `name`, each with its SHA-256. The paths are plain ones;
/// `besides` are paths in the folder that stay unsigned, as the signature file itself.
///
/// # Errors
/// `oms.malformed` where nothing is left to sign, or a path cannot be signed.
pub(crate) fn sign_files<B: AsRef<[u8]>>(
    name: &str,
    files: &BTreeMap<String, B>,
    besides: &[&str],
    with: &OmsSigningKey,
) -> Result<OmsSignature, OmsError> {
    let hash = FileHash::Sha256;
    let mut ignore: Vec<String> = NEVER_SIGNED.iter().chain(besides).map(|&it| it.into()).collect();
    ignore.sort_unstable();
    // A `BTreeMap` of texts is in the order of their code points, which is that of their bytes.
    let rows = files.iter().filter(|(path, _)| !NEVER_SIGNED.contains(&top(path)));
    let rows: Vec<_> = rows.map(|(path, bytes)| (path, hash.digest(bytes.as_ref()))).collect();
    let digest = root_digest(rows.iter().map(|(_, digest)| digest.as_slice()));
    let resources = rows.iter().map(|(path, digest)| Resource {
        name: (*path).clone(),
        digest: hex::encode(digest),
        algorithm: "sha256".into(),
    });
    let predicate = Predicate {
        resources: resources.collect(),
        serialization: Serialization {
            method: "files".into(),
            hash_type: "sha256".into(),
            shard_size: None,
            allow_symlinks: false,
            ignore_paths: Some(ignore),
        },
    };
    let subject =
        Subject { name: name.to_owned(), digest: BTreeMap::from([("sha256".to_owned(), digest)]) };
    let statement = Statement::new(PREDICATE, vec![subject], predicate);
    let payload = serde_json::to_vec(&statement).expect("texts and numbers are JSON");
    // What is signed can be read back, so nothing is handed out that is refused everywhere.
    SignedFiles::read(&payload)?;
    Ok(OmsSignature::seal(with, payload))
}

fn top(path: &str) -> &str {
    path.split('/').next().unwrap_or(path)
}
