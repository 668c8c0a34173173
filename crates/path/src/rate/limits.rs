//! Rate of sending, bytes in flight and thresholds that follow from the model of the link.

use super::cubic::Cubic;
use super::search::PROBE_SHARE;
use super::{DATAGRAM, Finder, LEAST_RATE, MOST_RATE, State};
use baton_proto::time::{Duration, Instant};

/// Round-trip time without a sample, in seconds (RFC 6298, section 2.1).
pub(super) const UNKNOWN_TRIP: f64 = 1.0;
/// Share of the rate that is sent while no queue is wanted (chosen, BBR has 0.99: a queue that others leave drains).
const CRUISE_GAIN: f64 = 0.98;
/// The same of a rate told (BBR): no probe of this end makes a queue there.
const TOLD_GAIN: f64 = 0.99;
/// Share of the rate that is sent while a queue drains (BBR).
const DRAIN_GAIN: f64 = 0.75;
/// Flight beyond what fills the path, for the variation of delays (chosen).
const CRUISE_FLIGHT: f64 = 1.5;
/// Delay that counts as a queue: an eighth of the round-trip time within these bounds, and at least so many datagrams'
/// time (chosen: above the variation of idle radio links, below a buffer of half a round-trip time).
const LEAST_QUEUE: f64 = 0.002;
const MOST_QUEUE: f64 = 0.025;
const QUEUED_DATAGRAMS: f64 = 2.0;
/// Datagrams in flight that fill a path, unless it holds fewer (chosen).
const FILLED_DATAGRAMS: f64 = 4.0;
/// Largest loss rate of a link that is made up for by sending more (chosen: a policer's losses must not be).
pub(super) const MOST_RANDOM_LOSS: f64 = 0.1;
/// Fewest datagrams that the loss rate is a share of.
const LEAST_SENT: f64 = 300.0;

impl Finder {
    /// Returns the rate of sending, in bytes per second.
    pub(super) fn pacing(&self) -> f64 {
        let rate = match &self.state {
            // The train will tell the rate; data would fill a queue to find it.
            State::Probe(_) if self.trains.is_long() => self.bandwidth,
            State::Probe(probe) => self.bandwidth * probe.gain(self.share()),
            State::Drain(false) => self.bandwidth * DRAIN_GAIN,
            State::Cruise if self.has_told_rate() => self.bandwidth * TOLD_GAIN,
            State::Drain(true) | State::Cruise | State::Refresh(..) => self.bandwidth * CRUISE_GAIN,
            // A little more than the window's, so that the window decides.
            State::Compete(cubic) => self.competing_rate(cubic) * 1.1,
        };
        rate.min(self.told.unwrap_or(MOST_RATE)).max(LEAST_RATE)
    }

    /// Returns true while the rate is the caller's word.
    pub(super) fn has_told_rate(&self) -> bool {
        self.told.is_some_and(|told| self.bandwidth >= told)
    }

    /// Returns the rate as a share of the highest of late.
    fn share(&self) -> f64 {
        self.bandwidth / self.peak.max(self.bandwidth)
    }

    /// Returns true if others have a part of the link that is worth a probe, and this path has more than all of them.
    pub(super) fn makes_room(&self) -> bool {
        (0.5..1.0 - PROBE_SHARE).contains(&self.share())
    }

    /// Returns the most bytes in flight.
    pub(super) fn limit(&self) -> f64 {
        let full = self.bandwidth * self.loop_time();
        match &self.state {
            State::Probe(probe) => {
                probe.gain(self.share()).clamp(CRUISE_FLIGHT, 2.0) * full + 4.0 * DATAGRAM
            }
            State::Drain(_) => self.bandwidth * (self.trip() + self.samples.gap()) + 2.0 * DATAGRAM,
            State::Cruise => CRUISE_FLIGHT * full + 2.0 * DATAGRAM,
            State::Compete(cubic) => cubic.window(),
            State::Refresh(..) => full / 2.0 + 2.0 * DATAGRAM,
        }
    }

    /// Returns the bytes in flight, on the arrival of a report, of a path whose queue has nothing of this end.
    pub(super) fn drained(&self) -> f64 {
        self.bandwidth * self.trip() + 2.0 * DATAGRAM
    }

    /// Returns true if enough is in flight for a queue of this end: otherwise the application sends little, and a late
    /// datagram is not the link's.
    pub(super) fn is_filled(&self) -> bool {
        let least = (self.limit() / 2.0).min(FILLED_DATAGRAMS * DATAGRAM);
        self.flight.bytes() as f64 >= least
    }

    /// Returns true if half of what the path holds at the present rate is in flight: an application that sends little
    /// tells nothing of a lower rate, whatever the variation of its delay.
    pub(super) fn is_half_full(&self) -> bool {
        self.is_filled() && self.flight.bytes() as f64 >= self.bandwidth * self.trip() / 2.0
    }

    pub(super) fn trip(&self) -> f64 {
        self.samples.round_trip().unwrap_or(UNKNOWN_TRIP)
    }

    /// Returns the time from a datagram's departure until its report on an idle path, at most.
    pub(super) fn loop_time(&self) -> f64 {
        self.trip() + 2.0 * self.samples.gap()
    }

    /// Returns the rate at which the window leaves within the present round-trip time.
    pub(super) fn competing_rate(&self, cubic: &Cubic) -> f64 {
        let queue = self.samples.newest().map_or(0.0, |point| point.queue);
        cubic.window() / (self.trip() + queue + self.samples.gap())
    }

    /// Returns the delay that counts as a queue, in seconds.
    pub(super) fn queue_threshold(&self) -> f64 {
        let threshold = (self.trip() / 8.0).clamp(LEAST_QUEUE, MOST_QUEUE);
        threshold.max(QUEUED_DATAGRAMS * DATAGRAM / self.bandwidth)
    }

    /// Returns the share that the link loses without a queue.
    pub(super) fn random_loss(&self) -> f64 {
        let [_, lost] = self.random;
        lost / self.random_sent()
    }

    /// Returns the number of datagrams that this share is taken of.
    pub(super) fn random_sent(&self) -> f64 {
        let [sent, _] = self.random;
        sent.max(LEAST_SENT)
    }

    /// Returns true if enough was sent without a queue to know that share.
    pub(super) fn knows_loss(&self) -> bool {
        let [sent, _] = self.random;
        sent >= LEAST_SENT
    }

    /// Converts a rate of arrivals to the rate of sending that gives it.
    pub(super) fn carried(&self, delivered: f64) -> f64 {
        let carried = delivered / (1.0 - self.random_loss().min(MOST_RANDOM_LOSS));
        carried.clamp(LEAST_RATE, self.told.unwrap_or(MOST_RATE))
    }

    /// Returns the time since which a report is awaited, and for how long it may be.
    pub(super) fn awaited(&self) -> Option<(Instant, Duration)> {
        let oldest = self.flight.oldest_asking()?;
        let queue = self.samples.newest().map_or(0.0, |point| point.queue);
        let expected = oldest + Duration::from_secs_f64(self.trip() + queue);
        let datagram = DATAGRAM / self.bandwidth;
        let wait = (self.trip() / 2.0)
            .max(3.0 * self.samples.gap())
            .max(2.0 * datagram)
            + 0.005;
        let since = self.samples.reported_at().max(expected);
        Some((since, Duration::from_secs_f64(wait)))
    }
}
