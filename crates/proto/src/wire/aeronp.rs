//! The AeroNP header: the network layer of the airborne telemetry network (study A, section III-B).
//!
//! The authors' figure of the header is lost. The fields are those that their texts name (addresses, next hop, type,
//! priority, congestion and corruption indicators, header error check, geolocation); lengths and order are Baton's own.
//!
//! | byte | field |
//! |---|---|
//! | 0 | version (4 bits), type (4 bits) |
//! | 1 | congestion, corruption, geolocation, IP source and IP destination present (1 bit each), priority (3 bits) |
//! | 2 | hop limit |
//! | 3 to 6 | source |
//! | 7 to 10 | destination |
//! | 11 to 14 | next hop; 255.255.255.255 for all |
//! | 15 to 32 | geolocation of the transmitter, if present |
//! | next 3 to 13 | fields of a [translated](TranslatedHeader) IP header |
//! | last 2 | header error check: the CRC of AeroTP's |
//!
//! The types are: 0 a whole IP packet, 1 a beacon, 2 an advertisement, and 3 to 6 the payload of an IPv4 packet whose
//! header is translated: 3 without an identification, 4 with one, 5 and 6 likewise if it may be fragmented.

mod translation;

pub use translation::TranslatedHeader;

use super::{DecodeError, expect_length, u16_at, u32_at};
use crate::time::Duration;
use core::net::Ipv4Addr;
use crc::{CRC_16_IBM_3740, Crc, Table};

const NAME: &str = "AeroNP";
const VERSION: u8 = 1;
const FIXED: usize = 15;
const HEC: usize = 2;
const CHECK: Crc<u16, Table<1>> = Crc::<u16, Table<1>>::new(&CRC_16_IBM_3740);
const CONGESTION: u8 = 0x80;
const CORRUPTION: u8 = 0x40;
const LOCATED: u8 = 0x20;
const SOURCE: u8 = 0x10;
const DESTINATION: u8 = 0x08;
/// Types on the wire of translated packets: from this on, by their form.
const TRANSLATED: u8 = 3;
const FORMS: u8 = 4;

/// Type of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An IP packet, whole or translated.
    Data,
    /// Beacon of AeroRP: the transmitter's geolocation.
    Beacon,
    /// Advertisement of AeroRP: the source's geolocation, flooded.
    Advertisement,
}

impl Kind {
    const ALL: [Kind; 3] = [Kind::Data, Kind::Beacon, Kind::Advertisement];
}

/// Header of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AeronpHeader {
    /// Type of the packet.
    pub kind: Kind,
    /// True if the transmitter's queue is congested, and for data also if that of an earlier node on the way was.
    pub congestion: bool,
    /// True if the payload was received with errors on the way.
    pub corruption: bool,
    /// Priority, 0 (lowest) to 7; larger values are written as 7. For a translated packet that of its code point.
    pub priority: u8,
    /// Hops that the packet may still take.
    pub hop_limit: u8,
    /// Node that sent the packet.
    pub source: Ipv4Addr,
    /// Node for which the packet is.
    pub destination: Ipv4Addr,
    /// Neighbour that is to forward it; broadcast for all.
    pub next_hop: Ipv4Addr,
    /// Geolocation of the transmitter.
    pub geolocation: Option<Geolocation>,
    /// Fields of the IP header that data comes without; `None` before a whole packet. Written with data alone.
    pub translated: Option<TranslatedHeader>,
}

impl AeronpHeader {
    /// Appends the header.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let begin = out.len();
        let translated = self.translated.filter(|_| self.kind == Kind::Data);
        let kind = translated.map_or(self.kind as u8, |ip| TRANSLATED + ip.form());
        out.push((VERSION << 4) | kind);
        let flag = |set: bool, bit: u8| if set { bit } else { 0 };
        out.push(
            flag(self.congestion, CONGESTION)
                | flag(self.corruption, CORRUPTION)
                | flag(self.geolocation.is_some(), LOCATED)
                | flag(translated.is_some_and(|ip| ip.source.is_some()), SOURCE)
                | flag(
                    translated.is_some_and(|ip| ip.destination.is_some()),
                    DESTINATION,
                )
                | self.priority.min(7),
        );
        out.push(self.hop_limit);
        for address in [self.source, self.destination, self.next_hop] {
            out.extend_from_slice(&address.octets());
        }
        if let Some(geolocation) = &self.geolocation {
            geolocation.encode(out);
        }
        if let Some(translated) = &translated {
            translated.encode(out);
        }
        let check = CHECK.checksum(&out[begin..]);
        out.extend_from_slice(&check.to_be_bytes());
    }

    /// Decodes a header. Returns it and the payload.
    ///
    /// # Errors
    /// Too few bytes, a wrong header error check, an unknown version or type, or an IP address in a type without.
    pub fn decode(bytes: &[u8]) -> Result<(AeronpHeader, &[u8]), DecodeError> {
        expect_length(NAME, bytes, FIXED + HEC)?;
        let has = |bit| bytes[1] & bit != 0;
        let located = if has(LOCATED) { Geolocation::LENGTH } else { 0 };
        expect_length(NAME, bytes, FIXED + located + HEC)?;
        let (version, number) = (bytes[0] >> 4, bytes[0] & 0x0f);
        let ends = [has(SOURCE), has(DESTINATION)];
        let (mut end, mut translated) = (FIXED + located, None);
        if let Some(form) = number.checked_sub(TRANSLATED).filter(|&form| form < FORMS) {
            let (fields, length) = TranslatedHeader::decode(ends, form, &bytes[end..])?;
            (end, translated) = (end + length, Some(fields));
            expect_length(NAME, bytes, end + HEC)?;
        }
        if CHECK.checksum(&bytes[..end]) != u16_at(bytes, end) {
            return Err(DecodeError::Checksum { header: NAME });
        }
        let field = |field, value: u8| DecodeError::Field {
            header: NAME,
            field,
            value: value.into(),
        };
        if version != VERSION {
            return Err(field("version", version));
        }
        let kind = match translated {
            Some(_) => Some(&Kind::Data),
            None => Kind::ALL.get(usize::from(number)),
        };
        let kind = *kind.ok_or(field("type", number))?;
        if translated.is_none() && ends != [false; 2] {
            return Err(field("flags", bytes[1]));
        }
        let address = |at| Ipv4Addr::from_bits(u32_at(bytes, at));
        let header = AeronpHeader {
            kind,
            congestion: has(CONGESTION),
            corruption: has(CORRUPTION),
            priority: bytes[1] & 7,
            hop_limit: bytes[2],
            source: address(3),
            destination: address(7),
            next_hop: address(11),
            geolocation: match has(LOCATED) {
                true => Some(Geolocation::decode(&bytes[FIXED..])?),
                false => None,
            },
            translated,
        };
        Ok((header, &bytes[end + HEC..]))
    }
}

/// Position and velocity in the earth-centred, earth-fixed frame, as whole decimetres and decimetres a second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Geolocation {
    /// Position in decimetres from the earth's centre.
    pub position_dm: [i32; 3],
    /// Velocity in decimetres a second.
    pub velocity_dm_s: [i16; 3],
}

impl Geolocation {
    /// Length on the wire, in bytes.
    pub const LENGTH: usize = 18;

    /// Creates a geolocation from metres and metres a second. Values beyond 214 748 km and 3276.7 m/s are written as
    /// these.
    pub fn new(position_m: [f64; 3], velocity_m_s: [f64; 3]) -> Geolocation {
        // `as` saturates.
        Geolocation {
            position_dm: position_m.map(|metres| libm::round(metres * 10.0) as i32),
            velocity_dm_s: velocity_m_s.map(|speed| libm::round(speed * 10.0) as i16),
        }
    }

    /// Returns the position in metres after a time of straight motion.
    pub fn position_m(&self, after: Duration) -> [f64; 3] {
        let seconds = after.as_secs_f64();
        core::array::from_fn(|axis| {
            let velocity = f64::from(self.velocity_dm_s[axis]);
            (f64::from(self.position_dm[axis]) + velocity * seconds) / 10.0
        })
    }

    /// Returns the velocity in metres a second.
    pub fn velocity_m_s(&self) -> [f64; 3] {
        self.velocity_dm_s.map(|speed| f64::from(speed) / 10.0)
    }

    /// Appends the geolocation.
    pub fn encode(&self, out: &mut Vec<u8>) {
        for axis in self.position_dm {
            out.extend_from_slice(&axis.to_be_bytes());
        }
        for axis in self.velocity_dm_s {
            out.extend_from_slice(&axis.to_be_bytes());
        }
    }

    /// Decodes a geolocation.
    ///
    /// # Errors
    /// Too few bytes.
    pub fn decode(bytes: &[u8]) -> Result<Geolocation, DecodeError> {
        expect_length("geolocation", bytes, Self::LENGTH)?;
        Ok(Geolocation {
            position_dm: core::array::from_fn(|axis| u32_at(bytes, 4 * axis) as i32),
            velocity_dm_s: core::array::from_fn(|axis| u16_at(bytes, 12 + 2 * axis) as i16),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn header() -> AeronpHeader {
        AeronpHeader {
            kind: Kind::Data,
            congestion: true,
            corruption: false,
            priority: 5,
            hop_limit: 64,
            source: Ipv4Addr::new(10, 0, 0, 1),
            destination: Ipv4Addr::new(10, 0, 0, 2),
            next_hop: Ipv4Addr::new(10, 0, 0, 3),
            geolocation: None,
            translated: None,
        }
    }

    fn bytes(header: &AeronpHeader) -> Vec<u8> {
        let mut out = Vec::new();
        header.encode(&mut out);
        out
    }

    #[test]
    fn each_field_has_its_place() {
        let written = bytes(&header());
        // Version 1, data; congestion and priority 5; 64 hops.
        assert_eq!(written[..3], [0x10, 0x85, 64]);
        assert_eq!(written[3..15], [10, 0, 0, 1, 10, 0, 0, 2, 10, 0, 0, 3]);
        assert_eq!(written.len(), 17);
        let here = Geolocation::new([6_371_008.8, -1.25, 0.0], [-1200.0, 0.04, 3e9]);
        assert_eq!(here.position_dm, [63_710_088, -13, 0]);
        // A speed beyond the field is its largest.
        assert_eq!(here.velocity_dm_s, [-12_000, 0, i16::MAX]);
        let located = bytes(&AeronpHeader {
            geolocation: Some(here),
            ..header()
        });
        assert_eq!(located.len(), 35);
        assert_eq!(located[1], 0xa5);
        assert_eq!(located[15..19], 63_710_088_i32.to_be_bytes());
        assert_eq!(located[27..29], (-12_000_i16).to_be_bytes());
        // UDP with CS5 and ECT(0) and 63 hops left, from a host behind the first node to one behind the second.
        let mut ip = TranslatedHeader {
            protocol: 17,
            traffic_class: 0xA2,
            hop_limit: 63,
            source: Some(Ipv4Addr::new(192, 0, 2, 1)),
            destination: Some(Ipv4Addr::new(192, 0, 2, 2)),
            identification: 0x1234,
            dont_fragment: false,
        };
        let with = |ip| {
            bytes(&AeronpHeader {
                translated: Some(ip),
                ..header()
            })
        };
        let translated = with(ip);
        assert_eq!(translated[..3], [0x16, 0x9D, 64]);
        assert_eq!(
            translated[15..28],
            [17, 0xA2, 63, 192, 0, 2, 1, 192, 0, 2, 2, 0x12, 0x34]
        );
        // An atomic datagram between the nodes, with an identification and without.
        (ip.source, ip.destination, ip.dont_fragment) = (None, None, true);
        let translated = with(ip);
        assert_eq!(translated[..3], [0x14, 0x85, 64]);
        assert_eq!(translated.len(), 15 + 3 + 2 + 2);
        ip.identification = 0;
        let translated = with(ip);
        assert_eq!(translated[..3], [0x13, 0x85, 64]);
        assert_eq!(translated.len(), 15 + 3 + 2);
    }

    #[test]
    fn straight_motion_carries_a_position_on() {
        let here = Geolocation::new([1000.0, 0.0, -50.0], [200.0, -1.5, 0.0]);
        assert_eq!(
            here.position_m(Duration::from_secs(3)),
            [1600.0, -4.5, -50.0]
        );
        assert_eq!(here.velocity_m_s(), [200.0, -1.5, 0.0]);
    }

    #[test]
    fn faults_are_named() {
        let good = bytes(&header());
        let with = |at: usize, value: u8| {
            let mut changed = good.clone();
            changed[at] = value;
            let check = CHECK.checksum(&changed[..FIXED]).to_be_bytes();
            changed[FIXED..].copy_from_slice(&check);
            AeronpHeader::decode(&changed).unwrap_err().to_string()
        };
        assert_eq!(with(0, 0x20), "AeroNP: field version holds 2");
        assert_eq!(with(0, 0x17), "AeroNP: field type holds 7");
        assert_eq!(with(1, 0x10), "AeroNP: field flags holds 16");
        // The fields of a translated IP header are missing: here there are only two bytes.
        assert_eq!(with(0, 0x13), "AeroNP: 2 bytes where 3 are needed");
        // The rest of a header with a geolocation is missing.
        assert_eq!(with(1, 0x20), "AeroNP: 17 bytes where 35 are needed");
        let short = AeronpHeader::decode(&good[..16]).unwrap_err();
        assert_eq!(short.to_string(), "AeroNP: 16 bytes where 17 are needed");
    }

    #[test]
    fn each_flipped_bit_of_some_headers_is_noticed() {
        let here = Geolocation::new([6_371_008.8, 0.0, 0.0], [200.0, 0.0, 0.0]);
        for geolocation in [None, Some(here)] {
            for kind in Kind::ALL {
                let mut written = bytes(&AeronpHeader {
                    kind,
                    geolocation,
                    ..header()
                });
                let length = written.len();
                written.extend_from_slice(b"a payload of some length behind it");
                for bit in 0..8 * length {
                    written[bit / 8] ^= 1 << (bit % 8);
                    assert!(
                        AeronpHeader::decode(&written).is_err(),
                        "{kind:?}, bit {bit}"
                    );
                    written[bit / 8] ^= 1 << (bit % 8);
                }
            }
        }
    }

    proptest! {
        // A wrong type or flag in the first two bytes can move the check, which then fits by chance, once in 65,536: those
        // of some headers are tried above.
        #[test]
        fn a_header_comes_back_and_a_flipped_bit_is_noticed(
            flags: (bool, bool), kind in 0usize..3, priority in 0u8..8, rest: (u8, u32, u32, u32),
            place: Option<([i32; 3], [i16; 3])>, bit in 16usize..120,
            ip: Option<([u8; 3], [Option<u32>; 2], Option<u16>, bool)>,
        ) {
            let sent = AeronpHeader {
                kind: Kind::ALL[kind],
                congestion: flags.0,
                corruption: flags.1,
                priority,
                hop_limit: rest.0,
                source: Ipv4Addr::from_bits(rest.1),
                destination: Ipv4Addr::from_bits(rest.2),
                next_hop: Ipv4Addr::from_bits(rest.3),
                geolocation: place.map(|(position_dm, velocity_dm_s)| Geolocation { position_dm, velocity_dm_s }),
                translated: ip.filter(|_| kind == 0).map(|(octets, ends, number, dont_fragment)| TranslatedHeader {
                    protocol: octets[0],
                    traffic_class: octets[1],
                    hop_limit: octets[2],
                    source: ends[0].map(Ipv4Addr::from_bits),
                    destination: ends[1].map(Ipv4Addr::from_bits),
                    identification: number.unwrap_or(0),
                    dont_fragment,
                }),
            };
            let mut written = bytes(&sent);
            written.extend_from_slice(b"payload");
            prop_assert_eq!(AeronpHeader::decode(&written), Ok((sent, &b"payload"[..])));
            written[bit / 8] ^= 1 << (bit % 8);
            prop_assert!(AeronpHeader::decode(&written).is_err());
        }

        #[test]
        fn what_is_accepted_is_written_alike(mut octets in proptest::collection::vec(any::<u8>(), 46), kind in 0u8..7) {
            octets[0] = (VERSION << 4) | kind;
            for end in FIXED..=octets.len() {
                let mut written = octets[..end].to_vec();
                written.extend_from_slice(&CHECK.checksum(&octets[..end]).to_be_bytes());
                if let Ok((header, b"")) = AeronpHeader::decode(&written) {
                    prop_assert_eq!(bytes(&header), written);
                }
            }
        }

        #[test]
        fn arbitrary_bytes_do_no_harm(bytes: Vec<u8>) {
            let _ = AeronpHeader::decode(&bytes);
            let _ = Geolocation::decode(&bytes);
        }
    }
}
