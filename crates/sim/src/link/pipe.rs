//! One direction with a channel of its own: packets are serialised one after another.

use super::config::DirectionConfig;
use super::direction::Direction;
use super::earlier;
use super::trace::{Capacity, Cursor};
use baton_proto::time::Instant;
use std::sync::Arc;

/// Does what has happened up to `now`: packets whose serialisation has ended go into flight, and the next
/// begin at those very moments.
// A link is touched several times a packet and mostly finds nothing to do: inlined, that costs a comparison.
#[inline]
pub(super) fn catch_up(direction: &mut Direction, config: &DirectionConfig, now: Instant) {
    while let Some(end) = direction.service_end.filter(|&end| end <= now) {
        end_service(direction, config, end);
    }
}

fn end_service(direction: &mut Direction, config: &DirectionConfig, end: Instant) {
    let outcome = direction.verdict(config, end, 0);
    direction.launch(config, end, outcome);
    serve_next(direction, config, end);
}

/// Takes another recording from the next packet on, if it is another.
pub(super) fn retrace(
    direction: &mut Direction,
    before: &DirectionConfig,
    after: &DirectionConfig,
) {
    let same = match (&before.trace, &after.trace) {
        (Some(before), Some(after)) => Arc::ptr_eq(before, after),
        _ => false,
    };
    if let (false, Some(end), Some(Capacity::Opportunities(opportunities))) =
        (same, direction.service_end, capacity(after))
    {
        direction.cursor = opportunities.after(end);
    }
}

/// Begins to serialise if something waits and nothing is being serialised, or if that stood still.
pub(super) fn start(direction: &mut Direction, config: &DirectionConfig, now: Instant) {
    if direction.service_end.is_some() {
        return;
    }
    if let Some(Capacity::Opportunities(opportunities)) = capacity(config) {
        direction.cursor = opportunities.after(now);
    }
    match direction.in_service {
        None => serve_next(direction, config, now),
        Some(item) => {
            direction.service_end = serialised(config, &mut direction.cursor, now, item.length);
        }
    }
}

fn serve_next(direction: &mut Direction, config: &DirectionConfig, now: Instant) {
    direction.service_end = direction
        .serve_next(now)
        .and_then(|item| serialised(config, &mut direction.cursor, now, item.length));
}

/// When a packet that begins now has left the transmitter; `None` if that never happens.
fn serialised(
    config: &DirectionConfig,
    cursor: &mut Cursor,
    now: Instant,
    length: u32,
) -> Option<Instant> {
    let bits = config.framing.bits(length);
    match capacity(config) {
        None => config.rate.transmission_time(bits).map(|time| now + time),
        Some(Capacity::Rates(rates)) => rates.transmitted(now, bits),
        Some(Capacity::Opportunities(opportunities)) => {
            opportunities.transmitted(cursor, now, bits)
        }
    }
}

fn capacity(config: &DirectionConfig) -> Option<&Capacity> {
    config.trace.as_ref()?.capacity.as_ref()
}

/// When this direction will next have a fate to tell.
#[inline]
pub(super) fn next_deadline(direction: &Direction, config: &DirectionConfig) -> Option<Instant> {
    let certain = direction.next_fate();
    let Some((end, item)) = direction.service_end.zip(direction.in_service) else {
        return certain;
    };
    if direction.drops_at_dequeue() {
        earlier(certain, Some(end))
    } else {
        certain.or_else(|| Some(direction.arrival(config, end, item)))
    }
}
