//! The bit error rate, measured at the receiver by corrected and uncorrectable errors.

use crate::fec::meter;
use crate::wire::aerotp::{Condition, ErrorRate};

/// The meter of one direction.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ErrorMeter(meter::ErrorMeter);

impl ErrorMeter {
    /// Takes in a packet of `bytes` behind the IP header, with a code of `redundancy` bytes.
    pub(crate) fn note(&mut self, bytes: u32, redundancy: u32, condition: Condition) {
        let bits = f64::from(bytes) * 8.0;
        let errors = match condition {
            Condition::Clean => 0.0,
            // At error rates at which packets pass at all, a damaged byte has one flipped bit.
            Condition::Corrected(symbols) => f64::from(symbols),
            // At least one more than the code can correct, and at least the expected number for a damaged packet.
            Condition::Damaged(_) => {
                let expected = bits * self.0.recent();
                let given_any = expected / -libm::expm1(-expected);
                let beyond = f64::from(redundancy / 2 + 1);
                if given_any.is_nan() {
                    beyond
                } else {
                    given_any.max(beyond)
                }
            }
        };
        self.0.note(bits, errors);
    }

    /// Returns the present estimate.
    pub(crate) fn rate(&self) -> ErrorRate {
        ErrorRate::from_rate(self.0.rate())
    }
}
