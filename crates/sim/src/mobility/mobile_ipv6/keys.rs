//! Mobile IPv6 and NEMO as they are written in a scenario.

use crate::scenario::units::{PositiveTime, Rate, Size, Time};
use schemars::JsonSchema;

/// Keys of a mobile that are Mobile IPv6's alone.
#[derive(Clone, Debug, serde::Deserialize, JsonSchema)]
pub struct RawMobileNode {
    /// IPv6: way of ensuring that nobody else on a link has a care-of address (RFC 4862; study D section 3.2). Default
    /// "perform".
    pub duplicate_address_detection: Option<RawDetection>,
    /// IPv6: time at which an access router advertises itself to a mobile that arrives. Default "at-link-up".
    pub advertisements: Option<RawAdvertisements>,
    /// IPv6: an AAA server is asked, by RADIUS over the new network, before a care-of address is used (study C section III-A).
    /// Default: nobody is asked.
    pub aaa: Option<RawAaa>,
    /// IPv6: a point of service in the network is asked before a soft or an announced handover, and told of each one after it
    /// (IEEE 802.21). Default: there is none.
    pub mih: Option<RawMih>,
    /// IPv6: route optimization: correspondents learn the mobile's care-of address and send directly (RFC 6275 section
    /// 11.7.2). Default false.
    pub route_optimization: Option<bool>,
    /// IPv6: request to the home agent to hold packets when a link says that it is going down (study D, proposal 2).
    /// Default false.
    pub asks_for_buffering: Option<bool>,
    /// IPv6: the routers of access links hold its packets when it leaves, and send them after it once it has told them
    /// where it is (RFC 5568, reactive). Default: they do not.
    pub access_router_buffering: Option<RawBuffering>,
    /// IPv6: the home agent sends a copy of each packet to the routers of all access links but the home link; the one where
    /// the mobile is hands them out, the others keep the last ones. Default: they do not.
    pub multicast_buffering: Option<RawBuffering>,
}

/// More keys of a mobile that are Mobile IPv6's alone: the tunnel, and the network that is reached through it.
#[derive(Clone, Debug, serde::Deserialize, JsonSchema)]
pub struct RawTunnel {
    /// The prefix of the network behind a mobile router, like "2001:db8:1:100::/64"; "nemo" needs it. Default: none.
    #[schemars(extend("format" = "ipv6-prefix"))]
    pub network_prefix: Option<String>,
    /// IPv6: clamping of TCP's maximum segment size to what the tunnel takes. Default false: ICMP errors tell.
    pub clamp_segment_size: Option<bool>,
}

/// Keys of a home agent that are Mobile IPv6's alone.
#[derive(Clone, Debug, serde::Deserialize, JsonSchema)]
pub struct RawHomeAgentKeys {
    /// IPv6: way of ensuring that nobody else on the home link has a mobile's home address. Default "perform".
    pub duplicate_address_detection: Option<RawDetection>,
    /// IPv6: buffer for packets of mobiles that ask for it. Default: none.
    pub buffering: Option<RawBuffering>,
    /// IPv6: time after a handover for which the home agent sends to the old and to the new place. Default: none.
    pub bicasting: Option<PositiveTime>,
}

/// More keys of a home agent that are Mobile IPv6's alone: its tunnels.
#[derive(Clone, Debug, serde::Deserialize, JsonSchema)]
pub struct RawTunnels {
    /// IPv6: clamping of TCP's maximum segment size to what the tunnels take. Default false: ICMP errors tell.
    pub clamp_segment_size: Option<bool>,
}

impl RawMobileNode {
    /// Lists the keys, and which of them are written.
    pub(in crate::mobility) fn written(&self) -> Vec<(&'static str, bool)> {
        vec![
            (
                "duplicate_address_detection",
                self.duplicate_address_detection.is_some(),
            ),
            ("advertisements", self.advertisements.is_some()),
            ("aaa", self.aaa.is_some()),
            ("mih", self.mih.is_some()),
            ("route_optimization", self.route_optimization.is_some()),
            ("asks_for_buffering", self.asks_for_buffering.is_some()),
            (
                "access_router_buffering",
                self.access_router_buffering.is_some(),
            ),
            ("multicast_buffering", self.multicast_buffering.is_some()),
        ]
    }
}

impl RawHomeAgentKeys {
    /// Lists the keys, and which of them are written.
    pub(in crate::mobility) fn written(&self) -> Vec<(&'static str, bool)> {
        vec![
            (
                "duplicate_address_detection",
                self.duplicate_address_detection.is_some(),
            ),
            ("buffering", self.buffering.is_some()),
            ("bicasting", self.bicasting.is_some()),
        ]
    }
}

impl RawTunnels {
    /// Lists the keys, and which of them are written.
    pub(in crate::mobility) fn written(&self) -> Vec<(&'static str, bool)> {
        vec![("clamp_segment_size", self.clamp_segment_size.is_some())]
    }
}

impl RawTunnel {
    /// Lists the keys, and which of them are written.
    pub(in crate::mobility) fn written(&self) -> Vec<(&'static str, bool)> {
        vec![
            ("network_prefix", self.network_prefix.is_some()),
            ("clamp_segment_size", self.clamp_segment_size.is_some()),
        ]
    }
}

/// AAA server that decides whether a mobile may use a visited network.
#[derive(Clone, Debug, serde::Deserialize, JsonSchema)]
pub struct RawAaa {
    /// The AAA server: a node that does not move.
    pub server: String,
    /// Time that the server takes for a request. Default "0 s".
    pub processing: Option<Time>,
}

/// Media-independent handover services (IEEE 802.21).
#[derive(Clone, Debug, serde::Deserialize, JsonSchema)]
pub struct RawMih {
    /// The point of service: a node that does not move.
    pub point_of_service: String,
}

/// Way of ensuring that nobody else has an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RawDetection {
    /// By asking, once (RFC 4862 section 5.4).
    Perform,
    /// It is made of the aircraft's ICAO address, which no other has: nobody is asked.
    IcaoAddress,
    /// Its prefix is assigned to this mobile alone: nobody is asked.
    UniquePrefix,
}

/// Time at which access routers advertise themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RawAdvertisements {
    /// At once, when the link layer says that a mobile has come; and now and then.
    AtLinkUp,
    /// Every 30 to 70 ms, the shortest that RFC 6275 section 7.5 allows.
    Frequent,
    /// Every 198 to 600 s (RFC 4861 section 6.2.1): mobiles ask.
    Seldom,
}

/// A bounded buffer for a mobile's packets.
#[derive(Clone, Debug, Default, serde::Deserialize, JsonSchema)]
pub struct RawBuffering {
    /// Capacity for one mobile. Default "64 kB".
    pub size: Option<Size>,
    /// Longest time for which a packet is held. Default "30 s".
    pub age: Option<Time>,
    /// Packets that are dropped when there is no room. Default "drop-newest".
    pub overflow: Option<RawOverflow>,
    /// The rate at which what was held is sent. Default: all at once.
    pub pace: Option<Rate>,
    /// Duplicate suppression: a TCP segment that is held already is dropped; false where IPsec hides the segments.
    /// Default true.
    pub drop_duplicates: Option<bool>,
}

/// Packets that are dropped when a buffer has no room for a newcomer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RawOverflow {
    /// The newcomer.
    DropNewest,
    /// The packets that have waited longest, until there is room.
    DropOldest,
}
