//! The packets of a connection: control messages at once, data at the rate of its path.

use super::blocks::SYMBOL_OVERHEAD;
use super::connection::{Connection, Path, Transmission};
use crate::time::Instant;
use crate::wire::tp_plus_plus::{AROUND_CHUNKS, AROUND_REPAIR, Content, TpPlusPlusPacket, Tpdu};
use core::net::IpAddr;

/// Returns the length of an IP header between these addresses, in bytes.
const fn ip_header(addresses: (IpAddr, IpAddr)) -> u32 {
    match addresses.0 {
        IpAddr::V4(_) => 20,
        IpAddr::V6(_) => 40,
    }
}

impl Path {
    /// Returns the bytes for chunks in a packet.
    fn room(&self) -> u32 {
        self.mtu
            .min(u16::MAX.into())
            .saturating_sub(ip_header(self.addresses) + AROUND_CHUNKS)
    }
}

impl Connection {
    /// Returns the next packet to send.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Transmission> {
        let sent = self.control(now).map(|content| Transmission {
            addresses: self.answer_to,
            packet: self.packet(content),
            retransmission: false,
        });
        let sent = sent.or_else(|| self.data(now))?;
        self.statistics.packets += 1;
        self.statistics.retransmitted += u64::from(sent.retransmission);
        self.note_sent();
        Some(sent)
    }

    fn packet(&self, content: Content) -> TpPlusPlusPacket {
        TpPlusPlusPacket {
            label: self.label,
            content,
        }
    }

    /// Returns a control message that is due. The limit travels in a packet of its own, never in an acknowledgment.
    fn control(&mut self, now: Instant) -> Option<Content> {
        if self.acknowledgment_at.is_some_and(|at| at <= now) {
            self.acknowledgment_at = None;
            self.unacknowledged = 0;
            self.statistics.acknowledgments += 1;
            return Some(Content::Acknowledgment(self.receiver.acknowledgment()));
        }
        if let Some(limit) = self.receiver.limit(self.is_asked) {
            self.is_asked = false;
            self.receiver.grant(limit);
            self.statistics.limits += 1;
            return Some(Content::Limit(limit));
        }
        if core::mem::take(&mut self.is_request_due) {
            return Some(Content::Request);
        }
        if self.sender.is_limited() && self.request_at.is_none() {
            self.request_at = Some(now + self.sender.timeout.value(0));
        }
        None
    }

    /// Returns true if a packet with data waits for its turn.
    pub(super) fn has_data(&self) -> bool {
        let has_repair = |blocks: &super::blocks::BlockSender| !blocks.repairs.is_empty();
        !self.parts.is_empty()
            || self.sender.has_tpdu()
            || self.blocks.as_ref().is_some_and(has_repair)
    }

    /// Returns the path that may send next.
    pub(super) fn next_path(&self) -> Path {
        let mut earliest = self.paths[0];
        for path in &self.paths[1..] {
            if path.next_at < earliest.next_at {
                earliest = *path;
            }
        }
        earliest
    }

    /// Returns a packet with data, if the pace of a path permits one. Losses change no rate.
    fn data(&mut self, now: Instant) -> Option<Transmission> {
        let path = self.next_path();
        if path.next_at > now || !self.has_data() {
            return None;
        }
        let (packet, retransmission) = self.next_data(now, &path)?;
        let bits = u64::from(ip_header(path.addresses) + packet.wire_length()) * 8;
        let addresses = path.addresses;
        let mut paths = self.paths.iter_mut();
        if let Some(path) = paths.find(|path| path.addresses == addresses) {
            let taken = path.rate.transmission_time(bits);
            // A path without a rate sends nothing more.
            path.next_at = taken.map_or(Instant::from_nanos(u64::MAX), |taken| now + taken);
        }
        if self.sender.awaits() {
            self.awaited_since.get_or_insert(now);
        }
        Some(Transmission {
            addresses,
            packet,
            retransmission,
        })
    }

    fn next_data(&mut self, now: Instant, path: &Path) -> Option<(TpPlusPlusPacket, bool)> {
        if let Some(part) = self.parts.pop_front() {
            return Some(part);
        }
        if let Some(tpdu) = self.sender.next_expired(now) {
            return self.first_part(tpdu, path, true);
        }
        let repair = self
            .blocks
            .as_mut()
            .and_then(|blocks| blocks.repairs.pop_front());
        if let Some(repair) = repair {
            return Some((self.packet(Content::Repair(repair)), false));
        }
        let room = self.room_of_all();
        let mut tpdu = self.sender.next_new(room, self.label)?;
        let is_last = tpdu.chunks.iter().any(|chunk| chunk.ends_connection);
        if let Some(blocks) = &mut self.blocks {
            blocks.add(&mut tpdu, now + self.configuration.reordering_wait.half());
            if is_last {
                blocks.close();
            }
        }
        self.sender.sent(now, tpdu.clone());
        self.first_part(tpdu, path, false)
    }

    /// Returns the bytes for a TPDU that fits every path and, with the code, a repair packet.
    fn room_of_all(&self) -> u32 {
        let room = self.paths.iter().map(Path::room).min().unwrap_or(0);
        match self.blocks {
            Some(_) => room.saturating_sub(AROUND_REPAIR + SYMBOL_OVERHEAD - AROUND_CHUNKS),
            None => room,
        }
    }

    /// Cuts a TPDU into the packets that the path takes, and returns the first.
    fn first_part(
        &mut self,
        tpdu: Tpdu,
        path: &Path,
        is_again: bool,
    ) -> Option<(TpPlusPlusPacket, bool)> {
        let parts = tpdu.into_parts(path.room()).into_iter();
        let packets = parts.map(|part| (self.packet(Content::Data(part)), is_again));
        let packets: Vec<_> = packets.collect();
        self.parts.extend(packets);
        self.parts.pop_front()
    }
}
