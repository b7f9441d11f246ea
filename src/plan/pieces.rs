//! The pieces of a filled-in template of a signed item.
//!
//! The private folder of a run is not known while the run is planned, and no text may stand for it:
//! a folder's name or a caller's value could imitate that text. So it is a piece of its own until
//! the child is started, and what is judged are the pieces.

use std::path::{Path, PathBuf};

use super::params::Params;

/// One piece of a text.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Piece {
    /// Text of the signed item, or of this machine: a folder, a variable.
    Text(String),
    /// A path below the private folder; empty for the folder itself.
    Private(String),
    /// The caller's parameters, as JSON.
    Params(Params),
}

/// A text in pieces; two texts never stand side by side.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Pieces(Vec<Piece>);

impl Pieces {
    pub(super) fn text(text: impl Into<String>) -> Self {
        let mut pieces = Self::default();
        pieces.push_text(&text.into());
        pieces
    }

    pub(super) fn private(below: impl Into<String>) -> Self {
        Self(vec![Piece::Private(below.into())])
    }

    pub(super) fn push_text(&mut self, text: &str) {
        match self.0.last_mut() {
            _ if text.is_empty() => {}
            Some(Piece::Text(last)) => last.push_str(text),
            _ => self.0.push(Piece::Text(text.to_owned())),
        }
    }

    pub(super) fn push(&mut self, piece: Piece) {
        match piece {
            Piece::Text(text) => self.push_text(&text),
            other => self.0.push(other),
        }
    }

    pub(super) fn extend(&mut self, other: &Self) {
        other.0.iter().for_each(|piece| self.push(piece.clone()));
    }

    pub(super) fn iter(&self) -> std::slice::Iter<'_, Piece> {
        self.0.iter()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The text, with the private folder at `pin`.
    pub(super) fn render(&self, pin: &Path) -> String {
        let mut out = String::new();
        for piece in &self.0 {
            match piece {
                Piece::Text(text) => out.push_str(text),
                Piece::Private(below) => out.push_str(&at(pin, below).to_string_lossy()),
                Piece::Params(params) => out.push_str(&params.json()),
            }
        }
        out
    }

    /// Returns true if it names the private folder.
    pub(super) fn is_private(&self) -> bool {
        self.0.iter().any(|piece| matches!(piece, Piece::Private(_)))
    }

    /// The path below the private folder that the whole text is; `None` where it is another one.
    pub(super) fn below_private(&self) -> Option<PathBuf> {
        let (Piece::Private(below), rest) = self.0.split_first()? else { return None };
        if rest.iter().any(|piece| matches!(piece, Piece::Private(_))) {
            return None;
        }
        let rest = Self(rest.to_vec()).render(Path::new(""));
        let is_below = rest.is_empty() || rest.starts_with('/') || !below.is_empty();
        is_below.then(|| PathBuf::from(format!("{below}{rest}").trim_start_matches('/')))
    }

    /// Returns true if it names the private folder and leads out of it, or may.
    pub(super) fn leaves_private(&self) -> bool {
        // Behind the folder itself, letters make the name of another folder.
        let mut pairs = self.0.windows(2);
        let beside = pairs.any(|pair| match pair {
            [Piece::Private(below), Piece::Text(text)] => {
                let is_of_name = |c: char| c.is_alphanumeric() || "._-+@~".contains(c);
                below.is_empty() && text.starts_with(is_of_name)
            }
            [Piece::Private(below), _] => below.is_empty(),
            _ => false,
        });
        self.is_private() && (beside || self.has_way_up())
    }

    /// Returns true if a part of it is `..`.
    pub(super) fn has_way_up(&self) -> bool {
        let text = self.render(Path::new("/"));
        text.split(['/', ':', '=', ',', ';']).any(|part| part == "..")
    }

    /// Returns true if it contains a NUL; JSON never does.
    pub(super) fn has_nul(&self) -> bool {
        self.0.iter().any(|piece| matches!(piece, Piece::Text(text) if text.contains('\0')))
    }

    /// Its length in bytes, without the path of the private folder.
    pub(super) fn len(&self) -> usize {
        let lengths = self.0.iter().map(|piece| match piece {
            Piece::Text(text) | Piece::Private(text) => text.len(),
            Piece::Params(params) => params.json().len(),
        });
        lengths.sum()
    }

    /// The text as people are shown it.
    pub(super) fn shown(&self) -> String {
        self.render(Path::new(SHOWN))
    }
}

/// How the private folder is written where people see it.
pub(super) const SHOWN: &str = "{private folder}";

/// The place of a path below the private folder.
fn at(pin: &Path, below: &str) -> PathBuf {
    if below.is_empty() { pin.to_owned() } else { pin.join(below) }
}

#[cfg(test)]
mod tests {
    use super::{Piece, Pieces};
    use std::path::Path;

    fn pieces(all: &[Result<&str, &str>]) -> Pieces {
        let mut out = Pieces::default();
        for piece in all {
            match piece {
                Ok(text) => out.push_text(text),
                Err(private) => out.push(Piece::Private((*private).into())),
            }
        }
        out
    }

    #[test]
    fn what_leads_out_of_the_private_folder_table() {
        for (parts, below, leaves) in [
            (&[Err("tool"), Ok("/x.sh")][..], Some("tool/x.sh"), false),
            (&[Err("tool"), Ok("x")], Some("toolx"), false),
            (&[Err("")], Some(""), false),
            (&[Err(""), Ok("/tool")], Some("tool"), false),
            (&[Err(""), Ok("x")], None, true),
            (&[Err("tool"), Ok("/../x")], Some("tool/../x"), true),
            (&[Ok("--x="), Err("tool"), Ok("/..")], None, true),
            (&[Err("tool"), Ok(":"), Err("lib")], None, false),
            (&[Ok("{private folder}/../x")], None, false),
            (&[Ok("../x")], None, false),
        ] {
            let it = pieces(parts);
            assert_eq!(it.below_private().as_deref(), below.map(Path::new), "{parts:?}");
            assert_eq!(it.leaves_private(), leaves, "{parts:?}");
        }
    }

    #[test]
    fn the_private_folder_is_written_where_it_stands() {
        let it = pieces(&[Ok("a:"), Err("tool"), Ok("/x:"), Err("")]);
        assert_eq!(it.render(Path::new("/p")), "a:/p/tool/x:/p");
        assert_eq!(it.shown(), "a:{private folder}/tool/x:{private folder}");
    }
}
