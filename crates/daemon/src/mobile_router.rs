//! A mobile router: a node of Mobile IPv6 and NEMO whose access links are paths over this machine's uplinks.

use crate::config::{
    Address, Config, Configuration, FailbackConfig, Ipv6Network, Lifetime, MobileNodeConfig,
    Network, Registration, SOCKET_ADDRESS, Secret, SecurityParameterIndex, check_home_address,
    is_device_name,
};
use crate::device::Device;
use crate::forecast::{Forecast, ForecastConfig};
use crate::keys::{self, Public};
use crate::node::{Node, Plan, shared_key};
use crate::port::Port;
use crate::protection::{Protection, Unencrypted};
use crate::routing::Routing;
use crate::tunnel::addresses::{CareOfPrefix, NETWORKS};
use crate::tunnel::held::Stranded;
use crate::tunnel::plain::uplink::PlainUplink;
use crate::tunnel::uplink::{Ends, Uplink};
use crate::tunnel::{self, REGISTRATION, plain, registration_key};
use baton_linux::netlink::RouteSocket;
use baton_path::{Initiator, InitiatorConfig, PresharedKey, PrivateKey, PublicKey};
use baton_proto::mobility::dual_stack::MobileEndSettings;
use baton_proto::time::Instant;
use core::net::SocketAddr;
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// A mobile router.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MobileRouterConfig {
    /// The path of the socket for commands.
    pub control: Option<PathBuf>,
    /// The address of metrics over HTTP.
    #[schemars(regex(pattern = SOCKET_ADDRESS))]
    pub metrics: Option<SocketAddr>,
    /// The file with its private key; none without encryption.
    pub private_key: Option<PathBuf>,
    /// Its home address.
    pub home_address: Address,
    /// The prefix of home addresses.
    pub home_prefix: Ipv6Network,
    /// The networks behind it.
    #[serde(default)]
    pub networks: Vec<Network>,
    /// The mode in which these networks are registered with the home agent.
    #[serde(default)]
    pub registration: Registration,
    /// True to request bicasting at each move: for a while the home agent also sends by the old path.
    #[serde(default)]
    pub bicast: bool,
    /// The TUN device for the kernel's packets from these networks.
    #[serde(default)]
    pub device: TunnelDevice,
    /// The lifetime requested for its bindings.
    #[serde(default)]
    pub lifetime: Lifetime,
    /// Its home agent.
    #[schemars(with = "HomeAgentTable")]
    pub home_agent: HomeAgentOf,
    /// Its uplinks, and its choice among them.
    pub uplinks: FailbackConfig,
    /// The times and places at which it leaves an uplink before that goes down.
    pub forecast: Option<ForecastConfig>,
}

/// The home agent of a router.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "HomeAgentTable")]
pub struct HomeAgentOf {
    /// Its address inside the tunnel.
    pub address: Address,
    /// Its address and port on the Internet.
    pub endpoint: SocketAddr,
    /// The protection of the traffic with it.
    pub protection: Protection,
}

/// A router's home agent as the file has it.
#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "HomeAgent")]
#[serde(deny_unknown_fields)]
struct HomeAgentTable {
    /// Its address inside the tunnel.
    address: Address,
    /// Its address and port on the Internet.
    #[schemars(regex(pattern = SOCKET_ADDRESS))]
    endpoint: SocketAddr,
    /// Its public key.
    public_key: Option<Public>,
    /// The file with a preshared secret, beside their keys.
    preshared_key: Option<PathBuf>,
    /// A shared key instead of encryption: everybody on the path can read, change and redirect the traffic.
    unencrypted: Option<Unencrypted>,
}

impl TryFrom<HomeAgentTable> for HomeAgentOf {
    type Error = String;

    fn try_from(table: HomeAgentTable) -> Result<HomeAgentOf, String> {
        Ok(HomeAgentOf {
            address: table.address,
            endpoint: table.endpoint,
            protection: Protection::of(table.public_key, table.preshared_key, table.unencrypted)?,
        })
    }
}

/// Returns the system's Unix time in nanoseconds.
pub fn unix_nanoseconds() -> u64 {
    let unix = SystemTime::UNIX_EPOCH.elapsed();
    unix.map_or(0, |since| since.as_nanos() as u64)
}

/// The name of the TUN device to the kernel.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(inline, extend("pattern" = r"^[^\s/:%]{1,15}$"))]
pub struct TunnelDevice(pub String);

impl Default for TunnelDevice {
    fn default() -> TunnelDevice {
        TunnelDevice("baton0".to_owned())
    }
}

impl TryFrom<String> for TunnelDevice {
    type Error = String;

    fn try_from(name: String) -> Result<TunnelDevice, String> {
        match is_device_name(&name) {
            true => Ok(TunnelDevice(name)),
            false => Err(format!(
                "\"{name}\" is not the name of a device; expected 1 to 15 bytes, such as \"baton0\""
            )),
        }
    }
}

impl Configuration for MobileRouterConfig {
    fn check(&self) -> Result<(), String> {
        check_home_address("mobile router", self.home_address, self.home_prefix)?;
        let prefer = &self.uplinks.prefer;
        let names: BTreeSet<&String> = prefer.iter().collect();
        if names.is_empty() || names.len() < prefer.len() || names.len() > usize::from(NETWORKS) {
            return Err(format!(
                "uplinks.prefer: expected 1 to {NETWORKS} devices, each once"
            ));
        }
        match prefer
            .iter()
            .find(|name| !is_device_name(name) || **name == self.device.0)
        {
            Some(name) => Err(format!(
                "uplinks.prefer: \"{name}\" cannot be an uplink; expected the name of another device, such as \"wwan0\""
            )),
            None => self.check_protection(),
        }?;
        let forecast = self.forecast.as_ref();
        forecast.map_or(Ok(()), |forecast| {
            forecast.check(prefer)?;
            Forecast::read(forecast, prefer).map(drop)
        })
    }
}

/// Keys of encrypted paths: the router's, its home agent's, and the preshared key.
type Keys = (PrivateKey, PublicKey, PresharedKey);

const WITHOUT_KEY: &str =
    "private_key: missing; expected the file of the router's key, which `batond key FILE` makes";
const OVER_IPV4: &str = "home_agent.endpoint: expected an IPv4 address and port: without encryption there is UDP over IPv4 only (RFC 5555)";

impl MobileRouterConfig {
    fn check_protection(&self) -> Result<(), String> {
        let is_encrypted = matches!(self.home_agent.protection, Protection::Encrypted { .. });
        match (is_encrypted, &self.private_key) {
            (true, None) => Err(WITHOUT_KEY.to_owned()),
            (false, Some(_)) => {
                Err("private_key: the paths are not encrypted; expected none".to_owned())
            }
            (false, None) if !self.home_agent.endpoint.is_ipv4() => Err(OVER_IPV4.to_owned()),
            _ => Ok(()),
        }
    }

    /// Opens the router's ports: its uplinks in the order of preference, and the device to the kernel.
    ///
    /// # Errors
    /// The operation that failed, and advice.
    pub fn open(&self, kernel: &mut RouteSocket) -> Result<Plan, String> {
        let (mut ports, association) = match &self.home_agent.protection {
            Protection::Encrypted {
                public_key,
                preshared_key,
            } => {
                let keys = self.keys(public_key, preshared_key.as_deref())?;
                let secret = registration_key(&keys.0, &keys.1);
                (self.open_paths(kernel, keys)?, (REGISTRATION, secret))
            }
            Protection::Unencrypted(plain) => {
                let association = (plain.security_parameter_index, plain.key);
                (self.open_plain(kernel, association)?, association)
            }
        };
        let longest = ports.iter().map(|port| port.mtu).max().unwrap_or(1500);
        ports.push(Device::open_tunnel(&self.device.0, longest, kernel)?);
        Ok(Plan {
            ports,
            node: Node::Mobility(Box::new(self.node(association))),
            routing: Routing {
                device: self.device.0.clone(),
                to: Vec::new(),
                from: self.networks.iter().map(|network| network.0).collect(),
                own: Some(self.home_address.0),
            },
        })
    }

    /// Reads the keys of encrypted paths.
    fn keys(&self, public: &Public, preshared: Option<&Path>) -> Result<Keys, String> {
        let own = self.private_key.as_deref().ok_or(WITHOUT_KEY)?;
        let preshared = match preshared {
            Some(file) => keys::read_preshared(file)?,
            None => Default::default(),
        };
        Ok((keys::read_private(own)?, public.0, preshared))
    }

    /// Creates an encrypted path over each uplink.
    fn open_paths(
        &self,
        kernel: &mut RouteSocket,
        (local, home_agent, preshared): Keys,
    ) -> Result<Vec<Port>, String> {
        let unix_nanoseconds = unix_nanoseconds();
        let ends = Ends {
            interface_identifier: self.home_address.0.to_bits() as u64,
            home_agent: self.home_agent.address.0,
        };
        let (mut ports, stranded) = (Vec::new(), Stranded::default());
        for (number, device) in self.uplinks.prefer.iter().enumerate() {
            let uplink_mtu = kernel.link(device).map_or(1500, |link| link.mtu);
            let config = InitiatorConfig {
                local: local.clone(),
                home_agent,
                preshared: preshared.clone(),
                remote: self.home_agent.endpoint,
                path: number as u8,
                uplink_mtu: u16::try_from(uplink_mtu).unwrap_or(u16::MAX),
                finds_rate: false,
                unix_nanoseconds,
                seed: keys::random().map_err(|error| format!("{}: {error}", keys::RANDOM))?,
            };
            let path = Initiator::new(Instant::ZERO, config);
            let uplink = Uplink::new(
                device,
                (path, number as u8),
                self.home_agent.endpoint,
                (ends, stranded.clone()),
            );
            let mtu = tunnel::longest_packet(uplink_mtu, self.home_agent.endpoint.is_ipv4());
            ports.push(Port::new(device, mtu, Box::new(uplink)));
        }
        Ok(ports)
    }

    /// Creates an unencrypted tunnel over each uplink.
    fn open_plain(
        &self,
        kernel: &mut RouteSocket,
        (index, key): (SecurityParameterIndex, Secret),
    ) -> Result<Vec<Port>, String> {
        let SocketAddr::V4(remote) = self.home_agent.endpoint else {
            return Err(OVER_IPV4.to_owned());
        };
        let identifier = self.home_address.0.to_bits() as u64;
        let port = |(number, device): (usize, &String)| {
            let uplink_mtu = kernel.link(device).map_or(1500, |link| link.mtu);
            let number = number as u8;
            let settings = MobileEndSettings {
                home_address: self.home_address.0,
                home_agent: self.home_agent.address.0,
                care_of: CareOfPrefix::default().care_of(number, identifier)?,
                key: shared_key(index, key),
                unix_nanoseconds: unix_nanoseconds(),
            };
            let uplink = PlainUplink::new(device, number, remote, settings);
            let mtu = plain::longest_packet(uplink_mtu);
            Some(Port::new(device, mtu, Box::new(uplink)))
        };
        // There are no more uplinks than care-of networks.
        Ok(self
            .uplinks
            .prefer
            .iter()
            .enumerate()
            .filter_map(port)
            .collect())
    }

    /// Returns the configuration of the node.
    fn node(&self, (index, key): (SecurityParameterIndex, Secret)) -> Config {
        let mobile = MobileNodeConfig {
            home_address: self.home_address,
            home_prefix: self.home_prefix,
            home_agent: self.home_agent.address,
            failback: self.uplinks.clone(),
            networks: self.networks.clone(),
            registration: self.registration,
            security_parameter_index: index,
            key,
            lifetime: self.lifetime,
            bicast: self.bicast,
            // The home agent assigns each address only once.
            duplicate_address_detection: false,
            is_proven: matches!(self.home_agent.protection, Protection::Encrypted { .. }),
        };
        let to_kernel = self
            .networks
            .iter()
            .map(|network| (*network, self.device.0.clone()));
        Config {
            mobile_node: Some(mobile),
            routes: to_kernel.collect(),
            ..Config::default()
        }
    }
}
