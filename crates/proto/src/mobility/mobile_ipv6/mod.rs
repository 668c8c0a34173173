//! Mobile IPv6 (RFC 6275) and network mobility (NEMO basic support, RFC 3963): the agents.
//!
//! | agent | where | what |
//! |---|---|---|
//! | [`MobileNode`] | a mobile, or a mobile router with the network behind it | finds out where it is, registers, tunnels, optimises routes |
//! | [`HomeAgent`] | a router of the home network | keeps bindings, intercepts and tunnels; buffers or sends twice while a mobile moves |
//! | [`Correspondent`] | any node that a mobile speaks with | return routability, bindings, the direct way |
//! | [`AccessRouter`] | a router of a visited network, or of the home network | advertises its prefix; holds what is for a mobile that leaves, or copies for one that may come |
//!
//! All are driven alike: hand in what comes (`handle_…`), call `handle_timeout` at `poll_timeout`, and after either
//! drain `poll_transmit` and `poll_event`. None knows a link: a packet comes out with the interface or the network
//! ([`Towards`]) that it is for.

mod access_router;
mod access_routers;
mod correspondent;
mod home_agent;
mod layers;
mod mobile_node;
pub mod return_routability;
mod words;

pub use access_router::{AccessRouter, AdvertisingSettings, GroupMobile};
pub use access_routers::AccessRouters;
pub use correspondent::{Correspondent, CorrespondentCounts};
pub use home_agent::{
    HomeAgent, HomeAgentCounts, HomeAgentEvent, HomeAgentSettings, Strategy, Subscriber,
};
pub use mobile_node::{
    BufferingRequest, MobileCounts, MobileEvent, MobileNode, MobileSettings, Received,
    RouterRegistration,
};

use crate::interface::InterfaceId;
use crate::packet::{Body, Extended, Packet};
use crate::wire::mobility_header::{Authenticator, MobilityMessage};
use core::net::{IpAddr, Ipv6Addr};
use return_routability::Key;

/// Where an agent's packet goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Towards {
    /// Wherever the routes of the node lead.
    Network,
    /// Out of this interface, by its place in the node: it is for the link itself.
    Interface(InterfaceId),
}

/// A secret that a mobile and its home agent share (RFC 4285 section 5.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharedKey {
    /// Names the security association.
    pub security_parameter_index: u32,
    /// The secret.
    pub key: [u8; 20],
}

/// A message in a Mobility Header, behind a home address option or a type 2 routing header if one is given.
fn mobility_packet(
    (source, destination): (Ipv6Addr, Ipv6Addr),
    (home_address, routing_home_address): (Option<Ipv6Addr>, Option<Ipv6Addr>),
    message: MobilityMessage,
) -> Packet {
    let body = Body::Mobility(Box::new(message));
    let body = extend((home_address, routing_home_address), body);
    super::packet(source.into(), destination.into(), body)
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

/// Source and destination, if they are of IPv6.
fn addresses_v6(packet: &Packet) -> Option<(Ipv6Addr, Ipv6Addr)> {
    match (packet.ip.source, packet.ip.destination) {
        (IpAddr::V6(source), IpAddr::V6(destination)) => Some((source, destination)),
        _ => None,
    }
}

/// Puts the authenticator into a message between mobile and home agent: of the care-of address, the home address and
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

/// Puts the authenticator into a message between mobile and correspondent: of the care-of address, the
/// correspondent's and the message (RFC 6275 section 6.2.7).
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

/// Whether a message carries the authenticator that its receiver would have put there.
fn is_from_home(
    shared: &SharedKey,
    addresses: (Ipv6Addr, Ipv6Addr),
    message: &MobilityMessage,
) -> bool {
    let mut expected = message.clone();
    sign_for_home(shared, addresses, &mut expected);
    expected == *message
}

/// Likewise, between mobile and correspondent.
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

/// An address that a mobile may be reached at: not the unspecified, a multicast or a link-local one.
fn is_routable(address: Ipv6Addr) -> bool {
    !(address.is_unspecified()
        || address.is_multicast()
        || address.is_loopback()
        || address.is_unicast_link_local())
}

#[cfg(test)]
mod tests;
