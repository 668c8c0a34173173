//! Defaults of each kind of link, and the sources of the values.

pub mod geo;
pub mod gsm;
pub mod today;
pub mod traced;
pub mod wifi;
pub mod wired;

use super::config::{
    ChannelConfig, Damaged, DirectionConfig, Framing, LinkConfig, LinkKind, Medium, QueueConfig,
    QueueLimit, Shared, Start,
};
use crate::link::queue::Management;
use baton_proto::rate::DataRate;
use baton_proto::time::Duration;

/// A direction without impairments, framing or trace, with a drop-tail queue.
pub(super) fn plain(rate: DataRate, delay: Duration, queue: QueueLimit) -> DirectionConfig {
    DirectionConfig {
        rate,
        framing: Framing {
            bytes_per_packet: 0,
            bits_per_byte: 8,
        },
        delay,
        jitter: Duration::ZERO,
        queue: QueueConfig {
            limit: queue,
            management: Management::DropTail,
        },
        flow_control: None,
        retransmission: None,
        channel: ChannelConfig {
            packet_error_rate: 0.0,
            bit_error_rate: 0.0,
            burst: None,
            shadowing: None,
            damaged: Damaged::Dropped,
            spares_headers: false,
        },
        trace: None,
    }
}

/// A link that is the same both ways, with Ethernet's MTU of 1500 B.
pub(super) fn symmetric(name: &str, medium: Medium, direction: DirectionConfig) -> LinkConfig {
    let direction = Shared::from(direction);
    let kind = LinkKind {
        medium,
        up: direction.clone(),
        down: direction,
        regulators: Vec::new(),
        start: Start::At(Duration::ZERO),
        mtu: 1500,
    };
    LinkConfig::new(name, kind)
}
