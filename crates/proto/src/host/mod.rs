//! A host: its interfaces, routes and sockets. A router is a host without sockets.
//!
//! To drive it, in this order:
//! 1. When a packet arrives, call [`Host::route`]. Send a forwarded packet out of the interface that the verdict names, unopened;
//!    pass a local one to [`Host::handle_packet`].
//! 2. At the time of [`Host::poll_timeout`], call [`Host::handle_timeout`].
//! 3. After either, and after any call on a socket, drain [`Host::poll_event`], [`Host::poll_transmit`] and
//!    [`Host::poll_changed`], in this order and again, until all return `None`: a packet without a route
//!    becomes an event. Let applications read before the host transmits, so that its ACKs offer the window
//!    that they opened.
//! 4. For a mobile, drain [`Host::poll_attachment`] after these, and after [`Host::handle_link`], in the same way.
//!
//! Deadlines of several connections are in a heap and connections with something to send in a list, so that no
//! call scans all connections.

mod addresses;
mod aerotp;
mod attachment;
mod backpressure;
mod bad_state;
pub(crate) mod burst;
mod errors;
mod inline_vec;
pub mod layer;
mod layers;
mod links;
mod origin;
mod receiving;
mod routes;
mod routing;
pub(crate) mod sockets;
pub(crate) mod table;
mod tp_plus_plus;
mod transmitting;
mod transport;
mod transports;

pub use aerotp::AerotpDatagram;
pub use backpressure::Backpressure;
pub use bad_state::{BadStateNotifier, Conversation};
pub use inline_vec::InlineVec;
pub use layers::Layers;
use origin::CodePoints;
pub use origin::Origin;
pub use routes::{Places, RouteTable};
pub use table::{FIRST_EPHEMERAL_PORT, SocketTable, Timed};
pub use tp_plus_plus::TpPlusPlusSockets;
pub use transport::{
    Delivery, Incoming, Outgoing, Pattern, Socket, SocketCounters, SocketEvent, SocketId,
    SocketState, Transport, TransportPlace,
};

use crate::crosslayer::CrossLayerSignal;
use crate::interface::{InterfaceId, LinkEvent};
use crate::mobility::buffering::Held;
use crate::packet::{FlowId, IpHeader, Packet, Payload, Wording};
use crate::tcp::Endpoint;
use crate::time::Instant;
use crate::wire::icmp::{Echo, IcmpError, QuotedPacket};
use addresses::Addresses;
use attachment::HostAttachment;
use core::net::IpAddr;
use layer::{Around, Counters, Layer, Neighbor, Rank};
use links::Links;
use sockets::Sockets;
use std::collections::VecDeque;
use transport::Transports;

/// Initial hop limit of packets (RFC 1700's recommended default of 64).
const HOP_LIMIT: u8 = 64;

/// A host's decision about a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// For this host: pass the packet to [`Host::handle_packet`].
    Local,
    /// To be sent out of this interface.
    Forward(InterfaceId),
    /// Dropped here; an ICMP error is on its way to the source if the standard requires one.
    Discard,
}

/// An event on a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HostEvent {
    /// A listener has a new connection.
    Accepted {
        /// The connection.
        socket: SocketId,
        /// The listener's port.
        port: u16,
    },
    /// An event of a connection.
    Socket {
        /// The connection.
        socket: SocketId,
        /// The event.
        event: SocketEvent,
    },
    /// A datagram arrived.
    Datagram {
        /// Destination port.
        port: u16,
        /// Sender.
        from: Endpoint,
        /// The payload.
        payload: Payload,
    },
    /// An echo reply arrived.
    EchoReply {
        /// The reply.
        echo: Echo,
    },
    /// An ICMP error about a datagram or an echo request arrived.
    Undelivered {
        /// The error.
        error: IcmpError,
        /// The packet it quotes.
        quoted: QuotedPacket,
    },
    /// A layer has acquired an address, such as a care-of address by DHCP, and the medium is to learn it.
    AddressAcquired {
        /// The interface.
        interface: InterfaceId,
        /// The address.
        address: IpAddr,
    },
    /// A home agent here has bound a mobile: packets that wait for it at IP may now take another path.
    MobileBound,
    /// An event of a layer, in words for a record.
    Layer(Wording),
    /// A packet for the kernel that replaces this host's transports ([`Host::leave_transports_to_kernel`]).
    ForKernel(Box<Packet>),
}

/// Packets discarded by a host, by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Discarded {
    /// No route to the destination.
    pub no_route: u64,
    /// Stopped by an ingress filter (RFC 2827).
    pub ingress_filter: u64,
    /// Larger than the next link's MTU.
    pub too_big: u64,
    /// Hop limit used up.
    pub hop_limit: u64,
    /// Damaged beyond its checksums.
    pub damaged: u64,
    /// No receiver at the port, or a protocol unknown to this host.
    pub no_receiver: u64,
    /// Refused because of a full listen queue, or half open and dropped to make room.
    pub backlog: u64,
    /// Messages to mobility agents that were unreadable, unexpected, or failed authentication.
    pub messages: u64,
    /// Out of a tunnel without a receiver here, or about to loop in one.
    pub tunnelled: u64,
}

impl Discarded {
    /// Adds the counts of another part of the host, or of another host.
    pub fn add(&mut self, other: Discarded) {
        self.no_route += other.no_route;
        self.ingress_filter += other.ingress_filter;
        self.too_big += other.too_big;
        self.hop_limit += other.hop_limit;
        self.damaged += other.damaged;
        self.no_receiver += other.no_receiver;
        self.backlog += other.backlog;
        self.messages += other.messages;
        self.tunnelled += other.tunnelled;
    }
}

/// A packet that stays at a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Staying {
    /// Held by a layer, or dropped by it instead.
    Held(Held),
    /// One of the host's own packets, discarded before it was sent.
    Unsent(Unsent),
}

/// A packet of a flow, discarded by its own host before it was sent, for lack of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unsent {
    /// Its flow.
    pub flow: FlowId,
    /// Its IP header; for a packet in a tunnel, the inner one.
    pub ip: IpHeader,
    /// True if it has transport payload.
    pub has_data: bool,
}

impl Unsent {
    /// Returns the record of a packet if it belongs to a flow and is not yet sent.
    pub fn of(packet: &Packet) -> Option<Unsent> {
        let flow = packet
            .flow
            .filter(|_| !packet.identity_within().is_some())?;
        Some(Unsent {
            flow,
            ip: packet.innermost().ip,
            has_data: packet.has_data(),
        })
    }
}

/// Packets discarded by a host.
#[derive(Debug, Default)]
struct GivenUp {
    discarded: Discarded,
    /// Packets not yet polled.
    unsent: Vec<Unsent>,
}

/// A host. Fields used for every packet come first.
#[derive(Debug)]
#[repr(C)]
pub struct Host {
    address: IpAddr,
    /// True once a packet has come to a transport or an agent; cleared when read.
    accepted: bool,
    /// True once a layer has learned something from a forwarded packet; cleared when read.
    stirred: bool,
    /// True if a kernel replaces the transports.
    has_kernel: bool,
    identification: u16,
    other_addresses: Addresses,
    interface_mtus: InlineVec<u32>,
    routes: RouteTable,
    events: VecDeque<HostEvent>,
    outbox: VecDeque<Packet>,
    sockets: Sockets,
    /// `None` until the first packet is discarded.
    given_up: Option<Box<GivenUp>>,
    layers: Option<Box<Layers>>,
    /// `None` until a flow has a code point.
    code_points: Option<Box<CodePoints>>,
    /// Transports beside TCP; `None` until one is used.
    transports: Option<Box<Transports>>,
    /// For a mobile only.
    attachment: Option<Box<HostAttachment>>,
    links: Links,
}

impl Host {
    /// Creates a host at `address`; `secret` keys its initial sequence numbers (RFC 6528).
    pub fn new(address: IpAddr, secret: [u8; 16]) -> Host {
        Host {
            address,
            other_addresses: Addresses::default(),
            interface_mtus: InlineVec::default(),
            routes: RouteTable::default(),
            sockets: Sockets::new(secret),
            outbox: VecDeque::new(),
            events: VecDeque::new(),
            given_up: None,
            accepted: false,
            stirred: false,
            has_kernel: false,
            layers: None,
            identification: 0,
            code_points: None,
            transports: None,
            attachment: None,
            links: Links::default(),
        }
    }

    /// Returns this host's first address.
    pub fn address(&self) -> IpAddr {
        self.address
    }

    /// Adds an address. To a destination of either IP version the host sends from its first address of that version.
    pub fn add_address(&mut self, address: IpAddr) {
        self.other_addresses.push(address, None);
    }

    /// Adds an address of an interface: packets from it leave by that interface, whatever their destination (RFC 1122
    /// section 3.3.4.2, the strong model).
    pub fn add_interface_address(&mut self, address: IpAddr, interface: InterfaceId) {
        self.other_addresses.push(address, Some(interface));
    }

    /// Replaces this host's transports by a kernel, above its layers: a packet for them becomes a
    /// [`HostEvent::ForKernel`], an error of the first hop a [`HostEvent::Undelivered`], and packets of the kernel come
    /// in by [`Host::handle_written`].
    pub fn leave_transports_to_kernel(&mut self) {
        self.has_kernel = true;
    }

    /// Returns true if a kernel replaces this host's transports.
    pub fn has_kernel(&self) -> bool {
        self.has_kernel
    }

    /// Takes in a packet written by the kernel that replaces the transports, for the layers to send; then drain the
    /// polls.
    pub fn handle_written(&mut self, packet: Packet) {
        self.outbox.push_back(packet);
    }

    /// Returns true for an address of this host.
    pub fn has_address(&self, address: IpAddr) -> bool {
        self.is_own(address)
    }

    /// Returns the interface of an own address, if the address belongs to one.
    pub fn interface_of(&self, address: IpAddr) -> Option<InterfaceId> {
        self.other_addresses.get(address)?
    }

    /// Returns all addresses of this host, in the order of their addition.
    pub fn addresses(&self) -> impl Iterator<Item = IpAddr> {
        core::iter::once(self.address).chain(self.other_addresses.iter())
    }

    #[inline]
    fn is_own(&self, address: IpAddr) -> bool {
        address == self.address || self.other_addresses.get(address).is_some()
    }

    /// Returns true for a packet to this host, or one that its layers take.
    #[inline]
    fn takes(&self, ip: &IpHeader) -> bool {
        self.is_own(ip.destination) || self.layers.as_ref().is_some_and(|layers| layers.takes(ip))
    }

    /// Adds a layer.
    pub fn add_layer(&mut self, layer: impl Layer) {
        self.layers_mut().add(layer);
    }

    /// Returns the first layer of a type.
    pub fn layer<L: Layer>(&self) -> Option<&L> {
        self.layers.as_ref()?.get()
    }

    /// Returns the first layer of a type, mutably.
    pub fn layer_mut<L: Layer>(&mut self) -> Option<&mut L> {
        self.layers.as_mut()?.get_mut()
    }

    /// Returns the virtual interface by which this host's own packets leave, if a layer has one.
    pub fn default_tunnel(&self) -> Option<InterfaceId> {
        self.layers.as_ref()?.default_route()
    }

    /// Returns the layers of this host, mutably.
    pub fn layers_mut(&mut self) -> &mut Layers {
        self.layers.get_or_insert_default()
    }

    /// Returns the builder of this host's own packets.
    fn origin(&mut self) -> Origin<'_> {
        Origin {
            identification: &mut self.identification,
            code_points: self.code_points.as_deref(),
        }
    }

    /// Returns the layers of this host and their surroundings.
    fn layers_around(&mut self) -> Option<(&mut Layers, Around<'_>)> {
        let around = Around {
            routes: &self.routes,
            origin: Origin {
                identification: &mut self.identification,
                code_points: self.code_points.as_deref(),
            },
            interface_mtus: &self.interface_mtus,
            links: &self.links,
        };
        Some((self.layers.as_deref_mut()?, around))
    }

    /// Returns the layers of this host, if it has any.
    pub fn layers(&self) -> Option<&Layers> {
        self.layers.as_deref()
    }

    /// Passes a signal to the remedies of connections to the peers for which `concerned` returns true.
    fn tell_transports(
        &mut self,
        now: Instant,
        signal: &CrossLayerSignal,
        concerned: impl Fn(IpAddr) -> bool,
    ) {
        self.sockets.signal(now, signal, &concerned);
        for transport in self.transports.iter_mut().flat_map(|all| all.iter_mut()) {
            transport.handle_signal(signal, &concerned);
        }
    }

    /// Returns the peers of this host's connections, once for each connection.
    fn peers(&self) -> impl Iterator<Item = IpAddr> {
        let others = self.transports.iter().flat_map(|all| all.iter());
        let others = others.flat_map(|transport| transport.peers());
        self.sockets.peers().chain(others)
    }

    /// Takes in a medium's event about one of the hosts at the other end of an interface's link; then drain the polls.
    pub fn handle_neighbor(
        &mut self,
        now: Instant,
        interface: InterfaceId,
        event: LinkEvent,
        neighbor: Neighbor,
    ) {
        if let Some(layers) = &mut self.layers {
            layers.handle_neighbor(now, interface, event, neighbor);
        }
    }

    /// Returns the address from which this host sends to a destination; `None` if it has none of that IP version.
    fn address_towards(&self, destination: IpAddr) -> Option<IpAddr> {
        self.addresses()
            .find(|address| address.is_ipv4() == destination.is_ipv4())
    }

    /// Adds an interface that takes packets of up to `mtu` bytes.
    pub fn add_interface(&mut self, mtu: u32) -> InterfaceId {
        self.interface_mtus.push(mtu);
        InterfaceId(self.interface_mtus.len() - 1)
    }

    /// Returns the routes, mutably.
    pub fn routes_mut(&mut self) -> &mut RouteTable {
        &mut self.routes
    }

    /// Returns the routes.
    pub fn routes(&self) -> &RouteTable {
        &self.routes
    }

    /// Returns the counts of discarded packets.
    pub fn discarded(&self) -> Discarded {
        let given_up = self.given_up.as_ref();
        let mut sum = given_up.map_or_else(Discarded::default, |all| all.discarded);
        sum.backlog = self.sockets.refused();
        for transport in self.transports.iter().flat_map(|all| all.iter()) {
            sum.backlog += transport.refused();
        }
        for (_, counters) in self.layer_counters() {
            sum.add(counters.discarded);
        }
        sum
    }

    /// Returns the counters of each layer, in the order of layers.
    pub fn layer_counters(&self) -> impl Iterator<Item = (Rank, Counters)> {
        self.layers.iter().flat_map(|layers| layers.counters())
    }

    /// Returns true, once, if a packet has come to this host's transports or to a layer that answers for others.
    #[inline]
    pub fn take_accepted(&mut self) -> bool {
        core::mem::take(&mut self.accepted)
    }

    /// Returns the next packet that stays at this host, for an account of packets; those in layers' buffers come first.
    #[inline]
    pub fn poll_staying(&mut self) -> Option<Staying> {
        if let Some(held) = self.layers.as_mut().and_then(|layers| layers.poll_held()) {
            return Some(Staying::Held(held));
        }
        self.given_up.as_mut()?.unsent.pop().map(Staying::Unsent)
    }

    fn given_up(&mut self) -> &mut GivenUp {
        self.given_up.get_or_insert_default()
    }

    /// Returns true, once, if a layer has learned something from a forwarded packet: then drain the polls.
    #[inline]
    pub fn take_needs_poll(&mut self) -> bool {
        core::mem::take(&mut self.stirred)
    }

    /// Returns the time of the next [`Host::handle_timeout`].
    #[inline]
    pub fn poll_timeout(&mut self) -> Option<Instant> {
        let mut sockets = self.sockets.poll_timeout();
        if let Some(transports) = &mut self.transports {
            let others = transports
                .iter_mut()
                .filter_map(|transport| transport.poll_timeout());
            sockets = sockets.into_iter().chain(others).min();
        }
        if let Some(own) = &self.attachment {
            sockets = sockets.into_iter().chain(own.machine.poll_timeout()).min();
        }
        match &self.layers {
            None => sockets,
            Some(layers) => sockets.into_iter().chain(layers.poll_timeout()).min(),
        }
    }

    /// Performs the actions due at `now`.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.sockets.handle_timeout(now);
        for transport in self.transports.iter_mut().flat_map(|all| all.iter_mut()) {
            transport.handle_timeout(now);
        }
        if let Some(layers) = &mut self.layers {
            layers.handle_timeout(now);
        }
        self.tell_signals(now);
        if let Some(own) = &mut self.attachment {
            own.machine.handle_timeout(now);
        }
    }

    /// Returns the next event.
    #[inline]
    pub fn poll_event(&mut self) -> Option<HostEvent> {
        // The usual case: a host is asked several times for each packet.
        let is_plain = self.layers.is_none() && self.transports.is_none();
        if is_plain && self.events.is_empty() {
            return match self.sockets.may_have_event() {
                true => self.poll_socket_event(),
                false => None,
            };
        }
        self.next_event()
    }

    fn next_event(&mut self) -> Option<HostEvent> {
        if let Some(event) = self.events.pop_front() {
            return Some(event);
        }
        if let Some(layers) = &mut self.layers
            && let Some(words) = layers.poll_event()
        {
            return Some(HostEvent::Layer(words));
        }
        self.poll_socket_event()
    }
}

/// Returns the MTU of the first link towards a destination, in bytes, as far as this host knows.
fn mtu_towards(routes: &RouteTable, mtus: &InlineVec<u32>, destination: IpAddr) -> u32 {
    // A tunnel's MTU is unknown here: its layer reports it when a packet is too long.
    let interface = routes.lookup(destination);
    let mtu = interface.and_then(|interface| mtus.get(interface.0).copied());
    mtu.unwrap_or_else(|| mtus.iter().copied().max().unwrap_or(1500))
}

#[cfg(test)]
mod tests;
