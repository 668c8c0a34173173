//! A radio link with fixed slots of a TDMA frame: 5 Mbit/s, 10 ms, 100 packets, a slot for each direction.
//!
//! Rate and delay are those of study A's path. The study names TDMA without a frame, so frame and queue are *chosen*: a
//! slot of 2.4 ms carries 1500 B at this rate.

use super::super::config::{LinkConfig, Medium, QueueLimit};
use super::super::tdma::scenario::RawFrame;
use super::{Settings, plain, symmetric};
use baton_proto::rate::DataRate;
use baton_proto::time::Duration;
use schemars::JsonSchema;
use serde::Deserialize;

/// A link whose ends send in fixed slots of a frame.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct Tdma {
    /// Frame of slots, and the link's own slots in it. Default: two slots, one for each direction.
    #[serde(default)]
    pub frame: RawFrame,
}

impl Settings for Tdma {
    fn link(&self, name: &str) -> Option<LinkConfig> {
        let direction = plain(
            DataRate::from_bits_per_second(5_000_000),
            Duration::from_millis(10),
            QueueLimit::Packets(100),
        );
        Some(symmetric(name, Medium::FullDuplex, direction))
    }

    fn frame(&self) -> Option<&RawFrame> {
        Some(&self.frame)
    }
}
