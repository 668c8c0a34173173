//! Links whose state follows from their mobile's position, and their scheduled events.

use super::{Event, World};
use crate::link::reception::ReceptionEvent;
use crate::rng::Seed;
use baton_proto::interface::LinkEvent;
use baton_proto::packet::Wording;
use baton_proto::time::{Duration, Instant};

/// A scheduled event of a link.
#[derive(Clone, Copy, Debug)]
pub(super) struct ScheduledLinkEvent {
    pub(super) link: usize,
    event: ReceptionEvent,
}

impl World {
    /// Computes the events of links, and takes down links that are not received at the start.
    pub(super) fn add_receptions(&mut self) {
        let seed = Seed(self.scenario.seed);
        let mut out_of_reach = Vec::new();
        for (link, spec) in self.scenario.links.iter().enumerate() {
            let Some(along) = &spec.reception else {
                continue;
            };
            let name = &self.scenario.nodes[along.mobile.0];
            let mut draws = seed.stream(&format!("mobile {name} track"));
            let later = Duration::from_nanos(draws.below(along.jitter.as_nanos().max(1)));
            let run = along.run.delayed(later);
            self.script.runs.insert(link, run);
            for event in along.reception.events(&run) {
                if event.at == Instant::ZERO && event.news == LinkEvent::Down {
                    let wire = self.net.wires.plain_mut(link);
                    wire.works = false;
                    wire.link.set_down(Instant::ZERO, false);
                    out_of_reach.push((link, along.mobile.0));
                    continue;
                }
                let number = self.script.notices.len() as u32;
                self.script.notices.push(ScheduledLinkEvent { link, event });
                self.queue.push(event.at, Event::Notice(number));
            }
        }
        for (link, node) in out_of_reach {
            self.conceal_queue(link, node);
        }
    }

    /// Takes in a link's scheduled event.
    pub(super) fn handle_scheduled_event(&mut self, number: usize) {
        let ScheduledLinkEvent { link, event } = self.script.notices[number];
        self.record_notice(link, &event);
        match event.news {
            LinkEvent::Up => self.turn(link, true),
            LinkEvent::Down => self.turn(link, false),
            _ => {
                if let Some(number) = self.net.wires[link].mobile() {
                    let interface = self.net.interface(self.net.mobiles[number].node.0, link);
                    self.tell_mobile(number, interface, event.news);
                    self.tell_network(link, event.news);
                }
            }
        }
    }

    /// Records a link's events, except those for a protocol, which records them itself.
    fn record_notice(&mut self, link: usize, event: &ReceptionEvent) {
        let Some(number) = self.net.wires[link].mobile() else {
            return;
        };
        let mobile = &self.net.mobiles[number];
        let node = mobile.node.0;
        let is_told = mobile.protocol.is_some() && mobile.attached() == Some(link);
        match event.news {
            LinkEvent::Up | LinkEvent::Down | LinkEvent::GoingDown | LinkEvent::Rollback => {
                if !is_told {
                    self.record_link_signal(node, link, event.news);
                }
            }
            _ => {
                let details = event.received_dbm;
                let details = details.map_or(String::new(), |power| format!("{power:.2} dBm"));
                self.record_link(node, link, Wording::new(event.news.name(), details));
            }
        }
    }
}
