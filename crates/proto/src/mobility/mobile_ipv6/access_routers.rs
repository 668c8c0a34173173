//! The access routers of one host, one for each access link or cell, indexed so that a lookup does not ask each of
//! them.

use super::{AccessRouter, GroupMobile, Towards};
use crate::interface::InterfaceId;
use crate::mobility::buffering::{BufferPolicy, Held};
use crate::packet::Packet;
use crate::time::Instant;
use crate::wire::neighbor_discovery::{LinkLayerAddress, ProxyRouter};
use core::net::{IpAddr, Ipv6Addr};
use std::collections::{BTreeSet, VecDeque};

/// Access routers in the order of their addition, in which they are also asked.
#[derive(Clone, Debug, Default)]
pub struct AccessRouters {
    all: Vec<AccessRouter>,
    /// Time of each router's entry in `deadlines`.
    due: Vec<Instant>,
    deadlines: BTreeSet<(Instant, u32)>,
    /// Interfaces and their routers.
    at: BTreeSet<(InterfaceId, u32)>,
    /// Own addresses, global and link-local, with their routers, ascending: each packet on its way through is looked up, and
    /// few are added.
    addresses: Vec<(u128, u32)>,
    /// Routers that may have packets to send.
    speaking: BTreeSet<u32>,
    /// Routers that remember departed mobiles.
    holding: BTreeSet<u32>,
    /// Reports of packets that their buffers have taken in or dropped.
    held: VecDeque<Held>,
    /// Time of the latest call, at which one router's packets reach another.
    now: Instant,
}

impl AccessRouters {
    /// Adds a router.
    pub fn push(&mut self, router: AccessRouter) {
        let place = self.all.len() as u32;
        let settings = router.settings();
        self.at.insert((settings.interface, place));
        for address in [settings.address, settings.link_local] {
            let own = (address.to_bits(), place);
            let after = self.addresses.partition_point(|other| *other < own);
            self.addresses.insert(after, own);
        }
        self.due.push(router.poll_timeout());
        self.deadlines.insert((router.poll_timeout(), place));
        self.all.push(router);
    }

    /// Iterates over all routers.
    pub fn iter(&self) -> core::slice::Iter<'_, AccessRouter> {
        self.all.iter()
    }

    /// Adds the routers at an interface to a mobile's group.
    pub fn join(&mut self, interface: InterfaceId, mobile: GroupMobile, policy: BufferPolicy) {
        self.tell(interface, |router| router.join(mobile, policy));
    }

    /// Lets the routers at an interface [know](AccessRouter::know) the router at another access point.
    pub fn know(
        &mut self,
        interface: InterfaceId,
        at: LinkLayerAddress,
        known: ProxyRouter,
        policy: BufferPolicy,
    ) {
        self.tell(interface, |router| router.know(at, known, policy));
    }

    /// Returns the first router at an interface.
    pub fn at(&self, interface: InterfaceId) -> Option<&AccessRouter> {
        let mut here = self.at.range((interface, 0)..);
        let &(found, place) = here.next()?;
        (found == interface).then(|| &self.all[place as usize])
    }

    /// Returns true if a router takes packets for an address.
    pub(super) fn takes(&self, destination: IpAddr) -> bool {
        if self.all.is_empty() {
            return false;
        }
        let is_own = match destination {
            IpAddr::V6(address) => self.with_address(address).next().is_some(),
            IpAddr::V4(_) => false,
        };
        let holds = |&place: &u32| self.all[place as usize].takes(destination);
        is_own || self.holding.iter().any(holds)
    }

    /// Applies a change to the routers at an interface.
    pub(super) fn tell(&mut self, interface: InterfaceId, mut tell: impl FnMut(&mut AccessRouter)) {
        let here = (interface, 0)..=(interface, u32::MAX);
        let places: Vec<u32> = self.at.range(here).map(|&(_, place)| place).collect();
        for place in places {
            tell(&mut self.all[place as usize]);
            self.note(place);
        }
    }

    /// Offers a packet to the routers that have its destination address, and to those that remember departed mobiles;
    /// returns it if no router keeps it.
    pub(super) fn offer(
        &mut self,
        packet: Packet,
        mut offer: impl FnMut(&mut AccessRouter, Packet) -> Option<Packet>,
    ) -> Option<Packet> {
        if self.all.is_empty() {
            return Some(packet);
        }
        let mut asked = self.holding.clone();
        if let IpAddr::V6(address) = packet.ip.destination {
            asked.extend(self.with_address(address));
        }
        let mut packet = packet;
        for place in asked {
            let kept = offer(&mut self.all[place as usize], packet);
            self.note(place);
            packet = kept?;
        }
        Some(packet)
    }

    fn with_address(&self, address: Ipv6Addr) -> impl Iterator<Item = u32> {
        let address = address.to_bits();
        let first = self.addresses.partition_point(|&(own, _)| own < address);
        let from_first = self.addresses[first..].iter();
        let own = from_first.take_while(move |&&(own, _)| own == address);
        own.map(|&(_, place)| place)
    }

    /// Returns the time of the next deadline.
    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        self.deadlines.first().map(|&(at, _)| at)
    }

    /// Notes the time of a call.
    pub(super) fn set_time(&mut self, now: Instant) {
        self.now = now;
    }

    pub(super) fn handle_timeout(&mut self, now: Instant) {
        self.set_time(now);
        let due = self.deadlines.range(..=(now, u32::MAX));
        let due: BTreeSet<u32> = due.map(|&(_, place)| place).collect();
        for place in due {
            self.all[place as usize].handle_timeout(now);
            self.note(place);
        }
    }

    pub(super) fn poll_transmit(&mut self) -> Option<(Towards, Packet)> {
        while let Some(&place) = self.speaking.first() {
            let Some((towards, packet)) = self.all[place as usize].poll_transmit() else {
                self.speaking.pop_first();
                continue;
            };
            let now = self.now;
            let packet = match towards {
                // One router of this host may hold the packets that another tunnels to a mobile's next address.
                Towards::Network => self.offer(packet, |router, packet| router.take(now, packet)),
                Towards::Interface(_) => Some(packet),
            };
            if let Some(packet) = packet {
                return Some((towards, packet));
            }
        }
        None
    }

    /// Returns the next report of a packet that a buffer has taken in or dropped.
    pub(super) fn poll_held(&mut self) -> Option<Held> {
        self.held.pop_front()
    }

    /// Updates the indices after a change to a router.
    fn note(&mut self, place: u32) {
        let router = &mut self.all[place as usize];
        self.held.extend(router.take_told());
        let due = router.poll_timeout();
        let noted = core::mem::replace(&mut self.due[place as usize], due);
        if due != noted {
            self.deadlines.remove(&(noted, place));
            self.deadlines.insert((due, place));
        }
        if router.has_to_send() {
            self.speaking.insert(place);
        }
        if router.holds() {
            self.holding.insert(place);
        } else if !self.holding.is_empty() {
            self.holding.remove(&place);
        }
    }
}
