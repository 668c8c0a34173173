//! Order of arrivals: the extent of reordering, and without SACK the duplicate ACKs that stand for arrivals.

use super::super::sent::SentQueue;

/// Duplicates that indicate a loss before any reordering was seen: `tcp_reordering`.
pub(super) const INITIAL_REORDERING: u32 = 3;
/// Highest value of that under reordering: `tcp_max_reordering`.
const MOST_REORDERING: u32 = 300;

/// Reordering and duplicates. Duplicates never exceed the segments in flight that are not lost.
#[derive(Clone, Copy, Debug)]
pub(super) struct ArrivalOrder {
    /// Segments that may overtake one that is not lost.
    reordering: u32,
    seen: bool,
    /// Without SACK: duplicate ACKs, each of which stands for an arrived segment.
    duplicates: u32,
}

impl Default for ArrivalOrder {
    fn default() -> ArrivalOrder {
        ArrivalOrder {
            reordering: INITIAL_REORDERING,
            seen: false,
            duplicates: 0,
        }
    }
}

impl ArrivalOrder {
    pub(super) fn reordering(&self) -> u32 {
        self.reordering
    }

    /// Returns true if reordering was seen.
    pub(super) fn was_reordered(&self) -> bool {
        self.seen
    }

    pub(super) fn duplicates(&self) -> u32 {
        self.duplicates
    }

    /// Returns the number of segments in flight: those sent, without the delivered and lost ones, plus retransmissions
    /// (`tcp_packets_in_flight`).
    pub(super) fn in_flight(&self, sent: &SentQueue) -> u32 {
        let counts = sent.counts();
        let gone = counts.sacked + self.duplicates + counts.lost;
        (sent.len() as u32 + counts.resent).saturating_sub(gone)
    }

    /// Notes reordering: data below the highest SACKed segment arrived late, and was not lost
    /// (`tcp_check_sack_reordering`).
    pub(super) fn note_late(&mut self, from: u64, sent: &SentQueue, segment_size: u32) {
        let Some(distance) = sent.highest_sacked().checked_sub(from) else {
            return;
        };
        let segments = distance.div_ceil(u64::from(segment_size));
        if segments > u64::from(self.reordering) {
            self.reordering = segments.min(u64::from(MOST_REORDERING)) as u32;
        }
        self.seen |= distance > 0;
    }

    /// Lowers the reordering degree after a timeout.
    pub(super) fn lower(&mut self) {
        self.reordering = self.reordering.min(INITIAL_REORDERING);
    }

    pub(super) fn forget_duplicates(&mut self) {
        self.duplicates = 0;
    }

    /// Counts a duplicate ACK; returns the segments that it stands for (`tcp_add_reno_sack`).
    pub(super) fn add_duplicate(&mut self, sent: &SentQueue) -> u32 {
        let before = self.duplicates;
        self.duplicates += 1;
        self.limit_duplicates(sent, 0);
        self.duplicates.saturating_sub(before)
    }

    /// Removes duplicates for acknowledged segments, of which duplicates had announced all but one. Returns the
    /// segments newly delivered (`tcp_remove_reno_sacks`).
    pub(super) fn take_off_duplicates(&mut self, sent: &SentQueue, segments: u32) -> u32 {
        if segments == 0 {
            return 0;
        }
        let news = segments.saturating_sub(self.duplicates).max(1);
        self.duplicates = self.duplicates.saturating_sub(segments - 1);
        self.limit_duplicates(sent, segments);
        news
    }

    /// Limits the duplicates to the segments that are not lost (`tcp_check_reno_reordering`).
    fn limit_duplicates(&mut self, sent: &SentQueue, added: u32) {
        let out = sent.len() as u32;
        let holes = sent.counts().lost.max(1).min(out);
        if self.duplicates + holes > out {
            self.duplicates = out - holes;
            self.reordering = (out + added).min(MOST_REORDERING);
            self.seen = true;
        }
    }
}
