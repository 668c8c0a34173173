//! The sending half: data, and its recovery by the profile's rules, the RFCs' or Linux's.

use super::congestion;
use super::ends::Ends;
use super::flow::Flow;
use super::linux::{AckNews, LinuxState};
use super::output::Stretch;
use super::profile::Profile;
use super::recovery::{AckContext, RecoveryState};
use super::scps::Bucket;
use super::sent::SegmentCounts;
use super::timer::Timer;
use super::{Common, Event, RecoveryPhase};
use crate::time::{Duration, Instant};
use crate::wire::sequence::SequenceNumber;
use crate::wire::tcp::TcpHeader;

/// Data to send, its loss recovery, and the rate limit. Only the recovery of the profile receives events.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Sender {
    pub(super) flow: Flow,
    pub(super) recovery: RecoveryState,
    pub(super) linux: Box<LinuxState>,
    bucket: Bucket,
}

/// Fields of a received segment for the sending half, beside its options.
#[derive(Clone, Copy, Debug)]
pub(super) struct Acknowledgment {
    /// Position of the segment, and its length in sequence space.
    pub(super) start: i64,
    pub(super) length: u32,
    /// Position of the acknowledgment number.
    pub(super) position: u64,
    /// Offered window.
    pub(super) window: u64,
}

impl Sender {
    pub(super) fn new(profile: &Profile, now: Instant, initial: SequenceNumber) -> Sender {
        Sender {
            flow: Flow::new(profile, initial),
            recovery: RecoveryState::default(),
            linux: Box::default(),
            bucket: Bucket::new(now),
        }
    }

    /// Returns the congestion window in bytes, including its inflation by duplicate ACKs during fast recovery.
    pub(super) fn congestion_window(&self) -> u32 {
        let inflation = self.recovery.inflation();
        self.flow.congestion.window().saturating_add(inflation)
    }

    pub(super) fn recovery_phase(&self, common: &Common) -> RecoveryPhase {
        match common.recovers_as_linux() {
            true => self.linux.phase(),
            false => self.recovery.phase(),
        }
    }

    /// Counts the segments in flight that are SACKed, lost or retransmitted. Linux without SACK counts a duplicate ACK
    /// as a SACKed segment.
    pub(super) fn segment_counts(&self) -> SegmentCounts {
        let mut counts = self.flow.space.sent.counts();
        counts.sacked += self.linux.duplicates();
        counts
    }

    /// Starts sending at the end of the handshake.
    pub(super) fn start(&mut self, common: &mut Common, now: Instant) {
        self.linux.start(&mut self.flow, common, now);
        self.flow.offer_room(common);
    }

    /// Returns true if there is nothing to send, as at an end that only receives, and nothing to do about that.
    // Asked at every poll: the compiler does not inline it by itself.
    #[inline(always)]
    pub(super) fn rests(&self, common: &Common, now: Instant) -> bool {
        self.flow.space.sent.is_empty()
            && common.recovers_as_linux()
            && !self.bucket.is_empty(now)
            && self.linux.rests(&self.flow)
    }

    /// Returns the next data to send or retransmit.
    pub(super) fn next_data(
        &mut self,
        common: &mut Common,
        now: Instant,
        ends: &Ends,
    ) -> Option<Stretch> {
        if self.bucket.holds(common, now) {
            return None;
        }
        let flow = &mut self.flow;
        let stretch = if common.recovers_as_linux() {
            self.linux.next_data(flow, common, now)
        } else {
            self.recovery.next_data(flow, common, now)
        }?;
        self.bucket.spend(common, ends, now, stretch.length);
        Some(stretch)
    }

    /// Restarts congestion control with another gateway's window and threshold, in bytes.
    pub(super) fn resume(&mut self, common: &Common, window: u32, threshold: u32) {
        let flow = &mut self.flow;
        let size = flow.space.segment_size();
        flow.congestion = congestion::new(&common.profile, size, window);
        flow.congestion.set(window, threshold);
    }

    /// Repairs losses found by another gateway.
    pub(super) fn resume_repair(&mut self, common: &Common) {
        if self.flow.space.sent.counts().lost == 0 {
            return;
        }
        if common.recovers_as_linux() {
            self.linux.repair_without_reduction(&self.flow);
        } else {
            self.recovery.repair_after_timeout(&self.flow);
        }
    }

    /// Takes new data as sent at `sent_at`, now or earlier.
    pub(super) fn take_as_sent(
        &mut self,
        common: &mut Common,
        now: Instant,
        length: u32,
        sent_at: Instant,
    ) {
        let flow = &mut self.flow;
        if common.recovers_as_linux() {
            self.linux.send_new(flow, common, now, length, sent_at);
        } else {
            self.recovery.send_new(flow, common, now, length, sent_at);
        }
    }

    /// Takes in an expiry of the retransmission timer. Returns the event that ends the connection, if the peer was
    /// silent for too long.
    pub(super) fn on_retransmission_timeout(
        &mut self,
        common: &mut Common,
        now: Instant,
    ) -> Option<Event> {
        let flow = &mut self.flow;
        if flow.orders.ignores_timeout() || flow.space.sent.is_empty() {
            return None;
        }
        if common.recovers_as_linux() {
            self.linux.on_timer(flow, common, now)
        } else {
            self.recovery.on_timeout(flow, common, now)
        }
    }

    /// Takes in an expiry of the persist timer: a window probe is due. Returns the event that ends the connection, as
    /// above.
    pub(super) fn on_persist_timeout(
        &mut self,
        common: &mut Common,
        now: Instant,
    ) -> Option<Event> {
        let flow = &mut self.flow;
        if common.recovers_as_linux() {
            return self.linux.on_persist_timeout(flow, common, now);
        }
        flow.patience.double_persist();
        flow.patience.ask_for_probe();
        None
    }

    /// Prepares for a write.
    pub(super) fn before_write(&mut self) {
        self.flow.room.fit(&mut self.flow.space);
        self.linux.before_write(&self.flow);
    }

    /// Ensures that a timer runs while data is in flight.
    pub(super) fn ensure_timer(&mut self, common: &mut Common, now: Instant) {
        if !self.flow.space.sent.is_empty() && !common.timers.is_set(Timer::Retransmission) {
            self.restart_timer(common, now);
        }
    }

    pub(super) fn restart_timer(&mut self, common: &mut Common, now: Instant) {
        if self.flow.space.sent.is_empty() {
            return;
        }
        if common.recovers_as_linux() {
            self.linux.rearm_timeout(&self.flow, common, now);
        } else {
            let rto = self.flow.rtt.rto();
            common.timers.set_after(Timer::Retransmission, now, rto);
        }
    }

    /// Returns the time left of the timeout, or of the timeout that another timer has replaced.
    pub(super) fn timeout_left(&self, common: &Common, now: Instant) -> Option<Duration> {
        self.linux.timeout_left(&self.flow, common, now)
    }

    /// Reduces the segment size to that of the path: longer segments are retransmitted, and the congestion window stays
    /// (RFC 1191 section 6.4).
    pub(super) fn shorten_segments(&mut self, common: &Common, size: u32) {
        let flow = &mut self.flow;
        flow.space.set_segment_size(size);
        flow.congestion.on_segment_size(size);
        flow.space.sent.mark_longer_lost(size);
        if common.recovers_as_linux() {
            self.linux.repair_without_reduction(flow);
        }
    }

    /// Takes in an ACK that is not old, with its window.
    pub(super) fn take_acknowledgment(
        &mut self,
        common: &mut Common,
        now: Instant,
        header: &TcpHeader,
        told: &Acknowledgment,
    ) {
        let space = &self.flow.space;
        let (before, newer) = (space.window(), told.start > space.window_update().0);
        self.take_window(common, now, told, before);
        let flow = &mut self.flow;
        let window = flow.space.window();
        if common.recovers_as_linux() {
            let window_moved = newer || window > before || window == 0;
            let not_duplicate = told.length > 0 || window_moved;
            let position = told.position;
            return self.linux.on_acknowledgment(
                flow,
                common,
                now,
                header,
                position,
                not_duplicate,
            );
        }
        // The peer is alive, though its window may stay closed as long as it likes (RFC 9293 section 3.8.6.1).
        if window == 0 {
            flow.patience.on_answer();
        }
        let timestamps = header.options.timestamps;
        let context = AckContext {
            newly_sacked: self.take_sack(common, header),
            could_be_duplicate: told.length == 0 && window == before,
            echo: timestamps
                .filter(|_| common.negotiated.timestamps)
                .map(|timestamps| timestamps.echo),
        };
        let flow = &mut self.flow;
        self.recovery
            .on_acknowledgment(flow, common, now, told.position, context);
        if let Some(snack) = header.options.sack.snack() {
            self.recovery
                .take_snack(flow, common, now, told.position, snack);
        }
    }

    /// Takes in the SACK blocks of an old ACK, overtaken by a higher one, as Linux does.
    pub(super) fn take_sack_of_old(
        &mut self,
        common: &mut Common,
        now: Instant,
        header: &TcpHeader,
        position: i64,
    ) {
        let says = !header.options.sack.as_slice().is_empty() && common.negotiated.sack;
        if let Ok(position) = u64::try_from(position)
            && common.recovers_as_linux()
            && says
        {
            let flow = &mut self.flow;
            let news = AckNews::new(&flow.space, now, position, true);
            self.linux.on_old_acknowledgment(flow, common, header, news);
        }
    }

    fn take_sack(&mut self, common: &Common, header: &TcpHeader) -> u64 {
        let option = header.options.sack.as_slice();
        if !common.negotiated.sack || option.is_empty() {
            return 0;
        }
        let space = &mut self.flow.space;
        let (oldest, next) = (space.unacknowledged() as i64, space.next() as i64);
        let mut blocks = [(0, 0); 4];
        let mut count = 0;
        for &(first, after_last) in option {
            let (start, end) = (space.position(first), space.position(after_last));
            if start >= oldest && start < end && end <= next {
                blocks[count] = (start as u64, end as u64);
                count += 1;
            }
        }
        space.sent.mark_sacked(&blocks[..count], |_| {})
    }

    /// Takes in the peer's window, which was `before` until now.
    fn take_window(
        &mut self,
        common: &mut Common,
        now: Instant,
        told: &Acknowledgment,
        before: u64,
    ) {
        let flow = &mut self.flow;
        let probing = !common.recovers_as_linux() && flow.space.first_is_probe();
        let taken = flow
            .space
            .update_window(told.start, told.position, told.window);
        if !taken || told.window == before {
            return;
        }
        if common.recovers_as_linux() {
            return self.linux.on_window_changed(flow, common, now);
        }
        if told.window < before {
            return;
        }
        common.timers.stop(Timer::Persist);
        flow.patience.reset_persist();
        if probing && told.position == flow.space.unacknowledged() {
            // The window has opened, and the probe was not accepted: retransmit it with the rest.
            flow.space.sent.mark_first_lost();
            self.recovery.force();
            let rto = flow.rtt.rto();
            common.timers.set_after(Timer::Retransmission, now, rto);
        }
    }
}
