//! Round-trip time that an acknowledgment measures: `tcp_ack_update_rtt`.

use super::Connection;
use super::acknowledge::AckNews;
use crate::time::{Duration, Instant};

impl Connection {
    /// The shortest round-trip time of the last 300 s: `tcp_min_rtt_wlen`.
    pub(super) fn note_shortest(&mut self, now: Instant, rtt: Duration) {
        match self.profile.minimum_rtt_window {
            Some(window) if self.recovers_as_linux() => {
                let (window, at) = (window.as_nanos(), now.as_nanos());
                let shortest = &mut self.linux.shortest;
                shortest.update(window, at, -(rtt.as_nanos() as f64));
                let nanoseconds = -shortest.value() as u64;
                self.rtt.set_minimum(Duration::from_nanos(nanoseconds));
            }
            _ => self.rtt.note_minimum(rtt),
        }
    }

    /// From the oldest segment acknowledged that was sent once; else from the oldest SACKed; else, where something
    /// was sent again, from the echo of the timestamp, which tells the copies apart (RFC 7323 section 4.1).
    pub(super) fn sample_round_trip(&mut self, news: &mut AckNews) {
        let now = news.now;
        let since = |(first, last)| (now.saturating_since(first), now.saturating_since(last));
        let sacked = news.sacked_sent.map(since);
        let own = news.acknowledged_sent.filter(|_| !news.repeated).map(since);
        news.latest_rtt = sacked.or(own).map(|(_, last)| last);
        let mut sample = own.or(sacked).map(|(first, _)| first);
        if sample.is_none() && news.acknowledged {
            sample = news.echo.and_then(|echo| self.since_timestamp(now, echo));
            news.latest_rtt = sample;
        }
        let timed_since = self.timed_since();
        let counts = |rtt: &Duration| timed_since.is_none_or(|since| since + *rtt <= now);
        news.latest_rtt = news.latest_rtt.filter(counts);
        let Some(sample) = sample.filter(counts) else {
            return;
        };
        if let Some(latest) = news.latest_rtt {
            self.note_shortest(now, latest);
        }
        self.rtt
            .sample_as_linux(sample, self.unacknowledged, self.next);
        self.statistics.rtt_samples += 1;
        // A SACK moves the timer too, but not if it is about something sent after the oldest segment was last sent: in a
        // repair the timer would be put off again and again (`tcp_clean_rtx_queue`).
        if let (Some((oldest, _)), Some(first)) = (sacked, self.sent.first()) {
            news.set_timer |= oldest > now.saturating_since(first.sent_at);
        }
    }
}
