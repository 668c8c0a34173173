//! One connection, fed segments by hand.

use super::*;
use crate::wire::tcp::{SackBlocks, TcpOptions};

/// One connection against a hand-written peer. Numbers are relative: ours start at 1 after the SYN, and so
/// do the peer's.
pub(super) struct Solo {
    pub(super) now: Instant,
    pub(super) connection: Connection,
}

/// The peer's next segment, put together.
#[derive(Clone, Debug)]
pub(super) struct Incoming {
    pub(super) header: TcpHeader,
    pub(super) length: u32,
}

pub(super) const PEER_ISS: SequenceNumber = SequenceNumber(0xFFFF_F000);

/// A segment of the peer's from `sequence` that acknowledges `acknowledgment`, with a window of 60000.
pub(super) fn from_peer(flags: TcpFlags, sequence: i64, acknowledgment: i64) -> Incoming {
    Incoming {
        header: TcpHeader {
            source_port: 80,
            destination_port: 40_000,
            sequence: SequenceNumber(PEER_ISS.0.wrapping_add(sequence as u32)),
            acknowledgment: SequenceNumber(ISS_A.0.wrapping_add(acknowledgment as u32)),
            flags,
            window: 60_000,
            options: TcpOptions::default(),
        },
        length: 0,
    }
}

/// A bare acknowledgment in a peer's stream that has sent nothing.
pub(super) fn ack(acknowledgment: i64) -> Incoming {
    from_peer(TcpFlags::ACK, 1, acknowledgment)
}

/// Data `from..to` of the peer.
pub(super) fn data(from: i64, to: i64) -> Incoming {
    let mut incoming = from_peer(TcpFlags::ACK, from, 1);
    incoming.length = (to - from) as u32;
    incoming
}

impl Incoming {
    pub(super) fn window(mut self, window: u16) -> Incoming {
        self.header.window = window;
        self
    }

    pub(super) fn acknowledging(mut self, acknowledgment: i64) -> Incoming {
        self.header.acknowledgment = SequenceNumber(ISS_A.0.wrapping_add(acknowledgment as u32));
        self
    }

    pub(super) fn sack(mut self, blocks: &[(u32, u32)]) -> Incoming {
        let mut option = SackBlocks::default();
        for &(first, after_last) in blocks {
            option.push(ISS_A + first, ISS_A + after_last);
        }
        self.header.options.sack = option;
        self
    }

    pub(super) fn options(mut self, options: TcpOptions) -> Incoming {
        self.header.options = options;
        self
    }

    /// The SYN-ACK that opens a connection of ours, with the options that `profile` may use.
    pub(super) fn syn_ack(profile: &Profile) -> Incoming {
        from_peer(TcpFlags::SYN.with(TcpFlags::ACK), 0, 1).options(TcpOptions {
            maximum_segment_size: Some(1000),
            sack_permitted: profile.sack,
            ..TcpOptions::default()
        })
    }
}

impl Solo {
    /// Our end has sent its SYN at time zero.
    pub(super) fn connecting(profile: &Profile) -> Solo {
        let mut solo = Solo {
            now: Instant::ZERO,
            connection: Connection::connect(
                Instant::ZERO,
                end_point(1, 40_000),
                end_point(2, 80),
                profile,
                ISS_A,
                1500,
            ),
        };
        assert_eq!(solo.sends(), ["SYN"]);
        solo
    }

    /// The connection stands at 100 ms; segments of 1000 bytes.
    pub(super) fn established(profile: &Profile) -> Solo {
        let mut solo = Solo::connecting(profile);
        solo.at(100).receive(Incoming::syn_ack(profile));
        assert_eq!(solo.sends(), ["ack 1"]);
        assert_eq!(solo.connection.state(), State::Established);
        solo
    }

    /// Goes to this time in milliseconds, serving the timers on the way; what is sent there is told by the
    /// next [`sends`](Self::sends).
    pub(super) fn at(&mut self, milliseconds: u64) -> &mut Solo {
        self.now = at_ms(milliseconds);
        self.connection.handle_timeout(self.now);
        self
    }

    pub(super) fn receive(&mut self, incoming: Incoming) -> &mut Solo {
        let payload = Payload::Pattern {
            stream: 0,
            offset: u64::from(incoming.header.sequence.0.wrapping_sub(PEER_ISS.0)),
            length: incoming.length,
        };
        self.connection
            .handle_segment(self.now, &incoming.header, payload);
        self
    }

    /// The next timer is due at this time, in milliseconds.
    pub(super) fn wakes_at(&self) -> Option<u64> {
        self.connection
            .poll_timeout()
            .map(|at| at.as_nanos() / 1_000_000)
    }

    pub(super) fn write(&mut self, bytes: u64) -> &mut Solo {
        assert_eq!(self.connection.write_pattern(0, bytes), bytes);
        self
    }

    /// Returns the segments that are sent now, in words.
    pub(super) fn sends(&mut self) -> Vec<String> {
        let mut words = Vec::new();
        while let Some(segment) = self.connection.poll_transmit(self.now) {
            words.push(describe(&segment, &self.connection));
        }
        words
    }

    pub(super) fn events(&mut self) -> Vec<Event> {
        std::iter::from_fn(|| self.connection.poll_event()).collect()
    }
}
