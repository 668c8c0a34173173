//! Mobility protocols and home agents as they are written.

use super::units::{PositiveTime, Rate, Size, Time};
use schemars::JsonSchema;

/// The protocol that keeps a mobile reachable, with every message of it.
#[derive(Clone, Debug, serde::Deserialize, JsonSchema)]
pub struct RawMobility {
    /// Which one.
    pub protocol: RawProtocol,
    /// Its home agent: a node of `home_agents`.
    pub home_agent: String,
    /// The access link, to the home agent's node, on which the mobile is at home; a radio network's cell as
    /// "network.cell". Default: none, it is always away.
    pub home_link: Option<String>,
    /// How it is known that nobody on a link has a care-of address (RFC 4862; study D section 3.2). Default "perform".
    pub duplicate_address_detection: Option<RawDetection>,
    /// When an access router advertises itself to a mobile that comes. Default "at-link-up".
    pub advertisements: Option<RawAdvertisements>,
    /// Whether correspondents are let know where the mobile is, and send directly (RFC 6275 section 11.7.2).
    /// Default false.
    pub route_optimization: Option<bool>,
    /// Whether the home agent is asked to hold packets when a link says that it is going down (study D, proposal 2).
    /// Default false.
    pub asks_for_buffering: Option<bool>,
    /// The routers of access links hold its packets when it leaves, and send them after it once it has told them where
    /// it is (RFC 5568, reactive). Default: they do not.
    pub access_router_buffering: Option<RawBuffering>,
    /// How long a binding holds. Default "1 h".
    pub lifetime: Option<PositiveTime>,
    /// The prefix of the network behind a mobile router, like "2001:db8:1:100::/64"; "nemo" needs it. Default: none.
    #[schemars(extend("format" = "ipv6-prefix"))]
    pub network_prefix: Option<String>,
    /// Whether TCP's maximum segment size is lowered to what the tunnel takes. Default false: ICMP errors tell.
    pub clamp_segment_size: Option<bool>,
}

/// A mobility protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RawProtocol {
    /// Mobile IPv6 (RFC 6275).
    MobileIpv6,
    /// Network mobility (RFC 3963): a mobile router with a network behind it.
    Nemo,
}

/// How it is known that nobody else has an address.
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

/// When access routers advertise themselves.
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

/// A node that keeps the bindings of mobiles and sends them their packets.
#[derive(Clone, Debug, serde::Deserialize, JsonSchema)]
pub struct RawHomeAgent {
    /// The prefix of its home network, like "2001:db8:1::/64": mobiles' home addresses are of it, and its own is the
    /// first.
    #[schemars(extend("format" = "ipv6-prefix"))]
    pub prefix: String,
    /// How it is known that nobody on the home link has a mobile's home address. Default "perform".
    pub duplicate_address_detection: Option<RawDetection>,
    /// It holds packets for mobiles that ask for it. Default: it does not.
    pub buffering: Option<RawBuffering>,
    /// After a handover it sends to the old and to the new place for this long. Default: it does not.
    pub bicasting: Option<PositiveTime>,
    /// The longest lifetime of a binding that it grants. Default "18 h".
    pub longest_lifetime: Option<PositiveTime>,
    /// Whether TCP's maximum segment size is lowered to what the tunnels take. Default false: ICMP errors tell.
    pub clamp_segment_size: Option<bool>,
}

/// A bounded buffer for a mobile's packets.
#[derive(Clone, Debug, Default, serde::Deserialize, JsonSchema)]
pub struct RawBuffering {
    /// How much is held for one mobile. Default "64 kB".
    pub size: Option<Size>,
    /// How long a packet is held at most. Default "30 s".
    pub age: Option<Time>,
    /// Who is dropped when there is no room. Default "drop-newest".
    pub overflow: Option<RawOverflow>,
    /// The rate at which what was held is sent. Default: all at once.
    pub pace: Option<Rate>,
}

/// Who is dropped when a buffer has no room for a newcomer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RawOverflow {
    /// The newcomer.
    DropNewest,
    /// Those that have waited longest, until there is room.
    DropOldest,
}
