use super::*;
use crate::packet::Payload;
use crate::wire::aerotp::{AerotpHeader, Mode, Protection, ServiceClass};
use crate::wire::sequence::SequenceNumber;
use crate::wire::tcp::TcpFlags;
use proptest::prelude::*;

fn at(milliseconds: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(milliseconds)
}

/// Creates a packet of a conversation as a gateway writes it.
fn packet(conversation: u16, identification: u16, is_v6: bool) -> Packet {
    let header = AerotpHeader {
        source_port: 40_000,
        destination_port: 80,
        sequence: SequenceNumber(identification.into()),
        timestamp: 9,
        mode: Mode::Reliable,
        class: ServiceClass::default(),
        is_final: false,
        ends_record: false,
        wants_mack: false,
        tcp_flags: TcpFlags::NONE,
        protection: Protection::default(),
        opening: None,
        tcp_offer: None,
        mack: None,
        token: None,
        adds_path: false,
        block: None,
        is_odd_incarnation: false,
        resumption: None,
    };
    let [high, low] = conversation.to_be_bytes();
    let (source, destination) = match is_v6 {
        false => ([10, 1, high, low].into(), [10, 2, 0, 1].into()),
        true => (
            [0xFD00, 0, 0, 0, 0, 0, 1, conversation].into(),
            [0xFD00, 0, 0, 0, 0, 0, 2, 1].into(),
        ),
    };
    Packet {
        ip: IpHeader {
            source,
            destination,
            hop_limit: 64,
            traffic_class: 0x22,
            identification: if is_v6 { 0 } else { identification },
            dont_fragment: true,
        },
        flow: None,
        retransmission: false,
        identity: Identity::NONE,
        bit_errors: BitErrors::NONE,
        body: Body::Aerotp(Box::new(AerotpPacket::new(
            header,
            Payload::from_slice(b"telemetry"),
        ))),
    }
}

/// Two ends of a link, of which each has what the other one sends beside packets.
#[derive(Default)]
struct Pair {
    near: Headers,
    far: Headers,
}

impl Pair {
    /// Carries a packet to the far end; returns the content's length, and what arrives.
    fn carry(&mut self, now: Instant, packet: &Packet) -> (usize, Result<Packet, DecodeError>) {
        let content = self.near.write(now, packet).to_vec();
        let arrived = self.far.read(now, &content);
        (content.len(), arrived.map(Option::unwrap))
    }

    /// Exchanges what waits beside packets; `is_lost` says which of both ends' contents are.
    fn exchange(&mut self, now: Instant, mut is_lost: impl FnMut() -> bool) -> usize {
        let mut sent = 0;
        loop {
            let (from, to, content) = match self.near.poll() {
                Some(content) => (0, &mut self.far, content),
                None => match self.far.poll() {
                    Some(content) => (1, &mut self.near, content),
                    None => return sent,
                },
            };
            sent += 1;
            if !is_lost() {
                assert_eq!(to.read(now, &content), Ok(None), "from {from}");
            }
        }
    }
}

/// Returns the packet as it is to arrive: the identification is not carried.
fn without_identification(mut packet: Packet) -> Packet {
    packet.ip.identification = 0;
    packet
}

/// Oracle: the lengths of the headers, 20 B (RFC 791) and 40 B (RFC 8200), for a number of 2 B.
#[test]
fn from_the_eighth_packet_on_a_number_takes_the_place_of_the_header() {
    for (is_v6, saved) in [(false, 18), (true, 38)] {
        let mut pair = Pair::default();
        let whole = packet(1, 0, is_v6).wire_length() as usize;
        for number in 1..=20 {
            let packet = packet(1, number, is_v6);
            let (length, arrived) = pair.carry(at(1000), &packet);
            // The first eight have their headers, and the eighth brings the announcement and its confirmation.
            if number <= FEW.into() {
                assert_eq!((length, arrived), (whole, Ok(packet)));
            } else {
                let expected = without_identification(packet);
                assert_eq!((length, arrived), (whole - saved, Ok(expected)));
            }
            let messages = pair.exchange(at(1000), || false);
            assert_eq!(messages, if number == u16::from(FEW) { 2 } else { 0 });
        }
        for number in 20..600 {
            assert!(pair.carry(at(1000), &packet(1, number, is_v6)).1.is_ok());
        }
        assert_eq!(pair.near.saved(), saved as u32);
    }
}

#[test]
fn a_packet_that_routers_may_fragment_keeps_its_header() {
    let mut pair = Pair::default();
    for number in 0..20 {
        let mut packet = packet(1, number, false);
        packet.ip.dont_fragment = false;
        assert_eq!(pair.carry(at(1000), &packet).1, Ok(packet));
        assert_eq!(pair.exchange(at(1000), || false), 0);
    }
}

#[test]
fn an_announcement_is_repeated_and_no_packet_waits_for_it() {
    let mut pair = Pair::default();
    let mut lost = [true, true, false, true].into_iter();
    let mut announced = Vec::new();
    for number in 1..=200 {
        let now = at(1000 + 10 * u64::from(number));
        let packet = packet(1, number, false);
        let (_, arrived) = pair.carry(now, &packet);
        assert_eq!(
            without_identification(arrived.unwrap()),
            without_identification(packet)
        );
        if pair.exchange(now, || lost.next().unwrap_or(false)) > 0 {
            announced.push(number);
        }
    }
    // Two announcements and a confirmation are lost.
    assert_eq!(announced, [8, 33, 58, 83]);
}

#[test]
fn a_restarted_end_gets_whole_headers_and_then_numbers_again() {
    let mut pair = Pair::default();
    for number in 1..=10 {
        assert!(pair.carry(at(1000), &packet(1, number, false)).1.is_ok());
        pair.exchange(at(1000), || false);
    }
    let whole = packet(1, 0, false).wire_length() as usize;
    pair.far = Headers::default();
    pair.near.forget();
    assert_eq!(pair.carry(at(2000), &packet(1, 11, false)).0, whole);
    pair.exchange(at(2000), || false);
    assert_eq!(pair.carry(at(2000), &packet(1, 12, false)).0, whole - 18);

    // Nobody says that it has restarted: its complaint does, once for many packets.
    pair.far = Headers::default();
    for number in 13..20 {
        let (_, arrived) = pair.carry(at(3000), &packet(1, number, false));
        let fault = arrived.unwrap_err().to_string();
        assert_eq!(fault, "AeroTP without its IP header: field number holds 0");
    }
    assert_eq!(pair.exchange(at(3000), || false), 1);
    assert!(pair.carry(at(3000), &packet(1, 20, false)).1.is_ok());
}

#[test]
fn numbers_of_silent_conversations_serve_others() {
    let mut pair = Pair::default();
    let talk = |pair: &mut Pair, now, conversation| {
        for number in 1..=9 {
            assert!(
                pair.carry(now, &packet(conversation, number, false))
                    .1
                    .is_ok()
            );
            pair.exchange(now, || false);
        }
        let packet = packet(conversation, 10, false);
        let (length, arrived) = pair.carry(now, &packet);
        let expected = without_identification(packet.clone());
        assert_eq!(without_identification(arrived.unwrap()), expected);
        length < packet.wire_length() as usize
    };
    for conversation in 0..NUMBERS as u16 {
        assert!(talk(&mut pair, at(1000), conversation));
    }
    let late = 5000;
    assert!(!talk(&mut pair, at(50_000), late));
    assert!(talk(&mut pair, at(50_000), 0));
    // The first is in use, the second is not, and its conversation gets another number.
    assert!(talk(&mut pair, at(70_000), late));
    assert!(talk(&mut pair, at(70_000), 0));
    assert!(talk(&mut pair, at(70_000), 1));
    assert_eq!(pair.near.numbers.len(), NUMBERS);
    assert_eq!(pair.near.sent.len(), NUMBERS);
}

proptest! {
    /// Packets of some conversations arrive as they left, with their conversation's addresses, whatever is lost beside
    /// them, and whenever an end restarts.
    #[test]
    fn no_packet_gets_another_s_header(
        steps: Vec<(u8, u8, bool, u8)>, restarts: Vec<u8>,
    ) {
        let mut pair = Pair::default();
        for (step, (conversation, wait, is_v6, lost)) in steps.iter().enumerate() {
            let now = at(1000 + 40 * (step as u64 + u64::from(*wait)));
            if restarts.contains(&(step as u8)) {
                pair.far = Headers::default();
            }
            for number in 0..12 {
                let packet = packet(u16::from(conversation % 4), number, *is_v6);
                if let (_, Ok(arrived)) = pair.carry(now, &packet) {
                    prop_assert_eq!(without_identification(arrived), without_identification(packet));
                }
                pair.exchange(now, || lost % 3 == 0);
            }
        }
    }

    #[test]
    fn arbitrary_bytes_do_no_harm(contents: Vec<Vec<u8>>) {
        let mut headers = Headers::default();
        for content in &contents {
            let _ = headers.read(at(1000), content);
            while headers.poll().is_some() {}
        }
    }
}
