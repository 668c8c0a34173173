use super::*;
use crate::offload::Coalescer;
use proptest::collection::vec;
use proptest::prelude::{any, proptest};

/// Returns all packets of a frame.
fn packets_of(frame: &mut [u8]) -> Option<Vec<Vec<u8>>> {
    let plan = Plan::read(frame)?;
    let mut packets = Packets::new(&frame[LENGTH..], plan);
    let (mut place, mut written) = (vec![0; 70_000], Vec::new());
    loop {
        let longest = packets.longest();
        let Some(length) = packets.write_next(&mut place).unwrap() else {
            return Some(written);
        };
        assert!(length <= longest);
        written.push(place[..length].to_vec());
    }
}

proptest! {
    #[test]
    fn any_frame_is_cut_without_loss_or_refused(
        kind in 0_u8..6,
        segment in 0_u16..200,
        start in 0_u16..64,
        (first, offset) in (any::<u8>(), any::<bool>()),
        mut packet in vec(any::<u8>(), 0..2000),
    ) {
        let is_udp = kind == 5;
        let offset = if offset { 6 + 10 * u16::from(!is_udp) } else { 2000 };
        if let Some(byte) = packet.first_mut() {
            *byte = first;
        }
        let mut frame = vec![1, kind];
        for number in [0, segment, start, offset] {
            frame.extend(number.to_ne_bytes());
        }
        frame.extend(&packet);
        let transport = usize::from(start);
        let headers = match kind {
            0 => packet.len(),
            5 => transport + 8,
            _ => transport + usize::from(packet.get(transport + 12).unwrap_or(&0) >> 4) * 4,
        };
        if let Some(packets) = packets_of(&mut frame) {
            let payload: Vec<u8> = packets.iter().flat_map(|one| one[headers..].to_vec()).collect();
            assert_eq!(payload, packet[headers..]);
            let most = (packet.len() - headers).div_ceil(usize::from(segment).max(1)).max(1);
            assert_eq!(packets.len(), most);
        }
    }

    #[test]
    fn anything_is_a_frame_or_refused(mut frame in vec(any::<u8>(), 0..100)) {
        let _ = packets_of(&mut frame);
    }
}

#[test]
fn a_frame_that_does_not_say_how_to_cut_it_is_refused() {
    // TCP over IPv4, with its checksum at 20 + 16: a valid packet, and then variants with one error each.
    let mut sound = vec![1, 1];
    for number in [40_u16, 100, 20, 16] {
        sound.extend(number.to_ne_bytes());
    }
    sound.extend([0; 300]);
    sound[LENGTH + 20 + 12] = 5 << 4;
    assert_eq!(packets_of(&mut sound.clone()).map(|all| all.len()), Some(3));
    for (place, value, what) in [
        (0, 0, "a checksum that is complete"),
        (1, 3, "fragments of UDP, long gone"),
        (6, 19, "TCP within IP's header"),
        (8, 14, "a checksum elsewhere"),
        (LENGTH + 32, 4 << 4, "a header shorter than TCP's"),
    ] {
        let mut wrong = sound.clone();
        wrong[place] = value;
        assert_eq!(packets_of(&mut wrong), None, "{what}");
    }
    for (length, what) in [(9, "no header"), (LENGTH + 30, "no whole TCP header")] {
        assert_eq!(packets_of(&mut sound[..length].to_vec()), None, "{what}");
    }
    sound[4..6].copy_from_slice(&[0, 0]);
    assert_eq!(packets_of(&mut sound), None, "packets of no bytes");
}

/// Returns a TCP segment with its data's place in the stream, and valid checksums.
fn segment(is_ipv4: bool, number: u16, place: u32, data: &[u8]) -> Vec<u8> {
    let length = (20 + data.len()) as u16;
    let mut tcp = vec![0x12, 0x34, 0, 80];
    tcp.extend(place.to_be_bytes());
    tcp.extend([0, 0, 0, 9, 5 << 4, 0x10, 1, 0, 0, 0, 0, 0]);
    tcp.extend(data);
    let addresses: Vec<u8> = (1..=if is_ipv4 { 8 } else { 32 }).collect();
    let sum_of = |parts: &[&[u8]]| {
        let bytes = parts.concat();
        let words = bytes.chunks(2);
        let mut sum: u32 = words
            .map(|word| u32::from(word[0]) << 8 | u32::from(*word.get(1).unwrap_or(&0)))
            .sum();
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        (!sum as u16).to_be_bytes()
    };
    let pseudo = [&[0, 6][..], &length.to_be_bytes()].concat();
    let checksum = sum_of(&[&addresses, &pseudo, &tcp]);
    tcp[16..18].copy_from_slice(&checksum);
    let mut packet = if is_ipv4 {
        let mut header = vec![0x45, 0];
        header.extend((length + 20).to_be_bytes());
        header.extend(number.to_be_bytes());
        header.extend([0x40, 0, 64, 6, 0, 0]);
        header.extend(&addresses);
        let checksum = sum_of(&[&header]);
        header[10..12].copy_from_slice(&checksum);
        header
    } else {
        let mut header = vec![0x60, 0, 0, 0];
        header.extend(length.to_be_bytes());
        header.extend([6, 64]);
        header.extend(&addresses);
        header
    };
    packet.extend(tcp);
    packet
}

#[test]
fn what_was_joined_is_cut_into_the_same() {
    for is_ipv4 in [true, false] {
        let data: Vec<u8> = (0..6_500_u32).map(|place| (place * 7 / 3) as u8).collect();
        let pieces = data.chunks(1_300).zip(0_u16..);
        let originals: Vec<Vec<u8>> = pieces
            .map(|(data, number)| {
                let place = (u32::MAX - 2_000).wrapping_add(u32::from(number) * 1_300);
                segment(is_ipv4, number.wrapping_sub(2), place, data)
            })
            .collect();
        let mut coalescer = Coalescer::default();
        let mut joined = Vec::new();
        let mut take = |bytes: &[u8], segmentation| joined.push((bytes.to_vec(), segmentation));
        for packet in &originals {
            coalescer.add(packet, &mut take);
        }
        coalescer.flush(&mut take);
        let [(whole, Some(segmentation))] = &joined[..] else {
            panic!("{} packets", joined.len());
        };
        let mut packets = Packets::of(whole, *segmentation).unwrap();
        let mut place = vec![0; packets.longest()];
        for original in originals {
            let length = packets.write_next(&mut place).unwrap().unwrap();
            assert_eq!(place[..length], original);
        }
        assert_eq!(packets.write_next(&mut place).unwrap(), None);
    }
}

#[test]
fn a_packet_that_cannot_be_cut_so_is_refused() {
    let sound = Segmentation {
        transport: 20,
        headers: 40,
        segment: 100,
    };
    let packet = segment(true, 0, 0, &[7; 300]);
    assert!(Packets::of(&packet, sound).is_some());
    for (transport, headers, segment) in [(19, 40, 100), (20, 39, 100), (20, 400, 100), (20, 40, 0)]
    {
        let wrong = Segmentation {
            transport,
            headers,
            segment,
        };
        assert!(Packets::of(&packet, wrong).is_none(), "{wrong:?}");
    }
}
