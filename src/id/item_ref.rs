//! References to items.

use std::fmt;
use std::str::FromStr;

use super::{BundleName, IdError, ItemId, Kind, Space};

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

    /// Returns true if a copy in a nearer space that equals the system's byte for byte is passed
    /// over: of an id under `rye/`, which no nearer space may have, and of config, of which every
    /// copy is read (core 2.3).
    pub(crate) fn yields_to_system(&self) -> bool {
        self.id.is_reserved() || self.kind == Kind::Config
    }

    /// A tool that rye asks by itself before other tools run.
    pub(crate) fn is_hook(&self) -> bool {
        self.kind == Kind::Tool && self.id.as_str().starts_with("hooks/")
    }

    /// A config about keys. In a project it is a proposal, which decides nothing and needs no
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

/// The name that a person types for an item: an id, with or without a kind, with or without a
/// space.
///
/// `acme/deploy`, `tool:acme/deploy`, `tool:acme/deploy@user`, `tool:acme/deploy@system:tools`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Query {
    pub(crate) kind: Option<Kind>,
    pub(crate) id: ItemId,
    pub(crate) space: Option<Space>,
    /// The one of the system space's bundles; its items, and no others.
    pub(crate) bundle: Option<BundleName>,
}

impl From<Ref> for Query {
    fn from(item: Ref) -> Self {
        Self { kind: Some(item.kind), id: item.id, space: None, bundle: None }
    }
}

impl FromStr for Query {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        // The one form with a second colon.
        if let Some((item, bundle)) = text.rsplit_once("@system:") {
            let query = item.parse::<Self>()?;
            if query.space.is_some() {
                return Err(IdError::UnknownSpace { text: text.chars().take(80).collect() });
            }
            let bundle = Some(bundle.parse()?);
            return Ok(Self { space: Some(Space::System), bundle, ..query });
        }
        let (kind, rest) = split_kind(text);
        let (id, space) = match rest.rsplit_once('@') {
            Some((id, space)) => (id, Some(space.parse()?)),
            None => (rest, None),
        };
        let kind = kind.map(str::parse).transpose()?;
        Ok(Self { kind, id: id.parse()?, space, bundle: None })
    }
}

impl fmt::Display for Query {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(kind) = self.kind {
            write!(f, "{kind}:")?;
        }
        write!(f, "{}", self.id)?;
        match (&self.bundle, self.space) {
            (Some(bundle), _) => write!(f, "@{}:{bundle}", Space::System),
            (None, Some(space)) => write!(f, "@{space}"),
            (None, None) => Ok(()),
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
        for text in [
            "a/b",
            "tool:a/b",
            "tool:a/b@user",
            "a@system",
            "tool:a/b@system:acme.x",
            "a@system:b",
            "knowledge:rye/errors/id.malformed",
        ] {
            assert_eq!(text.parse::<Query>().map(|q| q.to_string()).as_deref(), Ok(text));
        }
        for (text, code) in [
            ("toll:a", "kind"),
            (":a", "kind"),
            ("tool:", "empty"),
            ("tool:a@mars", "space"),
            ("tool:a@system:B", "bundle"),
            ("tool:a@system:", "bundle"),
            ("tool:a@user@system:b", "space"),
            ("tool:a@user:b", "space"),
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
