//! AeroTP as a transport of a host, and its connections as sockets of applications.

use super::{AerotpId, AerotpSockets, PATH};
use crate::aerotp::{self, Connection};
use crate::crosslayer::CrossLayerSignal;
use crate::host::{
    Delivery, Incoming, Outgoing, Pattern, Socket, SocketCounters, SocketEvent, SocketState,
    Transport,
};
use crate::interface::LinkEvent;
use crate::packet::Body;
use crate::rate::DataRate;
use crate::tcp::Endpoint;
use crate::time::Instant;
use crate::wire::icmp::{IcmpError, QuotedPacket};
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
        self.note_icmp(now, error, quoted)
    }

    fn handle_link(
        &mut self,
        _: Instant,
        event: LinkEvent,
        rate: Option<DataRate>,
        leaves: &dyn Fn((IpAddr, IpAddr), bool) -> bool,
    ) {
        self.on_link(event, rate, leaves);
    }

    fn signal(
        &mut self,
        _: Instant,
        signal: &CrossLayerSignal,
        concerned: &dyn Fn(IpAddr) -> bool,
    ) {
        self.note_signal(signal, concerned);
    }

    fn peers(&self) -> Vec<IpAddr> {
        self.sockets.values().map(|socket| socket.peer()).collect()
    }

    fn socket(&self, number: u32) -> Option<&dyn Socket> {
        Some(self.connection(AerotpId(number))?)
    }

    fn socket_mut(&mut self, number: u32) -> Option<&mut dyn Socket> {
        Some(self.connection_mut(AerotpId(number))?)
    }

    fn poll_timeout(&mut self) -> Option<Instant> {
        self.next_timeout()
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.do_due(now);
    }

    fn poll_event(&mut self) -> Option<(u32, SocketEvent)> {
        loop {
            let (id, event) = self.next_event()?;
            let event = match event {
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
            };
            return Some((id.0, event));
        }
    }

    fn may_transmit(&self) -> bool {
        !self.ready.is_empty()
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Outgoing> {
        self.next_packet(now)
    }

    fn poll_changed(&mut self) -> Option<u32> {
        Some(self.changed.pop_front()?.0)
    }

    fn refused(&self) -> u64 {
        self.dropped_in_all
    }
}

impl Socket for Connection {
    /// Writes a record all or nothing, or as part of a stream if it is longer than a packet.
    fn write(&mut self, pattern: Pattern) -> u64 {
        let payload = pattern.payload();
        let length = u64::from(payload.length());
        if !pattern.is_record {
            Connection::write(self, &payload)
        } else if self.write_record(&payload) {
            length
        } else if self.room() >= length {
            Connection::write(self, &payload)
        } else {
            0
        }
    }

    fn keeps_records(&self) -> bool {
        true
    }

    fn read(&mut self, now: Instant) -> u64 {
        let mut bytes = 0;
        while let Some(read) = Connection::read(self, now, u64::MAX) {
            bytes += u64::from(read.payload.length());
        }
        bytes
    }

    /// A sink whose mode has no answers has nothing to say.
    fn close(&mut self) {
        if self.configuration().mode.repeats() || self.is_opener() {
            Connection::close(self);
        }
    }

    fn skipped(&self) -> Option<u64> {
        let repeats = self.configuration().mode.repeats();
        (!repeats).then(|| self.statistics().skipped)
    }

    fn state(&self) -> SocketState {
        SocketState {
            bytes_in_flight: Some(self.in_flight()),
            sending_rate: self.rate(PATH),
            smoothed_rtt: self.smoothed_rtt(PATH),
            ..SocketState::default()
        }
    }

    fn counters(&self) -> SocketCounters {
        let counted = self.statistics();
        SocketCounters {
            packets_sent: counted.packets,
            retransmitted: counted.retransmitted,
            timeouts: Some(0),
            fast_retransmits: Some(0),
            duplicates_received: counted.duplicates,
            ..SocketCounters::default()
        }
    }
}
