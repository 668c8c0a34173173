//! Extension of an end that has restarted with its connections, and of the peer that answers it.

use super::{Reader, field};
use crate::wire::DecodeError;

/// Extension of every packet of an end that has restarted, until the peer is known to have heard of it, and of the peer's
/// answers. Packets without it show only the parity of their sender's incarnation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resumption {
    /// Restarts of the sender since the connection began.
    pub incarnation: u32,
    /// The receiver's incarnation that the sender has heard of.
    pub heard: Option<u32>,
    /// Bytes of the receiver's data that the sender has: sending goes on from here.
    pub received: u64,
    /// True if the receiver may never have heard of the connection, and then opens it.
    pub may_open: bool,
}

impl Resumption {
    /// Length on the wire in bytes.
    pub(super) const LENGTH: u32 = 17;
    /// Value of `heard` for none.
    const NONE: u32 = u32::MAX;

    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.incarnation.to_be_bytes());
        out.extend_from_slice(&self.heard.unwrap_or(Self::NONE).to_be_bytes());
        out.extend_from_slice(&self.received.to_be_bytes());
        out.push(u8::from(self.may_open));
    }

    pub(super) fn decode(rest: &mut Reader<'_>) -> Result<Resumption, DecodeError> {
        let incarnation = rest.u32()?;
        let heard = Some(rest.u32()?).filter(|&heard| heard != Self::NONE);
        let received = u64::from(rest.u32()?) << 32 | u64::from(rest.u32()?);
        // Positions stay far from the end of their range.
        if received >> 62 != 0 {
            return Err(field("received", (received >> 32) as u32));
        }
        let may_open = match rest.u8()? {
            0 => false,
            1 => true,
            other => return Err(field("resumption", u32::from(other))),
        };
        Ok(Resumption {
            incarnation,
            heard,
            received,
            may_open,
        })
    }
}
