//! Tests of whole connections. [`Pair`] joins two of them by a path and jumps from wake-up to wake-up;
//! [`Solo`] feeds one of them segments by hand, so that a test reads as a timeline.

mod buffers;
mod closing;
mod handshake;
mod hostile;
mod linux20;
mod linux6;
mod linux6_doubt;
mod linux6_habits;
mod linux6_scripts;
mod linux6_shut_window;
mod loss;
mod moving;
mod path_mtu;
mod properties;
mod reassembly;
mod remedies;
mod scps;
mod steering;
mod timers;
mod transaction;
mod window;

use super::profile::Profile;
use super::transaction::OpeningCache;
use super::{Connection, Endpoint, Event, Segment, State};
use crate::packet::{Payload, pattern_byte};
use crate::time::{Duration, Instant};
use crate::wire::icmp::QuotedPacket;
use crate::wire::protocol;
use crate::wire::sequence::SequenceNumber;
use crate::wire::tcp::{ConnectionCount, SackBlocks, TcpFlags, TcpHeader, TcpOptions};
use std::collections::{BTreeMap, VecDeque};

pub(super) fn profile(name: &str) -> Profile {
    Profile::named(name).unwrap()
}

pub(super) fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

pub(super) fn at_ms(count: u64) -> Instant {
    Instant::from_millis(count)
}

pub(super) fn end_point(last: u8, port: u16) -> Endpoint {
    Endpoint {
        address: [192, 0, 2, last].into(),
        port,
    }
}

/// Returns a router's quotation of a segment of this sequence number.
pub(super) fn quoting(sequence: SequenceNumber) -> QuotedPacket {
    QuotedPacket {
        source: end_point(1, 0).address,
        destination: end_point(2, 0).address,
        protocol: protocol::TCP,
        source_port: 0,
        destination_port: 0,
        sequence: sequence.0,
        within: None,
    }
}

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

type Path = Box<dyn FnMut(&Passing) -> Fate>;

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
    sent: usize,
}

impl End {
    fn run_application(&mut self, now: Instant) {
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
pub(super) struct Pair {
    pub(super) now: Instant,
    pub(super) a: End,
    pub(super) b: End,
    path: Path,
    flying: BTreeMap<(Instant, u64), (Side, Segment)>,
    launched: u64,
    syn_seen: bool,
    /// Memory of the two hosts, for T/TCP.
    pub(super) caches: [OpeningCache; 2],
}

pub(super) const ISS_A: SequenceNumber = SequenceNumber(u32::MAX - 20_000);
pub(super) const ISS_B: SequenceNumber = SequenceNumber(u32::MAX - 10_000);

impl Pair {
    /// `a` connects to `b`, which listens.
    pub(super) fn new(profile_a: &Profile, profile_b: &Profile, path: Path) -> Pair {
        let (a, b) = (end_point(1, 40_000), end_point(2, 80));
        let now = Instant::ZERO;
        let end = |connection| End {
            connection,
            application: Application {
                reads: true,
                ..Application::default()
            },
            events: Vec::new(),
            log: Vec::new(),
            sent: 0,
        };
        Pair {
            now,
            a: end(Connection::connect(now, a, b, profile_a, ISS_A, 1500)),
            // Replaced by `accept` when the SYN arrives.
            b: end(Connection::connect(now, b, a, profile_b, ISS_B, 1500)),
            path,
            flying: BTreeMap::new(),
            launched: 0,
            syn_seen: false,
            caches: Default::default(),
        }
    }

    /// Both ends speak T/TCP. The hosts have spoken before, or one of them has forgotten it.
    pub(super) fn with_transactions(mut self, remembered: [bool; 2]) -> Pair {
        let (a, b) = (self.a.connection.local(), self.b.connection.local());
        let [cache_a, cache_b] = transaction::acquainted([a.address, b.address]);
        let [known_a, known_b] = remembered;
        self.caches = [
            if known_a { cache_a } else { Default::default() },
            if known_b { cache_b } else { Default::default() },
        ];
        let opening = self.caches[0].open(b.address);
        self.a.connection.open_transaction(self.now, opening);
        self
    }

    /// Both connect at the same time.
    pub(super) fn simultaneous(mut self) -> Pair {
        self.syn_seen = true;
        self
    }

    fn drain(&mut self, side: Side) {
        let end = match side {
            Side::A => &mut self.a,
            Side::B => &mut self.b,
        };
        if side == Side::B && !self.syn_seen {
            return;
        }
        end.run_application(self.now);
        while let Some(segment) = end.connection.poll_transmit(self.now) {
            end.log
                .push((self.now, describe(&segment, &end.connection)));
            let passing = Passing {
                now: self.now,
                from: side,
                number: end.sent,
                segment: &segment,
            };
            end.sent += 1;
            let delays = match (self.path)(&passing) {
                Fate::Drop => [None, None],
                Fate::Deliver(delay) => [Some(delay), None],
                Fate::Twice(first, second) => [Some(first), Some(second)],
            };
            for delay in delays.into_iter().flatten() {
                self.launched += 1;
                let key = (self.now + delay, self.launched);
                self.flying.insert(key, (side, segment.clone()));
            }
        }
    }

    fn arrive(&mut self, from: Side, segment: Segment) {
        let (header, payload) = (segment.header, segment.payload);
        if from == Side::B {
            return self.a.connection.handle_segment(self.now, &header, payload);
        }
        if !self.syn_seen {
            let flag = |bit| header.flags.contains(bit);
            if !flag(TcpFlags::SYN) || flag(TcpFlags::ACK) {
                return;
            }
            self.syn_seen = true;
            let old = &self.b.connection;
            self.b.connection = Connection::accept(
                self.now,
                old.local(),
                old.remote(),
                &old.common.profile.clone(),
                ISS_B,
                1500,
                &header,
            );
            if self.a.connection.is_transaction() {
                let accepted = self.caches[1].accept(self.a.connection.local().address, &header);
                if let Some(acceptance) = accepted {
                    let b = &mut self.b.connection;
                    b.accept_transaction(self.now, acceptance, &header, payload);
                }
            }
            return;
        }
        self.b.connection.handle_segment(self.now, &header, payload);
    }

    /// Goes on to the next thing that happens, if it happens before `end`.
    fn step(&mut self, end: Instant) -> bool {
        self.drain(Side::A);
        self.drain(Side::B);
        let b_timeout = self.b.connection.poll_timeout().filter(|_| self.syn_seen);
        let next = [
            self.flying.keys().next().map(|(at, _)| *at),
            self.a.connection.poll_timeout(),
            b_timeout,
        ];
        let Some(next) = next.into_iter().flatten().min().filter(|next| *next <= end) else {
            return false;
        };
        self.now = self.now.max(next);
        while let Some(entry) = self.flying.first_entry() {
            if entry.key().0 > self.now {
                break;
            }
            let (from, segment) = entry.remove();
            self.arrive(from, segment);
            self.drain(if from == Side::A { Side::B } else { Side::A });
        }
        self.a.connection.handle_timeout(self.now);
        self.b.connection.handle_timeout(self.now);
        true
    }

    /// Runs until `end`, and sets the time to it.
    pub(super) fn run_until(&mut self, end: Instant) {
        while self.step(end) {}
        self.now = end;
    }

    /// Runs until nothing is left to happen; fails after `limit`.
    pub(super) fn run_to_end(&mut self, limit: Instant) {
        let mut steps = 0;
        while self.step(limit) {
            steps += 1;
            assert!(steps < 2_000_000, "the two never come to rest");
        }
        assert!(
            self.flying.is_empty(),
            "not at rest at {limit}: {:?} and {:?}",
            self.a.connection.state(),
            self.b.connection.state()
        );
    }

    pub(super) fn when(&self, side: Side, wanted: Event) -> Option<Instant> {
        let end = match side {
            Side::A => &self.a,
            Side::B => &self.b,
        };
        end.events
            .iter()
            .find(|(_, event)| *event == wanted)
            .map(|(at, _)| *at)
    }
}

pub(super) fn is_pattern(bytes: &[u8], stream: u32) -> bool {
    (0..).zip(bytes).all(|(p, b)| *b == pattern_byte(stream, p))
}

/// A segment in words, its numbers relative to the initial ones: `SYN`, `1..1001`, `ack 1001`, `FIN 5`, `RST 1`.
pub(super) fn describe(segment: &Segment, connection: &Connection) -> String {
    let header = &segment.header;
    let flag = |bit| header.flags.contains(bit);
    let first = connection.sender.flow.space.position(header.sequence);
    let start = first + i64::from(flag(TcpFlags::SYN));
    let length = i64::from(segment.payload.length());
    let mut words = Vec::new();
    if flag(TcpFlags::RST) {
        words.push(format!("RST {start}"));
    }
    if flag(TcpFlags::SYN) {
        words.push("SYN".to_string());
    }
    if length > 0 {
        words.push(format!("{start}..{}", start + length));
    }
    if flag(TcpFlags::FIN) {
        words.push(format!("FIN {}", start + length));
    }
    let bare = words.is_empty() || flag(TcpFlags::SYN);
    if flag(TcpFlags::ACK) && bare {
        let acknowledged = connection.receiving.position(header.acknowledgment);
        words.push(format!("ack {acknowledged}"));
    }
    for &(first, after_last) in header.options.sack.as_slice() {
        let position = |number| connection.receiving.position(number);
        words.push(format!(
            "sack {}..{}",
            position(first),
            position(after_last)
        ));
    }
    match header.options.sack.connection_count() {
        None => {}
        Some(ConnectionCount::Count(own)) => words.push(format!("CC={own}")),
        Some(ConnectionCount::New(own)) => words.push(format!("CC.new={own}")),
        Some(ConnectionCount::Echo { own, echo }) => {
            words.push(format!("CC={own} CC.echo={echo}"));
        }
    }
    words.join(" ")
}

/// One connection against a hand-written peer. Numbers are relative: ours start at 1 after the SYN, and so
/// do the peer's.
pub(super) struct Solo {
    pub(super) now: Instant,
    pub(super) connection: Connection,
}

/// The peer's next segment, put together.
#[derive(Clone, Debug)]
pub(super) struct Incoming {
    pub(super) header: TcpHeader,
    pub(super) length: u32,
}

pub(super) const PEER_ISS: SequenceNumber = SequenceNumber(0xFFFF_F000);

/// A segment of the peer's from `sequence` that acknowledges `acknowledgment`, with a window of 60000.
pub(super) fn from_peer(flags: TcpFlags, sequence: i64, acknowledgment: i64) -> Incoming {
    Incoming {
        header: TcpHeader {
            source_port: 80,
            destination_port: 40_000,
            sequence: SequenceNumber(PEER_ISS.0.wrapping_add(sequence as u32)),
            acknowledgment: SequenceNumber(ISS_A.0.wrapping_add(acknowledgment as u32)),
            flags,
            window: 60_000,
            options: TcpOptions::default(),
        },
        length: 0,
    }
}

/// A bare acknowledgment in a peer's stream that has sent nothing.
pub(super) fn ack(acknowledgment: i64) -> Incoming {
    from_peer(TcpFlags::ACK, 1, acknowledgment)
}

/// Data `from..to` of the peer.
pub(super) fn data(from: i64, to: i64) -> Incoming {
    let mut incoming = from_peer(TcpFlags::ACK, from, 1);
    incoming.length = (to - from) as u32;
    incoming
}

impl Incoming {
    pub(super) fn window(mut self, window: u16) -> Incoming {
        self.header.window = window;
        self
    }

    pub(super) fn acknowledging(mut self, acknowledgment: i64) -> Incoming {
        self.header.acknowledgment = SequenceNumber(ISS_A.0.wrapping_add(acknowledgment as u32));
        self
    }

    pub(super) fn sack(mut self, blocks: &[(u32, u32)]) -> Incoming {
        let mut option = SackBlocks::default();
        for &(first, after_last) in blocks {
            option.push(ISS_A + first, ISS_A + after_last);
        }
        self.header.options.sack = option;
        self
    }

    pub(super) fn options(mut self, options: TcpOptions) -> Incoming {
        self.header.options = options;
        self
    }

    /// The SYN-ACK that opens a connection of ours, with the options that `profile` may use.
    pub(super) fn syn_ack(profile: &Profile) -> Incoming {
        from_peer(TcpFlags::SYN.with(TcpFlags::ACK), 0, 1).options(TcpOptions {
            maximum_segment_size: Some(1000),
            sack_permitted: profile.sack,
            ..TcpOptions::default()
        })
    }
}

impl Solo {
    /// Our end has sent its SYN at time zero.
    pub(super) fn connecting(profile: &Profile) -> Solo {
        let mut solo = Solo {
            now: Instant::ZERO,
            connection: Connection::connect(
                Instant::ZERO,
                end_point(1, 40_000),
                end_point(2, 80),
                profile,
                ISS_A,
                1500,
            ),
        };
        assert_eq!(solo.sends(), ["SYN"]);
        solo
    }

    /// The connection stands at 100 ms; segments of 1000 bytes.
    pub(super) fn established(profile: &Profile) -> Solo {
        let mut solo = Solo::connecting(profile);
        solo.at(100).receive(Incoming::syn_ack(profile));
        assert_eq!(solo.sends(), ["ack 1"]);
        assert_eq!(solo.connection.state(), State::Established);
        solo
    }

    /// Goes to this time in milliseconds, serving the timers on the way; what is sent there is told by the
    /// next [`sends`](Self::sends).
    pub(super) fn at(&mut self, milliseconds: u64) -> &mut Solo {
        self.now = at_ms(milliseconds);
        self.connection.handle_timeout(self.now);
        self
    }

    pub(super) fn receive(&mut self, incoming: Incoming) -> &mut Solo {
        let payload = Payload::Pattern {
            stream: 0,
            offset: u64::from(incoming.header.sequence.0.wrapping_sub(PEER_ISS.0)),
            length: incoming.length,
        };
        self.connection
            .handle_segment(self.now, &incoming.header, payload);
        self
    }

    /// The next timer is due at this time, in milliseconds.
    pub(super) fn wakes_at(&self) -> Option<u64> {
        self.connection
            .poll_timeout()
            .map(|at| at.as_nanos() / 1_000_000)
    }

    pub(super) fn write(&mut self, bytes: u64) -> &mut Solo {
        assert_eq!(self.connection.write_pattern(0, bytes), bytes);
        self
    }

    /// Returns the segments that are sent now, in words.
    pub(super) fn sends(&mut self) -> Vec<String> {
        let mut words = Vec::new();
        while let Some(segment) = self.connection.poll_transmit(self.now) {
            words.push(describe(&segment, &self.connection));
        }
        words
    }

    pub(super) fn events(&mut self) -> Vec<Event> {
        std::iter::from_fn(|| self.connection.poll_event()).collect()
    }
}
