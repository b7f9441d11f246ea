//! The sandbox of a thread on this machine: a folder that only this user can enter, in which files
//! are opened one by one, and commands run at the strongest level of the sandbox (threads 5).
//!
//! Invariant: a path is opened below the workspace and through no link, whatever a command put
//! there.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, fstat, openat, renameat, statat};
use rustix::io::Errno;

use super::backend::OpenedOnce;
use super::workspace_size::is_full;
use crate::base::beneath::{make_folder_beneath, open_beneath};
use crate::base::bytes::{Bounded, read_at_most, temporary_name};
use crate::base::limits::{WORKSPACE_DEPTH, WORKSPACE_OUTPUT_BYTES};
use crate::diagnostic::Diagnose;
use crate::host::{ChildSandbox, Confinement, EgressOfRun, Ladder, PrivateDir, Spawn};
use crate::id::Space;
use crate::plan::workspace_policy;
use crate::rye::{Rye, pin_fallback};
use crate::thread::{
    BackendCapability, BackendFault, BackendFaultKind, FileEncoding, Payload, PayloadResult,
    SandboxBackend, WorkspaceEntry, shown_bytes,
};

/// Most names of a folder of a workspace that are read; a model is given 500 of them.
pub(super) const WORKSPACE_NAMES: usize = 20_000;

/// Largest file of a workspace that is read for a model, in bytes: it is held in memory.
pub(super) const WORKSPACE_FILE_BYTES: u64 = 8 << 20;

/// Where programs are found by their names.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";
/// A shell for commands.
const SHELL: &str = "/bin/sh";

/// See the module.
pub(super) struct LocalBackend<'a> {
    rye: &'a Rye,
    opened: OpenedOnce<Workspace>,
}

/// An open workspace; its folder is removed when the last payload is done with it.
struct Workspace {
    folder: PathBuf,
    root: OwnedFd,
    confinement: Arc<Confinement>,
    /// It holds more than it may, so nothing more is written.
    is_full: AtomicBool,
    /// For temporary files, where the sandbox has no own place for them.
    tmp: Option<PrivateDir>,
    _folder: PrivateDir,
}

impl<'a> LocalBackend<'a> {
    pub(super) fn new(rye: &'a Rye) -> Self {
        Self { rye, opened: OpenedOnce::default() }
    }

    fn workspace(&self) -> Result<Arc<Workspace>, BackendFault> {
        self.opened.get(|| self.open())
    }

    fn open(&self) -> Result<Workspace, BackendFault> {
        let private = || {
            let fallback = pin_fallback(self.rye);
            let made = PrivateDir::new(self.rye.runtime.as_deref(), fallback.as_deref());
            made.map_err(|error| os_error(&error.to_string()))
        };
        let host = self.rye.host();
        let made = private()?;
        let folder = host.real_folder(made.path()).ok_or_else(|| os_error("it is gone"))?;
        let root = File::open(&folder).map_err(|error| os_error(&error.to_string()))?.into();
        let confinement = self.confinement(&folder, false)?;
        let tmp = if confinement.has_own_tmp() { None } else { Some(private()?) };
        let is_full = AtomicBool::new(false);
        Ok(Workspace { folder, root, confinement, is_full, tmp, _folder: made })
    }

    fn confinement(&self, folder: &Path, is_full: bool) -> Result<Arc<Confinement>, BackendFault> {
        let host = self.rye.host();
        let user = self.rye.spaces().get(Space::User).map(|user| user.base().to_owned());
        let policy = workspace_policy(host, folder, user.as_deref(), is_full);
        let confined = host.confine(policy, Ladder::Auto).map_err(|error| {
            let code = error.code();
            BackendFault::new(BackendFaultKind::OsError, format!("{}: {error}", code.name()))
        });
        confined.map(Arc::new)
    }

    fn command(
        &self,
        workspace: &Workspace,
        command: (String, BTreeMap<String, String>, Option<String>, Vec<u8>),
        timeout: Duration,
    ) -> Result<PayloadResult, BackendFault> {
        let (cmd, env, cwd, stdin) = command;
        let cwd = match cwd.as_deref().map(plain).transpose()? {
            Some(path) if path != "." => {
                workspace.open(&path, OFlags::PATH | OFlags::DIRECTORY)?;
                workspace.folder.join(path)
            }
            _ => workspace.folder.clone(),
        };
        let mut spawn = Spawn::new(Path::new(SHELL), &cwd, WORKSPACE_OUTPUT_BYTES, timeout);
        spawn.args = vec!["-c".into(), cmd.into()];
        let usual = [("PATH", PATH.into()), ("LANG", "C.UTF-8".into())];
        let home = ("HOME", workspace.folder.clone().into_os_string());
        let usual = usual.into_iter().chain([home]).map(|(name, value)| (name.to_owned(), value));
        let own = env.into_iter().map(|(name, value)| (name, OsString::from(value)));
        spawn.env = usual.chain(own).collect();
        spawn.stdin = stdin;
        let confinement = match workspace.is_full.load(Ordering::Relaxed) {
            true => self.confinement(&workspace.folder, true)?,
            false => workspace.confinement.clone(),
        };
        spawn.sandbox = Some(ChildSandbox {
            confinement,
            pin: None,
            tmp: workspace.tmp.as_ref().map(|tmp| tmp.path().to_owned()),
            new_items: None,
            index: None,
            egress: EgressOfRun::default(),
        });
        let ended = self.rye.host().run(&spawn, &mut |_| ());
        let ended = ended.map_err(|error| os_error(&error.to_string()))?.told_like_a_shell();
        if let Some(signal) = ended.interrupted {
            let fault = BackendFault::new(BackendFaultKind::SandboxClosed, "rye was asked to end");
            return Err(BackendFault { signal: Some(signal), ..fault });
        }
        if ended.timed_out {
            return Err(took_too_long(timeout));
        }
        let exit_code = ended.exit_code.unwrap_or(-1);
        if let Err(why) = workspace.has_room(0) {
            return Err(os_error(&format!("the command ended with status {exit_code}, and {why}")));
        }
        let (stdout_total, stderr_total) = (ended.stdout_bytes, ended.stderr_bytes);
        let (stdout, stderr, elapsed) = (ended.stdout, ended.stderr, ended.duration);
        Ok(PayloadResult::Command {
            exit_code,
            stdout,
            stderr,
            stdout_total,
            stderr_total,
            elapsed,
        })
    }
}

impl SandboxBackend for LocalBackend<'_> {
    fn capabilities(&self) -> &'static [BackendCapability] {
        use BackendCapability::{Code, Command, Filesystem, Isolation};
        &[Isolation, Command, Filesystem, Code]
    }

    fn dispatch(&self, payload: Payload) -> Result<PayloadResult, BackendFault> {
        let workspace = self.workspace()?;
        match payload {
            Payload::CommandRun { cmd, env, cwd, stdin, timeout } => {
                self.command(&workspace, (cmd, env, cwd, stdin), timeout)
            }
            Payload::FilesRead { path, encoding } => {
                decoded(workspace.read(&path)?, encoding, &path)
            }
            Payload::FilesWrite { path, data, mode } => {
                workspace.write(&path, &data, mode)?;
                let bytes = u64::try_from(data.len()).unwrap_or(u64::MAX);
                Ok(PayloadResult::Written(bytes))
            }
            Payload::FilesList { path } => workspace.list(&path).map(PayloadResult::Entries),
            Payload::FilesExists { path } => workspace.exists(&path).map(PayloadResult::Exists),
            code @ Payload::CodeRun { .. } => self.dispatch(code.code_as_command()?),
        }
    }

    fn close(&self) {
        self.opened.close();
    }
}

impl Workspace {
    /// Returns an error if so many more bytes do not fit.
    fn has_room(&self, more: u64) -> Result<(), String> {
        let tmp = self.tmp.as_ref().map(PrivateDir::path);
        let folders: Vec<&Path> = std::iter::once(&*self.folder).chain(tmp).collect();
        let full = is_full(&folders, more);
        // It may be full for what is to come alone.
        if more == 0 {
            self.is_full.store(full.is_some(), Ordering::Relaxed);
        }
        full.map_or(Ok(()), |why| {
            Err(format!("the workspace is full: {why}; nothing is written until some is removed"))
        })
    }

    fn open(&self, path: &str, flags: OFlags) -> Result<OwnedFd, BackendFault> {
        // What is only looked at is not opened, and the kernel refuses what would be about that.
        let flags = match flags.contains(OFlags::PATH) {
            true => flags | OFlags::CLOEXEC,
            false => flags | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY,
        };
        open_beneath(self.root.as_fd(), path, flags).map_err(|errno| told(path, errno))
    }

    fn exists(&self, path: &str) -> Result<bool, BackendFault> {
        let path = plain(path)?;
        if path == "." {
            return Ok(true);
        }
        match self.open(&path, OFlags::PATH) {
            Ok(_) => Ok(true),
            Err(fault) if fault.kind == BackendFaultKind::FileNotFound => Ok(false),
            Err(fault) => Err(fault),
        }
    }

    fn read(&self, path: &str) -> Result<Vec<u8>, BackendFault> {
        let path = plain(path)?;
        let file = self.open(&path, OFlags::RDONLY)?;
        let stat = fstat(&file).map_err(|errno| told(&path, errno))?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(not_regular(&path));
        }
        let mut file = File::from(file);
        match read_at_most(&mut file, WORKSPACE_FILE_BYTES, 0) {
            Ok(Bounded::All(bytes)) => Ok(bytes),
            Ok(Bounded::More) => Err(too_large(&path)),
            Err(error) => Err(os_error(&error.to_string())),
        }
    }

    fn write(&self, path: &str, data: &[u8], mode: u32) -> Result<(), BackendFault> {
        let path = plain(path)?;
        if path == "." {
            return Err(os_error("the workspace itself is a folder"));
        }
        self.has_room(data.len() as u64).map_err(|why| os_error(&why))?;
        let placed = make_folder_beneath(&self.root, &path);
        let (folder, name) = placed.map_err(|errno| told(&path, errno))?;
        let temporary = temporary_name().map_err(|error| os_error(&error.to_string()))?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let file = openat(&folder, &temporary, flags, Mode::from_raw_mode(mode & 0o777));
        let mut file = File::from(file.map_err(|errno| told(&path, errno))?);
        let placed = file
            .write_all(data)
            .and_then(|()| file.sync_all())
            .and_then(|()| renameat(&folder, &temporary, &folder, name).map_err(io::Error::from));
        placed.map_err(|error| {
            let _ = rustix::fs::unlinkat(&folder, &temporary, AtFlags::empty());
            unwritable(&path, &error.to_string())
        })
    }

    fn list(&self, path: &str) -> Result<Vec<WorkspaceEntry>, BackendFault> {
        let path = plain(path)?;
        let folder = match path.as_str() {
            "." => openat(&self.root, ".", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
                .map_err(|errno| told(&path, errno))?,
            path => self.open(path, OFlags::RDONLY | OFlags::DIRECTORY)?,
        };
        let mut entries = Vec::new();
        let names = Dir::read_from(&folder).map_err(|errno| told(&path, errno))?;
        for entry in names.flatten() {
            let name = entry.file_name().to_bytes();
            if matches!(name, b"." | b"..") {
                continue;
            }
            if entries.len() == WORKSPACE_NAMES {
                return Err(too_many(&path));
            }
            let stat = statat(&folder, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW);
            let is_dir = stat.is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode).is_dir());
            let name = shown_bytes(name);
            let path = if path == "." { name.clone() } else { format!("{path}/{name}") };
            entries.push(WorkspaceEntry { name, path, is_dir });
        }
        entries.sort();
        Ok(entries)
    }
}

/// A path below the workspace in plain parts; `.` is the workspace itself.
pub(super) fn plain(path: &str) -> Result<String, BackendFault> {
    let out = |why: &str| BackendFault::new(BackendFaultKind::PermissionDenied, why);
    if path.starts_with('/') || path.contains('\0') {
        return Err(out("a path is relative to the workspace"));
    }
    let parts: Vec<&str> = path.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
    if parts.contains(&"..") {
        return Err(out("a path does not lead out of the workspace"));
    }
    match parts.len() {
        0 => Ok(".".to_owned()),
        1..=WORKSPACE_DEPTH => Ok(parts.join("/")),
        _ => Err(out("a path is not that deep")),
    }
}

pub(super) fn os_error(why: &str) -> BackendFault {
    BackendFault::new(BackendFaultKind::OsError, why)
}

pub(super) fn took_too_long(timeout: Duration) -> BackendFault {
    let why = format!("the command took longer than {} s", timeout.as_secs());
    BackendFault::new(BackendFaultKind::Timeout, why)
}

/// The content of a file, as what it is asked for.
pub(super) fn decoded(
    bytes: Vec<u8>,
    encoding: FileEncoding,
    path: &str,
) -> Result<PayloadResult, BackendFault> {
    match encoding {
        FileEncoding::Bytes => Ok(PayloadResult::Bytes(bytes)),
        FileEncoding::Utf8 => match String::from_utf8(bytes) {
            Ok(text) => Ok(PayloadResult::Text(text)),
            Err(_) => Err(os_error(&format!("`{path}` is not UTF-8"))),
        },
    }
}

pub(super) fn not_regular(path: &str) -> BackendFault {
    os_error(&format!("`{path}` is not a regular file"))
}

pub(super) fn too_large(path: &str) -> BackendFault {
    os_error(&format!("`{path}` is larger than {} MiB", WORKSPACE_FILE_BYTES >> 20))
}

pub(super) fn too_many(path: &str) -> BackendFault {
    os_error(&format!("`{path}` has more than {WORKSPACE_NAMES} names"))
}

pub(super) fn unwritable(path: &str, why: &str) -> BackendFault {
    os_error(&format!("`{path}` cannot be written: {why}"))
}

pub(super) fn told(path: &str, errno: Errno) -> BackendFault {
    match errno {
        Errno::NOENT => {
            BackendFault::new(BackendFaultKind::FileNotFound, format!("`{path}` is not there"))
        }
        Errno::LOOP | Errno::XDEV => BackendFault::new(
            BackendFaultKind::PermissionDenied,
            format!("`{path}` leads through a link, or out of the workspace"),
        ),
        Errno::ACCESS | Errno::PERM => BackendFault::new(
            BackendFaultKind::PermissionDenied,
            format!("`{path}` may not be opened"),
        ),
        other => os_error(&format!("`{path}`: {other}")),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::LocalBackend;
    use crate::id::Space;
    use crate::rye::RyeBuilder;
    use crate::thread::{BackendFaultKind, FileEncoding, Payload, PayloadResult, SandboxBackend};

    fn list() -> Payload {
        Payload::FilesList { path: ".".into() }
    }

    #[test]
    fn a_sandbox_that_is_closed_does_nothing_more_and_leaves_no_folder() {
        let (home, project) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let vars = [("HOME".into(), home.path().into()), ("PATH".into(), "/usr/bin:/bin".into())];
        let rye = RyeBuilder::new().vars(vars).cwd(project.path().to_owned()).build().unwrap();
        assert!(rye.spaces().get(Space::User).is_some());
        let backend = LocalBackend::new(&rye);
        let folder = match backend.dispatch(list()) {
            Ok(came) => {
                assert_eq!(came, PayloadResult::Entries(Vec::new()));
                Some(backend.workspace().unwrap().folder.clone())
            }
            // A machine without any sandbox.
            Err(fault) => {
                assert_eq!(fault.kind, BackendFaultKind::OsError, "{fault:?}");
                None
            }
        };
        assert!(folder.as_ref().is_none_or(|folder| folder.is_dir()));
        for _ in 0..2 {
            backend.close();
            assert!(folder.as_ref().is_none_or(|folder| !folder.exists()));
            for payload in [
                list(),
                Payload::FilesExists { path: "x".into() },
                Payload::FilesRead { path: "x".into(), encoding: FileEncoding::Bytes },
                Payload::FilesWrite { path: "x".into(), data: Vec::new(), mode: 0o644 },
                Payload::command("true", Duration::from_secs(9)),
                Payload::CodeRun {
                    code: "1".into(),
                    language: "javascript".into(),
                    timeout: Duration::from_secs(9),
                },
            ] {
                let fault = backend.dispatch(payload).unwrap_err();
                assert_eq!(fault.kind, BackendFaultKind::SandboxClosed);
            }
        }
    }

    #[test]
    fn a_sandbox_is_not_opened_to_be_closed() {
        let rye = RyeBuilder::new().system_only();
        let backend = LocalBackend::new(&rye);
        backend.close();
        let fault = backend.dispatch(list()).unwrap_err();
        assert_eq!(fault.kind, BackendFaultKind::SandboxClosed);
    }
}
