//! One direction with a channel of its own: packets are serialised one after another.

use super::config::{Access, DirectionConfig};
use super::direction::Direction;
use super::queue::Offered;
use super::trace::Capacity;
use super::{DropReason, Outcome};
use baton_proto::time::{Duration, Instant};
use std::sync::Arc;

/// Processes all events up to `now`: packets whose serialisation has ended go into flight, and the next begin at those
/// very moments.
// A link is called several times per packet and mostly has nothing to do: inlined, that costs a comparison.
#[inline]
pub(super) fn catch_up(direction: &mut Direction, config: &DirectionConfig, now: Instant) {
    if direction.service_end <= now {
        leave_until(direction, config, now);
    }
}

/// Lets the packet in service leave, as [`catch_up`] does at the end of a serialisation.
fn leave_until(direction: &mut Direction, config: &DirectionConfig, now: Instant) {
    // A packet that takes until the end of time stays in service.
    while direction.service_end <= now {
        let end = direction.service_end;
        if end == Instant::NEVER {
            return;
        }
        if direction.plain {
            direction.launch_undamaged(config, end);
        } else {
            let outcome = direction.verdict(config, end, direction.failures);
            match (config.retransmission, &outcome) {
                (Some(repeating), Outcome::Dropped(_)) => {
                    direction.fail();
                    if direction.failures < repeating.attempts {
                        resume(direction, config, end + repeating.pause);
                        continue;
                    }
                    direction.drop_in_service(end, DropReason::RetryLimit);
                }
                _ => direction.launch(config, end, outcome),
            }
        }
        serve_next(direction, config, end);
    }
}

/// Takes in a packet offered to a link that works.
#[inline]
pub(super) fn offer(
    direction: &mut Direction,
    config: &DirectionConfig,
    now: Instant,
    offered: Offered,
) {
    catch_up(direction, config, now);
    if direction.enqueue(now, offered, true) {
        start(direction, config, now);
    }
}

/// Changes the recording from the next packet on, if it is a different one.
pub(super) fn retrace(
    direction: &mut Direction,
    before: &DirectionConfig,
    after: &DirectionConfig,
) {
    let same = match (&before.trace, &after.trace) {
        (Some(before), Some(after)) => Arc::ptr_eq(before, after),
        _ => false,
    };
    let end = direction.service_end;
    if let (false, Some(Capacity::Opportunities(opportunities))) = (same, capacity(after))
        && end != Instant::NEVER
    {
        direction.cursor = opportunities.after(direction.in_recording(end));
    }
}

/// Begins to serialise if a packet waits and none is being serialised, or if the one in service was stalled.
#[inline]
pub(super) fn start(direction: &mut Direction, config: &DirectionConfig, now: Instant) {
    if direction.service_end != Instant::NEVER {
        return;
    }
    if !direction.steady
        && let Some(Capacity::Opportunities(opportunities)) = capacity(config)
    {
        direction.cursor = opportunities.after(direction.in_recording(now));
    }
    match direction.in_service() {
        None => serve_next(direction, config, now),
        Some(_) => resume(direction, config, now),
    }
}

/// Begins to serialise the packet in service, for the first time or again.
fn resume(direction: &mut Direction, config: &DirectionConfig, now: Instant) {
    if let Some(item) = direction.in_service() {
        direction.service_end = serialised(direction, config, now, item.length);
    }
}

#[inline]
fn serve_next(direction: &mut Direction, config: &DirectionConfig, now: Instant) {
    direction.service_end = match direction.serve_next(now) {
        Some(length) => serialised(direction, config, now, length),
        None => Instant::NEVER,
    };
}

/// Returns the time at which a packet that begins now has left the transmitter, or never.
#[inline]
fn serialised(
    direction: &mut Direction,
    config: &DirectionConfig,
    now: Instant,
    length: u32,
) -> Instant {
    if direction.last_length == Some(length) {
        return now + direction.last_time;
    }
    serialised_anew(direction, config, now, length)
}

// Kept out of line, since most packets are as long as the one before.
#[inline(never)]
fn serialised_anew(
    direction: &mut Direction,
    config: &DirectionConfig,
    now: Instant,
    length: u32,
) -> Instant {
    let bits = config.line_bits(length);
    match &config.access {
        Access::Always => {}
        Access::OnDemand => {
            if let Some(end) = direction.sent_in_slots(now, bits) {
                return end;
            }
        }
        Access::Slots(slots) => {
            let offered_at = direction.in_service().map_or(now, |item| item.offered_at);
            let time = config.rate.transmission_time(bits);
            return time.map_or(Instant::NEVER, |time| slots.leaves(now, offered_at, time));
        }
    }
    let from = direction.in_recording(now);
    let end = match capacity(config) {
        None => {
            let time = config.rate.transmission_time(bits);
            direction.last_length = Some(length);
            // At rate zero until the end of time.
            direction.last_time = time.unwrap_or(Duration::MAX);
            return now + direction.last_time;
        }
        Some(Capacity::Rates(rates)) => rates.transmitted(from, bits),
        Some(Capacity::Opportunities(opportunities)) => {
            opportunities.transmitted(&mut direction.cursor, from, bits)
        }
    };
    end.map_or(Instant::NEVER, |end| direction.in_run(end))
}

fn capacity(config: &DirectionConfig) -> Option<&Capacity> {
    config.trace.as_ref()?.capacity.as_ref()
}

/// Returns the time of this direction's next fate, or never.
#[inline]
pub(super) fn next_deadline(direction: &Direction, config: &DirectionConfig) -> Instant {
    let certain = direction.next_fate();
    let end = direction.service_end;
    if end == Instant::NEVER {
        return certain;
    }
    if !direction.plain && (direction.drops_at_dequeue() || config.retransmission.is_some()) {
        return certain.min(end);
    }
    if certain == Instant::NEVER {
        return direction.arrival(config, end);
    }
    certain
}
