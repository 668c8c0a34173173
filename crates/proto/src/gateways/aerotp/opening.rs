//! Opening of connections across the link: by a SYN from this side, or by a packet from the other gateway.

use super::sending::path_ends;
use super::{AerotpGateway, Near, Pair, Splice, end};
use crate::aerotp::{self, Configuration, PathId};
use crate::gateways::halves::{Outcome, deliver};
use crate::host::SocketId;
use crate::host::layer::{Around, Step};
use crate::host::sockets::Opening;
use crate::interface::InterfaceId;
use crate::packet::{Body, FlowId, Packet, Payload};
use crate::tcp;
use crate::tcp::profile::Profile;
use crate::time::Instant;
use crate::wire::aerotp::{AerotpPacket, Mode, TcpOffer};
use crate::wire::sequence::SequenceNumber;
use crate::wire::tcp::{TcpFlags, TcpHeader, TcpOptions};
use core::net::IpAddr;

/// A TCP half that answers a SYN.
pub(super) struct Half {
    /// Ends of the connection across the link, own side first.
    pub ends: Pair,
    pub flow: Option<FlowId>,
    pub profile: Profile,
    /// The far end's answer, if it was asked.
    pub agreed: Option<TcpOffer>,
}

impl AerotpGateway {
    /// Takes in a TCP segment from this side: a SYN opens a connection across the link, others go to their half.
    /// Returns true if there is a connection for the segment.
    pub(super) fn take_segment(
        &mut self,
        now: Instant,
        around: &mut Around<'_>,
        ends: Pair,
        packet: Packet,
    ) -> bool {
        let Some(splice) = self.splices.get(&ends) else {
            if let Body::Tcp(syn, _) = &packet.body {
                self.open_across(now, around, ends, syn, &packet);
            }
            return true;
        };
        self.touched.insert(ends);
        // A retransmitted SYN: its answer is under way.
        match splice.near {
            Near::Waiting(_) => true,
            Near::Returning(_) => self.take_returning(now, around, ends, packet),
            Near::Tcp(_) | Near::Udp => self.deliver(now, around, packet),
        }
    }

    /// Passes a segment to its half; a closed one answers with a reset.
    pub(super) fn deliver(
        &mut self,
        now: Instant,
        around: &mut Around<'_>,
        packet: Packet,
    ) -> bool {
        let Outcome::Nobody(reset) = deliver(&mut self.sockets, now, around, packet) else {
            return true;
        };
        self.discarded.no_receiver += 1;
        self.outbox.extend(reset.map(Step::Originate));
        false
    }

    /// Opens the AeroTP connection for a SYN.
    fn open_across(
        &mut self,
        now: Instant,
        around: &mut Around<'_>,
        ends: Pair,
        syn: &TcpHeader,
        packet: &Packet,
    ) {
        let Some(rule) = self.rule(packet, ends.1.port) else {
            return;
        };
        let rule = self.rules[rule].clone();
        let mut configuration = rule.configuration.clone();
        configuration.mode = rule.connection_mode();
        let passes_through = configuration.mode == Mode::Reliable;
        configuration.confirms = passes_through;
        let keeps = self.keeps(&rule);
        if keeps {
            self.for_journal(&mut configuration);
        }
        let mut aerotp = self.connection(now, around, &ends, configuration, true);
        aerotp.set_offer(offer_of(syn));
        let near = Near::Waiting(Box::new(*syn));
        let profile = rule.profile.clone();
        let mut splice = Splice::new(now, ends, aerotp, near, rule, packet.flow);
        if !passes_through {
            let half = Half {
                ends,
                flow: packet.flow,
                profile,
                agreed: None,
            };
            let socket = self.accept_half(now, around, half, syn);
            splice.near = Near::Tcp(socket);
            if keeps {
                self.begin_journaled(&mut splice, socket);
            }
        }
        self.add_splice(now, around, splice);
    }

    /// Has a connection wait for the journal: nothing leaves for the other gateway, and no data is acknowledged,
    /// before it is durable.
    fn begin_journaled(&mut self, splice: &mut Splice, socket: SocketId) {
        if let Some(connection) = self.sockets.connection_mut(socket) {
            connection.hold_acknowledgments();
        }
        splice.is_held = true;
        splice.journaled = Some(Box::default());
    }

    /// Creates a connection with a path for each link, which it opens or answers.
    pub(super) fn connection(
        &self,
        now: Instant,
        around: &Around<'_>,
        ends: &Pair,
        mut configuration: Configuration,
        opens: bool,
    ) -> aerotp::Connection {
        configuration.trusts_paths = self.links_authenticate;
        let make = match opens {
            true => aerotp::Connection::connect,
            false => aerotp::Connection::accept,
        };
        let identity = self.identity(now, ends);
        let first = path_ends(ends, PathId(0));
        let mtu = self.mtu_of_first(around);
        let mut aerotp = make(now, configuration, identity, first, mtu);
        self.add_links(now, around, ends, &mut aerotp);
        aerotp
    }

    /// Returns the MTU of the first link in bytes.
    pub(super) fn mtu_of_first(&self, around: &Around<'_>) -> u32 {
        let first = self.links.iter().next();
        first.map_or(0, |(_, link)| around.mtu(link.interface()))
    }

    /// Adds a path for each further link to a connection, and tells it how the links are.
    pub(super) fn add_links(
        &self,
        now: Instant,
        around: &Around<'_>,
        ends: &Pair,
        aerotp: &mut aerotp::Connection,
    ) {
        aerotp.share_links();
        for (path, link) in self.links.iter().skip(1) {
            let mtu = around.mtu(link.interface());
            aerotp.add_path(now, path_ends(ends, path), mtu, link.rate());
        }
        for (path, link) in self.links.iter() {
            // A TCP whose peer acknowledges sets its timer by the round trip of the first packet: with data by a longer
            // link it would go off (RFC 6298).
            if !aerotp.is_confirming() {
                let reported = around.link_parameters(link.interface());
                aerotp.expect_arrival(path, link.first_packet_takes(reported));
            }
            if !link.is_up() {
                aerotp.link_down(path);
            }
            aerotp.link_going_down(path, link.is_leaving());
            if link.is_silent() {
                aerotp.fall_silent(now, path);
            }
        }
    }

    /// Answers a SYN in the name of the far end, with only the options that the far end has agreed to, if it was asked.
    pub(super) fn accept_half(
        &mut self,
        now: Instant,
        around: &Around<'_>,
        half: Half,
        syn: &TcpHeader,
    ) -> SocketId {
        let (ends, flow, agreed) = (half.ends, half.flow, half.agreed);
        let profile = fitted(around, half.profile, agreed, ends.1.address);
        let mtu = around.mtu_towards(ends.0.address);
        let opening = Opening {
            pair: (ends.1, ends.0),
            mtu,
            flow,
        };
        let socket = self.sockets.accept(now, opening, &profile, syn);
        if agreed.is_some()
            && let Some(connection) = self.sockets.connection_mut(socket)
        {
            connection.hold_acknowledgments();
        }
        socket
    }

    /// Asks this side's end of a lost connection, which may only wait, by an ACK that it must answer (RFC 9293 section
    /// 3.10.7.4, first step). The answer crosses as it is, and the far end, which is reset before, answers by the reset that
    /// this gateway cannot make: it does not know the position. Returns the path that the answer will take.
    fn ask_near_end(
        &mut self,
        around: &mut Around<'_>,
        (near, far): Pair,
        flow: Option<FlowId>,
    ) -> Option<PathId> {
        // Otherwise the packet may be anyone's, and the far end is not reset.
        let across = around.routes.lookup(far.address);
        let way = across.filter(|_| self.links_authenticate)?;
        let way = self.links.path(way)?;
        let question = TcpHeader {
            source_port: far.port,
            destination_port: near.port,
            sequence: SequenceNumber(0),
            acknowledgment: SequenceNumber(0),
            flags: TcpFlags::ACK,
            window: 0,
            options: TcpOptions::default(),
        };
        let body = Body::Tcp(question, Payload::EMPTY);
        let packet = around
            .origin
            .packet((far.address, near.address), body, flow);
        self.outbox.push_back(Step::Originate(packet));
        let instead = self.links.instead_of(way).map(|(path, _)| path);
        Some(instead.unwrap_or(way))
    }

    /// Takes in an AeroTP packet from the other gateway; returns false if there is no connection for it here.
    pub(super) fn take_from_air(
        &mut self,
        now: Instant,
        around: &mut Around<'_>,
        interface: InterfaceId,
        packet: Packet,
    ) -> bool {
        let (source, destination, flow) = (packet.ip.source, packet.ip.destination, packet.flow);
        let has_met_congestion = packet.ip.has_met_congestion();
        let Body::Aerotp(body) = packet.body else {
            return false;
        };
        let Some(path) = self.links.path(interface) else {
            self.discards.strangers += 1;
            return false;
        };
        if body.header.mode == Mode::UnreliableDatagram {
            return self.pass_datagram(around, *body, (source, destination), flow);
        }
        let ends = (
            end(destination, body.header.destination_port),
            end(source, body.header.source_port),
        );
        if !self.splices.contains_key(&ends) {
            // Like a SYN-ACK, an answer to an opening that was never sent from here opens no connection: otherwise a
            // flood forged at one gateway would return from the other.
            // The answers of a gateway that has restarted open none either.
            let is_answer = match &body.header.resumption {
                Some(resumption) => !resumption.may_open,
                None => body.header.mack.is_some(),
            };
            if body.header.opening.is_none() || is_answer {
                self.discards.strangers += 1;
                if let Some(reset) = aerotp::reset_reply(&body.header, now) {
                    let reset = Body::Aerotp(Box::new(reset));
                    let reset = around.origin.packet((destination, source), reset, flow);
                    let way = self.ask_near_end(around, ends, flow).unwrap_or(path);
                    self.send_over(now, (way, body.header.class), reset, false);
                }
                return false;
            }
            self.open_from_air(now, around, ends, &body, flow);
        }
        if let Some(splice) = self.splices.get_mut(&ends) {
            splice.heard += 1;
            splice
                .aerotp
                .handle_packet(now, path_ends(&ends, path), *body);
            if has_met_congestion {
                splice.aerotp.note_congestion();
            }
            self.touched.insert(ends);
            self.measure(now, &ends);
        }
        true
    }

    /// Opens the TCP half to the far end for a connection from the other gateway, if that connection carries TCP.
    fn open_from_air(
        &mut self,
        now: Instant,
        around: &mut Around<'_>,
        ends: Pair,
        body: &AerotpPacket,
        flow: Option<FlowId>,
    ) {
        // The other gateway's rule is not transmitted: here, the first rule with this mode for the destination applies.
        let mut rules = self.rules.iter();
        let selected = rules.find(|rule| {
            rule.selector.leads_to(ends.0) && rule.connection_mode() == body.header.mode
        });
        let Some(rule) = selected.cloned() else {
            self.discards.strangers += 1;
            return;
        };
        let mode = body.header.mode;
        let mut configuration = Configuration {
            mode,
            class: body.header.class,
            confirms: mode == Mode::Reliable && body.header.tcp_offer.is_some(),
            ..rule.configuration.clone()
        };
        let profile = rule.profile.clone();
        let keeps = self.keeps(&rule) && body.header.tcp_offer.is_some();
        if keeps {
            self.for_journal(&mut configuration);
        }
        let aerotp = self.connection(now, around, &ends, configuration, false);
        let mut splice = Splice::new(now, ends, aerotp, Near::Udp, rule, flow);
        // A known gateway has bounded what it opens itself.
        splice.is_vouched_for = self.links_authenticate;
        if let Some(offer) = body.header.tcp_offer {
            let profile = fitted(around, profile, Some(offer), ends.1.address);
            let near_mtu = around.mtu_towards(ends.0.address);
            let opening = Opening {
                pair: (ends.1, ends.0),
                mtu: near_mtu,
                flow,
            };
            let socket = self.sockets.open(now, opening, &profile);
            if mode == Mode::Reliable
                && let Some(connection) = self.sockets.connection_mut(socket)
            {
                connection.hold_acknowledgments();
            }
            splice.is_held = mode == Mode::Reliable;
            if keeps {
                self.begin_journaled(&mut splice, socket);
            }
            splice.opened_by = splice.is_held.then(|| Box::new(body.clone()));
            splice.near = Near::Tcp(socket);
        }
        self.add_splice(now, around, splice);
    }

    /// Adds a connection. Both ends of one that is removed to make room learn of it, if they are known.
    pub(super) fn add_splice(&mut self, now: Instant, around: &mut Around<'_>, splice: Splice) {
        let gone = self.make_room();
        self.add(splice);
        let Some(mut gone) = gone else { return };
        if gone.aerotp.is_known() {
            gone.aerotp.abort();
            self.send_at_once(now, around, &mut gone);
        }
        if let Near::Tcp(socket) = gone.near {
            self.leave_half(socket);
        }
    }
}

/// Adapts the profile of a half: segments that fit across the link, and only options that the other side has.
pub(super) fn fitted(
    around: &Around<'_>,
    mut profile: Profile,
    offer: Option<TcpOffer>,
    across: IpAddr,
) -> Profile {
    let headers = if across.is_ipv4() { 40 } else { 60 };
    let mtu = around.mtu_towards(across);
    let fits = u16::try_from(mtu.saturating_sub(headers)).unwrap_or(u16::MAX);
    profile.maximum_segment_size = profile.maximum_segment_size.min(fits);
    if let Some(offer) = offer {
        profile.maximum_segment_size = profile.maximum_segment_size.min(offer.maximum_segment_size);
        profile.window_scaling &= offer.window_scale.is_some();
        profile.sack &= offer.sack_permitted;
        profile.timestamps &= offer.timestamps;
    }
    profile
}

/// Returns the offer of a SYN.
fn offer_of(syn: &TcpHeader) -> TcpOffer {
    TcpOffer {
        // RFC 9293 section 3.7.1: 536 if there is no option.
        maximum_segment_size: syn.options.maximum_segment_size.unwrap_or(536),
        window_scale: syn.options.window_scale.map(|shift| shift.min(14)),
        sack_permitted: syn.options.sack_permitted,
        timestamps: syn.options.timestamps.is_some(),
    }
}

/// Returns the options agreed on an established connection.
pub(super) fn agreed_on(connection: &tcp::Connection) -> TcpOffer {
    let negotiated = connection.negotiated();
    TcpOffer {
        maximum_segment_size: negotiated.map_or(536, |agreed| agreed.peer_segment_size),
        window_scale: negotiated
            .and_then(|agreed| agreed.window_shifts)
            .map(|(_, peer)| peer),
        sack_permitted: negotiated.is_some_and(|agreed| agreed.sack),
        timestamps: negotiated.is_some_and(|agreed| agreed.timestamps),
    }
}
