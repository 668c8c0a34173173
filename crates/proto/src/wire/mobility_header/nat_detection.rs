//! The NAT Detection option of a binding acknowledgement.

use crate::time::Duration;
use crate::wire::u32_at;

/// A NAT Detection option (RFC 5555 section 3.2.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NatDetection {
    /// F: the mobile must send in UDP even if no address translator is on the way.
    pub forces_udp_encapsulation: bool,
    /// Time after which the mobile must refresh its entry in the translator, in seconds; zero leaves it to the mobile,
    /// and [`NO_TRANSLATOR`](Self::NO_TRANSLATOR) means that no refresh is needed.
    pub refresh_time_s: u32,
}

impl NatDetection {
    /// Refresh time of a mobile without an address translator.
    pub const NO_TRANSLATOR: u32 = u32::MAX;
    /// Time between two refreshes if the home agent does not specify one: NATKATIMEOUT (RFC 5555 section 6.2).
    pub const DEFAULT_REFRESH_TIME_S: u32 = 110;

    const FORCING: u8 = 0x80;

    /// Returns the time between two refreshes; `None` if none is needed.
    pub const fn refresh_interval(self) -> Option<Duration> {
        let seconds = match self.refresh_time_s {
            NatDetection::NO_TRANSLATOR => return None,
            0 => NatDetection::DEFAULT_REFRESH_TIME_S,
            seconds => seconds,
        };
        Some(Duration::from_secs(seconds as u64))
    }

    /// Returns the option's data.
    pub(super) const fn bytes(self) -> [u8; 6] {
        let flags = match self.forces_udp_encapsulation {
            true => Self::FORCING,
            false => 0,
        };
        let [a, b, c, d] = self.refresh_time_s.to_be_bytes();
        [flags, 0, a, b, c, d]
    }

    /// Reads the option's six bytes of data.
    pub(super) fn read(data: &[u8]) -> NatDetection {
        NatDetection {
            forces_udp_encapsulation: data[0] & Self::FORCING != 0,
            refresh_time_s: u32_at(data, 2),
        }
    }
}
