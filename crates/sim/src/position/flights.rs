//! Files of flights: many recorded tracks in one table. It is comma-separated, like a [recorded track](super::recorded)
//! with a column `flight` more. The lines of a flight stand together; times are seconds from the beginning of the run.

use super::recorded::{malformed, places, position, values};
use super::{Track, TrackError};
use baton_proto::time::{Duration, Instant};

/// Speed between two points, in m/s, above which a flight jumps rather than flies (chosen: no airliner is half as fast).
pub const JUMP_M_S: f64 = 500.0;

/// Reads the flights of a file, in its order; `file` is its name for messages.
pub fn parse_flights(file: &str, text: &str) -> Result<Vec<Track>, TrackError> {
    let mut lines = text.lines().enumerate();
    let header = lines.next().map_or("", |(_, line)| line);
    let header = header.trim_start_matches('\u{feff}');
    let columns = places(file, header)?;
    let flight = header.split(',').position(|name| name.trim() == "flight");
    let flight = flight.ok_or_else(|| wrong(file, 0, "a header with this column", header))?;
    let mut seen = std::collections::BTreeSet::new();
    let mut flights = Vec::new();
    let mut current = ("", 0, Vec::new());
    for (index, line) in lines.filter(|(_, line)| !line.trim().is_empty()) {
        let fields: Vec<&str> = line.split(',').map(str::trim).collect();
        let name = fields.get(flight).copied().unwrap_or("");
        if name != current.0 || current.2.is_empty() {
            flights.extend(finished(file, core::mem::take(&mut current))?);
            if name.is_empty() || !seen.insert(name) {
                let expected = "a name, and all lines of a flight together";
                return Err(wrong(file, index, expected, name));
            }
            (current.0, current.1) = (name, index);
        }
        let values = values(file, index, &fields, &columns)?;
        let at = Instant::ZERO + Duration::from_secs_f64(values[0].max(0.0));
        let late = current.2.last().is_some_and(|&(before, _)| at <= before);
        if values[0] < 0.0 || at == Instant::NEVER || late {
            return Err(malformed(file, index, 0, &values[0].to_string()));
        }
        current.2.push((at, position(&values)));
    }
    flights.extend(finished(file, current)?);
    if flights.is_empty() {
        return Err(TrackError::Empty { what: file.into() });
    }
    Ok(flights)
}

type Points = Vec<(Instant, super::Position)>;

/// Returns the flight of these points, by its name and the place of its first line; none for no points.
fn finished(
    file: &str,
    (name, index, points): (&str, usize, Points),
) -> Result<Option<Track>, TrackError> {
    match points.len() {
        0 => Ok(None),
        1 => Err(wrong(file, index, "at least two lines of a flight", name)),
        _ => Track::flight(points).map(Some),
    }
}

fn wrong(file: &str, index: usize, expected: &str, found: &str) -> TrackError {
    TrackError::Malformed {
        file: file.into(),
        line: index + 1,
        column: "flight".into(),
        expected: expected.into(),
        found: found.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::position::Position;

    const HEADER: &str = "flight,time,latitude,longitude,altitude\n";

    #[test]
    fn two_flights_exist_from_their_first_points_to_their_last() {
        let text =
            format!("{HEADER}A1,100,50,5,0\nA1,700,50,6,10000\nB2,50,40,0,0\nB2,80,40,0.1,0\n");
        let flights = parse_flights("day.csv", &text).unwrap();
        assert_eq!(flights.len(), 2);
        assert_eq!(
            flights[0].span(),
            (Instant::from_secs(100), Instant::from_secs(700))
        );
        let present = [99, 100, 699, 700].map(|at| flights[0].is_present(Instant::from_secs(at)));
        assert_eq!(present, [false, true, true, false]);
        assert!(Track::fixed(Position::new(0.0, 0.0, 0.0)).is_present(Instant::NEVER));
    }

    #[test]
    fn it_changes_at_its_beginning_and_at_the_latest_at_its_end() {
        let text = format!("{HEADER}A1,100,50,5,0\nA1,700,50,6,10000\n");
        let flight = &parse_flights("f", &text).unwrap()[0];
        let change = |at| flight.earliest_change(Instant::from_secs(at), 1e9);
        assert_eq!(change(0), Instant::from_secs(100));
        assert_eq!(change(100), Instant::from_secs(700));
        assert_eq!(change(700), Instant::NEVER);
    }

    #[test]
    fn mistakes_name_file_line_and_column() {
        let message = |rows: &str| {
            let text = format!("{HEADER}{rows}");
            parse_flights("f", &text).unwrap_err().to_string()
        };
        let apart = "A,0,50,5,0\nA,9,50,5,0\nB,0,50,5,0\nB,9,50,5,0\nA,20,50,5,0\n";
        assert_eq!(
            message(apart),
            "f:6: column flight: expected a name, and all lines of a flight together, found A"
        );
        assert!(message("A,0,50,5,0\n").starts_with("f:2: column flight: expected at least two"));
        assert!(message("A,0,50,5,0\nA,0,50,5,0\n").starts_with("f:3: column time"));
        assert!(message("A,-1,50,5,0\n").starts_with("f:2: column time"));
        assert!(message("A,0,99,5,0\n").starts_with("f:2: column latitude"));
        assert!(message("").starts_with("f: expected at least one position"));
        let no_column = parse_flights("f", "time,latitude,longitude,altitude\n").unwrap_err();
        assert!(no_column.to_string().starts_with("f:1: column flight"));
    }
}
