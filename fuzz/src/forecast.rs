//! Texts that a forecast reads: a file of coverage, and gpsd's lines.

use crate::bytes::Bytes;
use baton_daemon::forecast::{Coverage, Fix};
use baton_proto::time::Duration;

const UPLINKS: [&str; 2] = ["wlan0", "wwan0"];
/// Coverage that ends and begins again along a meridian.
const COVERAGE: &[u8] = b"latitude,longitude,wlan0\n50.000,7,1\n50.005,7,0\n50.010,7,1\n";

fn parse(text: &[u8]) -> Result<Coverage, String> {
    Coverage::parse(text, &UPLINKS.map(str::to_owned))
}

/// Looks ahead from a position: a loss is within the time ahead.
fn check_use(coverage: &Coverage, fix: Fix) {
    for ahead in [0, 2, 3_600].map(Duration::from_secs) {
        for uplink in UPLINKS {
            let left = coverage.ends_in(uplink, fix, ahead);
            assert!(left.is_none_or(|left| left <= ahead), "{left:?} of {ahead}");
        }
        assert_eq!(coverage.ends_in("eth0", fix, ahead), None);
    }
}

/// Tries a file of coverage from a position near its places or anywhere: usable, or refused with its line.
pub fn check_coverage(data: &[u8]) {
    let mut bytes = Bytes::new(data);
    let [north, east, course, speed, age_s] = [(); 5].map(|()| f64::from(bytes.u8()));
    let fix = Fix {
        latitude_deg: north / 255.0 * 180.0 - 90.0,
        longitude_deg: east / 255.0 * 360.0 - 180.0,
        speed_m_per_s: speed,
        course_deg: course * 2.0,
        age_s,
    };
    match parse(bytes.rest()) {
        Ok(coverage) => check_use(&coverage, fix),
        Err(message) => {
            let has_place = message.contains("line") || message == "expected at least one place";
            assert!(has_place, "{message:?}");
        }
    }
}

/// Tries a line of gpsd: a position on the globe, or none.
pub fn check_gpsd(data: &[u8]) {
    let Some(fix) = Fix::parse(data) else {
        return;
    };
    assert!(
        fix.latitude_deg.abs() <= 90.0 && fix.longitude_deg.abs() <= 180.0,
        "{fix:?}"
    );
    assert!(
        fix.speed_m_per_s >= 0.0 && fix.speed_m_per_s.is_finite(),
        "{fix:?}"
    );
    assert!(fix.course_deg.is_finite(), "{fix:?}");
    let coverage = parse(COVERAGE).expect("the coverage is valid");
    check_use(&coverage, fix);
}
