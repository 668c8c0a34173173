//! DHCP messages (RFC 2131), with the options needed to assign an address (RFC 2132).

use super::agent_discovery::address_at;
use super::{DecodeError, Words, expect_length, u32_at};
use core::net::Ipv4Addr;

/// UDP port of servers (RFC 2131 section 4.1).
pub const SERVER_PORT: u16 = 67;
/// UDP port of clients.
pub const CLIENT_PORT: u16 = 68;

const HEADER: &str = "DHCP";
/// Offset of the options: after the fixed fields and the magic cookie.
const OPTIONS: usize = 240;
const COOKIE: u32 = 0x6382_5363;
/// Minimum length of a BOOTP message, which a relay may require (RFC 1542 section 2.1).
const SHORTEST: usize = 300;

/// Message type (option 53).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DhcpKind {
    /// DHCPDISCOVER: a client looks for servers.
    Discover,
    /// DHCPOFFER: a server offers an address.
    Offer,
    /// DHCPREQUEST: a client accepts an address, or renews it.
    Request,
    /// DHCPDECLINE: a client has found that another node has the address.
    Decline,
    /// DHCPACK: a server confirms a request.
    Acknowledge,
    /// DHCPNAK: a server refuses a request.
    Refuse,
}

impl DhcpKind {
    const NUMBERS: [(DhcpKind, u8); 6] = [
        (DhcpKind::Discover, 1),
        (DhcpKind::Offer, 2),
        (DhcpKind::Request, 3),
        (DhcpKind::Decline, 4),
        (DhcpKind::Acknowledge, 5),
        (DhcpKind::Refuse, 6),
    ];

    fn number(self) -> u8 {
        let mut all = DhcpKind::NUMBERS.iter();
        all.find(|(kind, _)| *kind == self)
            .map_or(0, |&(_, number)| number)
    }

    /// Returns true for a server's message type.
    pub const fn is_of_server(self) -> bool {
        matches!(
            self,
            DhcpKind::Offer | DhcpKind::Acknowledge | DhcpKind::Refuse
        )
    }
}

/// A DHCP message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dhcp {
    /// Message type.
    pub kind: DhcpKind,
    /// Transaction ID.
    pub transaction: u32,
    /// Client's hardware address, which identifies it to the server.
    pub client: [u8; 6],
    /// Assigned address; zero from a client.
    pub address: Ipv4Addr,
    /// Requested address (option 50).
    pub requested: Option<Ipv4Addr>,
    /// Server identifier (option 54).
    pub server: Option<Ipv4Addr>,
    /// Lease time in seconds (option 51).
    pub lease: Option<u32>,
    /// Prefix length of the network in bits, at most 32 (option 1, the subnet mask).
    pub prefix_length: Option<u8>,
}

impl Dhcp {
    /// Encodes the message as a UDP payload.
    pub fn encode(&self) -> Vec<u8> {
        let operation = if self.kind.is_of_server() { 2 } else { 1 };
        // Ethernet's hardware type, six bytes of address, no relay.
        let mut out = vec![operation, 1, 6, 0];
        out.extend_from_slice(&self.transaction.to_be_bytes());
        // No seconds; broadcast flag, since the client has no address yet.
        out.extend_from_slice(&[0, 0, 0x80, 0]);
        out.extend_from_slice(&[0; 4]);
        out.extend_from_slice(&self.address.octets());
        out.extend_from_slice(&[0; 8]);
        out.extend_from_slice(&self.client);
        out.resize(OPTIONS - 4, 0);
        out.extend_from_slice(&COOKIE.to_be_bytes());
        out.extend_from_slice(&[53, 1, self.kind.number()]);
        let mask = |length: u8| u32::MAX.checked_shl(32 - u32::from(length)).unwrap_or(0);
        for (option, word) in [
            (50, self.requested.map(Ipv4Addr::to_bits)),
            (54, self.server.map(Ipv4Addr::to_bits)),
            (51, self.lease),
            (1, self.prefix_length.map(mask)),
        ] {
            if let Some(word) = word {
                out.extend_from_slice(&[option, 4]);
                out.extend_from_slice(&word.to_be_bytes());
            }
        }
        out.push(255);
        out.resize(out.len().max(SHORTEST), 0);
        out
    }

    /// Decodes a UDP payload. Unknown options are skipped.
    ///
    /// # Errors
    /// Too few bytes, no DHCP message, or an option of an invalid length.
    pub fn decode(bytes: &[u8]) -> Result<Dhcp, DecodeError> {
        expect_length(HEADER, bytes, OPTIONS)?;
        if u32_at(bytes, OPTIONS - 4) != COOKIE {
            return Err(field("cookie", u32_at(bytes, OPTIONS - 4)));
        }
        let mut kind = None;
        let [mut requested, mut server, mut lease, mut mask] = [None; 4];
        let mut rest = &bytes[OPTIONS..];
        while let Some((&option, after)) = rest.split_first() {
            match option {
                0 => {
                    rest = after;
                    continue;
                }
                255 => break,
                _ => {}
            }
            expect_length(HEADER, rest, 2)?;
            let end = 2 + usize::from(rest[1]);
            expect_length(HEADER, rest, end)?;
            let content = &rest[2..end];
            let word = || match content.len() {
                4 => Ok(Some(u32_at(content, 0))),
                length => Err(field("option length", length as u32)),
            };
            match option {
                53 => kind = Some(read_kind(content)?),
                50 => requested = word()?,
                54 => server = word()?,
                51 => lease = word()?,
                1 => mask = word()?,
                _ => {}
            }
            rest = &rest[end..];
        }
        let kind = kind.ok_or(field("message type", 0))?;
        Ok(Dhcp {
            kind,
            transaction: u32_at(bytes, 4),
            client: core::array::from_fn(|index| bytes[28 + index]),
            address: address_at(bytes, 16),
            requested: requested.map(Ipv4Addr::from_bits),
            server: server.map(Ipv4Addr::from_bits),
            lease,
            prefix_length: mask.map(|mask| mask.leading_ones() as u8),
        })
    }
}

fn read_kind(content: &[u8]) -> Result<DhcpKind, DecodeError> {
    let number = content.first().copied().unwrap_or(0);
    let mut all = DhcpKind::NUMBERS.iter();
    let found = all.find(|(_, known)| *known == number);
    found
        .map(|&(kind, _)| kind)
        .ok_or(field("message type", u32::from(number)))
}

fn field(field: &'static str, value: u32) -> DecodeError {
    DecodeError::Field {
        header: HEADER,
        field,
        value,
    }
}

/// Describes the message in a UDP datagram, if its ports are this protocol's.
pub(super) fn words(ports: [u16; 2], datagram: &[u8]) -> Option<Words> {
    if !(ports.contains(&SERVER_PORT) && ports.contains(&CLIENT_PORT)) {
        return None;
    }
    Dhcp::decode(datagram).ok().map(|message| message.words())
}

impl Dhcp {
    fn words(&self) -> Words {
        let name = match self.kind {
            DhcpKind::Discover => "DHCP Discover",
            DhcpKind::Offer => "DHCP Offer",
            DhcpKind::Request => "DHCP Request",
            DhcpKind::Decline => "DHCP Decline",
            DhcpKind::Acknowledge => "DHCP Acknowledgement",
            DhcpKind::Refuse => "DHCP Refusal",
        };
        let given = (!self.address.is_unspecified()).then_some(self.address);
        let address = given.or(self.requested);
        (
            name,
            address.map_or(String::new(), |address| format!("address {address}")),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use proptest::test_runner::RngSeed;

    /// Compares with scapy 2.8's encoding of an offer with these fields; without the hundreds of zeros.
    #[test]
    fn an_offer_as_another_writes_it() {
        let offer = Dhcp {
            kind: DhcpKind::Offer,
            transaction: 0x0102_0304,
            client: [2, 0, 192, 0, 2, 10],
            address: Ipv4Addr::new(203, 0, 113, 50),
            requested: None,
            server: Some(Ipv4Addr::new(203, 0, 113, 1)),
            lease: Some(3600),
            prefix_length: Some(24),
        };
        let bytes = offer.encode();
        let head = [
            2, 1, 6, 0, 1, 2, 3, 4, 0, 0, 0x80, 0, 0, 0, 0, 0, 203, 0, 113, 50,
        ];
        assert_eq!(bytes[..20], head);
        assert_eq!(bytes[28..34], [2, 0, 192, 0, 2, 10]);
        let options = [
            0x63, 0x82, 0x53, 0x63, 53, 1, 2, 54, 4, 203, 0, 113, 1, 51, 4, 0, 0, 0x0e, 0x10, 1, 4,
            255, 255, 255, 0, 255,
        ];
        assert_eq!(bytes[236..236 + options.len()], options);
        assert_eq!(bytes.len(), 300);
        assert_eq!(Dhcp::decode(&bytes), Ok(offer));
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            rng_seed: RngSeed::Fixed(1),
            failure_persistence: None,
            ..ProptestConfig::default()
        })]

        #[test]
        fn no_options_panic(options in prop::collection::vec(any::<u8>(), 0..80)) {
            let mut bytes = vec![0; OPTIONS - 4];
            bytes.extend_from_slice(&COOKIE.to_be_bytes());
            bytes.extend_from_slice(&options);
            if let Ok(read) = Dhcp::decode(&bytes) {
                prop_assert_eq!(Dhcp::decode(&read.encode()), Ok(read));
            }
            let _ = Dhcp::decode(&options);
        }
    }
}
