//! One connection, and a peer that sends anything at any time.

use super::{address, ip, plain, protection, returns};
use crate::bytes::Bytes;
use baton_proto::aerotp::{
    Blocks, Coding, Configuration, Connection, Event, Identity, PathId, State, Statistics,
    Transmission,
};
use baton_proto::fec::erasure::BlockSize;
use baton_proto::packet::{Payload, pattern_byte};
use baton_proto::rate::DataRate;
use baton_proto::time::{Duration, Instant};
use baton_proto::wire::aerotp::{
    AerotpHeader, AerotpPacket, BlockPlace, Condition, ErrorRate, Mack, MissingRange, Mode,
    Opening, Range,
};
use baton_proto::wire::sequence::SequenceNumber;
use baton_proto::wire::tcp::TcpFlags;

/// Most steps of a script; the rest of the input is ignored.
const MOST_STEPS: u32 = 300;
/// Most timers that expire after the script, with the peer silent.
const TIMERS: u32 = 2_000;
/// Most packets that may leave at one moment.
const MOST_AT_ONCE: u32 = 5_000;
/// First sequence numbers: ours, and the peer's.
const INITIAL: [SequenceNumber; 2] = [SequenceNumber(0xFFFF_FF00), SequenceNumber(0x7FFF_FFF0)];
const TOKENS: [u32; 2] = [0x1111_1111, 0x2222_2222];
const STREAMS: [u32; 2] = [1, 2];

struct Scene {
    now: Instant,
    connection: Connection,
    written: u64,
    read: u64,
    /// Position up to which the peer has an acknowledgment, and from which it continues.
    peer_next: u32,
    before: Statistics,
    is_over: bool,
}

/// Plays a script.
pub fn check(bytes: &mut Bytes<'_>) {
    let mut scene = Scene::new(bytes);
    scene.settle();
    for _ in 0..MOST_STEPS {
        if bytes.is_empty() {
            break;
        }
        scene.step(bytes);
        scene.settle();
    }
    for _ in 0..TIMERS {
        let due = scene.connection.poll_timeout();
        let Some(at) = due.filter(|&at| at < Instant::NEVER) else {
            return;
        };
        scene.now = scene.now.max(at);
        scene.settle();
    }
}

fn configuration(bytes: &mut Bytes<'_>) -> Configuration {
    let mut configuration = Configuration::new(DataRate::from_bits_per_second(5_000_000));
    configuration.mode = bytes.one_of(&Mode::ALL);
    let options = bytes.u8();
    if options & 1 == 1 {
        let fixed = protection(u16::from(bytes.u8()), options & 2 == 2);
        configuration.coding = Coding::Fixed(fixed);
    }
    if options & 4 == 4 {
        let fixed = BlockSize::new(bytes.u8() % 8, bytes.u8() % 4).map(Blocks::Fixed);
        configuration.blocks = Some(fixed.unwrap_or(Blocks::Adaptive));
    }
    configuration.confirms = options & 8 == 8;
    configuration.packets_per_mack = options >> 4;
    configuration.send_buffer = 64 << 10;
    configuration.receive_buffer = bytes.one_of(&[64 << 10, 1_000]);
    configuration.close_timeout = Duration::from_secs(20);
    configuration
}

impl Scene {
    fn new(bytes: &mut Bytes<'_>) -> Scene {
        let configuration = configuration(bytes);
        let identity = Identity {
            local_port: 1,
            remote_port: 2,
            initial: INITIAL[0],
            token: TOKENS[0],
        };
        let begin = match bytes.bool() {
            true => Connection::accept,
            false => Connection::connect,
        };
        let ends = (address(1), address(2));
        let mtu = bytes.one_of(&[1_500, 1_280, 9_000]);
        let connection = begin(Instant::ZERO, configuration, identity, ends, mtu);
        Scene {
            now: Instant::ZERO,
            before: connection.statistics(),
            connection,
            written: 0,
            read: 0,
            peer_next: 0,
            is_over: false,
        }
    }

    fn step(&mut self, bytes: &mut Bytes<'_>) {
        let path = PathId(bytes.u8() & 1);
        match bytes.u8() % 20 {
            0..=6 => self.packet(bytes),
            7 => self.now += Duration::from_millis(u64::from(bytes.u16())),
            8..=9 => {
                let due = self.connection.poll_timeout();
                let due = due.filter(|&at| at < Instant::NEVER);
                self.now = self.now.max(due.unwrap_or(self.now));
            }
            10 => {
                let written = self.connection.write(&self.data(bytes.u16()));
                self.written += written;
            }
            11 => {
                let record = self.data(bytes.u16() % 2_000);
                if self.connection.write_record(&record) {
                    self.written += u64::from(record.length());
                }
            }
            12 => self.read(u64::from(bytes.u16())),
            13 => self.connection.close(),
            14 => {
                let rate = DataRate::from_bits_per_second(u64::from(bytes.u32()));
                self.connection.backpressure(self.now, path, rate);
            }
            15 => self.connection.link_down(path),
            16 => {
                let rate = DataRate::from_bits_per_second(u64::from(bytes.u32()));
                self.connection.link_up(path, bytes.bool().then_some(rate));
            }
            17 if path.0 == 1 && self.connection.paths().count() == 1 => {
                let rate = DataRate::from_bits_per_second(1_000_000);
                let ends = (address(bytes.u8()), address(2));
                self.connection.add_path(self.now, ends, 1_500, rate);
            }
            17 => self.connection.move_to(self.now, path, address(bytes.u8())),
            18 => self.connection.confirm(self.now, u64::from(bytes.u16())),
            _ => match bytes.u8() {
                0 => self.connection.abort(),
                mtu => self.connection.set_mtu(path, 1_280 + u32::from(mtu)),
            },
        }
    }

    fn data(&self, length: u16) -> Payload {
        Payload::Pattern {
            stream: STREAMS[0],
            offset: self.written,
            length: u32::from(length),
        }
    }

    /// Makes a packet of the peer's, often plausible, sometimes random.
    fn packet(&mut self, bytes: &mut Bytes<'_>) {
        let odd = bytes.u8();
        let own = self.connection.configuration().mode;
        let mode = if odd == 0xFF {
            bytes.one_of(&Mode::ALL)
        } else {
            own
        };
        let mut header = plain(protection(0, false), mode);
        let kind = bytes.u8();
        let at = if kind & 1 == 1 {
            bytes.u32()
        } else {
            self.peer_next
        };
        header.sequence = INITIAL[1] + at;
        header.timestamp = match odd & 1 {
            1 => bytes.u32(),
            _ => (self.now.as_nanos() / 1_000) as u32,
        };
        header.is_final = kind & 2 == 2;
        header.ends_record = kind & 4 == 4;
        header.wants_mack = kind & 8 == 8;
        if kind & 16 == 16 {
            let initial = INITIAL[1] + u32::from(odd == 0xFE);
            let token = TOKENS[1];
            header.opening = Some(Opening { initial, token });
        }
        if kind & 32 == 32 {
            header.mack = Some(Box::new(self.mack(bytes)));
        }
        self.rare(&mut header, odd, bytes);
        let payload = match kind & 64 {
            0 => Payload::EMPTY,
            _ => Payload::Pattern {
                stream: STREAMS[1],
                offset: u64::from(at),
                length: u32::from(bytes.u16() % 1_500),
            },
        };
        let is_repair = header.block.is_some_and(|place| place.is_repair());
        if kind & 1 == 0 && !is_repair {
            self.peer_next = self.peer_next.wrapping_add(payload.length());
        }
        let mut packet = AerotpPacket::new(header, payload);
        if kind & 128 == 128 && !packet.payload.is_empty() {
            packet.condition = Condition::Damaged(packet.payload.length());
            packet.payload = Payload::EMPTY;
        }
        let from = address(if odd & 6 == 6 { odd >> 3 } else { 2 });
        self.connection
            .handle_packet(self.now, (from, address(1)), packet);
    }

    /// Sets the header fields that few packets have.
    fn rare(&self, header: &mut AerotpHeader, odd: u8, bytes: &mut Bytes<'_>) {
        if odd & 0x18 == 0x18 {
            header.token = Some(bytes.one_of(&[TOKENS[1], TOKENS[0], 0]));
        }
        if odd & 0x60 == 0x60 {
            let (block, sources, repairs) = (bytes.u16() % 4, bytes.u8() % 8 + 1, bytes.u8() % 4);
            header.block = Some(BlockPlace {
                block,
                index: bytes.u8() % (sources + repairs),
                sources,
                repairs,
            });
        }
        if odd & 0x83 == 0x83 {
            header.tcp_flags = TcpFlags(bytes.u8()).without(TcpFlags::SYN);
        }
    }

    fn mack(&self, bytes: &mut Bytes<'_>) -> Mack {
        let acknowledged = self.connection.acknowledged();
        let cumulative = match bytes.u8() {
            0 => bytes.u32(),
            some => acknowledged as u32 + u32::from(some - 1) * 16,
        };
        let mut mack = Mack {
            cumulative: INITIAL[0] + cumulative,
            unconfirmed: u32::from(bytes.u8()),
            window: u32::from(bytes.u16()) << (bytes.u8() & 15),
            echo: (self.now.as_nanos() / 1_000) as u32,
            error_rate: ErrorRate::from_rate(f64::from(bytes.u8()) / 1e5),
            arrival_rate: u32::from(bytes.u16()),
            is_complete: bytes.bool(),
            ..Mack::default()
        };
        if bytes.bool() {
            mack.echo = bytes.u32();
            mack.held_for = bytes.u32() >> 2;
        }
        let mut end = 0;
        for number in 0..bytes.u8() % 4 {
            let (gap, length) = (u32::from(bytes.u16()) + 1, u32::from(bytes.u16()) + 1);
            let range = Range {
                start: end + gap,
                length,
            };
            end = range.end();
            match number & 1 {
                0 => mack.received.push(range),
                _ => mack.missing.push(MissingRange {
                    range,
                    damaged: bytes.bool(),
                }),
            }
        }
        mack
    }

    /// Checks that, in modes with retransmission, the data read is the data that the peer has written, from the first
    /// byte on.
    fn read(&mut self, at_most: u64) {
        let repeats = self.connection.configuration().mode.repeats();
        let blocks = self.connection.configuration().blocks.is_some();
        while let Some(read) = self.connection.read(self.now, at_most) {
            let mut data = Vec::new();
            read.payload.copy_into(&mut data);
            assert!(!data.is_empty(), "nothing was read");
            for byte in data {
                // Forged repair packets restore data that was never written.
                let expected = pattern_byte(STREAMS[1], self.read);
                assert!(!repeats || blocks || byte == expected, "at {}", self.read);
                self.read += 1;
            }
        }
    }

    fn settle(&mut self) {
        self.connection.handle_timeout(self.now);
        let mut sent = 0;
        while let Some(transmission) = self.connection.poll_transmit(self.now) {
            sent += 1;
            assert!(sent < MOST_AT_ONCE, "there is no end to what is sent");
            self.judge(&transmission);
        }
        while let Some(event) = self.connection.poll_event() {
            assert!(!self.is_over, "{event:?} after the end");
            self.is_over = event == Event::Closed;
        }
        self.judge_statistics();
        assert_eq!(self.is_over, self.connection.state() == State::Closed);
    }

    /// Checks that the packet can be parsed, and carries no more than was written.
    fn judge(&self, sent: &Transmission) {
        let header = &sent.packet.header;
        assert_eq!((header.source_port, header.destination_port), (1, 2));
        returns(&ip([1, 2]), &sent.packet);
        let is_repair = header.block.is_some_and(|place| place.is_repair());
        let start = header.sequence.distance_from(INITIAL[0]) as u32;
        let end = u64::from(start) + u64::from(sent.packet.payload.length());
        assert!(
            is_repair || end <= self.written,
            "{header:?} of {}",
            self.written
        );
    }

    fn judge_statistics(&mut self) {
        let (connection, now, before) =
            (&self.connection, self.connection.statistics(), self.before);
        let counts = |of: &Statistics| {
            [
                of.packets,
                of.retransmitted,
                of.macks,
                of.probes,
                of.damaged,
                of.corrected,
                of.duplicates,
                of.skipped,
                of.refused,
            ]
        };
        let pairs = counts(&before).into_iter().zip(counts(&now));
        assert!(
            pairs.into_iter().all(|(before, now)| before <= now),
            "{now:?} after {before:?}"
        );
        assert!(now.retransmitted + now.macks <= now.packets, "{now:?}");
        assert!(now.probes <= now.packets, "{now:?}");
        assert_eq!(connection.acknowledged() + connection.held(), self.written);
        assert!(connection.confirmed() <= connection.acknowledged());
        let (in_flight, held) = (connection.in_flight(), connection.held());
        assert!(in_flight <= held, "{in_flight} of {held} bytes");
        self.before = now;
    }
}
