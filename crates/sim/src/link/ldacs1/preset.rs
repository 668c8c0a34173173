//! A link between an aircraft and a cell of an L-DACS1 network, in the words of other links: for whoever asks how fast
//! it is. What happens to its packets, the network decides.

use super::{HEADER_BYTES, NetworkConfig};
use crate::link::cells::{CellId, Direction};
use crate::link::config::{DirectionConfig, LinkConfig, Medium, QueueLimit};
use crate::link::presets::{plain, symmetric};
use baton_proto::time::Duration;

impl NetworkConfig {
    /// Makes the link of one aircraft to a cell, as if it had the cell to itself; it has no name.
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
