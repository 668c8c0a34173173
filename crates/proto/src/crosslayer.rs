//! What the layers of a host tell each other across a handover, and what may be done with a transport because of it.
//!
//! A [`Signal`] goes to all parts of a node. Its transports make of it what concerns each connection ([`CrossLayerSignal`]);
//! others come from the connection itself or from its other end. A [`Remedy`] answers with [`Control`]s, and the host carries
//! these out on the connection ([`crate::host`] owns the order). Nobody subscribes to anything.

use crate::interface::{InterfaceId, LinkEvent, LinkParameters};
use crate::rate::DataRate;
use crate::time::{Duration, Instant};
use crate::wire::prefix::Ipv6Prefix;
use core::fmt::Debug;
use core::net::IpAddr;
use core::num::NonZeroU8;

/// What a mobile's link carries, as far as the one who tells it knows (IEEE 802.21's Link_Parameters_Report).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathParameters {
    /// Rate of full IP packets towards the mobile.
    pub to_mobile: DataRate,
    /// The same, from the mobile.
    pub from_mobile: DataRate,
    /// Shortest round-trip time.
    pub round_trip: Duration,
    /// Full packets that the queue towards the mobile holds; `None` if nobody says.
    pub queue_packets: Option<u32>,
}

impl PathParameters {
    /// The report of a mobile's link at the mobile.
    pub const fn at_mobile(link: LinkParameters) -> PathParameters {
        PathParameters {
            to_mobile: link.incoming,
            from_mobile: link.outgoing,
            round_trip: link.round_trip,
            queue_packets: link.incoming_queue,
        }
    }

    /// The report of a mobile's link at the network's end.
    pub const fn at_network(link: LinkParameters) -> PathParameters {
        PathParameters::at_mobile(link.from_other_end())
    }

    /// Bytes that fill it for a mobile that sends, or receives: rate times round-trip time.
    pub fn pipe(&self, sends: bool) -> u32 {
        pipe(self.rate(sends), self.round_trip)
    }

    /// Round-trip time of a segment of so many bytes that a mobile sends, or receives, and that waits for none: the shortest, and
    /// its own time on the link.
    pub fn round_trip_of(&self, bytes: u32, sends: bool) -> Duration {
        let on_link = self.rate(sends).transmission_time(u64::from(bytes) * 8);
        self.round_trip + on_link.unwrap_or(Duration::ZERO)
    }

    /// Bytes of the whole segments that keep it busy: what it carries in the round-trip time of one of them.
    pub fn busy(&self, segment_size: u32, sends: bool) -> u32 {
        let bytes = pipe(self.rate(sends), self.round_trip_of(segment_size, sends));
        let segments = bytes.div_ceil(segment_size.max(1));
        segments.saturating_mul(segment_size)
    }

    fn rate(&self, sends: bool) -> DataRate {
        if sends {
            self.from_mobile
        } else {
            self.to_mobile
        }
    }
}

/// Bytes that fill a path: rate times round-trip time.
pub fn pipe(rate: DataRate, round_trip: Duration) -> u32 {
    u32::try_from(rate.bits_in(round_trip) / 8).unwrap_or(u32::MAX)
}

/// A handover that has begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Begun {
    /// When: of a link that was lost, when that was.
    pub at: Instant,
    /// The old interface.
    pub from: Option<InterfaceId>,
    /// The new one; the same where a radio network changes the cell.
    pub to: Option<InterfaceId>,
    /// Its kind.
    pub kind: Kind,
}

/// A kind of handover.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Make before break.
    Soft,
    /// Break before make, or from a link that was lost.
    Hard,
}

impl Kind {
    /// Its name in results.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Soft => "soft",
            Kind::Hard => "hard",
        }
    }
}

/// A signal between the parts of a node: its attachment, its layers and its transports. Each hears of it in this order, and
/// takes what concerns it: transports, layers by rank, the attachment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// From the attachment: the next handover is known ahead of its time.
    Announced,
    /// From the attachment: the point of service is to be asked about a handover to this interface.
    HandoverForeseen(InterfaceId),
    /// From the attachment: a handover has begun, and ends whatever the one before had left to do, but for its overlap.
    Begun(Begun),
    /// From the attachment: routes lead over this interface from now on, also those of the node's own packets; `None`: over none.
    Attached(Option<InterfaceId>),
    /// From the attachment: the node's own packets still leave by this interface; `None`: no longer.
    Outgoing(Option<InterfaceId>),
    /// From the attachment, an event of the link in use, for the node's transports. An [`Up`](LinkEvent::Up) while a handover is
    /// under way is none: [`Complete`](Self::Complete) follows.
    InUse(InterfaceId, LinkEvent),
    /// An event of a link, for layers: of an access link from the attachment, of another from its medium.
    Link(InterfaceId, LinkEvent),
    /// From the attachment: the handover is complete, and packets come and go by this interface.
    Complete(Option<InterfaceId>),
    /// From the node: a handover leads to this interface, and binding updates are to report the parameters of its link.
    NewPath(InterfaceId, PathParameters),
    /// From a layer: a binding update has left for this node: what is sent there from now on arrives after it.
    BindingSent(IpAddr),
    /// From a layer: the home agent knows that the mobile is at this interface.
    Registered(InterfaceId),
    /// From a layer: the home agent has no binding any more: the mobile is at home.
    Deregistered,
    /// From a layer: a care-of address on this interface can be used.
    AddressAcquired(InterfaceId, IpAddr),
    /// From a layer: the point of service has answered about the next handover, or is waited for no longer.
    HandoverPrepared,
    /// From a layer: a correspondent here has learnt that this peer is elsewhere.
    PeerMoved(IpAddr, PeerMoved),
    /// From a layer: the home agent here has a new binding, for these addresses.
    Bound(IpAddr, Option<Ipv6Prefix>),
}

/// A signal that reaches one end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CrossLayerSignal {
    /// To a mobile's connection that begins: the link in use.
    Begun(PathParameters),
    /// The link in use will soon be down (Link_Going_Down; study C's s1).
    GoingDown,
    /// It stays after all (Link_Event_Rollback).
    Rollback,
    /// Packets no longer pass (Link_Down; study C's s3, "disconnected").
    Disconnected,
    /// The mobile has said where it is now, and packets may come by both ways (study S, Table 2).
    UpdateSent,
    /// Packets pass again, or by another link (Link_Handover_Complete, the registration's end, or for a connection to a
    /// correspondent that sends directly its binding update's departure; study C's s3, "connected").
    Connected(PathParameters),
    /// To a correspondent: the peer has said that it is elsewhere.
    PeerMoved(PeerMoved),
    /// The other end's notice arrived with a segment.
    Noticed(HandoverNotice),
    /// All that was out is acknowledged.
    AllAcknowledged,
    /// To a sender: a base station has failed once more to pass on a segment of what is out, and goes on trying.
    BadState,
}

impl CrossLayerSignal {
    /// The signal of an event of the link in use, if it is one; `path` is what that link carries, as far as it is known.
    pub fn of_link(event: LinkEvent, path: Option<PathParameters>) -> Option<CrossLayerSignal> {
        match event {
            LinkEvent::GoingDown => Some(CrossLayerSignal::GoingDown),
            LinkEvent::Rollback => Some(CrossLayerSignal::Rollback),
            LinkEvent::Down => Some(CrossLayerSignal::Disconnected),
            LinkEvent::Up => path.map(CrossLayerSignal::Connected),
            _ => None,
        }
    }
}

/// What a correspondent learns of a binding update (study S, Table 2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerMoved {
    /// How long the update was on its way over the new path, by its timestamp.
    pub delay: Duration,
    /// Rate of the new link, if the update says.
    pub rate: Option<DataRate>,
    /// Full packets that the new link's queue holds, if the update says.
    pub queue_packets: Option<u32>,
}

impl PeerMoved {
    /// The new path's round-trip time: the update's way, there and back.
    pub const fn round_trip(&self) -> Duration {
        self.delay.saturating_mul(2)
    }

    /// Whether the new path is longer than a round-trip time that was measured on the old one.
    pub fn is_longer_than(&self, smoothed_rtt: Option<Duration>) -> bool {
        smoothed_rtt.is_none_or(|smoothed| self.round_trip() > smoothed)
    }
}

/// What a mobile tells its correspondent in a TCP option after a handover (study T, section 7; study S, Table 2). The layout is in
/// [`crate::wire::tcp`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HandoverNotice {
    /// Which handover of the connection: a notice is repeated, and counts once.
    pub number: NonZeroU8,
    /// Segments that are missing below what has arrived: on the old way still, or lost.
    pub outstanding: u16,
}

/// What a remedy may know of its connection. Sizes in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransportView {
    /// Congestion window.
    pub congestion_window: u32,
    /// Slow-start threshold; `u32::MAX` while it is arbitrarily high.
    pub slow_start_threshold: u32,
    /// Sent and not acknowledged.
    pub bytes_in_flight: u32,
    /// Payload of a full segment.
    pub segment_size: u32,
    /// Smoothed round-trip time, if any was measured.
    pub smoothed_rtt: Option<Duration>,
    /// The retransmission timer has gone off since the connection was frozen.
    pub timed_out: bool,
}

/// An acknowledgment of new data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Acknowledgment {
    /// When it came.
    pub at: Instant,
    /// Bytes that it acknowledged for the first time, at least one.
    pub bytes: u64,
    /// The round-trip time that it measured, if it measured one. The view's smoothed one has it already.
    pub rtt: Option<Duration>,
}

/// What is done with a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// No new data until [`Thaw`](Self::Thaw): the window's right edge stays while acknowledgments move its left one.
    HoldNewData,
    /// No data at all until `Thaw`; a timeout is noted and changes nothing.
    Freeze,
    /// Ends both. A timer that has gone off meanwhile is set anew.
    Thaw,
    /// What is out counts as lost, and the congestion control does not hear of it.
    ResendOutstanding,
    /// The same for what a break has cut off, told when the connection was frozen. What had arrived by then, as round-trip times
    /// tell, has lost its acknowledgment alone: it waits for that of what is sent again.
    ResendCutOff,
    /// If what is out now is not acknowledged before the timer goes off, that takes the window for the threshold, and does not
    /// halve it.
    ForgiveTimeout,
    /// The congestion control goes on from here, and forgets what it has learnt of the path. In bytes.
    NewPath {
        /// Congestion window.
        window: u32,
        /// Slow-start threshold.
        threshold: u32,
    },
    /// New data leaves only while it and what is in the network come to no more than this, in bytes, whatever the congestion
    /// window is: for who knows what the path holds. What is out already is elsewhere and does not count, unless it is sent
    /// again ([`ResendOutstanding`](Self::ResendOutstanding)). In force until another.
    LimitFlight(u32),
    /// Slow start goes on up to here, in bytes, if that is more than its threshold.
    RaiseThreshold(u32),
    /// The congestion control forgets what it has learnt of the path, and goes on with its window.
    ForgetPath,
    /// Round-trip time and timeout begin anew, with this sample if there is one; a timer that runs is set by them.
    RestartTiming(Option<Duration>),
    /// The retransmission timer, if it runs, starts again with the timeout in force.
    RestartTimer,
    /// At most this window is offered to the peer, in bytes; zero shuts it, `None` ends it.
    Offer(Option<u32>),
    /// The window's right edge never goes back.
    OfferMore {
        /// At most this much is offered beyond what has been offered, in bytes, until that has come; then beyond what has come.
        window: u32,
        /// What is missing is still on its way by another link: what comes ahead of it makes room for more.
        missing_arrives: bool,
    },
    /// Of acknowledgments one is kept back until the next is due.
    KeepLastAcknowledgment(bool),
    /// So many acknowledgments leave at once, with the window that is offered now.
    Acknowledge(u8),
    /// Acknowledgments carry a notice of this number: so many, and as long as something is missing.
    Notice {
        /// Which handover.
        number: NonZeroU8,
        /// How many at least.
        times: u8,
    },
    /// Duplicate acknowledgments and gaps are not taken for losses, until all that is out now is acknowledged, or a timeout.
    TolerateReordering(bool),
}

/// A published scheme against what a handover does to a transport: signals in, controls out. One serves one connection.
pub trait Remedy: Debug + Send {
    /// Something has reached the host: what is to be done, in this order.
    fn on_signal(&mut self, signal: &CrossLayerSignal, transport: &TransportView) -> Vec<Control>;

    /// The same when new data of ours is acknowledged, of which few want to hear.
    fn on_acknowledged(
        &mut self,
        _acknowledgment: &Acknowledgment,
        _transport: &TransportView,
    ) -> Vec<Control> {
        vec![]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pipe_holds_rate_times_round_trip_time() {
        // Study C's satellite.
        let rate = DataRate::from_bits_per_second(1_000_000);
        assert_eq!(pipe(rate, Duration::from_millis(500)), 62_500);
    }
}
