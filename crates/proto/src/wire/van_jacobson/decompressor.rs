//! The receiver's end.

use super::{
    CHANGES, DATA, FLAG_PSH, FLAG_URG, Form, Header, INTERACTIVE, NEW_ACKNOWLEDGMENT,
    NEW_CONNECTION, NEW_IDENTIFICATION, NEW_SEQUENCE, NEW_URGENT, NEW_WINDOW, PUSH, SLOTS,
};
use crate::wire::checksum::Checksum;
use crate::wire::protocol;

/// The receiver's end of a link.
#[derive(Clone, Debug, Default)]
pub struct Decompressor {
    /// Last headers by the connection's number.
    slots: [Option<Header>; SLOTS],
    /// Connection of the last packet; `None` after an error, until a packet names its connection.
    current: Option<u8>,
}

impl Decompressor {
    /// Notes that the link has lost or damaged a packet: packets that do not name their connection are discarded, since
    /// the lost one may have named another (section 4.1).
    pub fn handle_error(&mut self) {
        self.current = None;
    }

    /// Restores a packet from its bytes on the link. `None` if that is impossible; the packet is then to be discarded. A
    /// header restored from a wrong one makes the packet's TCP checksum wrong.
    pub fn decompress(&mut self, form: Form, bytes: &[u8]) -> Option<Vec<u8>> {
        let restored = match form {
            Form::Full => self.take_full(bytes),
            Form::Changes => self.apply(bytes),
        };
        if restored.is_none() {
            self.handle_error();
        }
        restored
    }

    fn take_full(&mut self, bytes: &[u8]) -> Option<Vec<u8>> {
        let number = *bytes.get(9)?;
        let mut packet = bytes.to_vec();
        packet[9] = protocol::TCP;
        let slot = self.slots.get_mut(usize::from(number))?;
        *slot = Some(Header::of(&packet)?);
        self.current = Some(number);
        Some(packet)
    }

    fn apply(&mut self, bytes: &[u8]) -> Option<Vec<u8>> {
        let mut rest = Reader(bytes);
        let mask = rest.byte()?;
        if mask & NEW_CONNECTION != 0 {
            self.current = Some(rest.byte()?);
        }
        let header = self.slots.get_mut(usize::from(self.current?))?.as_mut()?;
        // Changes apply to the kept header only if all of them are there.
        let mut new = header.clone();
        let checksum = [rest.byte()?, rest.byte()?];
        new.set_tcp(16, &checksum);
        new.set_flag(FLAG_PSH, mask & PUSH != 0);
        let (mut sequence, mut acknowledgment) = (new.sequence(), new.acknowledgment());
        match mask & CHANGES {
            INTERACTIVE => {
                sequence = sequence.wrapping_add(new.data());
                acknowledgment = acknowledgment.wrapping_add(new.data());
            }
            DATA => sequence = sequence.wrapping_add(new.data()),
            changes => {
                new.set_flag(FLAG_URG, changes & NEW_URGENT != 0);
                if changes & NEW_URGENT != 0 {
                    new.set_tcp(18, &rest.number()?.to_be_bytes());
                }
                if changes & NEW_WINDOW != 0 {
                    let window = new.window().wrapping_add(rest.number()?);
                    new.set_tcp(14, &window.to_be_bytes());
                }
                if changes & NEW_ACKNOWLEDGMENT != 0 {
                    acknowledgment = acknowledgment.wrapping_add(rest.number()?.into());
                }
                if changes & NEW_SEQUENCE != 0 {
                    sequence = sequence.wrapping_add(rest.number()?.into());
                }
            }
        }
        new.set_tcp(4, &sequence.to_be_bytes());
        new.set_tcp(8, &acknowledgment.to_be_bytes());
        let step = match mask & NEW_IDENTIFICATION != 0 {
            true => rest.number()?,
            false => 1,
        };
        let identification = new.identification().wrapping_add(step);
        new.0[4..6].copy_from_slice(&identification.to_be_bytes());
        let length = u16::try_from(new.0.len() + rest.0.len()).ok()?;
        new.0[2..4].copy_from_slice(&length.to_be_bytes());
        new.complete_ip();
        *header = new;
        Some([&header.0, rest.0].concat())
    }
}

impl Header {
    /// Computes the IP header's checksum.
    fn complete_ip(&mut self) {
        let end = self.ip_length();
        self.0[10..12].fill(0);
        let mut checksum = Checksum::new();
        checksum.add(&self.0[..end]);
        self.0[10..12].copy_from_slice(&checksum.finish().to_be_bytes());
    }
}

/// Bytes still to be read.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn byte(&mut self) -> Option<u8> {
        let (&first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(first)
    }

    /// Reads a number of one byte, or of two after a zero.
    fn number(&mut self) -> Option<u16> {
        match self.byte()? {
            0 => Some(u16::from_be_bytes([self.byte()?, self.byte()?])),
            short => Some(short.into()),
        }
    }
}
