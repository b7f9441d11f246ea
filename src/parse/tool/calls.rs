//! `calls`: which tools a saved snippet may call.

use super::fields::{Fields, string, wrong};
use crate::base::limits::CODE_PATTERNS;
use crate::base::text::escape_line;
use crate::id::{ItemId, Kind, Pattern};
use crate::parse::error::{PARSE_METADATA, ParseFault};

/// The runtime of saved snippets.
pub(crate) const SNIPPET: &str = "rye/core/runtimes/code/snippet";

/// The patterns of the tools that a saved snippet may call; none without the key.
///
/// # Errors
/// `parse.metadata`, with the line to write: for what is not a list of patterns of tools, and for a
/// tool that runs through another runtime of rye.
pub(super) fn calls(
    fields: &Fields<'_>,
    executor: Option<&ItemId>,
) -> Result<Vec<Pattern>, ParseFault> {
    let Some(value) = fields.get("calls") else { return Ok(Vec::new()) };
    let pointer = fields.pointer("calls");
    let fault = |why: String| Err(ParseFault::new(PARSE_METADATA, why));
    if executor.is_none_or(|id| id.as_str().starts_with("rye/core/") && id.as_str() != SNIPPET) {
        return fault(format!(
            "`{pointer}` says what a saved snippet may call: remove it, or write `executor_id = \"{SNIPPET}\"`"
        ));
    }
    let Some(list) = value.as_array() else {
        let fault = wrong(&pointer, "a list of patterns", value);
        let meant = value.as_str().and_then(meant).unwrap_or_else(|| "tool:acme/**".to_owned());
        let why = format!("{}: write `calls = [\"{meant}\"]`", fault.why);
        return Err(ParseFault { why, ..fault });
    };
    if list.len() > CODE_PATTERNS {
        return fault(format!("`{pointer}` has more than {CODE_PATTERNS} patterns"));
    }
    let mut patterns = Vec::new();
    for (at, item) in list.iter().enumerate() {
        let pointer = format!("{pointer}/{at}");
        let text = string(item, &pointer)?;
        let why = match text.parse::<Pattern>() {
            Ok(pattern) if matches!(pattern.kind(), None | Some(Kind::Tool)) => {
                patterns.push(pattern);
                continue;
            }
            Ok(_) => "a snippet calls tools alone".to_owned(),
            Err(why) => why,
        };
        let meant = meant(&text).unwrap_or_else(|| "tool:acme/**".to_owned());
        let text = escape_line(&text);
        return fault(format!("`{pointer}` is `{text}`: {why}: write `\"{meant}\"`"));
    }
    Ok(patterns)
}

/// The pattern that was probably meant.
fn meant(text: &str) -> Option<String> {
    let id = text.split_once(':').map_or(text, |(_, id)| id);
    let meant = format!("tool:{id}");
    meant.parse::<Pattern>().is_ok().then_some(meant)
}

#[cfg(test)]
mod tests {
    use crate::parse::tool::header::parse;
    use crate::space::HeaderStyle;

    fn read(calls: &str, executor: &str) -> Result<Vec<String>, String> {
        let text = format!("executor_id: {executor}\ncalls: {calls}\n");
        let tool = parse(&text, &HeaderStyle::Yaml).map_err(|fault| {
            assert_eq!(fault.code.name(), "parse.metadata");
            fault.why
        })?;
        Ok(tool.calls.iter().map(|pattern| pattern.as_str().to_owned()).collect())
    }

    #[test]
    fn what_a_snippet_may_call_is_a_list_of_patterns_of_tools_and_a_fault_says_what_to_write() {
        let snippet = super::SNIPPET;
        assert_eq!(read("['tool:a/*', 'tool:b/c']", snippet).unwrap(), ["tool:a/*", "tool:b/c"]);
        assert_eq!(read("[]", snippet).unwrap(), [""; 0]);
        assert_eq!(read("['tool:a/*']", "acme/own_runtime").unwrap(), ["tool:a/*"]);
        for (calls, executor, says) in [
            ("tool:a/*", snippet, "`calls = [\"tool:a/*\"]`"),
            ("{a: 1}", snippet, "`calls = [\"tool:acme/**\"]`"),
            ("['a/*']", snippet, "`/calls/0` is `a/*`"),
            ("['a/*']", snippet, "write `\"tool:a/*\"`"),
            ("['tool:a', 'directive:b']", snippet, "`/calls/1` is `directive:b`"),
            ("['tool:a', 'directive:b']", snippet, "write `\"tool:b\"`"),
            ("['tool:a b']", snippet, "write `\"tool:acme/**\"`"),
            ("[7]", snippet, "`/calls/0` must be a string"),
            ("['tool:a']", "rye/core/runtimes/node/node", "write `executor_id = "),
        ] {
            let why = read(calls, executor).unwrap_err();
            assert!(why.contains(says), "{calls}: {why}");
        }
    }
}
