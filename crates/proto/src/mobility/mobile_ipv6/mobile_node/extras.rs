//! The parts of a mobile that few have.

use super::anchors::Anchors;
use super::fast_handover::Routers;
use super::group::Group;
use super::optimization::Peer;
use crate::crosslayer::PathParameters;
use crate::interface::InterfaceId;
use crate::mobility::handover_service::HandoverService;
use crate::mobility::mobile_ipv6::prefix_assignment::PrefixAssignment;
use crate::mobility::network_access::NetworkAccess;
use crate::wire::prefix::Ipv6Prefix;
use core::net::Ipv6Addr;
use std::collections::BTreeMap;

/// Parts that few mobiles have. A fleet has thousands, so that one without any pays a pointer for all.
#[derive(Clone, Debug, Default)]
pub(super) struct Extras(Option<Box<Parts>>);

macro_rules! parts {
    ($($(#[$about:meta])* $part:ident, $part_or_new:ident $(, $part_mut:ident)?: $kind:ty;)*) => {
        #[derive(Clone, Debug, Default)]
        struct Parts {
            $($part: Option<Box<$kind>>,)*
        }

        impl Extras {
            $(
                $(#[$about])*
                pub fn $part(&self) -> Option<&$kind> {
                    self.0.as_ref()?.$part.as_deref()
                }

                $(pub fn $part_mut(&mut self) -> Option<&mut $kind> {
                    self.0.as_mut()?.$part.as_deref_mut()
                })?

                /// Returns the part, created if there is none.
                pub fn $part_or_new(&mut self) -> &mut $kind {
                    self.0.get_or_insert_default().$part.get_or_insert_default()
                }
            )*
        }
    };
}

parts! {
    /// Returns its part of network access; `None` without an AAA server.
    access, access_or_new, access_mut: NetworkAccess;
    /// Returns its part of the handover service; `None` without a point of service.
    handover_service, handover_service_or_new, handover_service_mut: HandoverService;
    /// Returns the assignment of its home network prefix; `None` unless the prefix is assigned.
    prefix, prefix_or_new, prefix_mut: PrefixAssignment;
    /// Returns the routers of previous links; `None` unless they are informed.
    routers, routers_or_new, routers_mut: Routers;
    /// Returns the mobility anchor points; `None` unless they are used.
    anchors, anchors_or_new, anchors_mut: Anchors;
    /// Returns the prefixes of the next links of interfaces; `None` without a table.
    known_routers, known_routers_or_new: BTreeMap<InterfaceId, Ipv6Prefix>;
    /// Returns the group of routers; `None` unless they get copies.
    group, group_or_new, group_mut: Group;
    /// Returns the peers to which routes are optimised.
    peers, peers_or_new, peers_mut: BTreeMap<Ipv6Addr, Peer>;
    /// Returns the path of each interface, for the reports in updates.
    paths, paths_or_new: BTreeMap<InterfaceId, PathParameters>;
}
