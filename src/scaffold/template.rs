//! The texts that new items begin with.

use crate::id::{Kind, Ref};

/// The language of a template.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lang {
    Python,
    JavaScript,
    TypeScript,
    Shell,
    Yaml,
    Toml,
    Markdown,
    /// The models of a server, for threads.
    Provider,
    /// JavaScript in rye itself, for a snippet that calls tools.
    #[cfg(feature = "code")]
    Snippet,
}

/// Kind, language, extension, text. The first one of a kind is what is meant without a language.
type Row = (Kind, Lang, &'static str, &'static str);
const TEMPLATES: &[Row] = &[
    (Kind::Tool, Lang::Python, "py", include_str!("templates/tool.py")),
    (Kind::Tool, Lang::JavaScript, "mjs", include_str!("templates/tool.mjs")),
    (Kind::Tool, Lang::TypeScript, "ts", include_str!("templates/tool.ts")),
    (Kind::Tool, Lang::Shell, "sh", include_str!("templates/tool.sh")),
    (Kind::Tool, Lang::Yaml, "yaml", include_str!("templates/tool.yaml")),
    (Kind::Tool, Lang::Toml, "toml", include_str!("templates/tool.toml")),
    (Kind::Tool, Lang::Provider, "yaml", include_str!("templates/provider.yaml")),
    #[cfg(feature = "code")]
    (Kind::Tool, Lang::Snippet, "js", include_str!("templates/snippet.js")),
    (Kind::Directive, Lang::Markdown, "md", include_str!("templates/directive.md")),
    (Kind::Knowledge, Lang::Markdown, "md", include_str!("templates/knowledge.md")),
    (Kind::Knowledge, Lang::Yaml, "yaml", include_str!("templates/knowledge.yaml")),
];

impl Lang {
    pub(crate) const ALL: &[Self] = &[
        Self::Python,
        Self::JavaScript,
        Self::TypeScript,
        Self::Shell,
        Self::Yaml,
        Self::Toml,
        Self::Markdown,
        Self::Provider,
        #[cfg(feature = "code")]
        Self::Snippet,
    ];

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Python => "python",
            Self::JavaScript => "javascript",
            Self::TypeScript => "typescript",
            Self::Shell => "shell",
            Self::Yaml => "yaml",
            Self::Toml => "toml",
            Self::Markdown => "markdown",
            Self::Provider => "provider",
            #[cfg(feature = "code")]
            Self::Snippet => "snippet",
        }
    }

    /// Other names that people type.
    pub(crate) fn aliases(self) -> &'static [&'static str] {
        match self {
            Self::Python => &["py", "python3"],
            Self::JavaScript => &["js", "mjs", "node"],
            Self::TypeScript => &["ts"],
            Self::Shell => &["sh", "bash"],
            Self::Yaml => &["yml"],
            Self::Toml => &[],
            Self::Markdown => &["md"],
            Self::Provider => &[],
            #[cfg(feature = "code")]
            Self::Snippet => &[],
        }
    }

    /// Returns true if a file whose ending is that of `other` may be of this one.
    pub(crate) fn may_end_like(self, other: Self) -> bool {
        if self == Self::Provider && other == Self::Yaml {
            return true;
        }
        #[cfg(feature = "code")]
        if self == Self::Snippet && other == Self::JavaScript {
            return true;
        }
        self == other
    }

    /// The program to install before a tool of it can run, if that is more than its name says.
    pub(crate) fn needs(self) -> Option<&'static str> {
        (self == Self::TypeScript).then_some("Node.js 22.18 or later, which drops the types itself")
    }
}

/// The template of a kind; without a language its usual one.
pub(super) fn find(kind: Kind, lang: Option<Lang>) -> Option<(Lang, &'static str, &'static str)> {
    let fits = |row: &&Row| row.0 == kind && lang.is_none_or(|lang| row.1 == lang);
    TEMPLATES.iter().find(fits).map(|(_, lang, ext, text)| (*lang, *ext, *text))
}

/// The languages that a kind has templates in.
pub(crate) fn languages(kind: Kind) -> Vec<&'static str> {
    TEMPLATES.iter().filter(|row| row.0 == kind).map(|row| row.1.as_str()).collect()
}

/// The template for an item. An id is plain ASCII, so it needs no quoting in any of the languages.
pub(super) fn filled(text: &str, item: &Ref, author: &str) -> String {
    let name = item.id.name();
    let words = name.replace(['_', '-', '.'], " ");
    let mut letters = words.chars();
    let first = letters.next().map(|c| c.to_ascii_uppercase()).unwrap_or_default();
    let title = format!("{first}{}", letters.as_str());
    let plain = |c: &char| c.is_ascii_alphanumeric() || "._- ".contains(*c);
    let author: String = author.chars().filter(plain).collect();
    let author = if author.trim().is_empty() { "me" } else { author.trim() };
    text.replace("{{title}}", title.trim())
        .replace("{{name}}", name)
        .replace("{{category}}", item.id.folder())
        .replace("{{word}}", &word(item.id.folder()))
        .replace("{{author}}", author)
}

/// A path as YAML, in quotes where without them it would be nothing, a number or a truth.
fn word(path: &str) -> String {
    let taken = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];
    let plain = path.starts_with(|c: char| c.is_ascii_alphabetic()) && !taken.contains(&path);
    if plain { path.to_owned() } else { format!("\"{path}\"") }
}

#[cfg(test)]
mod tests {
    use super::{Lang, TEMPLATES, filled, find};
    use crate::id::Kind;

    #[test]
    fn every_language_has_a_template_and_nothing_stays_unfilled() {
        for lang in Lang::ALL {
            assert!(TEMPLATES.iter().any(|row| row.1 == *lang), "{lang:?}");
        }
        assert_eq!(find(Kind::Tool, None).map(|t| t.0), Some(Lang::Python));
        assert_eq!(find(Kind::Config, None), None);
        for (kind, lang, _, text) in TEMPLATES {
            let item = format!("{kind}:acme/say_hello").parse().unwrap();
            let text = filled(text, &item, "a<b>\"c\n");
            assert!(text.contains("Say hello") && text.ends_with('\n'), "{lang:?}");
            assert!(!text.contains("{{") && !text.contains("a<b>"), "{lang:?}");
        }
    }
}
