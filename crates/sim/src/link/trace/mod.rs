//! Recordings that drive a link: its capacity, its delay or its loss over time.
//!
//! Time in a recording counts from the start of the run, or begins later in it ([`Start`](super::config::Start)).
//! Between samples the rule is a *step*: a value holds until the next sample. [`AtEnd`] determines the continuation
//! after the end of the file.

pub mod csv;
pub mod leoreplayer;
pub mod mahimahi;
mod opportunities;
mod series;

pub use opportunities::{Cursor, Opportunities};
pub use series::Series;

use baton_proto::rate::DataRate;
use baton_proto::time::{Duration, Instant};
use std::io::Read;
use std::path::Path;

/// Largest recording in bytes, compressed or not.
pub(crate) const LARGEST_FILE: u64 = 2_000_000_000;
/// First bytes of a gzip file (RFC 1952 section 2.3.1).
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// A recording of one direction. Values missing from it are the direction's own parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    /// Capacity over time.
    pub capacity: Option<Capacity>,
    /// One-way delay, looked up when a packet's last bit leaves the transmitter. Packets never overtake
    /// each other, whatever the samples say.
    pub delay: Option<Series<Duration>>,
    /// Probability that a packet is lost, looked up at the same moment.
    pub loss: Option<Series<f64>>,
}

/// Capacity over time.
#[derive(Clone, Debug, PartialEq)]
pub enum Capacity {
    /// Times at which up to 1500 B may pass.
    Opportunities(Opportunities),
    /// A varying rate.
    Rates(Series<DataRate>),
}

/// Continuation after the end of a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtEnd {
    /// Repetition of the file from its beginning (the default). Each file of a pair repeats with its own length.
    Repeat,
    /// The last value, forever. A file of delivery opportunities has no last value: nothing passes after its end.
    Hold,
}

/// Reason for rejecting a recording.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The file cannot be read; check its path and permissions.
    #[error("{file}: cannot be read: {source}")]
    Unreadable {
        /// The file.
        file: String,
        /// The system's error.
        source: std::io::Error,
    },
    /// The file cannot be decompressed, or would be too large; compress it anew, or decompress it yourself.
    #[error("{file}: is compressed and cannot be decompressed: {reason}")]
    Compressed {
        /// The file.
        file: String,
        /// The reason.
        reason: String,
    },
    /// A line does not follow the format; correct the line, or choose the file's format.
    #[error("{file}:{line}: expected {expected}, found {found}")]
    Malformed {
        /// The file.
        file: String,
        /// The line, counted from 1.
        line: usize,
        /// Expected value.
        expected: String,
        /// Text found in its place.
        found: String,
    },
}

impl Trace {
    /// Reads a mahimahi file.
    pub fn load_mahimahi(path: &Path, at_end: AtEnd) -> Result<Trace, TraceError> {
        let (file, text) = read(path)?;
        Ok(Trace {
            capacity: Some(Capacity::Opportunities(mahimahi::parse(
                &file, &text, at_end,
            )?)),
            delay: None,
            loss: None,
        })
    }

    /// Reads a LeoReplayer pair: `bw_*` and `delay_*`.
    pub fn load_leoreplayer(
        bandwidth: &Path,
        delay: &Path,
        at_end: AtEnd,
    ) -> Result<Trace, TraceError> {
        let (file, text) = read(delay)?;
        Ok(Trace {
            delay: Some(leoreplayer::parse_delays(&file, &text, at_end)?),
            ..Trace::load_mahimahi(bandwidth, at_end)?
        })
    }

    /// Reads a CSV file with any of the columns `rate_bps`, `delay_ms` and `loss` beside `time_s`.
    pub fn load_csv(path: &Path, at_end: AtEnd) -> Result<Trace, TraceError> {
        let (file, text) = read(path)?;
        csv::parse(&file, &text, at_end)
    }

    /// Returns the mean capacity over the file, if it has one.
    pub fn mean_rate(&self) -> Option<DataRate> {
        match &self.capacity {
            Some(Capacity::Opportunities(opportunities)) => Some(opportunities.mean_rate()),
            Some(Capacity::Rates(rates)) => Some(rates.mean_rate()),
            None => None,
        }
    }

    /// Returns the length of its longest file.
    pub fn length(&self) -> Duration {
        let capacity = self.capacity.as_ref().map(|capacity| match capacity {
            Capacity::Opportunities(opportunities) => opportunities.length(),
            Capacity::Rates(rates) => rates.length(),
        });
        let delay = self.delay.as_ref().map(Series::length);
        let loss = self.loss.as_ref().map(Series::length);
        let longest = [capacity, delay, loss].into_iter().flatten().max();
        longest.unwrap_or(Duration::ZERO)
    }

    /// Returns the delay at `at`, if the recording has one.
    pub fn delay_at(&self, at: Instant) -> Option<Duration> {
        self.delay.as_ref().map(|series| series.at(at))
    }

    /// Returns the loss probability at `at`; zero if the recording has none.
    pub fn loss_at(&self, at: Instant) -> f64 {
        self.loss.as_ref().map_or(0.0, |series| series.at(at))
    }
}

/// Returns the name and the text of a file, which gzip may have compressed.
pub(crate) fn read(path: &Path) -> Result<(String, String), TraceError> {
    let file = path.display().to_string();
    let unreadable = |source| TraceError::Unreadable {
        file: file.clone(),
        source,
    };
    let bytes = std::fs::read(path).map_err(unreadable)?;
    let bytes = match bytes.starts_with(&GZIP) {
        true => decompressed(&bytes, LARGEST_FILE).map_err(|reason| TraceError::Compressed {
            file: file.clone(),
            reason,
        })?,
        false => bytes,
    };
    let text = String::from_utf8(bytes).map_err(|error| {
        unreadable(std::io::Error::new(
            std::io::ErrorKind::InvalidData,
            format!("byte {} is not UTF-8", error.utf8_error().valid_up_to()),
        ))
    })?;
    Ok((file, text))
}

/// Decompresses a file, if the result is at most `largest` bytes long.
fn decompressed(bytes: &[u8], largest: u64) -> Result<Vec<u8>, String> {
    let mut content = Vec::new();
    let mut bounded = flate2::read::MultiGzDecoder::new(bytes).take(largest + 1);
    match bounded.read_to_end(&mut content) {
        Err(error) => Err(error.to_string()),
        Ok(_) if content.len() as u64 > largest => {
            Err(format!("holds more than {} MB", largest / 1_000_000))
        }
        Ok(_) => Ok(content),
    }
}

/// Creates an error at a line counted from zero, for the parsers.
fn malformed(file: &str, index: usize, expected: &str, found: &str) -> TraceError {
    // A line of a file in another format can be of any length.
    let found = match found.char_indices().nth(60) {
        Some((end, _)) => format!("`{}…`", &found[..end]),
        None if found.is_empty() => "nothing".to_string(),
        None => format!("`{found}`"),
    };
    TraceError::Malformed {
        file: file.to_string(),
        line: index + 1,
        expected: expected.to_string(),
        found,
    }
}

#[cfg(test)]
mod tests;
