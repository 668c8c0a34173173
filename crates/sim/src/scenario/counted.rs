//! Mobiles of which there are several, and what each of them has for itself: the links that end at it, and the network
//! behind those that it does not attach to. What its access links lead to is there once, for all.

use super::document::Path;
use super::error::quoted;
use super::raw::{RawMobile, RawScenario};
use super::resolve::Report;
use super::resolve_radios::attached;
use std::collections::{BTreeMap, BTreeSet};

/// A mobile of which there are several, and what each of them has for itself.
pub(super) struct Fleet<'r> {
    pub mobile: &'r str,
    pub count: u32,
    /// Its node, and those behind it.
    nodes: BTreeSet<&'r str>,
    links: BTreeSet<&'r str>,
}

/// All of them, and what belongs to which.
pub(super) struct Fleets<'r> {
    pub all: Vec<Fleet<'r>>,
    nodes: BTreeMap<&'r str, usize>,
    links: BTreeMap<&'r str, usize>,
}

impl<'r> Fleets<'r> {
    /// Finds out what belongs to which mobile. Nothing may belong to two.
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
                    "{} belongs to another mobile with a count, too; expected nodes and links of its own",
                    quoted(thing)
                );
                let path = Path::default().key("mobiles").key(fleet.mobile);
                report.wrong(&path.key("count"), message);
            }
        }
        fleets
    }

    /// The number of the fleet whose mobiles each have such a node.
    pub fn of_node(&self, node: &str) -> Option<usize> {
        self.nodes.get(node).copied()
    }

    /// The number of the fleet whose mobiles each have such a link.
    pub fn of_link(&self, link: &str) -> Option<usize> {
        self.links.get(link).copied()
    }

    /// Numbers of a link's copies; one 0 if it is of no fleet.
    pub fn copies_of_link(&self, link: &str) -> impl Iterator<Item = u32> + use<> {
        self.copies(self.of_link(link))
    }

    /// The same of what belongs to a fleet.
    pub fn copies(&self, fleet: Option<usize>) -> impl Iterator<Item = u32> + use<> {
        match fleet {
            Some(fleet) => 1..=self.all[fleet].count,
            None => 0..=0,
        }
    }

    /// The nodes of all fleets, and how often each is there.
    pub fn all_nodes(&self) -> impl Iterator<Item = (&'r str, u32)> {
        let nodes = self.nodes.iter();
        nodes.map(|(node, fleet)| (*node, self.all[*fleet].count))
    }
}

impl<'r> Fleet<'r> {
    /// Nodes and, with true, links that each of its mobiles has for itself.
    pub fn own(&self) -> impl Iterator<Item = (&'r str, bool)> {
        let nodes = self.nodes.iter().map(|node| (*node, false));
        nodes.chain(self.links.iter().map(|link| (*link, true)))
    }
}

/// Name of a copy.
pub(super) fn name_of(written: &str, number: u32) -> String {
    format!("{written}-{number}")
}

/// Links between nodes, as a way from one to the next.
struct Roads<'r> {
    raw: &'r RawScenario,
    /// For each node the links that end there, and what is across.
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

    /// `known`, and all that links lead to from `begin` without passing what is known.
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
        let cells = radios.flat_map(|(_, link)| link.radio.cells.iter().flat_map(|cells| &cells.0));
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
