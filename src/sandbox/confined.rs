//! A host that starts its children in a sandbox, and the choice of the level.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::ops::ControlFlow;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::Resource;

use super::mount_points::{self, MountPoints};
use super::probe::{Found, found};
use super::way_out::WayOut;
use super::{bwrap, cgroup, inside, landlock, seccomp};
use crate::base::Digest;
use crate::host::{
    Access, AnswerPart, CannotConfine, Caps, ChildEvent, ChildResult, ChildSandbox, Confinement,
    Host, HttpAnswer, HttpCall, KeptByChild, Ladder, NamedBelow, Net, NetFault, PersistentChild,
    PlaceKind, Policy, ResolvedPath, Restrict, SandboxLevel, Spawn, Traffic,
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
        let ended = self.host.run(&held, hears);
        let Some(way_out) = needs.way_out else { return ended };
        let mut ended = ended?;
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
        Ok(self.host.start(&held)?.keeping(Box::new(needs)))
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
            (Ok(_), _) => {
                let rules = inside::holds(&policy);
                bwrap::confine(policy, rules, found.landlock.as_ref().ok().copied())
            }
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

/// What must exist as long as a child runs.
#[derive(Debug)]
struct Needs {
    /// Its control group.
    _group: Option<cgroup::Group>,
    /// The places created for it.
    _points: MountPoints,
    /// What answers for the hosts and services that it may reach.
    way_out: Option<WayOut>,
}

impl KeptByChild for Needs {
    fn take_traffic(&self) -> Option<Traffic> {
        self.way_out.as_ref().map(WayOut::take_traffic)
    }
}

/// The confined form of the spawn, and what must exist as long as the child runs.
fn held(spawn: &Spawn, sandbox: &ChildSandbox) -> io::Result<(Spawn, Needs)> {
    let Confinement { level, policy, missing } = &*sandbox.confinement;
    mount_points::sweep(&policy.abandoned);
    for folder in &policy.made {
        std::fs::DirBuilder::new().recursive(true).mode(0o755).create(folder)?;
    }
    let mut restrict = Restrict {
        filter: seccomp::filter(*level, policy.net).map_err(io::Error::other)?,
        rlimits: rlimits(policy.caps),
        ..Restrict::default()
    };
    let mut held = Spawn { sandbox: None, ..spawn.clone() };
    let tmp = sandbox.tmp.clone().unwrap_or_else(|| "/tmp".into());
    held.env.insert("TMPDIR".into(), tmp.into());
    if let Some(folder) = &sandbox.new_items {
        held.env.insert("RYE_NEW_ITEMS".into(), folder.into());
    }
    if let Some(folder) = &sandbox.index {
        held.env.insert("GIT_INDEX_FILE".into(), folder.join("index").into());
    }
    let more = if *level == SandboxLevel::Bwrap { OF_BWRAP } else { 0 };
    let asks = policy.caps.memory_mb.or(policy.caps.processes).is_some();
    let is_counted = asks && !missing.iter().any(|name| name.starts_with("limits."));
    let group = is_counted.then(|| cgroup::Group::new(policy.caps, more)).transpose()?;
    restrict.group = group.as_ref().map(|group| group.join.clone());
    let mut way_out = None;
    let points = match level {
        SandboxLevel::Landlock => {
            restrict.ruleset = landlock::ruleset(sandbox).map_err(io::Error::other)?;
            restrict.drops_capabilities = true;
            MountPoints::default()
        }
        SandboxLevel::Bwrap => {
            let program = (*found().bwrap).clone();
            let program = program.map_err(|lacking| io::Error::other(lacking.why))?;
            make_state(&policy.state);
            let (mut args, points) = bwrap::arguments(sandbox, &spawn.cwd)?;
            let mut hands_out = None;
            if policy.net == Net::Hosts {
                let (made, socket) = WayOut::new(policy, &sandbox.egress)?;
                held.env.extend(made.variables());
                way_out = Some(made);
                hands_out = Some((socket, 1 + policy.egress.services.len()));
            } else if spawn.watched && cfg!(feature = "http") {
                let observes = WayOut::observing(policy, &sandbox.egress)?;
                held.env.extend(observes.variables());
                way_out = Some(observes);
            }
            // Behind the last variable that is set here: whatever a variable is called, it is the
            // tool's.
            let steering = for_the_loader(&mut held.env);
            if inside::holds(policy) || hands_out.is_some() {
                let (passed, entry) = inside::program(sandbox, hands_out)?;
                restrict.passed = passed;
                args.extend(entry);
                let set = |(name, value)| inside::set(OsString::from(name).as_os_str(), value);
                args.extend(steering.into_iter().flat_map(set));
                args.push("--".into());
            } else {
                restrict.ruleset = landlock::scopes().map_err(io::Error::other)?;
                let set =
                    |(name, value): (String, OsString)| ["--setenv".into(), name.into(), value];
                args.splice(..0, steering.into_iter().flat_map(set));
            }
            // A watched child ends with its watcher, which must see its processes by their ids
            // outside.
            restrict.is_first_process = !spawn.watched;
            args.push(std::mem::replace(&mut held.program, program).into());
            args.append(&mut held.args);
            held.args = args;
            held.cwd = PathBuf::from("/");
            held.holds_another = true;
            points
        }
    };
    held.restrict = restrict;
    Ok((held, Needs { _group: group, _points: points, way_out }))
}

/// Makes the folders of rye's state, so that there is something to be hidden before the first
/// record comes to be in one. Where that fails, no thread of this user makes it either.
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

    use super::{Found, choose};
    use crate::diagnostic::Diagnose;
    use crate::host::{
        Caps, Egress, InnerRepositories, KeptPath, Lacking, Ladder, Net, Policy, SandboxLevel,
    };

    fn policy(write: &[&str]) -> Policy {
        Policy {
            base: Vec::new(),
            read: Vec::new(),
            write: write.iter().map(PathBuf::from).collect(),
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
            true => || Ok("/usr/bin/bwrap".into()),
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
