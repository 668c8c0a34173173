//! TP++'s connections on a host.

use super::{Listener, TpPlusPlusSockets};
use crate::host::{Host, SocketId};
use crate::packet::FlowId;
use crate::rate::DataRate;
use crate::tcp::Endpoint;
use crate::tcp::isn::pair_hasher;
use crate::time::Instant;
use crate::tp_plus_plus::{Configuration, Connection};
use crate::wire::tp_plus_plus::ConnectionLabel;
use core::any::Any;
use core::hash::Hasher;
use core::net::IpAddr;

impl Host {
    /// Opens a TP++ connection to `remote` from an address of this host, or the one of its choice. Data written at once
    /// leaves with the first packet.
    pub fn tp_plus_plus_connect(
        &mut self,
        now: Instant,
        (local, remote): (Option<IpAddr>, Endpoint),
        configuration: Configuration,
        flow: Option<FlowId>,
    ) -> SocketId {
        let address = local.unwrap_or_else(|| self.source_towards(remote));
        let mtu = self.mtu_between(address, remote.address);
        let (place, sockets) = self.transport_mut(TpPlusPlusSockets::new);
        let port = sockets.table.next_port();
        let mut identifier = pair_hasher(&sockets.secret, Endpoint { address, port }, remote);
        identifier.write(b"TP++");
        identifier.write_u64(now.as_nanos());
        let label = ConnectionLabel {
            source_port: port,
            destination_port: remote.port,
            identifier: identifier.finish() as u32,
        };
        let addresses = (address, remote.address);
        let connection = Connection::connect(configuration, label, addresses, mtu);
        place.socket(sockets.add(label.reversed(), connection, flow))
    }

    /// Adds a path between these addresses, own first, to a TP++ connection.
    pub fn tp_plus_plus_add_path(
        &mut self,
        socket: SocketId,
        addresses: (IpAddr, IpAddr),
        rate: DataRate,
    ) {
        let mtu = self.mtu_between(addresses.0, addresses.1);
        let socket = self.socket_mut(socket);
        let connection = socket.and_then(|socket| (socket as &mut dyn Any).downcast_mut());
        if let Some(connection) = connection {
            Connection::add_path(connection, addresses, mtu, rate);
        }
    }

    /// Accepts TP++ connections with these settings at `port`.
    pub fn tp_plus_plus_listen(
        &mut self,
        port: u16,
        configuration: Configuration,
        flow: Option<FlowId>,
    ) {
        let listener = Listener {
            configuration,
            flow,
        };
        let (_, sockets) = self.transport_mut(TpPlusPlusSockets::new);
        sockets.table.listen(port, listener);
    }
}
