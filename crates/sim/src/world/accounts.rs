//! Accounts of flows' packets on their way from sender to end: on a link, in processing by a host, or in an agent's
//! buffer. All of them begin in [`World::count_sent`] or [`World::count_unsent`], and end in [`World::end_way`].

use super::delays::brings_data;
use super::packet_counts::{LossCause, Way};
use super::{Load, Probes, World};
use crate::packets::PacketId;
use baton_proto::host::{Staying, Unsent};
use baton_proto::mobility::buffering::{Held, Holding};
use baton_proto::packet::{Body, FlowId, Identity, IpHeader, Packet};
use baton_proto::time::Duration;
use baton_proto::wire::icmp::IcmpMessage;
use std::collections::{BTreeMap, BTreeSet};

/// Packets of flows that are on no link, and copies.
#[derive(Debug, Default)]
pub(super) struct Accounts {
    /// The packet being processed by a host.
    in_hand: Option<InHand>,
    /// Packets and copies in buffers, by number and copy: flow, identity, and whether they have payload.
    held: BTreeMap<(u64, u8), (FlowId, Identity, bool)>,
    /// Packets of which agents have made copies, by number, until the last one's end.
    several: BTreeMap<u64, Several>,
}

/// A packet being processed by a host.
#[derive(Clone, Copy, Debug)]
struct InHand {
    node: usize,
    flow: FlowId,
    identity: Identity,
    has_data: bool,
    is_damaged: bool,
    is_error: bool,
}

/// A packet with copies.
#[derive(Clone, Copy, Debug)]
struct Several {
    made: u8,
    /// Number of copies, itself included, that have not come to their end.
    left: u16,
    /// True once one has arrived at its receiver.
    has_arrived: bool,
}

fn key(identity: Identity) -> (u64, u8) {
    (identity.number(), identity.copy())
}

fn way_of(identity: Identity) -> Way {
    match identity.goes_back() {
        false => Way::ToSink,
        true => Way::ToSource,
    }
}

impl Accounts {
    /// Notes a packet that an agent sends on: the one being processed or held, or else a further copy, which is marked.
    fn send_on(&mut self, packet: &mut Packet) {
        let identity = packet.identity_within();
        if self.leave_hand(identity).is_some() || self.held.remove(&key(identity)).is_some() {
            return;
        }
        let several = self.further_copy(identity);
        several.made = several.made.saturating_add(1);
        packet.identify(identity.with_copy(several.made));
    }

    fn further_copy(&mut self, identity: Identity) -> &mut Several {
        let several = self.several.entry(identity.number()).or_insert(Several {
            made: 0,
            left: 1,
            has_arrived: false,
        });
        several.left += 1;
        several
    }

    /// Notes a copy of the packet being processed, which an agent keeps under the same identity. Returns the packet.
    fn note_copy(&mut self, identity: Identity) -> Option<InHand> {
        self.further_copy(identity);
        self.in_hand
            .filter(|hand| key(hand.identity) == key(identity))
    }

    /// Takes this packet from the host's processing, if it is there.
    fn leave_hand(&mut self, identity: Identity) -> Option<InHand> {
        let is_it = |hand: &mut InHand| key(hand.identity) == key(identity);
        self.in_hand.take_if(is_it)
    }

    /// Ends a packet or a copy; returns true if that ends the packet. With copies, the first arrival ends it, or
    /// the last one's loss if none has arrived.
    #[inline]
    fn end(&mut self, identity: Identity, is_lost: bool) -> bool {
        self.several.is_empty() || self.end_among_copies(identity, is_lost)
    }

    #[inline(never)]
    fn end_among_copies(&mut self, identity: Identity, is_lost: bool) -> bool {
        let Some(several) = self.several.get_mut(&identity.number()) else {
            return true;
        };
        several.left -= 1;
        let (left, had_arrived) = (several.left, several.has_arrived);
        several.has_arrived |= !is_lost;
        if left == 0 {
            self.several.remove(&identity.number());
        }
        !had_arrived && (!is_lost || left == 0)
    }

    /// Takes over the accounts of another part of the world.
    pub fn take_over(&mut self, other: Accounts) {
        self.held.extend(other.held);
        self.several.extend(other.several);
    }

    /// Returns true if one of a packet's copies has arrived at its receiver.
    fn has_arrived(&self, identity: Identity) -> bool {
        let several = self.several.get(&identity.number());
        several.is_some_and(|several| several.has_arrived)
    }
}

// Rare cases are functions of their own, so that the rest is small.
impl World {
    /// Accounts for a packet sent by a host: one of a flow that was never sent before is counted. Returns its direction.
    #[inline]
    pub(super) fn account_sent(&mut self, node: usize, id: PacketId) -> Way {
        let packet = &self.net.packets[id].packet;
        let Some(flow) = packet.flow else {
            return Way::ToSink;
        };
        let identity = packet.identity_within();
        if identity.is_some() {
            self.hear_staying(node);
            self.probes
                .accounts
                .send_on(&mut self.net.packets[id].packet);
            return way_of(identity);
        }
        self.load
            .count_sent((node, flow), &packet.innermost().ip, brings_data(packet))
    }

    /// Begins the way of a packet that a kernel has given to the agents of its host, which send it on like a received
    /// one.
    pub(super) fn begin_way(&mut self, node: usize, packet: &mut Packet) {
        let way = packet.flow.map_or(Way::ToSink, |flow| {
            self.load
                .count_sent((node, flow), &packet.ip, brings_data(packet))
        });
        self.net.packets.number(self.now, packet, way);
        self.probes.put_in_hand(node, packet, false);
    }

    /// Settles a host's packet after its polls are drained. The packet's way has ended there unless the host has sent
    /// it on or holds it.
    #[inline]
    pub(super) fn settle_accounts(&mut self, node: usize) {
        self.hear_staying(node);
        let is_accepted = self.net.nodes[node].host.take_accepted();
        let Some(hand) = self
            .probes
            .accounts
            .in_hand
            .take_if(|hand| hand.node == node)
        else {
            return;
        };
        // An agent reports a received error to no application.
        let lost = match (is_accepted || hand.is_error, hand.is_damaged) {
            (true, _) => None,
            (false, true) => Some(LossCause::Channel),
            (false, false) => Some(LossCause::Host),
        };
        let is_end = self.end_way(hand.flow, hand.identity, lost);
        let receiver = match way_of(hand.identity) {
            Way::ToSink => 1,
            Way::ToSource => 0,
        };
        // A packet taken in by a gateway on the way has not come to the other end.
        if is_end && lost.is_none() && node == self.load.flows[hand.flow.0 as usize].nodes[receiver]
        {
            self.count_delay(hand.flow, hand.identity, hand.has_data);
        }
    }

    /// Counts the delay of a packet that has arrived at its end of the flow.
    #[inline]
    pub(super) fn count_delay(&mut self, flow: FlowId, identity: Identity, has_data: bool) {
        let delay = self.now.saturating_since(identity.sent());
        let way = way_of(identity);
        let flow = &mut self.load.flows[flow.0 as usize];
        flow.delays[way as usize].add(delay, has_data);
        if has_data && way == Way::ToSink && !flow.movers.is_empty() {
            let disturbed = &mut self.probes.disturbed;
            disturbed.note(flow, &self.net.mobiles, identity.sent(), delay);
        }
    }

    /// Takes in the packets that stay at a host.
    #[inline]
    fn hear_staying(&mut self, node: usize) {
        while let Some(staying) = self.net.nodes[node].host.poll_staying() {
            match staying {
                Staying::Held(held) => self.count_held(held),
                Staying::Unsent(unsent) => self.count_unsent(node, &unsent),
            }
        }
    }

    fn count_held(&mut self, held: Held) {
        let key = key(held.identity);
        let accounts = &mut self.probes.accounts;
        let hand = match held.holding {
            Holding::Copied => accounts.note_copy(held.identity),
            Holding::TakenIn | Holding::Dropped => accounts.leave_hand(held.identity),
        };
        if held.holding == Holding::Dropped {
            accounts.held.remove(&key);
            self.end_way(held.flow, held.identity, Some(LossCause::Buffer));
        } else {
            let has_data = hand.is_some_and(|hand| hand.has_data);
            let kept = (held.flow, held.identity, has_data);
            accounts.held.insert(key, kept);
        }
    }

    /// Accounts for a real host's packet without a route.
    pub(super) fn account_unsent(&mut self, node: usize, packet: &Packet) {
        if let Some(unsent) = Unsent::of(packet) {
            self.count_unsent(node, &unsent);
        }
    }

    fn count_unsent(&mut self, node: usize, unsent: &Unsent) {
        let way = self
            .load
            .count_sent((node, unsent.flow), &unsent.ip, unsent.has_data);
        let flow = &mut self.load.flows[unsent.flow.0 as usize];
        flow.packets[way as usize].end(Some(LossCause::Host));
        self.end_silence(unsent.flow.0 as usize);
    }

    /// Ends the way of a flow's packet, or of one of several copies of it: delivered, or lost for this cause. Returns true if that
    /// ends the packet.
    #[inline]
    pub(super) fn end_way(
        &mut self,
        flow: FlowId,
        identity: Identity,
        lost: Option<LossCause>,
    ) -> bool {
        let way = way_of(identity);
        if lost.is_none() {
            self.note_arrival(flow.0 as usize, way);
        }
        let is_end = self.probes.accounts.end(identity, lost.is_some());
        if is_end {
            self.load.flows[flow.0 as usize].packets[way as usize].end(lost);
            self.end_silence(flow.0 as usize);
        }
        is_end
    }

    /// Ends the wait of a flow for which no datagram is under way any more, and reports its length to the flow's
    /// mobiles.
    #[inline]
    pub(super) fn end_silence(&mut self, flow: usize) {
        if let Some(waited) = self.load.flows[flow].end_silence(self.now) {
            self.tell_wait(flow, waited);
        }
    }

    #[inline(never)]
    fn tell_wait(&mut self, flow: usize, waited: Duration) {
        let run = &self.load.flows[flow];
        for &mobile in &run.movers {
            if let Some(record) = self.net.mobiles[mobile].handovers.last_mut() {
                record.note_wait(flow, waited);
            }
        }
    }

    /// Notes the arrival of a flow's packet at its end, for the mobiles whose access links it may have crossed.
    #[inline]
    fn note_arrival(&mut self, flow: usize, way: Way) {
        if let Some(over) = self.probes.arrived_over {
            self.tell_arrival(flow, way, over);
        }
    }

    #[inline(never)]
    fn tell_arrival(&mut self, flow: usize, way: Way, over: usize) {
        let run = &mut self.load.flows[flow];
        run.arrivals[way as usize] = Some((self.now, over));
        for &mobile in &run.movers {
            self.net.mobiles[mobile].arrive(self.now, (flow, way), over);
        }
    }

    /// Calls `count` with the flow and the direction of every packet that is on a link or in a buffer, and true if it has payload;
    /// once for each packet, whatever the number of copies.
    pub(super) fn for_each_under_way(&self, mut count: impl FnMut(FlowId, Way, bool)) {
        let mut seen = BTreeSet::new();
        let on_links = self.net.packets.iter().filter_map(|travelling| {
            let packet = &travelling.packet;
            Some((packet.flow?, packet.identity_within(), packet.has_data()))
        });
        let held = self.probes.accounts.held.values().copied();
        for (flow, identity, has_data) in on_links.chain(held) {
            let is_several = self
                .probes
                .accounts
                .several
                .contains_key(&identity.number());
            let is_first = !is_several || seen.insert(identity.number());
            if is_first && !self.probes.accounts.has_arrived(identity) {
                count(flow, way_of(identity), has_data);
            }
        }
    }
}

impl Load {
    fn count_sent(&mut self, (node, flow): (usize, FlowId), ip: &IpHeader, has_data: bool) -> Way {
        let flow = &mut self.flows[flow.0 as usize];
        let way = flow.way(node, ip);
        flow.packets[way as usize].sent += 1;
        if way == Way::ToSink && has_data {
            flow.data_to_sink += 1;
        }
        way
    }
}

impl Probes {
    /// Takes a packet from the host or the agent that has it: its way ends.
    pub(super) fn leave_agents(&mut self, identity: Identity) {
        if self.accounts.leave_hand(identity).is_none() {
            self.accounts.held.remove(&key(identity));
        }
    }

    /// Notes the packet given to a host, which takes it in or gives it up; its fate shows when the host has been polled.
    #[inline]
    pub(super) fn put_in_hand(&mut self, node: usize, packet: &Packet, is_for_it: bool) {
        self.accounts.in_hand = packet.flow.map(|flow| InHand {
            node,
            flow,
            identity: packet.identity_within(),
            has_data: brings_data(packet),
            is_damaged: !packet.bit_errors.is_empty(),
            is_error: is_for_it && matches!(packet.body, Body::Icmp(IcmpMessage::Error { .. })),
        });
    }
}
