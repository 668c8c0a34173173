//! Two connections and a path between them.

use super::*;
use crate::testing::{Machines, Net, Wires};
use std::collections::VecDeque;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    A,
    B,
}

/// Fate of a segment on the path.
#[derive(Clone, Copy, Debug)]
pub(super) enum Fate {
    Deliver(Duration),
    Drop,
    Twice(Duration, Duration),
}

/// A segment at the entry of the path.
pub(super) struct Passing<'a> {
    pub(super) now: Instant,
    pub(super) from: Side,
    /// Number of segments before it in its direction.
    pub(super) number: usize,
    pub(super) segment: &'a Segment,
}

pub(super) type Path = Box<dyn FnMut(&Passing) -> Fate>;

/// A path of fixed delay each way.
pub(super) fn delay(milliseconds: u64) -> Path {
    Box::new(move |_| Fate::Deliver(ms(milliseconds)))
}

/// A queue without bound before a link of this rate, in bytes per second, then a delay; both ways alike.
pub(super) fn link(bytes_per_second: u64, milliseconds: u64) -> impl FnMut(&Passing) -> Duration {
    let mut free = [Instant::ZERO; 2];
    move |passing| {
        let free = &mut free[usize::from(passing.from == Side::B)];
        let bytes = 20 + passing.segment.header.wire_length() + passing.segment.payload.length();
        let start = (*free).max(passing.now);
        let time = u64::from(bytes) * 1_000_000_000 / bytes_per_second;
        *free = start + Duration::from_nanos(time);
        free.saturating_since(passing.now) + ms(milliseconds)
    }
}

/// Behaviour of the application of one end.
#[derive(Debug, Default)]
pub(super) struct Application {
    pub(super) pattern: Option<(u32, u64)>,
    pub(super) bytes: VecDeque<u8>,
    pub(super) close_when_written: bool,
    pub(super) reads: bool,
    pub(super) received: Vec<u8>,
}

impl Application {
    fn done_writing(&self) -> bool {
        self.bytes.is_empty() && self.pattern.is_none_or(|(_, left)| left == 0)
    }
}

pub(super) struct End {
    pub(super) connection: Connection,
    pub(super) application: Application,
    pub(super) events: Vec<(Instant, Event)>,
    pub(super) log: Vec<(Instant, String)>,
}

impl End {
    fn new(connection: Connection) -> End {
        End {
            connection,
            application: Application {
                reads: true,
                ..Application::default()
            },
            events: Vec::new(),
            log: Vec::new(),
        }
    }

    pub(super) fn run_application(&mut self, now: Instant) {
        while let Some(event) = self.connection.poll_event() {
            self.events.push((now, event));
        }
        let (application, connection) = (&mut self.application, &mut self.connection);
        if application.reads {
            let mut buffer = [0; 2048];
            loop {
                let count = connection.read(&mut buffer);
                application.received.extend(&buffer[..count]);
                if count == 0 {
                    break;
                }
            }
        }
        if let Some((stream, left)) = &mut application.pattern {
            *left -= connection.write_pattern(*stream, *left);
        }
        if !application.bytes.is_empty() {
            let taken = connection.write(application.bytes.make_contiguous());
            application.bytes.drain(..taken);
        }
        if application.close_when_written && application.done_writing() {
            connection.close();
        }
    }
}

/// Two connections and the path between them.
pub(super) struct Ends {
    pub(super) a: End,
    pub(super) b: End,
    path: Path,
    /// True once a SYN has reached `b`, which listens until then.
    pub(super) syn_seen: bool,
    /// Memory of the two hosts, for T/TCP.
    pub(super) caches: [OpeningCache; 2],
}

pub(super) type Pair = Net<Ends>;

impl Pair {
    /// `a` connects to `b`, which listens.
    pub(super) fn new(profile_a: &Profile, profile_b: &Profile, path: Path) -> Pair {
        let (a, b) = (end_point(1, 40_000), end_point(2, 80));
        let connect = |local, remote, profile, iss| {
            let now = Instant::ZERO;
            End::new(Connection::connect(now, local, remote, profile, iss, 1500))
        };
        Net::of(Ends {
            a: connect(a, b, profile_a, ISS_A),
            // Replaced by `accept` when the SYN arrives.
            b: connect(b, a, profile_b, ISS_B),
            path,
            syn_seen: false,
            caches: Default::default(),
        })
    }

    /// Both ends speak T/TCP. The hosts have spoken before, or one of them has forgotten it.
    pub(super) fn with_transactions(mut self, remembered: [bool; 2]) -> Pair {
        let (a, b) = (self.a.connection.local(), self.b.connection.local());
        let [cache_a, cache_b] = super::transaction::acquainted([a.address, b.address]);
        let [known_a, known_b] = remembered;
        self.caches = [
            if known_a { cache_a } else { Default::default() },
            if known_b { cache_b } else { Default::default() },
        ];
        let opening = self.caches[0].open(b.address);
        let now = self.now();
        self.a.connection.open_transaction(now, opening);
        self
    }

    /// Both connect at the same time.
    pub(super) fn simultaneous(mut self) -> Pair {
        self.syn_seen = true;
        self
    }
}

impl Ends {
    pub(super) fn end(&mut self, side: Side) -> &mut End {
        match side {
            Side::A => &mut self.a,
            Side::B => &mut self.b,
        }
    }

    fn drain(&mut self, side: Side, wires: &mut Wires<(Side, Segment)>) {
        let now = wires.now();
        let Ends { a, b, path, .. } = self;
        let end = match side {
            Side::A => a,
            Side::B => b,
        };
        end.run_application(now);
        while let Some(segment) = end.connection.poll_transmit(now) {
            end.log.push((now, describe(&segment, &end.connection)));
            let passing = Passing {
                now,
                from: side,
                number: end.log.len() - 1,
                segment: &segment,
            };
            let delays = match path(&passing) {
                Fate::Drop => [None, None],
                Fate::Deliver(delay) => [Some(delay), None],
                Fate::Twice(first, second) => [Some(first), Some(second)],
            };
            for delay in delays.into_iter().flatten() {
                wires.send((side, segment.clone()), delay);
            }
        }
    }

    /// Accepts a SYN at `b`.
    fn accept(&mut self, now: Instant, header: &TcpHeader, payload: Payload) {
        if !header.flags.contains(TcpFlags::SYN) || header.flags.contains(TcpFlags::ACK) {
            return;
        }
        self.syn_seen = true;
        let b = &mut self.b.connection;
        let profile = b.common.profile.clone();
        *b = Connection::accept(now, b.local(), b.remote(), &profile, ISS_B, 1500, header);
        if self.a.connection.is_transaction() {
            let accepted = self.caches[1].accept(self.a.connection.local().address, header);
            if let Some(acceptance) = accepted {
                b.accept_transaction(now, acceptance, header, payload);
            }
        }
    }

    pub(super) fn when(&self, side: Side, wanted: Event) -> Option<Instant> {
        let end = match side {
            Side::A => &self.a,
            Side::B => &self.b,
        };
        let mut events = end.events.iter();
        events
            .find(|(_, event)| *event == wanted)
            .map(|&(at, _)| at)
    }
}

impl Machines for Ends {
    type Message = (Side, Segment);

    fn poll_timeout(&mut self) -> Option<Instant> {
        let of_b = self.b.connection.poll_timeout().filter(|_| self.syn_seen);
        self.a
            .connection
            .poll_timeout()
            .into_iter()
            .chain(of_b)
            .min()
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.a.connection.handle_timeout(now);
        if self.syn_seen {
            self.b.connection.handle_timeout(now);
        }
    }

    fn handle_arrival(
        &mut self,
        (from, segment): (Side, Segment),
        wires: &mut Wires<Self::Message>,
    ) {
        let (now, header, payload) = (wires.now(), segment.header, segment.payload);
        match from {
            Side::B => self.a.connection.handle_segment(now, &header, payload),
            Side::A if self.syn_seen => self.b.connection.handle_segment(now, &header, payload),
            Side::A => self.accept(now, &header, payload),
        }
    }

    fn settle(&mut self, wires: &mut Wires<Self::Message>) {
        self.drain(Side::A, wires);
        if self.syn_seen {
            self.drain(Side::B, wires);
        }
    }
}
