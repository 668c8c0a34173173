//! Assignment of datagrams to QUIC connections, by the unencrypted part of the header.
//!
//! A connection is identified by its IDs, not by addresses, so that it survives a handover. The long headers of a
//! handshake carry them with their lengths, short headers carry the receiver's (RFC 8999, the invariants of all
//! versions). IDs agreed on under encryption are unknown to an observer.

/// Longest connection ID of QUIC version 1 (RFC 9000 section 17.2).
const LONGEST_ID: usize = 20;
/// Shortest payload of a datagram with a client's first packet, and shortest ID in it (RFC 9000 sections 14.1, 7.2).
const FIRST_DATAGRAM: usize = 1200;
const FIRST_ID: usize = 8;
/// Most remembered IDs of one end, the first ones and the latest.
const MOST_IDS: usize = 32;

/// Visible header of the first packet in a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuicHeader<'a> {
    /// Long header of a handshake, with both ends' IDs.
    Long {
        /// ID of the receiver.
        destination: &'a [u8],
        /// ID of the sender.
        source: &'a [u8],
    },
    /// Short header: the receiver's ID, of a length that only the ends know, and further bytes.
    Short(&'a [u8]),
}

impl<'a> QuicHeader<'a> {
    /// Reads a UDP payload as QUIC's; an observer cannot be certain that it is.
    pub fn parse(payload: &'a [u8]) -> Option<QuicHeader<'a>> {
        let (&first, rest) = payload.split_first()?;
        if first & 0x80 == 0 {
            return Some(QuicHeader::Short(rest));
        }
        let (version, rest) = rest.split_first_chunk::<4>()?;
        let (destination, rest) = id(rest)?;
        let (source, _) = id(rest)?;
        (*version != [0; 4]).then_some(QuicHeader::Long {
            destination,
            source,
        })
    }
}

fn id(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (&length, rest) = bytes.split_first()?;
    let length = usize::from(length);
    (length <= LONGEST_ID).then(|| rest.split_at_checked(length))?
}

/// Connection IDs of both ends of a conversation: opener, responder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConnectionIds {
    known: [Vec<Box<[u8]>>; 2],
}

impl ConnectionIds {
    /// Begins the IDs of a conversation with this payload, if it is a QUIC client's first datagram.
    pub fn begin(payload: &[u8]) -> Option<ConnectionIds> {
        match QuicHeader::parse(payload)? {
            QuicHeader::Long { destination, .. }
                if payload.len() >= FIRST_DATAGRAM && destination.len() >= FIRST_ID =>
            {
                Some(ConnectionIds::default())
            }
            _ => None,
        }
    }

    /// Learns from a datagram sent by an end: 0 for the opener, 1 for the responder.
    pub fn learn(&mut self, from: usize, payload: &[u8]) {
        match QuicHeader::parse(payload) {
            Some(QuicHeader::Long { source, .. }) => self.add(from, source),
            Some(QuicHeader::Short(rest)) => {
                // A new one has the length of those before it.
                let known = &self.known[1 - from];
                let length = known.first().map_or(0, |id| id.len());
                if let Some(id) = rest.get(..length) {
                    self.add(1 - from, id);
                }
            }
            None => {}
        }
    }

    fn add(&mut self, end: usize, id: &[u8]) {
        let known = &mut self.known[end];
        if !id.is_empty() && !known.iter().any(|other| **other == *id) {
            if known.len() == MOST_IDS {
                known.remove(1);
            }
            known.push(id.into());
        }
    }

    /// Returns true if a datagram to the responder carries one of its IDs.
    pub fn bears(&self, payload: &[u8]) -> bool {
        let Some(QuicHeader::Short(rest)) = QuicHeader::parse(payload) else {
            return false;
        };
        self.known[1].iter().any(|id| rest.starts_with(id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(hexadecimal: &str) -> Vec<u8> {
        let digits: Vec<u8> = hexadecimal
            .bytes()
            .filter(u8::is_ascii_hexdigit)
            .map(|digit| char::from(digit).to_digit(16).unwrap() as u8)
            .collect();
        digits
            .chunks(2)
            .map(|pair| pair[0] << 4 | pair[1])
            .collect()
    }

    /// The protected packets of RFC 9001 appendix A, as far as the headers go.
    #[test]
    fn the_samples_of_rfc_9001_are_read() {
        let mut initial = bytes("c000000001088394c8f03e5157080000449e7b9aec34");
        assert_eq!(
            QuicHeader::parse(&initial),
            Some(QuicHeader::Long {
                destination: &bytes("8394c8f03e515708"),
                source: &[]
            })
        );
        assert_eq!(ConnectionIds::begin(&initial), None);
        initial.resize(1200, 0);
        let mut ids = ConnectionIds::begin(&initial).unwrap();
        ids.learn(0, &initial);
        // The server's, and a packet under its ID.
        let answer = bytes("cf000000010008f067a5502a4262b5004075c0d95a48");
        ids.learn(1, &answer);
        assert!(ids.bears(&bytes("41 f067a5502a4262b5 0011223344")));
        assert!(!ids.bears(&bytes("41 f067a5502a4262b6 0011223344")));
        assert!(!ids.bears(&answer));
        // A new ID in the same conversation is learnt.
        let renewed = bytes("41 0102030405060708 55667788");
        assert!(!ids.bears(&renewed));
        ids.learn(0, &renewed);
        assert!(ids.bears(&renewed));
    }

    #[test]
    fn what_is_no_quic_is_none() {
        assert_eq!(QuicHeader::parse(&[]), None);
        assert_eq!(QuicHeader::parse(&bytes("c0000000")), None);
        // An ID of 21 bytes; version negotiation.
        assert_eq!(QuicHeader::parse(&[0xc0; 60]), None);
        assert_eq!(QuicHeader::parse(&bytes("c0000000000000")), None);
        assert_eq!(ConnectionIds::begin(&[0x40; 1300]), None);
    }
}
