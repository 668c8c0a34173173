//! IP in IP (RFC 2003, RFC 2473): into a tunnel, out of it, and what fits.
//!
//! **No tunnel loops.** Four rules together, each kept by whoever puts a packet into a tunnel:
//! 1. A packet does not enter a tunnel (entry and exit) that it is inside of already.
//! 2. At most [`DEEPEST_NESTING`] tunnels stand around a packet (RFC 2473 section 4.1.1's limit, kept by counting the
//!    headers instead of carrying the option).
//! 3. What came out of a tunnel does not go back into the same one: a mobile delivers what it decapsulates, or drops
//!    it; a home agent sends it on without a tunnel, or through another mobile's.
//! 4. Each entry of a packet that is forwarded costs it a hop (RFC 2473 section 3.1).
//!
//! By 1 and 2 a packet cannot grow without end, by 3 and 4 it cannot go back and forth without end.

use crate::packet::{Body, Packet};
use crate::time::{Duration, Instant};
use crate::wire::icmp::{IcmpError, IcmpMessage, QuotedPacket, QuotedWithin};
use crate::wire::protocol;
use crate::wire::tcp::TcpFlags;
use core::net::IpAddr;
use std::collections::BTreeMap;

/// Tunnels around a packet, at most (RFC 2473 section 6.6, IPV6_DEFAULT_TUNNEL_ENCAP_LIMIT).
pub const DEEPEST_NESTING: u8 = 4;

/// What every IPv6 path carries whole (RFC 8200 section 5); no router may ask a source of IPv6 for less.
const SMALLEST_IPV6_MTU: u32 = 1280;
/// The same of IPv4 (RFC 791 section 3.1).
const SMALLEST_IPV4_MTU: u32 = 68;
/// What was learned of a path is forgotten after this (RFC 8201 section 4: ten minutes).
const PATH_MTU_LIFETIME: Duration = Duration::from_secs(600);

/// Why a packet does not enter a tunnel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It is inside this tunnel already.
    Loop,
    /// Too many tunnels stand around it.
    TooDeep,
    /// Its hop limit is used up.
    HopLimit,
    /// It is larger than the tunnel takes: its source is told so.
    TooBig {
        /// What would fit, in bytes.
        mtu: u32,
        /// What its source is told of it; nothing of an ICMP error.
        quoted: Option<QuotedPacket>,
    },
}

/// Packets that did not enter a tunnel, by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Refused {
    /// Inside the tunnel already.
    pub loops: u64,
    /// Inside too many tunnels.
    pub too_deep: u64,
    /// Hop limit used up.
    pub hop_limit: u64,
    /// Too large.
    pub too_big: u64,
}

/// The tunnels that begin at one agent.
#[derive(Clone, Debug)]
pub struct Tunnels {
    path_mtu: u32,
    clamp_segment_size: bool,
    /// What paths to tunnel exits carry where it is less than usual, and when that is forgotten.
    learned: BTreeMap<IpAddr, (u32, Instant)>,
    refused: Refused,
}

impl Tunnels {
    /// Over paths that carry packets of `path_mtu` bytes, as far as is known. With `clamp_segment_size` TCP's maximum
    /// segment size option is lowered to what the tunnel takes (RFC 9293 section 3.7.1 lets both ends follow it), so
    /// that no ICMP error is needed.
    pub const fn new(path_mtu: u32, clamp_segment_size: bool) -> Tunnels {
        Tunnels {
            path_mtu,
            clamp_segment_size,
            learned: BTreeMap::new(),
            refused: Refused {
                loops: 0,
                too_deep: 0,
                hop_limit: 0,
                too_big: 0,
            },
        }
    }

    /// Packets that did not enter, by cause.
    pub const fn refused(&self) -> Refused {
        self.refused
    }

    /// Largest packet that the tunnel from `entry` to `exit` takes, in bytes.
    pub fn mtu(&self, now: Instant, exit: IpAddr) -> u32 {
        let learned = self.learned.get(&exit).filter(|&&(_, until)| until > now);
        let path = learned.map_or(self.path_mtu, |&(mtu, _)| mtu.min(self.path_mtu));
        path.saturating_sub(header_length(exit))
    }

    /// Puts a packet into the tunnel from `entry` to `exit`. `forwarded`: this node is not its source.
    ///
    /// # Errors
    /// Why it does not enter, which is counted.
    pub fn encapsulate(
        &mut self,
        now: Instant,
        mut packet: Packet,
        (entry, exit): (IpAddr, IpAddr),
        forwarded: bool,
    ) -> Result<Packet, Refusal> {
        let mtu = self.mtu(now, exit);
        if self.clamp_segment_size {
            clamp_segment_size(&mut packet, mtu);
        }
        if let Err(refusal) = check(&packet, (entry, exit), forwarded, mtu) {
            self.count(&refusal);
            return Err(refusal);
        }
        packet.ip.hop_limit -= u8::from(forwarded);
        let (traffic_class, flow) = (packet.ip.traffic_class, packet.flow);
        let (retransmission, identity) = (packet.retransmission, packet.identity);
        let mut outer = super::packet(entry, exit, Body::Tunnel(Box::new(packet)));
        outer.ip.traffic_class = traffic_class;
        outer.flow = flow;
        outer.retransmission = retransmission;
        outer.identity = identity;
        Ok(outer)
    }

    fn count(&mut self, refusal: &Refusal) {
        *match refusal {
            Refusal::Loop => &mut self.refused.loops,
            Refusal::TooDeep => &mut self.refused.too_deep,
            Refusal::HopLimit => &mut self.refused.hop_limit,
            Refusal::TooBig { .. } => &mut self.refused.too_big,
        } += 1;
    }

    /// Takes in an ICMP error that a packet of a tunnel was too big for its path, as `quoted` says: what the tunnel
    /// takes is known better from now on. Returns what the source of the packet inside is to be told (RFC 2473
    /// section 8), unless that packet was itself an ICMP error, or cannot be seen.
    pub fn handle_too_big(
        &mut self,
        now: Instant,
        quoted: QuotedPacket,
        mtu: u32,
    ) -> Option<(IcmpError, QuotedPacket)> {
        let exit = quoted.destination;
        // No path is smaller than its version allows, whatever an error says (RFC 8201 section 4).
        let mtu = mtu.max(smallest_mtu(exit));
        if mtu < self.mtu(now, exit) + header_length(exit) {
            self.learned.retain(|_, &mut (_, until)| until > now);
            self.learned.insert(exit, (mtu, now + PATH_MTU_LIFETIME));
        }
        let QuotedWithin::Tunnel(inner) = *quoted.within? else {
            return None;
        };
        // RFC 4443 section 2.1: types of errors are below 128; a packet that shows none has zero there.
        let kind = inner.source_port >> 8;
        if inner.protocol == protocol::ICMPV6 && (1..128).contains(&kind) {
            return None;
        }
        let mtu = self.mtu(now, exit).max(smallest_mtu(inner.source));
        Some((IcmpError::PacketTooBig { mtu }, inner))
    }
}

/// The rules of the head of this file, and the size.
fn check(
    packet: &Packet,
    (entry, exit): (IpAddr, IpAddr),
    forwarded: bool,
    mtu: u32,
) -> Result<(), Refusal> {
    let mut nesting = 0;
    let mut inside = packet;
    while let Body::Tunnel(inner) = &inside.body {
        if (inside.ip.source, inside.ip.destination) == (entry, exit) {
            return Err(Refusal::Loop);
        }
        nesting += 1;
        inside = inner;
    }
    if nesting >= DEEPEST_NESTING {
        return Err(Refusal::TooDeep);
    }
    if forwarded && packet.ip.hop_limit <= 1 {
        return Err(Refusal::HopLimit);
    }
    let length = packet.wire_length();
    let smallest = smallest_mtu(packet.ip.source);
    // A source of IPv6 cannot be told of less than 1280: what is larger than the tunnel all the same is refused with
    // that number.
    if length > mtu {
        return Err(Refusal::TooBig {
            mtu: mtu.max(smallest),
            quoted: packet.quote(),
        });
    }
    Ok(())
}

/// Takes a packet out of a tunnel that ends here. What is inside keeps its own hop limit.
pub fn decapsulate(packet: Packet) -> Option<Packet> {
    match packet.body {
        Body::Tunnel(inner) => Some(*inner),
        _ => None,
    }
}

/// What a node at `from` tells the source of a packet that could not go on.
pub fn error_about(from: IpAddr, kind: IcmpError, quoted: QuotedPacket) -> Packet {
    let to = quoted.source;
    let body = Body::Icmp(IcmpMessage::Error { kind, quoted });
    super::packet(from, to, body)
}

/// Lowers the maximum segment size of a SYN to what `mtu` takes.
fn clamp_segment_size(packet: &mut Packet, mtu: u32) {
    let headers = packet.ip.wire_length() + 20;
    let largest = u16::try_from(mtu.saturating_sub(headers)).unwrap_or(u16::MAX);
    if let Body::Tcp(header, _) = &mut packet.body
        && header.flags.contains(TcpFlags::SYN)
        && let Some(size) = &mut header.options.maximum_segment_size
    {
        *size = largest.min(*size);
    }
}

const fn header_length(address: IpAddr) -> u32 {
    if address.is_ipv4() { 20 } else { 40 }
}

const fn smallest_mtu(address: IpAddr) -> u32 {
    if address.is_ipv4() {
        SMALLEST_IPV4_MTU
    } else {
        SMALLEST_IPV6_MTU
    }
}

#[cfg(test)]
mod tests;
