use super::*;
use proptest::prelude::*;

fn label() -> ConnectionLabel {
    ConnectionLabel {
        source_port: 0x0102,
        destination_port: 0x0304,
        identifier: 0x0506_0708,
    }
}

fn whole() -> Chunk {
    Chunk {
        position: 0x0A00,
        ends_connection: false,
        tpdu_position: 0,
        ends_tpdu: true,
        external: 0x11,
        external_position: 0x22,
        ends_external: true,
        payload: Payload::Bytes((*b"abcdefghij").into()),
    }
}

/// The layout, written out by hand from the table at the module's head.
#[test]
fn a_packet_with_data_has_its_layout() {
    let packet = TpPlusPlusPacket {
        label: label(),
        content: Content::Data(Tpdu {
            number: 9,
            place: Some(3),
            check: WeightedSum::of(b"check"),
            chunks: vec![whole()],
        }),
    };
    let mut bytes = Vec::new();
    packet.encode(&mut bytes);
    let mut expected = vec![1, 2, 3, 4, 5, 6, 7, 8, 0];
    expected.extend_from_slice(&WeightedSum::of(b"check").to_bytes());
    expected.extend_from_slice(&[0, 0, 0, 9, 4]);
    expected.extend_from_slice(&[3, 0, 0, 0, 0, 0, 0, 0x0A, 0, 0, 0]);
    expected.extend_from_slice(&[0, 0, 0, 0x11, 0, 0, 0, 0x22, 0, 10]);
    expected.extend_from_slice(b"abcdefghij");
    assert_eq!(bytes, expected);
    assert_eq!(packet.wire_length() as usize, bytes.len());
    assert_eq!(packet.wire_length(), ONE_CHUNK + 10);
    assert_eq!(TpPlusPlusPacket::decode(&bytes), Ok(packet));
}

/// The check is invariant under cuts of a chunk, as the labels are meant to be.
#[test]
fn a_cut_chunk_has_the_same_check() {
    let mut sum = WeightedSum::default();
    whole().add_to(&mut sum);
    for at in 1..10 {
        let mut first = whole();
        let rest = first.cut(at);
        let mut parts = WeightedSum::default();
        rest.add_to(&mut parts);
        first.add_to(&mut parts);
        assert_eq!(parts, sum, "{at}");
        assert_eq!((first.base(), rest.base()), (Some(0x0A00), Some(0x0A00)));
    }
}

#[test]
fn a_bitmap_names_its_tpdus() {
    let acknowledgment = Acknowledgment {
        next: 100,
        bitmap: [0b1000_0001, 0b0100_0000].into(),
    };
    assert_eq!(acknowledgment.beyond().collect::<Vec<_>>(), [101, 108, 110]);
}

fn contents() -> impl Strategy<Value = Content> {
    prop_oneof![
        (any::<u32>(), prop::collection::vec(any::<u8>(), 0..40)).prop_map(|(next, bitmap)| {
            let bitmap = bitmap.into();
            Content::Acknowledgment(Acknowledgment { next, bitmap })
        }),
        any::<u64>().prop_map(Content::Limit),
        Just(Content::Request),
        prop::collection::vec(any::<u8>(), 0..40).prop_map(|symbol| {
            Content::Repair(Repair {
                first: 7,
                sources: 200,
                repairs: 55,
                index: 54,
                symbol: symbol.into(),
            })
        }),
    ]
}

proptest! {
    /// Control messages return as they were sent, and not at all with flipped bits in up to two words.
    #[test]
    fn control_messages_return_or_are_refused(
        content in contents(),
        flips in prop::collection::btree_set(0usize..2000, 1..3),
    ) {
        let packet = TpPlusPlusPacket { label: label(), content };
        let mut bytes = Vec::new();
        packet.encode(&mut bytes);
        prop_assert_eq!(packet.wire_length() as usize, bytes.len());
        prop_assert_eq!(TpPlusPlusPacket::decode(&bytes), Ok(packet));
        let flips: Vec<usize> = flips.iter().map(|flip| flip % (8 * bytes.len())).collect();
        let is_damaged = flips.len() == 1 || flips[0] != flips[1];
        for flip in flips {
            bytes[flip / 8] ^= 0x80 >> (flip % 8);
        }
        // A damaged kind may turn it into data, which its TPDU's check refuses.
        let read = TpPlusPlusPacket::decode(&bytes);
        let is_data = read.as_ref().is_ok_and(|read| matches!(read.content, Content::Data(_)));
        prop_assert!(read.is_err() || is_data || !is_damaged);
    }

    /// Whatever is decoded has the same bytes again, up to the check of data.
    #[test]
    fn any_bytes_are_decoded_or_refused(kind in 0u8..6, mut bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        if let Some(place) = bytes.get_mut(8) {
            *place = kind;
        }
        if let Ok(packet) = TpPlusPlusPacket::decode(&bytes) {
            let mut again = Vec::new();
            packet.encode(&mut again);
            prop_assert_eq!(again, bytes);
        }
    }
}
