//! Mobile IPv6 and NEMO as they are written in a scenario.

use crate::mobility::buffering::RawBuffering;
use crate::scenario::units::{PositiveTime, Rate, Time};
use schemars::JsonSchema;

/// Mobile IPv6 (RFC 6275).
#[derive(Clone, Debug, serde::Deserialize, JsonSchema)]
pub struct RawMobileNode {
    /// Duplicate address detection for care-of addresses (RFC 4862; study D section 3.2). Default "perform".
    pub duplicate_address_detection: Option<RawDetection>,
    /// Time at which an access router advertises itself to an arriving mobile. Default "at-link-up".
    pub advertisements: Option<RawAdvertisements>,
    /// Access control: an AAA server is asked, by RADIUS over the new network, before a care-of address is used (study
    /// C section III-A). Default: none.
    pub aaa: Option<RawAaa>,
    /// Point of service in the network, which is asked before a soft or an announced handover, and notified after each
    /// one (IEEE 802.21). Default: none.
    pub mih: Option<RawMih>,
    /// Route optimization: correspondents learn the mobile's care-of address and send directly (RFC 6275 section
    /// 11.7.2). Default false.
    pub route_optimization: Option<bool>,
    /// Request to the home agent to hold packets when a link reports that it is going down (study D, proposal 2).
    /// Default false.
    pub asks_for_buffering: Option<bool>,
    /// Predictive binding updates: ahead of an announced or soft handover, and of a handover between cells that the
    /// radio network foresees, the mobile registers the care-of address of its next link, from a table of the routers
    /// and their prefixes; it goes with bicasting at the home agent, which then sends to both (study D, table 3).
    /// Default false.
    pub predictive_binding_updates: Option<bool>,
    /// Buffering by the routers of access links: when the mobile leaves, they hold its packets, and forward them once
    /// it has reported its new location (RFC 5568, reactive). Default: none.
    pub access_router_buffering: Option<RawBuffering>,
    /// Mode of fast handovers (RFC 5568), in which routers of access links hold the mobile's packets; it goes with
    /// access_router_buffering. Default "reactive".
    pub fast_handovers: Option<RawFastHandovers>,
    /// Copies of each packet from the home agent to the routers of all access links but the home link; the mobile's
    /// present router delivers them, the others keep the latest. Default: none.
    pub multicast_buffering: Option<RawBuffering>,
    /// Clamping of TCP's maximum segment size to what fits the tunnel. Default false: ICMP errors report it.
    pub clamp_segment_size: Option<bool>,
}

/// Network mobility (RFC 3963): a mobile router with a network behind it.
#[derive(Clone, Debug, serde::Deserialize, JsonSchema)]
pub struct RawMobileRouter {
    /// The prefix of the network behind it, like "2001:db8:1:100::/64".
    #[schemars(extend("format" = "ipv6-prefix"))]
    pub network_prefix: String,
    /// The router as a mobile node.
    #[serde(flatten)]
    pub node: RawMobileNode,
}

/// Keys of a home agent that are Mobile IPv6's alone.
#[derive(Clone, Debug, serde::Deserialize, JsonSchema)]
pub struct RawHomeAgentKeys {
    /// IPv6: pool of home network prefixes, like "2001:db8:8::/48": before its first binding update a mobile is assigned
    /// a prefix of 64 bits, by IKEv2 (RFC 5026; study D section 3.2), and has its home address there. A prefix is on loan
    /// for the longest lifetime of a binding. Default: none, all home addresses are in `prefix`.
    #[schemars(extend("format" = "ipv6-prefix"))]
    pub prefix_pool: Option<String>,
    /// IPv6: duplicate address detection for mobiles' home addresses on the home link. Default "perform".
    pub duplicate_address_detection: Option<RawDetection>,
    /// IPv6: buffer for packets of mobiles that ask for it. Default: none.
    pub buffering: Option<RawBuffering>,
    /// IPv6: time after a handover for which the home agent sends to the old and to the new place. Default: none.
    pub bicasting: Option<PositiveTime>,
}

/// More keys of a home agent that are Mobile IPv6's alone: its tunnels.
#[derive(Clone, Debug, serde::Deserialize, JsonSchema)]
pub struct RawTunnels {
    /// IPv6: clamping of TCP's maximum segment size to what fits the tunnels. Default false: ICMP errors report it.
    pub clamp_segment_size: Option<bool>,
}

impl RawHomeAgentKeys {
    /// Lists the keys, and which of them are written.
    pub(in crate::mobility) fn written(&self) -> Vec<(&'static str, bool)> {
        vec![
            ("prefix_pool", self.prefix_pool.is_some()),
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

/// AAA server that decides whether a mobile may use a visited network.
#[derive(Clone, Debug, serde::Deserialize, JsonSchema)]
pub struct RawAaa {
    /// The AAA server: a node that does not move.
    pub server: String,
    /// Processing time of a request. Default "0 s".
    pub processing: Option<Time>,
}

/// Media-independent handover services (IEEE 802.21).
#[derive(Clone, Debug, serde::Deserialize, JsonSchema)]
pub struct RawMih {
    /// The point of service: a node that does not move.
    pub point_of_service: String,
    /// Link that carries the messages before a handover. Default "backward".
    pub signalling: Option<RawSignalling>,
    /// Query of the networks around, at the mobile's first place, for its decision: each access link's data rate, channel
    /// and router. Default false.
    pub information_service: Option<bool>,
    /// Subscription to events of the point of service's links between nodes that do not move, for the mobile's decision.
    /// Default false.
    pub remote_events: Option<bool>,
    /// Data rate of these links at which they report their parameters, up to 65,535 kbit/s; it goes with remote_events.
    /// Default: none.
    pub rate_threshold: Option<Rate>,
    /// Handovers that the network begins, by rules for overloaded links; not for a mobile with a decision. Default: none.
    #[schemars(length(min = 1))]
    pub network_handovers: Option<Vec<RawNetworkHandover>>,
    /// Time at which the mobile ends its subscriptions and its registration. Default: never.
    pub services_until: Option<PositiveTime>,
}

/// A handover that the network begins when a link is overloaded.
#[derive(Clone, Debug, serde::Deserialize, JsonSchema)]
pub struct RawNetworkHandover {
    /// The overloaded link: one of the mobile's access links, from the point of service.
    pub from: String,
    /// The link to use instead: another access link of the mobile.
    pub to: String,
    /// Time of the overload: all packets towards the mobile have found the link's queue more than half full.
    pub overloaded_for: PositiveTime,
    /// Power-down of the link that is left, once the handover is complete; a link that is powered down is powered up
    /// before a handover to it. Default false.
    pub powers_down: Option<bool>,
}

/// Link that carries the messages before a handover (study S, section 2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RawSignalling {
    /// The link in use.
    Backward,
    /// The new link, which the mobile joins for that beside the link in use.
    Forward,
}

/// Duplicate address detection, or the reason that none is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RawDetection {
    /// One neighbor solicitation (RFC 4862 section 5.4).
    Perform,
    /// No detection: the address contains the aircraft's ICAO address, which is unique.
    IcaoAddress,
    /// No detection: the prefix is assigned to this mobile alone.
    UniquePrefix,
}

/// Mode of fast handovers (RFC 5568).
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RawFastHandovers {
    /// The mobile reports its new address to the router of the link that it has left.
    Reactive,
    /// Ahead of an announced or soft handover between links, the two routers agree on the mobile's new address, which it
    /// uses at once.
    Predictive,
}

/// Time at which access routers advertise themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RawAdvertisements {
    /// At once when the link layer reports a mobile's arrival, and otherwise every 198 to 600 s.
    AtLinkUp,
    /// Every 30 to 70 ms, the shortest that RFC 6275 section 7.5 allows.
    Frequent,
    /// Every 198 to 600 s (RFC 4861 section 6.2.1): mobiles solicit.
    Seldom,
}
