//! Shapers and policers at a link's entrance, as written.

use super::units::{PositiveTime, QueueSize, Rate, Size};
use schemars::JsonSchema;
use serde::Deserialize;

/// A token bucket whose excess waits, in a queue of its own.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct RawShaper {
    /// Names of the flows that it regulates.
    #[schemars(length(min = 1))]
    pub flows: Vec<String>,
    /// Separate buckets and queues, one of each for every flow; otherwise the flows share. Default false.
    pub per_flow: Option<bool>,
    /// Sustained rate of their IP packets, above zero.
    pub rate: Rate,
    /// Size of the bucket: bytes that may pass at once after a pause; at least the link's MTU.
    pub burst: Size,
    /// Capacity of the queue in which the excess waits.
    pub queue: QueueSize,
    /// Reports of the queue to the node that feeds the link, whenever it begins to fill, is more than half full, at most half
    /// full again, or empty (SI-C-QUEUE_STATUS). Default false.
    pub reports: Option<bool>,
    /// Queue for handovers only: it is opened when a mobile begins a handover to the link (SI-C-QUEUE_OPEN), and closed this
    /// time after the handover is complete (SI-C-QUEUE_CLOSE). Default: it is open for the whole run.
    pub open_after_handover: Option<PositiveTime>,
    /// Rate that follows the flows' congestion windows, each divided by the round-trip time, up to `rate`
    /// (SI-C-QUEUE_MODIFY); it goes with open_after_handover. Default false.
    pub follows_window: Option<bool>,
    /// Direction of the link. Default "down".
    pub direction: Option<RawWay>,
}

/// A token bucket whose excess is dropped.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct RawPolicer {
    /// Names of the flows that it regulates.
    #[schemars(length(min = 1))]
    pub flows: Vec<String>,
    /// Separate buckets, one for each flow; otherwise the flows share one. Default false.
    pub per_flow: Option<bool>,
    /// Sustained rate of their IP packets, above zero.
    pub rate: Rate,
    /// Size of the bucket: bytes that may pass at once after a pause; at least the link's MTU.
    pub burst: Size,
    /// Direction of the link. Default "down".
    pub direction: Option<RawWay>,
}

/// A direction of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RawWay {
    /// From its first node to its second.
    Down,
    /// From its second node to its first.
    Up,
}
