//! The attendant of a daemon's node: it says what happens, and counts handovers.

use crate::engine::Owner;
use crate::operation::status::HandoverStatus;
use baton_proto::host::{Host, HostEvent};
use baton_proto::interface::InterfaceId;
use baton_proto::mobility::attachment::Signal;
use baton_proto::time::Instant;
use std::io::{self, Write};

/// The name of the news that a home agent's binding has changed.
const BOUND: &str = "Binding Updated";

/// Says something to the operator. A log that nobody takes, as its disk is full, is no reason to end.
pub fn say(words: &str) {
    let _ = writeln!(io::stderr(), "batond: {words}");
}

/// The attendant of a node.
#[derive(Debug)]
pub struct Attendant {
    /// Names of the node's interfaces.
    names: Vec<String>,
    handovers: HandoverStatus,
    /// The beginning of the handover under way.
    begun: Option<Instant>,
    in_use: Option<InterfaceId>,
}

impl Attendant {
    /// Attends a node whose interfaces have these names.
    pub fn new(names: Vec<String>) -> Attendant {
        Attendant {
            names,
            handovers: HandoverStatus::default(),
            begun: None,
            in_use: None,
        }
    }

    /// Returns the handovers so far.
    pub fn handovers(&self) -> &HandoverStatus {
        &self.handovers
    }

    /// Returns the name of the interface in use, of a mobile.
    pub fn in_use(&self) -> Option<&str> {
        self.names.get(self.in_use?.0).map(String::as_str)
    }

    /// Returns the interface with a name.
    pub fn interface(&self, name: &str) -> Option<InterfaceId> {
        let mut names = self.names.iter();
        names.position(|known| known == name).map(InterfaceId)
    }

    fn say(&self, now: Instant, words: &str) {
        say(&format!("{:.3} s: {words}", now.as_secs_f64()));
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
    fn handle_event(&mut self, now: Instant, _host: &mut Host, event: HostEvent) {
        if let HostEvent::Layer(signal) = event {
            self.handovers.completed += u64::from(signal.name == BOUND);
            let words = format!("{}, {}", signal.name, signal.details);
            self.say(now, words.trim_end_matches(", "));
        }
    }

    fn handle_attachment(&mut self, now: Instant, signal: Signal) {
        match signal {
            Signal::Begun(begun) => self.begun = Some(begun.at),
            Signal::Complete(_) => self.complete(now),
            Signal::Attached(interface) => {
                self.in_use = interface;
                if let Some(name) = self.in_use() {
                    self.say(now, &format!("uses {name}"));
                }
            }
            _ => {}
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
