//! Controlled delay: drops the head of a queue in which packets have waited too long for too long (RFC 8289).

use super::fifo::{Fifo, Managed, Manager};
use super::{Arrival, Discipline, Dropped, Item, Management, Refusal, Settings, Site};
use crate::scenario::units::PositiveTime;
use baton_proto::time::{Duration, Instant};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Controlled delay (RFC 8289).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct CoDel {
    /// Acceptable standing delay.
    pub target: PositiveTime,
    /// Time in which an excess must persist.
    pub interval: PositiveTime,
}

/// RFC 8289, sections 4.3 and 4.4.
impl Default for CoDel {
    fn default() -> CoDel {
        CoDel {
            target: PositiveTime(Duration::from_millis(5)),
            interval: PositiveTime(Duration::from_millis(100)),
        }
    }
}

impl Settings for CoDel {
    fn build(&self, _: &Site) -> Box<dyn Discipline> {
        Box::new(Managed::new(ControlLaw::new(*self)))
    }
}

/// State of CoDel for one queue (RFC 8289, section 5).
#[derive(Debug)]
pub(super) struct ControlLaw {
    pub settings: CoDel,
    /// Time at which the wait will have been above the target for an interval; `None` while it is below.
    first_above: Option<Instant>,
    dropping: bool,
    /// True if the last verdict was a drop in the dropping state: the next drop's time is set when the packet behind it
    /// is due too.
    just_dropped: bool,
    /// Time of the next drop, in the dropping state.
    drop_next: Instant,
    /// Drops since the dropping state was entered.
    count: u32,
    /// Count at the last entry into the dropping state.
    last_count: u32,
    /// Largest packet seen: a queue of at most that many bytes is no standing queue.
    largest_packet: u32,
}

impl ControlLaw {
    pub fn new(settings: CoDel) -> ControlLaw {
        ControlLaw {
            settings,
            first_above: None,
            dropping: false,
            just_dropped: false,
            drop_next: Instant::ZERO,
            count: 0,
            last_count: 0,
            largest_packet: 0,
        }
    }

    /// Judges the head of the queue, taken out at `now` with `bytes` left behind it: returns true to drop it and judge
    /// the next. Call it with `None` when the queue is empty.
    pub fn drops(&mut self, now: Instant, head: Option<&Item>, bytes: u64) -> bool {
        let may_drop = self.may_drop(now, head, bytes);
        if self.dropping {
            self.dropping = may_drop;
            if may_drop && self.just_dropped {
                self.drop_next = self.control_law(self.drop_next);
            }
            self.just_dropped = may_drop && now >= self.drop_next;
            self.count += u32::from(self.just_dropped);
            self.just_dropped
        } else if may_drop {
            self.enter_dropping(now);
            true
        } else {
            false
        }
    }

    /// Returns true if the wait has been above the target for an interval.
    fn may_drop(&mut self, now: Instant, head: Option<&Item>, bytes: u64) -> bool {
        let Some(item) = head else {
            self.first_above = None;
            return false;
        };
        self.largest_packet = self.largest_packet.max(item.length);
        let waited = now.saturating_since(item.offered_at);
        if waited < self.settings.target.0 || bytes <= u64::from(self.largest_packet) {
            self.first_above = None;
            return false;
        }
        let due = *self
            .first_above
            .get_or_insert(now + self.settings.interval.0);
        now >= due
    }

    /// Enters the dropping state; soon after the last one, at about the drop rate found then.
    fn enter_dropping(&mut self, now: Instant) {
        self.dropping = true;
        let found = self.count.saturating_sub(self.last_count);
        let recent =
            now.saturating_since(self.drop_next) < self.settings.interval.0.saturating_mul(16);
        self.count = if found > 1 && recent { found } else { 1 };
        self.last_count = self.count;
        self.drop_next = self.control_law(now);
    }

    /// Returns the time of the next drop: intervals shrink with the square root of the number of drops, so that the
    /// throughput of the square-root law falls linearly.
    fn control_law(&self, from: Instant) -> Instant {
        let step = self.settings.interval.0.as_nanos() as f64 / libm::sqrt(f64::from(self.count));
        from + Duration::from_nanos(step as u64)
    }
}

impl Manager for ControlLaw {
    const DROPS_AT_DEQUEUE: bool = true;

    fn judge(&mut self, arrival: &Arrival, _: &Fifo) -> Result<(), Refusal> {
        arrival.has_room.then_some(()).ok_or(Refusal::Full)
    }

    fn dequeue(
        &mut self,
        now: Instant,
        fifo: &mut Fifo,
        dropped: &mut Vec<Dropped>,
    ) -> Option<Item> {
        loop {
            let item = fifo.pop();
            if !self.drops(now, item.as_ref(), fifo.waiting().1) {
                return item;
            }
            let packet = item?.packet;
            let why = Refusal::Chosen;
            dropped.push(Dropped { packet, why });
        }
    }

    fn reconfigure(&mut self, management: &Management, _: &Site) -> bool {
        if let Management::CoDel(settings) = management {
            self.settings = *settings;
            return true;
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packets::PacketId;

    fn codel() -> ControlLaw {
        ControlLaw::new(CoDel::default())
    }

    /// Takes a packet out at `now` that has `waited` so long, with 100 more behind each; returns the number of drops
    /// before one passes.
    fn dequeue(codel: &mut ControlLaw, id: PacketId, now: u64, waited: u64) -> u32 {
        let item = Item {
            packet: id,
            length: 1000,
            number: 0,
            offered_at: Instant::from_millis(now - waited),
        };
        let mut drops = 0;
        while codel.drops(Instant::from_millis(now), Some(&item), 100_000) {
            drops += 1;
        }
        drops
    }

    /// Returns the times of drops while the wait is 50 ms, at a packet per millisecond.
    fn drop_times(codel: &mut ControlLaw, times: std::ops::Range<u64>) -> Vec<u64> {
        let id = crate::link::tests::packet_ids(1)[0];
        times
            .filter(|&now| dequeue(codel, id, now, 50) > 0)
            .collect()
    }

    #[test]
    fn drops_come_by_the_control_law() {
        // RFC 8289, 4.2 and 4.3: the first drop after an interval above the target, each later one
        // interval/sqrt(count) after the one before: 100, 70.7, 57.7, 50, 44.7, 40.8 ms.
        let times = drop_times(&mut codel(), 1000..1470);
        assert_eq!(times, [1100, 1200, 1271, 1329, 1379, 1424, 1464]);
    }

    #[test]
    fn a_wait_below_the_target_ends_dropping_and_a_soon_relapse_goes_on_fast() {
        let id = crate::link::tests::packet_ids(1)[0];
        let mut codel = codel();
        assert_eq!(drop_times(&mut codel, 1000..1400).len(), 5);
        assert_eq!(dequeue(&mut codel, id, 1400, 4), 0);
        // Again an interval before the first drop; then the count continues from the 4 drops more than the count of 1
        // at the entry into the state: 100/sqrt(4) ms later.
        assert_eq!(drop_times(&mut codel, 1401..1560), [1501, 1551]);
    }

    #[test]
    fn short_waits_and_short_queues_are_let_be() {
        let id = crate::link::tests::packet_ids(1)[0];
        let mut codel = codel();
        assert!((1000..3000).all(|now| dequeue(&mut codel, id, now, 4) == 0));
        let item = Item {
            packet: id,
            length: 1000,
            number: 0,
            offered_at: Instant::ZERO,
        };
        let lone = |now| codel.drops(Instant::from_millis(now), Some(&item), 1000);
        assert!(!(3000..5000).any(lone));
    }
}
