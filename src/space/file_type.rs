//! File types: extension to comment style and header reader (core 1.4).

use std::collections::BTreeMap;

use crate::id::Kind;

/// How a comment of one line begins and ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Comment {
    pub(crate) open: String,
    pub(crate) close: String,
}

impl Comment {
    fn new(open: &str, close: &str) -> Self {
        Self { open: open.into(), close: close.into() }
    }
}

/// Which reader finds a file's metadata.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum HeaderStyle {
    Python,
    Yaml,
    Toml,
    Markdown,
    /// A `/// rye` block in comments that begin with `comment`.
    Block {
        comment: String,
    },
}

/// The meaning of an extension.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileType {
    pub(crate) comment: Comment,
    pub(crate) header: HeaderStyle,
}

/// The extensions of each kind: the built-in ones, and those that a signed config of the user or
/// system space registers for tools. A project has no way to add one.
#[derive(Debug, Clone, Default)]
pub(crate) struct FileTypes {
    registered: BTreeMap<String, FileType>,
}

const TOOL: &[&str] =
    &["py", "yaml", "yml", "js", "ts", "mjs", "cjs", "sh", "rb", "pl", "lua", "toml"];
const DIRECTIVE: &[&str] = &["md"];
const KNOWLEDGE: &[&str] = &["md", "yaml", "yml"];
const CONFIG: &[&str] = &["yaml", "yml", "toml"];

impl FileTypes {
    /// Adds a type for tools; false for a built-in extension, which keeps its meaning.
    pub(crate) fn register(&mut self, extension: String, comment: &str) -> bool {
        if built_in(&extension).is_some() {
            return false;
        }
        let comment = comment.trim();
        let block = HeaderStyle::Block { comment: comment.to_owned() };
        let comment = Comment::new(&format!("{comment} "), "");
        self.registered.insert(extension, FileType { comment, header: block });
        true
    }

    /// The extensions that make a file below the kind's folder an item.
    pub(crate) fn extensions(&self, kind: Kind) -> impl Iterator<Item = &str> {
        let (built_in, more) = match kind {
            Kind::Tool => (TOOL, Some(self.registered.keys().map(String::as_str))),
            Kind::Directive => (DIRECTIVE, None),
            Kind::Knowledge => (KNOWLEDGE, None),
            Kind::Config => (CONFIG, None),
        };
        built_in.iter().copied().chain(more.into_iter().flatten())
    }

    pub(crate) fn find(&self, kind: Kind, extension: &str) -> Option<FileType> {
        let known = self.extensions(kind).any(|ext| ext == extension);
        let registered = || (kind == Kind::Tool).then(|| self.registered.get(extension)).flatten();
        known.then(|| built_in(extension).or_else(|| registered().cloned())).flatten()
    }
}

fn built_in(extension: &str) -> Option<FileType> {
    let hash = || Comment::new("# ", "");
    let (comment, header) = match extension {
        "py" => (hash(), HeaderStyle::Python),
        "yaml" | "yml" => (hash(), HeaderStyle::Yaml),
        "toml" => (hash(), HeaderStyle::Toml),
        "sh" | "rb" | "pl" => (hash(), HeaderStyle::Block { comment: "#".into() }),
        "js" | "ts" | "mjs" | "cjs" => {
            (Comment::new("// ", ""), HeaderStyle::Block { comment: "//".into() })
        }
        "lua" => (Comment::new("-- ", ""), HeaderStyle::Block { comment: "--".into() }),
        "md" => (Comment::new("<!-- ", " -->"), HeaderStyle::Markdown),
        _ => return None,
    };
    Some(FileType { comment, header })
}

#[cfg(test)]
mod tests {
    use super::FileTypes;
    use crate::id::Kind;

    #[test]
    fn a_registered_type_is_for_tools_and_changes_no_built_in_one() {
        let mut types = FileTypes::default();
        assert!(types.register("sql".into(), "--"));
        assert!(!types.register("py".into(), "%") && !types.register("md".into(), "%"));
        assert_eq!(types.find(Kind::Tool, "sql").unwrap().comment.open, "-- ");
        assert_eq!(types.find(Kind::Tool, "py").unwrap().comment.open, "# ");
        assert_eq!(types.find(Kind::Config, "sql"), None);
        assert_eq!(types.find(Kind::Directive, "py"), None);
    }
}
