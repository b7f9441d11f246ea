//! The merge driver: three versions of a file below `.ai`, their signature lines taken out.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use super::error::GitError;
use super::program::{Git, failed};
use crate::base::bytes::{Bounded, read_at_most};
use crate::base::limits::ITEM_BYTES;
use crate::id::{Kind, Query, Ref};
use crate::lock::{LOCK_FILE, LaterRow, MergedLock};
use crate::space::{Comment, FileTypes, ai_folders};
use crate::verify::line_range;

/// The files that git hands to a driver, and what it says of them.
pub(crate) struct Sides<'a> {
    pub(crate) base: &'a Path,
    /// Where the result goes.
    pub(crate) ours: &'a Path,
    pub(crate) theirs: &'a Path,
    /// Characters of a conflict marker.
    pub(crate) marker: u32,
    /// Relative to the top of the working tree; for what the file is and what it is called.
    pub(crate) path: &'a str,
}

/// The result of a merge; except for `Kept`, a person has to look.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Merged {
    /// The text is that of one side, whose signed bytes are kept.
    Kept,
    /// The text is new, so its signature line is gone; how many conflicts are left.
    Unsigned { item: Ref, conflicts: u8 },
    /// It is a project's lock; the rows that both sides changed are those signed later, and what
    /// one side took out is gone.
    Lock { later: Vec<LaterRow>, gone: Vec<Query> },
    /// It is no item, so it was merged like any other file.
    Plain { conflicts: u8 },
}

/// Merges, and writes the result over our side.
///
/// # Errors
/// `git.failed`, `git.io`; our side is as it was then.
pub(crate) fn merge(sides: &Sides<'_>, types: &FileTypes) -> Result<Merged, GitError> {
    let known = item(sides.path, types);
    let texts = [sides.ours, sides.base, sides.theirs].map(read);
    let [ours, base, theirs] = texts;
    let (ours, base, theirs) = (ours?, base?, theirs?);
    if is_lock(sides.path)
        && let (Some(ours), Some(base), Some(theirs)) = (&ours, &base, &theirs)
    {
        return match MergedLock::new(ours, base, theirs) {
            Some(merged) => {
                write(sides.ours, merged.text.as_bytes())?;
                Ok(Merged::Lock { later: merged.later, gone: merged.gone })
            }
            None => plainly(sides),
        };
    }
    let (Some((item, comment)), Some(ours), Some(base), Some(theirs)) = (known, ours, base, theirs)
    else {
        // An item that is too large is none; git knows what to do.
        return plainly(sides);
    };
    // A file below `.ai` without a signature is no item: a module, a test spec, a note.
    let is_signed = |text: &Vec<u8>| !line_range(text, &comment).is_empty();
    if ![&ours, &base, &theirs].into_iter().any(is_signed) {
        return plainly(sides);
    }
    let bare = [&ours, &base, &theirs].map(|text| without_line(text, &comment));
    let folder = tempfile::Builder::new().prefix("rye-merge-").tempdir();
    let folder = folder.map_err(GitError::io(std::env::temp_dir()))?;
    let files = ["ours", "base", "theirs"].map(|name| folder.path().join(name));
    for (file, text) in files.iter().zip(&bare) {
        fs::write(file, text).map_err(GitError::io(file))?;
    }
    let (text, conflicts) = merge_file(&files, sides)?;
    if conflicts == 0 && text == bare[0] && (is_signed(&ours) || text != bare[2]) {
        return Ok(Merged::Kept);
    }
    if conflicts == 0 && text == bare[2] {
        write(sides.ours, &theirs)?;
        return Ok(Merged::Kept);
    }
    write(sides.ours, &text)?;
    Ok(Merged::Unsigned { item, conflicts })
}

/// As git merges any file.
fn plainly(sides: &Sides<'_>) -> Result<Merged, GitError> {
    let files = [sides.ours, sides.base, sides.theirs].map(Path::to_owned);
    let (text, conflicts) = merge_file(&files, sides)?;
    write(sides.ours, &text)?;
    Ok(Merged::Plain { conflicts })
}

/// Returns true if a path is that of the lock of some project.
fn is_lock(path: &str) -> bool {
    let below = ai_folders(Path::new(path)).next_back();
    below.is_some_and(|(_, below)| below == Path::new(LOCK_FILE))
}

/// The item that a path below some `.ai` names, and how its comments look.
fn item(path: &str, types: &FileTypes) -> Option<(Ref, Comment)> {
    let (_, below) = ai_folders(Path::new(path)).next_back()?;
    let below = below.to_str()?;
    let kind = Kind::ALL
        .into_iter()
        .find(|kind| below.strip_prefix(kind.folder()).is_some_and(|rest| rest.starts_with('/')))?;
    let (id, ext) = below[kind.folder().len() + 1..].rsplit_once('.')?;
    let comment = types.find(kind, ext)?.comment;
    Some((Ref::new(kind, id.parse().ok()?), comment))
}

/// `None` for what is larger than an item can be.
fn read(path: &Path) -> Result<Option<Vec<u8>>, GitError> {
    let read = File::open(path).and_then(|mut file| read_at_most(&mut file, ITEM_BYTES, 0));
    match read.map_err(GitError::io(path))? {
        Bounded::All(bytes) => Ok(Some(bytes)),
        Bounded::More => Ok(None),
    }
}

fn without_line(text: &[u8], comment: &Comment) -> Vec<u8> {
    let range = line_range(text, comment);
    [&text[..range.start], &text[range.end..]].concat()
}

/// Ours, base and theirs, merged by git as it merges any text; and how many conflicts there are.
fn merge_file(files: &[PathBuf; 3], sides: &Sides<'_>) -> Result<(Vec<u8>, u8), GitError> {
    let [ours, base, theirs] = files.each_ref().map(|file| file.to_string_lossy());
    let marker = format!("--marker-size={}", sides.marker);
    let args = [
        "merge-file",
        "-p",
        &marker,
        "-L",
        "ours",
        "-L",
        "base",
        "-L",
        "theirs",
        "--",
        &ours,
        &base,
        &theirs,
    ];
    // In the folder that git started the driver in, so that its configuration counts.
    let output = Git::find(None)?.run(Path::new("."), &args, None)?;
    match output.code {
        // 127 is the most that it counts; beyond stand failures.
        code @ 0..=127 => Ok((output.stdout, u8::try_from(code).unwrap_or(u8::MAX))),
        _ => Err(failed(&args, &output)),
    }
}

/// The file is git's own temporary one; it copies it where it belongs.
fn write(path: &Path, text: &[u8]) -> Result<(), GitError> {
    fs::write(path, text).map_err(GitError::io(path))
}
