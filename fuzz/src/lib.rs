//! Invariants that must hold for any input. Each target is one function that takes bytes and panics when an invariant
//! is violated; the tests call it on a stored corpus and on mutations of that, `make fuzz` with a coverage-guided
//! search.
#![forbid(unsafe_code)]

mod aerotp;
mod agents;
mod bytes;
mod checksums;
mod daemon;
mod dtn;
mod fec;
mod forecast;
mod headers;
mod journal;
mod messages;
mod nat;
mod packet;
mod path;
mod point_of_service;
mod routing;
mod scenario;
mod split_context;
mod tcp;
mod tp_plus_plus;
mod traces;
mod tracks;

/// A target: its name, also that of its corpus, and its function.
pub type Target = (&'static str, fn(&[u8]));

/// Every target.
pub const TARGETS: [Target; 47] = [
    ("scenario", scenario::check),
    ("trace-csv", traces::check_csv),
    ("trace-mahimahi", traces::check_mahimahi),
    ("trace-leoreplayer", traces::check_leoreplayer),
    ("tracks", tracks::check),
    ("header-ip", headers::check_ip),
    ("header-udp", headers::check_udp),
    ("header-tcp", headers::check_tcp),
    ("header-icmp", headers::check_icmp),
    ("header-mobility", headers::check_mobility),
    ("header-extension", headers::check_extension),
    ("packet", packet::check),
    ("nat", nat::check),
    ("path", path::check),
    ("daemon", daemon::check_pair),
    ("daemon-config", daemon::check_config),
    ("daemon-command", daemon::check_command),
    ("daemon-netlink", daemon::check_netlink),
    ("daemon-frame", daemon::check_frame),
    ("forecast-coverage", forecast::check_coverage),
    ("forecast-gpsd", forecast::check_gpsd),
    ("fec", fec::check),
    ("aerotp", aerotp::check),
    ("aerotp-gateway", aerotp::gateway::check),
    ("aerotp-journal", journal::check),
    ("tcp-hostile", tcp::hostile::check),
    ("tcp-pair", tcp::pair::check),
    ("header-registration", messages::check_registration),
    ("header-dhcp", messages::check_dhcp),
    ("header-mih", messages::check_mih),
    ("header-association", messages::check_association),
    ("header-route-update", messages::check_route_update),
    ("header-ikev2", messages::check_ikev2),
    ("routing", routing::check),
    ("point-of-service", point_of_service::check),
    ("split-context", split_context::check),
    ("dtn", dtn::check),
    ("tp-plus-plus", tp_plus_plus::check),
    ("agent-ipv4-mobile", agents::check_ipv4_mobile),
    ("agent-ipv4-home", agents::check_ipv4_home),
    ("agent-ipv4-foreign", agents::check_ipv4_foreign),
    ("agent-ipv4-gateway", agents::check_ipv4_gateway),
    ("agent-address-server", agents::check_address_server),
    ("agent-ipv6-mobile", agents::check_ipv6_mobile),
    ("agent-ipv6-home", agents::check_ipv6_home),
    ("agent-ipv6-router", agents::check_ipv6_router),
    ("agent-ipv6-correspondent", agents::check_ipv6_correspondent),
];

/// Tries one input on the target called `name`.
///
/// # Panics
/// Panics if an invariant does not hold; the message names it. It also panics if there is no such target.
pub fn run(name: &str, data: &[u8]) {
    let target = TARGETS.iter().find(|(known, _)| *known == name);
    let (_, check) = target.unwrap_or_else(|| panic!("no target is called {name:?}"));
    check(data);
}
