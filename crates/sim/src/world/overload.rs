//! Links, cells and hosts that gave up very many packets.

use super::World;
use super::wires::RadioPlace;
use crate::link::{DropReason, End};
use serde::Serialize;
use std::collections::BTreeMap;

/// Fewest packets that are reported (chosen).
const LEAST: u64 = 1_000;
/// Divisor of the offered packets that gives the smallest share reported: a tenth (chosen).
const SHARE: u64 = 10;

/// A link, a cell or a host that gave up at least a thousand packets, and a tenth of the packets offered to it, for one reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Overload {
    /// Name of the link, "NETWORK.CELL" of a radio network, or name of the node.
    pub place: String,
    /// "down" or "up" of a link, "host" of a node.
    pub way: &'static str,
    /// Cause, as in the table of packets; for a host the key of the summary's `discarded`.
    pub cause: &'static str,
    /// Packets given up for that reason.
    pub dropped: u64,
    /// Packets that were offered there; of a host all that hosts sent.
    pub offered: u64,
}

/// Packets that each link lost, by the end at which they were offered and by the reason.
#[derive(Clone, Debug, Default)]
pub(super) struct Drops(BTreeMap<(usize, End, DropReason), u64>);

/// Packets offered at a place, and those lost there by reason.
#[derive(Default)]
struct Balance {
    offered: u64,
    dropped: BTreeMap<DropReason, u64>,
}

impl Drops {
    /// Counts the loss of a packet offered at this end of a link.
    pub fn count(&mut self, link: usize, from: End, reason: DropReason) {
        *self.0.entry((link, from, reason)).or_default() += 1;
    }

    /// Adds the counts of another part of the world.
    pub fn take_over(&mut self, other: &Drops) {
        for (&place, count) in &other.0 {
            *self.0.entry(place).or_default() += count;
        }
    }

    /// Returns all counts: link, end, reason and number.
    fn all(&self) -> impl Iterator<Item = (usize, End, DropReason, u64)> + '_ {
        let all = self.0.iter();
        all.map(|(&(link, from, reason), &count)| (link, from, reason, count))
    }
}

impl World {
    /// Returns the places that gave up packets by the thousand, the most first.
    pub(super) fn overloads(&self) -> Vec<Overload> {
        let mut all = self.overloaded_hosts();
        for ((place, from), balance) in self.balances() {
            let way = ["down", "up"][from.index()];
            let found = balance
                .dropped
                .into_iter()
                .map(|(reason, dropped)| Overload {
                    place: place.clone(),
                    way,
                    cause: reason.name(),
                    dropped,
                    offered: balance.offered,
                });
            all.extend(found);
        }
        all.retain(|one| one.dropped >= LEAST && one.dropped.saturating_mul(SHARE) >= one.offered);
        all.sort_by(|one, other| {
            other
                .dropped
                .cmp(&one.dropped)
                .then(one.place.cmp(&other.place))
        });
        all
    }

    /// Returns each link's packets; those of all aircraft in a cell count as the cell's.
    fn balances(&self) -> BTreeMap<(String, End), Balance> {
        let mut balances: BTreeMap<(String, End), Balance> = BTreeMap::new();
        let mut offer = |place: String, offered: [u64; 2]| {
            for from in End::ALL {
                balances.entry((place.clone(), from)).or_default().offered += offered[from.index()];
            }
        };
        for (number, wire) in self.net.wires.all_plain().iter().enumerate() {
            offer(self.place_of(number), wire.offered);
        }
        for (radio, run) in self.scenario.radios.iter().zip(&self.net.radios) {
            for (cell, offered) in radio.config.cells.iter().zip(run.offered()) {
                offer(format!("{}.{}", radio.config.name, cell.name), *offered);
            }
        }
        for (link, from, reason, count) in self.probes.drops.all() {
            let balance = balances.entry((self.place_of(link), from)).or_default();
            *balance.dropped.entry(reason).or_default() += count;
        }
        balances
    }

    /// Returns the name of a link, or for a link to a cell that of the cell.
    fn place_of(&self, link: usize) -> String {
        let Some(RadioPlace { radio, cell, .. }) = self.net.wires.place(link) else {
            return self.scenario.links[link].config.name.clone();
        };
        let network = &self.scenario.radios[radio as usize].config;
        format!(
            "{}.{}",
            network.name,
            network.cells[usize::from(cell.0)].name
        )
    }

    /// Returns overloaded hosts. Multicast packets and packets of agents often have no receiver: they are left out.
    fn overloaded_hosts(&self) -> Vec<Overload> {
        let offered = self.net.packets.numbered();
        let mut all = Vec::new();
        for (node, name) in self.net.nodes.iter().zip(&self.scenario.nodes) {
            let host = node.host.discarded();
            let causes = [
                ("no_route", host.no_route),
                ("ingress_filter", host.ingress_filter),
                ("too_big", host.too_big),
                ("hop_limit", host.hop_limit),
                ("damaged", host.damaged),
                ("backlog", host.backlog),
                ("tunnelled", host.tunnelled),
            ];
            let found = causes.into_iter().filter(|(_, count)| *count > 0);
            all.extend(found.map(|(cause, dropped)| Overload {
                place: name.clone(),
                way: "host",
                cause,
                dropped,
                offered,
            }));
        }
        all
    }
}
