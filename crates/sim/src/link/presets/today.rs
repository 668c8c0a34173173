//! Links of today's access networks: rates, delays and queues from measurements, and nothing else.
//!
//! None of them is a model of its medium: no scheduler, no contention, no fading, no changes of the satellite. Each is a pipe
//! with constant parameters, full duplex; `docs/models/presets.md` has the source of each number. What is marked *chosen*
//! was not measured.

use super::super::config::{DirectionConfig, LinkConfig, Medium, QueueLimit};
use super::{plain, symmetric};
use baton_proto::rate::DataRate;
use baton_proto::time::Duration;

/// IEEE 802.11ax at home: 1,201 Mbit/s on the air (two streams, 80 MHz, the fastest coding), of which 60 % are left, as
/// of 802.11ac's 867 Mbit/s. Its delay of 2 ms and its queue of 50 ms are *chosen*.
pub fn wifi6(name: &str) -> LinkConfig {
    access(name, [720_000, 720_000], 2_000, 50)
}

/// LTE: rates and round-trip time of British networks in 2019 and 2023 to 2024. Its queue of half a second is *chosen*.
pub fn lte(name: &str) -> LinkConfig {
    access(name, [32_000, 7_400], 10_500, 500)
}

/// 5G below 6 GHz: rates of all networks in 2021, the round-trip time of British ones in 2024. Its queue of 200 ms is
/// *chosen*.
pub fn five_g(name: &str) -> LinkConfig {
    access(name, [166_000, 21_000], 9_500, 200)
}

/// Starlink, from the dish to its point of presence: American rates and round-trip time of 2025. Its queue of 100 ms is
/// *chosen*.
pub fn starlink(name: &str) -> LinkConfig {
    access(name, [105_000, 15_000], 13_000, 100)
}

/// A link with rates of kbit/s down and up, a delay in microseconds, and queues that hold so many milliseconds of each rate.
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
