//! Van Jacobson's compression of TCP/IPv4 headers on a link (RFC 1144): a header of 40 bytes becomes 3 to 16.
//!
//! Each end of a link has a compressor and a decompressor. They keep the last header of up to [`SLOTS`] connections; a
//! compressed header says what has changed since. The TCP checksum goes along, so that the receiver's TCP detects a
//! header that was restored from the wrong one, after a loss. The sender's retransmission, which goes back in the
//! sequence space, is sent in full and puts both ends in step again (section 4.2).

mod decompressor;

pub use decompressor::Decompressor;

use super::{protocol, u16_at, u32_at};

/// Connections that an end keeps apart (section 3.2.2; appendix A: MAX_STATES).
pub const SLOTS: usize = 16;

/// Bits of the mask of changes (section 3.2.2).
const NEW_CONNECTION: u8 = 0x40;
const NEW_IDENTIFICATION: u8 = 0x20;
const PUSH: u8 = 0x10;
const NEW_SEQUENCE: u8 = 0x08;
const NEW_ACKNOWLEDGMENT: u8 = 0x04;
const NEW_WINDOW: u8 = 0x02;
const NEW_URGENT: u8 = 0x01;
const CHANGES: u8 = NEW_SEQUENCE | NEW_ACKNOWLEDGMENT | NEW_WINDOW | NEW_URGENT;
/// Echoed interactive traffic: sequence and acknowledgment number grow by the last segment's data (section 3.2.3).
const INTERACTIVE: u8 = NEW_SEQUENCE | NEW_WINDOW | NEW_URGENT;
/// Unidirectional data: the sequence number grows by the last segment's data.
const DATA: u8 = CHANGES;

/// Flags of TCP (RFC 9293).
const FLAG_FIN: u8 = 0x01;
const FLAG_SYN: u8 = 0x02;
const FLAG_RST: u8 = 0x04;
const FLAG_PSH: u8 = 0x08;
const FLAG_ACK: u8 = 0x10;
const FLAG_URG: u8 = 0x20;

/// Form of a packet on the link, which PPP tells by its protocol number (RFC 1332 section 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// The whole header, with the connection's number in place of IP's protocol number: UNCOMPRESSED_TCP.
    Full,
    /// The changes: COMPRESSED_TCP.
    Changes,
}

/// Header of a packet on the link; the packet's data follow it unchanged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkHeader {
    /// The form.
    pub form: Form,
    /// The bytes.
    pub bytes: Vec<u8>,
}

/// A TCP/IPv4 header: IP's and TCP's with their options.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Header(Vec<u8>);

impl Header {
    /// Reads the header of a packet that has one; `None` for other packets and for fragments.
    fn of(packet: &[u8]) -> Option<Header> {
        let ip = usize::from(packet.first()? & 0x0F) * 4;
        let is_ipv4 = packet[0] >> 4 == 4 && ip >= 20 && packet.len() >= ip + 20;
        if !is_ipv4 || packet[9] != protocol::TCP || u16_at(packet, 6) & 0x3FFF != 0 {
            return None;
        }
        let length = ip + usize::from(packet[ip + 12] >> 4) * 4;
        (length >= ip + 20 && length <= packet.len()).then(|| Header(packet[..length].to_vec()))
    }

    /// Returns the length of the IP header in bytes.
    fn ip_length(&self) -> usize {
        usize::from(self.0[0] & 0x0F) * 4
    }

    /// Returns the 16-bit field of the TCP header at byte `at`.
    fn tcp_16(&self, at: usize) -> u16 {
        u16_at(&self.0, self.ip_length() + at)
    }

    /// Returns the 32-bit field of the TCP header at byte `at`.
    fn tcp_32(&self, at: usize) -> u32 {
        u32_at(&self.0, self.ip_length() + at)
    }

    fn set_tcp(&mut self, at: usize, bytes: &[u8]) {
        let at = self.ip_length() + at;
        self.0[at..at + bytes.len()].copy_from_slice(bytes);
    }

    fn flags(&self) -> u8 {
        self.0[self.ip_length() + 13]
    }

    fn set_flag(&mut self, flag: u8, is_set: bool) {
        let at = self.ip_length() + 13;
        self.0[at] = if is_set {
            self.0[at] | flag
        } else {
            self.0[at] & !flag
        };
    }

    fn sequence(&self) -> u32 {
        self.tcp_32(4)
    }

    fn acknowledgment(&self) -> u32 {
        self.tcp_32(8)
    }

    fn window(&self) -> u16 {
        self.tcp_16(14)
    }

    fn identification(&self) -> u16 {
        u16_at(&self.0, 4)
    }

    /// Returns the number of the segment's data bytes, by IP's total length.
    fn data(&self) -> u32 {
        u32::from(u16_at(&self.0, 2)).saturating_sub(self.0.len() as u32)
    }

    /// Returns addresses and ports.
    fn connection(&self) -> (&[u8], u32) {
        (&self.0[12..20], self.tcp_32(0))
    }

    /// Returns true if only fields differ that a compressed header can tell (section 3.2.2): not the type of service, the
    /// "don't fragment" bit, the time to live, the options, nor flags other than PSH and URG.
    fn differs_as_expected(&self, last: &Header) -> bool {
        let ip = self.ip_length();
        let told = FLAG_PSH | FLAG_URG;
        self.0.len() == last.0.len()
            && self.0[..2] == last.0[..2]
            && self.0[6..10] == last.0[6..10]
            && self.0[20..ip] == last.0[20..ip]
            && self.0[ip + 12] == last.0[ip + 12]
            && (self.flags() ^ last.flags()) & !told == 0
            && self.0[ip + 20..] == last.0[ip + 20..]
    }
}

/// The sender's end.
#[derive(Clone, Debug, Default)]
pub struct Compressor {
    /// Last headers by the connection's number.
    slots: Vec<Header>,
    /// Numbers of the connections, the one used last first.
    order: Vec<u8>,
    /// Connection of the last packet sent.
    current: Option<u8>,
}

impl Compressor {
    /// Returns the header in place of that of a whole packet, and that one's length in bytes; `None` for a packet that is
    /// sent as it is: of another protocol, a fragment, or one that opens or ends a connection.
    pub fn compress(&mut self, packet: &[u8]) -> Option<(LinkHeader, usize)> {
        let header = Header::of(packet)?;
        let control = FLAG_SYN | FLAG_FIN | FLAG_RST | FLAG_ACK;
        if header.flags() & control != FLAG_ACK {
            return None;
        }
        let length = header.0.len();
        let known = self.find(&header);
        let number = known.unwrap_or_else(|| self.make_room());
        self.order.retain(|&other| other != number);
        self.order.insert(0, number);
        let is_current = self.current.replace(number) == Some(number);
        let changes = match known {
            Some(_) => changes(&header, &self.slots[usize::from(number)]),
            None => None,
        };
        let link = match changes {
            Some((mask, deltas)) => {
                let checksum = header.tcp_16(16).to_be_bytes();
                let mut bytes = Vec::with_capacity(16);
                match is_current {
                    true => bytes.push(mask),
                    false => bytes.extend_from_slice(&[mask | NEW_CONNECTION, number]),
                }
                bytes.extend_from_slice(&checksum);
                bytes.extend_from_slice(&deltas);
                LinkHeader {
                    form: Form::Changes,
                    bytes,
                }
            }
            None => {
                let mut bytes = header.0.clone();
                bytes[9] = number;
                LinkHeader {
                    form: Form::Full,
                    bytes,
                }
            }
        };
        match self.slots.get_mut(usize::from(number)) {
            Some(slot) => *slot = header,
            None => self.slots.push(header),
        }
        Some((link, length))
    }

    fn find(&self, header: &Header) -> Option<u8> {
        let slot = |number: &&u8| &self.slots[usize::from(**number)];
        let mut all = self.order.iter();
        all.find(|number| slot(number).connection() == header.connection())
            .copied()
    }

    /// Returns the number of a new connection: an unused one, or that of the connection that was silent the longest.
    fn make_room(&mut self) -> u8 {
        match self.order.last() {
            Some(&oldest) if self.order.len() == SLOTS => oldest,
            _ => self.order.len() as u8,
        }
    }
}

/// Returns the mask of changes since the last header of a connection, and their encoding; `None` for a header that is
/// sent in full.
fn changes(header: &Header, last: &Header) -> Option<(u8, Vec<u8>)> {
    if !header.differs_as_expected(last) {
        return None;
    }
    let (mut mask, mut deltas) = (0, Vec::with_capacity(12));
    if header.flags() & FLAG_URG != 0 {
        mask |= NEW_URGENT;
        encode(header.tcp_16(18), &mut deltas);
    } else if header.tcp_16(18) != last.tcp_16(18) {
        return None;
    }
    let window = header.window().wrapping_sub(last.window());
    let acknowledged = header.acknowledgment().wrapping_sub(last.acknowledgment());
    let sent = header.sequence().wrapping_sub(last.sequence());
    if window != 0 {
        mask |= NEW_WINDOW;
        encode(window, &mut deltas);
    }
    for (delta, bit) in [(acknowledged, NEW_ACKNOWLEDGMENT), (sent, NEW_SEQUENCE)] {
        if delta != 0 {
            mask |= bit;
            encode(u16::try_from(delta).ok()?, &mut deltas);
        }
    }
    match mask {
        // Nothing has changed. A segment with data after one without is a new one; otherwise it is sent again, perhaps
        // since the other end missed the last one.
        0 if header.data() == 0 || last.data() != 0 => return None,
        // These masks mean something else.
        INTERACTIVE | DATA => return None,
        NEW_SEQUENCE if sent == last.data() => (mask, deltas) = (DATA, Vec::new()),
        _ if mask == NEW_SEQUENCE | NEW_ACKNOWLEDGMENT
            && sent == acknowledged
            && sent == last.data() =>
        {
            (mask, deltas) = (INTERACTIVE, Vec::new());
        }
        _ => {}
    }
    let identification = header.identification().wrapping_sub(last.identification());
    if identification != 1 {
        mask |= NEW_IDENTIFICATION;
        encode(identification, &mut deltas);
    }
    if header.flags() & FLAG_PSH != 0 {
        mask |= PUSH;
    }
    Some((mask, deltas))
}

/// Encodes a number: one byte from 1 to 255, otherwise a zero and two bytes (section 3.2.2).
fn encode(number: u16, out: &mut Vec<u8>) {
    match u8::try_from(number) {
        Ok(short) if short != 0 => out.push(short),
        _ => {
            let [high, low] = number.to_be_bytes();
            out.extend_from_slice(&[0, high, low]);
        }
    }
}

#[cfg(test)]
mod tests;
