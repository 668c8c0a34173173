//! One direction with a channel of its own: packets are serialised one after another.

use super::config::DirectionConfig;
use super::direction::Direction;
use super::queue::Item;
use baton_proto::time::Instant;

/// Does what has happened up to `now`: packets whose serialisation has ended go into flight, and the next
/// begin at those very moments.
pub(super) fn catch_up(direction: &mut Direction, config: &DirectionConfig, now: Instant) {
    while let Some(end) = direction.service_end.filter(|&end| end <= now) {
        direction.launch(config, end);
        serve_next(direction, config, end);
    }
}

/// Begins to serialise if something waits and nothing is being serialised, or if that stood still.
pub(super) fn start(direction: &mut Direction, config: &DirectionConfig, now: Instant) {
    match direction.in_service {
        None => serve_next(direction, config, now),
        Some(item) if direction.service_end.is_none() => {
            direction.service_end = serialised(config, now, item);
        }
        Some(_) => {}
    }
}

fn serve_next(direction: &mut Direction, config: &DirectionConfig, now: Instant) {
    direction.service_end = direction
        .serve_next(now)
        .and_then(|item| serialised(config, now, item));
}

/// When a packet that begins now has left the transmitter; `None` if that never happens.
fn serialised(config: &DirectionConfig, now: Instant, item: Item) -> Option<Instant> {
    let bits = config.framing.bits(item.length);
    config.rate.transmission_time(bits).map(|time| now + time)
}

/// When this direction will next have a fate to tell.
pub(super) fn next_deadline(direction: &Direction, config: &DirectionConfig) -> Option<Instant> {
    direction.next_fate().or_else(|| {
        let end = direction.service_end?;
        Some(direction.arrival(config, end, direction.in_service?))
    })
}
