//! A link that a recording drives: values missing from the recording are 10 Mbit/s, 20 ms, 250 packets.
//!
//! All three are *chosen*, in the order of a cellular link's. A recording of delivery opportunities tells nothing about
//! the path's delay, nor about the buffer in front of it.

use super::super::config::{LinkConfig, Medium, QueueLimit};
use super::{Settings, plain, symmetric};
use crate::scenario::units::Time;
use baton_proto::rate::DataRate;
use baton_proto::time::Duration;
use schemars::JsonSchema;
use serde::Deserialize;

/// Driven by a recording: mahimahi, a LeoReplayer pair, or CSV.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct Traced {
    /// Start of the run within its recordings, like "30 s", or "random": drawn from the seed. All files of the link begin together.
    /// Default "0 s".
    pub start: Option<RawStart>,
}

impl Settings for Traced {
    fn shares(_: &str) -> bool {
        true
    }

    fn link(&self, name: &str) -> Option<LinkConfig> {
        let direction = plain(
            DataRate::from_bits_per_second(10_000_000),
            Duration::from_millis(20),
            QueueLimit::Packets(250),
        );
        Some(symmetric(name, Medium::FullDuplex, direction))
    }

    fn recorded(&self) -> Option<&Traced> {
        Some(self)
    }
}

/// Start of the run within a recording.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum RawStart {
    /// Random position.
    Random(RawRandom),
    /// Offset from its beginning.
    At(Time),
}

/// The word "random".
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RawRandom {
    /// Position drawn from the seed.
    Random,
}
