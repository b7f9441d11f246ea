//! The folder of a skill that carries a signature of others, read once and held to it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::files::CopiedFile;
use super::skill::Skill;
use crate::base::limits::{PARTS, PARTS_BYTES};
use crate::diagnostic::Failure;
use crate::oms::{
    KnownSigner, OmsError, OmsSignature, OmsSigner, OmsSigningKey, SIGNATURE_FILE, SignedFiles,
    TrustedRoot, sign_files,
};
use crate::space::{Folder, RelPath, Root, Walked};

/// The person's demands on the signature of others over a skill.
#[derive(Debug)]
pub(crate) struct WantedSignature {
    /// The signature file, where it is not [`SIGNATURE_FILE`] in the folder: its path and bytes.
    pub(crate) file: Option<(std::path::PathBuf, Vec<u8>)>,
    /// Whose signature is accepted.
    pub(crate) signers: Vec<KnownSigner>,
    /// By which signatures of the method `sigstore` are checked.
    pub(crate) trusted_root: Option<TrustedRoot>,
    /// Leave out what is not signed, instead of refusing the folder.
    pub(crate) signed_only: bool,
    /// Take the skill as unsigned, whatever signature there is.
    pub(crate) unchecked: bool,
    /// A skill without a signature by one of the signers is refused: by the person's policy.
    pub(crate) by_policy: bool,
    /// The same, because the person named a signer or a signature for this one.
    pub(crate) asked_for: bool,
}

/// The signature of a skill, as far as it is known.
pub(super) enum FolderSignature {
    /// There is none, or the person asked not to check it; then this is its path in the folder.
    None {
        passed_over: Option<String>,
    },
    Good(Box<SignedFolder>),
}

/// A folder whose signature was checked: who signed it, and the signed files as they were read.
pub(super) struct SignedFolder {
    pub(super) by: OmsSigner,
    /// Just those that the signature lists.
    pub(super) files: BTreeMap<String, CopiedFile>,
    pub(super) remarks: Vec<String>,
}

/// Looks for the signature of a folder and checks it, with every file that it covers. No other byte
/// of the folder is needed afterwards.
///
/// # Errors
/// `oms.*`, `space.*`
pub(super) fn check_folder(
    (root, folder): (&Root, &Folder<'_>),
    wanted: &WantedSignature,
) -> Result<FolderSignature, Failure> {
    let inside = |path: &Path| {
        let path = path.canonicalize().ok()?;
        let base = root.base().canonicalize().ok()?;
        Some(path.strip_prefix(base).ok()?.to_str()?.to_owned())
    };
    let own: Option<RelPath> = SIGNATURE_FILE.parse().ok();
    let (at, bytes) = match (&wanted.file, own) {
        (Some((path, bytes)), _) => (inside(path), Some(bytes.clone())),
        (None, Some(own)) if folder.holds(&own) => {
            let bytes = folder.read(&own)?.map(std::borrow::Cow::into_owned);
            let unread = || OmsError::Malformed { why: "it cannot be read".into() };
            (Some(own.to_string()), Some(bytes.ok_or_else(unread)?))
        }
        _ => (None, None),
    };
    let Some(bytes) = bytes.filter(|_| !wanted.unchecked) else {
        let by_policy = "your policy asks for a signature by a signer whom you know";
        return match () {
            () if wanted.by_policy => {
                Err(OmsError::Required { why: by_policy.into(), is_policy: true }.into())
            }
            () if wanted.asked_for && !wanted.unchecked => {
                let why =
                    format!("the skill has no signature: there is no `{SIGNATURE_FILE}` in it");
                Err(OmsError::Required { why, is_policy: false }.into())
            }
            () => Ok(FolderSignature::None { passed_over: at }),
        };
    };
    let signature = OmsSignature::read(&bytes)?;
    let (signed, by) = signature.check(&wanted.signers, wanted.trusted_root.as_ref())?;
    // Another signature is no file of the skill, unless it is signed like one.
    let other = at.as_deref() != Some(SIGNATURE_FILE) && !signed.lists(SIGNATURE_FILE);
    let other = other.then_some(SIGNATURE_FILE);
    if let Some(at) = at.as_ref().filter(|at| signed.lists(at)) {
        let findings = vec![format!("`{at}` is the signature itself, and is listed as signed")];
        return Err(OmsError::Files { findings }.into());
    }
    let read = Reader { root, folder, signed: &signed, signed_only: wanted.signed_only };
    let skipped: Vec<&str> = at.as_deref().into_iter().chain(other).collect();
    let (mut files, unsigned) = read.all(&skipped)?;
    let held: BTreeMap<String, &[u8]> =
        files.iter().map(|(path, file)| (path.clone(), file.bytes.as_slice())).collect();
    let mut left_out = signed.check(&held, wanted.signed_only)?.unsigned;
    drop(held);
    files.retain(|path, _| signed.lists(path));
    left_out.extend(unsigned);
    let remarks = left_out.iter().map(|path| format!("`{path}` is not signed, and not copied"));
    let mut remarks: Vec<_> = remarks.collect();
    let own: Option<RelPath> = other.and_then(|other| other.parse().ok());
    if own.is_some_and(|own| folder.holds(&own)) {
        remarks.push(format!(
            "`{SIGNATURE_FILE}` is not the signature that was named: it is neither checked nor copied"
        ));
    }
    Ok(FolderSignature::Good(Box::new(SignedFolder { by, files, remarks })))
}

/// Puts a signature of the person's own, for others, beside the files of a skill.
///
/// # Errors
/// `oms.malformed` for a path that cannot be signed.
pub(crate) fn sign_skill(skill: &mut Skill, with: &OmsSigningKey) -> Result<(), Failure> {
    skill.files.remove(SIGNATURE_FILE);
    let held: BTreeMap<String, &[u8]> =
        skill.files.iter().map(|(path, (bytes, _))| (path.clone(), bytes.as_slice())).collect();
    let signature = sign_files(&skill.name, &held, &[SIGNATURE_FILE], with)?;
    skill.files.insert(SIGNATURE_FILE.into(), (signature.to_text().into_bytes(), false));
    Ok(())
}

/// Reads the files of a folder that a signature is to cover.
struct Reader<'a> {
    root: &'a Root,
    folder: &'a Folder<'a>,
    signed: &'a SignedFiles,
    signed_only: bool,
}

impl Reader<'_> {
    /// Every file that is not left out by the signature, and is not a signature itself; and the
    /// paths that were passed over because only signed ones are wanted.
    fn all(
        &self,
        signatures: &[&str],
    ) -> Result<(BTreeMap<String, CopiedFile>, Vec<String>), Failure> {
        let too_much = || {
            let most = PARTS_BYTES >> 20;
            let what = format!("a signature over more than {PARTS} files, or {most} MiB of them,");
            Failure::from(OmsError::Unsupported { what })
        };
        let walked = self.folder.walk("", &|path| !self.signed.ignores(path));
        let walked = walked.ok_or_else(too_much)?;
        let (mut files, mut findings, mut unsigned) = (BTreeMap::new(), Vec::new(), Vec::new());
        let (mut seen, mut bytes) = (BTreeSet::new(), 0);
        for entry in &walked {
            let path = entry.path.as_str();
            if self.signed.ignores(path) || signatures.contains(&path) {
                continue;
            }
            if self.signed_only && !self.signed.lists(path) {
                unsigned.push(path.to_owned());
                continue;
            }
            // Two names that are not UTF-8 may read alike.
            if !seen.insert(path) {
                findings.push(format!("`{path}` is there twice"));
                continue;
            }
            match self.one(entry)? {
                Ok(file) => {
                    bytes += file.bytes.len();
                    files.insert(path.to_owned(), file);
                }
                Err(why) => findings.push(format!("`{path}` {why}")),
            }
            if bytes > PARTS_BYTES || files.len() > PARTS {
                return Err(too_much());
            }
        }
        match findings.is_empty() {
            true => Ok((files, unsigned)),
            false => Err(OmsError::Files { findings }.into()),
        }
    }

    /// A file, through a link if the signature says so and the link leads to a file in the folder;
    /// or why it is not taken.
    fn one(&self, entry: &Walked) -> Result<Result<CopiedFile, String>, Failure> {
        let Ok(path) = entry.path.parse::<RelPath>() else {
            return Ok(Err("has a name that cannot be taken over".into()));
        };
        let from = match entry.is_file {
            true => path.clone(),
            false if !self.signed.follows_links() => {
                return Ok(Err("is not a file, or is a link, and no link is signed".into()));
            }
            false => match self.behind_link(&path) {
                Some(target) => target,
                None => return Ok(Err("is not a file, nor a link to one in the folder".into())),
            },
        };
        let Some(bytes) = self.folder.read_part(&from)? else {
            return Ok(Err("cannot be read".into()));
        };
        let stat = self.root.base().join(from.as_str()).symlink_metadata();
        let mode = stat.map(|stat| stat.permissions()).as_ref().map_or(0, Permissions::mode);
        let is_program = mode & 0o111 != 0;
        Ok(Ok(CopiedFile { path, bytes: bytes.into_owned(), is_program }))
    }

    fn behind_link(&self, path: &RelPath) -> Option<RelPath> {
        let base = self.root.base().canonicalize().ok()?;
        let target = base.join(path.as_str()).canonicalize().ok()?;
        target.is_file().then(|| target.strip_prefix(&base).ok()?.to_str()?.parse().ok())?
    }
}
