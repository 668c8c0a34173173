//! Offsets and numbers in the headers of IP and the transport protocols (RFC 791, RFC 8200, RFC 9293, RFC 768).

/// Protocol number of TCP in IP headers.
pub(super) const TCP: u8 = 6;

/// Lengths of headers, in bytes, without options.
pub(super) const IPV4_HEADER: usize = 20;
pub(super) const IPV6_HEADER: usize = 40;
pub(super) const TCP_HEADER: usize = 20;
pub(super) const UDP_HEADER: usize = 8;

/// Offsets of the checksums in the transport protocols' headers.
pub(super) const TCP_CHECKSUM: usize = 16;
pub(super) const UDP_CHECKSUM: usize = 6;

/// Offset of the flags in the TCP header, and the flags.
pub(super) const TCP_FLAGS: usize = 13;
pub(super) const FIN: u8 = 0x01;
pub(super) const PSH: u8 = 0x08;
pub(super) const ACK: u8 = 0x10;
pub(super) const CWR: u8 = 0x80;

/// Reads a number at an offset, if the bytes reach that far.
pub(super) fn u16_at(bytes: &[u8], place: usize) -> Option<u16> {
    let two = bytes.get(place..)?.first_chunk()?;
    Some(u16::from_be_bytes(*two))
}

/// Writes a number at an offset, if the bytes reach that far.
pub(super) fn put(bytes: &mut [u8], place: usize, value: u16) {
    if let Some(two) = bytes.get_mut(place..).and_then(<[u8]>::first_chunk_mut) {
        *two = value.to_be_bytes();
    }
}
