//! A host that starts its children in a sandbox, and the choice of the level.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::ops::ControlFlow;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rustix::process::Resource;

use super::listeners::{MOST, PROXY_PORT};
use super::mount_points::{self, MountPoints};
use super::probe::{Found, Way, forget, found};
use super::way_in::WayIn;
use super::way_out::WayOut;
use super::{bwrap, cgroup, inside, landlock, seccomp};
use crate::base::Digest;
use crate::base::text::brief_line;
use crate::host::{
    Access, AnswerPart, CannotConfine, Caps, ChildEvent, ChildResult, ChildSandbox, Confinement,
    HandsOut, Host, HttpAnswer, HttpCall, KeptByChild, Ladder, Mount, NamedBelow, Namespaces,
    NamespacesNotMade, Net, NetFault, OwnNetwork, PersistentChild, PlaceKind, Policy, ResolvedPath,
    Restrict, SandboxLevel, Spawn, Traffic,
};

/// The number of processes that `bwrap` itself adds to a run.
const OF_BWRAP: u64 = 2;

/// Where a child's private folder in memory is mounted, if it has one.
pub(super) const OWN_TMP: &str = "/tmp";

/// See the module.
pub(crate) struct Confined {
    host: Box<dyn Host + Send>,
}

impl Confined {
    pub(crate) fn new(host: Box<dyn Host + Send>) -> Self {
        Self { host }
    }
}

impl Host for Confined {
    fn is_folder(&self, path: &Path) -> bool {
        self.host.is_folder(path)
    }

    fn real_file(&self, path: &Path) -> Option<PathBuf> {
        self.host.real_file(path)
    }

    fn real_folder(&self, path: &Path) -> Option<PathBuf> {
        self.host.real_folder(path)
    }

    fn own_program(&self) -> Option<PathBuf> {
        self.host.own_program()
    }

    fn look(&self, path: &Path) -> Option<ResolvedPath> {
        self.host.look(path)
    }

    fn read(&self, path: &Path, cap: u64) -> Option<Vec<u8>> {
        self.host.read(path, cap)
    }

    fn names(&self, folder: &Path) -> Vec<String> {
        self.host.names(folder)
    }

    fn kind(&self, path: &Path) -> Option<PlaceKind> {
        self.host.kind(path)
    }

    fn named_below(&self, folder: &Path, name: &str, most: usize) -> NamedBelow {
        self.host.named_below(folder, name, most)
    }

    fn digest_file(&self, path: &Path) -> io::Result<Digest> {
        self.host.digest_file(path)
    }

    fn run(&self, spawn: &Spawn, hears: &mut dyn FnMut(ChildEvent<'_>)) -> io::Result<ChildResult> {
        let Some(sandbox) = &spawn.sandbox else { return self.host.run(spawn, hears) };
        let (held, needs) = held(spawn, sandbox)?;
        let mut ended = self.host.run(&held, hears).inspect_err(not_made)?;
        if let Some(said) = not_made_by_program(&held, &ended) {
            return Err(NamespacesNotMade::because(said));
        }
        let Some(way_out) = needs.way_out else { return Ok(ended) };
        ended.accesses.all.retain(|access| match access {
            // The way to the proxy is rye's; where it leads is in the traffic.
            Access::Called(address, _) => !way_out.is_at(address),
            _ => true,
        });
        Ok(ChildResult { traffic: Some(way_out.end()?), ..ended })
    }

    fn start(&self, spawn: &Spawn) -> io::Result<PersistentChild> {
        let Some(sandbox) = &spawn.sandbox else { return self.host.start(spawn) };
        if sandbox.new_items.is_some() || sandbox.index.is_some() {
            let why = "new items (`items: write`) and git's index (`git: write`) are taken over when \
                       a program ends, and this one serves many calls";
            return Err(io::Error::new(io::ErrorKind::Unsupported, why));
        }
        let (held, needs) = held(spawn, sandbox)?;
        Ok(self.host.start(&held).inspect_err(not_made)?.keeping(Box::new(needs)))
    }

    fn confine(&self, policy: Policy, ladder: Ladder) -> Result<Confinement, CannotConfine> {
        let is_whole = policy.inner.is_whole;
        let mut held = choose(found(), policy, ladder)?;
        if !is_whole {
            held.missing.push("inner repositories".to_owned());
        }
        Ok(held)
    }

    fn call(&self, call: &HttpCall) -> Result<HttpAnswer, NetFault> {
        self.host.call(call)
    }

    fn stream(
        &self,
        call: &HttpCall,
        take: &mut dyn FnMut(AnswerPart<'_>) -> ControlFlow<()>,
    ) -> Result<(), NetFault> {
        self.host.stream(call, take)
    }

    fn sleep(&self, time: Duration) -> io::Result<Option<i32>> {
        self.host.sleep(time)
    }
}

/// The strongest level that works, or the one that is asked for; never a weaker one instead of it.
fn choose(found: &Found, policy: Policy, ladder: Ladder) -> Result<Confinement, CannotConfine> {
    // Only asked if it is needed: finding out takes a process.
    let stronger = || found.bwrap.as_ref().err().cloned();
    let by_landlock = |policy| match &*found.landlock {
        Ok(version) => landlock::confine(policy, *version, &stronger),
        Err(lacking) => {
            let all = stronger().into_iter().chain([lacking.clone()]).collect();
            Err(CannotConfine::Unavailable(all))
        }
    };
    match ladder {
        Ladder::Only(SandboxLevel::Landlock) => by_landlock(policy),
        Ladder::Auto | Ladder::Only(SandboxLevel::Bwrap) => match (&*found.bwrap, ladder) {
            (Ok(way), _) => bwrap::confine(policy, way, found.landlock.as_ref().ok().copied()),
            (Err(_), Ladder::Auto) => by_landlock(policy),
            (Err(lacking), _) => Err(CannotConfine::Unavailable(vec![lacking.clone()])),
        },
    }
}

/// The limits that need a control group and cannot be enforced here, by their names in `missing`.
pub(super) fn uncounted(caps: Caps) -> impl Iterator<Item = String> {
    let asked = [("memory_mb", caps.memory_mb), ("processes", caps.processes)];
    let is_counted = cgroup::place(caps).is_some();
    let asked = asked.into_iter().filter(move |(_, most)| most.is_some() && !is_counted);
    asked.map(|(name, _)| format!("limits.{name}"))
}

/// The resources that must exist as long as a child runs.
#[derive(Debug)]
struct Needs {
    /// Its control group.
    _group: Option<cgroup::Group>,
    /// The places created for it.
    _points: MountPoints,
    /// The proxy for the hosts and services that it may reach.
    way_out: Option<WayOut>,
    /// Leads connections to the ports on which it listens.
    _way_in: Option<WayIn>,
}

impl KeptByChild for Needs {
    fn take_traffic(&self) -> Option<Traffic> {
        self.way_out.as_ref().map(WayOut::take_traffic)
    }
}

/// Forgets the level that was kept, since the set-up failed.
fn not_made(error: &io::Error) {
    if NamespacesNotMade::is(error) {
        forget();
    }
}

/// The message of the program `bwrap` where it could not make the namespaces. A tool can print it
/// too.
fn not_made_by_program(held: &Spawn, ended: &ChildResult) -> Option<String> {
    let is_program = held.restrict.namespaces.is_none() && held.holds_another;
    let is_one = is_program && ended.exit_code == Some(1) && ended.stdout.is_empty();
    let said = std::str::from_utf8(&ended.stderr).ok().filter(|_| is_one)?;
    Some(brief_line(said.strip_prefix("bwrap: ")?.trim()))
}

/// The confined form of the spawn, and what must exist as long as the child runs.
fn held(spawn: &Spawn, sandbox: &ChildSandbox) -> io::Result<(Spawn, Needs)> {
    let Confinement { level, policy, missing } = &*sandbox.confinement;
    mount_points::sweep(&policy.abandoned);
    for folder in &policy.made {
        std::fs::DirBuilder::new().recursive(true).mode(0o755).create(folder)?;
    }
    let way = match level {
        SandboxLevel::Landlock => None,
        SandboxLevel::Bwrap => {
            let way = (*found().bwrap).clone();
            Some(way.map_err(|lacking| NamespacesNotMade::because(lacking.why))?)
        }
    };
    let is_last = !matches!(way, Some(Way::Program { .. }));
    let restrict = Restrict {
        filter: seccomp::filter(*level, policy.net, is_last).map_err(io::Error::other)?,
        rlimits: rlimits(policy.caps),
        drops_capabilities: is_last,
        ..Restrict::default()
    };
    let mut held = Spawn { sandbox: None, restrict, ..spawn.clone() };
    let tmp = sandbox.tmp.clone().unwrap_or_else(|| "/tmp".into());
    held.env.insert("TMPDIR".into(), tmp.into());
    if let Some(folder) = &sandbox.new_items {
        held.env.insert("RYE_NEW_ITEMS".into(), folder.into());
    }
    if let Some(folder) = &sandbox.index {
        held.env.insert("GIT_INDEX_FILE".into(), folder.join("index").into());
    }
    let who = policy.commits.as_ref().map(|commits| &commits.who);
    if let Some(who) = who.filter(|_| !held.env.contains_key("GIT_CONFIG_COUNT")) {
        // The files of settings are not shown: they can hold secrets and name programs.
        held.env.insert("GIT_CONFIG_COUNT".into(), who.len().to_string().into());
        for (at, (name, value)) in who.iter().enumerate() {
            held.env.insert(format!("GIT_CONFIG_KEY_{at}"), name.into());
            held.env.insert(format!("GIT_CONFIG_VALUE_{at}"), value.clone());
        }
    }
    let more = if is_last { 0 } else { OF_BWRAP };
    let asks = policy.caps.memory_mb.or(policy.caps.processes).is_some();
    let is_counted = asks && !missing.iter().any(|name| name.starts_with("limits."));
    let group = is_counted.then(|| cgroup::Group::new(policy.caps, more)).transpose()?;
    held.restrict.group = group.as_ref().map(|group| group.join.clone());
    let Some(way) = way else {
        without_git_settings(&mut held.env, policy);
        held.restrict.ruleset = landlock::ruleset(sandbox).map_err(io::Error::other)?;
        let none = MountPoints::default();
        return Ok((held, Needs { _group: group, _points: none, way_out: None, _way_in: None }));
    };
    make_state(&policy.state);
    let (mounts, points) = bwrap::mounts(spawn, sandbox)?;
    let (mut way_out, mut way_in, mut hands_out) = (None, None, Vec::new());
    if policy.net == Net::Hosts {
        let (made, socket) = WayOut::new(policy, &sandbox.egress)?;
        held.env.extend(made.variables());
        way_out = Some(made);
        let count = 1 + policy.egress.services.len();
        let over = Arc::new(socket);
        hands_out.push(HandsOut { over, first_port: Some(PROXY_PORT), count });
    } else if spawn.watched && cfg!(feature = "http") {
        let observes = WayOut::observing(policy, &sandbox.egress)?;
        held.env.extend(observes.variables());
        way_out = Some(observes);
    }
    if !policy.egress.listen.is_empty() {
        let (made, socket) = WayIn::new(&policy.egress.listen)?;
        way_in = Some(made);
        hands_out.push(HandsOut { over: Arc::new(socket), first_port: None, count: MOST });
    }
    match way {
        Way::Own => by_rye(&mut held, sandbox, &mounts, hands_out)?,
        Way::Program { path, is_first } => {
            let args = bwrap::arguments(mounts, policy.net, &spawn.cwd);
            by_program(&mut held, sandbox, path, args, &hands_out)?;
            // A watched child ends with its watcher, which must see its processes by their ids
            // outside.
            held.restrict.is_first_process = is_first && !spawn.watched;
        }
    }
    Ok((held, Needs { _group: group, _points: points, way_out, _way_in: way_in }))
}

/// Has rye make the namespaces. `hands_out` are sockets of the tool's network.
fn by_rye(
    held: &mut Spawn,
    sandbox: &ChildSandbox,
    mounts: &[Mount],
    hands_out: Vec<HandsOut>,
) -> io::Result<()> {
    let policy = &sandbox.confinement.policy;
    let network = match policy.net {
        Net::Any => OwnNetwork::Machine,
        Net::None => OwnNetwork::Nothing,
        Net::Loopback | Net::Hosts => OwnNetwork::Loopback(hands_out),
    };
    let mut rules = Vec::new();
    held.restrict.ruleset = match found().landlock.as_ref() {
        Ok(version) if !policy.own_tmp => {
            let made = landlock::of_mounts(sandbox).into_iter();
            let bits = |(word, path): (&str, &str)| {
                Some((PathBuf::from(path), landlock::bits(word, *version)?))
            };
            rules.extend(made.filter_map(bits));
            landlock::inside(sandbox).map_err(io::Error::other)?.map(Arc::new)
        }
        _ => landlock::scopes().map_err(io::Error::other)?,
    };
    held.restrict.namespaces = Some(Arc::new(Namespaces::new(mounts, network, &rules)?));
    // A watched child is the first process, so that its watcher started it.
    held.holds_another = !held.watched;
    Ok(())
}

/// Has the program `bwrap`, to which these arguments go, make the namespaces.
fn by_program(
    held: &mut Spawn,
    sandbox: &ChildSandbox,
    program: PathBuf,
    mut args: Vec<OsString>,
    hands_out: &[HandsOut],
) -> io::Result<()> {
    // Behind the last variable that is set here: whatever a variable is called, it is the tool's.
    let steering = for_the_loader(&mut held.env);
    if inside::holds(&sandbox.confinement.policy) || !hands_out.is_empty() {
        let (passed, entry) = inside::program(sandbox, hands_out)?;
        held.restrict.passed = passed;
        args.extend(entry);
        let set = |(name, value)| inside::set(OsString::from(name).as_os_str(), value);
        args.extend(steering.into_iter().flat_map(set));
        args.push("--".into());
    } else {
        held.restrict.ruleset = landlock::scopes().map_err(io::Error::other)?;
        let set = |(name, value): (String, OsString)| ["--setenv".into(), name.into(), value];
        args.splice(..0, steering.into_iter().flat_map(set));
    }
    args.push(std::mem::replace(&mut held.program, program).into());
    args.append(&mut held.args);
    held.args = args;
    held.cwd = PathBuf::from("/");
    held.holds_another = true;
    Ok(())
}

/// Where the settings of git in the home may not be read, git is told that there are none: it ends
/// at a file that is there and refused, and at the level `bwrap` it finds none.
fn without_git_settings(env: &mut BTreeMap<String, OsString>, policy: &Policy) {
    let Some(home) = env.get("HOME").map(PathBuf::from) else { return };
    let shown = [&policy.base, &policy.read, &policy.write];
    let is_shown = |name: &&str| {
        let path = home.join(name);
        let real = path.canonicalize().unwrap_or(path);
        shown.into_iter().flatten().any(|granted| real.starts_with(granted))
    };
    if !GIT_SETTINGS.iter().any(is_shown) {
        env.entry("GIT_CONFIG_GLOBAL".into()).or_insert_with(|| "/dev/null".into());
    }
}

/// The settings of git in a home.
const GIT_SETTINGS: [&str; 2] = [".gitconfig", ".config/git/config"];

/// Makes the folders of rye's state, so that there is something to be hidden before the first
/// record is written to one. If that fails, no thread of this user makes it either.
fn make_state(folders: &[PathBuf]) {
    for folder in folders {
        let _ = std::fs::DirBuilder::new().mode(0o700).create(folder);
    }
}

/// Takes the variables that steer the loader and the C library out of the environment. Only the
/// tool gets them: `bwrap` and rye, which are started before it, must not be steered by an item.
fn for_the_loader(env: &mut BTreeMap<String, OsString>) -> Vec<(String, OsString)> {
    let steers = |name: &str| name.starts_with("LD_") || OF_LIBC.contains(&name);
    let names: Vec<String> = env.keys().filter(|name| steers(name)).cloned().collect();
    names.into_iter().filter_map(|name| env.remove_entry(&name)).collect()
}

/// Variables beside `LD_*` that make the C library load files or change its behaviour.
const OF_LIBC: [&str; 4] = ["GLIBC_TUNABLES", "GCONV_PATH", "LOCPATH", "NLSPATH"];

/// The limits of each single process.
fn rlimits(caps: Caps) -> Vec<(Resource, u64)> {
    let mut limits = vec![(Resource::Core, 0)];
    limits.extend(caps.cpu_seconds.map(|most| (Resource::Cpu, most)));
    limits.extend(caps.files.map(|most| (Resource::Nofile, most)));
    limits.extend(caps.file_size_mb.map(|most| (Resource::Fsize, most << 20)));
    limits
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::sync::LazyLock;

    use super::{Found, Way, choose};
    use crate::diagnostic::Diagnose;
    use crate::host::{
        Caps, Egress, InnerRepositories, KeptPath, Lacking, Ladder, Net, Policy, SandboxLevel,
    };

    fn policy(write: &[&str]) -> Policy {
        Policy {
            base: Vec::new(),
            read: Vec::new(),
            write: write.iter().map(PathBuf::from).collect(),
            names: Vec::new(),
            made: Vec::new(),
            partial_read: false,
            partial_write: false,
            own_tmp: false,
            kept: vec![KeptPath { path: "/p/.ai".into(), is_folder: true }],
            hidden: Vec::new(),
            state: Vec::new(),
            new_items: Vec::new(),
            other_items: Vec::new(),
            commits: None,
            abandoned: Vec::new(),
            inner: InnerRepositories::default(),
            net: Net::None,
            egress: Egress::default(),
            caps: Caps::default(),
        }
    }

    fn lacking(level: SandboxLevel) -> Lacking {
        Lacking { level, why: "it is off".into(), mend: "turn it on".into() }
    }

    /// A machine on which these levels work.
    fn machine(bwrap: bool, landlock: bool) -> Found {
        let bwrap: fn() -> _ = match bwrap {
            true => || Ok(Way::Own),
            false => || Err(lacking(SandboxLevel::Bwrap)),
        };
        let landlock: fn() -> _ = match landlock {
            true => || Ok(7),
            false => || Err(lacking(SandboxLevel::Landlock)),
        };
        Found { bwrap: LazyLock::new(bwrap), landlock: LazyLock::new(landlock) }
    }

    #[test]
    fn the_ladder_is_climbed_down_only_by_what_does_not_work_table() {
        let (auto, bwrap) = (Ladder::Auto, Ladder::Only(SandboxLevel::Bwrap));
        let landlock = Ladder::Only(SandboxLevel::Landlock);
        let (narrow, wide) = (&["/p/build"][..], &["/p"][..]);
        for (there, ladder, write, want) in [
            ((true, true), auto, narrow, "bwrap"),
            ((true, true), landlock, narrow, "landlock"),
            ((true, true), landlock, wide, "sandbox.cannot_protect"),
            ((true, false), auto, wide, "bwrap"),
            ((true, false), landlock, narrow, "sandbox.unavailable"),
            ((false, true), auto, narrow, "landlock"),
            ((false, true), auto, wide, "sandbox.cannot_protect"),
            ((false, true), bwrap, narrow, "sandbox.unavailable"),
            ((false, false), auto, narrow, "sandbox.unavailable"),
            ((false, false), bwrap, narrow, "sandbox.unavailable"),
        ] {
            let chosen = choose(&machine(there.0, there.1), policy(write), ladder);
            let got = match &chosen {
                Ok(held) => held.level.as_str(),
                Err(why) => why.code().name(),
            };
            assert_eq!(got, want, "{there:?} {ladder:?} {write:?}");
            if let Err(why) = chosen {
                let help = why.help().unwrap();
                assert_eq!(help.contains("turn it on"), !there.0 || !there.1, "{help}");
            }
        }
    }
}
