//! Path-MTU discovery by ICMP errors (RFC 1191, RFC 8201), and errors that are not to be believed.

use super::*;
use crate::tcp::profile::Algorithm;
use crate::wire::extension::HomeAddresses;
use crate::wire::icmp::{IcmpError, QuotedWithin};
use core::net::Ipv6Addr;

fn too_big(mtu: u32) -> IcmpError {
    IcmpError::PacketTooBig { mtu }
}

#[test]
fn what_was_too_long_goes_again_in_smaller_segments() {
    let mut solo = Solo::established(&profile("rfc"));
    solo.write(2_500);
    assert_eq!(solo.sends(), ["1..1001", "1001..2001"]);
    let window = solo.connection.congestion_window();
    solo.at(110)
        .connection
        .handle_icmp(at_ms(110), too_big(640), &quoting(ISS_A + 1));
    // 640 − 40 = 600.
    assert_eq!(
        solo.sends(),
        ["1..601", "601..1001", "1001..1601", "1601..2001"]
    );
    assert_eq!(solo.connection.congestion_window(), window);
    solo.at(200).receive(ack(2_001));
    assert_eq!(solo.sends(), ["2001..2501"]);
    assert_eq!(solo.connection.statistics().path_mtu_reductions, 1);
}

/// A type 2 routing header and a home address option take 24 bytes each (RFC 6275 sections 6.3 and 6.4).
#[test]
fn headers_of_mobility_take_their_part_of_the_path() {
    let addresses = HomeAddresses {
        source: Some(Ipv6Addr::LOCALHOST),
        destination: Some(Ipv6Addr::LOCALHOST),
    };
    let mut solo = Solo::established(&profile("rfc"));
    solo.write(1_000);
    assert_eq!(solo.sends(), ["1..1001"]);
    let quoted = QuotedPacket {
        within: Some(Box::new(QuotedWithin::HomeAddresses(addresses))),
        ..quoting(ISS_A + 1)
    };
    solo.at(110)
        .connection
        .handle_icmp(at_ms(110), too_big(640), &quoted);
    // 640 − 48 − 40 = 552.
    assert_eq!(solo.sends(), ["1..553", "553..1001"]);
}

/// Linux counts its window in segments: with smaller ones it grows by one for each that is acknowledged, as before.
#[test]
fn a_window_in_segments_goes_on_growing_with_smaller_ones() {
    for congestion in [Algorithm::Cubic, Algorithm::Reno, Algorithm::Bbr] {
        let profile = Profile {
            congestion,
            ..profile("linux-6")
        };
        let mut solo = Solo::established(&profile);
        let size = solo.connection.segment_size();
        let segments = solo.connection.congestion_window() / size;
        solo.write(30 * u64::from(size));
        solo.sends();
        solo.at(110)
            .connection
            .handle_icmp(at_ms(110), too_big(size), &quoting(ISS_A + 1));
        let smaller = solo.connection.segment_size();
        assert!(smaller < size);
        assert_eq!(solo.connection.congestion_window(), segments * smaller);
        solo.sends();
        solo.at(200).receive(ack(1 + i64::from(smaller)));
        let grown = (segments + 1) * smaller;
        assert_eq!(solo.connection.congestion_window(), grown);
    }
}

#[test]
fn an_error_about_nothing_in_flight_is_not_believed() {
    // RFC 5927 section 7.2: the quoted sequence number must be between SND.UNA and SND.NXT.
    let mut solo = Solo::established(&profile("rfc"));
    solo.write(1_000);
    solo.sends();
    for sequence in [ISS_A, ISS_A + 1_001, ISS_A + 70_000] {
        solo.connection
            .handle_icmp(at_ms(110), too_big(640), &quoting(sequence));
        assert_eq!(solo.connection.segment_size(), 1_000);
    }
    // Nor one that would make the path larger, or smaller than IPv4 allows.
    solo.connection
        .handle_icmp(at_ms(110), too_big(9_000), &quoting(ISS_A + 1));
    assert_eq!(solo.connection.ends.path_mtu(), 1_500);
    solo.connection
        .handle_icmp(at_ms(110), too_big(20), &quoting(ISS_A + 1));
    assert_eq!(solo.connection.ends.path_mtu(), 68);
}

#[test]
fn a_router_that_names_no_size_means_the_next_plateau() {
    let mut solo = Solo::established(&profile("rfc"));
    solo.write(1_000);
    solo.sends();
    solo.connection
        .handle_icmp(at_ms(110), too_big(0), &quoting(ISS_A + 1));
    assert_eq!(
        solo.connection.ends.path_mtu(),
        1_492,
        "RFC 1191 section 7.1"
    );
    solo.connection
        .handle_icmp(at_ms(110), too_big(0), &quoting(ISS_A + 1));
    assert_eq!(solo.connection.ends.path_mtu(), 1_006);
}

#[test]
fn port_unreachable_refuses_a_syn_and_does_not_end_a_connection() {
    let mut solo = Solo::connecting(&profile("rfc"));
    solo.connection
        .handle_icmp(at_ms(5), IcmpError::PortUnreachable, &quoting(ISS_A));
    assert_eq!(solo.events(), [Event::Refused]);
    let mut solo = Solo::established(&profile("rfc"));
    solo.write(10);
    solo.sends();
    solo.connection
        .handle_icmp(at_ms(110), IcmpError::PortUnreachable, &quoting(ISS_A + 1));
    assert_eq!(
        solo.connection.state(),
        State::Established,
        "RFC 5927 section 5"
    );
}

#[test]
fn a_transfer_survives_a_path_that_shrinks() {
    let rfc = profile("rfc");
    let mut pair = Pair::new(
        &rfc,
        &rfc,
        Box::new(|passing| {
            let length = 40 + passing.segment.payload.length();
            if length > 700 && passing.now > at_ms(100) {
                Fate::Drop
            } else {
                Fate::Deliver(ms(10))
            }
        }),
    );
    pair.a.application.pattern = Some((1, 400_000));
    pair.run_until(at_ms(130));
    let sequence = ISS_A + pair.a.connection.sender.flow.space.unacknowledged() as u32;
    let now = pair.now();
    pair.a
        .connection
        .handle_icmp(now, too_big(700), &quoting(sequence));
    pair.run_until(at_ms(5_000));
    assert_eq!(pair.b.application.received.len(), 400_000);
    assert!(is_pattern(&pair.b.application.received, 1));
    assert_eq!(pair.a.connection.segment_size(), 660);
}
