//! The bit error rate, measured at the receiver by corrected and uncorrectable errors.

use crate::wire::aerotp::{Condition, ErrorRate};

/// Packets in the slow average.
const SLOW: f64 = 256.0;
/// Packets in the fast average.
const FAST: f64 = 24.0;
/// Errors from which the fast average is trusted.
const ENOUGH: f64 = 8.0;
/// Errors below which the slow average counts as zero.
const FORGOTTEN: f64 = 0.1;

/// An average over packets that weights later ones more.
#[derive(Clone, Copy, Debug, Default)]
struct Average {
    bits: f64,
    errors: f64,
}

impl Average {
    fn add(&mut self, memory: f64, bits: f64, errors: f64) {
        let kept = 1.0 - 1.0 / memory;
        self.bits = self.bits * kept + bits;
        self.errors = self.errors * kept + errors;
    }

    fn rate(&self) -> f64 {
        if self.bits > 0.0 {
            self.errors / self.bits
        } else {
            0.0
        }
    }
}

/// The meter of one direction.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ErrorMeter {
    slow: Average,
    fast: Average,
}

impl ErrorMeter {
    /// Takes in a packet of `bytes` behind the IP header, with a code of `redundancy` bytes.
    pub(super) fn note(&mut self, bytes: u32, redundancy: u32, condition: Condition) {
        let bits = f64::from(bytes) * 8.0;
        let errors = match condition {
            Condition::Clean => 0.0,
            // At error rates at which packets pass at all, a damaged byte has one flipped bit.
            Condition::Corrected(symbols) => f64::from(symbols),
            // At least one more than the code can correct, and at least the expected number for a damaged packet.
            Condition::Damaged(_) => {
                let expected = bits * self.fast.rate();
                let given_any = expected / -libm::expm1(-expected);
                let beyond = f64::from(redundancy / 2 + 1);
                if given_any.is_nan() {
                    beyond
                } else {
                    given_any.max(beyond)
                }
            }
        };
        self.slow.add(SLOW, bits, errors);
        self.fast.add(FAST, bits, errors);
    }

    /// Returns the present estimate.
    pub(super) fn rate(&self) -> ErrorRate {
        if self.fast.errors >= ENOUGH {
            return ErrorRate::from_rate(self.fast.rate());
        }
        if self.slow.errors < FORGOTTEN {
            return ErrorRate::NONE;
        }
        ErrorRate::from_rate(self.slow.rate())
    }
}
