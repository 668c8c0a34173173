//! Packets of mobiles that have left a router's link: held from the link layer's report of the departure, and forwarded
//! to the mobile's new address once the mobile has reported that (RFC 5568 section 3.3, reactive mode) or the routers
//! have agreed on it ([`predicted`](super::predicted)). Packets of a mobile that is to come are held in the same way.
//!
//! Chosen: in the reactive mode the two routers do not communicate (the standard's Handover Initiate asks the new router
//! whether the address is free; here the mobile detects that itself), and updates are not signed (the handover keys of
//! RFC 5269 are not modelled): an update is accepted only from a mobile whose link here has gone down.

use super::AccessRouter;
use crate::host::layer::Neighbor;
use crate::mobility::binding::{BindingSequence, duration};
use crate::mobility::buffering::{BufferCounts, BufferPolicy, EdgeBuffer, Held, Via};
use crate::mobility::mobile_ipv6::{Towards, addresses_v6, is_routable, mobility_packet};
use crate::mobility::tunnel::{Refusal, Tunnels, error_about};
use crate::packet::{Body, Packet};
use crate::time::Instant;
use crate::wire::icmp::IcmpError;
use crate::wire::mobility_header::{
    BindingAcknowledgement, BindingLifetime, BindingStatus, BindingUpdate, MobilityMessage,
};
use crate::wire::prefix::Ipv6Prefix;
use core::net::{IpAddr, Ipv6Addr};
use std::collections::{BTreeMap, BTreeSet};

/// Maximum time of forwarding after a mobile's report. Chosen: the longest interval of updates to a home agent
/// (MAX_BINDACK_TIMEOUT, RFC 6275 section 12).
pub(super) const LONGEST_LIFETIME: BindingLifetime = BindingLifetime::at_most(32);

/// A departed mobile.
#[derive(Clone, Debug)]
struct Departed {
    buffer: EdgeBuffer,
    /// Sequence number of the latest update.
    sequence: Option<BindingSequence>,
    /// Time at which the mobile is forgotten.
    until: Instant,
    /// Time of the mobile's entry in the deadlines.
    due: Instant,
}

/// Departed mobiles, by their previous addresses.
#[derive(Clone, Debug)]
pub(super) struct Departures {
    all: BTreeMap<Ipv6Addr, Departed>,
    /// Networks behind the mobiles that have one.
    networks: BTreeMap<Ipv6Addr, Ipv6Prefix>,
    deadlines: BTreeSet<(Instant, Ipv6Addr)>,
    tunnels: Tunnels,
    /// Counts of forgotten mobiles.
    counts: BufferCounts,
    told: Vec<Held>,
}

impl Departures {
    pub fn new(path_mtu: u32) -> Departures {
        Departures {
            all: BTreeMap::new(),
            networks: BTreeMap::new(),
            deadlines: BTreeSet::new(),
            tunnels: Tunnels::new(path_mtu, false),
            counts: BufferCounts::default(),
            told: Vec::new(),
        }
    }

    pub fn counts(&self) -> BufferCounts {
        let mut counts = self.counts;
        let present = self.all.values().map(|one| one.buffer.counts());
        present.for_each(|one| counts.add(one));
        counts
    }

    /// Takes the reports of packets taken in or dropped since the last call.
    pub fn take_told(&mut self) -> impl Iterator<Item = Held> {
        self.told.drain(..)
    }

    pub fn are_some(&self) -> bool {
        !self.all.is_empty()
    }

    pub fn takes(&self, address: IpAddr) -> bool {
        self.owner(address).is_some()
    }

    /// Returns the departed mobile that had an address, or whose network contains it.
    // Called for every packet in transit; mostly no mobile has departed.
    #[inline]
    fn owner(&self, address: IpAddr) -> Option<Ipv6Addr> {
        match address {
            IpAddr::V6(address) if !self.all.is_empty() => self.search(address),
            _ => None,
        }
    }

    fn search(&self, address: Ipv6Addr) -> Option<Ipv6Addr> {
        if self.all.contains_key(&address) {
            return Some(address);
        }
        let mut networks = self.networks.iter();
        let found = networks.find(|(_, network)| network.contains(address));
        found.map(|(&owner, _)| owner)
    }

    pub fn poll_timeout(&self) -> Option<Instant> {
        self.deadlines.first().map(|&(at, _)| at)
    }

    fn get_or_add(
        &mut self,
        address: Ipv6Addr,
        policy: BufferPolicy,
        until: Instant,
    ) -> &mut Departed {
        self.all.entry(address).or_insert_with(|| Departed {
            buffer: EdgeBuffer::standing_by(policy),
            sequence: None,
            until,
            due: until,
        })
    }

    /// Updates the reports and the deadline of a mobile after a change to it.
    fn note(&mut self, address: Ipv6Addr) {
        let Some(one) = self.all.get_mut(&address) else {
            return;
        };
        self.told.extend(one.buffer.take_told());
        let due = one.buffer.poll_timeout();
        let due = due.map_or(one.until, |at| at.min(one.until));
        self.deadlines.remove(&(one.due, address));
        one.due = due;
        self.deadlines.insert((due, address));
    }

    fn forget(&mut self, address: Ipv6Addr) {
        if let Some(mut gone) = self.all.remove(&address) {
            self.networks.remove(&address);
            self.deadlines.remove(&(gone.due, address));
            gone.buffer.drop_all();
            self.told.extend(gone.buffer.take_told());
            self.counts.add(gone.buffer.counts());
        }
    }
}

impl AccessRouter {
    /// Notes that the link to a mobile is going down, or down (802.21 Link_Going_Down, Link_Down): packets for it are held.
    pub fn handle_departure(&mut self, now: Instant, neighbor: Neighbor) {
        let (IpAddr::V6(address), Some(policy)) = (neighbor.address, neighbor.buffering) else {
            return;
        };
        if let Some(network) = neighbor.network {
            self.departures.networks.insert(address, network);
        }
        // Its packets are already on their way to its next link.
        if !self.predicted.has_agreed(address) {
            self.hold_for(now, address, policy);
        }
    }

    /// Holds the packets for a mobile that has left, or that is to come.
    pub(super) fn hold_for(&mut self, now: Instant, address: Ipv6Addr, policy: BufferPolicy) {
        // Chosen: a mobile silent for this long has found another path.
        let until = now + policy.age + policy.age;
        let departed = self.departures.get_or_add(address, policy, until);
        departed.buffer.hold();
        departed.until = until;
        self.step_departed(now, address);
    }

    /// Tunnels the packets for a mobile to its address on another link until a time.
    pub(super) fn forward_to(
        &mut self,
        now: Instant,
        (address, to): (Ipv6Addr, Ipv6Addr),
        (policy, until): (BufferPolicy, Instant),
    ) {
        let departed = self.departures.get_or_add(address, policy, until);
        departed.until = until;
        departed.buffer.forward(now, to.into());
        self.step_departed(now, address);
    }

    /// Notes that a mobile has returned (802.21 Link_Up, Link_Event_Rollback): held packets go over the link.
    pub fn handle_return(&mut self, now: Instant, address: Ipv6Addr) {
        self.is_up = true;
        self.predicted.forget(address);
        if let Some(departed) = self.departures.all.get_mut(&address) {
            departed.buffer.deliver(now);
        }
        self.step_departed(now, address);
    }

    /// Takes in a message of a mobile or of another router; returns any other packet.
    pub fn take_message(&mut self, now: Instant, packet: Packet) -> Option<Packet> {
        let Some((source, destination)) = addresses_v6(&packet) else {
            return Some(packet);
        };
        let extended = match &packet.body {
            Body::Extended(extended) => extended,
            Body::Mobility(message) if destination == self.settings.address => {
                return match **message {
                    MobilityMessage::HandoverInitiate(_)
                    | MobilityMessage::HandoverAcknowledge(_) => {
                        self.take_router_message(now, source, message);
                        None
                    }
                    _ => Some(packet),
                };
            }
            _ => return Some(packet),
        };
        let (Some(former), Body::Mobility(message)) = (extended.home_address, &extended.body)
        else {
            return Some(packet);
        };
        match &**message {
            MobilityMessage::FastBindingUpdate(update) if destination == self.settings.address => {
                self.handle_update(now, (former, source), update);
                None
            }
            MobilityMessage::BindingUpdate(update)
                if destination == self.settings.address
                    && !update.home_registration
                    && self.is_member_for(former) =>
            {
                self.handle_request(now, (former, source), update);
                None
            }
            _ => Some(packet),
        }
    }

    /// Takes in a packet for a departed mobile, or a copy for one that may come; returns any other packet.
    pub fn take(&mut self, now: Instant, packet: Packet) -> Option<Packet> {
        let packet = self.take_copy(now, packet)?;
        let Some(owner) = self.departures.owner(packet.ip.destination) else {
            return Some(packet);
        };
        let departed = self.departures.all.get_mut(&owner);
        if let Some((via, packet)) = departed.and_then(|one| one.buffer.offer(now, packet)) {
            self.send_after(now, via, packet);
        }
        self.step_departed(now, owner);
        None
    }

    /// Takes in an update (RFC 5568 section 6.2.2): the mobile that had `former` here is at `care_of`.
    fn handle_update(
        &mut self,
        now: Instant,
        (former, care_of): (Ipv6Addr, Ipv6Addr),
        update: &BindingUpdate,
    ) {
        if !update.home_registration || !is_routable(care_of) {
            return;
        }
        if care_of == former {
            match update.alternate_care_of_address {
                Some(new) => self.initiate(now, (former, new), update),
                None => self.handle_withdrawal(now, former, update),
            }
            return;
        }
        self.predicted.forget(former);
        let number = BindingSequence(update.sequence);
        let lifetime = update.lifetime.min(LONGEST_LIFETIME);
        let status = match self.departures.all.get_mut(&former) {
            None => BindingStatus::REASON_UNSPECIFIED,
            // A late, older update.
            Some(one) if one.sequence.is_some_and(|last| last.is_after(number)) => return,
            Some(one) => {
                one.sequence = Some(number);
                one.until = now + duration(lifetime);
                one.buffer.forward(now, care_of.into());
                BindingStatus::ACCEPTED
            }
        };
        if update.acknowledge {
            let granted = match status.is_accepted() {
                true => lifetime,
                false => BindingLifetime::ZERO,
            };
            let answer = BindingAcknowledgement::new(status, update.sequence, granted);
            let message = MobilityMessage::FastBindingAcknowledgement(answer);
            let addresses = (self.settings.address, care_of);
            let packet = mobility_packet(addresses, (None, None), message);
            self.outbox.push_back((Towards::Network, packet));
        }
        self.step_departed(now, former);
    }

    /// Performs the actions due for departed mobiles.
    pub(super) fn step_departures(&mut self, now: Instant) {
        let due = self.departures.deadlines.iter();
        let due = due.take_while(|&&(at, _)| at <= now);
        let due: BTreeSet<Ipv6Addr> = due.map(|&(_, address)| address).collect();
        for address in due {
            self.step_departed(now, address);
        }
    }

    /// Forwards a mobile's packets that are due, and forgets the mobile at the end of its time or once it is back.
    fn step_departed(&mut self, now: Instant, address: Ipv6Addr) {
        while let Some(departed) = self.departures.all.get_mut(&address)
            && let Some((via, packet)) = departed.buffer.poll_transmit(now)
        {
            self.send_after(now, via, packet);
        }
        let departed = self.departures.all.get(&address);
        if departed.is_some_and(|one| one.until <= now || one.buffer.is_at_rest()) {
            self.departures.forget(address);
            self.predicted.forget(address);
        }
        self.departures.note(address);
    }

    pub(super) fn send_after(&mut self, now: Instant, via: Via, mut packet: Packet) {
        let exit = match via {
            Via::Other(exit) => exit,
            Via::Link => {
                // Forwarding decrements the hop limit, so a packet with a used-up one ends here.
                if packet.ip.hop_limit > 1 {
                    packet.ip.hop_limit -= 1;
                    self.send_over_link(packet);
                }
                return;
            }
        };
        let entry = self.settings.address;
        match self
            .departures
            .tunnels
            .encapsulate(now, packet, (entry.into(), exit), true)
        {
            Ok(outer) => self.outbox.push_back((Towards::Network, outer)),
            Err(Refusal::TooBig {
                mtu,
                quoted: Some(quoted),
            }) => {
                let error = error_about(entry, IcmpError::PacketTooBig { mtu }, quoted);
                self.outbox.push_back((Towards::Network, error));
            }
            Err(_) => {}
        }
    }
}
