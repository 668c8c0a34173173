//! Timelines of whole links.

use super::config::*;
use super::*;
use crate::packets::Packets;
use baton_proto::packet::{Body, IpHeader, Packet};
use baton_proto::rate::DataRate;
use baton_proto::time::Duration;
use core::net::{IpAddr, Ipv4Addr};

/// Packet ids for tests: links look at nothing else of a packet.
pub(super) fn packet_ids(count: usize) -> Vec<PacketId> {
    let address = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
    let packet = Packet {
        ip: IpHeader {
            source: address,
            destination: address,
            hop_limit: 64,
            traffic_class: 0,
            identification: 0,
            dont_fragment: true,
        },
        body: Body::Opaque {
            protocol: 253,
            bytes: Box::default(),
        },
        flow: None,
        retransmission: false,
        bit_errors: Vec::new(),
    };
    let mut slab = Packets::default();
    (0..count).map(|_| slab.insert(packet.clone())).collect()
}

/// 1 Mbit/s and 10 ms both ways: 1000 B take 8 ms.
pub(super) fn plain() -> LinkConfig {
    let direction = DirectionConfig {
        rate: DataRate::from_bits_per_second(1_000_000),
        framing: Framing {
            bytes_per_packet: 0,
            bits_per_byte: 8,
        },
        delay: Duration::from_millis(10),
        jitter: Duration::ZERO,
        queue: QueueConfig {
            limit: QueueLimit::Packets(2),
            management: QueueManagement::DropTail,
        },
        channel: ChannelConfig {
            packet_error_rate: 0.0,
            bit_error_rate: 0.0,
            burst: None,
            damaged: Damaged::Dropped,
        },
        trace: None,
    };
    LinkConfig {
        name: "test".into(),
        medium: Medium::FullDuplex,
        down: direction.clone(),
        up: direction,
        mtu: 1500,
    }
}

/// Polls at each deadline until nothing more happens before `limit`: (time in µs, number of the packet, what).
pub(super) fn drain(
    link: &mut Link,
    ids: &[PacketId],
    limit: Instant,
) -> Vec<(u64, usize, String)> {
    let mut story = Vec::new();
    let mut now = Instant::ZERO;
    loop {
        while let Some(fate) = link.poll(now) {
            assert!(fate.at <= now, "a fate from the future");
            let number = ids.iter().position(|&id| id == fate.packet);
            story.push((
                fate.at.as_nanos() / 1000,
                number.expect("a packet that was offered"),
                match fate.outcome {
                    Outcome::Delivered { .. } => "delivered".into(),
                    Outcome::Dropped(reason) => format!("{reason:?}"),
                },
            ));
        }
        match link.next_deadline() {
            Some(next) if next <= limit => {
                assert!(next > now || next == Instant::ZERO, "no progress at {now}");
                now = next;
            }
            _ => return story,
        }
    }
}

#[test]
fn packets_are_serialised_one_after_another_and_the_queue_has_an_end() {
    let ids = packet_ids(4);
    let mut link = Link::new(plain(), Seed(1));
    for &id in &ids {
        link.offer(Instant::ZERO, End::A, id, 1000);
    }
    assert_eq!(link.queue(End::A), (2, 2000));
    assert_eq!(
        drain(&mut link, &ids, Instant::from_secs(1)),
        [
            (0, 3, "QueueFull".into()),
            (18_000, 0, "delivered".into()),
            (26_000, 1, "delivered".into()),
            (34_000, 2, "delivered".into()),
        ]
    );
    assert!(link.is_empty(End::A));
}
