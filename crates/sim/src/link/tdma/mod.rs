//! Time-division multiple access with fixed slots: a transmitter sends only in its own slots of a frame, which are the
//! same in every frame.
//!
//! Frames begin with the run. A slot is a burst, followed by a guard time. A burst carries the packets that wait when it
//! begins, one after the other at the link's rate, as many as fit; its unused rest is lost.
//!
//! Scope: slots never move and synchronisation is perfect; delays differ by less than the guard time.

pub(crate) mod scenario;

use baton_proto::time::{Duration, Instant};

/// Frame of slots of equal length, which several links can share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Slots in a frame, at least one.
    pub slots: u32,
    /// Length of a slot, above zero.
    pub slot: Duration,
    /// Time at the end of a slot in which nothing is sent, shorter than the slot.
    pub guard: Duration,
}

impl Frame {
    /// Returns the length of a frame.
    const fn length(self) -> Duration {
        self.slot.saturating_mul(self.slots as u64)
    }

    /// Returns the longest time that a slot is used.
    pub const fn burst(self) -> Duration {
        self.slot.saturating_sub(self.guard)
    }
}

/// A transmitter's own slots of a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slots {
    /// The frame.
    pub frame: Frame,
    /// Numbers of its slots in the frame, from 0, ascending; at least one.
    pub own: Vec<u32>,
    /// True if a packet is cut where a burst ends, and goes on in the next one.
    pub fragmentation: bool,
}

impl Slots {
    /// Returns the time at which a packet that takes `time` at the link's rate, and was offered at `offered_at`, has left
    /// if the transmitter is free from `now` on.
    ///
    /// A link carries any packet: without fragmentation one that is longer than a burst is cut nevertheless.
    pub fn leaves(&self, now: Instant, offered_at: Instant, time: Duration) -> Instant {
        let burst = self.frame.burst();
        let is_cut = self.is_cut(time);
        let (mut begin, mut free) = match self.under_way(now) {
            Some(start) if offered_at <= start => (now, (start + burst).saturating_since(now)),
            _ => (self.next(now), burst),
        };
        if !is_cut && time > free {
            (begin, free) = (self.next(now), burst);
        }
        let Some(more) = beyond(time, free) else {
            return begin + time;
        };
        // What needs all slots of whole frames.
        let in_frame = burst.saturating_mul(self.own.len() as u64);
        let frames = more.as_nanos().saturating_sub(1) / in_frame.as_nanos().max(1);
        let mut rest = more.saturating_sub(in_frame.saturating_mul(frames));
        begin = self.next(begin + free) + self.frame.length().saturating_mul(frames);
        while let Some(more) = beyond(rest, burst) {
            begin = self.next(begin + burst);
            rest = more;
        }
        begin + rest
    }

    /// Returns the mean time from one packet to the next if packets that take `time` always wait.
    pub fn service_time(&self, time: Duration) -> Duration {
        let (frame, burst) = (self.frame.length(), self.frame.burst());
        let own = self.own.len() as u64;
        let nanos = if self.is_cut(time) {
            let scaled = u128::from(time.as_nanos()) * u128::from(frame.as_nanos());
            let in_frame = u128::from(burst.as_nanos()) * u128::from(own);
            u64::try_from(scaled.div_ceil(in_frame.max(1))).unwrap_or(u64::MAX)
        } else {
            let in_burst = burst.as_nanos() / time.as_nanos().max(1);
            frame.as_nanos() / (own * in_burst).max(1)
        };
        Duration::from_nanos(nanos)
    }

    fn is_cut(&self, time: Duration) -> bool {
        self.fragmentation || time > self.frame.burst()
    }

    /// Returns the beginning of the own burst that is under way at a time, if there is one.
    fn under_way(&self, now: Instant) -> Option<Instant> {
        let (frame, within) = self.place(now);
        let slot = within.as_nanos() / self.frame.slot.as_nanos().max(1);
        let start = frame + self.frame.slot.saturating_mul(slot);
        let is_own = self.own.binary_search(&u32::try_from(slot).ok()?).is_ok();
        (is_own && now < start + self.frame.burst()).then_some(start)
    }

    /// Returns the beginning of the first own slot that does not begin before `now`.
    fn next(&self, now: Instant) -> Instant {
        let (frame, within) = self.place(now);
        let slot = self.frame.slot;
        let ahead = |own: &&u32| slot.saturating_mul(u64::from(**own)) >= within;
        let next_frame = || {
            let first = u64::from(self.own.first().copied().unwrap_or(0));
            frame + self.frame.length() + slot.saturating_mul(first)
        };
        let next = self.own.iter().find(ahead);
        next.map_or_else(next_frame, |&own| frame + slot.saturating_mul(own.into()))
    }

    /// Returns the beginning of the frame at a time, and the time since.
    fn place(&self, now: Instant) -> (Instant, Duration) {
        let within = Duration::from_nanos(now.as_nanos() % self.frame.length().as_nanos().max(1));
        let frame = Instant::from_nanos(now.as_nanos() - within.as_nanos());
        (frame, within)
    }
}

/// Returns the time beyond what is free; `None` if the time suffices.
fn beyond(time: Duration, free: Duration) -> Option<Duration> {
    (time > free).then(|| time.saturating_sub(free))
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(milliseconds: u64) -> Duration {
        Duration::from_millis(milliseconds)
    }

    const fn at(milliseconds: u64) -> Instant {
        Instant::from_millis(milliseconds)
    }

    /// Returns the slots 1 and 3 of a frame of five slots of 10 ms, of which 8 ms are used: bursts from 10 to 18 ms and
    /// from 30 to 38 ms of every 50.
    fn slots(fragmentation: bool) -> Slots {
        let frame = Frame {
            slots: 5,
            slot: ms(10),
            guard: ms(2),
        };
        let own = vec![1, 3];
        Slots {
            frame,
            own,
            fragmentation,
        }
    }

    #[test]
    fn a_packet_waits_for_the_next_slot_that_begins_after_it_came() {
        let slots = slots(false);
        for (offered, left) in [(0, 15), (10, 15), (11, 35), (29, 35), (31, 65), (49, 65)] {
            let offered = at(offered);
            assert_eq!(slots.leaves(offered, offered, ms(5)), at(left));
        }
    }

    #[test]
    fn packets_that_wait_share_a_slot_as_far_as_they_fit_whole() {
        let slots = slots(false);
        // 3 + 3 ms fit into 8 ms; the third waits, and so does one that comes in the middle.
        assert_eq!(slots.leaves(at(0), at(0), ms(3)), at(13));
        assert_eq!(slots.leaves(at(13), at(0), ms(3)), at(16));
        assert_eq!(slots.leaves(at(16), at(0), ms(3)), at(33));
        assert_eq!(slots.leaves(at(13), at(12), ms(3)), at(33));
        // A packet may fill the burst, up to the guard time.
        assert_eq!(slots.leaves(at(0), at(0), ms(8)), at(18));
    }

    #[test]
    fn with_fragmentation_a_packet_goes_on_in_the_next_slot() {
        let slots = slots(true);
        assert_eq!(slots.leaves(at(16), at(0), ms(3)), at(31));
        // 20 ms are 8 + 8 + 4.
        assert_eq!(slots.leaves(at(0), at(0), ms(20)), at(64));
        // The first 2 ms in the slot under way, ten frames of 16 ms, 8 ms, 1 ms.
        assert_eq!(slots.leaves(at(16), at(0), ms(171)), at(561));
        assert_eq!(slots.leaves(at(16), at(0), ms(162)), at(518));
        // So long that a loop over slots would not end.
        let day = Duration::from_secs(86_400);
        let left = slots.leaves(at(0), at(0), day);
        assert_eq!(left.as_nanos() / 1_000_000, 86_400_000 / 16 * 50 - 12);
    }

    #[test]
    fn a_packet_longer_than_a_slot_is_cut_in_any_case() {
        assert_eq!(slots(false).leaves(at(0), at(0), ms(9)), at(31));
        assert_eq!(slots(false).leaves(at(0), at(0), ms(17)), at(61));
    }

    #[test]
    fn the_mean_service_time_is_that_of_many_packets() {
        for fragmentation in [false, true] {
            let slots = slots(fragmentation);
            for time in [1, 3, 4, 5, 7, 8, 9, 20] {
                let mut now = at(0);
                // The first frame begins without a slot, and the last one may be partly used.
                for _ in 0..1000 {
                    now = slots.leaves(now, at(0), ms(time));
                }
                let mean = now.as_secs_f64() / 1000.0;
                let expected = slots.service_time(ms(time)).as_secs_f64();
                assert!((mean - expected).abs() < 1e-4, "{time}: {mean}");
            }
        }
    }
}
