//! The places and hosts that a run may touch: the declarations of the links, merged and made real
//! paths (sandbox.md).
//!
//! Says what is asked for; which level holds it is the host's to find.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use super::base_folders::base_folders;
use super::context::{PlanContext, SandboxChoice};
use super::error::PlanError;
use super::git_settings;
use super::inner_repositories::{Grounds, inner_repositories};
use super::listed_hosts::ListedHosts;
use super::machine::Survey;
use super::network::{network, services};
use super::outer_repository::outer_repository;
use super::protected::{
    GIT, HOST_KEYS, Name, OF_BARE, OF_GIT, OF_HOME, OF_MACHINE, OF_PROJECT, PASSWORDS, WIDE_OF_HOME,
};
use super::state::state_folders;
use crate::chain::{Chain, Link};
use crate::diagnostic::Failure;
use crate::host::{
    CannotConfine, Caps, Commits, Confinement, Egress, KeptPath, Ladder, Net, PlaceKind, Policy,
    SandboxLevel,
};
use crate::space::BUNDLES;

/// Most entries of the shared `/tmp` that a watched run is shown; each takes `bwrap` a moment.
const SANDBOX_MOUNTS: usize = 1_000;

/// The policy of a run by its other links and the defaults, as if its tool declared nothing.
#[derive(Debug, Clone)]
pub(crate) struct BasePolicy {
    pub(crate) policy: Policy,
    /// The project may be read while no link declares what may be read.
    pub(crate) reads_project: bool,
    pub(crate) project: PathBuf,
    /// The names of the secrets that the tool gets.
    pub(crate) secrets: Vec<String>,
    /// Folders that are too much to grant where less will do: homes, and what holds all.
    pub(crate) wide: Vec<PathBuf>,
}

/// Where every confined program has a private folder, which hides what lies there.
pub(crate) const PRIVATE: &str = "/tmp";

/// The folders of items in which a tool may be let make new ones.
const ITEMS: [&str; 3] = ["tools", "directives", "knowledge"];

/// The confinement of the run; `None` if the operator lets it run without.
///
/// # Errors
/// `sandbox.*`, `verify.trust_unreadable`
pub(super) fn confinement(
    chain: &Chain,
    survey: &Survey,
    listed: &ListedHosts,
    machine: &PlanContext<'_>,
) -> Result<(Option<Arc<Confinement>>, Option<BasePolicy>), Failure> {
    let item = chain.tool().item();
    let refused = |why| Failure::from(PlanError::Sandbox { item: item.clone(), why });
    let held = |policy, ladder| machine.host.confine(policy, ladder).map(Arc::new);
    let ladder = match machine.sandbox {
        SandboxChoice::On(ladder) => ladder,
        SandboxChoice::Learn => {
            let base = base(chain, survey, listed, machine).map_err(refused)?;
            let policy = widest(chain, &base, machine).map_err(refused)?;
            let held = held(policy, Ladder::Only(SandboxLevel::Bwrap)).map_err(refused)?;
            return Ok((Some(held), Some(base)));
        }
        wanted => match (wanted, machine.trust.lets_out(item)?) {
            (_, true) => return Ok((None, None)),
            (SandboxChoice::Off, false) => {
                return Err(refused(CannotConfine::OffNotAllowed(item.to_string())));
            }
            _ => Ladder::Auto,
        },
    };
    let policy = policy(chain, chain.links(), survey, listed, machine).map_err(refused)?;
    held(policy, ladder).map(|held| (Some(held), None)).map_err(refused)
}

fn base(
    chain: &Chain,
    survey: &Survey,
    listed: &ListedHosts,
    machine: &PlanContext<'_>,
) -> Result<BasePolicy, CannotConfine> {
    let others = chain.links().get(1..).unwrap_or_default();
    let mut policy = policy(chain, others, survey, listed, machine)?;
    // Its limits are its own word and stay, and so does whether it makes items.
    let own = chain.tool().tool.sandbox.as_ref();
    policy.caps = own.map_or(policy.caps, |own| own.caps.and(policy.caps));
    let declares_read = |link: &Link| link.tool.sandbox.as_ref().is_some_and(|s| s.read.is_some());
    let places = Places::new(machine);
    let wide = places.wide().chain([PathBuf::from("/"), PathBuf::from(PRIVATE)]);
    Ok(BasePolicy {
        policy,
        reads_project: !others.iter().any(declares_read),
        wide: wide.collect(),
        secrets: chain.links().iter().flat_map(|link| link.tool.secrets.iter().cloned()).collect(),
        project: places.project,
    })
}

/// All of the machine but what no tool may touch. What lies in the folder that is a private one for
/// every tool shows through it, so that new files there are its own and old ones are seen to be
/// needed.
///
/// # Errors
/// `sandbox.bad_grant`
fn widest(
    chain: &Chain,
    base: &BasePolicy,
    machine: &PlanContext<'_>,
) -> Result<Policy, CannotConfine> {
    let private = Path::new(PRIVATE);
    let host = machine.host;
    let mut there = host.names(private);
    there.truncate(SANDBOX_MOUNTS);
    let there = there.iter().map(|name| private.join(name));
    let is_there = |path: &Path| host.is_folder(path) || host.real_file(path).is_some();
    // What is not there yet is no link either.
    let is_real = |path: &Path| {
        let real = host.real_folder(path).or_else(|| host.real_file(path));
        real.is_none_or(|real| real == path)
    };
    let there = there.filter(|path| is_there(path) && is_real(path));
    let write = [PathBuf::from("/")].into_iter().chain(there).collect();
    let mut policy = base.policy.clone();
    let mut write: BTreeSet<PathBuf> = write;
    // Nothing can be mounted over a link. Where one is kept, nothing new can be made in its folder,
    // and what is in it already may be written as ever.
    let (links, kept) = policy.kept.into_iter().partition(|kept| !is_real(&kept.path));
    policy.kept = kept;
    let folders: BTreeSet<PathBuf> =
        links.iter().filter_map(|link: &KeptPath| link.path.parent().map(Path::to_owned)).collect();
    for folder in folders {
        let inner = host.names(&folder).into_iter().map(|name| folder.join(name));
        let is_kept = |path: &Path| policy.kept.iter().any(|kept| path.starts_with(&kept.path));
        write.extend(inner.filter(|path| is_there(path) && is_real(path) && !is_kept(path)));
        policy.kept.push(KeptPath { path: folder, is_folder: true });
    }
    let write = write.into_iter().collect();
    // A tool that calls services does not work without them.
    let egress = Egress { services: services(chain.links())?, ..Egress::default() };
    policy.hidden.extend(Places::new(machine).env_files(&egress));
    Ok(Policy { read: Vec::new(), write, made: Vec::new(), net: Net::Any, egress, ..policy })
}

/// The policy that these links of the chain declare, with the places that every run has.
fn policy(
    chain: &Chain,
    links: &[Link],
    survey: &Survey,
    listed: &ListedHosts,
    machine: &PlanContext<'_>,
) -> Result<Policy, CannotConfine> {
    let declared = || links.iter().filter_map(|link| link.tool.sandbox.as_ref());
    let places = Places::new(machine);
    let mut write = BTreeSet::new();
    let mut made = BTreeSet::new();
    let reads_by_default = declared().all(|sandbox| sandbox.read.is_none());
    let read = declared().flat_map(|sandbox| sandbox.read.iter().flatten());
    let read = places.read(reads_by_default, read)?;
    for template in declared().flat_map(|sandbox| sandbox.write.iter().flatten()) {
        match places.real(template)? {
            Some(path) => write.insert(path),
            None if template.ends_with('/') => {
                let path = places.to_be_made(template)?;
                made.insert(path.clone());
                write.insert(path)
            }
            None => {
                let why = format!(
                    "`{template}`, which the tool may write, is not there; end it with `/` for a \
                     folder that is made"
                );
                return Err(CannotConfine::BadGrant(why));
            }
        };
    }
    if let Some(granted) =
        write.iter().find(|path| places.wide().any(|wide| wide.starts_with(path)))
    {
        return Err(CannotConfine::WholeHome(granted.clone()));
    }
    let is_learned = machine.sandbox == SandboxChoice::Learn;
    let (inner_kept, inner) = inner_repositories(&places.grounds(), &write, is_learned)?;
    // Whether it commits is its own word and stays, whatever else is learned of it.
    let mut all = chain.links().iter().filter_map(|link| link.tool.sandbox.as_ref());
    let commits = match all.any(|sandbox| sandbox.writes_git) {
        true => places.repository()?,
        false => None,
    };
    write.extend(commits.clone());
    let mut kept = places.kept(is_learned || !write.is_empty(), commits.is_some());
    kept.extend(places.kept_of_others(&write, commits.as_deref()));
    kept.extend(inner_kept);
    in_order(&mut kept);
    let git = commits.as_ref().and_then(|_| machine.ground.find_program(machine.vars, "git"));
    if let Some(repository) = &commits {
        let homes = [&places.home, &places.user].into_iter().flatten();
        let places = git_settings::Places { project: &places.project, repository, kept: &kept };
        if let Some(why) = places.open_to_a_tool(homes, machine) {
            return Err(CannotConfine::BadGrant(why));
        }
    }
    let within = |path: &Path| kept.iter().find(|kept| path.starts_with(&kept.path));
    if let Some((path, kept)) = write.iter().find_map(|path| Some((path, within(path)?))) {
        let (path, kept) = (path.display(), kept.path.display());
        let why = format!("`{path}` lies in `{kept}`, which no tool may write");
        return Err(CannotConfine::BadGrant(why));
    }
    let mut hidden: Vec<_> = places.keys().into_iter().collect();
    let mut sees = read.iter().chain(&write);
    if let Some(path) = sees.find(|path| hidden.iter().any(|h| path.starts_with(h))) {
        let why = format!("`{}` lies in the folder of your keys", path.display());
        return Err(CannotConfine::BadGrant(why));
    }
    let is_named = |path: &Path| read.iter().chain(&write).any(|named| named.starts_with(path));
    let (net, egress) = network(chain, links, listed)?;
    let env_files = places.env_files(&egress);
    if let Some(path) = env_files.iter().find(|path| is_named(path)) {
        let path = path.display();
        let why = format!("`{path}` may hold the secret of a service, which the tool never sees");
        return Err(CannotConfine::BadGrant(why));
    }
    let state = places.state(&read, &write)?;
    hidden.extend(env_files);
    hidden.extend(places.passwords().filter(|path| !is_named(path)));
    let adds_items = declared().any(|sandbox| sandbox.adds_items);
    let new_items = adds_items.then(|| ITEMS.map(|kind| places.project.join(".ai").join(kind)));
    let partial = declared().any(|sandbox| sandbox.partial);
    Ok(Policy {
        base: base_folders(machine.host, survey, net),
        read: read.into_iter().collect(),
        write: write.into_iter().collect(),
        names: places.names(declared().flat_map(|sandbox| {
            sandbox.read.iter().flatten().chain(sandbox.write.iter().flatten())
        })),
        made: made.into_iter().collect(),
        partial_read: partial || reads_by_default,
        partial_write: partial,
        own_tmp: is_learned,
        kept,
        hidden,
        state,
        new_items: new_items.into_iter().flatten().collect(),
        other_items: if adds_items { places.other_items() } else { Vec::new() },
        abandoned: places.abandoned(),
        inner,
        commits: commits.zip(git).map(|(repository, git)| committing(repository, git, machine)),
        net,
        egress,
        caps: declared().fold(Caps::default(), |caps, sandbox| caps.and(sandbox.caps)),
    })
}

fn committing(repository: PathBuf, git: PathBuf, machine: &PlanContext<'_>) -> Commits {
    let who = git_settings::identity(&repository, machine);
    Commits { repository, git, who }
}

/// By path; what lies in another one is kept with it.
fn in_order(kept: &mut Vec<KeptPath>) {
    kept.sort_by(|a, b| a.path.cmp(&b.path));
    kept.dedup_by(|inner, outer| inner.path.starts_with(&outer.path));
}

/// Real places of this run.
struct Places<'a> {
    machine: &'a PlanContext<'a>,
    project: PathBuf,
    user: Option<PathBuf>,
    home: Option<PathBuf>,
}

impl<'a> Places<'a> {
    fn new(machine: &'a PlanContext<'a>) -> Self {
        let real = |path: &Path| machine.host.real_folder(path).unwrap_or_else(|| path.to_owned());
        Self {
            machine,
            project: real(machine.workplace),
            user: machine.user_space.map(real),
            home: machine.vars.path("HOME").map(|home| real(&home)),
        }
    }

    /// The place that a template names and the root that it must stay in.
    fn named(&self, template: &str) -> Result<(PathBuf, PathBuf), CannotConfine> {
        let below = |root: &Path, rest: &str| {
            (root.join(rest.trim_matches('/')).components().collect(), root.to_owned())
        };
        if let Some(rest) = template.strip_prefix("{project_path}") {
            return Ok(below(&self.project, rest));
        }
        if let Some(rest) = template.strip_prefix("{user_space}") {
            let user = self.user.as_deref().ok_or_else(|| {
                CannotConfine::BadGrant(format!("`{template}`: there is no user space"))
            })?;
            return Ok(below(user, rest));
        }
        Ok((Path::new(template).components().collect(), PathBuf::from("/")))
    }

    /// The place and the root of a template behind a link right in the home, such as that of a
    /// `.cache` on another disk. Only the user can have made it, as no tool is granted a home.
    /// Where something is kept in such a folder by its name, the link leads out as any other.
    fn behind_own_link(&self, template: &str) -> Result<(PathBuf, PathBuf), CannotConfine> {
        let (path, root) = self.named(template)?;
        let followed = || {
            let home = self.user.as_deref().filter(|home| *home == root)?;
            let first = path.strip_prefix(home).ok()?.components().next()?;
            let Component::Normal(own) = first else { return None };
            let keeps = |(name, _): &Name| Path::new(name).starts_with(own);
            let link = home.join(own);
            let real = self.machine.host.real_folder(&link).filter(|real| *real != link)?;
            let below = path.strip_prefix(&link).ok()?;
            let path = if below.as_os_str().is_empty() { real.clone() } else { real.join(below) };
            (!OF_HOME.iter().any(keeps)).then_some((path, real))
        };
        Ok(followed().unwrap_or((path.clone(), root.clone())))
    }

    /// The names in use of all that: those of the project and the homes, and those of these grants.
    fn names<'t>(&self, templates: impl Iterator<Item = &'t String>) -> Vec<PathBuf> {
        let PlanContext { workplace, user_space, .. } = self.machine;
        let home = self.machine.vars.path("HOME");
        let own = [Some(workplace.to_path_buf()), user_space.map(Path::to_owned), home];
        let granted = templates.filter_map(|template| Some(self.named(template).ok()?.0));
        own.into_iter().flatten().chain(granted).collect()
    }

    /// The paths that may be read: by default the project, with its repository.
    ///
    /// # Errors
    /// `sandbox.bad_grant`
    fn read<'t>(
        &self,
        by_default: bool,
        templates: impl Iterator<Item = &'t String>,
    ) -> Result<BTreeSet<PathBuf>, CannotConfine> {
        let mut read = BTreeSet::new();
        if by_default {
            read.insert(self.project.clone());
            let is_wide = |path: &Path| self.wide().any(|wide| wide.starts_with(path));
            read.extend(outer_repository(self.machine.host, &self.project, &is_wide));
        }
        for template in templates {
            // A path that does not exist grants nothing.
            read.extend(self.real(template)?);
        }
        Ok(read)
    }

    /// Where it really is, if it is there.
    fn real(&self, template: &str) -> Result<Option<PathBuf>, CannotConfine> {
        let (path, root) = self.behind_own_link(template)?;
        let host = self.machine.host;
        let Some(real) = host.real_folder(&path).or_else(|| host.real_file(&path)) else {
            return Ok(None);
        };
        match real.starts_with(&root) {
            true => Ok(Some(real)),
            // A process that can put a link there would choose what the tool may touch.
            false => Err(CannotConfine::BadGrant(format!(
                "`{template}` leads out to `{}` by a link",
                real.display()
            ))),
        }
    }

    /// A folder that is not there yet; all of it above what is there stays in its root.
    fn to_be_made(&self, template: &str) -> Result<PathBuf, CannotConfine> {
        let (path, root) = self.behind_own_link(template)?;
        let host = self.machine.host;
        let above =
            path.ancestors().skip(1).find_map(|above| Some((above, host.real_folder(above)?)));
        match above {
            Some((above, real)) if real.starts_with(&root) => {
                Ok(real.join(path.strip_prefix(above).unwrap_or(&path)))
            }
            _ => Err(CannotConfine::BadGrant(format!("`{template}` leads out by a link"))),
        }
    }

    /// Homes, and what of them is too much to grant as well.
    fn wide(&self) -> impl Iterator<Item = PathBuf> {
        let homes: BTreeSet<&PathBuf> = [&self.home, &self.user].into_iter().flatten().collect();
        let real = |path: PathBuf| self.machine.host.real_folder(&path).unwrap_or(path);
        homes.into_iter().flat_map(move |home| {
            let below = WIDE_OF_HOME.iter().map(move |name| real(home.join(name)));
            below.chain([home.clone()])
        })
    }

    /// The folder of the project's repository, where there is one.
    ///
    /// # Errors
    /// `sandbox.bad_grant`: it lies elsewhere, and a file of the project does not say what may be
    /// written.
    fn repository(&self) -> Result<Option<PathBuf>, CannotConfine> {
        let path = self.project.join(GIT.0);
        let host = self.machine.host;
        let real = host.real_folder(&path);
        if host.real_file(&path).is_some() || real.as_ref().is_some_and(|real| *real != path) {
            return Err(CannotConfine::NoOwnRepository(path));
        }
        Ok(real)
    }

    /// The places that are never written: by name and, if anything is written, also by what the
    /// name leads to. With `commits` the project's repository is written, except what decides what
    /// git runs.
    fn kept(&self, is_written: bool, commits: bool) -> Vec<KeptPath> {
        let mut kept = Vec::new();
        let mut keep = |root: &Path, names: &[Name]| {
            for (name, is_folder) in names {
                let path = root.join(name);
                let host = self.machine.host;
                let real = || host.real_folder(&path).or_else(|| host.real_file(&path));
                let real = is_written.then(real).flatten();
                kept.extend(
                    [Some(path), real]
                        .into_iter()
                        .flatten()
                        .map(|path| KeptPath { path, is_folder: *is_folder }),
                );
            }
        };
        match commits {
            true => {
                let others = OF_PROJECT.into_iter().filter(|name| *name != GIT);
                keep(&self.project, &others.chain(OF_GIT).collect::<Vec<_>>());
            }
            false => keep(&self.project, &OF_PROJECT),
        }
        keep(&self.project, &self.no_bare_repository(commits).into_iter().collect::<Vec<_>>());
        keep(Path::new("/"), &OF_MACHINE);
        let homes: BTreeSet<&PathBuf> = [&self.home, &self.user].into_iter().flatten().collect();
        for home in homes {
            keep(home, &OF_HOME);
        }
        if let Some(system) = self.machine.system_space {
            keep(system, &[(".ai", true)]);
        }
        // Private folders of other runs.
        let session = self.machine.vars.path("XDG_RUNTIME_DIR");
        if let Some(session) = session.and_then(|path| self.machine.host.real_folder(&path)) {
            keep(&session, &[("rye", true)]);
        }
        if is_written {
            kept.extend(self.own_behind_links());
        }
        if commits {
            // An index that is split lies in part in such a file.
            let repository = self.project.join(GIT.0);
            let names = self.machine.host.names(&repository).into_iter();
            let parts = names.filter(|name| name.starts_with("sharedindex."));
            kept.extend(
                parts.map(|name| KeptPath { path: repository.join(name), is_folder: false }),
            );
        }
        kept
    }

    /// The place that keeps the project's folder from becoming a bare repository, in which git
    /// would run what a tool wrote. `None` where git uses a `.git` that no tool can spoil.
    fn no_bare_repository(&self, commits: bool) -> Option<Name> {
        let host = self.machine.host;
        let git = self.project.join(GIT.0);
        let is_whole = || {
            let has = |(name, _): &Name| host.kind(&git.join(name)).is_some();
            host.kind(&git) == Some(PlaceKind::Folder) && OF_BARE.iter().all(has)
        };
        if !commits && (host.real_file(&git).is_some() || is_whole()) {
            return None;
        }
        // A repository has folders there; a placeholder of another run is not one.
        let is_free = |(name, _): &&Name| {
            let kind = host.kind(&self.project.join(name));
            !matches!(kind, Some(PlaceKind::Folder | PlaceKind::Link))
        };
        OF_BARE.iter().find(is_free).or(OF_BARE.last()).copied()
    }

    /// The context of the search for repositories in the project.
    fn grounds(&self) -> Grounds<'_> {
        let homes = [&self.home, &self.user].into_iter().flatten();
        let of_home =
            homes.flat_map(|home| [".gitconfig", ".config/git/config"].map(|n| home.join(n)));
        let xdg = self.machine.vars.path("XDG_CONFIG_HOME").map(|it| it.join("git/config"));
        let settings = of_home.chain(xdg).chain(["/etc/gitconfig".into()]).collect();
        let (host, project, home) = (self.machine.host, &self.project, self.home.as_deref());
        Grounds { host, project, home, settings }
    }

    /// Where a killed run may have left a placeholder.
    fn abandoned(&self) -> Vec<PathBuf> {
        OF_GIT.iter().chain(&OF_BARE).map(|(name, _)| self.project.join(name)).collect()
    }

    /// Where links of yours put what rye keeps in the user space: its `.ai` alone is a place that
    /// no tool writes, and not what a link in it leads to.
    fn own_behind_links(&self) -> impl Iterator<Item = KeptPath> {
        let host = self.machine.host;
        let folders = self.user.iter().flat_map(|user| [user.join(".ai"), user.join(".ai/state")]);
        let inner = folders.flat_map(move |folder| {
            host.names(&folder).into_iter().map(move |name| folder.join(name))
        });
        inner.filter_map(move |path| {
            let folder = host.real_folder(&path);
            let is_folder = folder.is_some();
            let real = folder.or_else(|| host.real_file(&path))?;
            (!real.starts_with(path.parent()?)).then_some(KeptPath { path: real, is_folder })
        })
    }

    /// The items and the repository of each folder that is granted, if it is another project or a
    /// work tree, and of each folder around the project that lies in a grant.
    fn kept_of_others(&self, write: &BTreeSet<PathBuf>, commits: Option<&Path>) -> Vec<KeptPath> {
        let around = self.project.ancestors().skip(1);
        let around = around.filter(|above| write.iter().any(|path| above.starts_with(path)));
        let granted = write.iter().map(PathBuf::as_path).filter(|path| *path != self.project);
        let host = self.machine.host;
        let of_folder = |folder: &Path| {
            let names = [".ai", ".git"].map(|name| folder.join(name));
            let real = |path: &Path| host.real_folder(path).or_else(|| host.real_file(path));
            let there = names.into_iter().filter_map(move |path| Some([real(&path)?, path]));
            there.flatten().filter_map(move |path| {
                let is_written = commits.is_some_and(|repository| repository.starts_with(&path));
                let is_folder = host.real_folder(&path).is_some();
                (!is_written).then_some(KeptPath { path, is_folder })
            })
        };
        granted.chain(around).flat_map(of_folder).collect()
    }

    /// The `.ai` folders of the user space and of its bundles.
    fn other_items(&self) -> Vec<PathBuf> {
        let Some(user) = self.user.as_ref().map(|user| user.join(".ai")) else { return Vec::new() };
        let bundles = user.join(BUNDLES);
        let names = self.machine.host.names(&bundles).into_iter();
        let of_bundles = names.map(|name| bundles.join(name).join(".ai"));
        of_bundles.chain([user.clone()]).collect()
    }

    /// See [`state_folders`].
    fn state(
        &self,
        read: &BTreeSet<PathBuf>,
        write: &BTreeSet<PathBuf>,
    ) -> Result<Vec<PathBuf>, CannotConfine> {
        state_folders(self.machine.host, &self.project, self.user.as_deref(), read, write)
    }

    fn keys(&self) -> Option<PathBuf> {
        self.machine.host.real_folder(&self.user.as_ref()?.join(".ai/config/keys"))
    }

    /// For root, the files of passwords; no other user may read them anyway.
    fn passwords(&self) -> impl Iterator<Item = PathBuf> {
        let is_root = rustix::process::geteuid().is_root();
        let host_keys = || {
            let names = self.machine.host.names(Path::new(HOST_KEYS));
            let keys = names.into_iter().filter(|name| name.ends_with("_key"));
            keys.map(|name| Path::new(HOST_KEYS).join(name))
        };
        let all = || PASSWORDS.iter().map(PathBuf::from).chain(host_keys());
        is_root.then(all).into_iter().flatten()
    }

    /// The project's `.env`, wherever a link leads, for a tool with services: the secret of one may
    /// stand in it.
    fn env_files(&self, egress: &Egress) -> Vec<PathBuf> {
        let file = self.project.join(".env");
        let real = self.machine.host.real_file(&file);
        match egress.services.is_empty() {
            true => Vec::new(),
            false => [file].into_iter().filter(|_| real.is_some()).chain(real.clone()).collect(),
        }
    }
}
