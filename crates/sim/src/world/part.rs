//! A part of a world that is cut: it has all nodes, and drives its own ones.
//!
//! Each part is built from the whole scenario, so that numbers and names are the same everywhere, and handles only the
//! events of its own nodes and media. A cut link exists in both parts at its ends: the sending part has the queue and the
//! transmitter, the receiving part the packets in flight. [`World::send_over`] and [`World::receive`] move packets from one
//! to the other while no part runs.

use super::flow::Role;
use super::{Event, World};
use crate::link::{End, Launched, Outcome};
use crate::packets::Travelling;
use crate::record::SignalRecord;
use crate::scenario::model::Traffic;
use baton_proto::time::Instant;
use std::sync::Arc;

/// One part of a world, by its number.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    /// Its number, from 0.
    pub number: u16,
    /// Number of parts.
    pub count: u16,
    /// The part of each node.
    pub of_nodes: Arc<[u16]>,
    /// The cut links, ascending.
    pub cut_links: Arc<[u32]>,
}

/// A packet on its way over a cut link.
#[derive(Debug)]
pub(crate) struct Crossing {
    link: u32,
    outcome: Outcome,
    /// Time at which its fate is due.
    pub arrival: Instant,
    travelling: Travelling,
    /// The signal that it carries, where signals are recorded.
    signal: Option<Box<SignalRecord>>,
}

impl World {
    /// Returns true if another part drives a node.
    #[inline]
    pub(super) fn is_elsewhere(&self, node: usize) -> bool {
        let part = self.part.as_ref();
        part.is_some_and(|part| part.of_nodes[node] != part.number)
    }

    /// Leaves to the other parts all that the building of the world has begun for their nodes.
    pub(super) fn leave_to_others(&mut self) {
        if self.part.is_none() {
            return;
        }
        let mut queue = core::mem::take(&mut self.queue);
        queue.retain(|event| !self.is_event_elsewhere(event));
        self.queue = queue;
        let radios = core::mem::take(&mut self.net.touched_radios);
        let here = radios
            .into_iter()
            .filter(|&radio| !self.is_radio_elsewhere(radio));
        self.net.touched_radios = here.collect();
        let links = core::mem::take(&mut self.net.touched);
        for link in links {
            if self.is_link_elsewhere(link) {
                self.net.wires[link].touched = false;
            } else {
                self.net.touched.push(link);
            }
        }
        let to_tell = core::mem::take(&mut self.net.to_tell).into_iter();
        let here = to_tell.filter(|&(link, _)| !self.is_link_elsewhere(link));
        self.net.to_tell = here.collect();
        self.lead_to_mobiles_elsewhere();
    }

    /// Lets routes lead to the other parts' mobiles without a mobility protocol, as if attached: all ways to such a mobile
    /// enter its part by one link.
    fn lead_to_mobiles_elsewhere(&mut self) {
        let mut is_changed = false;
        for number in 0..self.net.mobiles.len() {
            let mobile = &self.net.mobiles[number];
            let node = mobile.node;
            let is_led = mobile.attached().is_some() || mobile.protocol.is_some();
            if !is_led
                && self.is_elsewhere(node.0)
                && let Some(&link) = self.net.links_of(node).first()
            {
                self.net.wires[link].in_use = true;
                is_changed = true;
            }
        }
        if is_changed {
            self.net.install_routes();
        }
    }

    fn is_link_elsewhere(&self, link: usize) -> bool {
        let ends = self.net.wires.ends(link);
        ends.iter().all(|&(node, _)| self.is_elsewhere(node))
    }

    fn is_radio_elsewhere(&self, radio: usize) -> bool {
        let stations = &self.scenario.radios[radio].stations;
        stations
            .iter()
            .all(|station| self.is_elsewhere(station.node.0))
    }

    fn is_event_elsewhere(&self, event: &Event) -> bool {
        match *event {
            Event::Link(link) => self.is_link_elsewhere(link as usize),
            Event::Host(node) => self.is_elsewhere(node as usize),
            Event::Flow(flow) => self.load.flows[flow as usize].keeper == Keeper::Elsewhere,
            Event::Change(change) => {
                let changed = self.scenario.changes[change as usize].link.0;
                self.is_link_elsewhere(changed)
            }
            Event::Radio(radio) => self.is_radio_elsewhere(radio as usize),
            Event::Notice(number) => {
                self.is_link_elsewhere(self.script.notices[number as usize].link)
            }
            Event::Carrier(carrier) => {
                let config = self.net.carriers[carrier as usize].config();
                let mut links = config.terminals.iter().map(|terminal| terminal.link.0);
                links.all(|link| self.is_link_elsewhere(link))
            }
            Event::Coder(coder) => self.is_link_elsewhere(self.net.coders[coder as usize].link),
            Event::Queue(queue) => self.is_link_elsewhere(self.net.queues[queue as usize].link),
        }
    }

    /// Decides in which parts the sources of flows keep their times.
    pub(super) fn share_flows(&mut self) {
        for flow in 0..self.load.flows.len() {
            let run = &self.load.flows[flow];
            let active = run.node_of(run.active());
            let measured = run.node_of(measured_at(&run.spec.traffic));
            self.load.flows[flow].keeper =
                match (self.is_elsewhere(active), self.is_elsewhere(measured)) {
                    (false, _) => Keeper::Here,
                    (true, false) => Keeper::Followed,
                    (true, true) => Keeper::Elsewhere,
                };
        }
    }

    /// Lets the far half of a flow follow what its source hands over, so that the half knows which data is due.
    #[cold]
    pub(super) fn follow_source(&mut self, flow: usize) {
        self.load.flows[flow].follow(self.now);
        self.arm_flow(flow);
    }

    /// Takes out the packets that have left over cut links by the present time, for each part in `parts`. Returns the
    /// earliest time of what comes next: an event here, an arrival there, or the departure of a packet, which is no event.
    pub(crate) fn send_over(&mut self, parts: &mut [Vec<Crossing>]) -> Instant {
        let mut earliest = self.next_time().unwrap_or(Instant::NEVER);
        let Some(part) = self.part.clone() else {
            return earliest;
        };
        for &link in part.cut_links.iter() {
            let ends = self.net.wires.ends(link as usize).map(|end| end.0);
            for from in End::ALL {
                let [own, far] = [from, from.other()].map(|end| part.of_nodes[ends[end.index()]]);
                if own != part.number {
                    continue;
                }
                while let Some(launched) = self
                    .net
                    .wires
                    .plain_mut(link as usize)
                    .link
                    .take_launched(self.now, from)
                {
                    earliest = earliest.min(launched.arrival);
                    parts[usize::from(far)].push(self.depart(link, launched));
                }
                let launch = self.net.wires.plain(link as usize).link.next_launch(from);
                earliest = earliest.min(launch);
            }
        }
        earliest
    }

    fn depart(&mut self, link: u32, launched: Launched) -> Crossing {
        let travelling = self.net.packets.depart(launched.packet);
        let identity = travelling.packet.identity;
        let signals = self.probes.signals.as_mut();
        let signal = signals.and_then(|all| all.remove(&(identity.number(), identity.copy())));
        Crossing {
            link,
            outcome: launched.outcome,
            arrival: launched.arrival,
            travelling,
            signal: signal.map(Box::new),
        }
    }

    /// Takes in packets from another part.
    pub(crate) fn receive(&mut self, crossings: &mut Vec<Crossing>) {
        for crossing in crossings.drain(..) {
            let Crossing {
                link,
                outcome,
                arrival,
                travelling,
                signal,
            } = crossing;
            let (from, length, identity) = (
                travelling.from,
                travelling.length,
                travelling.packet.identity,
            );
            if let (Some(signal), Some(signals)) = (signal, &mut self.probes.signals) {
                signals.insert((identity.number(), identity.copy()), *signal);
            }
            let launched = Launched {
                packet: self.net.packets.arrive(travelling),
                arrival,
                outcome,
            };
            let wire = self.net.wires.plain_mut(link as usize);
            wire.link.put_in_flight(from, launched, length);
            let deadline = wire.link.next_deadline();
            wire.timer.arm(&mut self.queue, deadline, Event::Link(link));
        }
    }

    /// Takes over the nodes of the other parts, with all that belongs to them, at the end of a run.
    pub(crate) fn unite(&mut self, others: impl Iterator<Item = World>) {
        others.for_each(|other| self.take_over(other));
        self.shorten_list();
    }

    fn take_over(&mut self, mut other: World) {
        let Some(theirs) = other.part.take() else {
            return;
        };
        let is_theirs = |node: usize| theirs.of_nodes[node] == theirs.number;
        self.events += other.events;
        for (node, (own, their)) in self
            .net
            .nodes
            .iter_mut()
            .zip(&mut other.net.nodes)
            .enumerate()
        {
            if is_theirs(node) {
                core::mem::swap(own, their);
            }
        }
        for (own, their) in self.net.mobiles.iter_mut().zip(other.net.mobiles) {
            if is_theirs(own.node.0) {
                *own = their;
            }
        }
        for (number, their) in other.net.radios.into_iter().enumerate() {
            let stations = &self.scenario.radios[number].stations;
            if stations.iter().any(|station| is_theirs(station.node.0)) {
                self.net.radios[number] = their;
            }
        }
        self.net.wires.take_over(other.net.wires, is_theirs);
        self.net.packets.take_over(other.net.packets);
        for (own, their) in self.load.flows.iter_mut().zip(other.load.flows) {
            let ends = [Role::Source, Role::Sink].map(|role| is_theirs(own.node_of(role)));
            let measured = is_theirs(own.node_of(measured_at(&own.spec.traffic)));
            own.take_over(their, ends, measured);
        }
        self.probes.accounts.take_over(other.probes.accounts);
        self.probes.disturbed.take_over(other.probes.disturbed);
        self.probes.drops.take_over(&other.probes.drops);
        self.probes.unlisted.take_over(other.probes.unlisted);
    }
}

/// Part that keeps the time of a flow's source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Keeper {
    /// This one.
    #[default]
    Here,
    /// Another one; this one follows it, because the flow's progress is measured here.
    Followed,
    /// Another one.
    Elsewhere,
}

/// Returns the end of a flow at which its progress is measured.
pub(crate) const fn measured_at(traffic: &Traffic) -> Role {
    match traffic {
        Traffic::Ping { .. } => Role::Source,
        _ => Role::Sink,
    }
}
