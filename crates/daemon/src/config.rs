//! The configuration of a node: a TOML file.

mod changes;
mod check;
pub mod schema;
mod values;

pub use changes::changed_keys;
pub(crate) use check::{check_home_address, is_device_name};
pub(crate) use values::SOCKET_ADDRESS;
pub use values::{
    Address, Ipv6Network, Lifetime, Mtu, Network, Rate, Secret, SecurityParameterIndex, Time,
};

use baton_proto::mobility::attachment::failback::FailbackTimes;
use baton_proto::wire::prefix::Ipv6Prefix;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// An unusable configuration: the file, the line or key, the mistake, and the expected value.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct ConfigError(String);

/// A node.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Addresses of the node, beside those of its layers.
    #[serde(default)]
    pub addresses: Vec<Address>,
    /// Its interfaces, by their names in the rest of the file.
    pub interfaces: BTreeMap<String, InterfaceConfig>,
    /// Routes: the interface towards each network; the longest prefix counts.
    #[serde(default)]
    pub routes: BTreeMap<Network, String>,
    /// Mobile node of Mobile IPv6.
    pub mobile_node: Option<MobileNodeConfig>,
    /// Home agent of Mobile IPv6.
    pub home_agent: Option<HomeAgentConfig>,
    /// Access routers of Mobile IPv6, by interface.
    #[serde(default)]
    pub access_routers: BTreeMap<String, AccessRouterConfig>,
}

/// An interface.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InterfaceConfig {
    /// The kind of its device.
    pub kind: Kind,
    /// The device's name, if it is not the interface's.
    pub device: Option<String>,
    /// Largest packet of a TUN device.
    pub mtu: Option<Mtu>,
}

/// The kind of an interface's device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A TUN device created by the node: the kernel's packets to it reach the node.
    Tun,
    /// An existing device without link-layer addresses: the node uses its link through a packet socket.
    Packet,
}

/// A mobile node, or a mobile router.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MobileNodeConfig {
    /// Its home address; its care-of addresses have the same last 64 bits.
    pub home_address: Address,
    /// The prefix of its home link.
    pub home_prefix: Ipv6Network,
    /// Its home agent.
    pub home_agent: Address,
    /// Its choice of the link to use.
    pub failback: FailbackConfig,
    /// The networks behind it, as a mobile router.
    #[serde(default)]
    pub networks: Vec<Network>,
    /// The mode in which these networks are registered with the home agent.
    #[serde(default)]
    pub registration: Registration,
    /// Index of the key (SPI).
    #[serde(default)]
    pub security_parameter_index: SecurityParameterIndex,
    /// The secret shared with its home agent.
    pub key: Secret,
    /// The lifetime requested for its bindings.
    #[serde(default)]
    pub lifetime: Lifetime,
    /// True to request bicasting at each move: for a while the home agent also sends to the old care-of address.
    #[serde(default)]
    pub bicast: bool,
    /// True for duplicate address detection before a care-of address is used.
    #[serde(default = "yes")]
    pub duplicate_address_detection: bool,
    /// True if its access links are paths to its home agent, which prove its care-of addresses.
    #[serde(skip)]
    pub is_proven: bool,
}

/// The mode of registration of a mobile router (RFC 3963 section 5.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Registration {
    /// Each update lists the networks; the home agent grants those that it knows.
    #[default]
    Explicit,
    /// Updates list no networks: the home agent binds all that it knows.
    Implicit,
}

/// The most preferred link that is up, with rules for leaving and returning.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FailbackConfig {
    /// The interfaces by which a mobile reaches access networks, the best first.
    pub prefer: Vec<String>,
    /// The time for which a better link must have been up before the mobile returns to it.
    pub hold_time: Option<Time>,
    /// The least time between two returns to a better link.
    pub hysteresis: Option<Time>,
    /// The longest time from the loss of a link to leaving it.
    pub longest_switch_time: Option<Time>,
}

/// A home agent.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HomeAgentConfig {
    /// Its address.
    pub address: Address,
    /// The prefix of home addresses. There is no home link: mobiles are always away.
    pub home_prefix: Ipv6Network,
    /// The longest lifetime that it grants to a binding.
    #[serde(default)]
    pub longest_lifetime: Lifetime,
    /// The time of bicasting after a move: for a mobile that requests it, packets also go to the old care-of address.
    pub bicast: Option<Time>,
    /// The prefix of care-of addresses proven by paths.
    #[serde(skip)]
    pub proven_care_of: Option<Ipv6Prefix>,
    /// Mobiles that may register.
    pub mobiles: Vec<SubscriberConfig>,
}

/// A mobile that may register.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SubscriberConfig {
    /// Its home address.
    pub home_address: Address,
    /// Index of the key (SPI).
    #[serde(default)]
    pub security_parameter_index: SecurityParameterIndex,
    /// The secret shared with the home agent.
    pub key: Secret,
    /// The networks behind it, as a mobile router.
    #[serde(default)]
    pub networks: Vec<Network>,
}

/// An access router at one interface.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AccessRouterConfig {
    /// The prefix of the link, of 64 bits.
    pub prefix: Ipv6Network,
    /// The router's address on the link; its address in the prefix has the same last 64 bits.
    #[serde(default = "first_link_local")]
    pub link_local: Address,
    /// The times of its advertisements.
    #[serde(default)]
    pub advertisements: Advertisements,
}

/// The times of an access router's advertisements, beside its answers to solicitations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Advertisements {
    /// Every 198 to 600 s (RFC 4861 section 6.2.1).
    #[default]
    Standard,
    /// Every 30 to 70 ms (RFC 6275 section 7.5).
    Frequent,
}

fn yes() -> bool {
    true
}

/// Returns fe80::1; chosen, since many routers have it.
fn first_link_local() -> Address {
    Address(core::net::Ipv6Addr::new(0xFE80, 0, 0, 0, 0, 0, 0, 1))
}

/// The contents of a configuration file.
pub trait Configuration: DeserializeOwned {
    /// Checks for mistakes that the types of single keys do not exclude; the error names the key, the mistake, and the
    /// expected value.
    ///
    /// # Errors
    /// The first mistake.
    fn check(&self) -> Result<(), String>;
}

/// Reads the text of a file.
///
/// # Errors
/// The file, and the kernel's message.
pub fn read(path: &Path) -> Result<String, ConfigError> {
    let file = path.display();
    fs::read_to_string(path)
        .map_err(|error| ConfigError(format!("{file}: cannot be read: {error}")))
}

/// Parses the text of a file.
///
/// # Errors
/// The file, the line and the key, the mistake, and the expected value.
pub fn parse<T: Configuration>(text: &str, file: &str) -> Result<T, ConfigError> {
    let config: T = toml::from_str(text).map_err(|error| check::located(text, file, &error))?;
    let wrong = |message: String| ConfigError(format!("{file}: {message}"));
    config.check().map_err(wrong)?;
    Ok(config)
}

impl Config {
    /// Returns the interfaces in the node's order: a mobile's access links first, by preference.
    pub fn interfaces_in_order(&self) -> Vec<(&str, &InterfaceConfig)> {
        let mobile = self.mobile_node.iter();
        let access = mobile.flat_map(|mobile| &mobile.failback.prefer);
        let mut names: Vec<&str> = access.map(String::as_str).collect();
        let others = self.interfaces.keys().map(String::as_str);
        let others: Vec<&str> = others.filter(|name| !names.contains(name)).collect();
        names.extend(others);
        let named = |name| Some((name, self.interfaces.get(name)?));
        names.into_iter().filter_map(named).collect()
    }
}

impl FailbackConfig {
    /// Returns the delays; missing ones have the defaults of a scenario.
    pub fn times(&self) -> FailbackTimes {
        let or = |time: Option<Time>, default| time.map_or(default, |time| time.0);
        let default = FailbackTimes::default();
        FailbackTimes {
            hold_time: or(self.hold_time, default.hold_time),
            hysteresis: or(self.hysteresis, default.hysteresis),
            longest_switch_time: or(self.longest_switch_time, default.longest_switch_time),
        }
    }
}

impl InterfaceConfig {
    /// Returns the name of the interface's device.
    pub fn device<'a>(&'a self, name: &'a str) -> &'a str {
        self.device.as_deref().unwrap_or(name)
    }

    /// Returns the MTU of its TUN device, in bytes.
    pub fn mtu(&self) -> u32 {
        self.mtu.unwrap_or_default().0
    }
}

#[cfg(test)]
mod tests;
