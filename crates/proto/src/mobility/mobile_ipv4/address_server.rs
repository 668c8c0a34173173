//! The DHCP server for care-of addresses (RFC 2131 section 4.3).

use super::acquisition::{message_to, send};
use super::{InterfaceId, Outbox, Transmit};
use crate::packet::Packet;
use crate::time::{Duration, Instant};
use crate::wire::dhcp::{CLIENT_PORT, Dhcp, DhcpKind, SERVER_PORT};
use core::net::Ipv4Addr;
use std::collections::BTreeMap;

/// A server that leases addresses of one network to any client on its links.
#[derive(Debug)]
pub struct AddressServer {
    address: Ipv4Addr,
    prefix_length: u8,
    lease: Duration,
    /// First and last address to lease.
    range: [u32; 2],
    /// Client and end of each lease; without a client, the address was declined and is not leased until then.
    leases: BTreeMap<u32, (Option<[u8; 6]>, Instant)>,
    outbox: Outbox,
}

impl AddressServer {
    /// Creates a server at `address` that leases `first` to `last`, each for `lease` (whole seconds).
    pub fn new(
        address: Ipv4Addr,
        prefix_length: u8,
        [first, last]: [Ipv4Addr; 2],
        lease: Duration,
    ) -> AddressServer {
        AddressServer {
            address,
            prefix_length,
            lease,
            range: [first.to_bits(), last.to_bits()],
            leases: BTreeMap::new(),
            outbox: Outbox::default(),
        }
    }

    /// Takes in a packet for this host or for all on a link. Returns it if it is not for the server.
    pub fn handle_packet(
        &mut self,
        now: Instant,
        interface: InterfaceId,
        packet: Packet,
    ) -> Option<Packet> {
        let Some(message) = message_to(SERVER_PORT, &packet) else {
            return Some(packet);
        };
        let is_for_us =
            |server: Option<Ipv4Addr>| server.is_none_or(|server| server == self.address);
        match message.kind {
            DhcpKind::Discover => {
                if let Some(address) = self.find(now, message.client) {
                    // Chosen: an offer is reserved for a minute, longer than a client retries.
                    let held = now + Duration::from_secs(60);
                    self.leases.insert(address, (Some(message.client), held));
                    self.answer(interface, &message, DhcpKind::Offer, address);
                }
            }
            DhcpKind::Request if is_for_us(message.server) => {
                let address = message.requested.map_or(0, Ipv4Addr::to_bits);
                let [first, last] = self.range;
                let is_free = (first..=last).contains(&address)
                    && self.leases.get(&address).is_none_or(|&(client, until)| {
                        client == Some(message.client) || until <= now
                    });
                let kind = match is_free {
                    true => DhcpKind::Acknowledge,
                    false => DhcpKind::Refuse,
                };
                if is_free {
                    let until = now + self.lease;
                    self.leases.insert(address, (Some(message.client), until));
                }
                self.answer(interface, &message, kind, address);
            }
            DhcpKind::Decline if is_for_us(message.server) => {
                if let Some(address) = message.requested
                    && let Some(lease) = self.leases.get_mut(&address.to_bits())
                    && lease.0 == Some(message.client)
                {
                    *lease = (None, now + self.lease);
                }
            }
            _ => {}
        }
        None
    }

    /// Returns the address that the client has or had, otherwise the first free one.
    fn find(&self, now: Instant, client: [u8; 6]) -> Option<u32> {
        let mut known = self.leases.iter();
        let before = known.find(|(_, (owner, _))| *owner == Some(client));
        let [first, last] = self.range;
        let is_free = |address: &u32| {
            let lease = self.leases.get(address);
            lease.is_none_or(|&(_, until)| until <= now)
        };
        let before = before.map(|(&address, _)| address);
        before.or_else(|| (first..=last).find(is_free))
    }

    fn answer(&mut self, interface: InterfaceId, asked: &Dhcp, kind: DhcpKind, address: u32) {
        let given = kind != DhcpKind::Refuse;
        let seconds = self.lease.as_nanos() / 1_000_000_000;
        let message = Dhcp {
            kind,
            address: match given {
                true => Ipv4Addr::from_bits(address),
                false => Ipv4Addr::UNSPECIFIED,
            },
            requested: None,
            server: Some(self.address),
            lease: given.then_some(u32::try_from(seconds).unwrap_or(u32::MAX)),
            prefix_length: given.then_some(self.prefix_length),
            ..*asked
        };
        let ends = [self.address, Ipv4Addr::BROADCAST];
        let ports = [SERVER_PORT, CLIENT_PORT];
        send(interface, ends, ports, &message, &mut self.outbox);
    }

    /// Returns the next packet to send.
    pub fn poll_transmit(&mut self) -> Option<Transmit> {
        self.outbox.pop()
    }
}
