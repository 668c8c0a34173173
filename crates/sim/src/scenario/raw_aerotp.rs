//! The settings of a flow's AeroTP, as written.

use super::units::{PositiveTime, Rate, Size};
use schemars::JsonSchema;
use serde::Deserialize;

/// Settings of AeroTP, the same at both ends.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
pub struct RawAerotp {
    /// What is promised. Default "reliable".
    pub mode: Option<RawMode>,
    /// Redundancy in each packet: by the bit error rate that the receiver measures, none, or always so many words. Default
    /// "adaptive"; of quasi-reliable { words = 96 }; of the unreliable modes "none".
    pub coding: Option<RawCoding>,
    /// reliable, near-reliable: packets that one acknowledgment is for. Default 4.
    #[schemars(range(min = 1, max = 255))]
    pub packets_per_mack: Option<u32>,
    /// reliable, near-reliable: the longest that a packet waits for its acknowledgment. Default "10 ms".
    pub mack_delay: Option<PositiveTime>,
    /// quasi-reliable, unreliable-connection: how long a gap is waited for. Default "100 ms".
    pub reordering_wait: Option<PositiveTime>,
    /// Service class, 0 (first to wait) to 7 (first to go); links do not look at it. Default 0.
    #[schemars(range(min = 0, max = 7))]
    pub class: Option<u32>,
    /// Rate of IP packets at the start, and the highest until a link says another. Default: that of the slowest link on the way
    /// when the flow starts.
    pub rate: Option<Rate>,
    /// What is held until it is acknowledged. Default "4 MiB".
    pub send_buffer: Option<Size>,
    /// What is held until it is read, and beyond a gap. Default "4 MiB".
    pub receive_buffer: Option<Size>,
    /// After so long without a word from a peer that should answer, the connection is given up. Default "300 s".
    pub close_timeout: Option<PositiveTime>,
}

/// What an AeroTP sender promises.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RawMode {
    /// All arrives, and nothing is confirmed that has not.
    Reliable,
    /// As reliable; what a gateway has may be confirmed.
    NearReliable,
    /// Redundancy alone, and no return channel.
    QuasiReliable,
    /// Order alone.
    UnreliableConnection,
    /// As UDP.
    UnreliableDatagram,
}

/// Redundancy in each packet.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum RawCoding {
    /// By the channel, or none.
    Named(RawCodingName),
    /// Always the same.
    Fixed(RawFixedCoding),
}

/// Redundancy that has a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RawCodingName {
    /// What promises the most goodput at the bit error rate that the receiver measures.
    Adaptive,
    /// Nothing is added.
    None,
}

/// Redundancy that is always the same.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct RawFixedCoding {
    /// Reed–Solomon parity, in words of 32 bits a packet.
    #[schemars(range(min = 0, max = 256))]
    pub words: u32,
    /// Whether the AeroTP header is protected too. Default false.
    pub header: Option<bool>,
}
