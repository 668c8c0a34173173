//! Multicast with intelligent buffering: the routers around a mobile get a copy of each of its packets from the home
//! agent. The mobile's current router delivers them, the others keep the latest ones. A mobile that arrives reports the
//! last packet it received, and gets the later ones.
//!
//! Chosen: the report is a binding update without the home registration flag, which is acknowledged. It arrives in
//! order over the link itself, so its sequence number is only returned; it is not signed, but accepted only from an
//! address of this link. A router serves a mobile until the link is down, the request's lifetime ends, or an update
//! with lifetime zero reports that another router serves the mobile.

use super::AccessRouter;
use crate::mobility::binding::duration;
use crate::mobility::buffering::{BufferCounts, BufferPolicy, EdgeBuffer, Held};
use crate::mobility::mobile_ipv6::{Towards, addresses_v6, mobility_packet};
use crate::packet::{Body, Packet};
use crate::time::Instant;
use crate::wire::mobility_header::{
    BindingAcknowledgement, BindingLifetime, BindingStatus, BindingUpdate, MobilityMessage,
};
use crate::wire::prefix::Ipv6Prefix;
use core::net::Ipv6Addr;
use std::collections::BTreeMap;

/// A mobile of whose packets a router gets copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupMobile {
    /// Its home address.
    pub home_address: Ipv6Addr,
    /// The network behind a mobile router.
    pub network: Option<Ipv6Prefix>,
    /// The home agent that sends the copies.
    pub home_agent: Ipv6Addr,
}

#[derive(Clone, Debug)]
struct Member {
    mobile: GroupMobile,
    buffer: EdgeBuffer,
    /// The mobile's care-of address while this router serves it, and the end of that service.
    serves: Option<(Ipv6Addr, Instant)>,
}

/// Mobiles whose groups include a router, by home address.
#[derive(Clone, Debug, Default)]
pub(super) struct Group {
    mobiles: BTreeMap<Ipv6Addr, Member>,
}

impl Group {
    pub fn counts(&self) -> BufferCounts {
        let mut counts = BufferCounts::default();
        let all = self.mobiles.values();
        all.for_each(|member| counts.add(member.buffer.counts()));
        counts
    }

    /// Takes the reports of copies taken in or dropped since the last call.
    pub fn take_told(&mut self) -> impl Iterator<Item = Held> {
        let all = self.mobiles.values_mut();
        all.flat_map(|member| member.buffer.take_told())
    }

    pub fn poll_timeout(&self) -> Option<Instant> {
        let all = self.mobiles.values();
        all.filter_map(Member::poll_timeout).min()
    }

    /// Returns the mobile to which a copy is addressed.
    fn of(&mut self, home_agent: Ipv6Addr, destination: Ipv6Addr) -> Option<&mut Member> {
        let mut all = self.mobiles.values_mut();
        all.find(|member| {
            let mobile = &member.mobile;
            let behind = mobile.network.is_some_and(|one| one.contains(destination));
            mobile.home_agent == home_agent && (mobile.home_address == destination || behind)
        })
    }
}

impl AccessRouter {
    /// Adds this router to a mobile's group. The policy drops the oldest packets, but no duplicate segments: which of
    /// two the mobile received is not known.
    pub fn join(&mut self, mobile: GroupMobile, policy: BufferPolicy) {
        let member = Member {
            mobile,
            buffer: EdgeBuffer::standing_by(policy),
            serves: None,
        };
        self.group.mobiles.insert(mobile.home_address, member);
    }

    /// Notes that the link to the mobile with this address is down (802.21 Link_Down): its copies are held again.
    pub(super) fn stop_serving(&mut self, address: Ipv6Addr) {
        for member in self.group.mobiles.values_mut() {
            if member.serves.is_some_and(|(served, _)| served == address) {
                member.stand_by();
            }
        }
    }

    pub(super) fn is_member_for(&self, home: Ipv6Addr) -> bool {
        self.group.mobiles.contains_key(&home)
    }

    /// Takes in a request: a mobile is at `care_of` on this link, or another router serves it from now on.
    pub(super) fn handle_request(
        &mut self,
        now: Instant,
        (home, care_of): (Ipv6Addr, Ipv6Addr),
        update: &BindingUpdate,
    ) {
        let member = self.group.mobiles.get_mut(&home);
        let member = member.filter(|_| self.settings.prefix.contains(care_of));
        let status = match member {
            None => BindingStatus::REASON_UNSPECIFIED,
            Some(member) if update.lifetime == BindingLifetime::ZERO => {
                member.stand_by();
                BindingStatus::ACCEPTED
            }
            Some(member) => {
                member.serves = Some((care_of, now + duration(update.lifetime)));
                member.buffer.take_over(now, update.last_received);
                BindingStatus::ACCEPTED
            }
        };
        if update.acknowledge {
            let granted = match status.is_accepted() {
                true => update.lifetime,
                false => BindingLifetime::ZERO,
            };
            let answer = BindingAcknowledgement::new(status, update.sequence, granted);
            let message = MobilityMessage::BindingAcknowledgement(answer);
            let addresses = (self.settings.address, care_of);
            let packet = mobility_packet(addresses, (None, Some(home)), message);
            self.outbox.push_back((Towards::Network, packet));
        }
        self.step_group(now);
    }

    /// Takes in a copy from a home agent; returns any other packet.
    pub(super) fn take_copy(&mut self, now: Instant, packet: Packet) -> Option<Packet> {
        let (Some((source, destination)), Body::Tunnel(inner)) =
            (addresses_v6(&packet), &packet.body)
        else {
            return Some(packet);
        };
        let inside = addresses_v6(inner).map(|(_, destination)| destination);
        let inside = inside.filter(|_| destination == self.settings.address);
        let member = inside.and_then(|inside| self.group.of(source, inside));
        let Some(member) = member else {
            return Some(packet);
        };
        let sent = packet
            .decapsulate()
            .and_then(|copy| member.buffer.offer(now, copy));
        if let Some((via, copy)) = sent {
            self.send_after(now, via, copy);
        }
        self.step_group(now);
        None
    }

    /// Sends the copies that are due, and drops those past their age.
    pub(super) fn step_group(&mut self, now: Instant) {
        let mut sent = Vec::new();
        for member in self.group.mobiles.values_mut() {
            if member.serves.is_some_and(|(_, until)| until <= now) {
                member.stand_by();
            }
            while let Some(released) = member.buffer.poll_transmit(now) {
                sent.push(released);
            }
        }
        for (via, packet) in sent {
            self.send_after(now, via, packet);
        }
    }
}

impl Member {
    fn poll_timeout(&self) -> Option<Instant> {
        let until = self.serves.map(|(_, until)| until);
        until.into_iter().chain(self.buffer.poll_timeout()).min()
    }

    fn stand_by(&mut self) {
        self.serves = None;
        self.buffer.hold();
    }
}
