//! AeroTP's connections and datagrams on a host.

use super::{AerotpDatagram, AerotpId, AerotpSockets, Beginning, Delivery, PATH};
use crate::aerotp::{Configuration, Connection};
use crate::crosslayer::CrossLayerSignal;
use crate::host::{Host, HostEvent, mtu_towards};
use crate::interface::{InterfaceId, LinkEvent};
use crate::packet::{Body, FlowId, IpHeader};
use crate::rate::DataRate;
use crate::tcp::Endpoint;
use crate::time::Instant;
use crate::wire::aerotp::AerotpPacket;
use core::net::IpAddr;

impl Host {
    /// Returns an AeroTP connection whose state may have changed since it was last returned here.
    pub fn poll_aerotp_changed(&mut self) -> Option<AerotpId> {
        self.aerotp.as_mut()?.poll_changed()
    }

    fn aerotp_sockets(&mut self) -> &mut AerotpSockets {
        let secret = self.sockets.secret();
        self.aerotp
            .get_or_insert_with(|| Box::new(AerotpSockets::new(secret)))
    }

    /// Opens an AeroTP connection to `remote` from a fresh port. Data written at once leaves with its first packet.
    pub fn aerotp_connect(
        &mut self,
        now: Instant,
        remote: Endpoint,
        configuration: Configuration,
        flow: Option<FlowId>,
    ) -> AerotpId {
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
    ) -> AerotpId {
        let mtu = self.mtu_between(address, remote.address);
        let pair = (Endpoint { address, port: 0 }, remote);
        let beginning = Beginning { pair, mtu, flow };
        let is_down = self.is_link_down(address);
        let sockets = self.aerotp_sockets();
        let socket = sockets.connect(now, beginning, configuration);
        if is_down && let Some(connection) = sockets.connection_mut(socket) {
            connection.link_down(PATH);
        }
        socket
    }

    /// Lets an AeroTP connection send over one more path, between these addresses, own first, at a rate of its own. Its token is
    /// shown to the peer there, too.
    pub fn aerotp_add_path(
        &mut self,
        now: Instant,
        socket: AerotpId,
        addresses: (IpAddr, IpAddr),
        rate: DataRate,
    ) {
        let mtu = self.mtu_between(addresses.0, addresses.1);
        let is_down = self.is_link_down(addresses.0);
        let Some(aerotp) = &mut self.aerotp else {
            return;
        };
        aerotp.add_path(now, socket, addresses, (mtu, rate));
        if is_down && let Some(connection) = aerotp.connection_mut(socket) {
            let path = connection.paths().find(|&(_, known)| known == addresses);
            if let Some((path, _)) = path {
                connection.link_down(path);
            }
        }
    }

    /// Returns true for an address of an interface whose link is down.
    fn is_link_down(&self, address: IpAddr) -> bool {
        let interface = self.interface_of(address);
        interface.is_some_and(|interface| self.links.is_down(interface))
    }

    /// Passes a link event to AeroTP's connections. It concerns paths from an address of the interface and, in connections with several
    /// paths, paths from an address of no interface whose route to the peer leads there.
    pub(in super::super) fn tell_aerotp(
        &mut self,
        interface: InterfaceId,
        event: LinkEvent,
        rate: Option<DataRate>,
    ) {
        let Some(mut aerotp) = self.aerotp.take() else {
            return;
        };
        aerotp.on_link(event, rate, |(own, remote), has_others| {
            let by_route = || self.routes.lookup(remote).filter(|_| has_others);
            self.interface_of(own).or_else(by_route) == Some(interface)
        });
        self.aerotp = Some(aerotp);
    }

    /// Returns the largest packet on the first link from an own address to another host's, in bytes.
    fn mtu_between(&self, local: IpAddr, remote: IpAddr) -> u32 {
        let mtus = &self.interface_mtus;
        let of_address = self.interface_of(local);
        let of_address = of_address.and_then(|interface| mtus.get(interface.0).copied());
        of_address.unwrap_or_else(|| mtu_towards(&self.routes, mtus, remote))
    }

    /// Accepts AeroTP connections of the configuration's mode at `port`. At most `backlog` half-open ones are kept, whose peer has not
    /// shown that it is at its packets' source address; one more takes the place of the oldest.
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

    /// Returns an AeroTP connection, to call on; its packets and events then come out of the polls.
    pub fn aerotp_mut(&mut self, socket: AerotpId) -> Option<&mut Connection> {
        self.aerotp.as_mut()?.connection_mut(socket)
    }

    /// Moves an AeroTP connection to another address of this host. The peer recognizes it by its token.
    pub fn aerotp_move(&mut self, now: Instant, socket: AerotpId, address: IpAddr) {
        if let Some(aerotp) = &mut self.aerotp {
            aerotp.move_to(now, socket, address);
        }
    }

    /// Returns an AeroTP connection.
    pub fn aerotp(&self, socket: AerotpId) -> Option<&Connection> {
        self.aerotp.as_ref()?.connection(socket)
    }

    /// Accepts datagrams of AeroTP's stateless mode at `port`.
    pub fn aerotp_bind(&mut self, port: u16) {
        self.aerotp_sockets().bind(port);
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

    /// Hands an AeroTP packet to its connection.
    pub(in super::super) fn deliver_aerotp(
        &mut self,
        now: Instant,
        ip: &IpHeader,
        packet: AerotpPacket,
        flow: Option<FlowId>,
    ) {
        let local = Endpoint {
            address: ip.destination,
            port: packet.header.destination_port,
        };
        let remote = Endpoint {
            address: ip.source,
            port: packet.header.source_port,
        };
        let port = local.port;
        self.aerotp_sockets();
        let Some(sockets) = &mut self.aerotp else {
            return;
        };
        let mtu = || mtu_towards(&self.routes, &self.interface_mtus, remote.address);
        match sockets.deliver(now, (local, remote), packet, mtu) {
            Delivery::Taken => {}
            Delivery::Accepted(socket) => {
                self.events
                    .push_back(HostEvent::AerotpAccepted { socket, port });
            }
            Delivery::Datagram(payload) => {
                self.events.push_back(HostEvent::AerotpDatagram {
                    port,
                    from: remote,
                    payload,
                });
            }
            Delivery::Damaged => self.count_damaged(),
            Delivery::Nobody(reset) => {
                self.count_unreceived();
                if let Some(reset) = reset {
                    self.send(remote.address, Body::Aerotp(reset), flow);
                }
            }
        }
    }

    /// Puts the next AeroTP packet into the outbox, if there is one.
    pub(in super::super) fn queue_aerotp(&mut self, now: Instant) -> Option<()> {
        let outgoing = self.aerotp.as_mut()?.poll_transmit(now)?;
        let sent = outgoing.transmission;
        let body = Body::Aerotp(Box::new(sent.packet));
        let mut packet = self.origin().packet(sent.addresses, body, outgoing.flow);
        packet.retransmission = sent.retransmission;
        self.outbox.push_back(packet);
        Some(())
    }

    /// Passes a link signal to AeroTP's connections, at a mobile's end or at its correspondent's.
    pub(in super::super) fn signal_aerotp(
        &mut self,
        signal: &CrossLayerSignal,
        concerned: impl Fn(IpAddr) -> bool,
    ) {
        let Some(aerotp) = &mut self.aerotp else {
            return;
        };
        let rate = match signal {
            CrossLayerSignal::Connected(path) => Some(path.from_mobile),
            CrossLayerSignal::PeerMoved(moved) => moved.rate,
            _ => None,
        };
        aerotp.signal(signal, concerned, rate);
    }

    pub(in super::super) fn poll_aerotp_event(&mut self) -> Option<HostEvent> {
        let (socket, event) = self.aerotp.as_mut()?.poll_event()?;
        Some(HostEvent::Aerotp { socket, event })
    }
}
