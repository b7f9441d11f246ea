//! The faults of keys, and of the documents that say whom you trust.

use std::path::PathBuf;

use crate::base::text::escape_line;
use crate::diagnostic::{Code, Diagnose, Place, codes};
use crate::id::Fingerprint;
use crate::space::SpaceError;

codes! {
    KEY_MISSING = "key.missing", Refused;
    KEY_EXISTS = "key.exists", Refused;
    KEY_PERMISSIONS = "key.permissions", Refused;
    KEY_MALFORMED = "key.malformed", Refused;
    KEY_PASSPHRASE = "key.passphrase", Refused;
    KEY_IO = "key.io", Refused;
    TRUST_MALFORMED = "trust.malformed", Refused;
    TRUST_NOT_FOUND = "trust.not_found", NotFound;
    TRUST_IO = "trust.io", Refused;
    TRUST_UNFIT = "trust.unfit", Refused;
    VERIFY_TRUST_UNREADABLE = "verify.trust_unreadable", Refused;
    VERIFY_WEAK_KEY = "verify.weak_key", Refused;
    VERIFY_EXAMPLE_KEY = "verify.example_key", Refused;
    VERIFY_REVOKED = "verify.revoked", Refused;
}

/// A fault of a key file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum KeyError {
    #[error("you have no key pair yet")]
    Missing,
    #[error("a key pair is there already: {}", .fingerprint)]
    Exists { fingerprint: Fingerprint },
    #[error("`{}` is there already, and is not overwritten", escape_line(&.path.display().to_string()))]
    FileExists { path: PathBuf },
    #[error("`{}` can be read by others", .path.display())]
    Permissions { path: PathBuf },
    #[error("`{}` is not a valid Ed25519 {what}", escape_line(.name))]
    Malformed { name: String, what: &'static str },
    #[error("the passphrase cannot be used: {why}")]
    Passphrase { why: &'static str },
    #[error("the passphrase of this key asks for more memory or time than rye gives to one")]
    Costly,
    #[error("`{}` can be written by others", .path.display())]
    Writable { path: PathBuf },
    #[error("`{}`, which holds keys, is open to others", .path.display())]
    OpenFolder { path: PathBuf },
    #[error("`{}` belongs to another user, so its keys are not taken for yours", .path.display())]
    Owner { path: PathBuf },
    #[error(transparent)]
    Space(#[from] SpaceError),
    #[error("`{}`: {source}", .path.display())]
    Io { path: PathBuf, source: std::io::Error },
}

impl Diagnose for KeyError {
    fn code(&self) -> Code {
        match self {
            Self::Missing => KEY_MISSING,
            Self::Exists { .. } | Self::FileExists { .. } => KEY_EXISTS,
            Self::Permissions { .. }
            | Self::Writable { .. }
            | Self::OpenFolder { .. }
            | Self::Owner { .. } => KEY_PERMISSIONS,
            Self::Space(inner) => inner.code(),
            Self::Malformed { .. } => KEY_MALFORMED,
            Self::Passphrase { .. } | Self::Costly => KEY_PASSPHRASE,
            Self::Io { .. } => KEY_IO,
        }
    }

    fn help(&self) -> Option<String> {
        Some(match self {
            Self::Missing => "make one with `rye keys generate`".into(),
            Self::Exists { .. } => "replace it by another with `rye keys rotate`".into(),
            Self::FileExists { .. } => "name another file, or move that one away".into(),
            Self::Permissions { path } => format!("close it: `chmod 600 {}`", path.display()),
            Self::Writable { path } => format!("close it: `chmod go-w {}`", path.display()),
            Self::OpenFolder { path } => format!("close it: `chmod 700 {}`", path.display()),
            Self::Owner { path } => format!(
                "look at what lies in it; if it is yours, run `chown -R \"$(id -un)\" {}`",
                path.display()
            ),
            Self::Space(inner) => return inner.help(),
            Self::Passphrase { .. } => "give the passphrase that the file was written with; a new \
                 file takes one of 8 characters or more"
                .into(),
            Self::Costly => {
                "write it anew with less, such as `openssl pkcs8 -topk8 -scrypt`".into()
            }
            Self::Malformed { .. } => {
                "rye reads PKCS#8 PEM for private keys and SPKI PEM for public ones".into()
            }
            Self::Io { .. } => "run `rye doctor`, which looks at each folder that rye uses".into(),
        })
    }

    fn place(&self) -> Option<Place> {
        match self {
            Self::Space(inner) => inner.place(),
            Self::Permissions { path }
            | Self::Writable { path }
            | Self::OpenFolder { path }
            | Self::Owner { path }
            | Self::Io { path, .. } => {
                Some(Place { path: path.display().to_string(), ..Place::default() })
            }
            _ => None,
        }
    }
}

/// A fault of a document about trust.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum TrustError {
    #[error("`{}` cannot be used: {}", escape_line(.path), escape_line(.why))]
    Unreadable { path: String, why: String, help: Option<String> },
    #[error("{}: {}", escape_line(.what), escape_line(.why))]
    Malformed { what: String, why: String },
    #[error("{}", escape_line(.what))]
    NotFound { what: String },
    #[error("`--trust` names a key that this project does not propose: {key}")]
    NotProposed { key: Fingerprint },
    #[error("`{}` is a weak key: not canonical, or not of full order", escape_line(.what))]
    Weak { what: String },
    #[error("you revoked `{fingerprint}`")]
    Revoked { fingerprint: Fingerprint, own: bool },
    #[error("`{fingerprint}` is the example key: its private half is public, so it proves nothing")]
    Example { fingerprint: Fingerprint },
    #[error(transparent)]
    Key(#[from] KeyError),
    #[error("`{}`: {source}", .path.display())]
    Io { path: PathBuf, source: std::io::Error },
    #[error("`{}` cannot be allowed: {why}", escape_line(&.path.display().to_string()))]
    Unfit { path: PathBuf, why: &'static str },
    #[error("`{}` cannot be allowed: it {why}", escape_line(.url))]
    UnfitServer { url: String, why: &'static str },
}

impl Diagnose for TrustError {
    fn code(&self) -> Code {
        match self {
            Self::Unreadable { .. } => VERIFY_TRUST_UNREADABLE,
            Self::Malformed { .. } => TRUST_MALFORMED,
            Self::NotFound { .. } | Self::NotProposed { .. } => TRUST_NOT_FOUND,
            Self::Weak { .. } => VERIFY_WEAK_KEY,
            Self::Example { .. } => VERIFY_EXAMPLE_KEY,
            Self::Revoked { .. } => VERIFY_REVOKED,
            Self::Key(inner) => inner.code(),
            Self::Io { .. } => TRUST_IO,
            Self::Unfit { .. } | Self::UnfitServer { .. } => TRUST_UNFIT,
        }
    }

    fn help(&self) -> Option<String> {
        Some(match self {
            Self::Unreadable { help: Some(help), .. } => help.clone(),
            Self::Unreadable { path, .. } if path.contains("keys/projects/") => {
                "accept the project again with `rye trust project`".into()
            }
            Self::Unreadable { path, .. } if path.contains("keys/dev/") => {
                "start `rye dev` again, or run `rye sign` on what you have read".into()
            }
            Self::Unreadable { path, .. } if path.contains("config/rye/") => {
                let file = path.rsplit('/').next().unwrap_or_default();
                let name = file.split('.').next().unwrap_or_default();
                format!("read it; if it is yours, run `rye sign config:rye/{name} --space user`")
            }
            Self::Unreadable { .. } => {
                "only documents signed by your own key count; write it again with `rye trust add`".into()
            }
            Self::Malformed { .. } => "see `rye explain trust.malformed`".into(),
            Self::NotFound { .. } => "see whom you trust with `rye trust list`, and what is proposed here with `rye trust review`".into(),
            Self::NotProposed { key } => format!(
                "if its owner left or has another key, take {key} out of the workflow; else have \
                 them run `rye trust propose` and commit the file"
            ),
            Self::Weak { .. } => "ask the signer for a sound key; this one proves nothing".into(),
            Self::Revoked { own: true, .. } => "make another key with `rye keys rotate`".into(),
            Self::Revoked { fingerprint, .. } => format!(
                "ask the signer for another key; if you revoked it by a slip, take that back with `rye trust unrevoke {fingerprint}`"
            ),
            Self::Example { .. } => {
                "use it for examples and tests only, with `--example`".into()
            }
            Self::Key(inner) => return inner.help(),
            Self::Io { .. } => "run `rye doctor`, which looks at each folder that rye uses".into(),
            Self::UnfitServer { .. } => {
                "name the address of the server, such as `https://box.example:8080`".into()
            }
            Self::Unfit { .. } => {
                "name the file itself, such as `.venv/bin/python3`; `--dry-run` says which one is looked for".into()
            }
        })
    }

    fn place(&self) -> Option<Place> {
        match self {
            Self::Key(inner) => inner.place(),
            _ => None,
        }
    }
}
