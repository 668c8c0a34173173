//! The settings of AeroTP, as written: of a flow's, and of that between two gateways.

use crate::scenario::profiles;
use crate::scenario::units::{PositiveTime, Rate, Size};
use crate::transport::blocks::RawFixedBlocks;
use schemars::JsonSchema;
use serde::Deserialize;

/// Settings of AeroTP, the same at both ends.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
pub struct RawAerotp {
    /// Guarantees of delivery. Default "reliable".
    pub mode: Option<RawMode>,
    /// Redundancy in each packet: by the bit error rate that the receiver measures, none, or a fixed number of words.
    /// Default "adaptive"; of quasi-reliable { words = 96 }; of the unreliable modes "none".
    pub coding: Option<RawCoding>,
    /// All modes but unreliable-datagram: redundant packets that restore lost ones, a fixed number; in reliable and
    /// near-reliable also by the loss that the receiver reports. Default: none.
    pub blocks: Option<RawBlocks>,
    /// reliable, near-reliable: packets that one acknowledgment covers. Default 4.
    #[schemars(range(min = 1, max = 255))]
    pub packets_per_mack: Option<u32>,
    /// reliable, near-reliable: longest delay of an acknowledgment. Default "10 ms".
    pub mack_delay: Option<PositiveTime>,
    /// quasi-reliable, unreliable-connection: longest wait for a gap to be filled. Default "100 ms".
    pub reordering_wait: Option<PositiveTime>,
    /// unreliable-connection: share of packets that the code of a link may lose, on links that let the transport choose
    /// (`coding = { by = "transport" }`). Default 0.001.
    #[schemars(range(min = 1e-6, max = 1.0))]
    pub tolerated_loss: Option<f64>,
    /// Service class, 0 (first to wait) to 7 (first to go): the packets' code point is its class selector (RFC 2474),
    /// both ways. Queues with management = "priority" respect it, others do not. Default 0.
    #[schemars(range(min = 0, max = 7))]
    pub class: Option<u32>,
    /// Capacity of the send buffer, which holds data until it is acknowledged. Default "4 MiB".
    pub send_buffer: Option<Size>,
    /// Capacity of the receive buffer, which holds data until it is read, and data beyond a gap. Default "4 MiB".
    pub receive_buffer: Option<Size>,
    /// Longest silence of a peer that should answer; after it the connection is given up. Default "300 s".
    pub close_timeout: Option<PositiveTime>,
}

/// AeroTP of a host, which sends at a rate of its own.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
pub struct RawHostAerotp {
    /// Rate of IP packets at the start, and the highest until a link reports another. Default: that of the slowest link on the way
    /// when the flow starts.
    pub rate: Option<Rate>,
    /// Keys that gateways have, too.
    #[serde(flatten)]
    pub keys: RawAerotp,
}

/// AeroTP, with the same settings at both ends.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
pub struct RawFlowAerotp {
    /// Links of one of the flow's ends, over all of which its connection sends at once, on each at the rate of the
    /// slowest link of that path; that end must not be a mobile or a router. Default: the way of all its packets.
    #[schemars(length(min = 2, max = 8))]
    pub paths: Option<Vec<String>>,
    /// Keys of any host.
    #[serde(flatten)]
    pub host: RawHostAerotp,
}

/// Guarantees of delivery of an AeroTP sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RawMode {
    /// All data arrives, and only arrived data is confirmed.
    Reliable,
    /// As reliable, but a gateway may confirm data that it holds.
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
    /// A fixed amount.
    Fixed(RawFixedCoding),
}

/// Named redundancy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RawCodingName {
    /// The coding with the highest expected goodput at the bit error rate that the receiver measures.
    Adaptive,
    /// No redundancy.
    None,
}

/// A fixed amount of redundancy.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct RawFixedCoding {
    /// Reed–Solomon parity, in words of 32 bits a packet.
    #[schemars(range(min = 0, max = 256))]
    pub words: u32,
    /// Protection of the AeroTP header too. Default false.
    pub header: Option<bool>,
}

/// An erasure code across packets: any packets of a block, as many as it has with data, restore all its data.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum RawBlocks {
    /// By the loss.
    Named(RawBlocksName),
    /// A fixed amount.
    Fixed(RawFixedBlocks),
}

/// Named redundancy across packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RawBlocksName {
    /// As few repair packets as restore 999 of 1000 blocks at the loss that the receiver reports; more over a link that is
    /// about to go down.
    Adaptive,
}

/// Two AeroTP gateways, and the links between them.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct RawAerotpGateways {
    /// Names of the links between the two gateways, which TCP and UDP cross as AeroTP. Each connection uses all of them at once, each
    /// at the link's rate.
    #[schemars(length(min = 1, max = 8))]
    pub links: Vec<String>,
    /// Rules of conversion; the first match counts, and traffic without a match crosses unconverted. Default: one rule,
    /// for everything.
    #[schemars(length(min = 1))]
    pub rules: Option<Vec<RawGatewayRule>>,
}

/// Conversion of some connections and datagrams on the links. To TCP, mode "unreliable-datagram" is
/// "unreliable-connection".
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
pub struct RawGatewayRule {
    /// Port to which alone the rule applies: that of the end that did not open the connection. Default: any.
    #[schemars(range(min = 1, max = 65535))]
    pub port: Option<u32>,
    /// Code point (RFC 2474) to which alone the rule applies: that of the opening packet. Default: any.
    #[schemars(range(min = 0, max = 63))]
    pub code_point: Option<u32>,
    /// Network of destinations to which alone the rule applies, like "10.0.0.4/32" or "2001:db8::/32". Default: any.
    pub destination: Option<String>,
    /// Profile of the gateways' TCP: the stack whose behaviour it follows. Default "linux-6".
    #[schemars(extend("oneOf" = profiles::profile_choices()))]
    pub profile: Option<String>,
    /// The AeroTP.
    #[serde(flatten)]
    pub aerotp: RawAerotp,
}
