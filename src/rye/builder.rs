//! Collects what a [`Rye`] needs.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use super::carry_out::KeptServers;
use super::facade::{Rye, now};
use super::run_modes::RunModes;
use crate::diagnostic::Failure;
use crate::exec_protocol::Observers;
use crate::host::{Host, Os, Vars};
use crate::id::{BundleName, Space};
use crate::registry::RegistryPool;
use crate::sandbox::{Confined, keep_below};
use crate::search::SearchIndex;
use crate::space::{Consent, FileTypes, ProjectIdentity, Root, Spaces, Where};
use crate::thread::ThreadTool;
use crate::verify::{AllowedRoot, DevMode, TrustStore};

/// Collects what a [`Rye`] needs; every check is made in [`RyeBuilder::build`].
#[must_use]
pub struct RyeBuilder {
    vars: Vars,
    cwd: Option<PathBuf>,
    project: Option<PathBuf>,
    project_files: Option<PathBuf>,
    bundle: Option<(BundleName, PathBuf)>,
    strict: bool,
    judging: bool,
    has_project: bool,
    host: Box<dyn Host + Send>,
    servers: Arc<KeptServers>,
    search_index: Arc<SearchIndex>,
    thread_tools: Vec<Arc<dyn ThreadTool>>,
    modes: Arc<dyn RunModes>,
}

impl RyeBuilder {
    /// With this environment, and what carries out the runs that take more than one call.
    pub(crate) fn with(vars: Vars, modes: Arc<dyn RunModes>) -> Self {
        Self {
            vars,
            cwd: None,
            project: None,
            project_files: None,
            bundle: None,
            strict: false,
            judging: false,
            has_project: true,
            host: Box::new(Confined::new(Box::new(Os::new(false)))),
            servers: Arc::default(),
            search_index: Arc::default(),
            thread_tools: Vec::new(),
            modes,
        }
    }

    /// Another environment than the process's, such as a test's.
    pub fn vars(self, vars: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        Self { vars: vars.into_iter().collect(), ..self }
    }

    /// Another working directory than the process's.
    pub fn cwd(self, cwd: impl Into<PathBuf>) -> Self {
        Self { cwd: Some(cwd.into()), ..self }
    }

    /// The project folder, instead of the nearest one that holds `.ai`.
    pub fn project(self, project: impl Into<PathBuf>) -> Self {
        Self { project: Some(project.into()), ..self }
    }

    /// Reads the project's files in another folder, which holds an `.ai` as the project may come to
    /// have it. What the person said of the project goes for these files; only to judge them.
    pub(crate) fn project_files(self, folder: PathBuf) -> Self {
        Self { project_files: Some(folder), ..self }
    }

    /// One more bundle of the system space, whose `.ai` lies in the folder; only to judge it.
    pub(crate) fn bundle(self, name: BundleName, folder: PathBuf) -> Self {
        Self { bundle: Some((name, folder)), ..self }
    }

    /// No dev mode, whatever the environment says.
    pub(crate) fn strict(self) -> Self {
        Self { strict: true, ..self }
    }

    /// Uses no user space, and accepts any owner and mode of the project's folder: for a check by
    /// keys that the caller names, which runs nothing of the project.
    pub(crate) fn judging(self) -> Self {
        Self { judging: true, ..self }
    }

    /// Uses no project space, so that nothing about the project's folder is refused: for verbs that
    /// the project has no say in.
    pub(crate) fn without_project(self) -> Self {
        Self { has_project: false, ..self }
    }

    /// Another machine below the sandbox, such as one of the command line's own.
    pub(crate) fn host(self, host: Box<dyn Host + Send>) -> Self {
        Self { host: Box::new(Confined::new(host)), ..self }
    }

    /// Programs and MCP servers that the caller keeps between facades.
    #[cfg(feature = "mcp")]
    pub(crate) fn servers(self, servers: Arc<KeptServers>) -> Self {
        Self { servers, ..self }
    }

    /// The words of items that the caller keeps between searches.
    #[cfg(feature = "mcp")]
    pub(crate) fn search_index(self, search_index: Arc<SearchIndex>) -> Self {
        Self { search_index, ..self }
    }

    /// One more tool that the model of a thread may call, where its directive permits it; see
    /// [`ThreadTool`].
    pub fn thread_tool(mut self, tool: Arc<dyn ThreadTool>) -> Self {
        self.thread_tools.push(tool);
        self
    }

    /// The embedded items alone: nothing of this machine is looked at.
    pub(crate) fn system_only(self) -> Rye {
        let at = Where { vars: Vars::default(), cwd: PathBuf::from("/"), project: None };
        self.bare(at, Spaces::system_only())
    }

    fn bare(self, at: Where, spaces: Spaces) -> Rye {
        Rye {
            at,
            spaces,
            runtime: None,
            types: FileTypes::default(),
            types_fault: None,
            dev: DevMode(false),
            given: None,
            refuses_dev_keys: false,
            host: self.host,
            servers: self.servers,
            observers: Observers::default(),
            search_index: self.search_index,
            thread_tools: self.thread_tools,
            modes: self.modes,
            registries: RegistryPool::default(),
            suggested: AtomicUsize::default(),
        }
    }

    /// Finds the spaces.
    ///
    /// # Errors
    /// `space.*`
    pub fn build(mut self) -> Result<Rye, Failure> {
        let cwd = match self.cwd.take() {
            Some(cwd) => cwd,
            None => std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/")),
        };
        let dev = DevMode(!self.strict && self.vars.text("RYE_DEV_MODE") == Some("1"));
        let vars = match std::mem::take(&mut self.vars) {
            vars if self.judging => vars.without(&["USER_SPACE", "HOME"]),
            vars => vars,
        };
        let at = Where { vars, cwd, project: self.project.take() };
        let allows_root = |user: Option<&Root>, folder: &ProjectIdentity| {
            self.judging || !self.has_project || TrustStore::new(user, now()).allows_root(folder)
        };
        let accepts = |user: Option<&Root>, project: &ProjectIdentity| {
            TrustStore::new(user, now()).accepts(project).unwrap_or(false)
        };
        let owns_home = |user: &Root, home: &ProjectIdentity| {
            AllowedRoot::is_home(&TrustStore::new(Some(user), now()), home)
        };
        let consent =
            Consent { allows_root: &allows_root, accepts: &accepts, owns_home: &owns_home };
        let spaces = match Spaces::find(&at, &consent)? {
            spaces if self.has_project => spaces,
            spaces => spaces.without_project(),
        };
        if let Some(user) = spaces.get(Space::User) {
            keep_below(&user.base().join(".ai/state"));
        }
        let runtime = at.vars.path("XDG_RUNTIME_DIR").filter(|folder| folder.is_absolute());
        let runtime = runtime.filter(|folder| !spaces.ground().holds(folder));
        let spaces = match self.project_files.take() {
            Some(folder) => spaces.with_project_files(folder)?,
            None => spaces,
        };
        let spaces = match self.bundle.take() {
            Some((name, folder)) => spaces.with_bundle(Root::of_bundle(name, folder)?),
            None => spaces,
        };
        let types = TrustStore::new(spaces.get(Space::User), now()).file_types();
        let (types, types_fault) = match types {
            Ok(types) => (types, None),
            Err(fault) => (FileTypes::default(), Some(Arc::new(fault))),
        };
        tracing::info!(
            project = %spaces.project_path().display(),
            user = spaces.get(Space::User).map(|user| user.base().display().to_string()),
            dev_mode = dev.0,
            "spaces found"
        );
        Ok(Rye { runtime, types, types_fault, dev, ..self.bare(at, spaces) })
    }
}

/// Where this process stands, for the one verb that must work where no facade can be built.
pub(crate) fn located(project: Option<PathBuf>) -> Where {
    let cwd = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/"));
    Where { vars: Vars::from_process(), cwd, project }
}
