//! A channel over a geostationary satellite: 5 Mbit/s, 290 ms one way, 250 packets (study S).
//!
//! Scope: a rate, a delay and a queue, and the assignment of return capacity. The delay is study S's (RTT 580 ms); the path
//! up and down alone takes 239 to 278 ms.

use super::super::config::{LinkConfig, Medium, QueueLimit};
use super::super::demand::scenario::RawDemand;
use super::{RawReception, Settings, plain, symmetric};
use crate::scenario::raw_reception::{RawLineOfSight, RawShadowing};
use baton_proto::rate::DataRate;
use baton_proto::time::Duration;
use schemars::JsonSchema;
use serde::Deserialize;

/// A link over a geostationary satellite.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct Geo {
    /// Up where the mobile, which runs along a line, has the satellite in sight. Default: always up.
    pub line_of_sight: Option<RawLineOfSight>,
    /// Moments in which packets to and from the second node are lost. Default: none.
    pub shadowing: Option<RawShadowing>,
    /// Capacity on demand for the second node's terminal, as in DVB-RCS. Default: the terminal has the whole rate.
    pub demand: Option<RawDemand>,
}

impl Settings for Geo {
    fn link(&self, name: &str) -> Option<LinkConfig> {
        Some(link(name))
    }

    fn reception(&self) -> Option<RawReception<'_>> {
        self.line_of_sight.as_ref().map(RawReception::LineOfSight)
    }

    fn shadowing(&self) -> Option<&RawShadowing> {
        self.shadowing.as_ref()
    }

    fn demand(&self) -> Option<&RawDemand> {
        self.demand.as_ref()
    }
}

/// Returns a satellite link.
pub fn link(name: &str) -> LinkConfig {
    let direction = plain(
        DataRate::from_bits_per_second(5_000_000),
        Duration::from_millis(290),
        QueueLimit::Packets(250),
    );
    symmetric(name, Medium::FullDuplex, direction)
}
