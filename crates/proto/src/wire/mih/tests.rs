use super::*;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

fn bytes(hexadecimal: &str) -> Vec<u8> {
    let digits: Vec<u8> = hexadecimal
        .chars()
        .filter_map(|one| one.to_digit(16))
        .map(|digit| digit as u8)
        .collect();
    digits.chunks(2).map(|two| two[0] << 4 | two[1]).collect()
}

fn request(step: Step, mobile: Option<MihfId>) -> Mih {
    Mih {
        transaction: 0x123,
        source: MihfId::new(b"mn"),
        destination: MihfId::new(b"gw"),
        mobile,
        step,
        current: None,
        content: Content::Request(LinkIdentifier::new(19, b"wifi")),
    }
}

/// Checks a message laid out by hand: 4 bits of version, 4 of flags, 7 of fragment number and 1 reserved; 4 bits of
/// service (3, commands), 2 of operation (1, request), 10 of action (10, MN_HO_Complete); 4 reserved bits and 12 of
/// transaction; the length.
#[test]
fn a_message_as_the_standard_lays_it_out() {
    let complete = bytes(
        "10 00 34 0a 01 23 00 16  01 03 02 6d 6e  02 03 02 67 77  0d 07 13 05 04 77 69 66 69  28 01 00",
    );
    let mut expected = complete.clone();
    expected[7] = (complete.len() - 8) as u8;
    let message = request(Step::Complete, None);
    assert_eq!(message.encode(), expected);
    assert_eq!(Mih::decode(&expected), Ok(message));
}

/// Checks the action numbers of the standard's command service.
#[test]
fn each_message_has_its_number() {
    let mobile = Some(MihfId::new(b"mn"));
    for (step, between, action) in [
        (Step::Query, false, 5),
        (Step::Query, true, 6),
        (Step::Commit, false, 7),
        (Step::Commit, true, 9),
        (Step::Complete, false, 10),
        (Step::Complete, true, 11),
    ] {
        let request = request(step, mobile.clone().filter(|_| between));
        assert_eq!(u16_at(&request.encode(), 2), 0x3400 | action);
        let response = request.response(Status::Rejected);
        assert_eq!(u16_at(&response.encode(), 2), 0x3800 | action);
        assert_eq!(response.source, request.destination);
    }
}

#[test]
fn what_is_not_spoken_is_refused() {
    let right = request(Step::Commit, None).encode();
    let changed = |at: usize, to: u8| {
        let mut bytes = right.clone();
        bytes[at] = to;
        Mih::decode(&bytes).expect_err("wrong").to_string()
    };
    assert_eq!(changed(0, 0x20), "MIH: field version holds 2");
    // One requests an acknowledgement; the other is a fragment.
    assert_eq!(changed(0, 0x18), "MIH: field flags holds 2048");
    assert_eq!(changed(1, 0x02), "MIH: field flags holds 2");
    assert_eq!(changed(2, 0x24), "MIH: field service holds 2");
    assert_eq!(changed(2, 0x3C), "MIH: field operation holds 3");
    assert_eq!(changed(3, 8), "MIH: field action holds 8");
    // Without its source TLV.
    assert_eq!(changed(8, 100), "MIH: field missing TLV holds 1");
    assert!(changed(7, 200).contains("are needed"));
}

/// Checks lengths by clause 8.4.2: up to 128 in one byte; a longer one follows the number of its bytes, less 128.
#[test]
fn long_tlvs_are_skipped() {
    let message = request(Step::Complete, None);
    for (length, coded) in [
        (128, vec![128]),
        (129, vec![129, 1]),
        (200, vec![129, 72]),
        (1000, vec![130, 3, 104]),
    ] {
        let mut whole = message.encode();
        whole.push(100);
        whole.extend(coded);
        whole.resize(whole.len() + length, 7);
        let payload = (whole.len() - 8) as u16;
        whole[6..8].copy_from_slice(&payload.to_be_bytes());
        assert_eq!(Mih::decode(&whole), Ok(message.clone()), "{length}");
    }
}

fn names() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 0..=LONGEST_NAME)
}

fn links() -> impl Strategy<Value = LinkIdentifier> {
    (any::<u8>(), names()).prop_map(|(kind, name)| LinkIdentifier::new(kind, &name))
}

fn messages() -> impl Strategy<Value = Mih> {
    let steps = prop::sample::select(vec![Step::Query, Step::Commit, Step::Complete]);
    let ends = (names(), names(), prop::option::of(names()));
    let statuses = prop::option::of(prop::sample::select(Status::ALL.to_vec()));
    let parts = (ends, steps, links(), prop::option::of(links()), statuses);
    (0..0x1000_u16, parts).prop_map(|(transaction, parts)| {
        let ((source, destination, mobile), step, link, current, status) = parts;
        let mut message = Mih {
            transaction,
            source: MihfId::new(&source),
            destination: MihfId::new(&destination),
            mobile: mobile.map(|name| MihfId::new(&name)),
            step,
            current: None,
            content: Content::Request(link),
        };
        if message.has_current() {
            message.current = current;
        }
        match status {
            Some(status) => message.response(status),
            None => message,
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig {
        rng_seed: RngSeed::Fixed(1),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn what_is_written_is_read(message in messages()) {
        prop_assert_eq!(Mih::decode(&message.encode()), Ok(message));
    }

    /// Checks messages truncated or changed in one place: each is refused, or encodes as it was decoded.
    #[test]
    fn nothing_panics_and_what_is_read_is_written_again(
        message in messages(),
        (at, to) in (any::<prop::sample::Index>(), any::<u8>()),
        end in any::<prop::sample::Index>(),
        junk in prop::collection::vec(any::<u8>(), 0..80),
    ) {
        let mut changed = message.encode();
        let at = at.index(changed.len());
        changed[at] = to;
        for bytes in [&changed[..], &changed[..end.index(changed.len())], &junk] {
            if let Ok(read) = Mih::decode(bytes) {
                prop_assert_eq!(Mih::decode(&read.encode()), Ok(read));
            }
        }
    }
}
