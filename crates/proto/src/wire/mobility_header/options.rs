//! Encoding of mobility options (RFC 6275 section 6.2): type, length, data, each aligned as its standard requires.

use super::{
    Authenticator, BindingLifetime, BindingUpdate, Ipv4AddressAcknowledgement, Ipv4AddressStatus,
    Ipv4HomeAddress, NatDetection, NonceIndices, PacketBuffering, PathReport, Timestamp,
};
use crate::wire::extension::Options;
use crate::wire::prefix::Ipv6Prefix;
use crate::wire::{DecodeError, ipv6_at, u16_at, u32_at};
use core::net::{Ipv4Addr, Ipv6Addr};

/// Types of options (RFC 6275 section 6.2, RFC 3963 section 4.3, RFC 4285 sections 5 and 6, RFC 5096 section 4, RFC 5555
/// sections 3.1 and 3.2, RFC 5568 section 6.4.2).
const PAD1: u8 = 0;
const PADN: u8 = 1;
const BINDING_REFRESH_ADVICE: u8 = 2;
const ALTERNATE_CARE_OF_ADDRESS: u8 = 3;
const NONCE_INDICES: u8 = 4;
const BINDING_AUTHORIZATION_DATA: u8 = 5;
const MOBILE_NETWORK_PREFIX: u8 = 6;
const AUTHENTICATION: u8 = 9;
const REPLAY_PROTECTION: u8 = 10;
const EXPERIMENTAL: u8 = 18;
const IPV4_HOME_ADDRESS: u8 = 29;
const IPV4_ADDRESS_ACKNOWLEDGEMENT: u8 = 30;
const NAT_DETECTION: u8 = 31;
const IPV4_CARE_OF_ADDRESS: u8 = 32;
const IPV6_ADDRESS_OR_PREFIX: u8 = 34;

/// P flag of an IPv4 home address option, after the six bits of the prefix length.
const ASKS_FOR_PREFIX: u8 = 0x02;

/// Codes of an IPv6 Address/Prefix option (RFC 5568 section 6.4.2).
pub(super) const PREVIOUS_CARE_OF_ADDRESS: u8 = 1;
pub(super) const NEW_CARE_OF_ADDRESS: u8 = 2;
/// Subtype of an authentication option between mobile node and home agent (RFC 4285 section 5.1).
const MOBILE_HOME_AGENT: u8 = 1;
/// First byte of the experimental option for buffering; chosen.
const BUFFERING: u8 = 0xBA;
/// First byte of the experimental option with the last received packet; chosen.
const LAST_RECEIVED: u8 = 0xBC;
/// First byte of the experimental option with the path report; chosen.
const PATH_REPORT: u8 = 0xBD;

/// Destination of encoded options: a buffer, or a byte count.
pub(super) trait Sink {
    /// Returns the number of bytes so far, from the start of the Mobility Header.
    fn length(&self) -> usize;
    /// Appends bytes.
    fn put(&mut self, bytes: &[u8]);
}

/// A buffer that may hold other bytes before the header.
pub(super) struct Bytes<'a> {
    pub out: &'a mut Vec<u8>,
    /// Offset of the Mobility Header.
    pub start: usize,
}

impl Sink for Bytes<'_> {
    fn length(&self) -> usize {
        self.out.len() - self.start
    }

    fn put(&mut self, bytes: &[u8]) {
        self.out.extend_from_slice(bytes);
    }
}

/// A byte count.
pub(super) struct Count(pub usize);

impl Sink for Count {
    fn length(&self) -> usize {
        self.0
    }

    fn put(&mut self, bytes: &[u8]) {
        self.0 += bytes.len();
    }
}

/// Decoded options; each message type has some of them.
#[derive(Clone, Debug, Default)]
pub(super) struct MobilityOptions {
    pub refresh_advice: Option<BindingLifetime>,
    pub alternate_care_of_address: Option<Ipv6Addr>,
    pub nonce_indices: Option<NonceIndices>,
    pub mobile_network_prefixes: Vec<Ipv6Prefix>,
    pub ipv4_home_addresses: Vec<Ipv4HomeAddress>,
    pub ipv4_acknowledgements: Vec<Ipv4AddressAcknowledgement>,
    pub nat_detection: Option<NatDetection>,
    pub ipv4_care_of_address: Option<Ipv4Addr>,
    pub timestamp: Option<Timestamp>,
    pub packet_buffering: Option<PacketBuffering>,
    pub last_received: Option<u64>,
    pub path_report: Option<PathReport>,
    pub previous_care_of_address: Option<Ipv6Addr>,
    pub new_care_of_address: Option<Ipv6Addr>,
    pub authenticator: Option<Authenticator>,
}

/// Pads so that the next option starts at `multiple` n + `offset`.
pub(super) fn pad(sink: &mut impl Sink, multiple: usize, offset: usize) {
    match (multiple + offset - sink.length() % multiple) % multiple {
        0 => {}
        1 => sink.put(&[PAD1]),
        length => sink.put(&[&[PADN, length as u8 - 2], &[0; 6][..length - 2]].concat()),
    }
}

pub(super) fn put_refresh_advice(sink: &mut impl Sink, advice: Option<BindingLifetime>) {
    if let Some(advice) = advice {
        pad(sink, 2, 0);
        sink.put(&[BINDING_REFRESH_ADVICE, 2]);
        sink.put(&advice.units.to_be_bytes());
    }
}

pub(super) fn put_alternate_care_of_address(sink: &mut impl Sink, address: Option<Ipv6Addr>) {
    if let Some(address) = address {
        pad(sink, 8, 6);
        sink.put(&[ALTERNATE_CARE_OF_ADDRESS, 16]);
        sink.put(&address.octets());
    }
}

/// Appends an IPv6 Address/Prefix option with an address.
pub(super) fn put_address(sink: &mut impl Sink, code: u8, address: Ipv6Addr) {
    pad(sink, 8, 4);
    sink.put(&[IPV6_ADDRESS_OR_PREFIX, 18, code, 128]);
    sink.put(&address.octets());
}

pub(super) fn put_nonce_indices(sink: &mut impl Sink, indices: Option<NonceIndices>) {
    if let Some(indices) = indices {
        pad(sink, 2, 0);
        sink.put(&[NONCE_INDICES, 4]);
        sink.put(&indices.home.to_be_bytes());
        sink.put(&indices.care_of.to_be_bytes());
    }
}

/// Appends the prefixes behind a mobile router, those of IPv6 first.
pub(super) fn put_prefixes(sink: &mut impl Sink, update: &BindingUpdate) {
    let prefixes = &update.mobile_network_prefixes;
    for prefix in prefixes.iter().take(BindingUpdate::MAXIMUM_PREFIXES) {
        pad(sink, 8, 4);
        sink.put(&[MOBILE_NETWORK_PREFIX, 18, 0, prefix.length()]);
        sink.put(&prefix.address().octets());
    }
    let left = BindingUpdate::MAXIMUM_PREFIXES.saturating_sub(prefixes.len());
    for home in update.ipv4_home_addresses.iter().take(left) {
        pad(sink, 4, 0);
        let flag = if home.asks_for_prefix {
            ASKS_FOR_PREFIX
        } else {
            0
        };
        sink.put(&[IPV4_HOME_ADDRESS, 6, home.prefix_length << 2 | flag, 0]);
        sink.put(&home.address.octets());
    }
}

pub(super) fn put_ipv4_acknowledgements(
    sink: &mut impl Sink,
    answers: &[Ipv4AddressAcknowledgement],
) {
    for answer in answers.iter().take(BindingUpdate::MAXIMUM_PREFIXES) {
        pad(sink, 4, 0);
        let (status, length) = (answer.status.0, answer.prefix_length << 2);
        sink.put(&[IPV4_ADDRESS_ACKNOWLEDGEMENT, 6, status, length]);
        sink.put(&answer.address.octets());
    }
}

pub(super) fn put_nat_detection(sink: &mut impl Sink, detection: Option<NatDetection>) {
    if let Some(detection) = detection {
        pad(sink, 4, 0);
        sink.put(&[NAT_DETECTION, 6]);
        sink.put(&detection.bytes());
    }
}

pub(super) fn put_ipv4_care_of_address(sink: &mut impl Sink, address: Option<Ipv4Addr>) {
    if let Some(address) = address {
        pad(sink, 4, 0);
        sink.put(&[IPV4_CARE_OF_ADDRESS, 6, 0, 0]);
        sink.put(&address.octets());
    }
}

pub(super) fn put_timestamp(sink: &mut impl Sink, timestamp: Option<Timestamp>) {
    if let Some(Timestamp(timestamp)) = timestamp {
        pad(sink, 8, 2);
        sink.put(&[REPLAY_PROTECTION, 8]);
        sink.put(&timestamp.to_be_bytes());
    }
}

pub(super) fn put_packet_buffering(sink: &mut impl Sink, buffering: Option<PacketBuffering>) {
    if let Some(buffering) = buffering {
        sink.put(&[EXPERIMENTAL, 2, BUFFERING, buffering as u8]);
    }
}

pub(super) fn put_last_received(sink: &mut impl Sink, fingerprint: Option<u64>) {
    if let Some(fingerprint) = fingerprint {
        sink.put(&[EXPERIMENTAL, 9, LAST_RECEIVED]);
        sink.put(&fingerprint.to_be_bytes());
    }
}

pub(super) fn put_path_report(sink: &mut impl Sink, report: Option<PathReport>) {
    if let Some(report) = report {
        sink.put(&[EXPERIMENTAL, 11, PATH_REPORT]);
        sink.put(&report.sent.to_be_bytes());
        sink.put(&report.rate.to_be_bytes());
        sink.put(&report.queue_packets.to_be_bytes());
    }
}

/// Appends the authenticator, which ends its message on a multiple of eight bytes.
pub(super) fn put_authenticator(sink: &mut impl Sink, authenticator: Option<Authenticator>) {
    match authenticator {
        None => {}
        Some(Authenticator::BindingAuthorization(data)) => {
            pad(sink, 8, 2);
            sink.put(&[BINDING_AUTHORIZATION_DATA, 12]);
            sink.put(&data);
        }
        Some(Authenticator::MobileHomeAgent {
            security_parameter_index,
            data,
        }) => {
            // RFC 4285 requires 4n + 1; 8n + 5, one of them, needs no padding after the option.
            pad(sink, 8, 5);
            sink.put(&[AUTHENTICATION, 17, MOBILE_HOME_AGENT]);
            sink.put(&security_parameter_index.to_be_bytes());
            sink.put(&data);
        }
    }
}

impl MobilityOptions {
    /// Decodes all options. Unknown ones, and known ones of unknown length, are skipped (RFC 6275 section 6.2.1); the
    /// last of repeated ones counts.
    pub(super) fn decode(bytes: &[u8]) -> Result<MobilityOptions, DecodeError> {
        let mut options = MobilityOptions::default();
        for option in Options(bytes) {
            let (kind, data) = option?;
            options.take(kind, data)?;
        }
        Ok(options)
    }

    fn take(&mut self, kind: u8, data: &[u8]) -> Result<(), DecodeError> {
        match (kind, data.len()) {
            (BINDING_REFRESH_ADVICE, 2) => {
                let units = u16_at(data, 0);
                self.refresh_advice = Some(BindingLifetime { units });
            }
            (ALTERNATE_CARE_OF_ADDRESS, 16) => {
                self.alternate_care_of_address = Some(ipv6_at(data, 0));
            }
            (NONCE_INDICES, 4) => {
                self.nonce_indices = Some(NonceIndices {
                    home: u16_at(data, 0),
                    care_of: u16_at(data, 2),
                });
            }
            (BINDING_AUTHORIZATION_DATA, 12) => {
                self.authenticator = Some(Authenticator::BindingAuthorization(ninety_six(data)));
            }
            (MOBILE_NETWORK_PREFIX, 18) => self.take_prefix(data)?,
            (IPV4_HOME_ADDRESS, 6) => self.take_ipv4_home_address(data)?,
            (IPV4_ADDRESS_ACKNOWLEDGEMENT, 6) => self.take_ipv4_acknowledgement(data)?,
            (NAT_DETECTION, 6) => self.nat_detection = Some(NatDetection::read(data)),
            (IPV4_CARE_OF_ADDRESS, 6) => {
                self.ipv4_care_of_address = Some(Ipv4Addr::from_bits(u32_at(data, 2)));
            }
            (REPLAY_PROTECTION, 8) => {
                let bytes = core::array::from_fn(|index| data[index]);
                self.timestamp = Some(Timestamp(u64::from_be_bytes(bytes)));
            }
            (AUTHENTICATION, 17) if data[0] == MOBILE_HOME_AGENT => {
                self.authenticator = Some(Authenticator::MobileHomeAgent {
                    security_parameter_index: u32_at(data, 1),
                    data: ninety_six(&data[5..]),
                });
            }
            (IPV6_ADDRESS_OR_PREFIX, 18) => match data[0] {
                PREVIOUS_CARE_OF_ADDRESS => self.previous_care_of_address = Some(ipv6_at(data, 2)),
                NEW_CARE_OF_ADDRESS => self.new_care_of_address = Some(ipv6_at(data, 2)),
                _ => {}
            },
            (EXPERIMENTAL, 2) => match data {
                [BUFFERING, 0] => self.packet_buffering = Some(PacketBuffering::Forward),
                [BUFFERING, 1] => self.packet_buffering = Some(PacketBuffering::Buffer),
                [BUFFERING, 2] => self.packet_buffering = Some(PacketBuffering::Bicast),
                _ => {}
            },
            (EXPERIMENTAL, 9) if data[0] == LAST_RECEIVED => {
                let bytes = core::array::from_fn(|index| data[1 + index]);
                self.last_received = Some(u64::from_be_bytes(bytes));
            }
            (EXPERIMENTAL, 11) if data[0] == PATH_REPORT => {
                self.path_report = Some(PathReport {
                    sent: u32_at(data, 1),
                    rate: u32_at(data, 5),
                    queue_packets: u16_at(data, 9),
                });
            }
            _ => {}
        }
        Ok(())
    }

    fn take_prefix(&mut self, data: &[u8]) -> Result<(), DecodeError> {
        const HEADER: &str = "mobile network prefix option";
        self.expect_room(HEADER)?;
        let prefix = Ipv6Prefix::decode(HEADER, ipv6_at(data, 2), data[1])?;
        self.mobile_network_prefixes.push(prefix);
        Ok(())
    }

    /// Takes an IPv4 home address. A receiver answers an invalid one, so it does not invalidate the message.
    fn take_ipv4_home_address(&mut self, data: &[u8]) -> Result<(), DecodeError> {
        self.expect_room("IPv4 home address option")?;
        self.ipv4_home_addresses.push(Ipv4HomeAddress {
            address: Ipv4Addr::from_bits(u32_at(data, 2)),
            prefix_length: data[0] >> 2,
            asks_for_prefix: data[0] & ASKS_FOR_PREFIX != 0,
        });
        Ok(())
    }

    fn take_ipv4_acknowledgement(&mut self, data: &[u8]) -> Result<(), DecodeError> {
        let count = self.ipv4_acknowledgements.len();
        expect_room("IPv4 address acknowledgement option", count)?;
        self.ipv4_acknowledgements.push(Ipv4AddressAcknowledgement {
            status: Ipv4AddressStatus(data[0]),
            prefix_length: data[1] >> 2,
            address: Ipv4Addr::from_bits(u32_at(data, 2)),
        });
        Ok(())
    }

    /// Returns an error if there are as many prefixes as an update may have.
    fn expect_room(&self, header: &'static str) -> Result<(), DecodeError> {
        let count = self.mobile_network_prefixes.len() + self.ipv4_home_addresses.len();
        expect_room(header, count)
    }
}

fn expect_room(header: &'static str, count: usize) -> Result<(), DecodeError> {
    if count >= BindingUpdate::MAXIMUM_PREFIXES {
        return Err(DecodeError::Field {
            header,
            field: "number of prefixes",
            value: BindingUpdate::MAXIMUM_PREFIXES as u32 + 1,
        });
    }
    Ok(())
}

/// Returns the first 96 bits, which the caller has checked to exist.
fn ninety_six(data: &[u8]) -> [u8; 12] {
    core::array::from_fn(|index| data[index])
}
