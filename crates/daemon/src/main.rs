//! `batond`: one node behind this machine's clock and devices.

use baton_daemon::config::Config;
use baton_daemon::driver::{Counts, Driver};
use baton_daemon::engine::Owner;
use baton_daemon::node;
use baton_daemon::port::Port;
use baton_linux::links::LinkMonitor;
use baton_linux::netlink::RouteSocket;
use baton_linux::readiness::Signals;
use baton_proto::host::{Host, HostEvent};
use baton_proto::interface::InterfaceId;
use baton_proto::mobility::attachment::Signal;
use baton_proto::time::{Duration, Instant};
use lexopt::prelude::{Long, Short, Value};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::process::ExitCode;

const HELP: &str = "Runs one node of Baton: a mobile node, a home agent, access routers (Mobile IPv6, NEMO).

usage:
  batond node CONFIG     run the node that a TOML file describes, until SIGTERM or SIGINT
  batond --help
  batond --version

The node speaks by TUN devices, which it makes, and by packet sockets on devices without link-layer
addresses. It needs CAP_NET_ADMIN and CAP_NET_RAW. It says on standard error what happens, and gives its
devices back when it ends. Every key of the file: docs/batond.md.

Exit status: 0 ended by a signal, 1 something failed, 2 the command line or the file is wrong.
";

fn main() -> ExitCode {
    let command = match Command::parse() {
        Ok(command) => command,
        Err(message) => return fail(2, &message),
    };
    match command {
        Command::Help => print!("{HELP}"),
        Command::Version => println!("batond {}", env!("CARGO_PKG_VERSION")),
        Command::Node(path) => {
            let config = match Config::read(&path) {
                Ok(config) => config,
                Err(error) => return fail(2, &error.to_string()),
            };
            if let Err(message) = run(&config) {
                return fail(1, &message);
            }
        }
    }
    ExitCode::SUCCESS
}

fn fail(status: u8, message: &str) -> ExitCode {
    eprintln!("batond: {message}");
    ExitCode::from(status)
}

/// The request on the command line.
enum Command {
    Node(PathBuf),
    Help,
    Version,
}

impl Command {
    fn parse() -> Result<Command, String> {
        let mut parser = lexopt::Parser::from_env();
        let usage = "expected `batond node CONFIG`; see `batond --help`";
        let wrong = |error: lexopt::Error| format!("{error}; {usage}");
        let command = match parser.next().map_err(wrong)? {
            Some(Long("help") | Short('h')) => Command::Help,
            Some(Long("version")) => Command::Version,
            Some(Value(word)) if word == "node" => match parser.next().map_err(wrong)? {
                Some(Value(path)) => Command::Node(path.into()),
                _ => return Err(format!("`node` without a file; {usage}")),
            },
            Some(other) => return Err(wrong(other.unexpected())),
            None => return Err(usage.to_owned()),
        };
        match parser.next().map_err(wrong)? {
            None => Ok(command),
            Some(other) => Err(wrong(other.unexpected())),
        }
    }
}

/// Runs a node until a signal ends it.
fn run(config: &Config) -> Result<(), String> {
    let failed = |what: &'static str| move |error: io::Error| format!("{what}: {error}");
    let signals = Signals::take().map_err(|error| format!("signals: {error}"))?;
    let mut kernel = RouteSocket::open().map_err(failed("route netlink"))?;
    let ports = node::open_ports(config, &mut kernel).map_err(|error| error.to_string())?;
    let links = LinkMonitor::open().map_err(failed("route netlink"))?;
    let host = File::open(RANDOM).and_then(|mut random| {
        let interfaces: Vec<(&str, u32)> = ports.iter().map(Port::described).collect();
        node::host(config, &interfaces, || {
            let mut secret = [0; 16];
            random.read_exact(&mut secret).map(|()| secret)
        })
    });
    let host = host.map_err(failed(RANDOM))?;
    let mut attendant = Attendant {
        names: ports.iter().map(|port| port.name.clone()).collect(),
    };
    let mut driver = Driver::new(host, ports, links);
    eprintln!("batond: running at {}", driver.host_mut().address());
    while !signals.poll() {
        driver
            .turn(&mut attendant, &[signals.as_fd()], Duration::MAX)
            .map_err(|error| format!("the node cannot go on: {error}"))?;
    }
    tell(&driver.counts(&mut kernel), driver.host_mut());
    Ok(())
}

/// Says what was carried and what was not.
fn tell(counts: &Counts, host: &Host) {
    let discarded = host.discarded();
    let lost = [
        ("not taken by a device", counts.not_taken),
        ("dropped before they were read", counts.dropped_unread),
        ("malformed", counts.malformed),
        ("damaged", discarded.damaged),
        ("without a route", discarded.no_route),
        ("too big", discarded.too_big),
        ("at their hop limit", discarded.hop_limit),
        ("without a receiver", discarded.no_receiver),
        ("refused", discarded.messages),
        ("out of place in a tunnel", discarded.tunnelled),
    ];
    let mut words = format!("received {}, sent {}", counts.received, counts.sent);
    for (cause, number) in lost.into_iter().filter(|(_, number)| *number > 0) {
        words += &format!(", {number} {cause}");
    }
    if counts.missed_link_events > 0 {
        words += &format!("; missed news of links {} times", counts.missed_link_events);
    }
    eprintln!("batond: ended by a signal; packets: {words}");
}

/// The kernel's randomness; it does not give any before it has some.
const RANDOM: &str = "/dev/random";

/// The node's owner: it says what happens.
struct Attendant {
    /// Names of the node's interfaces.
    names: Vec<String>,
}

impl Attendant {
    fn say(&self, now: Instant, words: &str) {
        eprintln!("batond: {:.3} s: {words}", now.as_secs_f64());
    }
}

impl Owner for Attendant {
    fn handle_event(&mut self, now: Instant, _host: &mut Host, event: HostEvent) {
        if let HostEvent::Layer(signal) = event {
            let words = format!("{}, {}", signal.name, signal.details);
            self.say(now, words.trim_end_matches(", "));
        }
    }

    fn handle_attachment(&mut self, now: Instant, signal: Signal) {
        if let Signal::Attached(Some(InterfaceId(place))) = signal {
            self.say(now, &format!("uses {}", self.names[place]));
        }
    }

    fn handle_link(&mut self, now: Instant, (InterfaceId(place), is_up): (InterfaceId, bool)) {
        let state = if is_up { "up" } else { "down" };
        self.say(now, &format!("{} is {state}", self.names[place]));
    }
}
