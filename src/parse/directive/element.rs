//! One XML element with its place in the file.

use roxmltree::Node;

use crate::base::limits::NEAR_NAMES;
use crate::base::text::{Position, escape_line, near, position};
use crate::parse::error::{PARSE_DIRECTIVE, PARSE_LIMIT, ParseFault};

/// Most attributes of one XML element, for the same reason.
const XML_ATTRIBUTES: usize = 64;

/// The file that an element stands in, and where in it the XML begins.
#[derive(Debug, Clone, Copy)]
pub(super) struct File<'t> {
    pub(super) text: &'t str,
    pub(super) xml: usize,
}

/// An element of the metadata.
#[derive(Debug, Clone, Copy)]
pub(super) struct Element<'d> {
    node: Node<'d, 'd>,
    file: File<'d>,
}

impl<'d> Element<'d> {
    pub(super) fn new(node: Node<'d, 'd>, file: File<'d>) -> Self {
        Self { node, file }
    }

    pub(super) fn name(&self) -> &'d str {
        self.node.tag_name().name()
    }

    pub(super) fn position(&self) -> Position {
        position(self.file.text.as_bytes(), self.start())
    }

    /// Where it opens in the file, in bytes.
    pub(super) fn start(&self) -> usize {
        self.file.xml + self.node.range().start
    }

    pub(super) fn fault(&self, why: impl Into<String>) -> ParseFault {
        ParseFault::new(PARSE_DIRECTIVE, why).at(self.position())
    }

    /// The element as it is written.
    pub(super) fn raw(&self) -> String {
        let range = self.node.range();
        self.file.text[self.file.xml + range.start..self.file.xml + range.end].to_owned()
    }

    pub(super) fn attribute(&self, name: &str) -> Option<&'d str> {
        self.node.attribute(name)
    }

    pub(super) fn attributes(&self) -> impl Iterator<Item = (&'d str, &'d str)> + use<'d> {
        self.node.attributes().map(|attribute| (attribute.name(), attribute.value()))
    }

    /// The elements right inside.
    pub(super) fn children(&self) -> impl Iterator<Item = Self> + use<'d> {
        let file = self.file;
        self.node.children().filter(Node::is_element).map(move |node| Self { node, file })
    }

    /// The elements anywhere inside, in the order of the text.
    pub(super) fn descendants(&self) -> impl Iterator<Item = Self> + use<'d> {
        let file = self.file;
        let all = self.node.descendants().skip(1);
        all.filter(Node::is_element).map(move |node| Self { node, file })
    }

    /// Returns true if the element stands inside one of these names that is right inside the root.
    pub(super) fn is_inside(&self, names: &[&str]) -> bool {
        self.node.ancestors().skip(1).any(|above| names.contains(&above.tag_name().name()))
    }

    /// The one element of that name right inside, if there is one.
    pub(super) fn child(&self, name: &str) -> Result<Option<Self>, ParseFault> {
        let mut found = self.children().filter(|child| child.name() == name);
        let first = found.next();
        match found.next() {
            Some(second) => Err(second.fault(format!("`<{name}>` occurs twice"))),
            None => Ok(first),
        }
    }

    /// Returns true if words stand right inside.
    pub(super) fn holds_text(&self) -> bool {
        let mut texts = self.node.children().filter(Node::is_text).filter_map(|text| text.text());
        texts.any(|text| !text.trim().is_empty())
    }

    /// The text inside, CDATA as text, without the white space around it.
    pub(super) fn text(&self) -> Result<String, ParseFault> {
        if let Some(child) = self.children().next() {
            let (name, child_name) = (self.name(), escape_line(child.name()));
            return Err(child.fault(format!("`<{name}>` holds text only, not `<{child_name}>`")));
        }
        let parts = self.node.children().filter(Node::is_text).filter_map(|text| text.text());
        Ok(parts.collect::<String>().trim().to_owned())
    }

    /// The text inside as one line.
    pub(super) fn line(&self) -> Result<String, ParseFault> {
        Ok(self.text()?.split_whitespace().collect::<Vec<_>>().join(" "))
    }

    /// Refuses attributes other than these.
    pub(super) fn only(&self, known: &[&str]) -> Result<(), ParseFault> {
        match self.attributes().find(|(name, _)| !known.contains(name)) {
            Some((name, _)) => Err(self.unknown(name, known, "not an attribute of")),
            None => Ok(()),
        }
    }

    /// The fault of a name that is not known here, with the nearest one that is.
    pub(super) fn unknown(&self, name: &str, known: &[&str], what: &str) -> ParseFault {
        let near = near(name, known.iter().copied(), NEAR_NAMES);
        let hint = match near.first() {
            Some(near) => format!("; did you mean `{near}`?"),
            None if known.is_empty() => "; it takes none".to_owned(),
            None => format!("; known are `{}`", known.join("`, `")),
        };
        self.fault(format!("`{}` is {what} `<{}>`{hint}", escape_line(name), self.name()))
    }

    /// Refuses an element that has more attributes than one may have.
    pub(super) fn capped(&self) -> Result<(), ParseFault> {
        if self.node.attributes().len() <= XML_ATTRIBUTES {
            return Ok(());
        }
        let why = format!("an element has more than {XML_ATTRIBUTES} attributes");
        Err(ParseFault::new(PARSE_LIMIT, why).at(self.position()))
    }
}
