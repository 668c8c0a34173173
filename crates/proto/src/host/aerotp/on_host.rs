//! AeroTP's connections and datagrams on a host.

use super::{AerotpDatagram, AerotpSockets, Beginning, PATH};
use crate::aerotp::{Configuration, Connection};
use crate::host::{Host, SocketId, mtu_towards};
use crate::packet::{Body, FlowId};
use crate::rate::DataRate;
use crate::tcp::Endpoint;
use crate::time::Instant;
use core::any::Any;
use core::net::IpAddr;

impl Host {
    fn aerotp_sockets(&mut self) -> &mut AerotpSockets {
        self.transport_mut(AerotpSockets::new).1
    }

    /// Opens an AeroTP connection to `remote` from an unused port. Data written at once leaves with the first packet.
    pub fn aerotp_connect(
        &mut self,
        now: Instant,
        remote: Endpoint,
        configuration: Configuration,
        flow: Option<FlowId>,
    ) -> SocketId {
        let ends = (self.source_towards(remote), remote);
        self.aerotp_connect_from(now, ends, configuration, flow)
    }

    /// Opens an AeroTP connection from a given address of this host.
    pub fn aerotp_connect_from(
        &mut self,
        now: Instant,
        (address, remote): (IpAddr, Endpoint),
        configuration: Configuration,
        flow: Option<FlowId>,
    ) -> SocketId {
        let mtu = self.mtu_between(address, remote.address);
        let pair = (Endpoint { address, port: 0 }, remote);
        let beginning = Beginning { pair, mtu, flow };
        let is_down = self.is_link_down(address);
        let (place, sockets) = self.transport_mut(AerotpSockets::new);
        let id = sockets.connect(now, beginning, configuration);
        if is_down && let Some(connection) = sockets.connection_mut(id) {
            connection.link_down(PATH);
        }
        place.socket(id)
    }

    /// Adds a path between these addresses, own first, to an AeroTP connection. The path has a rate of its own, and its
    /// packets carry the token until the peer answers.
    pub fn aerotp_add_path(
        &mut self,
        now: Instant,
        socket: SocketId,
        addresses: (IpAddr, IpAddr),
        rate: DataRate,
    ) {
        let mtu = self.mtu_between(addresses.0, addresses.1);
        let is_down = self.is_link_down(addresses.0);
        let id = id_of(socket);
        let sockets = self.aerotp_sockets();
        sockets.add_path(now, id, addresses, (mtu, rate));
        if is_down && let Some(connection) = sockets.connection_mut(id) {
            let path = connection.paths().find(|&(_, known)| known == addresses);
            if let Some((path, _)) = path {
                connection.link_down(path);
            }
        }
    }

    /// Returns true if the address belongs to an interface whose link is down.
    fn is_link_down(&self, address: IpAddr) -> bool {
        let interface = self.interface_of(address);
        interface.is_some_and(|interface| self.links.is_down(interface))
    }

    /// Returns the MTU of the first link from an own address to another host's, in bytes.
    pub(in crate::host) fn mtu_between(&self, local: IpAddr, remote: IpAddr) -> u32 {
        let mtus = &self.interface_mtus;
        let of_address = self.interface_of(local);
        let of_address = of_address.and_then(|interface| mtus.get(interface.0).copied());
        of_address.unwrap_or_else(|| mtu_towards(&self.routes, mtus, remote))
    }

    /// Accepts AeroTP connections of the configuration's mode at `port`. At most `backlog` of them are half open, with
    /// a peer that has not yet proved its address; one more replaces the oldest.
    pub fn aerotp_listen(
        &mut self,
        port: u16,
        configuration: Configuration,
        backlog: u32,
        flow: Option<FlowId>,
    ) {
        let sockets = self.aerotp_sockets();
        sockets.listen(port, configuration, backlog, flow);
    }

    /// Returns an AeroTP connection, mutably; then drain the polls.
    pub fn aerotp_mut(&mut self, socket: SocketId) -> Option<&mut Connection> {
        let socket: &mut dyn Any = self.socket_mut(socket)?;
        socket.downcast_mut()
    }

    /// Moves an AeroTP connection to another address of this host. The peer recognizes it by its token.
    pub fn aerotp_move(&mut self, now: Instant, socket: SocketId, address: IpAddr) {
        self.aerotp_sockets().move_to(now, id_of(socket), address);
    }

    /// Returns an AeroTP connection.
    pub fn aerotp(&self, socket: SocketId) -> Option<&Connection> {
        let socket: &dyn Any = self.socket(socket)?;
        socket.downcast_ref()
    }

    /// Accepts datagrams of AeroTP's stateless mode at `port`.
    pub fn aerotp_bind(&mut self, port: u16) {
        self.aerotp_sockets().table.bind(port);
    }

    /// Sends a datagram of AeroTP's stateless mode.
    pub fn aerotp_send_datagram(
        &mut self,
        now: Instant,
        datagram: AerotpDatagram,
        flow: Option<FlowId>,
    ) {
        let destination = datagram.to.address;
        let packet = datagram.into_packet(now);
        self.send(destination, Body::Aerotp(Box::new(packet)), flow);
    }
}

/// Returns the number of one of AeroTP's sockets.
fn id_of(socket: SocketId) -> u32 {
    socket.split().map_or(u32::MAX, |(_, number)| number)
}
