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
//!
//! Deadlines of several connections stand in a heap and connections with something to send in a list, so that no
//! call scans all connections.

mod aerotp;
mod agent_signals;
mod agents;
mod few;
mod path;
mod routes;
mod sockets;
mod splice;

pub use aerotp::{AerotpDatagram, AerotpId};
pub use agents::{AgentEvent, Agents, Ipv4Agents, Ipv4Mobile, LinkSignal};
pub use few::Few;
pub use path::{PathAgents, Served, Service, Split, SplitContext};
pub use routes::RouteTable;
pub use sockets::SocketId;
pub use splice::{AerotpGateway, GatewayDiscards, Rule, Selector};

use crate::aerotp::Event as AerotpEvent;
use crate::crosslayer::{CrossLayerSignal, Remedy};
use crate::mobility::mobile_ipv6::Neighbor;
use crate::packet::{BitErrors, Body, FlowId, IpHeader, Packet, Payload};
use crate::tcp::profile::Profile;
use crate::tcp::{self, Connection, Endpoint};
use crate::time::Instant;
use crate::wire::icmp::{Echo, IcmpError, IcmpMessage, QuotedPacket};
use crate::wire::udp::UdpHeader;
use aerotp::AerotpSockets;
use agents::Step;
use core::net::{IpAddr, Ipv4Addr};
use path::Look;
use sockets::Sockets;
use std::collections::VecDeque;

/// Initial hop limit of packets (RFC 1700's recommended default of 64).
const HOP_LIMIT: u8 = 64;

/// An interface by its place in its host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InterfaceId(pub usize);

impl InterfaceId {
    /// No interface: a route that leads here hands its packets to the host's mobility agent.
    pub const AGENT: InterfaceId = InterfaceId(usize::MAX);
}

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
    /// A mobility agent has something to say.
    Agent(AgentEvent),
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

/// A host. What every packet asks for stands first.
#[derive(Debug)]
#[repr(C)]
pub struct Host {
    address: IpAddr,
    identification: u16,
    other_addresses: Vec<IpAddr>,
    interface_mtus: Few<u32>,
    routes: RouteTable,
    events: VecDeque<HostEvent>,
    outbox: VecDeque<Packet>,
    sockets: Sockets,
    discarded: Discarded,
    agents: Option<Box<Agents>>,
    /// Only where AeroTP was spoken.
    aerotp: Option<Box<AerotpSockets>>,
}

impl Host {
    /// A host at `address`; `secret` keys its initial sequence numbers (RFC 6528).
    pub fn new(address: IpAddr, secret: [u8; 16]) -> Host {
        Host {
            address,
            other_addresses: Vec::new(),
            interface_mtus: Few::default(),
            routes: RouteTable::default(),
            sockets: Sockets::new(secret),
            outbox: VecDeque::new(),
            events: VecDeque::new(),
            identification: 0,
            discarded: Discarded::default(),
            agents: None,
            aerotp: None,
        }
    }

    /// This host's address; of several the first.
    pub fn address(&self) -> IpAddr {
        self.address
    }

    /// Gives this host a further address. To a destination of either version it speaks from its first address
    /// of that version.
    pub fn add_address(&mut self, address: IpAddr) {
        self.other_addresses.push(address);
    }

    /// All addresses of this host, the first one first.
    pub fn addresses(&self) -> impl Iterator<Item = IpAddr> {
        core::iter::once(self.address).chain(self.other_addresses.iter().copied())
    }

    #[inline]
    fn is_own(&self, address: IpAddr) -> bool {
        address == self.address
            || !self.other_addresses.is_empty() && self.other_addresses.contains(&address)
    }

    /// Whether a packet is for this host, or its agents want it.
    #[inline]
    fn takes(&self, ip: &IpHeader) -> bool {
        self.is_own(ip.destination) || self.agents.as_ref().is_some_and(|agents| agents.takes(ip))
    }

    /// The mobility agents of this host, to give it some.
    pub fn agents_mut(&mut self) -> &mut Agents {
        self.agents.get_or_insert_default()
    }

    /// The mobility agents of this host, if it has any.
    pub fn agents(&self) -> Option<&Agents> {
        self.agents.as_deref()
    }

    /// A link says something of itself at one of this host's interfaces.
    pub fn handle_link(&mut self, now: Instant, interface: InterfaceId, signal: LinkSignal) {
        if let Some(agents) = &mut self.agents {
            agents.handle_link(now, interface, signal);
        }
    }

    /// Tells this host's remedies what its link or network layer says, of which those of every connection hear.
    pub fn signal(&mut self, now: Instant, signal: &CrossLayerSignal) {
        self.signal_towards(now, signal, |_| true);
    }

    /// Tells those of connections to some peers.
    pub fn signal_towards(
        &mut self,
        now: Instant,
        signal: &CrossLayerSignal,
        concerned: impl Fn(IpAddr) -> bool,
    ) {
        self.sockets.signal(now, signal, &concerned);
        self.signal_aerotp(signal, concerned);
    }

    /// With whom this host's connections are, once for each connection.
    pub fn peers(&self) -> impl Iterator<Item = IpAddr> {
        let aerotp = self.aerotp.iter().flat_map(|aerotp| aerotp.peers());
        self.sockets.peers().chain(aerotp)
    }

    /// Tells those of the connections with a peer.
    pub fn signal_about(&mut self, now: Instant, peer: IpAddr, signal: &CrossLayerSignal) {
        let path = self.agents.as_mut().and_then(|agents| agents.path.as_mut());
        if let (CrossLayerSignal::Disconnected, Some(path)) = (signal, path) {
            path.note_loss(&peer);
        }
        self.signal_towards(now, signal, |address| address == peer);
    }

    /// Tells those of one connection.
    pub fn signal_to(&mut self, now: Instant, socket: SocketId, signal: &CrossLayerSignal) {
        self.sockets.signal_to(now, socket, signal);
    }

    /// Gives a connection a remedy, which hears of things after those that it has.
    pub fn add_remedy(&mut self, socket: SocketId, remedy: Box<dyn Remedy>) {
        self.sockets.add_remedy(socket, remedy);
    }

    /// A link at one of this host's interfaces says something of whom it leads to: for its access router.
    pub fn handle_neighbor(
        &mut self,
        now: Instant,
        interface: InterfaceId,
        said: (LinkSignal, Neighbor),
    ) {
        if let Some(agents) = &mut self.agents {
            agents.handle_neighbor(now, interface, said);
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

    /// Changes an interface's largest packet.
    pub fn set_mtu(&mut self, interface: InterfaceId, mtu: u32) {
        self.interface_mtus[interface.0] = mtu;
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
        let mut sum = self.discarded;
        sum.backlog = self.sockets.refused();
        if let Some(aerotp) = &self.aerotp {
            sum.backlog += aerotp.dropped();
        }
        if let Some(agents) = &self.agents {
            agents.add_discarded(&mut sum);
        }
        sum
    }

    /// Whether the agents on the path have learnt something of a packet since this was asked last, though it was forwarded:
    /// then the polls may have something to say.
    #[inline]
    pub fn take_stirred(&mut self) -> bool {
        let agents = self.agents.as_mut();
        agents.is_some_and(|agents| agents.path.as_mut().is_some_and(|path| path.take_stirred()))
    }

    /// Decides about a packet of `length` bytes that has arrived; one that is forwarded loses a hop.
    #[inline]
    pub fn route(&mut self, now: Instant, packet: &mut Packet, length: u32) -> Verdict {
        if self.agents.is_some()
            && let Some(verdict) = self.look(now, packet)
        {
            return verdict;
        }
        if self.takes(&packet.ip) {
            return Verdict::Local;
        }
        if packet.ip.hop_limit <= 1 {
            self.discarded.hop_limit += 1;
            return self.give_up(packet, IcmpError::TimeExceeded);
        }
        packet.ip.hop_limit -= 1;
        match self.route_out(packet, length) {
            // The agent takes the hop itself.
            Ok(InterfaceId::AGENT) => {
                packet.ip.hop_limit += 1;
                Verdict::Local
            }
            Ok(interface) => Verdict::Forward(interface),
            Err(error) => self.give_up(packet, error),
        }
    }

    /// What the agents on the path do with a packet, if they do anything.
    #[cold]
    fn look(&mut self, now: Instant, packet: &Packet) -> Option<Verdict> {
        if self.crosses(packet) {
            return Some(Verdict::Local);
        }
        let path = self.agents.as_mut()?.path.as_mut()?;
        let look = path.look(now, packet, (&self.routes, &self.sockets));
        self.tell_of_paths(now);
        match look {
            Look::Pass => None,
            Look::Take => Some(Verdict::Local),
            Look::Drop => Some(Verdict::Discard),
        }
    }

    /// Halves of split connections hear of the access link to which their mobile has moved.
    fn tell_of_paths(&mut self, now: Instant) {
        let path = self.agents.as_mut().and_then(|agents| agents.path.as_mut());
        let Some(path) = path else { return };
        while let Some((mobile, path)) = path.poll_moved(&self.routes) {
            if let Some(path) = path {
                let connected = CrossLayerSignal::Connected(path);
                self.sockets
                    .signal(now, &connected, |address| address == mobile);
            }
        }
    }

    #[cold]
    fn give_up(&mut self, packet: &Packet, error: IcmpError) -> Verdict {
        self.send_error(packet, error);
        Verdict::Discard
    }

    /// The interface towards a packet's destination, if there is one and the packet, of `length` bytes, fits it.
    /// One that does not leave counts as given up.
    ///
    /// # Errors
    /// What a router would tell the packet's source.
    #[inline]
    pub fn route_out(&mut self, packet: &Packet, length: u32) -> Result<InterfaceId, IcmpError> {
        let Some(interface) = self.routes.lookup(packet.ip.destination) else {
            self.discarded.no_route += 1;
            return Err(IcmpError::Unreachable);
        };
        self.fit(interface, length)
    }

    /// The interface over which a packet that waits here leaves by the routes as they are now. One that has no way is lost where
    /// it waits, and its source told.
    pub fn route_again(
        &mut self,
        now: Instant,
        packet: &Packet,
        length: u32,
    ) -> Option<InterfaceId> {
        // Agents see a packet before it waits, and not again.
        let found = self.routes.lookup(packet.ip.destination);
        let found = found.filter(|&interface| interface != InterfaceId::AGENT);
        let mtu = found.and_then(|interface| self.interface_mtus.get(interface.0).copied());
        let error = match (found, mtu) {
            (Some(_), Some(mtu)) if length > mtu => IcmpError::PacketTooBig { mtu },
            (Some(interface), _) => return Some(interface),
            (None, _) => IcmpError::Unreachable,
        };
        if let Some(quoted) = packet.quote() {
            self.tell(now, error, quoted);
        }
        None
    }

    /// The interface, if a packet of `length` bytes fits it; as [`route_out`](Self::route_out).
    ///
    /// # Errors
    /// What a router would tell the packet's source.
    #[inline]
    pub fn fit(&mut self, interface: InterfaceId, length: u32) -> Result<InterfaceId, IcmpError> {
        // What fits an agent's tunnel, the agent says.
        match self.interface_mtus.get(interface.0) {
            Some(&mtu) if length > mtu => {
                self.discarded.too_big += 1;
                Err(IcmpError::PacketTooBig { mtu })
            }
            _ => Ok(interface),
        }
    }

    /// Takes in a packet that came over an interface and that [`route`](Self::route) called local.
    pub fn handle_packet(&mut self, now: Instant, interface: InterfaceId, packet: Packet) {
        let packet = if packet.is_typed() && packet.bit_errors.is_empty() {
            packet
        } else {
            match packet.apply_bit_errors() {
                // The error may have hit the address: then this host would not have taken the packet.
                Ok(decoded) if self.takes(&decoded.ip) || self.ends_here(&decoded) => decoded,
                _ => {
                    self.discarded.damaged += 1;
                    return;
                }
            }
        };
        if self.agents.is_some() {
            self.offer_to_agents(now, interface, packet);
        } else {
            self.deliver(now, packet);
        }
    }

    #[cold]
    fn offer_to_agents(&mut self, now: Instant, interface: InterfaceId, packet: Packet) {
        let Some(packet) = self.offer_to_gateway(now, packet) else {
            return;
        };
        let Some(packet) = self.offer_to_split(now, packet) else {
            return;
        };
        let is_own = self.is_own(packet.ip.destination);
        let Some(agents) = &mut self.agents else {
            return;
        };
        if !is_own && !agents.takes(&packet.ip) {
            // From the network behind a mobile router, or for a mobile that is nowhere.
            self.leave_to_agent(now, packet);
        } else if let Some(packet) = agents.handle_packet(now, interface, packet, is_own) {
            self.deliver(now, packet);
        }
        self.tell_of_moves(now);
    }

    /// Whether a packet for another is taken in by an agent here.
    fn ends_here(&self, packet: &Packet) -> bool {
        self.splits(packet) || self.crosses(packet)
    }

    /// Remedies hear of a mobile's move when its update has been taken, before anything is sent because of it.
    fn tell_of_moves(&mut self, now: Instant) {
        while let Some((peer, moved)) = self.agents.as_mut().and_then(|agents| agents.poll_moved())
        {
            let signal = CrossLayerSignal::PeerMoved(moved);
            self.signal_about(now, peer, &signal);
        }
    }

    /// Hands a packet to this host's transports.
    fn deliver(&mut self, now: Instant, packet: Packet) {
        let ip = packet.ip;
        match packet.body {
            Body::Tcp(header, payload) => {
                let local = Endpoint {
                    address: ip.destination,
                    port: header.destination_port,
                };
                let remote = Endpoint {
                    address: ip.source,
                    port: header.source_port,
                };
                let (routes, mtus) = (&self.routes, &self.interface_mtus);
                let mtu = || mtu_towards(routes, mtus, remote.address);
                match self
                    .sockets
                    .deliver(now, (local, remote), &header, payload, mtu)
                {
                    sockets::Delivery::Taken => {}
                    sockets::Delivery::Accepted(socket) => {
                        self.events.push_back(HostEvent::Accepted {
                            socket,
                            port: local.port,
                        });
                    }
                    sockets::Delivery::Nobody(reset) => {
                        self.discarded.no_receiver += 1;
                        if let Some(reset) = reset {
                            self.send(
                                remote.address,
                                Body::Tcp(reset, Payload::EMPTY),
                                packet.flow,
                            );
                        }
                    }
                }
            }
            Body::Udp(header, payload) => {
                let port = header.destination_port;
                if self.sockets.is_bound(port) {
                    let from = Endpoint {
                        address: ip.source,
                        port: header.source_port,
                    };
                    self.events.push_back(HostEvent::Datagram {
                        port,
                        from,
                        payload,
                    });
                } else {
                    self.discarded.no_receiver += 1;
                    let unheard = Packet {
                        body: Body::Udp(header, payload),
                        ..packet
                    };
                    self.send_error(&unheard, IcmpError::PortUnreachable);
                }
            }
            Body::Icmp(message) => self.handle_icmp(now, ip.source, message, packet.flow),
            Body::Aerotp(aerotp) => self.deliver_aerotp(now, &ip, *aerotp, packet.flow),
            Body::Mobility(_)
            | Body::Tunnel(_)
            | Body::Extended(_)
            | Body::Opaque { .. }
            | Body::Verbatim(_) => self.discarded.no_receiver += 1,
        }
    }

    fn handle_icmp(
        &mut self,
        now: Instant,
        source: IpAddr,
        message: IcmpMessage,
        flow: Option<FlowId>,
    ) {
        match message {
            IcmpMessage::EchoRequest(echo) => {
                self.send(source, Body::Icmp(IcmpMessage::EchoReply(echo)), flow);
            }
            IcmpMessage::EchoReply(echo) => self.events.push_back(HostEvent::EchoReply { echo }),
            IcmpMessage::Error { kind, quoted } => self.handle_error(now, kind, quoted),
            IcmpMessage::NeighborDiscovery(_)
            | IcmpMessage::MulticastListenerReport(_)
            | IcmpMessage::AgentDiscovery(_) => self.discarded.no_receiver += 1,
        }
    }

    fn handle_error(&mut self, now: Instant, error: IcmpError, quoted: QuotedPacket) {
        let aerotp = self.aerotp.as_mut();
        let is_aerotp = aerotp.is_some_and(|aerotp| aerotp.handle_icmp(now, error, &quoted));
        if !is_aerotp && !self.sockets.handle_icmp(now, error, &quoted) {
            self.events
                .push_back(HostEvent::Undelivered { error, quoted });
        }
    }

    /// When [`Host::handle_timeout`] has something to do.
    pub fn poll_timeout(&mut self) -> Option<Instant> {
        let mut sockets = self.sockets.poll_timeout();
        if let Some(aerotp) = &mut self.aerotp {
            sockets = sockets.into_iter().chain(aerotp.poll_timeout()).min();
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
    }

    /// The next packet to send and where.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<(InterfaceId, Packet)> {
        if self.agents.is_some() {
            self.work_splices(now);
        }
        loop {
            if self.agents.is_some()
                && let Some(outgoing) = self.poll_agents(now)
            {
                return Some(outgoing);
            }
            let mut packet = match self.outbox.pop_front() {
                Some(packet) => packet,
                None => {
                    let Some(outgoing) = self.sockets.poll_transmit(now) else {
                        self.queue_aerotp(now)?;
                        continue;
                    };
                    let mut packet = self.packet(
                        (outgoing.local.address, outgoing.remote.address),
                        Body::Tcp(outgoing.segment.header, outgoing.segment.payload),
                        outgoing.flow,
                    );
                    packet.retransmission = outgoing.segment.retransmission;
                    match self.agents.as_ref().and_then(|agents| agents.path.as_ref()) {
                        Some(path) => path.handle_outgoing(packet),
                        None => packet,
                    }
                }
            };
            if let Some(agents) = &mut self.agents {
                match agents.handle_outgoing(now, packet) {
                    Some(addressed) => packet = addressed,
                    None => continue,
                }
            }
            match self.route_out(&packet, packet.wire_length()) {
                Ok(InterfaceId::AGENT) => self.leave_to_agent(now, packet),
                Ok(interface) => return Some((interface, packet)),
                Err(error) => self.tell_own(now, packet, error),
            }
        }
    }

    /// The first hop is this host's own: it tells its transports what a router would tell them.
    fn tell_own(&mut self, now: Instant, packet: Packet, error: IcmpError) {
        let (whole, packet) = match self.has_path_agents() {
            true => (packet.wire_length(), packet.into_transport()),
            false => (packet.wire_length(), packet),
        };
        let around = whole - packet.wire_length();
        let error = match error {
            IcmpError::PacketTooBig { mtu } => IcmpError::PacketTooBig {
                mtu: mtu.saturating_sub(around),
            },
            other => other,
        };
        if let Some(quoted) = packet.quote() {
            self.handle_error(now, error, quoted);
        }
    }

    fn has_path_agents(&self) -> bool {
        let agents = self.agents.as_ref();
        agents.is_some_and(|agents| agents.path.is_some())
    }

    /// Gives a packet to the mobile node, whose routes lead to its agent. A home agent's do for mobiles that have no
    /// home link: without a binding nobody knows where they are.
    fn leave_to_agent(&mut self, now: Instant, packet: Packet) {
        let mobile = self
            .agents
            .as_mut()
            .and_then(|agents| agents.mobile.as_mut());
        match mobile {
            Some(mobile) => mobile.handle_outgoing(now, packet),
            None => {
                self.discarded.no_route += 1;
                self.send_error(&packet, IcmpError::Unreachable);
            }
        }
    }

    /// Does what this host's agents want done with packets, up to the next one that leaves.
    #[cold]
    fn poll_agents(&mut self, now: Instant) -> Option<(InterfaceId, Packet)> {
        loop {
            let (route, packet) = match self.agents.as_mut()?.poll_step()? {
                Step::Deliver(packet) => {
                    self.deliver(now, packet);
                    continue;
                }
                Step::Originate(packet) => {
                    self.outbox.push_back(packet);
                    continue;
                }
                Step::Tell(error, quoted) => {
                    self.tell(now, error, quoted);
                    continue;
                }
                // What a tunnel has brought, to another address than the home agent's.
                Step::Forward(packet) if self.is_own(packet.ip.destination) => {
                    self.offer_to_agents(now, InterfaceId::AGENT, packet);
                    continue;
                }
                // To a home link that there is not.
                Step::Send(InterfaceId::AGENT, _) => continue,
                Step::Send(interface, packet) => {
                    (self.fit(interface, packet.wire_length()), packet)
                }
                Step::Forward(packet) => (self.route_out(&packet, packet.wire_length()), packet),
            };
            // It may be this host's own home agent that says where a mobile is.
            if let Some(path) = self.path_mut() {
                path.learn_binding(&packet);
                self.tell_of_paths(now);
            }
            match route {
                Ok(InterfaceId::AGENT) => self.leave_to_agent(now, packet),
                Ok(interface) => return Some((interface, packet)),
                Err(error) => self.give_back(now, &packet, error),
            }
        }
    }

    /// Tells the source of an agent's packet what became of it: another host, or the agent itself where its tunnel begins here.
    fn give_back(&mut self, now: Instant, packet: &Packet, error: IcmpError) {
        match self.error_about(packet, error) {
            Some(error) if self.takes(&error.ip) => {
                self.offer_to_agents(now, InterfaceId::AGENT, error);
            }
            error => self.outbox.extend(error),
        }
    }

    /// Tells the source of a packet what an agent says of it.
    fn tell(&mut self, now: Instant, error: IcmpError, quoted: QuotedPacket) {
        if self.is_own(quoted.source) {
            return self.handle_error(now, error, quoted);
        }
        let to = quoted.source;
        let body = Body::Icmp(IcmpMessage::Error {
            kind: error,
            quoted,
        });
        self.send(to, body, None);
    }

    /// What has happened.
    pub fn poll_event(&mut self) -> Option<HostEvent> {
        if let Some(event) = self.events.pop_front() {
            return Some(event);
        }
        if let Some(agents) = &mut self.agents
            && let Some(event) = agents.poll_event()
        {
            return Some(HostEvent::Agent(event));
        }
        loop {
            let Some((socket, event)) = self.sockets.poll_event() else {
                return self.poll_aerotp_event();
            };
            if self.agents.is_none() || !(self.relay(socket, event) || self.is_half(socket, event))
            {
                return Some(HostEvent::Tcp { socket, event });
            }
        }
    }

    /// A connection whose state may have changed since it was last given here.
    pub fn poll_changed(&mut self) -> Option<SocketId> {
        self.sockets.poll_changed()
    }

    /// Opens a connection to `remote` from a fresh port.
    pub fn tcp_connect(
        &mut self,
        now: Instant,
        remote: Endpoint,
        profile: &Profile,
        flow: Option<FlowId>,
    ) -> SocketId {
        let mtu = mtu_towards(&self.routes, &self.interface_mtus, remote.address);
        let address = self.source_towards(remote);
        self.sockets
            .connect(now, address, remote, profile, mtu, flow)
    }

    /// The address from which a connection to `remote` begins.
    fn source_towards(&self, remote: Endpoint) -> IpAddr {
        let agents = self.agents.as_ref();
        let chosen = agents.and_then(|agents| agents.source_towards(remote));
        let address = chosen.or_else(|| self.address_towards(remote.address));
        address.unwrap_or(self.address)
    }

    /// Takes connections to `port`, at most `backlog` of them half open.
    pub fn tcp_listen(&mut self, port: u16, profile: Profile, backlog: u32, flow: Option<FlowId>) {
        self.sockets.listen(port, profile, backlog, flow);
    }

    /// A connection, to call on; what it then has to send or to say comes out of the polls.
    pub fn connection_mut(&mut self, socket: SocketId) -> Option<&mut Connection> {
        self.sockets.connection_mut(socket)
    }

    /// A connection, to look at.
    pub fn connection(&self, socket: SocketId) -> Option<&Connection> {
        self.sockets.connection(socket)
    }

    /// Takes datagrams to `port`.
    pub fn udp_bind(&mut self, port: u16) {
        self.sockets.bind(port);
    }

    /// Sends a datagram.
    pub fn udp_send(
        &mut self,
        source_port: u16,
        to: Endpoint,
        payload: Payload,
        flow: Option<FlowId>,
    ) {
        let header = UdpHeader {
            source_port,
            destination_port: to.port,
        };
        self.send(to.address, Body::Udp(header, payload), flow);
    }

    /// Sends an echo request.
    pub fn ping(&mut self, to: IpAddr, echo: Echo, flow: Option<FlowId>) {
        self.send(to, Body::Icmp(IcmpMessage::EchoRequest(echo)), flow);
    }

    fn packet(
        &mut self,
        (source, destination): (IpAddr, IpAddr),
        body: Body,
        flow: Option<FlowId>,
    ) -> Packet {
        self.identification = self.identification.wrapping_add(1);
        Packet {
            ip: IpHeader {
                source,
                destination,
                hop_limit: HOP_LIMIT,
                traffic_class: 0,
                identification: self.identification,
                dont_fragment: true,
            },
            body,
            flow,
            retransmission: false,
            bit_errors: BitErrors::NONE,
        }
    }

    fn send(&mut self, destination: IpAddr, body: Body, flow: Option<FlowId>) {
        let Some(source) = self.address_towards(destination) else {
            self.discarded.no_route += 1;
            return;
        };
        let packet = self.packet((source, destination), body, flow);
        self.outbox.push_back(packet);
    }

    /// Lets a base station here tell the source of a packet that one more attempt to send it has failed, unless it is an
    /// error itself. A source on this host hears at once.
    pub fn notify_of_bad_state(&mut self, now: Instant, packet: &Packet) {
        if let Some(quoted) = packet.quote() {
            self.tell(now, IcmpError::BadState, quoted);
        }
    }

    /// Lets a router here tell the source of a packet how much of what it sends can be passed on, in kbit/s.
    pub fn notify_of_backpressure(&mut self, now: Instant, packet: &Packet, rate: u32) {
        if let Some(quoted) = packet.quote() {
            self.tell(now, IcmpError::Backpressure { rate }, quoted);
        }
    }

    /// Tells a packet's source what became of it.
    fn send_error(&mut self, packet: &Packet, kind: IcmpError) {
        if let Some(error) = self.error_about(packet, kind) {
            self.outbox.push_back(error);
        }
    }

    /// What this host would tell a packet's source of what became of it; nothing about an ICMP error
    /// or a packet to or from no single host (RFC 1122 section 3.2.2, RFC 4443 section 2.4), or to where it has no
    /// address of that version.
    pub fn error_about(&mut self, packet: &Packet, kind: IcmpError) -> Option<Packet> {
        let for_all = packet.ip.destination.is_multicast()
            || packet.ip.destination == IpAddr::V4(Ipv4Addr::BROADCAST);
        if for_all || packet.ip.source.is_unspecified() {
            return None;
        }
        let quoted = packet.quote()?;
        let source = self.address_towards(packet.ip.source)?;
        let error = Body::Icmp(IcmpMessage::Error { kind, quoted });
        Some(self.packet((source, packet.ip.source), error, packet.flow))
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
