//! Config items with copies in several spaces (core 7.10).

use std::time::Duration;

use serde_json::{Map, Value};

use super::error::PlanError;
use super::plan_source::{ConfigCopy, PlanSource};
use super::time_limit::{LimitKey, SetLimit, TimeLimit};
use crate::base::durations::{TIMEOUT_MAX_MS, TIMEOUT_MS};
use crate::base::time::{as_ms, time_from_value, time_with_unit};
use crate::chain::Chain;
use crate::diagnostic::Failure;
use crate::id::{Ref, Space};
use crate::parse::{MergeMode, Tool, WantedConfig};
use crate::trace::{Event, Sink};
use crate::verify::Source;

/// Config items in force for a run, and what they come from.
#[derive(Default)]
pub(super) struct Resolved {
    /// The value that the tool gets as `resolved_config`.
    pub(super) value: Option<Value>,
    pub(super) sources: Vec<Source>,
}

/// Resolves the configuration that the nearest link's `config_resolve` asks for.
///
/// # Errors
/// Whatever a copy is refused with.
pub(super) fn resolve(
    chain: &Chain,
    plan_source: &dyn PlanSource,
    sink: &dyn Sink,
) -> Result<Resolved, Failure> {
    let mut declared = chain.links().iter();
    let declared = declared.find_map(|link| Some((link, link.tool.config_resolve.as_ref()?)));
    let Some((link, asked)) = declared else { return Ok(Resolved::default()) };
    let mut resolved = Resolved::default();
    let mut by_path = Map::new();
    for wanted in &asked.wanted {
        let copies = plan_source.configs(&wanted.item)?;
        let spaces = copies.iter().map(|copy| copy.space).collect();
        sink.record(Event::ResolveConfig { item_id: wanted.item.clone(), spaces });
        let value = merged(&link.tool, link.source.space(), wanted, &copies);
        by_path.insert(wanted.path.clone(), Value::Object(value));
        resolved.sources.extend(copies.into_iter().map(|copy| copy.source));
    }
    resolved.value = match asked.is_list {
        true => Some(Value::Object(by_path)),
        false => by_path.into_iter().next().map(|(_, value)| value),
    };
    Ok(resolved)
}

/// The copies as one. Those of the tool's own space and below are taken whole; a nearer one sets
/// what the tool lists as `overridable`, and nothing else.
fn merged(
    tool: &Tool,
    own: Space,
    wanted: &WantedConfig,
    copies: &[ConfigCopy],
) -> Map<String, Value> {
    let mut merged = Map::new();
    for copy in copies.iter().filter(|copy| copy.space <= own) {
        match wanted.mode {
            MergeMode::DeepMerge => merge(&mut merged, &copy.value),
            MergeMode::FirstMatch => merged.clone_from(&copy.value),
        }
    }
    for copy in copies.iter().filter(|copy| copy.space > own) {
        for path in &tool.overridable {
            let path: Vec<&str> = path.split('.').collect();
            if let Some(value) = look_up(&copy.value, &path) {
                set(&mut merged, &path, value);
            }
        }
    }
    merged
}

/// Maps merge; everything else is replaced.
pub(super) fn merge(into: &mut Map<String, Value>, from: &Map<String, Value>) {
    for (key, value) in from {
        match (into.get_mut(key), value) {
            (Some(Value::Object(into)), Value::Object(from)) => merge(into, from),
            _ => drop(into.insert(key.clone(), value.clone())),
        }
    }
}

fn look_up<'v>(map: &'v Map<String, Value>, path: &[&str]) -> Option<&'v Value> {
    let (first, rest) = path.split_first()?;
    let value = map.get(*first)?;
    if rest.is_empty() { Some(value) } else { look_up(value.as_object()?, rest) }
}

/// Sets a value at a path; a time limit only if that is shorter.
fn set(map: &mut Map<String, Value>, path: &[&str], value: &Value) {
    let Some((first, rest)) = path.split_first() else { return };
    if !rest.is_empty() {
        let inner = map.entry(*first).or_insert_with(|| Value::Object(Map::new()));
        if let Value::Object(inner) = inner {
            set(inner, rest, value);
        }
        return;
    }
    // A whole mapping is set by its keys, so that the rule for limits holds in it as well.
    if let (Some(Value::Object(old)), Value::Object(new)) = (map.get_mut(*first), value) {
        for (key, value) in new {
            set(old, &[key], value);
        }
        return;
    }
    // A value of another shape would remove the limits in the mapping.
    if matches!(map.get(*first), Some(Value::Object(_))) {
        return;
    }
    let unit_ms = if *first == "timeout_ms" { 1.0 } else { 1_000.0 };
    let limit_ms = |value: &Value| match value {
        Value::String(text) => time_with_unit(text).map(|time| time.as_secs_f64() * 1_000.0),
        other => other.as_f64().map(|number| number * unit_ms),
    };
    if matches!(*first, "timeout" | "timeout_ms")
        && let Some(old) = map.get(*first)
        && !limit_ms(value).zip(limit_ms(old)).is_some_and(|(new, old)| new < old)
    {
        return;
    }
    map.insert((*first).to_owned(), value.clone());
}

/// The time limits that config sets for a tool.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Limits {
    /// Where no link says otherwise.
    pub(super) default: Option<SetLimit>,
    /// The operator's word for this tool, over what the links say.
    pub(super) own: Option<SetLimit>,
    /// The project's; it can only shorten.
    pub(super) at_most: Option<SetLimit>,
}

impl Limits {
    /// The time of a run: the operator's word for this tool, else the links', else the default; a
    /// project and a caller only shorten.
    pub(super) fn of_run(self, signed: Option<SetLimit>, asked: Option<Duration>) -> TimeLimit {
        let most = self.own.or(signed).or(self.default);
        let ms = most.as_ref().map_or(TIMEOUT_MS, |(ms, _)| *ms);
        let longer = self.at_most.clone().filter(|(at_most, _)| *at_most > ms);
        let shorter = self.at_most.filter(|(at_most, _)| *at_most < ms);
        TimeLimit::new(shorter.or(most), asked).beside(longer)
    }
}

/// The item with the limits of runs.
const EXECUTION: &str = "config:execution/execution";

/// `config:execution/execution`: `defaults`, then `tools.<id>`. The system's and the user's copies
/// merge; a project's can only shorten.
///
/// # Errors
/// Whatever a copy is refused with; `plan.bad_config` for one that says nothing usable.
pub(crate) fn limits(
    item: &Ref,
    plan_source: &dyn PlanSource,
    sink: &dyn Sink,
) -> Result<(Limits, Vec<Source>), Failure> {
    let Ok(config) = EXECUTION.parse::<Ref>() else { return Ok(Default::default()) };
    let copies = plan_source.configs(&config)?;
    let spaces = copies.iter().map(|copy| copy.space).collect();
    sink.record(Event::ResolveConfig { item_id: config.clone(), spaces });
    let mut limits = Limits::default();
    for copy in &copies {
        let bad = |pointer: String| PlanError::BadLimit {
            item: config.clone(),
            space: copy.space,
            pointer,
        };
        let set = |path: &[&str]| -> Result<Option<SetLimit>, PlanError> {
            let ms = timeout(&copy.value, path).map_err(bad)?;
            let key = || LimitKey::new(&copy.source, format!("{}.timeout", path.join(".")), false);
            Ok(ms.map(|ms| (ms, Some(key()))))
        };
        let default = set(&["defaults"])?;
        let own = set(&["tools", item.id.as_str()])?;
        if copy.space == Space::Project {
            limits.at_most = own.or(default);
        } else {
            limits.default = default.or(limits.default);
            limits.own = own.or(limits.own);
        }
    }
    Ok((limits, copies.into_iter().map(|copy| copy.source).collect()))
}

/// `timeout` below the path, in milliseconds.
fn timeout(config: &Map<String, Value>, path: &[&str]) -> Result<Option<u64>, String> {
    let pointer = || format!("/{}/timeout", path.join("/").replace("tools/", "tools/…"));
    let Some(section) = look_up(config, path) else { return Ok(None) };
    let Some(section) = section.as_object() else { return Err(pointer()) };
    match section.get("timeout") {
        None | Some(Value::Null) => Ok(None),
        Some(value) => {
            let time = time_from_value(value, Duration::from_millis(TIMEOUT_MAX_MS));
            time.map(as_ms).map(Some).ok_or_else(pointer)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{look_up, merge, set};
    use serde_json::{Map, Value, json};

    fn map(value: Value) -> Map<String, Value> {
        let Value::Object(map) = value else { panic!("a map") };
        map
    }

    #[test]
    fn maps_merge_and_all_else_is_replaced() {
        let mut into = map(json!({"a": {"x": 1, "l": [1, 2]}, "b": 1, "c": {"y": 1}}));
        merge(&mut into, &map(json!({"a": {"l": [3]}, "b": {"z": 1}, "c": null, "d": 4})));
        assert_eq!(
            Value::Object(into),
            json!({"a": {"x": 1, "l": [3]}, "b": {"z": 1}, "c": null, "d": 4})
        );
    }

    #[test]
    fn a_path_is_set_and_a_time_limit_only_shortened() {
        let start = map(json!({"api": {"timeout": 10, "url": "u"}, "timeout_ms": 5}));
        let rows = [
            (&["api", "url"][..], json!("v"), "/api/url", json!("v")),
            (&["api", "timeout"], json!(60), "/api/timeout", json!(10)),
            (&["api", "timeout"], json!(2.5), "/api/timeout", json!(2.5)),
            (&["api", "timeout"], json!("none"), "/api/timeout", json!(10)),
            (&["api", "timeout"], json!("9s"), "/api/timeout", json!("9s")),
            (&["api", "timeout"], json!("1m"), "/api/timeout", json!(10)),
            (&["timeout_ms"], json!(4), "/timeout_ms", json!(4)),
            (&["new", "x"], json!(1), "/new/x", json!(1)),
            (&["api"], json!({"timeout": 60, "x": 1}), "/api/timeout", json!(10)),
            (&["api"], json!({"timeout": 60, "x": 1}), "/api/url", json!("u")),
            (&["api"], json!({"timeout": 60, "x": 1}), "/api/x", json!(1)),
            (&["timeout_ms", "x"], json!(1), "/timeout_ms", json!(5)),
        ];
        for (path, value, pointer, want) in rows {
            let mut got = start.clone();
            set(&mut got, path, &value);
            let got = Value::Object(got);
            assert_eq!(got.pointer(pointer), Some(&want), "{path:?} {value}");
        }
        assert_eq!(look_up(&start, &["api", "none"]), None);
    }
}
