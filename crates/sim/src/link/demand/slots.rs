//! Slots of a terminal, and their use for packets.

use baton_proto::time::{Duration, Instant};

/// Division of a superframe into slots of equal length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    /// Length of a superframe, above zero.
    pub superframe: Duration,
    /// Slots in a superframe, at least one.
    pub slots: u32,
    /// Bytes that a slot carries, at least one.
    pub slot_bytes: u32,
}

impl Grid {
    /// Returns the bits that a slot carries.
    pub const fn slot_bits(&self) -> u64 {
        self.slot_bytes as u64 * 8
    }

    /// Returns the time from the beginning of a superframe to that of a slot; with the number of slots, to its end.
    fn offset(&self, slot: u32) -> Duration {
        let nanos = u128::from(self.superframe.as_nanos()) * u128::from(slot);
        Duration::from_nanos((nanos / u128::from(self.slots.max(1))) as u64)
    }

    /// Returns the first slot that does not begin before a time in the superframe; with the number of slots, none does.
    fn slot_from(&self, offset: Duration) -> u32 {
        let (nanos, slots) = (u128::from(offset.as_nanos()), u128::from(self.slots));
        let slot = (nanos * slots).div_ceil(u128::from(self.superframe.as_nanos()).max(1));
        u32::try_from(slot.min(slots)).unwrap_or(self.slots)
    }

    /// Returns the rate of so many slots a superframe, in bit/s.
    pub fn rate(&self, slots: u64) -> f64 {
        slots as f64 * self.slot_bits() as f64 / self.superframe.as_secs_f64()
    }
}

/// Slots of a terminal in a superframe: neighbours in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Assignment {
    /// Beginning of the superframe.
    pub start: Instant,
    /// Its slots.
    pub grid: Grid,
    /// The terminal's first slot.
    pub first: u32,
    /// Number of its slots.
    pub count: u32,
}

/// A terminal's transmitter. A packet is cut into slots; the next one begins in the rest of the last slot if it was
/// there when that slot began. A slot that begins with nothing to send is lost.
#[derive(Debug, Default)]
pub(in crate::link) struct Slots {
    assignment: Option<Assignment>,
    /// Slots of the assignment that are used or past.
    passed: u32,
    /// Bits of the packet in service without a slot so far; `None` if there is no such packet.
    unsent: Option<u64>,
    last: Option<Used>,
}

/// A slot in use.
#[derive(Clone, Copy, Debug)]
struct Used {
    start: Instant,
    end: Instant,
    free_bits: u64,
}

impl Slots {
    /// Replaces the assignment; the packet in service goes on.
    pub fn assign(&mut self, assignment: Assignment) {
        self.assignment = Some(assignment);
        self.passed = 0;
    }

    /// Returns the bits of the packet in service without a slot so far, if there is one.
    pub fn unsent(&self) -> Option<u64> {
        self.unsent
    }

    /// Forgets the packet in service: it is sent anew, from its beginning.
    pub fn forget(&mut self) {
        self.unsent = None;
    }

    /// Gives slots from `now` on to the packet in service, which has `bits` and was offered at a time. Returns the end
    /// of its last slot; never if there are not enough slots, and then it goes on with the next assignment.
    pub fn send(&mut self, now: Instant, offered_at: Instant, bits: u64) -> Instant {
        let mut unsent = self
            .unsent
            .unwrap_or_else(|| bits - self.share(now, offered_at, bits));
        let mut end = now;
        while unsent > 0 {
            let Some(mut slot) = self.next(now) else {
                self.unsent = Some(unsent);
                return Instant::NEVER;
            };
            let carried = unsent.min(slot.free_bits);
            unsent -= carried;
            slot.free_bits -= carried;
            end = slot.end;
            self.last = Some(slot);
        }
        self.unsent = None;
        end
    }

    /// Takes the rest of the slot that has just ended for a packet that was there when it began. Returns the bits.
    fn share(&mut self, now: Instant, offered_at: Instant, bits: u64) -> u64 {
        match &mut self.last {
            Some(last) if last.end == now && offered_at <= last.start => {
                let shared = bits.min(last.free_bits);
                last.free_bits -= shared;
                shared
            }
            _ => 0,
        }
    }

    /// Takes the next slot that does not begin before `now`.
    fn next(&mut self, now: Instant) -> Option<Used> {
        let Assignment {
            start,
            grid,
            first,
            count,
        } = self.assignment?;
        let ahead = grid.slot_from(now.saturating_since(start));
        self.passed = self.passed.max(ahead.saturating_sub(first));
        if self.passed >= count {
            return None;
        }
        let slot = first + self.passed;
        self.passed += 1;
        Some(Used {
            start: start + grid.offset(slot),
            end: start + grid.offset(slot + 1),
            free_bits: grid.slot_bits(),
        })
    }
}
