use super::*;
use proptest::collection::vec;
use proptest::prelude::{any, proptest};

/// Writes all packets of a frame, and returns them.
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
    // TCP over IPv4, its checksum at 20 + 16: a sound one, and then with one thing wrong.
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
