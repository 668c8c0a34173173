//! The command line of `batond`, the source of its help and its manual pages.

use crate::role::RoleName;
use clap::{Args, Parser, Subcommand};
use std::path::PathBuf;

const NOTES: &str = "\
It needs CAP_NET_ADMIN, and CAP_NET_RAW for devices that it does not create. It logs to standard error, which a \
service manager may redirect to the journal, and releases its devices when it ends. The keys of the configurations: \
docs/batond.md of the project, /usr/share/doc/batond/batond.md of the package.

Exit status: 0 ended by a signal, 1 something failed, 2 the command line or the file is wrong.";

/// Keep a moving network reachable: Baton's mobile router and its home agent
#[derive(Debug, Parser)]
#[command(name = "batond", version, after_help = NOTES)]
pub struct CommandLine {
    /// The command.
    #[command(subcommand)]
    pub action: Action,
}

/// A command of `batond`.
#[derive(Debug, Subcommand)]
pub enum Action {
    /// Run a mobile router until SIGTERM or SIGINT; SIGHUP reloads the configuration
    MobileRouter {
        /// The configuration, a TOML file
        config: PathBuf,
    },
    /// Run a home agent until SIGTERM or SIGINT; SIGHUP reloads the configuration
    HomeAgent {
        /// The configuration, a TOML file
        config: PathBuf,
    },
    /// Run one of a pair of gateways, which carry TCP and UDP across bad links as AeroTP; SIGHUP reloads the configuration
    Gateway {
        /// The configuration, a TOML file
        config: PathBuf,
    },
    /// Run a node of Mobile IPv6 on links of its own, without encryption
    Node {
        /// The configuration, a TOML file
        config: PathBuf,
    },
    /// Read a configuration of any of the four, and say what is wrong
    Check {
        /// The configuration, a TOML file
        config: PathBuf,
    },
    /// Print the JSON Schema of a role's configuration, for editors
    Schema {
        /// The role
        role: RoleName,
    },
    /// Print the public key to a private key, which is made if it is not there
    Key {
        /// The file of the private key
        file: PathBuf,
    },
    /// Print the state of the daemon that is running
    Status {
        /// Print it as JSON
        #[arg(long)]
        json: bool,
        /// The daemon's socket, where several daemons run or it is elsewhere
        #[arg(long, value_name = "PATH")]
        control: Option<PathBuf>,
    },
    /// Hold the mobile router to an uplink while that is up
    Switch {
        /// The uplink's device; `auto` lets the router choose again
        uplink: String,
        /// The daemon's socket, where several daemons run or it is elsewhere
        #[arg(long, value_name = "PATH")]
        control: Option<PathBuf>,
    },
    /// Tell the gateway of a link: its rate, or that it goes down or comes back
    Link {
        /// The link's name
        name: String,
        /// The word.
        #[command(flatten)]
        word: Word,
        /// The daemon's socket, where several daemons run or it is elsewhere
        #[arg(long, value_name = "PATH")]
        control: Option<PathBuf>,
    },
    /// Write the packets inside the tunnel, the datagrams outside and the events as pcapng, until SIGINT
    Capture {
        /// The file; `-` is standard output
        #[arg(default_value = "-")]
        file: PathBuf,
        /// The time after which it ends by itself
        #[arg(long, value_name = "N")]
        seconds: Option<u64>,
        /// The daemon's socket, where several daemons run or it is elsewhere
        #[arg(long, value_name = "PATH")]
        control: Option<PathBuf>,
    },
}

/// A word about a link.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub struct Word {
    /// The rate from this end, such as "2 Mbit/s"; `found` has the gateway find it
    #[arg(long)]
    pub rate: Option<String>,
    /// The time to its loss, such as "5 s"
    #[arg(long, value_name = "TIME")]
    pub goes_down_in: Option<String>,
    /// `down`: it carries nothing; `up`: it does, and stays
    #[arg(long, value_name = "STATE")]
    pub is: Option<String>,
}
