//! The kernels' part of a run: the scenario's flows, and the kernels' TCP statistics.

use super::Failure;
use super::setup::Stage;
use crate::clock::RealClock;
use crate::forwarding::Hosts;
use crate::sampler::{Sampler, SamplerReport};
use crate::traffic::{EndSpec, FlowSpec, Prepared, prepare};
use baton_sim::observe::TcpInfoSample;
use baton_sim::rng::Seed;
use baton_sim::run::Run;
use baton_sim::scenario::model::NodeIndex;
use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::AsFd;
use std::sync::mpsc::{Receiver, channel};

/// The samplers of all real hosts.
pub struct Samplers {
    samplers: Vec<Sampler>,
    samples: Receiver<TcpInfoSample>,
}

impl Samplers {
    /// Starts one for each host.
    ///
    /// # Errors
    /// The kernel does not report its sockets.
    pub fn start(stage: &Stage, hosts: &Hosts, clock: &RealClock) -> Result<Samplers, Failure> {
        let (sender, samples) = channel();
        let mut samplers = Vec::new();
        for &node in &stage.scenario.live.hosts {
            let sampler = Sampler::start(
                stage.host(hosts, node).namespace.as_fd(),
                node,
                clock.zero(),
                stage.scenario.live.sample_interval,
                sender.clone(),
            );
            samplers.push(sampler.map_err(Failure::run)?);
        }
        Ok(Samplers { samplers, samples })
    }

    /// Returns the samples that have arrived.
    pub fn poll(&self) -> impl Iterator<Item = TcpInfoSample> + '_ {
        self.samples.try_iter()
    }

    /// Stops all samplers; returns their last samples, and their reports.
    pub fn stop(self) -> (Vec<TcpInfoSample>, Vec<SamplerReport>) {
        let reports = self.samplers.into_iter().map(Sampler::stop).collect();
        (self.samples.try_iter().collect(), reports)
    }
}

impl Stage {
    /// Prepares the flows carried by the kernels.
    ///
    /// # Errors
    /// A socket cannot have the options of the scenario.
    pub fn prepare_traffic(&self, run: &Run, hosts: &Hosts) -> Result<Prepared, Failure> {
        let world = run.world();
        let mut flows = Vec::new();
        for planned in &self.plan.flows {
            let flow = &world.flows()[planned.flow];
            let is_ipv4 = flow.addresses[0].is_ipv4();
            let end = |node: NodeIndex, place: usize| EndSpec {
                namespace: self.host(hosts, node).namespace.as_fd(),
                address: first_address(run, node, is_ipv4),
                options: planned.ends[place].clone(),
            };
            let ends = [end(flow.spec.from, 0), end(flow.spec.to, 1)];
            flows.push(FlowSpec {
                number: planned.flow,
                flow: (*flow.spec).clone(),
                port: flow.port,
                seed: Seed(self.scenario.seed),
                ends,
            });
        }
        prepare(&flows).map_err(Failure::run)
    }
}

/// Returns a real host's address of an IP version at the start.
fn first_address(run: &Run, node: NodeIndex, is_ipv4: bool) -> IpAddr {
    let own = run.world().ports().iter().find(|port| port.node == node);
    let mut addresses = own.into_iter().flat_map(|port| &port.addresses);
    let first = addresses.find(|address| address.is_ipv4() == is_ipv4);
    first.copied().unwrap_or(Ipv4Addr::UNSPECIFIED.into())
}
