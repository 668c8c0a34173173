//! Links whose state follows from where their mobile is: what they say, when it is time.

use super::{Event, World};
use crate::link::reception::ReceptionEvent;
use crate::rng::Seed;
use baton_proto::interface::LinkEvent;
use baton_proto::packet::Signal;
use baton_proto::time::{Duration, Instant};

/// What a link is going to say.
#[derive(Clone, Copy, Debug)]
pub(super) struct Notice {
    link: usize,
    event: ReceptionEvent,
}

impl World {
    /// Works out what links will say, and takes down those that are not received at the start.
    pub(super) fn add_receptions(&mut self) {
        let seed = Seed(self.scenario.seed);
        for (link, spec) in self.scenario.links.iter().enumerate() {
            let Some(along) = &spec.reception else {
                continue;
            };
            let name = &self.scenario.nodes[along.mobile.0];
            let mut draws = seed.stream(&format!("mobile {name} track"));
            let later = Duration::from_nanos(draws.below(along.jitter.as_nanos().max(1)));
            let run = along.run.delayed(later);
            self.runs.insert(link, run);
            for event in along.reception.events(&run) {
                if event.at == Instant::ZERO && event.news == LinkEvent::Down {
                    let wire = &mut self.wires[link];
                    wire.works = false;
                    wire.link.set_down(Instant::ZERO, false);
                    continue;
                }
                let number = self.notices.len() as u32;
                self.notices.push(Notice { link, event });
                self.queue.push(event.at, Event::Notice(number));
            }
        }
    }

    /// A link says something now.
    pub(super) fn hear_notice(&mut self, number: usize) {
        let Notice { link, event } = self.notices[number];
        match event.news {
            LinkEvent::Up => self.turn_and_record(link, true),
            LinkEvent::Down => self.turn_and_record(link, false),
            LinkEvent::GoingDown => self.tell_going_down(link, true),
            LinkEvent::Rollback => self.tell_going_down(link, false),
            _ => self.tell_notice(link, &event),
        }
    }

    fn turn_and_record(&mut self, link: usize, up: bool) {
        let signal = if up { LinkEvent::Up } else { LinkEvent::Down };
        self.record_unless_signalled(link, signal);
        self.turn(link, up);
    }

    /// Tells the mobile that a link that is up will not be for long, or that it stays.
    fn tell_going_down(&mut self, link: usize, going_down: bool) {
        let signal = match going_down {
            true => LinkEvent::GoingDown,
            false => LinkEvent::Rollback,
        };
        self.record_unless_signalled(link, signal);
        let Some(number) = self.wires[link].mobile else {
            return;
        };
        if self.mobiles[number].attached == Some(link) {
            self.signal(number, link, signal);
        }
        let event = match going_down {
            true => LinkEvent::GoingDown,
            false => LinkEvent::Rollback,
        };
        self.tell_chooser(number, link, event);
    }

    /// Records what no protocol is told, which would record it itself.
    fn record_unless_signalled(&mut self, link: usize, signal: LinkEvent) {
        let Some(number) = self.wires[link].mobile else {
            return;
        };
        let mobile = &self.mobiles[number];
        if mobile.protocol.is_none() || mobile.attached != Some(link) {
            let node = mobile.node.0;
            self.record_link_signal(node, link, signal);
        }
    }

    /// Records what changes nothing, and lets the mobile decide.
    fn tell_notice(&mut self, link: usize, event: &ReceptionEvent) {
        let Some(number) = self.wires[link].mobile else {
            return;
        };
        let node = self.mobiles[number].node.0;
        let details = event.received_dbm;
        let details = details.map_or(String::new(), |power| format!("{power:.2} dBm"));
        self.record_link(node, link, Signal::new(event.news.name(), details));
        self.tell_chooser(number, link, event.news);
    }
}
