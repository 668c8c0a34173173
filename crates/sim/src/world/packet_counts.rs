//! Counts of a flow's packets, by direction and by cause of loss.

use crate::link::DropReason;
use serde::Serialize;

/// Direction of a flow's packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Way {
    /// From the source to the sink.
    ToSink,
    /// From the sink to the source.
    ToSource,
}

/// Cause of a packet's loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossCause {
    /// A link's queue had no room for it or its manager chose it, or a policer did.
    Queue,
    /// A link's channel lost it, or damaged it beyond a checksum.
    Channel,
    /// The link was down, went down with it or had no route for it, or its queue was discarded at a handover.
    LinkDown,
    /// An agent that holds packets for mobiles had no room for it, or held it for too long.
    Buffer,
    /// A host gave it up.
    Host,
}

impl From<DropReason> for LossCause {
    fn from(reason: DropReason) -> LossCause {
        match reason {
            DropReason::QueueFull | DropReason::QueueManagement | DropReason::Policer => {
                LossCause::Queue
            }
            DropReason::ChannelError
            | DropReason::BurstLoss
            | DropReason::Shadowing
            | DropReason::RetryLimit
            | DropReason::Scenario => LossCause::Channel,
            DropReason::LinkDown | DropReason::NoRoute | DropReason::Discarded => {
                LossCause::LinkDown
            }
        }
    }
}

/// Lost packets, by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LossCounts {
    /// Queues of links were full or chose them (RED, CoDel), or policers did.
    pub queue: u64,
    /// Channels of links lost them, or damaged them beyond a checksum.
    pub channel: u64,
    /// Links were down, went down with them or had no route for them, or their queues were discarded at a handover.
    pub link_down: u64,
    /// Buffers of agents had no room for them, held them for too long, or held the same segment already.
    pub buffer: u64,
    /// Hosts and routers gave them up: no route, too long, hop limit, ingress filter, nobody at the port, out of a tunnel for nobody there.
    pub host: u64,
}

impl LossCounts {
    fn count_mut(&mut self, cause: LossCause) -> &mut u64 {
        match cause {
            LossCause::Queue => &mut self.queue,
            LossCause::Channel => &mut self.channel,
            LossCause::LinkDown => &mut self.link_down,
            LossCause::Buffer => &mut self.buffer,
            LossCause::Host => &mut self.host,
        }
    }

    fn add(&mut self, other: &LossCounts) {
        self.queue += other.queue;
        self.channel += other.channel;
        self.link_down += other.link_down;
        self.buffer += other.buffer;
        self.host += other.host;
    }

    /// Returns the total.
    pub const fn total(&self) -> u64 {
        self.queue + self.channel + self.link_down + self.buffer + self.host
    }

    /// Returns the losses since the counts were as `before`.
    pub const fn since(&self, before: &LossCounts) -> LossCounts {
        LossCounts {
            queue: self.queue - before.queue,
            channel: self.channel - before.channel,
            link_down: self.link_down - before.link_down,
            buffer: self.buffer - before.buffer,
            host: self.host - before.host,
        }
    }
}

/// Counts of a flow's packets in one direction.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PacketCounts {
    pub sent: u64,
    pub delivered: u64,
    pub lost: LossCounts,
}

impl PacketCounts {
    /// Counts a packet whose way has ended: delivered, or lost for this cause.
    pub fn end(&mut self, lost: Option<LossCause>) {
        match lost {
            None => self.delivered += 1,
            Some(cause) => *self.lost.count_mut(cause) += 1,
        }
    }

    /// Adds the counts of another part of the world.
    pub fn add(&mut self, other: &PacketCounts) {
        self.sent += other.sent;
        self.delivered += other.delivered;
        self.lost.add(&other.lost);
    }

    /// Returns true if all sent packets are delivered or lost.
    pub const fn are_settled(&self) -> bool {
        self.sent == self.delivered + self.lost.total()
    }
}

/// A flow's packets in one direction: `sent` is the sum of `delivered`, `lost` and `under_way`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct PacketSummary {
    /// Packets sent by its hosts and by gateways in their place, each once, whatever the number of tunnels and copies. A packet without
    /// a route out of its own host counts, too.
    pub sent: u64,
    /// Packets that arrived at their host, or at a gateway that answers in its place; of copies the first.
    pub delivered: u64,
    /// Packets that arrived nowhere.
    pub lost: u64,
    /// Packets on links or in buffers at the end of the run.
    pub under_way: u64,
    /// Lost packets by cause; for several copies the last one's cause. Their sum is `lost`.
    pub lost_by: LossCounts,
}

/// A measure of each direction of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct BothWays<T> {
    /// From the source to the sink.
    pub to_sink: T,
    /// From the sink to the source: acknowledgments, answers, requests.
    pub to_source: T,
}

impl<T> From<[T; 2]> for BothWays<T> {
    fn from([to_sink, to_source]: [T; 2]) -> BothWays<T> {
        BothWays { to_sink, to_source }
    }
}
