//! Carriers of links on demand.

use super::{Event, World};
use crate::link::End;
use crate::link::demand::{Carrier, Part};
use crate::record::Quantity;

impl World {
    /// Creates the carriers; their superframes begin with the run.
    pub(super) fn add_carriers(&mut self) {
        for (number, config) in self.scenario.carriers.iter().enumerate() {
            let carrier = Carrier::new(config.clone());
            let event = Event::Carrier(number as u32);
            self.queue.push(carrier.next_superframe(), event);
            self.net.carriers.push(carrier);
        }
    }

    /// Begins a superframe.
    pub(super) fn run_carrier(&mut self, number: usize) {
        let carrier = &mut self.net.carriers[number];
        let terminals = carrier.config().terminals.iter();
        let links: Vec<usize> = terminals.map(|terminal| terminal.link.0).collect();
        let wires = &mut self.net.wires;
        let backlog = |&link: &usize| wires.plain_mut(link).link.backlog_bits(self.now);
        let backlogs: Vec<Option<u64>> = links.iter().map(backlog).collect();
        let parts = carrier.begin(&backlogs);
        let event = Event::Carrier(number as u32);
        self.queue.push(carrier.next_superframe(), event);
        for (link, part) in links.into_iter().zip(parts) {
            let wire = self.net.wires.plain_mut(link);
            wire.link.assign(self.now, part.assignment);
            self.net.touch(link);
            self.record_part(link, part);
        }
    }

    /// Records the rates for which a terminal asks, and which it gets.
    fn record_part(&mut self, link: usize, part: Part) {
        if !self.probes.recorder.records_series() {
            return;
        }
        let subject = self.subjects(link)[End::B.index()];
        let Part {
            assignment,
            requested,
        } = part;
        let assigned = assignment.grid.rate(assignment.count.into());
        let requested = assignment.grid.rate(requested);
        let recorder = &mut self.probes.recorder;
        recorder.series(self.now, subject, Quantity::AssignedRate, assigned);
        recorder.series(self.now, subject, Quantity::RequestedRate, requested);
    }
}
