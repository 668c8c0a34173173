//! Events of links and routers for AeroTP's connections.

use super::{AerotpSockets, PATH, Socket};
use crate::crosslayer::CrossLayerSignal;
use crate::interface::LinkEvent;
use crate::rate::DataRate;
use crate::time::Instant;
use crate::wire::icmp::{IcmpError, QuotedPacket};
use crate::wire::protocol;
use core::net::IpAddr;

impl AerotpSockets {
    /// Takes in a link signal for the connections to peers for which `concerned` returns true.
    pub(super) fn note_signal(
        &mut self,
        signal: &CrossLayerSignal,
        concerned: impl Fn(IpAddr) -> bool,
    ) {
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

    /// Takes in an event of a link with this `rate`, if the medium has reported one, for the path of each connection that leaves by the
    /// link. `leaves` decides that by the path's ends, own first, and by whether the connection has other paths.
    pub(super) fn on_link(
        &mut self,
        event: LinkEvent,
        rate: Option<DataRate>,
        leaves: impl Fn((IpAddr, IpAddr), bool) -> bool,
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

    /// Applies a function to all connections; those for which it returns true may then have events.
    fn each(&mut self, mut act: impl FnMut(&mut Socket) -> bool) {
        for (&id, socket) in &mut self.sockets {
            if !socket.is_over() && act(socket) && !socket.touched {
                socket.touched = true;
                self.touched.push_back(id);
            }
        }
    }

    /// Hands an ICMP error to all connections that it may be about, those to its destination: ports are not quoted. Returns true if it
    /// is about AeroTP.
    pub(super) fn note_icmp(
        &mut self,
        now: Instant,
        error: IcmpError,
        quoted: &QuotedPacket,
    ) -> bool {
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
}
