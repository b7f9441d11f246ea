//! The description of an item, as far as is asked.

use std::str::FromStr;

use serde_json::{Map, Value, json};

use super::facade::Rye;
use super::items::{Described, Items, read_item};
use super::risk::risk;
use crate::diagnostic::{Code, Failure};
use crate::id::{Fingerprint, Query};
use crate::report::{Warned, error_json};
use crate::verify::{Integrity, VERIFY_UNSIGNED};

/// Most examples that an item is described with.
const EXAMPLES_SHOWN: usize = 20;

/// Longest summary of an item in characters (code-mode 4).
const SUMMARY_CHARS: usize = 200;

/// Examples if the caller does not say how many.
const EXAMPLES: usize = 3;

/// The short description of a verified item.
#[derive(Debug)]
pub(crate) struct Summary {
    /// At most 200 characters.
    pub(crate) text: String,
    pub(crate) version: Option<String>,
    pub(crate) signer: Option<Fingerprint>,
    pub(crate) owner: Option<String>,
}

/// How much of an item is told (code-mode 4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum DetailLevel {
    /// Its purpose, in at most 200 characters.
    Summary,
    /// And what it takes.
    Schema,
    /// And notes, examples and references, and who signed it.
    Full,
}

impl DetailLevel {
    pub(crate) const ALL: [Self; 3] = [Self::Summary, Self::Schema, Self::Full];

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Summary => "summary",
            Self::Schema => "schema",
            Self::Full => "full",
        }
    }
}

impl FromStr for DetailLevel {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        Self::ALL.into_iter().find(|level| level.as_str() == text).ok_or(())
    }
}

impl Rye {
    /// Describes one item, verified, as one JSON object. `level` is `summary`, `schema` or `full`;
    /// anything else is `full`.
    pub fn describe_json(&self, item: &str, level: &str, examples: Option<usize>) -> Value {
        let start = std::time::Instant::now();
        let level = level.parse().unwrap_or(DetailLevel::Full);
        let described = item.parse::<Query>().map_err(Failure::from);
        match described.and_then(|query| self.items().describe_at(&query, level, examples)) {
            Ok((described, _)) => with_status(described),
            Err(failure) => {
                error_json(&failure.diagnostic(), Some(item), &[], start.elapsed(), None)
            }
        }
    }
}

impl Items<'_> {
    /// Describes one item, verified, with at most so many examples; and what dev mode let through.
    ///
    /// # Errors
    /// Those of a fetch.
    pub(crate) fn describe_at(
        self,
        query: &Query,
        level: DetailLevel,
        examples: Option<usize>,
    ) -> Result<(Map<String, Value>, Vec<Warned>), Failure> {
        let described = read_item(self.rye, query)?;
        let mut told = described.at_level(level, examples);
        let risk = risk(self.rye, &described).filter(|_| level >= DetailLevel::Schema);
        told.extend(risk.map(|risk| ("risk".to_owned(), json!(risk))));
        Ok((told, described.warnings))
    }
}

impl Described {
    /// The short description, if its signature stands for it.
    pub(super) fn summary(&self) -> Result<Summary, Code> {
        if self.detail.integrity != Integrity::Verified {
            // Dev mode lets it run; no signature stands for its words.
            return Err(self.warnings.first().map_or(VERIFY_UNSIGNED, |first| first.code));
        }
        Ok(Summary {
            text: brief(self.item.description().unwrap_or_default()),
            version: self.detail.version.clone(),
            signer: self.detail.signer,
            owner: self.detail.owner.clone(),
        })
    }

    /// As much as is asked for.
    fn at_level(&self, level: DetailLevel, examples: Option<usize>) -> Map<String, Value> {
        let detail = &self.detail;
        let mut out = Map::new();
        let mut put = |key: &str, value: Value| drop(out.insert(key.to_owned(), value));
        put("item_id", json!(detail.item));
        put("kind", json!(detail.item.kind));
        put("space", json!(detail.space));
        put("version", json!(detail.version));
        put("verified", json!(detail.integrity == Integrity::Verified));
        put("level", json!(level.as_str()));
        put("summary", brief(self.item.description().unwrap_or_default()).into());
        if level >= DetailLevel::Schema {
            let parameters = self.item.parameters();
            let required = parameters.iter().filter(|p| p.required).map(|p| p.name.as_str());
            let defaults = parameters
                .iter()
                .filter_map(|p| Some((p.name.clone(), p.default.clone()?)))
                .collect::<Map<_, _>>();
            put("schema", self.item.input_schema().unwrap_or_default());
            if let Some(schema) = self.item.output_schema() {
                put("output_schema", schema.clone());
            }
            put("required", required.collect());
            put("defaults", defaults.into());
            put("parameters", json!(parameters));
        }
        if level >= DetailLevel::Full {
            let most = examples.unwrap_or(EXAMPLES).min(EXAMPLES_SHOWN);
            put("description", json!(self.item.description()));
            put("notes", json!(self.item.notes()));
            put("examples", self.item.examples().iter().take(most).cloned().collect());
            put("references", json!(self.item.references()));
            put("path", json!(detail.path));
            put("digest", json!(detail.digest));
            put("signer", json!(detail.signer));
            put("owner", json!(detail.owner));
            put("shadowed", json!(self.shadowed));
            put("reach", json!(self.item.reach()));
            let data = self.item.to_json();
            for key in
                ["title", "tags", "tool_type", "executor_id", "effects", "secrets", "env_names"]
            {
                if let Some(value) = data.get(key).filter(|value| !is_nothing(value)) {
                    put(key, value.clone());
                }
            }
        }
        if !self.warnings.is_empty() {
            put("warnings", json!(self.warnings));
        }
        out
    }
}

/// At most 200 characters, on one line.
fn brief(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(SUMMARY_CHARS) {
        None => line,
        Some(_) => {
            let kept: String = line.chars().take(SUMMARY_CHARS - 1).collect();
            format!("{}…", kept.trim_end())
        }
    }
}

fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(list) => list.is_empty(),
        _ => false,
    }
}

/// The answer to a question that was answered.
pub(super) fn with_status(fields: Map<String, Value>) -> Value {
    let mut out = Map::new();
    out.insert("status".into(), "success".into());
    out.extend(fields);
    Value::Object(out)
}

#[cfg(test)]
mod tests {
    use super::brief;

    #[test]
    fn a_summary_is_cut_on_characters() {
        assert_eq!(brief("  one\n two\t"), "one two");
        let exact = "é".repeat(200);
        assert_eq!(brief(&exact), exact);
        for sign in ["é", "漢", "🦀", "a"] {
            let cut = brief(&sign.repeat(5_000));
            assert_eq!(cut.chars().count(), 200, "{sign}");
            assert!(cut.ends_with('…'), "{cut}");
        }
    }
}
