//! The Internet checksum (RFC 1071) written a second time, to judge the first: a plain sum of words.

/// The one's complement sum of the 16-bit words of `pieces`, each of which begins a word; an odd last byte is
/// padded with zero. Over bytes with a right checksum it is 0xFFFF.
pub fn sum(pieces: &[&[u8]]) -> u16 {
    let mut sum = 0_u32;
    for piece in pieces {
        for word in piece.chunks(2) {
            sum += u32::from(word[0]) << 8 | u32::from(word.get(1).copied().unwrap_or(0));
            sum = (sum & 0xFFFF) + (sum >> 16);
        }
    }
    sum as u16
}

/// Header length and protocol, if `packet` begins with a whole IP header.
pub fn layout(packet: &[u8]) -> Option<(usize, u8)> {
    match packet.first()? >> 4 {
        4 => {
            let length = usize::from(packet[0] & 0x0F) * 4;
            (length >= 20 && packet.len() >= length).then(|| (length, packet[9]))
        }
        6 => (packet.len() >= 40).then(|| (40, packet[6])),
        _ => None,
    }
}

/// The pseudo header of what the packet carries.
pub fn pseudo_header(packet: &[u8], start: usize, protocol: u8) -> Vec<u8> {
    let addresses = if packet[0] >> 4 == 4 {
        &packet[12..20]
    } else {
        &packet[8..40]
    };
    let length = (packet.len() - start) as u32;
    let mut pseudo = addresses.to_vec();
    pseudo.extend_from_slice(&length.to_be_bytes());
    pseudo.extend_from_slice(&[0, 0, 0, protocol]);
    pseudo
}

/// Makes the length fields and checksums of a packet right, as far as its headers are there, so that a search
/// gets beyond them.
pub fn mend(packet: &mut [u8]) {
    let Some((start, protocol)) = layout(packet) else {
        return;
    };
    let length = packet.len().min(0xFFFF) as u16;
    if packet[0] >> 4 == 4 {
        packet[2..4].copy_from_slice(&length.to_be_bytes());
        packet[10..12].fill(0);
        let checksum = !sum(&[&packet[..start]]);
        packet[10..12].copy_from_slice(&checksum.to_be_bytes());
    } else {
        packet[4..6].copy_from_slice(&(length - 40).to_be_bytes());
    }
    let at = start
        + match protocol {
            6 => 16,
            17 => 6,
            1 | 58 => 2,
            _ => return,
        };
    if packet.len() < at + 2 {
        return;
    }
    if protocol == 17 {
        let length = length - start as u16;
        packet[start + 4..start + 6].copy_from_slice(&length.to_be_bytes());
    }
    let pseudo = match protocol {
        1 => Vec::new(),
        _ => pseudo_header(packet, start, protocol),
    };
    packet[at..at + 2].fill(0);
    let checksum = !sum(&[&pseudo, &packet[start..]]);
    packet[at..at + 2].copy_from_slice(&checksum.to_be_bytes());
}
