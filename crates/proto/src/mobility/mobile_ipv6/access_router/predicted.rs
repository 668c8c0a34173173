//! Fast handovers ahead of a move (RFC 5568 section 3.2, predictive mode). A mobile asks its router for the router of its
//! next link, and names the address that it will have there; the two routers agree on it, and the first one tunnels
//! the mobile's packets to that address, where the second one holds them until the mobile comes.
//!
//! Chosen: the link layer reports the mobile's arrival (RFC 5568 has an unsolicited Neighbor Advertisement), the mobile
//! learns of the agreement on the old link only, and its own packets are not tunnelled back through the first router. An
//! update is accepted only from a mobile on the link, and a Handover Initiate only from a known router.

use super::{AccessRouter, departed::LONGEST_LIFETIME};
use crate::mobility::binding::{BindingTimes, Retransmission, duration};
use crate::mobility::buffering::BufferPolicy;
use crate::mobility::discovery;
use crate::mobility::mobile_ipv6::{Towards, is_routable, mobility_packet};
use crate::time::Instant;
use crate::wire::mobility_header::{
    BindingAcknowledgement, BindingLifetime, BindingStatus, BindingUpdate, HandoverAcknowledge,
    HandoverCode, HandoverInitiate, MobilityMessage,
};
use crate::wire::neighbor_discovery::{
    LinkLayerAddress, NeighborDiscovery, ProxyAdvertisement, ProxyRouter, ProxySolicitation,
};
use core::net::Ipv6Addr;
use std::collections::BTreeMap;

/// HI_RETRIES: number of transmissions of a Handover Initiate; with timeouts of 1 s, 2 s and 4 s (chosen).
const MOST_ATTEMPTS: u32 = 3;

/// An agreement with the router of a mobile's next link.
#[derive(Clone, Copy, Debug)]
struct Agreement {
    /// The mobile's address there.
    new: Ipv6Addr,
    router: Ipv6Addr,
    /// Sequence number of the Handover Initiate.
    sequence: u16,
    /// Sequence number and lifetime of the mobile's update.
    update: (u16, BindingLifetime),
    /// Retransmission of the Handover Initiate; `None` once it is accepted.
    pending: Option<Retransmission>,
}

/// Predictive handovers of a router.
#[derive(Clone, Debug, Default)]
pub(super) struct Predicted {
    /// Routers of other links, by access point.
    routers: BTreeMap<LinkLayerAddress, ProxyRouter>,
    /// Policy for packets of mobiles that are to come; without one they are not expected.
    policy: Option<BufferPolicy>,
    /// Agreements, by the mobiles' addresses on this link.
    agreements: BTreeMap<Ipv6Addr, Agreement>,
    sequence: u16,
}

impl Predicted {
    pub fn poll_timeout(&self) -> Option<Instant> {
        let pending = self.agreements.values().filter_map(|one| one.pending);
        pending.map(|pending| pending.deadline()).min()
    }

    /// Returns true if packets for a mobile go to its next link by agreement.
    pub fn has_agreed(&self, address: Ipv6Addr) -> bool {
        let found = self.agreements.get(&address);
        found.is_some_and(|agreement| agreement.pending.is_none())
    }

    /// Forgets a mobile that has stayed, come back, or moved on.
    pub fn forget(&mut self, address: Ipv6Addr) {
        self.agreements.remove(&address);
    }

    fn router_for(&self, address: Ipv6Addr) -> Option<ProxyRouter> {
        let mut routers = self.routers.values();
        routers
            .find(|router| router.prefix.contains(address))
            .copied()
    }
}

impl AccessRouter {
    /// Lets the router tell mobiles of the router at another access point, and agree with it on handovers. `policy` is
    /// that for the packets of mobiles that are to come from there.
    pub fn know(&mut self, at: LinkLayerAddress, router: ProxyRouter, policy: BufferPolicy) {
        self.predicted.routers.insert(at, router);
        self.predicted.policy.get_or_insert(policy);
    }

    /// Answers a mobile's question for a router (section 6.1.2).
    pub(super) fn answer_solicitation(&mut self, from: Ipv6Addr, asked: ProxySolicitation) {
        let message = NeighborDiscovery::ProxyAdvertisement(ProxyAdvertisement {
            identifier: asked.identifier,
            access_point: asked.access_point,
            router: self.predicted.routers.get(&asked.access_point).copied(),
        });
        let packet = discovery(self.settings.link_local, from, message);
        self.send_over_link(packet);
    }

    /// Takes in the update of a mobile on the link that is about to move to `new` (section 6.2.2).
    pub(super) fn initiate(
        &mut self,
        now: Instant,
        (address, new): (Ipv6Addr, Ipv6Addr),
        update: &BindingUpdate,
    ) {
        let lifetime = update.lifetime.min(LONGEST_LIFETIME);
        let update = (update.sequence, lifetime);
        let is_here = self.neighbors.contains(&address) && is_routable(new);
        let Some(router) = self.predicted.router_for(new).filter(|_| is_here) else {
            self.acknowledge(address, BindingStatus::REASON_UNSPECIFIED, update);
            return;
        };
        if let Some(known) = self.predicted.agreements.get_mut(&address)
            && known.new == new
        {
            known.update = update;
            if known.pending.is_none() {
                self.acknowledge(address, BindingStatus::ACCEPTED, update);
            }
            return;
        }
        let first_timeout = BindingTimes::default().initial_timeout;
        self.predicted.sequence = self.predicted.sequence.wrapping_add(1);
        let agreement = Agreement {
            new,
            router: router.address,
            sequence: self.predicted.sequence,
            update,
            pending: Some(Retransmission::begin(now, first_timeout)),
        };
        self.predicted.agreements.insert(address, agreement);
        self.send_initiate(address, agreement);
    }

    /// Takes in the update of a mobile that stays on the link: its packets go there again.
    pub(super) fn handle_withdrawal(
        &mut self,
        now: Instant,
        address: Ipv6Addr,
        update: &BindingUpdate,
    ) {
        if self.neighbors.contains(&address) && update.lifetime == BindingLifetime::ZERO {
            self.handle_return(now, address);
            let answered = (update.sequence, BindingLifetime::ZERO);
            self.acknowledge(address, BindingStatus::ACCEPTED, answered);
        }
    }

    fn send_initiate(&mut self, address: Ipv6Addr, agreement: Agreement) {
        let message = MobilityMessage::HandoverInitiate(HandoverInitiate {
            sequence: agreement.sequence,
            buffers: true,
            previous_care_of_address: address,
            new_care_of_address: agreement.new,
        });
        let ends = (self.settings.address, agreement.router);
        let packet = mobility_packet(ends, (None, None), message);
        self.outbox.push_back((Towards::Network, packet));
    }

    /// Takes in a message of another router.
    pub(super) fn take_router_message(
        &mut self,
        now: Instant,
        from: Ipv6Addr,
        message: &MobilityMessage,
    ) {
        match message {
            MobilityMessage::HandoverInitiate(initiate) => self.expect(now, from, *initiate),
            MobilityMessage::HandoverAcknowledge(answer) => self.agree(now, from, *answer),
            _ => {}
        }
    }

    /// Expects a mobile from another router's link: its packets are held until it comes (section 6.2.1).
    fn expect(&mut self, now: Instant, from: Ipv6Addr, initiate: HandoverInitiate) {
        let mut known = self.predicted.routers.values();
        let is_known = known.any(|router| router.address == from);
        let new = initiate.new_care_of_address;
        let code = match self.predicted.policy.filter(|_| is_known) {
            None => HandoverCode::ADMINISTRATIVELY_PROHIBITED,
            Some(_) if !self.settings.prefix.contains(new) || self.neighbors.contains(&new) => {
                HandoverCode::ADDRESS_NOT_VALID
            }
            Some(policy) => {
                self.hold_for(now, new, policy);
                HandoverCode::ACCEPTED
            }
        };
        let message = MobilityMessage::HandoverAcknowledge(HandoverAcknowledge {
            sequence: initiate.sequence,
            code,
        });
        let packet = mobility_packet((self.settings.address, from), (None, None), message);
        self.outbox.push_back((Towards::Network, packet));
    }

    /// Takes in the answer of the next link's router: tunnels the mobile's packets there, or leaves them to the reactive
    /// mode.
    fn agree(&mut self, now: Instant, from: Ipv6Addr, answer: HandoverAcknowledge) {
        let mut agreements = self.predicted.agreements.iter_mut();
        let asked = agreements.find(|(_, one)| {
            one.pending.is_some() && (one.router, one.sequence) == (from, answer.sequence)
        });
        let Some((&address, agreement)) = asked else {
            return;
        };
        agreement.pending = None;
        let Agreement { new, update, .. } = *agreement;
        match self.predicted.policy {
            Some(policy) if answer.code == HandoverCode::ACCEPTED => {
                self.acknowledge(address, BindingStatus::ACCEPTED, update);
                self.forward_to(now, (address, new), (policy, now + duration(update.1)));
            }
            _ => {
                self.predicted.forget(address);
                self.acknowledge(address, BindingStatus::REASON_UNSPECIFIED, update);
            }
        }
    }

    /// Answers the update of a mobile on the link (section 6.2.3).
    fn acknowledge(
        &mut self,
        address: Ipv6Addr,
        status: BindingStatus,
        (sequence, lifetime): (u16, BindingLifetime),
    ) {
        let granted = match status.is_accepted() {
            true => lifetime,
            false => BindingLifetime::ZERO,
        };
        let answer = BindingAcknowledgement::new(status, sequence, granted);
        let message = MobilityMessage::FastBindingAcknowledgement(answer);
        let packet = mobility_packet((self.settings.address, address), (None, None), message);
        self.send_over_link(packet);
    }

    /// Retransmits unanswered messages to other routers, and gives up after the last.
    pub(super) fn step_agreements(&mut self, now: Instant) {
        let longest = BindingTimes::default().longest_timeout;
        let is_due = |agreement: &Agreement| {
            let pending = agreement.pending;
            pending.is_some_and(|pending| pending.deadline() <= now)
        };
        let agreements = self.predicted.agreements.iter();
        let due = agreements.filter(|(_, agreement)| is_due(agreement));
        let due: Vec<Ipv6Addr> = due.map(|(&address, _)| address).collect();
        for address in due {
            let Some(agreement) = self.predicted.agreements.get_mut(&address) else {
                continue;
            };
            let update = agreement.update;
            match &mut agreement.pending {
                Some(pending) if pending.sent() < MOST_ATTEMPTS => {
                    pending.again(now, longest);
                    let agreement = *agreement;
                    self.send_initiate(address, agreement);
                }
                _ => {
                    self.predicted.forget(address);
                    self.acknowledge(address, BindingStatus::REASON_UNSPECIFIED, update);
                }
            }
        }
    }
}
