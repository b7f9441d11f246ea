//! `config_resolve`: which config items a tool gets merged into one (core 7.10).

use serde_json::Value;

use super::fields::{Fields, string, wrong};
use crate::base::text::escape_line;
use crate::id::{ItemId, Kind, Ref};
use crate::parse::error::{PARSE_METADATA, ParseFault};

/// The config that a tool asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ConfigResolve {
    pub(crate) wanted: Vec<WantedConfig>,
    /// The header gave a list, so the tool gets a mapping from paths.
    pub(crate) is_list: bool,
}

/// One config item and how its copies become one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WantedConfig {
    /// As the header writes it.
    pub(crate) path: String,
    pub(crate) item: Ref,
    pub(crate) mode: MergeMode,
}

/// How the copies of a config in several spaces become one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum MergeMode {
    /// The copies of system, user and project are merged: maps are merged, other values replaced.
    DeepMerge,
    /// Only the nearest copy is used.
    FirstMatch,
}

pub(super) fn config_resolve(fields: &Fields<'_>) -> Result<Option<ConfigResolve>, ParseFault> {
    let pointer = fields.pointer("config_resolve");
    match fields.get("config_resolve") {
        None => Ok(None),
        Some(Value::Array(list)) => {
            let wanted = list.iter().enumerate();
            let wanted = wanted.map(|(at, value)| wanted_one(value, &format!("{pointer}/{at}")));
            Ok(Some(ConfigResolve { wanted: wanted.collect::<Result<_, _>>()?, is_list: true }))
        }
        Some(one) => {
            let wanted = vec![wanted_one(one, &pointer)?];
            Ok(Some(ConfigResolve { wanted, is_list: false }))
        }
    }
}

fn wanted_one(value: &Value, pointer: &str) -> Result<WantedConfig, ParseFault> {
    let (path, mode) = match value {
        Value::Object(_) => {
            let fields = Fields::from_value(value, pointer.to_owned())?;
            fields.only(&["path", "mode"])?;
            let path = fields.string("path")?;
            let path = path.ok_or_else(|| {
                ParseFault::new(PARSE_METADATA, format!("`{pointer}` has no `path`"))
            })?;
            let mode = match fields.string("mode")?.as_deref() {
                None | Some("deep_merge") => MergeMode::DeepMerge,
                Some("first_match") => MergeMode::FirstMatch,
                Some(_) => {
                    let why = format!("`{pointer}/mode` must be deep_merge or first_match");
                    return Err(ParseFault::new(PARSE_METADATA, why));
                }
            };
            (path, mode)
        }
        Value::String(_) => (string(value, pointer)?, MergeMode::DeepMerge),
        other => return Err(wrong(pointer, "a path or a mapping with `path`", other)),
    };
    let id = [".yaml", ".yml", ".toml"].iter().find_map(|ext| path.strip_suffix(ext));
    let id: ItemId = id.unwrap_or(&path).parse().map_err(|error| {
        ParseFault::new(
            PARSE_METADATA,
            format!("`{pointer}`: `{}` is not a valid config id: {error}", escape_line(&path)),
        )
    })?;
    Ok(WantedConfig { item: Ref::new(Kind::Config, id), path, mode })
}
