//! A whole AeroTP packet: prelude, header and its check, payload and its check, and the code words of the Reed–Solomon
//! code.
//!
//! ```text
//! | prelude | header | HEC | payload | CRC-32C | redundancy |
//!           `-------- covered, or ------------'
//!                          `-- covered --------'
//! ```

use super::{AerotpHeader, HEC, NAME, PAYLOAD_CRC, PRELUDE, Protection, field};
use crate::fec::interleaved::{self, Strength};
use crate::packet::{IpHeader, Payload};
use crate::wire::{DecodeError, expect_length};
use core::net::IpAddr;
use crc::{CRC_16_IBM_3740, CRC_32_ISCSI, Crc, Table};

/// The header error check: CRC-16 with polynomial 0x1021, which detects any three flipped bits of a header of unchanged
/// length.
const HEADER_CHECK: Crc<u16, Table<1>> = Crc::<u16, Table<1>>::new(&CRC_16_IBM_3740);
/// The payload check: CRC-32C (RFC 3720), which detects any five flipped bits in 655 bytes, and any three in 65,535.
static PAYLOAD_CHECK: Crc<u32, Table<16>> = Crc::<u32, Table<16>>::new(&CRC_32_ISCSI);

/// Condition of a received packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// No errors.
    Clean,
    /// This many bytes were corrected.
    Corrected(u32),
    /// The header is valid, the payload is not: this many bytes are missing from `sequence` on.
    Damaged(u32),
}

/// An AeroTP packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AerotpPacket {
    /// The header.
    pub header: AerotpHeader,
    /// Payload; empty if damaged.
    pub payload: Payload,
    /// Condition after the channel.
    pub condition: Condition,
}

impl AerotpPacket {
    /// Creates a packet to send.
    pub fn new(header: AerotpHeader, payload: Payload) -> AerotpPacket {
        AerotpPacket {
            header,
            payload,
            condition: Condition::Clean,
        }
    }

    /// Returns the length on the wire after the IP header, in bytes.
    pub fn wire_length(&self) -> u32 {
        let payload = self.payload.length();
        let check = if payload > 0 { PAYLOAD_CRC as u32 } else { 0 };
        let redundancy = match payload > 0 || self.header.protection.covers_header {
            true => self.header.protection.strength.bytes() as u32,
            false => 0,
        };
        self.header.wire_length() + payload + check + redundancy
    }

    /// Appends the packet as bytes. The checks cover the addresses of `ip`.
    pub fn encode(&self, ip: &IpHeader, out: &mut Vec<u8>) {
        let Protection {
            strength,
            covers_header,
        } = self.header.protection;
        self.header.protection.encode(out);
        let header = out.len();
        self.header.encode(self.payload.length(), out);
        let check = header_check(ip, &out[header..]);
        out.extend_from_slice(&check.to_be_bytes());
        let payload = out.len();
        self.payload.copy_into(out);
        if out.len() > payload {
            let check = PAYLOAD_CHECK.checksum(&out[payload..]);
            out.extend_from_slice(&check.to_be_bytes());
        }
        let covered = if covers_header { header } else { payload };
        if out.len() > covered && strength != Strength::NONE {
            let mut redundancy = Vec::new();
            interleaved::encode(&out[covered..], strength, &mut redundancy);
            out.extend_from_slice(&redundancy);
        }
    }

    /// Decodes the packet that `ip` carries, and corrects errors with its code, unless the checks already agree.
    ///
    /// # Errors
    /// Too few bytes, a field out of range, a wrong payload length, or a header damaged beyond correction.
    pub fn decode(ip: &IpHeader, bytes: &[u8]) -> Result<AerotpPacket, DecodeError> {
        let protection = Protection::decode(bytes)?;
        let rest = &bytes[PRELUDE..];
        let first = Opened::read(ip, protection, rest);
        if let Ok(opened) = &first
            && opened.is_whole
        {
            return first.map(|opened| opened.packet(Condition::Clean));
        }
        if protection.strength == Strength::NONE {
            return first.map(Opened::damaged);
        }
        // If the code covers only the payload, an invalid header leaves its position unknown.
        let covered = match (&first, protection.covers_header) {
            (_, true) => 0,
            (Ok(opened), false) => opened.payload_at,
            (Err(_), false) => return first.map(Opened::damaged),
        };
        let mut block = rest.to_vec();
        let Ok(corrected) = interleaved::decode(&mut block[covered..], protection.strength, &[])
        else {
            return first.map(Opened::damaged);
        };
        match Opened::read(ip, protection, &block) {
            Ok(opened) if opened.is_whole => {
                Ok(opened.packet(Condition::Corrected(corrected as u32)))
            }
            // The code has settled on another code word: keep only the header as received.
            _ => first.map(Opened::damaged),
        }
    }
}

/// A packet whose header passes its check.
struct Opened<'a> {
    header: AerotpHeader,
    payload_at: usize,
    payload: &'a [u8],
    is_whole: bool,
}

impl Opened<'_> {
    /// Decodes the bytes after the prelude.
    fn read<'a>(
        ip: &IpHeader,
        protection: Protection,
        bytes: &'a [u8],
    ) -> Result<Opened<'a>, DecodeError> {
        let (header, length, taken) = AerotpHeader::decode(protection, bytes)?;
        expect_length(NAME, bytes, taken + HEC)?;
        let payload_at = taken + HEC;
        let check = u16::from_be_bytes([bytes[taken], bytes[taken + 1]]);
        if header_check(ip, &bytes[..taken]) != check {
            return Err(DecodeError::Checksum { header: NAME });
        }
        let sealed = if length > 0 { length + PAYLOAD_CRC } else { 0 };
        let covers_something = length > 0 || protection.covers_header;
        let redundancy = if covers_something {
            protection.strength.bytes()
        } else {
            0
        };
        if bytes.len() != payload_at + sealed + redundancy {
            return Err(field("payload length", length as u32));
        }
        let (payload, check) = bytes[payload_at..payload_at + sealed].split_at(length);
        let is_whole =
            length == 0 || PAYLOAD_CHECK.checksum(payload).to_be_bytes().as_slice() == check;
        Ok(Opened {
            header,
            payload_at,
            payload,
            is_whole,
        })
    }

    fn packet(self, condition: Condition) -> AerotpPacket {
        AerotpPacket {
            header: self.header,
            payload: Payload::from_slice(self.payload),
            condition,
        }
    }

    /// Drops the payload.
    fn damaged(self) -> AerotpPacket {
        AerotpPacket {
            header: self.header,
            payload: Payload::EMPTY,
            condition: Condition::Damaged(self.payload.len() as u32),
        }
    }
}

fn header_check(ip: &IpHeader, header: &[u8]) -> u16 {
    let mut digest = HEADER_CHECK.digest();
    for address in [ip.source, ip.destination] {
        match address {
            IpAddr::V4(address) => digest.update(&address.octets()),
            IpAddr::V6(address) => digest.update(&address.octets()),
        }
    }
    digest.update(header);
    digest.finalize()
}
