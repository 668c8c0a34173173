//! Sending to the other gateway: packets that wait for nothing, turns at the free links, and links that change.

use super::splice::Splice;
use super::turns::Whose;
use super::{AerotpGateway, Pair};
use crate::aerotp::{PathId, Transmission};
use crate::host::layer::{Around, Look, Step};
use crate::interface::{InterfaceId, LinkEvent, LinkParameters};
use crate::packet::{Body, Packet};
use crate::time::Instant;
use crate::wire::aerotp::ServiceClass;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Returns the ends of a path as connections know them. Packets keep the addresses of their hosts, and the interface
/// tells the link, so the addresses only number the links.
pub(super) fn path_ends(ends: &Pair, path: PathId) -> (IpAddr, IpAddr) {
    let number = path.0 + 1;
    let address = match ends.0.address {
        IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::new(0, 0, 0, number)),
        IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::new(0, 0, 0, 0, 0, 0, 0, u16::from(number))),
    };
    (address, address)
}

impl AerotpGateway {
    /// Sends the packets of a connection that wait for no link: openings, ends, probes and answers.
    pub(super) fn send_at_once(
        &mut self,
        now: Instant,
        around: &mut Around<'_>,
        splice: &mut Splice,
    ) {
        while !splice.is_held
            && let Some(sent) = self.poll_splice(now, splice, false)
        {
            self.send_across(now, around, splice, sent);
        }
    }

    /// Returns the next packet of a connection that knows when the links are free.
    fn poll_splice(
        &self,
        now: Instant,
        splice: &mut Splice,
        with_data: bool,
    ) -> Option<Transmission> {
        let class = splice.aerotp.configuration().class;
        for (path, link) in self.links.iter() {
            splice.aerotp.set_free_at(path, link.free_at(class));
        }
        splice.aerotp.set_loss(self.links.loss());
        match with_data {
            true => splice.aerotp.poll_transmit(now),
            false => splice.aerotp.poll_at_once(now),
        }
    }

    /// Sends a connection's packet; returns its length.
    fn send_across(
        &mut self,
        now: Instant,
        around: &mut Around<'_>,
        splice: &Splice,
        sent: Transmission,
    ) -> u32 {
        let repeats = splice.aerotp.configuration().mode.repeats();
        let asks = repeats && (sent.packet.header.wants_mack || !sent.packet.payload.is_empty());
        let ends = (splice.ends.0.address, splice.ends.1.address);
        let body = Body::Aerotp(Box::new(sent.packet));
        let mut packet = around.origin.packet(ends, body, splice.flow);
        packet.retransmission = sent.retransmission;
        let class = splice.aerotp.configuration().class;
        self.send_over(now, (sent.path, class), packet, asks)
    }

    /// Sends a packet over a link; returns its length. `asks` for one that the other gateway is to answer.
    pub(super) fn send_over(
        &mut self,
        now: Instant,
        (path, class): (PathId, ServiceClass),
        packet: Packet,
        asks: bool,
    ) -> u32 {
        let length = packet.wire_length();
        if let Some(interface) = self.links.interface(path) {
            self.links.take(now, (path, class), length, asks);
            self.outbox.push_back(Step::Send(interface, packet));
        }
        length
    }

    /// Sends a packet without a connection over the link that is free first.
    pub(super) fn send_first(&mut self, now: Instant, packet: Packet) {
        let class = ServiceClass::default();
        let path = self.links.first_free(class).map(|(path, _)| path);
        self.send_over(now, (path.unwrap_or(PathId(0)), class), packet, false);
    }

    /// Sends a packet that crosses as it is by another link than that of its route, if that one is down or silent.
    pub(super) fn pass_by(&mut self, now: Instant, way: PathId, packet: &Packet) -> Look {
        let Some((path, link)) = self.links.instead_of(way) else {
            return Look::Pass;
        };
        // Both are the node's business, which drops the packet and tells its source.
        if packet.ip.hop_limit <= 1 || packet.wire_length() > link.mtu() {
            return Look::Pass;
        }
        let mut packet = packet.clone();
        packet.ip.hop_limit -= 1;
        self.send_over(now, (path, ServiceClass::default()), packet, false);
        Look::Absorb
    }

    /// Gives the next turn, if a link is free; returns true if there was one.
    pub(super) fn give_turn(&mut self, now: Instant, around: &mut Around<'_>) -> bool {
        let Some(class) = self.turns.highest() else {
            return false;
        };
        let Some((path, _)) = self
            .links
            .first_free(class)
            .filter(|(_, link)| link.free_at(class) <= now)
        else {
            return false;
        };
        let Some(turn) = self.turns.next() else {
            return false;
        };
        let sent = match turn.whose {
            Whose::Datagrams => {
                let packet = self.turns.take_datagram(turn.class);
                let sent = packet.map(|packet| self.send_over(now, (path, class), packet, false));
                sent.filter(|_| self.turns.has_datagrams(turn.class))
            }
            Whose::Connection(ends, number) => self.serve(now, around, (ends, number)),
        };
        if let Some(bytes) = sent {
            self.turns.put_back(turn, bytes);
        }
        true
    }

    /// Sends a packet of the connection whose turn it is; returns its length if the connection has more to send.
    fn serve(
        &mut self,
        now: Instant,
        around: &mut Around<'_>,
        (ends, number): (Pair, u64),
    ) -> Option<u32> {
        let is_it = |splice: &Splice| splice.number == number;
        if !self.splices.get(&ends).is_some_and(|splice| is_it(splice)) {
            return None;
        }
        let mut splice = self.take_out(&ends)?;
        let sent = self.poll_splice(now, &mut splice, true);
        let bytes = sent.map(|sent| self.send_across(now, around, &splice, sent));
        let is_ready = bytes.is_some() && splice.aerotp.is_ready();
        splice.is_waiting = is_ready;
        // The end may follow the last data, and in modes without retransmission there is room for more.
        if bytes.is_some() && !(is_ready && splice.aerotp.configuration().mode.repeats()) {
            self.touched.insert(ends);
        }
        self.put_back(splice, true);
        bytes.filter(|_| is_ready)
    }

    /// Adds a connection with data to send to those that wait for a turn.
    pub(super) fn queue(&mut self, now: Instant, splice: &mut Splice) {
        if splice.is_waiting || splice.is_held || !splice.aerotp.is_ready() {
            return;
        }
        splice.is_waiting = true;
        self.wait(now);
        let whose = Whose::Connection(splice.ends, splice.number);
        self.turns.add(whose, splice.aerotp.configuration().class);
    }

    /// Notes that something begins to wait for a turn.
    pub(super) fn wait(&mut self, now: Instant) {
        if self.turns.is_empty() {
            self.links.end_pause(now);
        }
    }

    /// Takes in an event of a link, for all connections.
    pub(super) fn handle_link(
        &mut self,
        interface: InterfaceId,
        event: LinkEvent,
        parameters: Option<LinkParameters>,
    ) {
        let Some((path, link)) = self.links.by_interface(interface) else {
            return;
        };
        // A link that is up says so again after a change of its parameters.
        let is_again = event == LinkEvent::Up && link.is_up() && !link.is_leaving();
        if is_again && !link.is_silent() {
            return;
        }
        let before = link.mtu();
        link.handle(event, parameters);
        // A medium may report its rate a hundred times a second.
        if matches!(event, LinkEvent::Parameters(_)) && link.mtu() == before {
            return;
        }
        for (ends, splice) in &mut self.splices {
            let aerotp = &mut splice.aerotp;
            match event {
                LinkEvent::Up => aerotp.link_up(path, parameters.map(|link| link.outgoing)),
                LinkEvent::Parameters(parameters) => aerotp.set_mtu(path, parameters.mtu),
                LinkEvent::Down => aerotp.link_down(path),
                LinkEvent::Rollback => aerotp.link_going_down(path, false),
                _ => aerotp.link_going_down(path, true),
            }
            self.touched.insert(*ends);
        }
    }

    /// Takes in that the other gateway has restarted: asks it after each connection until it answers, by a reset if it has
    /// lost it. An end that only waits would not learn of that.
    pub fn peer_restarted(&mut self, now: Instant) {
        /// Bits between two questions at the rate of a link: they take a tenth of it (chosen).
        const APART: u64 = 10 * 150 * 8;
        let link = self.links.first_free(ServiceClass::default());
        let pause = link.and_then(|(_, link)| link.rate().transmission_time(APART));
        let mut at = now;
        for (ends, splice) in &mut self.splices {
            splice.aerotp.doubt_peer(at);
            self.touched.insert(*ends);
            at += pause.unwrap_or_default();
        }
    }

    /// Leaves the links that have fallen silent, for all connections.
    pub(super) fn note_silence(&mut self, now: Instant) {
        while let Some(path) = self.links.poll_silence(now) {
            for (ends, splice) in &mut self.splices {
                splice.aerotp.fall_silent(now, path);
                self.touched.insert(*ends);
            }
        }
    }

    /// Takes in a connection's measurement of a link, which may end the link's silence for all connections.
    pub(super) fn measure(&mut self, now: Instant, ends: &Pair) {
        let Some(measured) = self
            .splices
            .get_mut(ends)
            .and_then(|splice| splice.aerotp.poll_measurement())
        else {
            return;
        };
        let is_full = !self.turns.is_empty();
        if self.links.measured(now, measured, is_full) {
            for (ends, splice) in &mut self.splices {
                splice.aerotp.end_silence(measured.path);
                self.touched.insert(*ends);
            }
        }
    }
}
