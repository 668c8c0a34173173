//! Effects of an acknowledgment, in the order of Linux's `tcp_ack`.

use super::super::congestion::AckSample;
use super::super::sent::SentSegment;
use super::undo::tick;
use super::{Connection, MOST_REORDERING, Phase, Repairs};
use crate::time::{Duration, Instant};
use crate::wire::tcp::TcpHeader;

/// Findings from one acknowledgment so far.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::tcp) struct AckNews {
    pub(super) now: Instant,
    /// "SND.UNA" before it.
    pub(super) prior: u64,
    /// End of the highest segment that was SACKed before it.
    highest: u64,
    pub(super) advanced: bool,
    /// It carries data, moves the window or takes segments off: no duplicate.
    pub(super) not_duplicate: bool,
    /// Whole segments have left the queue.
    pub(super) acknowledged: bool,
    pub(super) sacked: bool,
    /// A duplicate SACK for something that was sent twice; and whether for the probe of a tail.
    pub(super) duplicate_sack: bool,
    pub(super) duplicate_probe: bool,
    /// Something never sent again arrived that was sent before the present phase began.
    pub(super) original: bool,
    /// Something acknowledged was sent more than once.
    pub(super) repeated: bool,
    /// A retransmission was found lost.
    pub(super) lost_retransmission: bool,
    pub(super) set_timer: bool,
    /// Sending times of the first and the last of the segments that were acknowledged without having been sent again;
    /// and the same of those SACKed.
    pub(super) acknowledged_sent: Option<(Instant, Instant)>,
    pub(super) sacked_sent: Option<(Instant, Instant)>,
    /// Sending time of the last of all, copies too.
    pub(super) newest_sent: Option<Instant>,
    /// Lowest position of what arrived late.
    pub(super) reordered_from: Option<u64>,
    pub(super) echo: Option<u32>,
    /// Round-trip time of the last segment that it is about: what congestion controls look at.
    pub(super) latest_rtt: Option<Duration>,
    pub(super) delivered: u32,
}

impl AckNews {
    /// A segment was reported for the first time; `point` is where the present phase began.
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

impl Connection {
    /// An acknowledgment up to `position`, which is not old. `not_duplicate`: it came with data or moved the window.
    pub(in crate::tcp) fn on_linux_acknowledgment(
        &mut self,
        now: Instant,
        header: &TcpHeader,
        position: u64,
        not_duplicate: bool,
    ) {
        let echo = header.options.timestamps.map(|stamps| stamps.echo);
        let mut news = AckNews {
            now,
            prior: self.unacknowledged,
            // From before: what this acknowledgment reports itself was not overtaken by it (`prior_fack`).
            highest: self.sent.highest_sacked(),
            advanced: position > self.unacknowledged,
            not_duplicate,
            echo: echo.filter(|echo| *echo != 0 && self.negotiated.timestamps),
            ..AckNews::default()
        };
        self.linux.repairs = Repairs::None;
        self.linux.heard_at = now;
        self.recovery.retries = 0;
        let flight = self.bytes_in_flight();
        let was_empty = self.sent.is_empty();
        let in_flight = self.segments_in_flight();
        let lost = self.linux.lost;
        self.read_sack(header, position, &mut news);
        self.take_off(position, &mut news);
        self.sample_round_trip(&mut news);
        // `pkts_acked`: a control hears of round trips in recovery, too.
        let delivered = self.linux.delivered * u64::from(self.segment_size);
        self.tell_feedback(now, news.latest_rtt, delivered, flight);
        if was_empty {
            if news.duplicate_sack {
                self.alert(&mut news);
            }
            self.on_probe_answered(now);
            return;
        }
        self.adapt_reordering_window(&news);
        self.on_probe_acknowledged(position, &news);
        let dubious = !(news.not_duplicate || news.acknowledged)
            || news.sacked
            || news.duplicate_sack
            || self.linux.phase != Phase::Open;
        if dubious {
            self.alert(&mut news);
        }
        if news.set_timer {
            self.set_timer_after_progress(now);
        }
        let lost = (self.linux.lost - lost) as u32;
        if self.linux.rate.is_some() {
            self.tell_rate(&news, in_flight, lost);
        } else {
            self.move_window(&news, flight, lost);
        }
        self.offer_tuned_room(news.now);
    }

    /// An acknowledgment below "SND.UNA" that reports segments: the label `old_ack` of `tcp_ack`. No round trip is measured, and
    /// the window stays.
    pub(in crate::tcp) fn on_old_linux_acknowledgment(
        &mut self,
        now: Instant,
        header: &TcpHeader,
        position: u64,
    ) {
        if self.sent.is_empty() {
            return;
        }
        let mut news = AckNews {
            now,
            prior: self.unacknowledged,
            highest: self.sent.highest_sacked(),
            not_duplicate: true,
            ..AckNews::default()
        };
        self.linux.repairs = Repairs::None;
        self.read_sack(header, position, &mut news);
        self.linux.delivered += u64::from(news.delivered);
        self.alert(&mut news);
    }

    /// The scoreboard: `tcp_sacktag_write_queue`.
    fn read_sack(&mut self, header: &TcpHeader, position: u64, news: &mut AckNews) {
        let option = header.options.sack.as_slice();
        if !self.negotiated.sack || option.is_empty() {
            return;
        }
        let mut blocks = [(0, 0); 4];
        let mut count = 0;
        self.read_duplicate_sack(option, position, news);
        for &(first, after_last) in option {
            let (start, end) = (self.send_position(first), self.send_position(after_last));
            // What is acknowledged besides leaves as acknowledged: a duplicate, of which nothing else is said.
            let open = start >= news.prior as i64 && end > position as i64;
            if open && start < end && end <= self.next as i64 {
                blocks[count] = (start as u64, end as u64);
                count += 1;
            }
        }
        // In the order of their positions: RACK takes the round-trip time of the last.
        blocks[..count].sort_unstable();
        let delivered = news.delivered;
        let (point, minimum) = (self.linux.point, self.rtt.minimum());
        let (rack, rate) = (&mut self.linux.rack, &mut self.linux.rate);
        self.sent.mark_sacked(&blocks[..count], |segment| {
            news.note(segment, point, true);
            if let Some(rate) = rate {
                rate.on_delivered(segment);
            }
            rack.advance(segment, news.now, minimum);
        });
        news.sacked = news.delivered > delivered;
        if let Some(from) = news.reordered_from.take()
            && (self.linux.phase != Phase::Loss || self.linux.undo.marker.is_some())
        {
            self.note_reordering(from);
        }
    }

    /// `tcp_clean_rtx_queue`.
    fn take_off(&mut self, position: u64, news: &mut AckNews) {
        let sack = self.negotiated.sack;
        let (point, minimum) = (self.linux.point, self.rtt.minimum());
        let delivered = news.delivered;
        // A copy whose original the echo tells arrived (`tcp_skb_spurious_retrans`). Of what comes beyond a gap the echo
        // says nothing (RFC 7323 section 4.3).
        let echoed = self.echoed_tick(news.echo, news.now);
        let is_original = |segment: &SentSegment| {
            segment.retransmitted && echoed.is_some_and(|echoed| echoed < tick(segment.sent_at))
        };
        let (rack, rate) = (&mut self.linux.rack, &mut self.linux.rate);
        let gone = self.sent.acknowledge(position, |segment| {
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
        if position > self.unacknowledged {
            self.unacknowledged = position;
            self.release_acknowledged();
            self.recovery.timeouts_in_row = 0;
        }
        if !sack {
            news.delivered = delivered;
            self.take_off_duplicates(gone.segments, news);
        } else if let Some(from) = news.reordered_from {
            self.note_reordering(from);
        }
        self.linux.delivered += u64::from(news.delivered);
        news.set_timer = news.acknowledged;
    }

    /// `tcp_remove_reno_sacks`: of what is acknowledged, all but one segment was announced by duplicates.
    fn take_off_duplicates(&mut self, segments: u32, news: &mut AckNews) {
        if segments > 0 {
            let duplicates = self.linux.duplicates;
            news.delivered += segments.saturating_sub(duplicates).max(1);
            self.linux.duplicates = duplicates.saturating_sub(segments - 1);
            self.limit_duplicates(segments);
        }
        // Nothing shows that the original arrived, and not the copy.
        news.original &= !news.repeated;
    }

    /// `tcp_check_reno_reordering`: there cannot be more duplicates than segments that are not lost.
    fn limit_duplicates(&mut self, added: u32) {
        let out = self.sent.len() as u32;
        let holes = self.sent.counts().lost.max(1).min(out);
        if self.linux.duplicates + holes > out {
            self.linux.duplicates = out - holes;
            self.linux.reordering = (out + added).min(MOST_REORDERING);
            self.linux.reordering_seen = true;
        }
    }

    /// `tcp_add_reno_sack`.
    pub(super) fn add_duplicate(&mut self, news: &mut AckNews) {
        let before = self.linux.duplicates;
        self.statistics.duplicate_acks_received += 1;
        self.linux.duplicates += 1;
        self.limit_duplicates(0);
        let delivered = self.linux.duplicates.saturating_sub(before);
        news.delivered += delivered;
        self.linux.delivered += u64::from(delivered);
    }

    /// `tcp_check_sack_reordering`: what lay below the highest SACKed segment was not lost.
    pub(super) fn note_reordering(&mut self, from: u64) {
        let Some(distance) = self.sent.highest_sacked().checked_sub(from) else {
            return;
        };
        let segments = distance.div_ceil(u64::from(self.segment_size));
        if segments > u64::from(self.linux.reordering) {
            self.linux.reordering = segments.min(u64::from(MOST_REORDERING)) as u32;
        }
        self.linux.reordering_seen |= distance > 0;
    }

    /// `tcp_cong_control`.
    fn move_window(&mut self, news: &AckNews, flight: u32, lost: u32) {
        if self.is_reducing() {
            return self.reduce_window(news.delivered, lost, news.advanced);
        }
        // `tcp_may_raise_cwnd`.
        let reorders = self.linux.reordering > super::INITIAL_REORDERING;
        if !(news.acknowledged || reorders && news.sacked) {
            return;
        }
        let window_limited = self.is_window_limited();
        self.congestion.on_acknowledged(&AckSample {
            now: news.now,
            acknowledged_bytes: news.delivered.saturating_mul(self.segment_size),
            rtt: news.latest_rtt,
            smoothed_rtt: self.rtt.smoothed(),
            minimum_rtt: self.rtt.minimum(),
            bytes_in_flight: flight,
            window_limited,
        });
    }
}
