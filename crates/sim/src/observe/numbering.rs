//! Sequence numbers of a connection that a gateway terminates and continues: each of its halves has numbers of its own.

use super::outcome::Side;
use super::view::TcpFields;
use baton_proto::wire::tcp::TcpFlags;

/// End of a direction at which a segment is seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum At {
    Sender,
    Receiver,
}

/// Numbers of a connection's directions.
#[derive(Clone, Debug, Default)]
pub(super) struct Numbering {
    directions: [Numbers; 2],
}

/// Numbers of the SYN of one direction.
#[derive(Clone, Copy, Debug, Default)]
struct Numbers {
    /// Numbers at the sender and at the receiver.
    seen: [Option<u32>; 2],
    /// The first one seen, which the direction's positions use.
    counted: u32,
}

impl Numbers {
    fn note_syn(&mut self, at: At, sequence: u32) {
        if self.seen == [None; 2] {
            self.counted = sequence;
        }
        self.seen[at as usize] = Some(sequence);
    }

    fn translate(&self, at: At, number: u32) -> u32 {
        match self.seen[at as usize] {
            Some(first) => number.wrapping_sub(first).wrapping_add(self.counted),
            None => number,
        }
    }
}

impl Numbering {
    /// Returns the fields of a segment sent by `from`, as seen at one end, with numbers that are the same at both.
    pub fn translate(&mut self, from: Side, at: At, tcp: TcpFields) -> TcpFields {
        let own = &mut self.directions[from as usize];
        if tcp.flags.contains(TcpFlags::SYN) {
            own.note_syn(at, tcp.sequence);
        }
        let sequence = own.translate(at, tcp.sequence);
        // Data acknowledged by a segment's sender has arrived there.
        let other = match at {
            At::Sender => At::Receiver,
            At::Receiver => At::Sender,
        };
        let acknowledged = &self.directions[from.other() as usize];
        TcpFields {
            sequence,
            acknowledgment: acknowledged.translate(other, tcp.acknowledgment),
            ..tcp
        }
    }
}
