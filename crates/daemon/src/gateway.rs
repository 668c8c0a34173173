//! A gateway: one of a pair at the ends of links, between which TCP and UDP of other machines go as AeroTP.
//!
//! The kernel routes the networks behind the other gateway to a TUN device. What the rules select becomes AeroTP, with
//! the layer that the simulator has (`baton_proto::gateways::aerotp`); all other packets cross as they are. Each link
//! is a [path](baton_path) of its own: encrypted, authenticated and measured.

mod coding;
mod custody;
mod end;
mod keylog;
mod link;
mod rules;
pub mod signals;

use crate::config::{Configuration, Network, Rate, SOCKET_ADDRESS, is_device_name};
use crate::device::Device;
use crate::forecast::{Forecast, ForecastConfig};
use crate::keys::{self, Public};
use crate::mobile_router::{TunnelDevice, unix_nanoseconds};
use crate::node::{Node, Plan};
use crate::operation::status::GatewayStatus;
use crate::port::Port;
use crate::routing::Routing;
use crate::tunnel::{self, outer};
use baton_linux::netlink::RouteSocket;
use baton_path::{Initiator, InitiatorConfig, Listener, ListenerConfig, PresharedKey, PrivateKey};
use baton_proto::gateways::aerotp::AerotpGateway;
use baton_proto::host::Host;
use baton_proto::interface::InterfaceId;
use baton_proto::rate::DataRate;
use baton_proto::time::Instant;
use baton_proto::wire::prefix::Prefix;
use coding::LinkCode;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
pub use custody::{Custody, CustodyConfig};
use end::End;
use keylog::KeyLog;
use link::Link;
use rules::RuleConfig;
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::BTreeSet;
use std::io;
use std::path::PathBuf;

/// Most links of a pair: as many as the paths of one AeroTP connection.
const MOST_LINKS: usize = 8;
/// Packets that wait for the gateway in the queue of its TUN device (chosen: thousands of connections that speak at once
/// lose none. A gateway that has no room closes windows, so that the queue is hardly ever long).
const QUEUE: u32 = 10_000;
/// Address of a node's ICMP errors without one of its own (RFC 7600 section 4.8).
const DUMMY: Ipv4Addr = Ipv4Addr::new(192, 0, 0, 8);

/// A gateway.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GatewayConfig {
    /// The path of the socket for commands.
    pub control: Option<PathBuf>,
    /// The address of metrics over HTTP.
    #[schemars(regex(pattern = SOCKET_ADDRESS))]
    pub metrics: Option<SocketAddr>,
    /// The file with its private key.
    pub private_key: PathBuf,
    /// Addresses for its ICMP errors; without any, a dummy of IPv4.
    #[serde(default)]
    pub addresses: Vec<IpAddr>,
    /// The networks behind the other gateway.
    pub networks: Vec<Network>,
    /// The TUN device for packets to these networks.
    #[serde(default)]
    pub device: TunnelDevice,
    /// The other gateway.
    pub peer: PeerConfig,
    /// The links to the other gateway, in the same order as there.
    #[schemars(with = "Vec<LinkTable>")]
    pub links: Vec<LinkConfig>,
    /// The times and places at which it leaves a link before that goes down.
    pub forecast: Option<ForecastConfig>,
    /// The file to which the keys of its links are appended, to read captures of them.
    pub key_log: Option<PathBuf>,
    /// Rules of conversion; the first match counts, and traffic without a match crosses as it is. Without rules all TCP
    /// and UDP is converted.
    #[serde(default = "RuleConfig::for_everything")]
    pub rules: Vec<RuleConfig>,
    /// Custody of data that the far end does not have yet.
    #[serde(default)]
    pub custody: CustodyConfig,
}

/// The other gateway of a pair.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PeerConfig {
    /// Its public key.
    pub public_key: Public,
    /// The file with a preshared secret, beside their keys.
    pub preshared_key: Option<PathBuf>,
}

/// A link.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "LinkTable")]
pub struct LinkConfig {
    /// Its name.
    pub name: String,
    /// This end of its path.
    pub way: Way,
    /// The device by which alone it sends.
    pub device: Option<String>,
    /// Its rate from this end, of IP packets with all headers. By default it is found.
    pub rate: Option<Rate>,
    /// True if it delivers damaged packets, and its datagrams are coded.
    pub delivers_damaged: bool,
}

/// The end of a path that is here.
#[derive(Clone, Copy, Debug)]
pub enum Way {
    /// The end that calls the other gateway, at this address.
    Calls(SocketAddr),
    /// The end that is called, at this address.
    Listens(SocketAddr),
}

impl Way {
    fn is_ipv4(self) -> bool {
        match self {
            Way::Calls(address) | Way::Listens(address) => address.is_ipv4(),
        }
    }
}

/// A link as the file has it.
#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "Link")]
#[serde(deny_unknown_fields)]
struct LinkTable {
    /// Its name.
    name: String,
    /// The address and port of the other gateway, at the end that calls.
    #[schemars(regex(pattern = SOCKET_ADDRESS))]
    endpoint: Option<SocketAddr>,
    /// The address and port at which the other gateway calls, at the end that listens.
    #[schemars(regex(pattern = SOCKET_ADDRESS))]
    listen: Option<SocketAddr>,
    /// The device by which alone it sends.
    device: Option<String>,
    /// Its rate from this end, of IP packets with all headers. By default it is found.
    rate: Option<Rate>,
    /// True if it delivers packets with bit errors instead of dropping them, at both ends alike: a code then corrects
    /// its datagrams.
    #[serde(default)]
    delivers_damaged: bool,
}

impl TryFrom<LinkTable> for LinkConfig {
    type Error = String;

    fn try_from(table: LinkTable) -> Result<LinkConfig, String> {
        let way = match (table.endpoint, table.listen) {
            (Some(remote), None) => Way::Calls(remote),
            (None, Some(local)) => Way::Listens(local),
            _ => {
                let name = table.name;
                return Err(format!(
                    "link \"{name}\": expected `endpoint` at the end that calls, or `listen` at the end that is called"
                ));
            }
        };
        Ok(LinkConfig {
            name: table.name,
            way,
            device: table.device,
            rate: table.rate,
            delivers_damaged: table.delivers_damaged,
        })
    }
}

impl Configuration for GatewayConfig {
    fn check(&self) -> Result<(), String> {
        if self.networks.is_empty() {
            return Err(
                "networks: expected those behind the other gateway, at least one".to_owned(),
            );
        }
        if self.links.is_empty() || self.links.len() > MOST_LINKS {
            return Err(format!("links: expected 1 to {MOST_LINKS}"));
        }
        self.custody.check()?;
        let mut names = BTreeSet::new();
        for (place, link) in self.links.iter().enumerate() {
            let key = format!("links[{place}]");
            link.check(&key, &self.device)?;
            if !names.insert(&link.name) {
                let name = &link.name;
                return Err(format!(
                    "{key}.name: \"{name}\" is the name of another link; expected another"
                ));
            }
        }
        let mut rules = self.rules.iter().enumerate();
        rules.try_for_each(|(place, rule)| rule.check(&format!("rules[{place}]")))?;
        let names = self.link_names();
        let forecast = self.forecast.as_ref();
        forecast.map_or(Ok(()), |forecast| {
            forecast.check(&names)?;
            Forecast::read(forecast, &names).map(drop)
        })
    }
}

impl LinkConfig {
    fn check(&self, key: &str, inside: &TunnelDevice) -> Result<(), String> {
        if self.name.is_empty() || self.name == inside.0 {
            let name = &self.name;
            return Err(format!(
                "{key}.name: \"{name}\"; expected a name that is not that of the TUN device"
            ));
        }
        if let Some(device) = &self.device
            && (!is_device_name(device) || *device == inside.0)
        {
            return Err(format!(
                "{key}.device: \"{device}\" cannot carry a link; expected the name of another device, such as \"wwan0\""
            ));
        }
        Ok(())
    }
}

/// Returns the state of a node's gateway, if it is one.
pub fn status(host: &Host) -> Option<GatewayStatus> {
    let gateway = host.layer::<AerotpGateway>()?;
    let discards = gateway.discards();
    Some(GatewayStatus {
        connections: gateway.connections() as u64,
        tcp: gateway.halves() as u64,
        custody_bytes: gateway.custody(),
        replaced: discards.half_open,
        strangers: discards.strangers,
        refused_datagrams: discards.datagrams,
        restored_packets: gateway.repairs().packets,
        failed_blocks: gateway.repairs().failed_blocks,
        custody: custody::status(gateway),
    })
}

/// Tells a node that is a gateway that the other one has restarted.
pub fn peer_restarted(host: &mut Host, now: Instant) {
    if let Some(gateway) = host.layer_mut::<AerotpGateway>() {
        gateway.peer_restarted(now);
    }
}

/// Keys of a gateway's paths, and the file for those of their sessions.
struct Keys {
    own: PrivateKey,
    preshared: PresharedKey,
    log: Option<KeyLog>,
}

impl GatewayConfig {
    /// Opens the gateway's ports: its links, and the device to the kernel.
    ///
    /// # Errors
    /// The operation that failed, and advice.
    pub fn open(&self, kernel: &mut RouteSocket) -> Result<Plan, String> {
        let preshared = self.peer.preshared_key.as_deref();
        let keys = Keys {
            own: keys::read_private(&self.private_key)?,
            preshared: preshared.map_or(Ok(PresharedKey::default()), keys::read_preshared)?,
            log: self.key_log.as_deref().map(KeyLog::open).transpose()?,
        };
        let links = self.links.iter();
        let links = links.map(|link| self.open_link(link, &keys, kernel));
        let mut ports = links.collect::<Result<Vec<Port>, String>>()?;
        // As on Ethernet: a connection's segments need not fit the links, and the sender of a packet that crosses as it
        // is learns what does.
        let longest = 1500 + outer::HEADER as u32;
        ports.push(Device::open_tunnel(&self.device.0, longest, kernel)?);
        let lengthened = kernel.link(&self.device.0);
        let lengthened = lengthened.and_then(|it| kernel.set_queue_length(it.index, QUEUE));
        lengthened.map_err(|error| format!("queue of {}: {error}", self.device.0))?;
        Ok(Plan {
            ports,
            node: Node::Gateway(Box::new(self.clone())),
            routing: Routing {
                device: self.device.0.clone(),
                to: self.prefixes(),
                ..Routing::default()
            },
        })
    }

    /// Returns the names of the links.
    pub fn link_names(&self) -> Vec<String> {
        self.links.iter().map(|link| link.name.clone()).collect()
    }

    /// Takes over what a running gateway can change: rates, rules and the forecast. Returns the links with other rates, by
    /// their interfaces.
    pub fn take_over(&mut self, new: &GatewayConfig) -> Vec<(InterfaceId, Option<Rate>)> {
        self.rules = new.rules.clone();
        self.forecast = new.forecast.clone();
        let mut changed = Vec::new();
        for ((place, own), new) in self.links.iter_mut().enumerate().zip(&new.links) {
            if own.name == new.name && own.rate != new.rate {
                own.rate = new.rate;
                changed.push((InterfaceId(place), new.rate));
            }
        }
        changed
    }

    /// Returns true if the links are the same as others.
    pub fn has_links_of(&self, other: &GatewayConfig) -> bool {
        format!("{:?}", self.links) == format!("{:?}", other.links)
    }

    /// Replaces the rules of a running node; conversations under way keep theirs.
    pub fn apply_rules(&self, host: &mut Host) {
        if let Some(gateway) = host.layer_mut::<AerotpGateway>() {
            gateway.set_rules(self.rules.iter().map(RuleConfig::rule).collect());
        }
    }

    /// Returns the networks behind the other gateway.
    fn prefixes(&self) -> Vec<Prefix> {
        self.networks.iter().map(|network| network.0).collect()
    }

    fn open_link(
        &self,
        link: &LinkConfig,
        keys: &Keys,
        kernel: &mut RouteSocket,
    ) -> Result<Port, String> {
        let device_mtu = link.device.as_deref();
        let device_mtu = device_mtu.and_then(|name| kernel.link(name).ok());
        let uplink_mtu = device_mtu.map_or(1500, |link| link.mtu);
        let uplink_mtu = u16::try_from(uplink_mtu).unwrap_or(u16::MAX);
        let uplink_mtu = match link.delivers_damaged {
            true => coding::longest_packet(uplink_mtu, link.way.is_ipv4()),
            false => uplink_mtu,
        };
        let seed = keys::random().map_err(|error| format!("{}: {error}", keys::RANDOM))?;
        let end = match link.way {
            Way::Calls(remote) => {
                let config = InitiatorConfig {
                    local: keys.own.clone(),
                    home_agent: self.peer.public_key.0,
                    preshared: keys.preshared.clone(),
                    remote,
                    path: 0,
                    uplink_mtu,
                    finds_rate: true,
                    unix_nanoseconds: unix_nanoseconds(),
                    seed,
                };
                let initiator = Initiator::new(Instant::ZERO, config);
                End::calling(initiator, remote)
            }
            Way::Listens(local) => {
                let config = ListenerConfig {
                    local: keys.own.clone(),
                    uplink_mtu,
                    finds_rate: true,
                    seed,
                };
                let mut listener = Listener::new(Instant::ZERO, config);
                let added = listener.add_peer(self.peer.public_key.0, keys.preshared.clone(), &[]);
                added.map_err(|error| error.to_string())?;
                End::listening(listener, local)
            }
        };
        // Paths begin with this, and search for more.
        let mtu = 1280 - tunnel::headers(link.way.is_ipv4());
        let code = link.delivers_damaged.then(LinkCode::default);
        let mut medium = Link::new((&link.name, link.device.as_deref()), end, link.rate, code);
        if let Some(log) = &keys.log {
            medium.log_keys(log.clone());
        }
        Ok(Port::new(&link.name, mtu, Box::new(medium)))
    }

    /// Builds the gateway's node with these interfaces: the links, and the device to the kernel.
    ///
    /// # Errors
    /// Errors of `random`.
    pub fn host(
        &self,
        interfaces: &[(&str, u32)],
        mut random: impl FnMut() -> io::Result<[u8; 16]>,
    ) -> io::Result<Host> {
        let first = self.addresses.first().copied();
        let mut host = Host::new(first.unwrap_or(DUMMY.into()), random()?);
        for &address in self.addresses.iter().skip(1) {
            host.add_address(address);
        }
        for &(_, mtu) in interfaces {
            host.add_interface(mtu);
        }
        let links = (0..).map(InterfaceId).zip(&self.links);
        let links: Vec<_> = links.map(|(id, _)| (id, DataRate::ZERO)).collect();
        let rules = self.rules.iter().map(RuleConfig::rule).collect();
        let mut gateway = AerotpGateway::new(&links, rules, random()?);
        gateway.leave_rates_to_media();
        gateway.limit_custody(self.custody.bytes());
        gateway.leave_authentication_to_links();
        host.add_layer(gateway);
        for prefix in self.prefixes() {
            host.routes_mut().set_prefix(prefix, InterfaceId(0));
        }
        let inside = InterfaceId(self.links.len());
        for any in [
            IpAddr::V4(Ipv4Addr::UNSPECIFIED),
            IpAddr::V6(Ipv6Addr::UNSPECIFIED),
        ] {
            if let Some(all) = Prefix::new(any, 0) {
                host.routes_mut().set_prefix(all, inside);
            }
        }
        Ok(host)
    }
}
