//! Names of TCP profiles and congestion controls.

use baton_proto::tcp::profile::{Algorithm, Profile, Recovery};
use baton_proto::time::Duration;

/// Profiles by name.
pub const NAMES: [&str; 3] = ["rfc", "ns2", "linux-2.0.36"];
/// Congestion controls by name.
pub const CONGESTION_NAMES: [&str; 3] = ["reno", "newreno", "cubic"];

/// The profile called `name`.
pub fn named(name: &str) -> Option<Profile> {
    if !NAMES.contains(&name) {
        return None;
    }
    Some(Profile {
        congestion: Algorithm::NewReno,
        recovery: Recovery::NewReno,
        maximum_segment_size: 1460,
        initial_window: 10,
        initial_slow_start_threshold: None,
        receive_buffer: 65_535,
        send_buffer: 65_535,
        window_scaling: true,
        timestamps: true,
        sack: true,
        delayed_ack: Some(Duration::from_millis(40)),
        nagle: true,
        limited_transmit: true,
        duplicate_ack_threshold: Some(3),
        initial_rto: Duration::from_secs(1),
        minimum_rto: Duration::from_secs(1),
        maximum_rto: Duration::from_secs(60),
        tick: Duration::ZERO,
        idle_restart: true,
        syn_retries: 6,
        data_retries: 15,
        time_wait: Duration::from_secs(60),
    })
}

/// The congestion control called `name`.
pub fn congestion(name: &str) -> Option<Algorithm> {
    match name {
        "reno" => Some(Algorithm::Reno),
        "newreno" => Some(Algorithm::NewReno),
        "cubic" => Some(Algorithm::Cubic),
        _ => None,
    }
}
