//! `batond`: one node behind this machine's clock and devices.

use baton_daemon::driver::{Counts, Driver};
use baton_daemon::engine::Owner;
use baton_daemon::keys::{self, RANDOM};
use baton_daemon::node::{self, Plan};
use baton_daemon::port::Port;
use baton_daemon::role::{ROLES, Role};
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

const HELP: &str = "Keeps a moving network reachable: Baton's mobile router and its home agent.

usage:
  batond mobile-router CONFIG  run a mobile router until SIGTERM or SIGINT
  batond home-agent CONFIG     run a home agent until SIGTERM or SIGINT
  batond node CONFIG           run a node of Mobile IPv6 on links of its own, without encryption
  batond check CONFIG          read a configuration of any of the three, and say what is wrong
  batond key FILE              print the public key to the private key in FILE, which is made if it is not there
  batond --help
  batond --version

It needs CAP_NET_ADMIN, and CAP_NET_RAW for devices that it does not make. It says on standard error what happens,
and gives its devices back when it ends. Every key of the files: docs/batond.md.

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
        Command::Key(file) => match keys::make(&file) {
            Ok(public) => println!("{public}"),
            Err(message) => return fail(1, &message),
        },
        Command::Check(file) => match Role::of_file(&file) {
            Ok(role) => println!("{}: a configuration of a {}", file.display(), role.name()),
            Err(message) => return fail(2, &message),
        },
        Command::Run(name, file) => {
            let role = match Role::read(name, &file) {
                Ok(role) => role,
                Err(message) => return fail(2, &message),
            };
            if let Err(message) = run(&role) {
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
    /// A role to run, by its name, with its configuration.
    Run(&'static str, PathBuf),
    Check(PathBuf),
    Key(PathBuf),
    Help,
    Version,
}

impl Command {
    fn parse() -> Result<Command, String> {
        let mut parser = lexopt::Parser::from_env();
        let usage = "expected a command and a file; see `batond --help`";
        let wrong = |error: lexopt::Error| format!("{error}; {usage}");
        let command = match parser.next().map_err(wrong)? {
            Some(Long("help") | Short('h')) => Command::Help,
            Some(Long("version")) => Command::Version,
            Some(Value(word)) => {
                let word = word.to_string_lossy().into_owned();
                let role = ROLES.into_iter().find(|role| *role == word);
                if role.is_none() && !["check", "key"].contains(&word.as_str()) {
                    return Err(format!("there is no command \"{word}\"; {usage}"));
                }
                let file = match parser.next().map_err(wrong)? {
                    Some(Value(file)) => file.into(),
                    _ => return Err(format!("`{word}` without a file; {usage}")),
                };
                match role {
                    Some(role) => Command::Run(role, file),
                    None if word == "key" => Command::Key(file),
                    None => Command::Check(file),
                }
            }
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
fn run(role: &Role) -> Result<(), String> {
    let failed = |what: &'static str| move |error: io::Error| format!("{what}: {error}");
    let signals = Signals::take().map_err(|error| format!("signals: {error}"))?;
    let mut kernel = RouteSocket::open().map_err(failed("route netlink"))?;
    let Plan {
        ports,
        node,
        routing,
    } = role.open(&mut kernel)?;
    let _installed = routing.install()?;
    let links = LinkMonitor::open().map_err(failed("route netlink"))?;
    let host = File::open(RANDOM).and_then(|mut random| {
        let interfaces: Vec<(&str, u32)> = ports.iter().map(Port::described).collect();
        node::host(&node, &interfaces, || {
            let mut secret = [0; 16];
            random.read_exact(&mut secret).map(|()| secret)
        })
    });
    let host = host.map_err(failed(RANDOM))?;
    let mut attendant = Attendant {
        names: ports.iter().map(|port| port.name.clone()).collect(),
    };
    let mut driver = Driver::new(host, ports, links);
    eprintln!(
        "batond: {} running at {}",
        role.name(),
        driver.host_mut().address()
    );
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

    fn handle_news(&mut self, now: Instant, InterfaceId(place): InterfaceId, words: &str) {
        self.say(now, &format!("{}: {words}", self.names[place]));
    }
}
