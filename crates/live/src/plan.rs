//! What the kernel is to do of a scenario, and what of it the kernel cannot do.
//!
//! The scenario's words for TCP are the simulator's. A key that was written is translated into a socket option, a
//! setting of the host or a metric of its route, or it is refused; keys that were not written are the kernel's own
//! choice. So a scenario that says nothing, or `profile = "linux-6"`, runs on the kernel as it is.

mod kernel;
mod keys;

pub use kernel::KernelFacts;

use crate::traffic::SocketOptions;
use baton_sim::scenario::Loaded;
use baton_sim::scenario::model::{Flow, NodeIndex, Transport};
use keys::{End, KEYS};
use netlink_packet_route::route::RouteMetric;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;

/// Real hosts, more of which are surely not meant.
const MOST_HOSTS: usize = 16;
/// What profile `classic` switches off.
const CLASSIC: [&str; 5] = [
    "tcp_sack",
    "tcp_timestamps",
    "tcp_recovery",
    "tcp_early_retrans",
    "tcp_frto",
];

/// A setting of a real host's kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sysctl {
    /// Path below /proc/sys.
    pub path: String,
    /// Value.
    pub value: String,
}

/// Something that the kernel cannot do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Refusal {
    /// The key, as in `flows.download.tcp.tick`.
    pub key: String,
    /// Why not.
    pub message: String,
    /// What comes nearest.
    pub nearest: Option<String>,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.key, self.message)?;
        match &self.nearest {
            Some(nearest) => write!(f, "; nearest: {nearest}"),
            None => Ok(()),
        }
    }
}

/// A flow that the kernels carry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowPlan {
    /// Its place in the scenario's flows.
    pub flow: usize,
    /// What is set on the sockets at its source and sink.
    pub ends: [SocketOptions; 2],
}

/// What the kernels do of a scenario.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// Flows between real hosts.
    pub flows: Vec<FlowPlan>,
    /// What cannot be done.
    pub refused: Vec<Refusal>,
    /// By host and name the value, and the key that asked for it.
    sysctls: BTreeMap<(NodeIndex, &'static str), (String, String)>,
    metrics: Vec<(NodeIndex, RouteMetric)>,
}

impl Plan {
    /// Settings of a host's TCP.
    pub fn sysctls(&self, host: NodeIndex) -> Vec<Sysctl> {
        let of_host = self.sysctls.iter().filter(|((node, _), _)| *node == host);
        of_host
            .map(|((_, name), (value, _))| Sysctl {
                path: format!("net/ipv4/{name}"),
                value: value.clone(),
            })
            .collect()
    }

    /// Metrics of a host's default route.
    pub fn metrics(&self, host: NodeIndex) -> Vec<RouteMetric> {
        let of_host = self.metrics.iter().filter(|(node, _)| *node == host);
        of_host.map(|(_, metric)| metric.clone()).collect()
    }

    fn refuse(&mut self, key: String, message: impl Into<String>, nearest: Option<&str>) {
        self.refused.push(Refusal {
            key,
            message: message.into(),
            nearest: nearest.map(str::to_owned),
        });
    }

    /// Asks for a setting of a host, which it can have only once.
    fn set(
        &mut self,
        kernel: &KernelFacts,
        host: NodeIndex,
        name: &'static str,
        value: String,
        key: &str,
    ) {
        if !kernel.has_sysctl(name) {
            let message = format!("this kernel ({}) has no setting {name}", kernel.release);
            return self.refuse(key.to_owned(), message, None);
        }
        match self.sysctls.get(&(host, name)) {
            Some((other, asked)) if *other != value => {
                let message = format!(
                    "the host can have only one {name}, and {asked} wants {other} where this wants {value}"
                );
                self.refuse(key.to_owned(), message, Some("flows between other hosts"));
            }
            Some(_) => {}
            None => {
                self.sysctls.insert((host, name), (value, key.to_owned()));
            }
        }
    }
}

/// Finds out what the kernel is to do of a scenario.
pub fn plan(loaded: &Loaded, kernel: &KernelFacts) -> Plan {
    let mut plan = Plan::default();
    let scenario = &loaded.scenario;
    let hosts = &scenario.live.hosts;
    if hosts.len() > MOST_HOSTS {
        let message = format!(
            "{} nodes would be real hosts, since flows join them; name the ones that are to be (at most {MOST_HOSTS})",
            hosts.len()
        );
        plan.refuse("live.hosts".to_owned(), message, None);
        return plan;
    }
    let written = loaded.document.get("flows").and_then(toml::Value::as_array);
    for (number, flow) in scenario.flows.iter().enumerate() {
        match [flow.from, flow.to].map(|node| hosts.contains(&node)) {
            [false, false] => {}
            [true, true] => {
                let keys = written.and_then(|flows| table_of(flows, &flow.name));
                let ends = plan.flow(flow, keys, kernel);
                plan.flows.push(FlowPlan { flow: number, ends });
            }
            [from_is_real, _] => {
                let ends = [flow.from, flow.to].map(|node| scenario.nodes[node.0].as_str());
                let [real, simulated] = if from_is_real {
                    ends
                } else {
                    [ends[1], ends[0]]
                };
                let message = format!("{real} is a real host and {simulated} is not");
                let nearest = "name both in live.hosts, or neither";
                plan.refuse(format!("flows.{}", flow.name), message, Some(nearest));
            }
        }
    }
    plan
}

/// The table that a flow was written in.
fn table_of<'a>(flows: &'a [toml::Value], name: &str) -> Option<&'a toml::Table> {
    let mut tables = flows.iter().filter_map(toml::Value::as_table);
    tables.find(|table| table.get("name").and_then(toml::Value::as_str) == Some(name))
}

impl Plan {
    /// What is set on a flow's sockets; `written` is what its table in the scenario holds.
    fn flow(
        &mut self,
        flow: &Flow,
        written: Option<&toml::Table>,
        kernel: &KernelFacts,
    ) -> [SocketOptions; 2] {
        let mut ends = [SocketOptions::default(), SocketOptions::default()];
        let (Transport::Tcp { sender, receiver }, Some(written)) = (&flow.transport, written)
        else {
            return ends;
        };
        let name = format!("flows.{}", flow.name);
        self.profile(flow, written, &name, kernel);
        let nodes = [flow.from, flow.to];
        let profiles = [sender, receiver];
        let tcp = written.get("tcp").and_then(toml::Value::as_table);
        for place in [0, 1] {
            let own = ["sender", "receiver"][place];
            let tables = [
                (name.clone(), Some(written)),
                (format!("{name}.tcp"), tcp),
                (
                    format!("{name}.tcp.{own}"),
                    tcp.and_then(|tcp| tcp.get(own)?.as_table()),
                ),
            ];
            for (path, table) in tables {
                for (key, translate) in KEYS {
                    if table.is_some_and(|table| table.contains_key(*key)) {
                        let mut end = End {
                            plan: self,
                            kernel,
                            host: nodes[place],
                            profile: profiles[place],
                            options: &mut ends[place],
                            key: format!("{path}.{key}"),
                        };
                        translate(&mut end);
                    }
                }
            }
        }
        // What holds for both ends is refused once.
        let mut seen: Vec<Refusal> = Vec::new();
        self.refused.retain(|refusal| {
            let is_new = !seen.contains(refusal);
            seen.push(refusal.clone());
            is_new
        });
        ends
    }

    fn profile(&mut self, flow: &Flow, written: &toml::Table, name: &str, kernel: &KernelFacts) {
        let key = format!("{name}.profile");
        match written.get("profile").and_then(toml::Value::as_str) {
            None | Some("linux-6") => {}
            Some("classic") => {
                for host in [flow.from, flow.to] {
                    for setting in CLASSIC {
                        self.set(kernel, host, setting, "0".to_owned(), &key);
                    }
                }
            }
            Some(other) => {
                let message = format!("the kernel cannot behave as \"{other}\"");
                let nearest = match other {
                    "rfc" => "\"linux-6\", the kernel as it is",
                    _ => "\"classic\", the kernel without SACK, timestamps, RACK, TLP and F-RTO",
                };
                self.refuse(key, message, Some(nearest));
            }
        }
    }
}

#[cfg(test)]
mod tests;
