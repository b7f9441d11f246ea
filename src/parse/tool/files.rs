//! `files` and `exec_files`: what lies beside a tool and runs with it (core 7.8).

use serde_json::Value;

use super::fields::{Fields, string, wrong};
use crate::base::Digest;
use crate::base::limits::PATTERNS;
use crate::base::text::escape_line;
use crate::parse::error::{PARSE_LIMIT, PARSE_METADATA, ParseFault};
use crate::space::{Glob, RelPath};
use crate::verify::{FileList, PartsRoot};

/// The value of a pattern in the mapping that `rye sign` writes.
pub(super) const PATTERN: &str = "pattern";

/// The header's `files`: a list of paths and patterns, or the mapping that `rye sign` makes of it.
pub(super) fn files(fields: &Fields<'_>, root: PartsRoot) -> Result<Option<FileList>, ParseFault> {
    let pointer = fields.pointer("files");
    let programs = globs(fields)?;
    let mut listed = FileList { root, programs, ..FileList::default() };
    match fields.get("files") {
        None if listed.programs.is_empty() => return Ok(None),
        None => {
            return Err(ParseFault::new(PARSE_METADATA, "`/exec_files` needs `files`".to_owned()));
        }
        Some(Value::Array(list)) => {
            for (at, entry) in list.iter().enumerate() {
                let pointer = format!("{pointer}/{at}");
                let text = string(entry, &pointer)?;
                add(&mut listed, &text, None, &pointer)?;
            }
        }
        Some(Value::Object(map)) => {
            for (path, value) in map {
                let pointer = format!("{pointer}/{path}");
                let text = string(value, &pointer)?;
                add(&mut listed, path, Some(&text), &pointer)?;
            }
        }
        Some(other) => return Err(wrong(&pointer, "a list or a mapping of paths", other)),
    }
    Ok(Some(listed))
}

/// Adds a path or a pattern to the list.
pub(super) fn add(
    listed: &mut FileList,
    path: &str,
    value: Option<&str>,
    pointer: &str,
) -> Result<(), ParseFault> {
    let fault = |why: &str| {
        let pointer = escape_line(pointer);
        ParseFault::new(PARSE_METADATA, format!("`{pointer}`: `{}` {why}", escape_line(path)))
    };
    match value {
        pattern if pattern.map_or_else(|| Glob::is_one(path), |word| word == PATTERN) => {
            if listed.patterns.len() == PATTERNS {
                return Err(too_many("/files"));
            }
            if !Glob::is_one(path) {
                return Err(fault("is no pattern: `*` and `**` alone stand for other signs"));
            }
            listed.patterns.push(Glob::new(path).map_err(|why| fault(&why))?);
        }
        value => {
            let digest = match value.filter(|text| !text.is_empty()) {
                Some(text) => Some(text.parse::<Digest>().map_err(|()| {
                    fault("has a value that is neither a SHA-256 digest nor `pattern`")
                })?),
                None => None,
            };
            let path: RelPath = path.parse().map_err(fault)?;
            listed.digests.insert(path, digest);
        }
    }
    Ok(())
}

fn too_many(pointer: &str) -> ParseFault {
    ParseFault::new(PARSE_LIMIT, format!("`{pointer}` holds more than {PATTERNS} patterns"))
}

fn globs(fields: &Fields<'_>) -> Result<Vec<Glob>, ParseFault> {
    let texts = fields.strings("exec_files")?.unwrap_or_default();
    if texts.len() > PATTERNS {
        return Err(too_many("/exec_files"));
    }
    let globs = texts.iter().enumerate().map(|(at, text)| {
        let pointer = format!("{}/{at}", fields.pointer("exec_files"));
        let fault = |why| {
            ParseFault::new(PARSE_METADATA, format!("`{pointer}`: `{}` {why}", escape_line(text)))
        };
        Glob::new(text).map_err(fault)
    });
    globs.collect()
}
