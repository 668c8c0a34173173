//! Signals between the layers of a host across a handover, and the controls that a remedy may apply to a transport in
//! return.
//!
//! A [`Signal`] goes to all parts of a node. From it, transports derive the [`CrossLayerSignal`]s of each connection;
//! others come from the connection itself or from its peer. A [`Remedy`] answers with [`Control`]s, which the host
//! applies to the connection ([`crate::host`] owns the order). There are no subscriptions.

use crate::interface::{InterfaceId, LinkEvent, LinkParameters, QueueStatus};
use crate::rate::DataRate;
use crate::time::{Duration, Instant};
use crate::wire::prefix::Prefix;
use core::fmt::Debug;
use core::net::{IpAddr, Ipv6Addr};
use core::num::NonZeroU8;

/// Parameters of a mobile's link, as far as known (IEEE 802.21's Link_Parameters_Report).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathParameters {
    /// Rate of full IP packets towards the mobile.
    pub to_mobile: DataRate,
    /// Rate of full IP packets from the mobile.
    pub from_mobile: DataRate,
    /// Shortest round-trip time.
    pub round_trip: Duration,
    /// Capacity of the queue towards the mobile in full packets; `None` if unknown.
    pub queue_packets: Option<u32>,
}

impl PathParameters {
    /// Returns the parameters of a mobile's link from the mobile's report.
    pub const fn at_mobile(link: LinkParameters) -> PathParameters {
        PathParameters {
            to_mobile: link.incoming,
            from_mobile: link.outgoing,
            round_trip: link.round_trip,
            queue_packets: link.incoming_queue,
        }
    }

    /// Returns the parameters of a mobile's link from a report at the link's other end.
    pub const fn at_network(link: LinkParameters) -> PathParameters {
        PathParameters::at_mobile(link.from_other_end())
    }

    /// Returns the bandwidth-delay product in bytes, from the mobile if it `sends`, otherwise towards it.
    pub fn pipe(&self, sends: bool) -> u32 {
        pipe(self.rate(sends), self.round_trip)
    }

    /// Returns the round-trip time of a segment of `bytes` that the mobile sends or receives with empty queues: the shortest one plus
    /// the segment's transmission time.
    pub fn round_trip_of(&self, bytes: u32, sends: bool) -> Duration {
        let on_link = self.rate(sends).transmission_time(u64::from(bytes) * 8);
        self.round_trip + on_link.unwrap_or(Duration::ZERO)
    }

    /// Returns the bytes of whole segments that keep the link busy: the data it carries in one segment's round-trip time.
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

/// Returns the bandwidth-delay product of a path in bytes.
pub fn pipe(rate: DataRate, round_trip: Duration) -> u32 {
    u32::try_from(rate.bits_in(round_trip) / 8).unwrap_or(u32::MAX)
}

/// Information about a network before the mobile uses it (IEEE 802.21's information service).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NetworkInformation {
    /// Data rate; of a link with two, the lower one.
    pub rate: DataRate,
    /// Lowest and highest frequency of the channel in kHz, if known.
    pub channel_khz: Option<[u32; 2]>,
    /// Address of the router.
    pub router: Ipv6Addr,
}

/// An event of a link elsewhere, reported over the network (IEEE 802.21's event service).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RemoteEvent {
    /// Number of the link among those that the mobile has subscribed to.
    pub link: usize,
    /// The event.
    pub event: LinkEvent,
    /// The link's data rate, in a report of parameters.
    pub rate: Option<DataRate>,
}

/// A handover that has begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Begun {
    /// Start of the handover; if the link was lost, the time of the loss.
    pub at: Instant,
    /// The old interface.
    pub from: Option<InterfaceId>,
    /// The new interface; equal to `from` for a change of cell in a radio network.
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
    /// Returns the name of the kind in results.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Soft => "soft",
            Kind::Hard => "hard",
        }
    }
}

/// A signal between the parts of a node: its transports, its layers and its attachment. They receive each signal in
/// this order, layers by rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// From the attachment: announcement of the next handover.
    Announced,
    /// From the attachment: the point of service is to be consulted about a handover to this interface.
    HandoverForeseen(InterfaceId),
    /// From the attachment: a handover has begun. It ends the previous one, except for that one's overlap.
    Begun(Begun),
    /// From the attachment: routes lead over this interface from now on, also for the node's own packets; `None`: over
    /// no interface.
    Attached(Option<InterfaceId>),
    /// From the attachment: the node's own packets still leave by this interface; `None`: no longer.
    Outgoing(Option<InterfaceId>),
    /// From the attachment, for the node's transports: an event of the link in use. An [`Up`](LinkEvent::Up) during a
    /// handover is not signalled, since [`Complete`](Self::Complete) follows.
    InUse(InterfaceId, LinkEvent),
    /// An event of a link, for layers: from the attachment for an access link, otherwise from the medium.
    Link(InterfaceId, LinkEvent),
    /// From the attachment: the handover is complete; packets arrive and leave by this interface.
    Complete(Option<InterfaceId>),
    /// From the node: a handover leads to this interface, and binding updates are to report the parameters of its link.
    NewPath(InterfaceId, PathParameters),
    /// From a layer: a binding update has left for this node. Later packets to the node arrive after the update.
    BindingSent(IpAddr),
    /// From a layer: the home agent has registered the mobile at this interface.
    Registered(InterfaceId),
    /// From a layer: the home agent has deleted the binding, as the mobile is at home.
    Deregistered,
    /// From a layer: a care-of address on this interface is ready for use.
    AddressAcquired(InterfaceId, IpAddr),
    /// From a layer: the point of service has answered about the next handover, or timed out.
    HandoverPrepared,
    /// From a layer: the point of service has ordered a handover to this interface.
    HandoverOrdered(InterfaceId),
    /// From a layer: the point of service has had this interface's link disconnected or powered down.
    LinkReleased(InterfaceId),
    /// From a layer: information about the network at this interface.
    Informed(InterfaceId, NetworkInformation),
    /// From a layer: an event of a link elsewhere.
    Remote(RemoteEvent),
    /// From a layer: a correspondent on this node has learned that this peer has moved.
    PeerMoved(IpAddr, PeerMoved),
    /// From a layer: the home agent on this node has a new binding, of a home address or a mobile network.
    Bound(Prefix),
}

/// A signal to one end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CrossLayerSignal {
    /// To a new connection of a mobile: the parameters of the link in use.
    Begun(PathParameters),
    /// The link in use will soon be down (Link_Going_Down; study C's s1).
    GoingDown,
    /// The link in use stays up after all (Link_Event_Rollback).
    Rollback,
    /// Packets no longer pass (Link_Down; study C's s3, "disconnected").
    Disconnected,
    /// The mobile's binding update has left, and packets may come over the old and the new path (study S, Table 2).
    UpdateSent,
    /// Packets pass again, or pass over another link (Link_Handover_Complete; with a mobility protocol the end of the registration, or
    /// the departure of the binding update to a correspondent that uses route optimization; study C's s3, "connected").
    Connected(PathParameters),
    /// To a correspondent: the peer has reported a move.
    PeerMoved(PeerMoved),
    /// The peer's notice arrived with a segment.
    Noticed(HandoverNotice),
    /// All data in flight is acknowledged.
    AllAcknowledged,
    /// To a sender: a base station has again failed to transmit a segment in flight, and keeps trying.
    BadState,
    /// To a connection of the node that feeds a link: new state of the connection's queue at the link's entrance
    /// (SI-C-QUEUE_STATUS; study S, section 2).
    QueueStatus(QueueStatus),
}

impl CrossLayerSignal {
    /// Returns the signal for an event of the link in use, if there is one; `path` holds the link's parameters, if
    /// known.
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

/// Contents of a binding update for the correspondent's transports (study S, Table 2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerMoved {
    /// One-way delay of the update over the new path, by its timestamp.
    pub delay: Duration,
    /// Rate of the new link, if reported.
    pub rate: Option<DataRate>,
    /// Capacity of the new link's queue in full packets, if reported.
    pub queue_packets: Option<u32>,
}

impl PeerMoved {
    /// Returns the new path's round-trip time: twice the update's one-way delay.
    pub const fn round_trip(&self) -> Duration {
        self.delay.saturating_mul(2)
    }

    /// Returns true if the new path's round-trip time exceeds the smoothed one of the old path, or if the old one was not measured.
    pub fn is_longer_than(&self, smoothed_rtt: Option<Duration>) -> bool {
        smoothed_rtt.is_none_or(|smoothed| self.round_trip() > smoothed)
    }
}

/// Notice from a mobile to its correspondent in a TCP option after a handover (study T, section 7; study S, Table 2). The layout is
/// in [`crate::wire::tcp`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HandoverNotice {
    /// Number of the handover within the connection: a notice is repeated, but counts once.
    pub number: NonZeroU8,
    /// Number of missing segments below the highest one received: still on the old path, or lost.
    pub outstanding: u16,
}

/// A remedy's view of its connection. Sizes in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransportView {
    /// Congestion window.
    pub congestion_window: u32,
    /// Slow-start threshold; `u32::MAX` while it is arbitrarily high.
    pub slow_start_threshold: u32,
    /// Bytes in flight.
    pub bytes_in_flight: u32,
    /// Payload of a full segment.
    pub segment_size: u32,
    /// Smoothed round-trip time, if measured.
    pub smoothed_rtt: Option<Duration>,
    /// True if the retransmission timer has expired since the freeze.
    pub timed_out: bool,
}

/// An acknowledgment of new data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Acknowledgment {
    /// Time of arrival.
    pub at: Instant,
    /// Bytes acknowledged for the first time, at least one.
    pub bytes: u64,
    /// RTT sample, if the ACK gave one. The view's smoothed round-trip time already includes it.
    pub rtt: Option<Duration>,
}

/// An instruction to a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// Send no new data until [`Thaw`](Self::Thaw): ACKs move the window's left edge, while its right edge stays.
    HoldNewData,
    /// Send no data at all until `Thaw`; a timeout is noted and changes nothing.
    Freeze,
    /// End `HoldNewData` and `Freeze`. A timer that has expired meanwhile is restarted.
    Thaw,
    /// Count all data in flight as lost, without telling the congestion control.
    ResendOutstanding,
    /// Count as lost the data cut off by a link break, as of the freeze. Data judged by round-trip times to have
    /// arrived by then has lost only its ACK, and waits for the ACK of the retransmissions.
    ResendCutOff,
    /// Set the slow-start threshold to the congestion window instead of half of it, should the timer expire before the
    /// data in flight is acknowledged.
    ForgiveTimeout,
    /// Restart the congestion control with these values, in bytes, and discard its estimates of the path.
    NewPath {
        /// Congestion window.
        window: u32,
        /// Slow-start threshold.
        threshold: u32,
    },
    /// Cap the bytes in flight, independently of the congestion window, for a remedy that knows the new path's capacity. Data already
    /// in flight does not count, as it is on the old path, unless it is retransmitted
    /// ([`ResendOutstanding`](Self::ResendOutstanding)). In force until the next cap.
    LimitFlight(u32),
    /// Continue slow start up to this congestion window, in bytes, if that is above the threshold.
    RaiseThreshold(u32),
    /// Discard the congestion control's estimates of the path, and keep its window.
    ForgetPath,
    /// Restart the estimates of round-trip time and timeout, with this sample if there is one; restart a running timer
    /// accordingly.
    RestartTiming(Option<Duration>),
    /// Restart the retransmission timer, if it runs, with the timeout in force.
    RestartTimer,
    /// Cap the window offered to the peer, in bytes; zero shuts it, `None` lifts the cap.
    Offer(Option<u32>),
    /// Cap the window offered to the peer, but never move its right edge back.
    OfferMore {
        /// Bytes offered beyond the right edge offered so far until data has arrived up to there; then beyond the data received.
        window: u32,
        /// True if missing data may still arrive over another link: data received out of order makes room for more.
        missing_arrives: bool,
    },
    /// Hold back one ACK until the next is due.
    KeepLastAcknowledgment(bool),
    /// Send this many ACKs at once, with the present window.
    Acknowledge(u8),
    /// Attach a notice to ACKs: to at least `times` of them, and while data is missing.
    Notice {
        /// Number of the handover.
        number: NonZeroU8,
        /// Minimum number of ACKs with the notice.
        times: u8,
    },
    /// Do not treat duplicate ACKs and gaps as losses until all data now in flight is acknowledged, or until a timeout.
    TolerateReordering(bool),
}

/// A published scheme against the effects of a handover on a transport: signals in, controls out. Each instance serves
/// one connection.
pub trait Remedy: Debug + Send {
    /// Takes in a signal; returns the controls to apply, in this order.
    fn on_signal(&mut self, signal: &CrossLayerSignal, transport: &TransportView) -> Vec<Control>;

    /// Takes in an acknowledgment of this end's new data; returns the controls to apply. Few remedies need it.
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
