//! Config: a mapping from a YAML or TOML file.

use serde_json::{Map, Value};

use super::data::{kind, toml, yaml};
use super::error::{PARSE_METADATA, ParseFault};

/// A config item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Config {
    pub(crate) value: Map<String, Value>,
}

impl Config {
    /// The config in a YAML file; an empty one is an empty mapping.
    ///
    /// # Errors
    /// `parse.yaml`, `parse.limit`, `parse.metadata` for a list or a scalar.
    pub(crate) fn yaml(text: &str) -> Result<Self, ParseFault> {
        mapping(yaml(text)?)
    }

    /// The config in a TOML file.
    ///
    /// # Errors
    /// `parse.toml`, `parse.limit`.
    pub(crate) fn toml(text: &str) -> Result<Self, ParseFault> {
        mapping(toml(text)?)
    }
}

fn mapping(value: Value) -> Result<Config, ParseFault> {
    match value {
        Value::Object(value) => Ok(Config { value }),
        Value::Null => Ok(Config { value: Map::new() }),
        other => Err(ParseFault::new(
            PARSE_METADATA,
            format!("it must be a mapping, not {}", kind(&other)),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::Config;
    use serde_json::{Value, json};

    #[test]
    fn configs_table() {
        let yaml =
            |text| Config::yaml(text).map(|c| Value::Object(c.value)).map_err(|f| f.code.name());
        assert_eq!(yaml("# rye:signed:v2 x\na: {b: 1}\n"), Ok(json!({"a": {"b": 1}})));
        assert_eq!(yaml(""), Ok(json!({})));
        assert_eq!(yaml("[a]"), Err("parse.metadata"));
        assert_eq!(yaml("a: !x 1"), Err("parse.yaml"));
        let toml =
            |text| Config::toml(text).map(|c| Value::Object(c.value)).map_err(|f| f.code.name());
        assert_eq!(toml("# rye:signed:v2 x\n[a]\nb = 1\n"), Ok(json!({"a": {"b": 1}})));
        assert_eq!(toml("[a]\n[a]"), Err("parse.toml"));
    }
}
