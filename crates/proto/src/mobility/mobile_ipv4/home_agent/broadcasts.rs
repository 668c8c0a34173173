//! Broadcasts of the home network, for mobiles that ask for them (RFC 5944 section 4.3).

use super::{HomeAgent, Tunnel};
use crate::packet::Packet;
use crate::time::Instant;
use crate::wire::encapsulation::Encapsulation;
use core::net::{IpAddr, Ipv4Addr};

impl HomeAgent {
    /// Tunnels a packet of a home link to the mobiles that have asked for broadcasts, if it is a limited broadcast: of
    /// the categories of section 4.3 the only one here. A mobile without a co-located care-of address gets it in a
    /// second tunnel, to its home address, by which the foreign agent knows the mobile.
    pub(super) fn forward_broadcast(&mut self, now: Instant, packet: &Packet) {
        if packet.ip.destination != IpAddr::V4(Ipv4Addr::BROADCAST) {
            return;
        }
        for (&home_address, mobile) in &self.mobiles {
            for binding in mobile.current(now).filter(|binding| binding.broadcasts) {
                let tunnel = Tunnel {
                    interface: None,
                    entry: self.config.address,
                    exit: binding.care_of_address,
                    encapsulation: match (binding.is_colocated, binding.encapsulation) {
                        // The packet's hop limit, often one, would be the tunnel's.
                        (true, Encapsulation::Minimal) => Encapsulation::IpInIp,
                        (_, encapsulation) => encapsulation,
                    },
                    // The mobile is to receive it as on the home link.
                    forwarded: false,
                };
                let to_mobile = Tunnel {
                    exit: home_address,
                    encapsulation: Encapsulation::IpInIp,
                    ..tunnel
                };
                let copy = match binding.is_colocated {
                    true => Ok(packet.clone()),
                    false => self.outbox.enter(now, to_mobile, packet.clone()),
                };
                // There is no error about a broadcast (RFC 1122 section 3.2.2).
                match copy.and_then(|copy| self.outbox.enter(now, tunnel, copy)) {
                    Ok(packet) => self.outbox.push(None, packet),
                    Err(refusal) => self.dropped.refuse(&refusal),
                }
            }
        }
    }
}
