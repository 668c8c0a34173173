//! Delay files of LeoReplayer (the LeoCC project's replayer of Starlink recordings): one one-way delay in
//! milliseconds a line, a line for every 10 ms. The capacity beside it is a mahimahi file.

use super::csv::number;
use super::{AtEnd, Series, TraceError, malformed};
use baton_proto::time::Duration;

/// Duration of a line.
const STEP: Duration = Duration::from_millis(10);

/// Reads the text of a `delay_*` file; `file` is its name for messages.
pub fn parse_delays(file: &str, text: &str, at_end: AtEnd) -> Result<Series<Duration>, TraceError> {
    const EXPECTED: &str = "a delay in milliseconds, 0 or more";
    let mut samples = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let milliseconds =
            number(line).ok_or_else(|| malformed(file, index, EXPECTED, line.trim()))?;
        let start = STEP.saturating_mul(index as u64);
        samples.push((start, Duration::from_secs_f64(milliseconds / 1e3)));
    }
    let end = STEP.saturating_mul(samples.len() as u64);
    Series::new(&samples, end, at_end).ok_or_else(|| malformed(file, 0, EXPECTED, ""))
}
