//! RTT sample of an ACK: `tcp_ack_update_rtt`.

use super::acknowledge::AckNews;
use super::{Common, Flow, LinuxState};
use crate::time::{Duration, Instant};

impl LinuxState {
    /// Takes in a sample for the shortest round-trip time of the last 300 s: `tcp_min_rtt_wlen`.
    pub(super) fn note_shortest(
        &mut self,
        flow: &mut Flow,
        common: &Common,
        now: Instant,
        rtt: Duration,
    ) {
        match common.profile.minimum_rtt_window {
            Some(window) if common.recovers_as_linux() => {
                let (window, at) = (window.as_nanos(), now.as_nanos());
                self.shortest.update(window, at, -(rtt.as_nanos() as f64));
                let nanoseconds = -self.shortest.value() as u64;
                flow.rtt.set_minimum(Duration::from_nanos(nanoseconds));
            }
            _ => flow.rtt.note_minimum(rtt),
        }
    }

    /// Takes the RTT sample of the oldest acknowledged segment that was sent once; otherwise of the oldest SACKed;
    /// otherwise, after retransmissions, from the timestamp echo, which distinguishes them (RFC 7323 section 4.1).
    pub(super) fn sample_round_trip(
        &mut self,
        flow: &mut Flow,
        common: &mut Common,
        news: &mut AckNews,
    ) {
        let now = news.now;
        let since = |(first, last)| (now.saturating_since(first), now.saturating_since(last));
        let sacked = news.sacked_sent.map(since);
        let own = news.acknowledged_sent.filter(|_| !news.repeated).map(since);
        news.latest_rtt = sacked.or(own).map(|(_, last)| last);
        let mut sample = own.or(sacked).map(|(first, _)| first);
        if sample.is_none() && news.acknowledged {
            sample = news.echo.and_then(|echo| common.clock.since(now, echo));
            news.latest_rtt = sample;
        }
        let timed_since = flow.orders.timed_since();
        let counts = |rtt: &Duration| timed_since.is_none_or(|since| since + *rtt <= now);
        news.latest_rtt = news.latest_rtt.filter(counts);
        let Some(sample) = sample.filter(counts) else {
            return;
        };
        if let Some(latest) = news.latest_rtt {
            self.note_shortest(flow, common, now, latest);
        }
        let (unacknowledged, next) = (flow.space.unacknowledged(), flow.space.next());
        flow.rtt.sample_as_linux(sample, unacknowledged, next);
        common.statistics.rtt_samples += 1;
        // A SACK restarts the timer too, but not for a segment sent after the last transmission of the oldest one: a
        // repair would postpone the timer again and again (`tcp_clean_rtx_queue`).
        if let (Some((oldest, _)), Some(first)) = (sacked, flow.space.sent.first()) {
            news.set_timer |= oldest > now.saturating_since(first.sent_at);
        }
    }
}
