//! Reading one spec, strictly.

use std::time::Duration;

use serde_json::{Map, Value};

use super::error::TestError;
use super::expect::Expect;
use crate::base::durations::TIMEOUT_MAX_MS;
use crate::base::limits::NEAR_NAMES;
use crate::base::text::{near, position, unfit};
use crate::base::time::TimeKey;
use crate::diagnostic::Place;
use crate::eval::{Score, Thresholds};
use crate::id::{Kind, Query};
use crate::parse::yaml;
use crate::space::RelPath;

/// Most evals of one case of a test spec: each is a run of its own.
const TEST_EVALS: usize = 64;

/// Most cases of one test spec: more are several specs.
const TEST_CASES: usize = 1_000;

const TOP: &[&str] = &["cases", "timeout", "timeout_ms"];
const CASE: &[&str] =
    &["dry_run", "evals", "expect", "inputs", "name", "setup", "timeout", "timeout_ms"];
const TIMEOUT: TimeKey = TimeKey::of_ms("timeout", "timeout_ms", TIMEOUT_MAX_MS);
const EVAL: &[&str] = &["eval", "max_score", "min_score", "params"];

/// One case of a spec: a run, and what is expected of it.
#[derive(Debug)]
pub(crate) struct Case {
    /// Unique in its spec.
    pub(crate) name: String,
    pub(super) inputs: Map<String, Value>,
    /// Files that are there before the run, by their paths below the case's folder.
    pub(super) setup: Vec<(RelPath, String)>,
    pub(super) dry_run: bool,
    pub(super) timeout: Option<Duration>,
    pub(super) expect: Expect,
    /// The scores to take once the item has answered.
    pub(super) evals: Vec<Scoring>,
}

/// One eval, and which scores pass.
#[derive(Debug)]
pub(super) struct Scoring {
    pub(super) eval: Query,
    pub(super) params: Map<String, Value>,
    pub(super) thresholds: Thresholds,
}

/// Where in which spec a value stands.
#[derive(Clone)]
pub(super) struct At<'a> {
    place: &'a Place,
    pointer: String,
}

impl At<'_> {
    pub(super) fn key(&self, key: &str) -> Self {
        let dot = if self.pointer.is_empty() { "" } else { "." };
        Self { place: self.place, pointer: format!("{}{dot}{key}", self.pointer) }
    }

    fn index(&self, index: usize) -> Self {
        Self { place: self.place, pointer: format!("{}[{index}]", self.pointer) }
    }

    pub(super) fn bad(&self, why: impl Into<String>) -> TestError {
        let (place, pointer) = (self.place.clone(), self.pointer.clone());
        TestError::Malformed { place, pointer, why: why.into() }
    }

    /// The value as a mapping that holds nothing but these keys.
    pub(super) fn mapping<'v>(
        &self,
        value: &'v Value,
        known: &'static [&'static str],
    ) -> Result<&'v Map<String, Value>, TestError> {
        let subject = if self.pointer.is_empty() { "it " } else { "" };
        let map = value.as_object();
        let map = map.ok_or_else(|| self.bad(format!("{subject}is not a mapping")))?;
        match map.keys().find(|key| !known.contains(&key.as_str())) {
            None => Ok(map),
            Some(key) => {
                let near = near(key, known.iter().copied(), NEAR_NAMES);
                let (place, pointer) = (self.place.clone(), self.pointer.clone());
                Err(TestError::UnknownKey { place, pointer, key: key.clone(), near, known })
            }
        }
    }

    pub(super) fn text(&self, value: &Value) -> Result<String, TestError> {
        value.as_str().map(str::to_owned).ok_or_else(|| self.bad("is not text"))
    }

    pub(super) fn boolean(&self, value: &Value) -> Result<bool, TestError> {
        value.as_bool().ok_or_else(|| self.bad("is neither `true` nor `false`"))
    }

    pub(super) fn path(&self, text: &str) -> Result<RelPath, TestError> {
        text.parse().map_err(|why| self.bad(why))
    }
}

/// The cases of the spec at `place`.
///
/// # Errors
/// `test.malformed`, `test.unknown_key`
pub(super) fn read(bytes: &[u8], place: &Place) -> Result<Vec<Case>, TestError> {
    let top = At { place, pointer: String::new() };
    let malformed =
        |place: Place, why: String| TestError::Malformed { place, pointer: String::new(), why };
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let at = position(bytes, error.valid_up_to());
        malformed(place.clone().at(at), "it is not UTF-8".into())
    })?;
    if let Some(found) = unfit(text) {
        let why = format!("it holds the character U+{:04X}", u32::from(found.char));
        return Err(malformed(place.clone().at(position(bytes, found.at)), why));
    }
    let value = yaml(text).map_err(|fault| {
        let place = fault.position.map_or(place.clone(), |at| place.clone().at(at));
        malformed(place, fault.why)
    })?;
    let map = top.mapping(&value, TOP)?;
    let timeout = timeout(map, &top)?;
    let cases = map.get("cases").ok_or_else(|| top.bad("it has no `cases`"))?;
    let at = top.key("cases");
    let cases = cases.as_array().filter(|cases| !cases.is_empty());
    let cases = cases.ok_or_else(|| at.bad("is not a list of at least one case"))?;
    if cases.len() > TEST_CASES {
        return Err(at.bad(format!("holds more than {TEST_CASES} cases")));
    }
    let mut all: Vec<Case> = Vec::new();
    for (index, value) in cases.iter().enumerate() {
        let case = case(value, &at.index(index), index, timeout)?;
        if all.iter().any(|other| other.name == case.name) {
            return Err(at.index(index).bad("has the name of another case"));
        }
        all.push(case);
    }
    Ok(all)
}

fn case(
    value: &Value,
    at: &At<'_>,
    index: usize,
    of_all: Option<Duration>,
) -> Result<Case, TestError> {
    let map = at.mapping(value, CASE)?;
    let name = match map.get("name") {
        Some(name) => at.key("name").text(name)?,
        None => format!("case {}", index + 1),
    };
    if name.trim().is_empty() || name.contains('\n') {
        return Err(at.key("name").bad("is not a single line of text"));
    }
    let inputs = match map.get("inputs") {
        Some(inputs) => {
            let inputs =
                inputs.as_object().ok_or_else(|| at.key("inputs").bad("is not a mapping"))?;
            inputs.clone()
        }
        None => Map::new(),
    };
    let mut setup = Vec::new();
    if let Some(files) = map.get("setup") {
        let at = at.key("setup");
        for (path, content) in files.as_object().ok_or_else(|| at.bad("is not a mapping"))? {
            let at = at.key(path);
            setup.push((at.path(path)?, at.text(content)?));
        }
    }
    let dry_run = map.get("dry_run").map_or(Ok(false), |v| at.key("dry_run").boolean(v))?;
    let expect = match map.get("expect") {
        Some(value) => Expect::read(value, &at.key("expect"))?,
        None => Expect::default(),
    };
    let evals = match map.get("evals") {
        Some(_) if dry_run => {
            return Err(at.key("evals").bad("needs an answer, and a dry run has none"));
        }
        Some(value) => evals(value, &at.key("evals"))?,
        None => Vec::new(),
    };
    let timeout = timeout(map, at)?.or(of_all);
    Ok(Case { name, inputs, setup, dry_run, timeout, expect, evals })
}

fn evals(value: &Value, at: &At<'_>) -> Result<Vec<Scoring>, TestError> {
    let list = value.as_array().ok_or_else(|| at.bad("is not a list"))?;
    if list.len() > TEST_EVALS {
        return Err(at.bad(format!("holds more than {TEST_EVALS} evals")));
    }
    list.iter().enumerate().map(|(index, value)| scoring(value, &at.index(index))).collect()
}

fn scoring(value: &Value, at: &At<'_>) -> Result<Scoring, TestError> {
    let map = at.mapping(value, EVAL)?;
    let named = map.get("eval").ok_or_else(|| at.bad("has no `eval`"))?;
    let name = at.key("eval").text(named)?;
    let eval: Query =
        name.parse().map_err(|why| at.key("eval").bad(format!("is not a valid ref: {why}")))?;
    if eval.kind.is_some_and(|kind| kind != Kind::Tool) {
        return Err(at.key("eval").bad("is not a tool"));
    }
    let params = match map.get("params") {
        Some(params) => {
            params.as_object().ok_or_else(|| at.key("params").bad("is not a mapping"))?.clone()
        }
        None => Map::new(),
    };
    let score = |key: &str| {
        let why = |_| at.key(key).bad("is not a number from 0 to 1");
        map.get(key).map(|value| Score::from_value(Some(value)).map_err(why)).transpose()
    };
    let thresholds = Thresholds::new(score("min_score")?, score("max_score")?);
    Ok(Scoring { eval, params, thresholds: thresholds.map_err(|why| at.bad(why))? })
}

fn timeout(map: &Map<String, Value>, at: &At<'_>) -> Result<Option<Duration>, TestError> {
    TIMEOUT.read(|key| map.get(key)).map_err(|(key, why)| at.key(key).bad(why))
}
