//! Receive windows by dynamic right-sizing (Fisk and Feng, 2001).

use super::*;
use std::collections::VecDeque;

const FULL: u64 = 1_000;

fn right_sized() -> Profile {
    Profile {
        receive_autotuning: Autotuning::RightSizing,
        maximum_segment_size: FULL as u16,
        delayed_ack: None,
        ..profile("rfc")
    }
}

/// A connection whose peer has sent `arrived` bytes; it stands at 100 ms.
struct Download {
    solo: Solo,
    arrived: u64,
}

impl Download {
    fn begin(profile: &Profile) -> Download {
        Download {
            solo: Solo::established(profile),
            arrived: 0,
        }
    }

    /// Lets a segment arrive, which is read at once.
    fn segment(&mut self) {
        let from = 1 + self.arrived as i64;
        self.solo.receive(data(from, from + FULL as i64));
        self.solo.connection.discard(u64::MAX);
        self.solo.sends();
        self.arrived += FULL;
    }

    /// Lets a window's segments arrive at this time, in milliseconds, from a sender that fills it.
    fn window_at(&mut self, milliseconds: u64) -> u64 {
        self.solo.at(milliseconds);
        let segments = self.window() / FULL;
        (0..segments).for_each(|_| self.segment());
        segments
    }

    fn window(&self) -> u64 {
        self.solo.connection.receive_window()
    }
}

/// A round trip of 100 ms on a path of any rate. The count of a round trip is complete with the first segment of the next
/// one, and the sender fills the larger window another round trip later: twice as much in every second.
#[test]
fn a_window_doubles_in_every_second_round_trip() {
    let mut download = Download::begin(&right_sized());
    let windows: Vec<u64> = (2..9)
        .map(|round| download.window_at(100 * round))
        .collect();
    assert_eq!(windows, [2, 2, 4, 4, 8, 8, 16]);
}

/// 100 kB/s and 200 ms hold 20 segments.
#[test]
fn a_window_stays_within_twice_what_the_path_holds() {
    let mut download = Download::begin(&right_sized());
    // Departures of the last window's segments, in milliseconds, and when the link is free.
    let (mut due, mut free_at) = (VecDeque::from([200, 200]), 0);
    let mut arrivals = Vec::new();
    let mut promised = 2;
    while arrivals.len() < 2_000 {
        let sent: u64 = due.pop_front().expect("the window is open");
        free_at = free_at.max(sent + 100) + 10;
        download.solo.at(free_at);
        download.segment();
        arrivals.push(free_at);
        // The sender fills the window 100 ms later.
        let end = (download.arrived + download.window()) / FULL;
        (promised..end).for_each(|_| due.push_back(free_at + 100));
        promised = promised.max(end);
    }
    assert!(
        (20..=42).contains(&(download.window() / FULL)),
        "{}",
        download.window()
    );
    // The link is never idle in the second half.
    assert_eq!(arrivals[1_999] - arrivals[999], 10_000);
}

#[test]
fn a_window_does_not_count_a_burst_behind_the_handshake_as_a_round_trip() {
    let mut download = Download::begin(&right_sized());
    download.solo.at(101);
    download.segment();
    download.segment();
    assert_eq!(download.window(), 2 * FULL);
}

#[test]
fn a_window_neither_outgrows_the_buffer_nor_shrinks() {
    let profile = Profile {
        receive_buffer: 10_000,
        ..right_sized()
    };
    let mut download = Download::begin(&profile);
    (2..20).for_each(|round| _ = download.window_at(100 * round));
    assert_eq!(download.window(), 10_000);
    for second in 3..60 {
        download.solo.at(1_000 * second);
        download.segment();
    }
    assert_eq!(download.window(), 10_000);
}
