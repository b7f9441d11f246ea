//! A directive: what its fence declares, and the text around it.

use roxmltree::{Document, ParsingOptions};
use serde_json::{Map, Value};

use super::body::{Action, actions, trimmed};
use super::context::{DirectiveContext, context};
use super::element::{Element, File};
use super::fence::{Layout, cut};
use super::inputs::{DirectiveOutput, Input, inputs, outputs};
use super::metadata::{Model, child, limits, line, model, remote};
use super::permissions::{Acknowledged, acknowledged, capabilities};
use crate::base::limits::DATA_DEPTH;
use crate::base::text::{Position, PositionFinder, near, position};
use crate::diagnostic::Diagnose;
use crate::id::{IdError, ItemId};
use crate::parse::data::{plain, too_deep};
use crate::parse::error::{PARSE_DIRECTIVE, PARSE_XML, ParseFault};
use crate::parse::remote_files::RemoteFiles;

/// The elements that `<metadata>` may have (core 6.2).
pub(crate) const METADATA: [&str; 12] = [
    "description",
    "category",
    "author",
    "model",
    "limits",
    "permissions",
    "context",
    "hooks",
    "cost",
    "acknowledge",
    "tags",
    "remote",
];

/// The declarations of a directive, and its instructions for an agent.
///
/// Elements that rye does not know are passed over, but unknown limits and unknown attributes of
/// inputs are faults.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Directive {
    pub(crate) title: Option<String>,
    pub(crate) name: Option<String>,
    pub(crate) version: Option<String>,
    pub(crate) description: Option<String>,
    /// An empty category is the top level.
    pub(crate) category: Option<String>,
    pub(crate) author: Option<String>,
    /// Words for searching, separated by commas.
    pub(crate) tags: Vec<String>,
    pub(crate) extends: Option<ItemId>,
    pub(crate) model: Option<Model>,
    /// `None` where it has no `<limits>`, as those of a parent count then.
    pub(crate) limits: Option<Map<String, Value>>,
    /// Capabilities, see `permissions.rs`; `None` where it has no `<permissions>`, as those of a
    /// parent count then.
    pub(crate) permissions: Option<Vec<String>>,
    pub(crate) acknowledged: Vec<Acknowledged>,
    /// The files of the project that go with a remote run, and come back.
    pub(crate) remote: RemoteFiles,
    pub(crate) context: DirectiveContext,
    /// `<hooks>` and `<cost>` as written, for other readers.
    pub(crate) hooks: Option<String>,
    pub(crate) cost: Option<String>,
    pub(crate) inputs: Vec<Input>,
    pub(crate) outputs: Vec<DirectiveOutput>,
    pub(crate) actions: Vec<Action>,
    /// The text between title and fence.
    pub(crate) preamble: String,
    /// The text behind the fence.
    pub(crate) body: String,
    /// Elements whose names are nearly one of ours, each with its place; signing reports them.
    pub(crate) unknown: Vec<(String, Position)>,
    /// Where the fence opens in the file.
    pub(crate) fence: Position,
    /// Where the root element opens in the file.
    pub(crate) root: Position,
    /// Where the body begins in the file, in bytes.
    pub(crate) body_start: usize,
}

impl Directive {
    /// The directive that a file holds.
    ///
    /// # Errors
    /// `parse.no_directive_fence`, `parse.two_directive_fences`, `parse.limit`, `parse.xml` and
    /// `parse.directive`.
    pub(crate) fn parse(text: &str) -> Result<Self, ParseFault> {
        let text = &without_signature(text);
        let layout = cut(text)?;
        let xml = &text[layout.xml.clone()];
        let options = ParsingOptions { allow_dtd: false, ..ParsingOptions::default() };
        let document = Document::parse_with_options(xml, options)
            .map_err(|error| xml_fault(&error, text, layout.xml.start))?;
        let root = Element::new(document.root_element(), File { text, xml: layout.xml.start });
        bounded(&document, root)?;
        let directive = Self::read(root, text, &layout)?;
        directive.to_json(&str::to_owned).values().try_for_each(plain)?;
        Ok(directive)
    }

    /// Preamble and body: the file's words without its title and metadata.
    pub(crate) fn content(&self) -> String {
        if self.preamble.is_empty() {
            return self.body.clone();
        }
        format!("{}\n\n{}", self.preamble, self.body)
    }

    /// The declarations of the directive, with `render` applied to its body and its actions; what
    /// is not declared is left out.
    pub(crate) fn to_json(&self, render: &dyn Fn(&str) -> String) -> Map<String, Value> {
        let mut out = Map::new();
        let mut put = |key: &str, value: Value| {
            let nothing = match &value {
                Value::Null => true,
                Value::Object(map) => map.is_empty(),
                _ => false,
            };
            if !nothing {
                out.insert(key.to_owned(), value);
            }
        };
        let acknowledged = self.acknowledged.iter().map(Acknowledged::to_json).collect();
        put("title", self.title.clone().into());
        put("name", self.name.clone().into());
        put("version", self.version.clone().into());
        if let Some(parent) = &self.extends {
            put("extends", vec![parent.to_string()].into());
        }
        put("description", self.description.clone().into());
        put("category", self.category.clone().into());
        put("author", self.author.clone().into());
        if !self.tags.is_empty() {
            put("tags", self.tags.clone().into());
        }
        put("model", self.model.as_ref().map_or(Value::Null, Model::to_json));
        put("limits", Value::Object(self.limits.clone().unwrap_or_default()));
        put("permissions", self.permissions.clone().unwrap_or_default().into());
        put("acknowledged", acknowledged);
        put("hooks", self.hooks.clone().into());
        put("cost", self.cost.clone().into());
        put("inputs", self.inputs.iter().map(Input::to_json).collect());
        put("outputs", self.outputs.iter().map(DirectiveOutput::to_json).collect());
        put("actions", self.actions.iter().map(|action| action.to_json(render)).collect());
        put("body", render(&self.body).into());
        out
    }

    fn read(root: Element<'_>, text: &str, layout: &Layout) -> Result<Self, ParseFault> {
        let metadata = root.child("metadata")?;
        // Older files hold the permissions beside the metadata.
        let permissions = match (child(metadata, "permissions")?, root.child("permissions")?) {
            (Some(_), Some(second)) => return Err(second.fault("`<permissions>` occurs twice")),
            (inside, beside) => inside.or(beside),
        };
        let mut risks = metadata.map_or_else(|| Ok(Vec::new()), acknowledged)?;
        risks.extend(permissions.map_or_else(|| Ok(Vec::new()), acknowledged)?);
        let raw = |name| Ok(child(metadata, name)?.map(|element| element.raw()));
        let category = child(metadata, "category")?.map(|element| element.line()).transpose()?;
        let (blank, body) = trimmed(&text[layout.body.clone()]);
        Ok(Self {
            title: layout.title.clone(),
            name: attribute(root, "name"),
            version: attribute(root, "version"),
            description: line(metadata, "description")?,
            category,
            author: line(metadata, "author")?,
            tags: tags(metadata),
            extends: extends(root)?,
            model: child(metadata, "model")?.map(model).transpose()?,
            limits: child(metadata, "limits")?.map(limits).transpose()?,
            permissions: permissions.map(capabilities).transpose()?,
            acknowledged: risks,
            remote: child(metadata, "remote")?
                .map_or_else(|| Ok(RemoteFiles::default()), remote)?,
            context: child(metadata, "context")?
                .map_or_else(|| Ok(DirectiveContext::default()), context)?,
            hooks: raw("hooks")?,
            cost: raw("cost")?,
            inputs: root.child("inputs")?.map_or_else(|| Ok(Vec::new()), inputs)?,
            outputs: root.child("outputs")?.map_or_else(|| Ok(Vec::new()), outputs)?,
            actions: actions(root)?,
            preamble: trimmed(&text[layout.preamble.clone()]).1.to_owned(),
            body: body.to_owned(),
            unknown: unknown(root, metadata, text),
            fence: position(text.as_bytes(), layout.fence),
            root: root.position(),
            body_start: layout.body.start + blank,
        })
    }
}

/// Words separated by commas, or one element for each; other content is for other readers.
fn tags(metadata: Option<Element<'_>>) -> Vec<String> {
    let Ok(Some(element)) = child(metadata, "tags") else { return Vec::new() };
    let lines: Vec<String> = match element.line() {
        Ok(line) => line.split(',').map(|tag| tag.trim().to_owned()).collect(),
        Err(_) => element.children().filter_map(|tag| tag.line().ok()).collect(),
    };
    lines.into_iter().filter(|tag| !tag.is_empty()).collect()
}

/// Unknown children of the metadata, and children of the root whose names are nearly known; in the
/// order of the text.
fn unknown(
    root: Element<'_>,
    metadata: Option<Element<'_>>,
    text: &str,
) -> Vec<(String, Position)> {
    let sections = ["metadata", "inputs", "outputs", "permissions"];
    let mistyped = |element: &Element<'_>| {
        let name = element.name();
        !sections.contains(&name) && !near(name, sections.into_iter(), 1).is_empty()
    };
    let below = metadata.into_iter().flat_map(|metadata| metadata.children().collect::<Vec<_>>());
    let strange = below.filter(|element| !METADATA.contains(&element.name()));
    let mut found: Vec<Element<'_>> = root.children().filter(mistyped).chain(strange).collect();
    found.sort_by_key(Element::start);
    let mut places = PositionFinder::new(text.as_bytes());
    let found = found.into_iter();
    found.map(|element| (element.name().to_owned(), places.find(element.start()))).collect()
}

fn attribute(root: Element<'_>, name: &str) -> Option<String> {
    root.attribute(name).map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
}

fn extends(root: Element<'_>) -> Result<Option<ItemId>, ParseFault> {
    let Some(text) = attribute(root, "extends") else { return Ok(None) };
    let id = text.strip_prefix("directive:").unwrap_or(&text).parse();
    let fault = |error: IdError| ParseFault {
        code: error.code(),
        ..root.fault(format!("`extends`: {error}"))
    };
    id.map(Some).map_err(fault)
}

/// The length of the signature line at the top of a text, with its line feed; 0 where there is
/// none.
pub(crate) fn signature_length(text: &str) -> usize {
    let line = text.starts_with("<!-- rye:signed:").then(|| text.find('\n')).flatten();
    line.map_or(0, |feed| feed + 1)
}

/// The text with its signature line blanked, so that positions stay the same.
pub(super) fn without_signature(text: &str) -> String {
    match signature_length(text) {
        0 => text.to_owned(),
        length => format!("{}\n{}", " ".repeat(length - 1), &text[length..]),
    }
}

/// Refuses metadata that nests too deeply, has too many attributes, or is in a namespace.
fn bounded(document: &Document<'_>, root: Element<'_>) -> Result<(), ParseFault> {
    let (mut node, mut depth) = (document.root(), 0_usize);
    'walk: loop {
        if depth > DATA_DEPTH {
            return Err(too_deep().at(root.position()));
        }
        if let Some(child) = node.first_child() {
            (node, depth) = (child, depth + 1);
            continue;
        }
        loop {
            if let Some(next) = node.next_sibling() {
                node = next;
                break;
            }
            match node.parent() {
                Some(parent) => (node, depth) = (parent, depth - 1),
                None => break 'walk,
            }
        }
    }
    root.capped()?;
    for element in root.descendants() {
        element.capped()?;
    }
    match document.descendants().find(|node| node.tag_name().namespace().is_some()) {
        Some(_) => Err(ParseFault::new(PARSE_DIRECTIVE, "its metadata uses XML namespaces")
            .at(root.position())),
        None => Ok(()),
    }
}

/// The XML reader's fault with its place in the file.
fn xml_fault(error: &roxmltree::Error, text: &str, start: usize) -> ParseFault {
    let (begin, at) = (position(text.as_bytes(), start), error.pos());
    let (row, column) = (at.row as usize, at.col as usize);
    let line = begin.line + row.saturating_sub(1);
    let column = if row <= 1 { begin.column + column.saturating_sub(1) } else { column };
    let said = error.to_string();
    // The XML reader counts positions from the fence.
    let said = said.rsplit_once(" at ").map_or(said.as_str(), |(words, _)| words);
    ParseFault::new(PARSE_XML, format!("its metadata is not XML: {said}"))
        .at(Position { line, column })
}

#[cfg(test)]
#[path = "directive_tests.rs"]
mod tests;
