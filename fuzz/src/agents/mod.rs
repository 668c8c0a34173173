//! Agents of mobility protocols between forged, damaged and repeated packets, and links that come and go at any time.

mod ipv4;
mod ipv6;
mod network;

use ipv4::MobileIpv4;
use ipv6::MobileIpv6;
use network::check;

/// Tests Mobile IPv4's mobile node.
pub fn check_ipv4_mobile(data: &[u8]) {
    check::<MobileIpv4>(data, 0);
}

/// Tests Mobile IPv4's home agent.
pub fn check_ipv4_home(data: &[u8]) {
    check::<MobileIpv4>(data, 1);
}

/// Tests a foreign agent below a gateway.
pub fn check_ipv4_foreign(data: &[u8]) {
    check::<MobileIpv4>(data, 2);
}

/// Tests a gateway foreign agent.
pub fn check_ipv4_gateway(data: &[u8]) {
    check::<MobileIpv4>(data, 3);
}

/// Tests a server of care-of addresses.
pub fn check_address_server(data: &[u8]) {
    check::<MobileIpv4>(data, 4);
}

/// Tests Mobile IPv6's mobile node.
pub fn check_ipv6_mobile(data: &[u8]) {
    check::<MobileIpv6>(data, 0);
}

/// Tests Mobile IPv6's home agent.
pub fn check_ipv6_home(data: &[u8]) {
    check::<MobileIpv6>(data, 1);
}

/// Tests an access router.
pub fn check_ipv6_router(data: &[u8]) {
    check::<MobileIpv6>(data, 2);
}

/// Tests a correspondent.
pub fn check_ipv6_correspondent(data: &[u8]) {
    check::<MobileIpv6>(data, 3);
}
