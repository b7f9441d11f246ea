//! Finding the three roots (core 2).

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, StatxFlags, makedev, statx};
use rustix::io::Errno;

use super::error::SpaceError;
use super::root::Root;
use crate::diag;
use crate::host::Vars;
use crate::id::{BundleName, Space};

/// Where installed bundles lie, below the user space's `.ai`: each in a folder of its name, which holds
/// an `.ai` of its own.
pub(crate) const BUNDLES: &str = "bundles";

/// What decides where the roots are.
#[derive(Clone)]
pub(crate) struct Where {
    pub(crate) vars: Vars,
    pub(crate) cwd: PathBuf,
    /// `--project`.
    pub(crate) project: Option<PathBuf>,
}

/// A project folder by more than its name: another folder put in its place is another project.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ProjectIdentity {
    /// The real path.
    pub(crate) path: PathBuf,
    #[serde(with = "decimal")]
    pub(crate) device: u64,
    #[serde(with = "decimal")]
    pub(crate) inode: u64,
    /// Birth time in nanoseconds since 1970 where the file system keeps one: inodes are reused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) born_ns: Option<u64>,
}

impl ProjectIdentity {
    /// Whether `other` is the folder that this was written of; without a birth here, by the rest.
    pub(crate) fn is(&self, other: &Self) -> bool {
        let born = self.born_ns.is_none() || self.born_ns == other.born_ns;
        (&self.path, self.device, self.inode) == (&other.path, other.device, other.inode) && born
    }

    pub(crate) fn of(path: &Path) -> std::io::Result<Self> {
        Self::of_real(fs::canonicalize(path)?)
    }

    /// The same of a path that is real already.
    fn of_real(path: PathBuf) -> std::io::Result<Self> {
        // Asked of the kernel: the standard library knows of no birth where the C library is musl.
        let want = StatxFlags::INO | StatxFlags::BTIME;
        let stat = match statx(CWD, &path, AtFlags::empty(), want) {
            Ok(stat) => stat,
            // Old containers do not let it through; there is no birth to be had there.
            Err(Errno::NOSYS | Errno::PERM) => {
                let stat = fs::metadata(&path)?;
                return Ok(Self { path, device: stat.dev(), inode: stat.ino(), born_ns: None });
            }
            Err(other) => return Err(other.into()),
        };
        let has_birth = StatxFlags::from_bits_retain(stat.stx_mask).contains(StatxFlags::BTIME);
        let born_ns = has_birth.then(|| {
            let seconds = u64::try_from(stat.stx_btime.tv_sec).ok()?;
            seconds.checked_mul(1_000_000_000)?.checked_add(stat.stx_btime.tv_nsec.into())
        });
        let device = makedev(stat.stx_dev_major, stat.stx_dev_minor);
        Ok(Self { path, device, inode: stat.stx_ino, born_ns: born_ns.flatten() })
    }
}

/// Numbers as text: TOML has no place for all of them.
mod decimal {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(super) fn serialize<S: Serializer>(number: &u64, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(number)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
        let text = String::deserialize(from)?;
        text.parse().map_err(|_| D::Error::custom("no whole number"))
    }
}

/// The spaces of one run.
///
/// Invariant: the roots passed the ownership rules of core 2.0 and 2.1; the project root is `None`
/// where it would be the user's own.
#[derive(Debug)]
pub(crate) struct Spaces {
    project: Option<Root>,
    user: Option<Root>,
    system: Root,
    /// Installed bundles, by name.
    bundles: Vec<Root>,
    project_path: PathBuf,
    identity: Option<ProjectIdentity>,
}

impl Spaces {
    /// Finds the roots.
    ///
    /// `allowed` answers, for a user root and a folder, whether the person has allowed that folder
    /// although its owner speaks against it.
    ///
    /// # Errors
    /// `space.foreign_owner`, `space.untrusted_root`, `space.symlink`, `space.io`.
    pub(crate) fn find(
        at: &Where,
        allowed: &dyn Fn(Option<&Root>, &ProjectIdentity) -> bool,
    ) -> Result<Self, SpaceError> {
        let (project_path, holds_ai) = project_folder(at)?;
        let user = user_root(at, holds_ai.then_some(&project_path))?;
        let system = system_root(at, holds_ai.then_some(&project_path))?;
        let is_users = user.as_ref().is_some_and(|(_, real)| *real == project_path);
        let user = user.map(|(root, _)| root);
        let bundles = user.as_ref().map(bundles).unwrap_or_default();
        if is_users {
            return Ok(Self {
                project: None,
                user,
                system,
                bundles,
                project_path: at.cwd.clone(),
                identity: None,
            });
        }
        let identity = ProjectIdentity::of_real(project_path.clone())
            .map_err(|source| io_error(&project_path, source))?;
        if holds_ai {
            check_project(&project_path, &|| allowed(user.as_ref(), &identity))?;
        }
        let project = Root::on_disk(Space::Project, project_path.clone())?;
        let (project, identity) = (Some(project), Some(identity));
        Ok(Self { project, user, system, bundles, project_path, identity })
    }

    /// The same project with the files of another folder, to judge what it may come to hold; `self`
    /// where there is no project space.
    ///
    /// # Errors
    /// `space.io`, `space.not_a_file`
    pub(crate) fn with_project_files(mut self, base: PathBuf) -> Result<Self, SpaceError> {
        if self.project.is_some() {
            self.project = Some(Root::on_disk(Space::Project, base)?);
        }
        Ok(self)
    }

    /// The embedded items alone, for what must work wherever one stands.
    pub(crate) fn system_only() -> Self {
        let (project_path, system) = (PathBuf::from("/"), Root::embedded());
        let bundles = Vec::new();
        Self { project: None, user: None, system, bundles, project_path, identity: None }
    }

    /// The user root alone, for verbs that need no project and for `trust allow-root`.
    pub(crate) fn find_user(at: &Where) -> Result<Option<Root>, SpaceError> {
        Ok(user_root(at, None)?.map(|(root, _)| root))
    }

    pub(crate) fn get(&self, space: Space) -> Option<&Root> {
        match space {
            Space::Project => self.project.as_ref(),
            Space::User => self.user.as_ref(),
            Space::System => Some(&self.system),
        }
    }

    /// The roots that are there, nearest first and bundles last.
    pub(crate) fn nearest_first(&self) -> impl Iterator<Item = &Root> {
        Space::NEAREST_FIRST.into_iter().filter_map(|space| self.get(space)).chain(&self.bundles)
    }

    /// The installed bundles, by name.
    pub(crate) fn bundles(&self) -> &[Root] {
        &self.bundles
    }

    /// The root of a space, or of one of its bundles.
    pub(crate) fn home(&self, space: Space, bundle: Option<&BundleName>) -> Option<&Root> {
        match bundle {
            Some(name) => self.bundles.iter().find(|root| root.bundle() == Some(name)),
            None => self.get(space),
        }
    }

    /// The same with one more bundle, to judge what may be installed, in the place of one of its name.
    pub(crate) fn with_bundle(mut self, root: Root) -> Self {
        self.bundles.retain(|known| known.bundle() != root.bundle());
        self.bundles.push(root);
        self.bundles.sort_by(|a, b| a.bundle().cmp(&b.bundle()));
        self
    }

    /// # Errors
    /// `space.no_user_space`
    pub(crate) fn user(&self) -> Result<&Root, SpaceError> {
        self.user.as_ref().ok_or(SpaceError::NoUserSpace)
    }

    /// The folder that tools work in and file access is contained to.
    pub(crate) fn project_path(&self) -> &Path {
        &self.project_path
    }

    /// `None` where there is no project space.
    pub(crate) fn project_identity(&self) -> Option<&ProjectIdentity> {
        self.identity.as_ref()
    }
}

/// `--project`, else the nearest ancestor that holds `.ai`, else the working directory; and whether
/// it holds `.ai`.
fn project_folder(at: &Where) -> Result<(PathBuf, bool), SpaceError> {
    let holds_ai = |folder: &Path| folder.join(".ai").symlink_metadata().is_ok();
    let named = match &at.project {
        Some(project) => at.cwd.join(project),
        None => at.cwd.ancestors().find(|a| holds_ai(a)).unwrap_or(&at.cwd).to_owned(),
    };
    let real = fs::canonicalize(&named).map_err(|source| io_error(&named, source))?;
    let holds = holds_ai(&real);
    Ok((real, holds))
}

/// The bundles that are installed below a user root. What cannot be opened gives no item; `rye bundle
/// list` tells.
fn bundles(user: &Root) -> Vec<Root> {
    let Ok(folders) = fs::read_dir(user.path(BUNDLES)) else { return Vec::new() };
    let is_folder = |path: &Path| path.symlink_metadata().is_ok_and(|stat| stat.is_dir());
    let mut roots = Vec::new();
    for folder in folders.flatten() {
        let name = folder.file_name().to_str().and_then(|name| name.parse::<BundleName>().ok());
        let base = folder.path();
        if let Some(name) = name
            && is_folder(&base)
            && is_folder(&base.join(".ai"))
        {
            roots.extend(Root::of_bundle(name, base));
        }
    }
    roots.sort_by(|a, b| a.bundle().cmp(&b.bundle()));
    roots
}

fn check_project(project: &Path, allowed: &dyn Fn() -> bool) -> Result<(), SpaceError> {
    let ai = project.join(".ai");
    let link = fs::symlink_metadata(&ai).map_err(|source| io_error(&ai, source))?;
    if link.is_symlink() {
        let place =
            diag::Place { space: Some("project".into()), path: ".ai".into(), ..Default::default() };
        return Err(SpaceError::Symlink { place });
    }
    for folder in [project, &ai] {
        let stat = fs::metadata(folder).map_err(|source| io_error(folder, source))?;
        if let Some(why) = foreign(&stat).or_else(|| open_to_others(&stat))
            && !allowed()
        {
            return Err(SpaceError::ForeignOwner { path: project.to_owned(), why });
        }
    }
    Ok(())
}

/// The user root, and the real path of the folder that it lies in.
fn user_root(at: &Where, project: Option<&PathBuf>) -> Result<Option<(Root, PathBuf)>, SpaceError> {
    let named = at.vars.path("USER_SPACE");
    let name = if named.is_some() { "USER_SPACE" } else { "HOME" };
    let Some(base) = named.or_else(|| at.vars.path("HOME")) else { return Ok(None) };
    if name == "HOME" && base.is_relative() {
        let why = "is no absolute path";
        return Err(SpaceError::UntrustedRoot { name, path: base, why });
    }
    let base = at.cwd.join(base);
    // HOME may well hold the project, but its `.ai` must not lie in there.
    let real = real_or_to_be(&base);
    let holds_project = project.is_some_and(|project| project.starts_with(&real));
    if name == "USER_SPACE" || holds_project {
        refuse_inside(name, &base, project, false)?;
    }
    // What is not there yet has no owner.
    for folder in [base.clone(), base.join(".ai")] {
        let Ok(stat) = fs::metadata(&folder) else { continue };
        // A home may be root's, as `/` is for some services; what lies in it must be yours.
        let only_home = folder == base && name == "HOME" && stat.uid() == 0;
        if stat.uid() != own_uid() && !only_home {
            let why = "belongs to another user";
            return Err(SpaceError::UntrustedRoot { name, path: folder, why });
        }
        // A sticky folder lets nobody rename what is another's.
        let sticky = stat.mode() & 0o1000 != 0;
        if let Some(why) = open_to_others(&stat).filter(|_| !(folder == base && sticky)) {
            return Err(SpaceError::UntrustedRoot { name, path: folder, why });
        }
    }
    own_link(name, &base)?;
    Ok(Some((Root::on_disk(Space::User, base)?, real)))
}

fn system_root(at: &Where, project: Option<&PathBuf>) -> Result<Root, SpaceError> {
    let name = "RYE_SYSTEM_SPACE";
    let Some(base) = at.vars.path(name) else { return Ok(Root::embedded()) };
    let base = at.cwd.join(base);
    refuse_inside(name, &base, project, true)?;
    for folder in [base.clone(), base.join(".ai")] {
        let stat = fs::metadata(&folder).map_err(|source| io_error(&folder, source))?;
        if let Some(why) = foreign(&stat).or_else(|| open_to_others(&stat)) {
            return Err(SpaceError::UntrustedRoot { name, path: folder, why });
        }
    }
    own_link(name, &base)?;
    Root::on_disk(Space::System, base)
}

/// A root inside the project would let the project decide about itself. The project folder itself
/// is let through for the system space: that is how edits to the shipped items are tried.
fn refuse_inside(
    name: &'static str,
    base: &Path,
    project: Option<&PathBuf>,
    may_be_project: bool,
) -> Result<(), SpaceError> {
    let real = real_or_to_be(base);
    let ai = real_or_to_be(&base.join(".ai"));
    if let Some(project) = project
        && ai.starts_with(project)
        && real != *project
    {
        let why = "has its `.ai` inside the project";
        return Err(SpaceError::UntrustedRoot { name, path: base.to_owned(), why });
    }
    match project {
        Some(project) if real.starts_with(project) && !(may_be_project && real == *project) => {
            // The user base as project root is the case of core 2.1: then there is no project.
            if real == *project {
                return Ok(());
            }
            let why = "lies inside the project";
            Err(SpaceError::UntrustedRoot { name, path: base.to_owned(), why })
        }
        _ => Ok(()),
    }
}

/// The real path of a folder, also of one that is not there yet: that of its nearest ancestor, and
/// the rest.
fn real_or_to_be(path: &Path) -> PathBuf {
    for ancestor in path.ancestors() {
        if let (Ok(real), Ok(rest)) = (fs::canonicalize(ancestor), path.strip_prefix(ancestor)) {
            return real.join(rest);
        }
    }
    path.to_owned()
}

/// The root may be a symlink only of this user's own making.
fn own_link(name: &'static str, base: &Path) -> Result<(), SpaceError> {
    let ai = base.join(".ai");
    match fs::symlink_metadata(&ai) {
        Ok(link) if link.is_symlink() && link.uid() != own_uid() => {
            let why = "is a symbolic link of another user";
            Err(SpaceError::UntrustedRoot { name, path: ai, why })
        }
        _ => Ok(()),
    }
}

fn own_uid() -> u32 {
    rustix::process::geteuid().as_raw()
}

fn foreign(stat: &Metadata) -> Option<&'static str> {
    (stat.uid() != own_uid() && stat.uid() != 0).then_some("belongs to another user")
}

fn open_to_others(stat: &Metadata) -> Option<&'static str> {
    (stat.mode() & 0o002 != 0).then_some("is writable by others")
}

fn io_error(path: &Path, source: std::io::Error) -> SpaceError {
    let place = diag::Place { path: path.display().to_string(), ..diag::Place::default() };
    SpaceError::Io { place, source }
}
