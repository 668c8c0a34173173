//! The code of a link that delivers damaged packets (`baton_proto::gateways::aerotp::datagram_code`), between its path
//! and its socket.

use crate::operation::status::{CodeStatus, Status};
use baton_path::Rejected;
use baton_proto::gateways::aerotp::datagram_code::{Arrival, DatagramCode, longest_datagram};
use baton_proto::rate::DataRate;

/// The code at this end of a link.
#[derive(Debug, Default)]
pub struct LinkCode(DatagramCode);

/// Appends the datagram that `write` appends, coded if its link has a code: the path's own messages, on which its state
/// depends, with the strongest. So a search for the MTU finds the one that holds for every strength.
///
/// # Errors
/// The error of `write`.
pub fn write<T, E>(
    code: Option<&mut LinkCode>,
    is_own: bool,
    out: &mut Vec<u8>,
    write: impl FnOnce(&mut Vec<u8>) -> Result<T, E>,
) -> Result<T, E> {
    let Some(LinkCode(code)) = code else {
        return write(out);
    };
    let start = code.begin(out);
    let written = write(out)?;
    code.end(start, is_own, out);
    Ok(written)
}

impl LinkCode {
    /// Decodes a received datagram; `None` if it is damaged beyond repair.
    pub fn decode<'a>(&mut self, received: &'a mut [u8]) -> Option<(&'a mut [u8], Arrival)> {
        self.0.decode(received)
    }

    /// Takes in what the path found of a decoded datagram. A replay shows nothing of the link.
    pub fn note(&mut self, arrival: Arrival, refused: Option<Rejected>) {
        match refused {
            None => self.0.opened(arrival),
            Some(
                Rejected::Type
                | Rejected::Length
                | Rejected::Stranger
                | Rejected::Handshake
                | Rejected::Forged,
            ) => self.0.not_opened(arrival),
            Some(_) => {}
        }
    }

    /// Returns the rate of datagrams before coding on a link of this rate, if all are as long as these bytes behind these
    /// headers.
    pub fn rate_before(&self, rate: DataRate, full: (u32, u32)) -> DataRate {
        let (before, after) = self.lengths(full);
        scale(rate, before, after)
    }

    /// Returns the rate on the link of datagrams that have this rate before coding; the inverse of
    /// [`rate_before`](Self::rate_before).
    pub fn rate_after(&self, rate: DataRate, full: (u32, u32)) -> DataRate {
        let (before, after) = self.lengths(full);
        scale(rate, after, before)
    }

    /// Returns the bytes of a packet before and after coding.
    fn lengths(&self, (length, headers): (u32, u32)) -> (u128, u128) {
        let before = u128::from(length + headers);
        (before, before + self.0.overhead(length as usize) as u128)
    }

    /// Adds its state to that of the daemon.
    pub fn report(&self, link: &str, status: &mut Status) {
        let counters = self.0.counters();
        status.codes.push(CodeStatus {
            link: link.to_owned(),
            bit_error_rate: self.0.error_rate().rate(),
            repaired: counters.repaired,
            corrected_bytes: counters.corrected,
            damaged: counters.damaged,
        });
        status.lose("damaged beyond repair", counters.damaged);
    }
}

/// Returns the longest IP packet of a path before coding, on a link that carries packets of `mtu` bytes, so that it fits
/// whatever the strength.
pub fn longest_packet(mtu: u16, is_ipv4: bool) -> u16 {
    let headers: u16 = if is_ipv4 { 20 + 8 } else { 40 + 8 };
    let room = usize::from(mtu.saturating_sub(headers));
    headers + u16::try_from(longest_datagram(room)).unwrap_or(u16::MAX - headers)
}

fn scale(rate: DataRate, by: u128, over: u128) -> DataRate {
    let bits = u128::from(rate.bits_per_second()) * by / over.max(1);
    DataRate::from_bits_per_second(bits as u64)
}
