//! Packets on their way: offered to links, delivered or dropped, forwarded.

use super::packet_counts::LossCause;
use super::{Event, Net, World};
use crate::link::number::LinkNumber;
use crate::link::queue::Class;
use crate::link::{DropReason, End, Fate, Label, Outcome};
use crate::packets::{PacketId, Travelling};
use crate::record::{PacketRecord, Quantity};
use baton_proto::host::Verdict;
use baton_proto::interface::{InterfaceId, TransmitStatus};
use baton_proto::packet::BitErrors;
use baton_proto::time::Instant;

impl World {
    /// Hands a packet to the link behind an interface.
    pub(super) fn offer(&mut self, node: usize, interface: InterfaceId, id: PacketId) {
        let to = self.net.packets[id].packet.ip.destination;
        match self.net.exit(node, interface, to) {
            Some(exit) => self.offer_to(exit, id),
            None => {
                self.end_signal(id, (self.now, node), Some(DropReason::Discarded));
                self.give_up(id);
            }
        }
    }

    /// Hands a packet to a link, at this end.
    pub(super) fn offer_to(&mut self, (link, end): (usize, End), id: PacketId) {
        if let Some(place) = self.net.wires.place(link) {
            return self.offer_to_radio((link, place), end, id);
        }
        let (now, polls_all) = (self.now, self.probes.recorder.records_queues());
        let length = self.leave(link, end, id);
        let wire = self.net.wires.plain_mut(link);
        if wire.link.reads_labels() {
            return self.offer_labelled((link, end), (id, length));
        }
        wire.link.offer(now, end, id, length);
        if wire.interests[end.index()].queued {
            return self.tell_queued(link, end, id);
        }
        if wire.touched {
            return;
        }
        if polls_all || wire.has_to_tell(now) {
            wire.touched = true;
            self.net.touched.push(link);
        } else {
            let deadline = wire.link.next_deadline();
            let event = Event::Link(link as u32);
            wire.timer.arm(&mut self.queue, deadline, event);
        }
    }

    /// Hands a packet to a link that distinguishes packets.
    #[inline(never)]
    fn offer_labelled(&mut self, (link, end): (usize, End), (id, length): (PacketId, u32)) {
        let label = self.label((link, end), id);
        let wire = self.net.wires.plain_mut(link);
        wire.link.offer_labelled(self.now, end, (id, length), label);
        if wire.interests[end.index()].queued {
            return self.tell_queued(link, end, id);
        }
        self.net.touch(link);
    }

    fn label(&self, (link, end): (usize, End), id: PacketId) -> Label {
        let packet = &self.net.packets[id].packet;
        Label {
            flow: packet.flow,
            class: Class {
                precedence: packet.ip.precedence(),
                flow_hash: packet.flow_hash(),
            },
            translated: self.translated((link, end), packet),
        }
    }

    /// Lets a packet leave a host over a link, from this end. Returns its length in bytes.
    // Once a hop: the compiler does not inline it by itself.
    #[inline(always)]
    pub(super) fn leave(&mut self, link: usize, end: End, id: PacketId) -> u32 {
        let travelling = &mut self.net.packets[id];
        travelling.offered = self.now;
        travelling.link = LinkNumber::new(link);
        travelling.from = end;
        self.net.wires[link].offered[end.index()] += 1;
        if let Some(captures) = &mut self.probes.captures {
            captures.sent(self.now, link, end, &travelling.packet);
        }
        travelling.length
    }

    /// Records the queues at both ends of a touched link after all events of this moment. Only for worlds that record
    /// queues.
    pub(super) fn record_queues(&mut self, link: usize) {
        let subjects = self.subjects(link);
        let ends = self.net.wires.ends(link);
        if let Some(plain) = self.net.wires.find_plain(link) {
            plain.link.catch_up(self.now);
        }
        for end in End::ALL {
            if self.is_elsewhere(ends[end.index()].0) {
                continue;
            }
            let plain = self.net.wires.find_plain(link);
            let (packets, bytes) = plain.map_or((0, 0), |plain| plain.link.queue(end));
            let subject = subjects[end.index()];
            let mut put = |quantity, value| {
                self.probes
                    .recorder
                    .series(self.now, subject, quantity, value)
            };
            put(Quantity::QueuePackets, f64::from(packets));
            put(Quantity::QueueBytes, bytes as f64);
        }
    }

    // Rare cases are functions of their own: this one must stay small.
    pub(super) fn handle_fate(&mut self, link: usize, fate: Fate) {
        if self.probes.recorder.records_packets() {
            self.record_packet(link, &fate);
        }
        let (wire, to) = (&self.net.wires[link], fate.from.other());
        let mut at = wire.present_end(to);
        if wire.mobile().is_some() {
            at = self.net.wires.ends(link)[to.index()];
            self.net.cross_access(link, fate.packet);
        }
        match fate.outcome {
            Outcome::Delivered { bit_errors, exit } => {
                if !bit_errors.is_empty() {
                    self.net.damage((link, fate.from), fate.packet, bit_errors);
                }
                if let Some(exit) = exit {
                    self.leave_network((link, fate.from), fate.packet, &exit);
                }
                if let Some(captures) = &mut self.probes.captures {
                    captures.received(
                        fate.at,
                        link,
                        fate.from,
                        &self.net.packets[fate.packet].packet,
                    );
                }
                self.arrive(at, fate.packet);
            }
            Outcome::Dropped(reason) => self.lose(link, fate.packet, reason, fate.at),
        }
    }

    #[inline(never)]
    fn record_packet(&mut self, link: usize, fate: &Fate) {
        let travelling = &self.net.packets[fate.packet];
        let dropped = match fate.outcome {
            Outcome::Delivered { .. } => None,
            Outcome::Dropped(reason) => Some(reason),
        };
        self.probes.recorder.packet(&PacketRecord {
            number: travelling.number(),
            link,
            from: fate.from,
            sent: travelling.offered,
            decided: Some(fate.at),
            dropped,
            packet: &travelling.packet,
        });
    }

    fn arrive(&mut self, at: (usize, InterfaceId), id: PacketId) {
        let (node, interface) = at;
        let Travelling { length, packet, .. } = &mut self.net.packets[id];
        let host = &mut self.net.nodes[node].host;
        match host.route(self.now, interface, packet, *length) {
            Verdict::Forward(interface) => {
                self.offer(node, interface, id);
                if self.net.nodes[node].host.take_needs_poll() {
                    self.pump(node);
                }
            }
            Verdict::Local => self.deliver_local(at, id),
            Verdict::Discard => {
                self.end_signal(id, (self.now, node), Some(DropReason::Discarded));
                self.probes
                    .put_in_hand(node, &self.net.packets[id].packet, false);
                self.net.packets.remove(id);
                self.pump(node);
            }
        }
    }

    /// Delivers a packet at its destination host.
    #[inline(never)]
    fn deliver_local(&mut self, (node, interface): (usize, InterfaceId), id: PacketId) {
        if self.net.nodes[node].real && !self.net.nodes[node].host.has_kernel() {
            return self.deliver_to_port(node, id);
        }
        self.end_signal(id, (self.now, node), None);
        self.probes.arrived_over = self.net.packets[id].access();
        self.probes
            .put_in_hand(node, &self.net.packets[id].packet, true);
        let host = &mut self.net.nodes[node].host;
        host.handle_packet(self.now, interface, self.net.packets.remove(id));
        self.pump(node);
        self.probes.arrived_over = None;
    }

    /// Drops a packet with an address that no node in a cell has.
    #[cold]
    pub(super) fn give_up(&mut self, id: PacketId) {
        let packet = self.net.packets.remove(id);
        if let Some(flow) = packet.flow {
            self.end_way(flow, packet.identity_within(), Some(LossCause::Host));
        }
    }

    #[inline(never)]
    fn lose(&mut self, link: usize, id: PacketId, reason: DropReason, at: Instant) {
        let from = self.net.packets[id].from.index();
        let (towards, _) = self.net.wires.ends(link)[1 - from];
        self.end_signal(id, (at, towards), Some(reason));
        if reason.is_congestion() && self.net.wires[link].interests[from].drops {
            self.tell_status(link, End::ALL[from], id, TransmitStatus::Dropped);
        }
        let packet = self.net.packets.remove(id);
        self.probes.count_cause(reason);
        if let Some(flow) = packet.flow {
            self.load.flows[flow.0 as usize].dropped_packets += 1;
            self.end_way(flow, packet.identity_within(), Some(reason.into()));
        }
        let wire = &self.net.wires[link];
        // A multicast advertisement without a receiver is no loss.
        if packet.ip.destination.is_multicast() {
            return;
        }
        self.probes.drops.count(link, End::ALL[from], reason);
        if let Some(mobile) = wire.mobile()
            && matches!(reason, DropReason::LinkDown | DropReason::Discarded)
        {
            self.net.mobiles[mobile].lose(link, wire.works, packet.flow);
        }
    }
}

impl Net {
    /// Flips the bits that the channel of a link has hit, except the spared ones.
    #[inline(never)]
    fn damage(&mut self, (link, from): (usize, End), id: PacketId, bit_errors: BitErrors) {
        let config = self.wires.config(link);
        let direction = match from {
            End::A => &config.down,
            End::B => &config.up,
        };
        let packet = &mut self.packets[id].packet;
        if !direction.channel.spares_headers {
            return packet.bit_errors.add(bit_errors);
        }
        let headers = packet.headers_length() * 8;
        let hit = bit_errors.positions().iter().copied();
        let hit = hit.filter(|&bit| bit >= headers).collect::<Vec<u32>>();
        packet.bit_errors.add(hit.into());
    }

    /// Takes in a packet that has left a mobile's access link.
    #[inline(never)]
    fn cross_access(&mut self, link: usize, id: PacketId) {
        let travelling = &mut self.packets[id];
        travelling.cross_access(link);
        if let Some(held) = &mut self.wires[link].leaving {
            held.remove(&travelling.number());
        }
    }
}
