//! Translation of addresses: right packets stay right, wrong ones wrong, and the answer finds its way back.

use crate::bytes::Bytes;
use crate::checksums::mend;
use baton_proto::gateways::nat::Nat;
use baton_proto::packet::{Body, Packet};
use baton_proto::time::{Duration, Instant};
use core::net::IpAddr;

const OUTSIDE: [IpAddr; 2] = [
    IpAddr::V4(core::net::Ipv4Addr::new(198, 51, 100, 7)),
    IpAddr::V6(core::net::Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 7)),
];

/// Passes a series of packets through one translator.
pub fn check(data: &[u8]) {
    let mut bytes = Bytes::new(data);
    let mut nat = Nat::new(OUTSIDE, bytes.u16());
    let mut now = Instant::ZERO;
    while !bytes.is_empty() {
        let flags = bytes.u8();
        now += Duration::from_secs(u64::from(bytes.u8()) * 8);
        let length = usize::from(bytes.u8()) * 2;
        let mut packet = bytes.take(length).to_vec();
        if flags & 1 == 1 {
            mend(&mut packet);
        }
        let Ok(packet) = Packet::verbatim(&packet) else {
            continue;
        };
        if flags & 2 == 2 {
            inward(&mut nat, now, packet);
        } else {
            outward(&mut nat, now, packet);
        }
    }
}

fn as_bytes(packet: &Packet) -> Vec<u8> {
    let mut out = Vec::new();
    packet.encode(&mut out);
    out
}

/// Returns true if a receiver accepts it, with its transport's header.
fn is_right(packet: &Packet) -> bool {
    Packet::decode(&as_bytes(packet)).is_ok()
}

fn outward(nat: &mut Nat, now: Instant, before: Packet) {
    let mut packet = before.clone();
    let refused = nat.refused().total();
    if !nat.translate_out(now, &mut packet) {
        assert_eq!(nat.refused().total(), refused + 1);
        return;
    }
    assert_eq!(nat.refused().total(), refused);
    let outside = OUTSIDE[usize::from(packet.ip.source.is_ipv6())];
    assert_eq!(packet.ip.source, outside);
    check_translated(&before, &packet);
    // The answer: the same packet with its ends exchanged.
    let Ok(typed) = Packet::decode(&as_bytes(&packet)) else {
        return;
    };
    let mut answer = typed;
    core::mem::swap(&mut answer.ip.source, &mut answer.ip.destination);
    match &mut answer.body {
        Body::Tcp(header, _) => {
            core::mem::swap(&mut header.source_port, &mut header.destination_port);
        }
        Body::Udp(header, _) => {
            core::mem::swap(&mut header.source_port, &mut header.destination_port);
        }
        _ => return,
    }
    assert!(nat.translate_in(now, &mut answer), "{before:?}");
    assert_eq!(answer.ip.destination, before.ip.source);
    let inside = before.view().ports.map(|ports| ports.0);
    assert_eq!(answer.view().ports.map(|ports| ports.1), inside);
    assert!(is_right(&answer), "a right answer has become wrong");
}

fn inward(nat: &mut Nat, now: Instant, before: Packet) {
    let mut packet = before.clone();
    if nat.translate_in(now, &mut packet) {
        check_translated(&before, &packet);
    }
}

/// Checks the fields that translation must not change.
fn check_translated(before: &Packet, after: &Packet) {
    assert_eq!(before.wire_length(), after.wire_length());
    assert_eq!(is_right(before), is_right(after), "{before:?}\n{after:?}");
    assert_eq!(before.view().protocol, after.view().protocol);
    assert_eq!(before.view().payload_bytes, after.view().payload_bytes);
    let read = Packet::verbatim(&as_bytes(after)).expect("its header is right");
    assert_eq!(read.ip, after.ip, "the bytes say something else");
}
