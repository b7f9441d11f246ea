//! The places that a command may touch that the model of a thread runs: the workspace of the
//! thread, and of the rest the part that every program needs (threads 5).

use std::path::{Path, PathBuf};

use super::base_folders::SYSTEM;
use super::protected::{HOST_KEYS, PASSWORDS};
use crate::host::{Caps, Egress, Host, InnerRepositories, Net, Policy};

/// Largest file that a command in a workspace writes, in mebibytes: a mistake does not fill a disk.
const WORKSPACE_FILE_MIB: u64 = 1_024;

/// The policy for a workspace, a real path. `user` is the folder of the user space. In one that is
/// full nothing is written, so that files can be taken away.
pub(crate) fn workspace_policy(
    host: &dyn Host,
    workspace: &Path,
    user: Option<&Path>,
    is_full: bool,
) -> Policy {
    let base = SYSTEM.iter().map(PathBuf::from).filter(|path| host.is_folder(path)).collect();
    // Its keys and its state, wherever it lies.
    let own = user.and_then(|user| host.real_folder(&user.join(".ai")));
    let largest = if is_full { 0 } else { WORKSPACE_FILE_MIB };
    let passwords = PASSWORDS.iter().map(PathBuf::from).chain(host_keys(host));
    Policy {
        base,
        read: Vec::new(),
        write: vec![workspace.to_owned()],
        names: Vec::new(),
        made: Vec::new(),
        partial_read: false,
        partial_write: false,
        own_tmp: false,
        kept: Vec::new(),
        hidden: passwords.chain(own.iter().map(|ai| ai.join("config/keys"))).collect(),
        state: own.iter().map(|ai| ai.join("state")).collect(),
        new_items: Vec::new(),
        other_items: Vec::new(),
        abandoned: Vec::new(),
        commits: None,
        inner: InnerRepositories::default(),
        net: Net::None,
        egress: Egress::default(),
        caps: Caps { file_size_mb: Some(largest), ..Caps::default() },
    }
}

fn host_keys(host: &dyn Host) -> impl Iterator<Item = PathBuf> {
    let names = host.names(Path::new(HOST_KEYS)).into_iter();
    names.filter(|name| name.ends_with("_key")).map(|name| Path::new(HOST_KEYS).join(name))
}
