//! Times and places at which uplinks go down, against closed forms.

use super::coverage::{distance_m, place_at};
use super::*;

const UPLINKS: [&str; 2] = ["wlan0", "wwan0"];
/// 2026-11-25, midnight UTC: `date -u -d 2026-11-25 +%s`.
const MIDNIGHT_S: u64 = 1_795_564_800;

fn uplinks() -> Vec<String> {
    UPLINKS.map(str::to_owned).to_vec()
}

fn of_timetable(text: &str) -> Result<Forecast, String> {
    let config: ForecastConfig =
        toml::from_str(text).map_err(|error| error.message().to_owned())?;
    config.check(&uplinks())?;
    Forecast::read(&config, &uplinks())
}

/// A change as a test sees it: the uplink, and the seconds until it goes down, if it does.
type Change = (String, Option<f64>);

fn expected(uplink: &str, goes_in_s: Option<f64>) -> Vec<Change> {
    vec![(uplink.to_owned(), goes_in_s)]
}

/// Returns changes with their times to a millisecond.
fn seen(changes: Vec<Expected>) -> Vec<Change> {
    let seconds = |time: Duration| (time.as_secs_f64() * 1e3).round() / 1e3;
    let changes = changes.into_iter();
    changes
        .map(|change| (change.uplink, change.goes_in.map(seconds)))
        .collect()
}

/// Looks ahead from this many seconds after midnight.
fn look(forecast: &mut Forecast, seconds: f64) -> Vec<Change> {
    let midnight = Duration::from_secs(MIDNIGHT_S);
    seen(forecast.look(midnight + Duration::from_secs_f64(seconds), None))
}

#[test]
fn an_uplink_is_left_ahead_of_its_time_and_stays_afterwards() {
    let mut forecast = of_timetable(
        "announce = \"3 s\"\n[[timetable]]\nuplink = \"wlan0\"\nfrom = \"2026-11-25T09:15:30+01:00\"\nuntil = \"2026-11-25T08:17:00Z\"",
    )
    .unwrap();
    let from = 8.0 * 3600.0 + 15.0 * 60.0 + 30.0;
    assert_eq!(look(&mut forecast, from - 3.1), []);
    assert_eq!(
        look(&mut forecast, from - 2.9),
        expected("wlan0", Some(2.9))
    );
    assert_eq!(forecast.leaving().collect::<Vec<_>>(), ["wlan0"]);
    assert_eq!(look(&mut forecast, from + 89.9), []);
    assert_eq!(look(&mut forecast, from + 90.1), expected("wlan0", None));
    assert_eq!(look(&mut forecast, from + 86_400.0), []);
}

#[test]
fn a_forecast_that_goes_on_from_another_says_only_what_is_new() {
    let text = "timetable = [{ uplink = \"wwan0\", from = \"08:00\", until = \"09:00\" }]";
    let mut forecast = of_timetable(text).unwrap();
    forecast.go_on_from(&uplinks());
    let stays = expected("wlan0", None);
    assert_eq!(look(&mut forecast, 8.5 * 3600.0), stays);
    assert_eq!(forecast.leaving().collect::<Vec<_>>(), ["wwan0"]);
}

#[test]
fn a_time_of_day_comes_back_each_day_also_over_midnight() {
    let mut forecast = of_timetable(
        "timetable = [{ uplink = \"wwan0\", from = \"23:59:00\", until = \"00:01:00\" }]",
    )
    .unwrap();
    for day in [0.0, 86_400.0] {
        assert_eq!(look(&mut forecast, day + 86_337.0), []);
        let ahead = look(&mut forecast, day + 86_338.1);
        assert_eq!(ahead, expected("wwan0", Some(1.9)));
        assert_eq!(look(&mut forecast, day + 86_400.0), []);
        assert_eq!(look(&mut forecast, day + 86_460.0), expected("wwan0", None));
    }
}

#[test]
fn a_timetable_that_makes_no_sense_is_refused_with_its_key() {
    let of = |fields: &str| of_timetable(&format!("timetable = [{{ {fields} }}]")).unwrap_err();
    for (fields, message) in [
        (
            "uplink = \"eth0\", from = \"08:00\", until = \"09:00\"",
            "forecast.timetable[0].uplink: \"eth0\" is not an uplink; expected one of: wlan0, wwan0",
        ),
        (
            "uplink = \"wlan0\", from = \"2026-11-25T09:00:00Z\", until = \"2026-11-25T08:00:00Z\"",
            "forecast.timetable[0].until: not after `from`; expected a later time",
        ),
        (
            "uplink = \"wlan0\", from = \"09:00:00\", until = \"2026-11-25T08:00:00Z\"",
            "forecast.timetable[0].until: expected a time with a date if `from` has one, and without if it has none",
        ),
        (
            "uplink = \"wlan0\", from = \"2026-11-25 09:00\", until = \"10:00\"",
            "\"2026-11-25 09:00\": expected a time of every day in UTC, such as \"08:15:30\", or one with date and offset, such \
             as \"2026-11-25T08:15:30Z\"",
        ),
    ] {
        assert_eq!(of(fields), message);
    }
    assert_eq!(
        of_timetable("").unwrap_err(),
        "forecast: expected a `timetable`, or `coverage` and `gpsd`"
    );
}

/// A line from south to north, with a sample every 111.2 m (a thousandth of a degree), and a tunnel from the eleventh
/// sample on.
const LINE: &str = "latitude,longitude,wlan0\n50.000,7,1\n50.001,7,1\n50.002,7,1\n50.003,7,1\n50.004,7,1\n50.005,7,1\n\
                    50.006,7,1\n50.007,7,1\n50.008,7,1\n50.009,7,1\n50.010,7,0\n50.011,7,0\n50.012,7,1\n";

fn on_line(announced_s: u64) -> Forecast {
    Forecast {
        announced: Duration::from_secs(announced_s),
        timetable: Vec::new(),
        coverage: Some(Coverage::parse(LINE.as_bytes(), &uplinks()).unwrap()),
        leaving: uplinks().into_iter().map(|name| (name, false)).collect(),
    }
}

fn fix(latitude_deg: f64, speed_m_per_s: f64, course_deg: f64) -> Option<Fix> {
    Some(Fix {
        latitude_deg,
        longitude_deg: 7.0,
        speed_m_per_s,
        course_deg,
        age_s: 0.0,
    })
}

/// At 55.6 m/s a train covers the spacing of samples in two seconds; the tunnel's first sample is the nearest one from
/// 50.0095 degrees on. The time left is told in eighths of that announced.
#[test]
fn a_train_leaves_an_uplink_as_long_before_the_tunnel_as_announced() {
    let mut forecast = on_line(4);
    let at = Duration::ZERO;
    assert_eq!(forecast.look(at, fix(50.0074, 55.6, 0.0)), []);
    assert_eq!(
        seen(forecast.look(at, fix(50.0076, 55.6, 0.0))),
        expected("wlan0", Some(4.0))
    );
    assert_eq!(forecast.look(at, fix(50.011, 55.6, 0.0)), []);
    assert_eq!(
        seen(forecast.look(at, fix(50.0116, 55.6, 0.0))),
        expected("wlan0", None)
    );
    // On the way back the tunnel is ahead again; it is not while the train stands before it.
    assert_eq!(
        seen(forecast.look(at, fix(50.0116, 55.6, 180.0))),
        expected("wlan0", Some(0.5))
    );
    assert_eq!(
        seen(forecast.look(at, fix(50.0117, 0.0, 180.0))),
        expected("wlan0", None)
    );
}

#[test]
fn without_a_position_and_far_from_the_line_nothing_is_foretold() {
    let mut forecast = on_line(4);
    assert_eq!(forecast.look(Duration::ZERO, None), []);
    assert_eq!(forecast.look(Duration::ZERO, fix(50.03, 0.0, 0.0)), []);
    let inside = forecast.look(Duration::ZERO, fix(50.0105, 0.0, 0.0));
    assert_eq!(seen(inside), expected("wlan0", Some(0.0)));
    assert_eq!(
        seen(forecast.look(Duration::ZERO, None)),
        expected("wlan0", None)
    );
}

#[test]
fn an_old_position_is_carried_on_by_its_speed() {
    let mut forecast = on_line(0);
    let old = fix(50.0074, 55.6, 0.0).map(|fix| Fix { age_s: 4.3, ..fix });
    let found = forecast.look(Duration::ZERO, old);
    assert_eq!(seen(found), expected("wlan0", Some(0.0)));
}

#[test]
fn a_file_of_coverage_that_is_wrong_is_refused_with_its_line() {
    for (text, message) in [
        (
            "lat,lon,wlan0\n",
            "line 1: expected the columns latitude, longitude, and one for each uplink that may be away",
        ),
        (
            "latitude,longitude,eth0\n",
            "line 1: \"eth0\" is not an uplink; expected some of: wlan0, wwan0",
        ),
        (
            "latitude,longitude,wlan0\n50,7,yes\n",
            "line 2: \"yes\": expected 1 where the uplink carries packets, 0 where it does not",
        ),
        (
            "latitude,longitude,wlan0\n50,7,1\n95,7,1\n",
            "line 3: \"95\": expected degrees from -90 to 90",
        ),
        ("latitude,longitude,wlan0\n", "expected at least one place"),
    ] {
        let wrong = Coverage::parse(text.as_bytes(), &uplinks()).unwrap_err();
        assert_eq!(wrong, message);
    }
}

/// A minute of arc on a sphere of the mean radius is 1853.25 m, and on the 60th parallel half of it.
#[test]
fn distances_are_those_of_the_sphere() {
    let minute = 1.0 / 60.0;
    assert!((distance_m((0.0, 0.0), (minute, 0.0)) - 1853.25).abs() < 0.01);
    assert!((distance_m((60.0, 179.999), (60.0, minute - 180.001)) - 926.6).abs() < 0.1);
    for course in [0.0, 60.0, 200.0, 359.0] {
        let there = place_at((-33.0, 151.0), 700.0, course);
        assert!((distance_m((-33.0, 151.0), there) - 700.0).abs() < 0.1);
    }
}

/// The example of gpsd_json(5).
#[test]
fn a_report_of_gpsd_is_read() {
    let line = br#"{"class":"TPV","time":"2010-04-30T11:48:20.10Z","ept":0.005,"lat":46.498204497,"lon":7.568061439,"alt":1327.689,"epx":15.319,"epy":17.054,"epv":124.484,"track":10.3797,"speed":0.091,"climb":-0.085,"eps":34.11,"mode":3}"#;
    let expected = Fix {
        latitude_deg: 46.498204497,
        longitude_deg: 7.568061439,
        speed_m_per_s: 0.091,
        course_deg: 10.3797,
        age_s: 0.0,
    };
    assert_eq!(Fix::parse(line), Some(expected));
    for other in [
        &br#"{"class":"VERSION","release":"3.25","proto_major":3}"#[..],
        br#"{"class":"TPV","mode":1}"#,
        br#"{"class":"TPV","mode":3,"lat":91.0,"lon":7.5}"#,
        b"{\"class\":\"TPV\",\"mo",
        b"",
    ] {
        assert_eq!(Fix::parse(other), None);
    }
}
