//! Mobiles with a count, and the parts that each of them has for itself: the links that end at it, and the network
//! behind those to which it does not attach. The nodes across its access links exist once, for all.

use super::document::Path;
use super::error::quoted;
use super::raw::{RawMobile, RawScenario};
use super::resolve::Report;
use super::resolve_radios::attached;
use std::collections::{BTreeMap, BTreeSet};

/// A mobile with a count, and the parts that each copy has for itself.
pub(super) struct Fleet<'r> {
    pub mobile: &'r str,
    pub count: u32,
    /// Its node, and the nodes behind it.
    nodes: BTreeSet<&'r str>,
    links: BTreeSet<&'r str>,
}

/// All fleets, and the fleet of each node and link.
pub(super) struct Fleets<'r> {
    pub all: Vec<Fleet<'r>>,
    nodes: BTreeMap<&'r str, usize>,
    links: BTreeMap<&'r str, usize>,
}

impl<'r> Fleets<'r> {
    /// Determines the parts of each mobile. No part may belong to two.
    pub fn of(raw: &'r RawScenario, report: &mut Report<'_>) -> Fleets<'r> {
        let roads = Roads::new(raw);
        let mobiles = raw.mobiles.0.iter();
        let fleets = mobiles.filter_map(|(name, mobile)| roads.fleet(name, mobile));
        let mut fleets = Fleets {
            all: fleets.collect(),
            nodes: BTreeMap::new(),
            links: BTreeMap::new(),
        };
        for (number, fleet) in fleets.all.iter().enumerate() {
            let nodes = fleet.nodes.iter();
            let twice = nodes.filter(|node| fleets.nodes.insert(node, number).is_some());
            let twice = twice.chain(
                fleet
                    .links
                    .iter()
                    .filter(|link| fleets.links.insert(link, number).is_some()),
            );
            if let Some(thing) = twice.last() {
                let message = format!(
                    "{} also belongs to another mobile with a count; expected nodes and links of its own",
                    quoted(thing)
                );
                let path = Path::default().key("mobiles").key(fleet.mobile);
                report.wrong(&path.key("count"), message);
            }
        }
        fleets
    }

    /// Returns the number of the fleet whose mobiles each have such a node.
    pub fn of_node(&self, node: &str) -> Option<usize> {
        self.nodes.get(node).copied()
    }

    /// Returns the number of the fleet whose mobiles each have such a link.
    pub fn of_link(&self, link: &str) -> Option<usize> {
        self.links.get(link).copied()
    }

    /// Returns the numbers of a link's copies; one 0 if it belongs to no fleet.
    pub fn copies_of_link(&self, link: &str) -> impl Iterator<Item = u32> + use<> {
        self.copies(self.of_link(link))
    }

    /// Returns the numbers of the copies in a fleet; one 0 without a fleet.
    pub fn copies(&self, fleet: Option<usize>) -> impl Iterator<Item = u32> + use<> {
        match fleet {
            Some(fleet) => 1..=self.all[fleet].count,
            None => 0..=0,
        }
    }

    /// Returns the nodes of all fleets, and the number of copies of each.
    pub fn all_nodes(&self) -> impl Iterator<Item = (&'r str, u32)> {
        let nodes = self.nodes.iter();
        nodes.map(|(node, fleet)| (*node, self.all[*fleet].count))
    }
}

impl<'r> Fleet<'r> {
    /// Returns the nodes and, with true, links that each of its mobiles has for itself.
    pub fn own(&self) -> impl Iterator<Item = (&'r str, bool)> {
        let nodes = self.nodes.iter().map(|node| (*node, false));
        nodes.chain(self.links.iter().map(|link| (*link, true)))
    }
}

/// Returns the name of a copy.
pub(super) fn name_of(written: &str, number: u32) -> String {
    format!("{written}-{number}")
}

/// Links between nodes, as a graph.
struct Roads<'r> {
    raw: &'r RawScenario,
    /// Links that end at each node, and the nodes across.
    from: BTreeMap<&'r str, Vec<(&'r str, &'r str)>>,
}

impl<'r> Roads<'r> {
    fn new(raw: &'r RawScenario) -> Roads<'r> {
        let mut from: BTreeMap<&str, Vec<(&str, &str)>> = BTreeMap::new();
        for (name, link) in &raw.links.0 {
            if let Some([a, b]) = &link.between {
                from.entry(a).or_default().push((name, b));
                from.entry(b).or_default().push((name, a));
            }
        }
        Roads { raw, from }
    }

    fn at(&self, node: &str) -> &[(&'r str, &'r str)] {
        self.from.get(node).map_or(&[], Vec::as_slice)
    }

    /// Returns `known`, and all nodes to which links lead from `begin` without passing known ones.
    fn reach(&self, mut known: BTreeSet<&'r str>, begin: Vec<&'r str>) -> BTreeSet<&'r str> {
        let mut next = begin;
        while let Some(node) = next.pop() {
            if known.insert(node) {
                next.extend(self.at(node).iter().map(|(_, across)| across));
            }
        }
        known
    }

    fn fleet(&self, mobile: &'r str, raw: &'r RawMobile) -> Option<Fleet<'r>> {
        let count = raw.count?;
        let access: BTreeSet<&str> = attached(raw).collect();
        let (used, others): (Vec<_>, Vec<_>) = self
            .at(mobile)
            .iter()
            .partition(|(link, _)| access.contains(link));
        let radios = self
            .raw
            .links
            .0
            .iter()
            .filter(|(name, _)| access.contains(name.as_str()));
        let cells = radios.flat_map(|(_, link)| link.cells());
        let across = used.iter().map(|(_, across)| *across);
        let stations = cells.map(|(_, cell)| cell.node.as_str());
        let itself = BTreeSet::from([mobile]);
        let shared = self.reach(itself.clone(), across.chain(stations).collect());
        let all = self.reach(
            shared.clone(),
            others.iter().map(|(_, across)| *across).collect(),
        );
        let behind = all.difference(&shared).copied();
        let nodes: BTreeSet<&str> = itself.into_iter().chain(behind).collect();
        let links = nodes.iter().flat_map(|node| self.at(node));
        Some(Fleet {
            mobile,
            count,
            links: links.map(|(link, _)| *link).collect(),
            nodes,
        })
    }
}
