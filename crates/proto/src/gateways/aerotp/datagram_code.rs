//! The code of whole datagrams on a link between two gateways that delivers damaged ones.
//!
//! A datagram of an encrypted path is lost with one flipped bit, so the code stands outside the encryption: a datagram
//! is sealed and then coded, decoded and then opened. On the wire a coded datagram is a header of six bytes, the sealed
//! datagram, and its parity ([`crate::fec::interleaved`]). The header is two words of the extended Golay code:
//!
//! | word | bits 11 and 10 | bits 9 to 0 |
//! |---|---|---|
//! | 1 | version, 1 | words of parity, 32 bits each |
//! | 2 | 0 | the bit error rate of what this end receives ([`ErrorRate`]) |
//!
//! Each end takes the strength with the highest expected goodput at the rate that the other reports. The header is not
//! authentic by itself: a report counts once its datagram has been opened.

use crate::aerotp::ErrorMeter;
use crate::fec::failure::codeword_failure;
use crate::fec::golay;
use crate::fec::interleaved::{self, Strength};
use crate::fec::reed_solomon::LONGEST_CODEWORD;
use crate::wire::aerotp::{Condition, ErrorRate};

/// Bytes of the header.
pub const HEADER: usize = 6;

/// Bytes of one word of the header.
const WORD: usize = 3;
/// Version of this format.
const VERSION: u32 = 1;
/// Most words of parity in each codeword. 32 bytes correct 16, as the code (255, 223) of CCSDS 131.0-B does.
const MOST_WORDS: u16 = 8;
/// Codewords of the datagram for which a strength is chosen: one that fills an Ethernet frame.
const CODEWORDS: i32 = 6;

/// Counters of a code's arrivals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CodeCounters {
    /// Datagrams opened after a correction.
    pub repaired: u64,
    /// Bytes corrected in these.
    pub corrected: u64,
    /// Datagrams that did not decode, or could not be opened then.
    pub damaged: u64,
}

/// The code at one end of a link.
#[derive(Clone, Debug)]
pub struct DatagramCode {
    /// Errors of arriving datagrams.
    arrivals: ErrorMeter,
    /// Words of parity in each codeword.
    words: u16,
    /// The rate by which they were chosen; `None` before the first report.
    reported: Option<ErrorRate>,
    parity: Vec<u8>,
    counters: CodeCounters,
}

/// A decoded datagram, not yet known to be authentic.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    bytes: u32,
    /// Bytes of parity in each codeword.
    redundancy: u32,
    corrected: u32,
    reported: ErrorRate,
}

impl Default for DatagramCode {
    fn default() -> DatagramCode {
        DatagramCode {
            arrivals: ErrorMeter::default(),
            // Without a report the link may be as bad as any.
            words: MOST_WORDS,
            reported: None,
            parity: Vec::new(),
            counters: CodeCounters::default(),
        }
    }
}

impl DatagramCode {
    /// Begins a datagram at the end of `out`: the caller appends it sealed, and then calls [`end`](Self::end) with the
    /// returned place.
    pub fn begin(&self, out: &mut Vec<u8>) -> usize {
        let start = out.len();
        out.resize(start + HEADER, 0);
        start
    }

    /// Codes the datagram begun at `start`, with the present strength or `strongest`.
    pub fn end(&mut self, start: usize, strongest: bool, out: &mut Vec<u8>) {
        let words = if strongest { MOST_WORDS } else { self.words };
        let data = out.get(start + HEADER..).unwrap_or_default();
        let strength = strength(data.len(), words);
        self.parity.clear();
        interleaved::encode(data, strength, &mut self.parity);
        let first = VERSION << 10 | u32::from(strength.words());
        let second = u32::from(self.arrivals.rate().code());
        let header = [first, second].map(|word| golay::encode(word).to_be_bytes());
        let places = out.get_mut(start..start + HEADER).unwrap_or_default();
        for (place, word) in places.chunks_exact_mut(WORD).zip(header) {
            place.copy_from_slice(&word[1..]);
        }
        out.extend_from_slice(&self.parity);
    }

    /// Decodes a received datagram in place, in time proportional to its length. `None` if it has more errors than the
    /// code corrects, or was not coded.
    pub fn decode<'a>(&mut self, received: &'a mut [u8]) -> Option<(&'a mut [u8], Arrival)> {
        let decoded = decode(received);
        if decoded.is_err() {
            self.lose(received.len() as u32, 0);
        }
        let arrival = decoded.ok()?;
        let sealed = received.get_mut(HEADER..HEADER + arrival.bytes as usize)?;
        Some((sealed, arrival))
    }

    /// Takes in that a decoded datagram was authentic.
    pub fn opened(&mut self, arrival: Arrival) {
        let condition = match arrival.corrected {
            0 => Condition::Clean,
            corrected => {
                self.counters.repaired += 1;
                self.counters.corrected += u64::from(corrected);
                Condition::Corrected(corrected)
            }
        };
        self.arrivals
            .note(arrival.bytes, arrival.redundancy, condition);
        if self.reported != Some(arrival.reported) {
            self.reported = Some(arrival.reported);
            self.words = best_words(arrival.reported);
        }
    }

    /// Takes in that a decoded datagram was not authentic: it had too many errors, or was forged.
    pub fn not_opened(&mut self, arrival: Arrival) {
        self.lose(arrival.bytes, arrival.redundancy);
    }

    fn lose(&mut self, bytes: u32, redundancy: u32) {
        self.counters.damaged += 1;
        self.arrivals.note(bytes, redundancy, Condition::Damaged(0));
    }

    /// Returns the bit error rate of arriving datagrams, by the errors found.
    pub fn error_rate(&self) -> ErrorRate {
        self.arrivals.rate()
    }

    /// Returns the bytes that a coded datagram has beyond its `length` bytes, at present.
    pub fn overhead(&self, length: usize) -> usize {
        HEADER + strength(length, self.words).bytes()
    }

    /// Returns the counters.
    pub fn counters(&self) -> CodeCounters {
        self.counters
    }
}

/// Returns the longest datagram that fits into `room` bytes whatever the strength, in bytes.
pub fn longest_datagram(room: usize) -> usize {
    let room = room.saturating_sub(HEADER);
    let parity = usize::from(MOST_WORDS) * 4;
    let (whole, rest) = (room / LONGEST_CODEWORD, room % LONGEST_CODEWORD);
    whole * (LONGEST_CODEWORD - parity) + rest.saturating_sub(parity)
}

/// Returns the strength that gives each codeword of a datagram so many words of parity.
fn strength(length: usize, words: u16) -> Strength {
    let data = LONGEST_CODEWORD - usize::from(words) * 4;
    let all = length.div_ceil(data) * usize::from(words);
    let most = Strength::MOST.words();
    Strength::from_words(u16::try_from(all).unwrap_or(most).min(most)).unwrap_or(Strength::MOST)
}

/// Returns the words of parity in each codeword with the highest expected goodput; the fewest of equals.
fn best_words(rate: ErrorRate) -> u16 {
    let goodput = |words: u16| {
        let share = 1.0 - f64::from(words) * 4.0 / LONGEST_CODEWORD as f64;
        let correctable = usize::from(words) * 2;
        let fails = codeword_failure(rate.rate(), LONGEST_CODEWORD, correctable);
        share * libm::pow(1.0 - fails.min(1.0), f64::from(CODEWORDS))
    };
    let all = (0..=MOST_WORDS).rev();
    let best = all.max_by(|one, other| goodput(*one).total_cmp(&goodput(*other)));
    best.unwrap_or(MOST_WORDS)
}

/// A datagram that cannot be decoded.
struct Undecodable;

fn decode(received: &mut [u8]) -> Result<Arrival, Undecodable> {
    let (header, block) = received.split_at_mut_checked(HEADER).ok_or(Undecodable)?;
    let word = |at: usize| {
        let word = u32::from_be_bytes([0, header[at], header[at + 1], header[at + 2]]);
        golay::decode(word).ok_or(Undecodable)
    };
    let (first, second) = (word(0)?, word(WORD)?);
    let reported = u8::try_from(second).map_err(|_| Undecodable)?;
    let strength = Strength::from_words((first & 0x3FF) as u16).ok_or(Undecodable)?;
    let codewords = block.len().div_ceil(LONGEST_CODEWORD);
    // No sender takes more parity, and nobody else chooses how long decoding takes.
    let most = codewords * usize::from(MOST_WORDS);
    if first >> 10 != VERSION || usize::from(strength.words()) > most {
        return Err(Undecodable);
    }
    let bytes = block.len().checked_sub(strength.bytes());
    let bytes = bytes.ok_or(Undecodable)? as u32;
    let corrected = interleaved::decode(block, strength, &[]).map_err(|_| Undecodable)?;
    Ok(Arrival {
        bytes,
        redundancy: (strength.bytes() / codewords.max(1)) as u32,
        corrected: corrected as u32,
        reported: ErrorRate::from_code(reported),
    })
}

#[cfg(test)]
mod tests;
