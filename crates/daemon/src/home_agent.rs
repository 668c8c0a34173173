//! A home agent: a node of Mobile IPv6 and NEMO that mobile routers reach over paths.

use crate::config::{
    Address, Config, Configuration, HomeAgentConfig, Ipv6Network, Lifetime, Network,
    SOCKET_ADDRESS, SubscriberConfig, Time, check_home_address,
};
use crate::device::Device;
use crate::keys::{self, Public};
use crate::medium::Medium;
use crate::mobile_router::{TunnelDevice, unix_nanoseconds};
use crate::node::{Node, Plan};
use crate::port::Port;
use crate::protection::{Protection, Unencrypted};
use crate::routing::Routing;
use crate::tunnel::addresses::CareOfPrefix;
use crate::tunnel::datagrams::Sockets;
use crate::tunnel::paths::Paths;
use crate::tunnel::plain::routers::PlainRouters;
use crate::tunnel::{self, REGISTRATION, registration_key};
use baton_linux::netlink::RouteSocket;
use baton_path::{Listener, ListenerConfig, PresharedKey};
use baton_proto::time::Instant;
use baton_proto::wire::prefix::Prefix;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::BTreeSet;
use std::path::PathBuf;

/// The node's interface to all paths.
const PATHS: &str = "paths";
/// The MTU of the home agent's own link to the Internet, in bytes: that of Ethernet.
const UPLINK_MTU: u16 = 1500;

/// A home agent.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HomeAgentRole {
    /// The path of the socket for commands.
    pub control: Option<PathBuf>,
    /// The address of metrics over HTTP.
    #[schemars(regex(pattern = SOCKET_ADDRESS))]
    pub metrics: Option<SocketAddr>,
    /// The file with its private key.
    pub private_key: PathBuf,
    /// The addresses and ports at which routers reach it, at most one of each IP version.
    #[serde(default = "everywhere")]
    #[schemars(inner(regex(pattern = SOCKET_ADDRESS)))]
    pub listen: Vec<SocketAddr>,
    /// Its address inside the tunnel.
    pub address: Address,
    /// The prefix of home addresses.
    pub home_prefix: Ipv6Network,
    /// The TUN device for the kernel's packets to routers.
    #[serde(default)]
    pub device: TunnelDevice,
    /// The longest lifetime that it grants to a binding.
    #[serde(default)]
    pub longest_lifetime: Lifetime,
    /// The time of bicasting after a move: for a router that requests it, packets also go by the old path.
    pub bicast: Option<Time>,
    /// The routers that may register.
    #[schemars(with = "Vec<RouterTable>")]
    pub routers: Vec<RouterConfig>,
}

/// A mobile router that may register.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "RouterTable")]
pub struct RouterConfig {
    /// The protection of its traffic with the home agent.
    pub protection: Protection,
    /// Its home address.
    pub home_address: Address,
    /// The networks behind it.
    pub networks: Vec<Network>,
}

/// A router as the file has it.
#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "Router")]
#[serde(deny_unknown_fields)]
struct RouterTable {
    /// Its public key.
    public_key: Option<Public>,
    /// The file with a preshared secret, beside their keys.
    preshared_key: Option<PathBuf>,
    /// A shared key instead of encryption: everybody on the path can read, change and redirect the traffic.
    unencrypted: Option<Unencrypted>,
    /// Its home address.
    home_address: Address,
    /// The networks behind it.
    #[serde(default)]
    networks: Vec<Network>,
}

impl TryFrom<RouterTable> for RouterConfig {
    type Error = String;

    fn try_from(table: RouterTable) -> Result<RouterConfig, String> {
        Ok(RouterConfig {
            protection: Protection::of(table.public_key, table.preshared_key, table.unencrypted)?,
            home_address: table.home_address,
            networks: table.networks,
        })
    }
}

/// Returns the port of UDP encapsulation (RFC 5555 section 9) at all addresses.
fn everywhere() -> Vec<SocketAddr> {
    let any: [SocketAddr; 2] = [([0; 4], 4191).into(), ([0u16; 8], 4191).into()];
    any.to_vec()
}

impl Configuration for HomeAgentRole {
    fn check(&self) -> Result<(), String> {
        let v4 = self
            .listen
            .iter()
            .filter(|address| address.is_ipv4())
            .count();
        let v6 = self.listen.len() - v4;
        if v4 > 1 || v6 > 1 || self.listen.is_empty() {
            return Err("listen: expected an IPv4 address with a port, an IPv6 address with a port, or one of each".to_owned());
        }
        let (mut keys, mut identifiers) = (BTreeSet::new(), BTreeSet::new());
        for (place, router) in self.routers.iter().enumerate() {
            let key = format!("routers[{place}]");
            check_home_address(&key, router.home_address, self.home_prefix)?;
            if let Protection::Encrypted { public_key, .. } = &router.protection
                && !keys.insert(public_key)
            {
                return Err(format!(
                    "{key}.public_key: another router has the same one; expected another"
                ));
            }
            if !identifiers.insert(router.identifier()) {
                let address = router.home_address.0;
                return Err(format!(
                    "{key}.home_address: {address} has the same last 64 bits as another router's; expected others"
                ));
            }
        }
        Ok(())
    }
}

impl RouterConfig {
    /// Returns the interface identifier of the router's addresses.
    fn identifier(&self) -> u64 {
        self.home_address.0.to_bits() as u64
    }

    /// Reads the preshared key.
    ///
    /// # Errors
    /// The file, and its mistake.
    pub fn preshared(&self) -> Result<PresharedKey, String> {
        match &self.protection {
            Protection::Encrypted {
                preshared_key: Some(file),
                ..
            } => keys::read_preshared(file),
            _ => Ok(PresharedKey::default()),
        }
    }
}

impl HomeAgentRole {
    /// Opens the home agent's ports: all paths, and the device to the kernel.
    ///
    /// # Errors
    /// The operation that failed, and advice.
    pub fn open(&self, kernel: &mut RouteSocket) -> Result<Plan, String> {
        let listener = ListenerConfig {
            local: keys::read_private(&self.private_key)?,
            uplink_mtu: UPLINK_MTU,
            finds_rate: false,
            seed: keys::random().map_err(|error| format!("{}: {error}", keys::RANDOM))?,
        };
        let listener = Listener::new(Instant::ZERO, listener);
        let mut sockets = Sockets::default();
        let opened = sockets.open(&self.listen, None);
        opened.map_err(|error| format!("listen: {error}"))?;
        let care_of = CareOfPrefix::default();
        let ends = (self.address.0, care_of);
        let plain = PlainRouters::new(ends, UPLINK_MTU.into(), unix_nanoseconds());
        let mut paths = Paths::new((listener, plain), ends, sockets);
        paths.set_routers(&self.routers)?;
        let longest = tunnel::longest_packet(UPLINK_MTU.into(), true);
        let ports = vec![
            Port::new(PATHS, longest, Box::new(paths)),
            Device::open_tunnel(&self.device.0, longest, kernel)?,
        ];
        Ok(Plan {
            ports,
            node: Node::Mobility(Box::new(self.node(self.mobiles()?, care_of))),
            routing: Routing {
                device: self.device.0.clone(),
                to: self.prefixes(),
                from: Vec::new(),
                own: None,
            },
        })
    }

    /// Returns the prefixes of all addresses of routers and their networks.
    pub fn prefixes(&self) -> Vec<Prefix> {
        let networks = self.routers.iter().flat_map(|router| &router.networks);
        let networks = networks.map(|network| network.0);
        networks.chain([self.home_prefix.0.into()]).collect()
    }

    /// Returns the routers as mobiles of the node.
    ///
    /// # Errors
    /// The file of the private key, and its mistake.
    pub fn mobiles(&self) -> Result<Vec<SubscriberConfig>, String> {
        let private = keys::read_private(&self.private_key)?;
        let mobile = |router: &RouterConfig| {
            let (security_parameter_index, key) = match &router.protection {
                Protection::Encrypted { public_key, .. } => {
                    (REGISTRATION, registration_key(&private, &public_key.0))
                }
                Protection::Unencrypted(plain) => (plain.security_parameter_index, plain.key),
            };
            SubscriberConfig {
                home_address: router.home_address,
                security_parameter_index,
                key,
                networks: router.networks.clone(),
            }
        };
        Ok(self.routers.iter().map(mobile).collect())
    }

    /// Returns the configuration of the node.
    fn node(&self, mobiles: Vec<SubscriberConfig>, care_of: CareOfPrefix) -> Config {
        let agent = HomeAgentConfig {
            address: self.address,
            home_prefix: self.home_prefix,
            longest_lifetime: self.longest_lifetime,
            bicast: self.bicast,
            proven_care_of: Some(care_of.prefix()),
            mobiles,
        };
        let to_paths = (Network(care_of.prefix().into()), PATHS.to_owned());
        let everything = [
            IpAddr::V4(Ipv4Addr::UNSPECIFIED),
            IpAddr::V6(Ipv6Addr::UNSPECIFIED),
        ];
        let everything = everything.into_iter().filter_map(|any| Prefix::new(any, 0));
        let to_kernel = everything.map(|all| (Network(all), self.device.0.clone()));
        Config {
            home_agent: Some(agent),
            routes: to_kernel.chain([to_paths]).collect(),
            ..Config::default()
        }
    }
}
