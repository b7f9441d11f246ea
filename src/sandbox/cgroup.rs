//! Control groups: they make `memory_mb` and `processes` hold for all processes of a run together.
//!
//! A group can be made where a folder above this process's own control group (version 2) has the
//! needed controllers switched on and belongs to this user: below the user's systemd, or as root.
//! rye switches no controller on. Groups that a killed rye left are removed when the next one is
//! made there.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::fs::{Access, FlockOperation, Mode, OFlags, access, flock, open};

use crate::base::durations::REAP_MS;
use crate::base::random;
use crate::host::Caps;

/// The prefix of a group's name; the process id of its rye follows.
const NAME: &str = "rye-";

/// The group of one run. Dropping it kills its processes and removes it.
#[derive(Debug)]
pub(super) struct Group {
    folder: PathBuf,
    /// A process joins by writing `0` to this file.
    pub(super) join: Arc<OwnedFd>,
    /// Locked as long as the run lasts, for a rye in another container that cannot see our process.
    _lock: File,
}

/// The folder in which a group with these limits can be made; `None` if there is none, or no limit.
pub(super) fn place(caps: Caps) -> Option<PathBuf> {
    let asked = [("memory", caps.memory_mb), ("pids", caps.processes)];
    let asked: Vec<&str> =
        asked.into_iter().filter(|(_, most)| most.is_some()).map(|(name, _)| name).collect();
    if asked.is_empty() {
        return None;
    }
    let (mounted, own) = ours()?;
    place_in(&mounted, &own, &asked)
}

/// Where control groups of version 2 are mounted, and the folder there that contains this process.
fn ours() -> Option<(PathBuf, PathBuf)> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    let of_version_2 = |line: &&str| line.contains(" - cgroup2 ");
    let mounted = mounts.lines().find(of_version_2)?.split(' ').nth(4)?;
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let own = groups.lines().find_map(|line| line.strip_prefix("0::/"))?;
    Some((mounted.into(), Path::new(mounted).join(own)))
}

/// The nearest folder from `own` up whose controllers count all of these limits, and in which this
/// user may make groups and move processes.
fn place_in(mounted: &Path, own: &Path, asked: &[&str]) -> Option<PathBuf> {
    let counts = |folder: &Path| {
        let on = fs::read_to_string(folder.join("cgroup.subtree_control")).unwrap_or_default();
        asked.iter().all(|name| on.split_whitespace().any(|on| on == *name))
    };
    let may = |folder: &Path| {
        let is_ours = |path: &Path| access(path, Access::WRITE_OK).is_ok();
        is_ours(folder) && is_ours(&folder.join("cgroup.procs"))
    };
    let mut above = own.ancestors().take_while(|folder| folder.starts_with(mounted));
    above.find(|folder| counts(folder) && may(folder)).map(Path::to_owned)
}

impl Group {
    /// Makes a group. `more` is the number of helper processes that do not count against the limit.
    ///
    /// # Errors
    /// An error of the kernel, or no group can be made any more.
    pub(super) fn new(caps: Caps, more: u64) -> io::Result<Self> {
        let gone = || io::Error::other("nothing counts `memory_mb` and `processes` any more");
        Self::below(&place(caps).ok_or_else(gone)?, caps, more)
    }

    fn below(place: &Path, caps: Caps, more: u64) -> io::Result<Self> {
        sweep(place);
        let mut unforeseen = [0; 8];
        random::fill(&mut unforeseen)?;
        let (own, unforeseen) = (std::process::id(), u64::from_ne_bytes(unforeseen));
        let folder = place.join(format!("{NAME}{own}-{unforeseen:016x}"));
        DirBuilder::new().create(&folder)?;
        let limited = || {
            if let Some(most) = caps.memory_mb {
                fs::write(folder.join("memory.max"), (most << 20).to_string())?;
                // Without swap there is nothing to limit.
                let _ = fs::write(folder.join("memory.swap.max"), "0");
                fs::write(folder.join("memory.oom.group"), "1")?;
            }
            if let Some(most) = caps.processes {
                fs::write(folder.join("pids.max"), (most + more).to_string())?;
            }
            let join = folder.join("cgroup.procs");
            let join = open(&join, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
            let lock = File::open(&folder)?;
            flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
            Ok((join, lock))
        };
        let limited: io::Result<(OwnedFd, File)> = limited();
        match limited {
            Ok((join, lock)) => Ok(Self { folder, join: Arc::new(join), _lock: lock }),
            Err(error) => {
                let _ = fs::remove_dir(&folder);
                Err(error)
            }
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        end(&self.folder);
    }
}

/// Kills all processes of the group and removes it.
fn end(folder: &Path) {
    let _ = fs::write(folder.join("cgroup.kill"), "1");
    let until = Instant::now() + Duration::from_millis(REAP_MS);
    while fs::remove_dir(folder).is_err() && folder.exists() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Removes the groups of rye processes that no longer run.
fn sweep(place: &Path) {
    let Ok(entries) = fs::read_dir(place) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let maker = name.to_str().and_then(|name| name.strip_prefix(NAME)?.split('-').next());
        let maker = maker.and_then(|maker| maker.parse::<u32>().ok());
        let is_dead = maker.is_some_and(|maker| !Path::new(&format!("/proc/{maker}")).exists());
        let lock = || {
            File::open(entry.path()).map(|it| flock(&it, FlockOperation::NonBlockingLockExclusive))
        };
        if is_dead && matches!(lock(), Ok(Ok(()))) {
            end(&entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write;
    use std::path::Path;
    use std::process::{Command, Stdio};

    use super::{Group, ours, place_in};
    use crate::host::Caps;

    #[test]
    fn the_nearest_folder_that_counts_what_is_asked_for_is_taken() {
        let base = tempfile::tempdir().unwrap();
        let own = base.path().join("user/app/own");
        fs::create_dir_all(&own).unwrap();
        for (at, on) in [("", "memory pids"), ("user", "memory pids cpu"), ("user/app", "pids")] {
            fs::write(base.path().join(at).join("cgroup.subtree_control"), on).unwrap();
            fs::write(base.path().join(at).join("cgroup.procs"), "").unwrap();
        }
        for (asked, want) in [
            (&["pids"][..], Some("user/app")),
            (&["memory"], Some("user")),
            (&["memory", "pids"], Some("user")),
            (&["hugetlb"], None),
        ] {
            let got = place_in(base.path(), &own, asked);
            assert_eq!(got, want.map(|at| base.path().join(at)), "{asked:?}");
        }
        fs::remove_file(base.path().join("user/cgroup.procs")).unwrap();
        let got = place_in(base.path(), &own, &["memory"]);
        assert_eq!(got.as_deref(), Some(base.path()), "no process may be moved there");
    }

    #[test]
    fn what_joined_a_group_ends_with_it_and_a_stale_group_goes_with_the_next() {
        // Only where this machine lets us make a group.
        let Some(place) = ours().and_then(|(mounted, own)| place_in(&mounted, &own, &[])) else {
            return;
        };
        let stale = place.join("rye-4194305-x");
        fs::create_dir(&stale).unwrap();
        let group = Group::below(&place, Caps::default(), 0).unwrap();
        assert!(!stale.exists() && group.folder.is_dir());
        let mut sleeps = Command::new("sleep").arg("1000").stdin(Stdio::null()).spawn().unwrap();
        let join = fs::OpenOptions::new().write(true).open(group.folder.join("cgroup.procs"));
        join.unwrap().write_all(sleeps.id().to_string().as_bytes()).unwrap();
        let folder = group.folder.clone();
        drop(group);
        assert!(!Path::new(&folder).exists());
        assert!(!sleeps.wait().unwrap().success(), "it was ended");
    }
}
