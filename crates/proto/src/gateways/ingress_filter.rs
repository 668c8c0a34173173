//! Ingress filter of a router (RFC 2827), by strict reverse path forwarding (RFC 3704 section 2.2).

use crate::host::layer::{Counters, Layer, Rank};
use crate::host::{Discarded, RouteTable};
use crate::interface::InterfaceId;
use crate::packet::Packet;
use std::collections::BTreeSet;

/// Filter at interfaces of a router: the router does not forward a packet that arrives there if its route to the
/// packet's source leaves by another interface. Packets for the router and its agents pass.
#[derive(Debug, Default)]
pub struct IngressFilter {
    interfaces: BTreeSet<InterfaceId>,
    dropped: u64,
}

impl IngressFilter {
    /// Filters the packets from an interface too.
    pub fn add(&mut self, interface: InterfaceId) {
        self.interfaces.insert(interface);
    }
}

impl Layer for IngressFilter {
    fn rank(&self) -> Rank {
        Rank::IngressFilter
    }

    fn inspects(&self) -> bool {
        true
    }

    fn admit(&mut self, interface: InterfaceId, routes: &RouteTable, packet: &Packet) -> bool {
        let belongs = !self.interfaces.contains(&interface)
            || routes.lookup(packet.ip.source) == Some(interface);
        self.dropped += u64::from(!belongs);
        belongs
    }

    fn counters(&self) -> Counters {
        Counters {
            discarded: Discarded {
                ingress_filter: self.dropped,
                ..Discarded::default()
            },
            ..Counters::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::{Host, Verdict};
    use crate::packet::{BitErrors, Body, Identity, IpHeader};
    use crate::time::Instant;
    use crate::wire::encapsulation::Encapsulation;
    use core::net::IpAddr;

    /// The example of RFC 2827 section 3: the customer's network.
    const CUSTOMER: InterfaceId = InterfaceId(0);
    const INTERNET: InterfaceId = InterfaceId(1);

    fn ip(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    /// A router at 204.69.207.1 that filters what comes from 204.69.207.0/24.
    fn router() -> Host {
        let mut router = Host::new(ip("204.69.207.1"), [0; 16]);
        router.add_interface(1500);
        router.add_interface(1500);
        let ends = [ip("204.69.207.0"), ip("204.69.207.255")];
        router.routes_mut().set_network(ends, CUSTOMER);
        router.routes_mut().set_default(Some(INTERNET));
        let mut filter = IngressFilter::default();
        filter.add(CUSTOMER);
        router.add_layer(filter);
        router
    }

    fn packet(source: &str, destination: &str) -> Packet {
        let body = Body::Opaque {
            protocol: 253,
            fragment: 0,
            bytes: [0; 8].into(),
        };
        Packet {
            ip: IpHeader {
                source: ip(source),
                destination: ip(destination),
                hop_limit: 64,
                traffic_class: 0,
                identification: 0,
                dont_fragment: true,
            },
            flow: None,
            retransmission: false,
            bit_errors: BitErrors::NONE,
            identity: Identity::NONE,
            body,
        }
    }

    fn verdict(router: &mut Host, from: InterfaceId, packet: &Packet) -> Verdict {
        let length = packet.wire_length();
        router.route(Instant::ZERO, from, &mut packet.clone(), length)
    }

    /// RFC 3024 section 1: the filter is the reason for reverse tunnels, whose source belongs to the visited network.
    #[test]
    fn a_reverse_tunnel_passes_in_any_encapsulation() {
        let mut router = router();
        for encapsulation in [
            Encapsulation::IpInIp,
            Encapsulation::Minimal,
            Encapsulation::Generic,
        ] {
            let from_home = packet("192.0.2.10", "100.64.0.1");
            let mut tunnel = packet("204.69.207.9", "192.0.2.1");
            tunnel.body = Body::encapsulate(from_home, encapsulation);
            let found = verdict(&mut router, CUSTOMER, &tunnel);
            assert_eq!(found, Verdict::Forward(INTERNET), "{encapsulation:?}");
        }
        assert_eq!(router.discarded().ingress_filter, 0);
    }

    #[test]
    fn a_packet_passes_if_its_source_belongs_behind_the_interface() {
        let mut router = router();
        for (from, source, destination, expected) in [
            (
                CUSTOMER,
                "204.69.207.9",
                "100.64.0.1",
                Verdict::Forward(INTERNET),
            ),
            (CUSTOMER, "192.0.2.10", "100.64.0.1", Verdict::Discard),
            (CUSTOMER, "192.0.2.10", "204.69.207.1", Verdict::Local),
            // The other interface is not filtered.
            (
                INTERNET,
                "192.0.2.10",
                "204.69.207.9",
                Verdict::Forward(CUSTOMER),
            ),
            (
                INTERNET,
                "204.69.207.8",
                "204.69.207.9",
                Verdict::Forward(CUSTOMER),
            ),
        ] {
            let packet = packet(source, destination);
            let found = verdict(&mut router, from, &packet);
            assert_eq!(found, expected, "{source} to {destination}");
        }
        assert_eq!(router.discarded().ingress_filter, 1);
        assert_eq!(router.discarded().no_route, 0);
        // RFC 2827 section 3: dropped in silence.
        assert!(router.poll_transmit(Instant::ZERO).is_none());
    }
}
