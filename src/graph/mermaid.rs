//! The graph as Mermaid, for Markdown that is drawn where it is read.

use std::fmt::Write as _;

use super::model::{Graph, Standing};
use crate::base::text::escape_line;

impl Graph {
    /// A flow chart from left to right.
    pub(crate) fn to_mermaid(&self) -> String {
        let mut out = "flowchart LR\n".to_owned();
        for node in &self.nodes {
            let mut words = format!("{} {}", node.standing.mark(), node.verdict());
            if let Some(space) = node.space.filter(|_| node.path.is_some()) {
                let _ = write!(words, " · {space}");
            }
            let (label, words) = (text(&node.label), text(&words));
            let class = node.standing.class();
            let _ = writeln!(out, "  n{}[\"{label}<br/>{words}\"]:::{class}", node.id);
        }
        for edge in &self.edges {
            let arrow = if edge.tie.is_idle() { "-.->" } else { "-->" };
            let _ = writeln!(out, "  n{} {arrow}|{}| n{}", edge.from, edge.tie.word(), edge.to);
        }
        for standing in Standing::ALL {
            if self.nodes.iter().any(|node| node.standing == standing) {
                let _ = writeln!(out, "  classDef {} {}", standing.class(), style(standing));
            }
        }
        out
    }
}

/// Fill and text are given, so that a page's dark theme does not change one without the other.
fn style(standing: Standing) -> &'static str {
    match standing {
        Standing::You => "fill:#dafbe1,stroke:#1a7f37,color:#1f2328",
        Standing::DevKey => "fill:#fff8c5,stroke:#bc4c00,color:#1f2328",
        Standing::Publisher => "fill:#ddf4ff,stroke:#0969da,color:#1f2328",
        Standing::Trusted => "fill:#fbefff,stroke:#8250df,color:#1f2328",
        Standing::Covered => "fill:#f6f8fa,stroke:#1b7c83,color:#1f2328",
        Standing::Machine => "fill:#f6f8fa,stroke:#6e7781,color:#1f2328",
        Standing::Unverified => "fill:#fff8c5,stroke:#9a6700,color:#1f2328",
        Standing::Refused => "fill:#ffebe9,stroke:#cf222e,color:#1f2328,stroke-width:2px",
    }
}

/// Text inside quotes: what could end them, be markup or be a code is written as a code.
fn text(raw: &str) -> String {
    let mut out = String::new();
    for sign in escape_line(raw).chars() {
        let plain = sign.is_alphanumeric() || " ./_-@:,()✓✗○·+!".contains(sign);
        if plain {
            out.push(sign);
        } else {
            let _ = write!(out, "#{};", u32::from(sign));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::text;

    #[test]
    fn nothing_in_a_label_is_markup() {
        assert_eq!(text("tool:acme/x"), "tool:acme/x");
        assert_eq!(text("a\"]<b>#;\n"), "a#34;#93;#60;b#62;#35;#59;#92;n");
    }
}
