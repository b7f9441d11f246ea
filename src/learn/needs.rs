//! From what was done to what is needed: what is granted anyway is left out, the rest folded.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use crate::base::text::escape_line;
use crate::host::{Access, Accesses, HostTraffic, Net, Refusal, Traffic};
use crate::parse::Needs;
use crate::plan::{BasePolicy, PRIVATE};

/// The needs to declare, and the remarks beside them.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Needed {
    pub(super) needs: Needs,
    pub(super) remarks: Vec<String>,
}

/// Most files of one folder that are named one by one; more of them are that folder.
const FILES_NAMED: usize = 8;

/// Of each run its own, whatever is granted.
const OWN: [&str; 3] = [PRIVATE, "/dev", "/proc"];

/// The needs of these accesses beyond the base policy. `shown` are the places that the watched run
/// could write, even where every run has a place of its own; `template` writes a path as an item
/// does.
pub(super) fn needed(
    accesses: &Accesses,
    traffic: &Traffic,
    base: &BasePolicy,
    shown: &[PathBuf],
    template: &dyn Fn(&Path) -> String,
) -> Needed {
    let seen = Seen { accesses: &accesses.all, traffic, base, shown };
    let mut remarks = seen.refused();
    if accesses.more {
        remarks.push("it did more than is remembered, so something may be missing here".into());
    }
    let (write, too_wide) = seen.write();
    let grants: Vec<PathBuf> = write.keys().cloned().collect();
    let read = seen.read(&grants);
    let (net, called) = seen.net();
    remarks.extend(called);
    remarks.extend(seen.were_there(&write));
    // A folder that was made is made for what lies in it.
    for path in too_wide.iter().filter_map(|(path, is_made)| (!is_made).then_some(path)) {
        remarks.push(format!(
            "it makes or removes files right in `{}`, which is too much to let it write; let it \
             use a folder below",
            shown_path(path)
        ));
    }
    let mut named = |path: &Path, is_made: bool| {
        let text = template(path);
        let rest = text.trim_start_matches("{project_path}").trim_start_matches("{user_space}");
        if path.to_str().is_none() || rest.contains(['{', '$', '*', '\n']) {
            remarks.push(format!("`{}` cannot be named in an item", shown_path(path)));
            return None;
        }
        Some(if is_made { format!("{text}/") } else { text })
    };
    let needs = Needs {
        read: read.iter().filter_map(|path| named(path, false)).collect(),
        write: write.iter().filter_map(|(path, is_made)| named(path, *is_made)).collect(),
        net: (net != base.policy.net || net == Net::Hosts).then_some(net),
        hosts: if net == Net::Hosts { hosts(traffic) } else { Vec::new() },
    };
    Needed { needs, remarks }
}

fn shown_path(path: &Path) -> String {
    escape_line(&path.display().to_string())
}

fn is_in(path: &Path, folders: &[PathBuf]) -> bool {
    folders.iter().any(|folder| path.starts_with(folder))
}

/// Returns true if the path lies in one of them.
fn is_inner(path: &Path, all: &BTreeSet<PathBuf>) -> bool {
    path.ancestors().skip(1).any(|above| all.contains(above))
}

/// Without what lies in another of them.
fn outermost(paths: &BTreeSet<PathBuf>) -> BTreeSet<PathBuf> {
    paths.iter().filter(|path| !is_inner(path, paths)).cloned().collect()
}

/// The hosts that were called by name, as an item lists them.
fn hosts(traffic: &Traffic) -> Vec<String> {
    // A service stands there by its name, without a port.
    let is_host = |called: &&HostTraffic| called.calls > 0 && called.host.contains(':');
    let called = traffic.hosts.iter().filter(is_host).map(|called| &called.host);
    // It is needed all the same, though no connection came of it.
    let is_lost =
        |why| matches!(why, Refusal::NotPublic | Refusal::Unresolved | Refusal::Unreachable);
    let lost = traffic.refused.iter().filter(|call| is_lost(call.why) && !call.what.contains(' '));
    let listed = called.chain(lost.map(|call| &call.what)).map(|host| {
        let name = host.strip_suffix(":443").or_else(|| host.strip_suffix(":80"));
        name.unwrap_or(host).to_owned()
    });
    let listed: BTreeSet<_> = listed.collect();
    listed.into_iter().collect()
}

struct Seen<'a> {
    accesses: &'a BTreeSet<Access>,
    traffic: &'a Traffic,
    base: &'a BasePolicy,
    shown: &'a [PathBuf],
}

impl Seen<'_> {
    /// Returns true if each run has a place of its own there.
    fn is_own(&self, path: &Path) -> bool {
        let is_shown = self.shown.iter().any(|s| s.parent().is_some() && path.starts_with(s));
        OWN.iter().any(|own| path.starts_with(own)) && !is_shown
    }

    fn is_wide(&self, path: &Path) -> bool {
        self.base.wide.iter().any(|wide| wide.starts_with(path))
    }

    /// The paths that may be written, and those that are too much; `true` for a folder that is made
    /// when a run begins.
    fn write(&self) -> (BTreeMap<PathBuf, bool>, BTreeMap<PathBuf, bool>) {
        let policy = &self.base.policy;
        let (mut grants, mut files) = (BTreeMap::new(), BTreeSet::new());
        let above = |path: &Path| path.parent().unwrap_or(path).to_owned();
        // Python remembers what it compiled, where it may.
        let is_cache = |path: &Path| {
            is_in(path, &policy.base) && path.iter().any(|part| part == "__pycache__")
        };
        for access in self.accesses {
            let Some(path) = access.path().filter(|path| !self.is_own(path) && !is_cache(path))
            else {
                continue;
            };
            match access {
                Access::Made(_) | Access::Removed(_) => drop(grants.insert(above(path), false)),
                // What is mounted cannot be removed, so then it is its folder that is needed.
                Access::MadeFolder(_)
                    if !self.accesses.contains(&Access::Removed(path.to_owned())) =>
                {
                    grants.entry(path.to_owned()).or_insert(true);
                }
                Access::Wrote(_) => drop(files.insert(path.to_owned())),
                _ => {}
            }
        }
        // A folder that was made and then written into is made all the same.
        for access in self.accesses {
            if let Access::MadeFolder(path) = access
                && let Some(is_made) = grants.get_mut(path)
                && !self.accesses.contains(&Access::Removed(path.clone()))
            {
                *is_made = true;
            }
        }
        let too_wide = grants.extract_if(.., |path, _| self.is_wide(path)).collect();
        let files = files.iter().filter(|file| !grants.keys().any(|g| file.starts_with(g)));
        for file in self.folded(files) {
            grants.entry(file).or_insert(false);
        }
        grants.retain(|path, _| !is_in(path, &policy.write));
        let all: BTreeSet<PathBuf> = grants.keys().cloned().collect();
        grants.retain(|path, _| !is_inner(path, &all));
        (grants, too_wide)
    }

    /// The places that must be readable; none if the default, the project, is enough.
    fn read(&self, write: &[PathBuf]) -> Vec<PathBuf> {
        let BasePolicy { policy, project, reads_project, .. } = self.base;
        let mut given = vec![policy.base.as_slice(), write, policy.write.as_slice()];
        if !reads_project {
            given.push(&policy.read);
        }
        let is_given = |path: &Path| self.is_own(path) || given.iter().any(|all| is_in(path, all));
        let is_hidden = |path: &Path| is_in(path, &policy.hidden);
        let asks = |path: &Path| !is_given(path) && !is_hidden(path);
        let (mut files, mut folders) = (BTreeSet::new(), BTreeSet::new());
        for access in self.accesses {
            match access {
                Access::Read(path) if asks(path) => drop(files.insert(path.clone())),
                Access::Listed(path) if asks(path) => drop(folders.insert(path.clone())),
                _ => {}
            }
        }
        let is_listed = |path: &Path| folders.iter().any(|folder| path.starts_with(folder));
        let alone: Vec<_> = files.iter().filter(|file| !is_listed(file)).collect();
        let folded = self.folded(alone.into_iter());
        folders.extend(folded);
        let mut all = outermost(&folders);
        // A folder above something that is there is there too.
        let there: Vec<PathBuf> =
            all.iter().chain(given.iter().copied().flatten()).cloned().collect();
        for access in self.accesses {
            if let Access::Entered(path) = access
                && asks(path)
                && path != project
                && !is_in(path, &there)
                && !there.iter().any(|there| there.starts_with(path))
            {
                all.insert(path.clone());
            }
        }
        let all: Vec<PathBuf> = outermost(&all).into_iter().collect();
        // As soon as anything is declared, the project is read no more by default.
        match *reads_project && all.iter().all(|path| path.starts_with(project)) {
            true => Vec::new(),
            false => all,
        }
    }

    /// A remark on a file of the project that is granted as such because it was there: a clone may
    /// be without it.
    fn were_there(&self, write: &BTreeMap<PathBuf, bool>) -> Option<String> {
        let is_file = |path: &PathBuf| self.accesses.contains(&Access::Wrote(path.clone()));
        let mut files = write.iter().filter(|(path, is_made)| !**is_made && is_file(path));
        let (path, _) = files.find(|(path, _)| path.starts_with(&self.base.project))?;
        Some(format!(
            "`{}` was there already, so it is granted and not its folder; if it is made by a run, \
             remove it and look again, or a fresh clone is refused",
            shown_path(path)
        ))
    }

    /// Many files of one folder are that folder, unless it is too much.
    fn folded<'f>(&self, files: impl Iterator<Item = &'f PathBuf>) -> Vec<PathBuf> {
        let mut by_folder: BTreeMap<&Path, Vec<&PathBuf>> = BTreeMap::new();
        for file in files {
            by_folder.entry(file.parent().unwrap_or(file)).or_default().push(file);
        }
        let fold = |(folder, files): (&Path, Vec<&PathBuf>)| match files.len() > FILES_NAMED
            && !self.is_wide(folder)
        {
            true => vec![folder.to_owned()],
            false => files.into_iter().cloned().collect(),
        };
        by_folder.into_iter().flat_map(fold).collect()
    }

    /// The network that it needs, and remarks on why it is more than it looks like.
    fn net(&self) -> (Net, Vec<String>) {
        let mut net = Net::None;
        let mut remarks = Vec::new();
        let own = |called: &SocketAddr| {
            self.accesses.iter().any(|access| match access {
                Access::Bound(address) => address.port() == 0 || address.port() == called.port(),
                _ => false,
            })
        };
        for access in self.accesses {
            let needs = match access {
                Access::Socket => Net::Loopback,
                Access::Bound(address) | Access::Called(address, _)
                    if !address.ip().is_loopback() =>
                {
                    Net::Any
                }
                Access::Called(address, true) if address.port() != 0 && !own(address) => {
                    remarks.push(format!(
                        "it called {address}, where another program listens: a loopback of its own \
                         has nobody there, so it would need `net: any`, or, if it speaks HTTP by a \
                         proxy, `net: {{hosts: [\"{address}\"]}}`"
                    ));
                    Net::Any
                }
                Access::Bound(_) | Access::Called(..) => Net::Loopback,
                _ => continue,
            };
            net = net.max(needs);
        }
        let called = hosts(self.traffic);
        let has_services = self.traffic.hosts.iter().any(|called| !called.host.contains(':'));
        if net == Net::Loopback && has_services {
            // Its services answer on a loopback of its own.
            net = Net::None;
        }
        if !called.is_empty() {
            if net == Net::Any {
                let called = called.join("`, `");
                remarks.push(format!(
                    "it called `{called}` through the proxy, and something else past it, so a list \
                     of hosts would not be enough"
                ));
            }
            net = net.max(Net::Hosts);
        }
        let refused = self.traffic.refused.iter().map(|call| {
            let more = match call.why {
                Refusal::NotPublic => "; beside the name a list has to hold the address itself",
                _ => "",
            };
            let why = call.why.meaning();
            format!("it called `{}`, which was refused: {why}{more}", call.what)
        });
        remarks.extend(refused);
        (net, remarks)
    }

    /// Remarks on what it wanted and no declaration gives.
    fn refused(&self) -> Vec<String> {
        let policy = &self.base.policy;
        let said = |access: &Access| match access {
            Access::Refused(path)
                if policy.kept.iter().any(|kept| path.starts_with(&kept.path)) =>
            {
                Some(format!("it wanted to write `{}`, which no sandbox lets it", shown_path(path)))
            }
            Access::Missed(path) if is_in(path, &policy.hidden) => Some(format!(
                "it wanted to read `{}`, where your keys lie, which no sandbox shows",
                shown_path(path)
            )),
            _ => None,
        };
        self.accesses.iter().filter_map(said).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::{Needed, needed};
    use crate::host::{
        Access, Accesses, Caps, Egress, InnerRepositories, KeptPath, Net, Policy, Refusal, Traffic,
    };
    use crate::plan::BasePolicy;

    fn base(reads_project: bool) -> BasePolicy {
        let policy = Policy {
            base: vec!["/usr".into(), "/etc".into()],
            read: vec!["/p".into()],
            write: Vec::new(),
            names: Vec::new(),
            made: Vec::new(),
            partial_read: false,
            partial_write: false,
            own_tmp: true,
            kept: vec![KeptPath { path: "/p/.git/hooks".into(), is_folder: true }],
            hidden: vec!["/h/.ai/config/keys".into()],
            state: Vec::new(),
            new_items: Vec::new(),
            other_items: Vec::new(),
            commits: None,
            abandoned: Vec::new(),
            inner: InnerRepositories::default(),
            net: Net::None,
            egress: Egress::default(),
            caps: Caps::default(),
        };
        BasePolicy {
            policy,
            reads_project,
            project: "/p".into(),
            secrets: Vec::new(),
            wide: vec!["/".into(), "/h".into(), "/h/.config".into(), "/tmp".into()],
        }
    }

    fn learned(accesses: &[Access]) -> Needed {
        learned_with(accesses, &Traffic::default())
    }

    fn learned_with(accesses: &[Access], traffic: &Traffic) -> Needed {
        let accesses = Accesses { all: accesses.iter().cloned().collect(), more: false };
        let shown = ["/".into(), "/tmp/shown".into()];
        needed(&accesses, traffic, &base(true), &shown, &|path| path.display().to_string())
    }

    fn read(path: &str) -> Access {
        Access::Read(path.into())
    }

    fn made(path: &str) -> Access {
        Access::Made(path.into())
    }

    #[test]
    fn what_is_read_table() {
        let listed = |path: &str| Access::Listed(path.into());
        let entered = |path: &str| Access::Entered(path.into());
        let many: Vec<Access> = (0..9).map(|n| read(&format!("/d/{n}"))).collect();
        let rows: [(&[Access], &[&str]); 13] = [
            (&many, &["/d"]),
            (&[read("/usr/lib/x"), read("/proc/1/stat"), read("/dev/null")], &[]),
            (&[read("/p/a"), listed("/p/src")], &[]),
            (&[read("/d/a")], &["/d/a"]),
            (&[read("/d/a"), read("/d/b")], &["/d/a", "/d/b"]),
            (&[read("/d/e/a"), listed("/d")], &["/d"]),
            (
                &[read("/d/a"), read("/p/src/a"), read("/p/src/b")],
                &["/d/a", "/p/src/a", "/p/src/b"],
            ),
            (&[read("/h/.a"), read("/h/.b")], &["/h/.a", "/h/.b"]),
            (&[read("/h/.ai/config/keys/x")], &[]),
            (&[entered("/"), entered("/d"), read("/d/a")], &["/d/a"]),
            (&[entered("/d")], &["/d"]),
            (&[read("/tmp/own"), read("/tmp/shown/a")], &["/tmp/shown/a"]),
            (&[made("/d/new"), read("/d/new")], &[]),
        ];
        for (accesses, want) in rows {
            assert_eq!(learned(accesses).needs.read, want, "{accesses:?}");
        }
    }

    #[test]
    fn what_is_written_table() {
        let folder = |path: &str| Access::MadeFolder(path.into());
        let removed = |path: &str| Access::Removed(path.into());
        let wrote = |path: &str| Access::Wrote(path.into());
        let rows: [(&[Access], &[&str]); 9] = [
            (&[made("/p/out/a")], &["/p/out"]),
            (&[folder("/p/out"), folder("/p/out/x"), made("/p/out/x/a")], &["/p/out/"]),
            (&[folder("/p/out"), removed("/p/out")], &["/p"]),
            (&[wrote("/p/log")], &["/p/log"]),
            (&[wrote("/p/log/a"), wrote("/p/log/b")], &["/p/log/a", "/p/log/b"]),
            (&[wrote("/p/log"), made("/p/new")], &["/p"]),
            (&[wrote("/dev/null"), made("/tmp/own"), made("/tmp/shown/a")], &["/tmp/shown"]),
            (&[folder("/usr/lib/p/__pycache__"), made("/usr/lib/p/__pycache__/a")], &[]),
            (&[removed("/p/a/b"), made("/p/a/b")], &["/p/a"]),
        ];
        for (accesses, want) in rows {
            assert_eq!(learned(accesses).needs.write, want, "{accesses:?}");
        }
    }

    #[test]
    fn what_of_the_network_table() {
        let at = |text: &str| text.parse().unwrap();
        let bound = |text| Access::Bound(at(text));
        let called = |text, there| Access::Called(at(text), there);
        let rows: [(&[Access], Option<Net>); 7] = [
            (&[], None),
            (&[Access::Socket], Some(Net::Loopback)),
            (&[bound("127.0.0.1:80"), called("127.0.0.1:80", true)], Some(Net::Loopback)),
            (&[bound("[::1]:0"), called("[::1]:4711", true)], Some(Net::Loopback)),
            (&[called("127.0.0.1:5432", false)], Some(Net::Loopback)),
            (&[called("127.0.0.53:53", true)], Some(Net::Any)),
            (&[called("192.0.2.1:443", false)], Some(Net::Any)),
        ];
        for (accesses, want) in rows {
            assert_eq!(learned(accesses).needs.net, want, "{accesses:?}");
        }
    }

    #[test]
    fn what_was_called_by_name_is_a_list_of_hosts() {
        let mut traffic = Traffic::default();
        for (host, calls) in [("b.example.org:443", 2), ("a.example.org:80", 1), ("c.org:8443", 1)]
        {
            traffic.add(host, calls, 1, 1);
        }
        let through = learned_with(&[Access::Socket], &traffic);
        assert_eq!(through.needs.net, Some(Net::Hosts));
        assert_eq!(through.needs.hosts, ["a.example.org", "b.example.org", "c.org:8443"]);
        let past = Access::Called("192.0.2.1:443".parse().unwrap(), false);
        let past = learned_with(&[past], &traffic);
        assert_eq!((past.needs.net, past.needs.hosts.len()), (Some(Net::Any), 0));
        assert!(past.remarks[0].contains("past it"), "{:?}", past.remarks);
        traffic.refuse("private.example.org:80", Refusal::NotPublic);
        let refused = learned_with(&[], &traffic);
        assert!(refused.remarks[0].contains("private.example.org:80"), "{:?}", refused.remarks);
        // Nothing wider than the host, though nothing came of the call.
        let mut lost = Traffic::default();
        lost.refuse("mirror.example.org:443", Refusal::NotPublic);
        let Needed { needs, remarks } = learned_with(&[Access::Socket], &lost);
        assert_eq!((needs.net, needs.hosts), (Some(Net::Hosts), vec!["mirror.example.org".into()]));
        assert!(remarks[0].contains("the address itself"), "{remarks:?}");
    }

    #[test]
    fn what_no_declaration_gives_is_said() {
        let refused = Access::Refused(PathBuf::from("/p/.git/hooks/x"));
        let missed = Access::Missed(Path::new("/h/.ai/config/keys/x").into());
        let Needed { needs, remarks } = learned(&[refused, missed, made("/h/x")]);
        assert_eq!(needs.write, [""; 0], "a whole home would be refused");
        let words = ["which no sandbox lets it", "where your keys lie", "too much to let it"];
        assert_eq!(remarks.len(), words.len(), "{remarks:?}");
        assert!(words.iter().all(|word| remarks.iter().any(|r| r.contains(word))), "{remarks:?}");
        let file = learned(&[Access::Wrote("/p/build/a".into())]);
        assert!(file.remarks[0].contains("was there already"), "{file:?}");
        let folder = |path: &str| Access::MadeFolder(path.into());
        let Needed { needs, remarks } = learned(&[folder("/h/.config"), folder("/h/.config/a")]);
        assert_eq!((needs.write, remarks), (vec!["/h/.config/a/".to_owned()], vec![]));
        let named = learned(&[made("/d/{x}/a")]);
        assert!(named.needs.write.is_empty() && named.remarks[0].contains("cannot be named"));
    }
}
