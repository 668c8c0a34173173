//! The configuration of a node: a TOML file.

mod values;

pub use values::{Address, LifetimeS, Mtu, Network, Secret, SecurityParameterIndex};

use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// A configuration that cannot be used: the file, the line or key, what is wrong there, and what was expected.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct ConfigError(String);

/// A node.
#[derive(Debug, Deserialize)]
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
#[derive(Debug, Deserialize)]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A TUN device that the node makes: what the kernel sends by it comes to the node.
    Tun,
    /// A device that there is, without link-layer addresses: the node speaks on its link by a packet socket.
    Packet,
}

/// A mobile node, or a mobile router.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MobileNodeConfig {
    /// Its address wherever it is; the last 64 bits are those of its care-of addresses, too.
    pub home_address: Address,
    /// The prefix of its home link.
    pub home_prefix: Network,
    /// Its home agent.
    pub home_agent: Address,
    /// The interfaces by which it reaches access networks, the preferred one first.
    pub access: Vec<String>,
    /// The networks behind it, as a mobile router.
    #[serde(default)]
    pub networks: Vec<Network>,
    /// Names the key.
    #[serde(default)]
    pub security_parameter_index: SecurityParameterIndex,
    /// The secret that it shares with its home agent.
    pub key: Secret,
    /// How long its bindings shall hold.
    #[serde(default)]
    pub lifetime_s: LifetimeS,
    /// Whether it asks on a link if somebody has its care-of address, before it uses that.
    #[serde(default = "yes")]
    pub duplicate_address_detection: bool,
}

/// A home agent.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HomeAgentConfig {
    /// Its address.
    pub address: Address,
    /// The prefix of home addresses. There is no home link: mobiles are always away.
    pub home_prefix: Network,
    /// The longest lifetime of a binding that it grants.
    #[serde(default)]
    pub longest_lifetime_s: LifetimeS,
    /// Mobiles that may register.
    pub mobiles: Vec<SubscriberConfig>,
}

/// A mobile that may register.
#[derive(Debug, Deserialize)]
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
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AccessRouterConfig {
    /// The prefix of the link, of 64 bits.
    pub prefix: Network,
    /// The router's address on the link; its last 64 bits are those of its address in the prefix, too.
    #[serde(default = "first_link_local")]
    pub link_local: Address,
    /// How often it advertises.
    #[serde(default)]
    pub advertisements: Advertisements,
}

/// How often an access router advertises, beside answering and greeting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
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

/// fe80::1, chosen as many routers have it.
fn first_link_local() -> Address {
    Address(core::net::Ipv6Addr::new(0xFE80, 0, 0, 0, 0, 0, 0, 1))
}

impl Config {
    /// Reads a file.
    ///
    /// # Errors
    /// The file, the line and the key, what is wrong, and what was expected.
    pub fn read(path: &Path) -> Result<Config, ConfigError> {
        let file = path.display().to_string();
        let text = fs::read_to_string(path)
            .map_err(|error| ConfigError(format!("{file}: it cannot be read: {error}")))?;
        Config::parse(&text, &file)
    }

    /// Reads the text of a file.
    ///
    /// # Errors
    /// As of [`read`](Self::read).
    pub fn parse(text: &str, file: &str) -> Result<Config, ConfigError> {
        let config: Config = toml::from_str(text).map_err(|error| located(text, file, &error))?;
        let wrong = |message: String| ConfigError(format!("{file}: {message}"));
        config.check().map_err(wrong)?;
        Ok(config)
    }

    /// Finds what the types of single keys do not rule out; returns the key and what is wrong with it.
    fn check(&self) -> Result<(), String> {
        let known = |key: String, name: &str| match self.interfaces.contains_key(name) {
            true => Ok(()),
            false => {
                let names: Vec<&str> = self.interfaces.keys().map(String::as_str).collect();
                let names = names.join(", ");
                Err(format!(
                    "{key}: there is no interface \"{name}\"; expected one of: {names}"
                ))
            }
        };
        if self.interfaces.is_empty() {
            return Err("interfaces: expected at least one".to_owned());
        }
        for (name, interface) in &self.interfaces {
            if interface.kind == Kind::Packet && interface.mtu.is_some() {
                return Err(format!(
                    "interfaces.{name}.mtu: an interface of kind \"packet\" has the MTU of its device; leave the key out"
                ));
            }
        }
        for (network, name) in &self.routes {
            known(format!("routes.\"{network}\""), name)?;
        }
        for (name, router) in &self.access_routers {
            known(format!("access_routers.{name}"), name)?;
            router.check(name)?;
        }
        if let Some(mobile) = &self.mobile_node {
            for name in &mobile.access {
                known("mobile_node.access".to_owned(), name)?;
            }
            let mut names: Vec<&String> = mobile.access.iter().collect();
            names.sort();
            names.dedup();
            if names.is_empty() || names.len() < mobile.access.len() {
                return Err(
                    "mobile_node.access: expected one interface or more, each once".to_owned(),
                );
            }
        }
        let has_address = !self.addresses.is_empty() || !self.access_routers.is_empty();
        if !has_address && self.mobile_node.is_none() && self.home_agent.is_none() {
            return Err(
                "addresses: the node has none; expected one, as its layers have none".to_owned(),
            );
        }
        Ok(())
    }

    /// The interfaces in the order in which the node has them: a mobile's access links first, the preferred one before the
    /// others.
    pub fn interfaces_in_order(&self) -> Vec<(&str, &InterfaceConfig)> {
        let access = self.mobile_node.iter().flat_map(|mobile| &mobile.access);
        let mut names: Vec<&str> = access.map(String::as_str).collect();
        let others = self.interfaces.keys().map(String::as_str);
        let others: Vec<&str> = others.filter(|name| !names.contains(name)).collect();
        names.extend(others);
        let named = |name| Some((name, self.interfaces.get(name)?));
        names.into_iter().filter_map(named).collect()
    }
}

impl AccessRouterConfig {
    fn check(&self, name: &str) -> Result<(), String> {
        let key = format!("access_routers.{name}");
        if self.prefix.0.length() != 64 {
            let prefix = self.prefix;
            return Err(format!(
                "{key}.prefix: {prefix} is of another length; expected 64 bits, as addresses are made of it"
            ));
        }
        if !self.link_local.0.is_unicast_link_local() {
            let address = self.link_local.0;
            return Err(format!(
                "{key}.link_local: {address} holds beyond the link; expected one of fe80::/10"
            ));
        }
        Ok(())
    }
}

impl InterfaceConfig {
    /// The name of its device.
    pub fn device<'a>(&'a self, name: &'a str) -> &'a str {
        self.device.as_deref().unwrap_or(name)
    }

    /// Largest packet of its TUN device, in bytes.
    pub fn mtu(&self) -> u32 {
        self.mtu.unwrap_or_default().0
    }
}

/// Says where an error is: the file, the line, and the key that stands there.
fn located(text: &str, file: &str, error: &toml::de::Error) -> ConfigError {
    let message = error.message();
    let Some(span) = error.span() else {
        return ConfigError(format!("{file}: {message}"));
    };
    let before = text.get(..span.start).unwrap_or_default();
    let number = before.matches('\n').count() + 1;
    // A value stands behind its key, and an unknown key is named in the message.
    let line = before.rsplit('\n').next().unwrap_or_default();
    match line.split_once('=') {
        Some((key, _)) => ConfigError(format!("{file}:{number}: {}: {message}", key.trim())),
        None => ConfigError(format!("{file}:{number}: {message}")),
    }
}

#[cfg(test)]
mod tests;
