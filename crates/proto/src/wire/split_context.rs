//! Messages between gateways about split connections: a request for those of a mobile, and the context of one.
//!
//! They go over a TCP connection to [`PORT`]. The format is Baton's own, since no standard has one. Each message begins
//! with a header of eight bytes: version, kind, two zeros, and the length of the body. Numbers are big-endian,
//! addresses follow their version (4 or 6), and durations are in nanoseconds.
//!
//! A [`SplitContext`] contains all that a gateway needs to continue both halves as its own:
//!
//! - *Transferred* of each half: state, sequence numbers, windows, negotiated options, the timestamp clock, the
//!   contents of both buffers, the segments in flight with the scoreboard, congestion window and slow-start threshold,
//!   the round-trip time and its timeout, ACKs owed to the peer, and timers as remaining times.
//! - *Begun anew*: state of the gateway or of the old path. Settings are the new gateway's own. The path MTU, the
//!   shortest round-trip time and the private state of the congestion control (Hybla's ratio, CUBIC's curve) were
//!   measured on a path that the mobile has left, and would make the format depend on the algorithm. A loss under
//!   repair is repaired without another reduction. ACK delays, counters, and remedies at the gateway begin anew too.
//!
//! A simulation stores only the length of most payload. Such a run has the number of its pattern, followed by its bytes
//! all the same, so that a context has its real length; the bytes are ignored.

mod codec;
mod half;
#[cfg(test)]
mod tests;

pub use half::{OutstandingSegment, RoundTrip, TcpContext, Timers, state};

use super::{DecodeError, expect_length, u32_at};
use codec::{Reader, write_address};
use core::net::{IpAddr, SocketAddr};

/// TCP port at which gateways listen for each other. Chosen.
pub const PORT: u16 = 5000;
/// Largest body of a message, in bytes. Chosen: buffers of a few hundred megabytes fit.
pub const LONGEST_BODY: u32 = 1 << 30;

const HEADER: &str = "split context";
const HEADER_LENGTH: usize = 8;
const VERSION: u8 = 1;
const REQUEST: u8 = 1;
const CONTEXT: u8 = 2;

/// A message between gateways.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// Request for the contexts of the mobile with this address, which is at the sender now.
    Request(IpAddr),
    /// Context of a connection to continue.
    Context(Box<SplitContext>),
}

/// A split connection in transfer between gateways.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SplitContext {
    /// The mobile's end.
    pub mobile: SocketAddr,
    /// The correspondent's end.
    pub correspondent: SocketAddr,
    /// Flow of its packets, in a simulation.
    pub flow: Option<u32>,
    /// The half towards the mobile.
    pub towards_mobile: TcpContext,
    /// The half towards the correspondent.
    pub towards_correspondent: TcpContext,
}

impl Message {
    /// Encodes the message for TCP. Peers refuse one whose body is longer than [`LONGEST_BODY`].
    pub fn encode(&self) -> Vec<u8> {
        let kind = match self {
            Message::Request(_) => REQUEST,
            Message::Context(_) => CONTEXT,
        };
        let mut out = vec![VERSION, kind, 0, 0, 0, 0, 0, 0];
        match self {
            Message::Request(mobile) => write_address(*mobile, &mut out),
            Message::Context(context) => context.encode(&mut out),
        }
        let length = (out.len() - HEADER_LENGTH) as u32;
        out[4..HEADER_LENGTH].copy_from_slice(&length.to_be_bytes());
        out
    }

    /// Decodes the next message of a stream, and its length; `None` while it is incomplete.
    ///
    /// # Errors
    /// Another version or kind, a body longer than [`LONGEST_BODY`], a body that is too short or too long, or
    /// inconsistent values.
    pub fn decode(bytes: &[u8]) -> Result<Option<(Message, usize)>, DecodeError> {
        match bytes {
            [VERSION, REQUEST | CONTEXT, ..] | [VERSION] | [] => {}
            [VERSION, kind, ..] => return Err(field("kind", u64::from(*kind))),
            [version, ..] => return Err(field("version", u64::from(*version))),
        }
        if expect_length(HEADER, bytes, HEADER_LENGTH).is_err() {
            return Ok(None);
        }
        if bytes[2..4] != [0, 0] {
            return Err(field("zeros", u64::from(u32_at(bytes, 0) & 0xFFFF)));
        }
        let length = u32_at(bytes, 4);
        if length > LONGEST_BODY {
            return Err(field("length", u64::from(length)));
        }
        let end = HEADER_LENGTH + length as usize;
        let Some(body) = bytes.get(HEADER_LENGTH..end) else {
            return Ok(None);
        };
        let mut reader = Reader::new(body);
        let message = match bytes[1] {
            REQUEST => Message::Request(reader.address()?),
            _ => Message::Context(Box::new(SplitContext::read(&mut reader)?)),
        };
        reader.finish()?;
        Ok(Some((message, end)))
    }
}

impl SplitContext {
    fn encode(&self, out: &mut Vec<u8>) {
        for end in [self.mobile, self.correspondent] {
            write_address(end.ip(), out);
            out.extend_from_slice(&end.port().to_be_bytes());
        }
        out.push(u8::from(self.flow.is_some()));
        out.extend(self.flow.iter().flat_map(|flow| flow.to_be_bytes()));
        self.towards_mobile.encode(out);
        self.towards_correspondent.encode(out);
    }

    fn read(reader: &mut Reader<'_>) -> Result<SplitContext, DecodeError> {
        let mobile = SocketAddr::new(reader.address()?, reader.u16()?);
        let correspondent = SocketAddr::new(reader.address()?, reader.u16()?);
        if mobile.is_ipv4() != correspondent.is_ipv4() {
            let version = if correspondent.is_ipv4() { 4 } else { 6 };
            return Err(field("correspondent's version", version));
        }
        Ok(SplitContext {
            mobile,
            correspondent,
            flow: match reader.flag("flow")? {
                true => Some(reader.u32()?),
                false => None,
            },
            towards_mobile: TcpContext::read(reader)?,
            towards_correspondent: TcpContext::read(reader)?,
        })
    }
}

/// Creates the error of a field with a forbidden value; values beyond the error's range are reported as its maximum.
fn field(field: &'static str, value: u64) -> DecodeError {
    DecodeError::Field {
        header: HEADER,
        field,
        value: u32::try_from(value).unwrap_or(u32::MAX),
    }
}
