//! Groups of nodes that stay together.

/// Nodes in disjoint groups, which can be joined.
#[derive(Clone, Debug)]
pub(super) struct Groups {
    /// Another node of the same group, or itself for the group's first one.
    towards: Vec<u32>,
}

impl Groups {
    /// Creates groups of one node each.
    pub fn new(nodes: usize) -> Groups {
        Groups {
            towards: (0..nodes as u32).collect(),
        }
    }

    /// Returns the node that stands for a node's group.
    pub fn of(&mut self, node: usize) -> usize {
        let mut at = node;
        while self.towards[at] as usize != at {
            let next = self.towards[at] as usize;
            self.towards[at] = self.towards[next];
            at = next;
        }
        at
    }

    /// Joins the groups of two nodes. Returns true if they were apart.
    pub fn join(&mut self, one: usize, other: usize) -> bool {
        let (one, other) = (self.of(one), self.of(other));
        // The least node stands for its group, whatever the order of joining.
        self.towards[one.max(other)] = one.min(other) as u32;
        one != other
    }
}

#[cfg(test)]
mod tests {
    use super::Groups;

    #[test]
    fn joined_nodes_have_one_group_and_the_least_stands_for_it() {
        let mut groups = Groups::new(6);
        assert!(groups.join(5, 3));
        assert!(groups.join(3, 1));
        assert!(!groups.join(1, 5));
        assert_eq!(
            [0, 1, 2, 3, 4, 5].map(|node| groups.of(node)),
            [0, 1, 2, 1, 4, 1]
        );
    }
}
