//! Effects of remedies on a connection: [`Control`]s, carried out, and the state that they leave.

use super::recovery::Phase;
use super::rtt::RttEstimator;
use super::timer::Timer;
use super::{Connection, State};
use crate::crosslayer::{Control, HandoverNotice, TransportView};
use crate::time::{Duration, Instant};
use crate::wire::tcp::TcpHeader;
use core::num::NonZeroU8;
use std::collections::VecDeque;

/// Acknowledgments that may wait to be sent on a remedy's behalf; one that asks for more gets this many.
const MOST_ACKNOWLEDGMENTS: usize = 16;

/// Orders of remedies that are still in force. A connection that none steers has none of it.
#[derive(Debug, Default)]
pub(super) struct Steering {
    holds_new_data: bool,
    frozen_since: Option<Instant>,
    /// The timer has gone off while frozen.
    timed_out: bool,
    /// Time at which it was thawed, or timing began with a new path's sample: data sent before says nothing of a
    /// round-trip time.
    timed_since: Option<Instant>,
    /// The first byte that was out when the timer was put off last.
    put_off_for: Option<u64>,
    flight: Option<Flight>,
    /// A timeout before this is acknowledged leaves the threshold at the window.
    forgives_until: u64,
    /// Gaps are no losses before this is acknowledged.
    tolerates_until: u64,
    offer: Option<Offer>,
    /// The right edge of the window that was offered last, in bytes from the start of the data.
    edge: u64,
    keeps_last: bool,
    kept: Option<TcpHeader>,
    /// Acknowledgments that are due, with the window that each offers.
    acknowledgments: VecDeque<Option<Offer>>,
    notice: Option<Notice>,
}

/// At most so much is offered beyond a place, or beyond what has arrived if that is farther.
#[derive(Clone, Copy, Debug)]
struct Offer {
    most: u32,
    beyond: u64,
    /// True if data that has arrived beyond the place, while something before it is missing, makes room as well.
    missing_arrives: bool,
}

/// At most so many bytes in the network, beside those before a place.
#[derive(Clone, Copy, Debug)]
struct Flight {
    most: u32,
    beside: u64,
}

#[derive(Clone, Copy, Debug)]
struct Notice {
    number: NonZeroU8,
    /// Still to be sent whatever is missing.
    left: u8,
}

impl Connection {
    /// Carries out what a remedy wants done.
    pub fn steer(&mut self, now: Instant, control: Control) {
        if matches!(self.state, State::Closed | State::TimeWait) {
            return;
        }
        let steering = self.steering.get_or_insert_default();
        match control {
            Control::HoldNewData => steering.holds_new_data = true,
            Control::Freeze => {
                steering.frozen_since.get_or_insert(now);
            }
            Control::Thaw => self.thaw(now),
            Control::ResendOutstanding => self.resend_outstanding(),
            Control::ResendCutOff => self.resend_cut_off(),
            Control::ForgiveTimeout => steering.forgives_until = self.next,
            Control::NewPath { window, threshold } => self.go_on_from(window, threshold),
            Control::LimitFlight(most) => {
                let beside = self.next;
                steering.flight = Some(Flight { most, beside });
            }
            Control::RaiseThreshold(threshold) => {
                let threshold = threshold.max(self.congestion.slow_start_threshold());
                self.congestion.set(self.congestion.window(), threshold);
            }
            Control::ForgetPath => self.congestion.on_path_change(),
            Control::RestartTiming(sample) => self.restart_timing(now, sample),
            Control::RestartTimer => self.restart_running_timer(now),
            Control::Offer(window) => {
                steering.offer = window.map(|most| Offer {
                    most,
                    beyond: 0,
                    missing_arrives: false,
                });
            }
            Control::OfferMore {
                window,
                missing_arrives,
            } => {
                steering.offer = Some(Offer {
                    most: window,
                    beyond: steering.edge,
                    missing_arrives,
                });
            }
            Control::KeepLastAcknowledgment(keeps) => {
                steering.keeps_last = keeps;
                steering.kept = steering.kept.take().filter(|_| keeps);
            }
            // In a handshake there is nothing to acknowledge.
            Control::Acknowledge(_)
                if matches!(self.state, State::SynSent | State::SynReceived) => {}
            Control::Acknowledge(copies) => {
                let offer = steering.offer;
                let room = MOST_ACKNOWLEDGMENTS.saturating_sub(steering.acknowledgments.len());
                let copies = usize::from(copies).min(room);
                steering
                    .acknowledgments
                    .extend(core::iter::repeat_n(offer, copies));
            }
            Control::Notice { number, times } => {
                steering.notice = Some(Notice {
                    number,
                    left: times,
                });
            }
            Control::TolerateReordering(tolerates) => {
                steering.tolerates_until = if tolerates { self.next } else { 0 };
                if !tolerates && self.recovery.phase == Phase::Open {
                    self.recovery.inflation = 0;
                }
            }
        }
    }

    /// Returns the facts that a remedy may know.
    pub fn view(&self) -> TransportView {
        TransportView {
            congestion_window: self.congestion.window(),
            slow_start_threshold: self.congestion.slow_start_threshold(),
            bytes_in_flight: self.bytes_in_flight(),
            segment_size: self.segment_size,
            smoothed_rtt: self.rtt.smoothed(),
            timed_out: self
                .steering
                .as_ref()
                .is_some_and(|steering| steering.timed_out),
        }
    }

    fn thaw(&mut self, now: Instant) {
        self.ask_for_idle_check();
        if let Some(steering) = &mut self.steering {
            if steering.frozen_since.take().is_some() {
                steering.timed_since = Some(now);
            }
            (steering.holds_new_data, steering.timed_out) = (false, false);
        }
        self.ensure_timer(now);
    }

    /// Takes no round-trip time from data that was sent before `now`.
    pub(super) fn time_from(&mut self, now: Instant) {
        self.steering.get_or_insert_default().timed_since = Some(now);
    }

    /// Sees to it that what is out has a timer.
    pub(super) fn ensure_timer(&mut self, now: Instant) {
        if !self.sent.is_empty() && !self.timers.is_set(Timer::Retransmission) {
            self.restart_timer(now);
        }
    }

    fn restart_timer(&mut self, now: Instant) {
        if self.sent.is_empty() {
            return;
        }
        if self.recovers_as_linux() {
            self.rearm_timeout(now);
        } else {
            let rto = self.rtt.rto();
            self.set_timer(Timer::Retransmission, now, rto);
        }
    }

    fn restart_running_timer(&mut self, now: Instant) {
        if self.timers.is_set(Timer::Retransmission) {
            if self.recovers_as_linux() {
                self.forgo_probe();
            }
            self.restart_timer(now);
        }
    }

    /// As after a timeout, but that the window stays.
    pub(super) fn resend_outstanding(&mut self) {
        self.lose_outstanding();
        if self.recovers_as_linux() && !self.sent.is_empty() {
            self.force_first();
        }
    }

    fn lose_outstanding(&mut self) {
        if self.sent.is_empty() {
            return;
        }
        let steering = self.steering.as_mut();
        if let Some(flight) = steering.and_then(|steering| steering.flight.as_mut()) {
            flight.beside = 0;
        }
        self.sent.mark_all_lost();
        self.recovery.phase = Phase::AfterTimeout;
        self.recovery.point = self.next;
        self.recovery.forced = true;
        self.recovery.inflation = 0;
        self.recovery.duplicate_acks = 0;
        if self.recovers_as_linux() {
            self.repair_without_reduction();
        }
    }

    /// The same, of what a break has cut off. By the time of the break so much had arrived as was sent a round-trip time earlier, but for the way back of an
    /// acknowledgment, which met no queue.
    fn resend_cut_off(&mut self) {
        let broken_at = self
            .steering
            .as_ref()
            .and_then(|steering| steering.frozen_since);
        self.lose_outstanding();
        if let (Some(at), Some(round_trip)) = (broken_at, self.rtt.smoothed()) {
            let way_back = self.rtt.minimum().unwrap_or(round_trip).half();
            let at_most = round_trip + self.rtt.variation().saturating_mul(4);
            let way_there = at_most.saturating_sub(way_back);
            self.sent.doubt_loss(|sent_at| sent_at + way_there <= at);
        }
    }

    fn go_on_from(&mut self, window: u32, threshold: u32) {
        let window = window.max(self.segment_size);
        let threshold = threshold.max(self.segment_size.saturating_mul(2));
        self.congestion.on_path_change();
        self.congestion.set(window, threshold);
        self.recovery.inflation = 0;
        if self.recovers_as_linux() {
            self.forget_reduction();
        }
    }

    fn restart_timing(&mut self, now: Instant, sample: Option<Duration>) {
        self.rtt = RttEstimator::new(&self.profile);
        if self.recovers_as_linux() {
            self.forget_shortest();
        }
        // Segments over the old path do not time the new one.
        self.time_from(now);
        self.recovery.retries = 0;
        if let Some(sample) = sample {
            if self.recovers_as_linux() {
                self.rtt
                    .sample_as_linux(sample, self.unacknowledged, self.next);
            } else {
                let segments = (self.congestion.window() / self.segment_size).max(1);
                self.rtt.sample(sample, segments);
            }
        }
        self.put_off_timer(now);
    }

    /// Restarts the timer. For the same data only once: where handovers follow each other sooner than a timeout lasts it would
    /// never go off.
    fn put_off_timer(&mut self, now: Instant) {
        let Some(running) = self.timers.deadline(Timer::Retransmission) else {
            return;
        };
        let is_timeout = !self.recovers_as_linux() || self.waits_for_timeout();
        self.restart_timer(now);
        let steering = self.steering.get_or_insert_default();
        let again = steering.put_off_for.replace(self.unacknowledged) == Some(self.unacknowledged);
        if is_timeout
            && again
            && let Some(restarted) = self.timers.deadline(Timer::Retransmission)
        {
            let earlier = running.min(restarted);
            self.timers.set(Timer::Retransmission, earlier);
        }
    }

    /// Since when round-trip times are measured; `None` if always.
    pub(super) fn timed_since(&self) -> Option<Instant> {
        self.steering.as_ref()?.timed_since
    }

    /// Returns true if neither data nor timeouts count now.
    pub(super) fn is_frozen(&self) -> bool {
        self.steering
            .as_ref()
            .is_some_and(|steering| steering.frozen_since.is_some())
    }

    /// Returns true if nothing new may be sent.
    pub(super) fn holds_new_data(&self) -> bool {
        let steering = self.steering.as_ref();
        self.is_frozen() || steering.is_some_and(|steering| steering.holds_new_data)
    }

    /// Returns true if a remedy lets so many bytes more into the network.
    pub(super) fn fits_flight(&self, length: u64) -> bool {
        let steering = self.steering.as_ref();
        let Some(flight) = steering.and_then(|steering| steering.flight) else {
            return true;
        };
        let in_the_network = if self.recovers_as_linux() {
            u64::from(self.segments_in_flight()) * u64::from(self.segment_size)
        } else {
            self.in_the_network()
        };
        let elsewhere = flight.beside.saturating_sub(self.unacknowledged);
        in_the_network + length <= u64::from(flight.most) + elsewhere
    }

    /// The timer has gone off. Says whether it is to be ignored; if not, gaps are losses again.
    pub(super) fn ignores_timeout(&mut self) -> bool {
        let Some(steering) = &mut self.steering else {
            return false;
        };
        if steering.frozen_since.is_some() {
            steering.timed_out = true;
            return true;
        }
        steering.tolerates_until = 0;
        false
    }

    /// Returns true if the timeout that is under way leaves the threshold at the window.
    pub(super) fn forgives_timeout(&mut self) -> bool {
        let unacknowledged = self.unacknowledged;
        let steering = self.steering.as_mut();
        steering
            .is_some_and(|steering| core::mem::take(&mut steering.forgives_until) > unacknowledged)
    }

    pub(super) fn tolerates_reordering(&self) -> bool {
        let steering = self.steering.as_ref();
        steering.is_some_and(|steering| steering.tolerates_until > self.unacknowledged)
    }

    /// Returns true if an acknowledgment is due on a remedy's behalf.
    pub(super) fn owes_acknowledgment(&self) -> bool {
        let steering = self.steering.as_ref();
        steering.is_some_and(|steering| !steering.acknowledgments.is_empty())
    }

    /// The next acknowledgment on a remedy's behalf.
    pub(super) fn owed_acknowledgment(&mut self, now: Instant) -> Option<TcpHeader> {
        let offer = self.steering.as_mut()?.acknowledgments.pop_front()?;
        let in_force = core::mem::replace(&mut self.steering.as_mut()?.offer, offer);
        let header = self.bare_acknowledgment(now);
        self.steering.as_mut()?.offer = in_force;
        Some(header)
    }

    /// Lets an acknowledgment through, or the one that was kept instead.
    pub(super) fn let_through(&mut self, acknowledgment: TcpHeader) -> Option<TcpHeader> {
        match &mut self.steering {
            Some(steering) if steering.keeps_last => steering.kept.replace(acknowledgment),
            _ => Some(acknowledgment),
        }
    }

    /// The window field that is offered, of one that could be, scaled by `shift`.
    pub(super) fn limit_offer(&mut self, window: u16, shift: u8) -> u16 {
        let next = self.receive.next();
        let Some(steering) = &mut self.steering else {
            return window;
        };
        let most = steering.offer.map_or(u64::MAX, |offer| {
            let end = next.max(offer.beyond) + u64::from(offer.most);
            if !offer.missing_arrives {
                return end - next;
            }
            let ahead = match next < offer.beyond {
                true => self.receive.held_beyond(offer.beyond),
                false => 0,
            };
            (end + ahead).max(steering.edge) - next
        });
        // Up: a field that is scaled tells multiples, and with less the last segment of what is offered would not fit.
        let field = window.min(u16::try_from(most.div_ceil(1 << shift)).unwrap_or(u16::MAX));
        steering.edge = next + (u64::from(field) << shift);
        field
    }

    /// The notice that the acknowledgment which leaves now carries.
    pub(super) fn next_notice(&mut self) -> Option<HandoverNotice> {
        let steering = self.steering.as_mut()?;
        let notice = steering.notice.as_mut()?;
        let missing = self.receive.missing();
        let segments = missing.div_ceil(u64::from(self.largest_received.max(1)));
        let said = HandoverNotice {
            number: notice.number,
            outstanding: u16::try_from(segments).unwrap_or(u16::MAX),
        };
        notice.left = notice.left.saturating_sub(1);
        if notice.left == 0 && missing == 0 {
            steering.notice = None;
        }
        Some(said)
    }
}
