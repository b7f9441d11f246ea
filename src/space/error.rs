//! Why a file or a root could not be used.

use std::path::PathBuf;

use crate::base::limits::ITEM_BYTES;
use crate::base::text::escape_line;
use crate::diagnostic::{Code, Diagnose, Place, codes};

codes! {
    SPACE_NOT_A_FILE = "space.not_a_file", Refused;
    SPACE_TOO_LARGE = "space.too_large", Refused;
    SPACE_SYMLINK = "space.symlink", Refused;
    SPACE_FOREIGN_OWNER = "space.foreign_owner", Refused;
    SPACE_UNTRUSTED_ROOT = "space.untrusted_root", Refused;
    SPACE_NO_PROJECT = "space.no_project", Refused;
    SPACE_NO_USER_SPACE = "space.no_user_space", Refused;
    SPACE_IO = "space.io", Refused;
    SPACE_ODD_FILE = "space.odd_file", Refused;
}

/// A finding about a folder, and no error: nothing asks for such a file.
pub(super) const ODD_FILE: Code = SPACE_ODD_FILE;

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum SpaceError {
    #[error("`{}` is not a regular file", .place.path)]
    NotAFile { place: Place },
    #[error("`{}` is there and is not a folder", .place.path)]
    NotAFolder { place: Place },
    #[error("`{}` is larger than {} MiB", .place.path, ITEM_BYTES >> 20)]
    TooLarge { place: Place },
    #[error("`{}` is a symbolic link, or lies behind one", .place.path)]
    Symlink { place: Place },
    #[error("`{}` {why}, so the project's `.ai` is not used", .path.display())]
    ForeignOwner { path: PathBuf, project: PathBuf, why: String },
    #[error("{name} names `{}`, which {why}", .path.display())]
    UntrustedRoot { name: &'static str, path: PathBuf, why: String },
    #[error(
        "{name} names `{}`, which is or leads into `{}`: the project or the folder that you are in, or a git work tree around it",
        .path.display(), .ground.display()
    )]
    InGround { name: &'static str, path: PathBuf, ground: PathBuf },
    #[error("cannot use `{}` as the project: {source}", .path.display())]
    NoSuchProject { path: PathBuf, source: std::io::Error },
    #[error("there is no project here: neither `{}` nor a folder above it has the `.ai` of a project", escape_line(&.folder.display().to_string()))]
    NoProject { folder: PathBuf },
    #[error("there is no project here: `{}` is or holds your user space", escape_line(&.folder.display().to_string()))]
    UserSpaceHere { folder: PathBuf },
    #[error("`{}` is not the folder of a project: it has no `.ai`", escape_line(&.folder.display().to_string()))]
    NotAProject { folder: PathBuf },
    #[error("there is no user space: neither USER_SPACE nor HOME is set")]
    NoUserSpace,
    #[error("cannot read `{}`: {source}", .place.path)]
    Io { place: Place, source: std::io::Error },
}

impl Diagnose for SpaceError {
    fn code(&self) -> Code {
        match self {
            Self::NotAFile { .. } | Self::NotAFolder { .. } => SPACE_NOT_A_FILE,
            Self::TooLarge { .. } => SPACE_TOO_LARGE,
            Self::Symlink { .. } => SPACE_SYMLINK,
            Self::ForeignOwner { .. } => SPACE_FOREIGN_OWNER,
            Self::UntrustedRoot { .. } | Self::InGround { .. } => SPACE_UNTRUSTED_ROOT,
            Self::NoProject { .. } | Self::UserSpaceHere { .. } | Self::NotAProject { .. } => {
                SPACE_NO_PROJECT
            }
            Self::NoUserSpace => SPACE_NO_USER_SPACE,
            Self::Io { .. } | Self::NoSuchProject { .. } => SPACE_IO,
        }
    }

    fn help(&self) -> Option<String> {
        Some(match self {
            Self::NotAFile { .. } => "an item is a regular file; replace it by one".into(),
            Self::NotAFolder { .. } => "move it away, or run rye in another folder".into(),
            Self::TooLarge { .. } => {
                "keep data out of items; a tool can read it from the project".into()
            }
            Self::Symlink { .. } => {
                "items are never read through links; copy the file there".into()
            }
            Self::ForeignOwner { project, .. } => {
                format!("if you know it, run `rye trust allow-root {}`", project.display())
            }
            Self::UntrustedRoot { path, why, .. } if why.contains("writable") => {
                format!("close it: `chmod o-w {}`", path.display())
            }
            Self::UntrustedRoot { name: "HOME", .. } => {
                "point HOME, or USER_SPACE, at a folder of your own by its absolute path".into()
            }
            Self::UntrustedRoot { name, .. } => {
                format!("point {name} at a folder of your own by its absolute path, or unset it")
            }
            Self::InGround { name: "HOME", path, ground } => {
                let at = ground.display();
                let home = match path == ground {
                    true => format!(
                        "if `{at}` is your home, and no project, say so once with \
                         `cd / && rye trust allow-root {at}`, and work in a folder below it; else "
                    ),
                    false => String::new(),
                };
                format!(
                    "{home}go to another folder, or set USER_SPACE to a folder of your own outside \
                     `{at}`, by its absolute path"
                )
            }
            Self::InGround { name: "RYE_SYSTEM_SPACE", .. } => {
                "unset it; the project itself counts once it is accepted: `env -u RYE_SYSTEM_SPACE rye trust project`".into()
            }
            Self::InGround { name, ground, .. } => format!(
                "unset {name}, or point it at a folder of your own outside `{}`",
                ground.display()
            ),
            Self::NoProject { .. } => {
                "`rye init` makes this folder a project; your own items, wherever you are, are meant by `--space user`".into()
            }
            Self::UserSpaceHere { .. } => {
                "go to a folder of the project's own and run `rye init`; your own items are meant by `--space user`".into()
            }
            Self::NotAProject { folder } => {
                format!("name the folder that holds `.ai`, or run `rye init` in `{}`", folder.display())
            }
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
