//! Checks of a configuration beyond the types of its keys, and locations of errors.

use super::{
    AccessRouterConfig, Address, Config, ConfigError, Configuration, HomeAgentConfig, Ipv6Network,
    Kind, MobileNodeConfig, Network,
};
use std::collections::{BTreeMap, BTreeSet};

/// Maximum length of a device name, in bytes: IFNAMSIZ without its final zero (linux/if.h).
const LONGEST_DEVICE_NAME: usize = 15;

impl Configuration for Config {
    fn check(&self) -> Result<(), String> {
        if self.interfaces.is_empty() {
            return Err("interfaces: expected at least one".to_owned());
        }
        self.check_devices()?;
        for (network, name) in &self.routes {
            self.check_interface(&format!("routes.\"{network}\""), name)?;
        }
        for (name, router) in &self.access_routers {
            self.check_interface(&format!("access_routers.{name}"), name)?;
            router.check(name)?;
        }
        if let Some(mobile) = &self.mobile_node {
            self.check_mobile(mobile)?;
        }
        if let Some(agent) = &self.home_agent {
            agent.check()?;
        }
        let has_address = !self.addresses.is_empty() || !self.access_routers.is_empty();
        if !has_address && self.mobile_node.is_none() && self.home_agent.is_none() {
            return Err(
                "addresses: the node has no address, nor has any of its layers; expected at least one".to_owned(),
            );
        }
        Ok(())
    }
}

impl Config {
    fn check_interface(&self, key: &str, name: &str) -> Result<(), String> {
        if self.interfaces.contains_key(name) {
            return Ok(());
        }
        let names: Vec<&str> = self.interfaces.keys().map(String::as_str).collect();
        let names = names.join(", ");
        Err(format!(
            "{key}: there is no interface \"{name}\"; expected one of: {names}"
        ))
    }

    fn check_devices(&self) -> Result<(), String> {
        let mut owners = BTreeMap::new();
        for (name, interface) in &self.interfaces {
            let device = interface.device(name);
            let key = match interface.device {
                Some(_) => format!("interfaces.{name}.device"),
                None => format!("interfaces.{name}"),
            };
            if !is_device_name(device) {
                return Err(format!(
                    "{key}: \"{device}\" is not the name of a device; expected 1 to {LONGEST_DEVICE_NAME} bytes without \
                     spaces, \"/\", \":\" and \"%\", or another name by the key `device`"
                ));
            }
            if let Some(other) = owners.insert(device, name) {
                return Err(format!(
                    "{key}: the device \"{device}\" belongs to the interface \"{other}\"; expected another"
                ));
            }
            if interface.kind == Kind::Packet && interface.mtu.is_some() {
                return Err(format!(
                    "interfaces.{name}.mtu: an interface of kind \"packet\" has the MTU of its device; leave the key out"
                ));
            }
        }
        Ok(())
    }

    fn check_mobile(&self, mobile: &MobileNodeConfig) -> Result<(), String> {
        let prefer = &mobile.failback.prefer;
        let key = "mobile_node.failback.prefer";
        for name in prefer {
            self.check_interface(key, name)?;
        }
        let names: BTreeSet<&String> = prefer.iter().collect();
        if names.is_empty() || names.len() < prefer.len() {
            return Err(format!("{key}: expected one interface or more, each once"));
        }
        check_home_address("mobile_node", mobile.home_address, mobile.home_prefix)?;
        let unrouted = |network: &&Network| !self.routes.contains_key(network);
        if let Some(network) = mobile.networks.iter().find(unrouted) {
            return Err(format!(
                "mobile_node.networks: no route leads to {network}; expected the key routes.\"{network}\""
            ));
        }
        Ok(())
    }
}

impl HomeAgentConfig {
    fn check(&self) -> Result<(), String> {
        let mut known = BTreeSet::new();
        for (place, mobile) in self.mobiles.iter().enumerate() {
            let key = format!("home_agent.mobiles[{place}]");
            check_home_address(&key, mobile.home_address, self.home_prefix)?;
            if !known.insert(mobile.home_address.0) {
                let address = mobile.home_address.0;
                return Err(format!(
                    "{key}.home_address: {address} is already the address of another mobile; expected another"
                ));
            }
        }
        Ok(())
    }
}

impl AccessRouterConfig {
    fn check(&self, name: &str) -> Result<(), String> {
        let key = format!("access_routers.{name}");
        if self.prefix.0.length() != 64 {
            let prefix = self.prefix;
            return Err(format!(
                "{key}.prefix: {prefix} has another length; expected 64 bits, as addresses are formed from it"
            ));
        }
        if !self.link_local.0.is_unicast_link_local() {
            let address = self.link_local.0;
            return Err(format!(
                "{key}.link_local: {address} is not link-local; expected one of fe80::/10"
            ));
        }
        Ok(())
    }
}

pub(crate) fn check_home_address(
    key: &str,
    home: Address,
    prefix: Ipv6Network,
) -> Result<(), String> {
    if prefix.0.contains(home.0) {
        return Ok(());
    }
    let address = home.0;
    Err(format!(
        "{key}.home_address: {address} is not in the home prefix, {prefix}; expected an address of it"
    ))
}

/// Returns true for a valid device name: the kernel refuses separators, and would replace "%d" by a number.
pub(crate) fn is_device_name(name: &str) -> bool {
    (1..=LONGEST_DEVICE_NAME).contains(&name.len())
        && !name
            .contains(|character: char| character.is_whitespace() || "/:%\0".contains(character))
        && ![".", ".."].contains(&name)
}

/// Locates an error: the file, the line, and the key in that line.
pub(super) fn located(text: &str, file: &str, error: &toml::de::Error) -> ConfigError {
    let message = error.message();
    let Some(span) = error.span() else {
        return ConfigError(format!("{file}: {message}"));
    };
    let before = text.get(..span.start).unwrap_or_default();
    let number = before.matches('\n').count() + 1;
    // A value follows its key, and the message names an unknown key.
    let line = before.rsplit('\n').next().unwrap_or_default();
    match line.split_once('=') {
        Some((key, _)) => ConfigError(format!("{file}:{number}: {}: {message}", key.trim())),
        None => ConfigError(format!("{file}:{number}: {message}")),
    }
}
