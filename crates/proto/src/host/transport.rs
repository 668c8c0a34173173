//! The interfaces between a host and its transports, and between a connection and its application.
//!
//! TCP is a field of the host, since every packet needs it. Every other transport is a [`Transport`], driven like TCP.
//! An application calls the connections of all transports as [`Socket`]s.

use super::{Host, HostEvent};
use crate::crosslayer::CrossLayerSignal;
use crate::interface::{InterfaceId, LinkEvent};
use crate::packet::{Body, FlowId, IpHeader, Packet, Payload};
use crate::rate::DataRate;
use crate::tcp::{self, Endpoint};
use crate::time::{Duration, Instant};
use crate::wire::icmp::{IcmpError, QuotedPacket};
use core::any::Any;
use core::fmt::Debug;
use core::net::IpAddr;

/// Identity of a connection: its transport, and its number there. TCP reuses the number of an abandoned connection;
/// other transports never do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SocketId(pub u32);

/// Bits of a [`SocketId`] for the number; those above hold the transport: zero for TCP, otherwise its place at the host
/// plus one.
const NUMBER_BITS: u32 = 28;

impl SocketId {
    /// Returns true for a TCP connection.
    #[inline]
    pub const fn is_tcp(self) -> bool {
        self.0 >> NUMBER_BITS == 0
    }

    pub(super) const fn new(place: usize, number: u32) -> SocketId {
        SocketId((place as u32 + 1) << NUMBER_BITS | number & ((1 << NUMBER_BITS) - 1))
    }

    /// Returns the transport's place at the host and the number there; `None` for TCP.
    pub(super) fn split(self) -> Option<(usize, u32)> {
        let place = (self.0 >> NUMBER_BITS).checked_sub(1)?;
        Some((place as usize, self.0 & ((1 << NUMBER_BITS) - 1)))
    }
}

/// Place of a transport other than TCP at its host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransportPlace(pub(super) usize);

impl TransportPlace {
    /// Returns the identity of the transport's connection with this number.
    pub fn socket(self, number: u32) -> SocketId {
        SocketId::new(self.0, number)
    }
}

/// An event of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SocketEvent {
    /// The peer has answered for the first time.
    Connected,
    /// New data can be read.
    Readable,
    /// Data can be written again after a short write.
    Writable,
    /// Bytes were skipped by the transport, and will not arrive.
    Skipped,
    /// The peer has closed its direction, and all its data can be read.
    PeerClosed,
    /// The connection is over.
    Closed,
    /// The peer refuses the connection.
    Refused,
    /// The peer has reset the connection.
    Reset,
    /// The peer has not answered for longer than the transport permits.
    TimedOut,
}

impl From<tcp::Event> for SocketEvent {
    #[inline]
    fn from(event: tcp::Event) -> SocketEvent {
        match event {
            tcp::Event::Connected => SocketEvent::Connected,
            tcp::Event::Readable => SocketEvent::Readable,
            tcp::Event::Writable => SocketEvent::Writable,
            tcp::Event::PeerClosed => SocketEvent::PeerClosed,
            tcp::Event::Closed => SocketEvent::Closed,
            tcp::Event::Refused => SocketEvent::Refused,
            tcp::Event::Reset => SocketEvent::Reset,
            tcp::Event::TimedOut => SocketEvent::TimedOut,
        }
    }
}

/// Bytes of a pattern to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pattern {
    /// Number of the pattern; by convention the flow's.
    pub stream: u32,
    /// Offset of the first byte in the pattern: the number of bytes written before.
    pub offset: u64,
    /// Number of bytes.
    pub length: u64,
    /// True for a record, which arrives as a whole if the transport keeps records.
    pub is_record: bool,
}

impl Pattern {
    /// Returns the bytes as a payload; at most 4 GiB of them.
    pub fn payload(self) -> Payload {
        Payload::Pattern {
            stream: self.stream,
            offset: self.offset,
            length: u32::try_from(self.length).unwrap_or(u32::MAX),
        }
    }
}

/// An application's view of a connection.
pub trait Socket: Any + Debug {
    /// Writes as many of the bytes as fit; returns their number.
    fn write(&mut self, pattern: Pattern) -> u64;

    /// Returns true if more may be written after a complete write. If false, [`SocketEvent::Writable`] follows.
    fn may_go_on_writing(&mut self) -> bool {
        true
    }

    /// Returns true if the transport keeps a record within one packet.
    fn keeps_records(&self) -> bool {
        false
    }

    /// Reads all available data; returns the number of bytes.
    fn read(&mut self, now: Instant) -> u64;

    /// Closes this direction once all written data is sent.
    fn close(&mut self);

    /// Returns the number of bytes skipped before the readable data; `None` for a transport that never skips.
    fn skipped(&self) -> Option<u64> {
        None
    }

    /// Returns the present state, for a record of time series.
    fn state(&self) -> SocketState;

    /// Returns the counters.
    fn counters(&self) -> SocketCounters;
}

/// Measures of a connection at one moment; `None` for a measure that its transport does not have.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SocketState {
    /// Congestion window in bytes.
    pub congestion_window: Option<u64>,
    /// Slow-start threshold in bytes, unless it is arbitrarily high.
    pub slow_start_threshold: Option<u64>,
    /// Bytes sent and not yet acknowledged.
    pub bytes_in_flight: Option<u64>,
    /// Retransmission timeout.
    pub retransmission_timeout: Option<Duration>,
    /// Sending rate of a transport that paces.
    pub sending_rate: Option<DataRate>,
    /// Smoothed round-trip time.
    pub smoothed_rtt: Option<Duration>,
    /// Latest RTT sample, after the number of samples so far.
    pub rtt_sample: Option<(u64, Duration)>,
}

/// Counters of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SocketCounters {
    /// Packets sent, retransmissions and bare acknowledgments included.
    pub packets_sent: u64,
    /// Packets with retransmitted data.
    pub retransmitted: u64,
    /// Expiries of the retransmission timer; `None` for a transport that does not count them.
    pub timeouts: Option<u64>,
    /// Losses detected by acknowledgments; `None` for a transport that does not count them.
    pub fast_retransmits: Option<u64>,
    /// Duplicate acknowledgments received.
    pub duplicate_acks: u64,
    /// Packets received without new data.
    pub duplicates_received: u64,
}

impl Socket for tcp::Connection {
    #[inline]
    fn write(&mut self, pattern: Pattern) -> u64 {
        self.write_pattern(pattern.stream, pattern.length)
    }

    #[inline]
    fn may_go_on_writing(&mut self) -> bool {
        tcp::Connection::may_go_on_writing(self)
    }

    #[inline]
    fn read(&mut self, _: Instant) -> u64 {
        self.discard(u64::MAX)
    }

    #[inline]
    fn close(&mut self) {
        tcp::Connection::close(self);
    }

    fn state(&self) -> SocketState {
        let threshold = self.slow_start_threshold();
        let samples = self.statistics().rtt_samples;
        SocketState {
            congestion_window: Some(self.congestion_window().into()),
            slow_start_threshold: (threshold < u32::MAX).then_some(threshold.into()),
            bytes_in_flight: Some(self.bytes_in_flight().into()),
            retransmission_timeout: Some(self.retransmission_timeout()),
            sending_rate: None,
            smoothed_rtt: self.smoothed_rtt(),
            rtt_sample: self.last_rtt_sample().map(|sample| (samples, sample)),
        }
    }

    fn counters(&self) -> SocketCounters {
        let counted = self.statistics();
        SocketCounters {
            packets_sent: counted.segments_sent,
            retransmitted: counted.retransmitted,
            timeouts: Some(counted.timeouts),
            fast_retransmits: Some(counted.fast_retransmits),
            duplicate_acks: counted.duplicate_acks_received,
            duplicates_received: counted.duplicates_received,
        }
    }
}

/// An incoming packet for this host, offered to a transport.
#[derive(Debug)]
pub struct Incoming<'a> {
    /// Time of arrival.
    pub now: Instant,
    /// IP header.
    pub ip: &'a IpHeader,
    /// MTU of the path back, in bytes.
    pub mtu: u32,
}

/// Fate of a packet at a transport.
#[derive(Debug)]
pub enum Delivery {
    /// For another transport.
    Other(Body),
    /// Taken by a connection.
    Taken,
    /// Opened a connection.
    Accepted {
        /// The connection's number.
        number: u32,
        /// The listener's port.
        port: u16,
    },
    /// A datagram for a bound port.
    Datagram {
        /// The port.
        port: u16,
        /// The sender.
        from: Endpoint,
        /// The payload.
        payload: Payload,
    },
    /// Damaged beyond repair.
    Damaged,
    /// No receiver; the answer, if the transport requires one.
    Nobody(Option<Body>),
}

/// A packet of a transport to send.
#[derive(Debug)]
pub struct Outgoing {
    /// Addresses of this host and of the peer.
    pub addresses: (IpAddr, IpAddr),
    /// Transport header and payload.
    pub body: Body,
    /// Flow to which it belongs.
    pub flow: Option<FlowId>,
    /// True for retransmitted data.
    pub retransmission: bool,
}

/// Connections of a transport other than TCP at one host, by numbers that are never reused. Driven like the host
/// itself: after any call that takes `&mut self`, drain the polls.
pub trait Transport: Any + Debug + Send {
    /// Takes in a packet, or returns it.
    fn handle_packet(&mut self, incoming: &Incoming<'_>, body: Body) -> Delivery;

    /// Takes in the network's word that a packet of this protocol number with this IP header, and of so many bytes behind
    /// it, arrived damaged beyond reading.
    fn handle_corruption(&mut self, _protocol: u8, _ip: &IpHeader, _bytes: u32) {}

    /// Takes in an ICMP error; returns false if it is about another transport.
    fn handle_icmp(&mut self, now: Instant, error: IcmpError, quoted: &QuotedPacket) -> bool;

    /// Takes in an event of a link with this rate, if the medium has reported one. `leaves` returns true for the
    /// addresses of a path that leaves by the link, own first; its last argument is true if the connection has other
    /// paths.
    fn handle_link(
        &mut self,
        _event: LinkEvent,
        _rate: Option<DataRate>,
        _leaves: &dyn Fn((IpAddr, IpAddr), bool) -> bool,
    ) {
    }

    /// Takes in a new attachment of the host. `source` returns the address of the interface in use towards a peer, if
    /// that interface has an address of its own.
    fn handle_attached(&mut self, _now: Instant, _source: &dyn Fn(IpAddr) -> Option<IpAddr>) {}

    /// Takes in a signal for connections to the peers for which `concerned` returns true.
    fn handle_signal(&mut self, _signal: &CrossLayerSignal, _concerned: &dyn Fn(IpAddr) -> bool) {}

    /// Returns the least share of packets, in millionths, that the code of a link may lose for one of the connections over
    /// it; `None` if no connection leaves errors to the link. `leaves` returns true for the addresses of a path that
    /// leaves by the link, own first.
    fn tolerated_loss(&self, _leaves: &dyn Fn((IpAddr, IpAddr)) -> bool) -> Option<u32> {
        None
    }

    /// Returns the peers of connections, once for each connection.
    fn peers(&self) -> Vec<IpAddr>;

    /// Returns a connection.
    fn socket(&self, number: u32) -> Option<&dyn Socket>;

    /// Returns a connection, mutably.
    fn socket_mut(&mut self, number: u32) -> Option<&mut dyn Socket>;

    /// Returns the time of the next [`handle_timeout`](Self::handle_timeout).
    fn poll_timeout(&mut self) -> Option<Instant>;

    /// Performs the actions due at `now`.
    fn handle_timeout(&mut self, now: Instant);

    /// Returns the next event of a connection.
    fn poll_event(&mut self) -> Option<(u32, SocketEvent)>;

    /// Returns true if a connection may have a packet to send.
    fn may_transmit(&self) -> bool;

    /// Returns the next packet to send.
    fn poll_transmit(&mut self, now: Instant) -> Option<Outgoing>;

    /// Returns a connection whose state may have changed since its last return here.
    fn poll_changed(&mut self) -> Option<u32>;

    /// Returns the number of connections refused or dropped because a listen queue was full.
    fn refused(&self) -> u64;
}

/// Transports of a host other than TCP, in the order of their first use.
pub(super) type Transports = Vec<Box<dyn Transport>>;

impl Host {
    /// Offers a packet to the transports other than TCP; returns it if none takes it.
    pub(super) fn deliver_to_transports(
        &mut self,
        now: Instant,
        ip: &IpHeader,
        mut body: Body,
        flow: Option<FlowId>,
    ) -> Option<Body> {
        let mtu = super::mtu_towards(&self.routes, &self.interface_mtus, ip.source);
        let incoming = Incoming { now, ip, mtu };
        for place in 0..self.transports.as_ref().map_or(0, |all| all.len()) {
            let transport = self.transports.as_mut()?.get_mut(place)?;
            match transport.handle_packet(&incoming, body) {
                Delivery::Other(other) => body = other,
                delivery => {
                    self.note_delivery(place, ip.source, delivery, flow);
                    return None;
                }
            }
        }
        Some(body)
    }

    fn note_delivery(
        &mut self,
        place: usize,
        source: IpAddr,
        delivery: Delivery,
        flow: Option<FlowId>,
    ) {
        match delivery {
            Delivery::Other(_) | Delivery::Taken => {}
            Delivery::Accepted { number, port } => {
                let socket = SocketId::new(place, number);
                self.events.push_back(HostEvent::Accepted { socket, port });
            }
            Delivery::Datagram {
                port,
                from,
                payload,
            } => {
                let datagram = HostEvent::Datagram {
                    port,
                    from,
                    payload,
                };
                self.events.push_back(datagram);
            }
            Delivery::Damaged => self.count_damaged(),
            Delivery::Nobody(answer) => {
                self.count_unreceived();
                if let Some(answer) = answer {
                    self.send(source, answer, flow);
                }
            }
        }
    }

    /// Returns the next packet of the transports other than TCP.
    pub(super) fn poll_transports(&mut self, now: Instant) -> Option<Packet> {
        let transports = self.transports.as_mut()?;
        let sent = transports
            .iter_mut()
            .find_map(|transport| transport.poll_transmit(now))?;
        let mut packet = self.origin().packet(sent.addresses, sent.body, sent.flow);
        packet.retransmission = sent.retransmission;
        Some(packet)
    }

    /// Returns the next event of a connection.
    pub(super) fn poll_socket_event(&mut self) -> Option<HostEvent> {
        if let Some((socket, event)) = self.sockets.poll_event() {
            let event = event.into();
            return Some(HostEvent::Socket { socket, event });
        }
        let transports = self.transports.as_mut()?.iter_mut().enumerate();
        let mut events = transports.filter_map(|(place, transport)| {
            let (number, event) = transport.poll_event()?;
            Some((SocketId::new(place, number), event))
        });
        let (socket, event) = events.next()?;
        Some(HostEvent::Socket { socket, event })
    }

    /// Returns a connection whose state may have changed since its last return here.
    #[inline]
    pub fn poll_changed(&mut self) -> Option<SocketId> {
        if let Some(changed) = self.sockets.poll_changed() {
            return Some(changed);
        }
        let transports = self.transports.as_mut()?.iter_mut().enumerate();
        let mut changed = transports
            .filter_map(|(place, transport)| Some(SocketId::new(place, transport.poll_changed()?)));
        changed.next()
    }

    /// Takes in that this host sends by another interface from now on; then drain the polls. An attachment does that by
    /// itself.
    pub fn handle_attached(&mut self, now: Instant, interface: InterfaceId) {
        let Some(mut transports) = self.transports.take() else {
            return;
        };
        let source = |peer| self.address_at(interface, peer);
        for transport in &mut *transports {
            transport.handle_attached(now, &source);
        }
        self.transports = Some(transports);
    }

    /// Returns the latest of an interface's own addresses from which it sends to a peer, if it has any.
    pub fn address_at(&self, interface: InterfaceId, peer: IpAddr) -> Option<IpAddr> {
        let own = self.addresses().filter(|&own| {
            own.is_ipv4() == peer.is_ipv4() && self.interface_of(own) == Some(interface)
        });
        own.last()
    }

    /// Returns the least share of packets, in millionths, that the code of the link at an interface may lose for one of this
    /// node's connections; `None` if none of them leaves errors to the link. A medium whose code is up to the transports
    /// asks for it.
    pub fn tolerated_loss(&self, interface: InterfaceId) -> Option<u32> {
        let leaves = |(own, remote)| {
            let by_route = || self.routes.lookup(remote);
            self.interface_of(own).or_else(by_route) == Some(interface)
        };
        let transports = self.transports.iter().flat_map(|all| all.iter());
        let asked = transports.filter_map(|transport| transport.tolerated_loss(&leaves));
        let layers = self.layers.as_ref();
        let asked = asked.chain(layers.and_then(|layers| layers.tolerated_loss(interface)));
        asked.min()
    }

    /// Passes a link event to the transports other than TCP. It concerns paths from an address of the interface and,
    /// for connections with several paths, those from an address of no interface whose route to the peer leads there.
    pub(super) fn tell_transports_of_link(
        &mut self,
        interface: InterfaceId,
        event: LinkEvent,
        rate: Option<DataRate>,
    ) {
        let Some(mut transports) = self.transports.take() else {
            return;
        };
        let leaves = |(own, remote), has_others| {
            let by_route = || self.routes.lookup(remote).filter(|_| has_others);
            self.interface_of(own).or_else(by_route) == Some(interface)
        };
        for transport in &mut *transports {
            transport.handle_link(event, rate, &leaves);
        }
        self.transports = Some(transports);
    }
}
