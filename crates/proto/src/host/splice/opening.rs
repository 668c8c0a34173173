//! How connections across the link begin: with a SYN from this side, or a packet from the other gateway.

use super::{Near, Pair, Splice, end};
use crate::aerotp::{self, Configuration};
use crate::host::sockets::Opening;
use crate::host::{Host, SocketId, mtu_towards};
use crate::packet::{Body, FlowId, Packet};
use crate::tcp;
use crate::tcp::profile::Profile;
use crate::time::Instant;
use crate::wire::aerotp::{AerotpPacket, Mode, TcpOffer};
use crate::wire::tcp::TcpHeader;
use core::net::IpAddr;

impl Host {
    /// A TCP segment from this side: a SYN opens a connection across the link, others are for their half.
    pub(super) fn take_segment(&mut self, now: Instant, ends: Pair, packet: Packet) {
        let Some(gateway) = self.aerotp_gateway_mut() else {
            return;
        };
        let is_known = gateway.splices.contains_key(&ends);
        if is_known {
            gateway.touched.insert(ends);
            let splice = gateway.splices.get(&ends);
            let waits = splice.is_some_and(|splice| matches!(splice.near, Near::Waiting(_)));
            // The SYN again: its answer is on its way.
            if !waits {
                self.deliver(now, packet);
            }
            return;
        }
        if let Body::Tcp(syn, _) = &packet.body {
            self.open_across(now, ends, syn, &packet);
        }
    }

    /// Opens the AeroTP connection for a SYN.
    fn open_across(&mut self, now: Instant, ends: Pair, syn: &TcpHeader, packet: &Packet) {
        let mtu = mtu_towards(&self.routes, &self.interface_mtus, ends.1.address);
        let Some(gateway) = self.aerotp_gateway_mut() else {
            return;
        };
        let Some(rule) = gateway.rule(packet, ends.1.port) else {
            return;
        };
        let mut configuration = gateway.rules[rule].configuration.clone();
        configuration.mode = gateway.rules[rule].connection_mode();
        let passes_through = configuration.mode == Mode::Reliable;
        configuration.confirms = passes_through;
        let identity = gateway.identity(now, &ends);
        let addresses = (ends.0.address, ends.1.address);
        let mut aerotp = aerotp::Connection::connect(now, configuration, identity, addresses, mtu);
        aerotp.set_offer(offer_of(syn));
        let near = Near::Waiting(Box::new(*syn));
        let mut splice = Splice::new(now, aerotp, near, (rule, packet.flow));
        if !passes_through {
            let profile = gateway.rules[rule].profile.clone();
            let socket = self.accept_half(now, (ends, packet.flow), (profile, None), syn);
            splice.near = Near::Tcp(socket);
        }
        self.add_splice(ends, splice);
    }

    /// Answers a SYN in the name of the far end, with no more than that has agreed to, if it has been asked.
    pub(super) fn accept_half(
        &mut self,
        now: Instant,
        (ends, flow): (Pair, Option<FlowId>),
        (profile, agreed): (Profile, Option<TcpOffer>),
        syn: &TcpHeader,
    ) -> SocketId {
        let profile = self.half(profile, agreed, ends.1.address);
        let mtu = mtu_towards(&self.routes, &self.interface_mtus, ends.0.address);
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

    /// The stack of a half: no longer segments than cross the link, and no options that the other side has not.
    fn half(&self, mut profile: Profile, offer: Option<TcpOffer>, across: IpAddr) -> Profile {
        let headers = if across.is_ipv4() { 40 } else { 60 };
        let mtu = mtu_towards(&self.routes, &self.interface_mtus, across);
        let fits = u16::try_from(mtu.saturating_sub(headers)).unwrap_or(u16::MAX);
        profile.maximum_segment_size = profile.maximum_segment_size.min(fits);
        if let Some(offer) = offer {
            profile.maximum_segment_size =
                profile.maximum_segment_size.min(offer.maximum_segment_size);
            profile.window_scaling &= offer.window_scale.is_some();
            profile.sack &= offer.sack_permitted;
            profile.timestamps &= offer.timestamps;
        }
        profile
    }

    /// An AeroTP packet from the other gateway.
    pub(super) fn take_from_air(&mut self, now: Instant, packet: Packet) {
        let (source, destination, flow) = (packet.ip.source, packet.ip.destination, packet.flow);
        let Body::Aerotp(body) = packet.body else {
            return;
        };
        if body.header.mode == Mode::UnreliableDatagram {
            return self.pass_datagram(*body, (source, destination), flow);
        }
        let ends = (
            end(destination, body.header.destination_port),
            end(source, body.header.source_port),
        );
        let Some(gateway) = self.aerotp_gateway_mut() else {
            return;
        };
        if !gateway.splices.contains_key(&ends) {
            // What answers an opening that was never sent from here opens nothing, as a SYN-ACK does not: else a flood that is
            // forged at one gateway would come back from the other.
            if body.header.opening.is_none() || body.header.mack.is_some() {
                gateway.discards.strangers += 1;
                self.accepted = false;
                if let Some(reset) = aerotp::reset_reply(&body.header, now) {
                    let reset = Body::Aerotp(Box::new(reset));
                    let reset = self.packet((destination, source), reset, flow);
                    self.outbox.push_back(reset);
                }
                return;
            }
            self.open_from_air(now, ends, &body, flow);
        }
        if let Some(gateway) = self.aerotp_gateway_mut()
            && let Some(splice) = gateway.splices.get_mut(&ends)
        {
            splice.heard += 1;
            splice
                .aerotp
                .handle_packet(now, (source, destination), *body);
            gateway.touched.insert(ends);
        }
    }

    /// The other gateway opens a connection: this one opens the TCP half to the far end, if that is what it was made of.
    fn open_from_air(
        &mut self,
        now: Instant,
        ends: Pair,
        body: &AerotpPacket,
        flow: Option<FlowId>,
    ) {
        let mtu = mtu_towards(&self.routes, &self.interface_mtus, ends.1.address);
        let Some(gateway) = self.aerotp_gateway_mut() else {
            return;
        };
        // The other gateway's rule is not said; here it is the first that gives this mode to what goes there.
        let selected = gateway.rules.iter().position(|rule| {
            rule.selector.leads_to(ends.0) && rule.connection_mode() == body.header.mode
        });
        let Some(rule) = selected else {
            gateway.discards.strangers += 1;
            return;
        };
        let mode = body.header.mode;
        let configuration = Configuration {
            mode,
            class: body.header.class,
            confirms: mode == Mode::Reliable && body.header.tcp_offer.is_some(),
            ..gateway.rules[rule].configuration.clone()
        };
        let profile = gateway.rules[rule].profile.clone();
        let identity = gateway.identity(now, &ends);
        let addresses = (ends.0.address, ends.1.address);
        let aerotp = aerotp::Connection::accept(now, configuration, identity, addresses, mtu);
        let mut splice = Splice::new(now, aerotp, Near::Udp, (rule, flow));
        splice.opened_by = Some(Box::new(body.clone()));
        if let Some(offer) = body.header.tcp_offer {
            let profile = self.half(profile, Some(offer), ends.1.address);
            let near_mtu = mtu_towards(&self.routes, &self.interface_mtus, ends.0.address);
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
            splice.near = Near::Tcp(socket);
        }
        self.add_splice(ends, splice);
    }

    /// Takes a connection in. If one has to make room for it, that one's TCP is told.
    pub(super) fn add_splice(&mut self, ends: Pair, splice: Splice) {
        let Some(gateway) = self.aerotp_gateway_mut() else {
            return;
        };
        let gone = gateway.make_room();
        gateway.add(ends, splice);
        if let Some(Near::Tcp(socket)) = gone.map(|gone| gone.near) {
            self.leave_half(socket);
        }
    }
}

/// What a SYN offers.
fn offer_of(syn: &TcpHeader) -> TcpOffer {
    TcpOffer {
        // RFC 9293 section 3.7.1: 536 unless it says another.
        maximum_segment_size: syn.options.maximum_segment_size.unwrap_or(536),
        window_scale: syn.options.window_scale.map(|shift| shift.min(14)),
        sack_permitted: syn.options.sack_permitted,
        timestamps: syn.options.timestamps.is_some(),
    }
}

/// What was agreed to on a connection that stands.
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
