//! Finding the three roots (core 2).

use std::fs::{self, Metadata};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Mode, OFlags, StatxFlags, makedev, statx};
use rustix::io::Errno;

use super::error::SpaceError;
use super::ground::ForeignGround;
use super::root::{Root, root_below};
use crate::diagnostic;
use crate::host::{PathLookup, Vars, own_home, own_uid, user_name};
use crate::id::{BundleName, Space};

/// Where installed bundles lie, below the user space's `.ai`: each in a folder of its name, which
/// holds an `.ai` of its own.
pub(crate) const BUNDLES: &str = "bundles";

/// The input that decides where the roots are.
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
    /// Returns true if `other` is the folder that this was written of; without a birth here, by the
    /// rest.
    pub(crate) fn is(&self, other: &Self) -> bool {
        let born = self.born_ns.is_none() || self.born_ns == other.born_ns;
        (&self.path, self.device, self.inode) == (&other.path, other.device, other.inode) && born
    }

    pub(crate) fn read(path: &Path) -> std::io::Result<Self> {
        Self::of_real(fs::canonicalize(path)?)
    }

    /// The identity of a path that is real already.
    fn of_real(path: PathBuf) -> std::io::Result<Self> {
        Self::of_open(&open_folder(&path)?, path)
    }

    /// The identity of an open folder.
    fn of_open(open: &OwnedFd, path: PathBuf) -> std::io::Result<Self> {
        // Asked of the kernel: the standard library knows of no birth where the C library is musl.
        let want = StatxFlags::INO | StatxFlags::BTIME;
        let stat = match statx(open, "", AtFlags::EMPTY_PATH, want) {
            Ok(stat) => stat,
            // Old containers do not let it through; there is no birth to be had there.
            Err(Errno::NOSYS | Errno::PERM) => {
                let stat = rustix::fs::fstat(open)?;
                return Ok(Self { path, device: stat.st_dev, inode: stat.st_ino, born_ns: None });
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

fn open_folder(path: &Path) -> std::io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(rustix::fs::open(path, flags, Mode::empty())?)
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

/// The person's answers about folders, as far as roots depend on them.
pub(crate) struct Consent<'a> {
    /// For a user root and a folder: it may be used although its owner speaks against it.
    pub(crate) allows_root: &'a dyn Fn(Option<&Root>, &ProjectIdentity) -> bool,
    /// For a user root and a project: the project is accepted.
    pub(crate) accepts: &'a dyn Fn(Option<&Root>, &ProjectIdentity) -> bool,
    /// For a user root and its own base, with a birth: the person said that it is their home.
    pub(crate) owns_home: &'a dyn Fn(&Root, &ProjectIdentity) -> bool,
}

/// The spaces of one run.
///
/// Invariant: the roots passed the rules of core 2.0 and 2.1: those of user and system lie outside
/// of the foreign ground; the project root is `None` where it would be or hold the user's own.
#[derive(Debug)]
pub(crate) struct Spaces {
    project: Option<Root>,
    user: Option<Root>,
    system: Root,
    /// Installed bundles, by name.
    bundles: Vec<Root>,
    project_path: PathBuf,
    identity: Option<ProjectIdentity>,
    ground: ForeignGround,
}

impl Spaces {
    /// Finds the roots.
    ///
    /// # Errors
    /// `space.foreign_owner`, `space.untrusted_root`, `space.symlink`, `space.io`.
    pub(crate) fn find(at: &Where, consent: &Consent<'_>) -> Result<Self, SpaceError> {
        let known = &mut PathLookup::default();
        let base = UserBase::find(at, known)?;
        let is_home = |folder: &Path| {
            base.as_ref().is_some_and(|base| base.is_home_at(folder, consent.owns_home))
        };
        let folder = ProjectFolder::find(at, &is_home, known)?;
        let ground = ForeignGround::around(&folder, &is_home, at, known);
        let is_users = base.as_ref().is_some_and(|base| base.real == folder.path);
        // With an `.ai` of its own such a folder would be foreign ground around the user space.
        let holds_users = |base: &UserBase| !folder.holds_ai && base.real.starts_with(&folder.path);
        let is_none = base.as_ref().is_some_and(|base| is_users || holds_users(base));
        let user = base.map(|base| base.root(&ground, known)).transpose()?;
        let bundles = user.as_ref().map(bundles).unwrap_or_default();
        // It is opened once: what is read is the folder whose identity is asked.
        let open = (!is_none).then(|| open_folder(&folder.path));
        let open = open.transpose().map_err(|source| io_error(&folder.path, source))?;
        let identity =
            open.as_ref().map(|open| ProjectIdentity::of_open(open, folder.path.clone()));
        let identity = identity.transpose().map_err(|source| io_error(&folder.path, source))?;
        if let Some(identity) = identity.as_ref().filter(|_| folder.holds_ai) {
            check_project(&folder.path, &|| (consent.allows_root)(user.as_ref(), identity))?;
        }
        let project = identity.as_ref().filter(|_| folder.holds_ai);
        let accepts = |real: &Path| {
            project.is_some_and(|it| it.path == real && (consent.accepts)(user.as_ref(), it))
        };
        let system = system_root(at, &ground, &accepts, known)?;
        let project_path = if is_users { at.cwd.clone() } else { folder.path };
        let project = open.map(|open| root_below(Space::Project, project_path.clone(), &open));
        let project = project.transpose()?;
        Ok(Self { project, user, system, bundles, project_path, identity, ground })
    }

    /// The roots with the project's files in another folder, to judge the state that the project
    /// may get; `self` if there is no project space.
    ///
    /// # Errors
    /// `space.io`, `space.not_a_file`
    pub(crate) fn with_project_files(mut self, base: PathBuf) -> Result<Self, SpaceError> {
        if self.project.is_some() {
            self.project = Some(Root::on_disk(Space::Project, base)?);
        }
        Ok(self)
    }

    /// The roots without the user space and the bundles installed there.
    pub(crate) fn without_user(self) -> Self {
        Self { user: None, bundles: Vec::new(), ..self }
    }

    /// These spaces without the project, for verbs that the project has no say in.
    pub(crate) fn without_project(self) -> Self {
        Self { project: None, identity: None, ..self }
    }

    /// The embedded items alone, for what must work wherever one stands.
    pub(crate) fn system_only() -> Self {
        let (project_path, system) = (PathBuf::from("/"), Root::embedded());
        let bundles = Vec::new();
        let ground = ForeignGround::default();
        Self { project: None, user: None, system, bundles, project_path, identity: None, ground }
    }

    /// The user root alone, for verbs that need no project and for `trust allow-root`.
    ///
    /// # Errors
    /// `space.untrusted_root`, `space.io`
    pub(crate) fn find_user(at: &Where) -> Result<Option<Root>, SpaceError> {
        let known = &mut PathLookup::default();
        let Some(base) = UserBase::find(at, known)? else { return Ok(None) };
        let is_home = |folder: &Path| base.is_home_at(folder, &|_, _| false);
        let folder = ProjectFolder::find(at, &is_home, known)?;
        let ground = ForeignGround::around(&folder, &is_home, at, known);
        base.root(&ground, known).map(Some)
    }

    /// The ground of a call alone, for verbs that must work where no root can be used.
    ///
    /// # Errors
    /// `space.io`
    pub(crate) fn find_ground(at: &Where) -> Result<ForeignGround, SpaceError> {
        let known = &mut PathLookup::default();
        let base = UserBase::find(at, known).ok().flatten();
        let is_home = |folder: &Path| {
            base.as_ref().is_some_and(|base| base.is_home_at(folder, &|_, _| false))
        };
        let folder = ProjectFolder::find(at, &is_home, known)?;
        Ok(ForeignGround::around(&folder, &is_home, at, known))
    }

    /// The folders that may be another person's work: nothing that decides, and no program, is
    /// taken from them.
    pub(crate) fn ground(&self) -> &ForeignGround {
        &self.ground
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

    /// The roots with one more bundle, to judge whether it may be installed. It replaces one of its
    /// name.
    pub(crate) fn with_bundle(mut self, root: Root) -> Self {
        self.bundles.retain(|known| known.bundle() != root.bundle());
        self.bundles.push(root);
        self.bundles.sort_by(|a, b| a.bundle().cmp(&b.bundle()));
        self
    }

    /// The root of a project that is there.
    ///
    /// # Errors
    /// `space.no_project`
    pub(crate) fn project(&self) -> Result<&Root, SpaceError> {
        let folder = self.project_path.clone();
        match &self.project {
            Some(root) if root.exists() => Ok(root),
            Some(_) => Err(SpaceError::NoProject { folder }),
            None => Err(SpaceError::UserSpaceHere { folder }),
        }
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

/// The folder that would be the project: its real path.
pub(super) struct ProjectFolder {
    pub(super) path: PathBuf,
    pub(super) holds_ai: bool,
}

impl ProjectFolder {
    /// `--project`, else the nearest ancestor that holds `.ai`, else the working directory. The
    /// person's home above is no project, and hides what lies above it.
    ///
    /// # Errors
    /// `space.io`
    fn find(
        at: &Where,
        is_home: &dyn Fn(&Path) -> bool,
        known: &mut PathLookup,
    ) -> Result<Self, SpaceError> {
        let named = match &at.project {
            Some(project) => at.cwd.join(project),
            None => {
                let mut above = at.cwd.ancestors();
                let nearest = above.find(|a| known.at(&a.join(".ai")).is_some());
                let nearest = nearest.filter(|nearest| {
                    *nearest == at.cwd || !known.real(nearest).is_some_and(|real| is_home(&real))
                });
                nearest.unwrap_or(&at.cwd).to_owned()
            }
        };
        let path = match known.real(&named) {
            Some(path) => path,
            None => fs::canonicalize(&named).map_err(|source| match at.project {
                Some(_) => SpaceError::NoSuchProject { path: named.clone(), source },
                None => io_error(&named, source),
            })?,
        };
        if at.project.is_some() && !path.is_dir() {
            let source = std::io::ErrorKind::NotADirectory.into();
            return Err(SpaceError::NoSuchProject { path: named, source });
        }
        let mut holds_ai = |folder: &Path| known.at(&folder.join(".ai")).is_some();
        // A caller that names the folder of a project's items means the project.
        let is_items = at.project.is_some() && path.ends_with(".ai") && !holds_ai(&path);
        let path = path.parent().filter(|_| is_items).unwrap_or(&path).to_owned();
        let holds_ai = holds_ai(&path);
        Ok(Self { path, holds_ai })
    }

    /// The nearest ancestor of a real path that holds `.ai`.
    pub(super) fn above(folder: &Path) -> Option<Self> {
        let path = folder.ancestors().find(|above| holds_ai(above))?.to_owned();
        Some(Self { path, holds_ai: true })
    }
}

fn holds_ai(folder: &Path) -> bool {
    folder.join(".ai").symlink_metadata().is_ok()
}

/// The bundles that are installed below a user root. What cannot be opened gives no item; `rye
/// bundle list` tells.
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
        let place = diagnostic::Place {
            space: Some("project".into()),
            path: ".ai".into(),
            ..Default::default()
        };
        return Err(SpaceError::Symlink { place });
    }
    for folder in [project, &ai] {
        let stat = fs::metadata(folder).map_err(|source| io_error(folder, source))?;
        if let Some(why) = foreign(&stat).or_else(|| open_to_others(&stat))
            && !allowed()
        {
            return Err(SpaceError::ForeignOwner {
                path: folder.to_owned(),
                project: project.to_owned(),
                why,
            });
        }
    }
    Ok(())
}

/// The folder that the variables name as the one that contains the user's `.ai`.
struct UserBase {
    /// The variable.
    name: &'static str,
    path: PathBuf,
    real: PathBuf,
}

impl UserBase {
    /// `USER_SPACE`, else `HOME`.
    ///
    /// # Errors
    /// `space.untrusted_root` for a path that the working directory would decide.
    fn find(at: &Where, known: &mut PathLookup) -> Result<Option<Self>, SpaceError> {
        let mut named = ["USER_SPACE", "HOME"].into_iter();
        let named = named.find_map(|name| Some((name, at.vars.path(name)?)));
        let Some((name, path)) = named else { return Ok(None) };
        if path.is_relative() {
            let why = "is not an absolute path".into();
            return Err(SpaceError::UntrustedRoot { name, path, why });
        }
        let real = real_or_to_be(&path, known);
        Ok(Some(Self { name, path, real }))
    }

    /// Tells whether it is this folder, and the person's own by more than the word of a variable,
    /// which a clone could set: the user database names it, or the person said so. What it holds
    /// says so only with the birth of this very folder, which the author of a clone cannot foresee.
    fn is_home_at(&self, folder: &Path, owns: &dyn Fn(&Root, &ProjectIdentity) -> bool) -> bool {
        let is_said = || {
            let root = Root::on_disk(Space::User, self.path.clone()).ok();
            let identity = ProjectIdentity::of_real(folder.to_owned()).ok();
            let identity = identity.filter(|identity| identity.born_ns.is_some());
            root.zip(identity).is_some_and(|(root, identity)| owns(&root, &identity))
        };
        let is_named = || own_home().is_some_and(|home| home == folder);
        self.real == folder && (is_named() || is_said())
    }

    fn root(self, ground: &ForeignGround, known: &mut PathLookup) -> Result<Root, SpaceError> {
        let Self { name, path: base, .. } = self;
        refuse_inside(name, &base, ground, known)?;
        // What is not there yet has no owner.
        if let Ok(stat) = fs::metadata(&base) {
            // A home may be root's, as `/` is for some services; what lies in it must be yours. In
            // a sticky folder no user can rename what belongs to another.
            let open = open_to_others(&stat).filter(|_| stat.mode() & 0o1000 == 0);
            if let Some(why) = foreign(&stat).or(open) {
                return Err(SpaceError::UntrustedRoot { name, path: base, why });
            }
        }
        let ai = base.join(".ai");
        if let Ok(stat) = fs::metadata(&ai) {
            let theirs = (stat.uid() != own_uid()).then(|| anothers(&stat));
            if let Some(why) = theirs.or_else(|| open_to_others(&stat)) {
                return Err(SpaceError::UntrustedRoot { name, path: ai, why });
            }
        }
        own_link(name, &base)?;
        Root::on_disk(Space::User, base)
    }
}

/// The embedded items, or the folder that replaces them: one of the caller's own outside of the
/// ground, or the project where it is accepted, which is how edits to the shipped items are tried.
fn system_root(
    at: &Where,
    ground: &ForeignGround,
    accepts: &dyn Fn(&Path) -> bool,
    known: &mut PathLookup,
) -> Result<Root, SpaceError> {
    let name = "RYE_SYSTEM_SPACE";
    let Some(base) = at.vars.path(name) else { return Ok(Root::embedded()) };
    let base = at.cwd.join(base);
    let real = fs::canonicalize(&base).map_err(|source| io_error(&base, source))?;
    if !accepts(&real) {
        refuse_inside(name, &base, ground, known)?;
    }
    for folder in [base.clone(), base.join(".ai")] {
        let stat = fs::metadata(&folder).map_err(|source| io_error(&folder, source))?;
        if let Some(why) = foreign(&stat).or_else(|| open_to_others(&stat)) {
            return Err(SpaceError::UntrustedRoot { name, path: folder, why });
        }
    }
    own_link(name, &base)?;
    Root::on_disk(Space::System, base)
}

/// A root in the ground would let another person's files decide about themselves.
fn refuse_inside(
    name: &'static str,
    base: &Path,
    ground: &ForeignGround,
    known: &mut PathLookup,
) -> Result<(), SpaceError> {
    let (path, ai) = (base.to_owned(), base.join(".ai"));
    match ground.around_known(&ai, known) {
        Some(ground) => Err(SpaceError::InGround { name, path, ground: ground.to_owned() }),
        None => Ok(()),
    }
}

/// The real path of a folder, also of one that is not there yet: that of its nearest ancestor, and
/// the rest.
fn real_or_to_be(path: &Path, known: &mut PathLookup) -> PathBuf {
    for ancestor in path.ancestors() {
        if let (Some(real), Ok(rest)) = (known.real(ancestor), path.strip_prefix(ancestor)) {
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
            let why = format!("is a symbolic link that {}", anothers(&link));
            Err(SpaceError::UntrustedRoot { name, path: ai, why })
        }
        _ => Ok(()),
    }
}

fn anothers(stat: &Metadata) -> String {
    let user = |uid| match user_name(uid) {
        Some(name) => format!("`{name}` (user id {uid})"),
        None => format!("user id {uid}"),
    };
    format!("belongs to {}, and you are {}", user(stat.uid()), user(own_uid()))
}

fn foreign(stat: &Metadata) -> Option<String> {
    (stat.uid() != own_uid() && stat.uid() != 0).then(|| anothers(stat))
}

fn open_to_others(stat: &Metadata) -> Option<String> {
    let mode = stat.mode() & 0o7777;
    (mode & 0o002 != 0).then(|| format!("is writable by others (its mode is {mode:04o})"))
}

fn io_error(path: &Path, source: std::io::Error) -> SpaceError {
    let place =
        diagnostic::Place { path: path.display().to_string(), ..diagnostic::Place::default() };
    SpaceError::Io { place, source }
}
