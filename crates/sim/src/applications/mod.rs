//! Applications, each at one end of a flow.
//!
//! Applications read no clock and open nothing: time, received bytes and a [`Socket`] are arguments. The same code runs
//! in the simulator and, over a kernel's sockets, in a live run.
//!
//! To drive one: at [`Application::deadline`] call [`Application::tick`] or, over datagrams,
//! [`Application::take_datagram`] until it returns `None` and then [`Application::stop_if_due`]; pass received bytes to
//! [`Application::take`]; after each of these, and when a connection has room, call [`Application::fill`].

mod blocks;
mod pages;
mod requests;

pub use blocks::Block;
pub use pages::PageState;
pub use requests::{PingSummary, Requests, RoundTrip};

use crate::rng::Stream;
use crate::scenario::model::Traffic;
use crate::world::flow::Role;
use baton_proto::host::{Pattern, Socket};
use baton_proto::time::Instant;
use blocks::Blocks;
use pages::{Client, Server};

/// Most bytes of one write.
pub const LONGEST_WRITE: u64 = 256 * 1024;

/// An application at one end of a flow.
#[derive(Debug)]
pub struct Application {
    kind: Kind,
    /// Bytes written into the connection.
    pub written: u64,
    /// Bytes to be written as the connection accepts them.
    pub unwritten: u64,
    /// True if the end closes once all is written.
    pub closing: bool,
    /// Time from which nothing new begins; only of the end that keeps the time.
    stop: Option<Instant>,
    is_stopped: bool,
}

#[derive(Debug)]
enum Kind {
    /// Reader of everything received.
    Reader,
    /// Writer of all its data from the start.
    Bulk,
    Blocks(Blocks),
    Client(Client),
    Server(Server),
    Pinger(Requests),
    /// Echo: answers with as many bytes as were received.
    Echo,
}

/// A due datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Due {
    /// A block of data.
    Block(Block),
    /// The request of this number, of so many bytes.
    Request {
        /// Number of the request, from 0.
        number: u64,
        /// Payload bytes.
        size: u32,
    },
}

/// Meaning of received bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Heard {
    /// A request to answer.
    Request,
    /// Data of a stream.
    Data,
    /// Data of a page.
    Page(PageState),
    /// Replies completed, perhaps none.
    Replies(Vec<RoundTrip>),
}

impl Application {
    /// Creates the application of a flow at one end. `stream` draws its random times.
    pub fn new(
        traffic: &Traffic,
        (start, stop): (Instant, Option<Instant>),
        role: Role,
        stream: Stream,
    ) -> Application {
        let keeps_time = (role == Role::Sink) == matches!(traffic, Traffic::Pages { .. });
        let stop = stop.filter(|_| keeps_time);
        let mut application = Application {
            kind: kind(traffic, (start, stop), role, stream),
            written: 0,
            unwritten: 0,
            closing: false,
            stop,
            is_stopped: false,
        };
        if let (Traffic::Bulk { bytes }, Role::Source) = (traffic, role) {
            application.unwritten = bytes.unwrap_or(u64::MAX);
            application.closing = true;
        }
        application
    }

    /// Returns the time of its own next action.
    pub fn deadline(&self) -> Option<Instant> {
        if self.is_stopped {
            return None;
        }
        let own = match &self.kind {
            Kind::Blocks(blocks) => blocks.deadline(),
            Kind::Client(client) => client.deadline(),
            Kind::Pinger(requests) => requests.deadline(),
            Kind::Reader | Kind::Bulk | Kind::Server(_) | Kind::Echo => None,
        };
        [own, self.stop].into_iter().flatten().min()
    }

    /// Takes up the data due for a connection; returns true if deliveries are due from now on.
    pub fn tick(&mut self, now: Instant) -> bool {
        if self.is_stopped {
            return false;
        }
        let before = self.unwritten;
        match &mut self.kind {
            Kind::Blocks(blocks) => {
                while let Some(block) = blocks.take_due(now) {
                    self.unwritten += u64::from(block.length);
                }
                self.closing |= blocks.is_done();
            }
            Kind::Client(client) => self.unwritten += client.ask(now, self.stop).unwrap_or(0),
            Kind::Pinger(requests) => {
                while requests.take_due(now).is_some() {
                    self.unwritten += u64::from(requests.size);
                }
            }
            Kind::Reader | Kind::Bulk | Kind::Server(_) | Kind::Echo => {}
        }
        let has_begun = self.unwritten > before;
        // Data due before the stop is written first, however late this is called.
        if !has_begun {
            self.stop_if_due(now);
        }
        has_begun || (matches!(self.kind, Kind::Bulk) && !self.is_stopped)
    }

    /// Returns the next datagram that is due.
    pub fn take_datagram(&mut self, now: Instant) -> Option<Due> {
        match &mut self.kind {
            _ if self.is_stopped => None,
            Kind::Blocks(blocks) => blocks.take_due(now).map(Due::Block),
            Kind::Pinger(requests) => {
                let number = requests.take_due(now)?;
                let size = requests.size;
                Some(Due::Request { number, size })
            }
            _ => None,
        }
    }

    /// Stops: begins nothing new from the stop on, and closes once all data handed over is written.
    pub fn stop_if_due(&mut self, now: Instant) {
        if self.stop.is_some_and(|stop| now >= stop) {
            self.is_stopped = true;
            self.unwritten = 0;
            self.closing = true;
        }
    }

    /// Takes in bytes received over a connection, and owes the answers that they request.
    pub fn take(&mut self, now: Instant, bytes: u64) -> Heard {
        match &mut self.kind {
            Kind::Client(client) => {
                let state = client.take(now, bytes);
                self.closing |= state == PageState::Last;
                Heard::Page(state)
            }
            Kind::Pinger(requests) => {
                let replies = requests.take_bytes(now, bytes);
                self.closing |= requests.is_done();
                Heard::Replies(replies)
            }
            Kind::Server(server) => {
                self.unwritten += server.serve(bytes);
                Heard::Request
            }
            Kind::Echo => {
                self.unwritten += bytes;
                Heard::Request
            }
            Kind::Reader | Kind::Bulk | Kind::Blocks(_) => Heard::Data,
        }
    }

    /// Takes in the reply in a datagram or an echo to the request whose number ends in these bits.
    pub fn take_reply(&mut self, now: Instant, low: u16, bits: u32) -> Option<RoundTrip> {
        let Kind::Pinger(requests) = &mut self.kind else {
            return None;
        };
        let reply = requests.answer(now, low, bits);
        self.closing |= requests.is_done();
        reply
    }

    /// Writes piece by piece while the connection has room, and closes at the end. `stream` is the number of the data's
    /// pattern.
    pub fn fill<S: Socket + ?Sized>(&mut self, socket: &mut S, stream: u32) {
        let record = match &self.kind {
            Kind::Blocks(blocks) if socket.keeps_records() => Some(u64::from(blocks.size())),
            _ => None,
        };
        while self.unwritten > 0 {
            let length = self.unwritten.min(record.unwrap_or(LONGEST_WRITE));
            let taken = socket.write(Pattern {
                stream,
                offset: self.written,
                length,
                is_record: record.is_some(),
            });
            self.written += taken;
            self.unwritten -= taken;
            if taken < length || !socket.may_go_on_writing() {
                break;
            }
        }
        if self.unwritten == 0 && self.closing {
            socket.close();
        }
    }

    /// Returns true if its stop has passed.
    pub fn is_stopped(&self) -> bool {
        self.is_stopped
    }

    /// Returns true if it sends nothing for now: it is done, stopped, or pausing.
    pub fn rests(&self) -> bool {
        match &self.kind {
            _ if self.is_stopped => true,
            Kind::Blocks(blocks) => blocks.rests(),
            Kind::Pinger(requests) => requests.deadline().is_none(),
            _ => false,
        }
    }

    /// Returns true if it writes a stream of data.
    pub fn is_stream(&self) -> bool {
        matches!(self.kind, Kind::Bulk | Kind::Blocks(_))
    }

    /// Returns true if it echoes.
    pub fn is_echo(&self) -> bool {
        matches!(self.kind, Kind::Echo)
    }

    /// Returns the bytes handed over, or about to be.
    pub fn length(&self) -> u64 {
        self.written.saturating_add(self.unwritten)
    }

    /// Makes datagrams carry at most `payload` bytes.
    pub fn shrink_to(&mut self, payload: u32) {
        if let Kind::Blocks(blocks) = &mut self.kind {
            blocks.shrink_to(payload);
        }
    }

    /// Returns the bytes of blocks handed over so far; `None` for another application.
    pub fn emitted(&self) -> Option<u64> {
        match &self.kind {
            Kind::Blocks(blocks) => Some(blocks.emitted),
            _ => None,
        }
    }

    /// Returns the requests, if it sends some.
    pub fn requests(&self) -> Option<&Requests> {
        match &self.kind {
            Kind::Pinger(requests) => Some(requests),
            _ => None,
        }
    }
}

fn kind(
    traffic: &Traffic,
    (start, stop): (Instant, Option<Instant>),
    role: Role,
    stream: Stream,
) -> Kind {
    match (*traffic, role) {
        (Traffic::Bulk { .. }, Role::Source) => Kind::Bulk,
        (Traffic::Pages { request, page, .. }, Role::Source) => {
            Kind::Server(Server::new((request, page)))
        }
        (
            Traffic::Pages {
                request,
                page,
                think_time,
                count,
            },
            Role::Sink,
        ) => Kind::Client(Client::new((request, page), think_time, count, start)),
        (Traffic::Ping { .. }, Role::Source) => {
            Requests::of(traffic, start, stop).map_or(Kind::Reader, Kind::Pinger)
        }
        (Traffic::Ping { .. }, Role::Sink) => Kind::Echo,
        (Traffic::Constant { .. } | Traffic::OnOff { .. }, Role::Source) => {
            Blocks::of(traffic, start, stop, stream).map_or(Kind::Reader, Kind::Blocks)
        }
        (_, Role::Sink) => Kind::Reader,
    }
}
