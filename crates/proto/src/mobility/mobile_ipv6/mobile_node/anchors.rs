//! The mobile's bindings at mobility anchor points (RFC 5380 section 6.1): an anchor point binds the on-link care-of
//! address to a regional one, by which the home agent and correspondents know the mobile. So a move inside the anchor
//! point's domain is reported to the anchor point alone. Without an anchor point that answers, the home agent gets the
//! on-link care-of address.

use super::registration::{Purpose, Registration};
use super::{MobileEvent, MobileNode, Received, Towards};
use crate::interface::InterfaceId;
use crate::mobility::address_configuration::Attachment;
use crate::mobility::mobile_ipv6::{addresses_v6, is_routable};
use crate::mobility::tunnel::{Refusal, error_about};
use crate::packet::{Body, Packet};
use crate::time::{Duration, Instant};
use crate::wire::icmp::{IcmpError, IcmpMessage};
use crate::wire::mobility_header::BindingLifetime;
use crate::wire::neighbor_discovery::AnchorPoint;
use crate::wire::prefix::Ipv6Prefix;
use core::net::{IpAddr, Ipv6Addr};

/// Maximum number of anchor points with a binding: the latest ones. Chosen.
const MOST_ANCHORS: usize = 4;

/// A mobility anchor point, and the mobile's binding there.
#[derive(Clone, Debug)]
pub(super) struct Anchor {
    pub(super) address: Ipv6Addr,
    /// Regional care-of address: the home address of the binding.
    pub(super) regional: Ipv6Addr,
    pub(super) binding: Registration,
    /// On-link care-of address before the accepted one, to which the anchor point may still send for a while.
    pub(super) former: Option<Ipv6Addr>,
}

impl Anchor {
    /// Returns the on-link care-of address that the anchor point has accepted.
    pub(super) fn accepted(&self) -> Option<Ipv6Addr> {
        self.binding.latest()
    }

    fn knows(&self, on_link: Ipv6Addr) -> bool {
        [self.accepted(), self.former].contains(&Some(on_link))
    }
}

/// The mobile's anchor points.
#[derive(Clone, Debug, Default)]
pub(super) struct Anchors {
    /// Anchor points, the latest last.
    pub(super) all: Vec<Anchor>,
    /// Address of the one in use.
    pub(super) current: Option<Ipv6Addr>,
    /// End of its validity.
    until: Instant,
    /// Anchor points that have refused the mobile on this link, or have not answered.
    pub(super) lost: Vec<Ipv6Addr>,
}

impl Anchors {
    pub(super) fn find(&self, address: Ipv6Addr) -> Option<&Anchor> {
        self.all.iter().find(|anchor| anchor.address == address)
    }

    pub(super) fn find_mut(&mut self, address: Ipv6Addr) -> Option<&mut Anchor> {
        self.all.iter_mut().find(|anchor| anchor.address == address)
    }

    /// Returns the anchor point in use.
    pub(super) fn current(&self) -> Option<&Anchor> {
        self.find(self.current?)
    }

    /// Returns the anchor point of a regional care-of address.
    pub(super) fn with(&self, regional: Ipv6Addr) -> Option<&Anchor> {
        self.all.iter().find(|anchor| anchor.regional == regional)
    }

    /// Returns true for an on-link care-of address to which an anchor point may send.
    pub(super) fn knows(&self, on_link: Ipv6Addr) -> bool {
        self.all.iter().any(|anchor| anchor.knows(on_link))
    }

    /// Returns the time of the next action. `is_away`: the mobile has an on-link care-of address.
    pub(super) fn poll_timeout(&self, is_away: bool) -> Option<Instant> {
        let current = self.current.filter(|_| is_away);
        let bindings = self.all.iter().filter_map(|anchor| {
            let refreshes = current == Some(anchor.address);
            anchor.binding.poll_timeout(refreshes)
        });
        bindings.chain(current.map(|_| self.until)).min()
    }

    /// Uses an anchor point from now on. A known one keeps its sequence numbers.
    fn choose(&mut self, address: Ipv6Addr, regional: Ipv6Addr, until: Instant) {
        self.until = until;
        self.current = Some(address);
        if self.find(address).is_some() {
            return;
        }
        if self.all.len() >= MOST_ANCHORS {
            self.all.remove(0);
        }
        self.all.push(Anchor {
            address,
            regional,
            binding: Registration::default(),
            former: None,
        });
    }
}

impl MobileNode {
    /// Returns true while the mobile uses an anchor point.
    pub(super) fn is_anchored(&self) -> bool {
        let current = self.extras.anchors().and_then(|own| own.current());
        current.is_some() && self.on_link_care_of().is_some()
    }

    /// Returns true for the address of an anchor point.
    pub(super) fn is_anchor(&self, address: IpAddr) -> bool {
        let IpAddr::V6(address) = address else {
            return false;
        };
        let own = self.extras.anchors();
        own.is_some_and(|own| own.find(address).is_some())
    }

    /// Returns the longest lifetime of a binding of the care-of address: that of the regional address (section 6.1).
    pub(super) fn longest_lifetime(&self) -> BindingLifetime {
        let anchor = self.extras.anchors().and_then(|own| own.current());
        let regional = anchor.and_then(|anchor| anchor.binding.lifetime());
        let wanted = self.settings.fleet.lifetime;
        regional.map_or(wanted, |regional| regional.min(wanted))
    }

    /// Follows a change of attachment. While there is none, the anchor point stays in use.
    pub(super) fn move_to_anchor(&mut self, now: Instant) {
        let Some(own) = self.extras.anchors_mut() else {
            return;
        };
        own.lost.clear();
        for anchor in &mut own.all {
            anchor.binding.pending = None;
        }
        if self.attachment() != Attachment::None {
            self.use_anchor(now);
        }
    }

    /// Follows a change of the anchor points that the router advertises.
    pub(super) fn follow_anchor_points(&mut self, now: Instant) {
        if self.on_link_care_of().is_none() {
            return;
        }
        let wanted = self.wanted_anchor(now);
        let Some(own) = self.extras.anchors_mut() else {
            return;
        };
        match (wanted, own.current) {
            (Some((address, until)), Some(current)) if address == current => {
                own.until = until;
                return;
            }
            (None, None) => return,
            (_, lost) => {
                let lost = lost.map(MobileEvent::AnchorLost);
                self.events.extend(lost);
            }
        }
        self.use_anchor(now);
        self.move_registration(now);
        self.move_peers(now);
    }

    /// Returns the anchor point for this link, and the end of its validity: the one in use if it is still advertised,
    /// otherwise the furthest that is available (section 9.1). It stays until the router has advertised itself.
    fn wanted_anchor(&self, now: Instant) -> Option<(Ipv6Addr, Instant)> {
        let own = self.extras.anchors()?;
        self.on_link_care_of()?;
        let configuration = self.interfaces.get(self.interface()?)?;
        let Some((points, heard)) = configuration.anchor_points() else {
            return Some((own.current?, own.until)).filter(|&(_, until)| until > now);
        };
        let until =
            |point: &AnchorPoint| heard + Duration::from_secs(u64::from(point.valid_lifetime_s));
        let is_usable = |point: &&AnchorPoint| {
            let regional = self.regional(point.address);
            point.forms_addresses
                && point.preference > 0
                && until(point) > now
                && is_routable(point.address)
                && regional != point.address
                && !self.is_own(regional.into())
                && !own.lost.contains(&point.address)
        };
        // The last of equals is chosen.
        let usable = points.iter().filter(is_usable).rev();
        let wanted = usable.max_by_key(|point| {
            let is_current = own.current == Some(point.address);
            (is_current, point.distance, point.preference)
        })?;
        Some((wanted.address, until(wanted)))
    }

    /// Returns the regional care-of address at an anchor point: its first 64 bits, and the mobile's identifier.
    fn regional(&self, anchor: Ipv6Addr) -> Ipv6Addr {
        let identifier = Ipv6Addr::from_bits(self.settings.interface_identifier.into());
        Ipv6Prefix::new(anchor, 64).map_or(anchor, |prefix| prefix.address_of(identifier))
    }

    /// Binds the mobile at the anchor point for this link.
    pub(super) fn use_anchor(&mut self, now: Instant) {
        let wanted = self.wanted_anchor(now);
        let chosen = wanted.map(|(address, until)| (address, self.regional(address), until));
        let Some(own) = self.extras.anchors_mut() else {
            return;
        };
        let before = own.current.take();
        if let Some((address, regional, until)) = chosen {
            own.choose(address, regional, until);
        }
        let current = own.current;
        if let Some(left) = before.filter(|_| before != current) {
            self.leave_anchor(now, left);
        }
        let anchor = self.extras.anchors().and_then(|own| own.current());
        let is_at = |on_link| anchor.is_none_or(|anchor| anchor.binding.is_at(now, on_link));
        if self
            .on_link_care_of()
            .is_some_and(|on_link| !is_at(on_link))
        {
            self.register_at_anchor(now);
        }
    }

    /// Lets the previous anchor point forward late packets (section 8), unless the link that it knows is up.
    fn leave_anchor(&mut self, now: Instant, left: Ipv6Addr) {
        let Some(on_link) = self.on_link_care_of() else {
            return;
        };
        let own = self.extras.anchors();
        let is_lost = own.is_some_and(|own| own.lost.contains(&left));
        let anchor = own.and_then(|own| own.find(left));
        let bound = anchor.and_then(|anchor| anchor.binding.accepted(now));
        let is_needed = bound.is_some_and(|bound| {
            let there = self.interfaces.position(|one| one.has(bound));
            there.is_none() && !is_lost
        });
        if is_needed {
            let timeout = self.settings.fleet.binding_times.initial_timeout;
            self.begin_at(now, left, (Purpose::Register, on_link), timeout);
        }
    }

    /// Returns true for a packet from an anchor point's tunnel, for its regional care-of address.
    pub(super) fn is_from_anchor(
        &self,
        (source, destination): (Ipv6Addr, Ipv6Addr),
        inner: &Packet,
    ) -> bool {
        let anchor = self.extras.anchors().and_then(|own| own.find(source));
        let is_of_link = matches!(
            inner.body,
            Body::Icmp(IcmpMessage::NeighborDiscovery(_) | IcmpMessage::MulticastListenerReport(_))
        );
        anchor.is_some_and(|anchor| {
            let inside = addresses_v6(inner).map(|(_, inside)| inside);
            anchor.knows(destination) && inside == Some(anchor.regional) && !is_of_link
        })
    }

    /// Sends a packet over an interface; from a regional care-of address through the tunnel to its anchor point, by the
    /// on-link care-of address that this knows.
    pub(super) fn leave(
        &mut self,
        now: Instant,
        interface: InterfaceId,
        packet: Packet,
    ) -> Option<(Towards, Packet)> {
        let anchor = match packet.ip.source {
            IpAddr::V6(source) => self.extras.anchors().and_then(|own| own.with(source)),
            IpAddr::V4(_) => None,
        };
        let Some(anchor) = anchor else {
            return Some((Towards::Interface(interface), packet));
        };
        let (regional, exit) = (anchor.regional, anchor.address);
        let place = (anchor.accepted(), self.interface_with(regional));
        let (Some(on_link), Some(interface)) = place else {
            self.counts_mut().unreachable += 1;
            return None;
        };
        let ends = (on_link.into(), exit.into());
        match self.tunnels.encapsulate(now, packet, ends, false) {
            Ok(outer) => Some((Towards::Interface(interface), outer)),
            Err(Refusal::TooBig {
                mtu,
                quoted: Some(quoted),
            }) => {
                let error = match self.tunnels_to(quoted.destination) {
                    true => self.handle_too_big(now, regional, (quoted, mtu)),
                    false => {
                        let kind = IcmpError::PacketTooBig { mtu };
                        self.deliver(error_about(regional, kind, quoted))
                    }
                };
                self.received.extend(error.map(Received::Local));
                None
            }
            Err(_) => None,
        }
    }
}
