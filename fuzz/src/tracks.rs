//! Recorded tracks, of one mobile and of many flights: refused with a line, or usable at any time.

use crate::bytes::Bytes;
use baton_proto::time::{Duration, Instant};
use baton_sim::position::{Track, TrackError, parse_flights};

/// Tries the input as a track and as flights.
pub fn check(data: &[u8]) {
    let mut bytes = Bytes::new(data);
    // A time up to ten thousand hours, by a shift that reaches all scales.
    let shift = bytes.u8() % 49;
    let at = Instant::from_nanos(u64::from(bytes.u8()) << shift);
    let Ok(text) = core::str::from_utf8(bytes.rest()) else {
        return;
    };
    match Track::parse_csv("file", text) {
        Ok(track) => check_use(&track, at),
        Err(error) => check_error(text, &error),
    }
    match parse_flights("file", text) {
        Ok(flights) => {
            assert!(!flights.is_empty(), "no flight, and not refused");
            for flight in flights {
                let (first, last) = flight.span();
                assert!(first < last, "{first} to {last}");
                assert!(!flight.is_present(last) && flight.is_present(first));
                check_use(&flight, at);
            }
        }
        Err(error) => check_error(text, &error),
    }
}

fn check_error(text: &str, error: &TrackError) {
    if let TrackError::Malformed { line, .. } = error {
        assert!((1..=text.lines().count() + 1).contains(line), "{error}");
    }
    assert!(error.to_string().starts_with("file"), "{error}");
    assert!(error.to_string().len() < 1_000 + text.len(), "{error}");
}

fn check_use(track: &Track, at: Instant) {
    let (first, last) = track.span();
    for at in [at, first, last, last + Duration::from_secs(1)] {
        let position = track.position(at);
        let (latitude, longitude) = (position.latitude_deg(), position.longitude_deg());
        assert!(
            latitude.is_finite() && latitude.abs() < 90.001,
            "{latitude}"
        );
        assert!(
            longitude.is_finite() && longitude.abs() < 180.001,
            "{longitude}"
        );
        assert!(position.altitude_m().is_finite());
        let change = track.earliest_change(at, 10.0);
        assert!(change >= at, "{change} after {at}");
    }
    assert!(track.fastest_m_s() >= 0.0, "{}", track.fastest_m_s());
}
