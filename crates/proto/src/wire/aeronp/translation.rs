//! Translation between IPv4 and AeroNP (study A, section III-B: "IP-AeroNP translation").
//!
//! The IP header goes where a packet enters the network. AeroNP carries what is needed to make it again, bit by bit, where
//! the packet leaves: length and checksum follow from the packet, version and "don't fragment" from the type, and an end
//! that is itself a node of the network is named by AeroNP's addresses. An identification of zero, which is enough for an
//! atomic datagram (RFC 6864), is left out; any other stays, since smooth handoffs of Mobile IPv4 name packets by it.
//! Packets that would lose something travel whole.
//!
//! | byte | field |
//! |---|---|
//! | 0 | protocol |
//! | 1 | type of service: code point and congestion mark |
//! | 2 | time to live |
//! | next 4, if the header's flag is set | source address |
//! | next 4, if the header's flag is set | destination address |
//! | next 2, unless the type says that it is zero | identification |

use super::super::{DecodeError, expect_length, u16_at, u32_at};
use super::NAME;
use crate::packet::{Body, IpHeader, Packet};
use core::net::{IpAddr, Ipv4Addr};

/// First byte of an IPv4 header without options.
const WITHOUT_OPTIONS: u8 = 0x45;
/// The reserved bit among IPv4's flags (RFC 791 section 3.1).
const RESERVED: u8 = 0x80;
/// Length of the fields that are always there.
const FIXED: usize = 3;

/// Fields of an IPv4 header that AeroNP carries in its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TranslatedHeader {
    /// IANA protocol number.
    pub protocol: u8,
    /// Type of service.
    pub traffic_class: u8,
    /// Time to live. It counts IP's hops: the network is one of them, and has a hop limit of its own.
    pub hop_limit: u8,
    /// Source, if it is not the node at which the packet enters the network.
    pub source: Option<Ipv4Addr>,
    /// Destination, if it is not the node at which the packet leaves the network.
    pub destination: Option<Ipv4Addr>,
    /// Identification.
    pub identification: u16,
    /// "Don't fragment".
    pub dont_fragment: bool,
}

impl TranslatedHeader {
    /// Length of the IP header that does not travel, in bytes.
    pub const REPLACED: u32 = 20;

    /// Translates the IP header of a packet that enters and leaves the network at nodes with these addresses. Returns
    /// `None` for a packet that has to travel whole: of IPv6, a fragment, with options, a reserved bit or compressed
    /// headers, or with bit errors in its header.
    pub fn of(packet: &Packet, nodes: [Ipv4Addr; 2]) -> Option<TranslatedHeader> {
        let ip = &packet.ip;
        let (IpAddr::V4(source), IpAddr::V4(destination)) = (ip.source, ip.destination) else {
            return None;
        };
        let (protocol, fragment) = packet.body.protocol(ip);
        let is_plain = match &packet.body {
            Body::Verbatim(written) => {
                let bytes = written.bytes();
                let is_one = packet.segmentation().is_none();
                is_one && bytes[0] == WITHOUT_OPTIONS && bytes[6] & RESERVED == 0
            }
            Body::Compressed(_) => false,
            _ => true,
        };
        let first_error = packet.bit_errors.positions().first();
        let is_intact = first_error.is_none_or(|&bit| bit >= 8 * Self::REPLACED);
        let translated = TranslatedHeader {
            protocol,
            traffic_class: ip.traffic_class,
            hop_limit: ip.hop_limit,
            source: (source != nodes[0]).then_some(source),
            destination: (destination != nodes[1]).then_some(destination),
            identification: ip.identification,
            dont_fragment: ip.dont_fragment,
        };
        (is_plain && is_intact && fragment == 0).then_some(translated)
    }

    /// Returns the IP header of a packet that has entered and left the network at nodes with these addresses.
    pub fn ip(&self, nodes: [Ipv4Addr; 2]) -> IpHeader {
        IpHeader {
            source: self.source.unwrap_or(nodes[0]).into(),
            destination: self.destination.unwrap_or(nodes[1]).into(),
            hop_limit: self.hop_limit,
            traffic_class: self.traffic_class,
            identification: self.identification,
            dont_fragment: self.dont_fragment,
        }
    }

    /// Returns what the type of the packet says: bit 0 is set if there is an identification, bit 1 if routers may fragment
    /// the packet.
    pub(super) fn form(&self) -> u8 {
        u8::from(self.identification != 0) | u8::from(!self.dont_fragment) << 1
    }

    /// Appends the fields.
    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&[self.protocol, self.traffic_class, self.hop_limit]);
        for address in [self.source, self.destination].into_iter().flatten() {
            out.extend_from_slice(&address.octets());
        }
        if self.identification != 0 {
            out.extend_from_slice(&self.identification.to_be_bytes());
        }
    }

    /// Decodes the fields of which the header's flags and its type's [form](Self::form) say that they are there. Returns
    /// them and their length.
    pub(super) fn decode(
        [has_source, has_destination]: [bool; 2],
        form: u8,
        bytes: &[u8],
    ) -> Result<(TranslatedHeader, usize), DecodeError> {
        let addresses = usize::from(has_source) + usize::from(has_destination);
        let number_at = FIXED + 4 * addresses;
        let has_number = form & 1 != 0;
        let length = number_at + if has_number { 2 } else { 0 };
        expect_length(NAME, bytes, length)?;
        let identification = if has_number {
            u16_at(bytes, number_at)
        } else {
            0
        };
        if has_number && identification == 0 {
            return Err(DecodeError::Field {
                header: NAME,
                field: "identification",
                value: 0,
            });
        }
        let address = |at| Ipv4Addr::from_bits(u32_at(bytes, at));
        let fields = TranslatedHeader {
            protocol: bytes[0],
            traffic_class: bytes[1],
            hop_limit: bytes[2],
            source: has_source.then(|| address(FIXED)),
            destination: has_destination.then(|| address(number_at - 4)),
            identification,
            dont_fragment: form & 2 == 0,
        };
        Ok((fields, length))
    }
}
