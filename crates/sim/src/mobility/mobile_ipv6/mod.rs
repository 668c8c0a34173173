//! Mobile IPv6 and NEMO in the laboratory.

mod anchor_points;
mod keys;
mod network_handovers;
mod resolve;
mod set_up;

use super::Mobility;
use crate::scenario::model::{LinkIndex, Mobile, NodeIndex};
pub(super) use anchor_points::anchor_points;
pub(crate) use anchor_points::check_anchor_points;
pub use anchor_points::{AnchorPoint, RawAnchorPoint};
use baton_proto::host::layer::Neighbor;
use baton_proto::mobility::address_configuration::DuplicateAddressDetection;
use baton_proto::mobility::buffering::BufferPolicy;
use baton_proto::mobility::handover_service::Signalling;
use baton_proto::mobility::mobile_ipv6::Strategy;
use baton_proto::packet::{Body, Packet};
use baton_proto::time::{Duration, Instant};
use baton_proto::wire::mobility_header::{BindingLifetime, MobilityMessage, PacketBuffering};
use baton_proto::wire::prefix::Ipv6Prefix;
use core::net::{IpAddr, Ipv6Addr};
pub use keys::{RawHomeAgentKeys, RawMobileNode, RawMobileRouter, RawTunnels};
pub(crate) use network_handovers::check as check_network_handovers;
pub(crate) use resolve::check_tunnels;
pub(super) use resolve::{check_network, home_agent, mobility};
pub(crate) use set_up::{addresses, mobile_of};

/// Reason that no binding update concerns a mobile without these protocols.
pub(super) const NOT_SPOKEN: &str = "learns of a handover from a binding update; expected mobility with protocol \
                                     \"mobile-ipv6\" or \"nemo\" at the mobile";

/// Mobile IPv6 or NEMO at a mobile.
#[derive(Clone, Debug, PartialEq)]
pub struct MobileIpv6 {
    /// Its home agent, by its place among those of Mobile IPv6.
    pub home_agent: usize,
    /// Access link on which it is at home.
    pub home_link: Option<LinkIndex>,
    /// Duplicate address detection of care-of addresses.
    pub detection: DuplicateAddressDetection,
    /// Times of access routers' advertisements.
    pub advertisements: Advertisements,
    /// Access control before a care-of address is used.
    pub aaa: Option<AccessControl>,
    /// Services of IEEE 802.21, if handovers are prepared by them.
    pub mih: Option<HandoverServices>,
    /// True if it uses route optimization.
    pub route_optimization: bool,
    /// True if it asks its home agent to hold packets.
    pub asks_for_buffering: bool,
    /// True if it registers its next care-of address ahead of a move.
    pub predictive_binding_updates: bool,
    /// Policy of access routers for holding its packets when it leaves; `None`: they hold none.
    pub access_router_buffering: Option<BufferPolicy>,
    /// True if its routers agree on a handover ahead of it (RFC 5568, predictive mode).
    pub predicts_handovers: bool,
    /// Policy of access routers for keeping copies of its packets before it arrives; `None`: they get none.
    pub multicast_buffering: Option<BufferPolicy>,
    /// Lifetime of a binding.
    pub lifetime: BindingLifetime,
    /// True if TCP's maximum segment size is lowered to fit the tunnel.
    pub clamp_segment_size: bool,
}

impl MobileIpv6 {
    /// Returns the protocol of a mobile, if it is this one.
    fn of(mobile: &Mobile) -> Option<&MobileIpv6> {
        match mobile.mobility.as_deref()? {
            Mobility::Ipv6(own) => Some(own),
            Mobility::Ipv4(_) => None,
        }
    }

    /// Returns the link that carries the messages before a handover, if handovers are prepared: with a point of service,
    /// between routers, or with the home agent.
    pub(super) fn signalling(&self) -> Option<Signalling> {
        let others = self.predicts_handovers || self.predictive_binding_updates;
        let own = self.mih.as_ref().map(|services| services.signalling);
        own.or_else(|| others.then_some(Signalling::Backward))
    }

    /// Returns the node whose links' events the mobile subscribes to, if it does.
    pub(super) fn source_of_events(&self) -> Option<NodeIndex> {
        let services = self.mih.as_ref().filter(|services| services.remote_events);
        services.map(|services| services.point_of_service)
    }

    /// Describes a mobile with an address on an access link to the router there.
    pub(super) fn neighbor(&self, address: IpAddr, is_told: bool) -> Neighbor {
        Neighbor {
            is_told,
            buffering: self.access_router_buffering,
            ..Neighbor::new(address)
        }
    }

    /// Returns an error, with the expectation, if no binding update goes to a correspondent.
    pub(super) fn check_binding_updates(
        &self,
        correspondent: NodeIndex,
        home_agents: &[HomeAgent],
    ) -> Result<(), String> {
        if home_agents[self.home_agent].node == correspondent || self.route_optimization {
            return Ok(());
        }
        Err("learns of a handover from a binding update, which goes only to the home agent; expected route_optimization = \
             true, or a flow from the home agent".to_owned())
    }
}

/// Access control of visited networks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccessControl {
    /// The AAA server's node.
    pub server: NodeIndex,
    /// Processing time of a request.
    pub processing: Duration,
}

/// Services of IEEE 802.21 to a mobile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HandoverServices {
    /// Node of the point of service.
    pub point_of_service: NodeIndex,
    /// Link that carries the messages before a handover.
    pub signalling: Signalling,
    /// True if the mobile queries the networks around.
    pub information: bool,
    /// True if it subscribes to events of the point of service's links.
    pub remote_events: bool,
    /// Data rate of these links, in kbit/s, at which a report is due.
    pub rate_threshold: Option<u16>,
    /// Handovers that the network begins.
    pub network_handovers: Vec<NetworkHandover>,
    /// Time at which the mobile ends its subscriptions and its registration, if ever.
    pub services_until: Option<Instant>,
}

/// A handover that the network begins when a link is overloaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NetworkHandover {
    /// The overloaded link, from the point of service.
    pub from: LinkIndex,
    /// The link to use instead.
    pub to: LinkIndex,
    /// Time of the overload.
    pub overloaded_for: Duration,
    /// True if the link that is left is powered down.
    pub powers_down: bool,
}

/// Times of access routers' advertisements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advertisements {
    /// At a mobile's arrival, and as seldom as [`Seldom`](Self::Seldom).
    AtLinkUp,
    /// Every 30 to 70 ms.
    Frequent,
    /// Every 198 to 600 s, and on solicitation.
    Seldom,
}

/// A home agent.
#[derive(Clone, Debug, PartialEq)]
pub struct HomeAgent {
    /// The node.
    pub node: NodeIndex,
    /// The prefix of the home network, of at most 64 bits.
    pub prefix: Ipv6Prefix,
    /// Pool of prefixes for its mobiles, one each; `None`: their home addresses are in `prefix`.
    pub prefix_pool: Option<Ipv6Prefix>,
    /// Duplicate address detection of home addresses on the home link.
    pub detection: DuplicateAddressDetection,
    /// Strategy while a mobile moves.
    pub strategy: Strategy,
    /// The longest lifetime of a binding that it grants.
    pub longest_lifetime: BindingLifetime,
    /// True if TCP's maximum segment size is lowered to fit the tunnels.
    pub clamp_segment_size: bool,
}

impl HomeAgent {
    /// Returns its own address.
    pub fn address(&self) -> Ipv6Addr {
        self.prefix.address_of(Ipv6Addr::from_bits(1))
    }
}

/// Returns true if a packet is a binding update or acknowledgement whose packet-buffering option reports held packets.
pub(crate) fn says_buffer(packet: &Packet) -> bool {
    let message = match &packet.body {
        Body::Mobility(message) => message,
        Body::Extended(extended) => match &extended.body {
            Body::Mobility(message) => message,
            _ => return false,
        },
        _ => return false,
    };
    let option = match &**message {
        MobilityMessage::BindingUpdate(update) => update.packet_buffering,
        MobilityMessage::BindingAcknowledgement(answer) => answer.packet_buffering,
        _ => None,
    };
    option == Some(PacketBuffering::Buffer)
}
