//! Setup from options to a world between real hosts that is ready to start.

use super::Failure;
use crate::arguments::WorldOptions;
use crate::control::Control;
use crate::decisions::Decisions;
use crate::events::Events;
use crate::forwarding::Hosts;
use crate::namespace::{HostSpec, InterfaceSpec, RealHost};
use crate::plan::{KernelFacts, Plan, plan};
use crate::program::{Program, ProgramSpec};
use crate::rights::{Invoker, Rights};
use crate::sampler::listening;
use baton_linux::readiness::{Waker, wait_readable};
use baton_linux::tun::interface_name;
use baton_sim::record::RecordError;
use baton_sim::run::{Run, RunError, RunOptions};
use baton_sim::scenario::model::{
    AddressPolicy, Flow, LinkIndex, LinkSpec, Mobile, NodeIndex, Scenario,
};
use baton_sim::scenario::{self, Loaded};
use baton_sim::world::ports::Port;
use serde_json::{Value, json};
use std::fs::File;
use std::net::IpAddr;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// Maximum time for a server to start listening.
const SERVER_PATIENCE: Duration = Duration::from_secs(20);

/// The constant parts of a run.
pub struct Stage {
    /// Options of the command line.
    pub options: WorldOptions,
    /// The scenario.
    pub scenario: Scenario,
    /// The kernel's part of the scenario.
    pub plan: Plan,
    /// The kernel.
    pub kernel: KernelFacts,
    /// Source of the right to make namespaces.
    pub rights: Rights,
    /// The caller.
    pub invoker: Invoker,
    /// Decisions by Python classes.
    pub decisions: Decisions,
    /// The nodes called `mobile` and `server`.
    pub roles: [NodeIndex; 2],
}

impl Stage {
    /// Reads the scenario and checks that it can be run here.
    ///
    /// # Errors
    /// A wrong scenario, settings that the kernel cannot honour, or missing rights.
    pub fn prepare(options: WorldOptions, events: &mut Events) -> Result<(Stage, Loaded), Failure> {
        let given = &options.scenario;
        let decisions = Decisions::open(options.decisions).map_err(Failure::run)?;
        let named = |class: &str| Ok(decisions.named(class));
        let mut loaded =
            scenario::load_live(&given.file, &given.overrides, &named).map_err(Failure::input)?;
        if let Some(seed) = options.seed {
            loaded.scenario.seed = seed;
        }
        let roles = roles(&loaded.scenario);
        if !options.program.is_empty() {
            leave_flows_to_the_program(&mut loaded.scenario);
        }
        let kernel = KernelFacts::read();
        let plan = plan(&loaded, &kernel);
        if !plan.wrong.is_empty() {
            let reasons: Vec<String> = plan.wrong.iter().map(ToString::to_string).collect();
            return Err(Failure::input(reasons.join("\n")));
        }
        if options.ignore_unsupported {
            for refusal in &plan.refused {
                events.warn(&format!("left out: {refusal}"));
            }
        } else if !plan.refused.is_empty() {
            let reasons: Vec<String> = plan.refused.iter().map(ToString::to_string).collect();
            return Err(Failure::input(format!(
                "the kernel cannot run this scenario as it stands:\n  {}\nLeave these out with --ignore-unsupported; the \
                 results then list them.",
                reasons.join("\n  ")
            )));
        }
        for warning in loaded.warnings_when_live() {
            events.warn(&warning.to_string());
        }
        let rights = Rights::acquire().map_err(Failure::input)?;
        let stage = Stage {
            options,
            plan,
            kernel,
            rights,
            invoker: Invoker::find(),
            decisions,
            roles,
            scenario: loaded.scenario.clone(),
        };
        Ok((stage, loaded))
    }

    /// Opens the socket for commands; runs of one name get different ones.
    ///
    /// # Errors
    /// Errors of the kernel.
    pub fn control(&self, waker: &Waker) -> Result<Control, Failure> {
        let name = self
            .options
            .run_name
            .as_ref()
            .unwrap_or(&self.scenario.name);
        let waker = waker.clone();
        Control::open(name, self.invoker.uid, move || waker.wake()).map_err(Failure::run)
    }
}

/// Removes the flows of real hosts: the program takes their place.
fn leave_flows_to_the_program(scenario: &mut Scenario) {
    let Scenario { flows, live, .. } = scenario;
    let is_real =
        |flow: &mut Flow| live.hosts.contains(&flow.from) && live.hosts.contains(&flow.to);
    live.replaced = flows.extract_if(.., is_real).collect();
}

/// Returns the mobile, or a host in the network behind one, and its correspondent: the other end of its first flow, or
/// the next real host.
fn roles(scenario: &Scenario) -> [NodeIndex; 2] {
    let real = &scenario.live.hosts;
    let is_mobile = |node: &&NodeIndex| scenario.mobiles.iter().any(|mobile| mobile.node == **node);
    let by_flow = scenario.flows.first().map(|flow| flow.to);
    let mobile = real.iter().find(is_mobile);
    let behind = scenario.nodes_behind_mobiles();
    let mobile = mobile.or_else(|| real.iter().find(|node| behind.contains(node)));
    let mobile = mobile.copied();
    let mobile = mobile
        .or(by_flow.filter(|node| real.contains(node)))
        .unwrap_or(*real.last().unwrap_or(&NodeIndex(0)));
    let peers = scenario.flows.iter().filter_map(|flow| {
        if flow.to == mobile {
            Some(flow.from)
        } else {
            (flow.from == mobile).then_some(flow.to)
        }
    });
    let server = peers
        .chain(real.iter().copied())
        .find(|node| *node != mobile && real.contains(node));
    [mobile, server.unwrap_or(mobile)]
}

impl Stage {
    /// Builds the world, and creates the folder for its results.
    ///
    /// # Errors
    /// The results have no place, or there is no interface to capture.
    pub fn run(&self, loaded: Loaded) -> Result<Run, Failure> {
        let options = RunOptions {
            out: self.options.out.clone(),
            force: self.options.force,
            captures: self.options.captures.clone(),
            origin: std::path::absolute(&self.options.scenario.file)
                .unwrap_or_else(|_| self.options.scenario.file.clone())
                .display()
                .to_string(),
            overrides: self.options.scenario.overrides_given.clone(),
            commit: Some(env!("BATON_COMMIT").to_owned()).filter(|commit| !commit.is_empty()),
            live: true,
            threads: None,
        };
        let begin = || {
            Run::new(loaded, &options).map_err(|error| match error {
                RunError::Record(RecordError::NoInterface(_)) => Failure::input(error),
                _ => Failure::run(error),
            })
        };
        let run = self.invoker.with_files(self.rights, begin)?;
        // Mobiles have asked for their first links.
        self.decisions
            .poll(run.world().now())
            .map_err(Failure::run)?;
        Ok(run)
    }

    /// Makes the real hosts.
    ///
    /// # Errors
    /// The operation that the kernel refused, and advice.
    pub fn hosts(&self, run: &Run) -> Result<Hosts, Failure> {
        let ports = run.world().ports();
        let mut hosts = Hosts {
            hosts: Vec::new(),
            places: vec![(0, 0); ports.len()],
            of_node: vec![None; self.scenario.nodes.len()],
        };
        for &node in &self.scenario.live.hosts {
            let own = ports
                .iter()
                .enumerate()
                .filter(|(_, port)| port.node == node);
            let mut names = Vec::new();
            let mut interfaces = Vec::new();
            for (number, port) in own.clone() {
                let name = interface_name(self.interface_of(port), &names);
                names.push(name.clone());
                hosts.places[number] = (hosts.hosts.len(), interfaces.len());
                interfaces.push(InterfaceSpec {
                    name,
                    mtu: port.mtu,
                    addresses: port.addresses.clone(),
                });
            }
            let kept: Vec<usize> = own
                .filter(|(_, port)| port.link.is_none() || !self.has_new_addresses())
                .map(|(number, _)| hosts.places[number].1)
                .collect();
            let mut host = RealHost::build(HostSpec {
                name: self.scenario.nodes[node.0].clone(),
                interfaces,
                sysctls: self.plan.sysctls(node),
                metrics: self.plan.metrics(node),
                group: self.rights.group_number(self.invoker),
            })
            .map_err(Failure::input)?;
            for interface in kept {
                host.raise(interface).map_err(Failure::run)?;
                host.set_default_route(interface).map_err(Failure::run)?;
            }
            hosts.of_node[node.0] = Some(hosts.hosts.len());
            hosts.hosts.push(host);
        }
        Ok(hosts)
    }

    /// Returns true if a mobile has a separate address on each link.
    fn has_new_addresses(&self) -> bool {
        self.scenario.live.address == AddressPolicy::New
    }

    /// Returns the name of an interface: that of its link, or that of a mobile whose links its kernel does not see.
    fn interface_of(&self, port: &Port) -> &str {
        let is_mobile = |mobile: &Mobile| mobile.node == port.node;
        let link = match port.link {
            None if self.scenario.mobiles.iter().any(is_mobile) => return "home",
            link => link.or_else(|| self.first_link(port.node)),
        };
        link.map_or("link", |link| &self.scenario.links[link.0].config.name)
    }

    fn first_link(&self, node: NodeIndex) -> Option<LinkIndex> {
        let joins = |link: &LinkSpec| link.ends.contains(&node);
        self.scenario.links.iter().position(joins).map(LinkIndex)
    }
}

/// Names by which programs find the real hosts.
pub struct Names {
    /// /etc/hosts.
    pub hosts_file: String,
    /// BATON_SERVER and similar variables.
    pub environment: Vec<(String, String)>,
    /// Addresses by node, for the caller.
    pub told: Value,
}

impl Names {
    /// Returns the names of a run's hosts. With NAT, or with a new address on each link, a mobile has no lasting
    /// address by which it can be called from outside: its name then has its address at the start.
    pub fn new(stage: &Stage, run: &Run, run_name: &str) -> Names {
        let mut names = Names {
            hosts_file: "127.0.0.1 localhost\n::1 localhost\n".to_owned(),
            environment: vec![("BATON_RUN".to_owned(), run_name.to_owned())],
            told: json!({}),
        };
        let [mobile, server] = stage.roles;
        for &node in &stage.scenario.live.hosts {
            let name = &stage.scenario.nodes[node.0];
            let mut called = vec![name.as_str()];
            for (role, of) in [("mobile", mobile), ("server", server)] {
                if node == of && name != role {
                    called.push(role);
                }
            }
            let addresses = addresses(run, node);
            for &address in &addresses {
                let is_only = addresses.len() == 1;
                names.add(&called, address, is_only);
            }
        }
        names
    }

    fn add(&mut self, called: &[&str], address: IpAddr, is_only: bool) {
        // A name has one address: programs would try a server's IPv6 address first, on which it often does not listen.
        let (family, suffixes) = match address {
            IpAddr::V4(_) => ("ipv4", [""].as_slice()),
            IpAddr::V6(_) if is_only => ("ipv6", ["", "6"].as_slice()),
            IpAddr::V6(_) => ("ipv6", ["6"].as_slice()),
        };
        let mut line = address.to_string();
        for (name, suffix) in called
            .iter()
            .flat_map(|name| suffixes.iter().map(move |suffix| (name, suffix)))
        {
            line.push_str(&format!(" {name}{suffix}"));
            if matches!(*name, "mobile" | "server") {
                let variable = format!("BATON_{}{suffix}", name.to_uppercase());
                self.environment.push((variable, address.to_string()));
            }
        }
        self.hosts_file.push_str(&line);
        self.hosts_file.push('\n');
        self.told[called[0]][family] = json!(address.to_string());
    }
}

/// Returns a real host's addresses at the start, one for each IP version.
fn addresses(run: &Run, node: NodeIndex) -> Vec<IpAddr> {
    let own = run.world().ports().iter().find(|port| port.node == node);
    own.map(|port| port.addresses.clone()).unwrap_or_default()
}

impl Stage {
    /// Starts the server and waits until it listens.
    ///
    /// # Errors
    /// The server ends before, or never listens.
    pub fn start_server(
        &self,
        command: &str,
        run: &Run,
        hosts: &Hosts,
        names: &Names,
    ) -> Result<Program, Failure> {
        let log = run.staging().map(|folder| folder.join("server.log"));
        let output = |log: &Option<PathBuf>| match log {
            Some(file) => self.invoker.with_files(self.rights, || {
                let options = File::options().create(true).append(true).open(file);
                options.map(Stdio::from)
            }),
            None => Ok(Stdio::from(std::io::stderr())),
        };
        let argv = ["/bin/sh", "-c", command].map(str::to_owned);
        let stdio = [
            Stdio::null(),
            output(&log).map_err(Failure::run)?,
            output(&log).map_err(Failure::run)?,
        ];
        let node = self.roles[1];
        let mut server = self.start(&argv, node, hosts, names, stdio)?;
        let host = self.host(hosts, node);
        let begun = Instant::now();
        while !listening(host.namespace.as_fd()).map_err(Failure::run)? {
            let ended = wait_readable(&[server.report.as_fd()], Duration::from_millis(20));
            let ended = ended.map_err(Failure::run)?[0];
            if ended || begun.elapsed() > SERVER_PATIENCE {
                let what = if ended {
                    format!("{} before it listened", server.wait().describe())
                } else {
                    format!(
                        "did not listen at any port within {} s",
                        SERVER_PATIENCE.as_secs()
                    )
                };
                return Err(Failure {
                    message: format!("the server `{command}` {what}{}", last_lines(&log)),
                    exit_status: 4,
                });
            }
        }
        Ok(server)
    }

    /// Starts the program at the mobile.
    ///
    /// # Errors
    /// The program cannot be started.
    pub fn start_program(&self, hosts: &Hosts, names: &Names) -> Result<Program, Failure> {
        let stdout = if self.options.program_to_stderr {
            Stdio::from(std::io::stderr())
        } else {
            Stdio::inherit()
        };
        let stdio = [Stdio::inherit(), stdout, Stdio::inherit()];
        self.start(&self.options.program, self.roles[0], hosts, names, stdio)
    }

    fn start(
        &self,
        argv: &[String],
        node: NodeIndex,
        hosts: &Hosts,
        names: &Names,
        stdio: [Stdio; 3],
    ) -> Result<Program, Failure> {
        Program::start(ProgramSpec {
            argv,
            hostname: &self.scenario.nodes[node.0],
            namespace: self.host(hosts, node).namespace.as_fd(),
            hosts_file: &names.hosts_file,
            environment: &names.environment,
            stdio,
            invoker: self.invoker,
            rights: self.rights,
        })
        .map_err(Failure::run)
    }

    /// Returns the real host of a node.
    pub fn host<'a>(&self, hosts: &'a Hosts, node: NodeIndex) -> &'a RealHost {
        &hosts.hosts[hosts.of_node[node.0].unwrap_or_default()]
    }
}

/// Returns the last lines of a server's output, for a message.
fn last_lines(log: &Option<PathBuf>) -> String {
    let text = log
        .as_ref()
        .and_then(|file| std::fs::read_to_string(file).ok());
    let text = text.unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    let last = &lines[lines.len().saturating_sub(5)..];
    if last.is_empty() {
        String::new()
    } else {
        format!("; it last wrote:\n  {}", last.join("\n  "))
    }
}
