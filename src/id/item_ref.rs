//! References to items.

use std::fmt;
use std::str::FromStr;

use super::{IdError, ItemId, Kind, Space};

/// Kind and id: `tool:acme/deploy`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Ref {
    pub(crate) kind: Kind,
    pub(crate) id: ItemId,
}

impl Ref {
    pub(crate) fn new(kind: Kind, id: ItemId) -> Self {
        Self { kind, id }
    }

    /// The two configs below `rye/` that a person writes in their user space (core 4.4).
    pub(crate) fn is_own_config(&self) -> bool {
        self.kind == Kind::Config && matches!(self.id.as_str(), "rye/policy" | "rye/file-types")
    }

    /// A config about keys. In a project it is a proposal, which nobody goes by and which needs no
    /// signature (core 4.3).
    pub(crate) fn is_about_keys(&self) -> bool {
        self.kind == Kind::Config && self.id.as_str().starts_with("keys/")
    }
}

impl FromStr for Ref {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        match split_kind(text) {
            (Some(kind), id) => Ok(Self { kind: kind.parse()?, id: id.parse()? }),
            (None, _) => Err(IdError::UnknownKind { kind: String::new() }),
        }
    }
}

impl fmt::Display for Ref {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.kind, self.id)
    }
}

impl serde::Serialize for Ref {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

/// What a person types to name an item: an id, with or without a kind, with or without a space.
///
/// `acme/deploy`, `tool:acme/deploy`, `tool:acme/deploy@user`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Query {
    pub(crate) kind: Option<Kind>,
    pub(crate) id: ItemId,
    pub(crate) space: Option<Space>,
}

impl From<Ref> for Query {
    fn from(item: Ref) -> Self {
        Self { kind: Some(item.kind), id: item.id, space: None }
    }
}

impl FromStr for Query {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        // The one form with a second colon.
        let bundle = text.rsplit_once('@').filter(|(_, space)| space.starts_with("system:"));
        if let Some((_, space)) = bundle {
            return Err(IdError::UnknownSpace { text: space.to_owned() });
        }
        let (kind, rest) = split_kind(text);
        let (id, space) = match rest.rsplit_once('@') {
            Some((id, space)) => (id, Some(space.parse()?)),
            None => (rest, None),
        };
        Ok(Self { kind: kind.map(str::parse).transpose()?, id: id.parse()?, space })
    }
}

impl fmt::Display for Query {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(kind) = self.kind {
            write!(f, "{kind}:")?;
        }
        write!(f, "{}", self.id)?;
        match self.space {
            Some(space) => write!(f, "@{space}"),
            None => Ok(()),
        }
    }
}

/// Splits `kind:path` at the first colon; a bare path has no kind.
fn split_kind(text: &str) -> (Option<&str>, &str) {
    match text.split_once(':') {
        Some((kind, path)) => (Some(kind), path),
        None => (None, text),
    }
}

#[cfg(test)]
mod tests {
    use super::{Query, Ref};

    #[test]
    fn queries_table() {
        for text in
            ["a/b", "tool:a/b", "tool:a/b@user", "a@system", "knowledge:rye/errors/id.malformed"]
        {
            assert_eq!(text.parse::<Query>().map(|q| q.to_string()).as_deref(), Ok(text));
        }
        for (text, code) in [
            ("toll:a", "kind"),
            (":a", "kind"),
            ("tool:", "empty"),
            ("tool:a@mars", "space"),
            ("a:b:c", "kind"),
            ("tool:a:b", "holds"),
        ] {
            let error = text.parse::<Query>().unwrap_err().to_string();
            assert!(error.contains(code), "{text:?}: {error}");
        }
    }

    #[test]
    fn a_ref_has_a_kind() {
        assert_eq!("tool:a/b".parse::<Ref>().map(|r| r.to_string()).as_deref(), Ok("tool:a/b"));
        assert!("a/b".parse::<Ref>().is_err());
    }
}
