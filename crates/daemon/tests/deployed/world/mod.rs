//! A router with two uplinks, its home agent, a host behind the one and a correspondent behind the other, each in a network
//! namespace, with the real daemons:
//!
//! ```text
//! host ── router ──wlan0──[delay, cut, translator]──┐
//!               └──wwan0──[delay, cut, translator]──┴── home agent ── correspondent
//! ```
//! All devices are TUN devices, and one thread ([`air`]) is what is between them.

pub mod air;
pub mod daemons;
pub mod datagram;
mod plain;
pub mod stream;

#[path = "../../../../linux/tests/namespace/mod.rs"]
mod namespace;

use air::{Air, Devices, Uplink};
use baton_linux::addresses::{AddressChange, AddressMonitor, InterfaceAddress};
use baton_linux::netlink::{MAIN_TABLE, Prefix, Route, RouteSocket, Way};
use baton_linux::tun::Tun;
use daemons::{Daemon, Folder, Surroundings, make_key};
pub use namespace::Namespace;
use namespace::raise;
use std::net::{IpAddr, SocketAddr};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};
use stream::{Record, Stream};

/// The router's uplinks, the better one first, and the one of another machine.
pub const WLAN: usize = 0;
pub const WWAN: usize = 1;
pub const ANOTHER: usize = 2;
const DEVICES: [&str; 3] = ["wlan0", "wwan0", "wlan0"];
/// The times of a datagram over the uplinks in one direction.
pub const DELAYS: [Duration; 3] = [
    Duration::from_millis(10),
    Duration::from_millis(25),
    Duration::from_millis(5),
];
/// The addresses at the uplinks.
pub const UPLINKS: [[&str; 2]; 3] = [
    ["192.0.2.2", "2001:db8:a::2"],
    ["203.0.113.2", "2001:db8:b::2"],
    ["192.0.2.3", "2001:db8:a::3"],
];
/// The addresses and ports that the translators give them.
const OUTSIDE: [&str; 3] = ["192.0.2.1:40001", "203.0.113.1:40002", "192.0.2.1:40003"];
pub const HOME_AGENT: [&str; 2] = ["198.51.100.1", "2001:db8:5::1"];
pub const HOST: [&str; 2] = ["10.7.0.2", "2001:db8:7::2"];
pub const CORRESPONDENT: [&str; 2] = ["10.9.0.2", "2001:db8:200::2"];
const NETWORKS: [(&str, u8); 2] = [("10.7.0.0", 24), ("2001:db8:7::", 64)];
const BEYOND: [(&str, u8); 2] = [("10.9.0.0", 24), ("2001:db8:200::", 64)];

/// The places of IPv4 and IPv6 in the pairs of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    V4,
    V6,
}

static ALONE: Mutex<()> = Mutex::new(());

/// All of it. The daemons are not yet started.
pub struct World {
    /// The only world at a time: two would make each other late.
    _alone: MutexGuard<'static, ()>,
    pub air: Air,
    pub home: Namespace,
    pub router: Namespace,
    pub host: Namespace,
    pub correspondent: Namespace,
    /// Another machine with a copy of the router's files.
    pub another: Namespace,
    home_agent_config: PathBuf,
    router_config: PathBuf,
    /// The files of the daemons.
    pub folder: Folder,
}

impl World {
    /// Makes namespaces, devices and files. Over IPv4 there are translators on the way.
    pub fn new(over: Version) -> World {
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let [home, router, host, correspondent, another] = [(); 5].map(|()| Namespace::new());
        let at = [&router, &router, &another];
        let home_agent = home.run(|| device("eth0", &HOME_AGENT, None));
        let outer = [WLAN, WWAN, ANOTHER]
            .map(|place| at[place].run(|| device(DEVICES[place], &UPLINKS[place], None)));
        let behind = router.run(|| device("lan0", &["10.7.0.1", "2001:db8:7::1"], Some(&NETWORKS)));
        let beyond = home.run(|| device("lan0", &["10.9.0.1", "2001:db8:200::1"], Some(&BEYOND)));
        let of_host = host.run(|| device("eth0", &HOST, None));
        let of_correspondent = correspondent.run(|| device("eth0", &CORRESPONDENT, None));
        for (namespace, name) in [(&host, "eth0"), (&correspondent, "eth0"), (&home, "eth0")] {
            namespace.run(|| lead_everything(name, 1));
        }
        for place in [WLAN, WWAN, ANOTHER] {
            at[place].run(|| lead_everything(DEVICES[place], 10 + place as u32));
        }
        for namespace in [&home, &router, &another] {
            namespace.run(forward);
        }
        let devices = Devices {
            uplinks: outer.into(),
            home_agent,
            cables: vec![[behind, of_host], [beyond, of_correspondent]],
        };
        let uplinks = [WLAN, WWAN, ANOTHER].map(|place| Uplink {
            delay: DELAYS[place],
            outside: (over == Version::V4).then(|| OUTSIDE[place].parse().unwrap()),
            ..Uplink::default()
        });
        let folder = Folder::new();
        let (home_agent_config, router_config) = write_files(&folder, over);
        World {
            _alone: alone,
            air: Air::new(devices, uplinks.into()),
            home,
            router,
            host,
            correspondent,
            another,
            home_agent_config,
            router_config,
            folder,
        }
    }

    /// Adds keys and tables to a daemon's file, before it is started.
    pub fn configure(&self, role: &str, (keys, tables): (&str, &str)) {
        let file = match role {
            "home-agent" => &self.home_agent_config,
            _ => &self.router_config,
        };
        let before = std::fs::read_to_string(file).unwrap();
        std::fs::write(file, format!("{keys}\n{before}{tables}")).unwrap();
    }

    /// Tells the router, before it is started, of times from now on in which an uplink carries nothing, a second ahead of each.
    pub fn foretell(&self, uplink: usize, away: &[Range<Duration>]) {
        let now = SystemTime::UNIX_EPOCH.elapsed().unwrap();
        let moment = |after: Duration| {
            let at = jiff::Timestamp::from_nanosecond((now + after).as_nanos() as i128);
            at.unwrap()
        };
        let absence = |away: &Range<Duration>| {
            let (uplink, from, until) = (DEVICES[uplink], moment(away.start), moment(away.end));
            format!("{{ uplink = \"{uplink}\", from = \"{from}\", until = \"{until}\" }}")
        };
        let timetable: Vec<String> = away.iter().map(absence).collect();
        let timetable = timetable.join(", ");
        let tables = format!("[forecast]\nannounce = \"1 s\"\ntimetable = [{timetable}]\n");
        self.configure("mobile-router", ("", &tables));
    }

    /// Starts the home agent.
    pub fn start_home_agent(&self) -> Daemon {
        let mut daemon = self.start_home_agent_in(&Surroundings::default());
        daemon.until("running");
        daemon
    }

    /// Starts the home agent in other surroundings, where it perhaps says nothing.
    pub fn start_home_agent_in(&self, surroundings: &Surroundings) -> Daemon {
        let role = ("home-agent", &*self.home_agent_config);
        Daemon::start(&self.home, role, surroundings)
    }

    /// Starts the router on its machine in other surroundings, where it perhaps says nothing.
    pub fn start_router_in(&self, surroundings: &Surroundings) -> Daemon {
        let role = ("mobile-router", &*self.router_config);
        Daemon::start(&self.router, role, surroundings)
    }

    /// Writes a file that goes with the world.
    pub fn file(&self, name: &str, text: &str) -> PathBuf {
        let file = self.folder.0.join(name);
        std::fs::write(&file, text).unwrap();
        file
    }

    /// Starts the router, on its machine or on another one.
    pub fn start_router(&self, machine: &Namespace) -> Daemon {
        let role = ("mobile-router", &*self.router_config);
        let mut daemon = Daemon::start(machine, role, &Surroundings::default());
        daemon.until("running");
        daemon
    }

    /// Starts both, and waits until the router is bound by its better uplink, and the other one can be used.
    pub fn start(&self) -> (Daemon, Daemon) {
        let home_agent = self.start_home_agent();
        let mut router = self.start_router(&self.router);
        until_bound(&mut router, WLAN);
        while !router.said().contains("wwan0 is up") {
            std::thread::sleep(Duration::from_millis(2));
        }
        (home_agent, router)
    }

    /// Begins a stream to the host, and one from it.
    pub fn streams(&self, version: Version) -> [Stream; 2] {
        let address = |pair: [&str; 2]| -> IpAddr { pair[version as usize].parse().unwrap() };
        let host = (&self.host, address(HOST));
        let correspondent = (&self.correspondent, address(CORRESPONDENT));
        [
            Stream::begin(correspondent, host),
            Stream::begin(host, correspondent),
        ]
    }

    /// Returns how late this machine was, at most: the senders of streams, and the thread that carries packets.
    pub fn lateness(&self, records: &[Record], when: &Range<Instant>) -> Duration {
        let senders = records.iter().map(|record| record.lateness(when.clone()));
        let air = self.air.lateness(when.start);
        senders.chain([air]).max().unwrap_or_default()
    }

    /// Gives an uplink another address.
    pub fn renumber(&self, uplink: usize, old: &str, new: &str) {
        self.add_address(uplink, new);
        self.remove_address(uplink, old);
    }

    /// Gives an uplink an address, and waits until the kernel tells of it, which it does of one of IPv6 later.
    pub fn add_address(&self, uplink: usize, address: &str) {
        self.router.run(|| {
            let mut kernel = RouteSocket::open().unwrap();
            let interface = kernel.link(DEVICES[uplink]).unwrap().index;
            let address: IpAddr = address.parse().unwrap();
            let mut monitor = AddressMonitor::open().unwrap();
            kernel.add_address(interface, address).unwrap();
            let added = AddressChange::Is(InterfaceAddress { interface, address });
            while monitor.poll().unwrap() != Some(added) {
                std::thread::sleep(Duration::from_millis(1));
            }
            lead_everything(DEVICES[uplink], 10 + uplink as u32);
        });
    }

    /// Takes an address from an uplink.
    pub fn remove_address(&self, uplink: usize, address: &str) {
        self.router.run(|| {
            let mut kernel = RouteSocket::open().unwrap();
            let index = kernel.link(DEVICES[uplink]).unwrap().index;
            let address = address.parse().unwrap();
            kernel.delete_address(index, address).unwrap();
            lead_everything(DEVICES[uplink], 10 + uplink as u32);
        });
    }

    /// Removes an uplink's device.
    pub fn unplug(&self, uplink: usize) {
        let nothing = self.router.run(|| Tun::create("nothing").unwrap());
        self.air.replace(uplink, nothing);
    }

    /// Makes an uplink's device anew.
    pub fn plug_in(&self, uplink: usize) {
        let name = DEVICES[uplink];
        let made = self.router.run(|| device(name, &UPLINKS[uplink], None));
        self.air.replace(uplink, made);
        self.router
            .run(|| lead_everything(name, 10 + uplink as u32));
    }

    /// Switches an uplink's device off.
    pub fn switch_off(&self, uplink: usize) {
        self.router.run(|| {
            let mut kernel = RouteSocket::open().unwrap();
            let index = kernel.link(DEVICES[uplink]).unwrap().index;
            kernel.set_up(index, false).unwrap();
        });
    }

    /// Switches an uplink's device on, with these addresses.
    pub fn switch_on(&self, uplink: usize, addresses: &[&str]) {
        self.router.run(|| {
            raise(
                &mut RouteSocket::open().unwrap(),
                DEVICES[uplink],
                addresses,
            );
            lead_everything(DEVICES[uplink], 10 + uplink as u32);
        });
    }
}

/// The router's care-of addresses at the uplinks.
pub const CARE_OF: [&str; 2] = ["fd62:6174:6f6e::7", "fd62:6174:6f6e:1::7"];

/// Waits until the home agent has acknowledged the router's binding at an uplink.
pub fn until_bound(router: &mut Daemon, uplink: usize) {
    router.until(&format!(
        "Registered, care-of address {}\n",
        CARE_OF[uplink]
    ));
}

/// Makes a device in this namespace, with addresses and routes.
fn device(name: &str, addresses: &[&str], networks: Option<&[(&str, u8)]>) -> Tun {
    let mut kernel = RouteSocket::open().unwrap();
    raise(&mut kernel, "lo", &[]);
    let tun = Tun::create(name).unwrap();
    let interface = raise(&mut kernel, name, addresses);
    for (address, length) in networks.into_iter().flatten() {
        let destination = Prefix::of(address.parse().unwrap(), *length).unwrap();
        kernel.set_route(&route(destination, interface, 1)).unwrap();
    }
    tun
}

/// Sets the default routes by a device.
fn lead_everything(name: &str, metric: u32) {
    let mut kernel = RouteSocket::open().unwrap();
    let interface = kernel.link(name).unwrap().index;
    for all in [Prefix::ALL_IPV4, Prefix::ALL_IPV6] {
        kernel.set_route(&route(all, interface, metric)).unwrap();
    }
}

/// Returns a route by a device.
pub fn route(destination: Prefix, interface: u32, metric: u32) -> Route<'static> {
    Route {
        destination,
        table: MAIN_TABLE,
        metric,
        way: Way::Device {
            interface,
            source: None,
            metrics: &[],
        },
    }
}

/// Lets this namespace forward packets, and the daemon make a device that has IPv6.
fn forward() {
    for (key, value) in [
        ("ipv4/ip_forward", "1"),
        ("ipv6/conf/all/forwarding", "1"),
        ("ipv6/conf/default/disable_ipv6", "0"),
    ] {
        std::fs::write(format!("/proc/sys/net/{key}"), value).unwrap();
    }
}

/// Writes both daemons' keys and configurations.
fn write_files(folder: &Folder, over: Version) -> (PathBuf, PathBuf) {
    let [home_agent, router] = ["home-agent", "router"].map(|name| folder.0.join(name));
    let keys = [&home_agent, &router].map(|file| make_key(&file.with_extension("key")));
    let endpoint = SocketAddr::new(HOME_AGENT[over as usize].parse().unwrap(), 4191);
    let networks = r#"["10.7.0.0/24", "2001:db8:7::/64"]"#;
    let texts = [
        format!(
            "private_key = \"{}.key\"\naddress = \"2001:db8:100::1\"\nhome_prefix = \"2001:db8:100::/64\"
[[routers]]\npublic_key = \"{}\"\nhome_address = \"2001:db8:100::7\"\nnetworks = {networks}\n",
            home_agent.display(), keys[1]
        ),
        format!(
            "private_key = \"{}.key\"\nhome_address = \"2001:db8:100::7\"\nhome_prefix = \"2001:db8:100::/64\"
networks = {networks}\nuplinks = {{ prefer = [\"wlan0\", \"wwan0\"], hold_time = \"2 s\" }}
[home_agent]\naddress = \"2001:db8:100::1\"\nendpoint = \"{endpoint}\"\npublic_key = \"{}\"\n",
            router.display(), keys[0]
        ),
    ];
    let files = [home_agent, router].map(|name| name.with_extension("toml"));
    for (file, text) in files.iter().zip(texts) {
        std::fs::write(file, text).unwrap();
    }
    files.into()
}
