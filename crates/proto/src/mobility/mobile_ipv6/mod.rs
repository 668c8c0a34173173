//! The agents of Mobile IPv6 (RFC 6275), hierarchical Mobile IPv6 (RFC 5380) and network mobility (NEMO basic support,
//! RFC 3963).
//!
//! | agent | runs on | tasks |
//! |---|---|---|
//! | [`MobileNode`] | a mobile, or a mobile router with a network behind it | movement detection, registration, tunnelling, route optimisation |
//! | [`HomeAgent`] | a router of the home network, or a mobility anchor point | bindings, interception, tunnelling; buffering or bicasting while a mobile moves |
//! | [`Correspondent`] | any node that a mobile communicates with | return routability, bindings, the direct path |
//! | [`AccessRouter`] | a router of a visited network, or of the home network | prefix advertisement; buffering for a mobile that leaves, or of copies for one that may come |
//!
//! All are driven in the same way: pass in arriving packets (`handle_…`), call `handle_timeout` at `poll_timeout`, and
//! drain `poll_transmit` and `poll_event` after either. None of them knows links: an outgoing packet comes with its
//! interface or the network ([`Towards`]).

mod access_router;
mod access_routers;
mod correspondent;
pub mod dual_stack;
mod home_agent;
mod layers;
mod mobile_node;
pub mod prefix_assignment;
pub mod return_routability;
mod words;

pub use access_router::{AccessRouter, AdvertisingSettings, GroupMobile};
pub use access_routers::AccessRouters;
pub use correspondent::{Correspondent, CorrespondentCounts};
pub use home_agent::{
    HomeAgent, HomeAgentCounts, HomeAgentEvent, HomeAgentSettings, Strategy, Subscriber,
};
pub use mobile_node::{
    AnchorSettings, BufferingRequest, FleetSettings, MobileCounts, MobileEvent, MobileNode,
    MobileSettings, Received, RouterRegistration,
};

use crate::interface::InterfaceId;
use crate::packet::{Body, Extended, Packet};
use crate::wire::mobility_header::{Authenticator, MobilityMessage};
use core::net::{IpAddr, Ipv6Addr};
use return_routability::Key;

/// Destination of an agent's packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Towards {
    /// The network, by the node's routes.
    Network,
    /// The link at this interface.
    Interface(InterfaceId),
}

/// A mobility security association of a mobile and its home agent (RFC 4285 section 5.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharedKey {
    /// SPI of the association.
    pub security_parameter_index: u32,
    /// Shared secret.
    pub key: [u8; 20],
}

/// Builds a Mobility Header message, with a home address option or a type 2 routing header if given.
fn mobility_packet(
    (source, destination): (Ipv6Addr, Ipv6Addr),
    (home_address, routing_home_address): (Option<Ipv6Addr>, Option<Ipv6Addr>),
    message: MobilityMessage,
) -> Packet {
    let body = Body::Mobility(Box::new(message));
    let body = extend((home_address, routing_home_address), body);
    super::packet(source.into(), destination.into(), body)
}

/// Builds a home agent's request that the mobile at a care-of address register again (RFC 6275 section 6.1.2).
pub fn refresh_request(home_agent: Ipv6Addr, care_of: Ipv6Addr) -> Packet {
    let message = MobilityMessage::BindingRefreshRequest;
    mobility_packet((home_agent, care_of), (None, None), message)
}

/// Puts extension headers in front of a body, if there are any.
fn extend(
    (home_address, routing_home_address): (Option<Ipv6Addr>, Option<Ipv6Addr>),
    body: Body,
) -> Body {
    if home_address.is_none() && routing_home_address.is_none() {
        return body;
    }
    Body::Extended(Box::new(Extended {
        home_address,
        routing_home_address,
        body,
    }))
}

/// Returns source and destination if both are IPv6 addresses.
fn addresses_v6(packet: &Packet) -> Option<(Ipv6Addr, Ipv6Addr)> {
    match (packet.ip.source, packet.ip.destination) {
        (IpAddr::V6(source), IpAddr::V6(destination)) => Some((source, destination)),
        _ => None,
    }
}

/// Sets the authenticator of a message between mobile and home agent, over the care-of address, the home address and
/// the message (RFC 4285 section 5.1).
fn sign_for_home(
    shared: &SharedKey,
    addresses: (Ipv6Addr, Ipv6Addr),
    message: &mut MobilityMessage,
) {
    set_authenticator(
        message,
        Authenticator::MobileHomeAgent {
            security_parameter_index: shared.security_parameter_index,
            data: [0; 12],
        },
    );
    let data = message
        .authenticated_bytes()
        .map(|bytes| return_routability::authenticator(&shared.key, addresses, &bytes));
    set_authenticator(
        message,
        Authenticator::MobileHomeAgent {
            security_parameter_index: shared.security_parameter_index,
            data: data.unwrap_or_default(),
        },
    );
}

/// Sets the authenticator of a message between mobile and correspondent, over the care-of address, the correspondent's
/// address and the message (RFC 6275 section 6.2.7).
fn sign_for_correspondent(
    key: &Key,
    addresses: (Ipv6Addr, Ipv6Addr),
    message: &mut MobilityMessage,
) {
    set_authenticator(message, Authenticator::BindingAuthorization([0; 12]));
    let data = message
        .authenticated_bytes()
        .map(|bytes| return_routability::authenticator(key, addresses, &bytes));
    let authenticator = Authenticator::BindingAuthorization(data.unwrap_or_default());
    set_authenticator(message, authenticator);
}

/// Returns true if the authenticator of a message between mobile and home agent is correct.
fn is_from_home(
    shared: &SharedKey,
    addresses: (Ipv6Addr, Ipv6Addr),
    message: &MobilityMessage,
) -> bool {
    let mut expected = message.clone();
    sign_for_home(shared, addresses, &mut expected);
    expected == *message
}

/// Returns true if the authenticator of a message between mobile and correspondent is correct.
fn is_from_correspondent(
    key: &Key,
    addresses: (Ipv6Addr, Ipv6Addr),
    message: &MobilityMessage,
) -> bool {
    let mut expected = message.clone();
    sign_for_correspondent(key, addresses, &mut expected);
    expected == *message
}

fn set_authenticator(message: &mut MobilityMessage, authenticator: Authenticator) {
    match message {
        MobilityMessage::BindingUpdate(update) => update.authenticator = Some(authenticator),
        MobilityMessage::BindingAcknowledgement(answer) => {
            answer.authenticator = Some(authenticator);
        }
        _ => {}
    }
}

/// Returns true if a mobile may be reachable at the address: not unspecified, multicast, loopback or link-local.
fn is_routable(address: Ipv6Addr) -> bool {
    !(address.is_unspecified()
        || address.is_multicast()
        || address.is_loopback()
        || address.is_unicast_link_local())
}

#[cfg(test)]
mod tests;
