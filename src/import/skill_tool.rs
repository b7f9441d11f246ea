//! The tool that gives out the files of a skill.

use std::collections::BTreeMap;

use serde_json::Value;

use super::draft::ItemDraft;
use super::files::CopiedFile;
use crate::base::text::escape_line;
use crate::id::{ItemId, Kind, Ref};
use crate::oms::OmsSigner;
use crate::parse::SIGNED_BEFORE;
use crate::space::RelPath;

/// Gives out the files that lie beside it.
const FILES_PY: &str = include_str!("skill_files.py");

/// The line in an imported item about the signature that its skill came with.
pub(super) fn signed_line(by: &OmsSigner) -> String {
    format!("{SIGNED_BEFORE}{}.", escape_line(&by.line()))
}

/// The tool that gives out the files.
pub(super) fn giver(
    skill: &str,
    id: ItemId,
    files: BTreeMap<RelPath, CopiedFile>,
    by: Option<&OmsSigner>,
) -> ItemDraft {
    let folder = format!("{}.files", id.name());
    let paths = |only_programs: bool| {
        let files = files.iter().filter(|(_, file)| !only_programs || file.is_program);
        let paths: Vec<_> = files.map(|(path, _)| format!("{folder}/{path}")).collect();
        Value::from(paths).to_string()
    };
    // Each by its name: what else lies in the folder, now or later, belongs to no item.
    let listed = format!("files = {}", paths(false));
    let programs = match files.values().any(|file| file.is_program) {
        true => format!("# exec_files = {}\n", paths(true)),
        false => String::new(),
    };
    let names: String = files.keys().map(|path| format!("    {},\n", quoted(path))).collect();
    let signed = by.map(|by| format!("# {}\n", signed_line(by))).unwrap_or_default();
    let text = fill(
        FILES_PY,
        &[
            ("SKILL_NAME", skill),
            ("SKILL_FOLDER", &folder),
            ("FILES_LINE", &listed),
            ("# EXEC_FILES_LINE\n", &programs),
            ("# SIGNED_LINE\n", &signed),
            ("    \"FILE_NAMES\",\n", &names),
        ],
    );
    let beside = files.into_iter().filter_map(|(path, file)| {
        Some((format!("{folder}/{path}").parse::<RelPath>().ok()?, file))
    });
    ItemDraft::new(Ref::new(Kind::Tool, id), "py", text).with_files(beside.collect())
}

/// A text of Python and of JSON alike.
fn quoted(path: &RelPath) -> String {
    Value::from(path.as_str()).to_string()
}

/// The template with a value for each mark. A mark in a value stays as it is.
fn fill(template: &str, values: &[(&str, &str)]) -> String {
    let (mut out, mut rest) = (String::new(), template);
    let next = |rest: &str| {
        let found =
            values.iter().filter_map(|(mark, value)| Some((rest.find(mark)?, *mark, *value)));
        found.min_by_key(|(at, ..)| *at)
    };
    while let Some((at, mark, value)) = next(rest) {
        out.push_str(&rest[..at]);
        out.push_str(value);
        rest = &rest[at + mark.len()..];
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::fill;

    #[test]
    fn a_value_that_holds_a_mark_is_filled_in_as_it_is() {
        let values = [("ONE", "TWO ONE"), ("TWO", "ONE")];
        assert_eq!(fill("ONE, TWO and ONE.", &values), "TWO ONE, ONE and TWO ONE.");
    }
}
