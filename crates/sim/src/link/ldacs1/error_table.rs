//! Tables of frame error rates over the SNR: comma-separated, with a header line that names `direction` (`forward` or
//! `return`), `modulation` (as the key of that name, `qpsk-1/2`), `snr_db` and `frame_error_rate`, in any order. Other
//! columns are ignored. A rate is that of a frame of the forward link or of a tile of the return link, of the
//! modulation's own size (91 B and 14 B with QPSK ½). Rows of one curve follow one another by rising SNR; other curves
//! may come between them.
//!
//! Between two rows the logarithm of the rate is linear in the SNR in dB. Below the first row of a curve its rate is
//! that of the first, above the last row that of the last.
//!
//! [`ErrorTable::computed`] is a table of this project, `computed.csv`, by `baton plan ldacs1-errors`.

use super::modulation::Modulation;
use crate::link::cells::Direction;

const COLUMNS: [&str; 4] = ["direction", "modulation", "snr_db", "frame_error_rate"];
const HEADER: &str =
    "a header that names direction, modulation, snr_db and frame_error_rate, each once";
const RATE: &str = "a rate above 0 and up to 1 (a row without losses is left out: the rate of the \
                    last row holds above it)";
/// Text and name of the project's own table.
const COMPUTED: (&str, &str) = ("computed.csv", include_str!("computed.csv"));

/// Error rates by direction, modulation and SNR.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ErrorTable {
    /// Points of a curve: the SNR in dB, rising, and the decimal logarithm of the rate. By direction and modulation.
    curves: [[Vec<(f64, f64)>; Modulation::ALL.len()]; 2],
}

/// Reason why a table cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ErrorTableError {
    /// A line does not follow the format; correct it.
    #[error("{file}:{line}: column {column}: expected {expected}, found {found}")]
    Malformed {
        /// The file.
        file: String,
        /// The line, counted from 1.
        line: usize,
        /// The column's name.
        column: &'static str,
        /// Expected value.
        expected: String,
        /// Text found in its place.
        found: String,
    },
    /// The file has no rates; give at least one row.
    #[error("{file}: expected at least one row with a rate, found none")]
    Empty {
        /// The file.
        file: String,
    },
}

impl ErrorTable {
    /// Reads the table computed by this project's own physical layer.
    pub fn computed() -> Result<ErrorTable, ErrorTableError> {
        ErrorTable::parse_csv(COMPUTED.0, COMPUTED.1)
    }

    /// Reads the text of a table; `file` is its name for messages.
    pub fn parse_csv(file: &str, text: &str) -> Result<ErrorTable, ErrorTableError> {
        let mut lines = text.lines().enumerate();
        // Spreadsheets put a byte order mark in front.
        let header = lines.next().map_or("", |(_, line)| line);
        let places = header_places(file, header.trim_start_matches('\u{feff}'))?;
        let mut table = ErrorTable::default();
        let mut is_empty = true;
        for (index, line) in lines.filter(|(_, line)| !line.trim().is_empty()) {
            let fields: Vec<&str> = line.split(',').map(str::trim).collect();
            let [direction, modulation, snr, rate] =
                places.map(|place| fields.get(place).copied().unwrap_or(""));
            let wrong = |column: usize, expected: &str, found: &str| {
                malformed(file, index, column, expected, found)
            };
            let curve = match direction {
                "forward" => &mut table.curves[Direction::Forward as usize],
                "return" => &mut table.curves[Direction::Return as usize],
                _ => return Err(wrong(0, "forward or return", direction)),
            };
            let known = Modulation::ALL
                .into_iter()
                .find(|known| known.name() == modulation);
            let Some(known) = known else {
                let names = Modulation::ALL.map(Modulation::name).join(", ");
                return Err(wrong(1, &format!("one of {names}"), modulation));
            };
            let points = &mut curve[known as usize];
            let snr_db = snr
                .parse()
                .ok()
                .filter(|snr: &f64| (-100.0..=100.0).contains(snr))
                .ok_or_else(|| wrong(2, "an SNR from -100 to 100 dB", snr))?;
            if let Some(&(before, _)) = points.last().filter(|&&(before, _)| snr_db <= before) {
                let expected =
                    format!("an SNR above {before} dB, that of {modulation}'s row before");
                return Err(wrong(2, &expected, snr));
            }
            let rate = rate
                .parse()
                .ok()
                .filter(|rate: &f64| *rate > 0.0 && *rate <= 1.0)
                .ok_or_else(|| wrong(3, RATE, rate))?;
            points.push((snr_db, libm::log10(rate)));
            is_empty = false;
        }
        if is_empty {
            return Err(ErrorTableError::Empty { file: file.into() });
        }
        Ok(table)
    }

    /// Returns true if the table has rates of a modulation in a direction.
    pub fn covers(&self, direction: Direction, modulation: Modulation) -> bool {
        !self.curves[direction as usize][modulation as usize].is_empty()
    }

    /// Returns the loss of a frame or tile at an SNR in dB; 1 if the table does not cover the modulation.
    pub fn rate(&self, direction: Direction, modulation: Modulation, snr_db: f64) -> f64 {
        let points = &self.curves[direction as usize][modulation as usize];
        let above = points.partition_point(|&(snr, _)| snr <= snr_db);
        let logarithm = match (
            above.checked_sub(1).map(|below| points[below]),
            points.get(above),
        ) {
            (Some((left, from)), Some(&(right, to))) => {
                from + (to - from) * (snr_db - left) / (right - left)
            }
            (Some((_, last)), None) => last,
            (None, Some(&(_, first))) => first,
            (None, None) => 0.0,
        };
        libm::pow(10.0, logarithm)
    }

    /// Returns the least SNR in dB from which on no rate is above `rate`, if the table reaches it.
    pub fn snr_db_at(
        &self,
        direction: Direction,
        modulation: Modulation,
        rate: f64,
    ) -> Option<f64> {
        let points = &self.curves[direction as usize][modulation as usize];
        let wanted = libm::log10(rate);
        let last_above = points
            .iter()
            .rposition(|&(_, logarithm)| logarithm > wanted);
        let Some(place) = last_above else {
            return points.first().map(|&(snr, _)| snr);
        };
        let ((left, from), &(right, to)) = (points[place], points.get(place + 1)?);
        Some(left + (right - left) * (wanted - from) / (to - from))
    }

    /// Returns the points of a curve: SNR in dB and rate.
    pub fn points(
        &self,
        direction: Direction,
        modulation: Modulation,
    ) -> impl Iterator<Item = (f64, f64)> {
        let points = &self.curves[direction as usize][modulation as usize];
        points
            .iter()
            .map(|&(snr, logarithm)| (snr, libm::pow(10.0, logarithm)))
    }
}

/// Returns the place in a line of each of [`COLUMNS`].
fn header_places(file: &str, header: &str) -> Result<[usize; 4], ErrorTableError> {
    let names: Vec<&str> = header.split(',').map(str::trim).collect();
    let mut places = [0; 4];
    for (column, name) in COLUMNS.iter().enumerate() {
        let mut at = (0..names.len()).filter(|&place| names[place] == *name);
        match (at.next(), at.next()) {
            (Some(place), None) => places[column] = place,
            _ => return Err(malformed(file, 0, column, HEADER, header)),
        }
    }
    Ok(places)
}

/// Creates an error at a line counted from zero.
fn malformed(
    file: &str,
    index: usize,
    column: usize,
    expected: &str,
    found: &str,
) -> ErrorTableError {
    // A line of a file in another format can be of any length.
    let found = match found.char_indices().nth(60) {
        Some((end, _)) => format!("`{}…`", &found[..end]),
        None if found.is_empty() => "nothing".to_owned(),
        None => format!("`{found}`"),
    };
    ErrorTableError::Malformed {
        file: file.into(),
        line: index + 1,
        column: COLUMNS[column],
        expected: expected.into(),
        found,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Direction::{Forward, Return};
    use Modulation::{Qam16Half, QpskHalf};

    const TABLE: &str = "direction,modulation,frames,snr_db,frame_error_rate\n\
                         forward,qpsk-1/2,10,4,1\n\
                         forward,qpsk-1/2,10,6,1e-2\n\
                         return,qpsk-1/2,10,5,0.5\n\n\
                         forward,qpsk-1/2,10,7,1e-5\n\
                         forward,16qam-1/2,10,9.5,0.1\n";

    #[test]
    fn rates_between_rows_are_linear_in_the_logarithm_and_constant_outside() {
        let table = ErrorTable::parse_csv("errors.csv", TABLE).unwrap();
        // By hand: a decade a dB from 4 to 6 dB, three from 6 to 7 dB.
        for (snr_db, rate) in [
            (-50.0, 1.0),
            (4.0, 1.0),
            (5.0, 0.1),
            (6.0, 1e-2),
            (6.0 + 1.0 / 3.0, 1e-3),
            (7.0, 1e-5),
            (80.0, 1e-5),
        ] {
            let found = table.rate(Forward, QpskHalf, snr_db);
            assert!((found / rate - 1.0).abs() < 1e-9, "{snr_db}: {found}");
        }
        assert!((table.rate(Return, QpskHalf, 20.0) - 0.5).abs() < 1e-12);
        assert!((table.rate(Forward, Qam16Half, 0.0) - 0.1).abs() < 1e-12);
        assert!(table.covers(Forward, Qam16Half) && !table.covers(Return, Qam16Half));
        assert_eq!(table.rate(Return, Qam16Half, 90.0), 1.0);
    }

    #[test]
    fn an_snr_is_found_by_its_rate() {
        let table = ErrorTable::parse_csv("errors.csv", TABLE).unwrap();
        let snr = |direction, rate| table.snr_db_at(direction, QpskHalf, rate);
        assert!((snr(Forward, 0.1).unwrap() - 5.0).abs() < 1e-9);
        assert!((snr(Forward, 1e-4).unwrap() - (6.0 + 2.0 / 3.0)).abs() < 1e-9);
        assert_eq!(snr(Forward, 1.0), Some(4.0));
        assert_eq!(snr(Forward, 1e-6), None);
        assert_eq!(snr(Return, 0.6), Some(5.0));
        assert_eq!(snr(Return, 0.4), None);
    }

    #[test]
    fn mistakes_name_file_line_and_column() {
        let message = |text: &str| {
            let error = ErrorTable::parse_csv("f.csv", text).unwrap_err();
            error.to_string()
        };
        let header = "direction,modulation,snr_db,frame_error_rate\n";
        let row = |row: &str| message(&format!("{header}forward,qpsk-1/2,4,1\n{row}\n"));
        assert_eq!(
            row("down,qpsk-1/2,5,1"),
            "f.csv:3: column direction: expected forward or return, found `down`"
        );
        assert_eq!(
            row("return,8psk,5,1"),
            "f.csv:3: column modulation: expected one of qpsk-1/2, qpsk-2/3, qpsk-3/4, 16qam-1/2, 16qam-2/3, \
             64qam-1/2, 64qam-2/3, 64qam-3/4, found `8psk`"
        );
        assert_eq!(
            row("return,qpsk-1/2,nan,1"),
            "f.csv:3: column snr_db: expected an SNR from -100 to 100 dB, found `nan`"
        );
        // A duplicate, and rows out of order.
        for snr in ["4", "3.5"] {
            assert_eq!(
                row(&format!("forward,qpsk-1/2,{snr},0.5")),
                format!(
                    "f.csv:3: column snr_db: expected an SNR above 4 dB, that of qpsk-1/2's row before, found `{snr}`"
                )
            );
        }
        for rate in ["0", "1.5", "-0.1", "inf", "much"] {
            let message = row(&format!("forward,qpsk-1/2,5,{rate}"));
            assert!(
                message.starts_with("f.csv:3: column frame_error_rate: expected a rate above 0"),
                "{message}"
            );
        }
        assert!(row("forward,qpsk-1/2,5").ends_with("found nothing"));
        assert!(message("").starts_with("f.csv:1: column direction: expected a header"));
        assert!(
            message("direction,modulation,snr_db,snr_db,frame_error_rate\n")
                .starts_with("f.csv:1: column snr_db")
        );
        assert_eq!(
            message(header),
            "f.csv: expected at least one row with a rate, found none"
        );
    }

    #[test]
    fn the_shipped_table_covers_all_modulations_and_loses_less_at_a_better_signal() {
        let table = ErrorTable::computed().unwrap();
        for direction in [Forward, Return] {
            for modulation in Modulation::ALL {
                assert!(table.covers(direction, modulation));
                // The most robust modulation is lost least.
                let rate = |modulation| table.rate(direction, modulation, 8.0);
                assert!(rate(modulation) >= rate(QpskHalf));
            }
            let at = |snr_db| table.rate(direction, QpskHalf, snr_db);
            assert!(at(0.0) > 0.9 && at(8.7) < 0.1 && at(12.0) <= at(8.7));
        }
    }

    proptest::proptest! {
        #[test]
        fn anything_is_read_or_refused(text in ".{0,200}", rows in "[a-z0-9.,/\n-]{0,200}", snr_db: f64) {
            let _ = ErrorTable::parse_csv("f", &text);
            let header = "direction,modulation,snr_db,frame_error_rate\n";
            let _ = ErrorTable::parse_csv("f", &format!("{header}{rows}"));
            let table = ErrorTable::parse_csv("errors.csv", TABLE).unwrap();
            let rate = table.rate(Forward, QpskHalf, snr_db);
            assert!((0.0..=1.0).contains(&rate));
        }
    }
}
