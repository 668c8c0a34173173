//! Any one packet that is lost, and any two: a connection is opened, used both ways and closed.

use super::*;

const BYTES: u32 = 3000;
/// Bytes that two lost packets carry at the most.
const OF_TWO_PACKETS: u64 = 2 * 1472;

/// A asks and closes, B answers and closes. Ends with both, or after ten minutes.
fn talk(mode: Mode, lose: &[usize]) -> Pair {
    let mut pair = Pair::new(with_mode(mode), study_path(0.0, 1));
    pair.lose = lose.to_vec();
    pair.write(u64::from(BYTES));
    pair.a.close();
    let mut has_answered = false;
    for step in 1..700 {
        // Fine at first, then by seconds.
        let now = match step {
            ..100 => f64::from(step) / 100.0,
            _ => f64::from(step - 99),
        };
        pair.seconds(now);
        let asked = pair.saw(End::B, Event::Finished);
        if let Some(b) = pair.b.as_mut().filter(|_| asked && !has_answered) {
            has_answered = true;
            let payload = Payload::Pattern {
                stream: 8,
                offset: 0,
                length: BYTES,
            };
            assert_eq!(b.write(&payload), u64::from(BYTES));
            b.close();
        }
        if is_over(&pair) {
            break;
        }
    }
    pair
}

fn is_over(pair: &Pair) -> bool {
    let b = pair.b.as_ref();
    pair.a.state() == State::Closed && b.is_none_or(|b| b.state() == State::Closed)
}

/// A mode that repeats delivers all and tells both; one that does not ends, and lacks no more than was lost.
fn assert_ends_well(mode: Mode, pair: &Pair, lost: &[usize]) {
    let about = format!("{mode:?} without {lost:?} at {:?}", pair.now());
    assert!(is_over(pair), "{about}: {:?}", pair.a);
    if mode.repeats() {
        assert_eq!(pair.read_bytes, [u64::from(BYTES); 2], "{about}");
        for end in [End::A, End::B] {
            assert!(pair.saw(end, Event::Delivered), "{about}: {end:?}");
            let failed = pair.saw(end, Event::Reset) || pair.saw(end, Event::TimedOut);
            assert!(!failed, "{about}: {end:?} {:?}", pair.events);
        }
        assert!(pair.now() < Instant::from_secs(30), "{about}");
    } else if lost.is_empty() {
        assert_eq!(pair.read_bytes, [u64::from(BYTES); 2], "{about}");
    } else {
        let least = u64::from(BYTES).saturating_sub(OF_TWO_PACKETS);
        assert!(pair.read_bytes[1] >= least, "{about}");
    }
}

#[test]
fn any_two_lost() {
    let mut runs = 0;
    for mode in Mode::ALL {
        let mut ends_well = |lost: &[usize]| {
            runs += 1;
            let pair = talk(mode, lost);
            assert_ends_well(mode, &pair, lost);
            pair.sent
        };
        for first in 0..ends_well(&[]) {
            // The packets after the first loss differ: the second may be any of them.
            for second in first + 1..ends_well(&[first]) {
                ends_well(&[first, second]);
            }
        }
    }
    assert!(runs > 300, "{runs}");
}
