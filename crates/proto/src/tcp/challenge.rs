//! The rate limit of challenge acknowledgments (RFC 5961 section 7).

use super::Common;
use crate::time::{Duration, Instant};

/// RFC 5961 section 7: at most 10 challenge ACKs in 5 seconds.
const MOST_CHALLENGES: u32 = 10;
const CHALLENGE_PERIOD: Duration = Duration::from_secs(5);
/// Linux's interval between two challenge ACKs: `tcp_invalid_ratelimit`.
const LINUX_CHALLENGE_PERIOD: Duration = Duration::from_millis(500);

/// Start of the current period, and the number of challenges in it.
#[derive(Clone, Copy, Debug)]
pub(super) struct ChallengeLimit {
    since: Instant,
    count: u32,
}

impl ChallengeLimit {
    pub(super) fn new(now: Instant) -> ChallengeLimit {
        ChallengeLimit {
            since: now,
            count: 0,
        }
    }

    /// Counts a challenge, and returns true if it may be sent.
    pub(super) fn admits(&mut self, common: &mut Common, now: Instant) -> bool {
        let (period, most) = if common.recovers_as_linux() {
            (LINUX_CHALLENGE_PERIOD, 1)
        } else {
            (CHALLENGE_PERIOD, MOST_CHALLENGES)
        };
        if now.saturating_since(self.since) >= period {
            (self.since, self.count) = (now, 1);
        } else if self.count < most {
            self.count += 1;
        } else {
            common.statistics.challenge_acks_withheld += 1;
            return false;
        }
        common.statistics.challenge_acks += 1;
        true
    }
}
