//! Header fields about the received data.

use super::Receiving;
use crate::crosslayer::HandoverNotice;
use crate::tcp::flow::Flow;
use crate::tcp::scps::last_hole;
use crate::tcp::{Common, Timer};
use crate::wire::sequence::SequenceNumber;
use crate::wire::tcp::{LONGEST_OPTIONS, SNACK_LENGTH, SackBlocks, TcpHeader};

impl Receiving {
    /// Returns the acknowledgment number.
    pub(in crate::tcp) fn acknowledgment(&self) -> SequenceNumber {
        self.sequence(self.told())
    }

    /// Returns true if there is something for a SACK block, or a SNACK.
    pub(in crate::tcp) fn has_ranges_to_report(&self) -> bool {
        !self.data.blocks().is_empty() || self.acks.duplicate().is_some()
    }

    /// Returns SACK blocks, or a SNACK, of at most `room` bytes, beside other options of `others` bytes; none while ACKs are
    /// held.
    pub(in crate::tcp) fn sack_blocks(
        &mut self,
        common: &Common,
        room: u32,
        others: u32,
    ) -> SackBlocks {
        let mut blocks = SackBlocks::default();
        if self.is_held() {
            return blocks;
        }
        if !common.negotiated.sack {
            let unit = common.negotiated.snack_unit;
            let snack = unit.and_then(|unit| last_hole(&self.data, unit));
            let snack = snack.filter(|_| room >= SNACK_LENGTH);
            return snack.map_or(blocks, SackBlocks::negative);
        }
        // Options take 40 bytes at most: four blocks, or three beside timestamps (RFC 2018 section 3).
        let most = room.min(LONGEST_OPTIONS - others).saturating_sub(4) / 8;
        // A duplicate comes first, whether or not other blocks cover it (RFC 2883 section 4).
        let duplicate = self.acks.duplicate();
        let ranges = duplicate.iter().chain(self.data.blocks());
        for &(start, end) in ranges.take(most as usize) {
            blocks.push(self.sequence(start), self.sequence(end));
        }
        blocks
    }

    /// Returns the window field of a header that leaves now, scaled by `shift`.
    pub(in crate::tcp) fn offer_window(&mut self, flow: &Flow, shift: u8) -> u16 {
        let segment_size = self.segment_size(flow.space.segment_size());
        let window = self.data.advertise(segment_size, shift);
        let window = self.orders.limit_offer(&self.data, window, shift);
        // Relative to the acknowledgment number sent, which may be held back behind the received data.
        let held_back = (self.data.next() - self.told()) >> shift;
        u16::try_from(u64::from(window) + held_back).unwrap_or(u16::MAX)
    }

    /// Takes in that an ACK of all received data leaves.
    pub(in crate::tcp) fn on_acknowledged(&mut self, common: &mut Common) {
        self.acks.on_sent(common.quick_acks(), self.data.next());
        common.timers.stop(Timer::DelayedAck);
    }

    /// Returns the handover notice for the ACK that leaves now.
    pub(in crate::tcp) fn next_notice(&mut self) -> Option<HandoverNotice> {
        self.orders.next_notice(&self.data, self.largest)
    }

    /// Returns true if data beyond a gap, about to be taken in, would move SACK blocks down that no ACK has shown among
    /// the first two: a delayed ACK must leave before it (`tcp_sack_new_ofo_skb`). The option may end there, and data
    /// in blocks never shown would be retransmitted.
    pub(in crate::tcp) fn needs_early_acknowledgment(&self, start: i64, length: u32) -> bool {
        self.acks.holds_back() && self.data.moves_blocks_down(start, length)
    }

    /// Keeps an ACK generated before the latest arrival.
    pub(in crate::tcp) fn keep_early(&mut self, header: TcpHeader) {
        self.early = Some(Box::new(header));
    }

    pub(in crate::tcp) fn has_early(&self) -> bool {
        self.early.is_some()
    }

    pub(in crate::tcp) fn take_early(&mut self) -> Option<TcpHeader> {
        self.early.take().map(|header| *header)
    }
}
