//! AeroTP as a transport of a host: packets, ICMP errors and link events of its connections, and their polls.

use super::{AerotpSockets, PATH, Seat, Socket};
use crate::aerotp::{self, Connection};
use crate::crosslayer::CrossLayerSignal;
use crate::host::{self, Delivery, Incoming, Outgoing, SocketEvent, Transport};
use crate::interface::LinkEvent;
use crate::packet::{Body, IpHeader};
use crate::rate::DataRate;
use crate::tcp::Endpoint;
use crate::time::Instant;
use crate::wire::icmp::{IcmpError, QuotedPacket};
use crate::wire::protocol;
use core::net::IpAddr;

impl Transport for AerotpSockets {
    fn handle_packet(&mut self, incoming: &Incoming<'_>, body: Body) -> Delivery {
        let Body::Aerotp(packet) = body else {
            return Delivery::Other(body);
        };
        let local = Endpoint {
            address: incoming.ip.destination,
            port: packet.header.destination_port,
        };
        let remote = Endpoint {
            address: incoming.ip.source,
            port: packet.header.source_port,
        };
        let delivery = self.deliver(incoming.now, (local, remote), *packet, incoming.mtu);
        if incoming.ip.has_met_congestion()
            && let Some(number) = self.table.find(&(local, remote))
            && let Some(socket) = self.socket_mut(number)
        {
            socket.connection.note_congestion();
        }
        delivery
    }

    fn handle_corruption(&mut self, protocol: u8, ip: &IpHeader, bytes: u32) {
        if protocol != protocol::AEROTP {
            return;
        }
        let ends = (ip.destination, ip.source);
        self.each(|socket| {
            let connection = &mut socket.connection;
            let is_theirs = connection.paths().any(|(_, path)| path == ends);
            if is_theirs {
                connection.note_corruption(bytes);
            }
            is_theirs
        });
    }

    fn handle_icmp(&mut self, now: Instant, error: IcmpError, quoted: &QuotedPacket) -> bool {
        if quoted.protocol != protocol::AEROTP {
            return false;
        }
        let ends = quoted.transport_addresses();
        let concerned = |socket: &Socket| {
            let mut paths = socket.connection.paths();
            paths.find(|&(_, addresses)| addresses == ends)
        };
        match error {
            IcmpError::PacketTooBig { mtu } => self.each(|socket| {
                let path = concerned(socket);
                if let Some((path, _)) = path {
                    let mtu = mtu.saturating_sub(quoted.extension_length());
                    socket.connection.set_mtu(path, mtu);
                }
                path.is_some()
            }),
            IcmpError::Backpressure { rate } => {
                let sends =
                    |socket: &Socket| concerned(socket).filter(|_| socket.connection.held() > 0);
                // The reported rate covers all packets from this host.
                let senders = self.sockets().filter_map(sends);
                let bits = u64::from(rate) * 1000 / senders.count().max(1) as u64;
                let rate = DataRate::from_bits_per_second(bits);
                self.each(|socket| {
                    let path = sends(socket);
                    if let Some((path, _)) = path {
                        socket.connection.backpressure(now, path, rate);
                    }
                    path.is_some()
                });
            }
            IcmpError::Unreachable
            | IcmpError::ProtocolUnreachable
            | IcmpError::PortUnreachable
            | IcmpError::TimeExceeded
            | IcmpError::BadState => {}
        }
        true
    }

    fn handle_link(
        &mut self,
        event: LinkEvent,
        rate: Option<DataRate>,
        leaves: &dyn Fn((IpAddr, IpAddr), bool) -> bool,
    ) {
        let is_up = match event {
            LinkEvent::Up => true,
            LinkEvent::Down => false,
            _ => return,
        };
        self.each(|socket| {
            let connection = &mut socket.connection;
            let has_others = connection.paths().count() > 1;
            let path = connection
                .paths()
                .find(|&(_, ends)| leaves(ends, has_others));
            match path {
                Some((path, _)) if is_up => connection.link_up(path, rate),
                Some((path, _)) => connection.link_down(path),
                None => {}
            }
            path.is_some()
        });
    }

    fn handle_signal(&mut self, signal: &CrossLayerSignal, concerned: &dyn Fn(IpAddr) -> bool) {
        self.each(|socket| {
            if !concerned(socket.peer()) {
                return false;
            }
            let connection = &mut socket.connection;
            match signal {
                CrossLayerSignal::Connected(path) => {
                    connection.link_up(PATH, Some(path.from_mobile))
                }
                CrossLayerSignal::PeerMoved(moved) => connection.link_up(PATH, moved.rate),
                CrossLayerSignal::Disconnected => connection.link_down(PATH),
                CrossLayerSignal::GoingDown => connection.link_going_down(PATH, true),
                CrossLayerSignal::Rollback => connection.link_going_down(PATH, false),
                _ => return false,
            }
            true
        });
    }

    fn tolerated_loss(&self, leaves: &dyn Fn((IpAddr, IpAddr)) -> bool) -> Option<u32> {
        let over_it = |socket: &&Socket| socket.connection.paths().any(|(_, ends)| leaves(ends));
        let asking = self.sockets().filter(over_it);
        asking
            .filter_map(|socket| socket.connection.tolerated_loss())
            .min()
    }

    fn peers(&self) -> Vec<IpAddr> {
        self.sockets().map(|socket| socket.peer()).collect()
    }

    fn socket(&self, number: u32) -> Option<&dyn host::Socket> {
        Some(self.connection(number)?)
    }

    fn socket_mut(&mut self, number: u32) -> Option<&mut dyn host::Socket> {
        Some(self.connection_mut(number)?)
    }

    fn poll_timeout(&mut self) -> Option<Instant> {
        self.table.poll_timeout()
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.table.handle_timeout(now, |seat| {
            if let Some(socket) = seat {
                socket.connection.handle_timeout(now);
            }
        });
    }

    fn poll_event(&mut self) -> Option<(u32, SocketEvent)> {
        if let Some(number) = self.dropped.pop_front() {
            return Some((number, SocketEvent::Closed));
        }
        let poll = |seat: &mut Seat| poll_event(&mut seat.as_mut()?.connection);
        self.table.poll_event(poll)
    }

    fn may_transmit(&self) -> bool {
        self.table.may_transmit()
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Outgoing> {
        while let Some((number, seat)) = self.table.ready() {
            let outgoing = seat.as_mut().and_then(|socket| socket.poll_transmit(now));
            if outgoing.is_some() {
                return outgoing;
            }
            self.table.end_turn();
            self.rest(number);
        }
        None
    }

    fn poll_changed(&mut self) -> Option<u32> {
        self.table.poll_changed()
    }

    fn refused(&self) -> u64 {
        self.dropped_in_all
    }
}

impl AerotpSockets {
    fn sockets(&self) -> impl Iterator<Item = &Socket> {
        self.table.iter().filter_map(Option::as_deref)
    }

    /// Applies a function to all connections; those for which it returns true may then have events.
    fn each(&mut self, mut act: impl FnMut(&mut Socket) -> bool) {
        let act = |seat: &mut Seat| match seat {
            Some(socket) if !socket.is_over() => act(socket),
            _ => false,
        };
        self.table.touch_if(act);
    }

    /// Notes that a connection has no more packets to send for now. A connection that ended half open is forgotten.
    fn rest(&mut self, number: u32) {
        let Some(socket) = self.socket(number) else {
            return;
        };
        let is_forgotten = socket.half_open.is_some() && socket.is_over();
        self.table.rest(number);
        if is_forgotten {
            self.forget(number);
        }
    }
}

impl Socket {
    fn poll_transmit(&mut self, now: Instant) -> Option<Outgoing> {
        let Some(sent) = self.connection.poll_transmit(now) else {
            self.rested = now;
            return None;
        };
        Some(Outgoing {
            addresses: sent.addresses,
            body: Body::Aerotp(Box::new(sent.packet)),
            flow: self.flow,
            retransmission: sent.retransmission,
        })
    }
}

/// Returns a connection's next event that concerns its application.
fn poll_event(connection: &mut Connection) -> Option<SocketEvent> {
    loop {
        return Some(match connection.poll_event()? {
            aerotp::Event::Established => SocketEvent::Connected,
            aerotp::Event::Readable => SocketEvent::Readable,
            aerotp::Event::Writable => SocketEvent::Writable,
            aerotp::Event::Skipped(_) => SocketEvent::Skipped,
            aerotp::Event::Finished => SocketEvent::PeerClosed,
            aerotp::Event::Reset => SocketEvent::Reset,
            aerotp::Event::TimedOut => SocketEvent::TimedOut,
            aerotp::Event::Closed => SocketEvent::Closed,
            // Of interest to gateways only.
            aerotp::Event::Confirmed | aerotp::Event::Delivered => continue,
        });
    }
}
