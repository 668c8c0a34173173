//! SCPS-TP: rate control and SNACK.

use super::*;
use crate::rate::DataRate;
use crate::tcp::profile::Algorithm;
use crate::wire::tcp::Snack;

/// SCPS-TP without timestamps, so that segments are of 1000 bytes, and with Van Jacobson's window.
fn scps() -> Profile {
    Profile {
        congestion: Algorithm::NewReno,
        timestamps: false,
        ..profile("scps-tp")
    }
}

/// Ten segments are out at 100 ms, and the peer welcomes SNACKs; its MSS is 1000.
fn ten_out(profile: &Profile) -> Solo {
    let mut solo = Solo::connecting(profile);
    let syn_ack = Incoming::syn_ack(profile);
    let options = TcpOptions {
        snack_permitted: true,
        ..syn_ack.header.options
    };
    solo.at(100).receive(syn_ack.options(options));
    assert_eq!(solo.sends(), ["ack 1"]);
    solo.write(100_000);
    assert_eq!(solo.sends().len(), 10);
    solo.at(200);
    solo
}

fn snack(acknowledgment: i64, offset: u16, size: u16) -> Incoming {
    ack(acknowledgment).options(TcpOptions {
        sack: SackBlocks::negative(Snack { offset, size }),
        ..TcpOptions::default()
    })
}

#[test]
fn a_snack_brings_the_whole_hole_at_once() {
    let mut solo = ten_out(&scps());
    // Two segments are missing, and the first duplicate says so: no third is waited for.
    assert_eq!(
        solo.receive(snack(1, 0, 2)).sends()[..2],
        ["1..1001", "1001..2001"]
    );
    assert_eq!(solo.connection.slow_start_threshold(), 5_000);
    assert_eq!(solo.connection.statistics().fast_retransmits, 1);
    // Another hole of the same window: sent again, but no second reduction.
    assert_eq!(solo.at(210).receive(snack(1, 5, 1)).sends(), ["5001..6001"]);
    assert_eq!(solo.connection.slow_start_threshold(), 5_000);
    // Told again within a round trip of 100 ms and four of its deviations of 50 ms: it is on its way.
    assert!(solo.at(220).receive(snack(1, 5, 1)).sends().is_empty());
    // A partial acknowledgment does not bring what is on its way already.
    assert!(
        !solo
            .at(300)
            .receive(ack(5_001))
            .sends()
            .contains(&"5001..6001".to_owned())
    );
    // Told later than that: it was lost again.
    assert_eq!(
        solo.at(600).receive(snack(5_001, 0, 1)).sends()[0],
        "5001..6001"
    );
}

#[test]
fn a_peer_that_never_offered_it_is_not_believed() {
    let mut solo = Solo::established(&scps());
    solo.write(100_000);
    assert_eq!(solo.sends().len(), 10);
    solo.at(200);
    // Only what limited transmit lets out.
    assert_eq!(solo.receive(snack(1, 0, 2)).sends(), ["10001..11001"]);
    // Nor is a hole beyond what is out.
    let mut solo = ten_out(&scps());
    assert_eq!(
        solo.receive(snack(1, 60_000, 60_000)).sends(),
        ["10001..11001"]
    );
    assert_eq!(solo.connection.statistics().fast_retransmits, 0);
}

/// The receiver tells of the hole before what came last, in units of its own MSS of 1460 bytes.
#[test]
fn each_acknowledgment_tells_of_the_hole_before_what_came_last() {
    let mut solo = ten_out(&scps());
    let mut told = |from: i64, to: i64| {
        solo.receive(data(from, to));
        let mut holes = Vec::new();
        while let Some(segment) = solo.connection.poll_transmit(solo.now) {
            holes.extend(segment.header.options.sack.snack());
        }
        holes
    };
    let hole = |offset, size| [Snack { offset, size }];
    assert!(told(1, 1461).is_empty());
    assert_eq!(told(1461 + 2 * 1460, 1461 + 3 * 1460), hole(0, 2));
    assert_eq!(told(1461 + 7 * 1460, 1461 + 8 * 1460), hole(3, 4));
    assert_eq!(told(1461 + 5 * 1460, 1461 + 6 * 1460), hole(3, 2));
    // The first hole is filled: what remains is counted from there.
    assert_eq!(told(1461, 1461 + 2 * 1460), hole(0, 2));
}

/// Ten segments of a window are lost, every third: NewReno's recovery would need a round trip for each.
#[test]
fn ten_holes_are_filled_in_two_round_trips() {
    let took = |snack: bool| {
        let profile = Profile {
            snack,
            initial_window: 60,
            delayed_ack: None,
            ..scps()
        };
        let mut lost = 0;
        let path = Box::new(move |passing: &Passing<'_>| {
            let first = passing.from == Side::A && !passing.segment.retransmission;
            if first && passing.number % 3 == 2 && lost < 10 && passing.number > 5 {
                lost += 1;
                return Fate::Drop;
            }
            Fate::Deliver(ms(250))
        });
        let mut pair = Pair::new(&profile, &profile, path);
        pair.a.application.pattern = Some((1, 60 * 1460));
        pair.a.application.close_when_written = true;
        pair.b.application.close_when_written = true;
        pair.run_to_rest(Instant::from_secs(1_000));
        assert!(is_pattern(&pair.b.application.received, 1));
        assert_eq!(pair.b.application.received.len(), 60 * 1460);
        pair.when(Side::B, Event::PeerClosed).unwrap().as_secs_f64()
    };
    // Half a round trip of 0.5 s for the handshake's first half, one and a half for window and repair.
    assert_eq!(took(true), 1.25);
    // Without SNACK a hole is repaired each round trip, until the timer goes off.
    assert!(took(false) > 1.25 + 5.0 * 0.5, "{}", took(false));
}

/// Open loop: whatever the window, no packet of 1040 bytes leaves before the bucket holds it.
#[test]
fn data_leaves_at_the_configured_rate() {
    let mut solo = Solo::established(&Profile {
        rate_limit: Some(DataRate::from_bits_per_second(832_000)), // 10 ms for 1040 B
        ..scps()
    });
    solo.write(100_000);
    for packet in 0..5 {
        assert_eq!(solo.sends().len(), 1, "{packet}");
        assert_eq!(solo.wakes_at(), Some(100 + 10 * (packet + 1)));
        solo.at(100 + 10 * (packet + 1));
    }
    // Acknowledgments do not wait.
    assert_eq!(solo.sends().len(), 1);
    solo.receive(data(1, 1001)).receive(data(1001, 2001));
    assert_eq!(solo.sends(), ["ack 2001"]);
}

/// Each acknowledgment of slow start lets out two segments, of which one waits for the bucket: the window still doubles.
#[test]
fn a_limited_rate_does_not_hold_back_slow_start() {
    let mut solo = Solo::established(&Profile {
        rate_limit: Some(DataRate::from_bits_per_second(832_000)),
        ..scps()
    });
    solo.write(100_000);
    for packet in 0..10 {
        assert_eq!(solo.at(100 + 10 * packet).sends().len(), 1);
    }
    for packet in 0..10 {
        let at = 600 + 10 * packet;
        solo.at(at).receive(ack(1_001 + 1_000 * packet as i64));
        assert_eq!(solo.sends().len(), 1);
    }
    assert_eq!(solo.connection.congestion_window(), 20_000);
}

/// CCSDS 714.0-B-2: kind 20, capabilities; kind 21, hole offset and size.
#[test]
fn the_syn_offers_snacks_where_the_profile_has_them() {
    let mut encoded = Vec::new();
    let mut solo = Connection::connect(
        Instant::ZERO,
        end_point(1, 40_000),
        end_point(2, 80),
        &scps(),
        ISS_A,
        1500,
    );
    let syn = solo.poll_transmit(Instant::ZERO).unwrap();
    syn.header.encode(&mut encoded);
    assert!(encoded.windows(4).any(|option| option == [20, 4, 0x40, 0]));
    encoded.clear();
    let header = snack(1, 2, 0x103).header;
    header.encode(&mut encoded);
    assert_eq!(encoded[20..], [1, 1, 21, 6, 0, 2, 1, 3]);
    assert_eq!(TcpHeader::read(&encoded).unwrap().0, header);
}
