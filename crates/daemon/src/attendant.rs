//! The attendant of a daemon's node: logs its events, and counts handovers.

use crate::capture::Tap;
use crate::engine::Owner;
use crate::medium::News;
use crate::operation::status::HandoverStatus;
use baton_proto::host::{Host, HostEvent};
use baton_proto::interface::InterfaceId;
use baton_proto::mobility::attachment::Signal;
use baton_proto::time::Instant;
use tracing::info;

/// Name of the event that a home agent's binding has changed.
const BOUND: &str = "Binding Updated";

/// The attendant of a node.
#[derive(Debug)]
pub struct Attendant {
    /// Names of the node's interfaces, by index.
    names: Vec<String>,
    handovers: HandoverStatus,
    /// Start of the handover under way.
    begun: Option<Instant>,
    in_use: Option<InterfaceId>,
    tap: Tap,
}

impl Attendant {
    /// Creates the attendant of a node whose interfaces have these names.
    pub fn new(names: Vec<String>, tap: Tap) -> Attendant {
        Attendant {
            names,
            handovers: HandoverStatus::default(),
            begun: None,
            in_use: None,
            tap,
        }
    }

    /// Returns the handovers so far.
    pub fn handovers(&self) -> &HandoverStatus {
        &self.handovers
    }

    /// Returns the name of a mobile's interface in use.
    pub fn in_use(&self) -> Option<&str> {
        self.names.get(self.in_use?.0).map(String::as_str)
    }

    /// Returns the interface with a name.
    pub fn interface(&self, name: &str) -> Option<InterfaceId> {
        let mut names = self.names.iter();
        names.position(|known| known == name).map(InterfaceId)
    }

    fn complete(&mut self, now: Instant) {
        let Some(begun) = self.begun.take() else {
            return;
        };
        let took = now.saturating_since(begun).as_secs_f64();
        let handovers = &mut self.handovers;
        handovers.completed += 1;
        handovers.last_s = took;
        handovers.longest_s = handovers.longest_s.max(took);
        handovers.total_s += took;
    }
}

impl Owner for Attendant {
    fn handle_event(&mut self, _now: Instant, _host: &mut Host, event: HostEvent) {
        if let HostEvent::Layer(signal) = event {
            self.handovers.completed += u64::from(signal.name == BOUND);
            let words = format!("{}, {}", signal.name, signal.details);
            let words = words.trim_end_matches(", ");
            info!(
                event = signal.name,
                home_address = named("home address ", &signal.details),
                care_of_address = named("care-of address ", &signal.details),
                "{words}"
            );
            self.tap.event(words);
        }
    }

    fn handle_attachment(&mut self, now: Instant, signal: Signal) {
        match signal {
            Signal::Begun(begun) => self.begun = Some(begun.at),
            Signal::Complete(_) => self.complete(now),
            Signal::Attached(interface) => {
                self.in_use = interface;
                if let Some(interface) = self.in_use() {
                    info!(interface, "uses {interface}");
                    self.tap.event(&format!("uses {interface}"));
                }
            }
            _ => {}
        }
    }

    fn handle_link(&mut self, _now: Instant, (InterfaceId(place), is_up): (InterfaceId, bool)) {
        let interface = self.names[place].as_str();
        let state = if is_up { "up" } else { "down" };
        info!(interface, state, "{interface} is {state}");
        self.tap.event(&format!("{interface} is {state}"));
    }

    fn handle_news(&mut self, _now: Instant, InterfaceId(place): InterfaceId, news: &News) {
        let interface = self.names[place].as_str();
        info!(interface, path = news.path, "{interface}: {news}");
        self.tap.event(&format!("{interface}: {news}"));
    }
}

/// Returns the value of a name in a message's details.
fn named<'a>(name: &str, details: &'a str) -> Option<&'a str> {
    details.split(", ").find_map(|each| each.strip_prefix(name))
}
