//! One connection, and a peer that sends anything at any time.

use super::rules::{Rules, check_rest, drain, serve_timers};
use super::{INITIAL, STREAMS, endpoint, profile, quoting};
use crate::bytes::Bytes;
use baton_proto::crosslayer::HandoverNotice;
use baton_proto::packet::{Payload, pattern_byte};
use baton_proto::tcp::profile::Profile;
use baton_proto::tcp::transaction::{Learnt, OpeningCache};
use baton_proto::tcp::{Connection, State};
use baton_proto::time::{Duration, Instant};
use baton_proto::wire::icmp::IcmpError;
use baton_proto::wire::sequence::SequenceNumber;
use baton_proto::wire::tcp::{
    ConnectionCount, SackBlocks, Snack, TcpFlags, TcpHeader, TcpOptions, Timestamps,
};
use core::num::NonZeroU8;

/// Most steps of a script; the rest of the input is ignored.
const MOST_STEPS: u32 = 600;
/// Most timers that expire after the script, with the peer silent.
const TIMERS: u32 = 60;

struct Scene {
    now: Instant,
    connection: Connection,
    rules: Rules,
    profile: Profile,
    /// Bytes that the application has written and read.
    written: u64,
    read: u64,
    /// The peer's first byte, once a SYN from it was acknowledged.
    first_byte: Option<SequenceNumber>,
    peer_next: SequenceNumber,
    stamps: bool,
}

/// Plays a script.
pub fn check(data: &[u8]) {
    let mut bytes = Bytes::new(data);
    let mut scene = Scene::new(&mut bytes);
    scene.settle();
    for _ in 0..MOST_STEPS {
        if bytes.is_empty() {
            break;
        }
        scene.step(&mut bytes);
        scene.settle();
    }
    for _ in 0..TIMERS {
        let Some(at) = scene.connection.poll_timeout() else {
            break;
        };
        scene.now = at;
        scene.settle();
    }
}

impl Scene {
    fn new(bytes: &mut Bytes<'_>) -> Scene {
        let profile = profile(bytes);
        let (first, window) = (bytes.u8(), bytes.u16());
        let path_mtu = [1_500, 576, 9_000, 100][usize::from(first >> 6)];
        let (now, [local, remote]) = (Instant::ZERO, [endpoint(0), endpoint(1)]);
        let mut rules = Rules::new(0);
        // The peer has opened a connection before, with a count of 1.
        let mut cache = OpeningCache::default();
        if profile.transaction_opening {
            cache.learn(remote.address, Learnt::handshake(1, 1_000));
        }
        let mut connection = if first & 1 == 0 {
            Connection::connect(now, local, remote, &profile, INITIAL[0], path_mtu)
        } else {
            let mut syn = header(TcpFlags::SYN, INITIAL[1], SequenceNumber(0), window);
            syn.options = options(bytes, first);
            rules.received(&syn);
            let mut accepted =
                Connection::accept(now, local, remote, &profile, INITIAL[0], path_mtu, &syn);
            let opening = cache.accept(remote.address, &syn);
            if let Some(acceptance) = opening.filter(|_| profile.transaction_opening) {
                accepted.accept_transaction(now, acceptance, &syn, Payload::EMPTY);
            }
            accepted
        };
        if first & 1 == 0 && profile.transaction_opening {
            connection.open_transaction(now, cache.open(remote.address));
        }
        Scene {
            now,
            connection,
            rules,
            profile,
            written: 0,
            read: 0,
            first_byte: None,
            peer_next: INITIAL[1] + u32::from(first & 1),
            stamps: first & 2 == 2,
        }
    }

    fn step(&mut self, bytes: &mut Bytes<'_>) {
        match bytes.u8() % 16 {
            0 => self.handshake(bytes),
            1..=2 => self.acknowledge(bytes),
            3..=4 => self.next_data(bytes),
            5..=8 => self.any_segment(bytes),
            9 => self.now += Duration::from_millis(u64::from(bytes.u16())),
            10 => self.now = self.connection.poll_timeout().unwrap_or(self.now),
            11 => {
                let length = u64::from(bytes.u16());
                self.written += self.connection.write_pattern(STREAMS[0], length);
            }
            12 => self.read(usize::from(bytes.u16())),
            13 => {
                let mtu = u32::from(bytes.u16());
                let number = self.number(bytes, self.rules.next());
                let error = bytes.one_of(&[
                    IcmpError::PacketTooBig { mtu },
                    IcmpError::PortUnreachable,
                    IcmpError::TimeExceeded,
                ]);
                self.connection
                    .handle_icmp(self.now, error, &quoting(number));
            }
            14 => self.connection.close(),
            _ if bytes.u8() == 0xFF => self.connection.abort(),
            _ => {}
        }
    }

    /// Returns a number of ours near `position`, or any.
    fn number(&self, bytes: &mut Bytes<'_>, position: u64) -> SequenceNumber {
        match bytes.u8() {
            byte @ 0..=99 => INITIAL[0] + position as u32 - u32::from(byte),
            byte @ 100..=199 => INITIAL[0] + position as u32 - 14 * u32::from(byte),
            200..=249 => INITIAL[0] + position as u32 + 300 - u32::from(bytes.u16()),
            _ => SequenceNumber(bytes.u32()),
        }
    }

    fn handshake(&mut self, bytes: &mut Bytes<'_>) {
        let (first, window) = (bytes.u8(), bytes.u16());
        let flags = [TcpFlags::SYN.with(TcpFlags::ACK), TcpFlags::SYN][usize::from(first & 1)];
        let mut header = header(flags, INITIAL[1], INITIAL[0] + 1, window);
        header.options = options(bytes, first);
        if self.connection.state() == State::SynSent {
            self.peer_next = INITIAL[1] + 1;
        }
        self.hand_in(header, 0, false);
    }

    /// Acknowledges all that an honest peer would, or a part of it.
    fn acknowledge(&mut self, bytes: &mut Bytes<'_>) {
        let back = u32::from(bytes.u8()) * 20;
        let acknowledged = INITIAL[0] + self.rules.next() as u32 - back;
        let mut header = header(TcpFlags::ACK, self.peer_next, acknowledged, bytes.u16());
        header.options = self.stamped();
        for _ in 0..back / 20 % 4 {
            let first = acknowledged + u32::from(bytes.u16());
            header
                .options
                .sack
                .push(first, first + u32::from(bytes.u16()));
        }
        self.hand_in(header, 0, false);
    }

    /// Sends the peer's next data, or data somewhat ahead of it or behind.
    fn next_data(&mut self, bytes: &mut Bytes<'_>) {
        let (shift, length) = (bytes.u8(), u32::from(bytes.u16()) % 3_000);
        let start = self.peer_next + 16 * u32::from(shift) - 16 * 128;
        let start = if shift % 4 == 0 {
            self.peer_next
        } else {
            start
        };
        let acknowledged = INITIAL[0] + self.rules.next() as u32;
        let mut header = header(TcpFlags::ACK, start, acknowledged, 30_000);
        header.options = self.stamped();
        self.peer_next = self.peer_next.later(start + length);
        self.hand_in(header, length, shift & 1 == 0);
    }

    fn stamped(&self) -> TcpOptions {
        let value = (self.now.as_nanos() / 1_000_000) as u32;
        let stamps = Timestamps {
            value,
            echo: value.wrapping_add(INITIAL[0].0),
        };
        TcpOptions {
            timestamps: self.stamps.then_some(stamps),
            ..TcpOptions::default()
        }
    }

    fn any_segment(&mut self, bytes: &mut Bytes<'_>) {
        let flags = TcpFlags(bytes.u8());
        let start = match bytes.u8() {
            byte @ 0..=199 => self.peer_next + u32::from(byte) - 100,
            200..=249 => self.peer_next + u32::from(bytes.u16()) - 30_000,
            _ => SequenceNumber(bytes.u32()),
        };
        let acknowledged = self.number(bytes, self.rules.next());
        let mut header = header(flags, start, acknowledged, bytes.u16());
        let first = bytes.u8();
        header.options = options(bytes, first);
        for _ in 0..first >> 6 {
            let [first, last] = [(); 2].map(|()| self.number(bytes, self.rules.next()));
            header.options.sack.push(first, last);
        }
        let length = u32::from(bytes.u8()) * 8;
        self.hand_in(header, length, first & 1 == 0);
    }

    fn hand_in(&mut self, header: TcpHeader, length: u32, pattern: bool) {
        // The byte with number n is that of the pattern at n, whichever end sends it and however often.
        let start = u64::from(header.sequence.0);
        let payload = if pattern && start + u64::from(length) <= u64::from(u32::MAX) {
            Payload::Pattern {
                stream: STREAMS[1],
                offset: start,
                length,
            }
        } else {
            let numbers = (0..length).map(|index| header.sequence + index);
            Payload::Bytes(numbers.map(byte_of).collect())
        };
        self.rules.received(&header);
        let before = self.connection.state();
        self.connection.handle_segment(self.now, &header, payload);
        // With T/TCP the answer to a SYN may acknowledge data as well.
        if before == State::SynSent && self.connection.state() != before {
            self.first_byte.get_or_insert(header.sequence + 1);
        }
    }

    fn read(&mut self, most: usize) {
        let mut out = vec![0; most];
        let count = self.connection.read(&mut out);
        let Some(first) = self.first_byte else {
            assert_eq!(count, 0, "bytes before a SYN was acknowledged");
            return;
        };
        for (index, &byte) in out[..count].iter().enumerate() {
            let number = first + self.read as u32 + index as u32;
            assert_eq!(byte, byte_of(number), "byte {index} after {}", self.read);
        }
        self.read += count as u64;
    }

    fn settle(&mut self) {
        while self.connection.poll_event().is_some() {}
        serve_timers(self.now, &mut self.connection);
        let first_byte = &mut self.first_byte;
        drain(self.now, &mut self.connection, &mut self.rules, |segment| {
            let header = segment.header;
            if header.flags.contains(TcpFlags::ACK) && !header.flags.contains(TcpFlags::RST) {
                first_byte.get_or_insert(header.acknowledgment);
            }
        });
        let buffer = u64::from(self.profile.receive_buffer);
        assert!(self.connection.readable() <= buffer, "more than the buffer");
        let in_flight = self.connection.bytes_in_flight() as usize;
        let memory = 65_536 + 100 * (in_flight + buffer as usize);
        check_rest(self.now, &self.connection, self.written, memory);
    }
}

fn byte_of(number: SequenceNumber) -> u8 {
    pattern_byte(STREAMS[1], number.0.into())
}

fn header(
    flags: TcpFlags,
    sequence: SequenceNumber,
    acknowledgment: SequenceNumber,
    window: u16,
) -> TcpHeader {
    TcpHeader {
        source_port: endpoint(1).port,
        destination_port: endpoint(0).port,
        sequence,
        acknowledgment,
        flags,
        window,
        options: TcpOptions::default(),
    }
}

/// Returns options by the bits of `first`.
fn options(bytes: &mut Bytes<'_>, first: u8) -> TcpOptions {
    let bit = |number: u32| first >> number & 1 == 1;
    let mut options = TcpOptions {
        maximum_segment_size: bit(2).then(|| bytes.u16()),
        window_scale: bit(3).then(|| bytes.u8() % 15),
        sack_permitted: bit(4),
        timestamps: bit(5).then(|| Timestamps {
            value: bytes.u8().into(),
            echo: bytes.u16().into(),
        }),
        sack: if bit(7) {
            let (offset, size) = (bytes.u8().into(), bytes.u8().into());
            SackBlocks::negative(Snack { offset, size })
        } else {
            SackBlocks::default()
        },
        snack_permitted: bit(6),
        notice: NonZeroU8::new(first & 3).map(|number| HandoverNotice {
            number,
            outstanding: bytes.u8().into(),
        }),
    };
    // Counts of the two ends of a script, or near them.
    if first & 3 == 0 {
        let (kind, own, echo) = (bytes.u8(), bytes.u8() % 4, bytes.u8() % 4);
        let [own, echo] = [own, echo].map(u32::from);
        options.sack.set_connection_count(match kind % 3 {
            0 => ConnectionCount::Count(own),
            1 => ConnectionCount::New(own),
            _ => ConnectionCount::Echo { own, echo },
        });
    }
    options
}
