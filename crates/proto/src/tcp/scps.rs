//! Additions of SCPS-TP (CCSDS 714.0-B-2) to TCP: rate control and selective negative acknowledgments (SNACK).
//!
//! *Rate control* is open-loop: a bucket of one packet that fills at a configured rate, whatever the path makes of it. Data
//! waits for it, acknowledgments do not.
//!
//! A *SNACK* asks for one hole, in units of the maximum segment size from what is acknowledged: the receiver sends one with
//! each acknowledgment of what lies beyond a gap, for the hole before what arrived last. The sender sends all of it again at
//! once, without waiting for duplicates or for the window, and the first of a window reduces the congestion window. A hole
//! that was filled less than a round trip and four deviations ago is left alone. The bit vector, by which the long form
//! tells of more holes, is skipped.

use super::recovery::Phase;
use super::timer::Timer;
use super::{Connection, options};
use crate::time::{Duration, Instant};
use crate::wire::tcp::Snack;

impl Connection {
    /// Returns true if data has to wait for the bucket; the timer is set then.
    pub(super) fn is_held_by_rate(&mut self, now: Instant) -> bool {
        let waits = self.next_departure > now;
        if waits {
            self.timers.set(Timer::Pacing, self.next_departure);
        }
        waits
    }

    /// Data of so many bytes leaves, in a packet of IP.
    pub(super) fn spend_rate(&mut self, now: Instant, length: u32) {
        let Some(rate) = self.profile.rate_limit else {
            return;
        };
        let timestamps = if self.negotiated.timestamps {
            options::TIMESTAMPS_LENGTH
        } else {
            0
        };
        let packet = length + timestamps + options::header_length(self.remote.address);
        let time = rate.transmission_time(8 * u64::from(packet));
        self.next_departure = now + time.unwrap_or(Duration::from_secs(1));
    }

    /// The hole before what arrived last.
    pub(super) fn snack(&self) -> Option<Snack> {
        let unit = u64::from(self.negotiated.snack_unit?);
        let blocks = self.receive.blocks();
        let &(end, _) = blocks.first()?;
        let below = blocks.iter().map(|block| block.1).filter(|to| *to <= end);
        let start = below.max().unwrap_or(self.receive.next());
        let offset = (start - self.receive.next() + unit / 2) / unit;
        let size = (end - start).div_ceil(unit).min(u64::from(u16::MAX));
        Some(Snack {
            offset: u16::try_from(offset).ok()?,
            size: size as u16,
        })
    }

    /// Returns true if repairs follow a SNACK, and go whatever the window says: the missing data has left the network,
    /// and as much may enter.
    pub(super) fn repairs_by_snack(&self) -> bool {
        self.negotiated.snack_unit.is_some() && self.recovery.phase == Phase::Fast
    }

    /// The peer lacks `snack`, counted from `position`, which it acknowledges.
    pub(super) fn take_snack(&mut self, now: Instant, position: u64, snack: Snack) {
        if self.negotiated.snack_unit.is_none() || position != self.unacknowledged {
            return;
        }
        let repaired = match self.recovery.phase {
            Phase::Open => self.is_past_guard(),
            Phase::Fast => true,
            Phase::AfterTimeout => false, // All of it is on its way again.
        };
        if !repaired {
            return;
        }
        let unit = u64::from(self.negotiated.peer_segment_size);
        let start = position + u64::from(snack.offset) * unit;
        let hole = (start, start + u64::from(snack.size) * unit);
        let deviations = self.rtt.variation().saturating_mul(4);
        let patience = self.rtt.smoothed().unwrap_or(Duration::ZERO) + deviations;
        let any = self.sent.mark_hole_lost(hole, now, patience);
        if any && self.recovery.phase == Phase::Open {
            self.enter_fast_recovery(now, 1);
        }
    }
}
