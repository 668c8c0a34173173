//! Observations of both sides' segments, and of the data that they carried.

use baton_proto::wire::sequence::SequenceNumber;
use baton_proto::wire::tcp::{TcpFlags, TcpHeader};

/// Observations of the segments that one side sent.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sent {
    pub syn: Option<TcpHeader>,
    pub last: Option<TcpHeader>,
    pub segments: u64,
    /// After the last byte, SYN or FIN that was sent.
    pub next: Option<SequenceNumber>,
    /// Segments without data one before that: what asks whether a shut window has opened.
    pub bare_probes: u64,
    /// Identification of the last segment with data that has arrived. Both stacks count them up.
    arrived: Option<u16>,
    /// Segments with data that came behind one that was sent later.
    pub overtaken: u64,
}

impl Sent {
    pub fn note_sent(&mut self, header: &TcpHeader, length: u32) {
        self.segments += 1;
        self.last = Some(*header);
        if header.flags.contains(TcpFlags::SYN) {
            self.syn = Some(*header);
        }
        if header.flags.contains(TcpFlags::RST) {
            return;
        }
        let phantom = header.flags.contains(TcpFlags::SYN) || header.flags.contains(TcpFlags::FIN);
        let end = header.sequence + (length + u32::from(phantom));
        match self.next {
            Some(next) if end.distance_from(next) <= 0 => {
                let is_probe = length == 0 && !phantom && next.distance_from(end) == 1;
                self.bare_probes += u64::from(is_probe);
            }
            _ => self.next = Some(end),
        }
    }

    pub fn note_arrived(&mut self, identification: u16) {
        match self.arrived {
            Some(arrived) if (identification.wrapping_sub(arrived) as i16) < 0 => {
                self.overtaken += 1;
            }
            _ => self.arrived = Some(identification),
        }
    }
}

/// Data that was carried one way: bytes of a pattern that the reader compares.
#[derive(Clone, Copy, Debug, Default)]
pub struct Carried {
    pub written: u64,
    pub read: u64,
}
