//! Facts about a kernel.

use std::collections::BTreeSet;
use std::fs;

/// Facts about a kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KernelFacts {
    /// Release, as in "6.18.44".
    pub release: String,
    /// Congestion controls available to sockets.
    pub congestion_controls: Vec<String>,
    /// Names of its TCP settings.
    pub sysctls: BTreeSet<String>,
}

impl KernelFacts {
    /// Reads the facts about the running kernel.
    pub fn read() -> KernelFacts {
        let text = |file: &str| fs::read_to_string(file).unwrap_or_default();
        let controls = text("/proc/sys/net/ipv4/tcp_available_congestion_control");
        let names = fs::read_dir("/proc/sys/net/ipv4").into_iter().flatten();
        KernelFacts {
            release: text("/proc/sys/kernel/osrelease").trim().to_owned(),
            congestion_controls: controls.split_whitespace().map(str::to_owned).collect(),
            sysctls: names
                .flatten()
                .map(|entry| entry.file_name().to_string_lossy().into_owned())
                .filter(|name| name.starts_with("tcp_"))
                .collect(),
        }
    }

    pub(super) fn has_sysctl(&self, name: &str) -> bool {
        self.sysctls.contains(name)
    }
}
