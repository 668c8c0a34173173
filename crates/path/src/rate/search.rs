//! Conclusions from reports and round trips, and the change of states.

use super::cubic::Cubic;
use super::limits::MOST_RANDOM_LOSS;
use super::samples::{Point, Rates};
use super::{DATAGRAM, Finder, Found, INITIAL_DATAGRAMS, LEAST_TRIP, State};
use baton_proto::time::{Duration, Instant};

/// Gains of a probe's steps after the first two, whose gain follows from the share of the link. The last is BBR's of its
/// start-up (2/ln 2 doubles a rate in a round trip).
const PROBE_GAINS: [f64; 3] = [1.5, 2.0, 2.77];
/// Steps that only try for what others may have left.
const CAREFUL: usize = 2;
/// Share of the link by which a probe begins to raise the rate, whatever the rate is (chosen: BBR's quarter for half the
/// link). So paths that share a link gain as much and lose in proportion, and their rates converge (D. Chiu and R. Jain, 1989).
pub(super) const PROBE_SHARE: f64 = 0.125;
const LEAST_PROBE: f64 = 1.1;
/// Time after which the highest rate counts half: seconds or round trips (chosen: many probes).
const PEAK_SECONDS: f64 = 60.0;
const PEAK_ROUNDS: f64 = 200.0;
const START: usize = CAREFUL + PROBE_GAINS.len() - 1;
/// Share of what is sent that has to be carried for a probe to go on (chosen: the first gain's inverse is 0.8).
const FOLLOWS: f64 = 0.9;
/// Share of what is sent at a rate found by a train that has to be carried (chosen: below what a link's own losses leave).
const CARRIED: f64 = 0.8;
/// Round trips in which arrivals do not follow that end a start-up (BBR), for losses in bursts.
const MOST_STALLS: u32 = 3;
/// Stretch of arrivals, and the share of the rate that they have, which prove a collapse of the link within a round
/// trip (chosen).
const COLLAPSE_STRETCH: f64 = 1.2;
const COLLAPSE_SHARE: f64 = 0.7;
/// Queue in units of the threshold, and stretch, which prove the same by one report (chosen).
const LATE: f64 = 4.0;
const LATE_STRETCH: f64 = 2.0;
/// Decrease of a queue in a round trip that shows that it is draining (chosen).
const STILL_DRAINS: f64 = 0.75;
/// Longest time between two probes: a second, or round trips (chosen: a link that recovers is noticed soon).
const PROBE_SECONDS: f64 = 1.0;
const PROBE_ROUNDS: f64 = 8.0;
/// Time without an empty queue after which the finder drains its own part of it (BBR: 5 to 10 s).
const REFRESH: f64 = 10.0;
const REFRESH_ROUNDS: f64 = 8.0;
/// Age of a rate without a round trip that used half of it, after which it counts no more (chosen: RFC 7661 has five
/// minutes for a window; radio links change sooner).
const MOST_AGE: Duration = Duration::from_secs(60);
/// Datagrams over which the loss rate of the empty link is measured.
const LOSS_WINDOW: f64 = 8_000.0;

/// A round trip that has ended.
pub(super) struct Round {
    pub(super) start: Point,
    /// Shortest delay of the queue.
    pub(super) queue: f64,
    pub(super) last: Point,
}

/// Progress of a probe: the place of its gain, round trips, and those in which arrivals did not follow.
#[derive(Default)]
pub(super) struct Probe {
    step: usize,
    /// Rate that is known to be carried, in a careful step, and the state when it began.
    base: f64,
    began: Option<Point>,
    rounds: u32,
    stalls: u32,
}

impl Probe {
    /// Begins with the careful steps, from a rate that is carried.
    pub(super) fn careful(base: f64, began: Option<Point>) -> Probe {
        Probe {
            base,
            began,
            ..Probe::default()
        }
    }

    /// Begins as at the start of a path.
    pub(super) fn start() -> Probe {
        Probe {
            step: START,
            ..Probe::default()
        }
    }

    /// Returns the gain of a path that had this share of the link.
    pub(super) fn gain(&self, share: f64) -> f64 {
        let careful = (1.0 + PROBE_SHARE / share).clamp(LEAST_PROBE, PROBE_GAINS[0]);
        let place = self.step.checked_sub(CAREFUL);
        place
            .and_then(|place| PROBE_GAINS.get(place).copied())
            .unwrap_or(careful)
    }
}

impl Finder {
    /// Takes in the result of a train.
    pub(super) fn take_found(&mut self, now: Instant, found: Found) {
        self.is_untried = true;
        self.validated = now;
        match found {
            Found::Rate(rate) => {
                self.bandwidth = self.carried(rate);
                self.peak = self.peak.max(self.bandwidth);
                let told = self.told.filter(|told| self.bandwidth >= FOLLOWS * told);
                match told {
                    // A probe would send no more than this.
                    Some(told) => {
                        self.bandwidth = told;
                        self.begin(State::Cruise);
                    }
                    None => self.begin(State::Probe(self.careful_probe())),
                }
            }
            Found::AtLeast(rate) => {
                self.bandwidth = self.bandwidth.max(self.carried(rate));
                if let Some(told) = self.told
                    && (self.bandwidth >= told || self.trains.next().is_none())
                {
                    // No train refutes the word.
                    self.bandwidth = told;
                    self.trains.end();
                    self.begin(State::Cruise);
                }
            }
        }
    }

    /// Searches again, as at the start, if more is to leave than then and the rate has long not been carried.
    pub(super) fn mistrust(&mut self, now: Instant) {
        let age = now.saturating_since(self.validated);
        if age > MOST_AGE && self.flight.bytes() as f64 >= INITIAL_DATAGRAMS * DATAGRAM {
            let initial = INITIAL_DATAGRAMS * DATAGRAM / self.trip().max(LEAST_TRIP);
            self.bandwidth = self.bandwidth.min(initial);
            self.validated = now;
            self.search();
        }
    }

    /// Raises the rate to that of arrivals, or lowers it if the link has collapsed.
    pub(super) fn follow(&mut self, now: Instant, point: &Point) {
        let (Some(rates), Some(recent)) = (self.samples.window(), self.samples.recent()) else {
            return;
        };
        if matches!(self.state, State::Compete(_)) {
            return;
        }
        let (carried, latest) = (
            self.carried(rates.delivered),
            self.carried(recent.delivered),
        );
        let threshold = self.queue_threshold();
        let is_queued = self.samples.standing() > threshold;
        // One report is enough if it is late beyond any variation.
        let is_late = point.queue > LATE * threshold && recent.stretch > LATE_STRETCH;
        if !self.is_filled() {
            self.bandwidth = self.bandwidth.max(carried);
        } else if recent.stretch > COLLAPSE_STRETCH
            && self.is_half_full()
            && latest < COLLAPSE_SHARE * self.bandwidth
            && (is_queued || is_late)
        {
            self.bandwidth = latest;
            self.probe_wait = 0.0;
            self.tried = None;
            self.drain(now, point);
        } else if matches!(self.state, State::Drain(false)) && rates.stretch > 1.0 && is_queued {
            // What leaves the queue is what the link carries: of late, if it has collapsed.
            let has_collapsed =
                recent.stretch > COLLAPSE_STRETCH && latest < COLLAPSE_SHARE * carried;
            let leaves = if has_collapsed { latest } else { carried };
            self.bandwidth = leaves.min(self.ceiling);
        } else {
            self.bandwidth = self.bandwidth.max(carried.min(self.ceiling));
        }
    }

    /// Answers losses beyond the link's own, if there is a queue.
    pub(super) fn look_for_congestion(&mut self, now: Instant, point: &Point, start: &Point) {
        let is_news = point.next > self.answered && start.next >= self.answered;
        if !is_news || self.samples.standing() <= self.queue_threshold() {
            return;
        }
        let rates = point.since(start);
        if !self.loses(&rates) {
            return;
        }
        self.answer();
        let (knows_loss, makes_room) = (self.knows_loss(), self.makes_room());
        match &mut self.state {
            State::Compete(cubic) => cubic.cut(now, makes_room),
            State::Drain(_) | State::Refresh(..) => {}
            State::Probe(probe) if probe.step >= CAREFUL || !knows_loss => self.drain(now, point),
            State::Probe(_) | State::Cruise => self.compete(now, point.queue, true),
        }
        self.begin_round(*point);
    }

    /// Does what the present state does with each report.
    pub(super) fn advance(&mut self, now: Instant, point: &Point) {
        let threshold = self.queue_threshold();
        let in_flight = self.flight.bytes() as f64;
        let (drained, limit) = (self.drained(), self.limit());
        let round_trip = self.trip() + point.queue + self.samples.gap();
        match &mut self.state {
            State::Probe(probe) if self.samples.standing() > threshold => {
                if probe.step < CAREFUL {
                    // It has only taken from others.
                    self.probe_wait *= 2.0;
                    self.ceiling = probe.base;
                    self.tried = probe.began;
                    self.bandwidth = self.bandwidth.min(probe.base);
                }
                self.drain(now, point);
            }
            State::Drain(_) if point.queue < threshold / 2.0 => self.cruise(now),
            State::Drain(is_empty) if !*is_empty && in_flight <= drained => {
                *is_empty = true;
                self.begin_round(*point);
            }
            State::Refresh(_, is_empty) if !*is_empty && in_flight <= limit => {
                *is_empty = true;
                self.begin_round(*point);
            }
            State::Compete(cubic) => {
                let is_used = in_flight > cubic.window() / 2.0;
                cubic.grow(now, round_trip, is_used);
            }
            _ => {}
        }
    }

    /// Follows the highest rate, the best known of the whole link's. Beside others it cannot be seen, and does not age.
    fn note_peak(&mut self, now: Instant) {
        let passed = now.saturating_since(self.peak_at).as_secs_f64();
        self.peak_at = now;
        if matches!(self.state, State::Compete(_) | State::Refresh(..)) {
            self.peak = self.peak.max(self.bandwidth);
            return;
        }
        let half_life = PEAK_SECONDS.max(PEAK_ROUNDS * self.trip());
        let aged = self.bandwidth + (self.peak - self.bandwidth) * libm::exp2(-passed / half_life);
        self.peak = aged.max(self.bandwidth);
    }

    /// Draws the conclusions from a round trip.
    pub(super) fn end_round(&mut self, now: Instant, round: &Round) {
        self.note_peak(now);
        let Round { start, queue, last } = *round;
        let rates = &last.since(&start);
        let is_empty = queue <= self.queue_threshold();
        if is_empty {
            self.emptied = now;
            self.learn_loss(rates);
        }
        self.calm_rounds += u32::from(start.next >= self.answered);
        if rates.offered >= self.bandwidth / 2.0 {
            self.validated = now;
        }
        let (carried, is_half_full) = (self.carried(rates.delivered), self.is_half_full());
        if self.is_untried && rates.offered >= FOLLOWS * self.bandwidth {
            self.is_untried = false;
            if is_empty && carried < CARRIED * rates.offered {
                // A link may take a train and no more at that rate.
                self.bandwidth = carried;
                return self.begin(State::Probe(self.careful_probe()));
            }
        }
        let wait = Duration::from_secs_f64(self.probe_wait);
        let is_time = now >= self.probed_at + wait;
        let longest = REFRESH.max(REFRESH_ROUNDS * (self.trip() + queue));
        let is_long_full = now.saturating_since(self.emptied).as_secs_f64() > longest;
        let has_overflowed = matches!(self.state, State::Cruise) && self.has_overflowed();
        match &mut self.state {
            State::Probe(_) => self.end_probe_round(now, rates),
            State::Cruise if has_overflowed => self.compete(now, queue, true),
            State::Drain(true) if is_empty => self.cruise(now),
            State::Drain(true) if last.queue < STILL_DRAINS * start.queue => {}
            State::Drain(true) => {
                let has_overflowed = self.has_overflowed();
                self.compete(now, queue, has_overflowed);
            }
            State::Drain(false) => {}
            State::Cruise if !is_empty && is_half_full => {
                self.bandwidth = self.bandwidth.min(carried);
                self.tried = Some(start);
                self.begin(State::Drain(false));
            }
            State::Cruise => {
                let is_limited = rates.offered < 0.8 * self.bandwidth;
                let is_told = self.has_told_rate();
                let is_lost = rates.lost > MOST_RANDOM_LOSS * rates.sent;
                let is_old = now.saturating_since(self.refreshed).as_secs_f64() > REFRESH;
                if is_lost && self.calm_rounds > 2 && is_old {
                    // Perhaps the queue was never seen empty, and the losses are not random.
                    self.random = [0.0; 2];
                    let cubic = self.window_of(now, queue);
                    self.refresh(now, cubic);
                } else if is_time && !is_limited && !is_told {
                    self.begin(State::Probe(self.careful_probe()));
                }
            }
            State::Compete(cubic) => {
                self.bandwidth = carried;
                if is_empty && cubic.has_recovered() {
                    self.cruise(now);
                } else if is_long_full {
                    let cubic = *cubic;
                    self.refresh(now, cubic);
                }
            }
            State::Refresh(_, false) => {}
            State::Refresh(cubic, true) => {
                cubic.resume(now);
                let cubic = *cubic;
                self.emptied = now;
                match is_empty {
                    true => self.cruise(now),
                    false => self.begin(State::Compete(cubic)),
                }
            }
        }
    }

    fn end_probe_round(&mut self, now: Instant, rates: &Rates) {
        let carried = self.carried(rates.delivered);
        let State::Probe(probe) = &mut self.state else {
            return;
        };
        probe.rounds += 1;
        // The first round trip reports what left before the probe.
        if probe.rounds < 2 {
            return;
        }
        if rates.offered < FOLLOWS * self.bandwidth {
            // The application sends no more: nothing can be found out.
            if probe.step < START {
                self.cruise(now);
            }
        } else if carried >= FOLLOWS * rates.offered {
            probe.step = (probe.step + 1).min(START);
            probe.stalls = 0;
            // More than what another path has just left.
            if probe.step >= CAREFUL {
                self.probe_wait = 0.0;
            }
            probe.base = carried;
        } else {
            probe.stalls += 1;
            if probe.step < START || probe.stalls >= MOST_STALLS {
                self.probe_wait *= 2.0;
                self.tried = probe.began;
                self.cruise(now);
            }
        }
    }

    /// Counts losses of the link itself.
    fn learn_loss(&mut self, rates: &Rates) {
        if matches!(self.state, State::Probe(_)) || self.calm_rounds < 2 {
            return;
        }
        let [sent, lost] = &mut self.random;
        *sent += rates.sent;
        *lost += rates.lost.min(rates.sent);
        if *sent > LOSS_WINDOW {
            *sent /= 2.0;
            *lost /= 2.0;
        }
    }

    pub(super) fn begin_round(&mut self, start: Point) {
        self.round = Some(start);
        self.round_end = self.flight.next();
        self.round_queue = f64::INFINITY;
    }

    /// Enters a state, with a round trip of its own.
    pub(super) fn begin(&mut self, state: State) {
        self.state = state;
        if let Some(point) = self.samples.newest() {
            self.begin_round(*point);
        }
    }

    /// Takes the losses of all that is in flight for those of a congestion.
    fn answer(&mut self) {
        self.answered = self.flight.next();
        self.calm_rounds = 0;
    }

    fn drain(&mut self, now: Instant, point: &Point) {
        self.answer();
        self.note_probe(now);
        if point.queue < self.queue_threshold() / 2.0 {
            self.cruise(now);
        } else {
            self.begin(State::Drain(false));
        }
    }

    /// Shares the queue with a window for the present rate, decreased if `is_congested`.
    fn compete(&mut self, now: Instant, queue: f64, is_congested: bool) {
        let mut cubic = self.window_of(now, queue);
        if is_congested {
            cubic.cut(now, self.makes_room());
        }
        self.begin(State::Compete(cubic));
    }

    fn window_of(&self, now: Instant, queue: f64) -> Cubic {
        let round_trip = self.trip() + queue + self.samples.gap();
        Cubic::new(now, self.bandwidth * round_trip)
    }

    fn refresh(&mut self, now: Instant, cubic: Cubic) {
        self.refreshed = now;
        self.begin(State::Refresh(cubic, false));
    }

    fn cruise(&mut self, now: Instant) {
        self.note_probe(now);
        self.ceiling = f64::INFINITY;
        let trip = self.trip();
        let longest = PROBE_SECONDS.max(PROBE_ROUNDS * trip);
        self.probe_wait = self.probe_wait.clamp(2.0 * trip, longest);
        self.begin(State::Cruise);
    }

    fn careful_probe(&self) -> Probe {
        Probe::careful(self.bandwidth, self.samples.newest().copied())
    }

    /// Returns true if more was lost than the link itself loses since the last probe or queue began.
    fn has_overflowed(&mut self) -> bool {
        let (Some(start), Some(newest)) = (self.tried.take(), self.samples.newest()) else {
            return false;
        };
        self.knows_loss() && self.loses(&newest.since(&start))
    }

    /// Returns true if more was lost than the link itself loses.
    fn loses(&self, rates: &Rates) -> bool {
        let expected = rates.sent * self.random_loss();
        // The link's own share is an estimate, too.
        let variance = expected * (1.0 + rates.sent / self.random_sent());
        let most = expected + 3.0 * variance.sqrt() + self.samples.reordered();
        rates.lost >= 1.0 && rates.lost > most
    }

    /// Notes the end of a probe, if it is one: a queue that is drained meanwhile does not put off the next.
    fn note_probe(&mut self, now: Instant) {
        if matches!(self.state, State::Probe(_)) {
            self.probed_at = now;
        }
    }
}
