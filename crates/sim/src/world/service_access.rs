//! Queues at links' entrances that are open for handovers only: SI-SAP's primitives SI-C-QUEUE_OPEN, _MODIFY and _CLOSE, with
//! the state of TCP connections in the queue's specification (QIDSPEC; study S, section 2).
//!
//! The state comes from the sending hosts at once and takes no capacity, wherever they are: the study does not say how it
//! would travel.

use super::flow::Role;
use super::{Event, World};
use crate::link::End;
use crate::link::regulator::{Opening, RegulatorConfig};
use baton_proto::host::Socket;
use baton_proto::packet::Wording;
use baton_proto::rate::DataRate;
use baton_proto::time::{Duration, Instant};

/// Time between modifications (chosen).
const INTERVAL: Duration = Duration::from_millis(100);

/// A queue that is open for handovers only.
#[derive(Debug)]
pub(super) struct Queue {
    pub(super) link: usize,
    /// Place among the link's regulators, from 0; its identifier (QID) is one more.
    place: usize,
    from: End,
    opening: Opening,
    /// Configured rate.
    most: DataRate,
    /// Rate in force; `None` while it is closed.
    rate: Option<DataRate>,
    /// Time of the closing, once the handover is complete.
    closes: Option<Instant>,
    /// Time of the next event.
    next: Instant,
}

impl World {
    /// Notes the queues that are opened for handovers.
    pub(super) fn add_queues(&mut self) {
        for (link, spec) in self.scenario.links.iter().enumerate() {
            let mut place = 0;
            for config in &spec.config.regulators {
                let count = count(config);
                let own = config.opening.into_iter();
                let own = own.flat_map(|opening| {
                    (place..place + count).map(move |place| Queue {
                        link,
                        place,
                        from: config.from,
                        opening,
                        most: config.rate,
                        rate: None,
                        closes: None,
                        next: Instant::NEVER,
                    })
                });
                self.net.queues.extend(own);
                place += count;
            }
        }
    }

    /// Opens the queues of a link to which a handover begins.
    pub(super) fn open_queues(&mut self, link: usize) {
        for number in 0..self.net.queues.len() {
            if self.net.queues[number].link != link {
                continue;
            }
            self.net.queues[number].closes = None;
            if self.net.queues[number].rate.is_none() {
                self.set_queue(number, "SI-C-QUEUE_OPEN");
                self.arm_queue(number, self.now + INTERVAL);
            }
        }
    }

    /// Lets the open queues of a mobile's access links be closed after their times, since its handover is complete.
    pub(super) fn close_queues(&mut self, mobile: usize) {
        for number in 0..self.net.queues.len() {
            let queue = &self.net.queues[number];
            let is_own = self.net.wires[queue.link].mobile() == Some(mobile);
            if is_own && queue.rate.is_some() && queue.closes.is_none() {
                let closes = self.now + queue.opening.closes_after;
                self.net.queues[number].closes = Some(closes);
                let next = self.net.queues[number].next.min(closes);
                self.arm_queue(number, next);
            }
        }
    }

    fn arm_queue(&mut self, number: usize, at: Instant) {
        if self.net.queues[number].next != at {
            self.net.queues[number].next = at;
            self.queue.push(at, Event::Queue(number as u32));
        }
    }

    /// Modifies a queue by the state of its connections, or closes it.
    pub(super) fn run_queue(&mut self, number: usize) {
        let queue = &mut self.net.queues[number];
        if queue.next != self.now {
            return;
        }
        queue.next = Instant::NEVER;
        if queue.closes.is_some_and(|closes| closes <= self.now) {
            (queue.rate, queue.closes) = (None, None);
            let (link, place) = (queue.link, queue.place);
            self.net.touch(link);
            self.net
                .wires
                .plain_mut(link)
                .link
                .set_queue(self.now, place, None);
            return self.record_queue(number, "SI-C-QUEUE_CLOSE", "");
        }
        if queue.opening.follows_window {
            self.set_queue(number, "SI-C-QUEUE_MODIFY");
        }
        let closes = self.net.queues[number].closes.unwrap_or(Instant::NEVER);
        self.arm_queue(number, closes.min(self.now + INTERVAL));
    }

    /// Sets a queue's rate, if it changes.
    fn set_queue(&mut self, number: usize, primitive: &'static str) {
        let queue = &self.net.queues[number];
        let (link, place) = (queue.link, queue.place);
        let rate = match queue.opening.follows_window {
            true => self
                .window_rate(link, place)
                .map_or(queue.most, |rate| rate.min(queue.most)),
            false => queue.most,
        };
        if self.net.queues[number].rate == Some(rate) {
            return;
        }
        self.net.queues[number].rate = Some(rate);
        self.net.touch(link);
        self.net
            .wires
            .plain_mut(link)
            .link
            .set_queue(self.now, place, Some(rate));
        let words = format!(", {} bit/s", rate.bits_per_second());
        self.record_queue(number, primitive, &words);
    }

    /// Returns the rate at which the connections of a queue send by their windows and round-trip times, if any is known.
    fn window_rate(&self, link: usize, place: usize) -> Option<DataRate> {
        let flows = self.net.wires.plain(link).link.flows_of_queue(place);
        let rates = flows.into_iter().filter_map(|flow| {
            let flow = flow.0 as usize;
            let socket = self.load.flows[flow].sockets[Role::Source as usize]?;
            let host = &self.net.nodes[self.scenario.flows[flow].from.0].host;
            let state = host.socket(socket).map(Socket::state)?;
            let bits = u128::from(state.congestion_window?) * 8 * 1_000_000_000;
            let round_trip = u128::from(state.smoothed_rtt?.as_nanos().max(1));
            u64::try_from(bits / round_trip).ok()
        });
        let sum = rates.fold(0, u64::saturating_add);
        (sum > 0).then(|| DataRate::from_bits_per_second(sum))
    }

    fn record_queue(&mut self, number: usize, primitive: &'static str, words: &str) {
        let queue = &self.net.queues[number];
        let (link, from) = (queue.link, queue.from);
        let details = format!("QID {}{words}", queue.place + 1);
        let (node, _) = self.net.wires.ends(link)[from.index()];
        self.record_link(node, link, Wording::new(primitive, details));
    }
}

/// Returns the number of a regulator's queues.
fn count(config: &RegulatorConfig) -> usize {
    match config.per_flow {
        true => config.flows.len(),
        false => 1,
    }
}
