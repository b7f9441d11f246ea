//! From an admitted source to the item it holds.

use super::config::Config;
use super::directive::Directive;
use super::error::{PARSE_METADATA, ParseError, ParseFault};
use super::knowledge::Knowledge;
use super::tool::{self, Tool};
use crate::id::Kind;
use crate::space::HeaderStyle;
use crate::verify::Source;

/// The id of the config item with the limits of runs.
const LIMITS_OF_RUNS: &str = "execution/execution";

/// One signed file's typed content.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Item {
    Tool(Box<Tool>),
    Directive(Box<Directive>),
    Knowledge(Knowledge),
    Config(Config),
}

impl Item {
    /// The item that a source holds; its kind is the one it was admitted as.
    ///
    /// # Errors
    /// A [`ParseError`] with the place in the file.
    pub(crate) fn parse(source: &Source) -> Result<Self, ParseError> {
        let style = source.header_style();
        let raw = || source.raw();
        parse(source.item().kind, &style, source.text(), raw)
            .and_then(|item| match &item {
                Self::Config(config) if source.item().id.as_str() == LIMITS_OF_RUNS => {
                    tool::check_limits(&config.value).map(|()| item)
                }
                _ => Ok(item),
            })
            .map_err(|fault| ParseError::new(source.item().clone(), source.place(), fault))
    }

    /// The version that the item says it has.
    pub(crate) fn version(&self) -> Option<String> {
        match self {
            Self::Tool(tool) => tool.version.clone(),
            Self::Directive(directive) => directive.version.clone(),
            Self::Knowledge(_) | Self::Config(_) => None,
        }
    }
}

pub(super) fn parse(
    kind: Kind,
    style: &HeaderStyle,
    text: &str,
    raw: impl FnOnce() -> String,
) -> Result<Item, ParseFault> {
    match (kind, style) {
        (Kind::Tool, style) => tool::parse(text, style).map(|tool| Item::Tool(Box::new(tool))),
        (Kind::Directive, _) => {
            Directive::parse(text).map(|directive| Item::Directive(Box::new(directive)))
        }
        (Kind::Knowledge, HeaderStyle::Yaml) => Knowledge::yaml(text, raw()).map(Item::Knowledge),
        (Kind::Knowledge, _) => Knowledge::markdown(text).map(Item::Knowledge),
        (Kind::Config, HeaderStyle::Yaml) => Config::yaml(text).map(Item::Config),
        (Kind::Config, HeaderStyle::Toml) => Config::toml(text).map(Item::Config),
        (Kind::Config, _) => Err(ParseFault::new(PARSE_METADATA, "a config is YAML or TOML")),
    }
}

#[cfg(test)]
mod tests {
    use super::{Item, parse};
    use crate::id::Kind;
    use crate::space::HeaderStyle;

    #[test]
    fn the_kind_and_the_style_choose_the_reader() {
        let fence = "```xml\n<directive name='x'/>\n```\nbody";
        let rows = [
            (Kind::Tool, HeaderStyle::Yaml, "version: '1'", "tool"),
            (Kind::Tool, HeaderStyle::Python, "x = 1", "tool"),
            (Kind::Directive, HeaderStyle::Markdown, fence, "directive"),
            (Kind::Directive, HeaderStyle::Markdown, "words", "parse.no_directive_fence"),
            (Kind::Knowledge, HeaderStyle::Markdown, "words", "knowledge"),
            (Kind::Knowledge, HeaderStyle::Yaml, "a: 1", "knowledge"),
            (Kind::Config, HeaderStyle::Yaml, "a: 1", "config"),
            (Kind::Config, HeaderStyle::Toml, "a = 1", "config"),
            (Kind::Config, HeaderStyle::Python, "a = 1", "parse.metadata"),
        ];
        for (kind, style, text, want) in rows {
            let got = parse(kind, &style, text, || text.to_owned());
            let got = got.map_or_else(
                |fault| fault.code.name(),
                |item| match item {
                    Item::Tool(_) => "tool",
                    Item::Directive(_) => "directive",
                    Item::Knowledge(_) => "knowledge",
                    Item::Config(_) => "config",
                },
            );
            assert_eq!(got, want, "{kind} {style:?}");
        }
    }
}
