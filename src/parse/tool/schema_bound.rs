//! How much work a JSON Schema can ask for, before anything is checked against it.
//!
//! A reference costs as much as its target, each time that it is followed: a schema of a few lines
//! can name itself twice in each of forty steps. So the targets of references are counted, as with
//! YAML aliases. A reference that leads back to itself counts once, because each turn takes a step
//! into the value.

use std::collections::{BTreeSet, HashMap, HashSet};

use serde_json::{Map, Value};

use crate::base::limits::SCHEMA_DEPTH;
use crate::base::text::percent_decoded;

/// Most steps of a JSON Schema once its references are followed: a small file can name itself over
/// and over. The largest published schemas have some ten thousand.
const SCHEMA_NODES: u64 = 100_000;

/// Keywords whose value is one schema, applied to the value itself.
const SAME: [&str; 4] = ["not", "if", "then", "else"];
/// Keywords whose value is a list of schemas, applied to the value itself.
const SAME_LISTS: [&str; 3] = ["allOf", "anyOf", "oneOf"];
/// Keywords whose value is a mapping of schemas, applied to the value itself.
const SAME_MAPS: [&str; 2] = ["dependentSchemas", "dependencies"];
const REFS: [&str; 3] = ["$ref", "$dynamicRef", "$recursiveRef"];
/// Keywords whose schemas are applied to the parts of a value.
const INNER: [&str; 8] = [
    "items",
    "additionalItems",
    "contains",
    "additionalProperties",
    "propertyNames",
    "unevaluatedItems",
    "unevaluatedProperties",
    "contentSchema",
];
const INNER_LISTS: [&str; 2] = ["prefixItems", "items"];
const INNER_MAPS: [&str; 2] = ["properties", "patternProperties"];
/// Keywords whose schemas are applied only through references.
const SHELVES: [&str; 2] = ["$defs", "definitions"];

/// The schemas inside a schema, and the schemas that each one leads to.
#[derive(Default)]
pub(crate) struct Subschemas<'a> {
    /// The schemas that are mappings, in the order in which they were found.
    all: Vec<&'a Map<String, Value>>,
    /// The index in `all` of each schema, by its address.
    known: HashMap<*const Map<String, Value>, usize>,
    /// For each schema: those applied to the same value, and those applied to its parts.
    edges: Vec<(Vec<usize>, Vec<usize>)>,
    /// The schemas that have an `$id`, and those of each anchor: what a reference can name beside
    /// a pointer.
    with_id: Vec<usize>,
    anchors: HashMap<&'a str, Vec<usize>>,
}

/// Refuses a schema that asks for more steps than [`SCHEMA_NODES`], nests deeper than
/// [`SCHEMA_DEPTH`], or leads to itself without a step into the value.
///
/// # Errors
/// A fragment that follows a subject.
pub(crate) fn bound_schema(schema: &Value) -> Result<Subschemas<'_>, String> {
    let found = Subschemas::find(schema);
    let mut same = Walk::new(&found, false);
    for at in 0..found.all.len() {
        same.steps(at, 0)?;
    }
    let mut whole = Walk::new(&found, true);
    for at in 0..found.all.len() {
        whole.steps(at, 0)?;
    }
    Ok(found)
}

impl<'a> Subschemas<'a> {
    fn find(schema: &'a Value) -> Self {
        let mut found = Self::default();
        found.add(schema);
        let (mut names, mut done) = (Vec::new(), 0);
        while found.edges.len() < found.all.len() {
            while let Some(map) = found.all.get(found.edges.len()).copied() {
                let at = found.edges.len();
                let said = REFS.iter().filter_map(|key| map.get(*key)?.as_str());
                names.extend(said.map(|name| (at, name)));
                let edges = found.inside(map);
                found.edges.push(edges);
            }
            // The target of a pointer is a schema, wherever it stands, and it may hold more
            // schemas.
            while let Some((at, name)) = names.get(done).copied() {
                for value in found.pointed(schema, name) {
                    let to = found.add(value);
                    found.edges[at].0.extend(to);
                }
                done += 1;
            }
        }
        for (at, name) in names {
            let anchored = found.anchored(name);
            found.edges[at].0.extend(anchored);
        }
        found
    }

    /// The schemas that the keywords of a schema lead to.
    fn inside(&mut self, map: &'a Map<String, Value>) -> (Vec<usize>, Vec<usize>) {
        let (mut same, mut inner) = (Vec::new(), Vec::new());
        for (key, value) in map {
            let key = key.as_str();
            let values = || value.as_array().into_iter().flatten();
            let members = || value.as_object().into_iter().flat_map(Map::values);
            if SAME.contains(&key) {
                same.extend(self.add(value));
            }
            if SAME_LISTS.contains(&key) {
                same.extend(values().filter_map(|value| self.add(value)));
            }
            if SAME_MAPS.contains(&key) {
                same.extend(members().filter_map(|value| self.add(value)));
            }
            if INNER.contains(&key) {
                inner.extend(self.add(value));
            }
            if INNER_LISTS.contains(&key) {
                inner.extend(values().filter_map(|value| self.add(value)));
            }
            if INNER_MAPS.contains(&key) {
                inner.extend(members().filter_map(|value| self.add(value)));
            }
            if SHELVES.contains(&key) {
                members().for_each(|value| {
                    self.add(value);
                });
            }
        }
        (same, inner)
    }

    /// The index of a schema; `true` and `false` are steps of their own and are not kept.
    fn add(&mut self, schema: &'a Value) -> Option<usize> {
        let map = schema.as_object()?;
        let next = self.all.len();
        let at = *self.known.entry(std::ptr::from_ref(map)).or_insert(next);
        if at == next {
            self.all.push(map);
            self.with_id.extend(ids(map).next().map(|_| at));
            let anchors = ["$anchor", "$dynamicAnchor"];
            let anchors = anchors.iter().filter_map(|key| map.get(*key)?.as_str());
            // Older drafts write an anchor as an id.
            let older = ids(map).filter_map(|id| Some(id.split_once('#')?.1));
            for anchor in anchors.chain(older) {
                self.anchors.entry(anchor).or_default().push(at);
            }
        }
        Some(at)
    }

    /// The target of a reference's pointer, in the whole schema or in a part with an id of its own.
    fn pointed(&self, schema: &'a Value, name: &str) -> Vec<&'a Value> {
        let Some((_, pointer)) = name.split_once('#') else { return Vec::new() };
        let pointer = percent_decoded(pointer);
        let parts = self.with_id.iter().map(|at| self.all[*at]);
        let mut found: Vec<&Value> = schema.pointer(&pointer).into_iter().collect();
        for part in parts {
            match pointer.split_once('/') {
                None => {}
                Some((_, rest)) => {
                    let (first, rest) = rest.split_once('/').unwrap_or((rest, ""));
                    let first = first.replace("~1", "/").replace("~0", "~");
                    let rest = if rest.is_empty() { String::new() } else { format!("/{rest}") };
                    found.extend(part.get(&first).and_then(|value| value.pointer(&rest)));
                }
            }
        }
        found
    }

    /// The schemas that have the name that a reference says.
    fn anchored(&self, name: &str) -> Vec<usize> {
        let (place, anchor) = name.split_once('#').unwrap_or((name, ""));
        let has_place = |at: &usize| {
            let mut ids = ids(self.all[*at]);
            !place.is_empty() && ids.any(|id| id.ends_with(place) || place.ends_with(id))
        };
        let anchored = self.anchors.get(anchor).into_iter().flatten();
        let named: BTreeSet<usize> =
            self.with_id.iter().filter(|at| has_place(at)).chain(anchored).copied().collect();
        named.into_iter().collect()
    }

    /// The schemas that are mappings.
    pub(super) fn maps(&self) -> impl Iterator<Item = &'a Map<String, Value>> {
        self.all.iter().copied()
    }

    /// Returns true if a mapping is one of these schemas.
    pub(crate) fn contains(&self, map: &Map<String, Value>) -> bool {
        self.known.contains_key(&std::ptr::from_ref(map))
    }
}

/// The id of a schema; draft 4 has another name for it.
fn ids(schema: &Map<String, Value>) -> impl Iterator<Item = &str> {
    ["$id", "id"].into_iter().filter_map(|key| schema.get(key)?.as_str())
}

/// One walk through the schemas.
struct Walk<'s, 'a> {
    schemas: &'s Subschemas<'a>,
    /// The walk also goes into the parts of a value.
    inward: bool,
    /// Steps and depth of the schemas that were counted.
    known: HashMap<usize, (u64, usize)>,
    open: HashSet<usize>,
}

impl<'s, 'a> Walk<'s, 'a> {
    fn new(schemas: &'s Subschemas<'a>, inward: bool) -> Self {
        Self { schemas, inward, known: HashMap::new(), open: HashSet::new() }
    }

    /// The steps of a schema with all that it leads to, and how deep that is.
    fn steps(&mut self, at: usize, above: usize) -> Result<(u64, usize), String> {
        let deep = || Err(format!("leads deeper than {SCHEMA_DEPTH} schemas"));
        if let Some((steps, depth)) = self.known.get(&at).copied() {
            return if above + depth > SCHEMA_DEPTH { deep() } else { Ok((steps, depth)) };
        }
        if above >= SCHEMA_DEPTH {
            return deep();
        }
        if !self.open.insert(at) {
            return match self.inward {
                true => Ok((1, 0)),
                false => Err("leads to itself without a step into the value".into()),
            };
        }
        let (same, inner) = &self.schemas.edges[at];
        let inner: &[usize] = if self.inward { inner } else { &[] };
        let (mut steps, mut depth) = (1_u64, 0);
        for next in same.iter().chain(inner) {
            let (more, below) = self.steps(*next, above + 1)?;
            steps = steps.saturating_add(more);
            depth = depth.max(below);
            if steps > SCHEMA_NODES {
                return Err(format!(
                    "asks for more than {SCHEMA_NODES} steps once its references are followed"
                ));
            }
        }
        self.open.remove(&at);
        self.known.insert(at, (steps, depth + 1));
        Ok((steps, depth + 1))
    }
}

#[cfg(test)]
mod tests {
    use super::bound_schema;
    use serde_json::{Map, Value, json};

    /// Definitions that each name the next one twice.
    fn doubling(levels: usize, keyword: &str) -> Value {
        let mut defs = Map::new();
        for at in 0..levels {
            let next = json!({"$ref": format!("#/$defs/n{}", at + 1)});
            defs.insert(format!("n{at}"), json!({keyword: [next, next]}));
        }
        defs.insert(format!("n{levels}"), json!({"type": "object"}));
        json!({"$defs": defs, "$ref": "#/$defs/n0"})
    }

    #[test]
    fn references_are_counted_out() {
        for keyword in ["allOf", "anyOf", "oneOf", "prefixItems"] {
            assert!(bound_schema(&doubling(8, keyword)).is_ok(), "{keyword}");
            let why = bound_schema(&doubling(20, keyword)).err().unwrap();
            assert!(why.contains("steps"), "{keyword}: {why}");
        }
    }

    #[test]
    fn a_tree_may_name_itself_and_a_knot_may_not() {
        let tree = json!({"properties": {"left": {"$ref": "#"}, "right": {"$ref": "#"}}});
        assert!(bound_schema(&tree).is_ok());
        let union = json!({"$defs": {"e": {"anyOf": [
            {"properties": {"not": {"$ref": "#/$defs/e"}}}, {"type": "string"},
        ]}}, "$ref": "#/$defs/e"});
        assert!(bound_schema(&union).is_ok());
        for knot in [
            json!({"$ref": "#"}),
            json!({"allOf": [{"$ref": "#"}]}),
            json!({"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"not": {"$ref": "#/$defs/a"}}}}),
            json!({"$defs": {"a": {"$anchor": "a", "if": {"$ref": "#a"}}}}),
            json!({"x": {"y": {"$ref": "#/x/y"}}, "$ref": "#/x/y"}),
        ] {
            let why = bound_schema(&knot).err().unwrap_or_default();
            assert!(why.contains("itself"), "{knot}: {why}");
        }
    }

    #[test]
    fn a_long_way_is_refused_in_time() {
        let mut defs = Map::new();
        for at in 0..20_000 {
            defs.insert(format!("n{at}"), json!({"$ref": format!("#/$defs/n{}", at + 1)}));
        }
        let why = bound_schema(&json!({"$defs": defs})).err().unwrap();
        assert!(why.contains("deeper"), "{why}");
    }
}
