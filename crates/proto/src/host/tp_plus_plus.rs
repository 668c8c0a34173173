//! A host's TP++ connections, as a transport: a packet finds its connection by its label, whatever path it took.

mod on_host;
#[cfg(test)]
mod tests;

use super::table::{SocketTable, Timed};
use super::{
    Delivery, Incoming, Outgoing, Pattern, Socket, SocketCounters, SocketEvent, SocketState,
    Transport,
};
use crate::packet::{Body, FlowId};
use crate::time::Instant;
use crate::tp_plus_plus::{Configuration, Connection, Event, Mode};
use crate::wire::icmp::{IcmpError, QuotedPacket};
use crate::wire::protocol;
use crate::wire::tp_plus_plus::{ConnectionLabel, Content, TpPlusPlusPacket};
use core::net::IpAddr;
use std::collections::{BTreeMap, VecDeque};

/// Most connections of a host that are not over when another one is accepted: a packet from anywhere makes one.
const MOST_OPEN: usize = 1024;
/// Connections of which no whole TPDU has arrived; one more replaces the oldest. Damage to a label makes such.
const MOST_UNPROVEN: usize = 16;

#[derive(Debug)]
struct Listener {
    configuration: Configuration,
    flow: Option<FlowId>,
}

#[derive(Debug)]
struct Held {
    flow: Option<FlowId>,
    /// Label of the packets that it receives.
    label: ConnectionLabel,
    connection: Box<Connection>,
}

/// A connection by a number that is never reused; `None` once it is forgotten.
type Seat = Option<Held>;

impl Timed for Seat {
    fn poll_timeout(&mut self) -> Option<Instant> {
        self.as_ref()?.connection.poll_timeout()
    }
}

/// All TP++ connections of a host.
#[derive(Debug)]
pub struct TpPlusPlusSockets {
    table: SocketTable<Seat, Listener>,
    by_label: BTreeMap<ConnectionLabel, u32>,
    /// Connections not yet reported to the application, oldest first.
    unproven: VecDeque<u32>,
    secret: [u8; 16],
    refused: u64,
}

impl TpPlusPlusSockets {
    fn new(secret: [u8; 16]) -> TpPlusPlusSockets {
        TpPlusPlusSockets {
            table: SocketTable::default(),
            by_label: BTreeMap::new(),
            unproven: VecDeque::new(),
            secret,
            refused: 0,
        }
    }

    fn add(&mut self, label: ConnectionLabel, connection: Connection, flow: Option<FlowId>) -> u32 {
        let number = self.table.add(Some(Held {
            flow,
            label,
            connection: Box::new(connection),
        }));
        self.by_label.insert(label, number);
        number
    }

    fn open(&self) -> impl Iterator<Item = &Connection> {
        let held = self.table.iter().flatten();
        held.map(|held| &*held.connection)
            .filter(|connection| !connection.is_over())
    }

    fn deliver(&mut self, incoming: &Incoming<'_>, packet: TpPlusPlusPacket) -> Delivery {
        let known = self.by_label.get(&packet.label).copied();
        let Some(number) = known.or_else(|| self.begin(incoming, &packet)) else {
            return Delivery::Nobody(None);
        };
        let port = packet.label.destination_port;
        let Some(held) = self.table.get_mut(number).and_then(Option::as_mut) else {
            return Delivery::Nobody(None);
        };
        let ends = (incoming.ip.source, incoming.ip.destination);
        held.connection.handle_packet(incoming.now, ends, packet);
        let is_proven = held.connection.is_proven();
        self.table.touch(number);
        let place = self.unproven.iter().position(|&other| other == number);
        match place.filter(|_| is_proven) {
            Some(place) => {
                self.unproven.remove(place);
                Delivery::Accepted { number, port }
            }
            None => Delivery::Taken,
        }
    }

    /// Begins a connection with a packet of data, if a listener has its port.
    fn begin(&mut self, incoming: &Incoming<'_>, packet: &TpPlusPlusPacket) -> Option<u32> {
        let label = packet.label;
        let listener = self.table.listener(label.destination_port)?;
        if !matches!(packet.content, Content::Data(_) | Content::Repair(_)) {
            return None;
        }
        let (configuration, flow) = (listener.configuration.clone(), listener.flow);
        if self.open().count() >= MOST_OPEN {
            self.refused += 1;
            return None;
        }
        if self.unproven.len() >= MOST_UNPROVEN
            && let Some(oldest) = self.unproven.pop_front()
            && let Some(forgotten) = self.table.get_mut(oldest).and_then(Option::take)
        {
            self.by_label.remove(&forgotten.label);
        }
        let addresses = (incoming.ip.destination, incoming.ip.source);
        let own = label.reversed();
        let connection = Connection::accept(configuration, own, addresses, incoming.mtu);
        let number = self.add(label, connection, flow);
        self.unproven.push_back(number);
        Some(number)
    }
}

impl Transport for TpPlusPlusSockets {
    fn handle_packet(&mut self, incoming: &Incoming<'_>, body: Body) -> Delivery {
        match body {
            Body::TpPlusPlus(packet) => self.deliver(incoming, *packet),
            body => Delivery::Other(body),
        }
    }

    fn handle_icmp(&mut self, _: Instant, error: IcmpError, quoted: &QuotedPacket) -> bool {
        if quoted.protocol != protocol::TP_PLUS_PLUS {
            return false;
        }
        if let IcmpError::PacketTooBig { mtu } = error {
            let mtu = mtu.saturating_sub(quoted.extension_length());
            let ends = quoted.transport_addresses();
            self.table.touch_if(|seat| {
                if let Some(held) = seat {
                    held.connection.set_mtu(ends, mtu);
                }
                seat.is_some()
            });
        }
        true
    }

    fn peers(&self) -> Vec<IpAddr> {
        let peers = self
            .open()
            .filter_map(|connection| connection.paths().next());
        peers.map(|(_, peer)| peer).collect()
    }

    fn socket(&self, number: u32) -> Option<&dyn Socket> {
        Some(&*self.table.get(number)?.as_ref()?.connection)
    }

    fn socket_mut(&mut self, number: u32) -> Option<&mut dyn Socket> {
        self.table.touch(number);
        Some(&mut *self.table.get_mut(number)?.as_mut()?.connection)
    }

    fn poll_timeout(&mut self) -> Option<Instant> {
        self.table.poll_timeout()
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.table.handle_timeout(now, |seat| {
            if let Some(held) = seat {
                held.connection.handle_timeout(now);
            }
        });
    }

    fn poll_event(&mut self) -> Option<(u32, SocketEvent)> {
        let poll = |seat: &mut Seat| seat.as_mut()?.connection.poll_event();
        let (number, event) = self.table.poll_event(poll)?;
        let event = match event {
            Event::Connected => SocketEvent::Connected,
            Event::Readable => SocketEvent::Readable,
            Event::Writable => SocketEvent::Writable,
            Event::Skipped => SocketEvent::Skipped,
            Event::Finished => SocketEvent::PeerClosed,
            Event::Closed => SocketEvent::Closed,
            Event::TimedOut => SocketEvent::TimedOut,
        };
        Some((number, event))
    }

    fn may_transmit(&self) -> bool {
        self.table.may_transmit()
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Outgoing> {
        while let Some((number, seat)) = self.table.ready() {
            if let Some(held) = seat
                && let Some(sent) = held.connection.poll_transmit(now)
            {
                return Some(Outgoing {
                    addresses: sent.addresses,
                    body: Body::TpPlusPlus(Box::new(sent.packet)),
                    flow: held.flow,
                    retransmission: sent.retransmission,
                });
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
        self.refused
    }
}

impl Socket for Connection {
    /// Writes a record as an external PDU of its own.
    fn write(&mut self, pattern: Pattern) -> u64 {
        Connection::write(self, &pattern.payload(), pattern.is_record)
    }

    fn keeps_records(&self) -> bool {
        true
    }

    fn read(&mut self, _: Instant) -> u64 {
        let chunks = core::iter::from_fn(|| Connection::read(self));
        chunks.map(|chunk| u64::from(chunk.payload.length())).sum()
    }

    fn close(&mut self) {
        Connection::close(self);
    }

    fn skipped(&self) -> Option<u64> {
        let skips = self.configuration().mode == Mode::QuasiReliable;
        skips.then(|| self.statistics().skipped)
    }

    fn state(&self) -> SocketState {
        SocketState {
            bytes_in_flight: Some(self.in_flight()),
            retransmission_timeout: Some(self.retransmission_timeout()),
            sending_rate: Some(self.rate()),
            smoothed_rtt: self.smoothed_rtt(),
            ..SocketState::default()
        }
    }

    fn counters(&self) -> SocketCounters {
        let counted = self.statistics();
        SocketCounters {
            packets_sent: counted.packets,
            retransmitted: counted.retransmitted,
            timeouts: Some(counted.timeouts),
            fast_retransmits: Some(0),
            duplicates_received: counted.duplicates,
            ..SocketCounters::default()
        }
    }
}
