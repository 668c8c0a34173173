//! The configuration of a node: a TOML file.

mod changes;
mod check;
pub mod schema;
mod values;

pub use changes::changed_keys;
pub(crate) use check::{check_home_address, is_device_name};
pub(crate) use values::SOCKET_ADDRESS;
pub use values::{
    Address, Ipv6Network, Lifetime, Mtu, Network, Secret, SecurityParameterIndex, Time,
};

use baton_proto::mobility::attachment::failback::FailbackTimes;
use baton_proto::wire::prefix::Ipv6Prefix;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// A configuration that cannot be used: the file, the line or key, what is wrong there, and what was expected.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct ConfigError(String);

/// A node.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Addresses of the node, beside those that its layers have.
    #[serde(default)]
    pub addresses: Vec<Address>,
    /// Its interfaces, by the names that the rest of the file calls them.
    pub interfaces: BTreeMap<String, InterfaceConfig>,
    /// For each network the interface by which it is reached; the longest prefix counts.
    #[serde(default)]
    pub routes: BTreeMap<Network, String>,
    /// As a mobile node of Mobile IPv6.
    pub mobile_node: Option<MobileNodeConfig>,
    /// As a home agent of Mobile IPv6.
    pub home_agent: Option<HomeAgentConfig>,
    /// As an access router of Mobile IPv6, by interface.
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
    /// A TUN device that the node makes: what the kernel sends by it comes to the node.
    Tun,
    /// A device that there is, without link-layer addresses: the node speaks on its link by a packet socket.
    Packet,
}

/// A mobile node, or a mobile router.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MobileNodeConfig {
    /// Its address wherever it is; the last 64 bits are those of its care-of addresses, too.
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
    /// The way in which the home agent learns of these networks.
    #[serde(default)]
    pub registration: Registration,
    /// Names the key.
    #[serde(default)]
    pub security_parameter_index: SecurityParameterIndex,
    /// The secret that it shares with its home agent.
    pub key: Secret,
    /// The lifetime that it asks for its bindings.
    #[serde(default)]
    pub lifetime: Lifetime,
    /// True to ask the home agent at each move to send to the old care-of address, too, for a while.
    #[serde(default)]
    pub bicast: bool,
    /// True if it asks on a link whether somebody has its care-of address, before it uses that.
    #[serde(default = "yes")]
    pub duplicate_address_detection: bool,
    /// True if its access links are paths of its home agent, which prove its care-of addresses.
    #[serde(skip)]
    pub is_proven: bool,
}

/// The mode of registration of a mobile router (RFC 3963 section 5.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Registration {
    /// Each update lists the networks, of which the home agent grants those that it knows.
    #[default]
    Explicit,
    /// No update lists them: the home agent binds all that it knows.
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
    /// The longest time after which a link that has gone down is left.
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
    /// The longest lifetime of a binding that it grants.
    #[serde(default)]
    pub longest_lifetime: Lifetime,
    /// The time after a move for which packets go to the old care-of address, too, of a mobile that asks for it.
    pub bicast: Option<Time>,
    /// The prefix of the care-of addresses that paths prove.
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
    /// Names the key.
    #[serde(default)]
    pub security_parameter_index: SecurityParameterIndex,
    /// The secret that it shares with the home agent.
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
    /// The router's address on the link; its last 64 bits are those of its address in the prefix, too.
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

/// Returns fe80::1, chosen as many routers have it.
fn first_link_local() -> Address {
    Address(core::net::Ipv6Addr::new(0xFE80, 0, 0, 0, 0, 0, 0, 1))
}

/// The contents of a configuration file.
pub trait Configuration: DeserializeOwned {
    /// Finds what the types of single keys do not rule out; returns the key, what is wrong with it, and what was expected.
    ///
    /// # Errors
    /// The first that is found.
    fn check(&self) -> Result<(), String>;
}

/// Reads the text of a file.
///
/// # Errors
/// The file, and the words of the kernel.
pub fn read(path: &Path) -> Result<String, ConfigError> {
    let file = path.display();
    fs::read_to_string(path)
        .map_err(|error| ConfigError(format!("{file}: it cannot be read: {error}")))
}

/// Parses the text of a file.
///
/// # Errors
/// The file, the line and the key, what is wrong, and what was expected.
pub fn parse<T: Configuration>(text: &str, file: &str) -> Result<T, ConfigError> {
    let config: T = toml::from_str(text).map_err(|error| check::located(text, file, &error))?;
    let wrong = |message: String| ConfigError(format!("{file}: {message}"));
    config.check().map_err(wrong)?;
    Ok(config)
}

impl Config {
    /// Returns the interfaces in the order in which the node has them: a mobile's access links first, the preferred one before
    /// the others.
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
    /// Returns the times; those that the file leaves out are a scenario's.
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
    /// Returns the name of its device.
    pub fn device<'a>(&'a self, name: &'a str) -> &'a str {
        self.device.as_deref().unwrap_or(name)
    }

    /// Returns the largest packet of its TUN device, in bytes.
    pub fn mtu(&self) -> u32 {
        self.mtu.unwrap_or_default().0
    }
}

#[cfg(test)]
mod tests;
