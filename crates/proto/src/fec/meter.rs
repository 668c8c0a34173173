//! Bit error rate of a channel, as a decoder measures it.

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

/// Meter of one direction: two averages over packets, of which the fast one counts once it has seen enough errors.
#[derive(Clone, Copy, Debug, Default)]
pub struct ErrorMeter {
    slow: Average,
    fast: Average,
}

impl ErrorMeter {
    /// Takes in a packet of so many bits, of which so many were wrong.
    pub fn note(&mut self, bits: f64, errors: f64) {
        self.slow.add(SLOW, bits, errors);
        self.fast.add(FAST, bits, errors);
    }

    /// Returns the present estimate, zero if errors are too rare to be counted.
    pub fn rate(&self) -> f64 {
        if self.fast.errors >= ENOUGH {
            return self.fast.rate();
        }
        if self.slow.errors < FORGOTTEN {
            return 0.0;
        }
        self.slow.rate()
    }

    /// Returns the rate in the latest packets, however few their errors.
    pub fn recent(&self) -> f64 {
        self.fast.rate()
    }
}
