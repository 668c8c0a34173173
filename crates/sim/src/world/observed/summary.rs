//! An observed flow's results.

use super::super::World;
use super::super::flow::FlowRun;
use super::super::summary::{FlowSummary, failure};
use super::ObservedFlow;
use crate::observe::{End, Side};
use baton_proto::host::SocketEvent;
use serde::Serialize;

/// Further results of a flow between real hosts, from its packets.
#[derive(Clone, Debug, Serialize)]
pub struct ObservedSummary {
    /// Node that sends the bulk of the data.
    pub from: Option<String>,
    /// Node that receives it; null if no data has arrived.
    pub to: Option<String>,
    /// Protocol, and both ends with their ports, the opener's first.
    pub five_tuple: String,
    /// Packets of both directions that came after a younger one of their direction.
    pub reordered: u64,
    /// Payload bytes delivered against the main direction.
    pub reverse_bytes: u64,
    /// Keep-alives and probes of closed windows that both ends sent.
    pub probes: u64,
    /// Ranges of the TCP streams that came ahead of a gap and were too many to be remembered; if there are any, counts
    /// of new and spurious segments are not exact.
    pub forgotten_ranges: u64,
    /// Payload from which a datagram of the main direction counted as new data, in bytes; null over TCP, whose sequence numbers
    /// show new data.
    pub data_from_bytes: Option<u32>,
    /// Times that a QUIC client was recognised, by a connection ID, behind another address or port.
    pub moves: u32,
    /// Flow whose QUIC connection this may continue after a move: it began without a handshake, under a connection ID
    /// that was agreed on in secret. Null otherwise.
    pub may_continue: Option<String>,
}

impl ObservedFlow {
    /// Replaces the values of a simulated connection by those from packets and kernels.
    pub(in super::super) fn summary(
        &self,
        world: &World,
        flow: &FlowRun,
        main: Side,
        simulated: FlowSummary,
    ) -> FlowSummary {
        let counters = self.conversation.counters(main);
        let kernel = self.kernel[main as usize];
        let is_tcp = self.transport == "tcp";
        let node =
            |side: Side| self.nodes[side as usize].map(|node| world.scenario.nodes[node].clone());
        let failure = flow.observed_failure().map(|end| match end {
            End::Refused => failure(SocketEvent::Refused),
            End::Reset | End::Finished => failure(SocketEvent::Reset),
        });
        FlowSummary {
            transport: self.transport,
            segments_sent: if is_tcp {
                counters.packets
            } else {
                simulated.segments_sent
            },
            retransmitted: is_tcp
                .then(|| kernel.map_or(counters.retransmitted, |kernel| kernel.retransmitted)),
            timeouts: kernel.and_then(|kernel| kernel.timeouts),
            fast_retransmits: None,
            duplicate_acks: counters.duplicate_acks,
            failure: failure.map(str::to_owned),
            observed: Some(ObservedSummary {
                from: node(main),
                to: node(main.other()),
                five_tuple: self.five_tuple.clone(),
                reordered: self.total(|counters| counters.reordered),
                reverse_bytes: self.conversation.progress(main.other()).delivered_bytes,
                probes: self.total(|counters| counters.probes),
                forgotten_ranges: self.total(|counters| counters.forgotten_ranges),
                data_from_bytes: (!is_tcp).then(|| self.conversation.data_from_bytes(main)),
                moves: self.moves,
                may_continue: self
                    .may_continue
                    .map(|flow| world.load.flows[flow].spec.name.clone()),
            }),
            ..simulated
        }
    }
}
