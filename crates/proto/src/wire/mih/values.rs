//! TLV values: identifiers of MIH functions and of links (IEEE 802.21-2008, annex F).

use super::{HEADER, field};
use crate::wire::{DecodeError, expect_length, u16_at, u32_at};

/// Maximum length of the name of an MIH function or a link, in bytes. Chosen, so that each length fits one byte; the
/// standard's is 253.
pub const LONGEST_NAME: usize = 64;

/// OTHER_L2_ADDR: a link address that is neither IEEE nor cellular.
const OTHER_ADDRESS: u8 = 5;
/// TGT_NET_INFO with a link address.
const TARGET_ADDRESS: u8 = 1;
/// QOS_LIST: no class of service, and so no delays, jitter and loss.
pub(super) const NO_SERVICE_QUALITY: [u8; 6] = [0; 6];
/// REQ_RES_SET: no class of service, no container, and the cause "explicit disconnect".
pub(super) const NOTHING_REQUESTED: [u8; 8] = [0; 8];
/// ASGN_RES_SET: no class of service, and no container.
pub(super) const NOTHING_ASSIGNED: [u8; 7] = [0; 7];

/// Bytes of a message.
pub(super) struct Writer(pub Vec<u8>);

impl Writer {
    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    /// Writes a TLV with a number of one byte.
    pub(super) fn tlv(&mut self, kind: u8, value: &[u8]) {
        self.0.push(kind);
        self.counted(value);
    }

    /// Writes a length, and the bytes that it counts.
    pub(super) fn counted(&mut self, value: &[u8]) {
        self.length(value.len());
        self.bytes(value);
    }

    /// Writes a length (clause 8.4.2), as [`Reader::length`] reads it.
    fn length(&mut self, length: usize) {
        match length.checked_sub(129) {
            None => self.0.push(length as u8),
            Some(_) => {
                let excess = (length - 128).to_be_bytes();
                let zeros = excess.iter().take_while(|&&byte| byte == 0).count();
                self.0.push(0x80 | (excess.len() - zeros) as u8);
                self.bytes(&excess[zeros..]);
            }
        }
    }
}

/// The rest of a value.
#[derive(Clone, Copy)]
pub(super) struct Reader<'a>(pub &'a [u8]);

impl<'a> Reader<'a> {
    pub(super) fn byte(&mut self) -> Result<u8, DecodeError> {
        let one = self.take(1)?;
        Ok(one[0])
    }

    pub(super) fn take(&mut self, length: usize) -> Result<&'a [u8], DecodeError> {
        expect_length(HEADER, self.0, length)?;
        let (taken, rest) = self.0.split_at(length);
        self.0 = rest;
        Ok(taken)
    }

    /// Reads a length (clause 8.4.2): up to 128 in one byte; otherwise the number of bytes that follow, which hold the
    /// excess over 128.
    pub(super) fn length(&mut self) -> Result<usize, DecodeError> {
        let first = self.byte()?;
        if first <= 128 {
            return Ok(usize::from(first));
        }
        let bytes = self.take(usize::from(first & 0x7F))?;
        let longer = bytes.iter().fold(0_usize, |sum, &byte| {
            sum.saturating_mul(256).saturating_add(usize::from(byte))
        });
        Ok(longer.saturating_add(128))
    }

    pub(super) fn u16(&mut self) -> Result<u16, DecodeError> {
        self.take(2).map(|bytes| u16_at(bytes, 0))
    }

    pub(super) fn u32(&mut self) -> Result<u32, DecodeError> {
        self.take(4).map(|bytes| u32_at(bytes, 0))
    }

    /// Reads a list of up to `most` elements.
    pub(super) fn list<T>(
        &mut self,
        most: usize,
        mut element: impl FnMut(&mut Reader<'a>) -> Result<T, DecodeError>,
    ) -> Result<Vec<T>, DecodeError> {
        let count = self.length()?;
        if count > most {
            return Err(field("list length", count as u32));
        }
        (0..count).map(|_| element(self)).collect()
    }

    /// Reads an OCTET_STRING of up to [`LONGEST_NAME`] bytes.
    pub(super) fn name(&mut self) -> Result<Box<[u8]>, DecodeError> {
        let length = self.length()?;
        if length > LONGEST_NAME {
            return Err(field("name length", length as u32));
        }
        Ok(self.take(length)?.into())
    }
}

pub(super) fn cut(name: &[u8]) -> Box<[u8]> {
    name[..name.len().min(LONGEST_NAME)].into()
}

/// Encodes a NETWORK_TYPE: a link type, without subtypes and extension.
pub(super) const fn network_type(link_type: u8) -> [u8; 4] {
    [1, link_type, 0, 0]
}

/// Reads the link type of a NETWORK_TYPE; zero if it has none.
pub(super) fn read_network_type(reader: &mut Reader<'_>) -> Result<u8, DecodeError> {
    let link_type = match reader.byte()? {
        0 => 0,
        _ => reader.byte()?,
    };
    if reader.byte()? != 0 {
        reader.take(8)?;
    }
    if reader.byte()? != 0 {
        let length = reader.length()?;
        reader.take(length)?;
    }
    Ok(link_type)
}

/// Direction in which a value crosses a threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crossing {
    /// The value has become at least the threshold.
    Above,
    /// The value has become less than the threshold.
    Below,
}

/// A threshold of a link's data rate (THRESHOLD).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Threshold {
    /// Data rate in kbit/s.
    pub rate: u16,
    /// Direction.
    pub crossing: Crossing,
}

/// LINK_PARAM_TYPE of the data rate: a generic parameter.
pub(super) const DATA_RATE: [u8; 2] = [0, 0];

impl Threshold {
    pub(super) fn value(self) -> [u8; 3] {
        let [high, low] = self.rate.to_be_bytes();
        [high, low, self.crossing as u8]
    }

    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Threshold, DecodeError> {
        Ok(Threshold {
            rate: reader.u16()?,
            crossing: match reader.byte()? {
                0 => Crossing::Above,
                1 => Crossing::Below,
                other => return Err(field("threshold direction", u32::from(other))),
            },
        })
    }
}

/// Identifier of an MIH function, unique in its network (MIHF_ID).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct MihfId(Box<[u8]>);

impl MihfId {
    /// Creates an identifier, cut to [`LONGEST_NAME`] bytes.
    pub fn new(name: &[u8]) -> MihfId {
        MihfId(cut(name))
    }

    /// Returns the name.
    pub fn name(&self) -> &[u8] {
        &self.0
    }

    pub(super) fn value(&self) -> Vec<u8> {
        [&[self.0.len() as u8], &*self.0].concat()
    }

    pub(super) fn read(reader: &mut Reader<'_>) -> Result<MihfId, DecodeError> {
        Ok(MihfId(reader.name()?))
    }
}

/// Identifier of a link, or of a point of attachment (LINK_ID); each access link has one here.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LinkIdentifier {
    /// LINK_TYPE.
    pub link_type: u8,
    address: Box<[u8]>,
}

impl LinkIdentifier {
    /// LINK_TYPE of a wireless link without an own number.
    pub const OTHER_WIRELESS: u8 = 18;
    /// LINK_TYPE of IEEE 802.11.
    pub const IEEE_802_11: u8 = 19;

    /// Creates an identifier; the address is cut to [`LONGEST_NAME`] bytes.
    pub fn new(link_type: u8, address: &[u8]) -> LinkIdentifier {
        let address = cut(address);
        LinkIdentifier { link_type, address }
    }

    /// Returns the address.
    pub fn address(&self) -> &[u8] {
        &self.address
    }

    /// Encodes a LINK_ADDR.
    pub(super) fn address_value(&self) -> Vec<u8> {
        [&[OTHER_ADDRESS, self.address.len() as u8], &*self.address].concat()
    }

    /// Encodes a LINK_ID.
    pub(super) fn value(&self) -> Vec<u8> {
        [&[self.link_type], &*self.address_value()].concat()
    }

    /// Encodes a LINK_TUPLE_ID without a point of attachment beyond the link.
    pub(super) fn as_tuple(&self) -> Vec<u8> {
        [&*self.value(), &[0]].concat()
    }

    /// Encodes a NET_TYPE_ADDR: a NETWORK_TYPE and the address.
    pub(super) fn as_network_address(&self) -> Vec<u8> {
        [&network_type(self.link_type)[..], &self.address_value()].concat()
    }

    /// Encodes a list of one LINK_POA_LIST, without points of attachment beyond the link.
    pub(super) fn as_candidates(&self) -> Vec<u8> {
        [&[1], &*self.value(), &[0]].concat()
    }

    /// Encodes a list of one RQ_RESULT: the link, no quality, and none of four address configuration methods.
    pub(super) fn as_preferred(&self) -> Vec<u8> {
        [&*self.as_candidates(), &NO_SERVICE_QUALITY, &[0; 4]].concat()
    }

    /// Encodes a TGT_NET_INFO.
    pub(super) fn as_target(&self) -> Vec<u8> {
        [&[TARGET_ADDRESS], &*self.address_value()].concat()
    }

    pub(super) fn read(reader: &mut Reader<'_>) -> Result<LinkIdentifier, DecodeError> {
        let link_type = reader.byte()?;
        LinkIdentifier::read_address(link_type, reader)
    }

    pub(super) fn read_target(
        link_type: u8,
        reader: &mut Reader<'_>,
    ) -> Result<LinkIdentifier, DecodeError> {
        match reader.byte()? {
            TARGET_ADDRESS => LinkIdentifier::read_address(link_type, reader),
            other => Err(field("target network", u32::from(other))),
        }
    }

    /// Reads a NET_TYPE_ADDR.
    pub(super) fn read_network_address(
        reader: &mut Reader<'_>,
    ) -> Result<LinkIdentifier, DecodeError> {
        let link_type = read_network_type(reader)?;
        LinkIdentifier::read_address(link_type, reader)
    }

    /// Reads a LINK_ADDR.
    pub(super) fn read_address(
        link_type: u8,
        reader: &mut Reader<'_>,
    ) -> Result<LinkIdentifier, DecodeError> {
        match reader.byte()? {
            OTHER_ADDRESS => Ok(LinkIdentifier {
                link_type,
                address: reader.name()?,
            }),
            other => Err(field("link address type", u32::from(other))),
        }
    }
}
