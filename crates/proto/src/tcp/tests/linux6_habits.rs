//! A present Linux: its smaller habits.

use super::linux6::{linux, out, statistics, window, without_probes};
use super::*;
use crate::wire::tcp::Timestamps;

/// A peer's acknowledgment whose timestamp is `value`, and echoes when our clock showed `echo` milliseconds.
pub(super) fn stamped(mut incoming: Incoming, value: u32, echo: u32) -> Incoming {
    incoming.header.options.timestamps = Some(Timestamps {
        value,
        echo: ISS_A.0.wrapping_add(echo),
    });
    incoming
}

pub(super) fn with_timestamps() -> Solo {
    stamping(linux())
}

pub(super) fn stamping(profile: Profile) -> Solo {
    let profile = Profile {
        timestamps: true,
        ..profile
    };
    let mut solo = Solo::connecting(&profile);
    // Segments of 1000 bytes beside the option's 12.
    let mut answer = stamped(Incoming::syn_ack(&profile), 1_000, 0);
    answer.header.options.maximum_segment_size = Some(1_012);
    solo.at(100).receive(answer);
    solo.sends();
    solo
}

/// Seen on a slow path: the peer's first sample of the round-trip time bounds its delay of acknowledgments, and data in
/// place of this acknowledgment takes long to arrive (`tcp_rcv_synsent_state_process`).
#[test]
fn a_syn_ack_is_acknowledged_before_data_leaves() {
    let sent_with = |profile: &Profile| {
        let mut solo = Solo::connecting(profile);
        solo.at(100).receive(Incoming::syn_ack(profile));
        solo.write(2_000);
        solo.sends()
    };
    assert_eq!(sent_with(&linux()), ["ack 1", "1..1001", "1001..2001"]);
    let carried = Profile {
        quick_acks: false,
        ..linux()
    };
    assert_eq!(sent_with(&carried), ["1..1001", "1001..2001"]);
}

/// Seen at a soft handover to a faster path: the slower one delivers what was sent again meanwhile, with timestamps that
/// are out of date (`tcp_send_dupack`).
#[test]
fn an_old_timestamp_s_data_is_reported_as_a_duplicate() {
    let mut solo = with_timestamps();
    solo.at(200).receive(stamped(data(1, 1_001), 1_100, 100));
    solo.sends();
    solo.receive(stamped(data(1, 1_001), 1_050, 100));
    assert_eq!(solo.sends(), ["ack 1001 sack 1..1001"]);
    assert_eq!(statistics(&solo).duplicates_received, 1);
    // An acknowledgment alone reports nothing.
    let old = || stamped(from_peer(TcpFlags::ACK, 1_001, 1), 1_050, 100);
    solo.at(1_000).receive(old());
    assert_eq!(solo.sends(), ["ack 1001"]);
    // Of many, one in 500 ms is answered (`tcp_invalid_ratelimit`).
    solo.at(1_499).receive(old());
    assert!(solo.sends().is_empty());
    solo.at(1_500).receive(old());
    assert_eq!(solo.sends(), ["ack 1001"]);
    assert_eq!(statistics(&solo).duplicates_received, 1);
}

/// Seen with BBR at the same handover: ten segments are found lost by what overtakes them, and wait for pacing. The next
/// original arrives, and the recovery was wrong. The others are not found lost again (`tcp_tsorted_anchor`).
#[test]
fn what_was_wrongly_found_lost_is_not_found_lost_again() {
    let mut solo = with_timestamps();
    solo.write(40_000);
    assert_eq!(solo.sends().len(), 10);
    solo.at(200).receive(stamped(ack(5_001), 1_200, 100));
    assert_eq!(solo.sends().len(), 10, "slow start");
    // Three that were sent later overtake: five are lost. One goes out again.
    let overtaken = |high| stamped(ack(5_001), 1_310, 200).sack(&[(10_001, high)]);
    solo.at(310).receive(overtaken(13_001));
    let again = solo.sends();
    assert_eq!(again[0], "5001..6001", "{again:?}");
    // The originals arrive after all: their echoes are older than the copy.
    let late = stamped(ack(8_001), 1_311, 100).sack(&[(10_001, 13_001)]);
    solo.at(311).receive(late);
    let before = statistics(&solo).retransmitted;
    solo.at(312)
        .receive(stamped(ack(8_001), 1_312, 200).sack(&[(10_001, 15_001)]));
    let sent = solo.sends();
    assert_eq!(statistics(&solo).retransmitted, before, "{sent:?}");
}

/// Seen with BBR at a hard handover of 2 s: the last acknowledgments before it were lost, the timeout's copy arrives after
/// it for nothing, and the kernel waits for its probe. The old echo tells that the copy was not what arrived
/// (`tcp_skb_spurious_retrans`), whether a duplicate is reported or not; so nothing was overtaken.
#[test]
fn a_copy_that_was_not_needed_overtakes_nothing() {
    let sent_later = |echo, duplicate: bool| {
        let mut solo = stamping(without_probes());
        solo.write(10_000);
        assert_eq!(solo.sends().len(), 10);
        assert_eq!(solo.at(400).sends(), ["1..1001"]);
        let mut answer = stamped(ack(4_001), 1_500, echo);
        if duplicate {
            answer = answer.sack(&[(1, 1_001)]);
        }
        solo.at(500).receive(answer);
        assert_eq!(solo.connection.statistics().retransmitted, 1);
        solo.sends();
        solo.at(527).sends().len()
    };
    assert_eq!((sent_later(100, false), sent_later(100, true)), (0, 0));
}

/// Linux reads its timers off a wheel of 4 ms, coarser for long ones: never early, up to an eighth late.
#[test]
fn timers_go_off_exactly_without_the_wheel() {
    let coarse = Profile {
        timer_wheel: true,
        ..linux()
    };
    // A probe after 202 ms: counted in steps of 4 ms, of which one has begun (`kernel/time/timer.c`).
    assert_eq!(out(&linux(), 3).wakes_at(), Some(302));
    let late = out(&coarse, 3).wakes_at().unwrap();
    assert!(late > 302 && late <= 302 + 8, "{late}");
    // The SYN's second.
    assert_eq!(Solo::connecting(&linux()).wakes_at(), Some(1_000));
    let late = Solo::connecting(&coarse).wakes_at().unwrap();
    assert!((1_001..=1_125).contains(&late), "{late}");
}

#[test]
fn without_restart_an_idle_window_stays() {
    for (restart, burst) in [(true, 10), (false, 20)] {
        let mut solo = out(
            &Profile {
                idle_restart: restart,
                ..linux()
            },
            10,
        );
        solo.at(200).receive(ack(10_001));
        assert_eq!(window(&solo), 20);
        solo.at(5_000).write(40_000);
        assert_eq!(solo.sends().len(), burst);
    }
}

/// RFC 2861: an application that uses little of its window keeps only what is half way to what it used.
#[test]
fn a_window_that_is_not_used_shrinks() {
    for (restart, least, most) in [(true, 10, 39), (false, 40, 80)] {
        let mut solo = out(
            &Profile {
                idle_restart: restart,
                ..linux()
            },
            10,
        );
        let mut next = 10_001;
        solo.at(200).receive(ack(next));
        for count in 3..5 {
            let segments = i64::from(window(&solo));
            solo.write(segments as u64 * 1_000);
            solo.sends();
            next += segments * 1_000;
            solo.at(count * 100).receive(ack(next));
        }
        let grown = window(&solo);
        assert!(grown >= 40, "{grown}");
        // A segment each 100 ms, never idle for a timeout.
        for count in 5..30 {
            solo.write(1_000);
            solo.sends();
            next += 1_000;
            solo.at(count * 100).receive(ack(next));
        }
        let left = window(&solo);
        assert!((least..=most).contains(&left), "{left}");
    }
}

/// A window that the application does not fill does not grow, but in slow start to twice what was out
/// (`tcp_is_cwnd_limited`).
#[test]
fn a_window_grows_to_twice_of_what_was_used() {
    let mut solo = Solo::established(&linux());
    let mut next = 1;
    for count in 2..20 {
        solo.write(6_000);
        solo.sends();
        next += 6_000;
        solo.at(count * 100).receive(ack(next));
    }
    let window = window(&solo);
    assert!((12..=17).contains(&window), "{window}");
}

/// `tcp_cleanup_rbuf`: reading all that a push has ended acknowledges it.
#[test]
fn reading_what_was_pushed_acknowledges_it() {
    for (push, sent) in [(true, 1), (false, 0)] {
        let mut solo = Solo::established(&linux());
        // The first are acknowledged at once.
        for segment in 0..16 {
            solo.at(1_000 + segment).receive(data(
                1 + 1_000 * segment as i64,
                1_001 + 1_000 * segment as i64,
            ));
            solo.connection.discard(u64::MAX);
            solo.sends();
        }
        let mut last = data(16_001, 17_001);
        if push {
            last.header.flags = last.header.flags.with(TcpFlags::PSH);
        }
        solo.at(1_016).receive(last);
        assert!(solo.sends().is_empty(), "it may wait");
        solo.connection.discard(u64::MAX);
        assert_eq!(solo.sends().len(), sent);
    }
}

/// Seen at a kernel's sender: segments leave in twos below some 20 Mbit/s, and every second carries PSH; one alone does
/// not (`__tcp_transmit_skb`).
#[test]
fn the_last_of_segments_that_leave_together_is_pushed() {
    let mut solo = out(&linux(), 10);
    solo.write(40_000);
    let mut pushed = |at: u64, acknowledged: i64| {
        solo.at(at).receive(ack(acknowledged));
        let mut flags = String::new();
        while let Some(segment) = solo.connection.poll_transmit(solo.now) {
            let push = segment.header.flags.contains(TcpFlags::PSH);
            flags.push(if push { 'P' } else { '.' });
        }
        flags
    };
    assert_eq!(pushed(200, 1_001), ".P", "slow start");
    assert_eq!(pushed(202, 3_001), ".P.P");
    assert_eq!(pushed(204, 4_001), ".P");
    let mut solo = out(
        &Profile {
            push_bursts: false,
            ..linux()
        },
        10,
    );
    solo.write(40_000);
    solo.at(200).receive(ack(2_001));
    while let Some(segment) = solo.connection.poll_transmit(solo.now) {
        assert!(!segment.header.flags.contains(TcpFlags::PSH));
    }
}

/// `tcp_synack_retries` 5, by Linux's ip-sysctl.rst: 31 s to the last, 63 s in all.
#[test]
fn a_syn_ack_has_a_count_of_its_own() {
    let profile = linux();
    let syn = from_peer(TcpFlags::SYN, 0, 0);
    let now = Instant::ZERO;
    let mut solo = Solo {
        now,
        connection: Connection::accept(
            now,
            end_point(1, 40_000),
            end_point(2, 80),
            &profile,
            ISS_A,
            1500,
            &syn.header,
        ),
    };
    assert_eq!(solo.sends(), ["SYN ack 1"]);
    for at in [1, 3, 7, 15, 31] {
        assert_eq!(solo.wakes_at(), Some(at * 1_000));
        assert_eq!(solo.at(at * 1_000).sends(), ["SYN ack 1"]);
    }
    assert_eq!(solo.wakes_at(), Some(63_000));
    solo.at(63_000);
    assert_eq!(solo.events(), [Event::TimedOut]);
}

/// `tcp_min_rtt_wlen`: a round trip that was short 300 s ago is forgotten, which gives what is reordered more time.
#[test]
fn the_shortest_round_trip_is_that_of_five_minutes() {
    for (window, wait) in [(Some(Duration::from_secs(300)), 100), (None, 25)] {
        let mut solo = out(
            &Profile {
                minimum_rtt_window: window,
                ..linux()
            },
            1,
        );
        let mut next = 1_001;
        solo.at(200).receive(ack(next));
        for count in 1..800 {
            let at = 1_000 * count;
            solo.at(at).write(1_000);
            solo.sends();
            next += 1_000;
            solo.at(at + 400).receive(ack(next));
        }
        solo.at(800_000).write(4_000);
        solo.sends();
        let second = (next + 1_000) as u32;
        solo.at(800_400)
            .receive(ack(next).sack(&[(second, second + 1_000)]));
        // A quarter of it, and 2 ms (RFC 8985 section 6.2 step 5).
        assert_eq!(solo.wakes_at(), Some(800_402 + wait));
    }
}

/// Seen at a soft handover into a full queue: of copies that leave one after the other some are lost, and the later ones,
/// beyond the gap, show it. Their acknowledgment echoes what came before the gap (RFC 7323 section 4.3).
#[test]
fn copies_beyond_a_gap_show_the_loss_of_copies_before_it() {
    let mut solo = with_timestamps();
    solo.write(40_000);
    assert_eq!(solo.sends().len(), 10);
    // Of ten, the first four are lost: the fifth to tenth are reported.
    let after = |high, low| stamped(ack(1), 1_200, 100).sack(&[(low, high)]);
    solo.at(200).receive(after(7_001, 4_001));
    let mut copies = solo.sends();
    for at in 1..4u32 {
        let high = 7_001 + 1_000 * at;
        solo.at(200 + u64::from(at)).receive(after(high, 4_001));
        copies.extend(solo.sends());
    }
    assert!(copies.contains(&"2001..3001".to_owned()), "{copies:?}");
    // The first two copies arrive, the third does not, the fourth does.
    solo.at(300)
        .receive(stamped(ack(2_001), 1_300, 200).sack(&[(4_001, 10_001)]));
    solo.sends();
    solo.at(330)
        .receive(stamped(ack(2_001), 1_330, 200).sack(&[(3_001, 10_001)]));
    assert!(solo.sends().contains(&"2001..3001".to_owned()));
}

/// Seen at 100 Mbit/s, where acknowledgments come eight to a millisecond: what they let out leaves in pieces as large as the
/// rate's (`tcp_tso_should_defer`), but a millisecond after the last one at once.
#[test]
fn what_acknowledgments_in_quick_succession_let_out_leaves_together() {
    let sent_with = |push_bursts| {
        let mut solo = out(
            &Profile {
                initial_slow_start_threshold: Some(10_000),
                push_bursts,
                ..linux()
            },
            10,
        );
        solo.write(30_000);
        [(200, 1), (201, 2), (201, 3), (203, 4)].map(|(at, acknowledged)| {
            solo.at(at).receive(ack(acknowledged * 1_000 + 1));
            solo.sends().len()
        })
    };
    assert_eq!(sent_with(true), [1, 0, 2, 1]);
    assert_eq!(sent_with(false), [1, 1, 1, 1]);
}

/// Data that an old timestamp lets in brings nothing new, too, if it was received beyond a gap.
#[test]
fn an_old_timestamp_s_data_beyond_a_gap_counts_as_a_duplicate() {
    let mut solo = with_timestamps();
    solo.at(200).receive(stamped(data(1, 1_001), 1_100, 100));
    solo.receive(stamped(data(2_001, 3_001), 1_100, 100));
    solo.sends();
    solo.receive(stamped(data(2_001, 3_001), 1_050, 100));
    assert_eq!(solo.sends(), ["ack 1001 sack 2001..3001"]);
    assert_eq!(statistics(&solo).duplicates_received, 1);
    solo.receive(stamped(data(3_001, 4_001), 1_050, 100));
    assert_eq!(statistics(&solo).duplicates_received, 1);
}
