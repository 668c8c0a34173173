//! Use of the congestion window, to tell whether it limits the sender: `tcp_cwnd_validate`.

use crate::time::Instant;

/// Segments in flight, compared with the window.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WindowUsage {
    limited: bool,
    /// Most segments in flight during this window.
    most_out: u32,
    /// Position whose ACK ends this window.
    until: u64,
    /// True if segments have left since the sender last stopped.
    sent: bool,
    /// Most segments in flight since the window was last full, and the time when it was.
    used: u32,
    full_at: Instant,
}

impl WindowUsage {
    pub(super) fn note_sent(&mut self) {
        self.sent = true;
    }

    /// Returns true if segments have left since the sender last stopped.
    pub(super) fn has_sent(&self) -> bool {
        self.sent
    }

    /// Returns true if segments have left since the last call.
    pub(super) fn take_sent(&mut self) -> bool {
        core::mem::take(&mut self.sent)
    }

    /// Notes so many segments in flight, in a window that was the limit if `limited`. `outstanding` are "SND.UNA" and
    /// "SND.NXT".
    pub(super) fn observe(&mut self, limited: bool, out: u32, outstanding: (u64, u64)) {
        let (unacknowledged, next) = outstanding;
        let over = unacknowledged >= self.until;
        if over || limited || !self.limited && out > self.most_out {
            self.limited = limited;
            self.most_out = out;
            self.until = next;
        }
    }

    /// Returns true if the window was the limit.
    pub(super) fn was_limited(&self) -> bool {
        self.limited
    }

    /// Returns the most segments in flight during this window.
    pub(super) fn most_out(&self) -> u32 {
        self.most_out
    }

    pub(super) fn note_used(&mut self, out: u32) {
        self.used = self.used.max(out);
    }

    /// Returns the most segments in flight since the window was last full.
    pub(super) fn used(&self) -> u32 {
        self.used
    }

    /// Returns the time at which the window was last full, or was cut to its used part.
    pub(super) fn full_at(&self) -> Instant {
        self.full_at
    }

    /// Restarts the count, for a full or a changed window.
    pub(super) fn restart(&mut self, now: Instant) {
        self.used = 0;
        self.full_at = now;
    }
}
