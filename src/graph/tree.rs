//! The graph as a tree for a terminal.

use std::collections::HashSet;
use std::fmt::Write as _;

use super::model::{Edge, Graph, Node, Standing};
use crate::base::text::escape_line;
use crate::diagnostic::{Paint, Style};
use crate::parse::DeclaredReach;

impl Graph {
    /// One tree a root. What was drawn with its parts before is not drawn with them again.
    pub(crate) fn to_text(&self, paint: Paint) -> String {
        let mut drawn = Drawn { graph: self, paint, seen: HashSet::new(), out: String::new() };
        for (at, root) in self.roots.iter().enumerate() {
            if at > 0 {
                drawn.out.push('\n');
            }
            drawn.node(&self.nodes[*root], None, "");
        }
        drawn.out
    }
}

struct Drawn<'g> {
    graph: &'g Graph,
    paint: Paint,
    seen: HashSet<usize>,
    out: String,
}

impl Drawn<'_> {
    fn node(&mut self, node: &Node, edge: Option<&Edge>, indent: &str) {
        let paint = self.paint;
        if let Some(edge) = edge {
            let word = paint.style(Style::Dim, edge.tie.word());
            let _ = write!(self.out, "{word} ");
        }
        let label = escape_line(&node.label);
        let label = if edge.is_none() { paint.style(Style::Strong, &label) } else { label };
        let _ = write!(self.out, "{label}");
        if let Some(version) = &node.version {
            let _ = write!(self.out, " {}", escape_line(version));
        }
        if let Some(space) = node.space.filter(|_| node.path.is_some()) {
            let _ = write!(self.out, "  {}", paint.style(Style::Dim, space.as_str()));
        }
        let style = match node.standing {
            Standing::You | Standing::Publisher | Standing::Trusted => Style::Good,
            Standing::Covered | Standing::Machine => Style::Dim,
            Standing::DevKey | Standing::Unverified => Style::Warning,
            Standing::Refused => Style::Error,
        };
        let verdict = format!("{} {}", node.standing.mark(), escape_line(&node.verdict()));
        let _ = write!(self.out, "  {}", paint.style(style, &verdict));
        // What it runs through and with is drawn below it.
        let rows = node.reach.iter().flat_map(DeclaredReach::rows);
        let rows = rows.filter(|(what, _)| !matches!(*what, "through" | "with"));
        let reach: Vec<_> =
            rows.map(|(what, value)| escape_line(&format!("{what} {value}"))).collect();
        if !reach.is_empty() {
            let _ = write!(self.out, "  {}", paint.style(Style::Dim, &reach.join(" · ")));
        }
        let edges = self.graph.uses(node.id);
        let again = !self.seen.insert(node.id) && !edges.is_empty();
        let _ = writeln!(self.out, "{}", if again { "  (as above)" } else { "" });
        if again {
            return;
        }
        for (at, edge) in edges.iter().enumerate() {
            let last = at + 1 == edges.len();
            let branch = if last { "└─ " } else { "├─ " };
            let _ = write!(self.out, "{indent}{}", paint.style(Style::Dim, branch));
            let inner = format!("{indent}{}", if last { "   " } else { "│  " });
            self.node(&self.graph.nodes[edge.to], Some(edge), &inner);
        }
    }
}
