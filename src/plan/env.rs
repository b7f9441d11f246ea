//! The child's environment (core 7.5): a small fixed list, what signed links add, and the host
//! variables that they ask for by name.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use super::dotenv::{self, EnvFault};
use super::error::PlanError;
use super::pieces::Pieces;
use super::plan_source::PlanSource;
use super::template::{Names, Scope, variables};
use crate::chain::{Chain, Role};
use crate::diagnostic::Failure;
use crate::host::{Service, Vars, fits_header};
use crate::id::{Ref, Space};
use crate::parse::{DEPS_VAR, EnvBase, EnvPath, KEPT_BACK, is_loader};
use crate::trace::{Event, Sink};

/// The names that a child gets from the host, beside `LC_*`.
const FIXED: &[&str] = &["PATH", "HOME", "USER", "LANG", "TERM", "TZ", "TMPDIR"];

/// Variables that keep interpreters from loading modules out of the working directory, unless a
/// signed link or the caller's own environment says otherwise: `python3 -c` and `-m` (from Python
/// 3.11 on), and Perl from 5.26 on, whatever the machine is set up for.
const SAFE_PATHS: [(&str, &str); 2] = [(PYTHON_SAFE, "1"), ("PERL_USE_UNSAFE_INC", "0")];

const PYTHON_SAFE: &str = "PYTHONSAFEPATH";

/// The value of a name under `env` is shown where it is shorter, in bytes: it is a word that stands
/// in texts for other reasons.
const NAMED_SHOWN: usize = 8;

/// Where a child's environment comes from, in rising precedence; templates are not expanded yet.
///
/// Has no `Debug`: only the child may see the values.
pub(super) struct Env {
    host: BTreeMap<String, String>,
    /// The names among them whose values the project's `.env` gives.
    of_file: BTreeSet<String>,
    /// The primitive's, the runtime's, the tool's.
    links: Vec<Vec<(String, String)>>,
    /// Lists of folders in the private folder of the run.
    paths: Vec<EnvPath>,
    /// Folders in the private folder that Python gets in place of the one that it would add itself.
    python: Vec<PathBuf>,
    /// rye's own names, which no other source replaces.
    own: Vec<(String, String)>,
    /// Names whose values came from the host by declaration, or were made of such values.
    sealed: BTreeSet<String>,
    /// Names that links ask for as secrets.
    secrets: BTreeSet<String>,
    /// Other names that links ask for.
    named: BTreeSet<String>,
    /// The values of these names are masked in all output of an `exec` program beside its data,
    /// too.
    hides_named: bool,
    /// Names and values of what rye adds to requests in the tool's place; the child gets none.
    of_services: BTreeMap<String, String>,
    /// Values of others, which it is told of and must not show either.
    of_others: Vec<String>,
}

impl Env {
    /// `path` is the host's `PATH` without the folders from which no program is taken.
    ///
    /// # Errors
    /// `plan.missing_secret`, `plan.bad_config`
    pub(super) fn new(
        chain: &Chain,
        vars: &Vars,
        path: Option<String>,
        own: Vec<(&'static str, String)>,
        plan_source: &dyn PlanSource,
        sink: &dyn Sink,
    ) -> Result<Self, Failure> {
        let record = |by: String, keys: Vec<String>| {
            sink.record(Event::ResolveEnv { contributed_by: by, keys });
        };
        let (declared, mut of_project) = declared(chain, vars, plan_source)?;
        let of_services = of_services(chain, vars, &of_project)?;
        let base = chain.tool().tool.exec.as_ref().map_or(EnvBase::Minimal, |exec| exec.env_base);
        let hides_named = chain.tool().tool.exec.is_some();
        let named = chain.links().iter().flat_map(|link| &link.tool.env_names);
        let named = named.filter(|name| declared.contains(*name)).cloned().collect();
        let is_fixed = |name: &str| FIXED.contains(&name) || name.starts_with("LC_");
        let mut declared = declared;
        if base == EnvBase::Inherit {
            let others = vars.names().filter(|name| !is_fixed(name) && !KEPT_BACK.contains(name));
            declared.extend(others.map(str::to_owned));
        }
        declared.retain(|name| !of_services.contains_key(name));
        of_project.retain(|name, _| !of_services.contains_key(name));
        let wanted = |name: &&str| {
            let is_asked =
                || chain.links().iter().any(|link| link.tool.env_names.iter().any(|n| n == name));
            declared.contains(*name) || (is_fixed(name) && (base != EnvBase::None || is_asked()))
        };
        let mut host: BTreeMap<String, String> = vars
            .names()
            .filter(wanted)
            .filter(|name| !of_services.contains_key(*name))
            .filter_map(|name| Some((name.to_owned(), vars.text(name)?.to_owned())))
            .collect();
        if host.remove("PATH").is_some() || base != EnvBase::None {
            host.extend(path.map(|path| ("PATH".to_owned(), path)));
        }
        record("host".into(), host.keys().cloned().collect());
        let of_file: BTreeSet<String> = of_project.keys().cloned().collect();
        if !of_file.is_empty() {
            record(".env".into(), of_file.iter().cloned().collect());
            host.extend(of_project);
        }
        let mut links = Vec::new();
        let mut sealed = declared;
        for link in chain.links().iter().rev().filter(|link| !link.tool.env.is_empty()) {
            let by = match link.role {
                Role::Primitive => "primitive",
                Role::Runtime => "runtime",
                Role::Tool => "tool",
            };
            let keys = link.tool.env.iter().map(|(name, _)| name.clone()).collect();
            record(format!("{by} {}", link.item().id), keys);
            for (name, template) in &link.tool.env {
                if variables(template).iter().any(|used| sealed.contains(*used)) {
                    sealed.insert(name.clone());
                }
            }
            links.push(link.tool.env.clone());
        }
        record("rye".into(), own.iter().map(|(name, _)| (*name).to_owned()).collect());
        let own = own.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        let secrets = chain.links().iter().flat_map(|link| link.tool.secrets.iter().cloned());
        let secrets = secrets.collect();
        let (paths, python) = (Vec::new(), Vec::new());
        Ok(Self {
            host,
            of_file,
            links,
            paths,
            python,
            own,
            sealed,
            secrets,
            named,
            hides_named,
            of_services,
            of_others: Vec::new(),
        })
    }

    /// The value of a service's secret.
    pub(super) fn of_service(&self, secret: &str) -> Option<&str> {
        self.of_services.get(secret).map(String::as_str)
    }

    /// Adds a name of rye's own, which no link can replace; what the host says of it is not used.
    pub(super) fn add(&mut self, name: &str, value: String) {
        self.sealed.remove(name);
        self.own.push((name.to_owned(), value));
    }

    /// Lets Python find the modules of these folders of verified files, though [`SAFE_PATHS`] tell
    /// it not to add the folder of its script.
    pub(super) fn load_python_from(&mut self, folders: Vec<PathBuf>) {
        self.python = folders;
    }

    /// Refuses a template that would show a host-declared value where others can see it: the
    /// arguments of a process are public on most systems (core 7.7).
    ///
    /// # Errors
    /// `plan.secret_in_argv`
    pub(super) fn keep_out(&self, item: &Ref, template: &str) -> Result<(), PlanError> {
        match variables(template).into_iter().find(|name| self.sealed.contains(*name)) {
            Some(name) => {
                Err(PlanError::SecretInArgv { item: item.clone(), name: name.to_owned() })
            }
            None => Ok(()),
        }
    }

    /// Returns true if this is the host's own `PATH`, without the part that was taken out of it.
    pub(super) fn is_of_host(&self, path: &str) -> bool {
        self.host.get("PATH").is_some_and(|own| own == path)
    }

    /// Returns true if a variable contains a host-declared value, or was made of one.
    pub(super) fn is_sealed(&self, name: &str) -> bool {
        self.sealed.contains(name)
    }

    /// Returns true if a template uses the caller's parameters, also by way of a variable.
    pub(super) fn takes_parameters(&self, template: &str) -> bool {
        let takes = |template: &str, taken: &BTreeSet<&str>| {
            let given = template.contains("{params_json}");
            given || variables(template).iter().any(|name| taken.contains(name))
        };
        let mut taken = BTreeSet::new();
        for (name, value) in self.links.iter().flatten() {
            if takes(value, &taken) {
                taken.insert(name.as_str());
            }
        }
        takes(template, &taken)
    }

    /// The names and values that the project's `.env` gives.
    pub(super) fn of_file(&self) -> impl Iterator<Item = (&str, &str)> {
        let given = self.host.iter().filter(|(name, _)| self.of_file.contains(*name));
        given.map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// The values that must not be shown: of declared secrets, and of what an `exec` block names.
    pub(super) fn secrets(&self) -> impl Iterator<Item = &str> {
        self.values(self.hides_named)
    }

    /// The values that must not stand in an error: those, and of every other name that a link asks
    /// for.
    pub(super) fn private_values(&self) -> impl Iterator<Item = &str> {
        self.values(true)
    }

    fn values(&self, with_named: bool) -> impl Iterator<Item = &str> {
        let secrets = self.secrets.iter().filter_map(|name| self.host.get(name));
        let named = self.named.iter().filter(move |_| with_named);
        let named = named.filter_map(|name| self.host.get(name));
        let named = named.filter(|value| value.len() >= NAMED_SHOWN);
        let rest = self.of_services.values().chain(&self.of_others);
        secrets.chain(named).chain(rest).map(String::as_str)
    }

    /// Adds values that are shown as little as its own.
    pub(super) fn add_private(&mut self, values: &[String]) {
        self.of_others.extend_from_slice(values);
    }

    /// The templates of the links.
    pub(super) fn templates(&self) -> impl Iterator<Item = &str> {
        let paths = self.paths.iter().flat_map(|path| path.prepend.iter().chain(&path.append));
        let links = self.links.iter().flatten().map(|(_, template)| template);
        links.chain(paths).map(String::as_str)
    }

    /// The variables with folders that an anchor gives.
    pub(super) fn with_paths(self, paths: Vec<EnvPath>) -> Self {
        Self { paths, ..self }
    }

    /// `NAME=template` of the links and of an anchor, in the order in which they are set; a secret
    /// stays a name.
    pub(super) fn settings(&self) -> Vec<String> {
        let links = self.links.iter().flatten();
        let links = links.map(|(name, template)| format!("{name}={template}"));
        let paths = self.paths.iter().map(|path| {
            let own = vec![format!("${{{}}}", path.name)];
            let folders = [path.prepend.clone(), own, path.append.clone()].concat();
            format!("{}={}", path.name, folders.join(":"))
        });
        links.chain(paths).collect()
    }

    /// Names and values, templates expanded in order.
    pub(super) fn resolve(&self, names: &Names) -> BTreeMap<String, Pieces> {
        let safe = SAFE_PATHS.map(|(name, value)| (name.to_owned(), Pieces::text(value)));
        let mut env: BTreeMap<String, Pieces> = safe.into();
        env.extend(self.host.iter().map(|(name, value)| (name.clone(), Pieces::text(value))));
        for (name, template) in self.links.iter().flatten() {
            let value = Scope { names, env: &env, params: None }.pieces(template);
            env.insert(name.clone(), value);
        }
        for path in &self.paths {
            let scope = Scope { names, env: &env, params: None };
            let folders =
                |list: &[String]| list.iter().map(|t| scope.pieces(t)).collect::<Vec<_>>();
            // What the links' own `env` says of the variable is theirs, not the host's.
            let own = env.get(&path.name).filter(|text| !text.is_empty()).cloned();
            let all = [folders(&path.prepend), own.into_iter().collect(), folders(&path.append)];
            env.insert(path.name.clone(), listed(&all.concat()));
        }
        if env.get(PYTHON_SAFE) == Some(&Pieces::text("1")) && !self.python.is_empty() {
            let folders = self.python.iter().map(|path| Pieces::private(path.to_string_lossy()));
            let own = env.remove("PYTHONPATH").filter(|text| !text.is_empty());
            let all: Vec<Pieces> = folders.chain(own).collect();
            env.insert("PYTHONPATH".into(), listed(&all));
        }
        env.retain(|name, _| name != DEPS_VAR && !KEPT_BACK.contains(&name.as_str()));
        env.extend(self.own.iter().map(|(name, value)| (name.clone(), Pieces::text(value))));
        env
    }
}

/// Folders as a variable lists them.
fn listed(folders: &[Pieces]) -> Pieces {
    let mut out = Pieces::default();
    for (at, folder) in folders.iter().enumerate() {
        out.push_text(if at == 0 { "" } else { ":" });
        out.extend(folder);
    }
    out
}

/// The host's `PATH`, in which programs are looked for and each is judged: a folder that is not
/// UTF-8 is left out, the others stay.
pub(super) fn path(vars: &Vars) -> Option<String> {
    if let Some(text) = vars.text("PATH") {
        return Some(text.to_owned());
    }
    let folders = std::env::split_paths(vars.get("PATH")?);
    let folders = folders.filter_map(|folder| folder.into_os_string().into_string().ok());
    let folders: Vec<_> = folders.collect();
    (!folders.is_empty()).then(|| folders.join(":"))
}

/// The host variables that links of the chain ask for by name, and the values of those that the
/// project's `.env` gives.
fn declared(
    chain: &Chain,
    vars: &Vars,
    plan_source: &dyn PlanSource,
) -> Result<(BTreeSet<String>, BTreeMap<String, String>), Failure> {
    let of_project = of_project(chain, vars, plan_source)?;
    let mut names = BTreeSet::new();
    for link in chain.links() {
        let has = |name: &str| {
            let of_host = vars.text(name).is_some_and(|value| !value.is_empty());
            of_host || of_project.get(name).is_some_and(|value| !value.is_empty())
        };
        let of_services = link.tool.services().iter().map(Service::secret);
        let asked = link.tool.secrets.iter().map(String::as_str).chain(of_services);
        let missing: Vec<String> = asked.filter(|name| !has(name)).map(str::to_owned).collect();
        if !missing.is_empty() {
            let item = link.item().clone();
            return Err(PlanError::MissingSecret { item, names: missing }.into());
        }
        names.extend(link.tool.env_names.iter().chain(&link.tool.secrets).cloned());
    }
    // What the project's file gave is kept out of commands and folders whatever its name.
    names.retain(|name| {
        let is_free = FIXED.contains(&name.as_str()) && !of_project.contains_key(name);
        !is_free && !KEPT_BACK.contains(&name.as_str())
    });
    Ok((names, of_project))
}

/// The secrets of the services that the chain may call.
///
/// # Errors
/// `plan.bad_config`
fn of_services(
    chain: &Chain,
    vars: &Vars,
    of_project: &BTreeMap<String, String>,
) -> Result<BTreeMap<String, String>, PlanError> {
    let value = |name: &str| {
        let of_host = vars.text(name).filter(|value| !value.is_empty());
        of_host.or_else(|| of_project.get(name).map(String::as_str))
    };
    let mut found = BTreeMap::new();
    for link in chain.links() {
        for service in link.tool.services() {
            let Some(secret) = value(service.secret()) else { continue };
            if let Err(why) = fits_header(secret) {
                let why = format!("names `{}`, whose value {why}", service.secret());
                let item = link.item().clone();
                return Err(PlanError::BadConfig { item, pointer: "/sandbox/services", why });
            }
            found.insert(service.secret().to_owned(), secret.to_owned());
        }
    }
    Ok(found)
}

/// The values of the project's `.env` for names that its own tools declare and the host has not.
fn of_project(
    chain: &Chain,
    vars: &Vars,
    plan_source: &dyn PlanSource,
) -> Result<BTreeMap<String, String>, Failure> {
    let links = chain.links().iter().filter(|link| link.source.space() == Space::Project);
    let asked = links.flat_map(|link| {
        let of_services = link.tool.services().iter().map(Service::secret);
        let names = link.tool.env_names.iter().chain(&link.tool.secrets).map(String::as_str);
        names.chain(of_services).map(|name| (link.item(), name))
    });
    let asked: Vec<_> = asked.filter(|(_, name)| vars.get(name).is_none()).collect();
    if asked.is_empty() {
        return Ok(BTreeMap::new());
    }
    let Some(bytes) = plan_source.dotenv()? else { return Ok(BTreeMap::new()) };
    let bad = |fault| PlanError::BadEnvFile { fault };
    let text = dotenv::text(&bytes).map_err(bad)?;
    let is_asked = |name: &str| asked.iter().any(|(_, asked)| *asked == name);
    let given = dotenv::read(text, is_asked).map_err(|line| bad(EnvFault::Line(line)))?;
    let mut values = BTreeMap::new();
    for (item, name) in asked {
        let Some(value) = given.get(name) else { continue };
        if is_loader(name) {
            let (item, name) = (item.clone(), name.to_owned());
            return Err(PlanError::RefusedVariable { item, name }.into());
        }
        values.insert(name.to_owned(), value.clone());
    }
    Ok(values)
}
