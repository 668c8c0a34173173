//! Rate of a path, found by sending: nobody tells a gateway the rate of its link.
//!
//! A [`Finder`] takes the departures of datagrams and the peer's reports, and gives a rate and a limit of bytes in
//! flight. Trains (`trains`) give a first rate. From then on it keeps a model of the link: the rate that it carries, its
//! shortest round-trip time and the delay of its queue. The model is that of BBR (Cardwell et al., 2016;
//! draft-ietf-ccwg-bbr), with these differences:
//! - Losses are congestion only with a queue, and only those beyond what the link loses without a queue. A link that
//!   loses 5 % of its datagrams keeps its rate.
//! - No filter holds a maximum: a queue that stands is the proof that the rate is too high, and the rate of arrivals
//!   replaces it at once.
//! - A queue that stands although this end has drained its own is others'. Next to them the window is CUBIC's.
//! - A probe or a queue in a cruise that made the queue overflow is answered as CUBIC answers a loss: by its decrease,
//!   and the growth of its window (BBRv3 has the same decrease, 0.7). Otherwise each probe costs a CUBIC flow in a
//!   small buffer three tenths of its window, and this end nothing. The losses are counted a round trip later,
//!   because the queue is seen before them.
//! - A rate told that is higher than the found one is tried by a train first, and one that has not been used for a
//!   minute is found again.
//! - A path that has more than half of the highest rate of late, beside others, answers congestion by CUBIC's fast
//!   convergence, and holds the decrease as made up for only at the window before it: so others, who had nothing while it had
//!   the whole link, grow into the room, and not the next probe.
//! - The first two steps of a probe add an eighth of the highest rate of late, whatever the present rate is, and what they
//!   take from others is given back. So paths that share a link converge.
//!
//! ```text
//! trains ─┐  queue, or no growth            drained             the wait is over
//! Probe(4)┴───────────────────► Drain ─────────────► Cruise ──────────────────► Probe(0), (1), …
//!                                │  ▲ queue stands    │                            │
//!              others' queue     │  └─────────────────┤◄───────────────────────────┘
//!                                ▼                    ▼ losses, or those of the queue before
//!                             Compete ◄───────────────┘
//! ```
//! Times of arrival, bytes and datagrams are the peer's word, departures this end's own: a peer can claim that all
//! arrives, and no more.
//!
//! Figures on the bottleneck of `tests/bottleneck`, which drops at the tail of its queue:
//!
//! | link | result |
//! |---|---|
//! | 50 Mbit/s, 20 and 580 ms, losses of 0, 1, 5 % | 49.1, 48.6, 45.2 Mbit/s arrive, or more |
//! | 10 Mbit/s falls to 100 kbit/s | followed within two round trips, or a datagram's time |
//! | 50 Mbit/s, 580 ms, from nothing | all of it in the fifth round trip, the handshake's included |
//! | 5 to 50 Mbit/s, 20 to 600 ms beside CUBIC, buffers of 0.25 to 4 products | 0.20 to 2.04 of CUBIC's, over 60 s or 150 round trips, but for the limits below |
//! | two paths that begin at once, 20 and 100 ms, buffers of 0.5 to 2 products | at most 1.28 times as much |
//! | two paths, the second 30 s later, buffers of 0.25 to 2 products | the second has 0.38 to 0.62 from 5 s on, over 580 ms 0.3 to 0.7 from 15 s on |
//!
//! Limits:
//! - In a buffer of a few datagrams CUBIC's bursts do not fit, and a path takes what they leave: 1.0 to 4.0 times CUBIC's at
//!   5 Mbit/s and 20 ms with room for four or eight, and 10 times those of each of two at 10 Mbit/s with room for four.
//! - A queue that never reaches the threshold of an eighth of a round trip is not seen, and what it drops counts as the link's
//!   own: in a buffer of a tenth of the product a path takes nearly all. To answer such losses as congestion would make
//!   it fairer there (0.9 to 2.2 of CUBIC's), but 1 in 1000 lost at random would leave 0.4 of such a link to a path alone.
//! - Where losses that are not congestion's keep CUBIC small, a path takes what is left, many times as much.
//! - Two paths that begin at once over 580 ms had shares of 0.32 and 0.68 over 58 s: probes that make a queue overflow are rare
//!   there.
//! - A queue of a few datagrams is not told from their transmission times. At 2 Mbit/s and 50 ms, with room for four, two
//!   paths had 0.3 and 0.7 of the link.
//! - Losses without a queue are taken for the link's own, so a policer that has none is overrun by up to a tenth, after the
//!   round trip that has tried a train's rate.

mod cubic;
mod flight;
mod limits;
mod samples;
mod search;
#[cfg(test)]
mod tests;
mod trains;

pub(crate) use samples::Heard;

use baton_proto::rate::DataRate;
use baton_proto::time::{Duration, Instant};
use cubic::Cubic;
use flight::Flight;
use limits::UNKNOWN_TRIP;
use samples::{Point, Samples};
use search::{Probe, Round};
use trains::{Found, Trains};

/// Length of a full datagram with its headers, in bytes.
const DATAGRAM: f64 = 1500.0;
/// Datagrams in the first round-trip time (RFC 6928).
const INITIAL_DATAGRAMS: f64 = 10.0;
/// Shortest round-trip time that the first rate assumes (chosen), in seconds.
const LEAST_TRIP: f64 = 0.001;
/// Bounds of a rate, in bytes per second (chosen: a datagram in ten seconds, and 100 Gbit/s).
const LEAST_RATE: f64 = DATAGRAM / 10.0;
const MOST_RATE: f64 = 12.5e9;
/// Time for which missed departures are made up at once (chosen: what a timer may be late).
const BURST: Duration = Duration::from_millis(1);

/// Pace of a path's datagrams.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pace {
    /// Rate at which to send at present, IP and UDP headers included.
    pub rate: DataRate,
    /// Earliest departure of the next datagram: past if it may leave at once, [`Instant::NEVER`] while as much is in
    /// flight as the path holds; a report then changes it.
    pub departure: Instant,
}

/// Phase of the search.
enum State {
    /// Sends more than the rate, to see if it is carried.
    Probe(Probe),
    /// Waits until the queue has drained; true once this end's part of it has.
    Drain(bool),
    /// Sends at the rate until it is time to probe.
    Cruise,
    /// Shares a queue with others.
    Compete(Cubic),
    /// Drains this end's part of a queue, to see if it is others'; true once it has.
    Refresh(Cubic, bool),
}

/// Search for the rate of one path.
pub(crate) struct Finder {
    flight: Flight,
    samples: Samples,
    state: State,
    /// Bytes per second that the link carries, and the caller's word.
    bandwidth: f64,
    told: Option<f64>,
    /// Time at which the link last carried half of the rate or more.
    validated: Instant,
    /// Highest rate of late.
    peak: f64,
    peak_at: Instant,
    trains: Trains,
    /// True while no round trip of data has tried the rate.
    is_untried: bool,
    /// Datagrams sent and lost while there was no queue.
    random: [f64; 2],
    /// Counter below which datagrams left before the path was down.
    forgotten: u64,
    /// Start of the round trip, its end as a counter, and its shortest delay of the queue.
    round: Option<Point>,
    round_end: u64,
    round_queue: f64,
    /// Counter below which losses are those of a congestion that was answered, and round trips since.
    answered: u64,
    calm_rounds: u32,
    /// Seconds from the end of a probe to the next, and that end.
    probe_wait: f64,
    probed_at: Instant,
    /// Rate that a drained queue does not raise: that before the probe that made it.
    ceiling: f64,
    /// State when that probe, or a queue in a cruise, began, until the losses since have been counted.
    tried: Option<Point>,
    /// Time at which the queue was last seen empty, and at which it was last drained to see that.
    emptied: Instant,
    refreshed: Instant,
    /// Virtual departure of the next datagram.
    departure: Instant,
    /// Deadlines that have passed without a report.
    silences: u32,
}

impl Finder {
    /// Creates a finder for datagrams from counter `first` on.
    pub(crate) fn new(now: Instant, first: u64) -> Finder {
        Finder {
            flight: Flight::new(now, first),
            samples: Samples::new(now),
            state: State::Probe(Probe::start()),
            bandwidth: INITIAL_DATAGRAMS * DATAGRAM / UNKNOWN_TRIP,
            told: None,
            validated: now,
            peak: 0.0,
            peak_at: now,
            trains: Trains::start(),
            is_untried: false,
            random: [0.0; 2],
            forgotten: 0,
            round: None,
            round_end: 0,
            round_queue: f64::INFINITY,
            answered: 0,
            calm_rounds: 0,
            probe_wait: 0.0,
            probed_at: now,
            ceiling: f64::INFINITY,
            tried: None,
            emptied: now,
            refreshed: Instant::ZERO,
            departure: now,
            silences: 0,
        }
    }

    /// Replaces the search by the rate of a modem or an administrator, or resumes it.
    pub(crate) fn set_rate(&mut self, now: Instant, rate: Option<DataRate>) {
        let bytes =
            |rate: DataRate| (rate.bits_per_second() as f64 / 8.0).clamp(LEAST_RATE, MOST_RATE);
        let told = rate.map(bytes);
        // Said again, it is no news: what has been measured since counts more.
        if told == self.told {
            return;
        }
        self.told = told;
        match told {
            // More than the link is known to carry: a train tries it first.
            Some(told) if told > self.bandwidth => self.trains = Trains::start(),
            Some(told) => {
                self.bandwidth = told;
                self.trains.end();
                self.is_untried = false;
                self.probed_at = now;
                self.begin(State::Cruise);
            }
            None => {}
        }
    }

    /// Forgets the measurements of a path that was down, or whose peer has restarted, and what was in flight. The rate is
    /// searched from half.
    pub(crate) fn restart(&mut self, now: Instant) {
        self.forgotten = self.flight.next();
        self.flight.report(self.forgotten);
        self.samples = Samples::new(now);
        self.round = None;
        self.bandwidth = (self.bandwidth / 2.0).max(LEAST_RATE);
        self.answered = 0;
        self.emptied = now;
        self.silences = 0;
        (self.tried, self.ceiling) = (None, f64::INFINITY);
        self.search();
    }

    /// Begins as at the start of a path, from the present rate.
    fn search(&mut self) {
        self.trains = Trains::start();
        self.begin(State::Probe(Probe::start()));
    }

    /// Returns true for a datagram of a train that is to be reported at once; `None` if none is to leave.
    pub(crate) fn next_in_train(&self) -> Option<bool> {
        self.trains.next()
    }

    /// Notes the departure of the next datagram of a train.
    pub(crate) fn sent_in_train(&mut self, now: Instant, bytes: u64) {
        let newest = self.samples.newest().copied();
        self.trains.sent(now, self.flight.next(), newest.as_ref());
        self.flight.sent(now, bytes, true);
    }

    /// Notes the departure of the next datagram, and if the peer reports it soon.
    pub(crate) fn sent(&mut self, now: Instant, bytes: u64, asks: bool) {
        self.flight.sent(now, bytes, asks);
        self.mistrust(now);
        let earliest = Instant::from_nanos(now.as_nanos().saturating_sub(BURST.as_nanos()));
        let takes = Duration::from_secs_f64(bytes as f64 / self.pacing());
        self.departure = self.departure.max(earliest) + takes;
    }

    /// Takes in that all datagrams below `next` have arrived or are lost.
    pub(crate) fn left_flight(&mut self, next: u64) {
        self.flight.report(next);
    }

    /// Takes in a report; one of datagrams that were never sent says no more than all.
    pub(crate) fn reported(&mut self, now: Instant, heard: &Heard) {
        let heard = &Heard {
            next: heard.next.min(self.flight.next()),
            ..*heard
        };
        if heard.next <= self.forgotten {
            return;
        }
        let departed = self.flight.report(heard.next);
        let was_known = self.samples.round_trip().is_some();
        let drains = matches!(self.state, State::Drain(false));
        let Some(point) = self.samples.take(now, heard, departed, drains) else {
            return;
        };
        if let (false, Some(trip)) = (was_known, self.samples.round_trip()) {
            let initial = INITIAL_DATAGRAMS * DATAGRAM / trip.max(LEAST_TRIP);
            self.bandwidth = self
                .bandwidth
                .max(initial)
                .min(self.told.unwrap_or(MOST_RATE));
        }
        self.silences = 0;
        if let Some(found) = self.trains.reported(&point) {
            self.take_found(now, found);
        }
        self.round_queue = self.round_queue.min(point.queue);
        let Some(start) = self.round else {
            self.begin_round(point);
            return;
        };
        self.follow(now, &point);
        self.look_for_congestion(now, &point, &start);
        self.advance(now, &point);
        if self.round.is_some() && point.next > self.round_end {
            let round = Round {
                start,
                queue: self.round_queue,
                last: point,
            };
            self.begin_round(point);
            self.end_round(now, &round);
        }
    }

    /// Returns the time at which a report is overdue.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        let (since, wait) = self.awaited()?;
        let times = 1_u64 << self.silences.min(30);
        Some(since + wait.saturating_mul(times))
    }

    /// Notes that a report is overdue, if it is.
    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        while self.silences < 30 && self.deadline().is_some_and(|deadline| now >= deadline) {
            self.silences += 1;
        }
    }

    /// Returns the pace at present.
    pub(crate) fn pace(&self, now: Instant) -> Pace {
        let mut rate = self.pacing();
        if self.silences > 0
            && let Some((since, _)) = self.awaited()
        {
            // No more than a datagram can have arrived since.
            rate = rate.min(DATAGRAM / now.saturating_since(since).as_secs_f64().max(1e-6));
        }
        let is_full = self.flight.bytes() as f64 + DATAGRAM > self.limit();
        Pace {
            rate: DataRate::from_bits_per_second((rate.max(LEAST_RATE) * 8.0) as u64),
            departure: if is_full {
                Instant::NEVER
            } else {
                self.departure
            },
        }
    }
}
