//! Why a file or a root could not be used.

use std::path::PathBuf;

use crate::base::limits::ITEM_BYTES;
use crate::diag::{Code, Diagnose, Place};

pub(crate) const CODES: &[Code] = &[
    Code("space.not_a_file"),
    Code("space.too_large"),
    Code("space.symlink"),
    Code("space.foreign_owner"),
    Code("space.untrusted_root"),
    Code("space.no_user_space"),
    Code("space.io"),
    ODD_FILE,
];

/// A finding about a folder, and no error: nothing asks for such a file.
pub(super) const ODD_FILE: Code = Code("space.odd_file");

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum SpaceError {
    #[error("`{}` is no regular file", .place.path)]
    NotAFile { place: Place },
    #[error("`{}` is there and is no folder", .place.path)]
    NotAFolder { place: Place },
    #[error("`{}` is larger than {} MiB", .place.path, ITEM_BYTES >> 20)]
    TooLarge { place: Place },
    #[error("`{}` is a symbolic link, or lies behind one", .place.path)]
    Symlink { place: Place },
    #[error("`{}` {why}, so its `.ai` is not used", .path.display())]
    ForeignOwner { path: PathBuf, why: &'static str },
    #[error("{name} names `{}`, which {why}", .path.display())]
    UntrustedRoot { name: &'static str, path: PathBuf, why: &'static str },
    #[error(
        "{name} names `{}`, which is or leads into `{}`: the project or the folder that you are in, or a git work tree around it",
        .path.display(), .ground.display()
    )]
    InGround { name: &'static str, path: PathBuf, ground: PathBuf },
    #[error("cannot use `{}` as the project: {source}", .path.display())]
    NoSuchProject { path: PathBuf, source: std::io::Error },
    #[error("there is no user space: neither USER_SPACE nor HOME is set")]
    NoUserSpace,
    #[error("cannot read `{}`: {source}", .place.path)]
    Io { place: Place, source: std::io::Error },
}

impl Diagnose for SpaceError {
    fn code(&self) -> Code {
        Code(match self {
            Self::NotAFile { .. } | Self::NotAFolder { .. } => "space.not_a_file",
            Self::TooLarge { .. } => "space.too_large",
            Self::Symlink { .. } => "space.symlink",
            Self::ForeignOwner { .. } => "space.foreign_owner",
            Self::UntrustedRoot { .. } | Self::InGround { .. } => "space.untrusted_root",
            Self::NoUserSpace => "space.no_user_space",
            Self::Io { .. } | Self::NoSuchProject { .. } => "space.io",
        })
    }

    fn help(&self) -> Option<String> {
        Some(match self {
            Self::NotAFile { .. } => "an item is a regular file; replace it by one".into(),
            Self::NotAFolder { .. } => "take it away, or run rye elsewhere".into(),
            Self::TooLarge { .. } => {
                "keep data out of items; a tool can read it from the project".into()
            }
            Self::Symlink { .. } => {
                "items are never read through links; copy the file there".into()
            }
            Self::ForeignOwner { path, .. } => {
                format!("if you know it, run `rye trust allow-root {}`", path.display())
            }
            Self::UntrustedRoot { path, why, .. } if why.contains("writable") => {
                format!("close it: `chmod o-w {}`", path.display())
            }
            Self::UntrustedRoot { name, .. } => {
                format!("point {name} at a folder of your own by its absolute path, or unset it")
            }
            Self::InGround { name: "HOME", ground, .. } => format!(
                "go to another folder, or set USER_SPACE to a folder of your own outside `{}`, by its absolute path",
                ground.display()
            ),
            Self::InGround { name: "RYE_SYSTEM_SPACE", .. } => {
                "unset it; the project itself counts once it is accepted: `env -u RYE_SYSTEM_SPACE rye trust project`".into()
            }
            Self::InGround { name, ground, .. } => format!(
                "unset {name}, or point it at a folder of your own outside `{}`",
                ground.display()
            ),
            Self::NoUserSpace => {
                "set HOME, or USER_SPACE to the folder that holds your `.ai`".into()
            }
            Self::NoSuchProject { .. } => "give `--project` a folder that is there".into(),
            Self::Io { .. } => "see `rye explain space.io`".into(),
        })
    }

    fn place(&self) -> Option<Place> {
        match self {
            Self::NotAFile { place }
            | Self::NotAFolder { place }
            | Self::TooLarge { place }
            | Self::Symlink { place }
            | Self::Io { place, .. } => Some(place.clone()),
            _ => None,
        }
    }
}
