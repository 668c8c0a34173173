//! Mobility protocols and home agents as they are written.

use super::units::{PositiveTime, Rate, Size, Time};
use schemars::JsonSchema;

/// The protocol that keeps a mobile reachable, with every message of it. Some keys are one protocol's alone.
#[derive(Clone, Debug, serde::Deserialize, JsonSchema)]
pub struct RawMobility {
    /// Which one.
    pub protocol: RawProtocol,
    /// Its home agent: a node of `home_agents`.
    pub home_agent: String,
    /// The access link, to the home agent's node, on which the mobile is at home; a radio network's cell as
    /// "network.cell". Default: none, it is always away.
    pub home_link: Option<String>,
    /// IPv6: how it is known that nobody on a link has a care-of address (RFC 4862; study D section 3.2). Default
    /// "perform".
    pub duplicate_address_detection: Option<RawDetection>,
    /// IPv6: when an access router advertises itself to a mobile that comes. Default "at-link-up".
    pub advertisements: Option<RawAdvertisements>,
    /// IPv6: an AAA server is asked, by RADIUS over the new network, before a care-of address is used (study C section III-A).
    /// Default: nobody is asked.
    pub aaa: Option<RawAaa>,
    /// IPv6: a point of service in the network is asked before a soft or an announced handover, and told of each one after it
    /// (IEEE 802.21). Default: there is none.
    pub mih: Option<RawMih>,
    /// IPv6: whether correspondents are let know where the mobile is, and send directly (RFC 6275 section 11.7.2).
    /// Default false.
    pub route_optimization: Option<bool>,
    /// IPv6: whether the home agent is asked to hold packets when a link says that it is going down (study D,
    /// proposal 2). Default false.
    pub asks_for_buffering: Option<bool>,
    /// IPv6: the routers of access links hold its packets when it leaves, and send them after it once it has told them
    /// where it is (RFC 5568, reactive). Default: they do not.
    pub access_router_buffering: Option<RawBuffering>,
    /// IPv6: the home agent sends a copy of each packet to the routers of all access links but the home link; the one where
    /// the mobile is hands them out, the others keep the last ones. Default: they do not.
    pub multicast_buffering: Option<RawBuffering>,
    /// How long a binding holds; Mobile IPv4 counts in seconds, up to "65534 s". Default "1 h".
    pub lifetime: Option<PositiveTime>,
    /// The prefix of the network behind a mobile router, like "2001:db8:1:100::/64"; "nemo" needs it. Default: none.
    #[schemars(extend("format" = "ipv6-prefix"))]
    pub network_prefix: Option<String>,
    /// IPv6: whether TCP's maximum segment size is lowered to what the tunnel takes. Default false: ICMP errors tell.
    pub clamp_segment_size: Option<bool>,
    /// IPv4: where care-of addresses come from. Default "foreign-agent".
    pub care_of_address: Option<RawCareOf>,
    /// IPv4, `care_of_address = "dhcp"`: when it is checked that nobody else has the address (RFC 5227; study T
    /// section 4.2). Default "before".
    pub conflict_check: Option<RawConflictCheck>,
    /// IPv4: how the mobile's own packets travel that no line of `policy` names. Default "triangle".
    pub delivery: Option<RawDelivery>,
    /// IPv4: how the mobile's packets to some destinations travel: the mobile policy table (study T section 5.2). A line
    /// for a node goes before one for all, among those one with a port, among those the first. Default: none.
    #[serde(default)]
    pub policy: Vec<RawPolicyRule>,
    /// IPv4: whether earlier care-of addresses are kept, each of which gets a copy of every packet (RFC 5944
    /// section 3.3). Default false.
    pub simultaneous_bindings: Option<bool>,
    /// IPv4: whether the foreign agent that the mobile leaves sends packets after it. Default false.
    pub smooth_handoff: Option<bool>,
}

/// Who says whether a mobile may use a visited network.
#[derive(Clone, Debug, serde::Deserialize, JsonSchema)]
pub struct RawAaa {
    /// The AAA server: a node that does not move.
    pub server: String,
    /// How long it thinks about a request. Default "0 s".
    pub processing: Option<Time>,
}

/// Who helps with handovers (IEEE 802.21).
#[derive(Clone, Debug, serde::Deserialize, JsonSchema)]
pub struct RawMih {
    /// The point of service: a node that does not move.
    pub point_of_service: String,
}

/// Where care-of addresses come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RawCareOf {
    /// They are the foreign agent's, on links to one; on other links as "known".
    ForeignAgent,
    /// They are the mobile's own, and known to it at once, as from PPP.
    Known,
    /// They are the mobile's own, and asked for by DHCP.
    Dhcp,
}

/// When it is checked that nobody else has an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RawConflictCheck {
    /// Before it is used: 4 to 7 s.
    Before,
    /// While it is used.
    Background,
}

/// How a mobile's own packets travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RawDelivery {
    /// From the home address, straight; answers come through the home agent.
    Triangle,
    /// From the home address, through a tunnel to the home agent (RFC 3024).
    ReverseTunnel,
    /// From the care-of address, without mobility: both ways are straight, and end with that address. With a foreign
    /// agent's address as "triangle".
    CareOfAddress,
}

/// A line of a mobile policy table: packets to a node, to a port, or to a port of a node.
#[derive(Clone, Debug, serde::Deserialize, JsonSchema)]
pub struct RawPolicyRule {
    /// The node that packets are for. Default: any.
    pub to: Option<String>,
    /// The destination port of packets, as a hint of the application. Default: any.
    pub port: Option<u16>,
    /// How they travel.
    pub delivery: RawDelivery,
}

/// A mobility protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RawProtocol {
    /// Mobile IPv4 (RFC 5944).
    MobileIpv4,
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
    /// The prefix of its home network, like "2001:db8:1::/64" or, for Mobile IPv4, "192.0.2.0/24": mobiles' home
    /// addresses are of it, and its own is the first.
    #[schemars(extend("format" = "ip-prefix"))]
    pub prefix: String,
    /// IPv6: how it is known that nobody on the home link has a mobile's home address. Default "perform".
    pub duplicate_address_detection: Option<RawDetection>,
    /// IPv6: it holds packets for mobiles that ask for it. Default: it does not.
    pub buffering: Option<RawBuffering>,
    /// IPv6: after a handover it sends to the old and to the new place for this long. Default: it does not.
    pub bicasting: Option<PositiveTime>,
    /// The longest lifetime of a binding that it grants. Default "18 h".
    pub longest_lifetime: Option<PositiveTime>,
    /// IPv6: whether TCP's maximum segment size is lowered to what the tunnels take. Default false: ICMP errors tell.
    pub clamp_segment_size: Option<bool>,
}

/// A node that takes visiting mobiles in (RFC 5944 section 3.7), on all its access links.
#[derive(Clone, Debug, serde::Deserialize, JsonSchema)]
pub struct RawForeignAgent {
    /// The gateway foreign agent above it (RFC 4857): another node of `foreign_agents`, which moves below it are told to
    /// instead of the home agent. Default: none.
    pub gateway: Option<String>,
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
    /// Whether a TCP segment that is held already is dropped; false where IPsec hides the segments. Default true.
    pub drop_duplicates: Option<bool>,
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
