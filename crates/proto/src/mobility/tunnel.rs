//! Tunnels: encapsulation as IP in IP (RFC 2003, RFC 2473) or another form, and tunnel MTU.
//!
//! **No tunnel loops.** Every node that puts a packet into a tunnel keeps four rules:
//! 1. A packet does not enter a tunnel (entry and exit) that it is already inside.
//! 2. At most [`DEEPEST_NESTING`] tunnels surround a packet (the limit of RFC 2473 section 4.1.1, kept by counting headers
//!    instead of carrying the option).
//! 3. A decapsulated packet does not go back into the same tunnel: a mobile delivers or drops it; a home agent sends it on
//!    without a tunnel, or through another mobile's.
//! 4. Each encapsulation of a forwarded packet decrements its hop limit (RFC 2473 section 3.1).
//!
//! Rules 1 and 2 keep a packet from growing without end, 3 and 4 from going back and forth without end.

use crate::packet::{Body, Packet};
use crate::time::{Duration, Instant};
use crate::wire::encapsulation::Encapsulation;
use crate::wire::icmp::{IcmpError, IcmpMessage, QuotedPacket, QuotedWithin};
use crate::wire::protocol;
use crate::wire::tcp::TcpFlags;
use core::net::{IpAddr, Ipv4Addr};
use std::collections::BTreeMap;

/// Maximum number of tunnels around a packet (RFC 2473 section 6.6, IPV6_DEFAULT_TUNNEL_ENCAP_LIMIT).
pub const DEEPEST_NESTING: u8 = 4;

/// Minimum IPv6 link MTU (RFC 8200 section 5); no router may report less to an IPv6 source.
const SMALLEST_IPV6_MTU: u32 = 1280;
/// Minimum IPv4 link MTU (RFC 791 section 3.1).
const SMALLEST_IPV4_MTU: u32 = 68;
/// Lifetime of a learned path MTU (RFC 8201 section 4: ten minutes).
const PATH_MTU_LIFETIME: Duration = Duration::from_secs(600);

/// Source of ICMPv4 errors of a node without an IPv4 address: the IPv4 dummy address (RFC 7600), as in Linux.
pub const DUMMY_ADDRESS: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 0, 8));

/// Reason for not putting a packet into a tunnel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The packet is already inside this tunnel.
    Loop,
    /// Too many tunnels surround the packet.
    TooDeep,
    /// The packet's hop limit is used up.
    HopLimit,
    /// The packet exceeds the tunnel MTU; its source receives an error.
    TooBig {
        /// MTU to report, in bytes.
        mtu: u32,
        /// Quotation for the ICMP error; `None` if the packet must not be quoted.
        quoted: Option<QuotedPacket>,
    },
}

/// Counts of packets that did not enter a tunnel, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Refused {
    /// Already inside the tunnel.
    pub loops: u64,
    /// Inside too many tunnels.
    pub too_deep: u64,
    /// Hop limit used up.
    pub hop_limit: u64,
    /// Too large.
    pub too_big: u64,
}

/// Ends and encapsulation of a tunnel.
#[derive(Clone, Copy, Debug)]
pub struct Ends {
    /// Address of the node that encapsulates.
    pub entry: IpAddr,
    /// Address of the node that decapsulates.
    pub exit: IpAddr,
    /// Form of the packets.
    pub encapsulation: Encapsulation,
}

impl From<(IpAddr, IpAddr)> for Ends {
    /// Converts the entry and the exit of an IP in IP tunnel.
    fn from((entry, exit): (IpAddr, IpAddr)) -> Ends {
        Ends {
            entry,
            exit,
            encapsulation: Encapsulation::IpInIp,
        }
    }
}

impl Ends {
    /// Replaces an encapsulation that cannot carry a packet by IP in IP.
    fn carrying(self, packet: &Packet) -> Ends {
        let can = match self.encapsulation {
            Encapsulation::IpInIp => true,
            Encapsulation::Minimal => self.exit.is_ipv4() && packet.fits_minimal_encapsulation(),
            Encapsulation::Generic => self.exit.is_ipv4() && packet.ip.source.is_ipv4(),
        };
        match can {
            true => self,
            false => Ends::from((self.entry, self.exit)),
        }
    }
}

impl Encapsulation {
    /// Returns the number of bytes that a tunnel from `entry` adds to a packet from `source`.
    fn length(self, entry: IpAddr, source: IpAddr) -> u32 {
        match self {
            Encapsulation::IpInIp => header_length(entry),
            // RFC 2004 section 3.1: without the source that the outer header shows.
            Encapsulation::Minimal if entry == source => 8,
            Encapsulation::Minimal => 12,
            Encapsulation::Generic => header_length(entry) + 4,
        }
    }
}

/// The tunnels that begin at one agent.
#[derive(Clone, Debug)]
pub struct Tunnels {
    path_mtu: u32,
    clamp_segment_size: bool,
    /// Path MTU by tunnel exit, where smaller than `path_mtu`, and its expiry.
    #[expect(
        clippy::box_collection,
        reason = "nearly all have none, and so pay for a pointer only"
    )]
    learned: Option<Box<BTreeMap<IpAddr, (u32, Instant)>>>,
    refused: Option<Box<Refused>>,
}

impl Tunnels {
    /// Creates an agent's tunnels over paths with an assumed MTU of `path_mtu` bytes. `clamp_segment_size` lowers TCP's
    /// maximum segment size option to the tunnel MTU (RFC 9293 section 3.7.1 lets both ends follow it), so that no ICMP
    /// error is needed.
    pub const fn new(path_mtu: u32, clamp_segment_size: bool) -> Tunnels {
        Tunnels {
            path_mtu,
            clamp_segment_size,
            learned: None,
            refused: None,
        }
    }

    /// Returns the counts of refused packets.
    pub fn refused(&self) -> Refused {
        self.refused.as_deref().copied().unwrap_or_default()
    }

    /// Returns the MTU of the IP in IP tunnel to `exit`, in bytes.
    pub fn mtu(&self, now: Instant, exit: IpAddr) -> u32 {
        let path = self.path_mtu(now, exit);
        path.saturating_sub(header_length(exit))
    }

    /// Returns the MTU of the path to `exit`, in bytes.
    fn path_mtu(&self, now: Instant, exit: IpAddr) -> u32 {
        let learned = self.learned.as_ref().and_then(|known| known.get(&exit));
        let learned = learned.filter(|&&(_, until)| until > now);
        learned.map_or(self.path_mtu, |&(mtu, _)| mtu.min(self.path_mtu))
    }

    /// Puts a packet into a tunnel. `forwarded`: this node is not the packet's source. A packet that minimal
    /// encapsulation cannot carry goes as IP in IP, which every exit accepts (RFC 5944 section 4.1).
    ///
    /// # Errors
    /// The reason for the refusal, which is also counted.
    pub fn encapsulate(
        &mut self,
        now: Instant,
        mut packet: Packet,
        ends: impl Into<Ends>,
        forwarded: bool,
    ) -> Result<Packet, Refusal> {
        let ends = ends.into().carrying(&packet);
        let (entry, exit) = (ends.entry, ends.exit);
        let added = ends.encapsulation.length(entry, packet.ip.source);
        let mtu = self.path_mtu(now, exit).saturating_sub(added);
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
        let mut outer = super::packet(entry, exit, Body::encapsulate(packet, ends.encapsulation));
        outer.ip.traffic_class = traffic_class;
        outer.flow = flow;
        outer.retransmission = retransmission;
        outer.identity = identity;
        Ok(outer)
    }

    fn count(&mut self, refusal: &Refusal) {
        let refused = self.refused.get_or_insert_default();
        *match refusal {
            Refusal::Loop => &mut refused.loops,
            Refusal::TooDeep => &mut refused.too_deep,
            Refusal::HopLimit => &mut refused.hop_limit,
            Refusal::TooBig { .. } => &mut refused.too_big,
        } += 1;
    }

    /// Takes in a Packet Too Big error about a tunnel packet, which `quoted` quotes, and lowers the learned path MTU.
    /// Returns the error for the source of the inner packet (RFC 2473 section 8), unless that is itself an ICMP error
    /// or is not quoted.
    pub fn handle_too_big(
        &mut self,
        now: Instant,
        quoted: QuotedPacket,
        mtu: u32,
    ) -> Option<(IcmpError, QuotedPacket)> {
        let exit = quoted.destination;
        // No path MTU is below its version's minimum, whatever an error reports (RFC 8201 section 4).
        let mtu = mtu.max(smallest_mtu(exit));
        if mtu < self.path_mtu(now, exit) {
            let learned = self.learned.get_or_insert_default();
            learned.retain(|_, &mut (_, until)| until > now);
            learned.insert(exit, (mtu, now + PATH_MTU_LIFETIME));
        }
        let encapsulation = match quoted.protocol {
            protocol::MINIMAL_ENCAPSULATION => Encapsulation::Minimal,
            protocol::GENERIC_ENCAPSULATION => Encapsulation::Generic,
            _ => Encapsulation::IpInIp,
        };
        let QuotedWithin::Tunnel(inner) = *quoted.within? else {
            return None;
        };
        // ICMPv6 error types are below 128 (RFC 4443 section 2.1); those of ICMPv4 in RFC 1122 section 3.2.2. The type is
        // the upper byte of the "source port"; it is zero if the quotation does not show it.
        let kind = inner.source_port >> 8;
        let is_error = match inner.protocol {
            protocol::ICMPV6 => (1..128).contains(&kind),
            protocol::ICMP => matches!(kind, 3 | 4 | 5 | 11 | 12),
            _ => false,
        };
        if is_error {
            return None;
        }
        let added = encapsulation.length(quoted.source, inner.source);
        let mtu = self.path_mtu(now, exit).saturating_sub(added);
        let mtu = mtu.max(smallest_mtu(inner.source));
        Some((IcmpError::PacketTooBig { mtu }, inner))
    }
}

/// Checks rules 1, 2 and 4 of the module documentation, and the size.
fn check(
    packet: &Packet,
    (entry, exit): (IpAddr, IpAddr),
    forwarded: bool,
    mtu: u32,
) -> Result<(), Refusal> {
    let mut nesting = 0;
    let mut inside = packet;
    while let Some(inner) = inside.body.inner() {
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
    // No router may report an MTU below 1280 to an IPv6 source, so a packet that exceeds a smaller tunnel MTU is
    // refused with 1280.
    if length > mtu {
        return Err(Refusal::TooBig {
            mtu: mtu.max(smallest),
            quoted: packet.quote(),
        });
    }
    Ok(())
}

/// Takes a packet that has not left yet back out of the tunnel that it entered here, with the hop limit that it had
/// before. `forwarded`: as for [`Tunnels::encapsulate`].
pub fn take_back(packet: &mut Packet, forwarded: bool) {
    if let Some(inner) = packet.body.inner() {
        let mut inner = inner.clone();
        inner.ip.hop_limit = inner.ip.hop_limit.saturating_add(u8::from(forwarded));
        *packet = inner;
    }
}

/// Builds the ICMP error from a tunnel's entry, `from`, to the source of the quoted packet. If the entry has no IPv4
/// address, [`DUMMY_ADDRESS`] is the source of an error over IPv4.
pub fn error_about(from: impl Into<IpAddr>, kind: IcmpError, quoted: QuotedPacket) -> Packet {
    let (from, to) = (from.into(), quoted.source);
    let from = match to {
        IpAddr::V4(_) if from.is_ipv6() => DUMMY_ADDRESS,
        _ => from,
    };
    let body = Body::Icmp(IcmpMessage::Error { kind, quoted });
    super::packet(from, to, body)
}

/// Lowers the maximum segment size of a SYN to fit `mtu`.
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

mod fragments;
pub use fragments::fragments;

#[cfg(test)]
mod tests;
