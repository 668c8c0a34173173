//! Frames on the wire. The first byte is the type, followed by three zero bytes, as in WireGuard: this distinguishes a
//! frame from an IPv4 or IPv6 packet of RFC 5555 on the same port, whose first byte is at least 0x40. Numbers are
//! little-endian.
//!
//! | frame | bytes |
//! |---|---|
//! | initiation | type 1, sender's index 4, Noise's first message 117, `mac1` 16, `mac2` 16 |
//! | response | type 2, sender's index 4, receiver's index 4, Noise's second message 61 to 125, `mac1` 16 |
//! | cookie | type 3, receiver's index 4, nonce 12, sealed cookie 48 |
//! | transport | type 4, receiver's index 4, counter 8, sealed content, tag 16 |
//! | reset | type 5, index 4 and counter 8 of the transport frame that it answers, `mac1` of the home agent's own key 16 |

use crate::hash::MAC_BYTES;
use crate::noise::{FIRST_OVERHEAD, SECOND_OVERHEAD};

/// Most bytes that a home agent may assign in its response, so that no response is longer than its initiation.
pub const MOST_ASSIGNED: usize = 64;

pub(crate) const TAG_BYTES: usize = 16;
/// Length of type, receiver's index and counter, before the sealed content.
pub(crate) const TRANSPORT_HEADER: usize = 16;
/// Length of the Noise message in an initiation.
pub(crate) const FIRST: usize = FIRST_OVERHEAD + Request::BYTES;
pub(crate) const INITIATION: usize = 8 + FIRST + 2 * MAC_BYTES;
/// Offset of `mac1` in an initiation, and length of the bytes that it covers.
pub(crate) const INITIATION_MAC1: usize = 8 + FIRST;
/// Offset of `mac2` in an initiation, and length of the bytes that it covers.
pub(crate) const INITIATION_MAC2: usize = INITIATION_MAC1 + MAC_BYTES;
/// Offset of the Noise message in a response.
pub(crate) const RESPONSE_NOISE: usize = 12;
const LEAST_RESPONSE: usize = RESPONSE_NOISE + SECOND_OVERHEAD + Reply::LEAST_BYTES + MAC_BYTES;
const MOST_RESPONSE: usize = LEAST_RESPONSE + MOST_ASSIGNED;
/// An answer to a forged address is no longer than the frame that caused it.
const _: () = assert!(MOST_RESPONSE <= INITIATION && COOKIE <= INITIATION);
/// Offset of `mac1` in a reset, and length of the bytes that it covers.
pub(crate) const RESET_MAC1: usize = TRANSPORT_HEADER;
const RESET: usize = RESET_MAC1 + MAC_BYTES;
const _: () = assert!(RESET <= TRANSPORT_HEADER + TAG_BYTES);
const COOKIE_BYTES: usize = 32;
/// Offset of the nonce in a cookie frame.
pub(crate) const COOKIE_NONCE: usize = 8;
/// Offset of the sealed cookie in a cookie frame.
pub(crate) const COOKIE_SEALED: usize = COOKIE_NONCE + 12;
pub(crate) const COOKIE: usize = COOKIE_SEALED + COOKIE_BYTES + TAG_BYTES;

/// Types of frames, by their first byte.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Initiation = 1,
    Response = 2,
    Cookie = 3,
    Transport = 4,
    Reset = 5,
}

/// Reason why a datagram is no frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NoFrame {
    Type,
    Length,
}

/// Returns true if a datagram begins like a frame of this crate, and not like an IP packet.
pub fn is_frame(datagram: &[u8]) -> bool {
    matches!(datagram, [1..=5, 0, 0, 0, ..])
}

impl Kind {
    /// Reads a datagram's type, and checks its length for that type.
    pub(crate) fn of(datagram: &[u8]) -> Result<Kind, NoFrame> {
        let length = datagram.len();
        let (kind, fits) = match datagram {
            [1, 0, 0, 0, ..] => (Kind::Initiation, length == INITIATION),
            [2, 0, 0, 0, ..] => (
                Kind::Response,
                (LEAST_RESPONSE..=MOST_RESPONSE).contains(&length),
            ),
            [3, 0, 0, 0, ..] => (Kind::Cookie, length == COOKIE),
            [4, 0, 0, 0, ..] => (Kind::Transport, length >= TRANSPORT_HEADER + TAG_BYTES),
            [5, 0, 0, 0, ..] => (Kind::Reset, length == RESET),
            _ => return Err(NoFrame::Type),
        };
        if fits { Ok(kind) } else { Err(NoFrame::Length) }
    }

    /// Appends the type to `out`.
    pub(crate) fn write(self, out: &mut Vec<u8>) {
        out.extend_from_slice(&[self as u8, 0, 0, 0]);
    }
}

/// Returns the number at `offset`, or zero beyond the end.
pub(crate) fn u32_at(bytes: &[u8], offset: usize) -> u32 {
    u32::from_le_bytes(array_at(bytes, offset))
}

/// Returns the number at `offset`, or zero beyond the end.
pub(crate) fn u64_at(bytes: &[u8], offset: usize) -> u64 {
    u64::from_le_bytes(array_at(bytes, offset))
}

/// Returns the bytes at `offset`, or zeros beyond the end.
pub(crate) fn array_at<const N: usize>(bytes: &[u8], offset: usize) -> [u8; N] {
    let part = bytes.get(offset..).and_then(<[u8]>::first_chunk);
    part.copied().unwrap_or([0; N])
}

/// Payload of the first handshake message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Request {
    /// Nanoseconds of a clock that does not go back: the timestamps of replayed initiations are not above the largest
    /// seen.
    pub(crate) timestamp: u64,
    pub(crate) path: u8,
    pub(crate) start: Start,
}

/// Beginning of one end's datagrams in a session.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Start {
    /// Random number of this end's state: a different number shows that the end has lost its state.
    pub(crate) incarnation: u32,
    /// Counter of the sender's next datagram.
    pub(crate) counter: u64,
}

impl Request {
    pub(crate) const BYTES: usize = 21;

    pub(crate) fn encode(&self) -> [u8; Request::BYTES] {
        let mut bytes = [0; Request::BYTES];
        let fields = (self.timestamp.to_le_bytes().into_iter().chain([self.path]))
            .chain(self.start.incarnation.to_le_bytes())
            .chain(self.start.counter.to_le_bytes());
        bytes
            .iter_mut()
            .zip(fields)
            .for_each(|(to, from)| *to = from);
        bytes
    }

    pub(crate) fn decode(bytes: &[u8; Request::BYTES]) -> Request {
        let [path] = array_at(bytes, 8);
        Request {
            timestamp: u64_at(bytes, 0),
            path,
            start: Start {
                incarnation: u32_at(bytes, 9),
                counter: u64_at(bytes, 13),
            },
        }
    }
}

/// Payload of the second handshake message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Reply<'a> {
    /// A session, and the bytes assigned by the home agent.
    Accepted(Start, &'a [u8]),
    /// Refusal of a timestamp not above this one, the largest seen.
    Stale(u64),
    /// Refusal because of the maximum number of the router's paths.
    TooManyPaths,
}

impl<'a> Reply<'a> {
    pub(crate) const LEAST_BYTES: usize = 13;

    /// Appends the payload to `out`.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        let (status, incarnation, number, rest): (u8, u32, u64, &[u8]) = match *self {
            Reply::Accepted(start, assigned) => (0, start.incarnation, start.counter, assigned),
            Reply::Stale(largest) => (1, 0, largest, &[]),
            Reply::TooManyPaths => (2, 0, 0, &[]),
        };
        out.push(status);
        out.extend_from_slice(&incarnation.to_le_bytes());
        out.extend_from_slice(&number.to_le_bytes());
        out.extend_from_slice(rest);
    }

    /// Reads the payload; `None` if its status is unknown.
    pub(crate) fn decode(bytes: &'a [u8]) -> Option<Reply<'a>> {
        let (head, rest) = bytes.split_first_chunk::<{ Reply::LEAST_BYTES }>()?;
        let number = u64_at(head, 5);
        let start = Start {
            incarnation: u32_at(head, 1),
            counter: number,
        };
        match head {
            [0, ..] => Some(Reply::Accepted(start, rest)),
            [1, ..] => Some(Reply::Stale(number)),
            [2, ..] => Some(Reply::TooManyPaths),
            _ => None,
        }
    }
}
