//! Shapers and policers at a link's entrance: the queues, each with an identifier (QID) and a specification (QIDSPEC),
//! with which ETSI's satellite-independent service access point regulates flows (ETSI TS 102 357; study S, section 8).
//!
//! Each is a token bucket of a rate r and a burst b (RFC 2698's meter without its second bucket): in any time t it lets
//! at most b + r·t pass. A policer drops the rest, a shaper keeps it in a bounded queue of its own. Credit is counted
//! in bits times nanoseconds per second, so that only the time of a release is rounded, upwards.

use super::config::QueueLimit;
use super::queue::Offered;
use super::{DropReason, End};
use crate::packets::PacketId;
use baton_proto::packet::FlowId;
use baton_proto::rate::DataRate;
use baton_proto::time::{Duration, Instant};
use std::collections::{BTreeMap, VecDeque};

/// Nanoseconds in a second: the unit of credit is a bit for this many.
const SECOND: u128 = 1_000_000_000;

/// A shaper or policer, or one for each of its flows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegulatorConfig {
    /// The end at which packets enter.
    pub from: End,
    /// Flows to regulate.
    pub flows: Vec<FlowId>,
    /// True if each flow has a bucket, and a queue, of its own.
    pub per_flow: bool,
    /// Sustained rate of IP packets, above zero.
    pub rate: DataRate,
    /// Bytes that may pass at once after a pause; a longer packet never passes.
    pub burst: u64,
    /// Fate of excess packets.
    pub excess: Excess,
    /// True if the state of its queue is reported to the node that feeds the link.
    pub reports: bool,
    /// Opening for handovers only; `None`: it is open from the start of the run to its end.
    pub opening: Option<Opening>,
}

/// Opening of a shaper's queue for handovers of a mobile to the link: SI-C-QUEUE_OPEN, _MODIFY and _CLOSE (ETSI TS 102 357;
/// study S, section 2). While it is closed its flows pass freely.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opening {
    /// Time from the completion of a handover to the closing.
    pub closes_after: Duration,
    /// True if the rate follows the flows' congestion windows, up to the configured one.
    pub follows_window: bool,
}

/// Fate of excess packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Excess {
    /// Drop, by a policer.
    Dropped,
    /// Wait until they may pass, in a queue of this limit, at a shaper.
    Waits(QueueLimit),
}

/// All regulators of a link.
#[derive(Debug, Default)]
pub(super) struct Entrance {
    regulators: Vec<Regulator>,
    /// Buckets by end and flow.
    places: BTreeMap<(End, FlowId), usize>,
    /// Regulators whose queues have a new state to be reported.
    changed: Vec<usize>,
}

/// The state of a queue, for a report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// The end at which packets enter.
    pub from: End,
    /// The regulator's number among the link's, from 1.
    pub number: u16,
    /// Its flows.
    pub flows: Vec<FlowId>,
    /// Packets waiting.
    pub packets: u32,
    /// Capacity.
    pub limit: QueueLimit,
}

/// Fate of a packet at the entrance.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Admission {
    /// Entry into the link's queue.
    Passes,
    /// Wait at a shaper.
    Waits,
    /// Loss.
    Refused(DropReason),
}

/// A packet that has waited, and the end at which it entered.
pub(super) type Released = (End, Offered);

impl Entrance {
    pub fn new(configs: &[RegulatorConfig]) -> Option<Box<Entrance>> {
        let mut entrance = Entrance::default();
        for config in configs {
            for (number, &flow) in config.flows.iter().enumerate() {
                if number == 0 || config.per_flow {
                    entrance.regulators.push(Regulator::new(config));
                }
                let place = entrance.regulators.len() - 1;
                entrance.places.insert((config.from, flow), place);
            }
        }
        (!entrance.regulators.is_empty()).then(|| Box::new(entrance))
    }

    pub fn offer(
        &mut self,
        now: Instant,
        from: End,
        flow: Option<FlowId>,
        offered: Offered,
    ) -> Admission {
        let place = flow.and_then(|flow| self.places.get(&(from, flow)));
        let Some(&place) = place else {
            return Admission::Passes;
        };
        let admission = self.regulators[place].offer(now, offered);
        self.note_change(place);
        admission
    }

    /// Notes a queue whose state has changed since its last report.
    fn note_change(&mut self, place: usize) {
        if self.regulators[place].has_news() && !self.changed.contains(&place) {
            self.changed.push(place);
        }
    }

    /// Returns the next queue with a new state, for a report.
    pub fn poll_report(&mut self) -> Option<Waiting> {
        while let Some(place) = self.changed.pop() {
            let own = &mut self.regulators[place];
            let Excess::Waits(limit) = own.excess else {
                continue;
            };
            // It may have changed back.
            if own.has_news() {
                own.reported = own.level();
                let places = self.places.iter().filter(|(_, one)| **one == place);
                return Some(Waiting {
                    from: own.from,
                    number: place as u16 + 1,
                    flows: places.map(|((_, flow), _)| *flow).collect(),
                    packets: own.waiting.len() as u32,
                    limit,
                });
            }
        }
        None
    }

    /// Opens or closes the queue of a regulator, from 0, with this rate. The packets that wait in a queue that is closed
    /// pass at once.
    pub fn set_open(&mut self, now: Instant, place: usize, rate: Option<DataRate>) {
        if let Some(own) = self.regulators.get_mut(place) {
            own.is_open = rate.is_some();
            own.bucket.set_rate(now, rate.unwrap_or(own.bucket.rate));
        }
    }

    /// Returns the flows of a regulator, from 0.
    pub fn flows_of(&self, place: usize) -> Vec<FlowId> {
        let places = self.places.iter().filter(|(_, one)| **one == place);
        places.map(|((_, flow), _)| *flow).collect()
    }

    /// Returns the time at which a waiting packet may pass, and its regulator; at equal times the first one.
    fn next(&self) -> Option<(Instant, usize)> {
        let regulators = self.regulators.iter().enumerate();
        let next = regulators.filter_map(|(place, own)| Some((own.next_release()?, place)));
        next.min()
    }

    /// Returns the time at which a waiting packet may pass, or never.
    pub fn next_release(&self) -> Instant {
        self.next().map_or(Instant::NEVER, |(at, _)| at)
    }

    /// Lets the next packet pass whose time has come.
    pub fn release(&mut self, now: Instant) -> Option<Released> {
        let (_, place) = self.next().filter(|&(at, _)| at <= now)?;
        let released = self.regulators[place].release(now);
        self.note_change(place);
        released
    }

    /// Takes out the packets waiting at an end, one queue after another.
    pub fn take_waiting(&mut self, from: End) -> Vec<PacketId> {
        let mut taken = Vec::new();
        for place in 0..self.regulators.len() {
            if self.regulators[place].from == from {
                taken.extend(self.regulators[place].take_waiting());
                self.note_change(place);
            }
        }
        taken
    }

    /// Returns the packets and bytes waiting at an end.
    pub fn waiting(&self, from: End) -> (u32, u64) {
        let at_end = self.regulators.iter().filter(|own| own.from == from);
        at_end.fold((0, 0), |(packets, bytes), own| {
            (packets + own.waiting.len() as u32, bytes + own.bytes)
        })
    }
}

/// A token bucket and its waiting packets.
#[derive(Debug)]
struct Regulator {
    from: End,
    is_open: bool,
    bucket: TokenBucket,
    excess: Excess,
    waiting: VecDeque<Offered>,
    /// Bytes waiting.
    bytes: u64,
    reports: bool,
    /// Level of the queue at the last report.
    reported: Level,
}

/// Level of a queue: a change is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Level {
    Empty,
    AtMostHalf,
    OverHalf,
}

impl Regulator {
    fn level(&self) -> Level {
        let over_half = match self.excess {
            Excess::Dropped => false,
            Excess::Waits(QueueLimit::Packets(most)) => self.waiting.len() > most as usize / 2,
            Excess::Waits(QueueLimit::Bytes(most)) => self.bytes > most / 2,
        };
        match (self.waiting.is_empty(), over_half) {
            (true, _) => Level::Empty,
            (false, false) => Level::AtMostHalf,
            (false, true) => Level::OverHalf,
        }
    }

    fn has_news(&self) -> bool {
        self.reports && self.level() != self.reported
    }

    fn new(config: &RegulatorConfig) -> Regulator {
        Regulator {
            from: config.from,
            is_open: config.opening.is_none(),
            bucket: TokenBucket::new(config.rate, config.burst),
            excess: config.excess,
            waiting: VecDeque::new(),
            bytes: 0,
            reports: config.reports,
            reported: Level::Empty,
        }
    }

    fn offer(&mut self, now: Instant, offered: Offered) -> Admission {
        let length = offered.length;
        if !self.is_open && self.waiting.is_empty() {
            return Admission::Passes;
        }
        if self.bucket.is_too_long(length) {
            return Admission::Refused(DropReason::Policer);
        }
        if self.waiting.is_empty() && self.bucket.take(now, length) {
            return Admission::Passes;
        }
        let Excess::Waits(limit) = self.excess else {
            return Admission::Refused(DropReason::Policer);
        };
        if !limit.has_room(self.waiting.len(), self.bytes, length) {
            return Admission::Refused(DropReason::QueueFull);
        }
        self.waiting.push_back(offered);
        self.bytes += u64::from(length);
        Admission::Waits
    }

    fn next_release(&self) -> Option<Instant> {
        let first = self.waiting.front()?;
        Some(match self.is_open {
            true => self.bucket.ready(first.length),
            false => self.bucket.at,
        })
    }

    fn release(&mut self, now: Instant) -> Option<Released> {
        let first = *self.waiting.front()?;
        if self.is_open && !self.bucket.take(now, first.length) {
            return None;
        }
        self.waiting.pop_front();
        self.bytes -= u64::from(first.length);
        Some((self.from, first))
    }

    fn take_waiting(&mut self) -> impl Iterator<Item = PacketId> + use<> {
        self.bytes = 0;
        let waiting = core::mem::take(&mut self.waiting);
        waiting.into_iter().map(|offered| offered.packet)
    }
}

/// Credit that grows with time up to a burst, and is used by packets. It is full at the start of the run.
#[derive(Debug)]
struct TokenBucket {
    rate: DataRate,
    /// Credit of a full bucket, in the unit of credit.
    depth: u128,
    credit: u128,
    /// Time of the last update of the credit.
    at: Instant,
}

/// Returns the credit for a packet.
const fn price(bytes: u64) -> u128 {
    bytes as u128 * 8 * SECOND
}

impl TokenBucket {
    fn new(rate: DataRate, burst: u64) -> TokenBucket {
        TokenBucket {
            rate,
            depth: price(burst),
            credit: price(burst),
            at: Instant::ZERO,
        }
    }

    fn is_too_long(&self, length: u32) -> bool {
        price(length.into()) > self.depth
    }

    /// Changes the rate from now on.
    fn set_rate(&mut self, now: Instant, rate: DataRate) {
        self.grow(now);
        self.rate = rate;
    }

    /// Adds the credit since the last update.
    fn grow(&mut self, now: Instant) {
        let elapsed = u128::from(now.saturating_since(self.at).as_nanos());
        let grown = elapsed.saturating_mul(u128::from(self.rate.bits_per_second()));
        self.credit = self.credit.saturating_add(grown).min(self.depth);
        self.at = self.at.max(now);
    }

    /// Uses the credit for a packet, if there is enough.
    fn take(&mut self, now: Instant, length: u32) -> bool {
        self.grow(now);
        let enough = self.credit >= price(length.into());
        if enough {
            self.credit -= price(length.into());
        }
        enough
    }

    /// Returns the time at which there is enough credit for a packet, if none is used before; never without a rate.
    fn ready(&self, length: u32) -> Instant {
        let missing = price(length.into()).saturating_sub(self.credit);
        let rate = u128::from(self.rate.bits_per_second());
        if rate == 0 && missing > 0 {
            return Instant::NEVER;
        }
        let wait = missing.div_ceil(rate.max(1));
        self.at + Duration::from_nanos(u64::try_from(wait).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests;
