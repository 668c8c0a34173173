//! The layers of one host, in their order.

use super::layer::{
    Around, Arrival, Counters, Ended, Layer, Look, Neighbor, Rank, Step, Transmitted,
};
use super::{InterfaceId, LinkEvent, RouteTable};
use crate::crosslayer::Signal;
use crate::interface::{StatusInterests, TransmitStatus};
use crate::mobility::buffering::Held;
use crate::packet::{IpHeader, Packet, Wording};
use crate::time::Instant;
use crate::wire::icmp::{IcmpError, QuotedPacket};
use core::any::Any;
use core::net::IpAddr;
use std::collections::VecDeque;

/// The layers of one host; most hosts have none.
#[derive(Debug, Default)]
pub struct Layers {
    /// By rank.
    all: Box<[Box<dyn Layer>]>,
    /// Transit packets that no layer took, and packets that leave by a layer's virtual interface; `None` before the first.
    #[expect(
        clippy::box_collection,
        reason = "nearly all have none, and so pay for a pointer only"
    )]
    passed_on: Option<Box<VecDeque<Step>>>,
    /// True if a layer inspects packets in transit.
    inspect: bool,
}

impl Layers {
    /// Adds a layer by its rank, after others of the same rank.
    pub fn add(&mut self, layer: impl Layer) {
        let rank = layer.rank();
        self.inspect |= layer.inspects();
        let place = self.all.partition_point(|other| other.rank() <= rank);
        let mut all = core::mem::take(&mut self.all).into_vec();
        all.reserve_exact(1);
        all.insert(place, Box::new(layer));
        self.all = all.into();
    }

    /// Returns all layers of a type.
    pub fn all<L: Layer>(&self) -> impl Iterator<Item = &L> {
        let all = self.all.iter();
        all.filter_map(|layer| (&**layer as &dyn Any).downcast_ref())
    }

    /// Returns the first layer of a type.
    pub fn get<L: Layer>(&self) -> Option<&L> {
        self.all().next()
    }

    /// Returns the first layer of a type, mutably.
    pub fn get_mut<L: Layer>(&mut self) -> Option<&mut L> {
        let mut all = self.all.iter_mut();
        all.find_map(|layer| (&mut **layer as &mut dyn Any).downcast_mut())
    }

    /// Returns the first layer of a type, created if there is none.
    pub fn get_or_add<L: Layer>(&mut self, make: impl FnOnce() -> L) -> &mut L {
        if self.get::<L>().is_none() {
            self.add(make());
        }
        self.get_mut().expect("a layer that was found or added")
    }

    /// Returns true if a layer inspects packets in transit.
    #[inline]
    pub(super) fn inspect_passing(&self) -> bool {
        self.inspect
    }

    /// Returns false if a layer forbids the node to forward a packet that arrived by `interface`.
    pub(super) fn admit(
        &mut self,
        interface: InterfaceId,
        routes: &RouteTable,
        packet: &Packet,
    ) -> bool {
        let mut all = self.all.iter_mut();
        all.all(|layer| layer.admit(interface, routes, packet))
    }

    /// Passes an arrived packet to the inspecting layers, up to the first that does not let it pass.
    pub(super) fn inspect(
        &mut self,
        now: Instant,
        interface: InterfaceId,
        routes: &RouteTable,
        packet: &mut Packet,
    ) -> Look {
        let mut found = Look::Pass;
        for layer in &mut self.all {
            match layer.inspect(now, interface, routes, packet) {
                Look::Pass => {}
                Look::Learn => found = Look::Learn,
                look => return look,
            }
        }
        found
    }

    /// Passes a departing packet to the inspecting layers; returns false if one of them drops it.
    pub(super) fn depart(
        &mut self,
        now: Instant,
        interface: InterfaceId,
        packet: &mut Packet,
    ) -> bool {
        let mut all = self.all.iter_mut().rev();
        all.all(|layer| layer.depart(now, interface, packet))
    }

    /// Returns true for a packet whose connection a layer ends.
    pub(super) fn end_here(&self, routes: &RouteTable, packet: &Packet) -> bool {
        self.all.iter().any(|layer| layer.ends(routes, packet))
    }

    /// Offers a packet to the layers that end connections.
    pub(super) fn end(
        &mut self,
        now: Instant,
        around: &mut Around<'_>,
        interface: InterfaceId,
        mut packet: Packet,
    ) -> Ended {
        for layer in &mut self.all {
            match layer.end(now, around, interface, packet) {
                Ended::No(back) => packet = back,
                ended => return ended,
            }
        }
        Ended::No(packet)
    }

    /// Lets layers do their remaining work.
    pub(super) fn work(&mut self, now: Instant, around: &mut Around<'_>) {
        for layer in &mut self.all {
            layer.work(now, around);
        }
    }

    /// Shows the layers a packet that leaves from one of them.
    pub(super) fn overhear(&mut self, packet: &Packet) {
        for layer in &mut self.all {
            layer.overhear(packet);
        }
    }

    /// Tells the layers of a packet that arrived damaged beyond reading.
    pub(super) fn handle_corruption(&mut self, protocol: u8, ip: &IpHeader, bytes: u32) {
        for layer in &mut self.all {
            layer.handle_corruption(protocol, ip, bytes);
        }
    }

    /// Passes an ICMP error to the layer whose packet it quotes; returns false if there is none.
    pub(super) fn handle_icmp(
        &mut self,
        now: Instant,
        error: IcmpError,
        quoted: &QuotedPacket,
    ) -> bool {
        let mut all = self.all.iter_mut();
        all.any(|layer| layer.handle_icmp(now, error, quoted))
    }

    pub(super) fn handle_medium(&mut self, interface: InterfaceId, event: LinkEvent) {
        for layer in &mut self.all {
            layer.handle_medium(interface, event);
        }
    }

    /// Returns true for a packet that a layer takes although its destination is not an address of the host. Multicast
    /// packets are among these: those of agents stay on their link (RFC 4291 section 2.7, RFC 1112), and there are no
    /// others.
    pub fn takes(&self, ip: &IpHeader) -> bool {
        ip.destination.is_multicast() || self.all.iter().any(|layer| layer.takes(ip))
    }

    /// Returns true for an address of the host that a layer has acquired.
    pub(super) fn have_address(&self, address: IpAddr) -> bool {
        self.all.iter().any(|layer| layer.has_address(address))
    }

    /// Returns the interface by which the host's own packets leave, if it is a layer's.
    pub(super) fn default_route(&self) -> Option<InterfaceId> {
        let mut all = self.all.iter();
        let default = all.find(|layer| layer.is_default_route())?;
        Some(default.rank().interface())
    }

    /// Returns the kinds of packet status that layers want from media.
    pub(super) fn status_interests(&self) -> StatusInterests {
        let all = self.all.iter().map(|layer| layer.status_interests());
        all.fold(StatusInterests::default(), StatusInterests::or)
    }

    /// Returns the least share of packets, in millionths, that a link's code may lose for the connections of a layer.
    pub(super) fn tolerated_loss(&self, interface: InterfaceId) -> Option<u32> {
        let asked = self
            .all
            .iter()
            .filter_map(|layer| layer.tolerated_loss(interface));
        asked.min()
    }

    /// Passes a packet's status to all layers; returns true if one of them is to be polled.
    pub(super) fn handle_transmit_status(
        &mut self,
        now: Instant,
        interface: InterfaceId,
        packet: &Packet,
        status: TransmitStatus,
    ) -> bool {
        let mut polls = false;
        for layer in &mut self.all {
            polls |= layer.handle_transmit_status(now, interface, packet, status);
        }
        polls
    }

    pub(super) fn handle_neighbor(
        &mut self,
        now: Instant,
        interface: InterfaceId,
        event: LinkEvent,
        neighbor: Neighbor,
    ) {
        for layer in &mut self.all {
            layer.handle_neighbor(now, interface, event, neighbor);
        }
    }

    pub(super) fn handle_signal(&mut self, now: Instant, signal: &Signal) {
        for layer in &mut self.all {
            layer.handle_signal(now, signal);
        }
    }

    /// Offers an arrived packet to all layers; returns it if none takes it.
    pub(super) fn input(
        &mut self,
        now: Instant,
        arrival: Arrival,
        mut packet: Packet,
    ) -> Option<Packet> {
        for layer in &mut self.all {
            packet = layer.input(now, arrival, packet)?;
        }
        Some(packet)
    }

    /// Offers one of the host's own packets to all layers; returns it, possibly changed, if none takes it.
    pub(super) fn output(&mut self, now: Instant, mut packet: Packet) -> Option<Packet> {
        for layer in self.all.iter_mut().rev() {
            packet = layer.output(now, packet)?;
        }
        Some(packet)
    }

    /// Passes a packet to the layer behind a virtual interface.
    pub(super) fn transmit(
        &mut self,
        now: Instant,
        interface: InterfaceId,
        packet: Packet,
    ) -> Transmitted {
        let mut all = self.all.iter_mut();
        match all.find(|layer| layer.rank().interface() == interface) {
            Some(layer) => layer.transmit(now, packet),
            None => Transmitted::GivenUp,
        }
    }

    /// Offers a waiting packet to all layers, to redirect it; returns the interface that a layer prescribes.
    pub(super) fn redirect(&mut self, now: Instant, packet: &mut Packet) -> Option<InterfaceId> {
        let mut all = self.all.iter_mut();
        all.find_map(|layer| layer.redirect(now, packet))
    }

    /// Queues a step to follow all steps of the layers.
    pub(super) fn do_later(&mut self, step: Step) {
        self.passed_on.get_or_insert_default().push_back(step);
    }

    /// Returns true for a correspondent that still sends to an address the mobile has left.
    pub(super) fn are_sought_elsewhere(&self, now: Instant, peer: IpAddr) -> bool {
        self.all
            .iter()
            .any(|layer| layer.is_sought_elsewhere(now, peer))
    }

    pub(super) fn source_towards(&self, remote: IpAddr, port: u16) -> Option<IpAddr> {
        let mut all = self.all.iter();
        all.find_map(|layer| layer.source_towards(remote, port))
    }

    pub(super) fn poll_step(&mut self) -> Option<Step> {
        for layer in &mut self.all {
            let step = layer.poll_step();
            if step.is_some() {
                return step;
            }
        }
        self.passed_on.as_mut()?.pop_front()
    }

    pub(super) fn poll_signal(&mut self) -> Option<Signal> {
        self.all.iter_mut().find_map(|layer| layer.poll_signal())
    }

    pub(super) fn poll_event(&mut self) -> Option<Wording> {
        self.all.iter_mut().find_map(|layer| layer.poll_event())
    }

    pub(super) fn poll_held(&mut self) -> Option<Held> {
        self.all.iter_mut().find_map(|layer| layer.poll_held())
    }

    pub(super) fn counters(&self) -> impl Iterator<Item = (Rank, Counters)> {
        self.all
            .iter()
            .map(|layer| (layer.rank(), layer.counters()))
    }

    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        self.all
            .iter()
            .filter_map(|layer| layer.poll_timeout())
            .min()
    }

    pub(super) fn handle_timeout(&mut self, now: Instant) {
        for layer in &mut self.all {
            layer.handle_timeout(now);
        }
    }
}

#[cfg(test)]
mod tests;
