//! Events of a mobile.

use crate::mobility::address_configuration::Attachment;
use crate::mobility::handover_service::HandoverServiceEvent;
use crate::mobility::mobile_ipv6::prefix_assignment::PrefixEvent;
use crate::mobility::network_access::AccessEvent;
use crate::wire::mobility_header::{BindingStatus, Ipv4AddressStatus};
use crate::wire::prefix::Ipv4Prefix;
use core::net::Ipv6Addr;

/// Event of the network layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MobileEvent {
    /// The attachment has changed: none, home, or a new care-of address.
    Attached(Attachment),
    /// Another node has this address on the link, so the mobile cannot use the link.
    DuplicateAddress(Ipv6Addr),
    /// A binding update was sent.
    UpdateSent {
        /// Home agent, correspondent or access router.
        to: Ipv6Addr,
        /// Sequence number.
        sequence: u16,
    },
    /// The home agent has accepted this care-of address.
    Registered(Ipv6Addr),
    /// The mobility anchor point has accepted this on-link care-of address.
    Anchored(Ipv6Addr),
    /// The anchor point at this address refuses, does not answer, or is no longer advertised.
    AnchorLost(Ipv6Addr),
    /// The home agent has deleted the binding.
    Deregistered,
    /// The home agent has refused an update, which is retried later.
    Refused(BindingStatus),
    /// The home agent has accepted the care-of address, but not this network behind the mobile.
    NetworkRefused {
        /// The network.
        network: Ipv4Prefix,
        /// Reason; `None` from a home agent that knows no IPv4 networks (RFC 5555).
        status: Option<Ipv4AddressStatus>,
    },
    /// The home agent holds packets, or (false) does not, although requested.
    Buffering(bool),
    /// The binding at the home agent has expired.
    Expired,
    /// The router of the previous link forwards packets, or (false) does not, although requested.
    Forwarding(bool),
    /// The routers of the present and of the next link have agreed on a move, or (false) have not.
    FastHandover(bool),
    /// The home agent has accepted the care-of address of the next link, or (false) has not.
    Announced(bool),
    /// A correspondent has accepted the care-of address and sends directly.
    Optimized(Ipv6Addr),
    /// Result of a request for a home network prefix.
    HomePrefix(PrefixEvent),
    /// Result of a request for network access.
    Access(AccessEvent),
    /// Event of the point of service: the result of [preparing a handover](super::MobileNode::prepare_handover), information
    /// about a network, or a remote event.
    HandoverService(HandoverServiceEvent),
}
