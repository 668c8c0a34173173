//! Bindings of a home address to a care-of address: sequence numbers, lifetimes and retransmission timers.

use crate::time::{Duration, Instant};
use crate::wire::mobility_header::BindingLifetime;

/// Sequence number of a binding update, modulo 2^16. A number is greater than another if it is at most 32,767 ahead of
/// it (RFC 6275 section 9.5.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct BindingSequence(pub u16);

impl BindingSequence {
    /// Returns the next sequence number.
    pub const fn next(self) -> BindingSequence {
        BindingSequence(self.0.wrapping_add(1))
    }

    /// Returns true if this number is greater than `other`.
    pub const fn is_after(self, other: BindingSequence) -> bool {
        matches!(self.0.wrapping_sub(other.0), 1..=32_767)
    }
}

/// The configurable constants of RFC 6275 sections 12 and 13.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BindingTimes {
    /// INITIAL_BINDACK_TIMEOUT.
    pub initial_timeout: Duration,
    /// InitialBindackTimeoutFirstReg, for the first update at a home agent, which performs duplicate address detection
    /// before it answers.
    pub first_registration_timeout: Duration,
    /// MAX_BINDACK_TIMEOUT.
    pub longest_timeout: Duration,
}

impl Default for BindingTimes {
    fn default() -> BindingTimes {
        BindingTimes {
            initial_timeout: Duration::from_secs(1),
            first_registration_timeout: Duration::from_millis(1500),
            longest_timeout: Duration::from_secs(32),
        }
    }
}

/// MAX_RR_BINDING_LIFETIME: longest binding at a correspondent (RFC 6275 section 12).
pub const LONGEST_CORRESPONDENT_LIFETIME: BindingLifetime = BindingLifetime::at_most(420);

/// Retransmission timer of a message: the timeout doubles with each transmission, up to a maximum (RFC 6275 section
/// 11.8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retransmission {
    timeout: Duration,
    deadline: Instant,
    sent: u32,
}

impl Retransmission {
    /// Starts the timer of a message first sent at `now`.
    pub fn begin(now: Instant, timeout: Duration) -> Retransmission {
        Retransmission {
            timeout,
            deadline: now + timeout,
            sent: 1,
        }
    }

    /// Returns the time of the next retransmission.
    pub const fn deadline(&self) -> Instant {
        self.deadline
    }

    /// Returns the number of transmissions so far.
    pub const fn sent(&self) -> u32 {
        self.sent
    }

    /// Records a retransmission at `now`.
    pub fn again(&mut self, now: Instant, longest: Duration) {
        self.timeout = self.timeout.saturating_mul(2).min(longest);
        self.deadline = now + self.timeout;
        self.sent += 1;
    }
}

/// Converts a binding lifetime to a duration.
pub fn duration(lifetime: BindingLifetime) -> Duration {
    Duration::from_secs(u64::from(lifetime.seconds()))
}

/// Returns the time from a grant to its refresh. Chosen: three quarters of the lifetime.
pub fn refresh_after(lifetime: BindingLifetime) -> Duration {
    Duration::from_millis(u64::from(lifetime.seconds()) * 750)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 6275 section 9.5.1: "if the last received sequence number was 15, then messages with sequence numbers 0
    /// through 15, as well as 32783 through 65535, would be considered less than or equal".
    #[test]
    fn numbers_go_round() {
        let last = BindingSequence(15);
        for number in 0..=u16::MAX {
            let greater = !matches!(number, 0..=15 | 32_783..=65_535);
            assert_eq!(BindingSequence(number).is_after(last), greater, "{number}");
        }
        assert!(
            BindingSequence(u16::MAX)
                .next()
                .is_after(BindingSequence(u16::MAX))
        );
    }

    /// 1.5 s at first, doubled each time, at most 32 s (RFC 6275 sections 11.8, 12, 13).
    #[test]
    fn an_unanswered_update_is_sent_again_at_growing_intervals() {
        let times = BindingTimes::default();
        let mut pending = Retransmission::begin(Instant::ZERO, times.first_registration_timeout);
        let mut sent_at = Vec::new();
        for _ in 0..8 {
            let now = pending.deadline();
            sent_at.push(now.as_nanos() / 1_000_000);
            pending.again(now, times.longest_timeout);
        }
        let expected = [1500, 4500, 10_500, 22_500, 46_500, 78_500, 110_500, 142_500];
        assert_eq!(sent_at, expected);
    }
}
