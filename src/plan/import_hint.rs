//! What rye knows of a module that a tool asked for and did not get, and of an interpreter that
//! cannot read the tool.
//!
//! Told by the words that interpreters say, so it is help and never a decision.

use std::path::{Path, PathBuf};

use super::plan::Plan;
use super::template::Named;
use crate::base::text::escape_line;

/// What the guard of the shipped Node runtime says, before the tool begins, if types cannot be
/// dropped.
const NO_TYPES: &str = "TypeScript takes Node.js ";

/// What to do where a tool is TypeScript and its interpreter is too old for that.
pub(crate) fn old_node(said: &str) -> Option<String> {
    let is_said = said.lines().any(|line| line.starts_with(NO_TYPES));
    is_said.then(|| {
        "the tool was not begun: put a newer `node` first on PATH (`rye doctor` names the one that \
         is used), or write it in JavaScript"
            .to_owned()
    })
}

impl Plan {
    /// Why the module may be missing, where what the tool said names one: it lies beside the tool
    /// and is not listed, or what holds packages was passed over.
    pub(crate) fn missing_module(&self, said: &str) -> Option<String> {
        let name = said.lines().rev().find_map(module_in)?;
        let (item, shown) = (self.item(), escape_line(name));
        if let Some((path, pattern)) = self.beside(name) {
            return Some(format!(
                "`{path}` lies there and is not in the tool's `files`: list it (`files = \
                 [\"{pattern}\"]`) and run `rye sign {item}`"
            ));
        }
        let mut passed = self.survey().passed_over().iter();
        let passed = passed.find_map(|passed| Some((passed, passed.help.as_ref()?)));
        let Some((passed, help)) = passed else {
            return Some(format!(
                "nothing that this tool may load has `{shown}`; `rye execute {item} --dry-run` shows \
                 its interpreter and its packages"
            ));
        };
        Some(format!(
            "`{shown}` may lie in `{}`, which was passed over: {}; if you know it, run `{}`",
            escape_line(&passed.path),
            escape_line(&passed.why),
            escape_line(help)
        ))
    }

    /// A module of that name beside the tool, as people are shown it, and the pattern that lists
    /// it.
    fn beside(&self, name: &str) -> Option<(String, String)> {
        let Named::Text(folder) = self.context.names.get("item_dir")? else { return None };
        let first = name.trim_start_matches("./").split(['.', '/']).next()?;
        let is_plain = |c: char| c.is_alphanumeric() || "_-".contains(c);
        if first.is_empty() || !first.chars().all(is_plain) {
            return None;
        }
        let folder = Path::new(folder);
        let files = ["py", "mjs", "cjs", "js", "ts"].map(|ext| format!("{first}.{ext}"));
        let file = files.into_iter().find(|file| folder.join(file).is_file());
        let listed = file.or_else(|| folder.join(first).is_dir().then(|| format!("{first}/**")))?;
        let path: PathBuf = folder.join(listed.trim_end_matches("/**"));
        Some((escape_line(&self.as_template(&path)), listed))
    }
}

/// The module that a line says was not found, as Python and Node say it.
fn module_in(line: &str) -> Option<&str> {
    let begins = ["No module named '", "Cannot find module '", "Cannot find package '"];
    let rest = begins.iter().find_map(|begin| line.split_once(begin))?.1;
    rest.split_once('\'').map(|(name, _)| name).filter(|name| !name.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::module_in;

    #[test]
    fn the_module_that_was_not_found_table() {
        for (line, want) in [
            ("ModuleNotFoundError: No module named 'yaml'", Some("yaml")),
            ("ModuleNotFoundError: No module named 'lib.words'", Some("lib.words")),
            (
                "Error [ERR_MODULE_NOT_FOUND]: Cannot find package 'zod' imported from x",
                Some("zod"),
            ),
            ("Error: Cannot find module './words'", Some("./words")),
            ("Error: Cannot find module '/p/words'", None),
            ("KeyError: 'x'", None),
        ] {
            assert_eq!(module_in(line), want, "{line}");
        }
    }
}
