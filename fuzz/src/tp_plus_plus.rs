//! TP++: what is read has one encoding, and no packets make a connection panic, store without bound, or deliver wrong
//! data.

use crate::bytes::Bytes;
use baton_proto::fec::erasure::BlockSize;
use baton_proto::packet::{Payload, pattern_byte};
use baton_proto::rate::DataRate;
use baton_proto::time::{Duration, Instant};
use baton_proto::tp_plus_plus::{Configuration, Connection, Mode};
use baton_proto::wire::tp_plus_plus::{ConnectionLabel, Content, TpPlusPlusPacket};
use core::net::IpAddr;
use std::collections::BTreeSet;

/// Most steps of a script; the rest of the input is ignored.
const MOST_STEPS: u32 = 200;
/// Capacity of the receiver's buffer in bytes.
const BUFFER: u32 = 20_000;
const LABEL: ConnectionLabel = ConnectionLabel {
    source_port: 1,
    destination_port: 2,
    identifier: 3,
};

/// Tries the input as a packet, and as a script for two ends and a hostile path.
pub fn check(data: &[u8]) {
    if let Ok(packet) = TpPlusPlusPacket::decode(data) {
        let mut again = Vec::new();
        packet.encode(&mut again);
        assert_eq!(again.len(), packet.wire_length() as usize, "{packet:?}");
        assert_eq!(again, data, "a packet has one encoding");
    }
    play(&mut Bytes::new(data));
}

/// Two ends, and the packets under way to each.
struct Scene {
    now: Instant,
    ends: [Connection; 2],
    flying: [Vec<TpPlusPlusPacket>; 2],
    written: u64,
    read: BTreeSet<u64>,
}

fn play(bytes: &mut Bytes<'_>) {
    let mut configuration = Configuration::new(DataRate::from_bits_per_second(10_000_000));
    configuration.mode = bytes.one_of(&[Mode::Reliable, Mode::QuasiReliable]);
    configuration.block = BlockSize::new(1 + bytes.u8() % 8, bytes.u8() % 4).ok();
    configuration.receive_buffer = BUFFER;
    let [a, b] = [1, 2].map(|host| IpAddr::from([192, 0, 2, host]));
    let (one, other) = (configuration.clone(), configuration);
    let mut scene = Scene {
        now: Instant::ZERO,
        ends: [
            Connection::connect(one, LABEL, (a, b), 1500),
            Connection::accept(other, LABEL.reversed(), (b, a), 1500),
        ],
        flying: [Vec::new(), Vec::new()],
        written: 0,
        read: BTreeSet::new(),
    };
    for _ in 0..MOST_STEPS {
        if bytes.is_empty() {
            break;
        }
        scene.step(bytes);
        scene.settle();
    }
}

impl Scene {
    fn step(&mut self, bytes: &mut Bytes<'_>) {
        let to = usize::from(bytes.bool());
        match bytes.u8() % 7 {
            0 => self.write(bytes.u16().into(), bytes.bool()),
            1 => self.wait(Duration::from_millis(bytes.u16().into())),
            2 => drop(self.flying[to].pop()),
            3 => self.arrive(to, bytes.u8().into()),
            // A packet arrives twice.
            4 => self.flying[to].extend(self.flying[to].last().cloned()),
            5 => self.forge(to, bytes),
            _ => self.ends[0].set_mtu(self.path(), 200 + u32::from(bytes.u8())),
        }
    }

    fn path(&self) -> (IpAddr, IpAddr) {
        let [a, b] = [1, 2].map(|host| IpAddr::from([192, 0, 2, host]));
        (a, b)
    }

    fn write(&mut self, length: u32, is_record: bool) {
        let payload = Payload::Pattern {
            stream: 7,
            offset: self.written,
            length: length.min(10_000),
        };
        self.written += self.ends[0].write(&payload, is_record);
    }

    fn wait(&mut self, time: Duration) {
        let end = self.now + time;
        for end_of in 0..2 {
            while let Some(at) = self.ends[end_of].poll_timeout().filter(|&at| at <= end) {
                self.now = self.now.max(at);
                self.ends[end_of].handle_timeout(self.now);
                self.settle();
            }
        }
        self.now = end;
    }

    fn arrive(&mut self, to: usize, place: usize) {
        if self.flying[to].is_empty() {
            return;
        }
        let place = place % self.flying[to].len();
        let packet = self.flying[to].swap_remove(place);
        self.hand_in(to, packet);
    }

    fn hand_in(&mut self, to: usize, packet: TpPlusPlusPacket) {
        let (a, b) = self.path();
        let addresses = [(b, a), (a, b)][to];
        self.ends[to].handle_packet(self.now, addresses, packet);
    }

    /// Damages a packet: data in at most two words, which its check detects, and control messages in any way, as an
    /// attacker would.
    fn forge(&mut self, to: usize, bytes: &mut Bytes<'_>) {
        let Some(mut packet) = self.flying[to].pop() else {
            return;
        };
        match &mut packet.content {
            Content::Data(_) => {
                let mut encoded = Vec::new();
                packet.encode(&mut encoded);
                for _ in 0..2 {
                    let at = usize::from(bytes.u16()) % encoded.len();
                    encoded[at] ^= bytes.u8();
                }
                match TpPlusPlusPacket::decode(&encoded) {
                    Ok(damaged) => packet = damaged,
                    Err(_) => return,
                }
            }
            Content::Repair(repair) => {
                repair.first = bytes.u32();
                repair.sources = repair.sources.max(bytes.u8() % 64);
            }
            Content::Acknowledgment(acknowledgment) => {
                acknowledgment.next = bytes.u32();
                let length = bytes.u8().into();
                acknowledgment.bitmap = bytes.take(length).into();
            }
            Content::Limit(limit) => *limit = u64::from(bytes.u32()) << (bytes.u8() % 33),
            Content::Request => {}
        }
        self.hand_in(to, packet);
    }

    /// Reads what has arrived, and lets both ends send.
    fn settle(&mut self) {
        while let Some(chunk) = self.ends[1].read() {
            let mut data = Vec::new();
            chunk.payload.copy_into(&mut data);
            for (place, byte) in (chunk.position..).zip(data) {
                assert_eq!(byte, pattern_byte(7, place), "wrong data at {place}");
                assert!(self.read.insert(place), "{place} came twice");
            }
        }
        for end in 0..2 {
            while self.ends[end].poll_event().is_some() {}
            while let Some(sent) = self.ends[end].poll_transmit(self.now) {
                let flying = &mut self.flying[1 - end];
                flying.push(sent.packet);
                if flying.len() > 100 {
                    flying.remove(0);
                }
            }
        }
        let skipped = self.ends[1].statistics().skipped;
        assert!(
            self.read.len() as u64 + skipped <= self.written,
            "more than was written"
        );
    }
}
