//! Which files an argument may mean, by its text alone (core 7.8).
//!
//! rye does not know what a program does with its arguments, so it asks how a text reads: a path of
//! a file is one with a `/` in it or with an extension. Whether a file is there now is not asked,
//! since that can change before the program starts. What ends in `/` can only be a folder.

use std::path::{Component, Path, PathBuf};

use super::pieces::{Piece, Pieces};
use crate::base::text::percent_decoded;

/// Most short options in one argument behind which a file's name is looked for: no command line has
/// as many, and each costs a look at the disk.
const SHORT_OPTIONS: usize = 16;

/// Separators between the paths of a list, and between a name and its path.
const BETWEEN: [char; 4] = [',', ';', ':', '='];

/// The bytes of the longest extension of a file.
const EXTENSION: usize = 10;

/// The parts of an argument that may name a file, each behind the option that it belongs to: all of
/// it, the value of `--option=value`, and the value attached to short options, as in `-rvalue` and
/// `-xrvalue`.
pub(super) fn values(argument: &str) -> Vec<(&str, &str)> {
    let mut all = vec![("", argument)];
    let Some(rest) = argument.strip_prefix('-') else { return all };
    all.extend(rest.find('=').map(|at| argument.split_at(at + 2)));
    let letters = rest.bytes().take_while(u8::is_ascii_alphanumeric).count();
    for at in 1..=letters.min(SHORT_OPTIONS) {
        let (options, value) = argument.split_at(at + 1);
        // Several letters and a plain word are letters rather than a word.
        if at == 1 || value.contains(['.', '/']) {
            all.push((options, value));
        }
    }
    all.retain(|(_, value)| !value.is_empty());
    all
}

/// Returns true if an argument reads as the path of a file.
pub(crate) fn reads_as_file(argument: &str) -> bool {
    !paths(argument).is_empty()
}

/// Every path of a file in an argument, as it reads: behind an option, in a list, as a `file:` URL.
///
/// A text that begins with its own place (`/`, `./`, `../`) is a path whatever follows. Any other
/// is one only if it looks like nothing else: letters of a path, and a `/` or an extension.
pub(super) fn paths(argument: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for (_, value) in values(argument) {
        // The value of an option stands by itself; the dashes before it are no part of a path.
        if !value.starts_with('-') {
            found.extend(paths_of_value(value));
        }
    }
    found.sort();
    found.dedup();
    found
}

fn paths_of_value(value: &str) -> Vec<String> {
    let value = value.trim_start_matches('@');
    match url(value) {
        Some(Url::File(path)) => return vec![path],
        Some(Url::Other) => return Vec::new(),
        None => {}
    }
    let mut found: Vec<&str> = vec![value];
    // What no path holds makes it a text of another kind, such as a line of a shell.
    if value.chars().all(|c| is_of_path(c) || BETWEEN.contains(&c)) {
        let parts: Vec<&str> = value.split([',', ';']).collect();
        if parts.iter().any(|part| url(part).is_some()) {
            found.clear();
        }
        for part in parts {
            match url(part) {
                Some(Url::File(path)) => return vec![path],
                Some(Url::Other) => {}
                None => found.extend(part.split(BETWEEN).chain([part])),
            }
        }
    }
    found.retain(|text| is_path(text));
    found.into_iter().map(str::to_owned).collect()
}

enum Url {
    /// The path of a `file:` URL.
    File(String),
    Other,
}

/// A URL, also behind `name=`.
fn url(text: &str) -> Option<Url> {
    let behind = text.split_once('=').map(|(_, value)| value);
    [Some(text), behind].into_iter().flatten().find_map(|text| {
        let (scheme, rest) = text.split_once(':')?;
        if scheme.eq_ignore_ascii_case("file") {
            let rest = rest.split(['?', '#']).next().unwrap_or_default();
            let path = match rest.strip_prefix("//") {
                Some(behind) => behind.find('/').map_or("", |at| &behind[at..]),
                None => rest,
            };
            return Some(Url::File(percent_decoded(path)));
        }
        let is_scheme = scheme.bytes().all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b));
        (is_scheme && rest.starts_with("//")).then_some(Url::Other)
    })
}

/// Returns true if a path without a place of its own may contain this character.
fn is_of_path(c: char) -> bool {
    c.is_alphanumeric() || "_-./@+~".contains(c)
}

/// Returns true if a text reads as the path of a file.
fn is_path(text: &str) -> bool {
    let last = text.rsplit('/').next().unwrap_or_default();
    if matches!(last, "" | "." | "..") {
        return false;
    }
    let has_place = ["/", "./", "../"].iter().any(|place| text.starts_with(place));
    let is_plain = |c: char| is_of_path(c) || BETWEEN.contains(&c);
    let has_extension = last.rsplit_once('.').is_some_and(|(stem, extension)| {
        !stem.is_empty()
            && extension.len() <= EXTENSION
            && extension.starts_with(|c: char| c.is_ascii_alphabetic())
            && extension.bytes().all(|b| b.is_ascii_alphanumeric())
    });
    has_place || (text.chars().all(is_plain) && (text.contains('/') || has_extension))
}

/// The texts of an argument that are judged: not the private folder with what follows it, and of
/// what holds parameters only the part before them, which a caller cannot choose.
pub(super) fn judged(argument: &Pieces) -> Vec<String> {
    let mut out = Vec::new();
    let mut behind = false;
    let mut pieces = argument.iter().peekable();
    while let Some(piece) = pieces.next() {
        let Piece::Text(text) = piece else {
            behind = true;
            continue;
        };
        let mut text = text.as_str();
        if behind {
            text = text.find(BETWEEN).map_or("", |at| &text[at + 1..]);
        }
        match pieces.peek() {
            // The name of the private folder cannot be foreseen: no file can wait for it.
            Some(Piece::Private(_)) => {
                text = text.rfind(BETWEEN).map_or("", |at| &text[..at]);
                out.push(text.to_owned());
            }
            // Whatever follows, it begins here.
            Some(_) if text.contains('/') => out.push(format!("{text}_")),
            _ => out.push(text.to_owned()),
        }
    }
    out.retain(|text| !text.is_empty());
    out
}

/// The path without `.` and `..`, by its text alone.
pub(super) fn plain_path(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(out.pop()),
            other => out.push(other),
        }
    }
    out
}

/// The path as the child will see it, without `.` and `..`: a process can name its own folder and
/// root too, as in `/proc/self/cwd/x`.
pub(super) fn seen_by_child(path: &Path, cwd: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    let mut parts = path.components();
    while let Some(part) = parts.next() {
        let own = match part.as_os_str().to_str() {
            Some("cwd") => Some(cwd),
            Some("root") => Some(Path::new("/")),
            _ => None,
        };
        if let Some(own) = own.filter(|_| out.starts_with("/proc")) {
            return seen_by_child(&own.join(parts.as_path()), cwd);
        }
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(out.pop()),
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{Piece, Pieces, judged, paths, seen_by_child, values};
    use std::path::Path;

    #[test]
    fn what_an_argument_names_table() {
        for (argument, want) in [
            ("x.sh", &["x.sh"][..]),
            ("", &[""]),
            ("-", &["-"]),
            ("-c", &["-c"]),
            ("--file=x.sh", &["--file=x.sh", "x.sh"]),
            ("-f=x.sh", &["-f=x.sh", "x.sh", "=x.sh"]),
            ("-fx", &["-fx", "x"]),
            ("-la", &["-la", "a"]),
            ("-fab", &["-fab", "ab"]),
            ("-r./x", &["-r./x", "./x"]),
            ("-xr./x", &["-xr./x", "r./x", "./x"]),
            ("-fé", &["-fé", "é"]),
            ("--x.sh", &["--x.sh"]),
        ] {
            let found: Vec<_> = values(argument).into_iter().map(|(_, value)| value).collect();
            assert_eq!(found, want, "{argument}");
            for (option, value) in values(argument) {
                assert_eq!(format!("{option}{value}"), argument);
            }
        }
    }

    #[test]
    fn a_file_is_known_by_how_its_text_reads() {
        for text in [
            "x.sh",
            "x",
            "./x",
            "../x",
            "a/b",
            "/p/x y",
            ".ai/tools/x.sh.txt",
            "./x && y",
            "--file=x.sh",
            "-fa/b",
            "-nf./x",
            "-Ia/b",
            "@x.args",
            "file:x.mjs",
            "file:///p/%78.mjs",
            "--import=file:///p/x.mjs?a=b",
            "FILE://localhost/p/x",
            "a=x.sh",
            "if=a/x",
            "a,x.sh",
            "lib/a:lib/b",
            ".a.b",
            "build.example.com",
            "é/x",
            ".env",
        ] {
            let want = !matches!(text, "x" | ".env");
            assert_eq!(!paths(text).is_empty(), want, "{text}: {:?}", paths(text));
        }
        for text in [
            "",
            "-",
            "--",
            ".",
            "..",
            "./",
            "a/",
            "--in=",
            "a/b/.",
            "build",
            "--readonly",
            "-la",
            "0.5",
            "1.2.3",
            "-t.",
            "127.0.0.1:8080",
            "https://example.com/x.sh?y=z.w",
            "--to=https://example.com/x",
            "a,https://example.com/x",
            ".name",
            ".items[].name",
            "cat a/b | sh x.sh",
            "{print $1/2}",
            "+%Y/%m/%d",
            "%h %s",
            "*.rs",
            "s/a/b/",
            "Hello, world.",
        ] {
            assert!(paths(text).is_empty(), "{text}: {:?}", paths(text));
        }
        assert_eq!(paths("--import=file:///p/%78.mjs"), ["/p/x.mjs"]);
        assert_eq!(paths("--cp=lib/a.jar:/p/b"), ["/p/b", "lib/a.jar", "lib/a.jar:/p/b"]);
    }

    #[test]
    fn what_a_caller_gives_is_no_path_and_what_stands_around_the_private_folder_is() {
        let mut pieces = Pieces::text("lib/a.jar:");
        pieces.push(Piece::Private("tool".into()));
        pieces.push_text("/x.jar:lib/b.jar");
        assert_eq!(judged(&pieces), ["lib/a.jar", "lib/b.jar"]);
        let mut option = Pieces::text("--file=");
        option.push(Piece::Private("tool".into()));
        option.push_text("/x.jar");
        assert_eq!(judged(&option), ["--file"]);
    }

    #[test]
    fn a_path_through_proc_is_the_one_that_the_child_sees() {
        for (path, want) in [
            ("/proc/self/cwd/x", "/p/x"),
            ("/proc/thread-self/cwd/../x", "/x"),
            ("/proc/self/task/1/cwd/x", "/p/x"),
            ("/proc/self/root/p/x", "/p/x"),
            ("/proc/cpuinfo", "/proc/cpuinfo"),
            ("/a/./b/../x", "/a/x"),
        ] {
            assert_eq!(seen_by_child(Path::new(path), Path::new("/p")), Path::new(want), "{path}");
        }
    }
}
