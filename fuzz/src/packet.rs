//! Whole packets: typed, as bytes, as written by a kernel, and damaged.

use crate::bytes::Bytes;
use crate::checksums::{layout, mend};
use baton_proto::packet::{Body, Packet};
use baton_proto::wire::icmp::IcmpMessage;

/// Reads, writes and damages a packet.
pub fn check(data: &[u8]) {
    let mut bytes = Bytes::new(data);
    let (mends, position) = (bytes.bool(), bytes.u16());
    let mut packet = bytes.rest().to_vec();
    if mends {
        mend(&mut packet);
    }
    let decoded = Packet::decode(&packet);
    match Packet::verbatim(&packet) {
        Ok(verbatim) => check_verbatim(&packet, verbatim, &decoded),
        Err(_) => assert!(decoded.is_err(), "typed but not verbatim"),
    }
    if let Ok(decoded) = decoded {
        check_typed(decoded, position);
    }
}

fn encoded(packet: &Packet) -> Vec<u8> {
    let mut out = Vec::new();
    packet.encode(&mut out);
    assert_eq!(out.len() as u32, packet.wire_length(), "{packet:?}");
    out
}

fn check_verbatim<E>(bytes: &[u8], mut verbatim: Packet, decoded: &Result<Packet, E>) {
    let out = encoded(&verbatim);
    assert_eq!(out, bytes[..out.len()], "a verbatim packet has changed");
    let view = verbatim.view();
    if let Ok(decoded) = decoded
        && !matches!(innermost(decoded), Body::Opaque { .. })
    {
        let typed = decoded.view();
        assert_eq!(
            (view.protocol, view.ports, view.echo, view.tcp),
            (typed.protocol, typed.ports, typed.echo, typed.tcp),
        );
    }
    if let Some(fewer) = verbatim.ip.hop_limit.checked_sub(1) {
        verbatim.ip.hop_limit = fewer;
        let forwarded = Packet::verbatim(&encoded(&verbatim)).expect("its checksum is kept right");
        assert_eq!(forwarded.ip, verbatim.ip);
    }
    // Parsed as by a receiver, whatever the content.
    let _ = verbatim.apply_bit_errors();
}

/// Returns the body of the packet in all tunnels, behind extension headers.
fn innermost(packet: &Packet) -> &Body {
    let body = match &packet.body {
        Body::Extended(extended) => &extended.body,
        body => body,
    };
    body.inner().map_or(body, innermost)
}

fn check_typed(packet: Packet, position: u16) {
    let out = encoded(&packet);
    let again = Packet::decode(&out).expect("what was written is read");
    let blocks = |packet: &Packet| match innermost(packet) {
        Body::Tcp(header, _) => header.options.sack.as_slice().len(),
        _ => 0,
    };
    if blocks(&again) == blocks(&packet) {
        assert_eq!(again, packet);
    }
    assert_eq!(encoded(&again), out, "written twice, it differs");
    check_flip(again, &out, position);
}

/// Checks that one flipped bit never passes where a checksum covers it.
fn check_flip(packet: Packet, out: &[u8], position: u16) {
    let position = u32::from(position) % (8 * out.len() as u32);
    let (start, _) = layout(out).expect("it has a header");
    let (byte, bit) = (position as usize / 8, 0x80 >> (position % 8));
    let covered = match &packet.body {
        // IPv4 turned into IPv6, whose header has no checksum.
        _ if position == 2 && packet.ip.source.is_ipv4() => false,
        // The eight bytes of the router alert are in no checksum.
        Body::Icmp(IcmpMessage::MulticastListenerReport(_)) => byte >= start + 8,
        Body::Tcp(..) | Body::Icmp(_) | Body::Mobility(_) => {
            byte >= start || packet.ip.source.is_ipv4()
        }
        // Over IPv4 the absence of a checksum is right (RFC 768).
        Body::Udp(..) if byte >= start => {
            let mut field = [out[start + 6], out[start + 7]];
            if let Some(hit) = byte.checked_sub(start + 6).and_then(|at| field.get_mut(at)) {
                *hit ^= bit;
            }
            field != [0, 0] || packet.ip.source.is_ipv6()
        }
        _ => byte < start && packet.ip.source.is_ipv4(),
    };
    let mut damaged = packet.clone();
    damaged.bit_errors.add(vec![position].into());
    let read = damaged.clone().apply_bit_errors();
    assert!(
        !covered || read.is_err(),
        "bit {position} was flipped unseen"
    );
    // Flipped back, it is intact.
    damaged.bit_errors.add(vec![position].into());
    assert_eq!(damaged.apply_bit_errors(), Ok(packet));
}
