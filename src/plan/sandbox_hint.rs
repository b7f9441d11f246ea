//! What a tool that failed in its sandbox lacked, as the line that its item would have.
//!
//! Told by the words that programs say of a refusal, so it is help and never a decision.

use std::path::{Component, Path, PathBuf};

use super::plan::Plan;
use super::template::Named;
use crate::base::text::escape_line;
use crate::host::{Confinement, Net};
use crate::space::HeaderStyle;

/// Words of a refused write, a refused read and a refused connection.
const WRITE: [&str; 4] = ["Read-only file system", "EROFS", "Permission denied", "EACCES"];
const READ: [&str; 4] = ["No such file or directory", "ENOENT", "Permission denied", "EACCES"];
const NET: [&str; 8] = [
    "Network is unreachable",
    "ENETUNREACH",
    "name resolution",
    "EAI_AGAIN",
    "Could not resolve host",
    "getaddrinfo",
    "socket: Operation not permitted",
    "PermissionError: [Errno 1]",
];

/// Those of a name that was looked up, which no tool needs for this machine.
const LOOKUP: [&str; 4] = ["name resolution", "EAI_AGAIN", "Could not resolve host", "getaddrinfo"];
/// What names this machine.
const LOOPBACK: [&str; 3] = ["127.0.0.1", "localhost", "::1"];

impl Plan {
    /// The line that the item would need, where what the tool said tells that its sandbox refused
    /// it something.
    pub(crate) fn line_to_add(&self, said: &str) -> Option<String> {
        let held = self.confinement()?;
        let lost = said.lines().find_map(|line| lost(held, line));
        if let Some(lost) = lost {
            let level = held.level.as_str();
            return Some(format!(
                "{level} cannot hold all that it declares (`{lost}` is missing); bubblewrap can: \
                 `apt install bubblewrap`"
            ));
        }
        let kept = said.lines().find_map(|line| kept(held, line));
        if let Some(kept) = kept {
            let kept = escape_line(&kept.display().to_string());
            return Some(format!(
                "no sandbox lets a tool write `{kept}`; see `rye fetch knowledge:rye/sandbox`"
            ));
        }
        let lack = said.lines().find_map(|line| self.lack(held, line, said))?;
        if matches!(lack, Lack::Net(_)) && held.policy.net == Net::Hosts {
            return Some(
                "its network holds rye's proxy and nothing else: it reaches the hosts that it lists \
                 through the proxy that `HTTPS_PROXY` names; a program that knows no proxy, or needs \
                 something else than HTTP, needs `sandbox: {net: any}`"
                    .into(),
            );
        }
        let (level, item) = (held.level.as_str(), self.item());
        let propose = format!("let `rye learn {item}` propose what it needs");
        Some(match self.declaration(&lack, held) {
            Some(line) => format!(
                "its sandbox ({level}) does not let it; if it should, add {line}{} and sign it \
                 again, or {propose}",
                lack.other()
            ),
            None => format!("its sandbox ({level}) does not let it write; {propose}"),
        })
    }

    /// What gives a tool what it lacks, in the language of its own file; `None` where what it
    /// wanted is not known well enough. The list holds what the tool has already: a list that an
    /// item states takes the place of what it has by default.
    fn declaration(&self, lack: &Lack, held: &Confinement) -> Option<String> {
        let (key, value) = match lack {
            Lack::Path(way, Some(path)) => {
                let policy = &held.policy;
                let has = if *way == "read" { &policy.read } else { &policy.write };
                let has = has.iter().map(|path| {
                    let is_made = *way == "write" && policy.made.contains(path);
                    format!("{}{}", self.as_template(path), if is_made { "/" } else { "" })
                });
                let all: Vec<_> =
                    has.chain([path.clone()]).map(|path| format!("\"{path}\"")).collect();
                (format!("fs.{way}"), format!("[{}]", all.join(", ")))
            }
            Lack::Path(_, None) => return None,
            Lack::Net(net) => ("net".to_owned(), format!("\"{}\"", net.value())),
        };
        let toml = format!("sandbox.{key} = {value}");
        let block = |comment: &str| match self.has_block {
            true => format!("`{comment} {toml}` at the head of its `{comment} /// rye` block"),
            false => format!(
                "a block of three lines, `{comment} /// rye`, `{comment} {toml}` and `{comment} ///`,"
            ),
        };
        Some(match &self.header {
            HeaderStyle::Toml => format!("`{toml}` at the head of the item"),
            HeaderStyle::Python => block("#"),
            HeaderStyle::JavaScript | HeaderStyle::TypeScript => block("//"),
            HeaderStyle::Block { comment } => block(comment.trim()),
            HeaderStyle::Yaml | HeaderStyle::Markdown => match lack {
                Lack::Path(way, _) => format!("`sandbox: {{fs: {{{way}: {value}}}}}` to the item"),
                Lack::Net(net) => format!("`sandbox: {{net: {}}}` to the item", net.value()),
            },
        })
    }

    fn lack(&self, held: &Confinement, line: &str, said: &str) -> Option<Lack> {
        let says = |words: &[&str]| words.iter().any(|word| line.contains(word));
        let policy = &held.policy;
        let is_in = |path: &Path, all: &[PathBuf]| all.iter().any(|a| path.starts_with(a));
        let words = object_of(line);
        // A program that was started by its path says that first.
        let words = match words.split_once(": ") {
            Some((program, rest)) if is_in(Path::new(program), &policy.base) => rest,
            _ => words,
        };
        let path = path_in(words);
        if let Some(path) = &path
            && says(&READ)
            && path.exists()
            && !is_in(path, &policy.base)
            && !is_in(path, &policy.read)
            && !is_in(path, &policy.write)
        {
            return Some(Lack::Path("read", Some(self.as_template(path))));
        }
        if says(&WRITE) {
            let path = path.or_else(|| {
                let Named::Text(folder) = self.context.names.get("project_path")? else {
                    return None;
                };
                Some(Path::new(folder).join(relative_in(words)?))
            });
            if path.as_ref().is_some_and(|p| is_in(p, &policy.write) || is_in(p, &policy.base)) {
                return None;
            }
            return Some(Lack::Path("write", path.and_then(|path| self.to_write(&path, line))));
        }
        let names = |words: &[&str], text: &str| words.iter().any(|word| text.contains(word));
        (policy.net != Net::Any && says(&NET)).then(|| {
            let has_loopback = policy.net == Net::Loopback;
            Lack::Net(match () {
                () if has_loopback => Wanted::Network,
                () if names(&LOOPBACK, line) => Wanted::Loopback,
                () if names(&LOOKUP, line) => Wanted::Network,
                () if names(&LOOPBACK, said) => Wanted::Loopback,
                () => Wanted::Either,
            })
        })
    }

    /// The narrowest grant with which this could have been written: what is there, a folder that
    /// the tool wanted to make, or the folder of a file that is new or was to go.
    fn to_write(&self, path: &Path, line: &str) -> Option<String> {
        let goes = ["remove", "unlink", "rename", "move"].iter().any(|word| line.contains(word));
        if path.is_dir() || (path.is_file() && !goes) {
            return Some(self.as_template(path));
        }
        let folder = path.parent().filter(|folder| folder.is_dir())?;
        Some(match line.contains("directory") || line.contains("mkdir") {
            true => format!("{}/", self.as_template(path)),
            false => self.as_template(folder),
        })
    }

    /// The path as an item would name it.
    pub(crate) fn as_template(&self, path: &Path) -> String {
        let roots = ["project_path", "user_space"];
        let below = roots.iter().find_map(|name| {
            let Named::Text(root) = self.context.names.get(*name)? else { return None };
            let root = Some(root).filter(|root| root.len() > 1)?;
            let root = Path::new(root).canonicalize().ok()?;
            let rest = path.strip_prefix(root).ok()?.display().to_string();
            Some(if rest.is_empty() { format!("{{{name}}}") } else { format!("{{{name}}}/{rest}") })
        });
        below.unwrap_or_else(|| path.display().to_string())
    }
}

/// What a sandbox refused.
enum Lack {
    /// `read` or `write`, and the path as an item names it where that is known.
    Path(&'static str, Option<String>),
    Net(Wanted),
}

impl Lack {
    /// What else it may be, where that is not known.
    fn other(&self) -> &'static str {
        match self {
            Self::Net(Wanted::Either) => {
                " (`loopback` reaches this machine only, `any` the network)"
            }
            _ => "",
        }
    }
}

/// What a tool wanted to reach.
#[derive(Clone, Copy)]
enum Wanted {
    Loopback,
    Network,
    /// It did not say.
    Either,
}

impl Wanted {
    /// The narrowest that may be enough.
    fn value(self) -> &'static str {
        match self {
            Self::Loopback | Self::Either => "loopback",
            Self::Network => "any",
        }
    }
}

/// What the level could not give of what the item declares, where a line tells of a refusal.
fn lost<'a>(held: &'a Confinement, line: &str) -> Option<&'a str> {
    let is_refusal = WRITE.iter().any(|word| line.contains(word));
    let is_part = |missing: &&String| missing.starts_with("write all of ");
    held.missing.iter().find(is_part).filter(|_| is_refusal).map(String::as_str)
}

/// The place that no grant reaches in which something was to be written, where a line tells of a
/// refusal.
fn kept<'a>(held: &'a Confinement, line: &str) -> Option<&'a Path> {
    let path = path_in(object_of(line)).filter(|_| WRITE.iter().any(|word| line.contains(word)))?;
    let kept = held.policy.kept.iter().find(|kept| path.starts_with(&kept.path))?;
    Some(&kept.path)
}

/// A line without what speaks: a shell says its own script's name first, a program its own.
fn object_of(line: &str) -> &str {
    let words = line.split_once(": line ").map_or(line, |(_, words)| words);
    match words.split_once(": ") {
        Some((speaker, rest)) if speaker.starts_with('/') && rest.contains(": ") => rest,
        _ => words,
    }
}

/// The first absolute path that a line names.
fn path_in(line: &str) -> Option<PathBuf> {
    let starts = line.match_indices('/').map(|(at, _)| at);
    let is_start = |at: &usize| {
        line[..*at].chars().next_back().is_none_or(|c| c.is_whitespace() || "'\"`:(=".contains(c))
    };
    let at = starts.into_iter().find(is_start)?;
    let rest = &line[at..];
    let end =
        rest.find(|c: char| c.is_whitespace() || "'\"`:,;)".contains(c)).unwrap_or(rest.len());
    (end > 1).then(|| PathBuf::from(&rest[..end]))
}

/// The relative path that a refused write names: between quotes, or before the words of the
/// refusal.
fn relative_in(line: &str) -> Option<&str> {
    let is_quote = |c: char| "'\"`\u{2018}\u{2019}".contains(c);
    let path = match line.split(is_quote).collect::<Vec<_>>()[..] {
        [_, quoted, ..] => quoted,
        _ => {
            let at = WRITE.iter().filter_map(|word| line.find(word)).min()?;
            line[..at].trim_end_matches([':', ' ']).rsplit(' ').next()?
        }
    };
    let is_plain = |part: Component<'_>| matches!(part, Component::Normal(_));
    Some(path).filter(|path| !path.is_empty() && Path::new(path).components().all(is_plain))
}

#[cfg(test)]
mod tests {
    use super::{object_of, path_in, relative_in};

    #[test]
    fn what_speaks_is_not_what_was_refused_table() {
        for (line, want) in [
            ("/pin/x.sh: line 8: a.txt: Read-only file system", "8: a.txt: Read-only file system"),
            (
                "/pin/x.sh: 8: cannot create a: Permission denied",
                "8: cannot create a: Permission denied",
            ),
            ("/usr/bin/cat: /p/x: Permission denied", "/p/x: Permission denied"),
            ("/p/x: Permission denied", "/p/x: Permission denied"),
            ("touch: cannot touch '/p/x': EROFS", "touch: cannot touch '/p/x': EROFS"),
        ] {
            assert_eq!(object_of(line), want, "{line}");
        }
    }

    #[test]
    fn the_relative_path_that_a_refusal_names_table() {
        for (line, want) in [
            ("OSError: [Errno 30] Read-only file system: 'build/out'", Some("build/out")),
            ("sh: 1: cannot create build/out: Read-only file system", Some("build/out")),
            ("bash: out.txt: Permission denied", Some("out.txt")),
            (
                "mkdir: cannot create directory \u{2018}build\u{2019}: Read-only file system",
                Some("build"),
            ),
            ("Error: EROFS: read-only file system, open 'x'", Some("x")),
            ("PermissionError: [Errno 13] Permission denied: '/p/x'", None),
            ("Permission denied", None),
        ] {
            assert_eq!(relative_in(line), want, "{line}");
        }
    }

    #[test]
    fn the_path_that_a_refusal_names_table() {
        for (line, want) in [
            ("PermissionError: [Errno 13] Permission denied: '/p/out.txt'", Some("/p/out.txt")),
            ("touch: cannot touch '/p/a b': Read-only file system", Some("/p/a")),
            ("sh: 1: cannot create out: Read-only file system", None),
            ("Error: EROFS: read-only file system, open '/p/x'", Some("/p/x")),
            ("either/or: Permission denied", None),
            ("bash: /p/x: Permission denied", Some("/p/x")),
        ] {
            assert_eq!(path_in(line).as_deref(), want.map(std::path::Path::new), "{line}");
        }
    }
}
