//! The files that a server is started from: copies of files of the working folder, or a script
//! elsewhere.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use super::files::{CopiedFile, Folder, Named};
use super::mcp::McpImport;
use crate::base::limits::{PARTS, PARTS_BYTES};
use crate::base::text::escape_line;
use crate::diagnostic::Failure;
use crate::host::PrivateDir;
use crate::id::Space;
use crate::parse::Argument;
use crate::plan::{names_package, reads_as_file, script_at};
use crate::rye::Rye;
use crate::space::RelPath;

/// Files of the working folder that the command line names.
pub(super) struct Taking {
    folder: Folder,
    /// Where it is.
    here: PathBuf,
    below: String,
    pub(super) files: BTreeMap<RelPath, CopiedFile>,
    pub(super) remarks: Vec<String>,
}

impl Taking {
    /// Of the working folder, for copies below `below`.
    ///
    /// # Errors
    /// `space.*`
    pub(super) fn here(here: PathBuf, below: String) -> Result<Self, Failure> {
        let folder = Folder::open(Path::new("./server"))?;
        Ok(Self { folder, here, below, files: BTreeMap::new(), remarks: Vec::new() })
    }

    /// Takes a file, or all below a folder, that no word names; the inner error says why it cannot
    /// be.
    pub(super) fn take_beside(&mut self, named: &str) -> Result<Result<(), String>, Failure> {
        let named = named.trim_start_matches("./").trim_end_matches('/');
        let shown = escape_line(named);
        let paths = match self.folder.is_folder(named) {
            true => match self.folder.below(named)? {
                Some(paths) => paths,
                None => return Ok(Err(too_much(&shown))),
            },
            false => match self.folder.find(named)? {
                Named::File(taken) => vec![taken.path.to_string()],
                Named::Left(why) => return Ok(Err(format!("`{shown}` {why}"))),
                Named::Nothing => return Ok(Err(format!("there is no `{shown}` here"))),
            },
        };
        for path in paths {
            match self.folder.find(&path)? {
                Named::File(taken) => {
                    if let Ok(copy) = format!("{}/{}", self.below, taken.path).parse() {
                        self.files.insert(copy, taken);
                    }
                }
                Named::Left(why) => {
                    self.remarks.push(format!("`{}` {why}: it is not copied", escape_line(&path)));
                }
                Named::Nothing => {}
            }
            let bytes: usize = self.files.values().map(|taken| taken.bytes.len()).sum();
            if self.files.len() > PARTS || bytes > PARTS_BYTES {
                return Ok(Err(too_much(&shown)));
            }
        }
        Ok(Ok(()))
    }

    /// The path of the copy, where a word names a file.
    pub(super) fn take(&mut self, word: &str) -> Result<Option<String>, Failure> {
        // A file of this folder is one however it is named.
        let named = Path::new(word).strip_prefix(&self.here).ok().and_then(Path::to_str);
        match self.folder.find(named.unwrap_or(word))? {
            Named::File(taken) => {
                let path = format!("{}/{}", self.below, taken.path);
                if let Ok(relative) = path.parse() {
                    self.files.insert(relative, taken);
                }
                Ok(Some(path))
            }
            Named::Left(why) if !word.starts_with('-') && word.contains(['/', '.']) => {
                let word = escape_line(word);
                self.remarks.push(format!(
                    "`{word}` {why}: it is not copied, and its bytes are not signed"
                ));
                Ok(None)
            }
            _ => Ok(None),
        }
    }
}

fn too_much(folder: &str) -> String {
    let most = PARTS_BYTES >> 20;
    format!(
        "`{folder}` holds more than the {PARTS} files, or {most} MiB of them, that a tool can have: make one \
         file of the server, or name its package with a version"
    )
}

/// The arguments as the items have them: a copy stands for a file, but for what the server may
/// write, which is data and stays where it is.
pub(super) fn written_args(
    import: &McpImport<'_>,
    rye: &Rye,
    (command, args): (&str, &[String]),
    taking: &mut Taking,
) -> Result<Vec<Argument>, Failure> {
    let script = script_at(command, args);
    let mut written = Vec::new();
    for (at, word) in args.iter().enumerate() {
        if names_package(command, args, word) {
            written.push(Argument { text: word.clone(), is_data: reads_as_file(word) });
            continue;
        }
        if script != Some(at)
            && let Some(text) = data_below(import, rye, word)
        {
            written.push(Argument { text, is_data: true });
            continue;
        }
        let taken = taking.take(word)?;
        if taken.is_some() && script != Some(at) {
            taking.remarks.push(format!(
                "`{}` is copied and signed: the server goes on reading what it holds now; what lies below a \
                 `--write` folder is data, and stays as it is",
                escape_line(word)
            ));
        }
        let text = taken.map_or(word.clone(), |path| format!("{{tool_dir}}/{path}"));
        written.push(Argument::text(text));
    }
    Ok(written)
}

/// An argument, also behind `--option=`, that names a file below a folder which the server may
/// write, as the items name it.
fn data_below(import: &McpImport<'_>, rye: &Rye, word: &str) -> Option<String> {
    let behind = word.find('=').filter(|_| word.starts_with('-')).map_or(0, |at| at + 1);
    let (option, path) = word.split_at(behind);
    if path.starts_with('-') || !reads_as_file(path) {
        return None;
    }
    let named = place(path, rye);
    let is_below = |folder: &String| named.starts_with(place(folder, rye));
    import.writes.iter().any(is_below).then(|| format!("{option}{}", from_here(path, rye)))
}

/// Where a path that is named from here lies, by its text alone.
fn place(path: &str, rye: &Rye) -> PathBuf {
    let spaces = [("{project_path}", Space::Project), ("{user_space}", Space::User)];
    let mut place = rye.located().cwd.clone();
    let mut rest = path;
    for (name, space) in spaces {
        if let (Some(behind), Some(root)) = (path.strip_prefix(name), rye.spaces().get(space)) {
            root.base().clone_into(&mut place);
            rest = behind.trim_start_matches('/');
        }
    }
    for part in Path::new(rest).components() {
        match part {
            Component::RootDir => place = PathBuf::from("/"),
            Component::ParentDir => drop(place.pop()),
            Component::Normal(name) => place.push(name),
            _ => {}
        }
    }
    place
}

/// A folder as the items name it: one that is named from here lies in the project, or is absolute.
pub(super) fn from_here(path: &str, rye: &Rye) -> String {
    if path.starts_with(['/', '{']) {
        return path.to_owned();
    }
    let place = place(path, rye);
    let project = rye.spaces().get(Space::Project);
    let named = match project.and_then(|root| place.strip_prefix(root.base()).ok()) {
        Some(rest) => Path::new("{project_path}").join(rest),
        None => place,
    };
    let named = named.display().to_string();
    let named = named.trim_end_matches('/');
    format!("{named}{}", if path.ends_with('/') { "/" } else { "" })
}

/// The copies as a call lays them out, as long as this lives; `None` where there are none.
pub(super) fn laid_out(
    files: &BTreeMap<RelPath, CopiedFile>,
    rye: &Rye,
) -> Result<Option<PrivateDir>, String> {
    if files.is_empty() {
        return Ok(None);
    }
    let user = rye.spaces().user().ok().map(|user| PrivateDir::home(user.base()));
    let pin = PrivateDir::new(rye.runtime.as_deref(), user.as_deref());
    let pin = pin.map_err(|error| format!("its files cannot be laid out: {}", error.source))?;
    for (path, taken) in files {
        pin.write(path.as_str(), &taken.bytes, taken.is_program)
            .map_err(|error| format!("`{path}` cannot be laid out: {error}"))?;
    }
    Ok(Some(pin))
}

/// The words that start the server from the copies.
pub(super) fn started(
    words: &[String],
    command: &str,
    args: &[String],
    copies: Option<&PrivateDir>,
) -> Vec<String> {
    let Some(copies) = copies else { return words.to_vec() };
    let folder = copies.path().display().to_string();
    let written = std::iter::once(command).chain(args.iter().map(String::as_str));
    written.map(|word| word.replace("{tool_dir}", &folder)).collect()
}

/// The folder that a script outside of this folder needs, with the packages that it loads.
pub(super) fn package_of(script: &Path, home: &Path) -> Option<String> {
    let folder = script.is_absolute().then(|| script.parent()).flatten()?;
    let modules = folder.ancestors().filter(|above| above.ends_with("node_modules")).last();
    let is_root = |above: &&Path| {
        ["package.json", "pyproject.toml"].iter().any(|name| above.join(name).is_file())
    };
    let own = || folder.ancestors().take_while(|above| *above != home).find(is_root);
    Some(modules.or_else(own).unwrap_or(folder).display().to_string())
}
