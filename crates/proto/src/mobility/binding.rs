//! Bindings of a home address to a care-of address: how updates are ordered, and how long they hold.

use crate::time::{Duration, Instant};
use crate::wire::mobility_header::BindingLifetime;

/// The number of a binding update. Numbers go round modulo 2^16: one is greater than another if it is at most
/// 32,767 ahead of it (RFC 6275 section 9.5.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct BindingSequence(pub u16);

impl BindingSequence {
    /// The next one.
    pub const fn next(self) -> BindingSequence {
        BindingSequence(self.0.wrapping_add(1))
    }

    /// Whether an update of this number comes after one of number `other`.
    pub const fn is_after(self, other: BindingSequence) -> bool {
        matches!(self.0.wrapping_sub(other.0), 1..=32_767)
    }
}

/// The constants of RFC 6275 sections 12 and 13 that a mobile may be given other values of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BindingTimes {
    /// INITIAL_BINDACK_TIMEOUT.
    pub initial_timeout: Duration,
    /// InitialBindackTimeoutFirstReg: of the first update at a home agent, which detects duplicates before it answers.
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

/// A message that is sent again until it is answered: the timeout doubles each time, up to a longest (RFC 6275
/// section 11.8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retransmission {
    timeout: Duration,
    deadline: Instant,
    sent: u32,
}

impl Retransmission {
    /// Of a message that has been sent at `now`.
    pub fn begin(now: Instant, timeout: Duration) -> Retransmission {
        Retransmission {
            timeout,
            deadline: now + timeout,
            sent: 1,
        }
    }

    /// When the message is due again.
    pub const fn deadline(&self) -> Instant {
        self.deadline
    }

    /// How often it has been sent.
    pub const fn sent(&self) -> u32 {
        self.sent
    }

    /// It has been sent again.
    pub fn again(&mut self, now: Instant, longest: Duration) {
        self.timeout = self.timeout.saturating_mul(2).min(longest);
        self.deadline = now + self.timeout;
        self.sent += 1;
    }
}

/// A binding lifetime as a length of time.
pub fn duration(lifetime: BindingLifetime) -> Duration {
    Duration::from_secs(u64::from(lifetime.seconds()))
}

/// When what was granted for this long is asked for anew. Chosen: when three quarters have passed.
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

    /// 1.5 s at first, then twice as long each time, and no longer than 32 s (RFC 6275 sections 11.8, 12, 13).
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
