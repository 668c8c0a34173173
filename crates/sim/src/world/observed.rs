//! Conversations between real hosts, as flows of the world.
//!
//! Each conversation ([`crate::observe`]) is a [`FlowRun`](super::flow::FlowRun): the scenario's, if it uses that flow's
//! port, or a new one made for its first packet. So the record, handovers and the summary treat it like any flow.

mod flow;
mod kernel;
mod moved;
mod summary;
mod table;

pub use flow::ObservedFlow;
pub use summary::ObservedSummary;
pub use table::Unassigned;

use super::flow::Delivered;
use super::{Probes, World};
use crate::link::DropReason;
use crate::observe::{Arrived, FiveTuple, NoConversation, PacketView, Program, Sending, Side};
use baton_proto::packet::{Body, FlowId, Packet};
use baton_proto::time::Duration;
use std::collections::BTreeMap;
use table::Table;

/// State common to all conversations.
#[derive(Debug, Default)]
pub(super) struct Observed {
    table: Table,
    /// Progress towards mobiles, and from them.
    program: [Program; 2],
    drops: BTreeMap<&'static str, u64>,
    /// Buffer for packets that are not encoded yet.
    scratch: Vec<u8>,
}

/// Progress of all conversations between real hosts together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProgramProgress {
    /// Payload bytes delivered, in the direction (towards mobiles or from them) with more of them.
    pub delivered_bytes: u64,
    /// Longest time without new bytes in that direction while data was outstanding; see
    /// [`crate::observe`].
    pub longest_stall: Duration,
}

impl World {
    /// Notes that the program at a node has ended successfully: if its kernel has reset a connection, that was closed with
    /// unread data, and is no failure.
    pub fn note_success_at(&mut self, node: usize) {
        for observed in self
            .load
            .flows
            .iter_mut()
            .filter_map(|flow| flow.observed.as_deref_mut())
        {
            let nodes = observed.nodes;
            observed.closes_by_reset = nodes.map(|end| end == Some(node));
        }
    }

    /// Observes a packet sent by a real host before it enters a link: sets its flow, and whether it was sent before. The
    /// packet is the next to get a number.
    pub(super) fn observe_sent(&mut self, node: usize, packet: &mut Packet) {
        let mut scratch = core::mem::take(&mut self.probes.observed.scratch);
        let (flow, sending) = match PacketView::parse(bytes_of(packet, &mut scratch)) {
            Ok(view) => {
                let (flow, sending) = self.note_sent(node, &view);
                (Some(FlowId(flow as u32)), sending)
            }
            Err(reason) => {
                self.probes.observed.table.unassigned.count(reason);
                (None, Sending::New)
            }
        };
        self.probes.observed.scratch = scratch;
        packet.flow = flow;
        packet.retransmission = sending == Sending::Retransmission;
    }

    /// Observes a packet delivered to a real host; `number` is the same as on every link that it crossed. The host's
    /// checksums drop a damaged one.
    pub(super) fn observe_delivered(&mut self, node: usize, number: u64, packet: &Packet) {
        let Some(FlowId(flow)) = packet.flow else {
            return;
        };
        if !packet.bit_errors.is_empty() {
            self.probes.observed.table.unassigned.damaged += 1;
            return;
        }
        let mut scratch = core::mem::take(&mut self.probes.observed.scratch);
        if let Ok(view) = PacketView::parse(bytes_of(packet, &mut scratch)) {
            self.note_received(node, number, flow as usize, &view);
        }
        self.probes.observed.scratch = scratch;
    }

    fn note_sent(&mut self, node: usize, view: &PacketView) -> (usize, Sending) {
        let flow = self.flow_of(node, view);
        let number = self.net.packets.numbered();
        let now = self.now;
        let Some(observed) = self.load.flows[flow].observed.as_deref_mut() else {
            return (flow, Sending::New);
        };
        let from = observed.side_of(node);
        let answers = observed.conversation.answers(from);
        let view = observed.relevant(view);
        if let Some(ids) = &mut observed.connection_ids {
            ids.learn(from as usize, view.payload);
        }
        let (sending, unseen) = observed.conversation.sent(now, from, number, &view);
        if let Some(arrived) = unseen {
            self.note_arrived(flow, arrived);
        }
        self.update_program(flow, answers);
        (flow, sending)
    }

    fn note_received(&mut self, node: usize, number: u64, flow: usize, view: &PacketView) {
        let now = self.now;
        let Some(observed) = self.load.flows[flow].observed.as_deref_mut() else {
            return;
        };
        let from = observed.side_towards(node);
        let responder = observed.nodes[Side::Responder as usize];
        if responder.is_none() && from == Side::Opener {
            self.learn_responder(flow, node);
        }
        self.learn_alias(flow, FiveTuple::of(view));
        let Some(observed) = self.load.flows[flow].observed.as_deref_mut() else {
            return;
        };
        let view = observed.relevant(view);
        let arrival = observed.conversation.received(now, from, number, &view);
        if let Some(arrived) = arrival.arrived {
            self.note_arrived(flow, arrived);
        }
        self.update_program(flow, false);
        self.load.flows[flow].follow_conversation(now);
    }

    /// Notes new bytes at one end of a conversation.
    fn note_arrived(&mut self, flow: usize, arrived: Arrived) {
        let now = self.now;
        let Some(observed) = self.load.flows[flow].observed.as_deref() else {
            return;
        };
        let direction = observed.direction(arrived.from);
        let Some(waited) = arrived.waited else {
            self.probes.observed.program[direction].count(arrived.bytes);
            return self.load.flows[flow].follow_conversation(now);
        };
        let back_rests = !observed.conversation.has_outstanding(arrived.from.other());
        self.probes.observed.program[direction].deliver(now, arrived.bytes);
        if back_rests {
            self.probes.observed.program[1 - direction].start_anew(now);
        }
        self.load.flows[flow].follow_conversation(now);
        if self.load.flows[flow].main_side() == Some(arrived.from) {
            let delivered = Delivered {
                bytes: arrived.bytes,
                waited,
            };
            self.note_delivery(flow, Some(delivered));
        }
    }

    fn update_program(&mut self, flow: usize, answers: bool) {
        if let Some(observed) = self.load.flows[flow].observed.as_deref() {
            let waits = observed.conversation.waits();
            for direction in &mut self.probes.observed.program {
                direction.update(self.now, flow, waits, answers);
            }
        }
    }

    /// Returns the progress of all conversations between real hosts together.
    pub fn program_progress(&self) -> ProgramProgress {
        let [towards, from] = &self.probes.observed.program;
        let bytes = |program: &Program| program.progress().delivered_bytes;
        let main = if bytes(from) > bytes(towards) {
            from
        } else {
            towards
        };
        ProgramProgress {
            delivered_bytes: bytes(main),
            longest_stall: main.longest_stall(self.now),
        }
    }

    /// Returns the number of TCP segments with impossible sequence numbers: a program forges packets.
    pub fn impossible_segments(&self) -> u64 {
        let observed = self
            .load
            .flows
            .iter()
            .filter_map(|flow| flow.observed.as_deref());
        observed
            .map(|flow| flow.total(|counters| counters.impossible))
            .sum()
    }

    /// Returns the packets that links dropped, by the cause in the table of packets.
    pub fn drops(&self) -> &BTreeMap<&'static str, u64> {
        &self.probes.observed.drops
    }

    /// Returns the packets at real hosts that belong to no conversation.
    pub fn unassigned(&self) -> Unassigned {
        self.probes.observed.table.unassigned
    }
}

/// Returns the bytes of a packet; `scratch` holds them if the packet has to be encoded.
fn bytes_of<'a>(packet: &'a Packet, scratch: &'a mut Vec<u8>) -> &'a [u8] {
    if let Body::Verbatim(verbatim) = &packet.body {
        return verbatim.bytes();
    }
    scratch.clear();
    packet.encode(scratch);
    scratch
}

impl Probes {
    pub(super) fn count_cause(&mut self, reason: DropReason) {
        *self.observed.drops.entry(reason.name()).or_default() += 1;
    }
}
