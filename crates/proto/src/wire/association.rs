//! Association Response of IEEE 802.11 (IEEE 802.11-2007 section 7.2.3.5), with the capacity of the access point's queue
//! towards the station as a vendor-specific element (study S, table 2: "by means of a new header field").
//!
//! The element's layout is ours: the study gives none. Its organization identifier is a locally administered one.

use super::neighbor_discovery::LinkLayerAddress;
use super::{DecodeError, expect_length};

const HEADER: &str = "Association Response";
/// Frame control: version 0, a management frame of subtype 1, without flags.
const FRAME_CONTROL: [u8; 2] = [0x10, 0];
/// Header: frame control, duration, three addresses, sequence control.
const HEADER_LENGTH: usize = 24;
/// Fixed fields: capabilities, status, association identifier.
const FIXED_LENGTH: usize = 6;
/// Capabilities: an access point.
const INFRASTRUCTURE: u16 = 1;
/// Supported rates of 802.11b: 1, 2, 5.5 and 11 Mbit/s, in units of 500 kbit/s, all basic.
const RATES: [u8; 6] = [1, 4, 0x82, 0x84, 0x8B, 0x96];
/// Number of a vendor-specific element.
const VENDOR_SPECIFIC: u8 = 221;
/// Our organization identifier and type of the element with the queue's capacity.
const QUEUE: [u8; 4] = [0x02, 0x42, 0x54, 1];

/// An access point's answer to a station that associates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AssociationResponse {
    /// The station.
    pub station: LinkLayerAddress,
    /// The access point, whose address is that of its cell.
    pub access_point: LinkLayerAddress,
    /// Status code; zero for success.
    pub status: u16,
    /// Association identifier, 14 bits.
    pub association: u16,
    /// Capacity of the queue towards the station in full packets, if the access point says so.
    pub queue_packets: Option<u16>,
}

impl AssociationResponse {
    /// Encodes the frame, without its check sequence.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = FRAME_CONTROL.to_vec();
        out.extend([0; 2]);
        for address in [self.station, self.access_point, self.access_point] {
            out.extend(address.0);
        }
        out.extend([0; 2]);
        let association = self.association & 0x3FFF | 0xC000;
        for field in [INFRASTRUCTURE, self.status, association] {
            out.extend(field.to_le_bytes());
        }
        out.extend(RATES);
        if let Some(packets) = self.queue_packets {
            out.extend([VENDOR_SPECIFIC, QUEUE.len() as u8 + 2]);
            out.extend(QUEUE);
            out.extend(packets.to_be_bytes());
        }
        out
    }

    /// Decodes a frame without its check sequence. Other elements are skipped.
    ///
    /// # Errors
    /// Too few bytes, another frame, or an element that is too short.
    pub fn decode(bytes: &[u8]) -> Result<AssociationResponse, DecodeError> {
        expect_length(HEADER, bytes, HEADER_LENGTH + FIXED_LENGTH)?;
        if bytes[0] != FRAME_CONTROL[0] {
            return Err(DecodeError::Field {
                header: HEADER,
                field: "frame control",
                value: u32::from(bytes[0]),
            });
        }
        let address = |at: usize| LinkLayerAddress(core::array::from_fn(|byte| bytes[at + byte]));
        let field = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
        Ok(AssociationResponse {
            station: address(4),
            access_point: address(10),
            status: field(HEADER_LENGTH + 2),
            association: field(HEADER_LENGTH + 4) & 0x3FFF,
            queue_packets: queue_in(&bytes[HEADER_LENGTH + FIXED_LENGTH..])?,
        })
    }
}

/// Returns the queue's capacity from the elements of a frame.
fn queue_in(mut elements: &[u8]) -> Result<Option<u16>, DecodeError> {
    while !elements.is_empty() {
        expect_length(HEADER, elements, 2)?;
        let (number, length) = (elements[0], usize::from(elements[1]));
        expect_length(HEADER, elements, 2 + length)?;
        let value = &elements[2..2 + length];
        if number == VENDOR_SPECIFIC && value.starts_with(&QUEUE) {
            expect_length(HEADER, value, QUEUE.len() + 2)?;
            return Ok(Some(u16::from_be_bytes([value[4], value[5]])));
        }
        elements = &elements[2 + length..];
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn response() -> AssociationResponse {
        AssociationResponse {
            station: LinkLayerAddress([2, 0, 0, 0, 0, 1]),
            access_point: LinkLayerAddress([2, 0, 0, 0, 0, 2]),
            status: 0,
            association: 1,
            queue_packets: Some(35),
        }
    }

    /// Laid out by hand: frame control, duration, addresses, sequence control; capabilities, status and association
    /// identifier, the low byte first; the rates; 35 packets.
    #[test]
    fn a_frame_as_the_standard_lays_it_out() {
        let expected = [
            &[
                0x10, 0, 0, 0, 2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 2, 0, 0,
            ][..],
            &[1, 0, 0, 0, 1, 0xC0],
            &[1, 4, 0x82, 0x84, 0x8B, 0x96],
            &[221, 6, 2, 0x42, 0x54, 1, 0, 35],
        ]
        .concat();
        assert_eq!(response().encode(), expected);
        assert_eq!(AssociationResponse::decode(&expected), Ok(response()));
    }

    #[test]
    fn an_access_point_may_keep_its_capacity_to_itself() {
        let silent = AssociationResponse {
            queue_packets: None,
            ..response()
        };
        // With another vendor's element.
        let bytes = [silent.encode(), vec![221, 3, 0, 0x50, 0xF2]].concat();
        assert_eq!(AssociationResponse::decode(&bytes), Ok(silent));
        // Cut within the element.
        let whole = response().encode();
        for length in 0..whole.len() {
            let read = AssociationResponse::decode(&whole[..length]);
            // Complete without the elements, and after each.
            assert_eq!(read.is_ok(), [30, 36].contains(&length), "{length}");
        }
    }

    proptest! {
        #[test]
        fn anything_is_survived(junk in prop::collection::vec(any::<u8>(), 0..80)) {
            let mut frame = junk;
            if let Some(first) = frame.first_mut() {
                *first = FRAME_CONTROL[0];
            }
            if let Ok(read) = AssociationResponse::decode(&frame) {
                prop_assert_eq!(AssociationResponse::decode(&read.encode()), Ok(read));
            }
        }
    }
}
