//! Tells whether git's settings name places in the repository that a tool may write (`git: write`).
//!
//! The files by which git decides what to run are closed by their place, so no tool writes them. A
//! person's settings can name more such places in the repository: a file that is included, a folder
//! of hooks, a program. A tool that could write there would have git run what it wrote, so it is
//! not started.
//!
//! Git itself says what the settings are. Files that it would include under a condition that does
//! not hold now are named to it until there are no more of them.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use crate::base::durations::GIT_SETTINGS_TIME;
use crate::base::limits::{GIT_SETTINGS, GIT_SETTINGS_BYTES};
use crate::base::text::{brief_line, escape_line};
use crate::host::{ChildResult, KeptPath, Spawn, home_of};

use super::context::PlanContext;

/// A repository that a tool may write, but for what is kept.
pub(super) struct Places<'a> {
    pub(super) project: &'a Path,
    pub(super) repository: &'a Path,
    pub(super) kept: &'a [KeptPath],
}

impl Places<'_> {
    /// Why the repository must not be written: a word of the settings of the repository, of these
    /// homes, of the machine or of the caller's environment leads to a place that is open in it, or
    /// git cannot say what they are. Settings are read with all that they include, whatever the
    /// condition is, and a word is anything that may be a path.
    pub(super) fn open_to_a_tool<'h>(
        &self,
        homes: impl Iterator<Item = &'h PathBuf>,
        machine: &PlanContext<'_>,
    ) -> Option<String> {
        let own = ["config", "config.worktree"].map(|name| self.repository.join(name));
        let of_home =
            homes.flat_map(|home| [".gitconfig", ".config/git/config"].map(|n| home.join(n)));
        let xdg = machine.vars.path("XDG_CONFIG_HOME").map(|folder| folder.join("git/config"));
        let files = own.into_iter().chain(of_home).chain(xdg).chain(["/etc/gitconfig".into()]);
        let mut files: BTreeSet<OsString> = files.map(PathBuf::into_os_string).collect();
        let home = machine.vars.path("HOME");
        loop {
            let known = files.len();
            if known > GIT_SETTINGS {
                return Some("your git settings include too many files to look through".into());
            }
            let said = match self.ask(&files, machine) {
                Ok(said) => said,
                Err(why) => return Some(format!("`git: write`, and your git settings: {why}")),
            };
            for Setting { origin, key, value } in settings(&said) {
                let file = origin.strip_prefix(b"file:").map(OsStr::from_bytes).map(Path::new);
                let is_include = key.starts_with(b"include") && key.ends_with(b".path");
                let folder = file.and_then(Path::parent).filter(|_| is_include);
                let from = self.project.join(folder.unwrap_or(Path::new("")));
                let text = String::from_utf8_lossy(value);
                let whole = text.strip_prefix(":(optional)").unwrap_or(&text).trim();
                let words = text.split(|c: char| c.is_whitespace() || "\"'=;|&()<>!,".contains(c));
                let mut words = words.chain([whole]).filter(|word| !word.is_empty());
                let is_open = |word: &&str| {
                    let path = named(word, &from, home.as_deref());
                    path.is_none_or(|path| self.is_open(&path, machine))
                };
                if let Some(word) = words.find(is_open) {
                    return Some(format!(
                        "`git: write`, and `{}` names `{}`, which lies in the repository: git would \
                         use what the tool writes there",
                        escape_line(&String::from_utf8_lossy(
                            file.map_or(origin, |file| { file.as_os_str().as_bytes() })
                        )),
                        escape_line(word)
                    ));
                }
                if is_include {
                    // Git expands a home by itself.
                    let path = match value.starts_with(b"~") {
                        true => OsStr::from_bytes(value).to_owned(),
                        false => from.join(OsStr::from_bytes(value)).into_os_string(),
                    };
                    files.insert(path);
                }
            }
            if files.len() == known {
                return None;
            }
        }
    }

    /// Asks git for all settings, with those of these files. Git says nothing of a file that does
    /// not exist, and fails if one cannot be read.
    fn ask(
        &self,
        files: &BTreeSet<OsString>,
        machine: &PlanContext<'_>,
    ) -> Result<Vec<u8>, String> {
        let mut args = Vec::new();
        for file in files {
            let mut include = OsString::from("include.path=");
            include.push(file);
            args.extend(["-c".into(), include]);
        }
        args.extend(["config", "--list", "-z", "--show-origin", "--includes"].map(Into::into));
        let ended = asked(self.repository, args, machine)?;
        if ended.stdout_truncated {
            return Err("they are too large to look through".into());
        }
        match ended.exit_code {
            Some(0) => Ok(ended.stdout),
            _ if ended.timed_out => Err("git did not say in time what they are".into()),
            _ => Err(brief_line(&String::from_utf8_lossy(&ended.stderr))),
        }
    }

    /// It lies in the repository, by its name or in truth, and is not kept.
    fn is_open(&self, path: &Path, machine: &PlanContext<'_>) -> bool {
        let real = machine.host.real_folder(path).or_else(|| machine.host.real_file(path));
        let is_open = |path: &Path| {
            path.starts_with(self.repository)
                && !self.kept.iter().any(|kept| path.starts_with(&kept.path))
        };
        is_open(path) || real.is_some_and(|real| is_open(&real))
    }
}

/// Who commits in the repository, by git's settings: `user.name` and `user.email`, as far as they
/// are set.
pub(super) fn identity(repository: &Path, machine: &PlanContext<'_>) -> Vec<(String, OsString)> {
    let args = ["config", "-z", "--get-regexp", r"^user\.(name|email)$"].map(Into::into);
    let said = asked(repository, args.to_vec(), machine).ok();
    let said = said.filter(|ended| ended.exit_code == Some(0)).map(|ended| ended.stdout);
    // The last one of a name counts.
    let mut found = BTreeMap::new();
    for setting in said.unwrap_or_default().split(|byte| *byte == 0) {
        let mut halves = setting.splitn(2, |byte| *byte == b'\n');
        if let (Some(name), Some(value)) = (halves.next(), halves.next()) {
            let name = String::from_utf8_lossy(name).into_owned();
            found.insert(name, OsStr::from_bytes(value).to_owned());
        }
    }
    found.into_iter().collect()
}

/// The answer of a command of git about settings.
fn asked(
    repository: &Path,
    more: Vec<OsString>,
    machine: &PlanContext<'_>,
) -> Result<ChildResult, String> {
    let program = machine.ground.find_program(machine.vars, "git");
    let program = program.ok_or("there is no `git` to ask for them")?;
    let mut args: Vec<OsString> = vec!["--git-dir".into(), repository.into()];
    args.extend(more);
    // Those that would leave files out are not passed on.
    let is_passed = |name: &str| {
        matches!(name, "HOME" | "XDG_CONFIG_HOME")
            || name.starts_with("GIT_CONFIG_") && name != "GIT_CONFIG_NOSYSTEM"
    };
    let names = machine.vars.names().filter(|name| is_passed(name));
    let value = |name: &str| machine.vars.get(name).unwrap_or_default().to_owned();
    let mut env: BTreeMap<_, _> = names.map(|name| (name.to_owned(), value(name))).collect();
    env.insert("LC_ALL".into(), "C".into());
    let time = Duration::from_secs(GIT_SETTINGS_TIME);
    let folder = repository.parent().unwrap_or(repository);
    let asked = Spawn::new(&program, folder, GIT_SETTINGS_BYTES, time);
    let spawn = Spawn { args, env, stops_at_cap: true, ..asked };
    machine.host.run(&spawn, &mut |_| {}).map_err(|error| error.to_string())
}

/// A setting as git lists it.
struct Setting<'a> {
    /// The file that it stands in, after `file:`; else `command line:`.
    origin: &'a [u8],
    /// Its section and its own name are in small letters.
    key: &'a [u8],
    value: &'a [u8],
}

fn settings(said: &[u8]) -> impl Iterator<Item = Setting<'_>> {
    let mut parts = said.split(|byte| *byte == 0);
    std::iter::from_fn(move || {
        let (origin, setting) = (parts.next()?, parts.next()?);
        let mut halves = setting.splitn(2, |byte| *byte == b'\n');
        let key = halves.next().unwrap_or_default();
        Some(Setting { origin, key, value: halves.next().unwrap_or_default() })
    })
}

/// The place that a word names, as git would look for it; nothing is asked of the disk. `None`
/// where only git knows that.
fn named(word: &str, from: &Path, home: Option<&Path>) -> Option<PathBuf> {
    if word.starts_with("%(prefix)/") {
        return None;
    }
    let path = match word.strip_prefix('~').and_then(|word| word.split_once('/')) {
        Some(("", rest)) => home?.join(rest),
        Some((user, rest)) => home_of(user)?.join(rest),
        None => from.join(word),
    };
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(out.pop()),
            Component::CurDir => {}
            other => out.push(other),
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::named;
    use std::path::Path;

    #[test]
    fn a_word_is_a_place_as_git_looks_for_it_table() {
        let home = Some(Path::new("/h"));
        for (word, want) in [
            ("mine", Some("/p/.git/mine")),
            ("../x", Some("/p/x")),
            ("./a/../../.git/x", Some("/p/.git/x")),
            ("~/x", Some("/h/x")),
            ("~root/x", Some("/root/x")),
            ("~nobody-knows/x", None),
            ("%(prefix)/x", None),
            ("/abs", Some("/abs")),
        ] {
            let got = named(word, Path::new("/p/.git"), home);
            assert_eq!(got.as_deref(), want.map(Path::new), "{word}");
        }
    }
}
