//! Two nodes at the ends of a link of 1 Mbit/s, 100 ms apart.

use super::*;
use core::net::SocketAddr;
use proptest::prelude::*;
use std::collections::VecDeque;

const DELAY: Duration = Duration::from_millis(100);
const HEADERS: u32 = 28;
const STREAM: StreamId = StreamId {
    opened_here: true,
    number: 0,
};

fn at(milliseconds: u64) -> Instant {
    Instant::from_millis(milliseconds)
}

fn node(number: u64, storage: u64, lifetime: Duration) -> Node {
    Node::new(Configuration {
        node: number,
        peer: 3 - number,
        epoch_ms: 820_540_800_000,
        lifetime,
        storage,
    })
}

fn path() -> Path {
    Path {
        interface: InterfaceId(0),
        rate: Some(DataRate::from_bits_per_second(1_000_000)),
        round_trip: DELAY.saturating_mul(2),
        datagram: 1_472,
        headers: HEADERS,
    }
}

fn data(offset: u64, count: usize) -> Record {
    let byte = |index| (offset + index as u64) as u8;
    Record {
        stream: STREAM,
        content: Content::Data {
            offset,
            bytes: (0..count).map(byte).collect(),
        },
    }
}

/// The two nodes, and the datagrams between them.
struct Pair {
    now: Instant,
    nodes: [Node; 2],
    /// Datagrams on their way: arrival, receiver, bytes.
    flying: VecDeque<(Instant, usize, Vec<u8>)>,
    /// Number of datagrams sent by each.
    sent: [u64; 2],
    /// IP bytes sent by each.
    bytes: [u64; 2],
    /// Records that the second has received, with their times.
    received: Vec<(Instant, Record)>,
    /// Capacity of the second.
    room: u64,
    /// Returns true for a datagram that is lost: its sender and its number.
    loses: Box<dyn FnMut(usize, u64) -> bool>,
}

impl Pair {
    fn new(storage: u64, lifetime: Duration) -> Pair {
        let mut nodes = [1, 2].map(|number| node(number, storage, lifetime));
        for node in &mut nodes {
            node.set_path(at(0), Some(path()));
        }
        Pair {
            now: at(0),
            nodes,
            flying: VecDeque::new(),
            sent: [0; 2],
            bytes: [0; 2],
            received: Vec::new(),
            room: u64::MAX,
            loses: Box::new(|_, _| false),
        }
    }

    fn settle(&mut self) {
        for (sender, node) in self.nodes.iter_mut().enumerate() {
            node.handle_timeout(self.now);
            while let Some(datagram) = node.poll_transmit(self.now) {
                assert!(datagram.bytes.len() <= path().datagram);
                self.sent[sender] += 1;
                let length = datagram.bytes.len() as u64 + u64::from(HEADERS);
                self.bytes[sender] += length;
                if !(self.loses)(sender, self.sent[sender]) {
                    let time = path().rate.unwrap().transmission_time(length * 8);
                    let arrival = self.now + time.unwrap() + DELAY;
                    self.flying.push_back((arrival, 1 - sender, datagram.bytes));
                }
            }
        }
    }

    fn run_until(&mut self, until: Instant) {
        loop {
            self.settle();
            let deadlines = self.nodes.iter().filter_map(Node::poll_timeout);
            let arrivals = self.flying.iter().map(|&(arrival, _, _)| arrival);
            let next = deadlines.chain(arrivals).min().unwrap_or(until);
            if next > until {
                self.now = until;
                return;
            }
            self.now = self.now.max(next);
            let flying = core::mem::take(&mut self.flying).into_iter();
            let (due, later): (VecDeque<_>, _) =
                flying.partition(|(arrival, _, _)| *arrival <= self.now);
            self.flying = later;
            for (_, to, bytes) in due {
                let room = self.room;
                let admit = |record: &Record| record.length() <= room;
                if let Some(record) = self.nodes[to].handle_datagram(self.now, &bytes, admit) {
                    self.room -= record.length();
                    self.received.push((self.now, record));
                }
            }
            if next == until {
                self.settle();
                return;
            }
        }
    }

    /// Returns the received bytes of data, which must be the first `count` of the stream, each once.
    fn check(&self, count: u64) {
        let mut arrived = Ranges::default();
        let mut total = 0;
        for (_, record) in &self.received {
            if let Content::Data { offset, bytes } = &record.content {
                for (index, &byte) in bytes.iter().enumerate() {
                    let position = offset + index as u64;
                    assert_eq!(byte, position as u8);
                    assert!(arrived.insert(position), "{position} arrived twice");
                    total += 1;
                }
            }
        }
        assert_eq!(total, count);
        assert!(count == 0 || arrived.contains(0) && arrived.contains(count - 1));
    }
}

#[test]
fn a_bundle_stays_in_custody_until_the_signal() {
    let mut pair = Pair::new(10_000, Duration::from_secs(60));
    pair.nodes[0].keep(at(0), data(0, 1_000), None);
    assert_eq!(pair.nodes[0].room(), 9_000);
    // The bundle arrives after 100 ms and its transmission, at 1 Mbit/s; its signal leaves 10 ms later.
    pair.run_until(at(112));
    assert_eq!(pair.received.len(), 1);
    pair.run_until(at(219));
    assert_eq!(pair.nodes[0].held(), 1_000);
    pair.run_until(at(225));
    assert_eq!(pair.nodes[0].held(), 0);
    assert_eq!(pair.nodes[0].counts().released, 1);
    assert_eq!(pair.nodes[0].poll_timeout(), None);
    pair.check(1_000);
}

/// With any one or two of the first datagrams lost either way, custody ends all the same, and nothing arrives twice.
#[test]
fn custody_survives_the_loss_of_any_two_datagrams() {
    for sender in 0..2 {
        for (one, other) in (1..5).flat_map(|one| (one..5).map(move |other| (one, other))) {
            let mut pair = Pair::new(100_000, Duration::from_secs(60));
            pair.loses =
                Box::new(move |from, number| from == sender && [one, other].contains(&number));
            pair.nodes[0].keep(at(0), data(0, 5_000), None);
            pair.run_until(Instant::from_secs(5));
            pair.check(5_000);
            assert_eq!(pair.nodes[0].held(), 0, "{sender} {one} {other}");
            let lost = if one == other { 1 } else { 2 };
            let counts = pair.nodes.each_ref().map(Node::counts);
            match sender {
                0 => assert_eq!(counts[0].retransmitted, lost),
                // A lost signal has its bundles arrive again.
                _ => assert_eq!(counts[1].duplicates, counts[0].retransmitted),
            }
        }
    }
}

/// A bundle that is lost three times is sent again each time, by the custody timer: never before the shortest time of a
/// signal, a round trip and its delay.
#[test]
fn the_custody_timer_repeats_until_there_is_a_signal() {
    let mut pair = Pair::new(10_000, Duration::from_secs(60));
    pair.loses = Box::new(|sender, number| sender == 0 && number <= 3);
    pair.nodes[0].keep(at(0), data(0, 100), None);
    pair.run_until(Instant::from_secs(10));
    pair.check(100);
    assert_eq!(pair.sent[0], 4);
    assert!(pair.received[0].0 >= at(3 * 210 + 100));
}

#[test]
fn a_refused_bundle_stays_in_custody() {
    let mut pair = Pair::new(10_000, Duration::from_secs(60));
    pair.room = 0;
    pair.nodes[0].keep(at(0), data(0, 500), None);
    pair.run_until(Instant::from_secs(3));
    assert_eq!(pair.nodes[0].held(), 500);
    assert!(pair.nodes[1].counts().refused >= 2);
    pair.room = 500;
    pair.run_until(Instant::from_secs(6));
    assert_eq!(pair.nodes[0].held(), 0);
    pair.check(500);
}

#[test]
fn bundles_expire_in_custody() {
    let mut pair = Pair::new(10_000, Duration::from_secs(2));
    pair.nodes[0].set_path(at(0), None);
    pair.nodes[0].keep(at(0), data(0, 500), None);
    pair.run_until(at(1_999));
    assert_eq!(pair.nodes[0].held(), 500);
    pair.run_until(at(2_000));
    assert_eq!(pair.nodes[0].held(), 0);
    assert_eq!(pair.nodes[0].counts().expired, 1);
    assert_eq!(pair.nodes[0].poll_expired(), Some(STREAM));
    assert_eq!(pair.nodes[0].poll_expired(), None);
    pair.nodes[0].set_path(at(2_000), Some(path()));
    pair.run_until(at(5_000));
    assert_eq!(pair.sent[0], 0);
}

/// Bundles wait through an outage of any length, and then need the time of their transmission and the delay.
#[test]
fn an_outage_delays_by_its_rest() {
    for outage in [1_000, 30_000, 600_000] {
        let mut pair = Pair::new(1_000_000, Duration::from_secs(3600));
        for node in &mut pair.nodes {
            node.set_path(at(0), None);
        }
        pair.nodes[0].keep(at(500), data(0, 50_000), None);
        pair.run_until(at(outage));
        assert_eq!(pair.sent, [0, 0]);
        for node in &mut pair.nodes {
            node.set_path(at(outage), Some(path()));
        }
        pair.run_until(at(outage + 5_000));
        pair.check(50_000);
        let last = pair.received.iter().map(|(arrival, _)| *arrival).max();
        let transmission = Duration::from_nanos(pair.bytes[0] * 8_000);
        let expected = at(outage) + transmission + DELAY;
        // Each packet's transmission time is rounded up to a nanosecond.
        let late = last.unwrap().saturating_since(expected);
        assert!(
            last.unwrap() >= expected && late < Duration::from_micros(1),
            "{late:?}"
        );
        assert_eq!(pair.nodes[0].counts().retransmitted, 0);
    }
}

/// Signals of bundles sent before an outage come after it. Custody timers do not take its length for a round trip: a
/// bundle that is lost then is there a second later.
#[test]
fn an_outage_is_no_round_trip() {
    let mut pair = Pair::new(1_000_000, Duration::from_secs(3600));
    pair.nodes[0].keep(at(0), data(0, 20_000), None);
    pair.run_until(at(150));
    for node in &mut pair.nodes {
        node.set_path(at(150), None);
    }
    pair.run_until(at(30_000));
    for node in &mut pair.nodes {
        node.set_path(at(30_000), Some(path()));
    }
    pair.run_until(at(30_500));
    pair.check(20_000);
    let lost = pair.sent[0] + 1;
    pair.loses = Box::new(move |sender, number| sender == 0 && number == lost);
    pair.nodes[0].keep(at(30_500), data(20_000, 1_000), None);
    pair.run_until(at(31_500));
    pair.check(21_000);
}

/// With a loss of p of all bundles, each takes 1/(1-p) transmissions: goodput is (1-p) times the loss-free one.
#[test]
fn throughput_falls_by_the_loss_alone() {
    let goodput = |every: u64| {
        let mut pair = Pair::new(10_000_000, Duration::from_secs(3600));
        // Evenly spread losses of 1/`every` have no spread of their own. The number's bits are mixed, as otherwise
        // a bundle and its retransmission could be lost in step.
        pair.loses = Box::new(move |sender, number| {
            sender == 0 && number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32 < (1 << 32) / every
        });
        pair.nodes[0].keep(at(0), data(0, 1_000_000), None);
        pair.run_until(Instant::from_secs(60));
        pair.check(1_000_000);
        let last = pair
            .received
            .iter()
            .map(|(arrival, _)| *arrival)
            .max()
            .unwrap();
        8e6 / last.as_secs_f64()
    };
    let without = goodput(u64::MAX >> 30);
    for every in [10, 5, 3] {
        let ratio = goodput(every) / without;
        let expected = 1.0 - 1.0 / every as f64;
        // The last bundles need some round trips of 0.2 s, of at least 9 s.
        assert!(
            ratio < expected * 1.02 && ratio > expected * 0.85,
            "{every}: {ratio}"
        );
    }
}

#[test]
fn streams_take_turns() {
    let mut pair = Pair::new(1_000_000, Duration::from_secs(60));
    pair.nodes[0].keep(at(0), data(0, 100_000), None);
    let mut other = data(0, 100);
    other.stream.number = 1;
    pair.nodes[0].keep(at(0), other, None);
    pair.run_until(at(200));
    let numbers = pair.received.iter().map(|(_, record)| record.stream.number);
    assert_eq!(numbers.take(3).collect::<Vec<_>>(), [0, 1, 0]);
}

/// Small writes share a bundle while they wait for the link.
#[test]
fn data_that_waits_shares_a_bundle() {
    let mut node = node(1, 1_000_000, Duration::from_secs(60));
    node.set_path(at(0), Some(path()));
    for offset in (0..2_000).step_by(100) {
        node.keep(at(0), data(offset, 100), None);
    }
    assert_eq!(node.counts().kept, 2);
    assert_eq!(node.held(), 2_000);
}

#[test]
fn an_abandoned_stream_leaves_no_bundle() {
    let mut pair = Pair::new(1_000_000, Duration::from_secs(60));
    pair.nodes[0].keep(at(0), data(0, 50_000), None);
    pair.run_until(at(150));
    pair.nodes[0].abandon(STREAM);
    assert_eq!(pair.nodes[0].held(), 0);
    // None has a signal yet.
    let counts = pair.nodes[0].counts();
    assert_eq!(counts.abandoned, counts.kept);
    let sent = pair.sent[0];
    pair.run_until(at(5_000));
    assert_eq!(pair.sent[0], sent);
    assert_eq!(pair.nodes[0].poll_timeout(), None);
}

#[test]
fn strangers_bundles_are_counted_and_ignored() {
    let mut stranger = Node::new(Configuration {
        node: 3,
        peer: 2,
        ..node(1, 1_000, Duration::from_secs(60)).configuration
    });
    stranger.set_path(at(0), Some(path()));
    stranger.keep(at(0), data(0, 10), None);
    let bytes = stranger.poll_transmit(at(0)).unwrap().bytes;
    let mut node = node(2, 1_000, Duration::from_secs(60));
    assert_eq!(node.handle_datagram(at(0), &bytes, |_| true), None);
    assert_eq!(node.counts().malformed, 1);
    assert_eq!(node.poll_timeout(), None);
}

#[test]
fn records_are_read_with_the_name_of_the_reader() {
    let ends: [SocketAddr; 2] = ["10.0.0.1:49152", "10.0.0.4:80"].map(|end| end.parse().unwrap());
    let wide: [SocketAddr; 2] =
        ["[2001:db8::1]:1", "[2001:db8::2]:2"].map(|end| end.parse().unwrap());
    for content in [
        Content::Open(ends),
        Content::Open(wide),
        Content::Data {
            offset: 70_000,
            bytes: vec![1, 2, 3],
        },
        Content::End(70_003),
        Content::Reset,
    ] {
        let record = Record {
            stream: STREAM,
            content,
        };
        let mut bytes = Vec::new();
        record.encode(&mut bytes);
        let mut read = Record::decode(&bytes).unwrap();
        assert!(!read.stream.opened_here);
        read.stream.opened_here = true;
        assert_eq!(read, record);
    }
    // A stream's opener opens it, data has bytes, and the ends are of one version.
    for wrong in [
        "850001000046000000000000",
        "8501000000 40",
        "85000000004700000000000000",
        "8504000000 40",
    ] {
        let digits: String = wrong.split_whitespace().collect();
        let bytes: Vec<u8> = (0..digits.len() / 2)
            .map(|index| u8::from_str_radix(&digits[2 * index..2 * index + 2], 16).unwrap())
            .collect();
        assert!(Record::decode(&bytes).is_err(), "{wrong}");
    }
}

proptest! {
    /// Nothing is lost, and nothing arrives twice, whatever datagrams are lost.
    #[test]
    fn any_losses_are_survived(
        lost in proptest::collection::vec(any::<bool>(), 0..60),
        sizes in proptest::collection::vec(1..3_000_usize, 1..10),
    ) {
        let mut pair = Pair::new(1_000_000, Duration::from_secs(3600));
        let mut lost = lost.into_iter();
        pair.loses = Box::new(move |_, _| lost.next().unwrap_or(false));
        let mut offset = 0;
        for size in sizes {
            pair.nodes[0].keep(pair.now, data(offset, size), None);
            offset += size as u64;
            pair.run_until(pair.now + Duration::from_millis(20));
        }
        pair.run_until(Instant::from_secs(300));
        pair.check(offset);
        prop_assert_eq!(pair.nodes[0].held(), 0);
    }

    #[test]
    fn any_datagram_is_survived(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let mut node = node(1, 1_000, Duration::from_secs(1));
        prop_assert_eq!(node.handle_datagram(at(0), &bytes, |_| true), None);
        let _ = Record::decode(&bytes);
    }

    /// A set of ranges is a set.
    #[test]
    fn ranges_are_a_set(numbers in proptest::collection::vec(0..40_u64, 0..60)) {
        let (mut ranges, mut set) = (Ranges::default(), std::collections::BTreeSet::new());
        for number in numbers {
            prop_assert_eq!(ranges.insert(number), set.insert(number));
        }
        for number in 0..40 {
            prop_assert_eq!(ranges.contains(number), set.contains(&number));
        }
    }
}
