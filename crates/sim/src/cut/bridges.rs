//! Bridges of a graph: edges that are the only way between two of its halves.

/// An edge, by the two vertices that it joins.
pub(super) type Edge = [usize; 2];

/// Returns for each edge true if it is a bridge (Tarjan, "A note on finding the bridges of a graph", 1974).
pub(super) fn bridges(vertices: usize, edges: &[Edge]) -> Vec<bool> {
    let mut at: Vec<Vec<usize>> = vec![Vec::new(); vertices];
    for (number, edge) in edges.iter().enumerate() {
        edge.iter().for_each(|&vertex| at[vertex].push(number));
    }
    let mut search = Search {
        entered: vec![usize::MAX; vertices],
        lowest: vec![usize::MAX; vertices],
        entries: 0,
    };
    let mut found = vec![false; edges.len()];
    for root in 0..vertices {
        if search.entered[root] == usize::MAX {
            search.run(root, (&at, edges), &mut found);
        }
    }
    found
}

/// A depth-first search without recursion.
struct Search {
    /// Order in which vertices were entered.
    entered: Vec<usize>,
    /// The least order that a vertex reaches by its branch and one edge back.
    lowest: Vec<usize>,
    entries: usize,
}

impl Search {
    fn enter(&mut self, vertex: usize) {
        self.entered[vertex] = self.entries;
        self.lowest[vertex] = self.entries;
        self.entries += 1;
    }

    fn run(&mut self, root: usize, (at, edges): (&[Vec<usize>], &[Edge]), found: &mut [bool]) {
        // A vertex, the edge by which it was entered, and the number of its edges looked at.
        let mut path = vec![(root, usize::MAX, 0)];
        self.enter(root);
        while let Some(&mut (vertex, by, ref mut looked)) = path.last_mut() {
            let Some(&edge) = at[vertex].get(*looked) else {
                path.pop();
                if let Some(&(before, ..)) = path.last() {
                    self.lowest[before] = self.lowest[before].min(self.lowest[vertex]);
                    found[by] = self.lowest[vertex] > self.entered[before];
                }
                continue;
            };
            *looked += 1;
            let [one, other] = edges[edge];
            let next = if one == vertex { other } else { one };
            if edge == by {
                continue;
            }
            if self.entered[next] == usize::MAX {
                self.enter(next);
                path.push((next, edge, 0));
            } else {
                self.lowest[vertex] = self.lowest[vertex].min(self.entered[next]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::bridges;

    #[test]
    fn a_ring_has_none_and_its_tails_are_bridges() {
        // 0 - 1 - 2 - 0, 2 - 3, and two edges between 3 and 4; 5 alone.
        let edges = [[0, 1], [1, 2], [2, 0], [2, 3], [3, 4], [4, 3]];
        let found = bridges(6, &edges);
        assert_eq!(found, [false, false, false, true, false, false]);
    }

    #[test]
    fn all_edges_of_a_tree_are_bridges() {
        let edges = [[1, 0], [1, 2], [3, 1], [4, 3]];
        assert_eq!(bridges(5, &edges), [true; 4]);
    }
}
