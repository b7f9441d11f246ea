//! Finding a program, and judging whether it may be used (core 7.6).
//!
//! In:  a name or a path, the child's `PATH`, what the person allowed.
//! Out: a [`Chosen`] program, and what was passed over on the way, each with its reason.
//!
//! A program is inside the project by any place on the way to it, by the folder of the `pyvenv.cfg`
//! that it would read, or by the home which that names. Inside, it is used only if a record of
//! yours names it as it is. A version manager's shim is never run: it would ask the project what to
//! run.

use std::path::{Path, PathBuf};

use super::interpreter;
use super::version_managers::{self, Version};
use crate::base::Digest;
use crate::base::limits::SMALL_TEXT_BYTES;
use crate::host::{Host, ResolvedPath};
use crate::parse::Interpreter;
use crate::plan::context::PlanContext;
use crate::plan::env;
use crate::trace::SkippedPath;
use crate::verify::{FileIdentity, Permit};

/// A program that may be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Chosen {
    /// The path that is started.
    pub(crate) path: PathBuf,
    pub(crate) look: ResolvedPath,
    /// It lies inside the project, and a record of yours lets it in.
    pub(crate) permitted: bool,
    /// It is rye itself, which brings all that it needs.
    pub(crate) is_rye: bool,
}

/// Looks for programs, and keeps what it passed over.
pub(in crate::plan) struct Seeker<'a> {
    pub(in crate::plan) machine: &'a PlanContext<'a>,
    /// The child's `PATH`.
    path: &'a str,
    passed_over: Vec<SkippedPath>,
}

/// The `pyvenv.cfg` of a Python installation.
struct Venv {
    cfg: PathBuf,
    home: Option<PathBuf>,
    sha256: String,
}

impl<'a> Seeker<'a> {
    pub(in crate::plan) fn new(machine: &'a PlanContext<'a>, path: &'a str) -> Self {
        Self { machine, path, passed_over: Vec::new() }
    }

    /// The paths that were passed over, in order.
    pub(in crate::plan) fn into_passed_over(self) -> Vec<SkippedPath> {
        self.passed_over
    }

    pub(in crate::plan) fn passed_over(&self) -> &[SkippedPath] {
        &self.passed_over
    }

    pub(in crate::plan) fn pass(
        &mut self,
        path: &Path,
        why: impl Into<String>,
        help: Option<String>,
    ) {
        let passed = SkippedPath { path: path.display().to_string(), why: why.into(), help };
        if !self.passed_over.contains(&passed) {
            self.passed_over.push(passed);
        }
    }

    /// The first program of that name in the folders of the child's `PATH` that may be used.
    pub(in crate::plan) fn on_path(&mut self, name: &str) -> Option<Chosen> {
        let folders: Vec<PathBuf> = std::env::split_paths(self.path).collect();
        // A relative folder on the path would make the working directory decide what runs.
        for folder in folders.iter().filter(|f| f.is_absolute()) {
            let file = folder.join(name);
            let Some(look) = self.look(&file) else { continue };
            if !version_managers::is_shim(&file) {
                if let Some(chosen) = self.judge(file, look, false) {
                    return Some(chosen);
                }
                continue;
            }
            match version_managers::of_shim(self, &file, name) {
                Ok(Version::System) => {}
                Ok(Version::At(real)) => {
                    if let Some(chosen) = self.at(&real, false) {
                        return Some(chosen);
                    }
                }
                Err(why) => self.pass(&file, why, None),
            }
        }
        None
    }

    /// The program at a path, if it may be used; `searched` below the project, where nothing is
    /// used without a record.
    pub(in crate::plan) fn at(&mut self, path: &Path, searched: bool) -> Option<Chosen> {
        let look = self.look(path)?;
        self.judge(path.to_owned(), look, searched)
    }

    /// rye itself, wherever it lies: it is what asks.
    pub(in crate::plan) fn own_program(&mut self) -> Option<Chosen> {
        let path = self.machine.host.own_program()?;
        match self.look(&path).filter(|_| path.to_str().is_some()) {
            Some(look) => Some(Chosen { path, look, permitted: false, is_rye: true }),
            None => {
                let why = "rye was replaced or moved since it was started; start it anew";
                self.pass(&path, why, None);
                None
            }
        }
    }

    fn look(&self, path: &Path) -> Option<ResolvedPath> {
        self.machine.host.look(path).filter(|look| look.is_program)
    }

    fn judge(&mut self, path: PathBuf, look: ResolvedPath, searched: bool) -> Option<Chosen> {
        if path.to_str().is_none() {
            self.pass(&path, "its path is not UTF-8", None);
            return None;
        }
        let venv = venv(self.machine.host, &look);
        if !searched && !self.is_inside(&path, &look, venv.as_ref()) {
            return Some(Chosen { path, look, permitted: false, is_rye: false });
        }
        let identity = identity(&look, venv.map(|venv| venv.sha256));
        match self.machine.trust.permits_file(&identity) {
            Permit::Given => Some(Chosen { path, look, permitted: true, is_rye: false }),
            refused => {
                self.refuse(&path, &refused);
                None
            }
        }
    }

    fn refuse(&mut self, path: &Path, permit: &Permit) {
        let why = match permit {
            Permit::Stale(why) => format!("you allowed it, but {why}"),
            _ => "it lies in the project, and you have not allowed it".to_owned(),
        };
        let help = format!("rye trust allow-interpreter {}", quoted(path));
        self.pass(path, why, Some(help));
    }

    fn is_inside(&self, path: &Path, look: &ResolvedPath, venv: Option<&Venv>) -> bool {
        let host = self.machine.host;
        let real = |path: &PathBuf| host.real_folder(path).unwrap_or_else(|| path.clone());
        let mut places: Vec<PathBuf> = look.places().map(Path::to_owned).collect();
        places.push(path.to_owned());
        if let Some(venv) = venv {
            places.push(venv.cfg.clone());
            places.extend(venv.home.iter().flat_map(|home| [home.clone(), real(home)]));
        }
        // Below `/proc` the child finds another file by the same name.
        let is_bad = |place: &PathBuf| self.machine.is_guarded(place) || place.starts_with("/proc");
        places.iter().any(is_bad) || places.iter().any(|place| self.machine.ground.holds(place))
    }

    /// The text of a version file at the top of the project, if a record of yours lets it in.
    pub(in crate::plan) fn project_text(&mut self, name: &str) -> Option<String> {
        let path = self.machine.project_path.join(name);
        let identity = text_identity(self.machine.host, &path)?;
        match self.machine.trust.permits_file(&identity) {
            Permit::Given => self.text(&path),
            refused => {
                self.refuse(&path, &refused);
                None
            }
        }
    }

    /// A small text of the operator's own.
    pub(in crate::plan) fn text(&self, path: &Path) -> Option<String> {
        String::from_utf8(self.machine.host.read(path, SMALL_TEXT_BYTES)?).ok()
    }
}

/// The program that a run would start: the one that an interpreter's block means, or without one
/// the program of that name; and what is passed over on the way.
pub(crate) fn find_program(
    machine: &PlanContext<'_>,
    block: Option<&Interpreter>,
    name: &str,
) -> (Option<PathBuf>, Vec<SkippedPath>) {
    let path = env::path(machine.vars).unwrap_or_default();
    let mut seek = Seeker::new(machine, &path);
    let found = match block {
        Some(block) => interpreter::meant(block, &mut seek),
        None => seek.on_path(name),
    };
    (found.map(|chosen| chosen.path), seek.into_passed_over())
}

/// The identity that a record about the program, or version file, at `path` is bound to; `None` if
/// there is no regular file, or one that is neither.
pub(crate) fn file_identity(host: &dyn Host, path: &Path) -> Option<FileIdentity> {
    let look = host.look(path)?;
    if !look.is_program {
        return text_identity(host, path);
    }
    let venv = venv(host, &look).map(|venv| venv.sha256);
    Some(identity(&look, venv))
}

fn text_identity(host: &dyn Host, path: &Path) -> Option<FileIdentity> {
    let look = host.look(path)?;
    let bytes = host.read(path, SMALL_TEXT_BYTES)?;
    Some(identity(&look, Some(Digest::of(&bytes).to_string())))
}

fn identity(look: &ResolvedPath, text_sha256: Option<String>) -> FileIdentity {
    FileIdentity {
        path: look.place().to_owned(),
        real: look.real().to_owned(),
        size: look.size,
        ctime_ns: look.ctime_ns,
        text_sha256,
    }
}

/// The `pyvenv.cfg` that a Python at one of these places would read: beside it or one folder up.
fn venv(host: &dyn Host, look: &ResolvedPath) -> Option<Venv> {
    let mut folders: Vec<&Path> = look.steps.iter().filter_map(|step| step.parent()).collect();
    folders.dedup();
    let cfg =
        folders.into_iter().flat_map(|folder| [Some(folder), folder.parent()]).flatten().find_map(
            |f| {
                let cfg = host.look(&f.join("pyvenv.cfg"))?;
                Some((
                    cfg.real().to_owned(),
                    host.read(cfg.real(), SMALL_TEXT_BYTES).unwrap_or_default(),
                ))
            },
        );
    let (cfg, bytes) = cfg?;
    let text = String::from_utf8_lossy(&bytes);
    let home = text.lines().find_map(|line| {
        let (key, value) = line.split_once('=')?;
        (key.trim().eq_ignore_ascii_case("home")).then(|| PathBuf::from(value.trim()))
    });
    Some(Venv { cfg, home, sha256: Digest::of(&bytes).to_string() })
}

/// A path as a shell needs it.
pub(in crate::plan) fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./@%+:,".contains(c);
    match text.chars().all(plain) {
        true => text,
        false => format!("'{}'", text.replace('\'', "'\\''")),
    }
}
