//! Adaptation to the bit error rate: the strength of the code, its coverage, and the size of packets are those with the
//! highest expected goodput.
//!
//! There are no tuned constants. A packet gets through if its IP header, its own header (unless covered) and each code
//! word do; otherwise it is retransmitted, or lost. The choice maximises the product of a packet's share of data and
//! its probability of arrival.

use crate::fec::failure::failure_probability;
use crate::fec::interleaved::Strength;
use crate::wire::aerotp::{ErrorRate, Protection};

/// Bytes of the prelude, whose own code corrects the errors that matter here.
const PRELUDE: u32 = 3;
/// Bytes of the payload's check.
const PAYLOAD_CRC: u32 = 4;
/// Number of packet sizes to try, the largest being the path's.
const SIZES: u32 = 6;

/// Way of making packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// Their code.
    pub protection: Protection,
    /// Largest packet, IP header included, in bytes.
    pub packet: u32,
}

/// Returns the choice for a path with this `mtu`, for packets with IP headers of `ip_header` bytes and AeroTP headers
/// of `header` bytes, prelude and check included.
pub fn choose(error_rate: ErrorRate, mtu: u32, ip_header: u32, header: u32) -> Choice {
    let bit_error_rate = error_rate.rate();
    let mut best = Choice {
        protection: Protection::default(),
        packet: mtu,
    };
    if bit_error_rate == 0.0 {
        return best;
    }
    let mut most = 0.0;
    for size in (1..=SIZES).rev() {
        let packet = mtu * size / SIZES;
        for protection in protections(packet) {
            let goodput = goodput(bit_error_rate, (packet, ip_header, header), protection);
            if goodput > most {
                most = goodput;
                best = Choice { protection, packet };
            }
        }
    }
    best
}

/// Strengths worth trying: none, and each that gives every code word two bytes more, which corrects one byte more.
fn protections(packet: u32) -> impl Iterator<Item = Protection> {
    let step = packet.div_ceil(255).div_ceil(2).max(1);
    let most = u32::from(Strength::MOST.words());
    let covered = (step..=most).step_by(step as usize);
    let with = |words: u32, covers_header| Protection {
        strength: Strength::from_words(words as u16).unwrap_or(Strength::MOST),
        covers_header,
    };
    core::iter::once(Protection::default())
        .chain(covered.flat_map(move |words| [with(words, false), with(words, true)]))
}

/// Returns the expected share of a packet's bits that is data and gets through.
fn goodput(
    bit_error_rate: f64,
    (packet, ip_header, header): (u32, u32, u32),
    protection: Protection,
) -> f64 {
    let redundancy = protection.strength.bytes() as u32;
    let Some(payload) = packet.checked_sub(ip_header + header + PAYLOAD_CRC + redundancy) else {
        return 0.0;
    };
    let inside = payload + PAYLOAD_CRC;
    let (clear, coded) = match protection.covers_header {
        true => (ip_header, inside + header - PRELUDE),
        false => (ip_header + header - PRELUDE, inside),
    };
    let unharmed = |bytes: u32| libm::exp(f64::from(bytes * 8) * libm::log1p(-bit_error_rate));
    let decoded = match redundancy {
        0 => unharmed(coded),
        _ => {
            let failure = failure_probability(bit_error_rate, coded as usize, protection.strength);
            1.0 - failure
        }
    };
    f64::from(payload) / f64::from(packet) * unharmed(clear) * decoded
}
