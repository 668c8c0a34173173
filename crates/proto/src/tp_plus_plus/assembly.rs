//! A TPDU of which some chunks have arrived, in any order.

use crate::wire::tp_plus_plus::{Chunk, ConnectionLabel, Tpdu, WeightedSum};

/// Chunks of one TPDU, summed up as they arrive.
#[derive(Debug)]
pub(super) struct Assembly {
    /// The check that its packets carry.
    check: WeightedSum,
    /// The check of the chunks so far.
    sum: WeightedSum,
    /// C.SN of its begin.
    base: u64,
    /// Bytes so far.
    bytes: u32,
    /// Its length, once the chunk with T.ST has arrived.
    length: Option<u32>,
    chunks: Vec<Chunk>,
}

impl Assembly {
    /// Begins with the chunks of a packet; `None` if they contradict each other.
    pub fn begin(tpdu: &Tpdu) -> Option<Assembly> {
        let mut assembly = Assembly {
            check: tpdu.check,
            sum: WeightedSum::default(),
            base: tpdu.chunks.first()?.base()?,
            bytes: 0,
            length: None,
            chunks: Vec::new(),
        };
        assembly.add(tpdu).then_some(assembly)
    }

    /// Adds the chunks of a further packet; returns false if they contradict others: some packet is damaged, or the TPDU
    /// was cut in another way before.
    pub fn add(&mut self, tpdu: &Tpdu) -> bool {
        tpdu.check == self.check && tpdu.chunks.iter().all(|chunk| self.add_chunk(chunk))
    }

    fn add_chunk(&mut self, chunk: &Chunk) -> bool {
        let places = |chunk: &Chunk| (u32::from(chunk.tpdu_position), chunk.tpdu_end());
        let (from, to) = places(chunk);
        if self.chunks.iter().any(|known| places(known) == (from, to)) {
            return true;
        }
        let overlaps = |known: &Chunk| places(known).0 < to && from < places(known).1;
        let is_beyond = |length| to > length || chunk.ends_tpdu && to < length;
        if chunk.base() != Some(self.base)
            || self.chunks.iter().any(overlaps)
            || self.length.is_some_and(is_beyond)
        {
            return false;
        }
        if chunk.ends_tpdu {
            self.length = Some(to);
        }
        self.bytes += chunk.payload.length();
        chunk.add_to(&mut self.sum);
        self.chunks.push(chunk.clone());
        true
    }

    /// Returns the bytes so far.
    pub fn bytes(&self) -> u64 {
        self.bytes.into()
    }

    /// Returns true if all bytes have arrived.
    pub fn is_complete(&self) -> bool {
        self.length == Some(self.bytes)
    }

    /// Returns the chunks of a complete TPDU in order, if the check is right.
    pub fn verified(mut self, label: ConnectionLabel, number: u32) -> Option<Vec<Chunk>> {
        self.chunks.sort_by_key(|chunk| chunk.tpdu_position);
        // The check covers an external PDU's labels at its end alone: those of chunks before that must agree.
        let goes_on = |pair: &[Chunk]| {
            let [one, next] = pair else { return true };
            let follows = one.external_position.wrapping_add(one.payload.length());
            one.ends_external || (one.external, follows) == (next.external, next.external_position)
        };
        if !self.chunks.windows(2).all(goes_on) {
            return None;
        }
        let ends_connection = self.chunks.iter().any(|chunk| chunk.ends_connection);
        let whole = (self.base, self.bytes, ends_connection);
        Tpdu::add_labels(&mut self.sum, label, number, whole);
        (self.sum == self.check).then_some(self.chunks)
    }
}
