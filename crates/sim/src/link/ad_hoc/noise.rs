//! Bit errors of the air, independent at each reception.

use super::network::{Frame, body_bytes};
use crate::link::channel::bit_errors;
use crate::link::config::{ChannelConfig, Damaged};
use crate::rng::{Keyed, Seed};
use baton_proto::wire::aeronp::TranslatedHeader;

/// Noise at all nodes.
#[derive(Debug)]
pub(super) struct Noise {
    bit_error_rate: f64,
    damaged: Damaged,
    draws: Keyed,
    /// Receptions so far.
    receptions: u64,
}

impl Noise {
    /// Creates the noise in the network of a link. Its draws depend on `seed` and on the link's name.
    pub fn new(channel: &ChannelConfig, link: &str, seed: Seed) -> Noise {
        Noise {
            bit_error_rate: channel.bit_error_rate,
            damaged: channel.damaged,
            draws: seed.keyed(&format!("link {link} bit errors")),
            receptions: 0,
        }
    }

    /// Takes another rate, and another treatment of damaged frames.
    pub fn follow(&mut self, channel: &ChannelConfig) {
        self.bit_error_rate = channel.bit_error_rate;
        self.damaged = channel.damaged;
    }

    /// Returns true if a message, or the header before a datagram, is received without errors.
    pub fn spares(&mut self, message: &[u8]) -> bool {
        self.hits(message.len() as u64).is_empty()
    }

    /// Receives a frame at the node for which it is; returns false if its check loses it. A damaged datagram behind an
    /// intact header goes on if the link delivers such.
    pub fn receive(&mut self, frame: &mut Frame) -> bool {
        let header = 8 * frame.message.len() as u32;
        let hits = self.hits(frame.message.len() as u64 + body_bytes(frame));
        let Some(&first) = hits.first() else {
            return true;
        };
        let Some(datagram) = &mut frame.datagram else {
            return false;
        };
        if first < header || self.damaged == Damaged::Dropped {
            return false;
        }
        // The bits of a translated IP header are not on the air.
        let replaced = datagram
            .translated
            .map_or(0, |_| 8 * TranslatedHeader::REPLACED);
        let positions: Vec<u32> = hits.iter().map(|bit| bit - header + replaced).collect();
        datagram.body.bit_errors.add(positions.into());
        frame.is_damaged = true;
        true
    }

    /// Returns the bits that the next reception, of so many bytes, gets wrong.
    fn hits(&mut self, bytes: u64) -> Vec<u32> {
        self.receptions += 1;
        bit_errors(self.draws, self.receptions, self.bit_error_rate, 8 * bytes)
    }
}
