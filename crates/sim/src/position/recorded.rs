//! Recorded tracks: comma-separated, with a header line that names `time` (seconds), `latitude` and `longitude`
//! (degrees) and `altitude` (metres), in any order, or has the names of the OpenSky Network's tables. Other columns are
//! ignored. Times count from the first line's.

use super::{Position, Track, TrackError};
use baton_proto::time::{Duration, Instant};

const COLUMNS: [&str; 4] = ["time", "latitude", "longitude", "altitude"];
/// Names of each column; if several are present, the first is taken. `geoaltitude` is measured by satellite navigation,
/// `baroaltitude` by air pressure (OpenSky's state vectors).
const NAMES: [&[&str]; 4] = [
    &["time"],
    &["latitude", "lat"],
    &["longitude", "lon"],
    &["altitude", "alt", "geoaltitude", "baroaltitude"],
];
const HEADER: &str = "a header that names time, latitude (or lat), longitude (or lon) and altitude (or alt, geoaltitude, baroaltitude), each once";
const MEANINGS: [&str; 4] = [
    "a time in seconds, later than that of the line above and less than 584 years after the first",
    "a latitude from -90 to 90 degrees",
    "a longitude from -180 to 180 degrees",
    "an altitude from -1000 to 1000000 metres",
];
const RANGES: [(f64, f64); 4] = [
    (f64::MIN, f64::MAX),
    (-90.0, 90.0),
    (-180.0, 180.0),
    (-1e3, 1e6),
];

impl Track {
    /// Reads the text of a recorded track; `file` is its name for messages.
    pub fn parse_csv(file: &str, text: &str) -> Result<Track, TrackError> {
        let mut lines = text.lines().enumerate();
        // Spreadsheets put a byte order mark in front.
        let header = lines.next().map_or("", |(_, line)| line);
        let places = places(file, header.trim_start_matches('\u{feff}'))?;
        let mut points = Vec::new();
        let mut first_time = None;
        for (index, line) in lines.filter(|(_, line)| !line.trim().is_empty()) {
            let fields: Vec<&str> = line.split(',').map(str::trim).collect();
            let values = values(file, index, &fields, &places)?;
            let time = values[0];
            let since = Duration::from_secs_f64(time - *first_time.get_or_insert(time));
            let at = Instant::ZERO + since;
            let late = points.last().is_some_and(|&(before, _)| at <= before);
            if late || since == Duration::MAX {
                return Err(malformed(file, index, 0, &time.to_string()));
            }
            points.push((at, position(&values)));
        }
        if points.is_empty() {
            return Err(TrackError::Empty { what: file.into() });
        }
        Track::recorded(points)
    }
}

/// Returns the place in a line of each of [`COLUMNS`].
pub(super) fn places(file: &str, header: &str) -> Result<[usize; 4], TrackError> {
    let names: Vec<&str> = header.split(',').map(str::trim).collect();
    let mut places = [0; 4];
    for (column, called) in NAMES.iter().enumerate() {
        let found = called.iter().find(|name| names.contains(name));
        let mut at = (0..names.len()).filter(|&place| Some(&names[place]) == found);
        match (at.next(), at.next()) {
            (Some(place), None) => places[column] = place,
            _ => {
                return Err(TrackError::Malformed {
                    file: file.into(),
                    line: 1,
                    column: COLUMNS[column].into(),
                    expected: HEADER.into(),
                    found: header.into(),
                });
            }
        }
    }
    Ok(places)
}

/// Returns the values of [`COLUMNS`] in a line's fields.
pub(super) fn values(
    file: &str,
    index: usize,
    fields: &[&str],
    places: &[usize; 4],
) -> Result<[f64; 4], TrackError> {
    let mut values = [0.0; 4];
    for (column, &place) in places.iter().enumerate() {
        let field = fields.get(place).copied().unwrap_or("");
        let (least, most) = RANGES[column];
        let value = field.parse::<f64>().ok();
        values[column] = value
            .filter(|value| value.is_finite() && (least..=most).contains(value))
            .ok_or_else(|| malformed(file, index, column, field))?;
    }
    Ok(values)
}

/// Returns the position among the values of a line.
pub(super) fn position(&[_, latitude, longitude, altitude]: &[f64; 4]) -> Position {
    Position::new(latitude, longitude, altitude)
}

/// Returns the error for a cell of a column of [`COLUMNS`].
pub(super) fn malformed(file: &str, index: usize, column: usize, found: &str) -> TrackError {
    TrackError::Malformed {
        file: file.into(),
        line: index + 1,
        column: COLUMNS[column].into(),
        expected: MEANINGS[column].into(),
        found: if found.is_empty() {
            "nothing".into()
        } else {
            found.into()
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_with_more_columns_is_read() {
        let text = "icao24,time,longitude,latitude,altitude\n\
                    4b1806,1700000000.5,5.0,50.0,10000\n\n\
                    4b1806,1700000010.5,5.1,50.0,11000\n";
        let track = Track::parse_csv("flight.csv", text).unwrap();
        assert_eq!(track.span(), (Instant::ZERO, Instant::from_secs(10)));
        let halfway = track.position(Instant::from_secs(5));
        assert!((halfway.altitude_m() - 10_500.0).abs() < 1e-6);
        assert!((halfway.longitude_deg() - 5.05).abs() < 1e-6);
    }

    /// A header as the OpenSky Network's historical state vectors have it.
    #[test]
    fn a_log_of_opensky_is_read() {
        let text = "time,icao24,lat,lon,velocity,heading,vertrate,callsign,onground,baroaltitude,geoaltitude,hour\n\
                    1559368800,4b1806,50.0,5.0,230,90,0,SWR1,false,10000,10200,1559368800\n\
                    1559368810,4b1806,50.0,5.1,230,90,0,SWR1,false,10000,10400,1559368800\n";
        let track = Track::parse_csv("opensky.csv", text).unwrap();
        let halfway = track.position(Instant::from_secs(5));
        assert!((halfway.altitude_m() - 10_300.0).abs() < 1e-6);
        assert!((halfway.longitude_deg() - 5.05).abs() < 1e-6);
        let twice = "time,lat,lat,lon,alt\n0,50,50,5,0\n";
        let refused = Track::parse_csv("f", twice).unwrap_err().to_string();
        assert!(refused.starts_with("f:1: column latitude"), "{refused}");
        let barometric = text.replace("geoaltitude", "other");
        let track = Track::parse_csv("f", &barometric).unwrap();
        assert!((track.position(Instant::ZERO).altitude_m() - 10_000.0).abs() < 1e-6);
    }

    #[test]
    fn mistakes_name_file_line_and_column() {
        let message = |text: &str| Track::parse_csv("f.csv", text).unwrap_err().to_string();
        let header = "time,latitude,longitude,altitude\n";
        assert_eq!(
            message(&format!("{header}0,50,5,0\n1,95,5,0\n")),
            "f.csv:3: column latitude: expected a latitude from -90 to 90 degrees, found 95"
        );
        assert_eq!(
            message(&format!("{header}0,50,5\n")),
            "f.csv:2: column altitude: expected an altitude from -1000 to 1000000 metres, found nothing"
        );
        assert!(
            message(&format!("{header}4,50,5,0\n4,50,5,0\n")).starts_with("f.csv:3: column time")
        );
        assert!(message("time,latitude,altitude\n").starts_with("f.csv:1: column longitude"));
        assert!(message(&format!("{header}NaN,50,5,0\n")).starts_with("f.csv:2: column time"));
        assert_eq!(
            message(header),
            "f.csv: expected at least one position, found none"
        );
    }

    proptest::proptest! {
        #[test]
        fn anything_is_read_or_refused(text in ".{0,200}", rows in "[0-9.,\n-]{0,200}") {
            let _ = Track::parse_csv("f", &text);
            let _ = Track::parse_csv("f", &format!("time,latitude,longitude,altitude\n{rows}"));
        }
    }
}
