//! Choice among the cuts of a world: that with the most even parts, and among equals that with the longest delay.

use super::bonds::Bonds;
use super::bridges::bridges;
use super::groups::Groups;
use super::{Cut, PartOfCut};
use crate::scenario::model::{LinkIndex, NodeIndex, Scenario};
use baton_proto::time::Duration;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Expected load of a node itself, in thousandths of a mobile's or of a flow's end (chosen).
const OF_NODE: u64 = 1;
/// Expected load of a mobile, or of one end of a flow.
const OF_ACTIVE: u64 = 1000;
/// Expected load of a home agent for each of its mobiles (chosen).
const OF_BINDING: u64 = 200;
/// Most shortest delays of a cut link that are tried.
const MOST_TRIED: usize = 16;

/// Parts of a world.
#[derive(Clone, Debug)]
pub(super) struct Balance {
    of_nodes: Vec<u16>,
    /// Expected load of each part.
    loads: Vec<u64>,
    /// The shortest delay of a cut link.
    delay: Duration,
}

impl Balance {
    /// Returns the best cut into at most so many parts; none if all nodes stay together.
    pub fn best(scenario: &Scenario, bonds: &Bonds<'_>, most: usize) -> Option<Balance> {
        let loads = loads(scenario);
        let delays: BTreeSet<Duration> = bonds.long.iter().map(|&(_, delay)| delay).collect();
        let mut best: Option<Balance> = None;
        for &least in delays.iter().rev().take(MOST_TRIED) {
            let Some(next) = Balance::with(scenario, bonds, (&loads, least), most) else {
                continue;
            };
            // A shorter delay needs a gain of a twentieth.
            let is_better = |best: &Balance| next.largest() * 20 < best.largest() * 19;
            if best.as_ref().is_none_or(is_better) {
                best = Some(next);
            }
        }
        best
    }

    /// Cuts links with a delay of `least` or more.
    fn with(
        scenario: &Scenario,
        bonds: &Bonds<'_>,
        (loads, least): (&[u64], Duration),
        most: usize,
    ) -> Option<Balance> {
        let mut groups = bonds.groups.clone();
        let mut cut = Vec::new();
        for &(link, delay) in &bonds.long {
            let [a, b] = scenario.links[link.0].ends;
            if delay < least {
                groups.join(a.0, b.0);
            } else {
                cut.push([a.0, b.0]);
            }
        }
        if bonds.only_bridges {
            let edges: Vec<_> = cut
                .iter()
                .map(|edge| edge.map(|node| groups.of(node)))
                .collect();
            let found = bridges(scenario.nodes.len(), &edges);
            for (edge, is_bridge) in cut.iter().zip(found) {
                if !is_bridge {
                    groups.join(edge[0], edge[1]);
                }
            }
        }
        let (of_nodes, loads) = parts(&mut groups, loads, most);
        let crossing = bonds.long.iter();
        let crossing = crossing.filter(|&&(link, _)| crosses(scenario, &of_nodes, link));
        let delay = crossing.map(|&(_, delay)| delay).min()?;
        Some(Balance {
            of_nodes,
            loads,
            delay,
        })
    }

    fn largest(&self) -> u64 {
        self.loads.iter().copied().max().unwrap_or(0)
    }

    fn percent(&self, load: u64) -> u64 {
        let all: u64 = self.loads.iter().sum();
        (load * 100 + all / 2) / all.max(1)
    }

    /// Returns the share of the most loaded part, in per cent.
    pub fn largest_percent(&self) -> u64 {
        self.percent(self.largest())
    }

    /// Returns the cut.
    pub fn into_cut(self, scenario: &Scenario, bonds: &Bonds<'_>) -> Cut {
        let mut parts: Vec<PartOfCut> = (self.loads.iter())
            .map(|&load| PartOfCut {
                nodes: Vec::new(),
                share_percent: self.percent(load),
            })
            .collect();
        for (node, &part) in self.of_nodes.iter().enumerate() {
            parts[usize::from(part)].nodes.push(NodeIndex(node));
        }
        let links = bonds.long.iter().map(|&(link, _)| link);
        let links = links.filter(|&link| crosses(scenario, &self.of_nodes, link));
        Cut {
            parts,
            links: links.collect(),
            delay: self.delay,
            of_nodes: Arc::from(self.of_nodes),
        }
    }
}

/// Returns true if the ends of a link are in two parts.
fn crosses(scenario: &Scenario, of_nodes: &[u16], link: LinkIndex) -> bool {
    let [a, b] = scenario.links[link.0].ends;
    of_nodes[a.0] != of_nodes[b.0]
}

/// Returns the expected load of each node.
fn loads(scenario: &Scenario) -> Vec<u64> {
    let mut loads = vec![OF_NODE; scenario.nodes.len()];
    for mobile in &scenario.mobiles {
        loads[mobile.node.0] += OF_ACTIVE;
        if let Some(mobility) = mobile.mobility.as_deref() {
            loads[mobility.home_agent(&scenario.agents).0] += OF_BINDING;
        }
    }
    for flow in &scenario.flows {
        [flow.from, flow.to]
            .iter()
            .for_each(|end| loads[end.0] += OF_ACTIVE);
    }
    loads
}

/// Distributes groups over parts, the heaviest first, each to the part with the least load so far. Returns the part of each
/// node and the load of each part, the heaviest part first.
fn parts(groups: &mut Groups, loads: &[u64], most: usize) -> (Vec<u16>, Vec<u64>) {
    let mut by_group: BTreeMap<usize, u64> = BTreeMap::new();
    for (node, load) in loads.iter().enumerate() {
        *by_group.entry(groups.of(node)).or_default() += load;
    }
    let mut heaviest: Vec<(usize, u64)> = by_group.into_iter().collect();
    heaviest.sort_by_key(|&(first, load)| (core::cmp::Reverse(load), first));
    let mut of_parts = vec![0; most.min(heaviest.len())];
    let mut part_of_group = BTreeMap::new();
    for (first, load) in heaviest {
        let lightest = (0..of_parts.len())
            .min_by_key(|&part| of_parts[part])
            .unwrap_or(0);
        of_parts[lightest] += load;
        part_of_group.insert(first, lightest);
    }
    let mut order: Vec<usize> = (0..of_parts.len()).collect();
    order.sort_by_key(|&part| (core::cmp::Reverse(of_parts[part]), part));
    let mut place = vec![0; order.len()];
    order
        .iter()
        .enumerate()
        .for_each(|(new, &old)| place[old] = new as u16);
    let of_nodes = (0..loads.len()).map(|node| place[part_of_group[&groups.of(node)]]);
    let of_nodes = of_nodes.collect();
    (of_nodes, order.iter().map(|&part| of_parts[part]).collect())
}
