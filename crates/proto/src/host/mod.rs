//! One host: interfaces, routes and sockets put together. A router is a host without sockets.
//!
//! How to drive it, in this order:
//! 1. When a packet arrives, ask [`Host::route`]. What it says to forward goes out of the interface it
//!    names, unopened; what it says is local goes to [`Host::handle_packet`].
//! 2. When the time of [`Host::poll_timeout`] has come, call [`Host::handle_timeout`].
//! 3. After either, and after any call on a socket, drain [`Host::poll_event`], [`Host::poll_transmit`] and
//!    [`Host::poll_changed`], in this order and again, until all give `None`: a packet that has no route
//!    becomes an event. Applications that read before the host transmits let an acknowledgment offer the
//!    window that they opened.
//! 4. Of a mobile drain [`Host::poll_attachment`] after these, and after [`Host::handle_link`], in the same way.
//!
//! Deadlines of several connections stand in a heap and connections with something to send in a list, so that no
//! call scans all connections.

mod addresses;
mod aerotp;
mod attachment;
mod backpressure;
mod bad_state;
pub(crate) mod burst;
mod errors;
mod few;
pub mod layer;
mod layers;
mod links;
mod origin;
mod receiving;
mod routes;
mod routing;
pub(crate) mod sockets;
mod transmitting;
mod transports;

pub use aerotp::{AerotpDatagram, AerotpId};
pub use backpressure::Backpressure;
pub use bad_state::{BadStateNotifier, Conversation};
pub use few::Few;
pub use layers::Layers;
use origin::CodePoints;
pub use origin::Origin;
pub use routes::{Places, RouteTable};
pub use sockets::SocketId;

use crate::aerotp::Event as AerotpEvent;
use crate::crosslayer::CrossLayerSignal;
use crate::interface::{InterfaceId, LinkEvent};
use crate::mobility::buffering::Held;
use crate::packet::{FlowId, IpHeader, Packet, Payload, Wording};
use crate::tcp::{self, Endpoint};
use crate::time::Instant;
use crate::wire::icmp::{Echo, IcmpError, QuotedPacket};
use addresses::Addresses;
use aerotp::AerotpSockets;
use attachment::HostAttachment;
use core::net::IpAddr;
use layer::{Around, Counters, Layer, Neighbor, Rank};
use links::Links;
use sockets::Sockets;
use std::collections::VecDeque;

/// Initial hop limit of packets (RFC 1700's recommended default of 64).
const HOP_LIMIT: u8 = 64;

/// What a host does with a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is for this host: [`Host::handle_packet`].
    Local,
    /// It goes out of this interface.
    Forward(InterfaceId),
    /// It ends here; where the standard asks for it, an ICMP error is on its way to the source.
    Discard,
}

/// What happened on a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HostEvent {
    /// A listener has a new connection.
    Accepted {
        /// The connection.
        socket: SocketId,
        /// The listener's port.
        port: u16,
    },
    /// Something happened on a connection.
    Tcp {
        /// The connection.
        socket: SocketId,
        /// What happened.
        event: tcp::Event,
    },
    /// A datagram arrived.
    Datagram {
        /// Port that it was sent to.
        port: u16,
        /// Who sent it.
        from: Endpoint,
        /// What it carries.
        payload: Payload,
    },
    /// A listener has a new AeroTP connection.
    AerotpAccepted {
        /// The connection.
        socket: AerotpId,
        /// The listener's port.
        port: u16,
    },
    /// Something happened on an AeroTP connection.
    Aerotp {
        /// The connection.
        socket: AerotpId,
        /// What happened.
        event: AerotpEvent,
    },
    /// A datagram of AeroTP's mode without state arrived.
    AerotpDatagram {
        /// Port that it was sent to.
        port: u16,
        /// Who sent it.
        from: Endpoint,
        /// What it carries.
        payload: Payload,
    },
    /// An echo reply arrived.
    EchoReply {
        /// The reply.
        echo: Echo,
    },
    /// A datagram or an echo request did not get through: an ICMP error came back.
    Undelivered {
        /// What the error says.
        error: IcmpError,
        /// The packet that it is about.
        quoted: QuotedPacket,
    },
    /// A layer has acquired an address, such as a care-of address by DHCP: the medium is to know it.
    AddressAcquired {
        /// The interface.
        interface: InterfaceId,
        /// The address.
        address: IpAddr,
    },
    /// An event of a layer, in words for a record.
    Layer(Wording),
}

/// Packets that a host gave up, by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Discarded {
    /// No route to the destination.
    pub no_route: u64,
    /// Larger than the next link takes.
    pub too_big: u64,
    /// Hop limit used up.
    pub hop_limit: u64,
    /// Damaged beyond its checksums.
    pub damaged: u64,
    /// Nobody at the port, or a protocol that this host does not speak.
    pub no_receiver: u64,
    /// Refused by a full listen queue, or of AeroTP half open and dropped to make room.
    pub backlog: u64,
    /// Messages to mobility agents that could not be read, were not expected, or proved nothing.
    pub messages: u64,
    /// Out of a tunnel for nobody here, or about to go round in one.
    pub tunnelled: u64,
}

impl Discarded {
    /// Adds the counts of another part of the host, or of another host.
    pub fn add(&mut self, other: Discarded) {
        self.no_route += other.no_route;
        self.too_big += other.too_big;
        self.hop_limit += other.hop_limit;
        self.damaged += other.damaged;
        self.no_receiver += other.no_receiver;
        self.backlog += other.backlog;
        self.messages += other.messages;
        self.tunnelled += other.tunnelled;
    }
}

/// A packet of a flow that its own host gave up before it was sent: there was no way for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unsent {
    /// Its flow.
    pub flow: FlowId,
    /// Its IP header, of a tunnel that of the packet inside.
    pub ip: IpHeader,
    /// True with payload of a transport.
    pub has_data: bool,
}

impl Unsent {
    /// Of what belongs to a flow and was never sent before.
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

/// Packets that a host gave up.
#[derive(Debug, Default)]
struct GivenUp {
    discarded: Discarded,
    /// Those that nobody has asked for yet.
    unsent: Vec<Unsent>,
}

/// A host. What every packet asks for stands first.
#[derive(Debug)]
#[repr(C)]
pub struct Host {
    address: IpAddr,
    /// True once a packet has come to a transport or an agent; cleared when asked.
    accepted: bool,
    /// True once a layer has learnt something of a packet that went on; cleared when asked.
    stirred: bool,
    identification: u16,
    other_addresses: Addresses,
    interface_mtus: Few<u32>,
    routes: RouteTable,
    events: VecDeque<HostEvent>,
    outbox: VecDeque<Packet>,
    sockets: Sockets,
    /// Only where anything was.
    given_up: Option<Box<GivenUp>>,
    agents: Option<Box<Layers>>,
    #[expect(
        clippy::box_collection,
        reason = "nearly all hosts have none, and so pay for a pointer only"
    )]
    code_points: Option<Box<CodePoints>>,
    /// Only where AeroTP was spoken.
    aerotp: Option<Box<AerotpSockets>>,
    /// Only of a mobile.
    attachment: Option<Box<HostAttachment>>,
    links: Links,
}

impl Host {
    /// A host at `address`; `secret` keys its initial sequence numbers (RFC 6528).
    pub fn new(address: IpAddr, secret: [u8; 16]) -> Host {
        Host {
            address,
            other_addresses: Addresses::default(),
            interface_mtus: Few::default(),
            routes: RouteTable::default(),
            sockets: Sockets::new(secret),
            outbox: VecDeque::new(),
            events: VecDeque::new(),
            given_up: None,
            accepted: false,
            stirred: false,
            agents: None,
            identification: 0,
            code_points: None,
            aerotp: None,
            attachment: None,
            links: Links::default(),
        }
    }

    /// This host's address; of several the first.
    pub fn address(&self) -> IpAddr {
        self.address
    }

    /// Gives this host a further address. To a destination of either version it speaks from its first address
    /// of that version.
    pub fn add_address(&mut self, address: IpAddr) {
        self.other_addresses.push(address, None);
    }

    /// Gives this host a further address, of an interface: what is sent from it leaves there, wherever it goes (RFC 1122,
    /// section 3.3.4.2, the strong model).
    pub fn add_interface_address(&mut self, address: IpAddr, interface: InterfaceId) {
        self.other_addresses.push(address, Some(interface));
    }

    /// Whether an address is one of this host's.
    pub fn has_address(&self, address: IpAddr) -> bool {
        self.is_own(address)
    }

    /// The interface to which an own address belongs, if it belongs to one.
    pub fn interface_of(&self, address: IpAddr) -> Option<InterfaceId> {
        self.other_addresses.get(address)?
    }

    /// All addresses of this host, the first one first.
    pub fn addresses(&self) -> impl Iterator<Item = IpAddr> {
        core::iter::once(self.address).chain(self.other_addresses.iter())
    }

    #[inline]
    fn is_own(&self, address: IpAddr) -> bool {
        address == self.address || self.other_addresses.get(address).is_some()
    }

    /// Whether a packet is for this host, or its agents want it.
    #[inline]
    fn takes(&self, ip: &IpHeader) -> bool {
        self.is_own(ip.destination) || self.agents.as_ref().is_some_and(|agents| agents.takes(ip))
    }

    /// Adds a layer.
    pub fn add_layer(&mut self, layer: impl Layer) {
        self.agents_mut().add(layer);
    }

    /// The first layer of a type.
    pub fn layer<L: Layer>(&self) -> Option<&L> {
        self.agents.as_ref()?.get()
    }

    /// The first layer of a type, to configure it.
    pub fn layer_mut<L: Layer>(&mut self) -> Option<&mut L> {
        self.agents.as_mut()?.get_mut()
    }

    /// The virtual interface by which this host's own packets leave, if a layer has one.
    pub fn default_tunnel(&self) -> Option<InterfaceId> {
        self.agents.as_ref()?.default_route()
    }

    /// The layers of this host, to give it some.
    pub fn agents_mut(&mut self) -> &mut Layers {
        self.agents.get_or_insert_default()
    }

    /// The maker of this host's own packets.
    fn origin(&mut self) -> Origin<'_> {
        Origin {
            identification: &mut self.identification,
            code_points: self.code_points.as_deref(),
        }
    }

    /// The layers of this host, and what is around them.
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
        Some((self.agents.as_deref_mut()?, around))
    }

    /// The layers of this host, if it has any.
    pub fn agents(&self) -> Option<&Layers> {
        self.agents.as_deref()
    }

    /// Tells the remedies of connections what this host's link or network layer says: of connections to those peers that are
    /// concerned.
    fn tell_transports(
        &mut self,
        now: Instant,
        signal: &CrossLayerSignal,
        concerned: impl Fn(IpAddr) -> bool,
    ) {
        self.sockets.signal(now, signal, &concerned);
        self.signal_aerotp(signal, concerned);
    }

    /// With whom this host's connections are, once for each connection.
    fn peers(&self) -> impl Iterator<Item = IpAddr> {
        let aerotp = self.aerotp.iter().flat_map(|aerotp| aerotp.peers());
        self.sockets.peers().chain(aerotp)
    }

    /// Takes in an event of the medium at an interface that concerns one of the hosts at its other end; then drain the polls.
    pub fn handle_neighbor(
        &mut self,
        now: Instant,
        interface: InterfaceId,
        event: LinkEvent,
        neighbor: Neighbor,
    ) {
        if let Some(agents) = &mut self.agents {
            agents.handle_neighbor(now, interface, event, neighbor);
        }
    }

    /// The address from which this host speaks to a destination; `None` if it has none of that version.
    fn address_towards(&self, destination: IpAddr) -> Option<IpAddr> {
        self.addresses()
            .find(|address| address.is_ipv4() == destination.is_ipv4())
    }

    /// Adds an interface that takes packets of up to `mtu` bytes.
    pub fn add_interface(&mut self, mtu: u32) -> InterfaceId {
        self.interface_mtus.push(mtu);
        InterfaceId(self.interface_mtus.len() - 1)
    }

    /// Where packets go.
    pub fn routes_mut(&mut self) -> &mut RouteTable {
        &mut self.routes
    }

    /// Where packets go, to look at.
    pub fn routes(&self) -> &RouteTable {
        &self.routes
    }

    /// Packets given up so far.
    pub fn discarded(&self) -> Discarded {
        let given_up = self.given_up.as_ref();
        let mut sum = given_up.map_or_else(Discarded::default, |all| all.discarded);
        sum.backlog = self.sockets.refused();
        if let Some(aerotp) = &self.aerotp {
            sum.backlog += aerotp.dropped();
        }
        for (_, counters) in self.layer_counters() {
            sum.add(counters.discarded);
        }
        sum
    }

    /// Returns the counters of each layer, in the order of layers.
    pub fn layer_counters(&self) -> impl Iterator<Item = (Rank, Counters)> {
        self.agents.iter().flat_map(|layers| layers.counters())
    }

    /// Tells, once, that a packet has come to this host's transports or to an agent that answers for others.
    #[inline]
    pub fn take_accepted(&mut self) -> bool {
        core::mem::take(&mut self.accepted)
    }

    /// A packet of this host's own that it has given up before it was sent.
    #[inline]
    pub fn poll_unsent(&mut self) -> Option<Unsent> {
        self.given_up.as_mut()?.unsent.pop()
    }

    fn given_up(&mut self) -> &mut GivenUp {
        self.given_up.get_or_insert_default()
    }

    /// A packet that an agent here has begun to hold, or that was to be held and was dropped.
    pub fn poll_held(&mut self) -> Option<Held> {
        self.agents.as_mut()?.poll_held()
    }

    /// Tells, once, that a layer has learnt something of a packet that was forwarded: then the polls may have something to say.
    #[inline]
    pub fn take_stirred(&mut self) -> bool {
        core::mem::take(&mut self.stirred)
    }

    /// When [`Host::handle_timeout`] has something to do.
    pub fn poll_timeout(&mut self) -> Option<Instant> {
        let mut sockets = self.sockets.poll_timeout();
        if let Some(aerotp) = &mut self.aerotp {
            sockets = sockets.into_iter().chain(aerotp.poll_timeout()).min();
        }
        if let Some(own) = &self.attachment {
            sockets = sockets.into_iter().chain(own.machine.poll_timeout()).min();
        }
        match &self.agents {
            None => sockets,
            Some(agents) => sockets.into_iter().chain(agents.poll_timeout()).min(),
        }
    }

    /// Does what is due at `now`.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.sockets.handle_timeout(now);
        if let Some(aerotp) = &mut self.aerotp {
            aerotp.handle_timeout(now);
        }
        if let Some(agents) = &mut self.agents {
            agents.handle_timeout(now);
        }
        self.tell_signals(now);
        if let Some(own) = &mut self.attachment {
            own.machine.handle_timeout(now);
        }
    }

    /// What has happened.
    pub fn poll_event(&mut self) -> Option<HostEvent> {
        if let Some(event) = self.events.pop_front() {
            return Some(event);
        }
        if let Some(agents) = &mut self.agents
            && let Some(words) = agents.poll_event()
        {
            return Some(HostEvent::Layer(words));
        }
        match self.sockets.poll_event() {
            Some((socket, event)) => Some(HostEvent::Tcp { socket, event }),
            None => self.poll_aerotp_event(),
        }
    }

    /// A connection whose state may have changed since it was last given here.
    #[inline]
    pub fn poll_changed(&mut self) -> Option<SocketId> {
        self.sockets.poll_changed()
    }
}

/// Largest packet on the way towards a destination, in bytes, as far as this host knows.
fn mtu_towards(routes: &RouteTable, mtus: &Few<u32>, destination: IpAddr) -> u32 {
    // What a tunnel takes, its agent says when a packet is too long for it.
    let interface = routes.lookup(destination);
    let mtu = interface.and_then(|interface| mtus.get(interface.0).copied());
    mtu.unwrap_or_else(|| mtus.iter().copied().max().unwrap_or(1500))
}

#[cfg(test)]
mod tests;
