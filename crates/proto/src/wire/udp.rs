//! The UDP header (RFC 768).

/// Ports of a datagram; its length follows from the payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UdpHeader {
    /// Sender's port.
    pub source_port: u16,
    /// Receiver's port.
    pub destination_port: u16,
}

impl UdpHeader {
    /// Bytes on the wire.
    pub const fn wire_length(&self) -> u32 {
        8
    }
}
