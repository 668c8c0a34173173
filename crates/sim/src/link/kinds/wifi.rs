//! IEEE 802.11b: 11 Mbit/s with medium access, 35 packets (study S's access point), 1 µs of propagation (300 m).
//!
//! Timing is the standard's mandatory one: long preamble, acknowledgments at 2 Mbit/s (the highest rate of the
//! customary basic set of 1 and 2 Mbit/s), 7 attempts per frame (`dot11ShortRetryLimit`). A scenario that repeats study
//! S sets the RTT of 20 ms itself (`delay = "10 ms"`).

use super::super::config::{DcfConfig, LinkConfig, Medium, QueueLimit};
use super::{RawReception, Settings, plain, symmetric};
use crate::scenario::raw_reception::RawCoverage;
use baton_proto::rate::DataRate;
use baton_proto::time::Duration;
use schemars::JsonSchema;
use serde::Deserialize;

/// IEEE 802.11b.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct Wifi {
    /// Medium access as in 802.11b; if false, the link is a plain pipe. Default true.
    pub medium_access: Option<bool>,
    /// Preamble ahead of every frame. Default "long".
    pub preamble: Option<RawPreamble>,
    /// Up where the mobile, which runs along a line, is near an access point. Default: always up.
    pub coverage: Option<RawCoverage>,
}

impl Settings for Wifi {
    fn link(&self, name: &str) -> Option<LinkConfig> {
        let mut link = link(name);
        if self.medium_access == Some(false) {
            link.medium = Medium::FullDuplex;
        } else if let (Medium::Dcf(dcf), Some(RawPreamble::Short)) =
            (&mut link.medium, self.preamble)
        {
            dcf.preamble = Duration::from_micros(96);
        }
        Some(link)
    }

    fn check(&self, wrong: &mut dyn FnMut(&str, String)) {
        if self.medium_access == Some(false) && self.preamble.is_some() {
            let message =
                "\"preamble\" does not go with medium_access = false (its own: medium_access)";
            wrong("preamble", message.to_owned());
        }
    }

    fn reception(&self) -> Option<RawReception<'_>> {
        self.coverage.as_ref().map(RawReception::Coverage)
    }
}

/// Preamble of 802.11b.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RawPreamble {
    /// 192 µs.
    Long,
    /// 96 µs.
    Short,
}

/// Medium access of 802.11b with a long preamble.
pub const MEDIUM_ACCESS: DcfConfig = DcfConfig {
    control_rate: DataRate::from_bits_per_second(2_000_000),
    preamble: Duration::from_micros(192),
    retry_limit: 7,
};

/// Returns a WiFi link. For a plain pipe, set its medium to [`Medium::FullDuplex`].
pub fn link(name: &str) -> LinkConfig {
    let direction = plain(
        DataRate::from_bits_per_second(11_000_000),
        Duration::from_micros(1),
        QueueLimit::Packets(35),
    );
    symmetric(name, Medium::Dcf(MEDIUM_ACCESS), direction)
}
