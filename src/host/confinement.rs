//! The access of a child, as data: what a signed item asks for, and what is in force.
//!
//! A plan makes a [`Policy`] of what its links declare; a host that confines turns it into a
//! [`Confinement`], or says why it cannot. Nothing here looks at the machine.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use zeroize::Zeroizing;

use super::egress::Egress;
use super::net::NetSettings;
use crate::base::HostRule;
use crate::base::text::escape_line;
use crate::diagnostic::{Code, Diagnose, codes};

/// A level of the sandbox, strongest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SandboxLevel {
    /// Namespaces of its own, which rye makes as the program `bwrap` does, or that program.
    Bwrap,
    /// Landlock for files, seccomp for the network.
    Landlock,
}

impl SandboxLevel {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Bwrap => "bwrap",
            Self::Landlock => "landlock",
        }
    }
}

/// The network that a child may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Net {
    None,
    /// A private loopback interface.
    Loopback,
    /// A private loopback interface on which rye answers for what [`Policy::egress`] lists.
    Hosts,
    Any,
}

impl Net {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Loopback => "loopback",
            Self::Hosts => "hosts",
            Self::Any => "any",
        }
    }
}

/// Limits of what a child may use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Caps {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cpu_seconds: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) memory_mb: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) processes: Option<u64>,
    /// Open at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) files: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) file_size_mb: Option<u64>,
}

impl Caps {
    /// The smaller of each.
    pub(crate) fn and(self, other: Self) -> Self {
        let least = |a: Option<u64>, b: Option<u64>| match (a, b) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (one, other) => one.or(other),
        };
        Self {
            cpu_seconds: least(self.cpu_seconds, other.cpu_seconds),
            memory_mb: least(self.memory_mb, other.memory_mb),
            processes: least(self.processes, other.processes),
            files: least(self.files, other.files),
            file_size_mb: least(self.file_size_mb, other.file_size_mb),
        }
    }
}

/// The access of a child. All paths are absolute and real; everything else is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Policy {
    /// The places that every program needs: the system's programs and libraries, the interpreter.
    pub(crate) base: Vec<PathBuf>,
    pub(crate) read: Vec<PathBuf>,
    pub(crate) write: Vec<PathBuf>,
    /// The names by which the tool is told of these, where symbolic links may stand on the way.
    pub(crate) names: Vec<PathBuf>,
    /// Those of `write` that are created when the run begins.
    pub(crate) made: Vec<PathBuf>,
    /// If a level cannot protect a place inside a grant, the other parts of that grant are enough.
    pub(crate) partial_read: bool,
    pub(crate) partial_write: bool,
    /// `/tmp` is private even if the shared one is granted.
    pub(crate) own_tmp: bool,
    /// Never written, even inside a grant, whether they exist or not.
    pub(crate) kept: Vec<KeptPath>,
    /// Never read.
    pub(crate) hidden: Vec<PathBuf>,
    /// The folders in which rye keeps its state, the records of threads among it. Never read,
    /// whatever is created in them.
    pub(crate) state: Vec<PathBuf>,
    /// The folders of items for which the tool may make new ones. It writes them to a private
    /// folder, and they are taken over when the run ends.
    pub(crate) new_items: Vec<PathBuf>,
    /// The other `.ai` folders whose items a new one of the project would stand before.
    pub(crate) other_items: Vec<PathBuf>,
    /// The project's repository, if it is among `write`.
    pub(crate) commits: Option<Commits>,
    /// Placeholders in the project and its repository that a killed run may have left.
    pub(crate) abandoned: Vec<PathBuf>,
    /// The repositories in what it may write of the project.
    pub(crate) inner: InnerRepositories,
    pub(crate) net: Net,
    /// The hosts and services that it may reach through rye's proxy, if `net` is [`Net::Hosts`];
    /// only the services if the run is watched.
    pub(crate) egress: Egress,
    pub(crate) caps: Caps,
}

impl Policy {
    /// Returns true if a place that it grants, keeps or hides is the folder or lies in it.
    pub(crate) fn names_below(&self, folder: &Path) -> bool {
        let granted = self.base.iter().chain(&self.read).chain(&self.write);
        let kept = self.kept.iter().map(|kept| &kept.path);
        granted
            .chain(&self.hidden)
            .chain(&self.state)
            .chain(kept)
            .any(|path| path.starts_with(folder))
    }
}

/// A repository that a child may write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Commits {
    pub(crate) repository: PathBuf,
    /// The program that judges its index.
    pub(crate) git: PathBuf,
    /// `user.name` and `user.email` as git has them outside of the sandbox, each with its value.
    pub(crate) who: Vec<(String, OsString)>,
}

/// The repositories below the folders of a project that a child may write, as they are before it
/// starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct InnerRepositories {
    /// The folders that were looked into.
    pub(crate) below: Vec<PathBuf>,
    /// Each `.git` and each bare repository that was found.
    pub(crate) known: BTreeSet<PathBuf>,
    /// All folders were searched, and all repositories found are among the kept places.
    pub(crate) is_whole: bool,
}

impl Default for InnerRepositories {
    /// Of a child that may write nothing of a project.
    fn default() -> Self {
        Self { below: Vec::new(), known: BTreeSet::new(), is_whole: true }
    }
}

/// A path that is never written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KeptPath {
    pub(crate) path: PathBuf,
    /// A folder is created for it if it does not exist; if false, a file or a socket.
    pub(crate) is_folder: bool,
}

/// A policy, and the level that enforces it.
///
/// Invariant: made by a host that confines, for a level that works and that enforces all of the
/// policy but what `missing` names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Confinement {
    pub(crate) level: SandboxLevel,
    pub(crate) policy: Policy,
    /// The names of what the level does not enforce or does not give.
    pub(crate) missing: Vec<String>,
}

impl Confinement {
    /// Returns true if `/tmp` is a file system of the child's own, in memory; otherwise its private
    /// folder for temporary files is one on the disk.
    pub(crate) fn has_own_tmp(&self) -> bool {
        let Policy { own_tmp, read, write, .. } = &self.policy;
        let shared = Path::new("/tmp");
        // Also a grant of something in `/tmp`: a landlock rule that lets a private `/tmp` be
        // written would let that be written as well.
        let is_granted = || {
            read.iter().chain(write).any(|path| path.starts_with(shared))
                || write.iter().any(|path| shared.starts_with(path))
        };
        self.level == SandboxLevel::Bwrap && (*own_tmp || !is_granted())
    }

    /// The form in results, plans, traces and receipts.
    pub(crate) fn to_json(&self) -> Value {
        let Policy { read, write, net, egress, caps, new_items, .. } = &self.policy;
        let mut fs = Map::new();
        // A path need not be UTF-8.
        let texts = |paths: &[PathBuf]| {
            paths.iter().map(|path| path.to_string_lossy().into_owned()).collect::<Vec<_>>()
        };
        fs.insert("read".into(), texts(read).into());
        fs.insert("write".into(), texts(write).into());
        if !new_items.is_empty() {
            fs.insert("new".into(), texts(new_items).into());
        }
        let Egress { hosts, listen, .. } = egress.clone();
        let in_force = DeclaredNet { hosts, listen, ..DeclaredNet::from(*net) };
        let mut out = Map::new();
        out.insert("level".into(), json!(self.level));
        out.insert("fs".into(), fs.into());
        out.insert("net".into(), in_force.to_json());
        if !egress.services.is_empty() {
            out.insert("services".into(), json!(egress.services));
        }
        out.insert("limits".into(), json!(caps));
        out.insert("missing".into(), json!(self.missing));
        Value::Object(out)
    }
}

/// The network that an item asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DeclaredNet {
    pub(crate) net: Net,
    /// There where `net` is [`Net::Hosts`]; none where services are all that is reached, or where
    /// a list of yours has them.
    pub(crate) hosts: Vec<HostRule>,
    /// The config item, such as `config:web/hosts`, by which you list the hosts.
    pub(crate) hosts_from: Option<String>,
    /// Ports of this machine at which it is reached, in a network of its own.
    pub(crate) listen: Vec<u16>,
}

impl DeclaredNet {
    /// The part of it that the other does not have.
    pub(crate) fn beyond(&self, other: Option<&Self>) -> Option<Self> {
        let had = other.map_or(Net::None, |other| other.net);
        if had == Net::Any {
            return None;
        }
        let is_new = |host: &&HostRule| {
            !other.is_some_and(|other| other.hosts.iter().any(|known| host.is_within(known)))
        };
        let hosts: Vec<_> = self.hosts.iter().filter(is_new).cloned().collect();
        let is_other = |list: &&String| other.and_then(|it| it.hosts_from.as_ref()) != Some(list);
        let hosts_from = self.hosts_from.as_ref().filter(is_other).cloned();
        let is_open = |port: &&u16| other.is_some_and(|other| other.listen.contains(port));
        let listen: Vec<_> = self.listen.iter().filter(|port| !is_open(port)).copied().collect();
        let is_wider = self.net > had && self.net != Net::Hosts;
        let is_more = is_wider || !hosts.is_empty() || hosts_from.is_some() || !listen.is_empty();
        is_more.then_some(Self { net: self.net, hosts, hosts_from, listen })
    }

    /// In the form of an item.
    pub(crate) fn to_json(&self) -> Value {
        let mut out = match (self.net, &self.hosts_from) {
            (Net::Hosts, Some(list)) => json!({ "hosts_from": list }),
            (Net::Hosts, None) => json!({ "hosts": self.hosts }),
            (other, _) if self.listen.is_empty() => return json!(other),
            _ => json!({}),
        };
        if !self.listen.is_empty() {
            out["listen"] = json!(self.listen);
        }
        out
    }
}

impl From<Net> for DeclaredNet {
    fn from(net: Net) -> Self {
        Self { net, hosts: Vec::new(), hosts_from: None, listen: Vec::new() }
    }
}

impl std::fmt::Display for DeclaredNet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let texts = |all: &[HostRule]| all.iter().map(ToString::to_string).collect::<Vec<_>>();
        let reached = match (self.net, self.hosts.as_slice(), &self.hosts_from) {
            (_, _, Some(list)) => format!("the hosts that your {list} lists"),
            (Net::Hosts, [], _) => "its services alone".to_owned(),
            (Net::Hosts, hosts, _) => texts(hosts).join(", "),
            (other, ..) => other.as_str().to_owned(),
        };
        let ports: Vec<_> = self.listen.iter().map(ToString::to_string).collect();
        let is_reach =
            self.net != Net::Hosts || !self.hosts.is_empty() || self.hosts_from.is_some();
        match ports.join(", ") {
            none if none.is_empty() => f.write_str(&reached),
            ports if is_reach => write!(f, "{reached}; reached on this machine at port {ports}"),
            ports => write!(f, "reached on this machine at port {ports}"),
        }
    }
}

impl Serialize for DeclaredNet {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.to_json().serialize(to)
    }
}

impl std::str::FromStr for DeclaredNet {
    type Err = String;

    /// `none`, `loopback`, `any`, or hosts with commas between.
    fn from_str(text: &str) -> Result<Self, String> {
        let known = [Net::None, Net::Loopback, Net::Any];
        if let Some(net) = known.into_iter().find(|net| net.as_str() == text) {
            return Ok(net.into());
        }
        let host = |word: &str| {
            let word = word.trim();
            HostRule::parse(word).map_err(|bad| {
                format!("`{}` {bad}; or write `none`, `loopback` or `any`", escape_line(word))
            })
        };
        let hosts = text.split(',').map(host).collect::<Result<_, _>>()?;
        Ok(Self { hosts, ..Self::from(Net::Hosts) })
    }
}

/// One run of a confined child.
#[derive(Debug, Clone)]
pub(crate) struct ChildSandbox {
    pub(crate) confinement: Arc<Confinement>,
    /// The folder of the run's verified bytes, if there are any.
    pub(crate) pin: Option<PathBuf>,
    /// A private folder to write in; none if the child has a private `/tmp`.
    pub(crate) tmp: Option<PathBuf>,
    /// A private folder for new items, if the policy allows some.
    pub(crate) new_items: Option<PathBuf>,
    /// A private folder with a copy of the repository's `index`, if the child may write that.
    pub(crate) index: Option<PathBuf>,
    /// The data that rye's proxy of this run has and the child does not.
    pub(crate) egress: EgressOfRun,
}

/// The data of rye's proxy of one run, beside the policy.
#[derive(Clone, Default)]
pub(crate) struct EgressOfRun {
    /// The secret of each service, by the service's name.
    pub(crate) secrets: BTreeMap<String, Zeroizing<String>>,
    /// The operator's way out to servers of `https`, and of `http`.
    pub(crate) https: NetSettings,
    pub(crate) http: NetSettings,
}

impl std::fmt::Debug for EgressOfRun {
    /// Without the secrets, and without the operator's proxy, whose address may hold a password.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EgressOfRun")
            .field("services", &self.secrets.keys())
            .finish_non_exhaustive()
    }
}

/// Which level is wanted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Ladder {
    /// The strongest that works here.
    #[default]
    Auto,
    Only(SandboxLevel),
}

/// Why a level does not work on this machine, and the mend.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Lacking {
    pub(crate) level: SandboxLevel,
    pub(crate) why: String,
    pub(crate) mend: String,
}

/// Why a child cannot be confined as it should be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum CannotConfine {
    #[error("no sandbox works on this machine{}", lines(.0))]
    Unavailable(Vec<Lacking>),
    #[error(
        "{} cannot keep `{}` from a tool that may {verb} `{}`",
        .level.as_str(), shown(.kept), shown(.granted)
    )]
    CannotProtect {
        level: SandboxLevel,
        granted: PathBuf,
        kept: PathBuf,
        verb: &'static str,
        lacking: Option<Lacking>,
    },
    #[error("{}", cannot_limit(*.level, *.net))]
    CannotLimit { level: SandboxLevel, net: Net, lacking: Option<Lacking> },
    #[error("`{}` {why}", shown(.index))]
    Submodules { index: PathBuf, why: String },
    #[error("{0}")]
    BadGrant(String),
    #[error(
        "`git: write`, and `{}` names a repository elsewhere, as that of a linked work tree or of a \
         submodule does",
        shown(.0)
    )]
    NoOwnRepository(PathBuf),
    #[error(
        "`{}` is a whole home or all of its settings, or holds one: no tool may write all of that",
        shown(.0)
    )]
    WholeHome(PathBuf),
    #[error(
        "`--sandbox off` is for items that your own policy lists, and `{0}` is not one of them"
    )]
    OffNotAllowed(String),
}

codes! {
    SANDBOX_UNAVAILABLE = "sandbox.unavailable", CannotRun;
    SANDBOX_CANNOT_PROTECT = "sandbox.cannot_protect", CannotRun;
    SANDBOX_CANNOT_LIMIT = "sandbox.cannot_limit", CannotRun;
    SANDBOX_BAD_GRANT = "sandbox.bad_grant", CannotRun;
    SANDBOX_NOT_ALLOWED = "sandbox.not_allowed", CannotRun;
    SANDBOX_FAILED = "sandbox.failed", CannotRun;
}

fn shown(path: &std::path::Path) -> String {
    escape_line(&path.display().to_string())
}

fn cannot_limit(level: SandboxLevel, net: Net) -> String {
    match (level, net) {
        (SandboxLevel::Bwrap, Net::Loopback) => {
            "no connection can be led here to the ports on which the tool listens".to_owned()
        }
        (SandboxLevel::Bwrap, _) => {
            "nobody can answer here for the hosts that the tool lists".to_owned()
        }
        (SandboxLevel::Landlock, Net::Hosts) => {
            "landlock knows ports and no hosts, so it cannot hold a tool to the hosts or services \
             that it lists"
                .to_owned()
        }
        (SandboxLevel::Landlock, _) => {
            "landlock gives no network of its own, which `net: loopback` and \
             `net: {listen: […]}` need"
                .to_owned()
        }
    }
}

fn lines(lacking: &[Lacking]) -> String {
    lacking.iter().map(|l| format!("\n{}: {}", l.level.as_str(), l.why)).collect()
}

impl Diagnose for CannotConfine {
    fn code(&self) -> Code {
        match self {
            Self::Unavailable(_) => SANDBOX_UNAVAILABLE,
            Self::CannotProtect { .. } | Self::Submodules { .. } => SANDBOX_CANNOT_PROTECT,
            Self::CannotLimit { .. } => SANDBOX_CANNOT_LIMIT,
            Self::BadGrant(_) | Self::NoOwnRepository(_) | Self::WholeHome(_) => SANDBOX_BAD_GRANT,
            Self::OffNotAllowed(_) => SANDBOX_NOT_ALLOWED,
        }
    }

    fn help(&self) -> Option<String> {
        let stronger = |lacking: &Option<Lacking>| match lacking {
            Some(Lacking { why, mend, .. }) => {
                format!("the level `bwrap` can; here {why}: {mend}")
            }
            None => "the level `bwrap` can: leave `--sandbox` out".to_owned(),
        };
        Some(match self {
            Self::Unavailable(lacking) => {
                let mends: Vec<_> = lacking.iter().map(|lacking| lacking.mend.as_str()).collect();
                format!("{}; `rye doctor` tells more", mends.join("; or "))
            }
            Self::CannotProtect { level: SandboxLevel::Bwrap, .. } => {
                "name narrower folders in the item's `sandbox`, and sign it again".into()
            }
            Self::CannotProtect { lacking, .. } => {
                let narrower = "; or name narrower folders in the item's `sandbox`";
                stronger(lacking) + narrower
            }
            Self::Submodules { .. } => {
                "name narrower folders in the item's `sandbox`; `git status` there tells whether git \
                 can read it, and `git update-index --no-split-index` makes one file of an index \
                 that lies in two"
                    .into()
            }
            Self::CannotLimit { level: SandboxLevel::Bwrap, .. } if cfg!(not(feature = "http")) => {
                "use a rye that was built with the feature `http`".into()
            }
            Self::CannotLimit { level: SandboxLevel::Bwrap, .. } => {
                "run the tool by the program `rye`: only that can listen in the tool's network".into()
            }
            Self::CannotLimit { lacking, .. } => stronger(lacking),
            Self::BadGrant(_) => "mend `sandbox` in the item and sign it again".into(),
            Self::NoOwnRepository(_) => {
                "no sandbox lets a tool commit there: run it in a clone of its own (`git clone`), or \
                 in the main work tree, or commit yourself"
                    .into()
            }
            Self::WholeHome(_) => {
                "name in the item's `sandbox` the folders that it needs, such as \
                 `{user_space}/NAME/`, `{user_space}/.config/NAME/`, `{user_space}/.local/share/NAME/` \
                 or `{project_path}/NAME/`, and sign it again"
                    .into()
            }
            Self::OffNotAllowed(item) => format!(
                "list `{item}` under `sandbox_off` in your own `config:rye/policy`, and sign that"
            ),
        })
    }
}
