//! Buffers that tune themselves, as Linux's do (6.18): `tcp_grow_window`, `tcp_rcv_space_adjust`, `tcp_sndbuf_expand`.

use super::linux6::{linux, out, window, with_bbr};
use super::*;
use crate::wire::tcp::Timestamps;

fn tuned() -> Profile {
    Profile {
        receive_autotuning: Autotuning::Linux,
        timestamps: true,
        ..linux()
    }
}

/// A peer with timestamps and scaled windows; the connection stands at 100 ms.
fn established(profile: &Profile) -> Solo {
    let mut solo = Solo::connecting(profile);
    let mut answer = Incoming::syn_ack(profile);
    answer.header.options.window_scale = profile.window_scaling.then_some(7);
    answer.header.options.timestamps = Some(Timestamps { value: 1, echo: 0 });
    solo.at(100).receive(answer);
    solo.sends();
    solo
}

/// Payload of a full segment.
const FULL: i64 = 1_448;

/// Segment `number`, which was sent when our clock showed `echo` milliseconds.
fn segment(number: i64, echo: u32) -> Incoming {
    let start = 1 + FULL * number;
    let mut incoming = data(start, start + FULL);
    incoming.header.options.timestamps = Some(Timestamps {
        value: 2,
        echo: ISS_A.0.wrapping_add(echo),
    });
    incoming
}

/// So many segments from number `first`, each read at once. Returns how many acknowledgments left.
fn round(solo: &mut Solo, first: i64, segments: i64, echo: u32) -> usize {
    let mut acknowledgments = 0;
    for number in first..first + segments {
        solo.receive(segment(number, echo));
        solo.connection.discard(u64::MAX);
        acknowledgments += solo.sends().len();
    }
    acknowledgments
}

/// Windows are said in units of 512 bytes, and grow by a segment at least.
fn offers(solo: &Solo, bytes: u64) {
    let window = solo.connection.receive_window();
    assert!(
        window.abs_diff(bytes) <= 512 + 1_448,
        "{window}, not {bytes}"
    );
}

/// The figures are those of a kernel (6.18.44) at a TUN device, seen by its tracepoint `tcp_rcvbuf_grow`.
#[test]
fn a_receive_window_begins_with_64_kib_and_is_ahead_of_a_sender_that_doubles() {
    let mut solo = established(&tuned());
    // Half of 128 KiB, in whole segments of 1460 bytes: what every Linux says in its SYN.
    offers(&solo, 64_240);
    solo.at(200);
    // A full segment takes 2304 bytes of memory: 160/256 of the 128 KiB are window, a segment is not yet read. The ten
    // segments of a first window are no growth.
    round(&mut solo, 0, 10, 100);
    offers(&solo, 80_480);
    solo.at(300);
    round(&mut solo, 10, 20, 200);
    offers(&solo, 80_480);
    // The first that is read ends a round trip with 20 segments after one with 10: 2 · 28,960 and twice the growth of
    // that, 173,760; to that the window rises by two segments for each that comes.
    solo.at(400);
    round(&mut solo, 30, 10, 300);
    offers(&solo, 80_480 + 9 * 2 * 1_448);
    round(&mut solo, 40, 30, 300);
    offers(&solo, 173_760 - 1_448);
    // 40 after 20.
    solo.at(500);
    round(&mut solo, 70, 80, 400);
    offers(&solo, 2 * 173_760 - 1_448);
}

#[test]
fn a_window_that_does_not_limit_the_sender_stays() {
    let mut solo = established(&tuned());
    for count in 2..40 {
        solo.at(count * 100);
        let (first, echo) = (10 * (count as i64 - 2), 100 * (count as u32 - 1));
        round(&mut solo, first, 10, echo);
    }
    offers(&solo, 80_480);
}

#[test]
fn a_window_never_outgrows_the_largest_buffer() {
    let mut profile = tuned();
    profile.receive_buffer = 100_000;
    let mut solo = established(&profile);
    let (mut first, mut segments) = (0, 10);
    for count in 2..9 {
        solo.at(count * 100);
        round(&mut solo, first, segments, 100 * (count as u32 - 1));
        assert!(solo.connection.receive_window() <= 100_000);
        first += segments;
        segments = (2 * segments).min(60);
    }
    offers(&solo, 100_000 - 1_448);
}

/// A search has found that a window of what short segments leave of the memory keeps a sender waiting for ever.
#[test]
fn short_segments_do_not_shrink_the_window() {
    let mut solo = established(&tuned());
    solo.at(200);
    let mut incoming = segment(0, 100);
    incoming.length = 10;
    solo.receive(incoming);
    solo.connection.discard(u64::MAX);
    solo.sends();
    offers(&solo, 64_240);
}

#[test]
fn what_is_not_read_does_not_make_the_buffer_grow() {
    // Unscaled, so that rounding moves nothing.
    let mut solo = established(&Profile {
        window_scaling: false,
        ..tuned()
    });
    for count in 2..6 {
        solo.at(count * 100);
        let first = 10 * (count as i64 - 2);
        for number in first..first + 10 {
            solo.receive(segment(number, 100 * (count as u32 - 1)));
            solo.sends();
        }
    }
    // 40 segments of 81,920 bytes wait to be read.
    offers(&solo, 81_920 - 40 * 1_448);
}

/// `tcp_grow_window` asks for one quick acknowledgment each time.
#[test]
fn while_the_window_rises_each_segment_is_acknowledged() {
    let mut solo = established(&tuned());
    solo.at(200);
    round(&mut solo, 0, 10, 100);
    solo.at(300);
    round(&mut solo, 10, 20, 200);
    solo.at(400);
    round(&mut solo, 30, 1, 300);
    // From 80,480 to 172,312 bytes by 2896 each.
    assert_eq!(round(&mut solo, 31, 32, 300), 32);
    let rest = round(&mut solo, 63, 20, 300);
    assert!(rest <= 11, "{rest}: every second");
}

#[test]
fn without_tuning_the_window_has_its_size_from_the_start() {
    let mut profile = tuned();
    profile.receive_autotuning = Autotuning::Off;
    profile.receive_buffer = 1 << 20;
    let mut solo = established(&profile);
    solo.at(200);
    round(&mut solo, 0, 1, 100);
    offers(&solo, 1 << 20);
}

/// `ss` shows this of a connection that has just begun: `tb87040`, with segments of 1460 bytes. What is not sent yet is
/// one piece, which is charged 832.
#[test]
fn a_send_buffer_begins_with_16_kib_and_then_two_windows() {
    let profile = Profile {
        send_autotuning: true,
        ..linux()
    };
    let mut solo = Solo::connecting(&profile);
    assert_eq!(solo.connection.write_pattern(0, 1_000_000), 16_384);
    let mut answer = Incoming::syn_ack(&profile);
    answer.header.options.maximum_segment_size = Some(1_460);
    solo.at(100).receive(answer);
    assert!(solo.events().contains(&Event::Writable));
    let segments = (87_040_u64 - 832).div_ceil(1_460);
    assert_eq!(solo.connection.writable(), segments * 1_460 - 16_384);
}

#[test]
fn a_send_buffer_grows_with_the_window_if_it_limits_the_sender() {
    let tuned = |profile| Profile {
        send_autotuning: true,
        ..profile
    };
    let mut solo = Solo::established(&tuned(linux()));
    // Segments of 1000 bytes count 2048 and 256.
    let holds = |segments: u64| (segments * 2_304 - 832).div_ceil(1_000) * 1_000;
    let first = holds(2 * 10);
    let mut written = solo.connection.write_pattern(0, 1_000_000);
    assert_eq!(written, first);
    for round in 0..100 {
        solo.at(200 + round * 10).sends();
        let acknowledged = solo.connection.bytes_acknowledged() as i64;
        solo.receive(ack(acknowledged + 1_001));
        if solo.events().contains(&Event::Writable) {
            written += solo.connection.write_pattern(0, 1_000_000);
        }
    }
    let acknowledged = solo.connection.bytes_acknowledged();
    let capacity = written - acknowledged + solo.connection.writable();
    assert!(capacity > first, "it has limited the sender");
    let grown = u64::from(window(&solo));
    assert!(capacity <= holds(2 * grown), "{capacity}, {grown}");
    assert_eq!(capacity % 1_000, 0, "whole segments");
    // A control that paces holds a window more.
    let mut solo = Solo::established(&tuned(with_bbr()));
    let room = solo.connection.write_pattern(0, 1_000_000);
    assert_eq!(room, holds(3 * 10));
}

/// Seen at 20 Mbit/s over 600 ms, with BBR, whose segments left in fours: a writer was woken when 1683 of 1448 bytes were
/// out, of 4,194,304 bytes. That is 832 for each piece. Here the memory is a hundredth.
#[test]
fn what_is_out_is_charged_by_the_piece() {
    let profile = Profile {
        send_autotuning: true,
        send_buffer: 41_943,
        ..linux()
    };
    let mut solo = Solo::connecting(&profile);
    let mut answer = Incoming::syn_ack(&profile);
    answer.header.options.maximum_segment_size = Some(1_448);
    solo.at(100).receive(answer);
    let holds = |pieces: u64| (41_943 - 832 * pieces).div_ceil(1_448);
    assert_eq!(
        solo.connection.write_pattern(0, 1_000_000),
        holds(1) * 1_448
    );
    let sent = solo.sends().len() as u64 - 1;
    assert_eq!(
        sent, 10,
        "in pieces of two, and the handshake's acknowledgment"
    );
    // Three pieces are out and what is not sent.
    solo.at(200).receive(ack(5 * 1_448 + 1));
    let held = holds(1) - 5;
    assert_eq!(solo.connection.writable(), (holds(4) - held) * 1_448);
    // Four of the five that are out are SACKed: a kernel merges their pieces, which frees what these were charged (seen there
    // as a writer that is woken while nothing is acknowledged).
    let full = |number: u32| number * 1_448 + 1;
    solo.at(201)
        .receive(ack(full(5).into()).sack(&[(full(6), full(10))]));
    assert_eq!(solo.connection.writable(), (holds(2) - held) * 1_448);
}

#[test]
fn a_fixed_send_buffer_stays() {
    let mut solo = out(&linux(), 10);
    let capacity = 4 << 20;
    assert_eq!(solo.connection.write_pattern(0, 1 << 30), capacity - 10_000);
    solo.at(200).receive(ack(5_001));
    assert_eq!(solo.connection.writable(), 5_000);
}
