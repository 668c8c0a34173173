//! Two connections, and a network that loses, doubles, delays, cuts and repeats for a while and then behaves.

use super::rules::{Rules, check_rest, drain, serve_timers};
use super::{INITIAL, STREAMS, endpoint, profile, quoting};
use crate::bytes::Bytes;
use baton_proto::packet::{Payload, pattern_byte};
use baton_proto::tcp::profile::Profile;
use baton_proto::tcp::{Connection, Event, Segment, State};
use baton_proto::testing::{Machines, Net, Wires};
use baton_proto::time::{Duration, Instant};
use baton_proto::wire::icmp::IcmpError;
use baton_proto::wire::tcp::TcpFlags;

/// Most steps: far more than any of these transfers takes.
const MOST_STEPS: u32 = 400_000;
const PATH_MTU: u32 = 1_500;
/// Default one-way delay.
const DELAY: Duration = Duration::from_millis(20);

struct Side {
    /// `None` until a SYN has arrived at the end that listens.
    connection: Option<Connection>,
    rules: Rules,
    profile: Profile,
    written: u64,
    length: u64,
    read: u64,
    closed: u32,
    /// Bytes that the application reads at once, and the time from which it does.
    appetite: usize,
    hungry_at: Instant,
}

struct Scene<'a> {
    sides: [Side; 2],
    network: Bytes<'a>,
    /// A segment stored by the network, for another delivery later.
    kept: Option<(usize, Segment)>,
}

/// Lets the two exchange their data and close.
pub fn check(data: &[u8]) {
    let mut bytes = Bytes::new(data);
    let mut sides = [0, 1].map(|end| side(end, &mut bytes));
    let local = |end: u8| (endpoint(end), endpoint(1 - end));
    let (from, to) = local(0);
    sides[0].connection = Some(Connection::connect(
        Instant::ZERO,
        from,
        to,
        &sides[0].profile,
        INITIAL[0],
        PATH_MTU,
    ));
    let mut scene = Net::of(Scene {
        sides,
        network: bytes,
        kept: None,
    });
    let mut steps = 0;
    while scene.step(Instant::NEVER) {
        steps += 1;
        assert!(steps < MOST_STEPS, "the two never come to rest");
    }
    for (end, side) in scene.sides.iter().enumerate() {
        let state = side.connection.as_ref().map(Connection::state);
        assert_eq!(state, Some(State::Closed), "end {end}");
        assert_eq!(side.read, scene.sides[1 - end].length, "end {end} read");
        assert_eq!(side.closed, 1, "end {end} was told of its close");
    }
}

fn side(end: usize, bytes: &mut Bytes<'_>) -> Side {
    let mut profile = profile(bytes);
    // Silence may last this long, so that the network reaches its end.
    profile.syn_retries = 1_000;
    profile.syn_ack_retries = 1_000;
    profile.data_retries = 1_000;
    let [second, four] = [1, 4].map(Duration::from_secs);
    profile.maximum_rto = profile.maximum_rto.clamp(second, four);
    profile.minimum_rto = profile.minimum_rto.min(four);
    // A closed end cannot repeat its last acknowledgment; there is no host here that would send a reset instead.
    profile.time_wait = Duration::from_secs(100_000);
    profile.transaction_opening = false;
    let length = u64::from(bytes.u16());
    let smallest = profile.receive_buffer.min(profile.send_buffer);
    Side {
        connection: None,
        rules: Rules::new(end),
        profile,
        written: 0,
        // Byte by byte takes long enough.
        length: if smallest < 500 {
            length % 2_000
        } else {
            length
        },
        read: 0,
        closed: 0,
        appetite: 1 + usize::from(bytes.u16()),
        hungry_at: Instant::ZERO,
    }
}

impl Machines for Scene<'_> {
    /// A segment, and the end that sent it.
    type Message = (usize, Segment);

    fn poll_timeout(&mut self) -> Option<Instant> {
        let timers = self.sides.iter().filter_map(|side| {
            let connection = side.connection.as_ref()?;
            let hungry = (connection.readable() > 0).then_some(side.hungry_at);
            connection.poll_timeout().into_iter().chain(hungry).min()
        });
        timers.min()
    }

    /// Does nothing: each end's timers are served before it sends.
    fn handle_timeout(&mut self, _: Instant) {}

    fn handle_arrival(&mut self, (from, segment): Self::Message, wires: &mut Wires<Self::Message>) {
        self.arrive(wires.now(), 1 - from, segment);
    }

    fn settle(&mut self, wires: &mut Wires<Self::Message>) {
        (0..2).for_each(|end| self.settle_end(end, wires));
        let next = self.poll_timeout();
        assert!(
            next.is_none_or(|at| at >= wires.now()),
            "time runs backwards"
        );
    }
}

type Segments = Wires<(usize, Segment)>;

impl Scene<'_> {
    fn arrive(&mut self, now: Instant, end: usize, segment: Segment) {
        let side = &mut self.sides[end];
        side.rules.received(&segment.header);
        match &mut side.connection {
            Some(connection) => connection.handle_segment(now, &segment.header, segment.payload),
            None if segment.header.flags == TcpFlags::SYN => {
                side.connection = Some(Connection::accept(
                    now,
                    endpoint(1),
                    endpoint(0),
                    &side.profile,
                    INITIAL[1],
                    PATH_MTU,
                    &segment.header,
                ));
            }
            None => {}
        }
    }

    /// Lets the application and the connection of one end proceed as far as they can now.
    fn settle_end(&mut self, end: usize, wires: &mut Segments) {
        let (now, side) = (wires.now(), &mut self.sides[end]);
        let Some(connection) = &mut side.connection else {
            return;
        };
        serve_timers(now, connection);
        while let Some(event) = connection.poll_event() {
            side.closed += u32::from(event == Event::Closed);
            let dead = matches!(event, Event::Reset | Event::Refused | Event::TimedOut);
            assert!(!dead, "end {end}: {event:?}");
        }
        if now >= side.hungry_at && connection.readable() > 0 {
            let mut out = vec![0; side.appetite];
            let count = connection.read(&mut out);
            for (position, byte) in (side.read..).zip(&out[..count]) {
                assert_eq!(
                    *byte,
                    pattern_byte(STREAMS[1 - end], position),
                    "at {position}"
                );
            }
            side.read += count as u64;
            // An application that reads little at once reads slowly.
            side.hungry_at = now + Duration::from_millis(u64::from(side.appetite < 3_000));
        }
        side.written += connection.write_pattern(STREAMS[end], side.length - side.written);
        if side.written == side.length {
            connection.close();
        }
        let mut segments = Vec::new();
        drain(now, connection, &mut side.rules, |segment| {
            segments.push(segment)
        });
        let buffers = side.profile.receive_buffer as usize + connection.bytes_in_flight() as usize;
        check_rest(now, connection, side.written, 65_536 + 100 * buffers);
        for segment in segments {
            self.carry(end, segment, wires);
        }
    }

    fn carry(&mut self, end: usize, segment: Segment, wires: &mut Segments) {
        if self.network.is_empty() {
            return wires.send((end, segment), DELAY);
        }
        let number = self.network.u8();
        let late = Duration::from_millis(u64::from(number) * 3);
        match number {
            0..=119 => wires.send((end, segment), DELAY),
            120..=169 => {}
            170..=199 => {
                wires.send((end, segment.clone()), DELAY);
                wires.send((end, segment), late);
            }
            200..=219 => wires.send((end, segment), late),
            220..=229 => self.cut(end, segment, wires),
            230..=239 => self.kept = Some((end, segment)),
            240..=247 => {
                if let Some((from, kept)) = self.kept.clone() {
                    wires.send((from, kept), late);
                }
                wires.send((end, segment), DELAY);
            }
            _ => self.refuse(wires.now(), end, &segment),
        }
    }

    /// Sends it in two pieces, like a middlebox.
    fn cut(&mut self, end: usize, segment: Segment, wires: &mut Segments) {
        let mut bytes = Vec::new();
        segment.payload.copy_into(&mut bytes);
        let (first, second) = bytes.split_at(bytes.len() / 3);
        let (mut head, mut tail) = (segment.clone(), segment);
        head.payload = Payload::Bytes(first.into());
        head.header.flags.0 &= !TcpFlags::FIN.0;
        tail.payload = Payload::Bytes(second.into());
        tail.header.sequence += first.len() as u32;
        if !first.is_empty() {
            wires.send((end, head), DELAY);
        }
        wires.send((end, tail), DELAY);
    }

    /// Reports it as too long, like a router.
    fn refuse(&mut self, now: Instant, end: usize, segment: &Segment) {
        let mtu = u32::from(self.network.u16() % 1_500);
        let number = segment.header.sequence;
        if let Some(connection) = &mut self.sides[end].connection {
            connection.handle_icmp(now, IcmpError::PacketTooBig { mtu }, &quoting(number));
        }
    }
}
