//! Old, forged and senseless segments: RFC 5961, PAWS, and whatever else.

use super::*;
use crate::wire::icmp::IcmpError;
use crate::wire::tcp::Timestamps;
use proptest::prelude::*;
use std::collections::VecDeque;

#[test]
fn a_reset_must_hit_the_very_next_number() {
    // RFC 5961 section 3.2: exact is a reset, in the window is a challenge, outside is silence.
    let mut solo = Solo::established(&profile("rfc"));
    solo.at(200).receive(from_peer(TcpFlags::RST, -5, 1));
    assert_eq!(solo.sends(), Vec::<String>::new());
    solo.receive(from_peer(TcpFlags::RST, 100, 1));
    assert_eq!(solo.sends(), ["ack 1"]);
    assert_eq!(solo.connection.state(), State::Established);
    solo.receive(from_peer(TcpFlags::RST, 1, 1));
    assert_eq!(solo.connection.state(), State::Closed);
    assert_eq!(solo.events(), [Event::Connected, Event::Reset]);
}

#[test]
fn a_syn_in_a_connection_is_challenged() {
    // RFC 5961 section 4.2, wherever its number lies.
    let mut solo = Solo::established(&profile("rfc"));
    for sequence in [-100, 1, 500, 5_000_000] {
        solo.at(200).receive(from_peer(TcpFlags::SYN, sequence, 0));
        assert_eq!(solo.sends(), ["ack 1"], "{sequence}");
        assert_eq!(solo.connection.state(), State::Established);
    }
}

#[test]
fn an_acknowledgment_out_of_range_is_challenged_and_its_data_dropped() {
    // RFC 5961 section 5.2: SND.UNA − MAX.SND.WND <= SEG.ACK <= SND.NXT.
    let mut solo = Solo::established(&profile("rfc"));
    solo.at(200).receive(data(1, 11).acknowledging(2));
    assert_eq!(solo.sends(), ["ack 1"]);
    solo.receive(data(1, 11).acknowledging(1 - 60_001));
    assert_eq!(solo.sends(), ["ack 1"]);
    assert_eq!(solo.connection.readable(), 0);
    solo.receive(data(1, 11).acknowledging(1 - 60_000));
    assert_eq!(solo.connection.readable(), 10, "old, but within the range");
}

/// Two ends that belong to other connections, as when a gateway between them has gone; one says something. Returns how many answers there
/// are in each of two minutes over a way of `delay` each way.
fn answers_of_strangers(profile: &Profile, delay: Duration) -> [usize; 2] {
    let mut ends = [Solo::established(profile), Solo::established(profile)];
    let begin = ends[0].now;
    let first = ends[0]
        .receive(data(1, 1_001))
        .receive(data(1_001, 2_001))
        .receive(data(2_001, 3_001))
        .connection
        .poll_transmit(begin);
    let mut flying = VecDeque::from([(begin + delay, 1, first.unwrap())]);
    let mut answers = [0; 2];
    while let Some((at, to, segment)) = flying.pop_front() {
        let minute = at.saturating_since(begin).as_nanos() / 60_000_000_000;
        if minute >= 2 {
            break;
        }
        let connection = &mut ends[to].connection;
        connection.handle_segment(at, &segment.header, segment.payload);
        while let Some(answer) = connection.poll_transmit(at) {
            answers[minute as usize] += 1;
            flying.push_back((at + delay, 1 - to, answer));
        }
    }
    answers
}

/// RFC 5961 section 7, and once in 500 ms for Linux: over a shorter way the exchange ends. Over a longer one, a kernel's does not.
#[test]
fn strangers_do_not_answer_each_other_for_ever() {
    for name in Profile::NAMES {
        let [first, later] = answers_of_strangers(&profile(name), ms(10));
        assert!((1..=20).contains(&first), "{name}: {first}");
        assert_eq!(later, 0, "{name}");
    }
    let over_geo = answers_of_strangers(&profile("classic"), ms(280));
    assert!(
        over_geo.iter().all(|&count| count <= 2 * 120),
        "{over_geo:?}"
    );
}

#[test]
fn challenges_are_limited_to_ten_in_five_seconds() {
    // RFC 5961 section 7.
    let mut solo = Solo::established(&profile("rfc"));
    let mut answers = 0;
    for index in 0..100 {
        solo.at(200 + index).receive(from_peer(TcpFlags::SYN, 1, 0));
        answers += solo.sends().len();
    }
    assert_eq!(answers, 10);
    assert_eq!(solo.connection.statistics().challenge_acks_withheld, 90);
    solo.at(5_200).receive(from_peer(TcpFlags::SYN, 1, 0));
    assert_eq!(solo.sends(), ["ack 1"]);
}

fn stamped(incoming: Incoming, value: u32) -> Incoming {
    let mut options = incoming.header.options;
    options.timestamps = Some(Timestamps { value, echo: 0 });
    incoming.options(options)
}

#[test]
fn paws_drops_what_is_older_than_the_latest_timestamp() {
    // RFC 7323 section 5.3, near the wrap of the peer's clock.
    let mut profile = profile("rfc");
    profile.timestamps = true;
    let mut solo = Solo::connecting(&profile);
    let latest = u32::MAX - 10;
    solo.at(100)
        .receive(stamped(Incoming::syn_ack(&profile), latest));
    solo.sends();
    solo.receive(stamped(data(1, 101), latest - 1));
    assert_eq!(solo.sends(), ["ack 1"]);
    assert_eq!(solo.connection.readable(), 0);
    // No timestamp at all is dropped without a word (section 3.2).
    solo.receive(data(1, 101));
    assert_eq!(solo.connection.readable(), 0);
    assert!(solo.sends().is_empty());
    // The clock wraps: 5 comes after u32::MAX − 10.
    solo.receive(stamped(data(1, 101), 5));
    assert_eq!(solo.connection.readable(), 100);
    solo.receive(stamped(data(101, 201), latest));
    assert_eq!(solo.connection.readable(), 100);
    assert_eq!(solo.connection.statistics().old_timestamps, 3);
    // After 24 days a timestamp proves nothing any more (section 5.5).
    solo.at(25 * 24 * 3_600 * 1_000)
        .receive(stamped(data(101, 201), latest));
    assert_eq!(solo.connection.readable(), 200);
}

#[test]
fn segments_ahead_of_their_turn_do_not_set_the_echo() {
    // RFC 7323 section 4.3: the echo is of the segment that moved the left edge.
    let mut profile = profile("rfc");
    profile.timestamps = true;
    let mut solo = Solo::connecting(&profile);
    solo.at(100)
        .receive(stamped(Incoming::syn_ack(&profile), 1_000));
    solo.sends();
    solo.receive(stamped(data(101, 201), 1_500));
    let answer = solo.connection.poll_transmit(solo.now).unwrap();
    assert_eq!(answer.header.options.timestamps.unwrap().echo, 1_000);
    solo.receive(stamped(data(1, 101), 1_400));
    let answer = solo.connection.poll_transmit(solo.now).unwrap();
    assert_eq!(answer.header.options.timestamps.unwrap().echo, 1_400);
}

#[test]
fn two_ends_that_disagree_do_not_answer_each_other_for_ever() {
    let rfc = profile("rfc");
    let mut pair = Pair::new(&rfc, &rfc, delay(10));
    pair.run_until(at_ms(100));
    // A forgets 100000 bytes that it never sent.
    pair.a.connection.sender.flow.space.shift(100_000);
    pair.a.connection.receiving.acks.demand();
    pair.run_to_rest(Instant::from_secs(10));
    assert!(pair.a.log.len() + pair.b.log.len() < 40);
}

#[derive(Clone, Debug)]
enum Step {
    Segment {
        flags: u8,
        sequence: i64,
        acknowledgment: i64,
        length: u32,
        window: u16,
        sack: Vec<(u32, u32)>,
        stamp: Option<(u32, u32)>,
    },
    Icmp(u32, u32),
    Wait(u64),
    Write(u64),
    Read(u64),
    Close,
    Abort,
}

fn near() -> impl Strategy<Value = i64> {
    prop_oneof![4 => -3_i64..6_000, 2 => -100_000_i64..200_000, 1 => any::<u32>().prop_map(i64::from)]
}

fn step() -> impl Strategy<Value = Step> {
    let sack = prop::collection::vec((0_u32..20_000, 0_u32..20_000), 0..5);
    let segment = (
        prop_oneof![3 => Just(0x10_u8), 1 => any::<u8>()],
        near(),
        near(),
        prop_oneof![Just(0_u32), 1_u32..3_000],
        any::<u16>(),
        sack,
        prop::option::of((any::<u32>(), any::<u32>())),
    )
        .prop_map(
            |(flags, sequence, acknowledgment, length, window, sack, stamp)| Step::Segment {
                flags,
                sequence,
                acknowledgment,
                length,
                window,
                sack,
                stamp,
            },
        );
    prop_oneof![
        12 => segment,
        1 => (0_u32..3_000, 0_u32..20_000).prop_map(|(mtu, number)| Step::Icmp(mtu, number)),
        4 => (0_u64..100_000).prop_map(Step::Wait),
        4 => (0_u64..20_000).prop_map(Step::Write),
        2 => (0_u64..20_000).prop_map(Step::Read),
        1 => Just(Step::Close),
        1 => prop::bool::weighted(0.1).prop_map(|abort| if abort { Step::Abort } else { Step::Wait(1) }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_segment_at_any_time_makes_it_panic_or_babble(
        steps in prop::collection::vec(step(), 1..60),
        (name, handshake, timestamps) in (0_usize..3, any::<bool>(), any::<bool>()),
    ) {
        let mut profile = profile(Profile::NAMES[name]);
        profile.timestamps = timestamps;
        let mut solo = Solo::connecting(&profile);
        if handshake {
            solo.at(100).receive(stamped(Incoming::syn_ack(&profile), 1));
        }
        for step in steps {
            let now = solo.now;
            match step {
                Step::Segment { flags, sequence, acknowledgment, length, window, sack, stamp } => {
                    let mut incoming = from_peer(TcpFlags(flags), sequence, acknowledgment).window(window).sack(&sack);
                    incoming.length = length;
                    incoming.header.options.timestamps = stamp.map(|(value, echo)| Timestamps { value, echo });
                    solo.receive(incoming);
                }
                Step::Icmp(mtu, number) => {
                    solo.connection.handle_icmp(now, IcmpError::PacketTooBig { mtu }, &quoting(ISS_A + number));
                }
                Step::Wait(milliseconds) => {
                    solo.at(now.as_nanos() / 1_000_000 + milliseconds);
                }
                Step::Write(bytes) => {
                    solo.connection.write_pattern(0, bytes);
                }
                Step::Read(bytes) => {
                    solo.connection.discard(bytes);
                }
                Step::Close => solo.connection.close(),
                Step::Abort => solo.connection.abort(),
            }
            prop_assert!(solo.sends().len() <= 20_000);
            let connection = &solo.connection;
            prop_assert!(connection.sender.flow.space.unacknowledged() <= connection.sender.flow.space.next());
            prop_assert!(connection.sender.flow.space.sent.pipe() <= 2 * (connection.sender.flow.space.next() - connection.sender.flow.space.unacknowledged()));
            prop_assert!(connection.sender.flow.space.sent.is_empty() || connection.state() == State::Closed
                || connection.poll_timeout().is_some(), "data out and no timer");
        }
    }
}
