//! AODV's messages (RFC 3561 section 5).

use crate::wire::{DecodeError, expect_length, u32_at};
use core::net::Ipv4Addr;

const NAME: &str = "AODV";
const REQUEST: u8 = 1;
const REPLY: u8 = 2;
const ERROR: u8 = 3;
const UNKNOWN_SEQUENCE: u8 = 0x08;
const DESTINATION_ONLY: u8 = 0x10;

/// A message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// Route Request.
    Request(RouteRequest),
    /// Route Reply; with the destination as its own sender and no hops a Hello.
    Reply(RouteReply),
    /// Route Error: unreachable destinations with their sequence numbers.
    Error(Vec<(Ipv4Addr, u32)>),
}

/// Route Request (section 5.1). Flags J and R (multicast) and G (gratuitous reply) are not sent, and ignored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RouteRequest {
    /// Flag D: only the destination may answer.
    pub destination_only: bool,
    /// Hops from the originator.
    pub hop_count: u8,
    /// Number that with the originator identifies the request.
    pub id: u32,
    /// Node to which a route is wanted.
    pub destination: Ipv4Addr,
    /// Last known sequence number of the destination; `None` is flag U.
    pub destination_sequence: Option<u32>,
    /// Node that wants the route.
    pub originator: Ipv4Addr,
    /// The originator's sequence number.
    pub originator_sequence: u32,
}

/// Route Reply (section 5.2). Flags R and A are not sent, and ignored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RouteReply {
    /// Hops to the destination.
    pub hop_count: u8,
    /// Node to which there is a route.
    pub destination: Ipv4Addr,
    /// Sequence number of the destination.
    pub destination_sequence: u32,
    /// Node that asked for the route.
    pub originator: Ipv4Addr,
    /// Time for which the route is valid, in milliseconds.
    pub lifetime_ms: u32,
}

impl Message {
    /// Returns the message with the time to live of the IP packet that carries it, which has one byte in front here:
    /// the IP header itself is not written.
    pub fn encode(&self, time_to_live: u8) -> Vec<u8> {
        let mut out = vec![time_to_live];
        let numbers = |out: &mut Vec<u8>, numbers: &[u32]| {
            let bytes = numbers.iter().flat_map(|number| number.to_be_bytes());
            out.extend(bytes);
        };
        match self {
            Message::Request(it) => {
                let unknown = match it.destination_sequence {
                    Some(_) => 0,
                    None => UNKNOWN_SEQUENCE,
                };
                let only = if it.destination_only {
                    DESTINATION_ONLY
                } else {
                    0
                };
                out.extend([REQUEST, unknown | only, 0, it.hop_count]);
                let sequence = it.destination_sequence.unwrap_or(0);
                let [to, from] = [it.destination, it.originator].map(Ipv4Addr::to_bits);
                numbers(
                    &mut out,
                    &[it.id, to, sequence, from, it.originator_sequence],
                );
            }
            Message::Reply(it) => {
                out.extend([REPLY, 0, 0, it.hop_count]);
                let [to, from] = [it.destination, it.originator].map(Ipv4Addr::to_bits);
                numbers(
                    &mut out,
                    &[to, it.destination_sequence, from, it.lifetime_ms],
                );
            }
            Message::Error(unreachable) => {
                // The count has one byte; a router sends the rest in a further message.
                let count = unreachable.len().min(255);
                out.extend([ERROR, 0, 0, count as u8]);
                for (node, sequence) in &unreachable[..count] {
                    numbers(&mut out, &[node.to_bits(), *sequence]);
                }
            }
        }
        out
    }

    /// Decodes a message. Returns it with its time to live.
    ///
    /// # Errors
    /// Too few bytes, an unknown type, or a Route Error without a destination.
    pub fn decode(bytes: &[u8]) -> Result<(Message, u8), DecodeError> {
        expect_length(NAME, bytes, 5)?;
        let (time_to_live, bytes) = (bytes[0], &bytes[1..]);
        let address = |at| Ipv4Addr::from_bits(u32_at(bytes, at));
        let field = |field, value: u8| DecodeError::Field {
            header: NAME,
            field,
            value: value.into(),
        };
        let message = match bytes[0] {
            REQUEST => {
                expect_length(NAME, bytes, 24)?;
                let is_known = bytes[1] & UNKNOWN_SEQUENCE == 0;
                Message::Request(RouteRequest {
                    destination_only: bytes[1] & DESTINATION_ONLY != 0,
                    hop_count: bytes[3],
                    id: u32_at(bytes, 4),
                    destination: address(8),
                    destination_sequence: is_known.then_some(u32_at(bytes, 12)),
                    originator: address(16),
                    originator_sequence: u32_at(bytes, 20),
                })
            }
            REPLY => {
                expect_length(NAME, bytes, 20)?;
                Message::Reply(RouteReply {
                    hop_count: bytes[3],
                    destination: address(4),
                    destination_sequence: u32_at(bytes, 8),
                    originator: address(12),
                    lifetime_ms: u32_at(bytes, 16),
                })
            }
            ERROR => {
                let count = usize::from(bytes[3]);
                if count == 0 {
                    return Err(field("DestCount", 0));
                }
                expect_length(NAME, bytes, 4 + 8 * count)?;
                let places = (0..count).map(|index| 4 + 8 * index);
                Message::Error(
                    places
                        .map(|at| (address(at), u32_at(bytes, at + 4)))
                        .collect(),
                )
            }
            other => return Err(field("Type", other)),
        };
        Ok((message, time_to_live))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const A: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
    const B: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);

    #[test]
    fn the_formats_of_the_rfc() {
        // Section 5.1: type 1, flags J R G D U in the first bits of the next byte, hop count, five words.
        let request = Message::Request(RouteRequest {
            destination_only: true,
            hop_count: 2,
            id: 7,
            destination: B,
            destination_sequence: None,
            originator: A,
            originator_sequence: 9,
        });
        let written = request.encode(35);
        let expected = [
            35, 1, 0x18, 0, 2, 0, 0, 0, 7, 10, 0, 0, 2, 0, 0, 0, 0, 10, 0, 0, 1, 0, 0, 0, 9,
        ];
        assert_eq!(written, expected);
        // Section 5.2: type 2, four words.
        let reply = Message::Reply(RouteReply {
            hop_count: 3,
            destination: B,
            destination_sequence: 120,
            originator: A,
            lifetime_ms: 6000,
        });
        let expected = [
            1, 2, 0, 0, 3, 10, 0, 0, 2, 0, 0, 0, 120, 10, 0, 0, 1, 0, 0, 0x17, 0x70,
        ];
        assert_eq!(reply.encode(1), expected);
        // Section 5.3: type 3, count, pairs.
        let error = Message::Error(vec![(B, 121)]);
        assert_eq!(error.encode(1), [1, 3, 0, 0, 1, 10, 0, 0, 2, 0, 0, 0, 121]);
        for message in [request, reply, error] {
            assert_eq!(Message::decode(&message.encode(4)), Ok((message, 4)));
        }
    }

    #[test]
    fn faults_are_named() {
        let decode = |bytes: &[u8]| Message::decode(bytes).unwrap_err().to_string();
        assert_eq!(decode(&[1, 9, 0, 0, 0]), "AODV: field Type holds 9");
        assert_eq!(decode(&[1, 3, 0, 0, 0]), "AODV: field DestCount holds 0");
        assert_eq!(
            decode(&[1, 3, 0, 0, 2]),
            "AODV: 4 bytes where 20 are needed"
        );
        assert_eq!(decode(&[1, 2]), "AODV: 2 bytes where 5 are needed");
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_do_no_harm(mut bytes: Vec<u8>, kind in 0u8..5) {
            if let Some(first) = bytes.get_mut(1) {
                *first = kind;
            }
            if let Ok((message, time_to_live)) = Message::decode(&bytes) {
                let again = message.encode(time_to_live);
                prop_assert_eq!(Message::decode(&again), Ok((message, time_to_live)));
            }
        }
    }
}
