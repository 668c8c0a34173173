//! Settings of a mobile, and of a fleet of them.

use super::SharedKey;
use crate::mobility::address_configuration::ConfigurationSettings;
use crate::mobility::binding::BindingTimes;
use crate::mobility::handover_service::HandoverServiceSettings;
use crate::mobility::network_access::AccessSettings;
use crate::time::Duration;
use crate::wire::mobility_header::BindingLifetime;
use crate::wire::prefix::Prefix;
use core::net::Ipv6Addr;
use std::sync::Arc;

/// Settings of a mobile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MobileSettings {
    /// Home address; `::` until one is known, if the home network prefix is
    /// [assigned](FleetSettings::is_prefix_assigned).
    pub home_address: Ipv6Addr,
    /// Security association with the home agent. Without one, messages are taken to be protected by IPsec, which is not
    /// modelled.
    pub key: Option<SharedKey>,
    /// Use of mobility anchor points (RFC 5380); `None` to ignore them.
    pub anchors: Option<Box<AnchorSettings>>,
    /// Network behind the mobile, if it is a mobile router.
    pub router: Option<RouterRegistration>,
    /// Last 64 bits of care-of addresses, and of a home address in an assigned prefix.
    pub interface_identifier: u64,
    /// AAA server to ask before using a care-of address, if any.
    pub access: Option<Box<AccessSettings>>,
    /// Point of service that assists handovers, if any.
    pub handover_service: Option<Box<HandoverServiceSettings>>,
    /// Settings shared with other mobiles.
    pub fleet: Arc<FleetSettings>,
}

/// Settings of a mobile that uses mobility anchor points.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AnchorSettings {
    /// Security association with the anchor points. Without one, messages are taken to be protected by IPsec, which is
    /// not modelled.
    pub key: Option<SharedKey>,
}

/// Settings that the mobiles of a fleet have in common.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FleetSettings {
    /// Address of the home agent.
    pub home_agent: Ipv6Addr,
    /// Binding lifetime to request.
    pub lifetime: BindingLifetime,
    /// True if the home agent assigns the home network prefix, before the first binding update (study D, section 3.2);
    /// not with [`has_group`](Self::has_group), whose routers know the home address ahead.
    pub is_prefix_assigned: bool,
    /// Configuration of care-of addresses. The advertisement of its home prefix tells a mobile that it is at home.
    pub configuration: Arc<ConfigurationSettings>,
    /// Timers of registration.
    pub binding_times: BindingTimes,
    /// Buffering to request from the home agent before a move, if any.
    pub buffering: Option<BufferingRequest>,
    /// True to ask the home agent at each move to send to the previous location, too, for a while.
    pub asks_for_bicasting: bool,
    /// True if the mobile reports its new location to the router of the previous link (RFC 5568), which forwards held
    /// packets.
    pub tells_routers: bool,
    /// True if the home agent copies packets to routers of the mobile's links, so that the mobile reports the last
    /// packet it received to the router of its new link.
    pub has_group: bool,
    /// True to use route optimisation with correspondents.
    pub optimizes_routes: bool,
    /// True to tunnel from a new care-of address right behind the update if the bound one is gone, for a home agent that
    /// [takes](super::super::HomeAgentSettings::proven_care_of) such packets; RFC 6275 section 11.7.1 waits for the acknowledgement.
    pub sends_before_acknowledgement: bool,
    /// Assumed path MTU in bytes.
    pub path_mtu: u32,
    /// True to lower TCP's maximum segment size to the tunnel MTU.
    pub clamp_segment_size: bool,
}

/// The network behind a mobile router (RFC 3963 section 5.2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RouterRegistration {
    /// Mobile network prefixes, of either IP version.
    pub prefixes: Box<[Prefix]>,
    /// True for explicit mode, in which updates list the prefixes; in implicit mode the home agent knows them.
    pub explicit: bool,
}

/// Timing of buffering requests (study D, sections 4 and 6.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufferingRequest {
    /// Initial timeout, doubled with each retransmission.
    pub timeout: Duration,
    /// Maximum number of retransmissions.
    pub retransmissions: u32,
}

impl BufferingRequest {
    /// Settings of study D, section 6.1: 1 s, three retransmissions.
    pub const STUDY_D: BufferingRequest = BufferingRequest {
        timeout: Duration::from_secs(1),
        retransmissions: 3,
    };
}
