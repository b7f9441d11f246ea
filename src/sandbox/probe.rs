//! Which levels work on this machine, and for each other one the exact reason and the mend.

use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;

use crate::host::{Lacking, SandboxLevel, can_have_namespaces, landlock_version, unswept};

/// Found out once, when it is first needed.
pub(super) type Once<T> = LazyLock<T, fn() -> T>;

/// Which levels work here.
pub(super) struct Found {
    /// The path of `bwrap`, if its level works.
    pub(super) bwrap: Once<Result<PathBuf, Lacking>>,
    /// The version of landlock, if its level works.
    pub(super) landlock: Once<Result<i64, Lacking>>,
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
    &FOUND
}

/// Tries each level by running something in it: what works, and why the others do not.
pub(crate) fn tried() -> [(SandboxLevel, Result<String, Lacking>); 2] {
    let Found { bwrap, landlock } = found();
    let bwrap = (**bwrap).clone().and_then(|program| match attempt(&program) {
        Ok(()) => Ok(program.display().to_string()),
        Err(why) => Err(Lacking {
            level: SandboxLevel::Bwrap,
            why: format!("bubblewrap fails: {why}"),
            mend: "run `bwrap --unshare-user --ro-bind / / true` and mend what it says".into(),
        }),
    });
    let landlock = (**landlock).clone().map(|version| format!("version {version} of the kernel's"));
    [(SandboxLevel::Bwrap, bwrap), (SandboxLevel::Landlock, landlock)]
}

/// What decides whether `bwrap` works, so that tests can make it up.
struct Facts<'a> {
    program: Option<&'a Path>,
    /// The content of a file below `/proc/sys`, if it exists.
    setting: &'a dyn Fn(&str) -> Option<String>,
    /// Whether a child with its own namespaces could be started.
    namespaces: &'a dyn Fn() -> io::Result<()>,
    attempt: &'a dyn Fn(&Path) -> Result<(), String>,
}

fn bwrap() -> Result<PathBuf, Lacking> {
    let setting = |path: &str| fs::read_to_string(Path::new("/proc/sys").join(path)).ok();
    judge_bwrap(&Facts {
        program: PLACES.iter().map(Path::new).find(|path| is_program(path)),
        setting: &setting,
        namespaces: &can_have_namespaces,
        attempt: &attempt,
    })
}

fn judge_bwrap(facts: &Facts<'_>) -> Result<PathBuf, Lacking> {
    let lacking = |why: String, mend: &str| {
        Err(Lacking { level: SandboxLevel::Bwrap, why, mend: mend.to_owned() })
    };
    let Some(program) = facts.program else {
        return lacking(
            "bubblewrap is not installed".into(),
            "install it (`apt install bubblewrap`, `dnf install bubblewrap`)",
        );
    };
    let zero = |path: &str| (facts.setting)(path).is_some_and(|text| text.trim() == "0");
    if zero("kernel/unprivileged_userns_clone") {
        return lacking(
            "user namespaces are off (kernel.unprivileged_userns_clone is 0)".into(),
            "`sysctl kernel.unprivileged_userns_clone=1`",
        );
    }
    if zero("user/max_user_namespaces") {
        return lacking(
            "user namespaces are off (user.max_user_namespaces is 0)".into(),
            "`sysctl user.max_user_namespaces=10000`",
        );
    }
    if let Err(error) = (facts.namespaces)() {
        return lacking(
            format!("this process may not have namespaces of its own ({error})"),
            "let the container it runs in have user namespaces (its seccomp profile forbids them)",
        );
    }
    let restricts = "kernel/apparmor_restrict_unprivileged_userns";
    if (facts.setting)(restricts).is_some_and(|text| text.trim() != "0") {
        // A profile may allow `bwrap`, so it has to be tried.
        if let Err(why) = (facts.attempt)(program) {
            return lacking(
                format!("AppArmor keeps bubblewrap from its namespaces ({why})"),
                "give it a profile that allows `userns`, or \
                 `sysctl kernel.apparmor_restrict_unprivileged_userns=0`",
            );
        }
    }
    Ok(program.to_owned())
}

/// Whether the path is a program that only root or this user can have put there.
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

/// Runs `true` in a sandbox; the error is what `bwrap` said.
pub(super) fn attempt(program: &Path) -> Result<(), String> {
    let _unswept = unswept();
    let tried = Command::new(program)
        .args(["--unshare-user", "--unshare-pid", "--ro-bind", "/", "/", "--proc", "/proc"])
        .args(["--", "/bin/true"])
        .env_clear()
        .stdin(Stdio::null())
        .output();
    match tried {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr);
            Err(crate::base::text::brief_line(said.trim()))
        }
        Err(error) => Err(error.to_string()),
    }
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

    use super::{Facts, judge_bwrap, judge_landlock};

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
        let there = Some(Path::new("/usr/bin/bwrap"));
        let (off, on) = (Some("0\n"), Some("1\n"));
        for (program, clone, most, namespaces, apparmor, want) in [
            (there, None, Some("96365\n"), true, None, "works"),
            (there, on, None, true, off, "works"),
            (None, None, None, true, None, "not installed: install it"),
            (there, off, None, true, None, "unprivileged_userns_clone is 0): `sysctl"),
            (there, None, off, true, None, "max_user_namespaces is 0): `sysctl"),
            (there, None, None, false, None, "Operation not permitted (os error 1)): let"),
            (
                there,
                None,
                None,
                true,
                on,
                "AppArmor keeps bubblewrap from its namespaces (no): give",
            ),
        ] {
            let setting = |path: &str| {
                let of = [
                    ("kernel/unprivileged_userns_clone", clone),
                    ("user/max_user_namespaces", most),
                    ("kernel/apparmor_restrict_unprivileged_userns", apparmor),
                ];
                of.iter().find(|(name, _)| *name == path)?.1.map(str::to_owned)
            };
            let got = judge_bwrap(&Facts {
                program,
                setting: &setting,
                namespaces: &|| if namespaces { Ok(()) } else { Err(os(libc::EPERM)) },
                attempt: &|_| Err("no".into()),
            });
            let got = got.map_or_else(|l| format!("{}: {}", l.why, l.mend), |_| "works".into());
            assert!(got.contains(want), "{got}");
        }
    }
}
