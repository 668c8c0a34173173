//! Comma-separated recordings with a header line: `time_s` and any of `rate_bps`, `delay_ms`, `loss`, in any order.
//!
//! Times count from the first line's, so that a log may keep its clock. The last line lasts as long as the one before
//! it; a single line holds forever.

use super::{AtEnd, Capacity, Series, Trace, TraceError, malformed};
use baton_proto::rate::DataRate;
use baton_proto::time::Duration;

const COLUMNS: [&str; 4] = ["time_s", "rate_bps", "delay_ms", "loss"];
const MEANINGS: [&str; 4] = [
    "a time in seconds, later than that of the line above and less than 584 years after the first",
    "a rate in bit/s, 0 or more",
    "a delay in milliseconds, 0 or more",
    "a loss probability between 0 and 1",
];

/// Reads the text of a file; `file` is its name for messages.
pub fn parse(file: &str, text: &str, at_end: AtEnd) -> Result<Trace, TraceError> {
    let mut lines = text.lines().enumerate();
    // Spreadsheets put a byte order mark in front.
    let header = lines.next().map_or("", |(_, line)| line);
    let header = header.trim_start_matches('\u{feff}');
    let columns = parse_header(file, header)?;
    let mut starts = Vec::new();
    let mut values: [Vec<f64>; 4] = Default::default();
    let mut first_time = None;
    for (index, line) in lines {
        let fields: Vec<&str> = line.split(',').collect();
        if fields.len() != columns.len() {
            let expected = format!("{} fields as in the header", columns.len());
            return Err(malformed(file, index, &expected, line));
        }
        for (&column, field) in columns.iter().zip(fields) {
            let value = number(field)
                .filter(|&value| column != 3 || value <= 1.0)
                .ok_or_else(|| malformed(file, index, MEANINGS[column], field.trim()))?;
            values[column].push(value);
        }
        let time = values[0][values[0].len() - 1];
        let start = Duration::from_secs_f64(time - *first_time.get_or_insert(time));
        // The scale of nanoseconds ends there, and no later line could follow.
        if starts.last().is_some_and(|&last| start <= last) || start == Duration::MAX {
            return Err(malformed(file, index, MEANINGS[0], &time.to_string()));
        }
        starts.push(start);
    }
    if starts.is_empty() {
        let expected = "a line of values after the header";
        return Err(malformed(file, 1, expected, ""));
    }
    Ok(Trace {
        capacity: series(&starts, &values[1], at_end, |rate| {
            DataRate::from_bits_per_second(libm::round(rate) as u64)
        })
        .map(Capacity::Rates),
        delay: series(&starts, &values[2], at_end, |milliseconds| {
            Duration::from_secs_f64(milliseconds / 1e3)
        }),
        loss: series(&starts, &values[3], at_end, |loss| loss),
    })
}

/// Returns the places in [`COLUMNS`] of a header's columns.
fn parse_header(file: &str, header: &str) -> Result<Vec<usize>, TraceError> {
    let mut columns = Vec::new();
    for name in header.split(',').map(str::trim) {
        match COLUMNS.iter().position(|&known| known == name) {
            Some(column) if !columns.contains(&column) => columns.push(column),
            _ => {
                let expected = "a header of time_s and any of rate_bps, delay_ms, loss, each once";
                return Err(malformed(file, 0, expected, name));
            }
        }
    }
    if !columns.contains(&0) || columns.len() < 2 {
        let expected = "a header with time_s and at least one of rate_bps, delay_ms, loss";
        return Err(malformed(file, 0, expected, header));
    }
    Ok(columns)
}

/// Parses a finite, nonnegative number.
pub(super) fn number(field: &str) -> Option<f64> {
    let value: f64 = field.trim().parse().ok()?;
    (value.is_finite() && value >= 0.0).then_some(value)
}

fn series<T: Copy>(
    starts: &[Duration],
    values: &[f64],
    at_end: AtEnd,
    convert: impl Fn(f64) -> T,
) -> Option<Series<T>> {
    let samples: Vec<(Duration, T)> = starts
        .iter()
        .zip(values)
        .map(|(&start, &value)| (start, convert(value)))
        .collect();
    let end = match starts {
        [.., before, last] => *last + (*last - *before),
        _ => Duration::from_secs(1),
    };
    Series::new(&samples, end, at_end)
}
