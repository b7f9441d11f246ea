//! The graph as one SVG file that needs nothing else: no script, no font, no other file.

use std::fmt::Write as _;

use super::layout::{GAP, HEIGHT, Spot, spots};
use super::model::{Edge, Graph, Node, Standing};
use crate::base::text::escape_line;

/// Around the picture, in pixels.
const MARGIN: usize = 20;
/// Labels are cut in the middle behind so many characters; the whole text is the node's title.
const LABEL_CHARS: usize = 46;
/// The width of a character of either line, in tenths of a pixel; a little more than fonts take.
const CHAR_WIDTHS: [usize; 2] = [79, 66];

impl Graph {
    /// The picture, readable in a light and in a dark page.
    pub(crate) fn to_svg(&self) -> String {
        let lines: Vec<[String; 2]> = self.nodes.iter().map(lines).collect();
        let widths: Vec<usize> = lines.iter().map(width).collect();
        let spots = spots(self, &widths);
        let edge = |at: fn(&Spot) -> usize, size: &dyn Fn(usize) -> usize| {
            spots.iter().enumerate().map(|(id, spot)| at(spot) + size(id)).max().unwrap_or(0)
        };
        let right = edge(|spot| spot.x, &|id| widths[id]);
        let bottom = edge(|spot| spot.y, &|_| HEIGHT);
        let legend = self.legend(bottom + 2 * MARGIN);
        let (across, down) = (right.max(legend.1) + 2 * MARGIN, bottom + 3 * MARGIN + legend.2);
        let mut out = String::new();
        let about = self.roots.iter().map(|root| self.nodes[*root].label.as_str());
        let about = about.take(3).collect::<Vec<_>>().join(", ");
        let more = if self.roots.len() > 3 { " and others" } else { "" };
        let _ = writeln!(
            out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{across}\" height=\"{down}\" \
             viewBox=\"-{MARGIN} -{MARGIN} {across} {down}\" role=\"img\">\n\
             <title>What {}{more} runs through and uses</title>",
            text(&about)
        );
        out.push_str(STYLE);
        let _ = writeln!(
            out,
            "<rect class=\"page\" x=\"-{MARGIN}\" y=\"-{MARGIN}\" width=\"{across}\" height=\"{down}\"/>"
        );
        for edge in &self.edges {
            arrow(&mut out, edge, &spots, &widths);
        }
        self.words(&mut out, &spots);
        for (node, lines) in self.nodes.iter().zip(&lines) {
            drawn(&mut out, node, lines, spots[node.id], widths[node.id]);
        }
        out.push_str(&legend.0);
        out.push_str("</svg>\n");
        out
    }

    /// The word of each kind of edge into a node, once, in front of it.
    fn words(&self, out: &mut String, spots: &[Spot]) {
        let mut ties: Vec<_> = self.edges.iter().map(|edge| (edge.to, edge.tie)).collect();
        ties.sort_unstable();
        ties.dedup();
        // They are in order, so those into one node stand together.
        let mut before = 0;
        for (at, (to, tie)) in ties.iter().enumerate() {
            let is_next = at > 0 && ties[at - 1].0 == *to;
            before = if is_next { before + 1 } else { 0 };
            let (x, y) = (spots[*to].x, spots[*to].y + HEIGHT / 2 + 12 * before);
            if x == 0 {
                continue;
            }
            let _ = writeln!(
                out,
                "<text class=\"tie\" x=\"{}\" y=\"{}\">{}</text>",
                x - 12,
                y.saturating_sub(6),
                tie.word()
            );
        }
    }

    /// The legend of the marks and colours that occur; its width and height.
    fn legend(&self, top: usize) -> (String, usize, usize) {
        let (mut out, mut row, mut widest) = (String::new(), 0, 0);
        for standing in Standing::ALL {
            if !self.nodes.iter().any(|node| node.standing == standing) {
                continue;
            }
            let y = top + 20 * row;
            let (class, mark) = (standing.class(), standing.mark());
            let words = format!("{mark} {}", standing.word());
            let _ = writeln!(
                out,
                "<rect class=\"bar {class}\" x=\"0\" y=\"{}\" width=\"14\" height=\"14\" rx=\"3\"/>\
                 <text class=\"note\" x=\"22\" y=\"{}\">{}</text>",
                y - 11,
                y,
                text(&words)
            );
            widest = widest.max(22 + words.chars().count() * CHAR_WIDTHS[1] / 10);
            row += 1;
        }
        (out, widest, 20 * row)
    }
}

/// The text on a node: its name; its verdict, version and space.
fn lines(node: &Node) -> [String; 2] {
    let mut below = format!("{} {}", node.standing.mark(), node.verdict());
    let space = node.space.filter(|_| node.path.is_some()).map(|space| space.to_string());
    for more in [space, node.version.clone()].into_iter().flatten() {
        let _ = write!(below, " · {more}");
    }
    [shortened(&escape_line(&node.label)), shortened(&escape_line(&below))]
}

/// The text with its middle left out if it is long: both ends tell files apart.
fn shortened(label: &str) -> String {
    let chars: Vec<char> = label.chars().collect();
    if chars.len() <= LABEL_CHARS {
        return label.to_owned();
    }
    let (front, back) = (LABEL_CHARS / 3, LABEL_CHARS - LABEL_CHARS / 3 - 1);
    let front: String = chars[..front].iter().collect();
    let back: String = chars[chars.len() - back..].iter().collect();
    format!("{front}…{back}")
}

fn width(lines: &[String; 2]) -> usize {
    let wide = lines.iter().zip(CHAR_WIDTHS).map(|(line, per)| line.chars().count() * per / 10);
    wide.max().unwrap_or(0) + 30
}

fn arrow(out: &mut String, edge: &Edge, spots: &[Spot], widths: &[usize]) {
    let (from, to) = (spots[edge.from], spots[edge.to]);
    let (x1, y1) = (from.x + widths[edge.from], from.y + HEIGHT / 2);
    let (x2, y2) = (to.x, to.y + HEIGHT / 2);
    // Columns differ in width: the bend lies in front of the target's column.
    let bend = x2.saturating_sub(GAP / 2).max(x1);
    let class = if edge.tie.is_idle() { "edge idle" } else { "edge" };
    let _ = writeln!(
        out,
        "<path class=\"{class}\" d=\"M{x1} {y1} C{bend} {y1} {} {y2} {x2} {y2}\"/>",
        x2.saturating_sub(GAP * 3 / 4)
    );
}

fn drawn(out: &mut String, node: &Node, lines: &[String; 2], at: Spot, width: usize) {
    let Spot { x, y } = at;
    let class = node.standing.class();
    let said = [Some(&node.label), node.path.as_ref(), node.error.as_ref(), node.help.as_ref()];
    let said: Vec<_> = said.into_iter().flatten().map(|part| escape_line(part)).collect();
    let _ = writeln!(
        out,
        "<g><title>{}</title>\
         <rect class=\"node {class}\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{HEIGHT}\" rx=\"6\"/>\
         <rect class=\"bar {class}\" x=\"{x}\" y=\"{y}\" width=\"6\" height=\"{HEIGHT}\" rx=\"3\"/>\
         <text class=\"name\" x=\"{}\" y=\"{}\">{}</text>\
         <text class=\"note\" x=\"{}\" y=\"{}\">{}</text></g>",
        text(&said.join("\n")),
        x + 16,
        y + 19,
        text(&lines[0]),
        x + 16,
        y + 36,
        text(&lines[1]),
    );
}

/// Text of XML.
fn text(raw: &str) -> String {
    raw.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
        .replace('\'', "&#39;")
}

const STYLE: &str = "<style>
.page{fill:#ffffff}.node{fill:#ffffff;stroke-width:1.5}.refused.node{stroke-width:2.5}
.name{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;fill:#1f2328}
.note,.tie{font:11px ui-sans-serif,system-ui,'DejaVu Sans',sans-serif;fill:#57606a}
.tie{text-anchor:end;paint-order:stroke;stroke:#ffffff;stroke-width:4px}
.edge{fill:none;stroke:#8c959f;stroke-width:1.4}.idle{stroke-dasharray:5 4}
.node.you{stroke:#1a7f37}.bar.you{fill:#1a7f37}.node.dev{stroke:#bc4c00}.bar.dev{fill:#bc4c00}.node.publisher{stroke:#0969da}.bar.publisher{fill:#0969da}
.node.trusted{stroke:#8250df}.bar.trusted{fill:#8250df}.node.covered{stroke:#1b7c83}.bar.covered{fill:#1b7c83}
.node.machine{stroke:#6e7781}.bar.machine{fill:#6e7781}.node.unverified{stroke:#9a6700}.bar.unverified{fill:#9a6700}
.node.refused{stroke:#cf222e}.bar.refused{fill:#cf222e}
@media (prefers-color-scheme:dark){.page,.node{fill:#0d1117}.name{fill:#e6edf3}.note,.tie{fill:#9198a1}
.tie{stroke:#0d1117}.edge{stroke:#656c76}
.node.you{stroke:#3fb950}.bar.you{fill:#3fb950}.node.dev{stroke:#f0883e}.bar.dev{fill:#f0883e}.node.publisher{stroke:#58a6ff}.bar.publisher{fill:#58a6ff}
.node.trusted{stroke:#bc8cff}.bar.trusted{fill:#bc8cff}.node.covered{stroke:#39c5cf}.bar.covered{fill:#39c5cf}
.node.machine{stroke:#8b949e}.bar.machine{fill:#8b949e}.node.unverified{stroke:#d29922}.bar.unverified{fill:#d29922}
.node.refused{stroke:#f85149}.bar.refused{fill:#f85149}}
</style>
";
