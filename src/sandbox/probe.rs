//! Which levels work on this machine, and for each that does not the exact reason and the mend.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use crate::host::{Lacking, Level, can_have_namespaces, landlock_version};

/// What of the ladder works here.
#[derive(Debug, Clone)]
pub(crate) struct Found {
    /// The program, where its level works.
    pub(crate) bwrap: Result<PathBuf, Lacking>,
    /// The version of the kernel's interface, where its level works.
    pub(crate) landlock: Result<i64, Lacking>,
}

/// Where `bwrap` is looked for: not on `PATH`, which a shell may have from a project.
const PLACES: [&str; 5] = [
    "/usr/bin/bwrap",
    "/usr/local/bin/bwrap",
    "/bin/bwrap",
    "/run/current-system/sw/bin/bwrap",
    "/opt/homebrew/bin/bwrap",
];

/// Since this version a file cannot be cut short without the right to write it.
const LANDLOCK_TRUNCATE: i64 = 3;

/// What works here; looked at once in a process.
pub(crate) fn found() -> &'static Found {
    static FOUND: OnceLock<Found> = OnceLock::new();
    FOUND.get_or_init(|| Found { bwrap: bwrap(), landlock: landlock() })
}

/// The ladder, each level tried for good: what works, and why the others do not.
pub(crate) fn tried() -> [(Level, Result<String, Lacking>); 2] {
    let Found { bwrap, landlock } = found();
    let bwrap = bwrap.clone().and_then(|program| match attempt(&program) {
        Ok(()) => Ok(program.display().to_string()),
        Err(why) => Err(Lacking {
            level: Level::Bwrap,
            why: format!("bubblewrap fails: {why}"),
            mend: "run `bwrap --unshare-user --ro-bind / / true` and mend what it says".into(),
        }),
    });
    let landlock = landlock.clone().map(|version| format!("version {version} of the kernel's"));
    [(Level::Bwrap, bwrap), (Level::Landlock, landlock)]
}

fn bwrap() -> Result<PathBuf, Lacking> {
    let lacking =
        |why: String, mend: &str| Lacking { level: Level::Bwrap, why, mend: mend.to_owned() };
    let program = PLACES.iter().map(Path::new).find(|path| is_program(path));
    let Some(program) = program else {
        return Err(lacking(
            "bubblewrap is not installed".into(),
            "install it (`apt install bubblewrap`, `dnf install bubblewrap`)",
        ));
    };
    let zero = |path: &str| fs::read_to_string(path).is_ok_and(|text| text.trim() == "0");
    if zero("/proc/sys/kernel/unprivileged_userns_clone") {
        return Err(lacking(
            "user namespaces are off (kernel.unprivileged_userns_clone is 0)".into(),
            "`sysctl kernel.unprivileged_userns_clone=1`",
        ));
    }
    if zero("/proc/sys/user/max_user_namespaces") {
        return Err(lacking(
            "user namespaces are off (user.max_user_namespaces is 0)".into(),
            "`sysctl user.max_user_namespaces=10000`",
        ));
    }
    if let Err(error) = can_have_namespaces() {
        return Err(lacking(
            format!("this process may not have namespaces of its own ({error})"),
            "let the container it runs in have user namespaces (its seccomp profile forbids them)",
        ));
    }
    let restricts = "/proc/sys/kernel/apparmor_restrict_unprivileged_userns";
    if fs::read_to_string(restricts).is_ok_and(|text| text.trim() != "0") {
        // Some programs are let through by a profile, so only trying tells.
        if let Err(why) = attempt(program) {
            return Err(lacking(
                format!("AppArmor keeps bubblewrap from its namespaces ({why})"),
                "give it a profile that allows `userns`, or \
                 `sysctl kernel.apparmor_restrict_unprivileged_userns=0`",
            ));
        }
    }
    Ok(program.to_owned())
}

/// A program that nobody but root or this user can have put there.
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

/// Runs nothing in a sandbox, and says what stood in the way.
pub(super) fn attempt(program: &Path) -> Result<(), String> {
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
    let lacking =
        |why: String, mend: &str| Lacking { level: Level::Landlock, why, mend: mend.to_owned() };
    match landlock_version() {
        Ok(version) if version >= LANDLOCK_TRUNCATE => Ok(version),
        Ok(version) => Err(lacking(
            format!(
                "the kernel's landlock is too old (version {version}, {LANDLOCK_TRUNCATE} is needed)"
            ),
            "use Linux 6.2 or later",
        )),
        Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => Err(lacking(
            "landlock is in the kernel and switched off".into(),
            "boot with `lsm=landlock,…` before the modules that are there",
        )),
        Err(error) if error.raw_os_error() == Some(libc::ENOSYS) => Err(lacking(
            "the kernel has no landlock".into(),
            "use Linux 6.2 or later with CONFIG_SECURITY_LANDLOCK",
        )),
        Err(error) => Err(lacking(
            format!("landlock cannot be used ({error})"),
            "let the container it runs in use landlock (its seccomp profile forbids it)",
        )),
    }
}
