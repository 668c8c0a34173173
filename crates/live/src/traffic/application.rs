//! Applications at one end of a stream.

use super::blocks::Blocks;
use super::outcome::RoundTrip;
use super::requests::Requests;
use baton_proto::time::{Duration, Instant};
use baton_sim::rng::Seed;
use baton_sim::scenario::model::{Flow, Traffic};
use baton_sim::world::flow::Role;

/// An application at one end of a stream, with what it has yet to write.
#[derive(Debug)]
pub(super) struct Application {
    kind: Kind,
    /// Bytes to be written as the connection takes them.
    pub unwritten: u64,
    /// True if it closes once all is written.
    pub closing: bool,
    /// Time from which it begins nothing new, if it keeps the time.
    stop: Option<Instant>,
    stopped: bool,
}

#[derive(Debug)]
enum Kind {
    /// Writes what it has from the start, if anything, and reads what comes.
    Plain,
    Blocks(Blocks),
    Client(Client),
    Server(Server),
    Pinger(Requests, u64),
    /// Answers with as much as came.
    Echo,
}

/// Asks for pages.
#[derive(Debug)]
struct Client {
    request: u32,
    page: u64,
    think_time: Duration,
    /// Pages still to be had; `None` is without end.
    left: Option<u32>,
    /// Time of its next request; `None` while it waits for a page.
    next: Option<Instant>,
    /// Bytes of the present page that it has.
    received: u64,
}

/// Answers requests with pages.
#[derive(Debug)]
struct Server {
    request: u64,
    page: u64,
    /// Bytes of a request that is not complete yet.
    received: u64,
}

impl Application {
    /// The application of a flow at `role`.
    pub fn new(flow: &Flow, role: Role, seed: Seed) -> Application {
        let mut application = Application {
            kind: kind(flow, role, seed),
            unwritten: 0,
            closing: false,
            stop: None,
            stopped: false,
        };
        if let (Traffic::Bulk { bytes }, Role::Source) = (flow.traffic, role) {
            application.unwritten = bytes.unwrap_or(u64::MAX);
            application.closing = true;
        }
        let is_active = (role == Role::Sink) == matches!(flow.traffic, Traffic::Pages { .. });
        if is_active {
            application.stop = flow.stop;
        }
        application
    }

    /// Returns the next time at which it has something to do of its own accord.
    pub fn deadline(&self) -> Option<Instant> {
        if self.stopped {
            return None;
        }
        let own = match &self.kind {
            Kind::Blocks(blocks) => blocks.deadline(),
            Kind::Client(client) => client.next,
            Kind::Pinger(requests, _) => requests.deadline(),
            Kind::Plain | Kind::Server(_) | Kind::Echo => None,
        };
        [own, self.stop].into_iter().flatten().min()
    }

    /// Does what is due.
    pub fn tick(&mut self, now: Instant) {
        if self.stopped {
            return;
        }
        let unwritten = self.unwritten;
        self.write_due(now);
        // Data that was due before the stop is written first, however late this is called.
        let is_late = self.unwritten > unwritten;
        if self.stop.is_some_and(|stop| now >= stop) && !is_late {
            self.stopped = true;
            self.unwritten = 0;
            self.closing = true;
        }
    }

    fn write_due(&mut self, now: Instant) {
        match &mut self.kind {
            Kind::Blocks(blocks) => {
                while let Some(length) = blocks.take_due(now) {
                    self.unwritten += u64::from(length);
                }
                self.closing |= blocks.is_done();
            }
            Kind::Client(client) => {
                let stop = self.stop;
                let is_due =
                    |next: &mut Instant| *next <= now && stop.is_none_or(|stop| *next < stop);
                if client.next.take_if(is_due).is_some() {
                    self.unwritten += u64::from(client.request);
                }
            }
            Kind::Pinger(requests, _) => {
                while requests.take_due(now).is_some() {
                    self.unwritten += u64::from(requests.size);
                }
            }
            Kind::Plain | Kind::Server(_) | Kind::Echo => {}
        }
    }

    /// Bytes have come; answered requests are added to `round_trips`.
    pub fn take(&mut self, now: Instant, bytes: u64, round_trips: &mut Vec<RoundTrip>) {
        match &mut self.kind {
            Kind::Client(client) => self.closing |= client.take(now, bytes),
            Kind::Server(server) => {
                server.received += bytes;
                self.unwritten += server.received / server.request * server.page;
                server.received %= server.request;
            }
            Kind::Pinger(requests, received) => {
                *received += bytes;
                let size = u64::from(requests.size.max(1));
                round_trips.extend((0..*received / size).map_while(|_| requests.answer_next(now)));
                *received %= size;
                self.closing |= requests.is_done();
            }
            Kind::Echo => self.unwritten += bytes,
            Kind::Plain | Kind::Blocks(_) => {}
        }
    }
}

impl Client {
    /// Bytes of a page have come; true if it was the last page's last.
    fn take(&mut self, now: Instant, bytes: u64) -> bool {
        self.received += bytes;
        if self.received < self.page {
            return false;
        }
        self.received = 0;
        self.left = self.left.map(|left| left.saturating_sub(1));
        if self.left == Some(0) {
            return true;
        }
        self.next = Some(now + self.think_time);
        false
    }
}

fn kind(flow: &Flow, role: Role, seed: Seed) -> Kind {
    match (flow.traffic, role) {
        (Traffic::Pages { request, page, .. }, Role::Source) => Kind::Server(Server {
            request: u64::from(request.max(1)),
            page,
            received: 0,
        }),
        (
            Traffic::Pages {
                request,
                page,
                think_time,
                count,
            },
            Role::Sink,
        ) => Kind::Client(Client {
            request,
            page,
            think_time,
            left: count,
            next: (count != Some(0)).then_some(flow.start),
            received: 0,
        }),
        (Traffic::Ping { .. }, Role::Source) => {
            Requests::of(flow).map_or(Kind::Plain, |requests| Kind::Pinger(requests, 0))
        }
        (Traffic::Ping { .. }, Role::Sink) => Kind::Echo,
        (Traffic::Constant { .. } | Traffic::OnOff { .. }, Role::Source) => {
            Blocks::of(flow, seed).map_or(Kind::Plain, Kind::Blocks)
        }
        (Traffic::Bulk { .. } | Traffic::Constant { .. } | Traffic::OnOff { .. }, _) => Kind::Plain,
    }
}
