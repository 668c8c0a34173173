//! Kernel routes and rules that direct a router's networks through the tunnel.

use baton_linux::netlink::{InterfaceIndex, MAIN_TABLE, Prefix, Route, RouteSocket, Rule, Way};
use baton_linux::udp::source_towards;
use baton_proto::wire::prefix;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::io;

/// Table of a router's networks, and priority of the rules that select it (chosen: the port of RFC 5555).
const TABLE: u32 = 4191;
const PRIORITY: u32 = 4191;
/// Metric of the route in force while the tunnel's device is down.
const LAST: u32 = u32::MAX;

/// Table for ICMP errors of this machine. There are none without the tunnel, from which the packets come.
const ERRORS_TABLE: u32 = 4192;
/// Rule for ICMP errors of this machine about forwarded IPv4 packets: the kernel looks up their route before they have
/// a source.
const ERRORS: Rule<'static> = Rule {
    priority: PRIORITY,
    from: Prefix::UNSPECIFIED_IPV4,
    incoming: Some("lo"),
    protocol: Some(1),
    table: ERRORS_TABLE,
    suppressed_length: None,
};

/// Desired routes and rules.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Routing {
    /// The tunnel's device.
    pub device: String,
    /// Networks reached by the device only: without the tunnel they are unreachable.
    pub to: Vec<prefix::Prefix>,
    /// Networks whose packets leave by the device only: without the tunnel their destinations are unreachable. Routes
    /// to other networks of this machine take precedence.
    pub from: Vec<prefix::Prefix>,
    /// The router's own address inside the tunnel, which is the device's: the source of the kernel's ICMP errors about
    /// IPv6 packets from the tunnel, which quote these packets. Errors about IPv4 packets are recognized by having no
    /// source yet.
    pub own: Option<Ipv6Addr>,
}

/// Rules and routes in the kernel. They are removed with this value; routes by the device disappear with the device. A
/// killed daemon leaves the rules and the unreachable routes, so that no packet bypasses the tunnel.
pub struct Installed {
    kernel: RouteSocket,
    routing: Routing,
}

impl Routing {
    /// Sets the routes and rules.
    ///
    /// # Errors
    /// The network, and the kernel's message.
    pub fn install(self) -> Result<Installed, String> {
        let mut kernel = RouteSocket::open().map_err(|error| format!("route netlink: {error}"))?;
        for network in self.to.iter().chain(&self.from).chain(&self.of_itself()) {
            let wrong = |error| refused(network, &error);
            let index = kernel.link(&self.device).map_err(wrong)?.index;
            let set = match self.to.contains(network) {
                true => set_to(&mut kernel, network, index),
                false => set_from(&mut kernel, network, index),
            };
            set.map_err(wrong)?;
        }
        if let Some(own) = self.own {
            let wrong = |error| format!("{own} at {}: {error}", self.device);
            let index = kernel.link(&self.device).map_err(wrong)?.index;
            kernel.add_address(index, own.into()).map_err(wrong)?;
            let errors = self.way_of_errors(index);
            kernel.set_route(&errors).map_err(wrong)?;
            kernel.add_rule(&ERRORS).map_err(wrong)?;
        }
        Ok(Installed {
            kernel,
            routing: self,
        })
    }
}

impl Routing {
    /// Returns the route of ICMP errors about IPv4 packets. Their source is the machine's address in a network behind
    /// it, if it has one yet: the home agent accepts no other.
    fn way_of_errors(&self, interface: InterfaceIndex) -> Route<'static> {
        let mut sources = self.from.iter().filter_map(|network| {
            let IpAddr::V4(first) = network.address() else {
                return None;
            };
            let next = Ipv4Addr::from_bits(first.to_bits().wrapping_add(1));
            let source = source_towards((next, 9).into(), None).ok()?;
            network.contains(source).then_some(source)
        });
        Route {
            way: Way::Device {
                interface,
                source: sources.next(),
                metrics: &[],
            },
            ..route(Prefix::ALL_IPV4, ERRORS_TABLE, interface)
        }
    }

    /// Returns the router's own address as a network.
    fn of_itself(&self) -> Vec<prefix::Prefix> {
        let own = self.own.map(|own| prefix::Prefix::single(own.into()));
        own.into_iter().collect()
    }
}

impl Installed {
    /// Replaces the networks reached by the device.
    ///
    /// # Errors
    /// The network, and the kernel's message.
    pub fn lead_to(&mut self, networks: Vec<prefix::Prefix>) -> Result<(), String> {
        let device = self.kernel.link(&self.routing.device);
        let index = device
            .map_err(|error| format!("{}: {error}", self.routing.device))?
            .index;
        for network in &self.routing.to {
            let wrong = |error| refused(network, &error);
            if !networks.contains(network) {
                for route in routes_to(network, index) {
                    self.kernel.delete_route(&route).map_err(wrong)?;
                }
            }
        }
        for network in &networks {
            set_to(&mut self.kernel, network, index).map_err(|error| refused(network, &error))?;
        }
        self.routing.to = networks;
        Ok(())
    }
}

impl Drop for Installed {
    fn drop(&mut self) {
        if self.routing.own.is_some() {
            let _ = self.kernel.delete_rule(&ERRORS);
        }
        for network in self.routing.from.iter().chain(&self.routing.of_itself()) {
            // A missing rule is the desired result.
            for rule in rules(network) {
                let _ = self.kernel.delete_rule(&rule);
            }
            let _ = self.kernel.delete_route(&nowhere(all(network), TABLE));
        }
        for network in &self.routing.to {
            let _ = self.kernel.delete_route(&nowhere(of(network), MAIN_TABLE));
        }
    }
}

/// Directs packets from a network to the tunnel's table, whose routes lead into the tunnel or, without it, nowhere.
fn set_from(
    kernel: &mut RouteSocket,
    network: &prefix::Prefix,
    device: InterfaceIndex,
) -> io::Result<()> {
    kernel.set_route(&nowhere(all(network), TABLE))?;
    kernel.set_route(&route(all(network), TABLE, device))?;
    for rule in rules(network) {
        kernel.add_rule(&rule)?;
    }
    Ok(())
}

/// Directs packets to a network into the tunnel, or makes it unreachable.
fn set_to(
    kernel: &mut RouteSocket,
    network: &prefix::Prefix,
    device: InterfaceIndex,
) -> io::Result<()> {
    routes_to(network, device)
        .iter()
        .try_for_each(|route| kernel.set_route(route))
}

/// Returns the routes to a network: by the tunnel's device, and the one in force without it.
fn routes_to(network: &prefix::Prefix, device: InterfaceIndex) -> [Route<'static>; 2] {
    [
        nowhere(of(network), MAIN_TABLE),
        route(of(network), MAIN_TABLE, device),
    ]
}

/// Returns the rules for packets from a network: the main table first, except for its default route.
fn rules(network: &prefix::Prefix) -> [Rule<'static>; 2] {
    let rule = Rule {
        priority: PRIORITY,
        from: of(network),
        incoming: None,
        protocol: None,
        table: TABLE,
        suppressed_length: None,
    };
    let local = Rule {
        priority: PRIORITY - 1,
        table: MAIN_TABLE,
        suppressed_length: Some(0),
        ..rule
    };
    [local, rule]
}

/// EACCES (asm-generic/errno-base.h). A process without the right to set routes gets EPERM.
const ACCESS_DENIED: i32 = 13;

/// Describes a refused route, with advice: the kernel denies access to a device on which IPv6 is disabled.
fn refused(network: &prefix::Prefix, error: &io::Error) -> String {
    let is_off = error.raw_os_error() == Some(ACCESS_DENIED) && network.address().is_ipv6();
    let advice = match is_off {
        true => {
            "; IPv6 is disabled on this machine, and the tunnel needs it even if the uplinks have only IPv4: enable it \
             with `sysctl -w net.ipv6.conf.all.disable_ipv6=0 net.ipv6.conf.default.disable_ipv6=0`, and permanently in \
             /etc/sysctl.d"
        }
        false => "",
    };
    format!("the route of {network}: {error}{advice}")
}

fn route(destination: Prefix, table: u32, interface: InterfaceIndex) -> Route<'static> {
    Route {
        destination,
        table,
        metric: 1,
        way: Way::Device {
            interface,
            source: None,
            metrics: &[],
        },
    }
}

fn nowhere(destination: Prefix, table: u32) -> Route<'static> {
    Route {
        destination,
        table,
        metric: LAST,
        way: Way::Unreachable,
    }
}

/// Returns all addresses of a network's IP version.
fn all(network: &prefix::Prefix) -> Prefix {
    Prefix::all(network.address())
}

fn of(network: &prefix::Prefix) -> Prefix {
    // Both types accept the same lengths.
    Prefix::of(network.address(), network.length()).unwrap_or(all(network))
}
