//! Space: where items lie.
//!
//! Sees `host` (the environment), `id`, `diagnostic`, `base`. Knows no precedence and no keys.
//!
//! In:  the environment, the working directory, `--project`.
//! Out: [`Spaces`]: up to three [`Root`]s, each of which reads and lists files below itself; and
//!      the [`ForeignGround`], from which nothing that decides is taken.
//!
//! Invariants
//! - A path never leaves its root: the kernel resolves it beneath the root and refuses symlinks.
//! - Only regular files of bounded size are read; nothing here can block.
//! - The embedded system space is read through the same door as a folder.
//!
//! Start at `roots.rs`, and `ground.rs` for what is not one's own; `join.rs` opens, `entry.rs`
//! lists, `folder.rs` reads what lies beside an item, `file_type.rs` knows extensions,
//! `path_set.rs` which paths can lie side by side.

mod awaiting;
pub(crate) mod baseline;
mod embedded;
mod entry;
mod error;
mod file_type;
mod folder;
mod glob;
mod ground;
mod join;
mod path_set;
mod rel_path;
mod root;
mod roots;

pub(crate) use awaiting::awaits_publisher;
pub(crate) use entry::{Entry, Listing, Odd, ai_folders, is_test_spec};
pub(crate) use error::{CODES, SPACE_NO_PROJECT, SPACE_SYMLINK, SPACE_TOO_LARGE, SpaceError};
pub(crate) use file_type::{Comment, FileType, FileTypes, HeaderStyle};
pub(crate) use folder::{Folder, Walked};
pub(crate) use glob::Glob;
pub(crate) use ground::{ForeignGround, NotSearched, Searched};
pub(crate) use join::{Opened, read_beneath};
pub(crate) use path_set::{PathSet, folded};
pub(crate) use rel_path::RelPath;
pub(crate) use root::{Root, shipped};
pub(crate) use roots::{BUNDLES, Consent, ProjectIdentity, Spaces, Where};
