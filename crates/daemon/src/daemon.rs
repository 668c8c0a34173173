//! A daemon: a node with its driver, and what an operator and a service manager want of it.

use crate::attendant::{Attendant, say};
use crate::driver::{Counts, Driver};
use crate::keys::RANDOM;
use crate::node::{self, Plan};
use crate::operation::control::{Answer, Asker, Command, Control, Request};
use crate::operation::metrics;
use crate::operation::service::ServiceManager;
use crate::operation::status::Status;
use crate::port::Port;
use crate::role::Role;
use crate::routing::Installed;
use baton_linux::links::LinkMonitor;
use baton_linux::netlink::RouteSocket;
use baton_linux::readiness::{Signals, Waker};
use baton_proto::host::Host;
use baton_proto::time::Duration;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::mpsc::Receiver;

/// A daemon under way.
struct Daemon<'a> {
    role: Role,
    file: &'a Path,
    driver: Driver,
    attendant: Attendant,
    kernel: RouteSocket,
    installed: Installed,
    held_to: Option<String>,
}

/// Runs a role until a signal ends it.
///
/// # Errors
/// The thing that failed, and what helps.
pub fn run(role: Role, file: &Path) -> Result<(), String> {
    let wrong = |error| format!("signals: {error}");
    let (ends, hangups) = (
        Signals::take().map_err(wrong)?,
        Signals::hangups().map_err(wrong)?,
    );
    let waker = Waker::new().map_err(|error| format!("eventfd: {error}"))?;
    let mut daemon = Daemon::open(role, file)?;
    let (asker, requests) = Asker::new(waker.clone());
    let (control, address) = daemon.role.access();
    let control = control
        .map(|path| Control::open(&path, asker.clone()))
        .transpose()?;
    if let Some(address) = address {
        metrics::serve(address, asker)?;
    }
    let mut manager = ServiceManager::find();
    let address = daemon.driver.host_mut().address();
    say(&format!("{} running at {address}", daemon.role.name()));
    manager.ready();
    while !ends.poll() {
        let left = manager.live().map(|left| left.as_nanos() as u64);
        let most = left.map_or(Duration::MAX, Duration::from_nanos);
        let others = [ends.as_fd(), hangups.as_fd(), waker.as_fd()];
        let turned = daemon.driver.turn(&mut daemon.attendant, &others, most);
        turned.map_err(|error| format!("the node cannot go on: {error}"))?;
        waker.clear();
        daemon.answer(&requests);
        if hangups.poll() {
            manager.reloading();
            daemon.reload();
            manager.ready();
        }
    }
    manager.stopping();
    drop(control);
    daemon.tell();
    Ok(())
}

impl<'a> Daemon<'a> {
    fn open(role: Role, file: &'a Path) -> Result<Daemon<'a>, String> {
        let failed = |error: io::Error| format!("route netlink: {error}");
        let mut kernel = RouteSocket::open().map_err(failed)?;
        let Plan {
            ports,
            node,
            routing,
        } = role.open(&mut kernel)?;
        let installed = routing.install()?;
        let links = LinkMonitor::open().map_err(failed)?;
        let host = File::open(RANDOM).and_then(|mut random| {
            let interfaces: Vec<(&str, u32)> = ports.iter().map(Port::described).collect();
            node::host(&node, &interfaces, || {
                let mut secret = [0; 16];
                random.read_exact(&mut secret).map(|()| secret)
            })
        });
        let host = host.map_err(|error| format!("{RANDOM}: {error}"))?;
        let names = ports.iter().map(|port| port.name.clone());
        Ok(Daemon {
            role,
            file,
            attendant: Attendant::new(names.collect()),
            driver: Driver::new(host, ports, links),
            kernel,
            installed,
            held_to: None,
        })
    }

    fn answer(&mut self, requests: &Receiver<Request>) {
        while let Ok(request) = requests.try_recv() {
            let answer = match &request.command {
                Command::Status => Answer::Status(Box::new(self.status())),
                Command::Switch(uplink) => self.switch(uplink.clone()),
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
            Role::HomeAgent(_) | Role::Node(_) => "none: this is no mobile router".to_owned(),
        };
        let wanted = uplink.unwrap_or_default();
        Answer::Refused(format!(
            "\"{wanted}\" is no uplink of this router; expected one of: {uplinks}"
        ))
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
            handovers: self.attendant.handovers().clone(),
            ..Status::default()
        };
        (status.packets.received, status.packets.sent) = (counts.received, counts.sent);
        for (cause, number) in losses(&counts, self.driver.host_mut()) {
            status.lose(cause, number);
        }
        for port in self.driver.ports_mut() {
            port.medium.report(now, &mut status);
        }
        status
    }

    /// Reads the configuration anew, and takes over what can be changed under way. A file that is wrong changes nothing.
    fn reload(&mut self) {
        let file = self.file.display();
        match self.take_over() {
            Ok(true) => say(&format!("{file} read anew")),
            Ok(false) => say(&format!(
                "{file} read anew; start the daemon again for other changes than those of a home agent's \
                 `routers` or of a mobile router's times in `uplinks`"
            )),
            Err(message) => say(&format!("{message}; the configuration was not taken over")),
        }
    }

    /// Takes over a configuration; returns false if it has further changes, for which a start is needed.
    fn take_over(&mut self) -> Result<bool, String> {
        let file = Role::of_file(self.file)?;
        match (&mut self.role, file) {
            (Role::MobileRouter(own), Role::MobileRouter(new)) => {
                if let Some(attachment) = self.driver.host_mut().attachment_mut() {
                    attachment.set_failback_times(new.uplinks.times());
                }
                own.uplinks.hold_time = new.uplinks.hold_time;
                own.uplinks.hysteresis = new.uplinks.hysteresis;
                own.uplinks.longest_switch_time = new.uplinks.longest_switch_time;
                Ok(format!("{own:?}") == format!("{new:?}"))
            }
            (Role::HomeAgent(own), Role::HomeAgent(new)) => {
                let mobiles = new.mobiles()?;
                for port in self.driver.ports_mut() {
                    port.medium.set_routers(&new.routers)?;
                }
                node::subscribe(self.driver.host_mut(), &mobiles);
                self.installed.lead_to(new.prefixes())?;
                own.routers = new.routers.clone();
                Ok(format!("{own:?}") == format!("{new:?}"))
            }
            _ => Err(format!(
                "{}: it describes another role",
                self.file.display()
            )),
        }
    }

    /// Says at the end what was carried and what was not.
    fn tell(&mut self) {
        let counts = self.driver.counts(&mut self.kernel);
        let mut words = format!("received {}, sent {}", counts.received, counts.sent);
        for (cause, number) in losses(&counts, self.driver.host_mut()) {
            if number > 0 {
                words += &format!(", {number} {cause}");
            }
        }
        if counts.missed_link_events > 0 {
            words += &format!("; missed news of links {} times", counts.missed_link_events);
        }
        say(&format!("ended by a signal; packets: {words}"));
    }
}

/// Returns the packets that were lost, by the cause.
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
