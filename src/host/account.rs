//! The caller, as the user database knows them: no variable of the environment is asked.

use std::path::PathBuf;
use std::sync::OnceLock;

use nix::unistd::{Gid, Group, Uid, User};

/// The user that this process acts as.
pub(crate) fn own_uid() -> u32 {
    Uid::effective().as_raw()
}

/// The real path of the home that the user database names for the caller; `None` where it names none
/// that is there.
pub(crate) fn own_home() -> Option<PathBuf> {
    static HOME: OnceLock<Option<PathBuf>> = OnceLock::new();
    let find = || User::from_uid(Uid::effective()).ok()??.dir.canonicalize().ok();
    HOME.get_or_init(find).clone()
}

/// Whether a group has no member but the caller: the one of the caller's own name, as most systems make
/// it for each user.
pub(crate) fn is_own_private_group(gid: u32) -> bool {
    let Ok(Some(user)) = User::from_uid(Uid::effective()) else { return false };
    let Ok(Some(group)) = Group::from_gid(Gid::from_raw(gid)) else { return false };
    user.gid == group.gid && user.name == group.name && group.mem.iter().all(|m| *m == user.name)
}
