//! Roles of the daemon, each with a configuration of its own.

use crate::config::{self, Config};
use crate::home_agent::HomeAgentRole;
use crate::mobile_router::MobileRouterConfig;
use crate::node::{self, Plan};
use crate::operation::control::FOLDER;
use crate::protection::Protection;
use crate::routing::Routing;
use baton_linux::netlink::RouteSocket;
use core::net::SocketAddr;
use std::fs;
use std::path::{Path, PathBuf};

/// The names of all roles, as on the command line.
pub const ROLES: [&str; 3] = ["mobile-router", "home-agent", "node"];

/// A role, with its configuration.
#[derive(Debug)]
pub enum Role {
    /// A mobile router.
    MobileRouter(MobileRouterConfig),
    /// A home agent.
    HomeAgent(HomeAgentRole),
    /// A node of Mobile IPv6 on links of its own.
    Node(Config),
}

impl Role {
    /// Reads the configuration of a role by its name.
    ///
    /// # Errors
    /// The file, the line and the key, what is wrong, and what was expected.
    pub fn read(name: &str, file: &Path) -> Result<Role, String> {
        let role = match name {
            "mobile-router" => config::read(file).map(Role::MobileRouter),
            "home-agent" => config::read(file).map(Role::HomeAgent),
            _ => config::read(file).map(Role::Node),
        };
        role.map_err(|error| error.to_string())
    }

    /// Reads a configuration whose keys tell the role: only a mobile router has `uplinks`, and only a home agent `routers`.
    ///
    /// # Errors
    /// As of [`read`](Self::read).
    pub fn of_file(file: &Path) -> Result<Role, String> {
        let text = fs::read_to_string(file);
        let table: toml::Table = text
            .ok()
            .and_then(|text| text.parse().ok())
            .unwrap_or_default();
        let name = match table {
            _ if table.contains_key("uplinks") => "mobile-router",
            _ if table.contains_key("routers") => "home-agent",
            _ => "node",
        };
        Role::read(name, file)
    }

    /// Returns the name.
    pub fn name(&self) -> &'static str {
        match self {
            Role::MobileRouter(_) => "mobile router",
            Role::HomeAgent(_) => "home agent",
            Role::Node(_) => "node",
        }
    }

    /// Returns the path of the socket for commands, and the address of metrics, if there are to be any.
    pub fn access(&self) -> (Option<PathBuf>, Option<SocketAddr>) {
        let (control, metrics) = match self {
            Role::MobileRouter(config) => (&config.control, config.metrics),
            Role::HomeAgent(config) => (&config.control, config.metrics),
            Role::Node(_) => return (None, None),
        };
        let name = self.name().replace(' ', "-");
        let usual = || Path::new(FOLDER).join(name).with_extension("sock");
        (Some(control.clone().unwrap_or_else(usual)), metrics)
    }

    /// Returns what an operator should know of a configuration before it is used.
    pub fn warning(&self) -> Option<String> {
        let is_plain =
            |protection: &Protection| matches!(protection, Protection::Unencrypted { .. });
        let number = match self {
            Role::MobileRouter(config) => usize::from(is_plain(&config.home_agent.protection)),
            Role::HomeAgent(config) => {
                let routers = config.routers.iter();
                routers
                    .filter(|router| is_plain(&router.protection))
                    .count()
            }
            Role::Node(_) => 0,
        };
        let of = match self {
            Role::HomeAgent(_) => format!("of {number} of its routers"),
            _ => "of this router".to_owned(),
        };
        (number > 0).then(|| {
            format!(
                "unencrypted: everybody on the way can read, change and redirect the packets {of}"
            )
        })
    }

    /// Opens the ports of the role's node.
    ///
    /// # Errors
    /// The thing that could not be done, and what helps.
    pub fn open(&self, kernel: &mut RouteSocket) -> Result<Plan, String> {
        match self {
            Role::MobileRouter(config) => config.open(kernel),
            Role::HomeAgent(config) => config.open(kernel),
            Role::Node(config) => {
                let ports = node::open_ports(config, kernel).map_err(|error| error.to_string())?;
                Ok(Plan {
                    ports,
                    node: config.clone(),
                    routing: Routing::default(),
                })
            }
        }
    }
}
