//! The Internet checksum (RFC 1071) written a second time, as a check of the first: a plain sum of words.

/// Returns the one's complement sum of the 16-bit words of `pieces`, each of which begins a word; an odd last byte is
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

/// Returns header length and protocol, if `packet` begins with a whole IP header.
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

/// Returns the pseudo header of the packet's transport.
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

/// Makes the length fields and checksums of a packet right, as far as its headers exist, so that a search gets beyond
/// them.
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
    let mut pseudo = pseudo_header(packet, start, protocol);
    let (start, protocol) = match packet[0] >> 4 {
        6 => behind_extensions(packet, (start, protocol), &mut pseudo),
        _ => (start, protocol),
    };
    let body = &mut packet[start..];
    let at = match protocol {
        4 | 41 => return mend(body),
        1 => {
            pseudo.clear();
            2
        }
        6 => 16,
        17 => 6,
        58 => 2,
        135 => 4,
        _ => return,
    };
    if body.len() < at + 2 {
        return;
    }
    if protocol == 17 {
        let length = body.len().min(0xFFFF) as u16;
        body[4..6].copy_from_slice(&length.to_be_bytes());
    }
    if protocol == 135 {
        body[1] = (body.len() / 8).saturating_sub(1) as u8;
    }
    body[at..at + 2].fill(0);
    let checksum = !sum(&[&pseudo, body]);
    body[at..at + 2].copy_from_slice(&checksum.to_be_bytes());
}

/// Finds the place in an IPv6 packet after its extension headers, and the protocol there; changes the pseudo header to
/// match, with the home addresses in the headers.
fn behind_extensions(
    packet: &[u8],
    (mut start, mut protocol): (usize, u8),
    pseudo: &mut [u8],
) -> (usize, u8) {
    while let (0 | 43 | 60, [next, length, rest @ ..]) = (protocol, &packet[start..]) {
        let end = start + 8 + usize::from(*length) * 8;
        if end > packet.len() {
            break;
        }
        let address = match (protocol, rest) {
            (43, [2, ..]) => Some(16),
            (60, [_, _, _, _, 201, ..]) => Some(0),
            _ => None,
        };
        if let (Some(at), 2..) = (address, *length) {
            pseudo[at..at + 16].copy_from_slice(&packet[start + 8..start + 24]);
        }
        (start, protocol) = (end, *next);
    }
    pseudo[32..36].copy_from_slice(&((packet.len() - start) as u32).to_be_bytes());
    pseudo[39] = protocol;
    (start, protocol)
}
