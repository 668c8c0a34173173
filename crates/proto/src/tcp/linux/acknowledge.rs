//! Effects of an ACK, in the order of Linux's `tcp_ack`.

use super::super::congestion::AckSample;
use super::super::sent::SentSegment;
use super::super::space::SendSpace;
use super::order::INITIAL_REORDERING;
use super::persist::on_probe_answered;
use super::send_buffer::tunes;
use super::undo::{echoed_tick, tick};
use super::{Common, Flow, LinuxState, Phase, Repairs};
use crate::time::{Duration, Instant};
use crate::wire::tcp::TcpHeader;

/// Findings from one ACK so far.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::tcp) struct AckNews {
    pub(super) now: Instant,
    /// Position of the acknowledgment number.
    pub(super) position: u64,
    /// "SND.UNA" before the ACK.
    pub(super) prior: u64,
    /// End of the highest segment SACKed before the ACK.
    highest: u64,
    pub(super) advanced: bool,
    /// True if the ACK carries data, moves the window or acknowledges segments, and is no duplicate.
    pub(super) not_duplicate: bool,
    /// True if whole segments have left the queue.
    pub(super) acknowledged: bool,
    pub(super) sacked: bool,
    /// True if the ACK has a duplicate SACK for retransmitted data, and true if for a tail loss probe.
    pub(super) duplicate_sack: bool,
    pub(super) duplicate_probe: bool,
    /// True if a segment that was never retransmitted arrived, sent before the present phase began.
    pub(super) original: bool,
    /// True if a retransmitted segment was acknowledged.
    pub(super) repeated: bool,
    /// True if a retransmission was found lost.
    pub(super) lost_retransmission: bool,
    pub(super) set_timer: bool,
    /// Sending times of the first and the last segment acknowledged without retransmission; then the same of those
    /// SACKed.
    pub(super) acknowledged_sent: Option<(Instant, Instant)>,
    pub(super) sacked_sent: Option<(Instant, Instant)>,
    /// Sending time of the newest segment delivered, retransmissions included.
    pub(super) newest_sent: Option<Instant>,
    /// Lowest position of reordered data.
    pub(super) reordered_from: Option<u64>,
    pub(super) echo: Option<u32>,
    /// Round-trip time of the newest segment delivered, for congestion controls.
    pub(super) latest_rtt: Option<Duration>,
    pub(super) delivered: u32,
}

impl AckNews {
    /// Creates the findings for an ACK up to `position`. `not_duplicate`: it carries data or moves the window.
    pub(in crate::tcp) fn new(
        space: &SendSpace,
        now: Instant,
        position: u64,
        not_duplicate: bool,
    ) -> AckNews {
        AckNews {
            now,
            position,
            prior: space.unacknowledged(),
            // From before this ACK, so that its own blocks do not count as reordering (`prior_fack`).
            highest: space.sent.highest_sacked(),
            advanced: position > space.unacknowledged(),
            not_duplicate,
            ..AckNews::default()
        }
    }

    /// Returns true for a duplicate ACK as Linux defines it: without news, and without a duplicate SACK.
    pub(super) fn is_duplicate(&self) -> bool {
        !(self.advanced || self.not_duplicate || self.acknowledged || self.duplicate_sack)
    }

    /// Returns true if the ACK may indicate a loss, or the end of one.
    fn is_dubious(&self) -> bool {
        !(self.not_duplicate || self.acknowledged) || self.sacked || self.duplicate_sack
    }

    /// Notes a segment delivered for the first time; `point` is the start of the present phase.
    fn note(&mut self, segment: &SentSegment, point: u64, sacked: bool) {
        self.delivered += 1;
        self.newest_sent = self.newest_sent.max(Some(segment.sent_at));
        if segment.retransmitted {
            return;
        }
        let sent = segment.sent_at;
        let times = if sacked {
            &mut self.sacked_sent
        } else {
            &mut self.acknowledged_sent
        };
        *times = Some((times.map_or(sent, |(first, _)| first), sent));
        if segment.start < self.highest {
            let lowest = self.reordered_from.unwrap_or(u64::MAX);
            self.reordered_from = Some(lowest.min(segment.start));
        }
        self.original |= segment.end() <= point;
    }
}

impl LinuxState {
    /// Takes in an ACK up to `position` that is not old. `not_duplicate`: it carries data or moves the window.
    pub(in crate::tcp) fn on_acknowledgment(
        &mut self,
        flow: &mut Flow,
        common: &mut Common,
        now: Instant,
        header: &TcpHeader,
        position: u64,
        not_duplicate: bool,
    ) {
        self.repairs = Repairs::None;
        self.heard_at = now;
        flow.patience.forgive();
        let advanced = position > flow.space.unacknowledged();
        if !advanced && flow.space.sent.is_empty() && header.options.sack.is_empty() {
            // Says nothing, as in every segment to an end that only receives.
            let delivered = self.delivered * u64::from(flow.space.segment_size());
            flow.tell_feedback(now, None, delivered, flow.in_flight());
            if flow.space.has_unsent() {
                on_probe_answered(flow, common, now);
            }
            return;
        }
        let mut news = AckNews::new(&flow.space, now, position, not_duplicate);
        let echo = header.options.timestamps.map(|stamps| stamps.echo);
        news.echo = echo.filter(|echo| *echo != 0 && common.negotiated.timestamps);
        let flight = flow.in_flight();
        let was_empty = flow.space.sent.is_empty();
        let in_flight = self.in_flight(flow);
        let lost = self.lost;
        self.read_sack(flow, common, header, &mut news);
        self.take_off(flow, common, &mut news);
        self.sample_round_trip(flow, common, &mut news);
        // `pkts_acked`: a control receives RTT samples in recovery, too.
        let delivered = self.delivered * u64::from(flow.space.segment_size());
        flow.tell_feedback(now, news.latest_rtt, delivered, flight);
        if was_empty {
            if news.duplicate_sack {
                self.alert(flow, common, &mut news);
            }
            if flow.space.has_unsent() {
                on_probe_answered(flow, common, now);
            }
            return;
        }
        if let Some(newest) = news.newest_sent {
            self.rack.adapt_window(newest, now);
        }
        self.on_probe_acknowledged(flow, common, &news);
        if news.is_dubious() || self.phase != Phase::Open {
            self.alert(flow, common, &mut news);
        }
        if news.set_timer {
            self.set_timer_after_progress(flow, common, now);
        }
        let lost = (self.lost - lost) as u32;
        if self.rate.is_some() {
            self.tell_rate(flow, &news, in_flight, lost);
        } else {
            self.move_window(flow, common, &news, flight, lost);
        }
        self.offer_tuned_room(flow, common, now);
    }

    /// Takes in an ACK below "SND.UNA" with SACK blocks: the label `old_ack` of `tcp_ack`. It gives no RTT sample, and
    /// does not move the window.
    pub(in crate::tcp) fn on_old_acknowledgment(
        &mut self,
        flow: &mut Flow,
        common: &mut Common,
        header: &TcpHeader,
        mut news: AckNews,
    ) {
        if flow.space.sent.is_empty() {
            return;
        }
        self.repairs = Repairs::None;
        self.read_sack(flow, common, header, &mut news);
        self.delivered += u64::from(news.delivered);
        self.alert(flow, common, &mut news);
    }

    /// Updates the scoreboard: `tcp_sacktag_write_queue`.
    fn read_sack(
        &mut self,
        flow: &mut Flow,
        common: &Common,
        header: &TcpHeader,
        news: &mut AckNews,
    ) {
        let option = header.options.sack.as_slice();
        if !common.negotiated.sack || option.is_empty() {
            return;
        }
        let mut blocks = [(0, 0); 4];
        let mut count = 0;
        self.read_duplicate_sack(flow, common, option, news);
        let space = &mut flow.space;
        for &(first, after_last) in option {
            let (start, end) = (space.position(first), space.position(after_last));
            // Data both SACKed and acknowledged counts as acknowledged only.
            let open = start >= news.prior as i64 && end > news.position as i64;
            if open && start < end && end <= space.next() as i64 {
                blocks[count] = (start as u64, end as u64);
                count += 1;
            }
        }
        // In the order of their positions: RACK takes the RTT sample of the last.
        blocks[..count].sort_unstable();
        let delivered = news.delivered;
        let (point, minimum) = (self.point, flow.rtt.minimum());
        let (rack, rate) = (&mut self.rack, &mut self.rate);
        space.sent.mark_sacked(&blocks[..count], |segment| {
            news.note(segment, point, true);
            if let Some(rate) = rate {
                rate.on_delivered(segment);
            }
            rack.advance(segment, news.now, minimum);
        });
        news.sacked = news.delivered > delivered;
        if let Some(from) = news.reordered_from.take()
            && (self.phase != Phase::Loss || self.undo.is_possible())
        {
            self.note_late(flow, from);
        }
    }

    /// Removes acknowledged segments from the queue: `tcp_clean_rtx_queue`.
    fn take_off(&mut self, flow: &mut Flow, common: &mut Common, news: &mut AckNews) {
        let sack = common.negotiated.sack;
        let (point, minimum) = (self.point, flow.rtt.minimum());
        let delivered = news.delivered;
        // A retransmission whose original arrived, by the echoed timestamp (`tcp_skb_spurious_retrans`). Beyond a gap
        // the echo gives no information (RFC 7323 section 4.3).
        let echoed = echoed_tick(common, news.echo, news.now);
        let is_original = |segment: &SentSegment| {
            segment.retransmitted && echoed.is_some_and(|echoed| echoed < tick(segment.sent_at))
        };
        let (rack, rate) = (&mut self.rack, &mut self.rate);
        let gone = flow.space.acknowledge(news.position, |segment| {
            news.note(segment, point, false);
            if let Some(rate) = rate {
                rate.on_delivered(segment);
            }
            if sack && !is_original(segment) {
                rack.advance(segment, news.now, minimum);
            }
        });
        news.acknowledged = gone.segments > 0;
        news.repeated = gone.repeated;
        if news.advanced {
            if !tunes(&common.profile) {
                flow.offer_room(common);
            }
            flow.patience.on_progress();
        }
        if !sack {
            let sent = &flow.space.sent;
            news.delivered = delivered + self.order.take_off_duplicates(sent, gone.segments);
            // It is unknown whether the original or the retransmission arrived.
            news.original &= !news.repeated;
        } else if let Some(from) = news.reordered_from {
            self.note_late(flow, from);
        }
        self.delivered += u64::from(news.delivered);
        news.set_timer = news.acknowledged;
    }

    /// Counts a duplicate ACK as the arrival of a segment.
    pub(super) fn add_duplicate(&mut self, flow: &Flow, common: &mut Common, news: &mut AckNews) {
        common.statistics.duplicate_acks_received += 1;
        let delivered = self.order.add_duplicate(&flow.space.sent);
        news.delivered += delivered;
        self.delivered += u64::from(delivered);
    }

    /// Notes late arrival of the data from `from` on.
    pub(super) fn note_late(&mut self, flow: &Flow, from: u64) {
        let space = &flow.space;
        self.order
            .note_late(from, &space.sent, space.segment_size());
    }

    /// Moves the window: `tcp_cong_control`.
    fn move_window(
        &mut self,
        flow: &mut Flow,
        common: &Common,
        news: &AckNews,
        flight: u32,
        lost: u32,
    ) {
        if self.phase.is_reducing() {
            return self.reduce_window(flow, common, news.delivered, lost, news.advanced);
        }
        // `tcp_may_raise_cwnd`.
        let reorders = self.order.reordering() > INITIAL_REORDERING;
        if !(news.acknowledged || reorders && news.sacked) {
            return;
        }
        let window_limited = self.is_window_limited(flow);
        flow.congestion.on_acknowledged(&AckSample {
            now: news.now,
            acknowledged_bytes: news.delivered.saturating_mul(flow.space.segment_size()),
            rtt: news.latest_rtt,
            smoothed_rtt: flow.rtt.smoothed(),
            minimum_rtt: flow.rtt.minimum(),
            bytes_in_flight: flight,
            window_limited,
        });
    }
}
