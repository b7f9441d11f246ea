//! Version managers, read and never run (core 7.6): pyenv and its family, asdf, mise, nvm.
//!
//! In:  a shim on `PATH`, or a manager's name, and the name of a program.
//! Out: the program that the operator's own settings choose, or `System`: go on without the
//! manager.
//!
//! The operator's environment speaks first, then a version file of the project if a record of yours
//! lets it in, then the manager's own settings. A version is one plain name: nothing that is read
//! here can leave the manager's folder. Reading takes a few small files and no process (under 0.1
//! ms), so there is nothing to cache.

use std::path::{Path, PathBuf};

use super::program::Seeker;
use crate::parse::Manager;

/// The version that a manager's settings lead to.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::plan) enum Version {
    At(PathBuf),
    /// The machine's own program, not one of the manager's.
    System,
}

type Answer = Result<Version, String>;

/// Returns true if a `PATH` hit is a version manager's stand-in.
pub(in crate::plan) fn is_shim(file: &Path) -> bool {
    file.parent().and_then(Path::file_name).is_some_and(|folder| folder == "shims")
}

/// The program behind a shim, by the layout of the folder that holds it.
///
/// # Errors
/// One sentence on why there is none.
pub(in crate::plan) fn of_shim(seek: &mut Seeker<'_>, shim: &Path, program: &str) -> Answer {
    let host = seek.machine.host;
    let root = shim.parent().and_then(Path::parent).unwrap_or(shim).to_owned();
    if host.is_folder(&root.join("versions")) {
        return of_env(seek, &root, &Family::new(&root), program);
    }
    if !host.is_folder(&root.join("installs")) {
        return Err("it is a shim of a version manager that rye does not know".into());
    }
    let look = host.look(shim);
    let is_mise = look.is_some_and(|look| look.real().file_name().is_some_and(|n| n == "mise"));
    if is_mise { of_mise(seek, &root, program) } else { of_asdf(seek, &root, program) }
}

/// The program that a manager has chosen.
///
/// # Errors
/// One sentence on why there is none.
pub(in crate::plan) fn of_manager(
    seek: &mut Seeker<'_>,
    manager: Manager,
    program: &str,
) -> Answer {
    let root = |vars: &[&str], below: &str| {
        let named = vars.iter().find_map(|var| seek.machine.vars.path(var));
        let home = || seek.machine.vars.path("HOME").map(|home| home.join(below));
        named.or_else(home).filter(|root| root.is_absolute()).ok_or("its folder is not known")
    };
    match manager {
        Manager::Pyenv => {
            let root = root(&["PYENV_ROOT"], ".pyenv")?;
            of_env(seek, &root, &Family::named("pyenv"), program)
        }
        Manager::Rbenv => {
            let root = root(&["RBENV_ROOT"], ".rbenv")?;
            of_env(seek, &root, &Family::named("rbenv"), program)
        }
        Manager::Asdf => {
            let root = root(&["ASDF_DATA_DIR"], ".asdf")?;
            of_asdf(seek, &root, program)
        }
        Manager::Mise => {
            let root = root(&["MISE_DATA_DIR"], ".local/share/mise")?;
            of_mise(seek, &root, program)
        }
        Manager::Nvm => {
            let root = root(&["NVM_DIR"], ".nvm")?;
            of_nvm(seek, &root, program)
        }
    }
}

/// A manager of pyenv's kind.
struct Family {
    /// The variable that names a version.
    var: String,
    /// The file of a project that names one.
    file: Option<&'static str>,
}

impl Family {
    fn new(root: &Path) -> Self {
        let name = root.file_name().and_then(|n| n.to_str()).unwrap_or_default();
        Self::named(name.trim_start_matches('.'))
    }

    fn named(name: &str) -> Self {
        let file = match name {
            "pyenv" => Some(".python-version"),
            "rbenv" => Some(".ruby-version"),
            "nodenv" => Some(".node-version"),
            _ => None,
        };
        Self { var: format!("{}_VERSION", name.to_ascii_uppercase()), file }
    }
}

/// `versions/<version>/bin/<program>`; the first version that has the program.
fn of_env(seek: &mut Seeker<'_>, root: &Path, family: &Family, program: &str) -> Answer {
    let own = seek.machine.vars.text(&family.var).map(|text| text.replace(':', " "));
    let (text, is_own) = match own {
        Some(text) => (text, true),
        None => match family.file.and_then(|file| seek.project_text(file)) {
            Some(text) => (text, false),
            None => (seek.text(&root.join("version")).unwrap_or_else(|| "system".into()), true),
        },
    };
    let lines = text.lines().filter(|line| !line.trim_start().starts_with('#'));
    let words: Vec<&str> = lines.flat_map(str::split_whitespace).collect();
    first(&words, is_own, |version| {
        let folder = root.join("versions");
        let newest = || newest(seek.machine.host.names(&folder), &format!("{version}."));
        let at = |version: &str| folder.join(version).join("bin").join(program);
        let is_there = |file: &PathBuf| seek.machine.host.real_file(file).is_some();
        Some(at(version)).filter(is_there).or_else(|| newest().map(|v| at(&v)).filter(is_there))
    })
}

/// The plugin that a shim names, and `installs/<plugin>/<version>/bin/<program>`.
fn of_asdf(seek: &mut Seeker<'_>, root: &Path, program: &str) -> Answer {
    let shim = seek.text(&root.join("shims").join(program)).unwrap_or_default();
    let plugin = shim.lines().find_map(|line| {
        line.trim_start_matches('#').trim().strip_prefix("asdf-plugin:")?.split_whitespace().next()
    });
    let plugin = plugin.and_then(plain).ok_or("its shim names no plugin")?;
    let var = format!("ASDF_{}_VERSION", plugin.to_ascii_uppercase().replace('-', "_"));
    of_installs(seek, root, plugin, program, &var)
}

/// `installs/<tool>/<version>/bin/<program>` for the tool that brings the program.
fn of_mise(seek: &mut Seeker<'_>, root: &Path, program: &str) -> Answer {
    let stem = program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    let tool = match stem {
        "pip" | "python" => "python",
        "node" | "npm" | "npx" | "corepack" => "node",
        "ruby" | "gem" | "irb" | "bundle" => "ruby",
        other => plain(other).ok_or("its name is not a plain one")?,
    };
    let var = format!("MISE_{}_VERSION", tool.to_ascii_uppercase().replace('-', "_"));
    of_installs(seek, root, tool, program, &var)
}

fn of_installs(seek: &mut Seeker<'_>, root: &Path, tool: &str, program: &str, var: &str) -> Answer {
    let own = seek.machine.vars.text(var).map(str::to_owned);
    let (words, is_own) = match own {
        Some(text) => (text, true),
        None => match projects_version(seek, tool) {
            Some(text) => (text, false),
            None => (own_version(seek, tool).ok_or("no version of it is set")?, true),
        },
    };
    let folder = root.join("installs").join(tool);
    first(&words.split_whitespace().collect::<Vec<_>>(), is_own, |version| {
        let newest = || match version {
            "latest" => newest(seek.machine.host.names(&folder), ""),
            _ => newest(seek.machine.host.names(&folder), &format!("{version}.")),
        };
        let at = |version: &str| folder.join(version).join("bin").join(program);
        let is_there = |file: &PathBuf| seek.machine.host.real_file(file).is_some();
        Some(at(version)).filter(is_there).or_else(|| newest().map(|v| at(&v)).filter(is_there))
    })
}

/// The version that files of the project give, as far as records of yours let them in.
fn projects_version(seek: &mut Seeker<'_>, tool: &str) -> Option<String> {
    for file in ["mise.toml", ".mise.toml"] {
        if let Some(version) = seek.project_text(file).and_then(|text| of_toml(&text, tool)) {
            return Some(version);
        }
    }
    seek.project_text(".tool-versions").and_then(|text| of_lines(&text, tool))
}

/// The version that the operator's own files give.
fn own_version(seek: &Seeker<'_>, tool: &str) -> Option<String> {
    let home = seek.machine.vars.path("HOME").filter(|home| home.is_absolute())?;
    let config = seek.text(&home.join(".config/mise/config.toml"));
    let config = config.and_then(|text| of_toml(&text, tool));
    config.or_else(|| of_lines(&seek.text(&home.join(".tool-versions"))?, tool))
}

/// The `[tools]` table of a mise configuration.
fn of_toml(text: &str, tool: &str) -> Option<String> {
    let table: toml::Table = toml::from_str(text).ok()?;
    let version = |value: &toml::Value| match value {
        toml::Value::String(text) => Some(text.clone()),
        toml::Value::Table(table) => table.get("version")?.as_str().map(str::to_owned),
        _ => None,
    };
    match table.get("tools")?.get(tool)? {
        toml::Value::Array(list) => {
            Some(list.iter().filter_map(version).collect::<Vec<_>>().join(" "))
        }
        one => version(one),
    }
}

/// A line `tool version version`.
fn of_lines(text: &str, tool: &str) -> Option<String> {
    let lines =
        text.lines().filter_map(|line| line.split('#').next()?.trim().split_once([' ', '\t']));
    lines.filter(|(name, _)| *name == tool).map(|(_, versions)| versions.to_owned()).next()
}

/// `versions/node/v<version>/bin/<program>`; aliases are followed.
fn of_nvm(seek: &mut Seeker<'_>, root: &Path, program: &str) -> Answer {
    let (text, is_own) = match seek.project_text(".nvmrc") {
        Some(text) => (text, false),
        None => (seek.text(&root.join("alias/default")).ok_or("it has no default")?, true),
    };
    let mut name = text.lines().next().unwrap_or_default().trim().to_owned();
    let folder = root.join("versions/node");
    // An alias may name another; a circle ends here.
    for _ in 0..5 {
        let plain_name = match name.strip_prefix("lts/") {
            Some("*") => "*",
            Some(lts) => lts,
            None => &name,
        };
        if plain_name != "*" && plain(plain_name).is_none() {
            break;
        }
        match seek.text(&root.join("alias").join(&name)) {
            Some(text) => text.trim().clone_into(&mut name),
            None => break,
        }
    }
    first(&[&name], is_own, |version| {
        let names = seek.machine.host.names(&folder);
        let number = format!("v{}", version.trim_start_matches('v'));
        let found = match version {
            "node" | "stable" => newest(names, "v"),
            _ if names.contains(&number) => Some(number),
            _ => newest(names, &format!("{number}.")),
        };
        found.map(|version| folder.join(version).join("bin").join(program))
    })
}

/// The program of the first version that has it. Every word must be one plain name; a project's may
/// not be `system`, which would be whatever `PATH` says.
fn first(words: &[&str], is_own: bool, mut at: impl FnMut(&str) -> Option<PathBuf>) -> Answer {
    for word in words {
        match plain(word) {
            Some("system") if is_own => return Ok(Version::System),
            Some(version) if version != "system" => {
                if let Some(file) = at(version) {
                    return Ok(Version::At(file));
                }
            }
            _ => return Err("a version that is set for it is not a plain name of one".into()),
        }
    }
    let set = words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(" ");
    Err(match set.is_empty() {
        true => "no version is set for it".into(),
        false => format!("the version that is set, {set}, has no such program"),
    })
}

/// One name that cannot lead anywhere else.
fn plain(word: &str) -> Option<&str> {
    let letter = |b: u8| b.is_ascii_alphanumeric() || b"._+-".contains(&b);
    let starts = word.bytes().next().is_some_and(|b| b.is_ascii_alphanumeric());
    (starts && word.bytes().all(letter) && !word.contains("..")).then_some(word)
}

/// The highest of the versions that begin so, compared number by number.
fn newest(names: Vec<String>, prefix: &str) -> Option<String> {
    let numbers = |name: &str| -> Option<Vec<u64>> {
        name.trim_start_matches('v').split('.').map(|part| part.parse().ok()).collect()
    };
    let fitting =
        names.into_iter().filter(|name| name.starts_with(prefix) && plain(name).is_some());
    fitting.filter_map(|name| Some((numbers(&name)?, name))).max().map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::{Version, first, newest, of_lines, of_toml, plain};
    use std::path::PathBuf;

    #[test]
    fn a_version_is_one_plain_name() {
        for good in ["3.11.7", "v22.1.0", "pypy3.10-7.3.15", "system", "ref+x"] {
            assert_eq!(plain(good), Some(good));
        }
        let bad = ["", ".", "..", "../../x", "/etc", "a/b", "a\nb", "a b", "-x", ".x", "a..b", "ü"];
        for bad in bad {
            assert_eq!(plain(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn a_project_cannot_ask_for_the_system_or_for_a_path() {
        let at = |version: &str| Some(PathBuf::from(format!("/v/{version}")));
        assert_eq!(first(&["3.1"], false, at), Ok(Version::At("/v/3.1".into())));
        assert_eq!(first(&["system"], true, at), Ok(Version::System));
        for words in [&["system"][..], &["../x"], &["/x"]] {
            assert!(first(words, false, at).is_err(), "{words:?}");
        }
        assert!(first(&[], true, at).is_err());
        let second = |version: &str| at(version).filter(|_| version == "b");
        assert_eq!(first(&["a", "b"], false, second), Ok(Version::At("/v/b".into())));
        assert!(first(&["a", "../b"], true, second).is_err());
    }

    #[test]
    fn the_newest_is_compared_by_numbers() {
        let names = ["3.9.1", "3.11.2", "3.11.10", "3.11-dev", "4.0"].map(str::to_owned).to_vec();
        assert_eq!(newest(names.clone(), "3.11.").as_deref(), Some("3.11.10"));
        assert_eq!(newest(names.clone(), "3.").as_deref(), Some("3.11.10"));
        assert_eq!(newest(names.clone(), "").as_deref(), Some("4.0"));
        assert_eq!(newest(names, "5."), None);
    }

    #[test]
    fn files_of_asdf_and_mise() {
        let text = "# mine\nruby 3.3.0\nnode\t20.1.0 18.0.0 # two\n";
        assert_eq!(of_lines(text, "node").as_deref(), Some("20.1.0 18.0.0"));
        assert_eq!(of_lines(text, "python"), None);
        let text = "[tools]\npython = ['3.12', '3.11']\nnode = {version = '22'}\nruby = 'x'\n";
        assert_eq!(of_toml(text, "python").as_deref(), Some("3.12 3.11"));
        assert_eq!(of_toml(text, "node").as_deref(), Some("22"));
        assert_eq!(of_toml(text, "ruby").as_deref(), Some("x"));
        assert_eq!(of_toml("[tools", "ruby"), None);
    }
}
