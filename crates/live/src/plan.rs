//! Plan of the kernel's part of a scenario, and the list of all that the kernel cannot do of it.
//!
//! The scenario's words for TCP are the simulator's. A key that was written is translated into a socket option, a
//! setting of the host or a metric of its route, or it is refused; keys that were not written are the kernel's own
//! choice. So a scenario that says nothing, or `profile = "linux-6"`, runs on the kernel as it is.

mod kernel;
mod keys;
mod surroundings;

pub use kernel::KernelFacts;

use crate::traffic::SocketOptions;
use baton_proto::tcp::profile::{Algorithm, Profile};
use baton_sim::scenario::Loaded;
use baton_sim::scenario::model::{Flow, NodeIndex, Transport};
use keys::{End, KEYS};
use netlink_packet_route::route::RouteMetric;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;

/// Real hosts, more of which are surely not meant.
const MOST_HOSTS: usize = 16;
/// Names of a flow's ends.
const ENDS: [&str; 2] = ["sender", "receiver"];
/// Settings that profile `classic` switches off.
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
    /// The reason.
    pub message: String,
    /// The nearest alternative.
    pub nearest: Option<String>,
}

impl Refusal {
    fn new(key: &str, message: impl Into<String>, nearest: Option<&str>) -> Refusal {
        Refusal {
            key: key.to_owned(),
            message: message.into(),
            nearest: nearest.map(str::to_owned),
        }
    }
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
    /// Options of the sockets at its source and sink.
    pub ends: [SocketOptions; 2],
}

/// The kernels' part of a scenario.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// Flows between real hosts.
    pub flows: Vec<FlowPlan>,
    /// Mistakes in the scenario as a live one.
    pub wrong: Vec<Refusal>,
    /// Settings that the kernel cannot follow and that can be left out.
    pub refused: Vec<Refusal>,
    /// By host and name the value, and the key that asked for it.
    sysctls: BTreeMap<(NodeIndex, &'static str), (String, String)>,
    metrics: Vec<(NodeIndex, RouteMetric)>,
}

impl Plan {
    /// Settings of a host's TCP that the scenario asks for, by name.
    pub fn settings(&self, host: NodeIndex) -> BTreeMap<&'static str, &str> {
        let of_host = self.sysctls.iter().filter(|((node, _), _)| *node == host);
        of_host
            .map(|((_, name), (value, _))| (*name, value.as_str()))
            .collect()
    }

    /// The same for whoever sets them.
    pub fn sysctls(&self, host: NodeIndex) -> Vec<Sysctl> {
        let sysctl = |(name, value): (&str, &str)| Sysctl {
            path: format!("net/ipv4/{name}"),
            value: value.to_owned(),
        };
        self.settings(host).into_iter().map(sysctl).collect()
    }

    /// Metrics of a host's default route.
    pub fn metrics(&self, host: NodeIndex) -> Vec<RouteMetric> {
        let of_host = self.metrics.iter().filter(|(node, _)| *node == host);
        of_host.map(|(_, metric)| metric.clone()).collect()
    }

    fn refuse(&mut self, key: &str, message: impl Into<String>, nearest: Option<&str>) {
        self.refused.push(Refusal::new(key, message, nearest));
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
            return self.refuse(key, message, None);
        }
        match self.sysctls.get(&(host, name)) {
            Some((other, asked)) if *other != value => {
                let message = format!(
                    "the host can have only one {name}, and {asked} wants {other} where this wants {value}"
                );
                self.refuse(key, message, Some("flows between other hosts"));
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
    let named = loaded
        .document
        .get("live")
        .and_then(|live| live.get("hosts"));
    if named.is_none() && hosts.len() > MOST_HOSTS {
        let message = format!(
            "flows join {} nodes, and all of them would be real hosts; name the ones that are to be",
            hosts.len()
        );
        plan.wrong.push(Refusal::new("live.hosts", message, None));
        return plan;
    }
    plan.refuse_for_mobiles(scenario);
    plan.refuse_for_programs(scenario);
    for (number, flow) in scenario.flows.iter().enumerate() {
        match [flow.from, flow.to].map(|node| hosts.contains(&node)) {
            [false, false] => {}
            [true, true] => {
                plan.refuse_at_ends(scenario, flow);
                let ends = plan.flow(flow, loaded.flow_as_written(number), kernel);
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
                let key = format!("flows.{}", flow.name);
                plan.wrong.push(Refusal::new(&key, message, Some(nearest)));
            }
        }
    }
    plan
}

/// The table of one end of a flow, source or sink.
fn end_table(tcp: &toml::Table, place: usize) -> Option<&toml::Table> {
    tcp.get(ENDS[place])?.as_table()
}

impl Plan {
    /// Plans the options of a flow's sockets; `written` is its table in the scenario.
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
        let nodes = [flow.from, flow.to];
        let profiles = [sender, receiver];
        let tcp = written.get("tcp").and_then(toml::Value::as_table);
        for place in [0, 1] {
            let tables = [
                (name.clone(), Some(written)),
                (format!("{name}.tcp"), tcp),
                (
                    format!("{name}.tcp.{}", ENDS[place]),
                    tcp.and_then(|tcp| end_table(tcp, place)),
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
        for (place, options) in ends.iter_mut().enumerate() {
            let written = [
                Some(written),
                tcp,
                tcp.and_then(|tcp| end_table(tcp, place)),
            ];
            let written = written.into_iter().flatten();
            let control = written
                .filter_map(|table| table.get("congestion"))
                .next_back();
            if control.is_some_and(toml::Value::is_table) {
                let message = "the kernel's congestion controls take no parameters from a socket";
                let key = format!("{name}.congestion");
                self.refuse(&key, message.to_owned(), Some("the name alone"));
            }
            let control = control.and_then(toml::Value::as_str);
            options.congestion = self.congestion(control, profiles[place], &name, kernel);
        }
        self.profile(flow, written, &name, kernel);
        // A setting of both ends is refused once.
        let mut seen: Vec<Refusal> = Vec::new();
        self.refused.retain(|refusal| {
            let is_new = !seen.contains(refusal);
            seen.push(refusal.clone());
            is_new
        });
        ends
    }

    /// The kernel's name of a flow's congestion control: the one that was written, else the profile's, as in a
    /// simulated run.
    fn congestion(
        &mut self,
        written: Option<&str>,
        profile: &Profile,
        flow: &str,
        kernel: &KernelFacts,
    ) -> Option<String> {
        let name = match (written, &profile.congestion) {
            // Linux's Reno repairs several losses of a window one by one without SACK, as RFC 6582 does.
            (Some("newreno"), _) | (None, Algorithm::NewReno) => "reno",
            (None, algorithm) => algorithm.name(),
            (Some(written), _) => written,
        };
        let known = &kernel.congestion_controls;
        if known.iter().any(|known| known == name) {
            return Some(name.to_owned());
        }
        let message = format!("the kernel has no congestion control \"{name}\"");
        let nearest = format!("one of those it has: {}", known.join(", "));
        self.refuse(&format!("{flow}.congestion"), message, Some(&nearest));
        None
    }

    /// A profile's settings, but for those that the flow's own keys have set.
    fn profile(&mut self, flow: &Flow, written: &toml::Table, name: &str, kernel: &KernelFacts) {
        let key = format!("{name}.profile");
        match written.get("profile").and_then(toml::Value::as_str) {
            None | Some("linux-6") => {}
            Some("classic") => {
                for host in [flow.from, flow.to] {
                    for setting in CLASSIC {
                        let own = self.sysctls.get(&(host, setting));
                        if own.is_none_or(|(_, asked)| !asked.starts_with(&format!("{name}."))) {
                            self.set(kernel, host, setting, "0".to_owned(), &key);
                        }
                    }
                }
            }
            Some(other) => {
                let message = format!("the kernel cannot behave as \"{other}\"");
                let nearest = match other {
                    "rfc" => "\"linux-6\", the kernel as it is",
                    _ => "\"classic\", the kernel without SACK, timestamps, RACK, TLP and F-RTO",
                };
                self.refuse(&key, message, Some(nearest));
            }
        }
    }
}

#[cfg(test)]
mod tests;
