//! A link between an aircraft and a cell of an L-DACS1 network, in the words of other links: for whoever asks how fast
//! it is. What happens to its packets, the network decides ([`ldacs1`](super::super::ldacs1)).

use super::super::config::{DirectionConfig, LinkConfig, Medium, QueueLimit};
use super::super::ldacs1::{CellId, Direction, HEADER_BYTES, NetworkConfig};
use super::{plain, symmetric};
use baton_proto::time::Duration;

/// The link of one aircraft to a cell, as if it had the cell to itself.
pub fn link(name: &str, network: &NetworkConfig, cell: CellId) -> LinkConfig {
    let direction = |direction: Direction| -> DirectionConfig {
        let rate = network.nominal_rate(cell, direction);
        let queue = QueueLimit::Bytes(network.queue_bytes.into());
        let mut config = plain(rate, Duration::ZERO, queue);
        config.framing.bytes_per_packet = HEADER_BYTES;
        config
    };
    let mut config = symmetric(name, Medium::FullDuplex, direction(Direction::Forward));
    config.up = direction(Direction::Return).into();
    config
}
