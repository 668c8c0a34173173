use super::*;
use crate::packet::{BitErrors, Body, Identity, IpHeader, Payload};
use crate::wire::sequence::SequenceNumber;
use crate::wire::tcp::TcpOptions;
use crate::wire::udp::UdpHeader;

const POLICY: BufferPolicy = BufferPolicy {
    bytes: 4000,
    age: Duration::from_secs(10),
    overflow: Overflow::DropNewest,
    pace: None,
    drop_duplicates: true,
};

fn at(milliseconds: u64) -> Instant {
    Instant::from_millis(milliseconds)
}

fn packet(body: Body) -> Packet {
    Packet {
        ip: IpHeader {
            source: "2001:db8::1".parse().unwrap(),
            destination: "2001:db8:1::2".parse().unwrap(),
            hop_limit: 64,
            traffic_class: 0,
            identification: 0,
            dont_fragment: true,
        },
        body,
        flow: None,
        retransmission: false,
        bit_errors: BitErrors::NONE,
        identity: Identity::NONE,
    }
}

fn payload(stream: u32, offset: u64, length: u32) -> Payload {
    Payload::Pattern {
        stream,
        offset,
        length,
    }
}

/// A segment of `length` bytes of data from `sequence` on, with 60 bytes of headers.
fn segment(sequence: u32, length: u32) -> Packet {
    let header = TcpHeader {
        source_port: 80,
        destination_port: 4000,
        sequence: SequenceNumber(sequence),
        acknowledgment: SequenceNumber(1),
        flags: TcpFlags::ACK,
        window: 1000,
        options: TcpOptions::default(),
    };
    packet(Body::Tcp(header, payload(1, u64::from(sequence), length)))
}

/// The `number`th datagram of a sequence, 1000 bytes each.
pub(crate) fn datagram(number: u64) -> Packet {
    let header = UdpHeader {
        source_port: 1,
        destination_port: 2,
    };
    packet(Body::Udp(header, payload(2, number * 952, 952)))
}

fn all(buffer: &mut PacketBuffer, now: Instant) -> Vec<Packet> {
    core::iter::from_fn(|| buffer.poll_release(now)).collect()
}

#[test]
fn held_packets_come_out_in_order_and_only_on_request() {
    let mut buffer = PacketBuffer::new(POLICY);
    for number in 0..3 {
        buffer.push(at(number), datagram(number));
    }
    assert!(all(&mut buffer, at(5)).is_empty());
    assert_eq!(buffer.bytes(), 3000);
    buffer.begin_release(at(6));
    assert_eq!(
        all(&mut buffer, at(6)),
        [datagram(0), datagram(1), datagram(2)]
    );
    assert_eq!((buffer.bytes(), buffer.poll_timeout()), (0, None));
}

#[test]
fn a_full_buffer_drops_by_its_policy_and_counts() {
    for (overflow, kept) in [
        (Overflow::DropNewest, [0, 1, 2, 3]),
        (Overflow::DropOldest, [3, 4, 5, 6]),
    ] {
        let mut buffer = PacketBuffer::new(BufferPolicy { overflow, ..POLICY });
        (0..7).for_each(|number| buffer.push(at(number), datagram(number)));
        assert_eq!(buffer.counts().overflowed, 3);
        buffer.begin_release(at(9));
        assert_eq!(all(&mut buffer, at(9)), kept.map(datagram));
    }
    // A packet that can never fit does not displace others.
    let mut buffer = PacketBuffer::new(BufferPolicy {
        overflow: Overflow::DropOldest,
        ..POLICY
    });
    buffer.push(at(0), datagram(0));
    buffer.push(at(1), segment(1, 5000));
    assert_eq!((buffer.bytes(), buffer.counts().overflowed), (1000, 1));
}

#[test]
fn a_packet_that_is_too_old_is_dropped() {
    let mut buffer = PacketBuffer::new(POLICY);
    buffer.push(at(0), datagram(0));
    buffer.push(at(4000), datagram(1));
    assert_eq!(buffer.poll_timeout(), Some(at(10_000)));
    buffer.begin_release(at(10_000));
    assert_eq!(all(&mut buffer, at(10_000)), [datagram(1)]);
    assert_eq!(buffer.counts().expired, 1);
}

#[test]
fn release_keeps_its_pace() {
    // 1000 B at 31.5 kbit/s take 8000 / 31500 s = 253.968254 ms, rounded up to a nanosecond.
    let mut buffer = PacketBuffer::new(BufferPolicy {
        pace: Some(DataRate::from_bits_per_second(31_500)),
        ..POLICY
    });
    (0..3).for_each(|number| buffer.push(at(0), datagram(number)));
    buffer.begin_release(at(100));
    assert_eq!(all(&mut buffer, at(100)), [datagram(0)]);
    let next = Instant::from_nanos(100_000_000 + 253_968_254);
    assert_eq!(buffer.poll_timeout(), Some(next));
    assert_eq!(all(&mut buffer, next), [datagram(1)]);
    // A second departure stops the release.
    buffer.hold();
    assert!(all(&mut buffer, at(9000)).is_empty());
}

#[test]
fn the_same_segment_is_held_once() {
    let mut buffer = PacketBuffer::new(POLICY);
    buffer.push(at(0), segment(1000, 1000));
    let mut resent = segment(1000, 1000);
    resent.retransmission = true;
    buffer.push(at(1), resent);
    // Retransmission in smaller pieces brings nothing new either. Data beyond the held segment is new, and so is
    // another connection.
    buffer.push(at(2), segment(1500, 500));
    assert_eq!(buffer.counts().duplicates, 2);
    buffer.push(at(3), segment(1500, 501));
    buffer.push(at(4), segment(999, 10));
    assert_eq!(buffer.counts().duplicates, 2);
    let mut other = segment(1000, 1000);
    other.ip.source = "2001:db8::9".parse().unwrap();
    buffer.push(at(5), other);
    assert_eq!((buffer.counts().held, buffer.counts().duplicates), (4, 2));
}

#[test]
fn a_segment_is_known_across_the_end_of_the_sequence_space() {
    let mut buffer = PacketBuffer::new(POLICY);
    buffer.push(at(0), segment(u32::MAX - 99, 300));
    buffer.push(at(1), segment(0, 200));
    buffer.push(at(2), segment(0, 201));
    assert_eq!((buffer.counts().held, buffer.counts().duplicates), (2, 1));
}

#[test]
fn acknowledgments_and_unreadable_packets_are_no_duplicates() {
    let mut buffer = PacketBuffer::new(POLICY);
    let opaque = packet(Body::Opaque {
        protocol: 50,
        fragment: 0,
        bytes: Box::new([7; 100]),
    });
    for moment in 0..3 {
        buffer.push(at(moment), segment(1, 0));
        buffer.push(at(moment), opaque.clone());
    }
    assert_eq!((buffer.counts().held, buffer.counts().duplicates), (6, 0));
}

#[test]
fn by_choice_the_same_segment_is_held_as_often_as_it_comes() {
    let mut buffer = PacketBuffer::new(BufferPolicy {
        drop_duplicates: false,
        ..POLICY
    });
    (0..3).for_each(|moment| buffer.push(at(moment), segment(1000, 1000)));
    assert_eq!((buffer.counts().held, buffer.counts().duplicates), (3, 0));
}

#[test]
fn an_edge_holds_forwards_and_keeps_the_order() {
    let mut edge = EdgeBuffer::delivering(POLICY);
    let next: IpAddr = "2001:db8:2::1".parse().unwrap();
    assert_eq!(
        edge.offer(at(0), datagram(0)),
        Some((Via::Link, datagram(0)))
    );
    edge.hold();
    assert_eq!(edge.offer(at(1), datagram(1)), None);
    assert_eq!(edge.poll_transmit(at(2)), None);
    edge.forward(at(3), next);
    // A packet that arrives before the held ones have left goes behind them.
    assert_eq!(edge.offer(at(3), datagram(2)), None);
    for number in [1, 2] {
        let sent = edge.poll_transmit(at(3));
        assert_eq!(sent, Some((Via::Other(next), datagram(number))));
    }
    assert_eq!(
        edge.offer(at(4), datagram(3)),
        Some((Via::Other(next), datagram(3)))
    );
    edge.deliver(at(5));
    assert_eq!(
        edge.offer(at(5), datagram(4)),
        Some((Via::Link, datagram(4)))
    );
}

#[test]
fn a_member_of_the_group_hands_out_what_the_mobile_has_not_got() {
    let policy = BufferPolicy {
        overflow: Overflow::DropOldest,
        ..POLICY
    };
    for (last, expected) in [
        (Some(4), vec![5]),
        (Some(2), vec![3, 4, 5]),
        (Some(5), vec![]),
        (Some(0), vec![2, 3, 4, 5]), // no longer held: nothing is known
        (None, vec![2, 3, 4, 5]),
    ] {
        let mut member = EdgeBuffer::standing_by(policy);
        for number in 0..6 {
            assert_eq!(member.offer(at(number), datagram(number)), None);
        }
        let last = last.map(|number| {
            let mut seen = datagram(number);
            seen.ip.hop_limit = 61; // it came another way
            fingerprint(&seen)
        });
        member.take_over(at(10), last);
        let sent: Vec<_> = core::iter::from_fn(|| member.poll_transmit(at(10))).collect();
        let expected: Vec<_> = expected
            .into_iter()
            .map(|number| (Via::Link, datagram(number)))
            .collect();
        assert_eq!(sent, expected, "{last:?}");
    }
}

/// A packet of 128 bytes from host `source` of 100.64.0.0/24.
fn named(source: u8, identification: u16) -> Packet {
    let ports = UdpHeader {
        source_port: 1,
        destination_port: 2,
    };
    let mut packet = packet(Body::Udp(ports, payload(1, 0, 100)));
    packet.ip.source = [100, 64, 0, source].into();
    packet.ip.destination = [192, 0, 2, 10].into();
    packet.ip.identification = identification;
    packet
}

/// Keeps copies of `packets`, and returns the names of those that are left for a mobile that has received `received`.
fn missing(packets: &[(u8, u16)], received: &[(u8, u16)]) -> Vec<(u8, u16)> {
    let mut buffer = EdgeBuffer::standing_by(BufferPolicy {
        bytes: 10_000_000,
        overflow: Overflow::DropOldest,
        drop_duplicates: false,
        ..POLICY
    });
    for &(source, identification) in packets {
        buffer.keep(at(0), &named(source, identification));
    }
    let names = received.iter();
    let names = names.map(|&(source, number)| PacketName::of(&named(source, number)));
    let names: Vec<PacketName> = names.flatten().collect();
    buffer.forward_missing(at(0), [203, 0, 113, 129].into(), &names);
    let mut left = Vec::new();
    while let Some((_, packet)) = buffer.poll_transmit(at(0)) {
        let IpAddr::V4(source) = packet.ip.source else {
            unreachable!("all are of IPv4");
        };
        left.push((source.octets()[3], packet.ip.identification));
    }
    let counts = buffer.counts();
    assert_eq!(counts.duplicates + counts.released, packets.len() as u64);
    left
}

#[test]
fn copies_that_the_mobile_names_are_not_forwarded() {
    // Identifications wrap, and two sources may use the same ones.
    let packets = [(1, 0xFFFE), (1, 0xFFFF), (2, 0), (1, 0), (2, 1), (1, 1)];
    let received = [(1, 0xFFFE), (1, 0xFFFF), (2, 0)];
    assert_eq!(missing(&packets, &received), [(1, 0), (2, 1), (1, 1)]);
    // One that the link lost comes again.
    let received = [(1, 0xFFFE), (2, 0), (1, 0)];
    assert_eq!(missing(&packets, &received), [(1, 0xFFFF), (2, 1), (1, 1)]);
    // What is older than all names has been received; names of others do not matter.
    assert_eq!(missing(&packets, &[(9, 9), (1, 0)]), [(2, 1), (1, 1)]);
    assert_eq!(missing(&packets, &[(9, 9)]), packets);
    assert_eq!(missing(&packets, &[]), packets);
    // Fragments share an identification: each name stands for one of them.
    assert_eq!(missing(&[(1, 5), (1, 5), (1, 5)], &[(1, 5), (1, 5)]), []);
}

/// RFC 791: an identification comes again after 65,536 packets. The mobile means the latest packet with it.
#[test]
fn a_name_is_that_of_the_latest_packet() {
    let packets: Vec<(u8, u16)> = (0..65_540_u32).map(|number| (1, number as u16)).collect();
    assert_eq!(missing(&packets, &[(1, 1), (1, 2)]), [(1, 3)]);
}
