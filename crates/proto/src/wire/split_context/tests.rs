use super::*;
use crate::packet::Payload;
use crate::time::Duration;
use crate::wire::sequence::SequenceNumber;
use crate::wire::tcp::Negotiated;
use core::net::{Ipv4Addr, Ipv6Addr};
use proptest::prelude::*;

/// A half that has sent and received nothing but SYNs.
fn quiet() -> TcpContext {
    TcpContext {
        state: state::ESTABLISHED,
        close_requested: false,
        syn_due: false,
        ack_due: false,
        probe_due: false,
        initial_sequence: SequenceNumber(0xFFFF_FFF0),
        peer_initial_sequence: SequenceNumber(7),
        negotiated: Negotiated {
            timestamps: true,
            sack: true,
            window_shifts: Some((7, 14)),
            snack_unit: None,
            peer_segment_size: 1460,
        },
        unacknowledged: 1,
        next: 1,
        peer_window: 65_535,
        largest_peer_window: 65_535,
        window_update: (1, 1),
        written: 0,
        unacknowledged_bytes: Vec::new(),
        outstanding: Vec::new(),
        expected: 1,
        window_end: 65_536,
        receive_buffer: (1 << 20, u32::MAX),
        unread: Vec::new(),
        beyond_gap: Vec::new(),
        peer_fin: None,
        unanswered: 0,
        last_acknowledged: 1,
        largest_received: 0,
        congestion_window: 14_600,
        slow_start_threshold: u32::MAX,
        round_trip: RoundTrip {
            smoothed: Some(Duration::from_millis(500)),
            variation: Duration::from_millis(250),
            timeout: Duration::from_millis(1500),
            backoff: 0,
        },
        syn_transmissions: (1, Duration::from_secs(2)),
        idle: None,
        timestamp_clock: 12_345,
        recent_timestamp: (54_321, Duration::from_millis(20)),
        persist_backoff: 0,
        timers: Timers::default(),
    }
}

fn context(towards_mobile: TcpContext) -> SplitContext {
    SplitContext {
        mobile: "[2001:db8::7]:5001".parse().unwrap(),
        correspondent: "[2001:db8::1]:49152".parse().unwrap(),
        flow: Some(3),
        towards_mobile,
        towards_correspondent: quiet(),
    }
}

fn encoded(half: TcpContext) -> Vec<u8> {
    Message::Context(Box::new(context(half))).encode()
}

/// A message whose header has the length of this body.
fn with_body(kind: u8, body: &[u8]) -> Vec<u8> {
    let length = (body.len() as u32).to_be_bytes();
    [&[1, kind, 0, 0], &length[..], body].concat()
}

fn why(half: TcpContext) -> DecodeError {
    Message::decode(&encoded(half)).expect_err("it contradicts itself")
}

/// Checks a request laid out by hand: version 1, kind 1, two zeros, a length of five; then IP's version and the
/// address.
#[test]
fn a_request_is_thirteen_bytes_of_ipv4_and_the_next_message_follows_at_once() {
    let request = Message::Request(Ipv4Addr::new(192, 0, 2, 9).into());
    let bytes = [1, 1, 0, 0, 0, 0, 0, 5, 4, 192, 0, 2, 9];
    assert_eq!(request.encode(), bytes);
    let two = [bytes, bytes].concat();
    assert_eq!(Message::decode(&two), Ok(Some((request, 13))));
    let request = Message::Request(Ipv6Addr::LOCALHOST.into());
    assert_eq!(request.encode().len(), 8 + 17);
}

/// Checks that a context has its bytes' length although a simulation stores no bytes of a pattern.
#[test]
fn a_context_grows_by_its_bytes_whether_they_are_kept_or_not() {
    let with = |payload: Payload| {
        let mut half = quiet();
        half.expected = 1001;
        half.window_end = 1001;
        half.unread = vec![payload];
        encoded(half)
    };
    let pattern = Payload::Pattern {
        stream: 3,
        offset: 20,
        length: 1000,
    };
    let mut bytes = Vec::new();
    pattern.copy_into(&mut bytes);
    let (empty, kept) = (encoded(quiet()), with(Payload::Bytes(bytes.clone().into())));
    assert_eq!(kept.len() - empty.len(), 5 + 1000);
    let told = with(pattern);
    assert_eq!(told.len() - kept.len(), 12, "stream and offset");
    for written in [&kept, &told] {
        assert!(written.windows(1000).any(|part| part == bytes));
    }
}

#[test]
fn what_is_incomplete_is_waited_for_and_what_is_wrong_is_refused_at_once() {
    let whole = encoded(quiet());
    for end in 0..whole.len() {
        assert_eq!(Message::decode(&whole[..end]), Ok(None), "{end}");
    }
    let refused = |bytes: &[u8]| Message::decode(bytes).expect_err("wrong").to_string();
    assert_eq!(refused(&[2]), "split context: field version holds 2");
    assert_eq!(refused(&[0, 1, 0]), "split context: field version holds 0");
    assert_eq!(refused(&[1, 3]), "split context: field kind holds 3");
    let (mut bytes, huge) = (whole.clone(), (LONGEST_BODY + 1).to_be_bytes());
    bytes[4..8].copy_from_slice(&huge);
    let text = "split context: field length holds 1073741825";
    assert_eq!(refused(&bytes), text);
    bytes.copy_from_slice(&whole);
    bytes[3] = 1;
    assert_eq!(refused(&bytes), "split context: field zeros holds 1");
}

/// Checks that truncated bodies are refused even with a matching length; so are bytes after the end.
#[test]
fn bodies_that_are_cut_or_too_long_are_refused() {
    let whole = encoded(quiet());
    let body = &whole[8..];
    for end in 0..body.len() {
        let cut = with_body(2, &body[..end]);
        let refused = Message::decode(&cut).expect_err("cut");
        assert!(
            matches!(refused, DecodeError::Truncated { .. }),
            "{end}: {refused}"
        );
    }
    let more = with_body(2, &[body, &[0]].concat());
    let text = format!("split context: field length holds {}", body.len() + 1);
    assert_eq!(Message::decode(&more).unwrap_err().to_string(), text);
}

/// Checks that a list with a count of four billion takes no memory before its elements arrive.
#[test]
fn counts_are_believed_only_as_far_as_there_are_bytes() {
    let whole = encoded(quiet());
    // The second half ends with its four lists, all of them empty.
    for from_end in [16, 12, 8, 4] {
        let mut bytes = whole.clone();
        let at = bytes.len() - from_end;
        assert_eq!(bytes[at..at + 4], [0; 4]);
        bytes[at..at + 4].fill(0xFF);
        assert!(Message::decode(&bytes).is_err(), "{from_end}");
    }
}

#[test]
fn numbers_that_contradict_each_other_are_refused_by_name() {
    let change = |change: fn(&mut TcpContext)| {
        let mut half = quiet();
        change(&mut half);
        why(half).to_string()
    };
    for (said, expected) in [
        (change(|half| half.state = 2), "state holds 2"),
        (change(|half| half.state = 12), "state holds 12"),
        (change(|half| half.next = 9), "SND.NXT holds 9"),
        (change(|half| half.unacknowledged = 2), "SND.NXT holds 1"),
        (change(|half| half.written = 5), "bytes to send holds 0"),
        (
            change(|half| half.unacknowledged = 1 << 62),
            "position holds 4294967295",
        ),
        (
            change(|half| half.state = state::FIN_WAIT_1),
            "SND.NXT holds 1",
        ),
        (
            change(|half| half.outstanding = vec![segment(1)]),
            "bytes outstanding holds 1",
        ),
        (
            change(|half| half.peer_window = u32::MAX),
            "SND.WND holds 4294967295",
        ),
        (
            change(|half| half.negotiated.window_shifts = Some((15, 0))),
            "window shift holds 15",
        ),
        (
            change(|half| half.congestion_window = 0),
            "congestion window holds 0",
        ),
        (
            change(|half| half.window_end = 0),
            "end of the window holds 0",
        ),
        (
            change(|half| half.unread = vec![Payload::Bytes([0; 4].into())]),
            "bytes to read holds 4",
        ),
        (
            change(|half| half.beyond_gap = vec![(1, Payload::Bytes([0; 4].into()))]),
            "start beyond a gap holds 1",
        ),
        (
            change(|half| half.beyond_gap = vec![(65_535, Payload::Bytes([0; 4].into()))]),
            "end beyond a gap holds 65539",
        ),
        (
            change(|half| half.last_acknowledged = 2),
            "last acknowledgment holds 2",
        ),
    ] {
        assert_eq!(said, format!("split context: field {expected}"));
    }
    let mut mixed = context(quiet());
    mixed.mobile = "192.0.2.1:80".parse().unwrap();
    let bytes = Message::Context(Box::new(mixed)).encode();
    assert!(Message::decode(&bytes).is_err());
}

fn segment(length: u32) -> OutstandingSegment {
    OutstandingSegment {
        length,
        age: Duration::from_millis(3),
        sacked: false,
        lost: true,
        resent: false,
        retransmitted: true,
    }
}

fn run() -> impl Strategy<Value = Payload> {
    prop_oneof![
        prop::collection::vec(any::<u8>(), 1..50).prop_map(|bytes| Payload::Bytes(bytes.into())),
        (any::<u32>(), 0_u64..1 << 40, 1_u32..300).prop_map(|(stream, offset, length)| {
            Payload::Pattern {
                stream,
                offset,
                length,
            }
        }),
    ]
}

fn optional() -> impl Strategy<Value = Option<Duration>> {
    let some = (0_u64..1 << 60).prop_map(|time| Some(Duration::from_nanos(time)));
    prop_oneof![Just(None), some]
}

/// An established half with arbitrary buffers.
fn any_half() -> impl Strategy<Value = TcpContext> {
    let buffers = (
        prop::collection::vec(run(), 0..5),
        prop::collection::vec(run(), 0..5),
        prop::collection::vec((1_u64..9, run()), 0..5),
    );
    let segments = prop::collection::vec((1_u32..200, any::<[bool; 4]>()), 0..5);
    let numbers = (any::<[u32; 6]>(), 1_u64..1 << 50, 1_u64..1 << 50);
    (
        buffers,
        segments,
        numbers,
        any::<[bool; 7]>(),
        [optional(), optional(), optional()],
    )
        .prop_map(
            |((to_send, unread, beyond), segments, (numbers, oldest, expected), flags, times)| {
                let mut half = quiet();
                half.unacknowledged = oldest;
                half.written = oldest - 1 + half::total(&to_send);
                half.unacknowledged_bytes = to_send;
                half.next = oldest;
                for (length, [sacked, lost, resent, retransmitted]) in segments {
                    if half.next + u64::from(length) <= half.written + 1 {
                        half.next += u64::from(length);
                        let told = OutstandingSegment {
                            sacked,
                            lost,
                            resent,
                            retransmitted,
                            ..segment(length)
                        };
                        half.outstanding.push(told);
                    }
                }
                half.expected = expected + half::total(&unread);
                half.unread = unread;
                half.window_end = half.expected + 9;
                for (gap, run) in beyond {
                    let start = half.window_end + gap;
                    half.window_end = start + u64::from(run.length());
                    half.beyond_gap.push((start, run));
                }
                half.last_acknowledged = half.expected;
                half.initial_sequence = SequenceNumber(numbers[0]);
                half.recent_timestamp.0 = numbers[1];
                half.timestamp_clock = numbers[2];
                half.slow_start_threshold = numbers[3];
                half.congestion_window = numbers[4].max(1);
                half.receive_buffer = (numbers[5], numbers[0]);
                [
                    half.close_requested,
                    half.syn_due,
                    half.ack_due,
                    half.probe_due,
                    ..,
                ] = flags;
                [.., half.negotiated.sack, half.negotiated.timestamps] = flags;
                half.negotiated.window_shifts = flags[4].then_some((3, 9));
                half.negotiated.snack_unit = flags[3].then_some(1000);
                [half.idle, half.timers.persist, half.round_trip.smoothed] = times;
                half.peer_fin = flags[2].then_some(half.window_end);
                half
            },
        )
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_written_is_read(halves in [any_half(), any_half()], flow in any::<Option<u32>>()) {
        let [towards_mobile, towards_correspondent] = halves;
        let context = SplitContext { flow, towards_mobile, towards_correspondent, ..context(quiet()) };
        let message = Message::Context(Box::new(context));
        let bytes = message.encode();
        prop_assert_eq!(Message::decode(&bytes), Ok(Some((message, bytes.len()))));
    }

    #[test]
    fn any_body_is_survived(kind in 0_u8..4, body in prop::collection::vec(any::<u8>(), 0..600)) {
        let _ = Message::decode(&with_body(kind, &body));
    }

    /// Changes arbitrary bytes of a whole context.
    #[test]
    fn any_change_is_survived(half in any_half(), changes in prop::collection::vec((any::<usize>(), any::<u8>()), 1..6)) {
        let mut bytes = encoded(half);
        for (at, value) in changes {
            let at = 8 + at % (bytes.len() - 8);
            bytes[at] = value;
        }
        let _ = Message::decode(&bytes);
    }
}
