//! What can be wrong with keys, and with what says whom you trust.

use std::path::PathBuf;

use crate::base::text::escape_line;
use crate::diag::{Code, Diagnose, Place};
use crate::id::Fingerprint;
use crate::space::SpaceError;

pub(crate) const CODES: &[Code] = &[
    Code("key.missing"),
    Code("key.exists"),
    Code("key.permissions"),
    Code("key.malformed"),
    Code("key.io"),
    Code("trust.malformed"),
    Code("trust.not_found"),
    Code("trust.io"),
    Code("trust.unfit"),
];

/// What can be wrong with a key file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum KeyError {
    #[error("you have no key pair yet")]
    Missing,
    #[error("a key pair is there already: {}", .fingerprint)]
    Exists { fingerprint: Fingerprint },
    #[error("`{}` can be read by others", .path.display())]
    Permissions { path: PathBuf },
    #[error("`{}` is no Ed25519 {what}", escape_line(.name))]
    Malformed { name: String, what: &'static str },
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
        Code(match self {
            Self::Missing => "key.missing",
            Self::Exists { .. } => "key.exists",
            Self::Permissions { .. }
            | Self::Writable { .. }
            | Self::OpenFolder { .. }
            | Self::Owner { .. } => "key.permissions",
            Self::Space(inner) => return inner.code(),
            Self::Malformed { .. } => "key.malformed",
            Self::Io { .. } => "key.io",
        })
    }

    fn help(&self) -> Option<String> {
        Some(match self {
            Self::Missing => "make one with `rye keys generate`".into(),
            Self::Exists { .. } => "replace it by another with `rye keys rotate`".into(),
            Self::Permissions { path } => format!("close it: `chmod 600 {}`", path.display()),
            Self::Writable { path } => format!("close it: `chmod go-w {}`", path.display()),
            Self::OpenFolder { path } => format!("close it: `chmod 700 {}`", path.display()),
            Self::Owner { path } => format!(
                "look at what lies in it; if it is yours, run `chown -R \"$(id -un)\" {}`",
                path.display()
            ),
            Self::Space(inner) => return inner.help(),
            Self::Malformed { .. } => {
                "rye reads PKCS#8 PEM for private keys and SPKI PEM for public ones".into()
            }
            Self::Io { .. } => "see `rye doctor`".into(),
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

/// What can be wrong with a document about trust.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum TrustError {
    #[error("`{}` cannot be used: {}", escape_line(.path), escape_line(.why))]
    Unreadable { path: String, why: String, help: Option<String> },
    #[error("{}: {}", escape_line(.what), escape_line(.why))]
    Malformed { what: String, why: String },
    #[error("{}", escape_line(.what))]
    NotFound { what: String },
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
    #[error("`{}` cannot be let in: {why}", escape_line(&.path.display().to_string()))]
    Unfit { path: PathBuf, why: &'static str },
}

impl Diagnose for TrustError {
    fn code(&self) -> Code {
        Code(match self {
            Self::Unreadable { .. } => "verify.trust_unreadable",
            Self::Malformed { .. } => "trust.malformed",
            Self::NotFound { .. } => "trust.not_found",
            Self::Weak { .. } => "verify.weak_key",
            Self::Example { .. } => "verify.example_key",
            Self::Revoked { .. } => "verify.revoked",
            Self::Key(inner) => return inner.code(),
            Self::Io { .. } => "trust.io",
            Self::Unfit { .. } => "trust.unfit",
        })
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
            Self::Weak { .. } => "ask the signer for a sound key; this one proves nothing".into(),
            Self::Revoked { own: true, .. } => "make another key with `rye keys rotate`".into(),
            Self::Revoked { .. } => {
                "a revoked key stays so; ask the signer for another, and sign again what you want of theirs".into()
            }
            Self::Example { .. } => {
                "for examples and tests only: say `--example`".into()
            }
            Self::Key(inner) => return inner.help(),
            Self::Io { .. } => "see `rye doctor`".into(),
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
