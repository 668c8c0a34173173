//! IPv6 Neighbor Discovery (RFC 4861) with the fields and options that Mobile IPv6 adds (RFC 6275 section 7, RFC 5380
//! section 5), and the messages of fast handovers (RFC 5568 section 6.1).

use super::prefix::Ipv6Prefix;
use core::net::Ipv6Addr;
use core::num::NonZeroU16;

/// Hop limit of all messages: a lower one has passed a router, and the message is discarded (RFC 4861 section 7.1).
pub const HOP_LIMIT: u8 = 255;

/// A Neighbor Discovery message. Redirects are not implemented.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NeighborDiscovery {
    /// Router Solicitation (section 4.1).
    RouterSolicitation(RouterSolicitation),
    /// Router Advertisement (section 4.2).
    RouterAdvertisement(RouterAdvertisement),
    /// Neighbor Solicitation (section 4.3).
    NeighborSolicitation(NeighborSolicitation),
    /// Neighbor Advertisement (section 4.4).
    NeighborAdvertisement(NeighborAdvertisement),
    /// Router Solicitation for Proxy Advertisement (RFC 5568 section 6.1.1).
    ProxySolicitation(ProxySolicitation),
    /// Proxy Router Advertisement (RFC 5568 section 6.1.2).
    ProxyAdvertisement(ProxyAdvertisement),
}

/// A 48-bit link-layer address, as in Ethernet (RFC 2464).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LinkLayerAddress(pub [u8; 6]);

/// Router Solicitation (RFC 4861 section 4.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RouterSolicitation {
    /// Sender's link-layer address; absent if the source is `::`.
    pub source_link_layer_address: Option<LinkLayerAddress>,
}

/// Router Advertisement (RFC 4861 section 4.2).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RouterAdvertisement {
    /// Hop limit for hosts to use; zero if unspecified.
    pub hop_limit: u8,
    /// M: addresses are available by DHCPv6.
    pub managed_addresses: bool,
    /// O: other configuration is available by DHCPv6.
    pub other_configuration: bool,
    /// H: the router is a Mobile IPv6 home agent on this link (RFC 6275 section 7.1).
    pub home_agent: bool,
    /// Lifetime as a default router in seconds; zero if it is none.
    pub router_lifetime_s: u16,
    /// Time for which a neighbour counts as reachable after a confirmation, in ms; zero if unspecified.
    pub reachable_time_ms: u32,
    /// Time between neighbour solicitations, in ms; zero if unspecified.
    pub retransmission_time_ms: u32,
    /// Router's link-layer address.
    pub source_link_layer_address: Option<LinkLayerAddress>,
    /// MTU of the link in bytes (section 4.6.4).
    pub mtu: Option<u32>,
    /// The link's prefixes.
    pub prefixes: Vec<PrefixInformation>,
    /// Maximum time between unsolicited advertisements, in ms (RFC 6275 section 7.3).
    pub advertisement_interval_ms: Option<u32>,
    /// Home agent information (RFC 6275 section 7.4).
    pub home_agent_information: Option<HomeAgentInformation>,
    /// Mobility anchor points for mobiles on the link (RFC 5380 section 5).
    pub anchor_points: Vec<AnchorPoint>,
}

/// A prefix of the link (RFC 4861 section 4.6.2, RFC 6275 section 7.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PrefixInformation {
    /// The prefix.
    pub prefix: Ipv6Prefix,
    /// L: addresses of the prefix are on the link.
    pub on_link: bool,
    /// A: hosts may form addresses from the prefix.
    pub autonomous: bool,
    /// R: the router's own global address in the prefix. Only its bits after the prefix are sent.
    pub router_address: Option<Ipv6Addr>,
    /// Valid lifetime of the prefix and its addresses in seconds; [`PrefixInformation::FOREVER`] is infinity.
    pub valid_lifetime_s: u32,
    /// Preferred lifetime in seconds, at most the valid one.
    pub preferred_lifetime_s: u32,
}

impl PrefixInformation {
    /// Infinite lifetime.
    pub const FOREVER: u32 = u32::MAX;
}

/// Home agent information (RFC 6275 section 7.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HomeAgentInformation {
    /// Preference among home agents; the greatest is tried first.
    pub preference: u16,
    /// Lifetime as a home agent in seconds.
    pub lifetime_s: NonZeroU16,
}

/// A mobility anchor point, as the MAP option announces it (RFC 5380 section 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AnchorPoint {
    /// Distance from the link, 0 to 15: 1 on the link itself. Of several anchor points, mobiles choose the furthest.
    pub distance: u8,
    /// Preference, 0 to 15: 15 for the highest availability, 0 for none.
    pub preference: u8,
    /// R: mobiles form regional care-of addresses from the first 64 bits of the address.
    pub forms_addresses: bool,
    /// Valid lifetime of the address, and of regional care-of addresses, in seconds; zero if the anchor point has
    /// failed.
    pub valid_lifetime_s: u32,
    /// Global address of the anchor point.
    pub address: Ipv6Addr,
}

/// Neighbor Solicitation (RFC 4861 section 4.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NeighborSolicitation {
    /// Target address; not multicast.
    pub target: Ipv6Addr,
    /// Sender's link-layer address; absent in duplicate address detection (the source is `::`).
    pub source_link_layer_address: Option<LinkLayerAddress>,
}

/// Neighbor Advertisement (RFC 4861 section 4.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NeighborAdvertisement {
    /// Address of the sender, or one that it accepts packets for; not multicast.
    pub target: Ipv6Addr,
    /// R: the sender is a router.
    pub router: bool,
    /// S: answers a solicitation; not set in messages to all nodes.
    pub solicited: bool,
    /// O: overrides cached link-layer addresses.
    pub overrides: bool,
    /// Link-layer address for the target.
    pub target_link_layer_address: Option<LinkLayerAddress>,
}

/// Router Solicitation for Proxy Advertisement (RFC 5568 section 6.1.1): a mobile asks its router for the router at
/// another access point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProxySolicitation {
    /// Number that the answer returns.
    pub identifier: u16,
    /// The access point.
    pub access_point: LinkLayerAddress,
}

/// Proxy Router Advertisement (RFC 5568 section 6.1.2), the answer to a [`ProxySolicitation`]. The new router's
/// link-layer address is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProxyAdvertisement {
    /// Number of the solicitation.
    pub identifier: u16,
    /// The access point asked for.
    pub access_point: LinkLayerAddress,
    /// The router there; `None` (code 2) if it is not known.
    pub router: Option<ProxyRouter>,
}

/// A router on another link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProxyRouter {
    /// Its global address.
    pub address: Ipv6Addr,
    /// The prefix of its link.
    pub prefix: Ipv6Prefix,
}

/// All-nodes address of the link, `ff02::1`.
pub const ALL_NODES: Ipv6Addr = Ipv6Addr::new(0xFF02, 0, 0, 0, 0, 0, 0, 1);

/// All-routers address of the link, `ff02::2`.
pub const ALL_ROUTERS: Ipv6Addr = Ipv6Addr::new(0xFF02, 0, 0, 0, 0, 0, 0, 2);

/// Returns the multicast address for solicitations of `target`: `ff02::1:ff00:0/104` with its last 24 bits (RFC 4291
/// section 2.7.1).
pub const fn solicited_node_multicast(target: Ipv6Addr) -> Ipv6Addr {
    const PREFIX: u128 = 0xFF02 << 112 | 0x1_FF00_0000;
    Ipv6Addr::from_bits(PREFIX | (target.to_bits() & 0xFF_FFFF))
}

mod codec;
mod proxy;
mod words;
