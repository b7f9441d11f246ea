//! How much harm an item could do with what it may touch: a tier that rye works out, and that no
//! author writes down.
//!
//! The names of the tiers are those of the OWASP Agentic Skills Top 10 (questions 4.5 and 9.2).

use std::fmt;

use serde::Serialize;

use super::DeclaredReach;
use crate::host::Net;
use crate::id::{Kind, Ref};
use crate::parse::item::{Item, parse};
use crate::space::HeaderStyle;

/// How much harm an item could do; the least first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) enum RiskTier {
    /// Safe: it touches nothing but itself.
    L0,
    /// Low: it reads the project, or writes what goes with the run.
    L1,
    /// Elevated: it changes the project, talks to other machines, or is given values of this one.
    L2,
    /// Destructive: it could change or give away what cannot be taken back.
    L3,
}

impl RiskTier {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::L0 => "L0",
            Self::L1 => "L1",
            Self::L2 => "L2",
            Self::L3 => "L3",
        }
    }

    fn word(self) -> &'static str {
        match self {
            Self::L0 => "safe",
            Self::L1 => "low",
            Self::L2 => "elevated",
            Self::L3 => "destructive",
        }
    }
}

/// As people read it, such as `L2 elevated`.
impl fmt::Display for RiskTier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.as_str(), self.word())
    }
}

/// The tier of an item, and the gravest of what puts it there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(into = "RiskFields")]
pub(crate) struct Risk {
    pub(crate) tier: RiskTier,
    pub(crate) because: &'static str,
}

/// A risk as data.
#[derive(Serialize)]
struct RiskFields {
    tier: RiskTier,
    name: &'static str,
    because: &'static str,
}

impl From<Risk> for RiskFields {
    fn from(Risk { tier, because }: Risk) -> Self {
        Self { tier, name: tier.word(), because }
    }
}

/// As people read it, such as `L2 elevated: it writes in the project`.
impl fmt::Display for Risk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.tier, self.because)
    }
}

/// The facts that the tier of an item depends on, beside what its links declare.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RiskBasis {
    pub(crate) kind: Kind,
    /// The network of a process whose links say nothing of it; that is up to its space.
    pub(crate) default_net: Net,
    /// The person's policy lets it run without a sandbox.
    pub(crate) is_let_out: bool,
    /// A link of its chain is missing or cannot be read.
    pub(crate) is_cut: bool,
}

/// One link of a chain as its tier is worked out from it.
#[derive(Debug, Clone)]
pub(crate) struct RiskLink {
    pub(crate) reach: DeclaredReach,
    /// The item that it runs through, or extends.
    pub(crate) next: Option<Ref>,
    /// It is a runtime or a primitive: others run through it, and it is not run by itself.
    pub(crate) is_for_others: bool,
}

impl RiskLink {
    /// Of what an item declares.
    pub(crate) fn new(item: &Item) -> Self {
        let next = match item {
            Item::Tool(tool) => tool.executor.clone().map(|id| Ref::new(Kind::Tool, id)),
            Item::Directive(directive) => {
                directive.extends.clone().map(|id| Ref::new(Kind::Directive, id))
            }
            Item::Knowledge(_) | Item::Config(_) => None,
        };
        let is_for_others = matches!(item, Item::Tool(tool) if tool.is_link());
        Self { reach: item.reach(), next, is_for_others }
    }

    /// As [`Self::new`], of a text that is neither signed nor verified, for a reader who decides
    /// about it; `None` where it does not parse.
    pub(crate) fn of_unverified(kind: Kind, text: &str, style: &HeaderStyle) -> Option<Self> {
        parse(kind, style, text, String::new).ok().map(|item| Self::new(&item))
    }
}

/// The end of a chain that starts no process: rye itself sends the request.
const HTTP_CLIENT: &str = "rye/core/primitives/http_client";
/// As [`HTTP_CLIENT`], where the links name a `url`.
const MCP: &str = "rye/core/primitives/mcp";
/// The end of a chain that starts no process of its own: a snippet, held to computing.
const CODE: &str = "rye/core/primitives/code";

const PROJECT: &str = "{project_path}";

/// The reach of a chain in effect, each thing with the extents that make a difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Touched {
    net: Network,
    reads: Reads,
    writes: Writes,
    /// Variables of the host, secret or not: only their author says which they are.
    is_given_variables: bool,
    /// It is asked about calls of other tools, and sees what they were given.
    sees_calls: bool,
    /// It is a snippet that calls tools, each of which may touch what it says itself.
    calls_tools: bool,
    is_let_out: bool,
    is_cut: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Network {
    None,
    Loopback,
    /// Programs of this machine reach it.
    Reached,
    /// Servers that the person lists for it.
    Listed,
    /// Servers that the item names.
    Named,
    Any,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Reads {
    /// Its own files, and the system as every program may.
    Own,
    Project,
    Machine,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Writes {
    /// The folder that goes with the run.
    Private,
    Project,
    /// Outside of the project, its repository, or new items.
    Lasting,
}

impl Risk {
    /// The risk of an item, by what the links of its chain declare, its own first. More reach never
    /// gives a lower tier.
    pub(crate) fn new(links: &[DeclaredReach], basis: RiskBasis) -> Self {
        match basis.kind {
            Kind::Tool => Touched::by_tool(links, basis).risk(),
            Kind::Directive => of_directive(links, basis),
            Kind::Knowledge | Kind::Config => {
                Self { tier: RiskTier::L0, because: "it is read and touches nothing" }
            }
        }
    }
}

impl Touched {
    fn by_tool(links: &[DeclaredReach], basis: RiskBasis) -> Self {
        let all = |of: fn(&DeclaredReach) -> &Vec<String>| links.iter().flat_map(of);
        let end = links.iter().rev().find_map(|link| link.runtime.as_deref());
        let has_url = links.iter().any(|link| link.url.is_some());
        let is_process = match end {
            Some(HTTP_CLIENT | CODE) => false,
            Some(MCP) => !has_url,
            _ => true,
        };
        let calls = links.iter().any(|link| !link.services.is_empty());
        let is_snippet = end == Some(CODE);
        let asks = if has_url || calls || !(is_process || is_snippet) {
            Network::Named
        } else {
            Network::None
        };
        let by_default = if calls { Net::Hosts } else { basis.default_net };
        let declared = links.iter().find_map(|link| link.net.as_ref());
        let net = match declared {
            Some(declared) if declared.hosts_from.is_some() => Network::Listed,
            Some(declared) if declared.net == Net::Loopback && !declared.listen.is_empty() => {
                Network::Reached
            }
            Some(declared) => network(declared.net),
            None => network(by_default),
        };
        let net = if is_process { net } else { Network::None };
        // What the links declare takes the place of the project, which is read by default.
        let by_default = is_process && !links.iter().any(|link| link.declares_reads);
        let reads = if by_default { Reads::Project } else { Reads::Own };
        let reads = all(|link| &link.reads).map(|path| read(path)).fold(reads, Reads::max);
        let writes = all(|link| &link.writes).map(|path| written(path)).max();
        Self {
            net: net.max(asks),
            reads,
            writes: writes.unwrap_or(Writes::Private),
            is_given_variables: all(|link| &link.secrets).next().is_some()
                || all(|link| &link.env).next().is_some(),
            sees_calls: links.iter().any(|link| link.hook.is_some()),
            calls_tools: all(|link| &link.calls).next().is_some(),
            is_let_out: is_process && basis.is_let_out,
            is_cut: basis.is_cut,
        }
    }

    /// The table of `knowledge:rye/risk`, the gravest first; the first row that holds counts.
    fn risk(&self) -> Risk {
        let gives_away = self.net == Network::Any;
        let rows = [
            (self.is_let_out, RiskTier::L3, "your policy lets it run without a sandbox"),
            (self.is_cut, RiskTier::L3, "what it runs through is missing or cannot be read"),
            (
                self.writes == Writes::Lasting,
                RiskTier::L3,
                "it writes outside of the project, in its repository, or new items",
            ),
            (
                gives_away && self.is_given_variables,
                RiskTier::L3,
                "it is given variables of the host and may send them anywhere",
            ),
            (
                gives_away && self.reads == Reads::Machine,
                RiskTier::L3,
                "it reads outside of the project and may send that anywhere",
            ),
            (
                gives_away && self.sees_calls,
                RiskTier::L3,
                "it sees calls of other tools and may send them anywhere",
            ),
            (gives_away, RiskTier::L2, "it may talk to any server"),
            (self.net == Network::Named, RiskTier::L2, "it talks to servers that it names"),
            (self.net == Network::Listed, RiskTier::L2, "it talks to servers that you list"),
            (self.net == Network::Reached, RiskTier::L2, "programs of this machine may reach it"),
            (self.is_given_variables, RiskTier::L2, "it is given variables of the host"),
            (self.writes == Writes::Project, RiskTier::L2, "it writes in the project"),
            (self.reads == Reads::Machine, RiskTier::L2, "it reads outside of the project"),
            (self.calls_tools, RiskTier::L2, "it calls other tools"),
            (self.sees_calls, RiskTier::L1, "it sees calls of other tools"),
            (self.reads == Reads::Project, RiskTier::L1, "it reads the project"),
            (self.net == Network::Loopback, RiskTier::L1, "it has a network of its own"),
        ];
        let row = rows.into_iter().find(|(holds, ..)| *holds);
        let (_, tier, because) = row.unwrap_or((true, RiskTier::L0, "it reads its own files only"));
        Risk { tier, because }
    }
}

fn network(net: Net) -> Network {
    match net {
        Net::None => Network::None,
        Net::Loopback => Network::Loopback,
        Net::Hosts => Network::Named,
        Net::Any => Network::Any,
    }
}

/// Absolute paths and those of the home lie outside: where the project lies, no item knows.
fn read(path: &str) -> Reads {
    if is_in_project(path) { Reads::Project } else { Reads::Machine }
}

fn written(path: &str) -> Writes {
    if is_in_project(path) { Writes::Project } else { Writes::Lasting }
}

fn is_in_project(path: &str) -> bool {
    let rest = path.strip_prefix(PROJECT);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The shipped items of the highest tier, as a permission names them.
const SHIPPED_L3: [&str; 5] = [
    "rye.bash",
    "rye.core.create_directive",
    "rye.core.create_tool",
    "rye.file-system.write",
    "rye.git.commit",
];

/// A directive touches nothing itself; it has a model do so, as far as it asks for that.
fn of_directive(links: &[DeclaredReach], basis: RiskBasis) -> Risk {
    let asks = || links.iter().flat_map(|link| &link.permissions).map(String::as_str);
    // A pattern whose first part is open means items of any publisher.
    let is_open = |asked: &str| {
        let of = asked.strip_prefix("rye.execute.");
        of.is_some_and(|of| {
            let mut parts = of.split('.');
            parts.next().is_none_or(|kind| kind.contains('*'))
                || parts.next().is_none_or(|part| part.contains('*'))
        })
    };
    let is_destructive = |asked: &str| {
        let item = asked.strip_prefix("rye.execute.").and_then(|of| Some(of.split_once('.')?.1));
        item.is_some_and(|item| {
            SHIPPED_L3.contains(&item) || (item.starts_with("rye.") && item.contains('*'))
        })
    };
    let is = |what: &'static str| move |asked: &str| asked.starts_with(what);
    let (tier, because) = if basis.is_cut {
        (RiskTier::L3, "what it extends is missing or cannot be read")
    } else if asks().any(is("rye.sign.")) {
        (RiskTier::L3, "it asks to sign")
    } else if asks().any(is_open) {
        (RiskTier::L3, "it asks to run items of anybody")
    } else if asks().any(is_destructive) {
        (RiskTier::L3, "it asks to run a shipped item that is destructive itself")
    } else if asks().any(is("rye.execute.")) {
        (RiskTier::L2, "it asks to run items that it names")
    } else if asks().next().is_some() {
        (RiskTier::L1, "it asks to read items")
    } else {
        (RiskTier::L0, "it asks for nothing")
    };
    Risk { tier, because }
}

#[cfg(test)]
#[path = "risk_tests.rs"]
mod tests;
