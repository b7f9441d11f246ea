//! The places that git's settings name: files that are included, a folder of hooks, programs.
//!
//! An author of one of them decides what git runs. So those that a tool could write are kept from
//! it, like the settings themselves. They are read without git, since this is asked before every
//! run: the format is that of git's `Documentation/config.adoc`, "Syntax".

use std::path::{Component, Path, PathBuf};

use crate::base::limits::{GIT_SETTINGS, GIT_SETTINGS_BYTES};
use crate::host::{Host, PlaceKind};

/// A place that settings name, and whether it is made as a folder where it is not there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NamedPlace {
    pub(super) path: PathBuf,
    pub(super) is_folder: bool,
}

/// The places that these files of settings name for a work tree, with all files that they include
/// under any condition. Files that cannot be read name nothing.
pub(super) fn named_places(
    host: &dyn Host,
    files: &[PathBuf],
    tree: &Path,
    home: Option<&Path>,
) -> Vec<NamedPlace> {
    let mut files = files.to_vec();
    let mut named = Vec::new();
    let mut at = 0;
    while let Some(file) = files.get(at).filter(|_| at < GIT_SETTINGS).cloned() {
        at += 1;
        let Some(text) = host.read(&file, GIT_SETTINGS_BYTES as u64) else { continue };
        for Setting { section, key, value } in settings(&String::from_utf8_lossy(&text)) {
            let place = |word: &str, from: &Path| place(word, from, home);
            match (section.as_str(), key.as_str()) {
                ("include" | "includeif", "path") => {
                    let from = file.parent().unwrap_or(tree);
                    let Some(path) = place(&value, from) else { continue };
                    if !files.contains(&path) {
                        files.push(path.clone());
                    }
                    named.push(NamedPlace { path, is_folder: false });
                }
                ("core", "hookspath") => {
                    let path = place(&value, tree);
                    named.extend(path.map(|path| NamedPlace { path, is_folder: true }));
                }
                _ => {
                    let words =
                        value.split(|c: char| c.is_whitespace() || "\"'=;|&()<>!,".contains(c));
                    let paths = words.filter(|word| word.contains('/'));
                    let paths = paths.filter_map(|word| place(word, tree));
                    let there = paths.filter(|path| host.kind(path) == Some(PlaceKind::Other));
                    named.extend(there.map(|path| NamedPlace { path, is_folder: false }));
                }
            }
        }
    }
    named
}

/// The place that a word names; `None` where only git knows it.
fn place(word: &str, from: &Path, home: Option<&Path>) -> Option<PathBuf> {
    let word = word.strip_prefix(":(optional)").unwrap_or(word);
    if word.is_empty() || word.starts_with("%(prefix)/") {
        return None;
    }
    let path = match word.strip_prefix('~') {
        Some(rest) => home?.join(rest.strip_prefix('/')?),
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

struct Setting {
    /// In small letters, without what stands in quotes behind it.
    section: String,
    /// In small letters.
    key: String,
    value: String,
}

/// The settings of a file. What is not one is passed over.
fn settings(text: &str) -> Vec<Setting> {
    let text = text.replace("\r\n", "\n").replace("\\\n", "");
    let mut section = String::new();
    let mut found = Vec::new();
    for line in text.lines() {
        let mut line = line.trim_start_matches('\u{feff}').trim();
        if let Some(header) = line.strip_prefix('[') {
            let name = header.split(|c: char| c.is_whitespace() || "].\"".contains(c)).next();
            section = name.unwrap_or_default().to_ascii_lowercase();
            line = after_header(header).trim();
        }
        if let Some((key, value)) = line.split_once('=') {
            let (section, key) = (section.clone(), key.trim().to_ascii_lowercase());
            found.push(Setting { section, key, value: plain(value.trim()) });
        }
    }
    found
}

/// The text behind the `]` of a header that is not inside quotes.
fn after_header(header: &str) -> &str {
    let mut is_quoted = false;
    let end = header.find(|c| {
        is_quoted ^= c == '"';
        c == ']' && !is_quoted
    });
    end.map_or("", |end| &header[end + 1..])
}

/// A value without its quotes, its escapes and the comment behind it.
fn plain(value: &str) -> String {
    let mut out = String::new();
    let mut is_quoted = false;
    let mut letters = value.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '"' => is_quoted = !is_quoted,
            '\\' => out.extend(letters.next().map(|next| match next {
                'n' => '\n',
                't' => '\t',
                other => other,
            })),
            '#' | ';' if !is_quoted => break,
            other => out.push(other),
        }
    }
    out.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::named_places;
    use crate::host::Os;

    #[test]
    fn places_that_settings_name_are_read_as_git_reads_them_table() {
        let base = tempfile::tempdir().unwrap();
        let tree = base.path().join("tree");
        fs::create_dir_all(tree.join(".git")).unwrap();
        fs::create_dir_all(tree.join("bin")).unwrap();
        fs::write(tree.join("bin/watch"), "").unwrap();
        fs::write(tree.join("more"), "[core]\nhooksPath = by-more\n").unwrap();
        let file = tree.join(".git/config");
        for (text, want) in [
            ("[core]\n\thooksPath = .githooks\n", &[".githooks"][..]),
            ("[CORE] HOOKSPATH=.githooks/_ # here\n", &[".githooks/_"]),
            ("[core]\nhookspath = \"a; b\" ; c\n", &["a; b"]),
            ("[core]\nhookspath = ./a/../\\\nb\n", &["b"]),
            ("[include]\npath = ../more\n", &["more", "by-more"]),
            ("[includeIf \"gitdir:]\"]\npath = ../more\n", &["more", "by-more"]),
            ("[include]\npath = ../absent\n", &["absent"]),
            ("[include]\npath = config\n[core]\nhookspath = h\n", &[".git/config", "h"]),
            ("[core]\nfsmonitor = bin/watch --fast\n", &["bin/watch"]),
            ("[filter \"x\"]\nclean = \"sh -c './bin/watch %f'\"\n", &["bin/watch"]),
            ("[alias]\nx = !bin/watch\n", &["bin/watch"]),
            ("[core]\nfsmonitor = bin/absent\n[remote \"o\"]\nurl = ../tree\n", &[]),
            ("# [core]\n# hookspath = x\n[other]\nhookspath = x\n[core]\nbare\n", &[]),
            ("[core]\nhookspath =\n", &[]),
        ] {
            fs::write(&file, text).unwrap();
            let named = named_places(
                &Os::new(false),
                std::slice::from_ref(&file),
                &tree,
                Some(Path::new("/h")),
            );
            let named: Vec<_> = named
                .iter()
                .map(|it| it.path.strip_prefix(&tree).unwrap().to_str().unwrap())
                .collect();
            assert_eq!(named, want, "{text}");
        }
        fs::write(&file, "[core]\nhookspath = ~/hooks\n[include]\npath = /x/y\n").unwrap();
        let named = named_places(
            &Os::new(false),
            std::slice::from_ref(&file),
            &tree,
            Some(Path::new("/h")),
        );
        let named: Vec<_> = named.iter().map(|it| it.path.to_str().unwrap()).collect();
        assert_eq!(named, ["/h/hooks", "/x/y"]);
    }
}
