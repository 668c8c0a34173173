//! Plan of the kernel's part of a scenario, and the list of settings that the kernel cannot follow.
//!
//! The scenario's terms for TCP are the simulator's. A key in the scenario is translated into a socket option, a
//! setting of the host or a metric of its route, or it is refused; for all other keys the kernel's default applies. A
//! scenario without such keys, or with `profile = "linux-6"`, therefore runs on the unchanged kernel.

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

/// Maximum number of real hosts; more are surely a mistake.
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

/// A setting that the kernel cannot follow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Refusal {
    /// The key, as in `flows.download.transport.tick`.
    pub key: String,
    /// Reason.
    pub message: String,
    /// Nearest alternative.
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

/// A flow carried by the kernels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowPlan {
    /// Index in the scenario's flows.
    pub flow: usize,
    /// Options of the sockets at its source and sink.
    pub ends: [SocketOptions; 2],
}

/// The kernels' part of a scenario.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// Flows between real hosts.
    pub flows: Vec<FlowPlan>,
    /// Mistakes of the scenario in a live run.
    pub wrong: Vec<Refusal>,
    /// Settings that the kernel cannot follow and that can be left out.
    pub refused: Vec<Refusal>,
    /// Value of each setting, by host and name, and the key that requested it.
    sysctls: BTreeMap<(NodeIndex, &'static str), (String, String)>,
    metrics: Vec<(NodeIndex, RouteMetric)>,
}

impl Plan {
    /// Returns the settings of a host's TCP that the scenario requests, by name.
    pub fn settings(&self, host: NodeIndex) -> BTreeMap<&'static str, &str> {
        let of_host = self.sysctls.iter().filter(|((node, _), _)| *node == host);
        of_host
            .map(|((_, name), (value, _))| (*name, value.as_str()))
            .collect()
    }

    /// Returns the same settings as paths and values.
    pub fn sysctls(&self, host: NodeIndex) -> Vec<Sysctl> {
        let sysctl = |(name, value): (&str, &str)| Sysctl {
            path: format!("net/ipv4/{name}"),
            value: value.to_owned(),
        };
        self.settings(host).into_iter().map(sysctl).collect()
    }

    /// Returns the metrics of a host's default route.
    pub fn metrics(&self, host: NodeIndex) -> Vec<RouteMetric> {
        let of_host = self.metrics.iter().filter(|(node, _)| *node == host);
        of_host.map(|(_, metric)| metric.clone()).collect()
    }

    fn refuse(&mut self, key: &str, message: impl Into<String>, nearest: Option<&str>) {
        self.refused.push(Refusal::new(key, message, nearest));
    }

    /// Requests a setting of a host, which can have only one value.
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

/// Plans the kernel's part of a scenario.
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
            "flows join {} nodes, which would all be real hosts; name those that should be",
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

/// Returns the table of one end of a flow, source or sink.
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
        let name = format!("flows.{}.transport", flow.name);
        let nodes = [flow.from, flow.to];
        let profiles = [sender, receiver];
        let tcp = written.get("transport").and_then(toml::Value::as_table);
        for place in [0, 1] {
            let end = tcp.and_then(|tcp| end_table(tcp, place));
            let tables = [
                (name.clone(), tcp),
                (format!("{name}.{}", ENDS[place]), end),
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
            let written = [tcp, tcp.and_then(|tcp| end_table(tcp, place))];
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
        if let Some(tcp) = tcp {
            self.profile(flow, tcp, &name, kernel);
        }
        // A setting of both ends is refused once.
        let mut seen: Vec<Refusal> = Vec::new();
        self.refused.retain(|refusal| {
            let is_new = !seen.contains(refusal);
            seen.push(refusal.clone());
            is_new
        });
        ends
    }

    /// Returns the kernel's name of a flow's congestion control: that of the scenario, otherwise the profile's, as in a
    /// simulated run.
    fn congestion(
        &mut self,
        written: Option<&str>,
        profile: &Profile,
        flow: &str,
        kernel: &KernelFacts,
    ) -> Option<String> {
        let name = match (written, &profile.congestion) {
            // Without SACK, Linux's Reno repairs several losses in a window one by one, as RFC 6582 does.
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

    /// Plans a profile's settings, except for those overridden by the flow's own keys.
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
