//! Compression against another implementation, and what losses do to it.
//!
//! `vectors.txt` has a packet a line, and the form and header that pppd's `vjcompress.c` (RFC 1144's appendix) gives it on
//! a link.

use super::*;
use crate::packet::Packet;
use crate::wire::checksum::Checksum;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

const VECTORS: &str = include_str!("vectors.txt");

fn bytes(hexadecimal: &str) -> Vec<u8> {
    let digits = hexadecimal.chars().filter_map(|one| one.to_digit(16));
    let digits: Vec<u8> = digits.map(|digit| digit as u8).collect();
    digits.chunks(2).map(|two| two[0] << 4 | two[1]).collect()
}

fn checksum(pieces: &[&[u8]]) -> [u8; 2] {
    let mut checksum = Checksum::new();
    pieces.iter().for_each(|piece| checksum.add(piece));
    checksum.finish().to_be_bytes()
}

/// A segment of a connection.
#[derive(Clone, Debug)]
struct Segment {
    port: u16,
    sequence: u32,
    acknowledgment: u32,
    window: u16,
    urgent: u16,
    flags: u8,
    options: usize,
    identification: u16,
    hop_limit: u8,
    data: usize,
}

impl Segment {
    fn encode(&self) -> Vec<u8> {
        let mut tcp = vec![4, 1];
        tcp.extend_from_slice(&self.port.to_be_bytes());
        tcp.extend_from_slice(&self.sequence.to_be_bytes());
        tcp.extend_from_slice(&self.acknowledgment.to_be_bytes());
        tcp.extend_from_slice(&[(5 + self.options as u8) << 4, self.flags]);
        tcp.extend_from_slice(&self.window.to_be_bytes());
        tcp.extend_from_slice(&[0, 0]);
        tcp.extend_from_slice(&self.urgent.to_be_bytes());
        // No-operation options.
        tcp.resize(tcp.len() + 4 * self.options, 1);
        let end = tcp.len() + self.data;
        tcp.resize(end, self.sequence as u8);
        let ends = [192, 0, 2, 7, 198, 51, 100, 5];
        let sum = checksum(&[&ends, &[0, 6], &(end as u16).to_be_bytes(), &tcp]);
        tcp[16..18].copy_from_slice(&sum);
        let mut ip = vec![0x45, 0];
        ip.extend_from_slice(&(20 + end as u16).to_be_bytes());
        ip.extend_from_slice(&self.identification.to_be_bytes());
        ip.extend_from_slice(&[0x40, 0, self.hop_limit, 6, 0, 0]);
        ip.extend_from_slice(&ends);
        let sum = checksum(&[&ip]);
        ip[10..12].copy_from_slice(&sum);
        [ip, tcp].concat()
    }
}

/// A packet as the link carries it.
fn on_link(compressor: &mut Compressor, packet: &[u8]) -> Option<(Form, Vec<u8>)> {
    let (header, length) = compressor.compress(packet)?;
    Some((header.form, [&header.bytes, &packet[length..]].concat()))
}

#[test]
fn packets_are_compressed_as_by_another() {
    let (mut compressor, mut decompressor) = (Compressor::default(), Decompressor::default());
    let mut shortest = usize::MAX;
    for line in VECTORS.lines() {
        let fields: Vec<&str> = line.split(' ').collect();
        let packet = bytes(fields[0]);
        let (form, expected) = match fields[1] {
            "plain" => (None, Vec::new()),
            "full" => (Some(Form::Full), bytes(fields[2])),
            _ => (Some(Form::Changes), bytes(fields[2])),
        };
        let compressed = compressor.compress(&packet);
        let found = compressed.as_ref().map(|(header, _)| header.form);
        assert_eq!(found, form, "{line}");
        let Some((header, length)) = compressed else {
            continue;
        };
        assert_eq!(header.bytes, expected, "{line}");
        shortest = shortest.min(header.bytes.len());
        let whole = [&header.bytes, &packet[length..]].concat();
        assert_eq!(decompressor.decompress(header.form, &whole), Some(packet));
    }
    // Section 3.2.2: the mask of changes and the TCP checksum.
    assert_eq!(shortest, 3);
}

/// A connection that sends segments of 100 bytes, and compresses them from the second on.
fn transfer() -> impl FnMut(u32) -> Vec<u8> {
    let mut identification = 0;
    move |number| {
        identification += 1;
        let segment = Segment {
            port: 80,
            sequence: 1000 + 100 * number,
            acknowledgment: 5,
            window: 8760,
            urgent: 0,
            flags: FLAG_ACK,
            options: 0,
            identification,
            hop_limit: 64,
            data: 100,
        };
        segment.encode()
    }
}

/// RFC 1144 section 4.1: after a loss the restored segments have wrong sequence numbers, which their checksums show;
/// section 4.2: the retransmission is sent in full, and all is in step again.
#[test]
fn a_lost_packet_is_repaired_by_the_retransmission() {
    let (mut compressor, mut decompressor) = (Compressor::default(), Decompressor::default());
    let mut segment = transfer();
    let mut is_intact = |packet: &[u8], lost: bool| {
        let (form, whole) = on_link(&mut compressor, packet)?;
        if lost {
            return None;
        }
        let restored = decompressor.decompress(form, &whole)?;
        let right = restored == packet;
        // TCP's checksum tells.
        assert_eq!(Packet::decode(&restored).is_ok(), right);
        Some((form, right))
    };
    assert_eq!(is_intact(&segment(0), false), Some((Form::Full, true)));
    assert_eq!(is_intact(&segment(1), false), Some((Form::Changes, true)));
    assert_eq!(is_intact(&segment(2), true), None);
    for number in 3..6 {
        let found = is_intact(&segment(number), false);
        assert_eq!(found, Some((Form::Changes, false)));
    }
    assert_eq!(is_intact(&segment(2), false), Some((Form::Full, true)));
    for number in 3..6 {
        assert_eq!(
            is_intact(&segment(number), false),
            Some((Form::Changes, true))
        );
    }
}

/// RFC 1144 section 4.1: after an error, packets that do not name their connection are discarded.
#[test]
fn after_an_error_a_packet_has_to_name_its_connection() {
    let (mut compressor, mut decompressor) = (Compressor::default(), Decompressor::default());
    let mut segment = transfer();
    let other = |number: u32| {
        let segment = Segment {
            port: 81,
            sequence: number,
            acknowledgment: 5,
            window: 100,
            urgent: 0,
            flags: FLAG_ACK,
            options: 0,
            identification: number as u16,
            hop_limit: 64,
            data: 1,
        };
        segment.encode()
    };
    let mut restores = |compressor: &mut Compressor, packet: &[u8]| {
        let (form, whole) = on_link(compressor, packet).expect("a segment");
        decompressor.decompress(form, &whole).as_deref() == Some(packet)
    };
    let first = [segment(0), other(1), other(2), segment(1), segment(2)];
    assert!(first.iter().all(|packet| restores(&mut compressor, packet)));
    let (form, damaged) = on_link(&mut compressor, &other(3)).expect("a segment");
    assert_eq!(
        (form, damaged[0] & NEW_CONNECTION),
        (Form::Changes, NEW_CONNECTION)
    );
    decompressor.handle_error();
    // Of the damaged packet's connection, which is not named again.
    let (form, whole) = on_link(&mut compressor, &other(4)).expect("a segment");
    assert_eq!(decompressor.decompress(form, &whole), None);
    let packet = segment(3);
    let (form, whole) = on_link(&mut compressor, &packet).expect("a segment");
    assert_eq!(decompressor.decompress(form, &whole), Some(packet));
}

proptest! {
    #![proptest_config(ProptestConfig {
        rng_seed: RngSeed::Fixed(1),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// Without losses each packet is restored, whatever its header.
    #[test]
    fn every_packet_is_restored(
        steps in prop::collection::vec(
            (
                (0..20_u16, 0..4_u32, 0..3_u32, 0..3_u16, any::<u16>()),
                (0..9_u8, 0..3_usize, 0..3_u16, 0..8_u8, 0..4_usize),
            ),
            1..80,
        ),
    ) {
        let (mut compressor, mut decompressor) = (Compressor::default(), Decompressor::default());
        let mut last: Vec<Segment> = (0..20)
            .map(|number| Segment {
                port: number,
                sequence: u32::MAX - 200,
                acknowledgment: u32::MAX - 2,
                window: 4096,
                urgent: 0,
                flags: FLAG_ACK,
                options: 0,
                identification: u16::MAX,
                hop_limit: 64,
                data: 0,
            })
            .collect();
        for ((port, sequence, acknowledgment, window, wide), (flags, options, step, hop, data)) in steps {
            let segment = &mut last[usize::from(port)];
            let before = segment.data as u32;
            let delta = [0, before, wide.into(), u32::from(wide) << 8][sequence as usize];
            segment.sequence = segment.sequence.wrapping_add(delta);
            let delta = [0, before, wide.into()][acknowledgment as usize];
            segment.acknowledgment = segment.acknowledgment.wrapping_add(delta);
            segment.window = segment.window.wrapping_add([0, 256, wide][usize::from(window)]);
            segment.flags = [0x10, 0x10, 0x18, 0x30, 0x38, 0x11, 0x02, 0x14, 0x90][usize::from(flags)];
            segment.urgent = if segment.flags & FLAG_URG != 0 { wide } else { 0 };
            segment.options = options / 2;
            segment.identification = segment.identification.wrapping_add([1, 0, wide][usize::from(step)]);
            segment.hop_limit = if hop == 0 { 63 } else { 64 };
            segment.data = [0, 1, 100, 700][data];
            let packet = segment.encode();
            let control = segment.flags & 0x17;
            match on_link(&mut compressor, &packet) {
                None => prop_assert!(control != FLAG_ACK),
                Some((form, whole)) => {
                    prop_assert_eq!(control, FLAG_ACK);
                    prop_assert!(whole.len() <= packet.len());
                    prop_assert_eq!(decompressor.decompress(form, &whole), Some(packet));
                }
            }
        }
    }

    #[test]
    fn no_bytes_panic(
        messages in prop::collection::vec((any::<bool>(), prop::collection::vec(any::<u8>(), 0..80)), 1..20),
    ) {
        let (mut compressor, mut decompressor) = (Compressor::default(), Decompressor::default());
        let mut segment = transfer();
        if let Some((form, whole)) = on_link(&mut compressor, &segment(0)) {
            decompressor.decompress(form, &whole);
        }
        for (is_full, message) in messages {
            let form = if is_full { Form::Full } else { Form::Changes };
            decompressor.decompress(form, &message);
            compressor.compress(&message);
        }
    }
}
