//! ICMP errors from a host to a packet's source (RFC 792, RFC 4443).

use super::transmitting::INSIDE;
use super::{Host, Unsent};
use crate::packet::{Body, Packet};
use crate::time::Instant;
use crate::wire::icmp::{IcmpError, IcmpMessage, QuotedPacket};
use core::net::{IpAddr, Ipv4Addr};

impl Host {
    /// Reports an error at this host's own first hop to its transports, like a router.
    pub(super) fn tell_own(&mut self, now: Instant, packet: Packet, error: IcmpError) {
        self.given_up().unsent.extend(Unsent::of(&packet));
        // A gateway's layer knows its packets without the headers added for a mobile's location.
        let (whole, packet) = match self.inspects() {
            true => (packet.wire_length(), packet.into_transport()),
            false => (packet.wire_length(), packet),
        };
        let around = whole - packet.wire_length();
        let error = match error {
            IcmpError::PacketTooBig { mtu } => IcmpError::PacketTooBig {
                mtu: mtu.saturating_sub(around),
            },
            other => other,
        };
        if let Some(quoted) = packet.quote() {
            self.handle_error(now, error, quoted);
        }
    }

    /// Reports an error to the source of a layer's packet: another host, or the layer itself if its tunnel begins here.
    pub(super) fn give_back(&mut self, now: Instant, packet: &Packet, error: IcmpError) {
        match self.error_about(packet, error) {
            Some(error) if self.takes(&error.ip) => {
                self.offer_to_agents(now, INSIDE, error);
            }
            error => self.outbox.extend(error),
        }
    }

    /// Reports a layer's error to the source of a packet, or to the layer that sends in the source's name.
    pub(super) fn tell(&mut self, now: Instant, error: IcmpError, quoted: QuotedPacket) {
        if let Some(layers) = &mut self.layers
            && layers.handle_icmp(now, error, &quoted)
        {
            return;
        }
        if self.is_own(quoted.source) {
            return self.handle_error(now, error, quoted);
        }
        let to = quoted.source;
        let body = Body::Icmp(IcmpMessage::Error {
            kind: error,
            quoted,
        });
        self.send(to, body, None);
    }

    /// Sends an ICMP error to a packet's source.
    pub(super) fn send_error(&mut self, packet: &Packet, kind: IcmpError) {
        if let Some(error) = self.error_about(packet, kind) {
            self.outbox.push_back(error);
        }
    }

    /// Returns the ICMP error about a packet, for its source; `None` for an ICMP error, for a packet whose source or
    /// destination is not a single host (RFC 1122 section 3.2.2, RFC 4443 section 2.4), or if this host has no address
    /// of that IP version.
    pub fn error_about(&mut self, packet: &Packet, kind: IcmpError) -> Option<Packet> {
        let for_all = packet.ip.destination.is_multicast()
            || packet.ip.destination == IpAddr::V4(Ipv4Addr::BROADCAST);
        if for_all || packet.ip.source.is_unspecified() {
            return None;
        }
        let quoted = packet.quote()?;
        let source = self.address_towards(packet.ip.source)?;
        let error = Body::Icmp(IcmpMessage::Error { kind, quoted });
        Some(
            self.origin()
                .packet((source, packet.ip.source), error, packet.flow),
        )
    }
}
