//! Tables of a page in Markdown. The converter's own pads each cell to the widest of its column, so
//! a short page would become a long text.

use std::rc::Rc;

use htmd::element_handler::{HandlerResult, Handlers};
use markup5ever_rcdom::Node;

use super::html::name;

/// A table with a bar between cells.
pub(super) fn table(handlers: &dyn Handlers, node: &Rc<Node>) -> Option<HandlerResult> {
    let mut head = String::new();
    let mut rows: Vec<Vec<String>> = Vec::new();
    for part in node.children.borrow().iter() {
        match name(part).map(AsRef::as_ref) {
            Some("tr") => rows.extend(row(handlers, part)),
            Some("thead" | "tbody" | "tfoot") => {
                rows.extend(part.children.borrow().iter().filter_map(|tr| row(handlers, tr)));
            }
            Some("caption") => {
                let said = handlers.walk_children(part).content;
                head.push_str(&format!("{}\n\n", said.trim()));
            }
            _ => {}
        }
    }
    let columns = rows.iter().map(Vec::len).max()?;
    let mut lines = rows.into_iter();
    // Rows with fewer cells than the first are filled up by who reads them.
    let mut first = lines.next()?;
    first.resize(columns, String::new());
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let mut text = format!("\n\n{head}{}{}", line(&first), line(&vec!["-".into(); columns]));
    lines.for_each(|cells| text.push_str(&line(&cells)));
    text.push('\n');
    Some(text.into())
}

/// The cells of a row, each on one line; `None` of what is not a row or has no cells.
fn row(handlers: &dyn Handlers, tr: &Rc<Node>) -> Option<Vec<String>> {
    name(tr).filter(|name| name.as_ref() == "tr")?;
    let children = tr.children.borrow();
    let is_cell =
        |node: &&Rc<Node>| name(node).is_some_and(|it| matches!(it.as_ref(), "td" | "th"));
    let cells = children.iter().filter(is_cell).map(|cell| {
        let said = handlers.walk_children(cell).content;
        said.trim().replace('\n', " ").replace('|', "&#124;")
    });
    Some(cells.collect()).filter(|cells: &Vec<_>| !cells.is_empty())
}

#[cfg(test)]
mod tests {
    use crate::base::Address;
    use crate::web_page::html::words;

    #[test]
    fn tables_have_a_bar_between_cells_table() {
        let address = Address::parse("https://a.example/").unwrap();
        for (html, want) in [
            (
                "<table><caption>Of <b>it</b></caption><thead><tr><th>long head<th>b<tbody><tr><td>1\
                 <td>x|y<br>z<tr><td>2</table>end",
                "Of **it**\n\n| long head | b |\n| - | - |\n| 1 | x&#124;y   z |\n| 2 |\n\nend",
            ),
            ("<table><tr><td>1<tr><th>2<td>3</table>", "| 1 |  |\n| - | - |\n| 2 | 3 |"),
            ("<table></table>x", "x"),
            ("<table><tr></table>x", "x"),
        ] {
            assert_eq!(words(html, &address).markdown, want, "{html}");
        }
    }
}
