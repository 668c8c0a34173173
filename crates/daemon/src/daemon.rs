//! A daemon: a node with its driver, its operator's controls, and its link to the service manager.

use crate::attendant::Attendant;
use crate::capture::Tap;
use crate::config::{Rate, changed_keys};
use crate::driver::{Counts, Driver};
use crate::engine::Owner;
use crate::forecast::{Expected, Forecaster};
use crate::gateway::signals::{LinkSignal, LinkWord, Said};
use crate::gateway::{self, Custody};
use crate::keys::RANDOM;
use crate::medium::News;
use crate::node::{self, Plan};
use crate::operation::control::{Answer, Asker, Command, Control, Request};
use crate::operation::metrics;
use crate::operation::service::ServiceManager;
use crate::operation::status::Status;
use crate::port::Port;
use crate::role::{Role, RoleFile};
use crate::routing::Installed;
use baton_linux::addresses::AddressMonitor;
use baton_linux::links::LinkMonitor;
use baton_linux::netlink::RouteSocket;
use baton_linux::readiness::{Signals, Waker};
use baton_proto::host::Host;
use baton_proto::interface::InterfaceId;
use baton_proto::time::Duration;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::mpsc::Receiver;
use toml::Table;
use tracing::{info, warn};

/// A running daemon.
struct Daemon<'a> {
    role: Role,
    /// Keys of the file at the start.
    keys: Table,
    path: &'a Path,
    driver: Driver,
    attendant: Attendant,
    kernel: RouteSocket,
    installed: Installed,
    held_to: Option<String>,
    custody: Option<Custody>,
    /// True if the node has work to do before the next event.
    has_work: bool,
    forecaster: Option<Forecaster>,
    tap: Tap,
}

/// Runs a role until a signal ends it.
///
/// # Errors
/// The operation that failed, and advice.
pub fn run(file: RoleFile, path: &Path) -> Result<(), String> {
    let wrong = |error| format!("signals: {error}");
    let (ends, hangups) = (
        Signals::take().map_err(wrong)?,
        Signals::hangups().map_err(wrong)?,
    );
    let waker = Waker::new().map_err(|error| format!("eventfd: {error}"))?;
    let mut daemon = Daemon::open(file, path, &waker)?;
    let (asker, requests) = Asker::new(waker.clone());
    let (control, address) = daemon.role.access();
    let control = control
        .map(|path| Control::open(&path, asker.clone(), daemon.tap.clone()))
        .transpose()?;
    if let Some(address) = address {
        metrics::serve(address, asker)?;
    }
    let mut manager = ServiceManager::find();
    let address = daemon.driver.host_mut().address();
    let role = daemon.role.name();
    info!(role, %address, "{role} running at {address}");
    if let Some(warning) = daemon.role.warning() {
        warn!("{warning}");
    }
    manager.ready();
    while !ends.poll() {
        let left = manager.live().map(|left| left.as_nanos() as u64);
        let forecaster = daemon.forecaster.as_ref().map(Forecaster::left);
        let most = left.map_or(Duration::MAX, Duration::from_nanos);
        let most = forecaster.map_or(most, |left| left.min(most));
        let most = match daemon.has_work {
            true => Duration::ZERO,
            false => most,
        };
        let others = [ends.as_fd(), hangups.as_fd(), waker.as_fd()];
        let turned = daemon.driver.turn(&mut daemon.attendant, &others, most);
        turned.map_err(|error| format!("the node cannot go on: {error}"))?;
        waker.clear();
        daemon.keep();
        daemon.foresee();
        daemon.pause();
        daemon.answer(&requests);
        if hangups.poll() {
            manager.reloading();
            daemon.reload();
            manager.ready();
        }
    }
    manager.stopping();
    daemon.tap.end();
    drop(control);
    daemon.tell();
    Ok(())
}

impl<'a> Daemon<'a> {
    fn open(file: RoleFile, path: &'a Path, waker: &Waker) -> Result<Daemon<'a>, String> {
        let RoleFile { role, keys } = file;
        let failed = |error: io::Error| format!("route netlink: {error}");
        let mut kernel = RouteSocket::open().map_err(failed)?;
        let Plan {
            mut ports,
            node,
            routing,
        } = role.open(&mut kernel)?;
        let installed = routing.install()?;
        let links = LinkMonitor::open().map_err(failed)?;
        let addresses = AddressMonitor::open().map_err(failed)?;
        let tap = Tap::default();
        for port in &mut ports {
            port.medium.set_tap(&port.name, &tap);
        }
        let host = File::open(RANDOM).and_then(|mut random| {
            let interfaces: Vec<(&str, u32)> = ports.iter().map(Port::described).collect();
            node.host(&interfaces, || {
                let mut secret = [0; 16];
                random.read_exact(&mut secret).map(|()| secret)
            })
        });
        let mut host = host.map_err(|error| format!("{RANDOM}: {error}"))?;
        let custody = match &role {
            Role::Gateway(config) => config.custody.open(&mut host, waker)?,
            Role::MobileRouter(_) | Role::HomeAgent(_) | Role::Node(_) => None,
        };
        let names = ports.iter().map(|port| port.name.clone());
        Ok(Daemon {
            forecaster: role.forecaster()?,
            role,
            keys,
            path,
            attendant: Attendant::new(names.collect(), tap.clone()),
            driver: Driver::new(host, ports, (links, addresses)),
            kernel,
            installed,
            held_to: None,
            custody,
            has_work: false,
            tap,
        })
    }

    /// Passes a gateway's custody to the disk, and what is durable to the gateway.
    fn keep(&mut self) {
        let custody = self.custody.as_mut();
        self.has_work = custody.is_some_and(|custody| custody.turn(self.driver.host_mut()));
    }

    /// Passes the forecast's changes to the node, which leaves uplinks that are expected to go down.
    fn foresee(&mut self) {
        let expected = self.forecaster.iter_mut().flat_map(Forecaster::poll);
        for expected in expected.collect::<Vec<_>>() {
            self.expect(&expected);
        }
    }

    /// Tells the node of an uplink that is expected to go down, or to stay up.
    fn expect(&mut self, Expected { uplink, goes_in }: &Expected) {
        let verb = if goes_in.is_some() { "go" } else { "stay" };
        info!(interface = uplink, "{uplink} is expected to {verb}");
        if let Some(interface) = self.attendant.interface(uplink) {
            self.driver
                .foresee(&mut self.attendant, (interface, *goes_in));
        }
    }

    /// Replaces the forecast by its successor; without one all uplinks are expected to stay up.
    fn set_forecaster(&mut self, mut forecaster: Option<Forecaster>) {
        let leaving = self.leaving();
        match &mut forecaster {
            Some(forecaster) => forecaster.go_on_from(&leaving),
            None => leaving.into_iter().for_each(|uplink| {
                let goes_in = None;
                self.expect(&Expected { uplink, goes_in });
            }),
        }
        self.forecaster = forecaster;
    }

    /// Leaves packets from a mobile router's networks in its device's queue while no uplink is up.
    fn pause(&mut self) {
        let Role::MobileRouter(config) = &self.role else {
            return;
        };
        let ports = self.driver.ports_mut();
        let uplinks = config.uplinks.prefer.len().min(ports.len());
        let (uplinks, inside) = ports.split_at_mut(uplinks);
        let is_up = uplinks.iter().any(|port| port.is_up == Some(true));
        inside.iter_mut().for_each(|port| port.is_paused = !is_up);
    }

    fn answer(&mut self, requests: &Receiver<Request>) {
        while let Ok(request) = requests.try_recv() {
            let answer = match &request.command {
                Command::Status => Answer::Status(Box::new(self.status())),
                Command::Switch(uplink) => self.switch(uplink.clone()),
                Command::Link(word) => self.hear(word),
                // The control socket's thread handles it without the daemon.
                Command::Capture => continue,
            };
            request.answer(answer);
        }
    }

    /// Holds a mobile router to an uplink, or to none.
    fn switch(&mut self, uplink: Option<String>) -> Answer {
        let interface = uplink.as_deref().map(|name| self.attendant.interface(name));
        let now = self.driver.now();
        let held = match (interface, self.driver.host_mut().attachment_mut()) {
            (Some(None), _) | (_, None) => false,
            (interface, Some(attachment)) => attachment.hold_to(now, interface.flatten()),
        };
        if held {
            self.held_to = uplink;
            return Answer::Done;
        }
        let uplinks = match &self.role {
            Role::MobileRouter(config) => config.uplinks.prefer.join(", "),
            Role::HomeAgent(_) | Role::Gateway(_) | Role::Node(_) => {
                "none: this is not a mobile router".to_owned()
            }
        };
        let wanted = uplink.unwrap_or_default();
        Answer::Refused(format!(
            "\"{wanted}\" is not an uplink of this router; expected one of: {uplinks}"
        ))
    }

    /// Takes in a word about a gateway's link.
    fn hear(&mut self, LinkWord { name, said }: &LinkWord) -> Answer {
        let links = match &self.role {
            Role::Gateway(config) => config.link_names(),
            Role::MobileRouter(_) | Role::HomeAgent(_) | Role::Node(_) => Vec::new(),
        };
        let Some(place) = links.iter().position(|known| known == name) else {
            let links = match links.is_empty() {
                true => "none: this is not a gateway".to_owned(),
                false => links.join(", "),
            };
            return Answer::Refused(format!(
                "\"{name}\" is not a link of this gateway; expected one of: {links}"
            ));
        };
        let (now, link) = (self.driver.now(), InterfaceId(place));
        // A modem may say its rate many times a second.
        if !matches!(said, Said::Rate(_)) {
            let news = News::of(format!("is said to {said}"));
            self.attendant.handle_news(now, link, &news);
        }
        for signal in said.signals(now) {
            self.driver.signal(&mut self.attendant, link, signal);
        }
        Answer::Done
    }

    fn status(&mut self) -> Status {
        let now = self.driver.now();
        let counts = self.driver.counts(&mut self.kernel);
        let mut status = Status {
            role: self.role.name().to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            running_s: now.as_secs_f64(),
            address: self.driver.host_mut().address().to_string(),
            in_use: self.attendant.in_use().map(str::to_owned),
            held_to: self.held_to.clone(),
            leaving: self.leaving(),
            handovers: self.attendant.handovers().clone(),
            capture: self.tap.status(),
            ..Status::default()
        };
        (status.packets.received, status.packets.sent) = (counts.received, counts.sent);
        status.gateway = gateway::status(self.driver.host_mut());
        if let (Some(gateway), Some(custody)) = (&mut status.gateway, &self.custody) {
            gateway.custody.journal = Some(custody.status());
        }
        for (cause, number) in losses(&counts, self.driver.host_mut()) {
            status.lose(cause, number);
        }
        for port in self.driver.ports_mut() {
            port.medium.report(now, &mut status);
        }
        status
    }

    /// Returns the uplinks that are expected to go down.
    fn leaving(&self) -> Vec<String> {
        let forecaster = self.forecaster.iter();
        let leaving = forecaster.flat_map(|forecaster| forecaster.forecast().leaving());
        leaving.map(str::to_owned).collect()
    }

    /// Reloads the configuration, and applies the changes that a running daemon can make. An invalid file changes
    /// nothing.
    fn reload(&mut self) {
        let path = self.path.display();
        match self.take_over() {
            Ok(left) if left.is_empty() => info!("{path} reloaded"),
            Ok(left) => {
                let keys = left.join(", ");
                warn!(keys, "{path} reloaded; restart the daemon to change {keys}");
            }
            Err(message) => warn!("{message}; the configuration is unchanged"),
        }
    }

    /// Applies a configuration; returns the changed keys that need a restart.
    fn take_over(&mut self) -> Result<Vec<String>, String> {
        let file = RoleFile::read(None, self.path)?;
        let forecaster = file.role.forecaster()?;
        let is_same = match (&mut self.role, &file.role) {
            (Role::MobileRouter(own), Role::MobileRouter(new)) => {
                if let Some(attachment) = self.driver.host_mut().attachment_mut() {
                    attachment.set_failback_times(new.uplinks.times());
                }
                own.uplinks.hold_time = new.uplinks.hold_time;
                own.uplinks.hysteresis = new.uplinks.hysteresis;
                own.uplinks.longest_switch_time = new.uplinks.longest_switch_time;
                own.forecast = new.forecast.clone();
                // A secret is not printed where configurations are.
                let is_same = own.home_agent.protection == new.home_agent.protection;
                is_same && format!("{own:?}") == format!("{new:?}")
            }
            (Role::HomeAgent(own), Role::HomeAgent(new)) => {
                let mobiles = new.mobiles()?;
                for port in self.driver.ports_mut() {
                    port.medium.set_routers(&new.routers)?;
                }
                node::subscribe(self.driver.host_mut(), &mobiles);
                self.installed.lead_to(new.prefixes())?;
                own.routers = new.routers.clone();
                format!("{own:?}") == format!("{new:?}")
            }
            (Role::Gateway(own), Role::Gateway(new)) => {
                for (link, rate) in own.take_over(new) {
                    let signal = LinkSignal::Rate(rate.map(|Rate(rate)| rate));
                    self.driver.signal(&mut self.attendant, link, signal);
                }
                own.apply_rules(self.driver.host_mut());
                format!("{own:?}") == format!("{new:?}")
            }
            // A secret has no printed form, so the texts are compared.
            (Role::Node(_), Role::Node(_)) => false,
            _ => {
                let path = self.path.display();
                return Err(format!("{path}: describes another role"));
            }
        };
        self.set_forecaster(forecaster);
        if is_same {
            return Ok(Vec::new());
        }
        let taken_over = self.role.taken_over(&file.role);
        let is_within = |key: &str, table: &str| {
            let rest = key.strip_prefix(table);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        let is_left = |key: &String| !taken_over.iter().any(|table| is_within(key, table));
        let changed = changed_keys(&self.keys, &file.keys);
        Ok(changed.into_iter().filter(is_left).collect())
    }

    /// Logs the packets carried and lost, at the end.
    fn tell(&mut self) {
        let counts = self.driver.counts(&mut self.kernel);
        let mut words = format!("received {}, sent {}", counts.received, counts.sent);
        for (cause, number) in losses(&counts, self.driver.host_mut()) {
            if number > 0 {
                words += &format!(", {number} {cause}");
            }
        }
        if counts.missed_link_events > 0 {
            words += &format!("; missed link events {} times", counts.missed_link_events);
        }
        let (received, sent) = (counts.received, counts.sent);
        info!(received, sent, "ended by a signal; packets: {words}");
    }
}

/// Returns the numbers of lost packets, by cause.
fn losses(counts: &Counts, host: &Host) -> [(&'static str, u64); 10] {
    let discarded = host.discarded();
    [
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
    ]
}
