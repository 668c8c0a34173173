//! Network address translation by a router between the hosts behind one of its interfaces (inside) and the network (outside).
//!
//! Packets of an inside host leave with an outside address and port of the translator, and packets to that port are translated
//! back. It covers TCP, UDP and ICMP echo, for IPv4 and IPv6 alike:
//! - one mapping for each address, port and protocol inside, whatever the destination ("endpoint-independent
//!   mapping", RFC 4787 REQ-1, RFC 5382 REQ-1), and no outside port for two of them (RFC 4787 REQ-3);
//! - a mapped port can be reached from any address ("endpoint-independent filtering", RFC 4787 REQ-8);
//! - a mapping lives for a time after the last packet from inside (RFC 4787 REQ-6): UDP for five minutes (REQ-5's
//!   recommendation), TCP for two hours and four minutes (RFC 5382 REQ-5; the ends of connections are not
//!   tracked), echoes for one minute (RFC 5508 REQ-2);
//! - packets quoted in ICMP errors are translated with them (RFC 5508 REQ-4 and REQ-5).
//!
//! Not supported: hairpinning (RFC 4787 REQ-9), fragments (REQ-14) and all other protocols. Such packets are refused,
//! as are packets to a port without a mapping. Translation costs no hop.

mod layer;
mod rewrite;

pub use layer::Translator;

use crate::packet::Packet;
use crate::time::{Duration, Instant};
use crate::wire::protocol;
use core::net::IpAddr;
use rewrite::{endpoint, locate, rewrite};
use std::collections::BTreeMap;

/// First outside port to assign: lower ones are for well-known services.
const FIRST_PORT: u16 = 1024;

/// A translator.
#[derive(Debug)]
pub struct Nat {
    /// Its IPv4 and IPv6 addresses in the network.
    outside: [IpAddr; 2],
    by_inside: BTreeMap<Endpoint, u16>,
    by_outside: BTreeMap<(Family, u16), Mapping>,
    next_port: u16,
    refused: Refused,
}

/// Refused packets, by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Refused {
    /// From outside, to an address or port without a mapping.
    pub unmapped: u64,
    /// From inside to the translator's own address.
    pub hairpin: u64,
    /// Fragments and protocols that are not translated.
    pub unsupported: u64,
    /// From inside, while all outside ports are in use.
    pub out_of_ports: u64,
}

impl Refused {
    /// Adds the counts of another translator.
    pub fn add(&mut self, other: Refused) {
        self.unmapped += other.unmapped;
        self.hairpin += other.hairpin;
        self.unsupported += other.unsupported;
        self.out_of_ports += other.out_of_ports;
    }

    /// Returns the total.
    pub fn total(&self) -> u64 {
        self.unmapped + self.hairpin + self.unsupported + self.out_of_ports
    }
}

/// A port space: protocol (ICMP's for echoes of both versions) and IP version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Family {
    protocol: u8,
    v6: bool,
}

impl Family {
    fn lifetime(self) -> Duration {
        Duration::from_secs(match self.protocol {
            protocol::TCP => 2 * 3600 + 4 * 60,
            protocol::UDP => 5 * 60,
            _ => 60,
        })
    }
}

/// Address and port, or identifier, of an inside host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Endpoint {
    protocol: u8,
    address: IpAddr,
    port: u16,
}

/// The inside end behind an outside port.
#[derive(Clone, Copy, Debug)]
struct Mapping {
    inside: Endpoint,
    expires: Instant,
}

/// A packet's direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Out,
    In,
}

impl Nat {
    /// Creates a translator with these IPv4 and IPv6 addresses in the network, which assigns ports from `first_port` on
    /// and continues at 1024 after the last one.
    pub fn new(outside: [IpAddr; 2], first_port: u16) -> Nat {
        Nat {
            outside,
            by_inside: BTreeMap::new(),
            by_outside: BTreeMap::new(),
            next_port: first_port.max(FIRST_PORT),
            refused: Refused::default(),
        }
    }

    /// Returns the counts of refused packets.
    pub fn refused(&self) -> Refused {
        self.refused
    }

    /// Translates a packet from inside; its headers become bytes. Returns false if the packet is refused.
    pub fn translate_out(&mut self, now: Instant, packet: &mut Packet) -> bool {
        if self.outside.contains(&packet.ip.destination) {
            self.refused.hairpin += 1;
            return false;
        }
        let Some((place, quoted)) = locate(packet, Way::Out) else {
            self.refused.unsupported += 1;
            return false;
        };
        let inside = endpoint(packet, &place);
        let port = match self.known(now, inside) {
            // An error from an inside host is about a packet that came through a mapping.
            None if quoted => {
                self.refused.unsupported += 1;
                return false;
            }
            None => match self.free_port(now, place.family) {
                Some(port) => port,
                None => {
                    self.refused.out_of_ports += 1;
                    return false;
                }
            },
            Some(port) => port,
        };
        if !quoted {
            let expires = now + place.family.lifetime();
            let mapping = Mapping { inside, expires };
            self.by_outside.insert((place.family, port), mapping);
            self.by_inside.insert(inside, port);
        }
        let outside = self.outside[usize::from(place.family.v6)];
        rewrite(packet, Way::Out, &place, (outside, port));
        true
    }

    /// Translates a packet from outside; its headers become bytes. Returns false if the packet is refused.
    pub fn translate_in(&mut self, now: Instant, packet: &mut Packet) -> bool {
        let Some((place, _)) = locate(packet, Way::In) else {
            self.refused.unsupported += 1;
            return false;
        };
        let to = endpoint(packet, &place);
        let is_outside = self.outside.contains(&to.address);
        let mapping = self.by_outside.get(&(place.family, to.port));
        match mapping.filter(|mapping| is_outside && mapping.expires > now) {
            Some(&Mapping { inside, .. }) => {
                rewrite(packet, Way::In, &place, (inside.address, inside.port));
                true
            }
            None => {
                self.refused.unmapped += 1;
                false
            }
        }
    }

    /// Returns the outside port of a live mapping.
    fn known(&self, now: Instant, inside: Endpoint) -> Option<u16> {
        let port = *self.by_inside.get(&inside)?;
        let family = family(inside);
        let mapping = self.by_outside.get(&(family, port))?;
        (mapping.inside == inside && mapping.expires > now).then_some(port)
    }

    /// Returns the next outside port without a live mapping.
    fn free_port(&mut self, now: Instant, family: Family) -> Option<u16> {
        for _ in FIRST_PORT..=u16::MAX {
            let port = self.next_port;
            self.next_port = port.checked_add(1).unwrap_or(FIRST_PORT);
            match self.by_outside.get(&(family, port)) {
                Some(mapping) if mapping.expires > now => {}
                Some(&Mapping { inside, .. }) => {
                    if self.by_inside.get(&inside) == Some(&port) {
                        self.by_inside.remove(&inside);
                    }
                    return Some(port);
                }
                None => return Some(port),
            }
        }
        None
    }
}

fn family(inside: Endpoint) -> Family {
    Family {
        protocol: inside.protocol,
        v6: inside.address.is_ipv6(),
    }
}

#[cfg(test)]
mod tests;
