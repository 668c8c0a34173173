//! Timelines of a mobile's attachment. Interfaces 0 and 1 lead to plain links, interface 2 to a radio network.

mod anything;
mod network;
mod policies;
mod preparation;
mod timetable;

use super::decision::Answer;
use super::*;
use crate::time::Duration;

const INTERFACES: [AccessInterface; 3] = [
    AccessInterface {
        id: InterfaceId(0),
        is_network: false,
    },
    AccessInterface {
        id: InterfaceId(1),
        is_network: false,
    },
    AccessInterface {
        id: InterfaceId(2),
        is_network: true,
    },
];

fn at(milliseconds: u64) -> Instant {
    Instant::from_millis(milliseconds)
}

fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

fn settings(policy: Policy) -> Settings {
    Settings {
        interfaces: INTERFACES.to_vec(),
        policy,
        registers: false,
        signalling: None,
        detaches_old: false,
    }
}

/// Handover from a link that keeps delivering.
const SOFT: Handover = Handover::MAKE_BEFORE_BREAK;

fn hard(outage: u64, old_queue: OldQueue) -> Handover {
    Handover::Hard {
        outage: ms(outage),
        old_queue,
    }
}

fn entry(milliseconds: u64, to: Option<usize>, handover: Handover) -> Entry {
    Entry {
        at: at(milliseconds),
        to: to.map(InterfaceId),
        handover,
        announced: None,
    }
}

fn timetable(first: usize, entries: &[Entry]) -> Policy {
    Policy::Timetable(Timetable::new(Some(InterfaceId(first)), entries.to_vec()))
}

/// A mobile, and its outputs as text with their times in milliseconds.
struct Timeline {
    mobile: Attachment,
    now: u64,
    log: Vec<(u64, String)>,
}

impl Timeline {
    /// Begins at time zero with these links up.
    fn begin(settings: Settings, up: &[usize]) -> Timeline {
        let up: Vec<InterfaceId> = up.iter().copied().map(InterfaceId).collect();
        let mut timeline = Timeline {
            mobile: Attachment::new(settings),
            now: 0,
            log: Vec::new(),
        };
        timeline.mobile.begin(at(0), &up);
        timeline.take_outputs();
        timeline
    }

    /// Passes in a medium's event.
    fn hear(&mut self, milliseconds: u64, interface: usize, event: LinkEvent) {
        self.run_until(milliseconds);
        self.mobile
            .handle_link(at(milliseconds), InterfaceId(interface), event);
        self.take_outputs();
    }

    fn answer(&mut self, milliseconds: u64, answer: Option<Answer>) {
        self.run_until(milliseconds);
        let input = Input::Answer(answer);
        self.mobile.handle_input(at(milliseconds), input);
        self.take_outputs();
    }

    fn registered(&mut self, milliseconds: u64, interface: usize) {
        self.run_until(milliseconds);
        let registered = Signal::Registered(InterfaceId(interface));
        self.mobile.handle_signal(at(milliseconds), &registered);
        self.take_outputs();
    }

    fn prepared(&mut self, milliseconds: u64) {
        self.run_until(milliseconds);
        self.mobile
            .handle_signal(at(milliseconds), &Signal::HandoverPrepared);
        self.take_outputs();
    }

    fn request(
        &mut self,
        milliseconds: u64,
        to: Option<usize>,
        handover: Handover,
    ) -> Result<(), Refusal> {
        self.run_until(milliseconds);
        let to = to.map(InterfaceId);
        let result = self.mobile.request(at(milliseconds), to, handover);
        self.take_outputs();
        result
    }

    fn run_until(&mut self, milliseconds: u64) {
        while let Some(due) = self
            .mobile
            .poll_timeout()
            .filter(|due| *due <= at(milliseconds))
        {
            self.now = self.now.max(due.as_nanos() / 1_000_000);
            self.mobile.handle_timeout(at(self.now));
            self.take_outputs();
        }
        self.now = milliseconds;
    }

    fn take_outputs(&mut self) {
        while let Some(output) = self.mobile.poll() {
            self.log.push((self.now, words(output)));
        }
    }

    /// Returns the outputs since the last call, with their times.
    fn told(&mut self, until: u64) -> Vec<(u64, String)> {
        self.run_until(until);
        core::mem::take(&mut self.log)
    }

    /// Returns the outputs, all of one moment.
    fn told_at(&mut self, milliseconds: u64) -> Vec<String> {
        let told = self.told(milliseconds).into_iter();
        let one = |(when, what)| {
            assert_eq!(when, milliseconds, "{what}");
            what
        };
        told.map(one).collect()
    }
}

fn words(output: Output) -> String {
    let number = |interface: Option<InterfaceId>| match interface {
        Some(interface) => interface.0.to_string(),
        None => "none".to_owned(),
    };
    match output {
        Output::Command(interface, command) => match command {
            LinkCommand::Detach { keep_queue: true } => format!("{}: keep", interface.0),
            LinkCommand::Detach { keep_queue: false } => format!("{}: detach", interface.0),
            LinkCommand::TakeFromIp { own: true } => format!("{}: take all", interface.0),
            LinkCommand::TakeFromIp { own: false } => format!("{}: take far", interface.0),
            other => format!("{}: {other:?}", interface.0),
        },
        Output::Signal(signal) => match signal {
            Signal::Announced => "announced".to_owned(),
            Signal::HandoverForeseen(interface) => format!("prepare {}", interface.0),
            Signal::Begun(begun) => format!(
                "begun {} {} to {} at {}",
                begun.kind.name(),
                number(begun.from),
                number(begun.to),
                begun.at.as_nanos() / 1_000_000
            ),
            Signal::Attached(interface) => format!("attached {}", number(interface)),
            Signal::Outgoing(interface) => format!("outgoing {}", number(interface)),
            Signal::InUse(interface, event) => format!("transports: {} {event:?}", interface.0),
            Signal::Link(interface, event) => format!("protocol: {} {event:?}", interface.0),
            Signal::Complete(interface) => format!("complete {}", number(interface)),
            other => panic!("{other:?} is a layer's"),
        },
    }
}
