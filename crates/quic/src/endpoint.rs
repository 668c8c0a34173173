//! All QUIC connections of a host, as a transport over UDP.

use crate::configuration::Configuration;
use crate::connection::QuicConnection;
use crate::seeded::{ConnectionIds, NoTokens, Secret, first_connection_ids, without_tokens};
use crate::session::NullCrypto;
use crate::stop_watch::StopWatch;
use baton_proto::host::{
    Delivery, FIRST_EPHEMERAL_PORT, Incoming, Outgoing, Socket, SocketEvent, Transport,
};
use baton_proto::packet::{Body, FlowId, Payload};
use baton_proto::tcp::Endpoint as Address;
use baton_proto::time::Instant;
use baton_proto::wire::icmp::{IcmpError, QuotedPacket};
use baton_proto::wire::protocol;
use baton_proto::wire::udp::UdpHeader;
use bytes::BytesMut;
use core::net::{IpAddr, SocketAddr};
use quinn_proto::{
    ClientConfig, ConnectionHandle, DatagramEvent, Endpoint, EndpointConfig, ServerConfig, Transmit,
};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

/// Name of every server: the handshake has no certificates.
const SERVER_NAME: &str = "server";

/// A port at which connections are accepted.
#[derive(Clone, Copy, Debug)]
struct Listener {
    configuration: Configuration,
    flow: Option<FlowId>,
}

/// The QUIC connections of a host.
#[derive(Debug)]
pub struct QuicSockets {
    watch: StopWatch,
    endpoint: Endpoint,
    first_connection_ids: Shared,
    connections: BTreeMap<u32, QuicConnection>,
    numbers: BTreeMap<usize, u32>,
    next_number: u32,
    next_port: u16,
    /// Ports of all connections.
    ports: BTreeSet<u16>,
    listeners: BTreeMap<u16, Listener>,
    /// Connections that may have events, packets or another deadline.
    touched: VecDeque<u32>,
    ready: VecDeque<u32>,
    changed: VecDeque<u32>,
    deadlines: BTreeSet<(Instant, u32)>,
    /// Datagrams of no connection: refusals and stateless resets.
    answers: VecDeque<Outgoing>,
}

/// Provider of connection IDs.
struct Shared(Arc<dyn Fn() -> quinn_proto::ConnectionId + Send + Sync>);

impl core::fmt::Debug for Shared {
    fn fmt(&self, formatter: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        formatter.write_str("connection IDs")
    }
}

impl QuicSockets {
    /// Creates the connections of a host; all that looks random follows from `key`.
    pub fn new(key: [u8; 16]) -> QuicSockets {
        let secret = move |purpose| Secret { key, purpose };
        let mut config = EndpointConfig::new(Arc::new(secret(0)));
        config
            .cid_generator(move || Box::new(ConnectionIds::new(secret(1))))
            .grease_quic_bit(false)
            .rng_seed(Some(secret(2).seed()));
        QuicSockets {
            watch: StopWatch::new(),
            endpoint: Endpoint::new(
                Arc::new(config),
                Some(server(Configuration::default())),
                true,
                None,
            ),
            first_connection_ids: Shared(first_connection_ids(secret(3))),
            connections: BTreeMap::new(),
            numbers: BTreeMap::new(),
            next_number: 0,
            next_port: FIRST_EPHEMERAL_PORT,
            ports: BTreeSet::new(),
            listeners: BTreeMap::new(),
            touched: VecDeque::new(),
            ready: VecDeque::new(),
            changed: VecDeque::new(),
            deadlines: BTreeSet::new(),
            answers: VecDeque::new(),
        }
    }

    /// Accepts connections at a UDP port.
    pub fn listen(&mut self, port: u16, configuration: Configuration, flow: Option<FlowId>) {
        let listener = Listener {
            configuration,
            flow,
        };
        self.listeners.insert(port, listener);
    }

    /// Opens a connection from an address of this host; returns its number, or `None` if there is no way to the address.
    pub fn connect(
        &mut self,
        now: Instant,
        local: IpAddr,
        remote: Address,
        configuration: Configuration,
        flow: Option<FlowId>,
    ) -> Option<u32> {
        let mut client = ClientConfig::new(Arc::new(NullCrypto));
        client
            .transport_config(configuration.transport())
            .initial_dst_cid_provider(self.first_connection_ids.0.clone());
        let to = SocketAddr::new(remote.address, remote.port);
        let at = self.watch.outside(now);
        let opened = self.endpoint.connect(at, client, to, SERVER_NAME);
        let (handle, connection) = opened.ok()?;
        let ends = (local, self.free_port());
        Some(self.add(QuicConnection::new(connection, handle, ends, flow)))
    }

    fn free_port(&mut self) -> u16 {
        let from = self.next_port;
        let mut ports = (from..=u16::MAX).chain(FIRST_EPHEMERAL_PORT..from);
        let port = ports
            .find(|port| !self.ports.contains(port))
            .unwrap_or(from);
        self.next_port = port.checked_add(1).unwrap_or(FIRST_EPHEMERAL_PORT);
        port
    }

    fn add(&mut self, connection: QuicConnection) -> u32 {
        let number = self.next_number;
        self.next_number += 1;
        self.numbers.insert(connection.handle.0, number);
        self.ports.insert(connection.port);
        self.connections.insert(number, connection);
        self.touch(number);
        number
    }

    /// Returns true for a port of a listener or a connection.
    fn has_port(&self, port: u16) -> bool {
        self.listeners.contains_key(&port) || self.ports.contains(&port)
    }

    fn handle_datagram(
        &mut self,
        now: Instant,
        (local, port): (IpAddr, u16),
        remote: SocketAddr,
        bytes: &[u8],
    ) -> Delivery {
        let (at, mut answer) = (self.watch.outside(now), Vec::new());
        let data = BytesMut::from(bytes);
        let event = self
            .endpoint
            .handle(at, remote, Some(local), None, data, &mut answer);
        match event {
            None => Delivery::Taken,
            Some(DatagramEvent::Response(transmit)) => {
                self.answer((local, port), &transmit, answer);
                Delivery::Taken
            }
            Some(DatagramEvent::ConnectionEvent(handle, event)) => {
                let number = self.numbers.get(&handle.0).copied();
                if let Some(number) = number
                    && let Some(one) = self.connections.get_mut(&number)
                {
                    one.connection.handle_event(event);
                    one.note_peer();
                    self.touch(number);
                }
                Delivery::Taken
            }
            Some(DatagramEvent::NewConnection(incoming)) => {
                let Some(&listener) = self.listeners.get(&port) else {
                    let transmit = self.endpoint.refuse(incoming, &mut answer);
                    self.answer((local, port), &transmit, answer);
                    return Delivery::Nobody(None);
                };
                let config = server(listener.configuration);
                let accepted = self
                    .endpoint
                    .accept(incoming, at, &mut answer, Some(config));
                match accepted {
                    Ok((handle, connection)) => {
                        let ends = (local, port);
                        let flow = listener.flow;
                        let one = QuicConnection::new(connection, handle, ends, flow);
                        let number = self.add(one);
                        Delivery::Accepted { number, port }
                    }
                    Err(refused) => {
                        if let Some(transmit) = refused.response {
                            self.answer((local, port), &transmit, answer);
                        }
                        Delivery::Taken
                    }
                }
            }
        }
    }

    fn answer(&mut self, from: (IpAddr, u16), transmit: &Transmit, mut bytes: Vec<u8>) {
        bytes.truncate(transmit.size);
        let datagram = datagram(from, transmit.destination, bytes, None);
        self.answers.push_back(datagram);
    }

    /// Notes that a connection may have events, and then packets to send.
    fn touch(&mut self, number: u32) {
        if self.touched.back() != Some(&number) {
            self.touched.push_back(number);
        }
    }

    /// Keeps the connection's deadline among all.
    fn queue_deadline(&mut self, number: u32) {
        let Some(one) = self.connections.get_mut(&number) else {
            return;
        };
        let deadline = one.connection.poll_timeout();
        let deadline = deadline.map(|at| self.watch.inside(at));
        if deadline != one.deadline {
            if let Some(before) = one.deadline {
                self.deadlines.remove(&(before, number));
            }
            one.deadline = deadline;
            self.deadlines.extend(deadline.map(|at| (at, number)));
        }
    }

    /// Passes what a connection and the endpoint have to say to each other.
    fn settle(&mut self, number: u32) {
        let Some(one) = self.connections.get_mut(&number) else {
            return;
        };
        while let Some(event) = one.connection.poll_endpoint_events() {
            one.is_drained |= event.is_drained();
            if let Some(answer) = self.endpoint.handle_event(one.handle, event) {
                one.connection.handle_event(answer);
            }
        }
        if one.is_drained {
            // Its counters stay for whoever asks; the library may give the handle to another.
            let ConnectionHandle(handle) = one.handle;
            if self.numbers.get(&handle) == Some(&number) {
                self.numbers.remove(&handle);
            }
        }
    }
}

/// Returns the configuration of a server.
fn server(configuration: Configuration) -> Arc<ServerConfig> {
    let mut server = ServerConfig::new(Arc::new(NullCrypto), Arc::new(NoTokens));
    server.transport_config(configuration.transport());
    without_tokens(&mut server);
    Arc::new(server)
}

fn datagram(
    (local, port): (IpAddr, u16),
    to: SocketAddr,
    bytes: Vec<u8>,
    flow: Option<FlowId>,
) -> Outgoing {
    let header = UdpHeader {
        source_port: port,
        destination_port: to.port(),
    };
    Outgoing {
        addresses: (local, to.ip()),
        body: Body::Udp(header, Payload::Bytes(bytes.into())),
        flow,
        retransmission: false,
    }
}

impl Transport for QuicSockets {
    fn handle_packet(&mut self, incoming: &Incoming<'_>, body: Body) -> Delivery {
        let Body::Udp(header, payload) = body else {
            return Delivery::Other(body);
        };
        if !self.has_port(header.destination_port) {
            return Delivery::Other(Body::Udp(header, payload));
        }
        let mut bytes = Vec::new();
        payload.copy_into(&mut bytes);
        let local = (incoming.ip.destination, header.destination_port);
        let remote = SocketAddr::new(incoming.ip.source, header.source_port);
        self.handle_datagram(incoming.now, local, remote, &bytes)
    }

    /// ICMP errors are not authenticated and change nothing (RFC 9000 section 14.2.1): the path's MTU is found by probes.
    fn handle_icmp(&mut self, _: Instant, _: IcmpError, quoted: &QuotedPacket) -> bool {
        quoted.protocol == protocol::UDP && self.has_port(quoted.source_port)
    }

    fn handle_attached(&mut self, now: Instant, source: &dyn Fn(IpAddr) -> Option<IpAddr>) {
        let at = self.watch.outside(now);
        let open = self.connections.iter_mut();
        for (&number, one) in open.filter(|(_, one)| !one.is_drained) {
            if let Some(address) = source(one.peer().ip()) {
                one.move_to(at, address);
                self.touched.push_back(number);
            }
        }
    }

    fn peers(&self) -> Vec<IpAddr> {
        let open = self.connections.values().filter(|one| !one.is_drained);
        open.map(|one| one.peer().ip()).collect()
    }

    fn socket(&self, number: u32) -> Option<&dyn Socket> {
        Some(self.connections.get(&number)?)
    }

    fn socket_mut(&mut self, number: u32) -> Option<&mut dyn Socket> {
        self.touch(number);
        Some(self.connections.get_mut(&number)?)
    }

    fn poll_timeout(&mut self) -> Option<Instant> {
        self.deadlines.first().map(|&(at, _)| at)
    }

    fn handle_timeout(&mut self, now: Instant) {
        let at = self.watch.outside(now);
        while let Some((due, number)) = self.deadlines.pop_first() {
            if due > now {
                self.deadlines.insert((due, number));
                break;
            }
            if let Some(one) = self.connections.get_mut(&number) {
                one.deadline = None;
                one.connection.handle_timeout(at);
                self.touch(number);
            }
        }
    }

    fn poll_event(&mut self) -> Option<(u32, SocketEvent)> {
        while let Some(&number) = self.touched.front() {
            self.settle(number);
            let one = self.connections.get_mut(&number);
            if let Some(event) = one.and_then(|one| one.poll_event()) {
                return Some((number, event));
            }
            self.touched.pop_front();
            self.ready.push_back(number);
        }
        None
    }

    fn may_transmit(&self) -> bool {
        !self.ready.is_empty() || !self.touched.is_empty() || !self.answers.is_empty()
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Outgoing> {
        if let Some(answer) = self.answers.pop_front() {
            return Some(answer);
        }
        let at = self.watch.outside(now);
        while let Some(&number) = self.ready.front() {
            if let Some(one) = self.connections.get_mut(&number) {
                one.close_if_done(at);
                let mut bytes = Vec::new();
                let transmit = one.connection.poll_transmit(at, 1, &mut bytes);
                let (from, flow) = ((one.local, one.port), one.flow);
                self.settle(number);
                if let Some(transmit) = transmit {
                    bytes.truncate(transmit.size);
                    return Some(datagram(from, transmit.destination, bytes, flow));
                }
                self.queue_deadline(number);
                self.changed.push_back(number);
            }
            self.ready.pop_front();
        }
        None
    }

    fn poll_changed(&mut self) -> Option<u32> {
        self.changed.pop_front()
    }

    fn refused(&self) -> u64 {
        0
    }
}
