//! A conversation as a flow.

use super::super::flow::FlowRun;
use crate::observe::{ConnectionIds, Conversation, Counters, End, FiveTuple, PacketView, Side};
use crate::scenario::model::{NodeIndex, Traffic};
use baton_proto::packet::IpHeader;
use baton_proto::time::{Duration, Instant};
use baton_proto::wire::protocol;
use core::net::IpAddr;

/// State of a flow that is measured from its packets.
#[derive(Debug)]
pub struct ObservedFlow {
    /// The conversation.
    pub conversation: Conversation,
    /// The nodes of opener and responder, as far as they are known.
    pub nodes: [Option<usize>; 2],
    /// The 5-tuple of its packets at the opener.
    pub tuple: FiveTuple,
    /// Protocol, and both ends with their ports, the opener's first.
    pub five_tuple: String,
    /// Address of the opener.
    opener: IpAddr,
    /// Address and port to which the opener sends.
    pub(super) server: (IpAddr, u16),
    /// QUIC connection IDs, if it began as QUIC does.
    pub(super) connection_ids: Option<Box<ConnectionIds>>,
    /// Times that its QUIC client was recognised behind another address or port.
    pub(super) moves: u32,
    /// The flow that it may continue, which cannot be verified.
    pub(super) may_continue: Option<usize>,
    /// "tcp", "udp", "icmp" or "other".
    pub transport: &'static str,
    /// Counters of the sender in each end's kernel.
    pub kernel: [Option<KernelCounts>; 2],
    /// True for a flow of the scenario: then its main direction is the scenario's, too.
    pub(in super::super) in_scenario: bool,
    /// For each end, true if its reset is no failure, as its program has ended successfully.
    pub(super) closes_by_reset: [bool; 2],
    /// True if many conversations are combined here.
    pub(super) mixed: bool,
    /// True if the opener sends towards a mobile.
    pub(super) towards_mobile: bool,
}

/// A kernel's counters of one connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelCounts {
    /// Retransmitted segments.
    pub retransmitted: u64,
    /// Expiries of the retransmission timer, if the kernel reports them.
    pub timeouts: Option<u64>,
}

impl ObservedFlow {
    /// Creates a conversation whose first packet `node` sends.
    pub(super) fn new(now: Instant, node: usize, view: &PacketView) -> ObservedFlow {
        let transport = match view.protocol {
            protocol::TCP => "tcp",
            protocol::UDP => "udp",
            protocol::ICMP | protocol::ICMPV6 => "icmp",
            _ => "other",
        };
        ObservedFlow {
            conversation: Conversation::new(now),
            nodes: [Some(node), None],
            tuple: FiveTuple::of(view),
            five_tuple: view.describe(),
            opener: view.source,
            server: (view.destination, view.ports.1),
            connection_ids: (view.protocol == protocol::UDP)
                .then(|| ConnectionIds::begin(view.payload))
                .flatten()
                .map(Box::new),
            moves: 0,
            may_continue: None,
            transport,
            kernel: [None; 2],
            in_scenario: false,
            closes_by_reset: [false; 2],
            mixed: false,
            towards_mobile: false,
        }
    }

    /// Returns the end at a sending node.
    pub(in super::super) fn side_of(&self, node: usize) -> Side {
        if self.nodes[0] == Some(node) {
            Side::Opener
        } else {
            Side::Responder
        }
    }

    /// Returns true for a packet on its way from the opener that a node sends: the opener, or a gateway, whose packets show it by
    /// their addresses.
    pub(in super::super) fn opener_sends(&self, node: usize, ip: &IpHeader) -> bool {
        match self.nodes.contains(&Some(node)) {
            true => self.nodes[0] == Some(node),
            false => ip.source == self.opener || ip.destination == self.server.0,
        }
    }

    /// Returns the end that has sent a packet arriving at a node.
    pub(super) fn side_towards(&self, node: usize) -> Side {
        self.side_of(node).other()
    }

    /// Returns the part of a packet that counts here: no sequence numbers for combined conversations.
    pub(super) fn relevant<'a>(&self, view: &PacketView<'a>) -> PacketView<'a> {
        PacketView {
            tcp: view.tcp.filter(|_| !self.mixed),
            ..*view
        }
    }

    /// Returns zero for the direction towards mobiles, one for the other.
    pub(super) fn direction(&self, from: Side) -> usize {
        usize::from(self.towards_mobile != (from == Side::Opener))
    }

    /// Returns true for a connection that was refused or never answered.
    pub(super) fn is_unused(&self) -> bool {
        let idle = |side| self.conversation.progress(side).last_delivery.is_none();
        idle(Side::Opener) && idle(Side::Responder)
    }

    /// Returns true if the conversation has ended.
    pub(in super::super) fn is_over(&self) -> bool {
        self.conversation.end().is_some()
    }

    /// Returns the counts of both directions together.
    pub(in super::super) fn total(&self, count: impl Fn(&Counters) -> u64) -> u64 {
        let of = |side| count(self.conversation.counters(side));
        of(Side::Opener) + of(Side::Responder)
    }
}

impl FlowRun {
    /// Returns the end that sends the bulk of an observed flow's data: the scenario's source, for a ping the end that
    /// answers, and outside the scenario the end with more data.
    pub(super) fn main_side(&self) -> Option<Side> {
        let observed = self.observed.as_deref()?;
        if !observed.in_scenario {
            return Some(observed.conversation.main_direction());
        }
        let source = match self.spec.traffic {
            Traffic::Ping { .. } => self.spec.to,
            _ => self.spec.from,
        };
        Some(observed.side_of(source.0))
    }

    /// Takes over the conversation's results.
    pub(super) fn follow_conversation(&mut self, now: Instant) {
        let Some(main) = self.main_side() else { return };
        let Some(observed) = self.observed.as_deref() else {
            return;
        };
        self.progress = observed.conversation.progress(main).clone();
        if observed.in_scenario {
            if self.completion.is_none()
                && wanted_bytes(self.spec.traffic) == Some(self.progress.delivered_bytes)
            {
                self.complete(now);
            }
            return;
        }
        let [from, to] = [main, main.other()].map(|side| observed.nodes[side as usize]);
        self.spec.from = from.map_or(self.spec.from, NodeIndex);
        self.spec.to = to.map_or(self.spec.to, NodeIndex);
        if self.completion.is_none()
            && observed.conversation.is_finished(main)
            && let Some(last) = self.progress.last_delivery
        {
            self.complete(last);
        }
    }

    /// Returns the flow's measurements from its packets, and the end that sends the bulk of its data.
    pub(in super::super) fn observation(&self) -> Option<(&ObservedFlow, Side)> {
        Some((self.observed.as_deref()?, self.main_side()?))
    }

    /// Returns the present stall of an observed flow.
    pub(in super::super) fn observed_stall(&self, now: Instant) -> Option<Duration> {
        let (observed, main) = self.observation()?;
        Some(observed.conversation.open_stall(main, now))
    }

    /// Returns the reason for an observed connection's early end.
    pub(in super::super) fn observed_failure(&self) -> Option<End> {
        let (observed, main) = self.observation()?;
        let end = observed.conversation.end()?;
        let failed = match end {
            End::Finished => false,
            End::Refused => true,
            End::Reset => {
                let by = observed.conversation.reset_by();
                let closed = by.is_some_and(|side| observed.closes_by_reset[side as usize]);
                self.completion.is_none() && !observed.conversation.is_finished(main) && !closed
            }
        };
        failed.then_some(end)
    }
}

/// Returns the bytes of a complete flow of the scenario.
fn wanted_bytes(traffic: Traffic) -> Option<u64> {
    match traffic {
        Traffic::Bulk { bytes } | Traffic::Constant { bytes, .. } => bytes,
        Traffic::Pages { page, count, .. } => Some(page * u64::from(count?)),
        Traffic::Ping { size, count, .. } => Some(u64::from(size) * u64::from(count?)),
        Traffic::OnOff { .. } => None,
    }
}
