//! Names of congestion controls.

use baton_proto::tcp::profile::Algorithm;

/// Congestion controls by name.
pub const CONGESTION_NAMES: [&str; 3] = ["reno", "newreno", "cubic"];

/// The congestion control called `name`.
pub fn congestion(name: &str) -> Option<Algorithm> {
    match name {
        "reno" => Some(Algorithm::Reno),
        "newreno" => Some(Algorithm::NewReno),
        "cubic" => Some(Algorithm::Cubic),
        _ => None,
    }
}
