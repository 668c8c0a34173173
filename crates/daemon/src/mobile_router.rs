//! A mobile router: a node of Mobile IPv6 and NEMO whose access links are paths over this machine's uplinks.

use crate::config::{
    Address, Config, Configuration, FailbackConfig, Ipv6Network, Lifetime, MobileNodeConfig,
    Network, Registration, SOCKET_ADDRESS, Secret, check_home_address, is_device_name,
};
use crate::device::Device;
use crate::forecast::{Forecast, ForecastConfig};
use crate::keys::{self, Public};
use crate::node::Plan;
use crate::port::Port;
use crate::routing::Routing;
use crate::tunnel::addresses::NETWORKS;
use crate::tunnel::held::Stranded;
use crate::tunnel::uplink::{Ends, Uplink};
use crate::tunnel::{self, REGISTRATION, registration_key};
use baton_linux::netlink::RouteSocket;
use baton_path::{Initiator, InitiatorConfig};
use baton_proto::time::Instant;
use core::net::SocketAddr;
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::BTreeSet;
use std::path::PathBuf;
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
    /// The file with its private key.
    pub private_key: PathBuf,
    /// Its address wherever it is.
    pub home_address: Address,
    /// The prefix of home addresses.
    pub home_prefix: Ipv6Network,
    /// The networks behind it.
    #[serde(default)]
    pub networks: Vec<Network>,
    /// The way in which the home agent learns of these networks.
    #[serde(default)]
    pub registration: Registration,
    /// The device by which the kernel sends what leaves these networks.
    #[serde(default)]
    pub device: TunnelDevice,
    /// The lifetime that it asks for its bindings.
    #[serde(default)]
    pub lifetime: Lifetime,
    /// Its home agent.
    pub home_agent: HomeAgentOf,
    /// Its uplinks, and its choice among them.
    pub uplinks: FailbackConfig,
    /// The times and places at which it leaves an uplink before that goes.
    pub forecast: Option<ForecastConfig>,
}

/// The home agent of a router.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HomeAgentOf {
    /// Its address inside the tunnel.
    pub address: Address,
    /// Its address and port on the Internet.
    #[schemars(regex(pattern = SOCKET_ADDRESS))]
    pub endpoint: SocketAddr,
    /// Its public key.
    pub public_key: Public,
    /// The file with a secret that both have beside their keys.
    pub preshared_key: Option<PathBuf>,
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
                "\"{name}\" is no name of a device; expected 1 to 15 bytes, such as \"baton0\""
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
            None => Ok(()),
        }?;
        let forecast = self.forecast.as_ref();
        forecast.map_or(Ok(()), |forecast| {
            forecast.check(prefer)?;
            Forecast::read(forecast, prefer).map(drop)
        })
    }
}

impl MobileRouterConfig {
    /// Opens the router's ports: its uplinks in the order of preference, and the device to the kernel.
    ///
    /// # Errors
    /// The thing that could not be done, and what helps.
    pub fn open(&self, kernel: &mut RouteSocket) -> Result<Plan, String> {
        let private = keys::read_private(&self.private_key)?;
        let home_agent = self.home_agent.public_key.0;
        let preshared = match &self.home_agent.preshared_key {
            Some(file) => keys::read_preshared(file)?,
            None => Default::default(),
        };
        let unix = SystemTime::UNIX_EPOCH.elapsed();
        let unix_nanoseconds = unix.map_or(0, |since| since.as_nanos() as u64);
        let ends = Ends {
            interface_identifier: self.home_address.0.to_bits() as u64,
            home_agent: self.home_agent.address.0,
        };
        let (mut ports, stranded) = (Vec::new(), Stranded::default());
        for (number, device) in self.uplinks.prefer.iter().enumerate() {
            let uplink_mtu = kernel.link(device).map_or(1500, |link| link.mtu);
            let config = InitiatorConfig {
                local: private.clone(),
                home_agent,
                preshared: preshared.clone(),
                remote: self.home_agent.endpoint,
                path: number as u8,
                uplink_mtu: u16::try_from(uplink_mtu).unwrap_or(u16::MAX),
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
        let longest = ports.iter().map(|port| port.mtu).max().unwrap_or(1500);
        ports.push(Device::open_tunnel(&self.device.0, longest, kernel)?);
        let secret = registration_key(&private, &home_agent);
        Ok(Plan {
            ports,
            node: self.node(secret),
            routing: Routing {
                device: self.device.0.clone(),
                to: Vec::new(),
                from: self.networks.iter().map(|network| network.0).collect(),
            },
        })
    }

    /// Returns the configuration of the node.
    fn node(&self, key: Secret) -> Config {
        let mobile = MobileNodeConfig {
            home_address: self.home_address,
            home_prefix: self.home_prefix,
            home_agent: self.home_agent.address,
            failback: self.uplinks.clone(),
            networks: self.networks.clone(),
            registration: self.registration,
            security_parameter_index: REGISTRATION,
            key,
            lifetime: self.lifetime,
            // The home agent gives no address twice.
            duplicate_address_detection: false,
            is_proven: true,
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
