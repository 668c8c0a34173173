//! Applications' calls on a host's transports.

use super::{Host, Socket, SocketId, Transport, TransportPlace, mtu_towards};
use crate::crosslayer::{CrossLayerSignal, Remedy};
use crate::packet::{Body, CodePoint, FlowId, Payload};
use crate::tcp::profile::Profile;
use crate::tcp::{Connection, Endpoint};
use crate::time::Instant;
use crate::wire::icmp::{Echo, IcmpMessage};
use crate::wire::udp::UdpHeader;
use core::any::Any;
use core::net::IpAddr;
use std::sync::Arc;

impl Host {
    /// Returns a transport, mutably, and its place; creates it at the first call. `make` gets the host's secret.
    pub fn transport_mut<T: Transport>(
        &mut self,
        make: impl FnOnce([u8; 16]) -> T,
    ) -> (TransportPlace, &mut T) {
        let transports = self.transports.get_or_insert_default();
        let mut all = transports.iter();
        let place = all.position(|transport| {
            let transport: &dyn Any = &**transport;
            transport.is::<T>()
        });
        let place = place.unwrap_or_else(|| {
            transports.push(Box::new(make(self.sockets.secret())));
            transports.len() - 1
        });
        let transport: &mut dyn Any = &mut *transports[place];
        let transport = transport.downcast_mut();
        (TransportPlace(place), transport.expect("found by its type"))
    }

    /// Returns a connection of a transport other than TCP.
    pub fn socket(&self, socket: SocketId) -> Option<&dyn Socket> {
        let Some((place, number)) = socket.split() else {
            let connection: &dyn Socket = self.sockets.connection(socket)?;
            return Some(connection);
        };
        self.transports.as_ref()?.get(place)?.socket(number)
    }

    /// Returns a connection of any transport, mutably.
    pub fn socket_mut(&mut self, socket: SocketId) -> Option<&mut dyn Socket> {
        let Some((place, number)) = socket.split() else {
            let connection: &mut dyn Socket = self.sockets.connection_mut(socket)?;
            return Some(connection);
        };
        self.transports.as_mut()?.get_mut(place)?.socket_mut(number)
    }

    /// Opens a connection to `remote` from an unused port.
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

    /// Returns the local address for a connection to `remote`.
    pub fn source_towards(&self, remote: Endpoint) -> IpAddr {
        let layers = self.layers.as_ref();
        let chosen = layers.and_then(|layers| layers.source_towards(remote.address, remote.port));
        let address = chosen.or_else(|| self.address_towards(remote.address));
        address.unwrap_or(self.address)
    }

    /// Accepts connections to `port`, at most `backlog` of them half open.
    pub fn tcp_listen(
        &mut self,
        port: u16,
        profile: impl Into<Arc<Profile>>,
        backlog: u32,
        flow: Option<FlowId>,
    ) {
        self.sockets.listen(port, profile.into(), backlog, flow);
    }

    /// Returns a TCP connection, mutably; then drain the polls.
    pub fn connection_mut(&mut self, socket: SocketId) -> Option<&mut Connection> {
        self.sockets.connection_mut(socket)
    }

    /// Returns a TCP connection.
    pub fn connection(&self, socket: SocketId) -> Option<&Connection> {
        self.sockets.connection(socket)
    }

    /// Adds remedies to a connection, which receive each signal in this order; at a mobile, the first signal is about
    /// the link in use.
    pub fn add_remedies(
        &mut self,
        now: Instant,
        socket: SocketId,
        remedies: impl IntoIterator<Item = Box<dyn Remedy>>,
    ) {
        for remedy in remedies {
            self.sockets.add_remedy(socket, remedy);
        }
        if let Some(path) = self.path_in_use() {
            let begun = CrossLayerSignal::Begun(path);
            self.sockets.signal_to(now, socket, &begun);
        }
    }

    /// Accepts datagrams to `port`.
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

    /// Sets the code point (RFC 2474) of this host's packets of a flow; zero by default. AeroTP's packets have the code
    /// point of their class.
    pub fn set_code_point(&mut self, flow: FlowId, code_point: CodePoint) {
        let code_points = self.code_points.get_or_insert_default();
        code_points.insert(flow, code_point);
    }

    /// Sends an echo request.
    pub fn ping(&mut self, to: IpAddr, echo: Echo, flow: Option<FlowId>) {
        self.send(to, Body::Icmp(IcmpMessage::EchoRequest(echo)), flow);
    }
}
