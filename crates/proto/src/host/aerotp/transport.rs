//! AeroTP as a transport of a host: packets, ICMP errors and events of links for its connections, and their polls.

use super::{AerotpId, AerotpSockets, PATH, Socket};
use crate::aerotp::{self, Connection};
use crate::crosslayer::CrossLayerSignal;
use crate::host::{self, Delivery, Incoming, Outgoing, SocketEvent, Transport};
use crate::interface::LinkEvent;
use crate::packet::Body;
use crate::rate::DataRate;
use crate::tcp::Endpoint;
use crate::time::Instant;
use crate::wire::icmp::{IcmpError, QuotedPacket};
use crate::wire::protocol;
use core::cmp::Reverse;
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
        self.deliver(incoming.now, (local, remote), *packet, incoming.mtu)
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
                // The rate applies to all packets from this host.
                let senders = self.sockets.values().filter_map(|socket| sends(socket));
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
        let (is_up, rate) = match signal {
            CrossLayerSignal::Connected(path) => (true, Some(path.from_mobile)),
            CrossLayerSignal::PeerMoved(moved) => (true, moved.rate),
            CrossLayerSignal::Disconnected => (false, None),
            _ => return,
        };
        self.each(|socket| {
            if !concerned(socket.peer()) {
                return false;
            }
            match is_up {
                true => socket.connection.link_up(PATH, rate),
                false => socket.connection.link_down(PATH),
            }
            true
        });
    }

    fn peers(&self) -> Vec<IpAddr> {
        self.sockets.values().map(|socket| socket.peer()).collect()
    }

    fn socket(&self, number: u32) -> Option<&dyn host::Socket> {
        Some(self.connection(AerotpId(number))?)
    }

    fn socket_mut(&mut self, number: u32) -> Option<&mut dyn host::Socket> {
        Some(self.connection_mut(AerotpId(number))?)
    }

    fn poll_timeout(&mut self) -> Option<Instant> {
        while let Some(&Reverse((at, id))) = self.deadlines.peek() {
            let Some(socket) = self.sockets.get_mut(&id) else {
                self.deadlines.pop();
                continue;
            };
            if socket.queued_deadline != Some(at) {
                self.deadlines.pop();
                continue;
            }
            match socket.connection.poll_timeout() {
                Some(deadline) if deadline <= at => return Some(at),
                // The deadline has moved later since: queue it anew.
                _ => {
                    self.deadlines.pop();
                    socket.queued_deadline = None;
                    self.queue_deadline(id, at);
                }
            }
        }
        None
    }

    fn handle_timeout(&mut self, now: Instant) {
        while self.poll_timeout().is_some_and(|at| at <= now) {
            let Some(Reverse((_, id))) = self.deadlines.pop() else {
                return;
            };
            if let Some(socket) = self.sockets.get_mut(&id) {
                socket.queued_deadline = None;
                socket.connection.handle_timeout(now);
            }
            self.touch(id);
        }
    }

    fn poll_event(&mut self) -> Option<(u32, SocketEvent)> {
        if let Some(AerotpId(number)) = self.dropped.pop_front() {
            return Some((number, SocketEvent::Closed));
        }
        while let Some(&id) = self.touched.front() {
            if let Some(socket) = self.sockets.get_mut(&id) {
                if let Some(event) = poll_event(&mut socket.connection) {
                    return Some((id.0, event));
                }
                socket.touched = false;
                if !socket.ready {
                    socket.ready = true;
                    self.ready.push_back(id);
                }
            }
            self.touched.pop_front();
        }
        None
    }

    fn may_transmit(&self) -> bool {
        !self.ready.is_empty()
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Outgoing> {
        while let Some(&id) = self.ready.front() {
            if let Some(socket) = self.sockets.get_mut(&id) {
                if let Some(sent) = socket.connection.poll_transmit(now) {
                    return Some(Outgoing {
                        addresses: sent.addresses,
                        body: Body::Aerotp(Box::new(sent.packet)),
                        flow: socket.flow,
                        retransmission: sent.retransmission,
                    });
                }
                socket.ready = false;
                self.changed.push_back(id);
                // Nothing is kept of a connection that ended half open.
                if socket.half_open.is_some() && socket.is_over() {
                    self.forget(id);
                } else {
                    self.queue_deadline(id, now);
                }
            }
            self.ready.pop_front();
        }
        None
    }

    fn poll_changed(&mut self) -> Option<u32> {
        Some(self.changed.pop_front()?.0)
    }

    fn refused(&self) -> u64 {
        self.dropped_in_all
    }
}

impl AerotpSockets {
    /// Applies a function to all connections; those for which it returns true may then have events.
    fn each(&mut self, mut act: impl FnMut(&mut Socket) -> bool) {
        for (&id, socket) in &mut self.sockets {
            if !socket.is_over() && act(socket) && !socket.touched {
                socket.touched = true;
                self.touched.push_back(id);
            }
        }
    }

    /// Ensures that the heap holds an entry at the connection's deadline or before; if that has passed, as a probe's may while its link
    /// is down, no earlier than `now`.
    fn queue_deadline(&mut self, id: AerotpId, now: Instant) {
        let Some(socket) = self.sockets.get_mut(&id) else {
            return;
        };
        let Some(deadline) = socket.connection.poll_timeout() else {
            return;
        };
        let deadline = deadline.max(now);
        if socket
            .queued_deadline
            .is_none_or(|queued| deadline < queued)
        {
            socket.queued_deadline = Some(deadline);
            self.deadlines.push(Reverse((deadline, id)));
        }
    }
}

/// Returns the next event of a connection that its application knows.
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
