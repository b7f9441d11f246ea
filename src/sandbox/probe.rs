//! Which levels work on this machine, and for each other one the exact reason and the mend.
//!
//! A level is tried in the way in which a run starts it: signs such as a setting of the kernel only
//! explain why it does not work.

use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{LazyLock, OnceLock};
use std::time::Duration;

use super::{bwrap, seccomp};
use crate::base::bytes::write_atomic;
use crate::base::text::brief_line;
use crate::host::{
    Lacking, Mount, Mounted, Namespaces, Net, OwnNetwork, ProgramFile, Restrict, SandboxLevel,
    Spawn, attempt, landlock_version,
};

/// Found out once, when it is first needed.
pub(super) type Once<T> = LazyLock<T, fn() -> T>;

/// Which levels work here.
pub(super) struct Found {
    /// How the level `bwrap` is made, if it works.
    pub(super) bwrap: Once<Result<Way, Lacking>>,
    /// The version of landlock, if its level works.
    pub(super) landlock: Once<Result<i64, Lacking>>,
}

/// How the level `bwrap` is made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Way {
    /// By rye.
    Own,
    /// By the program `bwrap`, which some machines let have namespaces when they let no other. As
    /// the first process of its own ids, where it works so, it leaves nothing when it is killed.
    Program { path: PathBuf, is_first: bool },
}

impl Way {
    /// Tries it with what a run has.
    fn attempt(&self) -> Result<(), String> {
        let root = Path::new("/");
        let mounts = [
            (root, Mounted::Bind { from: root.into(), writable: false, must_exist: true }),
            (Path::new("/proc"), Mounted::Processes),
            (Path::new("/dev"), Mounted::Devices),
        ];
        let mounts = mounts.map(|(at, what)| Mount { at: at.into(), what }).to_vec();
        let mut spawn = Spawn::new(root, root, 0, Duration::MAX);
        let net = Net::Loopback;
        let filter = seccomp::filter(SandboxLevel::Bwrap, net, *self == Self::Own)?;
        spawn.restrict = Restrict { filter, ..Restrict::default() };
        match self {
            Self::Own => {
                let made = Namespaces::new(&mounts, OwnNetwork::Loopback(Vec::new()), &[]);
                spawn.restrict.namespaces = Some(made.map_err(|error| error.to_string())?.into());
                spawn.restrict.drops_capabilities = true;
                spawn.restrict.only_tries = true;
            }
            Self::Program { path, is_first } => {
                spawn.program.clone_from(path);
                spawn.args = bwrap::arguments(mounts, net, root);
                spawn.args.extend([path.into(), "--version".into()]);
                spawn.restrict.is_first_process = *is_first;
            }
        }
        attempt(&spawn).map_err(|error| brief_line(&error.to_string()))
    }
}

/// Where `bwrap` is looked for. Not on `PATH`, because a project may have changed that.
const PLACES: [&str; 5] = [
    "/usr/bin/bwrap",
    "/usr/local/bin/bwrap",
    "/bin/bwrap",
    "/run/current-system/sw/bin/bwrap",
    "/opt/homebrew/bin/bwrap",
];

/// From this version on, truncating a file needs the right to write it.
const LANDLOCK_TRUNCATE: i64 = 3;

/// Which levels work here.
pub(super) fn found() -> &'static Found {
    static FOUND: Found = Found { bwrap: LazyLock::new(bwrap), landlock: LazyLock::new(landlock) };
    static ANEW: Found =
        Found { bwrap: LazyLock::new(try_bwrap), landlock: LazyLock::new(landlock) };
    if IS_FORGOTTEN.load(Ordering::Relaxed) { &ANEW } else { &FOUND }
}

/// Set when a level that was found to work did not; [`found`] tries again then.
static IS_FORGOTTEN: AtomicBool = AtomicBool::new(false);

/// Where it is kept that [`Way::Own`] works, so that not every process has to try it.
static KEPT: OnceLock<PathBuf> = OnceLock::new();

/// Keeps what was tried below this folder, if it is there.
pub(crate) fn keep_below(folder: &Path) {
    let _ = KEPT.set(folder.join("sandbox"));
}

/// Removes the kept result, so that this process and the next one try again.
pub(super) fn forget() {
    IS_FORGOTTEN.store(true, Ordering::Relaxed);
    let _ = KEPT.get().map(fs::remove_file);
}

/// The circumstances of a trial as a text. It differs after a restart of the machine, in another
/// container, for another user and for another program. Failures are not kept; where a kept success
/// no longer holds, the set-up of a run fails before the tool runs, and what works is tried anew.
fn circumstances() -> Option<String> {
    let read = |path: &str| fs::read_to_string(path).ok();
    let link = |path: &str| Some(fs::read_link(path).ok()?.display().to_string());
    let ProgramFile { device, inode } = ProgramFile::own().ok()?;
    let status = read("/proc/self/status")?;
    let held = ["Uid:", "Gid:", "NoNewPrivs:", "Seccomp", "CapEff:", "CapBnd:"];
    let held = status.lines().filter(|line| held.iter().any(|name| line.starts_with(name)));
    let mut all = vec![read("/proc/sys/kernel/random/boot_id")?, format!("{device} {inode}")];
    for name in ["user", "mnt", "pid", "net"] {
        all.push(link(&format!("/proc/self/ns/{name}"))?);
    }
    all.extend([link("/proc/self/exe")?, link("/proc/self/root")?]);
    // The module that may let some programs have namespaces and others not.
    all.extend(read("/proc/self/attr/current"));
    all.extend(held.map(str::to_owned));
    Some(all.join("\n"))
}

/// Tries each level now, and says why one does not work.
pub(crate) fn tried() -> [(SandboxLevel, Result<String, Lacking>); 2] {
    let bwrap = try_bwrap().map(|way| match way {
        Way::Own => "rye makes the namespaces".to_owned(),
        Way::Program { path, .. } => path.display().to_string(),
    });
    let landlock = landlock().map(|version| format!("version {version} of the kernel's"));
    [(SandboxLevel::Bwrap, bwrap), (SandboxLevel::Landlock, landlock)]
}

/// The facts that decide how the level `bwrap` is made; tests replace them.
struct Facts<'a> {
    program: Option<&'a Path>,
    /// The content of a file below `/proc/sys`, if it exists.
    setting: &'a dyn Fn(&str) -> Option<String>,
    attempt: &'a dyn Fn(&Way) -> Result<(), String>,
}

fn bwrap() -> Result<Way, Lacking> {
    let now = KEPT.get().and_then(|at| Some((at, circumstances()?)));
    if let Some((at, now)) = &now
        && fs::read(at).is_ok_and(|kept| kept == now.as_bytes())
    {
        return Ok(Way::Own);
    }
    let tried = try_bwrap();
    if let (Some((at, now)), Ok(Way::Own)) = (now, &tried) {
        // Without it the next process tries it too.
        let _ = write_atomic(at, now.as_bytes(), 0o600);
    }
    tried
}

fn try_bwrap() -> Result<Way, Lacking> {
    let setting = |path: &str| fs::read_to_string(Path::new("/proc/sys").join(path)).ok();
    judge_bwrap(&Facts {
        program: PLACES.iter().map(Path::new).find(|path| is_program(path)),
        setting: &setting,
        attempt: &Way::attempt,
    })
}

fn judge_bwrap(facts: &Facts<'_>) -> Result<Way, Lacking> {
    let Err(own) = (facts.attempt)(&Way::Own) else { return Ok(Way::Own) };
    let mut by_program = None;
    for is_first in [true, false] {
        let Some(path) = facts.program.map(Path::to_owned) else { break };
        let way = Way::Program { path, is_first };
        match (facts.attempt)(&way) {
            Ok(()) => return Ok(way),
            Err(why) => by_program = Some(why),
        }
    }
    let is = |path: &str, off: bool| {
        (facts.setting)(path).is_some_and(|text| (text.trim() == "0") == off)
    };
    let (why, mend) = match () {
        () if is("kernel/unprivileged_userns_clone", true) => (
            "user namespaces are off (kernel.unprivileged_userns_clone is 0)",
            "`sysctl kernel.unprivileged_userns_clone=1`",
        ),
        () if is("user/max_user_namespaces", true) => (
            "user namespaces are off (user.max_user_namespaces is 0)",
            "`sysctl user.max_user_namespaces=10000`",
        ),
        () if is("kernel/apparmor_restrict_unprivileged_userns", false) && by_program.is_none() => {
            (
                "AppArmor lets no program have namespaces but those that it knows, and bubblewrap is \
             not installed",
                "install it (`apt install bubblewrap`, `dnf install bubblewrap`)",
            )
        }
        () if is("kernel/apparmor_restrict_unprivileged_userns", false) => (
            "AppArmor keeps bubblewrap from its namespaces",
            "give it a profile that allows `userns`, or \
             `sysctl kernel.apparmor_restrict_unprivileged_userns=0`",
        ),
        () if own.contains("`/proc`") => (
            "no `/proc` can be mounted, because parts of the one that is there are covered",
            "let the container it runs in see all of `/proc` (`podman run --security-opt \
             unmask=ALL`, `docker run --security-opt systempaths=unconfined`)",
        ),
        () => (
            "this process may not have namespaces of its own",
            "let the container it runs in have user namespaces and mount in them (its seccomp \
             profile or its settings forbid it)",
        ),
    };
    let said = by_program.unwrap_or(own);
    let (why, mend) = (format!("{why} ({said})"), mend.to_owned());
    Err(Lacking { level: SandboxLevel::Bwrap, why, mend })
}

/// Returns true if the path is a program that only root or this user can have put there.
fn is_program(path: &Path) -> bool {
    let own = rustix::process::geteuid().as_raw();
    fs::metadata(path).is_ok_and(|stat| {
        let is_ours = stat.uid() == 0 || stat.uid() == own;
        stat.is_file()
            && is_ours
            && stat.permissions().mode() & 0o111 != 0
            && stat.mode() & 0o022 == 0
    })
}

fn landlock() -> Result<i64, Lacking> {
    judge_landlock(landlock_version())
}

fn judge_landlock(version: io::Result<i64>) -> Result<i64, Lacking> {
    let (why, mend) = match version {
        Ok(version) if version >= LANDLOCK_TRUNCATE => return Ok(version),
        Ok(version) => (
            format!(
                "the kernel's landlock is too old (version {version}, {LANDLOCK_TRUNCATE} is needed)"
            ),
            "use Linux 6.2 or later",
        ),
        Err(error) => match error.raw_os_error() {
            Some(libc::EOPNOTSUPP) => (
                "landlock is in the kernel and switched off".into(),
                "boot with `lsm=landlock,…` before the modules that are there",
            ),
            Some(libc::ENOSYS) => (
                "the kernel has no landlock".into(),
                "use Linux 6.2 or later with CONFIG_SECURITY_LANDLOCK",
            ),
            _ => (
                format!("landlock cannot be used ({error})"),
                "let the container it runs in use landlock (its seccomp profile forbids it)",
            ),
        },
    };
    Err(Lacking { level: SandboxLevel::Landlock, why, mend: mend.to_owned() })
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::path::Path;

    use super::{Facts, Way, judge_bwrap, judge_landlock};

    #[test]
    fn each_reason_why_a_level_does_not_work_is_told_with_its_mend_table() {
        let os = |number: i32| io::Error::from_raw_os_error(number);
        for (version, want) in [
            (Ok(3), "works"),
            (Ok(2), "is too old (version 2, 3 is needed): use Linux 6.2"),
            (Err(os(libc::EOPNOTSUPP)), "switched off: boot with"),
            (Err(os(libc::ENOSYS)), "no landlock: use Linux"),
            (Err(os(libc::EPERM)), "Operation not permitted (os error 1)): let the container"),
        ] {
            let got = judge_landlock(version);
            let got = got.map_or_else(|l| format!("{}: {}", l.why, l.mend), |_| "works".into());
            assert!(got.contains(want), "{got}");
        }
        let program = Path::new("/usr/bin/bwrap");
        let by = |is_first| Way::Program { path: program.into(), is_first };
        let (off, on) = (Some("0\n"), Some("1\n"));
        let clone = "kernel/unprivileged_userns_clone";
        let apparmor = "kernel/apparmor_restrict_unprivileged_userns";
        let none = ("", None);
        for (there, works, setting, own, want) in [
            (true, Some(Way::Own), none, "no", "Own"),
            (false, Some(Way::Own), (clone, on), "no", "Own"),
            (true, Some(by(true)), (apparmor, on), "no", "is_first: true"),
            (true, Some(by(false)), none, "no", "is_first: false"),
            (false, None, (clone, off), "no", "unprivileged_userns_clone is 0) (no): `sysctl"),
            (true, None, ("user/max_user_namespaces", off), "no", "max_user_namespaces is 0) (no)"),
            (false, None, (apparmor, on), "no", "not installed (no): install it"),
            (true, None, (apparmor, on), "no", "keeps bubblewrap from its namespaces (no): give"),
            (true, None, (apparmor, off), "no", "namespaces of its own (no): let"),
            (false, None, none, "cannot mount `/proc`: no", "covered (cannot mount `/proc`: no):"),
        ] {
            let got = judge_bwrap(&Facts {
                program: there.then_some(program),
                setting: &|path| setting.1.filter(|_| path == setting.0).map(str::to_owned),
                attempt: &|way| match works.as_ref() == Some(way) {
                    true => Ok(()),
                    false if *way == Way::Own => Err(own.into()),
                    false => Err("no".into()),
                },
            });
            let got = got.map_or_else(|l| format!("{}: {}", l.why, l.mend), |w| format!("{w:?}"));
            assert!(got.contains(want), "{got}");
        }
    }
}
