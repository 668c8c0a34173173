//! Messages that set up paths to a mobile within a domain: HAWAII (draft-ietf-mobileip-hawaii-01) and Cellular IP
//! (draft-ietf-mobileip-cellularip-00).
//!
//! The drafts put them into extensions of Mobile IP and into ICMP messages. Here they are datagrams of one format of our
//! own, with the contents that both have:
//! ```text
//! | version (1) | kind | reserved (2)      |
//! | address of the mobile (4)              |
//! | address of the new base station (4)    |
//! | address of the old base station (4)    |
//! | timestamp (8)                          |
//! | authenticator (16)                     |
//! ```
//! The authenticator is the HMAC-MD5 (RFC 2104) of all before it, with the mobile's key in the domain. The timestamp is
//! the mobile's, in NTP's format. A message of a router repeats the timestamp of the mobile's message that caused it.

use super::{DecodeError, Words, expect_length, u32_at};
use core::net::Ipv4Addr;
use hmac::{Hmac, KeyInit, Mac};
use md5::Md5;

/// UDP port of both ends. Chosen from IANA's dynamic range: the drafts have none.
pub const PORT: u16 = 50_434;
/// Length of a message in bytes.
pub const LENGTH: usize = SIGNED + 16;

const HEADER: &str = "path set-up";
const VERSION: u8 = 1;
/// Bytes that the authenticator covers.
const SIGNED: usize = 24;

/// Kind of a message, and thus the change at each router that it passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RouteKind {
    /// From the mobile to the root: packets for the mobile take the way back. Cellular IP's route-update, HAWAII's
    /// refresh.
    Update,
    /// An update that the root acknowledges: HAWAII's power-up.
    PowerUp,
    /// From the new base station to the root: packets also take the way back, beside the present one (Cellular IP).
    Semisoft,
    /// From the mobile, over its old link, to the new base station: request for a [`Semisoft`](Self::Semisoft).
    SemisoftRequest,
    /// From the mobile to the new base station: its handoff (HAWAII).
    Handoff,
    /// From the new base station to the old one: packets take the way back (UNF).
    NonForwarding,
    /// From the new base station to the old one, which sets up the path (MSF, SSF). Changes nothing on its way.
    ForwardingRequest,
    /// From the old base station to the new one: packets follow (MSF).
    Forwarding,
    /// To the mobile: the path is set up.
    Acknowledgment,
    /// From the old base station to the new one: packets that have come back from the old one follow, all others go on
    /// to the old one (SSF).
    SingleStream,
    /// From the new base station to the old one: packets take the way back, and for a while from the crossover router
    /// the present way, too (MNF).
    MulticastNonForwarding,
    /// From an idle mobile to the root: pages for the mobile take the way back.
    PagingUpdate,
    /// From the root to an idle mobile: packets wait for it (HAWAII).
    Page,
}

impl RouteKind {
    const ALL: [RouteKind; 13] = [
        RouteKind::Update,
        RouteKind::PowerUp,
        RouteKind::Semisoft,
        RouteKind::SemisoftRequest,
        RouteKind::Handoff,
        RouteKind::NonForwarding,
        RouteKind::ForwardingRequest,
        RouteKind::Forwarding,
        RouteKind::Acknowledgment,
        RouteKind::SingleStream,
        RouteKind::MulticastNonForwarding,
        RouteKind::PagingUpdate,
        RouteKind::Page,
    ];

    const fn name(self) -> &'static str {
        match self {
            RouteKind::Update => "Route Update",
            RouteKind::PowerUp => "Path Setup Power-Up",
            RouteKind::Semisoft => "Semisoft Route Update",
            RouteKind::SemisoftRequest => "Semisoft Request",
            RouteKind::Handoff => "Handoff",
            RouteKind::NonForwarding => "Path Setup UNF",
            RouteKind::ForwardingRequest => "Path Setup Request",
            RouteKind::Forwarding => "Path Setup MSF",
            RouteKind::Acknowledgment => "Path Setup Acknowledgment",
            RouteKind::SingleStream => "Path Setup SSF",
            RouteKind::MulticastNonForwarding => "Path Setup MNF",
            RouteKind::PagingUpdate => "Paging Update",
            RouteKind::Page => "Page",
        }
    }
}

/// A message about the path to a mobile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RouteMessage {
    /// Its kind.
    pub kind: RouteKind,
    /// Address that the mobile keeps within the domain.
    pub mobile: Ipv4Addr,
    /// New or present base station of the mobile; 0.0.0.0 in a page.
    pub new_base_station: Ipv4Addr,
    /// Base station that the mobile leaves; 0.0.0.0 if there is none.
    pub old_base_station: Ipv4Addr,
    /// Time of the mobile's message, in NTP's format: seconds in the upper 32 bits.
    pub timestamp: u64,
}

impl RouteMessage {
    /// Encodes the message as a UDP payload, signed with the mobile's key.
    pub fn encode(&self, key: &[u8; 16]) -> Vec<u8> {
        let mut out = vec![VERSION, self.kind as u8 + 1, 0, 0];
        for address in [self.mobile, self.new_base_station, self.old_base_station] {
            out.extend_from_slice(&address.octets());
        }
        out.extend_from_slice(&self.timestamp.to_be_bytes());
        let authenticator = hmac_md5(key, &out);
        out.extend_from_slice(&authenticator);
        out
    }

    /// Decodes a UDP payload; [`is_signed`] verifies it.
    ///
    /// # Errors
    /// Too few or too many bytes, another version, an unknown kind, or reserved bits that are set.
    pub fn decode(bytes: &[u8]) -> Result<RouteMessage, DecodeError> {
        expect_length(HEADER, bytes, LENGTH)?;
        let wrong = |field, value: usize| DecodeError::Field {
            header: HEADER,
            field,
            value: value as u32,
        };
        if bytes.len() > LENGTH {
            return Err(wrong("length", bytes.len()));
        }
        if bytes[0] != VERSION {
            return Err(wrong("version", bytes[0].into()));
        }
        if bytes[2..4] != [0, 0] {
            return Err(wrong("reserved", bytes[2].max(bytes[3]).into()));
        }
        let kind = usize::from(bytes[1]).checked_sub(1);
        let kind = kind.and_then(|place| RouteKind::ALL.get(place).copied());
        let address = |at| Ipv4Addr::from_bits(u32_at(bytes, at));
        Ok(RouteMessage {
            kind: kind.ok_or_else(|| wrong("kind", bytes[1].into()))?,
            mobile: address(4),
            new_base_station: address(8),
            old_base_station: address(12),
            timestamp: u64::from(u32_at(bytes, 16)) << 32 | u64::from(u32_at(bytes, 20)),
        })
    }
}

/// Returns true if a message is signed with this key.
pub fn is_signed(bytes: &[u8], key: &[u8; 16]) -> bool {
    let parts = bytes.split_at_checked(SIGNED);
    parts.is_some_and(|(signed, authenticator)| authenticator == hmac_md5(key, signed))
}

/// Derives a mobile's key from the key that all routers of the domain share, so that routers keep no key for each
/// mobile: Cellular IP's PID, here by HMAC-MD5.
pub fn mobile_key(network_key: &[u8; 16], mobile: Ipv4Addr) -> [u8; 16] {
    hmac_md5(network_key, &mobile.octets())
}

fn hmac_md5(key: &[u8; 16], bytes: &[u8]) -> [u8; 16] {
    // HMAC takes keys of any length.
    let mac = Hmac::<Md5>::new_from_slice(key);
    let digest = mac.map(|mac| mac.chain_update(bytes).finalize().into_bytes());
    digest.map_or([0; 16], Into::into)
}

/// Describes the message in a UDP datagram, if its ports are this protocol's.
pub(super) fn words(ports: [u16; 2], datagram: &[u8]) -> Option<Words> {
    if ports != [PORT; 2] {
        return None;
    }
    let message = RouteMessage::decode(datagram).ok()?;
    let old = match message.old_base_station {
        Ipv4Addr::UNSPECIFIED => String::new(),
        old => format!(", old base station {old}"),
    };
    let (mobile, new) = (message.mobile, message.new_base_station);
    let details = match new {
        Ipv4Addr::UNSPECIFIED => format!("mobile {mobile}"),
        new => format!("mobile {mobile}, base station {new}{old}"),
    };
    Some((message.kind.name(), details))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const KEY: [u8; 16] = [0x0b; 16];

    fn message(kind: RouteKind) -> RouteMessage {
        RouteMessage {
            kind,
            mobile: Ipv4Addr::new(172, 16, 0, 2),
            new_base_station: Ipv4Addr::new(10, 0, 0, 3),
            old_base_station: Ipv4Addr::new(10, 0, 0, 4),
            timestamp: 0x0102_0304_0506_0708,
        }
    }

    /// The layout of the module's description, by hand; the authenticator by Python's `hmac`.
    #[test]
    fn bytes_are_as_described() {
        let bytes = message(RouteKind::Handoff).encode(&KEY);
        let expected = [
            1, 5, 0, 0, 172, 16, 0, 2, 10, 0, 0, 3, 10, 0, 0, 4, 1, 2, 3, 4, 5, 6, 7, 8,
        ];
        assert_eq!(bytes[..24], expected);
        assert_eq!(bytes[24..], AUTHENTICATOR);
        assert_eq!(mobile_key(&KEY, Ipv4Addr::new(172, 16, 0, 2)), DERIVED);
    }

    const AUTHENTICATOR: [u8; 16] = [
        0xdd, 0x20, 0x2c, 0xfd, 0x2f, 0xc6, 0x9b, 0x74, 0xcc, 0xac, 0xa7, 0x21, 0x61, 0xfb, 0xdc,
        0x4d,
    ];
    const DERIVED: [u8; 16] = [
        0xd2, 0x67, 0x5c, 0x8b, 0x64, 0xfd, 0x4f, 0x0f, 0x9b, 0x5a, 0xb2, 0x31, 0x71, 0xb5, 0xb6,
        0x60,
    ];

    #[test]
    fn every_kind_is_read_as_written() {
        for kind in RouteKind::ALL {
            let bytes = message(kind).encode(&KEY);
            assert_eq!(RouteMessage::decode(&bytes), Ok(message(kind)));
            assert!(is_signed(&bytes, &KEY));
            assert!(!is_signed(&bytes, &[0x0c; 16]));
        }
    }

    proptest! {
        /// Whatever bit is changed, the message no longer verifies.
        #[test]
        fn a_changed_bit_is_detected(place in 0..LENGTH * 8) {
            let mut bytes = message(RouteKind::Update).encode(&KEY);
            bytes[place / 8] ^= 1 << (place % 8);
            prop_assert!(!is_signed(&bytes, &KEY));
        }

        #[test]
        fn any_bytes_are_read_as_they_would_be_written_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..48)) {
            if let Ok(message) = RouteMessage::decode(&bytes) {
                prop_assert_eq!(&message.encode(&KEY)[..SIGNED], &bytes[..SIGNED]);
            }
            let _ = is_signed(&bytes, &KEY);
        }
    }
}
