//! AeroTP's connections as sockets of applications.

use super::PATH;
use crate::aerotp::Connection;
use crate::host::{Pattern, Socket, SocketCounters, SocketState};
use crate::time::Instant;

impl Socket for Connection {
    /// Writes a record as a whole or not at all, or as part of a stream if it is longer than a packet.
    fn write(&mut self, pattern: Pattern) -> u64 {
        let payload = pattern.payload();
        let length = u64::from(payload.length());
        if !pattern.is_record {
            Connection::write(self, &payload)
        } else if self.write_record(&payload) {
            length
        } else if self.room() >= length {
            Connection::write(self, &payload)
        } else {
            0
        }
    }

    fn keeps_records(&self) -> bool {
        true
    }

    fn read(&mut self, now: Instant) -> u64 {
        let mut bytes = 0;
        while let Some(read) = Connection::read(self, now, u64::MAX) {
            bytes += u64::from(read.payload.length());
        }
        bytes
    }

    /// Closes this direction, except at a sink in a mode without answers, which has nothing to send.
    fn close(&mut self) {
        if self.configuration().mode.repeats() || self.is_opener() {
            Connection::close(self);
        }
    }

    fn skipped(&self) -> Option<u64> {
        let repeats = self.configuration().mode.repeats();
        (!repeats).then(|| self.statistics().skipped)
    }

    fn state(&self) -> SocketState {
        SocketState {
            bytes_in_flight: Some(self.in_flight()),
            sending_rate: self.rate(PATH),
            smoothed_rtt: self.smoothed_rtt(PATH),
            ..SocketState::default()
        }
    }

    fn counters(&self) -> SocketCounters {
        let counted = self.statistics();
        SocketCounters {
            packets_sent: counted.packets,
            retransmitted: counted.retransmitted,
            timeouts: Some(0),
            fast_retransmits: Some(0),
            duplicates_received: counted.duplicates,
            ..SocketCounters::default()
        }
    }
}
