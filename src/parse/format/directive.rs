//! The XML in a directive's fence: one element a line, indented, attributes in order.

use std::ops::Range;

use roxmltree::{Attribute, Document, Node, NodeType};

use super::rank;
use crate::parse::directive::{METADATA, metadata_range};

const SECTIONS: [&str; 4] = ["metadata", "permissions", "inputs", "outputs"];
/// Elements that are given to other readers as written, so they keep their bytes.
const VERBATIM: [&str; 3] = ["hooks", "cost", "context"];
const ATTRIBUTES: [&str; 7] =
    ["name", "version", "extends", "type", "required", "default", "description"];

/// The text with its metadata in shape; title, preamble and body keep their bytes.
///
/// # Errors
/// A sentence that says why the text is left as it is.
pub(super) fn fence(text: &str) -> Result<String, String> {
    let range = metadata_range(text).map_err(|fault| fault.why)?;
    let xml = &text[range.clone()];
    let document = Document::parse(xml).map_err(|error| error.to_string())?;
    let root = document.root_element();
    // Text around the root, such as an XML declaration, keeps its bytes.
    let (before, behind) = (&xml[..root.range().start], &xml[root.range().end..]);
    let mut printed = Printed { xml, out: String::new() };
    if !before.trim().is_empty() {
        printed.out.push_str(before);
    }
    printed.node(root, 0);
    if !behind.trim().is_empty() {
        printed.out.truncate(printed.out.trim_end_matches('\n').len());
        printed.out.push_str(behind);
    }
    Ok(format!("{}{}{}", &text[..range.start], printed.out, &text[range.end..]))
}

struct Printed<'t> {
    xml: &'t str,
    out: String,
}

impl Printed<'_> {
    /// One node on lines of its own.
    fn node(&mut self, node: Node<'_, '_>, depth: usize) {
        if node.node_type() == NodeType::Text {
            return;
        }
        self.out.push_str(&"  ".repeat(depth));
        match node.node_type() {
            NodeType::Element if !VERBATIM.contains(&node.tag_name().name()) => {
                self.element(node, depth);
            }
            _ => self.out.push_str(&self.xml[node.range()]),
        }
        self.out.push('\n');
    }

    fn element(&mut self, node: Node<'_, '_>, depth: usize) {
        let name = node.tag_name().name();
        self.out.push('<');
        self.out.push_str(name);
        let mut attributes: Vec<Attribute<'_, '_>> = node.attributes().collect();
        // Parameters of an action keep their order, because they are shown and hashed as written.
        let is_action = matches!(name, "execute" | "fetch" | "sign" | "param");
        if !is_action {
            attributes.sort_by_key(|attribute| rank(&ATTRIBUTES, attribute.name()));
        }
        for attribute in attributes {
            let raw = &self.xml[attribute.range_value()];
            let quote = if raw.contains('"') { '\'' } else { '"' };
            self.out.push_str(&format!(" {}={quote}{raw}{quote}", attribute.name()));
        }
        let Some(inside) = inside(node) else {
            let alone = self.xml[node.range()].ends_with("/>");
            self.out.push_str(if alone { "/>" } else { "></" });
            self.out.push_str(if alone { "" } else { name });
            self.out.push_str(if alone { "" } else { ">" });
            return;
        };
        self.out.push('>');
        if is_mixed(node) {
            let inner = &self.xml[inside];
            let kept = if inner.contains('\n') { inner } else { inner.trim() };
            self.out.push_str(kept);
        } else {
            self.out.push('\n');
            self.children(node, depth + 1);
            self.out.push_str(&"  ".repeat(depth));
        }
        self.out.push_str(&format!("</{name}>"));
    }

    /// The children, each with the comments above it, in the order of their kind.
    fn children(&mut self, node: Node<'_, '_>, depth: usize) {
        let order: &[&str] = match node.tag_name().name() {
            "directive" => &SECTIONS,
            "metadata" => &METADATA,
            _ => &[],
        };
        let mut groups: Vec<(usize, bool, Vec<Node<'_, '_>>)> = Vec::new();
        let (mut above, mut gap) = (Vec::new(), false);
        for child in node.children() {
            match child.node_type() {
                NodeType::Text => {
                    let lines = child.text().unwrap_or_default().matches('\n').count();
                    gap |= above.is_empty() && lines > 1;
                }
                NodeType::Element => {
                    above.push(child);
                    let rank = rank(order, child.tag_name().name());
                    groups.push((rank, std::mem::take(&mut gap), std::mem::take(&mut above)));
                }
                _ => above.push(child),
            }
        }
        groups.sort_by_key(|(rank, ..)| *rank);
        groups.push((usize::MAX, gap, above));
        for (at, (_, gap, nodes)) in groups.into_iter().enumerate() {
            if gap && at > 0 && !nodes.is_empty() {
                self.out.push('\n');
            }
            for child in nodes {
                self.node(child, depth);
            }
        }
    }
}

/// The range of an element's content; `None` if there is none.
fn inside(node: Node<'_, '_>) -> Option<Range<usize>> {
    Some(node.first_child()?.range().start..node.last_child()?.range().end)
}

/// Whether the element holds text beside elements, or only text.
fn is_mixed(node: Node<'_, '_>) -> bool {
    let has_element = node.children().any(|child| !child.is_text());
    let blank = |child: Node<'_, '_>| child.text().unwrap_or_default().trim().is_empty();
    !has_element || node.children().any(|child| child.is_text() && !blank(child))
}
