//! All QUIC connections of a host, as a transport over UDP.

use crate::configuration::Configuration;
use crate::connection::QuicConnection;
use crate::seeded::{ConnectionIds, NoTokens, Secret, first_connection_ids, without_tokens};
use crate::session::NullCrypto;
use crate::stop_watch::StopWatch;
use baton_proto::host::{
    Delivery, FIRST_EPHEMERAL_PORT, Incoming, Outgoing, Socket, SocketEvent, SocketTable, Transport,
};
use baton_proto::packet::{Body, FlowId, Payload};
use baton_proto::tcp::Endpoint as Address;
use baton_proto::time::Instant;
use baton_proto::wire::icmp::{IcmpError, QuotedPacket};
use baton_proto::wire::protocol;
use baton_proto::wire::udp::UdpHeader;
use bytes::BytesMut;
use core::net::{IpAddr, SocketAddr};
use quinn_proto::{ClientConfig, DatagramEvent, Endpoint, EndpointConfig, ServerConfig, Transmit};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// Name of every server: the handshake has no certificates.
const SERVER_NAME: &str = "server";

/// A port at which connections are accepted.
#[derive(Clone, Copy, Debug)]
struct Listener {
    configuration: Configuration,
    flow: Option<FlowId>,
}

/// QUIC connections of a host.
#[derive(Debug)]
pub struct QuicSockets {
    watch: StopWatch,
    endpoint: Endpoint,
    first_connection_ids: Shared,
    /// Bound ports; the library finds the connections.
    table: SocketTable<Box<QuicConnection>, Listener>,
    /// Connections, by the library's handles.
    numbers: BTreeMap<usize, u32>,
    /// Datagrams without a connection: refusals and stateless resets.
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
    /// Creates the connections of a host; all random numbers are derived from `key`.
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
            table: SocketTable::default(),
            numbers: BTreeMap::new(),
            answers: VecDeque::new(),
        }
    }

    /// Accepts connections at a UDP port.
    pub fn listen(&mut self, port: u16, configuration: Configuration, flow: Option<FlowId>) {
        let listener = Listener {
            configuration,
            flow,
        };
        self.table.listen(port, listener);
    }

    /// Opens a connection from an address of this host; returns its number, or `None` without a route to the address.
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
        let one = QuicConnection::new(connection, handle, ends, flow, self.watch);
        Some(self.add(one))
    }

    fn free_port(&mut self) -> u16 {
        for _ in FIRST_EPHEMERAL_PORT..=u16::MAX {
            let port = self.table.next_port();
            if !self.table.is_bound(port) {
                return port;
            }
        }
        self.table.next_port()
    }

    fn add(&mut self, one: QuicConnection) -> u32 {
        let (handle, port) = (one.handle.0, one.port);
        let number = self.table.add(Box::new(one));
        self.numbers.insert(handle, number);
        self.table.bind(port);
        number
    }

    /// Returns true for a port of a listener or a connection.
    fn has_port(&self, port: u16) -> bool {
        self.table.listener(port).is_some() || self.table.is_bound(port)
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
                    && let Some(one) = self.table.get_mut(number)
                {
                    one.connection.handle_event(event);
                    one.note_peer();
                    self.table.touch(number);
                }
                Delivery::Taken
            }
            Some(DatagramEvent::NewConnection(incoming)) => {
                let Some(&listener) = self.table.listener(port) else {
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
                        let one = QuicConnection::new(connection, handle, ends, flow, self.watch);
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
}

/// Exchanges pending events between a connection and the endpoint.
fn settle(one: &mut QuicConnection, endpoint: &mut Endpoint, numbers: &mut BTreeMap<usize, u32>) {
    while let Some(event) = one.connection.poll_endpoint_events() {
        if event.is_drained() && !one.is_drained {
            // Its counters stay available; the library may reuse the handle.
            one.is_drained = true;
            numbers.remove(&one.handle.0);
        }
        if let Some(answer) = endpoint.handle_event(one.handle, event) {
            one.connection.handle_event(answer);
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

    /// Ignores ICMP errors, which are not authenticated (RFC 9000 section 14.2.1): probes find the path MTU.
    fn handle_icmp(&mut self, _: Instant, _: IcmpError, quoted: &QuotedPacket) -> bool {
        quoted.protocol == protocol::UDP && self.has_port(quoted.source_port)
    }

    fn handle_attached(&mut self, now: Instant, source: &dyn Fn(IpAddr) -> Option<IpAddr>) {
        let at = self.watch.outside(now);
        self.table.touch_if(|one| {
            let address = source(one.peer().ip()).filter(|_| !one.is_drained);
            if let Some(address) = address {
                one.move_to(at, address);
            }
            address.is_some()
        });
    }

    fn peers(&self) -> Vec<IpAddr> {
        let open = self.table.iter().filter(|one| !one.is_drained);
        open.map(|one| one.peer().ip()).collect()
    }

    fn socket(&self, number: u32) -> Option<&dyn Socket> {
        Some(&**self.table.get(number)?)
    }

    fn socket_mut(&mut self, number: u32) -> Option<&mut dyn Socket> {
        self.table.touch(number);
        Some(&mut **self.table.get_mut(number)?)
    }

    fn poll_timeout(&mut self) -> Option<Instant> {
        self.table.poll_timeout()
    }

    fn handle_timeout(&mut self, now: Instant) {
        let at = self.watch.outside(now);
        let act = |one: &mut Box<QuicConnection>| one.connection.handle_timeout(at);
        self.table.handle_timeout(now, act);
    }

    fn poll_event(&mut self) -> Option<(u32, SocketEvent)> {
        self.table.poll_event(|one| {
            settle(one, &mut self.endpoint, &mut self.numbers);
            one.poll_event()
        })
    }

    fn may_transmit(&self) -> bool {
        self.table.may_transmit() || !self.answers.is_empty()
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Outgoing> {
        if let Some(answer) = self.answers.pop_front() {
            return Some(answer);
        }
        let at = self.watch.outside(now);
        while let Some((number, one)) = self.table.ready() {
            one.close_if_done(at);
            let mut bytes = Vec::new();
            let transmit = one.connection.poll_transmit(at, 1, &mut bytes);
            settle(one, &mut self.endpoint, &mut self.numbers);
            if let Some(transmit) = transmit {
                bytes.truncate(transmit.size);
                let from = (one.local, one.port);
                return Some(datagram(from, transmit.destination, bytes, one.flow));
            }
            self.table.end_turn();
            self.table.rest(number);
        }
        None
    }

    fn poll_changed(&mut self) -> Option<u32> {
        self.table.poll_changed()
    }

    fn refused(&self) -> u64 {
        0
    }
}
