//! IPv6 Neighbor Discovery (RFC 4861) with the fields and options that Mobile IPv6 adds (RFC 6275 section 7).

use super::prefix::Ipv6Prefix;
use core::net::Ipv6Addr;
use core::num::NonZeroU16;

/// Hop limit of all its messages: one of less has come through a router, and is not believed (RFC 4861
/// section 7.1).
pub const HOP_LIMIT: u8 = 255;

/// A message of Neighbor Discovery. Redirects are not spoken here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NeighborDiscovery {
    /// A host asks for routers (section 4.1).
    RouterSolicitation(RouterSolicitation),
    /// A router says what holds on its link (section 4.2).
    RouterAdvertisement(RouterAdvertisement),
    /// Who has this address? (section 4.3)
    NeighborSolicitation(NeighborSolicitation),
    /// I have this address (section 4.4).
    NeighborAdvertisement(NeighborAdvertisement),
}

/// A link-layer address of 48 bits, as Ethernet has them (RFC 2464).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LinkLayerAddress(pub [u8; 6]);

/// RFC 4861 section 4.1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RouterSolicitation {
    /// The sender's; not where it has no address yet (the source is `::`).
    pub source_link_layer_address: Option<LinkLayerAddress>,
}

/// RFC 4861 section 4.2.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RouterAdvertisement {
    /// Hop limit that hosts should use; zero leaves it to them.
    pub hop_limit: u8,
    /// M: addresses are to be had by DHCPv6.
    pub managed_addresses: bool,
    /// O: other configuration is to be had by DHCPv6.
    pub other_configuration: bool,
    /// H: the router is a Mobile IPv6 home agent on this link (RFC 6275 section 7.1).
    pub home_agent: bool,
    /// Seconds for which the router may be a default router; zero for one that is none.
    pub router_lifetime_s: u16,
    /// How long a neighbour counts as reachable after it was heard, in ms; zero leaves it to the hosts.
    pub reachable_time_ms: u32,
    /// Time between two neighbour solicitations, in ms; zero leaves it to the hosts.
    pub retransmission_time_ms: u32,
    /// The router's, on this link.
    pub source_link_layer_address: Option<LinkLayerAddress>,
    /// Largest packet of the link in bytes (section 4.6.4).
    pub mtu: Option<u32>,
    /// The link's prefixes.
    pub prefixes: Vec<PrefixInformation>,
    /// Longest time between two unsolicited advertisements of this router, in ms (RFC 6275 section 7.3).
    pub advertisement_interval_ms: Option<u32>,
    /// What a home agent adds (RFC 6275 section 7.4).
    pub home_agent_information: Option<HomeAgentInformation>,
}

/// A prefix of the link (RFC 4861 section 4.6.2, RFC 6275 section 7.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PrefixInformation {
    /// The prefix.
    pub prefix: Ipv6Prefix,
    /// L: addresses of the prefix are on the link.
    pub on_link: bool,
    /// A: hosts may make addresses of the prefix.
    pub autonomous: bool,
    /// R: the router's own global address in the prefix. Of an address elsewhere only the bits behind the
    /// prefix are sent.
    pub router_address: Option<Ipv6Addr>,
    /// Seconds for which the prefix and addresses of it are valid; [`PrefixInformation::FOREVER`] is infinity.
    pub valid_lifetime_s: u32,
    /// Seconds for which such addresses are preferred; no more than the valid lifetime.
    pub preferred_lifetime_s: u32,
}

impl PrefixInformation {
    /// The lifetime that never ends.
    pub const FOREVER: u32 = u32::MAX;
}

/// RFC 6275 section 7.4.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HomeAgentInformation {
    /// Of several home agents the one with the greatest is asked first.
    pub preference: u16,
    /// Seconds for which the router will be a home agent.
    pub lifetime_s: NonZeroU16,
}

/// RFC 4861 section 4.3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NeighborSolicitation {
    /// The address asked for; not a multicast address.
    pub target: Ipv6Addr,
    /// The sender's; not in duplicate address detection (the source is `::`).
    pub source_link_layer_address: Option<LinkLayerAddress>,
}

/// RFC 4861 section 4.4.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NeighborAdvertisement {
    /// The address that the sender has, or takes packets for; not a multicast address.
    pub target: Ipv6Addr,
    /// R: the sender is a router.
    pub router: bool,
    /// S: it answers a solicitation. Not so where all nodes are told.
    pub solicited: bool,
    /// O: it holds in place of what the hearers have noted.
    pub overrides: bool,
    /// The link-layer address that packets for the target go to.
    pub target_link_layer_address: Option<LinkLayerAddress>,
}

/// The address `ff02::1` of all nodes on the link.
pub const ALL_NODES: Ipv6Addr = Ipv6Addr::new(0xFF02, 0, 0, 0, 0, 0, 0, 1);

/// The address `ff02::2` of all routers on the link.
pub const ALL_ROUTERS: Ipv6Addr = Ipv6Addr::new(0xFF02, 0, 0, 0, 0, 0, 0, 2);

/// The multicast address on which solicitations for `target` are heard: `ff02::1:ff00:0/104` and its last 24 bits
/// (RFC 4291 section 2.7.1).
pub const fn solicited_node_multicast(target: Ipv6Addr) -> Ipv6Addr {
    const PREFIX: u128 = 0xFF02 << 112 | 0x1_FF00_0000;
    Ipv6Addr::from_bits(PREFIX | (target.to_bits() & 0xFF_FFFF))
}

mod codec;
