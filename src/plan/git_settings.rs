//! Whether git's settings lead into the repository that a tool may write (`git: write`).
//!
//! What decides what git runs stays closed by its place, so no tool writes it. A person's settings
//! can name more such places in the repository: a file that is included, a folder of hooks, a
//! program. A tool that could write there would have git run what it wrote, so it is not started.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use crate::base::limits::{GIT_SETTINGS, GIT_SETTINGS_BYTES};
use crate::base::text::escape_line;
use crate::host::Kept;

use super::plan::Machine;

/// A repository that a tool may write, but for what is kept.
pub(super) struct Places<'a> {
    pub(super) project: &'a Path,
    pub(super) repository: &'a Path,
    pub(super) kept: &'a [Kept],
}

impl Places<'_> {
    /// Why the repository must not be written: a word of the settings of the repository, of these
    /// homes or of the machine leads to a place that is open in it. Settings are read with all that
    /// they include, whatever the condition is, and a word is anything that may be a path.
    pub(super) fn open_to_a_tool<'h>(
        &self,
        homes: impl Iterator<Item = &'h PathBuf>,
        machine: &Machine<'_>,
    ) -> Option<String> {
        let own = ["config", "config.worktree"].map(|name| self.repository.join(name));
        let of_home =
            homes.flat_map(|home| [".gitconfig", ".config/git/config"].map(|n| home.join(n)));
        let xdg = machine.vars.path("XDG_CONFIG_HOME").map(|folder| folder.join("git/config"));
        let home = machine.vars.path("HOME");
        let mut left: Vec<PathBuf> = own.into_iter().chain(of_home).chain(xdg).collect();
        left.push("/etc/gitconfig".into());
        let mut seen = BTreeSet::new();
        while let Some(file) = left.pop() {
            if !seen.insert(file.clone()) {
                continue;
            }
            if seen.len() > GIT_SETTINGS {
                return Some("your git settings include too many files to look through".into());
            }
            let Some(bytes) = machine.host.read(&file, GIT_SETTINGS_BYTES) else { continue };
            let text = String::from_utf8_lossy(&bytes).replace("\\\n", "");
            let mut is_in_include = false;
            for line in text.lines() {
                let Setting { section, key, value } = setting(line);
                is_in_include = section.map_or(is_in_include, names_includes);
                let is_include = is_in_include && key.eq_ignore_ascii_case("path");
                let from = if is_include { file.parent() } else { None };
                let at = |word: &str| named(word, from.unwrap_or(self.project), home.as_deref());
                let whole = value.trim_matches(|c: char| c.is_whitespace() || c == '"');
                let words = value.split(|c: char| c.is_whitespace() || "\"'=;|&()<>!,".contains(c));
                let mut words = words.chain([whole]).filter(|word| !word.is_empty());
                if let Some(word) = words.find(|word| self.is_open(&at(word), machine)) {
                    return Some(format!(
                        "`git: write`, and `{}` names `{}`, which lies in the repository: git would \
                         use what the tool writes there",
                        file.display(),
                        escape_line(word)
                    ));
                }
                left.extend(is_include.then(|| at(whole)));
            }
        }
        None
    }

    /// It lies in the repository, by its name or in truth, and is not kept.
    fn is_open(&self, path: &Path, machine: &Machine<'_>) -> bool {
        let real = machine.host.real_folder(path).or_else(|| machine.host.real_file(path));
        let is_open = |path: &Path| {
            path.starts_with(self.repository)
                && !self.kept.iter().any(|kept| path.starts_with(&kept.path))
        };
        is_open(path) || real.is_some_and(|real| is_open(&real))
    }
}

/// A line of settings; what is not there is empty.
#[derive(Debug, PartialEq, Eq)]
struct Setting<'a> {
    /// Of which section this line is the first.
    section: Option<&'a str>,
    key: &'a str,
    value: &'a str,
}

/// A section may stand before the first of its settings, and a line without a key is a value.
fn setting(line: &str) -> Setting<'_> {
    let line = line.trim_start();
    let (section, line) = match line.strip_prefix('[').map(|rest| rest.split_once(']')) {
        Some(Some((section, rest))) => (Some(section), rest.trim_start()),
        Some(None) => (None, ""),
        None => (None, line),
    };
    if line.starts_with(['#', ';']) {
        return Setting { section, key: "", value: "" };
    }
    let (key, value) = line.split_once('=').unwrap_or(("", line));
    Setting { section, key: key.trim(), value }
}

/// The settings of this section are files that are read as well: `include`, `includeIf "…"`.
fn names_includes(section: &str) -> bool {
    section.get(..7).is_some_and(|name| name.eq_ignore_ascii_case("include"))
}

/// The place that a word names, as git would look for it; nothing is asked of the disk.
fn named(word: &str, from: &Path, home: Option<&Path>) -> PathBuf {
    let path = match (word.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => from.join(word),
    };
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(out.pop()),
            Component::CurDir => {}
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{Setting, named, setting};
    use std::path::Path;

    #[test]
    fn a_line_of_settings_is_a_key_and_a_value_table() {
        for (line, want) in [
            ("\thooksPath = .git/mine", (None, "hooksPath", " .git/mine")),
            ("[core] hooksPath=x", (Some("core"), "hooksPath", "x")),
            ("[includeIf \"gitdir:/p/.git\"]", (Some("includeIf \"gitdir:/p/.git\""), "", "")),
            ("bare", (None, "", "bare")),
            ("# path = x", (None, "", "")),
        ] {
            let (section, key, value) = want;
            assert_eq!(setting(line), Setting { section, key, value }, "{line}");
        }
    }

    #[test]
    fn a_word_is_a_place_as_git_looks_for_it_table() {
        let home = Some(Path::new("/h"));
        for (word, want) in [
            ("mine", "/p/.git/mine"),
            ("../x", "/p/x"),
            ("./a/../../.git/x", "/p/.git/x"),
            ("~/x", "/h/x"),
            ("/abs", "/abs"),
        ] {
            assert_eq!(named(word, Path::new("/p/.git"), home), Path::new(want), "{word}");
        }
    }
}
