//! Both ends against hand-written octets, against each other, and against messages of other implementations.

use super::home_end::{Arrival, HomeEnd, HomeEndSettings};
use super::mobile_end::{MobileEnd, MobileEndSettings};
use super::*;
use crate::interface::LinkEvent;
use crate::packet::Extended;
use crate::time::{Duration, Instant};
use crate::wire::mobility_header::{
    BindingAcknowledgement, BindingLifetime, BindingStatus, BindingUpdate,
    Ipv4AddressAcknowledgement, Ipv4AddressStatus, Ipv4HomeAddress,
};
use crate::wire::prefix::Ipv6Prefix;
use core::net::{Ipv4Addr, SocketAddrV4};
use proptest::prelude::*;

/// An update and its acknowledgement, written octet by octet in Python with `struct` and `hmac`, and read by tshark
/// 4.0: their values are in [`update`] and [`answer`], their time is half a second after 1,716,879,745 s of UNIX.
const UPDATE: &str = "600000000050874020010db800010000000000000000010020010db80001000000000000000000013b090500e4630009c500\
    00690612003820010db80001010000000000000000001d0642000a01000020060000c0a8010701000a08ea00000180000000\
    00091101000010019794c64fc0921230ed09854b";
const ANSWER: &str = "600000000040874020010db800010000000000000000000120010db80001000000000000000001003b0706004b8500400009\
    00691e0600400a0100001f0680000000006e0104000000000a08ea000001800000000009110100001001cfaf5a9cde0bf9b7\
    52c762d8";
const UNIX_NANOSECONDS: u64 = 1_716_879_745_500_000_000;

const HOME: Ipv6Addr = Ipv6Addr::new(0x2001, 0xDB8, 1, 0, 0, 0, 0, 0x100);
const HOME_AGENT: Ipv6Addr = Ipv6Addr::new(0x2001, 0xDB8, 1, 0, 0, 0, 0, 1);
const CARE_OF: [Ipv6Addr; 2] = [
    Ipv6Addr::new(0xFD00, 0, 0, 0, 0, 0, 0, 0x100),
    Ipv6Addr::new(0xFD00, 0, 0, 1, 0, 0, 0, 0x100),
];
const INSIDE: Ipv4Addr = Ipv4Addr::new(192, 168, 1, 7);
const OUTSIDE: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(192, 0, 2, 1), 40_001);
const ELSEWHERE: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(203, 0, 113, 9), 4191);
const SECOND: Duration = Duration::from_secs(1);

fn key() -> SharedKey {
    SharedKey {
        security_parameter_index: 0x1001,
        key: core::array::from_fn(|place| place as u8),
    }
}

fn bytes(digits: &str) -> Vec<u8> {
    let digit = |place: usize| u8::from_str_radix(&digits[place..place + 2], 16).unwrap();
    (0..digits.len()).step_by(2).map(digit).collect()
}

fn encode(packet: &Packet) -> Vec<u8> {
    let mut bytes = Vec::new();
    packet.encode(&mut bytes);
    bytes
}

fn mobile_end(unix_nanoseconds: u64) -> MobileEnd {
    MobileEnd::new(MobileEndSettings {
        home_address: HOME,
        home_agent: HOME_AGENT,
        care_of: CARE_OF[0],
        key: key(),
        unix_nanoseconds,
    })
}

fn home_end() -> HomeEnd {
    let mut end = HomeEnd::new(HomeEndSettings {
        home_agent: HOME_AGENT,
        unix_nanoseconds: UNIX_NANOSECONDS,
    });
    end.add(HOME, key(), CARE_OF[0]);
    end
}

fn update(sequence: u16) -> BindingUpdate {
    BindingUpdate {
        sequence,
        acknowledge: true,
        home_registration: true,
        mobile_router: true,
        lifetime: BindingLifetime { units: 105 },
        mobile_network_prefixes: Ipv6Prefix::new("2001:db8:1:100::".parse().unwrap(), 56)
            .into_iter()
            .collect(),
        ipv4_home_addresses: vec![Ipv4HomeAddress {
            address: Ipv4Addr::new(10, 1, 0, 0),
            prefix_length: 16,
            asks_for_prefix: true,
        }],
        ..BindingUpdate::default()
    }
}

fn answer() -> BindingAcknowledgement {
    BindingAcknowledgement {
        mobile_router: true,
        ipv4_acknowledgements: vec![Ipv4AddressAcknowledgement {
            status: Ipv4AddressStatus::ACCEPTED,
            prefix_length: 16,
            address: Ipv4Addr::new(10, 1, 0, 0),
        }],
        ..BindingAcknowledgement::new(BindingStatus::ACCEPTED, 9, BindingLifetime { units: 105 })
    }
}

/// Returns a message in the form of the agents of both ends.
fn known(
    ends: (Ipv6Addr, Ipv6Addr),
    homes: (Option<Ipv6Addr>, Option<Ipv6Addr>),
    mut message: MobilityMessage,
) -> Packet {
    let care_of = if homes.0.is_some() { ends.0 } else { ends.1 };
    sign_for_home(&key(), (care_of, HOME), &mut message);
    mobility_packet(ends, homes, message)
}

fn known_update(care_of: Ipv6Addr, update: BindingUpdate) -> Packet {
    let message = MobilityMessage::BindingUpdate(update);
    known((care_of, HOME_AGENT), (Some(HOME), None), message)
}

fn known_answer(care_of: Ipv6Addr, answer: BindingAcknowledgement) -> Packet {
    let message = MobilityMessage::BindingAcknowledgement(answer);
    known((HOME_AGENT, care_of), (None, Some(HOME)), message)
}

fn message(packet: &Packet) -> &MobilityMessage {
    let body = match &packet.body {
        Body::Extended(extended) => {
            let Extended { body, .. } = &**extended;
            body
        }
        body => body,
    };
    match body {
        Body::Mobility(message) => message,
        _ => panic!("no message: {packet:?}"),
    }
}

fn status(packet: &Packet) -> BindingStatus {
    match message(packet) {
        MobilityMessage::BindingAcknowledgement(answer) => answer.status,
        message => panic!("{message:?}"),
    }
}

/// Returns a mobile's end that is up, without the events of that.
fn up(unix_nanoseconds: u64) -> MobileEnd {
    let mut mobile = mobile_end(unix_nanoseconds);
    mobile.set_address(Instant::ZERO, Some(INSIDE));
    assert_eq!(mobile.poll_event(), Some(LinkEvent::Up));
    mobile
}

#[test]
fn a_message_on_the_wire_is_as_the_standards_have_it() {
    let mut mobile = up(UNIX_NANOSECONDS);
    let sent = mobile.handle_message(Instant::ZERO, &known_update(CARE_OF[0], update(9)));
    assert_eq!(encode(&sent.unwrap()), bytes(UPDATE));
    // The home agent gets the message of the mobile's own agent.
    let mut home = home_end();
    let taken = home.handle_datagram(Instant::ZERO, OUTSIDE, &bytes(UPDATE));
    let expected = known_update(CARE_OF[0], update(9));
    assert_eq!(taken, Some(Arrival::Message(expected)));
    assert_eq!(home.remote(CARE_OF[0]), Some(OUTSIDE));
    // In the other direction: the translator's entry is to be refreshed after 110 s, which a message gives in units of
    // 4 s.
    let answered = home.on_the_wire(CARE_OF[0], &known_answer(CARE_OF[0], answer()));
    let (to, answered) = answered.unwrap();
    assert_eq!((to, encode(&answered)), (HOME, bytes(ANSWER)));
    assert!(!mobile.handle_datagram(Instant::ZERO + SECOND, &bytes(ANSWER)));
    let expected = BindingAcknowledgement {
        refresh_advice: Some(BindingLifetime { units: 27 }),
        ..answer()
    };
    assert_eq!(
        mobile.poll_received(),
        Some(known_answer(CARE_OF[0], expected))
    );
}

#[test]
fn without_a_translator_nothing_needs_a_refresh() {
    let (mut mobile, mut home) = (up(UNIX_NANOSECONDS), home_end());
    let from = SocketAddrV4::new(INSIDE, 4191);
    home.handle_datagram(Instant::ZERO, from, &bytes(UPDATE));
    mobile.handle_message(Instant::ZERO, &known_update(CARE_OF[0], update(9)));
    let answered = home.on_the_wire(CARE_OF[0], &known_answer(CARE_OF[0], answer()));
    mobile.handle_datagram(Instant::ZERO, &encode(&answered.unwrap().1));
    assert_eq!(
        mobile.poll_received(),
        Some(known_answer(CARE_OF[0], answer()))
    );
}

/// Sets the checksum of a mobility message (RFC 6275 section 6.1.1).
fn sum(datagram: &mut [u8]) {
    datagram[44..46].fill(0);
    let length = (datagram.len() - 40) as u32;
    let words = datagram[8..].chunks(2);
    let mut sum: u32 = words
        .map(|word| u32::from(word[0]) << 8 | word.get(1).map_or(0, |low| u32::from(*low)))
        .sum();
    sum += length + 135;
    while sum >> 16 > 0 {
        sum = (sum & 0xFFFF) + (sum >> 16);
    }
    datagram[44..46].copy_from_slice(&(!(sum as u16)).to_be_bytes());
}

#[test]
fn an_update_that_is_not_the_mobiles_leaves_nothing_behind() {
    let mut home = home_end();
    let mut right = bytes(UPDATE);
    sum(&mut right);
    assert_eq!(right, bytes(UPDATE));
    for bit in 0..right.len() * 8 {
        for is_summed in [false, true] {
            let mut forged = right.clone();
            forged[bit / 8] ^= 1 << (bit % 8);
            let place = bit / 8;
            // A recomputed checksum makes a flipped one right; class, label and hop limit prove nothing.
            if is_summed {
                sum(&mut forged);
            }
            let is_covered = place >= 8 && !(44..46).contains(&place);
            if is_covered || !is_summed && (44..46).contains(&place) {
                let taken = home.handle_datagram(Instant::ZERO, OUTSIDE, &forged);
                assert_eq!(taken, None, "bit {bit}");
            }
        }
    }
    for end in 0..right.len() {
        let taken = home.handle_datagram(Instant::ZERO, OUTSIDE, &right[..end]);
        assert_eq!(taken, None, "{end}");
    }
    assert_eq!(home.places(HOME).count(), 0);
    let counts = home.counts();
    assert!(counts.unauthenticated > 500, "{counts:?}");
    assert_eq!(counts.out_of_date, 0);
    // A tunnelled packet comes from the source of an update, or is rejected.
    let inside = [0x45; 40];
    assert_eq!(home.handle_datagram(Instant::ZERO, OUTSIDE, &inside), None);
    home.handle_datagram(Instant::ZERO, OUTSIDE, &right);
    let taken = home.handle_datagram(Instant::ZERO, OUTSIDE, &inside);
    assert_eq!(taken, Some(Arrival::Inside(CARE_OF[0])));
    assert_eq!(
        home.handle_datagram(Instant::ZERO, ELSEWHERE, &inside),
        None
    );
}

#[test]
fn a_replayed_update_does_not_move_the_mobile() {
    let mut home = home_end();
    home.handle_datagram(Instant::ZERO, OUTSIDE, &bytes(UPDATE));
    for now in [0, 1, 1000] {
        let now = Instant::from_secs(now);
        let taken = home.handle_datagram(now, ELSEWHERE, &bytes(UPDATE));
        let Some(Arrival::Refused(refusal)) = taken else {
            panic!("{taken:?}");
        };
        assert_eq!(status(&refusal), BindingStatus::IDENTIFICATION_MISMATCH);
        assert!(encode(&refusal).len() <= bytes(UPDATE).len());
    }
    assert_eq!(home.remote(CARE_OF[0]), Some(OUTSIDE));
    assert_eq!(home.places(HOME).count(), 1);
    // A restarted home agent remembers nothing, and has its own clock.
    let mut home = home_end();
    for (late, is_taken) in [(8, false), (7, true)] {
        let now = Instant::from_secs(late);
        let taken = home.handle_datagram(now, ELSEWHERE, &bytes(UPDATE));
        assert_eq!(matches!(taken, Some(Arrival::Message(_))), is_taken);
    }
}

/// Carries an update to the home agent's end, and an immediate answer back.
fn carry(now: Instant, mobile: &mut MobileEnd, home: &mut HomeEnd, sequence: u16) -> bool {
    let sent = mobile.handle_message(now, &known_update(CARE_OF[0], update(sequence)));
    match home.handle_datagram(now, OUTSIDE, &encode(&sent.unwrap())) {
        Some(Arrival::Refused(refusal)) => {
            mobile.handle_datagram(now, &encode(&refusal));
            false
        }
        taken => matches!(taken, Some(Arrival::Message(_))),
    }
}

#[test]
fn a_mobile_with_a_wrong_clock_is_bound_by_its_second_update() {
    const DAY: u64 = 86_400_000_000_000;
    for clock in [
        UNIX_NANOSECONDS - DAY,
        UNIX_NANOSECONDS + DAY,
        UNIX_NANOSECONDS - 20 * 365 * DAY,
        0,
    ] {
        let (mut mobile, mut home) = (up(clock), home_end());
        assert!(!carry(Instant::ZERO, &mut mobile, &mut home, 1));
        // Its agent may send another one at once.
        assert_eq!(mobile.poll_timeout(), Some(Instant::ZERO));
        mobile.handle_timeout(Instant::ZERO);
        let asked = mobile.poll_received().unwrap();
        assert_eq!(message(&asked), &MobilityMessage::BindingRefreshRequest);
        assert!(carry(Instant::ZERO, &mut mobile, &mut home, 2), "{clock}");
        assert!(carry(Instant::ZERO, &mut mobile, &mut home, 3), "{clock}");
    }
}

#[test]
fn an_uplink_is_dead_after_three_seconds_without_an_answer_and_up_by_the_first_one() {
    let (mut mobile, mut home) = (up(UNIX_NANOSECONDS), home_end());
    assert!(carry(Instant::ZERO, &mut mobile, &mut home, 1));
    // No answer arrives. Packets from the tunnel do not prove that an update arrives.
    mobile.handle_datagram(Instant::from_secs(2), &[0x45; 40]);
    let dead = mobile.poll_timeout().unwrap();
    assert_eq!(dead, Instant::from_secs(3));
    mobile.handle_timeout(dead);
    assert_eq!(mobile.poll_event(), Some(LinkEvent::Down));
    for number in 1..4 {
        let now = mobile.poll_timeout().unwrap();
        assert_eq!(now, dead + Duration::from_secs(5 * number));
        mobile.handle_timeout(now);
        let probe = mobile.poll_transmit().unwrap();
        // The home agent refuses it without a change of state, whatever its source.
        let taken = home.handle_datagram(now, ELSEWHERE, &encode(&probe));
        let Some(Arrival::Refused(refusal)) = taken else {
            panic!("{taken:?}");
        };
        assert_eq!(home.places(HOME).count(), 1);
        assert!(!mobile.is_up());
        if number == 3 {
            mobile.handle_datagram(now, &encode(&refusal));
            assert_eq!(mobile.poll_event(), Some(LinkEvent::Up));
            // Its clock was right.
            assert!(carry(now, &mut mobile, &mut home, 2));
        }
    }
    mobile.set_address(Instant::from_secs(99), None);
    assert_eq!(mobile.poll_event(), Some(LinkEvent::Down));
    assert_eq!(mobile.poll_timeout(), None);
}

#[test]
fn a_mobile_that_hears_nothing_asks_for_its_home_agent_and_one_that_moves_registers() {
    let mut mobile = up(UNIX_NANOSECONDS);
    mobile.handle_message(Instant::ZERO, &known_update(CARE_OF[0], update(9)));
    mobile.handle_datagram(Instant::ZERO, &bytes(ANSWER));
    assert!(mobile.poll_received().is_some());
    // Each packet is answered for a minute, then none is.
    for second in 1..60 {
        mobile.note_sent(Instant::from_secs(second));
        mobile.handle_datagram(Instant::from_secs(second), &[0x60; 40]);
        assert_eq!(mobile.poll_timeout(), None);
    }
    mobile.note_sent(Instant::from_secs(60));
    mobile.note_sent(Instant::from_millis(60_900));
    assert_eq!(mobile.poll_timeout(), Some(Instant::from_secs(61)));
    mobile.handle_timeout(Instant::from_secs(61));
    let asked = mobile.poll_received().unwrap();
    assert_eq!(message(&asked), &MobilityMessage::BindingRefreshRequest);
    assert_eq!(asked.ip.destination, CARE_OF[0]);
    let now = Instant::from_secs(62);
    mobile.set_address(now, Some(Ipv4Addr::new(192, 168, 1, 8)));
    assert_eq!(mobile.poll_event(), None);
    assert_eq!(mobile.poll_timeout(), Some(now));
    mobile.handle_timeout(now);
    assert!(mobile.poll_received().is_some());
}

#[test]
fn an_answer_is_taken_once_and_only_from_the_home_agent() {
    let mut mobile = up(UNIX_NANOSECONDS);
    // To an update that was never sent.
    mobile.handle_datagram(Instant::ZERO, &bytes(ANSWER));
    assert_eq!(mobile.counts().unexpected, 1);
    mobile.handle_message(Instant::ZERO, &known_update(CARE_OF[0], update(9)));
    let right = bytes(ANSWER);
    for bit in 8 * 8..right.len() * 8 {
        let mut forged = right.clone();
        forged[bit / 8] ^= 1 << (bit % 8);
        sum(&mut forged);
        if forged != right {
            mobile.handle_datagram(Instant::ZERO, &forged);
        }
        assert_eq!(mobile.poll_received(), None, "bit {bit}");
    }
    mobile.handle_datagram(Instant::ZERO, &right);
    assert!(mobile.poll_received().is_some());
    mobile.handle_datagram(Instant::ZERO, &right);
    assert_eq!(mobile.poll_received(), None);
}

#[test]
fn of_many_places_the_latest_are_remembered() {
    let (mut mobile, mut home) = (up(UNIX_NANOSECONDS), home_end());
    let remote = |port| SocketAddrV4::new(*OUTSIDE.ip(), port);
    for port in 1..=40u16 {
        // From port 1 it arrives repeatedly.
        for port in [port, 1] {
            let now = Instant::from_millis(port.into());
            let sent = mobile.handle_message(now, &known_update(CARE_OF[0], update(port)));
            let taken = home.handle_datagram(now, remote(port), &encode(&sent.unwrap()));
            assert!(matches!(taken, Some(Arrival::Message(_))), "{port}");
        }
    }
    let mut ports: Vec<u16> = home.places(HOME).map(|(_, remote)| remote.port()).collect();
    ports.sort_unstable();
    assert_eq!(ports, [&[1][..], &(26..=40).collect::<Vec<u16>>()].concat());
    assert_eq!(
        home.handle_datagram(Instant::ZERO, remote(25), &[0x45]),
        None
    );
    assert_eq!(
        home.handle_datagram(Instant::ZERO, remote(1), &[0x45]),
        Some(Arrival::Inside(CARE_OF[0]))
    );
    home.retain(|_| false);
    assert_eq!(
        home.handle_datagram(Instant::ZERO, remote(1), &[0x45]),
        None
    );
    assert_eq!(home.remote(CARE_OF[1]), None);
}

proptest! {
    /// Octets that begin like a message for either end, but continue arbitrarily, are neither an update nor an answer.
    #[test]
    fn any_octets_are_survived_and_change_nothing(
        from in 0..120usize,
        content in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        let (mut mobile, mut home) = (up(UNIX_NANOSECONDS), home_end());
        mobile.handle_message(Instant::ZERO, &known_update(CARE_OF[0], update(9)));
        for laid in [UPDATE, ANSWER] {
            let mut datagram = bytes(laid);
            let is_same = datagram.get(from..).is_none_or(|rest| rest == content);
            datagram.truncate(from);
            datagram.extend(&content);
            if datagram.len() > 46 {
                let length = datagram.len() as u16 - 40;
                datagram[4..6].copy_from_slice(&length.to_be_bytes());
                datagram[41] = ((length - 2) / 8) as u8;
                sum(&mut datagram);
            }
            prop_assume!(!is_same);
            home.handle_datagram(Instant::ZERO, OUTSIDE, &datagram);
            mobile.handle_datagram(Instant::ZERO, &datagram);
            prop_assert_eq!(home.places(HOME).count(), 0);
            prop_assert_eq!(mobile.poll_received(), None);
        }
    }
}

/// RFC 4285 section 5.1 permits the option at any place as the last one: with other padding, and with the mobile's
/// identifier (RFC 4283), as other implementations send it.
#[test]
fn the_proof_covers_octets_as_they_came() {
    let laid = bytes(UPDATE);
    let mut message = laid[40..52].to_vec();
    message.extend([8, 10, 1]);
    message.extend(b"train@a.b");
    message.extend([10, 8]);
    message.extend(0xEA00_0001_8000_0000u64.to_be_bytes());
    message.extend([1, 1, 0]);
    message.extend(AUTHENTICATION);
    message.extend(0x1001u32.to_be_bytes());
    message[1] = 6;
    message[CHECKSUM].fill(0);
    let proof = authenticator(&key().key, (HOME, HOME), &message);
    message.extend(proof);
    message.resize(56, 0);
    let mut datagram = laid[..40].to_vec();
    datagram[5] = 56;
    datagram.extend(message);
    sum(&mut datagram);
    let mut home = home_end();
    let taken = home.handle_datagram(Instant::ZERO, OUTSIDE, &datagram);
    assert!(
        matches!(taken, Some(Arrival::Message(_))),
        "{:?}",
        home.counts()
    );
    datagram[60] ^= 1;
    sum(&mut datagram);
    assert_eq!(
        home.handle_datagram(Instant::ZERO, OUTSIDE, &datagram),
        None
    );
    assert_eq!(home.counts().unauthenticated, 1);
}
