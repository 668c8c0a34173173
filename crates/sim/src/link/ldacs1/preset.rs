//! A link between an aircraft and a cell of an L-DACS1 network, with the parameters of other links: for callers that
//! need its rate. The fate of its packets is decided by the network.

use super::{HEADER_BYTES, NetworkConfig};
use crate::link::cells::{CellId, Direction};
use crate::link::config::{DirectionConfig, LinkConfig, Medium, QueueLimit};
use crate::link::kinds::{plain, symmetric};
use baton_proto::time::Duration;

impl NetworkConfig {
    /// Creates the link of an aircraft alone in a cell; it has no name.
    pub fn link(&self, cell: CellId) -> LinkConfig {
        let direction = |direction: Direction| -> DirectionConfig {
            let rate = self.nominal_rate(cell, direction);
            let queue = QueueLimit::Bytes(self.queue_bytes.into());
            let mut config = plain(rate, Duration::ZERO, queue);
            config.framing.bytes_per_packet = HEADER_BYTES;
            config
        };
        let mut config = symmetric("", Medium::FullDuplex, direction(Direction::Forward));
        config.up = direction(Direction::Return).into();
        config
    }
}
