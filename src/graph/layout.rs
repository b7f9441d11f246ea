//! Where nodes stand: in columns, by how far they are from what was asked for.

use super::model::Graph;

/// The left upper corner of a node, in pixels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Spot {
    pub(super) x: usize,
    pub(super) y: usize,
}

/// Node sizes and gaps, in pixels.
pub(super) const HEIGHT: usize = 46;
const ROW: usize = HEIGHT + 14;
/// Between columns; an edge's word stands there.
pub(super) const GAP: usize = 120;

/// A place for each node, in the order of the nodes, given their widths.
pub(super) fn spots(graph: &Graph, widths: &[usize]) -> Vec<Spot> {
    let columns = columns(graph);
    let users = users(graph);
    let count = columns.iter().max().map_or(0, |last| last + 1);
    let mut spots = vec![Spot { x: 0, y: 0 }; graph.nodes.len()];
    let mut x = 0;
    for column in 0..count {
        let mut members: Vec<(usize, usize)> = (0..spots.len())
            .filter(|id| columns[*id] == column)
            .map(|id| (wish(graph, &users[id], &columns, &spots, id), id))
            .collect();
        // Edges are sorted, so the chain comes first among those with one wish.
        members.sort_by_key(|(wish, id)| (*wish, users[*id].first().copied().unwrap_or(0), *id));
        let mut free = 0;
        for (wish, id) in &members {
            let y = (*wish).max(free);
            spots[*id] = Spot { x, y };
            free = y + ROW;
        }
        let widest = members.iter().map(|(_, id)| widths[*id]).max().unwrap_or(0);
        x += widest + GAP;
    }
    spots
}

/// For each node the edges into it, by their places.
fn users(graph: &Graph) -> Vec<Vec<usize>> {
    let mut users = vec![Vec::new(); graph.nodes.len()];
    for (at, edge) in graph.edges.iter().enumerate() {
        users[edge.to].push(at);
    }
    users
}

/// The first row that a node would like: the middle of what uses it.
fn wish(graph: &Graph, users: &[usize], columns: &[usize], spots: &[Spot], id: usize) -> usize {
    let users = users.iter().map(|at| graph.edges[*at].from);
    let rows: Vec<usize> =
        users.filter(|from| columns[*from] < columns[id]).map(|from| spots[from].y).collect();
    match rows.len() {
        0 => 0,
        count => rows.iter().sum::<usize>() / count / ROW * ROW,
    }
}

/// The longest way from a root to each node; a circle is entered once.
fn columns(graph: &Graph) -> Vec<usize> {
    let mut columns = vec![0; graph.nodes.len()];
    let mut open = vec![false; graph.nodes.len()];
    for root in &graph.roots {
        deepen(graph, *root, 0, &mut columns, &mut open);
    }
    columns
}

fn deepen(graph: &Graph, id: usize, depth: usize, columns: &mut [usize], open: &mut [bool]) {
    if open[id] || (depth > 0 && columns[id] >= depth) {
        return;
    }
    columns[id] = columns[id].max(depth);
    open[id] = true;
    for edge in graph.uses(id) {
        deepen(graph, edge.to, depth + 1, columns, open);
    }
    open[id] = false;
}
