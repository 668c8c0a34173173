//! Bundles: what is read has one encoding, and two nodes survive any datagram and lose no data.

use crate::bytes::Bytes;
use baton_proto::dtn::{Configuration, Content, Node, Path, Ranges, Record, StreamId};
use baton_proto::interface::InterfaceId;
use baton_proto::rate::DataRate;
use baton_proto::time::{Duration, Instant};
use baton_proto::wire::bundle::{AdministrativeRecord, Bundle};

/// Most steps of a script; the rest of the input is ignored.
const MOST_STEPS: u32 = 200;
/// Capacity of each node, in bytes of data.
const STORAGE: u64 = 20_000;
/// Longest time until all data has arrived, once nothing is lost any more.
const REST: Duration = Duration::from_secs(60);
const STREAM: StreamId = StreamId {
    opened_here: true,
    number: 0,
};

/// Tries the input as a bundle and as each record, and as a script for two nodes.
pub fn check(data: &[u8]) {
    if let Ok(bundle) = Bundle::decode(data) {
        let mut again = Vec::new();
        bundle.encode(&mut again);
        assert_eq!(again, data, "a bundle has one encoding");
    }
    if let Ok(record) = AdministrativeRecord::decode(data) {
        let mut again = Vec::new();
        record.encode(&mut again);
        assert_eq!(again, data, "an administrative record has one encoding");
    }
    let _ = Record::decode(data);
    play(&mut Bytes::new(data));
}

/// Two nodes: the first sends one stream to the second.
struct Scene {
    now: Instant,
    nodes: [Node; 2],
    /// Datagrams under way to each node.
    flying: [Vec<Vec<u8>>; 2],
    written: u64,
    arrived: Ranges,
    count: u64,
}

fn play(bytes: &mut Bytes<'_>) {
    let node = |node, peer| {
        Node::new(Configuration {
            node,
            peer,
            epoch_ms: 820_540_800_000,
            lifetime: Duration::from_secs(36_000),
            storage: STORAGE,
        })
    };
    let mut scene = Scene {
        now: Instant::ZERO,
        nodes: [node(1, 2), node(2, 1)],
        flying: [Vec::new(), Vec::new()],
        written: 0,
        arrived: Ranges::default(),
        count: 0,
    };
    for _ in 0..MOST_STEPS {
        if bytes.is_empty() {
            break;
        }
        scene.step(bytes);
    }
    scene.come_to_rest();
}

fn path() -> Path {
    Path {
        interface: InterfaceId(0),
        rate: Some(DataRate::from_bits_per_second(1_000_000)),
        round_trip: Duration::from_millis(20),
        datagram: 1_300,
        headers: 28,
    }
}

impl Scene {
    fn step(&mut self, bytes: &mut Bytes<'_>) {
        let to = usize::from(bytes.bool());
        match bytes.u8() % 8 {
            0 => {
                let room = self.nodes[0].room();
                let count = u64::from(bytes.u16()).min(room);
                self.write(count as usize);
            }
            1 => {
                let path = bytes.bool().then(path);
                self.nodes[to].set_path(self.now, path);
            }
            2 => self.flying[to].clear(),
            3 => {
                // A datagram overtakes, or arrives again.
                if let Some(first) = self.flying[to].first().cloned() {
                    self.flying[to].push(first);
                }
            }
            4 => {
                if let Some(mut damaged) = self.flying[to].pop() {
                    let at = usize::from(bytes.u16()) % damaged.len();
                    damaged[at] ^= bytes.u8();
                    self.flying[to].push(damaged);
                }
            }
            5 => {
                let forged = bytes.take(100).to_vec();
                self.flying[to].push(forged);
            }
            6 => self.arrive(to, bytes.u8() < 200),
            _ => {
                self.now += Duration::from_millis(u64::from(bytes.u8()));
                self.poll();
            }
        }
        assert!(self.nodes[0].held() <= STORAGE, "custody is bounded");
    }

    fn write(&mut self, count: usize) {
        let offset = self.written;
        let byte = |index: usize| (offset + index as u64) as u8;
        let content = Content::Data {
            offset,
            bytes: (0..count).map(byte).collect(),
        };
        if count > 0 {
            let record = Record {
                stream: STREAM,
                content,
            };
            self.nodes[0].keep(self.now, record, None);
            self.written += count as u64;
        }
    }

    fn poll(&mut self) {
        for (from, node) in self.nodes.iter_mut().enumerate() {
            node.handle_timeout(self.now);
            while let Some(datagram) = node.poll_transmit(self.now) {
                assert!(datagram.bytes.len() <= path().datagram, "it fits");
                self.flying[1 - from].push(datagram.bytes);
            }
        }
    }

    /// Lets the first datagram under way arrive, whose bundle is admitted or refused.
    fn arrive(&mut self, to: usize, admits: bool) {
        if self.flying[to].is_empty() {
            return;
        }
        let datagram = self.flying[to].remove(0);
        let record = self.nodes[to].handle_datagram(self.now, &datagram, |_| admits);
        if let (1, Some(record)) = (to, record)
            && let Content::Data { offset, bytes } = record.content
        {
            for (index, byte) in bytes.into_iter().enumerate() {
                let position = offset + index as u64;
                assert_eq!(byte, position as u8, "no byte is changed");
                assert!(self.arrived.insert(position), "no byte arrives twice");
                self.count += 1;
            }
        }
    }

    /// Lets everything arrive from now on, and checks that it does.
    fn come_to_rest(&mut self) {
        for node in &mut self.nodes {
            node.set_path(self.now, Some(path()));
        }
        let end = self.now + REST;
        while self.nodes[0].held() > 0 && self.now < end {
            self.poll();
            for to in 0..2 {
                while !self.flying[to].is_empty() {
                    self.arrive(to, true);
                }
            }
            let next = self.nodes.iter().filter_map(Node::poll_timeout).min();
            self.now = next.unwrap_or(end).max(self.now + Duration::from_micros(1));
        }
        assert_eq!(self.nodes[0].held(), 0, "custody ends");
        assert_eq!(self.count, self.written, "all bytes arrive");
    }
}
