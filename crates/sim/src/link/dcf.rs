//! Medium access of IEEE 802.11b: the distributed coordination function with basic access. All stations contend for one
//! channel; here each direction of the link is a station (access point and mobile).
//!
//! A station that finds the medium idle for DIFS sends at once. Otherwise it counts a random number of slots down,
//! pausing while others send, and sends at zero; it also counts down after every frame of its own. Frames that start at
//! the same moment collide. A frame that collides or that the channel damages is not acknowledged: the station doubles
//! its contention window and retransmits, up to the retry limit.
//!
//! Not modelled: hidden stations, capture, RTS/CTS, fragmentation, rate adaptation, beacons, lost acknowledgments, and
//! propagation within the slot (sensing is perfect). After a failed exchange every station waits EIFS, which is within
//! 40 µs of a sender's acknowledgment timeout and DIFS. A station takes its next frame from the queue when the previous
//! one has been received. The MAC checksum detects all damage, so damaged packets are never delivered. A recording's
//! delay and loss act as on other links; its capacity does not: the rate is the direction's.

use super::DropReason;
use super::channel::draw_key;
use super::config::{DcfConfig, DirectionConfig, LinkConfig};
use super::direction::Direction;
use super::{End, Outcome, earlier};
use crate::rng::{Keyed, Seed};
use baton_proto::time::{Duration, Instant};

/// Slot time of the DSSS PHY (IEEE 802.11-1999, 15.3.3).
pub(super) const SLOT: Duration = Duration::from_micros(20);
/// Short interframe space.
pub(super) const SIFS: Duration = Duration::from_micros(10);
/// Distributed interframe space: SIFS and two slots.
pub(super) const DIFS: Duration = Duration::from_micros(50);
/// Smallest contention window, in slots.
pub(super) const MINIMUM_WINDOW: u32 = 31;
/// Largest contention window, in slots.
const MAXIMUM_WINDOW: u32 = 1023;
/// MAC header of 24 B and frame check sequence of 4 B, LLC and SNAP of 8 B.
pub(super) const HEADER_BYTES: u32 = 24 + 4 + 8;
/// Bits of an acknowledgment frame (14 B).
pub(super) const ACKNOWLEDGMENT_BITS: u64 = 14 * 8;
/// Extended interframe space: SIFS, an acknowledgment at 1 Mbit/s with its long preamble, and DIFS
/// (IEEE 802.11-1999, 9.2.10).
const EIFS: Duration = Duration::from_micros(10 + 192 + 112 + 50);

/// The channel and its stations. Station `i` serves the direction `i`.
#[derive(Debug)]
pub(super) struct Dcf {
    config: DcfConfig,
    stations: Vec<Station>,
    phase: Phase,
}

#[derive(Debug)]
struct Station {
    draws: Keyed,
    /// Slots to count down from the beginning of contention.
    backoff: u32,
    /// Contention window: the largest backoff to draw.
    window: u32,
    /// Attempts at the frame in service.
    attempts: u32,
    /// Time at which the frame in service came to the head of the queue.
    ready: Instant,
    sending: bool,
}

#[derive(Clone, Copy, Debug)]
enum Phase {
    /// Idle medium. Slots are counted from `contention`, an interframe space after the last exchange.
    Idle { contention: Instant },
    /// One frame in transmission, or several that collide.
    Sending(Transmission),
}

/// Transmission of one station, or of several at the same moment.
#[derive(Clone, Copy, Debug)]
struct Transmission {
    start: Instant,
    /// End of the longest frame.
    end: Instant,
    /// One of the sending stations.
    sender: usize,
    collides: bool,
}

impl Dcf {
    /// Creates an idle channel.
    pub fn new(config: DcfConfig, link: &str, seed: Seed, now: Instant) -> Dcf {
        let station = |end: &str| Station {
            draws: seed.keyed(&format!("link {link} {end} backoff")),
            backoff: 0,
            window: MINIMUM_WINDOW,
            attempts: 0,
            ready: now,
            sending: false,
        };
        Dcf {
            config,
            stations: vec![station("down"), station("up")],
            phase: Phase::Idle { contention: now },
        }
    }

    /// Takes other parameters, from the next frame on.
    pub fn reconfigure(&mut self, config: DcfConfig, now: Instant) {
        self.config = config;
        // A station stalled at rate zero must not send in the past.
        for station in &mut self.stations {
            station.ready = station.ready.max(now);
        }
    }

    /// Resets the channel: the medium falls idle at `now`, and all stations begin anew.
    pub fn reset(&mut self, now: Instant) {
        for station in &mut self.stations {
            station.backoff = 0;
            station.window = MINIMUM_WINDOW;
            station.attempts = 0;
            station.sending = false;
        }
        self.phase = Phase::Idle {
            contention: now + DIFS,
        };
    }

    /// Begins contention for the head of a queue, if the station has no frame in service.
    pub fn start(&mut self, direction: &mut Direction, from: End, now: Instant) {
        if direction.in_service().is_some() {
            return;
        }
        direction.serve_next(now);
        let Some(item) = direction.in_service() else {
            return;
        };
        let busy = match self.phase {
            Phase::Idle { contention } => now < contention,
            Phase::Sending(_) => true,
        };
        let station = &mut self.stations[from.index()];
        station.ready = now;
        if busy && station.backoff == 0 {
            station.draw_backoff(item.number);
        }
    }

    /// Processes all events up to `now`.
    pub fn catch_up(&mut self, directions: &mut [Direction], config: &LinkConfig, now: Instant) {
        loop {
            match self.phase {
                Phase::Idle { contention } => {
                    match self.next_transmission(contention, directions, config) {
                        Some(next) if next.start <= now => self.begin(contention, next, directions),
                        _ => return,
                    }
                }
                Phase::Sending(transmission) if transmission.end <= now => {
                    self.finish(transmission, directions, config);
                }
                Phase::Sending(_) => return,
            }
        }
    }

    /// Returns the earliest time at which a fate may be due.
    pub fn next_deadline(&self, directions: &[Direction], config: &LinkConfig) -> Option<Instant> {
        let certain = directions.iter().map(Direction::next_fate).min();
        let certain = certain.filter(|&at| at != Instant::NEVER);
        let transmission = match self.phase {
            Phase::Idle { contention } => self.next_transmission(contention, directions, config),
            Phase::Sending(transmission) => Some(transmission),
        };
        let fate = transmission.map(|transmission| self.fate(transmission, directions, config));
        earlier(certain, fate)
    }

    /// Returns the earliest time at which a fate of this transmission or a later one may be due.
    fn fate(
        &self,
        transmission: Transmission,
        directions: &[Direction],
        config: &LinkConfig,
    ) -> Instant {
        let Transmission { end, sender, .. } = transmission;
        let direction = &directions[sender];
        if direction.in_service().is_none() {
            return end;
        };
        if transmission.collides || direction.may_drop() {
            return end;
        }
        let arrival = direction.arrival(config.direction(sender), end);
        let others_wait = (directions.iter().enumerate())
            .any(|(index, direction)| index != sender && direction.in_service().is_some());
        if others_wait {
            // A frame of another direction, whose delay may be shorter.
            arrival.min(end + self.quiet(true) + self.config.preamble)
        } else {
            arrival
        }
    }

    /// Returns the next transmission if no packet is offered before.
    fn next_transmission(
        &self,
        contention: Instant,
        directions: &[Direction],
        config: &LinkConfig,
    ) -> Option<Transmission> {
        let mut next: Option<Transmission> = None;
        for (index, station) in self.stations.iter().enumerate() {
            let Some(airtime) = self.airtime(&directions[index], config.direction(index)) else {
                continue;
            };
            let start = station.start(contention);
            let end = start + airtime;
            match &mut next {
                Some(other) if other.start < start => {}
                Some(other) if other.start == start => {
                    other.end = other.end.max(end);
                    other.collides = true;
                }
                _ => {
                    next = Some(Transmission {
                        start,
                        end,
                        sender: index,
                        collides: false,
                    });
                }
            }
        }
        next
    }

    /// Returns the airtime of the frame in service; `None` if there is none or its rate is zero.
    fn airtime(&self, direction: &Direction, config: &DirectionConfig) -> Option<Duration> {
        let length = direction.in_service()?.length.saturating_add(HEADER_BYTES);
        let bits = config.framing.bits(length);
        Some(self.config.preamble + config.rate.transmission_time(bits)?)
    }

    fn begin(&mut self, contention: Instant, transmission: Transmission, directions: &[Direction]) {
        let start = transmission.start;
        let slots = start.saturating_since(contention).as_nanos() / SLOT.as_nanos();
        for (station, direction) in self.stations.iter_mut().zip(directions) {
            if direction.in_service().is_some() && station.start(contention) == start {
                station.sending = true;
                station.attempts += 1;
                station.backoff = 0;
            } else {
                let slots = u32::try_from(slots).unwrap_or(u32::MAX);
                station.backoff = station.backoff.saturating_sub(slots);
            }
        }
        self.phase = Phase::Sending(transmission);
    }

    /// Ends a transmission, and with it the exchange: the acknowledgment that follows cannot be lost.
    fn finish(
        &mut self,
        transmission: Transmission,
        directions: &mut [Direction],
        config: &LinkConfig,
    ) {
        let end = transmission.end;
        let mut acknowledged = false;
        for (index, station) in self.stations.iter_mut().enumerate() {
            let direction = &mut directions[index];
            let Some(item) = direction.in_service().filter(|_| station.sending) else {
                continue;
            };
            station.sending = false;
            let config = config.direction(index);
            acknowledged = !transmission.collides
                && direction.verdict(config, end, station.attempts) == Outcome::UNDAMAGED;
            if acknowledged {
                direction.launch(config, end, Outcome::UNDAMAGED);
            } else if station.attempts >= self.config.retry_limit {
                direction.drop_in_service(end, DropReason::RetryLimit);
            }
            if direction.in_service().is_some() {
                station.window = (2 * station.window + 1).min(MAXIMUM_WINDOW);
                station.draw_backoff(item.number);
            } else {
                station.window = MINIMUM_WINDOW;
                station.draw_backoff(item.number);
                station.attempts = 0;
                station.ready = end;
                direction.serve_next(end);
            }
        }
        self.phase = Phase::Idle {
            contention: end + self.quiet(acknowledged),
        };
    }

    /// Returns the time from the end of a frame to the beginning of contention.
    fn quiet(&self, acknowledged: bool) -> Duration {
        if !acknowledged {
            return EIFS;
        }
        let bits = self
            .config
            .control_rate
            .transmission_time(ACKNOWLEDGMENT_BITS);
        SIFS + self.config.preamble + bits.unwrap_or(Duration::ZERO) + DIFS
    }
}

impl Station {
    /// Returns the time at which the station sends if the medium stays idle: the end of its countdown, or at once if
    /// that ended before the frame arrived.
    fn start(&self, contention: Instant) -> Instant {
        (contention + SLOT.saturating_mul(u64::from(self.backoff))).max(self.ready)
    }

    /// Draws the backoff in slots after an attempt at packet `number`, or before the first.
    fn draw_backoff(&mut self, number: u64) {
        let share = self.draws.uniform(draw_key(number, self.attempts));
        self.backoff = (share * f64::from(self.window + 1)) as u32;
    }
}

#[cfg(test)]
mod tests;
