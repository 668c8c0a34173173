//! State of an application: of its kind, and of the writes due at its two ends.

use super::super::flow::Role;
use super::blocks::{Blocks, Pauses};
use super::pages::Pages;
use super::ping::{Ping, PingSummary};
use crate::rng::Stream;
use crate::scenario::model::Traffic;
use baton_proto::time::{Duration, Instant};

/// An application with its two ends.
#[derive(Debug)]
pub struct Application {
    pub(super) kind: Kind,
    /// Data that source and sink have yet to write into their connection.
    pub(super) outboxes: [Outbox; 2],
    /// True once its stop time has come.
    stopped: bool,
}

#[derive(Debug)]
pub(super) enum Kind {
    Bulk,
    Blocks(Blocks),
    Pages(Pages),
    Ping(Ping),
}

/// Data that one end has to write.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Outbox {
    pub written: u64,
    pub unwritten: u64,
    /// True if it closes once all is written.
    pub closing: bool,
}

impl Application {
    /// Creates the application of a scenario's flow; `stream` draws its random times.
    pub fn new(traffic: Traffic, start: Instant, stream: Stream) -> Application {
        let mut outboxes = [Outbox::default(); 2];
        let kind = match traffic {
            Traffic::Bulk { bytes } => {
                outboxes[Role::Source as usize].unwritten = bytes.unwrap_or(u64::MAX);
                outboxes[Role::Source as usize].closing = true;
                Kind::Bulk
            }
            Traffic::Constant {
                rate,
                packet_size,
                bytes,
            } => Kind::Blocks(Blocks::new(rate, packet_size, bytes, start, None)),
            Traffic::OnOff {
                rate,
                packet_size,
                on,
                off,
                random,
            } => {
                let random = random.then_some(stream);
                let pauses = Pauses { on, off, random };
                Kind::Blocks(Blocks::new(rate, packet_size, None, start, Some(pauses)))
            }
            Traffic::Pages {
                request,
                page,
                think_time,
                count,
            } => Kind::Pages(Pages::new(request, page, think_time, count, start)),
            Traffic::Ping {
                interval,
                size,
                count,
            } => Kind::Ping(Ping::new(interval, size, count, start)),
        };
        Application {
            kind,
            outboxes,
            stopped: false,
        }
    }

    /// Returns the time of its next own action.
    pub fn deadline(&self) -> Option<Instant> {
        match &self.kind {
            _ if self.stopped => None,
            Kind::Bulk => None,
            Kind::Blocks(blocks) => blocks.deadline(),
            Kind::Pages(pages) => pages.deadline(),
            Kind::Ping(ping) => ping.deadline(),
        }
    }

    /// Returns true once [`Application::stop`] has been called.
    pub fn is_stopped(&self) -> bool {
        self.stopped
    }

    /// Returns true if its source sends nothing for now: it is done, has stopped, or pauses.
    pub fn rests(&self) -> bool {
        match &self.kind {
            _ if self.stopped => true,
            Kind::Blocks(blocks) => blocks.rests(),
            Kind::Ping(ping) => ping.deadline().is_none(),
            Kind::Bulk | Kind::Pages(_) => false,
        }
    }

    /// Begins nothing new: the active end closes when what it has handed over is gone.
    pub fn stop(&mut self, active: Role) {
        self.stopped = true;
        let outbox = &mut self.outboxes[active as usize];
        outbox.unwritten = 0;
        outbox.closing = true;
    }

    /// Bytes that the source of a stream over TCP has handed over, or is about to.
    pub(super) fn stream_length(&self) -> u64 {
        let outbox = &self.outboxes[Role::Source as usize];
        outbox.written.saturating_add(outbox.unwritten)
    }

    /// Makes datagrams carry at most `payload` bytes.
    pub fn shrink_to(&mut self, payload: u32) {
        if let Kind::Blocks(blocks) = &mut self.kind {
            blocks.shrink_to(payload);
        }
    }

    /// Returns the number of duplicate datagrams at the far end.
    pub fn came_again(&self) -> u64 {
        match &self.kind {
            Kind::Blocks(blocks) => blocks.received.again,
            _ => 0,
        }
    }

    /// Returns the measurements of a ping flow.
    pub fn ping_summary(&self) -> Option<PingSummary> {
        match &self.kind {
            Kind::Ping(ping) => Some(ping.summary()),
            _ => None,
        }
    }

    /// Returns the round-trip time of the latest answered ping.
    pub fn latest_ping(&self) -> Option<Duration> {
        match &self.kind {
            Kind::Ping(ping) => ping.latest,
            _ => None,
        }
    }
}
