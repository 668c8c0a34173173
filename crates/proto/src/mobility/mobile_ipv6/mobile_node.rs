//! The mobile: a node or a router with a network behind it (RFC 6275 section 11, RFC 3963 section 5). It has an
//! [`AddressConfiguration`] for each interface and keeps the home agent, and correspondents, up to date.
//!
//! How to drive it: tell it of links ([`link_up`](MobileNode::link_up), [`link_down`](MobileNode::link_down),
//! [`link_going_down`](MobileNode::link_going_down)), hand in what comes from access links
//! ([`handle_packet`](MobileNode::handle_packet), which gives back what is for the transports) and what is to leave
//! ([`handle_outgoing`](MobileNode::handle_outgoing)),
//! call [`handle_timeout`](MobileNode::handle_timeout) at [`poll_timeout`](MobileNode::poll_timeout); after each drain
//! [`poll_received`](MobileNode::poll_received), [`poll_transmit`](MobileNode::poll_transmit) and
//! [`poll_event`](MobileNode::poll_event).

mod fast_handover;
mod group;
mod interfaces;
mod optimization;
mod packets;
mod registration;

use super::{SharedKey, Towards};
use crate::crosslayer::PathParameters;
use crate::interface::InterfaceId;
use crate::mobility::address_configuration::{
    Attachment, ConfigurationEvent, ConfigurationSettings, ConfigurationTimes,
    DuplicateAddressDetection,
};
use crate::mobility::binding::BindingTimes;
use crate::mobility::draws::Draws;
use crate::mobility::handover_service::{
    self, HandoverService, HandoverServiceEvent, HandoverServiceSettings,
};
use crate::mobility::network_access::{AccessEvent, AccessSettings, NetworkAccess};
use crate::mobility::pop;
use crate::mobility::tunnel::{Refused, Tunnels};
use crate::packet::Packet;
use crate::time::{Duration, Instant};
use crate::wire::mobility_header::{BindingLifetime, BindingStatus, PathReport};
use crate::wire::prefix::Ipv6Prefix;
use core::net::Ipv6Addr;
use fast_handover::Routers;
use group::Group;
use interfaces::Interfaces;
use optimization::Peer;
use registration::Registration;
use std::collections::{BTreeMap, VecDeque};

/// What is chosen for a mobile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MobileSettings {
    /// Its address wherever it is.
    pub home_address: Ipv6Addr,
    /// The prefix of the home link: where that is advertised, it is at home.
    pub home_prefix: Ipv6Prefix,
    /// Its home agent.
    pub home_agent: Ipv6Addr,
    /// How long its bindings shall hold.
    pub lifetime: BindingLifetime,
    /// The secret that it shares with the home agent; without one its messages are taken to go through IPsec, which
    /// is not modelled.
    pub key: Option<SharedKey>,
    /// As a mobile router: the network behind it.
    pub router: Option<RouterRegistration>,
    /// The last 64 bits of care-of addresses.
    pub interface_identifier: u64,
    /// How it is known that nobody has a care-of address.
    pub detection: DuplicateAddressDetection,
    /// Times of address configuration.
    pub configuration_times: ConfigurationTimes,
    /// Times of registration.
    pub binding_times: BindingTimes,
    /// Whom it asks before it uses a care-of address; without one it asks nobody.
    pub access: Option<AccessSettings>,
    /// With whose help it makes handovers; without one it makes them alone.
    pub handover_service: Option<HandoverServiceSettings>,
    /// Whether it asks the home agent to hold packets before it moves.
    pub buffering: Option<BufferingRequest>,
    /// Whether it tells the router of a link that it has left where it is (RFC 5568), for what that holds.
    pub tells_routers: bool,
    /// Whether routers of its links get copies of its packets from the home agent, so that it tells the one of a link to
    /// which it comes what it received last.
    pub has_group: bool,
    /// Whether it lets correspondents send directly to its care-of address.
    pub optimizes_routes: bool,
    /// Largest packet on the ways from it, in bytes, as far as is known.
    pub path_mtu: u32,
    /// Whether TCP's maximum segment size is lowered to what the tunnel takes.
    pub clamp_segment_size: bool,
}

/// The network behind a mobile router (RFC 3963 section 5.2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RouterRegistration {
    /// Its prefixes.
    pub prefixes: Vec<Ipv6Prefix>,
    /// Explicit mode: updates name them. In implicit mode the home agent knows them.
    pub explicit: bool,
}

/// How a mobile asks for buffering (study D, sections 4 and 6.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufferingRequest {
    /// How long it waits for the answer at first; then twice as long each time.
    pub timeout: Duration,
    /// How often it asks again.
    pub retransmissions: u32,
}

impl BufferingRequest {
    /// 1 s and three times (study D, section 6.1).
    pub const STUDY_D: BufferingRequest = BufferingRequest {
        timeout: Duration::from_secs(1),
        retransmissions: 3,
    };
}

/// A packet that has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Received {
    /// For the mobile's own transports, with the home address as its destination.
    Local(Packet),
    /// For the network behind the mobile router.
    Behind(Packet),
}

/// What has happened: the network layer's signals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MobileEvent {
    /// It is somewhere else: without a place, at home, or with a new care-of address.
    Attached(Attachment),
    /// Somebody has this address on the link: the mobile cannot use the link.
    DuplicateAddress(Ipv6Addr),
    /// A binding update has left.
    UpdateSent {
        /// To the home agent or a correspondent.
        to: Ipv6Addr,
        /// Its number.
        sequence: u16,
    },
    /// The home agent has accepted this care-of address.
    Registered(Ipv6Addr),
    /// The home agent has no binding any more.
    Deregistered,
    /// The home agent has refused: it is asked again later.
    Refused(BindingStatus),
    /// The home agent holds packets (or does not, although it was asked).
    Buffering(bool),
    /// The binding at the home agent has run out.
    Expired,
    /// The router of the link that was left sends packets after it (or does not, although it was asked).
    Forwarding(bool),
    /// A correspondent sends directly from now on.
    Optimized(Ipv6Addr),
    /// What the AAA server says of a care-of address.
    Access(AccessEvent),
    /// What came of [preparing a handover](MobileNode::prepare_handover).
    HandoverService(HandoverServiceEvent),
}

/// Packets that went nowhere, by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MobileCounts {
    /// Own packets while there was no place, or no tunnel.
    pub unreachable: u64,
    /// Packets out of the tunnel before the home agent's answer came (study D, fourth condition), or by a care-of
    /// address that is no longer held.
    pub unregistered: u64,
    /// Packets with addresses that are not this mobile's, out of the tunnel or from behind.
    pub misdirected: u64,
    /// Packets for the mobile or behind it that were about to go into its own tunnel.
    pub turned_back: u64,
    /// Messages that are unexpected, out of order, or without proof.
    pub unexpected: u64,
    /// Packets that did not enter the tunnel.
    pub tunnels: Refused,
}

/// Where the mobile is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    interface: InterfaceId,
    /// Home, or away; not [`Attachment::None`].
    attachment: Attachment,
}

/// The agent.
#[derive(Clone, Debug)]
pub struct MobileNode {
    settings: MobileSettings,
    interfaces: Interfaces,
    preferred: InterfaceId,
    place: Option<Place>,
    access: NetworkAccess,
    handover_service: HandoverService,
    home: Registration,
    /// The care-of address before the one that is accepted: a home agent may go on sending there for a while.
    former: Option<Ipv6Addr>,
    routers: Routers,
    group: Group,
    peers: BTreeMap<Ipv6Addr, Peer>,
    /// What its updates report of the link in use, of each interface.
    paths: BTreeMap<InterfaceId, PathParameters>,
    tunnels: Tunnels,
    draws: Draws,
    counts: MobileCounts,
    outbox: VecDeque<(Towards, Packet)>,
    received: VecDeque<Received>,
    events: VecDeque<MobileEvent>,
}

impl MobileNode {
    /// A mobile with so many interfaces, all down. `secret` gives its random delays and cookies; it is another after
    /// a restart.
    pub fn new(settings: MobileSettings, interfaces: usize, secret: [u8; 16]) -> MobileNode {
        let mut draws = Draws::new(secret);
        let configuration = ConfigurationSettings {
            interface_identifier: settings.interface_identifier,
            detection: settings.detection,
            times: settings.configuration_times,
            home_prefix: Some(settings.home_prefix),
        };
        MobileNode {
            interfaces: Interfaces::new(configuration, interfaces, &mut draws),
            preferred: InterfaceId(0),
            place: None,
            access: NetworkAccess::default(),
            handover_service: HandoverService::default(),
            home: Registration::default(),
            former: None,
            routers: Routers::default(),
            group: Group::default(),
            peers: BTreeMap::new(),
            paths: BTreeMap::new(),
            tunnels: Tunnels::new(settings.path_mtu, settings.clamp_segment_size),
            draws,
            counts: MobileCounts::default(),
            outbox: VecDeque::new(),
            received: VecDeque::new(),
            events: VecDeque::new(),
            settings,
        }
    }

    /// What was chosen.
    pub const fn settings(&self) -> &MobileSettings {
        &self.settings
    }

    /// What went wrong so far.
    pub fn counts(&self) -> MobileCounts {
        MobileCounts {
            tunnels: self.tunnels.refused(),
            ..self.counts
        }
    }

    /// The care-of address that the home agent has accepted, as long as it holds.
    pub fn registered(&self, now: Instant) -> Option<Ipv6Addr> {
        self.home.accepted(now)
    }

    /// Where it is.
    pub fn attachment(&self) -> Attachment {
        self.place
            .map_or(Attachment::None, |place| place.attachment)
    }

    /// The interface in use.
    pub fn interface(&self) -> Option<InterfaceId> {
        self.place.map(|place| place.interface)
    }

    /// The interface that has this address.
    pub(super) fn interface_with(&self, address: Ipv6Addr) -> Option<InterfaceId> {
        self.interfaces.position(|one| one.has(address))
    }

    /// The router of the link that it uses.
    fn router(&self) -> Option<Ipv6Addr> {
        self.interfaces.get(self.interface()?)?.router_address()
    }

    /// Whether packets for this address are to be handed to [`handle_packet`](Self::handle_packet): it is the home
    /// address, an address of an interface, or behind; or a care-of address that was left lately, whose router may
    /// forward what still comes there.
    pub fn takes(&self, address: Ipv6Addr) -> bool {
        address.is_multicast()
            || self.is_own(address)
            || [self.home.latest(), self.former].contains(&Some(address))
            || self.interfaces.position(|one| one.has(address)).is_some()
    }

    /// Uses this interface as soon as it is attached, and as long as it is (802.21 Link_Handover_Imminent, or the
    /// choice of a user).
    pub fn prefer(&mut self, now: Instant, interface: InterfaceId) {
        self.preferred = interface;
        self.settle(now);
    }

    /// Lets updates that are sent over an interface report the path there (802.21 Link_Parameters_Report).
    pub fn set_path(&mut self, interface: InterfaceId, path: PathParameters) {
        self.paths.insert(interface, path);
    }

    /// What an update that leaves now reports.
    fn path_report(&self, now: Instant) -> Option<PathReport> {
        let path = self.paths.get(&self.interface()?)?;
        let queue = path.queue_packets.unwrap_or(0);
        Some(PathReport {
            sent: (now.as_nanos() / 1_000) as u32,
            rate: u32::try_from(path.to_mobile.bits_per_second() / 1_000).unwrap_or(u32::MAX),
            queue_packets: u16::try_from(queue).unwrap_or(u16::MAX),
        })
    }

    /// The link of an interface is up, at a new point of attachment perhaps (802.21 Link_Up, Link_Handover_Complete).
    pub fn link_up(&mut self, now: Instant, interface: InterfaceId) {
        if let Some(configuration) = self.interfaces.get_mut(interface) {
            configuration.link_up(now);
        }
        self.settle(now);
    }

    /// The link of an interface is down (802.21 Link_Down).
    pub fn link_down(&mut self, now: Instant, interface: InterfaceId) {
        if let Some(configuration) = self.interfaces.get_mut(interface) {
            configuration.link_down();
        }
        self.settle(now);
    }

    /// A handover to this interface's network is decided, or foreseen: the point of service is asked first, if there is one.
    /// Make it when [`MobileEvent::HandoverService`] has come, whatever that says; or before, where the link in use does not
    /// wait.
    pub fn prepare_handover(&mut self, now: Instant, interface: InterfaceId) {
        let place = self.speaks_from();
        if let Some(settings) = &self.settings.handover_service {
            self.handover_service
                .prepare(now, (place, interface), settings);
            self.follow_handover_service();
        }
    }

    /// The link in use will soon be down (802.21 Link_Going_Down): the home agent is asked to hold packets, if that
    /// was chosen.
    pub fn link_going_down(&mut self, now: Instant, interface: InterfaceId) {
        if self.interface() == Some(interface) {
            self.ask_for_buffering(now);
        }
    }

    /// The mobile knows the care-of address that it will have next (from a table of routers and their prefixes) and
    /// tells the home agent ahead, which then sends to both places if it [bicasts](super::Strategy::Bicast): a
    /// predictive binding update (study D, table 3).
    pub fn announce(&mut self, now: Instant, care_of: Ipv6Addr) {
        if self.care_of().is_some() && self.home.accepted(now) == self.care_of() {
            self.announce_next(now, care_of);
        }
    }

    /// The link in use stays after all (802.21 Link_Event_Rollback): the home agent is told to send here again.
    pub fn link_rollback(&mut self, now: Instant, interface: InterfaceId) {
        let away = self.home.asked_for_buffering() || self.home.latest() != self.care_of();
        if self.interface() == Some(interface) && away {
            self.register(now);
        }
    }

    /// When [`handle_timeout`](Self::handle_timeout) has something to do.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let refreshes = self.care_of().is_some();
        let binds = refreshes && self.home.latest() == self.care_of();
        // One after the other: a chain of all looks at each of its links again for every deadline.
        let mut earliest = Instant::NEVER;
        let mut ask = |deadline: Option<Instant>| {
            earliest = earliest.min(deadline.unwrap_or(Instant::NEVER));
        };
        ask(self.access.poll_timeout());
        ask(self.handover_service.poll_timeout());
        ask(self.home.poll_timeout(refreshes));
        ask(self.routers.poll_timeout());
        ask(self.group.poll_timeout());
        for (_, interface) in self.interfaces.iter() {
            ask(interface.poll_timeout());
        }
        for peer in self.peers.values() {
            ask(peer.poll_timeout(binds));
        }
        (earliest != Instant::NEVER).then_some(earliest)
    }

    /// Does what is due at `now`.
    pub fn handle_timeout(&mut self, now: Instant) {
        for (_, interface) in self.interfaces.iter_mut() {
            interface.handle_timeout(now);
        }
        if let Some(settings) = &self.settings.access {
            self.access.handle_timeout(now, settings, &mut self.draws);
        }
        if let Some(settings) = &self.settings.handover_service {
            self.handover_service.handle_timeout(now, settings);
            self.follow_handover_service();
        }
        self.settle(now);
        self.step_registration(now);
        self.step_routers(now);
        self.step_group(now);
        self.step_peers(now);
    }

    /// The next packet to send, and out of which interface.
    pub fn poll_transmit(&mut self) -> Option<(Towards, Packet)> {
        for (place, interface) in self.interfaces.iter_mut() {
            if let Some(packet) = interface.poll_transmit() {
                return Some((Towards::Interface(place), packet));
            }
        }
        if let Some((interface, packet)) = self.access.poll_transmit() {
            return Some((Towards::Interface(interface), packet));
        }
        if let Some((interface, packet)) = self.handover_service.poll_transmit() {
            return Some((Towards::Interface(interface), packet));
        }
        pop(&mut self.outbox)
    }

    /// The next packet for the network behind the mobile, or for its transports of what they wanted to send.
    pub fn poll_received(&mut self) -> Option<Received> {
        pop(&mut self.received)
    }

    /// What has happened.
    pub fn poll_event(&mut self) -> Option<MobileEvent> {
        self.events.pop_front()
    }

    /// Finds out where the mobile is now, and does what a change asks for.
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
        if place == self.place {
            return;
        }
        let before = self.attachment();
        self.place = place;
        self.handover_service.follow(self.speaks_from());
        self.follow_handover_service();
        if self.attachment() != before {
            let event = MobileEvent::Attached(self.attachment());
            self.events.push_back(event);
        }
        self.move_registration(now);
        self.leave_router(now);
        self.ask_router(now);
        self.move_peers(now);
    }

    /// Asks for what has been attached, and hears what came of it.
    fn follow_access(&mut self, now: Instant) {
        let Some(settings) = &self.settings.access else {
            return;
        };
        for (place, interface) in self.interfaces.iter() {
            let attached = (place, interface.attachment());
            self.access.follow(now, attached, settings, &mut self.draws);
        }
        while let Some(event) = self.access.poll_event() {
            self.events.push_back(MobileEvent::Access(event));
        }
    }

    /// Takes in what the AAA server answers.
    fn handle_access_answer(&mut self, now: Instant, at: (InterfaceId, Ipv6Addr), bytes: &[u8]) {
        if let Some(settings) = &self.settings.access {
            let expected = self.access.handle_answer(now, at, bytes, settings);
            self.counts.unexpected += u64::from(!expected);
        }
        self.settle(now);
    }

    /// Takes in what the point of service answers.
    fn handle_service_answer(&mut self, now: Instant, bytes: &[u8]) {
        if let Some(settings) = &self.settings.handover_service {
            let expected = self.handover_service.handle_answer(now, bytes, settings);
            self.counts.unexpected += u64::from(!expected);
        }
        self.follow_handover_service();
    }

    /// The home agent knows where the mobile is: the point of service is told that the handover is complete.
    fn complete_handover(&mut self, now: Instant) {
        if let (Some(settings), Some(place)) = (&self.settings.handover_service, self.speaks_from())
        {
            self.handover_service.complete(now, place, settings);
        }
    }

    fn follow_handover_service(&mut self) {
        while let Some(event) = self.handover_service.poll_event() {
            self.events.push_back(MobileEvent::HandoverService(event));
        }
    }

    /// The interface in use, and the mobile's address there.
    fn speaks_from(&self) -> Option<handover_service::Place> {
        let address = self.care_of().unwrap_or(self.settings.home_address);
        Some((self.interface()?, address))
    }

    /// The preferred interface if it is attached and may be used, or else the one in use, or else the first.
    fn find_place(&self) -> Option<Place> {
        let attached = |interface: InterfaceId| {
            let attachment = self.interfaces.get(interface)?.attachment();
            let admitted = match &self.settings.access {
                Some(_) => self.access.admits(interface, attachment),
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
                (0..self.interfaces.len())
                    .map(InterfaceId)
                    .find_map(attached)
            })
    }

    /// Whether an address is in the network behind.
    fn is_behind(&self, address: Ipv6Addr) -> bool {
        let prefixes = self.settings.router.iter();
        prefixes
            .flat_map(|router| &router.prefixes)
            .any(|prefix| prefix.contains(address))
    }

    /// Whether an address is the mobile's own for good, or in the network behind.
    fn is_own(&self, address: Ipv6Addr) -> bool {
        address == self.settings.home_address || self.is_behind(address)
    }

    /// The care-of address in use.
    fn care_of(&self) -> Option<Ipv6Addr> {
        match self.attachment() {
            Attachment::Away(care_of) => Some(care_of),
            _ => None,
        }
    }

    /// Sends out of the interface in use.
    fn send(&mut self, packet: Packet) {
        let sent = self.over_place(packet);
        self.outbox.extend(sent);
    }

    fn over_place(&self, packet: Packet) -> Option<(Towards, Packet)> {
        Some((Towards::Interface(self.place?.interface), packet))
    }
}
