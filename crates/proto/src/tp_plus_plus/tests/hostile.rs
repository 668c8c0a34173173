//! Packets that no peer would send: no panic, and bounded memory.

use super::pair::{address, label};
use super::*;
use crate::wire::tp_plus_plus::{Acknowledgment, Repair, Tpdu, WeightedSum};
use proptest::prelude::*;

fn chunks() -> impl Strategy<Value = Chunk> {
    let labels = (0u64..10_000_000, 0u16..3000, any::<[bool; 3]>());
    (labels, any::<[u32; 2]>(), 0u32..600).prop_map(|((position, at, ends), external, length)| {
        Chunk {
            position: position + u64::from(at),
            ends_connection: ends[0],
            tpdu_position: at,
            ends_tpdu: ends[1],
            external: external[0],
            external_position: external[1],
            ends_external: ends[2],
            payload: Payload::Pattern {
                stream: 7,
                offset: position,
                length,
            },
        }
    })
}

/// Data with a right check more often than not, so that it is taken.
fn data() -> impl Strategy<Value = Content> {
    let number = prop_oneof![0u32..20, 8180u32..8200, any::<u32>()];
    let place = prop::option::of(0u8..254);
    let chunks = prop::collection::vec(chunks(), 1..3);
    (number, place, chunks, any::<bool>()).prop_map(|(number, place, mut chunks, is_right)| {
        let mut check = WeightedSum::default();
        if is_right {
            chunks.truncate(1);
            chunks[0].tpdu_position = 0;
            chunks[0].ends_tpdu = true;
            chunks[0].add_to(&mut check);
            let length = chunks[0].payload.length();
            let whole = (chunks[0].position, length, chunks[0].ends_connection);
            Tpdu::add_labels(&mut check, label(), number, whole);
        }
        Content::Data(Tpdu {
            number,
            place,
            check,
            chunks,
        })
    })
}

fn contents() -> impl Strategy<Value = Content> {
    let bytes = || prop::collection::vec(any::<u8>(), 0..40);
    prop_oneof![
        4 => data(),
        1 => (0u32..40, 1u8..10, 1u8..10, bytes()).prop_map(|(first, sources, repairs, symbol)| {
            let index = repairs - 1;
            Content::Repair(Repair { first, sources, repairs, index, symbol: symbol.into() })
        }),
        1 => (0u32..40, bytes()).prop_map(|(next, bitmap)| {
            Content::Acknowledgment(Acknowledgment { next, bitmap: bitmap.into() })
        }),
        1 => any::<u64>().prop_map(Content::Limit),
        1 => Just(Content::Request),
    ]
}

proptest! {
    #[test]
    fn no_packets_make_it_panic_or_store_without_bound(
        mode in prop_oneof![Just(Mode::Reliable), Just(Mode::QuasiReliable)],
        contents in prop::collection::vec((contents(), 0u64..400), 0..60),
    ) {
        let settings = Configuration {
            mode,
            block: BlockSize::new(8, 2).ok(),
            receive_buffer: 20_000,
            ..configuration()
        };
        let addresses = (address(2), address(1));
        let mut b = Connection::accept(settings, label().reversed(), addresses, 1500);
        b.write(&Payload::Pattern { stream: 1, offset: 0, length: 30_000 }, false);
        let mut now = Instant::ZERO;
        for (content, wait) in contents {
            let packet = TpPlusPlusPacket { label: label(), content };
            b.handle_packet(now, (address(1), address(2)), packet);
            while b.poll_event().is_some() {}
            while let Some(sent) = b.poll_transmit(now) {
                prop_assert!(20 + sent.packet.wire_length() <= 1500);
            }
            now += Duration::from_millis(wait);
            while b.poll_timeout().is_some_and(|at| at <= now) {
                b.handle_timeout(now);
                while b.poll_transmit(now).is_some() {}
            }
        }
        let unread: u64 = core::iter::from_fn(|| b.read()).map(|chunk| u64::from(chunk.payload.length())).sum();
        prop_assert!(unread <= 20_000, "{unread}");
        prop_assert!(b.in_flight() <= 30_000);
    }
}
