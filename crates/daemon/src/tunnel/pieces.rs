//! Packets that stand for several (`baton_proto::packet::Segmentation`), and their division when they leave.

use crate::medium::Received;
use baton_linux::offload::{self, Packets};
use baton_proto::packet::{self, Packet};

/// Reads a packet from the kernel or from a path.
pub fn read((bytes, segmentation): (&[u8], Option<offload::Segmentation>)) -> Received {
    let Some(segmentation) = segmentation else {
        return Packet::verbatim(bytes);
    };
    let segmentation = packet::Segmentation {
        transport: segmentation.transport,
        headers: segmentation.headers,
        segment: segmentation.segment,
    };
    Packet::segmented(bytes, segmentation)
}

/// Returns the segmentation of a packet that stands for several; `None` for a single packet.
pub fn segmentation(packet: &Packet) -> Option<offload::Segmentation> {
    let segmentation = packet.segmentation()?;
    Some(offload::Segmentation {
        transport: segmentation.transport,
        headers: segmentation.headers,
        segment: segmentation.segment,
    })
}

/// A buffer for dividing packets.
#[derive(Debug, Default)]
pub struct Cutter {
    whole: Vec<u8>,
    piece: Vec<u8>,
}

impl Cutter {
    /// Passes each packet for which one stands to `take`, until that fails.
    ///
    /// # Errors
    /// The error of `take`: the remaining packets are dropped.
    pub fn cut<E>(
        &mut self,
        packet: &Packet,
        mut take: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        self.whole.clear();
        packet.encode(&mut self.whole);
        let segmentation = segmentation(packet);
        let Some(mut packets) =
            segmentation.and_then(|segmentation| Packets::of(&self.whole, segmentation))
        else {
            return take(&self.whole);
        };
        self.piece
            .resize(packets.longest().max(self.piece.len()), 0);
        // The buffer has room for each of them.
        while let Ok(Some(length)) = packets.write_next(&mut self.piece) {
            take(&self.piece[..length])?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_have_the_hop_limit_of_the_whole_and_sound_checksums() {
        // Two TCP segments over IPv4, as a kernel passes them to a device: 10.0.0.1 to 10.0.0.2, 100 B of data each.
        // The checksum is that of the pseudo-header: 0a00 + 0001 + 0a00 + 0002 + 0006 + 00dc (20 + 200 B).
        let mut whole = vec![0x45, 0, 0, 240, 0, 1, 0x40, 0, 64, 6, 0x26, 0x05];
        whole.extend([10, 0, 0, 1, 10, 0, 0, 2]);
        whole.extend([
            0, 1, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0x50, 0x18, 1, 0, 0x14, 0xE5, 0, 0,
        ]);
        whole.resize(240, 0xAB);
        let segmentation = offload::Segmentation {
            transport: 20,
            headers: 40,
            segment: 100,
        };
        let mut packet = read((&whole, Some(segmentation))).unwrap();
        assert_eq!(packet.wire_length(), 140);
        packet.ip.hop_limit -= 1;
        let mut pieces = Vec::new();
        let cut: Result<(), ()> = Cutter::default().cut(&packet, |bytes| {
            // Decoding verifies both checksums.
            pieces.push(Packet::decode(bytes).unwrap());
            Ok(())
        });
        assert_eq!(cut, Ok(()));
        let seen: Vec<(u8, u32)> = pieces
            .iter()
            .map(|piece| (piece.ip.hop_limit, piece.wire_length()))
            .collect();
        assert_eq!(seen, [(63, 140), (63, 140)]);
        let refused: Result<(), u8> = Cutter::default().cut(&packet, |_| Err(3));
        assert_eq!(refused, Err(3));
    }
}
