//! Roles of the daemon, each with a configuration of its own.

use crate::config::{self, Config, schema};
use crate::forecast::Forecaster;
use crate::gateway::GatewayConfig;
use crate::home_agent::HomeAgentRole;
use crate::mobile_router::MobileRouterConfig;
use crate::node::{self, Node, Plan};
use crate::operation::control::FOLDER;
use crate::protection::Protection;
use crate::routing::Routing;
use baton_linux::netlink::RouteSocket;
use clap::ValueEnum;
use core::net::SocketAddr;
use serde_json::Value;
use std::path::{Path, PathBuf};
use toml::Table;

/// The name of a role.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum RoleName {
    /// A mobile router
    MobileRouter,
    /// The home agent of mobile routers
    HomeAgent,
    /// One of a pair of gateways that carry TCP and UDP as AeroTP
    Gateway,
    /// A node of Mobile IPv6 on links of its own
    Node,
}

impl RoleName {
    /// Returns the JSON Schema of the role's configuration.
    pub fn schema(self) -> Value {
        match self {
            RoleName::MobileRouter => schema::of::<MobileRouterConfig>("mobile-router"),
            RoleName::HomeAgent => schema::of::<HomeAgentRole>("home-agent"),
            RoleName::Gateway => schema::of::<GatewayConfig>("gateway"),
            RoleName::Node => schema::of::<Config>("node"),
        }
    }
}

/// A role's parsed file.
#[derive(Debug)]
pub struct RoleFile {
    /// The role.
    pub role: Role,
    /// Keys in the file.
    pub keys: Table,
}

impl RoleFile {
    /// Reads the configuration of a role, or of the role shown by its keys: only a mobile router has `uplinks`, only a
    /// home agent `routers`, and only a gateway a `peer`.
    ///
    /// # Errors
    /// The file, the line and the key, the mistake, and the expected value.
    pub fn read(name: Option<RoleName>, path: &Path) -> Result<RoleFile, String> {
        let text = config::read(path).map_err(|error| error.to_string())?;
        // A text that is not TOML has no keys, and no role accepts it.
        let keys: Table = text.parse().unwrap_or_default();
        let name = name.unwrap_or_else(|| match () {
            () if keys.contains_key("uplinks") => RoleName::MobileRouter,
            () if keys.contains_key("routers") => RoleName::HomeAgent,
            () if keys.contains_key("peer") => RoleName::Gateway,
            () => RoleName::Node,
        });
        let role = Role::parse(name, &text, path)?;
        Ok(RoleFile { role, keys })
    }
}

/// A role, with its configuration.
#[derive(Debug)]
pub enum Role {
    /// A mobile router.
    MobileRouter(MobileRouterConfig),
    /// A home agent.
    HomeAgent(HomeAgentRole),
    /// A gateway.
    Gateway(Box<GatewayConfig>),
    /// A node of Mobile IPv6 on links of its own.
    Node(Config),
}

impl Role {
    fn parse(name: RoleName, text: &str, path: &Path) -> Result<Role, String> {
        let file = &path.display().to_string();
        let role = match name {
            RoleName::MobileRouter => config::parse(text, file).map(Role::MobileRouter),
            RoleName::HomeAgent => config::parse(text, file).map(Role::HomeAgent),
            RoleName::Gateway => {
                config::parse(text, file).map(|config| Role::Gateway(Box::new(config)))
            }
            RoleName::Node => config::parse(text, file).map(Role::Node),
        };
        role.map_err(|error| error.to_string())
    }

    /// Returns the name.
    pub fn name(&self) -> &'static str {
        match self {
            Role::MobileRouter(_) => "mobile router",
            Role::HomeAgent(_) => "home agent",
            Role::Gateway(_) => "gateway",
            Role::Node(_) => "node",
        }
    }

    /// Returns the keys that a running daemon has taken over from another configuration.
    pub fn taken_over(&self, new: &Role) -> &'static [&'static str] {
        match self {
            Role::MobileRouter(_) => &[
                "uplinks.hold_time",
                "uplinks.hysteresis",
                "uplinks.longest_switch_time",
                "forecast",
            ],
            Role::HomeAgent(_) => &["routers"],
            Role::Gateway(own) => match new {
                Role::Gateway(new) if own.has_links_of(new) => &["forecast", "rules", "links"],
                _ => &["forecast", "rules"],
            },
            Role::Node(_) => &[],
        }
    }

    /// Returns the path of the command socket, and the address of metrics, if configured.
    pub fn access(&self) -> (Option<PathBuf>, Option<SocketAddr>) {
        let (control, metrics) = match self {
            Role::MobileRouter(config) => (&config.control, config.metrics),
            Role::HomeAgent(config) => (&config.control, config.metrics),
            Role::Gateway(config) => (&config.control, config.metrics),
            Role::Node(_) => return (None, None),
        };
        let name = self.name().replace(' ', "-");
        let usual = || Path::new(FOLDER).join(name).with_extension("sock");
        (Some(control.clone().unwrap_or_else(usual)), metrics)
    }

    /// Opens the forecast of a mobile router or a gateway that has one.
    ///
    /// # Errors
    /// The file, the line, the mistake, and the expected value.
    pub fn forecaster(&self) -> Result<Option<Forecaster>, String> {
        let (forecast, uplinks) = match self {
            Role::MobileRouter(config) => (&config.forecast, config.uplinks.prefer.clone()),
            Role::Gateway(config) => (&config.forecast, config.link_names()),
            Role::HomeAgent(_) | Role::Node(_) => return Ok(None),
        };
        let open = |forecast| Forecaster::open(forecast, &uplinks);
        forecast.as_ref().map(open).transpose()
    }

    /// Returns a warning about a configuration for its operator.
    pub fn warning(&self) -> Option<String> {
        if let Role::Gateway(config) = self {
            let file = config.key_log.as_ref()?.display();
            return Some(format!(
                "key_log: whoever reads {file} can read all packets on the links: remove the key and the file after use"
            ));
        }
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
            Role::Gateway(_) | Role::Node(_) => 0,
        };
        let of = match self {
            Role::HomeAgent(_) => format!("of {number} of its routers"),
            _ => "of this router".to_owned(),
        };
        (number > 0).then(|| {
            format!(
                "unencrypted: everybody on the path can read, change and redirect the packets {of}"
            )
        })
    }

    /// Opens the ports of the role's node.
    ///
    /// # Errors
    /// The operation that failed, and advice.
    pub fn open(&self, kernel: &mut RouteSocket) -> Result<Plan, String> {
        match self {
            Role::MobileRouter(config) => config.open(kernel),
            Role::HomeAgent(config) => config.open(kernel),
            Role::Gateway(config) => config.open(kernel),
            Role::Node(config) => {
                let ports = node::open_ports(config, kernel).map_err(|error| error.to_string())?;
                Ok(Plan {
                    ports,
                    node: Node::Mobility(Box::new(config.clone())),
                    routing: Routing::default(),
                })
            }
        }
    }
}
