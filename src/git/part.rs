//! Our part of a file that otherwise belongs to another author.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::error::GitError;
use crate::base::bytes::{Bounded, read_plain, remove_file, write_atomic};
use crate::base::limits::ITEM_BYTES;

const BEGIN: &str =
    "# >>> rye git: `rye git install` wrote this part, `rye git uninstall` takes it out\n";
const END: &str = "# <<< rye git\n";

/// A file as it is, and what it is to be.
pub(super) struct Edit {
    pub(super) before: Option<String>,
    /// `None`: gone.
    pub(super) after: Option<String>,
}

/// The objection against touching a file.
pub(super) type Objection = &'static str;

/// The text of a plain file, or `None`.
///
/// # Errors
/// `git.io`; the inner one says why the file is not to be touched.
pub(super) fn read(path: &Path) -> Result<Result<Option<String>, Objection>, GitError> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Ok(None)),
        Err(error) => return Err(GitError::io(path)(error)),
        Ok(stat) if !stat.is_file() => return Ok(Err("it is not a regular file")),
        Ok(_) => {}
    }
    let Bounded::All(bytes) = read_plain(path, ITEM_BYTES).map_err(GitError::io(path))? else {
        return Ok(Err("it is larger than any that a person wrote"));
    };
    Ok(String::from_utf8(bytes).map(Some).map_err(|_| "it is not text"))
}

/// A hook with `lines` as our part, directly behind its first line: whatever it does, it does
/// after.
///
/// # Errors
/// The objection against it: git passes over one that is not executable, and only a shell
/// understands our part.
pub(super) fn hook(path: &Path, before: Option<String>, lines: &str) -> Result<Edit, Objection> {
    let part = format!("{BEGIN}{lines}{END}");
    let Some(text) = before else {
        return Ok(Edit { before: None, after: Some(format!("#!/bin/sh\n{part}")) });
    };
    let (first, _) = text.split_once('\n').unwrap_or((&text, ""));
    if !is_shell(first) {
        return Err("it is not a shell script");
    }
    let mode = path.metadata().map_or(0, |stat| stat.permissions().mode());
    if mode & 0o100 == 0 {
        return Err("it is not executable, so git passes it over");
    }
    let bare = without(&text)?;
    let (first, rest) = bare.split_once('\n').unwrap_or((&bare, ""));
    let after = format!("{first}\n{part}{rest}");
    Ok(Edit { before: Some(text), after: Some(after) })
}

fn is_shell(first: &str) -> bool {
    let Some(line) = first.strip_prefix("#!") else { return false };
    let mut words = line.split_whitespace().map(|word| word.rsplit('/').next().unwrap_or(word));
    let shell = |word: &str| ["sh", "bash", "dash", "ksh", "zsh"].contains(&word);
    match words.next() {
        Some("env") => words.next().is_some_and(shell),
        Some(word) => shell(word),
        None => false,
    }
}

/// The hook without our part; no file, if nothing else was in it.
///
/// # Errors
/// Our part has a beginning and no end.
pub(super) fn no_hook(before: Option<String>) -> Result<Edit, Objection> {
    let Some(text) = before else { return Ok(Edit { before: None, after: None }) };
    let bare = without(&text)?;
    let after = match bare == text || bare != "#!/bin/sh\n" {
        true => Some(bare),
        false => None,
    };
    Ok(Edit { before: Some(text), after })
}

fn without(text: &str) -> Result<String, Objection> {
    let Some((head, rest)) = text.split_once(BEGIN) else { return Ok(text.to_owned()) };
    let (_, tail) = rest.split_once(END).ok_or("the end of rye's part in it is missing")?;
    Ok(format!("{head}{tail}"))
}

/// A file of lines, with this one at its end.
pub(super) fn line(before: Option<String>, line: &str) -> Edit {
    let has = before.as_deref().is_some_and(|text| text.lines().any(|l| l == line));
    let after = match &before {
        Some(text) if has => text.clone(),
        Some(text) if text.is_empty() || text.ends_with('\n') => format!("{text}{line}\n"),
        Some(text) => format!("{text}\n{line}\n"),
        None => format!("{line}\n"),
    };
    Edit { before, after: Some(after) }
}

/// The file without the line; no file, if nothing else was in it.
pub(super) fn no_line(before: Option<String>, line: &str) -> Edit {
    let after = before.as_ref().map(|text| {
        let kept = text.split_inclusive('\n').filter(|l| l.trim_end_matches('\n') != line);
        kept.collect::<String>()
    });
    let was_all = after.as_deref() == Some("") && before.as_deref() != Some("");
    Edit { before, after: after.filter(|_| !was_all) }
}

impl Edit {
    pub(super) fn is_change(&self) -> bool {
        self.before != self.after
    }

    /// Writes what the file is to be; a crash leaves it as it was or as it is to be.
    ///
    /// # Errors
    /// `git.io`
    pub(super) fn write(&self, path: &Path, mode: u32) -> Result<(), GitError> {
        if !self.is_change() {
            return Ok(());
        }
        let written = match (&self.after, path.parent()) {
            (Some(text), Some(parent)) => {
                fs::create_dir_all(parent).and_then(|()| write_atomic(path, text.as_bytes(), mode))
            }
            _ => remove_file(path),
        };
        written.map_err(GitError::io(path))
    }
}

#[cfg(test)]
mod tests {
    use super::{is_shell, line, no_hook, no_line};

    #[test]
    fn shells_table() {
        for (first, want) in [
            ("#!/bin/sh", true),
            ("#! /usr/bin/env bash", true),
            ("#!/bin/bash -eu", true),
            ("#!/usr/bin/env python3", false),
            ("#!/usr/bin/fish", false),
            ("echo", false),
            ("", false),
        ] {
            assert_eq!(is_shell(first), want, "{first}");
        }
    }

    #[test]
    fn a_line_is_put_in_once_and_taken_out_without_a_trace() {
        for before in [None, Some(""), Some("a\n"), Some("a"), Some("a\n\nb\n")] {
            let before = before.map(str::to_owned);
            let once = line(before.clone(), "x").after;
            assert_eq!(line(once.clone(), "x").after, once);
            let back = no_line(once, "x").after.unwrap_or_default();
            assert_eq!(back.trim_end(), before.unwrap_or_default().trim_end());
        }
        assert_eq!(no_line(Some("b\n".into()), "x").after.as_deref(), Some("b\n"));
    }

    #[test]
    fn a_hook_that_never_had_our_part_stays_as_it_is() {
        for text in ["#!/bin/sh\n", "#!/bin/sh\necho\n", "\u{0}"] {
            let edit = no_hook(Some(text.to_owned())).unwrap();
            assert_eq!(edit.after.as_deref(), Some(text));
        }
    }
}
