//! Encoding of Mobility Header messages.

use super::options::{self, Bytes, Count, MobilityOptions, Sink};
use super::{
    Authenticator, BindingAcknowledgement, BindingError, BindingErrorStatus, BindingLifetime,
    BindingStatus, BindingUpdate, HandoverAcknowledge, HandoverCode, HandoverInitiate,
    MobilityMessage, RoutabilityTest,
};
use crate::packet::IpHeader;
use crate::wire::checksum::Checksum;
use crate::wire::{DecodeError, expect_length, ipv6_at, protocol, u16_at};
use core::net::Ipv6Addr;

const HEADER: &str = "Mobility Header";

/// Flags of a binding update (RFC 6275 section 6.1.7, RFC 5380 section 4.1, RFC 3963 section 4.1, RFC 5555 section
/// 3.1.3).
const ACKNOWLEDGE: u16 = 0x8000;
const HOME_REGISTRATION: u16 = 0x4000;
const LINK_LOCAL_COMPATIBLE: u16 = 0x2000;
const KEY_MANAGEMENT_MOBILITY: u16 = 0x1000;
const ANCHOR_REGISTRATION: u16 = 0x0800;
const MOBILE_ROUTER: u16 = 0x0400;
const FORCING_UDP_ENCAPSULATION: u16 = 0x0100;
/// Flag U of a Handover Initiate (RFC 5568 section 6.2.1).
const BUFFERS: u8 = 0x40;

impl MobilityMessage {
    /// Returns the message's type (RFC 6275 section 6.1, RFC 5568 section 6.2).
    const fn kind(&self) -> u8 {
        match self {
            MobilityMessage::BindingRefreshRequest => 0,
            MobilityMessage::HomeTestInit { .. } => 1,
            MobilityMessage::CareOfTestInit { .. } => 2,
            MobilityMessage::HomeTest(_) => 3,
            MobilityMessage::CareOfTest(_) => 4,
            MobilityMessage::BindingUpdate(_) => 5,
            MobilityMessage::BindingAcknowledgement(_) => 6,
            MobilityMessage::BindingError(_) => 7,
            MobilityMessage::FastBindingUpdate(_) => 8,
            MobilityMessage::FastBindingAcknowledgement(_) => 9,
            MobilityMessage::HandoverInitiate(_) => 14,
            MobilityMessage::HandoverAcknowledge(_) => 15,
        }
    }

    /// Returns the length on the wire in bytes, a multiple of eight.
    pub fn wire_length(&self) -> u32 {
        let mut count = Count(0);
        self.put(&mut count);
        count.0 as u32
    }

    /// Appends the whole header with a checksum of zero.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let start = out.len();
        self.put(&mut Bytes { out, start });
        // The length field counts units of eight bytes after the first eight.
        out[start + 1] = ((out.len() - start) / 8 - 1) as u8;
    }

    /// Returns the message's part of the bytes that an authenticator covers: "MH Data" of RFC 6275 section 6.2.7 and of
    /// RFC 4285 section 5.1, to which agents prepend the addresses. `None` without an authenticator.
    ///
    /// The bytes are encoded from the message's values, so they differ from the original ones of an implementation that
    /// orders or pads options differently, or adds some.
    pub fn authenticated_bytes(&self) -> Option<Vec<u8>> {
        let authenticator = match self {
            MobilityMessage::BindingUpdate(update) => update.authenticator?,
            MobilityMessage::BindingAcknowledgement(answer) => answer.authenticator?,
            _ => return None,
        };
        let mut bytes = Vec::new();
        self.encode(&mut bytes);
        // Both options end with the 12 bytes of the authenticator, and both end the message.
        let (Authenticator::BindingAuthorization(data)
        | Authenticator::MobileHomeAgent { data, .. }) = authenticator;
        bytes.truncate(bytes.len() - data.len());
        Some(bytes)
    }

    fn put(&self, sink: &mut impl Sink) {
        sink.put(&[protocol::NONE, 0, self.kind(), 0, 0, 0]);
        match self {
            MobilityMessage::BindingRefreshRequest => sink.put(&[0; 2]),
            MobilityMessage::HomeTestInit { cookie }
            | MobilityMessage::CareOfTestInit { cookie } => {
                sink.put(&[0; 2]);
                sink.put(cookie);
            }
            MobilityMessage::HomeTest(test) | MobilityMessage::CareOfTest(test) => {
                sink.put(&test.nonce_index.to_be_bytes());
                sink.put(&test.cookie);
                sink.put(&test.keygen_token);
            }
            MobilityMessage::BindingUpdate(update) | MobilityMessage::FastBindingUpdate(update) => {
                update.put(sink)
            }
            MobilityMessage::BindingAcknowledgement(answer)
            | MobilityMessage::FastBindingAcknowledgement(answer) => answer.put(sink),
            MobilityMessage::BindingError(error) => {
                sink.put(&[error.status as u8, 0]);
                let address = error.home_address.unwrap_or(Ipv6Addr::UNSPECIFIED);
                sink.put(&address.octets());
            }
            MobilityMessage::HandoverInitiate(initiate) => {
                let flags = if initiate.buffers { BUFFERS } else { 0 };
                sink.put(&initiate.sequence.to_be_bytes());
                sink.put(&[flags, 0]);
                let previous = initiate.previous_care_of_address;
                options::put_address(sink, options::PREVIOUS_CARE_OF_ADDRESS, previous);
                let new = initiate.new_care_of_address;
                options::put_address(sink, options::NEW_CARE_OF_ADDRESS, new);
            }
            MobilityMessage::HandoverAcknowledge(answer) => {
                sink.put(&answer.sequence.to_be_bytes());
                sink.put(&[0, answer.code.0]);
            }
        }
        options::pad(sink, 8, 0);
    }

    /// Decodes the message that `ip` carries; the checksum covers the addresses of `ip`, which are home addresses if
    /// extension headers have them (RFC 6275 section 6.1.1). `None` for a valid message of another type.
    ///
    /// # Errors
    /// Faults for which RFC 6275 section 9.2 discards a message: too few bytes, a wrong checksum, or a next header; an
    /// invalid prefix or status.
    pub fn decode(ip: &IpHeader, bytes: &[u8]) -> Result<Option<MobilityMessage>, DecodeError> {
        expect_length(HEADER, bytes, 8)?;
        let length = 8 + usize::from(bytes[1]) * 8;
        expect_length(HEADER, bytes, length)?;
        // Nothing may follow the message; no checksum would cover it.
        if bytes.len() != length {
            return Err(wrong("header length", bytes[1]));
        }
        let mut checksum = Checksum::pseudo_header(ip, protocol::MOBILITY, length);
        checksum.add(bytes);
        if checksum.finish() != 0 {
            return Err(DecodeError::Checksum { header: HEADER });
        }
        if bytes[0] != protocol::NONE {
            return Err(wrong("payload protocol", bytes[0]));
        }
        let fixed = match bytes[2] {
            0 => 8,
            1 | 2 => 16,
            3 | 4 | 7 => 24,
            5 | 6 | 8 | 9 => 12,
            14 | 15 => 10,
            _ => return Ok(None),
        };
        expect_length(HEADER, bytes, fixed)?;
        let options = MobilityOptions::decode(&bytes[fixed..])?;
        Ok(Some(MobilityMessage::read(bytes, options)?))
    }

    /// Decodes the fixed part, whose length and type the caller has checked.
    fn read(bytes: &[u8], options: MobilityOptions) -> Result<MobilityMessage, DecodeError> {
        let eight = |at| core::array::from_fn(|index| bytes[at + index]);
        let test = || RoutabilityTest {
            nonce_index: u16_at(bytes, 6),
            cookie: eight(8),
            keygen_token: eight(16),
        };
        Ok(match bytes[2] {
            0 => MobilityMessage::BindingRefreshRequest,
            1 => MobilityMessage::HomeTestInit { cookie: eight(8) },
            2 => MobilityMessage::CareOfTestInit { cookie: eight(8) },
            3 => MobilityMessage::HomeTest(test()),
            4 => MobilityMessage::CareOfTest(test()),
            5 => MobilityMessage::BindingUpdate(BindingUpdate::read(bytes, options)),
            6 => MobilityMessage::BindingAcknowledgement(BindingAcknowledgement::read(
                bytes, options,
            )),
            8 => MobilityMessage::FastBindingUpdate(BindingUpdate::read(bytes, options)),
            9 => MobilityMessage::FastBindingAcknowledgement(BindingAcknowledgement::read(
                bytes, options,
            )),
            14 => MobilityMessage::HandoverInitiate(HandoverInitiate {
                sequence: u16_at(bytes, 6),
                buffers: bytes[8] & BUFFERS != 0,
                previous_care_of_address: options
                    .previous_care_of_address
                    .ok_or(wrong("previous care-of address", 0))?,
                new_care_of_address: options
                    .new_care_of_address
                    .ok_or(wrong("new care-of address", 0))?,
            }),
            15 => MobilityMessage::HandoverAcknowledge(HandoverAcknowledge {
                sequence: u16_at(bytes, 6),
                code: HandoverCode(bytes[9]),
            }),
            _ => MobilityMessage::BindingError(BindingError::read(bytes)?),
        })
    }
}

impl BindingUpdate {
    fn put(&self, sink: &mut impl Sink) {
        let flags = [
            (self.acknowledge, ACKNOWLEDGE),
            (self.home_registration, HOME_REGISTRATION),
            (self.link_local_compatible, LINK_LOCAL_COMPATIBLE),
            (self.key_management_mobility, KEY_MANAGEMENT_MOBILITY),
            (self.anchor_registration, ANCHOR_REGISTRATION),
            (self.mobile_router, MOBILE_ROUTER),
            (self.forces_udp_encapsulation, FORCING_UDP_ENCAPSULATION),
        ];
        let flags = flags.iter().filter(|(is_set, _)| *is_set);
        let flags: u16 = flags.map(|(_, bit)| bit).sum();
        sink.put(&self.sequence.to_be_bytes());
        sink.put(&flags.to_be_bytes());
        sink.put(&self.lifetime.units.to_be_bytes());
        options::put_packet_buffering(sink, self.packet_buffering);
        options::put_last_received(sink, self.last_received);
        options::put_path_report(sink, self.path_report);
        options::put_nonce_indices(sink, self.nonce_indices);
        options::put_alternate_care_of_address(sink, self.alternate_care_of_address);
        options::put_prefixes(sink, self);
        options::put_ipv4_care_of_address(sink, self.ipv4_care_of_address);
        options::put_timestamp(sink, self.timestamp);
        options::put_authenticator(sink, self.authenticator);
    }

    fn read(bytes: &[u8], options: MobilityOptions) -> BindingUpdate {
        let flags = u16_at(bytes, 8);
        BindingUpdate {
            sequence: u16_at(bytes, 6),
            acknowledge: flags & ACKNOWLEDGE != 0,
            home_registration: flags & HOME_REGISTRATION != 0,
            link_local_compatible: flags & LINK_LOCAL_COMPATIBLE != 0,
            key_management_mobility: flags & KEY_MANAGEMENT_MOBILITY != 0,
            anchor_registration: flags & ANCHOR_REGISTRATION != 0,
            mobile_router: flags & MOBILE_ROUTER != 0,
            forces_udp_encapsulation: flags & FORCING_UDP_ENCAPSULATION != 0,
            lifetime: BindingLifetime {
                units: u16_at(bytes, 10),
            },
            alternate_care_of_address: options.alternate_care_of_address,
            nonce_indices: options.nonce_indices,
            mobile_network_prefixes: options.mobile_network_prefixes,
            ipv4_home_addresses: options.ipv4_home_addresses,
            ipv4_care_of_address: options.ipv4_care_of_address,
            packet_buffering: options.packet_buffering,
            last_received: options.last_received,
            path_report: options.path_report,
            timestamp: options.timestamp,
            authenticator: options.authenticator,
        }
    }
}

impl BindingAcknowledgement {
    /// Flags K and R.
    const KEY_MANAGEMENT_MOBILITY: u8 = 0x80;
    const MOBILE_ROUTER: u8 = 0x40;

    fn put(&self, sink: &mut impl Sink) {
        let mut flags = 0;
        if self.key_management_mobility {
            flags |= Self::KEY_MANAGEMENT_MOBILITY;
        }
        if self.mobile_router {
            flags |= Self::MOBILE_ROUTER;
        }
        sink.put(&[self.status.0, flags]);
        sink.put(&self.sequence.to_be_bytes());
        sink.put(&self.lifetime.units.to_be_bytes());
        options::put_packet_buffering(sink, self.packet_buffering);
        options::put_refresh_advice(sink, self.refresh_advice);
        options::put_ipv4_acknowledgements(sink, &self.ipv4_acknowledgements);
        options::put_nat_detection(sink, self.nat_detection);
        options::put_timestamp(sink, self.timestamp);
        options::put_authenticator(sink, self.authenticator);
    }

    fn read(bytes: &[u8], options: MobilityOptions) -> BindingAcknowledgement {
        BindingAcknowledgement {
            status: BindingStatus(bytes[6]),
            key_management_mobility: bytes[7] & Self::KEY_MANAGEMENT_MOBILITY != 0,
            mobile_router: bytes[7] & Self::MOBILE_ROUTER != 0,
            sequence: u16_at(bytes, 8),
            lifetime: BindingLifetime {
                units: u16_at(bytes, 10),
            },
            refresh_advice: options.refresh_advice,
            packet_buffering: options.packet_buffering,
            ipv4_acknowledgements: options.ipv4_acknowledgements,
            nat_detection: options.nat_detection,
            timestamp: options.timestamp,
            authenticator: options.authenticator,
        }
    }
}

impl BindingError {
    fn read(bytes: &[u8]) -> Result<BindingError, DecodeError> {
        let status = match bytes[6] {
            1 => BindingErrorStatus::UnknownBinding,
            2 => BindingErrorStatus::UnrecognizedType,
            status => return Err(wrong("status", status)),
        };
        let address = ipv6_at(bytes, 8);
        Ok(BindingError {
            status,
            home_address: (!address.is_unspecified()).then_some(address),
        })
    }
}

fn wrong(field: &'static str, value: u8) -> DecodeError {
    DecodeError::Field {
        header: HEADER,
        field,
        value: u32::from(value),
    }
}
