//! The in-toto statement that a signature signs: it lists files with their digests, OMS 1.0
//! sections 5 and 6.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::error::OmsError;
use super::hash::FileHash;
use crate::base::json_reader::may_hold_more;
use crate::base::limits::MESSAGE_NODES;
use crate::base::signed_statement::Statement;
use crate::base::text::brief_line;

pub(super) const PREDICATE: &str = "https://model_signing/signature/v1.0";
/// That of release 0.2 of the first implementation, whose statements list files elsewhere.
const OLDER_PREDICATE_TYPE: &str = "https://model_signing/Digests/v0.1";

/// Names at the top of the folder that are never signed (section 6.2).
pub(super) const NEVER_SIGNED: [&str; 4] = [".git", ".gitattributes", ".github", ".gitignore"];

/// The files that a signature lists, and which others there may be beside them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SignedFiles {
    pub(super) files: BTreeMap<String, Vec<Piece>>,
    pub(super) hash: FileHash,
    /// In bytes; `None` where each file is hashed as one piece.
    pub(super) shard: Option<u64>,
    pub(super) follows_links: bool,
    pub(super) ignored: BTreeSet<String>,
}

/// A range of a file with its digest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Piece {
    /// `None` for the whole file.
    pub(super) range: Option<(u64, u64)>,
    pub(super) digest: Vec<u8>,
}

#[derive(Serialize, Deserialize)]
pub(super) struct Subject {
    pub(super) name: String,
    pub(super) digest: BTreeMap<String, String>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Predicate {
    pub(super) resources: Vec<Resource>,
    pub(super) serialization: Serialization,
}

/// An in-toto resource descriptor; what else it says is passed over (section 5.2.1).
#[derive(Serialize, Deserialize)]
pub(super) struct Resource {
    pub(super) name: String,
    pub(super) digest: String,
    pub(super) algorithm: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Serialization {
    pub(super) method: String,
    pub(super) hash_type: String,
    /// A whole number, which the first implementation writes as `16.0`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) shard_size: Option<serde_json::Number>,
    pub(super) allow_symlinks: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) ignore_paths: Option<Vec<String>>,
}

/// The digest that stands for the whole list (section 6.5.1).
pub(super) fn root_digest<'d>(digests: impl Iterator<Item = &'d [u8]>) -> String {
    let mut whole = Sha256::new();
    digests.for_each(|digest| whole.update(digest));
    hex::encode(whole.finalize())
}

/// Returns true if a path is written in its one form: relative, with `/`, without empty parts, `.`
/// and `..` (section 6.1.2).
pub(super) fn is_canonical(path: &str) -> bool {
    !path.contains('\0') && path.split('/').all(|part| !matches!(part, "" | "." | ".."))
}

impl SignedFiles {
    /// Reads the payload of a signature.
    ///
    /// # Errors
    /// `oms.malformed`; `oms.unsupported` for a hash or a method that is not of version 1.0.
    pub(super) fn read(payload: &[u8]) -> Result<Self, OmsError> {
        Self::read_with_root(payload).map(|(signed, _)| signed)
    }

    /// The same, with the digest that stands for the whole list, in hexadecimal. It is calculated.
    ///
    /// # Errors
    /// As of [`SignedFiles::read`].
    pub(super) fn read_with_root(payload: &[u8]) -> Result<(Self, String), OmsError> {
        if may_hold_more(payload, MESSAGE_NODES) {
            let why = format!("what it signs may hold more than {MESSAGE_NODES} values");
            return Err(OmsError::malformed(why));
        }
        let read = serde_json::from_slice::<Statement<Subject, Predicate>>(payload);
        let statement = read.map_err(|error| match says_older(payload) {
            true => OmsError::Unsupported { what: "a statement of release 0.2".into() },
            false => OmsError::malformed(format!("what it signs: {error}")),
        })?;
        let checked = statement.check_type(PREDICATE);
        checked.map_err(|why| OmsError::malformed(format!("what it signs: {why}")))?;
        let Statement { subject, predicate, .. } = statement;
        let [Subject { name, digest: subject }] = &subject[..] else {
            return Err(OmsError::malformed("it signs other than one folder"));
        };
        if name.is_empty() {
            return Err(OmsError::malformed("the folder that it signs has no name"));
        }
        let signed = Self::of_predicate(&predicate)?;
        // In the order in which they are listed: that is what implementations sign.
        let listed = predicate.resources.iter().map(|it| hex::decode(&it.digest));
        let listed: Vec<Vec<u8>> = listed.filter_map(Result::ok).collect();
        let root = root_digest(listed.iter().map(Vec::as_slice));
        match subject.get("sha256") == Some(&root) {
            true => Ok((signed, root)),
            false => Err(OmsError::malformed("its digest of the whole is not that of its list")),
        }
    }

    fn of_predicate(predicate: &Predicate) -> Result<Self, OmsError> {
        let said = &predicate.serialization;
        let unknown = |what: &str, said: &str| {
            let what = format!("a signature with the {what} `{}`", brief_line(said));
            OmsError::Unsupported { what }
        };
        let hash = FileHash::of_name(&said.hash_type);
        let hash = hash.ok_or_else(|| unknown("hash", &said.hash_type))?;
        let size = said.shard_size.as_ref().map(|size| whole(size).filter(|size| *size > 0));
        let shard = match (said.method.as_str(), size) {
            ("files", None) => None,
            ("shards", Some(Some(size))) => Some(size),
            ("files" | "shards", _) => {
                return Err(OmsError::malformed("its shard size does not fit its method"));
            }
            (method, _) => return Err(unknown("method", method)),
        };
        let mut ignored: BTreeSet<String> = NEVER_SIGNED.map(str::to_owned).into();
        for path in said.ignore_paths.iter().flatten() {
            if !is_canonical(path) || path.contains(['*', '?', '[']) {
                let path = brief_line(path);
                return Err(OmsError::malformed(format!("it may not leave out `{path}`")));
            }
            ignored.insert(path.clone());
        }
        let mut signed = Self {
            files: BTreeMap::new(),
            hash,
            shard,
            follows_links: said.allow_symlinks,
            ignored,
        };
        for resource in &predicate.resources {
            signed.add(resource, &said.hash_type)?;
        }
        match signed.files.is_empty() {
            true => Err(OmsError::malformed("it lists no file")),
            false => signed.check_pieces().map(|()| signed),
        }
    }

    fn add(&mut self, resource: &Resource, hash_type: &str) -> Result<(), OmsError> {
        let shown = brief_line(&resource.name);
        let wrong = |why: &str| Err(OmsError::malformed(format!("it lists `{shown}`, {why}")));
        let (path, range) = match self.shard {
            None => (resource.name.as_str(), None),
            Some(_) => match split_shard(&resource.name) {
                Some((path, range)) => (path, Some(range)),
                None => return wrong("which is not a part of a file"),
            },
        };
        if !is_canonical(path) {
            return wrong("which is not a plain path");
        }
        if self.ignores(path) {
            return wrong("which it leaves out as well");
        }
        // The first implementation writes the size beside the hash of a part.
        let of_parts = self.shard.map(|size| format!("{hash_type}-sharded-{size}"));
        if resource.algorithm != hash_type && Some(&resource.algorithm) != of_parts.as_ref() {
            return wrong("which has another hash than the rest");
        }
        let is_lower = resource.digest.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        let digest = hex::decode(&resource.digest).ok().filter(|it| it.len() == self.hash.length());
        let (true, Some(digest)) = (is_lower, digest) else {
            return wrong("whose digest is not valid");
        };
        let pieces = self.files.entry(path.to_owned()).or_default();
        if range.is_none() && !pieces.is_empty() {
            return wrong("which it lists twice");
        }
        pieces.push(Piece { range, digest });
        Ok(())
    }

    /// Puts the pieces of each file in order: from its first byte on, each as long as the shard,
    /// and only the last shorter. So no byte is hashed twice, and none is left out.
    fn check_pieces(&mut self) -> Result<(), OmsError> {
        let Some(size) = self.shard else { return Ok(()) };
        for (path, pieces) in &mut self.files {
            pieces.sort_by_key(|piece| piece.range);
            let mut at = 0;
            let count = pieces.len();
            for (number, piece) in pieces.iter().enumerate() {
                let (start, end) = piece.range.expect("each part was listed with its range");
                let length = end.saturating_sub(start);
                let is_last = number + 1 == count;
                if start != at || length == 0 || length > size || (length < size && !is_last) {
                    let path = brief_line(path);
                    return Err(OmsError::malformed(format!("its parts of `{path}` do not fit")));
                }
                at = end;
            }
        }
        Ok(())
    }

    /// Returns true if the signature leaves out the path or a folder above it.
    pub(crate) fn ignores(&self, path: &str) -> bool {
        let folders = path.match_indices('/').map(|(at, _)| &path[..at]);
        folders.chain([path]).any(|path| self.ignored.contains(path))
    }

    /// Returns true if the signature lists the path.
    pub(crate) fn lists(&self, path: &str) -> bool {
        self.files.contains_key(path)
    }

    /// Returns true if a link counts as the file that it leads to; else the folder may have no
    /// links.
    pub(crate) fn follows_links(&self) -> bool {
        self.follows_links
    }
}

/// A whole number, also where it is written with a point.
fn whole(number: &serde_json::Number) -> Option<u64> {
    let text = number.to_string();
    let (digits, rest) = text.split_once('.').unwrap_or((&text, ""));
    rest.bytes().all(|digit| digit == b'0').then(|| digits.parse().ok())?
}

/// Returns true if a payload is of the release whose statements are not read.
fn says_older(payload: &[u8]) -> bool {
    let said = serde_json::from_slice::<serde_json::Value>(payload).ok();
    said.is_some_and(|said| said["predicateType"] == OLDER_PREDICATE_TYPE)
}

/// `<path>:<start>:<end>`; a path may hold colons, so it is split at the last two.
fn split_shard(name: &str) -> Option<(&str, (u64, u64))> {
    let mut parts = name.rsplitn(3, ':');
    let mut number = || {
        let text = parts.next()?;
        let number: u64 = text.parse().ok()?;
        // One way to write it: no sign, no leading zero.
        (number.to_string() == text).then_some(number)
    };
    let (end, start) = (number()?, number()?);
    Some((parts.next()?, (start, end)))
}
