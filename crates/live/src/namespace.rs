//! Real hosts: network namespaces without a name, so that each disappears with the last process that holds it, however
//! that process ends.

use crate::plan::Sysctl;
use crate::waiting::in_namespace;
use baton_linux::netlink::{InterfaceCounters, InterfaceIndex, RouteSocket};
use baton_linux::offload::OffloadTun;
use netlink_packet_route::route::RouteMetric;
use nix::errno::Errno;
use nix::net::if_::if_nametoindex;
use nix::sched::{CloneFlags, unshare};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::thread;

/// Maximum number of packets that wait for the forwarding thread: more than the thread, which is never the bottleneck,
/// leaves unread in a tenth of a second.
const QUEUE_LENGTH: u32 = 20_000;
/// The loopback interface's number in every namespace.
const LOOPBACK: InterfaceIndex = 1;

/// Settings of every real host. No host announces routers, detects duplicates or makes up addresses; ports below 1024
/// and pings need no privilege, since programs run as the invoking user.
const SYSCTLS: [(&str, &str); 10] = [
    ("net/ipv4/ip_unprivileged_port_start", "0"),
    ("net/ipv4/conf/all/rp_filter", "0"),
    ("net/ipv4/conf/default/rp_filter", "0"),
    ("net/ipv4/tcp_no_metrics_save", "1"),
    ("net/ipv6/conf/default/accept_ra", "0"),
    ("net/ipv6/conf/default/accept_dad", "0"),
    ("net/ipv6/conf/default/dad_transmits", "0"),
    ("net/ipv6/conf/default/router_solicitations", "0"),
    ("net/ipv6/conf/default/addr_gen_mode", "1"),
    ("net/ipv6/conf/all/accept_ra", "0"),
];

/// Settings that describe the behaviour of a kernel's TCP.
const TOLD: [&str; 25] = [
    "tcp_adv_win_scale",
    "tcp_comp_sack_delay_ns",
    "tcp_comp_sack_nr",
    "tcp_congestion_control",
    "tcp_dsack",
    "tcp_early_retrans",
    "tcp_ecn",
    "tcp_frto",
    "tcp_min_rtt_wlen",
    "tcp_moderate_rcvbuf",
    "tcp_notsent_lowat",
    "tcp_recovery",
    "tcp_reordering",
    "tcp_retries2",
    "tcp_rmem",
    "tcp_rto_max_ms",
    "tcp_rto_min_us",
    "tcp_sack",
    "tcp_slow_start_after_idle",
    "tcp_syn_linear_timeouts",
    "tcp_syn_retries",
    "tcp_synack_retries",
    "tcp_timestamps",
    "tcp_window_scaling",
    "tcp_wmem",
];

/// Description of a real host.
pub struct HostSpec {
    /// Name of its node.
    pub name: String,
    /// Interfaces.
    pub interfaces: Vec<InterfaceSpec>,
    /// Settings of its kernel's TCP.
    pub sysctls: Vec<Sysctl>,
    /// Metrics of its default route.
    pub metrics: Vec<RouteMetric>,
    /// Group of the invoking user, which may ping, as numbered in this process.
    pub group: u32,
}

/// Description of an interface.
pub struct InterfaceSpec {
    /// Name.
    pub name: String,
    /// MTU in bytes.
    pub mtu: u32,
    /// Addresses.
    pub addresses: Vec<IpAddr>,
}

/// A real host.
pub struct RealHost {
    /// Network namespace, to enter or to pass on.
    pub namespace: OwnedFd,
    /// Interfaces, as in the specification.
    pub interfaces: Vec<Interface>,
    routes: RouteSocket,
    metrics: Vec<RouteMetric>,
}

/// An interface of a real host.
pub struct Interface {
    /// TUN device for its packets.
    pub tun: OffloadTun,
    index: InterfaceIndex,
    addresses: Vec<IpAddr>,
}

/// A real host that could not be made.
#[derive(Debug, thiserror::Error)]
#[error("host {host}: {what}: {source}{advice}")]
pub struct NamespaceError {
    host: String,
    what: String,
    source: io::Error,
    advice: &'static str,
}

impl RealHost {
    /// Makes a host. Its interfaces are down, and have no addresses.
    ///
    /// # Errors
    /// The failed operation, with the kernel's error.
    pub fn build(spec: HostSpec) -> Result<RealHost, NamespaceError> {
        let host = spec.name.clone();
        // Namespaces belong to threads: a separate thread leaves the process's own namespace unchanged.
        thread::spawn(move || build_here(spec))
            .join()
            .unwrap_or_else(|_| Err(failed("its thread", io::ErrorKind::Other.into())))
            .map_err(|error| NamespaceError { host, ..error })
    }

    /// Returns the settings that describe the behaviour of its TCP, read back from its kernel, by name.
    pub fn tcp_settings(&self) -> BTreeMap<String, String> {
        let read = || {
            let setting = |name: &&str| {
                let text = fs::read_to_string(format!("/proc/sys/net/ipv4/{name}")).ok()?;
                Some(((*name).to_owned(), text.trim().to_owned()))
            };
            Ok(TOLD.iter().filter_map(setting).collect())
        };
        in_namespace(self.namespace.as_fd(), read).unwrap_or_default()
    }

    /// Switches an interface on and adds its addresses.
    ///
    /// # Errors
    /// Errors of the kernel.
    pub fn raise(&mut self, interface: usize) -> io::Result<()> {
        let Interface {
            index, addresses, ..
        } = &self.interfaces[interface];
        self.routes.set_up(*index, true)?;
        for &address in addresses {
            self.routes.add_address(*index, address)?;
        }
        Ok(())
    }

    /// Removes an interface's addresses and switches it off.
    ///
    /// # Errors
    /// Errors of the kernel.
    pub fn lower(&mut self, interface: usize) -> io::Result<()> {
        let Interface {
            index, addresses, ..
        } = &self.interfaces[interface];
        for &address in addresses {
            self.routes.delete_address(*index, address)?;
        }
        self.routes.set_up(*index, false)
    }

    /// Routes all packets to an interface.
    ///
    /// # Errors
    /// Errors of the kernel.
    pub fn set_default_route(&mut self, interface: usize) -> io::Result<()> {
        let Interface {
            index, addresses, ..
        } = &self.interfaces[interface];
        for &source in addresses {
            self.routes
                .set_default_route(*index, source, &self.metrics)?;
        }
        Ok(())
    }

    /// Sets an interface's MTU, in bytes.
    ///
    /// # Errors
    /// Errors of the kernel.
    pub fn set_mtu(&mut self, interface: usize, mtu: u32) -> io::Result<()> {
        let index = self.interfaces[interface].index;
        self.routes.set_mtu(index, mtu)
    }

    /// Returns the sums of the counters of all its interfaces.
    ///
    /// # Errors
    /// Errors of the kernel.
    pub fn counters(&mut self) -> io::Result<InterfaceCounters> {
        let mut sum = InterfaceCounters::default();
        for interface in &self.interfaces {
            let one = self.routes.counters(interface.index)?;
            sum.dropped_incoming += one.dropped_incoming;
            sum.dropped_outgoing += one.dropped_outgoing;
        }
        Ok(sum)
    }
}

fn build_here(spec: HostSpec) -> Result<RealHost, NamespaceError> {
    unshare(CloneFlags::CLONE_NEWNET)
        .map_err(|error| failed("cannot make a network namespace", error.into()))?;
    let namespace = File::open("/proc/thread-self/ns/net")
        .map_err(|error| failed("/proc/thread-self/ns/net", error))?;
    for (path, value) in SYSCTLS {
        set_sysctl(path, value, true)?;
    }
    let group = spec.group;
    set_sysctl(
        "net/ipv4/ping_group_range",
        &format!("{group} {group}"),
        true,
    )?;
    for Sysctl { path, value } in &spec.sysctls {
        set_sysctl(path, value, false)?;
    }
    let mut routes =
        RouteSocket::open().map_err(|error| failed("no route netlink socket", error))?;
    routes
        .set_up(LOOPBACK, true)
        .map_err(|error| failed("interface lo", error))?;
    let mut interfaces = Vec::with_capacity(spec.interfaces.len());
    for interface in spec.interfaces {
        interfaces.push(make_interface(&mut routes, interface)?);
    }
    Ok(RealHost {
        namespace: namespace.into(),
        interfaces,
        routes,
        metrics: spec.metrics,
    })
}

fn make_interface(
    routes: &mut RouteSocket,
    spec: InterfaceSpec,
) -> Result<Interface, NamespaceError> {
    let failed = |error| failed(&format!("interface {}", spec.name), error);
    let tun = OffloadTun::create(&spec.name).map_err(tun_failed)?;
    let index = if_nametoindex(spec.name.as_str()).map_err(|error| failed(error.into()))?;
    routes
        .set_queue_length(index, QUEUE_LENGTH)
        .and_then(|()| routes.set_mtu(index, spec.mtu))
        .map_err(failed)?;
    Ok(Interface {
        tun,
        index,
        addresses: spec.addresses,
    })
}

/// Sets a kernel setting of the calling thread's namespace; an `optional` one may be missing in this kernel.
fn set_sysctl(path: &str, value: &str, optional: bool) -> Result<(), NamespaceError> {
    let file = format!("/proc/sys/{path}");
    match fs::write(&file, value) {
        Err(error) if optional && error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(NamespaceError {
            advice: if error.kind() == io::ErrorKind::PermissionDenied
                || error.raw_os_error() == Some(Errno::EROFS as i32)
            {
                "; /proc/sys must be writable: in a container, start it with --privileged or \
                 --security-opt=systempaths=unconfined"
            } else {
                ""
            },
            ..failed(&file, error)
        }),
        Ok(()) => Ok(()),
    }
}

fn tun_failed(error: io::Error) -> NamespaceError {
    let advice = match error.kind() {
        io::ErrorKind::NotFound => {
            "; there is no TUN driver: load it with `sudo modprobe tun`; in a container, start it with \
             --device=/dev/net/tun"
        }
        io::ErrorKind::PermissionDenied => {
            "; the device must be open to all: `sudo chmod 666 /dev/net/tun`; in a container, start it with \
             --device=/dev/net/tun --cap-add=NET_ADMIN"
        }
        _ => "",
    };
    NamespaceError {
        advice,
        ..failed("/dev/net/tun", error)
    }
}

fn failed(what: &str, source: io::Error) -> NamespaceError {
    NamespaceError {
        host: String::new(),
        what: what.to_owned(),
        source,
        advice: "",
    }
}
