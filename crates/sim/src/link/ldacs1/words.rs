//! Control messages as text.

use super::{CellConfig, Message, MessageKind};
use crate::link::cells::{CellId, Direction};
use baton_proto::packet::Wording;

impl Message {
    /// Describes the message in a network with these cells, and its direction; `None` if the message is not received.
    pub fn words(&self, cells: &[CellConfig]) -> (Option<Direction>, Wording) {
        use Direction::{Forward, Return};
        let name = |cell: CellId| cells[usize::from(cell.0)].name.as_str();
        let (direction, name, details) = match self.kind {
            MessageKind::ScanningTable => (Some(Forward), "ACB and STB", String::new()),
            MessageKind::SystemIdentification => (Some(Forward), "SIB", String::new()),
            MessageKind::PowerReport { of, received_dbm } => (
                Some(Return),
                "POW_REP",
                format!("{} {received_dbm:.2} dBm", name(of)),
            ),
            MessageKind::HandoverCommand { to, packet_bit } => {
                let bit = if packet_bit { "P-bit, " } else { "" };
                (Some(Forward), "HO_COM", format!("{bit}to {}", name(to)))
            }
            MessageKind::CellExit => (Some(Return), "CELL_EXIT", String::new()),
            MessageKind::CellRequest => (Some(Return), "CELL_RQST", String::new()),
            MessageKind::CellResponse => (Some(Forward), "CELL_RESP", String::new()),
            MessageKind::SynchronisationPoll => (Some(Forward), "SYNC_POLL", String::new()),
            MessageKind::Collision => (None, "Collision", String::new()),
        };
        (direction, Wording::new(name, details))
    }
}
