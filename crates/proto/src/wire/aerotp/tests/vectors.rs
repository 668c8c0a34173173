//! The test vectors of docs/aerotp.md: their fields encode to their bytes, and decode from them.
//! tests/test_aerotp_vectors.py verifies their checks and code words with codes of its own.

use super::*;
use std::collections::BTreeMap;

const SPECIFICATION: &str = include_str!("../../../../../../docs/aerotp.md");

pub(super) struct Vector {
    pub name: &'static str,
    pub ip: IpHeader,
    pub header: AerotpHeader,
    pub payload: Vec<u8>,
    pub bytes: Vec<u8>,
}

/// Table of a vector.
struct Fields(BTreeMap<&'static str, &'static str>);

impl Fields {
    fn number(&self, name: &str) -> u32 {
        let text = self.0[name];
        match text.strip_prefix("0x") {
            Some(digits) => u32::from_str_radix(digits, 16).unwrap(),
            None => text.parse().unwrap(),
        }
    }

    fn is_set(&self, name: &str) -> bool {
        self.number(name) == 1
    }

    fn numbers(&self, name: &str) -> Vec<u32> {
        let text = self.0.get(name).copied().unwrap_or("");
        let numbers = text.split(',').filter(|number| !number.is_empty());
        numbers.map(|number| number.parse().unwrap()).collect()
    }

    fn given<T>(&self, name: &str, make: impl Fn(&Fields) -> T) -> Option<T> {
        self.0.contains_key(name).then(|| make(self))
    }

    fn ranges(&self, kind: &str) -> Vec<Range> {
        let starts = self.numbers(&format!("mack.{kind}.start"));
        let lengths = self.numbers(&format!("mack.{kind}.length"));
        assert_eq!(starts.len(), lengths.len());
        let both = starts.into_iter().zip(lengths);
        both.map(|(start, length)| Range { start, length })
            .collect()
    }

    fn mack(&self) -> Mack {
        let damaged = self.numbers("mack.missing.damaged");
        let missing = self.ranges("missing").into_iter().zip(damaged);
        let missing = missing.map(|(range, damaged)| MissingRange {
            range,
            damaged: damaged == 1,
        });
        let rate = self.number("mack.error_rate") as u8;
        Mack {
            cumulative: SequenceNumber(self.number("mack.cumulative")),
            unconfirmed: self.number("mack.unconfirmed"),
            window: self.number("mack.window"),
            echo: self.number("mack.echo"),
            held_for: self.number("mack.held_for"),
            error_rate: match rate {
                0 => ErrorRate::NONE,
                // From section "Error rate".
                code => ErrorRate::from_rate(2_f64.powf(-f64::from(255 - code) / 8.0)),
            },
            arrival_rate: self.number("mack.arrival_rate"),
            is_complete: self.is_set("mack.complete"),
            restored: 0,
            received: self.ranges("received"),
            missing: missing.collect(),
        }
    }

    fn header(&self) -> AerotpHeader {
        assert_eq!(self.number("version"), 1);
        AerotpHeader {
            source_port: self.number("srcport") as u16,
            destination_port: self.number("dstport") as u16,
            sequence: SequenceNumber(self.number("seq")),
            timestamp: self.number("timestamp"),
            mode: Mode::ALL[self.number("mode") as usize],
            class: ServiceClass::new(self.number("class") as u8).unwrap(),
            is_final: self.is_set("flags.afin"),
            ends_record: self.is_set("flags.record"),
            wants_mack: self.is_set("flags.pull"),
            tcp_flags: TcpFlags(self.number("tcp_flags") as u8),
            protection: protection(self.number("strength") as u16, self.is_set("covers_header")),
            opening: self.given("asyn.initial", |fields| Opening {
                initial: SequenceNumber(fields.number("asyn.initial")),
                token: fields.number("asyn.token"),
            }),
            tcp_offer: self.given("offer.mss", |fields| TcpOffer {
                maximum_segment_size: fields.number("offer.mss") as u16,
                window_scale: Some(fields.number("offer.scale") as u8).filter(|&shift| shift < 255),
                sack_permitted: fields.is_set("offer.sack"),
                timestamps: fields.is_set("offer.timestamps"),
            }),
            mack: self.given("mack.cumulative", |fields| Box::new(fields.mack())),
            token: self.given("token", |fields| fields.number("token")),
            adds_path: false,
            block: self.given("block.number", |fields| BlockPlace {
                block: fields.number("block.number") as u16,
                index: fields.number("block.index") as u8,
                sources: fields.number("block.sources") as u8,
                repairs: fields.number("block.repairs") as u8,
            }),
            is_odd_incarnation: false,
            resumption: None,
        }
    }
}

fn hex(digits: &str) -> Vec<u8> {
    let digits: Vec<u32> = digits
        .chars()
        .filter_map(|digit| digit.to_digit(16))
        .collect();
    digits
        .chunks(2)
        .map(|pair| (pair[0] << 4 | pair[1]) as u8)
        .collect()
}

/// Returns all vectors of the document, in order.
pub(super) fn vectors() -> Vec<Vector> {
    let parts = SPECIFICATION.split("### Vector ").skip(1);
    parts.map(parse).collect()
}

fn parse(part: &'static str) -> Vector {
    let (name, rest) = part.split_once('\n').unwrap();
    let line = rest.lines().find(|line| line.starts_with("From ")).unwrap();
    let addresses = line
        .strip_prefix("From ")
        .unwrap()
        .strip_suffix('.')
        .unwrap();
    let (source, destination) = addresses.split_once(" to ").unwrap();
    let rows = rest.lines().filter_map(|line| {
        let row = line.strip_prefix("| `aerotp.")?;
        row.strip_suffix("` |")?.split_once("` | `")
    });
    let fields = Fields(rows.collect());
    let (_, block) = rest.split_once("```text\n").unwrap();
    let (digits, _) = block.split_once("```").unwrap();
    Vector {
        name,
        ip: between(source.parse().unwrap(), destination.parse().unwrap()),
        header: fields.header(),
        payload: fields
            .0
            .get("payload")
            .map_or(Vec::new(), |digits| hex(digits)),
        bytes: hex(digits),
    }
}

#[test]
fn they_are_encoded_to_their_bytes() {
    let vectors = vectors();
    assert_eq!(vectors.len(), 18);
    for vector in vectors {
        let bytes = encode(&vector.ip, &vector.header, &vector.payload);
        assert_eq!(bytes, vector.bytes, "{}", vector.name);
    }
}

#[test]
fn they_are_decoded_to_their_fields() {
    for vector in vectors() {
        let packet = AerotpPacket::decode(&vector.ip, &vector.bytes).unwrap();
        let expected = AerotpPacket::new(vector.header, Payload::from_slice(&vector.payload));
        assert_eq!(packet, expected, "{}", vector.name);
    }
}

/// Checks that the addresses are part of the check: a misdelivered packet is refused.
#[test]
fn they_are_refused_between_other_addresses() {
    for vector in vectors() {
        let elsewhere = between(vector.ip.destination, vector.ip.destination);
        assert!(AerotpPacket::decode(&elsewhere, &vector.bytes).is_err());
    }
}

#[test]
fn what_is_cut_off_them_is_missed() {
    for vector in vectors() {
        for length in 0..vector.bytes.len() {
            let cut = AerotpPacket::decode(&vector.ip, &vector.bytes[..length]);
            assert!(cut.is_err(), "{}: {length} bytes: {cut:?}", vector.name);
        }
    }
}

/// Checks that repair packets contain lengths, sequence numbers and flags of the others (section "Codes across
/// packets").
#[test]
fn the_repair_packet_restores_either_packet_of_its_block() {
    use crate::fec::erasure::{BlockDecoder, BlockSize};
    let block: Vec<Vector> = vectors()
        .into_iter()
        .filter(|vector| vector.header.block.is_some())
        .collect();
    let shard = |vector: &Vector| {
        let header = &vector.header;
        let flags = u8::from(header.is_final) << 1 | u8::from(header.ends_record);
        [
            &header.sequence.0.to_be_bytes()[..],
            &[flags],
            &vector.payload,
        ]
        .concat()
    };
    for lost in 0..2 {
        let kept = 1 - lost;
        let mut decoder = BlockDecoder::new(BlockSize::new(2, 1).unwrap());
        decoder
            .add_source(kept as u8, &shard(&block[kept]))
            .unwrap();
        decoder.add_repair(0, &block[2].payload).unwrap();
        let restored = decoder.try_restore().unwrap().unwrap();
        assert_eq!(restored, [(lost as u8, shard(&block[lost]))]);
    }
}
