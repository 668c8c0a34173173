//! The micro-mobility domains of a mobile.

use crate::interface::InterfaceId;
use crate::mobility::micro_mobility::{Client, ClientEvent};
use crate::packet::Packet;
use crate::time::Instant;
use core::net::{IpAddr, Ipv4Addr};

/// The mobile's part in each domain.
#[derive(Debug, Default)]
pub(super) struct Domains {
    clients: Vec<Client>,
    /// True if the foreseen handover leads to no domain, and so needs no preparation.
    prepared: bool,
}

/// Event of a mobile in a domain.
#[derive(Clone, Copy, Debug)]
pub(super) enum DomainEvent {
    /// The path to the care-of address leads to this interface.
    Ready(InterfaceId, Ipv4Addr),
    /// The foreseen handover is prepared.
    Prepared,
}

impl Domains {
    pub fn add(&mut self, client: Client) {
        self.clients.push(client);
    }

    /// Begins the path set-up over a link of a domain; returns the care-of address there.
    pub fn attach(&mut self, now: Instant, interface: InterfaceId) -> Option<Ipv4Addr> {
        let mut clients = self.clients.iter_mut();
        let client = clients.find(|client| client.has(interface))?;
        client.attach(now, interface);
        Some(client.address())
    }

    pub fn detach(&mut self, interface: InterfaceId) {
        for client in &mut self.clients {
            client.detach(interface);
        }
    }

    pub fn prepare(&mut self, now: Instant, interface: InterfaceId) {
        let mut clients = self.clients.iter_mut();
        match clients.find(|client| client.has(interface)) {
            Some(client) => client.prepare(now, interface),
            None => self.prepared = true,
        }
    }

    pub fn stay(&mut self) {
        self.clients.iter_mut().for_each(Client::stay);
    }

    /// Takes in a packet of the mobile's own: it is active in the domain where it is.
    pub fn be_active(&mut self, now: Instant) {
        for client in &mut self.clients {
            client.be_active(now);
        }
    }

    /// Returns true for a care-of address in a domain.
    pub fn have(&self, address: IpAddr) -> bool {
        let mut clients = self.clients.iter();
        clients.any(|client| IpAddr::V4(client.address()) == address)
    }

    /// Takes in a message for the mobile; returns any other packet.
    pub fn handle_packet(&mut self, now: Instant, packet: Packet) -> Option<Packet> {
        let to = packet.ip.destination;
        let mut clients = self.clients.iter_mut();
        match clients.find(|client| IpAddr::V4(client.address()) == to) {
            Some(client) => client.handle_packet(now, packet),
            None => Some(packet),
        }
    }

    pub fn poll_timeout(&self) -> Option<Instant> {
        let clients = self.clients.iter();
        clients.filter_map(Client::poll_timeout).min()
    }

    pub fn handle_timeout(&mut self, now: Instant) {
        for client in &mut self.clients {
            client.handle_timeout(now);
        }
    }

    pub fn poll_transmit(&mut self) -> Option<(InterfaceId, Packet)> {
        self.clients.iter_mut().find_map(Client::poll_transmit)
    }

    pub fn poll_event(&mut self) -> Option<DomainEvent> {
        if core::mem::take(&mut self.prepared) {
            return Some(DomainEvent::Prepared);
        }
        self.clients.iter_mut().find_map(|client| {
            Some(match client.poll_event()? {
                ClientEvent::Ready(interface) => DomainEvent::Ready(interface, client.address()),
                ClientEvent::Prepared => DomainEvent::Prepared,
            })
        })
    }

    /// Returns the number of messages refused.
    pub fn refused(&self) -> u64 {
        self.clients.iter().map(Client::refused).sum()
    }
}
