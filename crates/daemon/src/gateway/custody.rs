//! Custody of a gateway: its bound, and its journal on disk.

mod store;
#[cfg(test)]
mod tests;

use crate::config::Time;
use crate::keys;
use crate::mobile_router::unix_nanoseconds;
use crate::operation::status::{CustodyStatus, JournalStatus};
use baton_linux::readiness::Waker;
use baton_proto::gateways::aerotp::{AerotpGateway, JournalSettings, Recovered, WallTime};
use baton_proto::host::Host;
use baton_proto::time::Duration;
use schemars::JsonSchema;
use serde::Deserialize;
use std::path::{Path, PathBuf};
use store::Store;
use tracing::{info, warn};

/// Least bound: what a few connections need to go on.
const LEAST: u64 = 1 << 20;

/// Custody: data taken from its sender that the far end does not have yet.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum CustodyConfig {
    /// It is lost if the gateway ends.
    Memory {
        /// Most bytes of all connections together.
        #[serde(default = "usual_bytes")]
        #[schemars(range(min = LEAST))]
        bytes: u64,
    },
    /// A journal on disk keeps it, for connections in near-reliable mode.
    Disk {
        /// Most bytes of all connections together.
        #[serde(default = "usual_bytes")]
        #[schemars(range(min = LEAST))]
        bytes: u64,
        /// The folder of the journal.
        #[serde(default = "usual_directory")]
        directory: PathBuf,
        /// Longest custody of data, after which its connection is reset.
        #[serde(default = "usual_age")]
        age: Time,
    },
}

impl Default for CustodyConfig {
    fn default() -> CustodyConfig {
        let bytes = usual_bytes();
        CustodyConfig::Memory { bytes }
    }
}

/// 256 MiB (chosen: eight connections with full buffers, and little for any machine).
fn usual_bytes() -> u64 {
    256 << 20
}

/// The folder that a service manager makes for the unit.
fn usual_directory() -> PathBuf {
    "/var/lib/batond".into()
}

/// A day (chosen: longer than any outage of interest, and than an application waits).
fn usual_age() -> Time {
    Time(Duration::from_secs(86_400))
}

impl CustodyConfig {
    pub(super) fn bytes(&self) -> u64 {
        match self {
            CustodyConfig::Memory { bytes } | CustodyConfig::Disk { bytes, .. } => *bytes,
        }
    }

    pub(super) fn check(&self) -> Result<(), String> {
        let bytes = self.bytes();
        if bytes < LEAST {
            return Err(format!(
                "custody.bytes: {bytes}; expected at least {LEAST}, 1 MiB"
            ));
        }
        match self {
            CustodyConfig::Disk { age, .. } if age.0 < Duration::from_secs(1) => {
                Err("custody.age: expected at least \"1 s\"".to_owned())
            }
            _ => Ok(()),
        }
    }

    /// Opens the journal of a gateway, and takes up what the last one has.
    ///
    /// # Errors
    /// The file, the mistake, and advice.
    pub fn open(&self, host: &mut Host, waker: &Waker) -> Result<Option<Custody>, String> {
        let CustodyConfig::Disk { directory, age, .. } = self else {
            return Ok(None);
        };
        let Some(gateway) = host.layer_mut::<AerotpGateway>() else {
            return Ok(None);
        };
        let (store, file) = Store::open(directory, waker)?;
        let path = store::path(directory);
        let recovered = Recovered::read(&file).map_err(|damage| refusal(&path, &damage))?;
        let (connections, bytes) = (recovered.connections(), recovered.bytes());
        let random = keys::random().map_err(|error| format!("{}: {error}", keys::RANDOM))?;
        let mut salt = [0; 8];
        salt.copy_from_slice(&random[..8]);
        let settings = JournalSettings {
            age: age.0,
            zero: WallTime(unix_nanoseconds() / 1_000_000),
            salt,
        };
        let first = gateway.keep_journal(settings, recovered);
        let first = first.map_err(|missing| {
            let (here, there) = missing.ends;
            format!(
                "{}: a connection from {} to {} is in custody, but no rule is near-reliable; add one, or remove the file, and with it {bytes} B",
                path.display(),
                here.address,
                there.address
            )
        })?;
        store.begin(&first)?;
        info!("took up {connections} connections with {bytes} B in custody");
        Ok(Some(Custody {
            store,
            is_stuck: false,
        }))
    }
}

fn refusal(path: &Path, damage: &impl core::fmt::Display) -> String {
    let path = path.display();
    format!("{path}: {damage}; restore the file, or remove it, and with it what is in custody")
}

/// The journal of a running gateway.
#[derive(Debug)]
pub struct Custody {
    store: Store,
    is_stuck: bool,
}

impl Custody {
    /// Passes steps to the disk, and what is durable to the gateway. Returns true if the gateway has work to do.
    pub fn turn(&mut self, host: &mut Host) -> bool {
        let Some(gateway) = host.layer_mut::<AerotpGateway>() else {
            return false;
        };
        let mut has_work = false;
        while self.store.poll_durable() {
            gateway.journal_is_durable();
            has_work = true;
        }
        let trouble = self.store.trouble();
        if trouble.is_some() != self.is_stuck {
            self.is_stuck = trouble.is_some();
            gateway.set_journal_stuck(self.is_stuck);
            has_work = true;
            match trouble {
                Some(error) => warn!("{error}; no data is taken until the disk takes some"),
                None => info!("the disk takes data again"),
            }
        }
        if let Some(step) = gateway.poll_journal() {
            self.store.write(step);
        }
        has_work
    }

    /// Returns the state of the journal.
    pub fn status(&self) -> JournalStatus {
        self.store.status()
    }
}

/// Returns the state of a gateway's custody.
pub(super) fn status(gateway: &AerotpGateway) -> CustodyStatus {
    let counts = gateway.custody_counts();
    CustodyStatus {
        limit: gateway.custody_limit(),
        closed_windows: gateway.closed_windows() as u64,
        closed_windows_so_far: counts.closed_windows,
        expired_connections: counts.expired,
        journal: None,
    }
}
