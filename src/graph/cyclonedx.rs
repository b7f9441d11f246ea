//! The graph as an inventory: a CycloneDX document, which tools of other houses read.
//!
//! The format is that of <https://cyclonedx.org/docs/1.6/json/>. What it has no word for stands in
//! properties whose names begin with `rye:`.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use serde::Serialize;

use super::model::{Edge, Graph, Node, Sort, Standing, Tie};
use crate::base::Digest;
use crate::parse::DeclaredReach;

/// A CycloneDX document of version 1.6.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Inventory {
    #[serde(rename = "$schema")]
    schema: &'static str,
    bom_format: &'static str,
    spec_version: &'static str,
    /// How often the document was changed; each is made anew.
    version: u32,
    metadata: Metadata,
    components: Vec<Component>,
    dependencies: Vec<Dependency>,
}

#[derive(Debug, Serialize)]
struct Metadata {
    timestamp: String,
    tools: Tools,
    component: Component,
}

#[derive(Debug, Serialize)]
struct Tools {
    components: Vec<Component>,
}

#[derive(Debug, Default, Serialize)]
struct Component {
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(rename = "bom-ref", skip_serializing_if = "Option::is_none")]
    reference: Option<String>,
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    publisher: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    scope: Option<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    hashes: Vec<Hash>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    properties: Vec<Property>,
}

#[derive(Debug, Serialize)]
struct Hash {
    alg: &'static str,
    content: String,
}

#[derive(Debug, Serialize)]
struct Property {
    name: String,
    value: String,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Dependency {
    #[serde(rename = "ref")]
    of: String,
    depends_on: Vec<String>,
}

/// The title of an inventory.
pub(crate) struct InventoryTitle<'a> {
    /// The name of what the roots belong to, such as the folder of the project.
    pub(crate) name: &'a str,
    /// As `YYYY-MM-DDTHH:MM:SSZ`.
    pub(crate) made_at: String,
}

impl Graph {
    /// Every node as a component, and every edge of what takes part in a run as a dependency.
    /// `digest` gives that of a program of this machine, where it can be read.
    pub(crate) fn to_inventory(
        &self,
        title: &InventoryTitle<'_>,
        digest: &dyn Fn(&Path) -> Option<Digest>,
    ) -> Inventory {
        let references = self.references();
        // That a run cannot start on this machine, such as without a secret, is not a part.
        let is_part = |id: usize| {
            let is_absent = |edge: &Edge| edge.to == id && edge.tie == Tie::Program;
            self.nodes[id].sort != Sort::Missing || !self.edges.iter().any(is_absent)
        };
        let used: HashSet<usize> =
            self.edges.iter().filter(|edge| !edge.tie.is_idle()).map(|edge| edge.to).collect();
        let takes_part = |node: &Node| used.contains(&node.id) || self.roots.contains(&node.id);
        let component = |node: &Node| {
            let hash = match node.sort {
                Sort::Program => digest(Path::new(node.path.as_ref().unwrap_or(&node.label)))
                    .map(|digest| digest.to_string()),
                _ => node.digest.clone(),
            };
            Component {
                reference: Some(references[node.id].clone()),
                version: node.version.clone(),
                // A program of another house knows no `you`.
                publisher: node.owner.clone().filter(|_| node.standing != Standing::You),
                scope: (!takes_part(node)).then_some("excluded"),
                hashes: hash.map(|content| Hash { alg: "SHA-256", content }).into_iter().collect(),
                properties: properties(node),
                ..Component::new(kind(node.sort), &node.label)
            }
        };
        let whole = "rye:inventory";
        let roots = self.roots.iter().map(|root| references[*root].clone()).collect();
        let first = Dependency { of: whole.to_owned(), depends_on: roots };
        let parts = || self.nodes.iter().filter(|node| is_part(node.id));
        let takes = |edge: &&Edge| !edge.tie.is_idle() && is_part(edge.to);
        let others = parts().map(|node| Dependency {
            of: references[node.id].clone(),
            depends_on: (self.uses(node.id).iter().filter(takes))
                .map(|edge| references[edge.to].clone())
                .collect(),
        });
        let rye = Component {
            version: Some(env!("CARGO_PKG_VERSION").to_owned()),
            ..Component::new("application", "rye")
        };
        Inventory {
            schema: "http://cyclonedx.org/schema/bom-1.6.schema.json",
            bom_format: "CycloneDX",
            spec_version: "1.6",
            version: 1,
            metadata: Metadata {
                timestamp: title.made_at.clone(),
                tools: Tools { components: vec![rye] },
                component: Component {
                    reference: Some(whole.to_owned()),
                    ..Component::new("application", title.name)
                },
            },
            dependencies: std::iter::once(first).chain(others).collect(),
            components: parts().map(component).collect(),
        }
    }

    /// A name for each node, by which the others point to it; the same for the same items.
    fn references(&self) -> Vec<String> {
        let mut times: HashMap<String, usize> = HashMap::new();
        let name = |node: &Node| match node.space {
            Some(space) => format!("{}@{space}", node.label),
            None => node.label.clone(),
        };
        let mut count = |name: String| {
            let seen = times.entry(name.clone()).or_default();
            *seen += 1;
            if *seen == 1 { name } else { format!("{name}#{seen}") }
        };
        self.nodes.iter().map(|node| count(name(node))).collect()
    }
}

impl Component {
    fn new(kind: &'static str, name: &str) -> Self {
        Self { kind, name: name.to_owned(), ..Self::default() }
    }
}

/// The type of a component, in the words of the format.
fn kind(sort: Sort) -> &'static str {
    match sort {
        Sort::Tool | Sort::Missing => "application",
        Sort::Runtime | Sort::Primitive | Sort::Program => "platform",
        Sort::Directive | Sort::Knowledge | Sort::Config => "data",
        Sort::File => "file",
        Sort::Packages => "library",
    }
}

fn properties(node: &Node) -> Vec<Property> {
    let said = |name: &str, value: Option<String>| {
        value.map(|value| Property { name: format!("rye:{name}"), value })
    };
    let is_item = node.digest.is_some() && node.sort != Sort::File;
    let covers = is_item.then(|| "the file without its signature line".to_owned());
    let fixed = [
        said("kind", Some(node.sort.word().to_owned())),
        said("standing", Some(node.verdict())),
        said("signer", node.signer.map(|key| key.to_string())),
        said("space", node.space.map(|space| space.to_string())),
        said("path", node.path.clone()),
        said("hash-covers", covers),
        said("risk-tier", node.risk.map(|risk| risk.tier.as_str().to_owned())),
        said("risk-because", node.risk.map(|risk| risk.because.to_owned())),
        said("code", node.code.map(str::to_owned)),
        said("error", node.error.clone().filter(|_| node.standing == Standing::Refused)),
    ];
    let reach = node.reach.iter().flat_map(DeclaredReach::rows);
    let reach = reach.map(|(what, value)| said(&format!("reach:{what}"), Some(value)));
    fixed.into_iter().chain(reach).flatten().collect()
}
