//! Links of today's access networks: rates, delays and queues from measurements, and nothing else.
//!
//! None of them models its medium: there is no scheduler, no contention, no fading, and no change of satellites. Each
//! is a full-duplex pipe with constant parameters; `docs/models/presets.md` has the source of each number. Numbers
//! marked *chosen* were not measured.

use super::super::config::{DirectionConfig, LinkConfig, Medium, QueueLimit};
use super::{Settings, plain, symmetric};
use baton_proto::rate::DataRate;
use baton_proto::time::Duration;
use schemars::JsonSchema;
use serde::Deserialize;

/// IEEE 802.11ax at home, as rates, a delay and a queue only, without its medium access.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct Wifi6 {}

impl Settings for Wifi6 {
    fn link(&self, name: &str) -> Option<LinkConfig> {
        // 1,201 Mbit/s on the air (two streams, 80 MHz, the fastest coding), of which 60 % remain, as of 802.11ac's 867
        // Mbit/s. The delay of 2 ms and the queue of 50 ms are *chosen*.
        Some(access(name, [720_000, 720_000], 2_000, 50))
    }
}

/// LTE as rates, a delay and a queue only.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct Lte {}

impl Settings for Lte {
    fn link(&self, name: &str) -> Option<LinkConfig> {
        // Rates and round-trip time of British networks in 2019 and 2023 to 2024. The queue of half a second is *chosen*.
        Some(access(name, [32_000, 7_400], 10_500, 500))
    }
}

/// 5G below 6 GHz as rates, a delay and a queue only.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct FiveG {}

impl Settings for FiveG {
    fn link(&self, name: &str) -> Option<LinkConfig> {
        // Rates of all networks in 2021, the round-trip time of British ones in 2024. The queue of 200 ms is *chosen*.
        Some(access(name, [166_000, 21_000], 9_500, 200))
    }
}

/// Starlink as rates, a delay and a queue only, without its changes of satellite.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct Starlink {}

impl Settings for Starlink {
    fn link(&self, name: &str) -> Option<LinkConfig> {
        // From the dish to its point of presence: American rates and round-trip time of 2025. The queue of 100 ms is
        // *chosen*.
        Some(access(name, [105_000, 15_000], 13_000, 100))
    }
}

/// Returns a link with rates of kbit/s down and up, a delay in microseconds, and queues that hold so many milliseconds
/// of each rate.
fn access(name: &str, rates: [u64; 2], delay_us: u64, queue_ms: u64) -> LinkConfig {
    let [down, up] = rates.map(|rate| direction(rate, delay_us, queue_ms));
    let mut link = symmetric(name, Medium::FullDuplex, down);
    link.up = up.into();
    link
}

fn direction(kbit_s: u64, delay_us: u64, queue_ms: u64) -> DirectionConfig {
    plain(
        DataRate::from_bits_per_second(kbit_s * 1000),
        Duration::from_micros(delay_us),
        QueueLimit::Bytes(kbit_s * queue_ms / 8),
    )
}
