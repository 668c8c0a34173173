//! The mobile's part: it sets up its path at each base station of the domain, and keeps it.

mod idleness;

use super::{LIFETIME, Protocol, message_bytes, message_packet};
use crate::interface::InterfaceId;
use crate::mobility::clock::Clock;
use crate::packet::Packet;
use crate::time::{Duration, Instant};
use crate::wire::micro_mobility::{RouteKind, RouteMessage, is_signed};
use core::net::Ipv4Addr;
pub use idleness::IdleConfig;
use idleness::Idleness;
use std::collections::VecDeque;

/// Time to the retransmission of an unanswered message: as for a registration (RFC 5944 section 3.6.3).
const RETRANSMISSION: Duration = Duration::from_secs(1);
/// Unanswered handoffs before the mobile sets up its path from the root, as after power-up. Chosen: the old base station
/// may be out of reach.
const MOST_HANDOFFS: u32 = 3;
/// Time from a semisoft request to the handoff: the 100 ms of Campbell et al.'s experiments (from memory of "Design,
/// implementation, and evaluation of Cellular IP", IEEE Personal Communications 2000).
const SEMISOFT_DELAY: Duration = Duration::from_millis(100);

/// Settings of a mobile in a domain.
#[derive(Clone, Debug)]
pub struct ClientConfig {
    /// Address that the mobile keeps within the domain.
    pub address: Ipv4Addr,
    /// Address of the domain's root.
    pub root: Ipv4Addr,
    /// The mobile's key ([`mobile_key`](crate::wire::micro_mobility::mobile_key)).
    pub key: [u8; 16],
    /// The domain's protocol.
    pub protocol: Protocol,
    /// Time between route updates; above zero.
    pub refresh: Duration,
    /// Access interfaces within the domain, each with the address of the base station, as from its beacons.
    pub base_stations: Vec<(InterfaceId, Ipv4Addr)>,
    /// Settings of idleness; `None` for a mobile that is always active.
    pub idle: Option<IdleConfig>,
    /// Time of day.
    pub clock: Clock,
}

/// Event of a mobile in a domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientEvent {
    /// The path leads to this interface; with Cellular IP, the route update has left.
    Ready(InterfaceId),
    /// The announced handoff is prepared.
    Prepared,
}

/// A mobile in a domain.
#[derive(Debug)]
pub struct Client {
    config: ClientConfig,
    idleness: Option<Idleness>,
    attached: Option<(InterfaceId, Ipv4Addr)>,
    /// The last base station to which the path led, and the time until which entries lead there.
    old: Option<(Ipv4Addr, Instant)>,
    pending: Option<Pending>,
    /// The base station of an announced handoff, and the time at which the handoff is prepared.
    next: Option<(Ipv4Addr, Option<Instant>)>,
    /// Time of the last message that renewed the entries up to the root.
    renewed: Instant,
    refresh_at: Option<Instant>,
    last_timestamp: u64,
    outbox: VecDeque<(InterfaceId, Packet)>,
    events: VecDeque<ClientEvent>,
    refused: u64,
}

/// A handoff or power-up without its acknowledgment.
#[derive(Clone, Copy, Debug)]
struct Pending {
    /// Timestamp of the first attempt: an acknowledgment of any attempt counts.
    first: u64,
    attempts: u32,
    retransmit_at: Instant,
    /// False for an answer to a page: the mobile is where it was.
    has_moved: bool,
    /// True if the first attempt was a power-up, which goes to the root.
    is_power_up: bool,
}

impl Client {
    /// Creates a mobile outside the domain.
    pub fn new(config: ClientConfig) -> Client {
        Client {
            idleness: config.idle.clone().map(Idleness::new),
            config,
            attached: None,
            old: None,
            pending: None,
            next: None,
            renewed: Instant::ZERO,
            refresh_at: None,
            last_timestamp: 0,
            outbox: VecDeque::new(),
            events: VecDeque::new(),
            refused: 0,
        }
    }

    /// Returns the address that the mobile keeps within the domain.
    pub fn address(&self) -> Ipv4Addr {
        self.config.address
    }

    /// Returns true for an interface to a base station of the domain.
    pub fn has(&self, interface: InterfaceId) -> bool {
        self.base_station(interface).is_some()
    }

    /// Returns the number of messages refused: unreadable, unexpected, or with a wrong authenticator.
    pub fn refused(&self) -> u64 {
        self.refused
    }

    fn base_station(&self, interface: InterfaceId) -> Option<Ipv4Addr> {
        let mut known = self.config.base_stations.iter();
        let found = known.find(|(known, _)| *known == interface);
        found.map(|&(_, address)| address)
    }

    /// Sets up the path over a link that is up; [`ClientEvent::Ready`] follows.
    pub fn attach(&mut self, now: Instant, interface: InterfaceId) {
        let Some(base_station) = self.base_station(interface) else {
            return;
        };
        self.attached = Some((interface, base_station));
        self.next = None;
        if let Some(idle) = &mut self.idleness {
            if idle.moves_freely(now) {
                let update_at = idle.next_update(now, interface);
                self.refresh_at = Some(update_at);
                if update_at <= now {
                    self.refresh(now);
                }
                return self.events.push_back(ClientEvent::Ready(interface));
            }
            idle.be_active(now);
        }
        self.set_up_path(now, true);
        if let Protocol::CellularIp { .. } = self.config.protocol {
            self.events.push_back(ClientEvent::Ready(interface));
        }
    }

    /// Sets up the path, after a move or a page.
    fn set_up_path(&mut self, now: Instant, has_moved: bool) {
        match self.config.protocol {
            Protocol::Hawaii(_) => {
                self.refresh_at = None;
                self.pending = Some(Pending {
                    first: 0,
                    attempts: 0,
                    retransmit_at: now,
                    has_moved,
                    is_power_up: false,
                });
                self.transmit(now);
            }
            Protocol::CellularIp { .. } => self.refresh(now),
        }
    }

    /// Takes in a packet to or from the mobile, or a page: an idle mobile sets up its path.
    pub fn be_active(&mut self, now: Instant) {
        if self.attached.is_some()
            && let Some(idle) = &mut self.idleness
            && idle.be_active(now)
        {
            self.set_up_path(now, false);
        }
    }

    /// Takes in the loss of a link. The path stays where it leads until the next handoff or its expiry.
    pub fn detach(&mut self, interface: InterfaceId) {
        if self.attached.is_some_and(|(own, _)| own == interface) {
            self.attached = None;
            self.pending = None;
            self.next = None;
            self.refresh_at = None;
        }
    }

    /// Prepares an announced handoff to an interface; [`ClientEvent::Prepared`] follows. In a semisoft handoff, and with
    /// MNF, packets go to both base stations from then on: the request goes to the new one over the old link (the draft's
    /// indirect semisoft handoff, for mobiles with one radio).
    pub fn prepare(&mut self, now: Instant, interface: InterfaceId) {
        let next = self.base_station(interface);
        let next = next.filter(|_| self.config.protocol.prepares_handoffs());
        let (Some(next), Some((_, present))) = (next, self.attached) else {
            return self.events.push_back(ClientEvent::Prepared);
        };
        if next == present {
            return self.events.push_back(ClientEvent::Prepared);
        }
        self.next = Some((next, Some(now + SEMISOFT_DELAY)));
        self.request_copies(now);
    }

    /// Takes in that an announced handoff does not happen: the next route update ends its copies.
    pub fn stay(&mut self) {
        self.next = None;
    }

    /// Takes in a packet for the mobile; returns any that is not a message.
    pub fn handle_packet(&mut self, now: Instant, packet: Packet) -> Option<Packet> {
        let Some(bytes) = message_bytes(&packet) else {
            self.be_active(now);
            return Some(packet);
        };
        let message = RouteMessage::decode(bytes).ok();
        let message = message.filter(|message| {
            message.mobile == self.config.address && is_signed(bytes, &self.config.key)
        });
        let kind = message.map(|message| message.kind);
        if kind == Some(RouteKind::Page) && self.idleness.is_some() {
            self.be_active(now);
            return None;
        }
        let message = message.filter(|_| kind == Some(RouteKind::Acknowledgment));
        let is_answer = |message: &RouteMessage| {
            let first = self.pending.map(|pending| pending.first);
            let present = self.attached.map(|(_, address)| address);
            first.is_some_and(|first| first <= message.timestamp)
                && present == Some(message.new_base_station)
        };
        if !message.as_ref().is_some_and(is_answer) {
            self.refused += 1;
        } else if let Some((interface, base_station)) = self.attached {
            let pending = self.pending.take();
            self.note_path(
                now,
                base_station,
                pending.is_some_and(|own| own.is_power_up),
            );
            if pending.is_some_and(|pending| pending.has_moved) {
                self.events.push_back(ClientEvent::Ready(interface));
            }
        }
        None
    }

    /// Notes that entries lead to a base station from now on, and whether those up to the root are renewed. A handoff
    /// renews none above the crossover router, so that a refresh is due however often the mobile moves.
    fn note_path(&mut self, now: Instant, base_station: Ipv4Addr, is_renewed: bool) {
        self.old = Some((base_station, now + self.config.refresh.saturating_mul(2)));
        if is_renewed {
            self.renewed = now;
        }
        self.refresh_at = Some(now.max(self.renewed + self.config.refresh));
        if let Some(idle) = &mut self.idleness {
            idle.note_path(now, self.config.refresh);
        }
    }

    /// Sends the handoff, or the power-up of a mobile without a path in the domain.
    fn transmit(&mut self, now: Instant) {
        let Some((_, present)) = self.attached else {
            return;
        };
        let timestamp = self.timestamp(now);
        let Some(pending) = &mut self.pending else {
            return;
        };
        if pending.attempts == 0 {
            pending.first = timestamp;
        }
        pending.retransmit_at = now + RETRANSMISSION;
        let can_hand_off = pending.attempts < MOST_HANDOFFS;
        pending.attempts = pending.attempts.saturating_add(1);
        let old = self
            .old
            .filter(|&(old, until)| old != present && now < until);
        let (to, kind, old) = match old.filter(|_| can_hand_off) {
            Some((old, _)) => (present, RouteKind::Handoff, old),
            None => (self.config.root, RouteKind::PowerUp, Ipv4Addr::UNSPECIFIED),
        };
        if let Some(pending) = &mut self.pending
            && pending.attempts == 1
        {
            pending.is_power_up = kind == RouteKind::PowerUp;
        }
        self.send(to, kind, (present, old), timestamp);
    }

    /// Sends a paging update if the mobile is idle, otherwise a route update, and repeats the request for copies.
    fn refresh(&mut self, now: Instant) {
        let Some((interface, present)) = self.attached else {
            return;
        };
        let idle = self.idleness.as_mut().filter(|idle| idle.is_idle());
        let kind = if let Some(idle) = idle {
            self.refresh_at = Some(idle.note_update(now, interface));
            RouteKind::PagingUpdate
        } else {
            self.note_path(now, present, true);
            RouteKind::Update
        };
        let timestamp = self.timestamp(now);
        let stations = (present, Ipv4Addr::UNSPECIFIED);
        self.send(self.config.root, kind, stations, timestamp);
        self.request_copies(now);
    }

    fn request_copies(&mut self, now: Instant) {
        if let (Some((next, _)), Some((_, present))) = (self.next, self.attached) {
            let timestamp = self.timestamp(now);
            let stations = (next, present);
            self.send(next, RouteKind::SemisoftRequest, stations, timestamp);
        }
    }

    fn timestamp(&mut self, now: Instant) -> u64 {
        let next = self.last_timestamp.wrapping_add(1);
        self.last_timestamp = self.config.clock.timestamp(now).max(next);
        self.last_timestamp
    }

    fn send(
        &mut self,
        destination: Ipv4Addr,
        kind: RouteKind,
        (new_base_station, old_base_station): (Ipv4Addr, Ipv4Addr),
        timestamp: u64,
    ) {
        let Some((interface, _)) = self.attached else {
            return;
        };
        let message = RouteMessage {
            kind,
            mobile: self.config.address,
            new_base_station,
            old_base_station,
            timestamp,
        };
        let ends = (self.config.address, destination);
        let packet = message_packet(ends, &message, &self.config.key);
        self.outbox.push_back((interface, packet));
    }

    /// Returns the time of the next [`handle_timeout`](Self::handle_timeout).
    pub fn poll_timeout(&self) -> Option<Instant> {
        let retransmission = self.pending.map(|pending| pending.retransmit_at);
        let prepared = self.next.and_then(|(_, at)| at);
        let idle = self.idleness.as_ref().and_then(Idleness::poll_timeout);
        let all = [retransmission, self.refresh_at, prepared, idle];
        all.into_iter().flatten().min()
    }

    /// Sends the messages that are due, and ends the preparation of a handoff.
    pub fn handle_timeout(&mut self, now: Instant) {
        let is_due = |at: Option<Instant>| at.is_some_and(|at| at <= now);
        if is_due(self.pending.map(|pending| pending.retransmit_at)) {
            self.transmit(now);
        }
        let is_busy = self.pending.is_some() || self.next.is_some();
        let idle = self.idleness.as_mut();
        let is_idle = idle.is_some_and(|idle| idle.handle_timeout(now, is_busy));
        if is_idle || is_due(self.refresh_at) {
            self.refresh(now);
        }
        if let Some((_, at)) = &mut self.next
            && is_due(*at)
        {
            *at = None;
            self.events.push_back(ClientEvent::Prepared);
        }
    }

    /// Returns the next packet to send, with its interface.
    pub fn poll_transmit(&mut self) -> Option<(InterfaceId, Packet)> {
        self.outbox.pop_front()
    }

    /// Returns the next event.
    pub fn poll_event(&mut self) -> Option<ClientEvent> {
        self.events.pop_front()
    }
}
