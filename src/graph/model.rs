//! Nodes and edges, made of what is in reach.

use std::collections::{HashMap, HashSet};

use crate::diagnostic::Diagnostic;
use crate::id::{Fingerprint, Kind, Ref, Space};
use crate::parse::{DeclaredReach, Risk};
use crate::plan::Survey;
use crate::rye::{ItemCopy, Reach, ReachedItem, SignedBy};

/// The kind of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Sort {
    Tool,
    Runtime,
    Primitive,
    Directive,
    Knowledge,
    Config,
    File,
    Program,
    Packages,
    /// An item that was asked for and cannot be had.
    Missing,
}

impl Sort {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Tool => "tool",
            Self::Runtime => "runtime",
            Self::Primitive => "primitive",
            Self::Directive => "directive",
            Self::Knowledge => "knowledge",
            Self::Config => "config",
            Self::File => "file",
            Self::Program => "program",
            Self::Packages => "packages",
            Self::Missing => "missing",
        }
    }
}

/// Who stands behind a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Standing {
    You,
    DevKey,
    Publisher,
    Trusted,
    /// The signature of the item that lists it.
    Covered,
    /// It has no signature: a program or a package of this machine.
    Machine,
    /// Dev mode lets it through.
    Unverified,
    Refused,
}

impl Standing {
    pub(super) const ALL: [Self; 8] = [
        Self::You,
        Self::DevKey,
        Self::Publisher,
        Self::Trusted,
        Self::Covered,
        Self::Machine,
        Self::Unverified,
        Self::Refused,
    ];

    /// A sign that stands beside the word.
    pub(super) fn mark(self) -> &'static str {
        match self {
            Self::You | Self::Publisher | Self::Trusted => "✓",
            Self::Covered => "+",
            Self::Machine => "○",
            Self::DevKey => "~",
            Self::Unverified => "!",
            Self::Refused => "✗",
        }
    }

    pub(super) fn word(self) -> &'static str {
        match self {
            Self::You => "signed by you",
            Self::DevKey => "signed with the dev key",
            Self::Publisher => "signed by rye's publisher",
            Self::Trusted => "signed by a key you trust",
            Self::Covered => "covered by its item's signature",
            Self::Machine => "of this machine, not signed",
            Self::Unverified => "let through by dev mode",
            Self::Refused => "refused",
        }
    }

    /// A name for style sheets.
    pub(super) fn class(self) -> &'static str {
        match self {
            Self::You => "you",
            Self::DevKey => "dev",
            Self::Publisher => "publisher",
            Self::Trusted => "trusted",
            Self::Covered => "covered",
            Self::Machine => "machine",
            Self::Unverified => "unverified",
            Self::Refused => "refused",
        }
    }
}

/// The meaning of an edge. The order is that of a node's edges.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Tie {
    RunsThrough,
    Extends,
    Config,
    Module,
    File,
    Program,
    Packages,
    Shadows,
}

impl Tie {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::RunsThrough => "runs through",
            Self::Extends => "extends",
            Self::Config => "config",
            Self::Module => "module",
            Self::File => "file",
            Self::Program => "program",
            Self::Packages => "packages",
            Self::Shadows => "shadows",
        }
    }

    /// Nothing of it takes part in a run.
    pub(super) fn is_idle(self) -> bool {
        self == Self::Shadows
    }
}

/// One part.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub(super) struct Node {
    pub(super) id: usize,
    /// The ref of an item, the path of a file or a program.
    pub(super) label: String,
    pub(super) sort: Sort,
    pub(super) standing: Standing,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) space: Option<Space>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) digest: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) signer: Option<Fingerprint>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) owner: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reach: Option<DeclaredReach>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) risk: Option<Risk>,
    /// Why it is refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) code: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) help: Option<String>,
}

impl Node {
    fn new(sort: Sort, standing: Standing, label: String) -> Self {
        Self {
            id: 0,
            label,
            sort,
            standing,
            space: None,
            path: None,
            version: None,
            digest: None,
            signer: None,
            owner: None,
            reach: None,
            risk: None,
            code: None,
            error: None,
            help: None,
        }
    }

    fn refused(self, why: &Diagnostic) -> Self {
        Self {
            standing: Standing::Refused,
            code: Some(why.code.name()),
            error: Some(why.message.clone()),
            help: why.help.clone(),
            ..self
        }
    }

    /// The words behind the mark: the code of a refusal, the owner of a trusted key.
    pub(super) fn verdict(&self) -> String {
        match (self.standing, &self.owner, self.code) {
            (Standing::Refused, _, Some(code)) => format!("refused: {code}"),
            (Standing::Trusted, Some(owner), _) => format!("signed by `{owner}`"),
            (standing, ..) => standing.word().to_owned(),
        }
    }
}

/// From the node that uses to the one that is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
pub(super) struct Edge {
    pub(super) from: usize,
    pub(super) tie: Tie,
    pub(super) to: usize,
}

/// See the module.
///
/// Invariant: a node's id is its place; `edges` is sorted and names nodes that are there.
#[derive(Debug, Default, PartialEq, Eq, serde::Serialize)]
pub(crate) struct Graph {
    /// The nodes that were asked for.
    pub(super) roots: Vec<usize>,
    pub(super) nodes: Vec<Node>,
    pub(super) edges: Vec<Edge>,
    #[serde(skip)]
    known: HashMap<String, usize>,
}

impl Graph {
    /// The picture of what is in reach, in the order given.
    pub(crate) fn from_reached<'r>(reached: impl IntoIterator<Item = &'r Reach>) -> Self {
        let mut graph = Self::default();
        let mut roots = HashSet::new();
        for reach in reached {
            let root = graph.add(reach);
            if roots.insert(root) {
                graph.roots.push(root);
            }
        }
        let Self { nodes, edges, .. } = &mut graph;
        let rank = |edge: &Edge| (edge.from, edge.tie, &nodes[edge.to].label, edge.to);
        edges.sort_by(|a, b| rank(a).cmp(&rank(b)));
        edges.dedup();
        graph
    }

    /// The edges from a node to what it uses, in order.
    pub(super) fn uses(&self, id: usize) -> &[Edge] {
        let first = self.edges.partition_point(|edge| edge.from < id);
        let last = self.edges.partition_point(|edge| edge.from <= id);
        &self.edges[first..last]
    }

    fn add(&mut self, reach: &Reach) -> usize {
        let root = match (reach.links.first(), &reach.refused) {
            (Some(first), _) => self.item(first),
            (None, why) => {
                let wins = reach.copies.iter().find(|copy| copy.wins);
                let bare = Node::new(
                    sort_of(&reach.item, None),
                    Standing::Refused,
                    reach.item.to_string(),
                );
                let space = wins.and_then(|copy| copy.space);
                let path =
                    wins.and_then(|copy| copy.place.as_ref()).map(|place| place.path.clone());
                let node = Node { space, path, ..bare };
                let node = why.as_ref().map_or(node.clone(), |why| node.refused(why));
                let key = item_key(&reach.item, node.space);
                self.node(key, node)
            }
        };
        let tie = if reach.item.kind == Kind::Directive { Tie::Extends } else { Tie::RunsThrough };
        let mut last = root;
        for (at, link) in reach.links.iter().enumerate() {
            let id = self.item(link);
            if at > 0 {
                self.tie(last, tie, id);
            }
            last = id;
        }
        if let Some(stop) = &reach.stop {
            let named = stop.named.as_ref().map_or_else(|| "its end".to_owned(), Ref::to_string);
            let key = format!("stop {last} {named}");
            self.missing(last, tie, key, named, &stop.why);
        }
        for beside in &reach.beside {
            let is_config = beside.detail.item.kind == Kind::Config;
            let id = self.item(beside);
            self.tie(root, if is_config { Tie::Config } else { Tie::Module }, id);
        }
        if let Some(why) = &reach.beside_refused {
            let named = why.item.clone().unwrap_or_else(|| "its modules and config".into());
            let is_config = named.starts_with("config:");
            let key = format!("beside {root}");
            self.missing(root, if is_config { Tie::Config } else { Tie::Module }, key, named, why);
        }
        if let Some(survey) = &reach.survey {
            self.machine(root, survey);
        }
        self.shadows(root, reach);
        root
    }

    fn item(&mut self, reached: &ReachedItem) -> usize {
        let detail = &reached.detail;
        let standing = match reached.by {
            SignedBy::You => Standing::You,
            SignedBy::DevKey => Standing::DevKey,
            SignedBy::Publisher => Standing::Publisher,
            SignedBy::Trusted => Standing::Trusted,
            SignedBy::Nobody => Standing::Unverified,
        };
        let sort = sort_of(&detail.item, reached.role.as_deref());
        let bare = Node::new(sort, standing, detail.item.to_string());
        let node = Node {
            space: Some(detail.space),
            path: Some(detail.path.clone()),
            version: detail.version.clone(),
            digest: Some(detail.digest.to_string()),
            signer: detail.signer,
            owner: detail.owner.clone(),
            reach: reached.reach.clone(),
            risk: reached.risk,
            ..bare
        };
        let id = self.node(item_key(&detail.item, Some(detail.space)), node);
        let folder = detail.path.rsplit_once('/').map_or("", |(folder, _)| folder);
        for (path, digest) in &reached.files {
            // Tools of one folder share what lies beside them.
            let key = format!("file {} {folder} {path} {digest}", detail.space);
            let file = Node::new(Sort::File, Standing::Covered, path.clone());
            let (space, digest) = (Some(detail.space), Some(digest.to_string()));
            let file = self.node(key, Node { space, digest, ..file });
            self.tie(id, Tie::File, file);
        }
        id
    }

    fn machine(&mut self, root: usize, survey: &Result<Survey, Diagnostic>) {
        let survey = match survey {
            Ok(survey) => survey,
            Err(why) => {
                let label = why.item.clone().unwrap_or_else(|| "a run of it".into());
                let key = format!("survey {root}");
                return self.missing(root, Tie::Program, key, label, why);
            }
        };
        if let Some(chosen) = survey.program() {
            let (path, real) = (chosen.path.display().to_string(), chosen.look.real());
            let node = Node::new(Sort::Program, Standing::Machine, path.clone());
            let real = (chosen.path != real).then(|| real.display().to_string());
            let id = self.node(format!("program {path}"), Node { path: real, ..node });
            self.tie(root, Tie::Program, id);
        }
        for folder in survey.external() {
            let path = folder.display().to_string();
            let node = Node::new(Sort::Packages, Standing::Machine, path.clone());
            let id = self.node(format!("packages {path}"), node);
            self.tie(root, Tie::Packages, id);
        }
    }

    fn shadows(&mut self, root: usize, reach: &Reach) {
        let answers = reach.copies.iter().position(|copy| copy.wins);
        for (at, copy) in reach.copies.iter().enumerate().filter(|(_, copy)| !copy.wins) {
            // A nearer copy that does not answer was passed over: it is the same file.
            if copy.verdict.is_ok() && answers.is_some_and(|answers| at < answers) {
                continue;
            }
            // Said with the item itself.
            if answers.is_none() && copy.verdict.as_ref().err() == reach.refused.as_ref() {
                continue;
            }
            let id = self.copy(&reach.item, copy);
            self.tie(root, Tie::Shadows, id);
        }
    }

    fn copy(&mut self, item: &Ref, copy: &ItemCopy) -> usize {
        let bare = Node::new(sort_of(item, None), Standing::Refused, item.to_string());
        let place = copy.place.as_ref();
        let path = place.map(|place| place.path.clone());
        let node = match &copy.verdict {
            Err(why) => Node { space: copy.space, path, ..bare }.refused(why),
            Ok(detail) => {
                let standing = match (&copy.document, detail.integrity, detail.space) {
                    (_, crate::verify::Integrity::Unverified, _) => Standing::Unverified,
                    (Some(_), ..) => Standing::Trusted,
                    (None, _, Space::System) => Standing::Publisher,
                    (None, ..) => Standing::You,
                };
                Node {
                    standing,
                    space: Some(detail.space),
                    path: Some(detail.path.clone()),
                    version: detail.version.clone(),
                    digest: Some(detail.digest.to_string()),
                    signer: detail.signer,
                    owner: detail.owner.clone(),
                    ..bare
                }
            }
        };
        let key = format!("{} {}", item_key(item, node.space), node.path.as_deref().unwrap_or(""));
        let known = item_key(item, node.space);
        match self.known.get(&known) {
            Some(id) if node.standing != Standing::Refused => *id,
            _ => self.node(key, node),
        }
    }

    fn missing(&mut self, from: usize, tie: Tie, key: String, label: String, why: &Diagnostic) {
        let node = Node::new(Sort::Missing, Standing::Refused, label).refused(why);
        let id = self.node(key, node);
        self.tie(from, tie, id);
    }

    fn node(&mut self, key: String, node: Node) -> usize {
        let next = self.nodes.len();
        let id = *self.known.entry(key).or_insert(next);
        if id == next {
            self.nodes.push(Node { id, ..node });
        } else if self.nodes[id].sort == Sort::Tool && node.sort != Sort::Tool {
            // A link says what it is where it is read whole.
            self.nodes[id].sort = node.sort;
        }
        id
    }

    fn tie(&mut self, from: usize, tie: Tie, to: usize) {
        self.edges.push(Edge { from, tie, to });
    }
}

fn item_key(item: &Ref, space: Option<Space>) -> String {
    format!("item {item} {}", space.map_or("", Space::as_str))
}

fn sort_of(item: &Ref, role: Option<&str>) -> Sort {
    match (item.kind, role) {
        (Kind::Tool, Some("runtime")) => Sort::Runtime,
        (Kind::Tool, Some("primitive")) => Sort::Primitive,
        (Kind::Tool, _) => Sort::Tool,
        (Kind::Directive, _) => Sort::Directive,
        (Kind::Knowledge, _) => Sort::Knowledge,
        (Kind::Config, _) => Sort::Config,
    }
}
