//! The mobile: a node, or a router with a network behind it (RFC 6275 section 11, RFC 3963 section 5). It has an
//! [`AddressConfiguration`] for each interface, and registers with the home agent and correspondents.
//!
//! Call [`link_up`](MobileNode::link_up), [`link_down`](MobileNode::link_down) and
//! [`link_going_down`](MobileNode::link_going_down) on link events; pass packets from access links to
//! [`handle_packet`](MobileNode::handle_packet), which returns those for the transports, and outgoing packets to
//! [`handle_outgoing`](MobileNode::handle_outgoing); call [`handle_timeout`](MobileNode::handle_timeout) at
//! [`poll_timeout`](MobileNode::poll_timeout). After each, drain [`poll_received`](MobileNode::poll_received),
//! [`poll_transmit`](MobileNode::poll_transmit) and [`poll_event`](MobileNode::poll_event).

mod anchors;
mod announcement;
mod event;
mod extras;
mod fast_handover;
mod group;
mod interfaces;
mod local_updates;
mod optimization;
mod packets;
mod predicted;
mod prefix;
mod registration;
mod settings;

use super::{SharedKey, Towards};
use crate::crosslayer::PathParameters;
use crate::host::burst::Burst;
use crate::host::layer::Told;
use crate::interface::{InterfaceId, LinkEvent};
use crate::mobility::address_configuration::{
    AddressConfiguration, Attachment, ConfigurationEvent,
};
use crate::mobility::draws::Draws;
use crate::mobility::handover_service::{self, Signalling};
use crate::mobility::tunnel::{Refused, Tunnels};
use crate::packet::Packet;
use crate::time::Instant;
use crate::wire::mih::LinkIdentifier;
use crate::wire::mobility_header::PathReport;
use core::net::{IpAddr, Ipv6Addr};
pub use event::MobileEvent;
use extras::Extras;
use interfaces::Interfaces;
use registration::Registration;
pub use settings::{
    AnchorSettings, BufferingRequest, FleetSettings, MobileSettings, RouterRegistration,
};

/// A received packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Received {
    /// For the mobile's own transports, with the home address as destination.
    Local(Packet),
    /// For the network behind the mobile router.
    Behind(Packet),
}

/// Counts of discarded packets and messages, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MobileCounts {
    /// Own packets without an attachment or tunnel.
    pub unreachable: u64,
    /// Tunnelled packets before the home agent's acknowledgment (study D, fourth condition), or to a care-of address
    /// that is no longer held.
    pub unregistered: u64,
    /// Packets with addresses that are not this mobile's, from the tunnel or from behind.
    pub misdirected: u64,
    /// Packets for the mobile or its network that would have entered its own tunnel, or whose hop limit was used up.
    pub turned_back: u64,
    /// Messages that are unexpected, out of order, or not authenticated.
    pub unexpected: u64,
    /// Packets that did not enter the tunnel.
    pub tunnels: Refused,
}

/// Current point of attachment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    interface: InterfaceId,
    /// Home or away, never [`Attachment::None`].
    attachment: Attachment,
}

/// The mobile node's agent.
#[derive(Clone, Debug)]
pub struct MobileNode {
    settings: MobileSettings,
    interfaces: Interfaces,
    preferred: InterfaceId,
    place: Option<Place>,
    home: Registration,
    /// Care-of address before the accepted one, to which the home agent may still send for a while.
    former: Option<Ipv6Addr>,
    extras: Extras,
    tunnels: Tunnels,
    draws: Draws,
    counts: Option<Box<MobileCounts>>,
    outbox: Burst<(Towards, Packet)>,
    received: Burst<Received>,
    events: Burst<MobileEvent>,
    /// Events that its node has split.
    pub(super) told: Told,
}

impl MobileNode {
    /// Creates a mobile with `interfaces` interfaces, all down. Random delays and cookies come from `secret`, which
    /// changes with a restart.
    pub fn new(settings: MobileSettings, interfaces: usize, secret: [u8; 16]) -> MobileNode {
        let mut draws = Draws::new(secret);
        let mut extras = Extras::default();
        if settings.access.is_some() {
            extras.access_or_new();
        }
        if settings.handover_service.is_some() {
            extras.handover_service_or_new();
        }
        if settings.fleet.is_prefix_assigned {
            extras.prefix_or_new();
        }
        if settings.fleet.tells_routers {
            extras.routers_or_new();
        }
        if settings.anchors.is_some() {
            extras.anchors_or_new();
        }
        if settings.fleet.has_group {
            extras.group_or_new();
        }
        if settings.fleet.optimizes_routes {
            extras.peers_or_new();
        }
        MobileNode {
            interfaces: Interfaces::new(interfaces, &mut draws),
            preferred: InterfaceId(0),
            place: None,
            home: Registration::default(),
            former: None,
            extras,
            tunnels: Tunnels::new(settings.fleet.path_mtu, settings.fleet.clamp_segment_size),
            draws,
            counts: None,
            outbox: Burst::default(),
            received: Burst::default(),
            events: Burst::default(),
            told: Told::default(),
            settings,
        }
    }

    /// Returns the settings.
    pub const fn settings(&self) -> &MobileSettings {
        &self.settings
    }

    /// Returns the counts of discarded packets and messages.
    pub fn counts(&self) -> MobileCounts {
        MobileCounts {
            tunnels: self.tunnels.refused(),
            ..self.counts.as_deref().copied().unwrap_or_default()
        }
    }

    fn counts_mut(&mut self) -> &mut MobileCounts {
        self.counts.get_or_insert_default()
    }

    /// Returns the care-of address accepted by the home agent, until the binding expires.
    pub fn registered(&self, now: Instant) -> Option<Ipv6Addr> {
        self.home.accepted(now)
    }

    /// Returns the current attachment.
    pub fn attachment(&self) -> Attachment {
        self.place
            .map_or(Attachment::None, |place| place.attachment)
    }

    /// Returns the interface in use.
    pub fn interface(&self) -> Option<InterfaceId> {
        self.place.map(|place| place.interface)
    }

    /// Returns the interface that has this address, or receives the packets for this regional care-of address.
    pub(super) fn interface_with(&self, address: Ipv6Addr) -> Option<InterfaceId> {
        let anchor = self.extras.anchors().and_then(|own| own.with(address));
        let on_link = anchor.map_or(Some(address), |anchor| anchor.accepted())?;
        self.interfaces.position(|one| one.has(on_link))
    }

    /// Returns true if the home agent has accepted the care-of address in use.
    pub(super) fn is_known(&self) -> bool {
        let care_of = self.care_of();
        care_of.is_some() && self.home.latest() == care_of
    }

    /// Returns the router of the link in use.
    fn router(&self) -> Option<Ipv6Addr> {
        self.interfaces.get(self.interface()?)?.router_address()
    }

    /// Returns true if packets to an address go to [`handle_packet`](Self::handle_packet): the home address, an
    /// interface's address, an address behind the mobile, or a recent care-of address, whose router may still forward
    /// packets.
    pub fn takes(&self, address: IpAddr) -> bool {
        match address {
            IpAddr::V4(_) => self.is_behind(address),
            IpAddr::V6(address) => self.takes_v6(address),
        }
    }

    fn takes_v6(&self, address: Ipv6Addr) -> bool {
        address.is_multicast()
            || self.is_own(address.into())
            || [self.home.latest(), self.former].contains(&Some(address))
            || self.extras.anchors().is_some_and(|own| own.knows(address))
            || self.interfaces.position(|one| one.has(address)).is_some()
            // An advertisement may come before the address is ready (RFC 4429 section 3.3).
            || self.interfaces.position(|one| one.is_link_local(address)).is_some()
    }

    /// Uses this interface whenever it is attached (802.21 Link_Handover_Imminent, or the choice of a user).
    pub fn prefer(&mut self, now: Instant, interface: InterfaceId) {
        self.preferred = interface;
        self.settle(now);
    }

    /// Sets the path that updates sent over an interface report (802.21 Link_Parameters_Report).
    pub fn set_path(&mut self, interface: InterfaceId, path: PathParameters) {
        self.extras.paths_or_new().insert(interface, path);
    }

    /// Returns the path report for an update sent now.
    fn path_report(&self, now: Instant) -> Option<PathReport> {
        let path = self.extras.paths()?.get(&self.interface()?)?;
        let queue = path.queue_packets.unwrap_or(0);
        Some(PathReport {
            sent: (now.as_nanos() / 1_000) as u32,
            rate: u32::try_from(path.to_mobile.bits_per_second() / 1_000).unwrap_or(u32::MAX),
            queue_packets: u16::try_from(queue).unwrap_or(u16::MAX),
        })
    }

    /// Notes the network at an interface from now on, by the link identifier that the point of service knows (802.21
    /// Link_Up).
    pub fn set_link(&mut self, interface: InterfaceId, link: LinkIdentifier) {
        let settings = self.settings.handover_service.as_mut();
        if let Some(known) = settings.and_then(|one| one.links.get_mut(interface.0)) {
            *known = link;
        }
    }

    /// Takes in a medium's event at an interface, used or not, for the point of service's queries.
    pub fn handle_medium(&mut self, interface: InterfaceId, event: LinkEvent) {
        if let Some(service) = self.extras.handover_service_mut() {
            service.handle_medium(interface, event);
        }
    }

    /// Notes that an interface's link is up, perhaps at a new point of attachment (802.21 Link_Up,
    /// Link_Handover_Complete).
    pub fn link_up(&mut self, now: Instant, interface: InterfaceId) {
        let routers = self.extras.routers_mut();
        let predicted = routers.and_then(|routers| routers.predicted.as_mut());
        let expected = predicted.and_then(|predicted| predicted.arrive(interface));
        if let Some(configuration) = self.interfaces.get_mut(interface, &self.settings) {
            configuration.link_up(now);
            if let Some(router) = expected {
                configuration.assume(now, router);
            }
        }
        self.settle(now);
    }

    /// Notes that an interface's link is down (802.21 Link_Down).
    pub fn link_down(&mut self, now: Instant, interface: InterfaceId) {
        if let Some(configuration) = self.interfaces.get_mut(interface, &self.settings) {
            configuration.link_down();
        }
        self.settle(now);
    }

    /// Prepares a handover to this interface's network, with the point of service, the routers and the home agent, as far
    /// as they take part. Make the handover after [`MobileEvent::HandoverService`], [`MobileEvent::FastHandover`] or
    /// [`MobileEvent::Announced`], whatever its result; or before, if the link in use does not last.
    pub fn prepare_handover(&mut self, now: Instant, interface: InterfaceId) {
        self.ask_for_router(now, interface);
        self.prepare_announcement(now, interface);
        let (speaks_from, ahead) = (self.speaks_from(), self.ahead_at(interface));
        let used = self.interface();
        if let (Some(service), Some(settings)) = (
            self.extras.handover_service_mut(),
            &self.settings.handover_service,
        ) {
            match (settings.signalling, ahead) {
                (Signalling::Backward, _) => {
                    service.prepare(now, (used, interface), speaks_from, settings);
                }
                (Signalling::Forward, None) => service.await_place(now, interface),
                (Signalling::Forward, ahead) => {
                    service.prepare(now, (used, interface), ahead, settings)
                }
            }
            self.follow_handover_service();
        }
    }

    /// Notes that an interface's link will soon be down (802.21 Link_Going_Down). On the link in use, requests
    /// buffering from the home agent, if set up, or announces the interface's next link, if
    /// [known](Self::know_router).
    pub fn link_going_down(&mut self, now: Instant, interface: InterfaceId) {
        if self.interface() == Some(interface) {
            self.ask_for_buffering(now);
            self.announce(now, interface);
        }
    }

    /// Notes that the link in use stays (802.21 Link_Event_Rollback): registers here again if needed.
    pub fn link_rollback(&mut self, now: Instant, interface: InterfaceId) {
        if self.interface() == Some(interface) {
            self.withdraw_preparation(now);
        }
        let away = self.home.asked_for_buffering()
            || self.home.is_announcing()
            || self.home.latest() != self.care_of();
        if self.interface() == Some(interface) {
            self.end_buffering_at_anchor(now);
            if away {
                self.register(now);
            }
        }
    }

    /// Returns the time of the next [`handle_timeout`](Self::handle_timeout).
    pub fn poll_timeout(&self) -> Option<Instant> {
        let refreshes = self.care_of().is_some();
        let binds = refreshes && self.home.latest() == self.care_of();
        // One after the other: a single chain of iterators would test each of its parts again for every deadline.
        let mut earliest = Instant::NEVER;
        let mut ask = |deadline: Option<Instant>| {
            earliest = earliest.min(deadline.unwrap_or(Instant::NEVER));
        };
        if let Some(access) = self.extras.access() {
            ask(access.poll_timeout());
        }
        if let (Some(service), Some(settings)) = (
            self.extras.handover_service(),
            &self.settings.handover_service,
        ) {
            ask(service.poll_timeout(settings));
        }
        if let Some(prefix) = self.extras.prefix() {
            ask(prefix.poll_timeout());
        }
        ask(self.home.poll_timeout(refreshes));
        if let Some(anchors) = self.extras.anchors() {
            ask(anchors.poll_timeout(self.on_link_care_of().is_some()));
        }
        if let Some(routers) = self.extras.routers() {
            ask(routers.poll_timeout());
        }
        if let Some(group) = self.extras.group() {
            ask(group.poll_timeout());
        }
        for (_, interface) in self.interfaces.iter() {
            ask(interface.poll_timeout());
        }
        for peer in self
            .extras
            .peers()
            .into_iter()
            .flat_map(|peers| peers.values())
        {
            ask(peer.poll_timeout(binds));
        }
        (earliest != Instant::NEVER).then_some(earliest)
    }

    /// Performs the actions due at `now`.
    pub fn handle_timeout(&mut self, now: Instant) {
        for (_, interface) in self.interfaces.iter_mut() {
            interface.handle_timeout(now);
        }
        if let (Some(access), Some(settings)) = (self.extras.access_mut(), &self.settings.access) {
            access.handle_timeout(now, settings, &mut self.draws);
        }
        let speaks_from = self.speaks_from();
        if let (Some(service), Some(settings)) = (
            self.extras.handover_service_mut(),
            &self.settings.handover_service,
        ) {
            service.handle_timeout(now, settings);
            if let Some(place) = speaks_from {
                service.request_services(now, place, settings);
            }
            self.follow_handover_service();
        }
        self.settle(now);
        self.step_prefix(now);
        self.step_anchors(now);
        self.step_registration(now);
        self.step_routers(now);
        self.step_group(now);
        self.step_peers(now);
    }

    /// Returns the next packet to send, with its outgoing interface.
    pub fn poll_transmit(&mut self) -> Option<(Towards, Packet)> {
        for (place, interface) in self.interfaces.iter_mut() {
            if let Some(packet) = interface.poll_transmit() {
                return Some((Towards::Interface(place), packet));
            }
        }
        let of_access = self.extras.access_mut().and_then(|one| one.poll_transmit());
        if let Some((interface, packet)) = of_access {
            return Some((Towards::Interface(interface), packet));
        }
        let of_prefix = self.extras.prefix_mut().and_then(|one| one.poll_transmit());
        if let Some((interface, packet)) = of_prefix {
            return Some((Towards::Interface(interface), packet));
        }
        let service = self.extras.handover_service_mut();
        if let Some((interface, packet)) = service.and_then(|one| one.poll_transmit()) {
            return Some((Towards::Interface(interface), packet));
        }
        self.outbox.pop_front()
    }

    /// Returns the next packet for the network behind the mobile, or ICMP error for its transports.
    pub fn poll_received(&mut self) -> Option<Received> {
        self.received.pop_front()
    }

    /// Returns the next event.
    pub fn poll_event(&mut self) -> Option<MobileEvent> {
        self.events.pop_front()
    }

    /// Updates the point of attachment, and reacts to a change.
    fn settle(&mut self, now: Instant) {
        for (_, interface) in self.interfaces.iter_mut() {
            while let Some(event) = interface.poll_event() {
                if let ConfigurationEvent::Duplicate(address) = event {
                    self.events
                        .push_back(MobileEvent::DuplicateAddress(address));
                }
            }
        }
        self.follow_access(now);
        let place = self.find_place();
        let before = self.attachment();
        let moves = place != self.place;
        self.place = place;
        self.follow_place(now, moves);
        if !moves {
            return self.follow_anchor_points(now);
        }
        if self.attachment() != before {
            let event = MobileEvent::Attached(self.attachment());
            self.events.push_back(event);
        }
        self.follow_prefix(now);
        self.move_to_anchor(now);
        self.move_registration(now);
        self.follow_preparation();
        self.leave_router(now);
        self.ask_router(now);
        self.move_peers(now);
    }

    /// Requests access for new attachments, and passes on the results.
    fn follow_access(&mut self, now: Instant) {
        let (Some(own), Some(settings)) = (self.extras.access_mut(), &self.settings.access) else {
            return;
        };
        for (place, interface) in self.interfaces.iter() {
            let attached = (place, interface.attachment());
            own.follow(now, attached, settings, &mut self.draws);
        }
        while let Some(event) = own.poll_event() {
            self.events.push_back(MobileEvent::Access(event));
        }
    }

    /// Takes in the AAA server's answer.
    fn handle_access_answer(&mut self, now: Instant, at: (InterfaceId, Ipv6Addr), bytes: &[u8]) {
        if let (Some(access), Some(settings)) = (self.extras.access_mut(), &self.settings.access)
            && !access.handle_answer(now, at, bytes, settings)
        {
            self.counts_mut().unexpected += 1;
        }
        self.settle(now);
    }

    /// Takes in a message from the point of service to this place.
    fn handle_service_message(&mut self, now: Instant, at: handover_service::Place, bytes: &[u8]) {
        if let (Some(service), Some(settings)) = (
            self.extras.handover_service_mut(),
            &self.settings.handover_service,
        ) && !service.handle_message(now, at, bytes, settings)
        {
            self.counts_mut().unexpected += 1;
        }
        self.follow_handover_service();
    }

    /// Reports the complete handover to the point of service, once the home agent knows the new place.
    fn complete_handover(&mut self, now: Instant) {
        let speaks_from = self.speaks_from();
        if let Some(service) = self.extras.handover_service_mut()
            && let (Some(settings), Some(place)) = (&self.settings.handover_service, speaks_from)
        {
            service.complete(now, place, settings);
        }
    }

    /// Ends the exchanges with the point of service at places that the mobile has left, prepares a handover that awaits an
    /// address, and requests the services that the mobile lacks from where it is.
    fn follow_place(&mut self, now: Instant, moves: bool) {
        let taken = self.extras.handover_service_mut().map(core::mem::take);
        let Some(mut service) = taken else {
            return;
        };
        let speaks_from = self.speaks_from();
        service.follow(|place| speaks_from == Some(place) || self.ahead_at(place.0) == Some(place));
        if moves {
            service.note_move();
        }
        let awaited = service.awaited();
        if let Some(interface) = awaited
            && let Some(place) = self.ahead_at(interface)
            && let Some(settings) = &self.settings.handover_service
        {
            service.prepare(now, (self.interface(), interface), Some(place), settings);
        }
        if let (Some(place), Some(settings)) = (speaks_from, &self.settings.handover_service) {
            service.request_services(now, place, settings);
        }
        *self.extras.handover_service_or_new() = service;
        self.follow_handover_service();
    }

    fn follow_handover_service(&mut self) {
        let Some(service) = self.extras.handover_service_mut() else {
            return;
        };
        while let Some(event) = service.poll_event() {
            self.events.push_back(MobileEvent::HandoverService(event));
        }
    }

    /// Returns the interface in use, and the mobile's address there.
    fn speaks_from(&self) -> Option<handover_service::Place> {
        let address = self.on_link_care_of();
        let address = address.unwrap_or(self.settings.home_address);
        Some((self.interface()?, address))
    }

    /// Returns an interface and the mobile's address there, if messages before a handover take the new link.
    fn ahead_at(&self, interface: InterfaceId) -> Option<handover_service::Place> {
        let settings = self.settings.handover_service.as_ref()?;
        if settings.signalling == Signalling::Backward {
            return None;
        }
        match self.interfaces.get(interface)?.attachment() {
            Attachment::None => None,
            Attachment::Home => Some((interface, self.settings.home_address)),
            Attachment::Away(care_of) => Some((interface, care_of)),
        }
    }

    /// Chooses the preferred interface if it is attached and admitted, otherwise the one in use, otherwise the first: but
    /// a preferred one that is up may soon have an address, and is waited for.
    fn find_place(&self) -> Option<Place> {
        let attached = |interface: InterfaceId| {
            let attachment = self.interfaces.get(interface)?.attachment();
            let admitted = match self.extras.access() {
                Some(access) => access.admits(interface, attachment),
                None => attachment != Attachment::None,
            };
            admitted.then_some(Place {
                interface,
                attachment,
            })
        };
        attached(self.preferred)
            .or_else(|| attached(self.interface()?))
            .or_else(|| {
                let preferred = self.interfaces.get(self.preferred);
                let mut others = (0..self.interfaces.len()).map(InterfaceId);
                match preferred.is_some_and(AddressConfiguration::is_up) {
                    true => None,
                    false => others.find_map(attached),
                }
            })
    }

    /// Returns true if an address is in the network behind the mobile.
    fn is_behind(&self, address: IpAddr) -> bool {
        let prefixes = self.settings.router.iter();
        prefixes
            .flat_map(|router| &router.prefixes)
            .any(|prefix| prefix.contains(address))
    }

    /// Returns true for the home address, and for addresses behind the mobile.
    fn is_own(&self, address: IpAddr) -> bool {
        address == self.settings.home_address || self.is_behind(address)
    }

    /// Returns the attachment that the home agent and correspondents are to know: with an anchor point, at the regional
    /// care-of address, once the anchor point has accepted the mobile.
    fn known_attachment(&self) -> Attachment {
        let attachment = self.attachment();
        let anchor = self.extras.anchors().and_then(|own| own.current());
        match (attachment, anchor) {
            (Attachment::Away(_), Some(anchor)) => {
                let accepted = anchor.accepted();
                accepted.map_or(Attachment::None, |_| Attachment::Away(anchor.regional))
            }
            _ => attachment,
        }
    }

    /// Returns the care-of address that the home agent and correspondents are to know.
    fn care_of(&self) -> Option<Ipv6Addr> {
        match self.known_attachment() {
            Attachment::Away(care_of) => Some(care_of),
            _ => None,
        }
    }

    /// Returns the care-of address on the link in use.
    fn on_link_care_of(&self) -> Option<Ipv6Addr> {
        match self.attachment() {
            Attachment::Away(on_link) => Some(on_link),
            _ => None,
        }
    }

    /// Sends over the interface in use.
    fn send(&mut self, now: Instant, packet: Packet) {
        let sent = self.over_place(now, packet);
        self.outbox.extend(sent);
    }

    fn over_place(&mut self, now: Instant, packet: Packet) -> Option<(Towards, Packet)> {
        let interface = self.place?.interface;
        self.leave(now, interface, packet)
    }
}
